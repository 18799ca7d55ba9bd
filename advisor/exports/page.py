"""A report as one page for a browser, and as Markdown for a ticket: what it is made of, and what the templates fill in."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from advisor.advice.audit_page.card import THERE, Asker, Card, Source, card, elsewhere, missing_facts, open_checks, source, tally
from advisor.advice.audit_page.machine import facts_with_places, identity
from advisor.advice.audit_page.screen import harms, state
from advisor.advice.model.findings import Audit, Finding, Row, verdicts_of
from advisor.advice.model.plan import Plan
from advisor.advice.model.sheets import WHERES, Publication, Verdict
from advisor.exports.exhibits import (
    SCOPES,
    change_or_claim,
    comparisons,
    dark_rules,
    embedded,
    exhibits,
    figures,
    numbered,
    race_exhibits,
    verdict,
)
from advisor.jobs.racing.result import RacePage
from advisor.machine.fact import withheld
from advisor.machine.hardware import Dimm, SocketMemory
from advisor.machine.jinja import fill
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.units import binary, count, memory_clock, plain, throughput
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.measurement import Measurements
from advisor.paths import template
from advisor.show.commandline import word
from advisor.show.lines import text_of
from advisor.show.picture import picture
from advisor.show.svg import NARROW, draw_svg
from advisor.show.topology import Block, Device, Mark, Picture, Slot, Strip

MOST_SLOTS: Final = 32
"""Places for modules of one socket that are drawn each for itself."""

_OF_SOCKETS: Final = ("numa", "cpu", "power")
"""Topics of which a finding without a subject is true of every socket alike."""

_OF_LINKS: Final = ("fabric.xgmi", "fabric.upi", "cpu.prefetch_upi")
_WORDS: Final = {"fabric.xgmi_width": "xGMI width", "fabric.upi_power": "UPI power saving"}


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
        below.append(Strip(f"{_modules(unplaced)}: the socket of each is not known", _slots(unplaced), marks))
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
        speed = f"at {speed}, made for {memory_clock(rated)}"
    most = f"at most {throughput(socket.bandwidth)}" if socket.bandwidth else ""
    return ", ".join(filter(None, (f"{count(socket.dimms, 'DIMM')}{channels}", speed, most)))


def _links(audit: Audit, measured: MeasuredFacts | None, found: _Findings) -> Iterator[Strip]:
    """Yield what was measured across the links between sockets, how they are set, and the findings about either."""
    words = []
    far = next((way for way in (measured.remote or () if measured else ()) if way.distance == "other-socket"), None)
    if far and far.bandwidth:
        published = f" (published {100 * far.published:.0f} %)" if far.published else ""
        words.append(f"memory of the other socket gives {100 * far.bandwidth:.0f} % of the bandwidth of local memory{published}")
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


_LARGEST_DRAWING: Final = 200_000
"""Bytes up to which a machine is drawn once more, for a narrow window."""
_FIXES: Final = 3
"""So many stand in full on the first page."""
_OFTEN: Final = 3
"""A note of so many launch lines is said once."""

_FOR: Final = {
    "internal": "For this site: credentials are withheld",
    "vendor": "For a vendor: credentials and the names of people, hosts and networks are withheld",
    "public": "For the public: credentials and all that names this machine are withheld",
}
_STATES: Final = (
    (("differs", "pending"), "Now and wanted", True),
    (("taste",), "To consider", True),
    (("met",), "As wanted", False),
    (("open",), "Different from the guide, no finding", False),
    (("unknown",), "Not known", False),
    (("free",), "Known, no change recommended", False),
)
_VERDICTS: Final[tuple[tuple[Verdict, str], ...]] = (
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
    audience: str = "internal"
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
    drawn = {"style": template("report/style.css"), "dark": dark_rules()}
    return fill(template("report/report.html.j2"), {**values(content, form="-o report.html"), **drawn}, "report.html.j2")


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
        "launch_notes": _shared([note for line in content.launches for note in line.notes]),
        "only": bool(only),
        "not_seen": missing_facts(audit),
        "sources": _sources(content, [*cards, *rest], settings),
        "facts": list(facts_with_places(machine)),
        "verdicts": list(_verdicts(audit)),
    }
    sections = (
        ("machine", "The machine", found["drawing"]), ("measured", "Measured", True), ("settings", "Settings", settings),
        ("plan", "Plan", True), ("launch", "Launch lines", found["launches"]),
        ("races", "Races of launch lines", found["races"]), ("unseen", "Not checked", True),
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
        "withheld": f"{_FOR[content.audience]}: {many if facts else 'none was found'}.",
    }


def _left(plan: Plan, found: Collection[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield what the plan leaves to a person, with the reason, list by list; nothing of an empty one.

    ``found`` are the rules that found something: what only others ask for is not known to be wrong.
    """
    wanted = [line for line in plan.by_hand if not frozenset(line.rules).isdisjoint(found)]
    lists = {
        "In the setup menus, by hand": wanted,
        "Guides differ about these": plan.contested,
        "Check first: the present value is unknown": plan.look_up,
        "Check these in the setup menus: their current values are unknown": [line for line in plan.by_hand if line not in wanted],
        "Left out: contradicts something else": plan.refused,
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
        number = f"{len(counted)}{f', and in part {len(partly)} counted elsewhere' if partly else ''}"
        if lines:
            yield f"{title} ({number})", [f"{line}{_of(names)}" for line, names in lines.items()]


def _of(names: Sequence[str]) -> str:
    more = f" and {count(len(names) - 6, 'other')}" if len(names) > 6 else ""
    return f": {', '.join(names[:6])}{more}" if names else ""


def _shared(notes: Sequence[str]) -> list[str]:
    """Return the notes that most lines have, to be said once."""
    return [note for note in dict.fromkeys(notes) if notes.count(note) >= _OFTEN]
