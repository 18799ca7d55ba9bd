"""What a fleet's audit costs, cold and warm: python -m benchmarks.fleet 10000; more than a disk holds: --simulate 100000.

Nodes are copies of the published machines and of seeds, in racks, with planted oddities (tests/fleet/published.py); without the
published machines, of seeds alone. Each has a name, serial numbers, MACs, GUIDs, clocks, counters and free memory of its own.
--check holds the screen against what was planted and what is wrong with each machine alone. What is simulated begins after
captures are read: nodes are put together, compared, called slow, drawn and written.
"""

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from advisor.fleet.audit import audit_fleet
from advisor.fleet.kinds import Figure, assemble
from advisor.fleet.page import fleet_report
from advisor.paths import template
from tests.fleet.innocent import innocents
from tests.fleet.planted import plant
from tests.fleet.published import CORPUS, mistakes, plant_racks
from tests.fleet.wild import wild


def main() -> None:
    """Print a line for each look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="the fleet's folder, kept, and used again where it is there")
    parser.add_argument("--simulate", type=int, metavar="NODES", help="so many nodes, each like one of those that were read")
    parser.add_argument("--check", action="store_true", help="also name what the screen leaves out or says falsely")
    parser.add_argument("--innocent", action="store_true", help="equal nodes that differ in PXE words and makers of DIMMs alone")
    parser.add_argument("--wild", action="store_true", help="nodes as found in the wild, with 49 faults and 7 damaged captures")
    asked = parser.parse_args()
    folder, made = asked.keep or Path(tempfile.mkdtemp()), None
    if not folder.is_dir() or not any(folder.iterdir()):
        begun = time.monotonic()
        if asked.innocent:
            innocents(folder, asked.nodes, asked.seed, mixed=True)
        elif asked.wild:
            wild(folder, asked.nodes, asked.seed)
        elif CORPUS.is_dir():
            made = plant_racks(folder, asked.seed, asked.nodes, every=asked.nodes > 2000)
        else:
            plant(folder, asked.seed, nodes=asked.nodes)
        print(f"{asked.nodes} nodes made in {time.monotonic() - begun:.0f} s")
    (folder / "fleet-index.zst").unlink(missing_ok=True)
    for look in ("cold", "warm"):
        print(f"{look}: {cost(folder)}", flush=True)
    if asked.check and made is not None:
        found = list(mistakes(made, audit_fleet([folder]).fleet))
        print(
            f"{len(found)} mistakes of {len(made.plants)} plants, {len(made.slow)} slow and {len(made.silent)} silent nodes",
            *found,
        )
    if asked.simulate:
        simulate(folder, asked.simulate)
    if asked.keep is None:
        shutil.rmtree(folder)


def cost(folder: Path) -> str:
    """Return what one audit takes: wall time, CPU time, the most memory of a process and of all at the same time."""
    begun = time.monotonic()
    argv = [sys.executable, "-m", "advisor", "fleet", "audit", str(folder), "-o", os.devnull]
    with subprocess.Popen(argv) as audit:
        together = 0
        while not (ended := os.wait4(audit.pid, os.WNOHANG))[0]:
            together = max(together, shared_out(audit.pid))
            time.sleep(0.2)
        _, status, used = ended
        audit.returncode = os.waitstatus_to_exitcode(status)
    if audit.returncode:
        sys.exit(audit.returncode)
    cpu, most = used.ru_utime + used.ru_stime, used.ru_maxrss >> 10
    return f"{time.monotonic() - begun:.1f} s, {cpu:.1f} s of CPU, {most} MiB in the largest process, {together >> 10} in all"


def shared_out(process: int) -> int:
    """Return the kB that a process and those it started have in memory, what they share counted once (PSS)."""
    tree, total = [process], 0
    for each in tree:  # grows while it is gone through
        try:
            tree += map(int, Path(f"/proc/{each}/task/{each}/children").read_text().split())
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


def simulate(folder: Path, count: int) -> None:
    """Print what so many nodes cost once they are read."""
    found, chance = audit_fleet([folder]).nodes, random.Random(1)  # noqa: S311 - no secret
    known = list(found.folded)
    like = {f"r{at // 40 + 1:04}n{at % 40 + 1:03}": known[at * len(known) // count] for at in range(count)}
    figure = Figure("membw triad machine", "bytes/s", 100e9)
    begun = time.process_time()
    fleet = assemble(
        replace(
            found,
            folded={node: found.folded[one] for node, one in like.items()},
            judged={node: found.judged[one] for node, one in like.items()},
            measured={node: {figure.name: replace(figure, value=chance.gauss(1e11, 1e9))} for node in like},
            silent=(),
        )
    )
    middle = time.process_time()
    about = {"scope": "mpi", "version": "0", "made": "now"}
    page = fleet_report(fleet, template("report/fleet.html.j2"), template("report/style.css"), about)
    spent, most = time.process_time() - middle, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{count} nodes simulated: {middle - begun:.1f} s of CPU, page {len(page) >> 20} MiB in {spent:.1f} s, {most} MiB")


if __name__ == "__main__":
    main()
