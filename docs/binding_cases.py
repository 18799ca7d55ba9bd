"""Writes docs/binding.md: ten examples worked by hand, the lines for each launcher, and what real launchers did with them.

Run by hand with `python -m docs.binding_cases`: it runs real launchers on simulated machines (tests/fakenode).
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
        "A core's number is socket + 2 x die + 8 x its position in the die. The adapter is on node 6, which is die 2 of"
        " socket 1. This node has CPUs 5, 13, 21 ... 61 in two L3 groups, {5,21,37,53} and {13,29,45,61}. The socket's"
        " other nodes are equally far away (distance 16), so node 4 is next, with {1,17,33,49} and {9,25,41,57}.",
    ),
    Case(
        "7702 in NPS4: one rank per CCX with 4 threads", "b-c6525-2x7702-nps4", {"per": "l3", "threads": 4},
        "--ranks-per l3 --threads 4", tuple(f"{4 * i}-{4 * i + 3}" for i in range(32)),
        "The 32 L3 groups have four cores each and are numbered consecutively, so rank i gets CPUs 4i to 4i+3.",
    ),
    Case(
        "7402: three cores per CCX", "b-c6525-2x7402-nps4", {"per": "l3", "threads": 3}, "--ranks-per l3 --threads 3",
        tuple(f"{3 * i}-{3 * i + 2}" for i in range(16)),
        "The 16 L3 groups have three cores each, so rank i gets CPUs 3i to 3i+2. A rank with four threads would span two"
        " caches.",
    ),
    Case(
        "Uneven L3 groups: 8, 8, 8, 8, 8 and 4 cores", "uneven-l3", {"per": "l3", "threads": 4},
        "--ranks-per l3 --threads 4", _UNEVEN,
        "Each of the four NUMA nodes has 44 cores. Within a node, the L3 groups begin at core 0, 8, 16, 24, 32 and 40, and"
        " the last group has only four cores. Each rank gets the first four cores of a group. A launch line that counts"
        " cores instead of caches would be wrong after the sixth rank.",
    ),
    Case(
        "2 x E5-2660 v3, CPU numbers alternating between the sockets", "c-c6320-2x2660v3", {"ranks": 4, "threads": 5},
        "--ranks 4 --threads 5", ("0,2,4,6,8", "10,12,14,16,18", "1,3,5,7,9", "11,13,15,17,19"),
        "Socket 0 has the even CPU numbers, and socket 1 has the odd ones. Two ranks with five cores each fill a socket.",
    ),
    Case(
        "Half a node: a cgroup allows part of a Rome node", "job-half-v2", {"per": "l3", "threads": 2},
        "--ranks-per l3 --threads 2", _PAIRS,
        "The cgroup allows only socket 0, which has eight L3 groups of two cores each. Each rank has two threads. Open"
        " MPI's logical numbers also include only the CPUs that the cgroup allows.",
    ),
    Case(
        "Two HCAs", "two-hcas", {"ranks": 8, "threads": 4, "strategy": "per-hca"},
        "--ranks 8 --threads 4 --strategy per-hca", _TWO_HCAS,
        "mlx5_0 is on node 1 and mlx5_1 on node 6; each node has four cores. Four ranks use each adapter. The ranks are"
        " placed on the adapter's own node first, then on the other nodes of the same socket. The variable that selects the"
        " adapter needs a different value for each adapter, so a small wrapper sets it for each rank.",
    ),
    Case(
        "SMT on: one rank per NUMA node with 16 threads", "b-c6525-2x7702-nps4-smt", {"per": "numa", "threads": 16},
        "--ranks-per numa --threads 16", tuple(f"{16 * i}-{16 * i + 15},{128 + 16 * i}-{128 + 16 * i + 15}" for i in range(8)),
        "Each NUMA node has 16 cores. Each rank is bound to whole cores, so its CPUs include the second hardware threads;"
        " their numbers are higher by 128.",
    ),
    Case(
        "SNC2 with interleaved CPU numbers", "d-delftblue-2x6248r-snc2", {"per": "numa", "threads": 12},
        "--ranks-per numa --threads 12", ("0-3,7-9,13-15,19-20", "4-6,10-12,16-18,21-23", "24-27,31-33,37-39,43-44",
        "28-30,34-36,40-42,45-47"),
        "A socket's CPU numbers alternate in blocks between its two clusters. Binding follows the topology, so each rank"
        " gets the 12 cores of one cluster.",
    ),
    Case(
        "NUMA nodes without memory", "memoryless", {"ranks": 8, "threads": 2, "strategy": "balanced"},
        "--ranks 8 --threads 2 --strategy balanced",
        ("0-1", "2-3", "8-9", "10-11", "16-17", "18-19", "24-25", "26-27"),
        "Nodes 1, 3, 5 and 7 have no DIMMs. Each node has four cores in two L3 groups. The eight ranks share the memory of"
        " the other four nodes evenly and run on the cores next to this memory: nodes 0, 2, 4 and 6 get two ranks each,"
        " with two threads per rank.",
    ),
)  # fmt: skip


def main() -> int:
    """Write the page and return 0."""
    head = "<!-- Written by `python -m docs.binding_cases`, which runs real launchers. -->\n\n# Ten worked binding examples\n\n"
    head += "Each example was worked out by hand and then placed by advisor. Launch lines were written for each launcher and\n"
    head += "run under the real launcher on a simulation of the machine's topology (tests/fakenode). The result is the set of\n"
    head += "CPUs that each rank observed, not the set that the launcher reports. MVAPICH is not covered: neither Debian nor\n"
    head += "PyPI has a package, so the launch lines that `bind` writes for MVAPICH have never been run.\n"
    head += "`python -m tests.machines` lists these machines and the nodes of GPU centres (LUMI-G's nodes are the same as\n"
    head += "Frontier's). To write a machine's capture for `--from`, run, for example,\n"
    head += "`python -m tests.machines frontier -o frontier.tar.gz`.\n"
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
    parts += [f"Strategy {placement.strategy}: {sentence(placement.strategy)} Reason: {'; '.join(placement.why)}.\n"]
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
    more = f", and {len(ranks) - _SHOWN} more" if len(ranks) > _SHOWN else ""
    how = "Placement, identical to the one worked out by hand" if worked else "Placement"
    yield f"{how}: {'; '.join(rows)}{more}.\n"


def launched(case: Case, placement: Placement, name: str, version: str) -> Iterator[str]:
    """Yield a launcher's lines and what was observed under it."""
    launch = launchers()[name].launch(placement, LaunchRequest(command=("./app",), version=version))
    variables = "".join(f"{key}={value} " for key, value in launch.environment.items())
    yield f"**{name} {version}** ({launch.form}):\n"
    yield "\n".join(f"    {line}" for line in (*([variables.strip()] if variables else []), *folded(launch.argv, _WIDTH)))
    for file, made in launch.files.items():
        text = list(made())
        yield f"\n`{file}` " + (f"({count(len(text), 'line')}) begins with `{text[0]}`." if text else "is empty.")
    for avoided in launch.avoided:
        yield f"\nNot used: `{avoided.form}`. Reason: {avoided.reason}."
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
    beside = " Run in the exact form, with masks: map_ldom asks libnuma, which knows only this machine's nodes." if nodes else ""
    try:
        with slurm.cluster({"n1": described(case.machine)[0]}) as cluster:
            return told(placement, cluster.observe(made, ("n1",), timeout=120)) + beside
    except LaunchFailedError as error:
        return f"Observed: the launcher failed: {str(error).splitlines()[0][:160]}"


def told(placement: Placement, seen: Mapping[int, Observed]) -> str:
    """Return whether the ranks were where the plan has them."""
    wrong = differences(placement, seen)
    right = f"all {placement.size} ranks ran on their planned CPUs."
    return f"Observed: {'; '.join(wrong[:4]) if wrong else right}"


if __name__ == "__main__":
    sys.exit(main())
