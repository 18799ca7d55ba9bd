"""How often a law is tried: the fast suite takes a fifth of CI's examples and a third of its machines, for somebody waits.

Examples are the same in every run, so that a commit is never refused for a draw that is not its own; `make test-all` draws anew.
"""

import os
from collections.abc import Iterable
from typing import Any, Final

import pytest
from hypothesis import settings

ALL: Final = os.environ.get("ADVISOR_EXAMPLES") == "all"
"""Set by `make test-ci` and `make test-all`."""

ANEW: Final = os.environ.get("ADVISOR_DRAW") == "anew"
"""Set by `make test-all`: what it finds is mended there, in its own commit."""


settings.register_profile("house", max_examples=100 if ALL else 20, deadline=None, derandomize=not ANEW)
settings.load_profile("house")  # what says nothing of its own


def examples(count: int, **more: Any) -> settings:
    """Return the settings of a property that CI tries so often; without a limit of time, for machines are busy."""
    return settings(max_examples=count if ALL else max(count // 5, 10), deadline=None, **more)


def a_third(values: Iterable[Any]) -> list[Any]:
    """Return values to parametrise with, of which the fast suite takes every third, and CI all."""
    return [pytest.param(value, marks=[pytest.mark.slow] if number % 3 else []) for number, value in enumerate(values)]
