"""Quantities are read as apimachinery reads them, and whatever else stands there is named."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.objects import quantities
from evenkeel.objects.quantities import (
    LONGEST_QUANTITY,
    MAX_INT64,
    NANOS,
    parse_quantity,
    read_quantity,
    size_text,
    thousandths,
    whole,
)
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.reader import Reader

# What k8s.io/apimachinery v0.37.1 makes of each text: Value(), MilliValue().
READ = {
    "0": (0, 0),
    "100m": (1, 100),
    "0.1": (1, 100),
    "1.5": (2, 1500),
    "2": (2, 2000),
    "+2": (2, 2000),
    "-1.5": (-2, -1500),
    "007": (7, 7000),
    ".5": (1, 500),
    "5.": (5, 5000),
    "1n": (1, 1),
    "1u": (1, 1),
    "0.1n": (1, 1),
    "1000001u": (2, 1001),
    "3k": (3000, 3000000),
    "3M": (3 * 10**6, 3 * 10**9),
    "1E": (10**18, None),
    "1e3": (1000, 10**6),
    "1E3": (1000, 10**6),
    "100e6": (10**8, 10**11),
    "1e+2": (100, 10**5),
    "15e-1": (2, 1500),
    "1e-99": (1, 1),
    "1Ki": (1024, 1024000),
    "0.5Gi": (1 << 29, 1000 << 29),
    "1.5Ki": (1536, 1536000),
    "0.1Ki": (103, 102400),
    "16776216Ki": (16776216 << 10, 1000 * (16776216 << 10)),
    "21474836480000m": (21474836480, 21474836480000),
    "7Ei": (7 << 60, None),
    "8Ei": (MAX_INT64, None),
    "100Ei": (MAX_INT64, None),
    "m": (0, 0),
    "Mi": (0, 0),
    ".": (0, 0),
    "-": (0, 0),
}


@pytest.mark.parametrize("text", READ)
def test_what_is_a_quantity(text):
    value, milli = READ[text]
    nanos = parse_quantity(text)

    assert value == whole(nanos)
    assert milli in (None, thousandths(nanos))


NONE = [
    *(
        "",
        " ",
        "x",
        "1x",
        "1K",
        "1ki",
        "1mi",
        "1g",
        "1 Gi",
        "1\tGi",
        "1\t",
        "1 ",
        "1,5",
        "1.5.5",
        "--1",
        "1e",
        "1e+",
        "1ee5",
        "1e5m",
    ),
    *(
        "1_000",
        "0x10",
        "inf",
        "NaN",
        "Infinity",
        "1Gim",
        "1+5",
        "Ei",
        "Pi",
        "e-10",
        "\u0661",
        "1\n",
        "1e99999999999999999999",
    ),
]


@pytest.mark.parametrize("text", NONE, ids=repr)
def test_what_is_no_quantity(text):
    assert parse_quantity(text) is None


@pytest.mark.parametrize("exponent", ["19", "1000", "2147483648", "9223372036854775807", "0" * 200 + "19"])
def test_however_large_an_exponent_it_takes_no_time(exponent):
    assert MAX_INT64 == whole(parse_quantity(f"1e{exponent}"))
    assert 1 == parse_quantity(f"1e-{exponent}")
    assert -MAX_INT64 == whole(parse_quantity(f"-1e{exponent}"))


def test_however_long_a_text_it_takes_no_time():
    assert MAX_INT64 == whole(parse_quantity("9" * LONGEST_QUANTITY))
    assert 1 == parse_quantity(f"0.{'0' * (LONGEST_QUANTITY - 3)}1")
    assert parse_quantity("9" * (LONGEST_QUANTITY + 1)) is None


def test_only_what_could_be_a_quantity_is_cached():
    quantities._parse.cache_clear()
    for text in ("1", "x", "x" * (LONGEST_QUANTITY + 1)):
        parse_quantity(text)

    assert 2 == quantities._parse.cache_info().currsize


SUFFIXES = {"n": Fraction(1, NANOS), "m": Fraction(1, 1000), "": 1, "k": 1000, "e4": 10**4, "Ki": 1024, "Gi": 1 << 30}


@given(
    st.decimals(0, 10**6, allow_nan=False, places=12),
    st.sampled_from(sorted(SUFFIXES)),
)
def test_a_quantity_is_exact_down_to_a_nano_and_rounds_up_there(number, suffix):
    nanos = parse_quantity(f"{number:f}{suffix}")
    exact = Fraction(number) * SUFFIXES[suffix]

    assert 0 <= nanos - exact * NANOS < 1
    assert 0 <= Fraction(thousandths(nanos), 1000) - Fraction(nanos, NANOS) < Fraction(1, 1000)
    assert 0 <= whole(nanos) - Fraction(nanos, NANOS) < 1


@given(st.text("0123456789+-.eEinumkKMGTP ", max_size=30) | st.text(max_size=10))
def test_any_text_is_a_quantity_or_none(text):
    nanos = parse_quantity(text)

    assert nanos is None or abs(nanos) <= MAX_INT64 * NANOS


RAW = [
    (None, 0),
    (2, 2 * NANOS),
    (0.5, NANOS // 2),
    (1e22, MAX_INT64 * NANOS),
    (" 2 ", 2 * NANOS),
    (10**30, MAX_INT64 * NANOS),
]


@pytest.mark.parametrize(("value", "nanos"), RAW, ids=repr)
def test_null_and_numbers_are_read_as_go_decodes_them(value, nanos):
    reader = Reader()

    assert nanos == read_quantity(reader, value, ("spec",), "cpu")
    assert [] == reader.errors


WRONG = [True, [], {}, "a lot", "", float("inf"), 1 << 20000]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_what_cannot_be_read_is_named_and_counts_as_nothing(value):
    reader = Reader()

    assert 0 == read_quantity(reader, value, ("spec", "overhead"), "cpu")
    assert [("spec.overhead.cpu", value, "must be a quantity such as 500m, 2 or 1.5Gi")] == [
        (path_text(error.path), error.value, error.detail) for error in reader.errors
    ]


@pytest.mark.parametrize(
    ("nanos", "text"), [(10**9 << 30, "1Gi"), (10**9 * 1536 << 20, "1536Mi"), (10**9 * 5, "5"), (1, "1"), (0, "0")]
)
def test_a_size_is_written_as_people_do(nanos, text):
    assert text == size_text(nanos)
