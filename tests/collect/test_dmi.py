"""The SMBIOS source: firmware, processors and memory of whole machines."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from advisor.machine.hardware import Dimm, Firmware, Memory, SocketMemory
from advisor.machine.hosts.base import Why
from advisor.machine.machine import Gap, Machine, Source, merge
from advisor.machine.sources import smbios as dmi
from advisor.machine.sources.reader import ROOT_HELP
from advisor.machine.value import GIB, MIB
from tests.collect import table_builder as build
from tests.collect.table_host import TableHost
from tests.examples import examples

MC = "/sys/devices/system/edac/mc"
HEAD = (
    build.bios("Dell Inc.", "1.18.0", "06/10/2022")
    + build.system("Dell Inc.", "PowerEdge R7425")
    + build.board("Dell Inc.", "0KV6DM")
)
TWO = build.processor(0) + build.processor(1) + build.array()


def r7425(filled: int = 8) -> bytes:
    """Return a Dell's table: 16 slots a processor, the first of them filled."""
    slots = [(f"{letter}{n}", n) for letter in "AB" for n in range(1, 17)]
    modules = b"".join(build.dimm(i, name, size=16384 if n <= filled else 0) for i, (name, n) in enumerate(slots))
    return HEAD + TWO + modules + build.end()


def collect(table: bytes | Why, **files: bytes | str | Why) -> Machine:
    """Return what the source makes of a table and of the kernel's own files."""
    return dmi.collect(TableHost({dmi.TABLE: table} | {f"{dmi.ID}/{name}": data for name, data in files.items()}))


def memory(table: bytes) -> Memory:
    """Return the memory of a table that is right."""
    found = collect(table).memory
    assert found is not None
    return found


def sums(table: bytes) -> tuple[SocketMemory, ...]:
    """Return what each processor has."""
    found = memory(table).sockets
    assert found is not None
    return found


def test_channels_and_ceiling_of_a_dell() -> None:
    """Eight DDR4-2666 modules on eight channels of 64 bits can give 170.6 GB/s to each processor."""
    each = {
        "dimms": 8,
        "slots": 16,
        "channels": 8,
        "size": 128 * GIB,
        "configured": 2666 * 10**6,
        "bandwidth": 8 * 8 * 2666 * 10**6,
    }
    machine = collect(r7425())
    assert tuple(SocketMemory(socket=n, **each) for n in (0, 1)) == (machine.memory and machine.memory.sockets)
    assert not machine.gaps


@pytest.mark.parametrize(("filled", "channels"), [(1, 1), (4, 4), (8, 8), (9, 8), (16, 8)])
def test_modules_are_not_channels(filled: int, channels: int) -> None:
    """A second module on a channel adds memory, not bandwidth."""
    assert [(filled, channels, channels * 8 * 2666 * 10**6)] * 2 == [
        (s.dimms, s.channels, s.bandwidth) for s in sums(r7425(filled))
    ]


def test_the_slowest_module_counts() -> None:
    """One module that runs slower slows all channels."""
    table = HEAD + TWO + build.dimm(0, "P1-DIMMA1", configured=2400) + build.dimm(1, "P1-DIMMB1") + build.dimm(2, "P2-DIMMA1")
    expected = [2400 * 10**6, 2666 * 10**6]
    assert expected == [s.configured for s in sums(table)]


def test_a_socket_without_processor_is_left_out() -> None:
    """With one of two processors, the other's sixteen empty slots are no fault to report."""
    one = build.processor(0) + build.processor(1, status=0) + build.array()
    slots = b"".join(
        build.dimm(i, f"{letter}{n}", size=16384 if letter == "A" else 0)
        for i, (letter, n) in enumerate((x, y) for x in "AB" for y in range(1, 17))
    )
    expected = [(0, 16, 8)]
    assert expected == [(s.socket, s.slots, s.channels) for s in sums(HEAD + one + slots)]


def test_a_processor_without_modules_is_counted() -> None:
    """A processor whose slots are all empty has no channel: that is a fault to report."""
    table = HEAD + TWO + build.dimm(0, "P1-DIMMA1") + build.dimm(1, "P2-DIMMA1", size=0)
    expected = [(0, 1, 1), (1, 0, 0)]
    assert expected == [(s.socket, s.dimms, s.channels) for s in sums(table)]


def test_persistent_memory_and_hbm_are_not_dram() -> None:
    """Optane modules and HBM in the package are slots, but add neither size nor channels of DRAM."""
    table = HEAD + build.processor(0) + build.dimm(0, "P1-DIMMA1") + build.dimm(1, "P1-DIMMB1", technology=7, configured=1600)
    table += build.dimm(2, "HBM", kind=0x21, configured=3200, width=1024)
    expected = SocketMemory(
        socket=0, dimms=1, slots=3, channels=1, size=16 * GIB, configured=2666 * 10**6, bandwidth=8 * 2666 * 10**6
    )
    assert (expected,) == sums(table)


def test_a_virtual_machine_makes_no_claim() -> None:
    """QEMU's single DIMM 0 has no channel, so there is not a bandwidth, and the gap says why."""
    table = (
        build.system("QEMU", "Standard PC") + build.processor(0) + build.dimm(0, "DIMM 0", kind=7, rated=0, configured=0, width=0)
    )
    machine = collect(table)
    expected = SocketMemory(socket=0, dimms=1, slots=1, channels=None, size=16 * GIB)
    assert (expected,) == (machine.memory and machine.memory.sockets)
    facts = ["memory.sockets.channels", "memory.sockets.configured", "memory.sockets.bandwidth"]
    assert facts == [gap.fact for gap in machine.gaps]
    assert machine.gaps[0].why == "the names of the memory slots (DIMM 0, ...) do not show which channel they belong to"


def test_names_that_do_not_tell_the_processor() -> None:
    """On two sockets, names without processor leave the sums unknown; the modules are known."""
    machine = collect(HEAD + TWO + build.dimm(0, "ONE", "BANK 0"))
    assert machine.memory
    assert machine.memory.dimms
    assert machine.memory.sockets is None
    expected = ["the names of the memory slots (ONE, BANK 0, ...) do not show which processor they belong to"]
    assert expected == [gap.why for gap in machine.gaps]


def test_the_kernel_tells_the_processor_where_the_firmware_does_not() -> None:
    """A firmware that leaves out CPUID's signature is helped by /proc/cpuinfo: Rome has eight channels."""
    table = HEAD + build.processor(0, signature=0) + b"".join(build.dimm(n, f"A{n + 1}") for n in range(16))
    cpuinfo = "vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49\nmodel name\t: AMD EPYC 7742\n"
    tells: list[dict[str, bytes | str | Why]] = [{}, {dmi.CPUINFO: cpuinfo}]
    without, helped = (dmi.collect(TableHost({dmi.TABLE: table, **files})).memory for files in tells)
    expected = ([None], [8])
    assert expected == tuple([s.channels for s in found.sockets or ()] for found in (without, helped) if found)


def test_half_a_ddr5_module_is_no_module() -> None:
    """A firmware that gives DDR5 modules the 32 bits of a subchannel would halve the ceiling: none is given."""
    (found,) = sums(HEAD + build.processor(0) + build.dimm(0, "P1-DIMMA1", kind=0x22, width=32))
    expected = (1, None)
    assert expected == (found.channels, found.bandwidth)


def test_a_size_that_is_not_known() -> None:
    """A module of unknown size is a module, and the sum is not known."""
    (found,) = sums(HEAD + build.processor(0) + build.dimm(0, "P1-DIMMA1", size=0xFFFF))
    expected = (1, None)
    assert expected == (found.dimms, found.size)


def test_firmware_from_the_table_alone() -> None:
    """Where the kernel gives no files, the structures name maker, board and BIOS."""
    host = TableHost({dmi.TABLE: r7425(), dmi.ENTRY_POINT: build.entry_point(b"")})
    expected = Firmware(
        system_vendor="Dell Inc.",
        product="PowerEdge R7425",
        board_vendor="Dell Inc.",
        board="0KV6DM",
        bios_vendor="Dell Inc.",
        bios_version="1.18.0",
        bios_date="2022-06-10",
        smbios="3.3",
    )
    assert expected == dmi.collect(host).firmware


def test_firmware_without_root() -> None:
    """The kernel's files need no root; what is a placeholder there is not known."""
    machine = collect(Why.REFUSED, sys_vendor="HPE\n", product_version="To Be Filled By O.E.M.\n", bios_date="02/30/2024\n")
    assert Firmware(system_vendor="HPE") == machine.firmware
    assert (Source(fact="firmware.system_vendor", where=f"{dmi.ID}/sys_vendor"),) == machine.sources[:1]


def test_without_root_the_memory_is_a_gap() -> None:
    """A refused table is not an absent one: the memory is not known, and root is the help."""
    machine = collect(Why.REFUSED, sys_vendor="HPE")
    assert machine.memory is None
    assert (Gap(fact="memory", why=f"{dmi.TABLE}: permission denied", help=ROOT_HELP),) == machine.gaps


def test_a_machine_without_smbios() -> None:
    """Nothing at all gives two gaps and no claim."""
    machine = collect(Why.ABSENT)
    expected = (None, None)
    assert expected == (machine.firmware, machine.memory)
    assert [("firmware", f"{dmi.ID}: not present"), ("memory", f"{dmi.TABLE}: not present")] == [
        (gap.fact, gap.why) for gap in machine.gaps
    ]


def test_a_broken_table_leaves_the_kernels_files() -> None:
    """A table that contradicts itself is one gap that names file and byte; the firmware's names come from elsewhere."""
    machine = collect(b"\x11\x00\x00\x10\0\0", sys_vendor="HPE")
    assert (Firmware(system_vendor="HPE"), None) == (machine.firmware, machine.memory)
    assert [f"{dmi.TABLE}: structure at byte 0 is 0 bytes long"] == [gap.why for gap in machine.gaps]


def edac(label: str, location: str = "channel 0 slot 0", kind: str = "Registered-DDR4", size: str = "16384") -> dict[str, str]:
    """Return the four files of one module."""
    return {"dimm_label": label, "dimm_location": location, "dimm_mem_type": kind, "size": size}


def with_edac(*modules: dict[str, str]) -> Machine:
    """Return what the source makes of EDAC's files without root."""
    files: dict[str, bytes | str | Why] = {dmi.TABLE: Why.REFUSED}
    for number, module in enumerate(modules):
        files |= {f"{MC}/mc{number // 2}/dimm{number % 2}/{name}": f"{text}\n" for name, text in module.items()}
    return dmi.collect(TableHost(files))


def test_edac_lists_the_modules_without_root() -> None:
    """EDAC's labels tell processor and channel; speeds and empty slots stay gaps after the merge."""
    machine = merge(
        (with_edac(edac("CPU_SrcID#0_MC#0_Chan#0_DIMM#0"), edac("CPU_SrcID#0_MC#0_Chan#1_DIMM#0", kind="Low-Power-DDR5-RAM")),)
    )
    first = Dimm(locator="CPU_SrcID#0_MC#0_Chan#0_DIMM#0", size=16384 * MIB, kind="DDR4", socket=0, channel=0)
    second = Dimm(locator="CPU_SrcID#0_MC#0_Chan#1_DIMM#0", size=16384 * MIB, kind="LPDDR5", socket=0, channel=1)
    assert Memory(dimms=(first, second)) == machine.memory
    assert {"memory.sockets", "memory.processors", "firmware"} == {gap.fact for gap in machine.gaps}


@pytest.mark.parametrize(
    ("location", "size"), [("csrow 0 channel 1", "8192"), ("channel 0 slot 0", "many"), ("channel 0 slot 0", "0")]
)
def test_edac_that_lists_no_modules(location: str, size: str) -> None:
    """AMD's driver lists chip-select rows, two for each module of two ranks: nothing is claimed from them."""
    assert with_edac(edac("mc#0csrow#0channel#1", location, size=size)).memory is None


FULL = r7425(9)


def mutate(changes: list[tuple[int, int]], cut: int) -> None:
    """Change bytes of a table and shorten it: whatever it is then, no error escapes, and what is lost has its gap."""
    table = bytearray(FULL)
    for at, value in changes:
        table[at % len(table)] = value
    data = bytes(table[: len(table) - cut % len(table)]) if cut else bytes(table)
    machine = collect(data)
    assert machine.memory or any(gap.fact == "memory" for gap in machine.gaps)
    assert Machine.model_validate_json(machine.model_dump_json()) == machine


CHANGES = st.lists(st.tuples(st.integers(0, len(FULL)), st.integers(0, 255)), max_size=8)
CUTS = st.one_of(st.just(0), st.integers(1, len(FULL)))
QUIET = [HealthCheck.too_slow]


@given(CHANGES, CUTS)
@examples(300, suppress_health_check=QUIET)
def test_no_table_makes_it_fail(changes: list[tuple[int, int]], cut: int) -> None:
    """Changed and shortened tables give gaps, never an error or an endless loop."""
    mutate(changes, cut)


@pytest.mark.slow
@given(CHANGES, CUTS)
@examples(10_000, suppress_health_check=QUIET)
def test_no_table_of_many_makes_it_fail(changes: list[tuple[int, int]], cut: int) -> None:
    """The same with more tables."""
    mutate(changes, cut)
