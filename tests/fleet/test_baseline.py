"""What left the baseline is named, and nothing else."""

from dataclasses import replace

from advisor.fleet.baseline import check, freeze
from advisor.fleet.fleet import Silent
from advisor.fleet.fold import Fact, Folded, Hardware, Judged, Part
from advisor.fleet.kinds import Nodes


def nodes(changed: tuple[str, ...] = (), *, version: str = "2.0", names: int = 20) -> Nodes:
    """Return nodes of which some have another BIOS version."""
    made = {}
    for at in range(names):
        text = version if f"n{at}" in changed else "1.0"
        facts = {"firmware.bios_version": Fact(text, text), "numa.memory.0": Fact(at, "64 GiB", (64 << 30) + at)}
        made[f"n{at}"] = Folded(Hardware(("Dell",), ()), {"firmware": Part(repr(facts).encode(), facts)})
    return Nodes(made, {}, begun="2026-02-01T06:10:00Z", ended="2026-02-01T06:12:00Z")


GOOD = freeze(nodes(), "2026-01-01T00:00:00Z")


def test_a_fleet_that_is_as_it_was_has_left_nothing() -> None:
    """Its own names and amounts of memory are no change."""
    assert check(GOOD, nodes(), "now").left == ()


def test_what_left_is_named_with_its_nodes_and_between_when_and_when() -> None:
    """Two nodes with another BIOS version are one line."""
    found = check(GOOD, nodes(("n3", "n4")), "now")
    (left,) = found.left
    assert (left.what, left.before, left.after, left.nodes) == ("firmware.bios_version", "1.0", "2.0", "n[3-4]")
    assert (found.since, found.until) == (GOOD.at, "2026-02-01T06:12:00Z")


def test_a_new_finding_is_named() -> None:
    """A rule that found nothing then and does now."""
    now = replace(nodes(), judged={"n7": (Judged("fabric-port-down", "high", "", "", ""),)})
    (left,) = check(GOOD, now, "now").left
    assert (left.what, left.after, left.nodes) == ("finding", "fabric-port-down", "n7")


def test_who_is_gone_and_who_is_new_is_said() -> None:
    """A node that does not answer any more has its reason; one that was not there then is new."""
    more = nodes(names=21)
    kept = {name: node for name, node in more.folded.items() if name != "n5"}
    found = check(GOOD, replace(more, folded=kept, silent=(Silent(node="n5", why="timed out"),)), "now")
    assert (found.silent, found.new) == ((Silent(node="n5", why="timed out"),), "n20")


def test_a_baseline_reads_back() -> None:
    """It is the same after JSON."""
    assert type(GOOD).model_validate_json(GOOD.model_dump_json()) == GOOD
