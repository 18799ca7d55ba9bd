"""What is believed of the lines that mbw_mr prints: where its ranks really were, and the line rate of the adapter."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from advisor.errors import BadInput
from advisor.jobs.observed_binding import PlannedRank, same_host
from advisor.machine.cpuset import CpuSet
from advisor.machine.devices import Hca, Port
from advisor.machine.machine import Machine
from advisor.measure.contract import object_of, results_of
from advisor.measure.measurement import Result, Task
from advisor.measure.plan import NetworkRun, home_of

_CODED: Final = {"SDR": 8 / 10, "DDR": 8 / 10, "QDR": 8 / 10, "FDR": 64 / 66}
"""Share of the rate in sysfs that is data: the kernel counts these before line coding, FDR10, EDR and later after it."""


@dataclass(frozen=True)
class LineRate:
    """The most bytes a second one way, and what says so."""

    rate: float
    why: str


def line_rate(machine: Machine, hca: str) -> LineRate | None:
    """Return how fast an adapter can be one way; None where neither its port's rate nor its PCIe path is known."""
    found = next((each for each in machine.hcas or () if each.name == hca), None)
    limits = [limit for limit in (_of_port(found), _of_path(machine, found)) if limit is not None] if found else []
    return min(limits, key=lambda limit: limit.rate, default=None)


def _of_port(hca: Hca) -> LineRate | None:
    known = [port for port in hca.ports or () if port.rate]
    port = next((each for each in known if each.state == "active"), known[0] if known else None)
    if port is None or port.rate is None:
        return None
    speed = f"{port.rate / 1e9:g} Gbit/s{f' ({port.rate_name})' if port.rate_name else ''}"
    share = _share(port)
    coded = "" if share == 1 else f", {share:.0%} of it data"
    return LineRate(port.rate / 8 * share, f"{speed}{coded}")


def _share(port: Port) -> float:
    if port.link_layer == "ethernet":
        return 1.0
    return _CODED.get((port.rate_name or "").split()[-1:][0] if port.rate_name else "", 1.0)


def _of_path(machine: Machine, hca: Hca) -> LineRate | None:
    device = next((each for each in machine.pci or () if hca.address and each.address == hca.address), None)
    if device is None or device.link is None or not device.link.bandwidth:
        return None
    return LineRate(float(device.link.bandwidth), f"PCIe, {_spelled(device.link.speed, device.link.width)}")


def _spelled(speed: float | None, width: int | None) -> str:
    return f"{speed / 1e9:g} GT/s x{width}" if speed and width else "the link as it runs"


_ABOVE: Final = 1.02
"""Of the line: a timer ticks."""


@dataclass(frozen=True)
class RankPlan:
    """How a leg was started: the hosts, and where each rank was to be."""

    hosts: tuple[str, ...]
    planned: tuple[PlannedRank, ...]
    machine: Machine
    launcher: str
    asked: bool = True
    """Whether the MPI was given the adapter; else what its line carries says nothing."""


def read_network(leg: NetworkRun, task: Task, seat: RankPlan, lines: Iterable[bytes]) -> tuple[Result, ...]:
    """Return what the kernel said; refused where ranks were elsewhere than planned, or above what the line carries."""
    return tuple(_result(leg, task, seat, line) for line in lines if line.strip())


def _result(leg: NetworkRun, task: Task, seat: RankPlan, line: bytes) -> Result:
    everywhere = task.model_copy(update={"cpus": tuple(seat.machine.topology.pus) if seat.machine.topology else task.cpus})
    (found,) = results_of(everywhere, [line])
    data = object_of(task, line)
    across = found.details.get("across", 0)
    limit = line_rate(seat.machine, leg.hca) if leg.hca and across and seat.asked else None
    ceiling = _ceiling(limit, found)
    why = misplaced(data.get("places"), seat.planned)
    if why is None and ceiling is not None and found.median > ceiling * _ABOVE:
        why = f"instrument error: {found.median / ceiling:.2f} of what the line carries"
    update = {
        "part": leg.part,
        "index": leg.index,
        "cpus": task.cpus,
        "details": {**{k: v for k, v in found.details.items() if k != "per_pair"}, **_told(leg, seat, data, limit)},
        "ceiling": ceiling,
        "refused": why,
    }
    return found.model_copy(update=update)


def _ceiling(limit: LineRate | None, found: Result) -> float | None:
    return None if limit is None or found.unit != "bytes/s" else limit.rate * (2 if found.variant in ("bibw", "sendrecv") else 1)


def _told(
    leg: NetworkRun, seat: RankPlan, data: Mapping[str, Any], limit: LineRate | None
) -> dict[str, float | int | str | bool]:
    pairs = [each for each in data.get("per_pair") or () if isinstance(each, int | float)]
    told: dict[str, float | int | str | bool] = {
        "hosts_named": ",".join(seat.hosts),
        "launcher": seat.launcher,
        "hca": leg.hca or "",
        "hca_distance": leg.distance,
        "hca_nodes": ",".join(map(str, home_of(seat.machine, leg.hca).numa_nodes)),
        "way": "left to the MPI" if leg.hca and not seat.asked else "",
        "line": limit.why if limit else "",
        "slowest_pair": min(pairs, default=0.0),
        "fastest_pair": max(pairs, default=0.0),
    }
    return {name: value for name, value in told.items() if value not in {"", 0.0}}


def misplaced(places: Any, planned: Sequence[PlannedRank]) -> str | None:
    """Return in words the first rank that was not where it was to be; None where all were."""
    hosts, cpus = (places.get(name) if isinstance(places, dict) else None for name in ("host", "cpus"))
    if not isinstance(hosts, list) or not isinstance(cpus, list) or not len(hosts) == len(cpus) == len(planned):
        told = len(hosts) if isinstance(hosts, list) else "no"
        return f"{told} ranks said where they were, and the plan has {len(planned)}"
    names: dict[str, str] = {}
    for place, host, listed in zip(planned, hosts, cpus, strict=True):
        wanted = place.host or ""
        if not _is_on(wanted, str(host), names, planned):
            return f"rank {place.rank} was on {str(host)[:60]}, the plan has {wanted or 'another host'}"
        if not _are(place.cpus, str(listed)):
            return f"rank {place.rank} was on CPUs {str(listed)[:40] or 'not known'}, the plan has {place.cpus}"
    return None


def _is_on(wanted: str, host: str, names: dict[str, str], planned: Sequence[PlannedRank]) -> bool:
    """Return whether a host is the planned one: by its name, or by standing for it alone where it is called otherwise."""
    if host in names:
        return names[host] == wanted
    if not same_host(wanted or None, host):
        others = {place.host for place in planned} - {wanted}
        if wanted in names.values() or any(same_host(other, host) for other in others if other):
            return False
    names[host] = wanted
    return list(names.values()).count(wanted) == 1


def _are(cpus: CpuSet, listed: str) -> bool:
    """Return whether a rank's list is that of its plan; of a list that the kernel cut short, as far as it goes."""
    if listed.endswith(",..."):
        return str(cpus).startswith(listed.removesuffix("..."))
    try:
        return CpuSet.parse(listed) == cpus
    except BadInput:
        return False
