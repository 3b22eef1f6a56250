"""The ports of a node that a Pod takes: a node gives each of them to one Pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from webhook.kubernetes.names import RESTART_ALWAYS
from webhook.kubernetes.reader import Reader

ANY_ADDRESS, TCP = "0.0.0.0", "TCP"


class HostPort(NamedTuple):
    """A port of a node, of a protocol, at one of the node's addresses or at ANY_ADDRESS."""

    address: str
    protocol: str
    port: int

    def conflicts(self, other: HostPort) -> bool:
        """
        Whether two Pods of one node cannot have both ports.

        upstream: types.go:HostPortInfo.CheckConflict (v1.37)
        """
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)

    def __str__(self) -> str:
        address = "" if self.address == ANY_ADDRESS else f" on {self.address}"
        return f"{self.port}/{self.protocol}{address}"


def read_host_ports(reader: Reader, spec: Mapping[str, object]) -> tuple[HostPort, ...]:
    """
    Return the host ports in the spec of a raw Pod: those of containers and of sidecars.

    upstream: utils.go:GetHostPorts (v1.37)
    """
    return tuple(_host_ports(reader, spec))


def _host_ports(reader: Reader, spec: Mapping[str, object]) -> Iterator[HostPort]:
    for name in ("initContainers", "containers"):
        for container, path in reader.mappings(spec.get(name), ("spec", name)):
            if not container.get("ports") or (
                name == "initContainers" and container.get("restartPolicy") != RESTART_ALWAYS
            ):
                continue
            for port, port_path in reader.mappings(container.get("ports"), (*path, "ports")):
                number = reader.integer(port.get("hostPort"), port_path, "hostPort") or 0
                if number > 0:
                    address = reader.string(port.get("hostIP"), port_path, "hostIP") or ANY_ADDRESS
                    yield HostPort(address, reader.string(port.get("protocol"), port_path, "protocol") or TCP, number)
