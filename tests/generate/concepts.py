"""The pictures and the table of docs/concepts.md: small clusters, and what the scheduler's arithmetic says of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from evenkeel.explain.tables import skew_text
from evenkeel.placement.explanation import Domain, Explanation, explain
from evenkeel.placement.subject import attempt, next_replica
from evenkeel.scheduler.snapshot import from_objects
from tests.generate.commands import output
from tests.generate.dots import Box, Cell, Dot, Frame, Line, Zone, counting, in_words, sentence, svg
from tests.support import ROOT
from tests.support.build import service, workload
from tests.support.placing import HOSTNAME, ZONE, node, running, spread
from webhook.kubernetes.features import LATEST
from webhook.policy.scheduler_configuration import POD_TOPOLOGY_SPREAD

FOLDER = "concepts"  # Below docs.
ZONES = ("a", "b", "c")
INFRA = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}
SHUT = {"TaintToleration": "tainted", "NodeResourcesFit": "full"}  # What a filter means, in one word.
SOFT, HONOR = {"whenUnsatisfiable": "ScheduleAnyway"}, {"nodeTaintsPolicy": "Honor"}
REVISION = {"matchLabelKeys": ["pod-template-hash"]}
OLD, NEW, BOTH = "old", "new", "both"  # Values of pod-template-hash; the next Pod has NEW.
DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}

EXAMPLES = ROOT / "docs" / "examples" / "simulate"
SIMULATE = "evenkeel simulate {} -n shop --cluster cluster.yaml --kubernetes-version 1.34"
STEPS = {
    "a rollout": SIMULATE.format("deployment/web rollout"),
    "a rollout with `matchLabelKeys`": SIMULATE.format("-f by-revision.yaml"),
    "a scale-down from 6 Pods to 3": SIMULATE.format("deployment/web scale=3"),
}


class Scene(NamedTuple):
    """A cluster, and what is explained of the next Pod of the Deployment web in it."""

    objects: tuple[Mapping, ...]
    explained: Explanation
    replicas: int  # How many Pods web asks for; 0 stands for one more than count.

    @property
    def nodes(self) -> list[Mapping]:
        """The nodes by zone and name, those without a zone last."""
        nodes = [thing for thing in self.objects if thing["kind"] == "Node"]
        return sorted(nodes, key=lambda thing: (_zone(thing) or "~", thing["metadata"]["name"]))

    def pods_on(self, name: str) -> list[Mapping]:
        return [thing for thing in self.objects if thing["kind"] == "Pod" and thing["spec"]["nodeName"] == name]

    def domains(self, index: int = 0) -> tuple[Domain, ...]:
        return self.explained.constraints[index].domains


def scene(objects: Iterable[Mapping], *constraints: Mapping, replicas: int = 0) -> Scene:
    """Explain the next Pod of the Deployment web, which has these constraints."""
    (subject,) = next_replica(workload("Deployment", *constraints, spec={"replicas": replicas or 3}), {})
    there = tuple(objects)
    return Scene(there, explain(attempt(subject, from_objects(there, LATEST), LATEST).cycle), replicas)


def nodes(number: int, *zones: str) -> list[Mapping]:
    """So many nodes in each zone."""
    return [node(f"{zone}{at}", zone) for zone in zones or ZONES for at in range(1, number + 1)]


def pods(**numbers: int) -> list[Mapping]:
    """So many Pods of web on each node."""
    return [running(name) for name, number in numbers.items() for _ in range(number)]


def revision(name: str, *on: str) -> list[Mapping]:
    """A Pod of this revision on each node."""
    return [running(where, labels={"app": "web", "pod-template-hash": name}) for where in on]


def _zone(thing: Mapping) -> str:
    return thing["metadata"]["labels"].get(ZONE, "")


# What stands below the zones.


def sums(placed: Scene) -> Line:
    """The skew in each zone, as `evenkeel explain` writes it."""
    (explained,) = placed.explained.constraints
    cells = [
        Cell(skew_text(domain, explained) if domain.eligible else "not counted", "" if domain.passes else "no")
        for domain in explained.domains
    ]
    return Line("skew if placed here", (*cells, *([Cell("no label", "no")] if explained.unlabelled else [])))


def verdicts(placed: Scene) -> Line:
    """Where the next Pod may run, and what refuses it elsewhere."""
    (explained,) = placed.explained.constraints
    cells = [_verdict(placed, domain) for domain in explained.domains]
    return Line("the next Pod", (*cells, *([Cell("refused", "no")] if explained.unlabelled else [])))


def _verdict(placed: Scene, domain: Domain) -> Cell:
    if domain.open:
        return Cell("may run here", "yes")
    if not domain.passes:
        return Cell("refused", "no")
    refusals = placed.explained.feasibility.refusals
    (why,) = {SHUT[refusal.plugin] for refusal in refusals if refusal.nodes & domain.nodes}
    return Cell(f"refused ({why})", "no")


def scores(placed: Scene) -> Line:
    """The score of each node for the spread alone; the best are marked."""
    score = placed.explained.scores[POD_TOPOLOGY_SPREAD]
    best = max(score.values())
    names = [thing["metadata"]["name"] for thing in placed.nodes]
    cells = [
        Cell(str(score[name]), "yes" if score[name] == best else "") if name in score else Cell("–") for name in names
    ]
    return Line("score for the spread", tuple(cells), by_node=True)


def frame(caption: str, placed: Scene, *lines: Line, revisions: str = "") -> Frame:
    """
    A cluster with the next Pod, or with all that wait.

    With `revisions` each Pod shows its revision, and only those of the named one count, or all with BOTH.
    """
    boxes = [(_zone(thing), _box(placed, thing, revisions)) for thing in placed.nodes]
    zones = tuple(
        Zone(zone, tuple(box for _, box in group)) for zone, group in groupby(boxes, key=lambda pair: pair[0])
    )
    _check(placed, zones)
    waiting = max(1, placed.replicas - sum(map(counting, zones)))
    if placed.explained.feasibility.feasible:
        return Frame(caption, zones, lines, waiting, "the next Pod" if waiting == 1 else f"the next {waiting} Pods")
    return Frame(caption, zones, lines, waiting, f"{in_words(waiting)} {'is' if waiting == 1 else 'are'} Pending")


def _check(placed: Scene, zones: Sequence[Zone]) -> None:
    """Fail if other Pods are drawn as counting than the scheduler counts."""
    (explained,) = (entry for entry in placed.explained.constraints if entry.constraint.topology_key == ZONE)
    computed = {domain.value: domain.match_num for domain in explained.domains}
    drawn = {zone.name: counting(zone) for zone in zones if zone.name}
    if drawn != computed:
        raise ValueError(f"drawn {drawn}, computed {computed}")


def _box(placed: Scene, thing: Mapping, revisions: str) -> Box:
    name, there = thing["metadata"]["name"], placed.pods_on(thing["metadata"]["name"])
    notes = [f"taint: {taint['key'].removeprefix('node.kubernetes.io/')}" for taint in thing["spec"].get("taints", ())]
    full = ["full"] if len(there) >= int(thing["status"]["allocatable"]["pods"]) else []
    return Box(name, tuple(_dot(thing, pod, revisions) for pod in there), ", ".join((*notes, *full)))


def _dot(on: Mapping, pod: Mapping, revisions: str) -> Dot:
    metadata = pod["metadata"]
    if revisions:
        hashed = metadata["labels"]["pod-template-hash"]
        style = "left" if revisions not in (BOTH, hashed) else "new" if hashed == NEW else "dot"
        return Dot(style, {OLD: "1", NEW: "2"}[hashed])
    notes = {
        "being deleted": "deletionTimestamp" in metadata,
        "finished": pod["status"]["phase"] == "Succeeded",
        "other namespace": metadata["namespace"] != "shop",
        "other label": metadata["labels"]["app"] != "web",
        "node has no zone": not _zone(on),
    }
    return next((Dot("left", note=note) for note, holds in notes.items() if holds), Dot())


# The pictures.


def topology() -> Iterator[Frame]:
    """The domains of two keys."""
    placed = scene([*nodes(2), *pods(a1=1, a2=1, b1=1, c1=1)], spread(), spread(HOSTNAME))
    by_zone, by_node = _numbers(placed), _numbers(placed, 1)
    lines = (
        by_zone._replace(title=f"{len(by_zone.cells)} domains by zone"),
        by_node._replace(title=f"{len(by_node.cells)} domains by hostname", by_node=True),
    )
    yield frame("The same Pods, counted by two keys", placed, *lines)._replace(waiting=0, says="")


def _numbers(placed: Scene, index: int = 0) -> Line:
    """The Pods that a constraint counts in each domain."""
    return Line("Pods that count", tuple(Cell(in_words(domain.match_num)) for domain in placed.domains(index)))


def skew() -> Iterator[Frame]:
    """The formula, term by term."""
    placed = scene([*nodes(2), *pods(a1=1, a2=1, b1=1, c1=1)], spread())
    (explained,) = placed.explained.constraints
    most, itself, least = explained.constraint.max_skew, explained.self_match_num, explained.min_match_num
    here = explained.domains
    yield frame(
        "One Pod more",
        placed,
        Line("match_num", tuple(Cell(str(domain.match_num)) for domain in here)),
        Line("+ self_match_num", tuple(Cell(f"+ {itself}") for _ in here)),
        Line("- min_match_num", tuple(Cell(f"- {least}") for _ in here)),
        Line("= skew", tuple(Cell(f"= {domain.skew}", "" if domain.passes else "no") for domain in here)),
        Line(f"max_skew {most}", tuple(_compared(domain, most) for domain in here)),
    )


def _compared(domain: Domain, most: int) -> Cell:
    return (
        Cell(f"{domain.skew} <= {most}: fits", "yes")
        if domain.passes
        else Cell(f"{domain.skew} > {most}: refused", "no")
    )


def hard_and_soft() -> Iterator[Frame]:
    """Zone c has no room for a second Pod."""
    there = [*nodes(1, "a", "b"), node("c1", "c", pods="1"), *pods(a1=2, b1=2, c1=1)]
    hard, soft = scene(there, spread()), scene(there, spread(**SOFT))
    yield frame(f"DoNotSchedule: the Pod {_where(hard)}", hard, sums(hard), verdicts(hard))
    yield frame(f"ScheduleAnyway: the Pod {_where(soft)}", soft, scores(soft), verdicts(soft))


def _where(placed: Scene) -> str:
    zones = [domain.value for domain in placed.domains() if domain.open]
    return f"runs in {' or '.join(zones)}" if zones else "waits"


def counted() -> Iterator[Frame]:
    """The hollow Pods do not count."""
    there = [
        *nodes(1, "a", "b"),
        node("x1"),
        *pods(a1=1, b1=2, x1=1),
        running("a1", **DELETED),
        running("a1") | {"status": {"phase": "Succeeded"}},
        running("a1", namespace="other"),
        running("a1", labels={"app": "api"}),
    ]
    placed = scene(there, spread())
    yield frame("Filled Pods count, hollow Pods do not", placed, sums(placed), verdicts(placed))


def several() -> Iterator[Frame]:
    """Each of two constraints allows only nodes that the other refuses."""
    placed = scene([*nodes(2, "a"), *nodes(1, "b"), *pods(a1=2, a2=1, b1=2)], spread(), spread(HOSTNAME))
    lines = Line("skew by zone", _skews(placed)), Line("skew by hostname", _skews(placed, 1), by_node=True)
    yield frame("No node passes both constraints", placed, *lines)


def _skews(placed: Scene, index: int = 0) -> tuple[Cell, ...]:
    """The skew in each domain of a constraint, with maxSkew where it is too large."""
    most = placed.explained.constraints[index].constraint.max_skew
    cells = (
        Cell(str(domain.skew), "yes") if domain.passes else Cell(f"{domain.skew} > {most}", "no")
        for domain in placed.domains(index)
    )
    return tuple(cells)


def empty_zone() -> Iterator[Frame]:
    """Zone c is empty, and its node has a taint."""
    there = [*nodes(1, "a", "b"), node("c1", "c", taints=[INFRA]), *pods(a1=2, b1=2)]
    ignoring, honoring = scene(there, spread()), scene(there, spread(**HONOR))
    for caption, placed in (("nodeTaintsPolicy: Ignore, the default", ignoring), ("nodeTaintsPolicy: Honor", honoring)):
        counts = "counts" if placed.domains()[-1].eligible else "does not count"
        yield frame(f"{caption}: zone c {counts}", placed, sums(placed), verdicts(placed))


def defaults() -> Iterator[Frame]:
    """What a constraint on zones takes away."""
    there = [*nodes(2, "a", "b"), *pods(a1=2, b1=1, b2=1), service()]
    system, own = scene(there), scene(there, spread(**SOFT))
    yield frame(f"No constraint of its own: {_best(system)}", system, scores(system))
    yield frame(f"Only a constraint on zones: {_best(own)}", own, scores(own))


def _best(placed: Scene) -> str:
    score = placed.explained.scores[POD_TOPOLOGY_SPREAD]
    names = [name for name, value in score.items() if value == max(score.values())]
    return "all nodes have the same score" if len(names) == len(score) else f"{' and '.join(names)} has the best score"


def rollout() -> Iterator[Frame]:
    """One of three old Pods is replaced by now."""
    there = [*nodes(1), *revision(OLD, "b1", "c1"), *revision(NEW, "a1")]
    together, apart = scene(there, spread()), scene(there, spread(**REVISION))
    yield frame(
        "Without matchLabelKeys: old Pods, marked 1, and new Pods, marked 2, count",
        together,
        sums(together),
        verdicts(together),
        revisions=BOTH,
    )
    caption = "With matchLabelKeys: only new Pods, marked 2, count"
    yield frame(caption, apart, sums(apart), verdicts(apart), revisions=NEW)


def scale_down() -> Iterator[Frame]:
    """The most skewed of the likely outcomes."""
    full = scene([*nodes(1), *pods(a1=2, b1=2, c1=2)], spread())
    yield frame("Before: 6 Pods", full, _numbers(full))._replace(waiting=0, says="")
    numbers = next(numbers for numbers, _ in outcomes(STEPS["a scale-down from 6 Pods to 3"]) if len({*numbers}) > 1)
    left = scene([*nodes(1), *pods(**dict(zip(("a1", "b1", "c1"), numbers, strict=True)))], spread())
    yield frame("After scaling to 3 Pods: one outcome", left, sums(left), verdicts(left))


PICTURES = {
    "topology": topology,
    "skew": skew,
    "hard-and-soft": hard_and_soft,
    "counted": counted,
    "several": several,
    "empty-zone": empty_zone,
    "defaults": defaults,
    "rollout": rollout,
    "scale-down": scale_down,
}

DRAWINGS = {f"docs/{FOLDER}/{name}.svg": name for name in PICTURES}


def picture(name: str) -> str:
    """A picture in SVG."""
    return svg([*PICTURES[name]()])


def shown(name: str) -> str:
    """The line that shows a picture, with what it shows in words."""
    return f"![{sentence([*PICTURES[name]()])}]({FOLDER}/{name}.svg)\n"


def outcomes(command: str) -> Iterator[tuple[tuple[int, ...], float]]:
    """The Pods of each zone after the last step, the most first, and the share of the runs; the most likely first."""
    (workload,) = json.loads(output(f"{command} -o json", EXAMPLES))["steps"][-1]["workloads"]
    (constraint,) = workload["constraints"]
    for outcome in constraint["outcomes"]:
        numbers = [group["pods"] for group in outcome["domains"] for _ in range(group["number"])]
        yield tuple(sorted(numbers, reverse=True)), outcome["share"]


def endings() -> Iterator[tuple[str, str]]:
    """How each step may end: Pods of each zone, and in how many of a hundred runs."""
    for step, command in STEPS.items():
        yield step, ", ".join(_ending(numbers, share) for numbers, share in outcomes(command))


def _ending(numbers: Sequence[int], share: float) -> str:
    return f"{' + '.join(map(str, numbers))} in {100 * share:.3g} %"
