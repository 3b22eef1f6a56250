"""What a generator yields to the worker's main thread, which waits for the sockets of all clients at once."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")
Waiting = Generator[int, None, Result]  # Yields EVENT_READ, EVENT_WRITE or NOTHING until it has its result.
NOTHING = 0  # No event of the socket: the code that ends the wait resumes the connection.
