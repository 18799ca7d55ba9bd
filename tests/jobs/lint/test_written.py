"""What this project writes for Hydra, Intel MPI, and srun is predicted rank by rank, and is the plan."""

from types import ModuleType

import pytest
from hypothesis import assume, given

from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import intelmpi, mpich, srun
from advisor.jobs.line import parse
from advisor.jobs.placement import Placement
from advisor.jobs.predict import predict
from advisor.jobs.slurm import KEY
from tests.examples import examples
from tests.jobs.plan import bindings
from tests.jobs.strategies import placements
from tests.model.shapes import machine

LAUNCHERS = {"mpich-5.0.2": mpich, "intelmpi-2021.18": intelmpi, "slurm-24.05": srun}
CONF = "TaskPlugin=task/affinity\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"


@pytest.mark.parametrize("version", LAUNCHERS)
@examples(80)
@given(placements())
def test_every_written_line_is_told_and_is_the_plan(version: str, placement: Placement) -> None:
    """Short forms, lists, host files, segments: nothing is left open but the wrapper, which binds by itself."""
    assume(len({plan.topology for plan in placement.plans}) == 1)
    module: ModuleType = LAUNCHERS[version]
    made = module.launch(placement, LaunchRequest(("./app",), version=version.rpartition("-")[2]))
    assume(made.form != "wrapper")
    files = {file: "".join(f"{line}\n" for line in lines()) for file, lines in made.files.items()} | {KEY: CONF}
    before = [f"{key}={value}" for key, value in made.environment.items()]
    done = predict(parse([*before, *made.argv], version), machine(placement.plans[0].topology), files)
    assert (done.refused, done.unclear) == (None, None)
    assert {rank.rank: (rank.host, rank.cpus) for rank in done.ranks or ()} == bindings(placement)
