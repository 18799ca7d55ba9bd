"""The ACPI tables APIC, SRAT, SLIT and HMAT as /sys/firmware/acpi/tables holds them."""

import struct
from collections.abc import Iterator

from tests.machines.spec import Node, Spec
from tests.machines.tree import Tree

FOLDER = "sys/firmware/acpi/tables"
LATENCY, BANDWIDTH = 0, 3
"""HMAT data types: access latency and access bandwidth."""


def files(spec: Spec) -> Tree:
    """Return the tables; Intel's node interleaving leaves SRAT and SLIT out, NPS0 gives them for one domain."""
    tables = {"APIC": madt(spec)}
    if len(spec.nodes) > 1 or spec.processor.amd:
        tables |= {"SRAT": srat(spec), "SLIT": slit(spec)}
    if any(node.access for node in spec.nodes):
        tables["HMAT"] = hmat(spec)
    return {f"{FOLDER}/{name}": data for name, data in tables.items()}


def table(signature: str, revision: int, body: bytes, maker: tuple[bytes, bytes, int] = (b"ADVISR", b"TESTMACH", 1)) -> bytes:
    """Return a table: its header, with the sum that makes all bytes add up to 0, and its body."""
    head = struct.pack("<4sIBB6s8sI4sI", signature.encode(), 36 + len(body), revision, 0, *maker, b"TEST", 1)
    full = bytearray(head + body)
    full[9] = -sum(full) & 255
    return bytes(full)


def apic_ids(spec: Spec) -> dict[int, int]:
    """Return the APIC ID of each CPU, in the order of the CPU numbers: package, core and thread, each in bits of its own."""
    threads = max(len(core.pus) for core in spec.cores)
    inside: dict[int, int] = {}
    ids: dict[int, int] = {}
    widest = max(sum(core.package == p for core in spec.cores) for p in {core.package for core in spec.cores})
    for core in spec.cores:
        place = inside[core.package] = inside.get(core.package, -1) + 1
        for thread, pu in enumerate(core.pus):
            ids[pu] = (((core.package << _bits(widest)) + place) << _bits(threads)) + thread
    return dict(sorted(ids.items()))


def _bits(count: int) -> int:
    return (count - 1).bit_length()


def madt(spec: Spec) -> bytes:
    """Return the APIC table, whose processors stand in the order in which the kernel numbers them."""
    body = struct.pack("<II", 0xFEE00000, 1)
    for uid, apic in enumerate(apic_ids(spec).values()):
        if apic < 255 and uid < 255:
            body += struct.pack("<BBBBI", 0, 8, uid, apic, 1)
        else:
            body += struct.pack("<BBHIII", 9, 16, 0, apic, 1, uid)
    return table("APIC", 3, body + struct.pack("<BBBBII", 1, 12, 0, 0, 0xFEC00000, 0))


def srat(spec: Spec) -> bytes:
    """Return the SRAT: which proximity domain each processor and each range of memory is in."""
    node_of = {pu: core.node for core in spec.cores for pu in core.pus}
    body = struct.pack("<IQ", 1, 0)
    for pu, apic in apic_ids(spec).items():
        body += _srat_cpu(apic, node_of[pu])
    return table("SRAT", 3, body + b"".join(_ranges(spec)))


def _srat_cpu(apic: int, domain: int) -> bytes:
    if apic < 255:
        return struct.pack("<BBBBIB3sI", 0, 16, domain & 255, apic, 1, 0, b"\0\0\0", 0)
    return struct.pack("<BBHIIIII", 2, 24, 0, domain, apic, 1, 0, 0)


def _ranges(spec: Spec) -> Iterator[bytes]:
    base = 0
    for node in spec.nodes:
        if node.kib:
            flags = 1 | (2 if node.kind == "cxl" else 0) | (4 if node.kind == "nvdimm" else 0)
            yield struct.pack("<BBIHQQIIQ", 1, 40, node.number, 0, base, node.kib * 1024, 0, flags, 0)
            base += node.kib * 1024


def slit(spec: Spec) -> bytes:
    """Return the SLIT: a byte for each pair of nodes."""
    return table("SLIT", 1, struct.pack("<Q", len(spec.slit)) + bytes(value for row in spec.slit for value in row))


def hmat(spec: Spec) -> bytes:
    """Return the HMAT: which node is nearest to which memory, latency and bandwidth of each pair, side caches."""
    body = b"\0\0\0\0"
    for node in spec.nodes:
        nearest = (node.near or (node.number,))[0]
        body += struct.pack("<HHIHHIII16s", 0, 0, 40, 1, 0, nearest, node.number, 0, bytes(16))
    body += _matrix(spec, LATENCY) + _matrix(spec, BANDWIDTH)
    for node in spec.nodes:
        if node.side_cache:
            # one level (0x11), direct mapped (0x100), write back (0x1000), 64-byte lines
            body += struct.pack("<HHIIIQIHH", 2, 0, 32, node.number, 0, node.side_cache, 64 << 16 | 0x1111, 0, 0)
    return table("HMAT", 2, body)


def _matrix(spec: Spec, kind: int) -> bytes:
    """Return one matrix, in units of 100: picoseconds for latency, MB/s for bandwidth."""
    initiators = [node for node in spec.nodes if spec.cpus(node)]
    head = struct.pack("<HHIBBBBIIIQ", 1, 0, 0, 0, kind, 0, 0, len(initiators), len(spec.nodes), 0, 100)
    numbers = b"".join(struct.pack("<I", node.number) for node in (*initiators, *spec.nodes))
    entries = b"".join(struct.pack("<H", _entry(spec, a, b, kind)) for a in initiators for b in spec.nodes)
    body = head + numbers + entries
    return body[:4] + struct.pack("<I", len(body)) + body[8:]


def _entry(spec: Spec, initiator: Node, target: Node, kind: int) -> int:
    """Return one value: the target's best one, made worse by the distance beyond the nearest node's."""
    if not target.access:
        return 0xFFFF
    rows = dict(zip((node.number for node in spec.nodes), spec.slit, strict=True))
    column = list(rows).index(target.number)
    nearest = min(rows[near][column] for near in target.near or (target.number,))
    distance = rows[initiator.number][column]
    if kind == LATENCY:
        return target.access.latency * 10 * distance // nearest
    return target.access.bandwidth * nearest // distance // 100
