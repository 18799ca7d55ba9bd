"""Round trips of a cache line: the pairs asked for, in order or refused, and never for ever."""

from itertools import combinations
from pathlib import Path

import pytest

from tests.kernels.plain import CPUS, built, results, run, two_cpus

A, B = CPUS[0], CPUS[-1]
QUICK = ("--rounds", "50", "--repeats", "2", "--limit", "30")


@two_cpus
def test_a_pair_says_every_repeat() -> None:
    """Each pair has a line with its two CPUs, in the order asked, and seconds of a round trip."""
    lines = results("c2c", *QUICK, "--pairs", f"{A}-{B},{B}-{A}")
    assert [line["cpus"] for line in lines] == [[A, B], [B, A]]
    assert {(line["unit"], line["rounds"], len(line["values"]), "cut_short" in line) for line in lines} == {
        ("seconds", 50, 2, False)
    }
    assert lines[0]["values"] == pytest.approx([each / 50 for each in lines[0]["seconds"]], rel=1e-6)


@two_cpus
def test_all_pairs_of_the_cpus() -> None:
    """Each once, without naming any."""
    lines = results("c2c", *QUICK, "--cpus", ",".join(map(str, CPUS[:4])))
    assert [tuple(line["cpus"]) for line in lines] == list(combinations(CPUS[:4], 2))


@two_cpus
def test_rounds_adapt() -> None:
    """Without a number the kernel finds one that fills a repeat."""
    (line,) = results("c2c", "--pairs", f"{A}-{B}", "--limit", "30", "--repeats", "1")
    assert (len(line["values"]), line["rounds"] >= 1) == (1, True)


@two_cpus
def test_an_answer_out_of_order_is_refused() -> None:
    """A build whose second CPU skips a number ends with status 1 and no result."""
    done = run("c2c", "--pairs", f"{A}-{B}", *QUICK, flags=("-DBREAK_RESULT",))
    complaint = f"c2c: CPUs {A} and {B} did not see each other's numbers in order\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", complaint)


@two_cpus
def test_a_pair_that_takes_too_long_ends() -> None:
    """Where no repeat is done at the limit, one line says so."""
    done = run("c2c", "--pairs", f"{A}-{B}", "--rounds", "1000000000", "--limit", "0.1")
    complaint = f"c2c: CPUs {A} and {B} completed no repeat in 0.1 s: busy CPUs, or too many --rounds\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", complaint)


@two_cpus
def test_a_pair_that_was_cut_short_says_so() -> None:
    """It keeps the repeats that it has."""
    (line,) = results("c2c", "--pairs", f"{A}-{B}", "--rounds", "20", "--repeats", "1000000", "--limit", "1.5")
    assert (line["cut_short"], 0 < len(line["values"]) < 1000000) == (True, True)


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (("--pairs", "0-0"), 2, "--pairs 0-0: all, or pairs of different CPUs such as 0-1,0-2 is expected"),
        (("--pairs", "0-1,"), 2, "--pairs 0-1,: all, or pairs of different CPUs such as 0-1,0-2 is expected"),
        (("--pairs", "0"), 2, "--pairs 0: all, or pairs of different CPUs such as 0-1,0-2 is expected"),
        (("--limit", "0"), 2, "--limit 0: seconds, such as 0.5 is expected"),
        (("--cpus", "0"), 3, "two CPUs are needed, but only 1 may be used"),
        (("--pairs", f"{A}-16383"), 3, "cannot run on CPU 16383: Invalid argument"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: tuple[str, ...], status: int, complaint: str) -> None:
    """They name the argument and what is wanted, and nothing is measured."""
    done = run("c2c", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"c2c: {complaint}\n")


@pytest.mark.slow
@two_cpus
@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_sanitizers_are_content(sanitizers: str) -> None:
    """No bad access, no leak, no race."""
    done = run("c2c", "--pairs", f"{A}-{B}", *QUICK, flags=("-g", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_clang_has_no_complaint() -> None:
    """The same source, by the other compiler."""
    assert Path(built("c2c", compiler="clang")).is_file()
