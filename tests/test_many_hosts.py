"""128 ranks on eight hosts that are not there, sixteen on each: the kernels end well and every rank is where the plan has it.

The launcher is real, each host is described as article [000]'s machine, and two cores do the work of all: what is proved is
that results are right and ranks in place, not how fast anything is.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from advisor.jobs.bind import launch_or_wrap
from advisor.jobs.launcher import LaunchRequest, choose
from advisor.jobs.observe import planned_ranks
from advisor.jobs.place import place
from advisor.jobs.placement import JobShape, Placement
from advisor.jobs.results import misplaced
from tests.fakenode.lab import shim, write_hosts
from tests.fakenode.plans import file_of, machine_of
from tests.fakenode.run import STARTERS, _clean, _end, _run
from tests.kernels.mpi import built
from tests.test_two_hosts import LAUNCHERS

pytestmark = pytest.mark.slow
MPIS = [mpi if mpi == "openmpi4" else pytest.param(mpi, marks=pytest.mark.matrix) for mpi in LAUNCHERS]
"""Each takes a minute; CI has time for one."""
NAPLES = "a-r7425-2x7601-dell"
HOSTS = tuple(f"sim{number}" for number in range(1, 9))
LIMIT = 300
ARGUMENTS = {
    "mbw_mr": ("--test", "mbw_mr,sendrecv", "--sizes", "8,65536", "--repeats", "1", "--iterations", "1", "--window", "4"),
    "hpl": ("--n", "1024", "--nb", "32", "--p", "8", "--q", "16", "--repeats", "1"),
}


def plan() -> Placement:
    """Return two ranks in each of the eight NUMA nodes of each of the eight hosts."""
    shape = {"per": "numa", "per_count": 2, "threads": 1, "hosts": HOSTS}
    return place(JobShape.model_validate(shape), [machine_of(NAPLES)])


def lines(mpi: str, kernel: str, placement: Placement, folder: Path) -> list[dict[str, Any]]:
    """Return what a kernel says when its launcher's own line has ended well."""
    command = (built(mpi, kernel)[-1], *ARGUMENTS[kernel])
    name, version = LAUNCHERS[mpi]
    launch, _ = launch_or_wrap(choose((), name, version, None), placement, LaunchRequest(command, version))
    (folder / "state").mkdir()
    write_hosts(dict.fromkeys(HOSTS, file_of(NAPLES)), folder / "hosts", folder / "state")
    for file, text in launch.files.items():
        (folder / file).write_text("".join(f"{line}\n" for line in text()))
    start = STARTERS[mpi](list(launch.argv), remote=True)
    few = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    here = {"FAKENODE_HOSTS": str(folder / "hosts"), "FAKENODE_RUN": str(folder), "TMPDIR": str(folder), "FAKEAFF_NODNS": "sim"}
    variables = {**_clean(), **start.environment, **launch.environment, **few, **here, "LD_PRELOAD": str(shim())}
    try:
        status, out, errors = _run(start.argv, folder, variables, LIMIT)
    finally:
        _end(str(folder))
    assert status == 0, errors[-2000:] + out[-2000:]
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("mpi", MPIS)
def test_messages_between_eight_hosts(mpi: str, scratch: Path) -> None:
    """All 64 pairs are between two hosts, every payload arrives, and every rank is on its host and its CPU."""
    placement = plan()
    said = lines(mpi, "mbw_mr", placement, scratch)
    kinds = {(each["variant"], each["bytes"]) for each in said}
    assert kinds == {(variant, size) for variant in ("mbw_mr", "sendrecv") for size in (8, 65536)}
    assert {
        (each["pairs"], each["across"], each["hosts"], misplaced(each["places"], planned_ranks(placement))) for each in said
    } == {(64, 64, 8, None)}


@pytest.mark.parametrize("mpi", MPIS)
def test_a_system_is_solved_on_eight_hosts(mpi: str, scratch: Path) -> None:
    """HPL's residual is below 16, and every rank is on its host and its CPU."""
    placement = plan()
    (said,) = lines(mpi, "hpl", placement, scratch)
    assert (said["n"], said["p"], said["q"], said["residual"] < 16) == (1024, 8, 16, True)
    assert (len(said["places"]["host"]), misplaced(said["places"], planned_ranks(placement))) == (128, None)
