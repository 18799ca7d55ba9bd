"""Rankfiles: the dialect that both versions read, written as a stream and read back strictly."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import BadValue
from advisor.jobs.launchers.openmpi import Count, longest, rankfile
from advisor.jobs.placement import Placement
from advisor.machine.cpuset import CpuSet
from advisor.machine.topology import Topology
from tests.jobs.plan import node, planned
from tests.jobs.readers.openmpi4 import RankfileEntry, parse_rankfile
from tests.model.shapes import shape


def dealt(i: int, total: int) -> int:
    """Return the CPU of a core where numbers are dealt to two sockets in turn."""
    return i % (total // 2) * 2 + i // (total // 2)


SMT = shape(2, 2, 2, 8, threads=2, number=dealt)


def plan(topology: Topology, cpus: list[str], hosts: dict[str | None, int]) -> Placement:
    """Return a plan of such slots for hosts with so many ranks."""
    return planned((node(topology, *cpus),), *((name, 0, ranks) for name, ranks in hosts.items()))


def test_numbers_are_logical_cores_in_ranges() -> None:
    """CPUs 0, 2 and 4 of a machine with dealt numbers are cores 0 to 2."""
    made = plan(shape(2, 1, 2, 4, number=dealt), ["0,2,4", "1"], {"n1": 2, "n2": 1})
    assert list(rankfile(made)()) == ["rank 0=n1 slot=0-2", "rank 1=n1 slot=4", "rank 2=n2 slot=0-2"]


def test_the_host_without_a_name_is_localhost() -> None:
    """One node needs no name; both versions know localhost."""
    made = plan(shape(1, 1, 1, 4), ["1"], {None: 1})
    assert list(rankfile(made)()) == ["rank 0=localhost slot=1"]


@pytest.mark.parametrize(("count", "slot"), [("core", "0-1"), ("thread", "0-3"), ("os core", "0,2"), ("os", "0,2,16,18")])
def test_each_way_of_counting_names_the_same_cpus(count: Count, slot: str) -> None:
    """Two cores with two threads each, in logical cores, logical threads, first CPUs and all CPUs."""
    made = plan(SMT, ["0,2,16,18"], {"n1": 1})
    assert list(rankfile(made, count)()) == [f"rank 0=n1 slot={slot}"]
    assert parse_rankfile(rankfile(made, count)(), {"n1": SMT}, count) == {0: RankfileEntry("n1", CpuSet.parse("0,2,16,18"))}


def test_lines_are_made_when_they_are_asked_for() -> None:
    """A million ranks are not held: the first lines come without the last."""
    made = plan(shape(1, 1, 1, 4), ["1", "2"], {f"n{i}": 2 for i in range(100_000)})
    assert list(islice(rankfile(made)(), 2)) == ["rank 0=n0 slot=1", "rank 1=n0 slot=2"]


def test_the_longest_entry_counts_only_slots_in_use() -> None:
    """A slot that no host uses does not make the file too long, and a long name on a short slot does not either."""
    made = plan(shape(1, 1, 1, 8), ["0", "1,3,5"], {"n1": 2, "quitelongname": 1})
    assert longest(made, "core", with_host=False) == 5
    assert longest(made, "core", with_host=True) == len("quitelongname") + 1


@st.composite
def placements(draw: st.DrawFn) -> tuple[Placement, Count]:
    """Draw a plan of any cores or threads on one to three hosts, and a way to count that can say it."""
    counts: tuple[Count, ...] = ("core", "thread", "os core", "os")
    count = draw(st.sampled_from(counts))
    threads = draw(st.integers(1, 2))
    topology = shape(2, 2, 2, 8, threads=threads, number=draw(st.sampled_from([dealt, lambda i, _: i])))
    unit = [core.cpuset for core in topology.cores] if "core" in count else [CpuSet([cpu]) for cpu in topology.pus]
    chosen = draw(st.lists(st.sets(st.sampled_from(unit), min_size=1), min_size=1, max_size=8))
    texts = [str(CpuSet(cpu for part in parts for cpu in part)) for parts in chosen]
    names: tuple[str | None, ...] = ("n1", "n2.cluster", "a-b")
    hosts = draw(st.dictionaries(st.sampled_from(names), st.integers(1, len(texts)), min_size=1))
    return plan(topology, texts, hosts), count


@given(placements())
def test_what_is_written_reads_back_as_the_plan(made: tuple[Placement, Count]) -> None:
    """Plan to rankfile to plan is the identity, whatever the numbers are."""
    placement, count = made
    topology = placement.plans[0].topology
    seats = parse_rankfile(rankfile(placement, count)(), {host.name or "": topology for host in placement.hosts}, count)
    assert seats == {place.rank: RankfileEntry(place.host or "", place.slot.cpus) for place in placement.ranks()}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("rank 1=n1 slot=0", "rank 1 where rank 0 was expected"),
        ("rank 0=n1 slot=0:1-2", "is not a rank"),
        ("rank 0=n1 slot=p0", "is not a rank"),
        ("Rank 0=n1 slot=0", "is not a rank"),
        ("rank 0=n1", "is not a rank"),
        ("rank 0=n1 slot=3-1", "runs backwards"),
        ("rank 0=n1 slot=16", "logical core 16 does not exist; the last core is 15"),
        ("rank 0=n9 slot=0", "nothing is known of host n9"),
        ("rank 0=+n0 slot=0", "is not a rank"),
    ],
)
def test_what_a_version_would_get_wrong_is_refused(line: str, why: str) -> None:
    """Forms that one of the versions misreads, silently or not, are refused with their line."""
    with pytest.raises(BadValue, match=why) as error:
        parse_rankfile(["# comment", "", line], {"n1": SMT})
    assert str(error.value).startswith("line 3: ")


def test_a_rank_given_twice_is_refused() -> None:
    """Open MPI takes the last one without a word."""
    with pytest.raises(BadValue, match="rank 0 where rank 1 was expected"):
        parse_rankfile(["rank 0=n1 slot=0", "rank 0=n1 slot=1"], {"n1": SMT})


def test_comments_and_spaces_are_read_over() -> None:
    """Both versions take # and // and spaces around the equals sign."""
    seats = parse_rankfile(["// advisor", "rank 0 = n1 slot = 1 # core 1"], {"n1": shape(1, 1, 1, 4)})
    assert seats == {0: RankfileEntry("n1", CpuSet([1]))}
