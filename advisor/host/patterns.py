"""The paths a capture looks for: what a pattern means, and whether a path was looked for.

    /sys/devices/system/cpu/cpu*/online    * ? and [...] stand for names, within one component
    /sys/bus/pci/devices/*@                keep the link itself and that its target is there, not what the target holds
    /sys/fs/cgroup{cgroup}/cpuset.cpus     in the process's own cgroup and each one above it

Every symbolic link on the way is kept as a link. A folder that a pattern matches is kept as an empty folder.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from advisor.host.base import Host

LINK = "@"
CGROUP = "{cgroup}"
WILD = "*?["


def concrete(host: Host, patterns: Iterable[str]) -> tuple[str, ...]:
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
    return tuple(dict.fromkeys(_literal(parent) for path in paths for parent in cgroups_above(path))) or ("",)


def cgroups_above(path: str) -> Iterator[str]:
    """Yield ``/a/b``, ``/a`` and the empty text of the root for ``/a/b``."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    for count in range(len(parts), -1, -1):
        yield "".join(f"/{part}" for part in parts[:count])


def _literal(name: str) -> str:
    return "".join(f"[{char}]" if char in WILD else char for char in name)


def example(pattern: str) -> str:
    """Return a path that a pattern matches and that most likely is not there: to ask whether a host looked for such."""
    text = pattern.removesuffix(LINK).replace(CGROUP, "")
    return re.sub(r"\[([^!])[^]]*\]|[*?]", lambda match: match[1] or "9", text)


class Looked:
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
                pattern for wanted, names in self._deep.get(len(parts), ()) if _all_match(parts, wanted) for pattern in names
            ]
        return any_match(name, self._known[folder])


def any_match(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a name matches one of the patterns."""
    return any(name == pattern or (_wild(pattern) and fnmatchcase(name, pattern)) for pattern in patterns)


def _all_match(parts: list[str], wanted: list[str]) -> bool:
    return all(any_match(part, (pattern,)) for part, pattern in zip(parts, wanted, strict=True))


def _wild(pattern: str) -> bool:
    return any(char in pattern for char in WILD)
