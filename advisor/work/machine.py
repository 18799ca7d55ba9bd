"""Reads the machine that --from names, or this one, and its counters of faults before and after the work."""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLong
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from advisor.collect.fault_counters import Counters, look, watched
from advisor.collect.sources import collect_machine, commands
from advisor.errors import AdvisorError, BadInput, BadMachine
from advisor.host.base import Host, second_look, seconds_since
from advisor.host.files import open_here, write_file
from advisor.host.live import LiveHost
from advisor.host.source import LARGEST_DOCUMENT, open_host, read_json
from advisor.model.cpuset import bounded_sets
from advisor.model.hardware.fault_counters import Watch
from advisor.model.hardware.machine import SCHEMA, Gap, Machine

if TYPE_CHECKING:
    from rich.console import RenderableType


_MOMENT = 1.0
_PIECE = 4096


def load(source: str | None) -> Machine:
    """Return the machine that --from names, or this one."""
    data = None if source is None else json_data(source)
    if source is not None and data is not None:
        return machine_from_json(data, source)
    try:
        with progress("reading the machine") as step:
            return collect_machine(open_machine(source), step)
    except BadInput as error:
        raise error.within(source or "this machine") from error


def open_machine(source: str | None) -> Host:
    """Return the host that --from names, or this machine with its commands already under way."""
    if source is not None:
        place = Path(source)
        return _opened(source, place.stat().st_mtime_ns) if place.is_file() else open_host(source)
    host = LiveHost()
    host.prefetch(commands())
    return host


@lru_cache(maxsize=1)
def _opened(source: str, _changed: int) -> Host:
    """Return what a file holds; an audit asks it twice, for the machine and for its counters."""
    return open_host(source)


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is being done once it takes longer than a moment; yields a function that names the step."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    begun, shown = time.monotonic(), False

    def step(name: str) -> None:
        nonlocal shown
        if time.monotonic() - begun > _MOMENT:
            sys.stderr.write(f"\r\x1b[Kadvisor: {what}: {name[:60]}")
            sys.stderr.flush()
            shown = True

    try:
        yield step
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")


_CURE = "write it again with advisor topology --json"


def machine_from_json(data: bytes, source: str) -> Machine:
    """Return the Machine that a JSON document holds: as it is, or inside the output of a command's --json."""
    try:
        found = read_json(data, _CURE)
        if isinstance(found, dict) and isinstance(found.get("machine"), dict):
            found = found["machine"]
        if isinstance(found, dict) and found.get("schema_version", SCHEMA) != SCHEMA:
            problem = f"its schema_version is {str(found.get('schema_version'))[:20]}, this advisor reads {SCHEMA}"
            raise BadMachine(problem, cure="update advisor, or write the file again")
        with bounded_sets():
            machine = Machine.model_validate_json(json.dumps(found))
    except BadInput as error:
        raise error.within(source) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:120]
        raise BadMachine(
            f"not a Machine: {first['msg'][:120]}", file=source, place=place or None, cure="see advisor topology --json"
        ) from error
    if machine.topology is None:
        raise BadMachine("a Machine without a topology", file=source, cure="write it with advisor topology --json")
    return machine


def json_data(source: str) -> bytes | None:
    """Return what a file holds if it looks like JSON, None if it is to be opened as a host."""
    try:
        if not Path(source).is_file():
            return None
        with open_here(source) as file:
            head = file.read(64) or b""
            return head + (file.read(LARGEST_DOCUMENT) or b"") if head.lstrip().startswith(b"{") else None
    except OSError:
        return None


_UNPRINTABLE = re.compile("[^\n -~]")


def _escaped(match: re.Match[str]) -> str:
    """Return a letter as it is if it can be printed, else as JSON escapes it: no name may steer the terminal."""
    return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]


def say(text: str) -> None:
    """Print a text of any length: a console may take less than one long write offers it, and Python unbuffered drops the rest."""
    for start in range(0, len(text), _PIECE):
        sys.stdout.write(text[start : start + _PIECE])
    sys.stdout.flush()


def emit_json(document: object, output: Path | None) -> None:
    """Print a document as JSON, or write it to a file."""
    text = _UNPRINTABLE.sub(_escaped, json.dumps(document, indent=1, ensure_ascii=False)) + "\n"
    if output is None:
        say(text)
    else:
        write_whole(output, text.encode())


def emit(renderables: "list[RenderableType]", output: Path | None, *, color: bool, width: int | None = None) -> None:
    """Print what rich can draw, to the terminal or without colours to a file."""
    from io import StringIO, TextIOWrapper

    from rich.console import Console

    if output is None:
        if _plain_locale() and isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="ascii", errors="replace")
        console = Console(no_color=not color or None, highlight=False, width=width, soft_wrap=False)
        for renderable in renderables:
            console.print(renderable, crop=False)  # a command to be copied is longer than a narrow terminal
        return
    buffer = StringIO()
    console = Console(file=buffer, no_color=True, highlight=False, width=width or 120)
    for renderable in renderables:
        console.print(renderable, crop=False)
    write_whole(output, buffer.getvalue().encode())


def _plain_locale() -> bool:
    """Return whether the locale was set to C, which Python itself takes for UTF-8: a console that may draw no frames."""
    whole, letters = os.environ.get("LC_ALL"), os.environ.get("LC_CTYPE", "")
    coerced = letters in ("", "C", "POSIX", "C.UTF-8", "C.utf8", "UTF-8")  # what PEP 538 writes there, among them
    return (whole or (os.environ.get("LANG", "") if coerced else "")) in ("C", "POSIX")


def write_whole(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file so that nobody ever sees half of it; with ``private`` for its owner alone."""
    write_file(path, data, private=private)


_PATIENCE: Final = 5.0
"""Seconds for a look: a driver asks its card for each counter, and one that is sick may not answer at all."""
_SICK: Final = Gap(
    fact="watch",
    why=f"the counters could not be read within {_PATIENCE:g} seconds",
    help="see which file hangs: cat /sys/class/infiniband/*/ports/*/counters/symbol_error",
)


class CounterWatch:
    """Begun before the work, ended after it: what rose meanwhile."""

    def __init__(self, source: str | None) -> None:
        self._source = source
        self._live: Host | None = LiveHost() if source is None else None
        self._begun = monotonic()
        self._first = _looking(self._live) if self._live else None

    def ended(self) -> Watch | None:
        """Return what two looks tell: of this machine, or of a capture; one look of a tree; None of what is no host."""
        if self._live is None or self._first is None:
            return _kept(self._source or "")
        try:
            first = self._first.result(_PATIENCE)
            if not first:  # nothing counts here: not worth a second
                return watched(self._live, first)
            seconds = seconds_since(self._begun)
            return watched(self._live, first, _looking(self._live).result(_PATIENCE), seconds)
        except TooLong:
            return Watch(gaps=(_SICK,))


def _looking(host: "Host") -> "Future[Counters]":
    """Begin a look that nobody has to wait for: the thread of one that hangs is left behind."""
    seen: Future[Counters] = Future()

    def run() -> None:
        try:
            seen.set_result(look(host))
        except BaseException as error:
            seen.set_exception(error)
            raise

    Thread(target=run, daemon=True).start()
    return seen


def _told(document: Any) -> Watch | None:
    """Return what an audit's document holds; a Machine's alone holds nothing that changes."""
    watch = document.get("watch") if isinstance(document, dict) else None
    return Watch.model_validate_json(json.dumps(watch)) if isinstance(watch, dict) else None


def _kept(source: str) -> Watch | None:
    try:
        data = json_data(source)
        if data is not None:
            return _told(read_json(data, "write it again with advisor audit --json"))
        host = open_machine(source)
    except (AdvisorError, ValidationError):  # said where the machine is read
        return None
    if host.kind == "hwloc xml":
        return None
    second, first = second_look(host), look(host)
    return watched(host, first) if second is None else watched(host, first, look(second.host), second.seconds)
