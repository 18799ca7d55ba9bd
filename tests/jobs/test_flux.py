"""Lines of flux run: tasks divided evenly where that is the plan, a list of the kernel's numbers elsewhere, or the wrapper."""

import pytest

from advisor.errors import BadValue
from advisor.jobs.launcher import Launch, LaunchRequest
from advisor.jobs.launchers import flux
from advisor.jobs.placement import NodePlan, Placement
from tests.jobs.plan import node, planned, slot
from tests.model.shapes import shape

ROME = shape(2, 4, 16, 64)
HALVES = tuple(f"{first}-{first + 15}" for first in range(0, 128, 16))
APART = ("0-3", "64-67")


def on(*hosts: tuple[str | None, int, int], cpus: tuple[str, ...] = APART) -> Placement:
    """Return a plan of hosts alike."""
    return planned((node(ROME, *cpus),), *hosts)


def written(plan: Placement, version: str | None = None, **wish: bool | str) -> Launch:
    """Return the line of a plan."""
    return flux.launch(plan, LaunchRequest(("./app",), version=version, **wish))  # type: ignore[arg-type]


def test_ranks_of_a_plan_are_parted_by_semicolons_in_a_map() -> None:
    """On whole nodes, so that the job has all the CPUs of the map."""
    made = written(on((None, 0, 2)))
    assert (made.form, " ".join(made.argv)) == ("map", "flux run -N 1 -n 2 -x -o cpu-affinity=map:0-3;64-67 ./app")


def test_a_plan_that_divides_whole_nodes_evenly_is_per_task() -> None:
    """Shorter, and the same; the exact form stays a map."""
    plan = on((None, 0, 8), cpus=HALVES)
    assert [written(plan).argv[8], written(plan, exact=True).argv[8][:23]] == ["cpu-affinity=per-task", "cpu-affinity=map:0-15;1"]
    assert written(plan, "0.42.0").form == "wrapper"


def test_hosts_get_their_ranks_by_a_file_in_the_order_of_the_plan() -> None:
    """Flux has an order of its own; before 0.61 it has no such file, and the line says so."""
    plan = on(("b", 0, 2), ("a", 0, 2))
    made, old = written(plan), written(plan, "0.60.0")
    assert made.argv[6:11] == ("--requires", "hosts:b,a", "--taskmap", "hostfile:hostfile", "-x")
    assert list(made.files["hostfile"]()) == ["b", "b", "a", "a"]
    assert ["--taskmap" in old.argv, old.files, [note for note in old.notes if "own node order" in note] != []] == [
        False,
        {},
        True,
    ]


def test_hosts_that_are_too_many_for_an_argument_stand_in_the_file_alone() -> None:
    """Linux refuses an argument of 131,072 characters; a file has no such bound."""
    made = written(on(*((f"x{at:05}c{'0' * 60}", 0, 2) for at in range(1600))))
    assert ["--requires" in made.argv, made.argv[6:8]] == [False, ("--taskmap", "hostfile:hostfile")]


def test_in_a_job_of_its_own_no_host_is_named() -> None:
    """The job's hosts are those of the plan, and in Flux's order."""
    made = written(on(("NODE1", 0, 2), ("NODE2", 0, 2)), scheduler="flux")
    assert (made.argv[:6], made.files, "--requires" in made.argv) == (("flux", "run", "-N", "2", "-n", "4"), {}, False)


@pytest.mark.parametrize(("version", "form"), [("0.45.1", "wrapper"), ("0.46.0", "map"), (None, "map")])
def test_a_flux_without_map_gets_the_wrapper(version: str | None, form: str) -> None:
    """It would take the option for nothing and bind every task to the whole job, silently."""
    made = written(on((None, 0, 2)), version)
    assert (made.form, ("cpu-affinity=off" in made.argv), "bind-wrapper.sh" in made.files) == (form, form != "map", form != "map")


@pytest.mark.parametrize(
    ("version", "words"), [("0.80.0", "cpu-affinity=verbose,map:0-3;64-67"), (None, "cpu-affinity=map:0-3;64-67")]
)
def test_the_report_is_asked_for_only_where_flux_knows_the_word(version: str | None, words: str) -> None:
    """Older ones take verbose,map: for nothing."""
    assert words in written(on((None, 0, 2)), version, report=True).argv


def test_hosts_with_other_cpus_get_the_wrapper_and_other_counts_are_refused() -> None:
    """One list is for all hosts, and so is the number of tasks."""
    plan = planned((node(ROME, "0-3"), node(ROME, "4-7")), ("a", 0, 1), ("b", 1, 1))
    assert (written(plan).form, written(plan).avoided[0].form) == ("wrapper", "cpu-affinity=map")
    with pytest.raises(BadValue, match="same number of ranks on every host"):
        written(on(("a", 0, 2), ("b", 0, 1)))


def test_the_wrapper_reads_fluxs_variables_before_those_that_flux_itself_was_started_with() -> None:
    """Under jsrun, mpirun or srun --mpi=pmix a Flux hands their ranks on to its tasks."""
    script = list(written(on((None, 0, 2)), wrap=True).files["bind-wrapper.sh"]())
    assert [row[:24] for row in script if row.startswith(("rank=$", "local=$"))] == [
        "rank=${FLUX_TASK_RANK:-$",
        "local=${FLUX_TASK_LOCAL_",
    ]


def test_flux_leaves_gpus_to_the_wrapper() -> None:
    """It sets CUDA_VISIBLE_DEVICES to -1 for a job without GPUs of its scheduler, and HIP reads that too."""
    places = tuple(
        slot(ROME, cpus).model_copy(update={"gpu": gpu}) for cpus, gpu in (("0-3", "0000:c1:00.0"), ("4-7", "0000:c6:00.0"))
    )
    plan = planned((NodePlan(topology=ROME, slots=places),), (None, 0, 2))
    assert " ".join(written(plan).argv[6:13]) == "-x -o gpu-affinity=off -o cpu-affinity=off sh bind-wrapper.sh"


def test_mpibind_is_named_for_it_undoes_the_list() -> None:
    """At LLNL it is loaded for every job (mpibind's tutorial on Flux)."""
    assert [note for note in written(on((None, 0, 2))).notes if "mpibind=off" in note] != []
