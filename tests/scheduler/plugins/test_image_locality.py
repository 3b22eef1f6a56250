"""A node that has the images of a Pod is better, and the more so the larger they are."""

from __future__ import annotations

import pytest

from tests.support.attempts import cycle, node, scores

MEGABYTE = 1 << 20


def having(name, **sizes):
    raw = node(name)
    images = [{"names": [f"{image}:1"], "sizeBytes": size * MEGABYTE} for image, size in sizes.items()]
    return {**raw, "status": {**raw["status"], "images": images}}


def scored(*nodes, images=("web:1",), minor=37, **spec):
    containers = [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]
    return scores(cycle(*nodes, minor=minor, containers=containers, **spec))["ImageLocality"]


def test_the_size_counts_between_what_is_small_and_what_is_large():
    """Half of the nodes have each image, so that it is worth half of its size."""
    assert {"n1": 0, "n2": 0} == scored(having("n1", web=46), having("n2"))
    assert {"n1": 48, "n2": 0} == scored(having("n1", web=1000), having("n2"))
    assert {"n1": 100, "n2": 0} == scored(having("n1", web=9000), having("n2"))


def test_what_the_first_node_reports_of_an_image_counts_for_all():
    assert {"n1": 48, "n2": 48} == scored(having("n1", web=500), having("n2", web=9000))


def test_each_container_has_its_share():
    both = scored(having("n1", web=1000, db=1000), having("n2", web=1000), images=("web:1", "db:1"))

    assert {"n1": 74, "n2": 49} == both


def test_a_name_without_a_tag_is_that_of_the_latest_one():
    assert {"n1": 0, "n2": 0} == scored(having("n1", web=1000), having("n2"), images=("web",))


@pytest.mark.parametrize(("minor", "score"), [(35, 0), (36, 48), (37, 24)])
def test_an_image_that_is_mounted_counts_as_its_version_counts_it(minor, score):
    volumes = [{"name": "data", "image": {"reference": "data:1"}}]

    assert {"n1": score, "n2": 0} == scored(having("n1", data=1000), having("n2"), minor=minor, volumes=volumes)
