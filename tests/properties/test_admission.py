"""Whatever a review holds, the answer is one that the API server can take, and none that stands in anybody's way."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial

from hypothesis import assume, example, given, reject
from hypothesis import strategies as st
from jsonpatch import apply_patch
from jsonpointer import JsonPointer

from evenkeel.admit.dry_run import dry_run, patched
from tests.properties.judging import (
    BY_STRICT,
    STRICT,
    assert_well_formed,
    chosen,
    cluster,
    decide,
    fuzz,
    judging,
    kinds,
    minors,
    no_cluster,
    objects,
    policies,
    requests,
    sent_again,
    snapshots,
)
from tests.support import strategies as some
from tests.support.build import constraint, owned_by, pod, workload
from webhook.admission.request import MUTATE, UPDATE, VALIDATE
from webhook.admission.terms import Terms
from webhook.kubernetes.features import features
from webhook.kubernetes.fields import as_mapping, value_at, with_value
from webhook.kubernetes.names import SYSTEM_NAMESPACES
from webhook.rules import RULES

LAYERED, CAREFUL = partial(chosen, "layered"), partial(chosen, "careful")
pods = st.deferred(lambda: some.objects([kind for kind in kinds() if kind.kind == "Pod"]))
templated = st.deferred(lambda: some.objects([kind for kind in kinds() if kind.template]))
UNSELECTIVE = constraint(labelSelector={})
OWNED = {"operation": "CREATE", "object": pod(UNSELECTIVE, owner="ReplicaSet/web")}
TOO_MANY = {"operation": "CREATE", "object": workload("Deployment", *[UNSELECTIVE] * 101)}


def deep():
    return workload("Deployment", UNSELECTIVE, template={"annotations": some.nested(5_000)})


TWO_TEAMS = {
    **{"apiVersion": "a.io/v1", "kind": "Fleet"},
    "spec": {"sets": [{"template": pod(UNSELECTIVE, labels={"app": app})} for app in ("web", "db")]},
}


@fuzz
@given(request=requests, **judging)
@example(request={"operation": "CREATE", "object": "\x7f\u2028\ud800"}, **BY_STRICT)
@example(request={"operation": "CREATE", "object": pod(constraint(topologyKey="\u202e\xa0\ue000"))}, **BY_STRICT)
@example(request=some.Shown(OWNED, userInfo={"username": some.nested(5_000)}), **BY_STRICT)
def test_whatever_a_review_holds_the_answer_is_well_formed(request, phase, policy, snapshot, minor):
    """No exception; texts that a header and a terminal can hold; the same answer to the same question."""
    decision = decide(request, phase, policy, snapshot, minor)

    assert_well_formed(decision)
    assert decision == decide(request, phase, policy, snapshot, minor)


@fuzz
@given(request=requests, **judging)
@example(request=TOO_MANY, **BY_STRICT)
def test_nothing_is_denied_where_the_policy_only_warns_or_audits(request, phase, policy, snapshot, minor):
    """Whatever else the policy says; only what is no review at all is still a bad request."""
    for enforcement in ("Warn", "Audit"):
        decision = decide(request, phase, partial(policy, enforcement=enforcement), snapshot, minor)

        assert decision.allowed or decision.status["code"] == 400
        assert enforcement == "Warn" or not decision.warnings


@fuzz
@given(
    obj=some.perhaps_damaged(pods),
    bare=st.sampled_from((True, True, False)),
    namespace=st.sampled_from(("default", "default", "batch")),
    policy=policies,
    minor=minors,
)
@example(obj=pod(labels=some.label_set(500)), bare=True, namespace="default", policy=CAREFUL, minor=37)
def test_a_patch_only_adds_and_only_once(obj, bare, namespace, policy, minor):
    """A patched Pod is not patched again, nor denied, nor is a copy of it; one with constraints is never patched."""
    path = ("spec", "topologySpreadConstraints")
    if bare and isinstance(obj.get("spec"), dict):
        obj = with_value(obj, path, [])
    request = {"operation": "CREATE", "object": obj, "namespace": namespace}

    decision = decide(request, MUTATE, policy, cluster, minor)

    assert not (decision.patch and value_at(obj, path))
    assert all(one["op"] == "add" for one in decision.patch)
    assert all(value_at(obj, tuple(JsonPointer(one["path"]).parts)) in (None, []) for one in decision.patch)
    after = patched(obj, decision.patch)
    with suppress(RecursionError):  # too deep to be copied
        assert json.dumps(after) == json.dumps(apply_patch(sent_again(obj), list(decision.patch)))
    if decision.patch:
        again = {**request, "object": after}
        assert not decide(again, MUTATE, policy, cluster, minor).patch
        judged = decide(again, VALIDATE, policy, cluster, minor)
        assert judged.allowed
        if all(finding.rule != "selector-misses-own-pod" for finding in judged.findings):  # with an owner of another's
            copy = {"operation": "CREATE", "object": {**after, "metadata": {}}, "namespace": namespace}
            copied = decide(copy, VALIDATE, policy, cluster, minor)
            assert (True, ()) == (copied.allowed, copied.warnings)


@fuzz
@given(request=requests, **judging)
@example(request=TOO_MANY, **BY_STRICT)
def test_an_update_that_changes_nothing_is_allowed(request, phase, policy, snapshot, minor):
    """Whatever is wrong with the object: else no finalizer could be removed from it."""
    obj = request.get("object")
    assume(isinstance(obj, dict))

    for before in (obj, sent_again(obj)):
        unchanged = {**request, "operation": UPDATE, "oldObject": before}
        assert decide(unchanged, phase, policy, snapshot, minor).allowed


@fuzz
@given(
    obj=some.perhaps_damaged(templated),
    gained=st.dictionaries(st.sampled_from((some.IGNORE, "note")), st.sampled_from(some.RULE_LISTS), min_size=1),
    **judging,
)
@example(
    obj=workload("StatefulSet", constraint(matchLabelKeys=[some.HASH])),
    gained={some.IGNORE: "wrong-revision-key"},
    **BY_STRICT,
)
@example(obj=TWO_TEAMS, gained={"note": ""}, **BY_STRICT | {"policy": LAYERED})
@example(obj=TOO_MANY["object"], gained={"note": ""}, **BY_STRICT)
def test_a_template_may_gain_an_annotation_whatever_is_wrong_with_it(obj, gained, phase, policy, snapshot, minor):
    """`kubectl rollout restart` does no more than that, and must work on what was there before evenkeel."""
    kind = some.kind_of(obj, kinds())
    assume(kind is not None and all(isinstance(one, dict) for one in some.all_at(obj, kind.template)))
    before = obj
    for key, value in gained.items():
        try:
            obj = some.planted(obj, (*kind.template, "metadata", "annotations", key), lambda value=value: value)
        except (TypeError, AttributeError):
            reject()  # something on the way is no object
    request = {"operation": UPDATE, "object": obj, "oldObject": before, "namespace": "default"}

    assert decide(request, phase, policy, snapshot, minor).allowed


@fuzz
@given(request=requests, policy=policies, snapshot=snapshots, minor=minors)
@example(
    request=some.Shown(operation=UPDATE, object=deep(), oldObject=deep()), policy=STRICT, snapshot=no_cluster, minor=37
)
def test_an_update_is_denied_only_where_the_object_could_not_be_created_either(request, policy, snapshot, minor):
    """The old object can only excuse."""
    created = {**request, "operation": "CREATE", "oldObject": None}
    allowed = [decide(one, VALIDATE, policy, snapshot, minor).allowed for one in (request, created)]

    assert allowed != [False, True]


@fuzz
@given(
    obj=some.perhaps_damaged(objects),
    owner=st.sampled_from(("ConfigMap/web", "DaemonSet/web", "ReplicaSet/web", "Deployment/web")),
    minor=minors,
)
@example(obj=workload("Deployment"), owner="DaemonSet/web", minor=37)
def test_an_enforced_rule_cannot_be_talked_out_of_it(obj, owner, minor):
    """Annotations and owner references are the developer's to write."""
    assume(not as_mapping(obj.get("metadata")).get("ownerReferences"))
    enforced = partial(chosen, "enforced")
    plain = {"operation": "CREATE", "object": obj, "namespace": "default", "userInfo": {"username": "dev"}}
    allowed = decide(plain, VALIDATE, enforced, cluster, minor).allowed
    excuses = {"annotations": {some.IGNORE: ",".join(RULES)}, **owned_by(owner)}
    for name, value in excuses.items():
        excused = {**plain, "object": with_value(obj, ("metadata", name), value)}

        assert decide(excused, VALIDATE, enforced, cluster, minor).allowed == allowed


@fuzz
@given(
    obj=some.perhaps_damaged(objects),
    old=st.none() | some.perhaps_damaged(objects),
    policy=policies,
    snapshot=snapshots,
    minor=minors,
)
@example(obj=some.Shown(apiVersion=some.nested(5_000)), old=None, policy=STRICT, snapshot=no_cluster, minor=37)
def test_whatever_is_applied_is_answered(obj, old, policy, snapshot, minor):
    """Both phases answer, and there is an object to store."""
    applied = dry_run(obj, old, Terms(policy(), snapshot(), features(minor)), never_sent=SYSTEM_NAMESPACES)

    assert_well_formed(applied.mutate)
    assert_well_formed(applied.validate)
    assert applied.stored.keys() >= obj.keys()
    assert applied.answer.allowed == (applied.denied_by is None)
