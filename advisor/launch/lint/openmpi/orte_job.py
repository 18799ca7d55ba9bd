"""How Open MPI 4 deals the ranks of a program to hosts and parts of them, and binds them: facts of orte/mca/rmaps of 4.1."""

from collections.abc import Sequence

from advisor.launch.lint.openmpi.mapper import (
    Host,
    NodeParts,
    Proc,
    default_level,
    hosts_with_slots,
)
from advisor.launch.lint.outcome import OBJECTS, Refused, Unclear, bounded
from advisor.launch.lint.request import Request
from advisor.model.cpuset import CpuSet, union


class Job:
    """A program of a line on its hosts."""

    def __init__(self, want: Request, ground: NodeParts, whole: int) -> None:
        """Count its hosts' slots; ``whole`` is the ranks of all programs."""
        self.want, self.ground = want, ground
        self.hosts = hosts_with_slots(
            want, len(ground.known.pus if want.hwthread_slots or want.bind == "hwthread" else ground.known.cores)
        )
        self.width = want.pe or 1
        self.overload = want.overload or (want.oversubscribe_option and not want.bind)
        self.slots = sum(host.slots for host in self.hosts)
        self.total = bounded(whole or self._counted(), len(ground.known.cores))
        self.program = self.total
        self.few = self.total <= 2
        self.level = want.level or default_level(want, five=False, few=self.few)
        self.pass_limit = self._limit()
        """What -N beside --map-by allows a host in each turn."""
        self.mapped: list[Host] = []
        """The hosts in the order in which they got ranks."""
        self.known: set[int] = set()
        self.next_part = 0

    def _limit(self) -> int | None:
        want, each = self.want, self._per_host()
        if not each or not (want.level not in (None, "ppr") or (want.map_text or "").startswith(":")):
            return None
        if want.ranks is None:
            self._full(each)
            return None
        if "span" in want.modifiers and len(self.hosts) > 1:
            raise Unclear("how -N beside --map-by shares ranks with span over several hosts, is not worked out here")
        turns = self.total > each * (1 if want.level == "node" else len(self.hosts))
        if turns and want.level not in (None, "slot", "core", "hwthread"):
            raise Unclear("how ranks go on after a turn of -N beside --map-by, is not worked out here")
        return each

    def _full(self, each: int) -> None:
        """Raise Refused or Unclear where -N beside --map-by does not fill the slots of several hosts in whole turns."""
        slots = {host.slots for host in self.hosts}
        if len(slots) > 1:
            raise Unclear("how many ranks -N beside --map-by starts on hosts of unlike slots, is not worked out here")
        slot = max(slots)
        if len(self.hosts) == 1 or slot == each or (self.level != "slot" and not slot % each):
            return
        if self.want.oversubscribe or (self.level == "slot" and each > slot):
            raise Unclear("where ranks go that -N beside --map-by puts beyond the slots of a host, is not worked out here")
        raise Refused(f"{each} ranks for each host beside --map-by do not fill {slot} slots in turns, and no -np; nothing starts")

    def _counted(self) -> int:
        """Return the number of ranks of a line that does not say it: ppr is counted for hosts and sockets only."""
        ppr = self.want.ppr
        if ppr and ppr[1] in ("node", "package"):
            return ppr[0] * (1 if ppr[1] == "node" else len(self.ground.parts("package"))) * len(self.hosts)
        return self.slots

    def _per_host(self) -> int | None:
        want = self.want
        if want.per_socket:
            return want.per_socket * len(self.ground.parts("package"))
        return want.per_node

    def deal(self, program: int) -> None:
        """Give every host its ranks of one program; ranks over parts go on where those before ended."""
        self.program = program
        kind = self.want.level if self.want.level == "ppr" else self.level
        if kind == "ppr" and self.want.ppr:
            self._ppr(*self.want.ppr)
        elif kind == "slot":
            self._by_slot()
        elif kind == "node":
            self._by_node()
        elif kind in OBJECTS:
            parts = self.ground.parts(kind)
            if not parts:
                if "span" in self.want.modifiers or self.want.rank_by or self.want.hosts:
                    raise Unclear(f"this machine shows no {kind}")
                self.level = "slot"
                self._by_slot()
            elif "span" in self.want.modifiers:
                self._span(parts)
            else:
                self._by_part(parts)
        else:
            raise Unclear(f"--map-by {self.want.map_text or kind} is not worked out here")

    def _add(self, host: Host, home: CpuSet, part: int = 0) -> None:
        if id(host) not in self.known:
            self.known.add(id(host))
            self.mapped.append(host)
        host.procs.append(Proc(home, part))

    def _allowed(self, host: Host) -> None:
        """Raise Refused where a host has more ranks than slots and nothing allows that."""
        if host.free < 0 and not self.want.oversubscribe:
            raise Refused(f"{len(host.procs)} ranks on a host with {host.slots} slots, without --oversubscribe; nothing starts")

    def _enough(self) -> None:
        if self.slots < self.total and not self.want.oversubscribe:
            raise Refused(f"{self.total} ranks, and there are {self.slots} slots, outside a scheduler's job; nothing starts")

    def _by_slot(self) -> None:
        self._enough()
        left = self.program
        for host in self.hosts:
            if self.pass_limit and min(left, self.pass_limit) > host.free:
                raise Unclear("where ranks go that -N beside --map-by puts beyond the slots of a host, is not worked out here")
            for _ in range(min(left, host.free, self.pass_limit or host.free)):
                self._add(host, self.ground.all)
                left -= 1
        if not left:
            return
        more, rest = divmod(left, len(self.hosts))
        for position, host in enumerate(self.hosts):
            for _ in range(min(left, max(0, host.free) + more + (position < rest))):
                self._add(host, self.ground.all)
                left -= 1
            self._allowed(host)

    def _by_node(self) -> None:
        self._enough()
        room = sum(max(0, host.free) for host in self.hosts)  # for each program, not for all of them
        over = room < self.program
        if self.mapped and not room and len(self.hosts) > 1:
            raise Unclear("on which of several full hosts a later program begins is not worked out here")
        left, count = self.program, len(self.hosts)
        while left > 0 and count > 0:
            share = left // count or 1
            rest = left - share * count
            count = 0
            for host in self.hosts:
                if not over and host.free <= 0:
                    continue
                number = share + (rest > 0) if over else min(share + (rest > 0), host.free)
                rest -= 1
                count += 1
                for _ in range(min(number, left)):
                    self._add(host, self.ground.all)
                    left -= 1
                self._allowed(host)
                if not left:
                    return

    def _check_width(self, part: CpuSet) -> None:
        if self.width > self.ground.count(part):
            raise Refused(f"PE={self.width} is more cores than one of the objects that ranks are placed over has; nothing starts")

    def _by_part(self, parts: Sequence[CpuSet]) -> None:
        self._enough()
        left, second = self.program, False
        while left:
            for host in self.hosts:
                start, number = self.next_part, self._turn(host)
                if number < 1:
                    if not second:
                        continue
                    number, start = 1, len(host.procs) % len(parts)
                for i in range(min(number, left)):
                    at = (start + i) % len(parts)
                    self._check_width(parts[at])
                    self._add(host, parts[at], at)
                    left -= 1
                self._allowed(host)
                if not left:
                    self.next_part = (at + 1) % len(parts)
                    return
            second = True

    def _turn(self, host: Host) -> int:
        """Return how many ranks a host gets in one turn: what -N allows, be there room for them or not."""
        if self.pass_limit and self.program < self.total and self.pass_limit > host.free:
            raise Unclear("where a later program's ranks go beside -N and --map-by, is not worked out here")
        return self.pass_limit or host.free

    def _span(self, parts: Sequence[CpuSet]) -> None:
        """Share ranks evenly over the parts of all hosts; inside a host they are placed in turn."""
        self._enough()
        count = len(parts) * len(self.hosts)
        share = self.program // count or 1
        extra = max(0, self.program - share * count)
        left = self.program
        for host in self.hosts:
            shares = []
            for part in parts:
                self._check_width(part)
                shares.append(min(left, share + (extra > 0)))
                left -= shares[-1]
                extra -= 1
            for turn in range(max(shares)):
                for at, part in enumerate(parts):
                    if turn < shares[at]:
                        self._add(host, part, at)

    def _ppr(self, each: int, kind: str) -> None:
        self.level = kind
        parts = (self.ground.all,) if kind == "node" else self.ground.parts(kind)
        left = self.program
        for host in [host for host in self.hosts if host.free > 0] or self.hosts:  # a later program begins on those not full
            for at, part in enumerate(parts):
                for _ in range(min(each, left)):
                    self._add(host, part, at)
                    left -= 1
            if host.free < 0 and self.want.no_oversubscribe:
                raise Refused(f"{len(host.procs)} ranks on a host with {host.slots} slots; nothing starts")
            self._allowed(host)
            if not left:
                return
        raise Refused(f"ppr:{each}:{kind} has room for fewer than {self.program} ranks; nothing starts")

    def _target(self) -> tuple[str, bool]:
        """Return what ranks are bound to, and whether the line itself says so."""
        want = self.want
        if want.bind:
            return want.bind, True
        if want.pe:
            return ("hwthread" if self.ground.threads else "core"), True
        if any(host.free < 0 for host in self.hosts):
            return "none", False
        if want.level in OBJECTS or (want.level is None and "span" in want.modifiers):
            return want.level or self.level, False
        if self.few:
            return ("hwthread" if self.ground.threads else "core"), False
        return ("numa" if self.ground.parts("numa") else "package"), False

    def bind(self) -> None:
        """Give every rank its CPUs; a default that does not fit leaves the ranks of a host unbound."""
        kind, given = self._target()
        if kind == "none":
            return
        if self.want.pe and kind != ("hwthread" if self.ground.threads else "core"):
            raise Refused(f"PE={self.width} needs --bind-to core, and {kind} is asked for; nothing starts")
        parts = self.ground.parts(kind)
        if not parts:
            raise Refused(f"--bind-to {kind}: this machine shows none; nothing starts")
        for host in self.hosts:
            fits = self._in_place(host, parts) if kind == self.level else self._below(host, parts)
            if fits:
                continue
            if given:
                raise Refused(f"more ranks than cores are bound to one {kind}, without overload-allowed; nothing starts")
            for proc in host.procs:
                proc.cpus = None

    def _in_place(self, host: Host, parts: Sequence[CpuSet]) -> bool:
        room = [self.ground.count(part) for part in parts]
        taken = [0] * len(parts)
        for proc in host.procs:
            at = proc.part
            if not room[at]:
                raise Refused("one of the objects has no core that counts; nothing starts")
            if taken[at] >= room[at]:
                beside = [*range(at + 1, len(parts)), *range(at - 1, -1, -1)]
                better = next((i for i in beside if taken[i] < room[i]), None)
                if better is None and not self.overload:
                    return False
                at = at if better is None else better
            taken[at] += 1
            proc.cpus = parts[at]
        return True

    def _below(self, host: Host, parts: Sequence[CpuSet]) -> bool:
        room = [self.ground.count(part) for part in parts]
        taken = [0] * len(parts)
        touching: dict[CpuSet, list[int]] = {}
        for proc in host.procs:
            if proc.home not in touching:
                touching[proc.home] = [i for i, part in enumerate(parts) if part & proc.home]
            inside = touching[proc.home]
            if not inside:
                raise Refused("there is nothing to bind to where ranks are placed; nothing starts")
            at = min(inside, key=taken.__getitem__)
            chosen: list[CpuSet] = []
            found = 0
            while found < self.width:
                if at >= len(parts):
                    raise Refused(f"PE={self.width} is more cores than there are; nothing starts")
                taken[at] += 1
                if room[at] < taken[at] and not self.overload:
                    return False
                chosen.append(parts[at])
                found += max(1, room[at])
                at += 1
            proc.cpus = union(chosen)
        return True
