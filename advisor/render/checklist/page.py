"""The checklist on a terminal or on paper: boxes, what to do, why, how to check, what benchmark proves it, how to go back."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from advisor.language.units import count, plain, printable
from advisor.model.audit.checklist import NAMED, NOTE_FIRST, Checklist, Expected, Group, Item, Proof
from advisor.render.lines import Line, Page, labelled, wrapped

HEADING: Final = "What the benchmarks should show"
NOTHING: Final = "no published value for this platform"
_NONE: Final = "no benchmark shows it: use the check"


def proof_of(checklist: Checklist, item: Item) -> str:
    """Return the benchmark that proves a line, with the first value that was published of it."""
    proof = checklist.proof_of(item)
    if proof is None:
        return _NONE
    if not proof.figures:
        return f"{proof.command}: {proof.shows}"
    first = proof.expected[0] if proof.expected else None
    return f"{proof.command}: {published_value(first) if first else NOTHING}"


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


def proof_lines(checklist: Checklist, width: int) -> Iterator[Line]:
    """Yield each benchmark with all that was published of it for the platform."""
    for at, proof in enumerate(compared(checklist)):
        if at == 0:
            yield ()
            yield ((HEADING, "heading"),)
        yield from wrapped([(plain(proof.command), "title"), (f": {plain(proof.shows)}", "")], width)
        for each in proof.expected:
            yield from wrapped([("  - ", ""), (plain(published_value(each), 400), "")], width, indent=4)
        if not proof.expected:
            yield from wrapped([(f"  - {NOTHING}", "dim")], width, indent=4)


SCHEMA: Final = "advisor-checklist/1"
"""The number rises when a key changes meaning or goes."""

UNVERIFIED: Final = "(name not verified against a registry)"
_LABEL: Final = 16
_INDENT: Final = 6
_RESTART: Final = {"no": "no restart", "yes": "restart", "power-cycle": "power cycle"}
_WORD: Final = re.compile(r"""(?:[^\s'"\\]|'[^']*'|"(?:[^"\\]|\\.)*"|\\.)+""")
"""What a shell takes for one word, or for words without a blank between them."""

Fact = tuple[str, str]
"""A label and what is said."""


def checklist_document(checklist: Checklist) -> dict[str, Any]:
    """Return the checklist as plain JSON values."""
    return {"schema": SCHEMA, **checklist.model_dump(mode="json")}


def checklist_page(checklist: Checklist, width: int | None = None) -> Page:
    """Return the checklist as a page."""
    return Page(lambda room: list(_lines(checklist, room)), width)


def _lines(checklist: Checklist, width: int) -> Iterator[Line]:
    name = checklist.machine or (f"{checklist.platform} on order" if checklist.platform else "hardware on order")
    yield from wrapped([("Tuning checklist: ", "title"), (plain(name), "title")], width)
    kind = f" on {plain(checklist.platform)}" if checklist.platform and checklist.machine else ""
    number = len(checklist.items)
    left = number - checklist.done - checklist.unknown
    told = f"{checklist.done} done, {left} to do, {checklist.unknown} not known"
    yield from wrapped([(f"For {checklist.scope} work{kind}, with the names of {plain(checklist.vendor)}.", "")], width)
    yield from wrapped([(f"{count(number, 'line')}: {told}.", "")], width)
    yield from _section("Before you start", checklist.notes, width)
    at = 0
    for group in checklist.groups:
        yield from _group(group, checklist, at, width)
        at += len(group.items)
    yield from proof_lines(checklist, width)
    yield from _section(f"Not offered by {plain(checklist.vendor)} here", checklist.absent, width)
    if checklist.sources:
        yield ()
        yield (("Sources", "heading"),)
        for source in checklist.sources:
            yield from wrapped([(f"[{source.id}] ", "dim"), (plain(source.text, 300), "dim")], width, indent=4)


def _section(heading: str, texts: Iterable[str], width: int) -> Iterator[Line]:
    for at, line in enumerate(texts):
        if at == 0:
            yield ()
            yield ((heading, "heading"),)
        yield from wrapped([("- ", ""), (plain(line, 8000), "")], width)


def _group(group: Group, checklist: Checklist, before: int, width: int) -> Iterator[Line]:
    yield ()
    yield ((group.heading, "heading"),)
    for number, item in enumerate(group.items, before + 1):
        if not item.done or (number > before + 1 and not group.items[number - before - 2].done):
            yield ()
        yield from _item(item, number, checklist, width)
    if group.where == "bios" and checklist.apply:
        yield ()
        yield from wrapped(
            [("Then, once, for all of the above. ", ""), ("It restarts the machine: drain it first.", "warn")], width
        )
        for command in checklist.apply:
            yield from (((f"{'':{_INDENT}}{line}", ""),) for line in broken(printable(command), width - _INDENT))


def _item(item: Item, number: int, checklist: Checklist, width: int) -> Iterator[Line]:
    box = "[x]" if item.done else "[ ]"
    title = f"{box} {number}. "
    if item.done:
        state = f": {item.now or item.wanted}" if item.setting else ""
        yield from wrapped([(title, "good"), (plain(item.title + state, 300), "dim")], width, indent=_INDENT)
        return
    change = f": {item.now or '?'} -> {item.wanted}" if item.setting else ""
    tag = f"  [{item.severity}, {_RESTART[item.fix.reboot]}{', waived' if item.verdict == 'waived' else ''}]"
    spans = [(title, "title"), (plain(item.title + change, 300), "title"), (tag, item.severity)]
    yield from wrapped(spans, width, indent=_INDENT)
    for label, text in _facts(item, checklist):
        head = f"{'':{_INDENT}}{label}"
        if label in ("run", "check", "or") and not text.startswith("advisor "):
            yield from _command(head, printable(text), width)
        else:
            yield from labelled(head, [(plain(text, 1000), "warn" if label == "CONFLICT" else "")], width, _LABEL)


def _command(head: str, text: str, width: int) -> Iterator[Line]:
    """Yield a command beside its label; below it where a word is too long for that."""
    longest = max(map(len, text.split()), default=0)
    if longest > width - _LABEL - 4:
        yield ((head, "label"),)
        yield from (((f"{'':{_INDENT + 2}}{line}", ""),) for line in broken(text, width - _INDENT - 2))
        return
    for at, line in enumerate(broken(text, width - _LABEL)):
        yield ((f"{head if at == 0 else '':<{_LABEL}}", "label"), (line, ""))


def broken(command: str, width: int) -> list[str]:
    """Return a command in lines that a shell reads as one; what is none, or has a text wider than the page, ends at blanks."""
    if len(command) <= width:
        return [command]
    words = _WORD.findall(command)
    # An apostrophe opens quotes that nothing closes; behind a comment no backslash counts.
    wide = any(" " in word and len(word) > width - 4 for word in words)
    plainly = not wide and not _WORD.sub("", command).strip() and not any(word.startswith("#") for word in words)
    lines = [""]
    for word in words if plainly else command.split():
        if lines[-1].strip() and len(lines[-1]) + len(word) + 1 > width - 2:
            lines.append("  ")
        lines[-1] += word if not lines[-1].strip() else f" {word}"
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:] if plainly else lines


def _facts(item: Item, checklist: Checklist) -> Iterator[Fact]:
    """Yield what is to be done, why, and how it is checked and undone."""
    yield from _states(item)
    yield from _steps(item)
    yield from _said("why", item.why)
    yield from _said("worth", item.cost)
    yield from (("guide", f"{guide.says} [{guide.ref}]") for guide in item.guides)
    yield from _said("leave it", item.spare)
    yield from _said("can break", item.breaks)
    yield from (("note", note) for note in item.fix.notes if note not in checklist.notes)
    yield from _said("check", item.check)
    yield from _said("or", item.fix.check if item.fix.check != item.check else None)
    yield "prove", proof_of(checklist, item)
    yield from _said("undo", None if item.undo == NOTE_FIRST else item.undo)
    yield "rule", ", ".join(item.rules or (item.id,))


def _said(label: str, text: str | None) -> Iterator[Fact]:
    if text:
        yield label, text


def _states(item: Item) -> Iterator[Fact]:
    """Yield where it is, what it means, and what stands against it."""
    if item.setting or len(item.subjects) > NAMED:
        yield from _said("at", ", ".join(item.subjects))
    yield from _said("means", item.meaning)
    for other in item.others:
        yield "CONFLICT", f"{other.id} wants {other.wanted}{''.join(f' [{ref}]' for ref in other.refs)}"
    yield from _said("now", None if item.setting else item.now)
    yield from _said("pending", f"{item.pending} takes effect at the next restart" if item.pending else None)


def _steps(item: Item) -> Iterator[Fact]:
    fix = item.fix
    told = fix.attribute_value is not None
    if fix.menu:
        yield "menu", fix.menu + (f": {fix.attribute_value}" if told else f": {fix.value}" if fix.value else "")
    if fix.attribute and told:
        yield "attribute", f"{fix.attribute}={fix.attribute_value}{'' if fix.verified else f' {UNVERIFIED}'}"
    if not item.setting or not (fix.menu or fix.commands):
        yield "do", fix.text
    yield from (("run", line) for line in fix.commands)
