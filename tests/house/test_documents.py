"""Documents that are generated hold what the generator prints; what is listed twice is listed alike."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.generate import versions
from tests.generate.documents import GENERATED, fill
from tests.generate.scenarios import DRAWINGS
from tests.support import ROOT
from tests.support.scenarios import CLUSTER, objects
from webhook import __version__
from webhook.cli.main import COMMANDS, parser
from webhook.policy.schema import schema
from webhook.rules import RULES
from webhook.scheduler.features import Features

README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_document_is_up_to_date(name):
    """`make docs` rewrites it."""
    assert GENERATED[name]() == (ROOT / name).read_text("utf-8")


def test_every_example_is_in_a_test_of_a_policy():
    """Which the pages run."""
    examples = ROOT / "docs" / "examples"
    tests = "".join(file.read_text("utf-8") for file in examples.glob("*.evenkeel-test.yaml"))

    assert set() == {
        file.name for file in examples.glob("*.yaml") if "test" not in file.name and file.name not in tests
    }


@pytest.mark.parametrize("file", DRAWINGS)
def test_a_drawing_shows_every_node_and_pod(file):
    """And is well-formed."""
    texts = [one.text for one in ElementTree.parse(ROOT / file).iter("{http://www.w3.org/2000/svg}text")]
    cluster = objects(DRAWINGS[file], CLUSTER)

    assert {one["metadata"]["name"] for one in cluster if one["kind"] == "Node"} <= {*texts}
    pods = [one["metadata"]["labels"]["app"] for one in cluster if one["kind"] == "Pod"]
    assert len(pods) == sum(re.split("[,/]", text)[text.startswith("other/")] in pods for text in texts)


def test_a_block_is_filled_with_what_the_command_prints():
    text = "<!-- output of: evenkeel --nonsense -->\n```console\nold\n```\n"

    with pytest.raises(SystemExit):
        fill(text)


def test_catalogue_rules_and_policy_schema_name_the_same_rules():
    page = (ROOT / "docs" / "rules.md").read_text("utf-8")
    in_schema = schema()["properties"]["rules"]["properties"]

    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == list(RULES) == list(in_schema)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_names_every_command(command):
    assert f"evenkeel {command}" in README


def test_the_page_on_lint_names_every_option():
    """Each once at least, as it is written on the command line."""
    page = (ROOT / "docs" / "lint.md").read_text("utf-8")
    (commands,) = (action for action in parser(["lint"])._actions if isinstance(action.choices, dict))
    options = {option for action in commands.choices["lint"]._actions for option in action.option_strings}

    assert set() == {one for one in options - {"-h", "--help", "-n"} if f"{one}" not in page}


def test_every_feature_of_a_version_has_its_words():
    assert {*versions.CHANGES} == {*Features._fields} - {"minor"}


def test_a_version_without_recordings_is_not_claimed():
    rows = re.findall(r"^\| 1\.(\d+) \| (.*?) \|", (ROOT / "docs" / "versions.md").read_text("utf-8"), re.MULTILINE)

    assert {int(minor) for minor, compared in rows if compared.strip()} == {26, 27, *range(32, 38)}


def test_the_changelog_has_the_version():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "charts/evenkeel/README.md",
        "docs/operations.md",
        "docs/development.md",
        "docs/scenarios.md",
        "docs/explain.md",
        "docs/policy-test.md",
        "docs/report.md",
    ],
)
def test_a_link_leads_somewhere(name):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / name).read_text("utf-8")):
        assert (ROOT / name).parent.joinpath(target).exists(), target


def test_what_is_said_to_be_tested_is():
    named = re.findall(r"`(\w+/test_\w+\.py)::(\w+)`", (ROOT / "SECURITY.md").read_text("utf-8"))

    assert named
    for file, test in named:
        assert re.search(rf"^ *def {test}\(", (ROOT / "tests" / file).read_text("utf-8"), re.MULTILINE), (
            f"{file}::{test}"
        )
