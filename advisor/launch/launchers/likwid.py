"""LIKWID: likwid-mpirun gives each rank of a node its list of CPUs, one for each thread; likwid-pin one process."""

from collections.abc import Iterator, Mapping, Sequence

from advisor.errors import BadValue
from advisor.launch.launcher import Dialect, JobScript, Launch, LaunchRequest, Lines, Options, late
from advisor.launch.launchers import wrapper
from advisor.launch.lint.likwid import ranks, request, written
from advisor.launch.ranks_per_host import LONGEST, devices_differ, filled, memory_notes, names, only_slots, runs
from advisor.model.placement import Placement

NAME = "likwid"
TITLE = "LIKWID"
ALIASES = ("likwid-mpirun", "likwid-pin")
ORDER = 70
VERSIONS = ()
VARIABLES = ("LIKWID_",)
RANKS = None
UNBOUND = ()
JOB = JobScript()

_THREADS = "likwid pins each thread to one CPU of its rank, in the order of the list; OMP_PLACES changes nothing there"
_WHOLE = "likwid counts CPUs from the first that the job has: give the job whole nodes"
_MPI = "the hostfile is Open MPI's: for another MPI name it (-mpi intelmpi, mvapich2) and write name:slots"
_LOOSE = ("env", "-u", "LD_PRELOAD", "-u", "LIKWID_PIN", "-u", "KMP_AFFINITY")
"""What undoes likwid-pin around the wrapper: it preloads a library that pins threads, and switches off Intel's own pinning."""

LIKWID: Options = {
    "-np": (1, "starts {0} ranks"),
    "-pin": (1, "gives each rank of a node its entry of {0}, one CPU for each thread"),
    "-c": (1, "pins the threads to the CPUs {0}, one after the other"),
    "-nperdomain": (1, "starts ranks on each domain: {0}"),
    "-t": (1, "gives each rank {0} threads"),
    "--dist": (1, "leaves {0} CPUs from one rank to the next"),
    "-s": (1, "does not pin the threads of the mask {0}"),
    "-mpi": (1, "starts them by the MPI {0}"),
    "-omp": (1, "takes the OpenMP to be {0}"),
    "-hostfile": (1, "on the hosts of the file {0}"),
    "-g": (1, "measures the events {0}"),
    "-o": (1, "writes to {0}"),
    "-e": (1, "sets {0} for all ranks, up to a comma"),
    "--mpiopts": (1, "gives the MPI's launcher {0}"),
    "-V": (1, "prints more: {0}"),
    "-m": (0, "keeps to the memory of these CPUs (likwid-mpirun: measures marked regions)"),
    "-i": (0, "takes memory of these CPUs' nodes in turn"),
    "-S": (0, "empties memory and caches first"),
    "-p": (0, "prints domains or the list"),
    "-q": (0, "prints nothing of its own"),
    "-f": (0, "goes on with more threads than CPUs"),
    "-d": (0, "prints what it does"),
    "-O": (0, "prints comma-separated values"),
}


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the likwid-mpirun line: a list for each local rank where hosts are alike, else the wrapper."""
    hosts, each, slots = list(runs(placement)), filled(placement), only_slots(placement)
    if any(run.ranks != each for run in hosts):
        raise BadValue("likwid-mpirun starts as many ranks on every host", cure="ask for the same number on each")
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
        yield f"likwid-mpirun cuts variables off at a comma: on other hosts, {', '.join(sorted(before))} must be set otherwise"


def unbound(total: int, hosts: Sequence[str]) -> None:
    """Return None: it pins always, so that no line of its is one whose ranks are not bound."""


LINES = Dialect(
    programs=("likwid-mpirun", "likwid-pin"),
    options=LIKWID,
    aliases={
        "-n": "-np",
        "--np": "-np",
        "-C": "-c",
        "-tpp": "-t",
        "--tpp": "-t",
        "--pin": "-pin",
        "--nperdomain": "-nperdomain",
        "--mpi": "-mpi",
        "--omp": "-omp",
        "--hostfile": "-hostfile",
        "--skip": "-s",
        "--group": "-g",
        "-group": "-g",
        "--output": "-o",
        "--env": "-e",
        "--verbose": "-V",
        "--marker": "-m",
        "-marker": "-m",
        "--sweep": "-S",
        "--quiet": "-q",
        "--debug": "-d",
    },
    ranks=ranks,
    request=request,
    lists=late("likwid:lists"),
)
