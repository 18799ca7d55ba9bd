"""The hosts of a job and what its scheduler was asked for: from the command line, a host file, or the job's environment."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Final

from advisor.advice.audit_page.findings import Asker
from advisor.errors import AdvisorError, BadInput, BadValue
from advisor.jobs.failures import PLACEHOLDERS
from advisor.jobs.registry import launchers
from advisor.machine.hosts.trust import Use, open_trusted

MOST: Final = 1 << 16
"""Hosts of a job: more are refused."""

_LARGEST: Final = 16 << 20
_LONGEST: Final = 1 << 22
"""Characters of a list of hosts."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?", re.ASCII)
_WORD = re.compile(r"(?:[^\[\],]+|\[[^\[\]]*+\])*+", re.ASCII)
"""What stands between commas outside brackets."""
_PART = re.compile(r"([^\[\]]+)|(\[[^\[\]]*\])")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_LINE = re.compile(r"(?P<host>[^\s:]+)(?::(?P<count>\d{1,6}))?(?P<rest>(?:\s.*)?)", re.ASCII)
_SLOTS = re.compile(r"slots\s*=\s*(\d{1,6})", re.ASCII)
_LIMITS = re.compile(r"max[_-]slots\s*=\s*\d{1,6}", re.ASCII)


@dataclass(frozen=True)
class Allocated:
    """Hosts, and what a scheduler or a host file says of their ranks; None where it says nothing."""

    names: tuple[str, ...] = ()
    scheduler: str | None = None
    job: str | None = None
    ranks: int | None = None
    ranks_per_node: int | None = None
    cpus: int | None = None
    """CPUs of a rank as the scheduler counts them."""
    threads: int | None = None
    placeholder: str | None = None
    """What the names begin with that only stand for names: the job's own take their places."""
    notes: tuple[str, ...] = ()

    def scheduler_of(self, launcher: str) -> str | None:
        """Return whose job a line runs in: of srun, whose hosts have no names yet, it will be one of Slurm's."""
        own = launchers()[launcher].job.schedulers
        return own[0] if self.placeholder is not None and own else self.scheduler


def expand(text: str) -> tuple[str, ...]:
    """Return the hosts that a list names, as Slurm writes it.

    >>> expand("login1,node[08-10,12]")
    ('login1', 'node08', 'node09', 'node10', 'node12')
    """
    if len(text) > _LONGEST:
        raise BadValue(f"a list of hosts of {len(text)} characters", cure=f"{MOST} hosts are the most")
    names: list[str] = []
    for pieces in _words(text.strip()):
        if prod(map(len, pieces)) + len(names) > MOST:
            raise BadValue(f"{_short(text)} names more than {MOST} hosts")
        names += ["".join(parts) for parts in product(*pieces)]
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadValue(f"{_short(name)} is not a host name", cure="write such as node01,node02 or node[01-08,11]")
    return tuple(names)


def _short(text: str) -> str:
    return ascii(text if len(text) <= 60 else text[:57] + "...")


def _words(text: str) -> Iterator[list[list[str]]]:
    """Yield the words between commas outside brackets: each its parts, and of each part what may stand there."""
    at = 0
    while at <= len(text):
        match = _WORD.match(text, at)
        end = match.end() if match else at
        if end < len(text) and text[end] != ",":
            raise BadValue(f"{_short(text[at:])} is not a list of hosts", cure="write such as node01,node02 or node[01-08,11]")
        parts = _PART.findall(text[at:end])
        yield [_numbers(brackets[1:-1]) if brackets else [letters] for letters, brackets in parts] or [[""]]
        at = end + 1


def _numbers(inside: str) -> list[str]:
    """Return the numbers that a pair of brackets holds."""
    found: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise BadValue(f"[{inside[:40]}] is not a list of numbers", cure="write such as node[01-08,11]")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise BadValue(f"the range {part} runs backwards", cure=f"write {last}-{first}")
        if last - first + len(found) >= MOST:
            raise BadValue(f"[{inside[:40]}] names more than {MOST} hosts")
        found += [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
    return found


def placeholders(count: int, command: Iterable[str]) -> Allocated:
    """Return so many hosts without real names; their names occur nowhere in the command."""
    if count > MOST:
        raise BadValue(f"{count} nodes are more than {MOST}")
    if count == 1:
        return Allocated()
    words = " ".join(command)
    prefix = next(prefix for prefix in PLACEHOLDERS if prefix not in words or prefix[0] == "A")
    names = tuple(f"{prefix}{number:0{len(str(count))}}" for number in range(1, count + 1))
    return Allocated(
        names, placeholder=prefix, notes=(f"{names[0]}..{names[-1]} stand for the hosts, whose names are not known",)
    )


def hostfile(path: Path) -> Allocated:
    """Return the hosts of a file: one a line, as ``n1``, ``n1:16`` or ``n1 slots=16``, or again for each rank."""
    try:
        if path.is_file() and path.stat().st_size > _LARGEST:
            raise BadInput("larger than any list of hosts", file=str(path), cure=f"{MOST} hosts are the most")
        with open_trusted(path, Use.NAMED) as file:
            text = file.read(_LARGEST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("not text in UTF-8", file=str(path), cure="write one host per line") from error
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(path)) from error
    counts: Counter[str] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            for name, count in _entry(line.partition("#")[0].strip()):
                counts[name] += count
        except BadValue as error:
            raise BadInput(error.problem, file=str(path), place=f"line {number}", cure=error.cure) from error
        if len(counts) > MOST:
            raise BadInput(f"more than {MOST} hosts", file=str(path), place=f"line {number}")
    if not counts:
        raise BadInput("has no host", file=str(path), cure="write one host per line")
    return _counted(counts)


def _entry(line: str) -> Iterator[tuple[str, int]]:
    """Yield the hosts of a line and their ranks."""
    if not line:
        return
    match = _LINE.fullmatch(line)
    rest = match["rest"].strip() if match else ""
    slots = _SLOTS.search(_LIMITS.sub("", rest))
    if match is None or _SLOTS.sub("", _LIMITS.sub("", rest)).strip():
        raise BadValue(f"{_short(line)} is not a host", cure="write such as node01, node01:16 or node01 slots=16")
    count = int(match["count"] or (slots[1] if slots else 1))
    yield from ((name, count) for name in expand(match["host"]))


def _counted(counts: Mapping[str, int]) -> Allocated:
    different = set(counts.values())
    if len(different) > 1:
        note = f"its hosts have {min(different)} to {max(different)} slots, which are not used: the ranks are placed by what fits"
        return Allocated(tuple(counts), notes=(note,))
    each = different.pop()
    return Allocated(tuple(counts), ranks_per_node=each if each > 1 else None)


def of_job(environment: Mapping[str, str]) -> Allocated | None:
    """Return the hosts of the Slurm or PBS job that this runs in, None outside one."""
    if environment.get("SLURM_JOB_ID") and (listed := environment.get("SLURM_JOB_NODELIST")):
        try:
            return _slurm(environment, expand(listed))
        except BadValue as error:
            raise error.within("SLURM_JOB_NODELIST") from error
    if environment.get("PBS_JOBID") and (path := environment.get("PBS_NODEFILE")):
        return _pbs(environment, hostfile(Path(path)))
    return None


def _slurm(environment: Mapping[str, str], names: tuple[str, ...]) -> Allocated:
    tasks, each = (_number(environment.get(name)) for name in ("SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"))
    evenly = each is not None and tasks in (None, each * len(names))
    return Allocated(
        names,
        scheduler="slurm",
        job=environment["SLURM_JOB_ID"][:40],
        ranks=None if evenly else tasks,
        ranks_per_node=each if evenly else None,
        cpus=_number(environment.get("SLURM_CPUS_PER_TASK")),
    )


def _pbs(environment: Mapping[str, str], found: Allocated) -> Allocated:
    threads = _number(environment.get("OMP_NUM_THREADS"))
    return Allocated(
        found.names,
        scheduler="pbs",
        job=environment["PBS_JOBID"][:40],
        ranks_per_node=found.ranks_per_node,
        threads=threads,
        notes=found.notes,
    )


def _number(text: str | None) -> int | None:
    """Return a number that a scheduler wrote; None for everything else."""
    return int(text) if text and re.fullmatch(r"[1-9]\d{0,6}", text, re.ASCII) else None


def asker(words: tuple[str, ...] = (), *, bios: bool = False) -> Asker:
    """Return who asks, with the options that they gave: of another machine neither root nor the job here matters."""
    try:
        job = of_job(os.environ) if "--from" not in words else None
    except AdvisorError:  # a job's environment that cannot be read takes nothing from what was found
        job = None
    return Asker(words, root=os.geteuid() == 0, hosts=job.names if job else (), bios=bios)
