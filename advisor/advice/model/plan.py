"""A Plan: what is to be changed on a machine, each change with reason, place and undo; and what is not, and why.

Scripts, bodies and pages are made from this value alone. A change stands in it only where the present value is known, a finding
wants another, the machine's firmware has the attribute, nothing else in the plan contradicts it, and there is an undo;
everything else stands in one of the lists beside the changes, for a person to read. The command lines of a vendor's tools are
filled in here too: {attribute} {value} {group} {dotted} {pairs} {body} in their templates.
"""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from pydantic import Field

from advisor.advice.model.checklist import Other
from advisor.advice.model.findings import Finding
from advisor.advice.model.rule import Guide, Severity, Verdict
from advisor.advice.model.setting import Where
from advisor.advice.model.vendor import Place, VendorValue
from advisor.machine.hardware import Scalar
from advisor.machine.value import Value, optional


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
"""Why a change is one to look at twice: its present value is unknown, guides differ, it wins little."""

INCLUDES: Final[tuple[Include, ...]] = ("unknown", "contested")
LOOK_UP_WITH: Final = "Present values that are not known: look them up with"


class Wanted(Value):
    """A finding that wants a change."""

    id: str = Field(description="the rule")
    verdict: Verdict
    severity: Severity
    gain: str | None = optional("what it is worth, with its source")
    contested: bool = optional("whether guides differ, or it is a matter of taste", default=False)
    value: str | None = optional("the neutral value that it wants")
    claim: str | None = optional("what is wrong, in its words")


Keeper = Literal["sysctl", "sysfs", "cmdline", "service", "limits", "command"]


class Kept(Value):
    """One setting of the operating system, and what keeps it."""

    setting: str = ""
    keeper: Keeper
    key: str = Field(description="kernel.numa_balancing, a file, a service, an item of limits.conf, a command line")
    value: str = Field(description="as it is written there")
    option: str = optional("boot options that set it; empty where none does", "")
    gone: tuple[str, ...] = optional("boot options that must not be there", ())
    section: str | None = optional("section of a tuned profile")
    line: str | None = optional("option=value there")
    done: bool | None = None
    marks: tuple[Mark, ...] = ()
    active: bool = True
    about: tuple[str, ...] = ()
    back: str = optional("how to undo it", "")


class WantedSetting(Value):
    """A setting for which rules want a value, and where this machine keeps it: looked up once, for every page and file."""

    setting: str = Field(description="neutral name")
    title: str
    where: Where
    value: str | None = optional("the neutral value wanted; None where the machine decides it")
    text: str = Field(description="the value in words, with its unit")
    now: str | None = optional("the present neutral value")
    stands: str | None = optional("the present value in words, with its unit")
    done: bool | None = optional("whether it is so already")
    wanted: tuple[Wanted, ...] = Field(min_length=1, description="the rules that ask, the weightiest first")
    others: tuple[Other, ...] = optional("other values that findings want", ())
    guides: tuple[Guide, ...] = ()
    place: Place | None = None
    kept: Kept | None = optional("what of the operating system keeps it; None for the BIOS")
    menu: str = Field(description="where it is done by hand")
    only_with: str | None = optional("a setting without which this value does harm")

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
    value: VendorValue | None = Field(description="None where only the saved file has it")
    command: str | None = None


class Change(Value):
    """One BIOS attribute to write."""

    attribute: str
    group: str | None = None
    label: str = ""
    menu: str = ""
    title: str
    settings: tuple[str, ...] = optional("neutral names of the settings that it serves", ())
    now: Scalar | None = optional("the present value in the vendor's word; None where it is not known")
    value: VendorValue
    kind: Literal["wanted", "first", "again"] = optional(
        "asked for, needed before another, or put back where another change moves it", "wanted"
    )
    wanted: tuple[Wanted, ...] = ()
    guides: tuple[Guide, ...] = ()
    why: tuple[str, ...] = optional("what it is, what it was, and who asks", ())
    first: tuple[str, ...] = optional("attributes that must be written before it", ())
    needs: str | None = optional("what it would need first, which the plan does not write")
    moves: tuple[str, ...] = optional("what changes along with it: ATTRIBUTE=VALUE", ())
    back: tuple[Back, ...] = Field(min_length=1, description="how to undo it")
    marks: tuple[Mark, ...] = ()
    active: bool = optional("false where it stands as a comment, to be switched on by hand", default=True)
    command: str | None = optional("the vendor's line that stages it alone; None where no tool has one")
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
    now: Scalar | None = optional("the present value, where that is known")
    says: str | None = optional("what is wrong, in the finding's words; None where nothing was found")
    keeper: Keeper | None = optional("what of the operating system would keep it")


class System(Value):
    """What the operating system shall hold, done or not, and what no file of settings can say."""

    kept: tuple[Kept, ...] = ()
    profile: str | None = optional("the tuned profile wanted, where it is not in use")
    in_use: str | None = optional("the tuned profile in use, where that is known")
    by_hand: tuple[str, ...] = optional("what no file of settings can say, and is not done", ())
    left: tuple[NotWritten, ...] = optional("what is wanted and not written, with the reason", ())

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
    order: bool = optional("hardware on order: no present value can be known, its script saves them", default=False)
    changes: tuple[Change, ...] = optional("in the order of writing: those to write, and comments", ())
    look_up: tuple[NotWritten, ...] = optional("wanted, and the present value is not known", ())
    look_up_with: str | None = optional("one command that reads them all")
    contested: tuple[NotWritten, ...] = optional("differs, and guides differ about it", ())
    absent: tuple[NotWritten, ...] = optional("not on this machine", ())
    by_hand: tuple[NotWritten, ...] = optional("what no file can say, with the reason", ())
    refused: tuple[NotWritten, ...] = optional("what contradicts something else: both wishes are named", ())
    notes: tuple[str, ...] = optional("what holds for all of it", ())
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
        """Return why a person must do it; empty where files for tools hold something of it, and where no setting does it."""
        return "" if self.changes or self.kept else "; ".join(dict.fromkeys(self.left.values()))


_SHORT: Final = {"contested": "guides differ", "unknown": "its present value is unknown"}
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
    return found or ", ".join(_SHORT.get(mark, mark) for mark in marks) or "no file for a tool says it"
