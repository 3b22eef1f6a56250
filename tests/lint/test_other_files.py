"""What stands in other files matters where an engineer would believe that it goes into the same cluster."""

from __future__ import annotations

import json

import pytest

from evenkeel.lint import other_files as module
from evenkeel.lint.declarations import packed
from evenkeel.lint.judgement import judge
from evenkeel.lint.other_files import OtherFiles
from tests.support.build import constraint, hpa, pod, term, workload
from tests.support.lint import terms

HEAD, TAIL = {"app": "web", "role": "head"}, {"app": "web", "role": "tail"}
K = frozenset({"kustomization.yaml"})


def web(**fields):
    """A workload whose constraint counts all that have the label app=web."""
    return workload("StatefulSet", constraint(), labels=HEAD, spec={"selector": {"matchLabels": HEAD}}, **fields)


def tail(kind="Deployment", labels=TAIL, **fields):
    """A workload that has the label, too."""
    return workload(kind, labels=labels, spec={"selector": {"matchLabels": labels}}, **{"name": "tail", **fields})


def scaled(**fields):
    return workload("Deployment", constraint(), spec={"replicas": None}, **fields)


def read(files, built_by=None, **fields):
    """The surroundings of files, and what each of them states."""
    found, stated = OtherFiles(built_by or {}), {}
    for file, objects in files.items():
        content = "".join(f"---\n{json.dumps(obj)}\n" for obj in objects)
        stated[file] = judge(file, content, terms(**fields)).states
        found.add(packed([(file, stated[file])]))
    return found, stated


def concerned(files, built_by=None, **fields):
    """The files that others concern: the names of other workloads, "?" after a likely copy, and autoscalers' bounds."""
    found, stated = read(files, built_by, **fields)
    around = found.concerned()

    assert around == {file: one for file, each in stated.items() if (one := found.around(file, each))}
    return {
        file: [f"{other.name}{'?' * other.is_likely_copy}" for other in one.others]
        + [tuple(scaling) for scaling in one.scalings.values()]
        for file, one in around.items()
    }


@pytest.mark.parametrize(
    "files",
    [
        {"a.yaml": [web()], "b.yaml": [tail()]},
        {"a.yaml": [web()], "deep/er/b.yaml": [tail()]},
        {"x/a.yaml": [web()], "y/b.yaml": [tail()]},
        {"x/a.yaml": [web()], "x/b.yaml": [tail()], "y/b.yaml": [tail(), workload("DaemonSet", name="more")]},
        {"/x/a.yaml": [web(namespace=None)], "/x/b.yaml": [tail(namespace=None)]},
        {"a.yaml": [web()], "b.yaml": [tail(kind="CronJob")]},
        {
            "a.yaml": [web()],
            "b.yaml": [tail()],
            "patch.yaml": [workload("StatefulSet", labels={}, spec={"selector": 0})],
        },
    ],
    ids=[
        "one folder",
        "a folder below",
        "folders beside",
        "its own folder, and a copy of that",
        "no namespace, one folder",
        "of a kind without a selector",
        "and a patch of it",
    ],
)
def test_a_workload_of_another_file_is_seen(files):
    first = next(iter(files))

    assert {first: ["tail"]} == concerned(files)


@pytest.mark.parametrize(
    "files",
    [
        {"a.yaml": [web()], "b.yaml": [tail(namespace="other")]},
        {"a.yaml": [web()], "b.yaml": [tail(labels={"app": "db"})]},
        {"a.yaml": [web()], "b.yaml": [tail(owner="Deployment/x")]},
        {"x/a.yaml": [web(namespace=None)], "y/b.yaml": [tail(namespace=None)]},
        {"dev/a.yaml": [web()], "prod/a.yaml": [web()]},
        {"dev/a.yaml": [web()], "prod/a.yaml": [web(), tail()]},
        {"dev/a.yaml": [web()], "prod/a.yaml": [web()], "prod/b.yaml": [tail()]},
        {"c/dev/x/a.yaml": [web()], "c/prod/y/a.yaml": [web()], "c/prod/z/b.yaml": [tail()]},
        {"dev.yaml": [web()], "prod.yaml": [web(), tail()]},
        {"a.yaml": [web(), tail()]},
    ],
    ids=[
        "another namespace",
        "other labels",
        "a controller makes it",
        "no namespace, two folders",
        "a copy",
        "beside a copy in its file",
        "beside a copy in its folder",
        "beside a copy further up",
        "beside a copy in a file of one folder",
        "its own file alone",
    ],
)
def test_what_most_likely_goes_elsewhere_is_left_out(files):
    first = next(iter(files))

    assert first not in concerned(files)


def test_a_workload_of_the_same_selector_may_be_a_copy_or_one_beside_it():
    prod, other = {"prod/b.yaml": [web(name="web-prod")]}, {"z.yaml": [tail()]}

    assert ["web-prod?"] == concerned({"dev/a.yaml": [web()], **prod})["dev/a.yaml"]
    assert ["tail"] == concerned({"dev/a.yaml": [web()], **prod, **other})["dev/a.yaml"]
    assert ["web-prod"] == concerned({"dev/a.yaml": [web()], **prod}, {"dev/a.yaml": K, "prod/b.yaml": K})["dev/a.yaml"]


def test_what_names_no_namespace_has_neighbours_in_the_files_of_its_kustomization():
    files = {"x/a.yaml": [web(namespace=None)], "y/b.yaml": [tail(namespace=None)]}

    assert {"x/a.yaml": ["tail"]} == concerned(files, {"x/a.yaml": K, "y/b.yaml": K})
    assert {} == concerned(files, {"x/a.yaml": K, "y/b.yaml": frozenset({"y/kustomization.yaml"})})


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"matchExpressions": [term("app", "In", "x", "web")]}, {"a.yaml": ["tail"]}),
        ({"matchExpressions": [term("app", "Exists")]}, {"a.yaml": ["tail"]}),
        ({"matchExpressions": [term("app", "In", "x")]}, {}),
        ({"matchLabels": {"app": "web", "role": "head"}}, {}),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [term("role", "NotIn", "tail")]}, {}),
        ({}, {}),
    ],
    ids=["one of several", "any value", "of none", "both labels", "not the other", "empty"],
)
def test_any_selector_may_count_others(selector, expected):
    asking = workload("StatefulSet", constraint(labelSelector=selector), labels=HEAD, spec={"selector": None})
    asking["spec"]["template"]["spec"]["containers"] = [{"name": "web"}]
    asking["spec"]["selector"] = {"matchLabels": HEAD}

    assert expected == concerned({"a.yaml": [asking], "b.yaml": [tail()]})


def test_others_of_the_same_file_come_first():
    found, stated = read({"a.yaml": [tail(name="far")], "b.yaml": [web(), tail(name="near")]})

    assert ["near", "far"] == [one.name for one in found.around("b.yaml", stated["b.yaml"]).others]


def test_the_nearest_is_named():
    far = {f"{folder}/b.yaml": [tail(name=f"of-{folder}")] for folder in ("a", "x/-", "x/y/z/deep", "x/y-z")}

    assert ["of-x/y/z/deep"] == concerned({"x/y/z/a.yaml": [web()], **far})["x/y/z/a.yaml"]
    assert ["of-x/-"] == concerned({"x/b/a.yaml": [web()], **far})["x/b/a.yaml"]
    assert ["of-a"] == concerned({"w/a.yaml": [web()], **far})["w/a.yaml"]


def test_only_so_many_candidates_are_looked_at(monkeypatch):
    files = {"a.yaml": [web()], "b.yaml": [tail(labels=HEAD, name="alike")], "c.yaml": [tail()]}

    assert {"a.yaml": ["tail"]} == concerned(files)
    monkeypatch.setattr(module, "MOST_CANDIDATES", 1)
    assert {"a.yaml": ["alike?"]} == concerned(files)


def test_what_a_repair_makes_it_ask_for_is_looked_up_then():
    found, _ = read({"a.yaml": [web()], "b.yaml": [tail()]})
    _, again = read({"a.yaml": [web(name="other")]})

    assert ["tail"] == [one.name for one in found.around("a.yaml", again["a.yaml"]).others]
    assert {"a.yaml"} == found.concerned().keys()


SCALED_API = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"}
OF_API = hpa(name="api") | {"spec": {**hpa()["spec"], "scaleTargetRef": SCALED_API}}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.yaml": [scaled()], "b.yaml": [hpa()]}, {"a.yaml": [(2, 5)]}),
        ({"x/a.yaml": [scaled()], "y/b.yaml": [hpa()]}, {"x/a.yaml": [(2, 5)]}),
        ({"base/a.yaml": [scaled(namespace=None)], "over/b.yaml": [hpa(namespace=None)]}, {"base/a.yaml": [(2, 5)]}),
        (
            {"base/a.yaml": [scaled()], "over/dev/b.yaml": [hpa(1, 2)], "over/prod/b.yaml": [hpa(4, 9)]},
            {"base/a.yaml": [(1, 9)]},
        ),
        (
            {
                "dev/a.yaml": [scaled()],
                "dev/b.yaml": [hpa(1, 2)],
                "prod/a.yaml": [scaled()],
                "prod/b.yaml": [hpa(4, 9)],
            },
            {"dev/a.yaml": [(1, 2)], "prod/a.yaml": [(4, 9)]},
        ),
        ({"dev/a.yaml": [scaled()], "prod/a.yaml": [scaled()], "prod/b.yaml": [hpa()]}, {"prod/a.yaml": [(2, 5)]}),
        ({"dev/a.yaml": [scaled()], "prod/a.yaml": [scaled(), hpa()]}, {}),
        ({"a.yaml": [scaled(), hpa(3, 5)], "b.yaml": [hpa(2, 4)]}, {"a.yaml": [(2, 5)]}),
        ({"a.yaml": [scaled()], "b.yaml": [hpa(namespace="other")]}, {}),
        ({"a.yaml": [workload("Deployment", spec={"replicas": None})], "b.yaml": [hpa()]}, {}),
        ({"a.yaml": [scaled(name="api")], "b.yaml": [hpa()]}, {}),
        ({"a.yaml": [scaled()], "b.yaml": [OF_API, hpa()]}, {"a.yaml": [(2, 5)]}),
    ],
    ids=[
        "one folder",
        "folders beside",
        "base and overlay",
        "overlays of one base",
        "copies, each with its own",
        "copies, one without",
        "in its own file alone",
        "in its own file and another",
        "of another namespace",
        "of what has no constraints",
        "of another name",
        "the second of its file",
    ],
)
def test_an_autoscaler_of_another_file_scales_the_nearest(files, expected):
    assert expected == concerned(files)


def test_little_is_kept_of_what_nobody_asks_for():
    found, _ = read({f"{i}.yaml": [web(name=f"web-{i}", namespace=f"n{i}")] for i in range(9)})

    assert ({}, {}) == (found.concerned(), found._candidates)


def test_pods_that_are_alike_stand_beside_each_other():
    first, second = (pod(constraint(), name=name) for name in "ab")

    assert {"x.yaml": ["b"], "y.yaml": ["a"]} == concerned({"x.yaml": [first], "y.yaml": [second]})
    assert {} == concerned({"dev/x.yaml": [first], "prod/x.yaml": [first]})


def test_what_one_kustomization_builds_goes_into_one_cluster():
    """Also what is alike, and folders with the same workload in them."""
    alike = {"a/web.yaml": [web()], "b/web.yaml": [web(name="other")], "c/web.yaml": [web(name="third")]}
    copies = {"x/a.yaml": [web(), tail()], "y/b.yaml": [web(), tail(name="more")]}
    roots = {"a/web.yaml": frozenset({"one", "two"}), "b/web.yaml": frozenset({"two"}), "c/web.yaml": frozenset({"x"})}

    assert {"a/web.yaml": ["other"], "b/web.yaml": ["web"], "c/web.yaml": ["web?"]} == concerned(alike, built_by=roots)
    assert {} == {file: names for file, names in concerned(copies).items() if "more" in names and "x" in file}
    assert "more" in concerned(copies, built_by=dict.fromkeys(copies, frozenset({"x"})))["x/a.yaml"]
