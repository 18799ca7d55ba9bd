"""LIKWID on a machine that is not there: its own file of a topology, and the shim, give it sockets, memories and caches."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import logical_numbering
from advisor.machine.topology import Topology
from tests.fakenode.lab import shim

TOPOLOGY = "etc/likwid_topo.cfg"


def available() -> bool:
    """Whether likwid-pin and likwid-mpirun are installed, and what the shim needs built."""
    return all(map(shutil.which, ("likwid-pin", "likwid-mpirun", "cc")))


def version() -> str:
    """Return its version: 5.2.2."""
    done = subprocess.run(["likwid-pin", "-v"], capture_output=True, text=True, check=True)
    return done.stdout.split("Version ")[1].split()[0]


def topology_lines(seen: Topology) -> Iterator[str]:
    """Yield what likwid-genTopoCfg would write on the machine, as far as likwid-pin reads it."""
    known, threads = logical_numbering(seen), max(len(core.cpuset) for core in seen.cores)
    about = {"model": 1, "family": 25, "osname": "AMD EPYC", "features": "FP", "architecture": "x86_64", "clock": "2500000000.0"}
    zero = ("perf_width_ctr", "vendor", "stepping", "supportClientmem", "isIntel", "perf_num_fixed_ctr", "perf_version")
    more = ("perf_num_ctr", "featureFlags", "turbo", "supportUncore", "part")
    yield from (f"cpuid_info {name} = {value}" for name, value in {**about, **dict.fromkeys((*zero, *more), 0)}.items())
    counts = {"numHWThreads": len(seen.pus), "numSockets": len(seen.packages), "numThreadsPerCore": threads, "numDies": 0}
    counts |= {"numCoresPerSocket": len(seen.cores) // len(seen.packages), "numCacheLevels": 3}
    yield from (f"cpuid_topology {name} = {value}" for name, value in counts.items())
    last = len(seen.l3[0].cpuset) if seen.l3 else threads
    for level, (kind, size, share) in enumerate(
        (("DATA", 1 << 15, threads), ("UNIFIED", 1 << 20, threads), ("UNIFIED", 1 << 25, last))
    ):
        facts = {"type": f"{kind}CACHE", "associativity": 8, "sets": 64, "lineSize": 64, "size": size, "threads": share}
        yield from (
            f"cpuid_topology cacheLevels {level + 1} {name} = {value}" for name, value in {**facts, "inclusive": 0}.items()
        )
    for cpu in seen.pus:
        core = next(core.cpuset for core in seen.cores if cpu in core.cpuset)
        facts = {"threadId": tuple(core).index(cpu), "coreId": known.core_of[cpu], "packageId": seen.package_of(CpuSet([cpu]))}
        facts |= {"apicId": cpu, "dieId": 0}
        yield from (f"cpuid_topology threadPool {cpu} {name} = {value}" for name, value in facts.items())
    yield f"numa_info numberOfNodes = {len(seen.nodes)}"
    for number, node in enumerate(seen.nodes, 1):
        facts = {"id": node.os_index, "numberOfDistances": len(seen.nodes), "totalMemory": 32_000_000, "freeMemory": 12_000_000}
        facts |= {"numberOfProcessors": len(node.cpuset)}
        facts |= {f"distances {other}": 10 if other == number - 1 else 20 for other in range(len(seen.nodes))}
        facts |= {f"processors {place}": cpu for place, cpu in enumerate(_of_memory(node.cpuset, seen), 1)}
        yield from (f"numa_info nodes {number} {name} = {value}" for name, value in facts.items())


def _of_memory(cpus: CpuSet, seen: Topology) -> Iterator[int]:
    """Yield a memory's CPUs as likwid lists them: cores by their first threads' numbers (src/numa_hwloc.c, hwloc_numa_init)."""
    for core in sorted((core.cpuset for core in seen.cores), key=lambda core: core.first or 0):
        yield from (cpu for cpu in core if cpu in cpus)


def run(seen: Topology, *argv: str, allowed: str | None = None) -> "subprocess.CompletedProcess[str]":
    """Run a program of likwid's on a machine, in a folder of its own; ``allowed`` narrows its CPUs."""
    with tempfile.TemporaryDirectory(prefix="advisor-likwid-") as name:
        folder = Path(name)
        (folder / "etc").mkdir()
        (folder / "state").mkdir()
        (folder / TOPOLOGY).write_text("\n".join(topology_lines(seen)) + "\n")
        fake = {"FAKEAFF_CPUS": allowed or str(seen.pus), "FAKEAFF_DIR": str(folder / "state"), "FAKEAFF_SYS": name}
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "LD_PRELOAD": str(shim()), "PWD": name}
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "OMPI_", "SLURM_", "PBS_"))}
        return subprocess.run(
            argv,
            cwd=folder,
            env={**clean, **fake, **root, "TMPDIR": name},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


def listed(seen: Topology, expression: str) -> tuple[int, ...] | None:
    """Return the CPUs of an expression in their order, as likwid-pin lists them; None of one that it refuses."""
    done = run(seen, "likwid-pin", "-p", "-c", expression)
    last = done.stdout.strip().splitlines()[-1:] or [""]
    return tuple(map(int, last[0].split(","))) if done.returncode == 0 and last[0].replace(",", "").isdigit() else None
