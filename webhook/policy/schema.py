"""The JSON Schema of a policy file, made from the rules, and its complaints in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from webhook.findings.finding import Severity
from webhook.findings.rule import ADVICE_ONLY, Rule
from webhook.findings.wording import HELP_LIMIT
from webhook.objects.fields import FieldPath, as_mapping, path_text
from webhook.objects.reading import brief
from webhook.rules import RULES
from webhook.scheduler.constraint import ACTIONS
from webhook.scheduler.default_constraints import DEFAULTING_TYPES

if TYPE_CHECKING:
    from jsonschema import ValidationError

POLICY_API_VERSION, POLICY_KIND = "config.evenkeel.dev/v1alpha1", "SpreadPolicy"
ENFORCEMENTS = ("Deny", "Warn", "Audit")
OWNED = ("Audit", "Deny")
ON_ERROR = ("Allow", "Deny")
BUILT_IN_NAME = "builtIn"
Schema = Mapping[str, object]
MANY = 5  # Of more allowed values, the one that is near is named,
MOST_KEYS_NAMED = (
    40  # and of still more, those that are near, and no others: their schema's description says what they are.
)

STRING: Schema = {"type": "string", "minLength": 1}
_STRINGS: Schema = {"type": "array", "items": STRING}
_PATH: Schema = {"type": "string", "pattern": r"^[A-Za-z0-9_-]+(\[\*\])?(\.[A-Za-z0-9_-]+(\[\*\])?)*$"}
# The core group has Secrets, and whoever may read what a policy names could read them; its Pod templates are built in.
_API_VERSION_SCHEMA: Schema = {
    "type": "string",
    "pattern": r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
}
_RESOURCE_NAME: Schema = {"type": "string", "pattern": r"^[a-z]([-a-z0-9]*[a-z0-9])?$"}
_HELP: Schema = {**STRING, "maxLength": HELP_LIMIT, "description": "a line or a URL, put after what the rule says"}
DAY: Schema = {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_WANTED_FORMS = {
    DAY["pattern"]: "a day such as 2027-01-31",
    _PATH["pattern"]: "a path such as spec.template or spec.sets[*].template",
    _API_VERSION_SCHEMA["pattern"]: "GROUP/VERSION; kinds of the core group are built in",
    _RESOURCE_NAME["pattern"]: "the plural name of one resource in lower case, such as rollouts",
}


def object_schema(required: tuple[str, ...] = (), /, **properties: Schema) -> dict[str, object]:
    """Return the schema of an object with these fields and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_NOTICE = object_schema(
    **{
        "from": {**DAY, "description": "the day from which on it denies, in UTC"},
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
    labelSelector={"description": "refused, as kube-scheduler refuses it: it is derived for each Pod"},
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
    podTemplate={**_PATH, "description": "where the Pod template stands; [*] stands for each item of a list"},
    constraints={**_PATH, "description": "where the constraints stand, in a kind without a Pod template"},
    labels={**_PATH, "description": "with constraints: where the labels of the Pods stand"},
    replicas=_PATH,
    addedLabels={**_STRINGS, "description": "label keys that the controller puts on every Pod"},
)


@cache
def schema() -> dict[str, object]:
    """Return the whole schema, draft 2020-12."""
    from webhook.objects.operators import names  # which a server without a policy file does not need

    rules = object_schema(**{rule.id: _rule(rule) for rule in RULES.values()})
    expression = object_schema(("key", "operator"), key=STRING, operator=STRING, values={"type": "array"})
    selector = object_schema(
        matchLabels={"type": "object", "additionalProperties": {"type": "string"}},
        matchExpressions={"type": "array", "items": expression},
    )
    enforcement, owned = {"enum": list(ENFORCEMENTS)}, {"enum": list(OWNED)}
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
            notice=_NOTICE,
            earlyAnswer={"type": "boolean"},
            onError={"enum": list(ON_ERROR)},
            watchPods={"type": "boolean"},
            defaulting=DEFAULTING,
            rules=rules,
            workloads={"type": "array", "items": workload},
            overrides={"type": "array", "items": override},
        ),
    }


def complaints(raw: object, against: Schema, path: FieldPath = ()) -> Iterator[str]:
    """Yield a line for each thing in `raw`, which stands at `path`, that the schema does not allow."""
    import jsonschema  # The import takes long, and most commands need no policy file.

    errors = jsonschema.Draft202012Validator(against).iter_errors(raw)
    lines = (
        line
        for error in sorted(errors, key=lambda error: [str(part) for part in error.absolute_path])
        for line in _reasons(error, (*path, *error.absolute_path))
    )
    yield from dict.fromkeys(lines)


def _reasons(error: ValidationError, path: FieldPath) -> Iterator[str]:
    where = f"{_shown(path)}: " if path else ""
    wanted: Any = error.validator_value
    value: Any = error.instance
    if error.validator == "additionalProperties":
        known = list(as_mapping(as_mapping(error.schema)["properties"]))
        for name in sorted(set(map(str, value)) - set(known)):
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            yield f"{_shown((*path, name))}: unknown field; {hint}"
    elif error.validator == "required":
        missing = sorted(set(wanted) - set(value))
        yield f"{where}must have {', '.join(missing)}"
    elif error.validator == "const" and wanted is False:
        yield f"{where}found {brief(value)}, wanted false: {ADVICE_ONLY}"
    elif error.validator in ("enum", "const"):
        allowed = wanted if isinstance(wanted, list) else [wanted]
        names = as_mapping(error.schema)["description"] if len(allowed) > MOST_KEYS_NAMED else " or ".join(allowed)
        yield f"{where}found {brief(value)}, wanted {names}{_hint(value, allowed)}"
    elif error.validator == "type":
        yield f"{where}found {brief(value)}, wanted {_article(wanted)}"
    elif error.validator == "pattern":
        yield f"{where}found {brief(value)}, wanted {_WANTED_FORMS[wanted]}"
    elif error.validator == "minimum":
        yield f"{where}found {brief(value)}, wanted {wanted} or more"
    elif error.validator in ("minItems", "minProperties"):
        yield f"{where}found {brief(value)}, wanted {_some_of(as_mapping(error.schema))}"
    elif error.validator == "minLength":
        yield f"{where}found {brief(value)}, wanted a string that is not empty"
    elif error.validator == "maxLength":
        yield f"{where}found {len(value)} characters, wanted at most {wanted}"
    else:
        yield f"{where}found {brief(value)}, {error.validator} must be {wanted}"


def _hint(value: object, allowed: Collection[object]) -> str:
    if value is False and Severity.IGNORE in allowed:
        return "; YAML reads a bare off as false: write ignore"
    if value == Severity.ERROR and Severity.WARNING in allowed:
        return f": {ADVICE_ONLY}"
    most, alike = (3, 0.5) if len(allowed) > MOST_KEYS_NAMED else (1, 0.6)
    near = get_close_matches(value[:100], map(str, allowed), most, alike) if isinstance(value, str) else []
    return f"; did you mean {' or '.join(near)}?" if near and len(allowed) > MANY else ""


def _shown(path: FieldPath) -> str:
    """Return a path with its names cut and escaped as `brief` does it: they may be anything that YAML can hold."""
    return path_text(tuple(part if isinstance(part, int) else _escaped(part) for part in path))


def _escaped(name: str) -> str:
    return brief(name).removeprefix('"').removesuffix('"')


def _some_of(wanted: Schema) -> str:
    """Return what must not be empty."""
    known = as_mapping(wanted.get("properties"))
    return f"{' or '.join(known)} in it" if known else "at least one item"


def _article(names: str | list[str]) -> str:
    if isinstance(names, list):
        return " or ".join(map(_article, names))
    return f"an {names}" if names[0] in "aeiou" else f"a {names}"
