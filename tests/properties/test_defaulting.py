"""Defaults are withheld as would-be-denied exactly where they would get a Pod denied that is allowed without them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import event, example, given
from hypothesis import strategies as st

from evenkeel.admit.dry_run import patched
from tests.properties.judging import fuzz
from tests.support.build import HOSTNAME, ZONE, namespace, node, pod, policy, request, service, snapshot, workload
from tests.support.review import review
from webhook.admission.defaulting import Defaults
from webhook.admission.ownership import ACCOUNTS
from webhook.admission.request import MUTATE, VALIDATE
from webhook.kubernetes.features import LATEST
from webhook.rules import DEFAULT_SETTINGS

BETA_ZONE, REGION = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/region"
CLUSTER = (
    service(),
    workload("ReplicaSet", spec={"selector": {"matchLabels": {"app": "web"}}}),
    node("n1", **{ZONE: "a", HOSTNAME: "n1", BETA_ZONE: "a"}),
)
SEVERE = {"severity": st.sampled_from(("error", "error", "warning")), "enforced": st.booleans()}
KEYS = st.lists(st.sampled_from((ZONE, HOSTNAME, REGION)), min_size=1, max_size=2, unique=True)

rules = st.fixed_dictionaries(
    {},
    optional={
        "soft-constraint": st.fixed_dictionaries(SEVERE),
        "hard-constraint": st.fixed_dictionaries(SEVERE),
        "excessive-max-skew": st.fixed_dictionaries({**SEVERE, "maxSkew": st.just(1)}),
        "forbidden-topology-key": st.fixed_dictionaries({**SEVERE, "topologyKeys": KEYS}),
        "misspelt-topology-key": st.fixed_dictionaries(SEVERE),
        "missing-constraints": st.fixed_dictionaries(
            {**SEVERE, "minReplicas": st.sampled_from((1, 1, 2))}, optional={"topologyKeys": KEYS}
        ),
    },
)
defaults = st.lists(
    st.fixed_dictionaries(
        {
            "maxSkew": st.sampled_from((1, 2)),
            "topologyKey": st.sampled_from((ZONE, HOSTNAME, BETA_ZONE)),
            "whenUnsatisfiable": st.sampled_from(("ScheduleAnyway", "DoNotSchedule")),
        },
        optional={"matchLabelKeys": st.sampled_from((["tier"], ["app"], ["absent"]))},
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda default: (default["topologyKey"], default["whenUnsatisfiable"]),
)
settings = {
    "enforcement": st.sampled_from(("Deny", "Deny", "Warn", "Audit")),
    "ownedObjects": st.sampled_from(("Audit", "Audit", "Deny")),
    "rules": rules,
}
defaulting = defaults.map(lambda listed: {"defaultingType": "List", "defaultConstraints": listed})
overrides = st.fixed_dictionaries(
    {
        "name": st.just("team"),
        "namespaceSelector": st.just({"matchLabels": {"team": "web"}}),
    },
    optional=settings | {"defaulting": defaulting},
)
policies = st.fixed_dictionaries(
    {}, optional=settings | {"defaulting": defaulting, "overrides": overrides.map(lambda override: [override])}
)
pods = st.builds(
    pod,
    labels=st.sampled_from(({"app": "web"}, {"app": "web", "tier": "x"})),
    owner=st.sampled_from((None, "ReplicaSet/web", "Workflow/web")),
    annotations=st.sampled_from(({}, {}, {"evenkeel.dev/ignore": "soft-constraint,missing-constraints"})),
)
users = st.sampled_from(("jane", f"{ACCOUNTS}replicaset-controller"))
namespaces = st.sampled_from((None, {}, {"team": "web"}))
AUDITED = {"rules": {"soft-constraint": {"severity": "error"}}}
LACKING = {"rules": {"missing-constraints": {"severity": "error", "minReplicas": 1, "topologyKeys": [REGION]}}}


def without_rules(rules):
    """A policy that gives the same defaults, whatever its own rules say of them."""
    overrides = tuple(replace(override, settings=DEFAULT_SETTINGS) for override in rules.overrides)
    return replace(rules, settings=DEFAULT_SETTINGS, overrides=overrides)


@fuzz
@given(raw=policies, obj=pods, user=users, labels=namespaces)
@example(raw=AUDITED, obj=pod(), user="jane", labels={})
@example(raw=AUDITED, obj=pod(owner="ReplicaSet/web"), user="jane", labels={})
@example(raw=AUDITED | {"enforcement": "Warn"}, obj=pod(), user="jane", labels={})
@example(raw=LACKING, obj=pod(owner="ReplicaSet/web"), user="jane", labels={})
@example(raw=LACKING, obj=pod(), user="jane", labels={})
def test_defaults_are_withheld_exactly_where_they_get_the_pod_denied(raw, obj, user, labels):
    strict, cluster = policy(**raw), (*CLUSTER, *([] if labels is None else [namespace(**labels)]))

    def ask(obj, phase, rules=strict):
        sent = request(obj, userInfo={"username": user})
        return review(sent, phase, rules, snapshot(*cluster), LATEST)

    given = ask(obj, MUTATE, without_rules(strict))
    if not isinstance(given.defaulted, Defaults):
        return
    decision, spread = ask(obj, MUTATE), patched(obj, given.patch)
    allowed, allowed_bare = ask(spread, VALIDATE).allowed, ask(obj, VALIDATE).allowed
    withheld = not decision.patch
    event(f"withheld: {withheld}, allowed: {allowed}, without defaults: {allowed_bare}")

    assert withheld == (not allowed and allowed_bare)
    assert decision.patch == (() if withheld else given.patch)
    assert not withheld or decision.defaulted.reason == "would-be-denied"
