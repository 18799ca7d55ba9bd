"""Messages between pairs: every test, every MPI, payload verified, each rank's place told."""

from typing import Any

import pytest

from tests.kernels.mpi import MPIS, results, run

QUICK = ("--repeats", "2", "--iterations", "20", "--sizes", "8,64KiB")


def by_test(lines: list[dict[str, Any]]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the lines by test and size."""
    return {(line["variant"], line["bytes"]): line for line in lines}


@pytest.mark.parametrize("mpi", MPIS)
def test_every_test_under_every_mpi(mpi: str) -> None:
    """One line for each test and size, each with every repeat."""
    lines = by_test(results(mpi, "mbw_mr", 4, "--test", "mbw_mr,bibw,latency,sendrecv", *QUICK))
    assert list(lines) == [(test, size) for test in ("mbw_mr", "bibw", "latency", "sendrecv") for size in (8, 65536)]
    assert {(line["pairs"], len(line["values"]), len(line["per_pair"])) for line in lines.values()} == {(2, 2, 2)}
    assert {key[0]: line["unit"] for key, line in lines.items()} == {
        "mbw_mr": "bytes/s", "bibw": "bytes/s", "latency": "seconds", "sendrecv": "bytes/s",
    }  # fmt: skip


def test_each_rank_says_where_it_is() -> None:
    """Placement is verified from what the ranks report; pairs inside one host are not across."""
    line = results("openmpi4", "mbw_mr", 4, *QUICK)[0]
    assert (len(line["places"]["host"]), len(line["places"]["cpus"]), line["hosts"], line["across"]) == (4, 4, 1, 0)


def test_message_rate_is_bytes_by_size() -> None:
    """As OSU's mbw_mr has it."""
    line = by_test(results("openmpi4", "mbw_mr", 2, *QUICK))["mbw_mr", 8]
    assert line["messages"] == pytest.approx(sum(line["values"]) / 2 / 8, rel=1e-6)


def test_a_range_is_its_doublings() -> None:
    """1:8 is 1, 2, 4, 8."""
    lines = results("openmpi4", "mbw_mr", 2, "--repeats", "1", "--iterations", "5", "--sizes", "1:8")
    assert [line["bytes"] for line in lines] == [1, 2, 4, 8]


def test_a_wrong_byte_is_refused() -> None:
    """A build that flips a bit of what arrived ends all ranks, names the byte, and prints no result."""
    done = run("openmpi4", "mbw_mr", 2, *QUICK, flags=("-DBREAK_RESULT",))
    assert (done.returncode, done.stdout) == (1, "")
    assert "mbw_mr: mbw_mr of 8 bytes: rank 1 got a wrong byte from rank 0 at 4" in done.stderr


@pytest.mark.parametrize(
    ("ranks", "arguments", "complaint"),
    [
        (3, (), "mbw_mr: 3 ranks: pairs need an even number of them"),
        (2, ("--test", "bw"), "mbw_mr: --test bw: mbw_mr, bibw, latency or sendrecv is expected"),
        (2, ("--sizes", "8,x"), "mbw_mr: --sizes 8,x: sizes such as 8,64KiB or 1:4MiB for all doublings between is expected"),
        (2, ("--window", "4096"), "mbw_mr: --window 4096: at most 1024"),
    ],
)
def test_wrong_arguments_give_one_line(ranks: int, arguments: tuple[str, ...], complaint: str) -> None:
    """One rank speaks for all."""
    done = run("openmpi4", "mbw_mr", ranks, *arguments)
    said = [line for line in done.stderr.splitlines() if line.startswith("mbw_mr:")]
    assert (done.returncode, said) == (2, [complaint])
