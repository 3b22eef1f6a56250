"""Tests mirror the code: each module has a file of tests in the folder of its name, and each file its module."""

from __future__ import annotations

from pathlib import Path

from tests.support import ROOT

# Modules that have nothing to test: names, types, or a call of what is tested.
WITHOUT_TESTS = {
    "verification/test_watch_event.py",  # one value
}
ABOUT_MANY = {
    "manifests/policies/test_policies.py",  # each rule in CEL, by one table; what they do only an API server can tell
    "rules/test_rules.py",  # each rule is tested by its own examples, and all of them by one table
    "rules/test_messages.py",  # what they say, held against one list of verbs
    "rules/test_truth.py",  # what they must not say, for it would be untrue or lead in a circle
    "serving/test_hostile_clients.py",  # whatever serves: it knows its ports only
}
# Folders that are about no single folder of the code.
OF_THE_WHOLE = {
    "browser",
    "conformance",
    "e2e",
    "example",
    "fuzz",
    "house",
    "image",
    "oracle",
    "outputs",
    "properties",
    "release",
}


def wanted(root: Path) -> set[str]:
    """A file for each module; __init__.py, __main__.py and the rules, in Python and in CEL, have none."""
    modules = [*root.glob("webhook/*/**/*.py"), *root.glob("certs/*.py")]
    return {
        str(_below(module.relative_to(root)).with_name(f"test_{module.name}"))
        for module in modules
        if not module.name.startswith("__") and module.parent.name not in ("rules", "policies")
    }


def _below(module: Path) -> Path:
    """The path below webhook/; certs/ is a folder like those."""
    return module.relative_to("webhook") if module.parts[0] == "webhook" else module


def there(root: Path) -> set[str]:
    files = {file.relative_to(root / "tests") for file in root.glob("tests/**/test_*.py")}
    return {str(file) for file in files if file.parts[0] not in OF_THE_WHOLE}


def test_every_module_has_a_file_of_tests_and_every_file_its_module():
    modules, files = wanted(ROOT), there(ROOT)

    assert set() == modules - files - WITHOUT_TESTS, "modules without tests"
    assert set() == files - modules - ABOUT_MANY, "tests without a module"


def test_an_exception_is_one():
    modules, files = wanted(ROOT), there(ROOT)

    assert modules - files >= WITHOUT_TESTS
    assert files - modules >= ABOUT_MANY


def test_a_folder_of_the_whole_holds_tests_and_is_no_folder_of_the_code():
    for folder in OF_THE_WHOLE:
        assert [*(ROOT / "tests" / folder).glob("test_*.py")], folder
        assert not (ROOT / "webhook" / folder).exists()


def test_a_module_without_tests_and_tests_without_a_module_are_found(tmp_path):
    for name in ("webhook/lint/walk.py", "webhook/lint/__init__.py", "webhook/rules/one.py", "tests/lint/test_work.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    assert ({"lint/test_walk.py"}, {"lint/test_work.py"}) == (wanted(tmp_path), there(tmp_path))
