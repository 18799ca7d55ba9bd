"""What a line asks for, in words that are the same for all launchers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from advisor.launch.lint.line import Line, Segment
from advisor.launch.lint.openmpi.map_by import Mapped, bound, bound_by_parameter, counted, mapped, newer, number, ranked
from advisor.launch.lint.openmpi.mca import heeded, true
from advisor.launch.lint.openmpi.repeated import twice
from advisor.launch.lint.outcome import OBJECTS
from advisor.launch.registry import of_lines

_THREADS = "hwloc_base_use_hwthreads_as_cpus"
_NO_LOCAL = "rmaps_base_no_schedule_local"
_CPUS_PER_RANK = "rmaps_base_cpus_per_rank"
"""A parameter of 4 that is as good as --cpus-per-rank."""


@dataclass(frozen=True)
class Request:
    """What the first segment of a line asks for."""

    ranks: int | None = None
    per_node: int | None = None
    per_socket: int | None = None
    hosts: tuple[tuple[str, int | None], ...] = ()
    hostfile: str | None = None
    from_file: bool = False
    """Whether the hosts are those of the host file: one without slots has as many as cores there, one in --host has one."""
    level: str | None = None
    """What ranks are spread over: slot, core, numa, l3cache, package, node, ppr, pe-list, rankfile, dist, seq."""
    ppr: tuple[int, str] | None = None
    pe: int | None = None
    cpus: str | None = None
    """The list of a pe-list or a cpu-list."""
    ordered: bool = False
    modifiers: frozenset[str] = frozenset()
    map_text: str | None = None
    bind: str | None = None
    bind_by_parameter: bool = False
    """Whether a parameter says it and no option: in 5 ranks are then mapped as if nothing were said."""
    overload: bool = False
    rank_by: str | None = None
    rankfile: str | None = None
    device: str | None = None
    devices_each: int = 1
    hwthreads: bool = False
    hwthread_slots: bool = False
    """Whether hardware threads are slots too, and not only what ranks are bound to."""
    oversubscribe: bool = False
    no_oversubscribe: bool = False
    oversubscribe_option: bool = False
    """Whether --oversubscribe itself is there: in 4 it allows to bind more ranks than cores too."""
    no_local: bool = False
    fault: str | None = None
    """What a launcher finds wrong in --map-by and the like: nothing starts."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)
    """Variables that the ranks get."""
    threads: int | None = None
    adapter: str | None = None
    """The HCA that the line names."""


def request_of(line: Line) -> Request:
    """Return what a line asks for."""
    exports = _exports(line)
    threads = number((exports.get("OMP_NUM_THREADS") or "").partition(",")[0])
    adapter = (exports.get("UCX_NET_DEVICES") or "").partition(",")[0].partition(":")[0].strip() or None
    told = Request(ranks=number(line.first.value("-n", "-np", "--ntasks")), exports=exports, threads=threads, adapter=adapter)
    own = of_lines()[line.family].request
    return own(line, told) if own else told


def _exports(line: Line) -> dict[str, str]:
    """Return the variables of the ranks: those before the line, and those that options give."""
    found = dict(line.words.environment)
    for said in line.first.options:
        if said.name == "-x" and line.family.startswith("openmpi"):
            name, equals, value = said.values[0].partition("=")
            found |= {name: value} if equals else {}
        elif said.name in ("-genv", "-env", "--env"):
            name, _, value = said.values[0].partition("=")
            found[name] = said.values[1] if len(said.values) > 1 else value
        elif said.name == "--export" and said.values:
            found |= {key: value for key, _, value in (word.partition("=") for word in said.values[0].split(",")) if value}
    return found


def hosts(text: str) -> tuple[tuple[str, int | None], ...]:
    """Return the names of a list of hosts with their slots; a name given twice has the sum, one with ``*`` 0: all its cores."""
    found: dict[str, int | None] = {}
    for word in text.split(",")[:65536]:
        name, colon, slots = word.strip().partition(":")
        if not name:
            continue
        if colon:
            count = 0 if slots in ("*", "auto") else number(slots)
            before = found.get(name)
            found[name] = count + before if count and before else count
        else:
            found[name] = (found[name] or 1) + 1 if name in found else None
    return tuple(found.items())


def of_open_mpi(line: Line, told: Request) -> Request:
    """Return what a line of Open MPI asks for, beside its variables."""
    segment, values, five = line.first, heeded(line), line.family == "openmpi5"
    base, own = ("rmaps_default", "hwloc_default") if five else ("rmaps_base", "hwloc_base")
    made, said, old, text = _mapping(line, values)
    bind = segment.value("--bind-to") or _old_bind(segment)
    binds = bound(bind or bound_by_parameter(values.get(f"{own}_binding_policy"), five=five), five=five)
    rank_by, rank_fault = ranked(segment.value("--rank-by") or values.get(f"{base}_ranking_policy"), five=five)
    if not five and made.ppr and not said and not rank_by:  # the parameter still says how ranks are numbered (4.1.4, observed)
        over = mapped(values.get(f"{base}_mapping_policy"), five=False).level
        rank_by = over if over in OBJECTS or over == "node" else None
    listed = _listed(segment, values, five=five)
    rankfile = segment.value("--rankfile", "-rf") or values.get("orte_rankfile") or made.rankfile
    told = replace(
        told,
        ranks=counted(segment.value("-np")),
        per_node=number(segment.value("-N", "--npernode")) or (1 if segment.has("--pernode") else None),
        per_socket=number(segment.value("--npersocket")),
        hosts=hosts(segment.value("--host") or ""),
        hostfile=segment.value("--hostfile"),
        level="rankfile" if rankfile else "pe-list" if listed or binds.kind == "cpu-list" else made.level,
        ppr=made.ppr,
        pe=_width(made, segment, values),
        cpus=listed or made.cpus,
        ordered="ordered" in made.modifiers or binds.ordered,
        modifiers=made.modifiers,
        map_text=text,
        bind=binds.kind,
        bind_by_parameter=not bind,
        overload=binds.overload,
        rank_by=rank_by,
        rankfile=rankfile,
        device=made.device or values.get("rmaps_dist_device"),
        devices_each=made.devices_each,
        parameters=values,
        adapter=told.adapter or values.get("rmaps_dist_device"),
        fault=twice(line, values) or made.fault or binds.fault or rank_fault or _conflict(line, said, old, made),
    )
    return _allowed(told, segment, four=not five)


def _width(made: Mapped, segment: Segment, values: Mapping[str, str]) -> int | None:
    """Return how many cores each rank gets."""
    said = segment.value("--cpus-per-proc", "--cpus-per-rank")
    return made.pe or number(said) or number(values.get(_CPUS_PER_RANK))


def _allowed(told: Request, segment: Segment, *, four: bool) -> Request:
    """Return what a line wants with what it allows: more ranks than slots, hardware threads as cores, this host or not."""
    over = segment.has("--oversubscribe") or (four and true(told.parameters, "rmaps_base_oversubscribe"))
    if not four and (over or "oversubscribe" in told.modifiers) and not (segment.has("--bind-to") or _old_bind(segment)):
        told = replace(told, bind=None)  # 5 asks whether ranks may be more than slots before it asks the parameter
    threads = segment.has("--use-hwthread-cpus") or (four and true(told.parameters, _THREADS))
    return replace(
        told,
        hwthreads=threads or "hwtcpus" in told.modifiers,
        hwthread_slots=threads,
        oversubscribe=over or "oversubscribe" in told.modifiers,
        oversubscribe_option=over,
        no_oversubscribe=segment.has("--nooversubscribe") or "nooversubscribe" in told.modifiers,
        no_local=segment.has("--nolocal") or "nolocal" in told.modifiers or (four and true(told.parameters, _NO_LOCAL)),
    )


def _mapping(line: Line, values: Mapping[str, str]) -> tuple[Mapped, str | None, str | None, str | None]:
    """Return what ranks are spread over, and the words of it: --map-by, what -N and the like stand for, both together."""
    segment, five = line.first, line.family == "openmpi5"
    old = _old_map(segment)
    default = values.get("rmaps_default_mapping_policy" if five else "rmaps_base_mapping_policy")
    default = default or (values.get("mapby") if five else None)
    said = segment.value("--map-by") or (None if old else default)
    text = f"{old}{said}" if five and old and said and said.startswith(":") else said or old
    made = mapped(text, five=five, devices=newer(line))
    leave = {"oversubscribe", "nooversubscribe"}
    if five and default and default != said and not made.modifiers & leave:  # it holds beside another --map-by
        made = replace(made, modifiers=made.modifiers | (mapped(default, five=True).modifiers & leave))
    return made, said, old, text


def _listed(segment: Segment, values: Mapping[str, str], *, five: bool) -> str | None:
    """Return the list of cores of a line; in 4 its parameter is as good as the option."""
    parameter = values.get("hwloc_base_cpu_list") or values.get("hwloc_base_cpu_set")
    return segment.value("--cpu-set", "--cpu-list") or (None if five else parameter)


def _conflict(line: Line, said: str | None, old: str | None, made: Mapped) -> str | None:
    """Return which two things of a line contradict each other, so that nothing starts."""
    segment, values, five = line.first, heeded(line), line.family == "openmpi5"
    over, not_over = segment.has("--oversubscribe"), segment.has("--nooversubscribe")
    if (over and "nooversubscribe" in made.modifiers) or (not_over and "oversubscribe" in made.modifiers) or (over and not_over):
        return "it is asked both to allow more ranks than slots and not to"
    odd = [
        text for text in (segment.value("-np"), _each(segment)) if text is not None and not (text.isascii() and text.isdigit())
    ]
    if odd:
        return f"{odd[0][:40]!r} is not a number of ranks"
    listed = _listed(segment, values, five=five)
    each = segment.value("--cpus-per-proc", "--cpus-per-rank") or (None if five else values.get(_CPUS_PER_RANK))
    bind = (segment.value("--bind-to") or "").lower()
    odd_list = bind.startswith("cpu") and (not segment.has("--cpu-set", "--cpu-list") or (not five and bind.endswith("ordered")))
    level = made.level if said and (not five or segment.has("--map-by")) else None
    if not five and _width(made, segment, values) and bind.startswith("board") and "rmaps_base_mapping_policy" not in values:
        return "PE= needs --bind-to core, and board is asked for"
    if five and old and said and not said.startswith(":"):
        return f"both {old} and --map-by {said[:60]} say what ranks are placed over"
    if listed and not odd_list and (level or old or each or made.pe or "span" in made.modifiers):
        return f"a list of cores and --map-by {(said or old or each or '')[:60]} say both where ranks go"
    word = next((name for name in ("--bycore", "--bynode", "--byslot") if segment.has(name)), None)
    if five or word is None:
        return None
    level = level or mapped(values.get("rmaps_base_mapping_policy"), five=False).level
    if level and level != word[4:]:
        return f"both {word} and --map-by {(said or '')[:60]} say what ranks are placed over"
    order = (segment.value("--rank-by") or "").lower()
    return f"both {word} and --rank-by {order[:40]} say how ranks are numbered" if order and order != word[4:] else None


def _each(segment: Segment) -> str | None:
    return segment.value("-N", "--npernode", "--npersocket")


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
    names = (("--bind-to-core", "core"), ("--bind-to-socket", "socket"), ("--bind-to-none", "none"))
    return next((text for option, text in names if segment.has(option)), None)


def of_hydra(line: Line, told: Request) -> Request:
    """Return what a line of Hydra asks for, beside its variables."""
    segment, variables = line.first, line.words.environment
    bind = segment.value("-bind-to") or variables.get("HYDRA_BINDING")
    over = segment.value("-map-by") or variables.get("HYDRA_MAPPING")
    listed = segment.value("-hosts", "-host")
    return replace(
        told,
        ranks=number(segment.value("-n", "-np")),
        per_node=number(segment.value("-ppn")) or (1 if segment.has("-rr") else None),
        hosts=hosts(listed or ""),
        hostfile=segment.value("-f", "-hostfile") or (None if listed else line.words.environment.get("HYDRA_HOST_FILE")),
        level=over,
        map_text=over,
        bind=bind,
    )


def of_srun(line: Line, told: Request) -> Request:
    """Return what a line of srun asks for, beside its variables."""
    segment = line.first
    nodes = number((segment.value("--nodes") or "").partition("-")[0])
    each = number(segment.value("--ntasks-per-node"))
    ranks = number(segment.value("--ntasks")) or (each * (nodes or 1) if each else None)
    named = hosts(segment.value("--nodelist") or "") if "[" not in (segment.value("--nodelist") or "") else ()
    bind = segment.value("--cpu-bind")
    return replace(
        told,
        ranks=ranks,
        per_node=each or (-(-ranks // nodes) if ranks and nodes else None),
        hostfile=line.words.environment.get("SLURM_HOSTFILE"),
        hosts=named or tuple((f"node{i}", None) for i in range(min(nodes or 0, 65536)) if (nodes or 0) > 1),
        level=segment.value("--distribution"),
        pe=number(segment.value("--cpus-per-task")),
        bind=",".join(word for word in bind.split(",") if word not in ("verbose", "v", "quiet", "q")) if bind else None,
    )
