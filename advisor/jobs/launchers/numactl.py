"""numactl, for one process without a launcher: its CPUs and its memory in one line. Lines of taskset are read too."""

import re
from collections.abc import Sequence
from dataclasses import replace

from advisor.errors import BadValue
from advisor.jobs.launcher import Dialect, Launch, Launcher, LaunchRequest, option_table
from advisor.jobs.launchers import wrapper
from advisor.jobs.line import read_binder
from advisor.jobs.memory_binding import BY_OPTION, nodes_of_each
from advisor.jobs.placement import LintRank, Placement, runs
from advisor.jobs.predict import binder_cpus
from advisor.jobs.request import BoundMemory, Line, Prediction, Refused, Request, Said, Unclear
from advisor.machine.cpuset import CpuSet

NAME = "numactl"


NUMACTL, ALIASES = option_table("""
    -C --physcpubind 1 runs on the CPUs {0}
    -N --cpunodebind --cpubind 1 runs on the CPUs of the NUMA nodes {0}
    -c --cpu-list -ac -ca 1 runs on the CPUs {0} (numactl: on those of the NUMA nodes {0})
    -m --membind 1 takes memory only from the NUMA nodes {0}
    -i --interleave 1 interleaves memory over the NUMA nodes {0}
    -p --preferred 1 prefers memory from the NUMA node {0}
    -P --preferred-many 1 prefers memory from the NUMA nodes {0}
    -w --weighted-interleave 1 interleaves memory over the NUMA nodes {0} by weight
    -l --localalloc 0 takes memory from the node where it runs
    -b --balancing 0 lets the kernel move its memory
    -a --all --all-tasks 0 may use CPUs outside those it is started with (taskset: sets all threads)
    --MASK 1 runs on the CPUs of the mask {0}
""")


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line of one process; raise BadValue where there are more: no launcher tells them apart."""
    hosts = list(runs(placement))
    if placement.size != 1 or any(host.name for host in hosts[0].hosts):
        cure = "request one rank, or use a launcher: --wrapper binds its ranks with numactl"
        raise BadValue("numactl starts one process, on the host where it is called", cure=cure)
    slot, pus = hosts[0].slots[0], hosts[0].plan.topology.pus
    kind, _, nodes = wrapper.memory(slot).partition(":")
    name = {"local": "--localalloc", "prefer": "--preferred", "many": "--preferred-many", "only": "--membind"}[kind]
    memory = f"{name}={nodes}" if nodes else name
    # numactl refuses CPU numbers beyond the count of CPUs, which occur where the numbering has gaps; taskset accepts them.
    gaps = (pus.last or 0) >= len(pus)
    cpus = ("taskset", "-c", str(slot.cpus), "numactl") if gaps else ("numactl", f"--physcpubind={slot.cpus}")
    return Launch(NAME, wish.version, "line", (*cpus, memory, *wish.command), dict(wish.environment), memory=True)


def memory(case: Prediction, ranks: int) -> BoundMemory | None:
    """Return where a line of numactl alone takes memory from."""
    given = [said for said in case.line.options if said.name in BY_OPTION and said.values]
    if not given:
        return None
    last = given[-1]
    return BoundMemory(BY_OPTION[last.name], nodes_of_each(case, last.values[0], ranks), " ".join(last.written)[:80])


def request(_line: Line, told: Request) -> Request:
    """Return what a line of numactl or taskset alone asks for: one process."""
    return replace(told, ranks=1)


def ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the one process of a line of numactl or taskset alone."""
    line = made.line
    if odd := next((said for said in line.options if not said.known), None):
        raise Unclear(f"{odd.written[0][:40]} is unknown here")
    if not line.first.command:
        raise Refused("no program is named")
    words = [line.words.launcher, *(word for said in line.options for word in said.written), *line.first.command]
    given: CpuSet | None = None
    for binder in (*line.words.around, read_binder(words, 0, len(words))[0]):
        own = binder_cpus(binder, given, made.topology)
        given = given if own is None else own
    return (LintRank(rank=0, host=None, cpus=given),)


def mask(options: list[Said], words: Sequence[str], at: int) -> tuple[list[Said], int]:
    """Take the mask of taskset, which is no option: ``taskset 0xff ./app``."""
    listed = any(said.name in ("-c", "--cpu-list", "-C", "-N") for said in options)
    if not listed and at + 1 < len(words) and re.fullmatch(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{1,32}", words[at], re.ASCII):
        return [*options, Said("--MASK", (words[at],), (words[at],))], at + 1
    return options, at


LAUNCHER = Launcher(
    name=NAME,
    title="numactl",
    order=80,
    launch=launch,
    aliases=("taskset",),
    dialect=Dialect(
        programs=("numactl", "taskset"),
        options=NUMACTL,
        aliases=ALIASES,
        ranks=ranks,
        request=request,
        glued=re.compile(r"(-[CNmipPw])(=?)([\d+!].*)", re.ASCII),
        settle=mask,
        memory=memory,
    ),
)
