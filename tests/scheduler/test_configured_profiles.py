"""The profiles of a KubeSchedulerConfiguration; what kube-scheduler makes of them is recorded (mode configured)."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.scheduler.configured_profiles import parse_profiles
from evenkeel.scheduler.profile import BALANCED_ALLOCATION, FILTERS, USUAL_PROFILE, WEIGHTS
from evenkeel.scheduler.profile import NODE_RESOURCES_FIT as FIT
from evenkeel.scheduler.resource_fit import USUAL_SCORING, ScoringStrategy
from tests.policy.test_translation import HARD, SOFT, configuration, listed, profile
from tests.support.scheduler_plugins import CASES, plugins
from webhook.kubernetes.features import LATEST
from webhook.spread.constraint import parse_constraints


def args(plugin, /, **fields):
    return {"pluginConfig": [{"name": plugin, "args": fields}]}


def only(text):
    found, causes = parse_profiles(text)
    assert () == causes
    (one,) = found.values()
    return one


@pytest.mark.parametrize("profiles", [[], [{}], [{"plugins": None}], [profile()]], ids=json.dumps)
def test_a_profile_that_says_nothing_is_the_default_one(profiles):
    assert USUAL_PROFILE == only(configuration(*profiles))


def test_profiles_are_known_by_their_names():
    found, _ = parse_profiles(configuration(profile(listed(HARD)), profile(name="batch")))

    assert ["default-scheduler", "batch"] == list(found)
    assert ((HARD,), None) == tuple(one.defaults for one in found.values())


def test_plugins_run_where_they_are_enabled_in_the_order_that_is_given():
    given = plugins(multiPoint="-NodeName", filter="-TaintToleration+PodTopologySpread", score="-*+NodeAffinity")
    found = only(configuration(profile(plugins=given)))

    first, others = "PodTopologySpread", [*FILTERS]
    for left_out in (first, "NodeName", "TaintToleration"):
        others.remove(left_out)
    assert (first, *others) == found.filters
    assert {"NodeAffinity": 1} == found.weights
    assert {*FILTERS} - {"NodeName"} <= found.pre_filters
    assert "NodeName" not in found.pre_filters


def test_a_weight_at_score_is_before_one_everywhere():
    weighted = {
        "multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 7}, {"name": "PodTopologySpread", "weight": 8}]},
        "score": {"enabled": [{"name": "NodeAffinity", "weight": 9}]},
    }

    assert {**WEIGHTS, "NodeAffinity": 9, "PodTopologySpread": 8} == only(
        configuration(profile(plugins=weighted))
    ).weights


@pytest.mark.parametrize(
    ("off", "heeded"),
    [({}, "hs"), (plugins(filter="-*"), "s"), (plugins(score="-*"), "h"), (plugins(filter="-*", score="-*"), "")],
)
def test_constraints_have_their_effect_where_the_plugin_runs(off, heeded):
    hard, soft = parse_constraints([HARD, SOFT], {}, LATEST)
    found = only(configuration(profile(plugins=off)))

    assert ("h" in heeded, "s" in heeded) == (found.heeds(hard), found.heeds(soft))


def test_arguments():
    shape = {"shape": [{"utilization": 0}, {"utilization": 100, "score": 10}]}
    strategy = {"type": "RequestedToCapacityRatio", "resources": [{"name": "cpu", "weight": 3}, {"name": "a.b/c"}]}
    fit = {
        "ignoredResources": ["a.b/c"],
        "ignoredResourceGroups": ["d.e"],
        "scoringStrategy": {**strategy, "requestedToCapacityRatio": shape},
    }
    found = only(configuration(profile(**args("NodeResourcesFit", **fit))))

    assert ({"a.b/c"}, {"d.e"}) == (found.ignored, found.ignored_groups)
    assert ScoringStrategy(strategy["type"], (("cpu", 3), ("a.b/c", 1)), ((0, 0), (100, 100))) == found.strategy
    assert USUAL_SCORING == only(configuration(profile(**args("NodeResourcesFit", scoringStrategy={})))).strategy
    candidates = args("DefaultPreemption", minCandidateNodesPercentage=20, minCandidateNodesAbsolute=5)
    preempting = only(configuration(profile(**candidates)))
    assert (20, 5) == (preempting.preemption_percentage, preempting.preemption_candidates)
    balanced = args("NodeResourcesBalancedAllocation", resources=[{"name": "memory"}, {"name": "a.b/c"}])
    assert ("memory", "a.b/c") == only(configuration(profile(**balanced))).balanced


class Refused(NamedTuple):
    name: str
    text: str
    cause: str


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 101)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("name", "weight", "type", "resources", "enabled", "filter", "score", "key")), inner
        )
    ),
    max_leaves=8,
)
AT = "profiles[0].pluginConfig[0].args"
REFUSED = [
    Refused("no YAML", "{", "line 1, column 2: "),
    Refused("nothing", "", "is no configuration of kube-scheduler: found nothing, wanted one KubeS"),
    Refused("two documents", "kind: a\n---\nkind: b\n", "is no configuration of kube-scheduler: found a, b, wanted "),
    Refused("a policy", "kind: SpreadPolicy", "is no configuration of kube-scheduler: found SpreadPolicy, "),
    Refused("another version", configuration(version="v2"), "apiVersion: found "),
    Refused("two of a name", configuration(profile(), profile()), "profiles[1].schedulerName: found "),
    Refused(
        "defaults",
        configuration(profile(listed({**HARD, "maxSkew": 0}))),
        "profiles[0].pluginConfig[1].args.defaultConstraints[0].maxSkew: ",
    ),
    Refused(
        "a misspelt argument",
        configuration(profile(**args("NodeResourcesFit", ignoredResource=[]))),
        f"{AT}.ignoredResource: unknown field; did you mean ignoredResources?",
    ),
    Refused(
        "no shape",
        configuration(profile(**args("NodeResourcesFit", scoringStrategy={"type": "RequestedToCapacityRatio"}))),
        f"{AT}.scoringStrategy.requestedToCapacityRatio: found none, wanted it with type RequestedToCapacityRatio, ",
    ),
    Refused(
        "a shape that falls back",
        configuration(
            profile(
                **args(
                    "NodeResourcesFit",
                    scoringStrategy={
                        "type": "RequestedToCapacityRatio",
                        "requestedToCapacityRatio": {"shape": [{"utilization": 50}, {"utilization": 50}]},
                    },
                )
            )
        ),
        f"{AT}.scoringStrategy.requestedToCapacityRatio.shape: found utilizations 50, 50, wanted them in rising order",
    ),
    Refused(
        "an affinity that cannot be read",
        configuration(
            profile(**args("NodeAffinity", addedAffinity={"requiredDuringSchedulingIgnoredDuringExecution": [1]}))
        ),
        f"{AT}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: ",
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_cannot_be_used_is_told_with_its_path(case):
    found, causes = parse_profiles(case.text)

    assert ({}, 1) == (found, len(causes))
    assert causes[0].startswith(case.cause)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_plugins_with_which_kube_scheduler_does_not_start_are_refused(case):
    """In e2e kube-scheduler is asked."""
    found, causes = parse_profiles(configuration(*case.profiles))

    assert list(case.refused) == [cause.partition(": ")[0] for cause in causes]
    assert causes or len(found) == len(case.profiles)


def test_of_plugins_that_are_not_known_nothing_is_refused():
    """They are those of whoever built this kube-scheduler."""
    own = plugins(multiPoint="-*+Sorting+Binding", score="+NodeName2", filter="+Sorting")
    found, causes = parse_profiles(configuration(profile(plugins=own)))

    assert ((), ["default-scheduler"]) == (causes, list(found))
    _, (two,) = parse_profiles(configuration(profile(plugins=plugins(queueSort="+Sorting"))))
    assert two.startswith(
        'profiles[0].plugins.queueSort: found "PrioritySort" and "Sorting", wanted one plugin; disable'
    )
    again = configuration(profile(plugins=plugins(multiPoint="+Sorting+Sorting")))
    assert ["profiles[0].plugins.multiPoint.enabled[1]"] == [one.partition(":")[0] for one in parse_profiles(again)[1]]


@given(JSON)
@pytest.mark.slow
def test_whatever_is_given_there_are_profiles_or_causes(value):
    for text in (
        configuration(value),
        configuration(profile(plugins=value)),
        configuration({"pluginConfig": value}),
        *(configuration(profile(**args(plugin, **{field: value}))) for plugin, field in FIELDS),
    ):
        found, causes = parse_profiles(text)
        assert bool(found) != bool(causes)


FIELDS = [
    ("NodeAffinity", "addedAffinity"),
    ("NodeResourcesFit", "scoringStrategy"),
    ("NodeResourcesFit", "ignoredResources"),
    ("NodeResourcesBalancedAllocation", "resources"),
    ("PodTopologySpread", "defaultConstraints"),
]


@pytest.mark.parametrize(
    ("wanted", "named"),
    [
        (plugins(multiPoint="-*+PrioritySort+DefaultBinder+NodeResourcesFit"), ()),
        (plugins(filter="+VolumeBinding"), ()),
        (plugins(permit="+Coscheduling"), ("the plugin Coscheduling",)),
        (plugins(multiPoint="+Mine", score="+Mine+Yours"), ("the plugin Mine", "the plugin Yours")),
    ],
)
def test_plugins_that_are_not_known_are_named_wherever_they_run(wanted, named):
    assert named == only(configuration(profile(plugins=wanted))).unmodelled


def test_extenders_are_named():
    raw = json.loads(configuration(profile()))

    assert ("extenders",) == only(json.dumps({**raw, "extenders": [{"urlPrefix": "http://a"}]})).unmodelled


def test_arguments_of_pod_affinity():
    given = args("InterPodAffinity", hardPodAffinityWeight=7, ignorePreferredTermsOfExistingPods=True)
    found = only(configuration(profile(**given)))

    assert (7, True) == (found.hard_pod_affinity_weight, found.ignores_preferences_of_others)
    assert 1 == only(configuration(profile())).hard_pod_affinity_weight


def test_openshifts_profiles_score_by_room_alone_or_not_at_all():
    """cluster-kube-scheduler-operator, bindata/assets/config."""
    weights = {"disabled": [{"name": "NodeResourcesBalancedAllocation"}], "enabled": [{"name": FIT, "weight": 5}]}
    most = args(FIT, scoringStrategy={"type": "MostAllocated"})
    high = only(configuration({**most, "plugins": {"score": weights}}))
    none = only(configuration(profile(plugins=plugins(preScore="-*", score="-*"))))

    assert ("MostAllocated", 5, False) == (high.strategy.type, high.weights[FIT], BALANCED_ALLOCATION in high.weights)
    soft, hard = parse_constraints([SOFT, HARD], {}, LATEST)
    assert ({}, False, True) == (none.weights, none.heeds(soft), none.heeds(hard))
