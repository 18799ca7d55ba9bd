"""The node's definition for slurm.conf, and its GPUs for gres.conf, in Slurm's own numbers of the cores."""

from collections.abc import Iterator, Mapping, Sequence

from advisor.errors import BadValue
from advisor.exports.export import ExportOptions, ExportSubject
from advisor.machine.slurm import Definition, definition_of, hostlist
from advisor.machine.units import plain

TITLE = "NodeName lines for slurm.conf, and gres.conf for GPUs; --check FILE compares a slurm.conf"
ORDER = 10
PROVEN = "slurmd (-C, -G) and slurmctld 22.05.8"
TAKES = ("machine", "alike")
COMMENT = "#"

UNNAMED = "NODE"
"""What stands for a name that the source does not have."""
_NEAR = 64
"""Nodes whose memory differs by less than a 64th share a line, with the RealMemory of the least."""


def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
    """Return slurm.conf's lines, and gres.conf where a GPU can be written there."""
    rows = rows_of(subject)
    if not any(row.usable for _, row in rows):
        raise BadValue(
            "hwloc's tree of this machine has no sockets or no cores, and slurmd itself finds 0 there",
            cure="run slurmd -C on the node, and give only CPUs= in slurm.conf",
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
    yield f"# advisor {options.version}: what slurmd -C prints, except RealMemory"
    for names, made in written:
        about = f"{names}: " if len(written) > 1 else ""
        yield from (f"# {about + plain(note, 400)}" for note in notes(names, made))
    for each in subject.fleet.incidents if subject.fleet else ():
        if each.action == "drain" and each.kind:
            yield f"# {each.nodes}: differs from its line: {plain(each.text, 200)}"


def notes(names: str, made: Definition) -> Iterator[str]:
    """Yield what a line rests on, what would be better, and what is not known."""
    found = made.found
    if names == UNNAMED:
        yield "NodeName: unknown because this source has no host name; replace NODE with the node's name"
    if made.memory and made.total:
        yield (
            f"RealMemory: MemTotal ({made.total} MiB) minus {made.total - made.memory} MiB; Slurm drains a node that reports "
            f"less than its NodeName line, and kdump alone takes up to {(made.total - made.memory) // 2} MiB"
        )
    else:
        yield "RealMemory: unknown, and without it Slurm assumes 1 MiB; write what slurmd -C prints, minus 1024"
    if found.threads > 1:
        yield f"CPUs: counts hardware threads; write CPUs={found.described // found.threads} if jobs request cores"
    if not found.even:
        left = found.cpus - found.described
        yield f"CPUs: slurmd -C prints {found.cpus}; sockets or cores differ in a way Slurm cannot describe; {left} get no jobs"
    elif not found.alike:
        yield "CoresPerSocket: sockets or cores differ, so Slurm's CPU numbering crosses the socket boundaries"
    if made.other:
        word, other = made.other
        yield (
            f"Each GPU is near only part of a socket. SlurmdParameters={word} on all nodes lets jobs request that part; "
            "the line is then"
        )
        yield f"  {other.line(names)}"
    yield from made.not_known


def _gres(rows: Sequence[tuple[str, Definition]], options: ExportOptions) -> Iterator[str]:
    for names, made in rows:
        yield from (each.line(names) for each in made.gpus)
    yield f"# advisor {options.version}; slurm.conf needs GresTypes=gpu"
    yield "# Cores are Slurm's own numbers, socket by socket, and not the kernel's CPU numbers; slurmd -G reads this file"
