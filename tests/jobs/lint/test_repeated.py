"""What a line says more than once, as Open MPI 4.1.4 and 5.0.11 were seen to take it."""

import pytest

from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from tests.jobs.lint.nodes import node

FOUR, FIVE = "4.1.4", "5.0.11"


def _made(version: str, line: str) -> Prediction:
    return predict(parse([f"{line} ./a"], version), node("two"), {})


def _cpus(version: str, line: str) -> list[str]:
    return [f"{rank.host or ''}:{rank.cpus}" for rank in _made(version, line).ranks or ()]


@pytest.mark.parametrize("version", [FOUR, FIVE])
@pytest.mark.parametrize(
    "words",
    [
        "--map-by core --map-by core",
        "--npernode 2 --npernode 3",
        "-np 3 -np 2",
        "--host n1:2 --host n2:2",
        "--mca btl ^tcp --mca btl ^vader",
    ],
)
def test_what_is_said_twice_is_left_open(version: str, words: str) -> None:
    """4 takes the last of some and ends at others, 5 the first of some, and ends at --map-by."""
    assert "is not predicted" in str(_made(version, f"mpirun {words}").unclear)


def test_five_hands_on_what_mca_says_of_mapping() -> None:
    """To PRRTE, whose parameters these are, and that is left open; a variable of Open MPI's own it does not hand on."""
    for option in ("--mca", "--prtemca"):
        assert _made(FIVE, f"mpirun -np 2 {option} rmaps_default_mapping_policy numa").unclear
    assert _cpus(FIVE, "OMPI_MCA_rmaps_default_mapping_policy=numa mpirun -np 2") == [":0", ":1"]


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (FOUR, "--bycore --byslot"),
        (FOUR, "--pernode --bynode"),
        (FOUR, "--byslot --mca rmaps_base_ranking_policy node"),
        (FOUR, "--nooversubscribe --mca rmaps_base_oversubscribe 1"),
        (FOUR, "--bind-to none --bind-to-core"),
        (FOUR, "--rankfile rf --map-by node"),
        (FOUR, "--mca orte_rankfile rf"),
        (FOUR, "--mca rmaps seq"),
        (FIVE, "--prtemca rmaps ppr"),
        (FOUR, "--mca rmaps_base_no_oversubscribe 1"),
        (FOUR, "--cpu-set 0-3 --cpu-list 0,1"),
        (FIVE, "--cpus-per-proc 4 --map-by numa:PE=3"),
        (FIVE, "--oversubscribe --prtemca rmaps_default_mapping_policy numa"),
        (FOUR, "--bind-to-core --bind-to core"),
        (FOUR, "--map-by numa:PE=2 --mca rmaps_base_mapping_policy socket"),
        (FOUR, "--map-by numa --mca rmaps_base_mapping_policy socket:oversubscribe"),
        (FOUR, "--map-by core --mca rmaps_base_mapping_policy node"),
        (FOUR, "--map-by socket:PE=10 --mca rmaps_base_mapping_policy ppr:1:core -bind-to board"),
        (FIVE, "--prtemca rmaps_default_mapping_policy ppr:2:node:NOOVERSUBSCRIBE"),
        (FOUR, "--map-by node:PE=3 --mca hwloc_base_binding_policy core --bind-to socket"),
        (FOUR, "--map-by numa --cpu-list 0,1 --bind-to cpu-list:ordered"),
        (FOUR, "--map-by numa --npernode 1"),
        (FOUR, "--map-by ppr:1:node -N 2"),
        (FIVE, "--prtemca rmaps_default_mapping_policy ppr:8:node --cpu-list 0,1"),
        (FOUR, "--host n1:1,n2:2 --map-by core --npernode 1"),
        (FOUR, "--cpus-per-proc 2 --mca hwloc_base_use_hwthreads_as_cpus 1"),
        (FOUR, "--use-hwthread-cpus --mca hwloc_base_use_hwthreads_as_cpus 0"),
    ],
)
def test_parameters_that_choose_who_maps_and_words_that_change_each_other_are_left_open(version: str, words: str) -> None:
    """Which of two counts was not seen of all of them."""
    count = "" if "--host" in words else "-np 2"
    assert "not predicted" in str(_made(version, f"mpirun {count} {words}").unclear)
