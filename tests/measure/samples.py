"""Tasks, results and a host that plays kernels, for the tests of this room."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from advisor.machine.hosts.base import Ran, Reading
from advisor.measure.measurement import Result, Task
from advisor.measure.plan import Plan, Request, plan
from advisor.measure.resources import Resources
from tests.jobs.place.samples import machine
from tests.measuring import one_result

NAPLES, ROME = "a-r7425-2x7601-dell", "b-c6525-2x7702-nps4"


def planned(name: str, what: str = "quick", **wish: Any) -> Plan:
    """Return the plan for a machine of the catalogue."""
    return plan(machine(name), Request(what, **wish))


def ground(name: str) -> Resources:
    """Return what there is to measure on a machine of the catalogue."""
    return Resources(machine(name))


def task(**fields: Any) -> Task:
    """Return a task of membw on CPUs 0 and 1."""
    usual: dict[str, Any] = {"name": "membw/part/numa/0/load", "kernel": "membw", "purpose": "part", "variants": ("load",)}
    usual |= {"part": "numa", "index": 0, "cpus": (0, 1), "memory": 0, "distance": "local", "seconds": 0.1}
    usual["arguments"] = ("--pattern", ",".join(fields.get("variants", ("load",))), "--bytes", "1048576")
    return Task(**(usual | fields))


def result(**fields: Any) -> Result:
    """Return a result of that task."""
    usual: dict[str, Any] = {"task": "membw/part/numa/0/load", "part": "numa", "index": 0, "cpus": (0, 1), "memory": 0}
    return one_result(**(usual | {"distance": "local"} | fields))


def line(**fields: Any) -> bytes:
    """Return a line of a kernel."""
    usual: dict[str, Any] = {"contract": 1, "kernel": "membw", "variant": "load", "unit": "bytes/s", "cpus": [0, 1]}
    return json.dumps(usual | {"values": [1e10, 1.01e10, 1e10], "pages": {"0": 512}} | fields).encode() + b"\n"


class Stage:
    """A host on which each start prints the next of the given lines, or ends as given."""

    def __init__(self, *turns: bytes | Ran | BaseException, version: Ran | None = None) -> None:
        self.version = version or Ran(out=b"cc 12\n")
        self.turns, self.argv, self.limits = list(turns), list[tuple[str, ...]](), list[float]()

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Answer a question after a version."""
        del argv, timeout
        return self.version

    def launch(
        self, argv: tuple[str, ...], hear: Callable[[bytes], None], *, timeout: float, variables: Mapping[str, str] | None = None
    ) -> Ran:
        """Play the next turn; the last one again and again."""
        del variables
        self.argv.append(argv)
        self.limits.append(timeout)
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if isinstance(turn, BaseException):
            raise turn
        if isinstance(turn, Ran):
            return turn
        hear(turn)
        return Ran()


class Files:
    """A host of files."""

    name = kind = "files"

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files

    def read(self, path: str) -> Reading:
        """Return a file."""
        return Reading(self.files[path].encode()) if path in self.files else Reading(why=None)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder."""
        inside = (name.removeprefix(f"{path}/").split("/")[0] for name in self.files if name.startswith(f"{path}/"))
        return tuple(sorted(set(inside)))

    def real(self, path: str) -> str | None:
        """Return no link's target."""
        return path

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Run nothing."""
        del argv, timeout
        return Ran()

    def environment(self) -> dict[str, str]:
        """Return no variables."""
        return {}
