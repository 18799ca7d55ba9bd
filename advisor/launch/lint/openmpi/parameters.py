"""Open MPI's default of --map-by as a parameter: what of it is refused, and what is not worked out."""

from advisor.launch.lint.outcome import Refused, Unclear
from advisor.launch.lint.request import Request


def unclear_parameters(want: Request, *, five: bool) -> None:
    """Raise Refused or Unclear where the default of --map-by, or something beside it, cannot be followed."""
    if five:
        _old_names(want)
    name = "rmaps_default_mapping_policy" if five else "rmaps_base_mapping_policy"
    default = want.parameters.get(name) or ""
    if five and want.parameters.get("rmaps_base_cpus_per_rank"):  # observed in 5.0.11: beside some others it did not hold
        raise Unclear("rmaps_base_cpus_per_rank, which does not hold beside all others, is not worked out here")
    if "pe=" not in default.lower():
        return
    if five:  # observed in 5.0.11: ppr:4:node:PE=2 starts nothing; beside another mapping each rank took slots for its PE=
        raise Unclear(f"PE= in {name}, which is not taken everywhere, is not worked out here")
    if not five and want.map_text == default and want.hwthread_slots and not want.hwthreads:  # 4.1.4: PE= counted threads
        raise Unclear(f"PE= in {name} where hardware threads count as CPUs is not worked out here")


def _old_names(want: Request) -> None:
    """Raise Refused or Unclear where a parameter of 5 says socket, which only its options take for package."""
    said = want.parameters.get("rmaps_default_mapping_policy") or ""
    words = said.lower().split(":")
    if words[0] == "socket" and said == want.map_text:
        raise Refused("rmaps_default_mapping_policy knows no socket; nothing starts")
    if words[0] == "socket" or (want.hosts and words[0] == "ppr" and {"socket", "skt"} & {*words}):
        raise Unclear("socket in rmaps_default_mapping_policy, which is not taken everywhere, is not worked out here")
