"""Looks at the counters of faults around the work that a command does anyway."""

from time import monotonic
from typing import TYPE_CHECKING

from advisor.collect.watch import Counters, look, watched
from advisor.errors import AdvisorError
from advisor.host.later import later, since
from advisor.host.live import LiveHost
from advisor.host.source import open_host

if TYPE_CHECKING:
    from advisor.host.base import Host
    from advisor.model.watch import Watch


class Watching:
    """Begun before the work, ended after it: what rose meanwhile."""

    def __init__(self, source: str | None) -> None:
        self._source = source
        self._live: Host | None = LiveHost() if source is None else None
        self._begun = monotonic()
        self._first: Counters = look(self._live) if self._live else {}

    def ended(self) -> "Watch | None":
        """Return what two looks tell: of this machine, or of a capture; one look of a tree; None of what is no host."""
        if self._live is None:
            return _kept(self._source or "")
        if not self._first:  # nothing counts here: not worth a second
            return watched(self._live, self._first)
        seconds = since(self._begun)
        return watched(self._live, self._first, look(self._live), seconds)


def _kept(source: str) -> "Watch | None":
    try:
        host = open_host(source)
    except AdvisorError:  # a Machine's JSON: it holds nothing that changes
        return None
    if host.kind == "hwloc xml":
        return None
    second, first = later(host), look(host)
    return watched(host, first) if second is None else watched(host, first, look(second.host), second.seconds)
