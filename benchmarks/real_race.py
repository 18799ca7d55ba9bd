"""Real races on this machine: whether the intervals of ``advisor tune`` hold what measuring again and again gives.

``python -m benchmarks.real_race [RACES]``. Three programs of benchmarks/real_race.c (bound by bandwidth, by latency, a small
application of MPI and OpenMP) are raced from a line with a mistake (all ranks on CPU 0) and from one without; then every line
is measured by turns, twenty times. Prints a table in Markdown. Needs mpicc and Open MPI; takes about a minute a race.
"""

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from advisor.jobs.racing.proof import median_interval
from benchmarks.quiet import by_turns, conditions

ROOT = Path(__file__).parents[1]
PROGRAMS = {"bandwidth": "8", "latency": "1", "stencil": "15"}
"""How much each does: half a second to a second a run."""
LINES = {"all ranks on CPU 0": "mpirun -n 2 taskset -c 0", "as the launcher binds": "mpirun -n 2 --bind-to core"}
AGAIN = 20


@dataclass(frozen=True)
class Race:
    """What one race said of one line: its answer, and the interval relative to the user's."""

    winner: str | None
    runs: int
    intervals: dict[str, tuple[float, float]]
    lines: dict[str, str]


def raced(line: str, seed: int, folder: Path) -> Race:
    """Race a line in a folder."""
    words = ["tune", "--busy-ok", "--minutes", "1", "--seed", str(seed), "--with", "OMP_WAIT_POLICY=passive", "--json", "-o"]
    argv = [sys.executable, "-m", "advisor", *words, str(folder / f"race-{seed}"), "--", *shlex.split(line)]
    said = subprocess.run(argv, cwd=folder, env=_environment(), capture_output=True, text=True, check=False)
    if said.returncode:
        raise SystemExit(said.stderr)
    found: dict[str, Any] = json.loads(said.stdout)
    first, *others = found["candidates"]
    intervals = {each["name"]: (each["low"] / first["median"], each["high"] / first["median"]) for each in others if each["low"]}
    return Race(found["winner"], found["runs"], intervals, {each["name"]: each["line"] for each in (first, *others)})


def _environment() -> dict[str, str]:
    own = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **own, "PYTHONPATH": str(ROOT)}


def seconds(line: str, folder: Path) -> float:
    """Return how long a line takes."""
    begun = monotonic()
    subprocess.run(["/bin/sh", "-c", line], cwd=folder, env=_environment(), stdout=subprocess.DEVNULL, check=True)
    return monotonic() - begun


def rows(races: int, folder: Path) -> Iterator[str]:
    """Yield a row for each line that raced."""
    for program, amount in PROGRAMS.items():
        for what, words in LINES.items():
            line = f"{words} ./real_race {program} {amount}"
            found = [raced(line, 100 * list(LINES).index(what) + each, folder) for each in range(races)]
            for race in folder.glob("race-*"):
                race.rename(folder / f"{program}-{race.name}")
            sides = {name: _measures(text, folder) for name, text in found[0].lines.items()}
            again = by_turns(sides, AGAIN, gate=False)
            for name in list(found[0].lines)[1:]:
                least, ratio, most = _ratio(again[name], again["yours"])
                given = [race.intervals[name] for race in found if name in race.intervals]
                held = sum(low <= most and least <= high for low, high in given)
                measured = f"{ratio:.3f} ({least:.3f} to {most:.3f})"
                won = f"{sum(race.winner == name for race in found)} of {len(found)}"
                runs = statistics.mean(race.runs for race in found)
                yield f"| {program}, {what} | {name} | {measured} | {held} of {len(given)} | {won} | {runs:.0f} |"


def _ratio(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Return the median of the rounds' ratios, and between which of them it lies."""
    ratios = [each / beside for each, beside in zip(one, other, strict=True)]
    least, most = median_interval(ratios) or (min(ratios), max(ratios))
    return least, statistics.median(ratios), most


def _measures(line: str, folder: Path) -> Any:
    return lambda: seconds(line, folder)


def main() -> None:
    """Build, race, measure again, print."""
    races = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        source = str(ROOT / "benchmarks/real_race.c")
        subprocess.run(["mpicc", "-O3", "-fopenmp", "-o", str(folder / "real_race"), source], check=True)
        print("| program, your line | raced against | measured again | intervals that contain it | named the winner | runs |")
        print("|---|---|--:|--:|--:|--:|")
        for row in rows(races, folder):
            print(row, flush=True)
    print(f"\n{conditions()}")


if __name__ == "__main__":
    main()
