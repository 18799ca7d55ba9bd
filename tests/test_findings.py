"""What the rules say of whole machines: those of the articles, and all that the tests can make."""

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from advisor.advice.audit_page.card import Asker, Shown
from advisor.advice.audit_page.screen import HEIGHT, screen
from advisor.advice.bios_files import BiosInput
from advisor.advice.checklist import plan_of
from advisor.advice.judgement import Judgement, judged
from advisor.advice.model.findings import Finding
from advisor.advice.model.sheets import SCOPES
from advisor.machine.read import read_machine
from advisor.measure.platform import Scope
from advisor.show.lines import text_of
from advisor.show.picture import picture
from tests.conftest import Golden
from tests.examples import a_third
from tests.judge.measuring import World, measured
from tests.judge.test_place import triad, unread
from tests.machines import hwloc_xml
from tests.machines.catalogue import MACHINES
from tests.machines.read import machine, seen_by_lstopo
from tests.totals import without_totals

CUT_LOW = {"numa-nps-below-best": 1}

EXPECTED: dict[str, dict[str, int]] = {
    "a-r7425-2x7601-dell": {},
    "a-r7425-2x7601-dell-smt": {},
    "a-r7425-2x7601-nodeorder": {},
    "a-r7425-2x7601-linear": {},
    "a-r7425-2x7601-dell-portdown": {"fabric-port-down": 1},
    "a-r7425-2x7601-dell-2nodesmem": {"numa-node-without-memory": 6, "memory-channel-empty": 2},
    "b-c6525-2x7402-nps1": CUT_LOW,
    "b-c6525-2x7402-nps4": {},
    "b-c6525-2x7452-nps4": {},
    "b-c6525-2x7502-nps4": {},
    "b-c6525-2x7702-l3numa": {"numa-nps-beneath-l3": 1},
    "b-c6525-2x7702-nps1": CUT_LOW,
    "b-c6525-2x7702-nps2": CUT_LOW,
    "b-c6525-2x7702-nps4": {},
    "b-c6525-2x7702-nps4-smt": {},
    "c-c6320-2x2660v3": {},
    "c-c6320-2x2660v3-cod": {},
    "c-c6320-2x2660v3-fdr": {},
    "d-delftblue-2x6248r-snc2": {},
    "d-delftblue-2x6248r-snc2-contiguous": {},
    "d-delftblue-2x6448y": {},
}
"""Findings above info for MPI, each with the number of things it is about; a well-set machine has none."""


@cache
def judgement(name: str, scope: Scope = "mpi") -> Judgement:
    """Return what the rules say of a machine of the catalogue."""
    return judged(machine(name), scope)


def above_info(findings: tuple[Finding, ...]) -> dict[str, int]:
    """Return how often each rule found something that is more than worth knowing."""
    found = [finding.id for finding in findings if finding.verdict == "finding" and finding.severity != "info"]
    return {name: found.count(name) for name in dict.fromkeys(found)}


@pytest.mark.parametrize("scope", ["mpi", "hpl"])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_machine_of_the_articles_has_the_findings_its_name_says(name: str, scope: Scope) -> None:
    """No more, no less; for HPL the same as for MPI."""
    assert above_info(judgement(name, scope).audit.found) == EXPECTED[name]


def test_nps1_costs_what_the_article_measured_and_is_mended_by_dells_attribute() -> None:
    """13 % of triad after the article, and the line that Dell's tool takes."""
    found = next(f for f in judgement("b-c6525-2x7702-nps1").audit.found if f.id == "numa-nps-below-best")
    assert found.cost is not None
    assert (found.cost.gain, found.cost.ref) == (0.13, "dell-rome-2019")
    assert [(fix.attribute, fix.attribute_value) for fix in found.fix] == [("NumaNodesPerSocket", "4")]
    assert found.fix[0].commands == ("racadm set BIOS.ProcSettings.NumaNodesPerSocket 4",)


@pytest.mark.skipif(not hwloc_xml.available(), reason="lstopo is not installed")
def test_an_hwloc_xml_alone_leaves_most_rules_unknown(scratch: Path) -> None:
    """What nobody read is neither found nor passed: kernel, DIMMs, BIOS attributes, firmware tables."""
    file = scratch / "alone.xml"
    file.write_text(seen_by_lstopo("b-c6525-2x7702-nps1") or "")
    verdicts = judged(read_machine(str(file))).audit.findings
    count = Counter(finding.verdict for finding in verdicts)
    assert count["unknown"] > count["finding"] + count["pass"]
    unread = ("os", "memory", "firmware", "power", "scheduler", "mpi")
    told = [f.id for f in verdicts if f.topic in unread and f.verdict in ("finding", "pass")]
    assert told == ["os-debug-kernel"]  # the XML names the kernel's release


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_no_rule_fails_on_any_machine(name: str) -> None:
    """No verdict is an error, and no two rules want different values of one setting."""
    for scope in SCOPES:
        audit = judgement(name, scope).audit
        assert [(f.id, f.claim) for f in audit.findings if f.verdict == "error"] == []
        assert [(row.name, row.wanted, row.rules) for row in audit.settings if " or " in (row.wanted or "")] == []


@pytest.mark.parametrize("name", MACHINES)
def test_findings_of_every_machine_were_read(name: str, golden: Golden) -> None:
    """The findings of each machine are those that somebody has read and found true."""
    lines = [f"{f.severity:6} {f.id}: {f.subject or 'machine'}: {f.claim}\n" for f in judgement(name).audit.found]
    golden(f"findings/{name}.txt", "".join(lines))


NPS4, NAPLES = "b-c6525-2x7702-nps4", "a-r7425-2x7601-dell"
# A node of NPS4 has two channels of 25.6 GB/s; two dies of an EPYC 7601 have as many of 19.2 GB/s.
ROME_WORLD = World(node=37e9, core=12e9, near=0.9, far=0.7, clock=2.6e9)
NAPLES_WORLD = World(node=32e9, core=24.5e9, clock=2.5e9, flops=8.0)

WORLDS: dict[str, tuple[str, World]] = {
    "rome-healthy": (NPS4, ROME_WORLD),
    "rome-crowded": (NPS4, replace(ROME_WORLD, crowd=0.88)),
    "rome-dimm-vanished": (NPS4, replace(ROME_WORLD, nodes={5: 0.698})),
    "rome-l3-slow": (NPS4, replace(ROME_WORLD, groups={9: 0.5})),
    "rome-slow": (NPS4, replace(ROME_WORLD, node=24e9)),
    "haswell-cold": ("c-c6320-2x2660v3-cod", World(node=30e9, core=12e9, clock=1.9e9)),
    "rome-noisy": (NPS4, replace(ROME_WORLD, nodes={5: 0.698}, apart=0.4)),
    "rome-busy": (NPS4, replace(ROME_WORLD, nodes={5: 0.698}, idle=False)),
    "rome-l3-hidden": (NPS4, replace(ROME_WORLD, size=8)),
    "rome-half-vectors": (NPS4, replace(ROME_WORLD, flops=8.0)),
    "rome-nps2": ("b-c6525-2x7702-nps2", replace(ROME_WORLD, node=70e9)),
    "naples-healthy": (NAPLES, NAPLES_WORLD),
    "naples-links": (NAPLES, replace(NAPLES_WORLD, far=0.2)),
    "delft-avx512": ("d-delftblue-2x6248r-snc2", World(node=52e9, core=13e9, clock=2.5e9, flops=32, isa="avx512", near=0.8)),
}


@cache
def measured_judgement(name: str) -> Judgement:
    """Return what the rules say of a machine that was measured."""
    measured_one, world = WORLDS[name]
    before = judgement(measured_one)
    return judged(before.machine, measurements=measured(before.machine, world))


@pytest.mark.parametrize("name", WORLDS)
def test_findings_of_measured_machines_were_read(name: str, golden: Golden) -> None:
    """What is found of measurements, what it costs, and what stays unknown and why, is what somebody has read."""
    found = measured_judgement(name).audit
    lines = [f"{f.severity:6} {f.id}: {f.claim}{f' [{f.cost.gain:.3f} {f.cost.basis}]' if f.cost else ''}\n" for f in found.found]
    waits = Counter((f.id, "; ".join(lack.why for lack in f.lacks)) for f in found.findings if f.topic == "measured" and f.lacks)
    lines += [f"unknown {rule}, {count} times: {why}\n" for (rule, why), count in waits.items()]
    golden(f"measured/{name}.txt", "".join(lines))
    assert [(f.id, f.claim) for f in found.findings if f.verdict == "error"] == []


def test_a_healthy_machine_has_nothing_measured_above_info() -> None:
    """As the articles measured them, no rule complains."""
    assert {name: above_info(measured_judgement(name).audit.found) for name in ("rome-healthy", "naples-healthy")} == {
        "rome-healthy": {},
        "naples-healthy": EXPECTED[NAPLES],
    }


def test_a_cost_is_the_one_measured_here() -> None:
    """NPS2 in place of NPS4 costs what this machine's own nodes show; unmeasured, or too noisy, the publication speaks."""
    two, noisy = "b-c6525-2x7702-nps2", replace(ROME_WORLD, apart=0.4)
    one = judgement(two).machine
    gain, basis, ref = _cost(measured_judgement("rome-nps2"))
    assert gain == pytest.approx((1 + 1 / 0.9) / 2 - 1)
    assert (basis, ref) == ("measured", None)
    assert _cost(judgement(two)) == (None, "published", "dell-rome-2019")
    assert _cost(judged(one, measurements=measured(one, noisy))) == (None, "published", "dell-rome-2019")


def _cost(result: Judgement) -> tuple[float | None, str, str | None]:
    cost = next(f.cost for f in result.audit.found if f.id == "numa-nps-below-best")
    assert cost
    return cost.gain, cost.basis, cost.ref


def test_evidence_of_measurements_says_when() -> None:
    """The place where a measured fact was read is the time it was measured."""
    found = next(f for f in measured_judgement("rome-dimm-vanished").audit.found if f.id == "measured-node-slow")
    assert {one.where for one in found.evidence if one.fact.startswith("node.")} == {
        "measured 2026-11-21 12:00 (advisor measure)"
    }


def test_without_measurements_one_thing_lacks() -> None:
    """All rules on measurements wait for the same, so the audit says it in one line."""
    asked = [f for f in judgement(NPS4).audit.findings if f.topic == "measured"]
    assert {f.verdict for f in asked} == {"unknown"}
    assert {(lack.fact, lack.help) for f in asked for lack in f.lacks} == {("measured", "advisor measure --quick, about 40 s")}


def first_screen(found: Judgement, width: int = 80) -> list[str]:
    """Return the first screen of an audit, without colours."""
    seen = picture(found.machine, found.layout)
    asker, plan = Asker(("--from", "node.tar.gz")), plan_of(found, BiosInput())
    shown = Shown(found.audit, found.machine, found.layout, found.case.measured, asker, plan)
    return [text_of(line).rstrip() for line in screen(shown, seen, width)]


@pytest.mark.parametrize("width", [80, pytest.param(132, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", a_third(sorted(MACHINES)))
def test_every_first_screen_fits_a_terminal_and_says_what_to_fix_first(name: str, width: int) -> None:
    """At most 24 lines; after the machine comes how much there is to fix, as many things as rules found harm."""
    found = judgement(name)
    lines = first_screen(found, width)
    harm = len({finding.id for finding in found.audit.found if finding.severity != "info"})
    wanted = f"FIX {harm} THING" if harm else ("NOTHING TO FIX", "LIMITED DATA")
    assert (len(lines) <= HEIGHT, lines[lines.index("") + 1].startswith(wanted), max(map(len, lines)) <= width) == (True,) * 3


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_first_screen_of_a_machine_of_the_articles_was_read(name: str, golden: Golden) -> None:
    """As somebody read it with a sysadmin's eyes, but for the numbers of all rules."""
    golden(f"screens/{name}.txt", without_totals("\n".join(first_screen(judgement(name))) + "\n"))


@pytest.mark.parametrize("name", ["b-c6525-2x7702-nps1", "d-delftblue-2x6448y"])
def test_rules_that_fire_nowhere_change_no_golden_screen(name: str) -> None:
    """A rule that passes, one that does not apply and one that waits for facts as others do stand in no golden text."""
    found = judgement(name)
    waiting = next(each for each in found.audit.findings if each.verdict == "unknown")
    added = (
        waiting.model_copy(update={"id": "new-unknown"}),
        *(waiting.model_copy(update={"id": f"new-{verdict}", "verdict": verdict}) for verdict in ("pass", "not-applicable")),
    )
    more = replace(found, audit=found.audit.model_copy(update={"findings": (*found.audit.findings, *added)}))
    screens = ["\n".join(first_screen(each)) + "\n" for each in (found, more)]
    assert screens[0] != screens[1]
    assert without_totals(screens[0]) == without_totals(screens[1])


@pytest.mark.parametrize("name", ["xeon-6972p-126gib", "epyc-9135", "gold-6146"])
def test_the_first_screen_of_a_machine_that_arithmetic_bounds_was_read(name: str, golden: Golden) -> None:
    """126 GiB before 24 channels, two dies before twelve, a ceiling without root."""
    golden(f"screens/{name}.txt", without_totals("\n".join(first_screen(judgement(name))) + "\n"))


@pytest.mark.parametrize("rate", [40, 80, 150, 220, 300])
def test_the_first_line_says_where_a_bandwidth_stands(rate: float, golden: Golden) -> None:
    """STREAM of two EPYC 7702 whose DIMMs nobody read: below 90 % of what is published, no screen says NOTHING TO FIX."""
    here = unread()
    lines = first_screen(judged(here, "mpi", (), measurements=triad(here, rate * 1e9)))
    head = " ".join(lines[lines.index("") + 1 : lines.index("") + 3])
    assert (len(lines) <= HEIGHT, "NOTHING TO FIX" in head, f"{rate} GB/s" in head) == (True, rate == 300, rate != 300)
    golden(f"screens/7702-triad-{rate}.txt", without_totals("\n".join(lines) + "\n"))
