"""What a fleet's folder says of who was asked."""

from advisor.fleet.fleet import Answer, answers_in
from advisor.machine.hosts.errands import Outcome

FIRST = Answer(node="n1", at="2026-01-31T06:10:00Z", outcome=Outcome.TIMED_OUT, why="no answer in 60 s")
AGAIN = Answer(node="n1", at="2026-01-31T06:20:00Z", outcome=Outcome.ANSWERED, archive="n1.tar.gz", sha256="0" * 64)
OTHER = Answer(node="n2", at="2026-01-31T06:10:00Z", outcome=Outcome.NO_ROUTE)


def test_the_last_line_of_a_node_counts() -> None:
    """A node that did not answer and did later has answered; the order is that of the first asking."""
    found = answers_in(FIRST.line() + OTHER.line() + AGAIN.line())
    assert (list(found.last.values()), found.damaged) == ([AGAIN, OTHER], ())


def test_a_line_that_was_cut_short_stops_no_other() -> None:
    """What a full disk left of a line is named by its number; the lines around it count."""
    found = answers_in(
        OTHER.line() + FIRST.line()[:20] + b"\n" + b'{"node": "-oProxyCommand=x", "at": "", "outcome": "answered"}\n'
    )
    assert (list(found.last), found.damaged) == (["n2"], (2, 3))
