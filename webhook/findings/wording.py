"""Findings as text: one printable line each, for a terminal, an HTTP header or a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from webhook.findings.finding import Finding
from webhook.kubernetes.fields import FieldPath, path_text
from webhook.kubernetes.names import HOSTNAME
from webhook.kubernetes.reader import printable
from webhook.spread.constraint import Constraint
from webhook.spread.domains import NODES, OTHER_KEYS, TAINTS, OnlyDomain

# Limits are in characters.
HELP_LIMIT = 120
# If all warnings of an object exceed 4,096 characters, the API server cuts each at 256.
WARNING_LIMIT, MOST_WARNINGS, MOST_NOTICES = 256, 5, 2
LINE_LIMIT = 1_000
MOST_LINES = 100  # of a denial; rules that may find more look for no more
NAME_LIMIT, OBJECT_LIMIT, SUMMARY_LIMIT = 63, 100, 4 * LINE_LIMIT
SHORTEST_OBJECT = 40  # The name of an object is not cut further, however long the message is.

KUEUE_FIRST = "Kueue may choose the nodes of its Pods first; kube-scheduler then applies constraints on these nodes"
_LEFT_BY = {
    NODES: "all nodes that count are in {}",
    OTHER_KEYS: "all nodes that have the topologyKey of each constraint are in {}",
    TAINTS: "nodeTaintsPolicy leaves only {}",
}
_ONLY_NODE = {
    NODES: "{} is the only one that counts",
    OTHER_KEYS: "{} is the only one that has the topologyKey of each constraint",
    TAINTS: _LEFT_BY[TAINTS],
}

SPEAKER = "evenkeel"  # in brackets at the end of messages: other webhooks may warn in the same answer


class Denial(NamedTuple):
    """The message of a denial, a line for each error, and the same errors as metav1.StatusCause."""

    message: str
    causes: Sequence[Mapping[str, str]]


def one_line(text: str, limit: int) -> str:
    """
    Return `text` with unprintable characters escaped, cut at `limit`.

    The API server drops a warning with an unprintable character.
    """
    text = text[: limit + 1]  # First, because the text may be very long.
    if not text.isprintable():
        text = printable(text)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def shown_name(name: str, limit: int = NAME_LIMIT) -> str:
    """Return a name in one line; an empty one, such as that of a zone, as `""`."""
    return one_line(name, limit) or '""'


def domain_word(topology_key: str) -> str:
    """Return what people call a domain of a topology key: `zone`, or `node` for hostnames."""
    return "node" if topology_key == HOSTNAME else topology_key.rpartition("/")[2]


def place_in_words(topology_key: str, domain: str) -> str:
    """Return `zone a`, or `node n1` for a hostname."""
    return f"{domain_word(topology_key)} {shown_name(domain)}"


def why_single(topology_key: str, only: OnlyDomain) -> str:
    """Return what leaves one domain of a topology key."""
    place = place_in_words(topology_key, only.domain)
    if only.by_affinity:
        return f"its {only.left_by} leaves only {place}"
    return (_ONLY_NODE if topology_key == HOSTNAME else _LEFT_BY)[only.left_by].format(place)


def begun(words: str) -> str:
    """Return words with a capital first letter."""
    return words[:1].upper() + words[1:]


def ignores_constraints(placer: str, pods: str = "its Pods") -> str:
    """Return that something else than kube-scheduler places Pods, so that their constraints have no effect."""
    return f"{placer} places {pods}, and ignores constraints"


def number_of(number: int, noun: str, several: str = "") -> str:
    """Return `1 Pod` or `2,000 Pods`; `several` is the plural, if that is not the noun and an s."""
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def range_of(least: int, most: int) -> str:
    """Return `2`, or `2–5`."""
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"


def object_name(about: str) -> str:
    """Return the name of an object for a message, in one line."""
    return _shortened(one_line(about, LINE_LIMIT), OBJECT_LIMIT) or "an object"


def _shortened(name: str, limit: int) -> str:
    """Return a name, without its middle if it is too long: the end often tells names apart."""
    half = limit // 2
    return name if len(name) <= limit else f"{name[: half - 1]}…{name[-half:]}"


def short_path(path: FieldPath) -> str:
    """Return the end of a path: from the first list in it on, or only the last field if there is none."""
    first = next((i for i, part in enumerate(path) if isinstance(part, int)), len(path))
    return path_text(path[max(first - 1, 0) :])


def warning(finding: Finding, about: str = "") -> str:
    """Return one finding on the object `about` as a warning of at most 256 characters, with the end of its path."""
    return in_full(finding, short_path(finding.path), about, WARNING_LIMIT)


def warnings(
    findings: Sequence[Finding], about: str, noticed: Sequence[Finding] = (), help_line: str = ""
) -> tuple[str, ...]:
    """
    Return at most MOST_WARNINGS lines: the gravest findings first, then from when on those that are `noticed` deny, and
    last `help_line`.  A further line before that has the number of findings that are left out.

    Each line but the last begins with the object, because kubectl prints equal warnings once.
    """
    gravest = sorted(findings, key=lambda finding: finding.severity.rank)
    notices = _notices(noticed, about) if noticed else []
    most = MOST_WARNINGS - len(notices) - bool(help_line)
    lines = list(dict.fromkeys([warning(finding, about) for finding in gravest[:most]]))
    if more := len(findings) - len(lines):
        notices.append(f"{about}: {number_of(more, 'more finding')}; to see all: evenkeel admit -f FILE -o json")
    return with_help((*lines, *notices), help_line)


def with_help(lines: Sequence[str], help_line: str) -> tuple[str, ...]:
    """Return the lines of an answer; if it has any, the `help` of the policy comes last, the same for all objects."""
    return (*lines, help_for_all(help_line)) if lines and help_line else tuple(lines)


def help_for_all(help_line: str) -> str:
    """Return the line of the `help` of a policy."""
    return f"{help_line} ({SPEAKER})"


def with_helps(text: str, *helps: str) -> str:
    """Return a text, with the helps after it that are not empty."""
    return "; ".join([text, *filter(None, helps)])


def mark(*rules: str) -> str:
    """Return the end of what the webhook says: who speaks, and because of which rules."""
    return f" ({SPEAKER} {', '.join(rules)})"


def _notices(findings: Sequence[Finding], about: str) -> list[str]:
    """Return a line for each of the first MOST_NOTICES notices, with the rules that it is about."""
    rules: dict[str, dict[str, None]] = {}  # The inner one is an ordered set.
    for finding in findings:
        rules.setdefault(finding.notice, {})[finding.rule] = None
    lines: list[str] = []
    for notice, rule_ids in list(rules.items())[:MOST_NOTICES]:
        said = f": {notice}{mark(*rule_ids)}"
        room = max(SHORTEST_OBJECT, WARNING_LIMIT - len(said))
        lines.append(one_line(_shortened(about, room) + said, WARNING_LIMIT))
    return lines


def line(finding: Finding, field: str = "") -> str:
    """Return `<field>: <what must hold> (<rule-id>)`; the field is the finding's whole path if it is not given."""
    return f"{of_field(finding, field)} ({finding.rule})"


def concise(finding: Finding) -> str:
    """Return `<rule> <end of the field's path>: <what must hold>`."""
    return f"{finding.rule} {of_field(finding, short_path(finding.path))}"


def of_field(finding: Finding, field: str = "") -> str:
    """Return `<field>: <what must hold>`; the field is the finding's whole path if it is not given."""
    field = field or path_text(finding.path)
    return f"{field}: {finding.message}" if field else finding.message


def in_short(finding: Finding) -> str:
    """Return `<rule>: <end of the field's path>: <what must hold>`, for a table."""
    return f"{finding.rule}: {short_path(finding.path)}: {finding.message}"


def in_full(finding: Finding, field: str = "", about: str = "", limit: int = LINE_LIMIT) -> str:
    """
    Return `<object>: <field>: <what must hold>; found <value>; <fix> (evenkeel <rule>); <help>`.

    Without `about`, as in lint, no object comes first, and the end is `(<rule>); <help>`.

    A value that the message or the fix already names is left out.  If the line would exceed `limit`, first the value is
    left out, then the fix, then the end of the message, but never the rule and the help.
    """
    tail = with_helps(mark(finding.rule) if about else f" ({finding.rule})", finding.help)
    room, fix = limit - len(tail), f"; {finding.fix}"
    text = of_field(finding, field)
    if about:
        text = f"{_shortened(about, max(SHORTEST_OBJECT, room - len(text) - 2))}: {text}"
    value = "" if is_told(finding) else f"; found {finding.found}"
    ending = next((part for part in (f"{value}{fix}", fix) if len(text) + len(part) <= room), "")
    return one_line(text + ending, room) + tail


def is_told(finding: Finding) -> bool:
    """Return whether the message, the fix or the path already names the value found."""
    return finding.found in f'{finding.message} {finding.fix} "{finding.path[-1] if finding.path else ""}"'


def denial(findings: Sequence[Finding], about: str, help_line: str = "") -> Denial:
    """Return a denial for people and for programs; of more than MOST_LINES errors, the others are only counted."""
    shown = [(finding, path_text(finding.path)) for finding in findings[:MOST_LINES]]
    lines = [in_full(finding, field, about) for finding, field in shown]
    if more := findings[MOST_LINES:]:
        lines.append(f"and {len(more)} more")
    return Denial("\n".join(with_help(lines, help_line)), [_cause(finding, field) for finding, field in shown])


def _cause(finding: Finding, field: str) -> Mapping[str, str]:
    message = one_line(finding.message, LINE_LIMIT)
    return {"reason": finding.rule, "field": one_line(field, LINE_LIMIT), "message": message}


def summary(findings: Iterable[Finding]) -> str:
    """Return all findings in one line, for an audit annotation."""
    shown: list[str] = []
    length = 0
    for finding in findings:
        shown.append(f"{finding.severity} {finding.rule} {short_path(finding.path)}")
        length += len(shown[-1])
        if length > SUMMARY_LIMIT:  # The rest would be cut.
            break
    return one_line("; ".join(shown), SUMMARY_LIMIT)


class FindingTexts(NamedTuple):
    """All that an answer says of findings."""

    denial: Denial
    warnings: tuple[str, ...]
    summary: str  # an audit annotation


def worded(
    about: str,
    denying: Sequence[Finding],
    warning: Sequence[Finding],
    noticed: Sequence[Finding],
    findings: Iterable[Finding],
    help_line: str,
) -> FindingTexts:
    """
    Return what to say of all `findings` on the object `about`.

    Those in `denying`, `warning` and `noticed` deny, warn, or are announced to deny from some day on.  `help_line`, the
    `help` of the policy, is in the denial, or else in the warnings.
    """
    about = object_name(about)
    warned = warnings(warning, about, noticed, "" if denying else help_line)
    return FindingTexts(denial(denying, about, help_line), warned, summary(findings))


def constraint_names(constraints: Sequence[Constraint]) -> str:
    """Return constraints as `constraints 0 and 1`; one without an index stands for podAntiAffinity."""
    indices = [str(constraint.index) for constraint in constraints if constraint.index >= 0]
    noun = "constraint" if len(indices) == 1 else "constraints"
    *first, last = [f"{noun} {indices[0]}", *indices[1:]]
    if any(constraint.index < 0 for constraint in constraints):
        first, last = [*first, last], "podAntiAffinity"
    return f"{', '.join(first)} and {last}"


def some(names: Iterable[str], most: int = 3) -> str:
    """Return the first names in alphabetical order, and how many more there are: `a, b, c and 2 more`."""
    return first_of(sorted(names), most, NAME_LIMIT)


def first_of(names: Iterable[str], most: int = 5, limit: int = LINE_LIMIT) -> str:
    """Return the first `most` names as they come, each cut at `limit`, and how many more there are."""
    all_names = list(names)
    shown = ", ".join(shown_name(name, limit) for name in all_names[:most])
    return f"{shown} and {len(all_names) - most:,} more" if len(all_names) > most else shown


class CausesError(ValueError):
    """What cannot be used; each of its `causes` is one printable line."""

    def __init__(self, causes: Iterable[str]) -> None:
        self.causes = tuple([one_line(cause, LINE_LIMIT) for cause in causes])
        super().__init__("\n".join(self.causes))
