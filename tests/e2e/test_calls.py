"""KEP-895 promises no penalty to those who do not use the feature: what concerns no constraint costs no call."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import contextmanager

import pytest

from tests.e2e.webhook import calls, installed
from tests.e2e.words import deployment, of, rolled_out
from tests.support.build import constraint
from tests.support.serving import until

SERIES = re.compile(r"apiserver_admission_webhook_request_total\{(?P<labels>.*)\} (?P<count>\S+)")
LABEL = re.compile(r'(\w+)="([^"]*)"')
OWN = ".evenkeel.dev"


@pytest.fixture(scope="module")
def running(request, plane, tmp_path_factory):
    policy = getattr(request, "param", None)
    with installed(plane, tmp_path_factory.mktemp("webhook"), policy=policy, failure_policy="Fail") as running:
        yield running


def sent(plane):
    """How many reviews the API server says that it sent, by entry."""
    found = Counter()
    for line in plane.kubectl("get", "--raw", "/metrics").stdout.splitlines():
        if match := SERIES.fullmatch(line):
            labels = dict(LABEL.findall(match["labels"]))
            if labels["name"].endswith(OWN):
                found[labels["name"].removesuffix(OWN)] += int(match["count"])
    return found


def answered(running):
    """How many reviews evenkeel says that it answered."""
    return sum(calls(running, phase) for phase in ("mutate", "validate"))


@contextmanager
def sending(plane, running, **wanted):
    """That what happens meanwhile costs these reviews and no others, as both sides count."""
    before = sent(plane), answered(running)
    yield
    assert Counter(wanted) == sent(plane) - before[0]
    assert sum(wanted.values()) == answered(running) - before[1]


def done(output):
    assert 0 == output.code, output


def scaled(plane, namespace, what, replicas):
    done(plane.kubectl("scale", what, f"--replicas={replicas}", "-n", namespace))
    assert rolled_out(plane, namespace, what)


def restarted(plane, namespace, what):
    done(plane.kubectl("rollout", "restart", what, "-n", namespace))
    assert rolled_out(plane, namespace, what)


def test_what_has_constraints_is_sent(plane, running, namespace):
    """The control: a Deployment, its ReplicaSet and three Pods."""
    with sending(plane, running, workloads=2, pods=3):
        done(plane.apply(deployment(namespace, constraint())))
        assert rolled_out(plane, namespace)


def test_a_daemon_set_and_its_rollout_cost_nothing(plane, running, namespace):
    with sending(plane, running):
        done(plane.apply(of("DaemonSet", namespace)))
        assert rolled_out(plane, namespace, "daemonset/web")
        restarted(plane, namespace, "daemonset/web")


@pytest.mark.parametrize(
    ("kind", "cost"),
    [
        ("Deployment", {"defaults": 3, "pods": 3}),
        ("StatefulSet", {"defaults": 3, "pods": 3}),
        ("Job", {"defaults": 1}),
    ],
)
def test_without_constraints_only_new_pods_are_sent(plane, running, namespace, kind, cost):
    """To be given defaults; those that get them have constraints then, and are judged as any other."""
    with sending(plane, running, **cost):
        live(plane, namespace, kind, cost["defaults"])


WITHOUT_DEFAULTS = {"defaulting": {"defaultingType": "System"}}


def live(plane, namespace, kind, pods):
    """The life of a workload without constraints."""
    done(plane.apply(of(kind, namespace)))
    ready(plane, namespace, pods)
    done(plane.kubectl("label", f"{kind}/web", "a=b", "-n", namespace))
    done(plane.kubectl("label", "pods", "--all", "a=b", "-n", namespace))
    done(plane.kubectl("delete", f"{kind}/web", "-n", namespace, "--cascade=foreground", "--timeout=60s"))


def ready(plane, namespace, count):
    """Until so many Pods are ready."""
    jsonpath = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
    get = ("get", "pods", "-n", namespace, "-o", jsonpath)
    until(lambda: plane.kubectl(*get).stdout.split() == ["True"] * count, f"{count} Pods")


def test_what_changes_no_template_costs_nothing(plane, running, namespace):
    """Scaling down, labels, finalizers, status, a deletion: of a Deployment with constraints."""
    done(plane.apply(deployment(namespace, constraint(), spec={"replicas": 3})))
    assert rolled_out(plane, namespace)
    with sending(plane, running):
        scaled(plane, namespace, "deployment/web", 1)
        done(plane.kubectl("label", "deployment/web", "a=b", "-n", namespace))
        done(plane.kubectl("annotate", "deployment/web", "a=b", "-n", namespace))
        done(plane.kubectl("label", "replicaset", "--all", "a=b", "-n", namespace))
        done(plane.kubectl("label", "pods", "--all", "a=b", "-n", namespace))
        status = json.dumps({"status": {"observedGeneration": 99}})
        done(
            plane.kubectl(
                "patch", "deployment/web", "--subresource=status", "--type=merge", "-p", status, "-n", namespace
            )
        )
        for finalizers in (["example.com/a"], []):
            patch = json.dumps({"metadata": {"finalizers": finalizers}})
            done(plane.kubectl("patch", "deployment/web", "--type=merge", "-p", patch, "-n", namespace))
        done(plane.kubectl("rollout", "pause", "deployment/web", "-n", namespace))
        done(plane.kubectl("delete", "deployment/web", "-n", namespace, "--cascade=foreground", "--timeout=60s"))


def test_scaling_up_costs_no_more_than_the_new_pods(plane, running, namespace):
    done(plane.apply(deployment(namespace, constraint())))
    assert rolled_out(plane, namespace)
    with sending(plane, running, pods=2):
        scaled(plane, namespace, "deployment/web", 5)


@pytest.mark.parametrize("where", ["kube-system", "kube-node-lease", "left-alone"])
def test_nothing_is_sent_from_namespaces_that_are_left_alone(plane, running, where):
    if where == "left-alone":
        plane.create_namespace(where, **{"evenkeel.dev/skip": "true"})
    with sending(plane, running):
        for kind, *constraints in (
            ("Deployment", constraint()),
            ("StatefulSet",),
            ("Pod", constraint(labelSelector={})),
        ):
            done(plane.apply(of(kind, where, *constraints)))
        assert rolled_out(plane, where) and rolled_out(plane, where, "statefulset/web")
        restarted(plane, where, "deployment/web")


def test_other_kinds_are_not_sent(plane, running, namespace):
    with sending(plane, running):
        done(plane.kubectl("create", "configmap", "a", "-n", namespace))
        done(plane.kubectl("create", "service", "clusterip", "a", "--tcp=80", "-n", namespace))
        done(plane.kubectl("create", "namespace", f"{namespace}-other"))


@pytest.mark.parametrize("running", [WITHOUT_DEFAULTS], indirect=True, ids=["without defaults"])
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_where_nothing_is_given_what_has_no_constraints_costs_nothing(plane, running, namespace, kind):
    with sending(plane, running):
        live(plane, namespace, kind, 3)
