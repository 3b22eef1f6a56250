"""Every setting has a flag and a variable of its own, help that fits a line or two, and a default that it accepts."""

from __future__ import annotations

import re

import pytest

from certs.serving import VERSIONS
from webhook.server.settings import SETTINGS, Setting

every_setting = pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)


def test_a_flag_and_a_variable_are_made_from_the_name():
    made = Setting("tls-cert", "", "FILE", "x")

    assert ("--tls-cert", "EVENKEEL_TLS_CERT") == (made.flag, made.variable)


def test_no_two_share_a_name():
    assert len(SETTINGS) == len({setting.variable for setting in SETTINGS})


@every_setting
def test_a_name_is_a_word_on_a_command_line(setting):
    assert re.fullmatch("[a-z]+(-[a-z]+)*", setting.name)
    assert setting.help and setting.help[0].islower()


@every_setting
def test_a_switch_is_off_and_a_choice_is_one_of_them(setting):
    assert setting.metavar or not setting.default
    assert setting.choices is None or setting.default in setting.choices


def test_every_version_of_tls_that_can_be_served_can_be_the_oldest():
    setting = next(one for one in SETTINGS if one.name == "tls-min-version")

    assert tuple(VERSIONS) == setting.choices
