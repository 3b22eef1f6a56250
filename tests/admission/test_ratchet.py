"""What an object had before never denies an update, and is known again wherever it moved to."""

from __future__ import annotations

import pytest

from tests.support.build import (
    HOSTNAME,
    ZONE,
    constraint,
)
from tests.support.review import Case, at_validate, deployment, validate
from tests.support.strategies import nested

EMPTY = constraint(labelSelector={})
SCALED = deployment(EMPTY, spec={"replicas": 9, "template": deployment(EMPTY)["spec"]["template"]})
RESTARTED = deployment(EMPTY, template={"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}})
MOVED = deployment(constraint(topologyKey="rack", matchLabelKeys=["pod-template-hash"]), EMPTY)
TWO_RULES = (
    "{rules: {misspelt-topology-key: error, forbidden-topology-key:"
    " {severity: error, topologyKeys: [topology.kubernetes.io/hostname]}}}"
)
HIDDEN = constraint(topologyKey="topology.kubernetes.io/hostname")
IGNORES_ONE = {"annotations": {"evenkeel.dev/ignore": "misspelt-topology-key"}}
IGNORED = {"evenkeel.dev/ignore": "empty-selector"}
CASES = [
    Case("scaling leaves the template as it was", at_validate(SCALED, deployment(EMPTY)), audited=False),
    Case(
        "a label on the object, too",
        at_validate(deployment(EMPTY, labels=None, x="y"), deployment(EMPTY)),
        audited=False,
    ),
    Case(
        "a restart keeps its old error as a warning",
        at_validate(RESTARTED, deployment(EMPTY)),
        warned=("empty-selector",),
    ),
    Case(
        "an old error is known again where it moved to",
        at_validate(MOVED, deployment(EMPTY)),
        warned=("empty-selector",),
    ),
    Case("a new error denies an update", at_validate(deployment(EMPTY), deployment()), denied=("empty-selector",)),
    Case(
        "a second error beside an old one denies, the old one warns",
        at_validate(deployment(EMPTY, EMPTY | {"topologyKey": "rack"}), deployment(EMPTY)),
        denied=("empty-selector",),
        warned=("empty-selector",),
    ),
    Case(
        "an old error on another topology is another",
        at_validate(deployment(EMPTY | {"topologyKey": "rack"}), deployment(EMPTY)),
        denied=("empty-selector",),
    ),
    Case(
        "an old error that another finding on its field hid is old",
        at_validate(
            deployment(HIDDEN, template={"x": "y", **IGNORES_ONE}),
            deployment(HIDDEN, template=IGNORES_ONE),
            rules=TWO_RULES,
        ),
        warned=("forbidden-topology-key",),
    ),
    Case(
        "an error that an annotation silenced is no new one when the annotation goes",
        at_validate(
            deployment(EMPTY, template={"annotations": {}}), deployment(EMPTY, template={"annotations": IGNORED})
        ),
        warned=("empty-selector",),
    ),
    Case(
        "each missing topology is a finding of its own",
        at_validate(
            deployment(constraint(topologyKey="rack")),
            deployment(constraint(topologyKey="kubernetes.io/hostname")),
            rules=f"{{rules: {{missing-constraints: {{severity: error, topologyKeys: [{ZONE}, {HOSTNAME}]}}}}}}",
        ),
        denied=("missing-constraints",),
        warned=("missing-constraints",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_an_update_is_denied_for(case):
    case.check()


def test_a_template_nested_too_deep_to_compare_is_judged_again():
    obj, old = (deployment(EMPTY) for _ in range(2))
    for one in (obj, old):
        deepest = one["spec"]["template"]
        for _ in range(5_000):
            deepest["x"] = {}
            deepest = deepest["x"]

    assert ("empty-selector",) == tuple(w.partition(":")[0] for w in validate(obj, old).warnings)


def test_nothing_is_new_where_the_old_object_was_too_large_to_judge():
    found = validate(deployment(EMPTY), deployment(*[constraint()] * 101))

    assert found.allowed and ("empty-selector",) == tuple(w.partition(":")[0] for w in found.warnings)


@pytest.mark.parametrize("levels", [5, 5_000])
def test_constraints_too_deep_to_compare_are_not_known_to_be_kept(levels):
    obj, old = (deployment(nested(levels), *[constraint()] * 100) for _ in range(2))
    obj["spec"]["template"]["spec"]["x"] = old["spec"]["x"] = "y"

    assert (levels < 1_000) == validate(obj, old, rules="{onError: Deny}").allowed
