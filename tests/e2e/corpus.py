"""Manifests in all forms that YAML and JSON have, made at random from a seed; kubectl refuses some of them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

SHARED = "x-shared: [&text web, &number 8080, &object {a: 1, k1: 2}, &other {b: 2, k1: 3}, &list [1, 2]]\n"
HEAD = "apiVersion: v1\nkind: Thing\nmetadata: {name: thing}\n"
PLAIN = re.findall(
    r"\S+",
    r"""
    a b-c a:b http://x:80/y a#b é 😀 -a .a = + - fd00:: fe80::1 a::b
    0 -0 +1 1 017 0o17 0x1F 0b11 -0b11 1_000 1__0 _1 09 0x 1. .5 +.5 5e3 1e3 1E-7 1.10 0.1 1e400 -1e400 12:30:45 1:2
    2001-01-01 2001-12-14t21:59:43.10-05:00 2001-1-1
    9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616 99999999999999999999999
    yes Yes NO on off y N true TRUE tRue False null Null NULL ~ nUll
    "" '' "x" 'it''s' "a\tb\u00e9\x41" "null" '1' "<<"
    """,
)
TAGGED = ["!!str 5", "!!str null", "!!int 5", '!!int "5"', "!!int x", "!!float 5", "!!float 5.0", "!!bool yes"]
TAGGED += [
    "!own x",
    "!own 5",
    "!!null null",
    "!!null x",
    "!!timestamp 2001-01-01",
    "!!int 5.5",
    "!!bool 1",
    "!<tag:x> 1",
]
FLOW_ONLY = ["fd00::", "a:", "fe80::/64", "::1", "10.0.0.0/8", "a: b", '"q":1', "'q': 1", "? a", "", "*text : 1"]
BLOCKS = ["|\n{0}x\n{0} y\n", "|-\n{0}x\n\n{0}y\n\n", "|+\n{0}x\n\n", "|2\n{0}x\n", "|\n\n{0}x\n"]
BLOCKS += [">\n{0}a\n{0}b\n\n{0}c\n", ">-\n{0}a\n{0}  b\n{0}c\n", "| # c\n{0}# no comment\n"]
BLOCKS += ["a\n{0}b\n{0}c\n", '"a\n{0}b\n\n{0}c"\n', "'a\n{0}  b'\n"]
KEYS = [*(f"k{i}" for i in range(1, 9)), '"q"', "'q'", "5", "1.5", "1.0", "true", "yes", "y", "a b", "a:b"]
ODD_KEYS = ["*text ", "*number ", "*list ", "2001-01-01", "<<", "? k", "&key k9", "[a]", "{a: b}", "!own k"]
MERGES = ["*object", "[*object, *other]", "{k1: 9, m: 1}", "[{k1: 9}, *object]", "*text", "*list", "[]", "1"]


class Maker:
    """Makes one manifest; everything it does follows from the seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def manifest(self) -> bytes:
        """The bytes of a file."""
        if self.chance(0.15):
            return self._json().encode()
        text = SHARED + HEAD + f"spec:{self.block(2, 2)}"
        for chance, change in CHANGES:
            if self.chance(chance):
                text = change(text)
        encoding = self.random.choices(("utf-8", "utf-8-sig", "utf-16"), (20, 1, 1))[0]
        return text.encode(encoding)

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def pick(self, *kinds: list[str]) -> str:
        return self.random.choice(self.random.choice(kinds))

    def block(self, depth: int, indent: int) -> str:
        """A value, and the line end after it; what is before it is a key's colon or a dash."""
        shape = self.random.random()
        anchor = f" &a{self.random.randrange(5)}" if self.chance(0.05) else ""
        if depth and shape < 0.45:
            members = "".join(self._member(depth - 1, indent) for _ in range(self.random.randrange(1, 5)))
            return f"{anchor}{self._comment()}\n{members}"
        if depth and shape < 0.65:
            lead = " " * indent
            items = "".join(f"{lead}-{self.block(depth - 1, indent + 2)}" for _ in range(self.random.randrange(1, 4)))
            return f"{anchor}{self._comment()}\n{items}"
        if shape < 0.75:
            return f"{anchor} {self.random.choice(BLOCKS).format(' ' * indent)}"
        if shape < 0.92:
            return f"{anchor} {self.flow(2)}{self._comment()}\n"
        alias = self.random.choice(["text", "number", "object", "list", "a1", "nowhere"])
        return f" *{alias}{self._comment()}\n"

    def _member(self, depth: int, indent: int) -> str:
        lead = " " * indent
        if self.chance(0.1):
            return f"{lead}<<: {self.random.choice(MERGES)}\n"
        key = self.random.choice(ODD_KEYS if self.chance(0.1) else KEYS)
        return f"{lead}{key}:{self.block(depth, indent + 2)}"

    def flow(self, depth: int) -> str:
        shape, inner = self.random.random(), range(self.random.randrange(4))
        if depth and shape < 0.2:
            return "[" + self._joined([self._entry(depth - 1) for _ in inner]) + "]"
        if depth and shape < 0.4:
            return "{" + self._joined([f"{self._flow_key()}: {self._entry(depth - 1)}" for _ in inner]) + "}"
        return self.pick(PLAIN, PLAIN, TAGGED)

    def _entry(self, depth: int) -> str:
        return self.random.choice(FLOW_ONLY) if self.chance(0.15) else self.flow(depth)

    def _flow_key(self) -> str:
        return self.random.choice(ODD_KEYS if self.chance(0.05) else KEYS)

    def _joined(self, parts: list[str]) -> str:
        return self.random.choice([", ", ",", " , ", ",\n        "]).join(parts) + self.random.choice(["", "", "", ","])

    def _comment(self) -> str:
        return self.random.choice(["", "", "", " # a comment", "  ", "#none"] if self.chance(0.3) else [""])

    def _json(self) -> str:
        """One JSON object, or a stream of several, some of them broken."""
        parts = []
        for i in range(self.random.randrange(1, 4)):
            spec = {f"k{n}": self.random.choice([1, 1.5, None, True, "x", [1, {"a": "b"}], {}]) for n in range(i + 2)}
            obj = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": f"t{i}"}, "spec": spec}
            text = json.dumps(obj, indent=self.random.choice([None, 2, "\t"]))
            parts.append(text.replace('"k1"', '"k0"') if self.chance(0.2) else text)
        text = self.random.choice(["\n", "", "\n\n", " ", "\n---\n", "\n,\n"]).join(parts)
        return text[: -self.random.randrange(1, 20)] if self.chance(0.1) else text + self.random.choice(["", "\n"])


CHANGES: list[tuple[float, Callable[[str], str]]] = [
    (0.1, lambda text: text.replace("\n", "\r\n")),
    (0.1, lambda text: f"---\n{text}"),
    (0.05, lambda text: f"# a comment\n---\n{text}...\n"),
    (0.1, lambda text: f"{text}---\n{HEAD}spec: [second]\n"),
    (0.03, lambda text: f"{text}--- # a comment\n{HEAD}"),
    (0.02, lambda text: text.replace("spec:", "spec:\t")),
]
