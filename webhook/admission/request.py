"""
One request of kube-apiserver, parsed once; all decisions use these values.

    admission.k8s.io/v1 request ──read_request──> AdmissionRequest ──review──> Decision
    an object in a file ─────────of─────────────────┘
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from webhook.kubernetes.fields import texts_at, value_at
from webhook.kubernetes.kinds import Kinds
from webhook.kubernetes.reader import brief
from webhook.kubernetes.references import Owner
from webhook.kubernetes.workload import Workload, parse_workloads

ADMISSION_GROUP, REVIEW_KIND = "admission.k8s.io", "AdmissionReview"
REVIEW_API_VERSION = f"{ADMISSION_GROUP}/v1"
MUTATE, VALIDATE = "mutate", "validate"
CREATE, UPDATE = "CREATE", "UPDATE"
NO_OBJECT: Mapping[str, object] = {}


class AdmissionRequest(NamedTuple):
    """What kube-apiserver asks."""

    uid: str
    phase: str  # MUTATE or VALIDATE
    operation: str = ""
    namespace: str = ""
    kind: tuple[str, str] = ("", "")  # (group, kind)
    name: str = ""
    user: str = ""  # the name of the user who sends the object
    dry_run: bool = False  # nothing is stored, as with `kubectl diff`
    obj: Mapping[str, object] = NO_OBJECT
    old: Mapping[str, object] = NO_OBJECT
    workloads: tuple[Workload, ...] = ()  # of the object; empty if the operation or the kind is not judged
    before: tuple[Workload, ...] = ()  # of the old object
    owner: Owner | None = None  # the owner reference with `controller: true`
    lacks_constraints: bool = False  # it creates a Pod that may be given defaults
    # Set only if the request could not be read.
    unread: str = ""  # why only the uid could be read
    malformed: str = ""  # what is wrong with it
    defect: Exception | None = None  # an exception in evenkeel

    @classmethod
    def of(
        cls,
        obj: Mapping[str, object],
        old: Mapping[str, object] | None = None,
        *,
        phase: str,
        kinds: Kinds,
        namespace: str,
        user: str = "",
    ) -> AdmissionRequest:
        """
        Return the request that kube-apiserver makes of `obj`, in its own namespace or else in `namespace`.

        A namespace that is no string reads as "": nobody knows which one is meant.
        """
        api_version, kind, own_namespace, name = texts_at(
            obj, "apiVersion", "kind", "metadata.namespace", "metadata.name"
        )
        namespace = own_namespace if value_at(obj, ("metadata", "namespace")) else namespace
        operation = CREATE if old is None else UPDATE
        workloads = parse_workloads(obj, kinds, namespace)
        return cls(
            uid="",
            phase=phase,
            operation=operation,
            namespace=namespace,
            kind=(api_version.rpartition("/")[0], kind),
            name=name,
            user=user,
            obj=obj,
            old=NO_OBJECT if old is None else old,
            workloads=workloads,
            before=() if old is None else parse_workloads(old, kinds, namespace),
            owner=workloads[0].owner if workloads else None,
            lacks_constraints=_lacks_constraints(phase, operation, workloads),
        )


def read_request(uid: str, raw: Mapping[str, object], phase: str, kinds: Kinds) -> AdmissionRequest:
    """
    Return the AdmissionReview's `request`; a field of a wrong type reads as if it were absent.

    The workloads get the request's namespace: in the mutating phase the object may not have one yet.
    """
    obj, old = raw.get("object"), raw.get("oldObject")
    operation, namespace, name, group, kind, user = texts_at(
        raw, "operation", "namespace", "name", "kind.group", "kind.kind", "userInfo.username"
    )
    workloads: tuple[Workload, ...] = ()
    before: tuple[Workload, ...] = ()
    malformed, defect = "", None
    if operation in (CREATE, UPDATE) and not raw.get("subResource"):
        if not isinstance(obj, dict):
            malformed = f"request.object: found {brief(obj)}, wanted an object"
        else:
            try:
                workloads = parse_workloads(obj, kinds, namespace)
                if operation == UPDATE and isinstance(old, dict):
                    before = parse_workloads(old, kinds, namespace)
            except Exception as error:  # Despite a defect, the answer must name the uid and the object.
                defect = error
    return AdmissionRequest(
        uid=uid,
        phase=phase,
        operation=operation,
        namespace=namespace,
        kind=(group, kind),
        name=name,
        user=user,
        dry_run=raw.get("dryRun") is True,
        obj=obj if isinstance(obj, dict) else NO_OBJECT,
        old=old if isinstance(old, dict) else NO_OBJECT,
        workloads=workloads,
        before=before,
        owner=workloads[0].owner if workloads else None,
        lacks_constraints=_lacks_constraints(phase, operation, workloads),
        malformed=malformed,
        defect=defect,
    )


def _lacks_constraints(phase: str, operation: str, workloads: Sequence[Workload]) -> bool:
    if phase != MUTATE or operation != CREATE or not workloads:
        return False
    return workloads[0].is_pod and not workloads[0].has_constraints
