"""Asks the launcher that is installed where it would put a line's ranks on a machine; of the line nothing is started.

Open MPI plans with ``--rtos donotlaunch --display map`` (5) or ``--do-not-launch --display-map`` (4) and starts nothing. Hydra
says what it binds (HYDRA_TOPO_DEBUG) while it starts ``true`` in place of the program, on this host only. Each gets the machine
as an hwloc XML, a folder of its own that is removed, few variables, and of the line only the words that say where ranks go.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path

from advisor.errors import BadInput, BadValue, CannotWork
from advisor.jobs.line import binders, binds_itself, parse, started_by
from advisor.jobs.observe import reported
from advisor.jobs.openmpi import missing, parameters
from advisor.jobs.placement import FEW, LintAnswer, LintRank, Placed
from advisor.jobs.predict import after_binders
from advisor.jobs.request import Prediction, Refused, Release, Said, Segment, Unclear, counted, of_prrte, release_of
from advisor.jobs.scripts.expansion import words
from advisor.jobs.started.hosts import read_bytes
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.hosts.base import Ran
from advisor.machine.hosts.live import LiveHost, find
from advisor.machine.layout import LogicalNumbering, hwloc_xml, logical_numbering
from advisor.machine.machine import Machine
from advisor.machine.sources.scheduler import classify
from advisor.machine.units import plain

_PATIENCE = 10.0
_MOST = 4096
"""Ranks that Open MPI is asked about: a plan of these has half a megabyte."""
_MOST_STARTED = 256
"""Ranks that Hydra is asked about: it starts ``true`` so often."""
_OWN = ("PATH", "HOME", "LD_LIBRARY_PATH", "OPAL_PREFIX", "PRTE_PREFIX", "PMIX_INSTALL_PREFIX")
"""Variables that a launcher needs to find itself; no scheduler's: the hosts are those of the line."""


@dataclass(frozen=True)
class Installed:
    """A launcher on this machine."""

    path: str
    family: str
    version: str | None

    @property
    def release(self) -> Release | None:
        """The numbers of its version."""
        return release_of(self.version)


@cache
def installed(program: str) -> Installed | None:
    """Return the launcher that a program's name starts here; None where there is none, or root does not trust it."""
    path = find(program)
    if path is None:
        return None
    ran = LiveHost().run((program, "--version"), _PATIENCE)
    tool = classify((ran.out + b"\n" + ran.err).decode("utf-8", "replace")) if ran.why is None else None
    if tool is None or tool.version is None:
        return None
    try:
        version = of_prrte(tool.version) if tool.name == "prrte" else tool.version
    except BadValue:
        return None
    old = (release_of(version) or (5, 0, 0)) < (5, 0, 0)
    family = {"openmpi": "openmpi4" if old else "openmpi5", "prrte": "openmpi5"}.get(tool.name, tool.name)
    return Installed(path, family, version)


def ask(made: Prediction) -> LintAnswer | None:
    """Return where the installed launcher puts the ranks of a line, or that it refuses it; None where it is not asked."""
    line = made.line
    plain_word = "/" not in line.words.path and line.family in ("openmpi4", "openmpi5", "mpich")
    here = installed(line.words.launcher) if plain_word else None
    if here is None or here.family != line.family or (line.release is not None and line.release != here.release):
        return None
    words = _of_hydra(made) if line.family == "mpich" else _of_open_mpi(made, here)
    topology = hwloc_xml(made.topology) if words is not None else None
    if words is None or topology is None:
        return None
    with tempfile.TemporaryDirectory(prefix="advisor-ask-") as name:
        folder = Path(name)
        (folder / "topology.xml").write_text(topology)
        for own, text in _files(made).items():
            (folder / own).write_text(text)
        argv = (here.path, *(word.replace(_FOLDER, name) for word in words))
        ran = LiveHost().ask(argv, _variables(made, name), _PATIENCE)
    return _answer(made, here, ran)


def installed_for(words: Sequence[str], version: str | None, machine: Machine, *, live: bool) -> Installed | None:
    """Return the launcher that a line starts here: on this machine, whatever its words look like.

    Of another machine whose launchers are not known it is taken where the line's own words agree.
    """
    try:
        line = parse(words, version, machine.tools or ())
    except BadInput:
        return None
    here = installed(line.words.launcher) if "/" not in line.words.path and line.words.launcher != "srun" else None
    if here is None or here.family not in started_by(line.words.launcher):
        return None
    said = version is not None and (release_of(line.version) != here.release or line.family != here.family)
    fits = live or (machine.tools is None and here.family == line.family)
    return here if fits and not said else None


def _answer(made: Prediction, here: Installed, ran: Ran) -> LintAnswer | None:
    """Return what a launcher's output says; None where it says nothing that can be used."""
    by = f"{here.path}, {'MPICH' if here.family == 'mpich' else 'Open MPI'} {here.version}"
    if ran.why is not None:
        return None
    text, errors = ran.out.decode("utf-8", "replace"), ran.err.decode("utf-8", "replace")
    try:
        read = _hydra_ranks if here.family == "mpich" else _open_mpi_ranks
        ranks = tuple(sorted(read(made, text), key=lambda rank: rank.rank))
        if ranks and [rank.rank for rank in ranks] == list(range(len(ranks))):
            return LintAnswer(kind="asked", by=by, ranks=after_binders(made, ranks))
    except (Unclear, Refused, BadValue, LookupError):
        return None
    said = _complaint(errors) or _complaint(text)
    return None if ranks or not said else LintAnswer(kind="asked", by=by, refused=said)


def _complaint(text: str) -> str:
    """Return the first sentences of what a launcher complains, without its frame."""
    lines = (line.strip() for line in text.splitlines())
    kept = [line for line in lines if line and not re.fullmatch(r"[-=*]+", line)]
    if hydra := [line.rpartition("): ")[2] for line in kept if line.startswith(("[mpiexec@", "[proxy:"))]:
        return plain(hydra[0], 200)
    return plain(" ".join(kept[:4]), 200)


def _variables(made: Prediction, folder: str) -> dict[str, str]:
    """Return the variables that a launcher gets: the machine, its own folder, and what of the line's says where ranks go."""
    taken = {name: os.environ[name] for name in _OWN if name in os.environ}
    given = {name: text for name, text in made.line.words.environment.items() if _is_placing(_parameter(name))}
    machine = {"HWLOC_XMLFILE": f"{folder}/topology.xml", "TMPDIR": folder, "LC_ALL": "C", "HYDRA_TOPO_DEBUG": "1"}
    if made.open_mpi:
        machine["HWLOC_THISSYSTEM"] = "1"  # without it 4 takes the machine for one that cannot bind; it binds nothing here
    if os.geteuid() == 0:
        machine |= {f"{name}_ALLOW_RUN_AS_ROOT{tail}": "1" for name in ("OMPI", "PRTE") for tail in ("", "_CONFIRM")}
    return {**taken, **given, **machine}


# Open MPI

_FOLDER = "\ue000"
"""Stands for the folder in words, before it is made."""
_SAID = words(
    "-np --host --map-by --rank-by --bind-to --cpu-set --cpu-list --cpus-per-proc --cpus-per-rank -N --npernode "
    "--npersocket --pernode --bycore --bynode --byslot --bysocket --bind-to-core --bind-to-socket --bind-to-none "
    "--use-hwthread-cpus --oversubscribe --nooversubscribe --hetero-nodes"
)
"""Options that say where ranks go, and nothing else."""
_FILED = {"--hostfile": "hosts", "--rankfile": "ranks", "-rf": "ranks"}
_LEFT = words(
    "-x --output --output-filename --tag-output --timestamp-output --merge-stderr-to-stdout --report-bindings --display "
    "--display-map --display-devel-map --display-allocation --do-not-launch --allow-run-as-root --quiet --verbose --wdir "
    "--prefix --noprefix --path --timeout --stdin --leave-session-attached --debug-daemons --report-pid --show-progress "
    "--disable-recovery --enable-recovery --xml --pmixmca"
)
"""Options that say nothing of it, and are left out."""
_PLACING = re.compile(
    r"rmaps_(base|default)_(mapping_policy|ranking_policy|oversubscribe|no_oversubscribe|schedule_policy|cpus_per_rank|pernode|"
    r"n_pernode|n_persocket|no_schedule_local|inherit|byslot|bycore|bynode|pattern)|rmaps_rank_file_physical|rmaps_dist_device|"
    r"hwloc_(base|default)_(binding_policy|use_hwthreads_as_cpus|cpu_list|cpu_set|slot_list|bind_to_(core|socket)|report_bindings)"
)
"""Parameters that say where ranks go: a closed list, for others name files, folders and programs."""
_OTHERS = re.compile(r"(rmaps|hwloc|ras|orte|prte|plm|ess|state|schizo|mca)(_.*)?|.*(file|path|agent).*")
"""Parameters that may change it, or start something: a line with one is not asked about."""


def _counts_twice(made: Prediction) -> bool:
    """Whether a host file names a host twice, or more than a host and its slots."""
    text = made.files.get(made.want.hostfile or "", "")
    rows = [row for row in (line.partition("#")[0].split() for line in text.splitlines()) if row]
    plain_rows = all(len(row) == 2 and re.fullmatch(r"slots=[1-9]\d{0,6}", row[1]) for row in rows)
    return bool(rows) and (not plain_rows or len({row[0] for row in rows}) < len(rows) or len(made.line.segments) > 1)


_SPAN = re.compile(r"[:,]s", re.IGNORECASE)


def _starts_otherwise(made: Prediction) -> bool:
    """Whether a launcher plans such a line otherwise than it starts it, as was observed."""
    want, placed = made.want, (made.want.level, made.want.bind)
    if made.four and (len(want.hosts) > 1 or want.hostfile or want.rankfile or want.cpus or _SPAN.search(want.map_text or "")):
        return True  # 4.1.4: a second host, span, lists and files
    if made.five and (placed == ("pe-list", "hwthread") or (placed == ("hwthread", "core") and want.overload)):
        return True  # 5.0.11: hwthread with core:overload-allowed it plans, and does not start
    return want.level == "seq" or (want.from_file and any(slots is None for _, slots in want.hosts)) or _counts_twice(made)


def _parameter(variable: str) -> str:
    return re.sub(r"^(OMPI|PRTE)_MCA_", "", variable) if "_MCA_" in variable else ""


def _is_placing(parameter: str) -> bool:
    return bool(_PLACING.fullmatch(parameter))


def _of_open_mpi(made: Prediction, here: Installed) -> list[str] | None:
    """Return the words after the launcher's that ask Open MPI for its plan; None where that would not be what it does."""
    line, want = made.line, made.want
    several = len(line.segments) > 1
    if here.release is None or here.release >= (5, 1, 0) or next(missing(line, want), None) is not None:
        return None  # what a version does not know was seen when it started; how a later one numbers its map was not
    if any(binds_itself(part.command) or (several and list(binders(part.command))) for part in line.segments):
        return None
    odd = {name for name, _, written in parameters(line) if not _is_placing(name) and _OTHERS.fullmatch(name)}
    ranks = [counted(part.value("-np")) or 0 for part in line.segments]
    if odd or sum(ranks) > _MOST or made.line.words.around:
        return None
    if any(name and name not in made.files for name in (want.hostfile, want.rankfile)):
        return None
    if _starts_otherwise(made):
        return None
    if any(f"l{level}cache" in word.lower() for level in {1, 2} - {*made.topology.own_caches} for word in line.words.rest):
        return None  # whether the machine shows such a cache is not known
    segments = [_said(part, made) for part in line.segments]
    if None in segments:
        return None
    joined = list(chain.from_iterable(([":"] if at else []) + (words or []) for at, words in enumerate(segments)))
    if made.five:
        return ["--rtos", "donotlaunch", "--display", "map", *joined]
    known = logical_numbering(made.topology)
    slots = len(known.pus if want.hwthread_slots else known.cores)
    hosts = [] if want.hosts else ["--host", f"localhost:{slots}"]  # without launching 4 counts no slots of this host
    return ["--do-not-launch", "--display-map", *hosts, *joined]


def _said(part: Segment, made: Prediction) -> list[str] | None:
    """Return the words of one program that say where its ranks go, and ``true`` for it; None where others may say it too."""
    words: list[str] = []
    for said in part.options:
        if not said.known:
            return None
        name = said.name
        if name in ("--mca", "--gmca", "--omca", "--prtemca"):
            words += said.written if len(said.values) == 2 and _is_placing(said.values[0]) else ()
        elif name in _FILED:
            words += (name, f"{_FOLDER}/{_FILED[name]}")
        elif name in _SAID:
            words += _with_file(said, made)
        elif name not in _LEFT:
            return None
    return [*words, "/bin/true"]


def _with_file(said: Said, made: Prediction) -> Sequence[str]:
    """Return an option's words; the rankfile in a --map-by is the copy in the folder."""
    file = made.want.rankfile
    return [word.replace(f"file={file}", f"file={_FOLDER}/ranks") for word in said.written] if file else said.written


def _files(made: Prediction) -> Mapping[str, str]:
    """Return the files of a line, as they were read, by the names that they have in the folder."""
    named = {"hosts": made.want.hostfile, "ranks": made.want.rankfile}
    return {own: made.files.get(name, "") for own, name in named.items() if name}


_NODE = re.compile(r"Data for node: (\S+)")
_PROC_5 = re.compile(r"Data for proc: \[\S+@\d+,(\d+)\]")
_RANK = re.compile(r"Process rank: (\d+) Bound: (.*)")
_BOUND_5 = re.compile(r"Binding: (.*)")


def _open_mpi_ranks(made: Prediction, text: str) -> Iterator[LintRank]:
    """Yield the ranks of a plan that Open MPI prints."""
    known, host, rank = logical_numbering(made.topology), None, -1
    for line in text.splitlines():
        if match := _NODE.search(line):
            host = match[1] if made.want.hosts else None
        elif match := _PROC_5.search(line):
            rank = int(match[1])
        elif match := _RANK.search(line):
            yield LintRank(rank=int(match[1]), host=_name(host, made), cpus=_cpus(match[2], known, made))
        elif match := _BOUND_5.search(line):
            yield LintRank(rank=rank, host=_name(host, made), cpus=_cpus(match[1], known, made))


def _name(host: str | None, made: Prediction) -> str | None:
    """Return a host as the line calls it: the one that mpirun runs on is printed by its own name."""
    names = [name for name, _ in made.want.hosts]
    return host if host in names or not names else names[0] if len(names) == 1 else host


def _cpus(text: str, known: LogicalNumbering, made: Prediction) -> CpuSet | None:
    """Return the CPUs of ``package[0][core:L0-1]`` (5) or ``socket 0[core 0[hwt 0-1]], ...:[BB/..]`` (4); None: not bound.

    5.0 counts cores by hwloc's numbers, but where each has one hardware thread by the kernel's, and hardware threads always
    (prte_hwloc_base_cset2str of PRRTE 3.0).
    """
    if text.startswith(("UNBOUND", "N/A")):
        return None
    if made.four:
        found = re.findall(r"core (\d+)\[hwt (\d+)(?:-(\d+))?\]", text.partition(":[")[0])
        threads = ((sorted(known.cores[int(core)], key=known.pus.index), int(a), int(b or a)) for core, a, b in found)
        cpus = CpuSet(cpu for core, first, last in threads for cpu in core[first : last + 1])
    else:
        single = all(len(core) == 1 for core in known.cores)
        parts = re.findall(r"\[(core|hwt):[LP]?([\d,-]+)\]", text)
        cpus = union(
            CpuSet.parse(numbers) if kind == "hwt" or single else known.cores_cpus(CpuSet.parse(numbers))
            for kind, numbers in parts
        )
    if not cpus or not cpus <= made.topology.inside.pus:
        raise Unclear(f"{text[:60]} is not a binding that advisor can read")
    return cpus


# Hydra

_HYDRA_SAID = frozenset({"-n", "-ppn", "-bind-to", "-map-by"})
_HYDRA_LEFT = words(
    "-genv -env -genvall -genvnone -genvlist -envall -envnone -envlist -wdir -prepend-rank -verbose -print-all-exitcodes "
    "-outfile-pattern -errfile-pattern -launcher -iface -disable-auto-cleanup"
)


def _of_hydra(made: Prediction) -> list[str] | None:
    """Return the words that ask Hydra: on this host, with ``true`` for the program; None where it binds none, or elsewhere."""
    segment = made.line.first
    total = counted(segment.value("-n")) or 1
    if len(made.line.segments) > 1 or made.line.words.around or total > _MOST_STARTED or made.want.hosts or made.want.hostfile:
        return None
    bind = segment.value("-bind-to")
    if (
        bind in (None, "none")
        or bind.startswith("user:")
        or any(name.startswith("HYDRA_") for name in made.line.words.environment)
    ):
        return None
    if any(not said.known or said.name not in _HYDRA_SAID | _HYDRA_LEFT for said in segment.options):
        return None
    kept = chain.from_iterable(said.written for said in segment.options if said.name in _HYDRA_SAID)
    return ["-launcher", "fork", *kept, "/bin/true"]


def _hydra_ranks(made: Prediction, text: str) -> Iterator[LintRank]:
    """Yield the ranks that Hydra's proxy says it binds: a sign for each CPU, by the kernel's numbers."""
    for rank, bits in re.findall(r"^process (\d{1,6}) binding: ([01]{1,8192})$", text, re.MULTILINE):
        cpus = CpuSet(cpu for cpu, bit in enumerate(bits) if bit == "1") & made.topology.inside.pus
        yield LintRank(rank=int(rank), host=None, cpus=cpus or None)


Ask = Callable[[Prediction], LintAnswer | None]
"""Asks the launcher itself what a line does; None where it is not asked."""


def settled(
    made: Prediction, ask: Ask | None = None, observed: LintAnswer | None = None
) -> tuple[Prediction, Placed, tuple[LintAnswer, ...]]:
    """Return a prediction with the answer that counts, its kind, and every answer.

    What ranks saw themselves counts before all; else what the launcher plans, where what is simulated is not something else.
    """
    simulated = LintAnswer(kind="simulated", ranks=made.ranks, refused=made.refused) if made.unclear is None else None
    asked = ask(made) if ask else None
    seen = observed and observed.but(ranks=_without_names(made, observed.ranks or ()))
    answers = tuple(each for each in (simulated, asked, seen) if each is not None)
    if not answers:
        return made, "not-told", ()
    best = answers[-1]
    if observed is None and len({_as_seen(made, each.ranks) for each in answers}) > 1:
        why = "; ".join(f"{each.kind}: {_in_short(each)}{f' ({each.by})' if each.by else ''}" for each in answers)
        why = f"the answers differ; run advisor check --observed to see which is right. {why[0].upper()}{why[1:]}"
        return replace(made, ranks=None, refused=None, unclear=why), "not-told", answers
    return replace(made, ranks=best.ranks, refused=best.refused, unclear=None), best.kind, answers


def _as_seen(made: Prediction, ranks: tuple[LintRank, ...] | None) -> tuple[tuple[str | None, CpuSet], ...] | None:
    """Return ranks as they see themselves: those that are not bound have every CPU."""
    everything = made.topology.inside.pus
    return None if ranks is None else tuple((rank.host, rank.cpus or everything) for rank in ranks)


def _in_short(answer: LintAnswer) -> str:
    """Return the first ranks of an answer, or why nothing starts."""
    if answer.ranks is None:
        return f"nothing starts, {(answer.refused or '')[:160]}"
    named = [f"{f'{rank.host}:' if rank.host else ''}{rank.cpus or 'not bound'}" for rank in answer.ranks[:FEW]]
    more = " ..." if len(answer.ranks) > FEW else ""
    return f"CPUs {' | '.join(named)}{more} for ranks 0 to {len(answer.ranks) - 1}"


def _without_names(made: Prediction, ranks: tuple[LintRank, ...]) -> tuple[LintRank, ...]:
    """Return what ranks saw as the other answers have it: unbound on all CPUs, and of a line without hosts no names."""
    everything = made.topology.inside.pus
    return tuple(
        LintRank(
            rank=each.rank,
            host=each.host if made.want.hosts else None,
            cpus=None if everything <= (each.cpus or everything) else each.cpus,
        )
        for each in ranks
    )


def observed_in(file: str) -> LintAnswer:
    """Return what ranks saw, of a file with what the probe printed in a job."""
    gathered = reported(read_bytes(file, "output of a job"))
    ranks = tuple(LintRank(rank=each.rank, host=each.host, cpus=each.cpus) for each in gathered.ranks if each.rank is not None)
    if not ranks:
        raise CannotWork(f"{file}: contains no probe output; run advisor verify --print-probe > probe.sh, then run sh probe.sh")
    if gathered.repeated or [rank.rank for rank in ranks] != list(range(len(ranks))):
        raise CannotWork(f"{file}: some ranks are missing or repeated; give the whole output of one run")
    return LintAnswer(kind="observed", by=file, ranks=ranks)
