"""What docs/adding.md promises of platforms, vendors, rules and settings, performed in a copy of the house.

Their worked examples are read from that page; the figures of Venice and the words of Acme are invented.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import copyfile, copytree, ignore_patterns

import pytest

from advisor.paths import rules
from tests.machines.catalogue import write_archive

HOUSE = rules().parent

ADDING = (HOUSE / "docs" / "adding.md").read_text()


def example(heading: str) -> str:
    """Return the worked example of a section of docs/adding.md, its publications not verified."""
    section = ADDING.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.sub(r"\bID\b", "unverified", section.partition("```yaml\n")[2].partition("```")[0])


VENICE = example("A platform (processor generation)")
ACME = example("A vendor of servers").replace("numa.nps, ...", "REST")
RULE = "\n" + example("A rule")
SETTING = "\n" + example("A setting")

ALONE = """id: lagoon
name: Lagoon
vendor: AMD
architecture: Marsh 1
family: lagoon
generation: 1
match: {vendor: AuthenticAMD, family: 99, models: [1]}
series: 'Lagoon \\d'
scheme: UNKNOWN
flops_per_cycle: null
memory_kind: null
memory_speed: null
pcie: null
sources: {}
cuts: [{name: none, nodes: 1, called: no setting, source: unverified}]
"""


class Copy:
    """A copy of the house, in which one thing is added."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("advisor", "rules", "templates"):
            copytree(HOUSE / name, folder / name)
        copytree(HOUSE / "docs", folder / "docs", ignore=ignore_patterns("pictures", "reference", "*.md"))
        (folder / "tests").mkdir()
        for name in ("__init__.py", "sheets.py"):
            copyfile(HOUSE / "tests" / name, folder / "tests" / name)

    def add(self, place: str, text: str) -> None:
        """Append to a file of the rules, which may be a new one."""
        file = self.folder / "rules" / place
        file.write_text((file.read_text() if file.exists() else "") + text)

    def change(self, place: str, old: str, new: str) -> None:
        """Write other words into a file of the rules."""
        file = self.folder / "rules" / place
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run Python in the copy."""
        return subprocess.run([sys.executable, *words], cwd=self.folder, input=given, capture_output=True, text=True, check=False)

    def asks(self, *words: str) -> str:
        """Return what advisor prints in the copy."""
        done = self.run("-m", "advisor", *words)
        assert (done.returncode in (0, 1), done.stderr) == (True, "")
        return done.stdout

    def tells(self, code: str, given: str = "") -> object:
        """Return the JSON that a few lines of Python print in the copy."""
        done = self.run("-c", code, given=given)
        assert done.stderr == ""
        return json.loads(done.stdout)

    def wrong_sheets(self) -> list[str]:
        """Return what it says of platforms and vendors, which costs less to ask."""
        found = self.tells("import json; from tests.sheets import mistakes; print(json.dumps([*map(str, mistakes())]))")
        assert isinstance(found, list)
        return [line.replace(f"{self.folder}/", "") for line in found]

    def wrong(self) -> list[str]:
        """Return what the check of all sheets says is wrong, without the folder."""
        done = self.run("-m", "tests.sheets")
        assert done.returncode == (2 if done.stderr else 0)
        return [line.replace(f"{self.folder}/", "") for line in done.stderr.splitlines()]

    def changed(self) -> set[str]:
        """Return the files of the rules that are not as they were."""
        mine = {path.relative_to(self.folder): path for path in (self.folder / "rules").rglob("*.yaml")}
        return {
            str(name)
            for name, path in mine.items()
            if not (HOUSE / name).exists() or path.read_bytes() != (HOUSE / name).read_bytes()
        }


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """Return a copy of the house."""
    return Copy(tmp_path)


@pytest.fixture(scope="module")
def venice(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Return a copy in which Venice was added, and nothing else."""
    copy = Copy(tmp_path_factory.mktemp("venice"))
    copy.add("platforms/venice.yaml", VENICE)
    return copy


PLACES = """
import json
from advisor.advice.know.fixes import locate
from advisor.advice.know.vendors import settings
from advisor.advice.know.vendors import vendors
def places(vendor, platform):
    asked = [setting for setting in settings().values() if setting.where == "bios"]
    values = {setting.name: setting.neutral(next(iter(setting.values), "0")) for setting in asked}
    found = {setting.name: locate(vendor, platform, setting, values[setting.name]) for setting in asked}
    return {name: place and [place.menu, place.label, place.attribute] for name, place in found.items()}
print(json.dumps({vendor.id: [places(vendor, name) for name in ("turin", "venice")] for vendor in vendors().values()}))
"""

JUDGED = """
import json
from advisor.advice.judgement import judged
from advisor.machine.read import read_machine
turin = read_machine(ARCHIVE)
cpu = turin.cpu.model_copy(update={"model": 80, "model_name": "AMD EPYC 9996 256-Core Processor"})
both = [judged(each).audit for each in (turin, turin.model_copy(update={"cpu": cpu}))]
print(json.dumps([[each.platform_id, [[found.id, found.verdict] for found in each.findings]] for each in both]))
"""

OF_MEMORY = {"memory-channel-empty", "numa-nps-below-best", "memory-slow-dimms"}
"""Empty channels, the rule that does not speak while some are empty, and DIMMs slower than the platform takes."""

VARIANTS = """
import json, sys
from pathlib import Path
from advisor.errors import AdvisorError
from advisor.advice.know import vendors
from advisor.measure import platform as platforms
from tests.sheets import mistakes
def told(text):
    Path("rules/platforms/venice.yaml").write_text(text)
    for cached in (platforms.traits, platforms.platform_sheet, platforms.platforms, vendors.vendor_at):
        cached.cache_clear()
    try:
        return [str(each) for each in mistakes()]
    except AdvisorError as error:
        return [str(error)]
print(json.dumps([told(text) for text in json.load(sys.stdin)]))
"""


def settings_of(copy: Copy, *words: str) -> list[str]:
    """Return the settings of a checklist."""
    found = json.loads(copy.asks("checklist", *words, "--as", "json"))
    return sorted(item["setting"] for group in found["groups"] for item in group["items"] if item["setting"])


@pytest.mark.slow
def test_a_platform_is_one_file(venice: Copy) -> None:
    """Venice on a Dell has as many settings as Turin, and its model is known to --cpu."""
    assert venice.wrong() == []
    found = settings_of(venice, "--cpu", "EPYC 9996", "--vendor", "dell")
    assert found == settings_of(venice, "--platform", "turin", "--vendor", "dell")
    assert len(found) > 40
    assert venice.changed() == {"rules/platforms/venice.yaml"}


@pytest.mark.slow
def test_every_vendor_has_the_same_words_for_a_new_platform_as_for_its_elder(venice: Copy) -> None:
    """Menu, label and attribute of every BIOS setting on Venice are those on Turin, at every maker."""
    found = venice.tells(PLACES)
    assert isinstance(found, dict)
    assert [vendor for vendor, (turin, younger) in found.items() if turin != younger] == []
    assert len(found) == 10


@pytest.mark.slow
def test_nothing_is_verified_of_a_platform_that_nobody_has_seen(venice: Copy) -> None:
    """A new platform joins the newest generation of a vendor, and none of its evidence."""
    found = json.loads(venice.asks("checklist", "--platform", "venice", "--vendor", "dell", "--as", "json"))
    fixes = [item["fix"] for group in found["groups"] for item in group["items"] if item["fix"]["where"] == "bios"]
    assert {fix["verified"] for fix in fixes} <= {None, False}


@pytest.mark.slow
def test_rules_take_a_new_platform_for_what_its_traits_are(venice: Copy, tmp_path: Path) -> None:
    """A machine with Venice is judged as with Turin, but for what its channels and their speed decide."""
    archive = tmp_path / "turin.tar.gz"
    write_archive("big", archive)
    found = venice.tells(JUDGED.replace("ARCHIVE", repr(str(archive))))
    assert isinstance(found, list)
    (elder, before), (younger, after) = found
    assert (elder, younger) == ("turin", "venice")
    assert {one[0] for one, other in zip(before, after, strict=True) if one != other} == OF_MEMORY


@pytest.mark.slow
def test_pages_show_a_new_platform(venice: Copy) -> None:
    """What it inherits is said to be its elder's."""
    page = venice.tells("import json; from docs.knowledge_pages import platform_page; print(json.dumps(platform_page()))")
    assert isinstance(page, str)
    _, _, own = page.partition("## EPYC 9006 (Venice) (`venice`)")
    assert "memory channels per socket: 16 [unverified]" in own
    assert "Anything missing from this sheet is taken from `turin`." in own


@pytest.mark.slow
def test_a_platform_that_no_generation_holds_is_named_with_the_vendor(copy: Copy) -> None:
    """One line a vendor: its file, the line of its generations, and what to write there."""
    copy.add("platforms/lagoon.yaml", ALONE)
    said = "holds lagoon (family lagoon, generation 1); write {family: lagoon, generation: 1} at one of its generations, or in"
    assert copy.wrong_sheets()[:2] == [
        f"rules/vendors/dell.yaml: line 13: no generation of Dell {said} not_covered",
        f"rules/vendors/fujitsu.yaml: line 9: no generation of Fujitsu {said} not_covered",
    ]


TWICE = """cuts:
  - {name: NPS1, nodes: 1, called: a, source: unverified}
  - {name: NPS1, nodes: 1, called: b, source: unverified}
"""
LACKING = [
    ("models: [80-95]", "models: [200]", ""),
    ("generation: 6 ", "# ", "line 1: generation is missing; its generation, by the vendor's count: 2 for EPYC 7002"),
    ("name: EPYC 9006 (Venice)", "name: EPYC 9005 (Turin)", "line 2: turin has the name EPYC 9005 (Turin) too; write the name"),
    ("family: epyc  ", "family: xeon  ", "line 5: family xeon is of Intel, and match is of AMD; write the product line of its"),
    ("flops_per_cycle: 32 ", "flops_per_cycle: 33 ", "line 11: a core with 33 double-precision FLOP in a cycle is not known"),
    ("memory_kind: DDR5", "memory_kind: ddr5", "line 13: memory_kind ddr5 is not written as elsewhere; write it in capitals"),
    ("family: epyc  ", "#", "line 1: family is missing; the product line, in lower case: epyc"),
    (
        "family: epyc",
        "family: epyk",
        "rules/vendors hold no family epyk; did you mean epyc? Else write {family: epyk, generation",
    ),
    (
        "family: epyc",
        "family: Epyc",
        "line 5: family: Epyc is not in the required form; the product line, in lower case: epyc",
    ),
    (
        "generation: 6 ",
        "generation: 60 ",
        "line 6: generation 60 of epyc, whose newest other one is 5; write which of its family",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nvendor: Amd",
        "line 5: vendor Amd, and match is of AuthenticAMD; write vendor: AMD",
    ),
    (
        "architecture: Zen 6\n",
        "",
        "line 3: architecture is not said, and that of turin is of another generation; write that, also",
    ),
    ("socket: SP7\n", "", "line 3: socket is not said, and that of turin is of another generation; write that, also where"),
    (
        "memory_speed: 8000 MT/s\n",
        "",
        "memory_speed is not said, and that of turin is of another generation; write that, also where",
    ),
    (
        "pcie: 6\n",
        "",
        "pcie is not said, and that of turin is of another generation; write that, also where it is the same; null",
    ),
    ("inherits: turin", "inherits: venice", "line 3: venice inherits venice; name an older platform, or none"),
    ("inherits: turin", "inherits: turen", "line 3: there is no platform turen; did you mean turin?"),
    ("inherits: turin", "", "line 1: vendor is missing; vendor of the processor: AMD, Intel, NVIDIA"),
    ("generation: 6", "generation: six", "line 6: generation: "),
    (
        "models: [80-95]",
        "models: [95-80]",
        "line 9: models: 95-80 is neither a number nor a range; write 3, or 0-7 with the",
    ),
    ("pcie: 6", "pcie: Gen6", "line 18: pcie: Gen6 is not a number; generation of PCI Express"),
    ("socket: unverified, ", "", "line 7: socket has no source; write socket: ID, its publication, under sources"),
    ("sources: {socket", "sources: {sokket", "line 7: socket has no source; write socket: ID"),
    (
        "pcie: unverified}",
        "pcie: unverified, pci: unverified}",
        "sources names pci, of which this sheet has no figure; did",
    ),
    ("socket: unverified", "socket: turin-dice", "line 19: turin-dice is not a known publication; did you mean turin-dies?"),
    (
        "dies: 8, source: unverified",
        "dies: 8, source: turin-dice",
        "line 21: turin-dice is not a known publication; did you mean turin-dies?",
    ),
    ("dies: 8, source: unverified", "dies: 8", "line 21: source is missing; publication"),
    ("memory_speed_2dpc: null", "memory_speed_2dpc: 4400", "line 15: memory_speed_2dpc: 4400 has no unit; transfers/s are"),
    ("memory_speed_2dpc: null", "memory_speed_2dpc: 4400 GB/s", "line 15: memory_speed_2dpc: '4400 GB/s' counts bytes/s"),
    ("channels: 16", "channels: 1600", "line 12: channels: 1600 is more than 64"),
    ("core_type: performance", "core_type: dens", "line 8: core_type: dens is not one of performance, dense, efficient; did you"),
    (
        "vendor: AuthenticAMD",
        "vendor: AuthenticAmd",
        "line 9: no processor calls its vendor AuthenticAmd; did you mean Authentic",
    ),
    (
        "{vendor: AuthenticAMD, family: 26,",
        "{vendor: AuthenticAMD,",
        "line 9: processors of AuthenticAMD have a family, and this",
    ),
    ("id: venice", "id: venise", "the id venise differs from the file's name; write id: venice"),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nscheme: NSP",
        "line 5: scheme: NSP is not a NUMA partitioning scheme; did you mean NPS?",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nscheme: WHOLE\ncuts: [{name: none, nodes: 1, called: none, source: unverified}]\nbest: []",
        "line 5: scheme WHOLE, but family 26, model 80 is known as NPS; correct it, or take that line out of advisor/machine",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nbest: [{scopes: [mpi], cut: NSP4, source: unverified}]",
        "line 5: best names the partitioning NSP4, which cuts does not list; did you mean NPS4?",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nreferences: [{benchmark: stream-triad, value: 1500 GB/s, cut: NPS8, source: unverified}]",
        "line 5: NPS8 is not in cuts; did you mean NPS",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nreferences: [{benchmark: latency-memory, value: 110 GB/s, source: unverified}]",
        "line 5: latency-memory counts bytes/s; seconds are expected here, usually in ns or us",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nreferences: [{benchmark: stream-triad, value: 800 GB/s, cpus: [EPYC 9555], source: unverified}]",
        "line 5: EPYC 9555 is of turin; put it into that sheet",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nvariants: [{name: '99\\d6', why: larger, source: unverified}]",
        "line 5: nothing differs in variant 99\\d6; add flops_per_cycle, channels or memory_speed, or take it out",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nbest: []\n" + TWICE,
        "line 8: NPS1 stands in cuts twice; keep one of them",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nbest: []\ncuts: [{name: NPS-1, nodes: 1, called: a, source: unverified}]",
        "line 6: name: NPS-1 is not a NUMA partitioning; did you mean NPS1?",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nreferences: [{benchmark: stream-triad, value: 1500, source: unverified}]",
        "line 5: value: 1500 has no unit; write 244 GB/s",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nreferences: [{benchmark: stream-triad, value: 15 TB/s, source: unverified}]",
        "line 5: 15000 GB/s is more than 16 channels carry (1024 GB/s); correct sockets, memory_speed or the value",
    ),
    ("series: 'EPYC 9\\d\\d6[PF]?'", "", "series is missing; names of its processors as they appear on an order"),
    (
        "'EPYC 9\\d\\d6[PF]?'",
        "'EPYC 9\\d\\d[56][PF]?'",
        "line 10: EPYC 9965 of turin-dense is a name of this series too; narrow series",
    ),
    ("'EPYC 9\\d\\d6[PF]?'", "'EPYC 8\\d\\d6'", "line 21: EPYC 9996 is not a name of series EPYC 8\\d\\d6; widen series"),
    ("models: [80-95]", "models: [0-7]", "venice both fit AuthenticAMD, family 26, model 0; give match other models"),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\ncuts: []\nbest: []",
        "line 5: scheme NPS names the partitioning NPS1, and cuts does not",
    ),
    (
        "architecture: Zen 6",
        "architecture: Zen 6\nl3_per_die: null",
        "nothing says how many L3 groups a die has; add l3_per_die",
    ),
    ("architecture: Zen 6", "architecture: Zen 6\nhbm_and_dimms: true", "line 10: hbm_and_dimms, but match does not tell it"),
    ("channels: 16", "channels: null", "DDR5 stands in channels, and none are given; add channels"),
]
"""What is written otherwise in the sheet of Venice, and what is said then; a generation alone may be the elder's."""


@pytest.mark.slow
def test_what_a_platform_sheet_lacks_is_said_with_its_line(copy: Copy) -> None:
    """One line that names the file, the line and what to write."""
    texts = [VENICE.replace(old, new) for old, new, _ in LACKING]
    texts[-1] = texts[-1].replace("channels: unverified, ", "")
    found = copy.tells(VARIANTS, json.dumps(texts))
    assert isinstance(found, list)
    assert [bool(told) for told in found] == [bool(says) for _, _, says in LACKING]
    wrong = [(says, told) for (_, _, says), told in zip(LACKING, found, strict=True) if says not in "".join(told)]
    assert wrong == []
    assert [line for told in found for line in told if "rules/" not in line or ": line " not in line] == []


@pytest.mark.slow
def test_a_generation_that_fits_nothing_is_named(copy: Copy) -> None:
    """A vendor that asks for a trait that no platform has is told the nearest, and not what falls out of its generations."""
    copy.change("vendors/lenovo.yaml", "m5: {family: xeon-e5}", "m5: {family: xeon-e7, generation: 3..}")
    (said,) = copy.wrong_sheets()
    assert said.startswith("rules/vendors/lenovo.yaml: line ")
    assert said.endswith("no platform has the traits family xeon-e7, generation 3..; did you mean xeon-e5?")


@pytest.mark.slow
def test_evidence_of_an_open_generation_is_refused(copy: Copy) -> None:
    """What was seen of one platform was not seen of those that come later."""
    copy.change(
        "vendors/dell.yaml", "xeon-6-e-cores: {family: xeon, generation: 6,", "xeon-6-e-cores: {family: xeon, generation: 6..,"
    )
    assert "is of xeon-6-e-cores, which later platforms join; name a generation that ends" in copy.wrong_sheets()[0]


def acme(copy: Copy) -> str:
    """Return the sheet of a maker that says of every setting of the BIOS but one that nothing is known."""
    names = copy.tells(
        "import json; from advisor.advice.know.vendors import settings; "
        "print(json.dumps([[each.name, each.where] for each in settings().values()]))"
    )
    assert isinstance(names, list)
    return ACME.replace("REST", ", ".join(name for name, where in names if where == "bios" and name != "cpu.smt"))


@pytest.mark.slow
def test_a_vendor_is_one_file(copy: Copy) -> None:
    """Its servers are recognised, its words stand in the checklist, and what it does not say is said in the usual ones."""
    copy.add("vendors/acme.yaml", acme(copy))
    assert copy.wrong() == []
    found = json.loads(copy.asks("checklist", "--platform", "genoa", "--vendor", "acme", "--as", "json"))
    menus = {item["setting"]: item["fix"]["menu"] for group in found["groups"] for item in group["items"]}
    assert (found["vendor"], menus["cpu.smt"]) == ("Acme", "Processor > Threads")
    assert menus["numa.nps"]
    code = (
        "import json; from advisor.advice.know.vendors import match_vendor; from advisor.machine.hardware import Firmware; "
        "print(json.dumps(match_vendor(Firmware(system_vendor='Acme Inc.')).id))"
    )
    assert copy.tells(code) == "acme"
    assert copy.changed() == {"rules/vendors/acme.yaml"}


@pytest.mark.slow
def test_a_vendor_that_leaves_a_setting_or_a_platform_out_is_told(copy: Copy) -> None:
    """Each with the line to write it at."""
    text = acme(copy).replace("numa.nps, ", "").replace(", {family: instinct}", "")
    copy.add("vendors/acme.yaml", text)
    said = (
        "holds mi300a (family instinct, generation 3); write {family: instinct, generation: 3} at one of its generations, or in"
    )
    cure = "add its place under settings, or list it under absent with offered: no or unknown, and why"
    assert copy.wrong_sheets() == [
        f"rules/vendors/acme.yaml: line 5: no generation of Acme {said} not_covered",
        f"rules/vendors/acme.yaml: line 9: Acme says nothing of numa.nps; {cure}",
    ]


@pytest.mark.slow
def test_the_settings_that_a_new_vendor_says_nothing_of_are_one_line_to_copy_from(copy: Copy) -> None:
    """Whoever begins with one setting gets the names of all others as a list, not a line each."""
    text = acme(copy)
    names = text.partition("settings: [")[2].partition("]")[0]
    copy.add("vendors/acme.yaml", text.replace(f"settings: [{names}]", "settings: [numa.nps]"))
    (line,) = copy.wrong_sheets()
    assert f": Acme says nothing of {names.removeprefix('numa.nps, ')}; add their place under settings, or list" in line


VENDOR_LACKING = [
    ("id: acme\n", "", "line 1: id is missing; its file name, in lower case: hpe-cray-ex"),
    ("[{system_vendor: [Acme]}]", "[{system_vendor: ['']}]", "line 3: system_vendor, entry 1: it is empty"),
    ("[{system_vendor: [Acme]}]", "[{system_vendor: Acme}]", "line 3: system_vendor: Acme is not a list; write [one, another]"),
    (
        "[{system_vendor: [Acme]}]",
        "[{product: [Edge]}]",
        "line 3: a server that this recognises is recognised by dell.yaml as well; narrow one of the two",
    ),
    (
        "generation: 5..}, {",
        "generation: 5..4}, {",
        "line 7: generation: 5..4 is an empty range; write the lower number first",
    ),
    (
        "{family: epyc, generation: 3..4}",
        "rome",
        "line 6: a1: rome is an id; name platforms by traits: {family: epyc",
    ),
    ("{family: epyc, generation: 3..4}", "{}", "line 6: a1: no trait is given, so every platform would match; name platforms by"),
    ("generation: 1..2}, {maker", "generation: 1..3}, {maker", "line 6: a1 and not_covered both hold milan-x, milan; narrow one"),
    ("falls_back: generic", "falls_back: acme", "line 12: there is no other sheet of acme; write generic"),
    ("{on: Both, off: One}", "{on: Both, off: Both}", "line 11: two values are both called Both; each value has its own word"),
    (
        "settings:\n",
        "tools: {set: ['acme {atribute}']}\nsettings:\n",
        "line 9: nothing is filled in for {atribute}; did you mean",
    ),
    (
        "settings:\n",
        "settings:\n  os.thp: [{label: a, menu: b, values: {always: c}}]\n",
        "line 10: os.thp is not a setting of the BIOS: the operating system takes it, whoever built the server; take it out",
    ),
    (
        "settings:\n",
        "settings:\n  numa.nps: [{label: a, menu: b, values: {'1': c}}, {label: d, menu: b, values: {'1': c}}]\n",
        "line 10: numa.nps has an entry for such servers above; narrow platforms, or join the two",
    ),
    (
        "  cpu.smt:\n    - {platforms: [a1, a2], ",
        "  numa.nps: [{label: a, menu: b, values: {'1': c}}]\n  cpu.smt:\n    - {",
        "line 10: numa.nps stands under absent too; keep one of them, or give each its platforms",
    ),
    ("offered: unknown", "offered: maybe", "line 14: offered: maybe is not one of no, unknown"),
    (", reason: no registry and no capture of an Anvil was seen", "", "line 14: reason is missing; why: what was checked"),
    ("match: [{system_vendor: [Acme]}]", "#", "line 1: Acme has no match, so none of its servers is recognised; write match: "),
    ("match: [{system_vendor: [Acme]}]", "match: [{}]", "line 1: Acme has no match, so none of its servers is recognised"),
    ("[{system_vendor: [Acme]}]", "[{sytem_vendor: [Acme]}]", "line 3: sytem_vendor is not a key of this sheet; did you mean"),
    (
        "[{system_vendor: [Acme]}]",
        "[{product: [Acme 1]}, {system_vendor: [Dell Inc]}]",
        "line 3: a server that this recognises is recognised by dell.yaml as well; narrow one of the two",
    ),
    ("setup: F9 at boot\n", "", "line 1: Acme does not say how its setup is reached; write setup: KEY at boot"),
    ("falls_back: generic", "falls_back: genric", "line 12: there is no other sheet of genric; did you mean generic?"),
    ("platforms: [a1, a2]", "platforms: [a1, a3]", "line 11: a3 is none of this vendor's generations; did you mean a"),
    (
        "offered: unknown",
        "platforms: [b], offered: unknown",
        "line 14: b is none of this vendor's generations; available: a1, a2",
    ),
    ("{on: Both, off: One}", "{on: Both, of: One}", "line 11: of is not a value of cpu.smt; did you mean off?"),
    ("  cpu.smt:\n", "  cpu.smtt:\n", "line 10: cpu.smtt is not a setting; did you mean cpu.smt?"),
    ("menu: Processor", "men: Processor", "line 11: men is not a key of this sheet; did you mean menu?"),
    ("id: acme", "id: akme", "line 1: id akme stands in a file of another name; write id: acme"),
    (
        "family: instinct}]\nnot",
        "family: instinkt}]\nnot",
        "line 7: no platform has the traits family instinkt; did you mean inst",
    ),
]
"""What is written otherwise in the sheet of Acme, and what is said then."""


@pytest.mark.slow
def test_what_a_vendor_sheet_lacks_is_said_with_its_line(copy: Copy) -> None:
    """One line that names the file, the line and what to write."""
    text = acme(copy)
    code = VARIANTS.replace("platforms/venice", "vendors/acme").replace("(platforms.", "(vendors.recognised_by, platforms.")
    assert [old for old, _, _ in VENDOR_LACKING if old not in text] == []
    found = copy.tells(code, json.dumps([text.replace(old, new) for old, new, _ in VENDOR_LACKING]))
    assert isinstance(found, list)
    lines = [" | ".join(told).replace(f"{copy.folder}/", "") for told in found]
    assert [
        (says, told) for (_, _, says), told in zip(VENDOR_LACKING, lines, strict=True) if f"acme.yaml: {says}" not in told
    ] == []


@pytest.mark.slow
def test_a_rule_that_asks_for_a_vendor_without_a_sheet_is_told(copy: Copy) -> None:
    """It could never be a finding."""
    copy.add("numa.yaml", RULE.replace("  when: ", '  only: vendor == "del"\n  when: '))
    assert any("numa-drill: there is no sheet of a vendor del; did you mean dell?" in line for line in copy.wrong())


@pytest.mark.slow
def test_a_format_for_a_vendor_without_a_sheet_is_told(copy: Copy) -> None:
    """The checklist would offer it to nobody."""
    template = copy.folder / "templates" / "checklist" / "racadm.j2"
    template.write_text(template.read_text().replace("vendors: dell", "vendors: del", 1))
    (line,) = copy.wrong()
    assert line.endswith("templates/checklist/racadm.j2: line 1: there is no sheet of a vendor del; did you mean dell?")


@pytest.mark.slow
def test_a_file_that_nothing_reads_is_told(copy: Copy) -> None:
    """A sheet by another ending is none."""
    copy.add("platforms/venice.yml", VENICE)
    (line,) = copy.wrong()
    assert line.endswith("rules/platforms/venice.yml: no sheet is called so, and nothing reads it; call it venice.yaml")


SETTING_LACKING = [
    (
        "os.drilled:",
        "cpu.drilled:",
        "where: os, but cpu.* are settings of the BIOS; correct it, or give the",
    ),
    ("os.drilled:", "powr.drilled:", "no other setting is called powr.*; did you mean power?"),
    ("term: kernel.drilled", "term: vm.swappiness", "os.swappiness has the term vm.swappiness too; each setting has its own"),
    ("term: kernel.drilled", "term: ''", "term: it is empty; the term people search for"),
    ("where: os", "where: boot", "where: boot, and no boot option; write cmdline: OPTION={value}, or where: os"),
    ("where: os", "where: os\n  unit: bytes", "a choice has no unit; take it out, or write type: number"),
    (
        "where: os",
        "where: os\n  menu: [Drill]",
        "only settings of the BIOS stand in its menus; take it out",
    ),
    ("where: os", "where: os\n  only_with: {on: os.thpp}", "os.thpp is not a setting; did you mean os.thp?"),
    ("where: os", "where: os\n  only_with: {onn: os.thp}", "only_with: onn is not a value of this setting; did you mean on?"),
    (
        "sysctl: kernel.drilled,",
        "sysctl: kernel/drilled,",
        "kernel/drilled is not in the required form; its dotted name",
    ),
    ("sysctl: kernel.drilled, ", "", "set names no place; write sysctl, sysfs, cmdline, service, limits, command; or set: null"),
    (
        "{sysctl: kernel.drilled,",
        "{sysctl: kernel.drilled, sysfs: /sys/a,",
        "sysctl and sysfs are two places for one value",
    ),
    (', off: "0"', "", 'writes does not say off; write off: "WHAT IS WRITTEN FOR IT"'),
    ('off: "0"', 'off: "1"', "two values are written as 1; each value has its own text"),
    ('off: "0"', "off: 0", "off: 0 is not text; write it in quotes"),
    ("  set: {", "  sets: {", "sets is not a key of this sheet; did you mean set?"),
    ("  show: sysctl kernel.drilled\n", "", "os.drilled does not say show; write show: the command that shows"),
    ("  read: []", "  #", "os.drilled does not say read; write read: "),
    ("  title: drilled setting\n", "", "title is missing; the term explained"),
    ("  term: kernel.drilled\n", "", "term is missing; the term people search for"),
    ("  where: os\n", "", "where is missing"),
    ("where: os", "where: so", "where: so is not one of hardware, bios, boot, os"),
    ("type: choice", "type: choise", "type: choise is not one of choice, number, text; did you mean choice?"),
    ("{on: the drill goes on, off: the drill is over}", "{on: the drill goes on}", "a choice needs two values or more"),
    ("  breaks: nothing known\n", "", "breaks is missing; what it can break"),
    ('  reboot: "no"\n', "", "reboot is missing"),
    ("sources: [kernel-parameters]", "", "os.drilled has no sources; write: sources: [ID]"),
    ('off: "0"}', 'of: "0"}', "writes: of is not a value of this setting"),
    (
        "read: []",
        "read: [{value: '\"onn\"', sure: high, how: here}]",
        "os.drilled reads onn, which is no value of it; did you mean on?",
    ),
    ("os.drilled:", "drilled:", "drilled: drilled is not in the required form; it matches ^[a-z]+"),
]
"""What is written otherwise in the setting of the page, and what is said then."""


@pytest.mark.slow
def test_what_a_setting_lacks_is_said_with_its_line(copy: Copy) -> None:
    """One line that names the file, the line and what to write."""
    assert [old for old, _, _ in SETTING_LACKING if old not in SETTING] == []
    before = (copy.folder / "rules" / "settings.yaml").read_text()
    code = VARIANTS.replace("platforms/venice", "settings").replace("(platforms.", "(vendors.settings, platforms.")
    found = copy.tells(code, json.dumps([before + SETTING.replace(old, new) for old, new, _ in SETTING_LACKING]))
    assert isinstance(found, list)
    lines = [" | ".join(told) for told in found]
    wrong = [
        (says, told)
        for (_, _, says), told in zip(SETTING_LACKING, lines, strict=True)
        if says not in told or ": line 1" not in told
    ]
    assert wrong == []


@pytest.mark.slow
def test_a_rule_is_one_entry(copy: Copy) -> None:
    """It is checked, tested, listed, asked of a machine that was ordered, and has its page."""
    copy.add("numa.yaml", RULE)
    assert copy.wrong() == []
    assert copy.run("-m", "advisor", "rules", "test", "numa-drill").stdout == "3 of 3 examples of 1 rule as expected\n"
    assert "numa-drill" in copy.asks("checklist", "--platform", "rome", "--as", "json")
    page = copy.tells("import json; from docs.knowledge_pages import pages; print(json.dumps(list(pages().values())))")
    assert isinstance(page, list)
    assert any("numa-drill" in text for text in page)
    assert copy.changed() == {"rules/numa.yaml"}


@pytest.mark.slow
def test_a_rule_without_an_example_of_a_verdict_is_told(copy: Copy) -> None:
    """And one that asks for a platform by its id, or for a trait that no platform has."""
    copy.add(
        "numa.yaml",
        RULE.replace('    - {given: {setting.os.numa_balancing: "off"}, expect: pass}\n', ""),
    )
    assert copy.run("-m", "advisor", "rules", "test", "numa-drill").stdout.count("has no example for pass") == 1
    copy.change(
        "numa.yaml", 'when: setting.os.numa_balancing == "on"', 'when: platform.id == "rome" or platform.family == "epic"'
    )
    said = "\n".join(copy.wrong())
    assert "numa-drill asks for platform.id; ask for traits" in said
    assert "numa-drill: no platform has family epic; did you mean epyc?" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("  when: ", "  let: {least: 3}\n  when: ", "let: nothing uses least; use it or remove it"),
        (
            "  set: {",
            "  where: boot\n  set: {",
            "where: boot, but the settings it sets belong to os; remove where",
        ),
        (
            "  set: {",
            "  cost: {gain: 13, of: bandwidth, basis: computed}\n  set: {",
            "a gain of 13 is more than 1; write",
        ),
        (
            "  when: ",
            '  only: kernel.clocksource != "acpi_pmm"\n  when: ',
            ("clocksource is compared with acpi_pmm, which no example uses; did you mean acpi_pm?"),
        ),
    ],
)
def test_what_a_rule_says_without_effect_is_told(copy: Copy, old: str, new: str, says: str) -> None:
    """What nothing asks for, a place beside a setting, more than all, a word like another: a line with the rule's own line."""
    copy.add("numa.yaml", RULE.replace("  where: os\n", "").replace(old, new))
    (line,) = copy.wrong()
    number = (copy.folder / "rules" / "numa.yaml").read_text().partition("- id: numa-drill")[0].count("\n") + 1
    assert line.startswith(f"rules/numa.yaml: line {number}: numa-drill: {says}")


@pytest.mark.slow
def test_a_setting_of_the_system_is_one_entry(copy: Copy) -> None:
    """A rule may want it, the checklist says how it is set, and it has its page."""
    copy.add("settings.yaml", SETTING)
    copy.add("numa.yaml", RULE.replace("os.numa_balancing", "os.drilled"))
    assert copy.wrong() == []
    found = json.loads(copy.asks("checklist", "--platform", "rome", "--as", "json"))
    fixes = {item["setting"]: item["fix"] for group in found["groups"] for item in group["items"]}
    assert fixes["os.drilled"]["commands"][0] == "sysctl -w kernel.drilled=0"
    page = copy.tells("import json; from docs.knowledge_pages import pages; print(json.dumps(list(pages().values())))")
    assert isinstance(page, list)
    assert any("kernel.drilled" in text for text in page)


@pytest.mark.slow
def test_a_setting_of_the_bios_that_a_vendor_says_nothing_of_is_told(copy: Copy) -> None:
    """One line for each vendor's sheet, with the two ways to mend it."""
    copy.add(
        "settings.yaml",
        SETTING.replace("os.drilled", "cpu.drilled")
        .replace("where: os", "where: bios\n  hidden: a drill is heard, not seen\n  menu: [Drill]")
        .replace('  set: {sysctl: kernel.drilled, writes: {on: "1", off: "0"}}\n', ""),
    )
    told = copy.wrong_sheets()
    assert len(told) == len(list((HOUSE / "rules" / "vendors").glob("*.yaml")))
    assert all("says nothing of cpu.drilled; add its place under settings, or list it under absent" in line for line in told)


@pytest.mark.slow
def test_a_setting_of_the_bios_that_nothing_shows_says_why(copy: Copy) -> None:
    """Without a reading and without the reason its verdicts would be unknown for ever, and nobody would know why."""
    text = (copy.folder / "rules" / "settings.yaml").read_text()
    (name,) = re.findall(r"^(\S+):\n(?:  .*\n)*?  hidden: .*nothing.*", text, re.MULTILINE)[:1] or ["numa.group_size"]
    (copy.folder / "rules" / "settings.yaml").write_text(re.sub(rf"(?m)(^{name}:\n(?:  .*\n)*?)  hidden: .*\n", r"\1", text))
    (line,) = copy.wrong()
    assert f"{name} is not read, and does not say why; write read, or hidden: why nothing in a running system shows it" in line


@pytest.mark.slow
def test_a_setting_that_cites_what_is_no_publication_is_told(copy: Copy) -> None:
    """The line names the setting, the source, and the nearest one that there is."""
    copy.add("settings.yaml", SETTING.replace("sources: [", "sources: [kernel-parms, "))
    (line,) = copy.wrong()
    assert "os.drilled cites kernel-parms, which rules/sources.yaml has not" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("kernel.drlled", "Kernel has no fact drlled"),
        ("cpu.model", "cpu.model is a number, and the setting is one of on, off; write an expression that yields one"),
        ("cpu.boost = 3", "not an expression at column 11: cpu.boost = 3; write == for ="),
    ],
)
def test_a_setting_that_reads_what_it_cannot_be_is_told(copy: Copy, value: str, says: str) -> None:
    """Rules check says so, with the line: else every audit would end with it."""
    copy.add("settings.yaml", SETTING.replace("read: []", f"read: [{{value: {value}, sure: high, how: nowhere}}]"))
    (line,) = copy.wrong()
    place, _, problem = line.partition("os.drilled: ")
    number = (copy.folder / "rules" / "settings.yaml").read_text().partition("how: nowhere")[0].count("\n") + 1
    assert place == f"rules/settings.yaml: line {number}: "
    assert says in problem
