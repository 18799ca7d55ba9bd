from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hardware import Cpu, Hca, Locality, Port
from advisor.machine.machine import Gap, Machine, Source, known, merge
from tests.model.shapes import shape

words = st.one_of(st.none(), st.sampled_from(["a", "b"]))
ports = st.lists(st.builds(Port, number=st.sampled_from([1, 2]), state=words), max_size=2, unique_by=lambda p: p.number).map(
    tuple
)
hcas = st.one_of(
    st.none(),
    st.lists(
        st.builds(Hca, name=st.sampled_from("xyz"), firmware=words, ports=st.one_of(st.none(), ports)),
        max_size=3,
        unique_by=lambda h: h.name,
    ).map(tuple),
)
machines = st.builds(
    Machine,
    name=words,
    cpu=st.one_of(st.none(), st.builds(Cpu, vendor=words, driver=words)),
    hcas=hcas,
    topology=st.sampled_from([None, shape(1, 1, 1, 2), shape(2, 1, 1, 2)]),
)


@given(machines)
def test_nothing_adds_nothing(machine: Machine) -> None:
    """An empty part changes nothing, before or after."""
    assert (merge((machine, Machine())), merge((Machine(), machine)), merge((machine, machine))) == (machine, machine, machine)


@given(machines, machines, machines)
def test_grouping_does_not_matter(a: Machine, b: Machine, c: Machine) -> None:
    """Three parts give the same machine however they are grouped."""
    assert merge((merge((a, b)), c)) == merge((a, merge((b, c))))


def test_first_word_counts() -> None:
    """Where two sources know a fact the first one's word is kept, and the second fills what is missing."""
    first = Machine(cpu=Cpu(vendor="x"), hcas=(Hca(name="mlx5_0", firmware="1"),))
    second = Machine(cpu=Cpu(vendor="y", driver="d"), hcas=(Hca(name="mlx5_0", firmware="2", board_id="P"), Hca(name="mlx5_1")))
    both = merge((first, second))
    assert both.cpu == Cpu(vendor="x", driver="d")
    assert both.hcas == (Hca(name="mlx5_0", firmware="1", board_id="P"), Hca(name="mlx5_1"))


def test_ports_of_an_adapter_are_joined_too() -> None:
    """The state of a port comes from hwloc, its rate and what it waits for from the kernel: neither hides the other's."""
    first = Hca(name="mlx5_0", ports=(Port(number=1, state="down", lid=7),))
    second = Hca(name="mlx5_0", ports=(Port(number=1, state="init", physical="polling", rate=100), Port(number=2, rate=50)))
    (both,) = merge((Machine(hcas=(first,)), Machine(hcas=(second,)))).hcas or ()
    assert both.ports == (Port(number=1, state="down", lid=7, physical="polling", rate=100), Port(number=2, rate=50))


def test_topologies_are_never_mixed() -> None:
    """Two topologies do not become a third: the first is taken whole."""
    one, two = shape(1, 1, 1, 4), shape(2, 1, 1, 4)
    assert merge((Machine(topology=one), Machine(topology=two))).topology == one


def test_none_found_is_an_answer() -> None:
    """'None there' from the first source is not overwritten by 'not known', and stays beside a later find."""
    assert (merge((Machine(hcas=()), Machine())).hcas, merge((Machine(), Machine(hcas=()))).hcas) == ((), ())


def test_a_gap_closes_when_another_source_knows() -> None:
    """A gap is dropped when another source told the fact, and kept when none did."""
    gap, open_gap = Gap(fact="cpu.vendor", why="w", help="h"), Gap(fact="memory.dimms", why="w", help="h")
    assert merge((Machine(gaps=(gap, open_gap)), Machine(cpu=Cpu(vendor="x")))).gaps == (open_gap,)


def test_sources_are_kept_once() -> None:
    """A fact's source is the one whose word counts."""
    first, second = Source(fact="cpu", where="a"), Source(fact="cpu", where="b")
    assert merge((Machine(sources=(first,)), Machine(sources=(second,)))).sources == (first,)


def test_known_looks_into_sections() -> None:
    """A dotted fact is known when every step of it is."""
    machine = Machine(cpu=Cpu(vendor="x"), hcas=(Hca(name="a", locality=Locality(numa_nodes=(1,))),))
    assert (known(machine, "cpu.vendor"), known(machine, "cpu.driver"), known(machine, "hcas"), known(machine, "no.such")) == (
        True,
        False,
        True,
        False,
    )
