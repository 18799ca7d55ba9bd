"""How lines of Open MPI 4 and 5 are read: options, what a line asks for, what a version lacks; odd words are left open."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from advisor.errors import BadValue
from advisor.jobs.launcher import option_table
from advisor.jobs.line import BINDING, binders, rebound
from advisor.jobs.placement import LintWarning
from advisor.jobs.request import (
    ADVISE,
    Line,
    Prediction,
    Request,
    Said,
    Segment,
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
    --host -H 1 on the hosts {0}; a name without :N gives one slot
    --hostfile --machinefile 1 on the hosts of the file {0}
    --map-by --mapby 1 places ranks round-robin by {0}
    --rank-by --rankby 1 numbers the ranks by {0}
    --bind-to --bindto 1 binds each rank to {0}
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
    --allow-run-as-root 0 runs as root too
    --tag-output 0 marks output with the rank
    --timestamp-output 0 marks output with the time
    --output 1 writes output as {0}
    --output-filename 1 writes output to {0}
    --merge-stderr-to-stdout 0 joins errors and output
    --quiet -q 0 says less
    --verbose -v 0 says more
    --wdir --wd 1 starts in the folder {0}
    --prefix 1 finds Open MPI on the hosts in {0}
    --path 1 finds the program in {0}
    --timeout 1 ends after {0} seconds
    --app 1 reads further lines from {0}
    --personality 1 takes the words for those of {0}
    --stdin 1 gives the input to {0}
    --launch-agent 1 starts daemons with {0}
    --enable-recovery 0 goes on when a rank dies
    --disable-recovery 0 ends when a rank dies
    --default-hostfile 1 on the hosts of the file {0} where no others are named
    --leave-session-attached 0 keeps the daemons attached
    --debug-daemons 0 lets the daemons tell what they do
    --noprefix 0 looks for Open MPI on the hosts in their own paths
    --report-pid 1 writes its process number to {0}
    --report-uri 1 writes its address to {0}
    --show-progress 0 reports the progress of the start
    --xml 0 writes output as XML
    --do-not-resolve 0 asks no resolver for names of hosts
    --display-devel-allocation 0 prints the hosts and their slots, in detail
    --display-diffable-map 0 prints where each rank goes, to be compared
    --preload-files 1 copies the files {0} to the hosts
    --set-cwd-to-session-dir 0 starts in the session's folder
    --index-argv-by-rank 0 gives each rank an argument with its number
    --get-stack-traces 0 prints stacks when time is up
    --report-state-on-timeout 0 prints the state when time is up
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


_SAME: Final = {"socket": "package", "skt": "package", "thread": "hwthread"}
"""Names that things have here."""

_PARTS: Final = ("hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "socket")

_LEVELS: Final = {
    False: (*_PARTS, "slot", "node", "seq", "dist"),
    True: (*_PARTS, "package", "slot", "node", "seq", "rankfile"),
}
"""What 4 and 5 map by."""

_PATTERNS: Final = {False: (*_PARTS, "node", "thread", "skt"), True: (*_PARTS, "node", "thread", "skt", "package")}

_BINDS: Final = {False: (*_PARTS, "none", "cpu-list", "cpulist"), True: (*_PARTS, "none", "package")}

_RANKS: Final = {False: (*_PARTS, "slot", "node"), True: ("slot", "node", "fill", "span")}

_LIMITS: Final = ("span", "oversubscribe", "nooversubscribe")

_MODIFIERS: Final = {
    False: _LIMITS,
    True: (*_LIMITS, "nolocal", "ordered", "inherit", "noinherit", "hwtcpus", "corecpus"),
}

_OF_BINDING: Final = {
    False: ("if-supported", "overload-allowed", "ordered"),
    True: ("overload-allowed", "no-overload", "if-supported"),
}


@dataclass
class Notes:
    """What is wrong with the words of a line, and what of them is left open; the first of each."""

    five: bool
    fault: str | None = None
    odd: str | None = None

    def wrong(self, text: str) -> None:
        """Note what a launcher refuses."""
        self.fault = self.fault or text

    def open(self, text: str) -> None:
        """Note what is not worked out."""
        self.odd = self.odd or f"{text} is not predicted here"

    def word(self, text: str, known: Sequence[str], fault: str) -> str:
        """Return a word by the name that it has here; launchers take a part of a word for the whole, which is left open."""
        low = text.lower()
        parts = low and any(name.startswith(low) or (self.five and low.startswith(name)) for name in known)
        if low not in known and (parts or low == "board"):
            self.open(f"{text[:40]!a} for a longer or a shorter word")
        elif low not in known:
            self.wrong(fault)
        return _SAME.get(low, low)


@dataclass(frozen=True)
class Mapped:
    """What the value of --map-by says."""

    level: str | None = None
    ppr: tuple[int, str] | None = None
    pe: int | None = None
    cpus: str | None = None
    rankfile: str | None = None
    modifiers: frozenset[str] = field(default=frozenset())


def mapped(text: str | None, notes: Notes) -> Mapped:
    """Return what a --map-by says: ``ppr:2:socket:PE=2``, ``rankfile:file=F``, ``:OVERSUBSCRIBE``."""
    if not text:
        return Mapped()
    five, (head, *rest) = notes.five, text.split(":")
    low, ppr = head.lower().partition(",")[0] if five else head.lower(), None
    if low == "ppr":
        count, kind, *rest = (*rest, "", "")[: max(2, len(rest))]
        ppr = (number(count) or 1, notes.word(kind, _PATTERNS[five], f"{text[:60]} is not a pattern that it knows"))
        if not number(count):
            notes.wrong(
                f"{text[:60]} maps no rank" if re.fullmatch(r"\d+", count) else f"{text[:60]} is not a pattern that it knows"
            )
    made = _modifiers(
        [word for part in rest for word in (part.split(",") if not five else (part,))], notes, whole=bool(head and not ppr)
    )
    if not five and (len(rest) > 1 or rest == [""]):
        notes.open(f"--map-by {text[:60]}")
    if five and low.startswith("pe-list="):
        if not re.fullmatch(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*", head[8:], re.ASCII):
            notes.wrong(f"{head[8:][:60]} is not a list of cores")
        return replace(made, level="pe-list", cpus=head[8:])
    level = "ppr" if ppr else notes.word(low, _LEVELS[five], f"Open MPI {4 + five} maps by no {head[:40]}") if head else None
    if level == "rankfile" and not made.rankfile:
        notes.wrong("the rankfile has no file=")
    if made.pe is not None and level in ("seq", "rankfile"):
        notes.wrong(f"{level} takes no PE=")
    return replace(made, level=level, ppr=ppr)


def _modifiers(words: Sequence[str], notes: Notes, *, whole: bool) -> Mapped:
    """Return modifiers; ``whole``: behind the name of a thing, for 4 passes over those of a pattern that it does not know."""
    made, names, said = Mapped(), set[str](), Notes(notes.five)
    for word in filter(None, words):
        low = word.lower()
        if low.startswith("pe"):
            pe = number(low[3:]) if low.startswith("pe=") else None
            made = replace(made, pe=pe)
            if pe is None:
                said.wrong(f"{word[:40]} gives no number of cores")
        elif notes.five and low.startswith("file="):
            made = replace(made, rankfile=word[5:])
        else:
            names.add(said.word(word, _MODIFIERS[notes.five], f"it has no modifier {word[:40]}"))
    if {"oversubscribe", "nooversubscribe"} <= names or {"hwtcpus", "corecpus"} <= names:
        said.wrong("two modifiers contradict each other")
    if said.odd or (said.fault and not notes.five and not whole):
        notes.open("--map-by with such a modifier")
    elif said.fault:
        notes.wrong(said.fault)
    return replace(made, modifiers=frozenset(names))


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


_MAPPING: Final = "rmaps_base_mapping_policy"

_BINDING: Final = "hwloc_base_binding_policy"

_OVERSUBSCRIBE: Final = "rmaps_base_oversubscribe"

_READ: Final = frozenset({_MAPPING, _BINDING, _OVERSUBSCRIBE, "rmaps_rank_file_physical", "rmaps_dist_device"})
"""Parameters of 4 that are as good as options here."""

_SLOTS_OF: Final = ("ras", "orte_set_default_slots", "prte_set_default_slots")

_PLACING: Final = {
    False: ("rmaps", "hwloc_", "orte_rankfile", *_SLOTS_OF),
    True: ("rmaps_default_", "hwloc_default_", "rmaps_base_cpus_per_rank", "rmaps_rank_file_path", "mapby", *_SLOTS_OF),
}
"""How parameters begin that say where ranks go: 5 passes over 4's."""

_HARMLESS: Final = re.compile(r"(rmaps|hwloc)_\w*(_verbose|_report_bindings|_display_map|_mem_\w+)")

_TRUE: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}

_OLD_MAPS: Final = {"--bycore": "core", "--bynode": "node", "--byslot": "slot", "--bysocket": "socket"}

_OLD_BINDS: Final = {"--bind-to-core": "core", "--bind-to-socket": "socket", "--bind-to-none": "none"}

_PER_HOST: Final = ("-N", "--npernode")

_MAPS: Final = (
    *({"--map-by"}, {"--rankfile", "-rf"}, {"--cpu-set"}, {"--cpu-list"}, {"--cpus-per-proc", "--cpus-per-rank"}),
    *({name} for name in (*_OLD_MAPS, *_PER_HOST, "--pernode", "--npersocket")),
)
"""Words that say where ranks go, each of which was seen alone."""

_ONCE_IN_5: Final = ("--map-by", "--bind-to", "--rank-by", "--display", "--rtos")

_ONCE: Final = frozenset({*BINDING, "-np", "--host", "--hostfile", "--runtime-options", *_ONCE_IN_5})

_DEPRECATED: Final = frozenset(
    {"--tag-output", "--timestamp-output", "--merge-stderr-to-stdout", "--report-bindings", "--display-map", "--cpus-per-proc"}
    | {"--display-allocation", "--oversubscribe", "--nooversubscribe", "--use-hwthread-cpus", "--cpus-per-rank"}
)
"""Old words that 5.0.11 turns into new ones: behind --npernode beside a --map-by it then passes over that they contradict."""


def of_open_mpi(line: Line, told: Request) -> Request:
    """Return what a line of Open MPI asks for, beside its variables."""
    segment, values, five = line.first, heeded(line), line.family == "openmpi5"
    notes = Notes(five)
    each = number(segment.value(*_PER_HOST)) or (1 if segment.has("--pernode") else None)
    pattern = (f"ppr:{each}:node" if each else None) or (
        f"ppr:{segment.value('--npersocket')}:socket" if segment.has("--npersocket") else None
    )
    old = next((text for name, text in _OLD_MAPS.items() if segment.has(name)), pattern)
    text = segment.value("--map-by") or old or (None if five else values.get(_MAPPING))
    made = mapped(text, notes)
    bind, modifiers = _bound(segment, values, notes)
    order, _, direction = (segment.value("--rank-by") or "").partition(":")
    order = notes.word(order, _RANKS[five], f"Open MPI {4 + five} ranks by no {order[:40]}") if order else ""
    if direction:
        notes.open(f"--rank-by {order}:{direction[:20]}")
    for text_of in (segment.value("-np"), segment.value(*_PER_HOST, "--npersocket")):
        if text_of is not None and not (text_of.isascii() and text_of.isdigit()):
            notes.wrong(f"{text_of[:40]!r} is not a number of ranks")
    listed, rankfile = segment.value("--cpu-set", "--cpu-list"), segment.value("--rankfile", "-rf") or made.rankfile
    threads = segment.has("--use-hwthread-cpus")
    over = segment.has("--oversubscribe") or (not five and _TRUE.get(values.get(_OVERSUBSCRIBE, ""), False))
    _combined(line, made, old, values, notes)
    ranks = [counted(part.value("-np")) for part in line.segments]
    several = len(ranks) > 1
    if several:
        _programs(line, made, rankfile, order, notes)
    return replace(
        told,
        ranks=sum(count or 0 for count in ranks) if several else ranks[0],
        threads=None if several else told.threads,
        per_node=each,
        hosts=hosts(segment.value("--host") or ""),
        hostfile=segment.value("--hostfile"),
        level="rankfile" if rankfile else "pe-list" if listed or bind == "cpu-list" else made.level,
        ppr=made.ppr,
        pe=made.pe or number(segment.value("--cpus-per-proc", "--cpus-per-rank")),
        cpus=listed or made.cpus,
        ordered="ordered" in made.modifiers or "ordered" in modifiers,
        modifiers=made.modifiers,
        map_text=text,
        bind=bind,
        overload="overload-allowed" in modifiers or (not five and over and not segment.has("--bind-to", *_OLD_BINDS)),
        rank_by=order or None,
        rankfile=rankfile,
        device=values.get("rmaps_dist_device"),
        hwthreads=threads or "hwtcpus" in made.modifiers,
        hwthread_slots=threads,
        oversubscribe=over or "oversubscribe" in made.modifiers,
        parameters=values,
        adapter=told.adapter or values.get("rmaps_dist_device"),
        fault=notes.fault,
        odd=notes.odd,
    )


def _bound(segment: Segment, values: Mapping[str, str], notes: Notes) -> tuple[str | None, set[str]]:
    """Return what ranks are bound to, and the modifiers of that."""
    said = segment.value("--bind-to") or next((kind for name, kind in _OLD_BINDS.items() if segment.has(name)), None)
    kind, _, flags = (said or (None if notes.five else values.get(_BINDING)) or "").partition(":")
    if flags and not kind and notes.five:
        notes.open(f"--bind-to :{flags[:40]}")
    kind = notes.word(kind, _BINDS[notes.five], f"Open MPI {4 + notes.five} binds to no {kind[:40]}") if kind else ""
    words = [word for word in re.split("[:,]", flags) if word]
    modifiers = {notes.word(word, _OF_BINDING[notes.five], f"--bind-to has no modifier {word[:40]}") for word in words}
    return "cpu-list" if kind == "cpulist" else kind or None, modifiers


def _combined(line: Line, made: Mapped, old: str | None, values: Mapping[str, str], notes: Notes) -> None:
    """Note what 5 refuses of two words; what was not often seen together, and parameters that are not read, are left open."""
    said, names, five = line.first.value("--map-by"), {option.name for option in line.first.options}, notes.five
    both = bool(five and old and said and not said.startswith(":") and not names & _DEPRECATED)
    if both:
        notes.wrong(f"both {old} and --map-by {(said or '')[:60]} say what ranks are placed over")
    every = {name for name, _, _ in parameters(line)}
    placing = {name for name in every if name in values or name.startswith("ras")}
    odd = {name for name in placing if name.startswith(_PLACING[five]) and not _HARMLESS.fullmatch(name)} - (
        set() if five else _READ
    )
    odd |= every & {"rmaps"}
    odd |= every & {"orte_default_hostfile", "prte_default_hostfile"} if not names & {"--host", "--hostfile"} else set()
    mapping = [names & group for group in _MAPS] + ([{_MAPPING}] if not five and _MAPPING in values else [])
    over, under = ({f"--{word}"} & names or {word} & made.modifiers for word in ("oversubscribe", "nooversubscribe"))
    said_again = Counter(
        option.values[0] if option.name.endswith("mca") else option.name.replace("runtime-options", "rtos")
        for part in line.segments
        for option in part.options
        if option.name in _ONCE or option.name.endswith("mca")
    )
    if five and (twice := next((name for name in _ONCE_IN_5 if said_again[name] > 1), None)):
        notes.wrong(f"5 takes {twice} once in a line")
    again = [
        name for name, times in said_again.items() if times > (len(line.segments) if name == "-np" else 1) and not notes.fault
    ]
    for held, what in (
        (not both and sum(map(bool, mapping)) > 1, "a line with several words of mapping"),
        (not five and "--rank-by" in names and names.intersection(_OLD_MAPS), "an old word of mapping beside --rank-by"),
        (len(names & {"--bind-to", *_OLD_BINDS}) > 1, "a line with several words of binding"),
        (under and (over or values.get(_OVERSUBSCRIBE)), "a line that allows more ranks than slots and forbids them"),
        ({"--nolocal"} & names or {"nolocal"} & made.modifiers, "which hosts --nolocal leaves out"),
        (again, f"a line that says {again[0][:40]} twice" if again else ""),
        (odd, f"what the parameter {min(odd)[:60]} changes" if odd else ""),
        (
            not five and _BINDING in values and names & {*_OLD_BINDS, *(("--bind-to",) if made.pe else ())},
            f"{_BINDING} beside others",
        ),
        (not five and values.get(_OVERSUBSCRIBE, "1") not in _TRUE, f"such a value of {_OVERSUBSCRIBE}"),
    ):
        if held:
            notes.open(what)


def _programs(line: Line, made: Mapped, rankfile: str | None, order: str, notes: Notes) -> None:
    """Note what is left open of a line that starts several programs: they follow each other where nothing is said."""
    later = {option.name for part in line.segments[1:] for option in part.options}
    shared = rankfile or made.level not in (None, "slot", "core") or made.pe or order not in ("", "slot")
    several = not notes.five and (len(hosts(line.first.value("--host") or "")) > 1 or line.first.has("--hostfile"))
    for held, what in (
        (
            any(counted(part.value("-np")) is None for part in line.segments),
            "what each gets is known of Open MPI only, where each has its -np",
        ),
        (
            later & {*BINDING, "--host", "--hostfile", "--oversubscribe", "--nooversubscribe"},
            "another than the first says where its ranks go",
        ),
        (any(list(binders(part.command)) for part in line.segments), "numactl or taskset binds the ranks of some"),
        (shared or several, "how words of mapping or several hosts are shared among them is not predicted here"),
    ):
        if held:
            notes.odd = notes.odd or f"one line starts {len(line.segments)} programs, and {what}"


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


_HYDRAS: Final = {
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
        return "of-another-launcher", f"{name} is an option of MPICH and Intel MPI", f"{better}, {ADVISE}"
    return None


def apart(said: Said) -> bool:
    """Whether 5.0.11 takes no sign of equality behind an option: of these, and where it has no value (observed)."""
    short = said.written[0].lstrip("-").startswith("c=")
    return short or said.name in ("--map-by", "--bind-to", "--rank-by") or not OPENMPI[said.name][0]


def _joined(said: Said, line: Line) -> Lacking:
    """Return what is wrong with an option that is one word with its value, where its version does not take that."""
    better = " ".join((said.name, *said.values))
    if line.family == "openmpi4":
        return "value-apart", "4.x takes the value of an option as the next word, never after =", better
    if line.release == (5, 0, 11) and apart(said):
        better = better if OPENMPI[said.name][0] else said.name
        return "value-apart", f"5.0.11 takes no = after {said.name} (seen: an error, nothing starts)", better
    return None


_GONE_IN_5: Final = {
    "--novm": "",
    "--bysocket": "--map-by package",
    "--bind-to-socket": "--bind-to package",
    "--bind-to-none": "--bind-to none",
}

_UNKNOWN_TO_5: Final = ("--quiet", "--do-not-resolve", "--display-devel-allocation", "--display-diffable-map")


def _gone(said: Said, want: Request) -> Lacking:
    name, first, text = said.name, said.written[0], (said.values[-1] if said.values else "").lower()
    leave = f"leave {' '.join(said.written)} out"
    if name == "--bind-to" and (not text or text.endswith(":")):
        why = (
            f"5.0.11 dies of a --bind-to that {'is empty' if not text else 'ends in a colon'} (seen: no message, nothing starts)"
        )
        return "dies-of-colon", why, f"--bind-to {text.rstrip(':') or 'core'}"
    if name == "-rf":
        better = f"--map-by rankfile:file={said.values[0]}"
        return "rankfile-of-4", "-rf is gone in 5.x; rankfiles are a way of mapping there", better
    if name == "--map-by" and text.startswith("dist"):
        return "dist-gone", "mapping by distance to a device is gone in 5.x", "--map-by pe-list=...:ordered, or a rankfile"
    if name in ("--map-by", "--bind-to") and text.startswith("board"):
        return "gone-in-5", "boards are gone in 5.x", f"{name} package"
    if name == "--bind-to" and text.startswith(("cpu-list", "cpulist")):
        return "gone-in-5", "5.x binds to no list; it maps by one", f"--map-by pe-list={want.cpus or '0,1,2,3'}:ordered"
    if name == "--rank-by" and text.partition(":")[0] not in _RANKS[True]:
        better = f"--rank-by {'fill' if text.startswith('core') or ':fill' in text else 'slot'}"
        return "gone-in-5", "5.x ranks by slot, node, fill or span, not by parts of the node", better
    if name in _GONE_IN_5:
        return "gone-in-5", f"{name} is gone in 5.x", _GONE_IN_5[name] or leave
    if first == "--bind-to-cores" or name in _UNKNOWN_TO_5:
        return "gone-in-5", f"{first} is unknown to 5.x", "--bind-to core" if first == "--bind-to-cores" else leave
    if first in ("-map-by", "-bind-to", "-rank-by"):
        why = f"5.0.11 takes {first} with one hyphen for something else (seen: an error, nothing starts)"
        return "single-hyphen", why, f"{name} {said.values[0]}"
    return None


def _new(said: Said) -> Lacking:
    name, first, text = said.name, said.written[0], (said.values[-1] if said.values else "").lower()
    leave, value = f"leave {' '.join(said.written)} out", said.values[0] if said.values else ""
    as_mca = " ".join(("--mca", *said.values)) if not any(" " in word for word in said.values) else "write --mca in its place"
    if name in ("--map-by", "--bind-to") and "package" in text:
        return "only-in-5", "4.x calls a package socket", f"{name} {text.replace('package', 'socket')}"
    if name == "--map-by" and text.startswith("rankfile"):
        file = value.partition("file=")[2].partition(":")[0] or "FILE"
        return "only-in-5", "4.x has no mapping by rankfile", f"--rankfile {file}"
    if name == "--map-by" and text.startswith("pe-list"):
        return "only-in-5", "4.x has no pe-list", "--rankfile FILE"
    if name == "--rank-by" and text in ("fill", "span"):
        return "only-in-5", "4.x ranks by slot, node or parts of the node", "--rank-by core"
    if name in ("--prtemca", "--display", "--rtos", "--runtime-options", "--hetero-nodes", "--pmixmca"):
        same = {"--prtemca": as_mca, "--display": "--report-bindings, --display-map"}
        return "only-in-5", f"{name} came with 5.x", same.get(name, f"leave {name} out")
    if first.lstrip("-") in ("mapby", "bindto", "rankby"):
        return "only-in-5", "that spelling is of PRRTE's development branch", f"{name} {value}"
    if name in ("--output", "--omca", "--with-ft", "--bind-to-none") or first == "--bind-to-cores":
        same = {"--bind-to-none": "--bind-to none", "--bind-to-core": "--bind-to core", "--omca": as_mca}
        return "gone-in-4", f"{first} is unknown to 4.x", same.get(name, leave)
    if name == "--bysocket":
        return "gone-in-4", f"{name} was of 1.6 and is unknown to 4.x", "--map-by socket"
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
        yield warning("list", f"the list {listed[:60]} cannot be read", "It is not a list of cores.", error.problem)
        return
    if len(cores) > 8192:  # Linux has no more CPUs
        yield warning(
            "list", f"the list {listed[:60]} cannot be read", "It is not a list of cores.", f"it names {len(cores)} cores"
        )
        return
    full, entries = ",".join(map(str, cores)), len(listed.split(","))
    if case.four and case.want.ordered and full != listed:
        why = "4.x binds the ranks to the listed cores by rising CPU number, whatever their order (seen in 4.1.4)."
        yield warning("order-ignored", "the order of the list is ignored", why, evidence, "--rankfile FILE", bad=True)
    elif case.five and case.want.ordered and "-" in listed:
        why = "5.x expands no ranges in an ordered list: it counts 0-3 as one CPU (seen in 5.0.11)."
        better = rebound(case.line, ("--map-by", f"pe-list={full}:ordered", "--bind-to", "core"))
        yield warning("ranges-not-expanded", f"{listed[:60]} is one CPU to it, not four", why, evidence, better, bad=True)
    elif case.five and case.want.ordered and entries < (ranks_here(case) or 0):
        yield warning("list-short", "there are more ranks than entries", "Each rank takes one entry.", f"{entries} entries")


def _rankfile(case: Prediction, file: str) -> Iterator[LintWarning]:
    want, line = case.want, case.line
    if case.five and want.hwthreads and (line.release is None or (5, 0, 0) <= line.release <= (5, 0, 5)):
        why = "5.0.0 to 5.0.5 take the numbers of hardware threads for cores (open-mpi/ompi#12967); 5.0.11 was seen to be right."
        cores, cpus = len(case.topology.cores), len(case.topology.pus)
        here = f"{line.version or 'the version is not known'}; {cores} cores, {cpus} CPUs here"
        better = "a rankfile of logical cores, without hwtcpus"
        yield warning("hwthread-rankfile", "ranks run on other cores than the rankfile says", why, here, better, bad=True)
    if len(want.hosts) > 1 and case.five and not line.first.has("--hetero-nodes"):
        what = "nodes that number their CPUs otherwise are bound wrongly"
        why = "5.x looks numbers up on the first node for all with as many objects, however they are numbered."
        yield warning("hetero-nodes", what, why, f"a rankfile over {len(want.hosts)} hosts", "add --hetero-nodes")
    text = case.files.get(file)
    if text is None:
        what = f"the rankfile {file[:80]} was not read"
        yield warning("rankfile-unread", what, "So it is not known where ranks go.", "no such file here")
        return
    slots = [match for row in text.splitlines()[:65536] if (match := _SLOT.fullmatch(row.strip()[:8192]))]
    longest = max(slots, key=lambda match: len(match[3]), default=None)
    colon = next((match[3] for match in slots if ":" in match[3] or "p" in match[3].lower()), None)
    most = 63 - len(longest[2] if longest else "") - 6 if case.four else 63
    if longest and len(longest[3]) > most:
        what = "its end is dropped" if case.five else "mpirun writes past its buffer and may die"
        why, evidence = (
            f"Slot lists are read into 64 bytes: {most} letters fit here.",
            f"a slot list of {len(longest[3])} letters",
        )
        better = "write ranges: 0-15 instead of 0,1,2,..."
        yield warning("slot-too-long", what, why, f"{evidence}: {longest[3][:50]}...", better, bad=True)
    if colon:
        what, evidence = f"slot={colon[:40]} means different cores to 4.x and 5.x", f"slot={colon[:40]} in the rankfile"
        why = (
            "Versions read socket:core pairs and p differently: 4.1 wants 0:0,0:1, 5.x counts over sockets as if all were alike."
        )
        yield warning("socket-pairs", what, why, evidence, "logical cores: slot=0-3", bad=True)
    elif case.ranks is None and case.unclear and not case.refused and len(longest[3] if longest else "") <= most:
        why = "What is written there is not what both versions read alike; they mistake such lines silently."
        better = "advisor bind --exact -- ./app writes one"
        yield warning("rankfile-dialect", "the rankfile is not safe", why, case.unclear[:160], better)


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
        return "openmpi5", None, "words that only Open MPI 5 knows"
    four = {"-rf", "--novm", "rmaps_dist_device", "rmaps_rank_file_physical", "--cpu-list", "--cpu-set", "--npernode"} & set(rest)
    if (
        four
        or any(_SHOWS_FOUR.match(word) for word in rest)
        or any(each.startswith("OMPI_MCA_rmaps") for each in words.environment)
    ):
        return "openmpi4", None, "words of Open MPI 4"
    return "openmpi5", None, "nothing: the newest is assumed; say --launcher-version"
