"""Names of memory slots as machines have them, and the places they mean."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hardware import Dimm
from advisor.machine.sources.smbios import Board, channels_of, placed

NAPLES, ROME, GENOA, SKYLAKE, HASWELL = (0x17, 1), (0x17, 0x31), (0x19, 0x11), (6, 85), (6, 63)


def slot(locator: str, bank: str | None = None) -> Dimm:
    """Return an empty slot of a name."""
    return Dimm(locator=locator, bank=bank, size=0)


def series(pattern: str, *parts: str, bank: str | None = None) -> list[Dimm]:
    """Return names with every combination of the parts' letters in the places of a format."""
    rows = list(product(*parts))
    return [slot(pattern.format(*row), bank and bank.format(*row)) for row in rows]


def channels(names: list[Dimm], board: Board) -> dict[int | None, list[int | None]]:
    """Return each processor's channels, one for each of its slots."""
    found: dict[int | None, list[int | None]] = {}
    for place in placed(names, board):
        found.setdefault(place.socket, []).append(place.channel)
    return found


EIGHT: list[int | None] = list(range(8))
PAIRS: list[int | None] = [channel for channel in EIGHT for _ in range(2)]
SIX, SIX_PAIRS = EIGHT[:6], PAIRS[:12]

# Each is (where it was seen, names, what one processor's slots are). Public texts: outputs of dmidecode in issues and logs,
# and the list that intel/PerfSpect keeps in internal/extract/dimm.go.
SEEN = {
    "Supermicro X11DPT-B, X13DET-B (PerfSpect)": (series("P{}-DIMM{}1", "12", "ABCDEF"), SIX),
    "Supermicro X9, letters run on, DIMM in small letters": (
        [*series("P1-Dimm{}1", "ABCD", bank="P1-CH-{}"), *series("P2-Dimm{}1", "EFGH", bank="P2-CH-{}")],
        EIGHT[:4],
    ),
    "Supermicro X9, with an underscore": (series("P{}_DIMM{}1", "12", "ABCD", bank="Node0_Bank0"), EIGHT[:4]),
    "Intel reference boards, SKX and ICX (PerfSpect)": (
        series("CPU{}_DIMM_{}{}", "12", "ABCDEF", "12", bank="NODE {0}"),
        SIX_PAIRS,
    ),
    "Intel Birchstream GNR-AP (PerfSpect)": (series("CPU{}_DIMM_{}", "01", "ABCDEFGH"), EIGHT),
    "Intel reference boards with the controller": (series("CPU{}_MC0_DIMM_{}1", "01", "ABCDEFGH"), EIGHT),
    "Hitachi DS240, generic (manual, 2.12)": (series("CPU{}_{}{}", "01", "ABCDEF", "01"), SIX_PAIRS),
    "Quanta GNR (PerfSpect)": (series("CPU{}_{}{}", "01", "ABCDEFGH", "12", bank="_Node{0}_Channel0_Dimm{2}"), PAIRS),
    "Inspur ICX (PerfSpect)": (series("CPU{}_C{}D{}", "01", "01234567", "01"), PAIRS),
    "EC2 c6i.metal (PerfSpect)": (series("CPU{} Channel{} DIMM{}", "01", "01234567", "01", bank="NODE {1}"), PAIRS),
    "EC2 c5.metal: letters run on, there is no I (PerfSpect)": (
        [*series("DIMM_{}{}", "ABCDEF", "01", bank="NODE 1"), *series("DIMM_{}{}", "GHJKLM", "01", bank="NODE 2")],
        SIX_PAIRS,
    ),
    "Intel Forest City (PerfSpect)": (series("CPU{} CH{}/D{}", "01", "01234567", "01"), PAIRS),
    "Gigabyte Milan: letters run on (PerfSpect)": (
        [*series("DIMM_P0_{}{}", "ABCDEFGH", "01", bank="BANK {1}"), *series("DIMM_P1_{}{}", "IJKLMNOP", "01", bank="BANK {1}")],
        PAIRS,
    ),
    "AMI EPYC boards": (series("DIMM {2}", "01", "ABCDEFGH", "01", bank="P{} CHANNEL {}"), PAIRS),
    "AMI EPYC board, letters run on (dmidecode in an issue)": (
        [*series("CPU0_DIMM_{}1", "ABCDEFGH", bank="P0 CHANNEL {}"), *series("CPU1_DIMM_{}1", "JKLMNOPQ", bank="P1 CHANNEL {}")],
        EIGHT,
    ),
    "Bank alone: P, Node and Channel": (series("DIMM 0", "01", "01", "0123", bank="P{}_Node{}_Channel{}_Dimm0"), EIGHT),
    "Bank alone: Node is the processor": (series("DIMM {1}", "01", "01234567", bank="_Node{}_Channel{}_Dimm0"), EIGHT),
    "Inspur Skylake (dmidecode in an issue)": (series("DIMM_A1", "01", "012345", bank="NODE {} CHANNEL {} DIMM 0"), SIX),
    "Huawei Kunpeng (dmidecode in an issue)": (
        series("DIMM{}{}0 J11", "01", "01234567", bank="SOCKET {} CHANNEL {} DIMM 0"),
        EIGHT,
    ),
    "EDAC on Intel": (series("CPU_SrcID#{}_MC#{}_Chan#{}_DIMM#0", "01", "0123", "01"), EIGHT),
}


@pytest.mark.parametrize("seen", SEEN)
def test_names_of_makers(seen: str) -> None:
    """Every known way of naming gives processors from 0 and channels from 0, whatever it counts from itself."""
    names, each = SEEN[seen]
    assert {0: each, 1: each} == channels(names, Board(sockets=2))


def test_dell_repeats_the_channels_row_by_row() -> None:
    """On a Dell R7425 the letter is the processor, and A1 and A9 share the first of eight channels."""
    names = [slot(f"{letter}{n}") for letter in "AB" for n in range(1, 17)]
    each = [*range(8), *range(8)]
    assert {0: each, 1: each} == channels(names, Board("Dell Inc.", 2, channels_of({NAPLES})))


def test_hpe_numbers_the_slots_of_a_channel_side_by_side() -> None:
    """On HPE ProLiant, PROC 1 DIMM 1 and 2 share a channel where there are two slots for each."""
    names = [slot(f"PROC {socket} DIMM {n}") for socket in (1, 2) for n in range(1, 13)]
    expected: dict[int | None, list[int | None]] = {0: SIX_PAIRS, 1: SIX_PAIRS}
    assert expected == channels(names, Board("HPE", 2, channels_of({SKYLAKE})))


def test_hpe_with_three_slots_a_channel() -> None:
    """A ProLiant of generation 9 has twelve slots for four channels."""
    names = [slot(f"PROC {socket} DIMM {n}") for socket in (1, 2) for n in range(1, 13)]
    each = [n // 3 for n in range(12)]
    assert {0: each, 1: each} == channels(names, Board("HP", 2, channels_of({HASWELL})))


def test_lenovo_numbers_through_all_processors() -> None:
    """On a ThinkSystem SR680a V3, DIMM 17 is the first slot of the second processor (pubs.lenovo.com)."""
    names = [slot(f"DIMM {n}") for n in range(1, 33)]
    expected: dict[int | None, list[int | None]] = {0: PAIRS, 1: PAIRS}
    assert expected == channels(names, Board("Lenovo", 2, (8,)))


@pytest.mark.parametrize("slots", [8, 10])
def test_a_count_of_slots_that_does_not_fit_tells_no_channel(slots: int) -> None:
    """A Dell C6420 has eight slots for six channels: which two channels have two is not in the names."""
    names = [slot(f"{letter}{n}") for letter in "AB" for n in range(1, slots + 1)]
    expected: dict[int | None, list[int | None]] = {0: [None] * slots, 1: [None] * slots}
    assert expected == channels(names, Board("Dell Inc.", 2, (6,)))


def test_unknown_processors_tell_no_channel() -> None:
    """Without the processor's count of channels, a Dell's names tell the processor alone."""
    names = [slot(f"{letter}{n}") for letter in "AB" for n in range(1, 3)]
    expected: dict[int | None, list[int | None]] = {0: [None, None], 1: [None, None]}
    assert expected == channels(names, Board("Dell Inc.", 2))


def test_two_possible_counts_of_channels() -> None:
    """Granite Rapids has 8 or 12 channels: 16 slots decide for 8, and 24 decide nothing."""
    counts = channels_of({(6, 173)})
    names = [slot(f"A{n}") for n in range(1, 25)]
    sixteen = {place.channel for place in placed(names[:16], Board("Dell Inc.", 1, counts))}
    assert ((8, 12), set(range(8)), {(0, None)}) == (
        counts,
        sixteen,
        {(each.socket, each.channel) for each in placed(names, Board("Dell Inc.", 1, counts))},
    )


def test_letters_alone_on_a_board_of_one_socket() -> None:
    """DIMM_A1 or DIMMB2 tells the channel, and there is only one processor."""
    expected: dict[int | None, list[int | None]] = {0: [0, 0, 1, 1]}
    assert expected == channels(series("DIMM_{}{}", "AB", "12"), Board(sockets=1))


def test_letters_alone_on_a_board_of_two_sockets() -> None:
    """Which of two processors has DIMM_A1 is not said."""
    expected: dict[int | None, list[int | None]] = {None: [None] * 4}
    assert expected == channels(series("DIMM_{}{}", "AB", "12"), Board(sockets=2))


def test_more_processors_than_there_are() -> None:
    """NODE 1 to 4 on two sockets are memory controllers, not processors."""
    names = series("DIMM_{1}1", "1234", "AB", bank="NODE {0}")
    expected: dict[int | None, list[int | None]] = {None: [None] * 8}
    assert expected == channels(names, Board(sockets=2))


def test_a_bank_that_is_the_same_everywhere() -> None:
    """Some boards give every slot the bank of the first: sixteen modules on one channel cannot be."""
    names = [slot(f"DIMM {n}", "P0_Node0_Channel0_Dimm0") for n in range(16)]
    expected: dict[int | None, list[int | None]] = {0: [None] * 16}
    assert expected == channels(names, Board(sockets=2))


@pytest.mark.parametrize("name", [slot("DIMM 0"), slot("RAM slot #0", "RAM slot #0"), slot("M0001"), slot("P" + "9" * 5000)])
def test_names_that_tell_nothing(name: Dimm) -> None:
    """The names of virtual machines, and nonsense, make no claim."""
    assert (name,) == placed([name], Board("QEMU", 2, (8,)))


@pytest.mark.parametrize(
    ("model", "counts"),
    [
        (NAPLES, (8,)),
        (ROME, (8,)),
        (GENOA, (12,)),
        (SKYLAKE, (6,)),
        (HASWELL, (4,)),
        ((0x19, 1), (8,)),
        ((0x1A, 2), (12,)),
        ((0x19, 0xA0), (6, 12)),
        ((6, 26), (3,)),
        ((6, 15), ()),
        ((0, 0), ()),
    ],
)
def test_channels_of_processors(model: tuple[int, int], counts: tuple[int, ...]) -> None:
    """CPUID's family and model tell the socket's channels; an unknown processor tells none."""
    assert counts == channels_of({model})


def test_different_processors_tell_no_channels() -> None:
    """Two kinds of processor on one board are not believed."""
    expected: tuple[int, ...] = ()
    assert expected == channels_of({ROME, GENOA})


TEXT = st.text("PCUDIM_#AB019 -Node\nHhanlRO", max_size=30)


@given(
    st.lists(st.builds(slot, TEXT, st.none() | TEXT), max_size=20),
    st.sampled_from(["Dell", "Lenovo", "HPE", None]),
    st.integers(0, 4),
)
def test_any_name_has_a_place(names: list[Dimm], maker: str | None, sockets: int) -> None:
    """Any names give one place each, never a negative one, never a processor that is not there."""
    found = placed(names, Board(maker, sockets or None, (8,)))
    assert len(names) == len(found)
    for place in found:
        assert place.channel is None or (place.socket is not None and 0 <= place.channel < len(names))
        assert place.socket is None or 0 <= place.socket < (sockets or 1000)
