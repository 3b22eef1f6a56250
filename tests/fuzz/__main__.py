"""
`python -m tests.fuzz [--seconds 60] [--corpus FOLDER] [--only TARGET…] [--seed N]`: fuzz, and say how much was given.

Exit code 1 if anything was found; the smallest input that shows it is in the corpus, and is given first the next time.
`--oracle` then gives the Pods that were patched to kube-apiserver's own code, which is built if need be, with Go.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.certificates import Certificates
from tests.fuzz.connections import Connections, server_in
from tests.fuzz.files import Dumps, Manifests, Policies
from tests.fuzz.oracle import refused
from tests.fuzz.reviews import Reviews
from tests.fuzz.running import Target, report, run
from tests.oracle.building import program
from tests.oracle.recording import ask
from tests.support import ROOT
from tests.support.kubernetes_source import NEWEST

NAMES = ("reviews", "policies", "dumps", "manifests", "certificates", "requests")


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz")
    options.add_argument("--seconds", type=float, default=60.0, help="(default: %(default)s)")
    options.add_argument("--corpus", type=Path, default=ROOT / "build" / "fuzz", help="(default: build/fuzz)")
    options.add_argument("--only", choices=NAMES, nargs="+", default=NAMES, help="these targets (default: all)")
    options.add_argument(
        "--seed", type=int, default=None, help="of the changes; what hypothesis makes is new each time"
    )
    options.add_argument("--oracle", action="store_true", help="have kube-apiserver's own code judge what was patched")
    given = options.parse_args()
    seed = secrets.randbits(32) if given.seed is None else given.seed
    print(f"seed {seed}, {given.seconds:.0f} s, corpus in {given.corpus}", flush=True)
    with ExitStack() as stack:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="evenkeel-fuzz-", dir=memory)))
        reviews = Reviews()
        targets: list[Target] = [reviews, Policies(), Dumps(folder), Manifests(folder), Certificates()]
        if "requests" in given.only:
            targets.append(Connections(stack.enter_context(server_in(folder))))
        found = run([target for target in targets if target.name in given.only], given.corpus, given.seconds, seed)
    print(report(found))
    refusals = judged(reviews) if given.oracle else []
    return 1 if refusals or any(one.failure for one in found) else 0


def judged(reviews: Reviews) -> list[str]:
    """The Pods that kube-apiserver refuses because of their patch; printed, too."""
    oracle = program(NEWEST)
    count, found = refused([*reviews.patched.values()], lambda cases: ask(oracle, "validation", cases))
    print(
        f"{count} Pods with other labels or constraints given to kube-apiserver {NEWEST}, {len(found)} refused", *found
    )
    return found


if __name__ == "__main__":
    sys.exit(main())
