"""The ACPI source: what comes out of right tables, broken ones and refused ones."""

from struct import pack_into

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from advisor.machine.hardware import Acpi, HmatEntry, MadtEntry, SratCpu, SratMemory
from advisor.machine.hosts.base import Why
from advisor.machine.machine import Gap, Machine, Source, merge
from advisor.machine.sources import acpi
from advisor.machine.sources.acpi import HMAT_ENTRIES, LARGEST
from advisor.machine.sources.reader import ROOT_HELP
from tests.collect import table_builder as build
from tests.collect.table_host import TableHost
from tests.examples import examples

FOLDER = "/sys/firmware/acpi/tables"
APIC = build.madt(build.local_apic(0, 0), build.local_apic(1, 16))
SRAT = build.srat(build.srat_apic(0, 0), build.srat_memory(0, 0, 1 << 30))
SLIT = build.slit([[10, 32], [32, 10]])
HMAT = build.hmat(build.sllbi(0, 1000, [0], [0], [90]))


def collect(**tables: bytes | Why) -> Machine:
    """Return what the source makes of these tables."""
    return acpi.collect(TableHost({f"{FOLDER}/{name}": data for name, data in tables.items()}))


def known(**tables: bytes | Why) -> Acpi:
    """Return the facts of tables of which at least one is right."""
    found = collect(**tables).acpi
    assert found is not None
    return found


def whys(machine: Machine) -> list[tuple[str, str]]:
    """Return the facts that lack, and why."""
    return [(gap.fact, gap.why) for gap in machine.gaps]


def test_processors_keep_the_order_of_the_table() -> None:
    """The MADT's order is the kernel's numbering, so it is kept over types 0, 9 and 11, and other entries are passed over."""
    table = build.madt(
        build.local_apic(3, 16),
        build.io_apic(),
        build.local_x2apic(300, 400, flags=2),
        build.local_apic(1, 255, flags=0),
        build.gicc(7, 0x100000003, flags=8),
    )
    expected = (
        MadtEntry(apic_id=16, uid=3, enabled=True),
        MadtEntry(apic_id=400, uid=300, enabled=False, online_capable=True, x2apic=True),
        MadtEntry(apic_id=255, uid=1, enabled=False),
        MadtEntry(apic_id=0x100000003, uid=7, enabled=False, online_capable=True),
    )
    assert expected == known(APIC=table).madt


def test_affinities_of_every_kind() -> None:
    """SRAT types 0, 2 and 3 give processors, 1 gives memory, and a generic initiator gives nothing."""
    table = build.srat(
        build.srat_apic(5, 0x10203),
        build.srat_memory(2, 1 << 32, 3 << 30, flags=7),
        build.srat_initiator(8),
        build.srat_x2apic(500, 9, flags=0),
        build.srat_gicc(7, 3),
    )
    cpus = (
        SratCpu(apic_id=5, domain=0x10203, enabled=True),
        SratCpu(apic_id=500, domain=9, enabled=False),
        SratCpu(uid=7, domain=3, enabled=True),
    )
    memory = (SratMemory(domain=2, base=1 << 32, size=3 << 30, enabled=True, hotplug=True, non_volatile=True),)
    assert (cpus, memory) == (known(SRAT=table).srat_cpus, known(SRAT=table).srat_memory)


def test_an_old_srat_has_domains_of_one_byte() -> None:
    """Before revision 2 the upper bytes of a domain are not counted, as Linux does."""
    found = known(SRAT=build.srat(build.srat_apic(5, 0x10203), build.srat_memory(0x10204, 0, 1), revision=1))
    assert found.srat_cpus
    assert found.srat_memory
    expected = (3, 4)
    assert expected == (found.srat_cpus[0].domain, found.srat_memory[0].domain)


def test_distances_are_a_square() -> None:
    """The SLIT comes back row by row."""
    expected = ((10, 32), (32, 10))
    assert expected == known(SLIT=SLIT).slit


@pytest.mark.parametrize(("revision", "latency", "bandwidth"), [(2, 90e-9, 204.8e9), (1, 9e-6, 20.48e9)])
def test_hmat_in_base_units(revision: int, latency: float, bandwidth: float) -> None:
    """Revision 2 counts picoseconds and MB/s, revision 1 tenths of a nanosecond and of a MB/s; 0 and 0xFFFF say nothing."""
    table = build.hmat(
        build.memory_proximity(0, 0),
        build.sllbi(0, 1000, [0, 1], [4, 5], [90, 0, 0xFFFF, 90]),
        build.sllbi(4, 1024, [0], [4], [200]),
        build.sllbi(1, 1000, [0], [4], [50], level=1),
        revision=revision,
    )
    expected = (
        HmatEntry(initiator=0, target=4, kind="access-latency", value=latency),
        HmatEntry(initiator=1, target=5, kind="access-latency", value=latency),
        HmatEntry(initiator=0, target=4, kind="read-bandwidth", value=bandwidth),
    )
    assert expected == known(HMAT=table).hmat


def test_an_absent_table_beside_a_present_one_is_empty() -> None:
    """Most machines have no HMAT: looked for and not there, which is no gap."""
    machine = collect(APIC=APIC, SRAT=SRAT, SLIT=SLIT)
    expected: tuple[object, object] = ((), ())
    assert expected == (machine.acpi and machine.acpi.hmat, machine.gaps)


def test_without_root_there_is_one_gap() -> None:
    """Refused tables are not absent ones: nothing is known, and root is the help."""
    machine = collect(APIC=Why.REFUSED, SRAT=Why.REFUSED, SLIT=Why.REFUSED)
    assert (None, (Gap(fact="acpi", why=f"{FOLDER}/APIC: permission denied", help=ROOT_HELP),)) == (machine.acpi, machine.gaps)


def test_one_refused_table_is_its_own_gap() -> None:
    """Where only one table is refused, the others are used."""
    machine = collect(APIC=APIC, SRAT=Why.REFUSED)
    refused = f"{FOLDER}/SRAT: permission denied"
    assert [("acpi.srat_cpus", refused), ("acpi.srat_memory", refused)] == whys(machine)
    assert machine.acpi
    assert machine.acpi.madt
    assert machine.acpi.srat_cpus is None


def test_a_machine_without_acpi() -> None:
    """No table at all leaves the section unknown."""
    assert (None, [("acpi", f"{FOLDER}/APIC: not present")]) == (collect().acpi, whys(collect()))


def test_sources_name_the_files() -> None:
    """Every fact says which table it is from."""
    assert Source(fact="acpi.srat_memory", where=f"{FOLDER}/SRAT") in collect(SRAT=SRAT).sources


def test_a_wrong_checksum_is_told_and_the_table_used() -> None:
    """The kernel uses such a table too; the gap stays after the merge although the fact is known."""
    broken = bytearray(SLIT)
    broken[9] ^= 1
    machine = merge((collect(SLIT=bytes(broken)),))
    expected = ((10, 32), (32, 10))
    assert expected == (machine.acpi and machine.acpi.slit)
    assert [("acpi.slit.checksum", f"{FOLDER}/SLIT: the checksum is wrong; used anyway, as the kernel does")] == whys(machine)


def edit(table: bytes, layout: str, at: int, *values: int) -> bytes:
    """Return the table with other numbers at a byte."""
    changed = bytearray(table)
    pack_into(layout, changed, at, *values)
    return bytes(changed)


@pytest.mark.parametrize(
    ("name", "table", "problem"),
    [
        ("SRAT", edit(SRAT, "B", 49, 0), "entry at byte 48 is 0 bytes long"),
        ("SRAT", edit(SRAT, "B", 49, 200), "entry at byte 48 is 200 bytes long, but only 56 are left"),
        ("SRAT", build.srat(build.srat_apic(0, 0) + b"\1\3\0"), "entry at byte 64: type 1 needs 40 bytes but has 3"),
        ("SRAT", build.srat(build.srat_apic(0, 0) + b"\1"), "1 bytes are left over at byte 64"),
        ("SRAT", SRAT[:-1], "claims 104 bytes, but the file has 103"),
        ("SRAT", build.acpi("SRAT", b"1234"), "40 bytes, too few for its fixed part of 48"),
        ("SRAT", b"", "0 bytes, too few for a table's header"),
        ("SRAT", SLIT, "begins with b'SLIT' instead of 'SRAT'"),
        ("SRAT", bytes(LARGEST + 1), f"{LARGEST + 1} bytes, more than any real table"),
        ("SLIT", build.acpi("SLIT", b"1234"), "40 bytes, too few for the number of localities"),
        ("SLIT", edit(SLIT, "<Q", 36, 3), "3 localities need 53 bytes, but the table has 48"),
        ("SLIT", edit(SLIT, "<Q", 36, 1 << 60), f"claims {1 << 60} localities, more than the 1024 that Linux supports"),
        ("HMAT", edit(HMAT, "<I", 44, 7), "entry at byte 40 is 7 bytes long"),
        ("HMAT", edit(HMAT, "<I", 52, 1 << 31), f"entry at byte 40 claims {1 << 31} x 1 domains"),
        ("HMAT", edit(HMAT, "<I", 52, 3), "entry at byte 40: type 1 needs 54 bytes but has 42"),
        ("HMAT", edit(HMAT, "B", 8, 0), "revision 0 is unknown"),
        ("APIC", build.madt(b"\x0b\x10" + bytes(14)), "entry at byte 44: type 11 needs 76 bytes but has 16"),
    ],
)
def test_a_broken_table_is_a_gap_that_names_the_place(name: str, table: bytes, problem: str) -> None:
    """One broken table costs its own facts alone, and the gap says which file, where in it, and what is wrong."""
    right = {"APIC": APIC, "SRAT": SRAT, "SLIT": SLIT, "HMAT": HMAT}
    machine = collect(**(right | {name: table}))
    facts = {"APIC": ["madt"], "SRAT": ["srat_cpus", "srat_memory"], "SLIT": ["slit"], "HMAT": ["hmat"]}
    assert [(f"acpi.{fact}", f"{FOLDER}/{name}: {problem}") for fact in facts[name]] == whys(machine)
    lost = {fact for fact in Acpi.model_fields if getattr(machine.acpi, fact) is None}
    assert set(facts[name]) == lost


def test_an_hmat_of_too_many_values_is_refused() -> None:
    """Many matrices of 65,536 values would exhaust the memory."""
    count = HMAT_ENTRIES // 65536 + 1
    wide = build.sllbi(0, 1, range(256), range(256), [1] * 65536)
    assert [("acpi.hmat", f"{FOLDER}/HMAT: more than {HMAT_ENTRIES} latencies and bandwidths")] == whys(
        collect(HMAT=build.hmat(wide * count))
    )


BYTE = st.integers(0, 255)
WORD = st.integers(0, 0xFFFFFFFF)


@given(st.lists(st.tuples(BYTE, BYTE, st.integers(0, 3)), max_size=20), st.lists(st.tuples(WORD, WORD), max_size=20))
def test_what_was_built_is_read_back(small: list[tuple[int, int, int]], large: list[tuple[int, int]]) -> None:
    """Any MADT of local APICs and x2APICs comes back as it was built."""
    table = build.madt(*(build.local_apic(*one) for one in small), *(build.local_x2apic(*one) for one in large))
    expected = [MadtEntry(uid=u, apic_id=a, enabled=bool(f & 1), online_capable=bool(f & 2)) for u, a, f in small]
    expected += [MadtEntry(uid=u, apic_id=a, enabled=True, x2apic=True) for u, a in large]
    assert tuple(expected) == known(APIC=table).madt


@given(st.integers(0, 40).flatmap(lambda n: st.lists(st.lists(BYTE, min_size=n, max_size=n), min_size=n, max_size=n)))
def test_any_square_of_distances_is_read_back(rows: list[list[int]]) -> None:
    """Any SLIT comes back as it was built."""
    assert tuple(tuple(row) for row in rows) == known(SLIT=build.slit(rows)).slit


TABLES = {
    "APIC": build.madt(build.local_apic(0, 0), build.local_x2apic(1, 2), build.gicc(3, 4)),
    "SRAT": build.srat(build.srat_apic(0, 0), build.srat_memory(0, 0, 1), build.srat_x2apic(0, 1), build.srat_gicc(1, 2)),
    "SLIT": SLIT,
    "HMAT": build.hmat(build.memory_proximity(0, 0), build.sllbi(3, 1024, [0, 1], [0, 1], [200, 100, 100, 200])),
}


def mutate(name: str, changes: list[tuple[int, int]], cut: int) -> None:
    """Change bytes of a table and shorten it: whatever it is then, no error escapes, and what is lost has its gap."""
    table = bytearray(TABLES[name])
    for at, value in changes:
        table[at % len(table)] = value
    data = bytes(table[: len(table) - cut % len(table)]) if cut else bytes(table)
    machine = collect(**{"APIC": APIC, "SLIT": SLIT, name: data})
    gaps = {gap.fact for gap in machine.gaps}
    for fact in Acpi.model_fields:
        assert getattr(machine.acpi, fact) is not None or f"acpi.{fact}" in gaps
    assert Machine.model_validate_json(machine.model_dump_json()) == machine


CHANGES = st.lists(st.tuples(st.integers(0, 400), BYTE), max_size=6)
CUTS = st.one_of(st.just(0), st.integers(1, 400))
QUIET = [HealthCheck.too_slow]


@given(st.sampled_from(sorted(TABLES)), CHANGES, CUTS)
@examples(300, suppress_health_check=QUIET)
def test_no_table_makes_it_fail(name: str, changes: list[tuple[int, int]], cut: int) -> None:
    """Changed and shortened tables give gaps, never an error or an endless loop."""
    mutate(name, changes, cut)


@pytest.mark.slow
@given(st.sampled_from(sorted(TABLES)), CHANGES, CUTS)
@examples(10_000, suppress_health_check=QUIET)
def test_no_table_of_many_makes_it_fail(name: str, changes: list[tuple[int, int]], cut: int) -> None:
    """The same with more tables."""
    mutate(name, changes, cut)
