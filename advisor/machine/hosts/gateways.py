"""Nodes behind gateways: ClusterShell's tree mode, where the site's own topology.conf says which gateway reaches whom.

Gateways need ClusterShell and a Python like ours. They hand lines on, so that what a node prints comes line by line; a node
has no input of its own there, whose end could tell it that it was heard: it ends by itself.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ClusterShell.Defaults import config_paths
from ClusterShell.Event import EventHandler
from ClusterShell.Topology import TopologyError

from advisor.machine.hosts.errands import Ended, Errand, Reply, Way

LIMIT: Final = 24 << 20
"""Bytes that one node may print."""
_ERRORS: Final = 1 << 14


def has_gateways(task: Any) -> bool:
    """Return whether the site has a topology.conf, and this host a place in it; the task has it loaded then."""
    for file in reversed(config_paths("topology.conf")):
        if Path(file).is_file():
            with suppress(TopologyError, OSError):
                task.load_topology(file)
                return task.topology is not None
            return False  # a host that it does not name reaches nodes as if there were none
    return False


def ask_over_gateways(
    task: Any, names: Sequence[str], errand: Errand, way: Way, *, shell: str, heard: Callable[[Reply], None]
) -> "Replies":
    """Have a task run a script on many nodes through gateways; what is heard of them comes while the task runs."""
    replies = Replies(names, errand, heard)
    worker = task.shell(shell, nodes=",".join(names), handler=replies, timeout=way.timeout, stderr=True, tree=True)
    worker.write(errand.script)
    return replies


class Replies(EventHandler):  # type: ignore[misc] # ClusterShell has no types
    """What comes of each node."""

    def __init__(self, names: Sequence[str], errand: Errand, heard: Callable[[Reply], None]) -> None:
        self.heard, self._errand = heard, errand
        self._said = {name: (bytearray(), bytearray()) for name in names}

    def ev_read(self, worker: Any, node: str, sname: str, msg: bytes) -> None:
        """Keep a line, up to a limit."""
        if node not in self._said:
            return
        out, err = self._said[node]
        if sname != worker.SNAME_STDOUT:
            err += msg + b"\n"
            del err[:-_ERRORS]
            return
        out += msg + b"\n"
        if len(out) > LIMIT:
            self._reply(node, None, Ended.TOO_MUCH)
        elif self._errand.ends and msg.startswith(self._errand.ends):
            self._reply(node, 0, Ended.ITSELF)
        if not self._said:
            worker.set_write_eof()

    def ev_hup(self, worker: Any, node: str, rc: int) -> None:
        """Take how a node's ssh ended."""
        del worker
        self._reply(node, rc, Ended.ITSELF)

    def over(self, late: Sequence[str]) -> None:
        """Say of those that are left that their time was up, or that their gateway did not answer."""
        for node in tuple(self._said):
            if node not in late:
                self._said[node][1].extend(b"ssh: no route to host: its gateway did not answer\n")
            self._reply(node, None if node in late else 255, Ended.TIMED_OUT if node in late else Ended.ITSELF)

    def _reply(self, node: str, status: int | None, ended: Ended) -> None:
        said = self._said.pop(node, None)
        if said is not None:
            self.heard(Reply(node, bytes(said[0]), bytes(said[1]), status, ended))
