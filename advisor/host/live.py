"""This machine: the only place that starts processes."""

import atexit
import os
import selectors
import shutil
import signal
import subprocess
from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from time import monotonic

from advisor.host.base import ENVIRONMENT_PREFIXES, Ran, Reading, Why
from advisor.host.files import LIMIT, names_in, read_file

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where dmidecode, lspci and ibstat lie on distributions that leave these folders out of a user's PATH."""

_AFTER_KILL = 1.0
"""Seconds; a process that a broken driver holds (nvidia-smi, ibstat) does not even end when it is killed."""


class LiveHost:
    """The machine that advisor runs on. Reading is all that is done to it."""

    name = "this machine"
    kind = "live"

    def __init__(self) -> None:
        self._ahead: dict[tuple[str, ...], Future[Ran]] = {}
        self._running: set[int] = set()

    def read(self, path: str) -> Reading:
        """Return what a file holds, at most 16 MiB."""
        return read_file(path)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted; () if it is not there or closed."""
        return names_in(path)

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, or None if nothing is there."""
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
                answer: Future[Ran] = Future()
                self._ahead[argv] = answer
                Thread(target=self._fill, args=(answer, argv, timeout), daemon=True).start()

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed, at most 16 MiB of it. It is never given to a shell and reads nothing."""
        ahead = self._ahead.get(argv)
        return self._run(argv, timeout) if ahead is None else ahead.result()

    def close(self) -> None:
        """End the commands that were started ahead and nobody waited for."""
        for group in tuple(self._running):
            _kill(group)

    def _fill(self, answer: Future[Ran], argv: tuple[str, ...], timeout: float) -> None:
        try:
            answer.set_result(self._run(argv, timeout))
        except BaseException as error:
            answer.set_exception(error)
            raise

    def _run(self, argv: tuple[str, ...], timeout: float) -> Ran:
        program = find(argv[0])
        if program is None:
            return Ran(why=Why.ABSENT)
        try:
            process = subprocess.Popen(
                argv,
                executable=program,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "LC_ALL": "C", "LANGUAGE": "C"},
                start_new_session=True,
            )
        except PermissionError:
            return Ran(why=Why.REFUSED)
        except (OSError, ValueError):  # no interpreter, another machine's program; a NUL in an argument
            return Ran(why=Why.FAILED)
        self._running.add(process.pid)
        try:
            return _watch(process, program, monotonic() + timeout)
        finally:
            self._running.discard(process.pid)


def find(program: str) -> str | None:
    """Return where a program lies: on PATH's absolute folders, or among those of the administrator."""
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(":") if folder.startswith("/")]
    return shutil.which(program, path=":".join((*folders, *SBIN)))


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
