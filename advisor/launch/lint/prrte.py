"""What Open MPI 5's mapper does with a line: PRRTE counts down the free cores of every host while it deals ranks.

Facts of src/mca/rmaps of PRRTE 3.0 (round_robin, ppr, base), said anew, and held against the real 5.0.11.
"""

from collections.abc import Sequence

from advisor.launch.lint.cpulists import listed5
from advisor.launch.lint.openmpi import (
    OBJECTS,
    Ground,
    Host,
    Proc,
    Refused,
    Unclear,
    bounded,
    default_level,
    hosts_with_slots,
    not_here,
    told,
)
from advisor.launch.lint.orders import number5
from advisor.launch.lint.wanted import Wanted
from advisor.model.cpuset import CpuSet, union
from advisor.model.lint import LintRank
from advisor.model.topology import Topology

DEPTH = {"none": 0} | {kind: depth for depth, kind in enumerate(reversed(OBJECTS), 1)}
"""How deep in a machine things are: ranks are not bound to what lies above that which they are dealt over."""


def ranks(want: Wanted, topology: Topology) -> tuple[LintRank, ...]:
    """Return where every rank of every host will be; raise Refused or Unclear."""
    not_here(want)
    if want.level == "pe-list":
        return listed5(want, topology)
    job = _Job(want, topology)
    job.deal()
    total = sum(len(seat.host.procs) for seat in job.seats)
    if not total:
        raise Refused("no rank is mapped; nothing starts")
    number5(want, job.level, [seat.host for seat in job.mapped], job.ground)
    return told(job.hosts, total)


class _Full(Exception):  # noqa: N818 - no error: the host takes no more
    """A host takes no more ranks."""


class _Seat:
    """A host and the cores that are left on it."""

    def __init__(self, host: Host, free: CpuSet) -> None:
        self.host, self.free, self.at_first = host, free, free


class _Job:
    def __init__(self, want: Wanted, topology: Topology) -> None:
        self.want = want
        self.ground = Ground(topology, threads=want.hwthreads or want.level == "hwthread")
        self.width = want.pe or 1
        self.hosts = hosts_with_slots(want, len(self.ground.known.pus if want.hwthread_slots else self.ground.known.cores))
        self.seats = [_Seat(host, self.ground.all) for host in self.hosts]
        self.slots = sum(host.slots for host in self.hosts)
        self.total = bounded(want.ranks or self._counted())
        self.level = want.level or default_level(want, self.total, five=True)
        self.ppr = want.ppr if self.level == "ppr" else None
        if self.ppr:
            self.level = self.ppr[1]
        self.bound, self.given = self._target()
        self._refuse()
        self.mapped: list[_Seat] = []
        self.left = 0

    def _counted(self) -> int:
        """Return the number of ranks of a line that does not say it."""
        want = self.want
        if want.ppr:
            each = 1 if want.ppr[1] == "node" else len(self.ground.parts(want.ppr[1]))
            return want.ppr[0] * each * len(self.hosts)
        if self.width > 1:
            return max(1, min(self.slots, len(self.hosts) * (len(self.ground.units) // self.width)))
        return self.slots

    def _target(self) -> tuple[str, bool]:
        want = self.want
        unit = "hwthread" if self.ground.threads else "core"
        if want.bind:
            return want.bind, True
        if self.width > 1:
            return unit, True
        if want.oversubscribe:
            return "none", False
        if want.pe:
            return unit, False
        if self.level in OBJECTS:
            return self.level, False
        if self.total <= 2:
            return unit, False
        return ("numa" if self.ground.parts("numa") else "package"), False

    def _refuse(self) -> None:
        want = self.want
        if self.width > 1 and (self.level == "hwthread" or (self.level == "core" and not self.ground.threads)):
            raise Refused(f"PE={self.width} is more than one {self.level} has; nothing starts")
        if DEPTH.get(self.level, 0) > DEPTH[self.bound] and self.bound != "none":
            raise Refused(f"--bind-to {self.bound} is larger than what ranks are dealt over, which 5.x refuses; nothing starts")
        if want.pe and self.given and self.bound not in ("core", "hwthread"):
            raise Refused(f"PE={self.width} needs --bind-to core or hwthread, and {self.bound} is asked for; nothing starts")
        if self.width > 1:
            self.ground = Ground(self.ground.topology, threads=self.bound == "hwthread")
        order = want.rank_by or ""
        if order in ("fill", "span") and self.level not in OBJECTS:
            raise Refused(f"--rank-by {order} needs a --map-by over parts of the node; nothing starts")

    def deal(self) -> None:
        """Give every host its ranks."""
        if self.total > self.slots:
            if not self.want.oversubscribe:
                raise Refused(f"{self.total} ranks, and there are {self.slots} slots; nothing starts")
            if not self.given:
                self.bound = "none"
        if self.ppr:
            self._ppr(self.ppr[0])
        elif self.level == "slot":
            self._by_slot()
        elif self.level == "node":
            self._by_node()
        elif self.level in OBJECTS:
            self._by_part()
        else:
            raise Unclear(f"--map-by {self.want.map_text or self.level} is not worked out here")

    def _place(self, seat: _Seat, target: CpuSet, part: CpuSet | None, number: int) -> None:
        """Put a rank on a host; raise _Full where the host has taken its last one."""
        home = self.ground.all if part is None else part
        proc = Proc(home, number)
        proc.cpus = self._cpus(seat, target, part)
        if not any(seat is each for each in self.mapped):
            self.mapped.append(seat)
        seat.host.procs.append(proc)
        if not self.want.oversubscribe and seat.host.free == 0:
            raise _Full

    def _cpus(self, seat: _Seat, target: CpuSet, part: CpuSet | None) -> CpuSet | None:
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
            units = self.ground.units_in(usable)
            if units:
                seat.free = seat.free - units[0]
                if not seat.free and self.want.overload:
                    seat.free = seat.at_first
                return thing
        if self.given:
            raise Refused("more ranks than cores where they are dealt to, without overload-allowed; nothing starts")
        return None

    def _several(self, seat: _Seat, target: CpuSet, part: CpuSet | None) -> CpuSet | None:
        usable = target & seat.free & (self.ground.all if part is None else part)
        if part is None:
            packages = self.ground.parts("package")
            usable = next((usable & p for p in packages if self.ground.count(usable & p) >= self.width), CpuSet())
            if not usable:
                raise Refused(f"no socket has {self.width} cores left for a rank; nothing starts")
        units = self.ground.units_in(usable)[: self.width]
        if len(units) < self.width and self.want.overload:
            raise Unclear(f"PE={self.width} where ranks may share cores is not worked out here")
        if len(units) < self.width:
            raise Refused(f"PE={self.width} for {self.total} ranks is more cores than there are; nothing starts")
        seat.free = seat.free - union(units)
        return union(units)

    def _room(self, snapshot: CpuSet, wanted: int) -> int | None:
        """Return how many of the wanted ranks a host's free cores allow; None where it takes none."""
        if self.bound == "none":
            return wanted
        fit = self.ground.count(snapshot) // self.width
        if wanted < fit or self.want.overload:
            return wanted
        return fit or None

    def _by_slot(self) -> None:
        left = self.total
        for seat in self.seats:
            left -= self._fill(seat, max(0, seat.host.free), left)[0]
        if left:  # more ranks than slots: the rest is shared out
            more, rest = divmod(left, len(self.seats))
            for position, seat in enumerate(self.seats):
                left -= self._fill(seat, more + (position < rest), left)[0]
        self._none_left(left)

    def _by_node(self) -> None:
        left = self.total
        for _ in range(2):
            each = left // len(self.seats) or 1
            for seat in self.seats:
                if left:
                    placed, each = self._fill(seat, each, left)  # what one host has no room for, the next does not get either
                    left -= placed
        self._none_left(left)

    def _none_left(self, left: int) -> None:
        if left:
            raise Refused(f"{left} of {self.total} ranks find no room; nothing starts")

    def _fill(self, seat: _Seat, number: int, left: int) -> tuple[int, int]:
        """Put up to a number of ranks on a host; return how many, and how many it had room for."""
        if not self.want.oversubscribe:
            number = min(number, seat.host.slots)
            if seat.host.free <= 0:
                return 0, number
        bound = self.bound
        self._unbind_if_crowded(seat, number)
        room = self._room(seat.free, number)
        target, placed = seat.free, 0
        try:
            for _ in range(min(room or 0, left)):
                placed += 1
                self._place(seat, target, None, 0)
        except _Full:
            pass
        self.bound = bound
        return placed, number if room is None else room

    def _unbind_if_crowded(self, seat: _Seat, number: int) -> None:
        """Leave the ranks of a host unbound where slots allow more than it has cores and the line says nothing of binding."""
        if not self.given and self.ground.count(seat.free) < number <= seat.host.free:
            self.bound = "none"

    def _by_part(self) -> None:
        parts = self.ground.parts(self.level)
        waiting = list(self.seats) if parts else []
        self.left, moved = self.total, True
        while self.left and moved:
            moved = False
            for seat in list(waiting):
                full, placed = self._rounds(seat, parts)
                moved = moved or placed
                if full:
                    waiting = [each for each in waiting if each is not seat]
                if not self.left:
                    return
        self._none_left(self.left)

    def _rounds(self, seat: _Seat, parts: Sequence[CpuSet]) -> tuple[bool, bool]:
        """Deal one rank to each part again and again until the host is full or short of cores; say which, and if any."""
        moved = False
        while True:
            placed = short = False
            for at, part in enumerate(parts):
                if not self.left:
                    return False, True
                if self._lacks(seat.free & part, self.width):
                    short = True
                    continue
                self.left -= 1
                placed = moved = True
                try:
                    self._place(seat, seat.free & part, part, at)
                except _Full:
                    return True, True
            if short or not placed or "span" in self.want.modifiers:
                return False, moved

    def _lacks(self, free: CpuSet, cores: int) -> bool:
        """Whether there are fewer free cores than ranks need that are bound to cores of their own."""
        return self.bound != "none" and not self.want.overload and self.ground.count(free) < cores

    def _ppr(self, each: int) -> None:
        self.left = self.total
        bound = self.bound
        for seat in self.seats:
            self._pattern(seat, each)
            self.bound = bound
        if self.left > 0:
            raise Refused(f"{self.want.map_text or 'that'} has room for fewer than {self.total} ranks; nothing starts")
        if self.left < 0:
            raise Refused(
                f"{self.total} ranks are no multiple of {self.want.map_text}: 5.0 starts none, and ends as if all were well"
            )

    def _pattern(self, seat: _Seat, each: int) -> None:
        """Put so many ranks on each part of a host, or on the host."""
        whole = self.level == "node"
        parts: Sequence[CpuSet | None] = (None,) if whole else self.ground.parts(self.level)
        self._unbind_if_crowded(seat, each * len(parts))
        snapshot = seat.free
        for at, part in enumerate(parts):
            if self.left <= 0 or (not self.want.oversubscribe and seat.host.free <= 0):
                return
            target = snapshot if part is None else snapshot & part
            if self._room(target, each) is None if whole else self._lacks(target, each * self.width):
                continue
            try:
                for _ in range(min(each, self.left) if whole else each):
                    self.left -= 1
                    self._place(seat, target, part, at)
            except _Full:
                continue
