"""Reads a machine and tells how its firmware partitioned it."""

from typing import Any, NamedTuple

from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.partitioning import infer_layout
from advisor.machine.read import read_machine
from advisor.show.topology.document import topology_document


class MachineLayout(NamedTuple):
    """A machine, and what its firmware did: how the sockets are cut into NUMA nodes, how cores are numbered."""

    machine: Machine
    layout: Layout

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor topology --json``."""
        return topology_document(self.machine, self.layout)


def topology(source: str | None = None, observer: Observer = SILENT) -> MachineLayout:
    """Return a machine and its layout: of a capture, an hwloc XML, a Machine JSON or a root; of this machine without any."""
    machine = read_machine(source, observer)
    return MachineLayout(machine, infer_layout(machine))
