"""Where a line of MPICH's mpiexec puts its ranks: which host, by the hosts' slots in turn, and there by bind_to."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from advisor.launch.lint.hydra.bind_to import Bound, atoi, bound
from advisor.launch.lint.outcome import MOST_RANKS, Refused, Unclear
from advisor.model.placement import LintRank

if TYPE_CHECKING:
    from advisor.launch.lint.line import Line
    from advisor.launch.lint.predict import Prediction


_FOREIGN = frozenset(
    {"-perhost", "-rr", "-nolocal", "-umask", "-s", "-tmpdir", "-path", "-wd", "-print-rank-map", "-timeout"}
    | {"-silent-abort", "-prepend-timestamp", "-prot", "-grr"}
)
"""Options of other Hydras that MPICH's mpiexec 4 and 5 end at: "unrecognized argument"."""
_ONCE = (
    *(("-bind-to",), ("-map-by",), ("-membind",), ("-launcher",), ("-usize",), ("-iface",), ("-demux",), ("-nameserver",)),
    *(("-prepend-rank", "-prepend-pattern"), ("-outfile-pattern",), ("-errfile-pattern",), ("-memory-alloc-kinds",)),
    *(("-genvall", "-genvnone", "-genvlist"), ("-pmi-port",)),
)
"""Options of which a line takes one: "duplicate setting" (5.0.2, observed)."""
_ONCE_EACH = (("-wdir",), ("-envall", "-envnone", "-envlist"))
"""Options of which each program of a line takes one."""
_EITHER = tuple((f"-enable-{name}", f"-disable-{name}") for name in ("x", "auto-cleanup", "hostname-propagation"))
"""Options that may be said again, but not beside the other."""
_UNREAD = ("HYDRA_CONFIG_FILE", "HYDRA_RMK", "HYDRA_TOPOLIB")
_ELSEWHERE = {
    "-configfile": "the options stand in a file that is not read",
    "-order-nodes": "the hosts are sorted by their slots",
    "-skip-launch-node": "which host the line is started on, is not known",
    "-rmk": "the hosts come from a resource manager",
    "-topolib": "another topology library is asked for",
    "-pmi_args": "mpiexec is started by a rank",
    "-localhost": "what this host is called, changes what is started on it",
    "-gpus-per-proc": "nothing starts on hosts without such GPUs",
    "-gpu-subdevs-per-proc": "nothing starts on hosts without such GPUs",
    "-hybrid-hosts": "where the daemon lies on each host, is not known",
}


@dataclass(frozen=True)
class HostSlots:
    """A host of the line: the same name twice, not in a row, is two of them."""

    name: str | None
    slots: int
    binding: str | None = None


def ranks(made: "Prediction") -> tuple[LintRank, ...]:
    """Return the ranks of a line of MPICH's; raise Refused or Unclear."""
    line = made.line
    _odd(line)
    nodes = host_slots(made)
    each = _number(line, "-ppn")
    if each is not None and each != -1:
        nodes = [replace(node, slots=each) for node in nodes]
    total = _total(line, nodes)
    order = _order(line, nodes, total)
    variables = line.words.environment
    bind, over, membind = (_said(line, option) for option in ("-bind-to", "-map-by", "-membind"))
    if nodes[0].name is not None and bind is None and "HYDRA_BINDING" in variables:
        raise Unclear("whether HYDRA_BINDING reaches the other hosts, depends on how daemons are started there")
    bind = bind if bind is not None else variables.get("HYDRA_BINDING")
    over = over if over is not None else variables.get("HYDRA_MAPPING")
    membind = membind if membind is not None else variables.get("HYDRA_MEMBIND")
    counts = Counter(order)
    cache: dict[tuple[str | None, int], Bound] = {}
    local = [0] * len(nodes)
    found: list[LintRank] = []
    for rank, position in enumerate(order):
        node = nodes[position]
        key = (node.binding or bind, counts[position])
        if key not in cache:
            cache[key] = _bound(made, key[0], over, membind, counts[position])
        found.append(LintRank(rank=rank, host=node.name, cpus=cache[key][local[position]]))
        local[position] += 1
    return tuple(found)


def _bound(made: "Prediction", bind: str | None, over: str | None, membind: str | None, count: int) -> Bound:
    """Return what ranks of a host are bound to; what 5.0.2 refuses, ones before 4.0 bound in a way of their own."""
    try:
        return bound(bind, over, membind, made.topology, count)
    except Refused as refusal:
        if made.line.release is None or made.line.release < (4, 0, 0):
            raise Unclear(f"MPICH 5.0.2 says: {refusal}; older ones bound ranks there, and how is not known") from refusal
        raise


def _odd(line: "Line") -> None:
    """Refuse or leave alone what Hydra would end at, or what makes its hosts unknown."""
    young = line.release is None or line.release >= (4, 0, 0)
    for said in line.options:
        name = "-" + said.written[0].lstrip("-").partition("=")[0].lower()
        if not said.known or (name in _FOREIGN and young):
            raise Refused(f"unrecognized argument {said.written[0][:40]}")
        if said.name in _ELSEWHERE:
            raise Unclear(f"{_ELSEWHERE[said.name]} ({said.name})")
    if not all(segment.command for segment in line.segments):
        raise Refused("no executable provided")
    once(line, _ONCE, _ONCE_EACH)
    names = {said.name for said in line.options}
    if both := next((pair for pair in _EITHER if names.issuperset(pair)), None):
        raise Refused(f"duplicate setting: {both[0]}")
    if unread := next((name for name in _UNREAD if name in line.words.environment), None):
        raise Unclear(f"{unread} is set: what it brings is not known")
    if line.release is not None and line.release < (3, 1, 0):
        raise Unclear("MPICH before 3.1 bound in another way")


def once(line: "Line", whole: Iterable[tuple[str, ...]], each: Iterable[tuple[str, ...]]) -> None:
    """Refuse a line that says one of some options twice, in the whole of it or in one of its programs; or asks for no ranks."""
    if any(said.name == "-info" for said in line.options):
        raise Refused("it prints what it was built with, and ends")
    programs = [[said.name for said in segment.options] for segment in line.segments]
    every = [name for names in programs for name in names]
    for scopes, groups in (([every], whole), (programs, each)):
        for group in groups:
            if any(sum(name in group for name in names) > 1 for names in scopes):
                raise Refused(f"duplicate setting: {group[0]}")


def _said(line: "Line", option: str) -> str | None:
    return next((said.values[-1] for said in line.options if said.name == option and said.values), None)


def _number(line: "Line", option: str) -> int | None:
    """Return the number that an option gives; raise Refused where it is given twice and differs."""
    found = {atoi(said.values[-1]) for said in line.options if said.name == option and said.values}
    if len(found - {-1}) > 1:
        raise Refused(f"duplicate setting: {option.lstrip('-')}")
    return next(iter(found - {-1}), None)


def host_slots(made: "Prediction") -> list[HostSlots]:
    """Return the hosts of a line in their order; one without a name where it has none."""
    options = [said for said in made.line.options if said.name in ("-f", "-hosts", "-host")]
    if len(options) > 1:
        raise Refused("duplicate host file or host list setting")
    file = made.line.words.environment.get("HYDRA_HOST_FILE") if not options else None
    if options and options[0].name == "-f":
        file = options[0].values[-1]
    if file is not None:
        if file not in made.files:
            raise Unclear(f"the host file {file[:80]} was not read")
        return list(_merged(_rows(made.files[file])))
    if not options:
        return [HostSlots(None, 1)]
    words = [word for word in options[0].values[-1].split(",") if word][: MOST_RANKS + 1]
    if not words:
        raise Refused("the list of hosts is empty")
    return list(_merged(HostSlots(*_named(word)) for word in words))


def _named(word: str) -> tuple[str, int]:
    parts = [part for part in word.split(":") if part]
    if not parts:
        raise Refused(f"{word[:40]!a} has no host")
    return parts[0], max(0, atoi(parts[1])) if len(parts) > 1 else 1


def _rows(text: str) -> Iterator[HostSlots]:
    """Yield the hosts of a host file: ``name:slots binding=... user=...``; lines that begin with # are comments."""
    rows = [row.strip() for row in text.splitlines()[: MOST_RANKS + 1]]
    for row in rows:
        if not row or row.startswith("#"):
            continue
        name, *tokens = row.split()
        settings = dict(token.partition("=")[::2] for token in tokens)
        if other := next((token for token in settings if token not in ("binding", "user")), None):
            raise Refused(f"token {other[:40]} of the host file is not supported")
        if len(settings) < len(tokens):
            raise Refused("duplicate local binding setting")
        yield HostSlots(*_named(name), settings.get("binding"))


def _merged(hosts: Iterator[HostSlots]) -> Iterator[HostSlots]:
    """Yield the hosts, those of one name in a row as one."""
    last: HostSlots | None = None
    for host in hosts:
        if last and last.name == host.name:
            if host.binding and last.binding:
                raise Refused("duplicate local binding setting")
            last = replace(last, slots=last.slots + host.slots, binding=last.binding or host.binding)
            continue
        if last:
            yield last
        last = host
    if last is None:
        raise Unclear("the host file has no host")
    yield last


def _total(line: "Line", nodes: Sequence[HostSlots]) -> int:
    total = 0
    for segment in line.segments:
        numbers = {atoi(said.values[-1]) for said in segment.options if said.name == "-n" and said.values}
        if len(numbers - {-1}) > 1:
            raise Refused("duplicate setting: n")
        number = max(numbers, default=0)
        total += number if number > 0 else sum(node.slots for node in nodes)
    if total > MOST_RANKS:
        raise Unclear(f"{total} ranks are more than the {MOST_RANKS} that are worked out one by one")
    if any(node.slots <= 0 for node in nodes):
        raise Refused("a host has no slot, and mpiexec dies")
    return total


def _order(line: "Line", nodes: Sequence[HostSlots], total: int) -> list[int]:
    """Return each rank's host by its position: slots of the hosts in turn, from the first again, or a -rankmap."""
    text = _said(line, "-rankmap")
    turn = list(_rankmap(text, len(nodes))) if text is not None else list(_slots(nodes, total))
    if not turn:
        raise Unclear("a -rankmap without a host")
    return [turn[rank % len(turn)] for rank in range(total)]


def _slots(nodes: Sequence[HostSlots], total: int) -> Iterator[int]:
    for position, node in enumerate(nodes):
        for _ in range(min(node.slots, total)):
            yield position


_BLOCK = re.compile(r"\((\d{1,6}),(\d{1,6}),(\d{1,6})\)|(\d{1,6})", re.ASCII)


def _rankmap(text: str, count: int) -> Iterator[int]:
    """Yield the positions of a -rankmap: ``0,1,1,0`` or blocks of first host, hosts, ranks of each."""
    body = re.fullmatch(r"\(vector,(.*)\)", text)
    words = body[1] if body else text
    if not re.fullmatch(rf"(?:{_BLOCK.pattern})(?:,(?:{_BLOCK.pattern}))*", words, re.ASCII):
        raise Unclear(f"-rankmap {text[:60]} is not understood")
    made = 0
    for match in _BLOCK.finditer(words):
        first, hosts, each = (int(match[i]) for i in (1, 2, 3)) if match[1] else (int(match[4]), 1, 1)
        if first + hosts > count:
            raise Unclear(f"-rankmap names host {first + hosts - 1}, and there are {count}")
        for host in range(first, first + hosts):
            for _ in range(min(each, MOST_RANKS)):
                made += 1
                if made > MOST_RANKS:
                    return
                yield host
