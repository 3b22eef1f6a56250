"""The rule skew-never-binds."""

from __future__ import annotations

import pytest

from tests.rules.judged import HARD_HOST, findings, said, shown, stateful
from tests.support.build import HOSTNAME, ZONE, constraint, snapshot, term, workload
from webhook.findings.neighbours import Neighbours, as_other
from webhook.kubernetes.workload import parse_workloads
from webhook.spread.cluster_view import ClusterView

BOTH = {"app": "web", "role": "a"}


class TestSkewNeverBinds:
    FOUND = "skew-never-binds [0].maxSkew"

    def found(self, obj, **given):
        return [f for f in shown(obj, **given) if "skew-never-binds" in f]

    @pytest.mark.parametrize(
        ("max_skew", "spec", "found"),
        [
            (4, {"replicas": 3}, True),
            (3, {"replicas": 3}, False),
            (3, {"replicas": 3, "strategy": {"type": "Recreate"}}, True),
            (3, {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 0}}}, True),
            (5, {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": "50%"}}}, True),
            (4, {"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": "50%"}}}, False),
            (9, {"replicas": 0}, False),
            (9, {"replicas": None}, False),
            (9, {"replicas": 1}, False),
        ],
        ids=[
            "with its surge",
            "without",
            "at once",
            "none",
            "half, rounded up",
            "or down",
            "scaled to 0",
            "autoscaled",
            "autoscaled, as the API server stores it",
        ],
    )
    def test_the_pods_of_a_rollout_count(self, max_skew, spec, found):
        assert [self.FOUND] * found == self.found(workload("Deployment", constraint(maxSkew=max_skew), spec=spec))

    @pytest.mark.parametrize(
        ("selector", "found"),
        [
            ({"matchLabels": {"app": "web"}}, True),
            ({"matchLabels": {"app": "web", "tier": "front"}}, True),
            ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, True),
            ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}, False),
            ({"matchLabels": {"tier": "front"}}, False),
            ({"matchLabels": {"app": "db"}}, False),
            ({}, False),
        ],
        ids=["its own", "and more", "as an expression", "of two", "another label", "that misses it", "none"],
    )
    def test_only_its_own_pods_are_known_to_be_counted(self, selector, found):
        obj = stateful(constraint(maxSkew=6, labelSelector=selector), labels={"app": "web", "tier": "front"})

        assert [self.FOUND] * found == self.found(obj)

    @pytest.mark.parametrize("kind", ["Job", "CronJob", "DaemonSet", "PodTemplate"])
    def test_other_kinds_keep_to_no_number(self, kind):
        assert [] == self.found(workload(kind, constraint(maxSkew=9)))

    def test_a_soft_constraint_refuses_nothing_anyway(self):
        assert [] == self.found(stateful(constraint(maxSkew=6, whenUnsatisfiable="ScheduleAnyway")))

    @pytest.mark.parametrize(
        ("labels", "selector", "found"),
        [
            (BOTH, {"matchLabels": BOTH}, False),
            (BOTH, {"matchLabels": {"app": "web"}}, False),
            ({**BOTH, "more": "x"}, {"matchLabels": {**BOTH, "more": "x"}}, False),
            (BOTH, {"matchExpressions": [term("role", "In", "a")], "matchLabels": {"app": "web"}}, False),
            ({"app": "web", "role": "b"}, {"matchLabels": {"app": "web", "role": "b"}}, True),
            ({"app": "db"}, {"matchLabels": {"app": "db"}}, True),
        ],
        ids=["the same", "wider", "narrower", "as an expression", "another role", "another application"],
    )
    @pytest.mark.parametrize("kind", ["StatefulSet", "Deployment"])
    def test_workloads_of_the_cluster_that_share_labels_may_count_each_other(self, kind, labels, selector, found):
        asking = stateful(constraint(labelSelector={"matchLabels": BOTH}), labels=BOTH, replicas=1)
        asking["spec"]["selector"] = {"matchLabels": BOTH}
        asking["metadata"]["name"] = "one"
        beside = workload(kind, name="other", labels=labels, spec={"selector": selector})
        elsewhere = workload(kind, name="other", namespace="else", labels=labels, spec={"selector": selector})

        def in_cluster(*objects):
            return self.found(asking, snapshot=snapshot(*objects), others=Neighbours())

        assert [self.FOUND] == in_cluster(asking) == in_cluster(asking, elsewhere)
        assert [self.FOUND] * found == in_cluster(asking, beside)

    @pytest.mark.parametrize(("max_skew", "looks"), [(1, 0), (6, 1)])
    @pytest.mark.parametrize("kind", ["StatefulSet", "Deployment"])
    def test_controllers_are_looked_through_once_and_only_where_they_matter(self, monkeypatch, kind, max_skew, looks):
        """A namespace may have thousands, and an object thousands of constraints."""
        namespaces = []

        def controllers_in(view, namespace):
            namespaces.append(namespace)
            return ()

        monkeypatch.setattr(ClusterView, "controllers_in", controllers_in)
        labels = {"app": "web", "a": "", "b": "", "c": ""}
        selectors = [{"matchLabels": {"app": "web", key: ""}} for key in "abc"]
        constraints = [
            constraint(topologyKey=key, maxSkew=max_skew, labelSelector=selector)
            for selector in selectors
            for key in (HOSTNAME, ZONE)
        ]
        asking = workload(kind, *constraints, labels=labels, spec={"replicas": 6})

        shown(asking, snapshot=snapshot(asking))

        assert ["shop"] * looks == namespaces

    def test_its_own_replica_sets_are_no_others(self):
        asking = workload("Deployment", constraint(maxSkew=9), spec={"replicas": 3})
        hashed = {"app": "web", "pod-template-hash": "1"}
        made = workload("ReplicaSet", labels=hashed, owner="Deployment/web", spec={"selector": {"matchLabels": hashed}})

        assert [self.FOUND] == self.found(asking, snapshot=snapshot(asking, made))

    def test_a_likely_copy_may_be_beside_it(self):
        """Then neither the rules on what counts others speak, nor those on what counts nobody else."""
        (copy,) = parse_workloads(stateful(name="other"))
        beside = Neighbours([as_other(copy)._replace(is_likely_copy=True)])

        assert [self.FOUND] == shown(stateful(HARD_HOST, replicas=1), others=Neighbours())
        assert [] == shown(stateful(HARD_HOST, replicas=1), others=beside)
        by_revision = stateful(constraint(maxSkew=6, matchLabelKeys=["controller-revision-hash"]))
        assert [self.FOUND] == self.found(by_revision, others=beside)

    def test_one_pod_is_enough_where_the_manifest_says_so(self):
        """And no other is counted: then each of the three rules says nothing."""
        obj = stateful(HARD_HOST, replicas=1)
        beside = Neighbours.of(parse_workloads(workload("Deployment", name="other")))
        message, fix = said(obj, rule="skew-never-binds", others=Neighbours())

        assert ("the skew never refuses a node: the constraint counts at most 1 Pod", "remove the constraint") == (
            message,
            fix,
        )
        assert [self.FOUND] == shown(obj, others=Neighbours())
        counted = ["counts-tainted-nodes [0].nodeTaintsPolicy"]
        assert counted == shown(obj) == shown(obj | {"metadata": obj["metadata"] | {"uid": "u"}})
        assert not [f for f in shown(obj, others=beside) if "skew-never-binds" in f]
        assert all("less than 1" not in f.wanted for f in findings(obj, others=Neighbours()))

    def test_the_single_pod_of_a_deployment_is_two_in_a_rollout(self):
        """The skew keeps them apart; a tainted node that counts as empty bars none of them."""
        obj = workload("Deployment", HARD_HOST, spec={"replicas": 1})

        assert [] == shown(obj, others=Neighbours())

    def test_the_numbers_are_named(self):
        message, fix = said(stateful(constraint(maxSkew=6)), rule="skew-never-binds")

        assert "the skew never refuses a node: the constraint counts at most 6 Pods" == message
        assert "lower maxSkew below 6, or remove the constraint" == fix
