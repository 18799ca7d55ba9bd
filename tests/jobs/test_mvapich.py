"""MVAPICH's lines, by its user guide: each means the plan it was made from."""

import pytest
from hypothesis import given

from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import mvapich
from advisor.jobs.placement import Placement
from tests.jobs.plan import bindings, node, planned, topologies
from tests.jobs.readers.mvapich import parse
from tests.jobs.strategies import placements
from tests.model.shapes import shape

ROME = shape(2, 4, 8, 32)


@given(placements())
def test_a_line_read_back_is_the_plan(placement: Placement) -> None:
    """Of MVAPICH2 and of MVAPICH 4, by mapping, by Hydra's lists and with the wrapper."""
    for version in ("2.3.7", "4.0"):
        for wrap in (False, True):
            made = mvapich.launch(placement, LaunchRequest(("./app",), version=version, wrap=wrap))
            assert parse(made.argv, made.files, topologies(placement)) == bindings(placement)


@pytest.mark.parametrize(("version", "words"), [(None, "MV2_CPU_MAPPING=0-3:4,6"), ("4.0", "MVP_CPU_MAPPING 0-3:4,6")])
def test_the_mapping_has_a_part_for_each_local_rank(version: str | None, words: str) -> None:
    """And the line says that nobody here has tried it."""
    made = mvapich.launch(
        planned((node(ROME, "0-3", "4,6"),), ("n1", 0, 2), ("n2", 0, 2)), LaunchRequest(("./app",), version=version)
    )
    assert words in " ".join(made.argv)
    assert mvapich.UNTRIED in made.notes


def test_hosts_that_differ_are_bound_by_hydra_or_the_wrapper() -> None:
    """A mapping is the same on every host."""
    plan = planned((node(ROME, "0-3"), node(ROME, "4-7")), ("n1", 0, 1), ("n2", 1, 1))
    assert mvapich.launch(plan, LaunchRequest(("./app",), version="2.3")).form == "wrapper"
    assert mvapich.launch(plan, LaunchRequest(("./app",), version="3.0")).form == "user list for each host"


def test_a_mapping_longer_than_its_buffer_is_not_used() -> None:
    """MVAPICH2 copies it into 2048 characters."""
    wide = shape(1, 1, 1, 1024)
    made = mvapich.launch(
        planned((node(wide, *(f"{i},{i + 512}" for i in range(512))),), (None, 0, 512)), LaunchRequest(("./app",))
    )
    assert made.form == "wrapper"
    assert "MV2_ENABLE_AFFINITY=0" in made.argv
