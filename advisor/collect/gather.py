"""Asks every source in the folder and joins their answers into one Machine."""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import NamedTuple

import advisor.collect
from advisor.collect import watch
from advisor.collect.cards import with_cards
from advisor.collect.fabrics import with_fabrics
from advisor.errors import AdvisorError, CannotWork
from advisor.host.base import Host
from advisor.model.cpuset import bounded_sets
from advisor.model.hardware.machine import Gap, Machine, merge
from advisor.model.hardware.topology import Counts, counts


class Source(NamedTuple):
    """A module of this folder that yields facts."""

    name: str
    paths: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    rank: int
    collect: Callable[[Host], Machine]


@cache
def sources() -> tuple[Source, ...]:
    """Return the sources, the most believed first."""
    modules = (import_module(f"advisor.collect.{info.name}") for info in pkgutil.iter_modules(advisor.collect.__path__))
    found = [
        Source(module.__name__.rpartition(".")[2], tuple(module.PATHS), tuple(module.COMMANDS), module.RANK, module.collect)
        for module in modules
        if hasattr(module, "RANK")
    ]
    return tuple(sorted(found, key=lambda source: (source.rank, source.name)))


def paths() -> tuple[str, ...]:
    """Return every pattern of files that some source, or the watch over counters, reads: what a capture keeps."""
    return tuple(sorted({path for source in sources() for path in source.paths} | {*watch.PATHS}))


def commands() -> tuple[tuple[str, ...], ...]:
    """Return every command that some source runs."""
    return tuple(sorted({command for source in sources() for command in source.commands} | {*watch.COMMANDS}))


def counters() -> tuple[str, ...]:
    """Return the patterns of counters, which a capture keeps twice."""
    return watch.TWICE


def collect_machine(host: Host, step: Callable[[str], None] = lambda _: None) -> Machine:
    """Return everything the sources learnt of a host; raise if not even its CPUs can be told; ``step`` hears their names."""
    parts, failures = [], []
    for source in sources():
        step(source.name)
        try:
            with bounded_sets():
                parts.append(source.collect(host))
        except AdvisorError as error:
            failures.append(error)
            parts.append(Machine(gaps=(Gap(fact=source.name, why=str(error), help="the other sources were still asked"),)))
    machine = with_fabrics(with_cards(merge((*parts, Machine(gaps=_disagreement(parts))))))
    if machine.topology is None:
        raise failures[0] if failures else CannotWork(f"{host.name} does not show a single CPU; give a capture or an hwloc XML")
    return machine


def _disagreement(parts: list[Machine]) -> tuple[Gap, ...]:
    """Return a gap where two sources count the machine differently: the first one's word is used, and the user knows."""
    told = [counts(part.topology.inside) for part in parts if part.topology]
    if len({*told}) < 2:
        return ()
    words = "; ".join(f"{name} {_few(count)}" for name, count in zip(("lstopo", "/sys"), told, strict=False))
    return (Gap(fact="agreement", why=f"two sources count differently: {words}", help="lstopo's word is used; compare by hand"),)


def _few(count: Counts) -> str:
    return f"{count.packages} packages, {count.numa_nodes} nodes, {count.l3} L3, {count.cores} cores, {count.pus} PUs"
