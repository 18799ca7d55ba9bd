"""What was measured, chart by chart, each with what bounds it or was published; and the command for what was not."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from advisor.errors import CannotWork
from advisor.exports.report.drawings import embedded
from advisor.exports.report.findings import percent
from advisor.jobs.pages.races import race_chart
from advisor.jobs.pages.tune import RacePage, race_table, verdict_sentence
from advisor.machine.machine import Machine
from advisor.machine.units import binary, duration, flop_rate, plain, throughput
from advisor.measure.charts import chart, charts_of
from advisor.measure.figures import HEADLINE, ladder, loaded, roofline, scaling, sound
from advisor.measure.measured_facts import MeasuredFacts, Speed, Way
from advisor.measure.measurement import Measurements
from advisor.measure.page import conditions, measured_lines
from advisor.show.lines import text_of

WIDE: Final = 110
"""Columns of the tables as `advisor measure` prints them."""


class _Kind(NamedTuple):
    chart: str
    title: str
    command: str
    says: str


_KINDS: Final = (
    _Kind("parts", "Bandwidth of core, L3 group, NUMA node, socket", "advisor measure membw", "one part at a time, own memory"),
    _Kind("scaling", "Bandwidth over threads", "advisor measure scaling", "where more threads bring no more"),
    _Kind("bandwidth-matrix", "Near and far memory: bandwidth", "advisor measure matrix", "CPUs of a node, memory of another"),
    _Kind("latency-matrix", "Near and far memory: latency", "advisor measure matrix", "CPUs of a node, memory of another"),
    _Kind("ladder", "Latency by working set", "advisor measure ladder", "the caches, then memory"),
    _Kind("loaded", "Latency under load", "advisor measure loaded", "one core waits while the others stream"),
    _Kind("roofline", "Roofline", "advisor measure roofline", "what a code of an intensity can reach"),
    _Kind("map", "Core to core", "advisor measure c2c", "round trip of a cache line between two cores"),
    _Kind("messages", "Messages near and far from the adapter", "advisor measure network --hosts A,B", "between two hosts"),
    _Kind("hpl", "HPL beside its peaks", "advisor measure hpl", "what Linpack makes of the peak"),
)  # fmt: skip


@dataclass(frozen=True)
class Exhibit:
    """One chart with its heading and a sentence of what it shows here."""

    name: str
    title: str
    svg: str
    says: str


class NotMeasured(NamedTuple):
    """What there is no chart of, and the command that would give one."""

    title: str
    command: str


@dataclass(frozen=True)
class Exhibits:
    """Every chart there is something for, every one there is nothing for, and the figures as text."""

    charts: tuple[Exhibit, ...] = ()
    missing: tuple[NotMeasured, ...] = ()
    conditions: tuple[str, ...] = ()
    text: str = ""
    undrawn: str = ""
    """Why nothing could be drawn of what was measured."""


def exhibits(measurements: Measurements | None, facts: MeasuredFacts | None, machine: Machine) -> Exhibits:
    """Return what can be shown; nothing that is empty."""
    there = _worth_drawing(measurements) if measurements else ()
    never = _impossible(machine)
    lacking = dict.fromkeys((kind.title.partition(":")[0], kind.command) for kind in _KINDS if kind.chart not in (*there, *never))
    missing = tuple(NotMeasured(title, command) for title, command in lacking)
    if measurements is None:
        return Exhibits(missing=missing)
    told = tuple(text_of(line).strip().removesuffix(".") for line in conditions(measurements, 400))
    text = "\n".join(text_of(line).rstrip() for line in measured_lines(measurements, machine, WIDE, facts)).strip("\n")
    try:
        charts = tuple(_exhibit(kind, measurements, facts, machine) for kind in _KINDS if kind.chart in there)
    except CannotWork as error:
        return Exhibits((), missing, told, text, str(error))
    return Exhibits(charts, missing, told, text)


def _impossible(machine: Machine) -> tuple[str, ...]:
    """Return the charts that no measurement of this machine can give: of one NUMA node, of an adapter where none is."""
    one = machine.topology is not None and len(machine.topology.nodes) == 1
    return (*(("bandwidth-matrix", "latency-matrix") if one else ()), *(("messages",) if machine.hcas == () else ()))


_POINTS: Final = 3
"""A curve of fewer points, or a map of fewer cores, shows nothing that a number does not."""


def _worth_drawing(measurements: Measurements) -> tuple[str, ...]:
    curves = {"scaling": scaling, "ladder": ladder, "loaded": loaded}
    short = {name for name, read in curves.items() if max((len(one.points) for one in read(measurements)), default=0) < _POINTS}
    few = len({cpu for result in sound(measurements, "map") for cpu in result.cpus}) <= _POINTS
    left_out = short | ({"map"} if few else set())
    return tuple(name for name in charts_of(measurements) if name not in left_out)


def _exhibit(kind: _Kind, measurements: Measurements, facts: MeasuredFacts | None, machine: Machine) -> Exhibit:
    drawn = chart(measurements, kind.chart, "svg", machine=machine).decode()
    says = "; ".join(part for part in (_sentences(measurements, facts).get(kind.chart, ""),) if part) or kind.says
    return Exhibit(kind.chart, kind.title, embedded(drawn, f"c-{kind.chart}", kind.title, f"{kind.says}. {says}"), says)


def _sentences(measurements: Measurements, facts: MeasuredFacts | None) -> Mapping[str, str]:
    """Return in words what each chart shows of this machine."""
    told = {
        "scaling": _scaling(measurements), "ladder": _ladder(measurements), "loaded": _loaded(measurements),
        "roofline": _roofline(measurements),
    }  # fmt: skip
    if facts is None:
        return told
    near_far = {"bandwidth-matrix": _far(facts.remote, bandwidth=True), "latency-matrix": _far(facts.remote, bandwidth=False)}
    facts_say = {"parts": _parts(facts), "map": _groups(facts), "hpl": _peaks(facts), "messages": _messages(facts)}
    return {**told, **near_far, **facts_say}


_MOST: Final = 0.9


def _scaling(measurements: Measurements) -> str:
    """Return how many threads bring most of what all of them do, of the pattern that stands for bandwidth."""
    curves = scaling(measurements)
    curve = next((each for name in HEADLINE for each in curves if each.name.startswith(name)), next(iter(curves), None))
    if curve is None:
        return ""
    best = max(rate for _, rate in curve.points)
    first = next(threads for threads, rate in curve.points if rate >= _MOST * best)
    return f"{plain(curve.name, 40)}: {throughput(best)} at most, 90 % of that from {first:.0f} threads on"


def _ladder(measurements: Measurements) -> str:
    told = []
    for curve in ladder(measurements):
        (least, fast), (most, slow) = curve.points[0], curve.points[-1]
        told.append(f"{plain(curve.name, 40)}: {duration(fast)} in {binary(int(least))}, {duration(slow)} in {binary(int(most))}")
    return "; ".join(told)


def _loaded(measurements: Measurements) -> str:
    told = []
    for curve in loaded(measurements):
        (_, idle), (rate, busy) = curve.points[0], curve.points[-1]
        told.append(f"{plain(curve.name, 40)}: {duration(idle)} idle, {duration(busy)} while {throughput(rate)} stream")
    return "; ".join(told)


def _roofline(measurements: Measurements) -> str:
    drawn = roofline(measurements)
    if drawn is None:
        return ""
    roof = next((each for each in drawn.roofs if each.pattern.startswith("triad")), drawn.roofs[0])
    ridge = f"below {drawn.peak / roof.rate:.1f} FLOP per byte memory decides ({roof.pattern}), above it the cores"
    return f"{flop_rate(drawn.peak)} at most; {ridge}"


def _parts(facts: MeasuredFacts) -> str:
    parts = (("a core", facts.cores), ("an L3 group", facts.groups), ("a NUMA node", facts.nodes), ("a socket", facts.sockets))
    told = [f"{name} {throughput(rate)}" for name, own in parts if (rate := _middle(own))]
    whole = facts.machine.rate if facts.machine else None
    return ", ".join([*told, *([f"the machine {throughput(whole)}"] if whole else [])])


def _middle(own: tuple[Speed, ...] | None) -> float | None:
    rates = sorted(each.rate for each in own or () if each.rate)
    return rates[len(rates) // 2] if rates else None


_AWAY: Final = {"same-socket": "other nodes of the socket", "other-socket": "the other socket"}


def _far(ways: tuple[Way, ...] | None, *, bandwidth: bool) -> str:
    told = []
    for way in ways or ():
        published = f" (published {percent(way.published)}, {way.ref})" if bandwidth and way.published else ""
        value = (
            (f"{percent(way.bandwidth)} of" if way.bandwidth else "")
            if bandwidth
            else (f"{way.latency:.2g} times" if way.latency else "")
        )
        told += [f"{_AWAY.get(way.distance, way.distance)}: {value} local{published}"] if value else []
    return ", ".join(told)


def _groups(facts: MeasuredFacts) -> str:
    own = facts.caches
    if own is None or not (own.near and own.far):
        return ""
    agrees = {True: "as the firmware says", False: "not as the firmware says", None: "the firmware names no L3"}[own.agrees]
    return f"{duration(own.near)} inside a group, {duration(own.far)} between groups; {agrees}"


def _peaks(facts: MeasuredFacts) -> str:
    run = facts.hpl
    if run is None:
        return ""
    told = (
        f"{percent(run.of_load)} of the peak under load" if run.of_load else "",
        f"{percent(run.of_base)} of the peak at base clock" if run.of_base else "",
        f"{percent(run.of_dgemm)} of DGEMM" if run.of_dgemm else "",
        plain(run.blas_doubt or "", 300),
    )
    return "; ".join(part for part in told if part)


def _messages(facts: MeasuredFacts) -> str:
    told = []
    for way in facts.adapter_ways:
        published = f" (published {percent(way.published)}, {way.ref})" if way.published else ""
        where = _AWAY.get(way.distance, way.distance)
        told.append(f"{plain(way.adapter, 40)}, ranks on {where}: {percent(way.bandwidth)} of the bandwidth near it{published}")
    return "; ".join(told)


@dataclass(frozen=True)
class RaceExhibit:
    """What a race of launch lines showed: the answer, the line, the chart, the table."""

    verdict: str
    command: str
    svg: str
    text: str


def race_exhibits(races: Sequence[RacePage], *, drawn: bool = True) -> list[RaceExhibit]:
    """Return each race; without matplotlib, or undrawn, the table shows the intervals alone."""
    return [_race(number, page, drawn=drawn) for number, page in enumerate(races, 1)]


def _race(number: int, page: RacePage, *, drawn: bool) -> RaceExhibit:
    winner = next((row.raced.line for row in page.rows if row.raced.name == page.result.winner), "")
    text = "\n".join(text_of(line).rstrip() for line in race_table(page, WIDE))
    svg, verdict = "", verdict_sentence(page)
    if drawn:
        with suppress(CannotWork):
            svg = embedded(race_chart(page).decode(), f"race-{number}", "Race of launch lines", verdict)
    return RaceExhibit(plain(verdict, 600), winner, svg, text)
