import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from advisor.advice.checklist import BUILT_IN, Ordered, checklist, formats
from advisor.advice.judgement import HardwareOnOrder, judged, maker_of
from advisor.advice.know.vendors import settings, vendor_by_id
from advisor.cli.main import status
from advisor.machine.jinja import about
from advisor.measure.platform import platform_by_id, platforms
from tests.cli import said
from tests.machines.catalogue import write_archive

Capture = pytest.CaptureFixture[str]

RULE = """
- id: site-nps
  title: NUMA nodes
  severity: high
  each: socket in sockets
  only: cpu.vendor == "AuthenticAMD"
  when: socket.nodes < socket.best
  say: too few
  why: Because of the site.
  set: {numa.nps: socket.best}
  check: lscpu
  refs: [site]
  tests: [{given: {}, expect: unknown}]
- id: site-snc
  title: clusters
  severity: high
  each: socket in sockets
  only: cpu.vendor == "GenuineIntel"
  when: socket.nodes < 2
  say: too few
  why: Because of the site.
  set: {cpu.snc: snc2}
  check: lscpu
  refs: [site]
  tests: [{given: {}, expect: unknown}]
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Return a site's rule file: one rule for AMD, one for Intel."""
    file = tmp_path / "site.yaml"
    file.write_text(RULE)
    return file


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return the archive of the R7425's root."""
    file = tmp_path / "r7425.tar.gz"
    write_archive("a-r7425-2x7601-dell", file)
    return file


def printed(capsys: Capture, *words: object) -> str:
    """Return what the command prints."""
    return said.printed(capsys, "checklist", *words)


def refused(capsys: Capture, *words: object) -> str:
    """Return the one line with which the command refuses."""
    return said.refused(capsys, "checklist", *words)


def document(capsys: Capture, *words: object) -> dict[str, Any]:
    """Return the list as JSON."""
    return said.document(capsys, "checklist", "--as", "json", *words)


def test_hardware_on_order_has_the_full_list(capsys: Capture, rules: Path) -> None:
    """Without a machine every rule that may apply gives its line; Intel's do not apply to AMD, and the cut is told in words."""
    found = document(capsys, "--platform", "rome", "--vendor", "dell", "--rules", str(rules))
    lines = {rule: item for group in found["groups"] for item in group["items"] for rule in item["rules"]}
    assert (found["schema"], found["platform_id"], found["vendor"], found["machine"]) == (
        "advisor-checklist/1",
        "rome",
        "Dell",
        None,
    )
    assert lines["site-nps"]["done"] is None
    assert lines["site-nps"]["wanted"] == "NPS4, or the highest below it that the setup menu offers"
    assert "site-snc" not in lines
    intel = document(capsys, "--platform", "ice-lake", "--rules", str(rules))
    names = {rule for group in intel["groups"] for item in group["items"] for rule in item["rules"]}
    assert ("site-snc" in names, "site-nps" in names, intel["vendor_id"]) == (True, False, "generic")


def test_a_machine_has_its_name_and_what_is_done(archive: Path, capsys: Capture) -> None:
    """The list of a machine names it, and uses its maker's words; --vendor takes another's."""
    found = document(capsys, "--from", str(archive))
    assert (found["machine"], found["vendor_id"]) == ("r7425, Dell Inc. PowerEdge R7425", "dell")
    assert document(capsys, "--from", str(archive), "--vendor", "hpe")["vendor_id"] == "hpe"


def test_todo_is_shorter(archive: Path, capsys: Capture) -> None:
    """--todo leaves out what is done."""
    whole, short = (document(capsys, "--from", str(archive), *more) for more in ([], ["--todo"]))
    items = [item for group in short["groups"] for item in group["items"]]
    assert len(items) < sum(len(group["items"]) for group in whole["groups"])
    assert [item for item in items if item["done"]] == []


def test_todo_of_a_well_set_node_says_that_there_is_nothing_to_do(tmp_path: Path, capsys: Capture) -> None:
    """At NPS4 nothing is wrong: no box on the page, and a count of what the whole list has beside."""
    file = tmp_path / "node.tar.gz"
    write_archive("b-c6525-2x7702-nps4", file)
    for form in ("txt", "md", "html"):
        text = printed(capsys, "--from", str(file), "--todo", "--as", form)
        assert ("NOTHING TO FIX" in text, "Nothing to do. 3 to consider and" in text) == (True, True)
        assert [box for box in ("[ ]", "( )", "[?]", '<input type="checkbox"') if box in text] == []


def test_one_command_reads_what_a_bmc_shows_and_one_what_the_machine_shows(archive: Path, capsys: Capture) -> None:
    """Every line that is not known stands below the command that makes it known; none of them is a box to fill in."""
    lines = printed(capsys, "--from", str(archive), "--width", "100", "--no-color").splitlines()
    after = lines[lines.index("LOOK UP  unknown values, each with the command that reads it") :]
    commands = [line.strip() for line in after if line.strip().startswith(("sudo advisor", "advisor "))]
    told = " ".join(" ".join(after).replace("\\", "").split())
    assert (len(commands), commands[0]) == (2, "sudo advisor capture -o node.tar.gz")
    assert f"advisor checklist --from {archive} --bmc HOST" in told
    assert [line for line in lines if "____" in line] == []


FAKE = """#!/bin/sh
file=
while [ $# -gt 0 ]; do
  case $1 in -f|--file) file=$2;; esac
  shift
done
if [ -n "$file" ]; then echo values > "$file"; else echo values; fi
"""


@pytest.mark.parametrize(
    ("form", "vendor", "cpu"),
    [
        ("racadm", "dell", "EPYC 7702"),
        ("ilorest", "hpe", "EPYC 7702"),
        ("onecli", "lenovo", "EPYC 9654"),
        ("sum", "supermicro", "Xeon Gold 6248R"),
    ],
)
def test_present_values_are_saved_for_whoever_runs_the_script_alone(form: str, vendor: str, cpu: str, tmp_path: Path) -> None:
    """The values of a BIOS may hold secrets: whatever the umask, what a script writes is mode 600."""
    tool, script = tmp_path / form, tmp_path / "x.sh"
    tool.write_text(FAKE)
    tool.chmod(0o755)
    script.write_text(checklist(Ordered(cpu=cpu), vendor=vendor).text(form))
    folder = tmp_path / "here"
    folder.mkdir()
    words = ["sh", "-c", 'umask 000; sh "$0"', str(script)]
    subprocess.run(words, check=True, capture_output=True, cwd=folder, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    modes = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}
    assert modes == dict.fromkeys(modes, 0o600)
    assert [name for name in modes if name.startswith("bios-before.")] != []


@pytest.mark.parametrize("words", [("--only", "1"), ("--todo",), ()])
def test_one_is_said_in_the_singular(words: tuple[str, ...], archive: Path, capsys: Capture) -> None:
    """1 setting, 2 settings: on every page of a machine and of hardware on order."""
    ordered = ("--cpu", "EPYC 7702", "--vendor", "dell")
    whose = [("--from", str(archive)), *([] if "--only" in words else [ordered])]
    pages = [printed(capsys, *source, *words, "--as", form) for source in whose for form in ("txt", "md", "html", "racadm")]
    many = re.compile(r"(?<![\d.,-])1 (settings|lines|checks|rules|things|findings|changes)\b", re.IGNORECASE)
    assert [found[0] for page in pages for found in many.finditer(page)] == []


def test_todo_stages_what_unlocking_puts_back_too(capsys: Capture, tmp_path: Path) -> None:
    """A BIOS file is the same with --todo: it leaves out by itself what is so, but for what a change of profile undoes."""
    file = tmp_path / "bios.json"
    values = {"SysProfile": "PerfOptimized", "ProcC1E": "Disabled", "ProcTurboMode": "Disabled", "LogicalProc": "Enabled"}
    file.write_text(json.dumps({"@odata.type": "#Bios.v1_1_0.Bios", "Id": "Bios", "Attributes": values}))
    words = ("--platform", "ice-lake", "--vendor", "dell", "--bios", str(file), "--as", "redfish")
    assert printed(capsys, *words) == printed(capsys, *words, "--todo")


def test_the_bios_tells_what_it_stands_at(capsys: Capture, tmp_path: Path) -> None:
    """With --bios the current values of hardware on order are those of its controller."""
    file = tmp_path / "bios.json"
    file.write_text(json.dumps({"@odata.type": "#Bios.v1_1_0.Bios", "Id": "Bios", "Attributes": {"LogicalProc": "Enabled"}}))
    found = document(capsys, "--platform", "ice-lake", "--vendor", "dell", "--bios", str(file))
    (smt,) = [item for group in found["groups"] for item in group["items"] if item["setting"] == "cpu.smt"]
    assert smt["now"] == "on"


def lines_of(capsys: Capture, *words: str) -> list[dict[str, Any]]:
    """Return the lines of a list."""
    return [item for group in document(capsys, *words)["groups"] for item in group["items"]]


@pytest.mark.parametrize(
    ("cpu", "setting", "value"),
    [
        ("EPYC 7702", "numa.nps", "4"),
        ("EPYC 7272", "numa.nps", "2"),
        ("EPYC 7601", "memory.interleave", "channel"),
        ("Xeon Gold 6248R", "cpu.snc", "snc2"),
        ("Xeon E5-2680 v4", "cpu.snoop_mode", "cod"),
    ],
)
def test_the_model_on_order_decides_the_cut(cpu: str, setting: str, value: str, capsys: Capture) -> None:
    """--cpu names a processor: the most important line is concrete, and what its dies do not offer is not wanted."""
    found = {item["setting"]: item for item in lines_of(capsys, "--cpu", cpu, "--vendor", "dell")}
    assert found[setting]["fix"]["value"] == value


def test_the_cut_of_a_generation_alone_is_told_in_words(capsys: Capture) -> None:
    """Where no model is named, nothing is written that a model might not offer."""
    found = {item["setting"]: item for item in lines_of(capsys, "--platform", "rome", "--vendor", "dell")}
    assert (found["numa.nps"]["fix"]["value"], found["numa.nps"]["wanted"][:5]) == (None, "NPS4,")


@pytest.mark.parametrize("platform", ["rome", "ice-lake", "grace", "mi300a"])
def test_hardware_on_order_has_no_line_that_only_a_machine_could_have(platform: str, capsys: Capture) -> None:
    """No virtual machine, container or provider, nothing to mend, and no DIMM where the memory is soldered on."""
    found = lines_of(capsys, "--platform", platform)
    text = json.dumps([[item["title"], item["fix"]["text"]] for item in found]).lower()
    assert [
        word for word in ("guest", "provider", "container", "hypervisor", "nothing, unless", "as meant") if word in text
    ] == []
    assert ("dimm" in text) is (platform in ("rome", "ice-lake"))


@pytest.mark.parametrize(
    ("attributes", "words", "says"),
    [
        ({"NumaMemoryDomainsPerSocket": "Auto", "ProcSMT": "Enabled", "ProcX2Apic": "Auto", "AmdL1Prefetcher": "Enabled",
          "PowerRegulator": "OsControl"}, ["--platform", "rome", "--vendor", "dell"], "are from HPE, but the machine"),
        ({"SubNumaCluster": "Disabled", "NodeInterleave": "Disabled", "UpiPrefetch": "Enabled", "UncoreFrequency": "MaxUFS",
          "ProcVirtualization": "Enabled"}, ["--platform", "rome", "--vendor", "dell"], "with Intel processors"),
    ],
)  # fmt: skip
def test_a_bios_file_that_cannot_be_the_machines_is_refused(
    attributes: dict[str, str], words: list[str], says: str, capsys: Capture, tmp_path: Path
) -> None:
    """One line says whose it is, for a checklist and for an audit."""
    file = tmp_path / "bios.json"
    file.write_text(json.dumps({"Attributes": attributes}))
    assert says in refused(capsys, *words, "--bios", str(file))
    archive = tmp_path / "node.tar.gz"
    write_archive("b-c6525-2x7702-nps1", archive)
    assert status(["audit", "--from", str(archive), "--bios", str(file)]) == 2
    assert says in capsys.readouterr().err


def test_a_bios_file_of_whoever_beside_a_maker_without_known_names_is_flagged(capsys: Capture, tmp_path: Path) -> None:
    """Fujitsu's attributes are in no registry that was found: one line says that nobody can tell whose these are."""
    file = tmp_path / "bios.json"
    file.write_text(json.dumps({"Attributes": {f"Socket0Pcie{number}EnableASPML1": "Enabled" for number in range(30)}}))
    assert status(["checklist", "--platform", "sapphire-rapids", "--vendor", "fujitsu", "--bios", str(file)]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "Fujitsu" in line]
    assert [("cannot tell whether" in line) for line in said] == [True]


def test_what_is_included_must_be_one_of_two(capsys: Capture) -> None:
    """--include takes unknown and contested."""
    assert "did you mean unknown?" in refused(capsys, "--platform", "rome", "--include", "unknwn")


def test_pages_say_to_type_what_the_scripts_would(archive: Path, capsys: Capture) -> None:
    """A line that no script writes has no command, and says why; one that is written has the script's own."""
    for item in lines_of(capsys, "--from", str(archive)):
        if item["fix"]["where"] == "bios" and item["setting"] and not item["done"] and item["fix"]["attribute"]:
            assert bool(item["fix"]["commands"]) is not bool(item["left"]), item["id"]


def test_help_lists_every_format(capsys: Capture) -> None:
    """--as help: a line each, with what it is, and the vendor whose tool it is; no machine is read."""
    lines = printed(capsys, "--as", "help").splitlines()
    assert [line.split()[0] for line in lines] == [*BUILT_IN, *formats()]
    assert "racadm           a racadm script that stages the BIOS of a Dell server (--vendor dell)" in lines


@pytest.mark.parametrize("name", formats())
def test_every_format_prints_and_writes(name: str, capsys: Capture, tmp_path: Path) -> None:
    """A format prints the same to the terminal as into a file."""
    (vendor,) = about(formats()[name].read_text()).vendors[:1] or ("dell",)
    words = ("--platform", "rome", "--vendor", vendor, "--as", name)
    shown = printed(capsys, *words)
    assert status(["checklist", *words, "-o", str(tmp_path / "x")]) == 0
    assert (tmp_path / "x").read_text() == shown


def test_the_table_of_hardware_on_order_comes_first_and_is_what_the_script_writes(capsys: Capture) -> None:
    """A square box for each line that racadm is given, with its value and attribute; a round one for each comment."""
    words = ("--cpu", "EPYC 7702", "--vendor", "dell")
    lines = printed(capsys, *words, "--width", "160", "--no-color").splitlines()
    headings = [line.split("  ")[0] for line in lines if line.isupper() or line.startswith("BIOS SETTINGS")]
    assert (lines[0].partition(", for")[0], headings[0]) == (
        "Tuning checklist: EPYC 7702, EPYC 7002 (Rome), on order",
        "BIOS SETTINGS",
    )
    table = [line.replace(" ?", "  ") for line in lines[: lines.index("HARDWARE")] if line[:3] in ("[ ]", "( )")]
    rows = {(line[:3], *re.split(r"  +", line[4:].strip())[1:3]) for line in table if "by hand" not in line}
    script = printed(capsys, *words, "--as", "racadm")
    written = re.findall(r"^(# )?racadm set BIOS\.\w+\.(\w+) (\S+) \|\|", script, re.MULTILINE)
    assert rows == {("( )" if comment else "[ ]", value, attribute) for comment, attribute, value in written}


def test_the_page_fits(capsys: Capture) -> None:
    """--width sets the columns; only a command that has no blank to break at is longer."""
    lines = printed(capsys, "--platform", "rome", "--vendor", "dell", "--width", "80", "--no-color").splitlines()
    assert [line for line in lines if len(line) > 80 and len(line.split()) > 1] == []
    assert "[ ] NPS" in "\n".join(lines)


def test_redfish_says_beside_the_body_where_it_goes(tmp_path: Path, capsys: Capture) -> None:
    """Standard output is the body alone, with codes that a registry names; where it goes is told on standard error."""
    attribute = {"AttributeName": "Rome0059", "DisplayName": "SMT Control", "Type": "Enumeration"}
    known = {"RegistryEntries": {"Attributes": [{**attribute, "Value": [{"ValueName": "Auto"}, {"ValueName": "Disable"}]}]}}
    (tmp_path / "bios.json").write_text(json.dumps({"Attributes": {"Rome0059": "Auto"}}))
    (tmp_path / "registry.json").write_text(json.dumps(known))
    words = ["checklist", "--platform", "rome", "--vendor", "gigabyte", "--as", "redfish"]
    given = ("--bios", str(tmp_path / "bios.json"), "--bios", str(tmp_path / "registry.json"))
    wished = ("--include", "unknown", "--include", "contested")
    assert (status(words), json.loads(capsys.readouterr().out)) == (0, {"Attributes": {}})
    assert status([*words, *given, *wished]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {"Attributes": {"Rome0059": "Disable"}}
    assert (
        "-X PATCH -H 'Content-Type: application/json' -H 'If-Match: *' -d @FILE https://BMC/redfish/v1/Systems/Self/Bios/SD"
        in said.err
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--vendor", "hpe", "--as", "racadm"],
            "racadm is a tool for Dell servers, but this server is from HPE; use --as ilorest",
        ),
        (["--vendor", "gigabyte", "--as", "racadm"], "this server is from Gigabyte; use --as redfish"),
        (["--as", "racadm"], "name the vendor with --vendor dell"),
        (["--as", "redfish"], "no Redfish path is known"),
        (["--as", "rackadm"], "did you mean racadm?"),
        (["--as", "../md"], "there is no format ../md"),
        (["--vendor", "del"], "did you mean dell?"),
        (["--from", "x"], "give one of the two"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(words: list[str], says: str, capsys: Capture) -> None:
    """The line names what was wrong and what is right."""
    assert says in refused(capsys, "--platform", "rome", *words)


def test_an_unknown_platform_is_refused(capsys: Capture) -> None:
    """The line names the nearest platform."""
    assert "did you mean rome?" in refused(capsys, "--platform", "roma")


def test_a_site_adds_and_replaces_templates(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template in a site's folder is a format, wins over ours of its name, and its mistakes are one line."""
    folder = tmp_path / "checklist"
    folder.mkdir()
    (folder / "csv.j2").write_text("{% for item in list.items %}{{ item.id }}\n{% endfor %}")
    (folder / "md.j2").write_text("ours: {{ list.vendor }}\n")
    (folder / "txt.j2").write_text("short\n")
    (folder / "bad.j2").write_text("{{ list.nothing }}")
    monkeypatch.setattr("advisor.machine.jinja.TEMPLATES", (tmp_path,))
    where = ("--platform", "rome", "--vendor", "dell")
    assert "numa-nps-below-best" in printed(capsys, *where, "--as", "csv").splitlines()
    assert printed(capsys, *where, "--as", "md") == "ours: Dell\n"
    assert printed(capsys, *where) == "short\n"
    assert "bad.j2" in refused(capsys, *where, "--as", "bad")


@pytest.mark.parametrize("platform", [each.id for each in platforms()])
def test_every_platform_can_be_ordered(platform: str) -> None:
    """For each platform the rules are asked without a machine, and none of them is an error."""
    sheet = platform_by_id(platform)
    order = judged(HardwareOnOrder(sheet, vendor_by_id("generic")))
    assert [finding.id for finding in order.audit.findings if finding.verdict == "error"] == []
    assert maker_of(sheet) in ("amd", "intel", "arm")
    assert set(order.hints) <= set(settings())


def test_it_takes_less_than_a_second() -> None:
    """The list of hardware on order takes the processor less than a second; twice that is refused, for slow machines."""
    begun = os.times()
    words = [sys.executable, "-m", "advisor", "checklist", "--platform", "rome", "--vendor", "dell", "--as", "md"]
    subprocess.run(words, check=True, capture_output=True)
    assert os.times().children_user - begun.children_user < 2
