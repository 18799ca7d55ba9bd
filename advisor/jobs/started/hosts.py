"""The hosts of a job, the machine that each is, the shape of the job; and its plan, as bind writes it and verify reads it."""

import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, product
from math import prod
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from advisor.advice.audit_page.card import Asker
from advisor.advice.bios_files import text_of
from advisor.errors import AdvisorError, BadInput, BadValue, did_you_mean, in_words, must_be_one_of
from advisor.jobs.launcher import PLACEHOLDERS, launchers
from advisor.jobs.observe import PlannedBinding, PlannedRank, same_host
from advisor.jobs.placement import STRATEGIES, JobShape, MemoryPolicy, Placement, Slot
from advisor.machine.cpuset import CpuSet, bounded_sets
from advisor.machine.hosts.errands import members
from advisor.machine.hosts.files import Use, open_here, open_trusted
from advisor.machine.hosts.source import LARGEST_DOCUMENT, read_json
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.machine.topology import Topology
from advisor.machine.value import Value

MOST = 1 << 16
"""Hosts of a job: more are refused."""

_LARGEST = 16 << 20
_LONGEST = 1 << 22
"""Characters of a list of hosts."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?", re.ASCII)
_WORD = re.compile(r"(?:[^\[\],]+|\[[^\[\]]*+\])*+", re.ASCII)
"""What stands between commas outside brackets."""
_PART = re.compile(r"([^\[\]]+)|(\[[^\[\]]*\])")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_LINE = re.compile(r"(?P<host>[^\s:]+)(?::(?P<count>\d{1,6}))?(?P<rest>(?:\s.*)?)", re.ASCII)
_SLOTS = re.compile(r"slots\s*=\s*(\d{1,6})", re.ASCII)
_LIMITS = re.compile(r"max[_-]slots\s*=\s*\d{1,6}", re.ASCII)
_SLICE = re.compile(r"(\d{1,4})/(\d{1,4})", re.ASCII)


def expand(text: str) -> tuple[str, ...]:
    """Return the hosts that a list names, as Slurm writes it.

    >>> expand("login1,node[08-10,12]")
    ('login1', 'node08', 'node09', 'node10', 'node12')
    """
    if len(text) > _LONGEST:
        raise BadValue(f"the host list has {len(text)} characters", cure=f"the limit is {MOST} hosts")
    names: list[str] = []
    for pieces in _words(text.strip()):
        if prod(map(len, pieces)) + len(names) > MOST:
            raise BadValue(f"{_short(text)} names more than {MOST} hosts")
        names += map("".join, product(*pieces))
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadValue(f"{_short(name)} is not a host name", cure="for example node01,node02 or node[01-08,11]")
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
            raise BadValue(f"{_short(text[at:])} is not a list of hosts", cure="for example node01,node02 or node[01-08,11]")
        parts = _PART.findall(text[at:end])
        yield [_numbers(brackets[1:-1]) if brackets else [letters] for letters, brackets in parts] or [[""]]
        at = end + 1


def _numbers(inside: str) -> list[str]:
    """Return the numbers that a pair of brackets holds."""
    numbers: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise BadValue(f"[{inside[:40]}] is not a list of numbers", cure="for example node[01-08,11]")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise BadValue(f"the range {part} runs backwards", cure=f"write {last}-{first}")
        if last - first + len(numbers) >= MOST:
            raise BadValue(f"[{inside[:40]}] names more than {MOST} hosts")
        numbers += [str(number).zfill(len(match[1])) for number in range(first, last + 1)]
    return numbers


def names_of(text: str, what: str = "node") -> tuple[str, ...]:
    """Return what a list names: names with brackets as Slurm writes them, groups of ClusterShell, addresses with a port."""
    names: list[str] = []
    for part in re.split(r",(?![^\[\]]*\])", text.strip()):
        if part.startswith("@"):
            if not re.fullmatch(r"@[A-Za-z0-9_.:*-]{1,100}", part):
                raise BadValue(f"{part[:60]} is not a group name", cure="for example @rack1")
            inside = members(part)
            if not inside:
                cure = "groups come from ClusterShell: see nodeset -L; or give names with -w, or --hostfile FILE"
                raise BadValue(f"{part} names no {what}", cure=cure)
            names += inside
        else:
            names += (part,) if ":" in part else expand(part)
    return tuple(names)


def names_in(path: Path, what: str = "node") -> tuple[str, ...]:
    """Return what the lines of a file name, as -w takes them; a # begins a comment."""
    names: list[str] = []
    for number, line in enumerate(text_of(path, _LARGEST, f"any list of {what}s").splitlines(), 1):
        text = line.partition("#")[0].strip()
        try:
            names += names_of(text, what) if text else ()
        except BadValue as error:
            raise BadInput(error.problem, file=str(path), place=f"line {number}", cure=error.cure) from error
    if not names:
        raise BadInput(f"lists no {what}s", file=str(path), cure="write one per line")
    return tuple(names)


def fold_names(names: Iterable[str]) -> str:
    """Return names as Slurm writes a list of them.

    >>> fold_names(["bmc001", "bmc002", "bmc003", "bmc007", "head"])
    'bmc[001-003,007],head'
    """
    groups: dict[tuple[str, int, str], set[str]] = defaultdict(set)
    for name in names:
        groups[(name, 0, "") if ":" in name or re.fullmatch(r"[\d.]+", name) else _parts(name)[:3]].add(name)
    folded = ([key[0]] if not key[1] else folded_in_order(sorted(group, key=_parts)) for key, group in groups.items())
    return ",".join(text for texts in folded for text in texts)


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


def placeholders(count: int, command: Iterable[str]) -> Allocated:
    """Return so many hosts without real names; their names occur nowhere in the command."""
    if count > MOST:
        raise BadValue(f"{count} nodes requested, but advisor plans at most {MOST}")
    if count == 1:
        return Allocated()
    words = " ".join(command)
    prefix = next(prefix for prefix in PLACEHOLDERS if prefix not in words or prefix[0] == "A")
    names = tuple(f"{prefix}{number:0{len(str(count))}}" for number in range(1, count + 1))
    note = f"{names[0]}..{names[-1]} are placeholders for the hosts, whose names are not known"
    return Allocated(names, placeholder=prefix, notes=(note,))


def hostfile(path: Path) -> Allocated:
    """Return the hosts of a file: one a line, as ``n1``, ``n1:16`` or ``n1 slots=16``, or again for each rank."""
    try:
        if path.is_file() and path.stat().st_size > _LARGEST:
            raise BadInput("too large for a list of hosts", file=str(path), cure=f"the limit is {MOST} hosts")
        with open_trusted(path, Use.NAMED) as file:
            text = file.read(_LARGEST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("not UTF-8 text", file=str(path), cure="write one host per line") from error
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(path)) from error
    slots: Counter[str] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        try:
            _count_slots(line.partition("#")[0].strip(), slots)
        except BadValue as error:
            raise BadInput(error.problem, file=str(path), place=f"line {number}", cure=error.cure) from error
        if len(slots) > MOST:
            raise BadInput(f"more than {MOST} hosts", file=str(path), place=f"line {number}")
    if not slots:
        raise BadInput("lists no hosts", file=str(path), cure="write one host per line")
    least, most = min(slots.values()), max(slots.values())
    if least < most:
        note = f"its hosts have {least} to {most} slots, which are ignored: ranks are placed where they fit"
        return Allocated(tuple(slots), notes=(note,))
    return Allocated(tuple(slots), ranks_per_node=most if most > 1 else None)


def _count_slots(line: str, slots: Counter[str]) -> None:
    """Add the hosts of a line and their ranks."""
    if not line:
        return
    match = _LINE.fullmatch(line)
    rest = _LIMITS.sub("", match["rest"].strip() if match else "")
    named = _SLOTS.search(rest)
    if match is None or _SLOTS.sub("", rest).strip():
        raise BadValue(f"{_short(line)} is not a host", cure="write, for example, node01, node01:16 or node01 slots=16")
    for name in expand(match["host"]):
        slots[name] += int(match["count"] or (named[1] if named else 1))


def of_job(environment: Mapping[str, str]) -> Allocated | None:
    """Return the hosts of the Slurm or PBS job that this runs in, None outside one."""

    def number(name: str) -> int | None:
        text = environment.get(name, "")
        return int(text) if re.fullmatch(r"[1-9]\d{0,6}", text, re.ASCII) else None

    if (slurm := environment.get("SLURM_JOB_ID")) and (listed := environment.get("SLURM_JOB_NODELIST")):
        try:
            names = expand(listed)
        except BadValue as error:
            raise error.within("SLURM_JOB_NODELIST") from error
        tasks, each, cpus = (number(f"SLURM_{name}") for name in ("NTASKS", "NTASKS_PER_NODE", "CPUS_PER_TASK"))
        if each is not None and tasks in (None, each * len(names)):
            return Allocated(names, "slurm", slurm[:40], ranks_per_node=each, cpus=cpus)
        return Allocated(names, "slurm", slurm[:40], ranks=tasks, cpus=cpus)
    if (pbs := environment.get("PBS_JOBID")) and (path := environment.get("PBS_NODEFILE")):
        return replace(hostfile(Path(path)), scheduler="pbs", job=pbs[:40], threads=number("OMP_NUM_THREADS"))
    return None


def asker(words: tuple[str, ...] = (), *, bios: bool = False) -> Asker:
    """Return who asks, with the options that they gave: of another machine neither root nor the job here matters."""
    try:
        job = of_job(os.environ) if "--from" not in words else None
    except AdvisorError:  # a job's environment that cannot be read takes nothing from what was found
        job = None
    return Asker(words, root=os.geteuid() == 0, hosts=job.names if job else (), bios=bios)


@dataclass(frozen=True)
class HostOptions:
    """Where the job runs: the options that say it."""

    sources: tuple[str, ...] = ()
    hosts: str | None = None
    hostfile: Path | None = None
    nodes: int | None = None
    assume: tuple[str, ...] = ()
    """BIOS settings that the machines do not have yet: nps=4."""
    measurements: tuple[Path, ...] = ()
    """What advisor measure found on the first of them."""
    learned: Path | None = None
    """What advisor tune found for a program: a file, or a race's folder."""


PARTS = ("numa", "l3", "socket", "core", "node")
"""Parts of a node in which ranks are counted."""

COUNTED = (*PARTS, "gpu")
"""The same, and GPUs."""


@dataclass(frozen=True)
class JobOptions:
    """The shape of the job: the options that say it; None where they do not."""

    ranks: int | None = None
    ranks_per_node: int | None = None
    ranks_per: tuple[str, int] | None = None
    threads: int | None = None
    strategy: str = "auto"
    near: str | None = None
    smt: str | None = None
    """skip, use or first; None: first where cores are reserved beside GPUs, else skip."""
    reserve: int | str = 0
    """Cores left to the system: so many of each node, or of each of its parts, such as ``l3:1``."""
    part: str | None = None
    purpose: str | None = None
    """What auto places for: bandwidth, latency, throughput."""
    core_kind: str = "auto"
    """Which kind of cores: auto, fast, slow, any, or its name."""
    gpus: int | None = None
    """GPUs in all."""
    mem: str | None = None
    """Where there is HBM: auto, hbm, dram; None leaves memory where ranks run."""


@dataclass(frozen=True)
class LauncherOptions:
    """What starts the job: the options that say it."""

    launcher: str | None = None
    version: str | None = None
    exact: bool = False
    wrap: bool = False
    report: bool = False


@dataclass(frozen=True)
class JobHosts:
    """The hosts of a job, and their machines: one for each, or one for all."""

    hosts: Allocated
    machines: tuple[Machine, ...]
    affinity: CpuSet | None = None
    """The CPUs that this process may run on, where the job runs on this machine."""

    @property
    def is_here(self) -> bool:
        """Whether this machine is one of the hosts."""
        names, own = self.hosts.names, os.uname().nodename
        return not names or any(same_host(name, own) or name == "localhost" for name in names)


def hosts_of_job(
    host_options: HostOptions, command: Sequence[str], environment: Mapping[str, str] | None = None, observer: Observer = SILENT
) -> JobHosts:
    """Return the hosts and their machines; a job's are told by its environment, None is that of this process."""
    named: dict[str, str] = {}
    plain: list[str] = []
    for source in host_options.sources:  # NAME=FILE is of one host
        name, equals, file = source.partition("=")
        if not equals or not _NAME.fullmatch(name) or Path(source).exists():
            plain.append(source)
        elif name in named:
            raise BadValue(f"--from names {name} twice", cure="give one file per host")
        else:
            named[name] = file
    ways = [name for name in ("hosts", "hostfile", "nodes") if getattr(host_options, name) is not None]
    if len(ways) > 1:
        raise BadValue(f"--{ways[0]} and --{ways[1]} both name the hosts", cure="give one of the two")
    if host_options.hosts is not None:
        try:
            hosts = Allocated(expand(host_options.hosts))
        except BadValue as error:
            raise error.within("--hosts") from error
    elif host_options.hostfile is not None:
        hosts = hostfile(host_options.hostfile)
    elif host_options.nodes is not None:
        hosts = placeholders(host_options.nodes, command)
    else:
        hosts = of_job(os.environ if environment is None else environment) or Allocated(tuple(named))
    read = cache(lambda file: _read(file, host_options.assume, observer))
    if named or len(plain) > 1:
        return _one_each(hosts, {name: read(file) for name, file in named.items()}, [read(file) for file in plain])
    machine = read(plain[0] if plain else None)
    here = not plain and not host_options.assume and len(hosts.names) < 2 and machine.limits is not None
    return JobHosts(hosts, (machine,), machine.limits.affinity if here and machine.limits else None)


def one_machine(host_options: HostOptions, observer: Observer = SILENT) -> Machine:
    """Return the machine that the options name, whatever they say of hosts."""
    return hosts_of_job(replace(host_options, hosts=None, hostfile=None, nodes=1), (), {}, observer).machines[0]


def _read(file: str | None, assume: tuple[str, ...], observer: Observer) -> Machine:
    machine = read_machine(file, observer)
    if not assume:
        return machine
    from advisor.advice.whatif import assumed

    return assumed(machine, assume)


def _one_each(hosts: Allocated, named: Mapping[str, Machine], plain: Sequence[Machine]) -> JobHosts:
    """Return a machine for each host: by name, or in the order of the hosts; one without a name is that of all others."""
    names = hosts.names
    if not names:
        names = tuple(machine.name or "" for machine in plain)
        if len(set(names)) < len(names) or not all(map(_NAME.fullmatch, names)):
            problem = "several --from options are given, but their host names are unknown"
            raise BadValue(problem, cure="name them: --from n1=FILE, or --hosts n1,n2")
    strange = [name for name in named if name not in names]
    if strange:
        raise BadValue(
            f"--from is given for {strange[0]}, which is not one of the hosts", cure=f"available: {', '.join(names[:8])}"
        )
    others = [name for name in names if name not in named]
    if len(plain) not in (1, len(others)) and others:
        problem = f"{len(plain)} --from options name no host, but the number of hosts without --from is {len(others)}"
        missing = f"{len(others)} hosts, starting with {others[0]}, have no --from"
        raise BadValue(problem if plain else missing, cure=f"give each its own: --from {others[0]}=FILE")
    rest = iter(plain if len(plain) == len(others) else [*plain] * len(others))
    return JobHosts(replace(hosts, names=names), tuple(named.get(name) or next(rest) for name in names))


def host_notes(hosts: Allocated) -> tuple[str, ...]:
    """Return notes on where the hosts come from."""
    job = (f"the hosts are those of {hosts.scheduler} job {hosts.job}",) if hosts.scheduler else ()
    return (*job, *hosts.notes)


def machines_of(placement: Placement, job_hosts: JobHosts) -> tuple[Machine, ...]:
    """Return the machine of each kind of node."""
    by_name = dict(zip(job_hosts.hosts.names, job_hosts.machines, strict=True)) if len(job_hosts.machines) > 1 else {}
    first = {host.plan: host.name for host in reversed(placement.hosts)}
    return tuple(by_name.get(first[plan] or "", job_hosts.machines[0]) for plan in range(len(placement.plans)))


def shape(options: JobOptions, job_hosts: JobHosts, notes: list[str]) -> JobShape:
    """Return the job that options ask for; what they leave open, the scheduler says."""
    hosts = job_hosts.hosts
    ways = [name for name in ("ranks", "ranks_per_node", "ranks_per") if getattr(options, name) is not None]
    if len(ways) > 1:
        one, other = (name.replace("_", "-") for name in ways[:2])
        raise BadValue(f"--{one} and --{other} both give the number of ranks", cure="give one of the two")
    per, count = options.ranks_per or (None, 1)
    must_be_one_of("strategy", options.strategy, ("auto", *STRATEGIES), f"available: auto, {', '.join(STRATEGIES)}")
    if options.purpose and options.strategy != "auto":
        raise BadValue("--for and --strategy both choose where ranks go", cure="give one of the two")
    twice = [name for name, count in Counter(hosts.names).items() if count > 1]
    if twice:
        raise BadValue(f"the host {twice[0]} occurs twice", cure="name each host once; --ranks-per-node sets its number of ranks")
    values = {
        "ranks": options.ranks if ways else hosts.ranks,
        "ranks_per_node": options.ranks_per_node if ways else hosts.ranks_per_node,
        "per": per,
        "per_count": count,
        "threads": options.threads or _threads(hosts, job_hosts.machines[0], options.smt, notes),
        **{name: getattr(options, name) for name in ("strategy", "purpose", "near", "core_kind", "gpus", "mem")},
        "smt": options.smt or "skip",
        **_reserved(options.reserve),
        "slice": _slice(options.part),
        "hosts": hosts.names,
    }
    try:
        return JobShape.model_validate(values)
    except ValidationError as error:
        raise _refused(error) from error


def per_part(text: str | None, known: Sequence[str] = PARTS) -> tuple[str, int] | None:
    """Return the part of a node and how many ranks it gets: ``l3`` is one in each, ``l3:2`` two."""
    if text is None:
        return None
    part, colon, count = text.lower().partition(":")
    if part not in known:
        cure = did_you_mean(part, known, f"use one of {', '.join(known)}, for example --ranks-per l3 2")
        raise BadValue(f"--ranks-per {text[:40]} does not name a part of a node", cure=cure)
    if colon and not re.fullmatch(r"\d{1,7}", count, re.ASCII):
        raise BadValue(f"--ranks-per {text[:40]}: the number of ranks per {part} is missing", cure=f"write --ranks-per {part} 2")
    return part, int(count or 1)


def _reserved(asked: int | str) -> dict[str, int | str | None]:
    """Return how many cores are left to the system, and of which parts each: ``2``, or ``l3:1``, one of each L3 group."""
    match = re.fullmatch(r"(?:(socket|numa|l3):)?(\d{1,5})", str(asked).lower(), re.ASCII)
    if match is None:
        raise BadValue(f"--reserve {str(asked)[:40]} is not a number of cores", cure="write 2, or l3:1 for one per L3 group")
    return {"reserve": int(match[2]), "reserve_per": match[1]}


def _refused(error: ValidationError) -> BadValue:
    """Return the first fault of a job's shape, by the option that has it."""
    first = error.errors(include_url=False, include_context=False)[0]
    if not first["loc"]:
        return BadValue(in_words(first["msg"]))
    name, value = str(first["loc"][0]), ascii(first["input"])[:80]
    if first["type"] == "string_pattern_mismatch":
        return BadValue(f"--{name} {value} is not a device name", cure="for example mlx5_0, gpu0 or 0000:61:00.0")
    option = {"per_count": "ranks-per"}.get(name, name.replace("_", "-"))
    return BadValue(f"--{option} {value}: it {in_words(first['msg'])}")


def _threads(hosts: Allocated, machine: Machine, smt: str | None, notes: list[str]) -> int:
    """Return the threads of a rank that the scheduler was asked for: Slurm counts hardware threads."""
    if hosts.cpus is None:
        if hosts.threads and hosts.threads > 1:
            notes.append(f"{hosts.threads} threads per rank: the job's OMP_NUM_THREADS")
        return hosts.threads or 1
    cores = machine.topology.cores if machine.topology else ()
    each = max((len(core.cpuset) for core in cores), default=1) if smt != "use" else 1
    threads = max(1, hosts.cpus // each)
    if threads > 1:
        why = f" ({each} per core)" if each > 1 else ""
        notes.append(f"{threads} threads per rank: SLURM_CPUS_PER_TASK is {hosts.cpus}{why}")
    return threads


def _slice(text: str | None) -> dict[str, int] | None:
    if text is None:
        return None
    match = _SLICE.fullmatch(text)
    if not match or not 1 <= int(match[1]) <= int(match[2]) <= 1024:
        raise BadValue(f"--slice {text[:40]} is not a part of a node", cure="write k/n, for example 1/4 for the first quarter")
    return {"part": int(match[1]), "of": int(match[2])}


SCHEMA: Final = "advisor-plan/2"
"""The number rises when a key changes meaning or goes; advisor-plan/1 has every rank for itself."""


class PlannedSlot(Value):
    """One rank's place on a node of its kind."""

    model_config = ConfigDict(extra="ignore")

    cpus: CpuSet
    """its CPUs in the kernel's numbers"""
    numa_nodes: tuple[int, ...] | None = None
    """NUMA nodes of its CPUs; null: not in the plan"""
    memory: tuple[int, ...] | None = None
    """NUMA nodes its memory should come from; null or empty: not planned"""
    policy: MemoryPolicy | None = None
    """prefer: from these nodes first; only: from no others; null: the default"""
    hca: str | None = None
    """the adapter it should use"""
    gpu: str | None = None
    """address of the GPU it should use"""


class PlannedNode(Value):
    """One kind of node."""

    model_config = ConfigDict(extra="ignore")

    slots: tuple[PlannedSlot, ...]
    """in the order of local ranks"""


class PlannedHosts(Value):
    """Hosts of one kind, and their ranks: each host has as many, in its node's first slots, the first host the first of them."""

    model_config = ConfigDict(extra="ignore")

    names: tuple[str, ...] | None
    """in the order of their ranks: names, or sets of them such as node[001-400]; null for one node without a name"""
    node: int = Field(ge=0)
    """position in nodes"""
    ranks: str
    """in rising order, in the kernel's list format: 0-1023,4096-5119, or 0-1023:1/8 for every eighth"""


class FoldedPlan(Value):
    """The plan of a job: every rank is in one entry of hosts, and an entry's ranks are as many as its hosts times their ranks."""

    model_config = ConfigDict(extra="ignore")

    schema_: Annotated[Literal["advisor-plan/2"], Field(alias="schema")] = SCHEMA
    nodes: tuple[PlannedNode, ...]
    hosts: tuple[PlannedHosts, ...]


class HostRanks(NamedTuple):
    """One host: its name, the position of its kind of node, its ranks in the order of local ranks."""

    name: str | None
    node: int
    ranks: range


def fold(placement: Placement, *, sets: bool = True) -> FoldedPlan:
    """Return a placement's plan; without ``sets`` each host has a text of its own, for what puts other names in their places."""
    kinds: dict[tuple[Slot, ...], int] = {}
    numbers = [kinds.setdefault(plan.slots, len(kinds)) for plan in placement.plans]
    nodes = tuple(PlannedNode(slots=tuple(map(_slot, slots))) for slots in kinds)
    return FoldedPlan(nodes=nodes, hosts=tuple(folded_hosts(_hosts(placement, numbers), sets=sets)))


def _slot(slot: Slot) -> PlannedSlot:
    own = {name: getattr(slot, name) for name in ("cpus", "memory", "policy", "hca", "gpu")}
    return PlannedSlot(numa_nodes=slot.nodes, **own)


def _hosts(placement: Placement, numbers: Sequence[int]) -> Iterator[HostRanks]:
    first = 0
    for host in placement.hosts:
        if host.ranks:
            yield HostRanks(host.name, numbers[host.plan], range(first, first + host.ranks))
        first += host.ranks


def folded_hosts(hosts: Iterable[HostRanks], *, sets: bool = True) -> Iterator[PlannedHosts]:
    """Yield hosts with as many ranks on the same kind of node together, in their order; hosts with every n-th rank each alone."""
    alike: dict[tuple[int, int, int], list[HostRanks]] = {}
    for host in hosts:
        run = alike.setdefault((host.node, len(host.ranks), host.ranks.step), [])
        if run and not _follows(run[-1], host):
            yield _entry(run, sets=sets)
            run.clear()
        run.append(host)
    yield from (_entry(run, sets=sets) for run in alike.values() if run)


def _follows(before: HostRanks, host: HostRanks) -> bool:
    """Return whether one entry can have both hosts: they have names, and their ranks follow each other."""
    return None not in (before.name, host.name) and host.ranks.step == 1 and before.ranks[-1] < host.ranks[0]


def _entry(hosts: list[HostRanks], *, sets: bool) -> PlannedHosts:
    names = [host.name for host in hosts if host.name is not None]
    texts = [",".join(folded_in_order(names))] if sets else names
    return PlannedHosts(names=tuple(texts) if names else None, node=hosts[0].node, ranks=",".join(_ranges(hosts)))


def _ranges(hosts: Iterable[HostRanks]) -> Iterator[str]:
    """Yield the ranges of the hosts' ranks, neighbours joined."""
    first = last = -2
    for ranks in (host.ranks for host in hosts):
        if ranks.step != 1:
            yield f"{ranks[0]}-{ranks[-1]}:1/{ranks.step}"
        elif ranks[0] == last + 1:
            last = ranks[-1]
        else:
            if last >= 0:
                yield _range(first, last)
            first, last = ranks[0], ranks[-1]
    if last >= 0:
        yield _range(first, last)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


_NUMBERED = re.compile(r"(.*?)(\d{1,9})(\D*)", re.ASCII)


def folded_in_order(names: Iterable[str]) -> Iterator[str]:
    """Yield names in few texts, as Slurm writes them, in the same order.

    >>> list(folded_in_order(["n08", "n09", "n10", "n05", "head", "n11"]))
    ['n[08-10,05]', 'head', 'n11']
    """
    for key, group in groupby(map(_parts, names), key=lambda parts: parts[:3]):
        before, wide, after = key
        runs: list[list[int]] = []
        for *_, number in group:
            if runs and number == runs[-1][1] + 1:
                runs[-1][1] = number
            else:
                runs.append([number, number])
        inside = ",".join(f"{a:0{wide}d}" if a == b else f"{a:0{wide}d}-{b:0{wide}d}" for a, b in runs)
        if not wide:
            yield from [before] * len(runs)
        else:
            yield f"{before}{inside}{after}" if inside.isdecimal() else f"{before}[{inside}]{after}"


def _parts(name: str) -> tuple[str, int, str, int]:
    """Return what is before the last number of a name, its digits, what is behind it, and the number."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], len(match[2]), match[3], int(match[2])) if match else (name, 0, "", 0)


FAMILY = "advisor-plan/"
SPELT_OUT = "advisor-plan/1"
MOST_RANKS = 1 << 20
"""Ranks of a plan: as many as reports are read of."""
_ROOM = 720 << 20
"""Bytes that the values of a plan may announce: those of 500,000 ranks spelt out, as many as a document may have."""
_PARTS = 100_000
"""Objects that are no ranks: those of a topology, and the slots of unlike nodes."""
_CURE = "write it with advisor bind -o DIR -- ./app"
_KEYS = ("rank", "host", "local", "cpus", "memory", "policy", "nodes")
_RANK = TypeAdapter(PlannedRank)


def read_bytes(name: str, what: str) -> bytes:
    """Return what a file holds, or standard input for ``-``; never more than any plan has."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(LARGEST_DOCUMENT + 1)
        else:
            with open_here(name) as file:
                data = file.read(LARGEST_DOCUMENT + 1) or b""
    except OSError as error:
        cure = _CURE if what == "plan" else None
        raise BadInput((error.strerror or "cannot be read").lower(), file=name, cure=cure) from error
    if len(data) > LARGEST_DOCUMENT:
        raise BadInput(f"too large for a {what}", file=name, cure="refused as unsafe")
    return data


def plan_in(name: str) -> PlannedBinding:
    """Return the plan that a file holds: its ``ranks``, and its ``topology`` where it has one."""
    reader = _Ranks()
    try:
        with bounded_sets():
            return _plan(read_json(read_bytes(name, "plan"), _CURE, room=_ROOM, hook=reader.read))
    except BadInput as error:
        raise error.within(name) from error


class _Ranks:
    """Turns each rank of a document into its value as soon as it is read: half a million are never held as texts."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._count = self._others = 0

    def read(self, each: dict[str, Any]) -> Any:
        """Return a rank, or any other object as it is."""
        if "rank" not in each or "cpus" not in each:
            self._others += 1
            if self._others > _PARTS:
                raise BadInput(f"more than {_PARTS} objects that are not ranks", cure="refused as unsafe")
            return each
        place = f"ranks[{self._count}]"
        self._count += 1
        if isinstance(each.get("host"), str):
            each["host"] = self._words.setdefault(each["host"], each["host"])
        return _planned(each, place)


def _plan(data: Any) -> PlannedBinding:
    if not isinstance(data, dict):
        raise BadInput("not a plan: not a JSON object", cure=_CURE)
    schema = data.get("schema")
    if schema == SCHEMA:
        return PlannedBinding(ranks=tuple(unfolded(_folded(data))), topology=_topology(data))
    if isinstance(schema, str) and schema.startswith(FAMILY) and schema != SPELT_OUT:
        problem = f"its schema is {schema[:40]}, but this advisor reads {SPELT_OUT} and {SCHEMA}"
        raise BadInput(problem, cure="update advisor")
    return PlannedBinding(ranks=_spelt_out(data.get("ranks")), topology=_topology(data))


def _folded(data: dict[str, Any]) -> FoldedPlan:
    try:
        return FoldedPlan.model_validate_json(json.dumps({key: data[key] for key in ("schema", "nodes", "hosts") if key in data}))
    except ValidationError as error:
        raise _first_of(error, "") from error
    except TypeError as error:  # a rank of the other form, which is a value already
        raise BadInput(f"a plan with schema {SCHEMA} must not list ranks one by one", cure=_CURE) from error


def unfolded(plan: FoldedPlan) -> list[PlannedRank]:
    """Return each rank of a plan, in order."""
    found: dict[int, PlannedRank] = {}
    for at, entry in enumerate(plan.hosts):
        try:
            for rank in _ranks_of(entry, plan.nodes, MOST_RANKS - len(found)):
                _once(found, rank)
        except BadInput as error:
            raise BadInput(error.problem, place=f"hosts[{at}]", cure=_CURE) from error
    if not found:
        raise BadInput("not a plan: it contains no ranks", cure=_CURE)
    return [found[rank] for rank in sorted(found)]


def _once(found: dict[int, PlannedRank], rank: PlannedRank) -> None:
    if found.setdefault(rank.rank, rank) is not rank:
        raise BadValue(f"rank {rank.rank} occurs twice")


def _ranks_of(entry: PlannedHosts, nodes: tuple[PlannedNode, ...], most: int) -> Iterator[PlannedRank]:
    """Yield the ranks of an entry, of no more hosts than ranks and no more ranks than there is room for."""
    if entry.node >= len(nodes):
        raise BadValue(f"the plan has no node {entry.node}")
    numbers, names, slots = _ranks_in(entry.ranks), _names(entry.names), nodes[entry.node].slots
    each, rest = divmod(len(numbers), len(names))
    if rest or not 0 < each <= len(slots):
        raise BadValue(f"it has {len(numbers)} ranks for {len(names)} hosts with {len(slots)} slots each")
    if len(numbers) > most:
        raise BadValue(f"more than {MOST_RANKS} ranks")
    places = [(local, slot.cpus, slot.memory or None, slot.policy, slot.numa_nodes) for local, slot in enumerate(slots[:each])]
    at = iter(numbers)
    for host in names:
        for local, cpus, memory, policy, own in places:
            yield PlannedRank(rank=next(at), host=host, local=local, cpus=cpus, memory=memory, policy=policy, nodes=own)


def _ranks_in(text: str) -> CpuSet:
    try:
        return CpuSet.parse(text)
    except BadValue as error:
        raise BadValue(f"{text[:40]!a} is not a list of rank numbers below {MOST_RANKS}") from error


def _names(texts: tuple[str, ...] | None) -> list[str | None]:
    """Return the hosts that some texts name: one without a name where there are none."""
    if texts is None:
        return [None]
    names: list[str | None] = []
    for text in texts:
        names += expand(text)
        if len(names) > MOST:
            raise BadValue(f"more than {MOST} hosts")
    if not names:
        raise BadValue("it names no host")
    return names


def _spelt_out(ranks: Any) -> tuple[PlannedRank, ...]:
    if not isinstance(ranks, list) or not ranks:
        raise BadInput("not a plan: it contains no list of ranks", cure=_CURE)
    planned: dict[int, PlannedRank] = {}
    for at, each in enumerate(ranks):
        place = f"ranks[{at}]"
        try:
            _once(planned, each if isinstance(each, PlannedRank) else _planned(each, place))
        except BadValue as error:
            raise BadInput(error.problem, place=place, cure=_CURE) from error
    return tuple(planned.values())


def _planned(each: object, place: str) -> PlannedRank:
    if not isinstance(each, dict):
        raise BadInput("not a rank", place=place, cure=_CURE)
    taken = {key: each[key] for key in _KEYS if key in each}
    if "nodes" not in taken and isinstance(each.get("numa_nodes"), list):
        taken["nodes"] = each["numa_nodes"]
    try:
        if isinstance(taken.get("memory"), str):
            taken["memory"] = list(_nodes(taken["memory"]))
        return _RANK.validate_json(json.dumps(taken))
    except ValidationError as error:
        raise _first_of(error, place) from error
    except BadInput as error:
        raise BadInput(error.problem, place=place, cure=_CURE) from error


def _first_of(error: ValidationError, place: str) -> BadInput:
    """Return the first mistake of several, with its place."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    keys = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in first["loc"])
    return BadInput(in_words(first["msg"])[:120], place=f"{place}{keys}".removeprefix(".")[:120], cure=_CURE)


def _nodes(text: str) -> CpuSet:
    """Return the NUMA nodes of a list; Linux knows 1,024 of them."""
    found = CpuSet.parse(text)
    if len(found) > _NODES:
        raise BadInput(f"{len(found)} NUMA nodes, more than the {_NODES} that Linux supports", cure=_CURE)
    return found


_NODES = 1024


def _topology(data: dict[str, Any]) -> Topology | None:
    """Return the topology that a document has; one that cannot be read is only not used."""
    try:
        return Topology.model_validate_json(json.dumps(data["topology"])) if data.get("topology") else None
    except (ValidationError, AdvisorError, TypeError):
        return None
