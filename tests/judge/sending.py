"""Messages and HPL as a machine would give them: the legs that advisor measure plans for it, with values of a simple world."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from advisor.machine.machine import Machine
from advisor.measure.measurement import Measurements, Result
from advisor.measure.plan import NetworkRun, network_runs
from tests.measuring import one_run

ARTICLE = {"local": 12.3e9, "same-socket": 12.1e9, "other-socket": 6.8e9}
"""[000] Table 2: all cores of a NUMA node of two R7425 with EDR, by their distance from the adapter."""


@dataclass(frozen=True)
class Fabric:
    """What ranks reach through an adapter; bytes a second and seconds."""

    reach: dict[str, float] = field(default_factory=lambda: dict(ARTICLE))
    """All cores of a NUMA node."""
    everyone: float = 12.2e9
    latency: float = 1.1e-6
    each: float = 3e6
    """Messages a second of a pair beside the adapter; elsewhere they are as many fewer as bytes are."""
    line: float | None = 12.5e9
    limit: str = "100 Gbit/s (4X EDR)"
    apart: float = 0.01
    swings: float = 0.01
    """How far apart the repeats of latency lie."""
    hosts: tuple[str, ...] = ("n1", "n2")
    launcher: str = "openmpi4 4.1.4"
    idle: bool = True


def sent(machine: Machine, fabric: Fabric | None = None, hca: str = "mlx5_0") -> Measurements:
    """Return what two such machines measure between them through an adapter."""
    told = fabric or Fabric()
    found = (each for leg in network_runs((machine, machine), (hca,)) for each in _results(leg, told))
    return measurements(machine, found, idle=told.idle)


def measurements(machine: Machine, results: Iterable[Result], *, idle: bool | None = True) -> Measurements:
    """Return results as one run."""
    return one_run(results, machine, idle=idle, busy=() if idle else ("user alice runs xhpl on 32 CPUs",))


def spread(value: float, apart: float, repeats: int = 5) -> tuple[float, ...]:
    """Return repeats around a value, whose middle half lies so far apart."""
    return tuple(value * (1 + apart * (at - repeats // 2) / 2) for at in range(repeats))


def _results(leg: NetworkRun, told: Fabric) -> Iterator[Result]:
    pairs = leg.ranks or 16
    rate = told.everyone if leg.part == "machine" else told.reach[leg.distance]
    messages = pairs * told.each * rate / told.reach["local"]
    if leg.purpose == "network-pair":
        yield _result(leg, told, "latency", 8, told.latency * (1 if leg.distance == "local" else 1.3))
        yield _result(leg, told, "bibw", 1 << 20, 2 * rate)
    yield _result(leg, told, "mbw_mr", 8, 8 * messages, messages=messages)
    yield _result(leg, told, "mbw_mr", 1 << 20, rate)


def _result(leg: NetworkRun, told: Fabric, variant: str, size: int, value: float, **more: float) -> Result:
    task = leg.task("8,1048576", 5, tuple(leg.cpus or (0,)))
    slow = variant == "latency"
    details = {
        "hca": leg.hca, "hca_distance": leg.distance, "hosts_named": ",".join(told.hosts), "launcher": told.launcher,
        "across": leg.ranks or 16, "pairs": leg.ranks or 16, "line": told.limit, **more,
    }  # fmt: skip
    ceiling = None if slow or told.line is None else told.line * (2 if variant == "bibw" else 1)
    return Result.model_validate(
        {
            "task": task.name, "kernel": task.kernel, "purpose": task.purpose, "variant": variant, "part": task.part,
            "index": task.index, "cpus": task.cpus, "unit": "seconds" if slow else "bytes/s", "bytes": size, "ceiling": ceiling,
            "values": spread(value, told.swings if slow else told.apart), "details": {k: v for k, v in details.items() if v},
        }
    )  # fmt: skip


def solved(
    machine: Machine,
    rate: float,
    *,
    part: str = "machine",
    repeats: int = 3,
    apart: float = 0.01,
    hosts: int | None = 1,
    **told: object,
) -> Result:
    """Return a run of HPL on all cores of so many hosts; what else it told by name."""
    topology = machine.topology
    assert topology is not None
    ranks = len(topology.cores) * (hosts or 1)
    details = {
        "n": 86400, "nb": 192, "p": 8, "q": 8, "ranks": ranks, "threads": 1, "hosts": hosts, "program": "hpl",
        "blas": "OpenBLAS", "blas_core": "Zen", **told,
    }  # fmt: skip
    cpus = tuple(topology.pus)
    return Result.model_validate(
        {
            "task": f"hpl/hpl/{part}/lu-{hosts}-{rate:g}", "kernel": "hpl", "purpose": "hpl", "variant": "lu", "part": part,
            "index": None if part == "machine" else 0, "cpus": cpus, "unit": "flop/s", "values": spread(rate, apart, repeats),
            "details": {k: v for k, v in details.items() if v is not None},
        }
    )  # fmt: skip
