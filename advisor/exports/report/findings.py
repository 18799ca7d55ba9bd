"""The first page in words: the verdict, the fixes, what to consider, the figures that matter beside what is published."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from advisor.advice.audit_page.findings import (
    changed,
    cost_or_basis,
    cost_words,
    evidence_words,
    fix_words,
    grouped,
    headline,
    restart,
    undo_words,
    unsure_words,
)
from advisor.advice.audit_page.head import head_of
from advisor.advice.model.findings import Audit, Finding, Fix
from advisor.advice.model.plan import Change, Plan
from advisor.advice.model.planned import Planned, planned_for
from advisor.advice.model.rule import Publication
from advisor.advice.model.totals import totals
from advisor.machine.units import count, duration, flop_rate, plain, throughput
from advisor.measure.measured_facts import UNPUBLISHED, Compared, MeasuredFacts, Place

FIXES = 3
"""So many stand in full on the first page."""

LONG = 1000

SCOPES: Final = {"mpi": "MPI", "hpl": "HPL"}


@dataclass(frozen=True)
class Verdict:
    """What a hurried reader takes away."""

    kind: str
    """bad, good or little: the colour beside the words."""
    head: str
    says: str


class Source(NamedTuple):
    """A publication as it is cited; ``url`` is empty where it has none."""

    ref: str
    says: str
    url: str = ""


class CardStep(NamedTuple):
    """One step of a fix, and the lines that do it: the same that files for tools hold, none where a person must do it."""

    text: str
    restart: str
    first: tuple[str, ...]
    lines: tuple[str, ...]
    apply: tuple[str, ...]
    """The lines that reboot the machine, so that what was staged takes effect."""
    by_hand: str
    """Why no file for a tool holds it."""
    unsure: bool
    """The name is from documents, and this vendor's registry was not seen to have it."""


@dataclass(frozen=True)
class Card:
    """A finding with all that belongs to it."""

    number: int
    id: str
    severity: str
    title: str
    claim: str
    subjects: tuple[str, ...]
    why: str
    cost: str
    steps: tuple[CardStep, ...]
    check: str
    undo: tuple[str, ...]
    """In words, or the lines that take the fix back."""
    undo_runs: bool
    """Whether those are lines to run."""
    spare: str
    evidence: tuple[str, ...]
    guides: tuple[str, ...]
    sources: tuple[Source, ...]


def numbered(audit: Audit, *, minor: bool, only: Collection[str] = ()) -> list[tuple[int, tuple[Finding, ...]]]:
    """Return the findings that do harm, or those that are only worth knowing, by their number; of some rules alone."""
    named = ((number, own) for number, own in enumerate(audit.by_rule, 1) if not only or own[0].id in only)
    return [(number, own) for number, own in named if (own[0].severity == "info") == minor]


def verdict(audit: Audit, only: Collection[str] = ()) -> Verdict:
    """Return the verdict in words; of some findings alone, which those are."""
    harmful = numbered(audit, minor=False)
    if only:
        return _verdict_of_some(audit, only)
    answered, waiting = totals(audit).answered, totals(audit).unknown
    rest = f"; {count(waiting, 'check')} need{'s' if waiting == 1 else ''} more facts" if waiting else ""
    known = f"{answered} of {answered + waiting} checks could be answered"
    head = head_of(audit)
    if harmful:
        first = harmful[0][1][0]
        needs = restart(*(own[0] for _, own in harmful))
        change = _change(audit, first) or headline(first)
        gain = f": {cost_words(first.cost)}" if first.cost else ""
        after = f"; one {needs}" if needs else ""
        but = f". Little is known: {known}" if head.little else ""
        return Verdict("bad", head.says, f"{change}{gain}{after}{but}")
    if head.outcome in ("look", "rejected"):
        return Verdict("little", head.says, unsure_words(audit))
    if head.little:
        return Verdict("little", "Little is known", f"{known}; no fault found in what is known")
    return Verdict(
        "good", head.says, f"{count(answered, 'check')} answered for {SCOPES.get(audit.scope, audit.scope)} work{rest}"
    )


def _verdict_of_some(audit: Audit, only: Collection[str]) -> Verdict:
    """Return what a report of some findings is about."""
    bad, minor = numbered(audit, minor=False, only=only), numbered(audit, minor=True, only=only)
    head = f"Finding {', '.join(str(number) for number, _ in (*bad, *minor))} of {len(audit.by_rule)}"
    says = (_change(audit, own[0]) or plain(own[0].claim or own[0].title, 200) for _, own in (*bad, *minor))
    return Verdict("bad" if bad else "little", head, "; ".join(says))


def _change(audit: Audit, finding: Finding) -> str:
    """Return what would be set: ``NPS (NUMA nodes per socket) 1 → 4``; empty where no setting's value is known."""
    return (changed(audit, finding.wants, explained=True) or "").replace(" -> ", " → ")


def card(number: int, own: Sequence[Finding], plan: Plan, publications: Mapping[str, Publication]) -> Card:
    """Return a finding as the page shows it."""
    head = own[0]
    planned = planned_for(plan, head)
    undo = tuple(dict.fromkeys(back.command for change in planned.changes for back in change.back if back.command))
    words = plain(undo_words(head), LONG)
    return Card(
        number=number,
        id=head.id,
        severity=head.severity,
        title=plain(head.title, 300),
        claim="; ".join(dict.fromkeys(plain(each.claim or each.title, LONG) for each in own[:4])),
        subjects=tuple(dict.fromkeys(plain(each.subject, 80) for each in own if each.subject)),
        why=plain(head.why, 2000),
        cost=cost_or_basis(head),
        steps=tuple(_steps(own, planned)),
        check=plain(head.check or "", LONG),
        undo=undo or ((words,) if words else ()),
        undo_runs=bool(undo),
        spare=plain(head.spare or "", LONG),
        evidence=tuple(dict.fromkeys(evidence_words(one) for each in own for one in each.evidence if one.where))[:12],
        guides=tuple(f"{guide.ref}: {plain(guide.says, LONG)}" for guide in head.guides),
        sources=tuple(source(ref, publications) for ref in head.refs),
    )


_RESTARTS = {"yes": "reboot", "power-cycle": "power cycle"}


def _steps(own: Sequence[Finding], planned: Planned) -> Iterator[CardStep]:
    """Yield what to do, step by step; what is wanted where no step is known."""
    steps = dict.fromkeys(step for group in grouped(own) for step in group.head.fix)
    for step in steps:
        change = next((each for each in planned.changes if step.setting in each.settings), None)
        why = planned.left.get(step.setting or "", "") if step.where == "bios" and change is None else ""
        lines = tuple(_lines_to_run(step, change, planned))
        yield CardStep(
            text=plain(step.text, LONG),
            restart=_RESTARTS.get(step.reboot, ""),
            first=tuple(step.before) if change is None else (),
            lines=lines,
            apply=tuple(step.apply) if lines else (),
            by_hand=plain(why, 200),
            unsure=step.verified is False,
        )
    if not steps:
        yield CardStep(fix_words(own[0]), "", (), (), (), "", unsure=False)


def _lines_to_run(step: Fix, change: Change | None, planned: Planned) -> Iterator[str]:
    """Yield the lines to copy; of the BIOS those of the plan."""
    if step.where != "bios":
        yield from step.commands
    elif change is not None:
        before = [each for each in planned.changes if each.attribute in change.first]
        yield from [each.command for each in (*before, change) if each.command] or step.commands


def source(ref: str, publications: Mapping[str, Publication]) -> Source:
    """Return a publication with its title and where to read it."""
    known = publications.get(ref)
    if known is None:
        return Source(ref, "")
    says = f"{plain(known.title)}, {plain(known.by)}{f' {known.year}' if known.year else ''}"
    return Source(ref, says, known.where if known.where.startswith("https://") else "")


def considered(audit: Audit) -> list[tuple[int, str]]:
    """Return what is only worth knowing, a few words each."""
    return [
        (number, _change(audit, own[0]) or plain(own[0].claim or own[0].title, 200))
        for number, own in numbered(audit, minor=True)
    ]


class Figure(NamedTuple):
    """A figure of the whole machine, beside what it is compared with."""

    name: str
    value: str
    beside: str = ""
    share: float | None = None
    """Of what it is compared with, for a bar; at most 1."""
    ref: str = ""


def figures(measured: MeasuredFacts | None) -> list[Figure]:
    """Return the figures that matter, of which something was measured."""
    return list(_figures(measured)) if measured else []


def _figures(measured: MeasuredFacts) -> Iterator[Figure]:
    whole = measured.machine
    if whole and (whole.triad or whole.load):
        what, rate = ("triad", whole.triad) if whole.triad else ("load", whole.load or 0.0)
        yield _rate(f"Memory bandwidth, {what}", rate, _published(measured.published, what, rate), measured.place_of(what, rate))
    if whole and whole.latency:
        one = _published(measured.published_latency, "latency", whole.latency)
        low, high = (one.low or one.high, one.high or one.low) if one else (None, None)
        beside = f"published {duration(low)} to {duration(high)}" if low and high and low != high else ""
        place = measured.place_of("latency", whole.latency)
        beside = beside or (f"published {duration(low)}" if low else plain(place.beside, LONG) if place else UNPUBLISHED)
        yield Figure("Memory latency", duration(whole.latency), beside, None, one.ref if one and low else "")
    if measured.flops:
        own = measured.flops
        peak = f"{percent(own.share)} of {flop_rate(own.peak)}, all cores at the clock measured" if own.share and own.peak else ""
        yield Figure("Floating point, double", flop_rate(own.rate), peak, own.share)
    yield from _hpl(measured)
    for adapter in measured.adapters:
        if adapter.bandwidth:
            line = f"{percent(adapter.share)} of {adapter.limit or 'its line'}" if adapter.share else ""
            lost = f"; {percent(adapter.gap)} less from the other socket" if adapter.gap and adapter.gap > 0.02 else ""
            yield Figure(f"Messages, {plain(adapter.name, 40)}", throughput(adapter.bandwidth), f"{line}{lost}", adapter.share)


def _hpl(measured: MeasuredFacts) -> Iterator[Figure]:
    run = measured.hpl
    if run is None:
        return
    bounds = [f"{percent(run.of_load)} of the peak under load" if run.of_load else ""]
    bounds += [f"{percent(run.of_base)} of that at base clock" if run.of_base else ""]
    place = measured.place_of("hpl", run.rate)
    bounds += [plain(place.beside, LONG)] if place and place.published else []
    yield Figure("HPL", flop_rate(run.rate), ", ".join(filter(None, bounds)), run.of_load or run.of_base)


def _published(found: Sequence[Compared], what: str, value: float) -> Compared | None:
    return next((one for one in found if what in one.name and "machine" in one.name and one.value == value), None)


def _rate(name: str, value: float, one: Compared | None, place: Place | None) -> Figure:
    low = (one.low or one.high) if one else None
    if one and low:
        high = one.high or low
        span = throughput(low) if low == high else f"{throughput(low).partition(' ')[0]} to {throughput(high)}"
        return Figure(name, throughput(value), f"{percent(value / low)} of the {span} published", value / low, one.ref)
    share = value / place.ceiling if place and place.ceiling else None
    return Figure(name, throughput(value), plain(place.beside, LONG) if place else UNPUBLISHED, share)


def percent(share: float | None) -> str:
    """Return a share as it is read: ``56 %``."""
    return "?" if share is None else f"{100 * share:.0f} %"


class ComparedRow(NamedTuple):
    """What was measured here beside a publication whose conditions this machine meets."""

    name: str
    here: str
    published: str
    share: str
    conditions: str
    source: Source


def comparisons(measured: MeasuredFacts | None, publications: Mapping[str, Publication]) -> list[ComparedRow]:
    """Return every published value that this machine can be held against."""
    if measured is None:
        return []
    kinds = (
        (measured.published, throughput), (measured.published_latency, duration), (measured.published_hpl, flop_rate),
        (measured.published_network, throughput), (measured.published_network_latency, duration),
    )  # fmt: skip
    return [_compared(one, write, publications) for found, write in kinds for one in found if one.low or one.high]


def _compared(one: Compared, write: Callable[[float], str], publications: Mapping[str, Publication]) -> ComparedRow:
    low, high = one.low or one.high or 0.0, one.high or one.low or 0.0
    span = write(low) if low == high else f"{write(low)} to {write(high)}"
    return ComparedRow(
        plain(one.name, 120),
        write(one.value),
        span,
        percent(one.value / low),
        plain(one.conditions, 300),
        source(one.ref, publications),
    )
