"""A report as a person and as a program reads it."""

from __future__ import annotations

import json
import re

import pytest

from evenkeel.report.text import MOST_DOMAINS, Shown, Titles, as_json, text
from evenkeel.terminal.json_forms import dumped
from tests.report.test_impact import DEFAULTS, EMPTY, NO_DEFAULTS
from tests.support.build import HOSTNAME, ZONE, constraint, hpa, namespace, policy, service, workload
from tests.support.placing import node
from tests.support.reporting import ZONES, deployment, made_by, pods, report

WEB = [*ZONES, *deployment(constraint()), *pods("a1", "a1", "a2", "b1", "")]
OK = constraint(labelSelector={"matchLabels": {"app": "ok"}})
NEW, COMPARED = Titles("new.yaml"), Titles("new.yaml", "old.yaml")


def lines(*objects, titles=NEW, **options):
    return [line.rstrip() for line in text(report(*objects, **options), titles).splitlines()]


def test_a_row_for_each_constraint_and_what_is_to_be_known_below_it():
    soft = constraint(topologyKey="kubernetes.io/hostname", whenUnsatisfiable="ScheduleAnyway")
    found = lines(*ZONES, node("bare"), *deployment(constraint(), soft), *pods("a1", "a1", "b1"), titles=Titles())

    assert [
        "How the Pods are spread, the worst first:",
        "",
        "  WORKLOAD              PODS   LOST WITH ONE ZONE   CONSTRAINT                SKEW           PODS PER DOMAIN",
        "  shop/deployment/web   3      67% (a)              zone DoNotSchedule        2, allowed 1   a 2, b 1, c 0",
        "      1 node without the label topology.kubernetes.io/zone",
        f"{'':52}hostname ScheduleAnyway   2, allowed 1   0 to 2 (a1) in 7 domains",
    ] == found[:6]
    assert [
        "1 workload with 3 Pods on 7 nodes in 3 zones.",
        "1 workload exceeds maxSkew. Of all workloads with two Pods or more, 0 would lose every Pod with one zone.",
    ] == found[-2:]


def test_a_skew_that_a_hard_constraint_forces_is_named_where_it_is_not_counted():
    soft = constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")
    nodes = [node(f"{zone}{i}", zone) for zone, number in (("a", 5), ("b", 2), ("c", 2)) for i in range(number)]
    on = [*("a0", "a1", "a2", "a3"), *("b0", "b1", "c0", "c1") * 2]
    found = lines(*nodes, *deployment(constraint(), soft), *pods(*on), titles=Titles())

    (row,) = (line for line in found if "hostname ScheduleAnyway" in line)
    assert "2, allowed 1 (forced: 2)" in row
    assert f"      the DoNotSchedule constraint on {ZONE} allows no smaller skew than 2 for so many Pods" in found
    assert found[-1].startswith("0 workloads exceed maxSkew; 1 more only as a DoNotSchedule constraint forces it. ")


def test_the_worst_finding_is_the_one_to_read_about():
    warns = policy(rules={"empty-selector": {"severity": "warning"}})
    found = lines(*WEB, *deployment(EMPTY, name="db"), titles=Titles(), of=warns)

    rows = [line.strip().partition(" ")[0] for line in found if "info: " in line or "warning: " in line]
    assert ["info:", "warning:"] == rows
    assert "For what a finding means: evenkeel rules empty-selector" in found


def test_a_zone_without_a_name_is_shown():
    there = [*ZONES, node("x1", labels={ZONE: ""}), *deployment(constraint()), *pods("x1", "x1", "a1")]
    row = next(line for line in lines(*there, titles=Titles()) if "zone DoNot" in line)

    assert '67% ("")' in row
    assert row.endswith('"" 2, a 1, b 0, c 0')
    assert "" == json.loads(dumped(as_json(report(*there), Titles())))["workloads"][0]["largestZone"]


@pytest.mark.parametrize(
    ("replicas", "on", "shown"),
    [
        (2, ("a1", "b1"), "2"),
        (4, ("a1", ""), "1 + 1 waiting of 4"),
        (1, (), "0 of 1"),
        (0, (), "0"),
        (None, ("a1",), "1"),
    ],
)
def test_pods_that_are_not_even_there_are_missed(replicas, on, shown):
    owner, made = deployment(constraint())
    owner["spec"]["replicas"] = replicas
    row = lines(*ZONES, owner, made, *pods(*on), titles=Titles())[3]

    assert shown == row.removeprefix("  shop/deployment/web   ").partition("   ")[0]


def test_what_the_policy_would_do_comes_first():
    found = lines(*ZONES, *deployment(EMPTY), *pods("a1"), *deployment(OK, name="ok"))

    assert "What new.yaml would do:" == found[0]
    assert "  WORKLOAD              CREATED   UPDATED   ITS PODS   WHY" == found[2]
    assert found[3].startswith("  shop/deployment/web   denied    warned    allowed    empty-")
    assert "new.yaml: 1 denied, 1 allowed." in found
    assert not any("/ok" in line for line in found[:4])


def test_and_what_it_changes():
    found = lines(*WEB, *deployment(EMPTY, name="bad"), titles=COMPARED, compare=policy("{enforcement: Warn}"))

    assert "What new.yaml would do, compared with old.yaml:" == found[0]
    assert found[3].startswith(
        "  shop/deployment/bad   would-be-denied   denied    warned    allowed    empty-selector: "
    )
    assert "1 workload has a different outcome under old.yaml." in found
    assert "No Pod would get other default constraints." in found


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (NO_DEFAULTS, "2 Pods would newly get defaults."),
        (DEFAULTS.replace("maxSkew: 1", "maxSkew: 2"), "2 Pods would get other defaults."),
        (DEFAULTS, "No Pod would get other default constraints."),
    ],
)
def test_default_constraints(old, said):
    objects = [*ZONES, *deployment(), service(), *pods("a1", "b1")]

    assert said in lines(*objects, titles=COMPARED, of=policy(DEFAULTS), compare=policy(old))
    assert "2 Pods would get default constraints." in lines(*objects, of=policy(DEFAULTS))
    assert "  no workload would be denied or warned" in lines(*objects, of=policy(DEFAULTS))


def test_default_constraints_of_a_trial():
    objects = [*ZONES, *deployment(), service(), *pods("a1", "b1")]
    printed = lines(*objects, of=policy(f"{DEFAULTS[:-1]}, defaultingMode: Audit}}"))

    assert "2 Pods would get default constraints if defaultingMode were Apply." in printed
    row = next(line for line in printed if "(maxSkew 1, ScheduleAnyway)" in line)
    assert ["shop/deployment/web", "2", ZONE] == row.split()[:3]
    assert "policy; selector from " in row
    assert not any("Karpenter" in line for line in printed)


def test_default_constraints_of_a_trial_may_start_nodes():
    nodes = [node(name, name[0], labels={"karpenter.sh/nodepool": "default"}) for name in ("a1", "b1")]
    printed = lines(*nodes, *deployment(), service(), of=policy(f"{DEFAULTS[:-1]}, defaultingMode: Audit}}"))

    assert "  Karpenter may start nodes for new Pods with these constraints." in printed


@pytest.mark.parametrize(("mode", "starts"), [("ScheduleAnyway", False), ("DoNotSchedule", True)])
def test_cluster_autoscaler_starts_nodes_only_for_hard_constraints(mode, starts):
    candidate = {"key": "DeletionCandidateOfClusterAutoscaler", "value": "1", "effect": "PreferNoSchedule"}
    nodes = [node(name, name[0], taints=[candidate]) for name in ("a1", "b1")]
    audited = f"{DEFAULTS[:-1]}, defaultingMode: Audit}}".replace("ScheduleAnyway", mode)
    printed = lines(*nodes, *deployment(), service(), of=policy(audited))

    assert starts == ("  cluster-autoscaler may start nodes for new Pods with these constraints." in printed)


def test_what_is_skewed_only_because_the_policy_is_taken_to_be_in_force():
    objects = [*ZONES, *deployment(), service(), *pods("a1", "a1", "b1")]
    said = "Of the workloads that exceed maxSkew, 1 exceeds only that of default constraints, if {} is in force."

    assert said.format("new.yaml") in lines(*objects, of=policy(DEFAULTS))
    assert said.format("old.yaml") in lines(*objects, titles=COMPARED, compare=policy(DEFAULTS))
    assert not any("taken to be" in line for line in lines(*objects, named=False, titles=Titles()))
    assert 1 == as_json(report(*objects, of=policy(DEFAULTS)), NEW)["summary"]["unevenByDefaults"]


def test_a_namespace_from_which_nothing_is_sent():
    system = workload("Deployment", EMPTY, namespace="kube-system")

    assert "  no workload would be denied or warned" in lines(system, never_sent=("kube-system",))


def test_without_a_policy_there_is_no_word_of_it():
    found = lines(*ZONES, *deployment(EMPTY), titles=Titles(), named=False)

    assert not any("would do" in line or "denied" in line for line in found)
    assert "      error: empty-selector" in found


def test_other_workloads_closed_domains_and_few_domains():
    both, nodes = {"app": "web"}, [node("a1", "a"), node("b1", "b", unschedulable=True)]
    canary = [made_by("", "canary", "a1", labels=both)]
    found = lines(*nodes, *deployment(constraint(minDomains=3)), *pods("a1"), *canary, titles=Titles())

    assert "      also counts Pod/canary (1)" in found
    assert "      b counts as a domain, but no node there takes these Pods" in found
    assert "      2 domains, fewer than minDomains 3" in found
    enough = lines(*nodes, *deployment(constraint(minDomains=2)), *pods("a1"), titles=Titles())
    assert not any("fewer than" in line for line in enough)


def test_the_numbers_by_namespace():
    shop = namespace(team="web")
    found = report(*ZONES, shop, *deployment(EMPTY), *pods("a1", "a2"))
    by_namespace = text(found, NEW, Shown(by="namespace")).splitlines()
    (one,) = as_json(found, NEW)["namespaces"]

    assert [
        ["NAMESPACE", "WORKLOADS", "PODS", "WAITING", "DENIED AT UPDATE", "IF CREATED", "WITH ERRORS", "WITH WARNINGS"],
        ["shop", "1", "2", "0", "0", "1", "1", "0"],
    ] == [re.split("   +", line.strip())[:8] for line in by_namespace[0:2]]
    assert ["SKEW TOO LARGE", "LOSE ALL WITH A ZONE", "LOST WITH ONE ZONE", "CONTACT"] == re.split(
        "   +", by_namespace[0]
    )[-4:]
    assert ["0", "1", "100% (a)", "team=web"] == re.split("   +", by_namespace[1])[-4:]
    assert ("a", 1) == (one["summary"]["largestZone"], one["summary"]["largestZoneShare"])
    assert "not known" in text(report(*ZONES, *deployment()), NEW, Shown(by="namespace")), "whose it is"
    denied = (
        "At the next update, 0 workloads or their Pods would be denied. If created again, 1 workload would be denied."
    )
    assert denied in by_namespace
    assert "DENIED" not in text(found, Titles(), Shown(by="namespace")), "for nobody asked a policy"
    assert ("shop", {"team": "web"}) == (one["namespace"], one["contacts"])
    assert (0, 1, 1, 0) == tuple(
        one["summary"][name] for name in ("deniedUpdates", "deniedCreates", "withErrors", "withWarnings")
    )


def test_the_numbers_by_a_label():
    other = workload("Deployment", name="x")
    other["metadata"]["labels"] = {"team": "a\nb"}
    found = text(report(*ZONES, *deployment(EMPTY), other, label="team"), NEW, Shown(by="team")).splitlines()

    assert ["team", "WORKLOADS"] == found[0].split()[:2]
    assert "CONTACT" not in found[0]
    assert [["-", "1"], ["a\\u000ab", "1"]] == [line.split()[:2] for line in found[1:3]]


def test_only_the_sums():
    found = report(*WEB)
    sums = text(found, NEW, Shown(summary=True)).splitlines()

    assert "1 workload with 5 Pods, 1 of them waiting, on 6 nodes in 3 zones." == sums[0]
    assert "workloads" not in as_json(found, NEW, (), Shown(summary=True))


def test_only_what_changes():
    """What is denied by both is not listed, and nobody says that nothing is denied."""
    found = report(*WEB, *deployment(EMPTY, name="bad"), compare=policy("{enforcement: Warn}"))
    listed = text(found, COMPARED, Shown(changed=True))

    assert "shop/deployment/bad" in listed
    assert "shop/deployment/web" not in listed
    assert "2 workloads with 5 Pods" in listed
    assert ["Deployment/bad"] == [
        one["workload"] for one in as_json(found, COMPARED, (), Shown(changed=True))["workloads"]
    ]
    alike = text(report(*WEB, *deployment(EMPTY), compare=policy()), COMPARED, Shown(changed=True))
    assert "  no workload would have a different outcome" in alike
    assert "How the Pods" not in alike


def test_nothing_at_all():
    assert "Found no workload." == text(report(node("a1")), NEW, no_workload="Found no workload.")


def test_that_no_node_names_its_zone_is_said():
    assert f"1 workload with 1 Pod on 1 node, none with the label {ZONE}." in lines(
        node("a1"), *deployment(), *pods("a1")
    )


NO_CONSTRAINTS = "It has no constraints of its own"


@pytest.mark.parametrize(
    ("objects", "options", "said"),
    [
        (
            [*deployment(), service(), *pods("a1", "a1")],
            {"named": False},
            f"{NO_CONSTRAINTS}. In force: kube-scheduler's own defaults.",
        ),
        (
            *([*deployment(), service(), *pods("a1", "a1")], {"of": policy(DEFAULTS), "titles": NEW}),
            f"{NO_CONSTRAINTS}. In force: the default constraints of the policy.",
        ),
        (
            [made_by("Cluster/db", f"db-{i}", "a1") for i in range(2)],
            {},
            f"{NO_CONSTRAINTS}, and evenkeel knows of no defaults in force.",
        ),
        ([made_by("", "alone", "a1")], {}, ""),
        ([*deployment(constraint()), *pods("a1", "a1")], {}, ""),
        ([workload("DaemonSet"), *[made_by("DaemonSet/web", f"web-{i}", "a1") for i in range(2)]], {}, ""),
    ],
)
def test_a_workload_without_constraints_says_so_and_which_defaults_act(objects, options, said):
    found = lines(*ZONES, *objects, **{"titles": Titles(), **options})
    loses_all = "1 of these has no constraints of its own" if said else "with one zone."

    assert [said] * bool(said) == [line.strip() for line in found if line.strip().startswith(NO_CONSTRAINTS)]
    assert any(loses_all in line for line in found)


def test_without_nodes_nothing_is_said_of_what_needs_them():
    """The Pods are spread, and their nodes are those that may not be listed."""
    objects = [*deployment(constraint(minDomains=3)), *pods("a1", "b1", "c1", "")]
    found = as_json(report(*objects), Titles())
    (one,) = found["workloads"]
    (spread,) = one["constraints"]
    of_nodes = ("domains", "domainsWithoutPods", "closedDomains", "nodesWithoutKey", "nodesLeftOut", "alsoCounts")

    assert [
        "  WORKLOAD              PODS            LOST WITH ONE ZONE   CONSTRAINT           SKEW        PODS PER DOMAIN",
        "  shop/deployment/web   3 + 1 waiting   not known            zone DoNotSchedule   not known   not known",
        "      info: rollout-skew, counts-tainted-nodes",
        "",
        "For what a finding means: evenkeel rules rollout-skew",
        "",
        "1 workload with 4 Pods, 1 of them waiting; their nodes and zones are not known.",
        "Without nodes, these are not known: the skew, the loss with one zone, constraints that spread nothing, and "
        "findings of rules that need nodes.",
    ] == lines(*objects, titles=Titles())[2:]
    assert [None] * 8 == [spread[name] for name in ("skew", "spreadsNothing", *of_nodes)]
    assert [None] * 3 == [one[name] for name in ("zones", "largestZone", "largestZoneShare")]
    assert [None] * 5 == [
        found["summary"][name] for name in ("nodes", "zones", "uneven", "lostWithOneZone", "spreadNothing")
    ]
    assert "0 workloads with 0 Pods; their nodes and zones are not known." == lines(titles=Titles())[-1]


def test_names_from_a_cluster_do_not_control_the_terminal():
    odd = deployment(constraint(), name="w\x1b[31m")
    odd[0]["metadata"]["namespace"] = odd[1]["metadata"]["namespace"] = "s\n"

    assert "\x1b" not in text(report(*ZONES, *odd), NEW)
    assert "  s\\u000a/deployment/w\\u001b[31m" in text(report(*ZONES, *odd), NEW)


def test_json_has_what_programs_need():
    found = json.loads(dumped(as_json(report(*WEB, compare=policy("{enforcement: Warn}")), COMPARED, ["a note"])))
    (one,) = found["workloads"]
    (spread,) = one["constraints"]

    assert ("evenkeel.dev/v1alpha1", "Report", "new.yaml", "old.yaml", ["a note"]) == (
        found["apiVersion"],
        found["kind"],
        found["policy"],
        found["compare"],
        found["notes"],
    )
    assert ("Deployment/web", "shop", 3, 5, 1) == tuple(
        one[name] for name in ("workload", "namespace", "replicas", "pods", "waiting")
    )
    assert ("a", 0.75, {"a": 3, "b": 1}) == (one["largestZone"], one["largestZoneShare"], one["zones"])
    assert (0, 1, True, "pod", 3, {"a": 3, "b": 1, "c": 0}) == tuple(
        spread[name] for name in ("index", "maxSkew", "hard", "source", "skew", "domains")
    )
    assert ("allowed", "allowed", False) == (one["outcome"], one["wasOutcome"], one["changed"])
    assert {"create", "update", "pods"} == one["answers"].keys() == one["wasAnswers"].keys()
    assert (1, 5, 1) == tuple(found["summary"][name] for name in ("workloads", "pods", "waiting"))
    assert found == json.loads(json.dumps(found))


def test_json_of_what_is_not_known():
    found = as_json(report(made_by("Cluster/db", "db-1", api_version="example.com/v1"), named=False), Titles())
    (one,) = found["workloads"]

    assert (None, None, None) == (found["policy"], one["largestZone"], one["largestZoneShare"])
    assert (None, None, None) == (one["answers"]["create"], one["wasAnswers"], one["wasOutcome"])


def test_of_many_domains_only_those_with_pods_are_listed():
    many = [node(f"n{i:03}", "a") for i in range(MOST_DOMAINS + 1)]
    by_node = constraint(topologyKey="kubernetes.io/hostname")
    (one,) = as_json(report(*many, *deployment(by_node), *pods("n001", "n002")), NEW)["workloads"]
    (spread,) = one["constraints"]

    assert ({"n001": 1, "n002": 1}, MOST_DOMAINS - 1) == (spread["domains"], spread["domainsWithoutPods"])


def autoscaled(*scalers):
    """Two Pods of a Deployment in two zones, of which a third is closed."""
    open_zones = [one for one in ZONES if "c" not in one["metadata"]["name"]]
    owner, made = deployment(constraint())
    owner["spec"]["replicas"] = 2
    return [*open_zones, node("c1", "c", unschedulable=True), owner, made, *pods("a1", "b1"), *scalers]


def test_the_bounds_of_an_autoscaler_and_what_comes_with_its_maximum():
    found = lines(*autoscaled(hpa(2, 5000)))

    assert "      autoscaled: 2–5,000 replicas" in found
    assert "      at 5,000 replicas also warning: tainted-domain" in found
    assert "      autoscaled: 2 replicas or more" in lines(*autoscaled(hpa(2, None)))
    assert not any("autoscaled" in line or "also" in line for line in lines(*autoscaled()))


def test_the_bounds_of_an_autoscaler_in_json():
    (one,) = as_json(report(*autoscaled(hpa(2, 5))), NEW)["workloads"]
    (bare,) = as_json(report(*autoscaled()), NEW)["workloads"]

    assert {"minReplicas": 2, "maxReplicas": 5} == one["autoscaler"]
    assert ["tainted-domain"] == [finding["rule"] for finding in one["findingsAtMaximum"]]
    assert (None, []) == (bare["autoscaler"], bare["findingsAtMaximum"])


def test_a_constraint_that_spreads_nothing_is_said_to_and_why():
    """One that is hard still keeps Pods off nodes without the label."""
    empty, one_zone = deployment(EMPTY), [node("a1", "a"), node("a2", "a"), node("bare")]
    found = lines(*one_zone, *empty, *deployment(OK, name="ok"), *pods("a1"), titles=Titles())

    assert "      spreads nothing: its selector counts no Pod; it still keeps Pods off nodes without the label" in found
    assert "2 constraints spread nothing." in found
    assert "1 constraint spreads nothing." in lines(*ZONES, *empty, titles=Titles())
    assert not any("nothing" in line for line in lines(*WEB, titles=Titles()))


def test_what_spreads_nothing_in_json():
    found = as_json(report(*ZONES, *deployment(EMPTY), *deployment(OK, name="ok")), NEW)

    assert {"Deployment/web": ["its selector counts no Pod"], "Deployment/ok": [None]} == {
        one["workload"]: [each["spreadsNothing"] for each in one["constraints"]] for one in found["workloads"]
    }
    assert 1 == found["summary"]["spreadNothing"]
