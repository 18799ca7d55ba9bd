"""Counters of faults: of ports, PCIe devices, memory controllers, hot packages and GPUs; two looks make a Watch.

No source of the Machine: what stands in these files is another a moment later. A capture keeps two looks at them.
"""

import re
from collections.abc import Callable, Mapping
from posixpath import dirname
from typing import NamedTuple

from advisor.machine.fault_counters import ONE_LOOK, Count, DeviceWatch, GpuWatch, MemoryWatch, PackageWatch, PortWatch, Watch
from advisor.machine.hosts.base import Host, Why, expand
from advisor.machine.machine import Gap, Source
from advisor.machine.sources.gpu import CSV, bus_id
from advisor.machine.sources.reader import CAPTURE_HELP, NOT_IN_INPUT, NUMBERS, files, part
from advisor.machine.value import number

_PORTS = "/sys/class/infiniband/*/ports/*"
_COUNTERS = f"{_PORTS}/counters"
_HARDWARE = f"{_PORTS}/hw_counters"
_DEVICES = "/sys/bus/pci/devices"
_EDAC = "/sys/devices/system/edac/mc"
_CPUS = "/sys/devices/system/cpu"
_THROTTLE = f"{_CPUS}/cpu*/thermal_throttle"

# Documentation/ABI/stable/sysfs-class-infiniband. The second figure is where a counter of the port's attribute ends (InfiniBand
# Architecture 1.3, section 16.1.3.5): one that stands there rises no more.
_PORT_FILES: dict[str, tuple[str, int | None]] = {
    "symbol_errors": ("symbol_error", 0xFFFF),
    "link_recoveries": ("link_error_recovery", 0xFF),
    "link_downs": ("link_downed", 0xFF),
    "receive_errors": ("port_rcv_errors", 0xFFFF),
    "remote_errors": ("port_rcv_remote_physical_errors", 0xFFFF),
    "integrity_errors": ("local_link_integrity_errors", 0xF),
    "overrun_errors": ("excessive_buffer_overrun_errors", 0xF),
    "discards": ("port_xmit_discards", 0xFFFF),
    "waits": ("port_xmit_wait", 0xFFFFFFFF),
    "sent": ("port_xmit_data", 0xFFFFFFFF),
}
_HARDWARE_FILES = {"sequence_errors": "packet_seq_err", "timeouts": "local_ack_timeout_err"}
# Documentation/ABI/testing/sysfs-bus-pci-devices-aer; the names in the files changed with Linux 5.8 from words to short ones.
_AER_FILES = ("aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal")
_WIRE = ("RxErr", "BadTLP", "BadDLLP", "Receiver Error", "Bad TLP", "Bad DLLP")
# What looking for devices that are not there leaves; no transaction of a program is lost by it.
_PROBES = ("UnsupReq", "ACSViol", "Unsupported Request", "ACS Violation")
_REPLAYS = ("Rollover", "Timeout", "RELAY_NUM Rollover", "Replay Timer Timeout")
_EDAC_FILES = {"corrected": "ce_count", "uncorrected": "ue_count"}

TWICE = (
    *(f"{_COUNTERS}/{name}" for name, _ in _PORT_FILES.values()),
    *(f"{_HARDWARE}/{name}" for name in _HARDWARE_FILES.values()),
    *(f"{_DEVICES}/*/{name}" for name in _AER_FILES),
    *(f"{_EDAC}/mc*/{name}" for name in _EDAC_FILES.values()),
    f"{_THROTTLE}/core_throttle_count",
    f"{_THROTTLE}/package_throttle_count",
)
"""Patterns of the counters: a capture keeps them twice."""

PATHS = (
    *TWICE,
    f"{_PORTS}/link_layer",
    *files(f"{_EDAC}/mc*", "mc_name dimm*/dimm_ce_count dimm*/dimm_label rank*/dimm_ce_count rank*/dimm_label"),
    *files(f"{_CPUS}/cpu*/topology", "physical_package_id thread_siblings_list"),
)
THROTTLE_QUERY = (
    "nvidia-smi",
    "--query-gpu=pci.bus_id,clocks_throttle_reasons.active,ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total",
    CSV,
)

COMMANDS = (THROTTLE_QUERY,)
PUBLIC = tuple((pattern, r"[A-Za-z][A-Za-z_ -]{0,40} \d{1,20}" if "aer_dev_" in pattern else NUMBERS) for pattern in TWICE)
"""What is counted under names of the kernel's own, and nothing else."""

Counters = Mapping[str, str]  # text by path: one look


class Looks(NamedTuple):
    """Two looks at the counters, or one."""

    first: Counters
    last: Counters
    seconds: float | None

    def counter(self, path: str, end: int | None = None, read: Callable[[str], int | None] = number) -> Count | None:
        """Return a counter's rise; none where it fell (somebody reset it) or stands where it ends."""
        total = read(self.last[path]) if path in self.last else None
        if total is None or total < 0:
            return None
        before = read(self.first[path]) if path in self.first and self.seconds is not None else None
        return Count(total=total, rose=None if before is None or total < before or total == end else total - before)

    def grouped(self, pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
        """Return the different groups that a pattern finds in the paths, in the order of their numbers."""
        found = {match.groups() for path in self.last if (match := pattern.match(path))}
        return sorted(found, key=lambda words: [(len(word), word) for word in words])


def look(host: Host) -> Counters:
    """Return what the counters say now."""
    return {path: text.strip() for path in part(host, _counted) if (text := host.read(path).text) is not None}


def _counted(host: Host) -> tuple[str, ...]:
    """Return the files that count."""
    return tuple(path for pattern in TWICE for path in expand(host, pattern))


def watched(host: Host, first: Counters, last: Counters | None = None, seconds: float | None = None) -> Watch:
    """Return what two readings show, or one; the host has what does not change: labels, packages, link layers."""
    looks = Looks(first, first if last is None else last, seconds if last is not None else None)
    parts: dict[str, tuple[object, ...]] = {
        "ports": _ports(host, looks),
        "devices": _devices(looks),
        "memory": _memory(host, looks),
        "packages": _packages(host, looks),
        "gpus": gpu_watches(host),
    }
    gaps = [gap for name, part in parts.items() if not part and (gap := _gap(host, name))]
    told = {name: part for name, part in parts.items() if f"watch.{name}" not in {gap.fact for gap in gaps}}
    if looks.seconds is None and any(told.values()):
        gaps.append(ONE_LOOK)
    sources = tuple(Source(fact=f"watch.{name}", where=_KINDS[name].where) for name, part in told.items() if part)
    return Watch.model_validate({"seconds": looks.seconds, **told, "sources": sources, "gaps": tuple(gaps)})


class _Kind(NamedTuple):
    """Where a kind of counter stands, a file of it to ask for, and what to say where there is none."""

    where: str
    example: str
    lack: tuple[str, str] | None = None
    """None if nothing that counts means that there is nothing to count."""


_TOOL = "install the driver with its tool (nvidia-smi) and audit again"
_LOADS = "load the processor's memory controller driver (amd64_edac, skx_edac, i10nm_edac); some firmware hides the errors"
_KINDS = {
    "ports": _Kind(_COUNTERS, "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error"),
    "devices": _Kind(
        f"{_DEVICES}/*/aer_dev_*",
        f"{_DEVICES}/0000:00:00.0/aer_dev_correctable",
        ("no PCIe device has error counters (AER)", "kernels since 4.19 show them if the firmware hands over AER"),
    ),
    "memory": _Kind(
        f"{_EDAC}/mc*",
        f"{_EDAC}/mc0/ce_count",
        (
            f"{_EDAC}: no memory controller reports error counts",
            _LOADS,
        ),
    ),
    "packages": _Kind(_THROTTLE, f"{_CPUS}/cpu0/thermal_throttle/core_throttle_count"),
    "gpus": _Kind(" ".join(THROTTLE_QUERY), "/sys/module/nvidia/version"),
}


def _gap(host: Host, name: str) -> Gap | None:
    """Return why nothing of a kind is known: nobody looked, or nothing counts; None where there is nothing to count."""
    kind = _KINDS[name]
    reading = host.read(kind.example)
    if reading.why is Why.NOT_KEPT:
        return Gap(fact=f"watch.{name}", why=NOT_IN_INPUT, help=CAPTURE_HELP)
    if name == "gpus" and reading.why is not Why.ABSENT:
        ran = host.run(THROTTLE_QUERY)
        return Gap(fact="watch.gpus", why=f"nvidia-smi: {ran.why or f'ended with status {ran.status}'}", help=_TOOL)
    return Gap(fact=f"watch.{name}", why=kind.lack[0], help=kind.lack[1]) if kind.lack else None


_PORT = re.compile(r"/sys/class/infiniband/([\w.-]{1,64})/ports/(\d{1,4})/", re.ASCII)


def _ports(host: Host, looks: Looks) -> tuple[PortWatch, ...]:
    found = []
    for adapter, port in looks.grouped(_PORT):
        at = f"/sys/class/infiniband/{adapter}/ports/{port}"
        layer = (host.read(f"{at}/link_layer").text or "").strip().lower()
        counts = {fact: looks.counter(f"{at}/counters/{file}", end) for fact, (file, end) in _PORT_FILES.items()}
        counts |= {fact: looks.counter(f"{at}/hw_counters/{file}") for fact, file in _HARDWARE_FILES.items()}
        found.append(PortWatch(name=f"{adapter} port {port}", adapter=adapter, port=int(port), layer=layer or None, **counts))
    return tuple(found)


_DEVICE = re.compile(rf"{_DEVICES}/([0-9a-fA-F:.]{{5,32}})/aer_", re.ASCII)


def _devices(looks: Looks) -> tuple[DeviceWatch, ...]:
    found = []
    for (address,) in sorted(looks.grouped(_DEVICE)):
        correctable, nonfatal, fatal = (f"{_DEVICES}/{address}/{name}" for name in _AER_FILES)
        found.append(
            DeviceWatch(
                name=address,
                corrected=looks.counter(correctable, read=lambda text: _aer(text, ("TOTAL_ERR_COR",))),
                link=looks.counter(correctable, read=lambda text: _aer(text, _WIRE)),
                replays=looks.counter(correctable, read=lambda text: _aer(text, _REPLAYS)),
                nonfatal=looks.counter(nonfatal, read=lambda text: _lost(text, "TOTAL_ERR_NONFATAL")),
                fatal=looks.counter(fatal, read=lambda text: _lost(text, "TOTAL_ERR_FATAL")),
            )
        )
    return tuple(found)


def _lost(text: str, total: str) -> int | None:
    """Return the errors of a file but those that probing makes."""
    every = _aer(text, (total,))
    return None if every is None else max(0, every - (_aer(text, _PROBES) or 0))


def _aer(text: str, names: tuple[str, ...]) -> int | None:
    """Return the sum of some lines ``NAME NUMBER``; None where none of them is there."""
    lines = (line.rpartition(" ") for line in text.splitlines())
    found = [value for name, _, word in lines if name.strip() in names and (value := number(word)) is not None]
    return sum(found) if found else None


_CONTROLLER = re.compile(rf"{_EDAC}/(mc\d{{1,4}})/", re.ASCII)


def _memory(host: Host, looks: Looks) -> tuple[MemoryWatch, ...]:
    found = []
    for (name,) in looks.grouped(_CONTROLLER):
        called = (host.read(f"{_EDAC}/{name}/mc_name").text or "").strip()
        counts = {fact: looks.counter(f"{_EDAC}/{name}/{file}") for fact, file in _EDAC_FILES.items()}
        found.append(MemoryWatch(name=name, controller=called or None, worst=_worst(host, f"{_EDAC}/{name}"), **counts))
    return tuple(found)


def _worst(host: Host, at: str) -> str | None:
    """Return the label of the module with the most corrected errors."""
    counts = {
        dirname(path): number(host.read(path).text)
        for pattern in (f"{at}/dimm*/dimm_ce_count", f"{at}/rank*/dimm_ce_count")
        for path in expand(host, pattern)
    }
    most = max(((count, folder) for folder, count in counts.items() if count), default=None)
    if most is None:
        return None
    label = " ".join((host.read(f"{most[1]}/dimm_label").text or "").split())
    return label[:80] or most[1].rpartition("/")[2]


_CPU = re.compile(rf"{_CPUS}/cpu(\d{{1,6}})/thermal_throttle/", re.ASCII)


def _packages(host: Host, looks: Looks) -> tuple[PackageWatch, ...]:
    """Return the packages: each of its CPUs repeats the package's count, both threads of a core the core's."""
    cores: dict[int, dict[str, str]] = {}
    for (cpu,) in looks.grouped(_CPU):
        topology = f"{_CPUS}/cpu{cpu}/topology"
        package = number(host.read(f"{topology}/physical_package_id").text)
        siblings = (host.read(f"{topology}/thread_siblings_list").text or cpu).strip()
        if package is not None:
            cores.setdefault(package, {}).setdefault(siblings, cpu)
    found = []
    for package, own in sorted(cores.items()):
        folders = [f"{_CPUS}/cpu{cpu}/thermal_throttle" for cpu in own.values()]
        whole = [count for folder in folders if (count := looks.counter(f"{folder}/package_throttle_count"))]
        hot = [count for folder in folders if (count := looks.counter(f"{folder}/core_throttle_count"))]
        rises = [count.rose for count in hot if count.rose is not None]
        rose = sum(rises) if len(rises) == len(hot) else None
        found.append(
            PackageWatch(
                name=f"package {package}",
                package=package,
                packages=max(whole, key=lambda count: (count.rose or 0, count.total), default=None),
                cores=Count(total=sum(count.total for count in hot), rose=rose) if hot else None,
            )
        )
    return tuple(found)


# nvml.h, nvmlClocksThrottleReasons (nvmlClocksEventReasons since driver 535).
_REASONS = (
    "idle|application clocks|power cap|hardware slowdown|sync boost|thermal (software)|thermal (hardware)"
    "|power brake|display clocks"
)
"""The bits, the lowest first."""


def gpu_watches(host: Host) -> tuple[GpuWatch, ...]:
    """Return what each GPU says of this moment; nothing where the tool does not answer."""
    found = []
    for line in (host.run(THROTTLE_QUERY).text or "").splitlines():
        row = [cell.strip() for cell in line.split(",")]
        if len(row) == 4 and (address := bus_id(row[0])):
            mask = number(row[1]) if row[1].startswith("0x") else None
            reasons = None if mask is None else tuple(word for bit, word in enumerate(_REASONS.split("|")) if mask >> bit & 1)
            found.append(GpuWatch(name=address, held_back=reasons, corrected=number(row[2]), uncorrected=number(row[3])))
    return tuple(found)
