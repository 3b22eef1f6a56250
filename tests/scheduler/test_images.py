"""Images by the names under which kube-scheduler compares them."""

from __future__ import annotations

import pytest

from webhook.objects.reading import Reader
from webhook.scheduler import images as module
from webhook.scheduler.features import features
from webhook.scheduler.images import ImageNumbers, NodeImage, PodImages, normalized_name, read_images, read_node_images


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("web", "web:latest"),
        ("web:1", "web:1"),
        ("host:5000/web", "host:5000/web:latest"),
        ("host:5000/web:1", "host:5000/web:1"),
        ("web@sha256:ab", "web@sha256:ab"),
        ("", ":latest"),
    ],
)
def test_a_name_without_a_tag_is_that_of_the_latest(written, name):
    assert name == normalized_name(written)


@pytest.mark.parametrize(
    ("minor", "images"),
    [
        (35, PodImages(("setup:1", "web:latest", "web:latest"), 3)),
        (36, PodImages(("setup:1", "web:latest", "web:latest", "data:2"), 3)),
        (37, PodImages(("setup:1", "web:latest", "web:latest", "data:2"), 4)),
    ],
)
def test_images_that_are_mounted_count_as_each_version_counts_them(minor, images):
    spec = {
        "initContainers": [{"image": "setup:1"}],
        "containers": [{"image": "web"}, {"image": "web"}],
        "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "image": {"reference": "data:2"}}],
    }

    assert images == read_images(Reader(), spec, features(minor))


def test_the_images_of_a_node_have_all_their_names_and_equal_ones_are_one_value():
    raw = [{"names": ["a@sha256:x", "a:1"], "sizeBytes": 5}, {"names": None}]
    found, again = read_node_images(Reader(), raw, ()), read_node_images(Reader(), raw, ())

    assert (NodeImage(("a@sha256:x", "a:1"), 5), NodeImage((), 0)) == found
    assert found[0] is again[0]


WEB, DB = (NodeImage(("web:1", "web@sha256:ab"), 100),), (NodeImage(("db:1",), 100),)


def test_the_number_of_nodes_is_that_of_the_last_look_at_each():
    numbers = ImageNumbers([WEB, WEB, DB])
    numbers.look()
    numbers.change((), WEB)  # A third node comes,
    numbers.happen("n4")
    numbers.look()

    assert {2: ["n1", "n2"], 3: ["n4"]} == numbers.groups("web:1", ["n1", "n2", "n4"])

    numbers.happen("n2")  # and something happens on another, before the next decision.
    assert {2: ["n1"], 3: ["n2", "n4"]} == numbers.groups("web:1", ["n1", "n2", "n4"])
    numbers.look()
    numbers.change(WEB, DB)
    numbers.look()
    assert {2: ["n1"], 3: ["n2", "n4"]} == numbers.groups("web@sha256:ab", ["n1", "n2", "n4"])


def test_nodes_that_come_together_see_each_other():
    numbers = ImageNumbers([])
    for name in ("n1", "n2"):
        numbers.change((), WEB)
        numbers.happen(name)
    numbers.look()

    assert {2: ["n1", "n2"]} == numbers.groups("web:1", ["n1", "n2"])
    assert {0: ["n1"]} == numbers.groups("other:1", ["n1"])


def test_a_node_that_is_gone_and_comes_again_is_looked_at_anew():
    numbers = ImageNumbers([WEB, WEB])
    for _ in range(3):
        numbers.look()
        numbers.change((), WEB)
    numbers.happen("n1")
    numbers.forget("n1")
    numbers.look()

    assert {2: ["n1"]} == numbers.groups("web:1", ["n1"])


def test_only_so_many_numbers_are_kept(monkeypatch):
    monkeypatch.setattr(module, "MOST_NUMBERS", 2)
    numbers = ImageNumbers([WEB])
    for _ in range(3):
        numbers.look()
        numbers.change((), WEB)

    assert {3: ["n1"]} == numbers.groups("web:1", ["n1"])  # not 1, which is forgotten
