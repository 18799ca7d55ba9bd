"""Names of nodes: what is no plain host name is refused before anything is run; what the site says: groups, partitions, ssh."""

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final

from advisor.errors import BadValue, CannotWork
from advisor.machine.hosts.live import LiveHost

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?", re.ASCII)
_CONNECT: Final = 10
"""Seconds for ssh to reach a node, where clush.conf says nothing."""
_PARTITION: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", re.ASCII)


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, each once; refuse what is no plain host name: options, users, addresses of IPv6, paths."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadValue(f"{name[:60]!a} is not a plain host name", cure="write such as node01 or node[01-08,11]")
    return tuple(dict.fromkeys(names))


def members(group: str) -> tuple[str, ...]:
    """Return the nodes of one of the site's groups, such as @rack1, as ClusterShell's groups.conf has them."""
    from ClusterShell.Defaults import config_paths
    from ClusterShell.NodeSet import NodeSet, NodeSetException
    from ClusterShell.NodeUtils import GroupResolverConfig, GroupResolverError

    try:
        return tuple(NodeSet(group, resolver=GroupResolverConfig(config_paths("groups.conf"))))
    except (NodeSetException, GroupResolverError) as error:
        raise BadValue(f"{group[:60]!a}: ClusterShell says: {str(error)[:200]}", cure="see nodeset -L") from error


def ssh_settings() -> dict[str, Any]:
    """Return what the site's clush.conf says of ssh, as ClusterShell's tasks take it."""
    from ClusterShell.CLI.Config import ClushConfig, ClushConfigError

    given = dict.fromkeys(("quiet", "verbose", "debug", "fanout", "user", "options", "connect_timeout", "command_timeout"))
    try:
        config = ClushConfig(SimpleNamespace(**given, whencolor=None, maxrc=None, option=[]))
        found = {name: getattr(config, name) for name in ("ssh_user", "ssh_path", "ssh_options")}
        wait = int(config.connect_timeout)
    except (ClushConfigError, OSError, ValueError) as error:
        raise CannotWork(f"clush.conf of ClusterShell: {str(error)[:200]}; correct it") from error
    return {name: value for name, value in found.items() if value is not None} | {"connect_timeout": wait or _CONNECT}


def nodes_of_partition(partition: str) -> tuple[str, ...]:
    """Return the nodes of a partition as Slurm has them."""
    asked = ("sinfo", "--noheader", "--Node", f"--partition={checked_partition(partition)}", "--format=%N")
    ran = LiveHost().run(asked, timeout=30)
    names = tuple(dict.fromkeys((ran.text or "").split()))
    if not names:
        said = ran.err.decode("utf-8", "replace").strip().split("\n")[-1][:200] or ran.why or "nothing"
        raise CannotWork(f"sinfo names no node of the partition {partition}: {said}; see sinfo, or give -w")
    return names


def checked_partition(partition: str) -> str:
    """Return the name of a partition; refuse what is none."""
    if not _PARTITION.fullmatch(partition):
        raise BadValue(f"{partition[:60]!a} is not a name of a partition", cure="see sinfo")
    return partition
