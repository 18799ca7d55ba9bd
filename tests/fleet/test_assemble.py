"""A fleet's screen, whatever is in it: every node stands in one place, and the order in which nodes came says nothing."""

from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.model.sheets import Severity
from advisor.fleet.fleet import Silent
from advisor.fleet.fold import Fact, Folded, Hardware, Judged, Part
from advisor.fleet.kinds import Figure, Nodes, assemble
from advisor.machine.hosts.errands import expanded
from tests.examples import examples

DIMMS = (None, (), (("16 GiB DDR4", 15),), (("16 GiB DDR4", 16),))
SEVERITIES: tuple[Severity, ...] = ("high", "low", "info")
RULES = tuple(Judged(severity, severity, severity, f"{severity} is so", "do it") for severity in SEVERITIES)


@st.composite
def fleets(draw: st.DrawFn) -> Nodes:
    """Draw nodes of a few sorts of hardware, with facts, findings and figures; some did not answer."""
    names = draw(st.lists(st.from_regex(r"[a-z]{1,2}[0-9]{0,3}", fullmatch=True), min_size=1, max_size=40, unique=True))
    silent = set(draw(st.lists(st.sampled_from(names), max_size=5)))
    here = [name for name in names if name not in silent]
    modules = {name: (("sockets", (("EPYC", 2),)), ("DIMMs", draw(st.sampled_from(DIMMS)))) for name in here}
    facts = {name: {fact: draw(st.sampled_from("xyz")) for fact in ("kernel.a", "bios.b")} for name in here}
    return Nodes(
        folded={name: _node(draw(st.sampled_from(("Dell", "HPE"))), modules[name], facts[name]) for name in here},
        judged={name: tuple(draw(st.lists(st.sampled_from(RULES), max_size=3, unique=True))) for name in here},
        measured={
            name: {"triad": Figure("triad", "bytes/s", draw(st.sampled_from((50.0, 99.0, 100.0, 101.0))))}
            for name in here
            if draw(st.booleans())
        },
        silent=tuple(Silent(node=name, why="timed out") for name in names if name in silent),
    )


def _node(vendor: str, modules: tuple[tuple[str, tuple[tuple[str, int], ...] | None], ...], values: dict[str, str]) -> Folded:
    facts = {name: Fact(value, value) for name, value in values.items()}
    return Folded(Hardware((vendor,), modules), {"system": Part(repr(values).encode(), facts)})


@examples(100)
@given(nodes=fleets())
def test_every_node_is_in_one_kind_or_silent(nodes: Nodes) -> None:
    """Who was asked is who answered and who did not; a kind's count is that of its nodes."""
    fleet = assemble(nodes)
    placed = [node for kind in fleet.kinds for node in expanded(kind.nodes)]
    silent = [each.node for each in fleet.silent]
    assert sorted(placed + silent) == sorted([*nodes.folded, *(each.node for each in nodes.silent)])
    assert (fleet.asked, fleet.answered) == (len(placed) + len(silent), len(placed))
    assert [kind.count for kind in fleet.kinds] == [len(expanded(kind.nodes)) for kind in fleet.kinds]


@examples(100)
@given(nodes=fleets())
def test_who_is_named_is_of_the_kind_that_is_named(nodes: Nodes) -> None:
    """Findings, drift and populations are of nodes of their kind, and are counted."""
    fleet = assemble(nodes)
    kinds = {kind.name: set(expanded(kind.nodes)) for kind in fleet.kinds}
    said = [(each.kind, each.nodes, each.count) for each in fleet.wrong]
    said += [(each.kind, each.nodes, each.count) for each in fleet.drift]
    said += [(each.kind, one.nodes, one.count) for each in fleet.split for one in each.populations]
    assert [(kind, nodes) for kind, nodes, _ in said if not set(expanded(nodes)) <= kinds[kind]] == []
    assert [count for _, _, count in said] == [len(expanded(nodes)) for _, nodes, _ in said]


@examples(100)
@given(nodes=fleets(), data=st.data())
def test_the_order_of_nodes_does_not_matter(nodes: Nodes, data: st.DataObject) -> None:
    """Answers come in any order; the screen is the same."""
    order = data.draw(st.permutations(list(nodes.folded)))
    mixed = Nodes(
        folded={name: nodes.folded[name] for name in order},
        judged={name: nodes.judged[name] for name in order},
        measured={name: nodes.measured[name] for name in order if name in nodes.measured},
        silent=nodes.silent,
    )
    assert assemble(mixed) == assemble(nodes)


def test_what_is_said_of_a_set_of_nodes_is_so_on_the_first_of_them() -> None:
    """Whatever order they came in: fleet show explains the first node of the set, and has to say the same there."""
    said = {node: (Judged("a-rule", "low", "Title", f"so on {node}", "do it"),) for node in ("r10n1", "r2n7", "r2n3")}
    fleet = assemble(Nodes({node: _node("Dell", (("sockets", (("EPYC", 2),)),), {}) for node in said}, said))
    assert [(each.nodes, each.claim) for each in fleet.wrong] == [("r2n[3,7],r10n1", "so on r2n3")]
