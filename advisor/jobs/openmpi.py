"""How lines of Open MPI 4 and 5 are read: options, what a line asks for, what a version lacks; odd words are left open."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from advisor.errors import BadValue
from advisor.jobs.launcher import option_table
from advisor.jobs.line import binders, rebound
from advisor.jobs.placement import LintWarning
from advisor.jobs.request import (
    ADVISE,
    ASSUMED,
    Line,
    Prediction,
    Request,
    Said,
    Words,
    counted,
    hosts,
    number,
    ranks_here,
    release_of,
    warning,
)
from advisor.machine.cpuset import CpuSet
from advisor.machine.machine import Tool

OPENMPI, OPENMPI_ALIASES = option_table("""
    -np -n -c --n --np 1 starts {0} ranks
    --host -H 1 on the hosts {0}; a name without :N counts as one slot
    --hostfile --machinefile 1 on the hosts of the file {0}
    --map-by --mapby 1 maps ranks by {0}
    --rank-by --rankby 1 numbers the ranks by {0}
    --bind-to --bindto 1 sets CPU binding to {0}
    --rankfile 1 takes each rank's cores from the file {0}
    -rf 1 takes each rank's cores from the file {0}
    --cpu-set 1 uses the cores {0} and no others
    --cpu-list 1 uses the cores {0} and no others
    --cpus-per-proc 1 gives each rank {0} cores
    --cpus-per-rank 1 gives each rank {0} cores
    -N 1 starts {0} ranks on each node
    --npernode 1 starts {0} ranks on each node
    --npersocket 1 starts {0} ranks on each socket
    --pernode 0 starts one rank on each node
    --bycore 0 places ranks core by core
    --bynode 0 places ranks round-robin by node
    --byslot 0 places ranks slot by slot
    --bysocket 0 places ranks round-robin by socket
    --bind-to-core --bind-to-cores 0 binds each rank to a core
    --bind-to-socket 0 binds each rank to a socket
    --bind-to-none 0 binds no rank
    --use-hwthread-cpus 0 counts hardware threads instead of cores
    --oversubscribe 0 allows more ranks than slots
    --nooversubscribe 0 allows no more ranks than slots
    --nolocal 0 starts no rank on this node
    --hetero-nodes 0 asks every node for its own topology
    --report-bindings 0 prints where each rank is bound
    --display 1 prints {0}
    --display-map 0 prints where each rank goes
    --display-devel-map 0 prints where each rank goes, in detail
    --display-allocation 0 prints the hosts and their slots
    --display-topo 0 prints the topology
    --do-not-launch 0 plans and starts nothing
    --novm 0 starts daemons only where ranks go
    --rtos 1 sets {0} for the run
    --runtime-options 1 sets {0} for the run
    --mca 2 sets the parameter {0} to {1}
    --gmca 2 sets the parameter {0} to {1}
    --omca 2 sets the library's parameter {0} to {1}
    --prtemca 2 sets the launcher's parameter {0} to {1}
    --pmixmca 2 sets PMIx's parameter {0} to {1}
    -x 1 passes the variable {0} on to the ranks
    --tune 1 reads parameters from {0}
    -am 1 reads parameters from {0}
    --allow-run-as-root 0 allows running as root
    --tag-output 0 marks output with the rank
    --timestamp-output 0 marks output with the time
    --output 1 writes output as {0}
    --output-filename 1 writes output to {0}
    --merge-stderr-to-stdout 0 merges standard error into standard output
    --quiet -q 0 prints fewer messages
    --verbose -v 0 prints more messages
    --wdir --wd 1 starts in the folder {0}
    --prefix 1 finds Open MPI in {0} on the hosts
    --path 1 finds the program in {0}
    --timeout 1 ends after {0} seconds
    --app 1 reads more lines from {0}
    --personality 1 reads the line as {0}
    --stdin 1 gives the input to {0}
    --launch-agent 1 starts daemons with {0}
    --enable-recovery 0 continues when a rank dies
    --disable-recovery 0 ends when a rank dies
    --default-hostfile 1 on the hosts of the file {0} if no others are given
    --leave-session-attached 0 keeps the daemons attached
    --debug-daemons 0 makes the daemons log what they do
    --noprefix 0 looks for Open MPI on the hosts in their own paths
    --report-pid 1 writes its process ID to {0}
    --report-uri 1 writes its address to {0}
    --show-progress 0 reports startup progress
    --xml 0 writes output as XML
    --do-not-resolve 0 does not resolve host names
    --display-devel-allocation 0 prints the hosts and their slots, in detail
    --display-diffable-map 0 prints where each rank goes, in a form to compare
    --preload-files 1 copies the files {0} to the hosts
    --set-cwd-to-session-dir 0 starts in the session folder
    --index-argv-by-rank 0 passes each rank its number as an argument
    --get-stack-traces 0 prints stacks on timeout
    --report-state-on-timeout 0 prints the state on timeout
    --ompi-server 1 asks the name server {0}
    --max-restarts 1 restarts a rank up to {0} times
    --with-ft 1 tolerates faults by {0}
    --preload-binary 0 copies the program to the hosts
    --xterm 1 opens a window for {0}
    --dvm 1 uses the running daemons {0}
    --dvm-uri 1 uses the running daemons {0}
""")


def long_or_short(name: str) -> tuple[str, ...]:
    """Return the names of an option of Open MPI: -np and --np are one, and so are -display-map and --display-map."""
    other = name[1:] if name.startswith("--") else f"-{name}"
    return (name, other) if name.startswith("--") or len(name) > 2 else (name,)


_SAME = {"socket": "package", "skt": "package", "thread": "hwthread"}
"""Names that things have here."""

_LEVELS = ("hwthread", "core", "l3cache", "numa", "package", "slot", "node")

_BINDS = {False: ("none", "cpu-list", *_LEVELS[:5]), True: ("none", *_LEVELS[:5])}

_FLAGS = {False: ("overload-allowed", "if-supported", "ordered"), True: ("overload-allowed", "if-supported")}

_RANKS = {False: _LEVELS, True: ("slot", "node", "fill", "span")}
"""What 4 and 5 bind to and rank by, of what is predicted."""


@dataclass(frozen=True)
class Mapped:
    """What the value of --map-by says."""

    level: str | None = None
    ppr: tuple[int, str] | None = None
    pe: int | None = None
    cpus: str | None = None
    rankfile: str | None = None
    modifiers: frozenset[str] = frozenset()
    odd: bool = False
    """Whether it has words that are not predicted."""


def mapped(text: str | None, *, five: bool) -> Mapped:
    """Return what a --map-by says: ``ppr:2:socket:PE=2``, ``rankfile:file=F``, ``:OVERSUBSCRIBE``."""
    head, *rest = (text or "").split(":")
    low = head.lower()
    if five and re.fullmatch(r"pe-list=\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*", low, re.ASCII):
        made = Mapped("pe-list", cpus=low[8:])
    elif low == "ppr" and len(rest) > 1:
        (each, kind), rest = rest[:2], rest[2:]
        kind = _SAME.get(kind.lower(), kind.lower())
        made = Mapped(low, (number(each) or 0, kind), odd=number(each) is None or kind not in _LEVELS or kind == "slot")
    elif five and low == "rankfile":
        made = Mapped(low, odd=not rest)
    else:
        low = low.partition(",")[0] if five else low  # 5 drops what is behind a comma
        level = _SAME.get(low, low)
        made = Mapped(level or None, odd=level not in ("", *_LEVELS))
    known = {"oversubscribe", "nooversubscribe"} | ({"ordered", "hwtcpus"} if five else set())
    for word in rest:
        wide = re.fullmatch(r"pe=([1-9]\d{0,5})", word.lower(), re.ASCII)
        if wide and made.level not in ("pe-list", "rankfile"):
            made = replace(made, pe=int(wide[1]))
        elif word.startswith("file=") and made.level == "rankfile":
            made = replace(made, rankfile=word[5:])
        else:
            made = replace(made, modifiers=made.modifiers | {word.lower()})
    several = not five and len(rest) > 1
    return replace(made, odd=made.odd or several or not made.modifiers <= known or len(made.modifiers & _LIMITS) > 1)


_LIMITS = {"oversubscribe", "nooversubscribe"}


def parameters(line: Line) -> Iterator[tuple[str, str, str]]:
    """Yield the parameters of an Open MPI line: their name, their value, and how they were written."""
    for name, value in line.words.environment.items():
        for prefix in ("OMPI_MCA_", "PRTE_MCA_"):
            if name.startswith(prefix):
                yield name.removeprefix(prefix), value, f"{name}={value}"
    for said in line.options:
        if said.name in ("--mca", "--gmca", "--omca", "--prtemca") and len(said.values) == 2:
            yield said.values[0], said.values[1], " ".join(said.written)


def heeded(line: Line) -> dict[str, str]:
    """Return the parameters that this version's launcher reads."""
    five, found = line.family == "openmpi5", dict[str, str]()
    for name, value, written in parameters(line):
        own = written.startswith(("PRTE_MCA_", "--prtemca", "-prtemca"))
        given = five and written.startswith(("--mca", "-mca")) and name.startswith(("rmaps_", "hwloc_"))
        if own == five or given:  # 5 hands on what --mca says of PRRTE's own parts (5.0.11, observed)
            found[name] = value
    return found


_MAPPING = "rmaps_base_mapping_policy"

_BINDING = "hwloc_base_binding_policy"

_OVERSUBSCRIBE = "rmaps_base_oversubscribe"

_AS_OPTIONS = {"--map-by": _MAPPING, "--bind-to": _BINDING, "--oversubscribe": _OVERSUBSCRIBE}

_READ = frozenset({*_AS_OPTIONS.values(), "rmaps_rank_file_physical"})
"""Parameters of 4 that are as good as options here."""

_SLOTS_OF = ("ras", "orte_set_default_slots", "prte_set_default_slots")

_PLACING = {
    False: ("rmaps", "hwloc_", "orte_rankfile", *_SLOTS_OF),
    True: ("rmaps_default_", "hwloc_default_", "rmaps_base_cpus_per_rank", "rmaps_rank_file_path", "mapby", *_SLOTS_OF),
}
"""How parameters begin that say where ranks go: 5 passes over 4's."""

_HARMLESS = re.compile(r"(rmaps|hwloc)_\w*(_verbose|_report_bindings|_display_map|_mem_\w+)")

_TRUE = ("1", "true", "yes")

_OLD_MAPS = {"--bycore": "core", "--bynode": "node", "--byslot": "slot", "--bysocket": "socket", "--pernode": "ppr:1:node"}

_OLD_BINDS = {"--bind-to-core": "core", "--bind-to-socket": "socket", "--bind-to-none": "none"}

_PER_HOST = ("-N", "--npernode")

_GROUPS = (
    {"--map-by", "--rankfile", "-rf", "--cpu-set", "--cpu-list", "--cpus-per-proc", "--cpus-per-rank", *_OLD_MAPS, *_PER_HOST}
    | {"--npersocket"},
    {"--bind-to", *_OLD_BINDS},
    *({name} for name in ("-np", "--rank-by", "--host", "--hostfile", "--use-hwthread-cpus")),
    {"--oversubscribe", "--nooversubscribe"},
    {"--rtos", "--runtime-options"},
    {"--display"},
)
"""Words of each of which a line has one, as was seen of them."""


def of_open_mpi(line: Line, told: Request) -> Request:
    """Return what a line of Open MPI asks for, beside its variables."""
    segment, values, five = line.first, heeded(line), line.family == "openmpi5"
    each, wide = number(segment.value(*_PER_HOST)), segment.value("--npersocket")
    pattern = f"ppr:{each}:node" if each else f"ppr:{wide}:socket" if wide else None
    old = next((text for name, text in _OLD_MAPS.items() if segment.has(name)), pattern)
    text = segment.value("--map-by") or old or (None if five else values.get(_MAPPING))
    made = mapped(text, five=five)
    said = segment.value("--bind-to") or next((kind for name, kind in _OLD_BINDS.items() if segment.has(name)), None)
    kind, _, flag = (said or (None if five else values.get(_BINDING)) or "").lower().partition(":")
    bind, order = _SAME.get(kind, kind).replace("cpulist", "cpu-list"), (segment.value("--rank-by") or "").lower()
    order = _SAME.get(order, order)
    listed, rankfile = segment.value("--cpu-set", "--cpu-list"), segment.value("--rankfile", "-rf") or made.rankfile
    threads = segment.has("--use-hwthread-cpus")
    over = segment.has("--oversubscribe") or (not five and values.get(_OVERSUBSCRIBE) in _TRUE)
    counts = [counted(part.value("-np")) for part in line.segments]
    odd = next(
        text
        for held, text in (
            (made.odd, f"--map-by {(text or '')[:60]}"),
            (bind not in ("", *_BINDS[five]) or (five and flag and not bind), f"--bind-to {(said or bind)[:40]}"),
            (
                flag not in ("", *_FLAGS[five]),
                f"--bind-to with {flag[:40]}",
            ),
            (order not in ("", *_RANKS[five]), f"--rank-by {order[:40]}"),
            (not five and old and order, "an old mapping option with --rank-by"),
            (made.modifiers & _LIMITS and segment.has("--oversubscribe", "--nooversubscribe"), f"--map-by {(text or '')[:60]}"),
            (True, next(chain(_unread(line, values), _repeated(line, values), _programs(line, made, rankfile, order)), None)),
        )
        if held
    )
    return replace(
        told,
        ranks=sum(count or 0 for count in counts) if len(counts) > 1 else counts[0],
        threads=None if len(counts) > 1 else told.threads,
        per_node=1 if segment.has("--pernode") else each,
        hosts=hosts(segment.value("--host") or ""),
        hostfile=segment.value("--hostfile"),
        level="rankfile" if rankfile else "pe-list" if listed or bind == "cpu-list" else made.level,
        ppr=made.ppr,
        pe=made.pe or number(segment.value("--cpus-per-proc", "--cpus-per-rank")),
        cpus=listed or made.cpus,
        ordered="ordered" in made.modifiers or flag == "ordered",
        modifiers=made.modifiers,
        map_text=text,
        bind=bind or None,
        overload=flag == "overload-allowed",
        rank_by=order or None,
        rankfile=rankfile,
        hwthreads=threads or "hwtcpus" in made.modifiers,
        hwthread_slots=threads,
        oversubscribe=over or "oversubscribe" in made.modifiers,
        parameters=values,
        adapter=told.adapter or values.get("rmaps_dist_device"),
        odd=odd,
    )


def _unread(line: Line, values: Mapping[str, str]) -> Iterator[str]:
    """Yield the parameters that say where ranks go and are not read here."""
    five, named = line.family == "openmpi5", line.first.has("--host", "--hostfile")
    for name in sorted({name for name, _, _ in parameters(line)} - (set() if five else _READ)):
        own = name in values and name.startswith(_PLACING[five]) and not _HARMLESS.fullmatch(name)
        hosted = name.endswith("te_default_hostfile") and not named
        if own or hosted or name == "rmaps" or name.startswith(_SLOTS_OF):
            yield f"the effect of the parameter {name[:60]}"


def _repeated(line: Line, values: Mapping[str, str]) -> Iterator[str]:
    """Yield what a line says twice, or by two words of which one was seen alone."""
    first, five = [option.name for option in line.first.options], line.family == "openmpi5"
    for group in _GROUPS:
        found = [name for name in first if name in group]
        found += [name for option, name in _AS_OPTIONS.items() if not five and option in group and name in values and found]
        if len(found) > 1:
            yield f"a line with {' and '.join(dict.fromkeys(found))}{' twice' * (len({*found}) == 1)}"
    for part in line.segments:
        text = part.value("-np") or "0"
        if not (text.isascii() and text.isdigit()):
            yield f"{text[:40]!r}, which is not a number of ranks,"
    said_again = Counter(option.values[0] for option in line.options if option.name.endswith("mca"))
    yield from (f"a line that repeats {name[:60]}" for name, times in said_again.items() if times > 1)


def _programs(line: Line, made: Mapped, rankfile: str | None, order: str) -> Iterator[str]:
    """Yield what is left open of a line that starts several programs: they follow each other where nothing is said."""
    if len(line.segments) == 1:
        return
    placing = {name for group in _GROUPS for name in group} - {"-np"}
    later = any(option.name in placing for part in line.segments[1:] for option in part.options)
    uncounted = any(counted(part.value("-np")) is None for part in line.segments)
    shared = rankfile or made.level not in (None, "slot", "core") or made.pe or order not in ("", "slot")
    many = line.family == "openmpi4" and (len(hosts(line.first.value("--host") or "")) > 1 or line.first.has("--hostfile"))
    if later or uncounted or shared or many or any(list(binders(part.command)) for part in line.segments):
        yield f"how a line that starts {len(line.segments)} programs shares mapping options or hosts among them"


def newer(line: Line) -> bool:
    """Whether a line is for a PRRTE beyond 3.0: its version says so, or it has words that only such a one takes."""
    if line.family != "openmpi5" or line.release is not None:
        return line.family == "openmpi5" and line.release is not None and line.release >= (5, 1, 0)
    values = [said.values for said in line.options if said.values]
    if any("device=" in each[-1] or each[0] == "mapby" for each in values):
        return True
    if line.words.launcher not in ("prterun", "prun"):
        return False  # 5.0's mpirun takes such a line too, and passes over what later programs say, or refuses it
    own = ("--map-by", "--rank-by", "--bind-to")
    return sum(any(said.name in own for said in segment.options) for segment in line.segments) > 1


@dataclass(frozen=True)
class Missing:
    """A word that this version does not know."""

    id: str
    word: str
    why: str
    better: str


def missing(line: Line, want: Request) -> Iterator[Missing]:
    """Yield what this version of Open MPI does not know; nothing starts then."""
    for said in line.options if line.family in ("openmpi4", "openmpi5") else ():
        if not said.known:
            lacking = _of_hydra(said)
        elif said.known and "=" in said.written[0]:
            lacking = _joined(said, line)
        else:
            lacking = _gone(said, want) if line.family == "openmpi5" else _new(said)
        if lacking:
            yield Missing(lacking[0], " ".join(said.written), *lacking[1:])


Lacking = tuple[str, str, str] | None
"""The problem's id, why, and what is better."""


_HYDRAS = {
    "-ppn": "--map-by ppr:N:node",
    "-perhost": "--map-by ppr:N:node",
    "-genv": "-x NAME=VALUE",
    "-env": "-x NAME=VALUE",
    "-genvall": "-x NAME",
    "-hosts": "--host A:SLOTS,B:SLOTS",
    "-f": "--hostfile FILE",
    "-prepend-rank": "--tag-output",
}
"""Options of Hydra, and what Open MPI has for them."""


def _of_hydra(said: Said) -> Lacking:
    name = f"-{said.written[0].partition('=')[0].lstrip('-')}"
    if better := _HYDRAS.get(name):
        return "of-another-launcher", f"{name} is an option of MPICH and Intel MPI", f"{better}; {ADVISE}"
    return None


def apart(said: Said) -> bool:
    """Whether 5.0.11 takes no sign of equality behind an option: of these, and where it has no value (observed)."""
    short = said.written[0].lstrip("-").startswith("c=")
    return short or said.name in ("--map-by", "--bind-to", "--rank-by") or not OPENMPI[said.name][0]


def _joined(said: Said, line: Line) -> Lacking:
    """Return what is wrong with an option that is one word with its value, where its version does not take that."""
    better = " ".join((said.name, *said.values))
    if line.family == "openmpi4":
        return "value-apart", "Open MPI 4 expects an option's value as the next word, never after =", better
    if line.release == (5, 0, 11) and apart(said):
        better = better if OPENMPI[said.name][0] else said.name
        return "value-apart", f"Open MPI 5.0.11 accepts no = after {said.name} (observed: an error, nothing starts)", better
    return None


_GONE_IN_5 = {
    "--novm": "",
    "--bysocket": "--map-by package",
    "--bind-to-socket": "--bind-to package",
    "--bind-to-none": "--bind-to none",
}

_UNKNOWN_TO_5 = ("--quiet", "--do-not-resolve", "--display-devel-allocation", "--display-diffable-map")


def _gone(said: Said, want: Request) -> Lacking:
    name, first, text = said.name, said.written[0], (said.values[-1] if said.values else "").lower()
    leave = f"leave {' '.join(said.written)} out"
    if name == "--bind-to" and (not text or text.endswith(":")):
        why = (
            f"Open MPI 5.0.11 crashes on a --bind-to that {'is empty' if not text else 'ends in a colon'} (observed: no message, "
            f"nothing starts)"
        )
        return "dies-of-colon", why, f"--bind-to {text.rstrip(':') or 'core'}"
    if name == "-rf":
        better = f"--map-by rankfile:file={said.values[0]}"
        return "rankfile-of-4", "-rf was removed in Open MPI 5.x; pass the rankfile to --map-by instead", better
    if name == "--map-by" and text.startswith("dist"):
        return "dist-gone", "mapping by distance to a device was removed in 5.x", "--map-by pe-list=...:ordered, or a rankfile"
    if name in ("--map-by", "--bind-to") and text.startswith("board"):
        return "gone-in-5", "Open MPI 5.x no longer maps or binds by board", f"{name} package"
    if name == "--bind-to" and text.startswith(("cpu-list", "cpulist")):
        better = f"--map-by pe-list={want.cpus or '0,1,2,3'}:ordered"
        return "gone-in-5", "Open MPI 5.x takes a CPU list only in --map-by", better
    if name == "--rank-by" and text.partition(":")[0] not in _RANKS[True]:
        better = f"--rank-by {'fill' if text.startswith('core') or ':fill' in text else 'slot'}"
        return "gone-in-5", "Open MPI 5.x ranks by slot, node, fill or span, not by parts of the node", better
    if name in _GONE_IN_5:
        return "gone-in-5", f"{name} was removed in 5.x", _GONE_IN_5[name] or leave
    if first == "--bind-to-cores" or name in _UNKNOWN_TO_5:
        return "gone-in-5", f"{first} is unknown to 5.x", "--bind-to core" if first == "--bind-to-cores" else leave
    if first in ("-map-by", "-bind-to", "-rank-by"):
        why = f"Open MPI 5.0.11 misreads {first} with a single hyphen (observed: an error, nothing starts)"
        return "single-hyphen", why, f"{name} {said.values[0]}"
    return None


def _new(said: Said) -> Lacking:
    name, first, text = said.name, said.written[0], (said.values[-1] if said.values else "").lower()
    leave, value = f"leave {' '.join(said.written)} out", said.values[0] if said.values else ""
    as_mca = " ".join(("--mca", *said.values)) if not any(" " in word for word in said.values) else "write --mca instead"
    if name in ("--map-by", "--bind-to") and "package" in text:
        return "only-in-5", "Open MPI 4.x calls a package a socket", f"{name} {text.replace('package', 'socket')}"
    if name == "--map-by" and text.startswith("rankfile"):
        file = value.partition("file=")[2].partition(":")[0] or "FILE"
        return "only-in-5", "4.x has no --map-by rankfile", f"--rankfile {file}"
    if name == "--map-by" and text.startswith("pe-list"):
        return "only-in-5", "4.x has no pe-list", "--rankfile FILE"
    if name == "--rank-by" and text in ("fill", "span"):
        return "only-in-5", "Open MPI 4.x ranks by slot, by node or by parts of the node", "--rank-by core"
    if name in ("--prtemca", "--display", "--rtos", "--runtime-options", "--hetero-nodes", "--pmixmca"):
        same = {"--prtemca": as_mca, "--display": "--report-bindings, --display-map"}
        return "only-in-5", f"{name} came with 5.x", same.get(name, f"leave {name} out")
    if first.lstrip("-") in ("mapby", "bindto", "rankby"):
        return "only-in-5", "only PRRTE's development branch accepts this spelling", f"{name} {value}"
    if name in ("--output", "--omca", "--with-ft", "--bind-to-none") or first == "--bind-to-cores":
        same = {"--bind-to-none": "--bind-to none", "--bind-to-core": "--bind-to core", "--omca": as_mca}
        return "gone-in-4", f"{first} is unknown to 4.x", same.get(name, leave)
    if name == "--bysocket":
        return "gone-in-4", f"{name} is an Open MPI 1.6 option and is unknown to 4.x", "--map-by socket"
    return None


_SLOT = re.compile(r"rank\s+(\d+)\s*=\s*(\S+)\s+slots?\s*=\s*(.*?)\s*(?:#.*)?", re.ASCII)


def open_mpi_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about pe-lists and rankfiles."""
    if case.want.level == "pe-list" and case.want.cpus:
        yield from _pe_list(case, case.want.cpus)
    if case.want.rankfile:
        yield from _rankfile(case, case.want.rankfile)


def _pe_list(case: Prediction, listed: str) -> Iterator[LintWarning]:
    evidence = f"the list is {listed[:80]}"
    try:
        cores = CpuSet.parse(listed)
    except BadValue as error:
        yield warning("list", f"the list {listed[:60]} cannot be read", "The value is not a list of cores.", error.problem)
        return
    if len(cores) > 8192:  # Linux has no more CPUs
        yield warning(
            "list", f"the list {listed[:60]} cannot be read", "The value is not a list of cores.", f"it names {len(cores)} cores"
        )
        return
    full, entries = ",".join(map(str, cores)), len(listed.split(","))
    if case.four and case.want.ordered and listed not in (full, str(cores)):
        why = "Open MPI 4.x binds ranks to the listed cores in ascending CPU order, ignoring the list order (observed in 4.1.4)."
        yield warning("order-ignored", "the order of the list is ignored", why, evidence, "--rankfile FILE", bad=True)
    elif case.five and case.want.ordered and "-" in listed:
        why = "Open MPI 5.x does not expand ranges in an ordered list: it counts 0-3 as one CPU (observed in 5.0.11)."
        better = rebound(case.line, ("--map-by", f"pe-list={full}:ordered", "--bind-to", "core"))
        yield warning("ranges-not-expanded", f"it reads {listed[:60]} as one CPU, not four", why, evidence, better, bad=True)
    elif case.five and case.want.ordered and entries < (ranks_here(case) or 0):
        yield warning("list-short", "there are more ranks than entries", "Each rank takes one entry.", f"{entries} entries")


def _rankfile(case: Prediction, file: str) -> Iterator[LintWarning]:
    want, line = case.want, case.line
    if case.five and want.hwthreads and (line.release is None or (5, 0, 0) <= line.release <= (5, 0, 5)):
        why = (
            "Open MPI 5.0.0 to 5.0.5 reads core numbers as hardware threads (open-mpi/ompi#12967); 5.0.11 reads them correctly "
            "(observed)."
        )
        cores, cpus = len(case.topology.cores), len(case.topology.pus)
        here = f"{line.version or 'the version is unknown'}; {cores} cores, {cpus} CPUs here"
        better = "a rankfile of logical cores, without hwtcpus"
        yield warning("hwthread-rankfile", "ranks run on cores other than the rankfile's", why, here, better, bad=True)
    if len(want.hosts) > 1 and case.five and not line.first.has("--hetero-nodes"):
        what = "ranks get the wrong CPUs on nodes that number their CPUs differently"
        why = (
            "Open MPI 5.x applies the first node's CPU numbers to all nodes with the same number of objects, even to nodes with "
            "a different numbering."
        )
        yield warning("hetero-nodes", what, why, f"a rankfile for {len(want.hosts)} hosts", "add --hetero-nodes")
    text = case.files.get(file)
    if text is None:
        what = f"the rankfile {file[:80]} was not read"
        yield warning("rankfile-unread", what, "Where ranks go is therefore unknown.", "this file does not exist here")
        return
    slots = [match for row in text.splitlines()[:65536] if (match := _SLOT.fullmatch(row.strip()[:8192]))]
    longest = max(slots, key=lambda match: len(match[3]), default=None)
    colon = next((match[3] for match in slots if ":" in match[3] or "p" in match[3].lower()), None)
    most = 63 - len(longest[2] if longest else "") - 6 if case.four else 63
    if longest and len(longest[3]) > most:
        what = "the end of the slot list is dropped" if case.five else "mpirun writes past its buffer and may die"
        why, evidence = (
            f"Slot lists are read into 64 bytes: {most} characters fit here.",
            f"a slot list of {len(longest[3])} characters",
        )
        better = "write ranges: 0-15 instead of 0,1,2,..."
        yield warning("slot-too-long", what, why, f"{evidence}: {longest[3][:50]}...", better, bad=True)
    if colon:
        what, evidence = f"slot={colon[:40]} means different cores in Open MPI 4 and 5", f"slot={colon[:40]} in the rankfile"
        why = (
            "Open MPI versions read socket:core pairs and p differently: 4.1 needs 0:0,0:1, while 5.x numbers the cores across "
            "sockets as if all sockets were identical."
        )
        yield warning("socket-pairs", what, why, evidence, "logical cores: slot=0-3", bad=True)
    elif case.ranks is None and case.unclear and not case.refused and len(longest[3] if longest else "") <= most:
        why = "Versions 4 and 5 read such lines differently, and misread lines give no message."
        better = "advisor bind --exact -- ./app writes one"
        yield warning("rankfile-dialect", "the rankfile is unsafe", why, case.unclear[:160], better)


_SHOWS_FIVE = re.compile(r"rankfile:|pe-list=|package|hwtcpus|fill", re.IGNORECASE)


_SHOWS_FOUR = re.compile(r"dist\b|board|cpu-?list:ordered", re.IGNORECASE)


def open_mpi_claim(words: Words, tools: frozenset[str]) -> int:
    """Return how surely a line is Open MPI's: by its words or the machine; where nothing tells, it is assumed."""
    own = ("--mca", "-mca", "--map-by", "--bind-to", "--report-bindings", "-x", "--host", "-rf", "--rankfile", "--npernode")
    said = any(word in own for word in words.rest) or any(name.startswith(("OMPI_", "PRTE_")) for name in words.environment)
    return 4 if said or "openmpi" in tools or words.launcher not in ("mpirun", "mpiexec") else 1


def which_open_mpi(words: Words, number: str | None, name: str | None, tools: Sequence[Tool]) -> tuple[str, str | None, str]:
    """Return which Open MPI it is: what was said, what the machine has, how the line is spelled, else the newer."""
    tool = next((tool for tool in tools if tool.name == "openmpi" and tool.version), None)
    if number or name:
        old = name == "openmpi4" or (release_of(number) or (5, 0, 0)) < (5, 0, 0)
        return "openmpi4" if old else "openmpi5", number, "--launcher-version"
    if words.launcher in ("prterun", "prun"):
        return "openmpi5", None, f"the word {words.launcher}"
    if tool:
        return "openmpi4" if (release_of(tool.version) or (5, 0, 0)) < (5, 0, 0) else "openmpi5", tool.version, "this machine"
    if words.launcher == "orterun":
        return "openmpi4", None, "the word orterun"
    rest = words.rest
    five = {"--prtemca", "--hetero-nodes", "--display", "--mapby", "--bindto", "--rtos", "--pmixmca"} & set(rest)
    if five or any(_SHOWS_FIVE.match(word) for word in rest) or any(each.startswith("PRTE_") for each in words.environment):
        return "openmpi5", None, "syntax that only Open MPI 5 accepts"
    four = {"-rf", "--novm", "rmaps_dist_device", "rmaps_rank_file_physical", "--cpu-list", "--cpu-set", "--npernode"} & set(rest)
    if (
        four
        or any(_SHOWS_FOUR.match(word) for word in rest)
        or any(each.startswith("OMPI_MCA_rmaps") for each in words.environment)
    ):
        return "openmpi4", None, "options that only Open MPI 4 has"
    return "openmpi5", None, ASSUMED
