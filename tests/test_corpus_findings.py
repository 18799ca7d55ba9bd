"""What the rules say of published machines that lie outside the project: read by somebody, one file a machine."""

import re
from collections import Counter
from pathlib import Path

import pytest

from advisor.advice.audit import audit as audited
from advisor.advice.audit_page.card import LITTLE, Asker, Shown
from advisor.advice.audit_page.screen import HEIGHT, WIDTH, screen
from advisor.advice.judgement import Judgement, judged
from advisor.advice.model.findings import totals
from advisor.show.lines import text_of
from advisor.show.picture import picture
from tests.conftest import Golden
from tests.examples import a_third
from tests.machines.read import published
from tests.test_corpus import CORPUS, ROOTS, XMLS

GOLDENS = tuple(sorted((Path(__file__).parent / "golden" / "corpus").glob("*.txt")))
JUDGED = Path(__file__).parents[1] / "docs" / "judged.md"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no published machines in {CORPUS.name} (set ADVISOR_CORPUS)"),
]


def foreign_menus(judgement: Judgement) -> list[str]:
    """Return the steps that name a menu of another maker, of the processor or of the server."""
    cpu, firmware = judgement.machine.cpu, judgement.machine.firmware
    vendor = (cpu.vendor if cpu else None) or ""
    known = firmware is not None and (firmware.system_vendor or firmware.board_vendor)
    words = ["AMD CBS"] if vendor != "AuthenticAMD" else []
    words += ["Socket Configuration"] if vendor != "GenuineIntel" else []
    words += ["Del or F2"] if known else []
    texts = [fix.text for finding in judgement.audit.findings for fix in finding.fix]
    return [text for text in texts if any(word in text for word in words)]


@pytest.mark.parametrize("path", a_third([*XMLS, *ROOTS]), ids=lambda path: path.name)
def test_findings_of_a_published_machine_were_read(path: Path, golden: Golden) -> None:
    """The findings of each machine are those that somebody has read and found true; no rule fails on it."""
    judgement = judged(published(path))
    audit = judgement.audit
    assert foreign_menus(judgement) == []
    assert [(f.id, f.claim) for f in audit.findings if f.verdict == "error"] == []
    lines = [f"{f.severity:6} {f.id}: {f.subject or 'machine'}: {f.claim}\n" for f in audit.found]
    golden(f"corpus/{path.name}.txt", "".join(lines))


@pytest.mark.parametrize("path", a_third([*XMLS, *ROOTS]), ids=lambda path: path.name)
def test_the_first_screen_of_a_published_machine_fits_a_terminal(path: Path) -> None:
    """At most 24 lines of 80 columns, with the fixes that a plan would write; little known is said before all else."""
    found = audited(str(path))
    audit, machine, layout = found.audit, found.machine, found.judgement.layout
    asker = Asker(("--from", f"/home/somebody/captures/of/the/cluster/{path.name}"))
    shown = Shown(audit, machine, layout, None, asker, found.plan, found.judgement.case.bounds, found.numbers)
    lines = [text_of(line) for line in screen(shown, picture(machine, layout), WIDTH)]
    answered, unanswered = totals(audit).answered, totals(audit).unknown
    first = lines[lines.index("") + 1].partition("  ")[0]
    words = {False: f"FIX {len([own for own in audit.by_rule if own[0].severity != 'info'])} THING", True: "LIMITED DATA"}
    little = answered < LITTLE * (answered + unanswered)
    wide = [line for line in lines if len(line) > WIDTH and path.name not in line]
    assert (len(lines) <= HEIGHT, wide) == (True, [])
    assert first.startswith(words[little]) or (not little and first == "NOTHING TO FIX")


def test_everything_under_fix_was_judged() -> None:
    """docs/judged.md names each by rule, severity and machine; none is false, at most one in five is arguable."""
    found = {
        (line.split()[1].rstrip(":"), line.split()[0], re.sub(r"\.(xml|tar\.\w+)\.txt$", "", path.name))
        for path in GOLDENS
        for line in path.read_text(encoding="utf-8").splitlines()
        if not line.startswith("info")
    }
    page = JUDGED.read_text(encoding="utf-8").partition("## Under FIX")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| `")]
    judged_so = {(rule.strip("`"), severity, machine): verdict for rule, severity, _, machine, verdict, _ in rows}
    verdicts = Counter(judged_so.values())
    assert set(judged_so) == found
    assert (set(verdicts) <= {"true", "arguable"}, 5 * verdicts["arguable"] <= len(judged_so)) == (True, True)


@pytest.mark.parametrize("path", a_third([*XMLS, *ROOTS]), ids=lambda path: path.name)
def test_nothing_that_guides_dispute_stands_under_fix(path: Path) -> None:
    """A finding above info rests on a number that holds here, on a fault, or on guides that agree."""
    found = judged(published(path)).audit.found
    assert [each.id for each in found if each.severity != "info" and each.basis in ("disputed", "elsewhere")] == []
