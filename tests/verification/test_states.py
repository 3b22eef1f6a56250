"""Which states kube-scheduler may have seen: what the queue says first, and then what else the log leaves open."""

from __future__ import annotations

import tracemalloc
from itertools import islice

import pytest

from tests.support.logs import waiting
from webhook.objects.references import ObjectKey
from webhook.scheduler.counts import BoundPod
from webhook.scheduler.snapshot import Namespace, NominatedPod, Service
from webhook.verification.decision import CREATED_BOUND, OTHER_SCHEDULER, PodDecision
from webhook.verification.states import (
    ALL_NODES,
    EARLIER,
    LATER,
    MOST_STATES,
    MOST_TOGETHER,
    LogEntry,
    Move,
    Obstacles,
    Window,
    first_state,
    leaves_queue_first,
    moves,
    other_states,
)

HERE, THERE = BoundPod((), "n1"), BoundPod((), "n2")
OWN = "own"
NODE, ANOTHER, THIRD = 1, 2, 4  # Each is one node.
CHOSEN = Obstacles(NODE, 0)


def key(name, kind="Pod"):
    return ObjectKey("", kind, "shop", name)


def decided(version, name, *, queued=0, priority=0, tried=False, passed_over="", before=None, kept=HERE, node="n1"):
    """The entry by which a Pod gets a node."""
    pod = waiting(name, priority=priority)
    decision = PodDecision(pod, node, queued=queued, tried=tried, passed_over=passed_over)
    return LogEntry(version / 10, version, key(name), kept, b"", decision, before, b"")


def changed(version, name, before, kept, kind="Pod"):
    """The entry by which an object changes, without a decision."""
    return LogEntry(version / 10, version, key(name, kind), kept, b"", None, before, b"")


def window(own, *others):
    """The log around a decision; what is kept right before it is what the entries behind have left."""
    behind = [entry for entry in others if entry.version < own.version]
    last = {entry.key: entry.kept for entry in behind}
    there = {key: kept for key, kept in last.items() if kept is not None}
    return Window(own, behind, [entry for entry in others if entry.version > own.version], there)


def everywhere(_):
    """A change that makes each node another."""
    return ALL_NODES


def moved(window, reach=everywhere, obstacles=CHOSEN):
    """What leads from the first state to others."""
    return moves(window, first_state(window), reach, obstacles.any_of | obstacles.all_of)


def overlays(window, reach=everywhere):
    """The other states of one move, in their order."""
    return [move.overlay for move in moved(window, reach)]


def states(moves, obstacles=CHOSEN, *later, first=None):
    """The other states that may explain a decision; `later` is what stands against it in each of them."""
    left = iter(later)
    heeded = obstacles.any_of | obstacles.all_of or ALL_NODES
    return other_states(moves, first or {}, heeded, obstacles, lambda: next(left, obstacles))


@pytest.mark.parametrize(
    ("theirs", "own", "first"),
    [
        pytest.param({"queued": 5}, {"queued": 6}, True, id="came first"),
        pytest.param({"queued": 6}, {"queued": 5}, False, id="came later"),
        pytest.param({"queued": 5, "priority": 9}, {"queued": 6}, True, id="came first, and is more important"),
        pytest.param({"queued": 6, "priority": -9}, {"queued": 5}, False, id="came later, and is less important"),
        pytest.param({"queued": 6, "priority": 9}, {"queued": 5}, None, id="came later, and is more important"),
        pytest.param({"queued": 5, "priority": -9}, {"queued": 6}, None, id="came first, and is less important"),
        pytest.param({"queued": 0}, {"queued": 5}, True, id="was there at first"),
        pytest.param({"queued": 0}, {"queued": 0}, None, id="both were there at first"),
        pytest.param({"queued": 5, "tried": True}, {"queued": 6}, None, id="was tried"),
        pytest.param({"queued": 5}, {"queued": 6, "tried": True}, None, id="own was tried"),
    ],
)
def test_the_queue_is_in_the_order_of_priority_and_then_of_coming(theirs, own, first):
    assert first is leaves_queue_first(decided(7, "a", **theirs), decided(8, OWN, **own))


def test_without_a_decision_nobody_knows_the_order():
    assert leaves_queue_first(changed(7, "a", None, HERE), decided(8, OWN)) is None


def test_pods_before_it_in_the_queue_are_assumed_first_and_those_behind_it_are_not():
    own = decided(20, OWN, queued=5)
    behind = [decided(18, "behind-came-later", queued=6), decided(19, "behind-came-first", queued=4)]
    ahead = [decided(21, "ahead-came-later", queued=6), decided(22, "ahead-came-first", queued=4)]

    state = first_state(window(own, *behind, *ahead))

    assert {key("behind-came-later"): None, key("ahead-came-first"): HERE} == state


@pytest.mark.parametrize("passed_over", [OTHER_SCHEDULER, CREATED_BOUND])
def test_a_pod_that_another_places_is_where_the_log_has_it(passed_over):
    entries = decided(19, "a", queued=6, passed_over=passed_over), decided(21, "b", queued=4, passed_over=passed_over)

    assert {} == first_state(window(decided(20, OWN, queued=5), *entries))


def test_a_pod_that_is_nominated_by_preemption_is_so_in_the_order_of_the_queue():
    waits = NominatedPod("shop", "a", HERE)
    own = decided(20, OWN, queued=5)
    nominates = decided(21, "a", queued=4, kept=waits, node="")
    loses = decided(19, "a", queued=6, before=waits, kept=None, node="")

    assert {key("a"): waits} == first_state(window(own, nominates))
    assert {key("a"): waits} == first_state(window(own, loses))
    assert {} == first_state(window(own, decided(21, "a", queued=4, kept=None, node="")))  # It was only refused.


def test_a_pod_of_the_same_name_that_is_made_again_is_assumed_or_not_by_its_next_place():
    """It was placed, deleted, made again, and placed again: the next place, and the last one, are what counts."""
    own = decided(20, OWN, queued=12)
    behind = [decided(15, "db-0", queued=14), changed(16, "db-0", HERE, None)]
    ahead = [decided(22, "db-0", queued=11, kept=THERE), changed(23, "db-0", THERE, None)]
    ahead.append(decided(25, "db-0", queued=24, kept=HERE))

    assert {key("db-0"): THERE} == first_state(window(own, *behind, *ahead))


def test_the_decision_itself_is_never_changed():
    own = decided(20, "db-0", queued=12)
    others = [decided(15, "db-0", queued=14), decided(25, "db-0", queued=4), changed(18, "db-0", HERE, None)]

    assert ({}, []) == (first_state(window(own, *others)), overlays(window(own, *others)))


def test_events_are_not_seen_yet_by_kind_and_from_the_last_on():
    old, new = Namespace("a", {}), Namespace("a", {"team": "x"})
    entries = [
        changed(15, "a", None, old, kind="Namespace"),
        changed(16, "p", HERE, None),
        changed(17, "a", old, new, kind="Namespace"),
        changed(18, "q", None, THERE),
    ]
    name = key("a", "Namespace")

    assert [{key("q"): None}, {name: old}, {key("q"): None, key("p"): HERE}, {name: None}] == overlays(
        window(decided(20, OWN), *entries)
    )


def test_pods_whose_order_is_not_known_are_decided_later_or_earlier_together_and_alone():
    own = decided(20, OWN, queued=5, tried=True)
    behind = [decided(18, "a"), decided(19, "b")]
    ahead = [decided(21, "c"), decided(22, "d")]
    there = window(own, *behind, *ahead)

    listed = [(move.sequence, dict(move.overlay)) for move in moved(there)]

    assert [
        *((LATER, {key("b"): None}), (EARLIER, {key("c"): HERE})),
        *((LATER, {key("b"): None, key("a"): None}), ("", {key("a"): None})),
        *((EARLIER, {key("c"): HERE, key("d"): HERE}), ("", {key("d"): HERE})),
    ] == listed


def test_a_pod_that_came_after_the_decision_was_not_decided_earlier():
    assert [] == overlays(window(decided(20, OWN, tried=True), decided(22, "a", queued=21)))


def test_a_pod_whose_order_is_known_makes_no_other_state():
    assert [] == overlays(window(decided(20, OWN, queued=5), decided(19, "a", queued=4), decided(21, "b", queued=6)))


def test_what_touches_nothing_that_is_in_the_way_makes_no_state_but_goes_along_with_what_does():
    own = decided(20, OWN)
    entries = changed(18, "near", THERE, None), changed(19, "far", HERE, None)
    moves = moved(window(own, *entries), lambda change: NODE if change.after == THERE else ANOTHER)

    assert [{key("far"): HERE, key("near"): THERE}] == [*states(moves)]
    assert [] == [*states(moves, Obstacles(THIRD, 0))]
    assert [] == overlays(window(own, *entries), lambda _: 0)


def test_alone_a_pod_was_placed_earlier_only_where_something_is_in_the_way():
    there = window(decided(20, OWN, queued=5, tried=True), decided(21, "a"), decided(22, "b"), decided(23, "c"))
    moves = moved(there, lambda change: NODE if change.name == "c" else ANOTHER)

    assert [{key("c"): HERE}] == [move.overlay for move in moves if not move.sequence]


def test_a_move_starts_from_the_first_state():
    """The Pod is waiting in the first state already, though the log has it on a node."""
    service = Service("a", {"app": "web"})
    own = decided(20, OWN, queued=5)
    later = decided(17, "late", queued=6)
    told = changed(18, "b", None, HERE), changed(19, "a", None, service, kind="Service")
    there = window(own, later, *told)
    first = first_state(there)

    assert [["a", "late"], ["b", "late"], ["a", "b", "late"]] == [
        sorted(changed_key.name for changed_key in state) for state in states(moved(there), first=first)
    ]


def test_what_happened_to_a_pod_that_is_decided_later_makes_no_other_state():
    there = window(decided(20, OWN, queued=5), decided(17, "a", queued=6), changed(18, "a", HERE, THERE))

    assert [] == overlays(there)


def test_that_a_pod_of_the_same_name_is_gone_may_not_be_seen_yet_though_the_new_one_is_decided_later():
    own = decided(20, OWN, queued=5)
    gone, again = changed(7, "db-0", THERE, None), decided(12, "db-0", queued=8)
    there = window(own, gone, again)

    assert {key("db-0"): None} == first_state(there)
    assert [{key("db-0"): THERE}] == overlays(there)


def move(name, sequence="", distance=1, touched=ALL_NODES, added=None):
    return Move(distance, sequence, [(key(name), None)], 1, touched, touched if added is None else added)


def test_two_moves_are_made_together_unless_they_are_of_one_sequence_or_object():
    made = [move("a", "Pod"), move("b", "Pod"), move("c", LATER), move("a"), move("d")]
    pairs = [{*state} for state in states(made) if len(state) == 2]

    together = [("a", "c"), ("a", "d"), ("b", "c"), ("b", "a"), ("b", "d"), ("c", "a"), ("c", "d"), ("a", "d")]
    assert sorted(sorted(name) for name in together) == sorted(sorted(of.name for of in pair) for pair in pairs)


def test_only_the_nearest_moves_are_made_together():
    made = [move(f"p{number}") for number in range(MOST_TOGETHER + 4)]

    pairs = [state for state in states(made) if len(state) == 2]

    assert MOST_TOGETHER * (MOST_TOGETHER - 1) // 2 == len(pairs)
    assert {key(f"p{number}") for number in range(MOST_TOGETHER)} == {name for state in pairs for name in state}


def test_the_nearest_two_moves_are_made_together_before_a_far_one_alone():
    """Where much has happened, there are more single moves than states are tried."""
    made = [move(f"p{number}") for number in range(2 * MOST_STATES)]

    pairs = [{*state} for state in islice(states(made), MOST_STATES // 2) if len(state) == 2]

    assert [{key("p0"), key("p1")}, {key("p0"), key("p2")}, {key("p0"), key("p3")}, {key("p1"), key("p2")}] == pairs[:4]


@pytest.mark.parametrize(
    ("touched", "any_of", "all_of", "falls"),
    [
        pytest.param(NODE, NODE, ANOTHER | THIRD, True, id="the chosen node"),
        pytest.param(ANOTHER, NODE, ANOTHER | THIRD, False, id="one of two that are better"),
        pytest.param(ANOTHER | THIRD, NODE, ANOTHER | THIRD, True, id="both that are better"),
        pytest.param(THIRD, NODE, ANOTHER, False, id="a worse node"),
        pytest.param(THIRD, NODE, 0, False, id="another, where the node does not pass"),
        pytest.param(ALL_NODES, 0, 0, True, id="every node"),
    ],
)
def test_a_state_may_explain_a_decision_only_if_what_is_in_the_way_is_other(touched, any_of, all_of, falls):
    assert falls is Obstacles(any_of, all_of).after(touched).may_have_fallen
    assert [key("a")] * falls == [
        name for state in states([move("a", touched=touched)], Obstacles(any_of, all_of)) for name in state
    ]


def test_the_steps_of_a_sequence_come_together_and_what_is_in_the_way_is_that_of_its_last_state():
    """After the state of p1 only ANOTHER is better, so that p3 may explain the decision, and p2 may not."""
    steps = [
        move(f"p{place}", "Pod", place, touched, added)
        for place, (touched, added) in enumerate(
            [(ANOTHER, ANOTHER), (ANOTHER | THIRD, THIRD), (ANOTHER | THIRD, THIRD), (ANOTHER | THIRD, ANOTHER)]
        )
    ]

    tried = [*states(steps, Obstacles(NODE, ANOTHER | THIRD), Obstacles(NODE, ANOTHER))]

    assert [{key("p1")}, {key("p3")}] == [{*state} for state in tried]


def test_of_two_moves_each_has_to_overcome_what_is_left_after_the_other():
    """After a, which was tried, one better node is left, which b does not touch, and c does."""
    made = [move("a"), move("b", touched=ANOTHER), move("c", touched=THIRD)]

    pairs = [
        {*state} for state in states(made, Obstacles(NODE, ANOTHER | THIRD), Obstacles(NODE, THIRD)) if len(state) == 2
    ]

    assert [{key("a"), key("c")}, {key("b"), key("c")}] == pairs


def test_the_state_of_a_step_is_other_for_what_all_steps_before_it_touch_too():
    own = decided(20, OWN)
    entries = [changed(17, "q", HERE, None), changed(18, "r", THERE, None), changed(19, "s", HERE, None)]
    reach = {"q": ANOTHER, "r": NODE, "s": THIRD}

    steps = moved(window(own, *entries), lambda change: reach[change.name])

    assert [(THIRD, THIRD), (NODE | THIRD, NODE), (NODE | ANOTHER | THIRD, ANOTHER)] == [step[-2:] for step in steps]


def test_a_pod_that_came_and_went_is_gone_again_in_a_state_before_it_came():
    """While it is there NODE does not pass; before it came only ANOTHER is in the way, as it is at first."""
    entries = [changed(17, "q", THERE, None), changed(18, "p", None, HERE), changed(19, "p", HERE, None)]
    first = Obstacles(NODE, ANOTHER)
    steps = moved(window(decided(20, OWN), *entries), lambda change: ANOTHER if change.name == "q" else NODE, first)

    assert {key("q"): THERE, key("p"): None} == [*states(steps, first, Obstacles(NODE, 0))][-1]


def test_a_pod_that_is_not_gone_yet_is_not_where_it_is_made_again():
    """In the first state it is on THERE already: kube-scheduler has placed it again, and writes that later."""
    gone, again = changed(15, "db-0", HERE, None), decided(22, "db-0", queued=16, kept=THERE)
    changes = []
    there = window(decided(20, OWN, queued=18), gone, again)

    assert {key("db-0"): THERE} == first_state(there)
    assert [{key("db-0"): HERE}] == overlays(there, lambda change: changes.append(change[2:]) or NODE)
    assert [(THERE, HERE)] == changes


def test_what_stands_in_the_way_of_a_later_step_need_not_be_so_at_first():
    """Once the first step is made another node is better, which the second touches."""
    steps = [move("p1", "Pod", 1, NODE), move("p2", "Pod", 2, NODE | ANOTHER, ANOTHER)]

    assert 2 == len([*states(steps, CHOSEN, Obstacles(NODE, ANOTHER))])


def test_thousands_of_events_at_once_take_little_memory():
    entries = [changed(number, f"p{number}", HERE, None) for number in range(3000)]
    there = window(decided(3000, OWN), *entries)

    tracemalloc.start()
    steps = moved(there)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert entries[0].key in steps[-1].overlay and len(steps[-1].overlay) == len(steps) == 3000
    assert peak < 5e6


def test_a_step_that_is_not_in_the_way_does_not_put_off_those_of_others():
    """Of many steps that touch nothing, each is as far as the next that does."""
    far = [move(f"p{number}", "Pod", number, ANOTHER) for number in range(2 * MOST_STATES)]
    near = [move("a", LATER, 1000, NODE), move("b", EARLIER, 1001, NODE), move("c", "Node", 1002, NODE)]

    tried = [{*state} for state in states([*far, *near])]

    assert [{key(name) for name in names} for names in ("a", "b", "c", "ab", "ac", "bc")] == tried
