"""A Slurm of its own for a test: slurmctld and one slurmd for each simulated node, all on this machine."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from advisor.jobs.launcher import Launch
from advisor.machine.cpuset import CpuSet
from advisor.machine.sources.hwloc import machine_from_xml
from tests.fakenode.lab import host_environment
from tests.fakenode.run import LaunchFailedError, Observed
from tests.ports import free_port

_SEEN = re.compile(r"AFF rank=(\d+) host=(\S+) cpus=([0-9,-]*)((?: \w+=\S*)*)")

_CONFIGURATION = """\
ClusterName=advisor
SlurmctldHost={me}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=2
TaskProlog={folder}/prolog.sh
SlurmdParameters=config_overrides
GresTypes=gpu
"""

GPUS = 4
"""Of each node: plain files, whose cores gres.conf does not say."""


def available() -> bool:
    """Whether Slurm is here, and a compiler for the shim."""
    return all(shutil.which(program) for program in ("srun", "salloc", "slurmctld", "slurmd", "cc"))


@dataclass(frozen=True)
class Cluster:
    """A running Slurm."""

    folder: Path
    machines: Mapping[str, Path]
    gpus: int = GPUS

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its commands."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "HWLOC", "FAKE", "PMI"))}
        return {**kept, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def observe(self, launch: Launch, nodes: tuple[str, ...], timeout: float = 60) -> dict[int, Observed]:
        """Return what each rank of a launch saw, in a job that has the nodes for itself."""
        with tempfile.TemporaryDirectory(prefix="advisor-job-") as name:
            for file, lines in launch.files.items():
                (Path(name) / file).write_text("".join(f"{line}\n" for line in lines()))
            job = ["salloc", "--quiet", "--exclusive", "--nodelist", ",".join(nodes), "--nodes", str(len(nodes))]
            # salloc reads some of srun's variables (SLURM_HINT) for the job: the line's own are those of its srun alone
            line = ["env", *(f"{key}={value}" for key, value in launch.environment.items()), *launch.argv]
            done = subprocess.run(
                [*job, *line], cwd=name, env=self.environment, capture_output=True, text=True, timeout=timeout, check=False
            )
        seen = {
            int(rank): Observed(host, CpuSet.parse(cpus), dict(word.split("=", 1) for word in words.split()))
            for rank, host, cpus, words in _SEEN.findall(done.stdout)
        }
        if done.returncode or not seen or "set FAILED" in done.stderr or "launch failed" in done.stderr:
            raise LaunchFailedError(f"status {done.returncode}, {len(seen)} ranks: {' '.join(launch.argv)}: {done.stderr[:1500]}")
        return seen


@contextmanager
def cluster(machines: Mapping[str, Path], settings: Mapping[str, str] | None = None, gpus: int = GPUS) -> Iterator[Cluster]:
    """Start a Slurm whose nodes are the given machines, and end it; ``settings`` are lines of slurm.conf that differ."""
    with tempfile.TemporaryDirectory(prefix="advisor-slurm-") as name:
        made = _started(Path(name), machines, settings or {}, gpus)
        try:
            yield made
        finally:
            _stop(made.folder)


def _started(folder: Path, machines: Mapping[str, Path], settings: Mapping[str, str], gpus: int) -> Cluster:
    """Start all of it; once more where somebody else took a port after we had looked."""
    for attempt in range(3):
        made = Cluster(folder / str(attempt), machines, gpus)
        made.folder.mkdir()
        try:
            _start(made, settings)
        except LaunchFailedError as error:
            _stop(made.folder)
            if "already in use" not in str(error):
                raise
        except BaseException:
            _stop(made.folder)
            raise
        else:
            return made
    raise LaunchFailedError("Slurm found its ports in use three times")


def _start(made: Cluster, settings: Mapping[str, str]) -> None:
    folder = made.folder
    for part in ("state", "affinity"):
        (folder / part).mkdir()
    me, user = os.uname().nodename, os.environ.get("USER", "root")
    lines = [row for row in _CONFIGURATION.splitlines() if row.partition("=")[0] not in settings]
    lines += [f"{name}={value}" for name, value in settings.items()]
    text = "".join(f"{row}\n" for row in lines).format(me=me, user=user, folder=folder, port=free_port())
    for node, xml in made.machines.items():
        text += f"NodeName={node} NodeHostname={me} NodeAddr=127.0.0.1 Port={free_port()} {shape_of(xml)} "
        text += f"RealMemory=1000 Gres=gpu:{made.gpus}\n"
    text += f"PartitionName=main Nodes={','.join(made.machines)} Default=YES MaxTime=INFINITE State=UP\n"
    (folder / "slurm.conf").write_text(text)
    _write_gpus(folder, made.gpus)
    _write_prolog(made)
    subprocess.run(["slurmctld", "-f", folder / "slurm.conf"], env=made.environment, check=True, timeout=30)
    for node, xml in made.machines.items():
        # slurmd passes its environment on to the steps: with the shim they bind as on the machine that is not here.
        simulated = {
            **host_environment(xml, folder / "affinity", me),
            "FAKEAFF_SYS": str(write_nodes(folder / f"sys.{node}", xml)),
        }
        started = subprocess.run(["slurmd", "-N", node], env={**made.environment, **simulated}, check=False, timeout=30)
        if started.returncode and os.getuid():
            pytest.skip("slurmd does not start here without root")
        started.check_returncode()
    _wait(made)


def _write_gpus(folder: Path, count: int) -> None:
    """Write gres.conf, and the files that stand for GPUs."""
    files = [folder / f"gpu{i}" for i in range(count)]
    for file in files:
        file.touch()
    (folder / "gres.conf").write_text("".join(f"Name=gpu File={file}\n" for file in files))


def write_nodes(folder: Path, xml: Path) -> Path:
    """Write the NUMA nodes of a machine as /sys has them, for libnuma; return the folder in place of /."""
    topology = machine_from_xml(xml.read_bytes(), xml.name).topology
    assert topology is not None
    for node in topology.nodes:
        there = folder / "sys/devices/system/node" / f"node{node.os_index}"
        there.mkdir(parents=True)
        bits = sum(1 << cpu for cpu in node.cpuset)
        words = [bits >> 32 * word & 0xFFFFFFFF for word in reversed(range(((topology.pus.last or 0) + 32) // 32))]
        (there / "cpumap").write_text(",".join(f"{word:08x}" for word in words) + "\n")
        (there / "meminfo").write_text(
            f"Node {node.os_index} MemTotal: {(node.memory or 0) >> 10} kB\nNode {node.os_index} MemFree: 0 kB\n"
        )
    return folder


def _write_prolog(made: Cluster) -> None:
    """Write what Slurm asks before each task: its variables, for it has those of srun and not those of its slurmd."""
    lines = ["#!/bin/sh", "case $SLURMD_NODENAME in"]
    for node, xml in made.machines.items():
        variables = host_environment(xml, made.folder / "affinity", node)
        lines.append(f"{node}) printf 'export %s\\n' " + " ".join(f"'{key}={value}'" for key, value in variables.items()) + " ;;")
    script = made.folder / "prolog.sh"
    script.write_text("\n".join([*lines, "esac", ""]))
    script.chmod(0o755)


def shape_of(xml: Path) -> str:
    """Return a node's line of slurm.conf: where the sockets are not alike, or there are none, one socket with all cores."""
    topology = machine_from_xml(xml.read_bytes(), xml.name).topology
    assert topology is not None
    sockets, cores, cpus = len(topology.packages) or 1, len(topology.cores) or len(topology.pus), len(topology.pus)
    threads = cpus // cores if cpus % cores == 0 else 1
    if len({len(package.cpuset) for package in topology.packages}) > 1 or cpus % (threads * sockets):
        sockets = 1
    return f"CPUs={cpus} Boards=1 SocketsPerBoard={sockets} CoresPerSocket={cpus // threads // sockets} ThreadsPerCore={threads}"


def written(settings: str, xml: Path) -> str:
    """Return slurm.conf as a user of such a cluster reads it: what was set, and what its nodes are said to be."""
    return f"{settings}SlurmdParameters=config_overrides\nNodeName=n[1-3] {shape_of(xml)}\n"


def settings_of(text: str) -> dict[str, str]:
    """Return what was set, of a slurm.conf as a user of the cluster reads it."""
    return dict(row.split("=", 1) for row in text.splitlines() if not row.startswith(("NodeName", "SlurmdParameters")))


def jobs_left() -> str:
    """Return the jobs that run or wait; one whose nodes are still being cleaned (COMPLETING) is over."""
    asked = ["squeue", "--noheader", "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout


def _wait(made: Cluster) -> None:
    """Wait until every node is idle; a daemon that has given up is not waited for."""
    ends, answer, logs = time.monotonic() + 180, "", ""
    while time.monotonic() < ends and "fatal: " not in logs:
        asked = ["sinfo", "--Node", "--noheader", "-o", "%N %T"]
        done = subprocess.run(asked, env=made.environment, capture_output=True, text=True, check=False, timeout=60)
        answer, states = done.stdout, done.stdout.split()[1::2]
        if len(states) == len(made.machines) and set(states) == {"idle"}:
            return
        logs = "".join(file.read_text()[-600:] for file in made.folder.glob("*.log"))
        time.sleep(0.5)
    raise LaunchFailedError(f"Slurm did not come up: {answer} {logs}")


def _stop(folder: Path) -> None:
    for file in sorted(folder.glob("*.pid"), reverse=True):
        with suppress(ValueError, ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGTERM)
    for _ in range(40):
        if not list(folder.glob("*.pid")):
            return
        time.sleep(0.1)
