from typing import Any

import pytest

from advisor.measure.measurement import Result
from advisor.measure.platform import match_platform
from advisor.measure.resources import checked_results, memory_ceiling
from tests.measure.samples import NAPLES, ROME, ground, result

GB = 1e9
SOCKET = 8 * 8 * 3200e6


def judged(name: str = ROME, **fields: Any) -> Result:
    """Return a result on NUMA node 0 of two sockets of Rome with what is made of it."""
    usual: dict[str, Any] = {"cpus": tuple(range(16)), "bytes": 1 << 30, "pages": {0: 100}}
    here = ground(name)
    return checked_results([result(**(usual | fields))], here, match_platform(here.machine))[0]


@pytest.mark.parametrize(
    ("name", "node", "ceiling"),
    [
        (ROME, 0, SOCKET / 4),
        ("b-c6525-2x7702-nps1", 1, SOCKET),
        (NAPLES, 3, 2 * 8 * 2666e6),
        ("virtual", 0, None),
        ("nps0", 0, None),
    ],
)
def test_a_nodes_ceiling_is_its_share_of_the_sockets_channels(name: str, node: int, ceiling: float | None) -> None:
    """A quarter of eight channels at 3200 MT/s in NPS4; unknown where the firmware names no modules."""
    found = memory_ceiling(ground(name), node)
    assert found == ceiling if name != "nps0" else found in (None, 2 * SOCKET)


def test_uneven_memory_makes_no_false_ceiling() -> None:
    """With DIMMs in two quadrants of four, a filled node may have all channels of its socket that are used."""
    assert memory_ceiling(ground("memoryless"), 0) == pytest.approx(4 * 8 * 3200e6)


def test_below_the_ceiling_is_believed() -> None:
    """45 of 51.2 GB/s."""
    found = judged(values=(45 * GB, 46 * GB, 44 * GB))
    assert (found.ceiling, found.refused) == (SOCKET / 4, None)


def test_above_the_ceiling_is_an_instrument_error() -> None:
    """70 of 51.2 GB/s."""
    assert judged(values=(70 * GB,)).refused == "instrument error: 1.37 times what the hardware can deliver"


def test_what_stays_in_the_l3_raises_the_limit() -> None:
    """A working set of twice the L3 may be answered by it for the half; a smaller one has no ceiling of memory."""
    assert judged(values=(70 * GB,), bytes=128 << 20).refused is None
    assert judged(values=(700 * GB,), bytes=64 << 20).ceiling is None


def test_pages_elsewhere_are_refused() -> None:
    """Asked for node 0, 30 % lay on node 3; a handful elsewhere is nothing."""
    assert judged(values=(GB,), pages={0: 70, 3: 30}).refused == "30% of the pages were on node 3, not on 0"
    assert judged(values=(GB,), pages={0: 4000, 3: 2}).refused is None


def test_first_touch_is_held_against_the_threads_own_nodes() -> None:
    """Threads of nodes 0 and 1 have their pages there; node 5 is elsewhere."""
    both: dict[str, Any] = {"cpus": tuple(range(32)), "memory": None, "distance": "spread", "values": (GB,)}
    assert [judged(**both, pages=pages).refused for pages in ({0: 50, 1: 50}, {0: 50, 5: 50})] == [
        None,
        "50% of the pages were on node 5, not on 0-1",
    ]


def test_flops_are_held_against_cores_and_clock() -> None:
    """Two cores of 16 a cycle at 3 GHz cannot do 120 GFLOP/s; without a clock nobody knows."""
    usual: dict[str, Any] = {
        "kernel": "peakflops",
        "purpose": "peak",
        "unit": "flop/s",
        "memory": None,
        "distance": None,
        "pages": None,
    }
    fast = [judged(**usual, cpus=(0, 1), values=(rate,), details={"clock": 3e9}) for rate in (95e9, 120e9)]
    assert [(each.ceiling, each.refused) for each in fast] == [
        (96e9, None),
        (96e9, "instrument error: 1.25 times what the hardware can deliver"),
    ]
    assert judged(**usual, cpus=(0, 1), values=(1e15,)).ceiling is None
