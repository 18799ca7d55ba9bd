"""Fleets of the published machines and the seeds, in racks, with planted oddities: what lstopo printed is in each capture."""

import gzip
import os
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from advisor.advice.audit import audit
from advisor.advice.judgement import judged
from advisor.advice.model.findings import Finding
from advisor.fleet.fleet import ANSWERS, BEFORE_SUFFIX, MEASURED_SUFFIX, Answer, Fleet
from advisor.machine.hosts.base import Ran
from advisor.machine.hosts.capture import Entry, MemoryStore, TreeHost, top_of
from advisor.machine.hosts.errands import Outcome, expanded
from advisor.machine.hosts.source import XmlHost, host_of_store, unpack
from advisor.machine.machine import Machine
from advisor.machine.sources.hwloc import LSTOPO
from advisor.machine.sources.registry import collect_machine
from tests.fleet.planted import AT, NOISE, ROOT, SORTS, Shape, measured_at, noise, stored, untrue
from tests.machines import hwloc_xml, sysfs
from tests.machines.tree import write

CORPUS = Path(os.environ.get("ADVISOR_CORPUS", Path(__file__).parents[3] / "shared" / "machines"))
OLD_RACKS = 3
_NAME = b"x" * 24
"""Room for a name; what is left of it stands as white space at the end of the XML."""
_THP_NEVER, _BALANCING_ON = "os-thp-never", "os-numa-balancing-on"
THP, BALANCING = "sys/kernel/mm/transparent_hugepage/enabled", "proc/sys/kernel/numa_balancing"
_FILES: dict[str, bytes] = {
    "/proc/sys/kernel/hostname": b"node\n",
    f"/{BALANCING}": b"1\n",
    "/proc/uptime": b"100000.00 100.00\n",
    f"/{THP}": b"[always] madvise never\n",
}
_OWN = re.compile(
    rb'(<info name="(?:Port\d+LID|\w*(?:Address|GUID|GID\d|Serial|SerialNumber|UUID))" value="(?:0x)?)([^"]*)'
    rb'|(local_memory=")(\d+)|(<page_type size="4096" count=")(\d+)'
)
_ADAPTER = re.compile(
    rb'<object type="PCIDev"[^>]*pci_busid="[^"]*([0-9a-f])\.\d"[^>]*>(?:\s*<info[^>]*/>)*\s*<object type="OSDev"[^>]*'
    rb'name="((?:mlx|hfi|mthca|qib)\w+)"[^>]*>(?:\s*<info[^>]*/>)*?\s*<info name="Port1State" value="(4)"'
)
_BIOS = re.compile(rb'<info name="DMIBIOSVersion" value="[^"]*(\w)[^"\w]*"')


class Seen(TreeHost):
    """A machine of which files are kept, and what lstopo printed."""

    def __init__(self, nodes: Mapping[str, Entry], xml: bytes | None, name: str) -> None:
        store = MemoryStore(nodes, name)
        super().__init__(store.below(top_of(store) or ""), name)
        self._xml = xml and re.sub(rb'(name="HostName" value=")[^"]*', rb"\1" + _NAME, xml)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what lstopo printed; no other command was kept."""
        known = self._xml is not None and argv == LSTOPO
        return Ran(self._xml or b"", path="/usr/bin/lstopo-no-graphics") if known else super().run(argv, timeout)


class Archive(Shape):
    """An archive that knows where its XML is."""

    def __init__(self, host: Seen) -> None:
        super().__init__(host)
        argv = "".join(f"{word}\n" for word in LSTOPO).encode()
        of = (path for path in self.members if path.endswith("/argv") and self.content(path) == argv)
        self.xml = next((path.replace("/argv", "/stdout") for path in of), None)

    def node(self, name: str, chance: random.Random, change: "Change") -> bytes:
        """Return the archive of one node."""
        changes = noise(self, name, chance)
        if self.xml is not None:
            changes[self.xml] = xml_of(change.xml(self.content(self.xml)), name.encode(), chance)
        changes |= {f"{ROOT}{path}": content for path, content in change.files.items()}
        assert [path for path, content in changes.items() if -len(content) // 512 != -self.members[path][2] // 512] == []
        return self.copy(changes)


def xml_of(xml: bytes, name: bytes, chance: random.Random) -> bytes:
    """Return what lstopo prints on one node: its name, serial numbers, MACs, GUIDs, LIDs and some kB of memory are its own."""

    def own(match: re.Match[bytes]) -> bytes:
        if match[3]:
            return match[3] + b"%d" % max(4096, int(match[4]) - 4096 * chance.randrange(16))
        if match[5]:
            return match[5] + b"%d" % max(1, int(match[6]) - chance.randrange(16))
        return match[1] + re.sub(rb"[1-9a-f]", lambda _: b"%x" % (chance.randrange(9) + 1), match[2])

    made = _OWN.sub(own, xml).replace(_NAME, name)
    return made.ljust(len(xml), b"\n")


@dataclass(frozen=True)
class Change:
    """What is otherwise on a node: its files, or what lstopo prints."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    xml: Callable[[bytes], bytes] = lambda xml: xml


def _put(pattern: re.Pattern[bytes], group: int, value: bytes | None, xml: bytes) -> bytes:
    """Return an XML in which one letter is another."""
    match = pattern.search(xml)
    assert match is not None
    return xml[: match.start(group)] + (value or (b"1" if match[group] != b"1" else b"2")) + xml[match.end(group) :]


@cache
def machine(name: str) -> Archive:
    """Return the archive of a published machine: its files where they were published too, and what lstopo printed of it."""
    xml = (CORPUS / "xml" / f"{name}.xml").read_bytes()
    if b'name="HostName"' not in xml:
        xml = re.sub(rb'(<object type="Machine"[^>]*[^/]>)', rb'\1\n    <info name="HostName" value=""/>', xml, count=1)
    root = next(CORPUS.glob(f"roots/{name}.tar.*"), None)
    kept: dict[str, Entry] = {} if root is None else dict(unpack(root.read_bytes(), root.name))
    top = top_of(MemoryStore(kept, name)) or "" if kept else ""
    return Archive(Seen({f"{top}{path}": content for path, content in _FILES.items()} | kept, xml, name))


@cache
def seed(sort: str) -> Archive:
    """Return the archive of a seed, with what lstopo prints of it where that is installed."""
    spec = SORTS[sort]()
    tree = {**sysfs.root(spec), **NOISE}
    with tempfile.TemporaryDirectory() as folder:
        write(tree, Path(folder))
        xml = hwloc_xml.xml(Path(folder), disallowed=True)
    return Archive(Seen(stored(tree), None if xml is None else xml.encode(), spec.host))


@dataclass(frozen=True)
class Sort:
    """A machine with or without an oddity: which archive its nodes are copies of, and what they measure."""

    machine: str
    archive: Callable[[], Archive]
    change: Change = Change()
    seed: str | None = None


@dataclass
class Racks:
    """A fleet in racks, and the truth about it."""

    machines: dict[str, list[str]] = field(default_factory=dict)
    """Machine -> its nodes that answered."""
    plants: list[tuple[str, set[str]]] = field(default_factory=list)
    """The fact that has to be named, and the nodes."""
    silent: dict[str, str] = field(default_factory=dict)
    slow: set[str] = field(default_factory=set)
    sorts: dict[str, "Sort"] = field(default_factory=dict)
    """What each node is a copy of."""


SETTINGS = (
    ("kernel.thp", Change({THP: b"always madvise [never]\n"})),
    ("kernel.numa_balancing", Change({BALANCING: b"0\n"})),
)
IN_SEEDS = (
    ("numa.partitioning", "haswell cod"),
    ("firmware.bios_version", "haswell bios"),
    ("hardware.DIMMs", "haswell dimm"),
    ("hcas.mlx5_0.ports.1.state", "haswell down"),
    ("hcas.mlx5_0.locality.numa_nodes", "haswell slot"),
)


def oddities(name: str) -> Iterator[tuple[str, Change]]:
    """Yield what can be planted in a published machine, each with the fact that names it."""
    yield from SETTINGS
    own = machine(name)
    if own.xml is None or any((CORPUS / "roots").glob(f"{name}.tar.*")):
        return
    xml = own.content(own.xml)
    if _BIOS.search(xml):
        yield "firmware.bios_version", Change(xml=partial(_put, _BIOS, 1, None))
    match = _ADAPTER.search(xml)
    if match:
        yield f"hcas.{match[2].decode()}.locality.numa_nodes", Change(xml=partial(_put, _ADAPTER, 1, None))
        yield f"hcas.{match[2].decode()}.ports.1.state", Change(xml=partial(_put, _ADAPTER, 3, b"1"))


def plant_racks(folder: Path, seed_: int, nodes: int, *, every: bool = False, level: int = 1) -> Racks:
    """Write a fleet: half of seeds, half of published machines (of all of them if asked), and answers of those that did not."""
    chance, made = random.Random(seed_), Racks()  # noqa: S311 - no secret
    folder.mkdir(parents=True, exist_ok=True)
    known = sorted(path.stem for path in CORPUS.glob("xml/*.xml"))
    few = known if every else sorted(chance.sample(known, min(len(known), max(2, nodes // 60))))
    rack = max(2, nodes // 250)
    names = [f"r{at // rack + 1:03}n{at % rack + 1:03}" for at in range(nodes)]
    haswell, naples = nodes * 2 // 5, nodes // 10
    shares = {"haswell": names[:haswell], "naples": names[haswell : haswell + naples]}
    rest = names[haswell + naples :]
    shares |= {name: rest[at * len(rest) // len(few) : (at + 1) * len(rest) // len(few)] for at, name in enumerate(few)}
    for name in chance.sample(names, 5):
        made.silent[name] = chance.choice(("timed out", "no route", "host key", "truncated"))
    sorts: dict[str, Sort] = {}
    for own, of in shares.items():
        plain = Sort(own, partial(seed, own), seed=own) if own in SORTS else Sort(own, partial(machine, own))
        made.machines[own] = [name for name in of if name not in made.silent]
        sorts |= dict.fromkeys(of, plain)
        _plant(made, plain, sorts, chance, rack)
    made.sorts = {node: sort for node, sort in sorts.items() if node not in made.silent}
    _write(folder, made, sorts, chance, level)
    return made


def _plant(made: Racks, plain: Sort, sorts: dict[str, Sort], chance: random.Random, rack: int) -> None:
    """Plant oddities in the nodes of one machine: a hundredth of them each, at least one, where there are forty."""
    left = list(made.machines[plain.machine])
    if len(left) < 20:
        return
    planted = [(fact, replace(plain, change=change)) for fact, change in SETTINGS]
    if plain.machine == "haswell":
        first = chance.randrange(len(left) // rack - OLD_RACKS)
        old = [name for name in left if first <= int(name[1:4]) - int(left[0][1:4]) < first + OLD_RACKS]
        made.plants.append(("firmware.bios_version", set(old)))
        sorts |= dict.fromkeys(old, Sort("haswell", partial(seed, "haswell old"), seed="haswell old"))
        left = [name for name in left if name not in old]
        planted += [(fact, Sort("haswell", partial(seed, sort), seed=sort)) for fact, sort in IN_SEEDS]
    elif plain.machine not in SORTS:
        planted = [chance.choice([(fact, replace(plain, change=change)) for fact, change in oddities(plain.machine)])]
    for fact, sort in planted:
        own = chance.sample(left, max(1, len(left) // 300))
        left = [name for name in left if name not in own]
        made.plants.append((fact, set(own)))
        sorts |= dict.fromkeys(own, sort)
    if plain.machine in SORTS or chance.random() < 0.3:
        made.slow.add(chance.choice(left))


def _measure(folder: Path, name: str, sort: str, chance: random.Random, usual: float) -> None:
    """Leave what fleet measure leaves: who may be slow at the first look was measured again, and both are there."""
    share = chance.gauss(usual, 0.012)
    if share < 0.96:
        (folder / f"{name}{BEFORE_SUFFIX}").write_text(measured_at(name, sort, share))
        share = random.Random(f"{name} again").gauss(usual, 0.012)  # noqa: S311 - planted figures
    (folder / f"{name}{MEASURED_SUFFIX}").write_text(measured_at(name, sort, share))


def _write(folder: Path, made: Racks, sorts: Mapping[str, Sort], chance: random.Random, level: int) -> None:
    lines = []
    for name, sort in sorts.items():
        why = made.silent.get(name)
        if why in (None, "truncated"):
            data = gzip.compress(sort.archive().node(name, chance, sort.change), level, mtime=0)
            (folder / f"{name}.tar.gz").write_bytes(data[: len(data) // 2] if why else data)
            _measure(folder, name, sort.machine, chance, 0.85 if name in made.slow else 1)
        outcome = Outcome(why) if why and why != "truncated" else Outcome.ANSWERED
        archive = f"{name}.tar.gz" if outcome is Outcome.ANSWERED else None
        lines.append(Answer(node=name, at=AT, outcome=outcome, archive=archive).line())
    (folder / ANSWERS).write_bytes(b"".join(lines))


def found_alone(sort: Sort) -> dict[str, set[str]]:
    """Return what is wrong with a machine as it was published, one by itself: each rule with its claims.

    No capture of ours, no fleet and no memo is in this: a seed's files are read, a published machine's XML, its files too where
    they were published, and what either shows is true. What ``_FILES`` adds to them is said here by hand.
    """
    found: dict[str, set[str]] = defaultdict(set)
    nodes = 0
    for own, findings in _alone(sort):
        nodes = sum(bool(node.cpuset) for node in own.topology.nodes) if own.topology else 0
        for finding in findings:
            found[finding.id].add(finding.claim or "")
    if sort.seed is None:
        files = {**{path[1:]: content for path, content in _FILES.items()}, **sort.change.files}
        for rule, wrong in ((_BALANCING_ON, files[BALANCING] == b"1\n"), (_THP_NEVER, files[THP].endswith(b"[never]\n"))):
            if wrong and (rule is _THP_NEVER or nodes > 1):
                found[rule].add("")
    return found


def _alone(sort: Sort) -> Iterator[tuple[Machine, Sequence[Finding]]]:
    """Yield the machine as each of its publications has it, and what an audit finds on it."""
    if sort.seed is not None:
        files = {**sysfs.root(SORTS[sort.seed]()), **NOISE, **sort.change.files}
        store = MemoryStore({f"/x{path}": entry for path, entry in stored(files).items()}, "x")
        own = collect_machine(host_of_store(store, "x"))
        yield own, judged(own).audit.found
        return
    for root in CORPUS.glob(f"roots/{sort.machine}.tar.*"):
        found = audit(str(root))
        yield found.machine, found.audit.found
    xml = sort.change.xml((CORPUS / "xml" / f"{sort.machine}.xml").read_bytes())
    own = collect_machine(XmlHost(xml, f"{sort.machine}.xml"))
    yield own, judged(own).audit.found


def mistakes(made: Racks, fleet: Fleet) -> Iterator[str]:
    """Yield what a screen leaves out of the truth, and what it says beside it."""
    odd = made.slow.union(*(nodes for _, nodes in made.plants))
    of = {node: machine for machine, nodes in made.machines.items() for node in nodes}
    kinds = {kind.name: {of[node] for node in expanded(kind.nodes)} for kind in fleet.kinds}
    yield from _left_out(made, fleet)
    yield from (f"DRIFT {each}" for each in fleet.drift if not _is_true(set(expanded(each.nodes)) - odd, made, kinds[each.kind]))
    yield from (f"SPLIT {each}" for each in fleet.split if len(kinds[each.kind]) == 1)
    true = {id(sort): found_alone(sort) for sort in {id(each): each for each in made.sorts.values()}.values()}
    yield from untrue(fleet, {node: true[id(sort)] for node, sort in made.sorts.items()})
    for wrong in fleet.wrong:
        claims = true[id(made.sorts[expanded(wrong.nodes)[0]])].get(wrong.rule, {wrong.claim})
        if "" not in claims and wrong.claim not in claims:
            yield f"WRONG {wrong.rule} {wrong.nodes}: {wrong.claim} instead of {sorted(claims)}"
    for name, own in made.machines.items():
        if own and (count := sum(name in found for found in kinds.values())) != 1:
            yield f"{name} is {count} kinds"
    yield from (f"ODD {each}" for each in fleet.odd)


def _left_out(made: Racks, fleet: Fleet) -> Iterator[str]:
    """Yield what was planted and is not named, and who is slow or silent otherwise than planted."""
    for fact, nodes in made.plants:
        named = set[str]().union(*(expanded(each.nodes) for each in fleet.drift if each.fact == fact))
        if not nodes <= named:
            yield f"{fact} of {sorted(nodes - named)} is not named"
    if {each.node for each in fleet.slow} != made.slow:
        yield f"SLOW {sorted(each.node for each in fleet.slow)} for {sorted(made.slow)}"
    if {each.node: each.why for each in fleet.silent} != made.silent:
        yield f"silent: {fleet.silent}"


def _is_true(nodes: set[str], made: Racks, machines: set[str]) -> bool:
    """Tell whether nodes that differ, beside odd ones, are all of another published machine of the same hardware."""
    own = (set(made.machines[name]) - set().union(*(nodes for _, nodes in made.plants)) - made.slow for name in machines)
    return not nodes or (len(machines) > 1 and all(each <= nodes for each in own if each & nodes))
