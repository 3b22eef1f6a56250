"""Constraints as tables: each node that does not pass with its own reason, once, and colours that agree with it."""

from __future__ import annotations

from itertools import islice

import pytest

from evenkeel.explain.tables import MOST_NAMED, MOST_ROWS, causes, domain_rows, table
from evenkeel.placement.explanation import explain
from evenkeel.scheduler.profile import USUAL_PROFILE, Cycle
from evenkeel.terminal.style import Look, look_of
from tests.conformance.cases import read
from tests.conformance.defaults import in_force
from tests.conformance.placement import read_pod, read_snapshot, system_defaults
from tests.support import ROOT
from tests.support.placing import HOSTNAME, INFRA, ZONE, attempted, node, running, spread
from webhook.kubernetes.features import features

GPU = INFRA | {"value": "gpu"}
FEATURES = features(37)
RECORDED = ROOT / "tests/data/1.37/whole_profile.jsonl.gz"
SOFT = {"whenUnsatisfiable": "ScheduleAnyway"}


def rows(*objects, constraints=None, **asked):
    """The last cells of the tables: name, words and look, for each constraint."""
    explanation = explain(attempted(*objects, constraints=constraints or [spread()], **asked))
    return [
        [(row[0], str(row[-1]), look_of(row[-1])) for row in domain_rows(constraint, explanation)]
        for constraint in explanation.constraints
    ]


def test_each_node_of_a_domain_that_does_not_pass_is_named_with_its_own_reason():
    nodes = node("c1", "c", cpu="420m"), node("c2", "c", unschedulable=True), node("c3", "c", taints=[GPU])
    ((of_c,),) = rows(*nodes, cpu="1")

    why = "c1 420m cpu free of 1; c2 cordoned; c3 taint dedicated=gpu:NoSchedule"
    assert ("c", f"no node: {why}", Look.ERROR) == of_c


def test_nodes_with_one_reason_are_named_together():
    nodes = node("a1", "a", unschedulable=True), node("a2", "a", taints=[INFRA]), node("a3", "a", unschedulable=True)

    ((of_a,),) = rows(*nodes)
    assert ("a", "no node: a1, a3 cordoned; a2 taint dedicated=infra:NoSchedule", Look.ERROR) == of_a


def test_many_nodes_are_summed_up_by_reason():
    cordoned = [node(f"a{i}", "a", unschedulable=True) for i in range(MOST_NAMED)]

    ((of_a,),) = rows(*cordoned, node("full", "a", cpu="1m"))
    assert ("a", "no node: 5 cordoned; 1 too little cpu free", Look.ERROR) == of_a


def test_what_is_free_is_without_the_pods_there_and_rounded_down():
    (((_, words, _),),) = rows(node("a1", "a"), running("a1", cpu="7500m"), cpu="1")

    assert "no node: a1 500m cpu free of 1" == words


@pytest.mark.parametrize(
    ("constraint", "words", "look"),
    [
        (spread(), "1 of 2 nodes passes; a2 cordoned", Look.WARNING),
        (spread(**SOFT), "score 100; a2 cordoned", Look.WARNING),
    ],
)
def test_a_domain_of_which_some_nodes_pass(constraint, words, look):
    (of_a, of_b), *_ = rows(
        node("a1", "a"), node("a2", "a", unschedulable=True), node("b1", "b"), constraints=[constraint]
    )

    assert ("a", words, look) == of_a
    assert Look.GOOD == of_b[2] or of_b[1].startswith("score")


@pytest.mark.parametrize("soft", [{}, SOFT])
@pytest.mark.parametrize("key", [ZONE, HOSTNAME])
def test_a_row_that_ends_in_no_node_is_red_and_passes_never_is(key, soft):
    nodes = [
        node("a1", "a"),
        node("b1", "b", unschedulable=True),
        node("c1", "c", cpu="1m"),
        node("d1", "d", taints=[INFRA]),
        node("e1", "e"),
    ]
    on_e = [running("e1"), running("e1")]
    ((*shown,),) = rows(*nodes, *on_e, constraints=[spread(key, **soft)])

    by_look = {look: [words for _, words, each in shown if each == look] for look in (Look.ERROR, Look.GOOD, "")}
    assert len(by_look[Look.ERROR]) == (3 if soft else 4)
    assert not [words for words in by_look[Look.ERROR] if "pass" in words]
    assert [] == [words for words in by_look[Look.GOOD] if words != "passes"]


def test_a_node_that_another_constraint_refuses_has_that_as_its_reason():
    nodes = [node("a1", "a"), node("a2", "a"), node("b1", "b")]
    of_zones, of_nodes = rows(
        *nodes, running("a1"), running("a2"), running("b1"), constraints=[spread(), spread(HOSTNAME, maxSkew=1)]
    )

    assert [("a", "refused", Look.ERROR), ("b", "passes", Look.GOOD)] == of_zones
    assert ["refused by constraint 0", "refused by constraint 0", "passes"] == [words for _, words, _ in of_nodes]


@pytest.mark.parametrize("soft", [{}, SOFT])
def test_the_reason_of_a_node_is_said_once(soft):
    nodes = [node("a1", "a", unschedulable=True), node("b1", "b", taints=[INFRA]), node("b2", "b")]
    of_nodes, of_zones = rows(*nodes, constraints=[spread(HOSTNAME, **soft), spread(**soft)])

    assert ["cordoned", "taint dedicated=infra:NoSchedule", "passes"] == [words for _, words, _ in of_nodes]
    assert ["no node, as above", "1 of 2 nodes passes"] == [words for _, words, _ in of_zones]


def test_a_node_that_the_table_above_refuses_still_has_its_reason():
    """It is cordoned, too, but the first table says only that the constraint refuses it."""
    nodes = [node("a1", "a", unschedulable=True), node("b1", "b")]
    _, of_zones = rows(*nodes, running("a1"), constraints=[spread(HOSTNAME), spread(maxSkew=2)])

    assert "no node: a1 cordoned" == of_zones[0][1]


def test_a_table_of_many_domains_names_no_node_for_the_next():
    nodes = [node(f"n{i:02}", "a", unschedulable=i == 0) for i in range(MOST_ROWS + 1)]
    _, ((_, words, _),) = rows(*nodes, constraints=[spread(HOSTNAME), spread()])

    assert "12 of 13 nodes pass; n00 cordoned" == words


@pytest.mark.parametrize(("number", "more"), [(MOST_ROWS, []), (MOST_ROWS + 1, ["1 more reason"])])
def test_of_many_reasons_the_others_are_a_number(number, more):
    tainted = [node(f"n{i:02}", taints=[INFRA | {"value": f"v{i}"}]) for i in range(number)]
    (*first, last) = causes(explain(attempted(*tainted)))

    assert MOST_ROWS + len(more) == len(first) + 1
    assert [last] == (more or [last])
    assert {f"1 of {number} nodes"} == {cause.partition(":")[0] for cause in first}


def test_many_domains_that_are_alike_have_the_reasons_of_all_their_nodes():
    racks = [node(f"n{i:02}", labels={"rack": f"r{i}"}, unschedulable=i > 0) for i in range(MOST_ROWS + 1)]
    ((*shown,),) = rows(*racks, constraints=[spread("rack")])

    assert {("r0", "passes"), ("r1, r10 and 10 more", "no node: 12 cordoned")} == {
        (name, words) for name, words, _ in shown
    }
    ((*shown,),) = rows(*racks, constraints=[spread(HOSTNAME)])
    assert [("n00", "passes"), ("n01, n02 and 10 more", "cordoned")] == [(name, words) for name, words, _ in shown]


def test_nodes_that_lack_different_amounts_share_a_row_where_domains_are_many():
    nodes = [node(f"n{i:02}", cpu=f"{i}m") for i in range(MOST_ROWS + 1)]
    ((*shown,),) = rows(*nodes, constraints=[spread(HOSTNAME)])

    assert [("n00, n01 and 11 more", "too little cpu free", Look.ERROR)] == shown


def test_nodes_alike_that_no_pod_enters_are_one_line():
    nodes = [node(f"n{i}", unschedulable=True) for i in range(6)]
    explanation = explain(attempted(*nodes, constraints=[spread(HOSTNAME)]))

    assert "  6 nodes, no Pods: each cordoned" in [*table(explanation.constraints[0], explanation)]


def test_in_random_clusters_each_node_has_one_reason_and_rows_are_red_only_where_no_node_passes():
    for case in islice(read(RECORDED), 200):
        constraints, snapshot = in_force(case, FEATURES)[1], read_snapshot(case, FEATURES)
        pod, defaults = read_pod(case, FEATURES), system_defaults(case)
        found = explain(Cycle(pod, tuple(constraints), snapshot, FEATURES, defaults, USUAL_PROFILE))
        ended = found.feasibility.rejected or found.feasibility.error
        names = [name for cause in causes(found) for name in cause.partition(":")[0].split(", ")]
        refused = len(found.nodes) - found.feasibility.feasible.bit_count()

        assert len(names) == len(set(names)) == (0 if ended else refused) or refused > MOST_NAMED
        for explained in found.constraints:
            shown = [row[-1] for row in domain_rows(explained, found)]
            closed = [not (domain.passes and domain.open) for domain in explained.domains]
            assert closed == [look_of(words) == Look.ERROR for words in shown] or len(closed) > MOST_ROWS
            assert not [words for words in shown if look_of(words) == Look.ERROR and "passes" in words]
