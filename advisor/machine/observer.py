"""Who hears what is worth knowing while a task works; silent unless the caller gives another."""

from typing import Any, Protocol


class Progress(Protocol):
    """How far a measurement is: the task now begun, how many there are, and the seconds that are left."""

    @property
    def number(self) -> int:
        """Return which task it is, from 1."""

    @property
    def of(self) -> int:
        """Return how many there are."""

    @property
    def task(self) -> Any:
        """Return the task now begun."""

    @property
    def left(self) -> float:
        """Return the seconds that are left."""


class Observer(Protocol):
    """Hears what a task does while it works."""

    def say(self, text: str) -> None:
        """Hear one line that its user should read: what will be measured, what could not be."""

    def detail(self, text: str) -> None:
        """Hear one line for those who want to follow every single run."""

    def step(self, what: str, name: str) -> None:
        """Hear which step of a longer reading has begun; many a second."""

    def task(self, now: Progress) -> None:
        """Hear which task of a measurement has begun, and how long the rest takes."""

    def end(self) -> None:
        """Hear that these steps or tasks are over."""


class Silent:
    """Hears everything and says nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""

    def detail(self, text: str) -> None:
        """Say nothing."""

    def step(self, what: str, name: str) -> None:
        """Say nothing."""

    def task(self, now: Progress) -> None:
        """Say nothing."""

    def end(self) -> None:
        """Say nothing."""


SILENT: Observer = Silent()
