"""Memory that lies beside the system's: DAX devices of CXL, of NVDIMMs, and of what the firmware reserved (HBM)."""

import re

from advisor.collect.reader import Reader
from advisor.host.base import Host, Why
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.memory import DaxDevice

_ROOT = "/sys/bus/dax/devices"
PATHS = (f"{_ROOT}/*@", f"{_ROOT}/*/size", f"{_ROOT}/*/target_node", f"{_ROOT}/*/driver@")
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 20

_NAME = re.compile(r"dax\d{1,4}\.\d{1,4}", re.ASCII)
# drivers/dax: kmem gives the memory to the system, device_dax leaves it to who opens /dev/daxN.M.
_USES = {"kmem": "system", "device_dax": "device"}
_KINDS = (("/ndbus", "nvdimm"), ("/cxl", "cxl"), ("/hmem", "reserved"))


def collect(host: Host) -> Machine:
    """Return the DAX devices; () where the kernel shows none."""
    reader = Reader(host)
    names = [name for name in host.list(_ROOT) if _NAME.fullmatch(name)]
    why = host.read(f"{_ROOT}/dax0.0/size").why
    if not names and why is not Why.ABSENT:
        reader.missed("dax", _ROOT, why or Why.NOT_KEPT)
        return Machine(gaps=reader.gaps)
    reader.found("dax", _ROOT)
    return Machine(dax=tuple(_device(reader, name) for name in names), sources=reader.sources)


def _device(reader: Reader, name: str) -> DaxDevice:
    at = f"{_ROOT}/{name}"
    place, driver = reader.host.real(at) or "", reader.host.real(f"{at}/driver") or ""
    return DaxDevice(
        name=name,
        kind=next((kind for word, kind in _KINDS if word in place), None),
        size=reader.number(f"{at}/size"),
        node=reader.number(f"{at}/target_node"),
        use=_USES.get(driver.rpartition("/")[2]),
    )
