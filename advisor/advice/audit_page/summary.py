"""The machine in two lines, or in all; and what was inferred of how the firmware cut it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.memory import Dimm, SocketMemory
from advisor.machine.operating_system import Kernel, Limits
from advisor.machine.topology import counts
from advisor.machine.units import binary, clock, count, duration, memory_clock, plain, throughput
from advisor.measure.measured_facts import Linpack, MeasuredFacts
from advisor.show.cpulists import numbered
from advisor.show.lines import Line, labelled, with_units, wrapped
from advisor.show.topology.devices import PlacedDevice, devices, together
from advisor.show.topology.elements import Device, Picture
from advisor.show.topology.picture import KINDS, device_facts, device_name

Row = tuple[str, str, str]
"""A label, what is said, and its style."""

LABEL = 11
"""Columns that a label takes."""

SERVING = ("hca", "gpu", "accelerator")
"""Kinds of devices that stand in the opening: all others serve the system."""

_DULL = r"\(R\)|\(TM\)|\bCPU\b|\d+-Core\b|\bProcessor\b|@ ?[\d.]+ ?GHz|\bGenuine\b|, altivec supported|\bAMD\b|\bIntel\b"
"""What vendors print beside a processor's name and nobody looks for."""

_STYLE = {"down": "down", "unknown": "unknown"}


def identity(machine: Machine, layout: Layout, seen: Picture, width: int, room: int) -> list[Line]:
    """Return what machine this is, in a line or two, and what limits the view of it."""
    name = re.sub(r"\s*\b(Inc|Corp|Corporation|Co|Ltd)\b\.?,?", "", seen.title)
    known = not seen.processors.startswith("processor not known")
    processor = [_processor(machine, seen)] if known else []
    devices = [_as_far_as_known(each) for each in adapters_in_words(machine)]
    words = " · ".join((name, ", ".join((*processor, *_size(machine, layout))), *devices))
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
    words = " ".join(re.sub(_DULL, "", seen.processors).split())
    cpu = machine.cpu
    if re.search("[A-Za-z]{3}", words):
        return words
    number = f"{words.partition(' x')[0]} x " if " x" in words else ""
    known = cpu is not None and cpu.family is not None and cpu.model is not None
    return f"{number}processor {f'of family {cpu.family} model {cpu.model}' if cpu and known else 'without a name'}"


def _size(machine: Machine, layout: Layout) -> Iterator[str]:
    topology = machine.topology
    if machine.environment and machine.environment.is_virtual:
        yield f"a virtual machine ({plain(str(machine.environment.virtual), 40)})"
    if topology is None:
        return
    seen = counts(topology)
    yield count(seen.cores, "core")
    yield f"SMT {layout.smt.state}"
    nodes = count(seen.numa_nodes, "NUMA node")
    sure = "" if layout.cut.confidence == "high" else "?"
    yield nodes if layout.cut.name in ("none", "unknown") else f"{plain(layout.cut.name)}{sure} ({nodes})"
    memory = [node.memory for node in topology.nodes if node.memory is not None]
    if memory:
        yield binary(sum(memory))


def whole(machine: Machine, seen: Picture, width: int) -> list[Line]:
    """Return all that is worth a line of its own, and how the firmware cut the machine, with the reasons."""
    return [
        *_table(facts(machine, seen), width),
        (),
        (("Topology and NUMA partitioning", "heading"),),
        *_table(statements(seen), width),
    ]


def adapters_in_words(machine: Machine) -> Iterator[str]:
    """Yield adapters and accelerators: of each kind one row, in use if one is, and the rest counted."""
    rows = together([_at_its_node(placed) for placed in devices(machine) if placed.device.kind in SERVING])
    in_use = sorted(rows, key=lambda row: (row.state == "down", row.state == "none"))
    shown = {kind: next((row for row in in_use if row.kind == kind), None) for kind in SERVING}
    yield from (f"{label} {text}" for row in shown.values() if row for label, text, _ in [_row(row)])
    left = Counter({kind: sum(len(row.names) for row in rows if row.kind == kind and row is not shown[kind]) for kind in SERVING})
    words = ", ".join(count(number, KINDS.get(kind, kind)) for kind, number in left.items() if number)
    if words:
        dark = sum(len(row.names) for row in rows if row.state == "down" and row not in shown.values())
        yield f"and {words} more{f' ({dark} DOWN)' if dark else ''}"
    if not rows:
        yield "adapters not known" if machine.hcas is None else "no HCA, GPU or accelerator seen"


def _table(rows: Iterable[Row], width: int) -> list[Line]:
    return [line for label, words, style in rows for line in labelled(label, [(words, style)], width, LABEL)]


def facts(machine: Machine, seen: Picture) -> Iterator[Row]:
    """Yield the machine in a few lines."""
    yield "Machine", seen.title, "title"
    yield "Processor", seen.processors, ""
    yield from ((label, text, "") for label, text in _clocks(machine) if text)
    yield "Topology", seen.counts, ""
    yield from ((label, text, "") for label, text in _firmware_and_memory(machine) if text)
    yield from _devices(machine)
    yield from ((label, text, "") for label, text in _system(machine) if text)
    yield from (("Note", note, "warn") for note in seen.notes)


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
    capped = cpu.limit_hz if cpu.limit_hz and cpu.max_hz and cpu.limit_hz < cpu.max_hz else None
    parts = (
        f"base {clock(cpu.base_hz)}" if cpu.base_hz else "",
        f"up to {clock(cpu.max_hz)}" if cpu.max_hz else "",
        f"CAPPED at {clock(capped)}" if capped else "",
        {True: "boost on", False: "boost off", None: ""}[cpu.boost],
        f"governor {' and '.join(map(plain, cpu.governors))}" if cpu.governors else "",
        f"driver {plain(cpu.driver)}" if cpu.driver else "",
    )
    yield "Clocks", ", ".join(part for part in parts if part)


def _firmware_and_memory(machine: Machine) -> Iterator[tuple[str, str]]:
    firmware = machine.firmware
    if firmware and firmware.bios_version:
        dated = f" of {plain(firmware.bios_date)}" if firmware.bios_date else ""
        yield "BIOS", f"{plain(firmware.bios_vendor or '')} {plain(firmware.bios_version)}{dated}".strip()
    if machine.memory and machine.memory.dimms is not None:
        yield "DIMMs", _dimms(machine.memory.dimms)
    yield "Channels", _channels(machine.memory.sockets or () if machine.memory else ())


def _dimms(dimms: tuple[Dimm, ...]) -> str:
    """Modules that are alike together: ``16 x 16 GiB DDR4 3200 MT/s at 2933 MT/s``."""
    kinds: dict[str, int] = {}
    for dimm in dimms:
        if dimm.size != 0:
            slowed = dimm.configured is not None and dimm.configured != dimm.rated
            speed = memory_clock(dimm.rated) + (f" at {memory_clock(dimm.configured)}" if slowed else "")
            name = f"{binary(dimm.size)} {plain(dimm.kind or '')} {speed}".replace("  ", " ")
            kinds[name] = kinds.get(name, 0) + 1
    empty = sum(1 for dimm in dimms if dimm.size == 0)
    words = [f"{number} x {name}" for name, number in kinds.items()]
    return ", ".join([*words, *([count(empty, "empty slot")] if empty else [])]) or "none seen"


def _channels(sockets: tuple[SocketMemory, ...]) -> str:
    """Sockets that are alike together: ``sockets 0-1: 8 DIMMs in 8 channels, at most 204.8 GB/s each``."""
    kinds: dict[SocketMemory, list[int]] = {}
    for socket in sockets:
        kinds.setdefault(socket.model_copy(update={"socket": 0}), []).append(socket.socket)
    return "; ".join(_channel(kind, numbers) for kind, numbers in kinds.items())


def _channel(kind: SocketMemory, numbers: list[int]) -> str:
    many = len(numbers) > 1
    channels = "channels ?" if kind.channels is None else count(kind.channels, "channel")
    ceiling = f", at most {throughput(kind.bandwidth)}" if kind.bandwidth else ""
    modules = f"{count(kind.dimms, 'DIMM')} in {count(kind.slots, 'slot')}"
    name = f"socket{'s' if many else ''} {numbered(numbers)}"
    return f"{name}: {channels} with {modules}{ceiling}{' each' if many else ''}"


def _devices(machine: Machine) -> Iterator[Row]:
    """Yield adapters and accelerators, those that are alike at one node in one row."""
    yield from map(_row, together([_at_its_node(placed) for placed in devices(machine) if placed.device.kind in SERVING]))


def _row(device: Device) -> Row:
    label, _, name = device_name(device).partition(" ")
    style = "slow" if device.slow and device.state != "down" else _STYLE.get(device.state, "")
    return label, ", ".join((name.removesuffix(" ~"), *device_facts(device))), style


def _at_its_node(placed: PlacedDevice) -> Device:
    why = placed.device.guessed or placed.unplaced
    nodes = f"NUMA node{'s' if len(placed.nodes) > 1 else ''} {numbered(placed.nodes) if placed.nodes else '?'}"
    known = f" (inferred: {why})" if placed.nodes else f" ({why})"
    remarks = (*placed.device.remarks, f"{nodes}{known if why else ''}")
    return replace(placed.device, remarks=remarks, guessed=None)


def _system(machine: Machine) -> Iterator[tuple[str, str]]:
    kernel, environment = machine.kernel, machine.environment
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
    if machine.allocation:
        job = f" job {plain(machine.allocation.job)}" if machine.allocation.job else ""
        yield "Allocation", f"{plain(machine.allocation.scheduler)}{job}"


def _tunables(kernel: Kernel) -> Iterator[str]:
    """Yield the settings that decide where a job's memory goes, each with its value."""
    named = (
        ("transparent hugepages", kernel.thp),
        ("NUMA balancing", kernel.numa_balancing),
        ("zone reclaim", kernel.zone_reclaim_mode),
        ("swappiness", kernel.swappiness),
        ("clock source", kernel.clocksource),
        ("tuned", kernel.tuned),
    )
    yield from (f"{name} {plain(str(value))}" for name, value in named if value is not None)
    if kernel.isolated:
        yield f"isolated CPUs {kernel.isolated}"


def _limits(limits: Limits) -> Iterator[str]:
    """Yield what this process may use, where that is known."""
    for name, value in (("locked memory", limits.memlock), ("stack", limits.stack)):
        if value is not None:
            yield f"{name} {'unlimited' if value < 0 else binary(value)}"
    if limits.files is not None:
        yield f"open files {'unlimited' if limits.files < 0 else limits.files}"


def figures(measured: MeasuredFacts) -> dict[str, str]:
    """Return the figures of the whole machine by what they are of, each beside what is published or could be."""
    found: dict[str, str] = {}
    whole = measured.machine
    if whole is not None and whole.triad:
        found["triad"] = f"triad {throughput(whole.triad)}{_beside(measured, 'triad', whole.triad)}"
    elif whole is not None and whole.load:
        found["triad"] = f"load {throughput(whole.load)}{_beside(measured, 'load', whole.load)}"
    elif measured.cores and len(measured.cores) == 1 and measured.cores[0].triad:
        found["triad"] = f"triad {throughput(measured.cores[0].triad)} of one core"
    if whole is not None and whole.latency:
        found["latency"] = f"latency {duration(whole.latency)}{_beside(measured, 'latency', whole.latency)}"
    if measured.flops:
        share = f", {100 * measured.flops.share:.0f} % of peak" if measured.flops.share else ""
        found["flops"] = f"{measured.flops.rate / 1e12:.3g} TFLOP/s{share}"
    if measured.hpl and measured.hpl.rate:
        found["hpl"] = (
            f"HPL {measured.hpl.rate / 1e12:.3g} TFLOP/s{_of_peak(measured.hpl)}{_beside(measured, 'hpl', measured.hpl.rate)}"
        )
    each = [f"{adapter.name} {throughput(adapter.bandwidth)} one way" for adapter in measured.adapters if adapter.bandwidth]
    if each:
        found["messages"] = " · ".join(each)
    busy = ", on a busy machine" if measured.idle is False else ""
    when = plain(measured.when, 80)
    return {**found, "when": f"{when if when.startswith('imported') else f'measured {when}'}{busy}"}


def _of_peak(hpl: Linpack) -> str:
    """Return the share of the peak that was measured under load, or else of that at the base clock."""
    if hpl.of_load:
        return f", {100 * hpl.of_load:.0f} % of peak"
    return f", {100 * hpl.of_base:.0f} % of peak at base clock" if hpl.of_base else ""


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
