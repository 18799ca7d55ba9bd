"""What a BIOS is set for: one named choice that settles what guides dispute, each setting with the guide that asks for it."""

from typing import Annotated, Final, get_args

from pydantic import BeforeValidator, ConfigDict, Field, RootModel

from advisor.advice.model.sheets import Guide, Id, Name, Plain
from advisor.machine.platform_traits import TraitQuery, queries_written
from advisor.machine.value import Value, optional
from advisor.measure.platform import IntentName, Scope

INTENTS: Final[tuple[IntentName, ...]] = get_args(IntentName)

TOPIC: Final = "intent"
"""The topic of what an intent asks for; findings of this topic come of no rule."""


class Choice(Value):
    """The value of one setting, and who asks for it."""

    value: str | None = optional("the neutral value; left out where the machine decides it, as the rules have it")
    guides: tuple[Guide, ...] = Field(min_length=1, description="the guides that ask for it, for this work")
    platforms: Annotated[tuple[TraitQuery, ...], BeforeValidator(queries_written)] = optional(
        "traits of the processors that the guides speak of; all where it is left out", ()
    )
    vendors: tuple[str, ...] = optional("the vendors whose sheets it is for; all where it is left out", ())


class Intent(Value):
    """One kind of work, and all that it settles."""

    title: Plain = Field(description="the work, in a few words")
    scope: Scope = Field(description="the scope that it is judged for")
    settings: dict[Name, tuple[Choice, ...]] = Field(
        min_length=1, description="setting -> its choices, of which the first that fits the server counts"
    )
    sets_aside: dict[Id, Plain] = optional("rules that do not count for this work, each with the reason", {})


class Intents(RootModel[dict[IntentName, Intent]]):
    """All intents by their names."""

    model_config = ConfigDict(frozen=True)
