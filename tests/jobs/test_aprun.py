"""Lines of aprun: depth or a list of single CPUs where that is the plan, else the wrapper; others' as centres published them."""

import pytest

from advisor.errors import BadValue
from advisor.jobs.launcher import Launch, LaunchRequest
from advisor.jobs.launchers import aprun
from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from tests.jobs.plan import node, planned
from tests.model.shapes import machine, shape

EDISON = machine(shape(2, 1, 1, 12, threads=2))
"""NERSC's Edison: two sockets of 12 cores with two hardware threads."""
INTERLAGOS = machine(shape(2, 2, 2, 16))
"""Blue Waters: two sockets of 16 integer cores, two NUMA nodes each."""
WHOLE = shape(2, 2, 2, 16)


def made(line: str, on: object = EDISON) -> Prediction:
    """Return what a line does."""
    return predict(parse([line]), on, {})  # type: ignore[arg-type]


def written(*cpus: str, wrap: bool = False) -> Launch:
    """Return the line of a plan on one node."""
    return aprun.launch(planned((node(WHOLE, *cpus),), (None, 0, len(cpus))), LaunchRequest(("./app",), wrap=wrap))


@pytest.mark.parametrize(
    ("cpus", "line"),
    [
        (("0-3", "4-7"), "aprun -n 2 -N 2 -d 4 -cc depth ./app"),
        (("0", "1", "2"), "aprun -n 3 -N 3 -d 1 -cc depth ./app"),
        (("0", "8", "16"), "aprun -n 3 -N 3 -cc 0,8,16 ./app"),
        (("0-3", "8-11"), "aprun -n 2 -N 2 -cc none sh bind-wrapper.sh ./app"),
        (("0-2", "3-5"), "aprun -n 2 -N 2 -cc none sh bind-wrapper.sh ./app"),
    ],
)
def test_a_plan_is_depth_a_list_of_one_each_or_the_wrapper(cpus: tuple[str, ...], line: str) -> None:
    """Three CPUs do not fill a NUMA node of eight, and a list with several CPUs binds threads and not ranks."""
    assert " ".join(written(*cpus).argv) == line


def test_second_hardware_threads_are_asked_for() -> None:
    """Without -j a job has the first of each core."""
    plan = planned((node(shape(2, 1, 1, 12, threads=2), "0", "24"),), (None, 0, 2))
    assert " ".join(aprun.launch(plan, LaunchRequest(("./app",))).argv) == "aprun -n 2 -N 2 -j 2 -cc 0,24 ./app"


def test_hosts_have_as_many_ranks_each_and_the_wrapper_knows_its_rank() -> None:
    """ALPS_APP_PE; the place on the host comes from the table."""
    plan = planned((node(WHOLE, "0", "1"),), ("nid00001", 0, 2), ("nid00002", 0, 1))
    with pytest.raises(BadValue, match="same number of ranks on every host"):
        aprun.launch(plan, LaunchRequest(("./app",)))
    assert "${ALPS_APP_PE:-" in "\n".join(written("0", wrap=True).files["bind-wrapper.sh"]())


# NERSC, Edison's page on aprun; Blue Waters' page: -n 8 -d 2 puts ranks on 0, 2, ..., 14.
