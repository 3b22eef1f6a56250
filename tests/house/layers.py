"""
Who may import whom, what stays pure, and which modules import each other in a circle.

All of it is read from the source with `ast`; nothing is imported.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PURE = "-- pure from here down --\n"

# A module imports from its own entry and from the rows below it, never from another entry of its row.
# An entry is a dotted prefix of the names below `webhook.`; of those that fit a name, the longest is its own.
# Each command is an entry of its own: none imports another.
COMMANDS = " · ".join(
    sorted(
        f"cli.{file.stem}" for file in (ROOT / "webhook" / "cli").glob("*.py") if file.stem not in ("__init__", "main")
    )
)

ROWS = f"""\
__main__
cli.main
{COMMANDS}
cli
policy_test.writing
policy_test.running
loading
loading.applied_workloads · loading.pod_defaults
loading.clusters · loading.listening · loading.progress · loading.selection · loading.simulated_runs
loading.profiles · loading.snapshots
loading.processes
loading.inputs
loading.usage
serving.report_metrics · serving.server
serving.webhook
serving.certificate
serving.renewal · serving.sent_calls · serving.served_kinds
serving.app · serving.certificate_files · serving.cluster_telemetry · serving.kubernetes_version · serving.policy_file
serving.reviewer
serving.decision_log · serving.metrics · serving.wire
serving
cluster.contents · cluster.live · cluster.replicas
cluster.dump · cluster.informer
cluster.dump_file
cluster.decoding · cluster.reduction
cluster.discovery · cluster.fields · cluster.registration · cluster.secret · cluster.store
cluster
render
manifests
cluster.listed_resources
cluster.watched_resources
lint.session
lint.files
lint.building
lint.overlays · lint.since · lint.walk · lint.writing
{PURE}\
lint.judgement · lint.repair · lint.sources · report.report
report.idle_constraints
report.impact · report.spread · report.waiting_pods
report.next_pods
report.inventory
report
lint.baseline · lint.context · lint.places · lint.suppressions · lint.other_files
lint.results
lint.terms
lint.declarations
lint
policy_test.form
policy_test
admission.contradictions · admission.dry_run
admission.review
admission.unknown_labels · admission.ratchet
admission.decision
admission.defaulting
admission.ownership
admission
policy.parsing
policy.enforcement · policy.reach · policy.unserved
policy.translation
policy.scheduler_defaults
policy.policy
policy
rules
findings.evaluation · findings.repairs · findings.room
findings.wording
findings.rule
findings
simulation.pending · simulation.remedies
simulation.rollout_check
simulation.planning
simulation.results · simulation.rollout_bounds
simulation.outcomes
simulation.initial_pods · simulation.run
simulation.controllers
simulation.preemption
simulation.daemon_set · simulation.disruption · simulation.job · simulation.stateful · simulation.zone_loss
simulation.deployment
simulation.replicas
simulation.waiting
simulation.state
simulation.frameworks · simulation.scheduling_queue · simulation.ties
simulation.node_changes
simulation.frameworks_at_start
simulation.pod
simulation.claims · simulation.sampling · simulation.step
simulation
placement.successors
placement.inferred_defaults · placement.remedies
placement.affinity_changes · placement.explanation · placement.subject · placement.volume_changes
placement.created_pods · placement.gaps · placement.obstacles
placement.claims · placement.room · placement.variants
placement.commands · placement.template_edits
placement
scheduler.capacity
scheduler.preemption
scheduler.configured_profiles · scheduler.framework
scheduler.plugins
scheduler.filtering · scheduler.plugins.plugin · scheduler.scoring
scheduler.plugins.nodes_by_usage
scheduler.profile
scheduler.default_constraints · scheduler.default_selector · scheduler.domain_counts · scheduler.fit
scheduler.domains · scheduler.snapshot_changes
scheduler.snapshot
scheduler.cluster_view
scheduler.incoming
scheduler.new_pod · scheduler.validation
scheduler.attached_volumes · scheduler.storage_objects
scheduler.storage
scheduler.in_tree_volumes
scheduler.affinity · scheduler.resources · scheduler.topology_counts
scheduler.counts · scheduler.scheduler_nodes
scheduler.nodes
scheduler.pod_affinity
scheduler.configuration · scheduler.constraint · scheduler.taints · scheduler.volumes
scheduler
documents.positions · documents.reading
documents.build · documents.json_positions · documents.json_schema
documents
objects.pod_templates
objects.workload_object
objects.jobs · objects.update_strategies
objects.operators · objects.typed_names · objects.workload
objects.autoscalers · objects.disruption_budget · objects.pod_object
objects.kinds · objects.quantities · objects.times
objects.contacts · objects.labels · objects.reading · objects.references
objects
"""

# What stands apart imports nothing of ours but itself, and only the entries named here import it.
APART = {"certs": "cli · serving", "transport": "cli.serve · serving"}

# Every library that is installed, or the parts of it that may be used, and what discovers modules: only the entries
# named here use it.
USERS = {
    "cryptography": "certs",
    "flask": "serving.app · serving.health · serving.report_metrics",
    "gunicorn.app.base": "serving.server",
    "gunicorn.config": "transport.http",
    "gunicorn.glogging": "serving.server",
    "gunicorn.http": "transport.http",
    "gunicorn.workers.base": "transport.worker",
    "importlib": "cli.main · rules.__init__",
    "jinja2": "render.page",
    "jsonschema": "documents.json_schema",
    "kubernetes": "cluster.client",
    "msgspec": "cluster.decoding · cluster.reduction · render.simulation · serving.wire · simulation.results",
    "pathspec": "lint.gitignore",
    "pkgutil": "objects.operators · rules.__init__",
    "prometheus_client": "render.skew_metrics · serving.metrics",
    "shtab": "cli.completion",
    "urllib3": "cluster.client",
    "werkzeug": "serving.app · serving.health",
    "yaml": "cli.manifests · cli.policy · documents · render.applied",
}
DISCOVERY = ("importlib", "pkgutil")

# All that the pure half uses of the standard library; a name stands for what is below it, too.
PURE_NAMES = {
    *("__future__", "bisect", "collections", "collections.abc", "copy.copy", "dataclasses", "difflib", "enum"),
    *(
        "functools",
        "hashlib",
        "heapq",
        "inspect.cleandoc",
        "itertools",
        "json",
        "marshal",
        "math",
        "operator.eq",
        "random.Random",
        "re",
    ),
    *("shlex.join", "sys.intern", "typing", "zlib"),
}
IMPURE_BUILTINS = {
    *("__builtins__", "__import__", "__loader__", "__spec__", "breakpoint", "compile", "eval", "exec", "exit"),
    *("globals", "help", "input", "locals", "open", "print", "quit", "vars"),
}


class House(NamedTuple):
    """The number of each entry's row, the number that purity begins with, and who may import what stands apart."""

    rows: Mapping[str, int]
    pure_from: int
    apart: Mapping[str, tuple[str, ...]]


def lies_in(name: str, *prefixes: str) -> bool:
    """Whether a dotted name is one of the prefixes or stands below one."""
    return any(f"{name}.".startswith(f"{prefix}.") for prefix in prefixes)


def entries(text: str) -> tuple[str, ...]:
    """The full names of the entries that stand in one row."""
    return tuple(name if lies_in(name, "certs") else f"webhook.{name}" for name in text.split(" · "))


def house(rows: str, apart: Mapping[str, str]) -> House:
    """The house that a table of rows and one of what stands apart describe."""
    numbered = enumerate([*rows.replace(PURE, "").splitlines(), "__version__"])
    return House(
        {entry: number for number, row in numbered for entry in entries(row)},
        rows.partition(PURE)[0].count("\n"),
        {entries(name)[0]: entries(users) for name, users in apart.items()},
    )


HOUSE = house(ROWS, APART)


def sources(root: Path = ROOT) -> dict[str, str]:
    """The source of every module of ours by its dotted name; that of a package is `package.__init__`."""
    paths = [path for top in ("webhook", "certs") for path in sorted((root / top).rglob("*.py"))]
    return {".".join(path.relative_to(root).with_suffix("").parts): path.read_text("utf-8") for path in paths}


def is_ours(name: str) -> bool:
    """Whether a dotted name is one of the project's, and not one of a library."""
    return lies_in(name, "webhook", "certs")


def entry_of(name: str, where: House = HOUSE) -> str:
    """The entry that a dotted name belongs to, empty for what has none."""
    return max((entry for entry in (*where.rows, *where.apart) if lies_in(name, entry)), key=len, default="")


def is_pure(module: str, where: House = HOUSE) -> bool:
    """Whether a module stands in the pure half."""
    return where.rows.get(entry_of(module, where), -1) >= where.pure_from


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Every node of a module; those in functions and under TYPE_CHECKING are among them."""
    return tuple(ast.walk(ast.parse(source)))


def bindings(module: str, source: str) -> Iterator[tuple[str, str, str]]:
    """For each name imported: the name in full, the local name bound, and what that one stands for in full."""
    for node in nodes(source):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.name, alias.asname or bound, bound
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".")[: -node.level] if node.level else []
            for alias in node.names:
                name = ".".join([*package, *filter(None, [node.module]), alias.name])
                yield name, alias.asname or alias.name, name


def imports(module: str, source: str) -> list[str]:
    """Every name that a module imports, in full."""
    return [name for name, _, _ in bindings(module, source)]


def misdirected(module: str, source: str, where: House = HOUSE) -> list[str]:
    """The imports of a module that point up, sideways, or to where it has no business."""
    names = imports(module, source)
    if module == "webhook.__init__":
        return names
    return [name for name in names if is_ours(name) and not _may_import(module, name, where)]


def _may_import(module: str, name: str, where: House) -> bool:
    own, other = entry_of(module, where), entry_of(name, where)
    if own == other:
        return own != ""
    if other in where.apart:
        return lies_in(module, *where.apart[other])
    return own in where.rows and where.rows[own] < where.rows.get(other, -1)


def misused(module: str, source: str, where: House = HOUSE) -> list[str]:
    """The names that a module uses of libraries and builtins, and may not; the longest form of each."""
    pure = is_pure(module, where)
    found = {name for name in _used(module, source) if not is_ours(name) and not _may_use(module, name, pure)}
    return sorted(name for name in found if not any(lies_in(longer, name) for longer in found - {name}))


def _used(module: str, source: str) -> Iterator[str]:
    """Each name that is imported, is read of an import, or is a builtin that reaches outside, in full."""
    known = {name: f"builtins.{name}" for name in IMPURE_BUILTINS}
    for name, local, bound in bindings(module, source):
        known[local] = bound
        yield name
    for node in nodes(source):
        local, dot, rest = _dotted(node).partition(".")
        if local in known:
            yield f"{known[local]}{dot}{rest}"


def _dotted(node: ast.AST) -> str:
    """`a.b.c` for a name that is read, or an attribute of one; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return f"{value}.{node.attr}" if (value := _dotted(node.value)) else ""
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else ""


def _may_use(module: str, name: str, pure: bool) -> bool:
    library = max((library for library in USERS if lies_in(name, library)), key=len, default="")
    if library and not lies_in(module, *entries(USERS[library])):
        return False
    if not pure:
        return bool(library) or name.partition(".")[0] in sys.stdlib_module_names
    # What a module imports can be read as its attribute (`json.codecs.open`) and is not granted with it.
    granted = max((grant for grant in (*PURE_NAMES, *USERS) if lies_in(name, grant)), key=len, default="")
    inside = name.removeprefix(granted).split(".")
    return granted != "" and not any(part.lstrip("_") in sys.stdlib_module_names for part in inside)


def graph(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """The modules that each one imports; what discovers modules imports all that lie beside it."""
    edges = {}
    for module, source in modules.items():
        names, folder = imports(module, source), module.rpartition(".")[0]
        beside = {other for other in modules if lies_in(other, folder)} - {module, f"{folder}.__init__"}
        edges[module] = {found for name in names if (found := _module_of(name, modules))}
        edges[module] |= beside if any(lies_in(name, *DISCOVERY) for name in names) else set()
    return edges


def _module_of(name: str, modules: Mapping[str, str]) -> str:
    """The module that a name is or is read from: what is no submodule of a package is from its `__init__`."""
    while name and not {name, f"{name}.__init__"} & modules.keys():
        name = name.rpartition(".")[0]
    return name if name in modules or not name else f"{name}.__init__"


def cycles(modules: Mapping[str, str]) -> set[str]:
    """The sets of modules of which each imports all others, by whatever way: their names, in order."""
    reach = graph(modules)
    for through in reach:
        for found in reach.values():
            found |= reach[through] if through in found else set()
    return {
        " ".join(sorted(other for other in found if module in reach[other]))
        for module, found in reach.items()
        if module in found
    }
