"""Every strategy on published machines, under every launcher that can be simulated: each rank is where the plan has it.

The machines are the hwloc XMLs that others have published (ADVISOR_CORPUS names their folder). docs/binding-matrix.md
has the figures of a run of all of them.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from advisor.jobs.launcher import Launch, LaunchRequest, launchers
from advisor.jobs.placement import Placement
from tests.fakenode import hydra, slurm
from tests.fakenode.lab import probe
from tests.fakenode.real import FILES, Case, cases, usable, with_gpus
from tests.fakenode.run import LaunchFailedError, Observed, available, observe
from tests.fakenode.tally import note, tallied

assert hydra  # its import makes MPICH and Intel MPI known to observe()
pytestmark = pytest.mark.corpus

VERSIONS: Mapping[str, str | None] = {"openmpi4": "4.1.4", "openmpi5": "5.0.11", "mpich": None, "intelmpi": None, "srun": "22.05"}
HERE = [
    pytest.param(name, marks=pytest.mark.skipif(not available(name), reason=f"{name} is not installed"))
    for name in ("openmpi4", "openmpi5", "mpich", "intelmpi")
]
FEW = ("hwloc-linux-16em64t-4s2c2t-offlines", "utillinux-sparc64")
"""Few and odd enough for every run: CPUs offline, numbers with gaps. CI asks them all."""
NAMES = [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in FILES]
TOGETHER = 8
"""Machines in one Slurm: each is two of its nodes."""
GROUPS = [tuple(FILES)[i : i + TOGETHER] for i in range(0, len(FILES), TOGETHER)]

NOT_BOUND: Mapping[tuple[str, str], str] = {}
"""Launcher and machine where the launcher is at fault and no form does it; so far there is one everywhere."""

Look = Callable[[Launch], Mapping[int, Observed]]


def line(launcher: str, placement: Placement) -> Launch:
    """Return a plan's launch; in its exact form where libnuma would look for the short one's nodes on this machine."""
    environment = {"OMP_NUM_THREADS": str(placement.job.threads)}
    wish = LaunchRequest((probe(),), version=VERSIONS[launcher], environment=environment)
    made = launchers()[launcher].launch(placement, wish)
    return launchers()[launcher].launch(placement, replace(wish, exact=True)) if made.form == "map_ldom" else made


def tried(launcher: str, name: str, case: Case, look: Look) -> list[str]:
    """Launch a case and return what went wrong, a line each."""
    made = line(launcher, case.placement)
    with tempfile.TemporaryDirectory(prefix="advisor-pci-") as folder:
        launch = with_gpus(made, case.placement, Path(folder))
        try:
            wrong = tallied(name, launch, case.placement, partial(look, launch), asked=len(case.asked))
        except LaunchFailedError as error:
            wrong = [str(error)]
    return [f"{name} {case.asked[0]} {made.form}: {each}" for each in wrong[:3]]


def listed(launcher: str, name: str) -> bool:
    """Whether a launcher is known to fail on a machine; it is noted, too."""
    reason = NOT_BOUND.get((launcher, name))
    if reason:
        note(name, launcher, key="listed", listed=reason)
    return reason is not None


@pytest.mark.parametrize("launcher", HERE)
@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_on_a_published_machine(launcher: str, name: str) -> None:
    """On one host and on two, with whole cores and with hardware threads: not one rank elsewhere than planned."""
    if not usable(name):
        pytest.skip("one core or none")
    if listed(launcher, name):
        pytest.skip(NOT_BOUND[launcher, name])

    def look(case: Case, launch: Launch) -> Mapping[int, Observed]:
        return observe(launcher, launch, dict.fromkeys(case.placement.job.hosts or (None,), FILES[name]))

    planned = cases(name)
    assert planned
    faults = [fault for case in planned for fault in tried(launcher, name, case, partial(look, case))]
    assert faults == []


def faults_in_slurm(names: tuple[str, ...]) -> list[str]:
    """Start a Slurm with two nodes of each machine, launch every case of each, and return what went wrong."""
    nodes = {name: (f"n{2 * i + 1}", f"n{2 * i + 2}") for i, name in enumerate(names)}
    faults: list[str] = []
    with slurm.cluster({node: FILES[name] for name, pair in nodes.items() for node in pair}) as cluster:
        for name, pair in nodes.items():
            for case in cases(name, pair, pair[:1]):
                look = partial(cluster.observe, nodes=case.placement.job.hosts)
                faults += tried("srun", name, case, look)
    return faults


@pytest.mark.skipif(not slurm.available(), reason="Slurm is not installed (slurmd, slurmctld, slurm-client)")
@pytest.mark.parametrize(
    "group", [FEW, *(pytest.param(group, marks=pytest.mark.slow) for group in GROUPS)], ids=lambda group: group[0]
)
def test_every_strategy_on_published_machines_in_slurm(group: tuple[str, ...]) -> None:
    """All machines of a group are nodes of one Slurm."""
    names = tuple(name for name in group if name in FILES and usable(name) and not listed("srun", name))
    if not names:
        pytest.skip("the machines have one core or none")
    assert faults_in_slurm(names) == []
