"""Values: the frozen base of all models, names of devices and hosts, and quantities with a unit."""

import ast
import re
from collections.abc import Callable, Mapping
from datetime import date
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from inspect import getsource
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from advisor.errors import BadValue


class Value(BaseModel):
    """A frozen record; None means not known, () means looked for and not there."""

    # Schemas are built when first used: start-up is felt, and one command uses few of the values.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null", allow_inf_nan=False, defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Stop at the first wrong item of a list: a hostile one of a million would have millions of errors in memory."""
        schema = handler(source)
        _stop_at_first(schema)
        return schema

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema with what each field means."""
        schema = handler(core)
        shown = handler.resolve_ref_schema(schema).get("properties", {})
        for name, field in cls.model_fields.items():
            if text := meaning(cls, name):
                shown[name if name in shown else field.alias].setdefault("description", text)
        return schema

    def but(self, **changes: Any) -> Self:
        """Return the same with other values of some fields."""
        return self.model_copy(update=changes)


def optional(default: Any = None, **limits: Any) -> Any:
    """Return a field that may be left out, and has limits or a default of its own in each record."""
    return Field(default=default, **limits)


def meaning(model: type[BaseModel], field: str) -> str:
    """Return what a field means: the text below it in its class, which is read when somebody asks."""
    owners = (each for each in model.__mro__ if issubclass(each, Value) and field in each.__annotations__)
    texts = (_documented(each.__module__).get(each.__qualname__, {}).get(field) for each in owners)
    return next(filter(None, texts), model.model_fields[field].description or "")


@cache
def _documented(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return what stands below the fields of each class of a module."""
    return {
        each.name: {
            field.target.id: " ".join(below.value.value.split())
            for field, below in pairwise(each.body)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
        }
        for each in ast.walk(ast.parse(getsource(import_module(module))))
        if isinstance(each, ast.ClassDef)
    }


class Whole(Value):
    """A record that comes from one source whole: halves of two topologies would be a machine that does not exist."""


def _stop_at_first(schema: Any) -> None:
    """Mark every list of a record's schema, but not those inside of other records, which have marked their own."""
    todo, inside = [schema], False
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if part.get("type") == "model":
                if inside:
                    continue
                inside = True
            if part.get("type") in ("list", "tuple", "set", "frozenset"):
                part["fail_fast"] = True
            todo += part.values()
        elif isinstance(part, (list, tuple)):
            todo += part


_FORM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]{0,254}", re.ASCII)
"""One word of any shell, no option and no path.

All that drivers and udev make is in it: mlx5_bond_0, enP2p1s0f0np0, ib0.8001, bond0:1, 10000:e1:00.0, x1000c0s0b0n0. The
kernel itself would let root call an interface otherwise (net/core/dev.c, dev_valid_name), and nobody does.
"""


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a device or a host.

    >>> [is_name(each) for each in ("mlx5_0", "ib0.8001", "bond0:1", "mlx5_0;touch x", "-rf", "..", "")]
    [True, True, True, False, False, False, False]
    """
    return _FORM.fullmatch(text) is not None


def _checked(text: Any) -> Any:
    if is_name(text):
        return text
    raise PydanticCustomError("name", "{name} is not a device or host name", {"name": ascii(text[:40])})


DeviceName = Annotated[str, AfterValidator(_checked)]
"""A device as the kernel calls it: an adapter, an interface, a PCI address."""

HostName = Annotated[str, AfterValidator(_checked)]
"""A host as it calls itself."""


KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

_SIZE = re.compile(r"\s*(\d{1,15})\s*([kmgt]?)i?b?\s*", re.IGNORECASE | re.ASCII)
_STEP = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": 1 << 40}


def size(text: str) -> int | None:
    """Return the bytes that ``32K``, ``16384 kB`` or ``8 GB`` means to the kernel (powers of two), or None."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _STEP[match[2].lower()] if match else None


def number(text: str | None) -> int | None:
    """Return the whole number (decimal, or hexadecimal with 0x) that a sysfs file holds, or None."""
    if text is None:
        return None
    word = text.strip()
    if re.fullmatch(r"[+-]?\d{1,19}", word, re.ASCII):
        return int(word)
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", word):
        return int(word, 16)
    return None


def iso_date(text: str | None) -> str | None:
    """Return ``2024-01-31`` for SMBIOS's ``01/31/2024``; two digits are of the last century (7.1). None for no date.

    >>> iso_date("06/10/2022"), iso_date("12/01/99"), iso_date("soon")
    ('2022-06-10', '1999-12-01', None)
    """
    match = re.fullmatch(r"\s*(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\s*", text or "", re.ASCII)
    if not match:
        return None
    month, day, year = (int(part) for part in match.groups())
    try:
        return date(year if len(match[3]) == 4 else 1900 + year, month, day).isoformat()
    except ValueError:
        return None


Unit = Literal["bytes", "bytes/s", "transfers/s", "hertz", "flop/s", "seconds", "messages/s", "ratio"]
"""The base units: what a quantity is stored in."""

_STEPS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BASES: dict[str, tuple[float, Unit]] = {
    "B": (1.0, "bytes"),
    "B/s": (1.0, "bytes/s"),
    "b/s": (0.125, "bytes/s"),
    "T/s": (1.0, "transfers/s"),
    "Hz": (1.0, "hertz"),
    "FLOP/s": (1.0, "flop/s"),
    "msg/s": (1.0, "messages/s"),
}
UNITS: dict[str, tuple[float, Unit]] = {
    **{prefix + base: (step * factor, unit) for base, (factor, unit) in _BASES.items() for prefix, step in _STEPS.items()},
    "KiB": (2.0**10, "bytes"),
    "MiB": (2.0**20, "bytes"),
    "GiB": (2.0**30, "bytes"),
    "s": (1.0, "seconds"),
    "ms": (1e-3, "seconds"),
    "us": (1e-6, "seconds"),
    "ns": (1e-9, "seconds"),
    "%": (0.01, "ratio"),
}
"""Every unit a sheet may use, with what one of it is in its base unit. GB is decimal, GiB is not; b are bits."""

_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_TEXT = re.compile(rf"\s*(?:(?P<one>{_NUMBER})|(?P<low>{_NUMBER})?\.\.(?P<high>{_NUMBER})?)\s*(?P<unit>%|[A-Za-z]\S{{0,11}})\s*")


WRITTEN = {"written": True}
"""The context of a validation of what somebody wrote by hand; a value that is read back is in base units."""


Keys = tuple[str | int, ...]
"""The keys and positions that lead to a value inside a record."""


def wrong_at(place: Keys, problem: str, cure: str) -> PydanticCustomError:
    """Return what a validator of a whole record raises: where inside it something is wrong, what, and what to write."""
    return PydanticCustomError("wrong_at", "{problem}; {cure}", {"place": place, "problem": problem, "cure": cure})


class Quantity(NamedTuple):
    """One number in a base unit."""

    value: float
    unit: Unit


class Amount(Value):
    """A quantity or a range of one, in a base unit."""

    low: float | None
    """lower end, or the value itself if there is no range; None without a lower end"""
    high: float | None
    """upper end, or the value itself if there is no range; None without an upper end"""
    unit: Unit
    """unit of the numbers"""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, data: Any) -> Any:
        if isinstance(data, int | float):
            raise PydanticCustomError(
                "no_unit", "{data} has no unit; write 244 GB/s, or 270..300 GB/s for a range", {"data": data}
            )
        return _spoken(amount_fields)(data) if isinstance(data, str) else data

    @model_validator(mode="after")
    def _is_ordered(self) -> "Amount":
        if self.low is None and self.high is None:
            raise ValueError("a range needs at least one end")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("write the lower end of a range first")
        return self


def amount_fields(text: str) -> dict[str, Any]:
    """Return the ends and the unit of ``244 GB/s``, ``270..300 GB/s``, ``2.. GB/s`` or ``..2 us``."""
    match = _TEXT.fullmatch(text)
    if not match or not (match["one"] or match["low"] or match["high"]):
        raise BadValue(f"{text[:60]!r} is not a quantity", cure="write 244 GB/s, or 270..300 GB/s for a range")
    factor, unit = _unit(match["unit"])
    ends = (match["low"] or match["one"], match["high"] or match["one"])
    low, high = ((float(f"{float(end) * factor:.15g}")) if end else None for end in ends)
    return {"low": low, "high": high, "unit": unit}


def quantity(text: str) -> Quantity:
    """Return the number in base units that a text such as ``3200 MT/s`` means.

    >>> quantity("3200 MT/s"), quantity("100 Gb/s")
    (Quantity(value=3200000000.0, unit='transfers/s'), Quantity(value=12500000000.0, unit='bytes/s'))
    """
    fields = amount_fields(text)
    if fields["low"] != fields["high"]:
        raise BadValue(f"{text[:60]!r} is a range", cure="a single number is expected here")
    return Quantity(fields["low"], fields["unit"])


def measured_in(unit: Unit) -> BeforeValidator:
    """Return the validator of a field that holds one number of a base unit; who writes one by hand writes its unit too."""

    def read(text: str) -> float:
        found = quantity(text)
        if found.unit != unit:
            raise BadValue(f"{text[:60]!r} counts {found.unit}", cure=f"{unit} are expected here")
        return found.value

    def checked(data: Any, info: ValidationInfo) -> Any:
        if info.context == WRITTEN and isinstance(data, int | float) and not isinstance(data, bool):
            raise ValueError(f"{data} has no unit; {unit} are expected here: write {_EXAMPLES[unit]}")
        return _spoken(read)(data) if isinstance(data, str) else data

    return BeforeValidator(checked)


_EXAMPLES: dict[Unit, str] = {
    "bytes": "96 MiB",
    "bytes/s": "244 GB/s",
    "transfers/s": "6400 MT/s",
    "hertz": "2.4 GHz",
    "flop/s": "1054 GFLOP/s",
    "seconds": "90 ns",
    "messages/s": "200 Mmsg/s",
    "ratio": "13 %",
}


def _unit(text: str) -> tuple[float, Unit]:
    if text in UNITS:
        return UNITS[text]
    near = [unit for unit in UNITS if unit.lower() == text.lower()] or get_close_matches(text, UNITS, n=1, cutoff=0.5)
    cure = f"did you mean {' or '.join(near)}?" if near else "write GB/s, MT/s, GHz, GFLOP/s, us, Mmsg/s, MiB or %"
    raise BadValue(f"unknown unit {text!r}", cure=cure)


def _spoken(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a reader whose complaint pydantic can place at the line it is about."""

    def checked(text: str) -> Any:
        try:
            return read(text)
        except BadValue as error:
            raise ValueError(str(error)) from error

    return checked
