"""GPUs: found on the PCI bus, numbered by drivers, named by their vendors' tools; how they are set, what holds them back."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from advisor.machine.hardware import Gpu
from advisor.machine.hosts.base import Host, Ran, Why
from advisor.machine.machine import Machine
from advisor.machine.sources.pci import ADDRESS, DEVICES, GPU_MAKERS, LOCALITY_PATHS, NVIDIA, Bus, gpus_on, partition, unseen
from advisor.machine.sources.reader import FactSource, Reader, files
from advisor.machine.value import MIB, number

KFD_NODES = "/sys/class/kfd/kfd/topology/nodes"
KFD_PATHS = (f"{KFD_NODES}/*/properties",)

NVIDIA_GPUS = "/proc/driver/nvidia/gpus"

_PROPERTY = re.compile(r"^(simd_count|location_id|domain|drm_render_minor) (\d{1,10})$", re.MULTILINE | re.ASCII)
_VBIOS = re.compile(r"^Video BIOS:\s*([0-9A-Fa-f]{1,3}(?:\.[0-9A-Fa-f]{1,3}){2,6})\s*$", re.MULTILINE | re.ASCII)
_MINOR = re.compile(r"^Device Minor:\s*(\d{1,5})\s*$", re.MULTILINE | re.ASCII)


def kfd_gpus(reader: Reader) -> tuple[Gpu, ...]:
    """Return the GPUs with their numbers; () where the driver is not loaded.

    A node with SIMD units is a GPU. Its location is bus, device and function, with the number of the partition in the four
    highest bits, or, in some kernels, in place of the function (Linux: drivers/gpu/drm/amd/amdkfd/kfd_topology.c).
    """
    cards: dict[str, list[tuple[int, Gpu]]] = defaultdict(list)
    numbers = sorted(int(name) for name in reader.host.list(KFD_NODES) if name.isdecimal() and len(name) < 6)
    index = 0
    for node in numbers:
        facts = {key: int(value) for key, value in _PROPERTY.findall(reader.text(f"{KFD_NODES}/{node}/properties") or "")}
        if facts.get("simd_count"):
            at = facts.get("location_id", 0)
            card = f"{facts.get('domain', 0):04x}:{at >> 8 & 0xFF:02x}:{at >> 3 & 0x1F:02x}.0"
            gpu = Gpu(address=card, vendor="amd", index=index, minor=facts.get("drm_render_minor") or None)
            cards[card].append((at >> 28 & 0xF or at & 0x7, gpu))
            index += 1
    return tuple(
        gpu.but(address=partition(card, part), card=card) if len(parts) > 1 else gpu
        for card, parts in cards.items()
        for part, gpu in parts
    )


CSV = "--format=csv,noheader,nounits"
NVIDIA_SMI = (
    "nvidia-smi",
    "--query-gpu=index,pci.bus_id,name,memory.total,driver_version",
    CSV,
)
ROCM_SMI = ("rocm-smi", "--showproductname", "--showbus", "--showmeminfo", "vram", "--json")

_DRIVERS = {"nvidia": "/sys/module/nvidia/version", "amd": "/sys/module/amdgpu/version"}
_VRAM = "mem_info_vram_total"

_TILES = f"{DEVICES}/*/drm/card*/gt/gt*/id", f"{DEVICES}/*/tile*/gt0/freq0/max_freq"
"""A folder for each tile: of i915 (Linux: gt/intel_gt_sysfs.c), of xe (docs.kernel.org/gpu/xe/xe_gt_freq.html)."""

PATHS = (
    *LOCALITY_PATHS,
    *files(f"{DEVICES}/*", f"class vendor device {_VRAM}"),
    *_TILES,
    *_DRIVERS.values(),
    *KFD_PATHS,
    f"{NVIDIA_GPUS}/*/information",
)
COMMANDS = (NVIDIA_SMI, ROCM_SMI)


class ToolReport(NamedTuple):
    """What a vendor's tool said: GPUs by address, and what could not be made out."""

    gpus: dict[str, Gpu]
    problem: str | None = None


def collect(host: Host) -> Machine:
    """Return the GPUs; None where the host shows neither a PCI bus nor a vendor's tool."""
    reader = Reader(host)
    bus = Bus(reader)
    tools = {"nvidia": _ask(reader, NVIDIA_SMI, nvidia_gpus), "amd": _ask(reader, ROCM_SMI, rocm_gpus)}
    shown = {address: gpu for tool in tools.values() for address, gpu in tool.gpus.items()}
    if bus.addresses is None and not shown:
        unseen(reader, "gpus", DEVICES)
        return reader.machine()
    reader.found("gpus", DEVICES)
    seen = {address.lower(): GPU_MAKERS.get(vendor) for address, vendor in gpus_on(bus)}
    driven = {gpu.address: gpu for gpu in kfd_gpus(reader) if (gpu.card or gpu.address) in seen}
    bare = {address: Gpu(address=address, vendor=vendor) for address, vendor in seen.items()}
    every = {**bare, **driven, **{address: _with_card(gpu, driven.get(address), seen) for address, gpu in shown.items()}}
    gpus = tuple(_completed(reader, bus, gpu) for _, gpu in sorted(every.items()))
    for gpu in gpus:
        tool = tools.get(gpu.vendor or "")
        if tool and (gpu.model is None or tool.problem):
            why = tool.problem or f"the {gpu.vendor} tool does not list {gpu.address}"
            reader.lacks("gpus.model", why, "install the driver with its tool (nvidia-smi, rocm-smi) and audit again")
    return reader.machine(gpus=gpus)


def _with_card(gpu: Gpu, driven: Gpu | None, seen: Mapping[str, str | None]) -> Gpu:
    """Return what a tool said of a GPU with the driver's number and, of a partition, its card.

    ROCm gives partitions addresses that are on no bus: the card's, with the partition's number for the function.
    """
    if driven is not None:
        return gpu.but(card=driven.card, index=driven.index, minor=driven.minor)
    card = partition(gpu.address, 0)
    return gpu.but(card=card) if gpu.address not in seen and seen.get(card) == "amd" else gpu


def nvidia_gpus(text: str) -> ToolReport:
    """Return the GPUs of lines such as ``0, 00000000:3B:00.0, NVIDIA A100-PCIE-40GB, 40960, 550.54.15``."""
    gpus, strange = {}, None
    for line in filter(None, (line.strip() for line in text.splitlines())):
        fields = [field.strip() for field in line.split(",")]
        address = bus_id(fields[1]) if len(fields) >= 5 else None
        if address is None:
            strange = strange or f"nvidia-smi printed {line[:60]!r}"
            continue
        mebibytes = number(fields[-2])
        gpus[address] = Gpu(
            address=address,
            vendor="nvidia",
            model=_stated(", ".join(fields[2:-2])),
            memory=mebibytes * MIB if mebibytes and mebibytes > 0 else None,
            driver_version=_stated(fields[-1]),
            index=number(fields[0]),
        )
    return ToolReport(gpus, strange)


def rocm_gpus(text: str) -> ToolReport:
    """Return the GPUs of ``{"card0": {"PCI Bus": "0000:C1:00.0", ...}}``, which warnings may precede."""
    try:
        cards: dict[str, Any] = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
    except (ValueError, RecursionError):
        return ToolReport({}, "rocm-smi printed no JSON")
    gpus = (_rocm_gpu(name, card) for name, card in cards.items() if name.startswith("card") and isinstance(card, dict))
    return ToolReport({gpu.address: gpu for gpu in gpus if gpu})


def bus_id(text: str) -> str | None:
    """Return ``0000:3b:00.0`` of ``00000000:3B:00.0``, or None of a text that is no address."""
    word = text.strip().lower()
    if not ADDRESS.fullmatch(word):
        return None
    domain, rest = word.split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


def _ask(reader: Reader, argv: tuple[str, ...], read: Callable[[str], ToolReport]) -> ToolReport:
    ran = reader.host.run(argv)
    if ran.text is None:
        return ToolReport({}, f"{argv[0]}: {ran.why or f'ended with status {ran.status}'}")
    reader.found("gpus.model", " ".join(argv))
    return read(ran.text)


def _rocm_gpu(name: str, card: dict[str, Any]) -> Gpu | None:
    facts = {key.lower(): value for key, value in card.items() if isinstance(value, str)}
    address = bus_id(facts.get("pci bus", ""))
    if address is None:
        return None
    return Gpu(
        address=address,
        vendor="amd",
        model=_stated(facts.get("card series", "")) or _stated(facts.get("card model", "")),
        memory=number(facts.get("vram total memory (b)")),
        index=number(name.removeprefix("card")),
    )


def _stated(text: str) -> str | None:
    """Return a text unless it is empty or one of the tools' ways to say nothing: ``[N/A]``, ``[Not Supported]``."""
    return text if text and not text.startswith("[") and text != "N/A" else None


def _completed(reader: Reader, bus: Bus, gpu: Gpu) -> Gpu:
    """Return a GPU with what sysfs knows and the tool did not say."""
    memory = gpu.memory if gpu.memory is not None else bus.number(gpu.address, _VRAM)
    driver = gpu.driver_version or (reader.text(_DRIVERS[gpu.vendor]) if gpu.vendor in _DRIVERS else None)
    at = gpu.card or gpu.address
    place = bus.locality(at) if at in (bus.addresses or ()) else None
    minor, vbios = gpu.minor, None
    if gpu.vendor == "nvidia":  # as the driver's own file has it; it need not be the tool's number
        text = reader.text(f"{NVIDIA_GPUS}/{gpu.address}/information") or ""
        number_, version = _MINOR.search(text), _VBIOS.search(text)
        minor, vbios = int(number_[1]) if number_ else None, version[1] if version else None
    known = {"memory": memory, "driver_version": driver, "locality": place, "minor": minor, "vbios": vbios}
    return gpu.but(**known, tiles=_tiles(reader, bus, gpu))


def _tiles(reader: Reader, bus: Bus, gpu: Gpu) -> int | None:
    """Return the tiles of a GPU of Intel's data centre line; of others i915's second folder is a media engine."""
    if gpu.vendor != "intel" or (bus.number(gpu.address, "class") or 0) >> 8 != 0x0380:
        return None
    here, host = f"{DEVICES}/{gpu.address}", reader.host
    cards = [name for name in host.list(f"{here}/drm") if re.fullmatch(r"card\d{1,4}", name, re.ASCII)]
    found = [name for card in cards for name in host.list(f"{here}/drm/{card}/gt") if re.fullmatch(r"gt\d", name, re.ASCII)]
    return len(found or [name for name in host.list(here) if re.fullmatch(r"tile\d", name, re.ASCII)]) or None


_COMPUTE, _MEMORY = "current_compute_partition", "current_memory_partition"
# Three questions, for a driver that does not know one word of a question answers nothing of it.
SETTINGS = (
    "nvidia-smi",
    "--query-gpu=index,pci.bus_id,persistence_mode,ecc.mode.current,ecc.mode.pending,clocks.max.sm,power.limit,power.default_limit",
    CSV,
)
ROWS = ("nvidia-smi", "--query-remapped-rows=gpu_bus_id,remapped_rows.pending,remapped_rows.failure", CSV)
NVLINK = ("nvidia-smi", "nvlink", "--status")

STATE_PATHS = (f"{DEVICES}/*@", *(f"{DEVICES}/*/{name}" for name in (_COMPUTE, _MEMORY, "class", "vendor", "device")))
LIST = ("nvidia-smi", "-L")
STATE_COMMANDS = (SETTINGS, ROWS, NVLINK, LIST)

_GPU_LINE = re.compile(r"GPU (\d{1,3}):", re.ASCII)
_NO_LINK = "all links are inactive"  # NVML: Unable to retrieve NVLink information as all links are inActive
_MIG_LINE = re.compile(r"[ \t]+MIG .*\bDevice +\d{1,2}:", re.ASCII)
_LINK_LINE = re.compile(r"\s*Link (\d{1,2}): (\S.*)", re.ASCII)


class Links(NamedTuple):
    """A GPU's NVLinks; how many there are in all is not known where none is up."""

    all: int | None
    up: int


def collect_state(host: Host) -> Machine:
    """Return what is known of the GPUs' settings; nothing where no tool and no driver reports it."""
    reader = Reader(host)
    gpus = {gpu.address: gpu for gpu in (*_partitions(reader), *_nvidia(reader))}
    return reader.machine(gpus=tuple(gpus[address] for address in sorted(gpus)) or None)


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
        gpu.but(**joined.get(index, {}), repair_pending=waiting.get(gpu.address), instances=cut.get(index))
        for index, gpu in told.items()
    )


def _explain(reader: Reader, ran: Ran) -> None:
    """Note why nothing is known of NVIDIA's GPUs, where there is one on the bus."""
    if not any(vendor == NVIDIA for _, vendor in gpus_on(Bus(reader))):
        return
    if ran.why is Why.NOT_KEPT:
        reader.missed("gpus.persistence", "nvidia-smi", ran.why)
    elif ran.why is Why.ABSENT:
        reader.lacks("gpus.persistence", "nvidia-smi: not present", "install the driver with its tool (nvidia-smi)")
    else:
        why = f"nvidia-smi: {ran.why or f'ended with status {ran.status}'}"
        reader.lacks("gpus.persistence", why, "run nvidia-smi by hand; old drivers support fewer queries")


def _settings(row: list[str]) -> Gpu | None:
    """Return a GPU of ``0, 00000000:3B:00.0, Enabled, Enabled, Enabled, 1980, 700.00, 700.00``."""
    address = bus_id(row[1]) if len(row) == 8 else None
    if address is None:
        return None
    persistence, ecc, pending = ({"enabled": True, "disabled": False}.get(word.lower()) for word in row[2:5])
    limit, default = (
        float(word) if re.fullmatch(r"\d{1,5}(\.\d{1,4})?", word, re.ASCII) and float(word) > 0 else None for word in row[6:]
    )
    clock = number(row[5])
    return Gpu(
        address=address,
        vendor="nvidia",
        persistence=persistence,
        ecc=ecc,
        ecc_pending=pending,
        max_hz=clock * 1_000_000 if clock and clock > 0 else None,
        power_limit=limit,
        power_default=default,
    )


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
    for address in filter(bus_id, reader.host.list(DEVICES)):
        compute, memory = (_word(reader, f"{DEVICES}/{address}/{name}") for name in (_COMPUTE, _MEMORY))
        if compute or memory:
            found.append(Gpu(address=address.lower(), vendor="amd", compute_partition=compute, memory_partition=memory))
    if found:
        reader.found("gpus.compute_partition", f"{DEVICES}/*/{_COMPUTE}")
    return tuple(found)


def _word(reader: Reader, path: str) -> str | None:
    text = (reader.text(path) or "").upper()
    return text if re.fullmatch(r"[A-Z]{2,6}\d?", text, re.ASCII) and text != "UNKNOWN" else None


SOURCES = (
    FactSource(
        "gpu",
        "GPUs: found on the PCI bus, named by their vendors' tools.",
        collect,
        PATHS,
        COMMANDS,
        public=tuple((path, r"\d{1,5}") for path in _TILES),
    ),
    FactSource(
        "gpu_state",
        "GPU settings: persistence, ECC, power limit, NVLinks, row remaps that need a reset; partitions of AMD GPUs.",
        collect_state,
        STATE_PATHS,
        STATE_COMMANDS,
        public=tuple((f"{DEVICES}/*/{name}", r"[A-Z]{3}\d?") for name in (_COMPUTE, _MEMORY)),
        rank=21,
    ),
)
