"""The machine in a few lines, what was inferred of its settings, and what could not be seen."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from advisor.model.evidence import NOT_OFFERED
from advisor.model.layout import Layout
from advisor.model.machine import Machine
from advisor.model.memory import Dimm
from advisor.model.system import Kernel, Limits
from advisor.render.attached import devices
from advisor.render.captions import device_facts, device_name
from advisor.render.picture import picture
from advisor.render.shapes import Device, Picture
from advisor.render.units import binary, clock, count, memory_clock, plain

Row = tuple[str, str, str]
"""A label, what is said, and its style."""

NEXT = "Next: 'advisor topology' draws this machine, 'advisor capture -o node.tar.gz' takes it along."

_STYLE = {"down": "red", "unknown": "yellow"}


def summary(machine: Machine, layout: Layout) -> RenderableType:
    """Return the opening of an audit."""
    seen = picture(machine, layout)
    parts: list[RenderableType] = [facts(machine, seen), Text(), settings(seen)]
    hidden = unseen(machine)
    return Group(*parts, *((Text(), hidden) if hidden else ()), Text(), Text(NEXT, style="dim"))


def facts(machine: Machine, seen: Picture) -> RenderableType:
    """Return the machine in a few lines."""
    rows: list[Row] = [("Machine", seen.title, "bold"), ("Processor", _processor(machine, seen), "")]
    rows += [("Topology", seen.counts, "")]
    rows += [(label, text, "") for label, text in _firmware_and_memory(machine) if text]
    rows += list(_devices(machine))
    rows += [(label, text, "") for label, text in _system(machine) if text]
    return _table([*rows, *(("Note", note, "yellow") for note in seen.notes)])


def settings(seen: Picture) -> RenderableType:
    """Return what was inferred, how sure, and why."""
    rows: list[Row] = []
    for each in seen.statements:
        sure = f" ({each.sure} confidence)" if each.sure else ""
        rows.append((each.about, f"{each.says}{sure}", "bold"))
        rows += [("", reason, "dim") for reason in each.why]
    return Group(Text("How it is set up", style="bold underline"), _table(rows))


def unseen(machine: Machine) -> RenderableType | None:
    """Return what could not be learnt, by what would make it known; None where nothing is lacking."""
    by_help: dict[str, dict[str, list[str]]] = {}
    for gap in machine.gaps:
        reasons = by_help.setdefault(plain(gap.help), {})
        reasons.setdefault(plain(gap.why), []).append(plain(gap.fact, 80))
    absent = by_help.pop(NOT_OFFERED, {})
    rows: list[Row] = []
    for help_, reasons in by_help.items():
        rows += [("", f"{', '.join(names)}: {why}", "") for why, names in reasons.items()]
        rows.append(("", f"  -> {help_}", "bold"))
    if absent:
        rows.append(
            (
                "",
                f"not offered by this kernel or platform: {', '.join(name for names in absent.values() for name in names)}",
                "dim",
            )
        )
    return Group(Text("What could not be seen", style="bold underline"), _table(rows)) if rows else None


def _table(rows: list[Row]) -> Table:
    """Return a grid of Text, so that no name from outside is read as markup."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, words, style in rows:
        grid.add_row(Text(label, style="cyan"), Text(words, style=style))
    return grid


def _processor(machine: Machine, seen: Picture) -> str:
    cpu = machine.cpu
    if cpu is None:
        return seen.processors
    boost = {True: "boost on", False: "boost off", None: ""}[cpu.boost]
    base = f"base {clock(cpu.base_hz)}" if cpu.base_hz else ""
    governor = f"governor {' and '.join(map(plain, cpu.governors))}" if cpu.governors else ""
    return ", ".join(part for part in (seen.processors, base, boost, governor) if part)


def _firmware_and_memory(machine: Machine) -> Iterator[tuple[str, str]]:
    firmware = machine.firmware
    if firmware and firmware.bios_version:
        dated = f" of {plain(firmware.bios_date)}" if firmware.bios_date else ""
        yield "BIOS", f"{plain(firmware.bios_vendor or '')} {plain(firmware.bios_version)}{dated}".strip()
    if machine.memory and machine.memory.dimms is not None:
        yield "DIMMs", _dimms(machine.memory.dimms)


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


def _devices(machine: Machine) -> Iterator[Row]:
    for placed in devices(machine):
        if placed.device.kind in ("hca", "gpu", "accelerator"):
            nodes = ", ".join(map(str, placed.nodes)) or "?"
            guessed = f" (inferred: {placed.device.guessed})" if placed.device.guessed else ""
            words = [_name(placed.device), device_facts(placed.device), f"NUMA node {nodes}{guessed}"]
            label, _, name = words[0].partition(" ")
            yield label, ", ".join([name, *(word for word in words[1:] if word)]), _STYLE.get(placed.device.state, "")


def _name(device: Device) -> str:
    return device_name(device).removesuffix(" ~")


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
