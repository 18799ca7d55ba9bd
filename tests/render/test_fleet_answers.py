"""The first line of every page about many nodes, and what a capture of them came to."""

from typing import Any

from advisor.render.fleet_answers import captured_page, who_answered
from tests.printing import printed

TOLD: dict[str, Any] = {
    "folder": "my fleet",
    "asked": 1000,
    "asked_now": 12,
    "answered": 994,
    "not_asked": "",
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


def test_the_first_line_says_who_answered_and_who_did_not() -> None:
    """Folded, with the reason in a word."""
    assert who_answered(3, 3, []) == "3 nodes asked, 3 answered"
    assert who_answered(1, 0, [("refused", "n1")]) == "1 node asked, 0 answered (n1 refused)"


def test_the_page_has_each_reason_once_and_how_to_go_on() -> None:
    """One node stands for all that gave the same reason."""
    assert printed(captured_page(TOLD, 100)).splitlines() == [
        "1000 nodes asked, 994 answered (n[0013-0016] timed out, n[0300,0301] host key)",
        "timed out    n0013 and 3 more: no whole answer in time",
        "host key     n0300 and 1 more: Host key verification failed.",
        "Other names  n0007 is n0008",
        "Again        advisor fleet capture --again failed -o 'my fleet'",
    ]
