"""Policies of the API server judge objects of any size: no expression errs or costs too much."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest
import yaml

from evenkeel.policy_test.running import answer_to
from tests.e2e import programs
from tests.e2e.api import ApiError
from tests.e2e.large_objects import bound_pods, deployment, deployments, many, selecting, topology_key
from tests.e2e.webhook import manifests
from tests.support.build import HOSTNAME, ZONE, constraint, policy, term
from tests.support.serving import until
from webhook.admission.terms import Terms
from webhook.kubernetes.features import features
from webhook.rules import RULES as ALL_RULES

DEPLOYMENTS, PODS = "/apis/apps/v1/namespaces/{}/deployments", "/api/v1/namespaces/{}/pods"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
TEAM = "of-the-team"
ALLOWED = (201, "")
MANY_OWNERS = "20,000 owners"  # Too many to look for a controller: they count as owned, and only the enforced denies.
MESSAGE = re.compile(r".+ \(evenkeel [a-z-]+\)")
PARAMETERS = {
    "excessive-max-skew": {"maxSkew": 3},
    "forbidden-topology-key": {
        "topologyKeys": ["example.com/forbidden"],
        "allowedTopologyKeys": [ZONE, HOSTNAME, *map(topology_key, range(20))],
    },
    "missing-constraints": {"topologyKeys": [ZONE, HOSTNAME], "minReplicas": 2},
    "missing-min-domains": {"topologyKeys": []},
    "rollout-skew": {"soft": True},
}
RULES = {rule.id: {"severity": "error", **PARAMETERS.get(rule.id, {})} for rule in ALL_RULES.values() if rule.cel}
IGNORED = dict.fromkeys(RULES, "ignore")
OVERRIDES = [
    {"name": "team", "namespaceSelector": {"matchLabels": {"team": "a"}}, "enforcement": "Warn"},
    {"name": "front", "podSelector": selecting(term("app", "NotIn", "api"), tier="front")["labelSelector"]},
    {"name": "scheduler", "schedulerName": "other", "enforcement": "Audit", "ownedObjects": "Deny"},
    {"name": "mild", "podSelector": {"matchLabels": {"tier": "mild"}}, "rules": dict.fromkeys(RULES, "warning")},
]


def enforced(*rules: str) -> dict:
    """The fields of a policy that enforces these rules, with overrides, and has no others."""
    settings = {rule: RULES[rule] | {"enforced": True} for rule in rules}
    return {"rules": IGNORED | settings, "overrides": OVERRIDES[:3]}


FIELDS = {
    "errors": {"rules": RULES, "overrides": OVERRIDES},
    "owned objects, too": {"rules": RULES, "overrides": OVERRIDES, "ownedObjects": "Deny"},
    "enforced": enforced(*RULES) | {"overrides": OVERRIDES},
    "selector-misses-own-pod": enforced("selector-misses-own-pod"),
}


class Answer(NamedTuple):
    """What the API server answers."""

    status: int
    message: str

    @property
    def said(self) -> str:
        return self.message.partition("denied request: ")[2]


class Judging:
    """A control plane, without and with the policies that `evenkeel manifests` prints."""

    def __init__(self, plane, folder):
        self.plane, self.file = plane, folder / "policy.json"
        self.number = 0
        self.features = features(programs.version().minor)

    def install(self, **fields: object) -> None:
        """Put the policies of a policy of these fields in place of what is there, and wait until they deny."""
        self.remove()
        self.file.write_text(json.dumps({**policy_head(), **fields}), "utf-8")
        version = f"1.{programs.version().minor}"
        printed = yaml.safe_load_all(manifests(self.file, "--engine", "policy", "--kubernetes-version", version))
        self.number += 1
        for manifest in printed:
            bindings = manifest["kind"].endswith("Binding")
            if not bindings:  # It denies the canary, so that it is known when these policies are in force.
                said = f"policy {self.number} is in force"
                wrong = {"expression": "object.metadata.name != 'canary'", "message": said}
                manifest["spec"]["validations"].insert(0, wrong)
                manifest["spec"]["matchConditions"] = [
                    {**each, "expression": f"object.metadata.name == 'canary' || ({each['expression']})"}
                    for each in manifest["spec"]["matchConditions"]
                ]
            self.plane.api.call("POST", f"{POLICIES}{'ybindings' if bindings else 'ies'}", manifest)
        until(self._denies, "the policies to be in force")

    def _denies(self) -> bool:
        made = deployment(many(1))
        made["metadata"]["name"] = "canary"
        return f"policy {self.number} is in force" in self.create(made, "default").message

    def remove(self) -> None:
        for resource in ("ybindings", "ies"):
            for made in self.plane.api.call("GET", f"{POLICIES}{resource}")["items"]:
                self.plane.api.call("DELETE", f"{POLICIES}{resource}/{made['metadata']['name']}")

    def create(self, made: dict, namespace: str, dry: bool = True) -> Answer:
        return self._asked("POST", path(made, namespace), made, namespace, dry)

    def update(self, made: dict, namespace: str) -> Answer:
        return self._asked("PUT", f"{path(made, namespace)}/{made['metadata']['name']}", made, namespace)

    def _asked(self, method: str, where: str, made: dict, namespace: str, dry: bool = True) -> Answer:
        made = {**made, "metadata": {**made["metadata"], "namespace": namespace}}
        try:
            self.plane.api.call(method, f"{where}{'?dryRun=All' if dry else ''}", made)
        except ApiError as error:
            return Answer(error.status, error.message)
        return Answer(*ALLOWED)

    def terms(self, **fields: object) -> Terms:
        """What the webhook would judge by, in a namespace without labels but that of the team."""
        return Terms(policy(**fields), None, self.features, {"": {}, TEAM: {"team": "a"}})


def policy_head() -> dict:
    return {"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy"}


def path(made: dict, namespace: str) -> str:
    return (PODS if made["kind"] == "Pod" else DEPLOYMENTS).format(namespace)


def denied(terms: Terms, made: dict, old: dict | None, namespace: str) -> bool:
    """Whether the webhook would deny the object."""
    made, old = (each and {**each, "metadata": {**each["metadata"], "namespace": namespace}} for each in (made, old))
    return answer_to(made, old, "", terms).denied_by is not None


@pytest.fixture(scope="module")
def judging(plane, tmp_path_factory) -> Iterator[Judging]:
    plane.create_namespace(TEAM, team="a")
    plane.scheduler.stop()
    judging = Judging(plane, tmp_path_factory.mktemp("policies"))
    yield judging
    judging.remove()


@pytest.fixture(scope="module")
def admitted(judging) -> Mapping[str, dict]:
    """The large objects, all of which the API server accepts without policies."""
    judging.remove()
    time.sleep(1)
    answers = {name: judging.create(made, "default") for name, made in large().items()}
    assert dict.fromkeys(answers, ALLOWED) == answers
    return large()


def large() -> Mapping[str, dict]:
    return {**deployments(), **bound_pods()}


# The others give the same rules' expressions other terms, and take as long again.
@pytest.mark.parametrize("which", ["errors", *(pytest.param(which, marks=pytest.mark.slow) for which in [*FIELDS][1:])])
def test_a_large_object_gets_the_verdict_of_the_webhook(judging, admitted, which):
    judging.install(**FIELDS[which])
    terms, wrong = judging.terms(**FIELDS[which]), {}
    for name, made in admitted.items():
        for namespace in ("default", TEAM):
            if name == MANY_OWNERS and which in ("errors", "owned objects, too"):
                continue
            answer = judging.create(made, namespace)
            own = MESSAGE.fullmatch(answer.said)
            if not (own if denied(terms, made, None, namespace) else answer == ALLOWED):
                wrong[name, namespace] = answer

    assert {} == wrong


def test_an_object_that_was_at_the_limits_before_is_judged_as_an_update(judging):
    judging.remove()
    time.sleep(1)
    labels = {"app": "web", **{f"label-{i}": "v" for i in range(20_000)}}
    old = {
        "constraints": deployment(many(100, maxSkew=9, **selecting(app="other"))),
        "values": deployment([constraint(**selecting(term("app", "In", *(f"v{i}" for i in range(680)))))]),
        "more": deployment(many(200)),
        "labels": deployment(many(100), labels=labels),
    }
    for name, made in old.items():
        made["metadata"]["name"] = name
        assert ALLOWED == judging.create(made, "default", dry=False)[:2]

    wrong = {}
    for which in ("errors", "enforced"):
        judging.install(**FIELDS[which])
        terms = judging.terms(**FIELDS[which])
        for name, made in old.items():
            for change, new in changes(made).items():
                answer = judging.update(new, "default")
                allowed = answer.status in (200, 201)
                own = denied(terms, new, made, "default") and MESSAGE.fullmatch(answer.said)
                if not (allowed or own):
                    wrong[which, name, change] = answer

    assert {} == wrong


def changes(old: dict) -> Mapping[str, dict]:
    """What may become of a Deployment: the same again, with another label, and with other constraints."""
    listed = old["spec"]["template"]["spec"]["topologySpreadConstraints"]
    return {
        "none": old,
        "annotated": {**old, "metadata": {**old["metadata"], "annotations": {"a": "b"}}},
        "one less": with_constraints(old, listed[1:]),
        "one more": with_constraints(old, [*listed, constraint(topologyKey="example.com/another", maxSkew=99)]),
        "worse": with_constraints(old, [{**each, "maxSkew": 99} for each in listed]),
    }


def with_constraints(old: dict, listed: list[dict]) -> dict:
    new = json.loads(json.dumps(old))
    new["spec"]["template"]["spec"]["topologySpreadConstraints"] = listed
    return new
