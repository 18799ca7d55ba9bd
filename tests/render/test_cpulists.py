import pytest

from advisor.machine.cpuset import CpuSet
from advisor.show.lines import listed, threads


@pytest.mark.parametrize(
    ("expected", "cpus"),
    [
        ("", ""),
        ("0-3,8", "0-3,8"),
        ("0,16,32,48", "0,16,32,48"),
        ("0,8,..,56", "0-56:1/8"),
        ("0-3,16-19,..,112-115", "0-115:4/16"),
        ("0,5-6,9", "0,5,6,9"),
        ("1,10,20,..,60", "1,10,20,30,40,50,60"),
    ],
)
def test_listed(expected: str, cpus: str) -> None:
    """Long arithmetic sequences are shortened, short ones are written out."""
    assert expected == listed(CpuSet.parse(cpus))


@pytest.mark.parametrize(
    ("expected", "cores"),
    [
        ("0-1 +64-65", ["0,64", "1,65"]),
        ("0-3", ["0-1", "2-3"]),
        ("0-1 +4-5 +8-9 +12-13", ["0,4,8,12", "1,5,9,13"]),
        ("7", ["7"]),
    ],
)
def test_threads(expected: str, cores: list[str]) -> None:
    """Second threads stand apart where they are numbered apart."""
    assert expected == threads([CpuSet.parse(core) for core in cores])


def test_a_core_of_a_million_threads_takes_no_million_lists() -> None:
    """A hostile file may name such a core: its CPUs are listed as a set."""
    assert threads([CpuSet(range(0, 1 << 20, 2))]) == "0,2,..,1048574"
