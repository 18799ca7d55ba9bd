"""Finds the line of each node, compares it, and says what differs of all nodes that have it in common.

What slurmctld and slurmd do with a line that differs was seen on 22.05.8 with simulated nodes (tests/compare/slurm).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from advisor.advice.model.rule import SEVERITIES
from advisor.exports.slurm_conf.cores import cores_differ
from advisor.exports.slurm_conf.gpus import gpus_differ
from advisor.exports.slurm_conf.node import Compared, Fix, Found
from advisor.exports.slurm_difference import CheckedConf, SlurmDifference
from advisor.machine.machine import Machine
from advisor.machine.slurm_conf import ConfLine, SlurmConf, said_node
from advisor.machine.slurm_definition import definition_of, hostlist, total_memory
from advisor.machine.slurm_node import PARAMETERS, found_by_slurmd

Alike = tuple[tuple[str, ...], Machine]
"""Nodes whose facts are the same, and the machine of the first."""
Names = Mapping[ConfLine, frozenset[str]]
"""The names of each line of slurm.conf, and of those of gres.conf that have some."""


@dataclass
class _Group:
    """Nodes of one line that differ from it alike; none of them may differ at all."""

    node: Compared
    found: tuple[Found, ...]
    members: list[str]

    def differences(self, names: str) -> Iterator[SlurmDifference]:
        """Yield what differs, each with the whole line as it should be."""
        fix = reduce(Fix.__or__, (each.fix for each in self.found if isinstance(each.fix, Fix)), Fix())
        for each in self.found:
            write = each.fix if isinstance(each.fix, str) else self.node.corrected(names, fix)
            yield SlurmDifference(each.id, each.severity, each.place, tuple(self.members), each.claim, each.cost, write)


def checked(conf: SlurmConf, names: Names, nodes: Sequence[Alike]) -> CheckedConf:
    """Return what differs between a slurm.conf and nodes."""
    differences: list[SlurmDifference] = [*_lost(conf, names, nodes)]
    renamed = [line for line in conf.nodes if "nodehostname" in line.said]
    for line in conf.nodes:
        groups = () if line in renamed else _groups(conf, names, line, nodes)
        for group in groups:
            alone = line.nodes if len(groups) == 1 and line.nodes else hostlist(group.members)
            differences += group.differences(alone)
    differences.sort(key=lambda each: (SEVERITIES.index(each.severity), each.place, each.write, each.id))
    unknown = (
        *(f"{members[0]}: its topology" for members, machine in nodes if machine.topology is None),
        *(
            f"{members[0]}: its memory"
            for members, machine in nodes
            if machine.topology and total_memory(machine.topology) is None
        ),
        *(f"{line.place}: it has NodeHostName, and its nodes are not compared" for line in renamed),
    )
    return CheckedConf(conf.file, tuple(differences), sum(len(members) for members, _ in nodes), conf.unread, unknown)


def _groups(conf: SlurmConf, names: Names, line: ConfLine, nodes: Sequence[Alike]) -> Sequence[_Group]:
    """Return the nodes of a line by what differs of them."""
    groups: dict[tuple[tuple[str, str, str], ...], _Group] = {}
    for members, machine in nodes:
        mine = [name for name in members if is_named(name, names[line])]
        node = _compared(conf, names, line, mine[0], machine) if mine else None
        if node is not None:
            found = (*cores_differ(node), *gpus_differ(node))
            key = tuple((each.id, each.place, each.claim) for each in found)
            groups.setdefault(key, _Group(node, found, [])).members.extend(mine)
    return tuple(groups.values())


def is_named(name: str, names: frozenset[str]) -> bool:
    """Return whether a node is among the names of a line, by its whole or its short name."""
    return name in names or name.partition(".")[0] in names


def _compared(conf: SlurmConf, names: Names, line: ConfLine, name: str, machine: Machine) -> Compared | None:
    """Return a node beside its line; None where Slurm could not describe it, or nothing shows its topology."""
    wanted = definition_of(machine)
    if machine.topology is None or wanted is None or not wanted.usable:
        return None
    parameters = conf.words("slurmdparameters") | {word.strip().lower() for word in line.said.get("parameters", "").split(",")}
    chosen = [word for word in PARAMETERS if word in parameters]
    as_sockets = found_by_slurmd(machine.topology, PARAMETERS[chosen[0]]) if chosen else wanted.found
    return Compared(
        conf=conf,
        line=line,
        said=said_node(line),
        machine=machine,
        topology=machine.topology,
        wanted=wanted,
        found=as_sockets or wanted.found,
        gres=tuple(each for each in conf.gres or () if each.nodes is None or is_named(name, names[each])),
        sockets_known=as_sockets is not None,
        name=name,
    )


def _lost(conf: SlurmConf, names: Names, nodes: Sequence[Alike]) -> Iterator[SlurmDifference]:
    """Yield nodes that no line names, and those that two lines name."""
    every = [name for members, _ in nodes for name in members]
    seen = {name: [line for line in conf.nodes if is_named(name, names[line])] for name in every}
    twice = [name for name, lines in seen.items() if len(lines) > 1]
    if twice:
        places = " and ".join(dict.fromkeys(line.place for line in seen[twice[0]]))
        yield SlurmDifference(
            "slurm-node-twice",
            "high",
            places,
            tuple(twice),
            "two lines define the same node",
            "slurmctld does not start again: Duplicated NodeHostName",
            f"remove it from {seen[twice[0]][-1].place}",
        )
    yield from _not_defined(conf, nodes, [name for name, lines in seen.items() if not lines])


def _not_defined(conf: SlurmConf, nodes: Iterable[Alike], missing: Sequence[str]) -> Iterator[SlurmDifference]:
    """Yield nodes without a line, by the line they want; nothing where a file that may have it was not read."""
    if conf.unread:
        return
    for members, machine in nodes:
        mine = tuple(name for name in members if name in set(missing))
        wanted = definition_of(machine, several=len(members) > 1)
        if mine and wanted:
            yield SlurmDifference(
                "slurm-node-not-defined",
                "medium",
                conf.file,
                mine,
                "no NodeName line defines it",
                "no job ever runs there",
                wanted.line(hostlist(mine)) if wanted.usable else "what slurmd -C prints there",
            )
