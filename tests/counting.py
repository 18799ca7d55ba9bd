"""Work, counted: how many functions a piece of code calls. A clock tells what else the machine is doing."""

import sys
from collections.abc import Callable
from typing import Any


class TooMuchWorkError(AssertionError):
    """More calls than the test allows."""


def calls(work: Callable[[], Any], most: int = 10_000_000) -> int:
    """Return how many functions are called, Python's own among them; stop at the most there may be, for it might never end."""
    counted = 0

    def count(_frame: Any, event: str, _: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")
        if counted > most:
            raise TooMuchWorkError

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted
