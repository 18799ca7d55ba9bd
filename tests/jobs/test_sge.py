"""Grid Engine starts the job script alone."""

import pytest

from advisor.errors import BadValue
from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import sge
from tests.jobs.plan import node, planned
from tests.model.shapes import shape


def test_ranks_are_refused_with_the_launcher_to_name() -> None:
    """The folder of another launcher has a job script of its."""
    with pytest.raises(BadValue, match=r"none of the 1 ranks of \./app") as refusal:
        sge.launch(planned((node(shape(2, 4, 8, 32), "0"),), (None, 0, 1)), LaunchRequest(("./app",)))
    assert "--launcher openmpi" in str(refusal.value)
