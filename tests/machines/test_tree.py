import tarfile
from pathlib import Path

import pytest

from tests.machines.catalogue import tree, write_archive, write_root
from tests.machines.tree import Link, listing, mask, relative


@pytest.mark.parametrize(("numbers", "text"), [((), ""), ((0, 1, 2, 8), "0-2,8"), ((7,), "7")])
def test_numbers_are_listed_as_the_kernel_does(numbers: tuple[int, ...], text: str) -> None:
    """Runs are written with a dash, the rest with commas."""
    assert text == listing(numbers)


def test_masks_are_words_of_32_bits() -> None:
    """The highest word comes first, and the width is kept."""
    assert mask((0, 1, 2, 3, 32), 96) == "00000000,00000001,0000000f"


def test_links_are_relative() -> None:
    """A link stays inside the tree wherever the tree is put."""
    assert relative("sys/bus/node/x", Link("sys/devices/system/node/node0")) == "../../devices/system/node/node0"


def test_a_folder_and_an_archive_hold_the_same(tmp_path: Path) -> None:
    """Each file and each link of a machine is in both, below a folder of its name in the archive."""
    root = write_root("c-c6320-2x2660v3", tmp_path / "root")
    with tarfile.open(write_archive("c-c6320-2x2660v3", tmp_path / "x.tar.gz")) as tar:
        names = {member.name.partition("/")[2] for member in tar}
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_symlink() or path.is_file()}
    assert (set(tree("c-c6320-2x2660v3")), files) == (files, names)


def test_no_link_is_broken(tmp_path: Path) -> None:
    """Every symbolic link of a machine leads somewhere."""
    root = write_root("hbm-flat", tmp_path)
    assert [path for path in root.rglob("*") if path.is_symlink() and not path.exists()] == []
