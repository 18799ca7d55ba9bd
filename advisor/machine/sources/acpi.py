"""The firmware's tables of processors, memory and distances (ACPI 6.4), which only root may read."""

from collections.abc import Callable, Iterator
from struct import unpack_from
from typing import Any, NamedTuple

from advisor.errors import BadTable
from advisor.machine.hardware import Acpi, HmatEntry, MadtEntry, SratCpu, SratMemory
from advisor.machine.hosts.base import Host, Reading, Why
from advisor.machine.machine import Machine
from advisor.machine.sources.reader import FactSource, Reader

HEADER = 36
LARGEST = 4 << 20
"""Bytes; real tables have at most some hundred thousand, and a hostile one must not fill the memory."""

LOCALITIES = 1024
"""Linux knows at most 1024 NUMA nodes (CONFIG_NODES_SHIFT 10), so no table of distances is wider."""

HMAT_ENTRIES = 1 << 18
"""Six kinds of value between 200 domains; a hostile table must not fill the memory."""

_ENABLED, _HOTPLUG, _NON_VOLATILE = 1, 2, 4
_ONLINE_CAPABLE, _GICC_ONLINE_CAPABLE = 2, 8

_KINDS = ("access-latency", "read-latency", "write-latency", "access-bandwidth", "read-bandwidth", "write-bandwidth")


class Entry(NamedTuple):
    """One variable-length entry of a table."""

    at: int
    kind: int
    data: bytes

    def need(self, size: int) -> bytes:
        """Return the entry's bytes, or raise if they are fewer than its type has."""
        if len(self.data) < size:
            raise BadTable(f"entry at byte {self.at}: type {self.kind} needs {size} bytes but has {len(self.data)}")
        return self.data


def table(data: bytes, signature: str) -> bytes:
    """Return the table without what follows it, or raise if its header is wrong (5.2.6)."""
    if len(data) > LARGEST:
        raise BadTable(f"{len(data)} bytes, more than any real table")
    if len(data) < HEADER:
        raise BadTable(f"{len(data)} bytes, too few for a table's header")
    if data[:4] != signature.encode():
        raise BadTable(f"begins with {data[:4]!r} instead of {signature!r}")
    (length,) = unpack_from("<I", data, 4)
    if not HEADER <= length <= len(data):
        raise BadTable(f"claims {length} bytes, but the file has {len(data)}")
    return data[:length]


def checksum_holds(whole: bytes) -> bool:
    """Return whether all bytes of a table add up to 0 modulo 256."""
    return sum(whole) & 0xFF == 0


def madt(whole: bytes) -> tuple[MadtEntry, ...]:
    """Return the processors in the order of the table (5.2.12): Local APIC, Local x2APIC, GICC."""
    entries = (_processor(entry) for entry in _entries(whole, 44))
    return tuple(entry for entry in entries if entry)


def _processor(entry: Entry) -> MadtEntry | None:
    capable = _ONLINE_CAPABLE
    if entry.kind == 0:
        uid, apic_id, flags = unpack_from("<BBI", entry.need(8), 2)
    elif entry.kind == 9:
        apic_id, flags, uid = unpack_from("<III", entry.need(16), 4)
    elif entry.kind == 11:
        uid, flags = unpack_from("<II", entry.need(76), 8)
        (apic_id,), capable = unpack_from("<Q", entry.data, 68), _GICC_ONLINE_CAPABLE  # the MPIDR
    else:
        return None
    enabled, later = bool(flags & _ENABLED), bool(flags & capable)
    return MadtEntry(apic_id=apic_id, uid=uid, enabled=enabled, online_capable=later, x2apic=entry.kind == 9)


def srat(whole: bytes) -> tuple[tuple[SratCpu, ...], tuple[SratMemory, ...]]:
    """Return which proximity domain each processor and each range of memory is in (5.2.16)."""
    # The bits of a domain above its lowest byte that count: none before revision 2 (Linux: acpi_srat_revision).
    high = 0xFFFFFF00 if whole[8] >= 2 else 0
    cpus: list[SratCpu] = []
    memory: list[SratMemory] = []
    for entry in _entries(whole, 48):
        if entry.kind == 1:
            data = entry.need(40)
            (domain,), (base, size), (flags,) = (
                unpack_from("<I", data, 2),
                unpack_from("<QQ", data, 8),
                unpack_from("<I", data, 28),
            )
            memory.append(
                SratMemory(
                    domain=domain & (0xFF | high),
                    base=base,
                    size=size,
                    enabled=bool(flags & _ENABLED),
                    hotplug=bool(flags & _HOTPLUG),
                    non_volatile=bool(flags & _NON_VOLATILE),
                )
            )
        elif entry.kind in (0, 2, 3):
            cpus.append(_affinity(entry, high))
    return tuple(cpus), tuple(memory)


def _affinity(entry: Entry, high: int) -> SratCpu:
    apic_id = uid = None
    if entry.kind == 0:
        low, apic_id, flags = unpack_from("<BBI", entry.need(16), 2)
        domain = low | high & int.from_bytes(entry.data[9:12], "little") << 8
    elif entry.kind == 2:
        domain, apic_id, flags = unpack_from("<III", entry.need(24), 4)
    else:
        domain, uid, flags = unpack_from("<III", entry.need(18), 2)
    return SratCpu(apic_id=apic_id, uid=uid, domain=domain, enabled=bool(flags & _ENABLED))


def slit(whole: bytes) -> tuple[tuple[int, ...], ...]:
    """Return the distances, one row per proximity domain (5.2.17)."""
    if len(whole) < 44:
        raise BadTable(f"{len(whole)} bytes, too few for the number of localities")
    (count,) = unpack_from("<Q", whole, 36)
    if count > LOCALITIES:
        raise BadTable(f"claims {count} localities, more than the {LOCALITIES} that Linux supports")
    if len(whole) != 44 + count * count:
        raise BadTable(f"{count} localities need {44 + count * count} bytes, but the table has {len(whole)}")
    return tuple(tuple(whole[44 + row * count : 44 + (row + 1) * count]) for row in range(count))


def hmat(whole: bytes) -> tuple[HmatEntry, ...]:
    """Return the latencies and bandwidths of the memory itself, not of caches in front of it (5.2.27.4)."""
    revision = whole[8]
    if revision == 0:
        raise BadTable("revision 0 is unknown")
    found: list[HmatEntry] = []
    for entry in _entries(whole, 40, head="<HxxI"):
        if entry.kind != 1 or entry.need(32)[8] & 0x0F or entry.data[9] >= len(_KINDS):
            continue
        found.extend(_matrix(entry, revision))
        if len(found) > HMAT_ENTRIES:
            raise BadTable(f"more than {HMAT_ENTRIES} latencies and bandwidths")
    return tuple(found)


def _matrix(entry: Entry, revision: int) -> Iterator[HmatEntry]:
    data = entry.data
    initiators, targets, _, base = unpack_from("<IIIQ", data, 12)
    if max(initiators, targets) > LOCALITIES or initiators * targets > HMAT_ENTRIES:
        raise BadTable(f"entry at byte {entry.at} claims {initiators} x {targets} domains")
    entry.need(32 + 4 * (initiators + targets) + 2 * initiators * targets)
    domains = unpack_from(f"<{initiators + targets}I", data, 32)
    values = unpack_from(f"<{initiators * targets}H", data, 32 + 4 * (initiators + targets))
    kind = _KINDS[data[9]]
    for place, value in enumerate(values):
        if value in (0, 0xFFFF) or not 0 < value * base <= 0xFFFFFFFF:
            continue  # not provided, unreachable, or past what Linux takes (drivers/acpi/numa/hmat.c)
        initiator, target = divmod(place, targets)
        yield HmatEntry(
            initiator=domains[initiator],
            target=domains[initiators + target],
            kind=kind,
            value=_base_units(value * base, kind, revision),
        )


def _base_units(raw: int, kind: str, revision: int) -> float:
    """Return seconds or bytes a second.

    Revision 2 counts picoseconds and megabytes a second (6.3, 5.2.27.4). Revision 1 counts tenths of a nanosecond and of
    a megabyte a second: Linux divides both by ten (hmat_normalize).
    """
    if kind.endswith("latency"):
        return raw / (1e10 if revision == 1 else 1e12)
    return float(raw * (10**5 if revision == 1 else 10**6))


def _entries(whole: bytes, at: int, head: str = "<BB") -> Iterator[Entry]:
    """Yield the entries from a byte on; one that is empty or reaches past the end ends the reading with an error."""
    if at > len(whole):
        raise BadTable(f"{len(whole)} bytes, too few for its fixed part of {at}")
    smallest = 8 if head == "<HxxI" else 2
    while at < len(whole):
        if len(whole) - at < smallest:
            raise BadTable(f"{len(whole) - at} bytes are left over at byte {at}")
        kind, length = unpack_from(head, whole, at)
        if length < smallest:
            raise BadTable(f"entry at byte {at} is {length} bytes long")
        if length > len(whole) - at:
            raise BadTable(f"entry at byte {at} is {length} bytes long, but only {len(whole) - at} are left")
        yield Entry(at, kind, whole[at : at + length])
        at += length


FOLDER = "/sys/firmware/acpi/tables"
PATHS = tuple(f"{FOLDER}/{name}" for name in ("APIC", "SRAT", "SLIT", "HMAT"))

UPDATE_HELP = "update the firmware; if that does not help, report it with the output of advisor capture"


def collect(host: Host) -> Machine:
    """Return the tables that could be read."""
    reader = Reader(host)
    readings = {path: host.read(path) for path in PATHS}
    reasons = [(reading.why, path) for path, reading in readings.items() if reading.why]
    if len(reasons) == len(readings):
        # One gap for all tables; a refusal says more than the absence of another table.
        why, path = next((reason for reason in reasons if reason[0] is not Why.ABSENT), reasons[0])
        reader.missed("acpi", path, why)
        return reader.machine()
    facts: dict[str, Any] = {}
    for path, reading in readings.items():
        facts |= _facts(reader, path, reading)
    return reader.machine(acpi=Acpi(**facts) if facts else None)


def _facts(reader: Reader, path: str, reading: Reading) -> dict[str, Any]:
    """Return a table's facts by name; none of them where it is broken or could not be read."""
    names, parse = _TABLES[path]
    if reading.why is Why.ABSENT:  # another table could be read, so this one is truly not there
        values: tuple[Any, ...] = ((),) * len(names)
    elif reading.why:
        for name in names:
            reader.missed(f"acpi.{name}", path, reading.why)
        return {}
    else:
        signature = path.rpartition("/")[2]
        try:
            whole = table(reading.data, signature)
            values = parse(whole)
        except BadTable as error:
            for name in names:
                reader.lacks(f"acpi.{name}", str(error.within(path)), UPDATE_HELP)
            return {}
        if not checksum_holds(whole):
            # Worth telling, not worth refusing: Linux warns and uses the table, so what it says is what the kernel believes.
            why = f"{path}: the checksum is wrong; used anyway, as the kernel does"
            reader.lacks(f"acpi.{signature.lower()}.checksum", why, UPDATE_HELP)
    for name in names:
        reader.found(f"acpi.{name}", path)
    return dict(zip(names, values, strict=True))


_TABLES: dict[str, tuple[tuple[str, ...], Callable[[bytes], tuple[Any, ...]]]] = {
    f"{FOLDER}/APIC": (("madt",), lambda whole: (madt(whole),)),
    f"{FOLDER}/SRAT": (("srat_cpus", "srat_memory"), srat),
    f"{FOLDER}/SLIT": (("slit",), lambda whole: (slit(whole),)),
    f"{FOLDER}/HMAT": (("hmat",), lambda whole: (hmat(whole),)),
}
"""The facts of each table, and what reads them."""


SOURCES = (
    FactSource(
        "acpi",
        "The firmware's own tables of processors, memory and distances, which only root may read.",
        collect,
        PATHS,
        rank=40,
    ),
)
