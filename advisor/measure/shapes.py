"""Remembers in which shape membw walked a pattern best, so that the siblings of a part need no trials and are walked alike."""

import re
from collections.abc import Iterable
from typing import Final

from advisor.model.measurement import Distance, Part, Result, Task

_SHAPE: Final = re.compile(r"[0-9]{1,3}-(?:near|far)-[a-z0-9]{1,6}-[0-9]{1,7}(?:-[a-z0-9]{1,7})?")
Kind = tuple[str, Part, int, Distance | None]
"""Pattern, kind of part, threads, distance to memory: what tasks have in common that a shape is good for."""
Shapes = dict[Kind, str]


def kind(variant: str, task: Task | Result) -> Kind:
    """Return what must be alike for a shape to be taken over."""
    return variant, task.part, len(task.cpus), task.distance


def argv(task: Task, known: Shapes) -> tuple[str, ...]:
    """Return a task's arguments, with the shapes that are known."""
    if task.kernel != "membw":
        return task.argv
    plain = ",".join(task.variants)
    shaped = ",".join(_shaped(variant, known.get(kind(variant, task))) for variant in task.variants)
    return tuple(shaped if word == plain else word for word in task.argv)


def _shaped(variant: str, shape: str | None) -> str:
    return variant if shape is None else f"{variant}:{shape}"


def learn(known: Shapes, results: Iterable[Result]) -> None:
    """Keep the shapes of results; the first of a kind stands."""
    for result in results:
        shape = result.details.get("shape")
        if result.kernel == "membw" and isinstance(shape, str) and _SHAPE.fullmatch(shape):
            known.setdefault(kind(result.variant, result), shape)
