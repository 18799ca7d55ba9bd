"""Fleets with planted oddities: nodes differ in what names a node or changes by itself, and in what is planted."""

import gzip
import json
import random
import re
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from io import BytesIO
from pathlib import Path

from advisor.fleet.fleet import ANSWERS, Answer, Fleet
from advisor.machine.hosts.base import Host
from advisor.machine.hosts.capture import Entry, MemoryStore, TreeHost, record
from advisor.machine.hosts.capture import Link as StoredLink
from advisor.machine.hosts.errands import Outcome, expanded, folded
from advisor.machine.sources.registry import commands, counters, paths
from tests.machines import sysfs
from tests.machines.seeds import c6320, r7425, seeds
from tests.machines.spec import Device, Hca, Spec
from tests.machines.tree import Link, relative

AT = "2026-01-31T06:10:00Z"
ROOT = "advisor-capture/root/"


class Shape:
    """An archive of which every node's is a copy: members are replaced where they lie, without making the archive again."""

    def __init__(self, host: Host) -> None:
        about = {"advisor": "0.3.0", "made": "python", "time": AT, "uid": "0", "anonymised": "no"}
        self.data = gzip.decompress(record(host, paths(), commands(), about, twice=counters()))
        with tarfile.open(fileobj=BytesIO(self.data)) as tar:
            self.members = {
                member.name: (member.offset_data - 512, member.offset_data, member.size) for member in tar if member.isfile()
            }

    def content(self, path: str) -> bytes:
        """Return what a member holds."""
        _, start, size = self.members[path]
        return self.data[start : start + size]

    def copy(self, changes: Mapping[str, bytes]) -> bytes:
        """Return an archive with other contents of some members, each in as many blocks as before."""
        data = bytearray(self.data)
        for path, content in changes.items():
            header, start, size = self.members[path]
            room = -(-size // 512) * 512
            assert len(content) <= room, path
            data[start : start + room] = content.ljust(room, b"\0")
            block = data[header : header + 512]
            block[124:136] = b"%011o\0" % len(content)
            block[148:156] = b"        "
            block[148:156] = b"%06o\0 " % sum(block)
            data[header : header + 512] = block
        return bytes(data)


NOISE = {"proc/uptime": b"100000.00 100.00\n"}


def stored(tree: Mapping[str, bytes | Link | None]) -> dict[str, Entry]:
    """Return a machine's files as a store keeps them."""
    return {f"/{path}": StoredLink(relative(path, node)) if isinstance(node, Link) else node for path, node in tree.items()}


@cache
def shape(name: str) -> Shape:
    """Return the archive of one sort of node."""
    spec = SORTS[name]()
    return Shape(TreeHost(MemoryStore(stored({**sysfs.root(spec), **NOISE})), spec.host))


def _changed_hca(spec: Spec, change: Callable[[Hca], Hca] = lambda hca: hca, node: int | None = None) -> Spec:
    """Return a machine whose adapter is another, or sits elsewhere."""

    def other(one: Device) -> Device:
        if not one.hcas:
            return one
        return replace(one, hcas=tuple(map(change, one.hcas)), node=one.node if node is None else node)

    return replace(spec, devices=tuple(other(one) for one in spec.devices))


def _down(hca: Hca) -> Hca:
    return replace(hca, state="1: DOWN", physical="2: Polling")


def _without_dimm(spec: Spec) -> Spec:
    return replace(spec, dimms=(*spec.dimms[:-1], replace(spec.dimms[-1], mib=0)))


SORTS: dict[str, Callable[[], Spec]] = {
    "haswell": c6320,
    "haswell cod": lambda: c6320(cod=True),
    "haswell down": lambda: _changed_hca(c6320(), _down),
    "haswell slot": lambda: _changed_hca(c6320(), node=1),
    "haswell dimm": lambda: _without_dimm(c6320()),
    "haswell bios": lambda: replace(c6320(), dmi=replace(c6320().dmi, bios="2.14.9")),
    "haswell old": lambda: replace(c6320(), dmi=replace(c6320().dmi, bios="2.4.2")),
    "naples": r7425,
    "innocent": lambda: replace(c6320(), kernel=replace(c6320().kernel, cmdline="x" * 700)),  # room for words of its own
    "rome": lambda: seeds()["b-c6525-2x7702-nps1"],
}
"""Every sort of node by name: the first word is its kind of hardware."""


def noise(shape: Shape, name: str, chance: random.Random) -> dict[str, bytes]:
    """Return what is another on each node: names, serial numbers, MACs, GUIDs, clocks, free memory, counters, temperatures."""
    changes = {path: _other(path, shape.content(path), name, chance) for path in shape.members}
    return {path: content for path, content in changes.items() if content is not None}


def _other(path: str, content: bytes, name: str, chance: random.Random) -> bytes | None:
    """Return the content of a member on one node; None where it is the same on all."""
    own = path.removeprefix(ROOT)
    if own == "proc/sys/kernel/hostname":
        return f"{name}\n".encode()
    if own.endswith("meminfo"):
        found = re.sub(rb"(MemFree:\s+)(\d+)", lambda m: m[1] + str(int(m[2]) - chance.randrange(9999)).encode(), content)
        return re.sub(rb"(MemTotal:\s+)(\d+)", lambda m: m[1] + str(int(m[2]) - chance.randrange(64)).encode(), found)
    if own == "proc/cpuinfo":
        return re.sub(rb"(cpu MHz\s+: \d+\.)\d{3}", lambda m: m[1] + b"%03d" % chance.randrange(1000), content)
    if own.endswith("tables/DMI"):
        serial = b"%07d" % chance.randrange(10**7)
        return content.replace(b"ABC1234", serial).replace(bytes(range(16)), chance.randbytes(16))
    if own.endswith(("/address", "_guid", "gids/0")):
        return re.sub(rb"[0-9a-f]{2}(?=\n$)", lambda _: b"%02x" % chance.randrange(256), content)
    if own.endswith("/lid"):
        return b"0x%x\n" % (1 + chance.randrange(40000))
    if re.search(r"counters/port_(xmit|rcv)_(data|wait)$", own):
        return b"%d\n" % chance.randrange(10**9)
    if own.endswith("scaling_cur_freq"):
        return b"%d\n" % (1200000 + chance.randrange(10**6))
    return None


Change = Callable[[Shape], dict[str, bytes]]


def _file(path: str, content: bytes) -> Change:
    return lambda _: {f"{ROOT}{path}": content}


@dataclass(frozen=True)
class Plant:
    """An oddity: the sort of node it makes, or the files that it changes, and where a screen has to name it."""

    name: str
    sort: str | None = None
    files: Change = field(default=lambda _: {})
    drift: str | None = None
    """The fact that has to be named."""
    wrong: frozenset[str] = frozenset()
    """Rules that find something for it alone."""
    right: frozenset[str] = frozenset()
    """Rules of its kind that find nothing for it."""


_EVERYWHERE = {"fabric-socket-without-adapter", "numa-enumeration-fixed", "os-numa-balancing-on", "os-swappiness"}
TRUE = {"haswell": frozenset({*_EVERYWHERE, "numa-cod-off"}), "naples": frozenset(_EVERYWHERE)}
"""What is wrong with every node of a kind, and nothing else is: by the descriptions of the seeds."""
THP = "sys/kernel/mm/transparent_hugepage/enabled"
PLANTS = (
    Plant("setting", "haswell cod", drift="numa.partitioning", right=frozenset({"numa-cod-off"})),
    Plant(
        "balancing",
        None,
        _file("proc/sys/kernel/numa_balancing", b"0\n"),
        drift="kernel.numa_balancing",
        right=frozenset({"os-numa-balancing-on"}),
    ),
    Plant(
        "hugepages",
        None,
        _file(THP, b"always madvise [never]\n"),
        drift="kernel.thp",
        wrong=frozenset({"os-thp-never"}),
    ),
    Plant("firmware", "haswell bios", drift="firmware.bios_version"),
    Plant(
        "dimm",
        "haswell dimm",
        drift="hardware.DIMMs",
        wrong=frozenset({"memory-channel-empty", "memory-sockets-unequal"}),
    ),
    Plant(
        "port",
        "haswell down",
        drift="hcas.mlx5_0.ports.1.state",
        wrong=frozenset({"fabric-port-down"}),
        right=frozenset({"fabric-socket-without-adapter"}),
    ),
    Plant("slot", "haswell slot", drift="hcas.mlx5_0.locality.numa_nodes"),
)


@dataclass
class Planted:
    """A fleet on disk, and the truth about it."""

    folder: Path
    kinds: dict[str, list[str]] = field(default_factory=dict)
    plants: dict[str, list[str]] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    slow: list[str] = field(default_factory=list)

    @property
    def odd(self) -> set[str]:
        """Every node that a screen may name."""
        return {*self.slow, *(node for nodes in self.plants.values() for node in nodes)}

    @property
    def rules(self) -> dict[str, frozenset[str]]:
        """What is wrong with each node: neither more nor less may be said of it."""
        true = {node: TRUE[kind] for kind, nodes in self.kinds.items() for node in nodes}
        own = {each.name: each for each in PLANTS}
        return true | {
            node: (true[node] - own[name].right) | own[name].wrong for name, nodes in self.plants.items() for node in nodes
        }


def plant(
    folder: Path, seed: int, *, nodes: int = 60, plants: Iterable[Plant] = PLANTS, others: int = 3, level: int = 1
) -> Planted:
    """Write a fleet: most of it one kind with the oddities, a tenth of a second kind, some nodes that did not answer."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    made = Planted(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"n{number:05}" for number in range(nodes)]
    few = names[nodes - nodes // 10 :]
    free = names[: nodes - nodes // 10]
    for name in chance.sample(free, others):
        made.silent[name] = chance.choice(("timed out", "no route", "truncated"))
    sorts = dict.fromkeys(names, ("haswell", PLANTS[0].files)) | dict.fromkeys(few, ("naples", PLANTS[0].files))
    left = [name for name in free if name not in made.silent]
    for each in plants:
        own = sorted(chance.sample(left, chance.randint(1, max(1, len(free) // 40))))
        left = [name for name in left if name not in own]
        made.plants[each.name] = own
        sorts |= dict.fromkeys(own, (each.sort or "haswell", each.files))
    made.slow = sorted(chance.sample(left, 1))
    made.kinds = {"haswell": [name for name in free if name not in made.silent], "naples": few}
    _write(made, sorts, chance, level)
    return made


def untrue(fleet: Fleet, true: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield what a screen says to be wrong with a node that is right, and what is wrong with one and is not said."""
    said, wanted = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for each in fleet.wrong:
        said[each.rule].update(expanded(each.nodes))
    for node, rules in true.items():
        for rule in rules:
            wanted[rule].add(node)
    for rule in sorted({*said, *wanted}):
        if more := said[rule] - wanted[rule]:
            yield f"WRONG {rule} {folded(more)}"
        if less := wanted[rule] - said[rule]:
            yield f"not WRONG {rule} {folded(less)}"


def _write(made: Planted, sorts: Mapping[str, tuple[str, Change]], chance: random.Random, level: int) -> None:
    lines = []
    for name, (sort, files) in sorts.items():
        why = made.silent.get(name)
        if why in (None, "truncated"):
            own = shape(sort)
            data = gzip.compress(own.copy(noise(own, name, chance) | files(own)), level, mtime=0)
            (made.folder / f"{name}.tar.gz").write_bytes(data[: len(data) // 2] if why else data)
            (made.folder / f"{name}.measured.json").write_text(measured(name, sort, chance, slow=name in made.slow))
        outcome = Outcome(why) if why and why != "truncated" else Outcome.ANSWERED
        archive = f"{name}.tar.gz" if outcome is Outcome.ANSWERED else None
        lines.append(Answer(node=name, at=AT, outcome=outcome, archive=archive).line())
    (made.folder / ANSWERS).write_bytes(b"".join(lines))


def measured(name: str, sort: str, chance: random.Random, *, slow: bool) -> str:
    """Return what a node measured: values with the spread of real ones, a seventh less of one that is slow."""
    return measured_at(name, sort, chance.gauss(1, 0.012) * (0.85 if slow else 1))


def measured_at(name: str, sort: str, share: float) -> str:
    """Return what a node measured that reaches a share of what its kind does."""
    values = [{"haswell": 100e9, "naples": 240e9, "rome": 300e9}.get(sort.split(maxsplit=1)[0], 50e9) * share] * 3
    result = {
        "task": "membw/part/machine/triad-nt", "kernel": "membw", "purpose": "part", "variant": "triad-nt", "part": "machine",
        "cpus": [0], "unit": "bytes/s", "values": values,
    }  # fmt: skip
    conditions = {"started": AT, "idle": True}
    return json.dumps(
        {"schema_version": 1, "advisor": "0.3.0", "machine": {"name": name}, "conditions": conditions, "results": [result]}
    )
