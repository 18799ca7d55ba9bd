"""A report as one page for a browser, and as Markdown for a ticket: what the templates fill in."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from advisor.advice.audit_page.page import facts_with_places
from advisor.advice.audit_page.summary import identity
from advisor.advice.audit_page.unseen import THERE, elsewhere, missing_facts, open_checks, tally
from advisor.advice.audit_page.verdicts import state
from advisor.advice.model.findings import Audit, Row
from advisor.advice.model.rule import WHERES, Publication, Verdict
from advisor.advice.model.totals import verdicts_of
from advisor.exports.report.content import ReportContent, plan_lines, withheld_line
from advisor.exports.report.drawings import dark_rules, embedded
from advisor.exports.report.findings import (
    FIXES,
    SCOPES,
    Card,
    Source,
    card,
    comparisons,
    considered,
    figures,
    numbered,
    source,
    verdict,
)
from advisor.exports.report.machine import marked, places
from advisor.exports.report.measured import exhibits, race_exhibits
from advisor.machine.jinja import fill
from advisor.machine.units import count, plain
from advisor.show.commandline import word
from advisor.show.lines import text_of
from advisor.show.topology.elements import Picture
from advisor.show.topology.picture import picture
from advisor.show.topology.svg import draw_svg


def html_report(content: ReportContent, template: str, style: str) -> str:
    """Return the page: one file, without script and without request."""
    return fill(template, {**values(content, form="-o report.html"), "style": style, "dark": dark_rules()}, "report.html.j2")


def markdown_report(content: ReportContent, template: str) -> str:
    """Return the report for a ticket: without drawings."""
    return fill(template, values(content, form="--as md", drawn=False), "report.md.j2")


def values(content: ReportContent, form: str, *, drawn: bool = True) -> dict[str, Any]:
    """Return what the templates may use; ``form`` are the words that make the same kind of file again."""
    audit, machine, only = content.audit, content.machine, content.only
    harmful, minor = numbered(audit, minor=False, only=only), numbered(audit, minor=True, only=only)
    if only:  # whoever asks for a finding by its number wants all of it, however little it weighs
        harmful, minor = [*harmful, *minor], []
    cards = [card(number, own, content.plan, content.publications) for number, own in harmful]
    rest = [card(number, own, content.plan, content.publications) for number, own in minor]
    seen = marked(picture(machine, content.layout), machine, audit, content.measured, only)
    on_picture = places(seen)
    first = _first_page(content, seen.title, cards)
    found = {
        **first,
        "drawing": _drawing(seen) if drawn and machine.topology else "",
        "marks": [(each, each.number in on_picture) for each in (*cards, *rest)],
        "exhibits": exhibits(content.measurements if drawn else None, content.measured, machine),
        "races": race_exhibits(content.races, drawn=drawn),
        "elsewhere": not content.asker.live,
        "again": " ".join(("advisor report", *map(word, (*content.asker.words, *_raced(content))), form)),
        "options": "".join(f" {word(each)}" for each in content.asker.words),
        "source": "".join(f" {word(each)}" for each in content.asker.source),
        "settings": _settings(audit, content.publications, only),
        "plan": content.plan,
        "by_hand": [
            (heading, lines) for heading, lines in plan_lines(content.plan, frozenset(each.id for each in (*cards, *rest)))
        ],
        "commands": _commands(content),
        "apply": _apply(content),
        "scripts": content.scripts,
        "launches": () if only else content.launches,
        "only": bool(only),
        "withheld": withheld_line(content),
        "launch_notes": _shared([line.notes for line in content.launches]),
        "not_seen": _not_seen(audit),
        "every": [_Shown(**each.__dict__, shown=at < FIXES and each in cards) for at, each in enumerate((*cards, *rest))],
        "sources": _sources(content, cards, rest),
        "facts": list(facts_with_places(machine)),
        "verdicts": _verdicts(audit),
    }
    return {**found, "contents": _contents(found)}


def _first_page(content: ReportContent, name: str, cards: Sequence[Card]) -> dict[str, Any]:
    """Return what stands above everything else: the verdict, the fixes, the figures that matter."""
    audit = content.audit
    return {
        "name": name,
        "identity": "; ".join(_identity(content)),
        "made": plain(content.made, 40),
        "scope": SCOPES.get(audit.scope, audit.scope),
        "version": plain(content.version, 40),
        "platform": plain(audit.platform or "", 80),
        "vendor": plain(content.vendor, 60),
        "verdict": verdict(audit, content.only),
        "cards": cards[:FIXES],
        "more": cards[FIXES:],
        "considered": [] if content.only else considered(audit),
        "pending": [_pending(row) for row in audit.settings if row.pending is not None and row.pending != row.current],
        "waived": _claims(audit, "waived"),
        "tally": ", ".join(tally(audit)),
        "figures": figures(content.measured),
        "comparisons": comparisons(content.measured, content.publications),
        "unseen": []
        if content.only
        else [
            f"{count(number, 'check')}: {way}{f' {THERE}' if elsewhere(way, content.asker) else ''}"
            for way, number in open_checks(audit, content.asker)
        ],
    }


@dataclass(frozen=True)
class _Shown(Card):
    """A card that may stand on the first page already."""

    shown: bool = False


def _sources(content: ReportContent, cards: Iterable[Card], rest: Iterable[Card]) -> list[Source]:
    """Return every publication that the page cites, each once."""
    rows = [row for group in _settings(content.audit, content.publications, content.only) for row in group.rows if group.open]
    cited = [one for part in (*cards, *rest) for one in part.sources]
    cited += [row.source for row in comparisons(content.measured, content.publications)]
    cited += [one for row in rows for one in row.sources]
    cited += [source(each.ref, content.publications) for each in figures(content.measured) if each.ref]
    cited += [source(own[0].cost.ref, content.publications) for own in content.audit.by_rule if own[0].cost and own[0].cost.ref]
    return sorted({one.ref: one for one in cited}.values())


def _identity(content: ReportContent) -> list[str]:
    """Return the machine in a line, without the name that stands above it."""
    seen = replace(picture(content.machine, content.layout), title="")
    return [" ".join(text_of(line).strip(" ·").split()) for line in identity(content.machine, content.layout, seen, 2000, 10)]


def _raced(content: ReportContent) -> list[str]:
    return [each for page in content.races for each in ("--tuned", page.folder)]


def _drawing(seen: Picture) -> str:
    title, about = f"Drawing of {seen.title}", f"{seen.processors}; {seen.counts}; numbers mark findings, listed below"
    return embedded(draw_svg(seen, head=False), "machine-drawn", title, about)


def _pending(row: Row) -> str:
    return f"{plain(row.term, 60)} {plain(row.current or '?', 30)} → {plain(str(row.pending), 30)}"


def _claims(audit: Audit, which: str) -> list[str]:
    found = {finding.id: finding for finding in audit.findings if finding.verdict == which}
    return [f"{name}: {plain(own.waived or own.claim or '', 120)}" for name, own in found.items()]


class SettingRow(NamedTuple):
    """A setting as it is and as it should be."""

    term: str
    title: str
    now: str
    wanted: str
    how: str
    asked: str
    sources: tuple[Source, ...]


class SettingGroup(NamedTuple):
    """Settings that stand alike to what is wanted of them."""

    title: str
    rows: tuple[SettingRow, ...]
    open: bool


_STATES: Final = (
    (("differs", "pending"), "Now and wanted", True),
    (("taste",), "To consider", True),
    (("met",), "As wanted", False),
    (("open",), "Different, and nothing found against it", False),
    (("unknown",), "Not known", False),
    (("free",), "Known, and nothing asks for another value", False),
)


def _settings(audit: Audit, publications: Mapping[str, Publication], only: Collection[str]) -> list[SettingGroup]:
    told = (finding for finding in audit.findings if finding.verdict in ("finding", "waived"))
    harm = {finding.id: finding.severity != "info" for finding in told}
    refs = {finding.id: finding.refs for finding in audit.findings}
    own_rows = (row for row in audit.settings if not only or not frozenset(row.rules).isdisjoint(only))
    rows = sorted(own_rows, key=lambda row: WHERES.index(row.where))
    groups = []
    for states, title, is_open in _STATES:
        own = tuple(_setting(row, harm, refs, publications) for row in rows if state(row, harm) in states)
        groups += [SettingGroup(title if is_open else f"{title} ({len(own)})", own, is_open)] if own else []
    return groups


def _setting(
    row: Row, found: Mapping[str, bool], refs: Mapping[str, tuple[str, ...]], publications: Mapping[str, Publication]
) -> SettingRow:
    """Return a setting; where rules found something on this machine, those are the ones that speak."""
    asked = [rule for rule in row.rules if rule in found] or list(row.rules)
    cited = dict.fromkeys(ref for rule in asked for ref in refs.get(rule, ()))
    return SettingRow(
        term=plain(row.term, 80),
        title=plain(row.title, 160),
        now=plain(row.current, 80) if row.current is not None else "",
        wanted=plain(row.wanted, 80) if row.wanted is not None else "",
        how=plain(row.how or "", 200),
        asked=", ".join(asked),
        sources=tuple(source(ref, publications) for ref in list(cited)[:3]),
    )


class NotSeen(NamedTuple):
    """What one way would make known: the facts, each with why it is not, and the checks that wait for it."""

    cure: str
    facts: tuple[str, ...]
    rules: tuple[str, ...]


def _not_seen(audit: Audit) -> list[NotSeen]:
    return [
        NotSeen(one.help, tuple(f"{', '.join(names)}: {why}" for why, names in one.facts.items()), tuple(one.rules))
        for one in missing_facts(audit)
    ]


class VerdictGroup(NamedTuple):
    """Rules that came to the same verdict."""

    title: str
    lines: tuple[str, ...]


_VERDICTS: Final[tuple[tuple[Verdict, str], ...]] = (
    ("pass", "Checks passed"), ("unknown", "Checks that need more facts"), ("not-applicable", "Not applicable"),
)  # fmt: skip


def _verdicts(audit: Audit) -> list[VerdictGroup]:
    groups = []
    for verdict_word, title in _VERDICTS:
        counted, partly = verdicts_of(audit, verdict_word)
        lines: dict[str, list[str]] = {}
        for finding in (each for own in (*counted.values(), *partly.values()) for each in own):
            lacks = ", ".join(plain(lack.fact, 80) for lack in finding.lacks)
            claim = lacks or plain(finding.claim or "", 200)
            line = f"{finding.id}: {plain(finding.title, 200)}{f' ({claim})' if claim else ''}"
            lines.setdefault(line, []).append(plain(finding.subject or "", 60))
        number = f"{len(counted)}{f', and in part {len(partly)} counted elsewhere' if partly else ''}"
        if lines:
            groups.append(VerdictGroup(f"{title} ({number})", tuple(f"{line}{_of(names)}" for line, names in lines.items())))
    return groups


def _of(subjects: Iterable[str]) -> str:
    named = [subject for subject in subjects if subject]
    more = f" and {count(len(named) - 6, 'other')}" if len(named) > 6 else ""
    return f": {', '.join(named[:6])}{more}" if named else ""


def _commands(content: ReportContent) -> list[str]:
    """Return the vendor's lines that stage the changes."""
    return [change.command for change in content.plan.writes if change.command]


def _apply(content: ReportContent) -> list[str]:
    """Return the vendor's lines that make staged changes take effect: they reboot the machine."""
    steps = (step for finding in content.audit.found for step in finding.fix if step.where == "bios")
    return list(dict.fromkeys(line for step in steps for line in step.apply))


_OFTEN: Final = 3


def _shared(notes: list[tuple[str, ...]]) -> list[str]:
    """Return the notes that most lines have, to be said once."""
    every = [note for own in notes for note in own]
    return [note for note in dict.fromkeys(every) if every.count(note) >= _OFTEN]


def _contents(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the sections that there are."""
    sections = (
        ("machine", "The machine", found["drawing"]), ("measured", "Measured", True), ("settings", "Settings", found["settings"]),
        ("plan", "Plan", True), ("launch", "Launch lines", found["launches"]),
        ("races", "Races of launch lines", found["races"]), ("unseen", "Not seen", True),
        ("findings", "Findings in full", found["every"]), ("facts", "Every fact", True), ("sources", "Sources", found["sources"]),
    )  # fmt: skip
    return [(name, title) for name, title, there in sections if there]
