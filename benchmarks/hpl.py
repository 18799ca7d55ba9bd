"""Our HPL kernel versus netlib's HPL, run alternately with the same MPI, BLAS, N, NB, grid and ranks.

Run it from the project's folder: ``python benchmarks/hpl.py [--xhpl PATH] [--rounds N] [--n 10000,20000] [--nb 192]
[--json FILE] [--turns N]``.

Netlib's is the xhpl that is named (it may read HPL.dat or hpccinf.txt), else Debian's hpcc, which contains it and runs its
whole suite each time, minutes a round. ADVISOR_XHPL names it too, and ADVISOR_XHPL_ABOUT tells in words what it is. Both use
one BLAS thread a rank, and netlib's better look-ahead of 0 and 1 counts. With --json, results are added to those that the
file has; --turns ends after so many, so that a long comparison may run in pieces. ADVISOR_PIECES names a folder whose hpl.json is
what the page takes, measuring what it lacks.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from quiet import conditions, middle, noise, wait_until_quiet

from advisor.jobs.results import Size, hpl_dat
from advisor.measure.build import Blas, Compiler, mpi_recipe
from advisor.paths import kernels

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ENVIRONMENT = {**os.environ, **ROOT, "OPENBLAS_NUM_THREADS": "1", "BLIS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
ORDERS = {10000: 9, 20000: 3}
"""N, and in how many rounds."""
_RESULT = re.compile(r"^W\S+\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+([\d.]+)\s+([\d.eE+]+)\s*$", re.MULTILINE)

Seen = dict[str, dict[str, list[float]]]
"""GFLOP/s by N and side."""


@dataclass(frozen=True)
class Netlib:
    """The HPL to compare with."""

    program: str

    @property
    def flag(self) -> str:
        """Return how to link with the BLAS that it has."""
        if "BLAS" in os.environ:
            return os.environ["BLAS"]
        told = subprocess.run(["ldd", self.program], capture_output=True, text=True, check=False).stdout
        return next((f"-l{name}" for name in ("openblas", "blis") if f"lib{name}.so" in told), "-lblas")

    def run(self, depth: int, size: Size) -> float:
        """Return netlib's GFLOP/s of a run whose residual passed."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file in ("HPL.dat", "hpccinf.txt"):
                (folder / file).write_text(hpl_dat(size, depth), encoding="ascii")
            text = launched([self.program], folder, size)
            outputs = (folder / "hpccoutf.txt", folder / "HPL.out")
            text += "".join(file.read_text(encoding="utf-8") for file in outputs if file.exists())
        found = _RESULT.findall(text)
        if not found or "PASSED" not in text:
            raise SystemExit(f"{self.program}: no result that passed in what it printed: {text[-300:]!r}")
        return float(found[-1][5])

    @property
    def about(self) -> str:
        """Return what it is, in the words of who built it."""
        return os.environ.get("ADVISOR_XHPL_ABOUT") or f"netlib HPL as {Path(self.program).name}, linked with {self.flag}"


def launched(argv: list[str], folder: Path, size: Size) -> str:
    """Return what a program prints on so many ranks, each on a core of its own."""
    line = ["mpirun", "--bind-to", "core", "-np", str(size.p * size.q), *argv]
    return subprocess.run(line, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout


@cache
def kernel(blas: str) -> str:
    """Return our kernel, built as the product builds it, with a BLAS."""
    program = str(Path(tempfile.mkdtemp(prefix="advisor-hpl-")) / "hpl")
    flags = ("-std=c11", "-O3", "-march=native", "-pthread")
    made_of = mpi_recipe(kernels(), Compiler(("mpicc",), ""), flags, Blas((blas,)))
    subprocess.run(made_of.argv("hpl", Path(program)), check=True)
    return program


def ours(blas: str, size: Size) -> float:
    """Return our GFLOP/s; the kernel itself refuses a wrong result."""
    said: dict[str, list[float]] = json.loads(launched([kernel(blas), *size.arguments], Path.cwd(), size))
    return said["values"][0] / 1e9


def reference(named: str = "") -> Netlib:
    """Return the HPL to compare with: the one that is named, else the one inside Debian's hpcc."""
    found = named or os.environ.get("ADVISOR_XHPL") or shutil.which("hpcc")
    if not found:
        raise SystemExit("no HPL to compare with: name one with --xhpl or ADVISOR_XHPL, or install Debian's hpcc")
    return Netlib(found)


def turn(netlib: Netlib, size: Size, seen: dict[str, list[float]], rounds: int) -> bool:
    """Let the next side run, in an order that changes with the rounds; return whether one was left to run."""
    sides: dict[str, Callable[[], float]] = {"ours": partial(ours, netlib.flag, size)}
    sides |= {f"netlib {depth}": partial(netlib.run, depth, size) for depth in (0, 1)}
    done = min(len(seen.setdefault(name, [])) for name in sides)
    if done >= rounds:
        return False
    names = list(sides)[done % len(sides) :] + list(sides)[: done % len(sides)]
    name = next(name for name in names if len(seen[name]) == done)
    wait_until_quiet()
    seen[name].append(sides[name]())
    print(f"N = {size.n}: {name}: {seen[name][-1]:.1f} GFLOP/s", file=sys.stderr, flush=True)
    return True


HEAD = """\
| N | NB | P x Q | ours, GFLOP/s | netlib, look-ahead 0 | netlib, look-ahead 1 | ours / better netlib | spreads | rounds |
| ---: | ---: | --- | ---: | ---: | ---: | ---: | --- | ---: |"""


def row(size: Size, seen: dict[str, list[float]]) -> str:
    """Return the line of one N."""
    mid = {name: middle(values) for name, values in seen.items()}
    ratio = mid["ours"] / max(mid["netlib 0"], mid["netlib 1"])
    rates = [f"{mid[name]:.1f}" for name in ("ours", "netlib 0", "netlib 1")]
    spreads = ", ".join(f"{noise(values):.0%}" for values in seen.values())
    cells = [f"{size.n}", f"{size.nb}", f"{size.p} x {size.q}", *rates, f"**{ratio:.3f}**", spreads, str(len(seen["ours"]))]
    return f"| {' | '.join(cells)} |"


def fragment(netlib: Netlib, sizes: list[Size], seen: Seen) -> str:
    """Return what was seen as a Markdown table, and what was compared."""
    rows = [row(size, seen[str(size.n)]) for size in sizes if all(seen.get(str(size.n), {"": []}).values())]
    small = Size(200, 64, sizes[0].p, sizes[0].q)
    told = json.loads(launched([kernel(netlib.flag), *small.arguments], Path.cwd(), small))
    core = f" with its kernels for {told['blas_core']}" if "blas_core" in told else ""
    about = f"The reference is {netlib.about}. Both sides use {told['blas']}{core}, one thread per rank."
    return "\n".join([HEAD, *rows, "", about])


def compare(netlib: Netlib, sizes: dict[Size, int], file: Path | None = None, turns: int | None = None) -> str:
    """Let the sides take turns until each has its rounds, or so many turns; return the table."""
    seen: Seen = json.loads(file.read_text(encoding="utf-8")) if file and file.exists() else {}
    for size, rounds in sizes.items():
        while turns != 0 and turn(netlib, size, seen.setdefault(str(size.n), {}), rounds):
            turns = None if turns is None else turns - 1
            if file:
                file.write_text(json.dumps(seen) + "\n", encoding="utf-8")
    return fragment(netlib, list(sizes), seen)


def table(rounds: int | None = None) -> str:
    """Return the comparison as a table, on one row of ranks, as many as there are CPUs."""
    sizes = {Size(n, 192, 1, os.cpu_count() or 1): rounds or enough for n, enough in ORDERS.items()}
    file = Path(os.environ.get("ADVISOR_PIECES", os.devnull)) / "hpl.json"
    pieces = "\n\nMeasured in several parts, each on an idle machine." if file.exists() else ""
    return compare(reference(), sizes, file if file.parent.is_dir() else None) + pieces


def main() -> None:
    """Compare, and print the table with its conditions."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--xhpl", default="")
    words.add_argument("--rounds", type=int)
    words.add_argument("--n", default=",".join(map(str, ORDERS)))
    words.add_argument("--nb", type=int, default=192)
    words.add_argument("--p", type=int, default=1)
    words.add_argument("--q", type=int, default=os.cpu_count() or 1)
    words.add_argument("--json", type=Path)
    words.add_argument("--turns", type=int)
    asked = words.parse_args()
    sizes = {Size(n, asked.nb, asked.p, asked.q): asked.rounds or ORDERS.get(n, 3) for n in map(int, asked.n.split(","))}
    print(f"{compare(reference(asked.xhpl), sizes, asked.json, asked.turns)}\n\n{conditions()}")


if __name__ == "__main__":
    main()
