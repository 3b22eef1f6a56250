"""evenkeel admit: what it prints of an answer, as kubectl would, as JSON, as YAML."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
import yaml

from tests.support.admission_reviews import review
from tests.support.build import (
    SELECTOR,
    ZONE,
    constraint,
    honoring,
    hpa,
    namespace,
    node,
    pod,
    request,
    service,
    workload,
)
from tests.support.commands import POLICY, Run
from webhook.admission.cost import MOST_CONSTRAINTS
from webhook.admission.ownership import ACCOUNTS

EMPTY, MISSES = constraint(labelSelector={}), constraint(labelSelector={"matchLabels": {"app": "db"}})
DENIED = workload("Deployment", EMPTY)
WARNED = workload("StatefulSet", MISSES, name="db")
MERGED = SELECTOR | {"matchExpressions": [{"key": "v", "operator": "In", "values": ["1"]}]}
STORED = pod(constraint(labelSelector=MERGED, matchLabelKeys=["v"]), labels={"app": "web", "v": "1"}, uid="u1")
KEPT = STORED["spec"]["topologySpreadConstraints"]
THERE = pod(name="there", labels={"app": "there"}, spec={"nodeName": "n1"}, uid="u2")
DENIES = (
    'Error from server (Forbidden): error when %s "new": '
    'admission webhook "workloads.evenkeel.dev" denied the request: '
)
WARNS = 'Warning: StatefulSet shop/db: topologySpreadConstraints[0].labelSelector: selects "app=db", but its Pods have'


NEED_A_CLUSTER = "note: 5 rules need a cluster: --cluster live\n"


def test_rules_that_need_a_cluster_are_counted_once_for_all_objects(run):
    hard, soft = pod(constraint()), pod(constraint(whenUnsatisfiable="ScheduleAnyway"))

    assert NEED_A_CLUSTER == run("admit -f new", new=[soft, hard, WARNED]).err
    assert "note: 1 rule needs a cluster: --cluster live\n" == run("admit -f new", new=soft).err
    assert "" == run("admit -f new", new=pod()).err == run("admit -q -f new", new=hard).err
    refused = run("admit -f new", new=pod(constraint(maxSkew=0)))
    assert (1, "") == (refused.code, refused.err)
    for form in ("json", "yaml"):
        assert "cluster" not in run(f"admit -f new -o {form}", new=hard).err
    skipped = json.loads(run("admit -f new -o json", new=hard).out)["skipped"]
    assert 5 == len(skipped)


def test_every_object_is_answered_as_kubectl_would_say_it(run):
    objects = [pod(constraint()), WARNED, DENIED, pod(constraint(), name="last")]
    command = "admit -f new --cluster nodes --policy policy"
    code, out, err = run(command, new=objects, nodes=[node(), THERE], policy=POLICY)
    fine, warning, warned, denied, last = out.splitlines()

    assert (1, "") == (code, err)
    assert ("pod/web-1 created", "statefulset.apps/db created", "pod/last created") == (fine, warned, last)
    assert warning.startswith(WARNS)
    assert denied.startswith(
        DENIES % "creating" + "Deployment shop/web: spec.template.spec.topologySpreadConstraints[0].labelSelector: "
    )
    assert 1 == denied.count("write labelSelector: {matchLabels: {app: web}}")
    assert 0 == run("admit -f new", new=WARNED).code


@pytest.mark.parametrize("obj", [workload("Deployment", EMPTY, namespace=None), pod(EMPTY, namespace=None)])
def test_what_is_in_a_system_namespace_is_never_sent(run, obj):
    """The webhook configurations leave these namespaces out."""
    code, out, _ = run("admit -f new -n kube-system", new=obj)

    assert (0, "  not sent: the API server sends the webhook nothing from kube-system or kube-node-lease") == (
        code,
        out.splitlines()[1],
    )
    assert out.splitlines()[0].endswith(" created")
    assert 1 == run("admit -f new -n shop").code


def test_an_update_warns_of_what_was_wrong_already(run):
    new = workload("Deployment", EMPTY, labels={"app": "web", "new": ""})
    files = {"new": new, "old": [WARNED, DENIED], "nodes": [node(), THERE], "policy": POLICY}
    code, out, _ = run("admit -f new --old old --cluster nodes --policy policy", **files)

    assert (0, ["Warning", "deployment.apps/web configured"]) == (code, [out.split(":")[0], out.splitlines()[-1]])
    assert "empty-selector" in out


def test_an_update_is_denied_for_what_it_brings_in(run):
    code, out, _ = run("admit -f new --old old", new=DENIED, old=workload("Deployment", constraint()))

    assert (1, True) == (code, out.startswith(DENIES % "patching"))


def test_a_manifest_without_namespace_is_compared_with_the_object_in_the_default_one(run):
    """A manifest seldom names its namespace; what kubectl get prints always does."""
    old, new = (workload("Deployment", namespace=namespace) for namespace in ("default", None))

    assert Run(0, "deployment.apps/web configured\n", "") == run("admit -f new --old old", new=new, old=old)


def test_a_namespace_can_be_given_to_what_names_none(run):
    """Then the Services of that namespace select it."""
    given = pod(namespace=None)
    code, out, _ = run("admit -f new -n shop --cluster dump", new=given, dump=service())

    assert (0, "  defaulted: selector app=web from Service/web") == (code, out.splitlines()[1])


def test_an_update_of_a_pod_is_not_judged(run):
    assert Run(0, "pod/web-1 configured\n", "") == run("admit -f new --old old", new=pod(EMPTY), old=pod(MISSES))


def test_json_is_one_line_for_each_object(run):
    code, out, err = run("admit -f new -o json", new=[DENIED, WARNED])
    denied, warned = map(json.loads, out.splitlines())

    assert (1, "") == (code, err)
    assert {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"} == denied["object"]
    assert (False, "validate", 403) == (denied["allowed"], denied["deniedBy"], denied["status"]["code"])
    assert ["denied", "warned"] == [denied["outcome"], warned["outcome"]]
    assert [("empty-selector", "error")] == [(one["rule"], one["severity"]) for one in denied["findings"]]
    assert (True, None, None) == (warned["allowed"], warned["deniedBy"], warned["status"])
    assert [True] == [f"Warning: {one}".startswith(WARNS) for one in warned["warnings"]]


CLUSTER = [namespace(), service()]


def test_a_cluster_gives_defaults(run):
    _, out, _ = run("admit -f new --cluster cluster", new=pod(), cluster=CLUSTER)
    answer = json.loads(run("admit -f new --cluster cluster -o json").out)

    assert ["pod/web-1 created", "  defaulted: selector app=web from Service/web"] == out.splitlines()[:2]
    assert ["Service/web"] == answer["defaulted"]["source"]
    assert answer["patch"][0]["value"] == answer["defaulted"]["constraints"]
    assert 2 == len(answer["patch"][0]["value"])


def test_what_it_gives_is_judged_but_its_author_is_not_warned_of_it(run):
    policy = POLICY | {"rules": {"soft-constraint": "warning"}}
    given = {"new": pod(), "cluster": CLUSTER, "policy": policy}
    answer = json.loads(run("admit -f new --cluster cluster --policy policy -o json", **given).out)

    assert [] == answer["warnings"]
    assert ["soft-constraint"] * 2 == [one["rule"] for one in answer["findings"]]
    assert 2 == answer["auditAnnotations"]["findings"].count("warning soft-constraint")


def test_it_says_what_is_left_out_of_the_defaults(run):
    cluster = [*CLUSTER, node("n1", os="linux")]
    _, out, _ = run("admit -f new --cluster cluster", new=pod(), cluster=cluster)

    assert f"  left out: constraint: no node that it could run on has {ZONE}" in out.splitlines()


def test_without_a_cluster_it_says_why_there_are_no_defaults(run):
    _, out, _ = run("admit -f new", new=pod())
    answer = json.loads(run("admit -f new -o json").out)

    assert ["pod/web-1 created", f"  not defaulted: {answer['notDefaulted']['message']}"] == out.splitlines()
    assert "--cluster live" in out
    assert ("no-cluster", None, []) == (answer["notDefaulted"]["reason"], answer["defaulted"], answer["patch"])


def test_yaml_is_what_would_be_stored(run):
    """With defaults patched in, and matchLabelKeys merged."""
    merging = pod(constraint(matchLabelKeys=["v"]), labels={"app": "web", "v": "1"})
    code, out, err = run("admit -f new --cluster cluster -o yaml", new=[pod(), merging], cluster=CLUSTER)
    defaulted, merged = yaml.safe_load_all(out)

    assert (0, "") == (code, err)
    assert [SELECTOR, SELECTOR] == [one["labelSelector"] for one in defaulted["spec"]["topologySpreadConstraints"]]
    assert ["evenkeel.dev/defaulted-by"] == [*defaulted["metadata"]["annotations"]]
    assert STORED["spec"] == merged["spec"]
    assert merging == yaml.safe_load(run("admit -f new -o yaml --kubernetes-version 1.33", new=merging).out)
    assert STORED == yaml.safe_load(run("admit -f new -o yaml", new=STORED).out)


def test_yaml_is_printed_of_what_is_allowed_and_the_rest_is_said_on_stderr(run):
    code, out, err = run("admit -f new -o yaml", new=[DENIED, WARNED])

    assert (1, [WARNED]) == (code, list(yaml.safe_load_all(out)))
    assert err.startswith(DENIES % "creating")
    assert WARNS in err


def test_yaml_of_an_object_that_is_nested_deep_is_printed_or_refused(run):
    code, out, err = run("admit -f new -o yaml", new=pod(spec=json.loads('{"a":' * 480 + "1" + "}" * 480)))

    assert bool(out) == (code == 0)
    assert len(err.splitlines()) == (code == 2)


class Version(NamedTuple):
    name: str
    given: dict
    code: dict[str, int]


TWICE = constraint(matchLabelKeys=["app"])
VERSIONS = [
    Version("{} counts from 1.38 on", DENIED, {"1.37": 1, "1.38": 0}),
    Version("a stored Pod is merged already", STORED, {"1.33": 0, "1.34": 0}),
    Version("a new Pod is not", STORED | {"metadata": {"labels": {"app": "web", "v": "1"}}}, {"1.33": 1, "1.34": 1}),
    Version("a key in both", pod(TWICE), {"1.33": 1, "1.34": 1}),
    Version("a key in both, in a template", workload("Deployment", TWICE), {"1.33": 1, "1.34": 1}),
    Version("matchLabelKeys were dropped up to 1.26", pod(TWICE), {"1.26": 0, "1.27": 1, "v1.27.3-gke.1": 1}),
]


@pytest.mark.parametrize("case", VERSIONS, ids=lambda case: case.name)
def test_the_answer_is_that_of_the_version(run, case):
    assert case.code == {
        version: run(f"admit -f new --kubernetes-version {version}", new=case.given).code for version in case.code
    }


AT = "spec.template.spec.topologySpreadConstraints"
REFUSED = [
    (pod(constraint(maxSkew=0)), "1.34", f'The Pod "web-1" is invalid: {AT[14:]}[0].maxSkew: Invalid value: 0: '),
    (workload("Deployment", constraint(maxSkew=0)), "1.34", f'The Deployment "web" is invalid: {AT}[0].maxSkew: '),
    (workload("Deployment", TWICE), "1.33", f'The Deployment "web" is invalid: {AT}[0].matchLabelKeys[0]: '),
    (workload("Deployment", TWICE), "1.34", DENIES % "creating"),  # it takes the template, and refuses each of its Pods
    (
        workload("Rollout", constraint(maxSkew=0)) | {"apiVersion": "argoproj.io/v1alpha1"},
        "1.34",
        "Error from server (",
    ),
    (pod(TWICE), "1.34", 'The Pod "web-1" is invalid: '),
    (STORED | {"spec": {"topologySpreadConstraints": [*KEPT, EMPTY | {"topologyKey": "rack"}]}}, "1.34", "Error from"),
    (DENIED, "1.34", DENIES % "creating"),
    (
        workload("Deployment", constraint(), labels={"app": "db"}),
        "1.34",
        'The Deployment "web" is invalid: spec.template.m',
    ),
]


@pytest.mark.parametrize(("given", "version", "printed"), REFUSED)
def test_what_the_api_server_refuses_by_itself_is_its_own_error(run, given, version, printed):
    code, out, _ = run(f"admit -f new --kubernetes-version {version}", new=given)
    answer = json.loads(run(f"admit -f new -o json --kubernetes-version {version}").out)
    itself = not printed.startswith("Error from")

    assert (1, True) == (code, out.startswith(printed))
    assert itself == ("evenkeel" not in out.splitlines()[0])
    assert ("kube-apiserver" if itself else "validate") == answer["deniedBy"]
    assert (422 if itself else 403, False, "denied") == (answer["status"]["code"], answer["allowed"], answer["outcome"])


def test_what_to_write_is_on_a_line_of_its_own(run):
    given = workload("Deployment", constraint(maxSkew=0, whenUnsatisfiable="Never"), labels={"app": "db"})
    lines = run("admit -f new", new=given).out.splitlines()

    assert [
        "The Deployment",
        "* spec.template.metadata.labels",
        f"* {AT}[0].maxSkew",
        f"* {AT}[0].whenUnsatisfiable",
    ] == [line.partition(":")[0].partition(' "')[0] for line in lines[:4]]
    assert [
        "  spec.template.metadata.labels: write app=web, or select app=db in spec.selector",
        f"  {AT}[0].maxSkew: set maxSkew to 1, or to the difference you can accept",
        f"  {AT}[0].whenUnsatisfiable: set it to DoNotSchedule or ScheduleAnyway",
    ] == lines[4:]


@pytest.mark.parametrize("policy", [POLICY | {"enforcement": "Warn"}, POLICY])
def test_the_api_server_refuses_whatever_the_policy_says(run, policy):
    silenced = pod(constraint(maxSkew=0), annotations={"evenkeel.dev/ignore": "invalid-constraint"})
    code, out, _ = run("admit -f new --policy policy", new=silenced, policy=policy)

    assert (1, True) == (code, out.startswith('The Pod "web-1" is invalid: '))
    assert "Warning" not in out
    yaml_of = run("admit -f new -o yaml --policy policy")
    assert (1, "", True) == (yaml_of.code, yaml_of.out, "is invalid: " in yaml_of.err)


def test_a_wrong_type_is_refused_before_the_webhook_is_asked(run):
    listed = workload("Deployment")
    listed["spec"]["template"]["spec"]["topologySpreadConstraints"] = constraint()
    code, out, _ = run("admit -f new", new=listed)

    assert (1, True) == (
        code,
        out.startswith('Error from server (BadRequest): error when creating "new": Deployment in '),
    )
    assert ['  put "- " before maxSkew, so that it is a list'] == out.splitlines()[1:]


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ({"web": constraint()}, "replace `web:` by a dash, so that it is a list"),
        (
            {"web": constraint(), "x-y": constraint()},
            "replace `web:` and each name after it by a dash, so that it is a list",
        ),
        ({"labelSelector": {}, "maxSkew": 1}, 'put "- " before labelSelector, so that it is a list'),
        ({"enabled": True, **constraint()}, "write a list, each item after a dash"),
        ({"web": [constraint()]}, "write a list, each item after a dash"),
        ({"a b": constraint()}, "write a list, each item after a dash"),
        ({"web": {"enabled": True}}, "write a list, each item after a dash"),
    ],
)
def test_what_is_no_list_becomes_one(run, written, fix):
    named = workload("Deployment")
    named["spec"]["template"]["spec"]["topologySpreadConstraints"] = written

    assert f"  {fix}" == run("admit -f new", new=named).out.splitlines()[-1]


@pytest.mark.parametrize(
    ("obj", "rule"),
    [
        (pod(MISSES, owner="Cluster/pg"), "selector-misses-own-pod"),
        (workload("Deployment", constraint()), "rollout-skew"),
        (workload("Deployment", constraint(topologyKey="beta.kubernetes.io/arch")), "deprecated-topology-key"),
    ],
    ids=["only audited", "an info", "said by the API server"],
)
def test_each_finding_that_decides_the_exit_code_is_printed(run, obj, rule):
    failing = run("admit -f new --fail-on info", new=obj)

    lines = [line for line in failing.out.splitlines() if line.startswith("  fails --fail-on info: ")]
    assert (1, 1) == (failing.code, sum(f"({rule})" in line for line in lines))
    assert "fails --fail-on" not in run("admit -f new").out
    in_json = run("admit -f new --fail-on info -o json")
    assert (failing.code, "") == (in_json.code, in_json.err)


def test_a_finding_that_is_a_warning_is_printed_once(run):
    out = run("admit -f new --fail-on warning", new=WARNED).out

    assert 1 == out.count("selector-misses-own-pod")


@pytest.mark.parametrize(
    ("obj", "kind", "path", "value"),
    [
        (workload("Deployment", labels={"app": 1}), "Deployment", "spec.template.metadata.labels", "number"),
        (pod(labels={"app": True}), "Pod", "metadata.labels", "bool"),
    ],
)
def test_a_label_that_is_no_text_is_refused(run, obj, kind, path, value):
    given = run("admit -f new", new=obj)

    said = f'{kind} in version "v1" cannot be handled as a {kind}: json: cannot unmarshal {value} into Go struct field '
    assert (1, True) == (given.code, f"{said}ObjectMeta.{path} of type string" in given.out.splitlines()[0])


@pytest.mark.parametrize("form", ["text", "yaml"])
@pytest.mark.parametrize(
    ("made", "warnings"),
    [
        (
            {"topologyKey": "failure-domain.beta.kubernetes.io/zone"},
            [
                "[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; "
                'use "topology.kubernetes.io/zone" instead'
            ],
        ),
        (
            {"topologyKey": "beta.kubernetes.io/os", "labelSelector": None},
            [
                '[0].topologyKey: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
                "[0].labelSelector: a null labelSelector results in matching no pod",
            ],
        ),
        ({"topologyKey": "a", "labelSelector": None, "maxSkew": 0}, []),
    ],
    ids=["a zone", "two", "refused"],
)
def test_what_the_api_server_warns_of_is_printed(run, made, warnings, form):
    given = run(
        f"admit -f new --policy policy -o {form}", new=workload("Deployment", constraint(**made)), policy=POLICY
    )

    path = "Warning: spec.template.spec.topologySpreadConstraints"
    said = [line for line in (given.out + given.err).splitlines() if line.startswith("Warning: spec")]
    assert [f"{path}{warning}" for warning in warnings] == said


def test_a_folder_is_admitted_file_by_file(run, tmp_path):
    (tmp_path / "apps" / "deep").mkdir(parents=True)
    files = {"apps/a.yaml": WARNED, "apps/deep/b.yaml": DENIED, "apps/notes.txt": "no manifest"}
    code, out, _ = run("admit -f apps", **files)

    assert (1, True) == (code, 'error when creating "apps/deep/b.yaml": ' in out)
    assert "statefulset.apps/db created" in out.splitlines()


def test_a_policy_changes_the_answer(run):
    code, out, _ = run("admit -f new --policy policy", new=DENIED, policy=POLICY | {"enforcement": "Warn"})

    assert (0, "Warning: Deployment shop/web: ") == (code, out[:30])


RESTARTED = workload("Deployment", EMPTY, labels={"app": "web", "new": ""})
MISSPELT = workload("StatefulSet", constraint(topologyKey="kubernetes.io/zone"))
FAILS = [  # with --fail-on error, warning and info
    (DENIED, (1, 1, 1)),
    (WARNED, (0, 1, 1)),
    (MISSPELT, (0, 1, 1)),
    (workload("Deployment", constraint()), (0, 0, 1)),
    (workload("StatefulSet", honoring()), (0, 0, 0)),
]


@pytest.mark.parametrize(("obj", "codes"), FAILS)
def test_admit_fails_where_lint_does(run, obj, codes):
    for command in ("admit -f new", "lint new"):
        assert codes == tuple(
            run(f"{command} --fail-on {least}", new=obj).code for least in ("error", "warning", "info")
        )


@pytest.mark.parametrize("least", ["error", "warning"])
def test_an_error_that_does_not_deny_fails_as_a_warning(run, least):
    """The policy only warns, or the object had the error before."""
    files = {"new": RESTARTED, "old": DENIED, "policy": POLICY | {"enforcement": "Warn"}}

    for option in ("--policy policy", "--old old"):
        assert int(least == "warning") == run(f"admit -f new --fail-on {least} {option}", **files).code


def test_what_is_too_large_to_judge_is_said(run):
    many = pod(*[constraint()] * (MOST_CONSTRAINTS + 1))

    assert ": evenkeel could not judge it, so it passes unjudged: " in run("admit -f new", new=many).out
    assert 1 == run("admit -f new --policy policy", new=many, policy=POLICY | {"onError": "Deny"}).code


ASKED = POLICY | {"rules": {"missing-constraints": {"severity": "error", "minReplicas": 3}}}


def test_what_only_lint_knows_changes_no_answer(run):
    """The webhook knows of no autoscaler, of no other object of the file, and of Pods only where the policy says so."""
    command, single = (
        "admit -f new -o json --policy policy --cluster dump",
        workload("Deployment", spec={"replicas": 1}),
    )
    alone, beside = (
        run(command, new=[single, *more], policy=ASKED, dump=[namespace(), hpa(3), THERE]).out.splitlines()[0]
        for more in ([], [hpa(3), workload("StatefulSet")])
    )

    assert alone == beside
    assert json.loads(alone)["allowed"]


def test_the_resource_of_an_operator_is_not_judged_unless_the_policy_names_it(run):
    """None is sent to the webhook."""
    prometheus = {"apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus", "metadata": {"name": "x"}}
    given = prometheus | {"spec": {"topologySpreadConstraints": [constraint(maxSkew=0)]}}
    named = POLICY | {"workloads": [{"builtIn": "prometheus"}]}
    code, out, _ = run("admit -f new", new=given)

    assert (0, "  not sent: the API server sends a Prometheus only if the policy names it: workloads:") == (
        code,
        out.splitlines()[1][:85],
    )
    assert 1 == run("admit -f new --policy policy", new=given, policy=named).code


class Reviewed(NamedTuple):
    """The lines printed of a review, each by its beginning."""

    name: str
    review: dict
    lines: tuple[str, ...]
    code: int = 0


BY_CONTROLLER = {"userInfo": {"username": f"{ACCOUNTS}replicaset-controller"}}
OWNED = pod(EMPTY, owner="ReplicaSet/web")
ENFORCED = POLICY | {"rules": {"empty-selector": {"enforced": True}}}
REVIEWS = [
    Reviewed("a creation", review(DENIED), (DENIES % "creating",), 1),
    Reviewed("an update", review(request=request(DENIED, DENIED)), ("deployment.apps/web configured",)),
    Reviewed("of an old object that was fine", review(request=request(DENIED, WARNED)), ("Error from server",), 1),
    Reviewed("by a controller", review(request=request(OWNED, **BY_CONTROLLER)), ("pod/web-1 created",)),
    Reviewed("by someone else", review(request=request(OWNED)), ("Error from server",), 1),
    Reviewed(
        "a deletion",
        review(request=request(DENIED, operation="DELETE") | {"object": None}),
        ("deployment.apps/web allowed", "  not judged: DELETE: only CREATE and UPDATE of whole objects are judged"),
    ),
    Reviewed(
        "of a subresource",
        review(request=request(DENIED, subResource="scale")),
        ("deployment.apps/web allowed", "  not judged: CREATE of the subresource scale: only"),
    ),
]


@pytest.mark.parametrize("case", REVIEWS, ids=lambda case: case.name)
def test_a_review_is_answered_as_the_request_that_it_holds(run, case):
    code, out, err = run("admit -f new --policy policy", new=case.review, policy=ENFORCED)
    lines = [line for line in out.splitlines() if "note: " not in line]

    assert (case.code, "") == (code, err.replace(NEED_A_CLUSTER, ""))
    assert [line[: len(wanted)] for line, wanted in zip(lines, case.lines, strict=True)] == [*case.lines]


def test_several_reviews_are_answered_in_order_beside_objects(run):
    listed = {"apiVersion": "v1", "kind": "List", "items": [review(DENIED), WARNED, review(WARNED)]}
    code, out, _ = run("admit -f new -o json", new=[listed, review(pod(constraint()))])

    assert (1, [False, True, True, True]) == (code, [json.loads(line)["allowed"] for line in out.splitlines()])


def test_a_review_is_in_the_namespace_of_its_request(run):
    homeless = review(request=request(pod(namespace=None), namespace="shop"))

    assert (
        "  defaulted: selector app=web from Service/web"
        in run("admit -f new --cluster dump", new=homeless, dump=[namespace(), service()]).out
    )


def test_nothing_is_stored_of_a_review_that_is_not_judged(run):
    deletion = review(request=request(DENIED, operation="DELETE") | {"object": None})
    code, out, err = run("admit -f new -o yaml", new=deletion)

    assert (0, "", True) == (code, out, "not judged: DELETE" in err)
    assert json.loads(run("admit -f new -o json", new=deletion).out)["notJudged"].startswith("DELETE: ")


def test_a_review_has_its_old_object_in_it(run):
    code, _, err = run("admit -f new --old old", new=review(DENIED), old=DENIED)

    assert (2, "evenkeel: new: object 1: AdmissionReview: already holds its old object; leave --old out\n") == (
        code,
        err,
    )


def test_a_review_that_cannot_be_used_is_bad_input(run):
    code, out, err = run("admit -f new", new=[DENIED, review(DENIED, apiVersion="admission.k8s.io/v1beta1")])

    assert (2, "") == (code, out)
    assert err.startswith(
        'evenkeel: new: object 2: AdmissionReview: apiVersion: found "admission.k8s.io/v1beta1", which'
    )


TEAM = {"name": "team-a", "namespaceSelector": {"matchLabels": {"team": "a"}}}
DENIED_FOR_TEAM = POLICY | {
    "rules": {"empty-selector": {"severity": "ignore", "help": "ask us"}},
    "overrides": [{**TEAM, "rules": {"empty-selector": "error"}}],
}
EXEMPT_TEAM = POLICY | {"overrides": [{**TEAM, "rules": {"empty-selector": "ignore"}}]}
DENIED_FOR_ALL = POLICY | {"overrides": [{**TEAM, "rules": {"pinned-pod": "error"}}]}
HOW = "give --namespace-labels, --cluster, or a Namespace in the input"


class Labels(NamedTuple):
    """What admit and lint exit with, and the severities that both find."""

    name: str
    policy: dict
    codes: tuple  # of each, with --fail-on error and with warning
    found: tuple
    options: str = ""
    more: tuple = ()


LABELS = [
    Labels("an override may deny", DENIED_FOR_TEAM, (0, 1), ("warning",)),
    Labels("it denies", DENIED_FOR_TEAM, (1, 1), ("error",), "--namespace-labels team=a"),
    Labels("it does not", DENIED_FOR_TEAM, (0, 0), (), "--namespace-labels team=b"),
    Labels("it denies in that namespace", DENIED_FOR_TEAM, (1, 1), ("error",), "--namespace-labels shop:team=a,b=c"),
    Labels("it denies in another", DENIED_FOR_TEAM, (0, 1), ("warning",), "--namespace-labels bank:team=a"),
    Labels("there are no labels", DENIED_FOR_TEAM, (0, 0), (), "--namespace-labels shop:"),
    Labels("a Namespace in the input", DENIED_FOR_TEAM, (1, 1), ("error",), more=(namespace(team="a"),)),
    Labels(
        "an option before the Namespace",
        DENIED_FOR_TEAM,
        (0, 0),
        (),
        "--namespace-labels a=b",
        (namespace(team="a"),),
    ),
    Labels(
        "an option for that namespace",
        DENIED_FOR_TEAM,
        (0, 0),
        (),
        "--namespace-labels shop:team=b",
        (namespace(team="a"),),
    ),
    Labels("a Namespace in a dump", DENIED_FOR_TEAM, (1, 1), ("error",), "--cluster dump"),
    Labels("an override may exempt", EXEMPT_TEAM, (0, 1), ("warning",)),
    Labels("it exempts", EXEMPT_TEAM, (0, 0), (), "--namespace-labels team=a"),
    Labels("all deny", DENIED_FOR_ALL, (1, 1), ("error",)),
]


@pytest.mark.parametrize("case", LABELS, ids=lambda case: case.name)
def test_admit_and_lint_agree_whether_or_not_the_labels_of_a_namespace_are_known(run, case):
    files = {"new": [*case.more, DENIED], "policy": case.policy, "dump": namespace(team="a")}
    options = [f"-o json --policy policy --fail-on {least} {case.options}" for least in ("error", "warning")]
    admits = [run(f"admit -f new {more}", **files) for more in options]
    lints = [run(f"lint new {more}") for more in options]
    answer, document = json.loads(admits[0].out.splitlines()[-1]), json.loads(lints[0].out)
    of_lint = [
        {name: finding[name] for name in of_admit}
        for of_admit, finding in zip(answer["findings"], document["findings"], strict=True)
    ]
    in_doubt = case.found == ("warning",)

    assert case.codes == tuple(admit.code for admit in admits) == tuple(lint.code for lint in lints)
    assert answer["findings"] == of_lint
    assert case.found == tuple(finding["severity"] for finding in of_lint)
    assert in_doubt == (answer["unknownLabelsOf"] == "shop")
    assert in_doubt == ("namespaceLabels" in document["summary"]["passedOver"])


def test_what_is_not_known_is_said_and_how_to_give_it(run):
    out = run("admit -f new --policy policy", new=DENIED, policy=DENIED_FOR_TEAM).out.splitlines()
    text = (
        "must select Pods: without labels to select, the constraint spreads nothing (error if override team-a applies)"
    )

    assert out[0].startswith(f"Warning: Deployment shop/web: topologySpreadConstraints[0].labelSelector: {text}; ")
    assert out[0].endswith(" (evenkeel empty-selector); ask us")
    assert f"  note: the labels of namespace shop are not known; {HOW}" in out
    linted = run("lint new --policy policy")
    judged = "1 object in a namespace with unknown labels judged under each override that may apply"
    assert f"note: {judged}: new; {HOW}" in linted.err
    assert "\n   = ask us\n" in linted.out


def test_an_override_that_has_ended_does_not_apply(run):
    policies = (
        POLICY | {"overrides": [{"name": "a", "podSelector": {}, "until": day, "rules": {"empty-selector": "ignore"}}]}
        for day in ("2000-01-01", "9999-12-31")
    )

    assert [1, 0] == [run("admit -f new --policy policy", new=DENIED, policy=each).code for each in policies]
