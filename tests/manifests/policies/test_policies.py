"""The rules in CEL: which there are, how long they are, and who imports them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import ROOT
from webhook.cli.main import COMMANDS
from webhook.manifests.check import CelObject
from webhook.manifests.policies import CHECKS
from webhook.objects.kinds import KINDS
from webhook.rules import RULES
from webhook.scheduler.features import LATEST

SCREEN = 50  # lines


def test_a_rule_is_there_if_it_says_that_cel_can_express_its_checks():
    assert {rule.id for rule in RULES.values() if rule.cel.checks} == CHECKS.keys()


@pytest.mark.parametrize("rule", CHECKS)
def test_what_a_rule_asks_fits_on_a_screen(rule):
    obj = CelObject(rule, "", [RULES[rule].example], KINDS, LATEST)
    lines = [line for check in CHECKS[rule](obj) for line in range(0, len(check.items), 120)]

    assert len(lines) <= SCREEN


@pytest.mark.parametrize("rule", CHECKS)
def test_the_object_and_the_old_one_have_the_same_checks(rule):
    now, before = (
        list(CHECKS[rule](CelObject(rule, suffix, [RULES[rule].example], KINDS, LATEST))) for suffix in ("", "_before")
    )

    assert [check.field for check in now] == [check.field for check in before]
    assert all("_before" in check.items for check in before)
    assert not any("_before" in check.items for check in now)


def test_the_webhook_and_the_other_commands_do_not_import_them_at_their_start():
    commands = (f"webhook.cli.{command}" for command in COMMANDS if command != "manifests")
    files = (file for folder in ("admission", "serving") for file in (ROOT / "webhook" / folder).glob("*.py"))
    modules = [*commands, *(f"webhook.{file.parent.name}.{file.stem}" for file in files)]
    code = f"import sys, {', '.join(modules)}; print(*(name for name in sys.modules if 'manifests.policies' in name))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)

    assert "" == run.stdout.strip()
