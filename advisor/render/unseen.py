"""What could not be learnt of a machine, by what would make it known, and which rules wait for it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from advisor.language.units import count, plain
from advisor.model.audit.findings import Audit
from advisor.model.audit.measured_facts import MEASURED
from advisor.model.hardware.machine import NOT_OFFERED
from advisor.render.lines import Line, Span, wrapped

FEW = 3
"""So many facts of one section are named each; more are counted."""

SHOWN = 5
"""So many cures stand on one screen, those for which most rules wait."""


@dataclass
class Missing:
    """What one cure would make known: facts by what stood in the way, and the rules that wait for them."""

    help: str
    facts: dict[str, list[str]] = field(default_factory=dict)
    """Names of facts, by what stood in the way."""
    rules: dict[str, None] = field(default_factory=dict)

    def add(self, fact: str, why: str) -> None:
        """Take in a fact and why it is not known."""
        names = self.facts.setdefault(plain(why), [])
        name = plain(fact, 80)
        if name not in names:
            names.append(name)


def missing(audit: Audit) -> tuple[Missing, ...]:
    """Return what is not known by its cure, that for which most rules wait first, what nobody can offer last."""
    found: dict[str, Missing] = {}
    for gap in audit.unseen:
        found.setdefault(gap.help, Missing(plain(gap.help))).add(gap.fact, gap.why)
    gaps = frozenset(found)
    for finding in audit.findings:
        for lack in finding.lacks:
            one = found.setdefault(lack.help, Missing(plain(lack.help)))
            one.rules[finding.id] = None
            if lack.help not in gaps:
                one.add(lack.fact, lack.why)
    return tuple(sorted(found.values(), key=lambda one: (one.help == NOT_OFFERED, -len(one.rules))))


def unseen(audit: Audit, width: int, *, verbose: bool = False) -> list[Line]:
    """Return a section of what could not be learnt, empty where nothing lacks; verbose, every fact and rule by name."""
    every = missing(audit)
    shown = every if verbose else every[:SHOWN]
    result = [line for one in shown for line in wrapped(_spans(one, verbose=verbose), width)]
    if len(every) > len(shown):
        facts = sum(len(names) for one in every[SHOWN:] for names in one.facts.values())
        result += wrapped([(f"- {count(facts, 'more fact')} by other means: -v names them", "dim")], width)
    return [(), (("What could not be seen, and what would show it", "heading"),), *result] if result else []


def _spans(one: Missing, *, verbose: bool) -> list[Span]:
    if verbose:
        what = "; ".join(f"{_named(names, verbose=True)}: {why}" for why, names in one.facts.items())
        waits = f" [{count(len(one.rules), 'rule')}: {', '.join(one.rules)}]" if one.rules else ""
    else:
        what = _named((name for names in one.facts.values() for name in names), verbose=False)
        waits = f" [{count(len(one.rules), 'rule waits', 'rules wait')}]" if one.rules else ""
    if one.help == NOT_OFFERED:
        return [(f"- {what}: {NOT_OFFERED}{waits}", "dim")]
    return [(f"- {what} ", ""), ("-> ", "dim"), (one.help, "title"), (waits, "dim")]


def _named(names: Iterable[str], *, verbose: bool) -> str:
    """Return names of facts: ``memory, cpu.epp, 6 facts of kernel``."""
    sections: dict[str, list[str]] = {}
    for name in dict.fromkeys("nothing was measured" if name == MEASURED else name for name in names):
        sections.setdefault(name.partition(".")[0], []).append(name)
    return ", ".join(
        ", ".join(own) if verbose or len(own) <= FEW else _counted(section, own) for section, own in sections.items()
    )


def _counted(section: str, own: list[str]) -> str:
    return f"{len(own)} settings" if section == "setting" else f"{len(own)} facts of {section}"
