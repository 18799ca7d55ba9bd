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


@pytest.mark.parametrize("option", ["--map-by core", "--bind-to core", "--rank-by slot", "--display map"])
def test_five_takes_an_option_of_placement_once(option: str) -> None:
    """Even where both say the same; 4 takes the last."""
    line = f"mpirun -np 2 {option} {option}"
    assert "once in a line" in str(_made(FIVE, line).refused)


def test_five_takes_one_number_for_each_node_but_the_same_again_passes() -> None:
    """--npernode 2 twice starts two ranks (5.0.11, observed); another number, or another word, starts nothing."""
    assert len(_cpus(FIVE, "mpirun --npernode 2 --npernode 2")) == 2
    assert [_made(FIVE, f"mpirun --npernode 2 {words}").refused is None for words in ("--npernode 3", "--pernode")] == [False] * 2


def test_four_takes_the_last_of_two_options_and_five_the_first_number_of_ranks() -> None:
    """As both were seen to do."""
    assert len(_cpus(FOUR, "mpirun -np 3 -np 2")) == 2
    assert len(_cpus(FIVE, "mpirun -np 3 -np 2")) == 3


def test_hosts_of_several_options_add_up() -> None:
    """In both versions."""
    for version in (FOUR, FIVE):
        assert [text[:2] for text in _cpus(version, "mpirun -np 3 --bind-to core --host n1:2 --host n2:2")] == ["n1", "n1", "n2"]


def test_four_refuses_a_parameter_that_is_there_twice_and_five_two_values_of_it() -> None:
    """5 lets the same value pass."""
    same, other = "mpirun -np 2 --mca btl ^tcp --mca btl ^tcp", "mpirun -np 2 --mca btl ^tcp --mca btl ^vader"
    assert [_made(version, line).refused is not None for version in (FOUR, FIVE) for line in (same, other)] == [
        True,
        True,
        False,
        True,
    ]


def test_five_hands_on_what_mca_says_of_mapping() -> None:
    """To PRRTE, whose parameters these are; a variable of Open MPI's own it does not hand on."""
    own = _cpus(FIVE, "mpirun -np 2 --prtemca rmaps_default_mapping_policy numa")
    assert (_cpus(FIVE, "mpirun -np 2 --mca rmaps_default_mapping_policy numa"), own != [":0", ":1"]) == (own, True)
    assert _cpus(FIVE, "OMPI_MCA_rmaps_default_mapping_policy=numa mpirun -np 2") == [":0", ":1"]


@pytest.mark.parametrize(
    "words",
    [
        "--bycore --byslot",
        "--pernode --bynode",
        "--byslot --mca rmaps_base_ranking_policy node",
        "--nooversubscribe --mca rmaps_base_oversubscribe 1",
        "--bind-to none --bind-to-core",
        "--rankfile rf --map-by node",
        "--mca orte_rankfile rf --mca rmaps_base_cpus_per_rank 2",
    ],
)
def test_four_refuses_two_words_that_say_one_thing(words: str) -> None:
    """An old option beside a new one, an option beside a parameter."""
    why = str(_made(FOUR, f"mpirun -np 2 {words}").refused)
    assert "say both" in why or "asked both" in why


@pytest.mark.parametrize(
    ("version", "words"),
    [
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
    assert "not worked out here" in str(_made(version, f"mpirun {count} {words}").unclear)
