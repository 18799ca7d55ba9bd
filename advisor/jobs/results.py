"""What runs of HPL and of the network's kernel printed, as measurements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

from advisor.errors import BadInput
from advisor.jobs.observe import PlannedRank, same_host
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu, Hca, Port
from advisor.machine.machine import Machine
from advisor.measure.contract import object_of, results_of
from advisor.measure.measurement import HPL_CHECK, HPL_ROW, Result, Task
from advisor.measure.plan import NetworkRun, home_of

_CODED = {"SDR": 8 / 10, "DDR": 8 / 10, "QDR": 8 / 10, "FDR": 64 / 66}
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
    coded = "" if share == 1 else f", {share:.0%} of that is data"
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
    return f"{speed / 1e9:g} GT/s x{width}" if speed and width else "the link's current speed"


_ABOVE = 1.02
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
    return tuple(_network_result(leg, task, seat, line) for line in lines if line.strip())


def _network_result(leg: NetworkRun, task: Task, seat: RankPlan, line: bytes) -> Result:
    everywhere = task.but(cpus=tuple(seat.machine.topology.pus) if seat.machine.topology else task.cpus)
    (found,) = results_of(everywhere, [line])
    data = object_of(task, line)
    across = found.details.get("across", 0)
    limit = line_rate(seat.machine, leg.hca) if leg.hca and across and seat.asked else None
    ceiling = _ceiling(limit, found)
    why = misplaced(data.get("places"), seat.planned)
    if why is None and ceiling is not None and found.median > ceiling * _ABOVE:
        why = f"instrument error: {found.median / ceiling:.2f} times what the link can carry"
    update = {
        "part": leg.part,
        "index": leg.index,
        "cpus": task.cpus,
        "details": {**{k: v for k, v in found.details.items() if k != "per_pair"}, **_told(leg, seat, data, limit)},
        "ceiling": ceiling,
        "refused": why,
    }
    return found.but(**update)


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
        "way": "chosen by the MPI library" if leg.hca and not seat.asked else "",
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
        return f"{told} ranks reported their placement, but the plan has {len(planned)}"
    names: dict[str, str] = {}
    for place, host, listed in zip(planned, hosts, cpus, strict=True):
        wanted = place.host or ""
        if not _is_on(wanted, str(host), names, planned):
            return f"rank {place.rank} was on {str(host)[:60]}, but the plan has {wanted or 'another host'}"
        if not _are(place.cpus, str(listed)):
            return f"rank {place.rank} was on CPUs {str(listed)[:40] or 'unknown'}, but the plan has {place.cpus}"
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


KERNEL = "hpl"
BLOCKS = (128, 192, 256)
"""What guides and vendors' HPL.dat use: 192 and 232 or 384 of large nodes; --nb takes any."""
QUICK_SECONDS = 14.0
SEARCH_SECONDS = 2.5
FULL_SHARE = 0.85
QUICK_SHARE = 0.5
"""Of the free memory, at most."""
_SMALLEST = 1000
_EXPECTED = 0.75
"""Of what dgemm gives, with which the time is estimated."""
_MODERN = {
    "avx512f": ("SkylakeX", {"skylakex", "cooperlake", "sapphirerapids", "zen4", "zen5"}),
    "avx2": ("Haswell", {"haswell", "zen", "skylakex", "cooperlake", "sapphirerapids", "zen4", "zen5", "excavator"}),
}
"""OpenBLAS's kernels that use these instructions, and the one to ask for."""


@dataclass(frozen=True)
class Size:
    """One run: equations, columns of a block, and the grid."""

    n: int
    nb: int
    p: int
    q: int

    @property
    def arguments(self) -> tuple[str, ...]:
        """As our own kernel takes them."""
        return ("--n", str(self.n), "--nb", str(self.nb), "--p", str(self.p), "--q", str(self.q))

    @property
    def work(self) -> float:
        """Floating-point operations, as HPL counts them."""
        return 2 / 3 * self.n**3 + 1.5 * self.n**2


def grid(ranks: int) -> tuple[int, int]:
    """Return the squarest P x Q with P <= Q.

    >>> grid(64), grid(48), grid(7)
    ((8, 8), (6, 8), (1, 7))
    """
    p = next(p for p in range(isqrt(ranks), 0, -1) if ranks % p == 0)
    return p, ranks // p


def for_memory(free: float, share: float, nb: int) -> int:
    """Return the largest N whose matrix takes a share of the free memory, in whole blocks."""
    return max(nb, isqrt(int(free * share / 8)) // nb * nb)


def for_time(rate: float, seconds: float, nb: int) -> int:
    """Return the N that takes so long at the rate that dgemm gives."""
    n = (1.5 * rate * _EXPECTED * seconds) ** (1 / 3)
    return max(nb, _SMALLEST, int(n) // nb * nb)


def steps_to(hosts: int) -> tuple[int, ...]:
    """Return how many hosts each row of a scaling table has: doubled from one on, and all of them.

    >>> steps_to(1), steps_to(4), steps_to(6)
    ((1,), (1, 2, 4), (1, 2, 4, 6))
    """
    doubled = [1 << at for at in range(hosts.bit_length()) if 1 << at < hosts]
    return (*doubled, hosts)


def grown(n: int, times: float, nb: int) -> int:
    """Return N for so many times the memory: each host keeps its share of the matrix, in whole blocks.

    >>> grown(10000, 4, 100), grown(10000, 2, 100)
    (20000, 14100)
    """
    return max(nb, int(n * times**0.5 + 1e-6) // nb * nb)


def hpl_dat(size: Size, ahead: int = 1) -> str:
    """Return the input of netlib's, AMD's and Intel's HPL for one run: panels ahead, rings that send to the next first."""
    lines = (
        ("HPLinpack benchmark input file", ""),
        ("written by advisor measure hpl", ""),
        ("HPL.out", "output file name (if any)"),
        ("6", "device out (6=stdout,7=stderr,file)"),
        ("1", "# of problems sizes (N)"),
        (str(size.n), "Ns"),
        ("1", "# of NBs"),
        (str(size.nb), "NBs"),
        ("0", "PMAP process mapping (0=Row-,1=Column-major)"),
        ("1", "# of process grids (P x Q)"),
        (str(size.p), "Ps"),
        (str(size.q), "Qs"),
        ("16.0", "threshold"),
        ("1", "# of panel fact"),
        ("2", "PFACTs (0=left, 1=Crout, 2=Right)"),
        ("1", "# of recursive stopping criterium"),
        ("4", "NBMINs (>= 1)"),
        ("1", "# of panels in recursion"),
        ("2", "NDIVs"),
        ("1", "# of recursive panel fact."),
        ("2", "RFACTs (0=left, 1=Crout, 2=Right)"),
        ("1", "# of broadcast"),
        ("1", "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)"),
        ("1", "# of lookahead depth"),
        (str(ahead), "DEPTHs (>=0)"),
        ("2", "SWAP (0=bin-exch,1=long,2=mix)"),
        ("64", "swapping threshold"),
        ("0", "L1 in (0=transposed,1=no-transposed) form"),
        ("0", "U  in (0=transposed,1=no-transposed) form"),
        ("1", "Equilibration (0=no,1=yes)"),
        ("8", "memory alignment in double (> 0)"),
    )
    return "".join(f"{value:12} {about}".rstrip() + "\n" for value, about in lines)


def read_xhpl(task: Task, text: str) -> Result:
    """Return what an HPL of somebody else's printed: its rate and whether its result was right."""
    row, check = HPL_ROW.search(text), HPL_CHECK.search(text)
    if row is None:
        raise BadInput("xhpl printed no result", cure="run the line from --dry-run by hand to see its errors")
    rate = _positive(row["gflops"]) * 1e9
    refused = (
        None
        if check and check["verdict"] == "PASSED"
        else "its residual test failed"
        if check
        else "it did not check the residual"
    )
    details: dict[str, float | int | str | bool] = {name: int(row[name]) for name in ("n", "nb", "p", "q")}
    return _result(task, rate, details, refused)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e12:
        raise BadInput(f"xhpl printed {text[:20]} instead of a rate", cure="try another build with --xhpl PATH")
    return value


def _result(task: Task, rate: float, details: dict[str, float | int | str | bool], refused: str | None) -> Result:
    return Result(
        task=task.name,
        kernel=KERNEL,
        purpose="hpl",
        variant="xhpl",
        part=task.part,
        index=task.index,
        cpus=task.cpus,
        unit="flop/s",
        values=(rate,),
        details=details,
        refused=refused,
    )


def read_own(task: Task, lines: Iterable[bytes], planned: Sequence[PlannedRank], everywhere: Iterable[int]) -> Result | None:
    """Return what our kernel said, refused where a rank was elsewhere than planned; None where it said nothing."""
    wide = task.but(cpus=tuple(everywhere))
    for line in lines:
        (found,) = results_of(wide, [line])
        why = misplaced(object_of(task, line).get("places"), planned)
        update = {"part": task.part, "index": task.index, "cpus": task.cpus, "refused": why}
        return found.but(**update)
    return None


def blas_doubt(core: str, cpu: Cpu | None) -> str | None:
    """Return that OpenBLAS chose a kernel without the widest instructions of this processor; None where it did not."""
    flags = set(cpu.flags or ()) if cpu else set()
    for flag, (better, good) in _MODERN.items():
        if flag in flags and core:
            if core.lower() in good:
                return None
            wide = "AVX-512" if flag == "avx512f" else "AVX2"
            return f"OpenBLAS detected this processor as {core}, but it has {wide}: try OPENBLAS_CORETYPE={better}"
    return None
