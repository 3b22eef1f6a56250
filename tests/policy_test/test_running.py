"""evenkeel policy test: files and folders, what each field of a case does, and the tests that it writes."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.support import ROOT
from tests.support.build import constraint, namespace, node, pod, service, workload
from tests.support.commands import POLICY, Run

EMPTY = workload("Deployment", constraint(labelSelector={}))
ENFORCED = {"severity": "error", "enforced": True}
STRICT = POLICY | {"rules": {"missing-constraints": ENFORCED, "empty-selector": ENFORCED}}
OWNED = pod(owner="ReplicaSet/web")
CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"


def a_test(*cases, **fields):
    return {"kind": "PolicyTest", "cases": [{"name": f"case {i}", **case} for i, case in enumerate(cases)], **fields}


def denied(obj=EMPTY, outcome="denied", **fields):
    return {"object": obj, "expect": {"outcome": outcome}, **fields}


def test_a_test_that_passes_is_0_and_one_that_fails_is_1(run):
    assert Run(0, "t\n  ok    case 0\n1 case in 1 file, all passed\n", "") == run("policy test t", t=a_test(denied()))

    code, out, err = run("policy test t", t=a_test(denied(), denied(outcome="allowed")))
    assert (1, "") == (code, err)
    assert "-outcome: allowed\n      +outcome: denied\n" in out


def test_the_policy_of_the_recipe_passes_its_test(run):
    assert 0 == run(["policy", "test", str(ROOT / "docs" / "examples" / "roll-out")]).code


def test_folders_are_searched_and_paths_are_relative_to_the_file(run, tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "web.yaml").write_text(json.dumps(EMPTY))
    (tmp_path / "p.yaml").write_text(json.dumps(POLICY | {"enforcement": "Warn"}))
    (tmp_path / "deep" / "er" / "a.evenkeel-test.yaml").write_text(
        json.dumps(a_test(denied("../web.yaml", "would-be-denied"), policy="../../p.yaml"))
    )

    for path in (".", "deep", str(tmp_path), "deep/er/a.evenkeel-test.yaml"):
        assert run(f"policy test {path}").out.endswith("1 case in 1 file, all passed\n"), path


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("none", "none: no such file or folder"),
        ("empty", "empty: found no file that ends in .evenkeel-test.yaml; --init writes one"),
        ("t --policy t", "--policy: works only with --init; write it into the test file, or leave it out"),
    ],
)
def test_where_there_is_no_test_it_says_so(run, tmp_path, path, error):
    (tmp_path / "empty").mkdir()

    assert Run(2, "", f"evenkeel: {error}\n") == run(f"policy test {path}")


def test_one_file_that_cannot_be_used_does_not_keep_others_from_being_tested(run):
    files = {"bad": {"kind": "PolicyTest"}, "good": a_test(denied(outcome="allowed"))}

    code, out, err = run("policy test bad good", **files)
    assert (2, "evenkeel: bad: must have cases\n") == (code, err)
    assert out.endswith("1 case in 1 file, 1 failed\n")
    assert Run(2, "", err) == run("policy test bad")
    assert "bad: must have cases" in run("policy test bad good -o json").out
    assert "1" == ElementTree.fromstring(run("policy test bad good -o junit").out).get("errors")


def test_however_many_causes_there_are_against_one_file_the_others_are_shown(run):
    files = {"bad": {"kind": "PolicyTest", "x": 1}, "good": a_test(denied())}

    code, out, err = run("policy test bad good", **files)
    assert (2, 2) == (code, err.count("\n"))
    assert out.endswith("1 case in 1 file, all passed\n")


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"policy": "no"}, 'policy: found "no", wanted a file; paths are relative to the folder of the test'),
        ({"policy": {"kind": "SpreadPolicy"}}, "policy: must have apiVersion"),
        ({"policy": "two"}, "policy: two: is no policy: found "),
        ({"cluster": "live"}, 'cluster: found "live", wanted a file; paths are relative to the folder of the test'),
        (
            {"cluster": {"apiVersion": "v1", "kind": "Node", "metadata": 1}},
            "cluster: Node: metadata: found 1, must be an",
        ),
        (
            {"cluster": {"kind": "List", "items": 3}},
            "cluster: items: found 3, wanted an array of objects, as kubectl get",
        ),
        ({"cluster": [{"kind": "List", "items": [None]}]}, "cluster: items[0]: found null, wanted an object; remove"),
        ({"kubernetesVersion": "1.2"}, 'kubernetesVersion: found "1.2", wanted 1.25 or newer'),
        (
            {"cases": [denied("\x00", name="a")]},
            'cases[0].object: found "\\u0000", wanted a file; paths are relative to the folder of the test',
        ),
        (
            {"cases": [denied("two", name="a")]},
            'cases[0].object: found "two", which is 2 objects, wanted one; write two#Deployment/shop/web or two#Pod',
        ),
        (
            {"cases": [denied("two#Pod/web", name="a")]},
            'cases[0].object: found "two#Pod/web", which is 0 objects, wanted one; write two#Deployment/shop/web',
        ),
        ({"cases": [denied({"kind": "Pod"}, name="a")]}, "cases[0].object: must have apiVersion and kind"),
        (
            {"cases": [denied(old=OWNED, name="a")]},
            'cases[0].old: found "Pod shop/web-1", wanted "Deployment shop/web": an update is of one object',
        ),
        (
            {"cases": [denied(old=workload("StatefulSet"), name="a")]},
            'cases[0].old: found "StatefulSet shop/web", wanted "Deployment shop/web": an update is of one object',
        ),
        (
            {"cases": [denied(old=EMPTY | {"metadata": {"name": "web"}}, name="a")]},
            'cases[0].old: found "Deployment web", wanted "Deployment shop/web": an update is of one object',
        ),
        ({"cases": [denied("text", name="a")]}, "cases[0].object: text: object 1: must have apiVersion and kind"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_used_is_a_line_with_its_field(run, fields, cause):
    test = a_test(denied()) | fields
    code, out, err = run("policy test t", t=test, two=[EMPTY, OWNED], text="{}")

    counted = f"t\n  error {test['cases'][0]['name']}\n1 case in 1 file, 1 could not be judged\n"
    assert (2, counted) == (code, out)
    assert err.startswith(f"evenkeel: t: {cause}")
    assert 1 == err.count("\n")


def test_all_that_is_wrong_with_a_file_is_said_and_files_stay_in_the_order_given(run):
    code, out, err = run("policy test b a b", b=a_test(denied("no"), denied("none")), a=a_test(denied()))

    assert (2, ["b", "a"]) == (code, [line for line in out.splitlines() if line in ("a", "b")])
    assert ["b: cases[0].object", "b: cases[1].object"] == [line[10:28] for line in err.splitlines()]


def test_a_file_may_have_a_hash_or_a_dash_for_its_name(run):
    """A dash is standard input elsewhere."""
    test = a_test(denied("a#b#Deployment/web"), denied("-"))

    assert 0 == run("policy test t", t=test, **{"a#b": [EMPTY, OWNED], "-": EMPTY}).code


def test_every_case_is_counted_also_one_that_cannot_be_judged(run):
    """And it does not keep others of its file from being tested."""
    cases = [denied(), denied("no"), denied(outcome="allowed")]
    code, out, err = run("policy test t", t=a_test(*cases))

    assert (2, 1) == (code, err.count("\n"))
    assert ["  ok    case 0", "  error case 1", "  FAIL  case 2"] == out.splitlines()[1:4]
    assert out.endswith("\n3 cases in 1 file, 1 failed, 1 could not be judged\n")
    document = json.loads(run("policy test t -o json").out)
    judged = {"passed": 1, "failed": 1, "unusable": 1}
    assert {"files": 1, "cases": 3, **judged, "problems": 1} == document["summary"]
    problem = 't: cases[1].object: found "no", wanted a file; paths are relative to the folder of the test'
    assert [None, problem, None] == [case["problem"] for case in document["files"][0]["cases"]]
    assert [True, False, False] == [case["passed"] for case in document["files"][0]["cases"]]
    root = ElementTree.fromstring(run("policy test t -o junit").out)
    assert ("3", "1", "1") == (root.get("tests"), root.get("failures"), root.get("errors"))
    assert [("case 1", problem)] == [
        (each.get("name"), each[0].get("message")) for each in root.iter() if each.find("error") is not None
    ]


def test_one_object_of_a_file_is_named(run):
    other = workload("Deployment", constraint(), namespace="other")
    cases = [
        denied("f#Deployment/shop/web"),
        denied("f#Deployment/other/web", "allowed"),
        denied("f#Pod/web-1", "allowed"),
    ]

    assert 0 == run("policy test t", t=a_test(*cases), f=[EMPTY, other, OWNED]).code
    assert 0 == run("policy test t", t=a_test(denied("a#b")), **{"a#b": EMPTY}).code


def test_an_enforced_rule_believes_an_owner_only_from_the_accounts_of_its_controller(run):
    """As the webhook does: anybody can write an owner reference."""
    owned = pod(constraint(labelSelector={}), owner="ReplicaSet/web")
    cases = [denied(owned, user="jane"), denied(owned), denied(owned, "allowed", user=CONTROLLER)]

    assert 0 == run("policy test t", t=a_test(*cases, policy=STRICT)).code


def test_with_an_old_object_it_is_an_update(run):
    labelled = workload("Deployment", constraint(labelSelector={}), labels={"app": "web", "new": ""})
    cases = [denied(labelled, "warned", old=EMPTY), denied(labelled), denied(EMPTY, "allowed", old=EMPTY)]

    assert 0 == run("policy test t", t=a_test(*cases)).code


def test_the_override_that_is_in_force_is_that_of_the_namespace(run):
    lax = STRICT | {
        "overrides": [
            {
                "name": "lax",
                "namespaceSelector": {"matchLabels": {"team": "lab"}},
                "rules": {"missing-constraints": "ignore"},
            }
        ]
    }
    bare = workload("Deployment")
    lab = a_test(denied(bare, "allowed"), policy=lax, cluster=[namespace(team="lab")])
    shop = a_test(denied(bare), policy=lax, cluster={"kind": "List", "items": [namespace(team="shop")]})

    assert 0 == run("policy test lab shop", lab=lab, shop=shop).code


def test_the_labels_of_a_namespace_are_those_in_the_cluster_and_else_not_known(run):
    """What an override by labels that are not known would change only warns; other cases give no labels."""
    ignored = {"rules": {"empty-selector": "ignore"}}
    lax = POLICY | {"overrides": [{"name": "lax", "namespaceSelector": {"matchLabels": {"team": "lab"}}, **ignored}]}
    cases = [denied(namespace(team="lab"), "allowed"), denied(outcome="warned")]

    assert 0 == run("policy test t", t=a_test(*cases, policy=lax)).code
    assert (
        0 == run("policy test t", t=a_test(denied(outcome="allowed"), policy=lax, cluster=[namespace(team="lab")])).code
    )
    assert 0 == run("policy test t", t=a_test(denied(), policy=lax, cluster=[namespace(team="shop")])).code


def test_an_override_ends_on_the_day_that_the_test_says_and_on_no_other(run):
    """Without a day it has not ended, so that the test is the same each day."""
    until = POLICY | {"overrides": [{"name": "a", "podSelector": {}, "until": "2001-01-31", "enforcement": "Warn"}]}
    days = {"last": ("2001-01-31", "would-be-denied"), "next": ("2001-02-01", "denied")}
    tests = {name: a_test(denied(outcome=outcome), policy=until, today=day) for name, (day, outcome) in days.items()}
    tests["none"] = a_test(denied(outcome="would-be-denied"), policy=until)

    assert 0 == run("policy test last next none", **tests).code
    each = [denied(outcome=outcome, today=day) for day, outcome in days.values()]
    assert 0 == run("policy test each", each=a_test(*each, denied(outcome="would-be-denied"), policy=until)).code
    assert 0 == run("policy test each", each=a_test(*each, denied(), policy=until, today="2001-02-01")).code
    code, out, _ = run("policy test --init - --policy p new", p=until, new=EMPTY)
    assert (0, True, True) == (code, "outcome: denied" in out, "\ntoday: " in out)


def test_the_cluster_and_its_version_are_those_of_the_test(run):
    zoned = {"expect": {"defaults": [{"topologyKey": "topology.kubernetes.io/zone"}, {}]}, "object": pod()}
    nodes = [node(), service()]
    key = workload("Deployment", constraint(topologyKey="rack"))
    unknown = {"object": key, "expect": {"rules": ["unknown-topology-key", "rollout-skew"]}}
    inclusion = {"object": pod(constraint(nodeTaintsPolicy="Honor")), "expect": {"outcome": "allowed"}}

    assert 0 == run("policy test t", t=a_test(zoned, cluster="c"), c=nodes).code
    assert 1 == run("policy test t", t=a_test(zoned)).code
    assert 0 == run("policy test t", t=a_test(unknown, cluster=nodes)).code
    assert 0 == run("policy test t", t=a_test(inclusion, kubernetesVersion=1.25)).code


def test_nothing_in_a_system_namespace_is_sent(run):
    there = workload("Deployment", constraint(labelSelector={}), namespace="kube-system")

    assert 0 == run("policy test t", t=a_test(denied(there, "allowed"))).code
