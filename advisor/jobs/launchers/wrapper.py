"""The portable wrapper: one POSIX shell script that binds its own rank by a table, under any launcher that leaves it alone."""

import re
from collections.abc import Iterator, Sequence

from advisor.errors import BadValue
from advisor.jobs.launcher import Launch, Launcher, LaunchRequest, Lines, RankVariables, launchers, rank_variables
from advisor.jobs.placement import Placement, Slot, filled, kinds, names, runs
from advisor.paths import template

NAME = "wrapper"


FILE = "bind-wrapper.sh"


NOTES = (f"{FILE} binds each rank itself: every host needs it at the path given in the command, plus numactl or taskset",)


_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}", re.ASCII)


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return a line for any mpirun: which option switches its own binding off stands in the notes."""
    options = tuple(dict.fromkeys(switches_off()))
    argv = ("mpirun", "-n", str(placement.size), *wrapped(wish.command))
    return Launch(NAME, wish.version, "wrapper", argv, dict(wish.environment), files(placement), (), (*NOTES, *options))


def switches_off() -> Iterator[str]:
    """Yield what makes each launcher leave the binding alone, in a sentence."""
    for each in launchers().values():
        if each.dialect and each.without_binding:
            title = "" if each.dialect.programs[0] == each.name else f" ({each.title.rstrip(' 0123456789')})"
            yield f"with {each.dialect.programs[0]}{title}, add {' '.join(each.without_binding)}"


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
    """Return the memory policy: local where that is meant, a wish for one other node or for several, or a rule."""
    nodes = ",".join(map(str, slot.memory))
    if slot.policy:
        kind = "only" if slot.policy == "only" else "prefer" if len(slot.memory) == 1 else "many"
        return f"{kind}:{nodes}"
    if not slot.memory or set(slot.memory) == set(slot.nodes):
        return "local"
    # numactl --preferred takes one node; --preferred-many is of numactl 2.0.15 and Linux 5.15, too young to rely on.
    kind = "prefer" if len(slot.memory) == 1 else "only"
    return f"{kind}:{nodes}"


def _device(name: str | None) -> str:
    if name is not None and not _DEVICE.fullmatch(name):
        raise BadValue(f"{name!a} is not a valid device name")
    return name or "-"


LAUNCHER = Launcher(
    name=NAME,
    title="the portable wrapper",
    order=90,
    launch=launch,
    aliases=("portable",),
)
