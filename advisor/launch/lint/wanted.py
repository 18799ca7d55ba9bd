"""What a line asks for, in words that are the same for all launchers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from advisor.launch.lint.line import Line, Segment

_LEVELS = {"socket": "package", "hwt": "hwthread", "l1": "l1cache", "l2": "l2cache", "l3": "l3cache", "machine": "node"}
_MOST = 1 << 24


@dataclass(frozen=True)
class Wanted:
    """What the first segment of a line asks for."""

    ranks: int | None = None
    per_node: int | None = None
    hosts: tuple[tuple[str, int | None], ...] = ()
    hostfile: str | None = None
    level: str | None = None
    """What ranks are dealt over: slot, core, numa, l3cache, package, node, ppr, pe-list, rankfile, dist, seq."""
    ppr: tuple[int, str] | None = None
    pe: int | None = None
    cpus: str | None = None
    """The list of a pe-list or a cpu-list."""
    ordered: bool = False
    modifiers: frozenset[str] = frozenset()
    map_text: str | None = None
    bind: str | None = None
    overload: bool = False
    rank_by: str | None = None
    rankfile: str | None = None
    device: str | None = None
    hwthreads: bool = False
    oversubscribe: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)
    """Variables that the ranks get."""
    threads: int | None = None
    adapter: str | None = None
    """The HCA that the line names."""


def number(text: str | None) -> int | None:
    """Return a count that a line gives; None of anything else."""
    match = re.fullmatch(r"\d{1,8}", text or "", re.ASCII)
    return int(text or "0") if match and 0 < int(text or "0") <= _MOST else None


def wanted(line: Line) -> Wanted:
    """Return what a line asks for."""
    exports = _exports(line)
    threads = number((exports.get("OMP_NUM_THREADS") or "").partition(",")[0])
    adapter = (exports.get("UCX_NET_DEVICES") or "").partition(",")[0].partition(":")[0].strip() or None
    if line.family == "srun":
        return _srun(line, exports, threads, adapter)
    if line.family in ("mpich", "intelmpi", "pals", "mvapich"):
        return _hydra(line, exports, threads, adapter)
    return _open(line, exports, threads, adapter)


def _exports(line: Line) -> dict[str, str]:
    """Return the variables of the ranks: those before the line, and those that options give."""
    found = dict(line.words.environment)
    for said in line.first.options:
        if said.name == "-x" and line.family.startswith("openmpi"):
            name, equals, value = said.values[0].partition("=")
            found |= {name: value} if equals else {}
        elif said.name in ("-genv", "-env"):
            name, _, value = said.values[0].partition("=")
            found[name] = said.values[1] if len(said.values) > 1 else value
        elif said.name == "--export" and said.values:
            found |= {key: value for key, _, value in (word.partition("=") for word in said.values[0].split(",")) if value}
    return found


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
        if own == five:
            found[name] = value
    return found


def hosts(text: str) -> tuple[tuple[str, int | None], ...]:
    """Return the names of a list of hosts with their slots; a name given twice has two."""
    found: dict[str, int | None] = {}
    for word in text.split(",")[:65536]:
        name, colon, slots = word.strip().partition(":")
        if name:
            again = (found[name] or 1) + 1 if name in found and not colon else None
            found[name] = number(slots) if colon else again
    return tuple(found.items())


def _open(line: Line, exports: Mapping[str, str], threads: int | None, adapter: str | None) -> Wanted:
    segment, values = line.first, heeded(line)
    base = "rmaps_default" if line.family == "openmpi5" else "rmaps_base"
    bound = "hwloc_default" if line.family == "openmpi5" else "hwloc_base"
    text = segment.value("--map-by") or values.get(f"{base}_mapping_policy") or _old_map(segment)
    bind = segment.value("--bind-to") or values.get(f"{bound}_binding_policy") or _old_bind(segment)
    made = mapped(text)
    listed = segment.value("--cpu-set", "--cpu-list")
    rankfile = segment.value("--rankfile", "-rf") or values.get("orte_rankfile") or made.rankfile
    level = "rankfile" if rankfile else "pe-list" if listed else made.level
    name, _, flag = (bind or "").lower().partition(":")
    pe = number(segment.value("--cpus-per-proc", "--cpus-per-rank"))
    return Wanted(
        ranks=number(segment.value("-np")),
        per_node=number(segment.value("-N", "--npernode")) or (1 if segment.has("--pernode") else None),
        hosts=hosts(segment.value("--host") or ""),
        hostfile=segment.value("--hostfile"),
        level=level,
        ppr=made.ppr,
        pe=made.pe or pe,
        cpus=listed or made.cpus,
        ordered="ordered" in made.modifiers or flag == "ordered",
        modifiers=made.modifiers,
        map_text=text,
        bind=_LEVELS.get(name, name) or None,
        overload="overload" in flag,
        rank_by=(segment.value("--rank-by") or "").lower() or None,
        rankfile=rankfile,
        device=values.get("rmaps_dist_device"),
        hwthreads=segment.has("--use-hwthread-cpus") or "hwtcpus" in made.modifiers,
        oversubscribe=segment.has("--oversubscribe") or "oversubscribe" in made.modifiers,
        parameters=values,
        exports=exports,
        threads=threads,
        adapter=adapter or values.get("rmaps_dist_device"),
    )


def _old_map(segment: Segment) -> str | None:
    for option, text in (("--bycore", "core"), ("--bynode", "node"), ("--byslot", "slot"), ("--bysocket", "socket")):
        if segment.has(option):
            return text
    each = number(segment.value("-N", "--npernode")) or (1 if segment.has("--pernode") else None)
    if each:
        return f"ppr:{each}:node"
    each = number(segment.value("--npersocket"))
    return f"ppr:{each}:socket" if each else None


def _old_bind(segment: Segment) -> str | None:
    names = (("--bind-to-core", "core"), ("--bind-to-socket", "package"), ("--bind-to-none", "none"))
    return next((text for option, text in names if segment.has(option)), None)


@dataclass(frozen=True)
class Mapped:
    """What the value of --map-by says."""

    level: str | None = None
    ppr: tuple[int, str] | None = None
    pe: int | None = None
    cpus: str | None = None
    rankfile: str | None = None
    modifiers: frozenset[str] = frozenset()


def mapped(text: str | None) -> Mapped:
    """Return what a --map-by says: ``ppr:2:socket:PE=2``, ``rankfile:file=F``, ``:OVERSUBSCRIBE``."""
    parts = (text or "").split(":")
    head = parts[0].lower()
    ppr: tuple[int, str] | None = None
    rest = parts[1:]
    if head == "ppr" and len(parts) >= 3:
        ppr = (number(parts[1]) or 1, _LEVELS.get(parts[2].lower(), parts[2].lower()))
        rest = parts[3:]
    words = [word.strip() for part in rest for word in part.split(",")]
    pe = next((number(word[3:]) for word in words if word.lower().startswith("pe=")), None)
    file = next((word[5:] for word in words if word.lower().startswith("file=")), None)
    listed = parts[0][8:] if head.startswith("pe-list=") else None
    first = head.partition(",")[0]  # 5.x drops what follows a comma
    level = "pe-list" if listed is not None else _LEVELS.get(first, first) or None
    modifiers = frozenset(word.lower() for word in words if word and "=" not in word)
    return Mapped(level, ppr, pe, listed, file if head == "rankfile" else None, modifiers)


def _hydra(line: Line, exports: Mapping[str, str], threads: int | None, adapter: str | None) -> Wanted:
    segment, variables = line.first, line.words.environment
    bind = segment.value("-bind-to") or variables.get("HYDRA_BINDING")
    over = segment.value("-map-by") or variables.get("HYDRA_MAPPING")
    listed = segment.value("-hosts", "-host")
    if line.family in ("pals", "mvapich"):
        bind, over = segment.value("--cpu-bind"), None
    return Wanted(
        ranks=number(segment.value("-n", "-np")),
        per_node=number(segment.value("-ppn")) or (1 if segment.has("-rr") else None),
        hosts=hosts(listed or ""),
        hostfile=segment.value("-f", "-hostfile") or (None if listed else line.words.environment.get("HYDRA_HOST_FILE")),
        level=over,
        map_text=over,
        bind=bind,
        exports=exports,
        threads=threads,
        adapter=adapter,
    )


def _srun(line: Line, exports: Mapping[str, str], threads: int | None, adapter: str | None) -> Wanted:
    segment = line.first
    nodes = number((segment.value("--nodes") or "").partition("-")[0])
    each = number(segment.value("--ntasks-per-node"))
    ranks = number(segment.value("--ntasks")) or (each * (nodes or 1) if each else None)
    named = hosts(segment.value("--nodelist") or "") if "[" not in (segment.value("--nodelist") or "") else ()
    bind = segment.value("--cpu-bind")
    return Wanted(
        ranks=ranks,
        per_node=each or (-(-ranks // nodes) if ranks and nodes else None),
        hostfile=line.words.environment.get("SLURM_HOSTFILE"),
        hosts=named or tuple((f"node{i}", None) for i in range(min(nodes or 0, 65536)) if (nodes or 0) > 1),
        level=segment.value("--distribution"),
        pe=number(segment.value("--cpus-per-task")),
        bind=",".join(word for word in bind.split(",") if word not in ("verbose", "v", "quiet", "q")) if bind else None,
        exports=exports,
        threads=threads,
        adapter=adapter,
    )
