"""What the components are told: their flags, and the files that these name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

HOST = "127.0.0.1"
# Each user's only group. The names are those for which Kubernetes brings its own roles.
GROUPS = {"admin": "system:masters", "system:kube-controller-manager": "", "system:kube-scheduler": ""}
# These would take away Pods of nodes that have no kubelet.
SWITCHED_OFF = ("node-lifecycle-controller", "taint-eviction-controller", "pod-garbage-collector-controller")
QUICK = 1000  # requests a second, where the default keeps a rollout waiting


def flags(folder: Path, ports: Mapping[str, int]) -> dict[str, dict[str, object]]:
    """The flags of each component, by its name; `folder` is that of a ControlPlane."""
    etcd = f"http://{HOST}:{ports['etcd']}"
    certificate, key = folder / "tls.crt", folder / "tls.key"
    serving = {"bind-address": HOST, "tls-cert-file": certificate, "tls-private-key-file": key}
    user = folder / kubeconfig_name("system:kube-controller-manager")
    return {
        "etcd": {
            **{"data-dir": folder / "etcd", "listen-client-urls": etcd, "advertise-client-urls": etcd},
            **{"listen-peer-urls": f"http://{HOST}:0", "unsafe-no-fsync": True, "log-level": "warn"},
            **{"heartbeat-interval": 10, "election-timeout": 100},  # milliseconds: it is alone
        },
        "kube-apiserver": {
            **{**serving, "secure-port": ports["kube-apiserver"], "etcd-servers": etcd},
            **{"authorization-mode": "RBAC", "token-auth-file": folder / "tokens.csv"},
            **{"service-account-issuer": "https://kubernetes.default.svc", "service-account-key-file": certificate},
            **{"service-account-signing-key-file": key, "service-cluster-ip-range": "10.96.0.0/16"},
            "shutdown-watch-termination-grace-period": "1s",  # else watches over HTTP/1.1 delay its end by a minute
            "endpoint-reconciler-type": "none",  # a loopback address must not be an endpoint
        },
        "kube-controller-manager": {
            **{**serving, "secure-port": ports["kube-controller-manager"], "leader-elect": False, "kubeconfig": user},
            **{"use-service-account-credentials": True, "service-account-private-key-file": key},
            **{"controllers": ",".join(["*", *(f"-{name}" for name in SWITCHED_OFF)])},
            **{"kube-api-qps": QUICK, "kube-api-burst": QUICK, "horizontal-pod-autoscaler-sync-period": "1s"},
        },
        "kube-scheduler": {
            **{**serving, "secure-port": ports["kube-scheduler"], "config": folder / "scheduler.json"},
        },
    }


def kubeconfig_name(user: str) -> str:
    return f"{user.rpartition(':')[2]}.kubeconfig"


def kubeconfig(folder: Path, port: int, user: str, token: str) -> dict:
    """The kubeconfig of one user; JSON is YAML."""
    cluster = {"server": f"https://{HOST}:{port}", "certificate-authority": str(folder / "ca.crt")}
    return {
        **{"apiVersion": "v1", "kind": "Config", "current-context": "e2e"},
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": user}}],
    }


def tokens(tokens: Mapping[str, str]) -> str:
    """The API server's file of static tokens: token, user, uid, groups."""
    return "".join(f'{token},{user},{user},"{GROUPS[user]}"\n' for user, token in tokens.items())


def scheduler(folder: Path, fields: Mapping[str, object]) -> dict:
    """A KubeSchedulerConfiguration; `fields`, such as `profiles`, are the caller's."""
    connection = {"kubeconfig": str(folder / kubeconfig_name("system:kube-scheduler")), "qps": QUICK, "burst": QUICK}
    return {
        **{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"},
        **{"clientConnection": connection, "leaderElection": {"leaderElect": False}, **fields},
    }
