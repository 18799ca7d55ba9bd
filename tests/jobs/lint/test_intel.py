"""Intel MPI: what was seen of 2021.18 is told, and what was not is left open."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu
from advisor.machine.topology import NumaNode, SharedL2, Topology
from tests.jobs.place.samples import machine
from tests.model.shapes import ROME as ROME_CPU
from tests.model.shapes import machine as a_machine
from tests.model.shapes import shape

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


def test_a_layout_is_an_order_whatever_i_mpi_pin_order_says() -> None:
    """Of what it chooses itself, and of omp; before other things nothing is told."""
    plain = cpus(made("I_MPI_PIN_ORDER=scatter mpiexec.hydra -n 7 ./a"))
    assert cpus(made("I_MPI_PIN_DOMAIN=auto:scatter I_MPI_PIN_ORDER=compact mpiexec.hydra -n 7 ./a")) == plain
    assert made("I_MPI_PIN_DOMAIN=core:scatter mpiexec.hydra -n 7 ./a").unclear


@pytest.mark.parametrize(
    "words",
    [
        "-n 2 -n 2",
        "-n 2 -ppn 2 -rr",
        "-n 2 -l -prepend-timestamp",
        "-n 2 -wdir /tmp -wd /tmp",
        "-n 2 -umask 022",
        "-n 2 -order-nodes a",
    ],
)
def test_options_said_twice_and_those_of_other_hydras_are_left_open(words: str) -> None:
    """Of several programs each takes one -wdir."""
    assert "is not predicted" in str(made(f"mpiexec.hydra {words} ./a").unclear)
    assert len(cpus(made("mpiexec.hydra -genvall -n 2 -wdir /tmp ./a : -n 1 -wdir /tmp ./b"))) == 3


def test_a_line_without_ranks_and_hosts_starts_those_of_its_ppn() -> None:
    """And without -ppn one for each core."""
    assert [len(cpus(made(f"mpiexec.hydra {words} ./a"))) for words in ("-ppn 3", "")] == [3, 128]


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


def test_each_segment_has_its_own_pins() -> None:
    """As the plan for hosts that differ is written."""
    line = "mpiexec.hydra -machinefile hf -n 1 -env I_MPI_PIN_DOMAIN [0xf] ./a : -n 1 -env I_MPI_PIN_DOMAIN [0xf0] ./a"
    assert cpus(made(line, hf="n1:1\nn2:1\n")) == ["0-3", "4-7"]


def test_caches_are_domains_too() -> None:
    """Cache is what it chooses itself, cache3 an L3 group."""
    assert cpus(made("I_MPI_PIN_DOMAIN=cache mpiexec.hydra -n 3 ./a")) == cpus(made("mpiexec.hydra -n 3 ./a"))
    assert cpus(made("I_MPI_PIN_DOMAIN=cache3 I_MPI_PIN_ORDER=compact mpiexec.hydra -n 3 ./a")) == ["0-3", "4-7", "8-11"]


def test_an_order_changes_nothing_in_a_list_of_processors() -> None:
    """It is of domains alone."""
    line = "I_MPI_PIN_PROCESSOR_LIST=0-7 mpiexec.hydra -n 2 ./a"
    assert cpus(made(f"I_MPI_PIN_ORDER=scatter {line}")) == cpus(made(line)) == ["0-3", "4-7"]


def on(topology: Topology, line: str, cpu: Cpu | None = ROME_CPU) -> Prediction:
    """Return what a line of Intel MPI's does on a machine made of numbers."""
    return predict(parse([line], "intelmpi-2021.18"), a_machine(topology, cpu), {})


def test_ranks_without_a_number_are_the_cores() -> None:
    """Where no CPU is off: it counts those of CPUs that are numbered below the count of CPUs."""
    assert len(made("mpiexec.hydra ./a").ranks or ()) == 128
    assert "without -n" in str(made("mpiexec.hydra ./a", "offline").unclear)


def test_a_numa_node_of_memory_alone_counts_as_a_node_of_the_cpus_near_it() -> None:
    """Ranks are dealt to it too; sockets with unlike numbers of nodes are taken to have as many each, so one has another's."""
    assert cpus(made("mpiexec.hydra -n 5 ./a", "hbm-flat")) == ["0-15", "8-23", "24-31", "32-47", "48-63"]
    assert cpus(made("mpiexec.hydra -n 3 ./a", "cxl")) == ["0-31", "0-31", "32-63"]
    assert cpus(made("I_MPI_PIN_DOMAIN=core mpiexec.hydra -n 4 ./a", "cxl")) == ["0", "1", "0", "1"]
    assert cpus(made("I_MPI_PIN_ORDER=spread mpiexec.hydra -n 3 ./a", "knights-landing"))[:2] == [
        "0-15,64-79,128-143,192-207",
        "16-31,80-95,144-159,208-223",
    ]


def test_the_variables_of_one_program_hold_for_all_ranks() -> None:
    """Where two programs differ, those of a host's first rank win; the threads of OpenMP are each program's own."""
    core = ["0", "1", "64"]
    assert cpus(made("mpiexec.hydra -n 1 ./a : -n 2 -env I_MPI_PIN_DOMAIN core ./a")) == core
    both = "mpiexec.hydra -n 1 -env I_MPI_PIN_DOMAIN core ./a : -n 2 -env I_MPI_PIN_DOMAIN numa ./a"
    assert cpus(made(both)) == core
    own = "mpiexec.hydra -genv I_MPI_PIN_DOMAIN omp -n 1 ./a : -n 2 -env OMP_NUM_THREADS 3 ./a"
    assert cpus(made(own)) == ["0-31", "32-63", "64-127"]


@pytest.mark.parametrize(("count", "ends"), [(1, False), (2, True), (3, False), (4, False), (5, False), (6, True), (7, False)])
def test_scatter_ends_with_two_ranks_beyond_a_multiple_of_four_sockets(count: int, *, ends: bool) -> None:
    """Its proxy dies, as with two to six beyond a multiple of eight; spread does not."""
    four = shape(4, 1, 1, 6)
    assert bool(on(four, f"I_MPI_PIN_ORDER=scatter mpiexec.hydra -n {count} ./a").refused) is ends
    assert on(four, f"I_MPI_PIN_ORDER=spread mpiexec.hydra -n {count} ./a").refused is None


def test_ranks_fewer_than_sockets_have_neighbouring_sockets() -> None:
    """Kept apart or not; without an even share the first ones have more."""
    four = shape(4, 1, 1, 6)
    assert cpus(on(four, "I_MPI_PIN_ORDER=spread mpiexec.hydra -n 2 ./a")) == ["0-11", "12-23"]
    assert cpus(on(four, "mpiexec.hydra -n 3 ./a")) == ["0-11", "12-17", "18-23"]


def test_numa_nodes_have_shares_where_ranks_are_more_than_a_sockets_parts() -> None:
    """On four sockets of ten cores from 11 ranks on, on one socket only where they are a multiple of its nodes."""
    four, one = shape(4, 2, 2, 10), shape(1, 4, 4, 28)
    assert cpus(on(four, "mpiexec.hydra -n 9 ./a"))[:3] == ["0-3", "4-6", "7-9"]
    assert cpus(on(four, "mpiexec.hydra -n 11 ./a"))[:3] == ["0-2", "3-4", "5-9"]
    assert cpus(on(one, "mpiexec.hydra -n 17 ./a"))[3:5] == ["6-7", "8-9"]
    assert cpus(on(one, "mpiexec.hydra -n 16 ./a"))[3:5] == ["6", "7-8"]


def test_ranks_kept_apart_begin_with_the_part_that_has_their_share_of_hardware_threads() -> None:
    """Of six L3 groups, five of eight cores and one of four, the second of two ranks begins with the third."""
    line = "I_MPI_PIN_ORDER=spread mpiexec.hydra"
    assert cpus(made(f"{line} -n 5 ./a", "uneven-l3")) == ["0-15", "16-43", "44-87", "88-131", "132-175"]
    assert cpus(made(f"{line} -n 16 ./a", "uneven-l3"))[:4] == ["0-7", "8-15", "16-31", "32-43"]


def test_masks_that_are_passed_over_leave_the_order() -> None:
    """Without 0x they are what Intel MPI chooses itself in that order."""
    line = "I_MPI_PIN_ORDER=scatter mpiexec.hydra -n 3"
    assert cpus(made(f"{line} -genv I_MPI_PIN_DOMAIN [f,f0,f00] ./a")) == cpus(made(f"{line} ./a"))


def _with(topology: Topology, **parts: object) -> Topology:
    return topology.model_copy(update=parts)


@pytest.mark.parametrize(
    ("topology", "cpu", "why"),
    [
        (_with(shape(2, 1, 1, 4), packages=()), ROME_CPU, "a machine without sockets"),
        (shape(1, 1, 1, 16), None, "clusters of cores"),
        (_with(shape(1, 1, 0, 2, threads=4), shared_l2=(SharedL2(cpuset=CpuSet([0, 2])),)), ROME_CPU, "share L2"),
        (
            _with(
                shape(1, 1, 1, 4),
                nodes=(*shape(1, 1, 1, 4).nodes, NumaNode(os_index=9, cpuset=CpuSet(), near=CpuSet(), memory=1)),
                allowed_nodes=CpuSet([0, 9]),
            ),
            ROME_CPU,
            "memory-only NUMA node",
        ),
    ],
)
def test_machines_on_which_it_was_seen_to_do_otherwise_are_not_told(topology: Topology, cpu: Cpu | None, why: str) -> None:
    """No sockets, clusters that are not kept, cores with several L2 (Hygon), memory that no CPU is near (GPUs of POWER9)."""
    done = on(topology, "I_MPI_PIN_ORDER=spread mpiexec.hydra -n 3 ./a", cpu)
    assert (done.ranks, done.refused, why in str(done.unclear)) == (None, None, True)


@pytest.mark.parametrize("order", ["bunch", "compact", "scatter", "range"])
def test_more_ranks_than_hardware_threads_have_cores_in_turn(order: str) -> None:
    """Where a core has several threads; with fewer ranks some have a thread alone."""
    line = f"I_MPI_PIN_ORDER={order} mpiexec.hydra -n {{}} ./a"
    assert cpus(on(shape(1, 1, 1, 2, threads=2), line.format(5), ROME_CPU)) == ["0,2", "1,3", "0,2", "1,3", "0,2"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("mpiexec.hydra -machinefile f ./a", "the host file f was not read"),
        ("mpiexec.hydra -hosts a,b -n 4 ./a", "without -ppn, a host gets as many ranks"),
        ("mpiexec.hydra -hosts a,b -ppn 130 -n 200 ./a", "a host has more ranks than CPUs, and more ranks than other hosts"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_PROCESSOR_LIST ^0,1 ./a", "LIST=^0,1"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_PROCESSOR_LIST 7-0 ./a", "LIST=7-0"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_PROCESSOR_LIST 0-3,2 ./a", "names a CPU twice"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_PROCESSOR_LIST 0-9999999 ./a", "too many CPUs"),
        ("I_MPI_PIN_PROCESSOR_LIST=0,1 I_MPI_PIN_DOMAIN=socket mpiexec.hydra -n 2 ./a", "together with I_MPI_PIN_PROCESSOR_LIST"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_DOMAIN 4:range ./a", "DOMAIN=4:range"),
        ("mpiexec.hydra -n 3 -genv I_MPI_STATS 1 ./a", "I_MPI_STATS"),
        ("mpiexec.hydra -n 3 -genv I_MPI_PIN_DOMAIN cache4 ./a", "DOMAIN=cache4"),
        ("mpiexec.hydra -configfile f -n 3 ./a", "-configfile"),
        ("mpiexec.hydra -n 2 -f f -n 3 ./a", "is not predicted if it is repeated or combined with its opposite"),
        (
            "mpiexec.hydra -n 1 -hosts a,b -ppn 2 -n 1 ./a : -n 5 ./b",
            "is not predicted if it is repeated or combined with its opposite",
        ),
        ("I_MPI_PIN_DOMAIN=1:bunch mpiexec.hydra -n 10 ./a", "DOMAIN=1:bunch"),
        ("HYDRA_HOST_FILE=f mpiexec.hydra -ppn 1 -n 3 ./a", "HYDRA_HOST_FILE"),
        ("I_MPI_PIN_DOMAIN=Numa mpiexec.hydra -n 3 ./a", "words in capitals"),
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
