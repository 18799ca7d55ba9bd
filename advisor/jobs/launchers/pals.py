"""PALS, the launcher of HPE Cray systems under PBS: lists of CPUs by --cpu-bind. Not tried with a real one.

After what centres publish of it: ALCF's guides to Aurora and Polaris (argonne-lcf/user-guides) and NCAR's to Derecho, with what
ranks printed there; the variables also after Slurm's plug-in for the same systems (SchedMD/slurm, mpi/cray_shasta).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from advisor.errors import BadValue
from advisor.jobs import each_rank
from advisor.jobs.launcher import Avoided, Dialect, Launch, Launcher, LaunchRequest, Lines, RankVariables, option_table
from advisor.jobs.launchers import wrapper
from advisor.jobs.launchers.mpich import host_slots, of_hydra
from advisor.jobs.placement import (
    LONGEST,
    LintRank,
    LintWarning,
    Placement,
    Slot,
    assigned,
    filled,
    names,
    only_slots,
    runs,
)
from advisor.jobs.request import (
    BoundMemory,
    Given,
    Line,
    Prediction,
    Request,
    Signs,
    Unclear,
    Words,
    known_words,
    list_warnings,
    number,
    number_of_option,
    seated,
    warning,
)
from advisor.jobs.scripts.expansion import words
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import logical_numbering
from advisor.machine.topology import Topology

NAME = "pals"


RANKS = RankVariables(rank=("PALS_RANKID",), size=("PMI_SIZE",), local=("PALS_LOCAL_RANKID",))


UNBOUND = ("--cpu-bind", "none")


_OWN = words("--cpu-bind --mem-bind --gpu-bind --depth --no-transfer --line-buffer --procinfo-file")
"""Options that no other mpiexec has; Intel's -cpu-bind has one hyphen."""


UNTRIED = (
    "not tested in real runs: PALS is part of HPE Cray systems, so this follows published examples; check it with advisor verify"
)


_DIFFER = Avoided("--cpu-bind list", "the list is the same on every host, but these hosts differ")


_LONG = Avoided("--cpu-bind list", f"longer than {LONGEST} characters, the limit for one argument")


PALS, PALS_ALIASES = option_table("""
    -n -np --np --n 1 starts {0} ranks
    -ppn --ppn 1 starts {0} ranks on each node
    --depth -d -depth 1 gives each rank {0} CPUs (cores with --cpu-bind core)
    --cpu-bind -cpu-bind 1 sets CPU binding to {0}
    --mem-bind -mem-bind 1 binds memory with policy {0}
    --gpu-bind -gpu-bind 1 gives each rank GPUs by {0}
    -hosts --hosts --hostlist 1 on the hosts {0}
    -f --hostfile -hostfile 1 on the hosts of the file {0}
    --env -env -genv 1 sets {0} for all ranks
    --label -l 0 marks output with the rank
    --line-buffer 0 prints whole lines
    --no-transfer 0 does not copy the program to the nodes
    --pmi 1 starts MPI with {0}
    --procinfo-file 1 writes the rank placement to {0}
    --wdir 1 starts in the folder {0}
    --envall 0 passes all variables on
    --no-vni 0 requests no virtual network for the job
    --spindle 0 loads libraries through Spindle
""")


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the mpiexec line: a list of CPUs for each local rank where hosts are alike, else the wrapper."""
    list(runs(placement))
    hosts, each, slots = names(placement), filled(placement), only_slots(placement)
    if len(hosts) > 1 and not each:
        raise BadValue("PALS starts the same number of ranks on every host", cure="request the same number on each")
    listed = f"list:{':'.join(str(slot.cpus) for slot in slots or ())}"
    avoided = (_DIFFER,) if slots is None else (_LONG,) if len(listed) > LONGEST else ()
    wrap = bool(avoided) or each_rank.wants_wrapper(placement, wish)
    named, files = ((), {}) if wish.scheduler else _named(hosts)
    where = ("-ppn", str(each), *named) if hosts and each else ()
    variables = assigned(wish.environment, "--env")
    bind = UNBOUND if wrap else ("--cpu-bind", f"{'verbose,' if wish.report else ''}{listed}", *_memory(slots or ()))
    command = wrapper.wrapped(wish.command) if wrap else each_rank.command(wish, NAME)
    argv = ("mpiexec", "-n", str(placement.size), *where, *variables, *bind, *command)
    notes = (UNTRIED, *(wrapper.NOTES if wrap else ()))
    made = wrapper.files(placement, RANKS) if wrap else {}
    bound = any(word == "--mem-bind" for word in bind)
    return Launch(NAME, wish.version, "wrapper" if wrap else "list", argv, {}, {**files, **made}, avoided, notes, memory=bound)


def _named(hosts: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Lines]]:
    """Return the words that name the hosts, and the file of those that are too many for an argument."""
    listed = ",".join(hosts)
    if not hosts or len(listed) <= LONGEST:
        return ("--hosts", listed) if hosts else (), {}
    return ("--hostfile", "hostfile"), {"hostfile": lambda: iter(hosts)}


def _memory(slots: Sequence[Slot]) -> tuple[str, ...]:
    """Return --mem-bind where ranks shall take memory of other nodes than their own alone: of HBM (ALCF's guide to Aurora)."""
    if any(slot.policy == "prefer" for slot in slots):  # PALS knows no wish
        return ()
    entries = [",".join(map(str, slot.memory or slot.nodes)) for slot in slots]
    elsewhere = any(slot.memory and set(slot.memory) != set(slot.nodes) for slot in slots)
    return ("--mem-bind", f"list:{':'.join(entries)}") if elsewhere and all(entries) else ()


def memory(case: Prediction, ranks: int) -> BoundMemory | None:
    """Return where --mem-bind takes memory from: a list has an entry for each local rank."""
    text = case.line.first.value("--mem-bind") or ""
    if not re.fullmatch(r"list:[\d,:-]{1,8192}", text, re.ASCII):
        return None
    words = text.removeprefix("list:").split(":")
    nodes = tuple(CpuSet.parse(words[at]) if at < len(words) else None for at in range(ranks))
    return BoundMemory("only", nodes, f"--mem-bind {text}"[:80])


def claim(words: Words, _tools: frozenset[str]) -> int:
    """Return how surely a line is PALS's: by its own options or variables."""
    own = _OWN & {word.partition("=")[0] for word in words.rest} or any(name.startswith("PALS_") for name in words.environment)
    return 9 if own else 0


def request(line: Line, told: Request) -> Request:
    """Return what a line asks for: as Hydra's, but for the binding."""
    bind = (line.first.value("--cpu-bind") or "").removeprefix("verbose,") or None
    level = "rankfile" if (bind or "").startswith(("list:", "mask:")) else None
    return replace(of_hydra(line, told), per_node=number(line.first.value("-ppn")), bind=bind, level=level, map_text=None)


def ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks of a line of PALS's; raise Refused or Unclear."""
    line = made.line
    known_words(line, "PALS's mpiexec")
    total, each, depth = (number_of_option(line, option) for option in ("-n", "-ppn", "--depth"))
    if odd := next((name for name in line.words.environment if name.startswith("PALS_")), None):
        raise Unclear(f"the effect of {odd[:40]} is not predicted")
    if total is None:
        raise Unclear("without -n, PALS starts the number of ranks set by its job")
    hosts = list(_hosts(made, total, each))
    counts = Counter(hosts)
    given = {count: _bound(made.want.bind or "", depth or 1, made.topology, count) for count in set(counts.values())}
    return seated(hosts, {host: given[count] for host, count in counts.items()}, lambda host: host)


def _hosts(made: Prediction, total: int, each: int | None) -> Iterator[str | None]:
    """Yield the host of each rank: so many on one, then the next."""
    names = [host.name for host in host_slots(made) if host.name is not None]
    if each is None and (len(names) > 1 or total > 4 * len(made.topology.inside.pus)):
        raise Unclear("without -ppn, PALS places ranks on the hosts in an undocumented way")
    each = each or total
    count = -(-total // each)
    if names and count > len(names):
        raise Unclear(f"{total} ranks, {each} on each of {len(names)} hosts: the placement of the rest is undocumented")
    for rank in range(total):
        yield names[rank // each] if names else None if count == 1 else f"node{rank // each}"


def _bound(bind: str, depth: int, topology: Topology, count: int) -> Given:
    """Return the CPUs of a host's ranks by --cpu-bind."""
    kind, _, listed = bind.partition(":")
    if kind == "none":
        return (None,) * count
    if kind == "list":
        return _listed(listed.split(":"), topology, count)
    if kind == "depth":  # CPUs by the kernel's numbers, one after the other, sockets or not
        units = [CpuSet([cpu]) for cpu in sorted(topology.inside.pus)]
    elif kind == "core":
        units = sorted(logical_numbering(topology).cores, key=lambda core: core.first or 0)
    else:
        raise Unclear(f"PALS binding with {f'--cpu-bind {bind[:40]}' if bind else 'no --cpu-bind'} is not predicted")
    if depth * count > len(units):
        raise Unclear(f"{count} ranks x {depth} {'CPUs' if kind == 'depth' else 'cores'}: more than the node's {len(units)}")
    return tuple(union(units[rank * depth : (rank + 1) * depth]) for rank in range(count))


def _listed(words: Sequence[str], topology: Topology, count: int) -> Given:
    """Return the CPUs of a list, whose entries are parted by colons."""
    if len(words) < count:
        entries = f"{len(words)} entr{'ies' if len(words) > 1 else 'y'}"
        raise Unclear(f"{entries} for {count} ranks on a host: what the other ranks get is undocumented")
    try:
        found = tuple(CpuSet.parse(word) for word in words[:count])
    except BadValue as error:
        raise Unclear(f"the list cannot be read: {error.problem}") from error
    if not all(cpus and cpus <= topology.inside.pus for cpus in found):
        raise Unclear("the list names CPUs that this machine does not have or this job may not use")
    return found


def warnings(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about lists of CPUs and GPUs."""
    kind, _, listed = (case.want.bind or "").partition(":")
    each = case.want.per_node or case.want.ranks or 1
    if kind == "list":
        short = "Which CPUs a rank without an entry gets is undocumented; write one entry per rank."
        yield from list_warnings("list", listed, each, Signs(":", "colon", short))
    kind, _, listed = (case.line.first.value("--gpu-bind") or "").partition(":")
    flat = case.want.exports.get("ZE_FLAT_DEVICE_HIERARCHY", "").upper() == "FLAT"
    if kind == "list" and (flat or not all("." in word for word in re.split(r"[:,]", listed))):
        why = "At ALCF such a list failed with: Failed to parse implicit GPU selection; tiles without FLAT are accepted."
        yield warning("gpu-list", "the launch may fail", why, f"--gpu-bind list:{listed[:80]}", "list:0.0:0.1:...")


LAUNCHER = Launcher(
    name=NAME,
    title="PALS",
    order=50,
    launch=launch,
    aliases=("cray-pals",),
    variables=("PALS_",),
    ranks=RANKS,
    without_binding=UNBOUND,
    dialect=Dialect(
        programs=("mpiexec", "mpirun"),
        options=PALS,
        aliases=PALS_ALIASES,
        ranks=ranks,
        request=request,
        claim=claim,
        lists=warnings,
        memory=memory,
    ),
)
