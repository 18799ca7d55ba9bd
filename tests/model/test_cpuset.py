import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadValue
from advisor.machine.cpuset import LIMIT, CpuSet, union

cpus = st.sets(st.integers(0, 600))


@given(cpus)
def test_text_round_trip(members: set[int]) -> None:
    """A set's text, parsed, is the set again."""
    assert CpuSet.parse(str(CpuSet(members))) == CpuSet(members)


@given(cpus)
def test_mask_round_trip(members: set[int]) -> None:
    """A set's mask, parsed, is the set again."""
    assert CpuSet.from_mask(CpuSet(members).mask()) == CpuSet(members)


@given(cpus, cpus)
def test_algebra_is_that_of_sets(a: set[int], b: set[int]) -> None:
    """Union, intersection, difference and inclusion agree with Python's own sets."""
    x, y = CpuSet(a), CpuSet(b)
    assert [set(x | y), set(x & y), set(x - y), set(x ^ y), x <= y, len(x)] == [a | b, a & b, a - b, a ^ b, a <= b, len(a)]


@given(cpus)
def test_members_come_in_order(members: set[int]) -> None:
    """Iteration yields the members in rising order, and first and last are its ends."""
    got = list(CpuSet(members))
    assert (got, CpuSet(members).first, CpuSet(members).last) == (
        sorted(members),
        min(members, default=None),
        max(members, default=None),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ""), ("0-3,8", "0-3,8"), ("8,0-3", "0-3,8"), ("3,2,1", "1-3"), ("0-31:2/8", "0-1,8-9,16-17,24-25"), (" 5 \n", "5")],
)
def test_kernel_lists(text: str, expected: str) -> None:
    """The kernel's list format is read, its strides too, and written in one canonical way."""
    assert str(CpuSet.parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0xf", "0-3"), ("ff,0000000f", "0-3,32-39"), ("0x1,,0x1", "0,64"), ("00000000", ""), ("0x0", "")],
)
def test_masks(text: str, expected: str) -> None:
    """Masks are read as the kernel and as hwloc write them, empty words too."""
    assert str(CpuSet.from_mask(text)) == expected


def test_endless_mask_is_cut() -> None:
    """Hwloc's set without end holds every CPU up to the limit, less the low words."""
    endless = CpuSet.from_mask("0xf...f,0x00000000")
    assert (endless.first, endless.last) == (32, LIMIT - 1)


@pytest.mark.parametrize(
    "text", ["a", "1-", "-1", "3-1", "1,,2", "0x1", "1-2-3", "0-3:2", "0-3:0/2", "0-3:3/2", "9999999", "٣", "1" * 50]
)
def test_bad_lists_are_refused(text: str) -> None:
    """What is no CPU list is refused with a message that shows it."""
    with pytest.raises(BadValue):
        CpuSet.parse(text)


@pytest.mark.parametrize("text", ["x", "0xg", "0x123456789", "1-2", "0x1;0x2"])
def test_bad_masks_are_refused(text: str) -> None:
    """What is no mask is refused."""
    with pytest.raises(BadValue):
        CpuSet.from_mask(text)


def test_message_says_how_to_write_it() -> None:
    """The message of a range that runs backwards holds the cure."""
    with pytest.raises(BadValue, match=r"range 3-1 in '3-1' runs backwards; write 1-3"):
        CpuSet.parse("3-1")


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes the parsers fail in any other way than by refusing it."""
    for read in (CpuSet.parse, CpuSet.from_mask):
        try:
            read(text)
        except BadValue:
            continue


def test_out_of_range_members_are_refused() -> None:
    """A negative or absurd number is no CPU."""
    for wrong in (-1, LIMIT):
        with pytest.raises(BadValue):
            CpuSet([wrong])


def test_union_of_many() -> None:
    """The union of sets holds every member of each, that of none is empty."""
    assert (str(union([CpuSet([1]), CpuSet([2, 7])])), str(union([]))) == ("1-2,7", "")


def test_sets_are_values() -> None:
    """Equal sets are one key, and no set is equal to its text."""
    assert (len({CpuSet([1, 2]), CpuSet.parse("1-2")}), CpuSet([1]) == "1", repr(CpuSet([1, 2]))) == (1, False, "CpuSet('1-2')")


@pytest.mark.parametrize(
    ("cpus", "mask"),
    [
        ("", "00000000"),
        ("0-3", "0000000f"),
        ("31", "80000000"),
        ("32", "00000001,00000000"),
        ("0,64", "00000001,00000000,00000001"),
    ],
)
def test_a_mask_has_as_many_words_as_it_needs(cpus: str, mask: str) -> None:
    """Words of 32 CPUs, the highest first and none of them empty but the only one."""
    assert CpuSet.parse(cpus).mask() == mask
