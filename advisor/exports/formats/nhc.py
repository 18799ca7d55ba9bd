"""Checks for NHC, Node Health Check, that hold a node to what it is now: a good audit, frozen; with the NUMA check NHC lacks.

Every check reads files of the kernel, so it costs nothing and calls nothing. What NHC makes of a line (github.com/mej/nhc,
scripts/common.nhc, lbnl_file.nhc, lbnl_hw.nhc): a target {n[001-400]} takes one range between brackets and no comma there, of
numbers that are equally long; a match between slashes is a regular expression, any other a glob for the whole line. It reads
lines by a read without -r: a backslash before a letter is gone, and one at a line's end, of a comment too, joins the next line to
it. What is left of a check it gives to eval. check_hw_ib compares its device with mlx5_0:1, and fails without the module ib_umad:
the port's own files are read instead.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from shlex import quote

from advisor.advice.model.findings import Audit
from advisor.exports.export import ExportOptions, ExportSubject
from advisor.fleet.fleet import CAPTURE_SUFFIX, Kind
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu, is_active
from advisor.machine.hosts.errands import expanded
from advisor.machine.machine import Kernel, Machine
from advisor.machine.topology import counts
from advisor.machine.units import plain, printable, slower

TITLE = "NHC checks that compare nodes with a good audit: cores, memory, NUMA nodes, links, kernel settings"
ORDER = 50
PROVEN = "NHC's own driver and scripts from 2022-12-22 (commit 9c4a38c), which ran the whole file"
TAKES = ("machine", "kinds")

_NODES = "NODES"
"""Stands for the nodes where a source has no host name: NHC finds no node of that name, and checks nothing."""
_ALIKE = "To cover all nodes of the same kind, replace this node's name with theirs: {n[001-400],n[410-480]}"
_HOST = re.compile(r"[a-zA-Z0-9][-._a-zA-Z0-9]*", re.ASCII)
"""A name of a host: none other is written."""
_WORDS = re.compile(r"[-\w./:,%^$*\[\]]+( [-\w./:,%^$*\[\]]+)*", re.ASCII)
"""What a check may say, between its quotes: NHC runs it by eval, and a fact may be from anybody's capture."""
_NAME = re.compile(r"([-a-zA-Z0-9_]*[-a-zA-Z_])(\d+)([-.a-zA-Z]*)", re.ASCII)
"""A name that a range of NHC can hold."""
_SPARE = 3
"""Percent that the kernel's count of memory may differ by: a DIMM is more of any machine."""

_COSTLY = ("high", "medium")

Check = tuple[str, ...]


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return the one file."""
    lines = [
        f"# Written by advisor {options.version}: checks for the current state. Existing faults are listed, not checked.",
        "# Try it on a node of each kind before NHC drains nodes; if it reports no running checks, no target matches the node:",
        _comment(f"  nhc -v -a -c {options.prefix}.nhc.conf MARK_OFFLINE=0 LOGFILE=-"),
    ]
    for kind, machine in subject.machines():
        names = (machine.name,) if kind is None and machine.name else expanded(kind.nodes) if kind else ()
        lines += ["", _comment(plain(kind.hardware, 300) if kind else _ALIKE)]
        if kind:
            lines.append(_comment(f"Its kernel settings: advisor export nhc --from {names[0]}{CAPTURE_SUFFIX}"))
        lines += _of_machine(machine, target(names), subject.audit, _numa_is_wrong(subject, kind))
    return {f"{options.prefix}.nhc.conf": "".join(f"{line}\n" for line in lines)}


def _comment(text: str) -> str:
    return f"# {printable(text)}".replace("\\", "?")


def target(names: Sequence[str]) -> str:
    """Return nodes as NHC takes them: ranges of equally long numbers where it can, else a regular expression of all names.

    >>> target(["n8", "n9", "n10", "n12"]), target(["login", "n1"]), target(["login"]), target([])
    ('{n[8-9],n10,n12}', '/^(login|n1)$/', 'login', 'NODES')
    """
    if not names or not all(map(_HOST.fullmatch, names)):
        return _NODES
    if len(names) == 1:
        return names[0]
    parts = [_NAME.fullmatch(name) for name in names]
    if not all(parts):
        return f"/^({'|'.join(names)})$/".replace(".", "[.]")
    keyed = sorted({(match[1], match[3], len(match[2]), int(match[2])) for match in parts if match})
    return "{" + ",".join(_ranges(keyed)) + "}"


def _ranges(keyed: Iterable[tuple[str, str, int, int]]) -> Iterator[str]:
    for (prefix, suffix, wide), own in groupby(keyed, key=lambda each: each[:3]):
        numbers = [each[3] for each in own]
        for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
            first, *more = [number for _, number in run]
            last = more[-1] if more else first
            inner = f"[{first:0{wide}}-{last:0{wide}}]" if more else f"{first:0{wide}}"
            yield f"{prefix}{inner}{suffix}"


def _numa_is_wrong(subject: ExportSubject, kind: Kind | None) -> str | None:
    """Return what of the NUMA nodes is wrong, on this machine or most nodes of a kind; None where nothing is known to be."""
    if kind is None:
        own = subject.audit.found if subject.audit else ()
        found = ((each.id, each.severity, each.claim or each.title) for each in own)
    else:
        wrong = subject.fleet.wrong if subject.fleet else ()
        most = (each for each in wrong if each.kind == kind.name and each.count * 2 > each.of)
        found = ((each.rule, each.severity, each.claim) for each in most)
    return next((plain(claim, 120) for rule, severity, claim in found if rule.startswith("numa-") and severity in _COSTLY), None)


def _of_machine(machine: Machine, where: str, audit: Audit | None, wrong: str | None) -> Iterator[str]:
    if wrong:
        yield _comment(f"not checked: NUMA nodes: {wrong}")
    if _is_virtual(machine):
        yield _comment("memory is not checked: on a virtual machine the hypervisor may change it")
    for check in (*_hardware(machine), *(() if wrong else _numa(machine)), *_devices(machine)):
        yield _line(where, check)
    for setting, path, pattern in _settings(machine) if audit else ():
        row = next((each for each in audit.settings if each.name == setting), None) if audit else None
        if row is not None and row.met is False:
            now, wanted = plain(row.current or "", 40), plain(row.wanted or "", 40)
            yield _comment(f"not checked: {plain(row.term, 80)} is {now}, wanted {wanted}")
        else:
            yield _line(where, _contents(path, pattern))


def _line(where: str, check: Check) -> str:
    if not all(map(_WORDS.fullmatch, check)):
        return _comment(f"not checked: {plain(' '.join(check), 120)}: NHC executes every line, and this one is not plain text")
    return f"{where} || {' '.join(map(quote, check))}"


def _contents(path: str, pattern: str) -> Check:
    return ("check_file_contents", path, pattern)


def _is_virtual(machine: Machine) -> bool:
    return machine.environment is not None and machine.environment.is_virtual


def _hardware(machine: Machine) -> Iterator[Check]:
    """Yield sockets, cores and threads, and how much memory there is."""
    topology = machine.topology
    if topology is None:
        return
    seen = counts(topology)
    per_socket = {len(package.cpuset) for package in topology.packages}
    # NHC multiplies what /proc/cpuinfo says of the last processor, and Arm's has no physical ids.
    if machine.architecture == "x86_64" and len(per_socket) == 1 and seen.cores % seen.packages == 0:
        yield ("check_hw_cpuinfo", str(seen.packages), str(seen.cores), str(seen.pus))
    sizes = [node.memory for node in topology.nodes]
    if sizes and None not in sizes and not _is_virtual(machine):
        kib = sum(size or 0 for size in sizes) >> 10
        yield ("check_hw_physmem", f"{kib}kB", f"{kib}kB", f"{_SPARE}%")


_NODE = "/sys/devices/system/node"


def _numa(machine: Machine) -> Iterator[Check]:
    """Yield which NUMA nodes there are, which CPUs each has, and how far the others are from the first."""
    topology = machine.topology
    if topology is None or not topology.numa_known:
        return
    if not topology.missing_nodes:
        yield _contents(f"{_NODE}/online", str(CpuSet(node.os_index for node in topology.nodes)))
    yield from (_contents(f"{_NODE}/node{node.os_index}/cpulist", str(node.cpuset)) for node in topology.cpu_nodes)
    table = topology.distances
    if table is not None and not topology.missing_nodes and len(table.nodes) > 1:
        yield _contents(f"{_NODE}/node{table.nodes[0]}/distance", " ".join(map(str, table.rows[0])))


def _devices(machine: Machine) -> Iterator[Check]:
    """Yield state and rate of each port that is up, widths of links that are as wide as they can be, GPUs still on their bus."""
    cards = {device.address: device for device in machine.pci or ()}
    for hca in machine.hcas or ():
        for port in hca.ports or () if hca.address else ():
            folder = f"/sys/class/infiniband/{hca.name}/ports/{port.number}"
            if is_active(port):
                yield _contents(f"{folder}/state", "4: ACTIVE*")
            if is_active(port) and port.rate:
                yield _contents(f"{folder}/rate", f"{port.rate / 1e9:g} Gb/sec*")
        card = cards.get(hca.address or "")
        if card is not None and card.link and card.link.width and not slower(card.link, card.card):
            yield _contents(f"/sys/bus/pci/devices/{card.address}/current_link_width", str(card.link.width))
    addresses = {gpu.card or gpu.address for gpu in machine.gpus or ()}
    yield from (("check_file_test", "-d", f"/sys/bus/pci/devices/{address}") for address in sorted(addresses))


def _settings(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Yield settings of the kernel that are known: by their name in the audit, the file, and what it holds."""
    kernel, cpu = machine.kernel or Kernel(), machine.cpu or Cpu()
    sysctl = {
        "os.numa_balancing": ("kernel/numa_balancing", kernel.numa_balancing),
        "os.zone_reclaim_mode": ("vm/zone_reclaim_mode", kernel.zone_reclaim_mode),
        "os.swappiness": ("vm/swappiness", kernel.swappiness),
    }
    for setting, (file, number) in sysctl.items():
        if number is not None:
            yield setting, f"/proc/sys/{file}", f"/^{number}$/"
    governor = cpu.governors[0] if cpu.governors and len(cpu.governors) == 1 else None
    files = {
        "os.thp": ("kernel/mm/transparent_hugepage/enabled", kernel.thp and f"*[[]{kernel.thp}[]]*"),
        "os.clocksource": ("devices/system/clocksource/clocksource0/current_clocksource", kernel.clocksource),
        "os.governor": ("devices/system/cpu/cpu0/cpufreq/scaling_governor", governor),
        "os.smt": ("devices/system/cpu/smt/control", cpu.smt_control),
    }
    yield from ((setting, f"/sys/{file}", text) for setting, (file, text) in files.items() if text)
