"""Listening sockets for the options that name an address."""

from __future__ import annotations

import os
import re
import socket
from contextlib import suppress

from webhook.cli.usage import UsageError

ADDRESS = re.compile(r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[^\[\]:\s]*)):(?P<port>[0-9]{1,5})")
BACKLOG = 1024  # Connections that may wait to be accepted.


def address(flag: str, bind: str) -> tuple[str, int]:
    """The host and port of `HOST:PORT`, `[IPv6]:PORT`, or `:PORT` for every address of this host."""
    match = ADDRESS.fullmatch(bind)
    if not match or int(match["port"]) > 65535:
        raise UsageError(f'{flag}: found "{bind}", wanted HOST:PORT with a port up to 65535')
    return match["ipv6"] or match["host"] or "", int(match["port"])


def listen(flag: str, bind: str) -> socket.socket:
    """Open the listening socket; UsageError if that fails."""
    host, port = address(flag, bind)
    try:
        if not host and socket.has_dualstack_ipv6():
            with suppress(OSError):  # the kernel may support IPv6 where no interface has such an address
                return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=BACKLOG)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        # The numbers of socket.gaierror are negative, and strerror does not know them.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise UsageError(f"{flag}: {bind}: {reason}; name another address or port") from error
