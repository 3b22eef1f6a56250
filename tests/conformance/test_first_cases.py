"""The first cases of each recording of the newest minor version agree: what `make quick` has of the recordings."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.conformance import MODES, recordings
from tests.conformance.cases import read
from webhook.kubernetes.features import LATEST

NEWEST = [(mode, path) for mode in MODES for path, features in recordings(MODES[mode]).items() if features == LATEST]


@pytest.mark.parametrize(("mode", "path"), NEWEST, ids=[f"{mode}-{path.name}" for mode, path in NEWEST])
def test_the_first_cases_agree(mode, path):
    cases = islice(read(path), 150)
    differences = {case["id"]: [*MODES[mode].differences(case, LATEST)] for case in cases}

    assert {} == {case: found for case, found in differences.items() if found}
