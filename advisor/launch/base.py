"""What every launcher gives: a command line that binds as planned, and why other forms were not used. Pure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from advisor.model.placement import Placement

Lines = Callable[[], Iterator[str]]
"""A file's lines, made when they are written: a rankfile of a million ranks is never held in memory."""


@dataclass(frozen=True)
class Wish:
    """What is to be started, and with what."""

    command: tuple[str, ...]
    version: str | None = None
    """The launcher's version, 5.0.6; None where it is not known: then the form that all versions understand."""
    exact: bool = False
    """Whether the exact form (rankfile, masks) is wanted even where a short one is faithful."""
    report: bool = False
    """Whether the launcher shall print the bindings it makes."""
    scheduler: str | None = None
    """slurm, pbs: the hosts come from it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the job needs beside those of the launcher: OMP_NUM_THREADS, UCX_NET_DEVICES."""
    wrap: bool = False
    """Whether the portable wrapper does the binding and the launcher none."""


@dataclass(frozen=True)
class Avoided:
    """A form that was not used."""

    form: str
    reason: str


@dataclass(frozen=True)
class Launch:
    """How a placement is carried out by one launcher."""

    launcher: str
    version: str | None
    form: str
    """The form used, in a few words: ppr, rankfile, cpu-bind masks."""
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to set before the line; those that ranks need are also passed on by options where the launcher wants it."""
    files: Mapping[str, Lines] = field(default_factory=dict)
    """Names of files beside the line, such as rankfile, and their lines, without line ends."""
    avoided: tuple[Avoided, ...] = ()
    notes: tuple[str, ...] = ()


class Launcher(Protocol):
    """A launcher's module has these two names."""

    NAME: str
    ALIASES: tuple[str, ...]

    def launch(self, placement: Placement, wish: Wish) -> Launch:
        """Return how this launcher carries the placement out; raise BadValue in one line where it cannot."""
