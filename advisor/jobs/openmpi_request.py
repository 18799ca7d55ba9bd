"""What a line of Open MPI asks for; what of its parameters and lists is refused, left open or warned of."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from advisor.errors import BadValue
from advisor.jobs.line import rebound
from advisor.jobs.openmpi_words import (
    BY,
    Mapped,
    bound,
    bound_by_parameter,
    heeded,
    mapped,
    parameters,
    ranked,
    true,
    twice,
)
from advisor.jobs.placement import LintWarning
from advisor.jobs.request import (
    OBJECTS,
    Line,
    Prediction,
    Refused,
    Request,
    Segment,
    Unclear,
    counted,
    hosts,
    number,
    ranks_here,
    warning,
)
from advisor.machine.cpuset import CpuSet

_THREADS_AS_CPUS = "hwloc_base_use_hwthreads_as_cpus"


_NO_LOCAL = "rmaps_base_no_schedule_local"


_CPUS_PER_RANK = "rmaps_base_cpus_per_rank"
"""A parameter of 4 that is as good as --cpus-per-rank."""


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
    listed = _list_of_cores(segment, values, five=five)
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
        device=values.get("rmaps_dist_device"),
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
    threads = segment.has("--use-hwthread-cpus") or (four and true(told.parameters, _THREADS_AS_CPUS))
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
    made = mapped(text, five=five)
    leave = {"oversubscribe", "nooversubscribe"}
    if five and default and default != said and not made.modifiers & leave:  # it holds beside another --map-by
        made = replace(made, modifiers=made.modifiers | (mapped(default, five=True).modifiers & leave))
    return made, said, old, text


def _list_of_cores(segment: Segment, values: Mapping[str, str], *, five: bool) -> str | None:
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
    listed = _list_of_cores(segment, values, five=five)
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


_SELECTED = ("rmaps", "ras", "orte_set_default_slots", "prte_set_default_slots", "rmaps_rank_file_path")
"""Parameters that choose who maps, or count slots."""


_HOSTS = ("orte_default_hostfile", "prte_default_hostfile")
"""Those that name a file of hosts, which --host and --hostfile go before."""


_OF_FOUR = re.compile(
    r"(rmaps|hwloc)_\w*(_policy|_verbose|_cpu_list|_cpu_set|_cpus_per_rank|_hwthreads_as_cpus|_bindings|_map|_action|_file|dist_device)"
    r"|rmaps_base_(oversubscribe|no_schedule_local|inherit)|rmaps_rank_file_physical"
)
"""Those of 4.1's mapper that are read here, or change no placement."""


_LISTS = ("hwloc_base_cpu_list", "hwloc_base_cpu_set")


_MAPPING = "rmaps_base_mapping_policy"


_BINDING = "hwloc_base_binding_policy"


_THREADS = "hwloc_base_use_hwthreads_as_cpus"


def unclear_parameters(want: Request, line: Line, *, five: bool) -> None:
    """Raise Refused or Unclear where a parameter, or something beside it, cannot be followed."""
    names = [name for name, _, _ in parameters(line)] if five else list(want.parameters)
    mappers = [name for name in names if not five and name.startswith(("rmaps_", "hwloc_")) and not _OF_FOUR.fullmatch(name)]
    if odd := next((name for name in (*mappers, *names) if name in (*mappers, *_SELECTED)), None):
        raise Unclear(f"what the parameter {odd[:60]} changes, is not worked out here")
    if not want.hosts and not want.hostfile and (odd := next((name for name in names if name in _HOSTS), None)):
        raise Unclear(f"what hosts the file of the parameter {odd} names, is not worked out here")
    _beside(want, line, five=five)
    if five:
        _old_names(want)
    name = "rmaps_default_mapping_policy" if five else _MAPPING
    default = want.parameters.get(name) or ""
    if five and want.parameters.get("rmaps_base_cpus_per_rank"):  # observed in 5.0.11: beside some others it did not hold
        raise Unclear("rmaps_base_cpus_per_rank, which does not hold beside all others, is not worked out here")
    # Observed in 5.0.11: ppr:4:node:PE=2 starts nothing; beside another mapping each rank took slots for its PE=.
    if five and default.lower().startswith("ppr") and "oversub" in default.lower():
        raise Unclear(f"what {name} does with oversubscribing beside ppr, is not worked out here")  # nothing started, in places
    if five and "pe=" in default.lower():
        raise Unclear(f"PE= in {name}, which is not taken everywhere, is not worked out here")


def _beside(want: Request, line: Line, *, five: bool) -> None:
    """Raise Unclear where two words that are both there were not seen together often."""
    segment, default = line.first, (want.parameters.get("rmaps_default_mapping_policy") or "").lower()
    each, text = segment.value("--cpus-per-proc", "--cpus-per-rank"), want.map_text or ""
    if each and "pe=" in text.lower():
        raise Unclear("--cpus-per-proc beside PE=: which of them counts, is not worked out here")
    if five and default and (("cpus" in default and default != text.lower()) or want.oversubscribe_option):
        raise Unclear("rmaps_default_mapping_policy beside others that it changes is not worked out here")
    if five and default and segment.has("--cpu-set", "--cpu-list"):
        raise Unclear("rmaps_default_mapping_policy beside a list of cores is not worked out here")
    if want.rankfile and (text or each) and not (five and text.lower().startswith("rankfile")):
        raise Unclear("a rankfile beside other words of mapping is not worked out here")
    if sum(segment.has(name) for name in ("--bind-to", "--bind-to-core", "--bind-to-socket", "--bind-to-none")) > 1:
        raise Unclear("several words of binding are not worked out here")
    if not five:
        _beside4(want, line, text)


def _beside4(want: Request, line: Line, text: str) -> None:
    """Raise Unclear where 4.1 was not often seen with two words that are both there."""
    segment = line.first
    on_line = [name for name, _, written in parameters(line) if "_MCA_" not in written]
    if want.parameters.get(_THREADS, "0") != "0" and (want.pe or want.rank_by or want.rankfile):
        raise Unclear(f"{_THREADS} beside PE=, --rank-by or a rankfile is not worked out here")
    if _THREADS in on_line and segment.has("--use-hwthread-cpus"):
        raise Unclear(f"--use-hwthread-cpus beside {_THREADS}: which of them counts, is not worked out here")
    if _BINDING in on_line and want.pe and segment.value("--bind-to") not in (None, want.parameters.get(_BINDING)):
        raise Unclear(f"PE= beside --bind-to and another {_BINDING} is not worked out here")
    if (segment.value("--map-by") or "").lower().startswith("ppr") and (want.per_node or want.per_socket):
        raise Unclear("-N and the like beside --map-by ppr are not worked out here")
    other = want.parameters.get(_MAPPING)
    if other and other != text and (want.pe or ":" in other or (_MAPPING in on_line and not want.rank_by)):
        raise Unclear(f"what another {_MAPPING} changes beside --map-by, as how ranks are counted, is not worked out here")
    if want.ranks is None and any(map(segment.has, BY)) and (want.per_node or want.per_socket):
        raise Unclear("how many ranks an old word of mapping starts beside -N, is not worked out here")
    lists = [name for name in ("--cpu-set", "--cpu-list") if segment.has(name)]
    if len(lists + [name for name in on_line if name in _LISTS]) > 1:
        raise Unclear("several lists of cores are not worked out here")


def _old_names(want: Request) -> None:
    """Raise Refused or Unclear where a parameter of 5 says socket, which only its options take for package."""
    said = want.parameters.get("rmaps_default_mapping_policy") or ""
    words = said.lower().split(":")
    if words[0] == "socket" and said == want.map_text:
        raise Refused("rmaps_default_mapping_policy knows no socket; nothing starts")
    if words[0] == "socket" or (want.hosts and words[0] == "ppr" and {"socket", "skt"} & {*words}):
        raise Unclear("socket in rmaps_default_mapping_policy, which is not taken everywhere, is not worked out here")


MOST = 8192
"""Cores of a list: Linux has no more CPUs."""


_SLOT = re.compile(r"rank\s+(\d+)\s*=\s*(\S+)\s+slots?\s*=\s*(.*?)\s*(?:#.*)?", re.ASCII)


def open_mpi_lists(case: Prediction) -> Iterator[LintWarning]:
    """Yield the warnings about pe-lists and rankfiles."""
    yield from _pe_list(case)
    yield from _rankfile(case)


def expanded(text: str) -> str:
    """Return a list without ranges."""
    numbers = CpuSet.parse(text)
    if len(numbers) > MOST:
        raise BadValue(f"it names {len(numbers)} cores", cure="no machine has as many")
    return ",".join(map(str, numbers))


def _pe_list(case: Prediction) -> Iterator[LintWarning]:
    want = case.want
    if want.level != "pe-list" or not want.cpus:
        return
    try:
        full = expanded(want.cpus)
    except BadValue as error:
        yield warning("list", f"the list {want.cpus[:60]} cannot be read", "It is not a list of cores.", error.problem)
        return
    if case.four and want.ordered and full != want.cpus:
        why = "4.x binds the ranks to the listed cores by rising CPU number, whatever their order (seen in 4.1.4)."
        yield warning(
            "order-ignored", "the order of the list is ignored", why, f"the list is {want.cpus[:80]}", "--rankfile FILE", bad=True
        )
    elif case.five and want.ordered and "-" in want.cpus:
        listed = f"pe-list={full}:ordered"
        why = "5.x expands no ranges in an ordered list: it counts 0-3 as one CPU (seen in 5.0.11)."
        better = rebound(case.line, ("--map-by", listed, "--bind-to", "core"))
        yield warning(
            "ranges-not-expanded",
            f"{want.cpus[:60]} is one CPU to it, not four",
            why,
            f"the list is {want.cpus[:80]}",
            better,
            bad=True,
        )
    elif case.five and want.ordered and len(want.cpus.split(",")) < (ranks_here(case) or 0):
        yield warning(
            "list-short",
            "there are more ranks than entries",
            "Each rank takes one entry.",
            f"{len(want.cpus.split(','))} entries",
        )


def _rankfile(case: Prediction) -> Iterator[LintWarning]:
    want, line = case.want, case.line
    if not want.rankfile:
        return
    if case.five and want.hwthreads and (line.release is None or (5, 0, 0) <= line.release <= (5, 0, 5)):
        why = "5.0.0 to 5.0.5 take the numbers of hardware threads for cores (open-mpi/ompi#12967); 5.0.11 was seen to be right."
        cores, cpus = len(case.topology.cores), len(case.topology.pus)
        here = f"{line.version or 'the version is not known'}; {cores} cores, {cpus} CPUs here"
        yield warning(
            "hwthread-rankfile",
            "ranks run on other cores than the rankfile says",
            why,
            here,
            "a rankfile of logical cores, without hwtcpus",
            bad=True,
        )
    if len(want.hosts) > 1 and case.five and not line.first.has("--hetero-nodes"):
        why = "5.x looks numbers up on the first node for all with as many objects, however they are numbered."
        yield warning(
            "hetero-nodes",
            "nodes that number their CPUs otherwise are bound wrongly",
            why,
            f"a rankfile over {len(want.hosts)} hosts",
            "add --hetero-nodes",
        )
    text = case.files.get(want.rankfile)
    if text is None:
        yield warning(
            "rankfile-unread",
            f"the rankfile {want.rankfile[:80]} was not read",
            "So it is not known where ranks go.",
            "no such file here",
        )
        return
    yield from _rows(case, text)


def _rows(case: Prediction, text: str) -> Iterator[LintWarning]:
    longest, host, colon = "", "", ""
    for row in text.splitlines()[:65536]:
        match = _SLOT.fullmatch(row.strip()[:8192])
        if not match:
            continue
        if len(match[3]) > len(longest):
            longest, host = match[3], match[2]
        if ":" in match[3] or "p" in match[3].lower():
            colon = colon or match[3]
    most = 63 - len(host) - 6 if case.four else 63
    if len(longest) > most:
        what = "its end is dropped" if case.five else "mpirun writes past its buffer and may die"
        why = f"Slot lists are read into 64 bytes: {most} letters fit here."
        yield warning(
            "slot-too-long",
            what,
            why,
            f"a slot list of {len(longest)} letters: {longest[:50]}...",
            "write ranges: 0-15 instead of 0,1,2,...",
            bad=True,
        )
    if colon:
        why = (
            "Versions read socket:core pairs and p differently: 4.1 wants 0:0,0:1, 5.x counts over sockets as if all were alike."
        )
        yield warning(
            "socket-pairs",
            f"slot={colon[:40]} means different cores to 4.x and 5.x",
            why,
            f"slot={colon[:40]} in the rankfile",
            "logical cores: slot=0-3",
            bad=True,
        )
    elif case.ranks is None and case.unclear and not case.refused and len(longest) <= most:
        why = "What is written there is not what both versions read alike; they mistake such lines silently."
        yield warning(
            "rankfile-dialect", "the rankfile is not safe", why, case.unclear[:160], "advisor bind --exact -- ./app writes one"
        )
