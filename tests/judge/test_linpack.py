"""Runs of HPL become facts: the rate beside its peaks, DGEMM, memory and cores."""

from itertools import pairwise
from typing import Any

import pytest

from advisor.advice.judge.case import Case, case_of
from advisor.advice.judge.measured import measured_facts
from advisor.advice.judge.published import linpack, published_hpl
from advisor.machine.machine import Environment, Machine
from advisor.machine.partitioning import infer_layout
from advisor.measure.measured_facts import Clock, Compared, Linpack
from advisor.measure.measurement import Measurements, Result
from advisor.measure.platform import match_platform
from tests.judge.sending import measurements, solved
from tests.model.shapes import NAPLES, shape

BASE = NAPLES.model_copy(update={"base_hz": 2_200_000_000, "boost": True})
R7425 = Machine(
    name="n1",
    topology=shape(2, 4, 8, 32, slit=lambda i, j: 10 if i == j else 16 if i // 4 == j // 4 else 28),
    cpu=BASE,
    environment=Environment(virtual="none"),
)
"""Article [000]: 1133 GFLOP/s of a peak of 1126 at base clock."""
SMT = R7425.model_copy(update={"topology": shape(2, 4, 8, 32, threads=2)})
PEAKS: dict[str, Any] = {"peak_base": 1126.4e9, "peak_load": 1380e9, "dgemm_all": 1240e9}


def case(machine: Machine = R7425) -> Case:
    """Return what rules may ask of a machine."""
    return case_of(machine, infer_layout(machine), match_platform(machine))


def runs(*results: Result, machine: Machine = R7425, clocks: tuple[Clock, ...] = ()) -> tuple[Linpack, ...]:
    """Return what rules may ask of some runs."""
    return linpack(measurements(machine, results), case(machine), clocks)


def run(machine: Machine = R7425, rate: float = 1133e9, **told: Any) -> Linpack:
    """Return what rules may ask of one run."""
    (found,) = runs(solved(machine, rate, **told), machine=machine)
    return found


def published(machine: Machine = R7425, rate: float = 1133e9, **told: Any) -> dict[str, Compared]:
    """Return what was published for such a run, by source and name."""
    return {f"{one.ref} {one.name}": one for one in published_hpl([run(machine, rate, **told)], case(machine))}


def memory() -> int:
    """Return the bytes of the machine."""
    return sum(node.memory or 0 for node in R7425.topology.nodes) if R7425.topology else 0


LARGE = int((memory() * 0.8 / 8) ** 0.5)
"""An N whose matrix takes four fifths of it."""


def test_the_article_s_figure_stands_against_three_bounds() -> None:
    """More than 100 % of base clock, less under load, and nearly its DGEMM."""
    found = run(**PEAKS)
    assert (found.of_base, found.of_load, found.of_dgemm, found.dgemm_of_load) == pytest.approx(
        (1133 / 1126.4, 1133 / 1380, 1133 / 1240, 1240 / 1380)
    )


def test_what_is_not_told_is_not_known() -> None:
    """Without the peak under load and DGEMM there are no shares of them."""
    found = run()
    assert (found.of_load, found.of_dgemm, found.dgemm_of_load, found.clock) == (None,) * 4


def test_another_program_s_rate_stands_against_the_peak_at_base_clock() -> None:
    """64 cores of 2.2 GHz with 8 FLOP in a cycle: what its output does not say."""
    found = run()
    assert (found.peak_base, found.of_base) == pytest.approx((1126.4e9, 1133 / 1126.4))


@pytest.mark.parametrize(
    ("cycle", "share", "like"),
    [
        (32, 0.75, None),
        (32, 0.478, "AVX2"),
        (32, 0.26, "AVX"),
        (32, 0.1, "SSE2"),
        (16, 0.656, None),
        (16, 0.5, "AVX"),
        (16, 0.24, "SSE2"),
        (8, 1.006, None),
        (8, 0.5, "SSE2"),
        (4, 0.2, None),
    ],
)
def test_the_rate_alone_says_which_older_instructions_give_as_much(cycle: int, share: float, like: str | None) -> None:
    """[gcp-h4d-hpl] 47.8 % on Turin with a program for Broadwell; Crux keeps 65.6 % of Rome's, and is not doubted."""
    here = case()
    assert here.platform is not None
    other = here.model_copy(update={"platform": here.platform.model_copy(update={"flops_per_cycle": cycle})})
    (found,) = linpack(measurements(R7425, [solved(R7425, share * 64 * 2.2e9 * cycle)]), other, ())
    assert found.like == like


def test_the_peak_under_load_tells_more_than_the_base_clock() -> None:
    """Cores that clock down under load do all they can."""
    assert [run(rate=600e9, peak_load=load).like for load in (None, 700e9)] == ["SSE2", None]


def test_arm_s_instructions_are_not_called_those_of_x86() -> None:
    """What narrower vectors give there is unknown here."""
    assert run(R7425.model_copy(update={"cpu": BASE.model_copy(update={"vendor": "ARM"})}), rate=300e9).like is None


def test_the_run_says_what_it_was() -> None:
    """Equations, blocks, grid, ranks, library."""
    found = run()
    assert (found.n, found.nb, found.grid, found.ranks, found.threads) == (86400, 192, "8 x 8", 64, 1)
    assert (found.program, found.blas, found.blas_core, found.blas_better) == ("hpl", "OpenBLAS", "Zen", None)


def test_the_share_of_the_memory() -> None:
    """Eight bytes for each of N times N, of the memory of all hosts."""
    assert run().memory_share == pytest.approx(8 * 86400**2 / memory())
    assert run(hosts=2).memory_share == pytest.approx(4 * 86400**2 / memory())
    assert run(n=None).memory_share is None


def test_threads_for_each_core() -> None:
    """A rank a core is one; as many ranks as hardware threads are two."""
    assert (run(SMT).per_core, run(SMT).cores) == (1, 64)
    assert run(SMT, ranks=128).per_core == 2


def test_part_of_the_cores_is_not_the_whole_machine() -> None:
    """Compared with publications are only runs on every core."""
    half = solved(R7425, 500e9, ranks=32).model_copy(update={"cpus": tuple(range(32))})
    (found,) = runs(half)
    assert (found.whole, found.cores, run().whole) == (False, 32, True)


def test_hosts_that_are_not_told_leave_the_cores_unknown() -> None:
    """128 ranks on 64 cores may be two hosts, or threads that share cores."""
    found = run(hosts=None, ranks=128)
    assert (found.cores, found.per_core, found.memory_share, found.whole) == (None, None, None, None)


def test_a_doubted_kernel_says_which_would_do() -> None:
    """The word to set is read off the doubt."""
    doubt = "OpenBLAS detected this processor as Prescott, but it has AVX-512: try OPENBLAS_CORETYPE=SkylakeX"
    found = run(blas_core="Prescott", blas_doubt=doubt)
    assert (found.blas_doubt, found.blas_better) == (doubt, "SkylakeX")


def test_a_doubt_with_more_in_it_is_no_command() -> None:
    """What a file puts after the word is not taken into a command."""
    assert run(blas_doubt="try OPENBLAS_CORETYPE=$(reboot)").blas_better is None


def test_one_run_tells_no_spread() -> None:
    """A long run stands for itself; three repeats tell how far apart they lie."""
    (one,), (three,) = runs(solved(R7425, 1e12, repeats=1)), runs(solved(R7425, 1e12, apart=0.02))
    assert (one.spread, one.repeats, three.spread) == pytest.approx((None, 1, 0.02))


def test_one_host_comes_before_several_and_the_machine_before_its_parts() -> None:
    """Facts of the machine are those of one host; several stand behind it, beside what one gives."""
    found = runs(solved(R7425, 4e12, hosts=4, n=2 * 86400), solved(R7425, 140e9, part="numa", ranks=8), solved(R7425, 1.1e12))
    assert [(one.part, one.hosts, one.of_one) for one in found] == [
        ("machine", 1, None),
        ("machine", 4, pytest.approx(4 / 4.4)),
        ("numa", 1, None),
    ]


def test_a_far_smaller_system_is_not_held_against_one_host() -> None:
    """It would be slower on any fabric."""
    found = runs(solved(R7425, 1.1e12), solved(R7425, 2e12, hosts=4))
    assert [one.of_one for one in found] == [None, None]


def test_refused_runs_stay_out() -> None:
    """A failed residual is no rate."""
    wrong = solved(R7425, 1.1e12).model_copy(update={"refused": "its residual test failed"})
    assert runs(wrong) == ()
    assert measured_facts(measurements(R7425, [wrong]), case()).hpl is None


def test_the_clock_is_that_of_the_widest_instructions() -> None:
    """DGEMM uses those."""
    clocks = (Clock(isa="scalar", hertz=3e9), Clock(isa="avx2", hertz=2.7e9))
    (found,) = runs(solved(R7425, 1e12), clocks=clocks)
    assert found.clock == clocks[1]


@pytest.mark.parametrize(
    ("slower", "wider"),
    tuple(pairwise(("scalar", "sse2", "neon", "sve", "avx", "avx2", "avx512"))),
)
def test_wider_instructions_count_before_narrower_ones(slower: str, wider: str) -> None:
    """Whatever the order in which they were measured."""
    clocks = (Clock(isa=slower, hertz=3e9), Clock(isa=wider, hertz=2.7e9))
    assert [runs(solved(R7425, 1e12), clocks=order)[0].clock for order in (clocks, clocks[::-1])] == [clocks[1]] * 2


@pytest.mark.parametrize("n", [LARGE // 2, LARGE])
def test_a_system_that_fills_the_memory_is_compared_with_the_article(n: int) -> None:
    """[000] gives 100.6 % of the peak at base clock; a small system is compared with nothing."""
    fills = 8 * n**2 >= 0.5 * memory()
    found = published(n=n, **PEAKS)
    assert ("dell-naples-2018 hpl of the machine" in found) == fills


def test_runs_that_were_done_well_elsewhere_ask_for_as_much_here() -> None:
    """Of four runs on two EPYC 7452 the best counts, with MKL; the one with another processor's kernels asks for nothing."""
    rome = NAPLES.model_copy(update={"model_name": "AMD EPYC 7452 32-Core Processor", "model": 49, "base_hz": 2_350_000_000})
    here = R7425.model_copy(update={"cpu": rome})
    found = published(here, 1500e9, n=LARGE)["easybuild-hpl-rome hpl of the machine"]
    assert (found.low, found.value, found.conditions) == (2419e9, 1500e9, "EPYC 7452, 2 sockets")


def test_what_is_published_names_its_conditions() -> None:
    """A share of the peak becomes a rate of these cores, and says so."""
    found = published(n=LARGE, **PEAKS)["dell-naples-2018 hpl of the machine"]
    assert found.low == pytest.approx(1.006 * 1126.4e9)
    assert found.conditions == "EPYC 7601, 2 sockets, 100.6 % of peak at base clock"


@pytest.mark.parametrize(
    "told",
    [{"hosts": 2}, {"hosts": None}],
    ids=["two hosts", "hosts not told"],
)
def test_runs_under_other_conditions_are_compared_with_nothing(told: dict[str, Any]) -> None:
    """One node is compared with one node."""
    assert published(**(PEAKS | {"n": LARGE} | told)) == {}


def test_a_virtual_machine_is_not_compared_with_a_server() -> None:
    """It has fewer cores to itself, and nobody knows whose power."""
    guest = R7425.model_copy(update={"environment": Environment(virtual="kvm")})
    assert published(guest, n=LARGE, **PEAKS) == {}


def test_nothing_measured_is_no_run() -> None:
    """Measurements of memory know nothing of HPL."""
    empty: Measurements = measurements(R7425, [])
    facts = measured_facts(empty, case())
    assert (facts.hpl, facts.hpl_runs, facts.published_hpl) == (None, (), ())
