"""Who is left alone, who is not, and what kubectl prints under other policies than the built-in one."""

from __future__ import annotations

import pytest

from tests.e2e.webhook import installed
from tests.e2e.words import (
    EMPTY,
    KINDS,
    SELECT,
    WRITE,
    constraints_of,
    defaulted,
    denial,
    deployment,
    empty_selector,
    in_owner,
    max_skew,
    of,
    old_empty,
    owner,
    selecting,
    stored,
)
from tests.support.build import HOSTNAME, constraint
from tests.support.serving import until

SKIP, IGNORE = {"evenkeel.dev/skip": "true"}, {"evenkeel.dev/ignore": "empty-selector"}


@pytest.fixture(scope="module")
def running(request, plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("webhook"), policy=getattr(request, "param", None)) as running:
        yield running


def under(**policy):
    """With a policy of these fields; a test without is under the built-in one."""
    return pytest.mark.parametrize("running", [policy], indirect=True, ids=["+".join(policy)])


# Opting out


def test_a_namespace_that_opts_out_is_left_alone(plane, running):
    plane.create_namespace("left-alone", **SKIP)
    plane.apply(selecting("left-alone"))

    assert (0, "deployment.apps/web created\n", "") == plane.apply(deployment("left-alone", EMPTY))
    assert (0, "pod/web created\n", "") == plane.apply(of("Pod", "left-alone"))
    assert not constraints_of(stored(plane, "left-alone"))


def test_a_pod_opts_out_of_defaults_and_of_nothing_else(plane, running, namespace):
    plane.apply(selecting(namespace))
    labels = {"app": "web", **SKIP}

    output = plane.apply(of("Pod", namespace, EMPTY, labels=labels))
    assert (1, "", denial(empty_selector(f"Pod {namespace}/web", "spec", fix=SELECT), entry="pods")) == output
    defaulted(plane, of("Pod", namespace))
    opted_out = of("Pod", namespace, labels=labels)
    opted_out["metadata"]["name"] = "opted-out"
    plane.apply(opted_out)
    assert not constraints_of(stored(plane, namespace, "pods/opted-out"))


@pytest.mark.parametrize("where", [{"annotations": IGNORE}, {"template": {"annotations": IGNORE}}], ids=str)
def test_an_annotation_silences_a_rule(plane, running, namespace, where):
    assert (0, "deployment.apps/web created\n", "") == plane.apply(deployment(namespace, EMPTY, **where))


# Other policies


@under(earlyAnswer=True, ownedObjects="Deny")
def test_an_early_answer_has_all_errors_before_the_api_server_has_one(plane, running, namespace):
    output = plane.apply(deployment(namespace, constraint(maxSkew=0), EMPTY | {"topologyKey": HOSTNAME}))

    web = f"Deployment {namespace}/web"
    assert (1, "", denial(max_skew(web), empty_selector(web, index=1))) == output


@under(earlyAnswer=True, ownedObjects="Deny")
def test_an_early_answer_to_a_pod(plane, running, namespace):
    output = plane.apply(of("Pod", namespace, EMPTY | {"maxSkew": -1}))

    assert output.stderr.startswith(
        'Error from server (Forbidden): error when creating "STDIN": admission webhook "pods.'
    )
    assert ["labelSelector", "maxSkew"] == [
        line.split("[0].")[1].partition(":")[0] for line in output.stderr.splitlines()
    ]


@under(earlyAnswer=True, ownedObjects="Deny")
def test_what_is_owned_is_denied_where_the_policy_says_so(plane, running, namespace):
    output = plane.apply(of("StatefulSet", namespace, EMPTY, **owner(plane, namespace)))

    assert (
        1,
        "",
        denial(empty_selector(f"StatefulSet {namespace}/web", fix=in_owner("ConfigMap owner", WRITE))),
    ) == output


@under(earlyAnswer=True, ownedObjects="Deny")
def test_pods_that_nobody_sees_denied_are_described_by_their_replica_set(plane, running, namespace):
    """As the note of `policy check` says; the annotation stands on the Deployment, and not on its Pods."""
    assert (0, "deployment.apps/web created\n", "") == plane.apply(deployment(namespace, EMPTY, annotations=IGNORE))

    until(lambda: "(evenkeel empty-selector)" in plane.kubectl("describe", "rs", "-n", namespace).stdout, "the denial")
    assert "(evenkeel empty-selector)" in plane.kubectl("get", "events", "-n", namespace).stdout


@under(enforcement="Warn")
def test_enforcement_warn_prints_and_lets_pass(plane, running, namespace):
    output = plane.apply(deployment(namespace, EMPTY))

    assert (0, "deployment.apps/web created\n", old_empty(f"Deployment {namespace}/web")) == output


@under(enforcement="Warn")
@pytest.mark.parametrize("kind", KINDS)
def test_of_a_null_selector_the_api_server_warns_and_nobody_else(plane, running, namespace, kind):
    output = plane.apply(of(kind, namespace, constraint(labelSelector=None)))

    path = f"{KINDS[kind][1]}.topologySpreadConstraints[0].labelSelector"
    said = [line for line in output.stderr.splitlines() if "pinned-pod" not in line]
    assert [f"Warning: {path}: a null labelSelector results in matching no pod"] == said


OVERRIDES = [
    {"name": "ended", "podSelector": {}, "until": "2000-01-31", "rules": {"empty-selector": "ignore"}},
    {"name": "first", "namespaceSelector": {"matchLabels": {"team": "first"}}, "enforcement": "Deny"},
    {"name": "last", "schedulerName": "other", "until": "9999-12-31", "rules": {"empty-selector": "ignore"}},
]


@under(enforcement="Warn", rules={"empty-selector": {"help": "ask the platform team"}}, overrides=OVERRIDES)
def test_one_team_alone_is_denied_and_an_exception_holds_until_its_last_day(plane, running, namespace):
    """Each is told what the policy says to it."""
    plane.create_namespace("of-the-first-team", team="first")
    warned, denied = (plane.apply(deployment(name, EMPTY)) for name in (namespace, "of-the-first-team"))
    elsewhere = plane.apply(of("Pod", namespace, EMPTY, spec={"schedulerName": "other"}))

    help = "; ask the platform team"
    assert (0, f"{old_empty(f'Deployment {namespace}/web')[:-1]}{help}\n") == (warned.code, warned.stderr)
    refused = empty_selector("Deployment of-the-first-team/web")
    assert (1, denial(f"{refused}{help}")) == (denied.code, denied.stderr)
    assert (0, "pod/web created\n", "") == elsewhere


@under(enforcement="Audit")
def test_enforcement_audit_says_nothing_and_notes_it(plane, running, namespace):
    series = 'evenkeel_findings_total{rule="empty-selector",severity="error"}'
    before = running.metric(series)
    output = plane.apply(of("Pod", namespace, EMPTY))

    assert (0, "pod/web created\n", "") == output
    assert before + 1 == running.metric(series)
