"""Which hosts get how many ranks of which plan, as launchers want to hear it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from advisor.errors import BadValue
from advisor.jobs.placement import HostPlan, NodePlan, Placement, Slot

FEW = 8
"""Hosts that a command line names itself; more go into a file."""


LONGEST = 100_000
"""Characters of one argument: Linux refuses 131,072 (MAX_ARG_STRLEN)."""


_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True)
class Run:
    """Hosts in a row with the same plan and the same number of ranks."""

    plan: NodePlan
    ranks: int
    """Ranks of each host."""
    hosts: tuple[HostPlan, ...]

    @property
    def kind(self) -> tuple[int, int]:
        """The position of the plan, and how many of its slots are used: what two runs alike have in common."""
        return self.hosts[0].plan, self.ranks

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots in use on each of the hosts."""
        return self.plan.slots[: self.ranks]


def runs(placement: Placement) -> Iterator[Run]:
    """Yield the hosts with ranks in order, those alike and in a row together; refuse a plan that cannot be launched."""
    used = [host for host in placement.hosts if host.ranks]
    if not used:
        raise BadValue("the plan has no ranks", cure="ask for one at least")
    if len(used) > 1 and any(host.name is None for host in used):
        raise BadValue("the plan has several hosts and not all have names", cure="name the hosts")
    for host in used:
        _named(host)
    for (plan, ranks), hosts in groupby(used, key=lambda host: (host.plan, host.ranks)):
        if ranks > len(placement.plans[plan].slots):
            raise BadValue(f"a host has {ranks} ranks and {len(placement.plans[plan].slots)} places")
        yield Run(placement.plans[plan], ranks, tuple(hosts))


def kinds(placement: Placement) -> dict[int, int]:
    """Return the plans in use and the most ranks that a host has of each."""
    most: dict[int, int] = {}
    for host in placement.hosts:
        if host.ranks:
            most[host.plan] = max(most.get(host.plan, 0), host.ranks)
    return most


def refuse_colon(command: Sequence[str]) -> None:
    """Refuse a command with a word that Hydra takes for the end of it."""
    if ":" in command:
        raise BadValue("a word ':' in the command ends it for Hydra", cure="put the command into a script")


def only_slots(placement: Placement) -> tuple[Slot, ...] | None:
    """Return the slots that every host has from the first on; None where hosts have different ones."""
    shapes = sorted({placement.plans[plan].slots[:ranks] for plan, ranks in kinds(placement).items()}, key=len)
    cpus = [[slot.cpus for slot in shape] for shape in shapes]
    return shapes[-1] if all(shape == cpus[-1][: len(shape)] for shape in cpus) else None


def filled(placement: Placement) -> int | None:
    """Return the ranks of each host where every host has as many, the last perhaps fewer; None otherwise."""
    counts = [host.ranks for host in placement.hosts if host.ranks]
    return counts[0] if len(set(counts[:-1])) <= 1 and counts[-1] <= counts[0] else None


def _named(host: HostPlan) -> str:
    """Return a host's name for a line or a file; what cannot be one is refused, whatever launcher writes it."""
    if host.name is not None and not _NAME.fullmatch(host.name):
        raise BadValue(f"{host.name!a} is not a host name")
    return str(host.name)


def names(placement: Placement) -> tuple[str, ...]:
    """Return the names of the hosts with ranks, in order; () for the one without a name."""
    return tuple(_named(host) for host in placement.hosts if host.ranks and host.name is not None)


def counted(placement: Placement) -> Iterator[str]:
    """Yield a host file's lines as Hydra, Intel MPI and mpirun_rsh read them: ``n1:16``."""
    for host in placement.hosts:
        if host.ranks:
            yield f"{_named(host)}:{host.ranks}"


def passed(environment: Mapping[str, str], option: str) -> Iterator[str]:
    """Yield the words that pass variables on: ``-genv NAME VALUE``."""
    for name, value in environment.items():
        yield from (option, name, value)


def memory_notes(placement: Placement) -> tuple[str, ...]:
    """Return a note where ranks want memory that is not that of their own nodes: binding CPUs does not give it."""
    for plan, ranks in kinds(placement).items():
        if any(slot.memory and set(slot.memory) != set(slot.nodes) for slot in placement.plans[plan].slots[:ranks]):
            return (
                "some ranks shall take memory of other nodes than their own: the wrapper does that, CPU binding alone does not",
            )
    return ()


def homeless(placement: Placement) -> bool:
    """Whether some rank's CPUs are in no NUMA node that is shown: no memory can be bound beside them."""
    slots = ((placement.plans[plan], ranks) for plan, ranks in kinds(placement).items())
    return any(not node.topology.nodes_of(slot.cpus) for node, ranks in slots for slot in node.slots[:ranks])


def devices_differ(placement: Placement) -> bool:
    """Whether ranks shall use different adapters or GPUs: only something that each rank runs can tell them."""
    slots = [slot for plan, ranks in kinds(placement).items() for slot in placement.plans[plan].slots[:ranks]]
    return len({slot.hca for slot in slots}) > 1 or len({slot.gpu for slot in slots}) > 1


def version_of(text: str | None) -> tuple[int, ...]:
    """Return the numbers that a version begins with; () where it is not known.

    >>> version_of("22.05.8"), version_of("5.0.2rc1"), version_of(None)
    ((22, 5, 8), (5, 0), ())
    """
    numbers: list[int] = []
    for part in (text or "").split("."):
        if not (part.isascii() and part.isdigit()):
            break
        numbers.append(int(part))
    return tuple(numbers)
