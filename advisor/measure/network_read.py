"""What is believed of the lines that mbw_mr prints: where its ranks really were, and what the line can carry at most."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from advisor.errors import BadInput
from advisor.measure.line_rate import LineRate, line_rate
from advisor.measure.network import Leg, home_of
from advisor.measure.read import object_of, results_of
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.machine import Machine
from advisor.model.measurement import Result, Task
from advisor.model.observed_binding import PlannedRank, same_host

_ABOVE: Final = 1.02
"""Of the line: a timer ticks."""


@dataclass(frozen=True)
class Seat:
    """How a leg was started: the hosts, and where each rank was to be."""

    hosts: tuple[str, ...]
    planned: tuple[PlannedRank, ...]
    machine: Machine
    launcher: str
    asked: bool = True
    """Whether the MPI was told the adapter; else what its line carries says nothing."""


def read(leg: Leg, task: Task, seat: Seat, lines: Iterable[bytes]) -> tuple[Result, ...]:
    """Return what the kernel said; refused where ranks were elsewhere than planned, or above what the line carries."""
    return tuple(_result(leg, task, seat, line) for line in lines if line.strip())


def _result(leg: Leg, task: Task, seat: Seat, line: bytes) -> Result:
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


def _told(leg: Leg, seat: Seat, data: Mapping[str, Any], limit: LineRate | None) -> dict[str, float | int | str | bool]:
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
