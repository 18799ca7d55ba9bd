"""Checklists in a real Chromium: how many sheets they print on, that ticks stay, what the filter leaves, what axe says."""

from pathlib import Path

import pytest

from advisor.advice.checklist import Ordered, checklist
from advisor.measure.platform import platforms
from tests.browser import Look, needs_browser, open_page, printed
from tests.machines.catalogue import write_archive
from tests.test_report_browser import NOTHING, seen

pytestmark = [needs_browser, pytest.mark.slow]

SHEETS = 4
ROME = Ordered("rome", "EPYC 7702")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return the page of a Dell server with two EPYC 7702 left at NPS1."""
    source = tmp_path / "node.tar.gz"
    write_archive("b-c6525-2x7702-nps1", source)
    return _written(tmp_path, checklist(str(source)).text("html"))


@pytest.fixture
def order(tmp_path: Path) -> Path:
    """Return the page of such a server on order."""
    return _written(tmp_path, checklist(ROME, vendor="dell").text("html"))


def _written(folder: Path, text: str, name: str = "checklist.html") -> Path:
    page = folder / name
    page.write_text(text, encoding="utf-8")
    return page


def table_alone(text: str) -> str:
    """Return a page up to where its table of BIOS settings ends."""
    return text[: text.index('<section id="system">')] + "</main></body></html>"


@pytest.mark.parametrize("vendor", ["dell", "hpe", "lenovo", "supermicro", "gigabyte", "generic"])
def test_hardware_on_order_prints_on_four_sheets_of_which_the_first_is_the_bios_table(vendor: str, tmp_path: Path) -> None:
    """The table of BIOS settings, with menu, attribute and value, fills one sheet of A4 and no more."""
    text = checklist(ROME, vendor=vendor).text("html")
    whole = printed(_written(tmp_path, text), tmp_path / "all.pdf")
    table = printed(_written(tmp_path, table_alone(text), "table.html"), tmp_path / "table.pdf")
    assert (table, whole <= SHEETS) == (1, True)


def test_every_platform_on_order_prints_on_four_sheets_with_its_table_on_the_first(tmp_path: Path) -> None:
    """Whatever the processor, in Dell's words or where Dell has none in the usual ones."""
    found = {}
    for platform in (each.id for each in platforms()):
        text = checklist(Ordered(platform), vendor="dell").text("html")
        whole = printed(_written(tmp_path, text), tmp_path / "all.pdf")
        table = printed(_written(tmp_path, table_alone(text), "table.html"), tmp_path / "table.pdf")
        found[platform] = (table, whole <= SHEETS)
    assert found == dict.fromkeys(found, (1, True))


def test_the_list_of_a_usual_server_prints_on_two_sheets(machine: Path, tmp_path: Path) -> None:
    """To do, to consider, to look up and done; what is folded stays folded on paper."""
    assert printed(machine, tmp_path / "checklist.pdf") <= 2


@pytest.mark.parametrize("which", ["machine", "order"])
def test_a_checklist_is_sound_in_a_browser_light_and_dark_narrow_and_wide(which: str, request: pytest.FixtureRequest) -> None:
    """No violation of axe, no fault of html-validate, no request, no error, no script, nothing wider than its window."""
    page: Path = request.getfixturevalue(which)
    assert seen(page) | {"passes": False} == NOTHING


def test_a_box_that_is_ticked_stays_ticked(machine: Path) -> None:
    """Without a script: whoever follows a link and comes back finds the tick."""
    before, after = open_page(machine, [Look(), Look(click="#todo input", away=True)])
    assert [name for name in after["checked"] if name not in before["checked"]] == ["numa-nps-below-best"]


def test_the_filter_leaves_what_weighs_enough(machine: Path) -> None:
    """Low and above hides what is to consider, and nothing that is to do."""
    every, few = (look["text"] for look in open_page(machine, [Look(), Look(click="#only-low")]))
    lines = ("NPS 1 -> 4", "vm.swappiness 60 -> 10", "11 checks passed")
    assert [line in every for line in lines] == [True, True, True]
    assert [line in few for line in lines] == [True, False, True]


def test_contents_lead_to_parts_that_are_there(machine: Path, order: Path) -> None:
    """Every link of the contents has its part; nothing is to be filled in by hand on a dotted line."""
    for page in (machine, order):
        (look,) = open_page(page, [Look()])
        assert (look["dangling"], "____" in look["text"]) == ([], False)
