"""Other nodes: the only place that asks them, over ssh or as jobs of Slurm; a script goes in, bounded output comes back.

ClusterShell fans out: so many nodes at once, each with its own time, one that hangs holds up no other. It brings the site's
own groups and the ssh options of clush.conf; ssh's own configuration and known_hosts hold as for anybody who types ssh, and
no option here weakens them. No name is ever part of a text that a shell reads.

The script's end of the line stays open until the node has answered: what runs there sees the end of its input when
whoever asked has gone, however it went, and can end by itself.
"""

import os
import re
import select
import signal
from base64 import b64decode
from binascii import Error, unhexlify
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep
from typing import Any

from ClusterShell.Defaults import config_paths
from ClusterShell.Event import EventHandler
from ClusterShell.Task import task_self
from ClusterShell.Topology import TopologyError
from ClusterShell.Worker.Exec import ExecClient, ExecWorker
from ClusterShell.Worker.Ssh import SshClient
from jinja2 import Environment, StrictUndefined

from advisor.errors import CannotWork, one_line
from advisor.machine.hosts.errands import Ended, Errand, Line, Outcome, Reply, Way, checked_names, checked_partition, ssh_settings
from advisor.machine.hosts.live import find, interruptible
from advisor.paths import template

LIMIT = 24 << 20
"""Bytes that one node may print."""


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


_ROOM = 256 << 20
"""Bytes that all nodes together may have printed and not yet been heard."""
_ERRORS = 1 << 14
"""Bytes kept of the end of what ssh or srun complained."""
_SHELL = "exec /bin/sh -s"
"""The same in every login shell, csh and fish among them; what is to be run comes on standard input."""
_MOMENT = 2.0
"""Seconds for a program that has closed its outputs to end."""
_GRANTS = 10
"""Moments more for a node whose output waits to be read when its time is up."""
_SRUN_OUTPUT = (
    "SLURM_LABELIO", "SLURM_STDINMODE", "SLURM_STDOUTMODE", "SLURM_STDERRMODE", "SRUN_INPUT", "SRUN_OUTPUT", "SRUN_ERROR",
)  # fmt: skip
"""What a caller may have set for other jobs, and would put a label before each line of an answer, or send it to a file."""
_GRACE = 3.0
"""Seconds for those that are asked to end: srun takes its job back."""


def ask_nodes(nodes: Sequence[str], errand: Errand, way: Way, heard: Callable[[Reply], None]) -> None:
    """Run a script on many nodes; ``heard`` gets each reply as it comes. Ctrl-C ends all that is under way, and is raised.

    A node that was not asked yet, or was under way then, is never heard of.
    """
    names = checked_names(nodes)
    program = find(way.name)
    if program is None:
        raise CannotWork(f"{way.name} was not found on this host; install it, or run this on a node that has it")
    task = task_self()
    if way.partition is None and has_gateways(task):
        _run(None, way.fan_out, way.name, lambda: ask_over_gateways(task, names, errand, way, shell=_SHELL, heard=heard))
    else:
        _run(_Nodes(names, errand, way, program, heard), way.fan_out, way.name)


def start_lines(lines: Sequence[Line], heard: Callable[[Reply], None], *, at_once: int, timeout: float) -> None:
    """Start launchers' lines, so many at a time, each with its own time; ``heard`` gets each reply, by the line's name.

    Ctrl-C asks those that are under way to end their ranks, and is raised.
    """
    for program in dict.fromkeys(line.argv[0] for line in lines):
        if find(program) is None:
            raise CannotWork(f"{program} is not installed here; load the MPI's module")
    if lines:
        _run(_Launchers(lines, timeout, heard), at_once, lines[0].argv[0])


def _run(worker: "_Worker | None", at_once: int, what: str, begin: Callable[[], Replies] | None = None) -> None:
    """Run all that a worker has, or what is begun here, so many at a time; nothing of it is left whatever happens."""
    task = task_self()
    for name, value in {"fanout": at_once, **ssh_settings()}.items():
        task.set_info(name, value)
    replies = None
    try:
        with interruptible():
            replies = begin() if begin else task.schedule(worker)
            task.resume()
            if replies:
                replies.over([str(node) for node in task.iter_keys_timeout()])
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CannotWork(f"{what} cannot be started: {why}; try a smaller --fan-out") from error
    finally:
        if replies:
            replies.heard = _unheard
        if worker:
            worker.heard = _unheard
        task.abort(kill=True)  # the next run begins with the site's own settings
        _end(worker.ending if worker else ())


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


class _Launcher(_Bounded):
    """A launcher's line; its standard input is empty."""

    def _start(self) -> "_Launcher":
        super()._start()
        self._set_write_eof(self.worker.SNAME_STDIN)
        return self

    def _build_cmd(self) -> tuple[list[str], dict[str, str]]:
        line = self.worker.lines[self.key]
        return list(line.argv), dict(line.environment)


class _Worker(ExecWorker):  # type: ignore[misc] # nor has this one
    """Many that are started here, and what is heard of them."""

    stop = signal.SIGTERM
    """The signal that asks one to end."""

    def __init__(self, errand: Errand, timeout: float, heard: Callable[[Reply], None]) -> None:
        self.errand, self.heard = errand, heard
        self.held = 0
        self.ending: list[Any] = []
        super().__init__(None, None, timeout=timeout, command=_SHELL, stderr=True)

    def _add(self, kind: type[_Bounded], names: Iterable[str], timeout: float) -> None:
        for name in names:
            self._clients.append(kind(name, _SHELL, self, True, timeout, False, None))  # noqa: FBT003 - as ClusterShell calls it

    def ask_to_end(self, process: Any) -> None:
        """Ask one that is under way to end; it is waited for in the end."""
        with suppress(OSError):
            process.send_signal(self.stop)
        self.ending = [each for each in self.ending if each.poll() is None] + [process]


class _Launchers(_Worker):
    """Lines of launchers."""

    def __init__(self, lines: Sequence[Line], timeout: float, heard: Callable[[Reply], None]) -> None:
        self.lines = {line.name: line for line in lines}
        super().__init__(Errand(b""), timeout, heard)

    def _create_clients(self, **given: Any) -> None:
        self._add(_Launcher, self.lines, given["timeout"])


class _Nodes(_Worker):
    """Nodes that are asked the same."""

    def __init__(self, nodes: Sequence[str], errand: Errand, way: Way, program: str, heard: Callable[[Reply], None]) -> None:
        self._names, self._way, self.program = nodes, way, program
        self.stop = signal.SIGTERM if way.partition is None else signal.SIGINT
        super().__init__(errand, way.timeout, heard)

    def _create_clients(self, **given: Any) -> None:
        self._add(_OverSsh if self._way.partition is None else _BySrun, self._names, given["timeout"])

    def srun(self, node: str) -> list[str]:
        """Return the command that runs a shell on one node: a step of the job that this is in, or a small job of its own."""
        way = self._way
        own = (
            ["--overlap"] if "SLURM_JOB_ID" in os.environ else [f"--partition={checked_partition(way.partition or '')}", "--nice"]
        )
        alone = ["--exclusive"] if way.exclusive and "--overlap" not in own else []
        clean = [word for name in _SRUN_OUTPUT for word in ("-u", name)]
        task = ("--nodes=1", "--ntasks=1", "--mpi=none", "--chdir=/", *own, *alone, "--job-name=advisor-fleet")
        minutes = f"--time={ceil(way.timeout / 60) + 1}"
        return [*("env", *clean, self.program, f"--nodelist={node}", *task, minutes), "--quit-on-interrupt", "/bin/sh", "-s"]


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


_LONGEST = 300
_SSH = 255
_SIGNALS = 128
_KILLED = (128 + 9, 128 + 15)
_LOGIN = "the login did not start sh -s; look for a restricted shell, a forced command or an exit in .bashrc"
_PROGRESS = re.compile(r"(?:capture|measure)\.sh: (?:looking|copying|running|wrote)|\s*$")
_REASONS = (
    (r"host key verification failed|remote host identification has changed|no .*host key is known", Outcome.HOST_KEY),
    (r"permission denied|too many authentication failures", Outcome.PERMISSION),
    (r"account is (?:locked|expired|(?:currently )?not available)", Outcome.PERMISSION),
    (r"no space left on device|disk quota exceeded", Outcome.NO_SPACE),
    (r"no route to host|network is unreachable|could not resolve hostname|name or service not known", Outcome.NO_ROUTE),
    (r"invalid node name|invalid host|node name .*invalid", Outcome.NO_ROUTE),
    (r"connection refused", Outcome.REFUSED),
    (r"connection timed out|operation timed out|connection to .* timed out|timed out during banner exchange", Outcome.TIMED_OUT),
)
"""What ssh, srun and the shell say; of ssh.c, sshconnect.c, readconf.c and strerror(3)."""


@dataclass(frozen=True)
class Brought:
    """What one node answered: the file that the script wrote, or why there is none."""

    outcome: Outcome
    why: str | None = None
    file: bytes = b""


def new_mark() -> str:
    """Return the mark of one run, by which an answer is known among what else is printed on a node."""
    return f"advisor-{token_hex(8)}"


def measure_script(text: str, values: Mapping[str, object]) -> str:
    """Return what runs kernels on another node, from a template; ``values`` are quoted where they are made."""
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701 - a shell script
    return environment.from_string(text).render(values)


def errand(script: str, mark: str) -> Errand:
    """Return what runs a script on a node, with ``-o FILE``, and brings the file that it writes.

    ``mark`` is one word that the script has nowhere.
    """
    values = {"mark": re.sub(r"[^\w-]", "_", mark), "script": script.rstrip("\n")}
    return Errand(measure_script(template("on_node.sh.j2"), values).encode(), f"{mark} end ".encode())


def brought(reply: Reply, mark: str) -> Brought:
    """Return what a node's reply is: told by its mark, so that what a login shell prints does no harm."""
    said = reply.err.decode("utf-8", "replace")
    if reply.ended is Ended.TOO_MUCH:
        return Brought(Outcome.FAILED, f"printed more than {len(reply.out) >> 20} MiB, and was cut off")
    _, begun, body = _marked(reply.out, mark, b"begin")
    file, ended, rest = _marked(body if begun else reply.out, mark, b"end")
    if not ended and reply.ended is Ended.TIMED_OUT:
        return Brought(Outcome.TIMED_OUT, _last(said, "srun:") or "no complete answer in time; try a longer --timeout")
    if not ended:
        return _without_end(reply, said, begun=bool(begun))
    words = rest.split()
    good = len(words) == 2 and all(word.isdigit() and len(word) < 12 for word in words)
    status, size = (int(words[0]), int(words[1])) if good else (1, 0)
    if status:
        return _unwell(status, said)
    data = _decoded(begun, file)
    if data is None:
        return Brought(Outcome.TRUNCATED, "other output is mixed into the answer; do not start background jobs in login scripts")
    if len(data) != size:
        return Brought(Outcome.TRUNCATED, f"the answer has {len(data)} bytes instead of {size}")
    if not data:
        return Brought(Outcome.FAILED, _last(said) or "the script ended with status 0 but wrote no file")
    return Brought(Outcome.ANSWERED, None, data)


def _marked(out: bytes, mark: str, word: bytes) -> tuple[bytes, bytes, bytes]:
    """Return what is before a line of ours, the word behind it, and what comes after."""
    match = re.search(rb"(?:^|\n)%s %s ([^\n]{1,40})\n" % (mark.encode(), word), out)
    return (
        (out[: match.start()], match[1].strip(), out[match.end() :] if word == b"begin" else match[1])
        if match
        else (out, b"", b"")
    )


def _decoded(form: bytes, text: bytes) -> bytes | None:
    try:
        if form == b"base64":
            return b64decode(b"".join(text.split()), validate=True)
        return unhexlify(b"".join(text.split())) if form == b"od" else b""
    except (Error, ValueError):
        return None


def _unwell(status: int, said: str) -> Brought:
    """Return what a script's own failure is: ssh let it in, so that of all complaints only a full disk has a name."""
    outcome = Outcome.NO_SPACE if _reason(said) is Outcome.NO_SPACE else Outcome.FAILED
    if status > _SIGNALS:
        killed = Outcome.KILLED if outcome is Outcome.FAILED else outcome
        return Brought(killed, f"the script was killed by signal {status - _SIGNALS} on the node")
    words = _last(said) if outcome is Outcome.FAILED else _words(said)
    return Brought(outcome, words or f"the script ended with status {status} on the node and printed no error")


def _without_end(reply: Reply, said: str, *, begun: bool) -> Brought:
    """Return what an answer is that has no end: ssh's own failure, a shell that was killed, a line that was cut, or junk."""
    if begun:
        return Brought(Outcome.TRUNCATED, _words(said) or "the connection ended in the middle of the answer")
    if not said.strip():
        said = reply.out[:400].decode("utf-8", "replace")
    reason, words, status = _reason(said), _words(said), reply.status
    if reason is not None:
        return Brought(reason, words)
    if status in _KILLED or (status is not None and status < 0) or (status == _SSH and not words):
        return Brought(Outcome.KILLED, words or "the shell on the node was killed")  # ssh has no status for a signal
    if status == _SSH:
        return Brought(Outcome.FAILED, words)
    return Brought(Outcome.FAILED, f"{_LOGIN}: {(words or 'it printed nothing')[:120]} (status {status})")


def _reason(said: str) -> Outcome | None:
    """Return what ssh or the shell complained of; the last complaint counts, for a banner may be before it."""
    for line in reversed(said.splitlines()):
        for pattern, outcome in _REASONS:
            if re.search(pattern, line, re.IGNORECASE):
                return outcome
    return None


def _words(said: str) -> str | None:
    """Return the line that tells why, as one that steers no terminal."""
    lines = [line for line in said.splitlines() if not _PROGRESS.match(line)]
    telling = [line for line in lines if any(re.search(pattern, line, re.IGNORECASE) for pattern, _ in _REASONS)]
    return one_line((telling or lines)[-1])[:_LONGEST] if lines else None


def _last(said: str, begins: str = "") -> str | None:
    lines = [line for line in said.splitlines() if line.startswith(begins) and not _PROGRESS.match(line)]
    return one_line(lines[-1])[:_LONGEST] if lines else None
