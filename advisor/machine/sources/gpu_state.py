"""How GPUs are set (ECC, power limit, NVLink, partitions), and what NVIDIA's say of this moment: throttling, errors."""

import re
from typing import NamedTuple

from advisor.machine.devices import Gpu
from advisor.machine.fault_counters import GpuWatch
from advisor.machine.hosts.base import Host, Ran, Why
from advisor.machine.machine import Machine
from advisor.machine.sources.gpu import bus_id
from advisor.machine.sources.pci.spec import Bus, gpus_on
from advisor.machine.sources.reader import FactSource, Reader
from advisor.machine.value import number

_DEVICES = "/sys/bus/pci/devices"
_COMPUTE, _MEMORY = "current_compute_partition", "current_memory_partition"
_CSV = "--format=csv,noheader,nounits"
# Three questions, for a driver that does not know one word of a question answers nothing of it.
SETTINGS = (
    "nvidia-smi",
    "--query-gpu=index,pci.bus_id,persistence_mode,ecc.mode.current,ecc.mode.pending,clocks.max.sm,power.limit,power.default_limit",
    _CSV,
)
ROWS = ("nvidia-smi", "--query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure", _CSV)
NVLINK = ("nvidia-smi", "nvlink", "--status")

PATHS = (f"{_DEVICES}/*@", *(f"{_DEVICES}/*/{name}" for name in (_COMPUTE, _MEMORY, "class", "vendor", "device")))
LIST = ("nvidia-smi", "-L")
COMMANDS = (SETTINGS, ROWS, NVLINK, LIST)

_NVIDIA = 0x10DE
_MHZ = 1_000_000
_GPU_LINE = re.compile(r"GPU (\d{1,3}):", re.ASCII)
_NO_LINK = "all links are inactive"  # NVML: Unable to retrieve NVLink information as all links are inActive
_MIG_LINE = re.compile(r"[ \t]+MIG .*\bDevice +\d{1,2}:", re.ASCII)
_LINK_LINE = re.compile(r"\s*Link (\d{1,2}): (\S.*)", re.ASCII)


class Links(NamedTuple):
    """A GPU's NVLinks; how many there are in all is not known where none is up."""

    all: int | None
    up: int


def collect(host: Host) -> Machine:
    """Return what is known of the GPUs' settings; nothing where no tool and no driver reports it."""
    reader = Reader(host)
    gpus = {gpu.address: gpu for gpu in (*_partitions(reader), *_nvidia(reader))}
    return Machine(gpus=tuple(gpus[address] for address in sorted(gpus)) or None, sources=reader.sources, gaps=reader.gaps)


def _nvidia(reader: Reader) -> tuple[Gpu, ...]:
    ran = reader.host.run(SETTINGS)
    if ran.text is None:
        _explain(reader, ran)
        return ()
    rows = [[cell.strip() for cell in line.split(",")] for line in ran.text.splitlines()]
    told = {row[0]: gpu for row in rows if (gpu := _settings(row))}
    if told:
        reader.found("gpus.persistence", " ".join(SETTINGS))
    links = nvlinks(reader.host.run(NVLINK).text or "")
    waiting = _rows(reader.host.run(ROWS).text or "")
    joined = {index: {"nvlinks": own.all, "nvlinks_up": own.up} for index, own in links.items()}
    cut = instances(reader.host.run(LIST).text or "")
    return tuple(
        gpu.model_copy(update={**joined.get(index, {}), "repair_pending": waiting.get(gpu.address), "instances": cut.get(index)})
        for index, gpu in told.items()
    )


def _explain(reader: Reader, ran: Ran) -> None:
    """Note why nothing is known of NVIDIA's GPUs, where there is one on the bus."""
    if not any(vendor == _NVIDIA for _, vendor in gpus_on(Bus(reader))):
        return
    if ran.why is Why.NOT_KEPT:
        reader.missed("gpus.persistence", "nvidia-smi", ran.why)
    elif ran.why is Why.ABSENT:
        reader.lacks("gpus.persistence", "nvidia-smi: not there", "install the driver with its tool (nvidia-smi)")
    else:
        why = f"nvidia-smi: {ran.why or f'ended with status {ran.status}'}"
        reader.lacks("gpus.persistence", why, "see what nvidia-smi says by hand; old drivers know fewer words")


def _settings(row: list[str]) -> Gpu | None:
    """Return a GPU of ``0, 00000000:3B:00.0, Enabled, Enabled, Enabled, 1980, 700.00, 700.00``."""
    address = bus_id(row[1]) if len(row) == 8 else None
    if address is None:
        return None
    clock = number(row[5])
    return Gpu(
        address=address,
        vendor="nvidia",
        persistence=_switch(row[2]),
        ecc=_switch(row[3]),
        ecc_pending=_switch(row[4]),
        max_hz=clock * _MHZ if clock and clock > 0 else None,
        power_limit=_watts(row[6]),
        power_default=_watts(row[7]),
    )


def _switch(word: str) -> bool | None:
    return {"enabled": True, "disabled": False}.get(word.lower())


def _watts(word: str) -> float | None:
    return float(word) if re.fullmatch(r"\d{1,5}(\.\d{1,4})?", word, re.ASCII) and float(word) > 0 else None


def _rows(text: str) -> dict[str, bool]:
    """Return for each GPU whether rows of its memory wait for a reset, or could not be replaced."""
    words = {"yes": True, "1": True, "no": False, "0": False}
    found = {}
    for line in text.splitlines():
        cells = [cell.strip().lower() for cell in line.split(",")]
        address = bus_id(cells[0]) if len(cells) == 3 else None
        if address and cells[1] in words and cells[2] in words:
            found[address] = words[cells[1]] or words[cells[2]]
    return found


def nvlinks(text: str) -> dict[str, Links]:
    """Return the NVLinks by the GPU's number in the tool: the lines ``Link 0: 26.562 GB/s``, ``Link 1: <inactive>`` below it."""
    found: dict[str, Links] = {}
    gpu = None
    for line in text.splitlines():
        head, link = _GPU_LINE.match(line), _LINK_LINE.match(line)
        gpu = head[1] if head else gpu
        if gpu is not None and link:
            told = found.get(gpu, Links(0, 0))
            found[gpu] = Links((told.all or 0) + 1, told.up + ("inactive" not in link[2].lower()))
        elif gpu is not None and gpu not in found and _NO_LINK in line.lower():
            found[gpu] = Links(None, 0)
    return found


def instances(text: str) -> dict[str, int]:
    """Return the MIG instances of each GPU by the tool's number: lines ``  MIG 1g.10gb  Device  0: (UUID: MIG-...)`` below it."""
    found: dict[str, int] = {}
    gpu = None
    for line in text.splitlines():
        head = _GPU_LINE.match(line)
        gpu = head[1] if head else gpu
        if gpu is not None and _MIG_LINE.match(line):
            found[gpu] = found.get(gpu, 0) + 1
    return found


def _partitions(reader: Reader) -> tuple[Gpu, ...]:
    """Return AMD's GPUs that can be cut (MI300): Documentation/gpu/amdgpu, compute and memory partition."""
    found = []
    for address in filter(bus_id, reader.host.list(_DEVICES)):
        compute, memory = (_word(reader, f"{_DEVICES}/{address}/{name}") for name in (_COMPUTE, _MEMORY))
        if compute or memory:
            found.append(Gpu(address=address.lower(), vendor="amd", compute_partition=compute, memory_partition=memory))
    if found:
        reader.found("gpus.compute_partition", f"{_DEVICES}/*/{_COMPUTE}")
    return tuple(found)


def _word(reader: Reader, path: str) -> str | None:
    text = (reader.text(path) or "").upper()
    return text if re.fullmatch(r"[A-Z]{2,6}\d?", text, re.ASCII) and text != "UNKNOWN" else None


THROTTLE_QUERY = (
    "nvidia-smi",
    "--query-gpu=pci.bus_id,clocks_throttle_reasons.active,ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total",
    "--format=csv,noheader,nounits",
)
# nvml.h, nvmlClocksThrottleReasons (nvmlClocksEventReasons since driver 535).
_REASONS = (
    (0x1, "idle"),
    (0x2, "application clocks"),
    (0x4, "power cap"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "thermal (software)"),
    (0x40, "thermal (hardware)"),
    (0x80, "power brake"),
    (0x100, "display clocks"),
)


def gpu_watches(host: Host) -> tuple[GpuWatch, ...]:
    """Return what each GPU says of this moment; nothing where the tool does not answer."""
    text = host.run(THROTTLE_QUERY).text
    rows = ([cell.strip() for cell in line.split(",")] for line in (text or "").splitlines())
    return tuple(gpu for row in rows if (gpu := _gpu(row)))


def _gpu(row: list[str]) -> GpuWatch | None:
    address = bus_id(row[0]) if len(row) == 4 else None
    if address is None:
        return None
    mask = number(row[1]) if row[1].startswith("0x") else None
    held = None if mask is None else tuple(word for bit, word in _REASONS if mask & bit)
    return GpuWatch(name=address, held_back=held, corrected=number(row[2]), uncorrected=number(row[3]))


SOURCES = (
    FactSource(
        "gpu_state",
        21,
        "How GPUs are set: persistence, ECC, power limit, NVLinks, rows that wait for a reset; partitions of AMD's.",
        PATHS,
        COMMANDS,
        collect,
        tuple((f"{_DEVICES}/*/{name}", r"[A-Z]{3}\d?") for name in (_COMPUTE, _MEMORY)),
    ),
)
