"""What a Pod needs of a kubelet, by version."""

from __future__ import annotations

import pytest

from evenkeel.scheduler.declared_features import required_features
from webhook.kubernetes.features import features

RESTARTING = {"restartPolicyRules": [{"action": "Restart"}, {"action": "RestartAllContainers"}]}


@pytest.mark.parametrize(
    ("spec", "minor", "names"),
    [
        ({"containers": [RESTARTING]}, 36, {"RestartAllContainersOnContainerExits"}),
        ({"containers": [{}], "initContainers": [RESTARTING]}, 37, {"RestartAllContainersOnContainerExits"}),
        ({"containers": [RESTARTING]}, 35, set()),
        ({"containers": [{"restartPolicyRules": [{"action": "Restart"}]}]}, 37, set()),
        ({"hostNetwork": True, "hostUsers": False}, 37, {"UserNamespacesHostNetworkSupport"}),
        ({"hostNetwork": True}, 37, set()),
        ({"hostUsers": False}, 37, set()),
        ({"containers": [{"volumeMounts": [{}, {"bindMountOptions": ["nosuid"]}]}]}, 37, {"VolumeBindMountOptions"}),
        ({"containers": [{"volumeMounts": [{"bindMountOptions": ["nosuid"]}]}]}, 36, set()),
        ({}, 37, set()),
    ],
    ids=str,
)
def test_a_pod_needs_the_features_that_its_version_knows(spec, minor, names):
    assert names == required_features(spec, features(minor))
