"""evenkeel lint: what it prints in which form, its exit codes, repairs, baselines, and what it says of bad usage."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from evenkeel.lint import files as lint_files
from evenkeel.lint import repair, session
from tests.support.build import constraint, honoring, namespace, node, pod, workload
from tests.support.repository import commit, git
from webhook.cli import main as cli

SCRIPT = Path(sys.executable).parent / "evenkeel"
POLICY = "{apiVersion: config.evenkeel.dev/v1alpha1, kind: SpreadPolicy, rules: {%s}}"
FINE = workload("StatefulSet", honoring())
ERROR = workload("StatefulSet", honoring(labelSelector={}))
SOFT_AND_MISSPELT = constraint(topologyKey="kubernetes.io/zone", whenUnsatisfiable="ScheduleAnyway")
WARNING = workload("StatefulSet", SOFT_AND_MISSPELT, name="db")
INFO = workload("Deployment", honoring(), name="api")


class Run(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def found(self):
        """The findings of JSON output as `file:line rule`."""
        return [f"{one['file']}:{one['line']} {one['rule']}" for one in json.loads(self.out)["findings"]]


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run `evenkeel lint` where `files` lie, each of which holds an object, or text; a dot in a name is `_DOT_`."""
    monkeypatch.chdir(tmp_path)

    def run(command, files=None, stdin=None, **more):
        for name, content in {**(files or {}), **{f"{name}.yaml": content for name, content in more.items()}}.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(content, indent=1) if isinstance(content, dict) else content
            Path(name).write_bytes(text.encode())
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            code = cli.main(["lint", *command.split()])
        except SystemExit as error:
            code = error.code
        return Run(code, *capsys.readouterr())

    return run


TEXT = """\
error: spec.template.spec.topologySpreadConstraints[0].labelSelector: must select Pods: without labels to select, \
the constraint spreads nothing (empty-selector)
  --> shop/web.yaml:27:7  StatefulSet shop/web
   |
27 |       "labelSelector": {},
   |       ^^^^^^^^^^^^^^^^^^^
   = write labelSelector: {matchLabels: {app: web}}

1 error; 1 fixable with --fix
"""
SKIPPED = "note: 6 rules need a cluster: --cluster live\n"


def test_text_quotes_the_line_and_points_at_the_field(run):
    assert Run(1, TEXT, SKIPPED) == run("shop fine.yaml", {"shop/web.yaml": ERROR, "fine.yaml": FINE})


def test_nodes_of_a_dump_or_of_the_input_are_enough_for_the_rules_that_need_them(run):
    wrong = workload("StatefulSet", constraint(topologyKey="rack"))
    for options, files in (("--cluster nodes a.yaml", {"nodes": node()}), (".", {"nodes.yaml": node()})):
        found = run(f"{options} --fail-on warning", {"a.yaml": wrong, **files})
        assert (1, True) == (found.code, "(unknown-topology-key)" in found.out)
        assert "note: 1 rule needs a cluster with Pods: --cluster live\n" == found.err


def test_advice_cannot_be_made_an_error(run):
    code, _, err = run("--rule tainted-domain=error a.yaml", a=FINE)

    assert 2 == code
    assert (
        "--rule: tainted-domain: found error, wanted warning or info or ignore: it is advice, and never denies" in err
    )


def test_text_says_so_when_nothing_is_found(run):
    assert Run(0, "no findings in 1 file, 1 object\n", "") == run("a.yaml", a=FINE)


def test_notes_are_told_apart_from_findings_one_line_a_cause(run):
    code, out, err = run(".", a="kind: {{ x\ntopologySpreadConstraints:", b="kind: {{ y", c=FINE)

    assert (0, "no findings in 3 files, 1 object\njudged 1 of 2 places with constraints in full\n") == (code, out)
    assert err.startswith("note: 2 templates passed over: a.yaml, b.yaml; ")
    assert ["note: 2", "note: 6"] == [line[:7] for line in err.splitlines()]


def test_concise_is_a_line_for_each_finding_and_problem(run):
    code, out, err = run("-o concise .", a=ERROR, b="apiVersion: v1\nkind: [\n", c=FINE)

    assert (2, 2) == (code, len(out.splitlines()))
    assert out.startswith(
        "a.yaml:27:7: error empty-selector topologySpreadConstraints[0].labelSelector: must select Pods: without"
        " labels to select, the constraint spreads nothing\nb.yaml:2:8: error cannot"
    )
    assert err.startswith("1 error, 1 problem; 1 fixable with --fix\n")


def test_the_totals_beside_concise_lines_have_no_colour(run, monkeypatch):
    """They are on standard error, whatever standard output is."""
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert "\x1b" not in run("-o concise .", a=ERROR).err


def test_on_github_the_step_sums_up_what_is_no_annotation(run, monkeypatch, tmp_path):
    bare = run("-o github .", a=ERROR, b="{{ x")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    summed = run("-o github .")
    run("-o github .")

    assert (1, bare.out, "") == summed
    assert bare.err.startswith("note: 1 template passed over")
    assert 2 == Path("summary.md").read_text().count("| a.yaml:27, StatefulSet shop/web | error: ")


@pytest.mark.parametrize("form", ["text", "concise"])
def test_a_quiet_run_prints_findings_alone(run, form):
    whole, quiet = run(f"-o {form} .", a=ERROR, b=FINE), run(f"-q -o {form} .")

    assert (1, "", True) == (quiet.code, quiet.err, whole.out.startswith(quiet.out))
    assert "empty-selector" in quiet.out
    assert "objects" not in quiet.out
    assert Run(0, "", "") == run(f"-q -o {form} b.yaml")


def configured(text, **files):
    """Files of a repository that has this configuration."""
    return {
        ".git/HEAD": "",
        ".evenkeel.yaml": text,
        **{name.replace("__", "/") + ".yaml": files[name] for name in files},
    }


def test_a_file_of_the_repository_sets_what_options_set(run):
    files = configured("rules: {empty-selector: warning}\nexcludes: [/old]\n", x__a=ERROR, old__a=ERROR)

    assert 0 == run("-o json .", files).code
    assert ["x/a.yaml:27 empty-selector"] == run("-o json .").found == run("-o json x").found
    assert 1 == run("--rule empty-selector=error x/a.yaml").code
    assert ["old/a.yaml:27 empty-selector"] == run("-o json --exclude x --exclude !/old .").found


def test_a_policy_and_labels_of_the_repository_hold_unless_options_give_others(run, monkeypatch):
    rules = "rules: {empty-selector: ignore}, overrides: [{name: b, namespaceSelector: {matchLabels: {team: b}}, %s}]"
    text = POLICY.replace("rules: {%s}", rules % "rules: {empty-selector: info}")
    files = configured("policy: p/policy.yaml\nnamespaces: {shop: {team: b}}", p__policy=text, other=POLICY % "")
    run("-o json x", {**files, "x/a.yaml": ERROR})
    monkeypatch.chdir("x")

    assert [["info"], [], ["error"]] == [
        [finding["severity"] for finding in json.loads(run(f"-o json {options} .").out)["findings"]]
        for options in ("", "--namespace-labels shop:team=a", "--policy ../other.yaml")
    ]


def test_a_policy_that_an_option_gives_goes_before_the_rules_of_the_repository(run):
    files = configured("rules: {empty-selector: ignore}", a=ERROR, given=POLICY % "empty-selector: error")

    assert [0, 1] == [run(f"{options} a.yaml", files).code for options in ("", "--policy given.yaml")]
    assert 0 == run("--policy given.yaml a.yaml", given=POLICY % "").code


WRONG_CONFIGURATIONS = [
    ("rules: {empty-selecto: error}", "rules.empty-selecto: unknown field; did you mean empty-selector?"),
    ("rules: {excessive-max-skew: error}", "rules.excessive-max-skew: must have maxSkew; give its parameters in a"),
    (
        "policy: nowhere.yaml",
        'policy: found "nowhere.yaml", wanted a file; the path is relative to the folder of this file',
    ),
]


@pytest.mark.parametrize(("text", "said"), WRONG_CONFIGURATIONS)
def test_what_is_wrong_in_the_file_of_the_repository_is_one_line(run, text, said):
    code, out, err = run("x", configured(text, x__a=FINE))

    assert (2, "", True) == (code, out, err.startswith(f"evenkeel: .evenkeel.yaml: {said}"))


def test_what_is_wrong_in_the_policy_of_the_repository_names_the_policy(run):
    code, out, err = run("x", configured("policy: a.yaml", x__a=FINE, a="a: 1"))

    assert (2, "", True) == (code, out, err.startswith("evenkeel: a.yaml: "))


def test_paths_with_different_configurations_are_bad_usage(run):
    files = {f"{name}/.evenkeel.yaml": "{}" for name in "ab"} | {f"{name}/x.yaml": FINE for name in "ab"}

    assert (2, "") == (refused := run("a b", files))[:2]
    assert (
        "evenkeel: found a/.evenkeel.yaml and b/.evenkeel.yaml, wanted one; lint them in separate runs\n"
    ) == refused.err


def test_a_configuration_of_another_name_is_noted(run):
    files = {".git/HEAD": "", "a.yaml": FINE, ".evenkeel.yml": "{}"}
    note = "note: .evenkeel.yml: is not read; rename it .evenkeel.yaml\n"

    assert run("a.yaml", files).err.startswith(note)
    assert note not in run("-q a.yaml").err
    assert note not in run("a.yaml", {".evenkeel.yaml": "{}"}).err


class Exits(NamedTuple):
    options: str
    error: int
    warning: int
    info: int


@pytest.mark.parametrize(
    "exits",
    [
        Exits("", 1, 0, 0),
        Exits("--fail-on warning", 1, 1, 0),
        Exits("--fail-on info", 1, 1, 1),
        Exits("--rule empty-selector=info --rule misspelt-topology-key=error", 0, 1, 0),
        Exits("--rule empty-selector=ignore --fail-on info", 0, 1, 1),
        Exits("--policy policy.yaml", 0, 1, 0),
    ],
    ids=lambda exits: exits.options or "as is",
)
def test_exit_codes(run, exits):
    rules = POLICY % "empty-selector: warning, misspelt-topology-key: error"
    codes = {
        name: run(f"{exits.options} {name}.yaml", **{name: obj, "policy": rules}).code
        for name, obj in (("error", ERROR), ("warning", WARNING), ("info", INFO))
    }

    assert exits._asdict() == {"options": exits.options, **codes}


UNUSABLE = [
    ("nowhere.yaml", "nowhere.yaml: no such file or folder"),
    ("'*.nothing'", "'*.nothing': matches no file"),
    ("--rule pinned-pd=error a.yaml", '--rule: found "pinned-pd", wanted a rule; did you mean pinned-pod?'),
    ("--rule pinned-pod a.yaml", '--rule: found "pinned-pod", wanted ID=SEVERITY, with a severity of error'),
    ("--rule pinned-pod=warn a.yaml", '--rule pinned-pod: found "warn", wanted error, warning, info, ignore; did you'),
    ("--rule pinned-pod=bad a.yaml", '--rule pinned-pod: found "bad", wanted error, warning, info, ignore\n'),
    ("--rule excessive-max-skew=error a.yaml", "--rule: excessive-max-skew: must have maxSkew"),
    ("--write-baseline a.yaml", "--write-baseline: needs --baseline FILE"),
    ("--baseline b --write-baseline --fix a.yaml", "--write-baseline: cannot be combined with --fix"),
    ("--baseline nowhere a.yaml", "nowhere: No such file or directory; --write-baseline writes it"),
    ("--baseline a.yaml a.yaml", "a.yaml: version: found null, wanted 1"),
    ("--baseline b --write-baseline --since main a.yaml", "--write-baseline: cannot be combined with --since"),
    ("--since main -", "--since: git does not know what standard input was before"),
    ("--since main a.yaml", "--since: found "),
    ("--fix -", "--fix: standard input cannot be repaired"),
    ("--kubernetes-version x a.yaml", "--kubernetes-version: found"),
    ("--cluster nowhere a.yaml", "nowhere: "),
]


@pytest.mark.parametrize("command, said", UNUSABLE, ids=lambda value: value)
def test_bad_usage_is_one_line_and_exit_code_2(run, command, said):
    code, out, err = run(command, a=ERROR)

    assert (2, "", 1) == (code, out, len(err.splitlines()))
    assert err.startswith(f"evenkeel: {said}")


def test_a_file_that_cannot_be_read_is_told_with_its_line_and_the_others_are_judged(run):
    code, out, _ = run(".", a="apiVersion: v1\nkind: [\n", b=ERROR)

    assert (2, True, True) == (code, "  --> a.yaml:2:8\n" in out, "  --> b.yaml:27:7" in out)
    assert "1 error, 1 problem; 1 fixable with --fix" == out.splitlines()[-1]


def test_a_file_that_is_named_is_judged_with_every_kustomization_of_its_repository(run, tmp_path):
    """As pre-commit names those that change: what an overlay beside it writes is left open, and not repaired."""
    (tmp_path / ".git").mkdir()
    misses = workload("StatefulSet", honoring(labelSelector={"matchLabels": {"track": "blue"}}))
    labelled = "resources: [../base]\nlabels: [{pairs: {track: blue}, includeTemplates: true}]"
    files = {"base/kustomization.yaml": "resources: [web.yaml]", "blue/kustomization.yaml": labelled}
    code, out, err = run("--fix base/web.yaml", {**files, "base/web.yaml": misses})

    judged = "judged 0 of 1 place with constraints in full"
    assert (0, f"no findings in 1 file, 1 object\n{judged}\n") == (code, out)
    assert err.startswith("note: 1 object changed by a kustomization judged in part: base/web.yaml; ")
    assert 0 == run("base").code
    assert 1 == run("--fail-on warning other/base/web.yaml", {"other/base/web.yaml": misses}).code


def test_objects_are_in_the_namespace_that_a_kustomization_gives_them(run):
    """For each other, and for overrides of the policy."""
    files = {f"{name}/kustomization.yaml": f"resources: [web.yaml]\nnamespace: team-{name}" for name in "ab"}
    files["all/kustomization.yaml"] = "resources: [../a, ../b]"
    files |= {f"{name}/web.yaml": workload("StatefulSet", honoring(), name=name) for name in "ab"}
    overrides = "overrides: [{name: a, namespaceSelector: {matchLabels: {team: a}}, rules: {empty-selector: ignore}}]"
    files["policy.yaml"] = POLICY.replace("rules: {%s}", overrides)

    assert [] == run("-o json .", files).found

    files = {f"{name}/web.yaml": workload("StatefulSet", honoring(labelSelector={}), name=name) for name in "ab"}
    labels = "--namespace-labels team-a:team=a --namespace-labels team-b:team=b"

    assert ["b/web.yaml:27 empty-selector"] == run(f"-o json --policy policy.yaml {labels} .", files).found


@pytest.fixture
def kustomize(tmp_path, monkeypatch):
    """Put a script on the PATH that prints what the file `built` in a folder has, as if it had built that."""
    script = tmp_path / "bin" / "kustomize"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\ncat "$2/built"')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")


def test_builds_are_judged_on_request(run, kustomize):
    """The finding stands where it comes from; where one is not built, its sources are judged, and it is said."""
    kustomization = "resources: [web.yaml]\ncommonLabels: {app: web}"
    files = {f"{name}/kustomization.yaml": kustomization for name in ("good", "bad")}
    wrong = {**ERROR, "metadata": {"name": "web"}}
    sources = {f"{name}/web.yaml": {**wrong, "metadata": {"name": name}} for name in ("good", "bad")}
    built = {"good/built": {**wrong, "metadata": {"name": "good", "namespace": "shop"}}}
    code, out, err = run("--build auto -o concise .", {**files, **sources, **built})

    assert 1 == code
    assert ["good/web.yaml:26:7: error empty-selector"] == [line.partition(" topology")[0] for line in out.splitlines()]
    assert (
        "note: 1 build (cat: bad/built: No such file or directory) failed: bad/kustomization.yaml; "
        "the sources are judged instead; to see why it failed, run kustomize build in its folder" in err
    )
    assert ["kustomize build good"] == [
        one["source"] for one in json.loads(run("--build auto -o json .").out)["findings"]
    ]


def test_a_base_is_repaired_as_it_is_built(run, tmp_path, kustomize):
    (tmp_path / "bin/kustomize").write_text("#!/bin/sh\ncat base/web.yaml")
    files = {"base/kustomization.yaml": "resources: [web.yaml]", "base/web.yaml": BROKEN}
    files["prod/kustomization.yaml"] = "resources: [../base]\ncommonLabels: {a: b}"
    offered = run("--build auto --diff --fail-on warning .", files)
    fixed = run("--build auto --fix -o json .")

    assert (1, True) == (offered.code, DIFF.replace("b.yaml", "base/web.yaml") in offered.out)
    assert (0, [], 1) == (fixed.code, fixed.found, json.loads(fixed.out)["summary"]["repaired"])
    assert MENDED == Path("base/web.yaml").read_text()


def test_a_base_is_not_repaired_where_another_build_of_it_differs_or_fails(run, tmp_path, kustomize):
    (tmp_path / "bin/kustomize").write_text('#!/bin/sh\ntest "$2" != test && cat base/web.yaml')
    files = {"base/kustomization.yaml": "resources: [web.yaml]", "base/web.yaml": BROKEN}
    files |= {f"{name}/kustomization.yaml": "resources: [../base]" for name in ("prod", "test")}

    assert ["base/web.yaml:11 misspelt-topology-key"] == run("--build auto --fix -o json .", files).found
    assert BROKEN == Path("base/web.yaml").read_text()


def test_what_is_no_manifest_and_cannot_be_read_matters_only_where_it_is_named(run):
    broken = "steps: [\n"

    assert Run(0, "no findings in 2 files, 1 object\n", "") == run(".", a=broken, b=FINE)
    assert (2, True) == ((named := run("a.yaml b.yaml")).code, "  --> a.yaml:1:9\n" in named.out)


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "github"])
def test_a_path_that_leads_nowhere_is_a_problem_and_the_others_are_judged(run, form):
    code, out, err = run(f"-o {form} a.yaml nope.yaml no*.yml b", {"a.yaml": ERROR, "b/b.yaml": WARNING})

    assert (2, SKIPPED if form in ("text", "github") else "") == (code, err)
    for said in ("nope.yaml", "no such file or folder", "matches no file", "empty-selector", "misspelt-topology-key"):
        assert said in out


FORMATS = {
    "json": '{\n  "version": 1',
    "sarif": '{\n  "$schema"',
    "junit": "<?xml ",
    "github": "::error ",
}


@pytest.mark.parametrize("form", FORMATS)
def test_a_format_is_printed_whole_and_nothing_else(run, form):
    code, out, err = run(f"-q -o {form} a.yaml", a=ERROR)

    assert (1, "", True) == (code, err, out.startswith(FORMATS[form]))


def test_sarif_holds_the_exit_code(run):
    for command, expected in (("-o sarif a.yaml", 1), ("-o sarif --rule empty-selector=info a.yaml", 0)):
        code, out, _ = run(command, a=ERROR)

        assert code == expected == json.loads(out)["runs"][0]["invocations"][0]["exitCode"]


def test_junit_holds_the_files_in_which_nothing_was_found(run):
    assert '<testcase name="no findings" classname="b.yaml"/>' in run("-o junit .", a=ERROR, b=FINE).out


def test_a_path_that_leads_nowhere_keeps_nothing_from_being_repaired(run):
    assert 2 == run("--fix nope.yaml b.yaml", b=BROKEN).code
    assert MENDED == Path("b.yaml").read_text()


@pytest.mark.parametrize("function, module", [("judge", lint_files), ("repair", repair)], ids=["judging", "repairing"])
def test_a_defect_in_one_file_is_a_problem_of_that_file_and_the_others_are_judged(run, monkeypatch, function, module):
    inner = getattr(module, function)

    def broken(file, *rest):
        if file == "a.yaml":
            raise KeyError("some\nthing")
        return inner(file, *rest)

    monkeypatch.setattr(module, function, broken)
    found = run("-o json --fix .", a=ERROR, b=ERROR)
    (problem,) = json.loads(found.out)["problems"]

    assert (2, "", FINE) == (found.code, found.err, json.loads(Path("b.yaml").read_text()))
    assert re.fullmatch(
        r"cannot be (judged|repaired): KeyError: \S*some.*thing.*, please report it", problem["message"]
    )
    assert ("a.yaml", ERROR) == (problem["file"], json.loads(Path("a.yaml").read_text()))


def test_standard_input_is_read_once_and_told_as_such(run):
    text = "\n---\n".join(json.dumps(one) for one in (ERROR, namespace("shop")))
    code, out, _ = run("-", stdin=text)

    assert (1, True) == (code, "--> <stdin>:1:" in out)


def test_what_helm_made_is_told_with_the_template_it_was_made_of(run):
    """Lines of what was piped in lead nobody anywhere."""
    out = run("-", stdin=f"---\n# Source: cart/templates/db.yaml\n{BROKEN}").out

    assert "  --> <stdin>:13:9  StatefulSet db  from cart/templates/db.yaml\n" in out


def test_a_pipe_that_brought_nothing_is_a_problem(run):
    """`helm template … | evenkeel lint -` must not pass because helm failed."""
    assert (2, True) == ((found := run("-", stdin="")).code, "contains no document" in found.out)
    nothing = "{apiVersion: v1, kind: List, items: []}"
    assert [2, 0] == [run(f"{option} -", stdin=nothing).code for option in ("", "--allow-none")]


@pytest.mark.parametrize("form", ["text", "concise", "github", "json", "sarif", "junit"])
def test_nothing_to_judge_is_not_green(run, form):
    """Neither an object nor a place with constraints; programs get their document all the same."""
    files = {"a.yaml": "a: 1", "b.json": "{}", "c/d.txt": ""}
    found, empty = run(f"-o {form} .", files), run(f"-o {form} c")

    is_document = form in ("json", "sarif", "junit")
    assert [(2, is_document, 1)] * 2 == [(one.code, one.out != "", len(one.err.splitlines())) for one in (found, empty)]
    if form == "sarif":
        invocation = {"executionSuccessful": False, "exitCode": 2, "toolExecutionNotifications": []}
        assert [invocation] == json.loads(found.out)["runs"][0]["invocations"]
    elif form == "json":
        assert 2 == json.loads(found.out)["summary"]["files"]
    assert [0, 0] == [run(f"--allow-none -o {form} {path}").code for path in (".", "c")]
    assert 0 == run(".", {"e.yaml": "apiVersion: v1\nkind: Service"}).code
    assert 0 == run("f.yaml", {"f.yaml": "web: {topologySpreadConstraints: []}"}).code


@pytest.mark.parametrize(
    "template", ["{{- if .Values.on }}\napiVersion: apps/v1\nkind: Deployment\n{{- end }}", '{{ include "web" . }}']
)
def test_a_template_that_is_passed_over_is_something_to_judge(run, template):
    chart = {"web/Chart.yaml": "apiVersion: v1\nname: web\nversion: 1.0.0", "web/values.yaml": "on: false"}
    found = run("web", {**chart, "web/templates/d.yaml": template})

    assert (0, True) == (found.code, "note: 1 template passed over: web/templates/d.yaml; " in found.err)


def test_a_list_of_what_runs_in_a_cluster(run):
    """kubectl get deploy,rs,pods -A -o json: what controllers made is passed over."""
    made = workload("ReplicaSet", constraint(labelSelector={}), owner="Deployment/web", uid="u2")
    items = [workload("Deployment", constraint(labelSelector={}), uid="u1"), made]
    found = run("-o json -", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    assert (["-:1 empty-selector"], 2) == (found.found, json.loads(found.out)["summary"]["objects"])


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/zone": "a"}}}


def test_the_nodes_of_a_cluster_are_known(run):
    assert [] == run("-o json --cluster dump.json a.yaml", {"dump.json": NODE, "a.yaml": WARNING}).found
    assert ["a.yaml:25 misspelt-topology-key"] == run("-o json a.yaml").found


def test_a_namespace_in_another_file_counts(run):
    """Also where files are judged in other processes."""
    skip = namespace("shop", **{"evenkeel.dev/skip": "true"})

    assert 0 == run(".", {"a/ns.yaml": skip, "b/web.yaml": ERROR}).code


def test_a_namespace_in_a_folder_of_tests_counts_there_alone(run):
    skip = namespace("shop", **{"evenkeel.dev/skip": "true"})
    files = {"testdata/ns.yaml": skip, "b/web.yaml": ERROR, "testdata/x/web.yaml": ERROR}

    assert ["b/web.yaml:27 empty-selector"] == run("-o json .", files).found


def test_many_files_are_judged_in_several_processes(run, monkeypatch):
    monkeypatch.setattr(lint_files, "WORK_PER_PROCESS", 10 * lint_files.LEAST_WORK)
    monkeypatch.setattr("evenkeel.commands.lint.cpus", lambda: 2)
    files = {f"{i:03}.yaml": ERROR if i % 10 == 0 else FINE for i in range(100)}
    files["101.yaml"] = namespace("other")

    assert [f"{i:03}.yaml:27 empty-selector" for i in range(0, 100, 10)] == run("-o json .", files).found


def test_a_process_that_dies_is_told_and_leaves_nothing_waiting(run, monkeypatch):
    monkeypatch.setattr(lint_files, "WORK_PER_PROCESS", 1)
    monkeypatch.setattr("evenkeel.commands.lint.cpus", lambda: 2)
    monkeypatch.setattr(lint_files, "judge_file", lambda *_: os._exit(1))
    code, out, err = run(".", a=FINE, b=FINE)

    assert (2, "", "evenkeel: a process that judges files was killed; it may have run out of memory\n") == (
        code,
        out,
        err,
    )


BROKEN = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/zone  # the zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: db}}
"""
MENDED = BROKEN.replace("kubernetes.io/zone", "topology.kubernetes.io/zone")
DIFF = """\
--- a/b.yaml
+++ b/b.yaml
@@ -8,6 +8,6 @@
     spec:
       topologySpreadConstraints:
       - maxSkew: 1
-        topologyKey: kubernetes.io/zone  # the zone
+        topologyKey: topology.kubernetes.io/zone  # the zone
         whenUnsatisfiable: DoNotSchedule
         labelSelector: {matchLabels: {app: db}}
"""


def test_fix_repairs_files_and_touches_no_other(run, tmp_path):
    run(".", a=FINE, b=BROKEN)
    before = os.stat("a.yaml")
    code, _, err = run("--fix --fail-on info .")

    assert (0, MENDED) == (code, Path("b.yaml").read_text())
    assert "note: 1 finding repaired" in err
    assert (before.st_mtime_ns, before.st_ino) == (os.stat("a.yaml").st_mtime_ns, os.stat("a.yaml").st_ino)


@pytest.mark.parametrize("options", ["--diff", "--fix --diff", "--fix --diff --build auto"])
def test_diff_shows_the_repair_and_changes_nothing(run, options):
    code, out, _ = run(f"{options} --fail-on warning b.yaml", b=BROKEN)

    assert (1, True, BROKEN) == (code, out.startswith(DIFF), Path("b.yaml").read_text())


def test_fix_and_diff_print_the_repair_of_standard_input(run):
    code, out, _ = run("--fix --diff --fail-on warning -", stdin=BROKEN)

    assert (1, True) == (code, out.startswith(DIFF.replace("b.yaml", "-")))


def test_a_selector_beside_label_selector_is_put_below_it(run):
    below, beside = "labelSelector: {matchLabels: {app: db}}", "matchLabels: {app: db}  # its Pods"
    code, _, _ = run("--fix --fail-on warning b.yaml", b=MENDED.replace(below, beside))

    moved = f"labelSelector:\n          {beside}"
    assert (0, MENDED.replace(below, moved)) == (code, Path("b.yaml").read_text())


def test_an_info_is_not_repaired(run):
    text = json.dumps(INFO, indent=1)

    assert text == (run("--fix a.yaml", a=text), Path("a.yaml").read_text())[1]


def test_a_diff_stays_out_of_what_programs_read(run):
    found = run("--diff -o json b.yaml", b=BROKEN)

    assert (["b.yaml:11 misspelt-topology-key"], DIFF + "\n") == (found.found, found.err)


def test_a_diff_applies(run, tmp_path):
    """Also where the last line has no end."""
    out = run("--diff .", b=BROKEN.rstrip("\n"), c=BROKEN.replace("db}\n", "db}")).out
    diff = out[: out.index("warning")]
    done = subprocess.run(["patch", "-p1"], input=diff, capture_output=True, text=True, check=False)

    assert (0, MENDED.rstrip("\n")) == (done.returncode, Path("b.yaml").read_text())


def test_a_file_that_cannot_be_written_is_a_problem(run, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", denied)
    code, out, _ = run("--fix b.yaml", b=BROKEN)

    assert (2, True) == (code, "cannot be repaired: Permission denied" in out)
    assert (BROKEN, ["b.yaml"]) == (Path("b.yaml").read_text(), os.listdir())


def test_a_baseline_accepts_what_is_there_today_and_nothing_new(run):
    assert Run(0, "wrote base.json: accepts 2 findings in 2 files\n", "") == run(
        "--baseline base.json --write-baseline .", a=ERROR, b=WARNING
    )
    assert "2 findings accepted" in run("--baseline base.json --fail-on info .").err
    assert 0 == run("--baseline base.json --fail-on info .", a="\n\n# moved\n" + json.dumps(ERROR)).code
    found = run("--baseline base.json -o json .", b=workload("StatefulSet", constraint(maxSkew=0), name="db"))
    assert ["b.yaml:24 invalid-constraint", "base.json:3 unused-suppression"] == found.found
    found = run("--baseline base.json -o json .", a=ERROR, b=WARNING, c=ERROR)
    assert ["c.yaml:27 empty-selector"] == found.found


def test_a_baseline_accepts_files_that_cannot_be_read_but_none_that_is_not_there(run):
    write = "--baseline base.json --write-baseline ."
    assert (0, "wrote base.json: accepts 1 finding and 1 problem in 2 files\n") == run(
        write, a=ERROR, c="apiVersion: v1\nkind: ["
    )[:2]
    assert 0 == run("--baseline base.json .").code
    assert 2 == run("--baseline base.json .", c="apiVersion: v1\nkind: [\n---\nkind: [a: {").code
    assert 2 == run(f"{write} nowhere").code


def test_one_finding_is_accepted_in_the_singular(run):
    command = "--baseline base.json --write-baseline a.yaml"

    assert "wrote base.json: accepts 1 finding in 1 file\n" == run(command, a=ERROR).out


def test_a_second_finding_of_the_same_kind_is_new(run):
    two = [constraint(labelSelector={}), constraint(labelSelector={}, topologyKey="rack")]
    run("--baseline base.json --write-baseline .", a=workload("StatefulSet", two[0]))

    assert 1 == len(run("--baseline base.json -o json .", a=workload("StatefulSet", *two)).found)
    assert (
        []
        == run("--baseline base.json -o json .", a=workload("StatefulSet", two[0], constraint(topologyKey="r"))).found
    )


def test_a_baseline_is_read_from_anywhere_and_says_nothing_of_files_that_are_not_judged(run, monkeypatch):
    run("--baseline base.json --write-baseline .", {"x/a.yaml": ERROR, "x/b.yaml": ERROR})
    monkeypatch.chdir("x")

    assert [] == run("--baseline ../base.json -o json a.yaml").found


def test_what_a_baseline_accepts_no_longer_is_told_at_its_line_unless_it_may_be_still(run):
    run("--baseline base.json --write-baseline .", a=ERROR)

    assert "base.json:2:3" in run("--baseline base.json .", a=FINE).out
    assert [] == run("--baseline base.json -o json --rule empty-selector=ignore .").found
    assert [] == run("--baseline base.json -o json --rule unused-suppression=ignore .").found


def test_a_fix_leaves_what_the_baseline_accepts(run):
    run("--baseline base.json --write-baseline .", b=BROKEN)

    assert (0, BROKEN) == (run("--fix --baseline base.json .").code, Path("b.yaml").read_text())


@pytest.fixture
def since(run, tmp_path):
    """Commit `files`, and run `evenkeel lint --since HEAD` once others are `changed`."""

    def since(files, changed, command="-o json --fail-on info ."):
        run(".", {**files, ".gitignore": ""})
        commit(tmp_path)
        return run(f"--since HEAD {command}", changed)

    return since


def test_what_was_there_before_is_accepted_wherever_its_line_or_its_file_moved(since, run, tmp_path):
    moved = "\n\n# moved\n" + json.dumps(ERROR)
    known = since({"a.yaml": ERROR, "b.yaml": WARNING, "c.yaml": "apiVersion: v1\nkind: [\n"}, {"a.yaml": moved})
    git(tmp_path, "mv", "b.yaml", "moved.yaml")
    code, out, err = run("--since HEAD --fail-on info .")

    assert (0, [], [], 3) == (known.code, known.found, json.loads(known.out)["problems"], before(known))
    assert (0, True) == (code, out.startswith("no findings in 3 files"))
    assert "note: 3 findings not counted: they were there before the change\n" in err


def before(result):
    return json.loads(result.out)["summary"]["before"]


def test_what_is_new_is_reported_beside_what_was_there(since):
    two = workload("StatefulSet", honoring(labelSelector={}), honoring(labelSelector={}, topologyKey="rack"))
    more = since({"a.yaml": ERROR, "b.yaml": WARNING}, {"a.yaml": two, "c.yaml": WARNING})

    assert (1, ["a.yaml:34 empty-selector", "c.yaml:25 misspelt-topology-key"]) == (more.code, more.found)
    assert 2 == before(more)


TEAM = workload("StatefulSet", honoring(labelSelector={"matchLabels": {"app": "web", "team": "a"}}))
BUILDS = "resources: [a.yaml]"
LABELS = f"{BUILDS}\nlabels: [{{pairs: {{team: a}}, includeTemplates: true}}]"
RACKS = workload("StatefulSet", honoring(topologyKey="rack"))


def labelled(app):
    """A workload that its own label selects, and with the label app."""
    spec = {"selector": {"matchLabels": {"of": "api"}}}
    return workload("Deployment", name="api", labels={"of": "api", "app": app}, spec=spec)


class Breaks(NamedTuple):
    rule: str
    other: str
    unchanged: object
    old: object
    new: object


BREAKS = [
    Breaks("selector-matches-others", "b.yaml", FINE, labelled("api"), labelled("web")),
    Breaks("selector-misses-own-pod", "kustomization.yaml", TEAM, LABELS, BUILDS),
    Breaks("empty-selector", "b.yaml", ERROR, namespace("shop", **{"evenkeel.dev/skip": "true"}), namespace("shop")),
    Breaks("unknown-topology-key", "b.yaml", RACKS, node(rack="a"), node(shelf="a")),
]


@pytest.mark.parametrize("case", BREAKS, ids=lambda case: case.rule)
def test_what_a_change_breaks_in_a_file_that_did_not_change_is_reported(since, case):
    broken = since({"a.yaml": case.unchanged, case.other: case.old}, {case.other: case.new})

    assert {f"a.yaml {case.rule}"} == {re.sub(":[0-9]+", "", finding) for finding in broken.found}
    assert [] == since({}, {}).found


def test_paths_are_those_of_the_old_tree_too_wherever_the_command_is_run(since, run, tmp_path, monkeypatch):
    files = {
        "x/a.yaml": ERROR,
        "x/b.yaml": ERROR,
        "y/c.yaml": ERROR,
        "z/d.yaml": ERROR,
        ".evenkeel.yaml": "excludes: [z]",
    }
    since(files, {"x/b.yaml": FINE, "e.yaml": ERROR})
    monkeypatch.chdir("x")

    for paths in (".", "*.yaml ../y", "a.yaml ../y/c.yaml"):
        assert ([], True) == ((result := run(f"--since HEAD -o json {paths}")).found, before(result) > 0)
    for paths in ("..", f"a.yaml {tmp_path}"):
        (new,) = run(f"--since HEAD -o json {paths}").found
        assert new.endswith("/e.yaml:27 empty-selector")


@pytest.mark.parametrize("path", ["b/a.yaml", "b", "b/*.yaml", "."])
def test_a_renamed_file_is_that_of_its_old_name_however_it_is_named(since, run, tmp_path, path):
    since({"a.yaml": ERROR}, {})
    (tmp_path / "b").mkdir()
    git(tmp_path, "mv", "a.yaml", "b/a.yaml")
    result = run(f"--since HEAD -o json {path}")

    assert ([], 1) == (result.found, before(result))


@pytest.mark.parametrize("path", ["", "/x", "/x/*.yaml"])
def test_a_link_to_a_repository_is_the_repository(since, run, tmp_path_factory, path):
    since({"x/a.yaml": ERROR}, {})
    link = tmp_path_factory.mktemp("links") / "link"
    link.symlink_to(os.getcwd())
    new = run(f"--since HEAD -o json {link}{path}", {"x/b.yaml": WARNING}).found

    assert [f"{link}/x/b.yaml:25 misspelt-topology-key"] == new


@pytest.mark.parametrize("options", ["", "--build auto"])
def test_what_a_sparse_checkout_lacks_counts_neither_before_nor_now(since, run, tmp_path, options):
    skipped = namespace("shop", **{"evenkeel.dev/skip": "true"})
    since({"x/a.yaml": ERROR, "x/b.yaml": FINE, "y/c.yaml": skipped}, {})
    git(tmp_path, "sparse-checkout", "set", "x")
    result = run(f"--since HEAD -o json {options} .", {"x/b.yaml": WARNING})

    assert (["x/b.yaml:25 misspelt-topology-key"], 1) == (result.found, before(result))


def test_the_options_and_the_configuration_of_today_hold_for_the_old_tree(since):
    rules = "rules: {%s: ignore}"
    configured = since(
        {"a.yaml": ERROR, ".evenkeel.yaml": rules % "empty-selector"}, {".evenkeel.yaml": rules % "pinned-pod"}
    )

    assert ([], 1) == (configured.found, before(configured))


def test_a_fix_repairs_only_what_is_new(since):
    since({"a.yaml": BROKEN}, {"b.yaml": BROKEN.replace("name: db", "name: new")}, "--fix .")

    assert (BROKEN, MENDED.replace("name: db", "name: new")) == (Path("a.yaml").read_text(), Path("b.yaml").read_text())


def test_a_baseline_and_the_old_tree_accept_the_same_finding_once(since, run):
    run("--baseline base.json --write-baseline .", a=ERROR, b=ERROR)
    twice = f"{json.dumps(ERROR)}\n---\n{json.dumps(ERROR)}"
    result = since({}, {"a.yaml": twice, "b.yaml": FINE, "c.yaml": WARNING}, "--baseline base.json -o json .")

    assert ["a.yaml", "base.json", "c.yaml"] == sorted({finding.partition(":")[0] for finding in result.found})
    assert (1, 0) == (json.loads(result.out)["summary"]["accepted"], before(result))


def test_an_entry_of_the_baseline_that_was_unused_before_is_not_reported(since, run):
    run("--baseline base.json --write-baseline .", a=ERROR, b=ERROR)
    result = since({"a.yaml": FINE}, {"b.yaml": FINE}, "--baseline base.json -o json .")

    assert ["base.json:3 unused-suppression"] == result.found


def test_paths_of_several_repositories_are_refused(since, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    commit(other)

    code, _, err = since({"a.yaml": ERROR}, {}, f". {other}")
    assert (2, True) == (code, err.startswith("evenkeel: --since: found paths in "))


def test_suppressions_are_counted(run):
    text = BROKEN.replace("# the zone", "# evenkeel: ignore[misspelt-topology-key]")

    assert "note: 1 finding suppressed" in run("b.yaml", b=text).err


def on_a_terminal(*args, **environment):
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [SCRIPT, "lint", *args], stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm", **environment}
    )
    os.close(theirs)
    read = b""
    try:
        while part := os.read(ours, 65536):
            read += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    process.wait()
    return read.decode()


def test_colour_on_a_terminal_only_and_not_where_it_is_not_wanted(run):
    assert "\x1b" not in run("b.yaml", b=BROKEN).out

    assert "\x1b[1;33mwarning\x1b[0m" in on_a_terminal("b.yaml", NO_COLOR="")
    assert "\x1b" not in on_a_terminal("b.yaml", NO_COLOR="1")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_shows_on_a_terminal_once_it_takes_a_while(run, monkeypatch):
    monkeypatch.setattr("evenkeel.terminal.progress.PROGRESS_SECONDS", -1.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    run(".", a=FINE, b=FINE)

    assert "1 of 2 files" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_ctrl_c_ends_quietly_and_leaves_no_progress_behind(run, monkeypatch):
    def interrupted(files, terms, reader, surroundings, done, cpus):
        done(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "judge_files", interrupted)
    monkeypatch.setattr("evenkeel.terminal.progress.PROGRESS_SECONDS", -1.0)

    assert Run(130, "", "") == run("a.yaml", a=FINE)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert 130 == run(".", a=FINE, b=FINE).code
    assert terminal.getvalue().endswith("1 of 2 files\x1b[K\r\x1b[K")


def test_it_needs_no_web_server_no_kubernetes_client_and_no_schemas(run):
    run("a.yaml", a=pod(constraint()))
    program = "import sys; from webhook.cli.main import main; main(['lint', 'a.yaml']); print(*sys.modules, sep='\\n')"
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    command = [sys.executable, "-c", program]  # without coverage.py, which brings multiprocessing
    done = subprocess.run(command, env=unmeasured, capture_output=True, text=True, check=True)

    assert {"flask", "gunicorn", "kubernetes", "jsonschema", "cryptography", "multiprocessing"}.isdisjoint(
        done.stdout.splitlines()
    )
