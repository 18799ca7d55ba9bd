"""Writes docs/binding.md: ten cases worked by hand, the lines for each launcher, and what real launchers did with them.

Run by hand with `python -m docs.binding_cases`: it starts real launchers on machines that are not there (tests/fakenode).
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

import tests.fakenode.hydra  # noqa: F401 - its import makes MPICH and Intel MPI known to observe()
from advisor.jobs.bind_page import with_ranks
from advisor.jobs.launcher import Launch, LaunchRequest, launchers
from advisor.jobs.place import place
from advisor.jobs.place_cores import sentence
from advisor.jobs.placement import JobShape, Placement
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from advisor.machine.units import count
from advisor.show.commandline import folded
from advisor.show.lines import text_of
from advisor.show.terminal import picture_lines
from tests.fakenode import slurm
from tests.fakenode.compare import at_hosts, described, differences
from tests.fakenode.lab import probe
from tests.fakenode.run import LaunchFailedError, Observed, available, observe
from tests.machines.catalogue import write_archive

PAGE = Path(__file__).parent / "binding.md"
VERSIONS: Final = {"openmpi4": "4.1.4", "openmpi5": "5.0.11", "mpich": "5.0.2", "intelmpi": "2021.18", "srun": "22.05.8"}
_SHOWN: Final = 6
_WIDTH: Final = 100


@dataclass(frozen=True)
class Case:
    """A machine, a job, what it should come to, and how that was worked out."""

    title: str
    machine: str
    job: dict[str, Any]
    options: str
    by_hand: tuple[str, ...]
    words: str


_UNEVEN = tuple(f"{44 * node + first}-{44 * node + first + 3}" for node in range(4) for first in range(0, 48, 8))
_PAIRS = tuple(f"{first}-{first + 1}" for first in range(0, 16, 2))
_TWO_HCAS = ("4-7", "0-3", "8-11", "12-15", "24-27", "16-19", "20-23", "28-31")

CASES = (
    Case(
        "R7425: 16 ranks near mlx5_0", "a-r7425-2x7601-dell", {"ranks": 16, "near": "mlx5_0"}, "--ranks 16 --near mlx5_0",
        ("5", "21", "37", "53", "13", "29", "45", "61", "1", "17", "33", "49", "9", "25", "41", "57"),
        "A core's number is socket + 2 x die + 8 x its place in the die. The adapter is at node 6, die 2 of socket 1: CPUs 5, 13,"
        " 21 ... 61, in two L3 groups {5,21,37,53} and {13,29,45,61}. Its socket's other nodes are equally far (16), so node 4"
        " follows: {1,17,33,49} and {9,25,41,57}.",
    ),
    Case(
        "7702 in NPS4: one rank per CCX with 4 threads", "b-c6525-2x7702-nps4", {"per": "l3", "threads": 4},
        "--ranks-per l3 --threads 4", tuple(f"{4 * i}-{4 * i + 3}" for i in range(32)),
        "32 L3 groups of four cores, numbered one after the other: rank i has CPUs 4i to 4i+3.",
    ),
    Case(
        "7402: three cores a CCX", "b-c6525-2x7402-nps4", {"per": "l3", "threads": 3}, "--ranks-per l3 --threads 3",
        tuple(f"{3 * i}-{3 * i + 2}" for i in range(16)),
        "16 L3 groups of three cores: rank i has CPUs 3i to 3i+2. Four threads would cross caches.",
    ),
    Case(
        "Uneven L3 groups: 8, 8, 8, 8, 8 and 4 cores", "uneven-l3", {"per": "l3", "threads": 4},
        "--ranks-per l3 --threads 4", _UNEVEN,
        "Four nodes of 44 cores: their L3 groups begin at 0, 8, 16, 24, 32 and 40 of each, the last has four cores. The first"
        " four of each serve a rank; a form that counts cores and not caches would slide after the sixth.",
    ),
    Case(
        "2 x E5-2660 v3, CPU numbers dealt to the sockets in turn", "c-c6320-2x2660v3", {"ranks": 4, "threads": 5},
        "--ranks 4 --threads 5", ("0,2,4,6,8", "10,12,14,16,18", "1,3,5,7,9", "11,13,15,17,19"),
        "Socket 0 has the even numbers, socket 1 the odd ones. Two ranks of five cores fill a socket.",
    ),
    Case(
        "Half a node: a cgroup leaves part of a Rome", "job-half-v2", {"per": "l3", "threads": 2},
        "--ranks-per l3 --threads 2", _PAIRS,
        "The cgroup leaves socket 0: eight L3 groups of two cores, two threads each. Open MPI's logical numbers count what the"
        " cgroup leaves, too.",
    ),
    Case(
        "Two HCAs", "two-hcas", {"ranks": 8, "threads": 4, "strategy": "per-hca"},
        "--ranks 8 --threads 4 --strategy per-hca", _TWO_HCAS,
        "mlx5_0 is at node 1, mlx5_1 at node 6; a node has four cores. Four ranks use each, the adapter's own node first, then"
        " the other nodes of its socket. Which adapter a rank takes is its own variable, so a small wrapper sets it.",
    ),
    Case(
        "SMT on: a rank per NUMA node with 16 threads", "b-c6525-2x7702-nps4-smt", {"per": "numa", "threads": 16},
        "--ranks-per numa --threads 16", tuple(f"{16 * i}-{16 * i + 15},{128 + 16 * i}-{128 + 16 * i + 15}" for i in range(8)),
        "16 cores a node; each rank is bound to whole cores, so the second threads, numbered 128 higher, are in its set.",
    ),
    Case(
        "SNC2 with numbers that go back and forth", "d-delftblue-2x6248r-snc2", {"per": "numa", "threads": 12},
        "--ranks-per numa --threads 12", ("0-3,7-9,13-15,19-20", "4-6,10-12,16-18,21-23", "24-27,31-33,37-39,43-44",
        "28-30,34-36,40-42,45-47"),
        "The two clusters of a socket share its range of numbers in pieces; by topology each rank has the twelve cores of one.",
    ),
    Case(
        "NUMA nodes without memory", "memoryless", {"ranks": 8, "threads": 2, "strategy": "balanced"},
        "--ranks 8 --threads 2 --strategy balanced",
        ("0-1", "2-3", "8-9", "10-11", "16-17", "18-19", "24-25", "26-27"),
        "Nodes 1, 3, 5 and 7 have no DIMM; a node has four cores in two L3 groups. The eight ranks share the four memories"
        " evenly, on the cores beside them: two ranks of two threads on nodes 0, 2, 4 and 6.",
    ),
)  # fmt: skip


def main() -> int:
    """Write the page and return 0."""
    head = "<!-- Written by `python -m docs.binding_cases`, which runs real launchers. -->\n\n# Ten cases of binding\n\n"
    head += "Each was worked out by hand, placed by advisor, written for each launcher, and run under the real launcher on the\n"
    head += "machine's topology (tests/fakenode): what counts is the CPUs that each rank observed, not what a launcher reports.\n"
    head += "MVAPICH has no lines here: neither Debian nor PyPI has it, so what advisor writes for it was never run.\n"
    PAGE.write_text(head + "".join(section(at, case) for at, case in enumerate(CASES, 1)), encoding="utf-8")
    return 0


def section(at: int, case: Case) -> str:
    """Return a case: words, drawing, plan, lines, what was observed."""
    machine = machine_of(case.machine)
    placement = place(JobShape(**case.job), [machine])
    cpus = [str(rank.slot.cpus) for rank in placement.ranks()]
    if case.by_hand and list(case.by_hand) != cpus:
        raise SystemExit(f"{case.title}: by hand {case.by_hand}, placed {cpus}")
    parts = [f"\n## {at}. {case.title}\n", case.words, f"\n    advisor bind {case.options} -- ./app\n"]
    parts += [f"Strategy {placement.strategy}: {sentence(placement.strategy)} Why: {'; '.join(placement.why)}.\n"]
    parts += ["```text", *drawing(machine, placement), "```\n", *plan(placement, worked=bool(case.by_hand))]
    for name, version in VERSIONS.items():
        parts += launched(case, placement, name, version)
    return "\n".join(parts) + "\n"


def machine_of(name: str) -> Machine:
    """Return a test machine as its capture gives it."""
    with tempfile.TemporaryDirectory() as folder:
        return read_machine(str(write_archive(name, Path(folder) / f"{name}.tar.gz")))


def drawing(machine: Machine, placement: Placement) -> list[str]:
    """Return the node with its ranks, without its table of distances."""
    title = f"ranks r0 to r{placement.size - 1}, each with its CPUs"
    drawn = [text_of(line).rstrip() for line in picture_lines(with_ranks(machine, placement.plans[0].slots, title), _WIDTH)]
    return list(takewhile(lambda line: not line.startswith("node "), drawn))


def plan(placement: Placement, *, worked: bool) -> Iterator[str]:
    """Yield the first ranks with their CPUs."""
    ranks = list(placement.ranks())
    rows = [f"rank {rank.rank}: {rank.slot.cpus}" for rank in ranks[:_SHOWN]]
    more = f", and {len(ranks) - _SHOWN} more alike" if len(ranks) > _SHOWN else ""
    how = "As worked out by hand" if worked else "Placed"
    yield f"{how}: {'; '.join(rows)}{more}.\n"


def launched(case: Case, placement: Placement, name: str, version: str) -> Iterator[str]:
    """Yield a launcher's lines and what was observed under it."""
    launch = launchers()[name].launch(placement, LaunchRequest(command=("./app",), version=version))
    variables = "".join(f"{key}={value} " for key, value in launch.environment.items())
    yield f"**{name} {version}** ({launch.form}):\n"
    yield "\n".join(f"    {line}" for line in (*([variables.strip()] if variables else []), *folded(launch.argv, _WIDTH)))
    for file, made in launch.files.items():
        text = list(made())
        yield f"\n`{file}`: " + (f"`{text[0]}` ... {count(len(text), 'line')}" if text else "empty")
    for avoided in launch.avoided:
        yield f"\nNot used: {avoided.form}: {avoided.reason}."
    yield f"\n{observed(case, placement, name, version)}\n"


def observed(case: Case, placement: Placement, name: str, version: str) -> str:
    """Return what a real launcher did with the plan."""
    if name == "srun":
        return observed_by_slurm(case, placement, version)
    if not available(name):
        return "Not observed: this launcher was not installed when the page was written."
    launch: Launch = launchers()[name].launch(placement, LaunchRequest(command=(str(probe()),), version=version))
    try:
        seen = observe(name, launch, at_hosts((), (case.machine,)), timeout=120)
    except LaunchFailedError as error:
        return f"Observed: the launcher failed: {str(error).splitlines()[0][:160]}"
    return told(placement, seen)


def observed_by_slurm(case: Case, placement: Placement, version: str) -> str:
    """Return what a Slurm of its own did with the plan: slurmctld, and a slurmd that takes itself for the machine."""
    if not slurm.available():
        return "Not observed: Slurm was not installed when the page was written."
    nodes = launchers()["srun"].launch(placement, LaunchRequest(command=(str(probe()),), version=version)).form == "map_ldom"
    made = launchers()["srun"].launch(placement, LaunchRequest(command=(str(probe()),), version=version, exact=nodes))
    beside = " In its exact form, with masks: map_ldom asks libnuma, which knows only this machine's nodes." if nodes else ""
    try:
        with slurm.cluster({"n1": described(case.machine)[0]}) as cluster:
            return told(placement, cluster.observe(made, ("n1",), timeout=120)) + beside
    except LaunchFailedError as error:
        return f"Observed: the launcher failed: {str(error).splitlines()[0][:160]}"


def told(placement: Placement, seen: Mapping[int, Observed]) -> str:
    """Return whether the ranks were where the plan has them."""
    wrong = differences(placement, seen)
    return f"Observed: all {placement.size} ranks where the plan has them." if not wrong else f"Observed: {'; '.join(wrong[:4])}"


if __name__ == "__main__":
    sys.exit(main())
