"""What of the chart is generated: the values' table and schema from values.yaml, and what the program knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import yaml

from tests.generate.markdown import table as markdown_table
from tests.support import ROOT
from webhook.kubernetes.kinds import KINDS, Kind
from webhook.kubernetes.names import SKIP_LABEL, SYSTEM_NAMESPACES
from webhook.kubernetes.operators import places, versions_of
from webhook.kubernetes.workload import MOST_TEMPLATES
from webhook.manifests import cel, conditions
from webhook.manifests import configurations as made
from webhook.manifests.ca_bundle_guard import BY, CA_BUNDLE_NAME, CONDITION, ca_bundle_policy
from webhook.manifests.configurations import NEEDED_NAMESPACES, POLICIES_SINCE, entry_name
from webhook.manifests.rbac import rules, viewer_rules
from webhook.manifests.skip_label import EXPRESSION, MESSAGE_EXPRESSION, SKIP_LABEL_NAME, VALIDATION, skip_label_policy
from webhook.policy import parsing as policies
from webhook.policy.schema import schema as policy_schema
from webhook.rules import RULES, WITHOUT_CONSTRAINTS
from webhook.server.settings import SETTINGS
from webhook.spread.constraint import ACTIONS
from webhook.spread.default_constraints import DEFAULTING_TYPES

FOLDER = ROOT / "charts" / "evenkeel"
TYPES = {"bool": "boolean", "int": "integer", "str": "string", "map": "object", "seq": "array"}
JSON_SCHEMA = "@schema "
QUANTITY = {"type": ["string", "number"], "pattern": r"^[0-9]+([.][0-9]*)?(m|[kMGTPE]|[KMGTPE]i|e[0-9]+)?$"}
QUANTITIES = {"type": "object", "additionalProperties": QUANTITY}
RESOURCES = {
    "type": "object",
    "properties": {"requests": QUANTITIES, "limits": QUANTITIES},
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Value:
    """One value of the chart: where it stands, its default, the comment above it, and the values in it."""

    path: tuple[str, ...]
    default: object
    type: str
    description: str
    given: dict[str, object]
    inside: tuple[Value, ...]

    @property
    def schema(self) -> dict[str, object]:
        """JSON Schema: no other values than these where any of them is described."""
        found: dict[str, object] = {"type": self.type} if "$ref" not in self.given else {}
        if self.description:
            found["description"] = self.description
        if self.inside:
            found["properties"] = {one.path[-1]: one.schema for one in self.inside}
            found["additionalProperties"] = False
            found["required"] = [one.path[-1] for one in self.inside if not one.may_be_null]
        return found | self.given

    @property
    def may_be_null(self) -> bool:
        """Whether null, by which Helm removes a default, means the same as an empty value."""
        may_be_empty = (self.type in ("object", "array") and "minItems" not in self.given) or self.default == ""
        return not self.inside and may_be_empty

    def rows(self) -> Iterator[tuple[str, ...]]:
        """A row of the table for each value that is described."""
        if self.inside:
            for one in self.inside:
                yield from one.rows()
        else:
            shown = json.dumps(self.default) if self.type != "array" or not self.default else "see values.yaml"
            yield f"`{'.'.join(self.path)}`", f"`{shown}`", self.description


def values() -> Value:
    """All values, in the order of values.yaml; one without a comment is an error, unless all in it have one."""
    text = (FOLDER / "values.yaml").read_text("utf-8")
    return _read(yaml.compose(text), text.splitlines(), (), [])


def _read(node: yaml.Node, lines: list[str], path: tuple[str, ...], comment: list[str]) -> Value:
    given = [line.removeprefix(JSON_SCHEMA) for line in comment if line.startswith(JSON_SCHEMA)]
    words = " ".join(line for line in comment if not line.startswith(JSON_SCHEMA))
    pairs = node.value if isinstance(node, yaml.MappingNode) and not node.flow_style else []
    comments = [_above(lines, key.start_mark.line) for key, _ in pairs]
    described = [(key, value, above) for (key, value), above in zip(pairs, comments, strict=True) if above or not words]
    inside = tuple(_read(value, lines, (*path, key.value), above) for key, value, above in described)
    assert words or inside, f"values.yaml: {'.'.join(path)} has no comment"
    default = yaml.safe_load(yaml.serialize(node))
    return Value(path, default, TYPES[node.tag.rpartition(":")[2]], words, _merged(given), inside)


def _above(lines: list[str], number: int) -> list[str]:
    """The comment that ends in the line above line `number`."""
    found: list[str] = []
    while number and lines[number - 1].lstrip().startswith("# "):
        number -= 1
        found.insert(0, lines[number].lstrip().removeprefix("# "))
    return found


def _merged(given: list[str]) -> dict[str, object]:
    return {key: value for one in given for key, value in json.loads(one).items()}


def schema() -> str:
    """values.schema.json: Helm refuses what it does not allow, a policy with an unknown rule say."""
    whole = values().schema
    whole["properties"] |= {"global": {"type": "object", "description": "Values that Helm passes to every chart."}}
    head = {"$schema": "http://json-schema.org/draft-07/schema#"}
    return json.dumps(head | whole | {"$defs": {"policy": _policy(), "resources": RESOURCES}}, indent=2) + "\n"


def _policy() -> dict[str, object]:
    """
    The schema of a policy, and what the program refuses in words of its own, as far as a schema can say it.

    A replica does not start with a policy that it cannot use, so Helm is to find what is wrong.  The template finds a
    `builtIn` that is not known.
    """
    found = json.loads(json.dumps(policy_schema())) | {"required": []}
    del found["$schema"]
    override, workload = (found["properties"][name]["items"] for name in ("overrides", "workloads"))
    override["anyOf"] = [{"required": [name]} for name in ("namespaceSelector", "podSelector", "schedulerName")]
    workload["else"]["oneOf"] = [{"required": [name]} for name in ("podTemplate", "constraints")]
    workload["then"]["properties"]["builtIn"] = {"type": "string", "description": "a kind that evenkeel kinds lists"}
    for defaulting in (found["properties"]["defaulting"], override["properties"]["defaulting"]):
        given = {"required": ["defaultConstraints"], "properties": {"defaultConstraints": {"minItems": 1}}}
        defaulting |= {"if": given, "then": {"required": ["defaultingType"]}}
        defaulting["properties"]["defaultingType"] = {"enum": list(DEFAULTING_TYPES)}
        constraint = defaulting["properties"]["defaultConstraints"]["items"]
        constraint["properties"] |= {
            "maxSkew": {"type": "integer", "minimum": 1},
            "topologyKey": {"type": "string", "minLength": 1},
            "whenUnsatisfiable": {"enum": list(ACTIONS)},
            "minDomains": {"type": "integer", "minimum": 1},
        }
        constraint["required"] = ["maxSkew", "topologyKey", "whenUnsatisfiable"]
        del constraint["properties"]["labelSelector"]  # which is refused
    return dict(found)


def table() -> str:
    """The table of values in the chart's README."""
    return markdown_table(("value", "default", "what it is"), values().rows())


def program() -> str:
    """files/program.yaml: the tables from which the templates make webhook configurations, RBAC and policies."""
    guard, bound = (one["spec"] for one in skip_label_policy((), ()))
    held, held_by = (one["spec"] for one in ca_bundle_policy(""))
    known = {
        "names": {"mutate": made.MUTATING_NAME, "validate": made.NAME},
        "timeoutSeconds": made.TIMEOUT_SECONDS,
        "systemNamespaces": list(SYSTEM_NAMESPACES),
        "neededNamespaces": list(NEEDED_NAMESPACES),
        "furtherOptions": dict(_further_options()),
        "skipLabel": SKIP_LABEL,
        "builtIn": yaml.safe_load(policies.BUILT_IN),
        "severities": {rule.id: str(rule.severity) for rule in RULES.values()},
        "withoutConstraints": [rule.id for rule in WITHOUT_CONSTRAINTS],
        "toDefault": [dict(one) for one in conditions.TO_DEFAULT],
        "notByController": dict(conditions.NOT_BY_CONTROLLER),
        "notOwned": dict(conditions.NOT_OWNED),
        "celKeywords": sorted(cel.KEYWORDS),
        "long": MOST_TEMPLATES,
        "kinds": [_sent(kind) for kind in KINDS],
        "clusterRole": {
            "always": rules(),
            "viewer": viewer_rules(policies.built_in()),
        },
        "policiesSince": f"1.{POLICIES_SINCE}",
        "skipLabelPolicy": {
            "name": SKIP_LABEL_NAME,
            "policy": {field: value for field, value in guard.items() if field != "validations"},
            "validation": dict(VALIDATION),
            "expression": EXPRESSION,
            "messageExpression": MESSAGE_EXPRESSION,
            "binding": bound,
        },
        "caBundlePolicy": {
            "name": CA_BUNDLE_NAME,
            "condition": {"name": CONDITION, "by": BY},
            "policy": {field: value for field, value in held.items() if field != "matchConditions"},
            "binding": held_by,
        },
    }
    return f"# What the program knows and the chart needs; `make docs` writes it.\n{_yaml(known)}"


def _further_options() -> Iterator[tuple[str, str]]:
    """Yield the options of `evenkeel serve` that no value sets, each with its environment variable."""
    deployment = (FOLDER / "templates" / "deployment.yaml").read_text("utf-8")
    for setting in SETTINGS:
        if setting.metavar and f"{setting.flag}=" not in deployment:
            yield setting.flag, setting.variable


def operators() -> str:
    """files/operators.yaml: what has the objects sent of the kinds that a policy names by `builtIn`."""
    lines = list[str]()
    for name, of_kind in groupby(places(), key=attrgetter("name")):
        first, *others = of_kind
        sent = {"group": first.group, "versions": versions_of((first, *others)), "resource": first.resource}
        lines.append(f"{name}: {json.dumps(sent)}\n")
    return f"# The custom resources that a policy may name; `make docs` writes it.\n{''.join(lines)}"


def _sent(kind: Kind) -> dict[str, object]:
    """What the templates ask of a kind, to have its objects sent."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "resource": kind.resource,
        "webhook": entry_name(kind),
        "builtIn": kind.built_in,
        "template": kind.template is not None,
        "anchor": list(kind.anchor),
    }


def _yaml(found: object) -> str:
    return yaml.safe_dump(found, sort_keys=False, width=1_000, default_flow_style=None)
