"""What a screen says of all rules, left out of golden texts: a rule that fires nowhere changes none of them."""

import re
from typing import Final

_BLOCKS: Final = re.compile(r"^(NOT CHECKED|CHECKS|CHECKED) .*\n(?: {10}.*\n)*", re.MULTILINE)
_NUMBERS: Final = (
    (re.compile(r"\b\d+ of \d+(\s+)checks gave a result"), r"N of N\1checks gave a result"),
    (re.compile(r"\d+ checks answered for (\w+)(?:,\s+\d+ needs? more\s+facts)?"), r"N checks answered for \1"),
)


def without_totals(screen: str) -> str:
    """Return a screen without the numbers of all rules, and without the sections that are made of such numbers alone."""
    screen = _BLOCKS.sub("", screen)
    for pattern, text in _NUMBERS:
        screen = pattern.sub(text, screen)
    return screen
