"""How the HBM in a processor's package is used: memory of its own, cache of the DIMMs, or all the memory there is. Pure."""

import re

from advisor.model.machine import Machine

_XEON_MAX = re.compile(r"\bMax 94\d\d\b", re.ASCII)


def hbm_mode(machine: Machine) -> str | None:
    """Return flat, cache or only; None where the processor has no HBM or nothing tells.

    Knights Landing's firmware told the mode itself. A Xeon Max shows flat HBM as NUMA nodes without cores, or as DAX devices
    where the firmware reserved it; cached DIMMs as a memory-side cache; and no module of DDR5 where HBM is alone.
    """
    told = ((machine.firmware.memory_mode if machine.firmware else None) or "").lower()
    if told in ("flat", "cache"):
        return told
    if machine.cpu is None or not _XEON_MAX.search(machine.cpu.model_name or ""):
        return None
    nodes = machine.topology.nodes if machine.topology else ()
    reserved = any(each.kind == "reserved" for each in machine.dax or ())
    if reserved or any(node.kind == "hbm" and not node.cpuset for node in nodes):
        return "flat"
    if any(tier.cache for tier in machine.tiers or ()):
        return "cache"
    modules = [slot.kind for slot in (machine.memory.dimms or () if machine.memory else ()) if slot.size]
    return "only" if modules and all((kind or "").startswith("HBM") for kind in modules) else None
