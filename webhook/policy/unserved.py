"""The kinds of a policy that a cluster does not serve, so that none of their objects is judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from webhook.kubernetes.kinds import Kind, Kinds, Served
from webhook.kubernetes.likeness import most_like


class _Resource(NamedTuple):
    """A resource of an API server, or one that a policy names, in one or more versions."""

    group: str
    versions: Sequence[str]
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.group}/{','.join(self.versions)} {self.kind} ({self.name})"


def groups_of(kinds: Kinds) -> frozenset[str]:
    """Return the API groups of all kinds that an API server may lack."""
    return frozenset(kind.api_group for kind in kinds if not kind.built_in)


def unserved(kinds: Kinds, served: Served) -> Iterator[str]:
    """
    Yield a line for each kind that the API server does not serve; `served` must have all groups of the kinds.

    One version that is served is enough: the API server converts objects of others (matchPolicy Equivalent).

    A kind that an entry of the policy describes may be misspelt, so it is always reported.  One that evenkeel knows by
    itself is reported only if it is served in other versions.  Otherwise its operator is not installed, and there is
    nothing to judge.
    """
    by_resource: dict[tuple[str, str, str], list[Kind]] = {}
    for kind in kinds:
        if not kind.built_in:
            by_resource.setdefault((kind.api_group, kind.kind, kind.resource), []).append(kind)
    for (group, name, plural), places in by_resource.items():
        api_versions = tuple(dict.fromkeys(place.api_version for place in places))
        if any(served.resources.get(api_version, {}).get(plural) == name for api_version in api_versions):
            continue
        wanted = _Resource(group, [api_version.rpartition("/")[2] for api_version in api_versions], name, plural)
        resources = list(_resources(group, served))
        namesake = next((resource for resource in resources if resource.name == plural or resource.kind == name), None)
        if any(place.from_policy and place.operator is None for place in places):
            yield _line(wanted, _fix(wanted, namesake or _closest(plural, resources), served))
        elif namesake is not None:
            yield _line(wanted, f"describe {namesake} in an entry of its own")


def _line(wanted: _Resource, fix: str) -> str:
    return f"workloads: the cluster does not serve {wanted}, so evenkeel judges no object of this kind; {fix}"


def _fix(wanted: _Resource, meant: _Resource | None, served: Served) -> str:
    if meant is not None:
        return f"write {meant}"
    if wanted.group not in served.versions and (close := most_like(wanted.group, served.versions)):
        return f"did you mean the API group {close}?"
    return "correct or delete the entry, or install the CustomResourceDefinition"


def _resources(group: str, served: Served) -> Iterator[_Resource]:
    """Yield the resources of an API group, first those of the version that the API server prefers."""
    for version in served.versions.get(group, ()):
        for name, kind in served.resources.get(f"{group}/{version}", {}).items():
            yield _Resource(group, (version,), kind, name)


def _closest(name: str, resources: Sequence[_Resource]) -> _Resource | None:
    by_name = {resource.name: resource for resource in reversed(resources)}  # of equal names, the preferred one stays
    return by_name.get(most_like(name, by_name))
