"""Prints qemu's arguments for an emulated server, one a line, and writes its tables beside them.

``python -m tests.emulated.machine SERVER FOLDER QEMU-MAJOR-VERSION``
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.emulated.servers import SERVERS, Server, cpus
from tests.emulated.tables import MADT_IN_INITRD, cpio, madt, structures

Option = tuple[str, str]


@dataclass(frozen=True)
class Modules:
    """How qemu is told of L3 groups: as modules of two to a die from version 10 on, before that as dies."""

    used: bool
    per_die: int

    @classmethod
    def of(cls, server: Server, major: int) -> "Modules":
        """Return how a version of qemu is told of a server's L3 groups."""
        used = major >= 10 and server.groups > 1
        return cls(used, 2 if used else 1)

    def place(self, server: Server, socket: int, group: int) -> str:
        """Return an L3 group's place in qemu's words."""
        die = f",die-id={group // self.per_die}" if server.groups > self.per_die else ""
        return f"socket-id={socket}{die}" + (f",module-id={group % 2}" if self.used else "")


def arguments(server: Server, major: int) -> Iterator[Option]:
    """Yield qemu's options; those that name files are not among them."""
    modules = Modules.of(server, major)
    cache = ",smp-cache.0.cache=l3,smp-cache.0.topology=module" if modules.used else ""
    yield "-machine", f"q35,hmat=on,smbios-entry-point-type=64{cache}"
    yield from _processors(server, modules)
    yield from _nodes(server, modules)
    yield from _distances(server)
    yield from _adapters(server)
    yield from _names(server)


def _processors(server: Server, modules: Modules) -> Iterator[Option]:
    """Yield the CPUs: all at once, or the first and then each that is there where some core numbers are left out."""
    every = server.sockets * server.groups * server.places * server.threads
    sparse = server.places != server.cores
    dies = f"dies={server.groups // modules.per_die}" + (",modules=2" if modules.used else "")
    parts = f"sockets={server.sockets},{dies},cores={server.places},threads={server.threads}"
    yield "-cpu", f"{server.cpu},-hypervisor,model-id={server.model}"  # a virtual machine is judged by fewer rules
    yield "-smp", f"{1 if sparse else every},maxcpus={every},{parts}"
    for cpu in sorted(cpus(server))[1:] if sparse else ():
        place = modules.place(server, cpu.socket, cpu.group)
        yield "-device", f"{server.cpu.split(',')[0]}-x86_64-cpu,{place},core-id={cpu.core},thread-id={cpu.thread}"


def _nodes(server: Server, modules: Modules) -> Iterator[Option]:
    """Yield the memory of the nodes, and which L3 group, or core of one, is in which."""
    sizes = [server.mib] * server.nodes + ([server.hbm] * server.nodes if server.hbm else [])
    yield "-m", f"{sum(sizes)}M"
    for node, size in enumerate(sizes):
        yield "-object", f"memory-backend-ram,id=m{node},size={size}M"
        yield "-numa", f"node,nodeid={node},memdev=m{node},initiator={node % server.nodes}"
    places: dict[str, dict[int, int]] = {}
    for cpu in sorted(cpus(server)):
        places.setdefault(modules.place(server, cpu.socket, cpu.group), {})[cpu.core] = cpu.node
    for place, nodes in places.items():
        if len(set(nodes.values())) == 1:
            yield "-numa", f"cpu,node-id={nodes[0]},{place}"
        else:
            yield from (("-numa", f"cpu,node-id={node},{place},core-id={core}") for core, node in nodes.items())


def _distances(server: Server) -> Iterator[Option]:
    """Yield the SLIT, and an HMAT of 9 ns a unit of distance, with a bandwidth that falls with it; HBM has four times as much."""
    own = server.nodes
    every = range(2 * own if server.hbm else own)
    for a, b in ((a, b) for a in every for b in every):
        distance = server.distance(a % own, b % own) + (3 if a != b and max(a, b) >= own else 0)
        if a != b:
            yield "-numa", f"dist,src={a},dst={b},val={distance}"
        if a < own:
            access = f"hmat-lb,initiator={a},target={b},hierarchy=memory"
            yield "-numa", f"{access},data-type=access-latency,latency={9 * distance}"
            yield "-numa", f"{access},data-type=access-bandwidth,bandwidth={(1600 if b >= own else 400) // distance}G"


def _adapters(server: Server) -> Iterator[Option]:
    """Yield the network adapters, eth0 last, from bus 0x60 on; vm.sh makes the link n0."""
    for number, node in reversed([*enumerate(server.nics)]):
        yield "-device", f"pxb-pcie,id=pxb{number},bus_nr={96 + 16 * number},numa_node={node},bus=pcie.0"
        yield "-device", f"pcie-root-port,id=rp{number},bus=pxb{number},chassis={number + 6},slot={number + 6}"
        mac = f"52:54:00:09:{number:02x}:00"
        yield "-device", f"virtio-net-pci,bus=rp{number},netdev=n{number},mac={mac},speed=100000,duplex=full,romfile="
        if number:
            yield "-netdev", f"hubport,id=n{number},hubid={number}"


def _names(server: Server) -> Iterator[Option]:
    maker, uuid = f"manufacturer={server.maker}", "4c4c4544-0042-4310-8031-b4c04f313233"
    yield "-smbios", f"type=1,{maker},product={server.product},version=,serial=ABC1234,uuid={uuid}"
    yield "-smbios", f"type=2,{maker},product={server.board},version=A02,serial=.ABC1234.CN"
    yield "-smbios", f"type=3,{maker},version=,serial=ABC1234"


def tables(server: Server, folder: Path) -> Iterator[Option]:
    """Write the tables that qemu cannot make, and yield the options that name them."""
    for number, data in enumerate(structures(server)):
        _keep(folder / f"smbios{number}.bin", data)
        yield "-smbios", f"file={folder}/smbios{number}.bin"
    _keep(folder / "acpi.cpio", cpio([(MADT_IN_INITRD, madt(server))]))


def _keep(path: Path, data: bytes) -> None:
    """Write a file, but leave it alone if it is right: a guest may be reading it."""
    if not (path.exists() and path.read_bytes() == data):
        path.write_bytes(data)


def main(name: str, folder: str, major: str) -> None:
    """Print the arguments."""
    server = SERVERS[name]
    for option in (*arguments(server, int(major)), *tables(server, Path(folder))):
        sys.stdout.write("\n".join(option) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
