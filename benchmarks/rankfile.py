"""How fast the rankfile of 1,048,576 ranks is written, and in how much memory: ``python benchmarks/rankfile.py``."""

import resource
import sys
import tempfile
import time
from pathlib import Path

from advisor.jobs.launcher import LaunchRequest, launchers
from advisor.jobs.placement import HostPlan, JobShape, NodePlan, Placement, Slot
from advisor.machine.cpuset import CpuSet
from tests.model.shapes import shape

HOSTS, RANKS = 8192, 128


def plan() -> Placement:
    """Return a plan of 8192 hosts with 128 ranks each, in an order that no short form gives."""
    slots = tuple(
        Slot(cpus=CpuSet([cpu, cpu + 128]), cores=1, nodes=(cpu // 16,), memory=(cpu // 16,), l3=(cpu // 4,), socket=cpu // 64)
        for cpu in reversed(range(RANKS))
    )
    names = [f"node{i:05d}" for i in range(HOSTS)]
    return Placement(
        job=JobShape(ranks_per_node=RANKS, hosts=tuple(names)),
        strategy="compact",
        why=(),
        plans=(NodePlan(topology=shape(2, 4, 16, 64, threads=2), slots=slots),),
        hosts=tuple(HostPlan(name=name, plan=0, ranks=RANKS) for name in names),
    )


def main() -> None:
    """Print seconds and memory for both versions of Open MPI."""
    placement = plan()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for launcher, version in ((launchers()["openmpi4"], "4.1.4"), (launchers()["openmpi5"], "5.0.11")):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            made = launcher.launch(placement, LaunchRequest(command=("./app",), version=version))
            for name, lines in made.files.items():
                with (Path(folder) / name).open("w") as file:
                    file.writelines(f"{line}\n" for line in lines())
            took = time.perf_counter() - start
            size = sum(file.stat().st_size for file in Path(folder).iterdir())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        sys.stdout.write(
            f"{launcher.name}: {made.form}, {placement.size} ranks, {size / 1e6:.1f} MB in {took:.2f} s; "
            f"{peak / 1024:.0f} MB at most, {before / 1024:.0f} MB of it before\n"
        )


if __name__ == "__main__":
    main()
