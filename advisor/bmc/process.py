"""What a process owes that has a password and writes: no core, no traceback with it, no Ctrl-C between a write and its answer."""

import ctypes
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event

from advisor.errors import Interrupted


class Secret(str):
    """A text that is sent and never shown: tracebacks with locals, logs and pages have stars for it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return "***"


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
