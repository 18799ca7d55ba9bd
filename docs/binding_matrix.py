"""Writes docs/binding-matrix.md: what real launchers did with every plan on simulated machines.

The figures are of a run of the tests, noted in a folder:

    ADVISOR_BINDING_TALLY=FOLDER make test-all
    python -m docs.binding_matrix FOLDER
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from advisor.machine.units import count
from tests.fakenode.plans import SEEDS
from tests.machines.catalogue import MACHINES

PAGE: Final = Path(__file__).parent / "binding-matrix.md"
LAUNCHERS: Final = {
    "openmpi4": "Open MPI 4.1.4",
    "openmpi5": "Open MPI 5.0.11",
    "mpich": "MPICH 5.0.2",
    "intelmpi": "Intel MPI 2021.18",
    "srun": "Slurm 22.05.8",
}

FAULTS: Final = """\
| launcher | condition | effect | workaround |
| --- | --- | --- | --- |
| srun | CPU numbers with gaps: cores offline, POWER, SPARC | "CPU binding outside of job step allocation": slurmd maps only \
CPU numbers from 0 to the CPU count | the wrapper |
| srun | cores with different numbers of hardware threads: hybrid processors, threads offline | slurmd assumes that all \
cores have the same number of threads, maps to other CPUs, and rejects the list | the wrapper |
| srun | cores outside all sockets | slurmd counts only the cores in sockets and rejects all others | the wrapper |
| MPICH | CPUs outside all NUMA nodes, such as those on dies without memory | "hwloc_set_membind failed": Hydra also tries \
to bind memory and aborts the job | the wrapper |
| MPICH | memory-only NUMA nodes: flat HBM | `-map-by numa` sometimes crashes the proxy | a `user:` list |
| MPICH, Intel MPI | hardware threads but no cores in the topology: old s390 | the job aborts if the launch line names \
`core` | name other objects, or use lists |
| Open MPI 4, 5 | hardware threads but no cores in the topology: old s390 | "All nodes which are allocated for this job are \
already filled" | the wrapper |
| Open MPI 4, 5 | CPUs outside all NUMA nodes | prints "failed to bind memory"; the CPUs are bound as planned | none; a note \
mentions the warning |
| Open MPI 5 | cores outside all sockets | pe-list: "bound to CPUs in more than one package" | the rankfile |
| Open MPI 5 | ppr with a last part that is not full | starts no rank and exits with status 0 | map to the parts in turn, use \
a list, or use a rankfile |
| numactl, in the wrapper | CPU numbers that exceed the number of CPUs | "cpu argument is out of range" | taskset binds the \
CPUs, numactl the memory |
"""


@dataclass
class Cell:
    """What one launcher did on one machine."""

    launches: int = 0
    ranks: int = 0
    wrong: int = 0
    listed: str = ""

    def add(self, other: "Cell") -> None:
        """Take the figures of another one in."""
        self.launches += other.launches
        self.ranks += other.ranks
        self.wrong += other.wrong
        self.listed = self.listed or other.listed

    @property
    def text(self) -> str:
        """What stands in the table."""
        if self.listed:
            return "listed"
        if not self.launches:
            return "-"
        return f"{self.launches} / {self.ranks}" + (f" (**{self.wrong} wrong**)" if self.wrong else "")


Matrix = dict[str, dict[str, Cell]]


def read(folder: Path) -> Matrix:
    """Return the cells of machines and launchers: of each test its last run, of each run every launch once."""
    found: dict[str, dict[str, dict[tuple[str, ...], dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    last: dict[str, tuple[float, str]] = {}
    for file in folder.glob("*.jsonl"):
        for note in map(json.loads, file.read_text().splitlines()):
            place = (note["machine"], note["launcher"], note["key"])
            found[note["test"]][file.stem][place] = note
            last[note["test"]] = max(last.get(note["test"], (0.0, "")), (note["when"], file.stem))
    notes = {place: note for test, (_, run) in last.items() for place, note in found[test][run].items()}
    matrix: Matrix = defaultdict(lambda: defaultdict(Cell))
    for (machine, launcher, _), note in notes.items():
        listed = note.get("listed", "")
        matrix[machine][launcher].add(Cell(int(not listed), note.get("ranks", 0), note.get("wrong", 0), listed))
    return matrix


def total(cells: Iterable[Cell]) -> Cell:
    """Return the sum of some cells."""
    made = Cell()
    for cell in cells:
        made.add(Cell(cell.launches, cell.ranks, cell.wrong))
    return made


def page(matrix: Matrix) -> Iterator[str]:
    """Yield the lines of the page."""
    own = {name: row for name, row in matrix.items() if name in MACHINES}
    published = {name: row for name, row in matrix.items() if name not in MACHINES}
    yield from (
        "# Where ranks landed",
        "",
        "Real launchers were run on simulated machines (tests/fakenode). Each rank reported the CPUs on which it was allowed",
        "to run, and this report was compared with the plan. To regenerate this page, run",
        "",
        "    ADVISOR_BINDING_TALLY=FOLDER make test-all",
        "    python -m docs.binding_matrix FOLDER",
        "",
        f"- {count(len(published), 'published machine description')}: hwloc XMLs, {_real(published)} from real machines",
        f"- {count(len(own), 'test machine')} of our own, {sum(name in SEEDS for name in own)} of them seed machines",
        "",
        "Every applicable strategy was run on one host and on two hosts, with whole cores and with hardware threads.",
        "Identical plans were launched only once.",
        "",
        *_summary(matrix),
        "",
        "## Launcher faults and workarounds",
        "",
        FAULTS,
        "Each workaround is in `advisor/jobs/` and has a test in `tests/jobs/`; `advisor bind` prints the reason under Avoided.",
        "",
        *_listed(matrix),
        "## Published machine descriptions",
        "",
        *_table(published),
        "",
        "## Test machines of our own",
        "",
        *_table(own),
    )


def _real(machines: Iterable[str]) -> int:
    return sum("fake" not in name for name in machines)


def _summary(matrix: Matrix) -> Iterator[str]:
    yield "| launcher | machines | launches | ranks | wrong ranks |"
    yield "| --- | --- | --- | --- | --- |"
    for launcher, title in LAUNCHERS.items():
        cells = [row[launcher] for row in matrix.values() if row[launcher].launches]
        sum_ = total(cells)
        yield f"| {title} | {len(cells)} | {sum_.launches} | {sum_.ranks} | {sum_.wrong} |"


def _listed(matrix: Matrix) -> Iterator[str]:
    found: dict[str, list[str]] = defaultdict(list)
    for machine, row in sorted(matrix.items()):
        for launcher, cell in row.items():
            if cell.listed:
                found[cell.listed].append(f"{machine} ({launcher})")
    if found:
        yield from ("## Listed, not launched", "")
        yield from (f"- {reason}: {', '.join(where)}" for reason, where in found.items())
        yield ""


def _table(rows: Matrix) -> Iterator[str]:
    yield "Each cell shows launches / ranks."
    yield ""
    yield f"| machine | {' | '.join(LAUNCHERS.values())} |"
    yield f"| --- |{' --- |' * len(LAUNCHERS)}"
    for machine, row in sorted(rows.items()):
        yield f"| {machine} | {' | '.join(row[launcher].text for launcher in LAUNCHERS)} |"


if __name__ == "__main__":
    PAGE.write_text("\n".join(page(read(Path(sys.argv[1])))) + "\n", encoding="utf-8")
