"""What NVIDIA's GPUs say of this moment: why their clocks are held back, and their ECC counters."""

from advisor.collect.gpu import bus_id
from advisor.host.base import Host
from advisor.model.hardware.fault_counters import GpuWatch
from advisor.model.quantity import number

NVIDIA_SMI = (
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


def gpus(host: Host) -> tuple[GpuWatch, ...]:
    """Return what each GPU says of this moment; nothing where the tool does not answer."""
    text = host.run(NVIDIA_SMI).text
    rows = ([cell.strip() for cell in line.split(",")] for line in (text or "").splitlines())
    return tuple(gpu for row in rows if (gpu := _gpu(row)))


def _gpu(row: list[str]) -> GpuWatch | None:
    address = bus_id(row[0]) if len(row) == 4 else None
    if address is None:
        return None
    mask = number(row[1]) if row[1].startswith("0x") else None
    held = None if mask is None else tuple(word for bit, word in _REASONS if mask & bit)
    return GpuWatch(name=address, held_back=held, corrected=number(row[2]), uncorrected=number(row[3]))
