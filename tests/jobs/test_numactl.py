"""Lines of numactl and taskset: what the real programs do with them on machines that are not there is what lint says."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from advisor.errors import BadValue
from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import numactl
from advisor.jobs.line import parse
from advisor.jobs.lint import lint
from advisor.jobs.predict import predict
from tests.fakenode.lab import host_environment, probe
from tests.fakenode.plans import file_of, machine_of
from tests.fakenode.slurm import write_nodes
from tests.jobs.plan import node, planned
from tests.model.shapes import shape

ROME = shape(2, 4, 8, 32)
EPYC = "epyc-nps4-smt-linear"
SEEN = {
    "numactl -C 0-3": "0-3",
    "numactl -C +2,4": "2,4",
    "numactl -C !0-59": "60-63",
    "numactl -C all": "0-63",
    "numactl -C 900": None,
    "numactl -C 0-3:2": None,
    "numactl -C1,2": "1-2",
    "numactl --physcpubind=0,2 --localalloc": "0,2",
    "numactl -c 1": "4-7,36-39",
    "numactl --cpubind=1": "4-7,36-39",
    "numactl -N 1": "4-7,36-39",
    "numactl -N all": "0-63",
    "numactl -N +1": "4-7,36-39",
    "numactl -N !0": "4-31,36-63",
    "numactl -N 9": None,
    "numactl -N 0-9": None,
    "numactl -N 0-1 -C 2": "2",
    "numactl -C 2 -N 1": "4-7,36-39",
    "taskset -c 9-10 numactl -C 8-9": None,
    "taskset -c 9-10 numactl --all -C 8-9": "8-9",
    "taskset -c 9-10 numactl -C +0": "9",
    "taskset -c 9-10 numactl -N 2": "8-11,40-43",
    "numactl -C 0 taskset -c 5": "5",
    "numactl -C 0 numactl -C 5": None,
    "numactl -N 1 numactl -C +0": "4",
    "taskset -c 0-6:2": "0,2,4,6",
    "taskset -ac 3": "3",
    "taskset --cpu-list 3": "3",
    "taskset 0xf0": "4-7",
    "taskset f0": "4-7",
    "taskset -c 0,900": "0",
    "taskset -c 900": None,
}
"""What a program had after each on the machine (numactl 2.0.16, util-linux 2.38.1); None where it was not started."""


@pytest.mark.parametrize("line", SEEN)
def test_a_line_is_predicted_as_it_was_seen(line: str) -> None:
    """Where it ended with an error, nothing starts."""
    done = predict(parse([f"{line} ./app"]), machine_of(EPYC), {})
    found = str(done.ranks[0].cpus) if done.ranks else None
    assert (found, done.refused is not None, done.unclear) == (SEEN[line], SEEN[line] is None, None)


@pytest.mark.slow
@pytest.mark.skipif(not all(map(shutil.which, ("numactl", "taskset", "cc"))), reason="numactl, taskset or a compiler lacks")
def test_numactl_and_taskset_do_what_they_did(tmp_path: Path) -> None:
    """The programs that are here, asked again."""
    xml = file_of(EPYC)
    (tmp_path / "state").mkdir()
    write_nodes(tmp_path / "root", xml)
    fake = {**host_environment(xml, tmp_path / "state", None), "FAKEAFF_SYS": str(tmp_path / "root"), "FAKEAFF_MEMS": "1"}
    found = {}
    for line in SEEN:
        argv = [*shlex.split(line), probe()]
        done = subprocess.run(argv, env={**os.environ, **fake}, capture_output=True, text=True, check=False)
        found[line] = done.stdout.partition("cpus=")[2].split()[0] if done.returncode == 0 else None
    assert found == SEEN


def test_a_rank_whose_launcher_bound_it_elsewhere_is_not_started() -> None:
    """Numactl takes no CPU that the launcher took away; --all, and NUMA nodes, set what they name."""
    line = "mpirun -np 2 --map-by core --bind-to core numactl {} ./a"
    refused = predict(parse([line.format("-C 0-3")], "5.0.11"), machine_of(EPYC), {})
    assert "it accepts only the CPUs that it is started on" in str(refused.refused)
    made = predict(parse([line.format("--all -C 0-3")], "5.0.11"), machine_of(EPYC), {})
    assert [str(rank.cpus) for rank in made.ranks or ()] == ["0-3", "0-3"]


def test_one_process_is_explained_in_words() -> None:
    """Its options, what it has, and the threads that are too many for it."""
    found = lint(["OMP_NUM_THREADS=8 numactl -C 0-3 -l ./app"], machine_of(EPYC))
    assert [each.says for each in found.options] == [
        "gives each rank 8 threads",
        "runs on the CPUs 0-3",
        "takes memory from the node where it runs",
    ]
    assert found.binding == "1 rank, bound to 4 cores (CPUs of rank 0: 0-3)."
    assert [each.id for each in found.warnings] == ["across-l3", "too-many-threads"]


@pytest.mark.parametrize(
    ("memory", "words"), [(None, "--localalloc"), ((3,), "--preferred=3"), ((2, 3), "--membind=2,3")], ids=str
)
def test_one_process_has_its_cpus_and_its_memory(memory: tuple[int, ...] | None, words: str) -> None:
    """Memory of its own node, of one other while there is some, or of several alone."""
    plan = node(ROME, "0-3")
    slot = plan.slots[0] if memory is None else plan.slots[0].model_copy(update={"memory": memory})
    made = numactl.launch(planned((plan.model_copy(update={"slots": (slot,)}),), (None, 0, 1)), LaunchRequest(("./app",)))
    assert made.argv == ("numactl", "--physcpubind=0-3", words, "./app")


def test_several_ranks_are_refused() -> None:
    """A launcher must start them."""
    with pytest.raises(BadValue, match="numactl starts one process"):
        numactl.launch(planned((node(ROME, "0", "1"),), (None, 0, 2)), LaunchRequest(("./app",)))
