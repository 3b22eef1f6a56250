"""What kustomizations make of a file is known from those around it, and from those that build from these."""

from __future__ import annotations

import os

import pytest

from evenkeel.lint.kustomization import Change, Kustomized
from evenkeel.lint.overlays import Overlays, folders_with_kustomizations
from webhook.kubernetes.kinds import FIELD

BASE = "resources: [web.yaml]"
SPREAD = f"patches: [{{patch: 'spec: {{{FIELD}: []}}'}}]"


def read_text(file):
    try:
        with open(file) as opened:
            return opened.read()
    except (OSError, ValueError):
        return None


@pytest.fixture
def around(tmp_path, monkeypatch):
    """Write files, and tell what becomes of some of them; the folder is the top of a repository."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def around(files, *asked):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        overlays = Overlays(asked or files, read_text)
        return sorted(overlays.patches), overlays.kustomized

    return around


def change(built, file):
    return built.get(file, Kustomized()).change


def test_a_kustomization_in_a_folder_above_names_patches(around):
    files = {"prod/kustomization.yaml": "patches: [{path: patches/a.yaml}]", "prod/patches/a.yaml": ""}

    assert ["prod/patches/a.yaml"] == around(files, "prod/patches/a.yaml")[0]


def test_one_above_the_repository_is_not_read(around, tmp_path):
    (tmp_path.parent / "kustomization.yaml").write_text(f"patches: [{{path: {tmp_path.name}/a.yaml}}]")

    assert [] == around({"a.yaml": ""})[0]


def test_a_file_is_changed_by_every_kustomization_that_builds_from_it(around):
    files = {
        "base/kustomization.yml": BASE,
        "base/web.yaml": "",
        "base/beside.yaml": "",
        "prod/kustomization.yaml": "resources: [../base]\ncommonLabels: {b: x}",
        "all/Kustomization": "bases: [../prod]",
        "other/kustomization.yaml": f"resources: [.]\n{SPREAD}",
    }
    assert Change.AROUND is change(around(files)[1], "base/web.yaml")
    assert Change.NOTHING is change(around(files)[1], "base/beside.yaml")

    files["all/Kustomization"] += f"\n{SPREAD}"

    assert Change.CONSTRAINTS is change(around(files)[1], "base/web.yaml")


def test_a_component_changes_what_stands_beside_it_and_what_it_brings(around):
    files = {
        "prod/kustomization.yaml": "resources: [web.yaml]\ncomponents: [../one, ../part]",
        "prod/web.yaml": "",
        "one/kustomization.yaml": SPREAD,
        "part/kustomization.yaml": "resources: [own.yaml]",
        "part/own.yaml": "",
    }
    _, built = around(files, "prod/web.yaml", "part/own.yaml")

    assert Change.CONSTRAINTS is change(built, "prod/web.yaml") is change(built, "part/own.yaml")


def test_a_patch_is_changed_by_what_builds_from_its_own_kustomization(around):
    """So is what stands in a kustomization; what its charts make is changed by itself, too."""
    files = {
        "base/kustomization.yaml": f"{BASE}\npatches: [{{path: a.yaml}}]\ntransformers: [b]",
        "base/a.yaml": "",
        "prod/kustomization.yaml": "resources: [../base]\ncommonLabels: {b: x}",
        "charts/kustomization.yaml": "helmCharts: [{name: a}]\ntransformers: [b]",
    }
    patches, built = around(files)

    assert ["base/a.yaml"] == patches
    assert Change.AROUND is change(built, "base/a.yaml") is change(built, "base/kustomization.yaml")
    assert Change.CONSTRAINTS is change(built, "charts/kustomization.yaml")


def test_a_patch_is_in_the_namespace_that_its_own_kustomization_gives(around):
    files = {"kustomization.yaml": f"{BASE}\npatches: [{{path: a.yaml}}]\nnamespace: shop", "a.yaml": ""}
    _, built = around(files)

    assert "shop" == built["a.yaml"].namespace == built["kustomization.yaml"].namespace


def test_kustomizations_that_share_many_others_take_no_long_time(around):
    """There are two to the power of forty ways through these, and as many orders of components."""
    files = {"0/kustomization.yaml": "resources: [web.yaml]", "0/web.yaml": ""}
    for i in range(1, 40):
        both = f"[../{i}a, ../{i}b]"
        files[f"{i}/kustomization.yaml"] = f"resources: {both}\ncomponents: [../part{i}]"
        files |= {f"{i}{one}/kustomization.yaml": f"resources: [../{i - 1}]" for one in "ab"}
        files[f"part{i}/kustomization.yaml"] = f"components: [../part{i + 1}, ../part{i + 1}]"
    files["part40/kustomization.yaml"] = "commonLabels: {a: x}"
    _, built = around(files)

    assert Change.AROUND is change(built, "0/web.yaml")


@pytest.mark.parametrize(
    ("namespaces", "found"),
    [
        ({}, ""),
        ({"base": "one"}, "one"),
        ({"base": "one", "prod": "two"}, "two"),
        ({"base": "one", "prod": "two", "test": "two"}, "two"),
        ({"base": "one", "prod": "two", "test": "three"}, ""),
        ({"base": "one", "prod": "two", "test": ""}, ""),
    ],
)
def test_the_outermost_namespace_counts(around, namespaces, found):
    files = {"base/kustomization.yaml": BASE, "base/web.yaml": ""}
    files |= {f"{name}/kustomization.yaml": "resources: [../base]" for name in namespaces if name != "base"}
    files = {
        name: f"{text}\nnamespace: {one}" if (one := namespaces.get(name.partition("/")[0])) and text else text
        for name, text in files.items()
    }

    assert found == around(files)[1].get("base/web.yaml", Kustomized()).namespace


def test_kustomizations_in_a_circle_end(around):
    files = {
        "a/kustomization.yaml": "resources: [../b, web.yaml]\ncomponents: [../b, .]\ncommonLabels: {a: x}",
        "b/kustomization.yaml": "resources: [../a]\ncommonLabels: {b: x}",
        "a/web.yaml": "",
    }

    assert Change.AROUND is change(around(files)[1], "a/web.yaml")


def test_components_in_a_circle_end(around):
    files = {
        "a/kustomization.yaml": "resources: [web.yaml]\ncomponents: [../b]\ncommonLabels: {a: x}",
        "b/kustomization.yaml": "components: [../c]",
        "c/kustomization.yaml": "components: [../b]",
        "a/web.yaml": "",
    }

    assert Change.AROUND is change(around(files)[1], "a/web.yaml")


def test_what_cannot_be_found_is_left_out(around):
    files = {
        "kustomization.yaml": "resources: [nowhere, 'https://example.com/x', \"a\\0b\"]\npatches: [{path: no.yaml}]"
    }

    assert ([], {}) == around(files)


def test_no_more_is_asked_of_files_that_no_kustomization_names(around, monkeypatch):
    """There are many such, and nothing is found out of one by one."""
    asked = []
    monkeypatch.setattr(Overlays, "_kustomized", lambda _, path: asked.append(path) or Kustomized())
    around({"base/kustomization.yaml": BASE, "base/web.yaml": "", "a/a.yaml": "", "a/b.yaml": ""})

    assert ["kustomization.yaml", "web.yaml"] == sorted(map(os.path.basename, asked))


def test_what_no_other_builds_from_is_built_from_all_that_it_names(around):
    files = {
        "base/kustomization.yml": f"{BASE}\npatches: [{{path: web-patch.yaml}}]",
        "base/web.yaml": "",
        "base/web-patch.yaml": "",
        "base/beside.yaml": "",
        "part/kustomization.yaml": "kind: Component\nresources: [more.yaml]",
        "part/more.yaml": "",
        "prod/kustomization.yaml": "resources: [../base, 'https://example.com/x']\ncomponents: [../part]",
        "alone/kustomization.yaml": "kind: Component",
        "other/kustomization.yaml": "resources: [../base]",
    }
    around(files)
    sources = ("base/kustomization.yml", "base/web-patch.yaml", "base/web.yaml")
    with_part = (*sources, "part/kustomization.yaml", "part/more.yaml", "prod/kustomization.yaml")
    without_other = [file for file in files if not file.startswith("other")]

    every = {"prod/kustomization.yaml", "other/kustomization.yaml"}

    assert {"prod/kustomization.yaml": with_part} == Overlays(without_other, read_text).roots
    assert every == Overlays(files, read_text).roots.keys() == Overlays(files, read_text).built_by["base/web.yaml"]
    assert "base/beside.yaml" not in Overlays(files, read_text).built_by
    assert {"base/kustomization.yml": sources} == Overlays(sources[2:], read_text).roots
    assert every == Overlays(sources[2:], read_text, ["prod", "other"]).roots.keys()


def test_folders_elsewhere_matter_only_beside_a_kustomization(around, tmp_path):
    around(
        {"base/kustomization.yaml": BASE, "base/web.yaml": "", "alone/web.yaml": "", ".hidden/kustomization.yaml": ""}
    )
    around(
        {
            "prod/deep/Kustomization": "resources: [../../base]\ncommonLabels: {a: x}",
            "node_modules/kustomization.yml": "",
        }
    )
    folders = [*folders_with_kustomizations(str(tmp_path))]
    asked = []

    assert ["base", "prod/deep"] == sorted(os.path.relpath(folder, tmp_path) for folder in folders)
    assert Change.AROUND is change(Overlays(["base/web.yaml"], read_text, folders).kustomized, "base/web.yaml")
    assert Change.NOTHING is change(Overlays(["base/web.yaml"], read_text).kustomized, "base/web.yaml")
    assert {} == Overlays(["alone/web.yaml"], read_text, (asked.append(folder) or folder for folder in folders)).roots
    assert [] == asked
