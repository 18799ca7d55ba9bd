"""What the rules say of whole machines: those of the articles, and all that the tests can make."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from advisor.cli.judgement import Judgement, judged
from advisor.cli.pipeline import load
from advisor.model.finding import Finding
from advisor.model.platform import Scope
from advisor.model.rule import SCOPES
from tests.conftest import Golden
from tests.machines import hwloc_xml
from tests.machines.catalogue import MACHINES, write_archive, write_root

DEALT = {"numa-enumeration-round-robin": 1}
"""Dell's own numbering on its 13th and 14th generation: it matters to whoever binds by ranges of numbers."""
CUT_LOW = {"numa-nps-below-best": 2}
NO_COD = {"numa-cod-off": 2}
SMT = {"cpu-smt-on": 1}

EXPECTED: dict[str, dict[str, int]] = {
    "a-r7425-2x7601-dell": DEALT,
    "a-r7425-2x7601-dell-smt": {**SMT, **DEALT},
    "a-r7425-2x7601-nodeorder": DEALT,
    "a-r7425-2x7601-linear": {},
    "a-r7425-2x7601-dell-portdown": {"fabric-port-down": 1, **DEALT},
    "a-r7425-2x7601-dell-2nodesmem": {"numa-node-without-memory": 6, "memory-channel-empty": 2, **DEALT},
    "b-c6525-2x7402-nps1": CUT_LOW,
    "b-c6525-2x7402-nps4": {},
    "b-c6525-2x7452-nps4": {},
    "b-c6525-2x7502-nps4": {},
    "b-c6525-2x7702-l3numa": {"numa-l3-as-node": 1},
    "b-c6525-2x7702-nps1": CUT_LOW,
    "b-c6525-2x7702-nps2": CUT_LOW,
    "b-c6525-2x7702-nps4": {},
    "b-c6525-2x7702-nps4-smt": SMT,
    "c-c6320-2x2660v3": {**NO_COD, **DEALT},
    "c-c6320-2x2660v3-cod": DEALT,
    "c-c6320-2x2660v3-fdr": {**NO_COD, **DEALT},
    "d-delftblue-2x6248r-snc2": {},
    "d-delftblue-2x6248r-snc2-contiguous": {},
    "d-delftblue-2x6448y": {},
}
"""Findings above info for MPI, each with the number of things it is about; a well-set machine has none."""


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the archives of machines."""
    return tmp_path_factory.mktemp("machines")


@cache
def judgement(name: str, shelf: Path, scope: Scope = "mpi") -> Judgement:
    """Return what the rules say of a machine of the catalogue."""
    return judged(load(str(write_archive(name, shelf / f"{name}.tar.gz"))), scope)


def above_info(findings: tuple[Finding, ...]) -> dict[str, int]:
    """Return how often each rule found something that is more than worth knowing."""
    found = [finding.id for finding in findings if finding.verdict == "finding" and finding.severity != "info"]
    return {name: found.count(name) for name in dict.fromkeys(found)}


@pytest.mark.parametrize("scope", ["mpi", "hpl"])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_machine_of_the_articles_has_the_findings_its_name_says(name: str, scope: Scope, shelf: Path) -> None:
    """No more, no less; for HPL the same as for MPI."""
    assert above_info(judgement(name, shelf, scope).audit.found) == EXPECTED[name]


def test_nps1_costs_what_the_article_measured_and_is_mended_by_dells_attribute(shelf: Path) -> None:
    """13 % of triad after the article, and the line that Dell's tool takes."""
    found = next(f for f in judgement("b-c6525-2x7702-nps1", shelf).audit.found if f.id == "numa-nps-below-best")
    assert found.cost is not None
    assert (found.cost.gain, found.cost.ref) == (0.13, "dell-rome-2019")
    assert [(fix.attribute, fix.attribute_value) for fix in found.fix] == [("NumaNodesPerSocket", "4")]
    assert found.fix[0].commands == ("racadm set BIOS.ProcSettings.NumaNodesPerSocket 4",)


@pytest.mark.skipif(not hwloc_xml.available(), reason="lstopo is not installed")
def test_an_hwloc_xml_alone_leaves_most_rules_unknown(scratch: Path) -> None:
    """What nobody read is neither found nor passed: kernel, DIMMs, BIOS attributes, firmware tables."""
    file = scratch / "alone.xml"
    file.write_text(hwloc_xml.xml(write_root("b-c6525-2x7702-nps1", scratch / "root")) or "")
    verdicts = judged(load(str(file))).audit.findings
    count = Counter(finding.verdict for finding in verdicts)
    assert count["unknown"] > count["finding"] + count["pass"]
    unread = ("os", "memory", "firmware", "power", "scheduler", "mpi")
    told = [f.id for f in verdicts if f.topic in unread and f.verdict in ("finding", "pass")]
    assert told == ["os-debug-kernel"]  # the XML names the kernel's release


@pytest.mark.parametrize("name", MACHINES)
def test_no_rule_fails_on_any_machine(name: str, shelf: Path) -> None:
    """No verdict is an error, and no two rules want different values of one setting."""
    for scope in SCOPES:
        audit = judgement(name, shelf, scope).audit
        assert [(f.id, f.claim) for f in audit.findings if f.verdict == "error"] == []
        assert [(row.name, row.wanted, row.rules) for row in audit.settings if " or " in (row.wanted or "")] == []


@pytest.mark.parametrize("name", MACHINES)
def test_findings_of_every_machine_were_read(name: str, shelf: Path, golden: Golden) -> None:
    """The findings of each machine are those that somebody has read and found true."""
    lines = [f"{f.severity:6} {f.id}: {f.subject or 'machine'}: {f.claim}\n" for f in judgement(name, shelf).audit.found]
    golden(f"findings/{name}.txt", "".join(lines))
