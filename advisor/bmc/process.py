"""What a process owes that has a password and writes: no core, no traceback with it, no Ctrl-C between a write and its answer."""

import ctypes
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event
from typing import Any, NoReturn

from advisor.errors import Interrupted


class Secret(str):
    """A text that is sent and never shown: tracebacks with locals, logs and pages have stars for it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return "***"


@dataclass(frozen=True)
class Login:
    """Who logs in."""

    user: str
    password: Secret


def keep_out_of_cores() -> None:
    """Let no core of this process be written: a password is in its memory."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: a core that is piped asks for no limit


@contextmanager
def seen_to_its_end(stop: Event) -> Iterator[None]:
    """Let the first Ctrl-C wait until a login or a write has its answer: a session without its token is never closed.

    It ends waiting meanwhile; a second one waits for nothing. A thread beside the main one gets no Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def hold(*_: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(1)
        stop.set()

    before = signal.signal(signal.SIGINT, hold)
    try:
        yield
    except Interrupted:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
    if came:
        raise KeyboardInterrupt


def interrupt() -> NoReturn:
    """End what waits after Ctrl-C: the command itself, or one of many beside the main thread."""
    if threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt
    raise Interrupted("interrupted")


class Hearing:
    """Notes a Ctrl-C as well as raising it: Python drops what is raised while it ends an import's lock, and goes on."""

    def __init__(self, stop: Event) -> None:
        self.came = False
        self._stop = stop
        self._before: Any = None

    def begin(self) -> None:
        """Hear from now on; a thread beside the main one gets no Ctrl-C."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._hear)

    def _hear(self, *_: object) -> None:
        self.came = True
        self._stop.set()
        raise KeyboardInterrupt

    def end(self) -> None:
        """Leave it to whoever heard it before."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        self._before = None
