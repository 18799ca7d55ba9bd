"""Reads a host's files into numbers and sets, and remembers what could not be read."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, NamedTuple, TypeVar

from advisor.errors import BadInput
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Host, PublicText, Why
from advisor.machine.machine import NOT_OFFERED, Gap, Machine, Source
from advisor.machine.value import is_name, number, size

V = TypeVar("V")
ROOT_HELP = "run as root: sudo advisor audit, or sudo advisor capture"  # one text for both: a capture is the same Machine
FULL_HELP = "raise the limit and read again: ulimit -n 1024"
REPORT_HELP = "report it with the output of advisor capture"
NOT_IN_INPUT = "not in this input"  # without a file name: a Machine is the same wherever its capture lies
CAPTURE_HELP = "take a capture on the machine itself: advisor capture"


def invalid_names(fact: str, names: Iterable[str]) -> tuple[Gap, ...]:
    """Return the gap that says which names of devices or of the host are none, and were dropped; () where all are."""
    odd = [name for name in names if not is_name(name)]
    if not odd:
        return ()
    others = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
    why = f"{odd[0][:40]!a}{others}: not a valid device or host name"
    return (Gap(fact=f"{fact}.name", why=why, help="ignored; rename it, or ask whoever created this input"),)


NUMBERS = r"\d{1,20}"
"""Lines that hold a number and nothing else."""


class FactSource(NamedTuple):
    """A source of facts: a module of this room lists its own as ``SOURCES``, and is then asked."""

    name: str
    about: str
    collect: Callable[[Host], Machine]
    paths: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    public: tuple[PublicText, ...] = ()
    """What an anonymised capture keeps: lines of a file (by its pattern) or of a command that match an expression whole."""
    rank: int = 20


def files(folder: str, names: str) -> tuple[str, ...]:
    """Return the patterns of some files of a folder, whose names are written in one text."""
    return tuple(f"{folder}/{name}" for name in names.split())


def set_in(text: str | None, parse: Callable[[str], CpuSet] = CpuSet.parse) -> CpuSet | None:
    """Return the set that a text is, or None."""
    try:
        return None if text is None else parse(text)
    except BadInput:
        return None


def unknown(fact: str, why: str = NOT_IN_INPUT, help: str = CAPTURE_HELP) -> Machine:  # noqa: A002 - the word of the Gap it fills
    """Return a machine of which nothing but why is known."""
    return Machine(gaps=(Gap(fact=fact, why=why, help=help),))


def part(host: Host, make: Callable[[Host], V]) -> V:
    """Return what a function learns of a host; of one that keeps what was learnt of its like, perhaps from another."""
    shared: Callable[[Callable[[Host], V]], V] | None = getattr(host, "part", None)
    return shared(make) if shared else make(host)


def answer_view(host: Host, argv: tuple[str, ...], view: Callable[[bytes], V]) -> V:
    """Return what a function makes of a command's output; it looks at nothing else: see Reader.view."""
    seen: Callable[[tuple[str, ...], Callable[[bytes], V]], V] | None = getattr(host, "answer_view", None)
    return seen(argv, view) if seen else view(host.run(argv).out)


class Reader:
    """A host as one source sees it; ``sources`` and ``gaps`` grow as it reads."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._sources: dict[str, str] = {}
        self._gaps: dict[str, Gap] = {}

    def machine(self, **facts: Any) -> Machine:
        """Return a machine with some facts, where each was read, and what could not be."""
        return Machine(**facts, sources=self.sources, gaps=self.gaps)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Where each fact was read."""
        return tuple(Source(fact=fact, where=where) for fact, where in self._sources.items())

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What could not be read."""
        return tuple(self._gaps.values())

    def found(self, fact: str, where: str) -> None:
        """Note where a fact was read."""
        self._sources.setdefault(fact, where)

    def lacks(self, fact: str, why: str, help: str) -> None:  # noqa: A002 - the word of the Gap it fills
        """Note that a fact could not be learnt, and what would change that."""
        self._gaps.setdefault(fact, Gap(fact=fact, why=why, help=help))

    def takes(self, other: Machine) -> Machine:
        """Return what another reader of the same host made; what it found and lacked is noted."""
        for source in other.sources:
            self.found(source.fact, source.where)
        for gap in other.gaps:
            self._gaps.setdefault(gap.fact, gap)
        return other

    def matching(self, fact: str, folder: str, pattern: re.Pattern[str], first: str) -> list[str] | None:
        """Return the names in a folder that match, [] where there are none, both noted; None where it may not be looked at.

        ``first`` is a file of the first of them: reading it tells an empty folder from one that an input does not hold.
        """
        found = [name for name in self.host.list(folder) if pattern.fullmatch(name)]
        why = self.host.read(f"{folder}/{first}").why
        if not found and why is not Why.ABSENT:
            self.missed(fact, folder, why or Why.NOT_KEPT)
            return None
        self.found(fact, folder)
        return found

    def text(self, path: str, fact: str | None = None) -> str | None:
        """Return a file's text without the white space around it, or None; under a fact's name, both ways are noted."""
        reading = self.host.read(path)
        if fact and reading.why:
            self.missed(fact, path, reading.why)
        elif fact:
            self.found(fact, path)
        return None if reading.why else (reading.text or "").strip().rstrip("\0")

    def view(self, path: str, view: Callable[[str], V]) -> V:
        """Return what a function makes of a file's text, the empty text where there is none; it looks at nothing else.

        Of a file of which most lines are another on each node a memo keeps what was made of it, not the file.
        """
        seen: Callable[[str, Callable[[str], V]], V] | None = getattr(self.host, "view", None)
        return seen(path, view) if seen else view(self.text(path) or "")

    def missed(self, fact: str, path: str, why: Why) -> None:
        """Note that a path did not give a fact, with the help that fits the reason."""
        known = {
            Why.NOT_KEPT: (NOT_IN_INPUT, CAPTURE_HELP),
            Why.REFUSED: (f"{path}: permission denied", ROOT_HELP),
            Why.FULL: (f"{path}: {why}", FULL_HELP),
        }
        self.lacks(fact, *known.get(why, (f"{path}: {why}", NOT_OFFERED)))

    def names(self, folder: str, fact: str) -> list[str]:
        """Return the devices that a folder lists; what can be no device's name is dropped, and becomes a gap."""
        listed = self.host.list(folder)
        for gap in invalid_names(fact, listed):
            self.lacks(gap.fact, gap.why, gap.help)
        return [name for name in listed if is_name(name)]

    def number(self, path: str, fact: str | None = None) -> int | None:
        """Return a file's whole number, decimal or 0x, or None."""
        return number(self.text(path, fact))

    def value(self, path: str, fact: str | None, read: Callable[[str | None], V]) -> V | None:
        """Return what a function makes of a file's text, None where there is none; a text that it refuses becomes a gap."""
        try:
            return read(self.text(path, fact))
        except BadInput as error:
            self.lacks(fact or path, f"{path}: {error.problem}", REPORT_HELP)
            return None

    def cpus(self, path: str, fact: str | None = None) -> CpuSet | None:
        """Return a file's CPU list (``0-3,8``), or None; a text that is none becomes a gap."""
        return self.value(path, fact, lambda text: None if text is None else CpuSet.parse(text))

    def told(self, fact: str, ways: Iterable[tuple[str, V | None]]) -> V | None:
        """Return the first answer that is one, of all with where each is from; that is noted. None where there is none."""
        for where, answer in ways:
            if answer is not None:
                self.found(fact, where)
                return answer
        return None

    def first(self, paths: Iterable[str], fact: str) -> str | None:
        """Return the text of the first path that can be read, or None."""
        return self.told(fact, ((path, self.text(path)) for path in paths))


ArmParts = tuple[tuple[tuple[int | None, int | None], tuple[int, ...]], ...]
"""Implementer and part, and the CPUs of such cores, in the order of their first."""
_ARM_LINES = re.compile(r"^(processor|CPU implementer|CPU part)[ \t]*: *(\w{1,12})$", re.MULTILINE | re.ASCII)
_HEAD = 4096
"""The first CPU's vendor, family and model stand within so many characters."""


def memory_total(text: str, what: str = "MemTotal") -> int | None:
    r"""Return the bytes of a meminfo, or of another line of it.

    >>> memory_total("Node 0 MemTotal:       16 kB\nNode 0 MemFree:        8 kB")
    16384
    """
    match = re.search(rf"{what}:\s*(\d{{1,15}}\s*kB)", text, re.ASCII)
    return size(match[1]) if match else None


def of_knights_landing(text: str) -> bool:
    """Return whether a cpuinfo is of Knights Landing or Mill."""
    model = re.search(r"^model\s*:\s*(\d{1,3})$", text[:_HEAD], re.ASCII | re.MULTILINE)
    return "GenuineIntel" in text[:_HEAD] and model is not None and int(model[1]) in (87, 133)


def of_family_15h(text: str) -> bool:
    """Return whether a cpuinfo is of AMD family 15h (Bulldozer to Excavator)."""
    family = re.search(r"^cpu family\s*:\s*(\d{1,3})$", text[:_HEAD], re.ASCII | re.MULTILINE)
    return "AuthenticAMD" in text[:_HEAD] and family is not None and int(family[1]) == 0x15


def arm_parts(text: str) -> ArmParts:
    r"""Return the CPUs of a cpuinfo of Arm by their part; () of any other.

    >>> arm_parts("processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n")
    (((65, 3340), (0,)),)
    """
    if "CPU part" not in text:
        return ()
    cpus: dict[tuple[int | None, int | None], list[int]] = defaultdict(list)
    cpu, implementer = None, None
    for key, value in _ARM_LINES.findall(text):
        if key == "processor":
            cpu, implementer = number(value), None
        elif key == "CPU implementer":
            implementer = number(value)
        elif cpu is not None and 0 <= cpu < 1 << 20:
            cpus[implementer, number(value)].append(cpu)
    return tuple((kind, tuple(numbers)) for kind, numbers in cpus.items())


_UNREAD = rb"Address|NodeGUID|SysImageGUID|Port\d{1,3}GID\d{1,3}|SerialNumber|\w{0,20}(?:Serial|UUID|AssetTag)"
_OWN = re.compile(
    rb'<info name="(HostName|Port\d{1,3}LID|' + _UNREAD + rb')" value="([ !#-%\'-;=?-~]{0,300})"/>'
    rb'|local_memory="([1-9]\d{0,17})"|<page_type [^<>]{0,100}/>'
)
"""What lstopo prints otherwise on each of equal nodes: of a part nothing is read, the rest is put in afterwards."""
MARK = "advisor-own-"


def shared_text(data: bytes) -> bytes:
    """Return an XML as equal nodes have it: marks stand where each has words of its own, and amounts of memory are rounded."""
    number_of = count()

    def put(match: re.Match[bytes]) -> bytes:
        if match[3]:
            first = match[3][:2]
            return b'local_memory="%b" own="%b%d"' % (first.ljust(len(match[3]), b"0"), MARK.encode(), next(number_of))
        if match[1] is not None and _is_put_in(match[1]):
            return b'<info name="%b" value="%b%d"/>' % (match[1], MARK.encode(), next(number_of))
        return b""

    return _OWN.sub(put, data)


def own_words(data: bytes) -> tuple[str, ...]:
    """Return the words that marks stand for, by their numbers."""
    found = (match[3] or match[2] for match in _OWN.finditer(data) if match[3] or (match[1] and _is_put_in(match[1])))
    return tuple(word.decode("ascii") for word in found)


def _is_put_in(name: bytes) -> bool:
    return name == b"HostName" or name.endswith(b"LID")
