"""The rule unschedulable."""

from __future__ import annotations

import pytest

from tests.rules.judged import HARD_HOST, IN_A, THREE, findings, stateful
from tests.support import placing
from tests.support.build import ZONE, constraint, pod, snapshot, workload
from webhook.findings.finding import Severity
from webhook.kubernetes.features import LATEST
from webhook.rules import RULES


def room(zone, pods="110", **spec):
    """A node that says what it has."""
    return placing.node(f"n-{zone}", zone, pods=pods, **spec)


SHUT = room("c", taints=[{"key": "x", "effect": "NoSchedule"}])
OTHER_POD = pod(name="agent", labels={"app": "agent"}, spec={"nodeName": "n-a"}, uid="u1")


class TestUnschedulable:
    """The bound is tests/scheduler/test_capacity.py's; what is reported, and what others report, is here."""

    def found(self, obj, *nodes, pods=(OTHER_POD,)):
        there = snapshot(*nodes, *pods, features=LATEST)
        return [one for one in findings(obj, snapshot=there) if one.rule == "unschedulable"]

    def test_a_zone_with_room_for_few_holds_the_others_back(self):
        (found,) = self.found(stateful(constraint(), replicas=9), room("a"), room("b"), room("c", pods="1"))

        assert "at most 5 of 9 replicas fit now: zone c has room for only 1 more, so maxSkew" in found.message

    def test_a_zone_that_counts_although_affinity_leaves_it_out_is_named_with_what_does_which(self):
        terms = [{"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["c"]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        left_out = {"affinity": {"nodeAffinity": required}}
        nodes = room("a"), room("b"), room("c")
        ignoring = stateful(
            constraint(nodeAffinityPolicy="Ignore"),
            replicas=3,
            pod_spec=left_out,
            annotations={"evenkeel.dev/ignore": "pinned-domain"},
        )
        (found,) = self.found(ignoring, *nodes)

        assert "nodeAffinityPolicy" == found.path[-1]
        assert (
            "at most 2 of 3 replicas fit now: zone c counts as a domain, but affinity or nodeSelector excludes it"
        ) in found.message
        assert "set nodeAffinityPolicy: Honor" == found.fix
        assert [] == self.found(stateful(constraint(), replicas=3, pod_spec=left_out), *nodes)

    def test_constraints_that_together_allow_no_more_as_pods_lie_now(self):
        """Placed anew, five would fit."""
        nodes = [placing.node(name, name[0]) for name in ("a1", "a2", "b1")]
        there = [pod(name=f"web-{i}", spec={"nodeName": "a1"}, uid=f"u{i}") for i in range(3)]
        (found,) = self.found(stateful(constraint(), HARD_HOST, replicas=5), *nodes, pods=there)

        assert "maxSkew" == found.path[-1]
        assert "at most 4 of 5 replicas fit now: constraints 0 and 1 together allow no more" in found.message

    def test_with_room_for_all_nothing_is_found(self):
        assert [] == self.found(stateful(constraint(), replicas=9), room("a"), room("b"), room("c"))

    def test_what_runs_already_needs_no_place(self):
        there = [pod(name=f"web-{i}", spec={"nodeName": f"n-{zone}"}, uid=f"u{i}") for i, zone in enumerate("abc")]
        nodes = room("a"), room("b"), room("c", pods="1")

        assert [] == self.found(stateful(constraint(), replicas=5), *nodes, pods=there)
        (found,) = self.found(stateful(constraint(), replicas=6), *nodes, pods=there)
        assert "at most 5 of 6" in found.message

    def test_no_room_at_all(self):
        (found,) = self.found(stateful(constraint(), replicas=3), room("a", pods="1"))

        assert "none of 3 replicas fits now" in found.message

    @pytest.mark.parametrize(
        ("fields", "nodes", "pod_spec", "above", "field"),
        [
            ({}, [room("a"), room("b"), SHUT], {}, "tainted-domain", "nodeTaintsPolicy"),
            ({"topologyKey": "rack"}, [room("a")], {}, "unknown-topology-key", "topologyKey"),
            ({"minDomains": 3}, [room("a")], IN_A, "pinned-domain", "minDomains"),
            ({"nodeAffinityPolicy": "Ignore"}, [room("a"), room("b")], IN_A, "pinned-domain", "nodeAffinityPolicy"),
        ],
    )
    def test_it_yields_to_what_is_reported_as_gravely_on_the_field(self, fields, nodes, pod_spec, above, field):
        obj = stateful(constraint(**fields), pod_spec=pod_spec)
        there = snapshot(*nodes, OTHER_POD, features=LATEST)

        def reported(severity):
            given = {above.replace("-", "_"): RULES[above].setting(severity)}
            return [f.rule for f in findings(obj, snapshot=there, **given) if f.path[-1] == field]

        assert [above] == reported(Severity.WARNING)
        assert ["unschedulable"] == reported(Severity.INFO) == reported(Severity.IGNORE)

    @pytest.mark.parametrize("severity", [Severity.WARNING, Severity.INFO])
    def test_that_domains_are_too_few_is_left_to_that_rule_while_nodes_may_join(self, severity):
        obj, there = stateful(constraint(minDomains=3)), snapshot(room("a"), room("b"), OTHER_POD, features=LATEST)

        def reported(severity):
            given = findings(obj, snapshot=there, too_few_domains=RULES["too-few-domains"].setting(severity))
            return [(f.rule, f.severity) for f in given if f.path[-1] == "minDomains"]

        assert [("too-few-domains", severity)] == reported(severity)
        assert [("unschedulable", Severity.INFO)] == reported(Severity.IGNORE)

    def test_the_three_rules_on_min_domains_yield_in_this_order(self):
        obj, rules = stateful(constraint(minDomains=3), pod_spec=IN_A), ["pinned-domain", "too-few-domains"]
        there, given = snapshot(room("a"), OTHER_POD, features=LATEST), {}
        for above in (*rules, "unschedulable"):
            rest = {rule.replace("-", "_"): RULES[rule].setting(Severity.WARNING) for rule in rules} | given

            assert [above] == [f.rule for f in findings(obj, snapshot=there, **rest) if f.path[-1] == "minDomains"]
            given[above.replace("-", "_")] = RULES[above].setting(Severity.IGNORE)

    def test_what_an_annotation_silences_silences_nothing(self):
        obj = stateful(constraint(minDomains=3), pod_spec=IN_A, annotations={"evenkeel.dev/ignore": "pinned-domain"})
        (found,) = self.found(obj, room("a"))

        assert "at most 1 of 6 replicas fit now: fewer domains than minDomains" == found.message
        assert Severity.WARNING is found.severity

    def test_without_what_nodes_have_only_the_spread_is_judged(self):
        assert [] == self.found(stateful(constraint(), replicas=9), *THREE)

    def test_a_pod_that_is_there_is_not_judged(self):
        assert [] == self.found(pod(constraint(), uid="u", name="x"), room("a", pods="1"))

    def test_any_number_of_replicas_is_judged(self):
        (found,) = self.found(stateful(constraint(), replicas=(1 << 31) - 1), room("a", pods="1"))

        assert "none of 2147483647 replicas fits now: no room" == found.message

    def test_the_next_revision_counts_by_itself_and_is_not_known(self):
        running = pod(name="web-0", labels={"app": "web", "pod-template-hash": "1"}, spec={"nodeName": "n-a"}, uid="u2")
        keyed = workload("Deployment", constraint(matchLabelKeys=["pod-template-hash"]), spec={"replicas": 9})
        nodes = room("a"), room("b", pods="0")

        assert [] == self.found(keyed, *nodes, pods=[running])
        assert self.found(keyed, *nodes)

    def test_pods_that_recreate_would_take_away_first_may_hold_the_room(self):
        running = pod(name="web-0", labels={"app": "web"}, spec={"nodeName": "n-a"}, uid="u2")
        spec = {"replicas": 9, "selector": {"matchLabels": {"app": "web"}}}
        recreated = workload("Deployment", constraint(), spec={**spec, "strategy": {"type": "Recreate"}})
        nodes = room("a"), room("b", pods="0")

        assert [] == self.found(recreated, *nodes, pods=[running])
        assert self.found(recreated, *nodes)
        assert self.found(workload("Deployment", constraint(), spec=spec), *nodes, pods=[running])
