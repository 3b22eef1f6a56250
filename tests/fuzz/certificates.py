"""Target: the entries of the Secret in which replicas share certificates, and the same as files."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

from hypothesis import strategies as st

from certs.authority import Authority
from certs.clients import Cas
from certs.files import CertificateError, Pem
from certs.pem import Pair, inspect
from certs.rotation import CA_CERT, CERT, KEY, TRUSTED, Lifetimes, entries, is_served, parse, renewed
from tests.fuzz.outline import outlined

NAMES = ("evenkeel.guard.svc", "10.0.0.1")
NOW = datetime(2026, 6, 1, tzinfo=UTC)
CLOCKS = tuple(timedelta(days=days) for days in (0, 61, 91, 3_660, -1, -4_000))
TIMES = ("", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-05-01", "2026-W20-1T00:00:00", "x" * 9_000)
LIVES = Lifetimes()


@cache
def whole() -> Mapping[str, bytes]:
    """What a Secret holds where all is well."""
    return entries(renewed(parse({}), NAMES, NOW, None, LIVES).held)


@cache
def foreign() -> tuple[bytes, ...]:
    """Certificates and keys of another CA."""
    ca = Authority.create(NOW, "another")
    leaf = ca.issue(["another.name"], NOW, client=True)
    return ca.pair.chain_pem(), ca.pair.key_pem(), leaf.chain_pem(), leaf.key_pem()


def damaged(pem: bytes, random: Random) -> bytes:
    """PEM in which some bytes are others, after their Base64 is decoded."""
    lines = pem.splitlines()
    if len(lines) < 3:
        return pem
    der = bytearray(base64.b64decode(b"".join(line for line in lines if b"-----" not in line)))
    for _ in range(random.choice((1, 1, 2, 4))):
        start, size = random.randrange(len(der) + 1), random.choice((0, 1, 4, 30))
        der[start : start + size] = random.randbytes(random.choice((0, 1, size)))
    return lines[0] + b"\n" + base64.encodebytes(bytes(der)) + lines[-1] + b"\n"


@st.composite
def secrets(draw: Callable[..., Any]) -> bytes:
    """A number, and the entries of a Secret as JSON."""
    random, content = Random(draw(st.integers(0, 1 << 32))), dict(whole())
    if draw(st.booleans()):
        content[TRUSTED] = draw(st.sampled_from(TIMES)).encode()
    for name in draw(st.lists(st.sampled_from((*content, "other")), max_size=3)):
        match draw(st.integers(0, 3)):
            case 0:
                content.pop(name, None)
            case 1:
                content[name] = draw(st.sampled_from(foreign()))
            case 2:
                content[name] = content.get(name, b"") + draw(st.sampled_from((*foreign(), b"\0")))
            case _:
                content[name] = damaged(content.get(name, b""), random)
    shown = {name: value.decode("latin-1") for name, value in content.items()}
    return b"%d\n%b" % (draw(st.integers(0, 1 << 20)), json.dumps(shown).encode())


class Certificates:
    """What cannot be used is made anew or refused in words, and what comes of it is served."""

    name, share = "certificates", 1
    bases = secrets()

    def check(self, given: bytes) -> Hashable:
        number, _, body = given.partition(b"\n")
        content = self._content(body)
        now = NOW + CLOCKS[int(number or b"0") % len(CLOCKS)]
        held = parse(content)
        found = renewed(held, NAMES, now, (None, (), (held.ca_bundle,))[int(number or b"0") % 3], LIVES)
        assert is_served(found.held, NAMES, now), found.reasons
        again = entries(found.held)
        assert again == entries(parse(again))
        chain, key = (Pem(name, content.get(name, body)) for name in (CERT, KEY))
        ca = Pem(CA_CERT, content.get(CA_CERT, body))
        tries = (lambda: Pair.parse(chain, key), lambda: Cas.parse(ca), lambda: inspect(chain))
        return tuple(map(outlined, found.reasons)), *map(self._said, tries)

    @staticmethod
    def _content(body: bytes) -> dict[str, bytes]:
        try:
            raw = json.loads(body)
        except (ValueError, RecursionError):
            return {}
        texts = raw.items() if isinstance(raw, dict) else ()
        return {name: str(text).encode("utf-8", "surrogatepass") for name, text in texts}

    @staticmethod
    def _said(attempt: Callable[[], object]) -> str:
        """Why not, in outline; a key is never shown."""
        try:
            attempt()
        except CertificateError as error:
            assert not any(line in str(error) for line in whole()[KEY].decode().splitlines()[1:-1])
            return outlined(str(error))
        return ""
