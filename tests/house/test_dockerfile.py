"""What can be told of the image without an engine that builds it; tests/e2e/test_image.py takes its steps."""

from __future__ import annotations

import re

from tests.image.engine import MACHINES
from tests.support.dockerfile import FILE, of, stages
from webhook import __version__
from webhook.server.settings import SETTINGS
from webhook.server.transport.worker import ARENA_MAX, MMAP_THRESHOLD

STAGES = stages()
BASE, BUILD, BUILD_TOOLS, IMAGE = (STAGES[name] for name in ("base", "build", "build-tools", "image"))


def test_what_is_built_and_where_it_runs_are_of_one_python_that_is_pinned():
    """One for the machine that builds, and one for the machine that the image is for."""
    (base,) = re.findall(r"^ARG BASE=(\S+)$", FILE.read_text("utf-8"), re.MULTILINE)

    assert re.fullmatch(r"docker\.io/library/python:3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert ["${BASE} AS base"] == of(BASE, "FROM")
    assert ["--platform=${BUILDPLATFORM} ${BASE} AS build"] == of(BUILD, "FROM")


def test_whatever_is_installed_is_locked():
    """By its hashes, and never what would be built by something that is not; evenkeel itself comes from the tree."""
    _, dependencies, itself = of(BUILD, "RUN")

    assert 'locked="--no-compile --require-hashes --only-binary :all: --requirement"' in dependencies
    assert ["$platforms $locked requirements.lock", "$locked requirements-build.lock"] == re.findall(
        r" install --target \S+ (.+?)(?: &&|$)", dependencies
    )
    (tools,) = of(BUILD_TOOLS, "RUN")
    alone = "--no-compile --no-deps --no-build-isolation"
    assert [f"{alone} ."] == re.findall(r" install (.+?) &&", itself)
    assert [f"{alone} --force-reinstall ."] == re.findall(r" install (.+?) &&", tools)


def test_it_runs_as_a_user_that_kubernetes_can_tell_is_not_root():
    """runAsNonRoot is refused where a name would have to be looked up."""
    assert ["65532:65532"] == of(IMAGE, "USER")


def test_nothing_runs_in_the_final_stages():
    """So that an image for another machine is built without an emulator."""
    assert ["scratch AS image"] == of(IMAGE, "FROM")
    assert ["--from=build /image /"] == of(IMAGE, "COPY")
    for name, source in (("webhook", "build"), ("tools", "build-tools")):
        assert [f"image AS {name}"] == of(STAGES[name], "FROM")
        assert [f"--from={source} /opt/evenkeel /opt/evenkeel"] == of(STAGES[name], "COPY")
    assert [] == [run for name in ("base", "image", "webhook", "tools") for run in of(STAGES[name], "RUN")]


def test_the_webhook_is_built_where_no_target_is_named_and_has_no_tools():
    assert "webhook" == [*STAGES][-1]
    assert ["evenkeel evenkeel"] == of(BUILD_TOOLS, "COPY")
    assert not any("evenkeel" in copy.split()[:-1] for copy in of(BUILD, "COPY"))


def test_make_builds_it_for_each_machine():
    """As the tests of the image do."""
    (given,) = re.findall(r"--platform (\S+)", (FILE.parent / "Makefile").read_text("utf-8"))

    assert [f"linux/{name}" for name in MACHINES] == given.split(",")


def test_what_is_copied_is_there_and_not_ignored():
    copies = [*of(BUILD, "COPY")[1:], *of(BUILD_TOOLS, "COPY")]
    sources = {name for copy in copies for name in copy.split()[:-1]}
    kept = {line[1:] for line in (FILE.parent / ".dockerignore").read_text("utf-8").splitlines() if line[0] == "!"}

    assert sources == kept
    assert all((FILE.parent / name).exists() for name in sources)


def test_memory_is_given_back_as_elsewhere():
    (given,) = of(IMAGE, "ENV")

    assert f"MALLOC_ARENA_MAX={ARENA_MAX[1]}" in given
    assert f"MALLOC_MMAP_THRESHOLD_={MMAP_THRESHOLD[1]}" in given


def test_it_exposes_the_ports_of_the_settings():
    defaults = {setting.name: setting.default for setting in SETTINGS}

    assert [f"{defaults['bind']} {defaults['health-bind']}".replace(":", "")] == of(IMAGE, "EXPOSE")


def test_the_labels_tell_the_version():
    (labels,) = of(IMAGE, "LABEL")

    assert f'org.opencontainers.image.version="{__version__}"' in labels
