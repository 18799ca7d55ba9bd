"""What tells one processor generation from another: how a machine's is recognised, and the traits that vendors and rules ask for.

A trait is asked for, never an id: a sheet that is added later is then served by every vendor and rule that its traits fit.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from advisor.errors import did_you_mean
from advisor.machine.value import Value, measured_in, optional
from advisor.paths import rules
from advisor.sheets import Sheet, model_of, read_sheet

Bytes = Annotated[float, measured_in("bytes")]
CoreType = Literal["performance", "dense", "efficient"]
Maker = Literal["amd", "intel", "arm"]


class Scheme(StrEnum):
    """A way of cutting a socket into NUMA nodes."""

    DIES = "dies of one package, interleaved or not (EPYC 7001)"
    NPS = "NUMA nodes per socket (EPYC 7002 and later)"
    COD = "cluster on die (Haswell and Broadwell)"
    SNC = "sub-NUMA clusters (Skylake and later)"
    KNL = "cluster and memory modes (Knights Landing)"
    FIXED = "none: the package's dies are its nodes (Opteron, A64FX)"
    WHOLE = "none: one node per socket"
    UNKNOWN = "unknown to advisor"


def _spelled(data: Any) -> Any:
    """Return numbers with the ranges among them written out: ``48-63``."""
    items = data if isinstance(data, list | tuple) else [data]
    return [number for item in items for number in _numbers(item)]


def _numbers(item: Any) -> Any:
    ends = re.fullmatch(r"(\d{1,5})-(\d{1,5})", item) if isinstance(item, str) else None
    if isinstance(item, str) and (ends is None or int(ends[1]) > int(ends[2])):
        raise ValueError(f"{item[:40]} is neither a number nor a range; write 3, or 0-7 with the lower number first")
    return range(int(ends[1]), int(ends[2]) + 1) if ends else (item,)


Numbers = Annotated[tuple[int, ...], BeforeValidator(_spelled)]


def _is_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


NamePattern = Annotated[str, Field(max_length=120), BeforeValidator(_is_pattern)]


def _is_scheme(text: str) -> str:
    if text not in Scheme.__members__:
        near = did_you_mean(text, Scheme.__members__, f"available: {', '.join(Scheme.__members__)}")
        raise ValueError(f"{text[:40]} is not a NUMA partitioning scheme; {near}")
    return text


SchemeName = Annotated[str, AfterValidator(_is_scheme)]


class Match(Value):
    """How a machine's processor is recognised: by family and model, never by its marketing name alone.

    Refinements single out a part of those: a sheet that has some fits where any of them holds.
    """

    vendor: str
    """the CPUID vendor, or the Arm implementer"""
    family: int | None = None
    """CPU family; None on Arm, where the kernel reports none"""
    models: Numbers = Field(min_length=1)
    """models of that family, or Arm parts: [0-7, 16]"""
    steppings: Numbers = ()
    """only these steppings; () for all"""
    never: NamePattern | None = None
    """marketing names of the same model that belong to another platform"""
    l3: Bytes | None = None
    """refinement: minimum bytes of the largest L3 group"""
    hbm: bool = False
    """refinement: some NUMA node is HBM"""
    name: NamePattern | None = None
    """refinement: text in the marketing name"""

    @property
    def refines(self) -> bool:
        """Whether it singles out a part of what family and model give."""
        return bool(self.l3 or self.hbm or self.name)


def maker_of(cpu_vendor: str) -> Maker:
    """Return who builds processors of a CPUID vendor; those of neither x86 maker are Arm's kin here."""
    makers: dict[str, Maker] = {"AuthenticAMD": "amd", "GenuineIntel": "intel"}
    return makers.get(cpu_vendor, "arm")


class Traits(Value):
    """What tells a processor generation from others."""

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    """short name: rome, sapphire-rapids"""
    name: str = Field(min_length=1)
    """the vendor's product name: EPYC 7002 (Rome)"""
    vendor: str
    """vendor of the processor: AMD, Intel, NVIDIA"""
    architecture: str = Field(min_length=1)
    """microarchitecture of its cores: Zen 2"""
    inherits: str | None = None
    """id of the platform that supplies traits, figures and partitionings missing here"""
    family: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    """the product line, in lower case: epyc, xeon, xeon-e5, grace"""
    generation: int = Field(ge=1)
    """its generation, by the vendor's count: 2 for EPYC 7002, 6 for Xeon 6"""
    socket: str | None = None
    """SP5, LGA4677; None if models differ or the processor is soldered"""
    core_type: CoreType = "performance"
    """dense: Zen 4c and 5c; efficient: E-cores"""
    hbm_and_dimms: bool = False
    """whether the package has HBM besides DIMM channels"""
    scheme: SchemeName
    """how its sockets can be partitioned: DIES, NPS, COD, SNC, WHOLE, UNKNOWN"""
    l3_per_die: int | None = optional(ge=1, le=64)
    """L3 groups per compute die; None if the L3 is not divided by dies"""
    match: Match
    """how it is recognised: {vendor: AuthenticAMD, family: 26, models: [0-7]}"""
    series: NamePattern
    r"""names of its processors as they appear on an order, for --cpu: EPYC 7\w\w2P?"""

    @property
    def maker(self) -> Maker:
        """Return who builds the processors, in the words of the settings."""
        return maker_of(self.match.vendor)

    @property
    def told(self) -> str:
        """Return the traits in words, for an error: ``family epyc, generation 6, socket SP7``."""
        socket = f", socket {self.socket}" if self.socket else ""
        return f"family {self.family}, generation {self.generation}{socket}"


def _ends(data: Any) -> Any:
    """Return both ends of a range: ``4..5``, ``6..``, ``3``."""
    if isinstance(data, int) and not isinstance(data, bool):
        return data, data
    ends = re.fullmatch(r"(\d{1,3})\.\.(\d{0,3})", data) if isinstance(data, str) else None
    if ends is None and isinstance(data, str):
        raise ValueError("write a number, a range such as 4..5, or 6.. for 6 and above")
    if ends and ends[2] and int(ends[2]) < int(ends[1]):
        raise ValueError(f"{data} is an empty range; write the lower number first")
    return (int(ends[1]), int(ends[2]) if ends[2] else None) if ends else data


class TraitQuery(Value):
    """Platforms by their traits: what stands here must hold, all of it."""

    maker: Maker | None = None
    """processor vendor: amd, intel, arm"""
    family: str | None = None
    """the product line: epyc, xeon"""
    generation: Annotated[tuple[int, int | None] | None, BeforeValidator(_ends)] = None
    """3, 4..5, or 6.. for that one and all later ones"""
    socket: str | None = None
    """SP5"""
    core_type: CoreType | None = None
    """performance, dense or efficient"""
    hbm_and_dimms: bool | None = None
    """whether the package has HBM besides DIMM channels"""

    def fits(self, platform: Traits) -> bool:
        """Return whether a platform has all the traits."""
        first, last = self.generation or (1, None)
        names = ("maker", "family", "socket", "core_type", "hbm_and_dimms")
        same = all(getattr(self, name) in (None, getattr(platform, name)) for name in names)
        return same and first <= platform.generation and (last is None or platform.generation <= last)

    @property
    def bounded(self) -> bool:
        """Return whether no later generation can ever fit."""
        return self.generation is not None and self.generation[1] is not None


def queries_written(data: Any) -> Any:
    """Return the traits of a generation as a list, in which one may stand alone; refuse ids of platforms, and no traits."""
    queries = [data] if isinstance(data, str | dict) else data
    for each in queries if isinstance(queries, list | tuple) else ():
        if isinstance(each, str) or each == {}:
            said = f"{each[:40]} is an id" if each else "no trait is given, so every platform would match"
            raise ValueError(f"{said}; name platforms by traits: {{family: epyc, generation: 5..}}")
    return queries


_OWN = frozenset(
    {"id", "name", "family", "generation", "launched", "match", "series", "processors", "variants", "references", "notes"}
)
"""What a sheet never inherits: who it is, and what was measured or sold of another."""

_FARTHEST = 4
"""Sheets that inherit one from the other."""


def platform_files() -> dict[str, Path]:
    """Return the file of each platform."""
    return {path.stem: path for path in sorted((rules() / "platforms").glob("*.yaml"))}


def file_of(name: str) -> Path:
    """Return the file of a platform that there is."""
    return platform_files()[name]


def with_inherited(sheet: Sheet, only: Iterable[str] = (), younger: tuple[str, ...] = ()) -> Sheet:
    """Return a sheet with what it takes from the one it inherits; a figure of its own needs a source of its own."""
    data = sheet.data if isinstance(sheet.data, dict) else {}
    elder = data.get("inherits")
    if not isinstance(elder, str):
        return sheet
    if elder not in platform_files():
        raise sheet.wrong(
            ("inherits",), f"there is no platform {elder[:40]}", did_you_mean(elder, platform_files(), "see rules/platforms")
        )
    line = (*younger, Path(sheet.file).stem)
    if elder in line:
        raise sheet.wrong(("inherits",), f"{' inherits '.join((*line, elder))}", "name an older platform, or none")
    if len(line) > _FARTHEST:
        raise sheet.wrong(("inherits",), "too many levels of inheritance", f"at most {_FARTHEST}")
    whole = with_inherited(read_sheet(platform_files()[elder], only=only), only, line).data
    from_elder = whole if isinstance(whole, dict) else {}
    merged = {**{key: value for key, value in from_elder.items() if key not in _OWN}, **data}
    sources, own = from_elder.get("sources"), data.get("sources", {})
    if isinstance(sources, dict) and isinstance(own, dict):
        kept = {key: source for key, source in sources.items() if key not in data and key not in _OWN}
        merged["sources"] = {**kept, **own}
    return sheet._replace(data=merged)


def must_be_named(found: Traits, sheet: Sheet) -> None:
    """Refuse a sheet whose id is not its file's name."""
    name = Path(sheet.file).stem
    if found.id != name:
        raise sheet.wrong(("id",), f"the id {found.id} differs from the file's name", f"write id: {name}")


@cache
def traits() -> tuple[Traits, ...]:
    """Return what tells each platform from the others, by file name: far less than whole sheets to read."""
    found = []
    for path in platform_files().values():
        sheet = with_inherited(read_sheet(path, only=Traits.model_fields), Traits.model_fields)
        found.append(model_of(sheet, Traits))
        must_be_named(found[-1], sheet)
    return tuple(found)
