"""Published messages are compared only where adapter, rate and every condition are those of this machine."""

import pytest

from advisor.advice.judge.case import case_of
from advisor.advice.judge.measured import measured_facts
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import IdleState, Port
from advisor.machine.machine import Environment, Machine
from advisor.machine.partitioning import infer_layout
from advisor.measure.measured_facts import Compared
from advisor.measure.platform import match_platform
from tests.judge.sending import Fabric, sent
from tests.judge.test_messages import CARD, EDR, R7425

REAL = R7425.model_copy(update={"environment": Environment(virtual="none")})
DEEP = IdleState(name="C2", latency=400, disabled=CpuSet())


def facts(machine: Machine, fabric: Fabric | None = None) -> tuple[tuple[Compared, ...], tuple[Compared, ...]]:
    """Return published bandwidths and latencies."""
    found = measured_facts(sent(machine, fabric), case_of(machine, infer_layout(machine), match_platform(machine)))
    return found.published_network, found.published_network_latency


def bandwidths(machine: Machine = REAL, fabric: Fabric | None = None) -> dict[str, tuple[float, float | None]]:
    """Return what was measured and what was published, by name."""
    return {one.name: (one.value, one.low) for one in facts(machine, fabric)[0]}


def latencies(machine: Machine = REAL, fabric: Fabric | None = None) -> list[float]:
    """Return what was published of latency."""
    return sorted(one.high or 0 for one in facts(machine, fabric)[1])


def with_port(**changes: object) -> Machine:
    """Return the server with another port in its adapter."""
    port = EDR.model_copy(update=changes)
    return REAL.model_copy(update={"hcas": (CARD.model_copy(update={"ports": (port,)}),)})


def test_the_tables_of_the_article() -> None:
    """One rank, both ways, and all cores of NUMA nodes near and far: each beside its own figure."""
    assert bandwidths() == {
        "osu-bw through mlx5_0, one rank near the adapter": (12.3e9, 12.4e9),
        "osu-bibw through mlx5_0, one rank near the adapter, both ways": (24.6e9, 24.7e9),
        "osu-mbw-mr through mlx5_0, its NUMA node": (12.3e9, 12.3e9),
        "osu-mbw-mr through mlx5_0, other NUMA nodes of its socket": (12.1e9, 12.2e9),
        "osu-mbw-mr through mlx5_0, nodes of the far socket": (6.8e9, 6.9e9),
    }


def test_a_comparison_names_the_fabric() -> None:
    """Who reads it sees what both have in common."""
    assert {one.conditions for one in facts(REAL)[0]} == {"EPYC 7601, ConnectX-5 EDR"}


def test_latency_is_compared_under_open_mpi() -> None:
    """The article's Open MPI with UCX; that with C-states on only where cores are known to sleep."""
    assert latencies() == [1.10e-6]
    assert REAL.cpu
    sleepy = REAL.model_copy(update={"cpu": REAL.cpu.model_copy(update={"idle_states": (DEEP,)})})
    assert latencies(sleepy) == [1.07e-6, 1.10e-6]


def test_latencies_go_by_the_benchmark_and_its_ranks() -> None:
    """A reader sees which figure of which benchmark it is."""
    assert {one.name for one in facts(REAL)[1]} == {"osu-latency through mlx5_0, one rank near the adapter"}


def test_another_mpi_is_not_held_against_open_mpi() -> None:
    """MPICH has other latencies."""
    assert latencies(fabric=Fabric(launcher="hydra 4.0.2")) == []


@pytest.mark.parametrize(
    "machine",
    [
        with_port(rate=56_000_000_000),
        with_port(state="down"),
        with_port(link_layer="ethernet"),
        REAL.model_copy(update={"hcas": (CARD.model_copy(update={"kind": "MT4123"}),)}),
        REAL.model_copy(update={"hcas": (CARD.model_copy(update={"kind": "rxe"}),)}),
        REAL.model_copy(update={"hcas": (CARD.model_copy(update={"ports": (EDR, Port(number=2, state="active"))}),)}),
        REAL.model_copy(update={"environment": Environment(virtual="kvm")}),
        REAL.model_copy(update={"environment": None}),
    ],
    ids=["slower port", "port down", "Ethernet", "other card", "no card", "two ports", "virtual machine", "perhaps virtual"],
)
def test_another_fabric_is_compared_with_nothing(machine: Machine) -> None:
    """What is not known to be alike is not compared."""
    assert facts(machine) == ((), ())


def test_another_processor_is_compared_with_nothing() -> None:
    """The figures are those of an EPYC 7601."""
    assert REAL.cpu
    other = REAL.model_copy(update={"cpu": REAL.cpu.model_copy(update={"model_name": "AMD EPYC 7351 16-Core Processor"})})
    assert facts(other) == ((), ())
