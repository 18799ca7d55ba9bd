"""What a transform leaves open, what it refuses, and what it never changes."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import AdvisorError, BadValue
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import Bios, Cpu, Locality
from advisor.machine.layout import Assumption, parse_assumption
from advisor.machine.machine import Machine
from advisor.machine.topology import L3, Core, NumaNode, Package, Topology
from tests.change.changed import after, machine, topology
from tests.examples import a_third
from tests.machines.catalogue import MACHINES

NPS1, NPS4 = "epyc-nps1-linear", "epyc-nps4-linear"


@pytest.mark.parametrize("name", a_third(sorted(MACHINES)))
def test_every_machine_is_transformed_or_refused_in_one_line(name: str) -> None:
    """No setting breaks any machine of the catalogue, and what comes out reads back as the same machine."""
    for wish in ("nps=1", "nps=4,smt=off", "l3-as-node=on", "interleave=die", "snc=2", "cod=on", "smt=on", "enumeration=linear"):
        found, refused = tried(machine(name), wish)
        assert "\n" not in refused
        assert Machine.model_validate_json(found.model_dump_json()) == found
        assert refused or union(n.cpuset for n in topology(found).nodes) == topology(found).pus


def tried(before: Machine, wish: str) -> tuple[Machine, str]:
    """Return the machine after a change, or as it was with the reason of the refusal."""
    try:
        return after(before, wish), ""
    except AdvisorError as error:
        return before, str(error)


@pytest.mark.parametrize(
    ("name", "wish"),
    [
        (NPS4, "nps=4"),
        (NPS4, "l3-as-node=off,smt=off,enumeration=linear"),
        ("epyc-nps2-l3numa-smt-roundrobin", "l3-as-node=on,smt=on,enumeration=round-robin"),
        ("a-r7425-2x7601-dell", "interleave=channel,enumeration=round-robin"),
        ("c-c6320-2x2660v3-cod", "cod=on"),
        ("d-delftblue-2x6248r-snc2", "snc=2"),
        ("hbm-flat", "snc=4"),
    ],
)
def test_what_is_set_so_already_changes_nothing(name: str, wish: str) -> None:
    """The machine comes back as it is, its sources and gaps too."""
    assert after(machine(name), wish) is machine(name)


@pytest.mark.parametrize(
    ("name", "there", "back"),
    [
        (NPS4, "nps=1", "nps=4"),
        (NPS1, "nps=4", "nps=1"),
        ("epyc-nps2-smt-roundrobin", "l3-as-node=on", "l3-as-node=off"),
        ("epyc-nps4-smt-linear", "smt=off", "smt=on"),
        ("epyc-nps4-smt-roundrobin", "enumeration=linear", "enumeration=round-robin"),
        ("c-c6320-2x2660v3", "cod=on", "cod=off"),
        ("d-delftblue-2x6448y", "snc=2", "snc=off"),
        ("hbm-flat", "snc=off", "snc=4"),
    ],
)
def test_there_and_back_is_the_same_machine(name: str, there: str, back: str) -> None:
    """Where nothing is lost on the way, the topology is what it was; distances to memory without CPUs are unknown then."""
    found, was = topology(after(after(machine(name), there), back)), topology(machine(name))
    assert found.model_copy(update={"distances": None}) == was.model_copy(update={"distances": None})


def test_a_finer_cut_does_not_tell_where_a_device_is() -> None:
    """From NPS1 to NPS4 the adapter is on one of the four nodes of its socket: on which is unknown, and said so."""
    found = after(machine(NPS1), "nps=4")
    why = "assumed: the coarser partitioning does not show which of the nodes 4-7 it is on"
    assert [hca.locality for hca in found.hcas or ()] == [Locality(numa_nodes=(4, 5, 6, 7), inferred=why, one_of=True)]
    told = next(gap for gap in found.gaps if gap.fact == "hcas.locality")
    assert told.why.endswith("mlx5_0 on one of the nodes 4-7")


def test_a_device_of_one_of_several_nodes_is_found_again() -> None:
    """Cut finer and joined again, it is where it was; of a machine that was one node nothing is known after the cut."""
    again = after(after(machine(NPS1), "nps=4"), "nps=1")
    assert [hca.locality for hca in again.hcas or ()] == [hca.locality for hca in machine(NPS1).hcas or ()]
    halves = after(after(machine(NPS1), "nps=4"), "nps=2")
    assert [hca.locality and hca.locality.numa_nodes for hca in halves.hcas or ()] == [(2, 3)]
    whole = after(machine("nps0"), "nps=1")
    assert {hca.locality for hca in whole.hcas or ()} <= {None}


def test_what_was_assumed_names_itself() -> None:
    """Sources say what was assumed; each gap says that it was not read, and when to look again."""
    found = after(machine(NPS1), "nps=4,smt=on")
    assert {s.fact for s in found.sources if s.where == "assumed: nps=4,smt=on"} >= {"topology", "cpu.smt_control"}
    new = [gap for gap in found.gaps if gap not in machine(NPS1).gaps]
    assert {gap.help for gap in new} == {"check again after the restart: advisor audit"}
    assert all(gap.why.startswith("assumed, not read: ") for gap in new)
    assert (found.acpi, found.limits and found.limits.affinity) == (None, None)


def test_isolated_cpus_keep_their_numbers_and_name_other_cores() -> None:
    """Isolcpus stays on the command line when the cores are listed in another order, and a gap warns of it."""
    found = after(machine("isolated"), "enumeration=linear")
    assert found.kernel is not None
    assert str(found.kernel.isolated) == "16-19"
    assert any(gap.fact == "kernel.isolated" and "which then refer to different cores" in gap.why for gap in found.gaps)


def test_memory_of_half_filled_sockets_is_not_shared_out() -> None:
    """Where channels are empty the memory of each new node is not known; joined it is."""
    one = after(machine("memoryless"), "nps=1")
    assert [node.memory for node in topology(one).nodes] == [128 << 30, 128 << 30]
    assert {node.memory for node in topology(after(one, "nps=4")).nodes} == {None}


def test_attributes_of_the_bios_that_hold_the_setting_are_forgotten() -> None:
    """Those named are left out, all of them where none is named."""
    bios = Bios(attributes={"NumaNodesPerSocket": "1", "SysProfile": "Custom"}, pending={})
    before = machine(NPS1).model_copy(update={"bios": bios})
    assert after(before, "nps=4").bios is None


@pytest.mark.parametrize(
    ("name", "wish", "words"),
    [
        (NPS4, "cod=on", "EPYC 7002 (Rome) has no cluster on die"),
        (NPS4, "snc=2", "available: NPS0, NPS1, NPS2, NPS4, L3-as-NUMA"),
        ("uneven-l3", "interleave=die", "(found on EPYC 7001)"),
        ("hbm-flat", "snc=3", "available: none, SNC4"),
        ("offline", "smt=on", "offline or hidden"),
        ("numa-off", "nps=4", "the current NUMA partitioning is unknown"),
        ("knights-landing", "smt=on", ""),
        ("a-r7425-2x7601-dell", "nps=4", "EPYC 7001 (Naples) has no NPS"),
    ],
)
def test_impossible_wishes_get_one_line(name: str, wish: str, words: str) -> None:
    """What this processor does not offer, or what the input does not tell, is refused with what there is."""
    if not words:
        assert after(machine(name), wish) is machine(name)
        return
    with pytest.raises(AdvisorError) as refused:
        after(machine(name), wish)
    assert words in str(refused.value)


def test_six_dies_have_no_nps4() -> None:
    """Of a processor with six dies the offer ends at NPS2, and the error says so."""
    with pytest.raises(BadValue, match=r"6 dies per socket.*available: NPS0, NPS1, NPS2, L3-as-NUMA"):
        after(made(2, 12, 2, 1), "nps=4")


def test_a_processor_nobody_knows_is_refused() -> None:
    """Without a known processor no cut is taken for possible."""
    unknown = made(2, 8, 2, 1).model_copy(update={"cpu": Cpu(vendor="Other", model_name="Other 1")})
    with pytest.raises(BadValue, match="the NUMA partitioning modes of Other 1 are unknown"):
        after(unknown, "nps=4")


def made(sockets: int, groups: int, size: int, threads: int, memory: int = 64 << 30) -> Machine:
    """Return a Rome in NPS1, numbered linear, of any shape."""
    total = sockets * groups * size
    core = [CpuSet(at + total * thread for thread in range(threads)) for at in range(total)]
    each = groups * size

    def joined(a: int, b: int) -> CpuSet:
        return union(core[a:b])

    packages = tuple(Package(os_index=s, cpuset=joined(s * each, (s + 1) * each)) for s in range(sockets))
    nodes = tuple(NumaNode(os_index=s, cpuset=p.cpuset, near=p.cpuset, memory=memory + s) for s, p in enumerate(packages))
    pus = CpuSet.span(0, total * threads - 1)
    shape = Topology(
        packages=packages,
        nodes=nodes,
        l3=tuple(L3(cpuset=joined(g * size, (g + 1) * size), size=1 << 24) for g in range(sockets * groups)),
        cores=tuple(Core(os_index=at % each, cpuset=cpus) for at, cpus in enumerate(core)),
        pus=pus,
        allowed=pus,
        allowed_nodes=CpuSet(range(sockets)),
    )
    return Machine(topology=shape, cpu=Cpu(vendor="AuthenticAMD", family=23, model=49, model_name="AMD EPYC"))


WISHES = st.sampled_from(
    [f"nps={n},l3-as-node={l3},smt={smt},enumeration={e}" for n, l3, smt, e in product(
        (1, 2, 4), ("on", "off"), ("on", "off"), ("linear", "round-robin")
    )]
)  # fmt: skip


@given(
    sockets=st.integers(1, 3), groups=st.sampled_from([8, 16]), size=st.integers(1, 5), threads=st.integers(1, 2),
    memory=st.integers(0, 1 << 40), first=WISHES, second=WISHES,
)  # fmt: skip
def test_cores_and_memory_are_conserved(  # noqa: PLR0917 - one argument a dimension
    sockets: int, groups: int, size: int, threads: int, memory: int, first: str, second: str
) -> None:
    """Through any two settings: as many cores, the same memory, every CPU in one node, one package, one L3 group."""
    before = made(sockets, groups, size, threads, memory)
    found = topology(after(after(before, first), second))
    was = topology(before)
    count = len(was.cores)
    assert len(found.cores) == count
    assert found.pus == CpuSet.span(0, count * (2 if "smt=on" in second else 1) - 1)
    assert sum(node.memory or 0 for node in found.nodes) == sum(node.memory or 0 for node in was.nodes)
    for parts in (found.nodes, found.packages, found.l3, found.cores):
        assert sum(len(part.cpuset) for part in parts) == len(found.pus)
        assert union(part.cpuset for part in parts) == found.pus
    assert sorted(core.os_index or 0 for core in found.cores) == sorted(core.os_index or 0 for core in was.cores)


def test_texts_are_read_and_written_back() -> None:
    """An assumption's text reads back as the assumption, in any order and spelling."""
    wish = parse_assumption(["smt=off, nps=4", "L3_AS_NODE=on"])
    assert wish == Assumption(nps=4, smt=False, l3_as_node=True)
    assert parse_assumption([wish.text]) == wish
    assert parse_assumption(["snc=off,cod=off,nps=1"]).text == "nps=1,snc=off,cod=off"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nsp=4", "did you mean nps=4?"),
        ("nps=3", "use one of 1, 2, 4, 0"),
        ("nps", "write nps=1|2|4|0"),
        ("nps=1,nps=4", "two values"),
        ("xyzzy=1", "available: nps"),
    ],
)
def test_wrong_texts_name_the_right_ones(text: str, words: str) -> None:
    """A wrong name or value is one line with what may be written."""
    with pytest.raises(BadValue) as refused:
        parse_assumption([text])
    assert words in str(refused.value)
