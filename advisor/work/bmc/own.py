"""Finds the BMC of the node that advisor runs on: by SMBIOS's host interface, then by what IPMI says of its address."""

import re
from typing import TYPE_CHECKING

from advisor.errors import BadTable, CannotWork

if TYPE_CHECKING:
    from advisor.host.base import Host


def own_bmc(host: "Host | None" = None) -> str:
    """Return the address of this node's own BMC; nothing is asked over the network for it."""
    from advisor.host.live import LiveHost

    here = host or LiveHost()
    found = _by_smbios(here) or _by_ipmi(here)
    if found is None:
        raise CannotWork(
            "this node's own BMC is not found: no Redfish host interface in SMBIOS (type 42), no address from ipmitool; "
            "give --bmc HOST, or try as root"
        )
    return found


def _by_smbios(host: "Host") -> str | None:
    from advisor.collect.firmware.dmi import TABLE
    from advisor.collect.firmware.smbios import redfish_addresses, structures

    reading = host.read(TABLE)
    if reading.why:
        return None
    try:
        return next(iter(redfish_addresses(structures(reading.data))), None)
    except BadTable:
        return None


def _by_ipmi(host: "Host") -> str | None:
    text = host.run(("ipmitool", "lan", "print")).text or ""
    match = re.search(r"^IP Address\s*:\s*((?:\d{1,3}\.){3}\d{1,3})\s*$", text, re.MULTILINE)
    return match[1] if match and match[1] != "0.0.0.0" else None  # noqa: S104 - an address that is not set
