import pytest

from advisor.machine.hardware import MemoryTier
from advisor.machine.sources.sysfs import TIERS_PATHS, collect_tiers
from tests.collect.os_host import FakeHost, covered

NODE = "/sys/devices/system/node"
HMAT = {
    f"{NODE}/node8/access0/initiators/node0": "",
    f"{NODE}/node8/access0/initiators/read_bandwidth": "200000",
    f"{NODE}/node8/access0/initiators/write_bandwidth": "190000",
    f"{NODE}/node8/access0/initiators/read_latency": "120",
    f"{NODE}/node8/access0/initiators/write_latency": "0",
}


def test_hmat() -> None:
    """Bandwidth is bytes a second, latency seconds, and an entry of 0 is not known."""
    tier = MemoryTier(node=8, initiators=(0,), read_bandwidth=200 * 10**9, write_bandwidth=190 * 10**9, read_latency=120 / 1e9)
    assert collect_tiers(FakeHost(HMAT)).tiers == (tier,)


def test_tier_and_cache() -> None:
    """The kernel's tier number and a memory-side cache are told even without an HMAT."""
    files = {
        f"{NODE}/node0/cpumap": "1",
        f"{NODE}/node0/memory_side_cache/index1/size": "16777216K",
        "/sys/devices/virtual/memory_tiering/memory_tier4/nodelist": "0-1",
    }
    assert collect_tiers(FakeHost(files)).tiers == (MemoryTier(node=0, tier=4, cache=16 << 30),)


def test_nothing_described_is_a_gap() -> None:
    """A kernel that shows none of it leaves the tiers unknown."""
    found = collect_tiers(FakeHost({f"{NODE}/node0/cpumap": "1"}))
    assert (found.tiers, [gap.fact for gap in found.gaps]) == (None, ["tiers"])


@pytest.mark.parametrize("text", ["", "x", "-5", "99999999999999999999999"])
def test_odd_numbers_are_not_known(text: str) -> None:
    """A bandwidth that is no positive number is not known."""
    tiers = collect_tiers(FakeHost(HMAT | {f"{NODE}/node8/access0/initiators/read_bandwidth": text})).tiers
    assert tiers is not None
    assert tiers[0].read_bandwidth is None


def test_reads_are_covered_by_the_patterns() -> None:
    """A capture keeps every file this source reads."""
    host = FakeHost(HMAT)
    collect_tiers(host)
    assert [path for path in host.asked if not covered(path, TIERS_PATHS)] == []


KNL = """version: 2
cache_size: 4294967296
associativity: 1
inclusiveness: 1
line_size: 64
cluster_mode: SNC-4
memory_mode: Cache
"""


@pytest.mark.parametrize("folder", ["/run/hwloc", "/var/run/hwloc"])
def test_what_hwloc_dumped_of_a_knights_landing_is_believed(folder: str) -> None:
    """The file that hwloc-dump-hwdata left tells the MCDRAM before each node with CPUs, and the modes of the firmware."""
    files = {f"{NODE}/node0/cpulist": "0-3", f"{NODE}/node1/cpulist": "4-7", f"{NODE}/node2/cpulist": ""}
    found = collect_tiers(FakeHost(files | {f"{folder}/knl_memoryside_cache": KNL}))
    assert found.tiers == (MemoryTier(node=0, cache=4 << 30), MemoryTier(node=1, cache=4 << 30))
    assert found.firmware is not None
    assert (found.firmware.cluster_mode, found.firmware.memory_mode) == ("SNC-4", "Cache")


@pytest.mark.parametrize("text", ["", "version: 1\n", "cache_size: 99999999999999\n", "cache_size: x\n", "\0" * 20])
def test_a_dump_without_a_size_that_can_be_tells_no_cache(text: str) -> None:
    """Knights Landing has 16 GiB of MCDRAM at most; anything else in the file is no size."""
    found = collect_tiers(FakeHost({f"{NODE}/node0/cpulist": "0-3", "/run/hwloc/knl_memoryside_cache": text}))
    assert found.tiers is None
