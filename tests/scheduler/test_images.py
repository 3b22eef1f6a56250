"""Images by the names under which kube-scheduler compares them."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.images import NodeImage, PodImages, normalized_name, read_images, read_node_images
from webhook.kubernetes.features import features
from webhook.kubernetes.reader import Reader


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
