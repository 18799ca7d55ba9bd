"""What tells one processor generation from another: how a machine's is recognised, and the traits that vendors and rules ask for.

A trait is asked for, never an id: a sheet that is added later is then served by every vendor and rule that its traits fit.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from advisor.model.audit.setting import Maker
from advisor.model.value import Value, measured_in

Bytes = Annotated[float, measured_in("bytes")]
CoreType = Literal["performance", "dense", "efficient"]


def _spelled(data: Any) -> Any:
    """Return numbers with the ranges among them written out: ``48-63``."""
    items = data if isinstance(data, list | tuple) else [data]
    return [number for item in items for number in _numbers(item)]


def _numbers(item: Any) -> Any:
    ends = re.fullmatch(r"(\d{1,5})-(\d{1,5})", item) if isinstance(item, str) else None
    return range(int(ends[1]), int(ends[2]) + 1) if ends else (item,)


Numbers = Annotated[tuple[int, ...], BeforeValidator(_spelled)]


def _is_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return text


NamePattern = Annotated[str, Field(max_length=120), BeforeValidator(_is_pattern)]


class Match(Value):
    """How a machine's processor is recognised: by family and model, never by its marketing name alone.

    Refinements single out a part of those: a sheet that has some fits where any of them holds.
    """

    vendor: str = Field(description="the CPUID vendor, or the Arm implementer")
    family: int | None = Field(default=None, description="CPU family; None on Arm, where the kernel has none")
    models: Numbers = Field(description="models of that family, or Arm parts", min_length=1)
    steppings: Numbers = Field(default=(), description="only these steppings; () for all")
    never: NamePattern | None = Field(default=None, description="marketing names of the same model that are another platform")
    l3: Bytes | None = Field(default=None, description="refinement: bytes of the largest L3 group, at least")
    hbm: bool = Field(default=False, description="refinement: some NUMA node is HBM")
    name: NamePattern | None = Field(default=None, description="refinement: the marketing name has this in it")

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

    id: str = Field(pattern=r"[a-z0-9]+(-[a-z0-9]+)*", description="short name: rome, sapphire-rapids")
    name: str = Field(description="EPYC 7002 (Rome)")
    vendor: str = Field(description="AMD, Intel, NVIDIA")
    architecture: str = Field(description="of its cores: Zen 2")
    inherits: str | None = Field(
        default=None, description="id of the platform whose traits, figures and cuts hold where none stand here"
    )
    family: str = Field(pattern=r"[a-z0-9]+(-[a-z0-9]+)*", description="the product line: epyc, xeon, xeon-e5, instinct, grace")
    generation: int = Field(ge=1, description="which of its family, as the vendor counts: 2 for EPYC 7002, 6 for Xeon 6")
    socket: str | None = Field(default=None, description="SP5, LGA4677; None where models differ, or it is soldered")
    core_type: CoreType = Field(default="performance", description="dense: Zen 4c and 5c; efficient: E-cores")
    hbm_and_dimms: bool = Field(default=False, description="whether the package holds HBM beside channels of DIMMs")
    scheme: str = Field(description="how its sockets can be cut: DIES, NPS, COD, SNC, WHOLE, UNKNOWN")
    match: Match = Field(description="how it is recognised")
    series: NamePattern = Field(description="names of its processors as they stand on an order, for --cpu: EPYC 7\\w\\w2P?")

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
        raise ValueError("write a number, 4..5, or 6.. for that one and all later ones")
    return (int(ends[1]), int(ends[2]) if ends[2] else None) if ends else data


class TraitQuery(Value):
    """Platforms by their traits: what stands here must hold, all of it."""

    maker: Maker | None = Field(default=None, description="who builds the processors: amd, intel, arm")
    family: str | None = Field(default=None, description="the product line: epyc, xeon")
    generation: Annotated[tuple[int, int | None] | None, BeforeValidator(_ends)] = Field(
        default=None, description="3, 4..5, or 6.. for that one and all later ones"
    )
    socket: str | None = Field(default=None, description="SP5")
    core_type: CoreType | None = Field(default=None, description="performance, dense or efficient")
    hbm_and_dimms: bool | None = Field(default=None, description="whether the package holds HBM beside channels of DIMMs")

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
