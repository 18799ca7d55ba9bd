"""Lines of PALS's mpiexec and of MVAPICH2's mpirun_rsh: what their guides document; the rest is left open."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from advisor.errors import BadValue
from advisor.launch.lint.outcome import MOST_RANKS, Refused, Unclear
from advisor.model.cpuset import CpuSet, union
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.hardware.topology import Topology
from advisor.model.launch_line import LintRank

if TYPE_CHECKING:
    from advisor.launch.lint.line import Line
    from advisor.launch.lint.predict import Prediction


Given = tuple[CpuSet | None, ...]


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of PALS's; raise Refused or Unclear."""
    line = made.line
    _known(line, "PALS's mpiexec")
    total = _number(line, "-n", "PALS_NRANKS")
    each = _number(line, "-ppn", "PALS_PPN")
    if total is None:
        raise Unclear("without -n PALS starts what its job says")
    hosts = list(_pals_hosts(made, total, each))
    counts = Counter(hosts)
    bind = _text(line, "--cpu-bind", "PALS_CPU_BIND") or ""
    depth = _number(line, "--depth", "PALS_DEPTH") or 1
    given = {count: _bound(bind.removeprefix("verbose,"), depth, made.topology, count) for count in set(counts.values())}
    return tuple(_seated(hosts, {host: given[count] for host, count in counts.items()}))


def _seated(hosts: Sequence[str | None], given: Mapping[str | None, Given]) -> Iterator[LintRank]:
    local: Counter[str | None] = Counter()
    for rank, host in enumerate(hosts):
        yield LintRank(rank=rank, host=host, cpus=given[host][local[host]])
        local[host] += 1


def _known(line: "Line", whose: str) -> None:
    if odd := next((said for said in line.options if not said.known), None):
        raise Unclear(f"{odd.written[0][:40]} of {whose} is not known here")
    if len(line.segments) > 1:
        raise Unclear("one line starts several programs, and what each gets is known of other launchers only")
    if not line.first.command:
        raise Refused("no program is named")


def _text(line: "Line", option: str, variable: str) -> str | None:
    value = line.first.value(option)
    return value if value is not None else line.words.environment.get(variable)


def _number(line: "Line", option: str, variable: str) -> int | None:
    text = _text(line, option, variable)
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,7}", text, re.ASCII) or not 0 < int(text) <= MOST_RANKS:
        raise Unclear(f"{option} {text[:40]} is not a number of ranks or CPUs that is worked out here")
    return int(text)


def _pals_hosts(made: "Prediction", total: int, each: int | None) -> Iterator[str | None]:
    """Yield the host of each rank: so many on one, then the next."""
    listed = _text(made.line, "-hosts", "PALS_HOSTLIST")
    if made.line.first.has("-f") or "PALS_HOSTFILE" in made.line.words.environment:
        raise Unclear("how PALS counts the lines of a host file, is not documented")
    names: list[str] = [word for word in (listed or "").split(",") if word]
    if not all(re.fullmatch(r"[A-Za-z0-9._-]{1,255}", name, re.ASCII) for name in names) or len(set(names)) < len(names):
        raise Unclear("the list of hosts is not taken apart")
    if each is None:
        if len(names) > 1 or total > 4 * len(made.topology.inside.pus):
            raise Unclear("without -ppn PALS places ranks on the hosts in an undocumented way")
        each = total
    count = -(-total // each)
    if names and count > len(names):
        raise Unclear(f"{total} ranks, {each} on each of {len(names)} hosts: the rest is not documented")
    for rank in range(total):
        position = rank // each
        yield names[position] if names else None if count == 1 else f"node{position}"


def _bound(bind: str, depth: int, topology: Topology, count: int) -> Given:
    """Return the CPUs of a host's ranks by --cpu-bind."""
    kind, _, listed = bind.partition(":")
    if kind == "none":
        return (None,) * count
    if kind in ("list", "mask"):
        return _listed(kind, listed, topology, count)
    if kind == "depth":  # CPUs by the kernel's numbers, one after the other, sockets or not
        units = [CpuSet([cpu]) for cpu in sorted(topology.inside.pus)]
    elif kind == "core":
        units = sorted(logical_numbering(topology).cores, key=lambda core: core.first or 0)
    else:
        raise Unclear(f"what PALS binds to with {f'--cpu-bind {bind[:40]}' if bind else 'no --cpu-bind'}, is not documented")
    if depth * count > len(units):
        raise Unclear(f"{count} ranks of {depth} are more than the {len(units)} of a node")
    return tuple(union(units[rank * depth : (rank + 1) * depth]) for rank in range(count))


def _listed(kind: str, listed: str, topology: Topology, count: int) -> Given:
    """Return the CPUs of a list, whose entries are parted by colons, or of masks, which are parted by commas."""
    words = listed.split(":" if kind == "list" else ",")
    if len(words) < count:
        raise Unclear(f"{len(words)} entries for {count} ranks of a host: what the others get, is not documented")
    return tuple(_cpus(word, topology, hexadecimal=kind == "mask") for word in words[:count])


def _cpus(word: str, topology: Topology, *, hexadecimal: bool) -> CpuSet:
    if hexadecimal and not re.fullmatch(r"(0x)?[0-9a-fA-F]{1,4096}", word, re.ASCII):
        raise Unclear(f"{word[:40]!a} is not a mask")
    try:
        cpus = CpuSet.from_bits(int(word, 16)) if hexadecimal else CpuSet.parse(word)
    except BadValue as error:
        raise Unclear(f"{word[:40]!a} of the list cannot be read: {error.problem}") from error
    if not cpus or not cpus <= topology.inside.pus:
        raise Unclear(f"{word[:40]!a} names CPUs that this machine does not have, or not to this job")
    return cpus


def rsh(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of mpirun_rsh's; raise Refused or Unclear."""
    line = made.line
    _known(line, "mpirun_rsh")
    total = _number(line, "-np", "")
    if total is None:
        raise Refused("mpirun_rsh needs -np")
    hosts = list(_rsh_hosts(made, total))
    pins = made.want.exports
    counts = Counter(hosts)
    return tuple(_seated(hosts, {host: _mapped(pins, made.topology, count) for host, count in counts.items()}))


def _rsh_hosts(made: "Prediction", total: int) -> Iterator[str | None]:
    named = made.line.first.value("-hosts")
    file = made.line.first.value("-hostfile")
    if file is not None:
        if file not in made.files:
            raise Unclear(f"the host file {file[:80]} was not read")
        rows = [row.partition("#")[0].strip() for row in made.files[file].splitlines()[:MOST_RANKS]]
        words = [word for row in rows if row for word in _slots(row)]
    else:
        words = [word for word in (named or "").split(",") if word]
    if not words:
        yield from (None for _ in range(total))
        return
    if len(words) < total:
        raise Unclear(f"{len(words)} places for {total} ranks: how mpirun_rsh begins again, is not worked out here")
    yield from words[:total]


def _slots(row: str) -> list[str]:
    match = re.fullmatch(r"([A-Za-z0-9._-]{1,255})(?::(\d{1,5}))?(?::\S*)?", row, re.ASCII)
    if not match:
        raise Unclear(f"the line {row[:40]!a} of the host file is not understood")
    return [match[1]] * max(1, int(match[2] or 1))


def _mapped(pins: Mapping[str, str], topology: Topology, count: int) -> Given:
    """Return the CPUs of a host's ranks by MV2_CPU_MAPPING."""
    if pins.get("MV2_ENABLE_AFFINITY", "1") == "0":
        return (None,) * count
    mapping = pins.get("MV2_CPU_MAPPING")
    if mapping is None:
        raise Unclear("where MVAPICH2 binds ranks by itself, depends on its version and how it was built")
    return _listed("list", mapping, topology, count)
