"""
One request of kube-apiserver, read once: everything that is decided is decided from these values.

    admission.k8s.io/v1 request ──read_request──> AdmissionRequest ──review──> Decision
    an object in a file ─────────of─────────────────┘
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from webhook.objects.fields import texts_of
from webhook.objects.kinds import Kind
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

    `workloads` are those of the object, and `before` those of the old object; both are empty where the operation or
    the kind is not judged.  `kind` is (group, kind), and `user` is the name of the user who sends the object.

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
    unread: str = ""
    malformed: str = ""
    defect: Exception | None = None

    @property
    def owner(self) -> Owner | None:
        """The owner reference of the object with `controller: true`."""
        return self.workloads[0].owner if self.workloads else None

    @property
    def lacks_constraints(self) -> bool:
        """Whether this is a new Pod that may be given default constraints."""
        if self.phase != MUTATE or self.operation != CREATE or not self.workloads:
            return False
        return self.workloads[0].is_pod and not self.workloads[0].has_constraints

    @classmethod
    def of(
        cls,
        obj: Mapping[str, object],
        old: Mapping[str, object] | None = None,
        *,
        phase: str,
        kinds: Iterable[Kind],
        namespace: str,
    ) -> AdmissionRequest:
        """The request that kube-apiserver makes of `obj`; `namespace` is where it goes if it names none."""
        name, own_namespace = texts_of(obj.get("metadata"), "name", "namespace")
        api_version, kind = texts_of(obj, "apiVersion", "kind")
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


def read_request(uid: str, raw: Mapping[str, object], phase: str, kinds: Iterable[Kind]) -> AdmissionRequest:
    """The AdmissionReview's `request`; what has the wrong type reads as if it were absent."""
    obj, old = raw.get("object"), raw.get("oldObject")
    operation, namespace, name = texts_of(raw, "operation", "namespace", "name")
    group, kind = texts_of(raw.get("kind"), "group", "kind")
    (user,) = texts_of(raw.get("userInfo"), "username")
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


def _with_workloads(request: AdmissionRequest, kinds: Iterable[Kind]) -> AdmissionRequest:
    """In the mutating phase an object may not carry its namespace yet, so that the request's counts."""
    before = parse_workloads(request.old, kinds) if request.operation == UPDATE else ()
    return replace(
        request,
        workloads=_in_namespace(parse_workloads(request.obj, kinds), request.namespace),
        before=_in_namespace(before, request.namespace),
    )


def _in_namespace(workloads: tuple[Workload, ...], namespace: str) -> tuple[Workload, ...]:
    return tuple(replace(one, namespace=namespace) if namespace else one for one in workloads)
