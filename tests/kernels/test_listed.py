"""What a kernel says of itself: the header comment of its source and its --list are the same."""

import pytest

from advisor.measure.contract import read_kernels
from advisor.paths import kernels
from tests.kernels import mpi, plain
from tests.kernels.listing import disagreement, listed

FOUND = read_kernels()


def test_every_header_comment_is_whole() -> None:
    """Each .c file is a kernel, and names what it measures, in which units, at which cost, on which parts."""
    assert FOUND.wrong == {}
    assert sorted(FOUND.sheets) == sorted(path.stem for path in kernels().glob("*.c"))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [name for name, sheet in FOUND.sheets.items() if not sheet.mpi])
def test_header_comment_and_list_say_the_same(kernel: str) -> None:
    """Summary, arguments, and every variant with its unit, bytes and flops."""
    said = plain.run(kernel, "--list").stdout.encode()
    assert disagreement(FOUND.sheets[kernel], listed(kernel, said)) is None


@pytest.mark.parametrize("kernel", [name for name, sheet in FOUND.sheets.items() if sheet.mpi])
def test_kernels_of_mpi_say_the_same_in_both(kernel: str) -> None:
    """One rank of two prints it."""
    said = mpi.run("openmpi4", kernel, 2, "--list").stdout.encode()
    assert disagreement(FOUND.sheets[kernel], listed(kernel, said)) is None
