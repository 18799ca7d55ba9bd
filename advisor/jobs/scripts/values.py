"""What a shell script holds, as far as it can be known without running it: words, variables, commands that start something."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_OPEN, _CLOSE = "\ue000", "\ue001"
"""What is not known stands between these in a text, by its name; a script's own are taken out when it is read."""

_UNKNOWN = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def unknown(name: str) -> str:
    """Return what stands in a text for something that is not known."""
    return f"{_OPEN}{cleaned(name)}{_CLOSE}"


def cleaned(text: str) -> str:
    """Return a text without the signs by which unknown parts are known."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def is_known(text: str) -> bool:
    """Whether nothing in a text is unknown."""
    return _OPEN not in text


def names_in(text: str) -> list[str]:
    """Return the names of what is not known in a text."""
    return _UNKNOWN.findall(text)


def shown(text: str) -> str:
    """Return a text for a page: what is not known as the shell has it, $NAME."""
    return _UNKNOWN.sub(lambda match: f"${match[1]}" if re.fullmatch(r"\w+", match[1]) else f"$({match[1]})", text)


def whole(text: str | None) -> int | None:
    """Return the number that a text is, None of anything else."""
    match = re.fullmatch(r"\s*([+-]?\d{1,12})\s*", text or "", re.ASCII)
    return int(match[1]) if match else None


@dataclass(frozen=True)
class Span:
    """A part of a script: its bytes, and the line that it begins in."""

    start: int
    end: int
    line: int


@dataclass(frozen=True)
class Word:
    """A word of a command, after the shell's expansions."""

    text: str
    span: Span
    literal: bool = True
    """Whether the script has it as it is, so that another can be written where it stands."""
    variable: str | None = None
    """The variable that it comes from, where it is one's value whole or a part of it."""
    quoted: bool = False


@dataclass
class Variable:
    """A variable of the shell."""

    text: str
    exported: bool = False
    span: Span | None = None
    """Where it was set; None of one that the scheduler or the caller's shell gave."""
    others: tuple[str, ...] = ()
    """What it may be instead, where branches set it differently."""


@dataclass(frozen=True)
class Launch:
    """A command that starts ranks, or may."""

    words: tuple[Word, ...]
    """From the launcher on."""
    span: Span
    """The command with all before the launcher."""
    variables: Mapping[str, str]
    """What is exported to it."""
    plain: Mapping[str, tuple[str, Span | None]]
    """What is set and not exported."""
    before: tuple[str, ...] = ()
    """Words between the command's begin and the launcher: time, numactl, singularity exec x.sif."""
    beside: tuple[int, ...] = ()
    """Positions of launches that still run in the background."""
    background: bool = False
    repeated: bool = False
    """Whether it stands in a loop."""
    when: tuple[str, ...] = ()
    """The conditions that it stands under, as the script has them."""
    substituted: bool = False
    """Whether its output is what counts: x=$(srun hostname)."""
    turn: int = 0
    nested: bool = False
    """Whether it stands in a text of the script, such as sh -c's, whose places are not the script's."""

    @property
    def line(self) -> int:
        """The line that it begins in."""
        return self.span.line


@dataclass
class Script:
    """What reading a script found."""

    launches: list[Launch] = field(default_factory=list)
    modules: list[tuple[str, int]] = field(default_factory=list)
    """What is loaded (module, spack), with the line."""
    files: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Files that it writes with a here document: their text, and the line where that begins."""
    sourced: list[tuple[str, int]] = field(default_factory=list)
    """Scripts that it reads or starts and that are not followed."""
    assigned: dict[str, list[tuple[str, Span, bool]]] = field(default_factory=dict)
    """What variables are set to, where, and whether they were exported then."""
    used: set[str] = field(default_factory=set)
    """Variables whose value is asked for."""
    bare: dict[str, list[Span]] = field(default_factory=dict)
    """Variables that are not set, and where their value is asked for without saying what stands for it."""
    commands: list[tuple[tuple[Word, ...], Span]] = field(default_factory=list)
    """Every other command."""
    odd_exports: list[tuple[str, str, Span]] = field(default_factory=list)
    """Words of an export that a blank cut off: the variable, the word, the place of both."""
    broken: list[int] = field(default_factory=list)
    """Lines that are no shell."""
    exported: dict[str, str] = field(default_factory=dict)
    """What is exported at its end."""
    comments: list[str] = field(default_factory=list)
    abandoned: tuple[int, int] | None = None
    """Of steps that still run in the background when it ends: the last one's position among launches, and the byte where the
    statement ends that starts it; None where it waits for them, or may."""
    submitted: set[str] = field(default_factory=set)
    """Files that are handed to a scheduler."""
