"""
Quantities such as `500m`, `1.5Gi` or `100e6`, as k8s.io/apimachinery/pkg/api/resource reads them.

    text ──> a whole number of nanos (10^-9), rounded away from zero ──> whole units or thousandths, rounded likewise
"""

from __future__ import annotations

import re
from functools import lru_cache

from webhook.kubernetes.fields import TYPE_INVALID, FieldError, FieldPath
from webhook.kubernetes.reader import Reader

NANOS = 10**9
MILLI = 10**6  # The nanos in a thousandth.
MAX_INT64 = 2**63 - 1  # Whole units: the Go type caps binary suffixes there, and decimal ones overflow beyond it.
LONGEST_QUANTITY = 256  # Characters.

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_QUANTITY_PATTERN = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
# With a larger exponent any text of LONGEST_QUANTITY characters is larger than MAX_INT64, or smaller than a nano: so
# clamping keeps the result, and avoids huge powers of ten.
_LARGEST_EXPONENT = 3 * LONGEST_QUANTITY
# Without a digit, upstream refuses these suffixes and exponents below -9, but reads `Mi` as 0.
_NEEDS_DIGITS = ("Pi", "Ei")


def parse_quantity(text: str) -> int | None:
    """
    Return the nanos of a quantity; None if the text is no quantity, or has more than LONGEST_QUANTITY characters.

    upstream: quantity.go:ParseQuantity (v1.37)
    """
    return _parse(text) if 0 < len(text) <= LONGEST_QUANTITY else None


@lru_cache(maxsize=4096)
def _parse(text: str) -> int | None:
    match = _QUANTITY_PATTERN.fullmatch(text)
    if match is None:
        return None
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    power, doublings = 0, _BINARY.get(suffix, 0)
    if not doublings:
        exponent = _exponent(suffix)
        if exponent is None:
            return None
        power = max(-_LARGEST_EXPONENT, min(exponent, _LARGEST_EXPONENT))
    if not whole and not fraction and (suffix in _NEEDS_DIGITS or power < -9):
        return None
    digits = int(whole + fraction or "0") << doublings
    nanos = _scaled(digits, power - len(fraction) + 9)
    nanos = min(nanos, MAX_INT64 * NANOS)
    return -nanos if sign == "-" else nanos


def _exponent(suffix: str) -> int | None:
    """Return the power of ten that a suffix means; None if it is no suffix."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix]
    match = _EXPONENT.fullmatch(suffix)
    exponent = int(match[1]) if match is not None else None
    return exponent if exponent is not None and -MAX_INT64 - 1 <= exponent <= MAX_INT64 else None


def _scaled(number: int, power: int) -> int:
    """Return `number * 10**power`, rounded up."""
    factor: int = 10 ** abs(power)
    return number * factor if power >= 0 else -(-number // factor)


def whole(nanos: int) -> int:
    """
    Nanos as whole units, rounded away from zero.

    upstream: quantity.go:Quantity.Value (v1.37)
    """
    return -(-nanos // NANOS) if nanos >= 0 else nanos // NANOS


def size_text(nanos: int) -> str:
    """Write a size in the largest binary unit of which it is a multiple."""
    size = whole(nanos)
    for suffix, power in reversed(_BINARY.items()):
        if size and size % (1 << power) == 0:
            return f"{size >> power}{suffix}"
    return str(size)


def thousandths(nanos: int) -> int:
    """
    Nanos as thousandths, rounded away from zero.

    upstream: quantity.go:Quantity.MilliValue (v1.37)
    """
    return -(-nanos // MILLI) if nanos >= 0 else nanos // MILLI


def read_quantity(reader: Reader, value: object, path: FieldPath, *field: str) -> int:
    """Return the nanos of a quantity in raw JSON, which may also be a number; null is 0."""
    nanos = parse_quantity(value.strip(" ")) if isinstance(value, str) else _from_number(value)
    if nanos is None:
        reader.errors.append(
            FieldError(TYPE_INVALID, (*path, *field), value, "must be a quantity such as 500m, 2 or 1.5Gi")
        )
        return 0
    return nanos


def _from_number(value: object) -> int | None:
    """Return the nanos of a JSON number; null is 0."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return parse_quantity(str(value)) if isinstance(value, float) or value.bit_length() < LONGEST_QUANTITY else None
