"""What a connection to a BMC is made of, and what a process owes that has a password and writes."""

import ctypes
import re
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Literal, NamedTuple, NoReturn
from urllib.parse import urlsplit

from advisor.errors import BadValue, CannotWork, Interrupted


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


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command: by Ctrl-C, by a scheduler or a system that goes down, by a terminal that is closed."""


@contextmanager
def hearing(hear: Callable[..., None]) -> Iterator[None]:
    """Hear what ends a command, in the main thread alone; what is ignored, as under nohup, stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.getsignal(each) for each in _ENDING}
    for number in (number for number, handler in before.items() if handler is not signal.SIG_IGN):
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def as_interrupt(*_: object) -> NoReturn:
    """End by an interrupt, whichever of the signals it was: sessions are closed on the way."""
    raise KeyboardInterrupt


@contextmanager
def seen_to_its_end(stop: Event) -> Iterator[None]:
    """Let the first Ctrl-C wait until a login or a write has its answer: a session without its token is never closed.

    It ends waiting meanwhile; a second one waits for nothing. A thread beside the main one gets no Ctrl-C.
    """
    came: list[int] = []

    def hold(*_: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(1)
        stop.set()

    with hearing(hold):
        try:
            yield
        except Interrupted:
            if threading.current_thread() is not threading.main_thread():
                raise
            raise KeyboardInterrupt from None
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
        self._until = ExitStack()

    def begin(self) -> None:
        """Hear from now on."""
        self._until.enter_context(hearing(self._hear))

    def _hear(self, *_: object) -> None:
        self.came = True
        self._stop.set()
        raise KeyboardInterrupt

    def end(self) -> None:
        """Leave it to whoever heard it before."""
        self._until.close()


class Trust(NamedTuple):
    """By what a BMC is known to be itself: an authority's certificate, its own certificate, or nothing."""

    ca: Path | None = None
    pin: str | None = None
    """SHA-256 of the BMC's own certificate."""
    insecure: bool = False

    @property
    def how(self) -> Literal["not verified (--insecure)", "pinned certificate", "certificate authority"]:
        """Return it in words, for the record."""
        if self.insecure:
            return "not verified (--insecure)"
        return "pinned certificate" if self.pin else "certificate authority"


class Answer(NamedTuple):
    """What a BMC answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        """Return it without what it holds: a BMC may send back what it was sent."""
        return f"Answer({self.status}, {len(self.body)} bytes)"


class NoAnswer(CannotWork):
    """A request was sent, and no whole answer came: whether it was done is not known."""


Resource = dict[str, Any]


class Address(NamedTuple):
    """Where a BMC is."""

    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        """Return the address as a request needs it."""
        return f"{self.scheme}://{self._host}:{self.port}"

    @property
    def name(self) -> str:
        """Return the address as messages name it: without what is usual."""
        if self.scheme == "http":
            return self.url
        return self._host if self.port == 443 else f"{self._host}:{self.port}"

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def address_of(text: str, *, insecure: bool = False) -> Address:
    """Return the address that a host name or a URL means."""
    url = text if "://" in text else f"https://{text}"
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise BadValue("the BMC's address contains a user name or a password", cure="docs/bios.md lists the ways to give them")
    try:
        port = parts.port
    except ValueError:
        port = -1
    host = parts.hostname or ""
    fits = re.fullmatch(r"[A-Za-z0-9._:%-]{1,255}", host) and parts.scheme in ("http", "https") and port not in (-1, 0)
    odd = not text.isprintable() or " " in text  # urlsplit leaves a line's end out, and means another host
    if odd or not fits or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise BadValue(f"{text[:80]} is not a BMC address", cure="write bmc01, bmc01:8443, [fd00::1] or https://bmc01")
    if parts.scheme == "http" and not insecure:
        raise BadValue(f"{host}: http sends the password in clear text", cure="write https, or allow http with --insecure")
    return Address(parts.scheme, host, port or {"https": 443, "http": 80}[parts.scheme])
