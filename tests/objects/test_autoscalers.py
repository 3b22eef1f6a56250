"""Autoscalers name what they scale, and within which bounds."""

from __future__ import annotations

import pytest

from evenkeel.objects.autoscalers import read_autoscaler, scalings
from webhook.kubernetes.references import ScaleTarget, Scaling

WEB = ScaleTarget("shop", "apps", "Deployment", "web")
REF = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def hpa(version="v2", ref=REF, namespace="shop", **spec):
    metadata = {"name": "any", **({"namespace": namespace} if namespace else {})}
    kind = "HorizontalPodAutoscaler"
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": kind,
        "metadata": metadata,
        "spec": {"scaleTargetRef": ref, **spec},
    }


def keda(ref=REF, **spec):
    return {**hpa(ref=ref, **spec), "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (hpa(minReplicas=2, maxReplicas=5), (2, 5)),
        (hpa("v1", minReplicas=2, maxReplicas=5), (2, 5)),
        (hpa("v2beta2", maxReplicas=5), (1, 5)),
        (hpa(minReplicas=None, maxReplicas=5), (1, 5)),
        (hpa(minReplicas=0, maxReplicas=5), (0, 5)),
        (hpa(minReplicas="${MIN}", maxReplicas="${MAX}"), (0, None)),
        (hpa(minReplicas=True, maxReplicas=-1), (0, None)),
        (hpa(minReplicas=2.0, maxReplicas=5.0), (2, 5)),
        (hpa(), (1, None)),
        (keda(), (0, 100)),
        (keda(minReplicaCount=2, maxReplicaCount=5), (2, 5)),
        (keda(minReplicaCount=2, idleReplicaCount=0), (0, 100)),
        (keda(minReplicaCount=2, idleReplicaCount=1), (1, 100)),
        (keda(minReplicaCount=2, idleReplicaCount=None), (2, 100)),
        (keda(minReplicaCount="${MIN}", maxReplicaCount="${MAX}"), (0, None)),
    ],
    ids=str,
)
def test_the_bounds_of_an_autoscaler(obj, expected):
    assert (WEB, expected) == read_autoscaler(obj, "default")


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (hpa(namespace=None), ScaleTarget("default", "apps", "Deployment", "web")),
        (hpa(ref={**REF, "apiVersion": "apps/v1beta1"}), WEB),
        (
            hpa(ref={"kind": "ReplicationController", "name": "web"}),
            ScaleTarget("shop", "", "ReplicationController", "web"),
        ),
        (keda(ref={"name": "web"}), WEB),
        (
            keda(ref={"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"}),
            ScaleTarget("shop", "argoproj.io", "Rollout", "web"),
        ),
    ],
    ids=["no namespace", "another version", "the core group", "KEDA's defaults", "a custom resource"],
)
def test_what_an_autoscaler_scales(obj, expected):
    assert expected == read_autoscaler(obj, "default").target


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"apiVersion": 1, "kind": "HorizontalPodAutoscaler"},
        {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler"},
        {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob"},
        hpa(ref=None),
        hpa(ref={"kind": "Deployment"}),
        hpa(ref={"name": "web"}),
        keda(ref={}),
        {**hpa(), "spec": []},
    ],
    ids=str,
)
def test_what_names_nothing_to_scale_is_no_autoscaler(obj):
    assert read_autoscaler(obj, "default") is None


def test_of_several_autoscalers_the_widest_bounds_hold():
    given = [hpa(minReplicas=3, maxReplicas=4), hpa(minReplicas=2, maxReplicas=9), hpa(minReplicas=5, maxReplicas=5)]

    assert {WEB: Scaling(2, 9)} == scalings(read_autoscaler(one, "") for one in given)
    assert {WEB: Scaling(1, None)} == scalings(read_autoscaler(one, "") for one in [*given, hpa()])
