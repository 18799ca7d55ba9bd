"""The neutral vocabulary of what can be set: one name for an idea, whoever built the server."""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

from pydantic import Field, RootModel, model_validator

from advisor.errors import did_you_mean
from advisor.machine.layout import Confidence
from advisor.machine.platform_traits import Maker
from advisor.machine.value import Keys, Value, optional, wrong_at

Where = Literal["hardware", "bios", "boot", "os", "fabric", "scheduler", "mpi", "job"]
"""The groups of the checklist, in the order in which one reboot serves all."""

Neutral = bool | int | str
"""A value in neutral words: "on", "linear", 4."""

Name = Annotated[str, Field(pattern=r"^[a-z]+(\.[a-z0-9_]+)+$")]
Said = Annotated[str, Field(min_length=1)]


Source = Literal["system", "register", "firmware", "BIOS"]
"""Who witnesses a setting: the kernel's files, a register of the processor, the firmware at run time, the BIOS's attributes."""


class Witness(Value):
    """What somebody says a setting is set to."""

    by: Source = Field(description="system, register, firmware (HSMP, ACPI) or BIOS")
    value: str = Field(description="in neutral words")
    sure: Confidence = Field(description="high, medium or low")
    how: str = Field(description="what was looked at")


class Reading(Value):
    """One way to read a setting from the running system; the first that gives a known value counts."""

    value: str = Field(description="an expression of the rule language over a machine's facts")
    sure: Confidence = Field(description="high, medium or low")
    by: Source = optional("system, register or firmware (HSMP, ACPI)", "system")
    how: Said = Field(description="what was looked at, in one line")


class Means(Value):
    """Where an operating system keeps a setting; {value} stands for what is written."""

    sysctl: str | None = Field(
        default=None, pattern=r"^\w+(\.[\w*-]+)+$", description="its name, with points: kernel.numa_balancing"
    )
    sysfs: str | None = Field(
        default=None,
        pattern=r"^/(sys|proc|dev)/",
        description="a file, or a pattern of files with *, that takes the value at once",
    )
    cmdline: str | None = Field(
        default=None, pattern=r"\{value\}", description="the boot option as it stands on the line: iommu={value}"
    )
    service: str | None = Field(
        default=None, pattern=r"^[\w@.:-]+$", description="a systemd unit that is switched on or off: irqbalance"
    )
    limits: str | None = Field(default=None, pattern=r"^[a-z]+$", description="an item of limits.conf: memlock")
    tuned: str | None = Field(
        default=None,
        pattern=r"^\[\w+\] [^=]+=.*\{value\}",
        description="section and option of a tuned profile: [vm] transparent_hugepages={value}",
    )
    command: str | None = optional("a command that sets it at once: cpupower frequency-set -g {value}")
    divide: int = Field(default=1, ge=1, description="what a number is divided by before it is written: bytes to kilobytes")
    writes: dict[str, str] = optional("neutral value -> what is written where that differs", {})


class Setting(Value):
    """One thing that can be set, in neutral words."""

    name: str = optional("the key it stands under: numa.nps", "")
    term: Said = Field(description="the word that people search for: NPS, vm.swappiness")
    title: Said = Field(description="the term explained: NUMA nodes per socket")
    where: Where = Field(description="in which group of the checklist: hardware, bios, boot, os, fabric, scheduler, mpi or job")
    type: Literal["choice", "number", "text"] = Field(description="choice, number or text")
    values: dict[str, Said] = optional("neutral value -> its meaning in one line", {})
    unit: str | None = optional("unit of a number")
    makers: tuple[Maker, ...] = optional("vendors of processors that have it; () all", ())
    only_with: dict[str, str] = optional(
        "value -> the setting that must be known and set together with it: without, it does harm", {}
    )
    only_read: tuple[str, ...] = optional("values that are found and never written: mixed", ())
    reboot: Literal["no", "yes", "power-cycle"] = Field(description="no, yes or power-cycle")
    breaks: Said = Field(description="what it can break, in one sentence")
    menu: tuple[str, ...] = optional("its usual names in setup menus, the most usual first", ())
    set: Means | None = optional("how the operating system takes it")
    show: Said | None = optional("the command that shows the present value on Linux")
    read: tuple[Reading, ...] = ()
    hidden: Said | None = optional("of one that nothing in a running system shows: why")
    sources: tuple[str, ...] = optional("ids of sources.yaml", ())
    note: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> "Setting":
        if self.type == "choice" and len(self.values) < 2:
            raise wrong_at(("values",), "a choice needs two values or more", "write each with its meaning: {on: ..., off: ...}")
        if self.type == "number" and (words := [value for value in self.values if not value.lstrip("-").isdigit()]):
            raise wrong_at(
                ("values", words[0]), f"{words[0]} is no number", "the values of a number are numbers; or type: choice"
            )
        if self.type != "number" and self.unit:
            raise wrong_at(("unit",), f"a {self.type} has no unit", "take it out, or write type: number")
        if self.where != "bios" and self.menu:
            raise wrong_at(("menu",), "only settings of the BIOS stand in its menus", "take it out, or write where: bios")
        named: tuple[tuple[Keys, Iterable[str]], ...] = (
            (("only_read",), self.only_read),
            (("only_with",), self.only_with),
            (("set", "writes"), self._writes),
        )
        for place, given in named:
            if unknown := next((value for value in given if value not in self.values), None):
                cure = did_you_mean(unknown, self.values, f"there are {', '.join(self.values)}")
                raise wrong_at((*place, unknown), f"{place[-1]}: {unknown[:60]} is not a value of this setting", cure)
        self._is_written()
        return self

    @property
    def _writes(self) -> dict[str, str]:
        return self.set.writes if self.set else {}

    def _is_written(self) -> None:
        """Refuse what cannot be written, or not be told apart when it is read back."""
        if self.set is None:
            return
        ways = [name for name in _WAYS if getattr(self.set, name)]
        if not ways:
            raise wrong_at(("set",), "set names no place", f"write {', '.join(_WAYS)}; or set: null where only a person can")
        if self.where == "boot" and "cmdline" not in ways:
            raise wrong_at(("set",), "where: boot, and no boot option", "write cmdline: OPTION={value}, or where: os")
        if "sysctl" in ways and "sysfs" in ways:
            raise wrong_at(("set",), "sysctl and sysfs are two places for one value", "keep one of them")
        silent = [value for value in self.values if value not in (*self._writes, *self.only_read)]
        if self.type == "choice" and self._writes and silent:
            raise wrong_at(("set", "writes"), f"writes does not say {silent[0]}", f'write {silent[0]}: "WHAT IS WRITTEN FOR IT"')
        texts = list(self._writes.values())
        if same := next((text for text in texts if texts.count(text) > 1), None):
            raise wrong_at(("set", "writes"), f"two values are written as {same[:40]}", "each value has its own text")

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


_WAYS: Final = ("sysctl", "sysfs", "cmdline", "service", "limits", "command")
"""The places of which one at least takes a value."""


class Vocabulary(RootModel[dict[Name, Setting]]):
    """The sheet of all settings, in the order of the checklist."""
