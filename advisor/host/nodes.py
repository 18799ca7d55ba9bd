"""Other nodes: the only place that asks them, over ssh or as jobs of Slurm; a script goes in, bounded output comes back.

ClusterShell fans out: so many nodes at once, each with its own time, one that hangs holds up no other. It brings the site's
own groups and the ssh options of clush.conf; ssh's own configuration and known_hosts hold as for anybody who types ssh, and
no option here weakens them. No name is ever part of a text that a shell reads.

The script's end of the line stays open until the node has answered: what runs there sees the end of its input when
whoever asked has gone, however it went, and can end by itself.
"""

import os
import select
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any, Final

from ClusterShell.CLI.Config import ClushConfig, ClushConfigError
from ClusterShell.Task import Task, task_self
from ClusterShell.Worker.Exec import ExecClient, ExecWorker
from ClusterShell.Worker.Ssh import SshClient

from advisor.errors import CannotWork
from advisor.host.live import find, interruptible
from advisor.host.node_lists import checked_names, checked_partition

FAN_OUT: Final = 64
LIMIT: Final = 24 << 20
"""Bytes that one node may print: a capture of a large server is below 4 MiB as base64."""
_ROOM: Final = 256 << 20
"""Bytes that all nodes together may have printed and not yet been heard."""
_ERRORS: Final = 1 << 14
"""Bytes kept of the end of what ssh or srun complained."""
_SHELL: Final = "exec /bin/sh -s"
"""The same in every login shell, csh and fish among them; what is to be run comes on standard input."""
_MOMENT: Final = 2.0
"""Seconds for a program that has closed its outputs to end."""
_GRANTS: Final = 10
"""Moments more for a node whose output waits to be read when its time is up."""
_GRACE: Final = 3.0
"""Seconds for those that are asked to end: srun takes its job back."""
_CONNECT: Final = 10


class Ended(StrEnum):
    """How asking a node came to its end."""

    ITSELF = "itself"
    TIMED_OUT = "timed out"
    TOO_MUCH = "too much"


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


def ask_nodes(nodes: Sequence[str], errand: Errand, way: Way, heard: Callable[[Reply], None]) -> None:
    """Run a script on many nodes; ``heard`` gets each reply as it comes. Ctrl-C ends all that is under way, and is raised.

    A node that was not asked yet, or was under way then, is never heard of.
    """
    names = checked_names(nodes)
    program = find(way.name)
    if program is None:
        raise CannotWork(f"there is no {way.name} here; install it, or ask from a node that has it")
    task = task_self()
    task.set_info("fanout", way.fan_out)
    _as_the_site_has_it(task)
    worker = _Worker(names, errand, way, program, heard)
    try:
        with interruptible():
            task.schedule(worker)
            task.resume()
    except OSError as error:
        raise CannotWork(
            f"{way.name} cannot be started: {(error.strerror or str(error)).lower()}; try a smaller --fan-out"
        ) from error
    finally:
        worker.heard = _unheard
        task.abort(kill=True)  # the next run begins with the site's own settings
        _end(worker.ending)


def _as_the_site_has_it(task: Task) -> None:
    """Let hold what clush.conf says of ssh."""
    given = dict.fromkeys(("quiet", "verbose", "debug", "fanout", "user", "options", "connect_timeout", "command_timeout"))
    try:
        config = ClushConfig(SimpleNamespace(**given, whencolor=None, maxrc=None, option=[]))
        found = {name: getattr(config, name) for name in ("ssh_user", "ssh_path", "ssh_options")}
        wait = int(config.connect_timeout)
    except (ClushConfigError, OSError, ValueError) as error:
        raise CannotWork(f"clush.conf of ClusterShell: {str(error)[:200]}; correct it") from error
    for name, value in found.items():
        if value is not None:
            task.set_info(name, value)
    task.set_info("connect_timeout", wait or _CONNECT)


class _Bounded(ExecClient):  # type: ignore[misc] # ClusterShell has no types
    """One node that is asked: what it prints is kept up to a limit, as bytes; a line without an end holds no more than others."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.out, self.err, self.too_much, self.whole = bytearray(), bytearray(), False, False
        self._grants = _GRANTS

    def _start(self) -> "_Bounded":
        super()._start()
        self._write(self.worker.SNAME_STDIN, self.worker.errand.script)
        return self

    def _handle_read(self, sname: str) -> None:
        data = self._read(sname)
        if sname != self.worker.SNAME_STDOUT:
            self.err += data
            del self.err[:-_ERRORS]
            return
        self.out += data
        self.worker.held += len(data)
        ends = self.worker.errand.ends
        if ends and ends in self.out[-len(data) - 200 :]:
            self.whole = True
            self._set_write_eof(self.worker.SNAME_STDIN)  # all is said: nothing there need wait for us
        if len(self.out) > LIMIT or self.worker.held > _ROOM:
            self.too_much = True
            self.abort()

    def _fire(self) -> None:
        """Time is up: but what has come and was not read yet, for this host is slow, is read first."""
        stream = self.streams.get(self.worker.SNAME_STDOUT)
        if self._grants and stream is not None and stream.fd is not None and _can_read(stream.fd):
            self._grants -= 1
            self.fire_delay = _MOMENT
            return
        super()._fire()

    def _flush_read(self, sname: str) -> None:
        """Leave nothing to flush: all was taken as it came."""

    def _close(self, abort: bool, timeout: bool) -> None:  # noqa: FBT001 - ClusterShell calls it so
        status = self.popen.poll() if abort or self.whole else _soon(self.popen)
        if status is None:
            self.worker.ask_to_end(self.popen)  # of one that has answered nobody need know how it ends
        self.streams.clear()
        self.invalidate()
        self.worker.held -= len(self.out)
        if timeout or self.too_much or not abort:
            ended = Ended.TIMED_OUT if timeout else Ended.TOO_MUCH if self.too_much else Ended.ITSELF
            self.worker.heard(Reply(self.key, bytes(self.out), bytes(self.err), status, ended))
        self.out.clear()
        self.worker._check_fini()  # noqa: SLF001 - a client tells its worker that it has closed


class _OverSsh(_Bounded, SshClient):  # type: ignore[misc] # nor has this one
    def _build_cmd(self) -> tuple[list[str], None]:
        command, _ = super()._build_cmd()
        # A master that ssh leaves behind (ControlPersist) would keep our end of its error output open; one that is there is used.
        command[-2:-2] = ["-T", "-oControlMaster=no", "-oClearAllForwardings=yes", "--"]
        command[0] = self.worker.program if command[0] == "ssh" else command[0]
        return command, None


class _BySrun(_Bounded):
    def _build_cmd(self) -> tuple[list[str], None]:
        return self.worker.srun(self.key), None


class _Worker(ExecWorker):  # type: ignore[misc] # nor has this one
    """Many nodes that are asked the same."""

    def __init__(self, nodes: Sequence[str], errand: Errand, way: Way, program: str, heard: Callable[[Reply], None]) -> None:
        self._names, self.errand, self._way, self.program, self.heard = nodes, errand, way, program, heard
        self.held = 0
        self.ending: list[Any] = []
        super().__init__(None, None, timeout=way.timeout, command=_SHELL, stderr=True)

    def _create_clients(self, **given: Any) -> None:
        client = _OverSsh if self._way.partition is None else _BySrun
        for name in self._names:
            self._clients.append(client(name, _SHELL, self, True, given["timeout"], False, None))  # noqa: FBT003 - as ClusterShell calls it

    def ask_to_end(self, process: Any) -> None:
        """Ask one that is under way to end; it is waited for in the end."""
        with suppress(OSError):
            process.send_signal(signal.SIGTERM if self._way.partition is None else signal.SIGINT)
        self.ending = [each for each in self.ending if each.poll() is None] + [process]

    def srun(self, node: str) -> list[str]:
        """Return the command that runs a shell on one node: a step of the job that this is in, or a small job of its own."""
        way = self._way
        own = (
            ["--overlap"] if "SLURM_JOB_ID" in os.environ else [f"--partition={checked_partition(way.partition or '')}", "--nice"]
        )
        alone = ["--exclusive"] if way.exclusive and "--overlap" not in own else []
        return [
            *(self.program, f"--nodelist={node}", "--nodes=1", "--ntasks=1", "--mpi=none", "--chdir=/", *own, *alone),
            *("--job-name=advisor-fleet", f"--time={ceil(way.timeout / 60) + 1}", "--quit-on-interrupt", "/bin/sh", "-s"),
        ]


def _can_read(handle: int) -> bool:
    asked = select.poll()
    asked.register(handle, select.POLLIN)
    return bool(asked.poll(0))


def _unheard(reply: Reply) -> None:
    """Drop what comes after the end."""
    del reply


def _soon(process: Any) -> int | None:
    """Return the status of a program whose outputs are closed, once it has ended; None where it takes longer than a moment."""
    ends = monotonic() + _MOMENT
    while (status := process.poll()) is None and monotonic() < ends:
        sleep(0.002)
    return status  # type: ignore[no-any-return] # ClusterShell has no types


def _end(ending: Sequence[Any]) -> None:
    """Wait for those that were asked to end; those that do not are killed."""
    ends = monotonic() + _GRACE
    left = list(ending)
    while (left := [each for each in left if each.poll() is None]) and monotonic() < ends:
        sleep(0.01)
    for each in left:
        with suppress(OSError):
            each.kill()
    for each in left:
        _soon(each)
