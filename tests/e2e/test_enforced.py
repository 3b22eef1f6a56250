"""A developer with the role edit in one namespace, and enforced rules: each item of a list of docs/policy.md."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.webhook import containers, installed
from tests.e2e.words import (
    EMPTY,
    SELECT,
    denial,
    empty_selector,
    in_owner,
    of,
    owner,
    pods_of,
    rolled_out,
    stored,
)
from tests.support.build import constraint, owned_by, pod, service
from tests.support.serving import until
from webhook.cluster.live import LOOKUP_EVENTS

NEW = "write labelSelector: {matchLabels: {app: new}}"
NAMESPACE, JANE = "shop", "jane"
REPLICAS = 3
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:replicaset-controller"
SKIP, IGNORE = {"evenkeel.dev/skip": "true"}, {"evenkeel.dev/ignore": "empty-selector"}
SCALED = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job")
REPLACED = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "DaemonSet")
RESTARTED = ("Deployment", "StatefulSet", "DaemonSet")
LAX = {"label": {"tier": "lax"}, "scheduler": {"schedulerName": "lax"}}
STRICT = {"label": {"tier": "gold"}, "scheduler": {"schedulerName": "default-scheduler"}}


def made(kind, name, *constraints, pod_spec=None, labels=None, **fields):
    """An object whose Pods have the label app=`name`, and these fields in their spec."""
    labels = {"app": name, **(labels or {})}
    spec = {} if kind == "Pod" else {"spec": {"selector": {"matchLabels": {"app": name}}, **fields.pop("spec", {})}}
    found = of(kind, NAMESPACE, *constraints, labels=labels, **spec, **fields)
    found["metadata"]["name"] = name
    inner = found["spec"]
    while "template" in inner or "jobTemplate" in inner:
        inner = (inner.get("jobTemplate") or inner["template"])["spec"]
    inner |= pod_spec or {}
    return found


def old(kind):
    """The name of what was there before evenkeel."""
    return f"old-{kind.lower()}"


def headless(name):
    """A Service for the Pods of `name`."""
    found = service(name, {"app": name}, NAMESPACE)
    found["spec"]["clusterIP"] = "None"
    return found


def skewed(most, image="web"):
    only = constraint(maxSkew=most, labelSelector={"matchLabels": {"app": "skewed"}})
    return made("Deployment", "skewed", only, pod_spec={"containers": [{"name": "web", "image": image}]})


@pytest.fixture(scope="module")
def shop(plane):
    """A namespace in which workloads run that evenkeel would have denied, and the rights of its developer."""
    plane.create_namespace(NAMESPACE)
    subjects = [f"--user={JANE}", f"--serviceaccount={NAMESPACE}:replicaset-controller"]
    plane.kubectl("create", "rolebinding", "edit", "--clusterrole=edit", "-n", NAMESPACE, *subjects)
    for kind in {*SCALED, *REPLACED, "CronJob"}:
        spec = {"spec": {"parallelism": REPLICAS}} if kind == "Job" else {}
        assert 0 == plane.apply(made(kind, old(kind), EMPTY, **spec)).code
    assert 0 == plane.apply(skewed(6)).code
    until(lambda: all(kept(plane, old(kind), REPLICAS) for kind in SCALED), "their Pods")
    assert rolled_out(plane, NAMESPACE, f"daemonset/{old('DaemonSet')}")


@pytest.fixture(scope="module")
def running(request, plane, shop, tmp_path_factory):
    folder = tmp_path_factory.mktemp("webhook")
    with installed(plane, folder, "--log-level", "debug", policy=request.param, failure_policy="Fail") as running:
        yield running


@pytest.fixture
def developer(plane, running):
    """kubectl of a user with the role edit in the namespace, and no other."""

    def run(*arguments, stdin=None, user=JANE):
        return plane.kubectl(f"--as={user}", *arguments, "-n", NAMESPACE, stdin=stdin)

    return run


def applied(developer, *objects, **user):
    items = {"apiVersion": "v1", "kind": "List", "items": objects}
    return developer("apply", "-f", "-", stdin=json.dumps(items), **user)


def under(name, **policy):
    return pytest.mark.parametrize("running", [policy], indirect=True, ids=[name])


NO_DEFAULTS = {"defaultingType": "List", "defaultConstraints": []}
LENIENT = {"rules": {"empty-selector": "ignore"}}
ENFORCED = under(
    "enforced",
    rules={
        "empty-selector": {"enforced": True},
        "excessive-max-skew": {"severity": "error", "enforced": True, "maxSkew": 5},
    },
    overrides=[
        {"name": "by-label", "podSelector": {"matchLabels": LAX["label"]}, **LENIENT},
        {"name": "by-scheduler", **LAX["scheduler"], **LENIENT},
    ],
)
ON_COPIES = under(
    "on copies",
    rules={rule: {"severity": "error", "enforced": True} for rule in ("selector-misses-own-pod", "pinned-pod")},
)
EVERY = under(
    "every",
    rules={
        "missing-constraints": {"severity": "error", "enforced": True, "minReplicas": 1},
        "pinned-pod": {"severity": "error", "enforced": True},
    },
    defaulting=NO_DEFAULTS,
)
SEVERAL = under(
    "several",
    rules={"missing-constraints": {"severity": "error", "enforced": True, "minReplicas": 2}},
    defaulting=NO_DEFAULTS,
)


# Annotations, labels, and owners


@ENFORCED
@pytest.mark.parametrize(
    ("kind", "way", "owner"),
    [
        ("Deployment", {"annotations": IGNORE}, None),
        ("Deployment", {"template": {"annotations": IGNORE}}, None),
        ("Deployment", {"labels": SKIP}, None),
        ("Deployment", owned_by("ReplicaSet/made-up"), "ReplicaSet made-up"),
        ("ReplicaSet", owned_by("Deployment/made-up"), "Deployment made-up"),
    ],
    ids=["annotation", "annotation of the template", "label", "made-up owner", "made-up owner that fits"],
)
def test_no_developer_gets_past_an_enforced_rule(developer, kind, way, owner):
    output, web = applied(developer, made(kind, "new", EMPTY, **way)), f"{kind} {NAMESPACE}/new"

    does = "evenkeel.dev/ignore: cannot switch off empty-selector: the policy enforces it"
    idle = f"Warning: {web}: {does}; remove empty-selector, and fix what the rule finds (evenkeel idle-switch)\n"
    assert (
        1,
        "",
        (idle if IGNORE in (way.get("annotations"), way.get("template", {}).get("annotations")) else "")
        + denial(empty_selector(web, fix=in_owner(owner, NEW) if owner else NEW)),
    ) == output


@ENFORCED
@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet", "ReplicationController", "Job"])
def test_nor_with_an_owner_of_their_own_that_never_gets_pods(plane, developer, kind):
    """Its controller would adopt the Pod."""
    name, valid = f"idle-{kind.lower()}", constraint()
    assert 0 == applied(developer, made(kind, name, valid, pod_spec={"serviceAccountName": "nobody"})).code
    idle = json.loads(developer("get", f"{kind.lower()}/{name}", "-o", "json").stdout)
    adopted = made("Pod", f"{name}-0", EMPTY, labels=idle["spec"]["template"]["metadata"]["labels"])
    adopted["metadata"] |= owned_by(f"{kind}/{name}", idle["metadata"]["uid"])

    output = applied(developer, adopted)

    assert (
        1,
        "",
        denial(
            empty_selector(f"Pod {NAMESPACE}/{name}-0", "spec", fix=in_owner(f"{kind} {name}", SELECT)), entry="pods"
        ),
    ) == output


@ENFORCED
def test_nor_with_an_owner_that_is_there(plane, developer):
    output = applied(developer, made("Deployment", "new", EMPTY, **owner(plane, NAMESPACE)))

    assert (
        1,
        "",
        denial(empty_selector(f"Deployment {NAMESPACE}/new", fix=in_owner("ConfigMap owner", NEW))),
    ) == output


@ENFORCED
def test_nor_as_an_account_of_their_own_with_the_name_of_a_controller(plane, developer):
    name = old("ReplicaSet")
    uid = stored(plane, NAMESPACE, f"replicasets/{name}", "apps/v1")["metadata"]["uid"]

    output = applied(developer, made("Pod", "new", EMPTY, **owned_by(f"ReplicaSet/{name}", uid)), user=ACCOUNT)

    assert (
        1,
        "",
        denial(
            empty_selector(f"Pod {NAMESPACE}/new", "spec", fix=in_owner(f"ReplicaSet {name}", SELECT)), entry="pods"
        ),
    ) == output


@ENFORCED
@pytest.mark.parametrize(
    "way",
    [
        ["auth", "can-i", "impersonate", "serviceaccounts/replicaset-controller", "-n", "kube-system"],
        ["label", "namespace", NAMESPACE, "evenkeel.dev/skip=true"],
        ["create", "namespace", "of-my-own"],
        ["delete", "validatingwebhookconfiguration", "evenkeel"],
    ],
    ids=["as a controller", "label the namespace", "another namespace", "no webhook"],
)
def test_nor_by_what_is_not_theirs(plane, running, way):
    output = plane.kubectl(f"--as={JANE}", *way)

    assert 1 == output.code
    assert output.stdout == "no\n" or f'User "{JANE}" cannot' in output.stderr, output


@ENFORCED
def test_made_up_owners_cost_no_look_up(running, developer):
    before = looked_up(running)
    names = [f"made-up-{number}" for number in range(50)]

    output = applied(developer, *(made("Pod", name, owner=f"ReplicaSet/{name}") for name in names))

    assert (0, "".join(f"pod/{name} created\n" for name in names)) == output[:2]
    assert before == looked_up(running)


def looked_up(running):
    """How many look-ups there were, and how many lines tell of one."""
    lines = running.probe("/metrics")[1].decode().splitlines()
    counts = [float(line.split()[-1]) for line in lines if line.startswith("evenkeel_lookups_total{")]
    return sum(counts), sum(len(running.lines(event)) for event in sorted({*LOOKUP_EVENTS.values()}))


@ENFORCED
def test_nor_with_an_object_too_large_to_judge(developer):
    many = [EMPTY | {"topologyKey": f"rack-{number}"} for number in range(101)]

    output = applied(developer, made("Deployment", "new", *many))

    assert 1 == output.code
    assert "found 101 constraints, at most 100 can be judged" in output.stderr


@ENFORCED
@pytest.mark.parametrize(
    ("key", "own"),
    [("batch.kubernetes.io/job-completion-index", False), ("job-name", True)],
    ids=["an index of a Job without", "the name where the selector is one's own"],
)
def test_nor_with_match_label_keys_that_the_pods_of_a_job_never_have(plane, developer, key, own):
    """They look as if they filled the selector; here it is filled, and the Pods are looked at."""

    def job(name, only):
        found = made("Job", name, only | {"matchLabelKeys": [key]})
        found["spec"] |= {"manualSelector": True, "selector": {"matchLabels": {"app": name}}} if own else {}
        return found

    name = f"keyed-{own}".lower()
    assert 0 == applied(developer, job(name, constraint())).code
    until(lambda: pods_of(plane, NAMESPACE, name), "a Pod")
    assert all(key not in pod["metadata"]["labels"] for pod in pods_of(plane, NAMESPACE, name).values())

    output = applied(developer, job(f"{name}-empty", EMPTY))

    assert 1 == output.code
    assert "must select Pods: without labels to select, the constraint spreads nothing; found {}; " in output.stderr


# What runs already goes on


@ENFORCED
@pytest.mark.parametrize("kind", SCALED)
def test_what_was_there_before_scales(plane, developer, kind):
    what, parallelism = f"{kind.lower()}/{old(kind)}", json.dumps({"spec": {"parallelism": REPLICAS + 1}})
    scale = ["scale", what, f"--replicas={REPLICAS + 1}"]
    parallel = ["patch", what, "--type=merge", "-p", parallelism]

    output = developer(*(parallel if kind == "Job" else scale))

    assert (0, "") == (output.code, output.stderr)
    until(lambda: kept(plane, old(kind), REPLICAS + 1), "one Pod more")


@ENFORCED
@pytest.mark.parametrize("kind", REPLACED)
def test_a_pod_of_what_was_there_before_is_replaced(plane, developer, kind):
    before = pods_of(plane, NAMESPACE, old(kind))
    uid, one = next(iter(before.items()))

    assert 0 == developer("delete", "pod", one["metadata"]["name"], "--wait=false").code

    until(lambda: uid not in pods_of(plane, NAMESPACE, old(kind)), "the end of the Pod")
    until(lambda: kept(plane, old(kind), len(before)), "another Pod in its place")


@ENFORCED
@pytest.mark.parametrize("kind", RESTARTED)
def test_what_was_there_before_restarts_with_a_warning(plane, developer, kind):
    what, before = f"{kind.lower()}/{old(kind)}", pods_of(plane, NAMESPACE, old(kind))

    output = developer("rollout", "restart", what)

    assert (0, f"{kind.lower()}.apps/{old(kind)} restarted\n") == output[:2]
    assert f"Warning: {kind} {NAMESPACE}/{old(kind)}: " in output.stderr
    assert "(evenkeel empty-selector)" in output.stderr
    assert rolled_out(plane, NAMESPACE, what)
    until(lambda: not before.keys() & pods_of(plane, NAMESPACE, old(kind)).keys(), "the end of its Pods")
    until(lambda: kept(plane, old(kind), len(before)), "as many Pods as before")


@ENFORCED
def test_a_cron_job_that_was_there_before_creates_its_job(plane, developer):
    name = old("CronJob")
    output = developer("patch", "cronjob", name, "--type=merge", "-p", '{"spec": {"schedule": "* * * * *"}}')
    assert (0, f"cronjob.batch/{name} patched\n", "") == output

    late = f"{datetime.now(UTC) - timedelta(minutes=2):%Y-%m-%dT%H:%M:%SZ}"
    status = ["--subresource=status", "--type=merge", "-p", json.dumps({"status": {"lastScheduleTime": late}})]
    assert 0 == plane.kubectl("patch", "cronjob", name, "-n", NAMESPACE, *status).code

    until(lambda: pods_of(plane, NAMESPACE, name), "a Pod of its Job")


def kept(plane, name, count):
    """Whether there are so many Pods of it, each with the constraint of its template."""
    specs = [pod["spec"]["topologySpreadConstraints"] for pod in pods_of(plane, NAMESPACE, name).values()]
    return specs == [[EMPTY]] * count


# Overrides


@ENFORCED
@pytest.mark.parametrize(
    "way",
    [
        ["apply", "-f", "-"],
        ["apply", "--server-side", "--force-conflicts", "-f", "-"],
        ["replace", "-f", "-"],
        ["patch", "deployment/{}", "--type=merge", "--patch-file=/dev/stdin"],
        ["patch", "deployment/{}", "--type=strategic", "--patch-file=/dev/stdin"],
    ],
    ids=["apply", "server-side apply", "replace", "merge patch", "strategic merge patch"],
)
@pytest.mark.parametrize("by", LAX)
def test_what_was_created_under_a_lax_override_does_not_leave_it(plane, developer, by, way):
    name = f"lax-{by}"
    assert 0 == applied(developer, under_override(by, name, LAX)).code
    template = stored(plane, NAMESPACE, f"deployments/{name}", "apps/v1")["spec"]["template"]

    moved = json.dumps(under_override(by, name, STRICT))
    output = developer(*(word.format(name) for word in way), stdin=moved)

    fix = f"write labelSelector: {{matchLabels: {{app: {name}}}}}"
    assert 1 == output.code
    said = empty_selector(f"Deployment {NAMESPACE}/{name}", fix=fix)
    assert output.stderr.endswith(f"denied the request: {said}\n"), output
    assert template == stored(plane, NAMESPACE, f"deployments/{name}", "apps/v1")["spec"]["template"]


@ENFORCED
def test_of_a_job_that_a_person_makes_of_it_the_denial_names_the_cron_job(developer):
    name = old("CronJob")

    output = developer("create", "job", "by-hand", f"--from=cronjob/{name}")

    assert 1 == output.code
    said = empty_selector(f"Job {NAMESPACE}/by-hand", fix=in_owner(f"CronJob {name}", SELECT))
    assert output.stderr.endswith(f"{said}\n"), output


def created_since(plane, name, version):
    """The Pod of this name as it was created, although a ReplicaSet that adopts it may have deleted it since."""
    path = (
        f"/api/v1/namespaces/{NAMESPACE}/pods?watch=true&resourceVersion={version}&fieldSelector=metadata.name%3D{name}"
    )
    with closing(plane.api.watch(path)) as events:
        kind, created = next(events)
    assert "ADDED" == kind
    return created


@ON_COPIES
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_pod_that_got_defaults_is_copied_and_restored(plane, developer, kind):
    """`kubectl debug --copy-to` drops its owner, and with --image by default its labels and annotations."""
    name = f"given-{kind.lower()}"
    assert 0 == applied(developer, headless(name), made(kind, name)).code
    until(lambda: any(each["spec"].get("nodeName") for each in pods_of(plane, NAMESPACE, name).values()), "its Pods")
    one = next(each for each in pods_of(plane, NAMESPACE, name).values() if each["spec"].get("nodeName"))
    assert one["spec"]["topologySpreadConstraints"]
    kept = ["--keep-labels", "--keep-annotations", "--same-node"]
    ways = (["--image=debug"], ["--image=debug", "--same-node"], ["--image=debug", *kept], ["--set-image=*=debug"])

    for number, way in enumerate(ways):
        copy, before = f"{name}-copy-{number}", stored(plane, NAMESPACE, "pods")["metadata"]["resourceVersion"]
        output = developer("debug", one["metadata"]["name"], "--profile=general", f"--copy-to={copy}", *way)
        assert 0 == output.code and "Warning" not in output.stderr, output
        created = created_since(plane, copy, before)
        assert created["spec"]["topologySpreadConstraints"]
        assert ("app" in created["metadata"].get("labels", {})) == (number > 1)

    kept_of = {key: one["metadata"][key] for key in ("labels", "annotations", "ownerReferences")}
    saved = {**of("Pod", NAMESPACE), "spec": one["spec"], "metadata": {"name": f"{name}-saved", **kept_of}}
    output = developer("create", "--dry-run=server", "-f", "-", stdin=json.dumps(saved))
    assert (0, f"pod/{name}-saved created (server dry run)\n", "") == output


@ON_COPIES
def test_whoever_changes_what_was_given_is_judged(plane, developer):
    name, selector = "claimed", {"matchLabels": {"app": "other"}}
    assert 0 == applied(developer, headless(name)).code
    soft = {"whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}
    annotations = {"evenkeel.dev/defaulted-by": f"policy; selector from Service/{name}"}

    for labels in ({}, {"app": name}):
        claims = pod(constraint(**soft), labels=labels, name=name, namespace=NAMESPACE, annotations=annotations)
        output = applied(developer, containers(claims))
        assert 1 == output.code and "(evenkeel selector-misses-own-pod)" in output.stderr, output


@ENFORCED
@pytest.mark.parametrize("by", LAX)
def test_what_stays_under_a_lax_override_is_worked_on(plane, developer, by):
    name = f"lax-{by}"
    assert 0 == applied(developer, under_override(by, name, LAX)).code

    scale = developer("scale", f"deployment/{name}", "--replicas=4")
    restart = developer("rollout", "restart", f"deployment/{name}")

    assert (0, f"deployment.apps/{name} scaled\n", "") == scale
    assert (0, f"deployment.apps/{name} restarted\n", "") == restart
    until(lambda: len(pods_of(plane, NAMESPACE, name)) >= 4, "its Pods")
    assert by == "scheduler" or rolled_out(plane, NAMESPACE, f"deployment/{name}")


@ENFORCED
def test_the_labels_of_a_running_pod_can_be_changed(developer):
    """It is spread already."""
    assert 0 == applied(developer, made("Pod", "relabelled", EMPTY, labels=LAX["label"])).code

    assert (0, "pod/relabelled unlabeled\n", "") == developer("label", "pod/relabelled", "tier-")


def under_override(by, name, what):
    fields = {"labels": what[by]} if by == "label" else {"pod_spec": what[by]}
    return made("Deployment", name, EMPTY, **fields)


# Worse is new


@ENFORCED
def test_a_max_skew_that_was_too_large_does_not_get_larger(plane, developer):
    for worse in (2**31 - 1, 7):
        output = applied(developer, skewed(worse))
        said = f"must be at most 5, but is {worse}; write maxSkew: 5 (evenkeel excessive-max-skew)"
        assert 1 == output.code and said in output.stderr, output

    assert 0 == applied(developer, skewed(6, image="web:2")).code
    assert (0, "deployment.apps/skewed configured\n", "") == applied(developer, skewed(3))
    assert 1 == applied(developer, skewed(6)).code
    assert rolled_out(plane, NAMESPACE, "deployment/skewed")


# Missing constraints


def affine(*nodes):
    """What is in the spec of a Pod that may run on any of these nodes, each by its name in a term of its own."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]} for node in nodes]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"affinity": {"nodeAffinity": required}}


MANY_TERMS = ["a1"] * 50 + ["b1"]


@EVERY
@pytest.mark.parametrize("nodes", [["a1", "b1"], MANY_TERMS], ids=["two nodes", "51 terms"])
@pytest.mark.parametrize("kind", ["Pod", "Deployment", "Job"])
def test_affinity_to_several_nodes_is_no_daemonset(developer, kind, nodes):
    output = applied(developer, made(kind, f"affine-{len(nodes)}", pod_spec=affine(*nodes)))

    assert 1 == output.code and "(evenkeel missing-constraints)" in output.stderr, output


@EVERY
@pytest.mark.parametrize(
    ("nodes", "count"),
    [([], 9), (["a1", "b1"], 2), (MANY_TERMS, 2)],
    ids=["all nodes", "two nodes", "51 terms"],
)
def test_the_pods_of_a_daemonset_are_created(plane, developer, nodes, count):
    name = f"agent-{len(nodes)}"
    daemons = made("DaemonSet", name, pod_spec=affine(*nodes) if nodes else {})

    assert (0, f"daemonset.apps/{name} created\n", "") == applied(developer, daemons)

    until(lambda: count == len(pods_of(plane, NAMESPACE, name)), "a Pod on each node")
    assert rolled_out(plane, NAMESPACE, f"daemonset/{name}")


@EVERY
def test_a_node_name_does_not_replace_spreading(developer):
    output = applied(developer, made("Deployment", "bound", constraint(), pod_spec={"nodeName": "a1"}))

    assert 1 == output.code and "(evenkeel pinned-pod)" in output.stderr, output


@EVERY
@pytest.mark.parametrize("pod_spec", [{"nodeName": "a1"}, affine("a1")], ids=["a node's name", "affinity to one node"])
def test_a_template_without_constraints_is_not_excused_by_its_node(developer, pod_spec):
    output = applied(developer, made("Deployment", "there", pod_spec=pod_spec))

    assert 1 == output.code and "(evenkeel missing-constraints)" in output.stderr, output


@EVERY
@pytest.mark.parametrize(("kind", "field"), [("Deployment", "replicas"), ("Job", "parallelism")])
def test_no_replica_counts_as_one_that_comes_later(developer, kind, field):
    output = applied(developer, made(kind, "none", spec={field: 0}))

    assert 1 == output.code and "(evenkeel missing-constraints)" in output.stderr, output


@EVERY
def test_one_replica_is_judged_where_the_policy_asks_for_it(developer):
    output = applied(developer, made("Deployment", "single", spec={"replicas": 1}))

    assert 1 == output.code and "(evenkeel missing-constraints)" in output.stderr, output


@SEVERAL
def test_several_replicas_from_the_start_are_denied(developer):
    output = applied(developer, made("Deployment", "several", spec={"replicas": 3}))

    assert 1 == output.code and "(evenkeel missing-constraints)" in output.stderr, output


@SEVERAL
def test_scaling_is_not_judged(plane, developer):
    assert 0 == applied(developer, made("Deployment", "scaled", spec={"replicas": 1})).code

    output = developer("scale", "deployment/scaled", "--replicas=3")

    assert (0, "deployment.apps/scaled scaled\n", "") == output
    assert rolled_out(plane, NAMESPACE, "deployment/scaled")
    assert 3 == len(pods_of(plane, NAMESPACE, "scaled"))


@SEVERAL
def test_nor_is_an_autoscaler(plane, developer):
    assert 0 == applied(developer, made("Deployment", "autoscaled", spec={"replicas": 1})).code
    assert 0 == developer("autoscale", "deployment/autoscaled", "--min=3", "--max=5").code

    until(lambda: 3 == len(pods_of(plane, NAMESPACE, "autoscaled")), "as many Pods as the autoscaler wants")
    assert rolled_out(plane, NAMESPACE, "deployment/autoscaled")


@SEVERAL
def test_another_template_with_more_replicas_is_judged(developer):
    assert 0 == applied(developer, made("Deployment", "grown", spec={"replicas": 1})).code
    another = made("Deployment", "grown", spec={"replicas": 3}, template={"annotations": {"note": "a"}})

    output = applied(developer, another)

    assert 1 == output.code and "(evenkeel missing-constraints)" in output.stderr, output
