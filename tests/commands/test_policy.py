"""evenkeel policy: what may surprise in a policy, what is in force for a Pod, the schema."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from tests.support.build import ZONE, namespace, node, pod, service
from tests.support.commands import POLICY, Run
from tests.support.registered import MUTATING, VALIDATING
from webhook.manifests.configurations import WebhookTarget, configurations
from webhook.policy.parsing import built_in
from webhook.policy.schema import schema


def test_every_cause_against_a_policy_is_a_line(run):
    code, _, err = run("policy check p", p=POLICY | {"onError": "no", "enforcement": "no"})

    assert (2, ["enforcement", "onError"]) == (code, re.findall(r"^evenkeel: p: (\w+): found", err, re.MULTILINE))


LABELLED, BARE = node("n1"), node("n2", os="linux")
SOFT, HARD = (
    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": when} for when in ("ScheduleAnyway", "DoNotSchedule")
)
INSISTS = "p: note: defaulting.defaultConstraints[0].topologyKey: {}: {}"


@pytest.mark.parametrize(
    ("constraint", "nodes", "note"),
    [
        (None, [LABELLED], ""),
        (
            None,
            [LABELLED, BARE],
            f"p: note: defaulting: 1 of 2 nodes lacks {ZONE} (n2): Pods that fit on these nodes and on others get no "
            "built-in defaults, because these nodes would get the score 0 for the spread; label the nodes",
        ),
        (
            None,
            [BARE],
            f"p: note: defaulting: no node has {ZONE}: Pods get the built-in defaults without this constraint",
        ),
        (
            SOFT,
            [LABELLED, BARE],
            INSISTS.format(
                f"1 of 2 nodes lacks {ZONE} (n2)",
                "these nodes get the score 0 for the spread of Pods with it; label the nodes",
            ),
        ),
        (
            HARD,
            [LABELLED, BARE],
            INSISTS.format(f"1 of 2 nodes lacks {ZONE} (n2)", "Pods with it never run there; label the nodes"),
        ),
        (
            SOFT,
            [BARE],
            INSISTS.format(f"no node has {ZONE}", "Pods with it are not spread; use another key"),
        ),
        (
            HARD,
            [BARE],
            INSISTS.format(f"no node has {ZONE}", "no Pod with it can be placed; use another key"),
        ),
    ],
)
def test_policy_check_says_which_nodes_lack_the_key_of_a_default(run, constraint, nodes, note):
    listed = {"defaultingType": "List", "defaultConstraints": [constraint]}
    given = POLICY if constraint is None else POLICY | {"defaulting": listed}
    lines = run("policy check p --cluster c", p=given, c=nodes).out.splitlines()

    assert note in ("", *lines)
    assert lines[-1] == "p: ok" and (note != "") == any(ZONE in line for line in lines)


def test_policy_check_notes_what_may_surprise(run):
    hard = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    noted = POLICY | {"defaulting": {"defaultingType": "List", "defaultConstraints": [hard]}}

    assert Run(0, "p: ok\n", "") == run("policy check p", p=POLICY)
    note, ok = run("policy check p", p=noted).out.splitlines()
    assert note.startswith("p: note: defaulting.defaultConstraints[0].whenUnsatisfiable: DoNotSchedule can leave")
    assert "p: ok" == ok


def test_policy_check_fails_where_a_policy_defeats_itself(run):
    rules = {"hard-constraint": "error", "soft-constraint": "error"}
    code, out, _ = run("policy check p", p=POLICY | {"rules": rules, "defaulting": {"defaultingType": "System"}})

    assert (1, ["p: error: rules"]) == (code, [line[:15] for line in out.splitlines()])


def test_policy_check_notes_what_ends_soon_or_has_ended(run):
    days = ("2000-01-31", str(datetime.now(UTC).date() + timedelta(days=9)), "9999-12-31")
    overrides = [{"name": f"o{i}", "schedulerName": f"s{i}", "until": day} for i, day in enumerate(days)]
    ended, ends, ok = run("policy check p", p=POLICY | {"overrides": overrides}).out.splitlines()

    assert ended.startswith("p: note: overrides[0].until: 2000-01-31 has passed: o0 no longer applies")
    assert ends.startswith(f"p: note: overrides[1].until: {days[1]} is in ")
    assert "p: ok" == ok


BARE = {"rules": {"missing-constraints": "error"}}
ENFORCED = {"rules": {"empty-selector": {"enforced": True}}}
IN_ONE_NAMESPACE = {"overrides": [{"name": "a", "namespaceSelector": {"matchLabels": {"team": "a"}}, **BARE}]}
NEW = "this policy needs new webhook entries ("


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ({}, {"rules": {"rollout-skew": "warning"}}, ""),
        ({}, BARE, f"{NEW}pods.evenkeel.dev, "),
        ({}, IN_ONE_NAMESPACE, f"{NEW}pods.evenkeel.dev, "),
        (BARE, IN_ONE_NAMESPACE, ""),
        (BARE, {}, ""),
        (
            {"defaulting": {"defaultingType": "System"}},
            {},
            f"{NEW}defaults.evenkeel.dev): helm upgrade, or apply what evenkeel manifests prints",
        ),
        (
            {},
            ENFORCED,
            f"with failurePolicyEnforced: Fail, {NEW}enforced.pods.evenkeel.dev, ",
        ),
        (ENFORCED, ENFORCED, ""),
    ],
)
def test_policy_check_says_whether_a_policy_needs_more_than_the_one_in_force_is_sent(run, before, after, note):
    lines = run("policy check new --compare old", new=POLICY | after, old=POLICY | before).out.splitlines()
    found = [line.removeprefix("new: note: ") for line in lines if "webhook entries" in line]

    assert "new: ok" == lines[-1]
    assert (1, True) == (len(found), found[0].startswith(note)) if note else [] == found


FLEETS = {
    "workloads": [
        {"apiVersion": "example.com/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.template"}
    ]
}
OF_PEOPLE = (
    "with this policy, people who run commands must read more (fleets.example.com): helm upgrade, or apply what "
    "evenkeel manifests --rbac-viewer prints"
)


@pytest.mark.parametrize(
    ("before", "after", "notes"),
    [
        ({}, FLEETS, [OF_PEOPLE]),
        (FLEETS, {}, []),
        (FLEETS, FLEETS, []),
        ({}, BARE, []),
    ],
)
def test_policy_check_says_who_needs_new_rights(run, before, after, notes):
    lines = run("policy check new --compare old", new=POLICY | after, old=POLICY | before).out.splitlines()

    assert notes == [line.removeprefix("new: note: ") for line in lines if "must read more" in line]


def test_a_policy_to_compare_with_must_be_one(run):
    code, _, err = run("policy check new --compare old", new=POLICY, old=POLICY | {"onError": "no"})

    assert (2, True) == (code, err.startswith("evenkeel: old: onError: found"))


def test_what_is_exported_is_no_different_and_any_other_copy_is_1(run):
    listed = POLICY | {"defaulting": {"defaultingType": "List", "defaultConstraints": [SOFT]}}
    code, out, err = run("policy export --for kube-scheduler --policy p", p=listed)
    assert (0, "", "KubeSchedulerConfiguration") == (code, err, yaml.safe_load(out)["kind"])

    same = run("policy check p --against s", p=listed, s=out)
    other = run("policy check p --against s", p=listed, s=out.replace("maxSkew: 1", "maxSkew: 2"))
    assert (0, "p: ok") == (same.code, same.out.splitlines()[-1])
    for_programs = run("policy check p --against s -o json", p=listed, s=out.replace("maxSkew: 1", "maxSkew: 2"))
    assert (1, 2) == (for_programs.code, len(json.loads(for_programs.out)["against"]["differences"]))
    begins = [line[:12] for line in other.out.splitlines() if line.startswith(("s: p", "s: run"))]
    assert (1, ["s: profiles[", "s: profiles[", "s: run evenk"]) == (other.code, begins)


def test_what_karpenter_is_given_is_no_different_any_other_copy_is_1_and_one_that_stops_it_2(run):
    code, out, err = run("policy export --for karpenter")
    assert (0, ["podTopologySpread"], True) == (code, [*yaml.safe_load(out)], err.startswith("note: "))

    codes = [
        run("policy check p --against s", p=POLICY, s=copy).code
        for copy in (out, out.replace("maxSkew: 10", "maxSkew: 3"), out.replace("maxSkew: 10", "max: 10"), "kind: A")
    ]
    assert [0, 1, 2, 2] == codes
    stopped = run("policy check p --against s", p=POLICY, s="podTopologySpread: {defaultingType: List}")
    assert "evenkeel: s: podTopologySpread.defaultingType: unknown field" == stopped.err.partition(";")[0]


def test_policy_check_says_what_it_sees_of_clouds(run):
    of_fargate = node("f1", **{"eks.amazonaws.com/compute-type": "fargate"})

    assert "p: note: 1 node is of EKS Fargate" in run("policy check p --cluster d", p=POLICY, d=of_fargate).out
    assert "Fargate" not in run("policy check p --cluster d", p=POLICY, d=node("n1")).out


@pytest.mark.parametrize("options", ["check s", "check p --against s"])
def test_a_version_that_kube_scheduler_does_not_read_any_more_is_refused(run, options):
    old = {"apiVersion": "kubescheduler.config.k8s.io/v1beta3", "kind": "KubeSchedulerConfiguration"}
    code, out, err = run(f"policy {options}", p=old | {"apiVersion": "kubescheduler.config.k8s.io/v1"}, s=old)

    assert (2, "") == (code, out)
    assert err.startswith("evenkeel: s: apiVersion: found")
    assert 0 == run(f"policy {options} --kubernetes-version 1.28").code


def test_a_copy_that_kube_scheduler_does_not_read_is_named(run):
    code, _, err = run("policy check p --against s", p=POLICY, s=POLICY)

    assert (2, True) == (code, err.startswith("evenkeel: s: ")), err


def test_what_kube_scheduler_cannot_be_told_is_a_note(run):
    code, out, err = run("policy export --for kube-scheduler")

    assert (0, True) == (code, err.startswith("note: defaulting: evenkeel leaves out")), err
    assert 2 == len(yaml.safe_load(out)["profiles"][0]["pluginConfig"][0]["args"]["defaultConstraints"])


def test_replicas_that_could_be_lost_together_are_noted_where_calls_are_refused_then(run, api):
    api.put(namespace(), *(node(f"n{number}", **{ZONE: "ab"[number % 2]}) for number in range(4)))
    target = WebhookTarget(b"", service=("guard", "keel"), failure_policy="Fail")
    for path, made in zip((MUTATING, VALIDATING), configurations(built_in(), target), strict=True):
        api.further[path] = made
    unknown = run("policy check p --cluster live", p=POLICY)
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    pods = [{"metadata": {"name": f"keel-{n}"}, "spec": {"nodeName": f"n{2 * n}"}, "status": ready} for n in range(2)]
    api.further["/api/v1/namespaces/guard/services/keel"] = {"spec": {"selector": {"app": "keel"}}}
    api.further["/api/v1/namespaces/guard/pods"] = {"items": pods}
    together = run("policy check p --cluster live", p=POLICY)

    assert [0, 0] == [unknown.code, together.code]
    assert "p: note: evenkeel cannot find where its replicas run: /api/v1/namespaces/guard" in unknown.out
    assert (
        "p: note: both replicas run in zone a: if that fails, the API server refuses each object that matches a "
        "webhook entry with failurePolicy Fail"
    ) in together.out


def test_kinds_that_a_live_cluster_does_not_serve_are_noted(run, api):
    api.serve("example.com/v2", fleets="Fleet")
    fleet = {"apiVersion": "example.com/v1", "kind": "Fleet", "resource": "fleets", "podTemplate": "spec.template"}
    policy = POLICY | {"workloads": [fleet, {"builtIn": "cnpg-cluster"}]}
    checked = run("policy check p --cluster live", p=policy)
    reported = run("report -A --policy p", p=policy)
    api.further["/apis"] = 503
    unknown = run("policy check p --cluster live", p=policy)

    note = "note: workloads: the cluster does not serve example.com/v1 Fleet (fleets), "
    assert 0 == checked.code
    assert f"p: {note}" in checked.out
    assert note in reported.err
    assert "cnpg" not in checked.out
    assert "does not serve" not in unknown.out
    assert "p: note: evenkeel cannot find out which kinds the cluster serves: /apis: 503" in unknown.out


def test_policy_show_prints_until_when_and_how_strictly(run):
    override = {"name": "a", "podSelector": {}, "until": "9999-12-31", "enforcement": "Warn", "ownedObjects": "Deny"}
    shown = run("policy show --policy p", p=POLICY | {"overrides": [override]}).out.splitlines()

    assert ["until          9999-12-31", "enforcement    Warn", "ownedObjects   Deny"] == shown[1:4]


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
        ("--namespace-labels team=web --namespace-labels default:team=batch", ["override       batch"]),
        ("--namespace-labels shop:team=batch", ["override       not certain", "               another may apply: …"]),
        ("--namespace shop --cluster c", ["override       batch"]),
        ("--namespace shop --cluster c --namespace-labels team=web", ["override       none matches"]),
        ("--namespace bank --cluster c", ["override       not certain", "               another may apply: …"]),
        ("", ["override       not certain", "               another may apply: …"]),
        ("", ["  excessive-max-skew       error    enforced topologyKeys=[] maxSkew=5"]),
    ],
)
def test_policy_show_prints_what_is_in_force_for_a_pod(run, args, shown):
    code, out, err = run(f"policy show --policy p {args}", p=OVERRIDES, c=namespace(team="batch"))

    assert (0, "") == (code, err)
    for line in shown:
        assert any(one.startswith(line.rstrip("…")) for one in out.splitlines())


POOLED = node("n1", **{ZONE: "a", "karpenter.sh/nodepool": "general"})


def test_policy_check_and_show_say_what_karpenter_makes_of_the_defaults(run):
    soft = {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    listed = POLICY | {"defaulting": {"defaultingType": "List", "defaultConstraints": [soft]}}
    note = "defaulting.defaultConstraints[0]: Karpenter treats ScheduleAnyway as required: it puts at most 2"
    shown = {
        cluster: json.loads(run(f"policy show --cluster {cluster} -o json", a=node("n1", **{ZONE: "a"}), b=POOLED).out)
        for cluster in "ab"
    }

    assert note in run("policy check p --cluster c", p=listed, c=POOLED).out
    assert "Karpenter" not in run("policy check p --cluster c", p=listed, c=node("n1", **{ZONE: "a"})).out
    assert "Karpenter" not in run("policy check p --cluster c", p=POLICY, c=POOLED).out
    assert {"a": [1, 1], "b": [1, 10]} == {
        cluster: [each["maxSkew"] for each in document["defaulting"]["defaultConstraints"]]
        for cluster, document in shown.items()
    }


def test_every_command_answers_as_the_webhook_where_a_live_cluster_serves_node_pools(run, api):
    """There is no node of Karpenter yet."""
    api.put(namespace(), node("n1", **{ZONE: "a"}), service(), pod(name="there", spec={"nodeName": "n1"}))
    api.serve("karpenter.sh/v1", nodepools="NodePool")
    new = pod(name="new")
    shown = run("policy show --cluster live -o json").out
    stored = run("admit -f new --cluster live -o yaml", new=new).out
    explained = run("explain -f new --policy p --cluster live -o json", new=new, p=POLICY).out
    reported = run("report -A --policy p --cluster live -o json", p=POLICY).out
    (found,) = json.loads(reported)["workloads"]
    given = [
        json.loads(shown)["defaulting"]["defaultConstraints"],
        yaml.safe_load(stored)["spec"]["topologySpreadConstraints"],
        json.loads(explained)["constraints"],
        found["defaults"][0],
    ]

    assert [[1, 10]] * 4 == [[each["maxSkew"] for each in constraints] for constraints in given]


def test_policy_schema_prints_the_schema(run):
    assert schema() == json.loads(run("policy schema").out)
