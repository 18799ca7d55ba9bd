"""The runs of HPL's scaling tables: which hosts or parts of one, and how large the system is on each."""

from typing import Any

import pytest

from advisor.errors import BadValue
from advisor.jobs.launcher import choose
from advisor.jobs.started.hosts import Allocated, JobHosts
from advisor.jobs.started.hpl import HplJob, HplOptions, free_bytes, placed, scaling_runs, size_after
from advisor.machine.cpuset import union
from advisor.machine.hosts.live import LiveHost
from tests.jobs.place.samples import machine
from tests.measure.samples import NAPLES


def bench(*hosts: str, name: str = NAPLES, **wishes: Any) -> HplJob:
    """Return the run on all of some hosts that are like a test machine."""
    job_hosts, options = JobHosts(Allocated(hosts), (machine(name),), None), HplOptions(scaling=True, **wishes)
    choice = choose((), "openmpi", "4.1.4", None)
    return HplJob(job_hosts, choice, placed(job_hosts, options, None), options, (), job=len(hosts))


def test_one_host_goes_from_a_node_to_all() -> None:
    """The first NUMA node, the first socket and all of the machine of [000], each with a rank on every core of it."""
    runs = scaling_runs(bench("a"))
    parts = [(made.name, made.ranks, made.size(1000, 100).p) for made in runs]
    assert parts == [("hpl/hpl/numa0", 8, 2), ("hpl/hpl/socket0", 32, 4), ("hpl/hpl/machine", 64, 8)]
    used = [union(rank.slot.cpus for rank in made.placement.ranks()) for made in runs]
    assert [[cpu for cpu in range(64) if cpu in cpus] for cpus in used] == [
        list(range(0, 64, 8)),
        list(range(0, 64, 2)),
        list(range(64)),
    ]


def test_each_part_has_its_own_memory() -> None:
    """A NUMA node has an eighth of the machine's memory, a socket half; of four hosts there is four times as much."""
    host = LiveHost()
    one = [free_bytes(made, host) for made in scaling_runs(bench("a"))]
    four = free_bytes(scaling_runs(bench("a", "b", "c", "d"))[-1], host)
    assert [round(each / one[-1], 2) for each in one] == [0.12, 0.5, 1]
    assert four == 4 * one[-1]


def test_parts_that_cannot_hold_the_ranks_are_left_out() -> None:
    """A rank for each socket, with threads on all of its cores, does not fit into one NUMA node."""
    assert [made.label for made in scaling_runs(bench("a", per=("socket", 1)))] == ["socket0", ""]


def test_threads_stay_those_of_the_whole() -> None:
    """A rank for each NUMA node has eight threads on one node and on all of them."""
    assert [(made.ranks, made.threads) for made in scaling_runs(bench("a", per=("numa", 1)))] == [(1, 8), (4, 8), (8, 8)]


def test_hosts_are_taken_in_their_order() -> None:
    """1, 2 and all three; each knows that it is a part of three."""
    runs = scaling_runs(bench("a", "b", "c"))
    assert [(made.job_hosts.hosts.names, made.job, made.label) for made in runs] == [
        (("a",), 3, "1-host"),
        (("a", "b"), 3, "2-hosts"),
        (("a", "b", "c"), 3, "3-hosts"),
    ]


def test_n_grows_with_the_cores() -> None:
    """The first run has N as it was asked for, others in whole blocks; each core keeps its share."""
    runs = scaling_runs(bench("a", "b", "c", "d"))
    assert [size_after(runs[0], 10001, made, 100).n for made in runs] == [10001, 14100, 20000]


def test_one_part_alone_is_refused() -> None:
    """One host with one NUMA node has nothing to compare."""
    with pytest.raises(BadValue, match="--scaling has nothing to compare"):
        scaling_runs(bench("a", name="job-one-die-v2"))


def test_without_scaling_there_is_one_run() -> None:
    """Its name is that of all of the hosts."""
    job_hosts, options = JobHosts(Allocated(("a", "b")), (machine(NAPLES),), None), HplOptions()
    made = HplJob(job_hosts, choose((), "openmpi", "4.1.4", None), placed(job_hosts, options, None), options, (), job=2)
    assert [(each.name, each.hosts, each.cores) for each in scaling_runs(made)] == [("hpl/hpl/machine", 2, 128)]
