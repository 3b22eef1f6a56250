"""malformed-topology-key in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import begin, bound, literal, shown
from webhook.manifests.check import IS_HARD, LONGEST_KEY, CelCheck, CelObject
from webhook.objects.labels import QUALIFIED_NAME, SUBDOMAIN, wanted_instead
from webhook.scheduler.constraint import HARD

_BEGIN = begin("c.topologyKey", 2 * LONGEST_KEY)  # Nothing reads more of a key, which may be of any length.
PREFIX_OF_KEY, NAME_OF_KEY = "k.split('/')[0]", "k.split('/')[k.split('/').size() - 1]"
# In the order in which label_key_errors has them.
_ERRORS = {
    "k.split('/').size() > 2": "",
    "k.startsWith('/')": "prefix part must be non-empty",
    f"k.contains('/') && {PREFIX_OF_KEY}.size() > 253": "prefix part must be no more",
    f"k.contains('/') && !{PREFIX_OF_KEY}.matches({literal(f'^{SUBDOMAIN}$')})": "prefix part",
    f"{NAME_OF_KEY} == ''": "name part must be non-empty",
    f"{NAME_OF_KEY}.size() > 63": "name part must be no more",
    f"!{NAME_OF_KEY}.matches({literal(f'^{QUALIFIED_NAME}$')})": "name part",
}


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of topologyKey; which key was probably meant is not told."""
    valid = f"^({SUBDOMAIN}/)?{QUALIFIED_NAME}$"
    lengths = f"{NAME_OF_KEY}.size() <= 63 && (!k.contains('/') || {PREFIX_OF_KEY}.size() <= 253)"
    wanted = "".join(f"{error} ? {literal(wanted_instead(words))} : " for error, words in _ERRORS.items())
    fix = bound(_BEGIN, "k", f"'use a label key: ' + ({wanted}'')")
    malformed = bound(
        "c.topologyKey", "k", f"k.size() > {LONGEST_KEY} || (k != '' && !(k.matches({literal(valid)}) && {lengths}))"
    )
    effect = f"(c.whenUnsatisfiable == '{HARD}' ? 'no Pod can be placed' : 'it spreads nothing')"
    yield CelCheck(
        field="topologyKey",
        items=obj.constraints_where(malformed),
        message=f"'no node can have such a key: ' + {effect}",
        found=shown("c.topologyKey"),
        fix=fix,
        extent=IS_HARD,
    )
