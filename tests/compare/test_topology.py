from advisor.advice.compare import renumbered, topology_changes
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.topology import Topology
from tests.model.shapes import ROME, machine, shape


def changed(a: Machine, b: Machine) -> dict[str, tuple[str | None, str | None]]:
    """Return the changes by name."""
    found = topology_changes(a.topology, b.topology, infer_layout(a), infer_layout(b))
    return {change.name: (change.before, change.after) for change in found}


def test_an_nps_change_is_a_changed_cut_on_the_same_hardware() -> None:
    """From NPS1 to NPS4 the cut, the nodes, their memory and distances change; sockets, cores and L3 groups do not."""
    a, b = machine(shape(2, 1, 16, 64), ROME), machine(shape(2, 4, 16, 64), ROME)
    found = changed(a, b)
    assert (found["cut"], found["nodes"]) == (("NPS1", "NPS4"), ("2", "8"))
    assert sorted(set(found) - {"cut", "nodes", "memory", "node_memory", "distances"}) == []


def test_renumbered_cores_are_counted() -> None:
    """Linear to round robin moves every CPU number but the first and the last."""
    linear = shape(2, 1, 2, 8)
    dealt = shape(2, 1, 2, 8, number=lambda position, _: position * 2 if position < 8 else (position - 8) * 2 + 1)
    assert (renumbered(linear, linear), renumbered(linear, dealt)) == (0, 14)


def test_machines_of_different_shape_have_no_numbers_to_compare() -> None:
    """Where the cores are not the same ones, no number can be said to have moved."""
    assert renumbered(shape(2, 1, 2, 8), shape(1, 1, 2, 8)) is None
    assert renumbered(None, Topology()) is None


def test_switched_off_threads_show_as_fewer_cpus() -> None:
    """SMT off keeps the cores and halves the CPUs."""
    found = changed(machine(shape(1, 1, 2, 8, threads=2), ROME), machine(shape(1, 1, 2, 8), ROME))
    assert (found["cpus"], "cores" in found) == (("16", "8"), False)
