"""An audit in full: every finding with steps, commands, undo and sources; every setting, verdict and fact."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from rich.cells import cell_len

from advisor.advice.audit_page.card import LONGEST, Asker, cost_or_basis, evidence_words, grouped, source
from advisor.advice.audit_page.machine import FACT_LABEL, details, proven, whole
from advisor.advice.audit_page.outcome import unknown_facts
from advisor.advice.audit_page.screen import Lines, rules_line
from advisor.advice.model.findings import Audit, Finding, Fix, Row, verdicts_of
from advisor.advice.model.rule import WHERES, Publication, Verdict
from advisor.machine.jinja import REBOOTS
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.units import count, plain
from advisor.measure.platform import MemoryBounds
from advisor.show.commandline import folded, word
from advisor.show.lines import Line, Page, labelled, with_units, wrapped
from advisor.show.picture import picture

Publications = Mapping[str, Publication]
Step = tuple[Sequence[str], str]
"""A command, and what it shows."""

LABEL: Final = 10
"""Columns that the name of a part takes."""

_SIGN: Final = {
    "differs": ("!", "warn"), "pending": ("*", "warn"), "met": ("=", "good"), "unknown": ("?", "unknown"), "taste": ("~", "dim"),
    "open": ("~", "dim"), "free": (" ", "label"),
}  # fmt: skip
_SURE: Final = {True: "seen in the vendor's own registry", False: "from documents; not checked against the vendor's registry"}
_LISTS: Final[tuple[tuple[Verdict, str], ...]] = (
    ("unknown", "Not known"), ("pass", "Passed"), ("not-applicable", "Does not apply"),
)  # fmt: skip


def whole_audit_page(
    audit: Audit,
    machine: Machine,
    layout: Layout,
    publications: Publications,
    *,
    added: Lines = lambda _: [],
    steps: Iterable[Step] = (),
    numbers: Mapping[str, int] | None = None,
    asker: Asker = Asker(),  # noqa: B008 - a frozen value
    believed: Sequence[str] = (),
    bounds: MemoryBounds | None = None,
    width: int | None = None,
) -> Page:
    """Return an audit with every verdict, setting and fact, each with where it was read and its source.

    ``believed`` are the files of the site that had a say, with owner and mode; ``bounds`` are proven of the memory.
    """
    seen = picture(machine, layout)

    def lines(room: int) -> list[Line]:
        facts = [line for fact in proven(machine, layout, bounds) for line in wrapped([(f"  {with_units(fact)}", "")], room, 4)]
        return [
            *whole(machine, seen, room),
            *([(), (("Proven, with or without root", "heading"),), *facts] if facts else ()),
            *full_findings(audit, room, publications, numbers),
            *all_settings(audit, room),
            *(line for listed in _LISTS for line in _listed(audit, *listed, room)),
            *details(machine, room),
            *unknown_facts(audit, room, asker),
            *rules_line(audit, room),
            *(labelled("site files", [("\n".join(believed), "")], room, FACT_LABEL) if believed else ()),
            *added(room),
            *_next(steps, room),
        ]

    return Page(lines, width)


def _next(steps: Iterable[Step], width: int) -> list[Line]:
    """Return the commands to go on with; what they show stands beside them where there is room.

    Where a command is wider than the page its lines end in backslashes: copied, they are one line of a shell.
    """
    named = [(argv, " ".join(map(word, argv)), shows) for argv, shows in steps]
    room = max((cell_len(command) for _, command, _ in named), default=0)
    result: list[Line] = []
    for at, (argv, command, shows) in enumerate(named):
        label = ("Next  " if at == 0 else " " * 6, "label")
        fits = 6 + room + 2 + cell_len(shows) <= width
        beside = (f"{'':{room - cell_len(command)}}  {shows}", "dim") if fits else ("", "")
        lines = [command] if fits else folded(argv, width - 6)
        result += [(label if not line else (" " * 6, ""), (text, "title"), beside) for line, text in enumerate(lines)]
    return [(), *result] if result else []


def state(row: Row, found: Mapping[str, bool]) -> str:
    """Return how a setting stands to what is wanted of it; ``found`` says by rule whether what it found does harm.

    A matter of taste differs without harm; it is open where a rule wants something else and found nothing.
    """
    if row.pending is not None and row.pending != row.current:
        return "pending"
    if row.met is not None:
        harms = [found[rule] for rule in row.rules if rule in found]
        return "met" if row.met else "differs" if any(harms) else "taste" if harms else "open"
    return "unknown" if row.current is None else "free"


def harms(audit: Audit) -> dict[str, bool]:
    """Return of each rule that found something whether that does harm."""
    return {each.id: each.severity != "info" for each in audit.findings if each.verdict in ("finding", "waived")}


def all_settings(audit: Audit, width: int) -> list[Line]:
    """Return every setting with all that is known of it, by where it is set."""
    about = f"  for {audit.scope}: ! differs, * changes at the next boot, = as wanted, ~ differs without harm known"
    found, result = harms(audit), [(), (("Settings", "heading"), (about, "dim"))]
    for where, rows in groupby(sorted(audit.settings, key=lambda row: WHERES.index(row.where)), key=lambda row: row.where):
        result.append(((where, "label"),))
        for row in rows:
            sign, style = _SIGN[state(row, found)]
            spans = [(row.term, "title"), (f" ({row.title}): ", ""), ("; ".join(filter(None, _setting(row))), "")]
            first, *more = labelled(f"{sign} {row.name}", spans, width, 30)
            result += [((first[0][0], style), *first[1:]), *more]
    return result


def _setting(row: Row) -> Iterator[str]:
    """Yield what a setting is set to, who is believed where that is not the operating system, what others say, what is wanted."""
    by = row.witnesses[0].by if row.witnesses else "system"
    who = f"{by}, " if by in ("register", "firmware") else ""
    current = row.current
    yield "is not known" if current is None else f"is {plain(current)} ({who}{row.confidence}: {plain(row.how or '')})"
    yield f"wanted {plain(row.wanted, 80) if row.wanted is not None else '?'}" if row.rules else ""
    others = (each for each in row.witnesses[1:] if each.by != "BIOS")
    yield from (f"{each.by} says {plain(each.value)} ({each.sure}: {plain(each.how)})" for each in others)
    yield f"the BIOS says {plain(row.bios)}" if row.bios is not None else ""
    yield f"changes to {plain(row.pending)} at the next boot" if row.pending is not None else ""
    yield f"asked by {', '.join(row.rules)}" if row.rules else ""


def full_findings(audit: Audit, width: int, publications: Publications, numbers: Mapping[str, int] | None = None) -> list[Line]:
    """Return every finding, waived and broken rule in full, under the numbers by which commands take them."""
    known = numbers or {own[0].id: at for at, own in enumerate(audit.by_rule, 1)}
    waived = [finding for finding in audit.findings if finding.verdict in ("waived", "error")]
    groups = grouped([*audit.found, *waived])
    result: list[Line] = [(), (("Findings", "heading"),)]
    for group in groups:
        result += [(), *_finding(group, width, publications, known.get(group[0].id))]
    return result if groups else [*result, (("none in what is known of this machine", ""),)]


def _finding(group: tuple[Finding, ...], width: int, publications: Publications, number: int | None) -> list[Line]:
    """Return a finding: what is so, why it matters, how it is known, what it costs, its steps, check, undo and sources."""
    head = group[0]
    word = f"{number or '':>2} {head.severity.upper()}" if head.verdict == "finding" else head.verdict.upper()
    style = head.severity if head.verdict == "finding" else "dim" if head.verdict == "waived" else "down"
    spans = [(f"{word:<{LABEL}}", style), (head.id, "title"), (f"  {plain(head.title, LONGEST)}", "")]
    result = wrapped(spans, width, indent=LABEL)
    result += _parts("claim", map(_claim, group), width)
    result += _parts("waived", [plain(head.waived or "", LONGEST)], width)
    result += _parts("why", [plain(head.why, 2000)], width)
    result += _parts("evidence", (evidence_words(one) for finding in group for one in finding.evidence), width)
    result += _parts("cost", [cost_or_basis(head)] if head.verdict != "error" else (), width)
    result += _parts("fix", [plain(head.advice or head.want or "", 2000)] if not head.fix else (), width)
    for at, step in enumerate(head.fix, 1):
        own = step.model_copy(update={name: None for name in ("check", "undo") if getattr(step, name) == getattr(head, name)})
        result += _step(own, f"fix {at}" if len(head.fix) > 1 else "fix", width)
    for label, text in (("check", head.check), ("undo", head.undo), ("leave it", head.spare)):
        result += _parts(label, [plain(text or "", 2000)], width)
    result += _parts("guides", (f"{guide.ref} says: {plain(guide.says, 2000)}" for guide in head.guides), width)
    return result + _parts("sources", (_cited(ref, publications) for ref in head.refs), width)


def _parts(label: str, texts: Iterable[str], width: int, style: str = "") -> list[Line]:
    """Return texts under one another, each once, the first with the label; nothing of an empty one."""
    known = enumerate(filter(None, dict.fromkeys(texts)))
    return [line for at, text in known for line in labelled(f"  {'' if at else label}", [(text, style)], width, LABEL + 2)]


def _claim(finding: Finding) -> str:
    claim, subject = plain(finding.claim or finding.title, 2000), plain(finding.subject or "", 80)
    return claim if not subject or subject in claim else f"{subject}: {claim}"


def _cited(ref: str, publications: Publications) -> str:
    """Return a publication in one line."""
    known = source(ref, publications)
    year = f", {known.year}" if known.year else ""
    return f"{ref}: {known.title} ({known.by}{year}), {plain(known.where)}" if known.title else ref


def _step(step: Fix, label: str, width: int) -> list[Line]:
    """Return one step; its commands stand alone on their lines, unbroken, to be copied."""
    restart = "" if step.reboot == "no" else f" (takes effect after a {'reboot' if step.reboot == 'yes' else step.reboot})"
    result = labelled(f"  {label}", [(plain(step.text, 2000), "title"), (restart, "dim")], width, LABEL + 2)

    def said(*texts: str) -> list[Line]:
        return [line for text in texts for line in _parts("", [text], width, "dim")]

    def to_copy(commands: Iterable[str]) -> list[Line]:
        return [((" " * (LABEL + 2) + "$ ", "dim"), (plain(line, 2000), "")) for line in commands]

    result += said(*(f"first {plain(text, LONGEST)}" for text in step.before))
    result += to_copy(line for line in step.commands if line != step.text)
    result += [*said(REBOOTS), *to_copy(step.apply)] if step.apply else []
    result += said(f"this name and value: {_SURE[step.verified]}") if step.verified is not None else []
    result += said(*(plain(note, LONGEST) for note in step.notes))
    result += said(f"shown by: {plain(step.check, LONGEST)}") if step.check else []
    return result + (said(f"undo: {plain(step.undo, LONGEST)}") if step.undo else [])


def _listed(audit: Audit, verdict: Verdict, title: str, width: int) -> list[Line]:
    """Return what is unknown and for want of what, what passed, or what does not apply and why."""
    counted, partly = verdicts_of(audit, verdict)
    if not counted and not partly:
        return []
    more = f", and in part {len(partly)} counted elsewhere" if partly else ""
    result: list[Line] = [(), ((title, "heading"), (f"  {count(len(counted), 'rule')}{more}", "dim"))]
    for name, own in {**counted, **partly}.items():
        reasons: dict[str, list[str]] = {}
        for finding in own:
            lacks = ", ".join(plain(lack.fact, 80) for lack in finding.lacks) if verdict == "unknown" else ""
            why = "" if verdict == "pass" else lacks or plain(finding.claim or "", LONGEST)
            reasons.setdefault(why, []).extend([plain(finding.subject, 60)] if finding.subject else [])
        for why, names in reasons.items():
            about = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
            spans = [(name, "title"), (f" ({about})" if about else "", ""), (f": {why}" if why else "", "dim")]
            result += wrapped(spans, width)
    return result
