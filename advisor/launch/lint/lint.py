"""Lints a launch line: ``lint(["mpirun", "-np", "4", "./a"], machine)`` explains it in words. Pure: files come in as texts."""

from collections import Counter
from collections.abc import Iterator, Sequence

from advisor.launch.lint.binding import binding
from advisor.launch.lint.cpu_lists import lists
from advisor.launch.lint.devices import MEANINGS, devices
from advisor.launch.lint.line import Line, Said, parse
from advisor.launch.lint.openmpi.map_by import newer
from advisor.launch.lint.outcome import cpusets_of
from advisor.launch.lint.predict import Prediction, Texts, predict
from advisor.launch.lint.request import request_of
from advisor.launch.lint.rewrite import written
from advisor.launch.lint.spelling import spelling
from advisor.launch.lint.translate import translations
from advisor.launch.ranks_per_host import FEW
from advisor.launch.registry import of_lines
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.placement import Lint, LintOption, LintRank, LintWarning


def in_words(made: Prediction) -> str:
    """Return what the line does, in a sentence."""
    if made.refused:
        return f"The launcher refuses: {made.refused}."
    if made.ranks is None:
        return f"Not predicted rank by rank: {made.unclear}."
    total, nodes = len(made.ranks), len({rank.host for rank in made.ranks})
    start = f"{total} rank{'s' * (total != 1)}" + (f" on {nodes} hosts" if nodes > 1 else "")
    everywhere = [rank.cpus for rank in made.ranks if rank.cpus is not None]
    if not everywhere:
        return f"{start}, none bound: the kernel moves them over all {len(made.topology.inside.cores)} cores."
    things = ", ".join(dict.fromkeys(_kind(cpus, made.topology) for cpus in list(dict.fromkeys(everywhere))[:256]))
    many = "each" if len(everywhere) == total else f"{total - len(everywhere)} not bound, {len(everywhere)}"
    first = [rank for rank in made.ranks if rank.host == made.ranks[0].host and rank.cpus is not None]
    return f"{start}, {many} bound to {things}{_shared(first, made.topology, several=nodes > 1)}."


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
        names = "; ".join(f"{rank.rank}: {rank.cpus}" for rank in first[:FEW])
        own = "; on the first host" if several else " of its own"
        return f"{own} (rank: CPUs {names}{'; ...' if len(bound) > FEW else ''})"
    most, times = Counter(bound).most_common(1)[0]
    known = logical_numbering(topology)
    cores = len(known.core_numbers(most)) if all(cpu in known.core_of for cpu in most) else len(most)
    nodes = ",".join(map(str, topology.nodes_near(most)))
    place = f" of NUMA node {nodes}" if nodes else ""
    return f": {times} ranks{' of the first host' * several} share the {cores} core{'s' * (cores != 1)}{place} (CPUs {most})"


_VARIABLES = {
    "OMP_NUM_THREADS": "gives each rank {0} threads",
    "OMP_PLACES": "lets OpenMP count places in {0}",
    "OMP_PROC_BIND": "lets OpenMP bind its threads {0}",
    "I_MPI_PIN": "lets Intel MPI pin ranks: {0}",
    "I_MPI_PIN_DOMAIN": "pins each rank to {0}",
    "I_MPI_PIN_PROCESSOR_LIST": "pins ranks to the CPUs {0}",
    "I_MPI_PIN_ORDER": "orders the domains {0}",
    **MEANINGS,
}


def files_of(arguments: Sequence[str], version: str | None = None) -> tuple[str, ...]:
    """Return the names of the rankfile and the host file that a line reads; raise BadInput where it is none."""
    want = request_of(parse(arguments, version))
    return tuple(name for name in (want.rankfile, want.hostfile) if name)


def lint(arguments: Sequence[str], machine: Machine, *, version: str | None = None, files: Texts | None = None) -> Lint:
    """Return what a line says, does and does wrong on a machine; raise BadInput where it is no launch line."""
    line = parse(arguments, version, machine.tools or ())
    made = predict(line, machine, files or {})
    return Lint(
        launcher=line.family,
        version=line.version,
        known_from="words that only PRRTE's development branch takes"
        if line.release is None and newer(line)
        else line.known_from,
        line=written(line),
        options=tuple(explained(line)),
        command=tuple(commands(line)),
        ranks=made.ranks,
        binding=in_words(made),
        threads=made.want.threads,
        warnings=tuple(warnings(made)),
        translations=tuple(translations(made)),
    )


def commands(line: Line) -> Iterator[str]:
    """Yield the words of every program, a colon between them."""
    for position, segment in enumerate(line.segments):
        yield from (":",) if position else ()
        yield from segment.command


def warnings(made: Prediction) -> Iterator[LintWarning]:
    """Yield every warning, those about words first; the same one is said once."""
    seen: set[tuple[str, str]] = set()
    for part in (spelling, lists, binding, devices):
        for each in part(made):
            if (each.id, each.what) not in seen:
                seen.add((each.id, each.what))
                yield each


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
        what = f"binds each rank to {'NUMA nodes' if binder.nodes else 'CPUs'} {place}" if place else _memory(binder.memory)
        yield LintOption(text=binder.written, says=what)


def _memory(nodes: str | None) -> str:
    return f"takes the memory of each rank from {nodes}" if nodes else "sets nothing that is known here"


def _clause(said: Said, clause: str) -> str:
    if not said.known:
        return "not known; nothing is guessed of it"
    if said.name in ("-x", "-genv", "-env") and said.values:
        name, equals, value = said.values[0].partition("=")
        value = said.values[1] if len(said.values) > 1 else value
        if (equals or len(said.values) > 1) and name in _VARIABLES:
            return _variable(name, value)
    values = (*said.values, "", "")
    return clause.replace("{0}", values[0][:80]).replace("{1}", values[1][:80])


def _variable(name: str, value: str) -> str:
    for prefix in ("OMPI_MCA_", "PRTE_MCA_"):
        if name.startswith(prefix):
            return f"sets the launcher's parameter {name.removeprefix(prefix)} to {value[:80]}"
    return _VARIABLES.get(name, "is set for the launcher and its ranks").replace("{0}", value[:80])
