"""Reports in a real Chromium: what axe and html-validate say, no request, 320 pixels, paper, and names that attack."""

from dataclasses import replace
from pathlib import Path

import pytest

from advisor.exports.compared import change_report
from advisor.exports.single import report
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from tests.browser import Look, invalid, needs_browser, open_page, printed
from tests.reports import CORPUS, MACHINES, ROME, dense, everything, source_of, written

pytestmark = needs_browser

LARGEST = 1_500_000
SHEETS = 20
"""Sheets of A4 that a report with every chart may take; facts stay folded on paper."""


def seen(page: Path) -> dict[str, object]:
    """Return all that a browser has against a page: nothing, where it is as it should be."""
    light, dark, narrow, wide = open_page(page, [Look(axe=True), Look("dark", axe=True), Look(width=320), Look(width=3840)])
    every = (light, dark, narrow, wide)
    return {
        "violations": light["violations"] + dark["violations"],
        "passes": min(light["passes"], dark["passes"]) < 30,
        "asked": [request for look in every for request in look["requests"]],
        "errors": [error for look in every for error in look["errors"]],
        "sideways": [look["scroll_width"] for look in every if look["scroll_width"] > look["width"]],
        "scripts": sum(look["scripts"] for look in every),
        "dangling": light["dangling"],
        "unreachable": sum(look["unreachable"] for look in every),
        "invalid": invalid(page),
    }


NOTHING: dict[str, object] = {
    "violations": [], "passes": False, "asked": [], "errors": [], "sideways": [], "scripts": 0, "dangling": [], "unreachable": 0,
    "invalid": [],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_a_report_is_sound_in_a_browser_light_and_dark_narrow_and_wide(name: str, tmp_path: Path) -> None:
    """No violation of axe, no fault of html-validate, no request, no error, nothing wider than its window."""
    source, measured = source_of(name, tmp_path)
    if source.startswith(str(CORPUS)) and not Path(source).is_file():
        pytest.skip(f"no {source}: the published machines are not there")
    page = tmp_path / "report.html"
    page.write_text(report(source, measurements=measured).html(), encoding="utf-8")
    assert (seen(page), page.stat().st_size < LARGEST) == (NOTHING, True)


@pytest.mark.slow
def test_a_report_prints_on_a4_with_everything_that_matters_on_the_first_sheet(tmp_path: Path) -> None:
    """The verdict, the fix and the figures stand on it; folded facts are not printed."""
    source, measured = source_of("rome-nps1", tmp_path)
    page = tmp_path / "report.html"
    page.write_text(report(source, measurements=measured).html(), encoding="utf-8")
    assert printed(page, tmp_path / "report.pdf") <= SHEETS
    (look,) = open_page(page, [Look(width=760, media="print")])
    first = look["text"][:2500]
    wanted = ("Fix 1 thing", "racadm set BIOS.ProcSettings.NumaNodesPerSocket 4", "Memory bandwidth, triad", "Not checked:")
    assert [words for words in wanted if words not in first] == []
    assert "/proc/sys/kernel/hostname" not in look["text"]


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>'


def attacked(machine: Machine) -> Machine:
    """Return a machine whose firmware, modules and processor are called what would run in a careless page."""
    assert machine.firmware is not None
    assert machine.memory is not None
    assert machine.cpu is not None
    worse = {"system_vendor": "{{7*7}}", "product": HOSTILE, "bios_version": HOSTILE}
    modules = tuple(each.model_copy(update={"locator": f"{HOSTILE}{at}"}) for at, each in enumerate(machine.memory.dimms or ()))
    return machine.model_copy(
        update={
            "firmware": machine.firmware.model_copy(update=worse),
            "cpu": machine.cpu.model_copy(update={"model_name": f"AMD EPYC 7702 {HOSTILE}"}),
            "memory": machine.memory.model_copy(update={"dimms": modules}),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one", "two"])
def test_hostile_names_stay_letters(kind: str, tmp_path: Path) -> None:
    """Host, DMI, processor and slot names with markup open no dialog, bring no element, and are read as they are written."""
    source, _ = source_of("rome-nps1", tmp_path)
    file, page = tmp_path / "hostile.json", tmp_path / "report.html"
    file.write_text(attacked(read_machine(source)).model_dump_json(), encoding="utf-8")
    one = report(str(file))
    named = one.content.machine.model_copy(update={"name": f"x{HOSTILE}"})  # no reader lets such a name in
    pages = {"one": replace(one, content=replace(one.content, machine=named)).html, "two": change_report(str(file), source).html}
    page.write_text(pages[kind](), encoding="utf-8")
    light, dark = open_page(page, [Look(axe=True), Look("dark")])
    assert [(look["dialogs"], look["scripts"], look["errors"], look["requests"]) for look in (light, dark)] == [
        ([], 0, [], [])
    ] * 2
    assert (light["violations"], [line for line in invalid(page) if "long-title" not in line]) == ([], [])  # &lt; counts four
    assert ("<script>alert(1)</script>" in light["text"], "{{7*7}}" in light["text"]) == (True, True)


@pytest.mark.slow
def test_two_reports_side_by_side_are_sound_in_a_browser(tmp_path: Path) -> None:
    """The page of a change keeps to the same."""
    before, first = source_of("rome-nps1", tmp_path)
    after, second = source_of("rome-nps4", tmp_path)
    page = tmp_path / "change.html"
    page.write_text(change_report(before, after, measurements=(*first, *second)).html(), encoding="utf-8")
    assert seen(page) == NOTHING


@pytest.mark.slow
def test_384_cores_fit_into_a_small_page(tmp_path: Path) -> None:
    """Two EPYC 9965 with all 73,536 pairs of cores measured: at most 1.5 MB, nothing against it, and its JSON is read back."""
    source = written(dense())(tmp_path)
    file, page, document = tmp_path / "measured.json", tmp_path / "report.html", tmp_path / "report.json"
    file.write_text(everything(read_machine(source), ROME).model_dump_json(), encoding="utf-8")
    found = report(source, measurements=(file,))
    page.write_text(found.html(), encoding="utf-8")
    document.write_text(found.text("json"), encoding="utf-8")
    assert (seen(page), page.stat().st_size < LARGEST) == (NOTHING, True)
    again = report(str(document)).content.measured
    assert (again and again.machine) == (found.content.measured and found.content.measured.machine)
