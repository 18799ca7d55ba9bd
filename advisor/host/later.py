"""A second look at counters: how long after the first, and what they said."""

from time import monotonic, sleep
from typing import NamedTuple

from advisor.host.base import Host

SHORTEST = 0.5
"""Seconds between two looks at least: a storm of errors shows, and an audit still takes less than a second."""


class Later(NamedTuple):
    """A capture's second look: a host with nothing but the counters."""

    seconds: float
    host: Host


def later(host: Host) -> Later | None:
    """Return the second look that a capture holds; None of a machine, a tree or a capture with one look."""
    found = getattr(host, "again", None)
    return found if isinstance(found, Later) else None


def since(begun: float) -> float:
    """Return the seconds since a moment of the monotonic clock, when a second look is worth it."""
    left = begun + SHORTEST - monotonic()
    if left > 0:
        sleep(left)
    return monotonic() - begun
