"""What the real slurmd finds on a machine that is not here: its shape, and its own numbers of the CPUs."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from tests.ports import free_port

_SHAPE = re.compile(
    r"CPUs[=:](\d+) Boards[=:](\d+) Sockets(?:PerBoard)?[=:](\d+) CoresPerSocket[=:](\d+) ThreadsPerCore[=:](\d+)"
)
_MAP = re.compile(r"CPU map\[(\d+)\]=>(\d+) S:C:T")
_CONFIGURATION = """\
ClusterName=advisor
SlurmctldHost={me}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldPort={other}
SlurmdSpoolDir={folder}/spool.%n
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
TaskPlugin=task/affinity
MpiDefault=none
ReturnToService=2
"""


class Found(NamedTuple):
    """The numbers of ``slurmd -C``, and what it said beside them."""

    shape: tuple[int, int, int, int, int]
    """CPUs, boards, sockets of a board, cores of a socket, threads of a core."""
    complaint: str


def available() -> bool:
    """Whether slurmd is here."""
    return shutil.which("slurmd") is not None


def environment(xml: Path, **more: str) -> dict[str, str]:
    """Return the variables by which slurmd reads a machine from an XML."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "HWLOC"))}
    return {**kept, "HWLOC_XMLFILE": str(xml), "HWLOC_COMPONENTS": "xml", **more}


def found(xml: Path) -> Found:
    """Return what ``slurmd -C`` prints."""
    done = subprocess.run(["slurmd", "-C"], env=environment(xml), capture_output=True, text=True, timeout=30, check=True)
    return Found(_shape(done.stdout), done.stderr)


def complaints(xml: Path, node: str, definition: str, gres: str) -> list[str]:
    """Return what ``slurmd -G`` says against a gres.conf: nothing, where it takes it; its status is 0 either way.

    Of each line that it takes it says what it read, after ``Gres Name=``.
    """
    with configured(node, definition, {}) as folder:
        (folder / "gres.conf").write_text(gres)
        done = subprocess.run(
            ["slurmd", "-G", "-N", node],
            env=environment(xml, SLURM_CONF=str(folder / "slurm.conf")),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    said = [line for line in done.stderr.splitlines() if line.strip() and ": Gres Name=" not in line]
    return [*said, *([f"status {done.returncode}"] if done.returncode else [])]


@cache
def kept_xml(name: str, text: str) -> Path:
    """Return a file that holds a machine's XML; it goes when the tests end."""
    made = Path(_FOLDER.name) / f"{name}.xml"
    made.write_text(text)
    return made


_FOLDER: Final = tempfile.TemporaryDirectory(prefix="advisor-slurmd-")


def started(xml: Path, parameters: str = "") -> tuple[tuple[int, int, int, int, int], dict[int, int]] | None:
    """Return what a slurmd that starts finds, with the sockets of all boards, and Slurm's CPU number -> the kernel's.

    None where it does not start: 22.05.8 cannot take NUMA nodes for sockets in a tree with groups of several depths.
    """
    settings = {"SlurmdParameters": parameters} if parameters else {}
    with configured("n1", "CPUs=1", settings) as folder:
        (folder / "spool.n1").mkdir()
        with (folder / "log").open("w") as log:
            running = subprocess.Popen(
                ["slurmd", "-D", "-vvvvv", "-N", "n1"],
                env=environment(xml, SLURM_CONF=str(folder / "slurm.conf")),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            try:
                text = _until_known(folder / "log", running)
                if "can not handle nobj[SOCKET] = -1" in text:
                    return None
            finally:
                running.kill()
                running.wait(60)
    return _shape(text), {int(mine): int(kernels) for mine, kernels in _MAP.findall(text)}


def _until_known(log: Path, running: "subprocess.Popen[bytes]") -> str:
    """Return what was logged once slurmd knows its node: it says it a second time with what slurm.conf has."""
    for _ in range(1200):
        text = log.read_text()
        if "CPUs=" in text or running.poll() is not None:
            return text
        time.sleep(0.05)
    return log.read_text()


def _shape(text: str) -> tuple[int, int, int, int, int]:
    match = _SHAPE.search(text)
    assert match is not None, text[-2000:]
    cpus, boards, sockets, cores, threads = map(int, match.groups())
    return cpus, boards, sockets, cores, threads


@contextmanager
def configured(node: str, definition: str, settings: Mapping[str, str]) -> Iterator[Path]:
    """Yield a folder with a slurm.conf that has one node; its lines may be other than ours."""
    with tempfile.TemporaryDirectory(prefix="advisor-slurmd-") as name:
        folder, me, user = Path(name), os.uname().nodename, os.environ.get("USER", "root")
        (folder / "state").mkdir()
        port, other = free_port(), free_port()
        rows = [row for row in _CONFIGURATION.splitlines() if row.partition("=")[0] not in settings]
        text = "".join(f"{row}\n" for row in rows).format(me=me, user=user, folder=folder, other=other)
        text += "".join(f"{key}={value}\n" for key, value in settings.items())
        text += f"NodeName={node} NodeHostname={me} NodeAddr=127.0.0.1 Port={port} {definition}\n"
        text += "PartitionName=p Nodes=ALL Default=YES\n"
        (folder / "slurm.conf").write_text(text)
        yield folder
