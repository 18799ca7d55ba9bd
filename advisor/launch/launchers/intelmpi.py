"""Intel MPI: ``I_MPI_PIN_DOMAIN``, one mask of the kernel's CPU numbers a local rank, or a domain's name where faithful."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from advisor.launch.launcher import Avoided, JobScript, Launch, LaunchRequest, Lines, VersionQuery, late
from advisor.launch.launchers import mpich, wrapper
from advisor.launch.launchers.mpich import alike, objects
from advisor.launch.ranks_per_host import (
    FEW,
    Run,
    counted,
    devices_differ,
    filled,
    kinds,
    memory_notes,
    names,
    passed,
    refuse_colon,
    runs,
)
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import Placement, Slot

NAME = "intelmpi"
ALIASES = ("impi", "intel", "intel-mpi")
TITLE = "Intel MPI"
ORDER = 40
VERSIONS = (
    # Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)
    VersionQuery(
        "intelmpi",
        (("mpiexec.hydra", "--version"),),
        r"^Intel\(R\) MPI Library[^\n]{0,80}?, Version ([0-9.]+(?: Update [0-9]+)?)",
    ),
)
VARIABLES = ("I_MPI_", "HYDRA_")
RANKS = mpich.RANKS
UNBOUND = ("-genv", "I_MPI_PIN", "0")
JOB = JobScript()
LINES = replace(
    mpich.LINES,
    programs=("mpiexec.hydra", "mpiexec", "mpirun"),
    ranks=late("hydra.intelmpi:ranks"),
    claim=late("hydra.intelmpi:claim"),
    lists=late("cpu_lists:intel_lists"),
    aliases={**mpich.LINES.aliases, "-machine": "-f"},
    binds=True,
)


def unbound(total: int, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a line whose ranks are not bound, up to its program."""
    each = -(-total // max(1, len(hosts)))
    named = ("-hosts", ",".join(hosts), "-ppn", str(each)) if hosts else ()
    return "mpiexec.hydra", "-n", str(total), *named, *UNBOUND


MASKS = 112
"""Masks that a list may hold: 2021.18 writes past an array from 115 on and dies ("stack smashing detected", observed)."""
SEGMENTS, LONG = 16, 60_000
"""Segments of a command line, and characters of its masks; more go into a file (-configfile)."""

DOMAINS = {"cache3": "l3cache", "numa": "numa", "socket": "socket", "core": "core"}
"""Names of I_MPI_PIN_DOMAIN that were observed to be what they say, and hydra.objects' names for them."""

Segments = list[tuple[int, dict[str, str]]]
"""How many ranks in a row, and the variables that pin them."""

_SIZES = Avoided(
    "I_MPI_PIN_DOMAIN=N:compact", "2021.18 makes the domains larger than N when there are few ranks (4 ranks of 4 CPUs: 16 each)"
)
_ORDER = Avoided("I_MPI_PIN_ORDER=scatter|spread", "2021.18 binds each rank to one core of its domain only")


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the mpiexec.hydra line: a domain's name where faithful, else lists for each kind of host, else the wrapper."""
    grouped = list(runs(placement))
    refuse_colon(wish.command)
    if wish.wrap or devices_differ(placement):
        return _wrapped(placement, wish, ())
    domain = None if wish.exact else short_form(placement, wish)
    if domain:
        pins = {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": domain, "I_MPI_PIN_ORDER": "compact"}
        return _line(placement, wish, f"domain {domain}", [(placement.size, pins)], (_SIZES, _ORDER))
    why = "some parts of the nodes are not alike, or no domain has the CPUs and the order of the plan"
    avoided = () if wish.exact else (Avoided("I_MPI_PIN_DOMAIN=numa|cache3|socket|core|omp", why), _SIZES)
    if any(run.ranks > MASKS and not _single(run.slots) for run in grouped):
        return _wrapped(
            placement, wish, (*avoided, Avoided("mask list", f"Intel MPI dies of more than {MASKS} masks for a host"))
        )
    lists = {run.kind: listed(run) for run in {run.kind: run for run in grouped}.values()}
    segments = _joined([(run.ranks * len(run.hosts), lists[run.kind], run.ranks) for run in grouped])
    form = "processor list" if any("I_MPI_PIN_PROCESSOR_LIST" in pins for _, pins in segments) else "domain masks"
    return _line(placement, wish, form, segments, avoided)


def _joined(parts: list[tuple[int, dict[str, str], int]]) -> Segments:
    """Return the segments, those in a row joined that have the same list for hosts with as many ranks."""
    grouped = groupby(parts, key=lambda part: part[1:])
    return [(sum(number for number, *_ in same), pins) for (pins, _), same in grouped]


def listed(run: Run) -> dict[str, str]:
    """Return the variables with exactly one entry a local rank: of more, Intel MPI silently makes something else."""
    if run.ranks > MASKS:
        return {"I_MPI_PIN": "1", "I_MPI_PIN_PROCESSOR_LIST": ",".join(str(slot.cpus) for slot in run.slots)}
    # The 0x is needed: without it the list is not understood, and silently not used.
    return {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": f"[{','.join(hex(slot.cpus.bits) for slot in run.slots)}]"}


def _single(slots: Sequence[Slot]) -> bool:
    """Whether each rank has one CPU and no two the same: a list of processors is read as a set otherwise."""
    cpus = [slot.cpus for slot in slots]
    return all(len(each) == 1 for each in cpus) and len(set(cpus)) == len(cpus)


def short_form(placement: Placement, wish: LaunchRequest) -> str | None:
    """Return the domain's name that is right on every kind of host, None where there is none."""
    good: set[str] | None = None
    for plan, ranks in kinds(placement).items():
        found = set(domains(placement.plans[plan].topology, placement.plans[plan].slots[:ranks], wish))
        good = found if good is None else good & found
    return min(good, key=[*DOMAINS, "omp"].index) if good else None


def domains(topology: Topology, slots: Sequence[Slot], wish: LaunchRequest) -> Iterator[str]:
    """Yield the domains whose first ones, in compact order, are those of the plan."""
    have = objects(topology)
    cpus = [slot.cpus for slot in slots]
    for name, kind in DOMAINS.items():
        if alike(have[kind], topology) and cpus == list(have[kind][: len(cpus)]):
            yield name
    threads = wish.environment.get("OMP_NUM_THREADS", "")
    if threads.isascii() and threads.isdigit() and all(alike(sets, topology) for sets in have.values() if sets):
        pus = packed(topology, int(threads))
        if cpus == pus[: len(cpus)]:
            yield "omp"


def packed(topology: Topology, size: int) -> list[CpuSet]:
    """Return so many neighbouring hardware threads, again and again."""
    pus = logical_numbering(topology).pus
    return [CpuSet(pus[i : i + size]) for i in range(0, len(pus) - size + 1, size)] if size else []


Where = tuple[tuple[str, ...], dict[str, Lines], dict[str, str]]


def where(placement: Placement, wish: LaunchRequest, *, listed: bool = False) -> Where:
    """Return the words, the file and the variables that name the hosts; ``listed``: one by one, in a file."""
    named, each = names(placement), filled(placement)
    if not named:
        return (), {}, {}
    # Under a scheduler Intel MPI counts its slots and neither -ppn nor a host file, unless told so.
    environment = {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"} if wish.scheduler else {}
    if each and not listed and (wish.scheduler or len(named) <= FEW):
        return (() if wish.scheduler else ("-hosts", ",".join(named))) + ("-ppn", str(each)), {}, environment
    return ("-machinefile", "hostfile"), {"hostfile": lambda: counted(placement)}, environment


def _line(placement: Placement, wish: LaunchRequest, form: str, segments: Segments, avoided: tuple[Avoided, ...]) -> Launch:
    hosts, files, environment = where(placement, wish, listed=len(segments) > 1)
    environment |= {"I_MPI_DEBUG": "4"} if wish.report else {}
    everywhere = tuple(passed(wish.environment, "-genv"))
    if len(segments) == 1:
        pinning = tuple(passed(segments[0][1], "-genv"))
        argv = ("mpiexec.hydra", *hosts, *everywhere, *pinning, "-n", str(placement.size), *wish.command)
        return Launch(NAME, wish.version, form, argv, environment, files, avoided, memory_notes(placement))
    if len(segments) > SEGMENTS or sum(len(value) for _, pins in segments for value in pins.values()) > LONG:
        return _configured(placement, wish, form, segments, avoided)
    words: list[str] = []
    for number, pins in segments:
        words += [":"] if words else []
        words += ["-n", str(number), *passed(pins, "-env"), *wish.command]
    argv = ("mpiexec.hydra", *hosts, *everywhere, *words)
    return Launch(NAME, wish.version, f"{form} for each host", argv, environment, files, avoided, memory_notes(placement))


def _configured(
    placement: Placement,
    wish: LaunchRequest,
    form: str,
    segments: Segments,
    avoided: tuple[Avoided, ...],
) -> Launch:
    _, files, environment = where(placement, wish, listed=True)
    environment |= {"I_MPI_DEBUG": "4"} if wish.report else {}
    if any(not re.fullmatch(r"[\w@%+=:,./-]+", word, re.ASCII) for word in (*wish.command, *wish.environment.values())):
        return _wrapped(
            placement, wish, (*avoided, Avoided("-configfile", "Intel MPI documents no quoting in it, and the command needs it"))
        )

    def lines() -> Iterator[str]:
        first = "-machinefile hostfile "
        for number, pins in segments:
            words = ["-n", str(number), *passed(wish.environment, "-env"), *passed(pins, "-env"), *wish.command]
            yield first + " ".join(words)
            first = ""

    files["segments"] = lines
    argv = ("mpiexec.hydra", "-configfile", "segments")
    return Launch(NAME, wish.version, f"{form} in a file", argv, environment, files, avoided, memory_notes(placement))


def _wrapped(placement: Placement, wish: LaunchRequest, avoided: tuple[Avoided, ...]) -> Launch:
    hosts, files, environment = where(placement, wish)
    variables = passed({**wish.environment, "I_MPI_PIN": "0"}, "-genv")
    argv = ("mpiexec.hydra", *hosts, *variables, "-n", str(placement.size), *wrapper.wrapped(wish.command))
    return Launch(NAME, wish.version, "wrapper", argv, environment, {**files, **wrapper.files(placement)}, avoided, wrapper.NOTES)
