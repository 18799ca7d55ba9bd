"""What is measured between two hosts, and what of the answer is believed."""

from dataclasses import replace
from typing import Any

import pytest

from advisor.errors import BadValue, CannotWork
from advisor.jobs.observe import PlannedRank
from advisor.jobs.results import RankPlan, misplaced, read_network
from advisor.machine.cpuset import CpuSet
from advisor.measure.plan import NetworkRun, count_sizes, network_runs, sizes_of
from tests.jobs.place.samples import machine
from tests.measure.samples import NAPLES, ROME, line


def planned(*places: tuple[str | None, str]) -> tuple[PlannedRank, ...]:
    """Return a plan of hosts and CPUs, rank by rank."""
    return tuple(PlannedRank(rank=rank, host=host, cpus=CpuSet.parse(cpus)) for rank, (host, cpus) in enumerate(places))


TWO = planned(("a", "5"), ("b", "5"))


def near() -> NetworkRun:
    """Return the pair beside the adapter of the machine of [000]."""
    return network_runs([machine(NAPLES)], ["mlx5_0"])[0]


def said(places: Any = None, **fields: Any) -> bytes:
    """Return a line of mbw_mr of one pair between two hosts."""
    usual = {"kernel": "mbw_mr", "variant": "mbw_mr", "unit": "bytes/s", "cpus": [5], "bytes": 65536, "values": [12.3e9, 12.2e9]}
    usual |= {
        "per_pair": [12.3e9],
        "messages": 187683.1,
        "pairs": 1,
        "across": 1,
        "places": places or {"host": ["a", "b"], "cpus": ["5", "5"]},
    }
    return line(**(usual | fields))


def heard(line_of_kernel: bytes, *, asked: bool = True) -> Any:
    """Return the result that such a line becomes."""
    leg, node = near(), machine(NAPLES)
    seat = RankPlan(("a", "b"), TWO, node, "openmpi4 4.1.4", asked)
    return read_network(leg, leg.task("65536", 2, (5,)), seat, [line_of_kernel])[0]


def test_the_machine_of_the_article_gives_its_table() -> None:
    """Each of eight NUMA nodes, both sockets, all cores and two ranks a node, as [000] has them; node 6 is the adapter's."""
    found = [(leg.part, leg.index, leg.ranks, leg.distance) for leg in network_runs([machine(NAPLES)], ["mlx5_0"])[2:]]
    away = {4: "same-socket", 5: "same-socket", 6: "local", 7: "same-socket"}
    assert found == [
        *(("numa", node, 8, away.get(node, "other-socket")) for node in range(8)),
        ("socket", 0, 32, "other-socket"),
        ("socket", 1, 32, "local"),
        ("machine", None, 64, ""),
        ("machine", None, None, ""),
    ]


def test_latency_is_measured_beside_the_adapter_and_far_from_it() -> None:
    """The far node is one of the other socket."""
    first, second, *_ = network_runs([machine(NAPLES)], ["mlx5_0"])
    assert [(leg.tests, leg.index, leg.distance) for leg in (first, second)] == [
        ("latency,mbw_mr,bibw", 6, "local"),
        ("latency,mbw_mr,bibw", 1, "other-socket"),
    ]


def test_each_adapter_has_its_turn() -> None:
    """Two adapters are measured one after the other, each with its own near node."""
    found = network_runs([machine("two-hcas")], ["mlx5_0", "mlx5_1"])
    turns = list(dict.fromkeys(leg.hca for leg in found))
    homes = [next(leg.index for leg in found if leg.hca == hca and leg.distance == "local") for hca in turns]
    assert (turns, len(set(homes)), len(found) % 2) == (["mlx5_0", "mlx5_1"], 2, 0)


@pytest.mark.parametrize(("per", "count"), [("numa", 8), ("socket", 2), ("machine", 1)])
def test_one_kind_of_part_alone(per: Any, count: int) -> None:
    """--per leaves the single pairs and the other parts out."""
    assert [(leg.purpose, leg.part) for leg in network_runs([machine(NAPLES)], ["mlx5_0"], per)] == [("network", per)] * count


def test_inside_one_host_ranks_are_even() -> None:
    """Pairs inside one host need an even number of ranks, and two cores for one pair."""
    found = network_runs([machine(NAPLES)], (), hosts=1)
    assert [leg.ranks for leg in found if leg.ranks and leg.ranks % 2] == []
    assert [len(leg.cpus or ()) for leg in found if leg.purpose == "network-pair"] == [2, 2]


def test_hosts_that_are_cut_otherwise_are_refused() -> None:
    """NUMA node 3 of one would be compared with other cores of the other."""
    with pytest.raises(CannotWork, match="differ in NUMA partitioning"):
        network_runs([machine(NAPLES), machine(ROME)], ())


@pytest.mark.parametrize(
    ("text", "taken", "count"), [("8,64KiB", "8,65536", 2), ("1:4MiB", "1:4194304", 23), ("1M", "1048576", 1)]
)
def test_sizes(text: str, taken: str, count: int) -> None:
    """Sizes are given to the kernel in bytes; a range has every doubling."""
    assert (sizes_of(text), count_sizes(sizes_of(text))) == (taken, count)


@pytest.mark.parametrize("text", ["", "0", "-1", "8,,9", "4:1", "1:2:3", "2GiB", "8;rm", "٣"])
def test_what_is_no_size_is_refused(text: str) -> None:
    """Only sizes that the kernel takes reach it."""
    with pytest.raises(BadValue, match="not a list of message sizes"):
        sizes_of(text)


def test_a_line_becomes_a_result_of_its_leg() -> None:
    """Part, adapter, ceiling and pairs are joined to what the kernel said."""
    found = heard(said())
    told = (found.part, found.index, found.cpus, found.refused, found.ceiling, found.bytes)
    assert told == ("numa", 6, (5,), None, 12.5e9, 65536)
    assert (found.details["hca"], found.details["hca_distance"], found.details["pairs"]) == ("mlx5_0", "local", 1)


def test_both_ways_have_twice_the_line() -> None:
    """24.7 GB/s both ways is no instrument error on a line of 12.5; 13 one way is one."""
    assert (heard(said(variant="bibw", values=[24.7e9])).refused, heard(said(values=[13e9])).refused) == (
        None,
        "instrument error: 1.04 times what the link can carry",
    )


def test_an_adapter_that_the_mpi_was_not_told_is_no_ceiling() -> None:
    """Messages may have gone another way: how far the adapter is stands in the result, what its line carries does not."""
    found = heard(said(values=[13e9]), asked=False)
    told = {name: found.details.get(name) for name in ("hca", "hca_distance", "way", "line")}
    assert (found.refused, found.ceiling) == (None, None)
    assert told == {"hca": "mlx5_0", "hca_distance": "local", "way": "chosen by the MPI library", "line": None}


def test_ranks_elsewhere_are_not_believed() -> None:
    """A rank on another CPU than planned makes the result one that is refused."""
    assert heard(said({"host": ["a", "b"], "cpus": ["5", "7"]})).refused == "rank 1 was on CPUs 7, but the plan has 5"


WRONG = {
    "ranks on the other's host": ({"host": ["b", "a"], "cpus": ["5", "5"]}, "rank 0 was on b, but the plan has a"),
    "all on one host": ({"host": ["x", "x"], "cpus": ["5", "5"]}, "rank 1 was on x, but the plan has b"),
    "wider": ({"host": ["a", "b"], "cpus": ["0-63", "5"]}, "rank 0 was on CPUs 0-63, but the plan has 5"),
    "no list": ({"host": ["a", "b"], "cpus": ["5", "\x1b"]}, "rank 1 was on CPUs \x1b, but the plan has 5"),
    "too few": ({"host": ["a"], "cpus": ["5"]}, "1 ranks reported their placement, but the plan has 2"),
    "nothing": (None, "no ranks reported their placement, but the plan has 2"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_misplaced_says_so(case: str) -> None:
    """The first rank that is elsewhere is named."""
    places, why = WRONG[case]
    assert misplaced(places, TWO) == why


def test_hosts_may_be_called_otherwise() -> None:
    """An address or an alias stands for a host where it stands for it alone; a list cut short is compared as far as it goes."""
    by_address = planned(("10.0.0.1", "5"), ("10.0.0.2", "5"))
    assert misplaced({"host": ["n1", "n2"], "cpus": ["5", "5"]}, by_address) is None
    long = planned((None, ",".join(str(cpu) for cpu in range(0, 400, 2))))
    cut = ",".join(str(cpu) for cpu in range(0, 300, 2)) + ",..."
    assert misplaced({"host": ["n1"], "cpus": [cut]}, long) is None


def test_a_link_narrower_than_the_port_is_the_ceiling() -> None:
    """A card in a slot of eight lanes has less than its port carries, and says so."""
    from advisor.jobs.results import line_rate

    node = machine(NAPLES)
    narrow = tuple(
        each.model_copy(update={"link": each.link.model_copy(update={"bandwidth": 7_877_000_000, "width": 8})})
        if each.link
        else each
        for each in node.pci or ()
    )
    limits = [line_rate(each, "mlx5_0") for each in (node, node.model_copy(update={"pci": narrow}))]
    assert [(limit.rate, limit.why.partition(",")[0]) for limit in limits if limit] == [
        (12.5e9, "100 Gbit/s (4X EDR)"),
        (7.877e9, "PCIe"),
    ]
    assert line_rate(node, "mlx5_9") is None


@pytest.mark.parametrize(("name", "rate", "carries"), [("4X QDR", 40e9, 4e9), ("4X FDR", 56e9, 6.788e9), ("4X FDR10", 40e9, 5e9)])
def test_line_coding_is_taken_off(name: str, rate: float, carries: float) -> None:
    """QDR and FDR are counted before line coding, FDR10 after it."""
    from advisor.jobs.results import line_rate

    node = machine(NAPLES)
    (hca,) = node.hcas or ()
    port = (hca.ports or ())[0].model_copy(update={"rate": int(rate), "rate_name": name})
    found = line_rate(node.model_copy(update={"hcas": (hca.model_copy(update={"ports": (port,)}),)}), "mlx5_0")
    assert found is not None
    assert round(found.rate / 1e6) == round(carries / 1e6)


def test_legs_have_names_of_their_own() -> None:
    """No two starts share a name, so that none hides another in a file."""
    found = network_runs([machine("two-hcas")], ["mlx5_0", "mlx5_1"])
    names = [leg.task("8", 3, (0,)).name for leg in found]
    assert len(set(names)) == len(names)
    assert replace(found[0], hca=None).task("8", 3, (0,)).name.startswith("mbw_mr/network-pair/any/")
