"""What is asked of other nodes, how they are named and reached, what they reply; what is no plain host name is refused."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

from advisor.errors import BadValue, CannotWork
from advisor.machine.hosts.live import LiveHost

FAN_OUT = 64
"""Number of nodes to contact at the same time."""


class Ended(StrEnum):
    """How asking a node came to its end."""

    ITSELF = "itself"
    TIMED_OUT = "timed out"
    TOO_MUCH = "too much"


class Outcome(StrEnum):
    """What became of asking one node."""

    ANSWERED = "answered"
    TIMED_OUT = "timed out"
    NO_ROUTE = "no route"
    REFUSED = "refused"
    HOST_KEY = "host key"
    PERMISSION = "permission"
    NO_SPACE = "no space"
    KILLED = "killed"
    TRUNCATED = "truncated"
    WRONG_NAME = "wrong name"
    FAILED = "failed"


@dataclass(frozen=True)
class Reply:
    """What one node printed, and how that ended; below zero the status is the signal that ended ssh or srun here."""

    node: str
    out: bytes
    err: bytes
    status: int | None
    ended: Ended = Ended.ITSELF


@dataclass(frozen=True)
class Errand:
    """What each node is to run, the same for all."""

    script: bytes
    ends: bytes = b""
    """What the last line of a whole answer begins with: the node's input is closed then."""


@dataclass(frozen=True)
class Way:
    """How nodes are reached: ssh, or where a partition is named one small job of Slurm for each node."""

    partition: str | None = None
    fan_out: int = FAN_OUT
    timeout: float = 60.0
    """Seconds for each node, from when it is asked; in Slurm's queue too."""
    exclusive: bool = False
    """A job has its node for itself."""

    @property
    def name(self) -> str:
        """Return what reaches the nodes."""
        return "ssh" if self.partition is None else "srun"


@dataclass(frozen=True)
class Line:
    """A launcher's line that is started here, and whose ranks run on nodes that it names."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?", re.ASCII)
_CONNECT = 10
"""Seconds for ssh to reach a node, where clush.conf says nothing."""
_PARTITION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", re.ASCII)


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, each once; refuse what is no plain host name: options, users, addresses of IPv6, paths."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise BadValue(f"{name[:60]!a} is not a plain host name", cure="for example node01 or node[01-08,11]")
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
        raise CannotWork(f"ClusterShell's clush.conf: {str(error)[:200]}; correct it") from error
    return {name: value for name, value in found.items() if value is not None} | {"connect_timeout": wait or _CONNECT}


def nodes_of_partition(partition: str) -> tuple[str, ...]:
    """Return the nodes of a partition as Slurm has them."""
    asked = ("sinfo", "--noheader", "--Node", f"--partition={checked_partition(partition)}", "--format=%N")
    ran = LiveHost().run(asked, timeout=30)
    names = tuple(dict.fromkeys((ran.text or "").split()))
    if not names:
        said = ran.err.decode("utf-8", "replace").strip().split("\n")[-1][:200] or ran.why or "nothing"
        raise CannotWork(f"sinfo lists no node in the partition {partition}: {said}; see sinfo, or give -w")
    return names


def checked_partition(partition: str) -> str:
    """Return the name of a partition; refuse what is none."""
    if not _PARTITION.fullmatch(partition):
        raise BadValue(f"{partition[:60]!a} is not a partition name", cure="see sinfo")
    return partition


def folded(names: Iterable[str]) -> str:
    """Return names as one text.

    >>> folded(["n001", "n002", "n003", "n007", "head"])
    'head,n[001-003,007]'
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    return str(NodeSet.fromlist(sorted(names), resolver=RESOLVER_NOGROUP))


def first_of(text: str) -> str:
    """Return the first name of a folded text.

    >>> first_of("r2n[19-40],r10n[1-3]"), first_of(folded(["b1", "a2", "a1"]))
    ('r2n19', 'a1')
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    return str(next(iter(NodeSet(text, resolver=RESOLVER_NOGROUP))))


def expanded(text: str) -> tuple[str, ...]:
    """Return the names of a folded text, in order.

    >>> expanded("n[1-3],head")
    ('head', 'n1', 'n2', 'n3')
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

    try:
        return tuple(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except (NodeSetException, ValueError) as error:
        raise BadValue(f"{text[:60]!r} is not a set of nodes", cure="write n[001-400], or n1,n2") from error
