"""Which host each rank of a line of Intel MPI goes to: by -ppn, I_MPI_PERHOST, or the slots of a machine file."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from advisor.launch.lint.hydra.bind_to import atoi
from advisor.launch.lint.outcome import MOST_RANKS, Unclear

if TYPE_CHECKING:
    from advisor.launch.lint.line import Line
    from advisor.launch.lint.predict import Prediction

OFF = frozenset({"0", "no", "off", "disable"})
RESPECT = "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"
PLACES = frozenset({"I_MPI_PERHOST", RESPECT, "I_MPI_HYDRA_HOST_FILE"})
"""Variables that say which host a rank goes to."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}", re.ASCII)


def hosts_of_ranks(made: "Prediction", total: int) -> Iterator[tuple[int, str | None]]:
    """Yield the host of each rank: its position and its name."""
    line = made.line
    variables = line.words.environment
    fine = {"I_MPI_PERHOST"} | ({RESPECT} if variables.get(RESPECT) in OFF else set())
    if odd := next((name for name in PLACES - fine if name in variables), None):
        raise Unclear(f"{odd} changes which host a rank goes to")
    files = [said for said in line.options if said.name in ("-f", "-hosts", "-host")]
    each = each_host(line)
    if not files and "HYDRA_HOST_FILE" in variables:
        raise Unclear("HYDRA_HOST_FILE names the hosts, and that it is read was not seen often")
    if not files:
        yield from ((0, None) for _ in range(total))
        return
    if len(files) > 1:
        yield from _of_programs(line, each)
        return
    by_slots = files[0].written[0].lstrip("-").partition("=")[0].lower() in ("machinefile", "machine")
    slots = list(_named(made, files[0].name, files[0].values[-1], each, by_slots=by_slots))
    place = {name: position for position, name in enumerate(dict.fromkeys(name for name, _ in slots))}
    turn = [(place[name], name) for name, count in slots for _ in range(min(count, total))]
    for rank in range(total):
        yield turn[rank % len(turn)]


def _of_programs(line: "Line", each: int | None) -> Iterator[tuple[int, str]]:
    """Yield the host of each rank where every program has one of its own; raise Unclear where that is said otherwise."""
    place: dict[str, int] = {}
    for segment in line.segments:
        named = [said for said in segment.options if said.name in ("-f", "-hosts", "-host")]
        own = named[0].values[-1] if len(named) == 1 and named[0].name != "-f" else ""
        counts = [atoi(said.values[-1]) for said in segment.options if said.name == "-n"]
        if each is not None or len(counts) != 1 or not NAME.fullmatch(own):
            raise Unclear("the line names its hosts twice")
        position = place.setdefault(own, len(place))
        yield from ((position, own) for _ in range(min(counts[0], MOST_RANKS)))


def each_host(line: "Line") -> int | None:
    """Return the ranks of each host; None where the line does not say."""
    counts = [atoi(said.values[-1]) for said in line.options if said.name in ("-ppn", "-grr") and said.values]
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
    found: list[tuple[str, int]] = []
    for word in listed(made, option, text):
        match = re.fullmatch(rf"({NAME.pattern})(?::(\d{{1,6}}))?", word, re.ASCII)
        again = found and match and found[-1][0] == match[1]
        if not match or (match[2] and not by_slots and match[1] in dict(found)):
            raise Unclear(f"the host {word[:40]!a} is written in a way that is not worked out here")
        if again and option == "-f":  # rows of one host beside each other are one, of a list they are not (2021.18, observed)
            found[-1] = (match[1], found[-1][1] + int(match[2] or by_slots))
        else:
            found.append((match[1], int(match[2] or by_slots)))
    if not found:
        raise Unclear("no host is named")
    yield from _turns(made, found, each, by_slots=by_slots)


def _turns(
    made: "Prediction", found: Sequence[tuple[str, int]], each: int | None, *, by_slots: bool
) -> Iterator[tuple[str, int]]:
    """Yield the hosts of a file or list with how many ranks each takes at a time."""
    slots = [count for _, count in found]
    if by_slots and max(slots) > 1 and any(said.name == "-rr" for said in made.line.options):
        raise Unclear("a machine file with slots beside -rr is not worked out here")
    if by_slots and all(slots):
        yield from found  # whatever -ppn says (2021.18, observed)
        return
    if each is None:
        if len(dict(found)) > 1:
            raise Unclear("without -ppn a host gets as many ranks as the one that mpiexec.hydra is started on has cores")
        each = MOST_RANKS
    if by_slots:
        raise Unclear("a machine file with a host of no slots is not worked out here")
    yield from ((name, each) for name, _ in found)


def listed(made: "Prediction", option: str, text: str) -> list[str]:
    """Return the hosts as a file or the option's own list has them."""
    if option != "-f":
        return [word for word in text.split(",")[:MOST_RANKS] if word]
    if text not in made.files:
        raise Unclear(f"the host file {text[:80]} was not read")
    return [row for line in made.files[text].splitlines()[:MOST_RANKS] if (row := line.partition("#")[0].strip())]
