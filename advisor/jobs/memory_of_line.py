"""Which memory the ranks of a launch line get on a machine with HBM, and what is wrong with it."""

import re
from collections.abc import Iterator
from typing import Final, Literal

from advisor.jobs.launcher import of_lines
from advisor.jobs.placement import LintWarning
from advisor.jobs.predict import memory_nodes
from advisor.jobs.request import ADVISE, BoundMemory, Prediction, Refused, Unclear, ranks_here, warning
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.partitioning import FastMemory, fast_memory, nodes_in_words
from advisor.machine.units import count

BY_OPTION: Final[dict[str, Literal["only", "prefer", "interleave"]]] = {
    "-m": "only", "--membind": "only", "-p": "prefer", "--preferred": "prefer", "-P": "prefer", "--preferred-many": "prefer",
    "-i": "interleave", "--interleave": "interleave", "-w": "interleave", "--weighted-interleave": "interleave",
}  # fmt: skip

_SUM: Final = re.compile(r"\$\(\(\w{1,64}(?:/(\d{1,4}))?\+(\d{1,4})\)\)", re.ASCII)
_OF_LIST: Final = re.compile(r"\$\(each ([\d,. -]{1,4096})\)", re.ASCII)


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
    how = {"only": "from no other memory", "prefer": "from there first", "interleave": "there in turn with other nodes"}
    return f" Memory: HBM, {nodes_in_words(used & every)}, {how[bound.strict]}."


def memory_warnings(case: Prediction) -> Iterator[LintWarning]:
    """Yield what is wrong with the memory of ranks: nodes that are not there, HBM that is far from a rank, or forgotten."""
    try:
        bound = bound_memory(case)
    except Refused as refusal:
        yield warning("memory-beyond", str(refusal), "It refuses what is not there.", "numactl in the line", ADVISE, bad=True)
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
        f"no rank gets memory of the HBM, {nodes_in_words(numbers)} ({size:.4g} GiB)",
        "Memory comes from the node of the CPU that touches it first, and HBM nodes have no CPUs.",
        "the line binds no memory",
        f"numactl {one}={numbers} before the program; advisor bind --mem auto binds each rank to its nearest",
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
            f"{count(len(away), 'rank')} of a node {'takes' if len(away) == 1 else 'take'} HBM that is not the nearest",
            "Its bandwidth is shared with the ranks beside it, and each access crosses to another part of the processor.",
            f"{bound.written}: local rank {rank} takes node {nodes & every}, nearest to its CPUs is {near}",
            ADVISE,
        )
