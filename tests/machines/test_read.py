from pathlib import Path

import pytest

from advisor.machine.read import read_machine
from tests.machines.catalogue import MACHINES, write_archive, write_root
from tests.machines.read import machine

QUICK = ("c-c6320-2x2660v3-cod", "hbm-flat", "job-cuts-l3-v1")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in MACHINES])
def test_a_machine_in_memory_is_the_one_of_its_archive_and_its_folder(name: str, scratch: Path) -> None:
    """Most tests read machines that were never written to a disk: what was written reads the same."""
    archive = read_machine(str(write_archive(name, scratch / f"{name}.tar.gz")))
    root = read_machine(str(write_root(name, scratch / name)))
    assert (archive, root) == (machine(name), machine(name))
