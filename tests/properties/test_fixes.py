"""A fix followed to the letter repairs its finding, brings no other, and makes nothing that the API server refuses."""

from __future__ import annotations

import json
import re
from collections import Counter
from copy import deepcopy

import yaml
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.replica_room import room_for
from tests.properties.judging import fuzz
from tests.support.build import HOSTNAME, ZONE, constraint, node, pod, snapshot, workload
from webhook.findings.evaluation import find_all
from webhook.kubernetes.features import features
from webhook.kubernetes.fields import value_at
from webhook.kubernetes.workload import parse_workloads
from webhook.policy.parsing import parse_policy
from webhook.rules import RULES
from webhook.spread.validation import shown_path, validate

HARD, SOFT, HASH = "DoNotSchedule", "ScheduleAnyway", "pod-template-hash"
LABELS = {"app": "web", "tier": "front", "version": "v2"}
ROLLOUT = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
# A constraint of these does nothing: advice on what it does can come only once it does something.
NOT_JUDGED_BEFORE = {
    "deprecated-topology-key",
    "malformed-topology-key",
    "misspelt-topology-key",
    "selector-misses-own-pod",
    "skew-never-binds",
    "unknown-field",
    "unknown-topology-key",
    "unlabelled-nodes",
}

COMES_LATER = {"missing-min-domains", "rollout-skew"}
KEYS = (
    ZONE,
    ZONE,
    HOSTNAME,
    "rack",
    "topology.kubernetes.io/zon",
    "topology.kubernetes.io/zone ",
    "kubernetes.io/host",
)
constraints = st.builds(
    constraint,
    maxSkew=st.sampled_from((1, 1, 1, 2, 5, 0)),
    topologyKey=st.sampled_from((*KEYS, "", "a key!")),
    whenUnsatisfiable=st.sampled_from((HARD, HARD, SOFT, SOFT, "DoNotSchedul", "Never")),
    labelSelector=st.sampled_from(
        (
            *[{"matchLabels": {"app": "web"}}] * 4,
            {"matchLabels": {"app": "wbe"}},
            {"matchLabels": {"app": "web "}},
            {},
            None,
            {"matchExpressions": [{"key": "app", "operator": "in", "values": ["web"]}]},
        )
    ),
    minDomains=st.sampled_from((None, None, None, 2, 3, 0)),
    minDomain=st.sampled_from((None, None, None, None, 2)),
    matchLabels=st.sampled_from((*[None] * 6, {"app": "web"}, {"app": "wbe"}, {"tier": "front"}, {"app": 1}, {})),
    matchExpressions=st.sampled_from((*[None] * 6, [{"key": "tier", "operator": "Exists"}], [{"key": "x"}])),
    nodeTaintsPolicy=st.sampled_from((None, None, "Honor", "Ignore", "honor")),
    nodeAffinityPolicy=st.sampled_from((None, None, "Ignore")),
    matchLabelKeys=st.none()
    | st.lists(
        st.sampled_from((HASH, "app", "app ", "tier", "teir", "version", "versoin", "x", "pod-template-hsh", "")),
        max_size=3,
    ),
)
tidy = st.builds(
    constraint,
    maxSkew=st.sampled_from((1, 1, 2, 4)),
    topologyKey=st.sampled_from((ZONE, HOSTNAME, "rack")),
    whenUnsatisfiable=st.sampled_from((HARD, HARD, HARD, SOFT)),
    nodeTaintsPolicy=st.sampled_from((None, None, "Honor")),
    nodeAffinityPolicy=st.sampled_from((None, None, "Ignore")),
    matchLabelKeys=st.sampled_from((None, [HASH])),
)
tidy |= st.builds(
    constraint, topologyKey=st.sampled_from((ZONE, HOSTNAME)), minDomains=st.sampled_from((2, 3)), maxSkew=st.just(1)
)
states = st.sampled_from((((), False), ((), False), (("dedicated=infra:NoSchedule",), False), ((), True)))
nodes = st.lists(
    st.tuples(st.sampled_from(("a", "b", "c", None)), st.sampled_from((None, None, "r1")), states), max_size=5
) | st.tuples(*[st.tuples(st.just(zone), st.just("r1"), states) for zone in "abc"])


def required(key, *values):
    """An affinity to nodes that have one of these values."""
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


pod_specs = st.sampled_from(
    (
        *[{}] * 4,
        {"nodeSelector": {ZONE: "a"}},
        {"nodeSelector": {ZONE: "b"}},
        {"affinity": required(ZONE, "a", "b")},
        {"tolerations": [{"operator": "Exists"}]},
        {"nodeName": "n0"},
    )
)


lists = st.lists(constraints, max_size=3) | st.lists(tidy, max_size=2)


def once_invalid(one, index):
    """Two constraints with the same invalid mode, or without a key, repeat each other until both are repaired."""
    mode = one["whenUnsatisfiable"] if index == 0 or one["whenUnsatisfiable"] in (HARD, SOFT) else SOFT
    return {
        **one,
        "whenUnsatisfiable": mode,
        "topologyKey": one["topologyKey"] if index == 0 else one["topologyKey"] or "rack",
    }


@st.composite
def objects(draw):
    kind = draw(st.sampled_from(("Deployment", "Deployment", "StatefulSet", "DaemonSet", "Job", "Pod", "Rollout")))
    listed = [once_invalid(one, i) for i, one in enumerate(draw(lists))]
    if kind == "Pod":
        return pod(*listed, labels=LABELS, spec=draw(pod_specs))
    replicas = {"Job": "parallelism"}.get(kind, "replicas")
    made = workload(kind, *listed, labels=LABELS, spec={replicas: draw(st.sampled_from((1, 2, 3, 6)))})
    made["spec"]["template"]["spec"] |= draw(pod_specs)
    return made | (ROLLOUT if kind == "Rollout" else {})


@st.composite
def policies(draw):
    """A policy that something can satisfy: it does not ask for what it forbids."""
    mode = draw(st.sampled_from((None, None, "hard-constraint", "soft-constraint")))
    keys = draw(st.sampled_from((None, [ZONE], [ZONE, HOSTNAME], [ZONE, "rack"])))
    missing = draw(st.sampled_from((None, [], [ZONE], [HOSTNAME, ZONE])))
    forbidden = {"allowedTopologyKeys": keys} if keys else draw(st.sampled_from(({}, {"topologyKeys": ["rack"]})))
    if missing and keys:
        missing = [key for key in missing if key in keys]
    rules = {
        "excessive-max-skew": {"severity": "error", "maxSkew": draw(st.sampled_from((1, 4)))},
        "rollout-skew": {"severity": "warning", "soft": draw(st.booleans())},
        **(
            {mode: draw(st.sampled_from(({"severity": "error"}, {"severity": "error", "topologyKeys": [ZONE]})))}
            if mode
            else {}
        ),
        **({"forbidden-topology-key": {"severity": "error", **forbidden}} if forbidden else {}),
        **({"missing-constraints": {"severity": "error", "topologyKeys": missing}} if missing is not None else {}),
        "missing-min-domains": {"severity": "warning", "minDomains": draw(st.sampled_from((2, 3)))},
    }
    severities = {rule.id: draw(st.sampled_from(("warning", "info"))) for rule in RULES.values() if rule.advice}
    kept = {rule: {"severity": severity} for rule, severity in severities.items() if draw(st.booleans())}
    return {"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy", "rules": {**kept, **rules}}


def cluster(drawn):
    made = []
    for i, (zone, rack, (taints, cordoned)) in enumerate(drawn):
        carried = {**({ZONE: zone} if zone else {}), **({"rack": rack} if rack else {})}
        made.append(node(f"n{i}", taints=taints, cordoned=cordoned, **(carried or {"other": "x"})))
    return made


class Judged:
    """An object with what is found in it; `origins` has for each constraint the index that it had at first."""

    def __init__(self, obj, origins, settings, there, minor):
        self.obj, self.origins, self.minor = obj, origins, minor
        (self.workload,) = parse_workloads(obj)
        self.findings = find_all(self.workload, settings, there, features(minor), room_for=room_for).findings

    def origin(self, finding):
        """The index at first of the constraint that it is about; None for the whole list."""
        below = finding.path[len(self.workload.path) :]
        return self.origins[below[0]] if below else None

    def counts(self):
        return Counter(map(self.what, self.findings))

    def what(self, finding):
        """The rule, the constraint and its field; rollout-skew is told once an object, wherever it is."""
        below = finding.path[len(self.workload.path) :]
        return finding.rule, None if finding.rule == "rollout-skew" else self.origin(finding), below[1:2]

    def refused(self):
        """The fields that the API server refuses of the object, and of its Pods."""
        one, known = self.workload, features(self.minor)
        return {
            (self.origins[error.path[0]] if error.path else None, shown_path(error)[1:2])
            for merged in (True, False)
            for error in validate(one.raw_constraints, one.pods_labels(), (), merged=merged, features=known)
        }


FIELDS = re.compile(r"(?:write|set) (\w+: .+?)(?:, and remove (\w+))?(?: in topologySpreadConstraints\[(\d+)\])?")
VALUE = re.compile(r"(?:use|set it to|write) ([^\s:,]+)(?: instead)?(?:, and remove (\w+))?")
OTHER = re.compile(r"(?:set|lower) (\w+) (to|below) (\w+)")


def steps(finding, option):
    """What one way to repair a finding changes, as (path, value), the value None to remove it; [] if it is not said."""
    path, first = finding.path, finding.path.index("topologySpreadConstraints") + 1
    at = path[: first + 1]
    if found := FIELDS.fullmatch(option):
        at = (*path[:first], int(found[3])) if found[3] else at
        pairs = [part.split(": ", 1) for part in re.split(r" and (?=\w+: )", found[1])]
        return [((*at, name), yaml.safe_load(value)) for name, value in pairs] + removing(at, found[2])
    if found := VALUE.fullmatch(option):
        return [(path, found[1]), *removing(at, found[2])]
    if found := OTHER.fullmatch(option):
        number = int(found[3]) - (found[2] == "below") if found[3].isdigit() else found[3]
        return [((*at, found[1]), number)]
    if option in ("remove the constraint", "remove the constraints"):
        return [(at, None)]
    if option in ("remove the key", "remove the field", "remove it"):
        return [(path, None)]
    if found := re.fullmatch(r"remove (minDomains|matchLabelKeys)", option):
        return removing(at, found[1])
    if found := re.fullmatch(r"add (\{.*\})", option):
        return [((*path[:first], "+"), yaml.safe_load(found[1]))]
    return []


def removing(at, name):
    return [((*at, name), None)] if name else []


def options(finding):
    """Each way to repair a finding that its fix names to the letter."""
    fix, edit = finding.fix.partition(": ")[0] if finding.fix.startswith("remove") else finding.fix, finding.edit
    if found := re.fullmatch(r"use one of ([^;]+?)", fix):
        return [[(finding.path, key)] for key in found[1].split(", ")]
    if fix.endswith("set it to 1 or more"):
        ways = ["remove minDomains"]
    elif found := re.fullmatch(r"(.*?)set it to (\S+) or (\S+)", fix):
        ways = [*found[1].split(", or "), f"set it to {found[2]}", f"set it to {found[3]}"]
    elif fix == "remove the key from matchLabelKeys or from labelSelector":
        ways = ["remove the key"]
    elif fix.startswith("remove one of the two"):
        ways = ["remove the constraint"]
    else:
        ways = re.split(r", or (?!\d)", fix)
    said = [steps(finding, way) for way in ways]
    if edit is not None:
        said = [[(edit.path, edit.value)], *said[1:]]
    return [way for way in said if way]


def followed(judged, changes):
    """The object with these changes, the ones nearest to the root first, and the constraints that go at last."""
    obj, path = json.loads(json.dumps(judged.obj)), judged.workload.path
    removed, added = set(), []
    for at, value in sorted(changes, key=lambda change: len(change[0])):
        if at == path and value is None:
            removed |= set(range(len(judged.origins)))
        elif at[-1] == "+":
            added.append(value)
        elif value is None and len(at) == len(path) + 1:
            removed.add(at[-1])
        elif value is not None:
            parent = value_at(obj, at[:-1])
            parent[at[-1]] = deepcopy(value)
    gone = {at for at, value in changes if value is None and len(at) > len(path) + 1}
    for at in sorted(gone, key=lambda at: (len(at), [str(part) for part in at]), reverse=True):
        parent = value_at(obj, at[:-1])
        if isinstance(parent, list) or at[-1] in (parent or {}):
            del parent[at[-1]]
    spec = value_at(obj, path[:-1])
    listed = spec.get(path[-1]) or []
    kept = [i for i in range(len(listed)) if i not in removed]
    spec[path[-1]] = [listed[i] for i in kept] + [value for i, value in enumerate(added) if value not in added[:i]]
    return obj, [judged.origins[i] for i in kept] + [f"added {i}" for i in range(len(added))]


def told(before, finding, after):
    return json.dumps(
        {
            "finding": [finding.rule, str(finding.path[-3:]), finding.message, finding.fix] if finding else "all",
            "before": value_at(before.obj, before.workload.path),
            "after": value_at(after.obj, after.workload.path),
            "kind": before.obj["kind"],
            "then": [[one.rule, str(one.path[-3:]), one.message, one.fix] for one in after.findings],
            "refused": [*map(str, after.refused() - before.refused())],
        },
        indent=1,
    )


def assert_repaired(before, finding, after):
    now, then, what = after.counts(), before.counts(), before.what(finding)
    assert now[what] < then[what] or what[0] == "rollout-skew", f"still there: {told(before, finding, after)}"
    came = [
        one.rule
        for one in after.findings
        if after.what(one) not in then
        and one.severity.rank <= finding.severity.rank
        and not ((RULES[one.rule].advice or one.rule in COMES_LATER) and finding.rule in NOT_JUDGED_BEFORE)
    ]
    assert [] == came, f"came: {told(before, finding, after)}"
    assert after.refused() <= before.refused(), f"refused: {told(before, finding, after)}"


@fuzz
@given(obj=objects(), raw=policies(), drawn=nodes, minor=st.sampled_from((26, 33, 37)))
def test_each_fix_that_is_followed_repairs_its_finding_and_brings_no_other(obj, raw, drawn, minor):
    settings, there = parse_policy(json.dumps(raw)).settings, snapshot(*cluster(drawn), features=features(minor))
    origins = list(range(len(value_at(obj, parse_workloads(obj)[0].path) or [])))
    before = Judged(obj, origins, settings, there, minor)
    for finding in before.findings:
        for changes in options(finding):
            after = Judged(*followed(before, changes), settings, there, minor)
            assert_repaired(before, finding, after)


@fuzz
@given(obj=objects(), raw=policies(), drawn=nodes, minor=st.sampled_from((26, 33, 37)))
def test_all_fixes_of_an_object_followed_together_make_what_the_api_server_accepts(obj, raw, drawn, minor):
    settings, there = parse_policy(json.dumps(raw)).settings, snapshot(*cluster(drawn), features=features(minor))
    origins = list(range(len(value_at(obj, parse_workloads(obj)[0].path) or [])))
    before = Judged(obj, origins, settings, there, minor)
    changes = [change for finding in before.findings if (ways := options(finding)) for change in ways[0]]
    after = Judged(*followed(before, changes), settings, there, minor)
    assert after.refused() <= before.refused(), f"refused: {told(before, None, after)}"
