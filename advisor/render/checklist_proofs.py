"""Which benchmark proves a line of the checklist, and what it should show on this platform, in words."""

from collections.abc import Iterator
from typing import Final

from advisor.language.units import plain
from advisor.model.audit.checklist import Checklist, Expected, Item, Proof
from advisor.render.lines import Line, wrapped

HEADING: Final = "What the benchmarks should show"
NOTHING: Final = "no published value for this platform"
_NONE: Final = "no benchmark shows it: its check is all"


def proof_of(checklist: Checklist, item: Item) -> str:
    """Return the benchmark that proves a line, with the first value that was published of it."""
    proof = checklist.proof_of(item)
    if proof is None:
        return _NONE
    if not proof.figures:
        return f"{proof.command}: {proof.shows}"
    first = proof.expected[0] if proof.expected else None
    return f"{proof.command}: {told(first) if first else NOTHING}"


def told(expected: Expected) -> str:
    """Return a published value with its conditions and its source."""
    conditions = f" ({expected.conditions})" if expected.conditions else ""
    return f"{expected.what} {expected.value}{conditions} [{expected.ref}]"


def compared(checklist: Checklist) -> tuple[Proof, ...]:
    """Return the benchmarks whose figures can be held against publications; those of one command are told together."""
    found: dict[str, Proof] = {}
    for proof in (each for each in checklist.proofs if each.figures):
        command = proof.command.partition(" --before")[0]
        first = found.get(command, proof.model_copy(update={"command": command}))
        every = tuple(dict.fromkeys((*first.expected, *proof.expected)))
        found[command] = first.model_copy(update={"expected": every})
    return tuple(found.values())


def lines(checklist: Checklist, width: int) -> Iterator[Line]:
    """Yield each benchmark with all that was published of it for the platform."""
    for at, proof in enumerate(compared(checklist)):
        if at == 0:
            yield ()
            yield ((HEADING, "heading"),)
        yield from wrapped([(plain(proof.command), "title"), (f": {plain(proof.shows)}", "")], width)
        for each in proof.expected:
            yield from wrapped([("  - ", ""), (plain(told(each), 400), "")], width, indent=4)
        if not proof.expected:
            yield from wrapped([(f"  - {NOTHING}", "dim")], width, indent=4)
