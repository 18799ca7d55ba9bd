"""Lints a launch line: ``lint(["mpirun", "-np", "4", "./a"], machine)`` explains it in words, and says it for other launchers."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from advisor.errors import BadInput
from advisor.jobs import each_rank
from advisor.jobs.ask import Ask, installed_for, observed_in, settled
from advisor.jobs.ask import ask as ask_launcher
from advisor.jobs.bind import HAD_CREDENTIAL
from advisor.jobs.launcher import LaunchRequest, is_foreign, launchers, of_lines, title_of
from advisor.jobs.line import BINDING, parse, read_binder, request_of, which_of, written
from advisor.jobs.memory_binding import memory_in_words, memory_warnings
from advisor.jobs.openmpi import newer
from advisor.jobs.openmpi_map import default_level
from advisor.jobs.placement import (
    FEW,
    HostPlan,
    JobShape,
    Lint,
    LintAnswer,
    LintOption,
    LintRank,
    LintTranslation,
    NodePlan,
    Placement,
    Slot,
)
from advisor.jobs.predict import MEANINGS, predict, warnings
from advisor.jobs.request import OBJECTS, Line, Prediction, Said, Texts, cpusets_of, ranks_here
from advisor.jobs.slurm import ASSUMED, KEY, SlurmWords, bind_ignored, setup
from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.files import open_here
from advisor.machine.layout import logical_numbering
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.machine.secrecy import screened_words
from advisor.machine.topology import Topology

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
        if family != case.line.family and launcher.unbound_line(1, ()):
            try:
                yield _one(case, family)
            except BadInput as error:
                yield LintTranslation(launcher=family, line=None, lost=(f"{title_of(family)}: {error.problem}",))


def _one(case: Prediction, family: str) -> LintTranslation:
    kept, lost = _kept(case, family)
    if len(case.line.segments) > 1:
        return LintTranslation(launcher=family, line=None, lost=("several programs on one line are not translated",))
    both = family.startswith("openmpi") and case.line.family.startswith("openmpi")
    if both and (short := _spelled(case, family, kept)):
        return LintTranslation(launcher=family, line=short, lost=tuple(lost))
    if not case.ranks:
        why = case.refused or case.unclear or "the ranks' placement is unknown"
        rough = _rough(case, family, kept) if both else None
        return LintTranslation(launcher=family, line=rough, lost=(f"placement of ranks: {why[:200]}", *lost))
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
    return kept, [f"no equivalent for {', '.join(lost)}"] if lost else []


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
    rough = _rough(case, family, kept)
    if rough is None or not case.ranks or case.want.rankfile or case.line.inner:
        return rough if case.want.rankfile and case.want.parameters.get("rmaps_rank_file_physical") != "1" else None
    read = predict(parse(shlex.split(rough), "5.0.11" if family == "openmpi5" else "4.1.4"), case.machine, case.files)
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
    words = launchers()[family].unbound_line(len(case.ranks or ()), hosts) or ()
    return shlex.join((*words, *kept, *command(case.line)))


def _made(case: Prediction, family: str, kept: Sequence[str], lost: Sequence[str]) -> LintTranslation:
    """Return what the launcher's own module writes for these places."""
    placement = placed(case)
    environment = {} if family.startswith("openmpi") and case.line.family.startswith("openmpi") else _environment(case)
    wish = LaunchRequest(command=each_rank.translated(command(case.line), case.line.family, family), environment=environment)
    made = launchers()[family].launch(placement, wish)
    argv = [made.argv[0], *kept, *made.argv[1:]]
    before = [f"{name}={shlex.quote(value)}" for name, value in made.environment.items()]
    files: dict[str, tuple[str, ...]] = {}
    for name, lines in made.files.items():
        read = tuple(islice(lines(), MOST_LINES + 1))
        files[name] = read if len(read) <= MOST_LINES else ("(too long to be shown)",)
    return LintTranslation(launcher=family, line=" ".join((*before, shlex.join(argv))), files=files, lost=tuple(lost))


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
        raise BadInput("the ranks of a host are not consecutive")
    shapes = list(dict.fromkeys(tuple(sets) for sets in by_host.values()))
    plans = tuple(NodePlan(topology=case.topology, slots=tuple(_slot(cpus, topology) for cpus in sets)) for sets in shapes)
    hosts = tuple(HostPlan(name=name, plan=shapes.index(tuple(sets)), ranks=len(sets)) for name, sets in by_host.items())
    return Placement(job=JobShape(ranks=len(case.ranks or ()) or 1), strategy="compact", why=(), plans=plans, hosts=hosts)


def _slot(cpus: CpuSet, topology: Topology) -> Slot:
    nodes = tuple(node.os_index for node in topology.nodes_of(cpus))
    l3 = tuple(i for i, part in enumerate(topology.l3) if part.cpuset & cpus)
    cores = sum(1 for core in topology.cores if core.cpuset & cpus)
    return Slot(cpus=cpus, cores=cores, nodes=nodes, memory=nodes, l3=l3, socket=topology.package_of(cpus))


def in_words(made: Prediction) -> str:
    """Return what the line does, in a sentence."""
    if made.refused:
        return f"The launcher refuses this line: {made.refused}."
    if made.ranks is None:
        return f"Placement unknown: {made.unclear}."
    total, nodes = len(made.ranks), len({rank.host for rank in made.ranks})
    start = f"{total} rank{'s' * (total != 1)}" + (f" on {nodes} hosts" if nodes > 1 else "")
    everywhere = [rank.cpus for rank in made.ranks if rank.cpus is not None]
    if not everywhere:
        return f"{start}, none bound: the kernel moves them across all {len(made.topology.inside.cores)} cores."
    things = ", ".join(dict.fromkeys(_kind(cpus, made.topology) for cpus in list(dict.fromkeys(everywhere))[:256]))
    many = f"{total - len(everywhere)} not bound, {len(everywhere)} " if len(everywhere) != total else "each " * (total > 1)
    first = [rank for rank in made.ranks if rank.host == made.ranks[0].host and rank.cpus is not None]
    return f"{start}, {many}bound to {things}{_shared(first, made.topology, several=nodes > 1)}."


def _kind(cpus: CpuSet, topology: Topology) -> str:
    known = logical_numbering(topology)
    for name, word in (("core", "one core"), ("l3cache", "one L3 group"), ("numa", "one NUMA node"), ("package", "one socket")):
        if cpus in cpusets_of(name, topology, known):
            return word
    if len(cpus) == 1:
        return "one hardware thread"
    number_of = len(known.core_numbers(cpus)) if all(cpu in known.core_of for cpu in cpus) else len(cpus)
    return f"{number_of} cores"


def _shared(first: Sequence[LintRank], topology: Topology, *, several: bool) -> str:
    """Return which ranks of the first host share what, where some do."""
    bound = [rank.cpus for rank in first if rank.cpus is not None]
    if not bound:
        return ""
    if len(set(bound)) == len(bound):
        names = "; ".join(f"rank {rank.rank}: {rank.cpus}" for rank in first[:FEW])
        own = "; on the first host" if several else " of its own" * (len(bound) > 1)
        return f"{own} (CPUs of {names}{'; ...' if len(bound) > FEW else ''})"
    most, times = Counter(bound).most_common(1)[0]
    known = logical_numbering(topology)
    cores = len(known.core_numbers(most)) if all(cpu in known.core_of for cpu in most) else len(most)
    nodes = [str(node) for node in topology.nodes_near(most)]
    place = f" of NUMA node{'s' * (len(nodes) > 1)} {','.join(nodes)}" if nodes else ""
    return f": {times} ranks{' of the first host' * several} share the {cores} core{'s' * (cores != 1)}{place} (CPUs {most})"


_VARIABLES = {
    "OMP_NUM_THREADS": "gives each rank {0} threads",
    "OMP_PLACES": "makes OpenMP count places in {0}",
    "OMP_PROC_BIND": "makes OpenMP bind its threads {0}",
    "I_MPI_PIN": "makes Intel MPI pin ranks: {0}",
    "I_MPI_PIN_DOMAIN": "pins each rank to {0}",
    "I_MPI_PIN_PROCESSOR_LIST": "pins ranks to the CPUs {0}",
    "I_MPI_PIN_ORDER": "orders the domains {0}",
    **MEANINGS,
}


def files_of(arguments: Sequence[str], version: str | None = None) -> tuple[str, ...]:
    """Return the names of the rankfile and the host file that a line reads; raise BadInput where it is none."""
    want = request_of(parse(arguments, version))
    return tuple(name for name in (want.rankfile, want.hostfile) if name)


def lint(
    arguments: Sequence[str],
    machine: Machine,
    *,
    version: str | None = None,
    files: Texts | None = None,
    known_from: str | None = None,
    ask: Ask | None = None,
    observed: LintAnswer | None = None,
) -> Lint:
    """Return what a line says, does and does wrong on a machine; raise BadInput where it is no launch line.

    ``known_from`` is what says the version, ``observed`` what ranks of this very line saw.
    """
    line = parse(arguments, version, machine.tools or ())
    line = replace(line, known_from=known_from) if known_from else line
    made, placed, answers = settled(predict(line, machine, files or {}), ask, observed)
    return Lint(
        launcher=line.family,
        version=line.version,
        known_from="words accepted only by PRRTE's development branch"
        if line.release is None and newer(line)
        else line.known_from,
        line=written(line),
        options=tuple(explained(line)),
        command=tuple(commands(line)),
        ranks=made.ranks,
        binding=in_words(made) + memory_in_words(made),
        placed=placed,
        answers=answers,
        threads=made.want.threads,
        warnings=(*warnings(made), *memory_warnings(made)),
        translations=tuple(translations(made)),
    )


def commands(line: Line) -> Iterator[str]:
    """Yield the words of every program, a colon between them."""
    for position, segment in enumerate(line.segments):
        yield from (":",) if position else ()
        yield from segment.command


def explained(line: Line) -> Iterator[LintOption]:
    """Yield every variable and option with its meaning in one clause."""
    for name, value in line.words.environment.items():
        yield LintOption(text=f"{name}={value}", says=_variable(name, value))
    for binder in line.words.around:
        yield LintOption(text=binder.written, says="binds the launcher itself, not its ranks")
    table = of_lines()[line.family].options
    for said in line.options:
        text = " ".join(said.written)
        yield LintOption(text=text, says=_clause(said, table[said.name][1] if said.known else ""), known=said.known)
    for binder in line.inner:
        place = binder.nodes or binder.cpus
        what = (
            f"binds each rank to {'NUMA nodes' if binder.nodes else 'CPUs'} {place}"
            if place
            else (f"takes the memory of each rank from {binder.memory}" if binder.memory else "sets nothing that advisor knows")
        )
        yield LintOption(text=binder.written, says=what)


_ONE = re.compile(r"(?<![\w.,:-])(1 (?:rank|task|core|CPU|GPU|thread|process|node))(?:s|es)\b")
"""What a table says of several, where there is one."""


def _clause(said: Said, clause: str) -> str:
    if not said.known:
        return "unknown; not guessed"
    if said.name in ("-x", "-genv", "-env") and said.values:
        name, equals, value = said.values[0].partition("=")
        value = said.values[1] if len(said.values) > 1 else value
        if (equals or len(said.values) > 1) and name in _VARIABLES:
            return _variable(name, value)
    values = (*said.values, "", "")
    text = clause.replace("{0}", values[0][:80]).replace("{1}", values[1][:80])
    return _ONE.sub(r"\1", text)


def _variable(name: str, value: str) -> str:
    for prefix in ("OMPI_MCA_", "PRTE_MCA_"):
        if name.startswith(prefix):
            return f"sets the launcher's parameter {name.removeprefix(prefix)} to {value[:80]}"
    return _VARIABLES.get(name, "is set for the launcher and its ranks").replace("{0}", value[:80])


_WISH = re.compile(r"(--cpu[-_]bind[= ]|SLURM_CPU_BIND=)(?!.*\bnone\b)")
_LARGEST = 64 << 20
"""Bytes of a rankfile or a host file that are read: a million ranks are fewer."""


def lint_line(
    words: Sequence[str],
    machine: Machine | str | None = None,
    *,
    version: str | None = None,
    slurm_conf: Path | None = None,
    live: bool = False,
    asking: bool = True,
    observed: str | None = None,
    observer: Observer = SILENT,
) -> Lint:
    """Return what an existing launch line does on a machine and what goes wrong; of the line nothing is started.

    ``machine`` may be what --from names, None for this machine; ``live`` says of a Machine that it is this one. The launcher that
    is installed here is asked too, if ``asking``; ``observed`` is a file with what the probe printed under this very line.
    """
    words, given = screened_words(words), tuple(words)
    if words != given:
        observer.say(HAD_CREDENTIAL)
    names = files_of(words, version)
    live = live or machine is None
    read = machine if isinstance(machine, Machine) else read_machine(machine, observer)
    slurm = setup(slurm_conf, live=live)
    here = installed_for(words, version, read, live=live) if asking else None
    if here is None:
        which_of(words, version, read.tools or ())
    found = lint(
        words,
        read,
        version=f"{here.family}-{here.version}" if here else version,
        files=_texts(names) | {KEY: slurm.text},
        known_from=here.path if here else None,
        ask=ask_launcher if asking else None,
        observed=observed_in(observed) if observed else None,
    )
    return _with_slurm(found, slurm)


def _with_slurm(found: Lint, slurm: SlurmWords) -> Lint:
    """Return what is said of a line of srun with what is assumed of Slurm, or what its set-up does not carry out."""
    if found.launcher != "srun":
        return found
    if not slurm.source:
        return found.but(assumed=(ASSUMED,))
    wish = next((each.text for each in found.options if _WISH.match(each.text)), None)
    if wish is None or "affinity" in slurm.plugins:
        return found
    return found.but(warnings=(bind_ignored(wish, slurm), *found.warnings))


def _texts(names: Sequence[str]) -> dict[str, str]:
    """Return the files that a line names, those that are there and are plain texts."""
    found: dict[str, str] = {}
    for name in names:
        path = Path(name)
        try:
            if not path.is_file():
                continue
            with open_here(path) as file:
                data = file.read(_LARGEST + 1)
        except (OSError, ValueError):
            continue
        if len(data) > _LARGEST:
            raise BadInput(f"more than {_LARGEST >> 20} MiB", file=name, cure="refused as unsafe")
        found[name] = data.decode(errors="replace")
    return found
