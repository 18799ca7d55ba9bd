"""Grid Engine starts no ranks: no line given of its to read back."""

from advisor.errors import BadValue
from advisor.machine.cpuset import CpuSet

HOSTS: list[tuple[str, ...]] = [()]
MOST = 0
"""It starts the job script."""


def parse() -> dict[int, tuple[str | None, CpuSet | None]]:
    """Refuse: nothing was written."""
    raise BadValue("no line of Grid Engine is written")
