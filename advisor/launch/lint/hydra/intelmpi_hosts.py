"""Which host each rank of a line of Intel MPI goes to: by -ppn, I_MPI_PERHOST, or the slots of a machine file."""

import re
from collections.abc import Iterator
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
        raise Unclear("the line names its hosts twice")
    by_slots = files[0].written[0].lstrip("-").partition("=")[0].lower() in ("machinefile", "machine")
    slots = list(_named(made, files[0].name, files[0].values[-1], each, by_slots=by_slots))
    turn = [(position, name) for position, (name, count) in enumerate(slots) for _ in range(min(count, total))]
    for rank in range(total):
        yield turn[rank % len(turn)]


def each_host(line: "Line") -> int | None:
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
    found: dict[str, int] = {}
    for word in listed(made, option, text):
        match = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9._-]{0,254})(?::(\d{1,6}))?", word, re.ASCII)
        if not match or match[1] in found:
            raise Unclear(f"the host {word[:40]!a} is written in a way that is not worked out here")
        found[match[1]] = int(match[2] or by_slots)
    if not found:
        raise Unclear("no host is named")
    if by_slots and max(found.values()) > 1 and any(said.name == "-rr" for said in made.line.options):
        raise Unclear("a machine file with slots beside -rr is not worked out here")
    if by_slots and all(found.values()):
        yield from found.items()  # whatever -ppn says (2021.18, observed)
        return
    if each is None:
        if len(found) > 1:
            raise Unclear("without -ppn a host gets as many ranks as the one that mpiexec.hydra is started on has cores")
        each = MOST_RANKS
    if by_slots:
        raise Unclear("a machine file with a host of no slots is not worked out here")
    yield from ((name, each) for name in found)


def listed(made: "Prediction", option: str, text: str) -> list[str]:
    """Return the hosts as a file or the option's own list has them."""
    if option != "-f":
        return [word for word in text.split(",")[:MOST_RANKS] if word]
    if text not in made.files:
        raise Unclear(f"the host file {text[:80]} was not read")
    return [row for line in made.files[text].splitlines()[:MOST_RANKS] if (row := line.partition("#")[0].strip())]
