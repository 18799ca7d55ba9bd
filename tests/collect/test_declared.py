"""What a source of facts reads and runs is what it declares: captures keep exactly that."""

from contextlib import suppress
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from advisor.errors import AdvisorError
from advisor.machine.hosts.base import Host, PathPatterns, Ran, Reading, concrete_patterns
from advisor.machine.machine import Machine
from advisor.machine.sources.reader import FactSource
from advisor.machine.sources.registry import sources
from tests.collect.os_host import FakeHost
from tests.host.planted import Stuffed
from tests.machines.catalogue import tree
from tests.machines.read import hosted


class Remembering:
    """A host that remembers what is read and run."""

    def __init__(self, host: Host) -> None:
        self.host, self.name, self.kind = host, host.name, host.kind
        self.list, self.real, self.environment = host.list, host.real, host.environment
        self.paths: set[str] = set()
        self.commands: set[tuple[str, ...]] = set()

    def read(self, path: str) -> Reading:
        """Return what the host's file holds."""
        self.paths.add(path)
        return self.host.read(path)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what the host's command prints."""
        self.commands.add(argv)
        return self.host.run(argv, timeout)


@pytest.fixture(scope="module")
def hosts() -> tuple[Host, ...]:
    """Return machines: two recorded ones, and one with a file for each pattern that some source declares."""
    names = ("a-r7425-2x7601-dell", "b-c6525-2x7702-nps4")
    return (*(hosted(tree(name), name) for name in names), Stuffed())


def is_fact(name: str) -> bool:
    """Return whether a dotted name is of a fact of the Machine; of an element of a list whatever stands after the list."""
    model: Any = Machine
    for word in name.split("."):
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return True
        if word not in model.model_fields:
            return False
        hint = str(model.model_fields[word].annotation)
        parts = [part for part in get_args(model.model_fields[word].annotation) if part is not type(None)]
        model = None if "tuple[" in hint or "dict[" in hint else parts[0] if parts else model.model_fields[word].annotation
    return True


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.name)
def test_a_source_reads_and_runs_what_it_declares(source: FactSource, hosts: tuple[Host, ...]) -> None:
    """Nothing else is in a capture: a Machine read from one would differ from the Machine itself."""
    for host in hosts:
        seen = Remembering(host)
        with suppress(AdvisorError):
            part = source.collect(seen)
            facts = (*(each.fact for each in part.sources), *(each.fact for each in part.gaps))
            noted = [fact for fact in facts if fact != source.name and fact[0] != "/"]
            assert [name for name in noted if not is_fact(name)] == [], f"{source.name} notes what is no fact of the Machine"
        declared = PathPatterns(concrete_patterns(host, source.paths))
        assert [path for path in seen.paths if not declared.covers(path)] == [], f"not in the paths of {source.name}"
        assert seen.commands - {*source.commands} == set(), f"not in the commands of {source.name}"


def test_the_hosts_of_the_tests_refuse_what_no_source_declares() -> None:
    """The line names the file or the command, and where it is to be declared."""
    host = FakeHost({"/etc/motd": "hello"})
    with pytest.raises(AssertionError, match=r"/etc/motd is read, and is in no capture: no FactSource .* has it in its paths"):
        host.read("/etc/motd")
    with pytest.raises(
        AssertionError, match=r"\('whoami',\) is run, and is in no capture: no FactSource .* has it in its commands"
    ):
        host.run(("whoami",))


def test_the_name_of_a_fact_is_told_from_another() -> None:
    """A section, a fact in it and an element of a list are facts; a slip of the pen is none."""
    names = ("kernel", "kernel.thp", "tools.openmpi", "hcas.9.locality", "kernel.thpp", "kernal.thp")
    assert [is_fact(name) for name in names] == [True, True, True, True, False, False]
