"""The webhook stays small: what a running server has imported once it has answered reviews."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support import ROOT
from tests.support.serving import serving

# Runs `evenkeel serve`, whose worker writes down what it has imported when it ends.
PROGRAM = """
import json, os, sys
from webhook.server import gunicorn_server as server
straight = server.Server._end
def end(self, arbiter, worker):
    straight(self, arbiter, worker)
    with open(os.environ["IMPORTED"], "w") as file:
        json.dump(sorted(sys.modules), file)
server.Server._end = end
from webhook.cli.main import main
sys.exit(main())
"""
# Runs `evenkeel serve`, whose first process writes down when it forks what it has imported, its threads and sockets.
ARBITER = """
import glob, json, os, sys
first = os.getpid()
def forks():
    if os.getpid() == first:
        files = [os.path.realpath(name) for name in glob.glob("/proc/self/fd/*") if int(os.path.basename(name)) > 2]
        sockets = sum("/socket:" in file for file in files)
        with open(os.environ["IMPORTED"], "w") as file:
            json.dump([sorted(sys.modules), len(os.listdir("/proc/self/task")), sockets], file)
os.register_at_fork(before=forks)
from webhook.cli.main import main
sys.exit(main())
"""
EXAMPLE = ROOT / "tests" / "example"

# What a person runs, and libraries that only a policy file or a kubeconfig needs.
NOT_NEEDED = ("evenkeel", "jsonschema", "kubernetes", "unittest", "urllib3")
# All of ours that the first process imports besides the transport; it only starts and watches the one that serves.
ARBITERS = {
    *("webhook", "webhook.cli", "webhook.cli.listening", "webhook.cli.main", "webhook.cli.serve", "webhook.cli.usage"),
    *("webhook.kubernetes", "webhook.kubernetes.features"),
    *("webhook.server", "webhook.server.gunicorn_server", "webhook.server.logs", "webhook.server.settings"),
}
LIBRARIES = ("cryptography", "flask", "jsonschema", "kubernetes", "msgspec", "prometheus_client", "werkzeug", "yaml")
UNMEASURED = {"COVERAGE_PROCESS_START": "", "COVERAGE_PROCESS_CONFIG": ""}
MOST_OF_OURS = 122  # Without the rules, of which each is a file.


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """The names of all modules in the worker, after one review of each phase."""
    folder = tmp_path_factory.mktemp("footprint")
    file = folder / "imported.json"
    reviews = map(json.loads, (EXAMPLE / "reviews.jsonl").read_text("utf-8").splitlines())
    asked = {review["path"]: review["review"] for review in reviews}
    options = ("--cluster", EXAMPLE / "cluster.yaml")
    with serving(folder, *options, program=PROGRAM, IMPORTED=str(file), **UNMEASURED) as server:
        assert {"/mutate": 200, "/validate": 200} == {path: server.review(path, asked[path])[0] for path in asked}
    return json.loads(file.read_text("utf-8"))


def below(names, tops):
    """Those of the names that are one of `tops`, or lie below it."""
    return [name for name in names if any(f"{name}.".startswith(f"{top}.") for top in tops)]


def test_a_server_imports_nothing_that_its_settings_do_not_ask_for(imported):
    assert [] == below(imported, NOT_NEEDED)


def test_the_number_of_modules_is_bounded(imported):
    """Raise the bound only for what a review needs."""
    ours = set(below(imported, ["webhook", "certs"])) - set(below(imported, ["webhook.rules"]))

    assert len(ours) <= MOST_OF_OURS


def test_what_is_imported_is_seen(imported):
    """Or the tests above could not fail."""
    assert {"webhook.server.reviewer", "webhook.admission.defaulting", "flask", "json"} <= set(imported)


@pytest.mark.parametrize("options", [(), ("--cluster", EXAMPLE / "cluster.yaml")], ids=["alone", "with a dump"])
def test_the_arbiter_imports_nothing_of_the_application(tmp_path, options):
    file = tmp_path / "imported.json"
    with serving(tmp_path, *options, program=ARBITER, IMPORTED=str(file), **UNMEASURED):
        imported, threads, sockets = json.loads(file.read_text("utf-8"))

    assert (1, 2) == (threads, sockets), "what is forked has no threads, and of connections the two listeners"
    assert set(below(imported, ["webhook", "certs"])) - set(below(imported, ["webhook.server.transport"])) == ARBITERS
    assert [] == below(imported, LIBRARIES)
    assert "json" in imported


COMMAND = """
import json, sys
before = {*sys.modules}  # coverage has some of its own
from webhook.cli.main import main
main(sys.argv[1:])
print(json.dumps(sorted(sys.modules.keys() - before)), file=sys.stderr)
"""


def imported_by(*words):
    """The names of all modules that a command imports."""
    done = subprocess.run([sys.executable, "-c", COMMAND, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stderr.splitlines()[-1])


def test_a_report_as_text_loads_neither_the_server_nor_the_linter():
    imported = imported_by("report", "-A", "--cluster", "docs/examples/report/cluster.yaml")

    assert {"evenkeel.report.report", "evenkeel.report.text"} <= set(imported)
    assert [] == below(imported, ["evenkeel.lint", "webhook.server", "certs", "jinja2"])


# What only folders need, --fix, a baseline, several processes, other formats, a policy, a cluster or other commands.
ONLY_IF_ASKED = (
    *("pathspec", "tempfile", "evenkeel.lint.repair", "evenkeel.lint.file_writing", "hashlib", "multiprocessing"),
    *("evenkeel.lint.github", "evenkeel.lint.as_json", "evenkeel.lint.markdown"),
    *("jsonschema", "kubernetes", "urllib3", "flask", "certs", "webhook.server", "webhook.manifests", "shtab"),
    *("evenkeel.placement", "evenkeel.report", "evenkeel.scheduler"),
)


def test_lint_of_one_file_loads_nothing_that_it_does_not_need():
    """It starts in each commit hook."""
    imported = imported_by("lint", "docs/examples/reject.yaml")

    assert {"evenkeel.lint.judgement", "evenkeel.lint.text", "yaml"} <= set(imported)
    assert [] == below(imported, ONLY_IF_ASKED)


def test_lint_of_a_folder_loads_patterns_where_there_are_any(tmp_path):
    """Or the test above could not fail."""
    assert ["pathspec"] == below(imported_by("lint", "docs/examples"), ["pathspec"])[:1]
    (tmp_path / "a.yaml").write_text("a: 1")
    assert [] == below(imported_by("lint", str(tmp_path)), ["pathspec"])
