"""An object comes back as it was, and takes little once another of its kind was there."""

from __future__ import annotations

import json

from tests.support.build import pod, service
from webhook.verification.compressed_objects import Compression


def test_objects_come_back_as_they_were():
    compression = Compression()
    objects = [pod(name="web-1"), service(), pod(name="wéb-2", labels={"a": "b" * 70_000}), {"kind": "Pod"}, pod()]
    lines = [compression.compressed(raw["kind"], raw) for raw in objects]

    assert objects == [compression.object(raw["kind"], line) for raw, line in zip(objects, lines, strict=True)]


def test_an_object_like_the_first_takes_little():
    compression = Compression()
    first, like = pod(name="web-1", uid="u1"), pod(name="web-2", uid="u2")

    compression.compressed("Pod", first)
    assert len(compression.compressed("Pod", like)) < len(json.dumps(like)) / 4
