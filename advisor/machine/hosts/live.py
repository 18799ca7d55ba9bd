"""This machine: the only place that starts processes."""

import atexit
import os
import selectors
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
from threading import Thread, current_thread, main_thread
from time import monotonic
from typing import TypeVar

from advisor.machine.hosts.base import ENVIRONMENT_PREFIXES, Ran, Reading, Why, asks_the_network, quiet_environment
from advisor.machine.hosts.files import LIMIT, names_in, read_file, why_not_opened
from advisor.machine.hosts.registers import DeviceFiles
from advisor.machine.hosts.trust import Use, doubt_about, ledger

_T = TypeVar("_T")

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where dmidecode, lspci and ibstat lie on distributions that leave these folders out of a user's PATH."""

_AFTER_KILL = 1.0
"""Seconds; a process that a broken driver holds (nvidia-smi, ibstat) does not even end when it is killed."""

_GRACE = 3.0
"""Seconds in which a launcher that is asked to end may end its ranks on all hosts."""
_TAIL = 1 << 16
_MOMENT = 0.2
_LONGEST = 1 << 30


class LiveHost:
    """The machine that advisor runs on. Reading is all that is done to it."""

    name = "this machine"
    kind = "live"

    def __init__(self) -> None:
        self._ahead: dict[tuple[str, ...], Future[Ran]] = {}
        self._running: set[int] = set()
        self._devices = DeviceFiles()

    def read(self, path: str) -> Reading:
        """Return what a file holds, at most 16 MiB."""
        return self._devices.read(path) if self._devices.covers(path) else read_file(path)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted; () if it is not there or closed."""
        return self._devices.list(path) if self._devices.covers(path) else names_in(path)

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, or None if nothing is there."""
        if self._devices.covers(path):
            return path if self._devices.has(path) else None
        try:
            return os.path.realpath(path, strict=True)
        except (OSError, ValueError):
            return None

    def environment(self) -> dict[str, str]:
        """Return the variables that schedulers, MPI and OpenMP set; no others are looked at."""
        return {name: value for name, value in os.environ.items() if name.startswith(ENVIRONMENT_PREFIXES)}

    def prefetch(self, commands: Iterable[tuple[str, ...]], timeout: float = 10.0) -> None:
        """Start all the commands at once; a later run of the same one waits for its answer instead of starting it."""
        atexit.register(self.close)
        for argv in commands:
            if argv not in self._ahead:
                try:
                    self._ahead[argv] = begun(partial(self._run, argv, timeout))
                except RuntimeError:  # no room for a thread (ulimit -u, -v): each is run when it is asked for
                    return

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed, at most 16 MiB of it. It is never given to a shell and reads nothing."""
        ahead = self._ahead.get(argv)
        if ahead is None:
            return self._run(argv, timeout)
        try:
            return ahead.result()
        except MemoryError:  # each thread needs room of its own (ulimit -v): alone there may be enough
            return self._run(argv, timeout)

    def launch(
        self,
        argv: tuple[str, ...],
        hear: Callable[[bytes], None],
        *,
        timeout: float,
        variables: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run the user's own line as it is; ``hear`` gets what it prints as it comes, ``err`` is the end of what it complained.

        When time is up, or on Ctrl-C, the launcher is asked to end its ranks, then all that is left of it is killed.
        """
        program = find(argv[0])
        if program is None:
            return Ran(why=Why.ABSENT)
        begun_at = monotonic()
        # resolve() would follow mpirun to the orterun that asks how it was called
        process = _started(argv, os.path.abspath(program), {**os.environ, **(variables or {})})  # noqa: PTH100 - see above
        if isinstance(process, Ran):
            return process
        try:
            with interruptible():
                ran = _listen(process, program, hear, begun_at + timeout)
            return ran._replace(seconds=monotonic() - begun_at)
        finally:
            _end(process)

    def close(self) -> None:
        """End the commands that were started ahead and nobody waited for."""
        for group in tuple(self._running):
            _kill(group)

    def _run(self, argv: tuple[str, ...], timeout: float) -> Ran:
        program = find(argv[0])
        if program is None or asks_the_network(argv[0], program):
            return Ran(why=Why.ABSENT)
        process = _started(argv, program, quiet_environment(os.environ))
        if isinstance(process, Ran):
            return process
        self._running.add(process.pid)
        try:
            return _watch(process, program, monotonic() + timeout)
        finally:
            self._running.discard(process.pid)


def _started(argv: tuple[str, ...], program: str, environment: Mapping[str, str]) -> "subprocess.Popen[bytes] | Ran":
    """Start a program in a session of its own, with nothing to read; return why it cannot be."""
    try:
        return subprocess.Popen(
            argv,
            executable=program,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except PermissionError:
        return Ran(why=Why.REFUSED)
    except ValueError:  # a NUL in an argument
        return Ran(why=Why.FAILED)
    except OSError as error:  # no interpreter, another machine's program
        return Ran(why=why_not_opened(error))


def begun(work: Callable[[], _T]) -> "Future[_T]":
    """Begin some work in a thread that nobody has to wait for; raise RuntimeError where there is no room for one.

    What goes wrong is for whoever asks for the answer: a thread that raises prints a traceback besides.
    """
    if (
        getrlimit(RLIMIT_AS)[0] != RLIM_INFINITY
    ):  # a thread without memory to begin in is waited for without end, by Python itself
        raise RuntimeError("the address space is limited")
    answer: Future[_T] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - see above
            answer.set_exception(error)

    Thread(target=run, daemon=True).start()
    return answer


def find(program: str) -> str | None:
    """Return where a program lies: on PATH's absolute folders, or among those of the administrator.

    Root starts none that somebody else could have put there: it goes on looking, and says what it left.
    """
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(":") if folder.startswith("/")]
    for folder in ("", *folders, *SBIN) if "/" in program else (*folders, *SBIN):
        place = shutil.which(program, path=folder)
        doubt = doubt_about(place, Use.RUNS) if place and _is_real_root() else None
        if place and doubt is None:
            return place
        if place and doubt:
            ledger.say(place, f"{place} is not started as root: {doubt.problem}; {doubt.cure}")
    return None


def _is_real_root() -> bool:
    """Tell whether the caller is root, and not only so called in a user namespace, where no program is root's."""
    return os.geteuid() == 0 and os.lstat("/").st_uid == 0


def _watch(process: subprocess.Popen[bytes], program: str, deadline: float) -> Ran:
    """Return the answer of a started process; when its time or its room is used up, its whole group is ended."""
    why, out, err = _gather(process, deadline)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    if why is None and not _ends(process, deadline - monotonic()):
        why = Why.TIMEOUT
    if why is None:
        return Ran(out, err, process.returncode, path=program)
    _kill(process.pid)
    _ends(process, _AFTER_KILL)
    return Ran(why=why, path=program)


def _ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Tell whether a process ends in time."""
    try:
        process.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        return False
    return True


def _gather(process: subprocess.Popen[bytes], deadline: float) -> tuple[Why | None, bytes, bytes]:
    """Return both outputs up to their end, or why they did not end."""
    texts = {"out": bytearray(), "err": bytearray()}
    with selectors.DefaultSelector() as selector:
        for name, pipe in (("out", process.stdout), ("err", process.stderr)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, texts[name])
        while selector.get_map():
            left = deadline - monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                return Why.TIMEOUT, b"", b""
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                key.data.extend(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
            if sum(map(len, texts.values())) > LIMIT:
                return Why.FAILED, b"", b""
    return None, bytes(texts["out"]), bytes(texts["err"])


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the signals that end a job end what is run here as Ctrl-C does."""
    if current_thread() is not main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen(process: subprocess.Popen[bytes], program: str, hear: Callable[[bytes], None], deadline: float) -> Ran:
    """Return how a process ended, or that it did not; a child that keeps its output open is not waited for."""
    errors, heard = bytearray(), 0
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ended = process.poll() is not None
            left = deadline - monotonic()
            ready = selector.select(max(0.0, min(left, _MOMENT)))
            if not ready and ended:
                break
            if left <= 0 or heard > _LONGEST:
                return Ran(err=bytes(errors), why=Why.TIMEOUT if left <= 0 else Why.FAILED, path=program)
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                heard += len(chunk)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    hear(chunk)
                else:
                    errors += chunk
                    del errors[:-_TAIL]
    if not _ends(process, deadline - monotonic()):
        return Ran(err=bytes(errors), why=Why.TIMEOUT, path=program)
    return Ran(err=bytes(errors), status=process.returncode, path=program)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with its whole session: ask first, so that a launcher ends its ranks; then insist."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        _ends(process, _GRACE)
    for pid in _session(process.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    _ends(process, _AFTER_KILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _session(leader: int) -> Iterator[int]:
    """Yield the processes of a session: launchers put each rank into a group of its own, but rarely into another session."""
    for name in names_in("/proc"):
        if name.isdigit():
            fields = read_file(f"/proc/{name}/stat").data.rpartition(b")")[2].split()
            if len(fields) > 3 and fields[3] == b"%d" % leader:
                yield int(name)
