"""
The variables of what is known of an object, whatever rules there are; those of the old object end in `_before`.

Each begins with a bound on sizes: an object that is too large to judge has no constraints here, see admission.cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.admission.cost import MOST_CONSTRAINTS, MOST_SELECTOR_VALUES
from webhook.admission.ownership import ACCOUNTS, CHAIN, LONGEST_NAME, MANAGER
from webhook.findings.rule import MOST_LABELS_COPIED
from webhook.findings.wording import OBJECT_LIMIT
from webhook.manifests import kinds as of_kinds
from webhook.manifests.cel import as_object, begin, bound, cut, inside, labels_in_yaml, literal, matches
from webhook.manifests.conditions import MOST_ITEMS_READ
from webhook.manifests.constraint_list import as_read, values_in_expressions, values_outside_expressions, with_objects
from webhook.objects.kinds import Kind
from webhook.objects.names import DEFAULT_SCHEDULER, IGNORE_ANNOTATION
from webhook.objects.workload import LONGEST_IGNORE
from webhook.policy.policy import Override

Variables = Iterator[tuple[str, str]]


def of_object(kinds: Sequence[Kind], overrides: Sequence[Override], suffix: str) -> Variables:
    """Yield name and expression of each variable of the object, or of the old one, which may not be there."""
    obj = "dyn(oldObject)" if suffix else "dyn(object)"

    def there(expression: str, otherwise: str = "{}") -> str:
        return f"oldObject == null ? {otherwise} : {expression}" if suffix else expression

    custom = any(not kind.built_in for kind in kinds)
    yield f"template{suffix}", there(of_kinds.template(kinds, obj))
    template = f"variables.template{suffix}"
    listed = f"{template}.?spec.?topologySpreadConstraints.orValue([])"
    yield f"listed{suffix}", bound(listed, "l", "type(l) == list ? l : []") if custom else listed
    listed = f"variables.listed{suffix}"
    few = f"{listed}.size() <= {MOST_CONSTRAINTS}"
    counted = f"variables.built_in ? {listed} : {listed}.map(c, {with_objects()})"
    yield f"counted{suffix}", f"!({few}) ? [] : {counted}" if custom else listed
    outer = values_outside_expressions()
    limits = [
        f"variables.counted{suffix}.map(c, {numbers}).sum() <= {MOST_SELECTOR_VALUES}"
        for numbers in (outer, f"{outer} + {values_in_expressions()}")
    ]
    yield f"fits{suffix}", " && ".join((few, *limits))
    read = f"variables.built_in ? {listed} : {listed}.map(c, {as_read()})"
    yield f"constraints{suffix}", f"!variables.fits{suffix} ? [] : {read if custom else listed}"
    yield f"topology_keys{suffix}", f"variables.constraints{suffix}.map(c, c.topologyKey)"
    yield f"labels{suffix}", as_object(f"{template}.?metadata.?labels.orValue({{}})")
    yield f"added{suffix}", there(of_kinds.added_labels(kinds, obj), "[]")
    yield f"surely_added{suffix}", there(of_kinds.added_labels(kinds, obj, possible=False), "[]")
    yield f"given{suffix}", there(of_kinds.given_labels(obj))
    yield f"replicas{suffix}", there(of_kinds.replicas(kinds, obj), "1")
    yield f"part{suffix}", _part(overrides, suffix)


def of_request(kinds: Sequence[Kind]) -> Variables:
    """Yield name and expression of each variable that comes before those of the object."""
    yield "kind", "request.kind.group + '/' + request.kind.kind"
    custom = sorted({of_kinds.cel_name(kind) for kind in kinds if not kind.built_in})
    yield "built_in", f"!(variables.kind in {literal(custom)})"
    yield "namespace_labels", "namespaceObject == null ? {} : namespaceObject.metadata.?labels.orValue({})"
    references = "object.?metadata.?ownerReferences.orValue([])"
    few = f"{references}.size() <= {MOST_ITEMS_READ}"
    yield "owner", f"{few} ? {references}.filter(r, r.?controller.orValue(false)) : []"
    yield "has_owner", f"!({few}) || variables.owner.size() > 0"
    yield "by_controller", _by_controller()


def of_messages(kinds: Sequence[Kind]) -> Variables:
    """Yield name and expression of each variable that only messages need."""
    yield "path", of_kinds.path(kinds)
    half = OBJECT_LIMIT // 2
    name = "object.metadata.?name.orValue(object.metadata.?generateName.orValue(''))"
    namespace = "request.?namespace.orValue('')"
    about = f"request.kind.kind + ' ' + ({namespace} == '' ? '' : {namespace} + '/') + {name}"
    short = f"a.substring(0, {half - 1}) + '…' + a.substring(a.size() - {half})"
    yield "about", bound(about, "a", f"a.size() <= {OBJECT_LIMIT} ? a : {short}")
    kept = f"s.matchLabels.size() <= {MOST_LABELS_COPIED} && s.matchLabels.all(k, k in variables.labels"
    kept += " && variables.labels[k] == s.matchLabels[k] && !(k in variables.added))"
    own = of_kinds.own_selector(kinds, "dyn(object)")
    yield (
        "own_selector",
        bound(f"({own})", "s", f"s.size() == 1 && 'matchLabels' in s && {kept} ? s.matchLabels : {{}}"),
    )
    yield "own_selector_in_yaml", labels_in_yaml("variables.own_selector")
    few_labels = f"variables.labels.size() <= {MOST_LABELS_COPIED} && !variables.labels.all(k, k in variables.added)"
    yield (
        "own_labels",
        f"variables.own_selector.size() > 0 ? variables.own_selector : {few_labels} ? variables.labels : {{}}",
    )
    keys = "variables.own_labels.map(k, k).filter(k, !(k in variables.added))"
    yield "own_labels_in_yaml", labels_in_yaml("variables.own_labels", keys)
    owner = "variables.owner[0].kind + ' ' + variables.owner[0].name"
    named = cut(owner, LONGEST_NAME)
    yield "in_owner", f"variables.owner.size() == 0 ? '' : 'change its owner, ' + {named} + ': '"


def ignored() -> Variables:
    """Yield the variable of the rules that the annotation of the object, or of its Pod template, names."""
    places = (inside(root, ("metadata", "annotations", IGNORE_ANNOTATION)) for root in ("object", "variables.template"))
    both = " + ',' + ".join(
        begin(bound(place, "a", "type(a) == string ? string(a) : ''"), LONGEST_IGNORE) for place in places
    )
    yield "ignored", f"({both}).split(',').map(r, r.trim())"


def _part(overrides: Sequence[Override], suffix: str) -> str:
    """Return CEL for the part of the policy that is in force: 0 for itself, and the number of an override from 1 on."""
    scheduler = f"variables.template{suffix}.?spec.?schedulerName.orValue('')"
    conditions: list[str] = []
    for number, override in enumerate(overrides, 1):
        selectors = {
            "variables.namespace_labels": override.namespace_selector,
            f"variables.labels{suffix}": override.pod_selector,
        }
        meets = [matches(selector, labels) for labels, selector in selectors.items() if selector is not None]
        if override.scheduler_name is not None:
            names = [override.scheduler_name, *([""] if override.scheduler_name == DEFAULT_SCHEDULER else [])]
            meets.append(f"{scheduler} in {literal(names)}")
        conditions.append(f"{' && '.join(meets) or 'true'} ? {number} : ")
    return "".join(conditions) + "0"


def _by_controller() -> str:
    """Return CEL for: the built-in controller of the owner sends the object; see admission.ownership."""
    accounts = {
        kind: {f"{version} {owner}": ACCOUNTS + account for (version, owner), account in owners.items()}
        for kind, owners in CHAIN.items()
    }
    account = f"{literal(accounts)}[?request.kind.kind][?r.?apiVersion.orValue('') + ' ' + r.?kind.orValue('')]"
    user = "request.?userInfo.?username.orValue('')"
    sent = f"[{account}.orValue('')].exists(a, a != '' && {user} in ['{MANAGER}', a])"
    return f"variables.owner.exists(r, {sent})"
