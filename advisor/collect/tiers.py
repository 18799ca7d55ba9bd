"""What the kernel says of each node's memory: best initiators, bandwidth and latency (HMAT), tier, memory-side cache."""

import re

from advisor.collect.reader import Reader
from advisor.host.base import Host
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.firmware import Firmware
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.memory import MemoryTier
from advisor.model.quantity import number, size

NODES = "/sys/devices/system/node"
TIERS = "/sys/devices/virtual/memory_tiering"
MCDRAM = 16 << 30
"""As much as any Knights Landing has."""
KNIGHTS = ("/run/hwloc/knl_memoryside_cache", "/var/run/hwloc/knl_memoryside_cache")
"""What hwloc-dump-hwdata wrote for everybody of what root alone may read: Knights Landing's MCDRAM."""
PATHS = (
    *KNIGHTS,
    *(f"{NODES}/node*/access*/initiators/{way}_{what}" for way in ("read", "write") for what in ("bandwidth", "latency")),
    f"{NODES}/node*/access*/initiators/node*@",
    f"{NODES}/node*/memory_side_cache/index*/size",
    f"{TIERS}/memory_tier*/nodelist",
)
COMMANDS: tuple[tuple[str, ...], ...] = ()
RANK = 20


def collect(host: Host) -> Machine:
    """Return the tiers of the nodes that the kernel describes; None where it describes none."""
    reader = Reader(host)
    listed = _tiers(reader)
    numbers = sorted(int(match[1]) for name in host.list(NODES) if (match := re.fullmatch(r"node(\d{1,5})", name, re.ASCII)))
    found = tuple(tier for node in numbers if (tier := _tier(reader, node, listed.get(node))))
    firmware, side = _knights(reader)
    if side:
        known = {tier.node: tier for tier in found}
        beside = [node for node in numbers if reader.cpus(f"{NODES}/node{node}/cpulist")]
        own = {node: known.get(node, MemoryTier(node=node)) for node in beside}
        own = {node: tier if tier.cache else tier.model_copy(update={"cache": side}) for node, tier in own.items()}
        found = tuple(tier for _, tier in sorted({**known, **own}.items()))
    if not found:
        reader.lacks(
            "tiers", "the firmware gives no HMAT, or the kernel does not show it", "read the raw table as root, or measure"
        )
        return Machine(firmware=firmware, sources=reader.sources, gaps=reader.gaps)
    reader.found("tiers", f"{NODES}/node*/access*/initiators")
    return Machine(tiers=found, firmware=firmware, sources=reader.sources, gaps=reader.gaps)


def _tier(reader: Reader, node: int, tier: int | None) -> MemoryTier | None:
    access = next((a for a in ("access0", "access1") if reader.host.list(f"{NODES}/node{node}/{a}/initiators")), None)
    cache = _cache(reader, node)
    if access is None and tier is None and cache is None:
        return None
    base = f"{NODES}/node{node}/{access}/initiators"
    names = (re.fullmatch(r"node(\d{1,5})", name, re.ASCII) for name in (reader.host.list(base) if access else ()))
    # Documentation/admin-guide/mm/numaperf.rst: bandwidth in MB/s, latency in nanoseconds; 0 where the HMAT has no entry.
    return MemoryTier(
        node=node,
        initiators=tuple(sorted(int(match[1]) for match in names if match)) or None,
        read_bandwidth=_scaled(reader, f"{base}/read_bandwidth", 10**6),
        write_bandwidth=_scaled(reader, f"{base}/write_bandwidth", 10**6),
        read_latency=_nanoseconds(reader, f"{base}/read_latency"),
        write_latency=_nanoseconds(reader, f"{base}/write_latency"),
        tier=tier,
        cache=cache,
    )


def _scaled(reader: Reader, path: str, unit: int) -> int | None:
    value = reader.number(path)
    return value * unit if value and value > 0 else None


def _nanoseconds(reader: Reader, path: str) -> float | None:
    value = reader.number(path)
    return value / 1e9 if value and value > 0 else None


def _cache(reader: Reader, node: int) -> int | None:
    folder = f"{NODES}/node{node}/memory_side_cache"
    sizes = [size(reader.text(f"{folder}/{name}/size") or "") for name in reader.host.list(folder) if name.startswith("index")]
    return max((value for value in sizes if value), default=None)


def _knights(reader: Reader) -> tuple[Firmware | None, int | None]:
    """Return the modes of a Knights Landing, and the bytes of MCDRAM that cache each of its nodes with CPUs.

    (hwloc: utils/hwloc/hwloc-dump-hwdata-knl.c; the size is that of one node, the modes are there from version 2 on.)
    """
    path = next((path for path in KNIGHTS if reader.host.read(path).text), None)
    if path is None:
        return None, None
    words = dict(re.findall(r"^(\w{1,20}): *(\S{1,20})$", reader.text(path) or "", re.MULTILINE | re.ASCII))
    modes = {name: words[name] for name in ("cluster_mode", "memory_mode") if name in words}
    for name in modes:
        reader.found(f"firmware.{name}", path)
    side = number(words.get("cache_size"))
    return Firmware(**modes) if modes else None, side if side and 0 < side <= MCDRAM else None


def _tiers(reader: Reader) -> dict[int, int]:
    """Return the kernel's tier number of each node: 0 would be the fastest, plain DRAM is usually 4."""
    found = {}
    for name in reader.host.list(TIERS):
        match = re.fullmatch(r"memory_tier(\d{1,4})", name, re.ASCII)
        for node in (reader.cpus(f"{TIERS}/{name}/nodelist") or CpuSet()) if match else ():
            found[node] = int(match[1]) if match else 0
    return found
