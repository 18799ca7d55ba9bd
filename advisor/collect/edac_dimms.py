"""The modules that the kernel's memory controller driver (EDAC) counts: readable without root, but without speeds."""

import re
from posixpath import dirname

from advisor.collect.smbios import clean
from advisor.host.base import Host, expand
from advisor.model.hardware.memory import Dimm
from advisor.model.quantity import MIB, number

LABELS = "/sys/devices/system/edac/mc/mc*/dimm*/dimm_label"
FIELDS = ("dimm_label", "dimm_location", "dimm_mem_type", "size")

_KIND = re.compile(r"(Low-Power-)?((?:LP)?DDR\d?|HBM\d?)", re.ASCII)


def edac_dimms(host: Host) -> tuple[Dimm, ...] | None:
    """Return the modules, or None where there is no EDAC or it tells of ranks instead.

    The drivers that count chip-select rows (``csrow 0 channel 1``: amd64_edac) list each rank of a module by itself.
    """
    folders = [dirname(path) for path in expand(host, LABELS)]
    found = [_dimm(host, folder) for folder in folders]
    modules = tuple(dimm for dimm in found if dimm)
    return modules if modules and len(modules) == len(found) else None


def _dimm(host: Host, folder: str) -> Dimm | None:
    label, location, kind, size = ((host.read(f"{folder}/{field}").text or "").strip() for field in FIELDS)
    megabytes = number(size)
    if "csrow" in location or megabytes is None or not 0 < megabytes < 1 << 30:
        return None
    match = _KIND.search(kind)
    word = f"{'LP' if match[1] else ''}{match[2]}" if match else None
    return Dimm(locator=clean(label) or folder.rpartition("/")[2], size=megabytes * MIB, kind=word)
