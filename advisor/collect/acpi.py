"""The firmware's own tables of processors, memory and distances, which only root may read."""

from collections.abc import Callable
from typing import Any

from advisor.collect.acpi_tables import checksum_holds, hmat, madt, slit, srat, table
from advisor.collect.reader import Reader
from advisor.errors import BadTable
from advisor.host.base import Host, Reading, Why
from advisor.model.hardware.firmware import Acpi
from advisor.model.hardware.machine import Machine

FOLDER = "/sys/firmware/acpi/tables"
PATHS = tuple(f"{FOLDER}/{name}" for name in ("APIC", "SRAT", "SLIT", "HMAT"))
COMMANDS = ()
RANK = 40

UPDATE_HELP = "update the firmware; if that does not help, report it with the output of advisor capture"


def collect(host: Host) -> Machine:
    """Return the tables that could be read."""
    reader = Reader(host)
    readings = {path: host.read(path) for path in PATHS}
    if all(reading.why for reading in readings.values()):
        _none_readable(reader, readings)
        return Machine(sources=reader.sources, gaps=reader.gaps)
    facts: dict[str, Any] = {}
    for path, reading in readings.items():
        facts |= _facts(reader, path, reading)
    acpi = Acpi(**facts) if facts else None
    return Machine(acpi=acpi, sources=reader.sources, gaps=reader.gaps)


def _none_readable(reader: Reader, readings: dict[str, Reading]) -> None:
    """Note one gap for all tables; a refusal tells more than the absence of another table."""
    reasons = [(reading.why, path) for path, reading in readings.items() if reading.why]
    why, path = next((reason for reason in reasons if reason[0] is not Why.ABSENT), reasons[0])
    reader.missed("acpi", path, why)


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
        try:
            values = _read(reader, path, reading.data, parse)
        except BadTable as error:
            for name in names:
                reader.lacks(f"acpi.{name}", str(error.within(path)), UPDATE_HELP)
            return {}
    for name in names:
        reader.found(f"acpi.{name}", path)
    return dict(zip(names, values, strict=True))


def _read(reader: Reader, path: str, data: bytes, parse: Callable[[bytes], tuple[Any, ...]]) -> tuple[Any, ...]:
    signature = path.rpartition("/")[2]
    whole = table(data, signature)
    values = parse(whole)
    if not checksum_holds(whole):
        # Worth telling, not worth refusing: Linux warns and uses the table, so what it says is what the kernel believes.
        reader.lacks(f"acpi.{signature.lower()}.checksum", f"{path}: the checksum is wrong; used as the kernel does", UPDATE_HELP)
    return values


_TABLES: dict[str, tuple[tuple[str, ...], Callable[[bytes], tuple[Any, ...]]]] = {
    f"{FOLDER}/APIC": (("madt",), lambda whole: (madt(whole),)),
    f"{FOLDER}/SRAT": (("srat_cpus", "srat_memory"), srat),
    f"{FOLDER}/SLIT": (("slit",), lambda whole: (slit(whole),)),
    f"{FOLDER}/HMAT": (("hmat",), lambda whole: (hmat(whole),)),
}
"""The facts of each table, and what reads them."""
