"""Machines as the collectors read them: each once for all tests of a process, for a Machine is a value."""

import os
import tempfile
from functools import cache
from pathlib import Path

from advisor.machine.hosts.base import Host
from advisor.machine.hosts.capture import Link, MemoryStore
from advisor.machine.hosts.source import host_of_store
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from advisor.machine.sources.registry import collect_machine
from tests.machines import tree as files
from tests.machines.catalogue import tree, write_root
from tests.machines.hwloc_xml import xml


def hosted(made: files.Tree, name: str) -> Host:
    """Return the host that a tree of files is, as its archive would be opened: nothing is packed and no file is written."""
    entries = {
        f"/{name}/{path}": Link(files.relative(path, entry)) if isinstance(entry, files.Link) else entry
        for path, entry in made.items()
    }
    return host_of_store(MemoryStore(entries, name), f"{name}.tar.gz")


@cache
def machine(name: str) -> Machine:
    """Return a machine of the catalogue."""
    return collect_machine(hosted(tree(name), name))


@cache
def seen_by_lstopo(name: str) -> str | None:
    """Return the hwloc XML of a machine of the catalogue, what a cgroup hides in it too; None where lstopo is not installed."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="advisor-test-") as folder:
        return xml(write_root(name, Path(folder)), disallowed=True)


@cache
def published(path: Path) -> Machine:
    """Return the machine that a file outside the project holds."""
    return read_machine(str(path))
