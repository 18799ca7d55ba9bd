"""JUnit XML: the strict schema takes it, and a reader counts what the audit counts."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.exports.formats.junit import _text, quoted
from tests import exports
from tests.conftest import Golden
from tests.examples import examples
from tests.exports import OPTIONS, text_of

READ = """
import json, sys
from junitparser import JUnitXml
found = JUnitXml.fromfile(sys.argv[1])
print(json.dumps([found.tests, found.failures, found.errors, found.skipped]))
"""


def schema() -> Path:
    """Return the schema that ReFrame carries, Windy Road's of the Jenkins ancestor; skip where ReFrame is not there."""
    found = next(exports.CACHE.glob("venv/lib/python*/site-packages/reframe/schemas/junit.xsd"), None)
    if found is None:
        pytest.skip("ReFrame, which carries junit.xsd, is not there: sh prepare.sh exports brings it")
    return found


def validated(tmp_path: Path, text: str) -> tuple[int, str]:
    """Return what xmllint says of a file against the strict schema."""
    file = tmp_path / "advisor.xml"
    file.write_text(text)
    return exports.said(exports.program("xmllint"), "--noout", "--schema", schema(), file)


def test_it_prints_as_it_did(golden: Golden) -> None:
    """The whole file is kept as a golden text."""
    golden("machine.junit.xml", text_of("junit", exports.machine()))


@pytest.mark.parametrize("name", ["machine", "hostile"])
def test_the_strict_schema_takes_it(name: str, tmp_path: Path) -> None:
    """Control characters and lone surrogates, which XML cannot write, are left out."""
    status, told = validated(tmp_path, text_of("junit", getattr(exports, name)()))
    assert (status, told.endswith("validates\n")) == (0, True), told


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("<testsuites>", '<testsuites name="a">', "attribute 'name' is not allowed"),
        ('T05:06:40"', 'T05:06:40Z"', "is not accepted by the pattern"),
        ("<system-out></system-out>", "", "This element is not expected"),
    ],
)
def test_the_schema_is_awake(old: str, new: str, says: str, tmp_path: Path) -> None:
    """What other writers of JUnit do is refused by it."""
    text = text_of("junit", exports.machine())
    assert old in text
    status, told = validated(tmp_path, text.replace(old, new))
    assert (status, says in told) == (3, True), told


def test_a_reader_counts_what_the_audit_counts(tmp_path: Path) -> None:
    """Findings fail, errors are errors, and an unknown value, does not apply or is waived is skipped."""
    subject = exports.machine()
    file = tmp_path / "advisor.xml"
    file.write_text(text_of("junit", subject))
    status, told = exports.said(exports.python_with("junitparser"), "-c", READ, file)
    assert subject.audit is not None
    verdicts = [each.verdict for each in subject.audit.findings]
    skipped = sum(verdict in ("unknown", "not-applicable", "waived") for verdict in verdicts)
    wanted = [len(verdicts), verdicts.count("finding"), verdicts.count("error"), skipped]
    assert (status, json.loads(told)) == (0, wanted)


def test_every_verdict_is_a_case_with_its_reason() -> None:
    """What stands in a case says why: the fact that is not known, the day that a waiver ends."""
    found = {case.get("name"): case for case in ET.fromstring(text_of("junit", exports.machine())).iter("testcase")}  # noqa: S314 - our own
    names = ("cpu-boost-off", "cpu-smt-on", "os-swap")
    told = {name: [(part.tag, part.get("message")) for part in found[name]] for name in names}
    lack = "setting.cpu.boost: not reported by the operating system; give the BIOS attributes: advisor audit --bios FILE"
    assert told == {
        "cpu-boost-off": [("skipped", f"not known: {lack} (a Redfish Bios resource)")],
        "cpu-smt-on": [("skipped", "waived: login node (until 2030-01-01)")],
        "os-swap": [],
    }


@examples(300)
@given(st.text(max_size=40))
def test_any_text_is_well_formed_and_reads_back(text: str) -> None:
    """Without what XML has no way to write, and with one blank for several in an attribute."""
    read = ET.fromstring(f"<case message={quoted(text)}>{_text(text)}</case>")  # noqa: S314 - our own
    kept = "".join(letter for letter in text if letter in "\t\n" or (letter >= " " and letter not in "\ufffe\uffff"))
    assert (read.get("message"), read.text or "") == (" ".join(kept.split()), kept)


def test_without_a_time_of_reading_it_is_when_it_is_exported() -> None:
    """The schema wants a time: an hwloc XML has none."""
    suites = ET.fromstring(text_of("junit", replace(exports.machine(), read=None)))  # noqa: S314 - our own
    assert {suite.get("timestamp") for suite in suites} == {"2025-11-22T05:23:20"}
    assert OPTIONS.made == 1763789000.0
