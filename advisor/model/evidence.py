"""Where a fact was read, and why another is not known."""

from pydantic import Field

from advisor.model.value import Value

NOT_OFFERED = "this kernel or platform does not offer it"
"""The help of a gap that no permission and no package would close."""


class Source(Value):
    """Where a fact or a group of facts was read."""

    fact: str = Field(description="dotted name of the fact, or of the section that holds it: kernel.thp, memory")
    where: str = Field(description="file or command")


class Gap(Value):
    """A fact that could not be learnt."""

    fact: str = Field(description="dotted name of the fact, or of the section that lacks: memory.dimms")
    why: str = Field(description="what stood in the way: permission denied, not in an hwloc XML, ...")
    help: str = Field(description="what would make it known: run as root, install hwloc, ...")
