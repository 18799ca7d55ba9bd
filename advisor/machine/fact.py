"""What a fact's declaration says beside its type: unit, section, secrecy, what identifies it, what no comparison may see.

All of it stands in the field's annotation, and is read from there by whoever shows, compares, merges or gives away facts::

    critical: Celsius | None = None
    now: Volatile[Celsius | None] = None
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin

from pydantic import AfterValidator, BaseModel
from pydantic.fields import FieldInfo

from advisor.machine.secrecy import WITHHELD, screened_boot_options, screened_settings
from advisor.machine.value import optional

T = TypeVar("T")


@dataclass(frozen=True)
class Unit:
    """What a number counts: a base unit, or that it counts nothing; ``advisor.machine.units`` says how it is written."""

    name: str
    unlimited: bool = False
    """Whether -1 stands for no limit."""

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Return the schema of the number, with its unit."""
        return {**handler(core), "x-unit": self.name}


COUNT = Unit("count")
NUMBER = Unit("number")

Count = Annotated[int, COUNT]
"""How many there are of something."""
Number = Annotated[int, NUMBER]
"""A number that names or chooses and counts nothing: a NUMA node, a processor's family, the value of a kernel setting."""
Ratio = Annotated[float, NUMBER]
"""One of two amounts as a part of the other: 0.39."""
CountLimit = Annotated[int, Unit("count", unlimited=True)]
Bytes = Annotated[int, Unit("bytes")]
BytesLimit = Annotated[int, Unit("bytes", unlimited=True)]
PacketBytes = Annotated[int, Unit("bytes of a packet")]
"""Bytes that are always told in full: 4096 of a PCIe read request, an MTU of 9000."""
BytesPerSecond = Annotated[int, Unit("bytes/s")]
BitsPerSecond = Annotated[int, Unit("bits/s")]
Bits = Annotated[int, Unit("bits")]
Transfers = Annotated[int, Unit("transfers/s")]
"""Of a memory module."""
LaneTransfers = Annotated[float, Unit("transfers/s of a lane")]
Hertz = Annotated[int, Unit("hertz")]
Seconds = Annotated[float, Unit("seconds")]
Microseconds = Annotated[int, Unit("microseconds")]
Watts = Annotated[float, Unit("watts")]
Celsius = Annotated[float, Unit("degrees Celsius")]
SecondsOrBandwidth = Annotated[float, Unit("seconds or bytes/s")]
"""As the entry's kind says."""
PciId = Annotated[int, Unit("PCI ID")]
PciClass = Annotated[int, Unit("PCI class")]
MemoryAddress = Annotated[int, Unit("address")]


@dataclass(frozen=True)
class Role:
    """What a fact is to those who compare and give away."""

    name: str

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Return the schema of the fact, with its role."""
        return {**handler(core), f"x-{self.name}": True}


_KEY, _VOLATILE, _PER_CPU = (Role(name) for name in ("key", "volatile", "per-cpu"))


class Secrecy(StrEnum):
    """To whom a fact may be told: everybody, those who know the machine, nobody."""

    PUBLIC = "public"
    IDENTITY = "identity"
    CREDENTIAL = "credential"

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Return the schema of the fact, with its secrecy where it has one."""
        return {**handler(core), f"x-{self.value}": True}


Key = Annotated[T, _KEY]
"""Identifies an element of a list, alone or with the list's other keys: by it two sources or two machines mean the same."""
Volatile = Annotated[T, _VOLATILE]
"""Differs between two looks at one machine that nobody changed: shown, never compared."""
Identity = Annotated[T, Secrecy.IDENTITY]
"""Names this one machine or part (serial number, MAC, GUID, host name): never compared, always anonymised."""
BootOptions = Annotated[T, Secrecy.CREDENTIAL, AfterValidator(screened_boot_options)]
"""Boot options, some of which are credentials: those that are not known to be none become the word withheld, whoever makes it."""
Settings = Annotated[T, Secrecy.CREDENTIAL, AfterValidator(screened_settings)]
"""Settings by their names, some of which are passwords: likewise."""
PerCpu = Annotated[T, _PER_CPU]
"""A list with an entry for each CPU: its length says enough to a reader."""


class Section(StrEnum):
    """Under which heading a fact is shown, in this order, and in which part of ``advisor compare``; what is in it inherits it."""

    MACHINE = "machine"
    """What the machine is: compared first."""
    FIRMWARE = "firmware"
    BIOS = "BIOS attributes"
    PROCESSOR = "processor"
    MEMORY = "memory"
    MEMORY_KINDS = "kinds of memory"
    TABLES = "firmware tables"
    DEVICES = "devices"
    SYSTEM = "operating system"
    SCHEDULER = "scheduler"
    TOPOLOGY = "topology"
    EVIDENCE = "evidence"

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Return the schema of the fact, with its section."""
        return {**handler(core), "x-section": self.value}


HARDWARE = (Section.MACHINE, Section.FIRMWARE)
"""What a machine is called and made of."""
TOLD_ELSEWHERE = {
    Section.TOPOLOGY: "shown in drawings, and compared part by part",
    Section.TABLES: "shown as part of the topology",
    Section.BIOS: "compared as settings, under neutral names",
    Section.EVIDENCE: "not facts about the machine",
}
"""Sections whose facts are not compared one by one, and why."""


class Declared(NamedTuple):
    """The declaration of one field."""

    unit: Unit | None = None
    section: Section | None = None
    key: bool = False
    volatile: bool = False
    per_cpu: bool = False
    secrecy: Secrecy = Secrecy.PUBLIC

    @property
    def identity(self) -> bool:
        """Whether it names this one machine or part."""
        return self.secrecy is Secrecy.IDENTITY

    @property
    def comparable(self) -> bool:
        """Whether two machines may be compared by it."""
        return not (self.volatile or self.identity)

    @property
    def words(self) -> tuple[str, ...]:
        """Section and roles in words."""
        roles = (name.replace("_", " ") for name in ("key", "volatile", "per_cpu") if getattr(self, name))
        secrecy = () if self.secrecy is Secrecy.PUBLIC else (self.secrecy.value,)
        return (*([self.section.value] if self.section else []), *roles, *secrecy)


@cache
def declarations(model: type[BaseModel]) -> dict[str, Declared]:
    """Return what is declared of each field of a model."""
    return {name: _declared(field) for name, field in model.model_fields.items()}


def _declared(field: FieldInfo) -> Declared:
    marks = (*field.metadata, *_marks(field.annotation))
    unit = next((mark for mark in marks if isinstance(mark, Unit)), None)
    section = next((mark for mark in marks if isinstance(mark, Section)), None)
    secrecy = next((mark for mark in marks if isinstance(mark, Secrecy)), Secrecy.PUBLIC)
    key, volatile, per_cpu = (role in marks for role in (_KEY, _VOLATILE, _PER_CPU))
    return Declared(unit, section, key, volatile, per_cpu, secrecy)


def _marks(annotation: Any) -> Iterator[Any]:
    """Yield what is annotated anywhere in a type, but not inside of other records."""
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        yield from parts[1:]
        parts = parts[:1]
    for part in parts:
        yield from _marks(part)


@cache
def in_order(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields of a model in the order in which they are shown: by section, then as they stand."""
    order = [None, *Section]
    return tuple(sorted(model.model_fields, key=lambda name: order.index(declarations(model)[name].section)))


@cache
def keys(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields that identify one record of a kind among others; () where none does."""
    return tuple(name for name, field in declarations(model).items() if field.key)


@cache
def lists_with(model: type[BaseModel], field: str) -> tuple[str, ...]:
    """Return the lists of a model whose records have a field of a name: those of devices that have a locality."""
    kinds = {name: inside_of(info.annotation) for name, info in model.model_fields.items()}
    return tuple(name for name, (kind, many) in kinds.items() if many and field in getattr(kind, "model_fields", ()))


class Told(NamedTuple):
    """A fact of a value, under its dotted name."""

    name: str
    value: Any
    declared: Declared = Declared()
    section: Section | None = None
    elements: tuple[str, ...] = ()
    """The elements of lists that it is in, by their names, the outermost first: hcas.mlx5_0, hcas.mlx5_0.ports.1."""
    inside: tuple[tuple[str, str], ...] = ()
    """The same with the list or table before each: one that is known without the element shows that it is not there."""


def comparable(value: BaseModel, but: Collection[Section] = ()) -> Iterator[Told]:
    """Yield every known fact, as simple as it gets, that two may be compared by: no identity, nothing that changes by itself.

    Elements of lists are named by their keys (``hcas.mlx5_0.firmware``), so that their order does not matter. What is equal here
    is equal but for identity: equal nodes of a fleet fold into one by it. Sections may be left out; the evidence always is.
    """
    return _record(Told("", value), (*but, Section.EVIDENCE))


def _record(record: Told, but: Collection[Section]) -> Iterator[Told]:
    model: type[BaseModel] = type(record.value)
    for field in in_order(model):
        inner, declared = getattr(record.value, field), declarations(model)[field]
        section = declared.section or record.section
        if inner is not None and declared.comparable and section not in but:
            yield from _simple(
                Told(f"{record.name}.{field}".removeprefix("."), inner, declared, section, record.elements, record.inside), but
            )


def _simple(fact: Told, but: Collection[Section]) -> Iterator[Told]:
    name, value = fact.name, fact.value
    if isinstance(value, BaseModel):
        yield from _record(fact, but)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if inner is not None:
                inside = (*fact.inside, (name, f"{name}.{key}"))
                yield from _simple(fact._replace(name=f"{name}.{key}", value=inner, inside=inside), but)
    elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        for at, item in enumerate(value):
            element = f"{name}.{_identified(item, at)}"
            inside = (*fact.inside, (name, element))
            yield from _record(Told(element, item, fact.declared, fact.section, (*fact.elements, element), inside), but)
    else:
        yield fact


def _identified(item: BaseModel, at: int) -> str:
    """Return what an element of a list is known by: its keys, its place where it has none."""
    told = (getattr(item, key) for key in keys(type(item)))
    return " ".join(str(each) for each in told if each is not None) or str(at)


def identities(value: Any, *, named: bool = False) -> Iterator[str]:
    """Yield what names this one machine, or a part of it; every text of what is ``named`` to be such."""
    if isinstance(value, BaseModel):
        for field, declared in declarations(type(value)).items():
            yield from identities(getattr(value, field), named=declared.identity)
    elif isinstance(value, (tuple, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from identities(inner, named=named)
    elif named and value is not None:
        yield str(value)


def without_identities(value: T, *, named: bool = False) -> T:
    """Return a value in which what names this one machine, its network and its people is withheld."""
    if isinstance(value, BaseModel):
        fields = declarations(type(value)).items()
        update = {field: without_identities(getattr(value, field), named=declared.identity) for field, declared in fields}
        return value.model_copy(update={field: new for field, new in update.items() if new is not getattr(value, field)})
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        shown = tuple(without_identities(inner, named=named) for inner in value)
        return shown if any(new is not old for new, old in zip(shown, value, strict=True)) else value  # type: ignore[return-value] # a tuple again
    if isinstance(value, str):
        return WITHHELD if named and value else _OWN_FOLDER.sub(rf"\1{WITHHELD}", value)  # type: ignore[return-value] # a text again
    return value


_OWN_FOLDER = re.compile(r"(/(?:home|users?|work|scratch|projects?|gpfs|lustre|nfs)/)[^\s:;,]+", re.IGNORECASE)
"""A person's or a project's folder: in paths of programs, and in what could not be read."""


def withheld(value: Any, name: str = "") -> Iterator[str]:
    """Yield the dotted name of the fact for each value of which a credential was taken out."""
    if isinstance(value, BaseModel):
        for field in type(value).model_fields:
            yield from withheld(getattr(value, field), f"{name}.{field}".removeprefix("."))
    elif isinstance(value, (tuple, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from withheld(inner, name)
    elif isinstance(value, str) and WITHHELD in value:
        yield name


def inside_of(annotation: Any) -> tuple[Any, bool]:
    """Return what stands in ``X | None`` or ``tuple[X, ...]``, and whether there may be several."""
    parts = [part for part in get_args(annotation) if part not in (type(None), ...)]
    if get_origin(annotation) is Annotated or len(parts) == 1:
        inner, many = inside_of(parts[0])
        return inner, many or get_origin(annotation) is tuple
    return annotation, False


def made_from(origin: str, default: Any = None) -> Any:
    """Return a field that is made from another fact of the Machine."""
    return optional(default, json_schema_extra={"of": origin})
