"""How often a property is tried: in the fast suite a fifth of what CI tries, for its seconds are those of whoever waits."""

import os
from typing import Final

from hypothesis import settings

ALL: Final = os.environ.get("ADVISOR_EXAMPLES") == "all"
"""Set by `make test-ci` and `make test-all`."""


def examples(count: int) -> settings:
    """Return the settings of a property that CI tries so often; without a limit of time, for machines are busy."""
    return settings(max_examples=count if ALL else max(count // 5, 10), deadline=None)
