"""Default constraints in a policy: checked as kube-scheduler checks them, then as the Pods that get them will be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from webhook.objects.fields import DUPLICATE, FieldPath, as_list, as_mapping, path_text
from webhook.objects.labels import label_key_errors
from webhook.scheduler.constraint import HARD
from webhook.scheduler.default_constraints import LIST, SYSTEM, validate_args
from webhook.scheduler.features import Features
from webhook.scheduler.validation import in_one_line, validate

HOSTNAME = "kubernetes.io/hostname"
ANY = "evenkeel.dev/any"  # A label in place of those of the derived selector.


@dataclass(frozen=True, slots=True)
class Defaulting:
    """PodTopologySpreadArgs; `constraints` are raw JSON, without a selector."""

    type: str
    constraints: tuple[Mapping[str, object], ...] = ()


def parse_defaulting(raw: object) -> Defaulting:
    """PodTopologySpreadArgs from raw JSON of the right types; as upstream, an absent defaultingType is System."""
    args = as_mapping(raw)
    constraints = tuple(integers(as_mapping(item)) for item in as_list(args.get("defaultConstraints")))
    return Defaulting(str(args.get("defaultingType") or SYSTEM), constraints)


def integers(raw: Mapping[str, object]) -> Mapping[str, object]:
    """A copy with 1.0 as 1: JSON Schema takes both for integers, the API server that reads the patch does not."""
    return {k: int(v) if isinstance(v, float) and v.is_integer() else v for k, v in raw.items()}


def defaulting_errors(raw: object, path: FieldPath, features: Features) -> Iterator[str]:
    """
    Every reason not to use these args: those of kube-scheduler, then those of the API server for a Pod that gets them.

    kube-scheduler accepts constraints that make a Pod invalid, such as minDomains with ScheduleAnyway.  Written into
    Pods, they would keep every Pod of the cluster from being created.
    """
    if raw is None:
        return
    defaulting = parse_defaulting(raw)
    if defaulting.constraints and "defaultingType" not in as_mapping(raw):
        yield f"{path_text(path)}: absent defaultingType means {SYSTEM}; write defaultingType: {LIST}"
        return
    errors = list(validate_args(defaulting.type, defaulting.constraints, path))
    known = {error.path for error in errors}
    selected = [{**constraint, "labelSelector": {"matchLabels": {ANY: "any"}}} for constraint in defaulting.constraints]
    keys = (key for constraint in selected for key in as_list(constraint.get("matchLabelKeys")) if isinstance(key, str))
    labels = {key: "any" for key in keys if not label_key_errors(key)}
    of_pods = validate(selected, labels, (*path, "defaultConstraints"), merged=False, features=features)
    errors += [error for error in of_pods if error.path not in known and error.type != DUPLICATE]
    yield from map(in_one_line, errors)


def notes_on(defaulting: Defaulting, path: FieldPath) -> Iterator[str]:
    """What is valid, but may not do what its author expects."""
    constraints = defaulting.constraints
    keys = [constraint.get("topologyKey") for constraint in constraints]
    if defaulting.type == LIST and keys and HOSTNAME not in keys:
        yield (
            f"{path_text(path)}: no constraint on {HOSTNAME}: any constraint on a Pod switches off the scheduler's "
            "own defaults, which spread over nodes, too"
        )
    for i, constraint in enumerate(constraints):
        if constraint.get("whenUnsatisfiable") == HARD:
            at = path_text((*path, "defaultConstraints", i, "whenUnsatisfiable"))
            yield f"{at}: {HARD} leaves Pods Pending whose owners asked for no constraint"
