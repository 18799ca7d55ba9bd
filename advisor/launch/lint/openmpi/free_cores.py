"""The free cores of a host as Open MPI 5's mapper counts them down, and what each rank is bound to."""

from advisor.errors import BadValue
from advisor.launch.lint.openmpi.mapper import Host, NodeParts, Proc, default_level
from advisor.launch.lint.outcome import OBJECTS, Refused, Unclear, bounded
from advisor.launch.lint.request import Request
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology

DEPTH = {"none": 0} | {kind: depth for depth, kind in enumerate(reversed(OBJECTS), 1)}
"""How deep in a machine things are: ranks are not bound to what lies above that which they are spread over."""


class Full(Exception):  # noqa: N818 - no error: the host takes no more
    """A host takes no more ranks."""


class FreeHost:
    """A host and the cores that are left on it."""

    def __init__(self, host: Host, free: CpuSet) -> None:
        self.host, self.free, self.at_first = host, free, free
        self.offer = host.slots
        """The slots that were free before the program that is placed."""


def open_cores(want: Request, topology: Topology) -> CpuSet:
    """Return the CPUs that ranks may have on each host: all, or the cores that hwloc_default_cpu_list names."""
    known = logical_numbering(topology)
    everything, listed = CpuSet(known.pus), want.parameters.get("hwloc_default_cpu_list")
    if not listed:
        return everything
    threads = want.hwthreads or "hwthread" in (want.bind, want.level)
    if want.overload or want.level == "pe-list" or (threads and any(len(core) > 1 for core in known.cores)):
        raise Unclear("hwloc_default_cpu_list beside such directives is not worked out here")
    try:
        numbers = CpuSet.parse(listed)
    except BadValue as error:
        raise Unclear(f"hwloc_default_cpu_list={listed[:40]} is no list of cores") from error
    return union(known.cores[number] for number in numbers if number < len(known.cores))


def _counted(want: Request, ground: NodeParts, hosts: int, slots: int) -> int:
    """Return the number of ranks of a line that does not say it."""
    if want.ppr and want.ppr[1] == "device":
        raise Unclear("how many ranks ppr:N:device= starts without -np is not worked out here")
    if want.ppr:
        return want.ppr[0] * (1 if want.ppr[1] == "node" else len(ground.parts(want.ppr[1]))) * hosts
    if (want.pe or 1) > 1:
        return max(1, min(slots, hosts * (len(ground.units) // (want.pe or 1))))
    return slots


class Free:
    """What a program of a line wants, and the hosts with the cores that those before it left."""

    def __init__(self, want: Request, topology: Topology, seats: list[FreeHost], whole: int, *, newer: bool) -> None:
        self.want, self.seats, self.newer = want, seats, newer
        self.ground = NodeParts(topology, threads=want.hwthreads or want.level == "hwthread")
        self.width = want.pe or 1
        for seat in seats:
            seat.offer = max(0, seat.host.free)
        self.slots = sum(seat.offer for seat in seats)
        self.total = bounded(want.ranks or _counted(want, self.ground, len(seats), self.slots), len(self.ground.known.cores))
        self.few = max(whole, self.total) <= 2
        self.level = want.level or default_level(want, five=True, few=self.few)
        self.ppr = want.ppr if self.level == "ppr" else None
        if self.ppr:
            self.level = self.ppr[1]
        self.bound, self.given = self._target()
        self._refuse()
        self.mapped: list[FreeHost] = []
        self.used: set[FreeHost] = set()
        self.left = 0

    def _target(self) -> tuple[str, bool]:
        want = self.want
        unit = "hwthread" if self.ground.threads else "core"
        if want.bind:
            return want.bind, True
        if self.width > 1:
            return unit, True
        if want.oversubscribe and not self.newer:
            return "none", False
        if want.pe:
            return unit, False
        if self.level in OBJECTS:
            return self.level, False
        if self.few:
            return unit, False
        return ("numa" if self.ground.parts("numa") else "package"), False

    def _refuse(self) -> None:
        want = self.want
        smt = any(len(core) > 1 for core in self.ground.known.cores)
        if self.newer and smt and (self.bound == "hwthread" if self.given else want.hwthreads):
            raise Unclear("ranks on single hardware threads are not worked out for the development branch")
        if self.width > 1 and (self.level == "hwthread" or (self.level == "core" and not self.ground.threads)):
            raise Refused(f"PE={self.width} is more than one {self.level} has; nothing starts")
        if DEPTH.get(self.level, 0) > DEPTH[self.bound] and self.bound != "none":
            raise Refused(f"--bind-to {self.bound} is larger than what ranks are placed over, which 5.x refuses; nothing starts")
        if want.pe and self.given and self.bound not in ("core", "hwthread"):
            raise Refused(f"PE={self.width} needs --bind-to core or hwthread, and {self.bound} is asked for; nothing starts")
        if self.width > 1:
            self.ground = NodeParts(self.ground.topology, threads=self.bound == "hwthread")
        order = want.rank_by or ("span" if self.ppr and "span" in want.modifiers else "")
        if order in ("fill", "span") and self.level not in OBJECTS:
            raise Refused(f"--rank-by {order} needs a --map-by over parts of the node; nothing starts")

    def place(self, seat: FreeHost, target: CpuSet, part: CpuSet | None, number: int) -> None:
        """Put a rank on a host; raise Full where the host has taken its last one."""
        home = self.ground.all if part is None else part
        proc = Proc(home, number)
        proc.cpus = self._cpus(seat, target, part)
        if seat not in self.used:
            self.used.add(seat)
            self.mapped.append(seat)
        seat.host.procs.append(proc)
        if not self.want.oversubscribe and seat.host.free == 0:
            raise Full

    def _cpus(self, seat: FreeHost, target: CpuSet, part: CpuSet | None) -> CpuSet | None:
        if self.bound == "none":
            return None
        if self.width > 1:
            return self._several(seat, target, part)
        inside = target & (self.ground.all if part is None else part)
        things = self.ground.parts(self.bound)
        if not things:
            if self.given:
                raise Refused(f"--bind-to {self.bound}: this machine shows none; nothing starts")
            return None
        for thing in things:
            usable = seat.free & thing & inside
            units = self.ground.units_in(usable) if usable else []
            if units:
                seat.free = seat.free - units[0]
                if not seat.free and self.want.overload:
                    seat.free = seat.at_first
                return thing
        if self.given:
            raise Refused("more ranks than cores where they are placed, without overload-allowed; nothing starts")
        return None

    def _several(self, seat: FreeHost, target: CpuSet, part: CpuSet | None) -> CpuSet | None:
        usable = target & seat.free & (self.ground.all if part is None else part)
        if part is None:
            packages = self.ground.parts("package")
            usable = next((usable & p for p in packages if self.ground.count(usable & p) >= self.width), CpuSet())
            if not usable and self.want.overload:
                raise Unclear(f"PE={self.width} where ranks may share cores is not worked out here")
            if not usable:
                raise Refused(f"no socket has {self.width} cores left for a rank; nothing starts")
        units = self.ground.units_in(usable)[: self.width]
        if len(units) < self.width and self.want.overload:
            raise Unclear(f"PE={self.width} where ranks may share cores is not worked out here")
        if len(units) < self.width:
            raise Refused(f"PE={self.width} for {self.total} ranks is more cores than there are; nothing starts")
        seat.free = seat.free - union(units)
        return union(units)

    def room(self, snapshot: CpuSet, wanted: int) -> int | None:
        """Return how many of the wanted ranks a host's free cores allow; None where it takes none."""
        if self.bound == "none":
            return wanted
        fit = self.ground.count(snapshot) // self.width
        if wanted < fit or self.want.overload:
            return wanted
        return fit or None

    def unbind_if_crowded(self, seat: FreeHost, number: int) -> None:
        """Leave the ranks of a host unbound where slots allow more than it has cores and the line says nothing of binding."""
        if not self.given and self.ground.count(seat.free) < number <= seat.host.free:
            self.bound = "none"

    def lacks(self, free: CpuSet, cores: int) -> bool:
        """Whether there are fewer free cores than ranks need that are bound to cores of their own."""
        return self.bound != "none" and not self.want.overload and self.ground.count(free) < cores
