"""Measurements belong to one machine, cut in one way."""

import pytest

from advisor.machine.machine import Machine
from advisor.measure.measurement import Identity, identity_of, machine_mismatch
from tests.model.shapes import NAPLES, ROME, shape

ONE = Machine(name="n1", topology=shape(2, 1, 8, 32), cpu=ROME)


def test_a_machine_is_itself() -> None:
    """Its own identity fits it; so does one that says nothing."""
    assert identity_of(ONE) == Identity(name="n1", cpu=ROME.model_name, cpus=64, nodes=("0-31", "32-63"))
    assert (machine_mismatch(identity_of(ONE), ONE), machine_mismatch(Identity(), ONE)) == (None, None)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"name": "n2"}, "measured on n1, but this is n2"),
        ({"cpu": NAPLES}, f"measured on {ROME.model_name}, but this is {NAPLES.model_name}"),
        ({"topology": shape(2, 1, 8, 32, threads=2)}, "measured with 64 CPUs, but the machine now has 128"),
        ({"topology": shape(2, 4, 8, 32)}, "measured with 2 NUMA nodes, but the machine now has 8"),
        ({"topology": shape(2, 1, 8, 32, number=lambda at, count: at * 2 % count + at * 2 // count)},
         "measured when the NUMA nodes had different CPUs"),
    ],
)  # fmt: skip
def test_another_machine_or_cut(change: dict[str, object], expected: str) -> None:
    """What differs is said in words."""
    assert machine_mismatch(identity_of(ONE), ONE.model_copy(update=change)) == expected
