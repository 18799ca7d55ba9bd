"""Kinds of cores of one machine: which is faster, and which a job asks for."""

import re

from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import CoreKind
from advisor.machine.machine import Machine


def ranked_kinds(machine: Machine) -> tuple[CoreKind, ...]:
    """Return the kinds of cores, the fastest first; () where there is one, or nothing ranks them."""
    kinds = (machine.cpu and machine.cpu.kinds) or ()
    ranked = sorted((kind for kind in kinds if kind.speed is not None), key=lambda kind: -(kind.speed or 0))
    return tuple(ranked) if len(ranked) == len(kinds) > 1 else ()


def cores_of_kind(name: str) -> str:
    """Return what several cores of a kind are called.

    >>> cores_of_kind("P-core"), cores_of_kind("core of capacity 718"), cores_of_kind("Cortex-X925")
    ('P-cores', 'cores of capacity 718', 'Cortex-X925')
    """
    return re.sub(r"\bcore\b", "cores", name, count=1)


def cpus_of_kind(machine: Machine, wish: str) -> CpuSet | None:
    """Return the CPUs of the kind that is asked for, fast, slow, or by its name; None where all kinds may be taken."""
    if wish in ("auto", "any"):
        return None
    kinds = (machine.cpu and machine.cpu.kinds) or ()
    ranked = ranked_kinds(machine)
    if wish in ("fast", "slow") and not ranked:
        problem = "nothing in this input ranks its kinds of cores" if kinds else "this node shows one kind of cores"
        cure = f"name one: {', '.join(kind.name for kind in kinds)}" if kinds else "leave --core-kind out"
        raise BadValue(f"--core-kind {wish}: {problem}", cure=cure)
    by_word = {"fast": ranked[:1], "slow": ranked[-1:]}.get(wish)
    chosen = by_word or [kind for kind in kinds if kind.name.casefold() == wish.casefold()]
    if not chosen:
        known = ", ".join(kind.name for kind in kinds) or "none"
        raise BadValue(f"--core-kind {wish}: this node has no such kind of cores", cure=f"there are: {known}")
    return chosen[0].cpus
