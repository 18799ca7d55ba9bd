"""A tree of files as a value, and how it becomes a folder or an archive."""

import io
import posixpath
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Link:
    """A symbolic link to another path of the same tree."""

    target: str


Tree = dict[str, bytes | Link]
"""Paths without a leading slash, such as ``sys/devices/system/cpu/online``; folders are implied."""


def texts(folder: str, values: Mapping[str, object]) -> Tree:
    """Return one file for each value, each with its newline, in one folder."""
    return {f"{folder}/{name}": f"{value}\n".encode() for name, value in values.items()}


def listing(numbers: Iterable[int]) -> str:
    """Return numbers as the kernel lists them: ``0-3,8``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def mask(numbers: Iterable[int], width: int) -> str:
    """Return numbers as the kernel's mask of at least ``width`` bits: ``00000000,000000ff``."""
    bits = sum(1 << number for number in numbers)
    return ",".join(f"{bits >> (32 * word) & 0xFFFFFFFF:08x}" for word in reversed(range((width + 31) // 32)))


def relative(path: str, link: Link) -> str:
    """Return what the symbolic link at a path must hold."""
    return posixpath.relpath(link.target, posixpath.dirname(path))


def write(tree: Tree, directory: Path) -> None:
    """Write a tree into a folder."""
    made: set[Path] = set()
    for path, content in tree.items():
        place = directory / path
        if place.parent not in made:
            place.parent.mkdir(parents=True, exist_ok=True)
            made.add(place.parent)
        if isinstance(content, Link):
            place.symlink_to(relative(path, content))
        else:
            place.write_bytes(content)


def archive(tree: Tree, path: Path, top: str) -> None:
    """Write a tree as a compressed tar file, below one folder."""
    path.write_bytes(packed(tree, top))


def packed(tree: Tree, top: str) -> bytes:
    """Return a tree as a compressed tar file, below one folder."""
    kept = io.BytesIO()
    with tarfile.open(fileobj=kept, mode="w:gz", compresslevel=1, format=tarfile.GNU_FORMAT) as tar:
        for name, content in tree.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            if isinstance(content, Link):
                member.type, member.linkname = tarfile.SYMTYPE, relative(name, content)
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return kept.getvalue()
