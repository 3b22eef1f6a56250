"""
The variables of the rules in CEL, which say when a rule finds nothing; those of the old object begin with `old_`.

The API server evaluates a variable once, when it is first used.  Each object is of a built-in kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.admission.cost import MOST_CONSTRAINTS, MOST_SELECTOR_VALUES
from webhook.admission.ownership import ACCOUNTS, CHAIN, MANAGER
from webhook.kubernetes.kinds import BATCH, BUILT_IN_KINDS, JOB_LABELS
from webhook.kubernetes.names import IGNORE_ANNOTATION, REQUIRED_TERMS
from webhook.kubernetes.workload import LONGEST_IGNORE, MOST_TEMPLATES
from webhook.manifests.cel import begin, literal

Variables = Iterator[tuple[str, str]]

_IS_JOB = f"request.kind.kind in {literal([kind.kind for kind in BUILT_IN_KINDS if kind.api_version == BATCH])}"
_LABELS, _EXPRESSIONS = "c.?labelSelector.?matchLabels.orValue({})", "c.?labelSelector.?matchExpressions.orValue([])"
_VALUES = "1 + c.size() + c.?labelSelector.orValue({}).size() + c.?matchLabelKeys.orValue([]).size()"
_VALUES += f" + {_LABELS}.size() + {_EXPRESSIONS}.size()"
_VALUES_OF_EXPRESSIONS = f"{_EXPRESSIONS}.map(e, e.size() + e.?values.orValue([]).size()).sum()"
_GIVEN = ", ".join(f"'{key}': {'name' if key.endswith('-name') else repr('UID')}" for key in JOB_LABELS)
_TERM = "t.?matchExpressions.orValue([])"  # The requirements on labels of a term of node affinity.
_OF_OBJECT = {
    "template": "request.kind.kind == 'Pod' ? dyn(object) : request.kind.kind == 'PodTemplate' ? dyn(object).template"
    " : request.kind.kind == 'CronJob' ? dyn(object).spec.jobTemplate.spec.template : dyn(object).spec.template",
    "spec": "variables.template.?spec.orValue({})",
    "constraints": "variables.spec.?topologySpreadConstraints.orValue([])",
    # Only what evenkeel judges, see admission.cost; the second bound keeps the third from looking at too much.
    "fits": f"variables.constraints.size() <= {MOST_CONSTRAINTS}"
    f" && variables.constraints.map(c, {_VALUES}).sum() <= {MOST_SELECTOR_VALUES}"
    f" && variables.constraints.map(c, {_VALUES} + {_VALUES_OF_EXPRESSIONS}).sum() <= {MOST_SELECTOR_VALUES}",
    # The spec of what makes the Pods: a Deployment, say, or a CronJob's Jobs.
    "workload": "request.kind.kind == 'CronJob' ? dyn(object).spec.jobTemplate.spec : dyn(object).?spec.orValue({})",
    "replicas": f"{_IS_JOB} ? [variables.workload.?parallelism.orValue(1),"
    " variables.workload.?completions.orValue(variables.workload.?parallelism.orValue(1))].min()"
    " : variables.workload.?replicas.orValue(1)",
    # labels: those in the template.  added: the keys that each Pod gets from its controller.  carried: also those that
    # it may get.  given: the values of added ones, as far as they are known.
    "labels": "variables.template.?metadata.?labels.orValue({})",
    "added": "variables.workload.?manualSelector.orValue(false) ? []"
    f" : {literal({kind.kind: [*kind.added_labels] for kind in BUILT_IN_KINDS})}[request.kind.kind]",
    "carried": f"variables.added + ({_IS_JOB}"
    " && variables.workload.?completionMode.orValue('NonIndexed') == 'NonIndexed' ? []"
    f" : {literal({kind.kind: [*kind.possible_labels] for kind in BUILT_IN_KINDS})}[request.kind.kind])",
    "given": "request.kind.kind != 'CronJob' || variables.added.size() == 0 ? {}"
    f" : [object.metadata.name + '-TIME'].map(name, name.size() <= 63 ? {{{_GIVEN}}}"
    " : {'controller-uid': 'UID', 'batch.kubernetes.io/controller-uid': 'UID'})[0]",
    # As the DaemonSet controller writes it into each Pod: each term asks for the same node by its name.
    "terms": f"variables.spec.?affinity.?nodeAffinity.?{REQUIRED_TERMS}.?nodeSelectorTerms.orValue([])",
    # The keys for which each term asks for the same value.
    "one_value_keys": f"variables.terms.size() == 0 || variables.terms.size() > {MOST_TEMPLATES}"
    f" || variables.terms.exists(t, {_TERM}.size() > {MOST_TEMPLATES}) ? []"
    f" : {_TERM.replace('t.', 'variables.terms[0].', 1)}.filter(e, e.operator == 'In' && e.values.size() == 1"
    f" && variables.terms.all(t, {_TERM}.exists(o, o.key == e.key && o.operator == 'In' && o.values == e.values)))"
    ".map(e, e.key)",
    "runs_on_one_node": f"variables.spec.?nodeName.orValue('') != '' || variables.terms.size() <= {MOST_TEMPLATES}"
    f" && variables.terms.all(t, t.?matchFields.orValue([]).size() <= {MOST_TEMPLATES})"
    " && [variables.terms.map(t, t.?matchFields.orValue([]).filter(f, f.operator == 'In').map(f, f.values[0]))].exists("
    "names, names.all(of_term, of_term.size() > 0) && names.flatten().distinct().size() == 1)",
}


def of_object(root: str, prefix: str) -> Variables:
    """Yield name and expression of the variables about `object` or `oldObject`."""
    for name, expression in _OF_OBJECT.items():
        yield f"{prefix}{name}", expression.replace("object", root).replace("variables.", f"variables.{prefix}")


def of_new_object() -> Variables:
    """Yield name and expression of what spares the new object from rules: its owner, its sender, its annotations."""
    references = "object.metadata.?ownerReferences.orValue([])"
    few = f"{references}.size() <= {MOST_TEMPLATES}"
    yield "owners", f"{few} ? {references}.filter(r, r.?controller.orValue(false)) : []"
    yield "owned", f"!({few}) || variables.owners.size() > 0"
    accounts = {
        kind: {f"{version} {owner}": ACCOUNTS + account for (version, owner), account in owners.items()}
        for kind, owners in CHAIN.items()
    }
    account = f"{literal(accounts)}[?request.kind.kind][?r.apiVersion + ' ' + r.kind]"
    sends = f"request.userInfo.?username.orValue('') in ['{MANAGER}', account]"
    yield "by_controller", f"variables.owners.exists(r, {account}.optMap(account, {sends}).orValue(false))"
    annotation = f".?metadata.?annotations[?'{IGNORE_ANNOTATION}'].orValue('')"
    values = (begin(root + annotation, LONGEST_IGNORE) for root in ("dyn(object)", "variables.template"))
    joined = " + ',' + ".join(values)
    yield "ignored", f"({joined}).split(',').map(id, id.trim())"
