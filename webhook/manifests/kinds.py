"""Which kinds a policy of the API server can judge, and CEL for what their objects hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from webhook.manifests.cel import as_object, at, bound, by_case, inside, literal
from webhook.objects.fields import FieldPath, path_text
from webhook.objects.kinds import BATCH, CONSTRAINTS_PATH, JOB_LABELS, TEMPLATE_PATH, WILDCARDS, Kind
from webhook.policy.policy import Policy

LONGEST_VALUE = 63  # of a label


def cel_name(kind: Kind) -> str:
    """Return group and kind as `variables.kind` has them, such as `apps/Deployment` or `/Pod`."""
    return f"{kind.api_group}/{kind.kind}"


def judged_kinds(policy: Policy) -> tuple[Kind, ...]:
    """Return the kinds of a policy whose objects have one Pod template, in one place."""
    return tuple(kind for kind in _in_force(policy) if why_not(kind, policy) == "")


def why_not(kind: Kind, policy: Policy) -> str:
    """Return why CEL cannot judge the objects of a kind; "" if it can."""
    places = {each.template for each in _in_force(policy) if cel_name(each) == cel_name(kind)}
    if len(places) > 1 or (kind.template is not None and not WILDCARDS.isdisjoint(kind.template)):
        return "its objects have several Pod templates"
    if kind.template is None or kind.operator is not None:
        return "its constraints stand outside a Pod template"
    return ""


def _in_force(policy: Policy) -> Iterator[Kind]:
    return (kind for kinds in policy.kinds.by_name.values() for kind in kinds)


def template(kinds: Iterable[Kind], obj: str) -> str:
    """
    Return CEL for the Pod template of an object, or a Pod; `{}` where there is none.

    In that of a custom resource, which may have no schema, metadata and spec are objects, too.
    """
    chosen = _chosen(_places(kinds, "template"), lambda place: inside(obj, place))
    parts = ", ".join(f"'{name}': {as_object(inside('t', (name,)))}" for name in ("metadata", "spec"))
    formed = f"variables.built_in || t.size() == 0 ? t : {{{parts}}}"
    return bound(f"({chosen})", "t", f"type(t) == map ? ({formed}) : {{}}")


def path(kinds: Iterable[Kind]) -> str:
    """Return CEL for the path of the constraints, as a text."""
    places = _places(kinds, "template")
    return _chosen(places, lambda place: literal(path_text((*place, *CONSTRAINTS_PATH))))


def replicas(kinds: Iterable[Kind], obj: str) -> str:
    """Return CEL for the replicas of an object; see objects.workload."""
    return _chosen(_places(kinds, "replicas"), lambda place: _number_at(place, obj))


def _number_at(place: FieldPath, obj: str) -> str:
    if not place:
        return "1"
    number = _integer(at(obj, place))
    if place[-1] != "parallelism":
        return number
    completions = at(obj, (*place[:-1], "completions"))
    return f"[{number}, {completions}.orValue({number})].min()"


def _integer(optional: str) -> str:
    return f"[{optional}.orValue(1)].map(n, type(n) == int ? n : 1)[0]"


def added_labels(kinds: Iterable[Kind], obj: str, possible: bool = True) -> str:
    """Return CEL for the label keys that the controller of an object adds, with `possible` those that it may add."""
    kinds = tuple(kinds)
    added = {
        cel_name(kind): sorted({*kind.added_labels, *(kind.possible_labels if possible else ())})
        for kind in kinds
        if not _is_job(kind)
    }
    added = {name: labels for name, labels in added.items() if labels}
    others = f"{literal(added)}[?variables.kind].orValue([])"
    jobs = {cel_name(kind): _job_labels(kind, obj, possible) for kind in kinds if _is_job(kind)}
    return "".join(f"variables.kind == {literal(name)} ? {labels} : " for name, labels in jobs.items()) + others


def _is_job(kind: Kind) -> bool:
    return kind.built_in and kind.api_version == BATCH


def _job_labels(kind: Kind, obj: str, possible: bool) -> str:
    """Return CEL for the label keys that Pods get of a Job with this spec; see objects.workload."""
    spec = at(obj, (kind.replicas or ())[:-1])
    own = f"({spec}.?manualSelector.orValue(false) ? [] : {literal(sorted(kind.added_labels))})"
    modes = f"{spec}.?completionMode.orValue('NonIndexed')"
    indexed = f"({modes} == 'NonIndexed' ? [] : {literal(sorted(kind.possible_labels))})"
    return f"{own} + {indexed}" if possible else own


def given_labels(obj: str) -> str:
    """Return CEL for the labels that follow from the name of a CronJob; see objects.workload."""
    uids = ", ".join(f"'{key}': 'UID'" for key in JOB_LABELS if key.endswith("-uid"))
    names = ", ".join(f"'{key}': n" for key in JOB_LABELS if not key.endswith("-uid"))
    given = f"n.size() <= {LONGEST_VALUE} ? {{{uids}, {names}}} : {{{uids}}}"
    named = bound(f"{obj}.metadata.?name.orValue('') + '-TIME'", "n", given)
    own = f"{obj}.?spec.?jobTemplate.?spec.?manualSelector.orValue(false)"
    return f"request.kind.kind == 'CronJob' && !{own} ? {named} : {{}}"


def own_selector(kinds: Iterable[Kind], obj: str) -> str:
    """Return CEL for the workload's own selector as a LabelSelector; `{}` where it has none."""
    usual = [cel_name(kind) for kind in kinds if kind.template == TEMPLATE_PATH]
    selector = f"{obj}.?spec.?selector"
    of_rc = f"{selector}.hasValue() ? {{'matchLabels': {selector}.value()}} : {{}}"
    return by_case(
        "variables.kind",
        {of_rc: ["/ReplicationController"], f"{selector}.orValue({{}})": usual},
        "{}",
    )


def _places(kinds: Iterable[Kind], field: str) -> Mapping[FieldPath, list[str]]:
    """Return the names of the kinds by the path that they have in a field, the empty path for none."""
    names: dict[FieldPath, list[str]] = {}
    for kind in kinds:
        names.setdefault(getattr(kind, field) or (), []).append(cel_name(kind))
    return {place: sorted(set(of)) for place, of in names.items()}


def _chosen(places: Mapping[FieldPath, list[str]], expression: Callable[[FieldPath], str]) -> str:
    """Return CEL for the expression at the place that the kind of the object has; most kinds have the last one."""
    *few, (usual, _) = sorted(places.items(), key=lambda item: len(item[1]))
    return by_case("variables.kind", {expression(place): names for place, names in few}, expression(usual))
