"""The machine in words: in two lines, in all, every fact with where it was read, what was measured, what is proven of it."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from advisor.machine.cpuset import CpuSet
from advisor.machine.fact import Section, Unit, declarations, in_order, keys
from advisor.machine.hardware import Dimm, Link, SocketMemory
from advisor.machine.layout import Layout
from advisor.machine.machine import Facts, Kernel, Limits, Machine
from advisor.machine.partitioning import find_sockets
from advisor.machine.topology import Topology, counts
from advisor.machine.units import binary, clock, count, duration, in_unit, link, memory_clock, plain, throughput
from advisor.machine.value import Value
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.platform import MemoryBounds
from advisor.show.lines import Line, Span, labelled, numbered, with_units, wrapped
from advisor.show.picture import KINDS, Device, Picture, PlacedDevice, device_facts, device_name, devices, together

Row = tuple[str, str, str]
"""A label, what is said, and its style."""

LABEL = 11
"""Columns that a label takes."""
FACT_LABEL, _ENTRIES = 22, 64
"""Columns of a fact's name; and so many entries of one list are shown."""

_SERVING = ("hca", "gpu", "accelerator")
"""Kinds of devices that stand in the opening: all others serve the system."""

_DULL = r"\(R\)|\(TM\)|\bCPU\b|\d+-Core\b|\bProcessor\b|@ ?[\d.]+ ?GHz|\bGenuine\b|, altivec supported|\bAMD\b|\bIntel\b"
"""What vendors print beside a processor's name and nobody looks for."""

_ALIKE = 0.1
"""Nodes whose memory differs by less hold the same: firmware and kernel keep a part of some of them."""
_ADAPTERS = 2


def identity(machine: Machine, layout: Layout, seen: Picture, width: int, room: int) -> list[Line]:
    """Return what machine this is, in a line or two, and what limits the view of it."""
    name = re.sub(r"\s*\b(Inc|Corp|Corporation|Co|Ltd)\b\.?,?", "", seen.title)
    processor = [] if seen.processors.startswith("processor not known") else [_processor(machine, seen)]
    adapters = [_as_far_as_known(each) for each in adapters_in_words(machine)]
    words = " · ".join((name, ", ".join((*processor, *_size(machine, layout))), *adapters))
    notes = [line for note in seen.notes for line in labelled("NOTE", [(note, "warn")], width, room)]
    return [*wrapped([(with_units(words), "title")], width), *notes]


def _as_far_as_known(device: str) -> str:
    """Return a device without the parts that are not known, and without the word that all that is well has.

    >>> _as_far_as_known("HCA mlx4_0, RoCE rate ? active, PCIe ?, NUMA node 6")
    'HCA mlx4_0, RoCE, NUMA node 6'
    """
    parts = (re.sub(r" ?\b(rate|ports|PCIe|NUMA node) \?( active)?$| active\b", "", part) for part in device.split(", "))
    return ", ".join(part for part in parts if part)


def _processor(machine: Machine, seen: Picture) -> str:
    """Return the processors by the name that people know; a sample that calls itself 0000 by its family and model."""
    words, cpu = " ".join(re.sub(_DULL, "", seen.processors).split()), machine.cpu
    if re.search("[A-Za-z]{3}", words):
        return words
    number = f"{words.partition(' x')[0]} x " if " x" in words else ""
    known = cpu is not None and cpu.family is not None and cpu.model is not None
    return f"{number}processor {f'of family {cpu.family} model {cpu.model}' if cpu and known else 'without a name'}"


def _size(machine: Machine, layout: Layout) -> Iterator[str]:
    topology, cut = machine.topology, layout.cut
    if machine.environment and machine.environment.is_virtual:
        yield f"a virtual machine ({plain(str(machine.environment.virtual), 40)})"
    if topology is None:
        return
    seen = counts(topology)
    yield count(seen.cores, "core")
    yield f"SMT {layout.smt.state}"
    nodes = count(seen.numa_nodes, "NUMA node")
    name = f"{plain(cut.name)}{'' if cut.confidence == 'high' else '?'} ({nodes})"
    yield nodes if cut.name in ("none", "unknown") else name
    memory = [node.memory for node in topology.nodes if node.memory is not None]
    if memory:
        yield binary(sum(memory))


def whole(machine: Machine, seen: Picture, width: int) -> list[Line]:
    """Return all that is worth a line of its own, and how the firmware cut the machine, with the reasons."""
    inferred = _table(statements(seen), width)
    return [*_table(facts(machine, seen), width), (), (("Topology and NUMA partitioning", "heading"),), *inferred]


def _table(rows: Iterable[Row], width: int) -> list[Line]:
    return [line for label, words, style in rows for line in labelled(label, [(words, style)], width, LABEL)]


def adapters_in_words(machine: Machine) -> Iterator[str]:
    """Yield adapters and accelerators: of each kind one row, in use if one is, and the rest counted."""
    rows = _serving(machine)
    in_use = sorted(rows, key=lambda row: (row.state == "down", row.state == "none"))
    shown = {kind: next((row for row in in_use if row.kind == kind), None) for kind in _SERVING}
    yield from (" ".join(_device(row)[:2]) for row in shown.values() if row)
    left: Counter[str] = Counter()
    for row in (row for row in rows if row not in shown.values()):
        left[row.kind] += len(row.names)
    words = ", ".join(count(left[kind], KINDS.get(kind, kind)) for kind in _SERVING if left[kind])
    if words:
        dark = sum(len(row.names) for row in rows if row.state == "down" and row not in shown.values())
        yield f"plus {words}{f' ({dark} DOWN)' if dark else ''}"
    if not rows:
        yield "adapters not known" if machine.hcas is None else "no HCA, GPU or accelerator found"


def facts(machine: Machine, seen: Picture) -> Iterator[Row]:
    """Yield the machine in a few lines."""
    yield "Machine", seen.title, "title"
    yield "Processor", seen.processors, ""
    yield from _if_known(_clocks(machine))
    yield "Topology", seen.counts, ""
    yield from _if_known(_firmware_and_memory(machine))
    yield from map(_device, _serving(machine))
    yield from _if_known(_system(machine))
    yield from (("Note", note, "warn") for note in seen.notes)


def _if_known(rows: Iterable[tuple[str, str]]) -> Iterator[Row]:
    return ((label, text, "") for label, text in rows if text)


def statements(seen: Picture) -> Iterator[Row]:
    """Yield what was inferred, how sure, and why."""
    for each in seen.statements:
        yield each.about, f"{each.says}{f', {each.sure} confidence' if each.sure else ''}", "title"
        yield from (("", reason, "") for reason in each.why)


def _clocks(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield the clocks and who sets them; a cap where software holds the CPUs below what the driver allows."""
    cpu = machine.cpu
    if cpu is None:
        return
    capped = cpu.limit_hz and cpu.max_hz and cpu.limit_hz < cpu.max_hz
    parts = (
        f"base {clock(cpu.base_hz)}" if cpu.base_hz else "",
        f"up to {clock(cpu.max_hz)}" if cpu.max_hz else "",
        f"CAPPED at {clock(cpu.limit_hz)}" if capped else "",
        {True: "boost on", False: "boost off", None: ""}[cpu.boost],
        f"governor {' and '.join(map(plain, cpu.governors))}" if cpu.governors else "",
        f"driver {plain(cpu.driver)}" if cpu.driver else "",
    )
    yield "Clocks", ", ".join(filter(None, parts))


def _firmware_and_memory(machine: Machine) -> Iterator[tuple[str, str]]:
    firmware, memory = machine.firmware, machine.memory
    if firmware and firmware.bios_version:
        dated = f" of {plain(firmware.bios_date)}" if firmware.bios_date else ""
        yield "BIOS", f"{plain(firmware.bios_vendor or '')} {plain(firmware.bios_version)}{dated}".strip()
    if memory and memory.dimms is not None:
        yield "DIMMs", _dimms(memory.dimms)
    kinds: dict[SocketMemory, list[int]] = {}
    for socket in memory.sockets or () if memory else ():
        kinds.setdefault(socket.but(socket=0), []).append(socket.socket)
    yield "Channels", "; ".join(_channel(kind, numbers) for kind, numbers in kinds.items())


def _dimms(dimms: tuple[Dimm, ...]) -> str:
    """Modules that are alike together: ``16 x 16 GiB DDR4 3200 MT/s at 2933 MT/s``."""
    kinds: Counter[str] = Counter()
    for dimm in (dimm for dimm in dimms if dimm.size != 0):
        slowed = dimm.configured is not None and dimm.configured != dimm.rated
        speed = memory_clock(dimm.rated) + (f" at {memory_clock(dimm.configured)}" if slowed else "")
        kinds[f"{binary(dimm.size)} {plain(dimm.kind or '')} {speed}".replace("  ", " ")] += 1
    empty = len(dimms) - kinds.total()
    words = [f"{number} x {name}" for name, number in kinds.items()]
    return ", ".join([*words, *([count(empty, "empty slot")] if empty else [])]) or "none seen"


def _channel(kind: SocketMemory, numbers: list[int]) -> str:
    """Sockets that are alike together: ``sockets 0-1: 8 DIMMs in 8 channels, at most 204.8 GB/s each``."""
    many = len(numbers) > 1
    channels = "unknown number of channels" if kind.channels is None else count(kind.channels, "channel")
    ceiling = f", at most {throughput(kind.bandwidth)}" if kind.bandwidth else ""
    modules = f"{count(kind.dimms, 'DIMM')} in {count(kind.slots, 'slot')}"
    return f"socket{'s' * many} {numbered(numbers)}: {channels} with {modules}{ceiling}{' each' * many}"


def _serving(machine: Machine) -> tuple[Device, ...]:
    """Return adapters and accelerators, those that are alike at one node in one row."""
    return together([_at_its_node(placed) for placed in devices(machine) if placed.device.kind in _SERVING])


def _device(device: Device) -> Row:
    label, _, name = device_name(device).partition(" ")
    style = "down" if device.state == "down" else "slow" if device.slow else "unknown" if device.state == "unknown" else ""
    return label, ", ".join((name.removesuffix(" ~"), *device_facts(device))), style


def _at_its_node(placed: PlacedDevice) -> Device:
    why = placed.device.guessed or placed.unplaced
    nodes = f"NUMA node{'s' if len(placed.nodes) > 1 else ''} {numbered(placed.nodes) if placed.nodes else '?'}"
    known = f" ({'inferred: ' if placed.nodes else ''}{why})" if why else ""
    return replace(placed.device, remarks=(*placed.device.remarks, f"{nodes}{known}"), guessed=None)


def _system(machine: Machine) -> Iterator[tuple[str, str]]:
    kernel, environment, job = machine.kernel, machine.environment, machine.allocation
    if kernel:
        yield "System", ", ".join(plain(part) for part in (kernel.os_name, kernel.release) if part)
        yield "Kernel", ", ".join(_tunables(kernel))
    if environment:
        kinds = (("virtual machine", environment.virtual), ("container", environment.container))
        yield "Inside", ", ".join(f"{name}: {plain(value)}" for name, value in kinds if value not in (None, "none"))
    if machine.limits:
        yield "Limits", ", ".join(_limits(machine.limits))
    if machine.tools:
        yield "Software", ", ".join(f"{plain(tool.name)} {plain(tool.version or '?')}" for tool in machine.tools)
    if job:
        yield "Allocation", f"{plain(job.scheduler)}{f' job {plain(job.job)}' if job.job else ''}"


def _tunables(kernel: Kernel) -> Iterator[str]:
    """Yield the settings that decide where a job's memory goes, each with its value."""
    named = {
        "transparent hugepages": kernel.thp, "NUMA balancing": kernel.numa_balancing, "zone reclaim": kernel.zone_reclaim_mode,
        "swappiness": kernel.swappiness, "clock source": kernel.clocksource, "tuned": kernel.tuned,
    }  # fmt: skip
    yield from (f"{name} {plain(str(value))}" for name, value in named.items() if value is not None)
    if kernel.isolated:
        yield f"isolated CPUs {kernel.isolated}"


def _limits(limits: Limits) -> Iterator[str]:
    """Yield what this process may use, where that is known."""
    named = (("locked memory", limits.memlock, binary), ("stack", limits.stack, binary), ("open files", limits.files, str))
    yield from (f"{name} {'unlimited' if value < 0 else write(value)}" for name, value, write in named if value is not None)


class Fact(NamedTuple):
    """One fact of the machine itself: its value, or all that is in it, and the files or commands it was read from."""

    name: str
    value: str
    places: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Label, text, and where that was read."""


def facts_with_places(machine: Machine) -> Iterator[Fact]:
    """Yield every fact that is known, but the topology, which is drawn."""
    places: dict[str, list[str]] = {}
    for source in machine.sources:
        places.setdefault(source.fact, []).append(plain(source.where))

    def inside(fact: str) -> tuple[str, ...]:
        own = (where for name, where in places.items() if name == fact or name.startswith(f"{fact}."))
        return tuple(dict.fromkeys(place for where in own for place in where))

    for name in in_order(Facts):
        value, declared = getattr(machine, name), declarations(Facts)[name]
        if value is None or declared.section == Section.TOPOLOGY:
            continue
        own = tuple(dict.fromkeys(places.get(name, ())))
        if isinstance(value, (tuple, Value)):
            rows = _entries(value) if isinstance(value, tuple) else _fields(value)
            yield Fact(name, "", own, tuple((label, text, inside(f"{name}.{label.strip()}")) for label, text in rows))
        else:
            yield Fact(name, _text(value, declared.unit), own)


def details(machine: Machine, width: int, only: Collection[str] = ()) -> list[Line]:
    """Return every section that is known, or ``only`` some; each fact, or else its section, with where it was read."""
    result: list[Line] = []
    for fact in (fact for fact in facts_with_places(machine) if not only or fact.name in only):
        value = f"  {fact.value}" if fact.value else ""
        result += [(), *wrapped([(fact.name, "heading"), (value, ""), *_read(fact.places)], width)]
        room = min(2 * FACT_LABEL, max(FACT_LABEL, *(len(label) + 2 for label, _, _ in fact.rows), FACT_LABEL))
        for label, text, where in fact.rows:
            result += labelled(label, [(text, ""), *_read(where, gap="  " if text else "")], width, room)
    return result


def _read(where: Sequence[str], gap: str = "  ") -> list[Span]:
    return [(f"{gap}[{', '.join(where)}]", "dim")] if where else []


def _fields(value: Value) -> Iterator[tuple[str, str]]:
    """Yield names and texts of a section, field by field."""
    for field, declared in declarations(type(value)).items():
        inner = getattr(value, field)
        nested = (
            isinstance(inner, tuple)
            and inner
            and (isinstance(inner[0], Value) or (declared.unit and isinstance(inner[0], tuple)))
        )
        if inner is None:
            continue
        if declared.per_cpu and isinstance(inner, tuple) and inner:
            yield field, f"{len(inner)} entries; --json has them"
        elif isinstance(inner, dict) or nested:
            yield field, ""
            rows = inner.items() if isinstance(inner, dict) else _entries(inner)
            yield from ((f"  {plain(str(label))}", plain(str(text)) if isinstance(inner, dict) else text) for label, text in rows)
        else:
            yield field, _text(inner, declared.unit)


def _entries(values: tuple[object, ...]) -> Iterator[tuple[str, str]]:
    """Yield a row for each entry of a list, labelled with what identifies it: its name, address or number."""
    for value in values[:_ENTRIES]:
        if isinstance(value, Value):
            first = next(iter((*keys(type(value)), *type(value).model_fields)))
            name = getattr(value, first)
            yield plain(name) if isinstance(name, str) else f"{first} {name}", _entry(value, but=first)
        else:
            yield "", _plain(value)
    if len(values) > _ENTRIES:
        yield "", f"and {len(values) - _ENTRIES} more; --json has them all"
    if not values:
        yield "", "none"


def _entry(value: Value, but: str = "") -> str:
    """Return one entry of a list in one line; what is not known of it, or is not so, is left out."""
    fields = ((field, getattr(value, field), declared.unit) for field, declared in declarations(type(value)).items())
    known = (each for each in fields if each[0] != but and each[1] is not None and each[1] is not False)
    return ", ".join(f"{field} {_text(inner, unit)}" for field, inner, unit in known)


def _text(value: object, unit: Unit | None) -> str:
    values = value if isinstance(value, tuple) else (value,)
    if unit and all(isinstance(each, int | float) for each in values):
        return " ".join(in_unit(each, unit) for each in values) or "none"
    return _plain(value)


def _plain(value: object) -> str:
    """Return any value in words: lists with their values apart, boot options as they were given, words with blanks."""
    match value:
        case Link():
            words = link(value)
        case Value():
            words = f"({_entry(value)})"
        case bool():
            words = "yes" if value else "no"
        case CpuSet():
            words = str(value) or "none"
        case tuple() if any(isinstance(each, Value) for each in value):
            words = "; ".join(map(_plain, value))
        case tuple():
            words = " ".join(_option(each) if isinstance(each, tuple) else _plain(each) for each in value) or "none"
        case _:
            words = plain(str(value), 400)
    return words


def _option(pair: tuple[object, ...]) -> str:
    if len(pair) == 2 and isinstance(pair[0], str):
        return plain(pair[0]) + ("" if pair[1] is None else f"={plain(str(pair[1]))}")
    return " ".join(map(str, pair))


def figures(measured: MeasuredFacts) -> dict[str, str]:
    """Return the figures of the whole machine by what they are of, each beside what is published or could be."""
    found: dict[str, str] = {}
    whole, hpl, flops = measured.machine, measured.hpl, measured.flops
    if whole is not None and (whole.triad or whole.load):
        what, rate = ("triad", whole.triad) if whole.triad else ("load", whole.load or 0.0)
        found["triad"] = f"{what} {throughput(rate)}{_beside(measured, what, rate)}"
    elif measured.cores and len(measured.cores) == 1 and measured.cores[0].triad:
        found["triad"] = f"triad {throughput(measured.cores[0].triad)} on one core"
    if whole is not None and whole.latency:
        found["latency"] = f"latency {duration(whole.latency)}{_beside(measured, 'latency', whole.latency)}"
    if flops:
        found["flops"] = f"{flops.rate / 1e12:.3g} TFLOP/s{f', {100 * flops.share:.0f} % of peak' if flops.share else ''}"
    if hpl and hpl.rate:
        share = hpl.of_load or hpl.of_base  # of the peak that was measured under load, or else of that at the base clock
        peak = f", {100 * share:.0f} % of peak{'' if hpl.of_load else ' at base clock'}" if share else ""
        found["hpl"] = f"HPL {hpl.rate / 1e12:.3g} TFLOP/s{peak}{_beside(measured, 'hpl', hpl.rate)}"
    each = [f"{adapter.name} {throughput(adapter.bandwidth)} one way" for adapter in measured.adapters if adapter.bandwidth]
    if each:
        found["messages"] = " · ".join(each)
    when, busy = plain(measured.when, 80), ", on a busy machine" if measured.idle is False else ""
    return {**found, "when": f"{when if when.startswith('imported') else f'measured {when}'}{busy}"}


def _share(value: float, low: float, high: float) -> str:
    """Return ``56 % of the 270-300 GB/s``, of rates and of times; the share is that of the lower end, none between the two."""
    write = throughput if low > 1 else duration
    span = write(high) if low == high else f"{write(low).partition(' ')[0]}-{write(high)}"
    return f"within the {span}" if low < value <= high else f"{100 * value / low:.0f} % of the {span}"


def _beside(measured: MeasuredFacts, what: str, value: float) -> str:
    """Return how a figure stands to what was published for such a machine, or else to what its memory could carry."""
    published = (*measured.published, *measured.published_latency, *measured.published_hpl)
    one = next((each for each in published if what in each.name and "machine" in each.name and each.value == value), None)
    if one is not None and (one.low or one.high):
        low, high = one.low or one.high or 0.0, one.high or one.low or 0.0
        return f", {_share(value, low, high)} published [{one.ref}]"
    place = measured.place_of(what, value)
    return f", {plain(place.beside, 300)}" if place and (place.published or place.of_ceiling) else ""


def proven(machine: Machine, layout: Layout, bounds: MemoryBounds | None) -> Iterator[str]:
    """Yield what the topology and arithmetic prove of a machine of which little is known, the most useful first."""
    topology = machine.topology
    if topology is None or not topology.pus:
        return
    yield from of_bounds(bounds, virtual=machine.environment.virtual if machine.environment else None)
    yield from _partitioning(machine, topology, layout)
    nodes = [(node.os_index, node.memory) for node in topology.cpu_nodes if node.memory]
    sizes = [size for _, size in nodes]
    if len(sizes) > 1 and max(sizes) - min(sizes) <= _ALIKE * max(sizes):
        yield f"{binary(max(sizes))} on each of {len(sizes)} NUMA nodes"
    elif len(sizes) > 1:
        least = numbered(number for number, size in nodes if size <= (1 + _ALIKE) * min(sizes))
        yield f"memory is uneven: {binary(min(sizes))} on node {least}, up to {binary(max(sizes))} on the others"
    kinds = {(len(group.cpuset), group.size) for group in topology.l3}
    if len(topology.l3) > 1 and len(kinds) == 1:
        cpus, size = kinds.pop()
        yield f"{len(topology.l3)} L3 groups of {count(cpus, 'CPU')}{f', {binary(size)} each' if size else ''}"
    rates = {device.address: device.link.bandwidth for device in machine.pci or () if device.link and device.link.bandwidth}
    for hca in [each for each in machine.hcas or () if each.address in rates][:_ADAPTERS]:
        yield f"PCIe carries {throughput(rates[hca.address or ''])} each way to {plain(hca.name, 40)}"


def of_bounds(bounds: MemoryBounds | None, *, virtual: str | None) -> Iterator[str]:
    """Yield what the memory is at most; how many channels are filled only of real machines, for guests are given a part."""
    if bounds is None:
        return
    if bounds.modules is not None and bounds.channels and bounds.modules < bounds.channels and virtual == "none":
        filled = f"at most {bounds.modules} of {bounds.channels} memory channels are filled"
        yield f"{filled} ({binary(bounds.module)} is the smallest DIMM)"
    if bounds.bandwidth:
        yield f"memory bandwidth is at most {throughput(bounds.bandwidth)}: {bounds.because}"


def _partitioning(machine: Machine, topology: Topology, layout: Layout) -> Iterator[str]:
    """Yield how the sockets are partitioned: by its name where that is sure, else the nodes of each socket."""
    cut, sockets = layout.cut, find_sockets(machine, topology)[0]
    if not topology.numa_known or not sockets:
        return
    nodes = {sum(1 for node in topology.cpu_nodes if node.cpuset & cpus) for cpus in sockets}
    if any(sum(1 for cpus in sockets if node.cpuset & cpus) > 1 for node in topology.cpu_nodes):
        yield f"{count(len(topology.cpu_nodes), 'NUMA node')} over {count(len(sockets), 'socket')}"
    elif len(nodes) == 1:
        name = "" if cut.name in ("none", "unknown") or cut.confidence == "low" else f"{plain(cut.name, 40)}, "
        yield f"{name}{count(nodes.pop(), 'NUMA node')} per socket"
    else:
        yield f"NUMA nodes per socket differ: {' and '.join(map(str, sorted(nodes)))}"
