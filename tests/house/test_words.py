"""Names say what they hold: each class and constant has one name of its own, and no file is named by a pronoun."""

from __future__ import annotations

import ast

import pytest

from tests.house.words import (
    docstrings_without_verb,
    modules,
    pointing_bindings,
    pointing_files,
    twice,
    unknown_constants,
)

BEFORE = (
    """
from typing import NamedTuple
class A(NamedTuple):
    found: int
    one: str = ""
def f(one, *, rest):
    """
    + '"""The sum."""'
    + """
    return [those for those in rest], (found := 1)
"""
)


def test_no_file_is_named_by_a_word_that_names_nothing():
    assert [] == pointing_files()


def test_no_class_is_defined_twice_and_no_constant_with_different_values():
    assert {} == twice()


def test_no_variable_or_parameter_is_named_by_a_word_that_points():
    assert [] == [place for file, tree in modules() for place in pointing_bindings(file, tree)]


def test_each_docstring_of_a_function_begins_with_a_verb():
    assert [] == [place for file, tree in modules() for place in docstrings_without_verb(file, tree)]


def test_each_constant_that_a_docstring_names_is_there():
    assert [] == [*unknown_constants()]


def test_a_constant_that_a_docstring_names_and_no_module_has_is_found(tmp_path):
    (tmp_path / "webhook").mkdir()
    (tmp_path / "webhook" / "a.py").write_text('MOST = 1\ndef f():\n    "Return MOST or JSON, in TRIES."\n')

    assert ["webhook/a.py:2: names TRIES"] == [*map(str, unknown_constants(tmp_path))]


def test_a_class_or_constant_that_is_there_twice_is_found(tmp_path):
    texts = {
        "a": "class A: ...\nclass D: ...\nB, C, E = 1, 2, 3",
        "b": "class A: ...\nB = 3\nC: int = 2\n_D = tuple[str]\n_E = 4",
    }
    for name, text in texts.items():
        (tmp_path / "webhook").mkdir(exist_ok=True)
        (tmp_path / "webhook" / f"{name}.py").write_text(text)

    assert {"A", "B", "D", "E"} == twice(tmp_path).keys()


def test_bindings_that_point_are_found_but_not_fields():
    tree = ast.parse(BEFORE)

    assert ["found", "one", "those"] == sorted(place.what.split()[1] for place in pointing_bindings("f.py", tree))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("def f():\n    'Return the sum.'", False),
        ("def f():\n    'The sum.'", True),
        ("def f():\n    'Whether it is.'", True),
        ("@property\ndef f():\n    'The sum.'", False),
        ("@rule(severity=1)\ndef f():\n    'The sum.'", False),
        ("def f():\n    pass", False),
    ],
)
def test_a_docstring_that_begins_with_no_verb_is_found(text, wrong):
    assert wrong == bool([*docstrings_without_verb("f.py", ast.parse(text))])
