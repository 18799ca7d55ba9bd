"""What a vendor of servers calls each setting, where it stands in the menus, and how its tools set it."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, StrictStr, model_validator

from advisor.errors import did_you_mean
from advisor.machine.platform_traits import TraitQuery, queries_written
from advisor.machine.value import Keys, Value, optional, wrong_at

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

    @model_validator(mode="after")
    def _whole(self) -> "Entry":
        names = [name for name in (self.attribute, self.prefix, self.numbered) if name]
        if len(names) > 1:
            raise ValueError("more than one name of an attribute; keep one of attribute, prefix and numbered")
        if self.numbered is not None and self.numbered.count("{n}") != 1:
            raise ValueError("numbered has {n} once")
        if not self.values and not self.passes:
            raise ValueError("no word for any value; write values: {NEUTRAL: VENDOR'S}, or passes")
        if self.seen and not names:
            raise ValueError("what is seen has an attribute")
        if wrong := [value for seen in self.seen.values() if seen != "all" for value in seen if value not in self.values]:
            raise ValueError(f"seen: {wrong[0]} is not a value of this entry; there are {', '.join(self.values)}")
        return self


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

    @model_validator(mode="after")
    def _whole(self) -> "Vendor":
        for place, word in self._named():
            if word not in self.generations:
                cure = did_you_mean(word, self.generations, f"there are {', '.join(self.generations)}")
                raise wrong_at((*place, "platforms"), f"{word[:60]} is none of this vendor's generations", cure)
        for place, entry in self.entries():
            for seen in (*entry.seen, *(seen for need in entry.requires for seen in need.seen)):
                if seen not in self.evidence:
                    cure = did_you_mean(seen, self.evidence, "list it under evidence")
                    raise wrong_at((*place, "seen", seen), f"{place[1]}: {seen} is not an evidence of this sheet", cure)
                shown = self.evidence[seen].platforms  # of a generation that has no platform another error speaks
                if all(self.generations[word] for word in shown) and not self._both(entry.platforms, shown):
                    said = f"{place[1]}: {seen} is of none of the generations that this entry is for"
                    raise wrong_at((*place, "seen", seen), said, f"it is of {', '.join(shown)}")
        return self

    def entries(self) -> Iterator[tuple[Keys, Entry]]:
        """Yield every entry with its place in the sheet."""
        for name, entries in self.settings.items():
            yield from ((("settings", name, number), entry) for number, entry in enumerate(entries))

    def _named(self) -> Iterator[tuple[Keys, str]]:
        """Yield every generation that is named, with its place in the sheet."""
        places: list[tuple[Keys, tuple[str, ...]]] = [(place, entry.platforms) for place, entry in self.entries()]
        places += [(("absent", number), each.platforms) for number, each in enumerate(self.absent)]
        places += [(("locks", number), each.platforms) for number, each in enumerate(self.locks)]
        places += [(("one_time", number), each.platforms) for number, each in enumerate(self.one_time)]
        places += [(("evidence", name), each.platforms) for name, each in self.evidence.items()]
        yield from ((place, word) for place, words in places for word in words)

    def _both(self, some: tuple[str, ...], others: tuple[str, ...]) -> bool:
        every = {platform for ids in self.generations.values() for platform in ids}
        return any(self.serves(some, platform) and self.serves(others, platform) for platform in every)

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
