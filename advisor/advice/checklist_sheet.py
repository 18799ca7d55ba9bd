"""A checklist as steps of one line, with all that is known of each: what to do, what to look up and how, what is right."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from advisor.advice.audit_page.card import Head
from advisor.advice.know.vendors import FALLBACK
from advisor.advice.model.plan import (
    HEADINGS,
    LOOK_UP_WITH,
    NAMED,
    NOTE_FIRST,
    Checklist,
    Expected,
    Item,
    Plan,
    Proof,
    Tick,
    value_text,
)
from advisor.advice.model.sheets import Vendor, Where
from advisor.machine.units import count, plain
from advisor.show.commandline import word

BOXES: Final[dict[Tick, str]] = {
    "todo": "[ ]", "consider": "( )", "unknown": "[?]", "done": "[x]", "not-here": "[-]", "waived": "[~]",
}  # fmt: skip
"""Marks that differ in shape, on paper as on a terminal."""

MEANS: Final[dict[Tick, str]] = {
    "todo": "to do", "consider": "to consider", "unknown": "not known", "done": "right", "not-here": "not applicable",
    "waived": "waived by the site",
}  # fmt: skip

SMALL: Final = ("low", "info")
NOTHING: Final = "no published value for this platform"
NO_COMMAND: Final = "not readable from this system"
_BIOS: Final = "--bios"
_NAME: Final = 3
"""So many words before a colon are the name of a thing, not what is so of it."""
_COMMAND: Final = re.compile(r"(?:sudo )?advisor ")
_HERE: Final = re.compile(r"\b(?:sudo )?advisor (?:audit|capture)\b")
_RESTART: Final = {"no": "no restart", "yes": "restart", "power-cycle": "power cycle"}


class Step(NamedTuple):
    """One line to tick."""

    mark: Tick
    item: Item
    what: str
    """NPS 1 -> 4, or what is wrong."""
    how: str
    """The way through the menus, the command, or what to do."""
    remark: str = ""
    """Why it is left to whoever reads."""

    @property
    def number(self) -> str:
        """Return the numbers that the audit gives it."""
        return ",".join(map(str, self.item.numbers))

    @property
    def is_command(self) -> bool:
        """Return whether what is to be done is a line to paste."""
        return bool(self.item.fix.commands) and self.item.fix.where != "bios"

    @property
    def commands(self) -> tuple[str, ...]:
        """Return the lines of the vendor's tool beside the way through the menus; () where no script writes it."""
        fix = self.item.fix
        return fix.commands if fix.where == "bios" and self.mark == "todo" and not self.item.done else ()


class Place(NamedTuple):
    """Steps that are done at one place: in the menus of the BIOS, on the system, in the rack."""

    where: Where
    heading: str
    steps: tuple[Step, ...]


class LookUp(NamedTuple):
    """What one command makes known."""

    command: str
    then: str
    """What is done with what it brings."""
    about: str
    names: tuple[tuple[str, str], ...]
    """What it is of: settings of the BIOS by name, those that matter with the value wanted; all else by number."""
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Sheet:
    """A checklist and its plan, as pages show them."""

    checklist: Checklist
    plan: Plan
    whole: Checklist
    """The list of which the one that is shown may be a part."""
    vendor: Vendor
    head: Head
    """What the audit comes to, whatever part of the list is shown."""
    again: tuple[str, ...] = field(default=())
    """The words that ask for the same list once more: --from node.tar.gz."""

    @property
    def name(self) -> str:
        """Return what the list is of."""
        asked = dict(zip(self.again[::2], self.again[1::2], strict=False))
        names = [plain(name, 80) for name in (asked.get("--cpu"), self.checklist.platform) if name]
        return self.checklist.machine or f"{', '.join(names) or 'hardware'} on order"

    @property
    def kind(self) -> str:
        """Return for which work it is, on which platform, and in whose words."""
        on = f" on {self.checklist.platform}" if self.checklist.platform and self.checklist.machine else ""
        own = "the usual" if self.vendor.id == FALLBACK else f"{self.checklist.vendor}'s"
        return f"for {self.checklist.scope} work{on}, with {own} setting names"

    @property
    def verdict(self) -> str:
        """Return what a hurried reader takes away."""
        return " · ".join(filter(None, ("LITTLE IS KNOWN" if self.head.little else "", self.head.says.upper())))

    @property
    def nothing(self) -> str:
        """Return what is said where a part of the list is asked for that has no line; empty where it has one."""
        if self.checklist.items or not self.whole.items:
            return ""
        marks: tuple[Tick, ...] = ("consider", "unknown")
        rest = " and ".join(f"{number} {MEANS[mark]}" for mark in marks if (number := len(self.whole.marked(mark))))
        return f"Nothing to do. {rest}: the same list without --todo." if rest else "Nothing to do."

    @property
    def tally(self) -> str:
        """Return how many lines have which mark: the numbers add up to all of them."""
        numbers = {mark: len(self.whole.marked(mark)) for mark in BOXES}
        words = ", ".join(f"{number} {MEANS[mark]}" for mark, number in numbers.items() if number or mark == "todo")
        return f"{count(len(self.whole.items), 'line')}: {words}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what holds for several lines and is said nowhere else on the page."""
        setup = self.plan.order or any(place.where == "bios" for place in self.places("todo", "consider"))
        elsewhere = f"The BIOS menus begin at: {self.vendor.setup}." if setup else None
        return tuple(note for note in self.checklist.notes if note != elsewhere and not note.startswith(LOOK_UP_WITH))

    @property
    def legend(self) -> str:
        """Return what the marks mean, of those that stand on the page."""
        order: tuple[Tick, ...] = ("todo", "consider")
        there = order if self.plan.order else [mark for mark in BOXES if self.checklist.marked(mark)]
        return " · ".join(f"{BOXES[mark]} {MEANS[mark]}" for mark in there)

    def places(self, *marks: Tick) -> tuple[Place, ...]:
        """Return the steps of some marks, place by place."""
        found = ((group, tuple(step(i) for i in group.items if i.mark in marks)) for group in self.checklist.groups)
        return tuple(Place(group.where, group.heading, steps) for group, steps in found if steps)

    @property
    def look_up(self) -> tuple[LookUp, ...]:
        """Return what is not known by the command that makes it known, that of most lines first."""
        ways: dict[str, list[Item]] = {}
        for item in self.checklist.marked("unknown"):  # ways to the same end are one
            look = item.look or ""
            bios = _BIOS in look or (item.fix.where == "bios" and item.setting and (not look or _HERE.search(look)))
            ways.setdefault(_BIOS if bios else "capture" if _HERE.search(look) else look, []).append(item)
        few = [way for way in ways if way not in (_BIOS, "capture") and not _COMMAND.match(way)]
        ordered = sorted((way for way in ways if way not in few), key=lambda way: -len(ways[way]))
        rest = [LookUp(NO_COMMAND, "", "", (), tuple(i for way in few for i in ways[way]))]
        return (*(self._look_up(way, ways[way]) for way in ordered), *(rest if few else ()))

    def _look_up(self, way: str, items: list[Item]) -> LookUp:
        """Return one way, settings that are read at the menus by name, and how many lines there are at other places."""
        of_bios = way == _BIOS and all(item.fix.where == "bios" for item in items)
        about = count(len(items), "setting of the BIOS", "settings of the BIOS") if of_bios else count(len(items), "line")
        refused = {each.setting for each in self.plan.refused}
        settings = [item for item in items if item.fix.where == "bios" and item.setting]
        heavy = [item for item in settings if item.setting not in refused and item.severity not in SMALL]
        places = Counter(HEADINGS[item.fix.where] for item in items if item not in settings)
        names = {
            "wanted": [f"{_term(item, 60)} {_wanted(item)}" for item in heavy],
            "of less weight": [_term(item, 60) for item in settings if item not in heavy],
            "": [f"{heading} {places[heading]}" for heading in HEADINGS.values() if places[heading]],
        }
        named = tuple((label, " · ".join(own)) for label, own in names.items() if own)
        return LookUp(*self._command(way), about, named, tuple(items))

    def _command(self, way: str) -> tuple[str, str]:
        if way == _BIOS:
            menus = "" if self.vendor.redfish else "; without a BMC that has Redfish look in the menus"
            command = " ".join(("advisor checklist", *map(word, self.again), "--bmc HOST"))
            return command, f"through its BMC, or with --bios FILE{menus}"
        if way == "capture" and "--from" in self.again:
            return "sudo advisor capture -o node.tar.gz", "on the machine, then this list with --from node.tar.gz"
        return ("sudo advisor checklist", "") if way == "capture" else (plain(way, 300), "")


def step(item: Item) -> Step:
    """Return a line of a machine as a step: a setting with its value, or a state with what to do where it is not so."""
    term, claim = _term(item, 100), item.claim
    if item.setting is None and item.mark == "not-here":
        return Step(item.mark, item, f"not so here: {plain(item.fault, 200)}", "")
    if item.setting is None and item.mark in ("unknown", "done", "waived"):
        return Step(item.mark, item, plain(item.title, 300), "")
    if item.setting is None:
        return Step(item.mark, item, _short(claim or item.title), _short(item.fix.text))
    if item.done:
        return Step(item.mark, item, f"{term} {plain(item.now or item.wanted, 60)}", "")
    change = f"{term} {f'{plain(item.now, 60)} ' if item.now else ''}-> {plain(item.wanted, 120)}"
    return Step(item.mark, item, change + ("" if item.now or not claim else f": {_short(claim)}"), how(item), remark(item))


def _short(text: str) -> str:
    """Return a text up to what explains it: the first clause, where that is more than a name."""
    first = re.split(r"; |: ", text)[0]
    return plain(first if len(first.split()) > _NAME else text.partition("; ")[0], 300)


def how(item: Item) -> str:
    """Return the command, what to do, or the way through the menus to the value, and the attribute behind it."""
    fix = item.fix
    if fix.where != "bios" and fix.commands:
        return fix.commands[0]
    if fix.where != "bios" or not fix.menu:
        return plain(fix.text, 300)
    value = fix.attribute_value if fix.attribute_value is not None else fix.value
    name = f" ({plain(fix.attribute, 100)})" if fix.attribute and fix.attribute_value is not None else ""
    return f"{plain(fix.menu, 200)}{f': {plain(value_text(value), 80)}' if value is not None else ''}{name}"


def remark(item: Item) -> str:
    """Return why whoever reads decides, and no script does."""
    if item.others:
        wants = ", ".join(f"{other.id} wants {other.wanted}" for other in item.others)
        return plain(f"CONFLICT: {item.id} wants {item.wanted}, {wants}", 300)
    if item.pending:
        return plain(f"{item.pending} takes effect at the next restart already", 200)
    return plain(item.left or "", 400)


def _term(item: Item, longest: int) -> str:
    return plain(item.term or item.title, longest)


def _wanted(item: Item) -> str:
    """Return the value wanted in the vendor's word, where it has one."""
    value = item.fix.attribute_value
    return plain(item.wanted if value is None else value_text(value), 60)


def right(checklist: Checklist) -> Iterator[tuple[str, str]]:
    """Yield what is right, a line a place: settings with their values, other checks by number."""
    for group in checklist.groups:
        own = [item for item in group.items if item.mark == "done"]
        names = [f"{_term(item, 60)} {plain(item.now or item.wanted, 40)}" for item in own if item.setting]
        checks = len(own) - len(names)
        if checks:
            names.append(f"{'and ' if names else ''}{count(checks, 'check')} passed")
        if names:
            yield group.heading, " · ".join(names)


def scripts(sheet: Sheet, formats: Iterable[str]) -> Iterator[str]:
    """Yield the formats that write something of a plan, with how much."""
    system = sheet.plan.system
    files = len(system.writes) + bool(system.profile)
    options = len(system.options) + len(system.unwanted)
    numbers = {"sysctl": len(system.by("sysctl")), "kernel-cmdline": options, "tuned": files, "ansible": files}
    for name in formats:
        number = numbers.get(name, len(sheet.plan.writes))
        if number:
            yield f"--as {name} ({count(number, 'setting')})"


def proof_of(checklist: Checklist, item: Item) -> str:
    """Return the benchmark that proves a line, with the first value that was published of it."""
    proof = checklist.proof_of(item)
    if proof is None:
        return "no benchmark shows it; use the check"
    published = published_value(proof.expected[0]) if proof.expected else NOTHING
    return f"{proof.command}: {published if proof.figures else proof.shows}"


def published_value(expected: Expected) -> str:
    """Return a published value with its conditions and its source."""
    conditions = f" ({expected.conditions})" if expected.conditions else ""
    return f"{expected.what} {expected.value}{conditions} [{expected.ref}]"


def compared(checklist: Checklist) -> tuple[Proof, ...]:
    """Return the benchmarks whose figures can be held against publications; those of one command are listed together."""
    found: dict[str, Proof] = {}
    for proof in (each for each in checklist.proofs if each.figures):
        command = proof.command.partition(" --before")[0]
        first = found.get(command, proof.model_copy(update={"command": command}))
        every = tuple(dict.fromkeys((*first.expected, *proof.expected)))
        found[command] = first.model_copy(update={"expected": every})
    return tuple(found.values())


def facts(item: Item, checklist: Checklist) -> Iterator[tuple[str, str]]:
    """Yield all that is known of a step, each text behind its label: what is to be done, why, how it is checked and undone."""
    fix, rules = item.fix, ", ".join(item.rules or (item.id,))
    yield "what", f"{item.title} [{item.severity}, {_RESTART[fix.reboot]}]"
    named = [*_states(item), *_steps(item), ("why", item.why), ("worth", item.cost)]
    named += [("guide", f"{guide.says} [{guide.ref}]") for guide in item.guides]
    named += [("leave it", item.spare), ("can break", item.breaks)]
    named += [("note", note) for note in fix.notes if note not in checklist.notes]
    named += [("script", f"no tool writes it: {item.left}" if item.left else None), ("check", item.check)]
    named += [("or", fix.check if fix.check != item.check else None), ("prove", proof_of(checklist, item))]
    named += [("undo", None if item.undo == NOTE_FIRST else item.undo), ("rule", rules)]
    yield from ((label, text) for label, text in named if text)


def _states(item: Item) -> Iterator[tuple[str, str | None]]:
    """Yield where it is, what it means, and what stands against it."""
    if item.setting or len(item.subjects) > NAMED:
        yield "at", ", ".join(item.subjects)
    yield "means", item.meaning
    for other in item.others:
        yield "CONFLICT", f"{other.id} wants {other.wanted}{''.join(f' [{ref}]' for ref in other.refs)}"
    yield "now", None if item.setting else item.now
    yield "pending", f"{item.pending} takes effect at the next restart" if item.pending else None


def _steps(item: Item) -> Iterator[tuple[str, str | None]]:
    fix, known = item.fix, item.fix.attribute_value is not None
    value = fix.attribute_value if known else fix.value or None
    if fix.menu:
        yield "menu", f"{fix.menu}{'' if value is None else f': {value}'}"
    if fix.attribute and known:
        sure = "" if fix.verified else " (name not verified against a registry)"
        yield "attribute", f"{fix.attribute}={fix.attribute_value}{sure}"
    if not item.setting or not (fix.menu or fix.commands):
        yield "do", fix.text
    yield from (("run", line) for line in fix.commands)
