"""Lines for GPU nodes run for real, on nodes that are not here: each rank's CPUs and the GPU that it is shown."""

import tempfile
from pathlib import Path

import pytest

from advisor.jobs.bind import Binding, bind
from advisor.jobs.started.hosts import HostOptions, LauncherOptions
from tests.fakenode import run, slurm
from tests.fakenode.lab import probe
from tests.jobs.place.nodes import gpu_node, gpu_node_file
from tests.jobs.place.test_gpu_centres import CENTRES, Centre
from tests.machines import nodemaps, sysfs
from tests.machines.hwloc_xml import available, xml
from tests.machines.tree import write

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not available(), reason="lstopo is not installed")]


def seen_by_hwloc(node: str, folder: Path) -> Path:
    """Return the XML that launchers read of a node."""
    path = folder / f"{node}.xml"
    if gpu_node(node).startswith(b"<?xml"):
        path.write_bytes(gpu_node(node))
        return path
    with tempfile.TemporaryDirectory(dir=folder) as root:
        write(sysfs.root(getattr(nodemaps, node)()), Path(root))
        path.write_text(xml(Path(root)) or "")
    return path


def line_of(centre: Centre, launcher: str, hosts: str, folder: Path, *, exact: bool = False) -> Binding:
    """Return the line that starts the probe on some hosts that are this node."""
    there = HostOptions(sources=(str(gpu_node_file(centre.node, folder)),), hosts=hosts)
    how = LauncherOptions(launcher, version={"srun": "22.05.8", "openmpi4": "4.1.4"}.get(launcher), exact=exact)
    return bind([probe()], centre.job, there, how, environment={})


def told(made: Binding) -> list[tuple[int, str, str]]:
    """Return of each rank its number, its CPUs and the number of its GPU, as planned."""
    variable = next(name for name in made.settings.each if name.endswith(("_DEVICES", "_MASK")))
    numbers = made.settings.each[variable]
    return [(place.rank, str(place.slot.cpus), numbers[place.local]) for place in made.placement.ranks()]


def observed(found: dict[int, run.Observed], variable: str) -> list[tuple[int, str, str]]:
    """Return the same as the ranks saw it."""
    return [(rank, str(each.cpus), each.environment[variable]) for rank, each in sorted(found.items())]


@pytest.mark.skipif(not slurm.available(), reason="Slurm is not installed (slurmd, slurmctld, slurm-client)")
@pytest.mark.parametrize("name", ["LUMI-G", "Polaris", "JUWELS Booster", "Leonardo", "DGX H100"])
def test_tasks_of_slurm_have_the_cpus_and_the_gpu_of_the_plan(name: str, scratch: Path) -> None:
    """Masks, and -c where the cores are filled in order; Slurm's own CUDA_VISIBLE_DEVICES of the step is replaced."""
    centre = CENTRES[name]
    made = line_of(centre, "srun", "n1,n2", scratch, exact="map_ldom" in centre.bind)
    variable, values = centre.gpus
    file = seen_by_hwloc(centre.node, scratch)
    with slurm.cluster({"n1": file, "n2": file}, gpus=len(values)) as cluster:
        assert observed(cluster.observe(made.launch, ("n1", "n2")), variable) == told(made)


@pytest.mark.skipif(not run.available("openmpi4"), reason="Open MPI 4 is not installed")
@pytest.mark.parametrize("name", ["LUMI-G", "Perlmutter", "JUWELS Booster", "Leonardo", "DGX H100", "Tuolumne"])
def test_ranks_of_open_mpi_have_the_cpus_and_the_gpu_of_the_plan(name: str, scratch: Path) -> None:
    """By a short form where it is the plan; elsewhere each rank binds itself, by taskset in the line."""
    centre = CENTRES[name]
    made = line_of(centre, "openmpi4", "n1,n2", scratch)
    file = seen_by_hwloc(centre.node, scratch)
    assert dict(made.launch.files) == {}
    found = run.observe("openmpi4", made.launch, {"n1": file, "n2": file})
    assert observed(found, centre.gpus[0]) == told(made)
