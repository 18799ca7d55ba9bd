"""The node's definition for slurm.conf, and its GPUs for gres.conf, in Slurm's own numbers of the cores."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from advisor.errors import BadValue
from advisor.exports.export import ExportOptions, ExportSubject
from advisor.machine.slurm import Definition, definition_of, hostlist
from advisor.machine.units import plain

TITLE: Final = "NodeName lines for slurm.conf, and gres.conf where there are GPUs; --check FILE compares a slurm.conf"
ORDER: Final = 10
PROVEN: Final = "slurmd (-C, -G) and slurmctld 22.05.8"
TAKES: Final = ("machine", "alike")
COMMENT: Final = "#"

UNNAMED: Final = "NODE"
"""What stands for a name that the source does not have."""
_NEAR: Final = 64
"""Nodes whose memory differs by less than a 64th share a line, with the RealMemory of the least."""


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return slurm.conf's lines, and gres.conf where a GPU can be written there."""
    rows = rows_of(subject)
    if not any(row.usable for _, row in rows):
        raise BadValue(
            "hwloc's tree of this machine has no sockets or no cores, and slurmd itself finds 0 there",
            cure="run slurmd -C on the node, and give CPUs= alone",
        )
    made = {f"{options.prefix}-nodes.conf": "".join(f"{line}\n" for line in _definitions(rows, subject, options))}
    if any(row.gpus for _, row in rows):
        made[f"{options.prefix}-gres.conf"] = "".join(f"{line}\n" for line in _gres(rows, options))
    return made


def rows_of(subject: ExportSubject) -> list[tuple[str, Definition]]:
    """Return names, folded, with the definition of their nodes: a line each."""
    if subject.machine is not None:
        made = definition_of(subject.machine)
        if made is None:
            raise BadValue("the topology of this machine is unknown", cure="give a capture, or an hwloc XML")
        return [((subject.machine.name or UNNAMED).partition(".")[0], made)]
    found = [
        (names, made) for names, each in subject.alike if (made := definition_of(each, several=len(names) > 1)) and made.usable
    ]
    return [(hostlist(names), made) for names, made in _joined(found)]


def _joined(found: Sequence[tuple[Sequence[str], Definition]]) -> Iterator[tuple[Sequence[str], Definition]]:
    """Yield nodes that want the same line together, but for memory that differs little: the least of it holds for all."""
    groups: dict[str, list[tuple[Sequence[str], Definition]]] = {}
    for names, made in found:
        key = repr(
            (made.found.described, made.found.boards, made.found.sockets, made.found.threads, made.gpus, bool(made.memory))
        )
        groups.setdefault(key, []).append((names, made))
    for rows in groups.values():
        together: list[tuple[Sequence[str], Definition]] = []
        for names, made in sorted(rows, key=lambda row: row[1].memory or 0):
            if together and (made.memory or 0) - (together[-1][1].memory or 0) <= (made.memory or 0) // _NEAR:
                together[-1] = ((*together[-1][0], *names), together[-1][1])
            else:
                together.append((names, made))
        yield from together


def _definitions(rows: Sequence[tuple[str, Definition]], subject: ExportSubject, options: ExportOptions) -> Iterator[str]:
    written = [row for row in rows if row[1].usable]
    yield from (made.line(names) for names, made in written)
    yield f"# advisor {options.version}: what slurmd -C prints, but for RealMemory"
    for names, made in written:
        about = f"{names}: " if len(written) > 1 else ""
        yield from (f"# {about + plain(note, 400)}" for note in notes(names, made))
    for each in subject.fleet.incidents if subject.fleet else ():
        if each.action == "drain" and each.kind:
            yield f"# {each.nodes}: not as its line says: {plain(each.text, 200)}"


def notes(names: str, made: Definition) -> Iterator[str]:
    """Yield what a line rests on, what would be better, and what is not known."""
    found = made.found
    if names == UNNAMED:
        yield "NodeName: not known, this source has no host name; put the node's own in place of NODE"
    if made.memory and made.total:
        yield (
            f"RealMemory: MemTotal ({made.total} MiB) less {made.total - made.memory}; a node that reports less than its line is "
            f"drained, and kdump alone takes up to {(made.total - made.memory) // 2}"
        )
    else:
        yield "RealMemory: not known, and without it Slurm takes 1 MiB; write what slurmd -C prints, less 1024"
    if found.threads > 1:
        yield f"CPUs: hardware threads; write CPUs={found.described // found.threads} where jobs ask for cores"
    if not found.even:
        left = found.cpus - found.described
        yield f"CPUs: slurmd -C prints {found.cpus}; sockets or cores differ, and {left} get no job: Slurm cannot describe them"
    elif not found.alike:
        yield "CoresPerSocket: sockets or cores differ, and Slurm's CPU numbers cross from one socket to the next"
    if made.other:
        word, other = made.other
        yield f"GPUs are near parts of a socket: SlurmdParameters={word}, on all nodes, lets jobs have those; the line is then"
        yield f"  {other.line(names)}"
    yield from made.not_known


def _gres(rows: Sequence[tuple[str, Definition]], options: ExportOptions) -> Iterator[str]:
    for names, made in rows:
        yield from (each.line(names) for each in made.gpus)
    yield f"# advisor {options.version}; slurm.conf wants GresTypes=gpu"
    yield "# Cores are Slurm's own numbers, socket by socket, and not the kernel's CPU numbers; slurmd -G reads this file"
