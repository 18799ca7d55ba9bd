"""LIKWID: likwid-mpirun gives each rank of a node its list of CPUs, one for each thread; likwid-pin one process."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from advisor.errors import BadValue
from advisor.jobs.launcher import Dialect, Launch, Launcher, LaunchRequest, Lines, option_table
from advisor.jobs.launchers import wrapper
from advisor.jobs.placement import (
    LONGEST,
    LintRank,
    LintWarning,
    Placement,
    devices_differ,
    filled,
    memory_notes,
    names,
    only_slots,
    runs,
)
from advisor.jobs.request import MOST_RANKS, Line, Prediction, Refused, Request, Unclear, number
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import logical_numbering
from advisor.machine.topology import Topology

NAME = "likwid"


_THREADS = "likwid pins each thread to one CPU of its rank, in the order of the list; OMP_PLACES has no effect there"


_WHOLE = "likwid counts CPUs from the job's first one: give the job whole nodes"


_MPI = "the hostfile is in Open MPI's format; for another MPI give -mpi (intelmpi, mvapich2) and write name:slots"


_LOOSE = ("env", "-u", "LD_PRELOAD", "-u", "LIKWID_PIN", "-u", "KMP_AFFINITY")
"""What undoes likwid-pin around the wrapper: it preloads a library that pins threads, and switches off Intel's own pinning."""


LIKWID, ALIASES = option_table("""
    -np -n --np 1 starts {0} ranks
    -pin --pin 1 gives each rank on a node its entry in {0}, one CPU per thread
    -c -C 1 pins the threads to the CPUs {0}, one after the other
    -nperdomain --nperdomain 1 starts ranks on each domain: {0}
    -t -tpp --tpp 1 gives each rank {0} threads
    --dist 1 sets the distance between ranks to {0} CPUs
    -s --skip 1 does not pin the threads in the mask {0}
    -mpi --mpi 1 starts the ranks with the MPI {0}
    -omp --omp 1 assumes the OpenMP {0}
    -hostfile --hostfile 1 starts the ranks on the hosts in the file {0}
    -g --group -group 1 measures the events {0}
    -o --output 1 writes to {0}
    -e --env 1 sets {0} for all ranks; the value ends at a comma
    --mpiopts 1 passes {0} to the MPI's launcher
    -V --verbose 1 prints more: {0}
    -m --marker -marker 0 uses only the memory of these CPUs (likwid-mpirun: measures marked regions)
    -i 0 interleaves memory over the nodes of these CPUs
    -S --sweep 0 clears memory and caches first
    -p 0 prints the domains or the CPU list
    -q --quiet 0 suppresses LIKWID's own output
    -f 0 starts even with more threads than CPUs
    -d --debug 0 prints what it does
    -O 0 prints comma-separated values
""")


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the likwid-mpirun line: a list for each local rank where hosts are alike, else the wrapper."""
    hosts, each, slots = list(runs(placement)), filled(placement), only_slots(placement)
    if any(run.ranks != each for run in hosts):
        raise BadValue("likwid-mpirun starts the same number of ranks on every host", cure="request the same number on each")
    narrow = any(run.plan.topology.limited for run in hosts)
    wrap = wish.wrap or narrow or slots is None or devices_differ(placement)
    lists = "" if wrap else _lists(placement)
    wrap = wrap or len(lists) > LONGEST
    command = (*_LOOSE, *wrapper.wrapped(wish.command)) if wrap else wish.command
    named, files = _hosts(placement)
    passed = [word for name, value in wish.environment.items() if "," not in value for word in ("-e", f"{name}={value}")]
    before = {name: value for name, value in wish.environment.items() if "," in value}
    argv = ("likwid-mpirun", "-np", str(placement.size), *named, *passed, *(() if wrap else ("-pin", lists)), *command)
    notes = (
        *(wrapper.NOTES if wrap else (*memory_notes(placement), _THREADS, _WHOLE)),
        *((_MPI,) if files else ()),
        *_kept(before),
    )
    files = {**files, **(wrapper.files(placement) if wrap else {})}
    return Launch(NAME, wish.version, "wrapper" if wrap else "list", argv, before, files, (), notes)


def _lists(placement: Placement) -> str:
    """Return the lists of a node's ranks, in order."""
    plan, core_after_core = next(iter(runs(placement))), placement.job.smt == "use"
    return "_".join(written(slot.cpus, plan.plan.topology, threads_first=core_after_core) for slot in plan.slots)


def _hosts(placement: Placement) -> tuple[tuple[str, ...], dict[str, Lines]]:
    """Return the words that name the hosts, and the file: a host needs a slot for every thread."""
    if not names(placement):
        return (), {}
    most = max(len(run.plan.topology.pus) for run in runs(placement))
    return ("-mpi", "openmpi", "-hostfile", "hostfile"), {
        "hostfile": lambda: (f"{name} slots={most}" for name in names(placement))
    }


def _kept(before: Mapping[str, str]) -> Iterator[str]:
    if before:
        yield f"likwid-mpirun truncates variables at a comma: on other hosts, set {', '.join(sorted(before))} another way"


_MOST = 4096


def request(line: Line, told: Request) -> Request:
    """Return what a line asks for: one process of likwid-pin's, or ranks of likwid-mpirun's on the hosts of its file."""
    if line.words.launcher == "likwid-pin":
        return replace(told, ranks=1, bind=line.first.value("-c"))
    given = dict(told.exports) | dict(said.values[0].partition("=")[::2] for said in line.first.options if said.name == "-e")
    threads = number(given.get("OMP_NUM_THREADS"))
    return replace(told, hostfile=line.first.value("-hostfile"), bind=line.first.value("-pin"), exports=given, threads=threads)


def ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks of a line; the CPUs of each are those that its threads get, one after the other."""
    line, want = made.line, made.want
    if odd := next((said for said in line.options if not said.known), None):
        raise Unclear(f"likwid's option {odd.written[0][:40]} is unknown here")
    if not line.first.command:
        raise Refused("no program is named")
    if want.bind is None:
        raise Unclear("without -pin (-c of likwid-pin) likwid chooses the cores itself")
    if made.topology.limited:
        raise Unclear("in a job that has only part of the node, likwid counts CPUs from the first CPU of that part")
    alone = line.words.launcher == "likwid-pin"
    words = (want.bind,) if alone else tuple(want.bind.split("_"))
    given = [CpuSet(cpus_of(word, made.topology)) for word in words]
    if alone:
        return (LintRank(rank=0, host=None, cpus=given[0]),)
    if want.hostfile and want.hostfile not in made.files:
        raise Unclear(f"the hosts are listed in the file {want.hostfile[:80]}, which was not read")
    hosts = _hosts_of_ranks(made, len(given), len(cpus_of(words[0], made.topology)))
    each = given[: want.ranks] if want.ranks and len(hosts) == 1 else given
    places = [(host, cpus) for host in hosts for cpus in each]
    return tuple(LintRank(rank=rank, host=host, cpus=cpus) for rank, (host, cpus) in enumerate(places))


def _hosts_of_ranks(made: Prediction, each: int, threads: int) -> tuple[str | None, ...]:
    """Return the hosts that get ranks: whole hosts alone, as many as the ranks fill."""
    named = made.want.hosts
    if not named:
        if each * threads > len(made.topology.inside.pus):
            raise Refused("the pinning needs more hardware threads than the node has")
        return (None,)
    if any(not slots or slots < each * threads for _, slots in named):
        raise Unclear("a host in the hostfile has fewer slots than the total CPU count of its ranks")
    total = min(made.want.ranks or each * len(named), each * len(named), MOST_RANKS)
    return tuple(name for name, _ in named[: max(1, total // each)])


def lists(made: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where fewer ranks start than the line asks for: whole hosts alone get ranks, one for each entry."""
    count, asked = len(made.ranks or ()), made.line.first.value("-np")
    if made.ranks is None or made.line.words.launcher == "likwid-pin" or not asked or made.want.ranks in (None, count):
        return
    entries = len((made.want.bind or "").split("_"))
    yield LintWarning(
        id="ranks-left-out",
        what=f"only {count} of {asked} ranks are started",
        why="Each host gets one rank per entry of -pin, never fewer; likwid-mpirun warns and continues.",
        evidence=f"entries in -pin: {entries}; hosts used: {len({rank.host for rank in made.ranks})}",
        better="one entry per rank on a host",
        misbinds=True,
    )


def cpus_of(expression: str, seen: Topology) -> list[int]:
    """Return the CPUs of a list of the kernel's numbers in its order; raise Refused or Unclear."""
    if len(seen.pus) != (max(seen.pus, default=-1) + 1):
        raise Unclear("likwid's numbering with offline CPUs is not predicted")
    if not re.fullmatch(r"[\d,-]+", expression, re.ASCII):
        raise Unclear(f"the result of {expression[:40]!a} in likwid is not predicted")
    numbers = _numbers(expression)
    if not set(numbers) <= set(seen.pus):
        raise Refused(f"{expression[:40]} names CPUs that this machine does not have")
    return numbers


def _numbers(text: str) -> list[int]:
    """Return the numbers of a list in its order, 3-0 downwards; raise Refused of one that is none."""
    numbers: list[int] = []
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", word, re.ASCII)
        if not match:
            raise Refused(f"{text[:40]!a} is not a list of CPUs")
        first, last = int(match[1]), int(match[2] or match[1])
        numbers += range(first, last + 1) if first <= last else range(first, last - 1, -1)
        if len(numbers) > _MOST:
            raise Unclear("more CPUs than advisor can evaluate")
    return numbers


def _first_threads_first(cpus: Sequence[int], seen: Topology) -> list[int]:
    thread = {cpu: at for core in seen.cores for at, cpu in enumerate(core.cpuset)}
    return sorted(cpus, key=lambda cpu: thread.get(cpu, 0))


def written(cpus: CpuSet, seen: Topology, *, threads_first: bool) -> str:
    """Return a rank's CPUs as likwid reads them, in the order in which its threads take them; raise BadValue of none."""
    order = [cpu for cpu in logical_numbering(seen).pus if cpu in cpus]
    order = order if threads_first else _first_threads_first(order, seen)
    if len(order) < len(cpus) or not order:
        raise BadValue("some CPUs belong to no core of this machine")
    runs: list[list[int]] = []
    for cpu in order:
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


LAUNCHER = Launcher(
    name=NAME,
    title="LIKWID",
    order=70,
    launch=launch,
    aliases=("likwid-mpirun", "likwid-pin"),
    variables=("LIKWID_",),
    dialect=Dialect(
        programs=("likwid-mpirun", "likwid-pin"),
        options=LIKWID,
        aliases=ALIASES,
        ranks=ranks,
        request=request,
        lists=lists,
    ),
)
