"""A control plane for each file of tests, nodes in three zones, and a namespace for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.e2e.kubelet import create_zones
from tests.e2e.plane import ControlPlane

NUMBERS = count(1)


@pytest.fixture(scope="module")
def plane(tmp_path_factory) -> Iterator[ControlPlane]:
    """A control plane that nobody else uses, with nine nodes in three zones."""
    with ControlPlane(tmp_path_factory.mktemp("plane")) as running:
        create_zones(running.api, {"a": 3, "b": 3, "c": 3})
        yield running


@pytest.fixture
def namespace(plane) -> str:
    """The name of a new namespace, in which Pods can be created at once."""
    name = f"test-{next(NUMBERS)}"
    plane.create_namespace(name)
    return name
