"""Affinity and anti-affinity between Pods: what refuses a node, and what makes it better."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.scheduler.framework import Framework, feasible_nodes
from evenkeel.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from evenkeel.scheduler.pod_counts import PodInfo
from tests.support.attempts import cycle, node, refusals, scores
from tests.support.placement import bound

REQUIRED, PREFERRED = (f"{when}DuringSchedulingIgnoredDuringExecution" for when in ("required", "preferred"))
AFFINITY = ("InterPodAffinity", "node(s) didn't match pod affinity rules")
ANTI_AFFINITY = ("InterPodAffinity", "node(s) didn't match pod anti-affinity rules")
OF_OTHERS = ("InterPodAffinity", "node(s) didn't satisfy existing pods anti-affinity rules")
HOST = "kubernetes.io/hostname"
DB, WEB = {"app": "db"}, {"app": "web"}
NODES = (node("a1"), node("a2"), node("b1", "b"))


def term(labels=DB, key="zone", **fields):
    return {"topologyKey": key, "labelSelector": None if labels is None else {"matchLabels": labels}, **fields}


def near(*terms, preferred=()):
    return {"podAffinity": {REQUIRED: list(terms), PREFERRED: list(preferred)}}


def apart(*terms, preferred=()):
    return {"podAntiAffinity": {REQUIRED: list(terms), PREFERRED: list(preferred)}}


def weighing(weight, **fields):
    return {"weight": weight, "podAffinityTerm": term(**fields)}


def there(on, labels=DB, affinity=None, namespace="shop", **metadata):
    raw = bound(on, labels=labels)
    return {
        **raw,
        "metadata": {**raw["metadata"], "namespace": namespace, **metadata},
        "spec": {**raw["spec"], "affinity": affinity},
    }


def namespace(name, **labels):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def test_a_pod_goes_where_the_pods_are_that_it_wants_nearby():
    assert {"b1": AFFINITY} == refusals(cycle(*NODES, there("a1"), affinity=near(term())))
    assert dict.fromkeys(("a1", "a2", "b1"), AFFINITY) == refusals(cycle(*NODES, affinity=near(term())))


def test_one_pod_must_be_wanted_by_all_terms():
    asked = near(term(), term({"tier": "back"}))

    assert 3 == len(refusals(cycle(*NODES, there("a1"), there("a1", {"tier": "back"}), affinity=asked)))
    assert {"b1": AFFINITY} == refusals(cycle(*NODES, there("a1", {**DB, "tier": "back"}), affinity=asked))
    elsewhere = near(term(), term(namespaces=["pay"]))  # at which only one of them looks
    assert 3 == len(refusals(cycle(*NODES, there("a1"), there("a1", namespace="pay"), affinity=elsewhere)))
    of_two_keys = near(term(), term(key=HOST))
    assert {"a2": AFFINITY, "b1": AFFINITY} == refusals(cycle(*NODES, there("a1"), affinity=of_two_keys))
    for_itself = near(term(WEB), term({"tier": "front"}))
    assert 3 == len(refusals(cycle(*NODES, affinity=for_itself)))


def test_the_first_pod_of_those_that_want_each_other_goes_anywhere_where_the_key_is():
    bare = node("bare")
    del bare["metadata"]["labels"]["zone"]

    assert {"bare": AFFINITY} == refusals(cycle(*NODES, bare, affinity=near(term(WEB))))
    assert {"b1": AFFINITY, "bare": AFFINITY} == refusals(
        cycle(*NODES, bare, there("a2", WEB), affinity=near(term(WEB)))
    )
    elsewhere = near(term(WEB, namespaces=["pay"]))  # in which the Pod itself is not
    assert 3 == len(refusals(cycle(*NODES, affinity=elsewhere)))


def test_a_pod_keeps_away_from_those_that_it_does_not_want():
    assert {"a1": ANTI_AFFINITY, "a2": ANTI_AFFINITY} == refusals(cycle(*NODES, there("a1"), affinity=apart(term())))
    by_host = apart(term(key="kubernetes.io/hostname"))
    assert {"a1": ANTI_AFFINITY} == refusals(cycle(*NODES, there("a1"), affinity=by_host))


@pytest.mark.parametrize(
    ("fields", "refused"),
    [({}, {"a1", "a2"}), ({"namespaces": ["pay"]}, {"a1"}), ({"labels": {"app": "log"}}, {"a1"})],
)
def test_each_unwanted_term_refuses_by_its_own_labels_namespaces_and_key(fields, refused):
    def off(labels):
        return apart(term(labels, HOST), term(**{"labels": labels, **fields}))

    assert refused == refusals(cycle(*NODES, there("a1"), affinity=off(DB))).keys()
    assert refused == refusals(cycle(*NODES, there("a1", affinity=off(WEB)))).keys()


def test_other_pods_keep_a_pod_off_that_has_no_terms_itself():
    """They may be in any namespace; what they prefer, or want nearby, refuses nothing."""
    off = apart(term(WEB, namespaces=["shop"]))
    pods = (there("a1", affinity=off, namespace="pay"), there("b1", affinity=near(term(WEB))))

    assert {"a1": OF_OTHERS, "a2": OF_OTHERS} == refusals(cycle(*NODES, *pods))


def test_of_two_reasons_the_first_is_given():
    of_others = there("a1", affinity=apart(term(WEB)))

    assert AFFINITY == refusals(cycle(*NODES, of_others, affinity=near(term({"app": "x"}))))["a1"]
    assert ANTI_AFFINITY == refusals(cycle(*NODES, of_others, affinity=apart(term())))["a1"]


def test_a_pod_that_is_being_deleted_still_counts():
    leaving = there("a1", deletionTimestamp="2026-01-01T00:00:00Z")

    assert {"a1", "a2"} == refusals(cycle(*NODES, leaving, affinity=apart(term()))).keys()


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({}, 0),
        ({"namespaces": ["pay"]}, 1),
        ({"namespaceSelector": {}}, 1),
        ({"namespaceSelector": {"matchLabels": {"team": "pay"}}}, 1),
        ({"namespaceSelector": {"matchLabels": {"team": "other"}}}, 0),
        ({"labels": None, "namespaceSelector": {}}, 0),
        ({"labels": {}, "namespaceSelector": {}}, 1),
    ],
)
def test_a_term_looks_at_its_namespaces(fields, refused):
    asked = cycle(
        *NODES,
        namespace("pay", team="pay"),
        there("b1", namespace="pay"),
        affinity=apart(term(**fields)),
    )

    assert refused == len(refusals(asked))


@pytest.mark.parametrize(("minor", "refused"), [(33, 0), (34, 1), (36, 1), (37, 0)])
def test_from_34_to_36_a_selector_that_no_label_need_meet_selects_all_namespaces(minor, refused):
    """kube-scheduler keeps the namespaceSelector there, and holds it against no labels."""
    unlabelled = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    asked = cycle(
        *NODES,
        namespace("pay", team="pay"),
        there("b1", namespace="pay"),
        affinity=apart(term(namespaceSelector=unlabelled)),
        minor=minor,
    )

    assert refused == len(refusals(asked))


def test_what_pods_weigh_is_a_share_of_the_largest():
    pods = (there("a1"), there("b1"), there("b1"))
    asked = cycle(*NODES, *pods, affinity=near(preferred=[weighing(10)]))
    assert {"a1": 0, "a2": 0, "b1": 100} == scores(asked)["InterPodAffinity"]

    asked = cycle(*NODES, *pods, affinity=apart(preferred=[weighing(10, key="kubernetes.io/hostname")]))
    assert {"a1": 50, "a2": 100, "b1": 0} == scores(asked)["InterPodAffinity"]


def test_what_other_pods_want_scores_a_pod_without_terms():
    """Required affinity weighs as much as the configuration says, 1 where there is none."""
    wanting = there("b1", affinity=near(term(WEB)))
    avoiding = there("a1", affinity=apart(preferred=[weighing(3, labels=WEB, key="kubernetes.io/hostname")]))
    asked = cycle(*NODES, wanting, avoiding)

    assert {"a1": 0, "a2": 75, "b1": 100} == scores(asked)["InterPodAffinity"]
    unweighed = replace(asked, profile=replace(asked.profile, hard_pod_affinity_weight=0))
    assert {"a1": 0, "a2": 100, "b1": 100} == scores(unweighed)["InterPodAffinity"]
    ignoring = replace(asked, profile=replace(asked.profile, ignores_preferences_of_others=True))
    assert "InterPodAffinity" not in scores(ignoring)


@pytest.mark.parametrize(
    "affinity",
    [
        near(term(WEB), term(WEB, HOST)),
        near(preferred=[weighing(1, labels=WEB), weighing(1, labels=WEB, key=HOST)]),
    ],
)
def test_each_term_of_another_pod_weighs(affinity):
    assert {"a1": 100, "a2": 50, "b1": 0} == scores(cycle(*NODES, there("a1", affinity=affinity)))["InterPodAffinity"]


def test_a_preference_weighs_only_what_it_selects():
    others = [weighing(90, namespaces=["pay"]), weighing(90, labels={"app": "log"})]
    asked = cycle(*NODES, there("a1"), affinity=near(preferred=[weighing(10, key=HOST), *others]))

    assert {"a1": 100, "a2": 0, "b1": 0} == scores(asked)["InterPodAffinity"]


def test_pods_that_come_weigh_in_a_copy_by_itself():
    plugin = InterPodAffinity(cycle(*NODES, affinity=near(preferred=[weighing(5)])))
    assert plugin.scores(0b111) is None
    copied = plugin.copy()
    for namespace_, on in (("shop", "b1"), ("pay", "a1")):
        copied.add_pods(PodInfo(namespace_, (("app", "db"),)), on, 1)

    assert {0b011: 0, 0b100: 100} == dict(copied.scores(0b111))
    assert plugin.scores(0b111) is None


def test_a_pod_is_heeded_whose_preference_selects_the_pod():
    (affinity,) = cycle(*NODES, there("a1", affinity=near(preferred=[weighing(5, labels=WEB)]))).snapshot.affine
    (other,) = cycle(*NODES, there("a1", affinity=near(preferred=[weighing(5)]))).snapshot.affine
    plugin = InterPodAffinity(cycle(*NODES))

    assert [True, False] == [plugin.heeds(PodInfo("shop", (), terms)) for terms in (affinity, other)]


def test_a_pod_that_nothing_weighs_has_no_score():
    assert "InterPodAffinity" not in scores(cycle(*NODES, there("a1"), there("b1", affinity=apart(term()))))


def test_pods_that_come_and_go_are_followed_and_a_copy_follows_by_itself():
    asked = cycle(*NODES, there("a1"), affinity={**near(term()), **apart(term(WEB, "kubernetes.io/hostname"))})
    framework = Framework(asked)
    assert 0b011 == framework.feasible()
    copied = framework.copy()
    copied.add_pods(PodInfo("shop", (("app", "db"),)), "b1", 1)
    copied.add_pods(PodInfo("shop", (("app", "web"),)), "a1", 1)
    assert (0b011, 0b110) == (framework.feasible(), copied.feasible())
    copied.add_pods(PodInfo("shop", (("app", "web"),)), "a1", -1)
    copied.add_pods(PodInfo("shop", (("app", "web"),), terminating=True), "a1", 1)
    assert 0b110 == copied.feasible()
    copied.add_pods(PodInfo("shop", (("app", "web"),), terminating=True), "a1", -1)
    assert 0b111 == copied.feasible()


def test_pods_that_come_with_terms_keep_the_pod_off_and_weigh():
    of_terms = cycle(*NODES, there("a1", affinity=apart(term(WEB), preferred=[weighing(5, labels=WEB)])))
    (affinity,) = of_terms.snapshot.affine
    plugin = InterPodAffinity(cycle(*NODES))
    assert (0b111, 0) == (plugin.passing(0b111), plugin.kept_off())
    plugin.add_pods(PodInfo("shop", (), affinity), "b1", 1)

    assert (0b011, 0b100) == (plugin.passing(0b111), plugin.kept_off())
    assert {0b011: 100, 0b100: 0} == dict(plugin.scores(0b111))


def test_a_pod_is_kept_off_for_as_long_as_those_pods_stay():
    asked = cycle(*NODES, there("a1"), there("b1", affinity=apart(term(WEB))), affinity=apart(term()))

    assert Framework(asked).kept_off() == 0b111
    assert not feasible_nodes(asked)
