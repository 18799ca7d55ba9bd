"""What a report shows of measurements: the verdict and figures beside published ones, and chart by chart what bounds them."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from typing import Final, NamedTuple

from advisor.advice.audit_page.card import Source, changed, cost_words, head_of, headline, restart, source, unsure_words
from advisor.advice.model.findings import Audit, Finding, totals
from advisor.advice.model.sheets import Publication
from advisor.errors import CannotWork
from advisor.jobs.racing.result import RacePage, race_chart, race_table, verdict_sentence
from advisor.machine.machine import Machine
from advisor.machine.units import binary, count, duration, flop_rate, plain, throughput
from advisor.measure.charts import chart, charts_of
from advisor.measure.figures import HEADLINE, ladder, loaded, roofline, scaling, sound
from advisor.measure.measured_facts import UNPUBLISHED, Compared, MeasuredFacts, Place, Speed
from advisor.measure.measurement import Measurements
from advisor.measure.page import conditions, measured_lines
from advisor.show.lines import text_of

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


PALETTE: Final[Mapping[str, str]] = {
    # ink, lines, paper
    "#1f2933": "#e8ebef", "#52606d": "#aab4c0", "#d5dae0": "#3a4148", "#ffffff": "#171a1d", "white": "#171a1d",
    # the machine: boxes and their edges
    "#f4f6f9": "#20252b", "#9aa8b8": "#5d6b7a", "#e8f3ea": "#1d2c22", "#7fb08a": "#5c8f69", "#fdf3dc": "#332b17",
    "#d9b665": "#9c8040", "#f6faf7": "#1d2621", "#b3cbb8": "#5f7a66", "#b8c2cc": "#5d6873", "#ffd8a6": "#6b4410",
    "#c77f1a": "#e0a04a", "#e4e7eb": "#2b2f34", "#9aa5b1": "#6c7783", "#efe7f6": "#2c2336", "#a98bc4": "#8e72a8",
    "#e1eefb": "#1b2a3a", "#6c9bd1": "#6c9bd1", "#fde2df": "#44201c", "#d64535": "#ef7a6d", "#eef1f5": "#22272d",
    "#6b7a8c": "#6b7a8c", "#d5e3f7": "#23364f", "#5b7fb2": "#6e93c8", "#fbe3c0": "#4a3410", "#b06a00": "#e2a54a",
    "#fafbfc": "#1b1f23", "#3e5c7e": "#9dbbe0", "#9a3f0a": "#ffab73", "#a0210f": "#ff9c8f", "#8d2b0b": "#ffab8a",
    # the curves of charts
    "#0072b2": "#56b4e9", "#d55e00": "#ff8f3f", "#009e73": "#3cc79d", "#cc79a7": "#e2a0c4", "#56b4e9": "#8fd0f5",
    "#e69f00": "#f0b93a",
}  # fmt: skip
"""Each colour of a drawing, and what stands for it in the dark. Heat maps and the numbers of findings keep theirs."""

_UNITS: Final = 13
"""Units of a drawing that are as wide as a letter of the page is high: its letters are then three quarters of that."""

_USED: Final = re.compile(r'(?:url\(#|href="#)([^")]+)')
_WIDE: Final = 110
"""Columns of the tables as `advisor measure` prints them."""
_POINTS: Final = 3
"""A curve of fewer points, or a map of fewer cores, shows nothing that a number does not."""
_MOST: Final = 0.9
_AWAY: Final = {"same-socket": "other nodes of the socket", "other-socket": "the other socket"}

_KINDS: Final = (
    ("parts", "Bandwidth of core, L3 group, NUMA node, socket", "advisor measure membw", "one part at a time, own memory"),
    ("scaling", "Bandwidth over threads", "advisor measure scaling", "where more threads bring no more"),
    ("bandwidth-matrix", "Near and far memory: bandwidth", "advisor measure matrix", "CPUs of a node, memory of another"),
    ("latency-matrix", "Near and far memory: latency", "advisor measure matrix", "CPUs of a node, memory of another"),
    ("ladder", "Latency by working set", "advisor measure ladder", "the caches, then memory"),
    ("loaded", "Latency under load", "advisor measure loaded", "one core waits while the others stream"),
    ("roofline", "Roofline", "advisor measure roofline", "what a code of an intensity can reach"),
    ("map", "Core to core", "advisor measure c2c", "round trip of a cache line between two cores"),
    ("messages", "Messages near and far from the adapter", "advisor measure network --hosts A,B", "between two hosts"),
    ("hpl", "HPL beside its peaks", "advisor measure hpl", "what Linpack makes of the peak"),
)  # fmt: skip
"""Charts: name, title, the command that measures it, what it shows."""


def dark_rules() -> str:
    """Return the rules of a style sheet that give drawings their colours in the dark."""
    pairs = ((what, light, dark) for light, dark in PALETTE.items() for what in ("fill", "stroke"))
    return "\n".join(f'svg [{what}="{light}" i]{{{what}:{dark}}}' for what, light, dark in pairs)


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
            f"{plain(curve.name, 40)}: {duration(idle)} idle, {duration(busy)} while {throughput(rate)} stream"
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
    return f"{plain(curve.name, 40)}: {throughput(best)} at most, 90 % of that from {first:.0f} threads on"


def _roofline(measurements: Measurements) -> str:
    drawn = roofline(measurements)
    if drawn is None:
        return ""
    roof = next((each for each in drawn.roofs if each.pattern.startswith("triad")), drawn.roofs[0])
    ridge = f"below {drawn.peak / roof.rate:.1f} FLOP per byte memory decides ({roof.pattern}), above it the cores"
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
        share = f"{percent(each.bandwidth)} of the bandwidth near it{published}"
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
        agrees = {True: "as the firmware says", False: "not as the firmware says", None: "the firmware names no L3"}[own.agrees]
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
            svg = embedded(race_chart(page).decode(), f"race-{number}", "Race of launch lines", verdict) if drawn else ""
        result.append(RaceExhibit(plain(verdict, 600), winner, svg, text))
    return result
