"""What every host can be asked, without secrets: files by pattern, commands that ask nobody else, a second look at counters."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from time import monotonic, sleep
from typing import NamedTuple, Protocol

from advisor.errors import BadCapture
from advisor.machine.secrecy import (
    CMDLINE,
    SLURM_CONF,
    is_slurm_line,
    keeps_variable,
    screened_boot_line,
    without_secrets,
    words_of,
)


class Why(StrEnum):
    """Why an answer has no content."""

    ABSENT = "not present"
    REFUSED = "permission denied"
    FAILED = "could not be read"
    TIMEOUT = "took too long"
    FULL = "too many open files (ulimit -n)"
    NOT_KEPT = "not in this input"


class Reading(NamedTuple):
    """What a file held, or why that is not known."""

    data: bytes = b""
    why: Why | None = None

    @property
    def text(self) -> str | None:
        """The content as text, or None if there is none to have."""
        return None if self.why else self.data.decode("utf-8", "replace")


class Ran(NamedTuple):
    """What a command printed and how it ended, or why it was not run."""

    out: bytes = b""
    err: bytes = b""
    status: int = 0
    why: Why | None = None
    path: str | None = None
    """Where the program was found."""
    seconds: float = 0.0
    """How long a line of the user ran; 0 of what only reports."""

    @property
    def text(self) -> str | None:
        """What it printed if it ended well, else None."""
        return None if self.why or self.status else self.out.decode("utf-8", "replace")


class Host(Protocol):
    """A machine, or what is left of one in a file. Paths are absolute, as on that machine."""

    @property
    def name(self) -> str:
        """What to call it in a message: ``this machine``, ``node.tar.gz``."""
        ...

    @property
    def kind(self) -> str:
        """``live``, ``capture``, ``root`` or ``hwloc xml``."""
        ...

    def read(self, path: str) -> Reading:
        """Return what a file holds; symbolic links are followed inside the host."""
        ...

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted; () if it is not there."""
        ...

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, or None if nothing is there."""
        ...

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed. It is never given to a shell."""
        ...

    def environment(self) -> dict[str, str]:
        """Return the variables that schedulers, MPI and OpenMP set; no others are looked at."""
        ...


ENVIRONMENT_PREFIXES = words_of("SLURM_ PBS_ FLUX_ LSB_ OMPI_ PMIX_ PMI_ PRTE_ I_MPI_ HYDRA_ MV2_ UCX_ OMP_ HCOLL_")
"""The variables a host shows; anything else in the environment is nobody's business."""


_NAMES = 1_000_000
"""Names that one pattern may look at; the links of a hostile tree can multiply paths without end."""


def expand(host: Host, pattern: str) -> Iterator[str]:
    """Yield the paths that a pattern with ``*`` in its components names, in a stable order."""
    yield from _expand(host, "", [part for part in pattern.split("/") if part], iter(range(_NAMES)))


def _expand(host: Host, base: str, parts: list[str], budget: Iterator[int]) -> Iterator[str]:
    while parts and not any(c in parts[0] for c in "*?["):
        base, parts = f"{base}/{parts[0]}", parts[1:]
    if not parts:
        yield base
        return
    for name in host.list(base or "/"):
        if next(budget, None) is None:
            raise BadCapture(f"more than {_NAMES} names under {'/'.join(parts)}", file=host.name, place=base or "/")
        if fnmatchcase(name, parts[0]):
            yield from _expand(host, f"{base}/{name}", parts[1:], budget)


LINK = "@"
CGROUP = "{cgroup}"
WILD = "*?["


def concrete_patterns(host: Host, patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns, each once and in order, with the host's own cgroups put in."""
    cgroups: tuple[str, ...] | None = None
    found: dict[str, None] = {}
    for pattern in patterns:
        if CGROUP not in pattern:
            found[pattern] = None
            continue
        cgroups = _cgroups(host) if cgroups is None else cgroups
        found |= dict.fromkeys(pattern.replace(CGROUP, cgroup) for cgroup in cgroups)
    return tuple(found)


def _cgroups(host: Host) -> tuple[str, ...]:
    """Return the process's cgroups and each one above, of version 2 (the line ``0::/a/b``) and of the cpuset controller."""
    lines = (host.read("/proc/self/cgroup").text or "").splitlines()
    paths = [line[3:] for line in lines if line.startswith("0::/")]
    paths += (host.read("/proc/self/cpuset").text or "").splitlines()[:1]
    return tuple(
        dict.fromkeys(
            "".join(f"[{char}]" if char in WILD else char for char in parent) for path in paths for parent in cgroups_above(path)
        )
    ) or ("",)


def cgroups_above(path: str) -> Iterator[str]:
    """Yield ``/a/b``, ``/a`` and the empty text of the root for ``/a/b``."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    for count in range(len(parts), -1, -1):
        yield "".join(f"/{part}" for part in parts[:count])


def example_path(pattern: str) -> str:
    """Return a path that a pattern matches and that most likely is not there: to ask whether a host looked for such."""
    text = pattern.removesuffix(LINK).replace(CGROUP, "")
    return re.sub(r"\[([^!])[^]]*\]|[*?]", lambda match: match[1] or "9", text)


PublicText = tuple[str | tuple[str, ...], str]
"""A pattern of files or a command, and the regular expression of those of its lines that may be given away."""


class PathPatterns:
    """The patterns of a capture, ready to tell whether a path is one of theirs."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.folders: dict[str, list[str]] = defaultdict(list)
        for pattern in patterns:
            folder, _, name = pattern.removesuffix(LINK).rpartition("/")
            self.folders[folder].append(name)
        self._deep: dict[int, list[tuple[list[str], list[str]]]] = defaultdict(list)
        for folder, names in self.folders.items():
            parts = folder.split("/")
            self._deep[len(parts)].append((parts, names))
        self._known: dict[str, list[str]] = {}

    def covers(self, path: str) -> bool:
        """Tell whether a path matches one of the patterns."""
        folder, _, name = path.rpartition("/")
        if folder not in self._known:
            parts = folder.split("/")
            self._known[folder] = [
                pattern
                for wanted, names in self._deep.get(len(parts), ())
                if all(any_match(part, (pattern,)) for part, pattern in zip(parts, wanted, strict=True))
                for pattern in names
            ]
        return any_match(name, self._known[folder])


def any_match(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a name matches one of the patterns."""
    return any(name == pattern or (any(char in pattern for char in WILD) and fnmatchcase(name, pattern)) for pattern in patterns)


SECONDS_BETWEEN_LOOKS = 0.5
"""Seconds between two looks at least: a storm of errors shows, and an audit still takes less than a second."""


class SecondLook(NamedTuple):
    """A capture's second look: a host with nothing but the counters."""

    seconds: float
    host: Host


def second_look(host: Host) -> SecondLook | None:
    """Return the second look that a capture holds; None of a machine, a tree or a capture with one look."""
    found = getattr(host, "again", None)
    return found if isinstance(found, SecondLook) else None


def seconds_since(begun: float) -> float:
    """Return the seconds since a moment of the monotonic clock, when a second look is worth it."""
    left = begun + SECONDS_BETWEEN_LOOKS - monotonic()
    if left > 0:
        sleep(left)
    return monotonic() - begun


SLURM_CONFS = (
    "/etc/slurm/slurm.conf",
    "/etc/slurm-llnl/slurm.conf",
    "/run/slurm/conf/slurm.conf",
    "/usr/local/etc/slurm.conf",
    "/usr/local/etc/slurm/slurm.conf",
)
"""Where distributions, slurmd of a configless cluster and a plain build put it
(https://slurm.schedmd.com/configless_slurm.html)."""


def asks_the_network(name: str, program: str) -> bool:
    """Tell whether a command would look for its site: without a slurm.conf scontrol, and srun --version too, ask the DNS."""
    if name not in ("scontrol", "srun"):
        return False
    named = os.environ.get("SLURM_CONF")
    if named:
        return not os.path.isfile(named)  # noqa: PTH113 - beside the texts below
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(program)))  # noqa: PTH120 - likewise
    places = (*SLURM_CONFS, f"{prefix}/etc/slurm.conf", f"{prefix}/etc/slurm/slurm.conf")
    return not any(os.path.isfile(place) for place in places)  # noqa: PTH113 - likewise


def quiet_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command that only reports this machine: in English, and without a display to ask.

    hwloc's component gl looks for the displays of an X server to tell which GPU has one (hwloc, topology-gl.c).
    """
    without = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "ADVISOR_BMC_USER", "ADVISOR_BMC_PASSWORD")
    kept = {name: value for name, value in variables.items() if name not in without}
    components = ",".join(word for word in ("-gl", variables.get("HWLOC_COMPONENTS", "")) if word)
    return {**kept, "LC_ALL": "C", "LANGUAGE": "C", "HWLOC_COMPONENTS": components}


_PRINTED = re.compile(rb"[\x20-\x7e]{8,}")
"""Texts in a table of the firmware: an OEM string of SMBIOS may hold a password."""


def _same_length(found: re.Match[bytes]) -> bytes:
    """Return a text of a table without secrets, as long as it was: what stands behind it stays where it is."""
    text = found[0].decode("ascii")
    clean = without_secrets(text)
    return found[0] if clean == text else clean.ljust(len(text), "*")[: len(text)].encode("ascii")


_LARGE = 4096
"""Bytes from which what was cleaned is kept for a moment: six sources read /proc/cpuinfo."""


def _cleaned(data: bytes) -> bytes:
    return _cleaned_once(data) if len(data) > _LARGE else _clean(data)


@lru_cache(maxsize=4)
def _cleaned_once(data: bytes) -> bytes:
    return _clean(data)


def _clean(data: bytes) -> bytes:
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
