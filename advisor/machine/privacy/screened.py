"""Another host's answers without passwords, tokens and keys: what every collector reads, and every capture is made of."""

import re

from advisor.machine.hosts.base import Host, Ran, Reading, SecondLook, second_look
from advisor.machine.secrecy import CMDLINE, SLURM_CONF, is_slurm_line, keeps_variable, screened_boot_line, without_secrets

_PRINTED = re.compile(rb"[\x20-\x7e]{8,}")
"""Texts in a table of the firmware: an OEM string of SMBIOS may hold a password."""


def _same_length(found: re.Match[bytes]) -> bytes:
    """Return a text of a table without secrets, as long as it was: what stands behind it stays where it is."""
    text = found[0].decode("ascii")
    clean = without_secrets(text)
    return found[0] if clean == text else clean.ljust(len(text), "*")[: len(text)].encode("ascii")


def _cleaned(data: bytes) -> bytes:
    if b"\0" in data.rstrip(b"\0"):
        return _PRINTED.sub(_same_length, data)
    text = data.decode("utf-8", "surrogateescape")
    return without_secrets(text).encode("utf-8", "surrogateescape")


class HostBehind:
    """A host that answers for another one, under its name and as its kind."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return self._host.name

    @property
    def kind(self) -> str:
        """What kind of host it is."""
        return self._host.kind


class RedactedHost(HostBehind):
    """Another host's answers without passwords, tokens and keys: what sources learn from, and every capture is made of."""

    screened = True

    def read(self, path: str) -> Reading:
        """Return what a file holds; of the kernel's command line the options that are known, and the names of others."""
        reading = self._host.read(path)
        if reading.why:
            return reading
        if path == CMDLINE:
            return Reading(f"{screened_boot_line(reading.text or '')}\n".encode())
        if path == SLURM_CONF:
            return Reading("".join(f"{line}\n" for line in (reading.text or "").splitlines() if is_slurm_line(line)).encode())
        return Reading(_cleaned(reading.data))

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder."""
        return self._host.list(path)

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved."""
        return self._host.real(path)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed, and where it is."""
        ran = self._host.run(argv, timeout)
        path = None if ran.path is None else without_secrets(ran.path)
        return ran._replace(out=_cleaned(ran.out), err=_cleaned(ran.err), path=path)

    @property
    def again(self) -> SecondLook | None:
        """The second look of a capture; None where there was one."""
        second = second_look(self._host)
        return None if second is None else second._replace(host=RedactedHost(second.host))

    def environment(self) -> dict[str, str]:
        """Return the variables that are known to say how a job is placed."""
        found = self._host.environment().items()
        return {name: without_secrets(value) for name, value in found if keeps_variable(name)}


def screened_host(host: Host) -> Host:
    """Return a host that gives away no credential: itself where it is one already."""
    return host if getattr(host, "screened", False) else RedactedHost(host)
