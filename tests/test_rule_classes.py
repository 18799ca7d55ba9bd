"""Faults that a rule once had, forbidden to every rule."""

import re
import subprocess
from pathlib import Path

import pytest

from advisor.advice.expression import Sentence
from advisor.advice.expression_tree import ListOf
from advisor.advice.judge.rule import Rule
from advisor.advice.judgement import own_rules
from advisor.advice.know.fixes import Places, fix_of
from advisor.advice.know.vendors import lines_now, settings, vendors
from advisor.advice.model.findings import Want
from advisor.advice.model.sheets import Setting

RULES = own_rules().rules
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
SYSFS = "/sys/devices/system/cpu"


def sentences(rule: Rule) -> tuple[Sentence, ...]:
    """Return the texts of a rule that hold commands."""
    return tuple(text for text in (rule.fix, rule.check, rule.undo) if text is not None)


@every_rule
def test_one_bios_setting_is_one_finding_however_many_sockets_want_it(rule: Rule) -> None:
    """A BIOS holds a setting once for the machine: a rule that wants one runs over no sockets, adapters or GPUs."""
    bios = [name for name in rule.text.set if settings()[name].where == "bios"]
    assert (rule.text.each is not None and bios) in (False, [])


@every_rule
def test_a_published_gain_is_quoted_only_for_what_it_was_measured_on(rule: Rule) -> None:
    """The part to be won stands under a condition on the processor or the machine of its publication."""
    cost = rule.text.cost
    if cost is None or cost.basis != "published" or cost.gain is None:
        return
    one = r'(platform\.family == "[\w-]+" and platform\.generation == \d|shape\.cores)'
    assert re.search(rf" if {one}\b.* else unknown$", str(cost.gain)), cost.gain


@every_rule
def test_a_list_in_a_command_has_no_blanks(rule: Rule) -> None:
    """The command numactl takes 4,5,6,7: a list that is an option's value is written so, not as a sentence lists things."""
    for text in sentences(rule):
        for at, part in enumerate(text.parts):
            if isinstance(part, str) or not isinstance(part[0].kind, ListOf):
                continue
            before = text.parts[at - 1] if at else ""
            assert not (isinstance(before, str) and re.search(r"--?[\w-]+[= ]$", before) and part[1] != "list"), text.text


@every_rule
def test_no_rule_tells_to_switch_idle_states_off_by_latency(rule: Rule) -> None:
    """The command cpupower idle-set -D 2 may be named as what does harm, never as what to do."""
    advice = " ".join([*(text.text for text in sentences(rule)), rule.text.want or ""])
    assert ("idle-set -D" in advice) is ("disables C1 too if C1" in advice)


STATES = {
    "skylake under intel_idle": {"POLL": 0, "C1": 2, "C1E": 10, "C6": 133},
    "rome under acpi_idle": {"POLL": 0, "C1": 1, "C2": 400},
    "broadwell without _CST names": {"POLL": 0, "C1": 2, "C1E": 10, "C3": 40, "C6": 133},
    "_CST under intel_idle": {"POLL": 0, "C1_ACPI": 1, "C2_ACPI": 170},
    "grace": {"WFI": 1, "LPI-1": 200},
}


@pytest.mark.parametrize("states", STATES.values(), ids=STATES)
def test_shallow_idle_states_leave_c1_on(states: dict[str, int], tmp_path: Path) -> None:
    """The line that limits idle states leaves POLL and C1, takes every deeper one, and mends a machine with POLL alone."""
    for number, name in enumerate(states):
        state = tmp_path / f"cpu0/cpuidle/state{number}"
        state.mkdir(parents=True)
        (state / "name").write_text(f"{name}\n")
        (state / "disable").write_text("1\n")
    (line,) = lines_now(settings()["os.idle_states"], "shallow")
    subprocess.run(["sh", "-ec", line.replace(SYSFS, str(tmp_path))], check=True)
    off = {state.parent.joinpath("name").read_text().strip() for state in tmp_path.rglob("disable") if state.read_text() == "1\n"}
    shallow = {"POLL", "C1", "C1_ACPI", "WFI"}
    assert off == states.keys() - shallow


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("scheduler.memlock", "unlimited", "LimitMEMLOCK=infinity"),
        ("scheduler.stack", "unlimited", "LimitSTACK=infinity"),
        ("scheduler.files", 131072, "LimitNOFILE=131072"),
    ],
)
def test_limits_of_jobs_go_into_slurmds_unit(name: str, value: str | int, line: str, tmp_path: Path) -> None:
    """The drop-in of the unit holds the limit; /etc/security/limits.d, which no job reads, is not written."""
    (command,) = lines_now(settings()[name], value)
    assert "/etc/security" not in command
    written = command.partition("; systemctl")[0].replace("/etc/systemd", str(tmp_path)) + "'"
    subprocess.run(["sh", "-ec", written], check=True)
    (file,) = tmp_path.rglob("*.conf")
    assert file.read_text() == f"[Service]\n{line}\n"


def test_rules_on_jobs_mend_slurmd_and_not_limits_d() -> None:
    """Whatever is wrong inside a job of Slurm is mended where jobs get it from."""
    wanted = {
        rule.id: set(rule.text.set)
        for rule in RULES
        if rule.id in ("os-memlock-job", "os-memlock-slurmd", "os-stack-job", "os-files-job")
    }
    assert wanted == {
        "os-memlock-job": {"scheduler.memlock"},
        "os-memlock-slurmd": {"scheduler.memlock"},
        "os-stack-job": {"scheduler.stack"},
        "os-files-job": {"scheduler.files"},
    }


@pytest.mark.parametrize("setting", settings().values(), ids=lambda setting: setting.name)
def test_no_fix_names_a_menu_of_another_processors_maker(setting: Setting) -> None:
    """On an Arm server without a sheet a BIOS setting that only AMD or Intel has is never named by their menus."""
    if setting.where != "bios" or len(setting.makers) == 1:
        return
    empty = vendors()["generic"].model_copy(update={"settings": {}})
    value = next(iter(setting.values), "1")
    assert fix_of(setting, Want(setting=setting.name, value=value), None, Places(empty, None)).menu == setting.heading
