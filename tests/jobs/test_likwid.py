"""The lines of likwid-mpirun: read by likwid itself where it is installed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given

from advisor.errors import BadValue
from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import likwid as launcher
from advisor.jobs.line import parse
from advisor.jobs.placement import Placement
from advisor.jobs.predict import predict
from tests.examples import examples
from tests.fakenode import likwid
from tests.jobs.plan import bindings, node, planned
from tests.jobs.strategies import placements
from tests.model.shapes import machine, shape

ROME = shape(2, 4, 8, 32)
SMT = shape(2, 2, 4, 8, threads=2)
here = pytest.mark.skipif(not likwid.available(), reason="likwid is not installed")


@examples(60)
@given(placements())
def test_every_written_line_is_predicted_and_is_the_plan(placement: Placement) -> None:
    """On one host and on several that are alike; elsewhere it is the wrapper's."""
    assume(len({plan.topology for plan in placement.plans}) == 1)
    assume(len({host.ranks for host in placement.hosts}) == 1)
    made = launcher.launch(placement, LaunchRequest(("./app",)))
    assume(made.form != "wrapper")
    files = {file: "".join(f"{line}\n" for line in lines()) for file, lines in made.files.items()}
    done = predict(parse(list(made.argv)), machine(placement.plans[0].topology), files)
    assume(done.unclear is None)
    assert (done.refused, {rank.rank: (rank.host, rank.cpus) for rank in done.ranks or ()}) == (None, bindings(placement))


def test_threads_have_cores_of_their_own_before_second_threads() -> None:
    """The list is in the order in which threads take it; where hardware threads count, core after core."""
    plan = planned((node(SMT, "0-3,16-19", "4-7,20-23"),), (None, 0, 2))
    assert launcher.launch(plan, LaunchRequest(("./app",))).argv[:5] == (
        "likwid-mpirun",
        "-np",
        "2",
        "-pin",
        "0-3,16-19_4-7,20-23",
    )
    used = plan.model_copy(update={"job": plan.job.model_copy(update={"smt": "use"})})
    assert launcher.launch(used, LaunchRequest(("./app",))).argv[4] == "0,16,1,17,2,18,3,19_4,20,5,21,6,22,7,23"


def test_hosts_with_unlike_numbers_of_ranks_are_refused() -> None:
    """It gives every host as many as there are lists."""
    plan = planned((node(ROME, "0-3", "4-7"),), ("a", 0, 2), ("b", 0, 1))
    with pytest.raises(BadValue, match="likwid-mpirun starts the same number of ranks on every host"):
        launcher.launch(plan, LaunchRequest(("./app",)))


def test_hosts_have_a_slot_for_every_thread() -> None:
    """A host with fewer slots than the pinned threads of its ranks is refused."""
    plan = planned((node(ROME, "0-3", "4-7"),), ("a", 0, 2), ("b", 0, 2))
    made = launcher.launch(plan, LaunchRequest(("./app",)))
    assert made.argv[3:7] == ("-mpi", "openmpi", "-hostfile", "hostfile")
    assert list(made.files["hostfile"]()) == ["a slots=64", "b slots=64"]


def test_variables_with_a_comma_go_before_the_line() -> None:
    """Seen: -e UCX_NET_DEVICES=a,b arrived as a."""
    wish = LaunchRequest(("./app",), environment={"OMP_NUM_THREADS": "4", "NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1"})
    made = launcher.launch(planned((node(ROME, "0-3"),), (None, 0, 1)), wish)
    assert (made.environment, made.argv[3:5]) == ({"NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1"}, ("-e", "OMP_NUM_THREADS=4"))
    assert any(note.startswith("likwid-mpirun truncates variables at a comma") for note in made.notes)


def test_the_wrapper_is_freed_of_likwids_own_pinning() -> None:
    """The library that it preloads would pin the threads that the wrapper's program starts."""
    made = launcher.launch(planned((node(ROME, "0-3"),), (None, 0, 1)), LaunchRequest(("./app",), wrap=True))
    assert " ".join(made.argv[3:]) == "env -u LD_PRELOAD -u LIKWID_PIN -u KMP_AFFINITY sh bind-wrapper.sh ./app"


@here
@pytest.mark.slow
@pytest.mark.parametrize("seen", [ROME, SMT], ids=["rome", "smt"])
def test_likwid_mpirun_gives_each_rank_the_list_of_the_plan(seen: object) -> None:
    """What it says that it starts, on a machine that is not there: likwid-pin with these CPUs for each rank."""
    topology = ROME if seen is ROME else SMT
    cpus = ("0-3", "8-11", "24-27") if seen is ROME else ("0-3,16-19", "4,20", "12-13")
    plan = planned((node(topology, *cpus),), (None, 0, 3))
    made = launcher.launch(plan, LaunchRequest(("true",)))
    done = likwid.run(topology, made.argv[0], "-d", "-mpi", "openmpi", *made.argv[1:])
    found = re.findall(r"EXEC \(Rank (\d)\): \S+/likwid-pin -q\s+-c (\S+)", done.stdout)
    listed = {int(rank): {int(cpu) for cpu in text.split(",")} for rank, text in found}
    assert listed == {rank: set(held or ()) for rank, (_, held) in bindings(plan).items()}


PROGRAM = """#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
int main(void) {
#pragma omp parallel
#pragma omp critical
    printf("%d:%d\\n", omp_get_thread_num(), sched_getcpu());
    return 0;
}
"""


@here
@pytest.mark.parametrize("variables", [{}, {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}], ids=["plain", "places"])
def test_threads_really_run_where_the_list_has_them(variables: dict[str, str], tmp_path: Path) -> None:
    """On this machine's own CPUs, the last first: and what OpenMP is told beside it does not change that."""
    cpus = sorted(os.sched_getaffinity(0), reverse=True)[:2]
    if len(cpus) < 2 or len(os.sched_getaffinity(0)) != os.cpu_count() or not shutil.which("cc"):
        pytest.skip("two CPUs and a compiler are needed, and no cpuset around them")
    (tmp_path / "omp.c").write_text(PROGRAM)
    built = subprocess.run(["cc", "-fopenmp", "-o", tmp_path / "omp", tmp_path / "omp.c"], capture_output=True, check=False)
    if built.returncode:
        pytest.skip("the compiler has no OpenMP")
    listed = ",".join(map(str, cpus))
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_", "KMP_"))}
    argv = ["likwid-pin", "-q", "-c", listed, str(tmp_path / "omp")]
    done = subprocess.run(argv, env=clean | variables, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == [f"{thread}:{cpu}" for thread, cpu in enumerate(cpus)]
