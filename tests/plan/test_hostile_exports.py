"""Whatever a stranger's BIOS file or capture holds: an export says it as one word, one value, or inside a comment."""

import json
import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from advisor.advice.audit_page.card import Head
from advisor.advice.checklist_page import Sheet, values
from advisor.advice.know.vendors import vendors
from advisor.advice.model.plan import Back, Change, Checklist, Kept, NotWritten, Plan, System, Target, filled_lines, look_up_line
from advisor.machine.jinja import fill
from advisor.paths import templates
from tests.examples import examples
from tests.know.listed import planned_sample
from tests.redfish import parse_bios

BAD = (
    "4; reboot",
    "$(touch caught)",
    "`touch caught`",
    "a'; touch caught; '",
    'a"; touch caught; "',
    "a\\nb\\0033[2Jc\\c",
    "a  b",
    "-rf",
    "a|touch caught",
    "a&touch caught&",
    ">caught",
    "{names}",
    "{dotted}",
    "{{ lookup('pipe','id') }}",
    "{% raw %}",
    "${f:exec:touch caught}",
    "#x",
    "%s",
    "a: b",
    "é😀",
    "!!",
    "~",
    "*",
)
LETTERS = some.characters(codec="utf-8", exclude_categories=("C", "Z"), include_characters=" ")
PRINTED = some.one_of(some.sampled_from(BAD), some.text(LETTERS, min_size=1, max_size=60))
"""What the attributes and values of a Bios resource may hold: its reader takes nothing else."""
TEXT = some.one_of(
    PRINTED,
    some.tuples(PRINTED, some.sampled_from(["\n", "\r\n", "\x0b", "\x85", "\u2028", "\x1b[2J", "\t"]), PRINTED).map("".join),
)
"""What titles, products and names may hold."""
TOOLS = {"racadm": "dell", "ilorest": "hpe", "onecli": "lenovo", "sum": "supermicro"}
CASES = examples(25)
TOOL = """#!/bin/sh
for word; do printf '%s\\n' "$word"; done >> "$LOG"
echo . >> "$LOG"
case $1 in save) : > bios-before.json ;; esac
"""


@some.composite
def changes(draw: some.DrawFn, vendor: str) -> tuple[Change, ...]:
    """Return changes whose every word is a stranger's, with the lines that the maker's tool takes."""
    made = []
    for attribute in draw(some.lists(PRINTED, min_size=1, max_size=3, unique=True)):
        value, now, group = draw(PRINTED), draw(PRINTED), draw(PRINTED)
        lines = [
            filled_lines(vendors()[vendor].tools.set[:1], (Target(attribute, each, group),))
            if vendor in ("dell", "lenovo")
            else (None,)
            for each in (value, now)
        ]
        made.append(
            Change(
                attribute=attribute,
                group=group,
                menu=draw(TEXT),
                title=draw(TEXT),
                now=now,
                value=value,
                why=(draw(TEXT),),
                moves=(draw(TEXT),),
                back=(Back(attribute=attribute, value=now, command=lines[1][0]),),
                active=draw(some.booleans()),
                command=lines[0][0],
            )
        )
    return tuple(made)


@some.composite
def kept(draw: some.DrawFn) -> Kept:
    """Return a setting of the operating system whose every word is a stranger's."""
    words = {name: draw(TEXT) for name in ("key", "value", "option", "line", "back")}
    keeper = draw(some.sampled_from(["sysctl", "sysfs", "cmdline", "service", "limits", "command"]))
    more = {"gone": (draw(TEXT),), "about": (draw(TEXT),), "section": draw(some.sampled_from([None, "vm"])), "keeper": keeper}
    return Kept.model_validate({**words, **more})


@some.composite
def plans(draw: some.DrawFn, vendor: str) -> tuple[Checklist, Plan]:
    """Return a checklist and a plan of which a stranger wrote every text."""
    checklist, _ = planned_sample(draw(TEXT), vendor)
    left = NotWritten(title=draw(TEXT), wanted=draw(TEXT), reason=draw(TEXT), attribute=draw(PRINTED), group=draw(PRINTED))
    targets = (Target(left.attribute or "", "", left.group), Target("B", "", "C"))
    look = vendors()[vendor].tools.look
    system = System(kept=tuple(draw(some.lists(kept(), max_size=4))), profile=draw(TEXT), by_hand=(draw(TEXT),), left=(left,))
    return checklist, Plan(
        machine=draw(TEXT),
        platform=draw(TEXT),
        vendor=vendors()[vendor].name,
        vendor_id=vendor,
        scope="mpi",
        changes=draw(changes(vendor)),
        look_up=(left,),
        look_up_with=look_up_line(look, targets) if look else None,
        contested=(left,),
        refused=(left,),
        by_hand=(left,),
        notes=(draw(TEXT),),
        system=system,
    )


def export(name: str, pair: tuple[Checklist, Plan]) -> str:
    """Return a plan in a format."""
    sheet = Sheet(*pair, pair[0], vendors()[pair[1].vendor_id], Head("nothing", False, "Nothing to fix"))
    given_values = values(sheet, "1.2.3")
    return fill((templates() / "checklist" / f"{name}.j2").read_text(), given_values, name)


def run(text: str, tool: str) -> tuple[list[list[str]], list[str], str]:
    """Run a script with a tool that writes down its words; return these call by call, the files made, what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "bin").mkdir()
        (place / "bin" / tool).write_text(TOOL)
        (place / "bin" / tool).chmod(0o755)
        (place / "work").mkdir()
        (place / "x.sh").write_text(text)
        environment = {"PATH": f"{place}/bin:/usr/bin:/bin", "LOG": f"{place}/log", "LC_ALL": "C.UTF-8", "ANYWAY": "1"}
        checked = subprocess.run(["sh", "-n", place / "x.sh"], capture_output=True, text=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")
        done = subprocess.run(
            ["sh", place / "x.sh"], env=environment, cwd=place / "work", capture_output=True, text=True, check=False
        )
        told = (place / "log").read_text() if (place / "log").exists() else ""
        calls = [call.split("\n") for call in told.split("\n.\n") if call]
        made = sorted(path.name for path in (place / "work").iterdir())
        return calls, made, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["racadm", "onecli"])
@given(data=some.data())
@CASES
def test_a_tool_that_takes_one_a_line_hears_each_attribute_and_value_as_one_word(name: str, data: some.DataObject) -> None:
    """The script runs nothing else, leaves no file, and prints the way back as lines of which the same holds."""
    pair = data.draw(plans(TOOLS[name]))
    calls, made, said = run(export(name, pair), name)
    wanted = [shlex.split(str(change.command))[1:] for change in pair[1].writes]
    assert [call for call in calls if call[0] in ("set", "config")] == wanted
    assert made == []
    for change in pair[1].writes:
        assert f"  {change.back[0].command}\n" in said
        assert str(change.back[0].value) in shlex.split(str(change.back[0].command))[-2:] or name == "onecli"


@given(data=some.data())
@CASES
def test_ilorest_hears_each_attribute_with_its_value_as_one_word(data: some.DataObject) -> None:
    """All in one call, and nothing else is run or written; the way back is printed as lines of which the same holds."""
    pair = data.draw(plans("hpe"))
    calls, made, said = run(export("ilorest", pair), "ilorest")
    writes = [f"{change.attribute}={change.value}" for change in pair[1].writes]
    assert [call for call in calls if call[0] == "set"] == ([["set", *writes, "--select", "Bios."]] if writes else [])
    assert made == (["bios-before.json"] if writes else [])
    for change in pair[1].writes:
        assert f"ilorest set {shlex.quote(f'{change.attribute}={change.now}')} --select Bios.\n" in said


@given(data=some.data())
@CASES
def test_the_script_for_sum_runs_sum_and_copies_the_file_that_it_wrote(data: some.DataObject) -> None:
    """All that a stranger wrote is in comments."""
    text = export("sum", data.draw(plans("supermicro")))
    checked = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert [line.split()[0] for line in lines] == ["set", "umask", "if", "echo", "exit", "fi", "sum", "cp"]


@pytest.mark.parametrize("name", sorted(TOOLS))
@given(data=some.data())
@CASES
def test_a_line_that_stands_as_a_comment_is_one_line_of_a_shell_when_it_is_uncommented(name: str, data: some.DataObject) -> None:
    """Each value that is off, each command to look up and to read back."""
    text = export(name, data.draw(plans(TOOLS[name])))
    lines = re.findall(rf"^# +({name} (?:set|get|config) .*)$", text, re.MULTILINE)
    for line in lines:
        checked = subprocess.run(["sh", "-n", "-c", line], capture_output=True, text=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


@given(data=some.data())
@CASES
def test_a_body_of_redfish_holds_the_very_values(data: some.DataObject) -> None:
    """JSON, read back, is the plan."""
    pair = data.draw(plans("dell"))
    assert json.loads(export("redfish", pair))["Attributes"] == pair[1].attributes


@given(data=some.data())
@CASES
def test_a_playbook_is_read_back_with_the_very_values_and_no_expression(data: some.DataObject) -> None:
    """YAML has the tasks of the plan and no other; in no text of a stranger does Ansible find something to expand."""
    pair = data.draw(plans("dell"))
    (play,) = yaml.safe_load(export("ansible", pair))
    system = pair[1].system
    assert play.pop("hosts") == "{{ nodes | default('advisor') }}"
    sysctl = [task["ansible.posix.sysctl"] for task in play["tasks"] if "ansible.posix.sysctl" in task]
    assert [(each["name"], each["value"]) for each in sysctl] == [(_told(k.key), _told(k.value)) for k in system.by("sysctl")]
    limits = [task["community.general.pam_limits"] for task in play["tasks"] if "community.general.pam_limits" in task]
    assert [(each["limit_item"], each["value"]) for each in limits] == [
        (_told(k.key), _told(k.value)) for k in system.by("limits")
    ]
    assert [text for text in _texts(play) if re.search(r"\{[{%#]|[}%#]\}", text)] == []
    assert {key for task in play["tasks"] for key in task} <= {
        "name", "register", "changed_when", "failed_when", "check_mode", "when", "notify", "ansible.posix.sysctl",
        "community.general.pam_limits", "ansible.builtin.systemd", "ansible.builtin.copy", "ansible.builtin.command",
    }  # fmt: skip


def _told(text: str) -> str:
    """Return a text as one line in which Ansible's marks stand apart."""
    text = " ".join(text.split())
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    for mark in "{}%#":
        text = text.replace("{" + mark, "{ " + mark).replace(mark + "}", mark + " }")
    return text


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else [str(value)]


@given(data=some.data())
@CASES
def test_a_tuned_profile_has_the_sections_of_the_plan_and_expands_nothing(data: some.DataObject) -> None:
    """Read as tuned reads it: no name opens a section, and no function of tuned stands in a value."""
    pair = data.draw(plans("dell"))
    text = export("tuned", pair)
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    system = pair[1].system
    known = {"[main]", "[sysfs]", "[service]", "[bootloader]", *(f"[{name}]" for name in system.sections)}
    heads = {line for line in lines if re.fullmatch(r"\[[^\]]*\]", line)}
    allowed = {_ini(each.line or "") for entries in system.sections.values() for each in entries}
    assert heads - known - allowed == set()
    assert [line for line in lines if "$" in line] == []
    assert len(lines) == len([line for line in export("tuned", pair).split("\n") if line and not line.startswith("#")])


def _ini(text: str) -> str:
    return re.sub(r"[#;$\\]", "", _told(text))


@given(data=some.data())
@CASES
def test_a_file_of_sysctl_has_one_line_for_each_setting(data: some.DataObject) -> None:
    """Nothing of a title or a name becomes a line."""
    pair = data.draw(plans("dell"))
    lines = [line for line in export("sysctl", pair).split("\n") if line and not line.startswith("#")]
    assert lines == [f"{_ini(each.key)} = {_ini(each.value)}" for each in pair[1].system.by("sysctl")]


@given(data=some.data())
@CASES
def test_boot_options_are_one_line_and_grubby_gets_them_as_one_word(data: some.DataObject) -> None:
    """Beside comments there is the line of options alone."""
    pair = data.draw(plans("dell"))
    text = export("kernel-cmdline", pair)
    assert len([line for line in text.split("\n") if line and not line.startswith("#")]) <= 1
    for line in re.findall(r"^# +(grubby .*)$", text, re.MULTILINE):
        checked = subprocess.run(["sh", "-n", "-c", line], capture_output=True, text=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")
        assert [word for word in shlex.split(line)[2:] if not re.match(r"--(remove-)?args=", word)] == []


@given(some.dictionaries(some.text(max_size=20), some.text(max_size=20)), TEXT)
def test_an_attribute_or_a_value_that_steers_a_terminal_is_not_taken_from_a_bios_file(found: dict[str, str], odd: str) -> None:
    """What is taken is printable, both names and values: no line break can get into a script."""
    bios = parse_bios(json.dumps({"Attributes": {**found, odd: odd}}), "bios.json")
    assert [text for pair in bios.attributes.items() for text in pair if not str(text).isprintable()] == []


def test_a_mark_in_a_name_is_no_mark_of_the_command_that_looks_values_up() -> None:
    """Each name is one word, whatever it is called."""
    line = look_up_line("ilorest get {names} --select Bios.", (Target("{dotted}", ""), Target("{keys};id", "")))
    assert shlex.split(line) == ["ilorest", "get", "{dotted}", "{keys};id", "--select", "Bios."]
