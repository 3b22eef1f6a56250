"""
One request of kube-apiserver, parsed once; all decisions use these values.

    admission.k8s.io/v1 request ──read_request──> AdmissionRequest ──review──> Decision
    an object in a file ─────────of─────────────────┘
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from webhook.objects.fields import texts_at, value_at
from webhook.objects.kinds import Kinds
from webhook.objects.reading import brief
from webhook.objects.references import Owner
from webhook.objects.workload import Workload, parse_workloads

MUTATE, VALIDATE = "mutate", "validate"
CREATE, UPDATE = "CREATE", "UPDATE"
NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """
    What kube-apiserver asks, in one phase: "mutate" or "validate".

    `kind` is (group, kind), and `user` the name of the user who sends the object.  `workloads` are those of the object,
    and `before` those of the old object; both are empty where the operation or the kind is not judged.  `owner` is the
    object's owner reference with `controller: true`.  A request that `lacks_constraints` creates a Pod that may be
    given defaults.

    If it could not be read: `unread` is why only the uid could be, `malformed` what is wrong with the request, and
    `defect` an exception in evenkeel.
    """

    uid: str
    phase: str
    operation: str = ""
    namespace: str = ""
    kind: tuple[str, str] = ("", "")
    name: str = ""
    user: str = ""
    obj: Mapping[str, object] = field(default_factory=dict)
    old: Mapping[str, object] = field(default_factory=dict)
    workloads: tuple[Workload, ...] = ()
    before: tuple[Workload, ...] = ()
    owner: Owner | None = None
    lacks_constraints: bool = False
    unread: str = ""
    malformed: str = ""
    defect: Exception | None = None

    @classmethod
    def of(
        cls,
        obj: Mapping[str, object],
        old: Mapping[str, object] | None = None,
        *,
        phase: str,
        kinds: Kinds,
        namespace: str,
    ) -> AdmissionRequest:
        """
        The request that kube-apiserver makes of `obj`; `namespace` is used if the object has none.

        A namespace that is no string is not replaced: nobody knows which one is meant.
        """
        api_version, kind, own_namespace, name = texts_at(
            obj, "apiVersion", "kind", "metadata.namespace", "metadata.name"
        )
        has_namespace = bool(value_at(obj, ("metadata", "namespace")))
        request = cls(
            uid="",
            phase=phase,
            operation=CREATE if old is None else UPDATE,
            namespace=own_namespace if has_namespace else namespace,
            kind=(api_version.rpartition("/")[0], kind),
            name=name,
            obj=obj,
            old=NOTHING if old is None else old,
        )
        return _with_workloads(request, kinds)


def read_request(uid: str, raw: Mapping[str, object], phase: str, kinds: Kinds) -> AdmissionRequest:
    """The AdmissionReview's `request`; what has the wrong type reads as if it were absent."""
    obj, old = raw.get("object"), raw.get("oldObject")
    operation, namespace, name, group, kind, user = texts_at(
        raw, "operation", "namespace", "name", "kind.group", "kind.kind", "userInfo.username"
    )
    judged = operation in (CREATE, UPDATE) and not raw.get("subResource")
    malformed = judged and not isinstance(obj, dict)
    request = AdmissionRequest(
        uid=uid,
        phase=phase,
        operation=operation,
        namespace=namespace,
        kind=(group, kind),
        name=name,
        user=user,
        obj=obj if isinstance(obj, dict) else NOTHING,
        old=old if isinstance(old, dict) else NOTHING,
        malformed=f"request.object: found {brief(obj)}, wanted an object" if malformed else "",
    )
    if not judged or malformed:
        return request
    try:
        return _with_workloads(request, kinds)
    except Exception as error:  # a defect must cost neither the uid nor the name of the object
        return replace(request, defect=error)


def _with_workloads(request: AdmissionRequest, kinds: Kinds) -> AdmissionRequest:
    """The request's namespace is used: in the mutating phase the object may not have one yet."""
    workloads = parse_workloads(request.obj, kinds, request.namespace)
    if not workloads:
        return request
    created = request.operation == CREATE
    bare = workloads[0].is_pod and not workloads[0].has_constraints
    return replace(
        request,
        workloads=workloads,
        before=() if created else parse_workloads(request.old, kinds, request.namespace),
        owner=workloads[0].owner,
        lacks_constraints=bare and created and request.phase == MUTATE,
    )
