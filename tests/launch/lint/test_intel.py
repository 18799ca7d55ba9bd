"""Intel MPI: what was seen of 2021.18 is told, and what was not is left open."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.launch.lint.line import parse
from advisor.launch.lint.predict import Prediction, predict
from tests.place.samples import machine

ROME = "b-c6525-2x7702-nps4"


def made(line: str, name: str = ROME, **files: str) -> Prediction:
    """Return what a line of Intel MPI's does."""
    return predict(parse([line], "intelmpi-2021.18"), machine(name), files)


def cpus(done: Prediction) -> list[str]:
    """Return the CPUs of the ranks as text."""
    return [str(rank.cpus) for rank in done.ranks or ()]


def test_a_domain_is_named_by_either_form_of_genv() -> None:
    """NAME VALUE, NAME=VALUE, and a variable before the line."""
    wanted = ["0-15", "64-79"]
    assert cpus(made("mpiexec.hydra -n 2 -genv I_MPI_PIN_DOMAIN numa ./a")) == wanted
    assert cpus(made("mpiexec.hydra -n 2 -genv I_MPI_PIN_DOMAIN=numa ./a")) == wanted
    assert cpus(made("I_MPI_PIN_DOMAIN=numa mpiexec.hydra -n 2 ./a")) == wanted


def test_ranks_without_a_word_divide_the_sockets() -> None:
    """By whole NUMA nodes while there are enough, the first ones more."""
    assert cpus(made("mpiexec.hydra -n 3 ./a")) == ["0-31", "32-63", "64-127"]
    assert cpus(made("mpiexec.hydra -n 10 ./a"))[:3] == ["0-15", "16-27", "28-39"]


def test_ranks_that_are_a_multiple_of_the_numa_nodes_do_not_lie_across_them() -> None:
    """Unless the order is compact, where the machine is divided as a whole."""
    assert cpus(made("mpiexec.hydra -n 40 ./a"))[:6] == ["0-3", "4-6", "7-9", "10-12", "13-15", "16-19"]
    assert cpus(made("I_MPI_PIN_ORDER=compact mpiexec.hydra -n 40 ./a"))[:3] == ["0-3", "4-7", "8-11"]


def test_a_layout_is_an_order_of_what_intel_mpi_chooses() -> None:
    """Whatever thing stands before it, and whatever I_MPI_PIN_ORDER says."""
    plain = cpus(made("I_MPI_PIN_ORDER=scatter mpiexec.hydra -n 7 ./a"))
    assert cpus(made("I_MPI_PIN_DOMAIN=core:scatter I_MPI_PIN_ORDER=compact mpiexec.hydra -n 7 ./a")) == plain


def test_slots_of_a_machine_file_count_and_not_ppn() -> None:
    """A host without a number has one; -machine names such a file too."""
    for word in ("-machinefile", "-machine"):
        done = made(f"mpiexec.hydra {word} hf -ppn 2 -n 4 ./a", hf="n1\nn2\n")
        assert [rank.host for rank in done.ranks or ()] == ["n1", "n2", "n1", "n2"]


def test_scatter_and_spread_keep_ranks_apart() -> None:
    """On sockets in turn, or socket by socket; of the second of two ranks the middle of its socket is the first core."""
    assert cpus(made("I_MPI_PIN_ORDER=scatter mpiexec.hydra -n 3 ./a")) == ["0-31", "64-127", "32-63"]
    assert cpus(made("I_MPI_PIN_DOMAIN=core I_MPI_PIN_ORDER=scatter mpiexec.hydra -n 4 ./a")) == ["0", "64", "32", "96"]
    assert cpus(made("I_MPI_PIN_DOMAIN=core I_MPI_PIN_ORDER=spread mpiexec.hydra -n 4 ./a")) == ["0", "32", "64", "96"]


def test_numa_domains_that_are_kept_apart_are_single_cores() -> None:
    """Of 2021.18: each rank has one core and not its NUMA node."""
    assert cpus(made("I_MPI_PIN_DOMAIN=numa I_MPI_PIN_ORDER=scatter mpiexec.hydra -n 2 ./a")) == ["0", "64"]


def test_domains_that_do_not_divide_the_machine_go_over_its_end() -> None:
    """The rank after the last whole one has CPUs of the end and of the beginning."""
    assert cpus(made("I_MPI_PIN_DOMAIN=60 mpiexec.hydra -n 3 ./a")) == ["0-59", "60-119", "0-51,120-127"]


def test_a_processor_list_of_another_length_is_a_set() -> None:
    """Divided by its largest parts that are enough; over and over where there are fewer CPUs than ranks."""
    assert cpus(made("I_MPI_PIN_PROCESSOR_LIST=0-31 mpiexec.hydra -n 2 ./a")) == ["0-15", "16-31"]
    assert cpus(made("I_MPI_PIN_PROCESSOR_LIST=0-31 mpiexec.hydra -n 3 ./a")) == ["0-3", "4-7", "8-11"]
    assert cpus(made("I_MPI_PIN_PROCESSOR_LIST=8,0 mpiexec.hydra -n 3 ./a")) == ["0", "8", "0"]
    assert cpus(made("I_MPI_PIN_PROCESSOR_LIST=0-3 mpiexec.hydra -n 4 ./a")) == ["0", "1", "2", "3"]


def test_words_of_a_processor_list_that_intel_mpi_passes_over_change_nothing() -> None:
    """all:map=scatter is what is there without a list; allcores is one thread of every core."""
    assert cpus(made("I_MPI_PIN_PROCESSOR_LIST=all:map=scatter mpiexec.hydra -n 3 ./a")) == ["0-31", "32-63", "64-127"]
    assert cpus(made("I_MPI_PIN_PROCESSOR_LIST=allcores mpiexec.hydra -n 3 ./a")) == ["0-15", "16-31", "32-47"]


def test_each_segment_has_its_own_pins() -> None:
    """As the plan for hosts that differ is written."""
    line = "mpiexec.hydra -machinefile hf -n 1 -env I_MPI_PIN_DOMAIN [0xf] ./a : -n 1 -env I_MPI_PIN_DOMAIN [0xf0] ./a"
    assert cpus(made(line, hf="n1:1\nn2:1\n")) == ["0-3", "4-7"]


def test_caches_are_domains_too() -> None:
    """Cache is what it chooses itself, cache2 a core near the others, cache1 one after the other whatever order is asked for."""
    assert cpus(made("I_MPI_PIN_DOMAIN=cache mpiexec.hydra -n 3 ./a")) == cpus(made("mpiexec.hydra -n 3 ./a"))
    assert cpus(made("I_MPI_PIN_DOMAIN=cache2 mpiexec.hydra -n 3 ./a")) == ["0", "1", "64"]
    assert cpus(made("I_MPI_PIN_DOMAIN=cache1 I_MPI_PIN_ORDER=scatter mpiexec.hydra -n 3 ./a")) == ["0", "1", "2"]


def test_an_order_changes_nothing_in_a_list_of_processors() -> None:
    """It is of domains alone."""
    line = "I_MPI_PIN_PROCESSOR_LIST=0-7 mpiexec.hydra -n 2 ./a"
    assert cpus(made(f"I_MPI_PIN_ORDER=scatter {line}")) == cpus(made(line)) == ["0-3", "4-7"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("mpiexec.hydra -machinefile f ./a", "without -n"),
        ("mpiexec.hydra -hosts a,b -n 4 ./a", "without -ppn a host gets as many ranks"),
        ("I_MPI_PIN_ORDER=compact mpiexec.hydra -n 2 -genv I_MPI_PIN_DOMAIN [f,f0] ./a", "masks that Intel MPI passes over"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_PROCESSOR_LIST ^0,1 ./a", "has '^0'"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_PROCESSOR_LIST 7-0 ./a", "has '7-0'"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_PROCESSOR_LIST 0-3,2 ./a", "names a CPU twice"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_PROCESSOR_LIST 0-9999999 ./a", "more CPUs than this machine has"),
        ("I_MPI_PIN_PROCESSOR_LIST=0,1 I_MPI_PIN_DOMAIN=socket mpiexec.hydra -n 2 ./a", "the domain divides the list"),
        ("I_MPI_PIN_ORDER=scatter mpiexec.hydra -n 200 ./a", "a core has several ranks"),
        ("mpiexec.hydra -n 3 -genv I_MPI_STATS 1 ./a", "I_MPI_STATS"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_DOMAIN cache4 ./a", "was not seen"),
        ("mpiexec.hydra -configfile f -n 3 ./a", "-configfile"),
    ],
)
def test_what_was_not_seen_is_not_told(line: str, why: str) -> None:
    """Forms whose result changes with the machine, the number of ranks, or a scheduler."""
    done = made(line)
    assert (done.ranks, done.refused) == (None, None)
    assert why in str(done.unclear)


NAMES = st.sampled_from(
    ["I_MPI_PIN_DOMAIN", "I_MPI_PIN_ORDER", "I_MPI_PIN_PROCESSOR_LIST", "I_MPI_PIN", "I_MPI_PIN_CELL", "OMP_NUM_THREADS"]
)
VALUES = st.one_of(
    st.sampled_from(
        ["numa", "socket", "core", "cache3", "omp", "auto", "node", "4", "6", "compact", "bunch", "scatter", "spread", "0"]
    ),
    st.sampled_from(["[0xf,0xf0]", "0,5,3", "allcores", "0-7", "2-5,9", "all:map=scatter"]),
    st.text(alphabet="0123456789abcdefx,:[]-= ", max_size=10),
)


@settings(deadline=None)
@given(
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.integers(-1, 300),
    st.sampled_from([ROME, "c-c6320-2x2660v3-cod", "uneven-l3", "virtual", "hbm-flat", "nps0", "numa-off", "knights-landing"]),
)
def test_any_pins_are_told_refused_or_left_open(pins: dict[str, str], count: int, name: str) -> None:
    """No other end, and never a CPU that is not there."""
    words = [word for key, value in pins.items() for word in ("-genv", key, value)]
    try:
        line = parse(["mpiexec.hydra", *words, "-n", str(count), "./a"], "intelmpi-2021.18")
    except BadInput:
        return
    done = predict(line, machine(name), {})
    assert done.ranks or done.refused or done.unclear
    assert all(rank.cpus is None or (rank.cpus and rank.cpus <= done.topology.pus) for rank in done.ranks or ())
