"""What becomes of a node that registers: a slurmctld and a slurmd of their own, on a machine that is not here."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from advisor.machine.hosts.errands import expanded
from tests.fakenode import slurmd


class Registered(NamedTuple):
    """A node after its slurmd has spoken to slurmctld."""

    state: str
    """IDLE, or UNKNOWN+DRAIN+INVALID_REG."""
    reason: str
    logs: str
    """Of both programs."""


def available() -> bool:
    """Whether both programs are here, and may start."""
    return not os.getuid() and all(shutil.which(program) for program in ("slurmctld", "slurmd", "scontrol"))


def registered(xml: Path, line: str, gres: str, settings: Mapping[str, str]) -> Registered:
    """Return what becomes of a node n1 whose line says something, with a gres.conf and settings of slurm.conf."""
    with slurmd.configured("n1", line, settings) as folder:
        (folder / "spool.n1").mkdir()
        (folder / "gres.conf").write_text(gres)
        variables = slurmd.environment(xml, SLURM_CONF=str(folder / "slurm.conf"))
        running = [_begun(["slurmctld", "-D", "-i"], folder, variables)]
        try:
            _until(folder / "slurmctld", "started on cluster|fatal")
            running.append(_begun(["slurmd", "-D", "-N", "n1"], folder, variables))
            return _looked(folder, variables)
        finally:
            for each in reversed(running):
                each.send_signal(signal.SIGTERM)
            for each in running:
                _ended(each)


class Shown(NamedTuple):
    """What slurmctld makes of a configuration."""

    nodes: list[dict[str, str]]
    """Of ``scontrol show node``: NodeName, CPUTot, Gres, ..."""
    logs: str


def shown(lines: str, gres: str) -> Shown:
    """Return what a slurmctld that starts with lines of nodes and a gres.conf shows of each node; none has a slurmd."""
    with slurmd.configured("n1", "CPUs=1", {}) as folder:
        conf = folder / "slurm.conf"
        for number, nodes in enumerate(re.findall(r"^NodeName=(\S+)", lines, re.MULTILINE), 1):  # names that resolve
            lines = lines.replace(nodes, f"{nodes} NodeAddr=127.0.{number}.[1-{len(expanded(nodes))}]", 1)
        conf.write_text(conf.read_text() + lines)
        (folder / "gres.conf").write_text(gres)
        variables = {**os.environ, "SLURM_CONF": str(conf)}
        running = _begun(["slurmctld", "-D", "-i"], folder, variables)
        try:
            _until(folder / "slurmctld", "started on cluster|fatal")
            words = ["scontrol", "--oneliner", "show", "node"]
            done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=30, check=False)
        finally:
            running.send_signal(signal.SIGTERM)
            _ended(running)
        nodes = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in done.stdout.splitlines()]
        return Shown([each for each in nodes if each.get("NodeName") != "n1"], (folder / "slurmctld").read_text())


def _begun(command: list[str], folder: Path, variables: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    with (folder / command[0]).open("wb") as log:
        return subprocess.Popen(command, env=dict(variables), stdout=log, stderr=subprocess.STDOUT)


def _ended(running: "subprocess.Popen[bytes]") -> None:
    try:
        running.wait(10)
    except subprocess.TimeoutExpired:
        running.kill()
        running.wait(10)


def _until(log: Path, pattern: str) -> None:
    for _ in range(900):
        if re.search(pattern, log.read_text()):
            return
        time.sleep(0.05)


def _looked(folder: Path, variables: Mapping[str, str]) -> Registered:
    """Return the node once its state is settled; of a slurmctld that ended, its last words."""
    state = reason = ""
    for _ in range(300):
        done = subprocess.run(
            ["scontrol", "--oneliner", "show", "node", "n1"],
            env=dict(variables),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        match, why = re.search(r" State=(\S+)", done.stdout), re.search(r" Reason=(.*?) \[", done.stdout)
        state, reason = match[1] if match else "", why[1] if why else ""
        if "IDLE" in state or "INVALID" in state or "fatal" in (folder / "slurmctld").read_text():
            break
        time.sleep(0.2)
    return Registered(state, reason, "".join((folder / name).read_text() for name in ("slurmctld", "slurmd")))
