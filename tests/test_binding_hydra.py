"""MPICH and Intel MPI as they are, on machines that are not here: what their ranks observe is what was planned."""

from pathlib import Path
from types import ModuleType

import pytest

from advisor.jobs.launcher import Launch, LaunchRequest
from advisor.jobs.launchers import intelmpi, mpich
from advisor.jobs.placement import Placement
from tests.fakenode import hydra
from tests.fakenode.lab import probe
from tests.fakenode.plans import SEEDS, file_of, machine_of, plans
from tests.fakenode.run import LaunchFailedError, available, observe
from tests.fakenode.tally import tallied
from tests.jobs.readers.mpich import parse

assert hydra
LAUNCHERS = {"mpich": mpich, "intelmpi": intelmpi}
FEW = ("a-r7425-2x7601-dell", "b-c6525-2x7402-nps4", "c-c6320-2x2660v3")
MORE = ("uneven-l3", "job-half-v2", "job-cuts-l3-v2", "offline", "memoryless", "smt-disabled", "dies", "cxl", "two-hcas")
MANY = [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in (*SEEDS, *MORE)]
TWO = [pytest.param(name, marks=() if name == FEW[1] else pytest.mark.slow) for name in (*SEEDS, *MORE)]


@pytest.fixture(params=LAUNCHERS)
def launcher(request: pytest.FixtureRequest) -> str:
    """Return each launcher that is here; the others are skipped, and said to be."""
    if not available(request.param):
        pytest.skip(f"{request.param} is not installed below ~/.cache/advisor-mpi")
    return str(request.param)


def wrong(
    launcher: str, names: tuple[str, ...], placement: Placement, wish: LaunchRequest, *, again: bool = True
) -> tuple[Launch, str]:
    """Return how a plan was launched, and what is wrong with it: the empty text where nothing is."""
    module: ModuleType = LAUNCHERS[launcher]
    launch: Launch = module.launch(placement, wish)
    machines: dict[str | None, Path] = dict(zip(placement.job.hosts or (None,), map(file_of, names), strict=True))
    try:
        found = tallied(names[0], launch, placement, lambda: observe(launcher, launch, machines))
    except LaunchFailedError as error:
        if again and _CRASHED in str(error):
            return wrong(launcher, names, placement, wish, again=False)
        return launch, str(error)
    return launch, "; ".join(found[:4])


_CRASHED = "process manager error waiting for completion"
"""What mpiexec says where its own proxy crashed: MPICH 5.0.2's does, in libc, once in some thousand starts."""


def tried(launcher: str, names: tuple[str, ...], hosts: tuple[str, ...]) -> list[str]:
    """Launch every plan of some machines in its short and in its exact form; return what went wrong."""
    faults: list[str] = []
    for words, placement in plans(names, hosts, brief=names[0] in FEW):
        environment = {"OMP_NUM_THREADS": str(placement.job.threads)}
        done: set[str] = set()
        for exact in (False, True):
            wish = LaunchRequest((probe(),), exact=exact, environment=environment)
            launch, fault = wrong(launcher, names, placement, wish) if not exact or "wrapper" not in done else (None, "")
            done.add(launch.form if launch else "")
            faults += [f"{names} {words} {launch.form if launch else ''}: {fault}"] if fault else []
    return faults


@pytest.mark.parametrize("name", MANY)
def test_ranks_on_one_host_are_where_the_plan_says(launcher: str, name: str) -> None:
    """Every strategy that fits the machine, in the short form and in the exact one."""
    assert machine_of(name).topology
    assert tried(launcher, (name,), ()) == []


@pytest.mark.parametrize("name", TWO)
def test_ranks_on_two_hosts_alike_are_where_the_plan_says(launcher: str, name: str) -> None:
    """Daemons on both hosts bind by the same words."""
    assert tried(launcher, (name, name), ("n1", "n2")) == []


@pytest.mark.parametrize("other", TWO)
def test_ranks_on_hosts_that_differ_are_where_the_plan_says(launcher: str, other: str) -> None:
    """Each host has its own list, whatever the other one is."""
    assert tried(launcher, (other, FEW[0]), ("n1", "n2")) == []


def test_the_wrapper_binds_where_the_launcher_does_not(launcher: str) -> None:
    """On hosts that differ, by the launcher's own local ranks."""
    names, hosts = (FEW[1], FEW[0]), ("n1", "n2")
    for words, placement in plans(names, hosts, brief=True):
        launch, fault = wrong(launcher, names, placement, LaunchRequest((probe(),), wrap=True))
        assert (words, launch.form, fault) == (words, "wrapper", "")


@pytest.mark.parametrize(
    ("bind", "over"),
    [
        ("core:4", "numa"),
        ("core:2", "socket"),
        ("l3cache", "numa"),
        ("hwthread", "hwthread"),
        ("core", "l3cache"),
        ("core:5", "core:5"),
    ],
)
@pytest.mark.parametrize("name", ["b-c6525-2x7402-nps4", pytest.param("a-r7425-2x7601-dell-smt", marks=pytest.mark.slow)])
def test_the_model_of_hydra_does_as_hydra_does(name: str, bind: str, over: str) -> None:
    """Also where ranks go round a second and a third time."""
    if not available("mpich"):
        pytest.skip("mpich is not installed below ~/.cache/advisor-mpi")
    topology = machine_of(name).topology
    assert topology
    argv = ("mpiexec", "-n", "20", "-bind-to", bind, "-map-by", over, probe())
    seen = observe("mpich", Launch("mpich", None, "", argv), {None: file_of(name)})
    modelled = parse(argv, {}, {None: topology})
    assert {rank: each.cpus for rank, each in seen.items()} == {rank: cpus for rank, (_, cpus) in modelled.items()}
