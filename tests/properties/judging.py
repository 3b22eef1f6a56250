"""What properties share: what is judged by what, each made only as a test runs, and what holds of every answer."""

from __future__ import annotations

import json
import signal
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial

from hypothesis import HealthCheck, reject, settings
from hypothesis import strategies as st

from evenkeel.terminal.json_forms import finding_json, skipped_json
from tests.support import strategies as some
from tests.support.build import service
from tests.support.review import review
from webhook.admission.request import MUTATE, VALIDATE
from webhook.kubernetes.features import features
from webhook.policy.parsing import parse_policy
from webhook.spread.cluster_view import ClusterView, view_of

fuzz = settings(suppress_health_check=list(HealthCheck))

RAW_POLICIES = dict(zip(("plain", "strict", "enforced", "layered", "scheduler"), some.RAW_POLICIES, strict=True))
CHOSEN = tuple(RAW_POLICIES)
RAW_POLICIES["careful"] = some.PLAIN | {"rules": {"malformed-topology-key": {"enforced": True}}}


@cache
def read(name):
    return parse_policy(json.dumps(RAW_POLICIES[name]))


def chosen(name, **fields):
    """The policy of that name, in which `fields` are replaced, also in its overrides."""
    found, of_overrides = read(name), {"enforcement", "owned_objects"} & fields.keys()
    overrides = (replace(each, **{field: fields[field] for field in of_overrides}) for each in found.overrides)
    return replace(found, overrides=tuple(overrides), **fields)


def kinds():
    """Those that are built in, and those that the policies describe."""
    return read("strict").kinds


@cache
def cluster():
    return view_of([*some.CLUSTER_OBJECTS, service("wide", some.label_set(500), namespace="default")])


def no_cluster():
    return None


def decide(request, phase, policy, snapshot, minor):
    """The decision on a request; `policy` and `snapshot` are called."""
    return review(request, phase, policy(), snapshot(), features(minor))


objects = st.deferred(lambda: some.objects(kinds()))
requests = st.deferred(lambda: some.requests(kinds()))
phases = st.sampled_from((VALIDATE, VALIDATE, MUTATE))
minors = st.sampled_from(range(25, 39))
snapshots = st.sampled_from((no_cluster, ClusterView, cluster))
policies = st.builds(
    partial,
    st.just(chosen),
    st.sampled_from(CHOSEN),
    enforcement=st.sampled_from(("Deny", "Deny", "Warn", "Audit")),
    owned_objects=st.sampled_from(("Audit", "Deny")),
    early_answer=st.booleans(),
    on_error=st.sampled_from(("Allow", "Deny")),
)
judging = {"phase": phases, "policy": policies, "snapshot": snapshots, "minor": minors}

STRICT = partial(chosen, "strict", on_error="Deny")
BY_STRICT = {"phase": VALIDATE, "policy": STRICT, "snapshot": no_cluster, "minor": 37}


def assert_well_formed(decision):
    """What every answer must be for the API server, kubectl and a log to take it."""
    json.dumps([decision.status, decision.patch, decision.warnings, dict(decision.audit_annotations)])
    json.dumps([*map(finding_json, decision.findings), *map(skipped_json, decision.skipped)])
    assert len(decision.warnings) <= 6
    assert all(len(warning) <= 256 for warning in decision.warnings)
    shown = [*decision.warnings, *decision.audit_annotations.values()]
    if decision.allowed:
        assert decision.status is None
    else:
        assert decision.status["code"] in (400, 403, 500)
        shown += decision.status["message"].split("\n")
    assert [] == [line for line in shown if not line.isprintable() or not line]


def sent_again(obj):
    """A copy that shares nothing with `obj`, where it is not too deep to be copied."""
    try:
        return json.loads(json.dumps(obj))
    except RecursionError:
        return obj


def sent(raw):
    """As text; what is too deep for the json module is left out."""
    try:
        return json.dumps(raw)
    except RecursionError:
        reject()


@contextmanager
def at_most(seconds):
    """TimeoutError after so many seconds of work, which ends what would never end."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
