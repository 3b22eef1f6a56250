"""How the bytes of a file are read as text: as UTF-8, or as UTF-16 where they begin with its byte order mark."""

from __future__ import annotations


def encoding(content: bytes) -> str:
    """
    The name of the encoding, for `bytes.decode`, which keeps the byte order mark, and `str.encode`.

    PowerShell writes what is piped into a file as UTF-16, and kubectl reads it.
    """
    if content.startswith(b"\xff\xfe"):
        return "utf-16-le"
    return "utf-16-be" if content.startswith(b"\xfe\xff") else "utf-8"
