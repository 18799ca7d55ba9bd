"""A rule asked of a machine, with every value filled in."""

from typing import Literal

from pydantic import Field

from advisor.model.finding import Lack
from advisor.model.platform import Scope
from advisor.model.rule import Severity, Verdict
from advisor.model.value import Value


class Step(Value):
    """An expression or a part of one, and what it came to."""

    depth: int = Field(ge=0, description="how deep inside the whole expression it stands")
    text: str
    value: str = Field(description="in words; true, false or unknown of a truth value")
    where: str | None = Field(default=None, description="the file or command a fact was read from")
    decides: bool = Field(description="whether the whole came out as it did because of this part")


class Part(Value):
    """One expression of the rule."""

    key: Literal["each", "let", "only", "when", "set", "gain"]
    name: str | None = Field(default=None, description="the name that let gives it, the setting that set is about")
    steps: tuple[Step, ...]


class Answer(Value):
    """The rule's verdict on one subject."""

    subject: str | None = None
    verdict: Verdict
    said: str | None = Field(default=None, description="the claim, or why the rule does not apply")
    parts: tuple[Part, ...] = ()
    lacks: tuple[Lack, ...] = Field(default=(), description="what would be needed where it is unknown")


class Explanation(Value):
    """A rule with all its verdicts on one machine."""

    id: str
    title: str
    topic: str
    severity: Severity
    scope: tuple[Scope, ...] = Field(description="the work it matters for")
    asked: Scope = Field(description="the work it was asked for")
    file: str
    line: int
    answers: tuple[Answer, ...]
