"""What a job is asked for: its hosts, from options or the scheduler, the machine that each is, and the shape of the job."""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from advisor.errors import BadValue, did_you_mean, in_words, must_be_one_of
from advisor.jobs.observed_binding import same_host
from advisor.jobs.placement import STRATEGIES, JobShape, Placement
from advisor.jobs.started.allocation import Allocated, expand, hostfile, of_job, placeholders
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine

_SLICE = re.compile(r"(\d{1,4})/(\d{1,4})", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?", re.ASCII)


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


@dataclass(frozen=True)
class JobOptions:
    """The shape of the job: the options that say it; None where they do not."""

    ranks: int | None = None
    ranks_per_node: int | None = None
    ranks_per: tuple[str, int] | None = None
    threads: int | None = None
    strategy: str = "auto"
    near: str | None = None
    smt: str = "skip"
    reserve: int | str = 0
    """Cores left to the system: so many of each node, or of each of its parts, such as ``l3:1``."""
    part: str | None = None
    purpose: str | None = None
    """What auto places for: bandwidth, latency, throughput."""


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
    environment = os.environ if environment is None else environment
    named, plain = _sources(host_options.sources)
    ways = [name for name in ("hosts", "hostfile", "nodes") if getattr(host_options, name) is not None]
    if len(ways) > 1:
        raise BadValue(f"--{ways[0]} and --{ways[1]} both say which hosts there are", cure="give one of the two")
    hosts = _hosts(host_options, tuple(named), command, environment)
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


def _sources(sources: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the files that --from names for one host each, NAME=FILE, and the others."""
    named: dict[str, str] = {}
    plain: list[str] = []
    for source in sources:
        name, equals, file = source.partition("=")
        if not equals or not _HOST.fullmatch(name) or Path(source).exists():
            plain.append(source)
        elif name in named:
            raise BadValue(f"--from says twice what {name} is", cure="give each host one file")
        else:
            named[name] = file
    return named, plain


def _hosts(
    host_options: HostOptions, named: tuple[str, ...], command: Sequence[str], environment: Mapping[str, str]
) -> Allocated:
    if host_options.hosts is not None:
        try:
            names = expand(host_options.hosts)
        except BadValue as error:
            raise error.within("--hosts") from error
        return Allocated(names)
    if host_options.hostfile is not None:
        return hostfile(host_options.hostfile)
    if host_options.nodes is not None:
        return placeholders(host_options.nodes, command)
    return of_job(environment) or Allocated(named)


def _one_each(hosts: Allocated, named: Mapping[str, Machine], plain: Sequence[Machine]) -> JobHosts:
    """Return a machine for each host: by name, or in the order of the hosts; one without a name is that of all others."""
    names = hosts.names
    if not names:
        names = tuple(machine.name or "" for machine in plain)
        if len(set(names)) < len(names) or not all(_HOST.fullmatch(name) for name in names):
            raise BadValue(
                "several --from, and their hosts' names are not known", cure="name them: --from n1=FILE, or --hosts n1,n2"
            )
    strange = [name for name in named if name not in names]
    if strange:
        raise BadValue(f"--from is given for {strange[0]}, which is none of the hosts", cure=f"there are {', '.join(names[:8])}")
    others = [name for name in names if name not in named]
    if len(plain) not in (1, len(others)) and others:
        missing = f"{len(others)} hosts, {others[0]} the first, have no --from" if not plain else ""
        problem = missing or f"{len(plain)} --from without a name, and {len(others)} hosts without one"
        raise BadValue(problem, cure=f"give each its own: --from {others[0]}=FILE")
    rest = iter(plain if len(plain) == len(others) else list(plain) * len(others))
    machines = tuple(named.get(name) or next(rest) for name in names)
    return JobHosts(replace(hosts, names=names), machines)


def host_notes(hosts: Allocated) -> tuple[str, ...]:
    """Return notes on where the hosts come from."""
    job = (f"the hosts are those of {hosts.scheduler} job {hosts.job}",) if hosts.scheduler else ()
    return (*job, *hosts.notes)


def machines_of(placement: Placement, job_hosts: JobHosts) -> tuple[Machine, ...]:
    """Return the machine of each kind of node."""
    by_name = dict(zip(job_hosts.hosts.names, job_hosts.machines, strict=True)) if len(job_hosts.machines) > 1 else {}
    first = {host.plan: host.name for host in reversed(placement.hosts)}
    return tuple(by_name.get(first[plan] or "", job_hosts.machines[0]) for plan in range(len(placement.plans)))


def shape(job_options: JobOptions, job_hosts: JobHosts, notes: list[str]) -> JobShape:
    """Return the job that options ask for; what they leave open, the scheduler says."""
    hosts = job_hosts.hosts
    ways = [name for name in ("ranks", "ranks_per_node", "ranks_per") if getattr(job_options, name) is not None]
    if len(ways) > 1:
        one, other = (name.replace("_", "-") for name in ways[:2])
        raise BadValue(f"--{one} and --{other} both give the number of ranks", cure="give one of the two")
    per, count = job_options.ranks_per or (None, 1)
    must_be_one_of("strategy", job_options.strategy, ("auto", *STRATEGIES), f"there are auto, {', '.join(STRATEGIES)}")
    if job_options.purpose and job_options.strategy != "auto":
        raise BadValue("--for and --strategy both choose where ranks go", cure="give one of the two")
    twice = [name for name, count in Counter(hosts.names).items() if count > 1]
    if twice:
        raise BadValue(f"the host {twice[0]} occurs twice", cure="name each once; --ranks-per-node says how many ranks it gets")
    values = {
        "ranks": job_options.ranks if ways else hosts.ranks,
        "ranks_per_node": job_options.ranks_per_node if ways else hosts.ranks_per_node,
        "per": per,
        "per_count": count,
        "threads": job_options.threads or _threads(hosts, job_hosts.machines[0], job_options.smt, notes),
        "strategy": job_options.strategy,
        "purpose": job_options.purpose,
        "near": job_options.near,
        "smt": job_options.smt,
        **_reserved(job_options.reserve),
        "slice": _slice(job_options.part),
        "hosts": hosts.names,
    }
    try:
        return JobShape.model_validate(values)
    except ValidationError as error:
        raise _refused(error) from error


def per_part(text: str | None) -> tuple[str, int] | None:
    """Return the part of a node and how many ranks it gets: ``l3`` is one in each, ``l3:2`` two."""
    if text is None:
        return None
    part, colon, count = text.lower().partition(":")
    if part not in PARTS:
        cure = did_you_mean(part, PARTS, f"count ranks in {', '.join(PARTS)}, such as --ranks-per l3 2")
        raise BadValue(f"--ranks-per {text[:40]} is not a part of a node", cure=cure)
    if colon and not (count.isascii() and count.isdecimal() and len(count) < 8):
        raise BadValue(f"--ranks-per {text[:40]}: how many ranks in each {part}", cure=f"write --ranks-per {part} 2")
    return part, int(count or 1)


def _reserved(asked: int | str) -> dict[str, int | str | None]:
    """Return how many cores are left to the system, and of which parts each: ``2``, or ``l3:1``, one of each L3 group."""
    text = str(asked)
    part, colon, count = text.lower().rpartition(":")
    if not (count.isascii() and count.isdecimal() and len(count) < 6) or (colon and part not in ("socket", "numa", "l3")):
        raise BadValue(f"--reserve {text[:40]} is not a number of cores", cure="write 2, or l3:1 for one of each L3 group")
    return {"reserve": int(count), "reserve_per": part or None}


_OPTIONS = {"per_count": "ranks-per", "ranks_per_node": "ranks-per-node"}


def _refused(error: ValidationError) -> BadValue:
    """Return the first fault of a job's shape, by the option that has it."""
    first = error.errors(include_url=False, include_context=False)[0]
    if not first["loc"]:
        return BadValue(in_words(first["msg"]))
    name, value = str(first["loc"][0]), ascii(first["input"])[:80]
    if first["type"] == "string_pattern_mismatch":
        return BadValue(f"--{name} {value} is not a name of a device", cure="write such as mlx5_0, gpu0 or 0000:61:00.0")
    return BadValue(f"--{_OPTIONS.get(name, name)} {value}: it {in_words(first['msg'])}")


def _threads(hosts: Allocated, machine: Machine, smt: str, notes: list[str]) -> int:
    """Return the threads of a rank that the scheduler was asked for: Slurm counts hardware threads."""
    if hosts.cpus is None:
        if hosts.threads and hosts.threads > 1:
            notes.append(f"{hosts.threads} threads per rank: OMP_NUM_THREADS of the job")
        return hosts.threads or 1
    cores = machine.topology.cores if machine.topology else ()
    each = max((len(core.cpuset) for core in cores), default=1) if smt == "skip" else 1
    threads = max(1, hosts.cpus // each)
    if threads > 1:
        why = f", of which a core has {each}" if each > 1 else ""
        notes.append(f"{threads} threads per rank: SLURM_CPUS_PER_TASK is {hosts.cpus}{why}")
    return threads


def _slice(text: str | None) -> dict[str, int] | None:
    if text is None:
        return None
    match = _SLICE.fullmatch(text)
    if not match or not 1 <= int(match[1]) <= int(match[2]) <= 1024:
        raise BadValue(f"--slice {text[:40]} is not a part of a node", cure="write k/n, such as 1/4 for the first quarter")
    return {"part": int(match[1]), "of": int(match[2])}
