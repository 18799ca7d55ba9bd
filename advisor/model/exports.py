"""A checklist taken apart for the tools that set it: what a BIOS is told, and where Linux keeps the rest."""

from typing import Literal

from pydantic import Field

from advisor.model.value import Value
from advisor.model.vendor import VendorValue


class Write(Value):
    """One BIOS attribute to write."""

    attribute: str
    value: VendorValue
    command: str | None = Field(default=None, description="the maker's line that stages it alone; None where no tool has one")
    about: tuple[str, ...] = Field(default=(), description="what it is, what it was, which rules ask, how it goes back")


class Staging(Value):
    """All BIOS changes of a checklist, each attribute once, what others depend on first."""

    prepare: tuple[str, ...] = Field(default=(), description="lines to run once, before")
    writes: tuple[Write, ...] = ()
    apply: tuple[str, ...] = Field(default=(), description="lines that restart the machine and make all of it take effect")
    show: tuple[str, ...] = Field(default=(), description="lines that read the values back")
    by_hand: tuple[str, ...] = Field(default=(), description="what no file can say, with the reason")
    clashes: tuple[str, ...] = Field(default=(), description="attributes for which two values were wanted, and which was taken")
    path: str | None = Field(default=None, description="Redfish: where the PATCH goes")
    beside: dict[str, VendorValue | dict[str, VendorValue]] = Field(
        default={}, description="Redfish: what stands beside Attributes"
    )
    headers: dict[str, str] = Field(default={}, description="Redfish: headers that a PATCH needs")
    reset: str | None = Field(default=None, description="Redfish: the action that restarts the machine")
    reset_type: str | None = None

    @property
    def body(self) -> dict[str, VendorValue | dict[str, VendorValue]]:
        """Return the body of the PATCH."""
        return {"Attributes": {write.attribute: write.value for write in self.writes}, **self.beside}


Keeper = Literal["sysctl", "sysfs", "cmdline", "service", "limits", "command"]


class Kept(Value):
    """One setting of the operating system, and what keeps it."""

    keeper: Keeper
    key: str = Field(description="kernel.numa_balancing, a file, a service, an item of limits.conf, a command line")
    value: str = Field(description="as it is written there")
    option: str = Field(default="", description="boot options that set it; empty where none does")
    gone: tuple[str, ...] = Field(default=(), description="boot options that must not be there")
    section: str | None = Field(default=None, description="section of a tuned profile")
    line: str | None = Field(default=None, description="option=value there")
    done: bool | None = None
    about: tuple[str, ...] = ()


class System(Value):
    """All settings of the operating system that a checklist wants and whose value is known, done or not."""

    kept: tuple[Kept, ...] = ()
    profile: str | None = Field(default=None, description="the tuned profile wanted")
    by_hand: tuple[str, ...] = Field(default=(), description="what no file of settings can say, and is not done")

    def by(self, keeper: Keeper) -> tuple[Kept, ...]:
        """Return what one keeper keeps."""
        return tuple(each for each in self.kept if each.keeper == keeper)

    @property
    def boot(self) -> tuple[Kept, ...]:
        """Return what the command line can say and sysctl does not."""
        return tuple(each for each in self.kept if each.keeper != "sysctl" and (each.option or each.gone))

    @property
    def options(self) -> tuple[str, ...]:
        """Return the boot options that nothing but the command line keeps, each once."""
        return tuple(dict.fromkeys(each.option for each in self.by("cmdline") if each.option))

    @property
    def unwanted(self) -> tuple[str, ...]:
        """Return boot options that must not be there, of settings that nothing but the command line keeps."""
        return tuple(dict.fromkeys(word for each in self.by("cmdline") if not each.done for word in each.gone))

    @property
    def sections(self) -> dict[str, tuple[Kept, ...]]:
        """Return the sections of a tuned profile, and what stands in each."""
        names = dict.fromkeys(each.section for each in self.kept if each.section)
        return {name: tuple(each for each in self.kept if each.section == name) for name in names}
