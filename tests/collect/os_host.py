"""A machine made of a dictionary, for the sources that read the operating system and its software."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache

from advisor.machine.hosts.base import CGROUP, PathPatterns, Ran, Reading, Why
from advisor.machine.sources.registry import commands, paths


@cache
def _declared() -> PathPatterns:
    return PathPatterns(pattern for pattern in paths() if CGROUP not in pattern)


def _of_a_cgroup(path: str) -> bool:
    return any(path.startswith(pattern.partition(CGROUP)[0]) for pattern in paths() if CGROUP in pattern)


def refuse_undeclared(path: str) -> None:
    """Fail where a source reads a file that no source declares."""
    said = f"{path} is read, and is in no capture: no FactSource of advisor/machine/sources has it in its paths"
    assert _declared().covers(path) or _of_a_cgroup(path), said


def refuse_undeclared_command(argv: tuple[str, ...]) -> None:
    """Fail where a source runs a command that no source declares."""
    assert argv in commands(), (
        f"{argv} is run, and is in no capture: no FactSource of advisor/machine/sources has it in its commands"
    )


class FakeHost:
    """A host whose files, commands and variables are given; it remembers what it was asked.

    What no source declares is refused, for it would be in no capture; ``live`` are patterns of what only a live host shows.
    """

    name = "node.json"

    def __init__(
        self,
        files: Mapping[str, str | Why] | None = None,
        commands: Mapping[tuple[str, ...], Ran] | None = None,
        variables: Mapping[str, str] | None = None,
        *,
        otherwise: Why = Why.ABSENT,
        kind: str = "capture",
        live: tuple[str, ...] = (),
    ) -> None:
        self.files, self.commands, self.variables = dict(files or {}), dict(commands or {}), dict(variables or {})
        self.otherwise, self.kind, self.live = otherwise, kind, live
        self.asked: list[str] = []
        self.ran: list[tuple[str, ...]] = []
        self.patience: dict[tuple[str, ...], float] = {}

    def read(self, path: str) -> Reading:
        """Return the given text, or the reason why there is none."""
        if not any(fnmatchcase(path, each) for each in self.live):
            refuse_undeclared(path)
        self.asked.append(path)
        content = self.files.get(path, self.otherwise)
        return Reading(why=content) if isinstance(content, Why) else Reading(content.encode())

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names that the given paths put into a folder."""
        folder = path.rstrip("/") + "/"
        return tuple(sorted({name[len(folder) :].split("/")[0] for name in self.files if name.startswith(folder)}))

    def real(self, path: str) -> str | None:
        """Return the path itself where something is there."""
        return path if path in self.files or self.list(path) else None

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return the given output, or the reason why there is none; the patience asked for is remembered."""
        refuse_undeclared_command(argv)
        self.patience[argv] = timeout
        self.ran.append(argv)
        return self.commands.get(argv, Ran(why=self.otherwise))

    def environment(self) -> dict[str, str]:
        """Return the given variables."""
        return self.variables


def printed(text: str, *, status: int = 0, path: str | None = None) -> Ran:
    """Return what a command that printed a text is to the tool."""
    return Ran(out=text.encode(), status=status, path=path)


def covered(path: str, patterns: tuple[str, ...]) -> bool:
    """Return whether one of the patterns names the path, component by component."""
    return any(
        len(path.split("/")) == len(pattern.split("/"))
        and all(fnmatchcase(part, like) for part, like in zip(path.split("/"), pattern.split("/"), strict=True))
        for pattern in patterns
    )
