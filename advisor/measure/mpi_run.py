"""Runs a kernel under a launcher: hears its lines, and says in one line why there are none."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from advisor.host.base import Ran, Why
from advisor.measure.build import Starter

_LARGEST: Final = 64 << 20
_PATIENCE: Final = 8.0
_LEAST: Final = 90.0
"""Seconds; ssh waits a minute and more for a host that does not answer."""
_ADVISORY: Final = ("---", "===", "***")
_TELLING: Final = re.compile(
    r"ssh: |Could not resolve|No route to host|Connection (?:refused|timed out)|not find an executable"
    r"|unable to access or execute|No such file|error while loading|execvp|[Pp]ermission denied|as root|not enough slots",
)
_AS_ROOT: Final = "start it as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
_NO_PAIRS: Final = re.compile(r"\b1 ranks: pairs need")


class Heard(NamedTuple):
    """What a start printed, and in words why it ended badly; None where it did not."""

    text: bytes
    why: str | None

    @property
    def lines(self) -> list[bytes]:
        """The lines of our kernels."""
        return [line for line in self.text.splitlines() if line.lstrip().startswith(b"{")]


def started(host: Starter, argv: Sequence[str], variables: Mapping[str, str], seconds: float) -> Heard:
    """Return what a start printed.

    A launcher that hangs when its ranks have ended (both Open MPI do, one time in hundreds) leaves whole lines behind.
    """
    heard: list[bytes] = []

    def hear(data: bytes) -> None:
        if sum(map(len, heard)) <= _LARGEST:
            heard.append(data)

    limit = max(_LEAST, _PATIENCE * seconds)
    ran = host.launch(tuple(argv), hear, timeout=limit, variables=variables)
    return Heard(b"".join(heard), _failed(argv[0], ran, limit))


def _failed(launcher: str, ran: Ran, limit: float) -> str | None:
    if ran.why is Why.ABSENT:
        return f"{launcher} is not here; load the MPI's module"
    if ran.why is Why.TIMEOUT:
        return f"{launcher} did not end within {limit:.0f} s and was ended{_said(ran.err)}"
    if ran.why is not None:
        return f"{launcher}: {ran.why.value}"
    return None if ran.status == 0 else f"{launcher} ended with status {ran.status}{_said(ran.err)}"


def _said(errors: bytes) -> str:
    """Return the line that tells most: what ssh or the system said, else what the kernel said, else the last with words."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    words = [line for line in lines if any(letter.isalnum() for letter in line) and not line.startswith(_ADVISORY)]
    if any(_NO_PAIRS.search(line) for line in words):
        return ": every rank was started alone, by a launcher of another MPI than the one that the program was built with"
    words = [line for line in words if "warning:" not in line.lower()] or words  # Open MPI 5 on a busy machine: setpgid failed
    telling = next((line for line in words if _TELLING.search(line)), None)
    own = next((line for line in words if line.startswith(("mbw_mr:", "hpl:"))), None)
    found = own or telling or (words[-1] if words else None)
    cure = f"; {_AS_ROOT}" if found and "as root" in found else ""
    return f": {found[:240].rstrip('.')}{cure}" if found else " and said nothing"
