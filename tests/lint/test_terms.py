"""What manifests are judged by: all that a request is, and for patches a policy that knows no labels."""

from __future__ import annotations

from tests.support.lint import terms
from webhook.findings.finding import Severity
from webhook.lint.declarations import NOTHING_AROUND, FileNeighbours
from webhook.objects.references import ScaleTarget, Scaling


def test_of_a_patch_no_labels_are_known_and_all_else_is_the_same():
    whole = terms(namespace="shop", unused=Severity.ERROR, patches=frozenset({"a.yaml"}))
    patched = whole.for_patches

    assert {kind.kind for kind in whole.policy.kinds} == {kind.kind for kind in patched.policy.kinds}
    assert set() == {kind.kind for kind in patched.policy.kinds if kind.template is not None}
    assert whole.policy.settings == patched.policy.settings
    assert ("shop", Severity.ERROR, whole.patches) == (patched.namespace, patched.unused, patched.patches)
    assert (whole.never_sent, whole.features) == (patched.never_sent, patched.features)


def test_the_policy_for_patches_is_made_once_for_all_files_that_stand_alone():
    whole = terms()

    assert whole.for_patches is whole.with_context(NOTHING_AROUND).for_patches


def test_what_stands_around_a_file_is_seen_beside_the_cluster():
    scaling = {ScaleTarget("shop", "apps", "Deployment", "web"): Scaling(1, 2)}
    beside = terms(namespace="shop").with_context(FileNeighbours(scalings=scaling))

    assert ("shop", scaling) == (beside.namespace, beside.scalings)
    assert {} == terms().scalings
