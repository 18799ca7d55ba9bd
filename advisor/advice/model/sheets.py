"""Sheets as they are written: rules with the publications they cite, neutral settings, vendors' names of them, intents."""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    StrictBool,
    StrictInt,
    StrictStr,
    StringConstraints,
)

from advisor.machine.layout import Confidence
from advisor.machine.platform_traits import Maker, TraitQuery, queries_written
from advisor.machine.value import Value, optional
from advisor.measure.platform import IntentName, Scope

Where = Literal["hardware", "bios", "boot", "os", "fabric", "scheduler", "mpi", "job"]
"""The groups of the checklist, in the order in which one reboot serves all."""

Neutral = bool | int | str
"""A value in neutral words: "on", "linear", 4."""

Name = Annotated[str, Field(pattern=r"^[a-z]+(\.[a-z0-9_]+)+$")]
Said = Annotated[str, Field(min_length=1)]


Source = Literal["system", "register", "firmware", "BIOS"]
"""Who witnesses a setting: the kernel's files, a register of the processor, the firmware at run time, the BIOS's attributes."""


class Witness(Value):
    """What somebody says a setting is set to."""

    by: Source
    """system, register, firmware (HSMP, ACPI) or BIOS"""
    value: str
    """in neutral words"""
    sure: Confidence
    """high, medium or low"""
    how: str
    """what the value was read from"""


class Reading(Value):
    """One way to read a setting from the running system; the first that gives a known value counts."""

    value: str
    """an expression of the rule language over a machine's facts"""
    sure: Confidence
    """high, medium or low"""
    by: Source = "system"
    """system, register or firmware (HSMP, ACPI)"""
    how: Said
    """what was looked at, in one line"""


class Means(Value):
    """Where an operating system keeps a setting; {value} stands for what is written."""

    sysctl: str | None = optional(pattern=r"^\w+(\.[\w*-]+)+$")
    """its dotted name: kernel.numa_balancing"""
    sysfs: str | None = optional(pattern=r"^/(sys|proc|dev)/")
    """a file, or a pattern with *, that applies the value at once"""
    only_named: str | None = None
    """of the folders that the pattern matches, those whose file ``name`` begins so: package-"""
    no_way_back: str | None = None
    """why writing the old value does not restore what was before"""
    cmdline: str | None = optional(pattern=r"\{value\}")
    """the boot option as written on the line: iommu={value}"""
    service: str | None = optional(pattern=r"^[\w@.:-]+$")
    """a systemd unit that is enabled or disabled: irqbalance"""
    limits: str | None = optional(pattern=r"^[a-z]+$")
    """an item of limits.conf: memlock"""
    tuned: str | None = optional(pattern=r"^\[\w+\] [^=]+=.*\{value\}")
    """section and option of a tuned profile: [vm] transparent_hugepages={value}"""
    command: str | None = None
    """a command that sets it at once: cpupower frequency-set -g {value}"""
    divide: int = optional(1, ge=1)
    """divisor applied before writing a number: bytes to kilobytes"""
    times: int = optional(1, ge=1)
    """factor applied before writing a number: watts to microwatts"""
    writes: dict[str, str] = optional({})
    """neutral value -> written value, if different"""


class Setting(Value):
    """One thing that can be set, in neutral words."""

    name: str = ""
    """its key: numa.nps"""
    term: Said
    """the term people search for: NPS, vm.swappiness"""
    title: Said
    """the term explained: NUMA nodes per socket"""
    where: Where
    """its group in the checklist: hardware, bios, boot, os, fabric, scheduler, mpi or job"""
    type: Literal["choice", "number", "text"]
    """choice, number or text"""
    values: dict[str, Said] = optional({})
    """neutral value -> its meaning in one line"""
    unit: str | None = None
    """unit of a number"""
    makers: tuple[Maker, ...] = ()
    """processor vendors that have it; () all"""
    only_with: dict[str, str] = optional({})
    """value -> a setting that must be known and set together with it to avoid harm"""
    only_read: tuple[str, ...] = ()
    """values that are detected but never written: mixed"""
    reboot: Literal["no", "yes", "power-cycle"]
    """no, yes or power-cycle"""
    breaks: Said
    """what it can break, in one sentence"""
    menu: tuple[str, ...] = ()
    """its usual names in setup menus, most common first"""
    set: Means | None = None
    """how the operating system sets it"""
    show: Said | None = None
    """the command that shows the current value on Linux"""
    read: tuple[Reading, ...] = ()
    hidden: Said | None = None
    """why nothing in a running system shows it"""
    sources: tuple[str, ...] = ()
    """ids of sources.yaml"""
    note: str | None = None

    @property
    def heading(self) -> str:
        """Return the term with what it means, as tables and titles show it: ``NPS (NUMA nodes per socket)``."""
        return f"{self.term} ({self.title})"

    @property
    def kernel_file(self) -> str | None:
        """The file, or a pattern with *, that takes it while the system runs; None of any other setting."""
        means = self.set
        if self.where == "bios" or self.reboot != "no" or means is None:
            return None
        return f"/proc/sys/{means.sysctl.replace('.', '/')}" if means.sysctl else means.sysfs

    def neutral(self, text: str) -> Neutral:
        """Return a value as the type says: 4 for the text "4" of a number."""
        return int(text) if self.type == "number" and text.lstrip("-").isdigit() else text

    def takes(self, value: Neutral) -> bool:
        """Return whether a value is one of this setting's."""
        if self.type == "number":
            return isinstance(value, int) and not isinstance(value, bool) and (not self.values or str(value) in self.values)
        return isinstance(value, str) and (self.type == "text" or value in self.values)


class Vocabulary(RootModel[dict[Name, Setting]]):
    """The sheet of all settings, in the order of the checklist."""


class Publication(Value):
    """Who said it, when, and where to read it."""

    title: str = Field(min_length=3)
    """its title"""
    by: str = Field(min_length=2)
    """author or publisher"""
    year: int | None = optional(ge=1990, le=2100)
    """year of publication; None if not stated"""
    where: str = Field(min_length=3)
    """URL, or a document name to search for"""


class Publications(RootModel[dict[str, Publication]]):
    """All publications by the id under which they are cited."""

    model_config = ConfigDict(frozen=True)


Severity = Literal["high", "medium", "low", "info"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low", "info")
"""Worst first."""

WHERES: tuple[Where, ...] = ("hardware", "bios", "boot", "os", "fabric", "scheduler", "mpi", "job")
"""The order in which one visit to the machine room and one reboot serve all."""

Basis = Literal["measured", "computed", "published", "fault", "guides", "elsewhere", "disputed"]
BASES: dict[Basis, str] = {
    "measured": "measured on this machine",
    "computed": "computed from what this machine shows",
    "published": "published for this CPU generation",
    "fault": "a fault seen on this machine",
    "guides": "fix recommended by guides; cost on this machine unknown",
    "elsewhere": "no figure for this CPU generation, and no agreement among guides",
    "disputed": "guides differ",
}
"""What a severity rests on, surest first; on the last two nothing is to be fixed, only to be considered."""

BOUNDS: tuple[tuple[float, Severity], ...] = ((0.10, "high"), (0.02, "medium"), (0.0, "low"))
"""The part that is surely lost, and the severity that more than that can have."""

Verdict = Literal["finding", "pass", "unknown", "not-applicable", "error", "waived"]

SCOPES: tuple[Scope, ...] = ("mpi", "hpl", "latency", "throughput", "virtualisation")

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+){0,11}$", max_length=64)]
Plain = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]


def _as_text(value: Any) -> Any:
    """Return a number or truth value as the expression that yields it."""
    return str(value) if isinstance(value, (bool, int, float)) else value


Expression = Annotated[str, BeforeValidator(_as_text), StringConstraints(min_length=1, strip_whitespace=True)]


class CostText(Value):
    """What it costs to leave things as they are."""

    gain: Expression | None = None
    """fraction certain to be gained, 0.13 for 13 %: a number or an expression, the lower end of a range; unknown if the
    source is about another generation"""
    of: Plain
    """the figure it refers to: triad, HPL, message rate"""
    basis: Literal["published", "computed", "measured"]
    """whether it was measured by a source, computed from the facts, or measured on this machine"""
    ref: Id | None = None
    """the publication that measured it"""
    measured: Expression | None = None
    """the same fraction as measured on this machine; replaces gain if known"""
    measured_of: Plain | None = None
    """the figure it refers to, if different from `of`"""


class Guide(Value):
    """What one guide says, where guides differ."""

    says: Plain
    ref: Id
    otherwise: bool = False
    """whether it recommends a different state than the rule"""


class ExampleText(Value):
    """A test of the rule: facts, and the verdict they must give."""

    given: dict[str, Any]
    """facts by dotted name; the others are unknown"""
    scope: Scope | None = None
    """the scope; the rule's first one if not given"""
    expect: Verdict
    say: str | None = None
    """words that the claim must contain"""


class RuleText(Value):
    """One rule of a rule file."""

    id: Id
    """must read well after 'allow'; never reused"""
    title: Plain
    """the fault in a few words"""
    severity: Severity
    """the upper limit; the engine lowers it to the certain loss"""
    basis: Literal["fault", "guides"] = "guides"
    """its basis if no number is known: a fault (any severity), or guides (medium at most)"""
    agree: Expression | None = None
    """where guides agree; elsewhere, without a number, it is only to consider"""
    scope: tuple[Scope, ...] = optional(SCOPES, min_length=1)
    """the workloads it matters for; all if none"""
    where: Where | None = None
    """where it is fixed; with set, the setting's own place"""
    each: Plain | None = None
    """NAME in LIST: one verdict for each item"""
    subject: Plain | None = None
    """what the verdict is about: {adapter.name}"""
    let: dict[str, Expression] = optional({})
    """named values, which a site may override"""
    only: Expression | None = None
    """if false, the rule does not apply"""
    when: Expression
    """if true, there is a finding"""
    foresee: Expression | None = None
    """if true after a change of settings, the rule would fire, although `when` shows it only after the restart"""
    say: Plain
    """the claim"""
    why: Plain
    """the mechanism, two sentences"""
    cost: CostText | None = None
    set: dict[str, Expression] = optional({})
    """settings and the values they should have"""
    want: Plain | None = None
    """the wanted state, as a checklist line; required without set"""
    fix: Plain | None = None
    """what to do if no setting does it"""
    check: Plain
    """how to check that it is fixed"""
    undo: Plain | None = None
    """how to undo it; a setting returns to its previous value"""
    spare: Plain | None = None
    """when to leave it as it is"""
    guides: tuple[Guide, ...] = ()
    """what differing guides say"""
    refs: tuple[Id, ...] = Field(min_length=1)
    """publications it is based on"""
    tests: tuple[ExampleText, ...] = optional((), min_length=1)
    """examples that fire, pass and stay unknown; () if they were not read"""


class Waiver(Value):
    """A finding that a site accepts, with the reason, until a day."""

    id: Id
    """the rule"""
    hosts: tuple[Plain, ...] = ("*",)
    """host names; * and ? are wildcards"""
    reason: Plain
    until: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    """ISO date, the last day it holds"""


class SiteFile(Value):
    """A file of a site: its own rules, other thresholds, and waivers. A plain list is a file of rules alone."""

    rules: tuple[RuleText, ...] = ()
    let: dict[str, dict[str, Expression]] = optional({})
    """by rule, other values for the names in its let"""
    waivers: tuple[Waiver, ...] = ()


VendorValue = StrictBool | StrictInt | StrictStr
"""A value as the vendor's tools want it: the text "4" and the number 4 differ."""

Words = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]


_SUFFIX = re.compile(r"(_[0-9A-F]{4})?")
"""What Supermicro appends to a name, different on each board and firmware."""


def is_named(stem: str, name: str) -> bool:
    """Return whether an attribute of a BIOS is the one that a sheet means, with or without a board's suffix."""
    return name.startswith(stem) and _SUFFIX.fullmatch(name[len(stem) :]) is not None


class Match(Value):
    """Names in SMBIOS by which a vendor is known; each given list must hold, in any case of letters."""

    system_vendor: Words | None = None
    """prefixes of the system vendor: Dell"""
    board_vendor: Words | None = None
    """prefixes of the board vendor: GIGABYTE"""
    product: Words | None = None
    """words in the product name: Cray EX"""


class Redfish(Value):
    """Where the management controller keeps the BIOS, and how it wants a change."""

    bios: str = Field(pattern="^/redfish/v1/")
    """path of the current attributes: /redfish/v1/Systems/..."""
    settings: str = Field(pattern="^/redfish/v1/")
    """path that takes changes: /redfish/v1/Systems/..."""
    registry: str | None = None
    apply: dict[str, VendorValue | dict[str, VendorValue]] = optional({})
    """what a PATCH needs besides Attributes"""
    headers: dict[str, str] = optional({})
    """headers that a PATCH needs: If-Match"""
    reset: str = Field(pattern="^/redfish/v1/")
    """path of the action that restarts the machine"""
    reset_type: str
    """ResetType that makes a change take effect"""
    menu_words: bool = False
    """whether it uses the menu's words instead of the registry's value names"""
    notes: tuple[str, ...] = ()


class Tools(Value):
    """Command lines; {attribute} {value} {group} {label} {menu} {pairs} {body} are filled in, one line for each attribute."""

    show: tuple[str, ...] = ()
    """print the current value"""
    look: str | None = None
    """one line that prints many: {keys} are {group}.{attribute}, {names} are attributes"""
    save: tuple[str, ...] = ()
    """save every current value to a file, for undo"""
    restore: str | None = None
    """the line that restores such a file"""
    clear: str | None = None
    """how to discard what is staged but not committed"""
    prepare: tuple[str, ...] = ()
    """once, before"""
    set: tuple[str, ...] = ()
    """stage the change"""
    edit: str | None = None
    """what to change in a file between prepare and apply"""
    apply: tuple[str, ...] = ()
    """once after all changes: apply them"""
    notes: tuple[str, ...] = ()


class Require(Value):
    """Another attribute without which this one does nothing or cannot be changed."""

    attribute: str
    value: VendorValue
    because: str
    group: str | None = None
    label: str | None = None
    gates: bool = False
    """whether this attribute has no effect while the other has a different value"""
    seen: tuple[str, ...] = ()
    """evidence in this sheet that shows it with this value"""


class Evidence(Value):
    """What shows attributes of a vendor's servers, and of which generation those servers are."""

    platforms: Words
    """the only vendor generations it covers; none open to later platforms"""
    kind: Literal["registry", "capture", "reference", "script", "list"]
    """registry: names and legal values; capture: names and current values; reference: the vendor's own printed list of names
    and values; script: what somebody writes; list: only names"""
    product: str
    """PowerEdge R750"""
    source: str
    """publication"""
    note: str | None = None

    @property
    def proves(self) -> bool:
        """Whether it comes from the vendor's firmware: what a script writes may be refused, and a list may mix generations."""
        return self.kind in ("registry", "capture", "reference")


class Entry(Value):
    """How one setting is called on some platforms of a vendor."""

    platforms: tuple[str, ...] = ()
    """the vendor's generations; () all it lists"""
    attribute: str | None = None
    """Redfish attribute; None if only the menu is known"""
    prefix: str | None = None
    """prefix of the attribute, if a suffix of four hex digits may follow"""
    numbered: str | None = None
    """attributes that differ by a number: Nbio{n}LclkDpmLevel"""
    label: str
    """as the setup menu shows it"""
    menu: str
    """the way through the setup menus: System Setup > System BIOS > Processor Settings"""
    group: str | None = None
    """Dell: group of the racadm key; Lenovo: group of the OneCLI name"""
    values: dict[str, VendorValue] = optional({})
    """neutral value -> vendor's value"""
    passes: Literal["integer", "text"] | None = None
    """set if any value is passed on, as a number or a text"""
    reads: dict[str, VendorValue] = optional({})
    """further vendor values, as text -> neutral value"""
    requires: tuple[Require, ...] = ()
    side_effects: tuple[str, ...] = ()
    seen: dict[str, Literal["all"] | tuple[str, ...]] = optional({})
    """evidence in this sheet -> the neutral values it shows; all of them; [] only the name"""
    note: str | None = None


class Generations(Value):
    """A sheet's generations as it writes them: by the traits of their platforms."""

    generations: dict[str, Annotated[tuple[TraitQuery, ...], BeforeValidator(queries_written), Field(min_length=1)]]
    """the vendor's word -> traits of the platforms: 17g: {family: xeon, generation: 6..}"""


class Lock(Value):
    """A profile that keeps other attributes from being changed unless it has one value."""

    attribute: str
    value: VendorValue
    because: str
    group: str | None = None
    label: str | None = None
    of: Words
    """the attributes it locks"""
    best: VendorValue | None = None
    """its value for performance, which implies everything that it sets"""
    sets: dict[str, dict[str, VendorValue]] = optional({})
    """its value -> the attributes that it sets"""
    piecewise: bool = False
    """whether a profile may be written as the individual settings that it sets"""
    resets: tuple[str, ...] = ()
    """what changing to `value` resets to defaults"""
    policy: str | None = None
    """which has priority, the profile or a single attribute"""
    platforms: tuple[str, ...] = ()
    side_effects: tuple[str, ...] = ()
    """what else changing the profile changes"""
    seen_in: str | None = None
    verified: bool = False


class OneTime(Value):
    """A profile that writes other attributes once, when it is chosen: it never stands beside single settings."""

    attribute: str
    rest: VendorValue
    """the value that writes nothing"""
    policy: str
    """what is done if both it and individual settings are wanted"""
    platforms: tuple[str, ...] = ()
    seen_in: str | None = None


class Absent(Value):
    """Settings that a vendor's menus do not have, or of which nothing is known."""

    settings: Words
    platforms: tuple[str, ...] = ()
    offered: Literal["no", "unknown"]
    """no, or unknown"""
    reason: str = Field(min_length=1)
    """why: what was checked, or what the menus have instead"""


class Vendor(Value):
    """One vendor's sheet."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    """its file name, in lower case: hpe-cray-ex"""
    name: str = Field(min_length=1)
    """its own name: Dell"""
    match: tuple[Match, ...] = ()
    """any of them: [{system_vendor: [NAME IN SMBIOS]}]; () for an unknown vendor"""
    generations: dict[str, tuple[str, ...]]
    """the vendor's name of a server generation -> platforms; a sheet names them by their traits"""
    not_covered: tuple[TraitQuery, ...] = ()
    """platforms with which this vendor builds no (known) servers"""
    redfish: Redfish | None = None
    tools: Tools = Tools()
    setup: str = ""
    """how to reach the setup menus, before an entry's menu"""
    evidence: dict[str, Evidence] = optional({})
    """the evidence that entries name under seen -> its servers"""
    locks: tuple[Lock, ...] = ()
    one_time: tuple[OneTime, ...] = ()
    shown: dict[str, dict[str, str]] = optional({})
    """attribute -> value -> the menu's words, if different: ValueDisplayName"""
    settings: dict[str, tuple[Entry, ...]]
    falls_back: str | None = None
    """id of the sheet with the usual words for what is unknown here"""
    absent: tuple[Absent, ...] = ()
    notes: tuple[str, ...] = ()

    def serves(self, platforms: tuple[str, ...], platform: str) -> bool:
        """Return whether a list of generations holds a platform; an empty one holds all of the sheet's."""
        words = platforms or tuple(self.generations)
        return any(platform in self.generations.get(word, ()) for word in words)

    def shows(self, entry: Entry, platform: str | None, value: str) -> bool:
        """Return whether the firmware of this platform's own generation was seen with an entry's attribute at a value."""
        return any((words == "all" or value in words) and self._proves(name, platform) for name, words in entry.seen.items())

    def shows_need(self, need: "Require | Lock", platform: str | None) -> bool:
        """Return whether the firmware of this platform's own generation was seen with a prerequisite at its value."""
        if isinstance(need, Require) and any(self._proves(name, platform) for name in need.seen):
            return True
        entries = (entry for entries in self.settings.values() for entry in entries)
        return any(
            self.shows(entry, platform, word)
            for entry in entries
            if need.attribute in (entry.attribute, entry.prefix)
            for word, theirs in entry.values.items()
            if theirs == need.value
        )

    def _proves(self, name: str, platform: str | None) -> bool:
        evidence = self.evidence[name]
        return evidence.proves and platform is not None and self.serves(evidence.platforms, platform)


class Place(Value):
    """Where one value of one setting is found on one vendor's server, and what to type."""

    vendor: str
    setting: str
    menu: str
    label: str
    attribute: str | None = None
    vendor_value: VendorValue | None = None
    """None if the vendor's word for it is unknown"""
    group: str | None = None
    path: str = ""
    """the path through the menus, without how to reach them"""
    exact: bool = False
    """whether the attribute is complete, neither a prefix nor a guess"""
    requires: tuple[Require, ...] = ()
    """further prerequisites, in this machine's names"""
    spoken: dict[str, VendorValue] = optional({})
    """neutral value -> this vendor's word, for undo"""
    show: tuple[str, ...] = ()
    """shell lines that print the current value"""
    commands: tuple[str, ...] = ()
    """shell lines that stage the change, prerequisites first"""
    apply: tuple[str, ...] = ()
    """shell lines that apply all staged changes at once"""
    prerequisites: tuple[tuple[str, VendorValue, str], ...] = ()
    """attribute, value, why"""
    notes: tuple[str, ...] = ()
    verified: bool = False
    """whether this name and value were seen in firmware of this vendor and generation"""


INTENTS: tuple[IntentName, ...] = get_args(IntentName)

TOPIC = "intent"
"""The topic of what an intent asks for; findings of this topic come of no rule."""


class Choice(Value):
    """The value of one setting, and who asks for it."""

    value: str | None = None
    """the neutral value; left out if the machine decides it, as in the rules"""
    guides: tuple[Guide, ...] = Field(min_length=1)
    """the guides that recommend it for this workload"""
    platforms: Annotated[tuple[TraitQuery, ...], BeforeValidator(queries_written)] = ()
    """traits of the processors that the guides cover; all if omitted"""
    vendors: tuple[str, ...] = ()
    """the vendors whose sheets it is for; all if omitted"""


class Intent(Value):
    """One kind of work, and all that it settles."""

    title: Plain
    """the workload, in a few words"""
    scope: Scope
    """its scope"""
    settings: dict[Name, tuple[Choice, ...]] = Field(min_length=1)
    """setting -> its choices; the first that fits the server applies"""
    sets_aside: dict[Id, Plain] = optional({})
    """rules that do not apply to this workload, with reasons"""


class Intents(RootModel[dict[IntentName, Intent]]):
    """All intents by their names."""

    model_config = ConfigDict(frozen=True)
