"""PodTopologySpreadArgs are judged alike wherever they stand; a scheduler's own configuration makes a policy."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from tests.support.build import HOSTNAME, ZONE, constraint, pod
from tests.support.scheduler_plugins import plugins
from webhook.kubernetes.features import LATEST, features
from webhook.kubernetes.workload import parse_workloads as parse_workload
from webhook.policy.defaults import Defaulting
from webhook.policy.parsing import parse_policy
from webhook.policy.policy import PolicyError
from webhook.policy.scheduler_configuration import unserved

GROUP = "kubescheduler.config.k8s.io"


def configuration(*profiles, version="v1", **fields):
    """The text of a KubeSchedulerConfiguration; JSON is YAML, too."""
    profiles = {"profiles": list(profiles)} if profiles else {}
    return json.dumps({"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", **profiles, **fields})


def policy(**fields):
    return json.dumps({"apiVersion": "config.evenkeel.dev/v1alpha1", "kind": "SpreadPolicy", **fields})


def profile(args=None, name="default-scheduler", **fields):
    others = ({"name": name, "args": {"addedAffinity": {}}} for name in ("NodeAffinity", "Another"))
    config = [next(others), {"name": "PodTopologySpread", "args": args}, next(others)]
    return {"schedulerName": name, **({"pluginConfig": config} if args is not None else {}), **fields}


def default(**fields):
    return constraint(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway", labelSelector=None) | fields


def listed(*constraints):
    return {"defaultingType": "List", "defaultConstraints": list(constraints)}


HARD, SOFT = default(topologyKey=ZONE, whenUnsatisfiable="DoNotSchedule"), default()


def causes(text):
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    return caught.value.causes


class Args(NamedTuple):
    """`cause` is the line after the path of the args; one that ends in … is how the line begins."""

    name: str
    args: object
    cause: str


ONE = ".defaultConstraints[0]"
REPEATED = f'found "{{{HOSTNAME}, ScheduleAnyway}}", must not repeat (topologyKey, whenUnsatisfiable)'
REFUSED = [
    Args("a type that there is not", {"defaultingType": "list"}, '.defaultingType: found "list", supported values: …'),
    Args(
        "a list beside System", listed(SOFT) | {"defaultingType": "System"}, '.defaultingType: found "System", must …'
    ),
    Args("a list beside no type", {"defaultConstraints": [SOFT]}, ": absent defaultingType means System; write …"),
    Args("a misspelt field", {"defaultingTyp": "List"}, ".defaultingTyp: unknown field; did you mean defaultingType?"),
    Args("no args", [1], ": found an array, wanted an object"),
    Args("no list", {"defaultConstraints": {}}, ".defaultConstraints: found {}, wanted an array"),
    Args("no constraint", listed(1), f"{ONE}: found 1, wanted an object"),
    Args("maxSkew 0", listed(default(maxSkew=0)), f"{ONE}.maxSkew: found 0, must be greater than zero"),
    Args("maxSkew in quotes", listed(default(maxSkew="1")), f'{ONE}.maxSkew: found "1", wanted an integer'),
    Args("a very large maxSkew", listed(default(maxSkew=2**31)), f"{ONE}.maxSkew: found 2147483648, must be a 32-bit…"),
    Args("no maxSkew", listed(constraint(maxSkew=None, labelSelector=None)), f"{ONE}.maxSkew: found null, must be …"),
    Args("no key", listed(default(topologyKey="")), f'{ONE}.topologyKey: found "", can not be empty'),
    Args("a malformed key", listed(default(topologyKey="a b")), f'{ONE}.topologyKey: found "a b", name part must …'),
    Args("no action", listed(default(whenUnsatisfiable="")), f'{ONE}.whenUnsatisfiable: found "", can not be empty'),
    Args("an action that there is not", listed(default(whenUnsatisfiable="a")), f"{ONE}.whenUnsatisfiable: found …"),
    Args("a selector", listed(default(labelSelector={})), f"{ONE}.labelSelector: found {{}}, must not be given: …"),
    Args("a repeated pair", listed(SOFT, SOFT), f".defaultConstraints[1]: {REPEATED}"),
    Args("an unknown field", listed(default(foo=1)), f"{ONE}.foo: unknown field; known are maxSkew, …"),
    # These kube-scheduler takes, and every Pod that got them would be invalid.
    Args("minDomains with ScheduleAnyway", listed(default(minDomains=2)), f"{ONE}.minDomains: found 2, can only use …"),
    Args("minDomains 0", listed(HARD | {"minDomains": 0}), f"{ONE}.minDomains: found 0, must be greater than zero"),
    Args(
        "an affinity policy", listed(default(nodeAffinityPolicy="Bogus")), f'{ONE}.nodeAffinityPolicy: found "Bogus"…'
    ),
    Args("a taints policy", listed(default(nodeTaintsPolicy="honor")), f'{ONE}.nodeTaintsPolicy: found "honor", …'),
    Args("a malformed label key", listed(default(matchLabelKeys=["a b"])), f'{ONE}.matchLabelKeys[0]: found "a b", …'),
    Args("a repeated label key", listed(default(matchLabelKeys=["a", "a"])), f"{ONE}.matchLabelKeys…"),
]
PLACES = {
    "defaulting": lambda args: policy(defaulting=args),
    "overrides[0].defaulting": lambda args: policy(overrides=[{"name": "a", "schedulerName": "b", "defaulting": args}]),
    "profiles[1].pluginConfig[1].args": lambda args: configuration(profile(), profile(args, "gpu")),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_args_are_refused_with_their_path_in_the_users_own_file(case, place):
    (cause,) = causes(PLACES[place](case.args))

    assert cause.startswith(place + case.cause[:-1]) if case.cause[-1] == "…" else place + case.cause == cause


@pytest.mark.parametrize("place", PLACES)
def test_every_cause_is_named(place):
    wrong = default(maxSkew=0, topologyKey="", whenUnsatisfiable="", labelSelector={})
    paths = [cause.removeprefix(f"{place}{ONE}.").partition(":")[0] for cause in causes(PLACES[place](listed(wrong)))]

    assert ["maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector"] == paths


NOTED = [
    Args("soft and on hostname", listed(SOFT), ""),
    Args("none", listed(), ""),
    Args("System", {"defaultingType": "System"}, ""),
    Args("hostname is missing", listed(default(topologyKey=ZONE)), ": no constraint on kubernetes.io/hostname: any …"),
    Args("hard", listed(SOFT, HARD), ".defaultConstraints[1].whenUnsatisfiable: DoNotSchedule can leave Pods …"),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", NOTED, ids=lambda case: case.name)
def test_what_may_surprise_is_noted(case, place):
    notes = parse_policy(PLACES[place](case.args)).notes

    assert bool(case.cause) == len(notes)
    assert "".join(notes).startswith(f"{place}{case.cause.rstrip('…')}" if case.cause else "")


def test_a_whole_number_with_a_point_is_a_whole_number():
    """YAML tools turn 1.0 into 1 on the way to kube-scheduler."""
    assert parse_policy(policy(defaulting=listed(default(maxSkew=1.0))))


def given(text, scheduler="default-scheduler"):
    """What the Pods of a scheduler are given."""
    return parse_policy(text).in_force(*parse_workload(pod(spec={"schedulerName": scheduler})), {}).defaulting


NOTHING, SYSTEM = Defaulting("List"), Defaulting("System")
BOTH = Defaulting("List", (HARD, SOFT))


class Plugins(NamedTuple):
    name: str
    plugins: dict
    given: Defaulting
    given_by_system: Defaulting


OFF = "-PodTopologySpread"
DISABLED = [
    Plugins("nothing", {}, BOTH, SYSTEM),
    Plugins("another plugin", plugins(multiPoint="-NodeName"), BOTH, SYSTEM),
    Plugins("the plugin", plugins(multiPoint=OFF), NOTHING, NOTHING),
    Plugins("every plugin", plugins(multiPoint="-*"), NOTHING, NOTHING),
    Plugins("every plugin but this", plugins(multiPoint="-*+PodTopologySpread"), BOTH, SYSTEM),
    Plugins("in Filter", plugins(filter=OFF), Defaulting("List", (SOFT,)), SYSTEM),
    Plugins("in Score", plugins(score=OFF), Defaulting("List", (HARD,)), NOTHING),
    Plugins("in Filter and Score", plugins(filter="-*", score="-*"), NOTHING, NOTHING),
    Plugins(
        "everywhere but in Score",
        plugins(multiPoint=OFF, score="+PodTopologySpread"),
        Defaulting("List", (SOFT,)),
        SYSTEM,
    ),
    Plugins("in Filter, and enabled again", plugins(filter="-*+PodTopologySpread"), BOTH, SYSTEM),
    Plugins(
        "in Filter, though enabled everywhere",
        plugins(multiPoint="+PodTopologySpread", filter="-*"),
        Defaulting("List", (SOFT,)),
        SYSTEM,
    ),
]


@pytest.mark.parametrize("case", DISABLED, ids=lambda case: case.name)
def test_what_the_plugin_does_not_do_there_is_no_default_for(case):
    assert case.given == given(configuration(profile(listed(HARD, SOFT), plugins=case.plugins)))
    assert case.given_by_system == given(configuration(profile(plugins=case.plugins)))


def test_each_profile_is_for_the_pods_of_its_scheduler():
    text = configuration(profile(listed(SOFT)), profile({"defaultingType": "System"}, "gpu"), profile(name="batch"))

    assert Defaulting("List", (SOFT,)) == given(text)
    assert [SYSTEM, SYSTEM, NOTHING] == [given(text, name) for name in ("gpu", "batch", "another")]


@pytest.mark.parametrize("profiles", [[], [{}], [{"schedulerName": None}], [profile({})]], ids=json.dumps)
def test_a_profile_without_name_is_the_default_scheduler_and_without_args_system(profiles):
    assert [SYSTEM, NOTHING] == [given(configuration(*profiles), name) for name in ("default-scheduler", "another")]


def test_args_may_say_what_they_are():
    typed = {"apiVersion": f"{GROUP}/v1", "kind": "PodTopologySpreadArgs"}

    assert Defaulting("List", (SOFT,)) == given(configuration(profile(typed | listed(SOFT))))


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3"])
def test_an_old_version_is_read_with_a_note(version):
    """The webhook starts with it, also after an upgrade of the cluster."""
    (note,) = parse_policy(configuration(profile(listed(SOFT)), version=version)).notes

    assert unserved(f"{GROUP}/{version}", LATEST) == note
    assert () == parse_policy(configuration(profile(listed(SOFT)))).notes
    assert () == parse_policy(configuration(profile(listed(SOFT)), version="v1beta3"), features(28)).notes


CONFIGURATIONS = [
    Args("a version that there is not", configuration(version="v2"), f'apiVersion: found "{GROUP}/v2", wanted …'),
    Args("profiles that are no list", configuration(profiles={}), "profiles: found {}, wanted an array"),
    Args("a profile that is no object", configuration(1), "profiles[0]: found 1, wanted an object"),
    Args("a name that is a number", configuration(profile(name=1)), "profiles[0].schedulerName: found 1, wanted …"),
    Args(
        "a misspelt field",
        configuration(profils=[]),
        "profils: unknown field; did you mean profiles?",
    ),
    Args("plugins that are no object", configuration(profile() | {"plugins": []}), "profiles[0].plugins: found [], …"),
    Args("a name twice", configuration(profile(), profile()), "profiles[1].schedulerName: found …"),
]


@pytest.mark.parametrize("case", CONFIGURATIONS, ids=lambda case: case.name)
def test_a_configuration_is_refused_with_the_path_in_it(case):
    (cause,) = causes(case.args)

    assert cause.startswith(case.cause[:-1]) if case.cause[-1] == "…" else case.cause == cause
