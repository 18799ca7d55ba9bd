"""The tables of messages between two hosts. EVERY VALUE IS INVENTED but those of article [000], which are marked so."""

from typing import Any

from advisor.measure.measurement import Result
from advisor.measure.page import messages
from advisor.measure.tables import Seen
from advisor.show.lines import Line
from tests.measuring import one_result, one_run

ARTICLE = (6.9, 6.8, 6.8, 6.8, 12.1, 12.2, 12.3, 12.1)
"""[000] Table 2: GB/s of eight cores of each NUMA node to those of the other host's; the adapter is at node 6."""


def result(variant: str, size: int, value: float, **fields: Any) -> Result:
    """Return three repeats that agree to a percent."""
    own = fields.pop("details", {})
    details = {"hca": "mlx5_0", "hosts_named": "n1,n2", "launcher": "openmpi4 4.1.4", "across": 8, "pairs": 8, **own}
    known: dict[str, Any] = {"kernel": "mbw_mr", "purpose": "network", "part": "numa", "bytes": size, "task": str(fields)}
    known |= {"unit": "seconds" if variant == "latency" else "bytes/s", "values": (0.99 * value, value, 1.01 * value)}
    return one_result(**(known | {"variant": variant, "details": details} | fields))


def parts() -> list[Result]:
    """Return the article's table."""
    found = []
    for node, rate in enumerate(ARTICLE):
        away = "local" if node == 6 else "same-socket" if node > 3 else "other-socket"
        told = {"hca_distance": away, "line": "100 Gbit/s (4X EDR)", "messages": 1e6 * rate}
        found += [
            result("mbw_mr", size, value, index=node, details=told, ceiling=12.5e9)
            for size, value in ((8, 8e6 * rate), (65536, 1e9 * rate))
        ]
    return found


def pairs() -> list[Result]:
    """Return a pair beside the adapter and one far from it."""
    found = []
    for node, away, latency, rate in ((6, "local", 1.1e-6, 12.4e9), (0, "other-socket", 1.4e-6, 7e9)):
        told = {"purpose": "network-pair", "index": node, "details": {"hca_distance": away, "pairs": 1}}
        found += [
            result("latency", 8, latency, **told),
            result("mbw_mr", 65536, rate, **told),
            result("bibw", 65536, 2 * rate, **told),
        ]
    return found


def text(results: list[Result]) -> list[str]:
    """Return the tables as plain lines."""
    return [_plain(line) for line in messages(Seen(one_run(results), None, 120))]


def _plain(line: Line) -> str:
    return " ".join("".join(words for words, _ in line).split())


def test_the_article_s_table() -> None:
    """Every node has its row, the adapter's is marked, and what is lost far from it stands beside and below it."""
    lines = text(parts())
    rows = [row for row in lines if row.startswith("NUMA node")]
    assert (rows[0], rows[6]) == (
        "NUMA node 0 mlx5_0 other socket 8 6.90 6.90 64 KiB 55 % -44 % 2.0 %",
        "NUMA node 6 mlx5_0 here 8 12.3 12.3 64 KiB 98 % 2.0 %",
    )
    assert (len(rows), lines[-1]) == (8, "On the other socket, 45 % of the bandwidth is lost: 6.80 of 12.3 GB/s.")
    assert "line: 12.5 GB/s one way (100 Gbit/s (4X EDR))" in " ".join(lines)


def test_two_ranks_near_and_far() -> None:
    """Latency in microseconds, one way and both ways, and what distance costs."""
    lines = text(pairs())
    assert [row for row in lines if row.startswith("NUMA node")] == [
        "NUMA node 6 mlx5_0 here 1.10 12.4 24.8 64 KiB 2.0 %",
        "NUMA node 0 mlx5_0 other socket 1.40 7.00 14.0 64 KiB 2.0 %",
    ]
    assert lines[-1] == "Far from the adapter, latency is 27 % higher."


def test_what_is_not_believed_is_in_no_table() -> None:
    """Results of ranks that were elsewhere are left out; with none left there is no table."""
    assert text([each.model_copy(update={"refused": "rank 0 was on CPUs 1, but the plan has 0"}) for each in parts()]) == []


def test_inside_one_host_it_says_so() -> None:
    """Pairs on one host are shared memory, without adapter or line."""
    one = result("mbw_mr", 8, 1e8, index=0, details={"hca": "", "across": 0, "hosts_named": "n1", "messages": 1.25e7})
    assert "inside n1, shared memory, openmpi4 4.1.4, median of 3 repeats" in " ".join(text([one]))
