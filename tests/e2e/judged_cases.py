"""Objects that a policy may judge, drawn at random: every kind, every field that a rule looks at, updates of them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import NamedTuple

from tests.e2e.large_objects import deployment, many
from tests.e2e.webhook import containers
from tests.support.build import HOSTNAME, ZONE, constraint, workload
from webhook.kubernetes.kinds import BUILT_IN_KINDS, Kind

REPLICA_SET_CONTROLLER = "system:serviceaccount:kube-system:replicaset-controller"
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner", "uid": "u"}
KEYS = (
    *[ZONE, HOSTNAME, "rack", "example.com/rack"] * 4,
    *("topology/kubernetes.io/zone", "a b", " rack", "/zone", "zone/", "-x", "x" * 64, f"{'d' * 254}/zone", "a//b"),
    *("failure-domain.beta.kubernetes.io/zone", "zöne", 'quote"d', "back\\slash", "a\nb", "Upper.Case/x", "x" * 300),
)
LABELS = (
    *[{"app": "web"}] * 6,
    *({"app": "web", "tier": "a", "version": "v1"}, {"app": "true", "n": "1.5"}, {"app": "web", "1st": "x", "on": ""}),
    {"app": "web", "tier": "b", **{f"label-{i:02}": f"value-{i}" for i in range(22)}},
    {"app": "web", "pod-template-hash": "x"},
)
EXPRESSIONS = (
    *({"key": "app", "operator": "In", "values": values} for values in (["web"], ["db", "api"], ["web", "x"])),
    *({"key": "app", "operator": operator} for operator in ("Exists", "DoesNotExist")),
    *({"key": key, "operator": "Exists"} for key in ("tier", "pod-template-hash", "job-name", ZONE)),
    *({"key": "app", "operator": "NotIn", "values": values} for values in (["web"], ["db"], ["b", "a", "web"])),
    *({"key": key, "operator": "In", "values": ["x"]} for key in ("tier", "controller-revision-hash", ZONE)),
    *({"key": key, "operator": "DoesNotExist"} for key in ("job-name", "pod-template-hash", "version")),
)
REVISIONS = ("pod-template-hash", "controller-revision-hash", "version", "tier", "statefulset.kubernetes.io/pod-name")
ADDED = ("job-name", "pod-template-hash", "controller-revision-hash", ZONE)  # by a controller, or at binding
IGNORED = (
    "empty-selector",
    "missing-constraints, hard-constraint",
    "pinned-pod",
    "malformed-topology-key,x",
    "",
    " , ",
)


class JudgedCase(NamedTuple):
    """An object that `user` sends, in place of `old` if that is given; `path` is where such objects are created."""

    name: str
    kind: Kind
    obj: dict
    old: dict | None = None
    user: str = ""


def cases(number: int, seed: int) -> Iterator[JudgedCase]:
    """Draw cases; a third of those that can be updated are updates."""
    random = Random(seed)
    for i in range(number):
        kind = random.choice(BUILT_IN_KINDS)
        obj = drawn(random, kind, f"drawn-{i}")
        if kind.template != () and random.random() < 0.4:
            yield JudgedCase(f"{i}", kind, changed(random, obj, kind), obj)
        else:
            user = REPLICA_SET_CONTROLLER if kind.kind == "Pod" and random.random() < 0.3 else ""
            if user and random.random() < 0.7:
                obj["metadata"]["ownerReferences"] = [OWNER | {"controller": True}]
            yield JudgedCase(f"{i}", kind, obj, user=user)


def large() -> Iterator[JudgedCase]:
    """Yield Deployments that are too large to judge: new ones, and updates that an enforced rule excuses or not."""
    kind = next(kind for kind in BUILT_IN_KINDS if kind.kind == "Deployment")
    owner = {"ownerReferences": [OWNER | {"controller": True}]}
    yield JudgedCase("large", kind, _large())
    yield JudgedCase("large, of an owner", kind, _large(**owner))
    yield JudgedCase("large, changed beside", kind, _large(labels={"app": "web", "tier": "x"}), _large())
    yield JudgedCase("large, one more", kind, _large(102), _large())
    yield JudgedCase("large, under an enforced rule now", kind, _large(), _large(scheduler="other"))
    yield JudgedCase("large, under an enforced rule before", kind, _large(scheduler="other"), _large())
    yield JudgedCase("large, under the same override", kind, _large(scheduler="other"), _large(scheduler="other"))


def excused() -> Iterator[JudgedCase]:
    """Yield updates of which a mistake that was there before excuses one: the milder one, or one in another key."""
    by_name = {kind.kind: kind for kind in BUILT_IN_KINDS}
    soft = {"whenUnsatisfiable": "ScheduleAnyway"}
    old, new = [constraint(maxSkew=5, **soft)], [constraint(maxSkew=9), constraint(maxSkew=5, topologyKey="x", **soft)]
    yield JudgedCase("the worse one is new", by_name["Deployment"], deployment(new), deployment(old))
    listed = [constraint(), constraint(topologyKey=HOSTNAME)]
    old, new = ([{**each, "matchLabelKeys": [key]} for each in listed] for key in ("pod-template-hash", "absent"))
    own = {"serviceName": "web", "replicas": 3}
    stateful = (containers(workload("StatefulSet", *each, spec=own)) for each in (new, old))
    yield JudgedCase("another absent key", by_name["StatefulSet"], *stateful)


def _large(count: int = 101, scheduler: str = "", **metadata: object) -> dict:
    made = deployment(many(count), **metadata)
    made["spec"]["template"]["spec"] |= {"schedulerName": scheduler} if scheduler else {}
    return made


def drawn(random: Random, kind: Kind, name: str) -> dict:
    """Draw an object of a kind."""
    labels = dict(random.choice(LABELS))
    template = {"metadata": {"labels": labels}, "spec": _pod_spec(random, kind, labels)}
    if random.random() < 0.1:
        template["metadata"]["annotations"] = {"evenkeel.dev/ignore": random.choice(IGNORED)}
    obj: dict = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}
    if kind.template == ():
        obj["metadata"] |= template["metadata"]
        obj["spec"] = template["spec"]
    else:
        _place(obj, kind, template)
        _finish(random, obj, kind, labels)
    if random.random() < 0.15:
        obj["metadata"]["annotations"] = {"evenkeel.dev/ignore": random.choice(IGNORED)}
    if random.random() < 0.25:
        obj["metadata"]["ownerReferences"] = [_owner(random)]
    return obj


def changed(random: Random, obj: dict, kind: Kind) -> dict:
    """Return the object after an update, which changes its constraints or something beside them."""
    new = deepcopy(obj)
    template = _template(new, kind)
    constraints = template["spec"].setdefault("topologySpreadConstraints", [])
    for _ in range(random.randint(1, 2)):
        what = random.choice(("add", "drop", "replace", "move", "field", "key", "beside", "annotation"))
        at = random.randrange(len(constraints)) if constraints else 0
        if what == "add":
            constraints.insert(at, _constraint(random, template["metadata"]["labels"]))
        elif what == "beside":
            template["spec"]["terminationGracePeriodSeconds"] = random.randint(1, 99)
        elif what == "annotation":
            new["metadata"]["annotations"] = {"evenkeel.dev/ignore": random.choice(IGNORED)}
        elif constraints and what == "key" and constraints[at].get("labelSelector"):
            constraints[at]["matchLabelKeys"] = [*constraints[at].get("matchLabelKeys", ()), "another", "app"]
        elif constraints and what == "drop":
            del constraints[at]
        elif constraints and what == "replace":
            constraints[at] = _constraint(random, template["metadata"]["labels"])
        elif constraints and what == "move":
            random.shuffle(constraints)
        elif constraints:
            constraints[at] |= {"maxSkew": random.randint(1, 9), "topologyKey": random.choice(KEYS)}
    template["spec"]["topologySpreadConstraints"] = _distinct(constraints)
    return new


def _template(obj: dict, kind: Kind) -> dict:
    for name in kind.template or ():
        obj = obj[name]
    return obj


def _place(obj: dict, kind: Kind, template: dict) -> None:
    *above, last = kind.template or ()
    for name in above:
        obj = obj.setdefault(name, {})
    obj[last] = template


def _finish(random: Random, obj: dict, kind: Kind, labels: dict) -> None:
    """Add what the kind needs beside its Pod template, and what a rule looks at."""
    template = _template(obj, kind)
    if kind.kind == "PodTemplate":
        return
    spec = obj["spec"]
    selected = {key: labels[key] for key in list(labels)[: random.choice((1, 1, 2, 30))]}
    if kind.kind == "ReplicationController":
        spec["selector"] = selected
    elif kind.api_version != "batch/v1":
        expression = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
        spec["selector"] = random.choice([{"matchLabels": selected}] * 5 + [expression])
    if kind.replicas == ("spec", "replicas") and random.random() < 0.8:
        spec["replicas"] = random.choice((0, 1, 2, 3, 5))
    if kind.api_version == "batch/v1":
        template["spec"]["restartPolicy"] = "Never"
        job = spec if kind.kind == "Job" else spec["jobTemplate"]["spec"]
        job |= {"parallelism": random.choice((0, 1, 3)), "completions": random.choice((1, 2, 5))}
        job["completionMode"] = random.choice(("NonIndexed", "Indexed"))
    if kind.kind == "CronJob":
        spec["schedule"] = "0 0 * * *"
    if kind.kind == "StatefulSet":
        spec["serviceName"] = "web"
    if kind.kind == "Deployment" and random.random() < 0.3:
        rolling = {"maxSurge": random.choice((0, "0%", 1, "25%")), "maxUnavailable": 1}
        spec["strategy"] = random.choice(({"type": "Recreate"}, {"type": "RollingUpdate", "rollingUpdate": rolling}))


def _pod_spec(random: Random, kind: Kind, labels: dict) -> dict:
    constraints = [_constraint(random, labels) for _ in range(random.choice((0, 1, 1, 1, 2, 3)))]
    spec: dict = {"containers": [{"name": "web", "image": "web"}]}
    if constraints or random.random() < 0.5:
        spec["topologySpreadConstraints"] = _distinct(constraints)
    if random.random() < 0.08:
        spec["nodeName"] = "node-a-0"
    if random.random() < 0.1:
        spec["schedulerName"] = "other"
    if random.random() < 0.05:
        spec["nodeSelector"] = {ZONE: "a"}
    if random.random() < 0.2:
        nodes = random.choice((["n1"], ["n2"]))
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": nodes}]}
        exists = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
        in_a, in_b, in_ab = (
            {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [*zones]}]} for zones in ("a", "b", "ab")
        )
        of_name, of_zone = ([term], [term, term], [term, exists]), ([in_a], [in_a, in_a], [in_a, in_b], [in_ab])
        terms = random.choice((*of_name, *of_zone, [in_a, exists]))
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    return spec


def _constraint(random: Random, labels: dict) -> dict:
    selectors = [{}, {"matchLabels": {"app": labels["app"]}}, {"matchLabels": {"app": "wbe"}}, {"matchLabels": labels}]
    selectors.append({"matchLabels": {"app": "wbe", "tier": "z", "job-name": "x"}})
    selectors.append({"matchLabels": {"app": labels["app"], random.choice(ADDED): "x"}})
    selectors.append({"matchExpressions": random.sample(EXPRESSIONS, random.randint(1, 3))})
    selectors.append({"matchLabels": {"app": labels["app"]}, "matchExpressions": [random.choice(EXPRESSIONS)]})
    constraint = {
        "maxSkew": random.choice((1, 1, 1, 2, 5, 7)),
        "topologyKey": random.choice(KEYS),
        "whenUnsatisfiable": random.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": random.choice([*selectors[1:2] * 5, *selectors]),
    }
    if random.random() < 0.1:
        del constraint["labelSelector"]
    elif random.random() < 0.3:
        constraint["matchLabelKeys"] = random.sample(REVISIONS, random.randint(1, 2))
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and random.random() < 0.2:
        constraint["minDomains"] = 2
    if random.random() < 0.2:
        constraint["nodeTaintsPolicy"] = "Honor"
    return constraint


def _distinct(constraints: list[dict]) -> list[dict]:
    """Return the constraints without those that repeat a pair, which the API server refuses."""
    by_pair = {str((each["topologyKey"], each["whenUnsatisfiable"])): each for each in constraints}
    return list(by_pair.values())


def _owner(random: Random) -> dict:
    kinds = (("apps/v1", "ReplicaSet"), ("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("batch/v1", "CronJob"))
    version, kind = random.choice(kinds)
    return {**OWNER, "apiVersion": version, "kind": kind, "controller": random.choice((True, True, False))}
