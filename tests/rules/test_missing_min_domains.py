"""The rule missing-min-domains."""

from __future__ import annotations

import pytest

from tests.rules.judged import findings, in_zones, pinned, stateful
from tests.support.build import HOSTNAME, ZONE, constraint, node, pod, snapshot, workload
from webhook.findings.evaluation import find_all
from webhook.findings.finding import Severity
from webhook.kubernetes.features import LATEST
from webhook.kubernetes.references import Scaling
from webhook.kubernetes.workload import parse_workloads
from webhook.rules import RULES

RULE, SOFT = "missing-min-domains", {"whenUnsatisfiable": "ScheduleAnyway"}


def found(obj, minor=None, nodes=(), **parameters):
    setting = RULES[RULE].setting(Severity.WARNING, parameters=parameters)
    there = {"snapshot": snapshot(*nodes)} if nodes else {}
    return [finding for finding in findings(obj, minor, **there, missing_min_domains=setting) if finding.rule == RULE]


def of_zones(*terms):
    """The spec of a Pod whose node affinity has a term for each of these groups of zones; terms are ORed."""
    affinities = [in_zones(*zones)["affinity"]["nodeAffinity"] for zones in terms]
    (name,) = affinities[0]
    each = [term for affinity in affinities for term in affinity[name]["nodeSelectorTerms"]]
    return {"affinity": {"nodeAffinity": {name: {"nodeSelectorTerms": each}}}}


SSD = {"nodeSelector": {"disk": "ssd"}}


def of_disks(operator, *values):
    terms = [{"matchExpressions": [{"key": "disk", "operator": operator, "values": [*values]}]}]
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    }


class TestMissingMinDomains:
    @pytest.mark.parametrize(
        ("obj", "parameters", "reported"),
        [
            (stateful(constraint(), replicas=2), {}, True),
            (stateful(constraint(minDomains=1)), {}, True),
            (stateful(constraint(minDomains=2)), {}, False),
            (stateful(constraint(minDomains=2)), {"minDomains": 3}, False),
            (stateful(constraint(minDomains=0)), {}, False),
            (stateful(constraint(**SOFT)), {}, False),
            (stateful(constraint(topologyKey=HOSTNAME)), {}, False),
            (stateful(constraint(topologyKey=HOSTNAME)), {"topologyKeys": [ZONE, HOSTNAME]}, True),
            (stateful(constraint(topologyKey="rack")), {"topologyKeys": []}, True),
            (stateful(constraint(), replicas=1), {}, False),
            (stateful(constraint(), replicas=0), {}, False),
            (stateful(constraint(), replicas=None), {}, False),
            (stateful(constraint(maxSkew=2), replicas=2), {}, False),
            (stateful(constraint(maxSkew=2), replicas=3), {}, True),
            (workload("Job", constraint(), spec={"parallelism": 3, "completions": 2}), {}, True),
            (workload("CronJob", constraint(), spec={"parallelism": 3, "completions": 1}), {}, False),
            (workload("DaemonSet", constraint()), {}, False),
            (pod(constraint()), {}, False),
            (stateful(constraint(), pod_spec={"nodeName": "n1"}), {}, False),
            (stateful(constraint(), pod_spec=pinned(["n1"])), {}, False),
            (stateful(constraint(), pod_spec={"nodeSelector": {ZONE: "a"}}), {}, False),
            (stateful(constraint(nodeAffinityPolicy="Ignore"), pod_spec=in_zones("a")), {}, False),
            (stateful(constraint(), pod_spec={"nodeSelector": {"pool": "a"}}), {}, True),
            (stateful(constraint(), pod_spec=in_zones("a", operator="NotIn")), {}, True),
            (stateful(constraint(), pod_spec=of_zones("a", "a")), {}, False),
            (stateful(constraint(), pod_spec=of_zones("a", "b")), {}, True),
        ],
        ids=[
            "two Pods",
            "1 is the default",
            "2 is enough",
            "less than the policy's number",
            "what the API server refuses",
            "soft",
            "another key",
            "another key that the policy names",
            "any key",
            "one Pod",
            "no Pod",
            "a number that is not written",
            "no more Pods than maxSkew",
            "more Pods than maxSkew",
            "two Pods of a Job at a time",
            "one Pod of a CronJob at a time",
            "a Pod on each node",
            "a Pod alone",
            "one node by nodeName",
            "one node by affinity",
            "one zone by nodeSelector",
            "one zone by affinity, which does not count",
            "one pool by nodeSelector",
            "all zones but one",
            "the same zone in two terms",
            "two zones in two terms",
        ],
    )
    def test_it_finds_what_may_run_in_one_domain(self, obj, parameters, reported):
        assert reported == bool(found(obj, **parameters))

    def test_it_is_off_until_it_is_set(self):
        assert [] == [finding.rule for finding in findings(stateful(constraint(nodeTaintsPolicy="Honor")))]

    def test_a_version_without_the_field_is_not_asked_for_it(self):
        assert [] == found(stateful(constraint()), minor=26)

    def test_an_autoscaler_counts_by_its_maximum(self):
        settings = {RULE: RULES[RULE].setting(Severity.WARNING)}
        (parsed,) = parse_workloads(stateful(constraint(), replicas=None))
        found = find_all(parsed.scaled(Scaling(1, 2)), settings, None, LATEST).findings

        assert [RULE] == [finding.rule for finding in found]

    @pytest.mark.parametrize(
        ("parameters", "pod_spec", "fix", "written"),
        [
            ({"minDomains": 3}, {}, "write minDomains: 3; once a domain is gone, rollouts can stop", 3),
            ({"minDomains": 3}, in_zones("a", "b"), "write minDomains: 2; once a domain is gone, rollouts can stop", 2),
            ({}, {}, "set minDomains to the number of domains that can have nodes", None),
        ],
        ids=["the policy's number", "no more than node affinity allows", "the policy names none"],
    )
    def test_the_fix_writes_the_number_that_the_policy_names(self, parameters, pod_spec, fix, written):
        (one,) = found(stateful(constraint(), pod_spec=pod_spec), **parameters)

        assert (fix, written) == (one.fix, one.edit and one.edit.value)
        assert "minDomains" == one.path[-1]

    @pytest.mark.parametrize(
        ("disks", "pod_spec", "written"),
        [
            ({"a": "ssd", "b": "", "c": ""}, {}, 3),
            ({"a": "ssd", "b": "", "c": ""}, SSD, None),
            ({"a": "ssd", "b": "ssd", "c": ""}, SSD, 2),
            ({"a": "ssd", "b": "ssd", "c": "ssd"}, SSD, 3),
            ({"a": "", "b": "", "c": ""}, SSD, None),
            ({"a": "ssd"}, SSD, 3),
            ({"a": "ssd", "b": ""}, {**SSD, **in_zones("a", "b")}, None),
            ({"a": "ssd", "b": ""}, {**SSD, **in_zones("a", "b", "c")}, 2),
            ({"a": "ssd", "b": "", "c": ""}, of_disks("In", "ssd"), None),
            ({"a": "", "b": "hdd", "c": "hdd"}, of_disks("NotIn", "hdd"), None),
        ],
        ids=[
            "any node",
            "only zone a",
            "two of three zones",
            "all zones",
            "no zone",
            "the only zone that there is",
            "one of two zones by name",
            "a zone without a node may have such nodes",
            "node affinity",
            "all zones but two",
        ],
    )
    @pytest.mark.parametrize("policy", ["Honor", "Ignore"])
    def test_domains_that_other_labels_exclude(self, policy, disks, pod_spec, written):
        """With more than there can be, Pods would wait."""
        nodes = [node(f"n-{zone}", **{ZONE: zone, "disk": disk}) for zone, disk in disks.items()]
        obj = stateful(constraint(nodeAffinityPolicy=policy), pod_spec=pod_spec)

        assert ([written] if written else []) == [one.edit.value for one in found(obj, nodes=nodes, minDomains=3)]

    def test_no_number_is_written_where_the_policy_asks_for_a_soft_constraint(self):
        """The API server refuses minDomains there."""
        settings = {
            "missing_min_domains": RULES[RULE].setting(Severity.WARNING, parameters={"minDomains": 3}),
            "hard_constraint": RULES["hard-constraint"].setting(Severity.WARNING),
        }
        (one,) = [f for f in findings(stateful(constraint()), **settings) if f.rule == RULE]

        assert ("write whenUnsatisfiable: ScheduleAnyway", None) == (one.fix, one.edit)
