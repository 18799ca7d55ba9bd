"""Looks at the counters of faults around the work that a command does anyway."""

import json
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLong
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from advisor.cli.pipeline import json_data, open_machine
from advisor.collect.fault_counters import Counters, look, watched
from advisor.errors import AdvisorError
from advisor.host.base import second_look, seconds_since
from advisor.host.live import LiveHost
from advisor.host.source import read_json
from advisor.model.hardware.fault_counters import Watch
from advisor.model.hardware.machine import Gap

if TYPE_CHECKING:
    from advisor.host.base import Host

_PATIENCE: Final = 5.0
"""Seconds for a look: a driver asks its card for each counter, and one that is sick may not answer at all."""
_SICK: Final = Gap(
    fact="watch",
    why=f"the counters could not be read within {_PATIENCE:g} seconds",
    help="see which file hangs: cat /sys/class/infiniband/*/ports/*/counters/symbol_error",
)


class Watching:
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
    """Return what an audit's document tells; a Machine's alone holds nothing that changes."""
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
