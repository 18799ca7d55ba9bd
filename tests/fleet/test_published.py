"""Fleets of published machines and seeds, in racks: every planted oddity is named, and nothing else is."""

from pathlib import Path

import pytest

from advisor.fleet.audit import audit_fleet
from tests.fleet.published import CORPUS, mistakes, plant_racks
from tests.machines import hwloc_xml

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no published machines in {CORPUS.name} (set ADVISOR_CORPUS)"),
    pytest.mark.skipif(not hwloc_xml.available(), reason="lstopo is not installed"),
    pytest.mark.slow,
]


@pytest.mark.parametrize("seed", range(1, 21))
def test_every_oddity_planted_in_racks_of_published_machines_is_named_and_nothing_else(seed: int, tmp_path: Path) -> None:
    """Three racks have an older BIOS; names, serial numbers, MACs, GUIDs, LIDs and some memory are another on each node."""
    made = plant_racks(tmp_path, seed, nodes=240)
    assert list(mistakes(made, audit_fleet([tmp_path]).fleet)) == []


def test_a_fleet_with_something_else_in_it_is_not_found_to_be_as_planted(tmp_path: Path) -> None:
    """The truth can be missed: with another plan in hand each planted oddity is a mistake."""
    made = plant_racks(tmp_path, 1, nodes=240)
    fleet = audit_fleet([tmp_path]).fleet
    planted, made.plants = made.plants, []
    found = "\n".join(mistakes(made, fleet))
    assert [fact for fact, _ in planted if fact not in found] == []
