"""What people see: kubectl, the real API server and its controllers, with evenkeel on both paths."""

from __future__ import annotations

import io
import json

import pytest

from tests.e2e import programs
from tests.e2e.webhook import installed
from tests.e2e.words import (
    EMPTY,
    KINDS,
    MISSES,
    SELECT,
    WRITE,
    constraints_of,
    defaulted,
    denial,
    deployment,
    empty_selector,
    missed,
    of,
    owner,
    selecting,
    stored,
    unknown,
    warned,
)
from tests.support.build import HOSTNAME, SELECTOR, ZONE, constraint
from tests.support.serving import until
from webhook.cli.main import main
from webhook.kubernetes.kinds import FIELD
from webhook.kubernetes.names import DEFAULTED_BY_ANNOTATION

SELECTING = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")  # those with a selector of their own
SPREAD = [kind for kind in KINDS if kind != "DaemonSet"]


@pytest.fixture(scope="module")
def running(plane, tmp_path_factory):
    with installed(plane, tmp_path_factory.mktemp("webhook")) as running:
        yield running


# A new Pod without constraints


def test_a_new_pod_that_a_service_selects_is_given_defaults(plane, running, namespace):
    plane.apply(selecting(namespace))
    made = defaulted(plane, of("Pod", namespace))

    assert [(ZONE, "ScheduleAnyway", SELECTOR), (HOSTNAME, "ScheduleAnyway", SELECTOR)] == [
        (one["topologyKey"], one["whenUnsatisfiable"], one["labelSelector"]) for one in constraints_of(made)
    ]
    assert "policy; selector from Service/web" == made["metadata"]["annotations"]["evenkeel.dev/defaulted-by"]


@pytest.mark.parametrize("how", [[], ["--server-side"]], ids=["client side", "server side"])
def test_a_pod_that_was_given_defaults_is_applied_again_unchanged(plane, running, namespace, how):
    """What was given, and the annotation that says so, are no field manager's: no apply takes them away."""
    plane.apply(selecting(namespace))
    before = defaulted(plane, of("Pod", namespace))

    for _ in range(2):
        output = plane.kubectl("apply", *how, "-f", "-", stdin=json.dumps(of("Pod", namespace)))
        assert 0 == output.code, output

    after = stored(plane, namespace)
    assert constraints_of(before) == constraints_of(after)
    notes = [one["metadata"]["annotations"][DEFAULTED_BY_ANNOTATION] for one in (before, after)]
    assert notes[0] == notes[1]
    assert not any(
        given in json.dumps(after["metadata"]["managedFields"]) for given in (FIELD, DEFAULTED_BY_ANNOTATION)
    )


def test_what_nothing_selects_is_given_none(plane, running, namespace):
    output = plane.apply(of("Pod", namespace))

    assert (0, "pod/web created\n", "") == output
    assert not constraints_of(stored(plane, namespace))


def test_what_a_user_wrote_stays_as_it_is(plane, running, namespace):
    plane.apply(selecting(namespace))
    plane.apply(of("Pod", namespace, constraint(topologyKey="rack")))

    assert [constraint(topologyKey="rack")] == constraints_of(stored(plane, namespace))


# A workload that nobody owns


@pytest.mark.parametrize("kind", SPREAD)
def test_an_error_is_refused_with_its_path_and_the_way_out(plane, running, namespace, kind):
    entry, path = KINDS[kind]
    output = plane.apply(of(kind, namespace, EMPTY))

    fix = {"fix": WRITE if kind in SELECTING else SELECT}
    assert (1, "", denial(empty_selector(f"{kind} {namespace}/web", path, **fix), entry=entry)) == output


def test_of_a_daemonset_it_is_said_that_constraints_do_nothing_there(plane, running, namespace):
    output = plane.apply(of("DaemonSet", namespace, EMPTY))

    pinned = (
        "a DaemonSet pins each Pod to its node: a hard constraint spreads nothing, and can only leave Pods Pending; "
    )
    found = "found 1 constraint on a DaemonSet; remove the constraints"
    said = warned(f"DaemonSet {namespace}/web", "", f"{pinned}{found}", "pinned-pod")
    assert (0, "daemonset.apps/web created\n", said) == output


def test_a_warning_is_printed_once_and_the_object_is_made(plane, running, namespace):
    output = plane.apply(deployment(namespace, MISSES))

    assert (0, "deployment.apps/web created\n", missed(f"Deployment {namespace}/web")) == output


def test_a_denial_comes_with_the_warnings(plane, running, namespace):
    web = f"Deployment {namespace}/web"
    output = plane.apply(deployment(namespace, MISSES, EMPTY | {"topologyKey": HOSTNAME}))

    assert (1, "", missed(web) + denial(empty_selector(web, index=1))) == output


def test_four_objects_with_one_mistake_are_each_named(plane, running, namespace):
    """For kubectl prints equal warnings once."""
    names = [f"svc-{i}" for i in range(4)]
    made = [deployment(namespace, constraint(topologyKey="kubernetes.io/zone")) for _ in names]
    for name, one in zip(names, made, strict=True):
        one["metadata"]["name"] = name
    output = plane.apply(*made)

    said = 'no node has this label: no Pod can be placed; found "kubernetes.io/zone"; write topologyKey: ' + ZONE
    webs = [f"Deployment {namespace}/{name}" for name in names]
    assert 0 == output.code
    assert "".join(warned(web, "[0].topologyKey", said, "misspelt-topology-key") for web in webs) == output.stderr


def test_what_is_right_is_made_without_a_word(plane, running, namespace):
    output = plane.apply(deployment(namespace, constraint(matchLabelKeys=["pod-template-hash"])))

    assert (0, "deployment.apps/web created\n", "") == output


def admitted(tmp_path, capsys, made):
    """The warnings of `evenkeel admit`, which sees the object as it was written."""
    file = tmp_path / "job.json"
    file.write_text(json.dumps(made))
    assert 0 == main(["admit", "-f", str(file)])
    return "".join(line for line in capsys.readouterr().out.splitlines(True) if line.startswith("Warning"))


@pytest.mark.parametrize("key", ["job-name", "batch.kubernetes.io/job-name", "controller-uid"])
@pytest.mark.parametrize("operator", ["In", "NotIn", "Exists", "DoesNotExist"])
@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_a_job_is_answered_as_if_the_api_server_had_not_written_its_labels(
    plane, running, namespace, tmp_path, capsys, kind, operator, key
):
    values = {"values": ["web"]} if operator.endswith("In") else {}
    asked = constraint(labelSelector={"matchExpressions": [{"key": key, "operator": operator, **values}]})
    made = of(kind, namespace, asked)
    output = plane.apply(made)
    known = kind == "Job" and key != "controller-uid"

    assert 0 == output.code, output
    assert (operator in ("DoesNotExist", "NotIn" if known else "In")) == ("selector-misses-own-pod" in output.stderr)
    assert output.stderr == admitted(tmp_path, capsys, made)


def test_more_warnings_than_a_person_reads_are_counted(plane, running, namespace):
    output = plane.apply(deployment(namespace, *(MISSES | {"topologyKey": f"rack{i}"} for i in range(7))))

    assert 0 == output.code
    web = f"Deployment {namespace}/web"
    said = [line for i in range(3) for line in (missed(web, i), unknown(web, i, f"rack{i}"))]
    more = f"Warning: {web}: 9 more findings; to see all: evenkeel admit -f FILE -o json\n"
    assert "".join(said[:5]) + more == output.stderr


def test_a_changed_template_is_judged(plane, running, namespace):
    plane.apply(deployment(namespace, constraint()))
    output = plane.apply(deployment(namespace, EMPTY))

    refused = denial(empty_selector(f"Deployment {namespace}/web"), doing="")
    said = refused.removeprefix("Error from server (Forbidden): ")
    assert 1 == output.code
    assert output.stderr.endswith(f'for: "STDIN": error when patching "STDIN": {said}')


def test_a_patch_is_judged(plane, running, namespace):
    plane.apply(deployment(namespace, constraint()))
    path = "/spec/template/spec/topologySpreadConstraints/0/labelSelector"
    patch = [{"op": "replace", "path": path, "value": {}}]
    output = plane.kubectl("patch", "deployment/web", "-n", namespace, "--type=json", "-p", json.dumps(patch))

    assert (1, "", denial(empty_selector(f"Deployment {namespace}/web"), doing="")) == output


# What the API server says itself


@pytest.mark.parametrize("kind", SPREAD)
def test_what_the_api_server_warns_of_is_not_said_twice(plane, running, namespace, kind):
    keys = ("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region")
    output = plane.apply(of(kind, namespace, MISSES, *(constraint(topologyKey=key) for key in keys)))

    said = output.stderr.splitlines(keepends=True)
    assert 0 == output.code
    fix = WRITE if kind in SELECTING else "select labels that the Pod itself carries"
    assert 1 == said.count(missed(f"{kind} {namespace}/web", fix=fix))
    assert [1, 1] == [sum(f"[{i}].topologyKey" in line for line in said) for i in (1, 2)]
    assert [1, 1] == [sum(f"{key} is deprecated since v1.17" in line for line in said) for key in keys]


def refused(namespace):
    """Objects that the API server refuses itself, before it asks the webhook."""
    mistyped = deployment(namespace)
    mistyped["spec"]["template"]["spec"][FIELD] = constraint()
    several = (constraint(maxSkew=0, whenUnsatisfiable="Never"), constraint(minDomains=0), EMPTY)
    misplaced = deployment(namespace, constraint(nope=1), spec={FIELD: [constraint()]})
    expression = {"key": "app", "operator": "Exists", "x": 1, "*": 1, 'é"': 1}
    unknown_fields = (
        constraint(zeta=1, maxSkew=0),
        *(constraint(topologyKey=f"rack{i}") for i in range(9)),
        constraint(topologyKey="rack", MaxSkew={"c": 1}, labelSelector={"matchExpressions": [expression], "m": {}}),
    )
    return [
        deployment(namespace, constraint(maxSkew=0), EMPTY | {"topologyKey": HOSTNAME}),
        deployment(namespace, *several),
        of("Pod", namespace, constraint(maxSkew=0)),
        of("CronJob", namespace, constraint(maxSkew="0")),
        mistyped,
        *(of(kind, namespace, EMPTY, labels={"app": "x", "b": "c"}) for kind in (*SELECTING, "DaemonSet")),
        *(of(kind, namespace, constraint(matchLabels={"app": "web"})) for kind in ("Pod", "CronJob", "Deployment")),
        deployment(namespace, *unknown_fields, spec={"selector": {}}),
        deployment(namespace, constraint(nope=1), constraint(maxSkew="0")),
        misplaced,
        *(
            of(kind, namespace, constraint(maxSkew=0), spec={"selector": selector})
            for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
            for selector in (None, {}, {"matchLabels": {}})
        ),
        deployment(namespace, template={"labels": None}, spec={"selector": None}),
    ]


def test_what_the_api_server_refuses_it_refuses_first_and_admit_says_the_same(
    plane, running, namespace, capsys, monkeypatch
):
    for made in refused(namespace):
        output = plane.kubectl("apply", "-f", "-", stdin=json.dumps(made))  # of a List, kubectl itself checks types
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(made).encode())))
        code = main(["admit", "-f", "-"])
        lines = capsys.readouterr().out.splitlines(keepends=True)

        assert (1, 1, "") == (output.code, code, output.stdout)
        # From 1.38 on, declarative validation names a missing selector last.
        ordered = list if programs.version().minor < 38 else sorted
        said = [line for line in lines if not line.startswith("  ")]
        assert ordered(output.stderr.splitlines(keepends=True)) == ordered(said)
        assert "evenkeel" not in output.stderr


@pytest.mark.parametrize("name", ["topologySpreadConstraint", "TopologySpreadConstraints"])
def test_a_misspelt_field_is_refused_by_kubectl_and_dropped_for_others(plane, running, namespace, name):
    """JSON names are read with their case, and the webhook is not called: the object has no constraints."""
    made = deployment(namespace)
    made["spec"]["template"]["spec"][name] = [EMPTY]
    refused = plane.apply(made)
    dropped = plane.kubectl("apply", "--validate=ignore", "-f", "-", stdin=json.dumps(made))

    assert 1 == refused.code
    path = "spec.template.spec." if programs.version().minor >= 38 else ""
    assert f'unknown field "{path}{name}"' in refused.stderr
    assert (0, "deployment.apps/web created\n", "") == dropped
    assert "evenkeel" not in refused.stderr
    assert not {name, FIELD} & stored(plane, namespace, "deployments/web", "apps/v1")["spec"]["template"]["spec"].keys()


def test_a_switch_with_a_typo_is_said_once(plane, running, namespace):
    annotations = {"evenkeel.dev/ignore": "empty-selectr,hard-constraint"}
    made = deployment(namespace, constraint(nodeTaintsPolicy="Honor"))
    made["metadata"]["annotations"] = annotations
    output = plane.apply(made)

    said = 'evenkeel.dev/ignore: there is no rule empty-selectr; found "empty-selectr"; write empty-selector'
    warning = f"Warning: Deployment {namespace}/web: {said} (evenkeel idle-switch)\n"
    assert (0, "deployment.apps/web created\n", warning) == output


# What is owned


def test_what_is_owned_is_only_noted(plane, running, namespace):
    series = 'evenkeel_findings_total{rule="empty-selector",severity="error"}'
    before = running.metric(series)
    output = plane.apply(of("StatefulSet", namespace, EMPTY, **owner(plane, namespace)))

    assert (0, "statefulset.apps/web created\n", "") == output
    assert before < running.metric(series)


# How it is applied


def test_a_dry_run_is_answered_in_the_same_words_and_leaves_nothing(plane, running, namespace):
    plane.apply(selecting(namespace))
    dry, web = ("apply", "--dry-run=server", "-f", "-"), f"Deployment {namespace}/web"

    output = plane.kubectl(*dry, stdin=json.dumps(deployment(namespace, EMPTY)))
    assert (1, "", denial(empty_selector(web))) == output
    output = plane.kubectl(*dry, stdin=json.dumps(deployment(namespace, MISSES)))
    assert (0, "deployment.apps/web created (server dry run)\n", missed(web)) == output
    path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All"
    until(lambda: constraints_of(plane.api.call("POST", path, of("Pod", namespace))), "defaults")
    output = plane.kubectl(*dry, "-o", "json", stdin=json.dumps(of("Pod", namespace)))
    assert [ZONE, HOSTNAME] == [one["topologyKey"] for one in constraints_of(json.loads(output.stdout))]

    assert "" == plane.kubectl("get", "pods,deployments", "-n", namespace, "-o", "name").stdout


def test_a_dry_run_of_the_client_asks_nobody(plane, running, namespace):
    output = plane.kubectl("apply", "--dry-run=client", "-f", "-", stdin=json.dumps(deployment(namespace, EMPTY)))

    assert (0, "deployment.apps/web created (dry run)\n", "") == output


def test_server_side_apply_is_answered_in_the_same_words(plane, running, namespace):
    apply = ("apply", "--server-side", "-f", "-")

    output = plane.kubectl(*apply, stdin=json.dumps(deployment(namespace, EMPTY)))
    assert (1, "", denial(empty_selector(f"Deployment {namespace}/web"), doing="")) == output
    output = plane.kubectl(*apply, stdin=json.dumps(deployment(namespace, MISSES)))
    assert (0, "deployment.apps/web serverside-applied\n", missed(f"Deployment {namespace}/web")) == output
    output = plane.kubectl(*apply, stdin=json.dumps(deployment(namespace, constraint())))
    assert (0, "deployment.apps/web serverside-applied\n", "") == output


def test_fifty_objects_at_once_are_each_answered_for_themselves(plane, running, namespace):
    made = [deployment(namespace, EMPTY if i % 5 == 0 else MISSES, spec={}) for i in range(50)]
    for i, one in enumerate(made):
        one["metadata"]["name"] = f"web-{i}"
        one["spec"]["replicas"] = 0
    output = plane.apply(*made)

    assert 1 == output.code
    assert [f"deployment.apps/web-{i} created" for i in range(50) if i % 5] == output.stdout.splitlines()
    said = [output.stderr.count(missed(f"Deployment {namespace}/web-{i}")) for i in range(50)]
    assert [int(i % 5 != 0) for i in range(50)] == said  # kubectl says equal warnings once
    refused = [output.stderr.count(denial(empty_selector(f"Deployment {namespace}/web-{i}"))) for i in range(50)]
    assert [int(i % 5 == 0) for i in range(50)] == refused
