"""
How the code reads: names of files, bindings, constants and classes, and how docstrings begin.

`python -m tests.house.words [FOLDER]` prints the places that break a rule, and those that a reader may want to name
better, by file and line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.house.layers import sources
from tests.support import ROOT

# Words that point at a thing and do not name it.
POINTING = frozenset({"one", "found", "those"})
# Words that may be the right name, and often are not: printed for a reader, and refused by no test.
VAGUE = frozenset({"item", "result", "each", "kept", "left", "known", "given", "made", "there", "what", "which"})
FILE_NAMES = frozenset(
    {
        *("beside", "touched", "unsettled", "passing_over", "surroundings", "found", "helping", "judging", "lost"),
        *("makers", "made", "idle", "given", "known", "aside", "others"),
    }
)
# With which the docstring of a function begins.  Add the verb that says what yours does; a word that is a noun as often
# ("Number of Pods") does not belong here.
_VERBS = """
    Accept Add Adjust Allow Answer Append Apply Arrange Ask Assign Assume Backdate Begin Bind Block Break Build Cache
    Call Cancel Carry Check Choose Clean Clear Close Collect Combine Compare Compile Complete Compute Configure Connect
    Consume Continue Convert Copy Correct Count Create Cut Decide Declare Decode Decrement Defer Define Delay Delete
    Deliver Deny Derive Describe Detect Determine Disconnect Distribute Divide Do Draw Drop Dump Emit Encode End
    Enforce Ensure Enter Escape Estimate Evaluate Evict Examine Exclude Exempt Exit Expand Expect Explain Export
    Express Extend Extract Fail Fetch Fill Filter Find Finish Follow Forbid Forget Fork Format Forward Generate Get
    Give Group Handle Have Hold Identify Ignore Import Include Increment Inform Insert Inspect Install Intern Interpret
    Invert Issue Iterate Join Judge Keep Label Leave Let List Listen Load Locate Lock Log Look Lower Make Map Mark
    Match Measure Merge Move Name Narrow Normalize Note Observe Omit Open Pack Pad Pair Parse Pass Patch Plan Poll
    Prepare Print Proceed Produce Propose Publish Put Quote Raise Read Rebuild Receive Record Reduce Refresh Refuse
    Register Reject Release Reload Remember Remove Rename Render Renew Repair Replace Replay Report Request Require
    Reserve Reset Resolve Respond Restart Restore Resume Return Reuse Review Rewrite Rotate Round Run Save Scale Scan
    Schedule Score Search Select Send Separate Serialize Serve Set Settle Shorten Show Shut Sign Simulate Skip Sleep
    Sort Split Spread Start Stop Store Strip Subtract Suggest Sum Suspend Swap Take Tell Terminate Test Track Translate
    Treat Try Unpack Update Use Validate Verify Wait Wake Walk Warn Watch Widen Withdraw Wrap Write Yield
"""
VERBS = frozenset(_VERBS.split())


# Capital letters in docstrings that are no constant: abbreviations, and placeholders on a command line.
ABBREVIATIONS = frozenset(
    {
        *("ANSI", "CEL", "CHART", "CRD", "DNS", "EFFECT", "EVENKEEL_LOG_LEVEL", "FILE", "FOLDER", "GET", "HOST"),
        *("HTTP", "JSON", "KEDA", "NUMBER", "PORT", "POST", "RANDOM", "REPLICAS", "RFC", "RST", "SARIF", "SHA"),
        *("TLS", "TYPE", "UID", "URI", "URL", "UTF", "VALUE", "WSGI", "XML", "YAML"),
    }
)
_POINTING_WORDS = frozenset({"what", "those", "one", "how", "it", "that"})
_CAPITALS = re.compile(r"\b[A-Z][A-Z_]{2,}\b")


class Place(NamedTuple):
    """Where a rule is broken: a file below the root, a line, and what stands there."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


def modules(root: Path = ROOT) -> Iterator[tuple[str, ast.Module]]:
    """Yield each module of the code with its path below the root."""
    for name, source in sources(root).items():
        yield f"{name.replace('.', '/')}.py", ast.parse(source)


def pointing_files(root: Path = ROOT) -> list[str]:
    """Return the files that are named by a word that names nothing."""
    return [file for file, _ in modules(root) if Path(file).stem in FILE_NAMES]


def pointing_bindings(file: str, tree: ast.Module, words: frozenset[str] = POINTING) -> Iterator[Place]:
    """Yield the local variables and parameters that are named by one of the words; fields of classes may be."""
    fields = {id(node) for cls in ast.walk(tree) if isinstance(cls, ast.ClassDef) for node in _targets(cls)}
    for node in ast.walk(tree):
        name = None
        if isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            name = node.id
        elif isinstance(node, ast.MatchAs | ast.MatchStar):
            name = node.name
        if name and name.strip("_") in words:
            yield Place(file, node.lineno, f"binds {name}")


def _targets(cls: ast.ClassDef) -> Iterator[ast.AST]:
    for statement in cls.body:
        if isinstance(statement, ast.AnnAssign):
            yield statement.target
        elif isinstance(statement, ast.Assign):
            yield from statement.targets


def docstrings_without_verb(file: str, tree: ast.Module) -> Iterator[Place]:
    """Yield the docstrings of functions that begin with no verb; rules and properties are named like their value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any(map(_is_exempt, node.decorator_list)):
            text = ast.get_docstring(node) or ""
            first = text.split(None, 1)[0].rstrip(".,:;") if text else ""
            if text and first not in VERBS:
                yield Place(file, node.lineno, f"{node.name}: {text.splitlines()[0]}")


def vague_docstrings(file: str, tree: ast.Module) -> Iterator[Place]:
    """Yield the docstrings that begin with a verb and then point at a thing, for a reader who may name it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            if text.split()[1:2] and text.split()[1].rstrip(",") in _POINTING_WORDS:
                yield Place(file, node.lineno, f"{node.name}: {text.splitlines()[0]}")


def unknown_constants(root: Path = ROOT) -> Iterator[Place]:
    """Yield the docstrings that name a constant which no module has."""
    trees = list(modules(root))
    nodes = [node for _, tree in trees for node in ast.walk(tree)]
    known = {node.id for node in nodes if isinstance(node, ast.Name)} | ABBREVIATIONS
    known |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for file, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                for name in _CAPITALS.findall(ast.get_docstring(node) or ""):
                    if name not in known:
                        yield Place(file, getattr(node, "lineno", 1), f"names {name}")


def _is_exempt(decorator: ast.expr) -> bool:
    of = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
    return name in ("rule", "property", "cached_property")


def classes_and_constants(
    root: Path = ROOT,
) -> tuple[dict[str, list[Place]], dict[str, list[Place]]]:
    """Return, by name, where each class of a module is defined, and where each constant with its value."""
    classes: dict[str, list[Place]] = defaultdict(list)
    constants: dict[str, list[Place]] = defaultdict(list)
    for file, tree in modules(root):
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(Place(file, node.lineno, node.name))
            for name, value in _assigned(node):
                if not name.startswith("__"):
                    constants[name].append(Place(file, node.lineno, ast.unparse(value)))
    return classes, constants


def _assigned(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a statement assigns, each with its value; a name of several with its own."""
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets if value else ():
        several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        pairs = zip(target.elts, value.elts, strict=True) if several else [(target, value)]
        yield from ((left.id, right) for left, right in pairs if isinstance(left, ast.Name))


def twice(root: Path = ROOT) -> dict[str, list[Place]]:
    """
    Return the classes that are defined twice, and the constants that are defined twice with different values.

    An underscore in front makes no other name, and neither does an alias of a type beside a class.
    """
    classes, constants = classes_and_constants(root)
    named: dict[str, list[Place]] = defaultdict(list)
    for name, places in classes.items():
        named[name.strip("_")] += [place._replace(what=f"class {place}") for place in places]  # Each is another value.
    for name, places in constants.items():
        named[name.strip("_")] += places
    return {name: places for name, places in named.items() if len({place.what for place in places}) > 1}


def _print(folder: str) -> None:
    for file, tree in modules():
        if file.startswith(folder):
            bindings = pointing_bindings(file, tree, POINTING | VAGUE)
            for place in (*bindings, *docstrings_without_verb(file, tree), *vague_docstrings(file, tree)):
                print(place)


if __name__ == "__main__":
    _print(sys.argv[1] if sys.argv[1:] else "")
