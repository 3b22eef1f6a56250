"""The catalogue of rules as a Markdown page, written from the rules themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

import yaml

from webhook.findings.finding import Severity
from webhook.findings.rule import Rule
from webhook.kubernetes.likeness import most_like
from webhook.rules import RULES

RULES_INTRODUCTION = """\
# Rules

| severity | what the webhook does | what `evenkeel lint` does |
| --- | --- | --- |
| `error` | denies the object, with `enforcement: Deny` in the policy | reports it, and exits with 1 |
| `warning` | warns | reports it; exits with 1 if you give `--fail-on warning` |
| `info` | nothing; reports show it | reports it |
| `ignore` | nothing | nothing |

A [policy](policy.md) can set the severity of each rule, and make a rule [enforced](policy.md#enforced-rules). Rules
whose default is `ignore` are for a platform team's own policy.

evenkeel reports at most one rule for a field: the gravest. Among equals, a rule yields to those that it names. It
reports a rule as skipped if the rule needs labels, nodes or other workloads that are not known. No rule knows nodes
that an autoscaler would add.

**Advice.** Some rules find what is true only while the cluster is as it is now, what may be intended, or what
concerns evenkeel itself. These are at most a `warning`: evenkeel refuses a policy that makes them an `error` or
enforced. They do not judge what a controller creates.

**Examples** show only the lines that differ between a bad (-) and a good (+) object. `evenkeel rules ID -o json` has
the whole objects.

[`evenkeel manifests --engine policy`](engine.md) prints ValidatingAdmissionPolicies for the rules that `evenkeel rules`
lists as `in CEL`.
"""


def page() -> str:
    """Return the whole catalogue, after the rules by their default severity."""
    index = [
        f"- `{severity}`: {', '.join(_link(rule.id) for rule in RULES.values() if rule.severity is severity)}"
        for severity in Severity
    ]
    return "\n".join((RULES_INTRODUCTION, *index, "", *("\n".join(section(rule)) for rule in RULES.values())))


def table() -> str:
    """Return a line for each rule: its id, its default severity, whether CEL can express it, what it finds."""
    width = max(map(len, RULES))
    return "\n".join(
        f"{rule.id:<{width}}  {rule.severity:<7}  {'in CEL' if rule.cel else 'not in CEL':<10}  {rule.title}"
        for rule in RULES.values()
    )


def section(rule: Rule) -> Iterator[str]:
    """Yield one rule, always in the same order."""
    advice = ", advice" if rule.advice else ""
    yield from (f"## {rule.id}", "", f"`{rule.severity}`{advice}: {rule.title}.", "", rule.rationale, "")
    if rule.context:
        yield from (f"Beside {', '.join(map(_beside, yaml.safe_load_all(rule.context)))}:", "")
    yield from ("```diff", *_difference(rule), "```", "")
    yield from (f"Fix: {rule.fix}.", "")
    if rule.parameters:
        yield from ("| parameter | default | what it is |", "| --- | --- | --- |")
        yield from (_parameter(name, schema, rule) for name, schema in rule.parameters.items())
        yield ""
    if rule.severity is Severity.IGNORE:
        setting = json.dumps({"severity": "error", **rule.example}).replace('"', "")
        yield from (f"To switch it on: `rules: {{{rule.id}: {setting}}}`", "")
    if rule.yields_to:
        yield from (f"Yields to {', '.join(map(_link, rule.yields_to))}.", "")


def _link(id: str) -> str:
    return f"[`{id}`](#{id})"


def _beside(manifest: Mapping[str, Any]) -> str:
    """Return the kind, the name and the labels of an object, but not the name of a node again."""
    labels = {**manifest["metadata"].get("labels", {})}
    labels.pop("kubernetes.io/hostname", None)
    described = f" ({', '.join(f'{key}={value}' for key, value in labels.items())})" if labels else ""
    return f"{manifest['kind']} {manifest['metadata']['name']}{described}"


def _difference(rule: Rule) -> list[str]:
    """Return the lines in which the good example differs from the bad one."""
    lines = [*unified_diff(rule.bad.splitlines(), rule.good.splitlines(), n=0, lineterm="")][2:]
    return [line for line in lines if not line.startswith("@@")]


def _parameter(name: str, schema: Mapping[str, object], rule: Rule) -> str:
    needed = "needed" if rule.required == (name,) else f"one of {' and '.join(rule.required)}"
    preset = f"`{json.dumps(schema['default'])}`" if "default" in schema else "none"
    default = needed if name in rule.required else preset
    return f"| `{name}` | {default} | {schema['description']} |"


def suggestion(name: str) -> str:
    """Return a hint for the name of a rule that does not exist."""
    near = most_like(name, RULES)
    return f"did you mean {near}?" if near else "evenkeel rules lists them"
