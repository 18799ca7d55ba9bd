"""Where a line puts each rank: of the first host, and of the others, taken to be like this machine; numactl and taskset in it."""

import re
from collections import Counter
from dataclasses import replace

from advisor.errors import BadInput, BadValue
from advisor.jobs.launcher import launchers, of_lines
from advisor.jobs.line import binders, binds_itself, request_of
from advisor.jobs.openmpi_map import hosts_of_file
from advisor.jobs.placement import LintRank
from advisor.jobs.request import Binder, Line, Prediction, Refused, Request, Texts, Unclear, hosts
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology


def binder_cpus(binder: Binder, given: CpuSet | None, seen: Topology) -> CpuSet | None:
    """Return the CPUs of a program after numactl or taskset, None where it sets none; raise Refused or Unclear.

    ``given`` are the CPUs that it was started with. numactl's -C takes no others without --all, and counts +0-3 among them;
    its -N, and taskset, set whatever the job may have.
    """
    inside = seen.inside
    if binder.nodes is not None:
        cpus = union(node.cpuset for node in inside.nodes if node.os_index in _nodes(binder.nodes, inside)) & inside.pus
    elif binder.cpus is not None and binder.tool == "taskset":
        cpus = _strided(binder.cpus) & inside.pus
    elif binder.cpus is not None:
        return _numactl_cpus(binder, given or inside.pus, inside)
    else:
        return None
    if not cpus:
        raise Refused(f"{binder.tool} ends with an error: {(binder.nodes or binder.cpus or '')[:40]} is no CPU that it may have")
    return cpus


def _numactl_cpus(binder: Binder, given: CpuSet, inside: Topology) -> CpuSet:
    text = binder.cpus or ""
    among = inside.pus if binder.everywhere else given
    if text == "all":
        return among
    sign, plain = (text[0], text[1:]) if text[:1] in "+!" and text else ("", text)
    listed = _parsed(plain)
    if sign == "+":
        order = sorted(among)
        if listed and max(listed) >= len(order):
            raise Unclear(f"{text[:40]} counts beyond the {len(order)} CPUs that it is started with")
        return CpuSet(order[number] for number in listed)
    if not listed or not listed <= among:
        why = (
            "it takes those alone that it is started with; --all allows others" if listed <= inside.pus else "not on this machine"
        )
        raise Refused(f"numactl ends with an error: CPUs {plain[:40]}: {why}")
    return among - listed if sign else listed


def _nodes(text: str, inside: Topology) -> set[int]:
    there = sorted(node.os_index for node in inside.nodes)
    if text == "all":
        return set(there)
    sign, plain = (text[0], text[1:]) if text[:1] in "+!" and text else ("", text)
    if re.match(r"(netdev|file|ip|block|pci):", plain):
        raise Unclear(f"on which NUMA nodes {plain[:40]} is, is known to numactl on the host alone")
    listed = _parsed(plain)
    if sign == "+" and listed and max(listed) < len(there):
        return {there[number] for number in listed}
    if sign == "+" or not listed <= CpuSet(there):
        numbers = ", ".join(map(str, there[:16]))
        raise Refused(f"numactl ends with an error: {plain[:40]} is not on this machine, whose NUMA nodes are {numbers}")
    return set(there) - set(listed) if sign else set(listed)


def _parsed(text: str) -> CpuSet:
    try:
        return CpuSet.parse(text)
    except BadValue as error:
        raise Refused(f"numactl ends with an error: {text[:40]!a} is not a list") from error


def _strided(text: str) -> CpuSet:
    """Return the CPUs of a list of taskset's: 0-6:2 is every second."""
    found: list[CpuSet] = []
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5})(?::(\d{1,4}))?)?", word, re.ASCII)
        if not match or int(match[3] or 1) == 0:
            raise Refused(f"taskset ends with an error: {text[:40]!a} is not a list of CPUs")
        found.append(CpuSet(range(int(match[1]), int(match[2] or match[1]) + 1, int(match[3] or 1))))
    return union(found)


def predict(line: Line, machine: Machine, files: Texts) -> Prediction:
    """Return a line with what it does on a machine."""
    made = Prediction(line, request_of(line), machine, machine.topology or Topology(), files)
    try:
        made = replace(made, want=_with_hosts(made))
        return replace(made, ranks=_ranks(made))
    except Refused as refusal:
        return replace(made, refused=str(refusal))
    except Unclear as why:
        return replace(made, unclear=str(why))
    except BadInput as error:
        return replace(made, unclear=error.problem)


def _with_hosts(made: Prediction) -> Request:
    """Return what a line wants with the hosts of its host file."""
    want = made.want
    if made.open_mpi:
        if not want.hosts and want.hostfile in made.files:
            named = hosts_of_file(made.files[want.hostfile or ""], crowded=want.oversubscribe and made.five)
            return replace(want, hosts=named, from_file=True)
        return want
    return replace(want, hosts=hosts_of(want, made.files))


def hosts_of(want: Request, files: Texts) -> tuple[tuple[str, int | None], ...]:
    """Return the hosts of the line, or of its host file."""
    arbitrary = (want.level or "").startswith("arbitrary")
    if (want.hosts and not arbitrary) or not want.hostfile or want.hostfile not in files:
        return want.hosts
    if arbitrary:
        each = Counter(word for word in files[want.hostfile].split()[:65536])
        return tuple(each.items())
    found: list[str] = []
    for row in files[want.hostfile].splitlines()[:65536]:
        words = row.partition("#")[0].split()
        if not words:
            continue
        slots = next((word[6:] for word in words[1:] if word.startswith("slots=")), None)
        found.append(f"{words[0]}:{slots}" if slots else words[0])
    return hosts(",".join(found))


def _ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks as the launcher's own module has them, after a numactl or taskset of the command."""
    ranks = of_lines()[made.line.family].ranks
    if ranks is None:
        raise Unclear(f"where {launchers()[made.line.family].title} puts ranks is not predicted here")
    if not made.open_mpi and not made.topology.inside.pus:
        raise Unclear("which CPUs the machine has, is not known")
    if not made.open_mpi and len(made.line.segments) > 1 and any(list(binders(part.command)) for part in made.line.segments):
        raise Unclear("one line starts several programs, and numactl or taskset binds the ranks of some")
    if other := next(filter(None, (binds_itself(part.command) for part in made.line.segments)), None):
        raise Unclear(f"which CPUs {other} in the command gives each rank is not predicted here")
    found = ranks(made)
    if not made.line.inner:
        return found
    return tuple(rank.model_copy(update={"cpus": _inner(made, rank.cpus)}) for rank in found)


def _inner(made: Prediction, given: CpuSet | None) -> CpuSet | None:
    """Return the CPUs of a rank after the numactl and taskset of the command."""
    for binder in made.line.inner:
        own = binder_cpus(binder, given, made.topology)
        given = given if own is None else own
    return given
