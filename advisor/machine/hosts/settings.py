"""The files in which the running kernel keeps its settings, written to: the one host that changes anything."""

import os
import re

from advisor.machine.hosts.live import LiveHost


def chosen(text: str) -> str:
    r"""Return what a setting's file says is set: of a choice the one in brackets.

    >>> chosen("always [madvise] never\n"), chosen("performance\n")
    ('madvise', 'performance')
    """
    match = re.search(r"\[([^\]]+)\]", text)
    return (match[1] if match else text).strip()


class KernelHost(LiveHost):
    """This machine, whose kernel's settings are written too."""

    def may_write(self, path: str) -> bool:
        """Return whether this user may write to a file."""
        return os.access(path, os.W_OK)

    def write(self, path: str, text: str) -> str | None:
        """Write to a file that is there; return why it was not taken."""
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(handle, text.encode())
            finally:
                os.close(handle)
        except OSError as error:
            return (error.strerror or "it was refused").lower()
        return None
