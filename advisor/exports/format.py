"""What ``advisor export`` writes: a machine or a fleet in the words of another program; each format is a module of ``exports``.

A module of that folder, which names the format (- for _), has::

    TITLE = "JUnit XML: ..."            # one line for --list
    ORDER = 30                          # where it stands there
    PROVEN = "xmllint 2.9.14"           # the tool and version that took what it writes
    TAKES = ("machine", "fleet")        # what it can be made of; ("machine",) unless it says so; () of nothing
    INCLUDES = {"identity": "..."}      # the words of --include that it knows, none unless it says so
    COMMENT = "#"                       # what a comment begins with, where its files may be printed below each other

    def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]: ...
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, Literal

from advisor.advice.model.findings import Audit
from advisor.errors import BadInput, BadValue
from advisor.fleet.fleet import Fleet, Kind
from advisor.machine.jinja import about, fill
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.units import plain
from advisor.measure.measurement import Measurements

Takes = Literal["machine", "fleet", "kinds", "alike"]
"""A machine that was audited; a fleet's screen; the same with the machine of a node of each kind of hardware, or with one for
all nodes whose facts are the same."""

OWN: Final = "a template of your own"
"""What stands under PROVEN of a site's template."""
_FOLDER: Final = Path(__file__).parent / "formats"
_LAST: Final = 1000
"""Where a site's own templates stand: after ours."""


@dataclass(frozen=True)
class ExportSubject:
    """What is exported: one machine with its audit and what was measured on it, or a fleet."""

    machine: Machine | None = None
    layout: Layout | None = None
    audit: Audit | None = None
    measurements: Measurements | None = None
    read: float | None = None
    """When the machine was read, in seconds of Unix; None where nobody knows."""
    fleet: Fleet | None = None
    kinds: Mapping[str, Machine] = field(default_factory=dict)
    """Of a fleet: the name of a kind -> the machine of its first node that is like the rest; for formats that take kinds."""
    alike: tuple[tuple[tuple[str, ...], Machine], ...] = ()
    """Of a fleet: nodes whose facts are the same, and the machine of the first; for formats that take alike."""

    def audited(self) -> tuple[Machine, Audit]:
        """Return the machine and its audit; refuse a fleet."""
        if self.machine is None or self.audit is None:
            raise BadValue("this format describes one machine", cure="name a capture of it with --from")
        return self.machine, self.audit

    def machines(self) -> Iterator[tuple[Kind | None, Machine]]:
        """Yield the machine, of no kind, or one machine for each kind of the fleet."""
        if self.machine is not None:
            yield None, self.machine
        for kind in self.fleet.kinds if self.fleet else ():
            yield kind, self.kinds[kind.name]


@dataclass(frozen=True)
class ExportOptions:
    """What the command line asks of a format."""

    version: str
    """Of advisor, for a comment."""
    made: float
    """When it is exported, in seconds of Unix."""
    prefix: str = "advisor"
    """What names in the other program begin with: metrics, groups, suites."""
    include: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ExportFormat:
    """A format, whether a module or a site's template makes it."""

    name: str
    title: str
    order: int
    proven: str
    files: Callable[[ExportSubject, ExportOptions], Mapping[str, str]]
    takes: tuple[Takes, ...] = ("machine",)
    includes: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None


@cache
def built_in() -> Mapping[str, ExportFormat]:
    """Return the formats of the folder by name, in their order."""
    found = sorted((_loaded(info.name) for info in iter_modules([str(_FOLDER)])), key=lambda each: (each.order, each.name))
    return {each.name: each for each in found}


def of_template(name: str, text: str, file: str) -> ExportFormat:
    """Return the format that a site's template makes; its first line says what it is."""
    head = about(text)

    def files(subject: ExportSubject, options: ExportOptions) -> Mapping[str, str]:
        if head.wrong:
            raise BadInput(head.wrong, file=file, place="line 1", cure="docs/adding.md says what stands there")
        given = {
            part: getattr(subject, part) for part in ("machine", "layout", "audit", "measurements", "read", "fleet", "kinds")
        }
        return {name: fill(text, {**given, "version": options.version, "prefix": options.prefix}, file)}

    summary = head.wrong or head.summary or "its first line does not describe it"
    return ExportFormat(name, summary, _LAST, OWN, files, ("machine", "kinds"))


def listing(formats: Iterable[ExportFormat]) -> str:
    """Return the formats, a line each with what it is, and below it what it was proven with."""
    rows = list(formats)
    wide = max((len(each.name) for each in rows), default=0)
    lines = []
    for each in rows:
        lines.append(f"{each.name:<{wide}}  {plain(each.title, 160)}")
        of = " or ".join(dict.fromkeys("a machine" if take == "machine" else "a fleet" for take in each.takes))
        lines.append(f"{'':<{wide}}  {f'of {of}; ' if of else ''}proven: {each.proven}")
        lines += [f"{'':<{wide}}  --include {word}: {what}" for word, what in each.includes.items()]
    return "".join(f"{line}\n" for line in lines)


def _loaded(module: str) -> ExportFormat:
    """Return the format of a module of the folder, which has the module's name."""
    parts: Any = import_module(f"{__package__}.formats.{module}")
    return ExportFormat(
        module.replace("_", "-"),
        parts.TITLE,
        parts.ORDER,
        parts.PROVEN,
        parts.files,
        getattr(parts, "TAKES", ("machine",)),
        getattr(parts, "INCLUDES", {}),
        getattr(parts, "COMMENT", None),
    )
