"""An update that makes no rule find more, or worse, than before is never denied; one that does is."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from tests.properties.judging import fuzz
from tests.support.build import FEATURES, HOSTNAME, ZONE, constraint, workload
from tests.support.review import review
from webhook.admission.request import MUTATE, VALIDATE
from webhook.findings.evaluation import find_all
from webhook.findings.finding import Severity
from webhook.kubernetes.workload import parse_workloads
from webhook.policy.parsing import parse_policy
from webhook.rules import RULES

FORBIDDEN = "failure-domain.beta.kubernetes.io/zone"  # which is deprecated, too
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
AS_BAD_IF_HARD = {"invalid-constraint", "missing-constraints"}
PARAMETERS = {
    "excessive-max-skew": {"maxSkew": 5},
    "forbidden-topology-key": {"topologyKeys": ["rack", FORBIDDEN]},
    "missing-constraints": {"topologyKeys": [ZONE, HOSTNAME]},
    "missing-min-domains": {"minDomains": 3},
    "rollout-skew": {"soft": True},
}
NOT_ASKED = {"hard-constraint", "soft-constraint"}  # Each forbids what the other asks for.
POLICY = {
    "apiVersion": "config.evenkeel.dev/v1alpha1",
    "kind": "SpreadPolicy",
    "earlyAnswer": True,
    "rules": {
        rule.id: {"severity": "error", **PARAMETERS.get(rule.id, {})}
        for rule in RULES.values()
        if not rule.advice and rule.id not in NOT_ASKED
    },
}
CUSTOM = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}  # The API server does not look into it.

constraints = st.builds(
    constraint,
    maxSkew=st.sampled_from((1, 1, 0, 6, 9)),
    topologyKey=st.sampled_from((ZONE, HOSTNAME, "rack", FORBIDDEN, "topology.kubernetes.io/zon", "a key!")),
    whenUnsatisfiable=st.sampled_from((HARD, SOFT)),
    labelSelector=st.sampled_from(({"matchLabels": {"app": "web"}}, {}, None, {"matchLabels": {"app": "other"}})),
    minDomains=st.sampled_from((None, None, 0)),
    matchLabelKeys=st.sampled_from((None, ["pod-template-hash"], ["absent"])),
)
lists = st.lists(constraints, max_size=4)
kinds = st.sampled_from(({}, CUSTOM))


def revision_key(kind):
    return "rollouts-pod-template-hash" if kind else "pod-template-hash"


def deployment(listed, kind):
    return workload("Deployment", *listed, template={"labels": {"app": "web"}}) | kind


def answer(listed, old, kind, phase=VALIDATE):
    policy = parse_policy(json.dumps(POLICY))
    request = {"uid": "1", "operation": "UPDATE", "namespace": "default"}
    objects = {"object": deployment(listed, kind), "oldObject": deployment(old, kind)}
    return review(request | objects, phase, policy, None, FEATURES)


def badness(listed, kind):
    """For each rule how bad each of its findings is, the worst first; what a whole workload lacks counts by its key."""
    settings = parse_policy(json.dumps(POLICY)).settings
    obj = deployment(listed, kind)
    (parsed,) = parse_workloads(obj, parse_policy(json.dumps(POLICY)).kinds)
    bad = defaultdict(list)
    for finding in find_all(parsed, settings, None, FEATURES).findings:
        if finding.severity is not Severity.ERROR:
            continue
        at = finding.path[len(parsed.path) :]
        one = listed[at[0]] if at else {}
        degrees = [finding.rule not in AS_BAD_IF_HARD and one["whenUnsatisfiable"] == HARD]
        if finding.rule == "excessive-max-skew":
            degrees = [one["maxSkew"]]
        elif finding.rule == "rollout-skew":  # reported once
            degrees = [
                each["whenUnsatisfiable"] == HARD
                for each in listed
                if len(listed) == 1 or ("rollout-skew", "") in badness([each], kind)
            ]
        bad[finding.rule, "" if at else finding.wanted] += degrees
    return {key: sorted(degrees, reverse=True) for key, degrees in bad.items()}


def no_worse(now, before):
    return all(
        len(degrees) <= len(before.get(rule, ()))
        and all(one <= other for one, other in zip(degrees, before[rule], strict=False))
        for rule, degrees in now.items()
    )


@fuzz
@given(old=lists, new=lists, kind=kinds)
def test_an_update_is_denied_exactly_where_a_rule_finds_more_or_worse_than_before(old, new, kind):
    if old == new:
        return
    now, before = badness(new, kind), badness(old, kind)

    assert answer(new, old, kind).allowed == no_worse(now, before)


def relaxed(one):
    return {**one, "whenUnsatisfiable": SOFT}


def repairs(kind):
    """
    Each field of a good constraint; one that is None is to be removed.

    A selector comes with the revision key: alone it would begin to count old Pods, which another rule then finds.
    """
    return [
        {"maxSkew": 1},
        {"topologyKey": ZONE},
        {"labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": [revision_key(kind)]},
        {"minDomains": None},
        {"matchLabelKeys": [revision_key(kind)]},
    ]


@fuzz
@given(old=lists, kind=kinds, data=st.data())
def test_what_is_relaxed_reordered_repaired_in_part_or_moved_is_not_denied(old, kind, data):
    """Whatever else is wrong with it; what the API server itself would refuse anew is left out."""
    new = data.draw(st.permutations(old), label="in this order")
    new = [{**one, **data.draw(st.sampled_from([{}, *repairs(kind)]), label="with")} for one in new]
    new = [data.draw(st.sampled_from([one, relaxed(one)]), label="relaxed") for one in new]
    added = constraint(topologyKey="unlike/others", matchLabelKeys=[revision_key(kind)])
    new = data.draw(st.sampled_from([new, [added, *new]]), label="moved")
    new = [{name: value for name, value in one.items() if value is not None} for one in new]
    # A repair of the key or of maxSkew may make a constraint one that needs minDomains.
    newly_found = [
        rule
        for rule in ("invalid-constraint", "missing-min-domains")
        if Counter(badness(new, kind).get((rule, ""), ())) - Counter(badness(old, kind).get((rule, ""), ()))
    ]
    newly_missing = [
        key
        for key in (ZONE, HOSTNAME)
        if key in {one["topologyKey"] for one in old} - {one["topologyKey"] for one in new}
    ]
    if newly_found or newly_missing or (not old and new):
        return

    for phase in (VALIDATE, MUTATE):
        assert answer(new, old, kind, phase).allowed


@fuzz
@given(old=lists, kind=kinds, key=st.sampled_from((ZONE, HOSTNAME, "rack")))
def test_a_second_mistake_beside_the_first_is_denied(old, kind, key):
    added = constraint(topologyKey=key, labelSelector={})

    assert not answer([*old, added], old, kind).allowed
