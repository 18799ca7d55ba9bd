"""A launch line as words: variables, programs around it, the launcher's own word, what follows; the type of option tables."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from advisor.errors import BadInput
from advisor.launch.registry import launchers, of_lines, other_launchers
from advisor.model.cpuset import CpuSet

MOST_WORDS = 4096
MOST_LETTERS = 200_000
"""More than the kernel hands to a program in one argument; nothing that a person wrote is as long."""

HYPHENS = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
"""What word processors make of a hyphen."""
_ODD = re.compile(f"[{HYPHENS}]")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,127})=(.*)", re.DOTALL)

_ENDS = frozenset({"&", "&&", "||", "|", ";", ">", ">>", "2>", "2>&1", "<"})
_BINDERS = {
    "-N": "nodes",
    "--cpunodebind": "nodes",
    "-C": "cpus",
    "--physcpubind": "cpus",
    "-c": "nodes",
    "--cpubind": "nodes",
    "-m": "memory",
    "--membind": "memory",
    "-i": "memory",
    "--interleave": "memory",
    "-p": "memory",
    "--preferred": "memory",
    "-P": "memory",
    "--preferred-many": "memory",
    "-w": "memory",
    "--weighted-interleave": "memory",
}
_AROUND = ("numactl", "taskset")
_TASKSET = {"-c": "cpus", "--cpu-list": "cpus", "-ac": "cpus", "-ca": "cpus"}
_PASSING = ("env", "time", "nohup", "exec", "stdbuf", "nice")
"""Programs that start another where they are."""
_VALUED = {"env": ("-u", "-C", "-S"), "stdbuf": ("-i", "-o", "-e"), "time": ("-f", "-o"), "exec": ("-a",), "nice": ("-n",)}
"""Their options that are followed by a word of their own."""
_OTHER_BINDERS = ("hwloc-bind", "likwid-pin", "dplace", "omplace", "schedtool")
_IN_SHELL = re.compile(r"\b(numactl|taskset|hwloc-bind|likwid-pin|dplace|omplace)\b")


@dataclass(frozen=True)
class Binder:
    """A numactl or taskset around something."""

    tool: str
    written: str
    nodes: str | None = None
    cpus: str | None = None
    memory: str | None = None
    stray: str | None = None
    """An option of it that lacks its hyphens and is taken for the program."""
    everywhere: bool = False
    """Whether numactl takes CPUs beside those that it is started with: --all."""


@dataclass(frozen=True)
class Words:
    """A line, taken apart as the shell would."""

    environment: dict[str, str] = field(default_factory=dict)
    around: tuple[Binder, ...] = ()
    launcher: str = ""
    rest: tuple[str, ...] = ()
    others: int = 0
    """Launchers in further commands of the same line."""
    odd: tuple[str, ...] = ()
    """Words with hyphens that are none."""


def take_apart(arguments: Sequence[str]) -> Words:
    """Return a line's parts; refuse what is too long or starts no launcher."""
    words = _split(arguments)
    odd = tuple(word for word in words if _ODD.search(word))
    plain = [hyphened(word) for word in words]
    ends = next((i for i, word in enumerate(plain) if word in _ENDS), len(plain))
    others = sum(1 for word in plain[ends:] if started_by(word.rpartition("/")[2]))
    environment: dict[str, str] = {}
    around: list[Binder] = []
    at = 0
    while at < ends:
        word = plain[at]
        name = word.rpartition("/")[2]
        if match := _VARIABLE.fullmatch(word):
            environment[match[1]] = match[2]
            at += 1
        elif name in _PASSING:
            at = _skip_options(plain, at + 1, ends)
        elif name in _AROUND:
            binder, at = read_binder(plain, at, ends)
            around.append(binder)
        elif started_by(name):
            return Words(environment, tuple(around), name, tuple(plain[at + 1 : ends]), others, odd)
        else:
            break
    if around and not around[-1].stray and at < ends and not _is_other(plain[at]):
        start = max(place for place in range(at) if plain[place].rpartition("/")[2] == around[-1].tool)
        return Words(environment, tuple(around[:-1]), around[-1].tool, tuple(plain[start + 1 : ends]), others, odd)
    raise _no_launcher(plain[at] if at < ends else "")


def _no_launcher(shown: str) -> BadInput:
    """Return the refusal of a line by the word that starts no launcher, or one whose lines are not read."""
    known = ", ".join(dict.fromkeys(program for spoken in of_lines().values() for program in spoken.programs))
    if _is_other(shown):
        return BadInput(f"{shown[:60]}: its lines are not read here", cure=f"it reads those of {known}")
    return BadInput(f"{shown[:60]!a} starts no launcher", cure=f"expected one of {known}")


def _is_other(word: str) -> bool:
    """Whether a word starts a launcher whose lines are not read here."""
    return any(word.rpartition("/")[2] in each.programs for each in other_launchers())


def started_by(program: str) -> tuple[str, ...]:
    """Return the launchers whose lines start with a program; mpiexec.NAME, as packages call it, is mpiexec too."""
    base, _, name = program.partition(".") if "." in program else program.partition("-")
    if "_" in program and not any(program in spoken.programs for spoken in of_lines().values()):
        base, _, name = program.partition("_")
    found = [each for each, spoken in of_lines().items() if program in spoken.programs]
    if name and any(name in (each.NAME, *each.ALIASES) for each in launchers().values()):
        found += [each for each, spoken in of_lines().items() if base in spoken.programs]
    return tuple(dict.fromkeys(found))


def hyphened(word: str) -> str:
    """Return a word with ASCII hyphens; a dash before a long name stands for two, as word processors have it."""
    plain = _ODD.sub("-", word)
    name = plain.lstrip("-").partition("=")[0]
    single = word[:1] in HYPHENS and word[:1] != "" and not plain.startswith("--")
    return f"-{plain}" if single and len(name) > 4 else plain


def _split(arguments: Sequence[str]) -> list[str]:
    if sum(map(len, arguments)) > MOST_LETTERS or len(arguments) > MOST_WORDS:
        raise BadInput(f"the line is longer than {MOST_LETTERS} letters or {MOST_WORDS} words", cure="refused as unsafe")
    words = list(arguments)
    if len(words) == 1 and " " in words[0]:
        try:
            words = shlex.split(words[0])
        except ValueError as error:
            raise BadInput(f"the line cannot be read: {error}", cure="close its quotes") from error
    if not words:
        raise BadInput("there is no line", cure="write it after --: advisor bind lint -- mpirun -np 4 ./a.out")
    if len(words) > MOST_WORDS:
        raise BadInput(f"the line has more than {MOST_WORDS} words", cure="refused as unsafe")
    return words


def _skip_options(words: Sequence[str], at: int, end: int) -> int:
    valued = _VALUED.get(words[at - 1].rpartition("/")[2], ())
    while at < end and words[at].startswith("-"):
        at += 2 if words[at] in valued else 1
    return at


def read_binder(words: Sequence[str], at: int, end: int) -> tuple[Binder, int]:
    """Return the numactl or taskset that starts at a word, and where its program starts."""
    start, tool, everywhere = at, words[at].rpartition("/")[2], False
    found: dict[str, str] = {}
    at += 1
    while at < end and words[at].startswith("-"):
        name, equals, value = words[at].partition("=")
        at += 1
        short = re.fullmatch(r"(-[NCmipPcw])([\d+!].*)", name, re.ASCII)
        if short:
            name, equals, value = short[1], "=", short[2]
        kind = (_TASKSET if tool == "taskset" else _BINDERS).get(name)
        everywhere = everywhere or name in ("-a", "--all")
        if kind is None:
            continue
        if not equals and at < end:
            value, at = words[at], at + 1
        if kind in ("nodes", "cpus"):  # each is done when it is read: the last one holds
            found = {name: text for name, text in found.items() if name not in ("nodes", "cpus")}
        found[kind] = value
    if tool == "taskset" and "cpus" not in found and at < end:
        found["mask"], at = words[at], at + 1
    stray = words[at] if at < end and re.match(r"(cpunodebind|membind|physcpubind|interleave)\b", words[at]) else None
    cpus = found.get("cpus") or _mask(found.get("mask"))
    written = " ".join(words[start : at + bool(stray)])
    return Binder(tool, written, found.get("nodes"), cpus, found.get("memory"), stray, everywhere), at


def _mask(text: str | None) -> str | None:
    digits = (text or "").removeprefix("0x")
    if not re.fullmatch(r"[0-9a-fA-F]{1,4096}", digits, re.ASCII):
        return None
    bits = int(digits, 16)
    return str(CpuSet(i for i in range(bits.bit_length()) if bits >> i & 1))


def binders(command: Sequence[str]) -> Iterator[Binder]:
    """Yield every numactl and taskset that a command starts with."""
    return (binder for binder, _ in bound(command))


def bound(command: Sequence[str]) -> Iterator[tuple[Binder, int]]:
    """Yield every numactl and taskset at a command's begin, behind env X=1 and time too, and where what each starts stands."""
    at = _passed(command, 0)
    while at < len(command) and command[at].rpartition("/")[2] in _AROUND:
        binder, at = read_binder(command, at, len(command))
        at = _passed(command, at)
        yield binder, at


def _passed(command: Sequence[str], at: int) -> int:
    """Return where the program stands that env, time and their like start."""
    while at < len(command) and command[at].rpartition("/")[2] in _PASSING:
        at = _skip_options(command, at + 1, len(command))
        while at < len(command) and _VARIABLE.fullmatch(command[at]):
            at += 1
    return at


def program_at(command: Sequence[str]) -> int:
    """Return where the program itself stands in a command, behind what sets variables, binds or measures it."""
    return max((at for _, at in bound(command)), default=_passed(command, 0))


def binds_itself(command: Sequence[str]) -> str | None:
    """Return the program of a command that sets CPUs in a way that is not worked out here: likwid-pin, or another launcher."""
    at = program_at(command)
    program, *rest = (command[at].rpartition("/")[2], *command[at + 1 :]) if at < len(command) else ("",)
    if program in _OTHER_BINDERS or (program == "likwid-perfctr" and any(word.startswith("-C") for word in rest)):
        return program
    if program in ("sh", "bash", "dash", "ksh", "zsh"):
        inside = _IN_SHELL.search(rest[1]) if len(rest) > 1 and rest[0].startswith("-") and rest[0].endswith("c") else None
        return inside[1] if inside else None
    return program if started_by(program) else None
