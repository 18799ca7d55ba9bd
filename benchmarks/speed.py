"""CPU time and peak memory of commands, compared with an earlier commit at sizes where users notice a difference.

Run it from the project's folder: ``python -m benchmarks.speed [NAME...] [--rounds N]``; names are parts of the rows' own.

Every command runs as a separate process, with its code compiled beforehand as in an installation. Each time is the lowest
user-plus-system time of all rounds: interference can only add time. Memory is the process's peak memory. The two sides
alternate. On each side, verify compares the plan that the same side's `bind -o` wrote for 1,024 nodes with the output of
131,072 probes. In the row where every rank differs, each rank runs one core away from its planned core. Commands are stopped
after one minute.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

BEFORE = "8a515ef"
"""The commit that the other side is: the last one before plans were folded."""
NAMING = 1
"""Cells that name a row of the table."""
NODE = "b-c6525-2x7702-nps4"
"""128 cores."""
LINE = "ADVISOR-RANK rank={} size=131072 local={} host={} pid={} cpus={} mems=0-7 policy=default last=0 ucx=- omp=- gpu=-\n"
BIND = ("bind", "--from", "{node}", "--ranks-per-node", "128", "--launcher", "openmpi5")


class Case(NamedTuple):
    """A command, and what is wanted of it."""

    wanted: str
    words: tuple[str, ...]
    written: str | None = None
    """A file whose size is shown."""
    status: int = 0


CASES = {
    "`--help`": Case("0.1 s", ("--help",)),
    "`bind --help`": Case("", ("bind", "--help")),
    "`audit` of 4,096 CPUs": Case("3 s", ("audit", "--no-measure", "--from", "{large}")),
    "`bind --nodes 8192`": Case("0.8 s", (*BIND, "--nodes", "8192", "--", "./app")),
    "`bind --nodes 8192 -o DIR`": Case("plan 1 MB", (*BIND, "--nodes", "8192", "-o", "{job}", "--", "./app"), "{job}/plan.json"),
    "`bind --exact --nodes 8192 -o DIR`": Case(
        "rankfile 1 s", (*BIND, "--nodes", "8192", "--exact", "-o", "{exact}", "--", "./app"), "{exact}/rankfile"
    ),
    "`verify` of 131,072 ranks": Case("5 s, 200 MB", ("verify", "--plan", "{plan}", "--observed", "{exactly}"), "{plan}"),
    "`verify`, plan in the earlier form": Case("", ("verify", "--plan", "{spelt}", "--observed", "{exactly}"), "{spelt}"),
    "`verify`, every rank differs": Case("", ("verify", "--plan", "{plan}", "--observed", "{shifted}"), status=1),
    "`verify`, no rank is bound": Case("", ("verify", "--plan", "{plan}", "--observed", "{unbound}"), status=1),
}


class Cost(NamedTuple):
    """What a process took."""

    seconds: float
    mib: float


def cost(checkout: Path, words: Sequence[str], compiled: Path, status: int = 0, output: str = os.devnull) -> Cost:
    """Return what one command of a checkout takes; a small process starts it, as the kernel counts what its parent held."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    told = compiled / "cost"
    with Path(output).open("wb") as file:
        subprocess.run(
            [sys.executable, "-S", "-E", "-c", _BESIDE, str(told), sys.executable, "-m", "advisor", *words],
            cwd=checkout,
            env={**environment, "PYTHONPYCACHEPREFIX": str(compiled)},
            stdout=file,
            check=True,
        )
    seconds, kib, ended = told.read_text(encoding="ascii").split()
    if int(ended) not in (status, -signal.SIGXCPU):
        raise SystemExit(f"{' '.join(words)}: ended with {ended}")
    return Cost(float(seconds), int(kib) / 1024)


LIMIT = 60
"""CPU seconds after which a command is stopped."""
_BESIDE = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 120))
child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
state, used = os.wait4(child, 0)[1:]
with open(sys.argv[1], "w") as told:
    told.write(f"{used.ru_utime + used.ru_stime} {used.ru_maxrss} {os.waitstatus_to_exitcode(state)}")
"""


def write_large(folder: str) -> None:
    """Write a machine of 4,096 CPUs: sixteen sockets of 128 cores with SMT, four NUMA nodes each."""
    from tests.machines import special, sysfs
    from tests.machines.layout import Shape, cores, distances
    from tests.machines.seeds import even
    from tests.machines.tree import write

    nodes = 64
    spec = replace(
        special.big(),
        cores=cores(Shape(((8,) * 4,) * 4, sockets=16), threads=2),
        nodes=even(nodes, 16 * 768),
        slit=distances(nodes, 16, 12, 32),
        buses={node: node * 4 for node in range(nodes)},
        possible=4096,
    )
    write(sysfs.root(spec), Path(folder))


def write_node(file: str) -> None:
    """Write the node that ranks are placed on."""
    from tests.machines.catalogue import write_archive

    write_archive(NODE, Path(file))


def write_lines(ranks: str, exactly: str, shifted: str, unbound: str) -> None:
    """Write what the probes say of three jobs: as planned, each rank a core beside its place, not bound."""
    with ExitStack() as stack:
        files = [stack.enter_context(Path(name).open("w", encoding="ascii")) for name in (exactly, shifted, unbound)]
        for each in json.loads(Path(ranks).read_text(encoding="utf-8"))["ranks"]:
            where = each["rank"], each["local"], each["host"], 4000 + each["local"]
            for file, cpus in zip(files, (each["cpus"], (int(each["cpus"]) + 1) % 128, "0-127"), strict=True):
                file.write(LINE.format(*where, cpus))


def spelt_out(ranks: str, file: str) -> None:
    """Write the plan of a job as it was written before: every rank for itself."""
    keys = ("rank", "host", "local", "cpus", "numa_nodes", "memory", "hca", "gpu")
    found = json.loads(Path(ranks).read_text(encoding="utf-8"))["ranks"]
    lines = ",\n".join(json.dumps({key: each[key] for key in keys}) for each in found)
    Path(file).write_text(f'{{"schema": "advisor-plan/1", "ranks": [\n{lines}\n]}}\n', encoding="utf-8")


def _apart(function: Callable[..., None], *words: str) -> None:
    """Call a function of this module in a process of its own: what it held is not to be counted here."""
    code = f"import sys; from benchmarks import speed; speed.{function.__name__}(*sys.argv[1:])"
    subprocess.run([sys.executable, "-c", code, *words], cwd=ROOT, check=True)


def prepared(folder: Path, sides: Mapping[str, Path], compiled: Mapping[str, Path]) -> dict[str, dict[str, str]]:
    """Write what the commands read, and return the names of the files, for each side."""
    names = {name: str(folder / name) for name in ("large", "node", "exactly", "shifted", "unbound", "spelt", "ranks")}
    _apart(write_large, names["large"])
    _apart(write_node, names["node"])
    job = [word.format(**names) for word in (*BIND, "--hosts", "node[0001-1024]")]
    cost(ROOT, [*job, "--json", "--", "./app"], compiled["now"], output=names["ranks"])
    _apart(write_lines, names["ranks"], names["exactly"], names["shifted"], names["unbound"])
    _apart(spelt_out, names["ranks"], names["spelt"])
    files = {}
    for side, checkout in sides.items():
        own = {name: str(folder / side / name) for name in ("job", "exact", "verified")}
        cost(checkout, [*job, "-o", own["verified"], "--", "./app"], compiled[side])
        files[side] = {**names, **own, "plan": f"{own['verified']}/plan.json"}
    return files


def earlier(folder: Path) -> Path | None:
    """Return a folder with the earlier commit, None where this is no clone that has it."""
    folder.mkdir()
    packed = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        return None
    subprocess.run(["tar", "-x"], cwd=folder, input=packed.stdout, check=True)
    return folder


def table(rounds: int = 5, rows: Sequence[str] = ()) -> str:
    """Return the table: for each command what is wanted, what it took before, what it takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old = earlier(folder / "earlier")
        sides = {**({"before": old} if old else {}), "now": ROOT}
        compiled = {side: folder / f"compiled-{side}" for side in sides}
        for each in compiled.values():
            each.mkdir()
        files = prepared(folder, sides, compiled)
        lines = [f"| command | target | before ({BEFORE}) | now |", "| --- | ---: | ---: | ---: |"]
        for title, case in CASES.items():
            if not rows or title in rows:
                run = {side: partial(_once, sides[side], case, files[side], compiled[side]) for side in sides}
                taken = [{side: run[side]() for side in sides} for _ in range(rounds)]
                cells = {side: _cell([each[side] for each in taken], case, files[side]) for side in sides}
                lines.append(f"| {title} | {case.wanted} | {cells.get('before', '-')} | {cells['now']} |")
                print(lines[-1], file=sys.stderr)
    return "\n".join(lines)


def _once(checkout: Path, case: Case, files: Mapping[str, str], compiled: Path) -> Cost:
    return cost(checkout, [word.format(**files) for word in case.words], compiled, case.status)


def _cell(taken: Sequence[Cost], case: Case, files: Mapping[str, str]) -> str:
    size = f", {Path(case.written.format(**files)).stat().st_size / 1e6:.2f} MB written" if case.written else ""
    seconds = min(each.seconds for each in taken)
    if seconds >= LIMIT:
        return f"stopped after {LIMIT} s"
    return f"{seconds:.2f} s, {min(each.mib for each in taken):.0f} MiB{size}"


def main() -> None:
    """Print the table, of all commands or of those that are named by a part of their words."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("names", nargs="*")
    words.add_argument("--rounds", type=int, default=5)
    asked = words.parse_args()
    print(table(asked.rounds, [title for title in CASES if any(name in title for name in asked.names)]))


if __name__ == "__main__":
    main()
