"""The words of Open MPI 4 and 5: options, parameters, the values of --map-by and its like, and what each version lacks."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.jobs.launcher import Options
from advisor.jobs.request import Line, Request, Said, Segment, Words, number, release_of
from advisor.machine.operating_system import Tool

OPENMPI: Options = {
    "-np": (1, "starts {0} ranks"),
    "--host": (1, "on the hosts {0}; a name without :N gives one slot"),
    "--hostfile": (1, "on the hosts of the file {0}"),
    "--map-by": (1, "places ranks round-robin by {0}"),
    "--rank-by": (1, "numbers the ranks by {0}"),
    "--bind-to": (1, "binds each rank to {0}"),
    "--rankfile": (1, "takes each rank's cores from the file {0}"),
    "-rf": (1, "takes each rank's cores from the file {0}"),
    "--cpu-set": (1, "uses the cores {0} and no others"),
    "--cpu-list": (1, "uses the cores {0} and no others"),
    "--cpus-per-proc": (1, "gives each rank {0} cores"),
    "--cpus-per-rank": (1, "gives each rank {0} cores"),
    "-N": (1, "starts {0} ranks on each node"),
    "--npernode": (1, "starts {0} ranks on each node"),
    "--npersocket": (1, "starts {0} ranks on each socket"),
    "--pernode": (0, "starts one rank on each node"),
    "--bycore": (0, "places ranks core by core"),
    "--bynode": (0, "places ranks round-robin by node"),
    "--byslot": (0, "places ranks slot by slot"),
    "--bysocket": (0, "places ranks round-robin by socket"),
    "--bind-to-core": (0, "binds each rank to a core"),
    "--bind-to-socket": (0, "binds each rank to a socket"),
    "--bind-to-none": (0, "binds no rank"),
    "--use-hwthread-cpus": (0, "counts hardware threads instead of cores"),
    "--oversubscribe": (0, "allows more ranks than slots"),
    "--nooversubscribe": (0, "allows no more ranks than slots"),
    "--nolocal": (0, "starts no rank on this node"),
    "--hetero-nodes": (0, "asks every node for its own topology"),
    "--report-bindings": (0, "prints where each rank is bound"),
    "--display": (1, "prints {0}"),
    "--display-map": (0, "prints where each rank goes"),
    "--display-devel-map": (0, "prints where each rank goes, in detail"),
    "--display-allocation": (0, "prints the hosts and their slots"),
    "--display-topo": (0, "prints the topology"),
    "--do-not-launch": (0, "plans and starts nothing"),
    "--novm": (0, "starts daemons only where ranks go"),
    "--rtos": (1, "sets {0} for the run"),
    "--runtime-options": (1, "sets {0} for the run"),
    "--mca": (2, "sets the parameter {0} to {1}"),
    "--gmca": (2, "sets the parameter {0} to {1}"),
    "--omca": (2, "sets the library's parameter {0} to {1}"),
    "--prtemca": (2, "sets the launcher's parameter {0} to {1}"),
    "--pmixmca": (2, "sets PMIx's parameter {0} to {1}"),
    "-x": (1, "passes the variable {0} on to the ranks"),
    "--tune": (1, "reads parameters from {0}"),
    "-am": (1, "reads parameters from {0}"),
    "--allow-run-as-root": (0, "runs as root too"),
    "--tag-output": (0, "marks output with the rank"),
    "--timestamp-output": (0, "marks output with the time"),
    "--output": (1, "writes output as {0}"),
    "--output-filename": (1, "writes output to {0}"),
    "--merge-stderr-to-stdout": (0, "joins errors and output"),
    "--quiet": (0, "says less"),
    "--verbose": (0, "says more"),
    "--wdir": (1, "starts in the folder {0}"),
    "--prefix": (1, "finds Open MPI on the hosts in {0}"),
    "--path": (1, "finds the program in {0}"),
    "--timeout": (1, "ends after {0} seconds"),
    "--app": (1, "reads further lines from {0}"),
    "--personality": (1, "takes the words for those of {0}"),
    "--stdin": (1, "gives the input to {0}"),
    "--launch-agent": (1, "starts daemons with {0}"),
    "--enable-recovery": (0, "goes on when a rank dies"),
    "--disable-recovery": (0, "ends when a rank dies"),
    "--default-hostfile": (1, "on the hosts of the file {0} where no others are named"),
    "--leave-session-attached": (0, "keeps the daemons attached"),
    "--debug-daemons": (0, "lets the daemons tell what they do"),
    "--noprefix": (0, "looks for Open MPI on the hosts in their own paths"),
    "--report-pid": (1, "writes its process number to {0}"),
    "--report-uri": (1, "writes its address to {0}"),
    "--show-progress": (0, "reports the progress of the start"),
    "--xml": (0, "writes output as XML"),
    "--do-not-resolve": (0, "asks no resolver for names of hosts"),
    "--display-devel-allocation": (0, "prints the hosts and their slots, in detail"),
    "--display-diffable-map": (0, "prints where each rank goes, to be compared"),
    "--preload-files": (1, "copies the files {0} to the hosts"),
    "--set-cwd-to-session-dir": (0, "starts in the session's folder"),
    "--index-argv-by-rank": (0, "gives each rank an argument with its number"),
    "--get-stack-traces": (0, "prints stacks when time is up"),
    "--report-state-on-timeout": (0, "prints the state when time is up"),
    "--ompi-server": (1, "asks the name server {0}"),
    "--max-restarts": (1, "restarts a rank up to {0} times"),
    "--with-ft": (1, "tolerates faults by {0}"),
    "--preload-binary": (0, "copies the program to the hosts"),
    "--xterm": (1, "opens a window for {0}"),
    "--dvm": (1, "uses the running daemons {0}"),
    "--dvm-uri": (1, "uses the running daemons {0}"),
}


OPENMPI_ALIASES: Mapping[str, str] = {
    "-n": "-np",
    "-c": "-np",
    "--n": "-np",
    "--np": "-np",
    "-H": "--host",
    "--machinefile": "--hostfile",
    "--mapby": "--map-by",
    "--bindto": "--bind-to",
    "--rankby": "--rank-by",
    "--wd": "--wdir",
    "-q": "--quiet",
    "-v": "--verbose",
    "--bind-to-cores": "--bind-to-core",
}


def long_or_short(name: str) -> tuple[str, ...]:
    """Return the names of an option of Open MPI: -np and --np are one, and so are -display-map and --display-map."""
    other = name[1:] if name.startswith("--") else f"-{name}"
    return (name, other) if name.startswith("--") or len(name) > 2 else (name,)


_LEVELS = {"socket": "package", "skt": "package", "thread": "hwthread"}


_FOUR = ("slot", "node", "seq", "core", "l1cache", "l2cache", "l3cache", "socket", "numa", "board", "hwthread", "dist")


_FIVE = ("slot", "node", "seq", "core", "l1cache", "l2cache", "l3cache", "numa", "package", "rankfile", "hwthread", "pe-list")


_FIVE_BIND = ("none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "package")


_FOUR_BIND = frozenset({"none", "hwthread", "core", "l1cache", "l2cache", "l3cache", "socket", "numa", "board"})


_PPR_FOUR = ("node", "hwthread", "thread", "core", "socket", "skt", "l1cache", "l2cache", "l3cache", "numa")


_PPR_FIVE = ("node", "hwthread", "thread", "core", "package", "skt", "socket", "numa", "l1cache", "l2cache", "l3cache")


_QUALIFIERS = ("span", "oversubscribe", "nooversubscribe", "nolocal", "ordered", "inherit", "noinherit", "hwtcpus", "corecpus")


@dataclass(frozen=True)
class Mapped:
    """What the value of --map-by says."""

    level: str | None = None
    ppr: tuple[int, str] | None = None
    pe: int | None = None
    cpus: str | None = None
    rankfile: str | None = None
    modifiers: frozenset[str] = frozenset()
    fault: str | None = None
    """What the version finds wrong in it; nothing starts."""


@dataclass(frozen=True)
class Bound:
    """What the value of --bind-to says."""

    kind: str | None = None
    overload: bool = False
    ordered: bool = False
    fault: str | None = None


def level_of(word: str) -> str:
    """Return the name that things have here."""
    return _LEVELS.get(word, word)


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


def mapped(text: str | None, *, five: bool) -> Mapped:
    """Return what a --map-by says: ``ppr:2:socket:PE=2``, ``rankfile:file=F``, ``:OVERSUBSCRIBE``."""
    if not text:
        return Mapped()
    return _five(text) if five else _four(text)


def _begins(word: str, known: Sequence[str]) -> str | None:
    """Return the first known word that begins with one: what strncasecmp does with the length of what was written."""
    return next((each for each in known if word and each.startswith(word.lower())), None)


def _alike(word: str, known: Sequence[str]) -> str | None:
    """Return the first known word that is the same as far as both go."""
    low = word.lower()
    return next((each for each in known if low and (each.startswith(low) or low.startswith(each))), None)


def _four(text: str) -> Mapped:
    head, colon, rest = text.partition(":")
    if colon and not rest:
        return Mapped(level=level_of(head.lower()) or None, fault="a colon with nothing behind it makes 4.1 die")
    if colon and not head:
        made = _modifiers4(rest)
        return made if isinstance(made, Mapped) else Mapped()  # modifiers alone that it does not know are passed over
    if colon and "ppr".startswith(head.lower()):
        return _ppr4(text, rest)
    more = _modifiers4(rest) if colon else Mapped()
    if not isinstance(more, Mapped):
        return Mapped(level=level_of(head.lower()), fault=more)
    level = _begins(head, _FOUR)
    if level is None or level == "board":
        return Mapped(level=level_of(head.lower()), fault=f"Open MPI 4 maps by no {head[:40]}")
    return Mapped(level_of(level), None, more.pe, None, None, more.modifiers)


def _ppr4(text: str, rest: str) -> Mapped:
    """Read a pattern: what stands behind it are modifiers, and those that it does not know it passes over."""
    words = rest.split(":")
    kind = _begins(words[1], _PPR_FOUR) if len(words) > 1 else None
    if kind is None or "," in words[0]:
        return Mapped(
            level="ppr", ppr=(1, words[1].lower() if len(words) > 1 else ""), fault=f"{text[:60]} is not a pattern that it knows"
        )
    each = number(words[0]) or 0
    made = _modifiers_of_ppr(":".join(words[2:]))
    fault = made.fault or (None if each else f"{text[:60]} maps no rank")
    if len(words) == 3 and not words[2]:
        fault = "a colon with nothing behind it makes 4.1 die"
    return Mapped("ppr", (each or 1, level_of(kind)), made.pe, None, None, made.modifiers, fault)


def _modifiers_of_ppr(text: str) -> Mapped:
    """Return the modifiers up to the first that is none: behind a pattern 4.1 says nothing of those."""
    pe: int | None = None
    found: set[str] = set()
    for word in [each for each in text.split(",") if each]:
        if word.lower().startswith("pe"):
            name, equals, value = word.partition("=")
            if not equals:
                return Mapped(fault=f"{name[:40]} gives no number of cores")
            match = re.match(r"\s*(\d{1,8})", value, re.ASCII)
            pe = (int(match[1]) or None) if match else None
        elif (known := _begins(word, ("span", "oversubscribe", "nooversubscribe"))) is not None:
            found.add(known)
        else:
            break
    return Mapped(pe=pe, modifiers=frozenset(found))


def _modifiers4(text: str) -> Mapped | str:
    """Return the modifiers, or what is wrong with them; after a number everything else of the word is lost."""
    pe: int | None = None
    found: set[str] = set()
    for word in [each for each in text.split(",") if each]:
        low = word.lower()
        if low.startswith("pe"):
            value = re.match(r"pe[^=]*=\s*(\d{1,8})", low, re.ASCII)
            if value is None or not int(value[1]):
                return f"{word[:40]} gives no number of cores"
            pe = int(value[1])
        elif (known := _begins(word, ("span", "oversubscribe", "nooversubscribe"))) is not None:
            found.add(known)
        else:
            return f"it has no modifier {word[:40]}"
    return Mapped(pe=pe, modifiers=frozenset(found))


def _five(text: str) -> Mapped:
    parts = text.split(":")
    head = parts[0]
    ppr: tuple[int, str] | None = None
    rest = parts[1:]
    fault: str | None = None
    if head.lower() == "ppr":
        kind = _begins(parts[2], _PPR_FIVE) if len(parts) > 2 and parts[2] else None
        whole = len(parts) > 2 and re.fullmatch(r"\d{1,8}", parts[1], re.ASCII)
        ppr = (number(parts[1] if len(parts) > 1 else "") or 1, level_of(kind or (parts[2].lower() if len(parts) > 2 else "")))
        fault = None if kind and whole else f"{text[:60]} is not a pattern that it knows"
        fault = fault or (None if number(parts[1]) else f"{text[:60]} maps no rank")
        rest = parts[3:]
    made = _qualifiers5([word for word in rest if word])
    if head.lower().startswith("pe-list="):
        return Mapped("pe-list", None, made.pe, head[8:], made.rankfile, made.modifiers, fault or made.fault or _listed(head[8:]))
    level = "ppr" if ppr else _alike("package" if head.lower() == "socket" else head, _FIVE) if head else None
    if head and level is None:
        fault = f"Open MPI 5 maps by no {head[:40]}"
        level = level_of(head.partition(",")[0].lower())
    if level == "rankfile" and not made.rankfile:
        fault = fault or "the rankfile has no file="
    if made.pe is not None and level in ("seq", "rankfile"):
        fault = fault or f"{level} takes no PE="
    return Mapped(level, ppr, made.pe, None, made.rankfile, made.modifiers, fault or made.fault)


def _listed(text: str) -> str | None:
    ok = re.fullmatch(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*", text, re.ASCII)
    return None if ok else f"{text[:60]} is not a list of cores"


def _qualifiers5(words: Sequence[str]) -> Mapped:
    pe: int | None = None
    file: str | None = None
    found: set[str] = set()
    fault: str | None = None
    for word in words:
        low = word.lower()
        if low.startswith("pe="):
            pe = number(word[3:])
            fault = fault or (None if pe else f"{word[:40]} gives no number of cores")
        elif low.startswith("file="):
            file = word[5:]
        elif (known := _alike(low, _QUALIFIERS)) is not None:
            found.add(known)
        else:
            fault = fault or f"it has no modifier {word[:40]}"
    if {"oversubscribe", "nooversubscribe"} <= found or {"hwtcpus", "corecpus"} <= found:
        fault = fault or "two modifiers contradict each other"
    return Mapped(None, None, pe, None, file, frozenset(found), fault)


_OF_BINDING = {False: ("if-supported", "overload-allowed", "ordered"), True: ("overload-allowed", "no-overload", "if-supported")}
"""Modifiers of --bind-to, of Open MPI 4 and 5 (4.1.4 and 5.0.11, observed)."""


def bound(text: str | None, *, five: bool) -> Bound:
    """Return what a --bind-to says."""
    if not text:
        return Bound()
    head, _, rest = text.partition(":")
    flags = [word.lower() for word in re.split("[:,]", rest) if word]
    known = _OF_BINDING[five]
    odd = next((flag for flag in flags if _alike(flag, known) is None), None)
    fault = f"--bind-to has no modifier {odd[:40]}" if odd else None
    overload = any(_alike(flag, known) == "overload-allowed" for flag in flags)
    low = head.lower()
    if five:
        kind = "none" if not head else _alike("package" if low == "socket" else head, _FIVE_BIND)
        fault = fault or (None if kind else f"Open MPI 5 binds to no {head[:40]}")
        return Bound(kind or level_of(low), overload, fault=fault)
    if low in ("cpu-list", "cpulist"):
        return Bound("cpu-list", overload, "ordered" in flags, fault)
    if head and low not in _FOUR_BIND:
        return Bound(level_of(low), overload, fault=f"Open MPI 4 binds to no {head[:40]}")
    return Bound("none" if low == "board" else level_of(low) or None, overload, fault=fault)


def ranked(text: str | None, *, five: bool) -> tuple[str | None, str | None]:
    """Return what --rank-by says, and what is wrong with it."""
    if not text:
        return None, None
    head, _, how = text.lower().partition(":")
    if five:
        kind = _alike(head, ("slot", "node", "fill", "span"))
        return (kind or head), None if kind else f"Open MPI 5 ranks by no {text[:40]}"
    kind = _begins(head, ("slot", "node", "hwthread", "core", "l1cache", "l2cache", "l3cache", "socket", "numa", "board"))
    direction = _begins(how, ("span", "fill")) if how else ""
    if kind is None or direction is None:
        return head, f"Open MPI 4 ranks by no {text[:40]}"
    kind = "node" if kind == "board" else level_of(kind)
    return (f"{kind}:{direction}" if direction else kind), None


def bound_by_parameter(text: str | None, *, five: bool) -> str | None:
    """Return the parameter that says what ranks are bound to; 5 passes over one that it does not know, and socket is such."""
    head = (text or "").partition(":")[0].lower()
    return None if five and (head == "socket" or bound(head, five=True).fault) else text


_TRUE = re.compile(r"t|true|y|yes|enabled|[-+]?0*[1-9]\d{0,8}", re.ASCII)
"""What Open MPI 4.1.4 was seen to take for true; it passes over True and on."""


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
    five = line.family == "openmpi5"
    found: dict[str, str] = {}
    for name, value, written in parameters(line):
        own = written.startswith(("PRTE_MCA_", "--prtemca", "-prtemca"))
        given = five and written.startswith(("--mca", "-mca")) and name.startswith(("rmaps_", "hwloc_"))
        if own == five or given:  # 5 hands on what --mca says of PRRTE's own parts (5.0.11, observed)
            found[name] = value
    return found


def true(values: Mapping[str, str], parameter: str) -> bool:
    """Whether a parameter of 4 is set."""
    return _TRUE.fullmatch(values.get(parameter, "")) is not None


_ONCE = ("--map-by", "--bind-to", "--rank-by", "--display", "--rtos", "--runtime-options")
"""Options that 5 takes once in a line (5.0.11, observed)."""


_PARAMETERS = ("--mca", "--omca")


BY = ("--bynode", "--bycore", "--byslot", "--bysocket")


_PER_NODE = ("-N", "--npernode", "--npersocket", "--pernode", "--bynode", "--bycore", "--byslot", "--bysocket")


def settled4(options: list[Said], _words: Sequence[str], at: int) -> tuple[list[Said], int]:
    """Return the options with the hosts of every --host in each of them: they add up."""
    return _added_up(options, "--host"), at


def settled5(options: list[Said], _words: Sequence[str], at: int) -> tuple[list[Said], int]:
    """Return the options with all hosts in every --host, and the first number of ranks in every -np: 5 passes over the others."""
    first = next((said.values for said in options if said.name == "-np"), ())
    options = [replace(said, values=first) if said.name == "-np" else said for said in options]
    return _added_up(options, "--host"), at


def _added_up(options: list[Said], name: str) -> list[Said]:
    every = [said.values[0] for said in options if said.name == name]
    if len(every) < 2:
        return options
    return [replace(said, values=(",".join(every),)) if said.name == name else said for said in options]


def twice(line: Line, values: Mapping[str, str]) -> str | None:
    """Return what a line says more often than its version takes; nothing starts. ``values`` are its parameters."""
    find = _of_five if line.family == "openmpi5" else _of_four
    return next((fault for segment in line.segments for fault in find(segment, values)), None)


def _of_four(segment: Segment, values: Mapping[str, str]) -> Iterator[str]:
    said = {name: segment.has(name) for name in (*_PER_NODE, "--oversubscribe", "--nooversubscribe", "--bind-to-none")}
    words = [name for name in BY if said[name]]
    if len(words) > 1 or (words and segment.has("-np") and any(said[name] for name in _PER_NODE if name not in BY)):
        yield f"{words[0]} and another word say both what ranks are placed over"
    order = (values.get("rmaps_base_ranking_policy") or "").lower()
    if words and order and order != words[0][4:]:
        yield f"{words[0]} and rmaps_base_ranking_policy say both how ranks are numbered"
    if said["--nooversubscribe"] and values.get("rmaps_base_oversubscribe", "0").lower() in ("1", "true", "yes"):
        yield "it is asked both to allow more ranks than slots and not to"
    level = (segment.value("--map-by") or values.get("rmaps_base_mapping_policy") or "").partition(":")
    placed = level[0] or "pe=" in level[2].lower() or words or values.get("rmaps_base_cpus_per_rank")
    if (segment.has("--rankfile", "-rf") or "orte_rankfile" in values) and placed:
        yield "a rankfile and another word say both where ranks go"
    bind = segment.value("--bind-to") or values.get("hwloc_base_binding_policy")
    old = next((name[10:] for name in ("--bind-to-core", "--bind-to-socket", "--bind-to-none") if segment.has(name)), None)
    if bind and old and bind.lower() != old and not bind.lower().startswith("cpu"):
        yield f"--bind-to-{old} and {bind[:40]} say both what ranks are bound to"
    names = Counter(said.values[0] for said in segment.options if said.name == "--mca")
    yield from (
        f"4.1 takes the parameter {name[:60]} once, whatever its values are" for name, count in names.items() if count > 1
    )
    if sum(said.name == "--hostfile" for said in segment.options) > 1:
        yield "4.1 takes one host file for a program"


def _of_five(segment: Segment, _values: Mapping[str, str]) -> Iterator[str]:
    names = Counter("--rtos" if said.name == "--runtime-options" else said.name for said in segment.options)
    yield from (f"5 takes {name} once in a line" for name in _ONCE if names[name] > 1)
    if len({(said.name, said.values) for said in segment.options if said.name in _PER_NODE}) > 1:
        yield "5 takes one of -N, --npernode and the like"
    if segment.has("--rankfile", "-rf") and (segment.value("--map-by") or ":")[0] != ":":
        yield "--rankfile and --map-by say both where ranks go"
    if names["--hostfile"] > 1:
        yield "5 takes the names of two host files for one name"
    found: dict[str, str] = {}
    for said in segment.options:
        if said.name in _PARAMETERS and found.setdefault(said.values[0], said.values[1]) != said.values[1]:
            yield f"5 refuses two values of the parameter {said.values[0][:60]}"


RANK_BY_5 = frozenset({"slot", "node", "fill", "span"})


_OF_4 = frozenset({"--quiet", "--do-not-resolve", "--display-devel-allocation", "--display-diffable-map"})


@dataclass(frozen=True)
class Missing:
    """A word that this version does not know."""

    id: str
    word: str
    why: str
    better: str


def missing(line: Line, want: Request) -> Iterator[Missing]:
    """Yield what this version of Open MPI does not know; nothing starts then."""
    for said in line.options:
        if said.known and "=" in said.written[0]:
            yield from _joined(said, line)
        elif line.family == "openmpi5":
            yield from _gone(said, want)
        elif line.family == "openmpi4":
            yield from _new(said)


def apart(said: Said) -> bool:
    """Whether 5.0.11 takes no sign of equality behind an option: of these, and where it has no value (observed)."""
    short = said.written[0].lstrip("-").startswith("c=")
    return short or said.name in ("--map-by", "--bind-to", "--rank-by") or not OPENMPI[said.name][0]


def _joined(said: Said, line: Line) -> Iterator[Missing]:
    """Yield an option that is one word with its value, where its version does not take that."""
    word, better = " ".join(said.written), " ".join((said.name, *said.values))
    if line.family == "openmpi4":
        yield Missing("value-apart", word, "4.x takes the value of an option as the next word, never after =", better)
    elif line.family == "openmpi5" and line.release == (5, 0, 11) and apart(said):
        better = better if OPENMPI[said.name][0] else said.name
        yield Missing("value-apart", word, f"5.0.11 takes no = after {said.name} (seen: an error, nothing starts)", better)


def _gone(said: Said, want: Request) -> Iterator[Missing]:
    word, text = " ".join(said.written), (said.values[-1] if said.values else "").lower()
    if said.name == "-rf":
        better = f"--map-by rankfile:file={said.values[0]}"
        yield Missing("rankfile-of-4", word, "-rf is gone in 5.x; rankfiles are a way of mapping there", better)
    elif said.name == "--map-by" and text.startswith("dist"):
        yield Missing(
            "dist-gone", word, "mapping by distance to a device is gone in 5.x", "--map-by pe-list=...:ordered, or a rankfile"
        )
    elif said.name in ("--map-by", "--bind-to") and text.startswith("board"):
        yield Missing("gone-in-5", word, "boards are gone in 5.x", f"{said.name} package")
    elif said.name == "--bind-to" and text.startswith(("cpu-list", "cpulist")):
        better = f"--map-by pe-list={want.cpus or '0,1,2,3'}:ordered"
        yield Missing("gone-in-5", word, "5.x binds to no list; it maps by one", better)
    elif said.name == "--rank-by" and text.partition(":")[0] not in RANK_BY_5:
        better = f"--rank-by {'fill' if text.startswith('core') or ':fill' in text else 'slot'}"
        yield Missing("gone-in-5", word, "5.x ranks by slot, node, fill or span, not by parts of the node", better)
    elif said.name in ("--novm", "--bysocket", "--bind-to-socket", "--bind-to-none"):
        better = {
            "--bysocket": "--map-by package",
            "--bind-to-socket": "--bind-to package",
            "--bind-to-none": "--bind-to none",
        }.get(said.name, f"leave {word} out")
        yield Missing("gone-in-5", word, f"{said.name} is gone in 5.x", better)
    elif said.written[0] == "--bind-to-cores" or said.name in _OF_4:
        better = "--bind-to core" if said.written[0] == "--bind-to-cores" else f"leave {word} out"
        yield Missing("gone-in-5", word, f"{said.written[0]} is unknown to 5.x", better)
    elif said.written[0] in ("-map-by", "-bind-to", "-rank-by"):
        why = f"5.0.11 takes {said.written[0]} with one hyphen for something else (seen: an error, nothing starts)"
        yield Missing("single-hyphen", word, why, f"{said.name} {said.values[0]}")


def _new(said: Said) -> Iterator[Missing]:
    word, text = " ".join(said.written), (said.values[-1] if said.values else "").lower()
    if said.name in ("--map-by", "--bind-to") and "package" in text:
        better = f"{said.name} {text.replace('package', 'socket')}"
        yield Missing("only-in-5", word, "4.x calls a package socket", better)
    elif said.name == "--map-by" and text.startswith("rankfile"):
        better = f"--rankfile {said.values[0].partition('file=')[2].partition(':')[0] or 'FILE'}"
        yield Missing("only-in-5", word, "4.x has no mapping by rankfile", better)
    elif said.name == "--map-by" and text.startswith("pe-list"):
        yield Missing("only-in-5", word, "4.x has no pe-list", "--rankfile FILE")
    elif said.name == "--rank-by" and text in ("fill", "span"):
        yield Missing("only-in-5", word, "4.x ranks by slot, node or parts of the node", "--rank-by core")
    elif said.name in ("--prtemca", "--display", "--rtos", "--runtime-options", "--hetero-nodes", "--pmixmca"):
        same = {"--prtemca": _as_mca(said), "--display": "--report-bindings, --display-map"}
        better = same.get(said.name, f"leave {said.name} out")
        yield Missing("only-in-5", word, f"{said.name} came with 5.x", better)
    elif said.written[0].lstrip("-") in ("mapby", "bindto", "rankby"):
        yield Missing("only-in-5", word, "that spelling is of PRRTE's development branch", f"{said.name} {said.values[0]}")
    elif said.name in ("--output", "--omca", "--with-ft", "--bind-to-none") or said.written[0] == "--bind-to-cores":
        same = {"--bind-to-none": "--bind-to none", "--bind-to-core": "--bind-to core", "--omca": _as_mca(said)}
        better = same.get(said.name, "")
        yield Missing("gone-in-4", word, f"{said.written[0]} is unknown to 4.x", better or f"leave {word} out")
    elif said.name == "--bysocket":
        yield Missing("gone-in-4", word, f"{said.name} was of 1.6 and is unknown to 4.x", "--map-by socket")


def _as_mca(said: Said) -> str:
    """Return a parameter as every version takes it, with its name and its value; in words where a blank is in them."""
    words = ("--mca", *said.values)
    return " ".join(words) if not any(" " in word for word in words) else "write --mca in its place"


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
