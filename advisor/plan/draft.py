"""A write that may become a change, and the lists that everything else ends in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from advisor.model.audit.plan import Mark, NotWritten, WantedSetting
from advisor.model.audit.rule import SEVERITIES
from advisor.model.audit.vendor import VendorValue
from advisor.model.hardware.firmware import Scalar

Kind = Literal["wanted", "first", "again"]
_LAST: Final = len(SEVERITIES) - 1


@dataclass(frozen=True)
class Draft:
    """One attribute and the value it is to have, and for whom."""

    attribute: str
    value: VendorValue
    now: Scalar | None = None
    wishes: tuple[WantedSetting, ...] = ()
    kind: Kind = "wanted"
    group: str | None = None
    label: str = ""
    menu: str = ""
    why: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    active: bool = True
    verified: bool = False

    @property
    def serious(self) -> bool:
        """Return whether a wish behind it is neither contested nor a matter of taste."""
        return any(not wish.contested and wish.speak[0].severity != "info" for wish in self.wishes)

    @property
    def weight(self) -> int:
        """Return how much it matters: 0 is most."""
        found = [SEVERITIES.index(each.severity) for wish in self.wishes for each in wish.speak]
        return min(found, default=_LAST)

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rules that want it."""
        return tuple(dict.fromkeys(rule for wish in self.wishes for rule in wish.rules))

    @property
    def title(self) -> str:
        """Return what it is, in words."""
        return " and ".join(dict.fromkeys(wish.title for wish in self.own)) or self.label or self.attribute

    @property
    def own(self) -> tuple[WantedSetting, ...]:
        """Return the wishes for this attribute itself; a profile may answer others."""
        return tuple(wish for wish in self.wishes if wish.place and wish.place.attribute == self.attribute)

    def told(self) -> str:
        """Return the write with who wants it: ``ProcCStates=Enabled (power-cstates-off)``."""
        return f"{self.attribute}={self.value}" + (f" ({', '.join(self.rules)})" if self.rules else "")

    def left(self, reason: str) -> NotWritten:
        """Return it as something that is not written, with the reason."""
        return NotWritten(
            title=self.title,
            wanted=f"{self.attribute}={self.value}",
            reason=reason,
            rules=self.rules,
            setting=self.wishes[0].setting if self.wishes else None,
            attribute=self.attribute,
            group=self.group,
            menu=self.menu or None,
        )

    def joined(self, other: "Draft") -> "Draft":
        """Return the two as one: the same attribute and value, for the wishes of both."""
        return replace(
            self,
            wishes=tuple({wish.setting: wish for wish in (*self.wishes, *other.wishes)}.values()),
            kind="wanted" if "wanted" in (self.kind, other.kind) else self.kind,
            why=tuple(dict.fromkeys((*self.why, *other.why))),
            first=tuple(dict.fromkeys((*self.first, *other.first))),
            marks=tuple(mark for mark in self.marks if mark in other.marks),
            active=self.active or other.active,
        )


@dataclass
class Lists:
    """Everything that is wanted and not written."""

    look_up: list[NotWritten] = field(default_factory=list)
    contested: list[NotWritten] = field(default_factory=list)
    absent: list[NotWritten] = field(default_factory=list)
    by_hand: list[NotWritten] = field(default_factory=list)
    refused: list[NotWritten] = field(default_factory=list)
    content: dict[str, tuple[VendorValue, WantedSetting]] = field(default_factory=dict)
    """What is as wanted already: attribute -> value, and the wish that is content."""

    def refuse(self, drafts: Iterable[Draft], reason: Callable[[Draft], str]) -> None:
        """List drafts as refused, each with its reason."""
        self.refused += [draft.left(reason(draft)) for draft in drafts]
