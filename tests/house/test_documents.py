"""Documents that are generated hold what the generator prints; what is listed twice is listed alike."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from decimal import Decimal

import pytest

from evenkeel.report.moves_text import WORDS as WORDS_OF_REASONS
from tests.generate import concepts, documents, exits, versions
from tests.generate.commands import output
from tests.generate.documents import GENERATED, PAGES, TABLE, fill, table_of
from tests.house.cited_tests import cited_tests, is_test
from tests.support import ROOT
from tests.support.commands import commands
from webhook import __version__
from webhook.admission.cost import MOST_CONSTRAINTS, MOST_SELECTOR_VALUES
from webhook.cli.main import COMMANDS, parser
from webhook.kubernetes.features import NEWEST, OLDEST, Features, features
from webhook.kubernetes.workload import MOST_TEMPLATES
from webhook.manifests.configurations import NEEDED_NAMESPACES
from webhook.policy.parsing import built_in, parse_policy
from webhook.policy.schema import schema
from webhook.rules import RULES
from webhook.server import wire
from webhook.server.transport.tls import NOT_ACCEPTED

LIST_OF_PAGES = (ROOT / "docs" / "README.md").read_text("utf-8")


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


def test_each_picture_of_the_concepts_is_on_their_page():
    page = (ROOT / "docs" / "concepts.md").read_text("utf-8")

    assert [concepts.shown(name).strip() for name in concepts.PICTURES] == re.findall(r"^!\[.*$", page, re.MULTILINE)


def test_each_sum_on_the_page_of_the_concepts_is_in_a_picture():
    """Where it is computed."""
    page = (ROOT / "docs" / "concepts.md").read_text("utf-8")
    drawn = "".join((ROOT / file).read_text("utf-8") for file in concepts.DRAWINGS)
    sums = set(re.findall(r"\d+ \+ \d+ - \d+ = \d+", re.sub(r"\s+", " ", page)))

    assert sums
    assert set() == {text for text in sums if text not in drawn}


def test_a_block_is_filled_with_what_the_command_prints():
    text = "<!-- output of: evenkeel --nonsense -->\n```console\nold\n```\n"

    with pytest.raises(SystemExit):
        fill(text)


def test_a_mark_that_names_no_table_is_an_error():
    """Or a table whose mark is misspelt would keep what it has."""
    mark = TABLE.search("<!-- rigths -->\n| old |\n<!-- /rigths -->")

    with pytest.raises(KeyError):
        table_of(mark)


def test_catalogue_rules_and_policy_schema_name_the_same_rules():
    page = (ROOT / "docs" / "rules.md").read_text("utf-8")
    in_schema = schema()["properties"]["rules"]["properties"]

    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == list(RULES) == list(in_schema)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_list_of_pages_names_every_command(command):
    assert f"evenkeel {command}" in LIST_OF_PAGES


def test_the_table_of_exit_codes_has_a_column_for_each_that_a_command_names():
    endings = [(found.description or "").rpartition("Exit code ")[2] for _, found in commands()]

    assert {*exits.CODES} == {code for ending in endings for code in re.findall(r"\b(\d): ", ending)}


def test_the_page_on_lint_names_every_option():
    """Each once at least, as it is written on the command line."""
    page = (ROOT / "docs" / "lint.md").read_text("utf-8")
    (commands,) = (action for action in parser(["lint"])._actions if isinstance(action.choices, dict))
    options = {option for action in commands.choices["lint"]._actions for option in action.option_strings}

    assert set() == {one for one in options - {"-h", "--help", "-n"} if f"{one}" not in page}


def test_the_page_on_policies_begins_with_the_built_in_one():
    shown = (ROOT / "docs" / "policy.md").read_text("utf-8").partition("```yaml\n")[2].partition("```\n")[0]

    written = parse_policy(shown)
    assert built_in() == replace(written, defaulting=written.defaulting._replace(built_in=True))


def test_every_feature_that_a_listed_version_changes_has_its_words():
    changed = set()
    for minor in range(versions.FIRST_LISTED, NEWEST + 2):
        pairs = zip(Features._fields, features(minor - 1), features(minor), strict=True)
        changed |= {name for name, before, now in pairs if before != now}

    assert changed - {"minor"} == {*versions.CHANGES}


def test_a_version_without_recordings_is_not_claimed():
    rows = re.findall(r"^\| 1\.(\d+) \| (.*?) \|", (ROOT / "docs" / "how-true.md").read_text("utf-8"), re.MULTILINE)

    assert {int(minor) for minor, compared in rows if compared.strip()} == {*range(32, 38)}


def test_the_changelog_has_the_version():
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)")
BLOCK = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", PAGES)
def test_a_link_leads_somewhere(name):
    for target, anchor in LINK.findall((ROOT / name).read_text("utf-8")):
        page = (ROOT / name).parent / target if target else ROOT / name
        assert page.exists(), target
        assert not anchor or anchor in anchors(page), f"{target}#{anchor}"


@pytest.mark.parametrize("name", PAGES)
def test_a_table_begins_with_its_line_of_dashes(name):
    """Rows that were joined into a paragraph are no table."""
    lines = (ROOT / name).read_text("utf-8").splitlines()

    assert [] == [line for line in lines if "| ---" in line and not line.lstrip().startswith("| ---")]


def test_the_page_on_outages_names_each_namespace_that_is_left_out_with_fail():
    text = " ".join((ROOT / "docs" / "outage.md").read_text("utf-8").split())
    *names, last = (f"`{name}`" for name in sorted(NEEDED_NAMESPACES))

    assert f"also sends nothing from {', '.join(names)} and {last}." in text


def test_the_page_on_the_report_lists_each_reason_why_no_deletion_helps():
    listed = (ROOT / "docs" / "report.md").read_text("utf-8").partition("\nReasons: ")[2].partition("\n\n")[0]

    assert {*WORDS_OF_REASONS} == set(re.findall("`([a-z-]+)`", listed))


def test_the_page_on_operation_names_each_reason_to_refuse_a_client():
    page = (ROOT / "docs" / "operate.md").read_text("utf-8")
    sentence = page.partition("`evenkeel_clients_refused_total` has the reason: ")[2].partition(". ")[0]

    assert {*NOT_ACCEPTED} == set(re.findall("`([a-z]+)`", sentence))


def test_the_pages_have_the_limits_of_what_is_judged():
    pages = [(ROOT / "docs" / name).read_text("utf-8") for name in ("performance.md", "policy.md")]
    text = " ".join("".join(pages).split())

    assert f"take more than {wire.MOST_BYTES >> 20} MiB as values" in text
    assert f"more than {wire.MOST_KEYS:,} keys, {wire.MOST_CONTAINERS:,} objects and lists" in text
    assert f"{wire.MOST_FLOATS:,} numbers with a fraction" in text
    assert f"{wire.MOST_DIGITS >> 20} MiB of digits in numbers of {wire.MANY_DIGITS} digits or more" in text
    assert f"more than {MOST_CONSTRAINTS} constraints, {MOST_SELECTOR_VALUES} values in them" in text
    assert f"or {MOST_TEMPLATES} Pod templates" in text


FIGURE = re.compile(r"(?<![\d.])\d[\d,]*(?:\.\d+)?(?!\.?\d)")


def test_each_figure_of_performance_is_a_rounded_one_of_the_benches():
    """In the same unit, or in thousands of it."""
    page = (ROOT / "docs" / "performance.md").read_text("utf-8")
    results = (ROOT / "tests" / "bench" / "results.md").read_text("utf-8")
    measured = [Decimal(figure.replace(",", "")) for figure in FIGURE.findall(results)]
    sections = (section_of(page, title) for title in ("Results", "Beside Kyverno, Gatekeeper and kube-linter"))
    cells = " ".join(re.findall(r"^\|.*? \|(.*)$", "".join(sections), re.MULTILINE))
    shown = [figure.replace(",", "") for figure in FIGURE.findall(cells)]

    assert shown
    assert [] == [figure for figure in shown if not any(rounds_to(value, figure) for value in measured)]


def test_the_readme_has_the_versions_and_figures_of_the_pages():
    readme = (ROOT / "README.md").read_text("utf-8")
    performance = (ROOT / "docs" / "performance.md").read_text("utf-8")
    costs = re.findall(r"[\d.]+ (?:ms|MiB)", section_of(readme, "What it costs"))

    assert f"Kubernetes 1.{OLDEST} to 1.{NEWEST}" in readme
    assert costs
    assert [] == [cost for cost in costs if cost not in re.findall(r"[\d.]+ (?:ms|MiB)", performance)]


def rounds_to(value, figure):
    """Whether a value, or a thousandth of it, is a figure if it has as few digits."""
    exponent = Decimal(figure).as_tuple().exponent or Decimal(figure).normalize().as_tuple().exponent
    unit = Decimal(1).scaleb(exponent)
    return any(abs(scaled - Decimal(figure)) <= unit / 2 for scaled in (value, value / 1000))


def test_only_what_is_not_up_to_date_is_written_and_named(monkeypatch, tmp_path):
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    monkeypatch.setattr(documents, "GENERATED", {name: lambda: "today" for name in ("new", "old", "same")})
    (tmp_path / "old").write_text("yesterday", "utf-8")
    (tmp_path / "same").write_text("today", "utf-8")

    assert ["new", "old"] == [*documents.write()]
    assert {"today"} == {(tmp_path / name).read_text("utf-8") for name in ("new", "old")}
    assert [] == [*documents.write()]


def test_every_page_is_in_the_list_of_pages():
    index = ROOT / "docs" / "README.md"
    listed = {target for target, _ in LINK.findall(index.read_text("utf-8"))}

    assert set() == {page.name for page in index.parent.glob("*.md")} - listed - {index.name}


def test_what_troubleshooting_quotes_is_printed():
    """By a command on one of the pages; an ellipsis stands for anything."""
    pages = {page.name: page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")}
    text = BLOCK.sub("", pages["troubleshooting.md"])
    of_kubectl = {'The Deployment "web" is invalid'}
    quoted = {words for words in re.findall(r"`([^`\n]+)`", text) if " " in words} - of_kubectl
    prefixes = ("evenkeel ", "evenkeel.dev/", "kubectl ", "--")
    printed = "".join(
        page if name != "troubleshooting.md" else "".join(BLOCK.findall(page)) for name, page in pages.items()
    )

    assert set() == {
        words
        for words in quoted
        if not words.startswith(prefixes) and not re.search(".*".join(map(re.escape, words.split("…"))), printed)
    }


TYPED = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"^ *\$ (?:.*\| |\w+=\S+ )?evenkeel ([a-z][^|>#\n]*)", re.MULTILINE)  # in a block
NAMED = re.compile(r"(?<!`)`evenkeel ([a-z][^`|>]*)`")  # in a sentence, perhaps only in part


@pytest.mark.parametrize("name", PAGES)
def test_a_command_that_is_shown_can_be_given(name):
    """What follows three spaces says what it is for; an ellipsis stands for whatever is needed besides."""
    text = (ROOT / name).read_text("utf-8")
    typed = "".join(re.sub("^(?=.)", "$ ", block, flags=re.MULTILINE) for block in TYPED.findall(text))
    blocks = re.sub(r" \\\n(?:\$ )? *", " ", "".join((typed, *BLOCK.findall(text))))

    for command in SHOWN.findall(blocks):
        words = [word for word in shlex.split(command.partition("   ")[0]) if word != "…"]
        _, more = parser(words).parse_known_args(words)
        assert not [word for word in more if word.startswith("-")], command


@pytest.mark.parametrize("name", PAGES)
def test_an_option_that_is_named_is_one(name):
    known = {command: {*found._option_string_actions} for command, found in commands()}

    for named in NAMED.findall(BLOCK.sub("", (ROOT / name).read_text("utf-8"))):
        options = set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", named))
        command = max((one for one in known if f"{named} ".startswith(f"{one} ")), key=len, default=None)
        assert command is not None, named
        assert options <= known[command], named


EXAMPLES = "docs/examples"
LOST = "lose=topology.kubernetes.io/zone=a"
FORMS = {
    "admit": [
        f"admit -f {EXAMPLES}/reject.yaml",
        f"admit -f {EXAMPLES}/default.yaml",
        f"admit -f {EXAMPLES}/default.yaml --cluster {EXAMPLES}/cluster.yaml",
    ],
    "Explanation": [
        f"explain pod/web-7d4b9c-x2x5p -n shop --cluster {EXAMPLES}/waiting/cluster.yaml",
        f"explain deployment/web -n shop --cluster {EXAMPLES}/waiting/neighbours.yaml",
        f"explain pod/db-1 -n shop --cluster {EXAMPLES}/waiting/claims.yaml",
        f"explain pod/web-3 -n shop --cluster {EXAMPLES}/waiting/taints.yaml",
    ],
    "KindList": ["kinds"],
    "PolicyCheck": [f"policy check {EXAMPLES}/policy.yaml --against {{folder}}/scheduler.yaml"],
    "PolicyInForce": [f"policy show -n shop --policy {EXAMPLES}/policy.yaml"],
    "PendingList": [f"pending -A --cluster {EXAMPLES}/waiting/{name}.yaml" for name in ("cluster", "taints")],
    "PolicyTestResults": [f"policy test {EXAMPLES}/failing-test.yaml"],
    "RuleList": ["rules", "rules selector-misses-own-pod"],
    "Report": [
        f"report -A --cluster {EXAMPLES}/report/cluster.yaml --policy {EXAMPLES}/report/new.yaml"
        f" --compare {EXAMPLES}/report/old.yaml",
        f"report -A --cluster {EXAMPLES}/waiting/claims.yaml",
    ],
    "Simulation": [
        f"simulate deploy/web -n shop --runs 2 --cluster {EXAMPLES}/simulate/cluster.yaml {LOST} drain=b1 rollout",
        f"simulate deploy/web -n shop --runs 2 --cluster {EXAMPLES}/simulate/budgets.yaml drain=b1",
        f"simulate -A --runs 2 --cluster {EXAMPLES}/simulate/whole.yaml {LOST}",
        f"simulate rollout -A --runs 2 --cluster {EXAMPLES}/waiting/cluster.yaml",
    ],
    "Version": ["version --client"],
}
BY_NAME = (
    "parts",
    "notCompared",
    "pinned",
    "nodes",
    "reasons",
    "violated",
    "holding",
    "pods",
    "zones",
    "domains",
    "alsoCounts",
    "outcomes",
    "defaultsChange",
)  # Their keys are names of things, not of fields.
OF_OTHERS = (
    "patch",
    "auditAnnotations",
    "expected",
    "found",
    "details",
    "parameters",
)  # What is in them is not described there.
NAME = re.compile(r"`(?:…\.)?(\w+)(?:\[])?`")
COMMON = {"apiVersion", "kind", "least", "mostLikely", "most"}


def fields(value):
    """The names of all fields of JSON values, but those of Kubernetes' own constraints."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict) and "whenUnsatisfiable" not in one:
            for name, inner in one.items():
                yield name
                if name not in OF_OTHERS:
                    by_name = name in BY_NAME and isinstance(inner, dict)
                    yield from fields([*inner.values()] if by_name else inner)


@pytest.mark.parametrize("form", FORMS)
def test_every_field_that_a_program_reads_is_described(form, tmp_path):
    """With the form, or with all forms; and no other in the first column."""
    (tmp_path / "scheduler.yaml").write_text(output("evenkeel policy export -q --for kube-scheduler"), "utf-8")
    printed = [output(f"evenkeel {command.format(folder=tmp_path)} -o json") for command in FORMS[form]]
    found = set(fields([json.loads(one) for one in printed]))
    page, title = ("report.md", "## JSON") if form == "Report" else ("programs.md", f"### {form}")
    text = (ROOT / "docs" / page).read_text("utf-8")
    shared, section = (text.partition(f"\n{of}\n")[2].partition("\n##")[0] for of in ("### In several forms", title))
    listed = " ".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))

    assert listed
    assert set() == found - COMMON - set(NAME.findall(shared)) - set(NAME.findall(section))
    assert set() == set(NAME.findall(listed)) - found


SECURITY = (ROOT / "docs" / "security.md").read_text("utf-8")
TESTS_OF_SECURITY = (ROOT / "tests" / "security.md").read_text("utf-8")
HELD = (
    "Who can do what",
    "What an attacker inside the cluster could try",
    "What goes wrong without an attacker",
    "What it is made of",
)  # The sections of docs/security.md with items that tests hold.


def section_of(text, title):
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def listed_tests():
    """Return each label in tests/security.md, in order, with what stands beside it."""
    items = re.split(r"^- ", TESTS_OF_SECURITY, flags=re.MULTILINE)[1:]
    return [re.fullmatch(r"\*\*(.+?)\*\*:\n(.*)", item, re.DOTALL).groups() for item in items]


def test_what_is_said_to_be_tested_is():
    named = cited_tests(TESTS_OF_SECURITY)

    assert named
    for file, test in named:
        assert is_test(file, test), f"{file}::{test}"


def test_each_item_that_is_said_to_be_tested_is_in_the_list_of_tests():
    """By its label, once, and in the order of the page."""
    labels = [re.findall(r"^- \*\*(.+?)\*\*", section_of(SECURITY, title), re.MULTILINE) for title in HELD]

    assert all(labels)
    assert [label for section in labels for label in section] == [label for label, _ in listed_tests()]


def test_each_item_in_the_list_of_tests_has_one():
    assert [] == [label for label, tests in listed_tests() if not cited_tests(tests)]
