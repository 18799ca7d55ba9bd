"""A report of one machine, and of two: what stands on the page and where. No browser is needed. MEASURED VALUES ARE INVENTED."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.advice.audit_page.machine import facts_with_places
from advisor.exports.compared import ChangeReport, change_report
from advisor.exports.compared import values as change_values
from advisor.exports.page import ReportContent, comparisons, embedded, exhibits, figures, marked, styles, verdict
from advisor.exports.single import Report, report
from advisor.machine.hardware import Link
from advisor.machine.read import read_machine
from advisor.measure.charts import COLOURS as CURVES
from advisor.measure.charts import chart, charts_of
from advisor.show.picture import Picture, picture
from advisor.show.svg import ALARM, draw_svg
from tests.conftest import Golden
from tests.reports import source_of

DARK = re.compile(r'svg \[(fill|stroke)="(#[0-9a-f]{6}|white)" i\]\{\1:(#[0-9a-f]{6})\}')
PALETTE = {light: dark for _, light, dark in DARK.findall(styles()["dark"])}
"""Each colour of a drawing, and what stands for it in the dark."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for captures and measurements."""
    return tmp_path_factory.mktemp("reports")


def dated(content: ReportContent) -> ReportContent:
    """Return a report's content as if it were made on another day, of a file in this folder."""
    words = tuple(Path(word).name if "/" in word else word for word in content.asker.words)
    return replace(content, made="22 Nov 2026 12:00 UTC", version="0", asker=content.asker._replace(words=words))


def made(name: str, folder: Path) -> Report:
    """Return the report of a machine of tests/reports.py."""
    source, measured = source_of(name, folder)
    found = report(source, measurements=measured)
    return replace(found, content=dated(found.content))


@pytest.fixture(scope="module")
def rome(folder: Path) -> Report:
    """Return a Rome left at NPS1, with everything measured."""
    return made("rome-nps1", folder)


@pytest.fixture(scope="module")
def page(rome: Report) -> str:
    """Return its page."""
    return rome.html()


@pytest.fixture(scope="module")
def faulty(folder: Path) -> Report:
    """Return a Genoa with an empty channel on each socket and an adapter whose port is down."""
    return made("faulty", folder)


@pytest.fixture(scope="module")
def change(folder: Path) -> ChangeReport:
    """Return the Rome before and after its one fix."""
    (before, first), (after, second) = source_of("rome-nps1", folder), source_of("rome-nps4", folder)
    found = change_report(before, after, measurements=(*first, *second))
    both = (dated(found.content.reports[0]), dated(found.content.reports[1]))
    return replace(found, content=replace(found.content, names=("before", "after"), reports=both))


def words_of(page: str) -> str:
    """Return what a page says, without its marks."""
    body = re.sub(r"<style.*?</style>|<svg.*?</svg>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_a_ticket_gets_verdict_fixes_figures_plan_and_launch_lines(rome: Report, golden: Golden) -> None:
    """Golden: the Markdown of a Rome at NPS1, but for how many checks there are."""
    golden("report.md", rome.markdown().partition("## Not checked")[0])


@pytest.mark.slow
def test_a_ticket_gets_what_a_change_brought(change: ChangeReport, golden: Golden) -> None:
    """Golden: the Markdown of the same before and after NPS4, but for how many checks there are."""
    golden("report-change.md", re.sub(r"\d+ checks", "some checks", change.markdown()))


def test_the_page_begins_with_the_verdict_and_the_line_to_run(page: str) -> None:
    """The first 140 words have the verdict, the gain, the vendor's line and how to check it."""
    first = " ".join(words_of(page).partition(" Audited ")[2].split()[:140])
    wanted = ("Fix 1 thing", "13 % of STREAM triad", "racadm set BIOS.ProcSettings.NumaNodesPerSocket 4", "check")
    assert [each for each in wanted if each not in first] == []


def test_a_page_has_every_section(page: str) -> None:
    """Machine, measurements, settings, plan, launch lines, not seen, findings, facts, sources, and a way to each."""
    ids = ["machine", "measured", "settings", "plan", "launch", "unseen", "findings", "facts", "sources"]
    assert [each for each in ids if f'<section id="{each}">' not in page or f'href="#{each}"' not in page] == []


def numbers_of(seen: Picture) -> dict[str, tuple[int, ...]]:
    """Return which findings stand at what."""
    found = {f"socket {block.sockets[0]}": block.marks for block in seen.blocks}
    found |= {f"memory of socket {block.sockets[0]}": block.memory.marks for block in seen.blocks if block.memory}
    found |= {f"node {box.nodes[0]}": box.marks for box in seen.boxes()}
    devices = [device for box in seen.boxes() for device in box.devices]
    found |= {device.names[0]: device.marks for device in devices}
    return {place: tuple(mark.number for mark in marks) for place, marks in found.items() if marks}


def drawn(found: Report) -> Picture:
    """Return the picture of a report."""
    told = found.content
    return marked(picture(told.machine, told.layout), told.machine, told.audit, told.measured)


def test_what_is_wrong_is_marked_where_it_is(faulty: Report, rome: Report) -> None:
    """Empty channels at the modules of their sockets, a port that is down at its adapter, NPS at every socket."""
    by_rule = {own[0].id: number for number, own in enumerate(faulty.content.audit.by_rule, 1)}
    channels, down = by_rule["memory-channel-empty"], by_rule["fabric-rail-down"]
    without = by_rule["fabric-socket-without-adapter"]
    assert numbers_of(drawn(faulty)) == {
        "memory of socket 0": (channels,), "memory of socket 1": (channels,), "mlx5_1": (down,), "socket 1": (without,),
    }  # fmt: skip
    nps = next(n for n, own in enumerate(rome.content.audit.by_rule, 1) if own[0].id == "numa-nps-below-best")
    assert [nps in numbers_of(drawn(rome))[f"socket {number}"] for number in (0, 1)] == [True, True]


def test_every_slot_is_drawn_as_it_is(faulty: Report) -> None:
    """Twelve places a socket, the sixth of each empty; what the channels carry together stands above them."""
    memory = [block.memory for block in drawn(faulty).blocks]
    assert [[slot.name for slot in each.slots if slot.state == "empty"] for each in memory if each] == [["A6"], ["B6"]]
    assert [each.says for each in memory if each] == ["11 DIMMs in 11 channels, 4800 MT/s, at most 422.4 GB/s"] * 2


def test_links_between_sockets_say_what_was_measured_across_them(rome: Report) -> None:
    """Bandwidth and latency of the other socket's memory, against local memory."""
    assert [link.says for link in drawn(rome).links] == [
        "Links between sockets: memory of the other socket delivers 70 % of the bandwidth of local memory, 2 times its latency"
    ]


def test_each_figure_stands_beside_what_it_is_held_against(rome: Report, folder: Path) -> None:
    """Published where this machine meets the conditions, else what the hardware could, else that nothing is published."""
    kin = "(none for this model) [eth-cscs/cscs-reframe-tests]"
    ceiling = "59 % of the 409.6 GB/s that its DIMMs can carry"
    assert [(each.name, each.value, each.beside) for each in figures(rome.content.measured)] == [
        (
            "Memory bandwidth, triad",
            "240 GB/s",
            f"89 % of the 270 to 300 GB/s published for 2 x EPYC 7702 [dell-rome-2019], 3200 MT/s; NPS4 (here NPS1); {ceiling}",
        ),
        (
            "Memory latency",
            "100 ns",
            f"95 % of the 105 ns published for 2 x EPYC 7742 {kin}, conditions not stated",
        ),
        ("Floating point, double", "5324.8 GFLOP/s", "100 % of 5324.8 GFLOP/s, all cores at the measured clock"),
        ("HPL", "4153.3 GFLOP/s", "78 % of the peak under load, 92 % of the peak at base clock"),
        ("Messages, mlx5_0", "12.3 GB/s", "98 % of 100 Gbit/s (4X EDR); 45 % less from the other socket"),
    ]
    naples = made("r7425", folder).content
    rows = comparisons(naples.measured, naples.publications)
    far = next(row for row in rows if "far socket" in row.name)
    assert (far.here, far.published, far.share, far.source.ref) == ("6.8 GB/s", "6.9 GB/s", "99 %", "dell-naples-2018")


def test_little_known_is_said_beside_a_fix_too(rome: Report) -> None:
    """A machine of which few rules have an answer never looks as if it were well but for one thing."""
    audit = rome.content.audit
    few = tuple(each for each in audit.findings if each.verdict in ("finding", "unknown"))
    assert f"Few facts are known: {len(audit.by_rule)} of " in verdict(audit.model_copy(update={"findings": few})).says
    assert "Limited data" not in verdict(audit).says


def test_launch_lines_are_those_of_the_usual_shapes(rome: Report, folder: Path) -> None:
    """One rank per core, L3 group, NUMA node and socket, in one line where they have the same cores; for each GPU one."""
    near = "--bind-to core -x OMP_NUM_THREADS={0} -x OMP_PLACES=cores -x OMP_PROC_BIND=close ./app"
    assert [(line.shape, line.command) for line in rome.content.launches] == [
        ("One rank per core", "mpirun -np 128 --map-by core --bind-to core ./app"),
        ("One rank per L3 group, 4 threads each", f"mpirun -np 32 --map-by ppr:1:l3cache:PE=4 {near.format(4)}"),
        ("One rank per NUMA node = socket, 64 threads each", f"mpirun -np 2 --map-by ppr:1:numa:PE=64 {near.format(64)}"),
    ]
    gpus = made("turin-4-gpus", folder).content.launches
    assert [line.shape for line in gpus][-1] == "One rank per GPU, 16 threads each"


@pytest.mark.slow
def test_a_report_asks_for_no_measurement_that_cannot_be(folder: Path) -> None:
    """On a laptop there is no second NUMA node and no adapter: neither a matrix nor messages are called not measured."""
    there, lacking = ({command for _, command in exhibits(None, None, made(name, folder).content.machine).missing}
                      for name in ("rome-nps1", "laptop"))  # fmt: skip
    assert there - lacking == {"advisor measure matrix", "advisor measure network --hosts A,B"}


def test_modules_whose_socket_is_not_known_are_drawn_below(folder: Path) -> None:
    """A board whose names do not tell has one strip for all its modules, and says so."""
    (strip,) = drawn(made("turin-4-gpus", folder)).links
    assert (strip.says, len(strip.slots)) == ("24 memory modules (DDR5): their sockets are unknown", 24)


def test_every_fact_stands_on_the_page_with_its_source(rome: Report, page: str) -> None:
    """Folded: its name, its value, and the file that it was read from."""
    said = words_of(page)
    facts = list(facts_with_places(rome.content.machine))
    assert [each.name for each in facts if f" {each.name}" not in said] == []
    assert [place for each in facts for _, _, places in each.rows for place in places[:1] if place not in said] == []


ALLOWED = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"  # what the page may load
)


@pytest.mark.parametrize("which", ["one", "two"])
def test_a_page_runs_nothing_and_asks_for_nothing(which: str, page: str, change: ChangeReport) -> None:
    """The policy forbids every request and script; nothing on the page would need one."""
    text = page if which == "one" else change.html()
    assert ALLOWED in text
    assert re.findall(r"<(?:script|link|iframe|object|embed|base|form)\b|\son\w+=|@import|javascript:", text) == []
    assert [found for found in re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?([^\"')\s>]+)", text) if not harmless(found)] == []


def harmless(address: str) -> bool:
    """Return whether an address is of the page itself, a picture in it, or a link that a reader follows."""
    return address.startswith(("#", "data:image/png", "https://"))


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    digits = colour.lstrip("#")
    whole = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    parts = [int(whole[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return how far two colours are apart, as WCAG 2 has it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


INKS = ("#1f2933", "#52606d", "#3e5c7e", "#9a3f0a", "#a0210f", "#8d2b0b")
"""Colours of letters on drawings."""
GROUNDS = (
    "#ffffff", "#f4f6f9", "#e8f3ea", "#fdf3dc", "#f6faf7", "#e4e7eb", "#efe7f6", "#e1eefb", "#fde2df", "#eef1f5", "#d5e3f7",
    "#fbe3c0", "#fafbfc",
)  # fmt: skip
"""Colours that the ink stands on; the other letters stand on the paper and on the boxes of sockets."""


def test_letters_of_drawings_can_be_read_light_and_dark() -> None:
    """Axe does not look into drawings: 4.5 to 1 is computed, as on the page, and of the numbers of findings."""
    pairs = [(INKS[0], ground) for ground in GROUNDS] + [(ink, ground) for ink in INKS for ground in GROUNDS[:2]]
    pairs += [("#9a3f0a", "#e1eefb"), ("#a0210f", "#fde2df"), ("#3e5c7e", "#e8f3ea"), ("#52606d", "#e8f3ea")]
    light = [(ink, ground) for ink, ground in pairs if contrast(ink, ground) < 4.5]
    dark = [(ink, ground) for ink, ground in pairs if contrast(PALETTE[ink], PALETTE[ground]) < 4.5]
    numbers = [(ground, ink) for ground, ink in ALARM.values() if contrast(ground, ink) < 4.5]
    assert (light, dark, numbers) == ([], [], [])
    assert [colour for colour in CURVES if contrast(PALETTE[colour.lower()], PALETTE["#ffffff"]) < 3] == []


def colours_of(svg: str) -> Iterator[str]:
    """Yield the colours of boxes and letters."""
    yield from re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', svg)


def test_no_colour_of_a_drawing_is_forgotten_in_the_dark(rome: Report, faulty: Report) -> None:
    """Each has another in the dark, but for heat maps and the numbers of findings, which keep theirs."""
    kept = {colour for pair in ALARM.values() for colour in pair} | {"#1f2934"}
    told = rome.content.measurements
    assert told is not None
    names = [name for name in charts_of(told) if "matrix" not in name and name != "map"]
    drawings = [draw_svg(replace(drawn(each), table=None), head=False) for each in (rome, faulty)]
    drawings += [embedded(chart(told, name, "svg").decode(), name, name, name) for name in names]
    assert {colour for svg in drawings for colour in colours_of(svg)} - set(PALETTE) - kept == set()
    rules = [line for line in styles()["dark"].split("\n") if not DARK.fullmatch(line)]
    assert (rules, len(PALETTE) > 40) == ([], True)


def test_ids_are_unique_and_all_that_is_named_is_there(page: str, change: ChangeReport) -> None:
    """Several drawings of one page keep their ids apart; no title or link points nowhere."""
    for text in (page, change.html()):
        ids = re.findall(r'\sid="([^"]+)"', text)
        named = [each for words in re.findall(r'aria-labelledby="([^"]+)"', text) for each in words.split()]
        links = re.findall(r'href="#([^"]+)"', text)
        assert ([each for each in ids if ids.count(each) > 1], [each for each in (*named, *links) if each not in ids]) == ([], [])


def test_a_report_as_json_gives_the_same_page(rome: Report, folder: Path) -> None:
    """Written with --as json and read again, elsewhere: the same machine, measurements and verdict."""
    file = folder / "rome.json"
    file.write_text(rome.text("json"), encoding="utf-8")
    again = report(str(file))
    content = replace(dated(again.content), asker=rome.content.asker)
    assert replace(again, content=content).markdown() == rome.markdown()


def test_what_a_change_brought_comes_with_its_exact_p(change: ChangeReport) -> None:
    """Five repeats that all lie above five others: 2 of 252 ways to deal them out; what nothing changed shows none."""
    rows = {row.name: row for row in change_values(change.content, drawn=False)["brought"]}
    triad, load = rows["membw triad-nt, machine"], rows["hpl lu, machine"]
    assert (triad.before, triad.after, triad.change, triad.p, triad.says) == (
        "240 GB/s",
        "288 GB/s",
        "+20.0 %",
        "0.0079",
        "faster",
    )
    assert (load.change, load.says) == ("+0.0 %", "no difference shown")
    assert [row.name for row in rows.values() if "NUMA node" in row.name] == []


def test_a_narrow_link_and_a_narrow_fabric_are_marked_too(folder: Path) -> None:
    """The adapter whose link trained with half its lanes, and the links between sockets that the BIOS holds at x8."""
    machine = read_machine(source_of("rome-nps1", folder)[0])
    wide = tuple(
        each.model_copy(update={"link": Link(speed=16e9, width=8, bandwidth=15.75e9)}) if each.kind == "hca" else each
        for each in machine.pci or ()
    )
    file, bios = folder / "narrow.json", folder / "bios.json"
    file.write_text(machine.model_copy(update={"pci": wide}).model_dump_json(), encoding="utf-8")
    bios.write_text('{"Attributes": {"DlwmForcedWidth": "x8", "DynamicLinkWidthManagement": "Force"}}', encoding="utf-8")
    found = report(str(file), bios=[bios])
    by_rule = {own[0].id: number for number, own in enumerate(found.content.audit.by_rule, 1)}
    seen = drawn(found)
    assert by_rule["io-adapter-link"] in numbers_of(seen)["mlx5_0"]
    links = by_rule["power-xgmi-narrow"]
    assert [[mark.number for mark in strip.marks] for strip in seen.links] == [[links]]
    assert [place for place, numbers in numbers_of(seen).items() if links in numbers] == []
