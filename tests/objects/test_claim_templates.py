"""Claims that controllers make for Pods."""

from __future__ import annotations

import pytest

from evenkeel.objects.claim_templates import (
    claim_from_template,
    claim_name,
    claims_of_set,
    ephemeral_claims,
    template_name,
    with_claims,
)

TEMPLATE = {"metadata": {"name": "data", "labels": {"app": "db"}}, "spec": {"storageClassName": "fast"}}
DATA_3 = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data-db-3", "namespace": "shop", "labels": {"app": "db"}},
    "spec": {"storageClassName": "fast"},
}


def test_a_claim_is_named_by_template_set_and_ordinal():
    assert "data" == template_name(TEMPLATE)
    assert "data-db-3" == claim_name("data", "db", 3)
    assert [DATA_3] == list(claims_of_set([TEMPLATE], "db", "shop", 3))


def test_the_claims_of_a_set_stand_in_place_of_volumes_with_their_names():
    own = {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-3"}}
    others = [{"name": "data", "emptyDir": {}}, {"name": "logs", "emptyDir": {}}]

    assert {"volumes": [own, others[1]]} == with_claims({"volumes": others}, [TEMPLATE], "db", 3)
    assert {"volumes": others} == with_claims({"volumes": others}, [], "db", 3)


@pytest.mark.parametrize("name", [[], {}, 5, None])
def test_a_volume_whose_name_is_no_text_is_kept(name):
    other = {"name": name, "emptyDir": {}}

    assert other in with_claims({"volumes": [other]}, [TEMPLATE], "db", 3)["volumes"]


def test_an_ephemeral_volume_has_a_claim_with_the_name_of_the_pod():
    volumes = [{"name": "data", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}, {"name": "x", "emptyDir": {}}]
    pod = {"metadata": {"namespace": "shop", "name": "db"}, "spec": {"volumes": volumes}}

    assert [claim_from_template(TEMPLATE, "db-data", "shop")] == list(ephemeral_claims(pod))
    assert [] == list(ephemeral_claims({"spec": {"volumes": None}}))


def test_the_claim_of_an_ephemeral_volume_is_controlled_by_its_pod():
    volumes = [{"name": "data", "ephemeral": {"volumeClaimTemplate": TEMPLATE}}]
    pod = {"metadata": {"namespace": "shop", "name": "db", "uid": "u1"}, "spec": {"volumes": volumes}}
    (claim,) = ephemeral_claims(pod)
    (owner,) = claim["metadata"]["ownerReferences"]

    assert ("Pod", "db", "u1", True) == (owner["kind"], owner["name"], owner["uid"], owner["controller"])
