"""How large HPL runs, what other builds are told and say, and which BLAS is doubted."""

from itertools import pairwise
from math import isqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.jobs.observe import PlannedRank
from advisor.jobs.results import Size, blas_doubt, for_memory, for_time, grid, grown, hpl_dat, read_own, read_xhpl, steps_to
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu
from tests.measure.samples import line, task

TASK = task(kernel="hpl", purpose="hpl", part="machine", index=None, memory=None, distance=None, name="hpl/hpl/machine/lu")
OUTPUT = """
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WR11C2R4       10000   192     1     2               4.27             1.5633e+02
HPL_pdgesv() start time Sat Nov 21 12:00:00 2026
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   3.44107740e-03 ...... PASSED
"""
"""As netlib's HPL 2.3 prints it."""


@given(st.integers(min_value=1, max_value=4096))
def test_the_grid_is_the_squarest(ranks: int) -> None:
    """P times Q are the ranks, P is not above Q, and no P between would do."""
    p, q = grid(ranks)
    between = [more for more in range(p + 1, isqrt(ranks) + 1) if ranks % more == 0]
    assert (p * q, p <= q, between) == (ranks, True, [])


def test_n_fills_the_memory_in_whole_blocks() -> None:
    """The matrix takes no more than its share, and one block more would."""
    n = for_memory(256e9, 0.85, 192)
    assert (n % 192, 8 * n**2 <= 0.85 * 256e9 < 8 * (n + 192) ** 2) == (0, True)


def test_n_takes_the_time() -> None:
    """The work of N at three quarters of dgemm's rate takes about as long as was wished."""
    size = Size(for_time(1e12, 14, 192), 192, 1, 2)
    assert 0.9 < size.work / 0.75e12 / 14 < 1.0


@given(st.integers(min_value=1, max_value=100_000))
def test_a_scaling_table_doubles_its_hosts(hosts: int) -> None:
    """It begins with one host, has twice as many in each row, and ends with all of them."""
    found = steps_to(hosts)
    assert (found[0], found[-1], sorted(set(found))) == (1, hosts, list(found))
    assert [b for a, b in pairwise(found) if b not in {2 * a, hosts}] == []


@given(st.integers(min_value=1000, max_value=10**6), st.integers(min_value=1, max_value=4096), st.sampled_from([64, 192, 232]))
def test_each_core_keeps_its_share_of_the_matrix(n: int, times: int, nb: int) -> None:
    """The grown matrix takes at most so many times the memory, in whole blocks, and one block more would take more."""
    more = grown(n, times, nb)
    assert (more % nb, more**2 <= times * n**2 * 1.00001, (more + nb) ** 2 > times * n**2) == (0, True, True)


def test_hpl_dat_is_what_hpl_reads() -> None:
    """31 lines, the values first, each in its place."""
    rows = hpl_dat(Size(10000, 192, 2, 4)).splitlines()
    assert (len(rows), [rows[at].split()[0] for at in (5, 7, 10, 11)]) == (31, ["10000", "192", "2", "4"])


def test_the_output_of_another_hpl() -> None:
    """Rate, size and grid are read, and a passed residual makes it believed."""
    found = read_xhpl(TASK, OUTPUT)
    assert (found.median, found.refused, found.details) == (156.33e9, None, {"n": 10000, "nb": 192, "p": 1, "q": 2})


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [("PASSED", "FAILED", "its residual test failed"), ("||Ax-b||", "(none)", "it did not check the residual")],
)
def test_a_result_that_is_not_proved_is_refused(old: str, new: str, why: str) -> None:
    """A wrong or an untested result is kept, and not believed."""
    assert read_xhpl(TASK, OUTPUT.replace(old, new)).refused == why


@pytest.mark.parametrize("text", ["", "HPL ERROR", OUTPUT.replace("1.5633e+02", "-1"), OUTPUT.replace("1.5633e+02", "1e+99")])
def test_no_result_is_one_line(text: str) -> None:
    """Nothing, an error, or a rate that cannot be."""
    with pytest.raises(BadInput, match="xhpl printed"):
        read_xhpl(TASK, text)


def test_our_own_is_proved_by_its_ranks() -> None:
    """A rank elsewhere than planned makes it refused; without a line there is no result."""
    plan = tuple(PlannedRank(rank=rank, host=None, cpus=CpuSet([rank])) for rank in (0, 1))
    places = {"host": ["n", "n"], "cpus": ["0", "1"]}
    told = [line(kernel="hpl", variant="lu", unit="flop/s", places=each) for each in (places, {**places, "cpus": ["0", "0"]})]
    found = [read_own(TASK, [each], plan, (0, 1)) for each in told]
    assert [each.refused for each in found if each] == [None, "rank 1 was on CPUs 0, but the plan has 1"]
    assert read_own(TASK, [], plan, (0, 1)) is None


@pytest.mark.parametrize(
    ("core", "flags", "doubted"),
    [
        ("Prescott", ("avx2", "avx512f"), "SkylakeX"),
        ("Haswell", ("avx2", "avx512f"), "SkylakeX"),
        ("SkylakeX", ("avx2", "avx512f"), None),
        ("Zen", ("avx2",), None),
        ("Nehalem", ("avx2",), "Haswell"),
        ("Nehalem", ("sse2",), None),
        ("", ("avx2",), None),
    ],
)
def test_a_kernel_without_the_widest_instructions_is_doubted(core: str, flags: tuple[str, ...], doubted: str | None) -> None:
    """OpenBLAS 0.3.21 takes a Sapphire Rapids for a Prescott; what the processor cannot do is not asked for."""
    said = blas_doubt(core, Cpu(flags=flags))
    assert (said or "=None").rpartition("=")[2] == str(doubted)
