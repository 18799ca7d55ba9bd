"""What could not be learnt of a machine, by what would make it known."""

from collections.abc import Iterable

from advisor.model.amounts import plain
from advisor.model.evidence import NOT_OFFERED
from advisor.model.machine import Machine
from advisor.render.lines import Line, wrapped

FEW = 3
"""So many facts of one section are named each; more are counted."""

Gaps = dict[str, dict[str, list[str]]]
"""Names of facts, by what would help and by what stood in the way."""


def unseen(machine: Machine, width: int, *, verbose: bool = False) -> list[Line]:
    """Return a section of what could not be learnt, empty where nothing lacks; verbose, every fact by its name."""
    gaps = _gaps(machine)
    absent = gaps.pop(NOT_OFFERED, {})
    result: list[Line] = []
    for cure, reasons in gaps.items():
        words = f"- {'; '.join(f'{_named(names, verbose=verbose)}: {why}' for why, names in reasons.items())} "
        result += wrapped([(words, ""), ("-> ", "dim"), (cure, "title")], width)
    if absent:
        names = [name for some in absent.values() for name in some]
        result += wrapped([(f"- {_named(names, verbose=verbose)}: {NOT_OFFERED}", "dim")], width)
    return [(), (("What could not be seen", "heading"),), *result] if result else []


def _gaps(machine: Machine) -> Gaps:
    found: Gaps = {}
    for gap in machine.gaps:
        found.setdefault(plain(gap.help), {}).setdefault(plain(gap.why), []).append(plain(gap.fact, 80))
    return found


def _named(names: Iterable[str], *, verbose: bool) -> str:
    """Return names of facts: ``memory, cpu.epp, 6 facts of kernel``."""
    sections: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        sections.setdefault(name.partition(".")[0], []).append(name)
    few = (
        ", ".join(own) if verbose or len(own) <= FEW else f"{len(own)} facts of {section}" for section, own in sections.items()
    )
    return ", ".join(few)
