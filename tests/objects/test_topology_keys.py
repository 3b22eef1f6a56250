"""A key that is nearly a well-known one is told from a key of one's own."""

from __future__ import annotations

import pytest

from webhook.objects.names import HOSTNAME, REGION, ZONE
from webhook.objects.topology_keys import MISTAKES, WELL_KNOWN, likely_meant


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("kubernetes.io/zone", ZONE),
        ("topology.kubernetes.io/zones", ZONE),
        ("topology.kubernets.io/region", REGION),
        (" Hostname ", HOSTNAME),
        ("rack", None),
        ("example.com/zone", None),
        ("topology.ebs.csi.aws.com/zone", None),
        ("k" * 61, None),
        *((key, None) for key in WELL_KNOWN),
    ],
)
def test_what_a_key_was_meant_to_be(key, meant):
    assert meant == likely_meant(key)


def test_every_mistake_is_put_right_by_a_well_known_key():
    assert set(MISTAKES.values()) <= set(WELL_KNOWN)
    assert not set(MISTAKES) & set(WELL_KNOWN)
