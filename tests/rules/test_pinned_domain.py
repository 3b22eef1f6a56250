"""The rule pinned-domain."""

from __future__ import annotations

import pytest

from tests.rules.judged import (
    HARD_HOST,
    IN_A,
    IN_AB,
    INFRA,
    ON_A,
    THREE,
    ZONES,
    findings,
    in_zones,
    pinned,
    shown,
    stateful,
    templated,
)
from tests.support.build import HOSTNAME, ZONE, constraint, node, pod, snapshot, workload
from tests.support.claims import claim, storage_class, using, volume
from webhook.findings.finding import Severity
from webhook.rules import RULES

IN_A_ONLY = storage_class(allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}])
SSD = {"nodeSelector": {"disk": "ssd"}}
DISKS = (
    node("n1", **{ZONE: "a", "disk": "ssd", "os": "x"}),
    node("n2", **{ZONE: "b", "os": "x"}),
    node("n3", **{ZONE: "a", "os": "x"}),
)
ANYWAY, IGNORING = {"whenUnsatisfiable": "ScheduleAnyway"}, {"nodeAffinityPolicy": "Ignore"}


class TestPinnedDomain:
    def found(self, obj, *nodes, **given):
        there = findings(obj, snapshot=snapshot(*nodes) if nodes else None, **given)
        return [(f.path[-1], f.message, f.fix) for f in there if f.rule == "pinned-domain"]

    @pytest.mark.parametrize(
        ("fields", "pod_spec", "message"),
        [
            ({}, IN_A, "spreads nothing: nodeSelector allows only a"),
            (ANYWAY, IN_A, "spreads nothing: nodeSelector allows only a"),
            (ANYWAY, in_zones("a"), "spreads nothing: node affinity allows only a"),
            ({}, IN_AB | IN_A, "spreads nothing: nodeSelector allows only a"),
            (ANYWAY | IGNORING, IN_A, "spreads nothing: nodeSelector allows only a"),
            ({"topologyKey": HOSTNAME}, ON_A, "spreads nothing: nodeSelector allows only a"),
        ],
    )
    def test_one_domain_spreads_nothing(self, fields, pod_spec, message):
        obj = stateful(constraint(**fields), pod_spec=pod_spec)

        assert [("topologyKey", message, RULES["pinned-domain"].fix)] == self.found(obj)
        assert self.found(obj) == self.found(obj, *ZONES), "whatever nodes there are"

    def test_only_the_constraint_on_that_key(self):
        obj = stateful(constraint(), HARD_HOST, constraint(topologyKey="rack"), pod_spec=IN_A)

        assert ["pinned-domain [0].topologyKey"] == [f for f in shown(obj) if "pinned" in f]

    @pytest.mark.parametrize(
        ("fields", "pod_spec", "replicas", "message"),
        [
            ({"minDomains": 3}, IN_A, 6, "only 1 of 6 Pods can ever run: nodeSelector allows 1 domain"),
            (
                {"minDomains": 3, "maxSkew": 2},
                IN_AB,
                6,
                "only 4 of 6 Pods can ever run: node affinity allows 2 domains",
            ),
            (IGNORING | {"minDomains": 2}, IN_A, 6, None),
            ({"minDomains": 3, "maxSkew": 3}, IN_AB, 6, None),
            ({"minDomains": 2}, IN_AB, 6, None),
            ({"minDomains": 3}, IN_A, 1, None),
            ({"minDomains": 3}, {}, 6, None),
        ],
        ids=["one", "two", "others count, and may have Pods", "they take all", "enough", "one replica", "any"],
    )
    def test_fewer_domains_than_min_domains(self, fields, pod_spec, replicas, message):
        obj = stateful(constraint(**fields), pod_spec=pod_spec, replicas=replicas)

        of_min_domains = [[f[:2] for f in self.found(obj, *nodes) if f[0] == "minDomains"] for nodes in ((), ZONES)]
        assert [[("minDomains", message)] * bool(message)] * 2 == of_min_domains, "whatever nodes there are"

    @pytest.mark.parametrize(
        ("fields", "pod_spec", "options", "nodes", "message"),
        [
            ({}, IN_A, {}, ZONES, "5 of 6 new Pods would wait: b counts, but the nodeSelector excludes it"),
            ({}, IN_AB, {}, THREE, "4 of 6 new Pods would wait: c counts, but the node affinity excludes it"),
            (
                {"minDomains": 2},
                IN_A,
                {},
                ZONES,
                "5 of 6 new Pods would wait: b counts, but the nodeSelector excludes it",
            ),
            ({}, IN_A, {}, (), None),
            ({}, IN_A, {}, ZONES[:1], None),
            ({}, IN_A, {"replicas": 1}, ZONES, None),
            ({"maxSkew": 6}, IN_A, {}, ZONES, None),
            ({"nodeTaintsPolicy": "Honor"}, IN_A, {}, (ZONES[0], INFRA), None),
        ],
        ids=[
            "one",
            "two",
            "minDomains",
            "no node is known",
            "none is elsewhere",
            "one replica",
            "it takes all",
            "it does not count",
        ],
    )
    def test_a_domain_that_is_not_left_but_counts(self, fields, pod_spec, options, nodes, message):
        obj = stateful(constraint(**IGNORING, **fields), pod_spec=pod_spec, **options)
        fix = "remove the constraint, or allow more domains in the nodeSelector"  # Honored, one domain is left.
        wanted = [("nodeAffinityPolicy", message, fix if pod_spec is IN_A else "set nodeAffinityPolicy: Honor")]

        assert wanted * bool(message) == self.found(obj, *nodes)

    @pytest.mark.parametrize(
        "obj",
        [
            stateful(constraint(), pod_spec=IN_A, replicas=1),
            stateful(constraint(), pod_spec=in_zones("c", operator="NotIn")),
            stateful(constraint(), pod_spec=in_zones(operator="Exists")),
            stateful(constraint(), pod_spec=in_zones("1", operator="Gt")),
            stateful(constraint(), pod_spec=IN_AB),
            stateful(constraint(), pod_spec=in_zones("b") | IN_A),
            stateful(constraint(), pod_spec={"nodeSelector": {"topology.kubernetes.io/region": "r"}}),
            stateful(constraint(labelSelector={"matchLabels": {"app": "db"}}), pod_spec=IN_A),
            workload("DaemonSet", constraint()),
            pod(constraint(), spec=pinned(["n1"]) | IN_A),
            pod(constraint(), spec=IN_A, annotations={"evenkeel.dev/defaulted-by": "policy"}),
            workload("Job", constraint(minDomains=3), spec={"parallelism": 6, **templated(IN_A)}),
        ],
        ids=[
            "one replica",
            "any but one",
            "any",
            "any above",
            "two",
            "none, so that nothing runs",
            "the region is none of its keys",
            "it counts others",
            "a DaemonSet",
            "a Pod for one node",
            "what evenkeel wrote",
            "the Pods of a Job make room",
        ],
    )
    def test_nothing_is_wrong_with_the_domains(self, obj):
        assert [] == self.found(obj, *ZONES)

    @pytest.mark.parametrize(
        ("fields", "pod_spec", "field", "place"),
        [
            ({}, SSD, "nodeSelector", "zone a"),
            (ANYWAY, SSD, "nodeSelector", "zone a"),
            ({"topologyKey": HOSTNAME}, SSD, "nodeSelector", "hostname n1"),
            ({}, in_zones("a", operator="NotIn"), "node affinity", "zone b"),
            ({}, in_zones("ssd", key="disk"), "node affinity", "zone a"),
            ({}, in_zones(operator="Exists", key="disk") | {"nodeSelector": {"os": "x"}}, "node affinity", "zone a"),
            ({}, pinned(["n1"], ["n3"]), "node affinity", "zone a"),
        ],
    )
    def test_affinity_to_other_labels_leaves_one_domain_of_the_nodes_that_are_known(
        self, fields, pod_spec, field, place
    ):
        """Such nodes may join in other domains, so that is not sure for ever."""
        obj = stateful(constraint(**fields), pod_spec=pod_spec)
        (finding,) = [f for f in findings(obj, snapshot=snapshot(*DISKS)) if f.rule == "pinned-domain"]

        message = f"spreads nothing: all nodes that its {field} matches are in {place}"
        assert (message, Severity.INFO) == (finding.message, finding.severity)
        assert [] == self.found(obj), "without nodes"
        assert "minDomains" not in finding.fix

    @pytest.mark.parametrize(
        ("fields", "pod_spec", "nodes"),
        [
            ({"topologyKey": HOSTNAME}, SSD, (*DISKS, node("n4", **{ZONE: "a", "disk": "ssd"}))),
            ({}, SSD, DISKS[:1]),
            ({"minDomains": 2}, SSD, DISKS),
            (IGNORING, {"nodeSelector": {"disk": "none"}}, DISKS),
            ({}, {"nodeSelector": {"disk": "none"}}, DISKS),
        ],
        ids=["two nodes", "the nodes do", "it refuses", "no node is left", "no node is left, nor counts"],
    )
    def test_affinity_to_other_labels_that_leaves_several_domains_or_none(self, fields, pod_spec, nodes):
        assert [] == self.found(stateful(constraint(**fields), pod_spec=pod_spec), *nodes)

    def test_a_domain_counts_that_affinity_to_other_labels_excludes(self):
        obj = stateful(constraint(**IGNORING), pod_spec=SSD)

        message = "5 of 6 new Pods would wait: b counts, but the nodeSelector excludes it"
        fix = "remove the constraint, or allow more domains in the nodeSelector"
        assert [("nodeAffinityPolicy", message, fix)] == self.found(obj, *DISKS)

    @pytest.mark.parametrize(
        ("objects", "replicas", "waiting"),
        [
            ((claim("data", "pv"), volume("pv", "a", of="data")), 3, 2),
            ((claim("data", "pv"), volume("pv", "n1", key=HOSTNAME, of="data")), 3, 2),
            ((claim("data"), IN_A_ONLY), 3, 2),
            ((claim("data", "pv"), volume("pv", "a", of="data")), 1, 0),
            ((claim("data", "pv"), volume("pv", of="data")), 3, 0),
            ((claim("data"), storage_class()), 3, 0),
            ((), 3, 0),
        ],
        ids=["its zone", "a node", "its class", "one Pod", "any zone", "its class allows any", "no such claim"],
    )
    def test_a_claim_of_all_pods_leaves_one_of_the_domains(self, objects, replicas, waiting):
        obj = stateful(constraint(), pod_spec=using("data"), replicas=replicas)
        message = f"{waiting} of 3 new Pods would wait: claim data leaves only zone a, and other domains stay empty"
        fix = "remove the constraint, or give each Pod a claim of its own"

        assert [("topologyKey", message, fix)] * bool(waiting) == self.found(obj, *ZONES, *objects)
        assert [] == self.found(obj), "without a cluster"

    def test_a_pod_may_be_one_of_many(self):
        assert self.found(pod(constraint(), spec=IN_A))
        assert [] == self.found(pod(constraint(minDomains=3), spec=IN_A))

    @pytest.mark.parametrize(
        ("fields", "nodes", "finds"),
        [
            ({"topologyKey": "rack"}, ZONES, "unknown-topology-key [0].topologyKey"),
            ({"topologyKey": "kubernetes.io/zone"}, (), "misspelt-topology-key [0].topologyKey"),
            ({"minDomains": 3}, ZONES, "pinned-domain [0].minDomains"),
        ],
    )
    def test_which_rule_speaks_for_a_field(self, fields, nodes, finds):
        left = {"nodeSelector": {ZONE: "a", "rack": "r", "kubernetes.io/zone": "z"}}
        obj = stateful(constraint(nodeTaintsPolicy="Honor", **fields), pod_spec=left)

        assert [finds] == shown(obj, snapshot=snapshot(*nodes))
