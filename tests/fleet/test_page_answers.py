"""The first line of every page about many nodes, and what a capture of them came to."""

from typing import Any

from advisor.fleet.fleet import Slow
from advisor.fleet.page import captured_page, measured_page
from tests.printing import printed

TOLD: dict[str, Any] = {
    "folder": "my fleet",
    "asked": 1000,
    "asked_now": 12,
    "answered": 994,
    "not_asked": ["n0999"],
    "outcomes": [
        {"is": "answered", "count": 993, "nodes": "n[0001-1000]"},
        {"is": "timed out", "count": 4, "nodes": "n[0013-0016]"},
        {"is": "host key", "count": 2, "nodes": "n[0300,0301]"},
        {"is": "wrong name", "count": 1, "nodes": "n0007"},
    ],
    "silent": [
        *(
            {"node": f"n{number:04d}", "is": "timed out", "why": "no whole answer in time", "by_hand": f"ssh n{number:04d} x"}
            for number in range(13, 17)
        ),
        *(
            {"node": name, "is": "host key", "why": "Host key verification failed.", "by_hand": f"ssh {name} true"}
            for name in ("n0300", "n0301")
        ),
    ],
    "other_names": [{"node": "n0007", "seen_as": "n0008"}],
}


def test_the_page_has_each_reason_once_and_how_to_go_on() -> None:
    """One node stands for all that gave the same reason."""
    assert printed(captured_page(TOLD, 100)).splitlines() == [
        "1000 nodes asked, 994 answered (n[0013-0016] timed out, n[0300-0301] host key, n0999 not asked:",
        "  interrupted)",
        "timed out    n0013 and 3 more: no whole answer in time",
        "  by hand    ssh n0013 x",
        "host key     n0300 and 1 more: Host key verification failed.",
        "  by hand    ssh n0300 true",
        "Other names  n0007 is n0008",
        "Next         advisor fleet audit 'my fleet'",
        "Again        advisor fleet capture --again failed -o 'my fleet'",
    ]


def test_the_page_of_a_measurement_says_who_was_and_who_is_slow_twice() -> None:
    """Why others were not, once for all with the same reason; who was slow once only is named as good."""
    captured = "not captured; run advisor fleet capture -w {} -o fleet first"
    told = {
        "folder": "fleet",
        "asked": 12,
        "measured": 9,
        "not_measured": [
            *({"node": name, "why": captured.format(name)} for name in ("n10", "n11")),
            {"node": "n12", "why": "not idle: 3.2 of 40 CPUs are busy"},
        ],
        "measured_again": ["n3", "n7"],
    }
    slow = Slow(figure="membw triad machine", node="n3", value=80e9, median=100e9, z=-16.2, kind="A", unit="bytes/s", among=9)
    assert printed(measured_page(told, [slow], 100)).splitlines() == [
        "12 nodes asked, 9 measured",
        "Not measured n[10-11]: not captured; run advisor fleet capture -w 'n[10-11]' -o fleet first",
        "Not measured n12: not idle: 3.2 of 40 CPUs are busy",
        "Again        n[3,7]; not slow when remeasured: n7",
        "SLOW         A 1 of 9 membw triad machine 80 GB/s, median 100 GB/s (z -16.2) n3",
        "Next         advisor fleet audit fleet",
    ]
