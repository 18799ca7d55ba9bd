"""What can go wrong, and nothing else can.

AdvisorError                 anything the tool says about itself; exit status 2
├── BadInput                 a file or option is not what it should be
│   ├── BadValue             one value: a CPU list, a size, a speed
│   ├── BadXml               an hwloc XML
│   ├── BadTable             an ACPI or SMBIOS table
│   ├── BadCapture           a capture archive or a /sys + /proc root
│   ├── BadMachine           a Machine JSON
│   └── BadSheet             a YAML sheet: a rule, a platform, a vendor, a setting
└── CannotWork               the input is fine, the work cannot be done here

A message is one line: what is wrong, where, and what to do about it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

_PACKAGE = f"{Path(__file__).parent}/"
"""Where the program's own files are."""


def one_line(text: str) -> str:
    """Return a message as one line that steers no terminal: what is not printable is written as its escape.

    Blanks stay as they are where the text is one line: a file's name may have them.
    """
    line = text.strip() if text.isprintable() else " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


_VALIDATORS = (
    (r"Value error, ", ""),
    (r"^Input should be greater than or equal to (\S+)$", r"must be at least \1"),
    (r"^Input should be less than or equal to (\S+)$", r"must be at most \1"),
    (r"^Input should be greater than (\S+)$", r"must be more than \1"),
    (r"^Input should be less than (\S+)$", r"must be less than \1"),
    (r"^Input should be (?:a valid|an) (?:integer|int)\b.*", "must be a whole number"),
    (r"^Input should be a valid number\b.*", "must be a number"),
    (r"^Input should be a valid (?:string|str)\b.*", "must be text"),
    (r"^Input should be a valid (?:boolean|bool)\b.*", "must be true or false"),
    (r"^Input should be a valid (?:list|tuple|array)\b.*", "must be a list"),
    (r"^Input should be an object$|^Input should be a valid dict\w*.*", "must be an object with keys"),
    (r"^Input should be an? instance of .*", "has the wrong type"),
    (r"^Input should be ", "must be "),
    (r"^Field required$", "is missing"),
    (r"^Extra inputs are not permitted$", "unknown key"),
    (r"^String should match pattern .*", "is not in the required form"),
    (r"^(?:String|Tuple|List) should have at (least|most) (\d+) \w+.*", r"must have at \1 \2"),
)


def in_words(said: str) -> str:
    """Return what a validator says of a value in plain words: no user knows of inputs, types and patterns.

    >>> in_words("Input should be greater than or equal to 40"), in_words("Input should be a valid integer, unable to ...")
    ('must be at least 40', 'must be a whole number')
    """
    for pattern, plain in _VALIDATORS:
        said = re.sub(pattern, plain, said)
    return said


_Otherwise = TypeVar("_Otherwise", str, None)


def did_you_mean(name: str, known: Iterable[str], otherwise: _Otherwise, *, cutoff: float = 0.62) -> str | _Otherwise:
    """Return the cure for a name that is not known: the nearest one that is, or what is said where none is near."""
    near = nearest(name, known, cutoff=cutoff)
    return f"did you mean {near}?" if near else otherwise


_SHORT = 2


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.62) -> str | None:
    """Return the known name that is most like another; None where none is."""
    from difflib import get_close_matches  # only a mistake needs it

    half = min(cutoff, 0.5) if len(name) <= _SHORT else cutoff  # one letter of two is half of the name
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=half)), None)


_PLAIN = {
    "int_parsing int_type int_from_float": "{said} is not a whole number",
    "float_parsing float_type finite_number": "{said} is not a number",
    "bool_parsing bool_type": "{said} is neither true nor false",
    "string_type": "{said} is not text",
    "tuple_type list_type": "{said} is not a list; write [one, another]",
    "dict_type model_type model_attributes_type": "{said} is not a mapping of names to values",
    "too_short string_too_short": "it is empty",
    "string_too_long": "longer than {max_length} characters",
    "less_than_equal": "{said} is more than {le:g}",
    "greater_than_equal": "{said} is less than {ge:g}",
}
"""What pydantic finds wrong, by its names for that, as somebody says it who writes a sheet."""


def plain_problem(kind: str, given: Any, context: Mapping[str, Any], otherwise: str) -> str:
    """Return what is wrong with a value in plain words.

    >>> plain_problem("int_parsing", "six", {}, "Input should be a valid integer")
    'six is not a whole number'
    """
    if kind == "string_type" and isinstance(given, int | float):
        return f"{given} is not text; write it in quotes"
    shown = {dict: "a mapping", list: "a list", type(None): "null"}.get(type(given), str(given)[:60])
    text = next((words for kinds, words in _PLAIN.items() if kind in kinds.split()), None)
    return text.format(said=shown or "nothing", **context) if text else otherwise.removeprefix("Value error, ")[:200]


class AdvisorError(Exception):
    """One line for the user; the command ends with status 2."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class BadInput(AdvisorError):
    """A file or an option is not what it should be: names the file, the place in it, and the cure."""

    def __init__(self, problem: str, *, file: str | None = None, place: str | None = None, cure: str | None = None) -> None:
        self.problem, self.file, self.place, self.cure = problem, file, place, cure
        super().__init__(problem)

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.place) if part)
        text = f"{where}: {self.problem}" if where else self.problem
        return one_line(f"{text}; {self.cure}" if self.cure else text)

    def within(self, file: str) -> "BadInput":
        """Return the same error, naming the file it was found in."""
        return type(self)(self.problem, file=self.file or file, place=self.place, cure=self.cure)


class BadValue(BadInput):
    """One value cannot be read."""


class BadXml(BadInput):
    """An hwloc XML cannot be read."""


class BadTable(BadInput):
    """A firmware table contradicts itself or ends early."""


class BadCapture(BadInput):
    """A capture is broken, too large, or reaches outside itself."""


class BadMachine(BadInput):
    """A Machine JSON does not follow the schema."""


class BadSheet(BadInput):
    """A rule, a platform, a vendor or a setting is not written as its sheet wants it."""


class Interrupted(AdvisorError):
    """Somebody pressed Ctrl-C while several were asked at once."""


class CannotWork(AdvisorError):
    """The work cannot be done here: says what is missing and how to get it."""


def must_be_one_of(what: str, name: str, known: Iterable[str], cure: str) -> str:
    """Return the name; refuse one that is not known, naming the nearest."""
    names = tuple(dict.fromkeys(known))
    if name in names:
        return name
    raise BadValue(f"there is no {what} {name[:64]}", cure=did_you_mean(name, names, cure))


def slip(error: BaseException) -> str:
    """Return a fault of the program's own in a line: the file and the line of ours where it is, its kind, what it says."""
    own = [(frame.tb_frame.f_code.co_filename, frame.tb_lineno) for frame in _frames(error) if _inside(frame)]
    if isinstance(error, SyntaxError) and error.filename:
        own.append((error.filename, error.lineno or 0))
    where = f"advisor/{own[-1][0].removeprefix(_PACKAGE)}: line {own[-1][1]}: " if own else ""
    says = error.msg if isinstance(error, SyntaxError) else one_line(str(error))[:300]
    known = dir(error.obj) if isinstance(error, AttributeError) and error.name else ()
    meant = nearest(error.name, known) if isinstance(error, AttributeError) and error.name else None
    return f"{where}{type(error).__name__}: {says}{f' (did you mean {meant}?)' if meant else ''}"


def loading(error: BaseException) -> bool:
    """Whether it was while a module of ours was loaded that something went wrong: what stands there is at fault, not its use."""
    at_top = any(frame.tb_frame.f_code.co_name == "<module>" and _inside(frame) for frame in _frames(error))
    return at_top or (isinstance(error, SyntaxError) and str(error.filename).startswith(_PACKAGE))


def _frames(error: BaseException) -> Iterator[TracebackType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _inside(frame: TracebackType) -> bool:
    return frame.tb_frame.f_code.co_filename.startswith(_PACKAGE)
