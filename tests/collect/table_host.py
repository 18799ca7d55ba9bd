"""A host made of a dictionary, for tests of the firmware's tables."""

from collections.abc import Mapping

from advisor.machine.hosts.base import Ran, Reading, Why


class TableHost:
    """Files by path; a reason in a file's place is the answer to reading it."""

    def __init__(self, files: Mapping[str, bytes | str | Why], kind: str = "live") -> None:
        self.files = dict(files)
        self.kind = kind
        self.name = "the test's machine"

    def read(self, path: str) -> Reading:
        """Return what the dictionary holds."""
        found = self.files.get(path, Why.ABSENT)
        if isinstance(found, Why):
            return Reading(why=found)
        return Reading(found.encode() if isinstance(found, str) else found)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names of a folder that some path goes through."""
        head = path.rstrip("/") + "/"
        return tuple(sorted({file.removeprefix(head).partition("/")[0] for file in self.files if file.startswith(head)}))

    def real(self, path: str) -> str | None:
        """Return the path itself if it is there."""
        return path if path in self.files else None

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return that no command can be found."""
        del argv, timeout
        return Ran(why=Why.ABSENT)

    def environment(self) -> dict[str, str]:
        """Return no variables."""
        return {}
