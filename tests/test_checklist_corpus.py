"""The script for racadm beside the audit, on every machine of the tests and every published one."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.advice.audit import audit
from advisor.advice.checklist import TuningChecklist, checklist
from advisor.advice.know.fixes import entries_of
from advisor.advice.know.vendors import vendor_by_id
from advisor.advice.model.findings import Audit, Finding
from tests.machines.catalogue import MACHINES, write_archive
from tests.test_corpus import CORPUS, XMLS

pytestmark = pytest.mark.slow

_SET = re.compile(r"^racadm set BIOS\.[A-Za-z0-9]+\.([A-Za-z0-9]+) (\S+) \|\| refused", re.MULTILINE)
DELL = "dell"


def spoken(found: Audit, setting: str, value: str | None) -> set[tuple[str, str]]:
    """Return Dell's attribute and word for a neutral value, as its sheet has them."""
    entries = entries_of(vendor_by_id(DELL), found.platform_id, setting)
    return {(each.attribute, str(each.values[value])) for each in entries if each.attribute and value in each.values}


def disagreements(found: Audit, made: TuningChecklist) -> Iterator[str]:
    """Yield what the script writes and no finding wants, and the findings of the BIOS that it does not name."""
    text = made.text("racadm")
    open_ones = [each for each in found.findings if each.verdict == "finding"]
    wanted = {pair for each in open_ones for want in each.wants for pair in spoken(found, want.setting, want.value)}
    around = {(each.attribute, str(each.value)) for each in made.plan.writes if each.kind != "wanted"}
    yield from (f"written, not wanted: {pair}" for pair in _SET.findall(text) if pair not in wanted | around)
    yield from (f"found, not named: {each.id}" for each in open_ones if _in_bios(each) and each.id not in text)
    yield from (f"{row.name}: so already, and written" for row in found.settings if row.met and _written(row.name, made))


def _in_bios(finding: Finding) -> bool:
    return finding.where == "bios" and bool(finding.wants)


def _written(setting: str, made: TuningChecklist) -> bool:
    return any(setting in each.settings and each.kind == "wanted" for each in made.plan.writes)


def judged(source: str) -> list[str]:
    """Return on what the two differ for a machine."""
    return list(disagreements(audit(source).audit, checklist(source, vendor=DELL)))


def test_a_script_with_another_value_disagrees(tmp_path: Path) -> None:
    """What is read of a script is its lines: the one at NPS1, and the same with NPS2, which nothing wants."""
    file = tmp_path / "node.tar.gz"
    write_archive("b-c6525-2x7702-nps1", file)
    found, made = audit(str(file)).audit, checklist(str(file))
    (change,) = made.plan.changes
    worse = change.model_copy(update={"value": "2", "command": f"{change.command[:-1]}2" if change.command else None})
    other = replace(made, plan=made.plan.model_copy(update={"changes": (worse,)}))
    assert [*disagreements(found, made)] == []
    assert [*disagreements(found, other)] == ["written, not wanted: ('NumaNodesPerSocket', '2')"]


def test_the_script_writes_what_the_audit_found_on_every_machine_of_the_tests(tmp_path: Path) -> None:
    """Every value that racadm is given is wanted by a finding, and every finding of the BIOS is written or named with why not."""
    found = {}
    for name in MACHINES:
        file = tmp_path / f"{name}.tar.gz"
        write_archive(name, file)
        found[name] = judged(str(file))
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no published machines")
def test_the_script_writes_what_the_audit_found_on_every_published_machine() -> None:
    """The same, in Dell's words, of machines that others have published."""
    found = {file.name: judged(str(file)) for file in XMLS}
    assert {name: lines for name, lines in found.items() if lines} == {}
