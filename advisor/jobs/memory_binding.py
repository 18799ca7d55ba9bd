"""The memory of ranks on machines with HBM: which nodes a plan takes, numactl that sees to it, and what a line gives them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from advisor.errors import BadValue
from advisor.jobs.each_rank import LISTED, of_list
from advisor.jobs.launcher import of_lines
from advisor.jobs.placement import LONGEST, JobShape, LintWarning, MemoryPolicy, NodePlan, Placement, Slot, kinds, version_of
from advisor.jobs.predict import memory_nodes
from advisor.jobs.request import ADVISE, BoundMemory, Prediction, Refused, Unclear, ranks_here, warning
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.machine import Machine
from advisor.machine.partitioning import FastMemory, fast_memory, nodes_in_words
from advisor.machine.units import count

_MANY_SINCE = (5, 15)
"""MPOL_PREFERRED_MANY (Linux 5.15); numactl has it since 2.0.15."""


@dataclass(frozen=True)
class MemoryChoice:
    """What a job's --mem comes to on a node."""

    policy: MemoryPolicy | None
    fast: FastMemory | None

    def of(self, cpus: CpuSet, own: tuple[int, ...]) -> tuple[tuple[int, ...], MemoryPolicy | None]:
        """Return the nodes that a rank on some CPUs takes its memory from, and how strictly; ``own`` are those it would get."""
        near = self.fast.near(cpus) if self.fast and self.policy else ()
        return (near, self.policy) if near else (own, None)


def memory_choice(job: JobShape, machine: Machine) -> MemoryChoice:
    """Return what --mem comes to; refused where the node has no such memory."""
    fast = fast_memory(machine)
    if job.mem == "hbm" and fast is None:
        raise BadValue("--mem hbm: no NUMA node in this input is known to be HBM", cure="leave --mem out")
    if job.mem == "dram" and fast and fast.mode == "only":
        raise BadValue("--mem dram: all of this node's memory is HBM", cure="leave --mem out")
    policies: dict[str | None, MemoryPolicy] = {"hbm": "only", "auto": "prefer"}
    return MemoryChoice(policies.get(job.mem) if fast and fast.mode == "flat" else None, fast)


def memory_notes(job: JobShape, machine: Machine, plan: NodePlan) -> Iterator[str]:
    """Yield what memory the ranks of a node get, and how to get another."""
    fast = fast_memory(machine)
    if fast is None:
        return
    if fast.mode != "flat":
        if job.mem in ("hbm", "auto", None):
            what = "the HBM caches the DRAM (cache mode)" if fast.mode == "cache" else "all of this node's memory is HBM"
            yield f"{what}: there is nothing to bind"
        return
    numbers, size = CpuSet(node.os_index for node in fast.nodes), sum(node.memory or 0 for node in fast.nodes) / 2**30
    there = f"{nodes_in_words(numbers)} {'is' if len(numbers) == 1 else 'are'} HBM ({size:.4g} GiB)"
    bound = [slot for slot in plan.slots if slot.policy]
    if not bound:
        yield (
            f"{there}, but this line binds no memory to them: for bandwidth put numactl --preferred-many={numbers} before "
            f"the program, or --membind={numbers} if all of its data fits"
            if job.mem is None
            else f"{there}, but it is not used: memory comes from DRAM, the default"
        )
        return
    share = f"{_least_share(fast, plan.slots) / 2**30:.4g} GiB per rank"
    if bound[0].policy == "only":
        killed = "a rank that needs more is killed, but with --mem auto it gets DRAM"
        yield f"{there}, and ranks get no other memory: {share}; {killed}"
    else:
        yield f"{there}, filled first: {share}; the rest comes from DRAM; --mem hbm allows no DRAM, --mem dram no HBM"
    release = version_of((machine.kernel.release if machine.kernel else None) or "")[:2]
    if bound[0].policy == "prefer" and any(len(slot.memory) > 1 for slot in bound):
        known = f"; this kernel is {machine.kernel.release}" if machine.kernel and release and release < _MANY_SINCE else ""
        yield f"numactl --preferred-many needs Linux 5.15 and numactl 2.0.15{known}"


def _least_share(fast: FastMemory, slots: Sequence[Slot]) -> float:
    """Return the bytes of HBM that the rank with the least of it has, where ranks share a node's evenly."""
    size = {node.os_index: node.memory or 0 for node in fast.nodes}
    users = {number: sum(number in slot.memory for slot in slots) for number in size}
    return min(sum(size[number] / users[number] for number in slot.memory if number in size) for slot in slots if slot.policy)


def binds_memory(placement: Placement) -> bool:
    """Whether some rank of a plan gets memory that its CPUs alone would not give it."""
    return any(slot.policy for slot in _slots(placement))


def _slots(placement: Placement) -> Iterator[Slot]:
    for plan, ranks in kinds(placement).items():
        yield from placement.plans[plan].slots[:ranks]


def local_slots(placement: Placement) -> tuple[Slot, ...] | None:
    """Return the slots whose memory is right for the local ranks of every host; None where hosts differ in it."""
    shapes = sorted((placement.plans[plan].slots[:ranks] for plan, ranks in kinds(placement).items()), key=len)
    longest = [(slot.policy, slot.memory) for slot in shapes[-1]]
    alike = all([(slot.policy, slot.memory) for slot in shape] == longest[: len(shape)] for shape in shapes)
    return shapes[-1] if alike else None


def option(slot: Slot) -> tuple[str, str]:
    """Return numactl's option for a rank's memory, and the nodes: --preferred takes one, and every version has it."""
    nodes = ",".join(map(str, slot.memory))
    if slot.policy is None:
        return "--localalloc", ""
    if slot.policy == "only":
        return "--membind", nodes
    return ("--preferred" if len(slot.memory) == 1 else "--preferred-many"), nodes


def with_numactl(placement: Placement, command: Sequence[str], local: str | None) -> tuple[str, ...] | None:
    """Return a command behind numactl for its memory; None where no line can say it, for hosts differ in it.

    ``local`` is the variable that has a rank's number among those of its host.
    """
    slots = local_slots(placement)
    if slots is None:
        return None
    said = [option(slot) for slot in slots]
    if len(set(said)) == 1:
        name, nodes = said[0]
        return ("numactl", f"{name}={nodes}", *command)
    if local is None:
        return None
    names = {name for name, _ in said}
    if len(names) == 1:
        before, word = _by_number([nodes for _, nodes in said], local)
        inside = f"{before}exec numactl {names.pop()}={word}"
    else:
        before, word = _listed([f"{name}={nodes}" if nodes else name for name, nodes in said], local)
        inside = f"{before}exec numactl {word}"
    return ("sh", "-c", f'{inside} "$@"', "sh", *command) if len(inside) < LONGEST else None


def mem_bind(placement: Placement) -> tuple[str, ...]:
    """Return Slurm's --mem-bind where each local rank has memory of its own choice; () where numactl alone can say it.

    Of several nodes that are preferred Slurm takes the first (task/affinity: numa_set_preferred).
    """
    slots = local_slots(placement) or ()
    strict = {slot.policy for slot in slots}
    if strict == {"prefer"} and all(len(slot.memory) == 1 for slot in slots):
        return (f"--mem-bind=prefer,map_mem:{','.join(str(slot.memory[0]) for slot in slots)}",)
    if strict == {"only"} and all(len(slot.memory) == 1 for slot in slots):
        return (f"--mem-bind=map_mem:{','.join(str(slot.memory[0]) for slot in slots)}",)
    if strict == {"only"}:
        return (f"--mem-bind=mask_mem:{','.join(hex(CpuSet(slot.memory).bits) for slot in slots)}",)
    return ()


OF_MCDRAM = (
    "I_MPI_HBW_POLICY is documented for Xeon Phi: 2021.18 sets the policy before the program starts, and advisor verify "
    "shows which HBM node each rank gets"
)


def hbw_policy(placement: Placement) -> str | None:
    """Return Intel MPI's own word for memory of the nearest HBM, where each rank has one such node; None elsewhere."""
    slots = local_slots(placement) or ()
    strict = {slot.policy if len(slot.memory) == 1 else None for slot in slots}
    return {"prefer": "hbw_preferred", "only": "hbw_bind"}.get(strict.pop() or "") if len(strict) == 1 else None


_HBW: dict[str, Literal["only", "prefer", "interleave"]] = {
    "hbw_preferred": "prefer", "hbw_bind": "only", "hbw_interleave": "interleave",
}  # fmt: skip


def hbw_memory(case: Prediction, ranks: int) -> BoundMemory | None:
    """Return what I_MPI_HBW_POLICY gives each local rank: its nearest HBM; None without it, or where ranks are not known."""
    policy = (case.want.exports.get("I_MPI_HBW_POLICY") or "").partition(",")[0]
    fast = fast_memory(case.machine)
    if policy not in _HBW or fast is None or len(case.here) != ranks:
        return None
    near = tuple(CpuSet(fast.near(cpus)) if cpus else None for cpus in case.here)
    return BoundMemory(_HBW[policy], near, f"I_MPI_HBW_POLICY={policy}")


def _by_number(values: Sequence[str], local: str) -> tuple[str, str]:
    """Return what a shell does first, and the word that then is the value of its rank: a sum where one gives it, else of a list.

    >>> _by_number(["8", "9", "10"], "L"), _by_number(["4", "4", "5", "5"], "L"), _by_number(["7", "4"], "L")
    (('', '$((L+8))'), ('', '$((L/2+4))'), ('each() { shift $L; echo $1; }; ', '$(each 7 4)'))
    """
    if all(value.isdecimal() for value in values):
        numbers = [int(value) for value in values]
        for many in range(1, len(values)):
            if numbers == [numbers[0] + at // many for at in range(len(values))]:
                return "", f"$(({local}{f'/{many}' if many > 1 else ''}+{numbers[0]}))"
    return _listed(values, local)


def _listed(values: Sequence[str], local: str) -> tuple[str, str]:
    return f"{LISTED % local}; ", of_list(values)


BY_OPTION: dict[str, Literal["only", "prefer", "interleave"]] = {
    "-m": "only", "--membind": "only", "-p": "prefer", "--preferred": "prefer", "-P": "prefer", "--preferred-many": "prefer",
    "-i": "interleave", "--interleave": "interleave", "-w": "interleave", "--weighted-interleave": "interleave",
}  # fmt: skip

_SUM = re.compile(r"\$\(\(\w{1,64}(?:/(\d{1,4}))?\+(\d{1,4})\)\)", re.ASCII)
_OF_LIST = re.compile(r"\$\(each ([\d,. -]{1,4096})\)", re.ASCII)


def bound_memory(case: Prediction) -> BoundMemory | None:
    """Return where a line takes the memory of the first host's ranks from; None where none is said. Raises Refused, Unclear."""
    ranks = len(case.here) or ranks_here(case) or 1
    for binder in reversed((*case.line.words.around, *case.line.inner)):
        if binder.memory is not None:
            return BoundMemory(BY_OPTION[binder.by], nodes_of_each(case, binder.memory, ranks), binder.written[:80])
    return of_lines()[case.line.family].memory(case, ranks)


def nodes_of_each(case: Prediction, text: str, ranks: int) -> tuple[CpuSet | None, ...]:
    """Return the nodes that a word of numactl gives each local rank: the same to all, or by a shell's sum or list."""
    if match := _SUM.fullmatch(text):
        return tuple(_there(case, str(int(match[2]) + at // int(match[1] or 1))) for at in range(ranks))
    if match := _OF_LIST.fullmatch(text):
        words = match[1].split()
        return tuple(_there(case, words[at]) if at < len(words) else None for at in range(ranks))
    return (_there(case, text),) * ranks


def _there(case: Prediction, text: str) -> CpuSet | None:
    return None if "$" in text else CpuSet(memory_nodes(text, case.topology.inside))


def memory_in_words(case: Prediction) -> str:
    """Return what HBM a line gives its ranks, in a sentence; empty where that is nothing."""
    fast = fast_memory(case.machine)
    try:
        bound = bound_memory(case)
    except (Refused, Unclear, ValueError):
        return ""
    every = CpuSet(node.os_index for node in fast.nodes) if fast and fast.mode == "flat" else CpuSet()
    used = union(nodes for nodes in bound.nodes if nodes) if bound else CpuSet()
    if bound is None or not used & every:
        return ""
    how = {"only": "and no other memory", "prefer": "preferred to other memory", "interleave": "interleaved with other nodes"}
    return f" Memory: HBM, {nodes_in_words(used & every)}, {how[bound.strict]}."


def memory_warnings(case: Prediction) -> Iterator[LintWarning]:
    """Yield what is wrong with the memory of ranks: nodes that are not there, HBM that is far from a rank, or forgotten."""
    try:
        bound = bound_memory(case)
    except Refused as refusal:
        yield warning(
            "memory-beyond", str(refusal), "numactl refuses nodes that do not exist.", "numactl in the line", ADVISE, bad=True
        )
        return
    except (Unclear, ValueError):
        return
    fast = fast_memory(case.machine)
    if fast is None or fast.mode != "flat" or case.refused:
        return
    if bound is None:
        yield _unused(fast)
    else:
        yield from _far(case, fast, bound)


def _unused(fast: FastMemory) -> LintWarning:
    numbers, size = CpuSet(node.os_index for node in fast.nodes), sum(node.memory or 0 for node in fast.nodes) / 2**30
    one = "--preferred" if len(fast.nodes) == 1 else "--preferred-many"
    return warning(
        "hbm-unused",
        f"no rank uses the HBM, {nodes_in_words(numbers)} ({size:.4g} GiB)",
        "Memory comes from the node of the CPU that first touches it, and HBM nodes have no CPUs.",
        "the line binds no memory",
        f"numactl {one}={numbers} before the program; advisor bind --mem auto binds each rank to the nearest",
    )


def _far(case: Prediction, fast: FastMemory, bound: BoundMemory) -> Iterator[LintWarning]:
    """Yield a warning where ranks are bound to HBM, and not to that which is nearest to their CPUs."""
    every = CpuSet(node.os_index for node in fast.nodes)
    away = [
        (rank, nodes, near)
        for rank, (nodes, cpus) in enumerate(zip(bound.nodes, case.here, strict=False))
        if nodes and cpus and nodes & every and (near := CpuSet(fast.near(cpus))) and not nodes & near
    ]
    if away:
        rank, nodes, near = away[0]
        yield warning(
            "hbm-far",
            f"{count(len(away), 'rank')} on a node {'uses' if len(away) == 1 else 'use'} HBM that is not the nearest",
            "They share that HBM's bandwidth with the ranks near it, and each access crosses to another part of the processor.",
            f"{bound.written}: local rank {rank} takes node {nodes & every}, but {near} is nearest to its CPUs",
            ADVISE,
        )
