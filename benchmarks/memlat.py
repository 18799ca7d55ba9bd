"""memlat versus likwid-bench and a pointer chase in plain C (chase.c, gcc and clang), run alternately, in ns per load.

Run it from the project's folder: ``python benchmarks/memlat.py [--rounds N] [--sizes 16KiB,...] [--shapes random,...]``.

likwid's clload is not a pointer chase, since its loads do not wait for earlier loads; memlat --lines uses the same access
pattern. So that likwid can time a chase, this pattern is turned into two chases, one in order and one in a random cycle, which
are added to likwid-bench as extra kernels (x86-64 only). likwid calls its loop once per pass. Each call takes 2 to 3 ns, 6 %
of a pass over 16 KiB of lines. For short passes, the time of the same number of passes over four lines is therefore
subtracted. All programs use one thread on CPU 0, normal pages and the same number of bytes. Each ratio is the median of the
per-turn ratios.
"""

import argparse
import json
import math
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import quantiles

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from quiet import by_turns, conditions, middle, wait_until_quiet

from advisor.measure.build import Compiler, Recipe
from advisor.paths import kernels

SECONDS = 0.15
INNER = 5
"""Turns behind one gate: bursts that follow each other at once meet the same clock and the same neighbours."""
MANY = 1000
"""Passes among which the first, that lays likwid's chain, is lost, and that are so short that a call of likwid's is not."""
LEAST = 4
"""Lines that likwid's loops walk in one turn."""
NAMING = 2
"""Cells that name a row of the table."""
SHAPES = {"random": [], "order": ["--stride"], "lines": ["--lines"]}
LIKWID = {"random": "chaserandom", "order": "chaseorder", "lines": "clload"}
SIZES = {"16KiB": 1 << 14, "256KiB": 1 << 18, "2MiB": 1 << 21, "128MiB": 1 << 27}
HEAD = "STREAMS 1\nTYPE DOUBLE\nFLOPS 0\nBYTES 8\nDESC a chase\nLOADS 1\nSTORES 0\nINSTR_CONST 16\nINSTR_LOOP 7\nUOPS 6\n"
ONCE = "cmp qword ptr [rsi + 8], 0\nje 5f\nmov qword ptr [rsi + 8], 0\nmov rcx, rdi\nshr rcx, 3\nmov r12, rsi\nmov r8, rcx\n"
"""likwid fills its memory with 1.0: a zero in the second word says that the chain is laid. rdi counts doubles."""
ORDER = "2:\nlea r13, [r12 + 64]\nmov [r12], r13\nmov r12, r13\ndec r8\njnz 2b\nmov [r12 - 64], rsi\n"
RANDOM = (
    "2:\nmov [r12], r12\nadd r12, 64\ndec r8\njnz 2b\n"
    "mov r9, 12345\nmov r10, 6364136223846793005\nmov r11, 1442695040888963407\ndec rcx\n"
    "3:\nsub r12, 64\nimul r9, r10\nadd r9, r11\nmov rax, r9\nshr rax, 32\nimul rax, rcx\nshr rax, 32\nshl rax, 6\n"
    "mov r14, [rsi + rax]\nmov r15, [r12]\nmov [rsi + rax], r15\nmov [r12], r14\ndec rcx\njnz 3b\n"
)
"""Sattolo's shuffle: each line, from the last on, changes places with one before it."""
CHASE = "5:\nmovq r13, xmm15\nand r13, 0\nadd r13, rsi\nLOOP 32\n" + 4 * "mov r13, [r13]\n" + "movq xmm15, r13\n"
"""likwid calls once a pass: each pass must wait for the end of the one before, or the CPU walks both at once (13 % at 16 KiB)."""


def said(argv: list[str], folder: Path) -> str:
    """Return what a program prints on CPU 0."""
    return subprocess.run(["taskset", "-c", "0", *argv], cwd=folder, capture_output=True, text=True, check=True).stdout


def build(folder: Path) -> None:
    """Build ours as the product does, the plain chase by each compiler, and lay likwid's kernels beside them."""
    chase = str(Path(__file__).with_name("chase.c"))
    flags = ("-std=c11", "-O3", "-march=native", "-pthread")
    subprocess.run(Recipe(kernels(), Compiler(("cc",), ""), flags).argv("memlat", folder / "memlat"), check=True)
    for compiler in compilers():
        subprocess.run([compiler, *flags, "-o", str(folder / f"chase.{compiler}"), chase], check=True)
    (folder / "chaseorder.ptt").write_text(HEAD + ONCE + ORDER + CHASE, encoding="ascii")
    (folder / "chaserandom.ptt").write_text(HEAD + ONCE + RANDOM + CHASE, encoding="ascii")


def compilers() -> list[str]:
    """Return those of gcc and clang that are here."""
    return [name for name in ("gcc", "clang") if shutil.which(name)]


def memlat(folder: Path, shape: str, size: int) -> float:
    """Return our figure; the kernel itself refuses a wrong result."""
    arguments = ["--cpus", "0", "--bytes", str(size), "--seconds", str(SECONDS), "--repeats", "1", *SHAPES[shape]]
    values: list[float] = json.loads(said([str(folder / "memlat"), *arguments], folder))["values"]
    return 1e9 * values[0]


def plain(compiler: str, folder: Path, shape: str, size: int) -> float:
    """Return what the plain chase says."""
    return float(said([str(folder / f"chase.{compiler}"), str(size), str(SECONDS), shape], folder))


def likwid(passes: int, folder: Path, shape: str, size: int) -> float:
    """Return likwid-bench's time for one line, without its own: calls for every pass, or the chain that the first pass lays."""
    lines = size // 64
    if passes > MANY:
        calls = likwid_time(passes, folder, shape, LEAST * 64)
        return 1e9 * (likwid_time(passes, folder, shape, size) - calls) / passes / (lines - LEAST)
    first = 0 if shape == "lines" else max(1, passes // 4)
    laid = likwid_time(first, folder, shape, size) if first else 0.0
    return 1e9 * (likwid_time(first + passes, folder, shape, size) - laid) / passes / lines


def likwid_time(passes: int, folder: Path, shape: str, size: int) -> float:
    """Return the seconds that likwid-bench took for so many passes."""
    text = said(["likwid-bench", "-t", LIKWID[shape], "-i", str(passes), "-w", f"S0:{size}B:1", "-f", str(folder)], folder)
    found = re.search(r"^Time:\s+(\S+) sec", text, re.MULTILINE)
    if not found or f"Size (Byte):\t\t{size}\n" not in text:
        raise SystemExit(f"likwid-bench: no time for {size} bytes in what it printed: {text[-300:]!r}")
    return float(found[1])


def sides(folder: Path, shape: str, size: int) -> dict[str, Callable[[], float]]:
    """Return who takes part: likwid makes as many passes as take about as long as the others do."""
    each: dict[str, Callable[[], float]] = {"memlat": partial(memlat, folder, shape, size)}
    if shutil.which("likwid-bench") and (shape == "lines" or platform.machine() == "x86_64"):
        passes = 1 + math.ceil(SECONDS * 1e9 / (memlat(folder, shape, size) * size / 64))
        each["likwid"] = partial(likwid, passes, folder, shape, size)
    return each | {compiler: partial(plain, compiler, folder, shape, size) for compiler in compilers()}


def row(folder: Path, shape: str, name: str, rounds: int) -> str:
    """Return one line of the table: medians, the median of the turns' ratios, how far apart the middle half of a side is."""
    who = sides(folder, shape, SIZES[name])
    seen: dict[str, list[float]] = {side: [] for side in who}
    for _ in range(rounds):
        wait_until_quiet()
        for side, values in by_turns(who, INNER, gate=False).items():
            seen[side] += values
    ours = seen["memlat"]
    ratios = {side: middle([mine / other for mine, other in zip(ours, seen[side], strict=True)]) for side in seen}
    cells = [f"{middle(seen[side]):.3f} (**{ratios[side]:.3f}**)" if side in seen else "-" for side in ("likwid", "gcc", "clang")]
    return f"| {shape} | {name} | {middle(ours):.3f} ns | {' | '.join(cells)} | {max(map(spread, seen.values())):.0%} |"


def spread(values: list[float]) -> float:
    """Return how far apart the quartiles are, as a share of the median: a neighbour's burst is not the machine's figure."""
    low, mid, high = quantiles(values, n=4)
    return (high - low) / mid


def table(rounds: int = 7, rows: Sequence[str] = tuple(SHAPES), sizes: Sequence[str] = tuple(SIZES)) -> str:
    """Return the comparison as a table."""
    lines = [
        "| shape | bytes | memlat | likwid (memlat / likwid) | gcc (memlat / gcc) | clang (memlat / clang) | quartiles |",
        "|---" * 7 + "|",
    ]
    with tempfile.TemporaryDirectory() as name:
        build(Path(name))
        for shape in rows:
            for size in sizes:
                lines.append(row(Path(name), shape, size, rounds))
                print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> None:
    """Compare, and print the table with its conditions."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rounds", type=int, default=7)
    words.add_argument("--sizes", default=",".join(SIZES))
    words.add_argument("--shapes", default=",".join(SHAPES))
    asked = words.parse_args()
    print(table(asked.rounds, asked.shapes.split(","), asked.sizes.split(",")))
    print(conditions())


if __name__ == "__main__":
    main()
