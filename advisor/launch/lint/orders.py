"""How ranks that are dealt out get their numbers: --rank-by of Open MPI 4 and 5, and what they do without it."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from advisor.launch.lint.openmpi import OBJECTS, Ground, Host, Proc, Refused, Unclear
from advisor.launch.lint.wanted import Wanted
from advisor.model.cpuset import CpuSet


def number4(want: Wanted, level: str, hosts: Sequence[Host], ground: Ground, first: int = 0) -> None:
    """Give ranks their numbers as 4 does; hosts are in the order in which they got ranks."""
    kind, how = _order4(want, level, ground)
    if kind == "slot":
        _count((proc for host in hosts for proc in host.procs), first)
    elif kind == "node":
        deepest = max((len(host.procs) for host in hosts), default=0)
        _count((host.procs[i] for i in range(deepest) for host in hosts if i < len(host.procs)), first)
    else:
        _count(_over_parts(hosts, ground.parts(kind), how), first)


def _order4(want: Wanted, level: str, ground: Ground) -> tuple[str, str]:
    text = want.rank_by
    if not text:
        given = want.level != "ppr" and bool(want.level or want.modifiers or want.pe)
        return (level if given and (level == "node" or level in OBJECTS) else "slot"), ""
    kind, _, how = text.partition(":")
    if kind not in ("slot", "node") and not ground.parts(kind):
        raise Refused(f"--rank-by {text}: this machine shows no {kind}; nothing starts")
    return kind, how


def _over_parts(hosts: Sequence[Host], parts: Sequence[CpuSet], how: str) -> Iterator[Proc]:
    """Yield ranks as they are numbered over parts: one each in turn, all of one part first, or over all hosts in turn."""
    queues = {id(host): _Waiting(host, parts) for host in hosts}
    for group in [hosts] if how == "span" else [[host] for host in hosts]:
        left = sum(len(host.procs) for host in group)
        while left:
            before = left
            for host in group:
                for proc in queues[id(host)].turn(all_of_one=how == "fill"):
                    left -= 1
                    yield proc
            if before == left:
                raise Unclear("some ranks are in none of the parts of --rank-by")


class _Waiting:
    """The ranks of a host that have no number yet, by what they were dealt to."""

    def __init__(self, host: Host, parts: Sequence[CpuSet]) -> None:
        self.queues: dict[CpuSet, deque[tuple[int, Proc]]] = {}
        for position, proc in enumerate(host.procs):
            self.queues.setdefault(proc.home, deque()).append((position, proc))
        self.touching = [[queue for home, queue in self.queues.items() if home & part] for part in parts]

    def turn(self, *, all_of_one: bool) -> Iterator[Proc]:
        """Take the next rank of each part, or all of each."""
        for queues in self.touching:
            waiting = [queue for queue in queues if queue]
            while waiting:
                first = min(waiting, key=lambda queue: queue[0][0])
                yield first.popleft()[1]
                waiting = [queue for queue in waiting if queue] if all_of_one else []


def number5(want: Wanted, level: str, hosts: Sequence[Host], ground: Ground, first: int = 0) -> None:
    """Give ranks their numbers as 5 does; hosts are in the order in which they got ranks."""
    order = want.rank_by or _own_order(want, level)
    if order == "slot":
        _count((proc for host in hosts for proc in host.procs), first)
    elif order == "node":
        for position, host in enumerate(hosts):
            for i, proc in enumerate(host.procs):
                proc.rank = first + position + i * len(hosts)
    elif order == "fill":
        _count((proc for host in hosts for proc in sorted(host.procs, key=lambda proc: proc.part)), first)
    else:
        _count(_spanned(hosts, len(ground.parts(level))), first)


def _own_order(want: Wanted, level: str) -> str:
    if level == "device" or (want.ppr and want.level == "ppr"):
        return "slot"
    if level in ("node", "slot"):
        return level
    return "span" if "span" in want.modifiers else "fill"


def _spanned(hosts: Sequence[Host], parts: int) -> Iterator[Proc]:
    """Yield one rank of every part of every host in turn."""
    queues = [[[proc for proc in host.procs if proc.part == part] for part in range(parts)] for host in hosts]
    deepest = max((len(queue) for host in queues for queue in host), default=0)
    for turn in range(deepest):
        for host in queues:
            yield from (queue[turn] for queue in host if turn < len(queue))


def _count(procs: Iterable[Proc], first: int) -> None:
    for rank, proc in enumerate(procs, first):
        proc.rank = rank
