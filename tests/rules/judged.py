"""What the rules find in an object, and the objects that several rules' tests judge."""

from __future__ import annotations

from evenkeel.scheduler.replica_room import room_for
from tests.support.build import FEATURES, HOSTNAME, ZONE, constraint, node, snapshot, workload
from webhook.findings import wording
from webhook.findings.evaluation import evaluate
from webhook.kubernetes.features import features
from webhook.kubernetes.kinds import KINDS, Kinds
from webhook.kubernetes.workload import parse_workloads
from webhook.rules import DEFAULT_SETTINGS

OBJECT = "Deployment payments-team/checkout-api"


def findings(obj, minor=None, snapshot=None, kinds=None, others=None, **settings):
    """What the rules find, with the default settings save for those given as rule_id=Setting."""
    chosen = {**DEFAULT_SETTINGS, **{name.replace("_", "-"): setting for name, setting in settings.items()}}
    (one,) = parse_workloads(obj, Kinds(kinds or KINDS))
    version = FEATURES if minor is None else features(minor)
    return evaluate(one, chosen, snapshot, version, others, room_for).findings


def shown(obj, **given):
    """The findings as `rule field`, the field without the path of the list."""
    (one,) = parse_workloads(obj, Kinds(given.get("kinds") or KINDS))
    return [f"{f.rule} {wording.short_path(f.path[len(one.path) - 1 :])[25:]}".strip() for f in findings(obj, **given)]


def deployment(*constraints, **fields):
    return workload("Deployment", *constraints, **{"spec": {"strategy": {"type": "Recreate"}}, **fields})


def rolling(*constraints, **spec):
    return workload("Deployment", *constraints, spec=spec)


SOFT = constraint(whenUnsatisfiable="ScheduleAnyway")
IN_BOTH = constraint(matchLabelKeys=["app"])
SERVER_WRITES = {"job-name": "web", "batch.kubernetes.io/job-name": "web", "controller-uid": "u"}


def pinned(*terms):
    """The spec of a Pod with node affinity to nodes by their names: a term's fields are ANDed, terms are ORed."""
    fields = [[{"key": "metadata.name", "operator": "In", "values": [name]} for name in names] for names in terms]
    affinity = {"nodeSelectorTerms": [{"matchFields": those} for those in fields]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}}}


def templated(pod_spec):
    return {"template": {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec}}


def labelled(kind, *constraints, **labels):
    return workload(kind, *constraints, labels={"app": "web", **labels})


ZONES = (node("n1"), node("n2", **{ZONE: "b"}))
INFRA = node("n3", ["dedicated=infra:NoSchedule"], **{ZONE: "c"})
THREE = (*ZONES, INFRA)
HARD_HOST = constraint(topologyKey=HOSTNAME)


def stateful(*constraints, replicas=6, pod_spec=None, **fields):
    """A StatefulSet: it has no rollout that adds Pods."""
    made = workload("StatefulSet", *constraints, spec={"replicas": replicas}, **fields)
    made["spec"]["template"]["spec"] |= pod_spec or {}
    return made


def on(obj, *nodes, **given):
    """The findings of `obj` in a cluster with these nodes, as `rule field`."""
    return shown(obj, snapshot=snapshot(*nodes), **given)


def said(obj, *nodes, rule, **given):
    """The message and the fix of the only finding of a rule."""
    ((message, fix),) = [
        (f.message, f.fix) for f in findings(obj, snapshot=snapshot(*nodes), **given) if f.rule == rule
    ]
    return message, fix


def in_zones(*zones, operator="In", key=ZONE):
    """The spec of a Pod whose node affinity requires one of these zones."""
    terms = [{"matchExpressions": [{"key": key, "operator": operator, "values": [*zones]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


IN_A, ON_A, IN_AB = {"nodeSelector": {ZONE: "a"}}, {"nodeSelector": {HOSTNAME: "a"}}, in_zones("a", "b")
