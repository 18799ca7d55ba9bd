"""Asks every source and joins their answers into one Machine, with what several sources tell together of cards."""

import pkgutil
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import advisor.machine.sources
from advisor.errors import AdvisorError, CannotWork
from advisor.machine.cpuset import bounded_sets
from advisor.machine.fact import identities, lists_with
from advisor.machine.hardware import Gpu, Hca, Locality, Nic, PciDevice, bus_of
from advisor.machine.hosts.base import Host, PublicText, Ran, Reading, RedactedHost, screened_host
from advisor.machine.hosts.capture import CaptureHost, Entry, MemoryStore
from advisor.machine.hosts.source import (
    BLOCK,
    Member,
    Tar,
    checksum_holds,
    contents,
    host_of_data,
    host_of_store,
    is_tar,
    number_in,
    open_host,
)
from advisor.machine.machine import Facts, Gap, Machine, merge
from advisor.machine.partitioning import MI300A
from advisor.machine.sources import fault_counters
from advisor.machine.sources.cpu import with_processor_name
from advisor.machine.sources.network import with_link_layers
from advisor.machine.sources.pci import AMD, COHERENT, NVIDIA, partition
from advisor.machine.sources.reader import FactSource
from advisor.machine.topology import NumaNode, Topology, counts

_GIB = 1 << 30

_COHERENT_NAME = re.compile(r"\bG[HB]\d{2,3}\b")
_SXM2 = (0x15F9, 0x1DB1, 0x1DB5)
"""P100 SXM2, V100 SXM2 of 16 and of 32 GB; POWER8NVL and POWER9 have NVLinks of their own, x86 processors have none."""
_MI250X = (0x7408, 0x740C)
"""The same; on an EX235a each die is joined to the processor by Infinity Fabric (OLCF, Crusher quick start guide)."""

_PARTITIONS = {"DPX": 2, "TPX": 3, "QPX": 4}
"""Partitions of a card by the mode's name (AMD GPU driver documentation, GPU partitioning)."""
_DIES = {0x74A0: 6, 0x74A1: 8, 0x74A5: 8}
"""Compute dies of MI300A, MI300X and MI325X: in CPX each is a partition (the same)."""

_EX235A = re.compile(r"EX[ _]?235[aA]")
_BARD_PEAK = {0xC1: 48, 0xC6: 56, 0xC9: 16, 0xCE: 24, 0xD1: 0, 0xD6: 8, 0xD9: 32, 0xDE: 40}
"""The first core of the eight that each GPU's PCI bus is beside: the node diagram of OLCF's Frontier user guide."""
_BARD_PEAK_NICS = {0xC5: 48, 0xCD: 16, 0xD5: 0, 0xDD: 32}
"""The first core of the NUMA node that each adapter is in: the same diagram."""

_XEON_MAX = re.compile(r"\bMax 94\d\d(?!\d)")
_XEON_MAX_HBM = (64 * _GIB, 16 * _GIB)
"""Xeon CPU Max Series configuration guide: 64 GB of HBM2e in a package, a quarter of it in each cluster with SNC4."""
_KNIGHTS = (0x57, 0x85)
_MCDRAM = 16 * _GIB
"""Models of Knights Landing and Knights Mill; of MCDRAM they have so much."""
_FASTER = 1.5
"""Memory this much above or below DRAM's bandwidth in the HMAT is HBM, or CXL: published pairs differ by 2 and more."""
_GPU_NODES = 240
"""POWER numbers the memories of its GPUs downwards from 255 (arch/powerpc/platforms/powernv)."""


def with_cards(machine: Machine) -> Machine:
    """Return the machine with what its sources tell of cards together."""
    topology = _named_memory(machine)
    machine = _placed(machine.but(topology=topology))
    pci = machine.pci and tuple(_joined(device, machine) for device in machine.pci)
    places = {device.address: device.locality for device in pci or ()}
    gpus = machine.gpus and tuple(
        gpu if gpu.locality or not gpu.card else gpu.but(locality=places.get(gpu.card)) for gpu in machine.gpus
    )
    gpus = gpus and tuple(
        part for gpu in gpus for part in _parts(gpu, gpus, {device.address: device.device for device in pci or ()})
    )
    return machine.but(pci=pci, gpus=gpus)


def _parts(gpu: Gpu, every: Sequence[Gpu], models: Mapping[str, int]) -> tuple[Gpu, ...]:
    """Return the partitions of a card that is said to be cut, where no source shows them: its runtime will."""
    shown = gpu.card is not None or any(other.card == gpu.address for other in every)
    mode = gpu.compute_partition or ""
    count = _DIES.get(models.get(gpu.address, 0), 1) if mode == "CPX" else _PARTITIONS.get(mode, 1)
    if shown or count < 2:
        return (gpu,)
    update = {"card": gpu.address, "index": None}
    return tuple(gpu.but(**update, address=partition(gpu.address, part)) for part in range(count))


def _named_memory(machine: Machine) -> Topology | None:
    """Return the topology with the kind of each node of memory alone, where processor, cards and size leave no doubt."""
    topology = machine.topology
    if topology is None or not any(node.kind is None and not node.cpuset for node in topology.nodes):
        return topology
    nodes = tuple(
        node.but(kind=_kind(machine, node)) if node.kind is None and not node.cpuset and node.memory else node
        for node in topology.nodes
    )
    return topology.but(nodes=nodes)


def _kind(machine: Machine, node: NumaNode) -> str | None:
    cpu, memory = machine.cpu, node.memory or 0
    if cpu and _XEON_MAX.search(cpu.model_name or "") and any(0.9 * size <= memory <= size for size in _XEON_MAX_HBM):
        return "hbm"
    if cpu and (cpu.family, cpu.model) in [(6, model) for model in _KNIGHTS] and memory <= _MCDRAM:
        return "hbm"
    cards = [device for device in machine.pci or () if device.kind == "gpu" and device.vendor == NVIDIA]
    power = (machine.architecture or "").startswith("ppc64") and any(card.device in _SXM2 for card in cards)
    if power and node.os_index >= _GPU_NODES:
        return "gpu"
    return "gpu" if any(_is_coherent(card, machine) for card in cards) else _by_speed(machine, node)


def _by_speed(machine: Machine, node: NumaNode) -> str | None:
    """Return what memory without CPUs is by its bandwidth against that of the nodes with CPUs, where the HMAT has both."""
    speed = {tier.node: tier.read_bandwidth for tier in machine.tiers or ()}
    owners = machine.topology.cpu_nodes if machine.topology else ()
    plain, own = min((value for each in owners if (value := speed.get(each.os_index))), default=None), speed.get(node.os_index)
    if not plain or not own or max(plain, own) < _FASTER * min(plain, own):
        return None
    return "hbm" if own > plain else "cxl"


def _is_coherent(card: PciDevice, machine: Machine) -> bool:
    """Return whether a GPU shares memory with a Grace processor: by its id, or by the name that its driver gives."""
    names = [card.name or "", *(gpu.model or "" for gpu in machine.gpus or () if gpu.address == card.address)]
    return card.vendor == NVIDIA and (card.device in COHERENT or any(_COHERENT_NAME.search(name) for name in names))


def _joined(device: PciDevice, machine: Machine) -> PciDevice:
    """Return a GPU that has a wider way to its processor than PCIe without the PCIe link, which says nothing of its speed."""
    way = _way(device, machine) if device.kind == "gpu" else None
    if way is None:
        return device
    return device.but(joined=way, link=None, card=None, path=None, bottleneck=None)


def _way(device: PciDevice, machine: Machine) -> str | None:
    if _is_coherent(device, machine):
        return "NVLink-C2C"
    if device.vendor == NVIDIA and device.device in _SXM2 and (machine.architecture or "").startswith("ppc64"):
        return "NVLink"
    if device.vendor == AMD and (device.device == MI300A or (device.device in _MI250X and _is_ex235a(machine))):
        return "Infinity Fabric"
    return None


def _is_ex235a(machine: Machine) -> bool:
    return bool(machine.firmware and _EX235A.search(machine.firmware.product or ""))


def _placed(machine: Machine) -> Machine:
    """Return an HPE Cray EX235a with its cards in their places: its firmware reports none, so they seem near to all nodes."""
    topology = machine.topology
    if topology is None or not _is_ex235a(machine) or len(topology.cpu_nodes) != 4:
        return machine

    def home(part: PciDevice | Hca | Gpu | Nic) -> Locality | None:
        known = part.locality
        if known and 0 < len(known.numa_nodes) < len(topology.cpu_nodes):
            return known
        return _beside(topology, bus_of(part.address)) or known

    lists = {name: getattr(machine, name) for name in lists_with(Facts, "locality")}
    moved = {name: parts and tuple(part.but(locality=home(part)) for part in parts) for name, parts in lists.items()}
    return machine.but(**moved)


def _beside(topology: Topology, bus: int | None) -> Locality | None:
    first = _BARD_PEAK.get(bus) if bus is not None else None
    core = _BARD_PEAK_NICS.get(bus) if bus is not None and first is None else first
    node = next((n for n in topology.cpu_nodes if core is not None and core in n.cpuset), None)
    group = next((l3.cpuset for l3 in topology.l3 if first is not None and first in l3.cpuset), None)
    if node is None:
        return None
    cpus = group if group and group < node.cpuset else None
    return Locality(numa_nodes=(node.os_index,), cpus=cpus, inferred="from its PCI bus, as on every HPE Cray EX235a")


@cache
def sources() -> tuple[FactSource, ...]:
    """Return the sources, the most believed first."""
    modules = (
        import_module(info.name) for info in pkgutil.walk_packages(advisor.machine.sources.__path__, "advisor.machine.sources.")
    )
    found = (source for module in modules for source in getattr(module, "SOURCES", ()))
    return tuple(sorted(found, key=lambda source: (source.rank, source.name)))


def paths() -> tuple[str, ...]:
    """Return every pattern of files that some source, or the watch over counters, reads: what a capture keeps."""
    return tuple(sorted({path for source in sources() for path in source.paths} | {*fault_counters.PATHS}))


def commands() -> tuple[tuple[str, ...], ...]:
    """Return every command that some source runs."""
    return tuple(sorted({command for source in sources() for command in source.commands} | {*fault_counters.COMMANDS}))


def public() -> tuple[PublicText, ...]:
    """Return what the sources say may be given away of their files and commands."""
    return (*(text for source in sources() for text in source.public), *fault_counters.PUBLIC)


def identities_of(host: Host) -> tuple[str, ...]:
    """Return the facts of a host that name it; () of one that shows no machine, of which only the files tell."""
    try:
        return tuple(dict.fromkeys(identities(collect_machine(host))))
    except AdvisorError:
        return ()


def counters() -> tuple[str, ...]:
    """Return the patterns of counters, which a capture keeps twice."""
    return fault_counters.TWICE


def asked(source: FactSource, host: Host) -> Machine:
    """Return what a source learns of a host."""
    with bounded_sets():
        return source.collect(screened_host(host))


def collect_machine(
    host: Host, step: Callable[[str], None] = lambda _: None, ask: Callable[[FactSource, Host], Machine] = asked
) -> Machine:
    """Return everything the sources learnt of a host; raise if not even its CPUs are known; ``step`` hears their names."""
    parts, failures = [], []
    for source in sources():
        step(source.name)
        try:
            parts.append(ask(source, host))
        except AdvisorError as error:
            failures.append(error)
            parts.append(Machine(gaps=(Gap(fact=source.name, why=str(error), help="the other sources were still read"),)))
    merged = with_cards(merge((*_with_exact_links(parts), Machine(gaps=_disagreement(parts)))))
    machine = with_processor_name(with_link_layers(merged))
    if machine.topology is None:
        raise failures[0] if failures else CannotWork(f"{host.name} shows no CPUs; give a capture or an hwloc XML")
    return machine


def _with_exact_links(parts: Sequence[Machine]) -> Iterator[Machine]:
    """Yield the parts without a link's rate where another part has its speed and lanes: lstopo rounds what it prints."""
    exact = {device.address for part in parts for device in part.pci or () if device.link and device.link.speed}
    for part in parts:
        pci = part.pci and tuple(
            device.but(link=None) if device.link and device.link.speed is None and device.address in exact else device
            for device in part.pci
        )
        yield part.but(pci=pci)


def _disagreement(parts: list[Machine]) -> tuple[Gap, ...]:
    """Return a gap where two sources count the machine differently: the first one's word is used, and the user knows."""
    found = [counts(part.topology.inside) for part in parts if part.topology]
    if len({*found}) < 2:
        return ()
    words = "; ".join(
        f"{name} {n.packages} packages, {n.numa_nodes} nodes, {n.l3} L3, {n.cores} cores, {n.pus} PUs"
        for name, n in zip(("lstopo", "/sys"), found, strict=False)
    )
    return (Gap(fact="agreement", why=f"two sources count differently: {words}", help="lstopo's count is used; compare by hand"),)


_FILES = bytes([0, *b"07"])
_ODD = b"xg1"
"""Extended headers, and hard links: what a member holds stands elsewhere too."""
_RUN = 32
"""Members that are compared at once, as one stretch of bytes."""
_END = bytes(BLOCK)


class Pattern:
    """An archive that others may be alike to."""

    def __init__(self, data: bytes, nodes: dict[str, Entry], members: list[Member], file: str) -> None:
        self._data, self.nodes, self._members = data, nodes, members
        self.store = MemoryStore(nodes, file)
        # Runs of members, and from where to where they lie.
        runs = [members[first : first + _RUN] for first in range(0, len(members), _RUN)]
        self._runs = [(run[0].position, run[-1].position + BLOCK + _padded(run[-1].size), run) for run in runs]
        files = [member.path for member in self._members if member.kind in _FILES]
        self._plain = len(files) == len(set(files)) and not any(member.kind in _ODD for member in self._members)

    def changes(self, data: bytes) -> dict[str, bytes] | None:
        """Return the files of an archive whose content differs from this one's; None where it is not alike."""
        found: dict[str, bytes] = {}
        at = 0
        for start, end, members in self._runs if self._plain else ():
            if data[at : at + end - start] == self._data[start:end]:
                at += end - start
                continue
            for member in members:
                after = self._compared(member, data, at, found)
                if after is None:
                    return None
                at = after
        return found if self._plain and data[at : at + BLOCK] == _END else None

    def difference(self, nodes: dict[str, Entry]) -> dict[str, bytes] | None:
        """Return the files of other nodes whose content differs; None where other files, folders or links are there."""
        if nodes.keys() != self.nodes.keys():
            return None
        found: dict[str, bytes] = {}
        for path, node in nodes.items():
            own = self.nodes[path]
            if node != own:
                if not isinstance(node, bytes) or not isinstance(own, bytes):
                    return None
                found[path] = node
        return found

    def _compared(self, member: Member, data: bytes, at: int, found: dict[str, bytes]) -> int | None:
        """Note a member's content where it differs; return where the next one lies, None where this is another member."""
        size, start = member.size, member.position
        header, own = data[at : at + BLOCK], self._data[start : start + BLOCK]
        if header != own:
            if len(header) < BLOCK or header[:100] != own[:100] or header[156:] != own[156:] or not checksum_holds(header):
                return None
            size = number_in(header[124:136])
            if size < 0 or (size != member.size and member.kind not in _FILES):
                return None
        content = data[at + BLOCK : at + BLOCK + size]
        if len(content) < size:
            return None
        if size != member.size or content != self._data[start + BLOCK : start + BLOCK + size]:
            if member.kind not in _FILES or member.path is None or not isinstance(self.nodes.get(member.path), bytes):
                return None
            found[member.path] = content
        return at + BLOCK + _padded(size)


def _padded(size: int) -> int:
    return size + -size % BLOCK


V = TypeVar("V")
_PATTERNS = 6
"""Captures that others are compared with, in memory; the largest machines' have 20 MB."""
_RESULTS = 32
"""Results of a source that are kept for one way of asking; what names a node is another on each."""
_GROUPS = 8


Question = str | tuple[str, ...]
"""A file of the capture by its place, a command by its words, or the variables, which the empty text stands for."""
View = tuple[Question, Callable[[Any], Any]]
"""A file or a command's output, and what was made of it, which is all that counts."""


class Asked(NamedTuple):
    """What a source asked of a capture, beside which files and folders there are."""

    whole: frozenset[Question] = frozenset()
    views: frozenset[View] = frozenset()


class Traced(RedactedHost):
    """A capture that notes what it is asked, and takes parts from a memo."""

    def __init__(self, host: CaptureHost, memo: "_Memo", changes: "_Changes") -> None:
        super().__init__(host)
        self._capture, self._memo, self._changes = host, memo, changes
        self._whole: set[Question] = set()
        self._views: set[View] = set()

    @property
    def asked(self) -> Asked:
        """What was asked up to now."""
        return Asked(frozenset(self._whole), frozenset(self._views))

    def read(self, path: str) -> Reading:
        """Return what a file held."""
        if (place := self._capture.place(path)) is not None:
            self._whole.add(place)
        return super().read(path)

    def view(self, path: str, view: Callable[[str], V]) -> V:
        """Return what a function makes of a file's text."""
        if (place := self._capture.place(path)) is not None:
            self._views.add((place, view))
        return view(_text(super().read(path)))

    def part(self, make: Callable[[Host], V]) -> V:
        """Return what a function learns, from a capture that showed it the same where there is one."""
        asked, made = self._memo.made(self._changes, make, make, self._capture)
        self._whole |= asked.whole
        self._views |= asked.views
        return made

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed."""
        self._whole.add(tuple(argv))
        return super().run(argv, timeout)

    def answer_view(self, argv: tuple[str, ...], view: Callable[[bytes], V]) -> V:
        """Return what a function makes of a command's output."""
        self._views.add((argv, view))
        return view(super().run(argv).out)

    def environment(self) -> dict[str, str]:
        """Return the variables that were set."""
        self._whole.add("")
        return super().environment()


def _text(reading: Reading) -> str:
    """Return a file's text as Reader.text does; the empty text where there is none."""
    return (reading.text or "").strip().rstrip("\0")


_Changes = dict[Question, Any]
"""In what a capture differs from the one that it is alike to: bytes, of a command those of its members by name."""


class _Memo:
    """What sources made of captures that are alike."""

    def __init__(self, pattern: Pattern, host: CaptureHost, top: str) -> None:
        self.pattern, self._host, self._top = pattern, host, top
        self._results: dict[Hashable, dict[Asked, dict[Hashable, Any]]] = {}
        self._base: dict[View, Any] = {}

    def host(self, found: dict[str, bytes], name: str) -> CaptureHost:
        """Return the host of a capture that differs so."""
        return self._host.alike(self.pattern.store.with_files(found).below(self._top), name)

    def changes(self, found: Mapping[str, bytes]) -> _Changes | None:
        """Return changed members as what sources ask for; None where what was looked for is another: nothing is taken over."""
        changes: _Changes = {}
        for path, content in found.items():
            part, _, rest = path.removeprefix(f"{self._top}/").partition("/")
            number, _, member = rest.partition("/")
            if part == "root":
                changes[f"/{rest}"] = content
            elif part == "commands" and (argv := self._argv(number)) and not rest.endswith("/argv"):
                changes.setdefault(argv, {})[member] = content
            elif part == "environment":
                changes[""] = content
            elif part not in ("about", "again"):
                return None
        return changes

    def _argv(self, number: str) -> tuple[str, ...] | None:
        content = self.pattern.nodes.get(f"{self._top}/commands/{number}/argv")
        if not isinstance(content, bytes):
            return None
        return tuple(content.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n"))

    def ask(self, changes: _Changes, source: FactSource, host: Host) -> Machine:
        """Return what a source makes of a capture, from another that showed it the same where there is one."""
        return self.made(changes, source.name, partial(asked, source), host)[1]

    def made(self, changes: _Changes, name: Hashable, make: Callable[[Host], V], host: Host) -> tuple[Asked, V]:
        """Return what a function makes of a capture, and what it asked."""
        known = self._results.setdefault(name, {})
        for way, results in known.items():
            found = results.get(self._key(way, changes))
            if found is not None:
                return way, found
        traced = Traced(host, self, changes)  # type: ignore[arg-type]  # every host of a memo is a capture
        made = make(traced)
        results = known.setdefault(traced.asked, {})
        results[self._key(traced.asked, changes)] = made
        if len(results) > _RESULTS:
            del results[next(iter(results))]
        if len(known) > _GROUPS:
            del known[next(iter(known))]
        return traced.asked, made

    def _key(self, way: Asked, changes: _Changes) -> Hashable:
        """Return in what a capture differs where a source looked; equal keys are equal answers to all that it asked."""
        whole = {question: changes[question] for question in way.whole & changes.keys()}
        return (
            frozenset((of, frozenset(new.items()) if isinstance(new, dict) else new) for of, new in whole.items()),
            frozenset((view, seen) for view in way.views if view[0] in changes for seen in self._seen(view, changes[view[0]])),
        )

    def _seen(self, view: View, new: Any) -> Iterator[Hashable]:
        """Yield what is seen of a file or an answer that differs, where that differs too."""
        place, of = view
        if isinstance(new, dict):
            seen = of(new["stdout"]) if "stdout" in new else None
            rest = frozenset((name, content) for name, content in new.items() if name != "stdout")
            yield rest, blake2b(seen, digest_size=16).digest() if isinstance(seen, bytes) else seen
            return
        if view not in self._base:
            self._base[view] = of(_text(self._host.read(str(place))))
        if (seen := of(_text(Reading(new)))) != self._base[view]:
            yield seen


class CaptureReader:
    """Reads captures one after the other."""

    def __init__(self) -> None:
        self._memos: list[_Memo] = []

    def read(self, file: Path) -> tuple[Machine, Host, Host]:
        """Return the machine of a capture, an hwloc XML or a root, the host that it was read from, and one that takes parts."""
        data = contents(str(file))
        if data is None or not is_tar(data):
            host = open_host(str(file)) if data is None else host_of_data(data, file)
            return collect_machine(host), host, host
        memo, found = self._alike(data, file.name)
        changes = memo.changes(found) if memo else None
        if memo is None or changes is None:
            host = host_of_data(data, file)
            return collect_machine(host), host, host
        capture = memo.host(found, file.name)
        return collect_machine(capture, ask=partial(memo.ask, changes)), capture, Traced(capture, memo, changes)

    def _alike(self, data: bytes, name: str) -> tuple[_Memo | None, dict[str, bytes]]:
        """Return the memo of captures that are alike to one, and in what it differs; a new memo where there is none."""
        for memo in self._memos:
            found = memo.pattern.changes(data)
            if found is not None:
                return self._first(memo), found
        tar = Tar(data, name)
        nodes = tar.nodes()
        for memo in self._memos:
            found = memo.pattern.difference(nodes)
            if found is not None:
                return self._first(memo), found
        pattern = Pattern(data, nodes, tar.members, name)
        host = host_of_store(pattern.store, name)
        top = next((path.removesuffix("/format") for path in nodes if path.endswith("/format") and path.count("/") <= 2), None)
        if not isinstance(host, CaptureHost) or top is None:
            return None, {}
        self._memos = [_Memo(pattern, host, top), *self._memos][:_PATTERNS]
        return self._memos[0], {}

    def _first(self, memo: _Memo) -> _Memo:
        self._memos.remove(memo)
        self._memos.insert(0, memo)
        return memo
