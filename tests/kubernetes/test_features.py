"""Which version of Kubernetes does what."""

from __future__ import annotations

import pytest

from tests.support import DATA
from webhook.kubernetes.features import LATEST, NEWEST, PRE_RELEASE, Features, features, parse_version, unknown

# The first minor that has each, after 1.25; those of 1.25 itself are there from the beginning.
CAME = {
    25: {"empty_selector_counts", "names_untolerated_taint", "migrates_portworx_by_annotation"},
    26: {"node_inclusion_policies"},
    27: {"min_domains", "match_label_keys", "selector_validation", "prefixed_job_labels"},
    28: {"null_selector_warning", "skips_unconstrained"},
    31: {"affinity_keys_merge"},
    32: {"counts_volume_attachments"},
    33: {"allocated_resources", "skips_best_effort"},
    34: {
        *("selector_merge", "pod_level_resources", "matches_unlabelled_namespaces", "volume_attributes_class"),
        *("claim_in_use_reason", "requests_beyond_preemption", "speaks_of_deallocation"),
        "rejection_ends_post_filter",
    },
    35: {
        *("topology_labels", "lengths_in_bytes", "breaks_ties_by_heap", "nominates_before_binding"),
        "spares_ending_victims",
    },
    36: {
        *("pod_allocated_resources", "scores_balance_gained", "scores_image_volumes", "extended_resources_of_devices"),
    },
    37: {
        *("greatest_of_sums", "node_name_in_pre_filter", "stateful_set_max_unavailable", "counts_image_volumes"),
        *("pod_defaults_last", "prevents_missing_driver", "scores_storage_capacity"),
        *("counts_budgets_to_violated", "tells_preemption"),
    },
    38: {
        *("empty_selector_counts", "scores_pod_level_requests", "empty_selector_protects", "equal_victims_by_uid"),
        *("victimless_node_is_refused", "stateful_set_update_range", "stateful_set_recreate", "deletes_surplus_first"),
    },
}
# The first minor that has it no longer.
WENT = {
    27: {"empty_selector_counts"},
    34: {"names_untolerated_taint"},
    36: {"migrates_portworx_by_annotation"},
    37: {"matches_unlabelled_namespaces", "speaks_of_deallocation"},
}
NAMES = {*Features._fields} - {"minor"}


def there(minor):
    """What is there: what came up to this minor, and has not gone since it last came."""
    found = set()
    for each in range(25, minor + 1):
        found = (found - WENT.get(each, set())) | CAME.get(each, set())
    return found


@pytest.mark.parametrize("minor", range(25, 40))
def test_features_of_a_version(minor):
    assert there(minor) == {name for name in NAMES if getattr(features(minor), name)}
    assert minor == features(minor).minor


def test_every_feature_comes_and_only_what_is_there_goes():
    assert set().union(*CAME.values()) == NAMES
    assert all(names <= there(minor - 1) for minor, names in WENT.items())


def test_a_version_to_come_behaves_like_the_newest_known():
    assert features(38)._replace(minor=99) == features(99)
    assert features(NEWEST) == LATEST


VERSIONS = {
    "1.34": 34,
    "v1.34": 34,
    "1.25.0": 25,
    "v1.36.2": 36,
    "1.30+": 30,
    "v1.31.4-gke.1256000": 31,
    "1.32.1+k3s1": 32,
    " 1.33\n": 33,
    "1.100": 100,
}


@pytest.mark.parametrize(("text", "minor"), VERSIONS.items(), ids=VERSIONS)
def test_a_version_is_read(text, minor):
    assert features(minor) == parse_version(text)


NO_VERSIONS = ["", "1", "1.", "1.x", "latest", "2.0", "1.-30", "1.36beta", "1.36 1.37", "11.36", "v 1.36", "1.12345"]


@pytest.mark.parametrize("text", NO_VERSIONS, ids=lambda text: text or "nothing")
def test_what_is_no_version_is_refused(text):
    with pytest.raises(ValueError, match=r"wanted a version such as 1\.37") as error:
        parse_version(text)

    assert f'found "{text}"' in str(error.value)


@pytest.mark.parametrize("text", ["1.24", "v1.24.17", "1.0", "1.9-eks"])
def test_a_version_too_old_is_refused(text):
    with pytest.raises(ValueError, match=r"wanted 1\.25 or newer") as error:
        parse_version(text)

    assert f'found "{text}"' in str(error.value)


def test_the_newest_version_is_the_newest_that_was_recorded():
    recorded = [int(folder.name.partition(".")[2]) for folder in DATA.glob("1.*")]

    assert max(recorded) == NEWEST + bool(PRE_RELEASE)
    assert "" == unknown(features(NEWEST)) == unknown(features(25))
    assert f"Kubernetes 1.{NEWEST + 2} is newer than 1.{NEWEST}" in unknown(features(NEWEST + 2))


def test_a_pre_release_is_named_that_was_compared(monkeypatch):
    monkeypatch.setattr("webhook.kubernetes.features.PRE_RELEASE", f"v1.{NEWEST + 1}.0-beta.0")
    assert f"v1.{NEWEST + 1}.0-beta.0" in unknown(features(NEWEST + 1))

    monkeypatch.setattr("webhook.kubernetes.features.PRE_RELEASE", "")
    assert f"Kubernetes 1.{NEWEST + 1} is newer than 1.{NEWEST}" in unknown(features(NEWEST + 1))
