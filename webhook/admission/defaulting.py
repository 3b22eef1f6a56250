"""Computes the default constraints of a Pod and their selector; in doubt, a Pod gets none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from webhook.admission.cost import MOST_SELECTOR_VALUES, TooLarge, weigh_constraints
from webhook.admission.ownership import NEVER, Audited, denying_findings
from webhook.admission.terms import Terms
from webhook.findings.finding import Finding
from webhook.findings.rule import RULES
from webhook.findings.wording import LINE_LIMIT, line, one_line
from webhook.kubernetes.fields import as_list, path_text
from webhook.kubernetes.kinds import KINDS
from webhook.kubernetes.labels import MOST_ANNOTATION_BYTES, Labels, annotation_bytes
from webhook.kubernetes.names import DEFAULTED_BY_ANNOTATION, MIRROR_ANNOTATION, SKIP_LABEL, TOPOLOGY_LABELS
from webhook.kubernetes.references import Owner
from webhook.kubernetes.workload import Workload
from webhook.policy.defaults import SuitedDefaults, once_given, suited_defaults
from webhook.policy.policy import InForce
from webhook.spread.cluster_view import ClusterView
from webhook.spread.constraint import Constraint, as_stored, parse_constraints, same
from webhook.spread.default_constraints import SYSTEM
from webhook.spread.default_selector import SELECTOR_KINDS, default_selector
from webhook.spread.selectors import EQUALS, IN, Selector, as_label_selector, equals
from webhook.spread.validation import validate

REASONS = {
    "has-constraints": "the Pod has constraints of its own",
    "opted-out": f'the Pod has the label {SKIP_LABEL}: "true"',
    "bound": "the Pod has a nodeName",
    "mirror-pod": "it is a mirror Pod, which the scheduler does not place",
    "daemonset": "a DaemonSet pins each Pod to its node",
    "system-defaulting": "defaultingType System leaves it to the scheduler",
    "no-default-constraints": "the policy has no default constraints for it",
    "nodes-lack-key": "with the built-in defaults, nodes that lack a topology key would get the score 0 for the spread",
    "namespace-unknown": "the labels of its namespace are not known: they may opt it out, or select an override",
    "no-cluster": "evenkeel has no cluster, or has not read all of it yet",
    "nothing-selects-it": "no Service, ReplicationController, ReplicaSet or StatefulSet selects or owns it",
    "malformed": "the Pod has fields of a wrong type",
    "too-large": "the Pod would have too many constraints or labels to judge",
    "would-be-denied": "the policy denies the Pod with the default constraints, and not without them",
    "would-be-invalid": "with the default constraints, the API server would refuse the Pod",
}
# Reasons that somebody can do something about, in the policy, the Pod or the cluster; they are logged at info.
ACTIONABLE_REASONS = frozenset({"nodes-lack-key", "too-large", "would-be-denied", "would-be-invalid"})
ADDED_LABELS = frozenset(key for kind in KINDS for key in kind.added_labels)


class Defaults(NamedTuple):
    """Default constraints for a Pod."""

    constraints: tuple[Mapping[str, object], ...]  # as JSON
    selector: Selector  # the same for all
    source: tuple[str, ...]  # the objects that the selector comes from, each as `Kind/name`
    patch: tuple[Mapping[str, object], ...]  # a JSON patch that writes the constraints into the Pod
    note: str  # the value of the annotation that names their source
    lacking: str = ""  # why some of the policy's constraints are not among them
    left_out: tuple[str, ...] = ()  # all that is not written, and why

    @property
    def summary(self) -> str:
        """The constraints in short, without the selector."""
        return ", ".join(
            f"{constraint['topologyKey']} (maxSkew {constraint['maxSkew']}, {constraint['whenUnsatisfiable']})"
            for constraint in self.constraints
        )


class Undefaulted(NamedTuple):
    """Why a Pod gets no defaults: a key of REASONS, and details."""

    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return REASONS[self.reason] + (f": {self.detail}" if self.detail else "")


def default_constraints(
    obj: Mapping[str, object], pod: Workload, in_force: InForce, user: str, terms: Terms
) -> Defaults | Undefaulted:
    """
    Return the constraints that kube-scheduler would apply to the new Pod `obj` of `user` if it had the policy's
    defaults.

    Unlike the scheduler, this keeps matchLabelKeys, but no keys that the derived selector has: the API server rejects a
    key in both.

    upstream: PodTopologySpread.buildDefaultConstraints
    """
    reason, defaulting = exempt(pod, in_force), in_force.defaulting
    if reason is not None or defaulting is None:
        return Undefaulted(reason or "namespace-unknown")
    if terms.snapshot is None:
        return Undefaulted("no-cluster")
    if len(pod.labels) > MOST_SELECTOR_VALUES:
        return Undefaulted("too-large")
    derived = default_selector(pod.namespace, pod.labels, pod.owner, terms.snapshot)
    if derived.selector.empty:
        return Undefaulted("nothing-selects-it")
    suited = suited_defaults(defaulting, pod, terms.snapshot)
    if not suited.constraints:
        return Undefaulted("nodes-lack-key", suited.lacking)
    label_selector = as_label_selector(derived.selector)
    constraints = [_constraint(default, derived.selector, label_selector) for default in suited.constraints]
    try:
        weigh_constraints([constraints])
    except TooLarge as error:
        return Undefaulted("too-large", str(error))
    if errors := validate(constraints, pod.labels, pod.path, merged=False, features=terms.features):
        return Undefaulted("would-be-invalid", f"{path_text(errors[0].path)}: {errors[0].detail}")
    denying = _denying(pod, constraints, in_force, user, terms)
    if denying and not denying_findings(pod, in_force, user, terms):  # A Pod that is denied anyway gets defaults.
        return Undefaulted("would-be-denied", line(denying[0]))
    left_out = _left_out(suited, derived.selector)
    note = _note(in_force.override, derived.sources, left_out)
    patch = _patch(obj, constraints, note)
    if patch is None:
        return Undefaulted("malformed")
    if len(patch) == 1:  # without the annotation
        left_out.append(
            f"annotation {DEFAULTED_BY_ANNOTATION}: the Pod's annotations would exceed {MOST_ANNOTATION_BYTES} bytes"
        )
    return Defaults(tuple(constraints), derived.selector, derived.sources, patch, note, suited.lacking, tuple(left_out))


def _left_out(suited: SuitedDefaults, selector: Selector) -> list[str]:
    """Return the parts of the policy's constraints that are not written into the Pod, and why."""
    left_out = [f"constraint: {suited.lacking}"] if suited.lacking else []
    keys = [key for default in suited.constraints for key in as_list(default.get("matchLabelKeys"))]
    repeated = {str(key) for key in keys if key in selector.keys}
    if repeated:
        left_out.append(f"matchLabelKeys {', '.join(sorted(repeated))}: already in the selector")
    return left_out


def _note(override: str | None, sources: Sequence[str], left_out: Sequence[str]) -> str:
    defaulted_by = "policy" if override is None else f"override {override}"
    shown = [*sources[:10]]
    if len(sources) > len(shown):
        shown.append("…")
    parts = [defaulted_by, f"selector from {', '.join(shown)}", *[f"left out {part}" for part in left_out]]
    return one_line("; ".join(parts), LINE_LIMIT)


def _patch(
    obj: Mapping[str, object], constraints: Sequence[Mapping[str, object]], note: str
) -> tuple[Mapping[str, object], ...] | None:
    """
    Return the JSON patch that adds the constraints and the annotation on them; None if `obj` is malformed.

    It leaves out the annotation if the API server would refuse the Pod with it.
    """
    spec, metadata = obj.get("spec"), obj.get("metadata")
    if not isinstance(spec, dict) or not isinstance(metadata, dict):
        return None
    spread = {"op": "add", "path": "/spec/topologySpreadConstraints", "value": constraints}
    annotations = metadata.get("annotations")
    if annotations is None:
        return spread, {"op": "add", "path": "/metadata/annotations", "value": {DEFAULTED_BY_ANNOTATION: note}}
    if not isinstance(annotations, dict):
        return None
    if annotation_bytes({**annotations, DEFAULTED_BY_ANNOTATION: note}) > MOST_ANNOTATION_BYTES:
        return (spread,)
    escaped = DEFAULTED_BY_ANNOTATION.replace("/", "~1")  # as JSON Pointer asks
    return spread, {"op": "add", "path": f"/metadata/annotations/{escaped}", "value": note}


def audited_as_defaulted(
    obj: Mapping[str, object], pod: Workload, namespace_labels: Labels | None, user: str, terms: Terms
) -> Audited:
    """
    Return whether findings on `pod`, which is `obj`, are only audited, because its constraints are evenkeel's defaults.

    Anybody may write the annotation, so it proves nothing, and the defaults are computed again.

    A copy of a Pod with defaults has them, too.  `kubectl debug --copy-to` makes copies without an owner, without
    annotations and, by default, without labels.  So a Pod without an owner counts as a copy if it has no labels, or if
    it or its selector has a label that only a controller adds.  For enforced rules a copy must have all labels of the
    original, or none: a Pod without labels belongs to no workload, and no constraint could spread it.
    """
    if not pod.has_constraints or terms.snapshot is None or len(pod.labels) > MOST_SELECTOR_VALUES:
        return NEVER
    if DEFAULTED_BY_ANNOTATION in pod.annotations and _has_defaults(obj, pod, namespace_labels, user, terms):
        return Audited(True, True)
    if pod.owner is not None:
        return NEVER
    constraints = parse_constraints(pod.raw_constraints, {}, terms.features)
    if not constraints:
        return NEVER
    original = _original(pod, constraints, terms.snapshot)
    unlabelled = pod.labels.keys() <= TOPOLOGY_LABELS  # The API server adds these at binding.
    is_copy = unlabelled or not ADDED_LABELS.isdisjoint(original.labels)
    relabelled = not pod.labels.items() <= original.labels.items()
    if not is_copy or relabelled or not _has_defaults(obj, original, namespace_labels, user, terms):
        return NEVER
    return Audited(True, unlabelled or original.labels == pod.labels)


def _has_defaults(
    obj: Mapping[str, object], pod: Workload, namespace_labels: Labels | None, user: str, terms: Terms
) -> bool:
    """
    Return whether the constraints of `pod` are the policy's defaults for it, and the policy allows them.

    They may date from before Karpenter came or went, and from before the Pod had a node.
    """
    bare = replace(pod, raw_constraints=None, node_name="")
    in_force = terms.policy.in_force(bare, namespace_labels)
    defaulted = default_constraints(obj, bare, in_force, user, terms)
    if not isinstance(defaulted, Defaults) or in_force.defaulting is None:
        return False
    features = terms.features
    for constraints in once_given(in_force.defaulting, defaulted.constraints):
        written = list(constraints)
        forms = (written, as_stored(written, pod.labels, features))
        if any(same(pod.raw_constraints, form, features) for form in forms):
            return not _denying(bare, written, in_force, user, terms)
    return False


def _original(copy: Workload, constraints: tuple[Constraint, ...], snapshot: ClusterView) -> Workload:
    """
    Guess the Pod of which `copy` is a copy, if evenkeel gave it `constraints`.

    Its labels are those of the copy, and those that the selectors of the constraints ask for.  Its owner is the
    controller whose selector, with those of the Services, makes up the constraints' selector.  All rules that are not
    enforced are ignored, because the original may have had that annotation.
    """
    # A key may be asked for twice, with one value and with several: reversed, the one value comes last, and stays.
    selected_labels = {
        requirement.key: requirement.values[0]
        for constraint in constraints
        for requirement in reversed(constraint.selector.requirements)
        if requirement.operator in (EQUALS, IN) and requirement.values
    }
    original = replace(copy, labels={**copy.labels, **selected_labels}, ignored_rules=frozenset(RULES))
    first = constraints[0]
    # The API server has merged the matchLabelKeys into the selector.
    derived = {
        requirement for requirement in first.selector.requirements if requirement.key not in first.match_label_keys
    }
    services = snapshot.services_of(copy.namespace, original.labels)
    of_controller = derived.difference(*(equals(service.selector) for service in services))
    if not of_controller:  # The Services account for the whole selector.
        return original
    for kind in SELECTOR_KINDS:
        for controller in snapshot.controllers.get((copy.namespace, *kind), {}).values():
            selector = controller.selector
            if selector is not None and of_controller <= set(selector.requirements) <= derived:
                return replace(original, owner=Owner(*kind, controller.name, controller.uid))
    return original


def _denying(pod: Workload, constraints: object, in_force: InForce, user: str, terms: Terms) -> list[Finding]:
    """Return the findings that would deny a Pod if `user` had written these constraints."""
    if all(RULES[rule].kept_by_defaults for rule in in_force.errors):
        return []
    return denying_findings(replace(pod, raw_constraints=constraints), in_force, user, terms)


def exempt(pod: Workload, policy: InForce) -> str | None:
    """Return why a Pod gets no defaults, whatever is in the cluster: a key of REASONS, or None."""
    if pod.has_constraints:
        return "has-constraints"
    if pod.labels.get(SKIP_LABEL) == "true":
        return "opted-out"
    if pod.node_name:
        return "bound"
    if MIRROR_ANNOTATION in pod.annotations:
        return "mirror-pod"
    if pod.affine_to_one_node or (pod.owner is not None and pod.owner.kind == "DaemonSet"):
        return "daemonset"
    if policy.defaulting is None:
        return "namespace-unknown"
    if policy.defaulting.type == SYSTEM:
        return "system-defaulting"
    return None if policy.defaulting.constraints else "no-default-constraints"


def _constraint(default: Mapping[str, object], selector: Selector, label_selector: object) -> dict[str, object]:
    constraint = {**default, "labelSelector": label_selector}
    keys = default.get("matchLabelKeys")
    if isinstance(keys, list):
        constraint["matchLabelKeys"] = [key for key in keys if key not in selector.keys]
        if not constraint["matchLabelKeys"]:
            del constraint["matchLabelKeys"]
    return constraint
