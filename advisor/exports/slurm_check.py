"""Compares a site's slurm.conf with a machine, or with the nodes of a fleet's folder."""

from pathlib import Path
from typing import Final

from advisor.errors import BadInput, BadValue
from advisor.exports.export import is_fleet, nodes_alike
from advisor.exports.slurm_conf.check import Alike, checked
from advisor.exports.slurm_difference import CheckedConf
from advisor.machine.hosts.files import open_here
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.machine.slurm_conf import SlurmConf
from advisor.measure.imports.slurm_conf import names_of, read_slurm_conf

_LARGEST: Final = 16 << 20
"""Bytes of one file."""


def check_slurm(file: str, source: str | None = None, observer: Observer = SILENT) -> CheckedConf:
    """Return what a slurm.conf, with the gres.conf beside it, says otherwise than a machine or the nodes of a fleet are."""
    conf = read_slurm_conf(file, text_of)
    if not conf.nodes:
        missing = f"; {conf.unread[0]}" if conf.unread else ""
        raise BadInput(f"defines no node{missing}", file=file, cure="give the slurm.conf that has NodeName lines")
    names = {line: names_of(line) for line in (*conf.nodes, *(line for line in conf.gres or () if line.nodes))}
    nodes = _nodes(source, observer)
    if len(nodes) == 1 and nodes[0][0] == ("",):
        nodes = ((_only_name(conf), nodes[0][1]),)
    return checked(conf, names, nodes)


def _nodes(source: str | None, observer: Observer) -> tuple[Alike, ...]:

    if source is not None and is_fleet(Path(source)):
        return nodes_alike(Path(source), observer)
    machine = read_machine(source, observer)
    return (((machine.name or "",), machine),)


def _only_name(conf: SlurmConf) -> tuple[str, ...]:
    """Return a name of the only line there is, for a machine without one."""
    if len(conf.nodes) > 1:
        raise BadValue(
            f"this source has no host name, and {conf.file} has {len(conf.nodes)} NodeName lines",
            cure="give a capture of the node, which has its name",
        )
    return (min(names_of(conf.nodes[0])),)


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
