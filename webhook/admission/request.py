"""
One request of kube-apiserver, read once: everything that is decided is decided from these values.

    admission.k8s.io/v1 request ──read_request──> AdmissionRequest ──review──> Decision
    an object in a file ─────────of─────────────────┘
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from webhook.objects.fields import FieldPath, texts_at
from webhook.objects.kinds import Kinds
from webhook.objects.reading import brief
from webhook.objects.references import Owner
from webhook.objects.workload import Workload, parse_workloads

MUTATE, VALIDATE = "mutate", "validate"
CREATE, UPDATE = "CREATE", "UPDATE"
NOTHING: Mapping[str, object] = {}
# Where what is text stands in an AdmissionReview's request, and in an object.
_TEXTS: tuple[FieldPath, ...] = (
    *(("operation",), ("namespace",), ("name",)),
    *(("kind", "group"), ("kind", "kind"), ("userInfo", "username")),
)
_NAMES: tuple[FieldPath, ...] = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """
    What kube-apiserver asks, in one phase: "mutate" or "validate".

    `kind` is (group, kind), and `user` the name of the user who sends the object.  `workloads` are those of the object,
    and `before` those of the old object; both are empty where the operation or the kind is not judged.  `owner` is the
    object's owner reference with `controller: true`.  A request that `lacks_constraints` creates a Pod that may be
    given defaults.

    Where it could not be read: `unread` says why only the uid could be, `malformed` what no API server sends, and
    `defect` is what evenkeel itself did wrong.
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
        """The request that kube-apiserver makes of `obj`; `namespace` is where it goes if it names none."""
        api_version, kind, own_namespace, name = texts_at(obj, *_NAMES)
        request = cls(
            uid="",
            phase=phase,
            operation=CREATE if old is None else UPDATE,
            namespace=own_namespace or namespace,
            kind=(api_version.rpartition("/")[0], kind),
            name=name,
            obj=obj,
            old=NOTHING if old is None else old,
        )
        return _with_workloads(request, kinds)


def read_request(uid: str, raw: Mapping[str, object], phase: str, kinds: Kinds) -> AdmissionRequest:
    """The AdmissionReview's `request`; what has the wrong type reads as if it were absent."""
    obj, old = raw.get("object"), raw.get("oldObject")
    operation, namespace, name, group, kind, user = texts_at(raw, *_TEXTS)
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
    return _with_workloads(request, kinds) if judged and not malformed else request


def _with_workloads(request: AdmissionRequest, kinds: Kinds) -> AdmissionRequest:
    """In the mutating phase an object may not carry its namespace yet, so that the request's counts."""
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
