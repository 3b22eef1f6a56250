"""
Whether the ValidatingAdmissionPolicies in a cluster are those that `evenkeel manifests --engine policy` writes.

What the API server adds to them is no difference; what somebody else has added is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus

from webhook.cluster.client import Client, ClusterError
from webhook.loading.usage import UsageError
from webhook.manifests.acting import Export
from webhook.manifests.admission_policies import POLICY_NAMES, admission_policies
from webhook.manifests.policy_objects import CEL_BINDING, CEL_POLICY, deletion
from webhook.objects.fields import FieldPath, Raw, as_mapping, path_text, value_at
from webhook.objects.references import ObjectRef

CEL_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
CEL_RESOURCES = {
    CEL_POLICY: CEL_POLICIES,
    CEL_BINDING: f"{CEL_POLICIES.removesuffix('ies')}ybindings",
}
READ_SECONDS = 10.0
ADDED_BY_API_SERVER = {"matchPolicy": "Equivalent"}

Names = tuple[str, str]  # kind and name


def read_installed(client: Client) -> Mapping[Names, Raw]:
    """Return evenkeel's policies and bindings that are in the cluster; UsageError if they may not be read."""
    installed: dict[Names, Raw] = {}
    for kind, path in CEL_RESOURCES.items():
        for name in POLICY_NAMES.values():
            try:
                installed[kind, name] = client.get(f"{path}/{name}", {}, READ_SECONDS)
            except ClusterError as error:
                if error.status == HTTPStatus.FORBIDDEN:
                    asked = "get validatingadmissionpolicies and validatingadmissionpolicybindings"
                    raise UsageError(f"--cluster live: {error}; ask for the right to {asked}") from error
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
    return installed


def not_in_force(export: Export, installed: Mapping[Names, Raw], command: str) -> Iterator[str]:
    """Yield a line for each policy and binding that is not as `command` prints it, with what to do."""
    written = {
        (ref.kind, ref.name): manifest for manifest in admission_policies(export) if (ref := ObjectRef.of(manifest))
    }
    apply = f"{command} | kubectl apply -f -"
    for (kind, name), manifest in written.items():
        there = installed.get((kind, name))
        if there is None:
            yield f"found no {kind} {name} in the cluster; apply it: {apply}"
            continue
        spec = _compared(kind, manifest)
        if path := difference(spec, _compared(kind, there), ()):
            at = f"{kind} {name}: {path_text(('spec', *path))}"
            if value_at(spec, path) is None and not any(isinstance(part, int) for part in path):  # Lists are replaced.
                yield (
                    f"{at} was added by another client, and kubectl apply keeps it; remove it: kubectl edit "
                    f"{kind.lower()} {name}"
                )
            else:
                yield f"{at} differs from what evenkeel prints for the policy; apply it again: {apply}"
    for kind, name in sorted(installed.keys() - written.keys()):
        if kind == CEL_BINDING:
            yield f"{kind} {name}: is in the cluster, but the policy does not need it; remove it: {deletion([name])}"


def _compared(kind: str, manifest: Raw) -> Raw:
    """Return the spec; without the namespaces in which a binding holds, for these are the cluster's own affair."""
    spec = as_mapping(manifest.get("spec"))
    if kind != CEL_BINDING:
        return spec
    matching = as_mapping(spec.get("matchResources"))
    return {**spec, "matchResources": {key: matching[key] for key in matching if key != "namespaceSelector"}}


def difference(written: object, there: object, path: FieldPath) -> FieldPath:
    """Return the path of the first value that is not there as it was written, or that was not written; () if none."""
    if isinstance(written, dict):
        given = as_mapping(there)
        pairs = [(key, written.get(key, ADDED_BY_API_SERVER.get(key)), given.get(key)) for key in {**written, **given}]
    elif isinstance(written, list) and written:
        if not isinstance(there, list) or len(there) != len(written):
            return path
        pairs = [(i, value, there[i]) for i, value in enumerate(written)]
    else:
        return () if written == there or (not written and not there) else path
    return next((at for key, value, other in pairs if (at := difference(value, other, (*path, key)))), ())
