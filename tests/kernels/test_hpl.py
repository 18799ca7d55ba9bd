"""Our own HPL: right on every grid and MPI, refused where it is wrong, within the memory it announced."""

import json
import re

import pytest

from tests.kernels.mpi import MPIS, results, run

GRIDS = [(1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1), (2, 3)]


SIZES = [(257, 32), (96, 96), (97, 96), (65, 16), (5, 64)]
CASES = [
    pytest.param(p, q, *SIZES[(i + k) % len(SIZES)], marks=[pytest.mark.slow] if k else [])
    for i, (p, q) in enumerate(GRIDS)
    for k in (0, 1)
]


@pytest.mark.slow
@pytest.mark.parametrize(("p", "q", "n", "nb"), CASES)
def test_every_grid_solves_the_system(p: int, q: int, n: int, nb: int) -> None:
    """Also where blocks are left over, where one block is all there is, and where ranks have nothing."""
    line = results("openmpi4", "hpl", p * q, "--n", str(n), "--nb", str(nb), "--p", str(p), "--q", str(q))[0]
    assert (line["n"], line["nb"], line["p"], line["q"], line["variant"]) == (n, nb, p, q, "lu")
    assert 0 < line["residual"] < 1


@pytest.mark.parametrize("mpi", MPIS)
def test_every_mpi_solves_the_system(mpi: str) -> None:
    """One source, the MPI of the site."""
    line = results(mpi, "hpl", 4, "--n", "300", "--nb", "32", "--repeats", "2")[0]
    assert (line["p"], line["q"], len(line["values"]), len(line["places"]["host"])) == (2, 2, 2, 4)


@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_grid() -> None:
    """Pivots are the same whoever looks for them, so residuals stay in one place."""
    residuals = [results("openmpi4", "hpl", p * q, "--n", "500", "--nb", "48", "--p", str(p))[0]["residual"] for p, q in GRIDS]
    assert max(residuals) < 0.1


def test_operations_are_counted_as_hpl_counts_them() -> None:
    """2/3 N^3 + 3/2 N^2 by the time of the slowest rank."""
    line = results("openmpi4", "hpl", 2, "--n", "400", "--repeats", "3")[0]
    counted = 2 / 3 * 400**3 + 1.5 * 400**2
    assert line["values"] == pytest.approx([counted / seconds for seconds in line["seconds"]], rel=1e-6)


@pytest.mark.slow
def test_a_wrong_result_is_refused() -> None:
    """A build that spoils one number of the solution ends with status 1 and prints no result."""
    done = run("openmpi4", "hpl", 2, "--n", "200", flags=("-DBREAK_RESULT",))
    assert (done.returncode, done.stdout) == (1, "")
    assert "the result is wrong: residual" in done.stderr


@pytest.mark.slow
def test_it_says_how_much_memory_it_takes_and_takes_no_more() -> None:
    """What was announced before the start, but for what MPI and the BLAS need themselves, also when it repeats."""
    done = run("openmpi4", "hpl", 2, "--n", "3000", "--nb", "64", "--repeats", "2")
    announced = re.search(r"hpl: N=3000 NB=64 on 1 x 2 ranks, (\d+) MiB each", done.stderr)
    assert announced
    small = results("openmpi4", "hpl", 2, "--n", "10", "--nb", "64")[0]
    line = json.loads(done.stdout)
    assert int(announced[1]) == line["bytes"] >> 20
    assert line["resident"] - line["bytes"] < small["resident"] - small["bytes"] + (8 << 20)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--n", "x"), "hpl: --n x: a whole number of at least 1 is expected"),
        (("--p", "2", "--q", "2"), "hpl: --p 2 --q 2: there are 2 ranks"),
        (("--size", "3"), "hpl: unknown argument --size; see --help"),
        (("--nb",), "hpl: --nb needs NB; see --help"),
    ],
)
def test_wrong_arguments_give_one_line(arguments: tuple[str, ...], complaint: str) -> None:
    """One rank speaks for all, and the status says that it was the arguments."""
    done = run("openmpi4", "hpl", 2, *arguments)
    said = [line for line in done.stderr.splitlines() if line.startswith("hpl:")]
    assert (done.returncode, said) == (2, [complaint])
