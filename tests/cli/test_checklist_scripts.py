"""The scripts of a checklist, run with tools that only write down what they are told, and refuse where a test wants it."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.main import status
from tests.cli.said import printed
from tests.plan.made import DAPC

Capture = pytest.CaptureFixture[str]

FAKE = """#!/bin/sh
echo "$@" >> "$LOG"
case "$1 $2" in
  "set "* | "config set") echo x >> "$LOG.sets"; [ "$(wc -l < "$LOG.sets")" -ne "${REFUSE:-0}" ] || exit 1 ;;
esac
case "$*" in *"${REFUSED:-no such word}"*) exit 1 ;; esac
while [ "${1#-}" != "$1" ]; do shift 2; done
case "$1 $2" in
  "get "*)
    echo "[Key=BIOS.Setup.1-1#X]   "; echo "Present=1"
    while read -r name value; do [ "$name" != "${2##*.}" ] || printf '%s\\n' "$name=$value (Pending Value=X)   "; done < values
    ;;
  "save "*) : > bios-before.json ;;
esac
"""

EDGES: dict[str, Any] = {**DAPC, "MadtCoreEnumeration": "Linear", "ProcTurboMode": "Disabled"}
HPE: dict[str, Any] = {
    "WorkloadProfile": "Custom", "PowerRegulator": "DynamicPowerSavings", "ProcTurbo": "Disabled", "MinProcIdlePower": "C6",
    "ProcHyperthreading": "Enabled",
}  # fmt: skip
LENOVO: dict[str, Any] = {
    "OperatingModes_ChooseOperatingMode": "CustomMode", "Processors_TurboMode": "Disabled",
    "Processors_HyperThreading": "Enabled",
}  # fmt: skip

CASES = [("racadm", "dell", EDGES), ("ilorest", "hpe", HPE), ("onecli", "lenovo", LENOVO)]


def script(capsys: Capture, tmp_path: Path, form: str, vendor: str, values: dict[str, Any], *more: str) -> str:
    """Return the script for a server of which the BIOS is known, with everything included."""
    file = tmp_path / "bios.json"
    file.write_text(json.dumps({"@odata.type": "#Bios.v1_1_0.Bios", "Attributes": values}))
    words = ["--platform", "ice-lake", "--vendor", vendor, "--bios", str(file), "--as", form, *more]
    return printed(capsys, "checklist", *words, "--include", "unknown", "--include", "contested")


def run(tmp_path: Path, text: str, tool: str, **env: str) -> tuple[int, list[str], str]:
    """Run a script with a tool that writes down its words; return status, what it was told, what was printed."""
    tools = tmp_path / "bin"
    shutil.rmtree(tools, ignore_errors=True)
    tools.mkdir()
    (tools / tool).write_text(FAKE)
    (tools / tool).chmod(0o755)
    (tmp_path / "x.sh").write_text(text)
    if not (tmp_path / "values").exists():  # what the server has: as planned
        words = [shlex.split(line) for line in text.splitlines() if line.startswith("planned BIOS.")]
        (tmp_path / "values").write_text("".join(f"{name.rpartition('.')[2]} {now}\n" for _, name, now, _ in words))
    log = tmp_path / "log"
    given = {"PATH": f"{tools}:/usr/bin:/bin", "LOG": str(log), **env}
    done = subprocess.run(["sh", tmp_path / "x.sh"], env=given, cwd=tmp_path, capture_output=True, text=True, check=False)
    return done.returncode, log.read_text().splitlines() if log.exists() else [], done.stdout + done.stderr


@pytest.mark.parametrize(("form", "vendor", "values"), CASES, ids=[case[0] for case in CASES])
def test_sh_and_shellcheck_find_nothing_in_a_script(
    form: str, vendor: str, values: dict[str, Any], capsys: Capture, tmp_path: Path
) -> None:
    """Each script is read by sh, has nothing for shellcheck to say, and stops at the first error."""
    text = script(capsys, tmp_path, form, vendor, values)
    (tmp_path / "x.sh").write_text(text)
    for tool in (["sh", "-n"], ["shellcheck"]):
        if shutil.which(tool[0]):
            done = subprocess.run([*tool, tmp_path / "x.sh"], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (0, "")
    assert "\nset -eu\n" in text


def test_racadm_stages_all_and_makes_no_job(capsys: Capture, tmp_path: Path) -> None:
    """Run as it is, the script sets what the plan has, in order, commits nothing, and prints the way back."""
    code, told, said = run(tmp_path, script(capsys, tmp_path, "racadm", "dell", EDGES), "racadm")
    sets = [line for line in told if line.startswith("set")]
    assert (code, [line for line in told if "job" in line]) == (0, [])
    assert sets[-1] == "set BIOS.SysProfileSettings.SysProfile PerfOptimized"
    assert "racadm set BIOS.SysProfileSettings.SysProfile PerfPerWattOptimizedDapc" in said


@pytest.mark.parametrize("nth", [1, 2])
def test_a_refused_set_ends_racadms_script_before_the_job(nth: int, capsys: Capture, tmp_path: Path) -> None:
    """Also with the mark before the job taken away nothing is committed, and the script says how to clear what is pending."""
    text = script(capsys, tmp_path, "racadm", "dell", EDGES).replace("# racadm jobqueue", "racadm jobqueue")
    code, told, said = run(tmp_path, text, "racadm", REFUSE=str(nth))
    assert (code, len([line for line in told if line.startswith("set")])) == (1, nth)
    assert [line for line in told if "jobqueue" in line] == []
    assert "racadm clearpending BIOS.Setup.1-1" in said
    (tmp_path / "log").unlink()
    assert "jobqueue create BIOS.Setup.1-1 -r pwrcycle -s TIME_NOW -e TIME_NA" in run(tmp_path, text, "racadm")[1]


@pytest.mark.parametrize("there", ["MadtCoreEnumeration Other\n", ""])
def test_racadm_stages_nothing_on_another_server(there: str, capsys: Capture, tmp_path: Path) -> None:
    """A value that is neither the one of the plan nor the new one ends the script before the first change, as does none."""
    (tmp_path / "values").write_text(f"SysProfile PerfPerWattOptimizedDapc\nProcTurboMode Disabled\n{there}")
    code, told, said = run(tmp_path, script(capsys, tmp_path, "racadm", "dell", EDGES), "racadm")
    assert (code, [line for line in told if line.startswith("set")]) == (1, [])
    assert "another server, or changed since; nothing is staged" in said
    (tmp_path / "log").unlink()
    assert run(tmp_path, script(capsys, tmp_path, "racadm", "dell", EDGES), "racadm", ANYWAY="1")[0] == 0


def test_without_racadm_its_script_says_so(capsys: Capture, tmp_path: Path) -> None:
    """In one line, before it talks of jobs that block changes."""
    text = script(capsys, tmp_path, "racadm", "dell", EDGES)
    code, _, said = run(tmp_path, text, "racadm", RACADM="/nowhere/racadm -r 10.0.0.9")
    assert (code, said) == (1, "advisor: /nowhere/racadm is not installed here: nothing is staged\n")
    assert run(tmp_path, text, "another")[::2] == (1, "advisor: racadm is not installed here: nothing is staged\n")


def test_racadm_may_be_reached_with_options(capsys: Capture, tmp_path: Path) -> None:
    """RACADM holds the tool with its options, and each call has them."""
    text = script(capsys, tmp_path, "racadm", "dell", EDGES)
    told = run(tmp_path, text, "racadm", RACADM="racadm -r 10.0.0.9")[1]
    assert {line.partition(" set")[0] for line in told if " set " in line} == {"-r 10.0.0.9"}


@pytest.mark.parametrize("refused", ["ProcTurbo=Enabled", "save", "commit"])
def test_a_refused_value_ends_ilorests_script_before_the_commit(refused: str, capsys: Capture, tmp_path: Path) -> None:
    """All values are set in one call, the commit is the last; where either is refused nothing is committed."""
    text = script(capsys, tmp_path, "ilorest", "hpe", HPE)
    code, told, said = run(tmp_path, text, "ilorest", REFUSED=refused)
    assert (code, "ilorest logout" in said) == (1, True)
    assert [line for line in told if "commit" in line and refused != "commit"] == []
    for file in ("log", "log.sets", "bios-before.json"):
        (tmp_path / file).unlink(missing_ok=True)
    code, told, said = run(tmp_path, text, "ilorest")
    assert (code, told[0].split()[0], told[-1]) == (0, "save", "commit")
    assert "ilorest set ProcTurbo=Disabled --select Bios." in said


def test_a_refused_set_ends_oneclis_script_and_says_how_to_go_back(capsys: Capture, tmp_path: Path) -> None:
    """What was staged before is named with the lines that take it back, before any restart."""
    text = script(capsys, tmp_path, "onecli", "lenovo", LENOVO)
    code, told, said = run(tmp_path, text, "onecli", REFUSE="2")
    assert (code, len([line for line in told if line.startswith("config set")])) == (1, 2)
    assert "onecli config set Processors.HyperThreading Enabled --override" in said
    assert "Do not restart" in said


def test_hardware_on_order_is_saved_before_anything_is_set(capsys: Capture, tmp_path: Path) -> None:
    """Every group is read into a file first; where that fails nothing is set; a file that is there is not overwritten."""
    assert status(["checklist", "--cpu", "EPYC 7702", "--vendor", "dell", "--as", "racadm"]) == 0
    text = capsys.readouterr().out
    code, told, _ = run(tmp_path, text, "racadm")
    first = next(at for at, line in enumerate(told) if line.startswith("set"))
    assert (code, {line.split()[0] for line in told[:first]}) == (0, {"get"})
    assert {"get BIOS.ProcSettings", "get BIOS.SysProfileSettings", "get BIOS.IntegratedDevices"} <= set(told[:first])
    assert "Present=1" in (tmp_path / "bios-before.txt").read_text()
    assert (tmp_path / "bios-before.txt").stat().st_mode & 0o077 == 0
    (tmp_path / "log").unlink()
    assert run(tmp_path, text, "racadm")[:2] == (1, [])
    (tmp_path / "bios-before.txt").unlink()
    code, told, _ = run(tmp_path, text, "racadm", REFUSED="get BIOS.ProcSettings")
    assert (code, [line for line in told if line.startswith("set")]) == (1, [])


def test_what_is_low_or_contested_on_order_stands_as_a_comment(capsys: Capture) -> None:
    """NPS is concrete and written; SMT and C-states are lines to uncomment; no preferred I/O."""
    assert status(["checklist", "--cpu", "AMD EPYC 7702 64-Core Processor", "--vendor", "dell", "--as", "racadm"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("racadm set BIOS.ProcSettings.NumaNodesPerSocket")] == [
        "racadm set BIOS.ProcSettings.NumaNodesPerSocket 4 || refused NumaNodesPerSocket=4"
    ]
    for name in ("ProcSettings.LogicalProc", "SysProfileSettings.ProcCStates"):
        assert [line[:12] for line in lines if f"set BIOS.{name} " in line and "undo" not in line] == ["# racadm set"]
    assert [line for line in lines if "PciePreferredIoBus" in line and not line.startswith("#")] == []


def test_hostile_values_of_a_file_run_nothing(capsys: Capture, tmp_path: Path) -> None:
    """The current value of a stranger's file comes back in the undo, quoted, in the script and in what it prints."""
    values = {**EDGES, "LogicalProc": "Enabled'; touch pwned; '", "ProcX2Apic": "$(touch pwned)"}
    text = script(capsys, tmp_path, "racadm", "dell", values)
    code, _, said = run(tmp_path, text, "racadm")
    assert (code, (tmp_path / "pwned").exists()) == (0, False)
    for line in [line for line in said.splitlines() if line.startswith("racadm set")]:
        subprocess.run(["sh", "-c", f"racadm() {{ :; }}; {line}"], cwd=tmp_path, check=True)
    assert not (tmp_path / "pwned").exists()


def test_a_redfish_body_says_beside_it_how_to_go_back(capsys: Capture, tmp_path: Path) -> None:
    """The body has what is written alone; the way back is a body too, on standard error, where each thing is said once."""
    file = tmp_path / "bios.json"
    file.write_text(json.dumps({"Attributes": {**DAPC}}))
    assert status(["checklist", "--platform", "ice-lake", "--vendor", "dell", "--bios", str(file), "--as", "redfish"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["Attributes"] == {"SysProfile": "PerfOptimized"}
    back = '{"Attributes": {"SysProfile": "PerfPerWattOptimizedDapc"}, "@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}}'
    assert f"request body for undo: {back}" in said.err
    heads = [line.split(": ")[1] for line in said.err.splitlines()]
    assert [head for head in heads if heads.count(head) > 1] == []


@pytest.mark.parametrize(
    "value", ["4; touch caught", "$(touch caught)", "`touch caught`", "a'b\"c", "two  blanks", "a\\nb", "x\ny"]
)
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_a_value_of_a_strangers_bios_file_is_one_word_of_the_script_and_of_the_way_back(
    case: tuple[str, str, dict[str, Any]], value: str, capsys: Capture, tmp_path: Path
) -> None:
    """The tool hears the wanted values alone, nothing else is run; a value with a line break is not taken at all."""
    form, vendor, values = case
    name = {"dell": "LogicalProc", "hpe": "ProcHyperthreading", "lenovo": "Processors_HyperThreading"}[vendor]
    text = script(capsys, tmp_path, form, vendor, {**values, name: value})
    code, told, said = run(tmp_path, text, form)
    assert (code, [line for line in told if "caught" in line], (tmp_path / "caught").exists()) == (0, [], False)
    shown = [shlex.split(line) for line in said.splitlines() if name.replace("_", ".") in line or f"{name}=" in line]
    assert [words for words in shown if value in words or f"{name}={value}" in words] == shown
    assert (len(shown) > 0) == ("\n" not in value)


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        (None, True),
        ({"SupportedApplyTimes": ["OnReset", "AtMaintenanceWindowStart"]}, True),
        ({"SupportedApplyTimes": ["AtMaintenanceWindowStart"]}, False),
        ({"SettingsObject": {"@odata.id": "/redfish/v1/Systems/System.Embedded.1/Bios/Settings"}}, False),
    ],
    ids=["not-told", "offered", "another", "none"],
)
def test_an_apply_time_is_asked_for_only_where_the_bios_offers_it(
    settings: dict[str, Any] | None, asked: bool, capsys: Capture, tmp_path: Path
) -> None:
    """A controller refuses a body with one that it does not know; the line beside it says that a job is made by hand."""
    resource = {"Attributes": {**DAPC}} | ({"@Redfish.Settings": settings} if settings else {})
    file = tmp_path / "bios.json"
    file.write_text(json.dumps(resource))
    assert status(["checklist", "--platform", "ice-lake", "--vendor", "dell", "--bios", str(file), "--as", "redfish"]) == 0
    said = capsys.readouterr()
    assert ("@Redfish.SettingsApplyTime" in json.loads(said.out), "OnReset is left out" in said.err) == (asked, not asked)


@pytest.mark.parametrize(("more", "writes"), [((), False), (("--include", "contested"), True)])
def test_a_file_for_sum_reads_and_restarts_nothing_where_nothing_is_written(
    more: tuple[str, ...], writes: bool, capsys: Capture, tmp_path: Path
) -> None:
    """Giving the same file back would restart the server for nothing."""
    file = tmp_path / "bios.json"
    file.write_text(json.dumps({"Attributes": {"EnhancedHaltState_C1E__3D23": "Enable"}}))
    words = ["--platform", "sapphire-rapids", "--vendor", "supermicro", "--bios", str(file), "--as", "sum", *more]
    assert status(["checklist", *words]) == 0
    text = capsys.readouterr().out
    assert ("--reboot" in text, "nothing to write" in text) == (writes, not writes)
    code, told, _ = run(tmp_path, text.replace("cp bios.xml", ": bios.xml"), "sum")
    assert (code, told) == (0, ["-c GetCurrentBiosCfg --file bios.xml"] if writes else [])
