from advisor.advice.compare import difference_page
from advisor.advice.model.findings import Change, Difference, FindingChange
from advisor.show.lines import text_of


def drawn(difference: Difference, width: int = 80) -> list[str]:
    """Return the lines of a page."""
    return [text_of(line).rstrip() for line in difference_page(difference).lines(width)]


def test_two_equal_machines_take_two_lines() -> None:
    """The names, and that nothing differs."""
    assert drawn(Difference(before="a", after="b")) == ["a -> b", "No differences in what could be read on both."]


def test_each_section_has_a_heading_and_stays_in_its_width() -> None:
    """Changes stand before -> after; lines are broken at the width."""
    difference = Difference(
        before="a",
        after="b",
        topology=(Change(name="cut", title="cut", before="NPS1", after="NPS4"),),
        settings=(Change(name="numa.nps", title="NUMA nodes per socket", before="1", after=None),),
        renumbered=62,
        lost=(FindingChange(id="numa-nps-below-best", severity="high", claim="socket 0 is cut NPS1 " * 5, now="unknown"),),
    )
    lines = drawn(difference, 60)
    assert [line for line in lines if line in ("Topology", "Settings", "Findings no longer present", "New findings")] == [
        "Topology",
        "Settings",
        "Findings no longer present",
    ]
    assert "cut  NPS1 -> NPS4" in lines
    assert "NUMA nodes per socket  1 -> not read" in lines
    assert any("62 CPU numbers" in line for line in lines)
    assert max(map(len, lines)) <= 60


def test_hostile_texts_do_not_steer_the_terminal() -> None:
    """What a capture says of itself is shown without control letters."""
    change = Change(name="kernel.release", title="kernel.release", before="\x1b[2J", after="5")
    assert "\x1b" not in "".join(drawn(Difference(before="\x1b]0;x", after="b", facts=(change,))))
