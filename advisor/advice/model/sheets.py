"""Sheets as they are written: rules with the publications they cite, neutral settings, vendors' names of them, intents."""

import re
from typing import Annotated, Any, Final, Literal, get_args

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

    by: Source = Field(description="system, register, firmware (HSMP, ACPI) or BIOS")
    value: str = Field(description="in neutral words")
    sure: Confidence = Field(description="high, medium or low")
    how: str = Field(description="what was looked at")


class Reading(Value):
    """One way to read a setting from the running system; the first that gives a known value counts."""

    value: str = Field(description="an expression of the rule language over a machine's facts")
    sure: Confidence = Field(description="high, medium or low")
    by: Source = optional("system, register or firmware (HSMP, ACPI)", "system")
    how: Said = Field(description="what was looked at, in one line")


class Means(Value):
    """Where an operating system keeps a setting; {value} stands for what is written."""

    sysctl: str | None = optional("its name, with points: kernel.numa_balancing", pattern=r"^\w+(\.[\w*-]+)+$")
    sysfs: str | None = optional(
        "a file, or a pattern of files with *, that takes the value at once", pattern=r"^/(sys|proc|dev)/"
    )
    cmdline: str | None = optional("the boot option as it stands on the line: iommu={value}", pattern=r"\{value\}")
    service: str | None = optional("a systemd unit that is switched on or off: irqbalance", pattern=r"^[\w@.:-]+$")
    limits: str | None = optional("an item of limits.conf: memlock", pattern=r"^[a-z]+$")
    tuned: str | None = optional(
        "section and option of a tuned profile: [vm] transparent_hugepages={value}", pattern=r"^\[\w+\] [^=]+=.*\{value\}"
    )
    command: str | None = optional("a command that sets it at once: cpupower frequency-set -g {value}")
    divide: int = optional("what a number is divided by before it is written: bytes to kilobytes", 1, ge=1)
    writes: dict[str, str] = optional("neutral value -> what is written where that differs", {})


class Setting(Value):
    """One thing that can be set, in neutral words."""

    name: str = optional("the key it stands under: numa.nps", "")
    term: Said = Field(description="the word that people search for: NPS, vm.swappiness")
    title: Said = Field(description="the term explained: NUMA nodes per socket")
    where: Where = Field(description="in which group of the checklist: hardware, bios, boot, os, fabric, scheduler, mpi or job")
    type: Literal["choice", "number", "text"] = Field(description="choice, number or text")
    values: dict[str, Said] = optional("neutral value -> its meaning in one line", {})
    unit: str | None = optional("unit of a number")
    makers: tuple[Maker, ...] = optional("vendors of processors that have it; () all", ())
    only_with: dict[str, str] = optional(
        "value -> the setting that must be known and set together with it: without, it does harm", {}
    )
    only_read: tuple[str, ...] = optional("values that are found and never written: mixed", ())
    reboot: Literal["no", "yes", "power-cycle"] = Field(description="no, yes or power-cycle")
    breaks: Said = Field(description="what it can break, in one sentence")
    menu: tuple[str, ...] = optional("its usual names in setup menus, the most usual first", ())
    set: Means | None = optional("how the operating system takes it")
    show: Said | None = optional("the command that shows the present value on Linux")
    read: tuple[Reading, ...] = ()
    hidden: Said | None = optional("of one that nothing in a running system shows: why")
    sources: tuple[str, ...] = optional("ids of sources.yaml", ())
    note: str | None = None

    @property
    def heading(self) -> str:
        """Return the term with what it means, as tables and titles show it: ``NPS (NUMA nodes per socket)``."""
        return f"{self.term} ({self.title})"

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

    title: str = Field(description="what it is called", min_length=3)
    by: str = Field(description="author or publisher", min_length=2)
    year: int | None = optional("year of publication; None where it does not state one", ge=1990, le=2100)
    where: str = Field(description="URL, or the document by the name under which it can be found", min_length=3)


class Publications(RootModel[dict[str, Publication]]):
    """All publications by the id under which they are cited."""

    model_config = ConfigDict(frozen=True)


Severity = Literal["high", "medium", "low", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("high", "medium", "low", "info")
"""Worst first."""

WHERES: Final[tuple[Where, ...]] = ("hardware", "bios", "boot", "os", "fabric", "scheduler", "mpi", "job")
"""The order in which one visit to the machine room and one reboot serve all."""

Basis = Literal["measured", "computed", "published", "fault", "guides", "elsewhere", "disputed"]
BASES: Final[dict[Basis, str]] = {
    "measured": "measured on this machine",
    "computed": "arithmetic on what this machine shows",
    "published": "published for this generation",
    "fault": "a fault seen on this machine",
    "guides": "recommended; how much it costs here is not known",
    "elsewhere": "no number and no guides that agree for this generation",
    "disputed": "guides differ",
}
"""What a severity rests on, surest first; on the last two nothing is to be fixed, only to be considered."""

BOUNDS: Final[tuple[tuple[float, Severity], ...]] = ((0.10, "high"), (0.02, "medium"), (0.0, "low"))
"""The part that is surely lost, and the severity that more than that can have."""

Verdict = Literal["finding", "pass", "unknown", "not-applicable", "error", "waived"]

SCOPES: Final[tuple[Scope, ...]] = ("mpi", "hpl", "latency", "throughput", "virtualisation")

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+){0,11}$", max_length=64)]
Plain = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]


def _as_text(value: Any) -> Any:
    """Return a number or truth value as the expression that yields it."""
    return str(value) if isinstance(value, (bool, int, float)) else value


Expression = Annotated[str, BeforeValidator(_as_text), StringConstraints(min_length=1, strip_whitespace=True)]


class CostText(Value):
    """What it costs to leave things as they are."""

    gain: Expression | None = optional(
        "part that is surely won, 0.13 for 13 %: a number or an expression, of a range its lower end; unknown where "
        "the source is of another generation"
    )
    of: Plain = Field(description="of what: triad, HPL, message rate")
    basis: Literal["published", "computed", "measured"] = Field(
        description="whether a source measured it, it follows from the facts, or it was measured on this machine"
    )
    ref: Id | None = optional("the publication that measured it")
    measured: Expression | None = optional("the same part as measured on this machine; stands in place of gain where it is known")
    measured_of: Plain | None = optional("of what, where that differs from `of`")


class Guide(Value):
    """What one guide says, where guides differ."""

    says: Plain
    ref: Id
    otherwise: bool = optional("whether it wants another state than the rule does", default=False)


class ExampleText(Value):
    """A test of the rule: facts, and the verdict they must give."""

    given: dict[str, Any] = Field(description="facts by dotted name; those not given are not known")
    scope: Scope | None = optional("the asked scope; the rule's first where none is given")
    expect: Verdict
    say: str | None = optional("words that the claim must contain")


class RuleText(Value):
    """One rule of a rule file."""

    id: Id = Field(description="reads after 'allow'; never reused")
    title: Plain = Field(description="the fault in a few words")
    severity: Severity = Field(description="the most that it may be; the engine lowers it to what is surely lost")
    basis: Literal["fault", "guides"] = optional(
        "what it rests on where no number is known: a fault, at any price, or guides, which allow medium at most", "guides"
    )
    agree: Expression | None = optional(
        "where guides agree; elsewhere, without a number, there is something to consider and not to fix"
    )
    scope: tuple[Scope, ...] = optional("the work it matters for; all if none", SCOPES, min_length=1)
    where: Where | None = optional("where it is fixed; the setting's own place where set is given")
    each: Plain | None = optional("NAME in LIST: one verdict for each item")
    subject: Plain | None = optional("what the verdict is about: {adapter.name}")
    let: dict[str, Expression] = optional("named values, which a site may override", {})
    only: Expression | None = optional("where this is false the rule does not apply")
    when: Expression = Field(description="where this is true there is a finding")
    foresee: Expression | None = optional(
        "where this is true after a change of settings the rule would find what `when` sees only after the restart"
    )
    say: Plain = Field(description="the claim")
    why: Plain = Field(description="the mechanism, two sentences")
    cost: CostText | None = None
    set: dict[str, Expression] = optional("settings and the values they should have", {})
    want: Plain | None = optional("the state wanted, as a line of a checklist; needed without set")
    fix: Plain | None = optional("what to do where no setting does it")
    check: Plain = Field(description="how to see that it is fixed")
    undo: Plain | None = optional("how to go back; a setting goes back to what it was")
    spare: Plain | None = optional("when to leave it as it is")
    guides: tuple[Guide, ...] = optional("what differing guides say", ())
    refs: tuple[Id, ...] = Field(min_length=1, description="publications it rests on")
    tests: tuple[ExampleText, ...] = optional(
        "examples that fire, pass and stay unknown; () where they were not read", (), min_length=1
    )


class Waiver(Value):
    """A finding that a site accepts, with the reason, until a day."""

    id: Id = Field(description="the rule")
    hosts: tuple[Plain, ...] = optional("host names; * and ? stand for letters", ("*",))
    reason: Plain
    until: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")] = Field(
        description="ISO date, the last day it holds"
    )


class SiteFile(Value):
    """A file of a site: its own rules, other thresholds, and waivers. A plain list is a file of rules alone."""

    rules: tuple[RuleText, ...] = ()
    let: dict[str, dict[str, Expression]] = optional("by rule, other values for what its let names", {})
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

    system_vendor: Words | None = optional("beginnings of the system's vendor: Dell")
    board_vendor: Words | None = optional("beginnings of the board's vendor: GIGABYTE")
    product: Words | None = optional("words that occur in the product's name: Cray EX")


class Redfish(Value):
    """Where the management controller keeps the BIOS, and how it wants a change."""

    bios: str = Field(pattern="^/redfish/v1/", description="path of the present attributes: /redfish/v1/Systems/...")
    settings: str = Field(pattern="^/redfish/v1/", description="path that takes changes: /redfish/v1/Systems/...")
    registry: str | None = None
    apply: dict[str, VendorValue | dict[str, VendorValue]] = optional("what goes beside Attributes in a PATCH", {})
    headers: dict[str, str] = optional("headers that a PATCH needs: If-Match", {})
    reset: str = Field(pattern="^/redfish/v1/", description="path of the action that restarts the machine")
    reset_type: str = Field(description="ResetType that makes a change take effect")
    menu_words: bool = optional(
        "whether it shows and takes the words of the menu in place of the registry's names for values", default=False
    )
    notes: tuple[str, ...] = ()


class Tools(Value):
    """Command lines; {attribute} {value} {group} {label} {menu} {pairs} {body} are filled in, one line for each attribute."""

    show: tuple[str, ...] = optional("print the present value", ())
    look: str | None = optional("one line that prints many: {keys} are {group}.{attribute}, {names} attributes")
    save: tuple[str, ...] = optional("save every present value to a file, for undoing", ())
    restore: str | None = optional("the line that gives such a file back")
    clear: str | None = optional("what takes back what is staged and not yet committed")
    prepare: tuple[str, ...] = optional("once, before", ())
    set: tuple[str, ...] = optional("stage the change", ())
    edit: str | None = optional("what to change in a file between prepare and apply")
    apply: tuple[str, ...] = optional("once after all changes: make them take effect", ())
    notes: tuple[str, ...] = ()


class Require(Value):
    """Another attribute without which this one does nothing or cannot be changed."""

    attribute: str
    value: VendorValue
    because: str
    group: str | None = None
    label: str | None = None
    gates: bool = optional("whether this attribute means nothing while the other has another value", default=False)
    seen: tuple[str, ...] = optional("evidence of this sheet that shows it at this value", ())


class Evidence(Value):
    """What shows attributes of a vendor's servers, and of which generation those servers are."""

    platforms: Words = Field(
        description="the vendor's generations that it is of, no others; none that is open to later platforms"
    )
    kind: Literal["registry", "capture", "reference", "script", "list"] = Field(
        description="registry: names and legal values; capture: names and present values; reference: the vendor's own printed "
        "list of names and values; script: what somebody writes; list: names alone"
    )
    product: str = Field(description="PowerEdge R750")
    source: str = Field(description="publication")
    note: str | None = None

    @property
    def proves(self) -> bool:
        """Whether it comes from the vendor's firmware: what a script writes may be refused, and a list may mix generations."""
        return self.kind in ("registry", "capture", "reference")


class Entry(Value):
    """How one setting is called on some platforms of a vendor."""

    platforms: tuple[str, ...] = optional("the vendor's generations; () all it lists", ())
    attribute: str | None = optional("Redfish attribute; None where only the menu is known")
    prefix: str | None = optional("the attribute's beginning where a suffix of four hex digits may follow")
    numbered: str | None = optional("attributes that differ by a number: Nbio{n}LclkDpmLevel")
    label: str = Field(description="as the setup menu shows it")
    menu: str = Field(description="the way through the setup menus: System Setup > System BIOS > Processor Settings")
    group: str | None = optional("Dell: group of the racadm key; Lenovo: group of the OneCLI name")
    values: dict[str, VendorValue] = optional("neutral value -> vendor's value", {})
    passes: Literal["integer", "text"] | None = optional("where any value is handed on, as a number or a text")
    reads: dict[str, VendorValue] = optional("further vendor's values, as text -> neutral value", {})
    requires: tuple[Require, ...] = ()
    side_effects: tuple[str, ...] = ()
    seen: dict[str, Literal["all"] | tuple[str, ...]] = optional(
        "evidence of this sheet -> the neutral values it shows; all of them; [] the name alone", {}
    )
    note: str | None = None


class Generations(Value):
    """A sheet's generations as it writes them: by the traits of their platforms."""

    generations: dict[str, Annotated[tuple[TraitQuery, ...], BeforeValidator(queries_written), Field(min_length=1)]] = Field(
        description="the vendor's word -> traits of the platforms: 17g: {family: xeon, generation: 6..}"
    )


class Lock(Value):
    """A profile that keeps other attributes from being changed unless it has one value."""

    attribute: str
    value: VendorValue
    because: str
    group: str | None = None
    label: str | None = None
    of: Words = Field(description="the attributes it locks")
    best: VendorValue | None = optional("its value for performance: alone it answers all that it sets")
    sets: dict[str, dict[str, VendorValue]] = optional("its value -> the attributes that it sets", {})
    piecewise: bool = optional("whether a profile may be written as the single settings that it sets", default=False)
    resets: tuple[str, ...] = optional("what going to `value` brings back to defaults", ())
    policy: str | None = optional("which of two wishes goes first, the profile or a single attribute")
    platforms: tuple[str, ...] = ()
    side_effects: tuple[str, ...] = optional("what changing the profile changes besides", ())
    seen_in: str | None = None
    verified: bool = False


class OneTime(Value):
    """A profile that writes other attributes once, when it is chosen: it never stands beside single settings."""

    attribute: str
    rest: VendorValue = Field(description="the value that writes nothing")
    policy: str = Field(description="what is done where it and single settings are wanted")
    platforms: tuple[str, ...] = ()
    seen_in: str | None = None


class Absent(Value):
    """Settings that a vendor's menus do not have, or of which nothing is known."""

    settings: Words
    platforms: tuple[str, ...] = ()
    offered: Literal["no", "unknown"] = Field(description="no, or unknown where that is not known")
    reason: str = Field(min_length=1, description="why: what was looked at, or what the menus have in its place")


class Vendor(Value):
    """One vendor's sheet."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", description="as its file is called, in small letters: hpe-cray-ex")
    name: str = Field(min_length=1, description="as it calls itself: Dell")
    match: tuple[Match, ...] = optional("any of them: [{system_vendor: [NAME IN SMBIOS]}]; () for an unknown vendor", ())
    generations: dict[str, tuple[str, ...]] = Field(
        description="the vendor's word for a generation of servers -> platforms; a sheet names them by their traits"
    )
    not_covered: tuple[TraitQuery, ...] = optional(
        "platforms with which this vendor builds no servers, or none that are known here", ()
    )
    redfish: Redfish | None = None
    tools: Tools = Tools()
    setup: str = optional("how the setup menus are reached, before an entry's menu", "")
    evidence: dict[str, Evidence] = optional("what the entries name under seen -> of which servers it is", {})
    locks: tuple[Lock, ...] = ()
    one_time: tuple[OneTime, ...] = ()
    shown: dict[str, dict[str, str]] = optional(
        "attribute -> value -> the words of the menu, where those are other words: ValueDisplayName", {}
    )
    settings: dict[str, tuple[Entry, ...]]
    falls_back: str | None = optional("id of the sheet that has the usual words for what is unknown here")
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
    vendor_value: VendorValue | None = optional("None where the vendor's word for it is not known")
    group: str | None = None
    path: str = optional("the way through the menus without how they are reached", "")
    exact: bool = optional("whether the attribute is one, and neither a beginning nor a guess", default=False)
    requires: tuple[Require, ...] = optional("what else it needs, in this machine's names", ())
    spoken: dict[str, VendorValue] = optional("neutral value -> this vendor's word, for undoing", {})
    show: tuple[str, ...] = optional("shell lines that print the present value", ())
    commands: tuple[str, ...] = optional("shell lines that stage the change, prerequisites first", ())
    apply: tuple[str, ...] = optional("shell lines that make all staged changes take effect, once", ())
    prerequisites: tuple[tuple[str, VendorValue, str], ...] = optional("attribute, value, why", ())
    notes: tuple[str, ...] = ()
    verified: bool = optional("whether firmware of this vendor and generation was seen with this name and value", default=False)


INTENTS: Final[tuple[IntentName, ...]] = get_args(IntentName)

TOPIC: Final = "intent"
"""The topic of what an intent asks for; findings of this topic come of no rule."""


class Choice(Value):
    """The value of one setting, and who asks for it."""

    value: str | None = optional("the neutral value; left out where the machine decides it, as the rules have it")
    guides: tuple[Guide, ...] = Field(min_length=1, description="the guides that ask for it, for this work")
    platforms: Annotated[tuple[TraitQuery, ...], BeforeValidator(queries_written)] = optional(
        "traits of the processors that the guides speak of; all where it is left out", ()
    )
    vendors: tuple[str, ...] = optional("the vendors whose sheets it is for; all where it is left out", ())


class Intent(Value):
    """One kind of work, and all that it settles."""

    title: Plain = Field(description="the work, in a few words")
    scope: Scope = Field(description="the scope that it is judged for")
    settings: dict[Name, tuple[Choice, ...]] = Field(
        min_length=1, description="setting -> its choices, of which the first that fits the server counts"
    )
    sets_aside: dict[Id, Plain] = optional("rules that do not count for this work, each with the reason", {})


class Intents(RootModel[dict[IntentName, Intent]]):
    """All intents by their names."""

    model_config = ConfigDict(frozen=True)
