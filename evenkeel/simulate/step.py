"""
A step of a simulation, parsed once:

    rollout   scale --replicas 12   drain NODE|KEY=VALUE   cordon …   lose ZONE|…   delete …
    taint NODE|KEY=VALUE KEY=VALUE:EFFECT       add 3,KEY=VALUE,…       or with "=" after the first word
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from webhook.kubernetes.labels import is_subdomain, label_key_errors, label_value_errors
from webhook.kubernetes.likeness import most_like
from webhook.kubernetes.names import ZONE
from webhook.spread.nodes import Nodes, NodeSet
from webhook.spread.taints import DO_NOT_SCHEDULE, Taint

APPLY, ROLLOUT, SCALE, ADD = "apply", "rollout", "scale", "add"
DRAIN, CORDON, LOSE, DELETE, TAINT = "drain", "cordon", "lose", "delete", "taint"
# Steps that only evenkeel takes, to see what would help.
REPLACE = "replace"  # delete the Pods of old revisions that wait, as a person does where a rollout is stuck
UNDO = "undo"  # roll back to the template before
OF_NODES = (DRAIN, CORDON, LOSE, DELETE, TAINT)
MOST_REPLICAS, MOST_NODES = 20_000, 5_000
EFFECTS = (*DO_NOT_SCHEDULE, "PreferNoSchedule")
STEP_FORMS: Mapping[str, str] = {
    ROLLOUT: ROLLOUT,
    SCALE: "scale --replicas N",
    DRAIN: "drain NODE or drain KEY=VALUE",
    CORDON: "cordon NODE or cordon KEY=VALUE",
    LOSE: "lose ZONE, lose NODE or lose KEY=VALUE",
    DELETE: "delete NODE or delete KEY=VALUE",
    TAINT: "taint NODE KEY=VALUE:EFFECT or taint KEY=VALUE KEY=VALUE:EFFECT",
    ADD: "add NUMBER or add NUMBER,KEY=VALUE",
}
# How many words follow each step.
TAKES: Mapping[str, int] = dict.fromkeys(STEP_FORMS, 1) | {ROLLOUT: 0, TAINT: 2}
IGNORED: Mapping[str, tuple[str, ...]] = {ROLLOUT: ("restart",), TAINT: ("node", "nodes")}  # words of kubectl


class StepError(ValueError):
    """A step that cannot be read, or that would do nothing: what was found, what was wanted, and the fix."""


@dataclass(frozen=True, slots=True)
class Which:
    """The nodes of a step: the one of this name, or those with a label."""

    name: str = ""
    key: str = ""  # of the label, if there is no name
    value: str = ""

    def __str__(self) -> str:
        return self.name or f"{self.key}={self.value}"

    def among(self, nodes: Nodes) -> NodeSet:
        """Return the nodes that the step names."""
        return nodes.named((self.name,)) if self.name else nodes.domains(self.key).get(self.value, 0)

    def alternatives(self, nodes: Nodes) -> list[str]:
        """Return what could have been asked for instead: the names of the nodes, or the values of the label."""
        return sorted(nodes.names(nodes.all)) if self.name else sorted(nodes.domains(self.key))


@dataclass(frozen=True, slots=True)
class Step:
    """One step."""

    text: str  # as it was written
    action: str
    number: int = 0  # replicas for SCALE, nodes for ADD
    which: Which = Which()  # nodes, for all but SCALE, ADD and what is about workloads
    taint: Taint | None = None  # for TAINT
    labels: Mapping[str, str] = field(default_factory=dict)  # for ADD


def parse_step(text: str) -> Step:
    """Return the step that `ACTION` or `ACTION=ARGUMENTS` describes; StepError if it describes none."""
    action, equals, rest = text.partition("=")
    return _parse(text, action, [rest] if equals else [])


def parse_words(words: Sequence[str], replicas: int | None = None) -> tuple[list[str], list[Step]]:
    """
    Return the words that name workloads, and the steps; `replicas` are those of a `scale` without a number.

    kubectl's order of words, `drain NODE` and `taint NODE KEY=VALUE:EFFECT`, means the same as `drain=NODE`.
    """
    names, steps, rest = list[str](), list[Step](), deque(words)
    while rest:
        word = rest.popleft()
        if word in TAKES:
            if rest and rest[0] in IGNORED.get(word, ()):
                rest.popleft()
            if word == SCALE and replicas is not None:
                arguments, replicas = [str(replicas)], None
            else:
                arguments = [rest.popleft() for _ in range(min(TAKES[word], len(rest)))]
            steps.append(_parse(" ".join([word, *arguments]), word, arguments))
        elif "/" in word.partition("=")[0]:
            names.append(word)
        # Not `TYPE NAME`, as one workload is named already, or what follows is no name: so a step, or an error.
        elif names or "=" in word or not rest or rest[0] in TAKES or "=" in rest[0]:
            steps.append(parse_step(word))
        else:
            names += [word, rest.popleft()]
    if replicas is not None:
        raise StepError(f"--replicas {replicas}: found no {SCALE}; write {SCALE} before TYPE/NAME")
    return names, steps


def _parse(text: str, action: str, arguments: Sequence[str]) -> Step:
    if action not in STEP_FORMS:
        likely_action = most_like(action, STEP_FORMS)
        raise _unread(text, STEP_FORMS[likely_action] if likely_action else f"one of {', '.join(STEP_FORMS.values())}")
    if action == ROLLOUT:
        if arguments:
            raise _unread(text, ROLLOUT)
        return Step(text, ROLLOUT)
    parsers: Mapping[str, Callable[[str, str, str], Step]] = {SCALE: _scale, ADD: _add, TAINT: _taint}
    return parsers.get(action, _of_nodes)(text, action, ",".join(arguments))


def _unread(text: str, wanted: str) -> StepError:
    return StepError(f'step: found "{text}", wanted {wanted}')


def _scale(text: str, _: str, rest: str) -> Step:
    return Step(text, SCALE, _number(text, SCALE, rest, MOST_REPLICAS, 0))


def _number(text: str, action: str, written: str, most: int, least: int) -> int:
    if not (written.isascii() and written.isdecimal() and len(written) < 7 and least <= int(written) <= most):
        raise _unread(text, f"{STEP_FORMS[action]} with a number from {least} to {most:,}")
    return int(written)


def _of_nodes(text: str, action: str, rest: str) -> Step:
    return Step(text, action, which=_which(text, action, rest))


def _which(text: str, action: str, written: str) -> Which:
    key, equals, value = written.partition("=")
    if equals:
        if label_key_errors(key) or label_value_errors(value):
            raise _unread(text, STEP_FORMS[action])
        return Which(key=key, value=value)
    if not is_subdomain(written):
        raise _unread(text, STEP_FORMS[action])
    return Which(name=written)


def _taint(text: str, action: str, rest: str) -> Step:
    nodes, _, taint = rest.partition(",")
    pair, _, effect = taint.rpartition(":")
    key, _, value = pair.partition("=")
    if label_key_errors(key) or label_value_errors(value) or effect not in EFFECTS:
        raise _unread(text, f"{STEP_FORMS[TAINT]}, where EFFECT is {', '.join(EFFECTS)}")
    return Step(text, TAINT, which=_which(text, action, nodes), taint=Taint(key, value, effect))


def _add(text: str, action: str, rest: str) -> Step:
    written, *labels = rest.split(",")
    pairs = [label.partition("=") for label in labels]
    if not all(equals for _, equals, _ in pairs) or any(
        label_key_errors(key) or label_value_errors(value) for key, _, value in pairs
    ):
        raise _unread(text, STEP_FORMS[ADD])
    number = _number(text, action, written, MOST_NODES, 1)
    return Step(text, ADD, number, labels={key: value for key, _, value in pairs})


def with_zones(step: Step, nodes: Nodes) -> Step:
    """Return a step in which the key `zone` is the well-known one, and the name of a zone, if it is no node's, too."""
    labels = {ZONE if _is_zone(key, nodes) else key: value for key, value in step.labels.items()}
    which = step.which
    if which.name and which.name not in nodes.names(nodes.all) and which.name in nodes.domains(ZONE):
        which = Which(key=ZONE, value=which.name)
    elif _is_zone(which.key, nodes):
        which = Which(key=ZONE, value=which.value)
    return replace(step, which=which, labels=labels)


def _is_zone(key: str, nodes: Nodes) -> bool:
    return key == "zone" and key not in nodes.label_keys
