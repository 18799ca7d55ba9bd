"""A rollout's report for the rack: what changed, who proved it, what it brought over the nodes, what is left to do by hand."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from advisor.bios.rollout import Rollout
from advisor.bios.rollout_steps import FIGURES, MEASURED
from advisor.exports.rack import write_rack_report
from tests.bios.admin import Admin
from tests.bios.rollouts import Nodes, Site
from tests.bios.test_rehearsal import hosts
from tests.bios.wire import Fault, Rack
from tests.fleet.fake import captured
from tests.judge.measuring import measured
from tests.machines.read import machine
from tests.reports import ROME


@pytest.fixture
def site(rack: Rack, tmp_path: Path) -> Site:
    """Return six servers: one refuses, one says yes and applies nothing."""
    site = Site(tmp_path, rack)
    for number in range(1, 7):
        site.add(f"n{number}")
    site.bmcs["n5"].faults.append(Fault("forbidden", "PATCH", times=10**6))
    site.bmcs["n6"].lies.add("applies nothing")
    return site


def rolled(site: Site) -> Rollout:
    """Roll the plan out, with captures of a node whose sockets were cut in two, as ssh would have brought them."""
    done = site.go(site.begin(measure="all", max_failures=5))
    good = ("n1", "n2", "n3", "n4")
    captured(Path(done.folder) / "before", good)
    captured(Path(done.folder) / "after", good, "haswell cod")
    return done


def rows(page: str) -> list[str]:
    """Return the rows of a page's tables, and the lines of its lists."""
    found = re.findall(r"<(?:tr|li)>(.*?)</(?:tr|li)>", page, re.DOTALL)
    return [unescape(re.sub(r"\s*<[^>]*>\s*", " ", row)).strip() for row in found]


def test_the_rack_stands_on_one_page(site: Site) -> None:
    """Settings from what to what, the nodes folded; what the system shows of it; the gain as a median; the one by hand."""
    done = rolled(site)
    told = rows(write_rack_report(done).read_text())
    assert "Processors_SNC  Disabled  Enabled  4  n[1-4]" in told
    assert "NUMA nodes  2  4  4  n[1-4]" in told
    assert "rate  4  10 1/s  20 1/s  +100.0%  +100.0% to +100.0%  not tested on 4" in told
    assert "proven by the BMC only: 4 (n[1-4])" in told
    assert [line for line in told if line.startswith("n6 :") and "advisor bios undo" in line and "records/n6.json" in line] != []
    assert [line for line in told if line.startswith("as before: ") and line.endswith("1 (n5)")] != []


def test_a_ticket_has_the_same(site: Site) -> None:
    """As Markdown: the verdict first."""
    done = rolled(site)
    text = write_rack_report(done).with_name("report.md").read_text()
    assert text.splitlines()[2].startswith("In effect on 4 of 6 nodes: Processors\\_SNC Disabled → Enabled; rate +100.0%")
    assert "| NUMA nodes | 2 | 4 | 4 | n\\[1-4\\] |" in text


def test_kernels_are_told_over_the_nodes(site: Site) -> None:
    """Of each figure the medians over the nodes, from the least to the most that a node gained, and how many it is shown on."""
    done, server = rolled(site), machine("b-c6525-2x7702-nps1")
    for gain, name in ((1.0, "n1"), (1.1, "n2"), (1.3, "n3")):
        for when, factor in (("before", 1.0), ("after", gain)):
            place = Path(done.folder) / when / f"{name}{MEASURED}"
            place.with_name(f"{name}{FIGURES}").unlink()
            faster = replace(ROME, node=ROME.node * factor)
            place.write_text(measured(server, faster).model_dump_json())
    told = rows(write_rack_report(done).read_text())
    triad = next(line for line in told if "triad" in line and "machine" in line)
    assert ("+10.0%  +0.0% to +30.0%" in triad, triad.split("  ")[1]) == (True, "3")
    assert {line.split("  ")[1] for line in told if line.startswith("membw")} == {"3"}


def test_without_captures_and_figures_it_says_so(site: Site) -> None:
    """Two empty folders hold nothing up."""
    done = site.go(site.begin(measure="none", max_failures=5))
    told = write_rack_report(done).read_text()
    assert ("No figures before and after" in told, "In effect on 4 of 6 nodes" in told) == (True, True)


def test_a_rollout_that_is_through_writes_it_and_names_it(rack: Rack, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside its journal, and in the document; one that waits for a yes writes none."""
    site = Site(admin.folder, rack)
    site.add("n1")
    site.add("n2")

    def seen(names: Sequence[str]) -> Mapping[str, object]:
        return Nodes(site).seen(names)

    monkeypatch.setattr("advisor.fleet.rollout.FleetNodes.seen", lambda _, names: seen(names))
    monkeypatch.setattr("advisor.fleet.rollout.FleetNodes.capture", lambda *_: {})
    monkeypatch.setattr("advisor.bios.rollout_steps.Clock.pause", lambda *_: None)
    site.queue.out.update(dict.fromkeys(site.bmcs, "test"))
    words = ("bios", "rollout", site.plan(), *hosts(site, admin), "--drained", "--measure", "none", "--json")
    monkeypatch.setattr("advisor.cli.commands.bios.agreed", lambda question: "Continue" not in question)
    waits = admin.types(*words)
    assert (waits.document["waits_for_approval"], waits.document["report"]) == (True, None)
    through = admin.types("bios", "rollout", "--resume", "rollout-plan", "--login-file", "login", "--insecure", "--yes", "--json")
    assert (through.document["report"], through.document["ends"]["done"]) == ("rollout-plan/report.html", 2)
    assert "In effect on 2 of 2 nodes" in Path("rollout-plan/report.html").read_text()
