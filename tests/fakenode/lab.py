"""The workshop: the shim and the probe, built once, and the description of each simulated host."""

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from advisor.machine.cpuset import CpuSet
from advisor.machine.sources.hwloc import machine_from_xml

HERE = Path(__file__).parent
AGENT = HERE / "agent.sh"


@cache
def workshop() -> Path:
    """Return the folder with shim.so and probe, built with the compiler that is here; it goes when the tests end."""
    folder = Path(tempfile.mkdtemp(prefix="advisor-fakenode-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    warn = ("-O1", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["cc", *warn, "-shared", "-fPIC", "-o", folder / "shim.so", HERE / "shim.c", "-ldl"], check=True)
    subprocess.run(["cc", *warn, "-o", folder / "probe", HERE / "probe.c"], check=True)
    return folder


def shim() -> Path:
    """Return what is preloaded; where its variables are not set, programs are let alone."""
    return workshop() / "shim.so"


def probe() -> str:
    """Return the program to launch: it says its rank, its host and the CPUs it may use."""
    return str(workshop() / "probe")


@cache
def _limits(xml: Path) -> tuple[CpuSet, int]:
    """Return the CPUs that a machine's kernel allows, and how many NUMA nodes it has."""
    topology = machine_from_xml(xml.read_bytes(), xml.name).topology
    assert topology is not None
    return topology.pus & topology.allowed, len(topology.nodes)


def host_environment(xml: Path, state: Path, name: str | None) -> dict[str, str]:
    """Return the variables that make this machine the host that an XML describes."""
    cpus, nodes = _limits(xml)
    made = {
        "HWLOC_XMLFILE": str(xml),
        "HWLOC_THISSYSTEM": "1",  # else hwloc refuses to bind on what it takes for another machine
        "LD_PRELOAD": str(shim()),
        "FAKEAFF_CPUS": str(cpus),
        "FAKEAFF_NODES": str(nodes),
        "FAKEAFF_DIR": str(state),
    }
    return made | ({"FAKEHOST": name} if name else {})


def write_hosts(machines: Mapping[str | None, Path], folder: Path, state: Path) -> None:
    """Write what the agent reads of each host."""
    folder.mkdir()
    for name, xml in machines.items():
        if name:
            variables = host_environment(xml, state, name)
            text = "".join(f"export {key}='{value}'\n" for key, value in variables.items())
            (folder / name).write_text(text)
