"""membw versus likwid-bench's streams and plain C loops, run alternately on an idle machine, on one CPU and on all CPUs.

Run it from the project's folder: ``python benchmarks/membw.py [ROUNDS] [PATTERN]... [--threads one|all] [--json FILE]
[--programs FOLDER]``. With --json, results are added to those that the file has, so that a long comparison may run in pieces;
--programs keeps what was built for the next piece.

Plain C is benchmarks/stream.c: STREAM's definition, compiled by gcc and clang, with regular stores and with stores past the
cache (non-temporal). A first round selects the two best references of each kind. These then alternate with membw, and every
round starts only once the machine is idle. Each ratio is the median of the per-round ratios, so a short disturbance
affects both sides of a round. All sides use arrays of the same size and count bytes as STREAM does. In every turn membw
selects its access shape again, as it does in normal use. All sides use normal pages. Loads are compared a second time with huge
pages on both sides (membw --pages huge; likwid-bench with GLIBC_TUNABLES=glibc.malloc.hugetlb=1), because the cost of address
translation is not a limit of the core. References that are not installed are listed and skipped.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from quiet import by_turns, conditions, middle, noise, wait_until_quiet

from advisor.paths import kernels

SECONDS = 0.15
"""That each turn measures for."""
SMALLEST = 256 << 20
"""Of one array; four times the last cache where that is larger."""
KEPT = 2
"""References of each kind, through the cache and past it, that go through all rounds."""
ARRAYS = {"load": (1, 1), "store": (1, 1), "copy": (2, 2), "scale": (2, 2), "add": (3, 3), "triad": (3, 3), "update": (1, 2)}
"""Arrays that a pattern uses, and how many of them it reads and writes."""
LIKWID = {"load": ("load", "sum"), "store": ("store",), "copy": ("copy",), "triad": ("stream",), "update": ("update",)}
"""likwid's streams of the same definition; its triad is another, and it has no scale and no add."""
SETS = {"avx512_fma": "avx512f", "avx512": "avx512f", "avx_fma": "fma", "avx": "avx", "mem": "sse2"}
"""Ends of likwid's names, and the CPU's flag that they need."""
BUILDS = {
    "gcc": ("gcc",),
    "gcc no-memcpy": ("gcc", "-ffreestanding"),
    "gcc nt": ("gcc", "-DPAST"),
    "clang": ("clang",),
    "clang nt": ("clang", "-DPAST"),
}
TARGET = {"load": 1.15}
"""What the ratio shall be at least; 1.00 for all others."""
OFTEN = {"load": 3, "store": 3}
"""How many times the rounds of others: what is near the ratio that is wanted of it needs more."""
NAMING = 4
"""Cells that name a row of the table."""
HUGE = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""glibc of 2.35 and later then asks for transparent huge pages for what likwid-bench takes of it."""

Side = Callable[[], float]

_asked: dict[str, Path] = {}


@dataclass
class Row:
    """What one pattern gave on some CPUs."""

    pattern: str
    cpus: int
    bytes: int
    rates: dict[str, list[float]]
    left_out: dict[str, float] = field(default_factory=dict)
    pages: str = "normal"

    def best(self, *, ours: bool, past: bool | None = None) -> str | None:
        """Return the side with the best median: of ours or of the references, of one kind of store or of both."""
        sides = [
            name for name in self.rates if name.startswith("advisor") == ours and past in (None, is_past(name, self.pattern))
        ]
        return max(sides, key=lambda name: middle(self.rates[name]), default=None)


def is_past(name: str, pattern: str) -> bool:
    """Return whether a side goes past the cache, by its name; a plain copy becomes memcpy, which does for such sizes."""
    becomes_memcpy = pattern == "copy" and name in ("gcc", "clang", "memcpy")
    return becomes_memcpy or name.endswith(("-nt", " nt")) or "_mem" in name


@cache
def folder() -> Path:
    """Return where programs are built: in a folder of their own, or where an earlier run was told to."""
    place = _asked.get("programs") or Path(tempfile.mkdtemp(prefix="advisor-membw-"))
    place.mkdir(parents=True, exist_ok=True)
    return place


@cache
def kernel() -> str:
    """Return our program, built as a user builds it."""
    program = str(folder() / "membw")
    subprocess.run(["make", "-s", "-C", str(kernels()), f"OUT={folder()}", program], check=True, stdout=sys.stderr)
    return program


@cache
def plain(build: str) -> str:
    """Return the plain loops as one compiler makes them."""
    compiler, *flags = BUILDS[build]
    program, source = folder() / build.replace(" ", "-"), Path(__file__).with_name("stream.c")
    line = [compiler, "-O3", "-march=native", "-ffast-math", *flags, "-pthread", "-o", str(program), str(source)]
    if not program.exists():
        subprocess.run(line, check=True)
    return str(program)


def last_cache() -> int:
    """Return the bytes of the first CPU's last cache."""
    caches = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((int(file.read_text(encoding="ascii").rstrip("K\n")) << 10 for file in caches), default=0)


def said(*words: str, more: dict[str, str] | None = None) -> str:
    """Return what a program prints, with more in its environment."""
    return subprocess.run(words, check=True, capture_output=True, text=True, env=os.environ | (more or {})).stdout


def ours(variant: str, cpus: list[int], size: int, shapes: set[str], pages: str = "normal") -> float:
    """Return our bytes/s, the shape chosen anew."""
    arrays = ARRAYS[variant.partition("-")[0]][0]
    where = ["--cpus", ",".join(map(str, cpus)), "--bytes", str(size * arrays), "--pages", pages]
    told = json.loads(said(kernel(), *where, "--pattern", variant, "--repeats", "1", "--seconds", str(SECONDS)))
    shapes.add(told.get("shape", ""))
    return float(told["values"][0])


def compiled(build: str, pattern: str, cpus: list[int], size: int) -> float:
    """Return the plain loop's bytes/s."""
    return float(said(plain(build), pattern, str(size), ",".join(map(str, cpus)), str(SECONDS)))


def likwid(test: str, pattern: str, cpus: list[int], size: int, pages: str) -> float:
    """Return bytes/s of one of likwid's streams."""
    arrays, counted = ARRAYS[pattern]
    sweeps = max(3, round(SECONDS * len(cpus) * 15e9 / (counted * size)))
    try:
        words = ("likwid-bench", "-t", test, "-w", f"N:{arrays * size}B:{len(cpus)}", "-i", str(sweeps))
        told = said(*words, more=HUGE if pages == "huge" else None)
    except subprocess.CalledProcessError as error:  # stream_mem of 5.2.2 dies of signal 11
        sys.stderr.write(f"likwid-bench -t {test} died ({error.returncode}): not compared\n")
        return 0.0
    return 1e6 * float(next(line.split()[1] for line in told.splitlines() if line.startswith("MByte/s:")))


@cache
def likwid_tests() -> tuple[str, ...]:
    """Return likwid's streams for which this CPU has the instructions; none where likwid-bench is not installed."""
    if not shutil.which("likwid-bench"):
        return ()
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\nflags")[2].partition("\n")[0].split()
    names = [line.split(" ")[0] for line in said("likwid-bench", "-a").splitlines() if " - " in line]
    ends = {name: next((SETS[end] for end in SETS if name.endswith(f"_{end}")), "fpu") for name in names}
    wide = [name for name in ends if "_avx" in name or name.endswith("_mem")]
    return tuple(name for name in wide if "_sp" not in name and ends[name] in flags)


def references(pattern: str, cpus: list[int], size: int, pages: str) -> dict[str, Side]:
    """Return all references that are here and can have such pages."""
    sides: dict[str, Side] = {}
    for test in likwid_tests():
        if test.split("_")[0] in LIKWID.get(pattern, ()):
            sides[f"likwid {test}"] = partial(likwid, test, pattern, cpus, size, pages)
    if pages == "huge":
        return sides
    for build, (compiler, *_) in BUILDS.items():
        if shutil.which(compiler) and not (pattern == "load" and build != compiler):
            sides[build] = partial(compiled, build, pattern, cpus, size)
    if pattern == "copy":
        sides["memcpy"] = partial(ours, "copy-memcpy", cpus, size, set())
    return sides


def missing() -> list[str]:
    """Return the programs that would be references and are not here."""
    return [name for name in ("likwid-bench", "gcc", "clang") if not shutil.which(name)]


def rounds_of(sides: dict[str, Side], rounds: int) -> dict[str, list[float]]:
    """Return what each side gave in each round, the order turned by one; the gate stands before every round."""
    seen: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for i in range(rounds):
        wait_until_quiet()
        turned = {name: sides[name] for name in names[i % len(names) :] + names[: i % len(names)]}
        for name, rates in by_turns(turned, 1, gate=False).items():
            seen[name] += rates
    return seen


def measure(pattern: str, cpus: list[int], rounds: int, pages: str = "normal") -> Row:
    """Return what ours and the best references gave, by turns."""
    size = max(SMALLEST, 4 * last_cache())
    sides = references(pattern, cpus, size, pages)
    first = {name: rates[0] for name, rates in rounds_of(sides, 1).items()}
    ranked = sorted(first, key=lambda name: -first[name])
    kept = [name for past in (False, True) for name in [each for each in ranked if is_past(each, pattern) == past][:KEPT]]
    shapes: dict[str, set[str]] = {name: set() for name in (pattern, f"{pattern}-nt")}
    turns: dict[str, Side] = {f"advisor {name}": partial(ours, name, cpus, size, seen, pages) for name, seen in shapes.items()}
    rates = rounds_of(turns | {name: sides[name] for name in kept}, rounds * OFTEN.get(pattern, 1))
    for name, seen in shapes.items():
        sys.stderr.write(f"{len(cpus)} CPUs: {name}: {', '.join(sorted(seen))}\n")
    left_out = {name: first[name] for name in ranked if name not in kept}
    return Row(pattern, len(cpus), size * ARRAYS[pattern][0], rates, left_out, pages)


HEAD = """\
| pattern | kind | pages | CPUs | advisor, GB/s | best reference, GB/s | ratio | target | spread | programs |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |"""


def lines(row: Row) -> list[str]:
    """Return a row's lines: regular stores, stores past the cache, and the best of both."""
    kinds = {"regular": False, "past the cache": True, "best of both": None}
    return [line for kind, past in kinds.items() if (line := compare(row, kind, past))]


def compare(row: Row, kind: str, past: bool | None) -> str | None:  # noqa: FBT001 - one of three kinds
    """Return a line, or None where there is no reference."""
    mine, other = row.best(ours=True, past=past), row.best(ours=False, past=past)
    if mine is None or other is None:
        return None
    us, them = row.rates[mine], row.rates[other]
    wanted = TARGET.get(row.pattern, 1.0) if past is None and row.pages == "normal" else None
    ends = [
        f"{middle([mine / other for mine, other in zip(us, them, strict=True)]):.3f}",
        f"{wanted:.2f}" if wanted else "",
        f"{noise(us):.0%}, {noise(them):.0%}",
        f"{mine} / {other}",
    ]
    begin = [row.pattern, kind, row.pages, str(row.cpus), f"{middle(us) / 1e9:.1f}", f"{middle(them) / 1e9:.1f}"]
    return f"| {' | '.join([*begin, *ends])} |"


def fragment(rows: list[Row]) -> str:
    """Return rows as a Markdown table."""
    rows = sorted(rows, key=lambda row: (row.cpus, list(ARRAYS).index(row.pattern), row.pages != "normal"))
    absent = [f"\nNot here, so not compared: {', '.join(missing())}."] if missing() else []
    return "\n".join([HEAD, *(line for row in rows for line in lines(row)), *absent])


def places(threads: str) -> list[list[int]]:
    """Return the CPUs to compare on: the first, all, or both."""
    cpus = sorted(os.sched_getaffinity(0))
    sizes = {"one": [cpus[:1]], "all": [cpus], "both": [cpus[:1], cpus]}[threads]
    return sizes if len(cpus) > 1 else [cpus]


def compared(rounds: int, threads: str, patterns: Iterable[str]) -> Iterator[Row]:
    """Yield what each pattern gave on each set of CPUs; loads with huge pages too, where a reference can have them."""
    for cpus in places(threads):
        for pattern in patterns:
            yield measure(pattern, cpus, rounds)
            if pattern == "load" and likwid_tests():
                yield measure(pattern, cpus, rounds, "huge")


def table(rounds: int = 5, rows: Sequence[str] = tuple(ARRAYS)) -> str:
    """Return the whole comparison as a Markdown table: medians, their ratio, how far apart the rounds of each side were."""
    return fragment(list(compared(rounds, "both", rows)))


def main(words: list[str]) -> None:
    """Print the table and under which conditions it came about."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=7)
    parser.add_argument("patterns", nargs="*", choices=[*ARRAYS, []], default=[])
    parser.add_argument("--threads", choices=["one", "all", "both"], default="both")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--programs", type=Path)
    asked = parser.parse_args(words)
    if asked.programs:
        _asked["programs"] = asked.programs
    old = json.loads(asked.json.read_text(encoding="utf-8"))["rows"] if asked.json and asked.json.exists() else []
    rows = {(row["pattern"], row["cpus"], row["pages"]): Row(**row) for row in old}
    for row in compared(asked.rounds, asked.threads, asked.patterns or ARRAYS) if asked.rounds else ():
        rows[row.pattern, row.cpus, row.pages] = row
    if asked.json:
        told = {"conditions": conditions().splitlines(), "missing": missing(), "rows": [asdict(row) for row in rows.values()]}
        asked.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{fragment(list(rows.values()))}\n\n{conditions()}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
