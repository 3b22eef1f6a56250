"""The rule selector-matches-others."""

from __future__ import annotations

import pytest

from tests.rules.judged import SERVER_WRITES, ZONES, on, said, shown
from tests.support.build import FEATURES, constraint, node, pod, workload
from webhook.findings.evaluation import evaluate
from webhook.findings.neighbours import Neighbours
from webhook.kubernetes.kinds import KINDS, Kind
from webhook.kubernetes.references import Scaling
from webhook.kubernetes.workload import parse_workloads
from webhook.rules import DEFAULT_SETTINGS

STABLE, CANARY = ({"app": "web", "track": track} for track in ("stable", "canary"))


class TestSelectorMatchesOthers:
    FOUND = "selector-matches-others [0].labelSelector"

    def stable(self, **fields):
        spec = {"selector": {"matchLabels": STABLE}, "strategy": {"type": "Recreate"}}
        return workload("Deployment", constraint(**fields), labels=STABLE, spec=spec)

    def beside(self, *objects):
        return Neighbours.of(one for obj in objects for one in parse_workloads(obj))

    def test_the_other_is_named_with_a_selector_that_leaves_it_out(self):
        other = self.beside(workload("Deployment", labels=CANARY, name="canary"))
        message, fix = said(self.stable(), rule="selector-matches-others", others=other)

        assert "also counts the Pods of Deployment canary" == message
        assert "write labelSelector: {matchLabels: {app: web, track: stable}}" == fix

    @pytest.mark.parametrize(
        ("fields", "other"),
        [
            ({}, workload("Deployment", labels={"app": "db"}, name="db")),
            ({}, workload("Deployment", labels=CANARY, name="canary", namespace="other")),
            ({}, workload("ReplicaSet", labels=STABLE, name="web-1", owner="Deployment/web")),
            ({}, workload("Deployment", labels=CANARY)),
            ({"matchLabelKeys": ["track"]}, workload("Deployment", labels=CANARY, name="canary")),
            ({"matchLabelKeys": ["pod-template-hash"]}, workload("Deployment", labels=CANARY, name="canary")),
            ({"labelSelector": {}}, workload("Deployment", labels=CANARY, name="canary")),
            (
                {"labelSelector": {"matchLabels": {"app": "db"}}},
                workload("Deployment", labels={"app": "db"}, name="db"),
            ),
        ],
        ids=[
            "other labels",
            "another namespace",
            "its own ReplicaSet",
            "itself",
            "a key that tells them apart",
            "a revision of its own",
            "a selector that counts nothing",
            "a selector that misses its own",
        ],
    )
    def test_it_counts_no_other(self, fields, other):
        assert [] == [f for f in shown(self.stable(**fields), others=self.beside(other)) if "matches-others" in f]

    @pytest.mark.parametrize(
        ("labels", "found"),
        [
            (CANARY | {"pod-template-hash": "x"}, True),
            (STABLE, True),
            (STABLE | {"pod-template-hash": "x"}, False),
            ({"app": "db"}, False),
        ],
        ids=["of the other", "which no ReplicaSet made", "its own", "of other labels"],
    )
    def test_a_pod_in_the_cluster(self, labels, found):
        there = pod(labels=labels, spec={"nodeName": "n1"})

        assert [self.FOUND] * found == [f for f in on(self.stable(), node(), there) if "matches-others" in f]

    def test_the_selector_of_a_job_is_made_up_when_it_is_created(self):
        there, made_up = pod(labels=CANARY, spec={"nodeName": "n1"}), {"batch.kubernetes.io/controller-uid": "u1"}
        before = workload("Job", constraint(), spec={"selector": None})
        after = workload("Job", constraint(), labels=SERVER_WRITES | {"app": "web"} | made_up)
        after["spec"]["selector"] = {"matchLabels": made_up}

        assert [] == on(before, node(), there) == on(after, node(), there)

    @pytest.mark.parametrize(
        ("replicas", "scaling", "fields", "found"),
        [
            (1, None, {}, False),
            (None, None, {}, False),
            (1, None, {"whenUnsatisfiable": "ScheduleAnyway"}, False),
            (3, None, {"maxSkew": 3}, False),
            (None, Scaling(1, 1), {}, False),
            (3, None, {}, True),
            (3, None, {"maxSkew": 2}, True),
            (None, Scaling(1, 4), {}, True),
            (None, Scaling(1, None), {}, True),
        ],
    )
    def test_what_would_spread_nothing_of_its_own_shares_a_label_on_purpose(self, replicas, scaling, fields, found):
        """To select its own Pods alone would lead to skew-never-binds."""
        obj, other = self.stable(**fields), self.beside(workload("Deployment", labels=CANARY, name="canary"))
        obj["spec"]["replicas"] = replicas
        (parsed,) = parse_workloads(obj)
        scaled = parsed if scaling is None else parsed.scaled(scaling)
        rules = {f.rule for f in evaluate(scaled, DEFAULT_SETTINGS, None, FEATURES, other).findings}

        assert found == ("selector-matches-others" in rules)
        assert "skew-never-binds" not in rules

    def test_how_many_pods_a_kind_without_replicas_makes_is_not_known(self):
        fleet = Kind("a.io/v1", "Fleet", "fleets", template=("spec", "template"), built_in=False)
        obj = {**self.stable(), "apiVersion": "a.io/v1", "kind": "Fleet"}
        other = self.beside(workload("Deployment", labels=CANARY, name="canary"))

        assert self.FOUND in shown(obj, kinds=(*KINDS, fleet), others=other)

    @pytest.mark.parametrize("annotation", ["helm.sh/hook", "argocd.argoproj.io/hook"])
    def test_a_hook_or_a_test_of_a_release_runs_before_or_after(self, annotation):
        """Neither is it counted, nor told that it counts what is released."""
        hook = workload("Job", constraint(), name="migrate", annotations={annotation: "pre-upgrade"})
        many = hook | {"spec": hook["spec"] | {"parallelism": 3}}
        plain = workload("Job", name="migrate")
        stable, released = self.stable(), self.beside(workload("Deployment"))

        for obj, beside, found in (
            (stable, self.beside(hook), False),
            (stable, self.beside(plain), True),
            (many, released, False),
            (many | {"metadata": {"name": "x", "namespace": "shop"}}, released, True),
        ):
            assert found == any("matches-others" in f for f in shown(obj, others=beside))

    def test_a_pod_in_another_namespace_is_not_counted(self):
        there = pod(labels=CANARY, spec={"nodeName": "n1"}, namespace="other")

        assert [] == [f for f in on(self.stable(), node(), there) if "matches-others" in f]

    def test_a_pod_without_a_workload_is_not_told_from_others_like_it(self):
        there = pod(labels=CANARY, spec={"nodeName": "n1"})

        assert [] == on(pod(constraint()), *ZONES, there)

    def test_without_others_it_is_skipped(self):
        (one,) = parse_workloads(self.stable())
        skipped = {s.rule: s.reason for s in evaluate(one, DEFAULT_SETTINGS, None, FEATURES).skipped}

        assert skipped["selector-matches-others"].startswith("no other workload and no Pod is known")
