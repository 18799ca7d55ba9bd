"""What somebody wants to run: how many ranks, how many threads, where."""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, model_validator

from advisor.model.value import Value

Strategy = Literal["compact", "spread-numa", "spread-l3", "hybrid", "hca-near", "balanced", "per-hca", "gpu-near"]
STRATEGIES: Final[tuple[Strategy, ...]] = (
    "compact",
    "spread-numa",
    "spread-l3",
    "hybrid",
    "hca-near",
    "balanced",
    "per-hca",
    "gpu-near",
)

Per = Literal["node", "socket", "numa", "l3", "core"]
"""What ranks are counted in."""

HostName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,253}[A-Za-z0-9])?$")]
"""A host name that no launcher and no shell takes for anything else."""

DeviceName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$")]


class Slice(Value):
    """Part k of n of every node, for jobs that share it: 1/4 is the first quarter. Parts are disjoint and leave nothing."""

    part: int = Field(ge=1, description="k, from 1")
    of: int = Field(ge=1, le=1024, description="n")

    @model_validator(mode="after")
    def _inside(self) -> "Slice":
        if self.part > self.of:
            raise ValueError(f"part {self.part} of {self.of} does not exist")
        return self


class JobShape(Value):
    """The shape of a job; of ranks, ranks_per_node and per at most one is given, and where none is, as many ranks as fit."""

    ranks: int | None = Field(default=None, ge=1, le=1 << 24, description="ranks in all")
    ranks_per_node: int | None = Field(default=None, ge=1, le=1 << 16, description="ranks on each node")
    per: Per | None = Field(default=None, description="ranks are counted in these")
    per_count: int = Field(default=1, ge=1, le=1 << 12, description="so many ranks for each of them")
    threads: int = Field(
        default=1,
        ge=1,
        le=1 << 12,
        description="threads of a rank: cores it gets for itself, or hardware threads where smt is use",
    )
    strategy: Strategy | Literal["auto"] = "auto"
    near: DeviceName | None = Field(default=None, description="HCA or GPU to be near: mlx5_0, 0000:61:00.0, gpu0")
    smt: Literal["skip", "use"] = Field(default="skip", description="whether second hardware threads run threads of their own")
    reserve: int = Field(default=0, ge=0, le=1 << 12, description="cores of each node left to the system: the first ones free")
    slice: Slice | None = None
    hosts: tuple[HostName, ...] = Field(default=(), description="in the job's order; () for one node without a name")

    @model_validator(mode="after")
    def _once(self) -> "JobShape":
        if sum(each is not None for each in (self.ranks, self.ranks_per_node, self.per)) > 1:
            raise ValueError("ranks, ranks_per_node and per are three ways to say one thing")
        if len(set(self.hosts)) != len(self.hosts):
            raise ValueError("a host stands twice")
        return self
