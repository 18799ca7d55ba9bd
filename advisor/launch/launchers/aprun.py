"""Cray's aprun (ALPS), gone with the XC systems: neighbouring CPUs by depth, one CPU each by a list. Not tried with a real one.

After what centres published of it: NERSC's page on Edison, OLCF's table of lines for Titan and Summit, Blue Waters' page; a list
with several CPUs for a rank binds its threads one by one and not the rank to all of them, so that such plans get the wrapper.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from advisor.errors import BadValue
from advisor.launch.launcher import Avoided, Dialect, JobScript, Launch, LaunchRequest, Options, RankVariables
from advisor.launch.launchers import wrapper
from advisor.launch.launchers.pals import Given, known_words, number, number_in, seated
from advisor.launch.lint.outcome import Refused, Unclear, bounded
from advisor.launch.ranks_per_host import LONGEST, devices_differ, filled, kinds, memory_notes, names, only_slots, runs
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.topology import Topology
from advisor.model.placement import LintRank, LintWarning, Placement

if TYPE_CHECKING:
    from advisor.launch.lint.line import Line
    from advisor.launch.lint.predict import Prediction
    from advisor.launch.lint.request import Request

NAME = "aprun"
TITLE = "aprun"
ALIASES = ("alps",)
ORDER = 70
VERSIONS = ()
VARIABLES = ("ALPS_",)
RANKS = RankVariables(rank=("ALPS_APP_PE",))
UNBOUND = ("-cc", "none")
JOB = JobScript()

UNTRIED = "not proven by a run: aprun is part of Cray's XC systems, so this follows published lines; check it with advisor verify"
_HOSTS = "the hosts are those of the job's reservation, in the order of ALPS; -L names others by their numbers"
_FORMS = Avoided("-cc", "it binds a rank to neighbouring CPUs by depth, or to one CPU, and the plan is neither on every host")
_LONG = Avoided("-cc", f"a list longer than the {LONGEST} characters of an argument")

OPTIONS: Options = {
    "-n": (1, "starts {0} ranks"),
    "-N": (1, "starts {0} ranks on each node"),
    "-d": (1, "keeps {0} CPUs for each rank"),
    "-S": (1, "starts {0} ranks on each NUMA node"),
    "-sn": (1, "uses {0} NUMA nodes of each node"),
    "-sl": (1, "uses the NUMA nodes {0}"),
    "-ss": (0, "keeps memory on the NUMA node of the rank"),
    "-j": (1, "uses {0} hardware threads of each core"),
    "-r": (1, "leaves {0} cores of each node to the system"),
    "-cc": (1, "binds each rank by {0}"),
    "-cp": (1, "binds by the file {0}"),
    "-L": (1, "on the nodes {0}"),
    "-F": (1, "shares the node or not: {0}"),
    "-m": (1, "gives each rank {0} of memory"),
    "-e": (1, "sets {0} for all ranks"),
    "-b": (0, "does not copy the program to the nodes"),
    "-B": (0, "starts what the job was asked for"),
    "-q": (0, "says nothing itself"),
    "-T": (0, "keeps output in order"),
    "-t": (1, "gives each rank {0} seconds of CPU time"),
    "-a": (1, "on nodes of the kind {0}"),
    "-D": (1, "prints how it starts: {0}"),
    "-p": (1, "in the protection domain {0}"),
    "-R": (1, "goes on with up to {0} ranks less"),
    "-C": (0, "goes on around failed nodes"),
}
_ALIASES = {"--cc": "-cc", "--pes": "-n", "--pes-per-node": "-N", "--depth": "-d", "--environment-override": "-e"}


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line: CPUs by depth or a list of one each where that is the plan, else the wrapper."""
    list(runs(placement))
    hosts, each = names(placement), filled(placement)
    if len(hosts) > 1 and (not each or placement.size % each):
        raise BadValue("aprun starts as many ranks on every host", cure="ask for the same number on each")
    bind = None if wish.wrap or devices_differ(placement) else _binding(placement)
    listed = bind[-1] if bind else ""
    wrap = not bind or len(listed) > LONGEST
    avoided = () if not wrap or wish.wrap else (_LONG,) if bind else (_FORMS,)
    variables = [word for name, value in wish.environment.items() for word in ("-e", f"{name}={value}")]
    size = ("-n", str(placement.size), "-N", str(each or placement.size), *_threads(placement))
    command = wrapper.wrapped(wish.command) if wrap else wish.command
    argv = ("aprun", *size, *variables, *(UNBOUND if wrap else bind or ()), *command)
    notes = (UNTRIED, _HOSTS, *(wrapper.NOTES if wrap else memory_notes(placement)))
    form = "wrapper" if wrap else "depth" if listed == "depth" else "list"
    return Launch(NAME, wish.version, form, argv, {}, wrapper.files(placement, RANKS) if wrap else {}, avoided, notes)


def _binding(placement: Placement) -> tuple[str, ...] | None:
    """Return the words that bind as planned: so many neighbouring CPUs each, or one each; None where neither does."""
    slots = only_slots(placement)
    if slots is None:
        return None
    sets, size = [slot.cpus for slot in slots], len(slots[0].cpus)
    if all(blocks(placement.plans[plan].topology, size, ranks) == sets[:ranks] for plan, ranks in kinds(placement).items()):
        return "-d", str(size), "-cc", "depth"
    return ("-cc", ",".join(map(str, sets))) if all(len(cpus) == 1 for cpus in sets) else None


def _threads(placement: Placement) -> tuple[str, ...]:
    """Return -j where the plan uses more than one hardware thread of a core: without it a job has the first of each."""
    most = 1
    for plan, ranks in kinds(placement).items():
        used = union(slot.cpus for slot in placement.plans[plan].slots[:ranks])
        cores = [core.cpuset for core in placement.plans[plan].topology.inside.cores if core.cpuset & used]
        most = max([most, *(len(core) for core in cores if (core & used) != CpuSet([core.first or 0]))])
    return ("-j", str(most)) if most > 1 else ()


def blocks(topology: Topology, size: int, ranks: int) -> list[CpuSet] | None:
    """Return so many neighbouring CPUs for each rank, of each core its first; None where a NUMA node is not filled by them."""
    cpus = sorted(core.cpuset.first or 0 for core in topology.inside.cores if core.cpuset)
    whole = [len([cpu for cpu in cpus if cpu in node.cpuset]) for node in topology.inside.cpu_nodes]
    if not size or size * ranks > len(cpus) or any(cores % size for cores in whole):
        return None
    return [CpuSet(cpus[at * size : (at + 1) * size]) for at in range(ranks)]


def unbound(total: int, hosts: Sequence[str]) -> None:
    """Return None: lines are not translated to what was never tried."""


def request(line: "Line", told: "Request") -> "Request":
    """Return what a line asks for, beside its variables."""
    bind = line.first.value("-cc")
    pairs = [said.values[0].partition("=") for said in line.first.options if said.name == "-e"]
    threads = next((number_in(value) for name, _, value in reversed(pairs) if name == "OMP_NUM_THREADS"), told.threads)
    listed = bool(bind and bind[:1].isdigit())
    each = number_in(line.first.value("-N"))
    return replace(
        told,
        ranks=number_in(line.first.value("-n")),
        per_node=each,
        bind=bind,
        threads=threads,
        level="rankfile" if listed else None,
    )


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of aprun; raise Refused or Unclear."""
    line = made.line
    known_words(line, "aprun")
    if odd := next((name for name in ("-S", "-sn", "-sl", "-r", "-cp", "-B", "-R") if line.first.has(name)), None):
        raise Unclear(f"where {odd} puts ranks, is not worked out here")
    total, depth, bind = number(line, "-n", "") or 1, number(line, "-d", "") or 1, line.first.value("-cc") or "cpu"
    threads = number(line, "-j", "") or 1
    if threads > 1 and bind in ("cpu", "depth"):
        raise Unclear("in which order hardware threads of a core are used, is not documented well enough")
    cores = len([core for core in made.topology.inside.cores if core.cpuset])
    most = cores * threads // depth
    each = number(line, "-N", "") or min(total, most)
    if not each or each > most:
        raise Refused(f"{each} ranks of {depth} CPUs are more than the {cores} cores of a node")
    bounded(total)
    hosts = [f"node{rank // each}" if total > each else None for rank in range(total)]
    given = {host: _bound(bind, depth, made.topology, count) for host, count in Counter(hosts).items()}
    return tuple(seated(hosts, given))


def _bound(bind: str, depth: int, topology: Topology, count: int) -> Given:
    """Return the CPUs of a node's ranks."""
    if bind == "none":
        return (None,) * count
    if bind == "depth" or (bind == "cpu" and depth == 1):
        found = blocks(topology, depth, count)
        if found is None:
            raise Unclear(f"how {depth} CPUs a rank fill NUMA nodes of another size, is not documented")
        return tuple(found)
    if not re.fullmatch(r"\d{1,6}(?:[,:]\d{1,6})*", bind, re.ASCII):
        raise Unclear(f"-cc {bind[:40]} binds threads one by one, or in a way that is not worked out here")
    cpus = [CpuSet([int(word)]) for word in re.split(r"[,:]", bind)]
    if ":" in bind and "," in bind:
        raise Unclear("a rank with several CPUs in the list has its threads bound one by one")
    if len(cpus) < count or not all(each <= topology.inside.pus for each in cpus):
        raise Unclear(f"fewer entries than the {count} ranks of a node, or CPUs that are not there: not documented well enough")
    return tuple(cpus[:count])


def warnings(case: "Prediction") -> Iterator[LintWarning]:
    """Yield the warnings about lists of CPUs: without a colon they go to the ranks one by one."""
    from advisor.launch.lint.spelling import warning

    bind, depth = case.want.bind or "", number_in(case.line.first.value("-d")) or 1
    threads = max(depth, case.want.threads or 1)
    if bind[:1].isdigit() and ":" not in bind and threads > 1 and (case.want.ranks or 1) > 1:
        why = "Without a colon each rank gets one CPU of the list, in order; a colon parts the lists of ranks."
        yield warning("separator", f"CPUs {bind[:60]} go to the ranks one by one", why, f"-cc {bind[:60]}", "-cc depth", bad=True)


LINES = Dialect(
    programs=("aprun",),
    options=OPTIONS,
    aliases=_ALIASES,
    ranks=ranks,
    request=request,
    lists=warnings,
    glued=re.compile(r"(-[nNdSjr])(=?)(\d.*)", re.DOTALL),
)
