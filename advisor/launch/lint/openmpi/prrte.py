"""What Open MPI 5's mapper does with a line: PRRTE counts down the free cores of every host while it places ranks.

Facts of src/mca/rmaps of PRRTE 3.0 (round_robin, ppr, base), said again, and held against the real 5.0.11; --map-by device= of
its development branch is held against its published test maps. Devices are taken in the order of their PCI addresses;
``interleave`` takes one of each socket in turn.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, zip_longest

from advisor.launch.lint.openmpi.free_cores import Free, FreeHost, Full, open_cores
from advisor.launch.lint.openmpi.listed import listed5
from advisor.launch.lint.openmpi.mapper import Host, hosts_with_slots, not_here, number5, ranks_in_order
from advisor.launch.lint.outcome import OBJECTS, Refused, Unclear
from advisor.launch.lint.request import Request
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank


def adapters(machine: Machine) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name of each HCA and its NUMA nodes."""
    for hca in machine.hcas or ():
        if hca.locality and hca.locality.numa_nodes:
            yield hca.name, hca.locality.numa_nodes


def homes_of_devices(want: Request, machine: Machine, topology: Topology) -> tuple[CpuSet, ...]:
    """Return the CPUs beside each device that ranks are spread over, or beside each group of them; raise Refused or Unclear."""
    name = (want.device or "").lower()
    if name != "gpu":
        places = dict(adapters(machine))
        if want.device not in places:
            raise Unclear(f"where {want.device} is, is not known")
        return (_beside(places[want.device or ""], topology),)
    gpus = sorted(machine.gpus or (), key=lambda gpu: gpu.address)
    if not gpus:
        raise Refused("this machine shows no GPU; nothing starts")
    homes = [_beside(gpu.locality.numa_nodes if gpu.locality else None, topology) for gpu in gpus]
    if "interleave" in want.modifiers:
        homes = _interleaved(homes, topology)
    each = want.devices_each
    if len(homes) % each:
        raise Unclear(f"{len(homes)} GPUs are not a multiple of ndev={each}")
    return tuple(union(homes[i : i + each]) for i in range(0, len(homes), each))


def _beside(nodes: Sequence[int] | None, topology: Topology) -> CpuSet:
    cpus = union(node.cpuset for node in topology.inside.cpu_nodes if node.os_index in (nodes or ()))
    if not cpus:
        raise Unclear("on which NUMA node a device is, is not known")
    return cpus


def _interleaved(homes: Sequence[CpuSet], topology: Topology) -> list[CpuSet]:
    sockets = [[home for home in homes if home <= package.cpuset] for package in topology.inside.packages]
    if sum(map(len, sockets)) != len(homes):
        raise Unclear("some devices are beside no single socket")
    return [home for home in chain.from_iterable(zip_longest(*sockets)) if home is not None]


def ranks(
    programs: Sequence[Request], topology: Topology, *, newer: bool = False, devices: Sequence[CpuSet] = ()
) -> tuple[LintRank, ...]:
    """Return where every rank of every host will be, program after program; raise Refused or Unclear.

    ``newer``: as PRRTE's development branch does it, where each program may have directives of its own.
    """
    want = programs[0]
    not_here(want)
    known = logical_numbering(topology)
    apart = len({program.hosts for program in programs}) > 1
    named = tuple(host for program in programs for host in program.hosts) if apart else want.hosts
    hosts = hosts_with_slots(replace(want, hosts=named), len(known.pus if want.hwthread_slots else known.cores))
    free = open_cores(want, topology)
    seats = [FreeHost(host, free) for host in hosts]
    whole = sum(program.ranks or 0 for program in programs)
    for program in programs:
        before = [len(host.procs) for host in hosts]
        first = sum(before)
        if program.level == "pe-list":
            listed5(program, topology, hosts, expanded=newer)
            continue
        own = [seat for seat in seats if not apart or seat.host.name in dict(program.hosts)]
        job = _Job(program, topology, own, whole, newer=newer)
        job.deal(devices)
        fresh = [Host(host.name, host.slots, host.procs[count:]) for host, count in zip(hosts, before, strict=True)]
        place = dict(zip(seats, fresh, strict=True))
        order = [place[seat] for seat in job.mapped]
        number5(program, job.level, order, job.ground, first)
        if job.left < 0:  # only what has a number below theirs is started
            for host in hosts:
                host.procs = [proc for proc in host.procs if proc.rank is not None and proc.rank < first + job.total]
    total = sum(len(host.procs) for host in hosts)
    if not total:
        raise Refused("no rank is mapped; nothing starts")
    return ranks_in_order(hosts, total)


class _Job(Free):
    def deal(self, devices: Sequence[CpuSet] = ()) -> None:
        """Give every host its ranks."""
        if self.total > self.slots:
            if not self.want.oversubscribe:
                raise Refused(f"{self.total} ranks, and there are {self.slots} slots, outside a scheduler's job; nothing starts")
            if not self.given:
                self.bound = "none"
        if self.level == "device":
            self._by_device(devices, self.ppr[0] if self.ppr else None)
        elif self.ppr:
            self._ppr(self.ppr[0])
        elif self.level == "slot":
            self._by_slot()
        elif self.level == "node":
            self._by_node()
        elif self.level in OBJECTS:
            self._by_part()
        else:
            raise Unclear(f"--map-by {self.want.map_text or self.level} is not worked out here")

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
                    placed, room = self._fill(seat, each, left)
                    each = each if self.newer else room  # 5.0: what one host has no room for, the next does not get either
                    left -= placed
        if left and self.newer:
            raise Unclear("hosts with few slots beside others are not worked out for --map-by node there")
        self._none_left(left)

    def _none_left(self, left: int) -> None:
        if left:
            raise Refused(f"{left} of {self.total} ranks find no room; nothing starts")

    def _fill(self, seat: FreeHost, number: int, left: int) -> tuple[int, int]:
        """Put up to a number of ranks on a host; return how many, and how many it had room for."""
        if not self.want.oversubscribe:
            number = min(number, seat.offer)
            if seat.host.free <= 0:
                return 0, number
        bound = self.bound
        self.unbind_if_crowded(seat, number)
        room = self.room(seat.free, number)
        target, placed = seat.free, 0
        try:
            for _ in range(min(room or 0, left)):
                placed += 1
                self.place(seat, target, None, 0)
        except Full:
            pass
        self.bound = bound
        return placed, number if room is None else room

    def _by_part(self) -> None:
        parts = self.ground.parts(self.level)
        if self.newer and "span" in self.want.modifiers:
            raise Unclear("span was changed in the development branch, and is not worked out for it")
        if self.newer and (self.want.oversubscribe or self.total > self.slots):
            self._crowd(parts)
            return
        if len(self.seats) > 1 and self.total > len(parts) and self.ground.hides(self.level):
            raise Unclear("parts that the process may not use are counted too, and how on several hosts is not worked out here")
        waiting = [seat for seat in self.seats if parts and (self.want.oversubscribe or seat.host.free > 0)]
        self.left, moved = self.total, True
        while self.left and moved:
            moved = False
            left_open = []
            for seat in waiting:
                full, placed = self._rounds(seat, parts)
                moved = moved or placed
                if not full:
                    left_open.append(seat)
                if not self.left:
                    return
            waiting = left_open
        self._none_left(self.left)

    def _crowd(self, parts: Sequence[CpuSet]) -> None:
        """Place ranks that may be more than the slots: newer ones fill the slots first and share out the rest."""
        if not parts:
            raise Unclear("more ranks than slots are not worked out there")
        more, rest = divmod(max(0, self.total - self.slots), len(self.seats))
        waiting = min(self.total, self.slots)
        for position, seat in enumerate(self.seats):
            inside = min(seat.offer, waiting)
            waiting -= inside
            self.left = inside + more + (position < rest)
            if self.bound != "none" and self.left * self.width > self.ground.count(seat.free) and not self.want.overload:
                raise Unclear("more ranks than cores are not worked out there")
            self._rounds(seat, parts)

    def _rounds(self, seat: FreeHost, parts: Sequence[CpuSet]) -> tuple[bool, bool]:
        """Give one rank to each part again and again until the host is full or short of cores; say which, and if any."""
        moved = False
        while True:
            placed = short = False
            for at, part in enumerate(parts):
                if not self.left:
                    return False, True
                if self.lacks(seat.free & part, self.width):
                    short = True
                    continue
                self.left -= 1
                placed = moved = True
                try:
                    self.place(seat, seat.free & part, part, at)
                except Full:
                    return True, True
            if short or not placed or "span" in self.want.modifiers:
                return False, moved

    def _by_device(self, homes: Sequence[CpuSet], each: int | None) -> None:
        """Put ranks beside devices: one beside each in turn, or so many beside each; a named device has all of them."""
        if not self.given or len(self.seats) > 1 or not homes:
            raise Unclear("--map-by device= is worked out for one host and with --bind-to")
        many = "shared" in self.want.modifiers or (self.want.device or "").lower() != "gpu"
        if self.want.overload and self.total > len(homes) * (each or 1):
            raise Unclear("more ranks than devices with overload-allowed were mapped once and are refused since, unless shared")
        if self.total > len(homes) * (each or 1) and not (many and each is None):
            raise Refused(f"{self.total} ranks and {len(homes)} devices; nothing starts")
        for i in range(self.total):
            at = i // each if each else i % len(homes)
            with suppress(Full):
                self.place(self.seats[0], self.seats[0].free, homes[at], at)

    def _ppr(self, each: int) -> None:
        self.left = self.total
        bound = self.bound
        for seat in self.seats:
            self._pattern(seat, each)
            self.bound = bound
        if self.left > 0:
            raise Refused(f"{self.want.map_text or 'that'} has room for fewer than {self.total} ranks; nothing starts")
        order = self.want.rank_by or ("span" if "span" in self.want.modifiers else "slot")
        if self.left < 0 and (order == "node" or self.newer):
            raise Unclear(f"which of the ranks of {self.want.map_text} are left out is not worked out here")
        if self.left < 0 and order == "slot":
            raise Refused(
                f"{self.total} ranks are not a multiple of {self.want.map_text}: 5.0 starts none, and ends as if all were well"
            )

    def _pattern(self, seat: FreeHost, each: int) -> None:
        """Put so many ranks on each part of a host, or on the host."""
        whole = self.level == "node"
        parts: Sequence[CpuSet | None] = (None,) if whole else self.ground.parts(self.level)
        self.unbind_if_crowded(seat, each * len(parts))
        snapshot = seat.free
        for at, part in enumerate(parts):
            if self.left <= 0 or (not self.want.oversubscribe and seat.host.free <= 0):
                return
            target = snapshot if part is None else snapshot & part
            if self.lacks(target, each * self.width):
                continue
            try:
                for _ in range(min(each, self.left) if whole else each):
                    self.left -= 1
                    self.place(seat, target, part, at)
            except Full:
                continue
