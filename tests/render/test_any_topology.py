"""Whatever the shape of a machine: it is drawn, it fits, and no CPU is lost."""

from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import L3, Core, NumaNode, Package, Topology
from advisor.show.lines import width_of
from advisor.show.picture import collapsed, picture
from advisor.show.svg import draw_svg
from advisor.show.terminal import picture_lines
from tests.examples import examples
from tests.render import made

cpus = st.integers(0, (1 << 24) - 1).map(CpuSet.from_bits)
sizes = st.none() | st.integers(0, 1 << 45)
numbers = st.none() | st.integers(-1, 4000)


@st.composite
def anything(draw: st.DrawFn) -> Topology:
    """Return sets of CPUs that need not fit each other."""
    kinds = st.sampled_from([None, "dram", "hbm", "cxl", "gpu"])
    nodes = draw(st.lists(st.tuples(cpus, cpus, sizes, kinds), max_size=12))
    return Topology(
        packages=tuple(draw(st.lists(st.builds(Package, os_index=numbers, cpuset=cpus), max_size=6))),
        nodes=tuple(
            NumaNode(os_index=at, cpuset=own, near=own or near, memory=size, kind=kind)
            for at, (own, near, size, kind) in enumerate(nodes)
        ),
        l3=tuple(draw(st.lists(st.builds(L3, cpuset=cpus, size=sizes), max_size=8))),
        cores=tuple(draw(st.lists(st.builds(Core, os_index=numbers, cpuset=cpus), max_size=16))),
        pus=draw(cpus),
        allowed=draw(cpus),
        allowed_nodes=CpuSet.from_bits(draw(st.integers(0, 4095))),
    )


@st.composite
def regular(draw: st.DrawFn) -> Topology:
    """Return a machine as they are built."""
    return made.topology(
        made.Shape(
            sockets=draw(st.integers(1, 9)),
            nodes=draw(st.integers(1, 8)),
            l3=draw(st.integers(1, 5)),
            cores=draw(st.integers(1, 4)),
            threads=draw(st.integers(1, 4)),
            dealt=draw(st.booleans()),
        )
    )


NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]{0,254}", fullmatch=True)
"""What a host may be called; anything else never becomes a Machine."""


@examples(60)
@given(topology=anything() | regular(), width=st.integers(60, 200), name=NAMES, whole=st.booleans())
def test_terminal(topology: Topology, width: int, name: str, whole: bool) -> None:
    """No line is wider than the terminal."""
    drawn = picture(made.machine(topology, name=name), made.layout(name=name or "x"))
    shown = picture_lines(drawn if whole else collapsed(drawn), width, whole=whole)
    assert max(map(width_of, shown)) <= width


@examples(60)
@given(topology=anything() | regular())
def test_every_cpu_is_drawn(topology: Topology) -> None:
    """Every CPU that the source names is in the picture once, collapsed or not."""
    drawn = picture(made.machine(topology), made.layout())
    for each in (drawn, collapsed(drawn)):
        members = [cpu for box in each.boxes() for member in box.members() for cpu in member.cpus]
        assert topology.pus <= each.cpus
        assert sorted(members) == list(each.cpus)


@examples(30)
@given(topology=anything() | regular(), name=NAMES)
def test_svg(topology: Topology, name: str) -> None:
    """The SVG is well-formed XML."""
    from defusedxml.ElementTree import fromstring

    assert fromstring(draw_svg(picture(made.machine(topology, name=name), made.layout()))).tag.endswith("svg")
