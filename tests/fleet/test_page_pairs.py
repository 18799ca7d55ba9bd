"""The page of a tournament: who and what is bad first, each in one line."""

from typing import Any

from advisor.fleet.page import pairs_page
from tests.printing import printed


def figure(name: str, unit: str, values: tuple[float, float, float], **found: Any) -> dict[str, Any]:
    """Return a figure of a kind."""
    least, median, most = values
    spread = {"figure": name, "unit": unit, "pairs": 128, "least": least, "median": median, "most": most}
    return {**spread, "bad_nodes": [], "bad_links": [], "unclear": [], **found}


def told(**changes: Any) -> dict[str, Any]:
    """Return the document of a tournament."""
    node = {"node": "n17", "value": 10.3e9, "median": 12.1e9, "z": -22.5, "met": 4, "slow_with": 4}
    dead = {"node": "n33", "value": None, "median": 12.1e9, "z": None, "met": 4, "slow_with": 4}
    link = {"pair": ["n57", "n03"], "value": 6.04e9, "median": 12.1e9, "z": -47.8}
    bad = {"bad_nodes": [dead, node], "bad_links": [link]}
    group = {
        "kind": "A",
        "nodes": "n[01-64]",
        "rounds": 4,
        "pairs": 128,
        "judged": True,
        "measured_again": [["n57", "n03"]],
        "figures": [
            figure("latency 8 B", "seconds", (1.1e-6, 1.2e-6, 1.3e-6)),
            figure("bandwidth 1 MiB", "bytes/s", (6e9, 12.1e9, 12.4e9), **bad),
            figure("bidirectional bandwidth 1 MiB", "bytes/s", (1e10, 2.1e10, 2.2e10), bad_nodes=[node], unclear=["n05"]),
        ],
        "no_result": [
            {"pair": ["n28", "n33"], "why": "no route to n33"},
            {"pair": ["n33", "n56"], "why": "no route to n33"},
            {"pair": ["n33", "n01"], "why": "no route to n33"},
        ],
        "values": [],
    }
    whole = {"asked": 65, "measured": 64, "meetings": 4, "interrupted": False, "groups": [{**group, **changes}]}
    return {**whole, "not_measured": [{"node": "n65", "why": "not idle: 3.1 of 20 CPUs are busy"}]}


def test_who_is_bad_stands_first_with_what_is_usual() -> None:
    """A node with its worst figure and the names of the others; what gave nothing has its reason once."""
    assert printed(pairs_page(told(), 100)).splitlines() == [
        "65 nodes asked, 64 measured in 128 pairs, 1 more to confirm",
        "BAD NODE     n33: no result with 4 of 4 others",
        "BAD NODE     n17: bandwidth 1 MiB 10.3 GB/s with 4 of 4 others, median 12.1 GB/s (z -22.5); also",
        "             bidirectional bandwidth 1 MiB",
        "BAD LINK     n57 - n03: bandwidth 1 MiB 6.04 GB/s, median 12.1 GB/s (z -47.8)",
        "Not clear    n05: some links are bad, others are not; the cause may be the node or the fabric",
        "Pairs        latency 8 B: 1.2 us usually, 1.1 us to 1.3 us",
        "Pairs        bandwidth 1 MiB: 12.1 GB/s usually, 6 GB/s to 12.4 GB/s",
        "Pairs        bidirectional bandwidth 1 MiB: 21 GB/s usually, 10 GB/s to 22 GB/s",
        "No result    n28 - n33, n33 - n56 and 1 more: no route to NODE",
        "Not measured n65: not idle: 3.1 of 20 CPUs are busy",
        "Next         advisor measure network --hosts n57,n03",
    ]


def test_where_nothing_is_named_it_is_said_why() -> None:
    """Of too few pairs, and after Ctrl-C."""
    good = [figure("latency 8 B", "seconds", (1.1e-6, 1.2e-6, 1.3e-6))]
    few = printed(pairs_page(told(pairs=6, judged=False, figures=good, no_result=[], measured_again=[]), 100))
    assert "Not judged   too few pairs for a baseline: 8 needed" in few
    stopped = {**told(figures=[], no_result=[], judged=False), "interrupted": True}
    assert printed(pairs_page(stopped, 100)).splitlines()[0].endswith("interrupted: no node singled out")
