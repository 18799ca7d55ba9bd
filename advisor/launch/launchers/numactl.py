"""numactl, for one process without a launcher: its CPUs and its memory in one line. Lines of taskset are read too."""

import re
from collections.abc import Sequence

from advisor.errors import BadValue
from advisor.launch.launcher import Dialect, JobScript, Launch, LaunchRequest, Options
from advisor.launch.launchers import wrapper
from advisor.launch.lint.binders import mask, ranks, request
from advisor.launch.ranks_per_host import runs
from advisor.model.placement import Placement

NAME = "numactl"
TITLE = "numactl"
ALIASES = ("taskset",)
ORDER = 80
VERSIONS = ()
VARIABLES = ()
RANKS = None
UNBOUND = ()
JOB = JobScript()

NUMACTL: Options = {
    "-C": (1, "runs on the CPUs {0}"),
    "-N": (1, "runs on the CPUs of the NUMA nodes {0}"),
    "-c": (1, "runs on the CPUs {0} (numactl: on those of the NUMA nodes {0})"),
    "-m": (1, "takes memory of the NUMA nodes {0} alone"),
    "-i": (1, "takes memory of the NUMA nodes {0} in turn"),
    "-p": (1, "takes memory of the NUMA node {0} while there is some"),
    "-P": (1, "takes memory of the NUMA nodes {0} while there is some"),
    "-w": (1, "takes memory of the NUMA nodes {0} in turn, by their weights"),
    "-l": (0, "takes memory of the node where it runs"),
    "-b": (0, "lets the kernel move its memory"),
    "-a": (0, "takes CPUs beside those that it is started with (taskset: sets all threads)"),
    "--MASK": (1, "runs on the CPUs of the mask {0}"),
}


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line of one process; raise BadValue where there are more: no launcher tells them apart."""
    hosts = list(runs(placement))
    if placement.size != 1 or any(host.name for host in hosts[0].hosts):
        cure = "ask for one rank, or for a launcher: --wrapper binds its ranks by numactl"
        raise BadValue("numactl starts one process, on the host where it is called", cure=cure)
    slot, pus = hosts[0].slots[0], hosts[0].plan.topology.pus
    policy = wrapper.memory(slot)
    kind, _, nodes = policy.partition(":")
    memory = {"local": "--localalloc", "prefer": f"--preferred={nodes}", "only": f"--membind={nodes}"}[kind]
    # numactl refuses CPU numbers beyond the count of CPUs, which are there where numbers have gaps: taskset takes them.
    gaps = (pus.last or 0) >= len(pus)
    cpus = ("taskset", "-c", str(slot.cpus), "numactl") if gaps else ("numactl", f"--physcpubind={slot.cpus}")
    return Launch(NAME, wish.version, "line", (*cpus, memory, *wish.command), dict(wish.environment))


def unbound(total: int, hosts: Sequence[str]) -> None:
    """Return None: it is no launcher that lines are translated to."""


LINES = Dialect(
    programs=("numactl", "taskset"),
    options=NUMACTL,
    aliases={
        "--physcpubind": "-C",
        "--cpunodebind": "-N",
        "--cpubind": "-N",
        "--cpu-list": "-c",
        "-ac": "-c",
        "-ca": "-c",
        "--membind": "-m",
        "--interleave": "-i",
        "--preferred": "-p",
        "--preferred-many": "-P",
        "--weighted-interleave": "-w",
        "--localalloc": "-l",
        "--balancing": "-b",
        "--all": "-a",
        "--all-tasks": "-a",
    },
    ranks=ranks,
    request=request,
    glued=re.compile(r"(-[CNmipPw])(=?)([\d+!].*)", re.ASCII),
    settle=mask,
)
