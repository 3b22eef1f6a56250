"""A Pod that is to be placed, read from JSON."""

from __future__ import annotations

from evenkeel.scheduler.incoming import read_incoming_pod
from webhook.kubernetes.features import LATEST, features
from webhook.kubernetes.fields import path_text
from webhook.kubernetes.reader import Reader
from webhook.spread.taints import Toleration


def test_what_a_pod_asks():
    raw = {
        "metadata": {"namespace": "shop", "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "tolerations": [{"key": "x", "operator": "Exists"}]},
    }
    found = read_incoming_pod(Reader(), raw, LATEST)

    assert ("shop", {"app": "web"}, "n1") == (found.namespace, found.labels, found.node_name)
    assert (Toleration("x", "Exists", "", ""),) == found.tolerations


def test_what_has_a_wrong_type_is_named_and_reads_as_absent():
    reader = Reader()
    spec = {"nodeSelector": "x", "affinity": [], "tolerations": [{"key": 5}, None], "nodeName": 7}
    found = read_incoming_pod(reader, {"metadata": {"labels": []}, "spec": spec}, LATEST)

    assert ("", {}, "", None) == (found.namespace, found.labels, found.node_name, found.preferred)
    assert [
        "metadata.labels",
        "spec.nodeSelector",
        "spec.affinity",
        "spec.tolerations[0].key",
        "spec.nodeName",
    ] == list(dict.fromkeys(path_text(error.path) for error in reader.errors))


def test_its_requests_are_those_of_the_version():
    raw = {"spec": {"containers": [{}], "resources": {"requests": {"cpu": "2"}}, "overhead": {"cpu": "1"}}}

    assert [1000, 3000] == [
        read_incoming_pod(Reader(), raw, counted).requests.milli_cpu for counted in (features(33), features(34))
    ]


def test_a_request_that_cannot_be_read_is_named():
    reader = Reader()
    raw = {"spec": {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}}
    found = read_incoming_pod(reader, raw, LATEST)

    assert ["spec.containers[0].resources.requests.cpu"] == [path_text(error.path) for error in reader.errors]
    assert 0 == found.requests.milli_cpu
