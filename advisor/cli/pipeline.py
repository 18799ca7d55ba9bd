"""Strings the rooms together: from an option to a Machine, from a value to the terminal or a file."""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from advisor.collect.gather import collect_machine, commands
from advisor.errors import BadInput, BadMachine
from advisor.host.base import Host
from advisor.host.files import open_here
from advisor.host.live import LiveHost
from advisor.host.source import open_host
from advisor.host.writer import write_file
from advisor.model.machine import SCHEMA, Machine

if TYPE_CHECKING:
    from rich.console import RenderableType

_LARGEST_JSON = 256 << 20
_MOMENT = 1.0
_PIECE = 4096


def load(source: str | None) -> Machine:
    """Return the machine that --from names, or this one."""
    text = None if source is None else _json_text(source)
    if source is not None and text is not None:
        return machine_from_json(text, source)
    try:
        with progress("reading the machine") as step:
            return collect_machine(open_machine(source), step)
    except BadInput as error:
        raise error.within(source or "this machine") from error


def open_machine(source: str | None) -> Host:
    """Return the host that --from names, or this machine with its commands already under way."""
    if source is not None:
        return open_host(source)
    host = LiveHost()
    host.prefetch(commands())
    return host


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


def machine_from_json(text: str, source: str) -> Machine:
    """Return the Machine that a JSON text holds: as it is, or inside the output of a command's --json."""
    if text.count(",") > _VALUES:
        raise BadMachine("it holds more values than any Machine", file=source, cure="refused as unsafe")
    if sum(int(match[1]) for match in _LIST.finditer(text)) > _BITS:
        raise BadMachine("its sets of CPUs would fill the memory", file=source, cure="refused as unsafe")
    try:
        data: Any = json.loads(text, parse_int=_whole, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else None
        problem = str(error)[:120] if not where and isinstance(error, ValueError) else "not well-formed JSON"
        raise BadMachine(problem, file=source, place=where, cure="write it again with advisor topology --json") from error
    if isinstance(data, dict) and isinstance(data.get("machine"), dict):
        data = data["machine"]
    if isinstance(data, dict) and data.get("schema_version", SCHEMA) != SCHEMA:
        problem = f"its schema_version is {str(data.get('schema_version'))[:20]}, this advisor reads {SCHEMA}"
        raise BadMachine(problem, file=source, cure="update advisor, or write the file again")
    try:
        machine = Machine.model_validate_json(json.dumps(data))
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


_DIGITS = 20
_LIST = re.compile(r'[",:/-](\d{1,7})"')
"""The last number of a list of CPUs."""
_BITS = 1 << 33
_VALUES = 2_000_000


def _whole(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _json_text(source: str) -> str | None:
    """Return a file's text if it looks like JSON, None if it is to be opened as a host."""
    path = Path(source)
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_JSON:
            return None
        with open_here(path) as file:
            head = file.read(64) or b""
            return str(head + file.read(), "utf-8") if head.lstrip().startswith(b"{") else None
    except UnicodeDecodeError as error:
        raise BadMachine(
            "not text in UTF-8", file=source, place=f"byte {error.start}", cure="write it with advisor topology --json"
        ) from error
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
