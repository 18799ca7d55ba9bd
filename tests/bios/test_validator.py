"""DMTF's validator of Redfish services has nothing to say against the imitations but their makers' own habits.

The validator and the schemas are put there by ``sh prepare.sh redfish``: the validator from PyPI, into a folder of its own;
DMTF's schemas (DSP8010, in CSDL) from the crate nv-redfish-schema, which has them whole. Where neither is, the tests skip.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.bios.conftest import Imitated
from tests.bios.imitation import PASSWORD, USER, Bmc
from tests.bios.makers import MAKERS, OpenBmc
from tests.bios.test_imitation import WISH, pend
from tests.bios.wire import Rack

CACHE = Path(os.environ.get("ADVISOR_REDFISH_CACHE") or Path.home() / ".cache" / "advisor-redfish")
SCHEMAS, PYTHON = CACHE / "schemas", CACHE / "validator" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SCHEMAS.is_dir() and PYTHON.exists()), reason=f"no validator and schemas in {CACHE}: sh prepare.sh redfish"
    ),
]

ALWAYS = ("Resource", "RedfishExtensions", "RedfishError", "Settings", "Message", "ActionInfo", "IPAddresses")
"""Schemas of what stands inside of resources."""

VALIDATE = """
import json, sys
from redfish_service_validator import console_scripts, logger, report
found = []
report.html_report = report.xlsx_report = lambda *_: ""  # the pages for people take most of its time
console_scripts.print_summary = lambda sut: found.append(sut)
told = {"WARN": [], "FAIL": []}
note = console_scripts.redfish.redfish_logger
def listening(*given):
    made = note(*given)
    class Ear(console_scripts.logging.Handler):
        def emit(self, record):
            kind, _, rest = record.getMessage().partition(" - ")
            told.get(kind, []).append(rest)
    made.addHandler(Ear())
    return made
console_scripts.redfish.redfish_logger = listening
given = json.load(sys.stdin)
status, _ = console_scripts.run_validator(given)
sut = found[0] if found else None
counts = [sut.pass_count, sut.warn_count, sut.fail_count] if sut else None
print("\\n" + json.dumps({"status": status, "counts": counts, **told}))
"""

HABITS: dict[str, set[str]] = {
    # The capture of a DL385 Gen10 Plus v2 has both.
    "hpe": {"/@odata.id (/redfish/v1/systems/1/bios/)", "/RegistryVersion (v1_2_60)"},
    # https://github.com/DMTF/Redfish-Tacklebox/issues/55
    "ami": {"Resource Error: Received HTTP 404 when accessing the URI."},
}
"""What the standard forbids and these makers do all the same, with their sources."""

WARNED: dict[str, set[str]] = {
    # OEM extensions of a real iDRAC: the schemas of the action and of its holder are Dell's own.
    "dell": {"/Actions/Oem/#DellManager.ClearPending ([Object])", "/Oem/Dell ([Object])", "/@odata.id ({jobs})"},
    "ami": {"/Oem/Ami ([Object])"},  # the mark by which it is told; its schema is AMI's own
    # A real registry compares with an empty text.
    "supermicro": {"/RegistryEntries/Dependencies/6/Dependency/MapFrom/0/MapFromValue ([Empty String])"},
}


def validated(bmc: Bmc, folder: Path) -> dict[str, Any]:
    """Return what the validator says of a whole BMC."""
    schemas = folder / "schemas"
    schemas.mkdir()
    types = {str(make().get("@odata.type", "")).lstrip("#").partition(".")[0] for make in bmc.resources().values()}
    for name in sorted(types | set(ALWAYS) | {"AttributeRegistry", "JobCollection", "Session", "Task"}):
        if (SCHEMAS / f"{name}_v1.xml").exists():
            shutil.copy(SCHEMAS / f"{name}_v1.xml", schemas)
    keys = ("payload", "ext_http_proxy", "ext_https_proxy", "serv_http_proxy", "serv_https_proxy", "mockup", "timeout")
    given = dict.fromkeys(keys) | {"debugging": False, "nooemcheck": False, "skipschema": True, "authtype": "Session"}
    given |= {"rhost": bmc.url, "user": USER, "password": PASSWORD, "collectionlimit": ["LogEntry", "20"]}
    given |= {"logdir": str(folder / "logs"), "schema_directory": str(schemas)}
    command = [str(PYTHON), "-c", VALIDATE]  # asked on its standard input: a password stands in no file
    said = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=600, check=False)
    assert said.returncode == 0, said.stderr[-2000:]
    found: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return found


def subjects(lines: list[str]) -> set[str]:
    """Return what lines of the validator are about: each with its value, without what is wrong with it."""
    return {line.partition(": ")[0] if line.startswith("/") else line for line in lines}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_maker_breaks_the_standard_by_its_own_habits_alone(maker: str, imitated: Imitated, tmp_path: Path) -> None:
    """Of all the validator's checks only those fail that the real machines fail too."""
    bmc = imitated(maker)
    said = validated(bmc, tmp_path)
    jobs = "/redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/Jobs"
    warned = {each.format(jobs=jobs) for each in WARNED.get(maker, set())}
    assert (subjects(said["FAIL"]), subjects(said["WARN"])) == (HABITS.get(maker, set()), warned)
    assert (said["counts"][0] > 500, said["counts"][2]) == (True, len(HABITS.get(maker, set())))


@pytest.mark.parametrize("maker", ["dell", "ami", "supermicro"])
def test_a_maker_is_as_valid_with_something_pending(maker: str, imitated: Imitated, tmp_path: Path) -> None:
    """The settings object with what waits, and the job that has it, fail no check."""
    bmc = imitated(maker)
    name, value = WISH[maker]
    assert pend(bmc, **{name: value}).status in (200, 202, 204)
    assert validated(bmc, tmp_path)["FAIL"] == []


def test_a_bmc_without_bios_settings_is_valid(rack: Rack, tmp_path: Path) -> None:
    """An OpenBMC without Bios breaks nothing."""
    assert validated(rack.add(OpenBmc()), tmp_path)["FAIL"] == []


def test_the_validator_finds_what_is_wrong(imitated: Imitated, tmp_path: Path) -> None:
    """A power state that the standard does not know is found."""
    bmc = imitated("lenovo")
    bmc.alter[bmc.paths["system"]] = lambda told: told | {"PowerState": "Warm"}
    assert subjects(validated(bmc, tmp_path)["FAIL"]) == {"/PowerState (Warm)"}
