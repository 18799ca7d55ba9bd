"""A report as one page for a browser, and as Markdown for a ticket: verdict, figures, charts, and what the templates fill in."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple

from advisor.advice.audit import Audience
from advisor.advice.audit_page.card import (
    THERE,
    Asker,
    Card,
    Source,
    card,
    changed,
    cost_words,
    elsewhere,
    head_of,
    headline,
    missing_facts,
    open_checks,
    restart,
    source,
    tally,
    unsure_words,
)
from advisor.advice.audit_page.machine import facts_with_places, identity
from advisor.advice.audit_page.screen import harms, state
from advisor.advice.model.findings import Audit, Finding, Row, totals, verdicts_of
from advisor.advice.model.plan import Plan
from advisor.advice.model.sheets import WHERES, Publication, Verdict
from advisor.errors import CannotWork
from advisor.jobs.racing.result import RacePage, race_chart, race_table, verdict_sentence
from advisor.machine.fact import withheld
from advisor.machine.hardware import Dimm, SocketMemory
from advisor.machine.jinja import fill
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.units import binary, count, duration, flop_rate, memory_clock, plain, throughput
from advisor.measure.charts import chart, charts_of
from advisor.measure.figures import HEADLINE, ladder, loaded, roofline, scaling, sound
from advisor.measure.measured_facts import UNPUBLISHED, Compared, MeasuredFacts, Place, Speed
from advisor.measure.measurement import Measurements
from advisor.measure.page import conditions, measured_lines
from advisor.paths import template
from advisor.show.commandline import word
from advisor.show.lines import text_of
from advisor.show.picture import Block, Device, Mark, Picture, Slot, Strip, picture
from advisor.show.svg import NARROW, draw_svg

SCOPES = {"mpi": "MPI", "hpl": "HPL"}
_LONG = 1000

Numbered = list[tuple[int, tuple[Finding, ...]]]
"""Findings by the number that the audit gives their rule."""


class PageVerdict(NamedTuple):
    """What a hurried reader takes away."""

    kind: str
    """bad, good or little: the colour beside the words."""
    head: str
    says: str


def numbered(audit: Audit, *, minor: bool, only: Collection[str] = ()) -> Numbered:
    """Return the findings that do harm, or those that are only worth knowing, by their number; of some rules alone."""
    named = ((number, own) for number, own in enumerate(audit.by_rule, 1) if not only or own[0].id in only)
    return [(number, own) for number, own in named if (own[0].severity == "info") == minor]


def verdict(audit: Audit, only: Collection[str] = ()) -> PageVerdict:
    """Return the verdict in words; of some findings alone, which those are."""
    bad = numbered(audit, minor=False, only=only)
    if only:
        every = [*bad, *numbered(audit, minor=True, only=only)]
        head = f"Finding {', '.join(str(number) for number, _ in every)} of {len(audit.by_rule)}"
        return PageVerdict("bad" if bad else "little", head, "; ".join(change_or_claim(audit, own[0]) for _, own in every))
    head_line, answered, waiting = head_of(audit), totals(audit).answered, totals(audit).unknown
    known = f"{answered} of {answered + waiting} checks gave a result"
    if bad:
        first, needs = bad[0][1][0], restart(*(own[0] for _, own in bad))
        gain = f": {cost_words(first.cost)}" if first.cost else ""
        but = f". Few facts are known: {known}" if head_line.little else ""
        says = f"{_change(audit, first) or headline(first)}{gain}{f'; one {needs}' if needs else ''}{but}"
        return PageVerdict("bad", head_line.says, says)
    if head_line.outcome in ("look", "rejected"):
        return PageVerdict("little", head_line.says, unsure_words(audit))
    if head_line.little:
        return PageVerdict("little", "Limited data", f"{known}; no fault found in the known facts")
    rest = f"; {count(waiting, 'check')} need{'s' if waiting == 1 else ''} more facts" if waiting else ""
    return PageVerdict(
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
    marks: tuple[float, ...] = ()
    """Where published figures are on the same bar."""

    def among(self, value: float, place: Place | None) -> "Figure":
        """Return it on a bar that ends at its ceiling, or at the highest figure, with the published ones marked."""
        if place is None or not place.published:
            return self
        middles = [(one.low + one.high) / 2 for one in place.published]
        end = max(value, *middles, place.ceiling or 0.0)
        return self._replace(share=value / end, marks=tuple(sorted({round(each / end, 3) for each in middles})))


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
            figure = Figure(name, throughput(rate), f"{percent(rate / low)} of the {span} published", rate / low, one.ref)
        else:
            share = rate / place.ceiling if place and place.ceiling else None
            figure = Figure(name, throughput(rate), plain(place.beside, _LONG) if place else UNPUBLISHED, share)
        yield figure.among(rate, place)
    if whole and whole.latency:
        one, place = _published(measured.published_latency, "latency", whole.latency), measured.place_of("latency", whole.latency)
        low, high = _ends(one)
        span = duration(low) if low == high else f"{duration(low)} to {duration(high)}"
        beside = f"published {span}" if low else plain(place.beside, _LONG) if place else UNPUBLISHED
        figure = Figure("Memory latency", duration(whole.latency), beside, None, one.ref if one and low else "")
        yield figure.among(whole.latency, place)
    if flops:
        known = flops.share and flops.peak
        peak = f"{percent(flops.share)} of {flop_rate(flops.peak)}, all cores at the measured clock" if known else ""
        yield Figure("Floating point, double", flop_rate(flops.rate), peak, flops.share)


def _hpl(measured: MeasuredFacts) -> Iterator[Figure]:
    run = measured.hpl
    if run is not None:
        place = measured.place_of("hpl", run.rate)
        bounds = (
            f"{percent(run.of_load)} of the peak under load" if run.of_load else "",
            f"{percent(run.of_base)} of the peak at base clock" if run.of_base else "",
            plain(place.beside, _LONG) if place and place.published else "",
        )
        figure = Figure("HPL", flop_rate(run.rate), ", ".join(filter(None, bounds)), run.of_load or run.of_base)
        yield figure.among(run.rate, place)


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


_UNITS = 13
"""Units of a drawing that are as wide as a letter of the page is high: its letters are then three quarters of that."""

_USED = re.compile(r'(?:url\(#|href="#)([^")]+)')
_WIDE = 110
"""Columns of the tables as `advisor measure` prints them."""
_POINTS = 3
"""A curve of fewer points, or a map of fewer cores, shows nothing that a number does not."""
_MOST = 0.9
_AWAY = {"same-socket": "other nodes of the socket", "other-socket": "the other socket"}

_KINDS = (
    ("parts", "Bandwidth per core, L3 group, NUMA node and socket", "advisor measure membw", "one part at a time, local memory"),
    ("scaling", "Bandwidth over threads", "advisor measure scaling", "where more threads stop helping"),
    ("bandwidth-matrix", "Near and far memory: bandwidth", "advisor measure matrix", "CPUs of one node, memory of another"),
    ("latency-matrix", "Near and far memory: latency", "advisor measure matrix", "CPUs of one node, memory of another"),
    ("ladder", "Latency by working set", "advisor measure ladder", "the caches, then memory"),
    ("loaded", "Latency under load", "advisor measure loaded", "latency on one core while the others stream"),
    ("roofline", "Roofline", "advisor measure roofline", "the rate that a code of a given intensity can reach"),
    ("map", "Core to core", "advisor measure c2c", "round trip of a cache line between two cores"),
    ("messages", "Messages near and far from the adapter", "advisor measure network --hosts A,B", "between two hosts"),
    ("hpl", "HPL compared with its peaks", "advisor measure hpl", "Linpack as a share of the peak"),
)  # fmt: skip
"""Charts: name, title, the command that measures it, what it shows."""


def styles() -> dict[str, str]:
    """Return the style sheets of a page: its own, and what gives drawings their colours in the dark."""
    return {"style": template("report/style.css"), "dark": fill(template("report/dark.css.j2"), {}, "dark.css.j2").rstrip()}


def embedded(svg: str, name: str, title: str, about: str) -> str:
    """Return an SVG for a page: as wide as its place, named for those who hear it, with ids that no other drawing has."""
    body = svg[svg.index("<svg") :]
    head, body = body[: body.index(">") + 1], body[body.index(">") + 1 : body.rindex("</svg>")]
    box = re.search(r'viewBox="([^"]+)"', head)
    body = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"^\s*<title>.*?</title>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r"<defs>\s*</defs>", "", re.sub(r' style="([^"]*)"', _attributes, body)).replace("xlink:href", "href")
    used = set(_USED.findall(body))
    body = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", body)
    body = _USED.sub(lambda found: found[0].replace(f"#{found[1]}", f"#{name}-{found[1]}"), body)
    body = re.sub(r"\s*\n\s*", " ", body)
    words, desc = escape(plain(title, 500)), escape(plain(about, 500))
    label = f'<title id="{name}-t">{words}</title><desc id="{name}-d">{desc}</desc>'
    place = box[1] if box else "0 0 1 1"
    wide = float(place.split()[2]) / _UNITS
    return f'<svg role="img" aria-labelledby="{name}-t {name}-d" viewBox="{place}" width="{wide:.1f}rem">{label}{body}</svg>'


def _attributes(match: re.Match[str]) -> str:
    """Return the same as attributes, which a style sheet overrules; letters are the page's."""
    pairs = (part.partition(":") for part in match[1].split(";") if ":" in part)
    kept = ((key.strip(), value.strip()) for key, _, value in pairs if key.strip() != "font-family")
    return "".join(f' {key}="{value.replace(chr(34), "")}"' for key, value in kept)


class Exhibit(NamedTuple):
    """One chart with its heading and a sentence of what it shows here."""

    title: str
    svg: str
    says: str


class Exhibits(NamedTuple):
    """Every chart there is something for, every one there is nothing for, and the figures as text."""

    charts: tuple[Exhibit, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    """What there is no chart of, and the command that would give one."""
    conditions: tuple[str, ...] = ()
    text: str = ""
    undrawn: str = ""
    """Why nothing could be drawn of what was measured."""


def exhibits(measurements: Measurements | None, facts: MeasuredFacts | None, machine: Machine) -> Exhibits:
    """Return what can be shown; nothing that is empty."""
    there = _worth_drawing(measurements) if measurements else ()
    one = machine.topology is not None and len(machine.topology.nodes) == 1
    never = (*(("bandwidth-matrix", "latency-matrix") if one else ()), *(("messages",) if machine.hcas == () else ()))
    lacking = (kind for kind in _KINDS if kind[0] not in (*there, *never))
    missing = tuple(dict.fromkeys((title.partition(":")[0], command) for _, title, command, _ in lacking))
    if measurements is None:
        return Exhibits(missing=missing)
    under = tuple(text_of(line).strip().removesuffix(".") for line in conditions(measurements, 400))
    text = "\n".join(text_of(line).rstrip() for line in measured_lines(measurements, machine, _WIDE, facts)).strip("\n")
    shows, charts = _sentences(measurements, facts), []
    try:
        for name, title, _, about in (kind for kind in _KINDS if kind[0] in there):
            drawn = chart(measurements, name, "svg", machine=machine).decode()
            says = shows.get(name) or about
            charts.append(Exhibit(title, embedded(drawn, f"c-{name}", title, f"{about}. {says}"), says))
    except CannotWork as error:
        return Exhibits((), missing, under, text, str(error))
    return Exhibits(tuple(charts), missing, under, text)


def _worth_drawing(measurements: Measurements) -> tuple[str, ...]:
    curves = {"scaling": scaling, "ladder": ladder, "loaded": loaded}
    left_out = {
        name for name, read in curves.items() if max((len(one.points) for one in read(measurements)), default=0) < _POINTS
    }
    if len({cpu for result in sound(measurements, "map") for cpu in result.cpus}) <= _POINTS:
        left_out.add("map")
    return tuple(name for name in charts_of(measurements) if name not in left_out)


def _sentences(measurements: Measurements, facts: MeasuredFacts | None) -> Mapping[str, str]:
    """Return in words what each chart shows of this machine; empty where it says nothing of its own."""
    curves = {
        "scaling": _scaling(measurements),
        "ladder": "; ".join(
            f"{plain(curve.name, 40)}: {duration(fast)} in {binary(int(least))}, {duration(slow)} in {binary(int(most))}"
            for curve in ladder(measurements)
            for (least, fast), (most, slow) in [(curve.points[0], curve.points[-1])]
        ),
        "loaded": "; ".join(
            f"{plain(curve.name, 40)}: {duration(idle)} idle, {duration(busy)} at a load of {throughput(rate)}"
            for curve in loaded(measurements)
            for (_, idle), (rate, busy) in [(curve.points[0], curve.points[-1])]
        ),
        "roofline": _roofline(measurements),
    }
    return curves if facts is None else {**curves, **_ways(facts), **_of_parts(facts)}


def _scaling(measurements: Measurements) -> str:
    """Return how many threads bring most of what all of them do, of the pattern that stands for bandwidth."""
    curves = scaling(measurements)
    curve = next((each for name in HEADLINE for each in curves if each.name.startswith(name)), next(iter(curves), None))
    if curve is None:
        return ""
    best = max(rate for _, rate in curve.points)
    first = next(threads for threads, rate in curve.points if rate >= _MOST * best)
    return f"{plain(curve.name, 40)}: {throughput(best)} at most, 90 % of that with {first:.0f} threads or more"


def _roofline(measurements: Measurements) -> str:
    drawn = roofline(measurements)
    if drawn is None:
        return ""
    roof = next((each for each in drawn.roofs if each.pattern.startswith("triad")), drawn.roofs[0])
    ridge = f"below {drawn.peak / roof.rate:.1f} FLOP per byte, memory is the limit ({roof.pattern}); above that, the cores are"
    return f"{flop_rate(drawn.peak)} at most; {ridge}"


def _ways(facts: MeasuredFacts) -> dict[str, str]:
    """Return what far memory and a far adapter are to near ones."""
    far, slow, messages = [], [], []
    for way in facts.remote or ():
        where = _AWAY.get(way.distance, way.distance)
        published = f" (published {percent(way.published)}, {way.ref})" if way.published else ""
        far += [f"{where}: {percent(way.bandwidth)} of local{published}"] if way.bandwidth else []
        slow += [f"{where}: {way.latency:.2g} times local"] if way.latency else []
    for each in facts.adapter_ways:
        where = _AWAY.get(each.distance, each.distance)
        published = f" (published {percent(each.published)}, {each.ref})" if each.published else ""
        share = f"{percent(each.bandwidth)} of the bandwidth near the adapter{published}"
        messages.append(f"{plain(each.adapter, 40)}, ranks on {where}: {share}")
    return {"bandwidth-matrix": ", ".join(far), "latency-matrix": ", ".join(slow), "messages": "; ".join(messages)}


def _of_parts(facts: MeasuredFacts) -> dict[str, str]:
    """Return what the parts, the groups of cores and HPL came to."""

    def middle(own: tuple[Speed, ...] | None) -> float | None:
        rates = sorted(each.rate for each in own or () if each.rate)
        return rates[len(rates) // 2] if rates else None

    parts = {"a core": facts.cores, "an L3 group": facts.groups, "a NUMA node": facts.nodes, "a socket": facts.sockets}
    rates = {name: middle(own) for name, own in parts.items()} | {"the machine": facts.machine.rate if facts.machine else None}
    own, run = facts.caches, facts.hpl
    words = {"parts": ", ".join(f"{name} {throughput(rate)}" for name, rate in rates.items() if rate)}
    if own is not None and own.near and own.far:
        agrees = {True: "as the firmware reports", False: "not what the firmware reports", None: "the firmware reports no L3"}[
            own.agrees
        ]
        words["map"] = f"{duration(own.near)} inside a group, {duration(own.far)} between groups; {agrees}"
    if run is not None:
        shares = {
            "the peak under load": run.of_load, "the peak at base clock": run.of_base, "DGEMM": run.of_dgemm
        }  # fmt: skip
        bounds = [f"{percent(share)} of {what}" for what, share in shares.items() if share]
        words["hpl"] = "; ".join(filter(None, [*bounds, plain(run.blas_doubt or "", 300)]))
    return words


class RaceExhibit(NamedTuple):
    """What a race of launch lines showed: the answer, the line, the chart, the table."""

    verdict: str
    command: str
    svg: str
    text: str


def race_exhibits(races: Sequence[RacePage], *, drawn: bool = True) -> list[RaceExhibit]:
    """Return each race; without matplotlib, or undrawn, the table shows the intervals alone."""
    result = []
    for number, page in enumerate(races, 1):
        winner = next((row.raced.line for row in page.rows if row.raced.name == page.result.winner), "")
        text = "\n".join(text_of(line).rstrip() for line in race_table(page, _WIDE))
        svg, verdict = "", verdict_sentence(page)
        with suppress(CannotWork):
            svg = embedded(race_chart(page).decode(), f"race-{number}", "Race between launch lines", verdict) if drawn else ""
        result.append(RaceExhibit(plain(verdict, 600), winner, svg, text))
    return result


MOST_SLOTS = 32
"""Places for modules of one socket that are drawn each for itself."""

_OF_SOCKETS = ("numa", "cpu", "power")
"""Topics of which a finding without a subject is true of every socket alike."""

_OF_LINKS = ("fabric.xgmi", "fabric.upi", "cpu.prefetch_upi")
_WORDS = {"fabric.xgmi_width": "xGMI width", "fabric.upi_power": "UPI power saving"}


class _Findings(NamedTuple):
    """The findings to be marked, by the number that the audit gives their rule."""

    numbered: Sequence[tuple[int, Sequence[Finding]]]
    names: Mapping[str, str]
    """What a device is called in the picture, by the other names that findings have for it."""

    def about(self, *subjects: str, memory: bool = False) -> tuple[Mark, ...]:
        """Return the marks of findings on some subjects; those on memory modules stand at the modules."""
        return self.marks(lambda each: each.subject in subjects and (each.topic == "memory") == memory)

    def marks(self, wanted: Callable[[Finding], bool]) -> tuple[Mark, ...]:
        """Return the marks of the findings that are wanted."""
        result = []
        for number, own in self.numbered:
            some = [each for each in own if wanted(each)]
            claims = "; ".join(dict.fromkeys(plain(each.claim or each.title, 300) for each in some))
            if some:
                result.append(Mark(number, some[0].severity, f"finding {number}, {some[0].severity}: {claims}"))
        return tuple(result)

    def device(self, device: Device) -> Device:
        """Return a device with its marks: a finding names it, its address, or its PCIe port."""
        words = re.compile(r"[^,\s]+")
        own = {name for name, other in self.names.items() if other in device.names} | {*device.names}
        return replace(device, marks=self.marks(lambda each: not own.isdisjoint(words.findall(each.subject or ""))))


def marked(
    picture: Picture, machine: Machine, audit: Audit, measured: MeasuredFacts | None, only: Collection[str] = ()
) -> Picture:
    """Return the picture with memory channels, links between sockets, and the number of each finding at what it is about."""
    numbered = [(number, own) for number, own in enumerate(audit.by_rule, 1) if not only or own[0].id in only]
    found = _Findings(numbered, _names(machine))
    modules = tuple(machine.memory.dimms or ()) if machine.memory else ()
    sockets = {each.socket: each for each in (machine.memory.sockets or () if machine.memory else ())}
    blocks = tuple(_block(block, found, _memory(block, modules, sockets, found)) for block in picture.blocks)
    below = []
    unplaced = [each for each in modules if each.socket is None]
    if unplaced:  # the names of modules do not tell which socket each serves
        marks = found.about(*(each.locator for each in unplaced), memory=True)
        below.append(Strip(f"{_modules(unplaced)}: their sockets are unknown", _slots(unplaced), marks))
    if sum(max(1, len(block.sockets)) for block in blocks) > 1:
        below += _links(audit, measured, found)
    return replace(picture, blocks=blocks, devices=tuple(map(found.device, picture.devices)), links=tuple(below))


def places(picture: Picture) -> frozenset[int]:
    """Return the numbers of the findings that stand on the picture."""
    boxes = tuple(picture.boxes())
    devices = [*picture.devices, *(device for block in picture.blocks for device in block.devices)]
    devices += [device for box in boxes for device in box.devices]
    strips = [*picture.links, *(block.memory for block in picture.blocks if block.memory)]
    own = [part.marks for part in picture.blocks] + [part.marks for part in boxes]
    own += [part.marks for part in devices] + [part.marks for part in strips]
    return frozenset(mark.number for marks in own for mark in marks)


def _block(block: Block, found: _Findings, memory: Strip | None) -> Block:
    names = [f"socket {number}" for number in block.sockets]
    whole = [
        (number, own)
        for number, own in found.numbered
        if own[0].subject is None and own[0].topic in _OF_SOCKETS and not any(_of_links(want.setting) for want in own[0].wants)
    ]
    everywhere = found._replace(numbered=whole).marks(lambda _: True)
    marks = sorted((*everywhere, *found.about(*names), *(() if memory else found.about(*names, memory=True))))
    boxes = tuple(
        replace(
            box, marks=found.about(*(f"node {number}" for number in box.nodes)), devices=tuple(map(found.device, box.devices))
        )
        for box in block.boxes
    )
    return replace(block, boxes=boxes, marks=tuple(marks), devices=tuple(map(found.device, block.devices)), memory=memory)


def _names(machine: Machine) -> dict[str, str]:
    """Return what a device is called in the picture, by the other names that findings have for it."""
    names: dict[str, str] = {}
    for hca in machine.hcas or ():
        names |= {other: hca.name for other in (hca.address, *(port.netdev for port in hca.ports or ())) if other}
    for gpu in machine.gpus or ():
        name = str(gpu.index) if gpu.index is not None else gpu.address.removeprefix("0000:")
        names |= {gpu.address: name, gpu.card or gpu.address: name}
    names |= {nic.address: nic.name for nic in machine.nics or () if nic.address and nic.address not in names}
    for device in machine.pci or ():
        name = names.setdefault(device.address, device.address.removeprefix("0000:"))
        if device.bottleneck:
            names.setdefault(device.bottleneck, name)
    return names


def _memory(block: Block, modules: Sequence[Dimm], sockets: Mapping[int, SocketMemory], found: _Findings) -> Strip | None:
    """Return the memory modules of a socket; None where the firmware was not asked for them."""
    own = [each for each in modules if each.socket in block.sockets]
    known = [sockets[number] for number in block.sockets if number in sockets]
    if not own or len(known) > 1:
        return None
    marks = found.about(*(f"socket {number}" for number in block.sockets), *(each.locator for each in own), memory=True)
    return Strip(_channels(known[0], own) if known else _modules(own), _slots(own), marks)


def _modules(modules: Sequence[Dimm]) -> str:
    """Return ``24 memory modules (DDR5)``, of what the names of modules alone tell."""
    filled = sum(each.size != 0 for each in modules)
    kinds = ", ".join(dict.fromkeys(plain(each.kind, 20) for each in modules if each.kind and each.size != 0))
    slots = f" in {count(len(modules), 'slot')}" if len(modules) > filled else ""
    return f"{count(filled, 'memory module')}{f' ({kinds})' if kinds else ''}{slots}"


def _slots(modules: Sequence[Dimm]) -> tuple[Slot, ...]:
    """Return the places in the order of their channels and names; none where they are too many."""

    def order(dimm: Dimm) -> tuple[int, list[tuple[int, str]]]:
        parts = re.findall(r"\d{1,9}|\D+", dimm.locator)
        natural = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
        return -1 if dimm.channel is None or dimm.socket is None else dimm.channel, natural

    return tuple(map(_slot, sorted(modules, key=order))) if len(modules) <= MOST_SLOTS else ()


def _slot(dimm: Dimm) -> Slot:
    name = plain(dimm.locator, 40)
    if dimm.size == 0:
        return Slot(name, "empty", f"{name}: empty")
    slow = dimm.rated is not None and dimm.configured is not None and dimm.configured < dimm.rated
    speed = f", {memory_clock(dimm.rated)}" if dimm.rated else ""
    runs = f", runs at {memory_clock(dimm.configured)}" if slow else ""
    return Slot(name, "slow" if slow else "filled", f"{name}: {binary(dimm.size)} {plain(dimm.kind or '', 20)}{speed}{runs}")


def _channels(socket: SocketMemory, modules: Sequence[Dimm]) -> str:
    """Return ``8 DIMMs in 8 channels, 2933 of 3200 MT/s, at most 187.7 GB/s``."""
    channels = f" in {count(socket.channels, 'channel')}" if socket.channels is not None else ""
    rated = max((each.rated for each in modules if each.rated and each.size), default=None)
    speed = memory_clock(socket.configured) if socket.configured else ""
    if rated and socket.configured and socket.configured < rated:
        speed = f"at {speed}, rated {memory_clock(rated)}"
    most = f"at most {throughput(socket.bandwidth)}" if socket.bandwidth else ""
    return ", ".join(filter(None, (f"{count(socket.dimms, 'DIMM')}{channels}", speed, most)))


def _links(audit: Audit, measured: MeasuredFacts | None, found: _Findings) -> Iterator[Strip]:
    """Yield what was measured across the links between sockets, how they are set, and the findings about either."""
    words = []
    far = next((way for way in (measured.remote or () if measured else ()) if way.distance == "other-socket"), None)
    if far and far.bandwidth:
        published = f" (published {100 * far.published:.0f} %)" if far.published else ""
        words.append(
            f"memory of the other socket delivers {100 * far.bandwidth:.0f} % of the bandwidth of local memory{published}"
        )
    if far and far.latency:
        words.append(f"{far.latency:.2g} times its latency")
    words += [f"{_WORDS.get(row.name, row.term)} {row.current}" for row in audit.settings if _of_links(row.name) and row.current]
    own = [
        (number, some)
        for number, some in found.numbered
        if some[0].subject == "other-socket memory" or any(_of_links(want.setting) for want in some[0].wants)
    ]
    marks = found._replace(numbered=own).marks(lambda _: True)
    if words or marks:
        yield Strip(f"Links between sockets: {', '.join(words) or 'not measured'}", (), marks)


def _of_links(setting: str) -> bool:
    return setting.startswith(_OF_LINKS)


_LARGEST_DRAWING = 200_000
"""Bytes up to which a machine is drawn once more, for a narrow window."""
_FIXES = 3
"""So many stand in full on the first page."""
_OFTEN = 3
"""A note of so many launch lines is said once."""

FOR: Mapping[Audience, str] = {
    "internal": "For use at this site: credentials and anything a capture omits are withheld",
    "vendor": "For a vendor: credentials and the names of people, hosts and networks are withheld",
    "public": "For the public: credentials and everything that identifies this machine are withheld",
}
_STATES = (
    (("differs", "pending"), "Current and recommended", True),
    (("taste",), "To consider", True),
    (("met",), "As wanted", False),
    (("open",), "Different from the guide, but not a finding", False),
    (("unknown",), "Not known", False),
    (("free",), "Known, no change recommended", False),
)
_VERDICTS: tuple[tuple[Verdict, str], ...] = (
    ("pass", "Checks passed"), ("unknown", "Checks that need more facts"), ("not-applicable", "Not applicable"),
)  # fmt: skip


class LaunchLine(NamedTuple):
    """The command that starts a job of a usual shape on this machine."""

    shape: str
    """One rank per NUMA node, 16 threads each."""
    command: str
    """Ready to be pasted; variables that it needs stand before it."""
    launcher: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportContent:
    """One machine, audited, with what was measured and what is to be done."""

    machine: Machine
    layout: Layout
    audit: Audit
    measured: MeasuredFacts | None
    measurements: Measurements | None
    plan: Plan
    vendor: str
    scripts: tuple[tuple[str, str], ...]
    """The plan as the lines of each tool."""
    launches: tuple[LaunchLine, ...]
    publications: Mapping[str, Publication]
    asker: Asker
    version: str
    made: str
    """When: 2026-11-22 14:05."""
    races: tuple[RacePage, ...] = ()
    """What advisor tune found."""
    audience: Audience = "internal"
    """For whom it is: internal, vendor, public."""
    only: frozenset[str] = frozenset()
    """The rules whose findings the report is about; all where it is empty."""

    def withheld(self) -> dict[str, int]:
        """Return of which facts how many values are withheld."""
        counted = Counter(withheld(self.machine))
        if self.measurements is not None:
            counted.update(f"measurements.{name}" for name in withheld(self.measurements))
        return dict(sorted(counted.items()))


class SettingGroup(NamedTuple):
    """Settings that stand alike to what is wanted of them, each with the rules that ask for it and their sources."""

    title: str
    open: bool
    rows: tuple[tuple[Row, tuple[str, ...], tuple[Source, ...]], ...]


def html_report(content: ReportContent) -> str:
    """Return the page: one file, without script and without request."""
    return fill(template("report/report.html.j2"), {**values(content, form="-o report.html"), **styles()}, "report.html.j2")


def markdown_report(content: ReportContent) -> str:
    """Return the report for a ticket: without drawings."""
    return fill(template("report/report.md.j2"), values(content, form="--as md", drawn=False), "report.md.j2")


def values(content: ReportContent, form: str, *, drawn: bool = True) -> dict[str, Any]:
    """Return what the templates may use; ``form`` are the words that make the same kind of file again."""
    audit, machine, only, plan, asker = content.audit, content.machine, content.only, content.plan, content.asker
    harmful, minor = numbered(audit, minor=False, only=only), numbered(audit, minor=True, only=only)
    if only:  # whoever asks for a finding by its number wants all of it, however little it weighs
        harmful, minor = [*harmful, *minor], []
    cards, rest = ([card(*one, plan, content.publications) for one in some] for some in (harmful, minor))
    seen = marked(picture(machine, content.layout), machine, audit, content.measured, only)
    about = f"{seen.processors}; {seen.counts}; numbers mark findings, listed below"
    svg = draw_svg(seen, head=False) if drawn and machine.topology else ""
    small = draw_svg(seen, head=False, pages=NARROW) if svg else ""
    steps = (step for finding in audit.found for step in finding.fix if step.where == "bios")
    raced = [each for page in content.races for each in ("--tuned", page.folder)]
    settings = _settings(audit, content.publications, only)
    notes = Counter(note for line in content.launches for note in line.notes)
    found = {
        **_first_page(content, seen.title),
        "verdict": verdict(audit, only),
        "cards": cards[:_FIXES],
        "more": cards[_FIXES:],
        "every": [*cards, *rest],
        "drawing": embedded(svg, "machine-drawn", f"Drawing of {seen.title}", about) if svg else "",
        "narrow": embedded(small, "machine-narrow", f"Drawing of {seen.title}", about)
        if 0 < len(small) < _LARGEST_DRAWING
        else "",
        "on_picture": places(seen),
        "exhibits": exhibits(content.measurements if drawn else None, content.measured, machine),
        "races": race_exhibits(content.races, drawn=drawn),
        "elsewhere": not asker.live,
        "again": " ".join(("advisor report", *map(word, (*asker.words, *raced)), form)),
        "options": "".join(f" {word(each)}" for each in asker.words),
        "source": "".join(f" {word(each)}" for each in asker.source),
        "settings": settings,
        "plan": plan,
        "by_hand": list(_left(plan, frozenset(each.head.id for each in (*cards, *rest)))),
        "commands": [change.command for change in plan.writes if change.command],
        "apply": list(dict.fromkeys(line for step in steps for line in step.apply)),
        "scripts": content.scripts,
        "launches": () if only else content.launches,
        "launch_notes": [note for note, number in notes.items() if number >= _OFTEN],  # said once
        "only": bool(only),
        "not_seen": missing_facts(audit),
        "sources": _sources(content, [*cards, *rest], settings),
        "facts": list(facts_with_places(machine)),
        "verdicts": list(_verdicts(audit)),
    }
    sections = (
        ("machine", "The machine", found["drawing"]), ("measured", "Measured", True), ("settings", "Settings", settings),
        ("plan", "Plan", True), ("launch", "Launch lines", found["launches"]),
        ("races", "Races between launch lines", found["races"]), ("unseen", "Not checked", True),
        ("findings", "Findings in full", found["every"]), ("facts", "Every fact", True), ("sources", "Sources", found["sources"]),
    )  # fmt: skip
    return {**found, "contents": [(name, title) for name, title, there in sections if there]}


def _first_page(content: ReportContent, name: str) -> dict[str, Any]:
    """Return what stands above and below everything else: what and whose it is, what waits, the figures that matter."""
    audit, layout, asker, facts = content.audit, content.layout, content.asker, content.withheld()
    seen = replace(picture(content.machine, layout), title="")  # the name stands above it
    lines = identity(content.machine, layout, seen, 2000, 10)
    ways = [] if content.only else open_checks(audit, asker)
    waits = [row for row in audit.settings if row.pending is not None and row.pending != row.current]
    waived = {finding.id: finding for finding in audit.findings if finding.verdict == "waived"}
    many = f"{count(sum(facts.values()), 'value')}, in {', '.join(f'{fact} ({number})' for fact, number in facts.items())}"
    return {
        "name": name,
        "identity": "; ".join(" ".join(text_of(line).strip(" ·").split()) for line in lines),
        "made": plain(content.made, 40),
        "scope": SCOPES.get(audit.scope, audit.scope),
        "version": plain(content.version, 40),
        "platform": plain(audit.platform or "", 80),
        "vendor": plain(content.vendor, 60),
        "considered": [] if content.only else [(at, change_or_claim(audit, own[0])) for at, own in numbered(audit, minor=True)],
        "pending": [f"{plain(row.term, 60)} {plain(row.current or '?', 30)} → {plain(str(row.pending), 30)}" for row in waits],
        "waived": [f"{rule}: {plain(own.waived or own.claim or '', 120)}" for rule, own in waived.items()],
        "tally": ", ".join(tally(audit)),
        "figures": figures(content.measured),
        "comparisons": comparisons(content.measured, content.publications),
        "unseen": [f"{count(at, 'check')}: {way}{f' {THERE}' if elsewhere(way, asker) else ''}" for way, at in ways],
        "withheld": f"{FOR[content.audience]}. Withheld here: {many if facts else 'nothing'}.",
    }


def _left(plan: Plan, found: Collection[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield what the plan leaves to a person, with the reason, list by list; nothing of an empty one.

    ``found`` are the rules that found something: what only others ask for is not known to be wrong.
    """
    wanted = [line for line in plan.by_hand if not frozenset(line.rules).isdisjoint(found)]
    lists = {
        "In the setup menus, by hand": wanted,
        "Guides differ about these": plan.contested,
        "Check first: the current value is unknown": plan.look_up,
        "Check these in the setup menus: their current values are unknown": [line for line in plan.by_hand if line not in wanted],
        "Left out: conflicts with another change": plan.refused,
    }
    yield from ((heading, own) for heading, own in lists.items() if own)


def _sources(content: ReportContent, cards: Iterable[Card], settings: Iterable[SettingGroup]) -> list[Source]:
    """Return every publication that the page cites, each once."""
    refs = [each.ref for each in figures(content.measured)]
    refs += [own[0].cost.ref or "" for own in content.audit.by_rule if own[0].cost]
    cited = [one for each in cards for one in each.sources]
    cited += [row.source for row in comparisons(content.measured, content.publications)]
    cited += [one for group in settings if group.open for _, _, sources in group.rows for one in sources]
    cited += [source(ref, content.publications) for ref in refs if ref]
    return sorted({one.ref: one for one in cited}.values())


def _settings(audit: Audit, publications: Mapping[str, Publication], only: Collection[str]) -> list[SettingGroup]:
    """Return the settings by how they stand; where rules found something on this machine, those are the ones that speak."""
    found, refs = harms(audit), {finding.id: finding.refs for finding in audit.findings}
    rows = []
    for row in sorted(audit.settings, key=lambda row: WHERES.index(row.where)):
        asked = tuple(rule for rule in row.rules if rule in found) or row.rules
        cited = list(dict.fromkeys(ref for rule in asked for ref in refs.get(rule, ())))[:3]
        if not only or not frozenset(row.rules).isdisjoint(only):
            rows.append((state(row, found), (row, asked, tuple(source(ref, publications) for ref in cited))))
    groups = []
    for states, title, is_open in _STATES:
        own = tuple(each for standing, each in rows if standing in states)
        groups += [SettingGroup(title if is_open else f"{title} ({len(own)})", is_open, own)] if own else []
    return groups


def _verdicts(audit: Audit) -> Iterator[tuple[str, list[str]]]:
    """Yield rules that came to the same verdict, each with what is to be said of it, on what."""
    for verdict_word, title in _VERDICTS:
        counted, partly = verdicts_of(audit, verdict_word)
        lines: dict[str, list[str]] = {}
        for finding in (each for own in (*counted.values(), *partly.values()) for each in own):
            claim = ", ".join(plain(lack.fact, 80) for lack in finding.lacks) or plain(finding.claim or "", 200)
            line = f"{finding.id}: {plain(finding.title, 200)}{f' ({claim})' if claim else ''}"
            lines.setdefault(line, []).extend([plain(finding.subject, 60)] if finding.subject else [])
        number = f"{len(counted)}{f', plus {len(partly)} for some parts only, counted elsewhere' if partly else ''}"
        if lines:
            yield f"{title} ({number})", [f"{line}{_of(names)}" for line, names in lines.items()]


def _of(names: Sequence[str]) -> str:
    more = f" and {count(len(names) - 6, 'other')}" if len(names) > 6 else ""
    return f": {', '.join(names[:6])}{more}" if names else ""
