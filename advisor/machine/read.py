"""Reads the machine that --from names, or this one, its counters of faults before and after the work, and captures it."""

import json
import os
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLong
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from advisor import __version__
from advisor.errors import AdvisorError, BadInput, BadMachine, in_words
from advisor.machine.cpuset import bounded_sets
from advisor.machine.fault_counters import Watch
from advisor.machine.hosts.base import ENVIRONMENT_PREFIXES, Host, second_look, seconds_since
from advisor.machine.hosts.files import open_here
from advisor.machine.hosts.live import LiveHost, begun
from advisor.machine.hosts.source import LARGEST_DOCUMENT, open_host, read_json
from advisor.machine.machine import SCHEMA, Gap, Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.sources.fault_counters import Counters, look, watched
from advisor.machine.sources.registry import collect_machine, commands, counters, identities_of, paths, public


def read_machine(source: str | None = None, observer: Observer = SILENT) -> Machine:
    """Return the machine that a capture, an hwloc XML, a Machine JSON or a root holds; this machine without any."""
    data = None if source is None else json_data(source)
    if source is not None and data is not None:
        return machine_from_json(data, source)
    try:
        return collect_machine(open_machine(source), lambda name: observer.step("reading the machine", name))
    except BadInput as error:
        raise error.within(source or "this machine") from error
    finally:
        observer.end()


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


_Kind = TypeVar("_Kind", bound=BaseModel)
_CURE = "write it again with advisor topology --json"


def machine_from_json(data: bytes, source: str) -> Machine:
    """Return the Machine that a JSON document holds: as it is, or inside the output of a command's --json."""
    try:
        found = read_json(data, _CURE)
        if isinstance(found, dict) and isinstance(found.get("machine"), dict):
            found = found["machine"]
        if isinstance(found, dict) and found.get("schema_version", SCHEMA) != SCHEMA:
            problem = f"its schema_version is {str(found.get('schema_version'))[:20]}, but this advisor reads {SCHEMA}"
            raise BadMachine(problem, cure="update advisor, or write the file again")
    except BadInput as error:
        raise error.within(source) from error
    machine = validated(Machine, found, source, BadMachine("not a Machine", cure="see advisor topology --json"))
    if machine.topology is None:
        raise BadMachine("this Machine JSON contains no topology", file=source, cure="write it with advisor topology --json")
    return machine


def validated(kind: type[_Kind], found: object, file: str, otherwise: BadInput) -> _Kind:
    """Return a document as a value of this kind; else raise what is said otherwise, with the first fault and its place."""
    try:
        with bounded_sets():
            return kind.model_validate_json(json.dumps(found))
    except BadInput as error:
        raise error.within(file) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:120] or None
        problem = f"{otherwise.problem}: {in_words(first['msg'])[:120]}"
        raise type(otherwise)(problem, file=file, place=place, cure=otherwise.cure) from error


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


def captured(source: str | None = None, *, anonymise: bool = False, observer: Observer = SILENT) -> bytes:
    """Return the capture of a machine, an archive: what advisor reads of it, as it is, without secrets."""
    from advisor.machine.anonymise import AnonymousHost
    from advisor.machine.hosts.base import RedactedHost
    from advisor.machine.hosts.capture import record

    host = open_machine(source)
    about = {
        "advisor": __version__,
        "made": "python",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "uid": str(os.getuid()),
        "anonymised": "yes" if anonymise else "no",
    }
    identities = identities_of(host) if anonymise else ()
    kept = AnonymousHost(host, identities=identities, public=public()) if anonymise else RedactedHost(host)

    def step(done: int, of: int) -> None:
        observer.step("capturing", f"{100 * done // of} %")

    try:
        return record(kept, paths(), commands(), about, step, twice=counters())
    finally:
        observer.end()


def capture_script() -> str:
    """Return the shell script that captures a node without Python."""
    from advisor.machine import jinja
    from advisor.paths import template

    return jinja.capture_script(
        template("capture.sh.j2"), paths(), commands(), __version__, ENVIRONMENT_PREFIXES, twice=counters()
    )


_PATIENCE = 5.0
"""Seconds for a look: a driver asks its card for each counter, and one that is sick may not answer at all."""
_SICK = Gap(
    fact="watch",
    why=f"could not read the counters within {_PATIENCE:g} seconds",
    help="find the file that hangs: cat /sys/class/infiniband/*/ports/*/counters/symbol_error",
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
    try:
        return begun(partial(look, host))
    except RuntimeError:  # no room for a thread (ulimit -u, -v)
        seen: Future[Counters] = Future()
        seen.set_result(look(host))
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
