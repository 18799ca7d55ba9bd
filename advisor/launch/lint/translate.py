"""The same line for other launchers: word for word between Open MPI 4 and 5, by where ranks are for the others."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from advisor.errors import BadInput
from advisor.launch.launcher import LaunchRequest
from advisor.launch.launcher_answers import carried_out, without_binding
from advisor.launch.lint.command_line import read_binder
from advisor.launch.lint.line import Line, Said
from advisor.launch.lint.openmpi.mapper import default_level
from advisor.launch.lint.outcome import OBJECTS
from advisor.launch.lint.predict import Prediction, ranks_here
from advisor.launch.lint.rewrite import BINDING
from advisor.launch.rankfile import slot_text
from advisor.launch.registry import is_foreign, launchers, title_of
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import HostPlan, JobShape, LintTranslation, NodePlan, Placement, Slot

MOST_LINES = 4096
"""Lines of a file that are shown; a longer one is named only."""

_TO_5 = {
    "--display-map": ("--display", "map"),
    "--display-devel-map": ("--display", "map-devel"),
    "--display-allocation": ("--display", "allocation"),
    "--report-bindings": ("--display", "bind"),
    "--do-not-launch": ("--rtos", "donotlaunch"),
    "--novm": (),
    "--oversubscribe": (),
    "--nooversubscribe": (),
}
_TO_4 = {
    "map": ("--display-map",),
    "bind": ("--report-bindings",),
    "map-devel": ("--display-devel-map",),
    "allocation": ("--display-allocation",),
}


def translations(case: Prediction) -> Iterator[LintTranslation]:
    """Yield the line for every launcher that it is not written for."""
    for family, launcher in launchers().items():
        if family != case.line.family and without_binding(launcher, 1, ()):
            try:
                yield _one(case, family)
            except BadInput as error:
                if made := _by_rankfile(case, family):
                    yield made
                    continue
                yield LintTranslation(launcher=family, line=None, lost=(f"{title_of(family)}: {error.problem}",))


def _one(case: Prediction, family: str) -> LintTranslation:
    kept, lost = _kept(case, family)
    if len(case.line.segments) > 1:
        return LintTranslation(launcher=family, line=None, lost=("several programs in one line are not translated",))
    both = family.startswith("openmpi") and case.line.family.startswith("openmpi")
    if both and (short := _spelled(case, family, kept)):
        return LintTranslation(launcher=family, line=short, lost=tuple(lost))
    if not case.ranks:
        why = case.refused or case.unclear or "nothing is known of the ranks"
        rough = _rough(case, family, kept) if both else None
        return LintTranslation(launcher=family, line=rough, lost=(f"where ranks go: {why[:200]}", *lost))
    if all(rank.cpus is None for rank in case.ranks):
        return LintTranslation(launcher=family, line=_unbound(case, family, kept), lost=tuple(lost))
    if any(rank.cpus is None for rank in case.ranks):
        return LintTranslation(launcher=family, line=None, lost=("some ranks are bound and others are not", *lost))
    return _made(case, family, kept, lost)


def command(line: Line) -> tuple[str, ...]:
    """Return the program of a line without the numactl or taskset before it, whose CPUs are already counted in."""
    words = line.first.command
    at = 0
    while at < len(words) and words[at].rpartition("/")[2] in ("numactl", "taskset"):
        binder, after = read_binder(words, at, len(words))
        if binder.memory or not (binder.cpus or binder.nodes):
            break
        at = after + bool(binder.stray)
    return words[at:] or ("PROGRAM",)


def _kept(case: Prediction, family: str) -> tuple[list[str], list[str]]:
    """Return the options that do not say where ranks go, as the other launcher says them, and those it cannot."""
    kept: list[str] = []
    lost: list[str] = []
    own = case.line.family
    for said in case.line.first.options:
        if said.name in (*BINDING, "-np", "-n", "-ppn", "--host", "--hostfile", "-hosts", "-host", "-f", "--ntasks", "--nodes"):
            continue
        if said.name in ("--ntasks-per-node", "--nodelist", "-genv", "-env", "--use-hwthread-cpus", "--hetero-nodes"):
            continue
        words = _by_other(said, own, family)
        if words is None:
            lost.append(" ".join(said.written)[:80])
        else:
            kept += words
    return kept, [f"no equal for {', '.join(lost)}"] if lost else []


_OF_OPEN_MPI = ("--report-bindings", "--allow-run-as-root", "--oversubscribe", "--nooversubscribe")
"""Options that others need no word for."""


def _by_other(said: Said, own: str, family: str) -> Sequence[str] | None:
    """Return how another launcher says an option; None where it cannot."""
    if own.startswith("openmpi") and family.startswith("openmpi"):
        return _other(said, five=family == "openmpi5")
    if said.name == "-x" and own.startswith("openmpi"):
        return () if "=" in said.values[0] else None
    binding = said.name == "--mca" and said.values[0].startswith(("rmaps_", "hwloc_base_"))
    return () if binding or said.name in _OF_OPEN_MPI else None


def _other(said: Said, *, five: bool) -> Sequence[str] | None:
    """Return how the other version of Open MPI says an option; None where it cannot."""
    if said.name in ("--mca", "--prtemca", "--gmca", "--omca") and len(said.values) == 2:
        name, value = said.values
        if name.startswith(("rmaps_", "hwloc_base_", "hwloc_default_")):
            return ()  # said by options instead
        agent = {"plm_rsh_agent": "plm_ssh_agent", "plm_ssh_agent": "plm_rsh_agent"}.get(name)
        if agent:
            return ("--prtemca" if five else "--mca", agent, value)
        return None if name.startswith(("orte_", "plm_", "prte_", "ras_")) else ("--mca", name, value)
    if five and said.name in _TO_5:
        return _TO_5[said.name]
    if not five and said.name == "--display":
        words = [_TO_4.get(word) for word in said.values[0].split(",")]
        return None if None in words else [word for group in words if group for word in group]
    if not five and said.name in ("--rtos", "--runtime-options", "--pmixmca", "--personality", "--output"):
        return None
    return said.written if not said.known or len(said.name) < 3 else (said.name, *said.values)


def _spelled(case: Prediction, family: str, kept: Sequence[str]) -> str | None:
    """Return the line in the words of the other version where these put every rank where it was."""
    from advisor.launch.lint.line import parse
    from advisor.launch.lint.predict import predict as worked_out

    rough = _rough(case, family, kept)
    if rough is None or not case.ranks or case.want.rankfile or case.line.inner:
        return rough if case.want.rankfile and case.want.parameters.get("rmaps_rank_file_physical") != "1" else None
    read = worked_out(parse(shlex.split(rough), "5.0.11" if family == "openmpi5" else "4.1.4"), case.machine, case.files)
    return rough if read.ranks == case.ranks else None


def _rough(case: Prediction, family: str, kept: Sequence[str]) -> str | None:
    """Return the line with mapping, ranking and binding all said in the other version's words; None where it has none."""
    want, five = case.want, family == "openmpi5"
    words = _mapping(case, five=five)
    if words is None:
        return None
    count = ("-np", str(want.ranks)) if want.ranks else ()
    named = ",".join(f"{name}:{slots}" if slots else name for name, slots in want.hosts)
    hosts = ("--hostfile", want.hostfile) if want.hostfile else ("--host", named) if want.hosts else ()
    environment = [f"{name}={value}" for name, value in case.line.words.environment.items() if "_MCA_" not in name]
    return shlex.join((*environment, "mpirun", *count, *hosts, *words, *kept, *case.line.first.command))


def _mapping(case: Prediction, *, five: bool) -> tuple[str, ...] | None:
    """Return --map-by, --rank-by and --bind-to with nothing left to defaults."""
    want = case.want
    if want.bind == "none":
        return ("--bind-to", "none")
    if want.rankfile:
        threads = want.hwthreads
        source = f"rankfile:file={want.rankfile}{':hwtcpus' if threads else ''}"
        old = ("--rankfile", want.rankfile, *(("--use-hwthread-cpus",) if threads else ()))
        return ("--map-by", source) if five else old
    if want.level in ("pe-list", "dist", "seq", "board") or want.hwthreads or want.oversubscribe:
        return None
    count = ranks_here(case) or 0
    level = want.level or default_level(want, five=case.five, few=count <= 2)
    kind = want.ppr[1] if want.ppr else level
    bind = "core" if want.pe else want.bind or _default_bind(case, kind, count)
    text = f"ppr:{want.ppr[0]}:{want.ppr[1]}" if want.ppr else level
    text += f":PE={want.pe}" if want.pe else ""
    order: tuple[str, ...] = ()
    if level in OBJECTS and level not in ("core", "hwthread") and want.ppr is None:
        filled = (case.five and want.rank_by in (None, "fill") and "span" not in want.modifiers) or want.rank_by == "core"
        order = () if filled == five else ("--rank-by", "core" if filled else "slot")
    theirs, ours = ("socket", "package") if five else ("package", "socket")
    return ("--map-by", text.replace(theirs, ours), *order, "--bind-to", bind.replace(theirs, ours))


def _default_bind(case: Prediction, kind: str, count: int) -> str:
    if kind in OBJECTS and (case.five or case.want.ppr is None):
        return kind
    return "core" if count <= 2 else "numa"


def _unbound(case: Prediction, family: str, kept: Sequence[str]) -> str:
    hosts = list(dict.fromkeys(rank.host for rank in case.ranks or () if rank.host))
    words = without_binding(launchers()[family], len(case.ranks or ()), hosts) or ()
    return shlex.join((*words, *kept, *command(case.line)))


def _made(case: Prediction, family: str, kept: Sequence[str], lost: Sequence[str]) -> LintTranslation:
    """Return what the launcher's own module writes for these places."""
    placement = placed(case)
    environment = {} if family.startswith("openmpi") and case.line.family.startswith("openmpi") else _environment(case)
    wish = LaunchRequest(command=command(case.line), environment=environment)
    made = carried_out(launchers()[family], placement, wish)
    argv = [made.argv[0], *kept, *made.argv[1:]]
    before = [f"{name}={shlex.quote(value)}" for name, value in made.environment.items()]
    files: dict[str, tuple[str, ...]] = {}
    for name, lines in made.files.items():
        read = tuple(islice(lines(), MOST_LINES + 1))
        files[name] = read if len(read) <= MOST_LINES else ("(too long to be shown)",)
    return LintTranslation(launcher=family, line=" ".join((*before, shlex.join(argv))), files=files, lost=tuple(lost))


def _by_rankfile(case: Prediction, family: str) -> LintTranslation | None:
    """Return a rankfile of ranks that alternate between hosts, for Open MPI; None where the versions read it differently."""
    known = logical_numbering(case.topology)
    ranks = case.ranks or ()
    taken: set[tuple[str | None, int]] = set()
    rows: list[str] = []
    for rank in ranks[: MOST_LINES + 1]:
        cpus = rank.cpus or CpuSet()
        row = f"rank {rank.rank}={rank.host} slot={slot_text(cpus, known, 'core')}" if cpus and known.whole(cpus) else ""
        mine = {(rank.host, cpu) for cpu in cpus}
        if not row or rank.host is None or len(row) > 63 or taken & mine:
            return None
        taken |= mine
        rows.append(row)
    if not family.startswith("openmpi") or len(rows) != len(ranks):
        return None
    kept, lost = _kept(case, family)
    hosts = ",".join(f"{host}:{count}" for host, count in Counter(rank.host for rank in ranks).items())
    source = ("--map-by", "rankfile:file=rankfile") if family == "openmpi5" else ("--rankfile", "rankfile")
    words = ("mpirun", "-np", str(len(ranks)), "--host", hosts, *source, *kept, *command(case.line))
    return LintTranslation(launcher=family, line=shlex.join(words), files={"rankfile": tuple(rows)}, lost=tuple(lost))


def _environment(case: Prediction) -> dict[str, str]:
    return {name: value for name, value in case.want.exports.items() if not is_foreign(name)}


def placed(case: Prediction) -> Placement:
    """Return the predicted ranks as a plan; those of a host must follow each other."""
    topology = case.topology.inside
    by_host: dict[str | None, list[CpuSet]] = {}
    order: list[str | None] = []
    for rank in case.ranks or ():
        if not order or order[-1] != rank.host:
            order.append(rank.host)
        by_host.setdefault(rank.host, []).append(rank.cpus or CpuSet())
    if len(order) != len(by_host):
        raise BadInput("the ranks of a host do not follow each other")
    shapes = list(dict.fromkeys(tuple(sets) for sets in by_host.values()))
    plans = tuple(NodePlan(topology=case.topology, slots=tuple(_slot(cpus, topology) for cpus in sets)) for sets in shapes)
    hosts = tuple(HostPlan(name=name, plan=shapes.index(tuple(sets)), ranks=len(sets)) for name, sets in by_host.items())
    return Placement(job=JobShape(ranks=len(case.ranks or ()) or 1), strategy="compact", why=(), plans=plans, hosts=hosts)


def _slot(cpus: CpuSet, topology: Topology) -> Slot:
    nodes = tuple(node.os_index for node in topology.nodes_of(cpus))
    l3 = tuple(i for i, part in enumerate(topology.l3) if part.cpuset & cpus)
    cores = sum(1 for core in topology.cores if core.cpuset & cpus)
    return Slot(cpus=cpus, cores=cores, nodes=nodes, memory=nodes, l3=l3, socket=topology.package_of(cpus))
