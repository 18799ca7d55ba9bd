"""The portable wrapper: one POSIX shell script that binds its own rank by a table, under any launcher that leaves it alone."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.errors import BadValue
from advisor.launch.launcher import JobScript, Launch, LaunchRequest, Lines, RankVariables
from advisor.launch.ranks_per_host import filled, kinds, names, runs
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.topology import Topology
from advisor.model.placement import Placement, Slot
from advisor.paths import template

NAME = "wrapper"
ALIASES = ("portable",)
TITLE = "the portable wrapper"
ORDER = 90
VERSIONS = ()
VARIABLES = ()
RANKS = None
UNBOUND = ()
JOB = JobScript()
LINES = None

FILE = "bind-wrapper.sh"

NOTES = (f"{FILE} binds each rank itself: every host must have it where the line names it, and numactl or taskset",)

_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}", re.ASCII)
_PLACE = re.compile(r"\s*(\d+):(\d+)\) place (\S+) (\S+) (\S+) (\S+) ;;", re.ASCII)
_HOST = re.compile(r"\s*(\S+)(?: \| \S+)*\) plan=(\d+) (first|each)=(\d+) ;;", re.ASCII)


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return a line for any mpirun: which option switches its own binding off stands in the notes."""
    options = tuple(dict.fromkeys(switches_off()))
    argv = ("mpirun", "-n", str(placement.size), *wrapped(wish.command))
    return Launch(NAME, wish.version, "wrapper", argv, dict(wish.environment), files(placement), (), (*NOTES, *options))


def unbound(total: int, hosts: Sequence[str]) -> None:
    """Return None: it is no launcher that lines are translated to."""


def switches_off() -> Iterator[str]:
    """Yield what makes each launcher leave the binding alone, in a sentence."""
    from advisor.launch.registry import launchers

    for each in launchers().values():
        if each.LINES and each.UNBOUND:
            title = "" if each.LINES.programs[0] == each.NAME else f" ({each.TITLE.rstrip(' 0123456789')})"
            yield f"with {each.LINES.programs[0]}{title} add: {' '.join(each.UNBOUND)}"


def wrapped(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command as the wrapper starts it."""
    return ("sh", FILE, *command)


def files(placement: Placement, own: RankVariables | None = None) -> dict[str, Lines]:
    """Return the script; it is refused now, not when it is written, where the plan cannot be launched.

    ``own`` are the variables of the launcher whose line starts it: they come first, for others may be inherited from the one
    that this launcher itself was started by (a Flux in a job of jsrun or srun).
    """
    list(runs(placement))
    return {FILE: lambda: script(placement, own)}


def script(placement: Placement, own: RankVariables | None = None) -> Iterator[str]:
    """Yield the lines of the script."""
    from jinja2 import Environment, StrictUndefined

    from advisor.launch.registry import rank_variables

    options = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True, "autoescape": False}
    environment = Environment(undefined=StrictUndefined, **options)  # type: ignore[arg-type]  # noqa: S701 - options are of one type for mypy; a shell script: every word in its tables is checked
    first = own or RankVariables(())
    told = {
        "rank": _first_set(tuple(dict.fromkeys((*first.rank, *rank_variables("rank"))))),
        "local": _first_set(tuple(dict.fromkeys((*first.local, *rank_variables("local"))))),
    }
    rest = ""
    for piece in environment.from_string(template(f"{FILE}.j2")).generate(
        hosts=hosts(placement), places=places(placement), told=told
    ):
        *whole, rest = (rest + piece).split("\n")
        yield from whole


def _first_set(names: Sequence[str]) -> str:
    """Return the words of a shell that stand for the first of some variables that is set.

    >>> _first_set(["A", "B"])
    '${A:-${B:-}}'
    """
    return "".join(f"${{{name}:-" for name in names) + "}" * len(names)


def hosts(placement: Placement) -> Iterator[str]:
    """Yield the lines that say which plan a host has, and which rank is its first where no launcher says the local one."""
    each, plans = filled(placement), list(kinds(placement))
    if each and len(plans) == 1:
        yield f"*) plan={plans[0]} each={each} ;;"
        return
    short = {name.partition(".")[0] for name in names(placement)}
    unique = len(short) == len(names(placement))
    first = 0
    for run in runs(placement):
        for host in run.hosts:
            name = str(host.name)
            others = [f"{name}.*"] + ([name.partition(".")[0]] if unique and "." in name else [])
            yield f"{' | '.join([name, *others])}) plan={host.plan} first={first} ;;"
            first += host.ranks
    yield '*) fail "the plan does not know this host" ;;'


def places(placement: Placement) -> Iterator[str]:
    """Yield the lines that say where each local rank of each plan belongs."""
    for plan, ranks in kinds(placement).items():
        for local, slot in enumerate(placement.plans[plan].slots[:ranks]):
            hca = f"{slot.hca}:1" if slot.hca and ":" not in slot.hca else slot.hca
            yield f"{plan}:{local}) place {slot.cpus} {memory(slot)} {_device(hca)} {_device(slot.gpu)} ;;"


def memory(slot: Slot) -> str:
    """Return the memory policy: local where that is meant, a wish for one other node, a rule for several."""
    if not slot.memory or set(slot.memory) == set(slot.nodes):
        return "local"
    # numactl --preferred takes one node; --preferred-many is of numactl 2.0.15 and Linux 5.15, too young to rely on.
    kind = "prefer" if len(slot.memory) == 1 else "only"
    return f"{kind}:{','.join(map(str, slot.memory))}"


def _device(name: str | None) -> str:
    if name is not None and not _DEVICE.fullmatch(name):
        raise BadValue(f"{name!a} is not a device's name")
    return name or "-"


@dataclass
class Table:
    """What a script says."""

    slots: dict[tuple[int, int], CpuSet] = field(default_factory=dict)
    """CPUs by plan and local rank."""
    hosts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Plan and first rank by host; * for all."""

    def cpus(self, host: str | None, rank: int, local: int | None = None) -> CpuSet:
        """Return the CPUs of a rank; its local rank comes from the table where no launcher sets it."""
        plan, number = self.hosts.get(host or "*") or self.hosts.get("*") or (None, 0)
        if local is None:
            local = rank % number if "*" in self.hosts else rank - number
        if plan is None or (plan, local) not in self.slots:
            raise BadValue(f"the wrapper refuses rank {rank}: it has no place on {host or 'this host'}")
        return self.slots[plan, local]


def table(command: Sequence[str], files: Mapping[str, Lines]) -> Table | None:
    """Return what the wrapper's script says where a command starts with it, None where it does not."""
    if tuple(command[:2]) != ("sh", FILE):
        return None
    found = Table()
    for line in files[FILE]():
        if match := _PLACE.match(line):
            found.slots[int(match[1]), int(match[2])] = CpuSet.parse(match[3])
        elif match := _HOST.match(line):
            found.hosts[match[1]] = (int(match[2]), int(match[4]))
    return found


def parse(
    argv: Sequence[str], files: Mapping[str, Lines], topologies: Mapping[str | None, Topology]
) -> dict[int, tuple[str | None, CpuSet | None]]:
    """Return what a line of ``launch`` does on one host: each rank's host and CPUs."""
    read = table(argv[3:], files)
    if read is None or len(topologies) != 1:
        raise BadValue("this is not a line with the wrapper on one host")
    host = next(iter(topologies))
    return {rank: (host, read.cpus(host, rank)) for rank in range(int(argv[2]))}
