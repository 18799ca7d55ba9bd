"""Warnings about words: what a version does not know, ignores silently, or reads as something else."""

from collections.abc import Iterator, Sequence

from advisor.language.units import count as counted
from advisor.launch.lint.openmpi.mca import parameters
from advisor.launch.lint.predict import Prediction, ranks_here
from advisor.launch.lint.rewrite import missing, rebound, rewrite, shown, swapped, written
from advisor.launch.registry import title_of
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import LogicalNumbering, logical_numbering
from advisor.model.placement import LintWarning

_RENAMED = {
    "rmaps_base_mapping_policy": "rmaps_default_mapping_policy",
    "rmaps_base_ranking_policy": "rmaps_default_ranking_policy",
    "hwloc_base_binding_policy": "hwloc_default_binding_policy",
    "hwloc_base_cpu_list": "hwloc_default_cpu_list",
    "hwloc_base_report_bindings": "display bind",
    "plm_rsh_agent": "plm_ssh_agent",
    "hwloc_base_topo_file": "hwloc_use_topo_file",
}
ADVISE = "advisor bind writes a line for this machine"
_LAUNCHERS_OWN = ("rmaps_", "hwloc_base_", "orte_", "plm_", "ras_", "odls_", "ess_", "oob_", "routed_", "iof_", "state_")


def spelling(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about the words of a line."""
    yield from _hyphens(case)
    yield from _strays(case)
    yield from _unknown(case)
    yield from _missing(case)
    if case.five:
        yield from _ignored(case)
        yield from _commas(case)


def _hyphens(case: Prediction) -> Iterator[LintWarning]:
    odd = case.line.words.odd
    if odd:
        yield LintWarning(
            id="odd-hyphen",
            what=f"{shown(odd[0])[:80]} is not an option: its hyphen is not the ASCII one",
            why="Word processors and web pages turn - into a dash; the launcher takes the word for the program to start.",
            evidence=f"{len(odd)} word{'s' * (len(odd) > 1)} of the line: {', '.join(shown(word)[:60] for word in odd[:5])}",
            better=written(case.line),
            misbinds=True,
        )


def _strays(case: Prediction) -> Iterator[LintWarning]:
    for word in case.line.stray[:4]:
        yield LintWarning(
            id="stray-blank",
            what=f"{word[:60]} is taken for the program to start",
            why="A blank after = ends the variable: it is empty, and the next word stands where the program should.",
            evidence=f"-x NAME= {word[:60]} in the line",
            better=written(case.line),
            misbinds=True,
        )
    for binder in case.line.inner:
        if binder.stray:
            yield LintWarning(
                id="stray-word",
                what=f"{binder.tool} takes {binder.stray[:60]} for the program to start",
                why="Its option lacks the two hyphens.",
                evidence=binder.written[:120],
                better=f"{binder.tool} --{binder.stray}",
            )


def _unknown(case: Prediction) -> Iterator[LintWarning]:
    unknown = [said for said in case.line.options if not said.known]
    if unknown:
        names = ", ".join(said.written[0][:60] for said in unknown[:5])
        yield LintWarning(
            id="unknown-option",
            what=f"{names}: not an option of {title_of(case.line.family)} that is known here",
            why="What follows it may be its value or the program; nothing is guessed, and the command may begin elsewhere.",
            evidence=f"the command is read as: {' '.join(case.line.first.command)[:100] or 'none'}",
            better=None,
        )


def _missing(case: Prediction) -> Iterator[LintWarning]:
    title = title_of(case.line.family)
    for word in missing(case.line, case.want):
        said = next(each for each in case.line.options if " ".join(each.written) == word.word)
        whole = word.better.startswith("-") and "..." not in word.better and ", " not in word.better
        yield LintWarning(
            id=word.id,
            what=f"{title} does not know {word.word[:80]}: it ends with an error",
            why=f"{word.why[0].upper()}{word.why[1:]}.",
            evidence=f"{word.word[:80]} in the line; the version is from {case.line.known_from}",
            better=swapped(case.line, said, word.better.split(" ")) if whole else word.better,
        )


def _ignored(case: Prediction) -> Iterator[LintWarning]:
    """Yield the parameters of 4.x that 5.x reads, keeps, and never looks at."""
    for name, value, text in parameters(case.line):
        if not name.startswith(_LAUNCHERS_OWN) or text.startswith(("PRTE_MCA_", "--prtemca", "-prtemca")):
            continue
        if name == "rmaps_rank_file_physical":
            yield LintWarning(
                id="physical-ignored",
                what="the rankfile's numbers are read as logical cores, not as the kernel's",
                why="5.x has no such parameter and says nothing; where logical and kernel's numbers differ, ranks sit elsewhere.",
                evidence=f"{text[:80]} in the line",
                better="a rankfile of logical core numbers: advisor bind --launcher openmpi5 writes one",
                misbinds=True,
            )
            continue
        new = _RENAMED.get(name)
        if name == "rmaps_dist_device":
            new_text: str | None = "--map-by pe-list=...:ordered with the adapter's cores: advisor bind --near writes it"
        elif text.startswith("OMPI_MCA_"):
            new_text = f"PRTE_MCA_{new.replace(' ', '=') if new and ' ' in new else f'{new}={value}'}" if new else None
        else:
            new_text = f"--{new}" if new and " " in new else f"--prtemca {new} {value}" if new else None
        yield LintWarning(
            id="dist-gone" if name == "rmaps_dist_device" else "ignored-parameter",
            what=f"{name[:60]} has no effect, and nothing says so",
            why="The launcher of 5.x is PRRTE: it reads --prtemca and PRTE_MCA_ names only.",
            evidence=f"{text[:100]} in the line",
            better=new_text or "leave it out; no parameter of 5.x does that",
            misbinds=True,
        )


def _commas(case: Prediction) -> Iterator[LintWarning]:
    text = case.want.map_text or ""
    if "," in text.partition(":")[0] and not text.lower().startswith(("pe-list", "ppr")):
        said = next((each for each in case.line.options if each.name == "--map-by"), None)
        new = text.replace(",", ":", 1)
        yield LintWarning(
            id="comma",
            what=f"what follows the comma in --map-by {text[:60]} is silently dropped",
            why="Modifiers come after a colon; 5.0.11 was seen to map by the first word alone.",
            evidence=f"--map-by {text[:60]} in the line",
            better=rewrite(case.line, lambda each: ("--map-by", new) if each is said else None),
            misbinds=True,
        )


def refused(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning that the launcher starts nothing, in its own words."""
    if case.refused and not case.refused.startswith("it does not know"):
        name = "ppr-in-part" if "a multiple of" in case.refused else "refused"
        yield warning(
            name, f"{title_of(case.line.family)} starts nothing", f"It says: {case.refused}.", _line_words(case), ADVISE, bad=True
        )


def _line_words(case: Prediction) -> str:
    want = case.want
    return f"{want.ranks or 'all'} ranks, --map-by {want.map_text or 'not given'}, --bind-to {want.bind or 'not given'}"[:160]


def defaults(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning that the line leaves the binding to Open MPI, whose choice changes with version and BIOS."""
    want, inside = case.want, case.topology.inside
    if not case.open_mpi or (want.bind or want.pe or want.rankfile or want.cpus or want.oversubscribe):
        return
    count = ranks_here(case) or 0
    better = rebound(case.line, spread(case))
    nodes, cores = len(inside.cpu_nodes), len(inside.cores)
    ppr_or_slot = want.level in (None, "ppr", "slot", "node")
    if case.four and ppr_or_slot and (want.ranks or 3) > 2:
        each = cores // max(1, nodes)
        why = "Without --bind-to, 4.x binds more than 2 ranks to NUMA nodes; NPS or SNC in the BIOS changes what that is."
        evidence = f"{counted(nodes, 'NUMA node')} here, {each} cores each"
        yield warning(
            "nps-default", f"each rank is bound to a NUMA node of {each} cores, which changes with NPS", why, evidence, better
        )
    elif want.level is None:
        why = "The version decides then: up to 2 ranks get a core each, more get a NUMA node each in 4.x and a core in 5.x."
        evidence = f"{counted(count, 'rank')} on a node, {cores} cores and {counted(nodes, 'NUMA node')} here"
        yield warning(
            "default-binding", "the binding is the launcher's default: one core a rank, the first ones", why, evidence, better
        )


def jobs(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield a warning that a second such job lands on the same cores."""
    cores = len(case.topology.inside.cores)
    default = not given(case) and case.open_mpi
    others = case.line.words.others
    known = logical_numbering(case.topology)
    used = len(cores_of(union(bound), known))
    if not bound or not (others or (default and used * 2 <= cores and len(case.here) <= 2)):
        return
    why = "Each mpirun counts cores from the first one and knows nothing of the others."
    evidence = f"CPUs {union(bound)}, {used} of {cores} cores" + (f"; {others + 1} launchers in the line" if others else "")
    better = "advisor bind --slice 1/2 and 2/2, or --bind-to none"
    yield warning("same-cores-again", "further jobs on the node run on the same cores", why, evidence, better)


def given(case: Prediction) -> bool:
    """Whether the line says anything of binding."""
    want = case.want
    pins = any(name.startswith("I_MPI_PIN") for name in want.exports)
    return bool(want.bind or want.level or want.pe or want.rankfile or want.cpus or pins)


def spread(case: Prediction) -> tuple[str, ...]:
    """Return binding options for this launcher that name everything, for the ranks of a node."""
    count, title = ranks_here(case) or 1, case.line.family
    parts = [len(case.topology.inside.l3), len(case.topology.inside.cpu_nodes), len(case.topology.inside.packages)]
    kind, number = next(
        ((kind, n) for kind, n in zip(("l3cache", "numa", "package"), parts, strict=True) if n and count % n == 0), ("core", 0)
    )
    name = "socket" if kind == "package" and title != "openmpi5" else kind
    if number == 0 or len(case.line.segments) > 1:  # ppr counts each program's ranks again
        return ("--map-by", "core", "--bind-to", "core")
    width = case.want.threads or 1
    pe = f":PE={width}" if width > 1 else ""
    return ("--map-by", f"ppr:{count // number}:{name}{pe}", "--bind-to", "core")


def cores_of(cpus: CpuSet, known: LogicalNumbering) -> set[int]:
    """Return the logical numbers of the cores of some CPUs."""
    return {known.core_of[cpu] for cpu in cpus if cpu in known.core_of}


def warning(name: str, what: str, why: str, evidence: str, better: str | None = None, *, bad: bool = False) -> LintWarning:
    """Return a warning."""
    return LintWarning(id=name, what=what, why=why, evidence=evidence, better=better, misbinds=bad)
