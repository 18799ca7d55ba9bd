"""A lone hwloc XML as a host: it knows what lstopo would print, and nothing else."""

from advisor.host.base import Ran, Reading, Why

PROGRAMS = ("lstopo", "lstopo-no-graphics")


class XmlHost:
    """What is left of a machine in an hwloc XML."""

    kind = "hwloc xml"

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        self._data = data

    def read(self, path: str) -> Reading:
        """Return that no file was kept."""
        del path
        return Reading(why=Why.NOT_KEPT)

    def list(self, path: str) -> tuple[str, ...]:
        """Return nothing: no folder was kept."""
        del path
        return ()

    def real(self, path: str) -> str | None:
        """Return nothing: no file was kept."""
        del path
        return None

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return the XML as what lstopo prints; of its version, and of any other command, nothing is known."""
        del timeout
        if argv and argv[0] in PROGRAMS and "--version" not in argv:
            return Ran(self._data)
        return Ran(why=Why.NOT_KEPT)

    def environment(self) -> dict[str, str]:
        """Return nothing: no variables were kept."""
        return {}
