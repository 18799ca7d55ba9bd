"""Where a line of Intel MPI puts its ranks: hosts by -ppn or a machine file, and there by pin_domains."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from advisor.launch.lint.hydra.bind_to import atoi
from advisor.launch.lint.hydra.pin_domains import OFF, PLACES, RESPECT, Pins, pinned
from advisor.launch.lint.openmpi.mapper import Refused, Unclear
from advisor.model.launch_line import LintRank

if TYPE_CHECKING:
    from advisor.launch.lint.line import Line
    from advisor.launch.lint.predict import Prediction


MOST = 65_536
"""Ranks that are worked out one by one."""

_ELSEWHERE = frozenset({"-configfile", "-hosts-group", "-nolocal", "-rankmap", "-cpu-bind", "-rmk", "-order-nodes", "-gtool"})


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of Intel MPI's; raise Refused or Unclear."""
    line = made.line
    _odd(line)
    programs = list(_programs(made))
    total = len(programs)
    where = list(_hosts(made, total))
    counts = Counter(host for host, _ in where)
    pins: dict[int, Pins] = {}
    for (host, _), mine in zip(where, programs, strict=True):
        if pins.setdefault(host, mine) != mine:
            raise Unclear("the ranks of a host are in several segments with other variables")
    given = {host: pinned(pins[host], made.topology, count) for host, count in counts.items()}
    local: Counter[int] = Counter()
    found: list[LintRank] = []
    for rank, (host, name) in enumerate(where):
        found.append(LintRank(rank=rank, host=name, cpus=given[host][local[host]]))
        local[host] += 1
    return tuple(found)


def _odd(line: "Line") -> None:
    for said in line.options:
        if not said.known:
            raise Unclear(f"{said.written[0][:40]} of mpiexec.hydra is not known here")
        if said.name in _ELSEWHERE:
            raise Unclear(f"what {said.name} does to hosts or CPUs, is not worked out here")
    if line.release is not None and line.release < (2019, 0, 0):
        raise Unclear("Intel MPI before 2019 pinned in other ways")
    if not all(segment.command for segment in line.segments):
        raise Refused("no executable provided")


def _programs(made: "Prediction") -> Iterator[Pins]:
    """Yield the variables of each rank, segment by segment."""
    everywhere = dict(made.line.words.environment)
    for said in made.line.options:
        if said.name == "-genv":
            everywhere |= dict([_variable(said.values)])
    made_so_far = 0
    for segment in made.line.segments:
        own = dict(everywhere)
        own |= dict(_variable(said.values) for said in segment.options if said.name == "-env")
        counts = [atoi(said.values[-1]) for said in segment.options if said.name == "-n" and said.values]
        if not counts or counts[-1] < 1 or len(set(counts)) > 1:
            raise Unclear("without -n Intel MPI starts as many ranks as the hosts have cores, or as a scheduler says")
        made_so_far += counts[-1]
        if made_so_far > MOST:
            raise Unclear(f"{made_so_far} ranks are more than the {MOST} that are worked out one by one")
        for _ in range(counts[-1]):
            yield own


def _variable(values: Sequence[str]) -> tuple[str, str]:
    name, _, value = values[0].partition("=")
    return name, values[1] if len(values) > 1 else value


def _hosts(made: "Prediction", total: int) -> Iterator[tuple[int, str | None]]:
    """Yield the host of each rank: its position and its name."""
    line = made.line
    variables = line.words.environment
    fine = {"I_MPI_PERHOST"} | ({RESPECT} if variables.get(RESPECT) in OFF else set())
    if odd := next((name for name in PLACES - fine if name in variables), None):
        raise Unclear(f"{odd} changes which host a rank goes to")
    files = [said for said in line.options if said.name in ("-f", "-hosts", "-host")]
    each = _each(line)
    if not files:
        yield from ((0, None) for _ in range(total))
        return
    if len(files) > 1:
        raise Unclear("the line names its hosts twice")
    slots = list(_named(made, files[0].name, files[0].values[-1], each, by_slots="machine" in files[0].written[0]))
    turn = [(position, name) for position, (name, count) in enumerate(slots) for _ in range(min(count, total))]
    for rank in range(total):
        yield turn[rank % len(turn)]


def _each(line: "Line") -> int | None:
    """Return the ranks of each host; None where the line does not say."""
    counts = [atoi(said.values[-1]) for said in line.options if said.name == "-ppn" and said.values]
    text = line.words.environment.get("I_MPI_PERHOST")
    if any(said.name == "-rr" for said in line.options):
        counts.append(1)
    if not counts and text is not None:
        counts.append(atoi(text))
    if any(count < 1 for count in counts) or len(set(counts)) > 1:
        raise Unclear("how many ranks a host gets, is said in a way that is not worked out here")
    return counts[0] if counts else None


def _named(made: "Prediction", option: str, text: str, each: int | None, *, by_slots: bool) -> Iterator[tuple[str, int]]:
    """Yield each host and how many ranks it takes at a time."""
    if option == "-f":
        if text not in made.files:
            raise Unclear(f"the host file {text[:80]} was not read")
        rows = [row.partition("#")[0].strip() for row in made.files[text].splitlines()[:MOST]]
        words = [row for row in rows if row]
    else:
        words = [word for word in text.split(",")[:MOST] if word]
    found: dict[str, int] = {}
    for word in words:
        match = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]{0,254})(?::(\d{1,6}))?", word, re.ASCII)
        if not match or match[1] in found:
            raise Unclear(f"the host {word[:40]!a} is written in a way that is not worked out here")
        found[match[1]] = int(match[2] or 0)
    if not found:
        raise Unclear("no host is named")
    if by_slots and each is None and all(found.values()):
        yield from found.items()
        return
    if each is None:
        if len(found) > 1:
            raise Unclear("without -ppn a host gets as many ranks as the one that mpiexec.hydra is started on has cores")
        each = MOST
    if by_slots and any(found.values()):
        raise Unclear("a machine file with slots beside -ppn is not worked out here")
    yield from ((name, each) for name in found)
