"""A go that only pretends: it knows one Kubernetes, and builds what a line of shell makes."""

from __future__ import annotations

from pathlib import Path

GO_MOD = """module k8s.io/kubernetes

go 1.24.0

require (
	k8s.io/api v0.0.0
	k8s.io/klog/v2 v2.130.1
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/kube-scheduler => ./staging/src/k8s.io/kube-scheduler
)
"""
# What it answers: where Kubernetes is; which staging modules there are, as v0.33.13 or, of kube-scheduler, v0.33.11.
GO = """
case "$1 $2" in
"mod download") echo '{"Dir": "FOLDER/kubernetes", "GoMod": "FOLDER/go.mod"}';;
"list -m")
    for one; do case $one in k8s.io/api@v0.33.13|k8s.io/kube-scheduler@v0.33.11) echo "$one" | tr @ " ";; esac; done;;
build*) ls > FOLDER/laid; cp go.mod FOLDER/built.mod; [ ! -e overlay.json ] || cp overlay.json FOLDER
    echo "$@" > FOLDER/arguments; BUILD;;
esac
"""


def install(folder: Path, build: str, text: str = GO) -> None:
    """Put it into the folder, in place of one from before; a build leaves there what it was given."""
    (folder / "go.mod").write_text(GO_MOD)
    script = text.replace("FOLDER", str(folder)).replace("BUILD", build)
    (folder / "go").write_text(f"#!/bin/sh{script}")
    (folder / "go").chmod(0o755)
