"""Open MPI 4 and 5 themselves are asked anew for lines of openmpi_seen.txt, on machines that are not there."""

import shlex
import subprocess
from functools import partial
from pathlib import Path

import pytest

from advisor.jobs.launcher import Launch
from advisor.jobs.request import OBJECTS, cpusets_of
from advisor.machine.layout import logical_numbering
from advisor.machine.sources.hwloc import machine_from_xml
from tests.fakenode.lab import probe
from tests.fakenode.run import LaunchFailedError, available, observe
from tests.jobs.lint.nodes import SYNTHETIC, Seen, node, seen
from tests.machines import hwloc_xml

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hwloc_xml.available(), reason="hwloc is not installed")]
EVERY = 12
"""One row of so many is asked anew."""
BOTH = [
    pytest.param(number, marks=pytest.mark.skipif(not available(f"openmpi{number}"), reason=f"openmpi{number} is not installed"))
    for number in ("4", "5")
]


def written(name: str, folder: Path) -> Path:
    """Write a machine's hwloc XML."""
    file = folder / f"{name}.xml"
    source = ["-i", SYNTHETIC["two"], "--restrict", "0xff7b"] if name == "asym" else ["-i", SYNTHETIC[name]]
    subprocess.run([hwloc_xml.LSTOPO, *source, "--of", "xml", "-f", file], check=True, capture_output=True)
    return file


def asked(row: Seen, file: Path) -> list[str] | None:
    """Return what the launcher did with a row."""
    words = shlex.split(row.words)
    before = dict([words.pop(0).split("=", 1)]) if "=" in words[0] else {}
    argv = tuple(probe() if word == "./a" else word for word in words)
    files = {name: partial(iter, text.splitlines()) for name, text in row.files}
    machines: dict[str | None, Path] = dict.fromkeys(row.hosts or (None,), file)
    try:
        found = observe(f"openmpi{row.version}", Launch("openmpi", None, "seen", argv, before, files), machines)
    except LaunchFailedError:
        return None
    return [f"{each.host if row.hosts else '-'}:{each.cpus}" for _, each in sorted(found.items())]


@pytest.mark.parametrize("name", [*SYNTHETIC, "asym"])
def test_the_machine_that_is_read_is_the_one_that_the_launchers_read(name: str, tmp_path: Path) -> None:
    """Cores, NUMA nodes, L3 groups and sockets in the same order."""
    real = machine_from_xml(written(name, tmp_path).read_bytes(), name).topology
    ours = node(name).topology
    assert real is not None
    assert ours is not None
    assert logical_numbering(real) == logical_numbering(ours)
    for kind in OBJECTS:
        assert cpusets_of(kind, real, logical_numbering(real)) == cpusets_of(kind, ours, logical_numbering(ours))


@pytest.mark.parametrize("version", BOTH)
def test_the_launcher_does_what_is_written_down(version: str, tmp_path: Path) -> None:
    """The rows are no older than the launcher."""
    rows = [row for row in seen() if row.version == version][::EVERY]
    files = {name: written(name, tmp_path) for name in {row.machine for row in rows}}
    assert [(row.line, row.ranks, now) for row in rows if (now := asked(row, files[row.machine])) != row.ranks] == []
