"""Compares a site's slurm.conf with a machine, or with the nodes of a fleet's folder: what differs, and the line to write."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from advisor.advice.model.rule import SEVERITIES, Severity
from advisor.errors import BadInput, BadValue
from advisor.exports.export import is_fleet, nodes_alike
from advisor.exports.slurm_conf import Compared, Fix, NodeDifference, differences
from advisor.machine.hosts.files import open_here
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.machine.slurm import (
    PARAMETERS,
    ConfLine,
    SlurmConf,
    definition_of,
    found_by_slurmd,
    hostlist,
    said_node,
    total_memory,
)
from advisor.machine.slurm_conf import names_of, read_slurm_conf
from advisor.machine.units import count, plain

SCHEMA: Final = "advisor-slurm-check/1"
_LARGEST: Final = 16 << 20
"""Bytes of one file."""

Alike = tuple[tuple[str, ...], Machine]
"""Nodes whose facts are the same, and the machine of the first."""
Names = Mapping[ConfLine, frozenset[str]]
"""The names of each line of slurm.conf, and of those of gres.conf that have some."""


@dataclass(frozen=True)
class SlurmDifference:
    """One difference, of nodes that have it in common."""

    id: str
    severity: Severity
    place: str
    """slurm.conf line 12."""
    nodes: tuple[str, ...]
    claim: str
    cost: str
    write: str
    """The line that ends it."""


@dataclass(frozen=True)
class CheckedConf:
    """A slurm.conf against nodes."""

    file: str
    differences: tuple[SlurmDifference, ...]
    nodes: int
    """That were compared."""
    unread: tuple[str, ...] = ()
    not_known: tuple[str, ...] = ()

    def reaches(self, severity: Severity) -> bool:
        """Return whether a difference is as severe as this, or worse."""
        return any(SEVERITIES.index(each.severity) <= SEVERITIES.index(severity) for each in self.differences)

    def document(self) -> dict[str, Any]:
        """Return a check as JSON; the nodes of a difference as Slurm writes them."""
        rows = [{**asdict(each), "nodes": hostlist(each.nodes)} for each in self.differences]
        return {"schema": SCHEMA, **asdict(self), "differences": rows}

    def page(self) -> str:
        """Return the screen: what differs, what it costs, the line to write, the worst first."""
        return "".join(f"{line}\n" for line in _lines(self))


def check_slurm(file: str, source: str | None = None, observer: Observer = SILENT) -> CheckedConf:
    """Return what a slurm.conf, with the gres.conf beside it, says otherwise than a machine or the nodes of a fleet are."""
    conf = read_slurm_conf(file, text_of)
    if not conf.nodes:
        missing = f"; {conf.unread[0]}" if conf.unread else ""
        raise BadInput(f"defines no node{missing}", file=file, cure="give the slurm.conf that has NodeName lines")
    names = {line: names_of(line) for line in (*conf.nodes, *(line for line in conf.gres or () if line.nodes))}
    if source is not None and is_fleet(Path(source)):
        return checked(conf, names, nodes_alike(Path(source), observer))
    machine = read_machine(source, observer)
    if not machine.name and len(conf.nodes) > 1:
        problem = f"this source has no host name, and {conf.file} has {len(conf.nodes)} NodeName lines"
        raise BadValue(problem, cure="give a capture of the node, which has its name")
    return checked(conf, names, [((machine.name or min(names_of(conf.nodes[0])),), machine)])


def text_of(path: str) -> str:
    """Return a file's text, whatever its comments are written in; raise BadInput where it cannot be read."""
    try:
        with open_here(path) as file:
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or "cannot be read").lower()
        raise BadInput(why, file=path, cure="give the path of slurm.conf") from error
    if len(data) > _LARGEST:
        raise BadInput("larger than any slurm.conf", file=path)
    return data.decode("utf-8", "replace")


class _Group(NamedTuple):
    """Nodes of one line that differ from it alike; none of them may differ at all."""

    node: Compared
    found: tuple[NodeDifference, ...]
    members: list[str]


def checked(conf: SlurmConf, names: Names, nodes: Sequence[Alike]) -> CheckedConf:
    """Return what differs between a slurm.conf and nodes."""
    found = [*_lost(conf, names, nodes)]
    renamed = [line for line in conf.nodes if "nodehostname" in line.said]
    for line in (line for line in conf.nodes if line not in renamed):
        groups = _groups(conf, names, line, nodes)
        for node, rows, members in groups:
            alone = line.nodes if len(groups) == 1 and line.nodes else hostlist(members)
            fixes = [each.fix for each in rows if isinstance(each.fix, Fix)]
            fix = Fix(*(next(filter(None, values), None) for values in zip(*fixes, strict=True)))
            for each in rows:  # each with the whole line as it should be
                write = each.fix if isinstance(each.fix, str) else node.corrected(alone, fix)
                row = SlurmDifference(each.id, each.severity, each.place, tuple(members), each.claim, each.cost, write)
                found.append(row)
    found.sort(key=lambda each: (SEVERITIES.index(each.severity), each.place, each.write, each.id))
    shown = [(members[0], machine.topology) for members, machine in nodes]
    unknown = (
        *(f"{name}: its topology" for name, topology in shown if topology is None),
        *(f"{name}: its memory" for name, topology in shown if topology and total_memory(topology) is None),
        *(f"{line.place}: it has NodeHostName, and its nodes are not compared" for line in renamed),
    )
    return CheckedConf(conf.file, tuple(found), sum(len(members) for members, _ in nodes), conf.unread, unknown)


def _groups(conf: SlurmConf, names: Names, line: ConfLine, nodes: Sequence[Alike]) -> Sequence[_Group]:
    """Return the nodes of a line by what differs of them."""
    groups: dict[tuple[tuple[str, str, str], ...], _Group] = {}
    for members, machine in nodes:
        mine = [name for name in members if is_named(name, names[line])]
        node = _compared(conf, names, line, mine[0], machine) if mine else None
        if node is not None:
            found = tuple(differences(node))
            key = tuple((each.id, each.place, each.claim) for each in found)
            groups.setdefault(key, _Group(node, found, [])).members.extend(mine)
    return tuple(groups.values())


def is_named(name: str, names: frozenset[str]) -> bool:
    """Return whether a node is among the names of a line, by its whole or its short name."""
    return name in names or name.partition(".")[0] in names


def _compared(conf: SlurmConf, names: Names, line: ConfLine, name: str, machine: Machine) -> Compared | None:
    """Return a node beside its line; None where Slurm could not describe it, or nothing shows its topology."""
    wanted, topology = definition_of(machine), machine.topology
    if topology is None or wanted is None or not wanted.usable:
        return None
    parameters = conf.words("slurmdparameters") | {word.strip().lower() for word in line.said.get("parameters", "").split(",")}
    chosen = [word for word in PARAMETERS if word in parameters]
    found = found_by_slurmd(topology, PARAMETERS[chosen[0]]) if chosen else wanted.found
    gres = tuple(each for each in conf.gres or () if each.nodes is None or is_named(name, names[each]))
    known = found is not None
    return Compared(conf, line, said_node(line), machine, topology, wanted, found or wanted.found, gres, known, name)


def _lost(conf: SlurmConf, names: Names, nodes: Sequence[Alike]) -> Iterator[SlurmDifference]:
    """Yield nodes that two lines name, and those that none does, by the line they want.

    Nothing is said of the latter where a file that may have their line was not read.
    """
    every = [name for members, _ in nodes for name in members]
    seen = {name: [line for line in conf.nodes if is_named(name, names[line])] for name in every}
    twice = tuple(name for name, lines in seen.items() if len(lines) > 1)
    if twice:
        places = list(dict.fromkeys(line.place for line in seen[twice[0]]))
        claim, cost = "two lines define the same node", "slurmctld does not start again: Duplicated NodeHostName"
        write = f"remove it from {seen[twice[0]][-1].place}"
        yield SlurmDifference("slurm-node-twice", "high", " and ".join(places), twice, claim, cost, write)
    for members, machine in nodes if not conf.unread else ():
        mine = tuple(name for name in members if not seen[name])
        wanted = definition_of(machine, several=len(members) > 1)
        if mine and wanted:
            write = wanted.line(hostlist(mine)) if wanted.usable else "what slurmd -C prints there"
            claim, cost = "no NodeName line defines it", "no job ever runs there"
            yield SlurmDifference("slurm-node-not-defined", "medium", conf.file, mine, claim, cost, write)


def _lines(found: CheckedConf) -> Iterator[str]:
    nodes, number = count(found.nodes, "node"), len(found.differences)
    counts = [(word, sum(each.severity == word for each in found.differences)) for word in ("high", "medium", "low")]
    worst = ", ".join(f"{many} {word}" for word, many in counts if many)
    says = f"{count(number, 'difference')} on {nodes}: {worst}" if number else f"nothing differs that costs, on {nodes}"
    yield plain(f"{found.file}: {says}", 400)
    for (_, write), group in groupby(found.differences, key=lambda each: (each.place, each.write)):
        yield ""
        for each in group:
            yield f"{each.severity:<7} {plain(each.place, 200)}, {plain(hostlist(each.nodes), 200)}: {plain(each.claim, 300)}"
            yield f"  costs:  {plain(each.cost, 300)}"
            yield f"  id:     {each.id}"
        yield from (f"  {'write:' if at == 0 else '':<8}{plain(line, 4000)}" for at, line in enumerate(write.split("\n")))
    unread = (f"not read, and nothing is said of what stands there: {plain(each, 300)}" for each in found.unread)
    notes = [*unread, *(f"not known: {plain(each, 300)}" for each in found.not_known)]
    yield from ("", *notes) if notes else ()
