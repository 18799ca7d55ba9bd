"""Whole trees of real BMCs, served byte for byte: sessions, what waits, jobs and restarts lie over them, never inside."""

import tarfile
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from advisor.bios.twin_source import Captured, model_of_tree
from tests.bios.imitation import Bmc
from tests.bios.machines import KNOWLEDGE

FOLDER = KNOWLEDGE / "trees"
TREES = {
    "dell": "dell.tar.xz",
    "supermicro": "supermicro.tar.xz",
    "gb200": "nvidia_gb200.tar.xz",
    "bluefield": "nvidia_dpu.tar.xz",
}
PRESENT = FOLDER.is_dir()
ABSENT = f"the captured trees of real BMCs are not at {FOLDER}"


@cache
def files_of(name: str) -> dict[str, bytes]:
    """Return what a tree has, by path."""
    found = {}
    with tarfile.open(FOLDER / TREES[name]) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() and member.name.endswith("/index.json") else None
            if file is not None:
                found["/" + member.name.split("/", 1)[1].removesuffix("/index.json")] = file.read()
    return found


@dataclass
class Tree(Bmc, Captured):
    """An imitated BMC whose resources are a captured tree's, as they are; what is written lies over it."""

    apply_times: ClassVar[tuple[str, ...]] = ("OnReset",)


def tree(files: dict[str, bytes]) -> Tree:
    """Return the BMC of a tree."""
    return Tree(machine=model_of_tree(files, "the tree"), files=files, enforces=False)
