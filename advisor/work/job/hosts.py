"""The hosts that carry a job, from options or the scheduler, and the machine that each of them is."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from advisor.errors import BadValue
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.machine import Machine
from advisor.model.observed_binding import same_host
from advisor.model.placement import Placement
from advisor.work.job.allocation import Allocated, expand, hostfile, of_job, placeholders
from advisor.work.machine import load

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


def hosts_of_job(there: HostOptions, command: Sequence[str], environment: Mapping[str, str]) -> JobHosts:
    """Return the hosts and their machines."""
    named, plain = _sources(there.sources)
    ways = [name for name in ("hosts", "hostfile", "nodes") if getattr(there, name) is not None]
    if len(ways) > 1:
        raise BadValue(f"--{ways[0]} and --{ways[1]} both say which hosts there are", cure="give one of the two")
    hosts = _hosts(there, tuple(named), command, environment)
    read = cache(lambda file: _read(file, there.assume))
    if named or len(plain) > 1:
        return _one_each(hosts, {name: read(file) for name, file in named.items()}, [read(file) for file in plain])
    machine = read(plain[0] if plain else None)
    here = not plain and not there.assume and len(hosts.names) < 2 and machine.limits is not None
    return JobHosts(hosts, (machine,), machine.limits.affinity if here and machine.limits else None)


def _read(file: str | None, assume: tuple[str, ...]) -> Machine:
    machine = load(file)
    if not assume:
        return machine
    from advisor.work.whatif import assumed

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


def _hosts(there: HostOptions, named: tuple[str, ...], command: Sequence[str], environment: Mapping[str, str]) -> Allocated:
    if there.hosts is not None:
        try:
            names = expand(there.hosts)
        except BadValue as error:
            raise error.within("--hosts") from error
        return Allocated(names)
    if there.hostfile is not None:
        return hostfile(there.hostfile)
    if there.nodes is not None:
        return placeholders(there.nodes, command)
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


def machines_of(placement: Placement, crew: JobHosts) -> tuple[Machine, ...]:
    """Return the machine of each kind of node."""
    by_name = dict(zip(crew.hosts.names, crew.machines, strict=True)) if len(crew.machines) > 1 else {}
    first = {host.plan: host.name for host in reversed(placement.hosts)}
    return tuple(by_name.get(first[plan] or "", crew.machines[0]) for plan in range(len(placement.plans)))
