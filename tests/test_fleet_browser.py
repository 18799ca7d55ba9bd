"""The page of a fleet in a real Chromium: what axe and html-validate say, no request, narrow and wide, light and dark."""

import random
import re
from pathlib import Path

import pytest

from advisor.fleet.audit import audit_fleet
from advisor.fleet.fleet import Drift, Fleet, Kind, Wrong
from advisor.fleet.page import fleet_report
from advisor.paths import template
from tests.browser import Look, invalid, needs_browser, open_page
from tests.fleet.planted import plant

LARGEST = 10_000_000


@pytest.mark.slow
@needs_browser
def test_the_page_of_a_fleet_is_sound_light_and_dark_narrow_and_wide(tmp_path: Path) -> None:
    """No violation of axe, no fault of html-validate, no request, no script, nothing wider than its window."""
    plant(tmp_path / "f", 5, nodes=24)
    page = tmp_path / "fleet.html"
    page.write_text(audit_fleet([tmp_path / "f"]).html(), encoding="utf-8")
    looks = open_page(
        page,
        [Look(axe=True), Look("dark", axe=True), Look(width=320, axe=True), Look("dark", width=320, axe=True), Look(width=3840)],
    )
    assert [each for look in looks for each in (*look.get("violations", ()), *look["requests"], *look["errors"])] == []
    assert (
        [look["width"] for look in looks if look["scroll_width"] > look["width"]],
        sum(look["scripts"] for look in looks),
    ) == ([], 0)
    assert (looks[0]["dangling"], invalid(page)) == ([], [])


def test_every_one_of_ten_thousand_nodes_is_on_a_page_below_ten_megabytes() -> None:
    """Each has a row of its own, with its findings."""
    chance = random.Random(1)  # noqa: S311 - no secret
    nodes = [f"n{at:05}" for at in range(10_000)]
    wrong = tuple(
        Wrong(rule=f"rule-{at}", severity="low", kind="A", nodes=",".join(chance.sample(nodes, 3000)), count=3000, of=10_000)
        for at in range(12)
    )
    drift = (Drift(fact="bios", kind="A", majority="1", value="2", nodes="n[00100-00400]", count=301, of=10_000),)
    kinds = (Kind(name="A", hardware="Dell", nodes="n[00000-09999]", count=10_000),)
    fleet = Fleet(asked=10_000, answered=10_000, kinds=kinds, wrong=wrong, drift=drift)
    about = {"scope": "mpi", "version": "0", "made": "now"}
    page = fleet_report(fleet, template("report/fleet.html.j2"), template("report/style.css"), about)
    assert (len(page) < LARGEST, set(re.findall(r'id="n-(\w+)"', page)) == set(nodes)) == (True, True)
