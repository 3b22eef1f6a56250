"""`evenkeel dump` writes what is read of a cluster, says what is missing, and `--cluster` reads it."""

from __future__ import annotations

import gzip
import io
import json
import sys

import pytest

from tests.support.apiserver import ApiServer, kubeconfig
from tests.support.build import HOSTNAME, ZONE, constraint, key_of, namespace, pod, service, workload
from tests.support.commands import POLICY
from webhook.cli.main import main
from webhook.cluster.listed_resources import LISTED_RESOURCES

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {HOSTNAME: "n1", ZONE: "a"}}}
SECRET = {"containers": [{"name": "c", "env": [{"name": "PASSWORD", "value": "hunter2"}]}]}
OBJECTS = [
    *(NODE, namespace(), namespace(name="bank"), service()),
    *(workload("ReplicaSet"), workload("Deployment")),
    *(pod(name=f"web-{i}", spec=SECRET) for i in (1, 2)),
    pod(namespace="bank", spec=SECRET),
]


@pytest.fixture
def api(tmp_path, monkeypatch):
    api = ApiServer()
    api.put(*OBJECTS)
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(api.url, tmp_path)))
    yield api
    api.stop()


def lines_of(file):
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def keys(lines):
    return [(obj["kind"], *key_of(obj)) for obj in lines[1:]]


def test_a_dump_holds_every_object_and_no_secret(run, api, tmp_path):
    code, out, err = run("dump -o cluster.jsonl.gz")
    text = gzip.decompress((tmp_path / "cluster.jsonl.gz").read_bytes()).decode()
    header, *_ = found = lines_of(tmp_path / "cluster.jsonl.gz")

    assert (0, "", "") == (code, out, err)
    assert ["kind", "version", "kubernetesVersion", "time"] == list(header)
    assert ("ClusterDump", 1, "v1.37.1") == (header["kind"], header["version"], header["kubernetesVersion"])
    assert sorted((obj["kind"], *key_of(obj)) for obj in OBJECTS) == keys(found)
    assert "hunter2" not in text and "PASSWORD" not in text


def test_a_dump_of_a_namespace_has_all_nodes_and_namespaces(run, api, tmp_path):
    run("dump -n bank -o bank.gz")
    header, *_ = found = lines_of(tmp_path / "bank.gz")

    assert "bank" == header["namespace"]
    assert [("Namespace", "", "bank"), ("Namespace", "", "shop"), ("Node", "", "n1"), ("Pod", "bank", "web-1")] == keys(
        found
    )


def test_a_command_reads_it(run, api, tmp_path):
    run("dump -o cluster.gz")
    given = run("admit -f new --cluster cluster.gz", new=pod(owner="ReplicaSet/web"))

    assert "defaulted: selector app=web from Service/web, ReplicaSet/web" in given.out


def test_a_command_judges_by_the_version_of_the_dump(run, api):
    """Up to 1.26 `{}` counts every Pod, and is no error."""
    api.git_version = "v1.26.15"
    run("dump -o cluster.gz")
    empty = pod(constraint(labelSelector={}))
    codes = [
        run(f"admit -f new --cluster cluster.gz{more}", new=empty).code for more in ("", " --kubernetes-version 1.37")
    ]

    assert [0, 1] == codes


def test_it_goes_to_standard_output_without_a_file(api, capsysbinary):
    assert 0 == main(["dump"])

    assert b'"ClusterDump"' in gzip.decompress(capsysbinary.readouterr().out)


def test_a_terminal_is_spared(run, api, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stderr", shown := io.StringIO())
        assert 2 == main(["dump"])

    said = "evenkeel: standard output is a terminal, wanted a file or a pipe; write -o cluster.jsonl.gz\n"
    assert said == shown.getvalue()


def test_a_form_of_the_output_is_no_file(run, api, tmp_path):
    wanted = "wanted the file to write, such as cluster.jsonl.gz; for a file of this name write ./json"

    assert (2, "", f'evenkeel: -o: found "json", {wanted}\n') == run("dump -o json")
    assert not (tmp_path / "json").exists()
    assert 0 == run("dump -o ./json").code
    assert (tmp_path / "json").exists()


def test_what_may_not_be_listed_is_named(run, api, tmp_path):
    api.forbidden = {"nodes", "poddisruptionbudgets"}
    code, _, err = run("dump -o some.gz")
    header, *_ = found = lines_of(tmp_path / "some.gz")

    assert 0 == code
    assert [
        "evenkeel: nodes: not in the dump: /api/v1/nodes: 403 refused with 403",
        "evenkeel: poddisruptionbudgets: not in the dump: /apis/policy/v1/poddisruptionbudgets: 403 refused with 403",
    ] == err.splitlines()
    assert {"nodes", "poddisruptionbudgets"} == header["missing"].keys()
    assert "Node" not in {kind for kind, *_ in keys(found)}


def test_a_namespace_may_be_there_where_namespaces_may_not_be_listed(run, api):
    api.forbidden = {"namespaces"}
    commands = ("dump -o all.gz", "dump -n empty --cluster all.gz -o a.gz", "dump -n empty -o a.gz", "pending -n empty")

    assert [0, 0, 0, 0] == [run(command).code for command in commands]


def test_nothing_is_written_where_nothing_can_be_read(run, api, tmp_path):
    api.forbidden = {kind.resource for kind in LISTED_RESOURCES}
    code, out, err = run("dump -o none.gz")

    *each, last = err.splitlines()

    assert (2, "", len(LISTED_RESOURCES)) == (code, out, len(each))
    assert last.startswith(
        "evenkeel: you are not allowed to list anything in the cluster; "
        "name with -n a namespace that you may read, or ask for "
    )
    assert not (tmp_path / "none.gz").exists()


def test_a_failure_leaves_the_file_that_there_was(run, api, tmp_path):
    (tmp_path / "kept.gz").write_text("before")
    api.refusals = [500]
    code, _, err = run("dump -o kept.gz")

    assert (2, 1, "before") == (code, len(err.splitlines()), (tmp_path / "kept.gz").read_text())
    assert err.startswith("evenkeel: --cluster live: /apis/storage.k8s.io/v1/csidrivers: 500 ")


def test_a_file_of_kubectl_is_reduced(run, tmp_path):
    given = [
        pod(name="b", spec=SECRET),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
        pod(name="a"),
    ]
    code, _, _ = run("dump --cluster all.yaml -o small.gz", **{"all.yaml": given})
    header, *_ = found = lines_of(tmp_path / "small.gz")

    assert (0, "") == (code, header["kubernetesVersion"])
    assert [("Pod", "shop", "a"), ("Pod", "shop", "b")] == keys(found)
    assert [{"containers": [{"name": "c"}]}] == [obj["spec"] for obj in found[2:]]


def test_a_file_of_kubectl_keeps_the_version_of_its_kubelets(run):
    """Nothing else in it tells that of the cluster."""
    old = NODE | {"status": {"nodeInfo": {"kubeletVersion": "v1.33.5", "osImage": "x"}, "allocatable": {"cpu": "1"}}}
    run("dump --cluster objects -o once.gz", objects={"kind": "List", "items": [old, workload("Deployment")]})
    run("dump --cluster once.gz -o twice.gz")
    told = [run(f"simulate deployment/web -n shop scale=9 --cluster {file}") for file in ("once.gz", "twice.gz")]

    assert ["Kubernetes 1.33." in each.out for each in told] == [True, True]
    assert "Assuming 1.33, the version of the newest kubelet." in told[1].err


def test_a_dump_of_a_dump_is_the_same(run, api, tmp_path):
    run("dump -o one.gz")
    run("dump --cluster one.gz -o two.gz")

    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()


BAD = {
    "a namespace that is not there": (
        "dump -n shpo -o a.gz",
        "namespace shpo: not in the cluster; did you mean shop?",
    ),
    "one that is not in a file": (
        "dump -n shpo --cluster web -o a.gz",
        "namespace shpo: not in web; did you mean shop?",
    ),
    "a name that none has": ("dump -n A_B -o a.gz", '--namespace: found "A_B", wanted the name of one namespace; -A …'),
    "a folder that is not there": ("dump -o none/a.gz", "none/a.gz: No such file or directory"),
    "a file that is not there": ("dump --cluster none -o a.gz", "none: No such file or directory"),
    "an odd object": (
        "dump --cluster odd -o a.gz",
        "--cluster: Pod shop/web-1: Expected `object | null`, got `int` - …",
    ),
    "odd text": ("dump --cluster text -o a.gz", "--cluster: Pod shop/\\ud800: 'utf-8' codec can't encode …"),
}


@pytest.mark.parametrize(("command", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_used_is_named_in_one_line(run, api, tmp_path, command, message):
    code, out, err = run(command, odd=pod() | {"spec": 3}, web=pod(), text=json.dumps(pod(name="\ud800")))
    said, cut, _ = f"evenkeel: {message}".partition("…")

    assert (2, "", 1) == (code, out, len(err.splitlines()))
    assert err.startswith(said) if cut else f"{said}\n" == err
    assert not (tmp_path / "a.gz").exists()


def test_progress_is_shown_on_a_terminal_at_once(run, api, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("evenkeel.terminal.progress.PROGRESS_SECONDS", -1.0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stderr", shown := Terminal())
        assert 0 == main(["dump", "-o", "a.gz"])

    assert f"\r{len(OBJECTS)} objects" in shown.getvalue()
    assert shown.getvalue().endswith("\r\x1b[K")
    assert "" == run("dump -o b.gz").err


@pytest.mark.parametrize(
    "command",
    [
        *("dump -o a.gz", "report -A", "report -A -o json", "pending -A", "explain deployment/web -n shop"),
        *("simulate deployment/web -n shop scale=2", "admit -f web --cluster live", "lint web --cluster live"),
        "policy check policy --cluster live",
    ],
)
def test_a_command_that_reads_a_cluster_for_long_says_so_elsewhere_too(run, api, monkeypatch, command):
    monkeypatch.setattr("evenkeel.terminal.progress.LINE_SECONDS", -1.0)

    assert "evenkeel: 3 objects\n" in run(command, web=workload("Deployment"), policy=POLICY).err


def test_the_log_of_a_server_has_no_progress(run, api, monkeypatch):
    monkeypatch.setattr("evenkeel.terminal.progress.LINE_SECONDS", -1.0)
    monkeypatch.setattr("evenkeel.report.metrics_server.serve", lambda listener, _, make: (listener.close(), make()))

    assert "" == run("report -A --metrics-bind 127.0.0.1:0").err
