"""Builds a fleet with planted oddities and prints what its audit costs, cold and warm: python -m benchmarks.fleet 1000.

Nodes are of the seeds of the tests, each with a name, serial numbers, MACs, clocks, counters and free memory of its own.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fleet.planted import plant


def main() -> None:
    """Print a line for each look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="the fleet's folder, kept, and used again where it is there")
    asked = parser.parse_args()
    folder = asked.keep or Path(tempfile.mkdtemp())
    if not folder.is_dir() or not any(folder.iterdir()):
        begun = time.monotonic()
        plant(folder, asked.seed, nodes=asked.nodes)
        print(f"{asked.nodes} nodes made in {time.monotonic() - begun:.0f} s")
    (folder / "fleet-index.zst").unlink(missing_ok=True)
    for look in ("cold", "warm"):
        print(f"{look}: {cost(folder)}", flush=True)
    if asked.keep is None:
        shutil.rmtree(folder)


def cost(folder: Path) -> str:
    """Return what one audit takes: wall time, CPU time and the most memory of a process."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    argv = [sys.executable, "-m", "advisor", "fleet", "audit", str(folder), "-o", os.devnull]
    subprocess.run(argv, check=True)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{wall:.1f} s, {cpu:.1f} s of CPU, {after.ru_maxrss >> 10} MiB in the largest process"


if __name__ == "__main__":
    main()
