"""What the rules say of a whole machine that measured messages and HPL: that of article [000], well and sick."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from advisor.advice.judgement import judged
from advisor.advice.model.findings import Finding
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import IdleState
from advisor.machine.machine import Machine
from advisor.measure.measurement import Result
from tests.judge.measuring import World, measured
from tests.judge.sending import ARTICLE, Fabric, measurements, sent, solved
from tests.machines.read import machine

PEAKS: dict[str, Any] = {"peak_base": 1126.4e9, "peak_load": 1380e9, "dgemm_all": 1240e9}
FULL = 160_000
"""Equations that fill three quarters of its 256 GiB."""
DOUBT = "OpenBLAS detected this processor as Prescott, but it has AVX2: try OPENBLAS_CORETYPE=Haswell"
TOPICS = ("messages", "hpl")


@pytest.fixture(scope="session")
def naples() -> Machine:
    """Return the R7425 of the article: EPYC 7601, eight NUMA nodes, ConnectX-5 EDR at node 6."""
    return machine("a-r7425-2x7601-dell")


def ids(findings: Iterable[Finding], verdict: str = "finding") -> list[str]:
    """Return the rules on messages and HPL that came to a verdict, each once."""
    return list(dict.fromkeys(each.id for each in findings if each.topic in TOPICS and each.verdict == verdict))


def of_messages(machine: Machine, fabric: Fabric) -> tuple[Finding, ...]:
    """Return every verdict on a machine that measured messages."""
    return judged(machine, measurements=sent(machine, fabric)).audit.findings


def of_hpl(machine: Machine, *runs: Result, idle: bool = True) -> tuple[Finding, ...]:
    """Return every verdict on a machine that measured HPL."""
    return judged(machine, "hpl", measurements=measurements(machine, runs, idle=idle)).audit.findings


def test_messages_as_the_article_measured_them_cost_what_it_says(naples: Machine) -> None:
    """Nothing is wrong; what the far socket loses is told with this machine's own figures."""
    found = of_messages(naples, Fabric())
    (one,) = (each for each in found if each.id == "messages-far-socket" and each.verdict == "finding")
    assert ids(found) == ["messages-far-socket"]
    assert one.claim == "ranks on the other socket reach 6.8 GB/s through mlx5_0, ranks near the adapter 12.3 GB/s: 45 % less"
    assert one.cost
    assert one.cost.gain == pytest.approx(0.447, abs=0.001)
    assert one.cost.basis == "measured"


@pytest.mark.parametrize(
    ("fabric", "expected"),
    [
        (
            Fabric(reach={**ARTICLE, "other-socket": 4e9}),
            ["messages-far-slow", "messages-far-socket", "messages-below-published"],
        ),
        (
            Fabric(reach={"local": 3e9, "same-socket": 3e9, "other-socket": 2.9e9}, latency=14e-6),
            ["messages-below-line", "messages-below-published", "messages-latency-above-published"],
        ),
        (Fabric(each=0.3e6, everyone=12.3e9), ["messages-rate-low", "messages-far-socket"]),
        (Fabric(everyone=5e9), ["messages-far-socket", "messages-socket-shares"]),
        (Fabric(apart=0.4), []),
        (Fabric(idle=False), []),
    ],
    ids=["slow links", "TCP", "few messages", "all cores", "noisy", "busy"],
)
def test_a_sick_fabric_is_found(naples: Machine, fabric: Fabric, expected: list[str]) -> None:
    """Each fault by its own rule; what is noisy, or measured beside others, is not judged."""
    assert ids(of_messages(naples, fabric)) == expected


def test_latency_that_swings_is_told_where_cores_are_known_to_sleep(naples: Machine) -> None:
    """Idle states are a trade-off, so it is said for information; where nobody read them, it is not known."""
    assert naples.cpu
    deep = (IdleState(name="C1", latency=1, disabled=CpuSet()), IdleState(name="C2", latency=400, disabled=CpuSet()))
    sleepy = naples.model_copy(update={"cpu": naples.cpu.model_copy(update={"idle_states": deep})})
    unread = naples.model_copy(update={"cpu": naples.cpu.model_copy(update={"idle_states": None})})
    verdicts = [_of(of_messages(one, Fabric(swings=0.4)), "messages-latency-cstates").verdict for one in (sleepy, unread)]
    assert (verdicts, _of(of_messages(sleepy, Fabric()), "messages-latency-cstates").verdict) == (["finding", "unknown"], "pass")


def _of(found: Iterable[Finding], name: str) -> Finding:
    return next(each for each in found if each.id == name)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ((1133e9, {"n": FULL, **PEAKS}), ["hpl-above-base"]),
        ((700e9, {"n": FULL, **PEAKS}), ["hpl-below-dgemm"]),
        ((900e9, {**PEAKS}), ["hpl-n-small"]),
        ((300e9, {"n": FULL, **PEAKS, "dgemm_all": 350e9, "blas_core": "Prescott", "blas_doubt": DOUBT}),
         ["hpl-blas-kernel"]),
        ((600e9, {"n": FULL, **PEAKS, "dgemm_all": 700e9}), ["hpl-dgemm-low"]),
        ((1133e9, {"n": FULL, "apart": 0.12, **PEAKS}), ["hpl-runs-differ", "hpl-above-base"]),
        ((1133e9, {"n": FULL, "ranks": 128, **PEAKS}), ["hpl-shares-cores", "hpl-above-base"]),
    ],
    ids=["the article", "slow", "small", "wrong kernel", "weak library", "runs differ", "two ranks a core"],
)  # fmt: skip
def test_hpl_tells_why(naples: Machine, runs: tuple[float, dict[str, Any]], expected: list[str]) -> None:
    """As the article measured it only the turbo is explained; each fault has its own rule, and far too slow is one of its own."""
    rate, more = runs
    found = of_hpl(naples, solved(naples, rate, **more))
    assert ids(found) == expected
    assert (_of(found, "measured-far-below-published").verdict == "finding") == (rate < 0.7 * 1133e9)


def test_several_hosts_that_lose_are_found(naples: Machine) -> None:
    """Four hosts that give half of what one does."""
    one, four = solved(naples, 1100e9, n=FULL), solved(naples, 2200e9, n=2 * FULL, hosts=4)
    (found,) = (each for each in of_hpl(naples, one, four) if each.id == "hpl-hosts-lose" and each.verdict == "finding")
    assert (found.subject, found.claim) == ("4 hosts", "per host, HPL on 4 hosts reaches 50 % of the rate of a single host")


def test_one_long_run_is_judged_without_repeats(naples: Machine) -> None:
    """It has no spread, and is its own average."""
    assert "hpl-below-published" in ids(of_hpl(naples, solved(naples, 860e9, n=FULL, repeats=1, **PEAKS)))


def test_a_busy_machine_is_not_judged_by_its_rate(naples: Machine) -> None:
    """The wrong kernel is one on a busy machine, too; a low rate is not."""
    told: dict[str, Any] = {"n": FULL, **PEAKS, "blas_core": "Prescott", "blas_doubt": DOUBT}
    assert ids(of_hpl(naples, solved(naples, 300e9, **told), idle=False)) == ["hpl-blas-kernel"]


def test_the_fix_names_the_kernel(naples: Machine) -> None:
    """The line to paste has this processor's word in it."""
    told: dict[str, Any] = {"n": FULL, **PEAKS, "blas_core": "Prescott", "blas_doubt": DOUBT}
    (found,) = (each for each in of_hpl(naples, solved(naples, 300e9, **told)) if each.id == "hpl-blas-kernel")
    assert "export OPENBLAS_CORETYPE=Haswell in jobs" in " ".join(line for fix in found.fix for line in (fix.text or "",))


def test_a_machine_that_measured_memory_lacks_nothing_of_messages_and_hpl(naples: Machine) -> None:
    """The quick set has none of both: their rules do not apply, and nobody is told to measure again."""
    found = judged(naples, "hpl", measurements=measured(naples, World())).audit.findings
    assert Counter(each.verdict for each in found if each.topic in TOPICS)["unknown"] == 0


def test_without_measurements_each_topic_waits_for_its_experiment(naples: Machine) -> None:
    """All rules on messages wait for one experiment, all on HPL for another, and none for the quick set."""
    asked = [each for each in judged(naples).audit.findings if each.topic in TOPICS and each.verdict != "not-applicable"]
    assert {each.verdict for each in asked} == {"unknown"}
    assert {(each.topic, lack.fact) for each in asked for lack in each.lacks} == {
        ("messages", "measured.adapters"),
        ("hpl", "measured.hpl"),
    }
