"""What a maker's attribute registry allows: names, values, and which attribute makes another read-only or sets it."""

from typing import Final, Literal

from pydantic import Field

from advisor.model.bios import Scalar
from advisor.model.value import Value

Condition = Literal["EQU", "NEQ", "GTR", "GEQ", "LSS", "LEQ"]

FLAGS: Final = ("ReadOnly", "GrayOut", "Hidden", "Immutable")
"""Properties that keep an attribute from being written."""


class Allowed(Value):
    """One value of an enumeration: what a PATCH takes, and what the menu shows."""

    name: str
    shown: str


class Attribute(Value):
    """One attribute as the registry describes it."""

    name: str
    kind: str = Field(description="Enumeration, Integer, String, Boolean, Password")
    shown: str | None = Field(default=None, description="DisplayName")
    values: tuple[Allowed, ...] = ()
    flags: tuple[str, ...] = Field(default=(), description="of ReadOnly, GrayOut, Hidden, Immutable, those that it states")
    lower: int | None = None
    upper: int | None = None

    def named(self, value: Scalar | None) -> Scalar | None:
        """Return the registry's own name for a value, where the menu's words for it were given."""
        if not isinstance(value, str) or any(each.name == value for each in self.values):
            return value
        return next((each.name for each in self.values if each.shown == value), value)

    def takes(self, value: Scalar) -> bool:
        """Return whether a value is legal; the name and the menu's words of an enumeration both are."""
        if self.kind == "Enumeration":
            return isinstance(value, str) and any(value in (each.name, each.shown) for each in self.values)
        if self.kind == "Integer":
            if isinstance(value, bool) or not isinstance(value, int):
                return False
            return (self.lower is None or value >= self.lower) and (self.upper is None or value <= self.upper)
        return isinstance(value, bool) if self.kind == "Boolean" else isinstance(value, str)


class Term(Value):
    """One condition of a dependency."""

    attribute: str
    property: str
    condition: Condition
    value: Scalar | None
    joined: Literal["AND", "OR"] | None = Field(default=None, description="to those before it; None where the registry is silent")


class Dependency(Value):
    """While its terms hold, an attribute's property has a value."""

    target: str
    property: str
    value: Scalar | None
    terms: tuple[Term, ...] = Field(min_length=1)


class Registry(Value):
    """An attribute registry."""

    id: str | None = None
    maker: str | None = Field(default=None, description="OwningEntity: Dell, HPE, AMI")
    product: str | None = None
    attributes: dict[str, Attribute]
    dependencies: tuple[Dependency, ...] = ()
