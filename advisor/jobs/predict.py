"""Where a line puts each rank, numactl and taskset in it; and what is wrong with that: words, places, GPUs, adapters."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from advisor.errors import BadInput, BadValue
from advisor.jobs import each_rank
from advisor.jobs.launcher import launchers, of_lines, title_of
from advisor.jobs.line import binders, binds_itself, parse, rebound, replaced, request_of, rewrite, shown, written
from advisor.jobs.openmpi import missing, parameters
from advisor.jobs.openmpi_map import hosts_of_file
from advisor.jobs.placement import LintRank, LintWarning
from advisor.jobs.request import (
    ADVISE,
    Binder,
    Line,
    Prediction,
    Refused,
    Request,
    Texts,
    Unclear,
    adapters,
    cpusets_of,
    hosts,
    ranks_here,
    version_source,
    warning,
)
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hardware import fabric_of, is_on_fabric
from advisor.machine.layout import LogicalNumbering, logical_numbering
from advisor.machine.machine import Machine
from advisor.machine.topology import Topology
from advisor.machine.units import count as counted


def binder_cpus(binder: Binder, given: CpuSet | None, seen: Topology) -> CpuSet | None:
    """Return the CPUs of a program after numactl or taskset, None where it sets none; raise Refused or Unclear.

    ``given`` are the CPUs that it was started with. numactl's -C takes no others without --all, and counts +0-3 among them;
    its -N, and taskset, set whatever the job may have.
    """
    inside = seen.inside
    if binder.nodes is not None:
        cpus = union(node.cpuset for node in inside.nodes if node.os_index in memory_nodes(binder.nodes, inside)) & inside.pus
    elif binder.cpus is not None and binder.tool == "taskset":
        cpus = _strided(binder.cpus) & inside.pus
    elif binder.cpus is not None:
        return _numactl_cpus(binder, given or inside.pus, inside)
    else:
        return None
    if not cpus:
        raise Refused(
            f"{binder.tool} exits with an error: {(binder.nodes or binder.cpus or '')[:40]} names no CPU that it may use"
        )
    return cpus


def _numactl_cpus(binder: Binder, given: CpuSet, inside: Topology) -> CpuSet:
    text = binder.cpus or ""
    among = inside.pus if binder.everywhere else given
    if text == "all":
        return among
    sign, plain = (text[0], text[1:]) if text[:1] in "+!" and text else ("", text)
    listed = _parsed(plain)
    if sign == "+":
        order = sorted(among)
        if listed and max(listed) >= len(order):
            raise Unclear(f"{text[:40]} refers to CPUs beyond the {len(order)} that the program may use")
        return CpuSet(order[number] for number in listed)
    if not listed or not listed <= among:
        why = (
            "it accepts only the CPUs that it is started on; --all allows others"
            if listed <= inside.pus
            else "not on this machine"
        )
        raise Refused(f"numactl exits with an error: CPUs {plain[:40]}: {why}")
    return among - listed if sign else listed


def memory_nodes(text: str, inside: Topology) -> set[int]:
    """Return the nodes that numactl takes a word for; raise Refused or Unclear."""
    there = sorted(node.os_index for node in inside.nodes)
    if text == "all":
        return set(there)
    sign, plain = (text[0], text[1:]) if text[:1] in "+!" and text else ("", text)
    if re.match(r"(netdev|file|ip|block|pci):", plain):
        raise Unclear(f"only numactl on the host can determine the NUMA nodes of {plain[:40]}")
    listed = _parsed(plain)
    if sign == "+" and listed and max(listed) < len(there):
        return {there[number] for number in listed}
    if sign == "+" or not listed <= CpuSet(there):
        numbers = ", ".join(map(str, there[:16]))
        raise Refused(f"numactl exits with an error: {plain[:40]} is not on this machine, whose NUMA nodes are {numbers}")
    return set(there) - set(listed) if sign else set(listed)


def _parsed(text: str) -> CpuSet:
    try:
        return CpuSet.parse(text)
    except BadValue as error:
        raise Refused(f"numactl exits with an error: {text[:40]!a} is not a list") from error


def _strided(text: str) -> CpuSet:
    """Return the CPUs of a list of taskset's: 0-6:2 is every second."""
    found: list[CpuSet] = []
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5})(?::(\d{1,4}))?)?", word, re.ASCII)
        if not match or int(match[3] or 1) == 0:
            raise Refused(f"taskset exits with an error: {text[:40]!a} is not a list of CPUs")
        found.append(CpuSet(range(int(match[1]), int(match[2] or match[1]) + 1, int(match[3] or 1))))
    return union(found)


def predict(line: Line, machine: Machine, files: Texts) -> Prediction:
    """Return a line with what it does on a machine."""
    made = Prediction(line, request_of(line), machine, machine.topology or Topology(), files)
    try:
        made = replace(made, want=_with_hosts(made))
        return replace(made, ranks=_ranks(made))
    except Refused as refusal:
        return replace(made, refused=str(refusal))
    except Unclear as why:
        return replace(made, unclear=str(why))
    except BadInput as error:
        return replace(made, unclear=error.problem)


def _with_hosts(made: Prediction) -> Request:
    """Return what a line wants with the hosts of its host file."""
    want = made.want
    if made.open_mpi:
        if not want.hosts and want.hostfile in made.files:
            named = hosts_of_file(made.files[want.hostfile or ""])
            return replace(want, hosts=named, from_file=True)
        return want
    return replace(want, hosts=hosts_of(want, made.files))


def hosts_of(want: Request, files: Texts) -> tuple[tuple[str, int | None], ...]:
    """Return the hosts of the line, or of its host file."""
    arbitrary = (want.level or "").startswith("arbitrary")
    if (want.hosts and not arbitrary) or not want.hostfile or want.hostfile not in files:
        return want.hosts
    if arbitrary:
        each = Counter(word for word in files[want.hostfile].split()[:65536])
        return tuple(each.items())
    found: list[str] = []
    for row in files[want.hostfile].splitlines()[:65536]:
        words = row.partition("#")[0].split()
        if not words:
            continue
        slots = next((word[6:] for word in words[1:] if word.startswith("slots=")), None)
        found.append(f"{words[0]}:{slots}" if slots else words[0])
    return hosts(",".join(found))


def _ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the ranks as the launcher's own module has them, after a numactl or taskset of the command."""
    ranks = of_lines()[made.line.family].ranks
    if ranks is None:
        raise Unclear(f"rank placement by {launchers()[made.line.family].title} is not predicted")
    if not made.open_mpi and not made.topology.inside.pus:
        raise Unclear("the machine's CPUs are unknown")
    if not made.open_mpi and len(made.line.segments) > 1 and any(list(binders(part.command)) for part in made.line.segments):
        raise Unclear("the line starts several programs, and numactl or taskset binds the ranks of only some")
    if own := each_rank.bound(made.line.first.command, made.line.family):
        return tuple(
            _self_bound(ranks(made), [binder_cpus(Binder("taskset", "taskset", cpus=each), None, made.topology) for each in own])
        )
    if other := next(filter(None, (binds_itself(part.command) for part in made.line.segments)), None):
        raise Unclear(f"the CPUs that {other} in the command gives each rank are not predicted")
    return after_binders(made, ranks(made))


def after_binders(made: Prediction, found: tuple[LintRank, ...]) -> tuple[LintRank, ...]:
    """Return the ranks that a launcher places, with what numactl and taskset of the command leave them."""
    if not made.line.inner:
        return found
    return tuple(rank.but(cpus=_inner(made, rank.cpus)) for rank in found)


def _self_bound(ranks: Sequence[LintRank], own: Sequence[CpuSet | None]) -> Iterator[LintRank]:
    """Yield the ranks, each with the CPUs that the list in its command has for its number among those of its host."""
    local = Counter[str | None]()
    for rank in ranks:
        if local[rank.host] >= len(own):
            raise Refused(f"the list in the command has {len(own)} entries, but {rank.host or 'the node'} has more ranks")
        yield rank.but(cpus=own[local[rank.host]])
        local[rank.host] += 1


def _inner(made: Prediction, given: CpuSet | None) -> CpuSet | None:
    """Return the CPUs of a rank after the numactl and taskset of the command."""
    for binder in made.line.inner:
        own = binder_cpus(binder, given, made.topology)
        given = given if own is None else own
    return given


_RENAMED = {
    "rmaps_base_mapping_policy": "rmaps_default_mapping_policy",
    "rmaps_base_ranking_policy": "rmaps_default_ranking_policy",
    "hwloc_base_binding_policy": "hwloc_default_binding_policy",
    "hwloc_base_cpu_list": "hwloc_default_cpu_list",
    "hwloc_base_report_bindings": "display bind",
    "plm_rsh_agent": "plm_ssh_agent",
    "hwloc_base_topo_file": "hwloc_use_topo_file",
}


_LAUNCHERS_OWN = ("rmaps_", "hwloc_base_", "orte_", "plm_", "ras_", "odls_", "ess_", "oob_", "routed_", "iof_", "state_")


def warnings(case: Prediction) -> Iterator[LintWarning]:
    """Yield every warning, those about words first; the same one once. A line that is called better is one without problems."""
    for each in _every(case):
        whole = case.line.words.launcher in (each.better or "").split(" ")
        yield each if not whole or is_accepted(each.better or "", case, each.id) else each.but(better=ADVISE)


def _every(case: Prediction) -> Iterator[LintWarning]:
    seen: set[tuple[str, str]] = set()
    for part in (spelling, lists, binding, devices):
        for each in part(case):
            if (each.id, each.what) not in seen:
                seen.add((each.id, each.what))
                yield each


def is_accepted(text: str, case: Prediction, problem: str = "") -> bool:
    """Whether a line is predicted rank by rank, binds no rank wrongly and has not the problem that it is to cure."""
    try:
        line = parse([text], f"{case.line.family} {case.line.version or ''}", case.machine.tools or ())
    except BadInput:
        return False
    done = predict(line, case.machine, case.files)
    return done.ranks is not None and not any(each.misbinds or each.id == problem for each in _every(done))


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
    if odd := case.line.words.odd:
        what = f"{shown(odd[0])[:80]} is not an option: its hyphen is not an ASCII hyphen"
        why = "Word processors and web pages turn hyphens into dashes; the launcher mistakes the word for the program to start."
        evidence = f"{len(odd)} word{'s' * (len(odd) > 1)} of the line: {', '.join(shown(word)[:60] for word in odd[:5])}"
        yield warning("odd-hyphen", what, why, evidence, written(case.line), bad=True)


def _strays(case: Prediction) -> Iterator[LintWarning]:
    for word in case.line.stray[:4]:
        what, evidence = f"{word[:60]} is read as the program to start", f"-x NAME= {word[:60]} in the line"
        why = "A blank after = ends the variable, so the variable is empty and the next word is read as the program."
        yield warning("stray-blank", what, why, evidence, written(case.line), bad=True)
    for binder in case.line.inner:
        if binder.stray:
            what, better = f"{binder.tool} reads {binder.stray[:60]} as the program to start", f"{binder.tool} --{binder.stray}"
            yield warning("stray-word", what, "The two hyphens before the option are missing.", binder.written[:120], better)


def _unknown(case: Prediction) -> Iterator[LintWarning]:
    if unknown := [said for said in case.line.options if not said.known]:
        names = ", ".join(said.written[0][:60] for said in unknown[:5])
        what = f"{names}: not a known option of {title_of(case.line.family)}"
        why = "The next word may be the option's value or the program; advisor does not guess, so the program may come later."
        evidence = f"the command is read as: {' '.join(case.line.first.command)[:100] or 'none'}"
        yield warning("unknown-option", what, why, evidence)


def _missing(case: Prediction) -> Iterator[LintWarning]:
    """Yield the words that this version does not know; better is the line with all of them put right, where that is accepted."""
    title, words = title_of(case.line.family), list(missing(case.line, case.want))
    line = case.line
    for word in words:
        if word.better.startswith("-") and "..." not in word.better and ", " not in word.better:
            option = next((each for each in line.options if " ".join(each.written) == word.word), None)
            line = replaced(line, option, word.better.split(" ")) if option else line
    whole = written(line)
    whole = whole if words and is_accepted(whole, case) else ""
    for word in words:
        what = f"{title} does not recognize {word.word[:80]} and exits with an error"
        evidence = f"{word.word[:80]} in the line; the version is {version_source(case.line.known_from)}"
        yield warning(word.id, what, f"{word.why[0].upper()}{word.why[1:]}.", evidence, whole or word.better)


def _ignored(case: Prediction) -> Iterator[LintWarning]:
    """Yield the parameters of 4.x that 5.x reads, keeps, and never looks at."""
    for name, value, text in parameters(case.line):
        if not name.startswith(_LAUNCHERS_OWN) or text.startswith(("PRTE_MCA_", "--prtemca", "-prtemca")):
            continue
        if name == "rmaps_rank_file_physical":
            what = "the rankfile's numbers are read as logical cores, not as the kernel's CPU numbers"
            why = "Open MPI 5 silently ignores this parameter; if logical and kernel numbers differ, ranks run on other cores."
            better = "a rankfile of logical core numbers: advisor bind --launcher openmpi5 -- ./app writes one"
            yield warning("physical-ignored", what, why, f"{text[:80]} in the line", better, bad=True)
            continue
        new = _RENAMED.get(name)
        if name == "rmaps_dist_device":
            adapter = value if re.fullmatch(r"\w+", value) and value != "auto" else "ADAPTER"
            way = f"advisor bind --near {adapter} -- ./app writes it"
            new_text: str | None = f"--map-by pe-list=...:ordered with the adapter's cores: {way}"
        elif text.startswith("OMPI_MCA_"):
            new_text = f"PRTE_MCA_{new.replace(' ', '=') if new and ' ' in new else f'{new}={value}'}" if new else None
        else:
            new_text = f"--{new}" if new and " " in new else f"--prtemca {new} {value}" if new else None
        what, better = (
            f"{name[:60]} silently has no effect",
            new_text or "leave it out; Open MPI 5 has no parameter for it",
        )
        why = "The launcher of Open MPI 5.x is PRRTE, which reads only --prtemca and PRTE_MCA_ names."
        id_ = "dist-gone" if name == "rmaps_dist_device" else "ignored-parameter"
        yield warning(
            id_, what, why, f"{text[:100]} in the line", new_text or "leave it out; Open MPI 5 has no parameter for it", bad=True
        )


def _commas(case: Prediction) -> Iterator[LintWarning]:
    text = case.want.map_text or ""
    if "," in text.partition(":")[0] and not text.lower().startswith(("pe-list", "ppr")):
        said = next((each for each in case.line.options if each.name == "--map-by"), None)
        new = text.replace(",", ":", 1)
        what = f"what follows the comma in --map-by {text[:60]} is silently dropped"
        why = "Modifiers come after a colon; Open MPI 5.0.11 uses only the first word (observed)."
        better = rewrite(case.line, lambda each: ("--map-by", new) if each is said else None)
        yield warning("comma", what, why, f"--map-by {text[:60]} in the line", better, bad=True)


def refused(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning that the launcher starts nothing, in its own words."""
    if case.refused and not case.refused.startswith("this version does not recognize"):
        name = "ppr-in-part" if "a multiple of" in case.refused else "refused"
        yield warning(
            name,
            f"{title_of(case.line.family)} starts nothing",
            f"The launcher reports: {case.refused}.",
            _line_words(case),
            ADVISE,
            bad=True,
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
        why = (
            "Without --bind-to, Open MPI 4.x binds each rank of a job with more than 2 ranks to a NUMA node; the node's size "
            "depends on NPS or SNC in the BIOS."
        )
        evidence = f"{counted(nodes, 'NUMA node')} here, {each} cores each"
        yield warning(
            "nps-default", f"each rank is bound to a NUMA node of {each} cores; its size changes with NPS", why, evidence, better
        )
    elif want.level is None:
        why = (
            "The default then depends on the version: up to 2 ranks get a core each; more ranks get a NUMA node each in "
            "Open MPI 4.x, and a core each in 5.x."
        )
        evidence = f"{counted(count, 'rank')} per node; a node has {cores} cores and {counted(nodes, 'NUMA node')}"
        yield warning(
            "default-binding", "the binding is the launcher's default: the first cores, one per rank", why, evidence, better
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
    why = "Each mpirun counts cores from the first core and is unaware of the others."
    evidence = f"CPUs {union(bound)}, {used} of {cores} cores" + (f"; {others + 1} launchers in the line" if others else "")
    better = "advisor bind --slice 1/2 -- ./app, and --slice 2/2 for the other job; or --bind-to none"
    yield warning("same-cores-again", "other jobs on the node run on the same cores", why, evidence, better)


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


def binding(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about the places of ranks; none of several programs whose ranks are not known."""
    if len(case.line.segments) > 1 and case.unclear:
        return
    short = list(_slots(case))
    yield from short or refused(case)
    yield from defaults(case)
    yield from _per_node(case)
    yield from _uneven(case)
    yield from _binders(case)
    bound = [cpus for cpus in case.here if cpus]
    if bound:
        yield from places(case, bound)
    yield from _threads(case, bound)
    yield from jobs(case, bound)


def unbound(case: Prediction) -> bool:
    """Whether the launcher binds no rank: it was set so, or never does of itself."""
    want = case.want
    return (
        want.bind == "none" or want.exports.get("I_MPI_PIN") == "0" or (not of_lines()[case.line.family].binds and not want.bind)
    )


def _per_node(case: Prediction) -> Iterator[LintWarning]:
    want, inside = case.want, case.topology.inside
    by_node = want.level in ("node", "slot") or (want.ppr is not None and want.ppr[1] == "node")
    if not (case.five and by_node and not want.bind and not want.pe) or len(inside.cpu_nodes) < 2:
        return
    why = "Open MPI 5.x maps by node, then binds each rank to the first NUMA node with a free core (open-mpi/ompi#11726)."
    where = (
        f"socket 0 of {len(inside.packages)}" if len(inside.packages) > 1 else f"the first of {len(inside.cpu_nodes)} NUMA nodes"
    )
    written = want.map_text or "-N"
    yield warning(
        "per-node", f"ranks are bound to {where}", why, f"--map-by {written}", rebound(case.line, spread(case)), bad=True
    )


def _uneven(case: Prediction) -> Iterator[LintWarning]:
    want, known = case.want, logical_numbering(case.topology)
    kind = want.ppr[1] if want.ppr else want.level
    if not case.open_mpi or kind not in ("l3cache", "numa", "package") or not (want.pe or (want.ppr or (1, ""))[0] > 1):
        return
    sizes = sorted({len([core for core in known.cores if core <= part]) for part in cpusets_of(kind, case.topology, known)})
    if len(sizes) > 1:
        why = "If parts differ in size, Open MPI 4.1 silently crosses their boundaries, and 5.0 silently skips small parts."
        evidence = f"one {kind} has {' or '.join(map(str, sizes))} cores here"
        better = "a rankfile: advisor bind writes one"
        yield warning(
            "uneven-parts", f"--map-by {want.map_text} does not place ranks as intended", why, evidence, better, bad=True
        )


def _slots(case: Prediction) -> Iterator[LintWarning]:
    want = case.want
    if not case.open_mpi or not want.ranks or not want.hosts or want.oversubscribe or want.hostfile:
        return
    slots = sum(slots or 1 for _, slots in want.hosts)
    if any(name.startswith(("SLURM_", "PBS_")) for name in case.line.words.environment) or slots >= want.ranks or want.ppr:
        return
    each = -(-want.ranks // len(want.hosts))
    named = ",".join(f"{name}:{each}" for name, _ in want.hosts)
    better = rewrite(case.line, lambda said: ("--host", named) if said.name == "--host" else None)
    why = "A host in --host without :N has one slot; outside a scheduler's job, Open MPI refuses more ranks."
    yield warning(
        "slots-short",
        f"{want.ranks} ranks, but the hosts have {counted(slots, 'slot')}",
        why,
        f"--host with {len(want.hosts)} names",
        better,
    )


def _binders(case: Prediction) -> Iterator[LintWarning]:
    for binder in case.line.inner:
        try:
            own = binder_cpus(binder, None, case.topology)
        except Refused as refusal:
            yield warning("binder-beyond", str(refusal), "It refuses CPUs and nodes that do not exist.", binder.written[:80])
            continue
        except Unclear:
            continue
        if own is not None and not unbound(case) and not case.refused:
            plain = (
                rebound(case.line, ("--bind-to", "none")) if case.open_mpi else f"no {binder.tool}, or no binding by the launcher"
            )
            why = f"{binder.tool} runs after the launcher has bound the rank, and binds it again: the launcher's binding is lost."
            evidence = f"{binder.written[:60]} means CPUs {own}"
            yield warning(
                "binders-fight",
                f"every rank may run on all {counted(len(own), 'CPU')} set by {binder.tool}",
                why,
                evidence,
                plain,
            )
    for binder in case.line.words.around:
        if (binder.cpus or binder.nodes) and case.line.family != "numactl":
            why = "The launcher rebinds its ranks, and its daemons on other hosts are not affected."
            yield warning(
                "binder-outside", f"{binder.tool} around the launcher does not bind the ranks", why, binder.written[:80], ADVISE
            )


def _threads(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    threads = case.want.threads
    if not threads:
        return
    count, cores = ranks_here(case) or 1, len(case.topology.inside.cores)
    known = logical_numbering(case.topology)
    narrow = min((len(cores_of(cpus, known)) for cpus in bound), default=None)
    if narrow is not None and threads > narrow:
        why = "The threads take turns on their rank's cores; OpenMP starts OMP_NUM_THREADS threads in any case."
        better = rebound(case.line, spread(case)) if case.open_mpi else f"{threads} cores per rank"
        evidence = f"OMP_NUM_THREADS={threads}, but {counted(narrow, 'core')} per rank"
        yield warning("too-many-threads", f"{threads} threads of a rank share {counted(narrow, 'core')}", why, evidence, better)
        return
    most = max(Counter(rank.host for rank in case.ranks or ()).values(), default=count)
    if most * threads > cores and case.ranks:
        none = "" if bound else ", none bound"
        evidence = f"{counted(most, 'rank')} of {threads} threads on a node of {cores} cores{none}"
        why = "The threads take turns on the cores" + (" of the node, wherever the kernel puts them." if none else ".")
        yield warning("too-many-threads", "there are more threads than cores", why, evidence, ADVISE)


def places(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield the warnings about where the ranks of the first host are."""
    yield from _shared(case, bound)
    yield from _overlapping(bound)
    yield from _one_memory(case, bound)
    yield from _borders(case, bound)
    yield from _adapter(case, bound)


def _shared(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    known = logical_numbering(case.topology)
    most, times = Counter(bound).most_common(1)[0]
    if times > 1 and not case.line.inner:
        cores = len({known.core_of[cpu] for cpu in most if cpu in known.core_of})
        name = "same-core" if cores == 1 else "same-cpus"
        if name == "same-cpus" and times <= cores and case.want.level != "pe-list":
            return
        why = "Ranks with the same CPUs take turns on them or migrate between them."
        evidence = f"CPUs {most}: {counted(cores, 'core')} for {times} ranks"
        where = f"core {known.core_of.get(most.first or 0, 0)}" if cores == 1 else f"the same {cores} cores"
        yield warning(name, f"{times} ranks run on {where}", why, evidence, ADVISE)


def _overlapping(bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield a warning where ranks share some CPUs, and have others for themselves."""
    holder: dict[int, int] = {}
    for rank, cpus in enumerate(bound[:4096]):
        other = next((holder[cpu] for cpu in cpus if cpu in holder and bound[holder[cpu]] != cpus), None)
        if other is not None:
            why = "They take turns on the shared cores and run slower than ranks with cores of their own."
            evidence = f"rank {other} has CPUs {bound[other]}, rank {rank} has {cpus}"
            both = counted(len(bound[other] & cpus), "CPU")
            yield warning("overlapping", f"ranks {other} and {rank} of a node share {both}", why, evidence, ADVISE)
            return
        holder.update(dict.fromkeys((cpu for cpu in cpus if cpu not in holder), rank))


def _one_memory(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield a warning where several ranks are all at one memory and the others of the machine stand idle.

    Of a list of cores, a rankfile or a numactl it is taken that this is meant; two ranks are too few to say.
    """
    nodes = case.topology.inside.cpu_nodes
    listed = case.want.level in ("pe-list", "rankfile") or (case.want.bind or "").startswith(("map_", "mask_", "user:"))
    home = next((node for node in nodes if union(bound) <= node.cpuset), None)
    if len(bound) < 3 or len(nodes) < 2 or home is None or listed or case.line.inner or case.want.exports.get("I_MPI_PIN_DOMAIN"):
        return
    why = "Their data comes from that node's memory: the channels of the other nodes stay unused."
    evidence = f"{counted(len(bound), 'rank')} have CPUs {union(bound)}; node {home.os_index} has {home.cpuset}"
    better = rebound(case.line, spread(case)) if case.open_mpi else ADVISE
    yield warning(
        "one-memory", f"all ranks of a node are on NUMA node {home.os_index}, one of {len(nodes)}", why, evidence, better
    )


def _borders(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield a warning for each kind of border that ranks cross although they need not; each rank in its worst one."""
    known = logical_numbering(case.topology)
    kinds = (("package", "socket", "sockets"), ("numa", "NUMA node", "NUMA nodes"), ("l3cache", "L3 group", "L3 groups"))
    told: set[int] = set()
    for kind, one, many in kinds:
        parts = cpusets_of(kind, case.topology, known)
        crossing = [i for i, cpus in enumerate(bound[:4096]) if i not in told and (sum(1 for part in parts if part & cpus) > 1)]
        if not crossing:
            continue
        cpus = bound[crossing[0]]
        touched = [i for i, part in enumerate(parts) if part & cpus]
        if (
            len(cores_of(cpus, known)) > min(len(cores_of(part, known)) for part in parts)
            and union(parts[i] for i in touched) == cpus
        ):
            continue  # whole parts on purpose
        told.update(crossing)
        why = f"Threads of one rank then share data across {many}, and its memory is on one side only."
        evidence = f"rank {crossing[0]} has CPUs {cpus}: {one}s {', '.join(map(str, touched[:8]))}"
        name = {"package": "across-socket", "numa": "across-numa", "l3cache": "across-l3"}[kind]
        what = f"{counted(len(crossing), 'rank')} on a node span{'s' * (len(crossing) == 1)} {many}"
        yield warning(name, what, why, evidence, ADVISE)


def _adapter(case: Prediction, bound: Sequence[CpuSet]) -> Iterator[LintWarning]:
    """Yield a warning where ranks of several hosts are far from the adapter; on one host no message goes through it."""
    if len({rank.host for rank in case.ranks or ()}) < 2:
        return
    hcas = {hca.name: hca for hca in case.machine.hcas or ()}
    fabric, places = fabric_of(tuple(hcas.values())), dict(adapters(case.machine))
    if case.want.adapter in places:
        places = {case.want.adapter or "": places[case.want.adapter or ""]}
    else:  # Ethernet beside a fabric is no adapter that ranks should be near to.
        places = {name: nodes for name, nodes in places.items() if is_on_fabric(hcas[name], fabric)}
    topology = case.topology.inside
    near = union(node.cpuset for node in topology.nodes if any(node.os_index in nodes for nodes in places.values()))
    sockets = union(package.cpuset for package in topology.packages if package.cpuset & near)
    if not near or not sockets or union(bound) & sockets or len(topology.packages) < 2:
        return
    name, nodes = next(iter(places.items()))
    why = "Their messages cross the socket link to reach the adapter; osu_mbw_mr measured about half the rate this way."
    evidence = f"{name} is on NUMA node {','.join(map(str, nodes))}; the ranks have CPUs {union(bound)}"
    better = f"advisor bind --near {name} -- ./app"
    yield warning("far-from-hca", f"all ranks of a node are on a socket without {name}", why, evidence, better)


MEANINGS: Mapping[str, str] = {
    "CUDA_VISIBLE_DEVICES": "makes only the GPUs {0} visible to CUDA, renumbered 0, 1, ...",
    "CUDA_DEVICE_ORDER": "numbers NVIDIA's GPUs by {0}",
    "ROCR_VISIBLE_DEVICES": "makes only the GPUs {0} visible to ROCm, renumbered 0, 1, ...",
    "HIP_VISIBLE_DEVICES": "makes only the GPUs {0} visible to HIP, numbered among those that ROCm shows",
    "ZE_AFFINITY_MASK": "makes only the GPUs or tiles {0} visible to Level Zero",
    "ZE_FLAT_DEVICE_HIERARCHY": "numbers Intel's GPUs as {0}: COMPOSITE by card, FLAT by tile",
    "UCX_NET_DEVICES": "sends messages by {0}",
    "UCX_TLS": "lets UCX use {0}",
    "NCCL_IB_HCA": "lets NCCL use the adapters {0}",
    "NCCL_SOCKET_IFNAME": "lets NCCL use the network interfaces {0} for sockets",
    "MPICH_OFI_NIC_POLICY": "lets Cray MPICH assign adapters by {0}",
    "MPICH_OFI_NIC_MAPPING": "assigns Slingshot adapters to local ranks by {0}",
    "FI_CXI_DEVICE_NAME": "lets libfabric use the Slingshot adapters {0}",
    "FI_CXI_DEFAULT_CQ_SIZE": "creates completion queues with {0} entries",
    "FI_CXI_RX_MATCH_MODE": "matches receives by {0}",
    "FI_CXI_RDZV_THRESHOLD": "sends messages above {0} bytes with the rendezvous protocol",
    "FI_CXI_OFLOW_BUF_SIZE": "sets the buffer size for unexpected messages to {0} bytes",
}
"""CUDA C++ programming guide and NVIDIA's MIG user guide; ROCm's page on GPU isolation; Level Zero's programming guide; UCX's
frequently asked questions; NCCL's page on environment variables; intro_mpi(3) of Cray MPICH; fi_cxi(7)."""


_CXI = (
    "ODP FORCE_ODP ATS ATS_MLOCK_MODE RDZV_THRESHOLD RDZV_GET_MIN RDZV_EAGER_SIZE RDZV_PROTO DISABLE_ALT_READ_CMDQ"
    " DISABLE_NON_INJECT_MSG_IDC DISABLE_HOST_REGISTER OFLOW_BUF_SIZE OFLOW_BUF_MIN_POSTED OFLOW_BUF_COUNT OFLOW_BUF_MAX_CACHED"
    " SAFE_DEVMEM_COPY_THRESHOLD OPTIMIZED_MRS MR_MATCH_EVENTS PROV_KEY_CACHE LLRING_MODE CQ_POLICY DEFAULT_VNI"
    " RNR_MAX_TIMEOUT_US EQ_ACK_BATCH_SIZE RX_MATCH_MODE HYBRID_PREEMPTIVE HYBRID_RECV_PREEMPTIVE HYBRID_POSTED_RECV_PREEMPTIVE"
    " HYBRID_UNEXPECTED_MSG_PREEMPTIVE REQ_BUF_SIZE REQ_BUF_MIN_POSTED REQ_BUF_MAX_CACHED REQ_BUF_MAX_COUNT MSG_LOSSLESS"
    " FC_RETRY_USEC_DELAY CTRL_RX_EQ_MAX_SIZE DEFAULT_CQ_SIZE DISABLE_EQ_HUGETLB DISABLE_CQ_HUGETLB DEFAULT_TX_SIZE"
    " DEFAULT_RX_SIZE SW_RX_TX_INIT_MAX DEVICE_NAME TELEMETRY TELEMETRY_RGID CQ_FILL_PERCENT COLL_FABRIC_MGR_URL"
    " COLL_TIMEOUT_USEC COLL_USE_DMA_PUT DISABLE_HMEM_DEV_REGISTER FORCE_ZE_HMEM_SUPPORT ENABLE_TRIG_OP_LIMIT"
)
"""What follows FI_CXI_ in fi_cxi(7) (ofiwg/libfabric, man/fi_cxi.7.md, caf5652); versions add some, an odd name is no fault."""


_KNOWN = frozenset(f"FI_CXI_{word}" for word in _CXI.split())


_HIP = ("HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


_NUMBERS = re.compile(r"\d{1,3}(?:,\d{1,3})*", re.ASCII)


_MAPPED = re.compile(r"\s*(\d{1,2})\s*:\s*(\d{1,4}(?:\s*,\s*\d{1,4})*)\s*", re.ASCII)


def devices(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about GPUs and adapters that variables of the line choose."""
    yield from _hidden_twice(case)
    yield from _instances(case)
    yield from _tiles(case)
    yield from _ports(case)
    yield from _prefixes(case)
    yield from _policy(case)
    yield from _mapping(case)
    yield from _misspelt(case)


def _hidden_twice(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where HIP is given numbers that ROCm's list leaves none for: it counts what is left from 0."""
    shown = case.want.exports.get("ROCR_VISIBLE_DEVICES", "")
    for name in _HIP:
        asked = case.want.exports.get(name, "")
        if not shown or not _NUMBERS.fullmatch(asked):
            continue
        count = len(shown.split(","))
        beyond = [number for number in asked.split(",") if int(number) >= count]
        if beyond:
            what = f"{name} asks for GPU {beyond[0]}, but ROCR_VISIBLE_DEVICES leaves {count}, numbered from 0"
            why = "ROCm hides GPUs first, and HIP then numbers the rest: the two lists together hide too many GPUs."
            yield warning("gpus-hidden-twice", what, why, f"{name}={asked[:40]}", f"leave {name} out", bad=True)


def _instances(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where a process is given several MIG instances: CUDA shows it the first alone."""
    shown = case.want.exports.get("CUDA_VISIBLE_DEVICES", "").split(",")
    if len(shown) > 1 and all(each.strip().startswith("MIG-") for each in shown):
        why = "CUDA uses only one MIG instance per process and ignores the rest of the list."
        evidence = f"{len(shown)} MIG instances for every rank"
        better = "one instance for each rank: advisor bind --strategy gpu-near -- ./app"
        yield warning("one-mig-instance", "every rank uses only the first MIG instance", why, evidence, better, bad=True)


def _tiles(case: Prediction) -> Iterator[LintWarning]:
    mask = case.want.exports.get("ZE_AFFINITY_MASK", "")
    if case.want.exports.get("ZE_FLAT_DEVICE_HIERARCHY", "").upper() == "FLAT" and "." in mask:
        why = "With FLAT, every tile is a device and is numbered as one; the form CARD.TILE requires COMPOSITE."
        better = "ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE, or tile numbers"
        what, evidence = f"ZE_AFFINITY_MASK={mask[:40]} names no tile", "ZE_FLAT_DEVICE_HIERARCHY=FLAT in the line"
        yield warning("tiles-of-flat", what, why, evidence, better, bad=True)


def _ports(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where UCX is given an adapter without its port, or one that the machine lacks."""
    adapters = {hca.name for hca in case.machine.hcas or ()}
    interfaces = {port.netdev for hca in case.machine.hcas or () for port in hca.ports or ()}
    interfaces |= {nic.name for nic in case.machine.nics or ()}
    listed = [word.strip() for word in case.want.exports.get("UCX_NET_DEVICES", "").lstrip("^").split(",")]
    for word in listed:
        name, colon, _ = word.partition(":")
        if name in adapters and not colon:
            why = "UCX identifies an adapter by name and port."
            yield warning("no-port", f"UCX finds no device {word}", why, f"UCX_NET_DEVICES={word}", f"UCX_NET_DEVICES={word}:1")
        elif adapters and name and name != "all" and name not in adapters | interfaces:
            why = "UCX uses only the devices in its list."
            evidence = f"adapters here: {', '.join(sorted(adapters))[:80]}"
            yield warning("no-such-adapter", f"UCX finds no device {word[:40]}", why, evidence)


def _prefixes(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where NCCL takes more than is named: without = a name is the beginning of names."""
    names = {
        "NCCL_IB_HCA": {hca.name for hca in case.machine.hcas or ()},
        "NCCL_SOCKET_IFNAME": {nic.name for nic in case.machine.nics or ()},
    }
    for variable, there in names.items():
        text = case.want.exports.get(variable, "")
        listed = [word.partition(":")[0] for word in text.lstrip("^").split(",")]
        if not text or text.lstrip("^").startswith("="):
            continue
        more = sorted({name for name in there for word in listed if word in there and name.startswith(word)} - {*listed})
        if more:
            sign = text[: len(text) - len(text.lstrip("^"))]
            why = "NCCL reads a name as a prefix; an equals sign before the list makes it exact."
            better = f"{variable}={sign}={text.lstrip('^')}"
            what = f"{variable} means {', '.join(more)[:60]} too"
            yield warning("nccl-prefix", what, why, f"{variable}={text[:60]}", better)


def _policy(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where Cray MPICH ends: its policy NUMA wants each rank inside one NUMA node."""
    if case.want.exports.get("MPICH_OFI_NIC_POLICY", "").upper() != "NUMA" or not case.ranks:
        return
    nodes = case.topology.inside.cpu_nodes
    for rank in case.ranks[:4096]:
        held = case.topology.inside.pus if rank.cpus is None else rank.cpus
        if sum(1 for node in nodes if node.cpuset & held) > 1:
            what = f"Cray MPICH aborts: rank {rank.rank} is not inside one NUMA node"
            why = (
                "With the NUMA policy, each rank gets its node's adapter, but this rank is on several nodes "
                "(Frontier user guide)."
            )
            better = "place each rank inside one NUMA node, or set MPICH_OFI_NIC_POLICY=GPU"
            yield warning("nic-policy", what, why, f"its CPUs are {held}", better, bad=True)
            return


def _mapping(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where Cray MPICH's map is not used, or leaves local ranks out."""
    exports = case.want.exports
    text, policy = exports.get("MPICH_OFI_NIC_MAPPING", "").strip("'\""), exports.get("MPICH_OFI_NIC_POLICY", "")
    if not text:
        return
    if policy.upper() != "USER":
        why = "It takes effect only with the policy USER (see intro_mpi(3) of Cray MPICH)."
        better = "add MPICH_OFI_NIC_POLICY=USER"
        yield warning("nic-mapping", "MPICH_OFI_NIC_MAPPING has no effect", why, f"policy: {policy[:20] or 'none'}", better)
        return
    parts = [_MAPPED.fullmatch(part) for part in text.split(";") if part.strip()]
    mapped = {int(rank) for part in parts if part for rank in part[2].split(",")}
    missing = [local for local in range(len(case.here)) if local not in mapped]
    if all(parts) and missing:
        what = f"local rank {missing[0]} has no adapter in MPICH_OFI_NIC_MAPPING"
        why = "The map must name an adapter for each rank of a node."
        yield warning("nic-mapping", what, why, f"{len(case.here)} ranks on a node, but the map is {text[:60]}", bad=True)


def _misspelt(case: Prediction) -> Iterator[LintWarning]:
    """Yield a warning where a variable of libfabric is nearly one that there is."""
    for name in case.want.exports:
        if name.startswith("FI_CXI_") and name not in _KNOWN:
            near = get_close_matches(name, _KNOWN, n=1, cutoff=0.92)
            if near:
                why = "libfabric reads only the variables that it knows and silently ignores all others."
                yield warning("misspelt-variable", f"{name[:60]} has no effect", why, "fi_cxi(7) does not list it", near[0])


def lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about the lists of a line and of its files."""
    own = of_lines()[case.line.family].lists
    if own:
        yield from own(case)
