"""Which placements race: those that give ranks something else, and what that is."""

import pytest

from advisor.jobs.place import place
from advisor.jobs.placement import JobShape
from advisor.jobs.racing.lines import Candidate, distinct, seats, splits, what_ranks_get, why_different
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from tests.machines.catalogue import write_archive


@pytest.fixture(scope="module")
def rome(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Return the machine of two EPYC 7702."""
    file = tmp_path_factory.mktemp("rome") / "rome.tar.gz"
    return read_machine(str(write_archive("b-c6525-2x7702-nps4", file)))


def test_a_split_keeps_the_product() -> None:
    """Each split has as many threads in all as the job, its own first."""
    found = splits(24, 4)
    assert found[0] == (24, 4)
    assert {ranks * threads for ranks, threads in found} == {96}


def test_ranks_share_out_over_hosts() -> None:
    """No split leaves a host with more ranks than another."""
    assert {ranks % 3 for ranks, _ in splits(12, 2, hosts=3)} == {0}
    assert splits(2, 1, hosts=2) == ((2, 1),)


def test_two_strategies_that_give_the_same_are_one_candidate(rome: Machine) -> None:
    """Of placements that give every rank the same CPUs, memory and devices the first alone races."""
    placed = [place(JobShape(ranks=128, strategy=strategy), (rome,)) for strategy in ("compact", "hybrid")]
    found = [Candidate(each.strategy, each.job, each) for each in placed]
    assert seats(placed[0]) == seats(placed[1])
    assert [each.name for each in distinct(found)] == ["compact"]


def test_what_the_winner_gets_is_said_beside_what_the_other_had(rome: Machine) -> None:
    """Sixteen ranks side by side share memories and caches that they have alone when spread."""
    packed, spread = (place(JobShape(ranks=16, strategy=each), (rome,)) for each in ("compact", "spread-l3"))
    assert what_ranks_get(spread)["L3"] == "1 rank per L3 group, 16 in use"
    assert [each.partition(":")[0] for each in why_different(spread, packed)] == ["memory", "L3", "adapter"]
