"""What two machines, or one machine at two times, differ in."""

from pydantic import Field

from advisor.model.value import Value


class Change(Value):
    """One thing that differs; None on the side that does not tell or does not have it."""

    name: str = Field(description="dotted name, or the setting")
    title: str = Field(description="in words")
    before: str | None
    after: str | None


class FindingChange(Value):
    """A finding that one side has and the other has not."""

    id: str
    subject: str | None = None
    severity: str
    claim: str | None
    now: str = Field(description="the verdict on the other side: pass, unknown, not-applicable")


class Difference(Value):
    """Everything in which two audits differ."""

    before: str = Field(description="what the first one is called")
    after: str
    identity: tuple[Change, ...] = ()
    settings: tuple[Change, ...] = ()
    topology: tuple[Change, ...] = ()
    renumbered: int | None = Field(default=None, description="CPU numbers that mean another core; None where shapes differ")
    devices: tuple[Change, ...] = ()
    facts: tuple[Change, ...] = ()
    gained: tuple[FindingChange, ...] = ()
    lost: tuple[FindingChange, ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (
            self.identity or self.settings or self.topology or self.devices or self.facts or self.gained or self.lost
            or self.renumbered
        )  # fmt: skip
