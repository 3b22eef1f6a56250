"""evenkeel policy test --engine policy: what is asked of a cluster, what is skipped, and what is wrong with a case."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.support.apiserver import ApiServer, kubeconfig
from tests.support.build import constraint, pod, service, workload
from tests.support.commands import POLICY, Run
from webhook.manifests.acting import Export
from webhook.manifests.admission_policies import admission_policies
from webhook.policy.parsing import built_in, policy_of
from webhook.policy_test.installed import CEL_RESOURCES
from webhook.policy_test.live import CLUSTER_UNUSED, UPDATE_SKIPPED
from webhook.policy_test.told import WARNED_BY
from webhook.scheduler.features import LATEST, parse_version

LIVE = "policy test --engine policy --cluster live"
WEB = workload("Deployment", constraint(labelSelector={}), namespace=None)
DEPLOYMENTS, PODS = "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces/shop/pods"
DENIED = {
    "reason": "Forbidden",
    "message": "x is forbidden: ValidatingAdmissionPolicy 'evenkeel' with binding 'evenkeel' denied request: "
    "Deployment default/web: spec: wrong (evenkeel empty-selector)",
}
WARNING = f'299 - "{WARNED_BY}Pod shop/web-1: spec: wrong (evenkeel selector-misses-own-pod)"'


@pytest.fixture
def api(tmp_path, monkeypatch):
    running = ApiServer()
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(running.url, tmp_path)))
    in_force(running, built_in())
    running.answers |= {DEPLOYMENTS: (403, [], DENIED), PODS: (201, [WARNING], pod())}
    yield running
    running.stop()


def in_force(api, policy, features=LATEST):
    for manifest in admission_policies(Export(policy, features)):
        api.further[f"{CEL_RESOURCES[manifest['kind']]}/{manifest['metadata']['name']}"] = manifest


def a_test(*cases, **fields):
    return {"kind": "PolicyTest", "cases": [{"name": f"case {i}", **case} for i, case in enumerate(cases)], **fields}


def case(obj=WEB, outcome="denied", **fields):
    return {"object": obj, "expect": {"outcome": outcome}, **fields}


def test_answers_are_the_api_servers_and_nothing_is_sent_but_dry_runs(run, api):
    ran = run(f"{LIVE} t", t=a_test(case(), case(pod(), "warned", user="jane")))

    assert Run(0, "t\n  ok    case 0\n  ok    case 1\n2 cases in 1 file, all passed\n", "") == ran
    assert [f"{DEPLOYMENTS}?dryRun=All", f"{PODS}?dryRun=All"] == [path for path, _, _ in api.posted]
    assert [None, "jane"] == [headers.get("Impersonate-User") for _, headers, _ in api.posted]


def test_of_a_case_that_fails_the_answer_is_shown(run, api):
    code, out, err = run(f"{LIVE} t", t=a_test(case(pod(), "allowed")))

    assert (1, "") == (code, err)
    assert "-outcome: allowed\n      +outcome: warned\n      the answer:\n        Warning: Validation failed" in out
    assert out.endswith("        created (server dry run)\n1 case in 1 file, 1 failed\n")


def test_what_cannot_be_asked_is_skipped_and_not_sent(run, api):
    cases = [
        case(old=WEB),
        case(service(), "allowed"),
        {"object": WEB, "expect": {"defaults": []}},
        case(),
    ]
    code, out, err = run(f"{LIVE} t", t=a_test(*cases, cluster=[]))

    assert (0, "", 1) == (code, err, len(api.posted))
    assert [
        "t",
        f"  skip  case 0: {UPDATE_SKIPPED}",
        "  skip  case 1: the policies judge no v1 Service",
        "  skip  case 2: expects only defaults, which policies cannot answer",
        "  ok    case 3",
        f"  note: {CLUSTER_UNUSED}",
        "4 cases in 1 file, 1 passed, 3 skipped",
    ] == out.splitlines()
    document = json.loads(run(f"{LIVE} t -o json").out)
    assert (3, [CLUSTER_UNUSED]) == (document["summary"]["skipped"], document["files"][0]["notes"])
    root = ElementTree.fromstring(run(f"{LIVE} t -o junit").out)
    assert ("3", UPDATE_SKIPPED) == (root.get("skipped"), root.find(".//skipped").get("message"))


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [
        (422, "is invalid: spec: no", "is invalid: spec: no"),
        (404, 'namespaces "shop" not found', 'namespaces "shop" not found'),
        (404, "404 page not found", "404 page not found; the cluster has no deployments of apps/v1 in namespaces"),
        (
            403,
            'users "jane" is forbidden: User "a" cannot impersonate resource "users"',
            'users "jane" is forbidden: User "a" cannot impersonate resource "users"; '
            "ask for the right to impersonate the user of the case",
        ),
        (
            401,
            "Unauthorized",
            f"--cluster live: {DEPLOYMENTS}: 401 Unauthorized; log in again, and check with kubectl auth whoami",
        ),
        (429, "", '{"message": ""}'),
    ],
)
def test_what_is_refused_otherwise_is_a_line_and_other_cases_are_tested(run, api, status, message, said):
    api.answers[DEPLOYMENTS] = status, [], {"message": message}
    code, out, err = run(f"{LIVE} t", t=a_test(case(user="jane"), case(pod(), "warned")))

    counted = "2 cases in 1 file, 1 passed, 1 could not be judged"
    assert (2, f"t\n  error case 0\n  ok    case 1\n{counted}\n") == (code, out)
    assert err.startswith(f"evenkeel: t: cases[0]: {said}")
    assert 1 == err.count("\n")


@pytest.mark.parametrize(
    ("fields", "version", "command"),
    [
        ({"policy": POLICY | {"enforcement": "Warn"}}, "v1.37.1", "--policy FILE --kubernetes-version 1.37"),
        ({"policy": "p p"}, "v1.37.1", "--policy 'p p' --kubernetes-version 1.37"),
        ({"policy": "p p"}, "v1.36.0", "--policy 'p p' --kubernetes-version 1.36"),
        ({"policy": "p p", "kubernetesVersion": "1.36"}, "v1.37.1", "--policy 'p p' --kubernetes-version 1.36"),
    ],
)
def test_a_policy_that_is_not_in_force_is_told_with_the_command(run, api, fields, version, command):
    api.git_version = version
    run("rules", **{"p p": POLICY | {"rules": {"empty-selector": {"severity": "error", "help": "ask"}}}})
    code, out, err = run(f"{LIVE} t", t=a_test(case(), **fields))

    counted = "t\n  error case 0\n1 case in 1 file, 1 could not be judged\n"
    assert (2, counted, []) == (code, out, api.posted)
    assert f": evenkeel manifests --engine policy {command} | kubectl apply -f -\n" in err
    assert all(line.startswith("evenkeel: t: policy: ") for line in err.splitlines())


def test_the_policies_are_those_of_the_clusters_version_and_of_the_day(run, api):
    api.git_version = "v1.36.0"
    ended = {"name": "a", "podSelector": {}, "until": "2001-01-31", "enforcement": "Warn"}
    in_force(api, policy_of(POLICY, parse_version("1.36")), parse_version("1.36"))

    assert 0 == run(f"{LIVE} t", t=a_test(case(), policy=POLICY | {"overrides": [ended]})).code
    lasting = POLICY | {"overrides": [ended | {"until": "9999-12-31"}]}
    code, _, err = run(f"{LIVE} t", t=a_test(case(), policy=lasting))
    no_clock = "override a: until: CEL cannot know the date; remove this setting, or use --engine webhook"
    assert (2, f"evenkeel: t: policy: {no_clock}\n") == (code, err)
    api.git_version = "v1.35.0"
    code, _, err = run(f"{LIVE} t", t=a_test(case()))
    assert code == 2 and err.startswith("evenkeel: t: --engine policy: found Kubernetes 1.35, wanted 1.36 or newer: ")


def test_a_day_on_which_the_policy_is_another_than_today_is_refused(run, api):
    """No command writes the policies of another day."""
    override = {"name": "a", "podSelector": {}, "until": "2001-01-31", "enforcement": "Warn"}
    code, _, err = run(f"{LIVE} t", t=a_test(case(), policy=POLICY | {"overrides": [override]}, today="2001-01-31"))

    assert (2, []) == (code, api.posted)
    assert err.startswith("evenkeel: t: today: found 2001-01-31, but the cluster has the policies of ")
    assert err.endswith(", when these overrides have ended: a; leave today out\n")
    for same in ("2001-02-01", "2030-01-01"):
        ended = POLICY | {"overrides": [override]}
        assert 0 == run(f"{LIVE} t", t=a_test(case(), policy=ended, today=same)).code


def test_a_case_of_a_day_on_which_the_policy_is_another_than_today_is_skipped(run, api):
    ended = POLICY | {"overrides": [{"name": "a", "podSelector": {}, "until": "2001-01-31", "enforcement": "Warn"}]}
    ran = run(f"{LIVE} t", t=a_test(case(today="2001-01-31"), case(today="2001-02-01"), policy=ended))

    assert (0, "", 1) == (ran.code, ran.err, len(api.posted))
    skipped = "  skip  case 0: today: found 2001-01-31, but the cluster has the policies of "
    assert ran.out.splitlines()[1].startswith(skipped)
    assert ran.out.splitlines()[1].endswith(", when these overrides have ended: a; leave today out")
    assert "2 cases in 1 file, 1 passed, 1 skipped" == ran.out.splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            "--engine policy",
            "--engine policy: needs a live cluster, whose API server answers; "
            "add --cluster live, or leave --engine policy out",
        ),
        (
            "--cluster live",
            "--cluster live: the webhook's answers need no cluster; add --engine policy, or leave --cluster live out",
        ),
        (
            "--engine policy --cluster f",
            "--cluster FILE: works only with --init; write it into the test file, or leave it out",
        ),
        ("--context a", "--context: found no --cluster; add --cluster live, or leave --context out"),
        (
            "--engine policy --init -",
            "--engine: found policy with --init, which writes evenkeel's own answers; leave out one of the two",
        ),
    ],
)
def test_options_that_do_not_go_together_are_a_line(run, options, error):
    assert Run(2, "", f"evenkeel: {error}\n") == run(f"policy test {options} t", t=a_test(case()))


def test_a_cluster_that_does_not_answer_is_a_line(run, api, monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig("http://127.0.0.1:1", tmp_path)))

    code, out, err = run(f"{LIVE} t", t=a_test(case()))
    assert (2, "", 1) == (code, out, err.count("\n"))
    assert err.startswith("evenkeel: --cluster live: ")


def test_a_file_that_cannot_be_used_does_not_keep_others_from_being_tested(run, api):
    code, out, err = run(f"{LIVE} bad good", bad={"kind": "PolicyTest", "x": 1}, good=a_test(case("no"), case()))

    counted = "2 cases in 1 file, 1 passed, 1 could not be judged"
    assert (2, f"good\n  error case 0\n  ok    case 1\n{counted}\n") == (code, out)
    assert ["bad", "bad", "good"] == [line.split(": ")[1] for line in err.splitlines()]
