"""Starts a launcher's line on this machine, with the files that it needs, and hears what its ranks print."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from advisor.cli.jobscripts import located
from advisor.cli.writing import File, write_folder
from advisor.errors import CannotWork
from advisor.host.live import LiveHost
from advisor.launch.base import Launch
from advisor.measure.build import cache_folder
from advisor.measure.mpi import LaunchOutput, launch_output


@contextmanager
def running_folder(prefix: str) -> Iterator[Path]:
    """Make a folder for rankfiles; it lies in the home, which the other host sees, too, where a rank must read it."""
    parent = cache_folder(os.environ).parent
    try:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=parent) as name:
            yield Path(name)
    except OSError as error:
        why = (error.strerror or "cannot be written").lower()
        raise CannotWork(f"{parent}: {why}; set XDG_CACHE_HOME to another folder") from error


def heard_from(
    host: LiveHost,
    launch: Launch,
    command: Sequence[str],
    folder: Path,
    *,
    seconds: float,
    more: Mapping[str, File] | None = None,
) -> LaunchOutput:
    """Start a line with its files, and more, in a folder; return what its ranks printed."""
    files = {name: File(lines(), program=True) for name, lines in launch.files.items()} | dict(more or {})
    if files:
        write_folder(folder, files)
    put = located(launch, str(folder), list(command))
    return launch_output(host, put.argv, put.environment, seconds)
