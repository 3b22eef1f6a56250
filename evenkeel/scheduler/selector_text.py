"""Label selectors as `kubectl get -l` takes them: `app=web,tier!=db,zone in (a, b),!canary`."""

from __future__ import annotations

import re
from itertools import chain

from webhook.kubernetes.labels import label_key_errors, label_value_errors
from webhook.spread.selectors import DOES_NOT_EXIST, EQUALS, EXISTS, IN, NOT_IN, Requirement, Selector

_TERM = re.compile(
    r"\s*(?:!\s*(?P<absent>[^\s!=,()]+)"
    r"|(?P<key>[^\s!=,()]+)\s*(?P<sign>==|=|!=)\s*(?P<value>[^\s!=,()]*)"
    r"|(?P<listed>[^\s!=,()]+)\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)"
    r"|(?P<present>[^\s!=,()]+))\s*(?P<more>,|$)"
)


def parse_selector(text: str) -> Selector:
    """
    Read a selector; an empty text selects everything.  ValueError names the term that cannot be read.

    The operators `<` and `>` are not supported.

    upstream: selector.go:Parse (v1.37)
    """
    requirements, position = list[Requirement](), 0
    while text.strip():
        match = _TERM.match(text, position)
        if match is None:
            rest = text[position:].strip()
            raise ValueError(
                f'found "{rest}", wanted KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY or !KEY'
            )
        requirements.append(_requirement(match))
        position = match.end()
        if not match["more"]:
            break
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def _requirement(match: re.Match[str]) -> Requirement:
    if match["absent"]:
        requirement = Requirement(match["absent"], DOES_NOT_EXIST)
    elif match["present"]:
        requirement = Requirement(match["present"], EXISTS)
    elif match["sign"]:
        requirement = Requirement(match["key"], NOT_IN if match["sign"] == "!=" else EQUALS, (match["value"],))
    else:
        values = tuple(sorted({value.strip() for value in match["values"].split(",")}))
        requirement = Requirement(match["listed"], IN if match["set"] == "in" else NOT_IN, values)
    errors = [*label_key_errors(requirement.key), *chain.from_iterable(map(label_value_errors, requirement.values))]
    if errors:
        term = match[0].strip(" ,")
        raise ValueError(f'found "{term}": {errors[0]}')
    return requirement
