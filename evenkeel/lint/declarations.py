"""
What a file has that matters to workloads beside it: workloads, which their selectors may count, and autoscalers.

    Workload ──standing──> DeclaredWorkload ──┬──within──> FileNeighbours, in the same file
    autoscaler ───────────────────────────────┴──packed──> bytes, for OtherFiles
"""

from __future__ import annotations

import marshal
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evenkeel.objects.autoscalers import Autoscaler, scalings
from webhook.findings.neighbours import Neighbour, Neighbours, as_other
from webhook.kubernetes.features import Features
from webhook.kubernetes.fields import as_mapping
from webhook.kubernetes.labels import Labels
from webhook.kubernetes.references import ScaleTarget, Scaling
from webhook.kubernetes.workload import Workload
from webhook.spread.constraint import read_constraints
from webhook.spread.selectors import Match, Requirement, Selector


class DeclaredWorkload(NamedTuple):
    """A workload as the rest of the input sees it."""

    # The first six fields are those of Neighbour.
    api_version: str
    kind: str
    namespace: str
    name: str
    labels: Labels
    addable: frozenset[str]
    makes_pods: bool
    named: bool  # its object names the namespace
    own: Mapping[str, object]  # its own selector, as it is written
    # The selectors of its constraints: key, operator and values of each requirement.  None if no neighbour can matter.
    asks: tuple[tuple[tuple[str, str, tuple[str, ...]], ...], ...] | None

    @property
    def target(self) -> ScaleTarget:
        """What an autoscaler names to scale it."""
        return ScaleTarget(self.namespace, self.api_version.rpartition("/")[0], self.kind, self.name)

    @property
    def other(self) -> Neighbour:
        """The workload as others see it."""
        return Neighbour(*self[:6])

    @property
    def selectors(self) -> Iterator[Selector]:
        for requirements in self.asks or ():
            yield Selector(tuple([Requirement(*requirement) for requirement in requirements]))


class Declarations(NamedTuple):
    """The workloads and the autoscalers of one file."""

    workloads: Sequence[DeclaredWorkload] = ()
    autoscalers: Sequence[Autoscaler] = ()


class FileNeighbours(NamedTuple):
    """What stands beside the workloads of one file, as far as it matters to them; false if nothing does."""

    others: tuple[Neighbour, ...] = ()
    scalings: Mapping[ScaleTarget, Scaling] = {}

    def __bool__(self) -> bool:
        return bool(self.others or self.scalings)


NOTHING_STATED, NOTHING_AROUND = Declarations(), FileNeighbours()


def standing(workload: Workload, obj: Mapping[str, object], features: Features, judged: bool) -> DeclaredWorkload:
    """Return the declaration of a workload of `obj`; it asks for no neighbours where no rule is run on it."""
    other, kind = as_other(workload), workload.kind
    return DeclaredWorkload(
        api_version=kind.api_version,
        kind=kind.kind,
        namespace=workload.namespace,
        name=workload.name,
        labels=workload.labels,
        addable=workload.addable,
        makes_pods=other is not None,
        named=bool(as_mapping(obj.get("metadata")).get("namespace")),
        own=workload.selector,
        asks=tuple(_asks(workload, features)) if judged else None,
    )


def _asks(workload: Workload, features: Features) -> Iterator[tuple[tuple[str, str, tuple[str, ...]], ...]]:
    if workload.has_constraints and workload.labels_known:
        for constraint in read_constraints(workload.raw_constraints, features).parsed(workload.labels):
            if constraint.selector.requirements:
                yield tuple([(key, operator, values) for key, operator, values in constraint.selector.requirements])


def within(stated: Declarations) -> FileNeighbours:
    """Return which workloads and autoscalers of one file concern each other."""
    asking = [workload for workload in stated.workloads if workload.asks is not None]
    if not asking or (len(stated.workloads) == 1 and not stated.autoscalers):
        return NOTHING_AROUND
    declared = Neighbours(workload.other for workload in stated.workloads if workload.makes_pods)
    neighbours = [_matched(declared, workload, selector) for workload in asking for selector in workload.selectors]
    # The first four fields name the object.
    matched = {other[:4] for other in neighbours if other is not None}
    others = [workload.other for workload in stated.workloads if workload[:4] in matched and workload.makes_pods]
    targets = {workload.target for workload in asking}
    return FileNeighbours(
        tuple(others), scalings(autoscaler for autoscaler in stated.autoscalers if autoscaler.target in targets)
    )


def _matched(declared: Neighbours, workload: DeclaredWorkload, selector: Selector) -> Neighbour | None:
    neighbours = declared.matching(workload.other.ref, selector)
    return next((other for other in neighbours if selector.match(other.labels, other.addable) is Match.YES), None)


def packed(stated: Iterable[tuple[str, Declarations]]) -> bytes:
    """Pack the declarations of files into little memory; files without any are left out."""
    declaring = [
        (
            file,
            [tuple(workload) for workload in workloads],
            [(tuple(target), tuple(scaling)) for target, scaling in autoscalers],
        )
        for file, (workloads, autoscalers) in stated
        if workloads or autoscalers
    ]
    return zlib.compress(marshal.dumps(declaring), 1) if declaring else b""


def unpacked(batch: bytes) -> Iterator[tuple[str, Declarations]]:
    """Yield the files in a batch, with what each states."""
    for file, workloads, autoscalers in marshal.loads(zlib.decompress(batch)):
        scalers = [Autoscaler(ScaleTarget(*target), Scaling(*scaling)) for target, scaling in autoscalers]
        yield file, Declarations([DeclaredWorkload(*workload) for workload in workloads], scalers)
