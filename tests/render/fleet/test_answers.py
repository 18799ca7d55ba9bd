"""The first line of every page about many nodes, and what a capture of them came to."""

from typing import Any

from advisor.render.fleet.answers import captured_page
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
        *({"node": f"n{number:04d}", "is": "timed out", "why": "no whole answer in time"} for number in range(13, 17)),
        *({"node": name, "is": "host key", "why": "Host key verification failed."} for name in ("n0300", "n0301")),
    ],
    "other_names": [{"node": "n0007", "seen_as": "n0008"}],
}


def test_the_page_has_each_reason_once_and_how_to_go_on() -> None:
    """One node stands for all that gave the same reason."""
    assert printed(captured_page(TOLD, 100)).splitlines() == [
        "1000 nodes asked, 994 answered (n[0013-0016] timed out, n[0300-0301] host key, n0999 not asked:",
        "  interrupted)",
        "timed out    n0013 and 3 more: no whole answer in time",
        "host key     n0300 and 1 more: Host key verification failed.",
        "Other names  n0007 is n0008",
        "Then         advisor fleet audit 'my fleet'",
        "Again        advisor fleet capture --again failed -o 'my fleet'",
    ]
