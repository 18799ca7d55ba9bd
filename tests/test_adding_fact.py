"""The worked example of docs/adding.md, performed in a copy of the project: a fact is added in the places that it names."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.machines.catalogue import write_root

ROOT = Path(__file__).parents[1]
FIELDS, FACTS, SOURCE = "advisor/machine/sensors.py", "advisor/machine/machine.py", "advisor/machine/sources/sensors.py"
RULE = """
- id: site-sensor-low
  title: A sensor that protects its device early
  severity: low
  where: hardware
  each: sensor in sensors
  when: sensor.critical < 100
  say: "{sensor.label} of {sensor.chip} protects itself at {sensor.critical}"
  why: The device slows down.
  cost: {of: speed, basis: computed}
  want: a limit of 100 degrees or more
  fix: Ask its maker for another limit.
  undo: none is needed
  check: sensors -u
  spare: Machines in the sun.
  refs: [unverified]
  tests:
    - {given: {sensors: [{chip: k10temp, label: Tctl, critical: 95}]}, expect: finding}
    - {given: {sensors: [{chip: k10temp, label: Tctl, critical: 105}]}, expect: pass}
    - {given: {sensors: [{chip: k10temp, label: Tctl}]}, expect: unknown}
"""
ASK = """
import contextlib, io, json, sys
from advisor.cli.main import status
answers = []
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status(words)
    answers.append(said.getvalue())
print(json.dumps(answers))
"""
PAGES = "import json; from docs.generate import pages; print(json.dumps(pages()))"


def example() -> dict[str, str]:
    """Return the code that docs/adding.md shows for a source of facts, by the file that it names."""
    text = (ROOT / "docs" / "adding.md").read_text().partition("\n## A source of facts\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"```python\n# (\S+\.py)[^\n]*\n(.*?)```", text, re.DOTALL))


def with_example(place: Path, code: dict[str, str]) -> Path:
    """Copy the project and add the example to it: two new files, and the last lines of Facts."""
    for folder in ("advisor", "docs", "kernels", "rules", "templates"):
        shutil.copytree(ROOT / folder, place / folder)  # with what Python has compiled: that takes longer than the test
    for name in (FIELDS, SOURCE):
        (place / name).write_text(code[name])
    line, field = code[FACTS].strip("\n").split("\n", 1)
    file = place / FACTS
    before, after = file.read_text().split("\n\n\nclass _Versioned", 1)
    head, rest = before.split("from advisor.machine.topology", 1)
    file.write_text(f"{head}{line}\nfrom advisor.machine.topology{rest}\n{field}\n\n\nclass _Versioned{after}")
    return place


def python(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the copy's Python."""
    return subprocess.run([sys.executable, *words], cwd=place, capture_output=True, text=True, check=False)


def machine(place: Path, critical: int, now: int) -> Path:
    """Write the files of a machine with two sensors, one of them labelled by its site."""
    hwmon = write_root("a-r7425-2x7601-dell", place) / "sys/class/hwmon/hwmon0"
    hwmon.mkdir(parents=True)
    files = {"name": "k10temp", "temp1_label": "Tctl", "temp1_crit": critical, "temp1_input": now}
    for name, value in {**files, "temp2_label": "rack17 of zamonia", "temp2_input": now}.items():
        (hwmon / name).write_text(f"{value}\n")
    return place


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with the fact."""
    return with_example(tmp_path_factory.mktemp("copy") / "project", example())


@pytest.fixture(scope="module")
def answers(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what commands of the copy say of two machines that differ in a sensor."""
    place = tmp_path_factory.mktemp("machines")
    a, b = str(machine(place / "a", 95_000, 41_500)), str(machine(place / "b", 90_000, 63_000))
    rules, capture = place / "site.yaml", str(place / "a.tar.gz")
    rules.write_text(RULE)
    quiet = ("--no-measure", "--no-color", "--width", "200")
    asked: dict[str, tuple[str, ...]] = {
        "compare": ("compare", a, b, "--no-color", "--width", "200"),
        "details": ("audit", "--from", a, "-v", *quiet),
        "rules": ("rules", "test", "--rules", str(rules), "site-sensor-low"),
        "judged": ("audit", "--from", a, "--rules", str(rules), "--json", "--no-measure"),
        "capture": ("capture", "--from", a, "--anonymise", "-o", capture),
        "anonymous": ("topology", "--from", capture, "--json"),
    }
    ran = python(copy, "-c", ASK, json.dumps(list(asked.values())))
    assert ran.returncode == 0, ran.stderr
    return dict(zip(asked, json.loads(ran.stdout), strict=True))


@pytest.fixture(scope="module")
def pages(copy: Path) -> dict[str, str]:
    """Return the reference that the copy writes."""
    ran = python(copy, "-c", PAGES)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, str] = json.loads(ran.stdout)
    return found


def test_the_page_names_three_files() -> None:
    """The fields, the list of the Machine's facts, the source: nothing else is touched."""
    assert set(example()) == {FIELDS, FACTS, SOURCE}


@pytest.mark.slow
def test_diff_shows_the_fact(answers: dict[str, str]) -> None:
    """What is stable is compared, in its unit; the temperature of the moment is not."""
    lines = [" ".join(line.split()) for line in answers["compare"].splitlines() if "sensors" in line]
    assert lines == ["sensors.k10temp Tctl.critical 95 °C -> 90 °C"]


@pytest.mark.slow
def test_audit_shows_the_fact(answers: dict[str, str]) -> None:
    """The verbose audit shows both, with where they were read."""
    text = answers["details"]
    assert "sensors  [/sys/class/hwmon]" in text
    assert "label Tctl, critical 95 °C, now 41.5 °C" in text


def test_rules_may_ask_for_the_fact(answers: dict[str, str]) -> None:
    """A site's rule runs over the sensors, its examples are tested, and its finding is in the audit."""
    claims = [each["claim"] for each in json.loads(answers["judged"])["findings"] if each["id"] == "site-sensor-low"]
    assert "Tctl of k10temp protects itself at 95" in claims
    assert answers["rules"] == "3 of 3 examples of 1 rule as expected\n"


def test_an_anonymised_capture_keeps_what_is_public(answers: dict[str, str]) -> None:
    """Of the source's files the lines that it declares public stay; what a site has written does not."""
    sensors: list[dict[str, Any]] = json.loads(answers["anonymous"])["machine"]["sensors"]
    assert [(each["chip"], each["label"], each["critical"]) for each in sensors] == [
        ("k10temp", "Tctl", 95.0),
        ("k10temp", "removed", None),
    ]


@pytest.mark.slow
def test_the_reference_has_the_fact(pages: dict[str, str]) -> None:
    """Facts, facts of rules, sources and the JSON schema are written from the declaration."""
    assert "| `sensors[].critical` | float | degrees Celsius |  | limit at which the device protects itself" in pages["facts.md"]
    assert "| `sensors[].now` | float | degrees Celsius | volatile | the temperature when it was read |" in pages["facts.md"]
    assert "| `sensors[].critical` | number | degrees Celsius | limit" in pages["rule-facts.md"]
    assert "## sensors (rank 20)" in pages["sources.md"]
    assert "- `/sys/class/hwmon/*/temp*_crit`: lines `\\d{1,20}`" in pages["sources.md"]
    schema = json.loads(pages["machine.schema.json"])
    assert schema["properties"]["sensors"]["x-section"] == "machine"
    assert schema["$defs"]["Sensor"]["properties"]["now"]["x-volatile"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "written", "instead", "said"),
    [
        (FIELDS, "critical: Celsius", "critical: float", "sensors[].critical: a number without a unit"),
        (FIELDS, '"the temperature when it was read"', '""', "sensors[].now: no description"),
        (FACTS, "Annotated[tuple[Sensor, ...] | None, Section.MACHINE]", "tuple[Sensor, ...] | None", "sensors: no section"),
        (FACTS, "Section.MACHINE]", "Section.MACHINES]", "cannot be loaded: AttributeError: MACHINES; did you mean MACHINE?"),
        (FIELDS, "critical: Celsius", "critical: Celcius", "cannot be loaded: NameError: name 'Celcius' is not defined"),
        (FIELDS, "critical: Celsius", "critical Celsius", "cannot be loaded: SyntaxError: invalid syntax"),
        (SOURCE, '"Temperatures, and the limits at which devices protect themselves (hwmon)."', '""', "sensors: about is empty"),
        (
            SOURCE,
            '(f"{_ROOT}/*/temp*_crit", NUMBERS)',
            '(f"{_ROOT}/*/temp*_crit", "[0-9")',
            "sensors: public: not a regular expression",
        ),
        (
            SOURCE,
            '(f"{_ROOT}/*/temp*_crit", NUMBERS)',
            '(f"{_ROOT}/*/temp_crit", NUMBERS)',
            "sensors: public: /sys/class/hwmon/*",
        ),
        (
            SOURCE,
            '(f"{_ROOT}/*/temp*_crit", NUMBERS)',
            '(f"{_ROOT}/*/temp*_crit", ".*")',
            "sensors: public: .* matches any site's text",
        ),
        (
            SOURCE,
            '(f"{_ROOT}/*/device@", *',
            '(f"{_ROOT}/*/device@", "sys/x", *',
            "sensors: paths: sys/x is not an absolute path",
        ),
    ],
)
def test_what_is_left_out_is_named(tmp_path: Path, file: str, written: str, instead: str, said: str) -> None:
    """Without a unit, description, section or key, or with half a source, `make docs` stops, and one line says what to write."""
    code = example()
    copy = with_example(tmp_path / "project", {**code, file: code[file].replace(written, instead)})
    ran = python(copy, "-m", "docs")
    (line,) = ran.stderr.splitlines()
    place, number, rest = line.split(": ", 2)
    assert (ran.returncode, place, number[:5]) == (2, file, "line ")
    assert rest.startswith(said)
