"""The JSON Schema of a policy file, made from the rules, and its complaints in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache

from webhook.findings.finding import Severity
from webhook.findings.rule import ADVICE_ONLY, Rule
from webhook.findings.wording import HELP_LIMIT
from webhook.kubernetes import json_schema
from webhook.kubernetes.fields import FieldPath
from webhook.kubernetes.json_schema import Schema, object_schema
from webhook.kubernetes.operators import names
from webhook.rules import RULES
from webhook.spread.constraint import ACTIONS
from webhook.spread.default_constraints import DEFAULTING_TYPES

POLICY_API_VERSION, POLICY_KIND = "config.evenkeel.dev/v1alpha1", "SpreadPolicy"
ENFORCEMENTS = ("Deny", "Warn", "Audit")
OWNED = ("Audit", "Deny")
DEFAULTING_MODES = ("Apply", "Audit")
ON_ERROR = ("Allow", "Deny")
BUILT_IN_NAME = "builtIn"
STRING: Schema = {"type": "string", "minLength": 1}
_STRINGS: Schema = {"type": "array", "items": STRING}
_PATH: Schema = {"type": "string", "pattern": r"^[A-Za-z0-9_-]+(\[\*\])?(\.[A-Za-z0-9_-]+(\[\*\])?)*$"}
# No core group: its Pod templates are built in, and evenkeel must not get to read Secrets because a policy names them.
_API_VERSION_SCHEMA: Schema = {
    "type": "string",
    "pattern": r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
}
_RESOURCE_NAME: Schema = {"type": "string", "pattern": r"^[a-z]([-a-z0-9]*[a-z0-9])?$"}
_HELP: Schema = {
    **STRING,
    "maxLength": HELP_LIMIT,
    "description": "a line or a URL, printed after the message of the rule",
}
_HELP_WITH_ALL: Schema = {**_HELP, "description": "a line or a URL, printed once in each answer that warns or denies"}
DAY: Schema = {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_WANTED_FORMS: Mapping[object, str] = {  # what a message says instead of the pattern
    DAY["pattern"]: "a day such as 2027-01-31",
    _PATH["pattern"]: "a path such as spec.template or spec.sets[*].template",
    _API_VERSION_SCHEMA["pattern"]: "GROUP/VERSION; kinds of the core group are built in",
    _RESOURCE_NAME["pattern"]: "the plural name of one resource in lower case, such as rollouts",
}
_NOTICE = object_schema(
    **{
        "from": {**DAY, "description": "the first day on which it denies, in UTC"},
        "contact": {**STRING, "maxLength": 40, "description": "whom to ask"},
        "url": {**STRING, "maxLength": 80, "description": "where to read more"},
    }
)


def _rule(rule: Rule) -> Schema:
    severities: Schema = {"enum": [str(severity) for severity in rule.severities]}
    enforced: Schema = {"const": False, "description": ADVICE_ONLY} if rule.advice else {"type": "boolean"}
    setting = object_schema(severity=severities, enforced=enforced, help=_HELP, notice=_NOTICE, **rule.parameters)
    return {"description": rule.title, "if": {"type": "object"}, "then": setting, "else": severities}


_DEFAULT_CONSTRAINT = object_schema(
    maxSkew={"type": "integer"},
    topologyKey={"type": "string"},
    whenUnsatisfiable={"type": "string", "description": " or ".join(ACTIONS)},
    minDomains={"type": "integer"},
    nodeAffinityPolicy={"type": "string"},
    nodeTaintsPolicy={"type": "string"},
    matchLabelKeys={"type": "array", "items": {"type": "string"}},
    labelSelector={"description": "refused, as in kube-scheduler: it is derived for each Pod"},
)
DEFAULTING = object_schema(
    defaultingType={"type": "string", "description": " or ".join(DEFAULTING_TYPES)},
    defaultConstraints={"type": "array", "items": _DEFAULT_CONSTRAINT},
)
_WORKLOAD = object_schema(
    ("apiVersion", "kind", "resource"),
    apiVersion=_API_VERSION_SCHEMA,
    kind=STRING,
    resource=_RESOURCE_NAME,
    podTemplate={**_PATH, "description": "the path of the Pod template; [*] is each item of a list"},
    constraints={**_PATH, "description": "the path of the constraints, in a kind without a Pod template"},
    labels={**_PATH, "description": "with constraints: the path of the labels of the Pods"},
    replicas=_PATH,
    addedLabels={**_STRINGS, "description": "label keys that the controller puts on every Pod"},
)


@cache
def schema() -> dict[str, object]:
    """Return the whole JSON Schema, of draft 2020-12."""
    rules = object_schema(**{rule.id: _rule(rule) for rule in RULES.values()})
    expression = object_schema(("key", "operator"), key=STRING, operator=STRING, values={"type": "array"})
    selector = object_schema(
        matchLabels={"type": "object", "additionalProperties": {"type": "string"}},
        matchExpressions={"type": "array", "items": expression},
    )
    enforcement, owned = {"enum": list(ENFORCEMENTS)}, {"enum": list(OWNED)}
    defaulting_mode: Schema = {
        "enum": list(DEFAULTING_MODES),
        "description": "Audit: Pods get no default constraints, and evenkeel records which ones they would get",
    }
    override = object_schema(
        ("name",),
        name=STRING,
        namespaceSelector=selector,
        podSelector=selector,
        schedulerName=STRING,
        until={**DAY, "description": "the last day on which it applies, in UTC"},
        enforcement=enforcement,
        ownedObjects=owned,
        notice=_NOTICE,
        rules=rules,
        defaulting=DEFAULTING,
        defaultingMode=defaulting_mode,
    )
    named: Schema = {"enum": list(names()), "description": "a kind that evenkeel kinds lists"}
    workload: Schema = {
        "if": {"type": "object", "required": [BUILT_IN_NAME]},
        "then": object_schema((BUILT_IN_NAME,), **{BUILT_IN_NAME: named}),
        "else": _WORKLOAD,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": POLICY_KIND,
        **object_schema(
            ("apiVersion", "kind"),
            apiVersion={"const": POLICY_API_VERSION},
            kind={"const": POLICY_KIND},
            enforcement=enforcement,
            ownedObjects=owned,
            help=_HELP_WITH_ALL,
            notice=_NOTICE,
            earlyAnswer={"type": "boolean"},
            onError={"enum": list(ON_ERROR)},
            defaulting=DEFAULTING,
            defaultingMode=defaulting_mode,
            rules=rules,
            workloads={"type": "array", "items": workload},
            overrides={"type": "array", "items": override},
        ),
    }


def complaints(raw: object, against: Schema, path: FieldPath = ()) -> Iterator[str]:
    """Yield a line for each value in `raw`, which is at `path`, that a schema of a policy does not allow."""
    return json_schema.complaints(raw, against, path, forms=_WANTED_FORMS, hint=_hint)


def _hint(value: object, allowed: Collection[object]) -> str:
    """Return the end of a message about a value that is not `allowed`: how a severity is meant to be written."""
    if value is False and Severity.IGNORE in allowed:
        return "; YAML reads a bare off as false: write ignore"
    if value == Severity.ERROR and Severity.WARNING in allowed:
        return f": {ADVICE_ONLY}"
    return ""
