"""missing-constraints in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.findings.wording import LINE_LIMIT
from webhook.manifests.cel import cut, in_order, yaml_text
from webhook.manifests.check import LONGEST_KEY, CelCheck, CelObject
from webhook.objects.names import REQUIRED_TERMS, ZONE
from webhook.objects.workload import MOST_TEMPLATES


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of all constraints together; its items are the keys that are missing."""
    asked, least, have = obj.parameter("topologyKeys"), obj.parameter("minReplicas"), obj.variable("topology_keys")
    spec, replicas = f"{obj.variable('template')}.?spec", obj.variable("replicas")
    bound_pod = f"request.kind.kind == 'Pod' && ({spec}.?nodeName.orValue('') != '' || {_to_one_node(spec)})"
    exempt = f"request.kind.kind == 'DaemonSet' || {replicas} < {least} && {least} > 1 || {bound_pod}"
    missing = f"{asked}.size() > 0 ? {asked}.filter(k, !(k in {have})) : {have}.size() == 0 ? ['{ZONE}'] : []"
    of_key = f"({have}.size() > 0 ? ' for ' + c : '')"
    constraint = f"{{maxSkew: 1, topologyKey: ' + {yaml_text('c')} + ', whenUnsatisfiable: ScheduleAnyway"
    offered = f"'add {constraint}, labelSelector: {{matchLabels: ' + variables.own_labels_in_yaml + '}}}}'"
    offers = f"c in {obj.in_part('offered')} && variables.own_labels.size() > 0"
    offers += f" && {spec}.?nodeName.orValue('') == ''"
    kept = cut("k", LONGEST_KEY)
    keys = cut(f"{in_order(f'{have}.map(k, {kept})')}.join(', ')", LINE_LIMIT)
    yield CelCheck(
        field="",
        whole=True,
        items=f"{obj.variable('template')}.size() == 0 || {exempt} ? [] : {missing}",
        message=f"string({replicas}) + ({replicas} == 1 ? ' replica' : ' replicas') + ', but none' + {of_key}",
        found=f"{have}.size() == 0 ? 'no constraint' : {keys}",
        fix=f"{offers} ? {offered} : 'add a constraint for ' + c",
    )


def _to_one_node(spec: str) -> str:
    """Return CEL for: node affinity requires one node by its name; see Workload.affine_to_one_node."""
    terms = f"{spec}.?affinity.?nodeAffinity.?{REQUIRED_TERMS}.?nodeSelectorTerms.orValue([])"
    fields = "t.?matchFields.orValue([])"
    naming = "m.?key.orValue('') == 'metadata.name' && m.?operator.orValue('') == 'In'"
    few_fields = f"{terms}.all(t, {fields}.size() <= {MOST_TEMPLATES})"
    few = f"{terms}.size() > 0 && {terms}.size() <= {MOST_TEMPLATES} && {few_fields}"
    named = f"{terms}[0].?matchFields.orValue([]).filter(m, {naming}).map(m, m.values)"
    same = f"{terms}.all(t, {fields}.exists(m, {naming}) && {fields}.all(m, !({naming}) || m.values == v))"
    return f"({few} && {named}.exists(v, v.size() == 1 && {same}))"
