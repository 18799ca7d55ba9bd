"""Fleets as they are found in the wild: each node has what is its own, some have one of 49 faults, and 7 captures are damaged.

Two kinds of node: with GPUs, and without. A fault is a change of the description from which a node's files are made, of the
files, of what a command prints, or of the second look at its counters. What is every node's own means nothing (``OWN``).
"""

import gzip
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from advisor.fleet.fleet import ANSWERS, Answer
from advisor.machine.hosts.base import Ran, SecondLook
from advisor.machine.hosts.capture import MemoryStore, TreeHost
from advisor.machine.hosts.errands import Outcome
from advisor.machine.sources.gpu import LIST, NVIDIA_SMI, NVLINK, ROWS, SETTINGS
from tests.fleet.innocent import MODULES, command_line
from tests.fleet.planted import AT, NOISE, ROOT, Shape, noise, stored
from tests.machines import sysfs
from tests.machines.layout import Shape as Cores
from tests.machines.layout import cores
from tests.machines.nodemaps import nvidia
from tests.machines.parts import nic
from tests.machines.sites import LENOVO, MILAN_7313, NPS4, SUPERMICRO, XEON_8480, hdr, node
from tests.machines.spec import Device, Dimm, Hca, Net, Spec
from tests.machines.tree import Tree

CPU = "sys/devices/system/cpu"
THP = "sys/kernel/mm/transparent_hugepage/enabled"
OPTIONS = "iommu=pt transparent_hugepage=always console=ttyS0,115200"
ROOM = "x" * 700
"""Room for a command line of the node's own."""


class Node:
    """What a node's archive is made of: a description, its files, and what commands print."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.tree: Tree = {}
        self.printed: dict[tuple[str, ...], str] = {}
        self.rising: dict[str, bytes] = {}
        """Of the second look: the counters that are others then."""
        self.options = OPTIONS
        self.gpus = 4 if spec.host == "acc" else 0
        self.smi = {"driver": "550.54.15", "ecc": "Enabled", "persistence": "Enabled", "limit": "400.00", "rows": "No, No"}
        self.links = 12
        self.vbios = "92.00.36.00.01"

    def made(self) -> Shape:
        """Return its archive."""
        tree = {**sysfs.root(replace(self.spec, kernel=replace(self.spec.kernel, cmdline=ROOM))), **NOISE}
        cards = [path for path in tree if re.search(r"pci0000.*\.0/vendor$", path) and tree[path] == b"0x10de\n"][: self.gpus]
        at = [path.split("/")[-2] for path in cards]
        for address in at:
            where = f"proc/driver/nvidia/gpus/{address}/information"
            minor = at.index(address)
            tree[where] = f"Model: \t\t NVIDIA A100-SXM4-40GB\nVideo BIOS: \t {self.vbios}\nDevice Minor: \t {minor}\n".encode()
        for path in [path for path in tree if re.fullmatch(r"sys/devices/pci[^/]*/[^/]*/[^/]*\.0/vendor", path)]:
            for name, kinds in (("correctable", "RxErr BadTLP BadDLLP Rollover Timeout"), ("nonfatal", "DLP"), ("fatal", "DLP")):
                total = {"correctable": "COR", "nonfatal": "NONFATAL", "fatal": "FATAL"}[name]
                text = "".join(f"{kind} 0\n" for kind in kinds.split()) + f"TOTAL_ERR_{total} 0\n"
                tree[path.replace("/vendor", f"/aer_dev_{name}")] = text.encode()
        tree |= {
            "sys/devices/system/edac/mc/mc0/ce_count": b"0\n",
            "sys/devices/system/edac/mc/mc0/ue_count": b"0\n",
            "proc/sys/vm/min_free_kbytes": b"90112\n",
            "proc/sys/vm/overcommit_memory": b"0\n",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": b"tsc\n",
            "sys/devices/system/clocksource/clocksource0/available_clocksource": b"tsc hpet acpi_pm\n",
            "etc/tuned/active_profile": b"hpc-compute\n",
            "etc/os-release": b'ID=rocky\nVERSION_ID="9.4"\nPRETTY_NAME="Rocky Linux 9.4"\n',
            f"{CPU}/cpufreq/boost": b"1\n",
        }
        tree |= self.tree
        if at:
            self._tools(at)
        gone = {path for path, content in self.tree.items() if content == b""}
        return Shape(Printing({path: each for path, each in tree.items() if path not in gone}, self))

    def _tools(self, at: list[str]) -> None:
        smi, rows = self.smi, list(enumerate(f"0000{address.upper()}" for address in at))
        name = "NVIDIA A100-SXM4-40GB"
        self.printed[NVIDIA_SMI] = "".join(f"{n}, {bus}, {name}, 40960, {smi['driver']}\n" for n, bus in rows)
        ecc = f"{smi['ecc']}, {smi['ecc']}"
        self.printed[SETTINGS] = "".join(
            f"{n}, {bus}, {smi['persistence']}, {ecc}, 1410, {smi['limit'] if n == 1 else '400.00'}, 400.00\n" for n, bus in rows
        )
        self.printed[ROWS] = "".join(f"{bus}, {smi['rows'] if n == 2 else 'No, No'}\n" for n, bus in rows)
        self.printed[NVLINK] = "".join(
            f"GPU {n}: {name} (UUID: GPU-{n})\n"
            + "".join(f"\t Link {k}: {'25 GB/s' if k < self.links or n != 3 else '<inactive>'}\n" for k in range(12))
            for n, _ in rows
        )
        self.printed[LIST] = "".join(f"GPU {n}: {name} (UUID: GPU-{n})\n" for n, _ in rows)


class Printing(TreeHost):
    """A host of files, of commands whose words are known, and of a second look."""

    def __init__(self, tree: Tree, made: Node) -> None:
        entries = stored(tree)
        super().__init__(MemoryStore(entries), made.spec.host)
        self._made = made
        again = {**entries, **{f"/{path}": content for path, content in made.rising.items()}}
        self.again = SecondLook(5.0, TreeHost(MemoryStore(again), made.spec.host))

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what was printed."""
        text = self._made.printed.get(argv)
        return super().run(argv, timeout) if text is None else Ran(text.encode(), path=f"/usr/bin/{argv[0]}")


def accelerated() -> Spec:
    """Return a node with four GPUs, an adapter and a disk."""
    cards = (nic(0, "eno1"), hdr(0), *(nvidia(at) for at in (0, 2, 4, 6)), DISK)
    return node("acc", MILAN_7313, NPS4, SUPERMICRO, devices=cards)


DISK = Device(1, 0x010802, 0x144D, 0xA80A, "nvme", "16.0 GT/s PCIe", 4, subsystem=(0x144D, 0xA801))


def plain() -> Spec:
    """Return a node without GPUs."""
    return node("std", XEON_8480, Cores(((56,),)), LENOVO, devices=(nic(0, "eno1"), hdr(1)))


KINDS: Mapping[str, Callable[[], Spec]] = {"acc": accelerated, "std": plain}

Change = Callable[[Node], None]


@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a node: how it is made, what a screen has to call it, and what is to be done."""

    name: str
    change: Change
    says: str
    """What the incident's text holds."""
    action: str
    kind: str = "acc"


def _spec(change: Callable[[Spec], Spec]) -> Change:
    def make(one: Node) -> None:
        one.spec = change(one.spec)

    return make


def _file(path: str, content: bytes, *, every: bool = False) -> Change:
    def make(one: Node) -> None:
        paths = [path.replace("*", str(pu)) for pu in one.spec.core_of] if every else [path]
        one.tree |= dict.fromkeys(paths, content)

    return make


def _kernel(**other: object) -> Change:
    return _spec(lambda spec: replace(spec, kernel=replace(spec.kernel, **other)))  # type: ignore[arg-type]


def _device(is_it: Callable[[Device], bool], change: Callable[[Device], Device | None]) -> Change:
    """Return a change of the first such device."""

    def other(spec: Spec) -> Spec:
        found = next(at for at, each in enumerate(spec.devices) if is_it(each))
        new = change(spec.devices[found])
        return replace(spec, devices=(*spec.devices[:found], *([new] if new else []), *spec.devices[found + 1 :]))

    return _spec(other)


def _hca(change: Callable[[Hca], Hca]) -> Change:
    return _device(lambda each: bool(each.hcas), lambda each: replace(each, hcas=tuple(map(change, each.hcas))))


def _is_gpu(each: Device) -> bool:
    return each.vendor == 0x10DE


def _dimm(change: Callable[[Dimm], Dimm]) -> Change:
    return _spec(lambda spec: replace(spec, dimms=(*spec.dimms[:3], change(spec.dimms[3]), *spec.dimms[4:])))


def _options(text: str) -> Change:
    def make(one: Node) -> None:
        one.options = text

    return make


def _smi(**words: str) -> Change:
    def make(one: Node) -> None:
        one.smi |= words

    return make


def _set(**values: object) -> Change:
    def make(one: Node) -> None:
        vars(one).update(values)

    return make


def _rising(tail: str, content: bytes) -> Change:
    """Return counters that are others at the second look: of the first file whose path ends so."""

    def make(one: Node) -> None:
        made = sysfs.root(one.spec)
        if "aer_dev" in tail:
            card = next(path for path in made if path.endswith("/vendor") and made[path] == b"0x15b3\n")
            path = card.replace("vendor", tail)
        else:
            path = next((path for path in made if path.endswith(tail)), tail)
        one.rising[path] = content

    return make


def _width(vendor: bytes) -> Change:
    """Return the first device of a vendor at half the width."""

    def make(one: Node) -> None:
        made = sysfs.root(one.spec)
        one.tree[next(path for path in made if path.endswith(".0/vendor") and made[path] == vendor).replace("vendor", WIDTH)] = (
            b"8\n"
        )

    return make


WIDTH = "current_link_width"


def _both(*changes: Change) -> Change:
    def make(one: Node) -> None:
        for change in changes:
            change(one)

    return make


def _fewer_cores(spec: Spec) -> Spec:
    return replace(spec, cores=cores(Cores(((3,),) * 4)))


_THREADS = _spec(lambda spec: replace(spec, cores=cores(Cores(((56,),)), threads=2), possible=512))
_NPS1 = _spec(
    lambda spec: replace(
        spec,
        cores=cores(Cores(((4, 4, 4, 4),))),
        nodes=tuple(replace(spec.nodes[at], kib=sum(each.kib for each in spec.nodes) // 2) for at in (0, 1)),
        slit=((10, 32), (32, 10)),
        devices=tuple(replace(each, node=each.node // 4) for each in spec.devices),
    )
)


def _half_memory(spec: Spec) -> Spec:
    return replace(spec, nodes=tuple(replace(each, kib=each.kib // 2) for each in spec.nodes))


def _lost_dimm(spec: Spec) -> Spec:
    """Return a machine that lost the DIMM A4, and its memory."""
    nodes = (replace(spec.nodes[0], kib=spec.nodes[0].kib * 7 // 8), *spec.nodes[1:])
    return replace(spec, nodes=nodes, dimms=(*spec.dimms[:3], replace(spec.dimms[3], mib=0), *spec.dimms[4:]))


AER = b"RxErr 40\nBadTLP 12\nBadDLLP 3\nRollover 0\nTimeout 2\nTOTAL_ERR_COR 57\n"
DOWN = {"state": "1: DOWN", "physical": "2: Polling", "rate": "10 Gb/sec (4X SDR)"}
FAULTS = (
    Fault("dimm gone", _spec(_lost_dimm), "DIMM A4 gone", "drain", "std"),
    Fault("dimm smaller", _dimm(lambda each: replace(each, mib=each.mib // 2)), "A4", "drain"),
    Fault("dimms slow", _spec(lambda s: replace(s, dimms=tuple(replace(d, mts=2933) for d in s.dimms))), "memory.dimms",
          "ticket"),
    Fault("memory missing", _spec(_half_memory), "numa.memory", "drain", "std"),
    Fault("hugepages", _file("sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages", b"16\n"), "hugepages",
          "watch", "std"),
    Fault("corrected memory errors rise", _rising("sys/devices/system/edac/mc/mc0/ce_count", b"45\n"), "memory errors", "ticket"),
    Fault("uncorrected memory errors rise", _rising("sys/devices/system/edac/mc/mc0/ue_count", b"2\n"), "ncorrected memory",
          "drain"),
    Fault("cpus offline", _kernel(offline=frozenset((14, 15))), "cores 30", "drain"),
    Fault("SMT on", _THREADS, "smt", "ticket", "std"),
    Fault("NPS1", _NPS1, "NPS1", "ticket"),
    Fault("cores off in the BIOS", _spec(_fewer_cores), "cores 24", "drain"),
    Fault("governor", _file(f"{CPU}/cpu*/cpufreq/scaling_governor", b"powersave\n", every=True), "governor", "ticket", "std"),
    Fault("boost off", _file(f"{CPU}/cpufreq/boost", b"0\n"), "boost", "ticket"),
    Fault("clock limit", _file(f"{CPU}/cpu*/cpufreq/scaling_max_freq", b"1800000\n", every=True), "limit_hz", "ticket", "std"),
    Fault("microcode", _spec(lambda s: replace(s, processor=replace(s.processor, microcode="0x8301025"))), "microcode", "watch"),
    Fault("option absent", _options("transparent_hugepage=always console=ttyS0,115200"), "boot.iommu not there", "watch"),
    Fault("option more", _options(f"{OPTIONS} mitigations=off"), "boot.mitigations", "watch", "std"),
    Fault("option other", _options(OPTIONS.replace("iommu=pt", "iommu=off")), "boot.iommu off", "watch", "std"),
    Fault("kernel", _kernel(release="5.14.0-427.el9.x86_64"), "kernel.release 5.14.0-427", "watch", "std"),
    Fault("distribution", _file("etc/os-release", b'ID=rocky\nVERSION_ID="9.2"\nPRETTY_NAME="Rocky Linux 9.2"\n'),
          "Rocky Linux 9.2",
          "watch"),
    Fault("THP never", _file(THP, b"always madvise [never]\n"), "thp", "watch"),
    Fault("numa_balancing", _file("proc/sys/kernel/numa_balancing", b"0\n"), "numa_balancing", "watch", "std"),
    Fault("swappiness", _file("proc/sys/vm/swappiness", b"100\n"), "swappiness", "watch", "std"),
    Fault("zone_reclaim", _file("proc/sys/vm/zone_reclaim_mode", b"1\n"), "zone_reclaim", "watch"),
    Fault("overcommit", _file("proc/sys/vm/overcommit_memory", b"2\n"), "overcommit", "watch", "std"),
    Fault("tuned", _file("etc/tuned/active_profile", b"balanced\n"), "tuned", "watch"),
    Fault("clocksource", _file("sys/devices/system/clocksource/clocksource0/current_clocksource", b"hpet\n"), "clocksource",
          "ticket", "std"),
    Fault("port down", _hca(lambda each: replace(each, **DOWN)), "mlx5_0", "drain", "std"),
    Fault("port slow", _hca(lambda each: replace(each, rate="100 Gb/sec (2X HDR)")), "mlx5_0", "ticket"),
    Fault("adapter firmware", _hca(lambda each: replace(each, firmware="20.31.1014")), "firmware 20.31.1014", "watch", "std"),
    Fault("adapter gone", _device(lambda each: bool(each.hcas), lambda _: None), "adapter mlx5_0 gone", "drain", "std"),
    Fault("adapter elsewhere", _device(lambda each: bool(each.hcas), lambda each: replace(each, node=3)), "mlx5_0", "ticket"),
    Fault("adapter half width", _width(b"0x15b3\n"), "width 8", "drain"),
    Fault("symbol errors rise", _rising("counters/symbol_error", b"900\n"), "ymbol errors", "ticket", "std"),
    Fault("links go down", _rising("counters/link_downed", b"3\n"), "Link errors", "ticket"),
    Fault("MTU", _device(lambda each: bool(each.nets), lambda e: replace(e, nets=(Net("eno1", MAC, mtu=9000),))),
          "mtu", "watch", "std"),
    Fault("Ethernet slow", _device(lambda each: bool(each.nets), lambda e: replace(e, nets=(Net("eno1", MAC, mbit=100),))),
          "eno1", "ticket"),
    Fault("disk gone", _device(lambda each: each.driver == "nvme", lambda _: None), "disk at NUMA node 1 gone", "watch"),
    Fault("GPU gone", _both(_device(_is_gpu, lambda _: None), _set(gpus=3)), "GPU at NUMA node 0 gone", "drain"),
    Fault("GPU VBIOS", _set(vbios="92.00.19.00.13"), "vbios 92.00.19.00.13", "watch"),
    Fault("GPU driver", _smi(driver="535.183.01"), "driver_version 535.183.01", "watch"),
    Fault("GPU ECC off", _smi(ecc="Disabled"), "ecc", "watch"),
    Fault("GPU power limit", _smi(limit="250.00"), "power", "ticket"),
    Fault("GPU persistence off", _smi(persistence="Disabled"), "persistence", "watch"),
    Fault("GPU rows wait", _smi(rows="Yes, No"), "repair_pending", "ticket"),
    Fault("NVLinks down", _set(links=8), "nvlinks_up", "ticket"),
    Fault("GPU half width", _width(b"0x10de\n"), "width 8", "ticket"),
    Fault("AER rises", _rising("aer_dev_correctable", AER), "PCIe", "watch"),
    Fault("BIOS version", _spec(lambda s: replace(s, dmi=replace(s.dmi, bios="1.2"))), "bios_version 1.2", "watch", "std"),
)  # fmt: skip
MAC = "4c:d9:8f:00:00:00"


@dataclass
class Wild:
    """A fleet on disk, and the truth about it."""

    folder: Path
    kinds: dict[str, list[str]] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    """Node -> what has to be said of it: why it is silent, or what is odd about its answer."""


@cache
def archive(kind: str, fault: str | None = None, *, shifted: bool = False) -> Shape:
    """Return the archive of a kind of node, whole or with a fault; ``shifted``: its buses are numbered from one higher."""
    spec = KINDS[kind]()
    made = Node(replace(spec, buses={at: bus + 1 for at, bus in spec.buses.items()}) if shifted else spec)
    if fault is not None:
        next(each for each in FAULTS if each.name == fault).change(made)
    shape = made.made()
    shape.options = made.options  # type: ignore[attr-defined]
    return shape


def capture(kind: str, fault: str | None, name: str, at: int, chance: random.Random, *, taken: str = AT) -> bytes:
    """Return the capture of one node: with its own names, words of PXE, DIMMs, counters, clocks; and with a fault."""
    own = archive(kind, fault, shifted=fault is None and at % 17 == 5)
    line = f"{command_line(name, at, chance)} {own.options}"  # type: ignore[attr-defined]
    line = line.replace(" transparent_hugepage=always", "", 1)
    words = line.split(" ")
    if at % 3 == 0:  # another order of the words means nothing
        words = words[::-1]
    changes = noise(own, name, chance)
    changes[f"{ROOT}proc/cmdline"] = " ".join(words).encode() + b"\n"
    dmi = next(path for path in own.members if path.endswith("tables/DMI"))
    maker, part = (text.encode() for text in MODULES[0])
    first, *pieces = changes[dmi].split(maker)
    sold = chance.choices(MODULES, k=len(pieces))
    changes[dmi] = first + b"".join(
        to.encode() + piece.replace(part, named.encode()) for (to, named), piece in zip(sold, pieces, strict=True)
    )
    for path in own.members:
        changes |= _own_counter(path, own, chance)
    about = "advisor-capture/about"
    changes[about] = own.content(about).replace(AT.encode(), taken.encode())
    return own.copy(changes)


def _own_counter(path: str, own: Shape, chance: random.Random) -> dict[str, bytes]:
    """Return what a counter has counted since boot on one node: the same in both looks."""
    tail = path.rsplit("/", 1)[-1]
    if path.startswith(ROOT) and tail in ("link_downed", "port_rcv_errors") and chance.random() < 0.1:
        again = path.replace(ROOT, "advisor-capture/again/root/")
        if again in own.members and own.content(again) == own.content(path):
            return dict.fromkeys((path, again), b"%d\n" % chance.randrange(9))
    return {}


OWN = (
    "host name", "address of PXE", "MAC of PXE", "name in a path", "interface's MAC", "UUID of the root disk", "system's UUID",
    "path of the NFS root", "name of the iSCSI initiator", "kickstart file", "order of boot options", "makers of DIMMs",
    "parts of DIMMs", "serial numbers", "MACs of ports", "GUIDs", "LIDs", "counters since boot", "free memory",
    "momentary clocks", "PCI buses numbered from one higher",
)  # fmt: skip
"""What differs on every node, or on some, and means nothing: ``command_line``, ``noise`` and ``capture`` make it."""
DAMAGES = ("truncated", "empty", "junk", "lost", "wrong name", "same name twice", "clock")
"""What becomes of captures on the way."""


def wild(
    folder: Path, nodes: int, seed: int = 1, *, faults: tuple[Fault, ...] = FAULTS, each: int = 1, damaged: bool = True
) -> Wild:
    """Write a fleet of two kinds of which ``each`` nodes have each fault."""
    chance, made = random.Random(seed), Wild(folder)  # noqa: S311 - no secret
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"cn{number:05}" for number in range(1, nodes + 1)]
    made.kinds = {"acc": names[: nodes // 2], "std": names[nodes // 2 :]}
    free = {kind: chance.sample(own[1:], len(own) - 1) for kind, own in made.kinds.items()}
    has: dict[str, str] = {}
    for fault in faults:
        made.faults[fault.name] = sorted(free[fault.kind].pop() for _ in range(each))
        has |= dict.fromkeys(made.faults[fault.name], fault.name)
    made.damaged = {free["std"].pop(): what for what in (DAMAGES if damaged else ())}
    lines = []
    for at, name in enumerate(names):
        kind, damage = "acc" if at < nodes // 2 else "std", made.damaged.get(name)
        taken = (datetime.fromisoformat(AT) + timedelta(hours=3 * (damage == "clock"))).strftime("%Y-%m-%dT%H:%M:%SZ")
        calls = {"wrong name": f"x{name[2:]}", "same name twice": names[0]}.get(damage or "", name)
        data = gzip.compress(capture(kind, has.get(name), calls, at, chance, taken=taken), 1, mtime=0)
        data = {"truncated": data[: len(data) // 2], "empty": b"", "junk": b"<html>504 Gateway" * 9}.get(damage or "", data)
        if damage != "lost":
            (folder / f"{name}.tar.gz").write_bytes(data)
        lines.append(Answer(node=name, at=AT, outcome=Outcome.ANSWERED, archive=f"{name}.tar.gz").line())
    (folder / ANSWERS).write_bytes(b"".join(lines))
    return made
