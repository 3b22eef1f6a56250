"""malformed-topology-key in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import begin, bound, literal, shown
from webhook.manifests.check import IS_HARD, Check, Seen
from webhook.objects.labels import QUALIFIED_NAME, SUBDOMAIN, wanted_instead
from webhook.scheduler.constraint import HARD

_KEY = "k"  # the beginning of c.topologyKey
_LONGEST = 253 + 1 + 63
_BEGIN = begin("c.topologyKey", 2 * _LONGEST)  # Nothing reads more of a key, which may be of any length.
_PREFIX, _NAME = f"{_KEY}.split('/')[0]", f"{_KEY}.split('/')[{_KEY}.split('/').size() - 1]"
# In the order in which label_key_errors has them.
_ERRORS = {
    f"{_KEY}.split('/').size() > 2": "",
    f"{_KEY}.startsWith('/')": "prefix part must be non-empty",
    f"{_KEY}.contains('/') && {_PREFIX}.size() > 253": "prefix part must be no more",
    f"{_KEY}.contains('/') && !{_PREFIX}.matches({literal(f'^{SUBDOMAIN}$')})": "prefix part",
    f"{_NAME} == ''": "name part must be non-empty",
    f"{_NAME}.size() > 63": "name part must be no more",
    f"!{_NAME}.matches({literal(f'^{QUALIFIED_NAME}$')})": "name part",
}


def checks(seen: Seen) -> Iterator[Check]:
    """Yield the check of topologyKey; which key was probably meant is not told."""
    valid = f"^({SUBDOMAIN}/)?{QUALIFIED_NAME}$"
    lengths = f"{_NAME}.size() <= 63 && (!{_KEY}.contains('/') || {_PREFIX}.size() <= 253)"
    wanted = "".join(f"{error} ? {literal(wanted_instead(words))} : " for error, words in _ERRORS.items())
    fix = bound(_BEGIN, "k", f"'use a label key: ' + ({wanted}'')")
    malformed = bound(_BEGIN, "k", f"{_KEY} != '' && !({_KEY}.matches({literal(valid)}) && {lengths})")
    effect = f"(c.whenUnsatisfiable == '{HARD}' ? 'no Pod can be placed' : 'it spreads nothing')"
    yield Check(
        field="topologyKey",
        items=seen.constraints_where(malformed),
        message=f"'no node can have such a key: ' + {effect}",
        found=shown("c.topologyKey"),
        fix=fix,
        extent=IS_HARD,
    )
