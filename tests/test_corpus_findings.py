"""What the rules say of published machines that lie outside the project: read by somebody, one file a machine."""

from pathlib import Path

import pytest

from advisor.render.audit.findings import Asker
from advisor.render.audit.screen import HEIGHT, WIDTH, Shown, screen
from advisor.render.topology.picture import picture
from advisor.work.judgement import Judgement, judged
from advisor.work.machine import read_machine
from tests.conftest import Golden
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


@pytest.mark.parametrize("path", [*XMLS, *ROOTS], ids=lambda path: path.name)
def test_findings_of_a_published_machine_were_read(path: Path, golden: Golden) -> None:
    """The findings of each machine are those that somebody has read and found true; no rule fails on it."""
    judgement = judged(read_machine(str(path)))
    audit = judgement.audit
    assert foreign_menus(judgement) == []
    assert [(f.id, f.claim) for f in audit.findings if f.verdict == "error"] == []
    lines = [f"{f.severity:6} {f.id}: {f.subject or 'machine'}: {f.claim}\n" for f in audit.found]
    golden(f"corpus/{path.name}.txt", "".join(lines))
    shown = Shown(audit, judgement.machine, judgement.layout, None, Asker(("--from", path.name)))
    assert len(screen(shown, picture(judgement.machine, judgement.layout), WIDTH)) <= HEIGHT


def test_every_finding_above_info_was_judged() -> None:
    """docs/judged.md names each rule that has one on a published machine."""
    lines = [line for path in GOLDENS for line in path.read_text(encoding="utf-8").splitlines()]
    rules = {line.split()[1].rstrip(":") for line in lines if not line.startswith("info")}
    page = JUDGED.read_text(encoding="utf-8")
    assert sorted(rule for rule in rules if f"`{rule}`" not in page) == []
