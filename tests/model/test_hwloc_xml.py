"""The XML that launchers are given is read by hwloc as the machine that it was written from."""

import os
import subprocess
from pathlib import Path

import pytest

from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import hwloc_xml, logical_numbering, ordered
from advisor.machine.topology import L3, Core, NumaNode, Topology
from tests.machines.read import machine
from tests.model.shapes import shape
from tests.model.test_logical import MANY, by_hwloc, needs_hwloc


def written(topology: Topology, folder: Path) -> Path:
    """Write a topology's XML."""
    file = folder / "written.xml"
    file.write_text(hwloc_xml(topology) or "")
    return file


@needs_hwloc
@pytest.mark.parametrize("name", MANY)
def test_hwloc_counts_cores_threads_caches_and_nodes_in_our_order(name: str, tmp_path: Path) -> None:
    """Of the part of every machine that may be used."""
    topology = machine(name).topology
    if topology is None or hwloc_xml(topology) is None:
        pytest.skip("it shows no cores")
    file, known, inside = written(topology, tmp_path), logical_numbering(topology), topology.inside
    assert by_hwloc(file, "core", len(known.cores)) == list(known.cores)
    assert by_hwloc(file, "pu", len(known.pus)) == [CpuSet([cpu]) for cpu in known.pus]
    assert by_hwloc(file, "l3cache", len(inside.l3)) == list(ordered((part.cpuset for part in inside.l3), known))
    assert by_hwloc(file, "package", len(inside.packages)) == list(ordered((part.cpuset for part in inside.packages), known))


@needs_hwloc
def test_a_node_whose_cpus_are_no_other_part_is_a_group(tmp_path: Path) -> None:
    """Two sockets of four NUMA nodes without an L3."""
    file = written(shape(2, 4, 0, 8), tmp_path)
    environment = {**os.environ, "HWLOC_XMLFILE": str(file), "HWLOC_THISSYSTEM": "0"}
    done = subprocess.run(
        ["hwloc-calc", "--number-of", "group", "all"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "8"


def test_parts_that_cross_each_other_are_not_written() -> None:
    """No tree can hold an L3 of cores 1 and 2 beside one of cores 0 and 1, and no machine without cores is written."""
    every = CpuSet([0, 1, 2])
    cores = tuple(Core(os_index=cpu, cpuset=CpuSet([cpu])) for cpu in every)
    crossing = Topology(
        nodes=(NumaNode(os_index=0, cpuset=every, near=every, memory=None),),
        l3=(L3(cpuset=CpuSet([0, 1]), size=None), L3(cpuset=CpuSet([1, 2]), size=None)),
        cores=cores,
        pus=every,
        allowed=every,
        allowed_nodes=CpuSet([0]),
    )
    assert (hwloc_xml(crossing), hwloc_xml(crossing.model_copy(update={"l3": (), "cores": ()}))) == (None, None)
