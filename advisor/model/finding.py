"""What a rule says of one machine: claim, evidence, cost, fix, check, undo, source."""

from typing import Literal

from pydantic import Field

from advisor.model.platform import Scope
from advisor.model.rule import Guide, Severity, Verdict
from advisor.model.setting import Where
from advisor.model.value import Value


class Evidence(Value):
    """A fact that a verdict rests on."""

    fact: str = Field(description="its dotted name")
    value: str = Field(description="its value in words")
    where: str | None = Field(default=None, description="the file or command it was read from")


class Lack(Value):
    """A fact that would be needed for a verdict."""

    fact: str
    why: str = Field(description="why it is not known")
    help: str = Field(description="what would make it known")


class Cost(Value):
    """What it costs to leave things as they are."""

    gain: float | None = Field(default=None, description="part to be won: 0.13")
    of: str = Field(description="of what")
    basis: Literal["published", "computed", "measured"]
    ref: str | None = Field(default=None, description="the publication")


class Want(Value):
    """A setting and the value it should have."""

    setting: str
    value: str | None = Field(default=None, description="None where it depends on what is not known")


class Fix(Value):
    """One step in this machine's own words."""

    setting: str | None = None
    value: str | None = Field(default=None, description="the neutral value wanted")
    text: str = Field(description="the step, one line")
    where: Where
    menu: str | None = Field(default=None, description="path through the BIOS menus")
    attribute: str | None = Field(default=None, description="the BIOS's own name of it")
    attribute_value: str | int | bool | None = Field(default=None, description="the BIOS's own value")
    commands: tuple[str, ...] = Field(default=(), description="lines to paste; BIOS changes are staged by them, not applied")
    apply: tuple[str, ...] = Field(default=(), description="lines that make all staged changes take effect, once, with a restart")
    before: tuple[str, ...] = Field(default=(), description="what must be set first")
    notes: tuple[str, ...] = ()
    reboot: str = "no"
    check: str | None = Field(default=None, description="the command that shows the present value")
    undo: str | None = Field(default=None, description="the way back")
    verified: bool | None = Field(default=None, description="whether the maker's own registry has this name and value")


class Finding(Value):
    """One verdict of one rule on one subject."""

    id: str = Field(description="the rule")
    title: str
    topic: str
    verdict: Verdict
    severity: Severity
    scope: tuple[Scope, ...] = Field(description="the work it matters for")
    where: Where
    subject: str | None = Field(default=None, description="which of several things: mlx5_0, socket 1")
    claim: str | None = Field(default=None, description="what is so; of an unknown or an error, what stands in the way")
    why: str = ""
    evidence: tuple[Evidence, ...] = ()
    lacks: tuple[Lack, ...] = Field(default=(), description="what an unknown would need")
    cost: Cost | None = None
    wants: tuple[Want, ...] = ()
    want: str | None = Field(default=None, description="the state wanted, as a line of a checklist")
    advice: str | None = Field(default=None, description="what to do where no setting does it")
    fix: tuple[Fix, ...] = Field(default=(), description="the steps in this machine's own words")
    check: str | None = None
    undo: str | None = None
    spare: str | None = None
    guides: tuple[Guide, ...] = ()
    refs: tuple[str, ...] = ()
    waived: str | None = Field(default=None, description="reason and last day of a waiver")
