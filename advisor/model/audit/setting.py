"""The neutral vocabulary of what can be set: one name for an idea, whoever built the server."""

from typing import Annotated, Literal

from pydantic import Field, RootModel, model_validator

from advisor.model.hardware.layout import Confidence
from advisor.model.hardware.platform_traits import Maker
from advisor.model.value import Value

Where = Literal["hardware", "bios", "boot", "os", "fabric", "scheduler", "mpi", "job"]
"""The groups of the checklist, in the order in which one reboot serves all."""

Neutral = bool | int | str
"""A value in neutral words: "on", "linear", 4."""

Name = Annotated[str, Field(pattern=r"^[a-z]+(\.[a-z0-9_]+)+$")]


class Reading(Value):
    """One way to read a setting from the operating system; the first that gives a known value counts."""

    value: str = Field(description="an expression of the rule language over a machine's facts")
    sure: Confidence
    how: str = Field(description="what was looked at, in one line")


class Means(Value):
    """Where an operating system keeps a setting; {value} stands for what is written."""

    sysctl: str | None = Field(default=None, description="kernel.numa_balancing")
    sysfs: str | None = Field(default=None, description="a file, or a pattern of files with *, that takes the value at once")
    cmdline: str | None = Field(default=None, description="the boot option as it stands on the line: iommu={value}")
    service: str | None = Field(default=None, description="a systemd unit that is switched on or off")
    limits: str | None = Field(default=None, description="an item of limits.conf: memlock")
    tuned: str | None = Field(
        default=None, description="section and option of a tuned profile: [vm] transparent_hugepages={value}"
    )
    command: str | None = Field(default=None, description="a command that sets it at once: cpupower frequency-set -g {value}")
    divide: int = Field(default=1, ge=1, description="what a number is divided by before it is written: bytes to kilobytes")
    writes: dict[str, str] = Field(default={}, description="neutral value -> what is written where that differs")


class Setting(Value):
    """One thing that can be set, in neutral words."""

    name: str = Field(default="", description="the key it stands under: numa.nps")
    term: str = Field(description="the word that people search for: NPS, vm.swappiness")
    title: str = Field(description="the term explained: NUMA nodes per socket")
    where: Where
    type: Literal["choice", "number", "text"]
    values: dict[str, str] = Field(default={}, description="neutral value -> its meaning in one line")
    unit: str | None = Field(default=None, description="unit of a number")
    makers: tuple[Maker, ...] = Field(default=(), description="vendors of processors that have it; () all")
    only_with: dict[str, str] = Field(
        default={}, description="value -> the setting that must be known and set together with it: without, it does harm"
    )
    only_read: tuple[str, ...] = Field(default=(), description="values that are found and never written: mixed")
    reboot: Literal["no", "yes", "power-cycle"]
    breaks: str = Field(description="what it can break, in one sentence")
    menu: tuple[str, ...] = Field(default=(), description="its usual names in setup menus, the most usual first")
    set: Means | None = Field(default=None, description="how the operating system takes it")
    show: str | None = Field(default=None, description="the command that shows the present value on Linux")
    read: tuple[Reading, ...] = ()
    sources: tuple[str, ...] = Field(default=(), description="ids of sources.yaml")
    note: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> "Setting":
        if self.type == "choice" and len(self.values) < 2:
            raise ValueError("a choice needs two values or more")
        if self.type == "number" and not all(value.lstrip("-").isdigit() for value in self.values):
            raise ValueError("the values of a number are numbers")
        if unknown := [value for value in (self.set.writes if self.set else {}) if value not in self.values]:
            raise ValueError(f"writes: {unknown[0]} is not a value of this setting")
        if unknown := [value for value in self.only_read if value not in self.values]:
            raise ValueError(f"only_read: {unknown[0]} is not a value of this setting")
        return self

    @property
    def heading(self) -> str:
        """Return the term with what it means, as tables and titles show it: ``NPS (NUMA nodes per socket)``."""
        return f"{self.term} ({self.title})"

    def neutral(self, text: str) -> Neutral:
        """Return a value as the type says: 4 for the text "4" of a number."""
        return int(text) if self.type == "number" and text.lstrip("-").isdigit() else text

    def takes(self, value: Neutral) -> bool:
        """Return whether a value is one of this setting's."""
        if self.type == "number":
            return isinstance(value, int) and not isinstance(value, bool) and (not self.values or str(value) in self.values)
        return isinstance(value, str) and (self.type == "text" or value in self.values)


class Vocabulary(RootModel[dict[Name, Setting]]):
    """The sheet of all settings, in the order of the checklist."""
