"""evenkeel among others: what the API server merges into a Pod, what other webhooks do to it, and kinds of others."""

from __future__ import annotations

import json
from functools import partial
from operator import attrgetter

import pytest

from tests.e2e import programs
from tests.e2e.custom import define
from tests.e2e.mutator import mutating
from tests.e2e.webhook import installed
from tests.e2e.words import (
    EMPTY,
    constraints_of,
    defaulted,
    denial,
    deployment,
    empty_selector,
    max_skew,
    of,
    rolled_out,
    selecting,
    stored,
)
from tests.support.build import HOSTNAME, SELECTOR, ZONE, constraint, workload
from webhook.cli.main import main
from webhook.kubernetes.kinds import KINDS
from webhook.policy.schema import POLICY_API_VERSION, POLICY_KIND

HASH = "pod-template-hash"
TWICE = constraint(matchLabelKeys=["app"])
SOFT = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
BY_REVISION = [{**SOFT, "topologyKey": key, "matchLabelKeys": [HASH]} for key in (ZONE, HOSTNAME)]


@pytest.fixture(scope="module")
def running(request, plane, tmp_path_factory):
    """Everything must be answered, and is judged: Pods of controllers, too, with the API server's merge in them."""
    policy = {"ownedObjects": "Deny", **getattr(request, "param", {})}
    with installed(plane, tmp_path_factory.mktemp("webhook"), policy=policy, failure_policy="Fail") as running:
        yield running


def merges() -> bool:
    """Whether the API server merges matchLabelKeys into the selector of a Pod."""
    return programs.version().minor >= 34


def constraints_of_pods(plane, namespace):
    """Each different list of constraints that Pods have, the hash of their template as `…`."""
    found = plane.api.call("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
    lists = {
        json.dumps(constraints_of(one)).replace(one["metadata"]["labels"].get(HASH, "no hash"), "…") for one in found
    }
    return [json.loads(one) for one in lists]


# Keys that the API server merges into selectors


def test_a_deployment_that_spreads_each_revision_by_itself_rolls_out(plane, running, namespace):
    made = deployment(namespace, constraint(matchLabelKeys=[HASH]))

    assert (0, "deployment.apps/web created\n", "") == plane.apply(made)
    assert rolled_out(plane, namespace)
    assert 0 == plane.kubectl("rollout", "restart", "deployment/web", "-n", namespace).code
    assert rolled_out(plane, namespace)
    merged = {**SELECTOR, "matchExpressions": [{"key": HASH, "operator": "In", "values": ["…"]}]}
    kept = merged if merges() else SELECTOR
    assert [[constraint(labelSelector=kept, matchLabelKeys=[HASH])]] == constraints_of_pods(plane, namespace)


@pytest.fixture
def merging():
    """For what the API server accepts in a template, and refuses in its Pods."""
    if not merges():
        pytest.skip("up to 1.33 the API server merges no matchLabelKeys, and refuses the template itself")


@pytest.mark.usefixtures("merging")
def test_a_key_that_stands_in_both_lists_is_refused_with_the_template(plane, running, namespace):
    output = plane.apply(deployment(namespace, TWICE))

    line = (
        f"Deployment {namespace}/web: spec.template.spec.topologySpreadConstraints[0].matchLabelKeys[0]: this key "
        'is also in labelSelector, so the API server rejects the Pod; found "app"; '
        "remove the key from matchLabelKeys or from labelSelector (evenkeel invalid-constraint)"
    )
    assert (1, "", denial(line)) == output


@pytest.mark.usefixtures("merging")
def test_for_the_api_server_takes_it_and_then_refuses_every_pod(plane, running):
    plane.create_namespace("left-alone", **{"evenkeel.dev/skip": "true"})
    assert (0, "deployment.apps/web created\n", "") == plane.apply(deployment("left-alone", TWICE))

    failure = ("wait", "--for=condition=ReplicaFailure", "deployment/web", "-n", "left-alone", "--timeout=60s")
    assert 0 == plane.kubectl(*failure).code
    status = stored(plane, "left-alone", "deployments/web", "apps/v1")["status"]
    told = next(one["message"] for one in status["conditions"] if one["type"] == "ReplicaFailure")
    assert told.endswith('Invalid value: "app": exists in both matchLabelKeys and labelSelector')


@pytest.mark.parametrize(
    ("trap", "told"),
    [
        ({"minDomains": 2}, "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"),
        ({"nodeAffinityPolicy": "Bogus"}, 'supported values: "Honor", "Ignore"'),
        ({"nodeTaintsPolicy": "Bogus"}, 'supported values: "Honor", "Ignore"'),
        ({"matchLabelKeys": ["a b"]}, "name part must consist of alphanumeric characters"),
    ],
    ids=["minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"],
)
def test_a_default_that_would_stop_every_pod_is_refused(plane, running, namespace, tmp_path, capsys, trap, told):
    """By `policy check` in the words in which the API server refuses such a Pod."""
    default = {**SOFT, **trap}
    defaulting = {"defaultingType": "List", "defaultConstraints": [default]}
    file = tmp_path / "policy.json"
    file.write_text(
        json.dumps({"apiVersion": POLICY_API_VERSION, "kind": POLICY_KIND, "defaulting": defaulting}), "utf-8"
    )

    refused = plane.apply(of("Pod", namespace, {**default, "labelSelector": SELECTOR})).stderr

    assert refused.startswith(f'The Pod "web" is invalid: spec.topologySpreadConstraints[0].{next(iter(trap))}')
    assert told in refused
    assert 2 == main(["policy", "check", str(file)])
    assert told in capsys.readouterr().err


# Other mutating webhooks


def labelled(pod):
    """Adds the label team=a, once."""
    if "team" not in pod["metadata"].get("labels", {}):
        yield {"op": "add", "path": "/metadata/labels/team", "value": "a"}


def appended(pod):
    """Appends the same constraint as the first of the built-in defaults, whatever is there."""
    if not pod["spec"].get("topologySpreadConstraints"):
        yield {"op": "add", "path": "/spec/topologySpreadConstraints", "value": []}
    yield {"op": "add", "path": "/spec/topologySpreadConstraints/-", "value": {**SOFT, "labelSelector": SELECTOR}}


def of_a_team(namespace):
    """A Service that selects what has the label, too."""
    made = selecting(namespace)
    made["spec"]["selector"] |= {"team": "a"}
    return made


@pytest.mark.parametrize("name", ["aa-first", "zzz-last"])
def test_a_label_that_another_webhook_adds_counts_whenever_it_is_added(plane, running, namespace, tmp_path, name):
    """Added last, it makes the API server ask evenkeel again."""
    plane.apply(of_a_team(namespace))
    with mutating(plane, tmp_path, name, namespace, labelled):
        made = defaulted(plane, of("Pod", namespace))

    selector = {"matchLabels": {"app": "web", "team": "a"}}
    assert [(ZONE, selector), (HOSTNAME, selector)] == [
        (one["topologyKey"], one["labelSelector"]) for one in constraints_of(made)
    ]


def test_a_constraint_that_another_webhook_adds_before_stays_the_only_one(plane, running, namespace, tmp_path):
    with_defaults(plane, namespace)
    with mutating(plane, tmp_path, "aa-first", namespace, appended):
        output = plane.apply(of("Pod", namespace))

    assert (0, "pod/web created\n", "") == output
    assert [{**SOFT, "labelSelector": SELECTOR}] == constraints_of(stored(plane, namespace))


def test_added_after_the_defaults_it_would_make_the_pod_invalid(plane, running, namespace, tmp_path):
    """Hence a name that sorts behind those that webhooks have."""
    with_defaults(plane, namespace)
    with mutating(plane, tmp_path, "zzz-last", namespace, appended):
        output = plane.apply(of("Pod", namespace))

    assert 1 == output.code
    assert output.stderr.endswith(f'Duplicate value: "{{{ZONE}, ScheduleAnyway}}"\n')


def with_defaults(plane, namespace):
    """A namespace in which Pods are known to be given defaults, and which has none any more."""
    plane.apply(selecting(namespace))
    defaulted(plane, of("Pod", namespace))
    assert 0 == plane.kubectl("delete", "pod/web", "-n", namespace, "--timeout=60s").code


# Kinds of others


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.kind in ("Rollout", "CloneSet")], ids=attrgetter("kind")
)
def test_a_custom_resource_is_refused_although_the_api_server_does_not_look(plane, running, namespace, kind):
    define(plane, kind)
    resource = f"{kind.resource}.{kind.api_version.rpartition('/')[0]}"
    made = partial(workload, kind.kind, namespace=namespace)
    said = partial(denial, entry=resource)
    web = f"{kind.kind} {namespace}/web"

    def apply(*constraints):
        return plane.apply(made(*constraints) | {"apiVersion": kind.api_version})

    assert (1, "", said(max_skew(web), empty_selector(web, index=1))) == apply(
        constraint(maxSkew=0), EMPTY | {"topologyKey": HOSTNAME}
    )
    assert (0, "") == apply(constraint())[::2]
    changed = {"spec": {"template": {"spec": {"topologySpreadConstraints": [constraint(maxSkew=0)]}}}}
    patch = ("patch", f"{resource}/web", "-n", namespace, "--type=merge", "-p", json.dumps(changed))
    assert (1, "", said(max_skew(web), doing="")) == plane.kubectl(*patch)


# Under a policy that has its Pods spread by revision


@pytest.mark.parametrize(
    "running",
    [{"defaulting": {"defaultingType": "List", "defaultConstraints": BY_REVISION}}],
    indirect=True,
    ids=["by revision"],
)
@pytest.mark.parametrize(
    ("kind", "selector", "keys"),
    [
        ("Deployment", {"matchLabels": {"app": "web", HASH: "…"}}, None),
        ("StatefulSet", SELECTOR, [HASH]),
    ],
    ids=["whose selector has the key already", "that never has the key"],
)
def test_defaults_by_revision_let_every_workload_roll_out(plane, running, namespace, kind, selector, keys):
    assert 0 == plane.apply(of(kind, namespace)).code
    assert rolled_out(plane, namespace, f"{kind}/web")

    given = [{**SOFT, "topologyKey": key, "labelSelector": selector} for key in (ZONE, HOSTNAME)]
    given = [one | ({"matchLabelKeys": keys} if keys else {}) for one in given]
    assert [given] == constraints_of_pods(plane, namespace)
