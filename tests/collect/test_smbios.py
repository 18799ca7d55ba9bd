"""The SMBIOS table read field by field, with the values that mean something else than themselves."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadTable
from advisor.machine.hardware import Dimm, Processor
from advisor.machine.sources.smbios import LARGEST, clean, dimms, models, processors, structures, version
from advisor.machine.value import GIB, KIB, MIB
from tests.collect import table_builder as build


def slot(**raw: int | str | tuple[int, int]) -> Dimm:
    """Return the one slot of a table that has it with these raw values."""
    make: Callable[..., bytes] = build.dimm
    (found,) = dimms(structures(make(0, "A1", **raw) + build.end()))
    return found


def test_a_module_in_all_its_fields() -> None:
    """Every fact of a module comes from its own field; speeds are transfers, widths without ECC."""
    expected = Dimm(
        locator="A1",
        size=16 * GIB,
        kind="DDR4",
        rated=2666 * 10**6,
        configured=2400 * 10**6,
        width=64,
        ranks=2,
        maker="Hynix Semiconductor",
        part="HMA82GR7AFR8N-VK",
    )
    assert expected == slot(configured=2400, part="HMA82GR7AFR8N-VK   ")


def test_an_empty_slot() -> None:
    """A slot without module has a name and a size of 0, and nothing else is believed."""
    assert Dimm(locator="A1", bank="BANK 0", size=0) == slot(size=0, bank="BANK 0", kind=2, part="NO DIMM")


@pytest.mark.parametrize(
    ("raw", "extended", "size"),
    [
        (0xFFFF, 0, None),
        (0x7FFF, 128 << 10, 128 * GIB),
        (0x7FFF, 0x80000000 | 48 << 10, 48 * GIB),
        (0x8000 | 512, 0, 512 * KIB),
        (2048, 0, 2048 * MIB),
    ],
)
def test_sizes(raw: int, extended: int, size: int | None) -> None:
    """0xFFFF is not known, 0x7FFF sends to the extended size, the top bit counts KiB."""
    assert size == slot(size=raw, extended=extended).size


@pytest.mark.parametrize(("raw", "fast", "speed"), [(0, 0, None), (0xFFFF, 70000, 70000), (0xFFFF, 0, None), (6400, 1, 6400)])
def test_speeds(raw: int, fast: int, speed: int | None) -> None:
    """0 is not known, 0xFFFF sends to the extended speed."""
    expected = speed and speed * 10**6
    found = slot(rated=raw, configured=raw, fast=(fast, fast))
    assert [expected, expected] == [found.rated, found.configured]


@pytest.mark.parametrize(("raw", "width"), [(0, None), (0xFFFF, None), (64, 64), (72, 64), (80, 64), (32, 32)])
def test_data_widths(raw: int, width: int | None) -> None:
    """ECC bits that a board counts among the data are taken off."""
    assert width == slot(width=raw).width


@pytest.mark.parametrize(
    ("raw", "technology", "kind"),
    [
        (26, 3, "DDR4"),
        (0x22, 3, "DDR5"),
        (0x23, 3, "LPDDR5"),
        (0x20, 3, "HBM"),
        (0x21, 3, "HBM2"),
        (0x24, 3, "HBM3"),
        (2, 3, None),
        (26, 7, "Optane"),
    ],
)
def test_kinds_of_memory(raw: int, technology: int, kind: str | None) -> None:
    """Kinds have the usual names, unknown ones none, and persistent memory is not taken for DRAM."""
    assert kind == slot(kind=raw, technology=technology).kind


def test_a_structure_of_an_old_version_ends_early() -> None:
    """SMBIOS 2.3 has no ranks and no configured speed: they are not known, the rest is."""
    old = build.structure(
        17, 1, "HHHHHBBBBBHHBBBB", 0x1000, 0xFFFE, 72, 64, 2048, 9, 0, "A1", "B", 24, 0x80, 1333, "Micron", 0, 0, "X"
    )
    (found,) = dimms(structures(old))
    assert (
        Dimm(locator="A1", bank="B", size=2 * GIB, kind="DDR3", rated=1333 * 10**6, width=64, maker="Micron", part="X") == found
    )


def test_flash_is_no_memory() -> None:
    """Slots of an array that is not system memory are left out."""
    table = build.array(0x1000) + build.array(0x2000, use=5) + build.dimm(0, "A1") + build.dimm(1, "BIOS", parent=0x2000)
    expected = ["A1"]
    assert expected == [dimm.locator for dimm in dimms(structures(table))]


def test_processors_populated_and_not() -> None:
    """A socket's populated bit counts, cores past 255 come from the words, and an empty socket has no model."""
    table = build.processor(0, cores=288, model="AMD EPYC 9965") + build.processor(1, cores=0, status=0)
    expected = (
        Processor(
            socket="CPU1", populated=True, model="AMD EPYC 9965", cores=288, cores_enabled=288, threads=576, max_hz=3_200_000_000
        ),
        Processor(socket="CPU2", populated=False, max_hz=3_200_000_000),
    )
    assert expected == processors(structures(table))


def test_models_of_populated_sockets() -> None:
    """CPUID's signature gives family and model; what an empty socket claims to be is not counted."""
    table = build.processor(0, signature=0x830F10) + build.processor(1, signature=0x50654, status=0)
    assert frozenset({(0x17, 0x31)}) == models(structures(table))
    assert frozenset({(6, 85)}) == models(structures(build.processor(0, signature=0x50654)))


def test_nothing_after_the_end_is_read() -> None:
    """The end-of-table structure ends the reading, even without its strings; zeros after the last structure do too."""
    whole = build.dimm(0, "A1")
    assert structures(whole) == structures(whole + build.end()[:4]) == structures(whole + bytes(9))


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (b"", "holds no structure"),
        (bytes(100), "holds no structure"),
        (bytes(LARGEST + 1), f"{LARGEST + 1} bytes, more than any real table"),
        (b"\x11\x00\x00\x10\0\0", "structure at byte 0 is 0 bytes long"),
        (b"\x11\x03\x00\x10\0\0", "structure at byte 0 is 3 bytes long"),
        (b"\x11\x54\x00\x10\0\0", "structure at byte 0 is 84 bytes long, but 6 are left"),
        (b"\x11\x04\x00", "structure at byte 0: only 3 bytes are left"),
        (b"\x11\x04\x00\x10text\0", "structure at byte 0: its strings are not terminated"),
    ],
)
def test_broken_tables(table: bytes, problem: str) -> None:
    """An error names the byte and what is wrong there."""
    with pytest.raises(BadTable) as error:
        structures(table)
    assert problem == str(error.value)


def test_a_string_that_is_not_there() -> None:
    """A number past the last string names nothing."""
    (found,) = structures(build.structure(1, 1, "BB", "Dell Inc.", 7))
    expected = ["Dell Inc.", None, None]
    assert expected == [found.text(4), found.text(5), found.text(6)]


@pytest.mark.parametrize(
    "text",
    ["Not Specified", "To Be Filled By O.E.M.", "Default string", "NO DIMM", "Unknown", "UNKNOWN", "  ", "N/A", None, "\0"],
)
def test_placeholders_say_nothing(text: str | None) -> None:
    """What boards say when their maker said nothing is None."""
    assert clean(text) is None


def test_control_characters_are_not_passed_on() -> None:
    """A name cannot move the cursor of a terminal."""
    assert clean(" A1\x1b[2J\n ") == "A1.[2J"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (build.entry_point(b""), "3.3"),
        (b"_SM_\0\x1f\x02\x08", "2.8"),
        (b"_SM3_", None),
        (b"", None),
        (b"nonsense here", None),
    ],
)
def test_versions(data: bytes, text: str | None) -> None:
    """Both kinds of entry point name the version."""
    assert text == version(data)


NUMBERS = st.integers(0, 0xFFFF)


@given(
    st.lists(
        st.tuples(st.integers(0, 126), NUMBERS, st.binary(max_size=80), st.lists(st.text("ABC 019-_", min_size=1), max_size=4))
    )
)
def test_what_was_built_is_read_back(parts: list[tuple[int, int, bytes, list[str]]]) -> None:
    """Any structures come back with their types, handles, bytes and strings."""
    table = b""
    for kind, handle, body, strings in parts:
        head = bytes([kind, 4 + len(body)]) + handle.to_bytes(2, "little")
        table += head + body + b"".join(text.encode() + b"\0" for text in strings or [""]) + b"\0"
    found = structures(build.end() and build.structure(3, 3, "B", 0) + table + build.end())[1:]
    assert parts == [(s.kind, s.handle, s.fixed[4:], list(s.strings)) for s in found]
