"""A Plan: what is to be changed on a machine, each change with reason, place and undo; and what is not, and why.

Scripts, bodies and pages are made from this value alone. A change stands in it only where the current value is known, a finding
wants another, the machine's firmware has the attribute, nothing else in the plan contradicts it, and there is an undo;
everything else stands in one of the lists beside the changes, for a person to read. The command lines of a vendor's tools are
filled in here too: {attribute} {value} {group} {dotted} {pairs} {body} in their templates.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import Field, field_validator

from advisor.advice.model.findings import Finding, Fix
from advisor.advice.model.sheets import Guide, Place, Severity, VendorValue, Verdict, Where
from advisor.machine.hardware import Scalar
from advisor.machine.value import Value, is_name, optional
from advisor.measure.platform import IntentName, Scope

_OUT_OF_REACH = {
    "Secure Boot and its keys": r"secure[ _]?boot|^ResetKeys|platform[ _]?key|factory[ _]?key|key[ _]?exchange|TLSCertificate",
    "the TPM": r"tpm|trusted[ _]?comput|tcg|trusted[ _]?platform|^txt$",
    "passwords and keys": r"pass(word|wd|phrase)|\bpwd|chap|secret|credential|private[ _]?key",
    "what it boots": r"boot[ _]?(order|seq|option|device|list|mode|source|priorit|type|override|uri|target)|one[ _]?time"
    r"|^csm|uefi[ _]?optimized[ _]?boot",
    "factory defaults and CMOS": r"clear[ _]?cmos|cmos[ _]?clear|reset[ _]?bios|bios[ _]?reset|factory[ _]?reset"
    r"|(restore|load|erase|save|user|setup|factory)\w*[ _]?default|default\w*[ _]?(restore|load)",
    "data and logs": r"erase|sanitize|wipe",
    "job queues": r"job[ _]?queue",
    "the BIOS settings lock": r"lockdown|config\w*lock",
}
"""What no plan may touch, however it was edited: each can lock an owner out, or cannot be undone."""


CODE = re.compile(r"[A-Za-z]{2,}\d{3,4}")
"""AMI calls an attribute by a code, of each board's own: FBO001 is its boot order, Rome0075 the NUMA nodes of a socket."""


def out_of_reach(attribute: str, shown: str | None = None) -> str | None:
    """Return what an attribute is that no plan may touch, by its name or the menu's words for it; None for any other."""
    names = [attribute, *([shown] if shown else [])]
    return next(
        (what for what, words in _OUT_OF_REACH.items() if any(re.search(words, each, re.IGNORECASE) for each in names)), None
    )


class Owner(Value):
    """Whose BIOS it is, as its BMC says: a plan and a record are for this server and this firmware."""

    uuid: str | None = None
    vendor: str | None = None
    model: str | None = None
    bios_version: str | None = None
    bmc_version: str | None = None
    host_name: str | None = None
    """the name its operating system reported to the BMC"""
    processor: str | None = None
    """the processors' model, which gives their generation"""
    sockets: int | None = None
    """number of processors according to the BMC"""
    threads: int | None = None
    """hardware threads of all its processors, according to the BMC"""

    @field_validator("host_name", mode="before")
    @classmethod
    def _named(cls, told: object) -> object:
        """Leave out what is no name of a host, but a label: "DL340/Alletra 4220 Gen12 3-9" (HPE's emulator)."""
        return None if isinstance(told, str) and not is_name(told) else told


class PlannedChange(Value):
    """One attribute and the value it shall have."""

    attribute: str = Field(min_length=1, max_length=200)
    """the attribute's name in the registry"""
    value: VendorValue
    """the target value; write text in quotes"""
    now: Scalar | None = None
    """its value when the plan was made"""


class BiosPlan(Value):
    """What to stage on one server; made by ``advisor bios plan``, edited by whom it may concern."""

    format: Literal["advisor-bios-plan/1"]
    machine: str = "this machine"
    owner: Owner = Owner()
    registry: str | None = None
    """the attribute registry that it was checked against"""
    vendor: str | None = None
    """the vendor of the attribute names: dell, hpe, ..."""
    platform: str | None = None
    intent: IntentName | None = None
    """the workload, which settles what guides dispute"""
    changes: tuple[PlannedChange, ...] = Field(default=(), max_length=500)

    @property
    def values(self) -> dict[str, VendorValue]:
        """Return attribute -> value."""
        return {change.attribute: change.value for change in self.changes}


class BiosRecord(Value):
    """What a BIOS was before something was staged: all of it, on disk before the first write."""

    format: Literal["advisor-bios-record/1"]
    at: str
    """when, in UTC"""
    bmc: str
    verified: str
    """how the BMC's identity was verified"""
    owner: Owner
    registry: str | None = None
    applied: dict[str, Scalar | None]
    """every attribute's previous value, without secrets"""
    asked: dict[str, Scalar]
    """what was staged"""
    moves: dict[str, Scalar | None] = optional({})
    """consequential changes according to the registry"""
    unlisted: dict[str, Scalar] = optional({})
    """those set to a value that is not in the registry"""
    vendor: str | None = None
    platform: str | None = None
    intent: IntentName | None = None
    """the plan's workload"""
    outcome: Literal["begun", "staged"] = "begun"
    """begun: it is unknown whether it was staged"""
    job: str | None = None
    """the BMC's job that applies it"""
    by_hand: tuple[str, ...] = ()
    """how to undo it without advisor: other tools' commands"""


HEADINGS: dict[Where, str] = {
    "hardware": "Hardware",
    "bios": "BIOS",
    "boot": "Boot options",
    "os": "Operating system",
    "fabric": "Fabric",
    "scheduler": "Scheduler",
    "mpi": "MPI",
    "job": "Jobs",
}
"""The groups, in order: hands on the machine first, then what needs the one restart, then what takes effect at once."""

NOTE_FIRST = "note the current value first, and restore it"
"""The undo of a line whose current value is not known."""

CURL = "curl -fn --cacert BMC.pem"
"""How a BMC is asked: its certificate is checked, login and password stand in ~/.netrc, an error is no answer."""

CERTIFICATE = "BMC.pem is the certificate of the BMC or of its signer; ~/.netrc has the login"

NAMED = 3
"""How many subjects the title of a state names: PCIe link of the adapter at full width (mlx5_0); more stand below it."""


Tick = Literal["todo", "consider", "unknown", "done", "not-here", "waived"]
"""What a line is to whoever ticks off: wrong, choice, not known, right, nothing of this machine, waived."""


class Other(Value):
    """Another value that a rule wants for the same setting."""

    id: str
    """the rule"""
    wanted: str
    refs: tuple[str, ...] = ()


class Expected(Value):
    """A published result to hold a measurement against."""

    what: str
    """its figure: STREAM triad of the machine"""
    value: str
    """270 to 300 GB/s, 13 % above NPS1"""
    conditions: str | None = None
    """its conditions: processors, sockets, NUMA partitioning, memory"""
    ref: str
    """the publication"""


class Proof(Value):
    """A benchmark that shows whether steps have brought what they should."""

    id: str
    """the name that items use: bandwidth"""
    command: str
    """advisor measure membw"""
    shows: str
    """what it shows, in a few words"""
    figures: bool
    """whether publications have figures for it too"""
    expected: tuple[Expected, ...] = ()
    """figures published for this platform, closest conditions first; () if there are none"""


class Item(Value):
    """One line to tick."""

    id: str
    """the rule that asks for it; of several, the most specific"""
    rules: tuple[str, ...] = ()
    """every rule that asks for it"""
    numbers: tuple[int, ...] = ()
    """numbers of its findings in the audit; () if nothing is wrong"""
    title: str
    """the setting or the state, in a few words"""
    setting: str | None = None
    """neutral name of the setting"""
    term: str | None = None
    """the setting in the term people search for; None for a state"""
    fault: str = ""
    """the possible fault, in a few words"""
    claim: str | None = None
    """what is wrong, in the finding's words"""
    look: str | None = None
    """what would reveal it, if unknown"""
    left: str | None = None
    """why no script writes it"""
    subjects: tuple[str, ...] = ()
    """its subjects; () for the machine"""
    done: bool | None = None
    """whether it is already as wanted; None if unknown"""
    verdict: Verdict
    severity: Severity
    now: str | None = None
    """its current value"""
    pending: str | None = None
    """the value pending in the BIOS for the next restart"""
    wanted: str
    """the target value"""
    meaning: str | None = None
    """what the target value does, in one line"""
    others: tuple[Other, ...] = ()
    """other values that rules want: a conflict to resolve"""
    fix: Fix
    why: str
    cost: str | None = None
    """the expected gain, with its source"""
    check: str | None = None
    proof: str | None = None
    """the benchmark that proves it, one of proofs; None if there is none"""
    undo: str | None = None
    spare: str | None = None
    breaks: str | None = None
    """what it can break"""
    guides: tuple[Guide, ...] = ()
    refs: tuple[str, ...] = ()

    @property
    def mark(self) -> Tick:
        """Return what the line is to whoever ticks off; what is only worth knowing, and is not so, is nothing of this machine."""
        if self.done is None:
            return "unknown"
        if self.done:
            return "done" if self.setting or self.severity != "info" else "not-here"
        if self.verdict == "waived":
            return "waived"
        return "consider" if self.severity == "info" else "todo"


class Cited(Value):
    """A publication that lines rest on."""

    id: str
    text: str
    """title, author, year and place in one line"""


class Group(Value):
    """Items of one place."""

    where: Where
    heading: str
    items: tuple[Item, ...]


class Checklist(Value):
    """The whole list for one machine, or for a kind of machine that is not there yet."""

    machine: str | None = None
    """the machine in words; None for hardware on order"""
    platform: str | None = None
    platform_id: str | None = None
    vendor: str
    """the vendor whose names are used: Dell"""
    vendor_id: str
    scope: Scope
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    """general notes: how to enter the setup, one restart for all"""
    apply: tuple[str, ...] = ()
    """lines that apply all BIOS changes at once"""
    absent: tuple[str, ...] = ()
    """recommended settings that this vendor does not offer here"""
    left_out: int = 0
    """rules that do not apply here"""
    proofs: tuple[Proof, ...] = ()
    """the benchmarks that items name"""
    sources: tuple[Cited, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """Every line, in order."""
        return tuple(item for group in self.groups for item in group.items)

    @property
    def done(self) -> int:
        """How many lines are so already."""
        return sum(item.done is True for item in self.items)

    @property
    def unknown(self) -> int:
        """Of how many lines nobody knows whether they are so."""
        return sum(item.done is None for item in self.items)

    def proof_of(self, item: Item) -> Proof | None:
        """Return the benchmark that proves a line; None where none shows it."""
        return next((proof for proof in self.proofs if proof.id == item.proof), None)

    @property
    def order(self) -> bool:
        """Return whether it is hardware on order: nothing of it can be known, so all of the list is to be done."""
        return self.machine is None

    def marked(self, *marks: Tick) -> tuple[Item, ...]:
        """Return the lines of some marks."""
        return tuple(item for item in self.items if item.mark in marks)

    def todo(self) -> "Checklist":
        """Return the same list with what is known to be wrong alone; of hardware on order with all that is not so."""
        marks: tuple[Tick, ...] = ("todo", "consider", "unknown") if self.order else ("todo",)
        return self.only(lambda item: item.mark in marks)

    def only(self, wanted: Callable[[Item], bool]) -> "Checklist":
        """Return the same list with some of its lines, and the benchmarks that prove those."""
        left = (group.but(items=tuple(filter(wanted, group.items))) for group in self.groups)
        groups = tuple(group for group in left if group.items)
        named = {item.proof for group in groups for item in group.items}
        return self.but(groups=groups, proofs=tuple(each for each in self.proofs if each.id in named))


class Target(NamedTuple):
    """One attribute to read or to write."""

    attribute: str
    value: VendorValue
    group: str | None = None
    label: str = ""
    menu: str = ""


def one_a_line(templates: Iterable[str]) -> bool:
    """Return whether a tool takes one attribute a line."""
    return any("{attribute}" in line or "{dotted}" in line for line in templates)


def filled_lines(templates: Iterable[str], targets: Sequence[Target]) -> tuple[str, ...]:
    """Return command lines with everything filled in and quoted, one line for each attribute where the line names one."""
    lines: list[str] = []
    for template in templates:
        words = shlex.split(template)
        if one_a_line(words):
            lines += [shlex.join(_filled(word, target) for word in words) for target in targets]
        else:
            lines.append(shlex.join(part for word in words for part in _together(word, targets)))
    return tuple(lines)


def edit_instruction(template: str, target: Target) -> str:
    """Return what to change by hand in the file that a tool writes and reads."""
    words = {
        "{label}": target.label or target.attribute,
        "{value}": value_text(target.value),
        "{menu}": target.menu or "its menu",
    }
    return re.sub(r"\{[a-z]+\}", lambda found: words.get(found[0], found[0]), template)


def value_text(value: VendorValue) -> str:
    """Return a value as a command line takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _filled(word: str, target: Target) -> str:
    text = {"{group}": target.group or "", "{attribute}": target.attribute, "{dotted}": target.attribute.replace("_", ".", 1)}
    text["{value}"] = value_text(target.value)
    return re.sub(r"\{[a-z]+\}", lambda found: text.get(found[0], found[0]), word)


def _together(word: str, targets: Sequence[Target]) -> list[str]:
    if word == "{pairs}":
        return [f"{target.attribute}={value_text(target.value)}" for target in targets]
    if word == "{names}":
        return [target.attribute for target in targets]
    if word == "{body}":
        return [json.dumps({"Attributes": {target.attribute: target.value for target in targets}})]
    return [word]


def look_up_line(template: str, targets: tuple[Target, ...]) -> str:
    """Return one line that reads many: {keys} are GROUP.ATTRIBUTE, {names} attributes, {dotted} as OneCLI writes them."""
    words = {
        "{keys}": [f"{target.group}.{target.attribute}" if target.group else target.attribute for target in targets],
        "{names}": [target.attribute for target in targets],
        "{dotted}": [target.attribute.replace("_", ".", 1) for target in targets],
    }
    # At once: a mark that a name holds is no mark.
    return re.sub("|".join(map(re.escape, words)), lambda mark: shlex.join(dict.fromkeys(words[mark[0]])), template)


Include = Literal["unknown", "contested"]
"""What a plan leaves out unless it is asked for."""

Mark = Literal["unknown", "contested", "low", "decided by model"]
"""Why a change is one to look at twice: its current value is unknown, guides differ, it wins little."""

INCLUDES: tuple[Include, ...] = ("unknown", "contested")
LOOK_UP_WITH = "To look up the unknown current values:"


class Wanted(Value):
    """A finding that wants a change."""

    id: str
    """the rule"""
    verdict: Verdict
    severity: Severity
    gain: str | None = None
    """the expected gain, with its source"""
    contested: bool = False
    """whether guides differ, or it is a matter of taste"""
    value: str | None = None
    """the neutral value that it wants"""
    claim: str | None = None
    """what is wrong, in the rule's words"""
    chosen: tuple[Guide, ...] = ()
    """for an intent's choice: the guides behind it"""


Keeper = Literal["sysctl", "sysfs", "cmdline", "service", "limits", "command"]


class Kept(Value):
    """One setting of the operating system, and what keeps it."""

    setting: str = ""
    keeper: Keeper
    key: str
    """kernel.numa_balancing, a file, a service, an item of limits.conf, a command line"""
    value: str
    """the value as written there"""
    option: str = ""
    """boot options that set it; empty if none does"""
    gone: tuple[str, ...] = ()
    """boot options that must not be there"""
    section: str | None = None
    """section of a tuned profile"""
    line: str | None = None
    """option=value there"""
    done: bool | None = None
    marks: tuple[Mark, ...] = ()
    active: bool = True
    about: tuple[str, ...] = ()
    back: str = ""
    """how to undo it"""


class WantedSetting(Value):
    """A setting for which rules want a value, and where this machine keeps it: looked up once, for every page and file."""

    setting: str
    """neutral name"""
    title: str
    where: Where
    value: str | None = None
    """the neutral value wanted; None if the machine decides it"""
    text: str
    """the value in words, with its unit"""
    now: str | None = None
    """the present neutral value"""
    stands: str | None = None
    """the current value in words, with its unit"""
    done: bool | None = None
    """whether it is already as wanted"""
    wanted: tuple[Wanted, ...] = Field(min_length=1)
    """the rules that ask, most important first"""
    others: tuple[Other, ...] = ()
    """other values that findings want"""
    guides: tuple[Guide, ...] = ()
    place: Place | None = None
    kept: Kept | None = None
    """the part of the operating system that stores it; None for the BIOS"""
    menu: str
    """where to do it by hand"""
    breaks: str | None = None
    """what the change can break"""
    only_with: str | None = None
    """a setting without which this value does harm"""

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rules that ask for it."""
        return tuple(dict.fromkeys(each.id for each in self.wanted))

    @property
    def found(self) -> tuple[Wanted, ...]:
        """Return the findings that want this value."""
        return tuple(each for each in self.wanted if each.verdict == "finding" and each.value == self.value)

    @property
    def speak(self) -> tuple[Wanted, ...]:
        """Return whose weight counts: the findings, and where there are none all that ask."""
        return self.found or self.wanted

    @property
    def chosen(self) -> bool:
        """Return whether what the server is set for asks for it, and no rule of weight: it is a choice, and no fault."""
        return any(each.chosen for each in self.speak) and all(each.chosen or each.contested for each in self.speak)

    @property
    def claim(self) -> str | None:
        """Return what is wrong, in the words of the weightiest finding; None where nothing was found."""
        return next((each.claim for each in self.wanted if each.verdict == "finding" and each.claim), None)

    @property
    def contested(self) -> bool:
        """Return whether all who want it want what guides differ about, or others want otherwise."""
        return bool(self.others) or all(each.contested for each in self.speak)


class Back(Value):
    """One attribute and the value it goes back to."""

    attribute: str
    value: VendorValue | None
    """None if only the saved file has it"""
    command: str | None = None


class Change(Value):
    """One BIOS attribute to write."""

    attribute: str
    group: str | None = None
    label: str = ""
    menu: str = ""
    title: str
    settings: tuple[str, ...] = ()
    """neutral names of the settings that it serves"""
    now: Scalar | None = None
    """the current value in the vendor's own term; None if unknown"""
    value: VendorValue
    kind: Literal["wanted", "first", "again"] = "wanted"
    """wanted, needed before another, or restored because another change moves it"""
    wanted: tuple[Wanted, ...] = ()
    guides: tuple[Guide, ...] = ()
    why: tuple[str, ...] = ()
    """what it is, its previous value, and the rules that want it"""
    first: tuple[str, ...] = ()
    """attributes that must be written before it"""
    needs: str | None = None
    """prerequisites that the plan does not write"""
    moves: tuple[str, ...] = ()
    """consequential changes: ATTRIBUTE=VALUE"""
    back: tuple[Back, ...] = Field(min_length=1)
    """how to undo it"""
    marks: tuple[Mark, ...] = ()
    active: bool = True
    """false if written as a comment, to be enabled by hand"""
    command: str | None = None
    """the vendor's line that stages only this; None if no tool has one"""
    verified: bool = False


class NotWritten(Value):
    """Something wanted that the plan does not write."""

    title: str
    wanted: str
    reason: str
    rules: tuple[str, ...] = ()
    setting: str | None = None
    attribute: str | None = None
    group: str | None = None
    menu: str | None = None
    now: Scalar | None = None
    """the current value, if known"""
    says: str | None = None
    """what is wrong, in the finding's words; None if nothing was found"""
    keeper: Keeper | None = None
    """the part of the operating system that would store it"""


class System(Value):
    """What the operating system shall hold, done or not, and what no file of settings can say."""

    kept: tuple[Kept, ...] = ()
    profile: str | None = None
    """the wanted tuned profile, if not in use"""
    in_use: str | None = None
    """the tuned profile in use, if known"""
    by_hand: tuple[str, ...] = ()
    """what no settings file can express and is not done yet"""
    left: tuple[NotWritten, ...] = ()
    """what is wanted but not written, with the reason"""

    def by(self, keeper: Keeper) -> tuple[Kept, ...]:
        """Return what one keeper is to be given, without what stands as a comment."""
        return tuple(each for each in self.writes if each.keeper == keeper)

    @property
    def writes(self) -> tuple[Kept, ...]:
        """Return what is written: what is so already is not, nor what stands as a comment."""
        return tuple(each for each in self.kept if each.active and not each.done)

    @property
    def boot(self) -> tuple[Kept, ...]:
        """Return what the command line can say and sysctl does not."""
        return tuple(each for each in self.writes if each.keeper != "sysctl" and (each.option or each.gone))

    @property
    def options(self) -> tuple[str, ...]:
        """Return the boot options that nothing but the command line keeps, each once."""
        return tuple(dict.fromkeys(each.option for each in self.by("cmdline") if each.option))

    @property
    def unwanted(self) -> tuple[str, ...]:
        """Return boot options that must not be there, of settings that nothing but the command line keeps."""
        return tuple(dict.fromkeys(word for each in self.by("cmdline") for word in each.gone))

    @property
    def sections(self) -> dict[str, tuple[Kept, ...]]:
        """Return the sections of a tuned profile, and what stands in each."""
        names = dict.fromkeys(each.section for each in self.writes if each.section)
        return {name: tuple(each for each in self.writes if each.section == name) for name in names}


class Plan(Value):
    """What is to be changed on one machine, and what is not, and why."""

    machine: str | None = None
    platform: str | None = None
    vendor: str
    vendor_id: str
    scope: str
    intent: IntentName | None = None
    """the workload, which settles what guides dispute"""
    order: bool = False
    """hardware on order: current values cannot be known, the script saves them"""
    changes: tuple[Change, ...] = ()
    """in the order of writing: those to write, and comments"""
    look_up: tuple[NotWritten, ...] = ()
    """wanted, but the current value is unknown"""
    look_up_with: str | None = None
    """one command that reads them all"""
    contested: tuple[NotWritten, ...] = ()
    """differs, but guides disagree about it"""
    absent: tuple[NotWritten, ...] = ()
    """not on this machine"""
    by_hand: tuple[NotWritten, ...] = ()
    """what no file can express, with the reason"""
    refused: tuple[NotWritten, ...] = ()
    """contradictions: both values are named"""
    notes: tuple[str, ...] = ()
    """general notes"""
    system: System = System()

    @property
    def writes(self) -> tuple[Change, ...]:
        """Return the changes that are written, without those that stand as comments."""
        return tuple(change for change in self.changes if change.active)

    @property
    def attributes(self) -> dict[str, VendorValue]:
        """Return what is written: attribute -> value."""
        return {change.attribute: change.value for change in self.writes}


class Planned(NamedTuple):
    """What a plan writes for one finding."""

    changes: tuple[Change, ...] = ()
    kept: tuple[Kept, ...] = ()
    left: Mapping[str, str] = {}
    """Settings that it wants and the plan does not write, each with the reason."""

    @property
    def by_hand(self) -> str:
        """Return why a person must do it; empty where files for tools hold something of it, and where not done by a setting."""
        return "" if self.changes or self.kept else "; ".join(dict.fromkeys(self.left.values()))

    @property
    def tool(self) -> str | None:
        """Return the format that holds its lines for the BIOS, redfish for those of curl; None where there are none."""
        first = next((each.command.split()[0] for each in self.changes if each.command), "").replace("curl", "redfish")
        return first if first in TOOLS else None


TOOLS = ("racadm", "ilorest", "onecli", "sum", "redfish")
"""Formats of the checklist that write a BIOS."""


_SHORT = {"contested": "guides differ", "unknown": "its current value is unknown"}
"""Marks of changes that stand as comments, in words."""


def planned_for(plan: Plan, finding: Finding) -> Planned:
    """Return what files for tools hold of a finding's settings, and why they leave out the others."""
    names = dict.fromkeys(want.setting for want in finding.wants)
    changes = tuple(each for each in plan.writes if not names.keys().isdisjoint(each.settings))
    kept = tuple(each for each in plan.system.kept if each.active and not each.done and each.setting in names)
    written = {name for change in changes for name in change.settings} | {each.setting for each in kept}
    if plan.system.profile is not None:
        written |= {want.setting for want in finding.wants if want.value == plan.system.profile}
    return Planned(changes, kept, {name: _why_not(plan, name) for name in names if name not in written})


def _why_not(plan: Plan, name: str) -> str:
    """Return why a plan does not write a setting; that guides differ in two words, for a page has them in full."""
    if any(name == each.setting for each in plan.contested):
        return _SHORT["contested"]
    left: tuple[NotWritten, ...] = (*plan.look_up, *plan.absent, *plan.by_hand, *plan.refused, *plan.system.left)
    marks = (mark for change in plan.changes if not change.active and name in change.settings for mark in change.marks)
    found = next((each.reason for each in left if each.setting == name), None)
    return found or ", ".join(_SHORT.get(mark, mark) for mark in marks) or "this setting cannot be written to any tool's file"
