"""peakflops versus likwid-bench's peakflops, run alternately on an idle machine, on one CPU and on all CPUs.

Run it from the project's folder: ``python benchmarks/peakflops.py [ROUNDS] [NAME]...``, where a name is one of likwid's tests
(peakflops_avx512_fma).

Both sides compute for about the same time in each turn, and count flops in the same way. The ratio compares what both did in
all their time; our own figure, from the median burst, leaves out what the system did meanwhile.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache, partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from quiet import by_turns, conditions, middle, noise

from advisor.paths import kernels

SECONDS = 0.3
"""That each turn computes for."""

BYTES = 24_000
"""Of memory for each of likwid's threads: its loops load, ours do not; this stays in the first cache."""

PAIRS = {
    "peakflops_avx512_fma": ("fma", "avx512", "double"),
    "peakflops_avx_fma": ("fma", "avx2", "double"),
    "peakflops_avx512": ("muladd", "avx512", "double"),
    "peakflops_avx": ("muladd", "avx2", "double"),
    "peakflops_sse": ("muladd", "sse2", "double"),
    "peakflops": ("muladd", "scalar", "double"),
    "peakflops_sp_avx512_fma": ("fma", "avx512", "single"),
    "peakflops_sp_avx_fma": ("fma", "avx2", "single"),
    "peakflops_sp_avx512": ("muladd", "avx512", "single"),
    "peakflops_sp_avx": ("muladd", "avx2", "single"),
    "peakflops_sp_sse": ("muladd", "sse2", "single"),
    "peakflops_sp": ("muladd", "scalar", "single"),
}
"""likwid's tests, and our variant, instructions and precision for the same."""

HEAD = """\
| operation | instructions | precision | CPUs | GFLOP/s | sustained | likwid-bench | sustained : likwid | spreads | test |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |"""


@cache
def kernel() -> str:
    """Return our program, built anew as a user builds it."""
    folder = tempfile.mkdtemp(prefix="advisor-peakflops-")
    program = f"{folder}/peakflops"
    subprocess.run(["make", "-s", "-C", str(kernels()), f"OUT={folder}", program], check=True, stdout=sys.stderr)
    return program


def known() -> list[str]:
    """Return likwid's tests for which this CPU has the instructions."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\nflags")[2].partition("\n")[0].split()
    needs = {"avx512": "avx512f", "avx2": "fma", "sse2": "sse2", "scalar": "sse2"}
    return [test for test, (_, isa, _) in PAIRS.items() if needs[isa] in flags]


def ours(test: str, cpus: list[int], peaks: list[float]) -> float:
    """Return sustained flop/s of our kernel, one repeat after a warm-up; ``peaks`` gets its own figure."""
    variant, isa, precision = PAIRS[test]
    where = ["--cpus", ",".join(map(str, cpus)), "--isa", isa, "--precision", precision]
    words = [kernel(), *where, "--variants", variant, "--repeats", "1", "--seconds", str(SECONDS)]
    line = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    peaks.append(line["values"][0])
    return float(line["sustained"][0])


def likwid(test: str, cpus: list[int], sweeps: int) -> tuple[float, float]:
    """Return flop/s and seconds of a test that walks its memory so many times."""
    group = f"N:{BYTES * len(cpus)}B:{len(cpus)}"
    words = ["likwid-bench", "-t", test, "-w", group, "-i", str(sweeps)]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    told = dict(line.split(":", 1) for line in text.splitlines() if line.startswith(("MFlops/s:", "Time:")))
    return 1e6 * float(told["MFlops/s"]), float(told["Time"].split()[0])


def theirs(test: str, cpus: list[int]) -> float:
    """Return flop/s of likwid's test."""
    return likwid(test, cpus, sweeps(test))[0]


@cache
def sweeps(test: str) -> int:
    """Return how many walks through its memory take one CPU as long as our turn."""
    few = 20_000
    return max(few, int(few * SECONDS / likwid(test, [0], few)[1]))


def row(test: str, cpus: list[int], rounds: int) -> str:
    """Return a line of the table."""
    peaks: list[float] = []
    seen = by_turns({"ours": partial(ours, test, cpus, peaks), "theirs": partial(theirs, test, cpus)}, rounds)
    rates = [middle(peaks), middle(seen["ours"]), middle(seen["theirs"])]
    spreads = ", ".join(f"{noise(each):.1%}" for each in (peaks, seen["ours"], seen["theirs"]))
    cells = [*PAIRS[test], str(len(cpus)), *(f"{rate / 1e9:.2f}" for rate in rates), f"{rates[1] / rates[2]:.3f}", spreads, test]
    return f"| {' | '.join(cells)} |"


def table(rounds: int = 7, tests: tuple[str, ...] = ()) -> str:
    """Return the comparison as a Markdown table: medians of the rounds, a ratio, and how far apart the rounds were."""
    cpus = sorted(os.sched_getaffinity(0))
    sizes = [cpus[:1], cpus] if len(cpus) > 1 else [cpus]
    return "\n".join([HEAD, *(row(test, each, rounds) for test in tests or known() for each in sizes)])


def main(words: list[str]) -> None:
    """Print the table and under which conditions it came about."""
    rounds = int(words.pop(0)) if words and words[0].isdigit() else 7
    for test in words:
        if test not in PAIRS:
            sys.exit(f"peakflops.py: {test}: one of {', '.join(PAIRS)} is expected")
    sys.stdout.write(f"{table(rounds, tuple(words))}\n\n{conditions()}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
