"""The settings of a policy for one Pod, as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from evenkeel.terminal.json_forms import dumped, fields, form
from webhook.findings.rule import RuleSetting
from webhook.findings.wording import LINE_LIMIT, one_line
from webhook.policy.policy import InForce, Policy

NO_DEFAULTING = "none, because it is not certain which override applies"


def text(policy: Policy, in_force: InForce) -> str:
    return "\n".join(_lines(policy, in_force))


def _lines(policy: Policy, in_force: InForce) -> Iterator[str]:
    no_override = "none matches" if in_force.certain else "not certain"
    override_name = one_line(in_force.override, LINE_LIMIT) if in_force.override is not None else no_override
    yield f"override       {override_name}"
    if not in_force.certain:
        yield "               another may apply: the labels of the namespace are not known; give --namespace-labels"
    yield from (
        f"until          {override.until}"
        for override in policy.overrides
        if override.until and override.name == override_name
    )
    yield f"enforcement    {in_force.enforcement}{'' if in_force.certain else ', the mildest that may apply'}"
    yield f"ownedObjects   {in_force.owned_objects}"
    yield f"earlyAnswer    {str(policy.early_answer).lower()}"
    yield f"onError        {policy.on_error}"
    yield from (f"help           {line}" for line in [policy.help] if line)
    yield f"defaulting     {in_force.defaulting.type if in_force.defaulting is not None else NO_DEFAULTING}"
    constraints = in_force.defaulting.constraints if in_force.defaulting is not None else ()
    yield from (f"               - {json.dumps(constraint)}" for constraint in constraints)
    yield f"defaultingMode {in_force.defaulting_mode}"
    yield "rules"
    for rule_id, setting in in_force.settings.items():
        yield f"  {rule_id:<24} {_setting(setting)}{', in doubt' if rule_id in in_force.doubted else ''}"


def _setting(setting: RuleSetting) -> str:
    parameters = (f"{name}={json.dumps(value)}" for name, value in setting.parameters.items())
    words = {"help": setting.help, "notice": setting.notice}
    texts = [f"{name}={json.dumps(text, ensure_ascii=False)}" for name, text in words.items() if text]
    enforced = ["enforced"] if setting.enforced else []
    return " ".join((f"{setting.severity:<8}", *enforced, *parameters, *texts)).rstrip()


def as_json(policy: Policy, in_force: InForce) -> str:
    """Return the form `PolicyInForce`, for programs."""
    defaulting = in_force.defaulting
    members = {
        "override": in_force.override,
        "until": next((override.until for override in policy.overrides if override.name == in_force.override), "")
        or None,
        **fields(in_force, "certain", "enforcement", "owned_objects"),
        **fields(policy, "early_answer", "on_error", "help"),
        "defaulting": defaulting and {"type": defaulting.type, "defaultConstraints": [*defaulting.constraints]},
        "defaultingMode": in_force.defaulting_mode,
        "rules": [
            {
                "id": rule,
                **fields(setting, "severity", "enforced"),
                "inDoubt": rule in in_force.doubted,
                "parameters": dict(setting.parameters),
                **fields(setting, "help", "notice"),
            }
            for rule, setting in in_force.settings.items()
        ],
    }
    return dumped(form("PolicyInForce", members))
