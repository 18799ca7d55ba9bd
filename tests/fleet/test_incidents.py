"""What differs and what is found for one reason is one line; what should stop jobs does, and nothing else."""

from pathlib import Path

import pytest

from advisor.fleet.audit import audit_fleet
from advisor.fleet.fleet import Drift, Odd, Population, Silent, Slow, Split, Wrong
from advisor.fleet.fold import Judged
from advisor.fleet.incidents import Told, incidents
from advisor.fleet.kinds import kept_from
from advisor.machine.machine import Kernel
from tests.fleet.test_audit import put
from tests.fleet.test_essence import ONE


def drift(fact: str, value: str, majority: str, nodes: str = "n1") -> Drift:
    """Return a fact in which one node of twenty differs."""
    return Drift(fact=fact, kind="A", majority=majority, value=value, nodes=nodes, count=1, of=20)


def wrong(rule: str, severity: str, nodes: str, count: int) -> Wrong:
    """Return a finding of some nodes of twenty."""
    return Wrong(rule=rule, severity=severity, kind="A", nodes=nodes, count=count, of=20, title=f"{rule}!")


LOST = Told(
    wrong=(wrong("memory-channel-empty", "high", "n1", 1), wrong("os-swappiness", "info", "n[1-20]", 20)),
    judged={"n1": (Judged("memory-channel-empty", "high", "Empty channel", "", "", "memory", "socket 0", 0.25),)},
    drift=(
        drift("hardware.DIMMs", "15 x 16 GiB", "16 x 16 GiB"),
        drift("memory.dimms.A4.size", "0 B", "16 GiB"),
        drift("numa.memory.0", "112 GiB", "128 GiB"),
    ),
)


def test_a_dimm_that_is_gone_is_one_incident() -> None:
    """Three facts and a finding of one node; what all have is another, of which nothing is to be done."""
    first, second = incidents(LOST)
    assert (first.text, first.nodes, first.action, len(first.facts), first.rules, first.lost) == (
        "DIMM A4 gone", "n1", "drain", 3, ("memory-channel-empty",), 24.0
    )  # fmt: skip
    assert (first.id, second.action, second.text) == ("A/memory-channel-empty/A4", "ignore", "os-swappiness!")


def test_facts_of_equal_values_are_folded() -> None:
    """Sixteen DIMMs at another speed are one fact."""
    slots = (f"{socket}{at}" for socket in "AB" for at in range(1, 9))
    (each,) = incidents(Told((), {}, tuple(drift(f"memory.dimms.{slot}.configured", "2933 MT/s", "3200 MT/s") for slot in slots)))
    assert each.facts == ("memory.dimms.A[1-8],B[1-8].configured 2933 MT/s, 3200 MT/s elsewhere",)


def test_nodes_with_the_same_cause_are_one_incident() -> None:
    """Two nodes with another kernel, and one with a third."""
    told = (drift("kernel.release", "5.1", "5.2", "n[1-2]"), drift("kernel.release", "5.0", "5.2", "n3"))
    assert [(each.nodes, each.count) for each in incidents(Told((), {}, told))] == [("n[1-2]", 2), ("n3", 1)]


def test_one_cause_is_one_split() -> None:
    """Facts that divide a kind in the same way are told together, by the first of them; a finding of one side belongs to it."""
    sides = (Population(value="x", nodes="n[1-12]", count=12), Population(value="y", nodes="n[13-20]", count=8))
    split = tuple(
        Split(fact=fact, kind="A", populations=sides) for fact in ("hcas.mlx5_0.locality.numa_nodes", "numa.partitioning")
    )
    (each,) = incidents(Told((wrong("numa-nps", "medium", "n[13-20]", 8),), {}, (), split))
    assert (each.action, each.text, len(each.facts)) == (
        "ask",
        "numa.partitioning differs, intended value unknown: x (12 nodes), y (8)",
        2,
    )


def test_what_should_stop_jobs_is_excluded_and_nothing_else() -> None:
    """Lost parts, slow and silent nodes; not a setting, not what all nodes have; from medium on the tickets, too."""
    slow = Slow(figure="membw", node="n5", value=80, median=100, z=-9, kind="A", unit="bytes/s", among=20)
    told = Told(
        (*LOST.wrong, wrong("numa-nps-below-best", "high", "n[1-20]", 20), wrong("power-boost-off", "medium", "n7", 1)),
        {**LOST.judged, "n7": (Judged("power-boost-off", "medium", "Boost off", "", "", "power"),)},
        (*LOST.drift, drift("kernel.release", "5.1", "5.2", "n2")),
        (),
        (slow,),
        (Silent(node="n9", why="no route"),),
        (Odd(what="version", node="n6", why="captured by advisor 0.1.0"),),
    )
    found = incidents(told)
    assert [kept_from(found, severity) for severity in ("high", "medium", "low")] == ["n[1,5,9]", "n[1,5,7,9]", "n[1-2,5,7,9]"]
    assert next(each for each in found if each.nodes == "n5").lost == 4.8


def test_other_makers_of_dimms_are_nothing_to_do() -> None:
    """They may be drift; they are no incident to act on."""
    (each,) = incidents(Told((), {}, (drift("memory.dimms.parts", "8 x Micron", "8 x Hynix"),)))
    assert (each.action, each.severity) == ("ignore", "info")


@pytest.mark.parametrize(("words", "value"), [((("quiet", None),), "not there"), ((("quiet", None), ("iommu", "off")), "off")])
def test_a_boot_option_that_few_lack_or_have_otherwise_is_named(
    tmp_path: Path, words: tuple[tuple[str, str]], value: str
) -> None:
    """Of eleven nodes ten have iommu=pt."""
    for at in range(11):
        line = words if at == 4 else (("quiet", None), ("iommu", "pt"))
        kernel = (ONE.kernel or Kernel()).model_copy(update={"cmdline": line})
        node = ONE.model_copy(update={"name": f"n{at:02}", "kernel": kernel})
        (tmp_path / f"n{at:02}.json").write_text(node.model_dump_json())
    told = [(each.fact, each.value, each.nodes) for each in audit_fleet([tmp_path]).fleet.drift]
    assert told == [("boot.iommu", value, "n04")]


def test_an_old_capture_is_named(tmp_path: Path) -> None:
    """Nine days before the others: its clock is right, and what it shows may be fixed."""
    for at in range(4):
        put(tmp_path, f"n{at}", answer=False)
    put(tmp_path, "n4", answer=False, time="2026-01-22T06:10:00Z")
    (each,) = (each for each in audit_fleet([tmp_path]).fleet.incidents if each.nodes == "n4")
    assert (each.action, each.text) == ("watch", "old: captured 9 days before most others; capture it again")
