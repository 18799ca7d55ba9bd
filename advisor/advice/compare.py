"""Compares two audited machines: settings, topology, devices, facts, findings gained and lost; and what a change brought.

Parts are matched by name, so that order and an NPS change do not hide what is the same. Of what was measured the same figure
stands before and after, with how often chance alone would set them so far apart; between two states of one machine whose NUMA
nodes differ only what means the same is compared: all of it, and its sockets.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import inf
from statistics import median
from typing import Any, NamedTuple, Self

from advisor.advice.expression import written_value
from advisor.advice.model.findings import Audit, Change, Difference, Finding, FindingChange, cost_order
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.fact import HARDWARE, TOLD_ELSEWHERE, Section, Told, comparable
from advisor.machine.layout import Assumption, Layout, logical_numbering
from advisor.machine.machine import Gap, Machine
from advisor.machine.topology import Topology
from advisor.machine.units import binary, count, in_unit, plain
from advisor.machine.value import Value
from advisor.measure.figures import Cell, amount, distance, heading, part_name, percent, short_number, table, unit_name
from advisor.measure.measurement import (
    NEGLIGIBLE,
    SIGNIFICANT,
    BeforeAfter,
    Contrast,
    Measurements,
    Part,
    Purpose,
    Result,
    Side,
    rank_sum_p,
    reported_text,
    significance,
)
from advisor.show.commandline import word
from advisor.show.lines import Line, Page, numbered, wrapped

Known = Mapping[str, Told]
"""The facts of a machine by their names."""

_WORDS = {
    "locality.numa_nodes": "NUMA nodes",
    "locality.inferred": "location inferred",
    "locality.cpus": "nearest CPUs",
    "locality.one_of": "on one of them only",
    "ports.": "port ",
}
_HEAD = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|[^.]+")
"""A PCI address, or any other name."""
_ROUND = 1 << 30
"""What a kernel keeps for itself differs from boot to boot; memory is compared in whole GiB."""
_PURPOSES: tuple[Purpose, ...] = ("part", "peak", "hpl", "network")
_ANYWAY: tuple[Part, ...] = ("machine", "socket")
"""Parts that are the same whatever the firmware does to the NUMA nodes."""
_PEAK = "fma"
"""Of floating point the peak alone: what it is without one thing after the other says nothing of a setting."""
_ORDER: tuple[Part, ...] = ("machine", "socket", "numa", "l3", "core", "pair")


def difference(
    names: tuple[str, str], machines: tuple[Machine, Machine], layouts: tuple[Layout, Layout], audits: tuple[Audit, Audit]
) -> Difference:
    """Return everything in which two audited machines differ."""
    a, b = machines
    before, after = ({row.name: row for row in audit.settings} for audit in audits)
    settings = []
    for name in {**before, **after}:
        mine, other = (rows[name].current if name in rows else None for rows in (before, after))
        if mine != other:
            title = (before.get(name) or after[name]).heading
            settings.append(Change(name=name, title=title, before=mine, after=other))
    return Difference(
        before=names[0],
        after=names[1],
        identity=identity(a, b),
        settings=tuple(settings),
        topology=topology_changes(a.topology, b.topology, *layouts),
        renumbered=renumbered(a.topology, b.topology),
        devices=devices(a, b),
        facts=facts(a, b),
        gained=_only_first(audits[1], audits[0]),
        lost=_only_first(audits[0], audits[1]),
    )


def _only_first(one: Audit, other: Audit) -> tuple[FindingChange, ...]:
    """Return the findings of one audit that the other has not, with what it says instead."""

    def who(finding: Finding) -> tuple[str, str | None]:
        return finding.id, finding.subject

    elsewhere, rules = {who(f): f.verdict for f in other.findings}, {f.id: f.verdict for f in other.findings}
    found = []
    for f in sorted((f for f in one.findings if f.verdict == "finding"), key=cost_order):
        now = elsewhere.get(who(f)) or rules.get(f.id) or "no such rule"
        if elsewhere.get(who(f)) != "finding":
            found.append(FindingChange(id=f.id, subject=f.subject, severity=f.severity, claim=f.claim, now=now))
    return tuple(found)


def identity(a: Machine, b: Machine) -> tuple[Change, ...]:
    """Return in what the two are made differently."""
    return _changes(_known(a, HARDWARE), _known(b, HARDWARE))


def devices(a: Machine, b: Machine) -> tuple[Change, ...]:
    """Return what differs in adapters and accelerators, matched by name or address; a PCI device that is one of them once."""
    both = (a, b)
    named = {hca.address for machine in both for hca in machine.hcas or ()}
    named |= {gpu.address for machine in both for gpu in machine.gpus or ()}
    hidden = {f"{section}.{address}." for section in ("pci", "nics") for address in named}
    hidden |= {f"nics.{nic.name}." for machine in both for nic in machine.nics or () if nic.address in named}
    every = _changes(_known(a, (Section.DEVICES,)), _known(b, (Section.DEVICES,)))
    links = ("link", "card", "path")  # facts of a PCI device that the adapter on it does not repeat
    shown = (each for each in every if not each.name.startswith(tuple(hidden)) or each.name.split(".")[-2] in links)
    return tuple(shown)


def facts(a: Machine, b: Machine) -> tuple[Change, ...]:
    """Return every other fact that differs; one that only one side knows is no difference of the machines."""
    others = tuple(each for each in Section if each not in (*HARDWARE, Section.DEVICES, *TOLD_ELSEWHERE))
    every = _changes(_known(a, others), _known(b, others))
    return tuple(change for change in every if None not in (change.before, change.after))


def _known(machine: Machine, sections: Collection[Section]) -> Known:
    return {fact.name: fact for fact in comparable(machine, but=tuple(TOLD_ELSEWHERE)) if fact.section in sections}


def _written(fact: Told | None) -> str | None:
    """Return a fact in words; None where it is not known."""
    if fact is None:
        return None
    value, unit = fact.value, fact.declared.unit
    if unit is not None:
        return ", ".join(in_unit(each, unit) for each in (value if isinstance(value, tuple) else (value,))) or "none"
    if isinstance(value, tuple) and value and all(isinstance(each, tuple) for each in value):  # boot options, as they were typed
        return " ".join(map(written_value, ((each,) for each in value)))
    return written_value(value)


def _changes(before: Known, after: Known) -> tuple[Change, ...]:
    """Return what differs; of an element of a list that one side lacks whole, what names it alone."""
    sides = _Parts.of(before), _Parts.of(after)
    result = []
    for name, fact in {**before, **after}.items():
        mine, other = _written(before.get(name)), _written(after.get(name))
        lone = next((element for element in fact.elements if any(element not in side.elements for side in sides)), None)
        names_it = lone is None or (fact.declared.key and lone == fact.elements[-1])
        emptied = fact.value == () and all(name in side.lists for side in sides)  # its elements say so
        if mine != other and names_it and not emptied:
            absent = (mine is None or other is None) and sides[mine is not None].lacks(fact)
            result.append(Change(name=name, title=_fact_title(fact), before=mine, after=other, absent=absent))
    return tuple(result)


class _Parts(NamedTuple):
    """The elements of lists and tables that one side has, and the lists and tables that were read there."""

    elements: frozenset[str]
    lists: frozenset[str]

    @classmethod
    def of(cls, known: Known) -> Self:
        """Return those of a machine's facts."""
        inside = [pair for fact in known.values() for pair in fact.inside]
        empty = (name for name, fact in known.items() if fact.value == ())
        return cls(frozenset(element for _, element in inside), frozenset((*(name for name, _ in inside), *empty)))

    def lacks(self, fact: Told) -> bool:
        """Return whether what a fact belongs to is known not to be there: its list was read, and has no such element."""
        return next((name in self.lists for name, element in fact.inside if element not in self.elements), False)


def _fact_title(fact: Told) -> str:
    """Return a dotted name in words: mlx5_0 port 1 state; what names an element of a list is called as the element is."""
    name = fact.elements[-1] if fact.declared.key else fact.name
    device = fact.section == Section.DEVICES
    text = name.partition(".")[2] or name if device else name
    for dotted, words in _WORDS.items():
        text = text.replace(dotted, words)
    head = _HEAD.match(text)
    if not device or head is None:
        return text
    return f"{head[0]} {text[head.end() :].replace('.', ' ').replace('_', ' ').strip()}".strip()


class LogicalNumbering:
    """The cores of a machine in hwloc's order."""

    def __init__(self, topology: Topology) -> None:
        numbers = logical_numbering(topology)
        self._cores, self._core = numbers.cores, numbers.core_of
        self._pus, self._pu = numbers.pus, numbers.pu_of

    def cores(self, cpus: CpuSet) -> CpuSet | None:
        """Return the cores that some CPUs are on, by number; None where one of them is not of this machine."""
        known = [self._core.get(cpu) for cpu in cpus]
        return None if None in known else CpuSet(number for number in known if number is not None)

    def as_logical(self, cpus: CpuSet) -> tuple[CpuSet, ...]:
        """Return where a rank ends up whose CPU numbers are taken for logical ones: of threads, or of cores."""
        last = cpus.last or 0
        threads = [CpuSet(self._pus[cpu] for cpu in cpus)] if last < len(self._pus) else []
        return (*threads, *([union(self._cores[cpu] for cpu in cpus)] if last < len(self._cores) else []))

    def as_physical(self, cpus: CpuSet) -> tuple[CpuSet, ...]:
        """Return where a rank ends up whose logical numbers are taken for the kernel's: of threads, or of cores."""
        if not all(cpu in self._pu for cpu in cpus):
            return ()
        return CpuSet(self._pu[cpu] for cpu in cpus), CpuSet(self._core[cpu] for cpu in cpus)

    def step(self, planned: CpuSet, seen: CpuSet) -> int | None:
        """Return how many cores further in this order a set lies than another; None where it is no such move."""
        a, b = self.cores(planned), self.cores(seen)
        if not a or not b or len(planned) != len(seen) or a.first is None or b.first is None:
            return None
        return b.first - a.first if a.bits >> a.first == b.bits >> b.first else None


def topology_changes(a: Topology | None, b: Topology | None, first: Layout, second: Layout) -> tuple[Change, ...]:
    """Return what differs; hardware first, then the NUMA partitioning, the numbering and the distances."""
    if a is None or b is None:
        return ()
    pairs = zip(_described(a, first), _described(b, second), strict=True)
    return tuple(
        Change(name=name, title=title, before=mine, after=other) for (name, title, mine), (_, _, other) in pairs if mine != other
    )


def _described(topology: Topology, layout: Layout) -> Iterator[tuple[str, str, str]]:
    sizes = sorted({l3.size for l3 in topology.l3 if l3.size})
    widths = sorted({sum(1 for core in topology.cores if core.cpuset <= l3.cpuset) for l3 in topology.l3})
    memory, numbering, far = [node.memory for node in topology.nodes], layout.numbering, layout.distances
    known = [_rounded(size) for size in memory if size is not None]
    low, high = (binary(min(known)), binary(max(known))) if known else ("?", "?")
    yield "packages", "sockets", str(len(topology.packages))
    yield "cores", "cores", str(len(topology.cores))
    yield "cpus", "CPUs online", str(len(topology.pus))
    yield "missing", "CPUs offline or hidden", str(topology.missing) or "none"
    yield "l3", "L3 groups", f"{len(topology.l3)} of {'/'.join(map(str, widths)) or '?'} cores"
    yield "l3_size", "size of an L3", ", ".join(binary(size) for size in sizes) or "?"
    yield "memory", "memory", "?" if None in memory else binary(_rounded(sum(size for size in memory if size)))
    yield "nodes", "NUMA nodes", str(len(topology.nodes))
    yield "node_memory", "memory per node", low if low == high else f"{low} to {high}"
    yield "cut", "NUMA partitioning", layout.cut.name
    yield "numbering", "CPU numbering", f"{numbering.name}{f' over {numbering.over}' if numbering.over else ''}"
    yield "siblings", "second threads", numbering.siblings
    yield "distances", "distances", f"{far.name}: {far.why[0] if far.why else ''}"
    yield "allowed", "CPUs this process may use", str(topology.allowed & topology.pus)


def _rounded(size: int) -> int:
    return round(size / _ROUND) * _ROUND or size


def renumbered(a: Topology | None, b: Topology | None) -> int | None:
    """Return how many CPU numbers mean another core than before; None where the two have not the same cores."""
    if a is None or b is None or len(a.packages) != len(b.packages) or len(a.cores) != len(b.cores):
        return None
    before, after = _homes(a), _homes(b)
    if not before or set(before) != set(after):
        return None
    return sum(before[cpu] != after[cpu] for cpu in before)


def _homes(topology: Topology) -> dict[int, tuple[int | None, int | None, int]]:
    """Return for each CPU its package, the kernel's number of its core there, and its place among the core's threads."""
    cores = ((topology.package_of(core.cpuset), core) for core in topology.cores)
    return {cpu: (package, core.os_index, place) for package, core in cores for place, cpu in enumerate(core.cpuset)}


def what_it_brought(before: Measurements, after: Measurements) -> tuple[Contrast, ...]:
    """Return every figure that both have, the machine's first; nothing where the machines are of different processors."""
    if before.machine.cpu != after.machine.cpu or before.machine.cpus != after.machine.cpus:
        return ()
    alike = before.machine.nodes == after.machine.nodes
    first, second = dict(_figures(before, alike=alike)), dict(_figures(after, alike=alike))
    rows = [_contrast(first[figure], second[figure]) for figure in first if figure in second]
    return tuple(sorted(rows, key=lambda row: _ORDER.index(row.part or "machine")))


def _figures(run: Measurements, *, alike: bool) -> Iterator[tuple[tuple[object, ...], Result]]:
    """Yield what each believed figure is of, and the figure."""
    for purpose in _PURPOSES:
        for each in run.of(purpose):
            same = (alike or each.part in _ANYWAY) and all(0 < value < inf for value in each.values)
            if same and (purpose != "peak" or each.variant == _PEAK):
                size, hca = each.bytes if purpose == "network" else None, reported_text(each, "hca")
                part = (each.part, each.index, frozenset(each.cpus))
                yield (purpose, each.kernel, each.variant, each.unit, part, size, hca), each


def _contrast(one: Result, other: Result) -> Contrast:
    p, ratio = rank_sum_p(one.values, other.values), other.median / one.median
    before, after = (
        Side(number=len(each.values), median=median(each.values), low=min(each.values), high=max(each.values))
        for each in (one, other)
    )
    return Contrast(
        what="part",
        hca=reported_text(one, "hca") or None,
        **{name: getattr(one, name) for name in ("kernel", "variant", "part", "index", "distance", "bytes", "unit")},
        before=before,
        after=after,
        ratio=ratio,
        p=p,
        says=significance(p, 1 / ratio if one.unit == "seconds" else ratio),
    )


_LONGEST = 60


def difference_document(difference: Difference) -> dict[str, Any]:
    """Return the document of ``advisor compare --json`` of two machines."""
    return {"schema": DIFF_SCHEMA, **difference.model_dump(mode="json")}


def difference_page(difference: Difference) -> Page:
    """Return what differs, as a page."""
    return Page(lambda room: _lines(difference, room))


def _lines(difference: Difference, width: int) -> list[Line]:
    lines: list[Line] = [((f"{plain(difference.before)} -> {plain(difference.after)}", "title"),)]
    if difference.same:
        return [*lines, (("No differences in what could be read on both.", ""),)]
    return [*lines, *_changed_lines(difference, width)]


def _changed_lines(difference: Difference, width: int, unread: str = "not read") -> list[Line]:
    lines = _section("Hardware and firmware", difference.identity, width, unread)
    lines += _section("Topology", difference.topology, width, unread)
    if difference.renumbered:
        words = (
            f"{count(difference.renumbered, 'CPU number')} now refer to different cores: rewrite bindings that use CPU numbers"
        )
        lines += wrapped([("! ", "warn"), (words, "")], width)
    lines += _section("Settings", difference.settings, width, unread)
    lines += _section("Adapters and accelerators", tuple(_devices(difference.devices)), width, unread)
    lines += _section("Other facts", difference.facts, width, unread)
    lines += _findings("New findings", "+", "down", difference.gained, width)
    lines += _findings("Findings no longer present", "-", "dim", difference.lost, width)
    return lines


def _devices(changes: tuple[Change, ...]) -> Iterator[Change]:
    """Yield what differs of devices; where one is in one line: ``mlx5_0 is at  NUMA node 1 -> one of NUMA nodes 4-7``."""
    kept = {change.name: change for change in changes}
    for name, change in kept.items():
        device, inside, fact = name.partition(".locality.")
        if not inside:
            yield change
        elif fact == "numa_nodes":
            unsure = kept.get(f"{device}.locality.one_of")
            sides = (_at(change.before, unsure.before if unsure else None), _at(change.after, unsure.after if unsure else None))
            title = f"{change.title.removesuffix(' NUMA nodes')} is at"
            yield change.but(title=title, before=sides[0], after=sides[1])
        elif f"{device}.locality.numa_nodes" not in kept:
            yield change.but(title=change.title.replace("on one of them only", "on one node (not known which)"))


def _at(nodes: str | None, one_of: str | None) -> str | None:
    """Return where a device is in words; None where that is not known."""
    if nodes is None:
        return None
    many = "," in nodes
    numbers = numbered(tuple(int(each) for each in nodes.split(","))) if many else nodes
    return f"{'one of ' if one_of == 'yes' else ''}NUMA node{'s' if many else ''} {numbers}"


def _section(heading: str, changes: tuple[Change, ...], width: int, unread: str) -> list[Line]:
    if not changes:
        return []
    room = min(40, max(len(change.title) for change in changes)) + 2
    lines: list[Line] = [(), ((heading, "heading"),)]
    for change in changes:
        label = plain(change.title, 60)
        before, after = (plain(text, _LONGEST) for text in change.sides(unread))
        spans = [(f"{label:<{room - 1}} ", "label"), (before, "dim"), (" -> ", "dim"), (after, "")]
        lines += wrapped(spans, width, indent=room)
    return lines


def _findings(heading: str, sign: str, style: str, changes: Iterable[FindingChange], width: int) -> list[Line]:
    lines: list[Line] = []
    for change in changes:
        claim = plain(change.claim or "")
        now = "" if change.now in ("pass", "finding") else f" (in the other input: {change.now})"
        lines += wrapped(
            [(f"{sign} {change.severity:6} ", style), (f"{change.id}: ", "title"), (claim + now, "")], width, indent=9
        )
    return [(), ((heading, "heading"),), *lines] if lines else []


DIFF_SCHEMA = "advisor-diff/1"
WHATIF_SCHEMA = "advisor-whatif/1"
"""The number rises when a key changes meaning or goes."""


class WhatIf(Value):
    """An assumption and what follows from it."""

    assumption: Assumption
    source: str | None
    """what --from named; None for this machine"""
    difference: Difference
    before: tuple[Gap, ...]
    """what was not known before"""
    machine: Machine
    """the machine after the restart"""

    @property
    def unknown(self) -> tuple[Gap, ...]:
        """What the assumption leaves open, or rests on."""
        return tuple(gap for gap in self.machine.gaps if gap not in self.before)

    @property
    def told(self) -> Difference:
        """The difference without what is not known after the change: that is no difference of the machines."""
        return self.difference.but(devices=tuple(c for c in self.difference.devices if c.after is not None))


def whatif_document(found: WhatIf) -> dict[str, Any]:
    """Return the document of ``advisor whatif --json``; its ``machine`` is what other commands read with --from."""
    return {
        "schema": WHATIF_SCHEMA,
        "assumption": found.assumption.model_dump(mode="json", exclude_none=True),
        "text": found.assumption.text,
        "difference": found.told.model_dump(mode="json"),
        "unknown": [gap.model_dump(mode="json") for gap in found.unknown],
        "machine": found.machine.model_dump(mode="json"),
    }


def whatif_page(found: WhatIf, written: str | None = None) -> Page:
    """Return what would change, as a page; ``written`` names the file that holds the machine after the restart."""
    return Page(lambda room: _whatif_lines(found, written, room))


def _whatif_lines(found: WhatIf, written: str | None, width: int) -> list[Line]:
    title: Line = ((f"{plain(found.difference.before)} with {found.assumption.text}, after the restart", "title"),)
    inside = found.machine.environment
    if inside and inside.is_virtual:
        guest = (
            f"a virtual machine ({plain(str(inside.virtual), 40)}) cannot set it: set it on the host or change the instance type"
        )
        head = [title, *wrapped([("! ", "warn"), (guest, "")], width, indent=2)]
    else:
        head = [title]
    if found.told.same and not found.unknown:
        return [*head, (("The machine already has these settings: nothing would change.", ""),)]
    lines = [*head, *_changed_lines(found.told, width, "not known")]
    if found.unknown:
        lines += [(), (("Assumed or unknown before the restart", "heading"),)]
        for gap in found.unknown:
            why = plain(gap.why.removeprefix("assumed, not read: "), _LONGEST_REASON)
            lines += wrapped([("? ", "unknown"), (f"{gap.fact}: ", "label"), (why, "")], width)
    return [*lines, (), (("Next steps", "heading"),), *_next_steps(found, written, width)]


_LONGEST_REASON = 600


def _next_steps(found: WhatIf, written: str | None, width: int) -> list[Line]:
    file = word(written) if written else "after.json"
    steps: list[tuple[str, str]] = []
    if written is None:
        source = f" --from {word(found.source)}" if found.source else ""
        options = " ".join(f"--{each.replace('=', ' ', 1)}" for each in found.assumption.text.split(","))
        steps.append((f"advisor whatif{source} {options} -o after.json", "saves the predicted machine"))
    steps.append((f"advisor bind --from {file} -- ./app", "launch command and rankfile for use after the restart"))
    steps.append((f"advisor compare {file} -", "run after the restart: shows what differs from the prediction"))
    # A command stays on one line, however long: it is there to be copied.
    return [line for command, why in steps for line in (((command, ""),), *wrapped([(f"    {why}", "dim")], width, indent=4))]


BEFORE_AFTER_SCHEMA = "advisor-before-after/1"
"""The number rises when a key changes meaning or goes."""
_WIDE = 120
"""Columns from which the least and the most stand beside their median."""
_STYLES = {"faster": "good", "slower": "warn", "no difference shown": "dim"}


def before_after_document(found: BeforeAfter) -> dict[str, Any]:
    """Return a comparison as plain JSON values."""
    return {"schema": BEFORE_AFTER_SCHEMA, **found.model_dump(mode="json")}


def before_after_page(found: BeforeAfter, width: int | None = None) -> Page:
    """Return a comparison as a page."""
    return Page(lambda room: before_after_lines(found, room), width)


def before_after_lines(found: BeforeAfter, width: int) -> list[Line]:
    """Return the table, the message rate in a sentence, what the figures mean, and what speaks against them."""
    when = f"before {_time(found.before)}, after {_time(found.after)}"
    words = (plain(found.hosts.replace(",", " and "), 120), plain(found.launcher, 60), when)
    about = ", ".join(word for word in words if word)
    head = (
        "adapter",
        "measured" if any(each.what == "part" for each in found.rows) else "all cores",
        "n",
        "before",
        "after",
        "ratio",
        "p",
        "after is",
    )
    rows = [_row(each, wide=width >= _WIDE) for each in found.rows]
    kept = [at for at in range(len(head)) if at > 0 or any(each.hca for each in found.rows)]
    shown = [[row[at] for at in kept] for row in rows]
    result = heading("Before and after", about, width)
    result += table([head[at] for at in kept], shown, width, "".join("llrrrrrl"[at] for at in kept))
    for each in found.rows:
        if each.what == "message rate":
            result += wrapped([(_sentence(each, found.of), _STYLES[each.says])], width)
    result += wrapped([(_N[found.of] + _MEANS, "dim")], width)
    for warning in found.warnings:
        result += wrapped([(f"! {plain(warning, 400)}", "warn")], width)
    return result


_N = {"starts": "n: boots with each setting, one median per boot. ", "repeats": "n: repeats on each side. "}
_MEANS = (
    "p: the probability that chance alone separates them this far (Mann-Whitney, two-sided). Faster or slower: p is at "
    f"most {SIGNIFICANT:g} and the medians differ by {percent(NEGLIGIBLE)} or more."
)


def _time(started: str) -> str:
    return plain(started[:16].replace("T", " "), 20)


def _row(each: Contrast, *, wide: bool) -> list[Cell]:
    numbers = (each.before.number, each.after.number)
    return [
        plain(each.hca or "", 40),
        _measured(each),
        f"{numbers[0]}" if numbers[0] == numbers[1] else f"{numbers[0]} / {numbers[1]}",
        _spread_of_side(each.before, each, wide=wide),
        _spread_of_side(each.after, each, wide=wide),
        f"{each.ratio:.3f}",
        probability(each.p),
        (each.says, _STYLES[each.says]),
    ]


def _measured(each: Contrast) -> str:
    """Return what stands in a row, with its unit: a size of messages, or a kernel on a part."""
    if each.part is None:
        return f"{unit_name(each.unit)}, {binary(each.bytes or 0)}"
    away = "" if each.distance in (None, "local", "spread") else f", {distance(each.distance)}"
    of = f"{plain(each.kernel or '', 40)} {plain(each.variant or '', 40)}, {part_name(each.part, each.index)}{away}"
    return f"{of}, {unit_name(each.unit)}"


def _spread_of_side(side: Side, of: Contrast, *, wide: bool) -> str:
    """Return the median, and with room enough the least and the most."""
    middle = short_number(side.median, of.unit)
    return f"{middle} ({short_number(side.low, of.unit)}-{short_number(side.high, of.unit)})" if wide else middle


def _sentence(each: Contrast, of: str) -> str:
    where = f"Through {plain(each.hca, 40)} " if each.hca else ""
    what = f"{where}{'the' if where else 'The'} message rate of {count(each.pairs, 'pair')} of ranks"
    both = f"{amount(each.before.median, each.unit)} before, {amount(each.after.median, each.unit)} after"
    chance = f"p {probability(each.p)}, {each.before.number} and {each.after.number} {of}"
    if each.says == "no difference shown":
        return f"{what}: no difference shown ({both}; {chance})."
    return f"{what} is {percent(abs(each.ratio - 1))} {'higher' if each.ratio > 1 else 'lower'} ({both}; {chance})."


def probability(p: float) -> str:
    """Return a p: ``0.34``, ``0.00004``; what is next to nothing as less than that.

    >>> probability(0.3401), probability(4.1e-5), probability(1e-9)
    ('0.34', '0.00004', '< 0.00001')
    """
    if p < 1e-5:
        return "< 0.00001"
    return f"{p:.2g}" if p >= 0.001 else f"{p:.5f}"
