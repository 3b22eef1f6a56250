"""What commands read, and one line on stderr for whatever cannot be used."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

import pytest

from evenkeel.clusters import reading, sources
from evenkeel.terminal import inputs
from tests.support.apiserver import ApiServer, kubeconfig
from tests.support.build import constraint, namespace, pod, service, workload
from tests.support.commands import POLICY, Run, script
from tests.support.placing import node
from webhook.cli import options
from webhook.cli.usage import UsageError
from webhook.cluster.client import ClusterError
from webhook.kubernetes.features import features, unknown

DENIED = workload("Deployment", constraint(labelSelector={}))


class Bad(NamedTuple):
    """Arguments and the line on stderr."""

    name: str
    args: str | list[str]
    err: str
    files: Mapping[str, object] = MappingProxyType({})


FINE = {"new": pod(constraint())}
BAD = [
    Bad("a missing file", "admit -f none", "none: No such file or directory"),
    Bad("a folder without manifests", "admit -f .", "-f .: found no file that ends in .yaml, .yml, .json"),
    Bad("a file that is no text", "admit -f new", "new: is not UTF-8", {"new": b"\xff"}),
    Bad("a file cut in a character", "admit -f new", "new: is not UTF-16-LE", {"new": b"\xff\xfea"}),
    Bad("broken YAML", "admit -f new", "new: line 1, column 4: did not find …", {"new": "a: [1"}),
    Bad("no object", "admit -f new", "new: found no object", {"new": "# nothing\n"}),
    Bad("a word", "admit -f new", 'new: document 1: found "hello", wanted an …', {"new": "hello"}),
    Bad(
        "a List without an array",
        "admit -f new",
        "new: document 1: items: found 3, …",
        {"new": "{kind: List, items: 3}"},
    ),
    Bad("no kind", "admit -f new", "new: object 2: must have apiVersion and kind", {"new": [pod(), {"kind": "Pod"}]}),
    Bad("100,000 brackets", "admit -f new", "new: line 1, column 1001: nested more …", {"new": "[" * 100_000}),
    Bad("a missing old file", "admit -f new --old none", "none: No such file or directory"),
    Bad("an old file from elsewhere", "admit -f new --old old", "old: has no pod/…", {"old": pod(namespace="bank")}),
    Bad("an old file without it", "admit -f new --old old", "old: has no pod/web-1 in …", {"old": DENIED}),
    Bad("no version", "admit -f new --kubernetes-version one", '--kubernetes-version: found "one", wanted a version …'),
    Bad(
        "an old version", "admit -f new --kubernetes-version 1.24", '--kubernetes-version: found "1.24", wanted 1.25 …'
    ),
    Bad("a missing policy", "admit -f new --policy none", "none: No such file or directory"),
    Bad("a bad policy", "admit -f new --policy p", "p: onError: found null, …", {"p": POLICY | {"onError": None}}),
    Bad("a policy that is no YAML", "policy check p", "p: line 1, column 5: …", {"p": "a: ["}),
    Bad("a name that is empty", ["admit", "-f", ""], 'found "", wanted a file, or - for standard input'),
    Bad("an old name that is empty", ["admit", "-f", "new", "--old", ""], 'found "", wanted a file, or - for …'),
    Bad("no dump", ["admit", "-f", "new", "--cluster", ""], '--cluster: found "", wanted live, a file or a folder'),
    Bad("no dump at all", ["explain", "pod/a", "--cluster", ""], '--cluster: found "", wanted live, a file or a …'),
    Bad("a folder for a kubeconfig", "explain pod/a --kubeconfig .", "--cluster live: .: Is a directory"),
    Bad("no text for a kubeconfig", "explain pod/a --kubeconfig k", "--cluster live: k: is not UTF-8", {"k": b"\xff"}),
    Bad(
        "a word for a kubeconfig", "explain pod/a --kubeconfig k", "--cluster live: k: is no kubeconfig: …", {"k": "a"}
    ),
    Bad("a missing dump", "admit -f new --cluster none", "none: No such file or directory"),
    Bad(
        "a dump whose List has no array",
        "admit -f new --cluster c",
        "c: document 1: items: found none, wanted an array …",
        {"c": "{apiVersion: v1, kind: NodeList}"},
    ),
    Bad("a bad dump", "admit -f new --cluster c", "c: Service shop/web: spec.…", {"c": service(selector={"a": 1})}),
    Bad(
        "a context without a cluster",
        "admit -f new --context prod",
        "--context: found no --cluster; add --cluster live, or leave --context out",
    ),
    Bad(
        "a kubeconfig for a dump",
        "lint new --cluster new --kubeconfig k",
        "--kubeconfig: found --cluster new; write --cluster live, or leave --kubeconfig out",
    ),
    Bad(
        "a missing kubeconfig",
        "admit -f new --cluster live --kubeconfig none",
        "--cluster live: none: No such file or directory",
    ),
    *(
        Bad(f"an empty namespace, {command}", [*command.split(), "-n", ""], '--namespace: found "", wanted the …')
        for command in (
            *("dump --cluster new -o -", "report --cluster new", "pending --cluster new", "lint new", "admit -f new"),
            *("explain pod/web-1 --cluster new", "simulate drain n1 --cluster new", "policy show"),
        )
    ),
    Bad("a label without value", "policy show --labels app=web,v", '--labels: found "v", wanted KEY=VALUE'),
    Bad("a label without key", "policy show --namespace-labels =a", '--namespace-labels: found "", wanted KEY=VALUE'),
    Bad(
        "no name of a namespace",
        "policy show --namespace-labels Shop:a=b",
        '--namespace-labels: found "Shop:a=b", wanted NAMESPACE:KEY=VALUE,…',
    ),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_what_cannot_be_used_is_named_in_one_line(run, case):
    code, out, err = run(case.args, **{**FINE, **case.files})

    assert (2, "", 1) == (code, out, len(err.splitlines()))
    assert err.startswith(f"evenkeel: {case.err[:-1]}") if case.err.endswith("…") else f"evenkeel: {case.err}\n" == err


POWERSHELL = (
    "\ufeff" + json.dumps({"kind": "List", "items": [namespace(), pod(constraint()), node("n1")]}, indent=1) + "\r\n"
)


@pytest.mark.parametrize("name", ["utf-8", "utf-16-le", "utf-16-be"])
def test_what_powershell_writes_into_a_file_is_read(run, name):
    """As kubectl reads it."""
    written, rules = POWERSHELL.encode(name), f"\ufeff{json.dumps(POLICY)}".encode(name)

    assert 0 == run("admit -f new --cluster new --policy rules", new=written, rules=rules).code
    assert "No Pod waits for lack of a node; looked at " in run("pending -A --cluster new", new=written).out
    given = written.decode("utf-8", "surrogateescape")
    assert 0 == script("admit", "-f", "-", input=given, errors="surrogateescape").returncode


def test_standard_input_is_read_for_a_dash():
    denied = script("admit", "-f", "-", input=json.dumps(DENIED))
    broken = script("admit", "-f", "-", input="\udcff", errors="surrogateescape")

    assert (1, "note: 5 rules need a cluster: --cluster live\n") == (denied.returncode, denied.stderr)
    assert 'error when creating "STDIN"' in denied.stdout
    assert (2, "evenkeel: -: is not UTF-8\n") == (broken.returncode, broken.stderr)


def test_standard_input_cannot_be_read_twice():
    done = script("admit", "-f", "-", "--old", "-", input=json.dumps(DENIED))

    assert (2, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert "found no object" not in done.stderr


def test_a_command_asks_the_cluster_that_kubectl_would_talk_to(run, tmp_path, monkeypatch):
    api = ApiServer()
    api.put(namespace(), service(), workload("ReplicaSet"))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(api.url, tmp_path)))
    there = run("admit -f new --cluster live", new=pod(owner="ReplicaSet/web"))
    api.stop()
    gone = run("admit -f new --cluster live", new=pod())

    assert "defaulted: selector app=web from Service/web, ReplicaSet/web" in there.out
    assert (2, 1) == (gone.code, len(gone.err.splitlines()))
    assert gone.err.startswith("evenkeel: --cluster live: /version: ") and "Connection refused" in gone.err


@pytest.mark.parametrize("command", ["admit -f new", "lint new"])
def test_a_command_asks_the_cluster_of_another_kubeconfig(run, tmp_path, monkeypatch, command):
    api = ApiServer()
    api.put(namespace(), service(), workload("ReplicaSet"))
    api.git_version = "v1.99.0"
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    file = kubeconfig(api.url, tmp_path)
    try:
        found = run(f"{command} --cluster live --kubeconfig {file} --context test", new=pod())
        away = run(f"{command} --cluster live --kubeconfig {file} --context away", new=pod())
    finally:
        api.stop()

    assert found.err.startswith("note: Kubernetes 1.99 is newer")
    assert Run(2, "", f'evenkeel: --cluster live: {file}: found no context "away", wanted one of test\n') == away


def test_a_live_cluster_gives_its_version_and_one_that_is_given_counts_instead(run, tmp_path, monkeypatch):
    """Up to 1.26 `{}` counts every Pod, and is no error."""
    api = ApiServer()
    api.put(namespace())
    api.put(node("n1"))
    api.git_version = "v1.26.15"
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(api.url, tmp_path)))
    empty = pod(constraint(labelSelector={}))
    try:
        codes = [
            run(f"admit -f new --cluster live{more}", new=empty).code for more in ("", " --kubernetes-version 1.37")
        ]
        api.git_version = "v1.38.0-alpha.1"
        newer = run("admit -f new --cluster live", new=empty)
    finally:
        api.stop()

    assert [0, 1] == codes
    assert f"note: {unknown(features(38))}\n" == newer.err


def test_a_version_that_is_not_known_is_said_once_by_lint(run):
    assert 1 == run("lint new --kubernetes-version 1.99", new=pod()).err.count("note: Kubernetes 1.99 is newer than")


def test_a_cluster_that_cannot_be_found_is_said_in_one_line(run, tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    said = f"evenkeel: --cluster live: KUBECONFIG: found no {tmp_path}/none, wanted the path of a kubeconfig\n"

    assert Run(2, "", said) == run("admit -f new --cluster live", new=pod())


@pytest.mark.parametrize(
    ("status", "fix"),
    [(401, "log in again, and check with kubectl auth whoami"), (403, "ask for the ClusterRole evenkeel-viewer")],
)
def test_what_to_do_about_a_request_that_is_refused(run, tmp_path, monkeypatch, status, fix):
    api = ApiServer()
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(api.url, tmp_path)))
    api.refusals = [status] * 9
    try:
        found = run("admit -f new --cluster live", new=pod())
    finally:
        api.stop()

    assert (2, 1) == (found.code, len(found.err.splitlines()))
    assert found.err.endswith(f" {status} refused with {status}; {fix}\n")


def test_the_labels_of_a_namespace_may_be_given_one_after_the_other():
    given = Namespace(namespace_labels=["shop:a=b,c=d", "x=y", "shop:c=e", "z = 1 "])

    assert {"shop": {"a": "b", "c": "e"}, "": {"x": "y", "z": "1"}} == inputs.namespace_labels(given)


@pytest.mark.parametrize("text", ["Shop:a=b", ":a=b", "a", "a=b,c", "=b"])
def test_labels_that_are_none(text):
    with pytest.raises(UsageError, match=r"^--namespace-labels: found"):
        inputs.namespace_labels(Namespace(namespace_labels=["a=b", text]))


def test_in_one_namespace_what_belongs_to_none_is_read_too(tmp_path):
    objects = [node("n1"), namespace(), pod(), pod(), pod(namespace="bank")]
    (tmp_path / "dump").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    found = {
        space: [obj["kind"] for obj in reading.contents(sources.Source(str(tmp_path / "dump")), space).objects]
        for space in ("", "shop", "bank")
    }

    assert {
        "": ["Node", "Namespace", "Pod", "Pod", "Pod"],
        "shop": ["Node", "Namespace", "Pod", "Pod"],
        "bank": ["Node", "Namespace", "Pod"],
    } == found


@pytest.mark.parametrize(
    ("text", "read"), [("shop/web", ("shop", "web")), ("shop", None), ("/web", None), ("a/b/c", None), ("A/b", None)]
)
def test_the_name_of_an_object_in_a_namespace(text, read):
    if read is not None:
        assert read == options.namespaced("--tls-secret", text)
        return
    with pytest.raises(UsageError, match=r"^--tls-secret: found"):
        options.namespaced("--tls-secret", text)


def test_the_objects_of_a_folder_are_those_of_its_manifests_that_are_not_hidden(tmp_path):
    """A ConfigMap is mounted as hidden folders, and links into them."""
    for name in ("..data/web.yaml", "web.yaml", "below/api.json", "readme.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}))

    assert ["below/api.json", "web.yaml"] == [one["metadata"]["name"] for one in inputs.objects_of([str(tmp_path)])]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"^-f .*empty: found no file that ends in"):
        inputs.objects_of([str(tmp_path / "empty")])


def test_standard_input_is_read_once():
    with pytest.raises(UsageError, match=r"^-f: standard input can be read only once"):
        inputs.objects_of(["-", "-"])


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (0, ""),
        (401, "; log in again, and check with kubectl auth whoami"),
        (403, "; set --kubernetes-version"),
        (500, "; set --kubernetes-version"),
    ],
)
def test_a_version_that_the_api_server_does_not_tell_may_be_given(monkeypatch, status, advice):
    def version():
        raise ClusterError("/version: no", status)

    monkeypatch.setattr(reading, "client", lambda _: SimpleNamespace(version=version))
    with pytest.raises(UsageError) as caught:
        reading.features(None, sources.Source("live"))

    assert f"--cluster live: /version: no{advice}" == str(caught.value)
