"""What Open MPI 4 and 5 make of an option that a line says more than once: the last one, the first, all of them, or nothing."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from advisor.launch.lint.line import Line, Said, Segment

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
