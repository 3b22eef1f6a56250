"""
The claims that controllers make for a Pod: of a StatefulSet's volumeClaimTemplates, and of its ephemeral volumes.

    templates, ordinal ──> names of claims, volumes of the Pod, claims in JSON
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.kubernetes.fields import Raw, as_list, as_mapping, as_text, texts_at

CLAIM_KIND = "PersistentVolumeClaim"


def claim_name(template: str, stateful_set: str, ordinal: int) -> str:
    """
    Return the name of the claim that a Pod of a StatefulSet has of a template.

    upstream: stateful_set_utils.go:getPersistentVolumeClaimName (v1.37)
    """
    return f"{template}-{stateful_set}-{ordinal}"


def template_name(template: Raw) -> str:
    """The name of a template of claims, which is also that of the volume."""
    return texts_at(template, "metadata.name")[0]


def with_claims(spec: Raw, templates: Sequence[Raw], stateful_set: str, ordinal: int) -> Raw:
    """
    Return the spec of a StatefulSet's Pod with its claims as volumes, in place of volumes with the same names.

    upstream: stateful_set_utils.go:updateStorage (v1.37)
    """
    if not templates:
        return spec
    claim_volumes = [
        {
            "name": template_name(template),
            "persistentVolumeClaim": {"claimName": claim_name(template_name(template), stateful_set, ordinal)},
        }
        for template in templates
    ]
    names = {volume["name"] for volume in claim_volumes}
    others = [volume for volume in as_list(spec.get("volumes")) if as_text(as_mapping(volume).get("name")) not in names]
    return {**spec, "volumes": [*claim_volumes, *others]}


def claims_of_set(templates: Sequence[Raw], stateful_set: str, namespace: str, ordinal: int) -> Iterator[Raw]:
    """Yield the claims that the StatefulSet controller makes for a Pod."""
    for template in templates:
        yield claim_from_template(template, claim_name(template_name(template), stateful_set, ordinal), namespace)


def ephemeral_claims(pod: Raw) -> Iterator[Raw]:
    """
    Yield the claims that are made for the ephemeral volumes of a Pod.

    upstream: controller.go:ephemeralController.handleVolume (v1.37)
    """
    namespace, name, uid = texts_at(pod, "metadata.namespace", "metadata.name", "metadata.uid")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": True}
    owner_references = {"ownerReferences": [owner]} if uid else {}
    for volume in map(as_mapping, as_list(as_mapping(pod.get("spec")).get("volumes"))):
        ephemeral = volume.get("ephemeral")
        if isinstance(ephemeral, dict):
            template = as_mapping(ephemeral.get("volumeClaimTemplate"))
            claim = claim_from_template(template, f"{name}-{texts_at(volume, 'name')[0]}", namespace)
            yield {**claim, "metadata": {**as_mapping(claim["metadata"]), **owner_references}}


def claim_from_template(template: Raw, name: str, namespace: str) -> Raw:
    metadata = {**as_mapping(template.get("metadata")), "name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": CLAIM_KIND, "metadata": metadata, "spec": template.get("spec")}
