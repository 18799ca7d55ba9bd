"""The first page of a report in words: the verdict, what to consider, the figures that matter beside what is published."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from advisor.advice.audit_page.card import Source, changed, cost_words, head_of, headline, restart, source, unsure_words
from advisor.advice.model.findings import Audit, Finding, totals
from advisor.advice.model.sheets import Publication
from advisor.machine.units import count, duration, flop_rate, plain, throughput
from advisor.measure.measured_facts import UNPUBLISHED, Compared, MeasuredFacts

SCOPES: Final = {"mpi": "MPI", "hpl": "HPL"}
_LONG: Final = 1000

Numbered = list[tuple[int, tuple[Finding, ...]]]
"""Findings by the number that the audit gives their rule."""


class Verdict(NamedTuple):
    """What a hurried reader takes away."""

    kind: str
    """bad, good or little: the colour beside the words."""
    head: str
    says: str


def numbered(audit: Audit, *, minor: bool, only: Collection[str] = ()) -> Numbered:
    """Return the findings that do harm, or those that are only worth knowing, by their number; of some rules alone."""
    named = ((number, own) for number, own in enumerate(audit.by_rule, 1) if not only or own[0].id in only)
    return [(number, own) for number, own in named if (own[0].severity == "info") == minor]


def verdict(audit: Audit, only: Collection[str] = ()) -> Verdict:
    """Return the verdict in words; of some findings alone, which those are."""
    bad = numbered(audit, minor=False, only=only)
    if only:
        every = [*bad, *numbered(audit, minor=True, only=only)]
        head = f"Finding {', '.join(str(number) for number, _ in every)} of {len(audit.by_rule)}"
        return Verdict("bad" if bad else "little", head, "; ".join(change_or_claim(audit, own[0]) for _, own in every))
    head_line, answered, waiting = head_of(audit), totals(audit).answered, totals(audit).unknown
    known = f"{answered} of {answered + waiting} checks could be answered"
    if bad:
        first, needs = bad[0][1][0], restart(*(own[0] for _, own in bad))
        gain = f": {cost_words(first.cost)}" if first.cost else ""
        but = f". Little is known: {known}" if head_line.little else ""
        says = f"{_change(audit, first) or headline(first)}{gain}{f'; one {needs}' if needs else ''}{but}"
        return Verdict("bad", head_line.says, says)
    if head_line.outcome in ("look", "rejected"):
        return Verdict("little", head_line.says, unsure_words(audit))
    if head_line.little:
        return Verdict("little", "Little is known", f"{known}; no fault found in what is known")
    rest = f"; {count(waiting, 'check')} need{'s' if waiting == 1 else ''} more facts" if waiting else ""
    return Verdict(
        "good", head_line.says, f"{count(answered, 'check')} answered for {SCOPES.get(audit.scope, audit.scope)} work{rest}"
    )


def _change(audit: Audit, finding: Finding) -> str:
    """Return what would be set: ``NPS (NUMA nodes per socket) 1 → 4``; empty where no setting's value is known."""
    return (changed(audit, finding.wants, explained=True) or "").replace(" -> ", " → ")


def change_or_claim(audit: Audit, finding: Finding) -> str:
    """Return what would be set, or else what is so, in a few words."""
    return _change(audit, finding) or plain(finding.claim or finding.title, 200)


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
    return [*_of_machine(measured), *_hpl(measured), *_messages(measured)] if measured else []


def _of_machine(measured: MeasuredFacts) -> Iterator[Figure]:
    whole, flops = measured.machine, measured.flops
    if whole and (whole.triad or whole.load):
        what, rate = ("triad", whole.triad) if whole.triad else ("load", whole.load or 0.0)
        name, one, place = f"Memory bandwidth, {what}", _published(measured.published, what, rate), measured.place_of(what, rate)
        low, high = _ends(one)
        if one and low:
            span = throughput(low) if low == high else f"{throughput(low).partition(' ')[0]} to {throughput(high)}"
            yield Figure(name, throughput(rate), f"{percent(rate / low)} of the {span} published", rate / low, one.ref)
        else:
            share = rate / place.ceiling if place and place.ceiling else None
            yield Figure(name, throughput(rate), plain(place.beside, _LONG) if place else UNPUBLISHED, share)
    if whole and whole.latency:
        one, place = _published(measured.published_latency, "latency", whole.latency), measured.place_of("latency", whole.latency)
        low, high = _ends(one)
        span = duration(low) if low == high else f"{duration(low)} to {duration(high)}"
        beside = f"published {span}" if low else plain(place.beside, _LONG) if place else UNPUBLISHED
        yield Figure("Memory latency", duration(whole.latency), beside, None, one.ref if one and low else "")
    if flops:
        known = flops.share and flops.peak
        peak = f"{percent(flops.share)} of {flop_rate(flops.peak)}, all cores at the clock measured" if known else ""
        yield Figure("Floating point, double", flop_rate(flops.rate), peak, flops.share)


def _hpl(measured: MeasuredFacts) -> Iterator[Figure]:
    run = measured.hpl
    if run is not None:
        place = measured.place_of("hpl", run.rate)
        bounds = (
            f"{percent(run.of_load)} of the peak under load" if run.of_load else "",
            f"{percent(run.of_base)} of that at base clock" if run.of_base else "",
            plain(place.beside, _LONG) if place and place.published else "",
        )
        yield Figure("HPL", flop_rate(run.rate), ", ".join(filter(None, bounds)), run.of_load or run.of_base)


def _messages(measured: MeasuredFacts) -> Iterator[Figure]:
    for adapter in measured.adapters:
        if adapter.bandwidth:
            line = f"{percent(adapter.share)} of {adapter.limit or 'its line'}" if adapter.share else ""
            lost = f"; {percent(adapter.gap)} less from the other socket" if adapter.gap and adapter.gap > 0.02 else ""
            yield Figure(f"Messages, {plain(adapter.name, 40)}", throughput(adapter.bandwidth), f"{line}{lost}", adapter.share)


def _published(found: Sequence[Compared], what: str, value: float) -> Compared | None:
    return next((one for one in found if what in one.name and "machine" in one.name and one.value == value), None)


def _ends(one: Compared | None) -> tuple[float | None, float | None]:
    return (one.low or one.high, one.high or one.low) if one else (None, None)


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
    rows = []
    for one, write in ((one, write) for found, write in kinds for one in found):
        low, high = _ends(one)
        if low:
            span = write(low) if low == high else f"{write(low)} to {write(high)}"
            cited = source(one.ref, publications)
            share, conditions = percent(one.value / low), plain(one.conditions, 300)
            rows.append(ComparedRow(plain(one.name, 120), write(one.value), span, share, conditions, cited))
    return rows
