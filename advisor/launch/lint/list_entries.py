"""Warnings about lists with an entry for each rank of a node: the same sign parts ranks for one launcher and CPUs for another."""

from collections.abc import Iterator
from dataclasses import dataclass

from advisor.launch.lint.spelling import warning
from advisor.model.placement import LintWarning

_MOST = 8192
"""Entries that are counted: Linux has no more CPUs."""


@dataclass(frozen=True)
class Signs:
    """How a launcher reads a list."""

    parts: str
    """What parts the ranks: a semicolon of Flux, a colon of PALS."""
    name: str
    short: str
    """What becomes of ranks that a short list has no entry for."""


def list_warnings(kind: str, listed: str, each: int, signs: Signs) -> Iterator[LintWarning]:
    """Yield a warning about a list that parts its ranks by commas, or that has fewer entries than a node has ranks."""
    words = [word for word in listed.split(signs.parts, _MOST) if word]
    if len(words) == 1 and each > 1 and "," in listed and not listed.startswith("0x"):
        why = f"A comma joins CPUs of one rank; a {signs.name} parts the ranks."
        better = f"{kind}:{listed.replace(',', signs.parts)[:200]}"
        what = f"CPUs {listed[:60]} are one entry for {each} ranks of a node"
        yield warning("separator", what, why, f"{kind}:{listed[:60]}", better, bad=True)
    elif words and len(words) < each:
        what = f"{each} ranks on a node, {len(words)} entr{'ies' if len(words) > 1 else 'y'} in {kind}"
        yield warning("short-list", what, signs.short, f"{kind}:{listed[:100]}", f"{each} entries", bad=True)
