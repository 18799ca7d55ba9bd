"""All that is known of a step: why, what it is worth, how it is checked and undone, and the benchmark that proves it."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from advisor.advice.model.checklist import NAMED, NOTE_FIRST, Checklist, Expected, Item, Proof
from advisor.machine.units import plain, printable
from advisor.show.lines import Line, labelled, wrapped

HEADING: Final = "What the benchmarks should show"
NOTHING: Final = "no published value for this platform"
UNVERIFIED: Final = "(name not verified against a registry)"
_NONE: Final = "no benchmark shows it: use the check"
_LABEL: Final = 16
_DEEP: Final = 6
_RESTART: Final = {"no": "no restart", "yes": "restart", "power-cycle": "power cycle"}
_WORD: Final = re.compile(r"""(?:[^\s'"\\]|'[^']*'|"(?:[^"\\]|\\.)*"|\\.)+""")
"""What a shell takes for one word, or for words without a blank between them."""

Fact = tuple[str, str]
"""A label and what is said."""


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


def details(checklist: Checklist, width: int) -> Iterator[Line]:
    """Yield what stands below the list in full: notes, benchmarks, what is not offered, sources."""
    yield from _section("Before you start", checklist.notes, width)
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


def facts_below(item: Item, checklist: Checklist, width: int) -> Iterator[Line]:
    """Yield all that is known of a step, a label a line."""
    for label, text in facts(item, checklist):
        head = f"{'':{_DEEP}}{label}"
        if label in ("run", "check", "or") and not text.startswith("advisor "):
            yield from _command(head, printable(text), width)
        else:
            yield from labelled(head, [(plain(text, 1000), "warn" if label == "CONFLICT" else "")], width, _LABEL)


def _command(head: str, text: str, width: int) -> Iterator[Line]:
    """Yield a command beside its label; below it where a word is too long for that."""
    longest = max(map(len, text.split()), default=0)
    if longest > width - _LABEL - 4:
        yield ((head, "label"),)
        yield from (((f"{'':{_DEEP + 2}}{line}", ""),) for line in broken(text, width - _DEEP - 2))
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


def facts(item: Item, checklist: Checklist) -> Iterator[Fact]:
    """Yield what is to be done, why, and how it is checked and undone."""
    yield "what", f"{item.title} [{item.severity}, {_RESTART[item.fix.reboot]}]"
    yield from _states(item)
    yield from _steps(item)
    yield from _said("why", item.why)
    yield from _said("worth", item.cost)
    yield from (("guide", f"{guide.says} [{guide.ref}]") for guide in item.guides)
    yield from _said("leave it", item.spare)
    yield from _said("can break", item.breaks)
    yield from (("note", note) for note in item.fix.notes if note not in checklist.notes)
    yield from _said("script", f"none writes it: {item.left}" if item.left else None)
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
