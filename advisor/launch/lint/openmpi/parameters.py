"""Open MPI's parameters, and options that say one thing twice: what of them is refused, and what is not worked out."""

import re

from advisor.launch.lint.line import Line
from advisor.launch.lint.openmpi.mca import parameters
from advisor.launch.lint.openmpi.repeated import BY
from advisor.launch.lint.outcome import Refused, Unclear
from advisor.launch.lint.request import Request

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
