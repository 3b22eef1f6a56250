"""Files are read once, judged in order, in several processes if there are many, and a defect stays in its file."""

from __future__ import annotations

import io
import itertools
import json
import multiprocessing
import os
import sys
import threading
from pathlib import Path

import pytest

from evenkeel.lint import built_lines
from evenkeel.lint import files as lint_files
from evenkeel.lint.builds import Build
from evenkeel.lint.declarations import NOTHING_STATED, unpacked
from evenkeel.lint.files import (
    FileReader,
    Unread,
    WorkerDied,
    defect,
    judge_file,
    judge_files,
    read_context,
    read_overlays,
)
from evenkeel.lint.notes import NOT_BUILT
from evenkeel.lint.other_files import OtherFiles
from tests.support.build import constraint, honoring, hpa, namespace, workload
from tests.support.lint import terms

WRONG = json.dumps(workload("StatefulSet", constraint(labelSelector={})))


def rules(results):
    return [(one.file, [located.finding.rule for located in one.found]) for one in results]


def test_standard_input_is_read_once_and_kept(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: 1")))
    reader = FileReader()

    assert "a: 1" == reader.text("-") == reader.text("-")


def test_a_closed_standard_input_is_a_reason(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)

    assert Unread("standard input is closed") == FileReader().text("-")


def test_a_pipe_is_read_once_and_kept(tmp_path):
    reader, writer = os.pipe()
    os.write(writer, b"a: 1")
    os.close(writer)
    files = FileReader()
    name = f"/dev/fd/{reader}"

    assert "a: 1" == files.text(name)
    os.close(reader)
    assert "a: 1" == files.text(name)


def test_a_file_is_read_anew_with_its_line_ends(tree):
    tree(**{"a": ""})
    reader = FileReader()
    for content in (b"a\r\nb", b"c\rd"):
        with open("a", "wb") as file:
            file.write(content)

        assert content.decode() == reader.text("a")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_file_of_powershell_is_read(tree, encoding):
    (tree() / "a.yaml").write_bytes(json.dumps(workload("StatefulSet", constraint(labelSelector={}))).encode(encoding))
    (found,) = judge_file("a.yaml", terms(), FileReader()).found

    assert "empty-selector" == found.finding.rule


def test_a_namespace_in_utf_16_is_context(tree):
    (tree() / "n.yaml").write_bytes(json.dumps(namespace("shop")).encode("utf-16"))

    assert 1 == len(read_context(["n.yaml"], FileReader())[""].objects)


def test_a_file_without_text_has_a_reason(tree):
    (tree() / "a").write_bytes(b"\xffa")

    assert Unread("is not UTF-8", "ÿa") == FileReader().text("a")
    assert Unread("No such file or directory") == FileReader().text("nowhere")


def test_a_file_that_is_not_utf_8_is_a_problem_if_it_may_be_a_manifest(tree):
    path = tree()
    (path / "a.yaml").write_bytes(b"apiVersion: v1\nkind: Pod\n# \xff")
    (path / "a.json").write_bytes(b"\x89PNG\xff")

    (problem,) = judge_file("a.yaml", terms(), FileReader()).problems
    assert "cannot be read: is not UTF-8" == problem.message
    picture = judge_file("a.json", terms(), FileReader())
    assert ([], []) == (picture.problems, picture.notes)
    assert 1 == len(judge_file("a.json", terms(named=frozenset({"a.json"})), FileReader()).problems)


def test_context_comes_from_all_files(tree):
    path = tree("x/a.yaml")
    (path / "n.yaml").write_text(json.dumps(namespace("shop")))
    found = read_context(["x/a.yaml", "n.yaml", "nowhere.yaml"], FileReader())

    assert ["shop"] == [obj["metadata"]["name"] for obj in found[""].objects]


def test_context_of_a_folder_of_tests_is_for_the_files_in_it(tree):
    files = ["a.yaml", "vendor/a.yaml", "vendor/x/testdata/a.yaml"]
    path = tree(*files)
    for number, file in enumerate(files):
        (path / file).write_text(json.dumps(namespace(f"n{number}")))
    contexts = read_context(files, FileReader())

    assert [["n0"], ["n0", "n1"], ["n0", "n1", "n2"]] == [
        [obj["metadata"]["name"] for obj in contexts[folder].objects] for folder in ("", "vendor", "vendor/x/testdata")
    ]


def test_kustomizations_are_read_from_the_folders_of_the_files(tree):
    path = tree("x/a.yaml", "x/b.yaml")
    (path / "x" / "kustomization.yaml").write_text(
        "resources: [b.yaml]\npatches: [{path: a.yaml}]\nreplicas: [{name: a, count: 1}]"
    )
    (path / "x" / "kustomization.yml").write_bytes(b"\xff")
    overlays = read_overlays(["x/a.yaml", "x/b.yaml", "nowhere.yaml", "-"], FileReader())

    assert ({"x/a.yaml"}, ["x/b.yaml"]) == (overlays.patches, [*overlays.kustomized])


def test_a_repository_is_searched_for_kustomizations_where_a_part_of_it_is_named(tree, monkeypatch):
    path, searched = tree("x/kustomization.yaml", "x/a.yaml", ".git/config"), []
    monkeypatch.setattr(lint_files, "folders_with_kustomizations", lambda top: searched.append(top) or ())
    (path / "x" / "kustomization.yaml").write_text("resources: [a.yaml]")
    files = ["x/a.yaml", "x/kustomization.yaml"]
    for paths in (["."], ["-"], ["x"]):
        read_overlays(files, FileReader(), paths)

    assert [str(path)] == searched


@pytest.mark.parametrize("most", [1 << 21, 1])
def test_files_are_judged_in_the_order_given(tree, monkeypatch, most):
    """In one process and in several."""
    monkeypatch.setattr(lint_files, "WORK_PER_PROCESS", most)
    tree(b=WRONG, a="a: 1", c=WRONG)
    expected = [("c", ["empty-selector"]), ("a", []), ("b", ["empty-selector"])]

    assert expected == rules(judge_files(["c", "a", "b"], terms(), FileReader(), OtherFiles(), cpus=2))


@pytest.mark.parametrize("most", [1 << 21, 1])
def test_what_stands_in_other_files_matters(tree, monkeypatch, most):
    """In one process and in several: a workload that the selector counts, and an autoscaler."""
    monkeypatch.setattr(lint_files, "WORK_PER_PROCESS", most)
    spread, other = workload("StatefulSet", honoring()), workload("Deployment", name="api", spec={"selector": {}})
    unscaled = workload("Deployment", honoring(), labels={"app": "x"}, name="web", spec={"replicas": None})
    unscaled["spec"]["template"]["spec"]["topologySpreadConstraints"][0]["labelSelector"] = {
        "matchLabels": {"app": "x"}
    }
    tree(a=json.dumps(spread), b=json.dumps(other), c=json.dumps(hpa()), d=json.dumps(unscaled))
    told = []
    results = judge_files(["a", "b", "c", "d"], terms(), FileReader(), OtherFiles(), told.append, cpus=2)
    expected = [("a", ["selector-matches-others"]), ("b", []), ("c", []), ("d", ["rollout-skew"])]

    assert expected == rules(results)
    assert 4 == told[-1]


@pytest.mark.parametrize(("most", "judged"), [(1, 1), (None, 3)])
def test_no_process_and_no_thread_outlives_the_judging(tree, monkeypatch, most, judged):
    """Of all files, or where only the first is asked for."""
    monkeypatch.setattr(lint_files, "WORK_PER_PROCESS", 1)
    tree("a", "b", "c")
    before, results = threading.enumerate(), judge_files(["a", "b", "c"], terms(), FileReader(), OtherFiles(), cpus=2)

    assert judged == len([*itertools.islice(results, most)])
    results.close()
    assert ([], before) == (multiprocessing.active_children(), threading.enumerate())


def test_a_process_that_was_killed_is_an_error(tree, monkeypatch):
    monkeypatch.setattr(lint_files, "WORK_PER_PROCESS", 1)
    monkeypatch.setattr(lint_files, "judge_file", lambda *_: os._exit(1))
    tree("a", "b")

    with pytest.raises(WorkerDied):
        [*judge_files(["a", "b"], terms(), FileReader(), OtherFiles(), cpus=2)]


def test_what_files_state_is_packed_together(tree, monkeypatch):
    """Whether one process judges them or several."""
    monkeypatch.setattr(lint_files, "WORK_AT_ONCE", 2 * lint_files.LEAST_WORK)
    tree(a=WRONG, b=WRONG, c=WRONG)
    batches, surroundings, told = [], OtherFiles(), []
    monkeypatch.setattr(surroundings, "add", batches.append)
    results = [*judge_files(["a", "b", "c"], terms(), FileReader(), surroundings, told.append)]

    assert [["a", "b"], ["c"]] == [[file for file, _ in unpacked(batch)] for batch in batches]
    assert [1, 2, 3] == told
    assert {NOTHING_STATED} == {judged.states for judged in results}


def test_a_batch_is_as_much_work_as_others_whatever_the_number_of_its_files(tree, monkeypatch):
    """A process with all of the large files would work on alone; JSON is read faster than YAML."""
    monkeypatch.setattr(lint_files, "WORK_AT_ONCE", 4 * lint_files.LEAST_WORK)
    large = "#" * 3 * lint_files.LEAST_WORK
    tree(**{"a": "", "b": large, "c": large, "d": large, "e.json": large, "f": ""})
    batches = []
    monkeypatch.setattr(
        lint_files, "_stated", lambda results: batches.append([judged.file for judged in results]) or b""
    )
    list(judge_files([*"abcd", "e.json", "f", "none"], terms(), FileReader(), OtherFiles()))

    assert [["a", "b"], ["c", "d"], ["e.json", "f", "none"]] == batches


@pytest.mark.parametrize(
    ("size", "expected"), [(lint_files.WORK_PER_PROCESS, 2), (lint_files.WORK_PER_PROCESS // 2, 1)]
)
def test_processes_are_as_many_as_there_is_work_for(tree, monkeypatch, size, expected):
    """Two large files are worth a process each, and two small ones are not."""
    started = []
    monkeypatch.setattr(lint_files, "_in_processes", lambda *given: started.append(given[-1]) or iter(()))
    tree(a="#" * (size - 1), b="#" * (size - 1))
    list(judge_files(["a", "b"], terms(), FileReader(), OtherFiles(), cpus=4))

    assert ([expected] if expected > 1 else []) == started


def test_an_exception_is_a_problem_of_its_file(tree, monkeypatch):
    def broken(*_):
        raise KeyError("x\ny")

    monkeypatch.setattr(lint_files, "judge", broken)
    tree(a=WRONG)
    (problem,) = judge_file("a", terms(), FileReader()).problems

    assert ("a", 1, 1) == (problem.file, problem.line, problem.column)
    assert problem.message == defect("a", "judged", KeyError("x\ny")).message
    assert problem.message.isprintable()


BUILT = "kustomization.yaml"


def builds(**texts):
    """Terms in which these kustomizations, named by their folder, are built from the file `base`."""
    made = [Build(f"{folder}/{BUILT}", ("base",), ("kustomize", "build"), text) for folder, text in texts.items()]
    return terms(builds={build.file: build for build in made})


def test_what_is_built_is_judged_in_the_place_of_its_sources(tree, monkeypatch):
    """A finding of several builds is one, the gravest; in one process and in several."""
    tree(f"dev/{BUILT}", f"prod/{BUILT}", base=WRONG)
    ignored = WRONG.replace("spec:", "spec: # x")
    for work in (lint_files.WORK_PER_PROCESS, 1):
        monkeypatch.setattr(lint_files, "WORK_PER_PROCESS", work)
        by, files = builds(dev=ignored, prod=WRONG), ["base", f"dev/{BUILT}", f"prod/{BUILT}"]
        judged = [*judge_files(files, by, FileReader(), OtherFiles(), cpus=2)]

        assert [("base", 1), (files[1], 0), (files[2], 0)] == [(one.file, len(one.found)) for one in judged]
        assert [0, 1, 1] == [one.objects for one in judged]
        assert "kustomize build" == judged[0].found[0].source


def test_what_is_not_built_is_judged_by_its_sources(tree):
    tree(f"prod/{BUILT}", base=WRONG)
    failed = Build(f"prod/{BUILT}", ("base",), ("kustomize", "build", "prod"), reason="no such base")
    by = terms(builds={failed.file: failed})
    base, prod = judge_files(["base", failed.file], by, FileReader(), OtherFiles())

    assert (["empty-selector"], [NOT_BUILT]) == (
        [one.finding.rule for one in base.found],
        [one.why for one in prod.notes],
    )
    assert [
        "build (no such base) failed; the sources are judged instead; to see why it failed, run kustomize build in its "
        "folder"
    ] == [one.message for one in prod.notes]


def test_the_values_of_a_chart_are_judged_and_not_counted_where_it_is_built(tree):
    values = "topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]"
    tree("web/values.yaml", "web/Chart.yaml")
    Path("web/values.yaml").write_text(values)
    built = Build(
        "web/Chart.yaml", ("web/values.yaml",), ("helm", "template", "web"), "kind: ConfigMap\napiVersion: v1"
    )
    of_chart, of_values = judge_files(
        ["web/Chart.yaml", "web/values.yaml"], terms(builds={built.file: built}), FileReader(), OtherFiles()
    )

    assert (1, [], 0) == (len(of_values.found), of_values.notes, of_values.places.total)
    assert (1, []) == (of_chart.objects, of_chart.found)


def test_templates_of_which_nothing_is_rendered_are_noted(tree):
    files = {"a": "topologySpreadConstraints: {{ x }}", "b": "topologySpreadConstraints: {{ x }}", "c": "{{ x }}"}
    sources = tuple(f"web/templates/{name}.yaml" for name in files)
    tree("web/Chart.yaml", *sources)
    for source, text in zip(sources, files.values(), strict=True):
        Path(source).write_text(text)
    rendered = "# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap"
    build = Build("web/Chart.yaml", sources, ("helm", "template", "web"), rendered)
    (judged,) = judge_files(["web/Chart.yaml"], terms(builds={build.file: build}), FileReader(), OtherFiles())

    assert [("web/templates/b.yaml", "not rendered with the chart's own values")] == [
        (note.file, note.done) for note in judged.notes
    ]


@pytest.mark.parametrize(("rendered", "noted"), [("spec: {topologySpreadConstraints: []}", 0), ("spec: {}", 1)])
def test_a_partial_is_noted_if_nothing_rendered_has_the_field(tree, rendered, noted):
    tree("web/Chart.yaml", "web/templates/_pod.tpl", "web/templates/_about.tpl")
    Path("web/templates/_pod.tpl").write_text("topologySpreadConstraints: {{ x }}")
    Path("web/templates/_about.tpl").write_text("{{/* topologySpreadConstraints */}}")
    sources = ("web/templates/_pod.tpl", "web/templates/_about.tpl")
    text = f"# Source: web/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\n{rendered}"
    build = Build("web/Chart.yaml", sources, ("helm", "template", "web"), text)
    (judged,) = judge_files(["web/Chart.yaml"], terms(builds={build.file: build}), FileReader(), OtherFiles())

    assert ["web/templates/_pod.tpl"] * noted == [note.file for note in judged.notes if note.why == "template"]


def test_values_and_crds_of_a_chart_are_no_templates(tree):
    sources = ("web/values.yaml", "web/crds/a.yaml", "web/charts/db/values.yaml")
    tree("web/Chart.yaml", *sources)
    for source in sources:
        Path(source).write_text("topologySpreadConstraints: {}")
    build = Build("web/Chart.yaml", sources, ("helm", "template", "web"), "apiVersion: v1\nkind: ConfigMap")
    (judged,) = judge_files(["web/Chart.yaml"], terms(builds={build.file: build}), FileReader(), OtherFiles())

    assert [] == judged.notes


def test_no_more_is_told_to_be_done_than_there_is(tree):
    """A build of which only a source is named is judged as well."""
    tree(f"prod/{BUILT}", base=WRONG)
    told = []
    [*judge_files(["base"], builds(prod=WRONG), FileReader(), OtherFiles(), told.append)]

    assert [1, 1] == told


def test_a_build_that_cannot_be_judged_is_a_problem_of_its_kustomization(tree, monkeypatch):
    tree(f"prod/{BUILT}")
    monkeypatch.setattr(built_lines, "in_sources", fails)
    (judged,) = judge_files([f"prod/{BUILT}"], builds(prod=WRONG), FileReader(), OtherFiles())

    assert (
        "cannot be judged: ValueError: no; this is a defect in evenkeel, please report it" == judged.problems[0].message
    )


def fails(*_):
    raise ValueError("no")
