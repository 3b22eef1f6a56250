"""The rules in CEL, each in a file of its name; the webhook does not import them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable

from webhook.manifests.check import CelCheck, CelObject

Checks = Callable[[CelObject], Iterable[CelCheck]]
CHECKS: dict[str, Checks] = {
    name.replace("_", "-"): importlib.import_module(f"{__name__}.{name}").checks
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__))
}
"""By the id of the rule."""
