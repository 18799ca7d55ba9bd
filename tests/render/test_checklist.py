import json
import os
import re
import shlex
import shutil
import subprocess
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from advisor.advice.audit_page.card import head_of
from advisor.advice.bios_files import BiosInput
from advisor.advice.checklist import SYSTEM_FILES, planned
from advisor.advice.checklist_page import Sheet, checklist_page, values
from advisor.advice.checklist_page import checklist_document as json_of
from advisor.advice.know.vendors import vendors
from advisor.advice.model.findings import Audit
from advisor.advice.model.plan import Back, Checklist, Kept, NotWritten, Plan, System
from advisor.errors import BadInput
from advisor.machine import jinja
from advisor.paths import templates
from advisor.show.commandline import broken
from tests.conftest import Golden
from tests.know.listed import HOSTILE, asks, listed, planned_sample, sample, state, wished
from tests.render import audits

FORMATS = sorted(path.stem for path in (templates() / "checklist").glob("*.j2"))
TEXTS = {name: (templates() / "checklist" / f"{name}.j2").read_text() for name in FORMATS}
HEADS = {name: jinja.about(text) for name, text in TEXTS.items()}
OF_VENDOR = {name: head.vendors[0] for name, head in HEADS.items() if head.vendors}
SCRIPTS = ["racadm", "ilorest", "onecli", "sum"]
TUNED = "/usr/lib/python3/dist-packages/tuned"


Pair = tuple[Checklist, Plan]


def made(name: str, pair: Pair | None = None) -> str:
    """Return the sample checklist in a format."""
    vendor = OF_VENDOR.get(name, "dell")
    shown, plan = pair or planned_sample(vendor=vendor)
    given = values(sheet(shown, plan, vendor), "1.2.3")
    return jinja.fill(TEXTS[name], given, name)


def sheet(checklist: Checklist, plan: Plan, vendor: str = "dell") -> Sheet:
    """Return a checklist as pages show it."""
    audit = Audit(
        scope="mpi", findings=tuple(audits.finding(each.id, each.severity, each.verdict) for each in checklist.items), settings=()
    )
    return Sheet(checklist, plan, checklist, vendors()[vendor], head_of(audit), ("--from", "node.tar.gz"))


def page(pair: Pair, width: int, *, verbose: bool = False) -> str:
    """Return the page as it is printed."""
    buffer = StringIO()
    drawn = checklist_page(sheet(*pair), verbose=verbose, formats=("racadm", "sysctl"))
    Console(file=buffer, no_color=True, highlight=False, width=width).print(drawn, crop=False)
    return buffer.getvalue()


def hostile(vendor: str = "dell") -> Pair:
    """Return a checklist and its plan in which every text from outside tries to break out."""
    found, plan = planned_sample(HOSTILE, vendor, "unknown", "contested")
    changes = {"now": HOSTILE, "title": HOSTILE, "subjects": (HOSTILE,), "undo": HOSTILE, "why": HOSTILE}
    groups = tuple(
        group.model_copy(update={"items": tuple(item.model_copy(update=changes) for item in group.items)})
        for group in found.groups
    )
    bad = {
        "title": HOSTILE,
        "why": (HOSTILE,),
        "moves": (HOSTILE,),
        "now": HOSTILE,
        "back": (Back(attribute="A", value=HOSTILE),),
    }
    left = (NotWritten(title=HOSTILE, wanted=HOSTILE, reason=HOSTILE, rules=(HOSTILE,), menu=HOSTILE),)
    kept = tuple(each.model_copy(update={"about": (HOSTILE,)}) for each in plan.system.kept)
    harmed = plan.model_copy(
        update={
            "changes": tuple(change.model_copy(update=bad) for change in plan.changes),
            **dict.fromkeys(("look_up", "contested", "absent", "by_hand", "refused"), left),
            "notes": (HOSTILE,),
            "system": plan.system.model_copy(update={"kept": kept, "by_hand": (HOSTILE,), "left": left}),
        }
    )
    update: dict[str, Any] = {"groups": groups, "platform": HOSTILE, "notes": (HOSTILE,), "absent": (HOSTILE,)}
    return found.model_copy(update=update), harmed


def full(vendor: str) -> Pair:
    """Return the sample with everything that a plan leaves out unless asked."""
    return planned_sample("node042, Dell Inc. PowerEdge C6525", vendor, "unknown", "contested")


def test_each_format_says_what_it_is_and_for_whom() -> None:
    """The first line of a template is a comment, {#- what it is | vendors: dell -#}; a vendor is one that there is."""
    assert [f"templates/checklist/{name}.j2" for name, head in HEADS.items() if not head.summary.strip()] == []
    assert [(name, head.vendors) for name, head in HEADS.items() if set(head.vendors) - set(vendors())] == []


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_prints_as_it_did(name: str, golden: Golden) -> None:
    """A checklist that has something of everything prints in each format what was read in review."""
    golden(f"checklist.{name}", made(name))


@pytest.mark.parametrize(("width", "verbose"), [(80, False), (100, False), (80, True)])
def test_the_page_prints_as_it_did(width: int, golden: Golden, *, verbose: bool) -> None:
    """The page fits its columns, and prints what was read in review; in full too."""
    text = page(planned_sample(), width, verbose=verbose)
    assert [line for line in text.splitlines() if len(line) > width] == []
    golden(f"checklist-{width}{'-full' if verbose else ''}.txt", text)


@pytest.mark.parametrize(
    ("verdicts", "says"),
    [
        (("finding", "pass", "pass", "unknown"), "FIX 1 THING"),
        (("finding", "finding", "pass", "unknown"), "FIX 2 THINGS"),
        (("pass", "pass", "pass", "unknown"), "NOTHING TO FIX"),
        (("finding", "unknown", "unknown", "unknown", "unknown"), "LIMITED DATA · FIX 1 THING"),
        (("unknown", "unknown"), "LIMITED DATA"),
    ],
)
def test_the_first_words_say_what_is_to_be_done_and_whether_little_is_known(verdicts: tuple[str, ...], says: str) -> None:
    """Where less than a quarter of the lines is known that is said first; the numbers behind it add up to all lines."""
    found = listed([state(f"rule-{at}", "os", verdict) for at, verdict in enumerate(verdicts)])
    shown = sheet(found, Plan(vendor="Dell", vendor_id="dell", scope="mpi"))
    every, *parts = (int(number) for number in re.findall(r"\d+", shown.tally))
    assert (shown.verdict, every, sum(parts)) == (says, len(verdicts), len(verdicts))


def test_json_has_its_version_and_every_line() -> None:
    """The document names its schema and has every line with its fix."""
    found = json.loads(json.dumps(json_of(sample())))
    assert found["schema"] == "advisor-checklist/1"
    assert Checklist.model_validate({key: value for key, value in found.items() if key != "schema"}) == sample()


def test_a_command_is_broken_so_that_a_shell_reads_it_as_one() -> None:
    """A command goes on behind a backslash; a word is never cut, quoted or not; what a shell cannot read ends as it is."""
    lines = broken("grubby --update-kernel=ALL --remove-args=iommu=off --args=iommu=pt", 40)
    read = subprocess.run(["sh", "-c", "set -- " + "\n".join(lines) + '; echo "$*"'], capture_output=True, text=True, check=True)
    assert read.stdout == "grubby --update-kernel=ALL --remove-args=iommu=off --args=iommu=pt\n"
    assert broken("cat /a/very/long/path/that/is/wider/than/the/page", 20)[-1].strip().startswith("/a/very")
    assert [line.endswith("\\") for line in broken("dmidecode -t memory | grep -E 'Locator|Size'", 30)] == [True, False]
    assert [line.endswith("\\") for line in broken("look where the server's owner has put it", 30)] == [False, False]


WORDS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), include_characters=" "), max_size=30), max_size=8
)


@given(WORDS, st.integers(40, 200))
def test_on_a_page_with_room_for_each_word_a_shell_reads_the_words_of_a_command(words: list[str], width: int) -> None:
    """Quotes, blanks and marks of a shell in them: each is the same word again."""
    room = max(width, *(len(shlex.quote(word)) + 4 for word in ["cat", *words]))
    lines = broken(shlex.join(["cat", *words]), room)
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == ["cat", *words]


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_from_outside_makes_a_line_or_steers_a_terminal(name: str) -> None:
    """With hostile names in every text none of them begins a line, whatever the format is for, or has a control character."""
    text = made(name, hostile(OF_VENDOR.get(name, "dell")))
    assert [letter for letter in text if not letter.isprintable() and letter not in "\n\t"] == []
    assert [line for line in text.splitlines() if line.strip().startswith(HOSTILE.splitlines()[1][:10])] == []


@pytest.mark.parametrize("name", [name for name in FORMATS if name in SYSTEM_FILES or "\n#!" in TEXTS[name]])
def test_nothing_from_outside_is_a_line_of_a_file(name: str) -> None:
    """In what a tool runs, with hostile names in every text, each line that is no comment is one of the harmless list."""
    vendor = OF_VENDOR.get(name, "dell")
    bad, good = made(name, hostile(vendor)).splitlines(), set(made(name, full(vendor)).splitlines())
    new = [line for line in bad if line and not line.lstrip().startswith("#") and line not in good and "name:" not in line]
    assert [line for line in new if not _is_printed(line)] == []
    assert "\x1b" not in "".join(bad)


def _is_printed(line: str) -> bool:
    """Return whether a line of a script prints its one word, however odd, and does nothing else."""
    words = shlex.split(line) if line.strip().startswith(("printf ", "planned BIOS.")) else []
    if words[:1] == ["planned"]:  # a function of the script: a name and two values
        return len(words) == 4
    return words[1:2] == ["%s\\n"] and (len(words) == 3 or (len(words) == 4 and words[3] == ">&2"))


def test_hostile_names_stay_text_in_pages() -> None:
    """Neither HTML nor Markdown nor a terminal takes a name for its own marks."""
    html, md = made("html", hostile()), made("md", hostile())
    assert "<script" not in html
    assert "<script" not in md.replace("\\<script", "")
    assert [line for line in md.splitlines() if line.startswith("- [x] <")] == []
    assert "\x1b" not in html + md + page(hostile(), 80) + page(hostile(), 80, verbose=True)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        own = {name: value or "" for name, value in attrs}
        self.links += [name for name in own if name in ("src", "href") or name.startswith("on")]
        self.links = [name for name in self.links if not own.get(name, "").startswith("#")]
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_one_file_that_needs_nothing() -> None:
    """Every tag is closed, and there is not a script, no link and nothing to load."""
    tags = _Tags()
    tags.feed(made("html"))
    assert (tags.open, tags.links, tags.seen & {"script", "link", "img", "iframe"}) == ([], [], set())


def test_every_format_of_an_empty_list_is_whole() -> None:
    """Where nothing is wanted, each format still makes a file that its tool takes."""
    empty = (listed([]), Plan(vendor="Dell", vendor_id="dell", scope="mpi"))
    assert json.loads(made("redfish", empty))["Attributes"] == {}
    assert yaml.safe_load(made("ansible", empty))[0]["tasks"] == []
    assert [name for name in FORMATS if not made(name, empty)] == []


def test_an_ansible_text_is_never_an_expression() -> None:
    """Braces of a value cannot become a lookup; a YAML reader gets the text back with a blank between them."""
    assert "{{" not in jinja.yaml('{{ lookup("pipe", "id") }}')
    assert yaml.safe_load(jinja.yaml("a: 'b' # c\nd")) == "a: 'b' # c d"


def test_a_tuned_value_expands_nothing() -> None:
    """Tuned runs ${f:exec:...} in a value; no dollar reaches one."""
    assert jinja.ini("1 ${f:exec:id}\n[main] # x") == "1 {f:exec:id} [main]  x"


def test_a_template_says_what_it_is_and_for_whom() -> None:
    """Every template begins with what it makes."""
    said = {name: jinja.about((templates() / "checklist" / f"{name}.j2").read_text()) for name in FORMATS}
    assert [name for name, about in said.items() if not about.summary] == []
    assert {name: about.vendors for name, about in said.items() if about.vendors}["racadm"] == ("dell",)
    assert said["html"].escape == "html"


@pytest.mark.parametrize(
    ("template", "says"),
    [("{{ nothing }}", "'nothing' is undefined"), ("{% if %}", "line 1"), ("{{ ().__class__.__bases__ }}", "unsafe")],
)
def test_a_broken_template_is_one_line(template: str, says: str) -> None:
    """A template's mistake names the template, and a site's template reaches nothing but the values."""
    with pytest.raises(BadInput, match=says):
        jinja.fill(template, {}, "site.j2")


def test_code_in_markdown_keeps_its_backticks() -> None:
    """A command with backticks is fenced by one more."""
    assert (jinja.code("ls"), jinja.code("a `b` c")) == ("`ls`", "`` a `b` c ``")


def need(tool: str) -> str:
    """Return the path of a tool, or skip."""
    found = shutil.which(tool)
    if not found:
        pytest.skip(f"{tool} is not here")
    return found


@pytest.mark.parametrize("harm", [False, True])
@pytest.mark.parametrize("tool", ["sh -n", "shellcheck"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_shells_read_the_scripts(name: str, tool: str, tmp_path: Path, *, harm: bool) -> None:
    """Sh reads every script, also one with hostile names, and shellcheck finds nothing in it."""
    need(tool.split(maxsplit=1)[0])
    file = tmp_path / "x.sh"
    file.write_text(made(name, hostile(OF_VENDOR.get(name, "dell")) if harm else None))
    done = subprocess.run([*tool.split(), str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_script_does_what_it_says(tmp_path: Path) -> None:
    """Run with a racadm that only writes down, the script stages each value once and restarts nothing."""
    (tmp_path / "fake").write_text('#!/bin/sh\necho "$@" >> "${0%/*}/log"\n')
    (tmp_path / "fake").chmod(0o755)
    file = tmp_path / "x.sh"
    file.write_text(made("racadm", hostile()))
    subprocess.run(["sh", file], check=True, env={"RACADM": str(tmp_path / "fake"), "PATH": "/usr/bin:/bin", "ANYWAY": "1"})
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line for line in lines if line.startswith("set") or "job" in line] == [
        "set BIOS.ProcSettings.NumaNodesPerSocket 4",
        "set BIOS.ProcSettings.MadtCoreEnumeration Linear",
        "set BIOS.SysProfileSettings.SysProfile PerfOptimized",
    ]


def test_sysctl_reads_the_file(tmp_path: Path) -> None:
    """Sysctl itself reads every line of the file, without writing one."""
    tool = need("sysctl")
    if "--dry-run" not in subprocess.run([tool, "--help"], capture_output=True, text=True, check=False).stdout:
        pytest.skip("this sysctl has no --dry-run")
    file = tmp_path / "x.conf"
    file.write_text(made("sysctl", hostile()))
    done = subprocess.run([tool, "--dry-run", f"--load={file}"], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["kernel.numa_balancing = 0", "vm.min_free_kbytes = 135168"]


LOAD = """
import json, sys
import tuned.profiles as p
from tuned.profiles.locator import Locator
from tuned.utils.global_config import GlobalConfig
loader = p.Loader(Locator(["/usr/lib/tuned", sys.argv[1]]), p.Factory(), p.Merger(), GlobalConfig(), p.variables.Variables())
print(json.dumps({name: dict(unit.options) for name, unit in loader.load("advisor").units.items()}))
"""


def test_tuned_loads_the_profile(tmp_path: Path) -> None:
    """Tuned's own loader reads the profile and merges it over the one it includes."""
    if not Path(TUNED).is_dir() or not Path("/usr/bin/python3").exists():
        pytest.skip("tuned is not here")
    (tmp_path / "advisor").mkdir()
    (tmp_path / "advisor" / "tuned.conf").write_text(made("tuned", hostile()))
    done = subprocess.run(["/usr/bin/python3", "-c", LOAD, tmp_path], capture_output=True, text=True, check=False)
    units: dict[str, Any] = json.loads(done.stdout or done.stderr)
    assert units["vm"] == {"transparent_hugepages": "always", "transparent_hugepage.defrag": "madvise"}
    assert units["sysctl"]["kernel.numa_balancing"] == "0"
    assert units["sysctl"]["net.core.busy_read"] == "50", "the included profile is there"
    assert (units["service"], units["bootloader"]) == ({"service.irqbalance": "stop,disable"}, {"cmdline_advisor": "+iommu=pt"})


def test_ansible_reads_the_playbook(tmp_path: Path) -> None:
    """ansible-playbook checks the syntax of the playbook, with hostile names in it."""
    tool = need("ansible-playbook")
    file = tmp_path / "advisor.yml"
    file.write_text(made("ansible", hostile()))
    command = [tool, "--syntax-check", "-i", "localhost,", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "HOME": str(tmp_path)})
    if "couldn't resolve module/action" in done.stderr:
        pytest.skip("the collections ansible.posix and community.general are not here")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_file_of_the_system_speaks_of_what_it_can_set() -> None:
    """What is left out of sysctl's file and of the boot options is theirs alone; what is so already is in no file."""
    findings = [
        asks("idle", "os.idle_states", "shallow", severity="info"),
        asks("swap", "os.swappiness", "10", severity="info"),
        asks("iommu", "boot.iommu", "pt", "unknown"),
        asks("thp", "os.thp", "always", "pass"),
    ]
    checklist, wishes = wished(findings, {"os.idle_states": "all", "os.swappiness": "60", "os.thp": "always"})
    pair = checklist, planned(checklist, wishes, vendors()["dell"], BiosInput())
    terms = {"sysctl": "vm.swappiness", "kernel-cmdline": "iommu=", "tuned": "cpuidle states", "ansible": "cpuidle states"}
    said = {name: [term for term in dict.fromkeys(terms.values()) if term in made(name, pair)] for name in terms}
    every = ["vm.swappiness", "iommu=", "cpuidle states"]
    assert said == {"sysctl": every[:1], "kernel-cmdline": every[1:2], "tuned": every, "ansible": every}
    assert [name for name in terms if "hugepage" in made(name, pair)] == []


@pytest.mark.parametrize(
    ("words", "hosts"),
    [((), []), (("-e", "nodes=n2"), ["n2"]), (("-i", "[advisor]\nn1\n"), ["n1"])],
)
def test_a_playbook_runs_on_no_node_that_is_not_named(words: tuple[str, ...], hosts: list[str], tmp_path: Path) -> None:
    """By itself it is for the inventory's group advisor and nobody else; others are named with -e nodes=PATTERN."""
    tool = need("ansible-playbook")
    file, inventory = tmp_path / "advisor.yml", tmp_path / "hosts"
    file.write_text(made("ansible", (listed([]), Plan(vendor="Dell", vendor_id="dell", scope="mpi"))))
    inventory.write_text("n1\nn2\nn3\n" + (words[1] if words[:1] == ("-i",) else ""))
    given = words if words[:1] == ("-e",) else ()
    command = [tool, "--list-hosts", "-i", str(inventory), *given, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "HOME": str(tmp_path)})
    named = done.stdout.partition("hosts (")[2].splitlines()[1:]
    assert [line.strip() for line in named if line.strip()] == hosts


def test_the_playbook_names_modules_wholly() -> None:
    """Every task uses one module by its whole name, of three collections."""
    play = yaml.safe_load(made("ansible"))[0]
    words = {"name", "register", "changed_when", "failed_when", "check_mode", "when", "notify"}
    modules = {key for task in (*play["tasks"], *play["handlers"]) for key in task if key not in words}
    assert modules == {
        "ansible.builtin.command",
        "ansible.builtin.copy",
        "ansible.builtin.systemd",
        "ansible.posix.sysctl",
        "community.general.pam_limits",
    }


def test_odd_values_stay_in_their_place() -> None:
    """A value with newlines and quotes of a site's rule is one value in every file of the system."""
    odd = Kept(keeper="sysctl", key="kernel.x", value="1\nkernel.y = 2")
    words = {"list": listed([]), "version": "1", "system": System(kept=(odd,)), "system_left": lambda *_: []}
    text = jinja.fill((templates() / "checklist" / "sysctl.j2").read_text(), words)
    assert [line for line in text.splitlines() if line and line[0] != "#"] == ["kernel.x = 1 kernel.y = 2"]


def test_conflicts_stand_out() -> None:
    """Where rules disagree every page says so, with the source, and no script writes either wish."""
    findings = [asks("a", "cpu.smt", "off"), asks("b", "cpu.smt", "on", refs=("suse-7001",))]
    checklist, wishes = wished(findings, {"cpu.smt": "on"})
    pair = checklist, planned(checklist, wishes, vendors()["dell"], BiosInput())
    assert "CONFLICT: a wants off, b wants on" in page(pair, 80)
    assert "CONFLICT  b wants on [suse-7001]" in page(pair, 80, verbose=True)
    assert "b wants on \\[suse-7001\\]" in made("md", pair)
    script = made("racadm", pair)
    assert "SMT (hardware threads, Hyper-Threading): LogicalProc=Disabled; cpu.smt is wrong; a wants off, b wants on" in script
    assert [line for line in script.splitlines() if line.startswith("racadm set")] == []


def test_everything_included_prints_as_it_did(golden: Golden) -> None:
    """With all that is left out by default the script marks what to look at twice."""
    golden("checklist-all.racadm", made("racadm", full("dell")))


def test_the_command_that_looks_everything_up_stands_there_whole() -> None:
    """However many attributes it reads: what is cut short cannot be typed."""
    line = f"look them up with for key in {' '.join(f'ProcSettings.Attribute{n}' for n in range(60))}; do racadm get $key; done"
    shown = page((sample().model_copy(update={"notes": (line,)}), planned_sample()[1]), 100, verbose=True)
    assert line in " ".join(shown.split())
