"""The command line: what it prints where, its exit codes, and one line on stderr for whatever cannot be used."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest
import yaml

from tests.support.apiserver import ApiServer, kubeconfig
from tests.support.build import SELECTOR, constraint, namespace, pod, service, workload
from webhook import __version__
from webhook.admission.weighing import MOST_CONSTRAINTS
from webhook.cli.main import COMMANDS, main
from webhook.policy.schema import schema

SCRIPTS = Path(sys.executable).parent
POLICY = {"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy"}
EMPTY, MISSES = constraint(labelSelector={}), constraint(labelSelector={"matchLabels": {"app": "db"}})
DENIED = workload("Deployment", EMPTY)
WARNED = workload("StatefulSet", MISSES, name="db")
MERGED = SELECTOR | {"matchExpressions": [{"key": "v", "operator": "In", "values": ["1"]}]}
STORED = pod(constraint(labelSelector=MERGED, matchLabelKeys=["v"]), labels={"app": "web", "v": "1"}, uid="u1")
KEPT = STORED["spec"]["topologySpreadConstraints"]


class Run(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run a command where `files` lie; each holds objects, or is text or bytes."""
    monkeypatch.chdir(tmp_path)

    def run(command, **files):
        for name, content in files.items():
            if isinstance(content, dict):
                content = [content]
            if isinstance(content, list):
                content = "\n---\n".join(map(json.dumps, content))
            Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        try:
            code = main(command.split())
        except SystemExit as error:
            code = error.code
        return Run(code, *capsys.readouterr())

    return run


def script(*args, name="evenkeel", **options):
    """Run the installed command, as a shell would."""
    command = [SCRIPTS / name, *args]
    return subprocess.run(command, capture_output="stdout" not in options, text=True, check=False, **options)


DENIES = (
    'Error from server (Forbidden): error when %s "new": '
    'admission webhook "workloads.evenkeel.dev" denied the request: '
)
WARNS = "Warning: selector-misses-own-pod: topologySpreadConstraints[0].labelSelector: must match the Pod's own labels"


def test_every_object_is_answered_as_kubectl_would_say_it(run):
    code, out, err = run("admit -f new", new=[pod(constraint()), WARNED, DENIED, pod(constraint(), name="last")])
    fine, warning, warned, denied, last = out.splitlines()

    assert (1, "") == (code, err)
    assert ("pod/web-1 created", "statefulset.apps/db created", "pod/last created") == (fine, warned, last)
    assert warning.startswith(WARNS)
    assert denied.startswith(DENIES % "creating" + "spec.template.spec.topologySpreadConstraints[0].labelSelector: ")
    assert 0 == run("admit -f new", new=WARNED).code


@pytest.mark.parametrize("obj", [workload("Deployment", EMPTY, namespace=None), pod(EMPTY, namespace=None)])
def test_what_is_in_a_system_namespace_is_never_sent(run, obj):
    """The webhook configurations leave these namespaces out."""
    code, out, _ = run("admit -f new -n kube-system", new=obj)

    assert (0, "  not sent: nothing in kube-system or kube-node-lease is ever sent to the webhook") == (
        code,
        out.splitlines()[1],
    )
    assert out.splitlines()[0].endswith(" created")
    assert 1 == run("admit -f new -n shop").code


def test_an_update_warns_of_what_was_wrong_already(run):
    new = workload("Deployment", EMPTY, labels={"app": "web", "new": ""})
    code, out, _ = run("admit -f new --old old", new=new, old=[WARNED, DENIED])

    assert (0, ["Warning", "deployment.apps/web configured"]) == (code, [out.split(":")[0], out.splitlines()[-1]])
    assert "empty-selector" in out


def test_an_update_is_denied_for_what_it_brings_in(run):
    code, out, _ = run("admit -f new --old old", new=DENIED, old=workload("Deployment", constraint()))

    assert (1, True) == (code, out.startswith(DENIES % "patching"))


def test_a_manifest_without_namespace_is_compared_with_the_object_in_the_default_one(run):
    """A manifest seldom names its namespace; what kubectl get prints always does."""
    old, new = (workload("Deployment", namespace=namespace) for namespace in ("default", None))

    assert Run(0, "deployment.apps/web configured\n", "") == run("admit -f new --old old", new=new, old=old)


def test_a_namespace_can_be_given_to_what_names_none(run):
    """Then the Services of that namespace select it."""
    given = pod(namespace=None)
    code, out, _ = run("admit -f new -n shop --cluster dump", new=given, dump=service())

    assert (0, "  defaulted: selector app=web from Service/web") == (code, out.splitlines()[1])


def test_an_update_of_a_pod_is_not_judged(run):
    assert Run(0, "pod/web-1 configured\n", "") == run("admit -f new --old old", new=pod(EMPTY), old=pod(MISSES))


def test_json_is_one_line_for_each_object(run):
    code, out, err = run("admit -f new -o json", new=[DENIED, WARNED])
    denied, warned = map(json.loads, out.splitlines())

    assert (1, "") == (code, err)
    assert {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"} == denied["object"]
    assert (False, "validate", 403) == (denied["allowed"], denied["deniedBy"], denied["status"]["code"])
    assert [("empty-selector", "error")] == [(one["rule"], one["severity"]) for one in denied["findings"]]
    assert (True, None, None) == (warned["allowed"], warned["deniedBy"], warned["status"])
    assert [True] == [f"Warning: {one}".startswith(WARNS) for one in warned["warnings"]]


CLUSTER = [namespace(), service()]


def test_a_cluster_gives_defaults(run):
    _, out, _ = run("admit -f new --cluster cluster", new=pod(), cluster=CLUSTER)
    answer = json.loads(run("admit -f new --cluster cluster -o json").out)

    assert ["pod/web-1 created", "  defaulted: selector app=web from Service/web"] == out.splitlines()[:2]
    assert ["Service/web"] == answer["defaulted"]["source"]
    assert answer["patch"][0]["value"] == answer["defaulted"]["constraints"]
    assert 2 == len(answer["patch"][0]["value"])


def test_what_it_gives_is_judged_like_what_is_written(run):
    policy = POLICY | {"rules": {"soft-constraint": "warning"}}
    _, out, _ = run("admit -f new --cluster cluster --policy policy", new=pod(), cluster=CLUSTER, policy=policy)

    assert 2 == out.count("Warning: soft-constraint: topologySpreadConstraints[")


def test_without_a_cluster_it_says_why_there_are_no_defaults(run):
    _, out, _ = run("admit -f new", new=pod())
    answer = json.loads(run("admit -f new -o json").out)

    assert ["pod/web-1 created", f"  not defaulted: {answer['notDefaulted']['message']}"] == out.splitlines()
    assert ("no-cluster", None, []) == (answer["notDefaulted"]["reason"], answer["defaulted"], answer["patch"])


def test_yaml_is_what_would_be_stored(run):
    """With defaults patched in, and matchLabelKeys merged."""
    merging = pod(constraint(matchLabelKeys=["v"]), labels={"app": "web", "v": "1"})
    code, out, err = run("admit -f new --cluster cluster -o yaml", new=[pod(), merging], cluster=CLUSTER)
    defaulted, merged = yaml.safe_load_all(out)

    assert (0, "") == (code, err)
    assert [SELECTOR, SELECTOR] == [one["labelSelector"] for one in defaulted["spec"]["topologySpreadConstraints"]]
    assert ["evenkeel.dev/defaulted-by"] == [*defaulted["metadata"]["annotations"]]
    assert STORED["spec"] == merged["spec"]
    assert merging == yaml.safe_load(run("admit -f new -o yaml --kubernetes-version 1.33", new=merging).out)
    assert STORED == yaml.safe_load(run("admit -f new -o yaml", new=STORED).out)


def test_yaml_is_printed_of_what_is_allowed_and_the_rest_is_said_on_stderr(run):
    code, out, err = run("admit -f new -o yaml", new=[DENIED, WARNED])

    assert (1, [WARNED]) == (code, list(yaml.safe_load_all(out)))
    assert err.startswith(DENIES % "creating")
    assert WARNS in err


# To kubectl each of these is something else than a string if it is not quoted (sigs.k8s.io/yaml v1.6.0).
NUMBERS = ["1e3", "+1e3", "-1e3", ".5e1", "0o17", "017", "1_000", ".5", "+1", "0x1F"]
UNQUOTED = [*NUMBERS, "true", "no", "off", "null", "~", "y", "N", "2024-01-01"]


@pytest.mark.parametrize("text", UNQUOTED)
def test_yaml_quotes_what_another_reader_would_not_take_for_a_string(run, text):
    _, out, _ = run("admit -f new -o yaml", new=pod(labels={"v": text, text: "v"}))

    assert re.search(rf"^    v: ['\"]{re.escape(text)}['\"]$", out, re.MULTILINE)
    assert re.search(rf"^    ['\"]{re.escape(text)}['\"]: v$", out, re.MULTILINE)
    assert {"v": text, text: "v"} == yaml.safe_load(out)["metadata"]["labels"]


def test_yaml_writes_an_alias_out_and_keeps_what_is_not_ascii(run):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: é}\ndata: *m\n"
    _, out, _ = run("admit -f new -o yaml", new=text)

    assert "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: é\ndata:\n  name: é\n" == out


def test_yaml_of_an_object_that_is_nested_deep_is_printed_or_refused(run):
    code, out, err = run("admit -f new -o yaml", new=pod(spec=json.loads('{"a":' * 480 + "1" + "}" * 480)))

    assert bool(out) == (code == 0)
    assert len(err.splitlines()) == (code == 2)


class Version(NamedTuple):
    name: str
    given: dict
    code: dict[str, int]


TWICE = constraint(matchLabelKeys=["app"])
VERSIONS = [
    Version("{} counts from 1.38 on", DENIED, {"1.37": 1, "1.38": 0}),
    Version("a stored Pod is merged already", STORED, {"1.33": 0, "1.34": 0}),
    Version("a new Pod is not", STORED | {"metadata": {"labels": {"app": "web", "v": "1"}}}, {"1.33": 1, "1.34": 1}),
    Version("a key in both", pod(TWICE), {"1.33": 1, "1.34": 1}),
    Version("a key in both, in a template", workload("Deployment", TWICE), {"1.33": 1, "1.34": 1}),
    Version("matchLabelKeys were dropped up to 1.26", pod(TWICE), {"1.26": 0, "1.27": 1, "v1.27.3-gke.1": 1}),
]


@pytest.mark.parametrize("case", VERSIONS, ids=lambda case: case.name)
def test_the_answer_is_that_of_the_version(run, case):
    assert case.code == {
        version: run(f"admit -f new --kubernetes-version {version}", new=case.given).code for version in case.code
    }


REFUSES = "  note: kube-apiserver itself refuses this with its own message, before it calls /validate"


@pytest.mark.parametrize(
    ("given", "version", "noted"),
    [
        (pod(constraint(maxSkew=0)), "1.34", True),
        (workload("Deployment", constraint(maxSkew=0)), "1.34", True),
        (workload("Deployment", TWICE), "1.33", True),
        (workload("Deployment", TWICE), "1.34", False),  # it takes the template, then refuses each of its Pods
        (workload("Rollout", constraint(maxSkew=0)) | {"apiVersion": "argoproj.io/v1alpha1"}, "1.34", False),
        (pod(TWICE), "1.34", True),
        (STORED | {"spec": {"topologySpreadConstraints": [*KEPT, EMPTY | {"topologyKey": "rack"}]}}, "1.34", False),
        (DENIED, "1.34", False),
    ],
)
def test_it_notes_what_the_api_server_refuses_by_itself(run, given, version, noted):
    code, out, _ = run(f"admit -f new --kubernetes-version {version}", new=given)

    assert (1, noted) == (code, REFUSES in out.splitlines())


def test_it_notes_that_too_where_evenkeel_itself_only_warns_or_is_silenced(run):
    warns, silenced = constraint(maxSkew=0), {"annotations": {"evenkeel.dev/ignore": "invalid-constraint"}}

    for given, policy in ((pod(warns), POLICY | {"enforcement": "Warn"}), (pod(warns, **silenced), POLICY)):
        code, out, _ = run("admit -f new --policy policy", new=given, policy=policy)
        assert (0, True) == (code, REFUSES in out.splitlines())


def test_a_policy_changes_the_answer(run):
    code, out, _ = run("admit -f new --policy policy", new=DENIED, policy=POLICY | {"enforcement": "Warn"})

    assert (0, "Warning: empty-selector: ") == (code, out[:25])


def test_what_is_too_large_to_judge_is_said(run):
    many = pod(*[constraint()] * (MOST_CONSTRAINTS + 1))

    assert "Warning: evenkeel could not judge this object: " in run("admit -f new", new=many).out
    assert 1 == run("admit -f new --policy policy", new=many, policy=POLICY | {"onError": "Deny"}).code


class Bad(NamedTuple):
    """Arguments and the line on stderr."""

    name: str
    args: str
    err: str
    files: Mapping[str, object] = MappingProxyType({})


FINE = {"new": pod(constraint())}
BAD = [
    Bad("a missing file", "admit -f none", "none: No such file or directory"),
    Bad("a folder", "admit -f .", ".: Is a directory"),
    Bad("a file that is no text", "admit -f new", "new: is not UTF-8", {"new": b"\xff\xfe"}),
    Bad("broken YAML", "admit -f new", "new: line 2, column 1: did not find expected ',' or ']'", {"new": "a: [1"}),
    Bad("no object", "admit -f new", "new: found no object", {"new": "# nothing\n"}),
    Bad("a word", "admit -f new", "new: document 1: must be an object", {"new": "hello"}),
    Bad("no kind", "admit -f new", "new: object 2: must have apiVersion and kind", {"new": [pod(), {"kind": "Pod"}]}),
    Bad("100,000 brackets", "admit -f new", "new: line 1, column 501: nested more …", {"new": "[" * 100_000}),
    Bad("a missing old file", "admit -f new --old none", "none: No such file or directory"),
    Bad("an old file from elsewhere", "admit -f new --old old", "old: has no pod/…", {"old": pod(namespace="bank")}),
    Bad("an old file without it", "admit -f new --old old", "old: has no pod/web-1 in …", {"old": DENIED}),
    Bad("no version", "admit -f new --kubernetes-version one", 'Kubernetes version: found "one", wanted a version …'),
    Bad("an old version", "admit -f new --kubernetes-version 1.24", 'Kubernetes version: found "1.24", wanted 1.25 …'),
    Bad("a missing policy", "admit -f new --policy none", "none: No such file or directory"),
    Bad("a bad policy", "admit -f new --policy p", "p: onError: found null, …", {"p": POLICY | {"onError": None}}),
    Bad("a policy that is no YAML", "policy check p", "p: line 2, column 1: …", {"p": "a: ["}),
    Bad("a missing dump", "admit -f new --cluster none", "none: No such file or directory"),
    Bad("a bad dump", "admit -f new --cluster c", "c: Service shop/web: spec.…", {"c": service(selector={"a": 1})}),
    Bad("a label without value", "policy show --labels app=web,v", '--labels: found "v", wanted KEY=VALUE'),
    Bad("a label without key", "policy show --namespace-labels =a", '--namespace-labels: found "", wanted KEY=VALUE'),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_what_cannot_be_used_is_named_in_one_line(run, case):
    code, out, err = run(case.args, **{**FINE, **case.files})

    assert (2, "", 1) == (code, out, len(err.splitlines()))
    assert err.startswith(f"evenkeel: {case.err[:-1]}") if case.err.endswith("…") else f"evenkeel: {case.err}\n" == err


def test_every_cause_against_a_policy_is_a_line(run):
    code, _, err = run("policy check p", p=POLICY | {"onError": "no", "enforcement": "no"})

    assert (2, ["enforcement", "onError"]) == (code, re.findall(r"^evenkeel: p: (\w+): found", err, re.MULTILINE))


def test_policy_check_notes_what_may_surprise(run):
    hard = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    noted = POLICY | {"defaulting": {"defaultingType": "List", "defaultConstraints": [hard]}}

    assert Run(0, "p: ok\n", "") == run("policy check p", p=POLICY)
    note, ok = run("policy check p", p=noted).out.splitlines()
    assert note.startswith("p: note: defaulting.defaultConstraints[0].whenUnsatisfiable: DoNotSchedule leaves")
    assert "p: ok" == ok


OVERRIDES = POLICY | {
    "rules": {"excessive-max-skew": {"severity": "error", "enforced": True, "maxSkew": 5}},
    "overrides": [
        {"name": "batch", "namespaceSelector": {"matchLabels": {"team": "batch"}}, "defaulting": {}},
        {"name": "db", "podSelector": {"matchLabels": {"app": "db"}}},
        {"name": "gpu", "schedulerName": "gpu"},
        {"name": "infra", "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "infra"}}},
    ],
}


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ("--namespace-labels team=batch", ["override       batch", "defaulting     System"]),
        ("--namespace-labels team=web", ["override       none matches", "defaulting     List"]),
        ("--namespace-labels team=web --labels app=db,v=1", ["override       db"]),
        ("--namespace-labels team=web --scheduler-name gpu", ["override       gpu"]),
        ("--namespace-labels team=web --namespace infra", ["override       infra"]),
        ("--namespace shop --cluster c", ["override       batch"]),
        ("--namespace bank --cluster c", ["override       none matches", "               not certain: …"]),
        ("", ["override       none matches", "               not certain: …"]),
        ("", ["  excessive-max-skew       error    enforced topologyKeys=[] maxSkew=5"]),
    ],
)
def test_policy_show_prints_what_is_in_force_for_a_pod(run, args, shown):
    code, out, err = run(f"policy show --policy p {args}", p=OVERRIDES, c=namespace(team="batch"))

    assert (0, "") == (code, err)
    for line in shown:
        assert any(one.startswith(line.rstrip("…")) for one in out.splitlines())


def test_policy_schema_prints_the_schema(run):
    assert schema() == json.loads(run("policy schema").out)


@pytest.mark.parametrize("command", [*COMMANDS, *(f"policy {action}" for action in ("check", "show", "schema"))])
def test_every_command_has_help(run, command):
    code, out, err = run(f"{command} --help")

    assert (0, "") == (code, err)
    assert out.startswith(f"usage: evenkeel {command} ")


def test_the_list_of_commands_says_what_each_is_for(run):
    out = run("--help").out

    for command in COMMANDS:
        assert re.search(rf"^    {command} +\w+", out, re.MULTILINE)


def test_wrong_arguments_are_exit_code_2(run):
    for command in ("", "nonsense", "admit", "policy", "policy nonsense", "admit -f new -o xml"):
        code, out, err = run(command)
        assert (2, "") == (code, out)
        assert err.startswith("usage: ")


def test_the_installed_command_exits_with_the_code(tmp_path):
    for code, given in ((0, WARNED), (1, DENIED), (2, {})):
        (tmp_path / "new").write_text(json.dumps(given))
        assert code == script("admit", "-f", tmp_path / "new").returncode
    assert f"evenkeel {__version__}\n" == script("--version").stdout
    assert script("-h", name="kubectl-evenkeel").stdout.startswith("usage: kubectl evenkeel ")


def test_standard_input_is_read_for_a_dash():
    denied = script("admit", "-f", "-", input=json.dumps(DENIED))
    broken = script("admit", "-f", "-", input="\udcff", errors="surrogateescape")

    assert (1, "") == (denied.returncode, denied.stderr)
    assert 'error when creating "-"' in denied.stdout
    assert (2, "evenkeel: -: is not UTF-8\n") == (broken.returncode, broken.stderr)


def test_standard_input_cannot_be_read_twice():
    done = script("admit", "-f", "-", "--old", "-", input=json.dumps(DENIED))

    assert (2, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert "found no object" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        done = script("policy", "schema", stdout=closed, stderr=subprocess.PIPE)

    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("how", ["admit -f - <&-", "policy schema >&-", "policy schema >/dev/full"])
def test_streams_that_cannot_be_used_are_no_traceback(how):
    done = subprocess.run(f"'{SCRIPTS}'/evenkeel {how}", shell=True, capture_output=True, text=True, check=False)

    assert done.returncode
    assert "Traceback" not in done.stderr


def test_a_command_asks_the_cluster_that_kubectl_would_talk_to(run, tmp_path, monkeypatch):
    api = ApiServer()
    api.put(namespace(), service(), workload("ReplicaSet"))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(api.url, tmp_path)))
    there = run("admit -f new --cluster live", new=pod(owner="ReplicaSet/web"))
    api.stop()
    gone = run("admit -f new --cluster live", new=pod())

    assert "defaulted: selector app=web from Service/web, ReplicaSet/web" in there.out
    assert (2, 1) == (gone.code, len(gone.err.splitlines()))
    assert gone.err.startswith("evenkeel: --cluster live: /api/v1/nodes: ") and "Connection refused" in gone.err


def test_a_cluster_that_cannot_be_found_is_said_in_one_line(run, tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    said = f"evenkeel: --cluster live: found neither {tmp_path}/none nor a Pod's service account; set KUBECONFIG\n"

    assert Run(2, "", said) == run("admit -f new --cluster live", new=pod())


RED = "\x1b[31mred"
ESCAPES = [
    ("policy check new", POLICY | {RED: 1}),
    ("policy check new", POLICY | {"rules": {RED: "error"}}),
    ("admit -f new --cluster new", namespace(RED) | {"metadata": {"name": RED, "labels": {"a": 1}}}),
    ("admit -f new --cluster new", namespace() | {"metadata": {"name": "shop", "labels": {RED: 1}}}),
    (f"admit -f new --cluster {RED}", pod()),
    (f"admit -f {RED}", pod()),
    (f"lint {RED}.yaml", pod()),
    (f"lint new --baseline {RED}", pod()),
]


@pytest.mark.parametrize(("command", "content"), ESCAPES, ids=lambda value: str(value)[:40])
def test_a_name_in_an_error_cannot_write_to_the_terminal(run, command, content):
    """Not even one that a policy, a dump or a folder brings in."""
    code, out, err = run(command, new=content)

    assert (2, "") == (code, out)
    assert "\\u001b[31mred" in err
    assert all(line.isprintable() for line in err.splitlines())


def test_an_error_keeps_its_lines(run):
    code, _, err = run("policy check new", new=POLICY | {"one": 1, "other": 2})

    assert (2, 2) == (code, len(err.splitlines()))
