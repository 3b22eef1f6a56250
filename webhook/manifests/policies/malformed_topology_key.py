"""malformed-topology-key in CEL."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.manifests.cel import literal, shown
from webhook.manifests.check import IS_HARD, CelCheck, CelObject
from webhook.objects.labels import QUALIFIED_NAME, SUBDOMAIN, wanted_instead
from webhook.scheduler.constraint import HARD

TOPOLOGY_KEY_OF_C = "c.topologyKey"
PREFIX_OF_KEY, NAME_OF_KEY = (
    f"{TOPOLOGY_KEY_OF_C}.split('/')[0]",
    f"{TOPOLOGY_KEY_OF_C}.split('/')[{TOPOLOGY_KEY_OF_C}.split('/').size() - 1]",
)
# In the order in which label_key_errors has them.
_ERRORS = {
    f"{TOPOLOGY_KEY_OF_C}.split('/').size() > 2": "",
    f"{TOPOLOGY_KEY_OF_C}.startsWith('/')": "prefix part must be non-empty",
    f"{TOPOLOGY_KEY_OF_C}.contains('/') && {PREFIX_OF_KEY}.size() > 253": "prefix part must be no more",
    f"{TOPOLOGY_KEY_OF_C}.contains('/') && !{PREFIX_OF_KEY}.matches({literal(f'^{SUBDOMAIN}$')})": "prefix part",
    f"{NAME_OF_KEY} == ''": "name part must be non-empty",
    f"{NAME_OF_KEY}.size() > 63": "name part must be no more",
    f"!{NAME_OF_KEY}.matches({literal(f'^{QUALIFIED_NAME}$')})": "name part",
}


def checks(obj: CelObject) -> Iterator[CelCheck]:
    """Yield the check of topologyKey; which key was probably meant is not told."""
    valid = f"^({SUBDOMAIN}/)?{QUALIFIED_NAME}$"
    lengths = f"{NAME_OF_KEY}.size() <= 63 && (!{TOPOLOGY_KEY_OF_C}.contains('/') || {PREFIX_OF_KEY}.size() <= 253)"
    wanted = "".join(f"{error} ? {literal(wanted_instead(begin))} : " for error, begin in _ERRORS.items())
    effect = f"(c.whenUnsatisfiable == '{HARD}' ? 'no Pod can be placed' : 'it spreads nothing')"
    yield CelCheck(
        field="topologyKey",
        items=obj.constraints_where(
            f"{TOPOLOGY_KEY_OF_C} != '' && !({TOPOLOGY_KEY_OF_C}.matches({literal(valid)}) && {lengths})"
        ),
        message=f"'no node can have such a key: ' + {effect}",
        found=shown(TOPOLOGY_KEY_OF_C),
        fix=f"'use a label key: ' + ({wanted}'')",
        extent=IS_HARD,
    )
