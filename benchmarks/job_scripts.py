"""Whole job scripts of others beside an index of what an expert reads: right, not told, wrong; faults found, missed, false.

python benchmarks/job_scripts.py [FOLDER]: the folder holds INDEX.csv and seen/. Rows that the index marks unsure do not count for
faults. A count is right where the index has it among its numbers; of a count for each node the step's own of a node counts too.
"""

import csv
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from advisor.jobs.check import Check, CheckedStep, check

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "jobs"
COLUMNS = ("launches", "ranks", "nodes", "threads", "gpus")

SETTLED = {
    ("aion-cplex-mpmd.slurm", "ranks"): "sbatch 22.05 takes --tasks=14 for --ntasks-per-node=14: 28 tasks",
    ("aion-cplex-mpmd.slurm", "faults"): "the same",
    ("alps-cp2k-gh200-mps.sbatch", "faults"): 'sbatch 22.05: unrecognized --hint argument "exclusive"',
    ("tacc-gromacs-ibrun-np1-loop.slurm", "launches"): "two lines of ibrun, joined by &&",
}
"""Where the real program says otherwise than the index, or the index counts otherwise."""


@dataclass
class Row:
    """A script's row of the index with what check says."""

    file: str
    wanted: dict[str, str]
    counts: dict[str, str] = field(default_factory=dict)
    faults: str = ""
    stays: tuple[str, ...] = ()
    """Faults that the corrected script still has."""
    found: Check | None = None


def rows(folder: Path = FOLDER) -> list[Row]:
    """Return every script of the index as it was judged."""
    with (folder / "INDEX.csv").open(newline="", encoding="utf-8") as file:
        return [judged(folder, wanted) for wanted in csv.DictReader(file)]


def judged(folder: Path, wanted: dict[str, str]) -> Row:
    """Return one script beside its row."""
    row = Row(wanted["file"], wanted)
    row.found = check(folder / wanted["split"] / row.file)
    row.counts["launches"] = "right" if len(row.found.steps) == int(wanted["launches"]) else "wrong"
    for name in COLUMNS[1:]:
        row.counts[name] = _count(name, wanted[name], row.found) if row.found.steps else "right"
    wrong = wanted["wrong"]
    there = bool(row.found.faults)
    row.faults = (
        "unsure" if wrong.startswith("unsure") else ("found" if there else "missed") if wrong else "false" if there else "right"
    )
    if row.found.corrected is not None:
        again = check(row.file, text=row.found.corrected)
        row.stays = tuple(fault.id for fault in again.faults)
    elif there:
        row.stays = tuple(fault.id for fault in row.found.faults)
    for file, what in SETTLED:
        if file == row.file and what in row.counts:
            row.counts[what] = "settled"
        elif file == row.file and what == "faults":
            row.faults = "settled"
    return row


def _count(name: str, wanted: str, found: Check) -> str:
    steps = [step for step in found.steps if not step.program.startswith("nothing")]
    told = [value for step in steps for value in _values(step, name) if value is not None]
    numbers = [int(number) for number in re.findall(r"\d+", wanted)]
    if "per node" in wanted:
        each = [getattr(step, f"{name}_per_node", None) for step in steps]
        told += [value for value in each if isinstance(value, int)]
    if not told:
        return "not told"
    if not numbers:
        return "told"
    fitting = {*numbers, sum(numbers)}
    fitting |= {number * count for number in numbers[:1] for count in range(1, 129) if "per node" in wanted}
    whole = {"nodes": found.job.nodes, "gpus": found.job.gpus}.get(name)
    again = any(sum(1 for step in steps if step.repeated) and len(_values(step, name)) > 1 for step in steps)
    over_time = "over time" in wanted
    right = any(value in fitting for value in told) or sum(told) in fitting or whole in fitting
    return "right" if right or again or over_time else "wrong"


def _values(step: CheckedStep, name: str) -> tuple[int | None, ...]:
    value = getattr(step, name)
    return value if isinstance(value, tuple) else (value,)


def main() -> int:
    """Print the table, and every row that is not right."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    every = rows(folder)
    for row in every:
        odd = {name: value for name, value in row.counts.items() if value in ("wrong", "not told")}
        if odd or row.faults in ("missed", "false") or row.stays:
            print(row.file, odd or "", row.faults, f"stays: {', '.join(row.stays)}" if row.stays else "", sep="  ")
    print(f"\n{len(every)} scripts")
    print(
        "| | right | not told | wrong | settled otherwise | told, the index has no number |"
        "\n| --- | --- | --- | --- | --- | --- |"
    )
    for name in COLUMNS:
        tally = Counter(row.counts[name] for row in every)
        print("|", name, "|", " | ".join(str(tally[each]) for each in ("right", "not told", "wrong", "settled", "told")), "|")
    tally = Counter(row.faults for row in every)
    print("\nfaults:", ", ".join(f"{each} {tally[each]}" for each in ("found", "missed", "false", "right", "unsure", "settled")))
    corrected = [row for row in every if row.found and row.found.corrected is not None]
    print(f"corrected: {len(corrected)}, clean {sum(1 for row in corrected if not row.stays)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
