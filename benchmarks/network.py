"""mbw_mr versus plain loops that follow the OSU definitions, run alternately over shared memory and TCP.

Run it from the project's folder: ``python benchmarks/network.py [TURNS] [--only NAME,...] [--json FILE]``.

The plain side is benchmarks/messages.c; benchmarks/network.c lets it and the kernel itself take turns in the same ranks, behind
the gate at every start: two ranks, and for mbw_mr as many as there are CPUs, each on a core of its own. The MPIs are the Open
MPI on PATH, and an MPICH where one is found. OSU's own programs take part where they are on PATH. With --json, results are
added to those that the file has, so that a long comparison may run in pieces: --only takes 'TCP', 'MPICH', 'Open MPI TCP bw'.
ADVISOR_PIECES names a folder whose network.json the page takes, measuring what it lacks.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import quantiles

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from quiet import conditions, middle, wait_until_quiet

from advisor.measure.build import SHARED
from advisor.paths import kernels

SECONDS = 0.004
TURNS = 300
OSU_STARTS = 5
"""Of OSU's own programs, which cannot take turns within one start."""
SIZES = {"8 B": 8, "64 KiB": 64 << 10, "1 MiB": 1 << 20}
TESTS = ("latency", "bw", "bibw", "mbw_mr")
"""By OSU's names; between two ranks our mbw_mr is bw."""
CACHE = Path(os.environ.get("ADVISOR_MPI_CACHE", Path.home() / ".cache" / "advisor-mpi"))
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OPEN_MPI = ("--bind-to", "core", "--mca", "pml", "ob1", "--mca", "btl")
HYDRA = ("-bind-to", "core")

Seen = dict[str, dict[str, list[float]]]
"""Values by size and side."""


@dataclass(frozen=True)
class Mpi:
    """One MPI: its compiler, its launcher, and what that is told for each path."""

    compiler: str
    launcher: str
    paths: dict[str, tuple[str, ...]]

    def run(self, path: str, ranks: int, argv: Sequence[str]) -> str:
        """Return what a program prints on so many ranks, each on a core of its own."""
        line = [self.launcher, *self.paths[path], "-n", str(ranks), *argv]
        done = subprocess.run(line, env=os.environ | ROOT, capture_output=True, text=True, check=True, timeout=300)
        return done.stdout


def mpis() -> dict[str, Mpi]:
    """Return the MPIs that are here; the loopback device is named to each, as they leave it out by themselves."""
    found = {}
    if shutil.which("mpicc.openmpi") and shutil.which("mpirun.openmpi"):
        paths = {"shared memory": (*OPEN_MPI, "self,vader"), "TCP": (*OPEN_MPI, "self,tcp", "--mca", "btl_tcp_if_include", "lo")}
        found["Open MPI"] = Mpi("mpicc.openmpi", "mpirun.openmpi", paths)
    mpich = CACHE / "mpich" / "bin"
    compiler = shutil.which("mpicc.mpich") or shutil.which("mpicc", path=mpich)
    launcher = shutil.which("mpiexec.mpich") or shutil.which("mpiexec", path=mpich)
    if compiler and launcher:
        tcp = ("MPIR_CVAR_NOLOCAL", "1"), ("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp"), ("FI_TCP_IFACE", "lo")
        words = (word for setting in tcp for word in ("-genv", *setting))
        found["MPICH"] = Mpi(compiler, launcher, {"shared memory": HYDRA, "TCP": (*HYDRA, *words)})
    return found


def build(mpi: Mpi, folder: Path) -> str:
    """Return both sides in one program, built as the product builds the kernel."""
    program, here, there = str(folder / "network"), Path(__file__).parent, kernels()
    shared = [file for folder in SHARED for file in sorted((there / folder).glob("*.c"))]
    sources = [here / "network.c", here / "messages.c", *shared]
    flags = ["-std=c11", "-O3", "-march=native", "-pthread", f"-I{there}", "-o", program]
    subprocess.run([mpi.compiler, *flags, *map(str, sources), "-lm"], check=True)
    return program


def ranks_of(test: str) -> int:
    """Return on how many ranks a test runs: mbw_mr on all CPUs, an even number of them."""
    return max(2, len(os.sched_getaffinity(0)) // 2 * 2) if test == "mbw_mr" else 2


def turns_of(mpi: Mpi, path: str, program: str, test: str, turns: int) -> Seen:
    """Return what both sides gave in so many turns; the kernel itself refuses a wrong payload."""
    wait_until_quiet()
    seen: Seen = {str(size): {"ours": [], "plain": []} for size in SIZES.values()}
    for line in mpi.run(path, ranks_of(test), [program, test, str(turns), str(SECONDS), *seen]).splitlines():
        size, our, plain = line.split()
        seen[size]["ours"].append(float(our))
        seen[size]["plain"].append(float(plain))
    return seen


def osu(mpi: Mpi, path: str, test: str) -> dict[str, float]:
    """Return the figures of OSU's own program: microseconds, or millions of bytes a second, one line a size."""
    wait_until_quiet()
    text = mpi.run(path, ranks_of(test), [f"osu_{test}", "-m", f"{min(SIZES.values())}:{max(SIZES.values())}"])
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    unit = 1e-6 if test == "latency" else 1e6
    return {size: float(value) * unit for size, value, *_ in lines}


def missing() -> list[str]:
    """Return those of OSU's own programs that are not on PATH."""
    return [f"osu_{test}" for test in TESTS if not shutil.which(f"osu_{test}")]


def with_osu(seen: Seen, mpi: Mpi, path: str, test: str) -> Seen:
    """Return what was seen, with OSU's own where they are, which are taken to be of the first MPI."""
    if not missing() and mpi.launcher == "mpirun.openmpi":
        starts = [osu(mpi, path, test) for _ in range(OSU_STARTS)]
        for size, sides in seen.items():
            sides["osu"] = [values[size] for values in starts]
    return seen


HEAD = """\
Both sides take turns of a few milliseconds in the same ranks, over the same connection, with the same number of rounds per
turn. A virtual machine's CPUs move between the host's cores, so rates can change by half for seconds at a time. The ratio is
therefore the median over neighbouring turns (A B B A), and the quartiles enclose the middle half of these ratios. The other
figures are also medians; bw and bibw with 8 bytes are in messages/s.

| MPI | path | test | bytes | ours | plain loops | ours / plain | quartiles | turns | OSU's own |
| --- | --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |"""


def shown(test: str, size: int, value: float) -> str:
    """Return a value with its unit; of small messages their rate."""
    if test == "latency":
        return f"{value * 1e6:.3g} us"
    return f"{value / size / 1e6:.3g} M/s" if size < 1 << 10 else f"{value / 1e9:.3g} GB/s"


def by_fours(values: list[float]) -> list[float]:
    """Return a side's means of each A B B A: who comes second finds the other's data in the cache, and each does so once.

    >>> by_fours([3.0, 1.0, 2.0, 4.0])
    [2.0, 3.0]
    """
    return [sum(values[i : i + 2]) / 2 for i in range(0, len(values) - 1, 2)]


def row(name: str, size: str, sides: dict[str, list[float]]) -> str:
    """Return the line of one MPI, path, test and size."""
    mpi, path, test = name.split(", ")
    words, turns = {str(size): word for word, size in SIZES.items()}, len(sides["ours"])
    sides = sides | {side: by_fours(sides[side]) for side in ("ours", "plain")}
    low, ratio, high = quantiles([our / its for our, its in zip(sides["ours"], sides["plain"], strict=True)], n=4)
    figures = [shown(test, int(size), middle(sides[side])) if side in sides else "-" for side in ("ours", "plain", "osu")]
    cells = [mpi, path, test, words[size], *figures[:2], f"**{ratio:.3f}**", f"{low:.2f} to {high:.2f}", str(turns), figures[2]]
    return f"| {' | '.join(cells)} |"


def wanted(name: str, only: Sequence[str], kept: dict[str, Seen]) -> bool:
    """Return whether a comparison is one of those that are named; of none named, whether it is lacking."""
    return any(each in name.replace(",", "") for each in only) if only else name not in kept


def measure(turns: int, only: Sequence[str], kept: dict[str, Seen]) -> None:
    """Measure each MPI, path and test that is wanted."""
    for name, mpi in mpis().items():
        with tempfile.TemporaryDirectory() as folder:
            program = build(mpi, Path(folder))
            for path, test in product(mpi.paths, TESTS):
                key = f"{name}, {path}, {test}"
                if wanted(key, only, kept):
                    kept[key] = with_osu(turns_of(mpi, path, program, test, turns), mpi, path, test)


def fragment(kept: dict[str, Seen]) -> str:
    """Return what was kept as a Markdown table."""
    lines = [row(name, size, sides) for name, seen in kept.items() for size, sides in seen.items()]
    absent = [f"\nNot on PATH, so not compared: {', '.join(missing())}."] if missing() else []
    return "\n".join([HEAD, *lines, *absent])


def table(turns: int = TURNS) -> str:
    """Return the whole comparison as a Markdown table."""
    file = Path(os.environ.get("ADVISOR_PIECES", os.devnull)) / "network.json"
    kept: dict[str, Seen] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    measure(turns, (), kept)
    return fragment(kept) + ("\n\nMeasured in several parts, each on an idle machine." if file.exists() else "")


def main() -> None:
    """Compare, and print the table with its conditions."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("turns", nargs="?", type=int, default=TURNS)
    words.add_argument("--only", default="")
    words.add_argument("--json", type=Path)
    asked = words.parse_args()
    kept = json.loads(asked.json.read_text(encoding="utf-8")) if asked.json and asked.json.exists() else {}
    measure(asked.turns, asked.only.split(",") if asked.only else (), kept)
    if asked.json:
        asked.json.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    print(f"{fragment(kept)}\n\n{conditions()}")


if __name__ == "__main__":
    main()
