"""Who hears what is worth knowing while a task works; silent unless the caller gives another."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """How far a measurement is: the task now begun, how many there are, and the seconds that are left."""

    number: int
    of: int
    task: Any
    left: float


class Observer:
    """Hears what a task does while it works; this one says nothing of it."""

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


SILENT = Observer()
