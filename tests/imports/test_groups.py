"""Groups of CPUs that a matrix of times shows by itself."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.measure.imports import read_runs
from advisor.measure.imports.memory import levels, times_of

SHARED = Path(__file__).parents[3] / "shared" / "knowledge" / "measured" / "c2c"


def matrix(sizes: tuple[int, ...], times: tuple[float, ...], noise: float = 0.0, seed: int = 1) -> str:
    """Return the CSV of CPUs in groups within groups, the innermost first, with the time within each."""
    dice, count = random.Random(seed), 1  # noqa: S311 - noise
    spans = [count := count * size for size in sizes]
    rows = []
    for one in range(count):
        near = (
            next(time for span, time in zip(spans, times, strict=True) if one // span == other // span) for other in range(one)
        )
        rows.append([f"{time * dice.uniform(1, 1 + noise):.3f}" for time in near] + [""] * (count - one))
    return "\n".join(",".join(row) for row in rows)


def groups(text: str) -> list[tuple[int, int]]:
    """Return, for each level, how many groups of how many CPUs."""
    (run,) = read_runs(text.encode())
    found = levels(times_of(run), int(run.conditions["CPUs"]))
    return [(len(each.groups), len(each.groups[0])) for each in found]


@pytest.mark.parametrize(
    ("sizes", "times", "expected"),
    [
        ((2, 8, 8), (10, 25, 110), [(64, 2), (8, 16)]),  # threads, and CCXs of one socket: Milan-X
        ((2, 16, 2), (7, 45, 120), [(32, 2), (2, 32)]),  # threads, and sockets: Cascade Lake
        ((64,), (45,), []),  # one mesh
        ((4, 16, 2), (30, 31, 60), [(2, 64)]),  # clusters of four that nothing tells apart
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.15])
def test_groups_are_found_by_times_alone(
    sizes: tuple[int, ...], times: tuple[float, ...], expected: list[tuple[int, int]], noise: float
) -> None:
    """Each step of half as far again, with groups of one size."""
    assert groups(matrix(sizes, times, noise)) == expected


@given(st.integers(0, 2**32))
def test_noise_alone_makes_no_groups(seed: int) -> None:
    """Times that lie within a third of each other show none."""
    assert groups(matrix((24,), (50,), 0.33, seed)) == []


TABLE = """CPU: AMD EPYC 9999
Num cores: 5

{title}

           0       2       4       6       8
      0
      2   46±1
      4   63±1    49±0
      6   43±0    43±0    42±0
{last}
    Min  latency: 41.8ns ±0.2 cores: (6,4)
    Mean latency: 43.4ns
"""
CAS, LAST = "1) CAS latency on a single shared cache line", "      8   42±1    44±0    44±0    120±15\n"


@pytest.mark.parametrize(
    ("title", "last", "refused"),
    [
        (CAS, LAST, None),
        (CAS, LAST.replace("±", " ±"), None),
        (CAS, "", "cut off: 6 of 10 pairs of 5 CPUs"),
        (
            "2) Single-writer single-reader latency on two shared cache lines",
            LAST,
            "different transfer from ours; only benchmark 1 (CAS) is comparable",
        ),
    ],
)
def test_the_table_is_read_as_its_csv(title: str, last: str, refused: str | None) -> None:
    """What the program prints for people has half of the matrix; a table that is cut off or of another benchmark is refused."""
    (run,) = read_runs(TABLE.format(title=title, last=last).encode())
    assert (run.tool, run.conditions["CPUs"], run.refused) == ("core-to-core-latency", 5, refused)
    if refused is None:
        times = times_of(run)
        assert (len(times), round(times[0, 2] * 1e9), round(times[3, 4] * 1e9)) == (10, 63, 120)


def test_a_matrix_with_a_hole_is_refused() -> None:
    """A pair that was not measured could be any."""
    (run,) = read_runs(matrix((2, 2), (10, 30)).replace("30.000", "", 1).encode())
    assert run.refused == "cut off: 5 of 6 pairs of 4 CPUs"


PUBLISHED = {
    "AMD_EPYC_7773X": [(64, 2), (8, 16)],
    "AWS_Graviton3": [],
    "Dual_IBM_Power7_8_cores@3.3_GHz_2010-Q1": [(2, 8)],
    "Dual_Intel(R)_Xeon_Gold_6242_@_2.8GHz": [(32, 2), (2, 32)],
    "HiSilicon_Kunpeng_920-6426_@_2.6GHz": [(2, 32)],
    "Intel(R)_Xeon_Gold_6242_@_2.8GHz": [(16, 2)],
    "Intel(R)_Xeon_Phi(TM)_CPU_7210_@_1.30GHz": [(32, 2)],
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_groups_of_a_published_matrix_are_those_of_its_processor(name: str) -> None:
    """SMT threads, L3 groups, tiles and dies of the results of core-to-core-latency."""
    file = SHARED / f"{name}.csv"
    if not file.is_file():
        pytest.skip("the published matrices are not here")
    assert groups(file.read_text()) == PUBLISHED[name]
