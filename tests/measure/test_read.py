import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.measure.contract import results_of
from advisor.measure.measurement import KernelSheet, Variant
from tests.measure.samples import line, task


def test_a_line_becomes_a_result() -> None:
    """What the task knows and what the kernel says are joined; its own fields are kept."""
    said = line(node=0, bytes=4096, isa="avx512", page_kind="huge", shape="4-near-l1-256", load_cpus=[2, 3, 4], passes=3)
    (found,) = results_of(task(slit=10), [said, b"\n"])
    assert (found.variant, found.median, found.pages, found.isa) == ("load", 1e10, {0: 512}, "avx512")
    assert (found.memory, found.slit) == (0, 10)
    assert found.details == {"shape": "4-near-l1-256", "load_cpus": "2-4", "passes": 3}


def test_a_pair_and_a_lone_core_are_parts_of_their_own() -> None:
    """A round trip names its two CPUs; the clock of the first core alone is that core's."""
    trip = task(kernel="c2c", part="pair", index=None, cpus=(0, 1, 2), purpose="map")
    assert results_of(trip, [line(kernel="c2c", cpus=[2, 0])])[0].cpus == (2, 0)
    clock = task(kernel="peakflops", part="machine", index=None, cpus=(4, 5), purpose="peak")
    (found,) = results_of(clock, [line(kernel="peakflops", cpus=[4], unit="hertz", values=[3e9])])
    assert (found.purpose, found.part, found.index) == ("clock", "core", 4)


HOSTILE: dict[str, bytes] = {
    "no JSON": b"\x1b[2J{\n",
    "no object": b"[1]\n",
    "another contract": line(contract=2),
    "another kernel": line(kernel="rm"),
    "a CPU not asked for": line(cpus=[0, 7]),
    "a CPU twice": line(cpus=[0, 0]),
    "no CPU": line(cpus=[]),
    "a unit of its own": line(unit="furlongs"),
    "a text as value": line(values=["fast"]),
    "nothing measured": line(values=[]),
    "below zero": line(values=[-1.0]),
    "no number": line().replace(b"10000000000.0", b"NaN"),
    "without end": line().replace(b"10000000000.0", b"1e999"),
    "very many": line(values=[1.0] * 10_001),
    "a huge number": line().replace(b"512", b"9" * 5000),
    "pages of no node": line(pages={"root": 1}),
    "pages that are no counts": line(pages={"0": 1.5}),
    "bytes below zero": line(bytes=-1),
    "a variant that steers the terminal": line(variant="\x1b[2J"),
    "a very long word": line(variant="x" * 65),
    "deep": b"[" * 100_000 + b"\n",
    "a truth as CPU": line(cpus=[True, 0]),
}


@pytest.mark.parametrize("said", HOSTILE.values(), ids=HOSTILE)
def test_hostile_lines_are_refused_in_one_line(said: bytes) -> None:
    """Nothing else than a BadInput of one printable line comes out."""
    with pytest.raises(BadInput) as caught:
        results_of(task(), [line(), said])
    assert (str(caught.value).isprintable(), str(caught.value).startswith("membw printed ")) == (True, True)


SCALARS = st.none() | st.booleans() | st.floats() | st.text()


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_value_anywhere_is_a_result_or_one_line(value: Any) -> None:
    """Whatever stands in a field, the answer is a result or BadInput."""
    for name in ("cpus", "values", "unit", "variant", "pages", "bytes", "isa", "extra", "contract"):
        fields = json.loads(line()) | {name: value}
        try:
            found = results_of(task(), [json.dumps(fields).encode()])
        except BadInput:
            continue
        assert len(found) == 1


def test_a_unit_of_a_kernel_s_own_is_read() -> None:
    """Anything a second is a rate."""
    (found,) = results_of(task(), [line(unit="updates/s")])
    assert (found.unit, found.best) == ("updates/s", 1.01e10)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"variant": "triad"}, "the variant triad, which its header comment does not list"),
        ({"unit": "seconds"}, "load in seconds, but its header comment says bytes/s"),
    ],
)
def test_what_the_header_comment_does_not_declare_is_refused(said: dict[str, str], problem: str) -> None:
    """A kernel prints the variants and the units that it names, and no others."""
    load = Variant(name="load", unit="bytes/s", arrays=1, read=8, written=0, iteration="sum += a")
    sheet = KernelSheet(name="membw", summary="memory bandwidth", parts=("core",), variants=(load,))
    assert results_of(task(), [line()], sheet)[0].variant == "load"
    with pytest.raises(BadInput, match=f"membw printed {problem}"):
        results_of(task(), [line(**said)], sheet)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([line(), line()], "load twice"),
        ([line(variant="store")], "no load, though listed in its header comment"),
        ([line(), line(variant="store", values=[1e10])], "1 values of store, although --repeats 3 was requested"),
    ],
)
def test_a_kernel_without_a_plan_of_its_own_is_held_to_its_table(lines: list[bytes], problem: str) -> None:
    """Each variant once for the same CPUs and bytes, with as many values as repeats at least, unless it was cut short."""
    table = tuple(
        Variant(name=name, unit="bytes/s", arrays=1, read=8, written=0, iteration="sum += a") for name in ("load", "store")
    )
    sheet = KernelSheet(name="membw", summary="memory bandwidth", parts=("core",), variants=table)
    asked = task(purpose="kernel", variants=("load", "store"), arguments=("--repeats", "3"))
    short = line(variant="store", values=[1e10], cut_short=True)
    assert [each.variant for each in results_of(asked, [line(), line(bytes=4096), short], sheet)] == ["load", "load", "store"]
    with pytest.raises(BadInput, match=f"membw printed {problem}"):
        results_of(asked, lines, sheet)
