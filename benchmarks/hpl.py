"""Our HPL kernel beside netlib's, on the same MPI, BLAS, N, NB, grid and ranks, by turns.

Run it from the project's folder: ``python benchmarks/hpl.py [--xhpl PATH] [--rounds N] [--n 10000,20000] [--nb 192]``.
Netlib's is the xhpl that is named (it may read HPL.dat or hpccinf.txt), else Debian's hpcc, which contains it and runs its
whole suite each time, minutes a round. Both use one BLAS thread a rank, and netlib's better look-ahead of 0 and 1 counts.
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
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from quiet import by_turns, conditions, middle, noise

from advisor.paths import kernels

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ENVIRONMENT = {**os.environ, **ROOT, "OPENBLAS_NUM_THREADS": "1", "BLIS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
INPUT = """HPL
HPL
HPL.out
6 device
1
{n}
1
{nb}
0 row-major
1
{p}
{q}
16.0 threshold
1
2 right-looking
1
4 columns end the recursion
1
2 halves
1
2 right-looking
1
1 ring, modified
1
{depth} look-ahead
2 swap: mix
64
0 L1 transposed
0 U transposed
1 equilibration
8 alignment
"""
_RESULT = re.compile(r"^W\S+\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+([\d.]+)\s+([\d.eE+]+)\s*$", re.MULTILINE)


def launched(argv: list[str], folder: Path, ranks: int) -> str:
    """Return what a program prints on so many ranks, each on a core of its own."""
    line = ["mpirun", "--bind-to", "core", "-np", str(ranks), *argv]
    done = subprocess.run(line, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return done.stdout


def build(folder: Path) -> Path:
    """Return our kernel, built as the product builds it."""
    program = folder / "hpl"
    sources = [str(kernels() / f"{name}.c") for name in ("hpl", "ranks", "kernel")]
    flags = ["-std=c11", "-O3", "-march=native", "-pthread"]
    subprocess.run(["mpicc", *flags, "-o", str(program), *sources, os.environ.get("BLAS", "-lblas"), "-lm"], check=True)
    return program


def ours(program: Path, n: int, nb: int, p: int, q: int) -> float:
    """Return our GFLOP/s; the kernel itself refuses a wrong result."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--n", str(n), "--nb", str(nb), "--p", str(p), "--q", str(q)]
        said: dict[str, list[float]] = json.loads(launched([str(program), *arguments], Path(folder), p * q))
    return said["values"][0] / 1e9


def netlib(program: str, depth: int, n: int, nb: int, p: int, q: int) -> float:
    """Return netlib's GFLOP/s of a run whose residual passed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("HPL.dat", "hpccinf.txt"):
            (folder / file).write_text(INPUT.format(n=n, nb=nb, p=p, q=q, depth=depth), encoding="ascii")
        text = launched([program], folder, p * q)
        text += "".join(
            file.read_text(encoding="utf-8") for file in (folder / "hpccoutf.txt", folder / "HPL.out") if file.exists()
        )
    found = _RESULT.findall(text)
    if not found or "PASSED" not in text:
        raise SystemExit(f"{program}: no result that passed in what it printed: {text[-300:]!r}")
    return float(found[-1][5])


def reference() -> str:
    """Return the HPL to compare with: the site's, else the one inside Debian's hpcc."""
    found = os.environ.get("ADVISOR_XHPL") or shutil.which("hpcc")
    if not found:
        raise SystemExit("no HPL to compare with: name one with --xhpl or ADVISOR_XHPL, or install Debian's hpcc")
    return found


def table(
    rounds: int = 3, orders: tuple[int, ...] = (10000, 20000), nb: int = 192, grid: tuple[int, int] | None = None, xhpl: str = ""
) -> str:
    """Return the comparison as a table."""
    xhpl, (p, q) = xhpl or reference(), grid or (1, os.cpu_count() or 1)
    rows = [
        "| N | NB | P x Q | ours | netlib, look-ahead 0 | netlib, look-ahead 1 | ours / better netlib | noise |",
        "|---" * 8 + "|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder))
        for n in orders:
            sides: dict[str, Callable[[], float]] = {"ours": partial(ours, program, n, nb, p, q)}
            sides |= {f"netlib {depth}": partial(netlib, xhpl, depth, n, nb, p, q) for depth in (0, 1)}
            seen = by_turns(sides, rounds)
            mid = {name: middle(values) for name, values in seen.items()}
            best = max(mid["netlib 0"], mid["netlib 1"])
            rows.append(
                f"| {n} | {nb} | {p} x {q} | {mid['ours']:.1f} GFLOP/s | {mid['netlib 0']:.1f} | {mid['netlib 1']:.1f} | "
                f"**{mid['ours'] / best:.3f}** | {max(map(noise, seen.values())):.0%} |"
            )
            print(rows[-1], file=sys.stderr, flush=True)
    return "\n".join(rows)


def main() -> None:
    """Compare, and print the table with its conditions."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--xhpl", default="")
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--n", default="10000,20000")
    words.add_argument("--nb", type=int, default=192)
    words.add_argument("--p", type=int, default=1)
    words.add_argument("--q", type=int, default=os.cpu_count() or 1)
    asked = words.parse_args()
    orders = tuple(int(n) for n in asked.n.split(","))
    print(table(asked.rounds, orders, asked.nb, (asked.p, asked.q), asked.xhpl))
    print(conditions())


if __name__ == "__main__":
    main()
