"""The catalogue of rules as a Markdown page, written from the rules themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff

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

A [policy](policy.md) can set the severity of each rule, and make a rule [enforced](enforced-rules.md). Rules whose
default is `ignore` are for a platform team's own policy: switch on those that you want.

evenkeel reports at most one rule for a field: the gravest. Among equals, a rule yields to those under its heading
"Yields to". It reports a rule as skipped if the rule needs labels, nodes or other workloads that are not known.

**Advice.** Some rules find what is true only while the cluster is as it is now, what may be intended, or what
concerns evenkeel itself. These are at most a `warning`. evenkeel refuses a policy that makes them an `error` or
enforced. They do not judge what a controller creates.

**CEL.** [`evenkeel manifests --engine policy`](engine.md) prints ValidatingAdmissionPolicies for the rules that CEL can
express. `evenkeel rules` says which rules these are.
"""


def page() -> str:
    """Return the whole catalogue."""
    table = ["| rule | default | finds |", "| --- | --- | --- |"]
    table += [f"| [`{rule.id}`](#{rule.id}) | {rule.severity} | {rule.title} |" for rule in RULES.values()]
    return "\n".join((RULES_INTRODUCTION, *table, "", *("\n".join(section(rule)) for rule in RULES.values())))


def table() -> str:
    """Return a line for each rule: its id, its default severity, whether CEL can express it, what it finds."""
    width = max(map(len, RULES))
    return "\n".join(
        f"{rule.id:<{width}}  {rule.severity:<7}  {'in CEL' if rule.cel else 'not in CEL':<10}  {rule.title}"
        for rule in RULES.values()
    )


def section(rule: Rule) -> Iterator[str]:
    """Yield one rule, always under the same headings."""
    yield from (f"## {rule.id}", "", f"Finds: {rule.title}.", "")
    advice = " This rule is advice: at most a `warning`, and never enforced." if rule.advice else ""
    yield from (f"Default severity: `{rule.severity}`.{advice}", "")
    yield from ("### Why", "", rule.rationale, "")
    if rule.context:
        yield from (
            "### Beside",
            "",
            "Both examples are judged beside these objects:",
            "",
            "```yaml",
            rule.context.rstrip(),
            "```",
            "",
        )
    yield from ("### Bad (-) and good (+)", "", "```diff", *_difference(rule), "```", "")
    yield from ("### Fix", "", f"{rule.fix[0].upper()}{rule.fix[1:]}.", "")
    if rule.parameters:
        yield from ("### Parameters", "", "| name | type | default | what it is |", "| --- | --- | --- | --- |")
        yield from (_parameter(name, schema, rule) for name, schema in rule.parameters.items())
        yield ""
    if rule.severity is Severity.IGNORE:
        setting = json.dumps({"severity": "error", **rule.example}).replace('"', "")
        yield from ("### Switch it on", "", "```yaml", "rules:", f"  {rule.id}: {setting}", "```", "")
    if rule.yields_to:
        yield from ("### Yields to", "", ", ".join(f"[`{above}`](#{above})" for above in rule.yields_to), "")


def _difference(rule: Rule) -> list[str]:
    """Return the whole bad example, with the lines in which the good one differs."""
    bad, good = rule.bad.splitlines(), rule.good.splitlines()
    _, _, _, *lines = unified_diff(bad, good, n=len(bad), lineterm="")
    return lines


def _parameter(name: str, schema: Mapping[str, object], rule: Rule) -> str:
    needed = "needed" if rule.required == (name,) else f"one of {' and '.join(rule.required)}"
    preset = f"`{json.dumps(schema['default'])}`" if "default" in schema else "none"
    default = needed if name in rule.required else preset
    return f"| `{name}` | {schema['type']} | {default} | {schema['description']} |"


def suggestion(name: str) -> str:
    """Return a hint for the name of a rule that does not exist."""
    near = most_like(name, RULES)
    return f"did you mean {near}?" if near else "evenkeel rules lists them"
