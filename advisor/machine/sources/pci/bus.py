"""The PCI bus as sysfs shows it: what each function is, what lies above it, its links, and which NUMA nodes it is local to."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

from advisor.errors import BadInput
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.devices import Link, Locality
from advisor.machine.hosts.base import Why
from advisor.machine.sources.pci.spec import (
    ADDRESS,
    HOST_BRIDGE,
    Edge,
    addresses,
    edges,
    hierarchy,
    link,
    narrowest,
    root_bus,
    speed,
    width,
)
from advisor.machine.sources.reader import Reader
from advisor.machine.value import number


class Nodes(NamedTuple):
    """The NUMA nodes and their CPUs; empty where the host does not show them."""

    cpus: Mapping[int, CpuSet]
    online: CpuSet | None = None

    def within(self, cpus: CpuSet) -> tuple[int, ...]:
        """Return the nodes whose CPUs lie inside the given ones, else the node that holds them all, else ()."""
        own = {node: mine for node, mine in self.cpus.items() if mine}
        inside = tuple(sorted(node for node, mine in own.items() if mine <= cpus))
        return inside or tuple(sorted(node for node, mine in own.items() if cpus and cpus <= mine))


class Clues(NamedTuple):
    """What is known of a device and of its neighbourhood."""

    node: int | None
    """Its numa_node."""
    cpus: CpuSet | None = None
    """Its local_cpulist."""
    above: tuple[tuple[str, int | None], ...] = ()
    """The bridges above it and their numa_node, the nearest first."""
    beside: Callable[[], Mapping[str, int]] = dict
    """The numa_node of other devices under the same root bus; asked for last, because it takes many reads."""


def locality(clues: Clues, nodes: Nodes) -> Locality:
    """Return where a device is; no nodes, and the reason, where nothing says so.

    numa_node is -1 where the firmware gives the root bridge no _PXM: that is not node 0.
    """
    if _exists(clues.node, nodes):
        return _told(clues, nodes)
    for step in (_above, _by_cpus, _beside, _only):
        found, because = step(clues, nodes)
        if found:
            return Locality(numa_nodes=found, inferred=f"{_lacks(clues.node)}; {because}")
    return Locality(numa_nodes=(), inferred=f"{_lacks(clues.node)}, and nothing around it says where it is")


def _exists(node: int | None, nodes: Nodes) -> bool:
    return node is not None and node >= 0 and (not nodes.cpus or node in nodes.cpus)


def _lacks(node: int | None) -> str:
    if node is None:
        return "numa_node is absent"
    return "numa_node is -1" if node < 0 else f"numa_node {node} does not exist"


def _told(clues: Clues, nodes: Nodes) -> Locality:
    node = clues.node or 0
    wide = nodes.within(clues.cpus) if _limits(clues.cpus, nodes) and clues.cpus else ()
    if node in wide and len(wide) > 1:
        return Locality(numa_nodes=wide, inferred=f"numa_node is {node}; local_cpulist {clues.cpus} covers several nodes")
    return Locality(numa_nodes=(node,))


def _limits(cpus: CpuSet | None, nodes: Nodes) -> bool:
    """Return whether the CPUs are fewer than all: without a node the kernel lists every CPU online, which says nothing."""
    everyone = nodes.online if nodes.online is not None else union(nodes.cpus.values())
    return bool(cpus) and cpus is not None and (cpus & everyone) < everyone


def _above(clues: Clues, nodes: Nodes) -> tuple[tuple[int, ...], str]:
    for address, node in clues.above:
        if node is not None and _exists(node, nodes):
            return (node,), f"{address} above it is on node {node}"
    return (), ""


def _by_cpus(clues: Clues, nodes: Nodes) -> tuple[tuple[int, ...], str]:
    if clues.cpus is None or not _limits(clues.cpus, nodes):
        return (), ""
    return nodes.within(clues.cpus), f"local_cpulist is {clues.cpus}"


def _beside(clues: Clues, nodes: Nodes) -> tuple[tuple[int, ...], str]:
    told = {address: node for address, node in clues.beside().items() if _exists(node, nodes)}
    if len(set(told.values())) != 1:
        return (), ""
    address, node = min(told.items())
    return (node,), f"{address} under the same root bus is on node {node}"


def _only(clues: Clues, nodes: Nodes) -> tuple[tuple[int, ...], str]:
    del clues
    own = tuple(node for node, mine in nodes.cpus.items() if mine)
    return (own, f"node {own[0]} is the only node") if len(own) == 1 else ((), "")


DEVICES = "/sys/bus/pci/devices"
_NODES = "/sys/devices/system/node"
_ONLINE = "/sys/devices/system/cpu/online"

_NODE = re.compile(r"node(\d{1,7})", re.ASCII)

LOCALITY_PATHS = (
    f"{DEVICES}/*@",
    f"{DEVICES}/*/numa_node",
    f"{DEVICES}/*/local_cpulist",
    f"{DEVICES}/*/local_cpus",
    f"{_NODES}/node*/cpulist",
    f"{_NODES}/node*/cpumap",
    _ONLINE,
)
"""What the place of a device is known from."""


def unseen(reader: Reader, fact: str, folder: str) -> None:
    """Note that a folder of sysfs is not there: on the machine itself it has none, elsewhere nobody kept it."""
    reader.missed(fact, folder, Why.ABSENT if reader.host.kind == "live" else Why.NOT_KEPT)


class Bus:
    """The PCI functions of a host; a file is read when its fact is asked for."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._paths: dict[str, str] = {}

    @cached_property
    def addresses(self) -> tuple[str, ...] | None:
        """Every function, or None where the host shows no PCI bus."""
        host = self._reader.host
        if host.real(DEVICES) is None:
            return None
        return tuple(name for name in host.list(DEVICES) if ADDRESS.fullmatch(name))

    @cached_property
    def nodes(self) -> Nodes:
        """The NUMA nodes of the host."""
        found = {
            int(match[1]): self._cpus(f"{_NODES}/{name}", "cpulist", "cpumap") or CpuSet()
            for name in self._reader.host.list(_NODES)
            if (match := _NODE.fullmatch(name))
        }
        return Nodes(dict(sorted(found.items())), self._online)

    @property
    def _online(self) -> CpuSet | None:
        return _parsed(self._reader.text(_ONLINE), CpuSet.parse)

    def text(self, address: str, name: str) -> str | None:
        """Return the text of one attribute of a function."""
        return self._reader.text(f"{DEVICES}/{address}/{name}")

    def number(self, address: str, name: str) -> int | None:
        """Return the number that an attribute of a function holds."""
        return number(self.text(address, name))

    def path(self, address: str) -> str:
        """Return where the function hangs: its place below /sys/devices, or its own folder where links are lost."""
        if address not in self._paths:
            place = f"{DEVICES}/{address}"
            real = self._reader.host.real(place) or place
            self._paths[address] = real if real.endswith(f"/{address}") else place
        return self._paths[address]

    def upstream(self, address: str) -> tuple[str, ...] | None:
        """Return the host bridges and bridges above a function, the root's side first; None where links are lost."""
        above, _, own = self.path(address).rpartition("/")
        found = tuple(part.lower() for part in above.split("/") if ADDRESS.fullmatch(part) or HOST_BRIDGE.fullmatch(part))
        return found if found and own else None

    def link(self, address: str, which: str) -> Link | None:
        """Return the ``current`` or the ``max`` link of a function."""
        return link(
            speed(self.text(address, f"{which}_link_speed")),
            width(self.number(address, f"{which}_link_width")),
        )

    def narrowest(self, address: str) -> tuple[Link | None, str | None]:
        """Return the narrowest link between the root and a function, and the port above it if it limits the card."""
        pairs = edges(hierarchy(self.path(address)))
        return narrowest([Edge(upper, self.link(upper, "max"), self.link(lower, "max")) for upper, lower in pairs])

    def locality(self, address: str) -> Locality:
        """Return the NUMA nodes that a function is local to."""
        above = tuple((bridge, self.number(bridge, "numa_node")) for bridge in reversed(addresses(self.path(address))[:-1]))
        clues = Clues(
            node=self.number(address, "numa_node"),
            cpus=self._cpus(f"{DEVICES}/{address}", "local_cpulist", "local_cpus"),
            above=above,
            beside=lambda: self._told.get(root_bus(self.path(address)) or "", {}),
        )
        return locality(clues, self.nodes)

    @cached_property
    def _told(self) -> dict[str, dict[str, int]]:
        """The numa_node of every function that has one, by root bus."""
        told: dict[str, dict[str, int]] = {}
        for address in self.addresses or ():
            node = self.number(address, "numa_node")
            if node is not None and node >= 0:
                told.setdefault(root_bus(self.path(address)) or "", {})[address] = node
        return told

    def _cpus(self, folder: str, listed: str, masked: str) -> CpuSet | None:
        # Kernels before 2.6.28 have only the mask.
        found = _parsed(self._reader.text(f"{folder}/{listed}"), CpuSet.parse)
        return found if found is not None else _parsed(self._reader.text(f"{folder}/{masked}"), CpuSet.from_mask)


def _parsed(text: str | None, parse: Callable[[str], CpuSet]) -> CpuSet | None:
    try:
        return None if text is None else parse(text)
    except BadInput:
        return None
