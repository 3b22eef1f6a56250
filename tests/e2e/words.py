"""Objects that bring evenkeel's answers about, and what kubectl prints of them."""

from __future__ import annotations

from tests.e2e.webhook import containers
from tests.support.build import HOSTNAME, ZONE, constraint, owned_by, pod, service, workload
from tests.support.serving import until

EMPTY, MISSES = constraint(labelSelector={}), constraint(labelSelector={"matchLabels": {"app": "db"}})
WRITE = "write labelSelector: {matchLabels: {app: web}}"
# The entry that denies a kind, and where its Pod spec is.
KINDS = {
    "Pod": ("pods", "spec"),
    "PodTemplate": ("podtemplates", "template.spec"),
    "ReplicationController": ("workloads", "spec.template.spec"),
    "Deployment": ("workloads", "spec.template.spec"),
    "ReplicaSet": ("workloads", "spec.template.spec"),
    "StatefulSet": ("workloads", "spec.template.spec"),
    "DaemonSet": ("workloads", "spec.template.spec"),
    "Job": ("workloads", "spec.template.spec"),
    "CronJob": ("cronjobs", "spec.jobTemplate.spec.template.spec"),
}
SELECT = "select the labels of the Pods to spread"


def of(kind, namespace, *constraints, **fields):
    made = pod(*constraints, **fields) if kind == "Pod" else workload(kind, *constraints, **fields)
    made["metadata"] |= {"name": "web", "namespace": namespace}
    return containers(made)


def deployment(namespace, *constraints, **fields):
    return of("Deployment", namespace, *constraints, **fields)


def selecting(namespace, name="web"):
    """A Service that selects app=web."""
    made = service(name, namespace=namespace)
    made["spec"]["ports"] = [{"port": 80}]
    return made


def denial(*lines, entry="workloads", doing='error when creating "STDIN": '):
    """What kubectl prints of one."""
    head = f'Error from server (Forbidden): {doing}admission webhook "{entry}.evenkeel.dev" denied the request: '
    return head + "".join(f"{line}\n" for line in lines)


def warned(about, field, said, rule):
    """The warning on a field of the constraints of an object, such as `Deployment shop/web`."""
    return f"Warning: {about}: topologySpreadConstraints{field}: {said} (evenkeel {rule})\n"


def missed(about, index=0, fix=WRITE):
    said = f'selects "app=db", but its Pods have "app=web": they are not counted; {fix}'
    return warned(about, f"[{index}].labelSelector", said, "selector-misses-own-pod")


def unknown(about, index=0, key="rack"):
    """Where the nodes have the well-known keys of a host and a zone."""
    said = f'no node has the label "{key}": no Pod can be placed; label nodes with "{key}", or use one of '
    return warned(about, f"[{index}].topologyKey", f"{said}{HOSTNAME}, {ZONE}", "unknown-topology-key")


def empty(fix=WRITE):
    return f"must select Pods: without labels to select, the constraint spreads nothing; found {{}}; {fix}"


def old_empty(about, fix=WRITE):
    """The warning of an empty selector that was there before."""
    return warned(about, "[0].labelSelector", empty(fix), "empty-selector")


def empty_selector(about, path="spec.template.spec", index=0, fix=WRITE):
    """The line of a denial."""
    return f"{about}: {path}.topologySpreadConstraints[{index}].labelSelector: {empty(fix)} (evenkeel empty-selector)"


def max_skew(about):
    """The line of a denial of maxSkew 0."""
    fix = "set maxSkew to 1, or to the difference you can accept (evenkeel invalid-constraint)"
    return (
        f"{about}: spec.template.spec.topologySpreadConstraints[0].maxSkew: must be greater than zero; found 0; {fix}"
    )


def in_owner(owner, fix):
    """The fix of what `owner` owns."""
    return f"change its owner, {owner}: {fix}"


def stored(plane, namespace, resource="pods/web", group="v1"):
    prefix = "api" if group == "v1" else "apis"
    return plane.api.call("GET", f"/{prefix}/{group}/namespaces/{namespace}/{resource}")


def pods_of(plane, namespace, app):
    """The Pods with this label that stay, by their uids."""
    found = stored(plane, namespace, f"pods?labelSelector=app%3D{app}")["items"]
    return {one["metadata"]["uid"]: one for one in found if "deletionTimestamp" not in one["metadata"]}


def constraints_of(made):
    return made["spec"].get("topologySpreadConstraints", [])


def owner(plane, namespace):
    """The metadata of what a ConfigMap owns, which is there."""
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}
    uid = plane.api.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", made)["metadata"]["uid"]
    references = owned_by("ConfigMap/owner", uid)
    references["ownerReferences"][0]["apiVersion"] = "v1"
    return references


def defaulted(plane, made):
    """A Pod as the API server would store it, asked again until the Service is known to evenkeel."""
    path = f"/api/v1/namespaces/{made['metadata']['namespace']}/pods?dryRun=All"
    until(lambda: constraints_of(plane.api.call("POST", path, made)), "defaults")
    output = plane.apply(made)
    assert (0, "pod/web created\n", "") == output
    return stored(plane, made["metadata"]["namespace"])


def rolled_out(plane, namespace, what="deployment/web"):
    """Whether all its Pods become ready."""
    return plane.kubectl("rollout", "status", what, "-n", namespace, "--timeout=60s").code == 0
