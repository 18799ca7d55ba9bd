"""Grid Engine (SGE, UGE): what -binding of qsub gives the job's first process. It starts no ranks: job.sge calls a launcher."""

import re
from collections.abc import Sequence
from dataclasses import replace

from advisor.errors import BadValue
from advisor.jobs.launcher import Dialect, Launch, Launcher, LaunchRequest, Options, of_lines
from advisor.jobs.placement import LintRank, Placement
from advisor.jobs.request import Line, Prediction, Refused, Request, Said, Unclear
from advisor.machine.cpuset import CpuSet, union
from advisor.machine.layout import logical_numbering, ordered
from advisor.machine.topology import Topology

_ONE = (
    "-l -q -N -o -e -j -S -v -b -P -A -t -tc -hold_jid -m -M -R -r -sync -masterq -wd -now -p -w -a -js -ckpt -c -dl -display"
    " -pty -i"
)


_NONE = "-cwd -V -notify -terse -clear -h -hard -soft -inherit -verbose"


OPTIONS: Options = {
    "-pe": (2, "takes {1} slots of the parallel environment {0}"),
    "-binding": (1, "asks for cores by {0}: a hint, without effect where others have them"),
    **dict.fromkeys(_ONE.split(), (1, "is Grid Engine's own: {0}")),
    **dict.fromkeys(_NONE.split(), (0, "is Grid Engine's own")),
}


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Refuse: what it starts is the job script, and ranks are started by a launcher that this calls."""
    cure = "name the launcher that the job script calls, such as --launcher openmpi: with -o the folder has job.sge"
    raise BadValue(f"qsub starts one process, the job script, and none of {placement.size} ranks of {wish.command[0]}", cure=cure)


_INSTANCES = ("env", "pe", "set")


_STRATEGY = re.compile(r"(linear|striding|explicit)\b.*", re.ASCII)


_PAIR = re.compile(r"(\d{1,4}),(\d{1,4})", re.ASCII)


def settle(options: list[Said], words: Sequence[str], at: int) -> tuple[list[Said], int]:
    """Take the second word of ``-binding set explicit:0,0``, and the options that come after it."""
    table = of_lines()["sge"].options
    while at < len(words):
        last = options[-1] if options else None
        if last and last.name == "-binding" and last.values == (last.values[0],) and last.values[0] in _INSTANCES:
            if not _STRATEGY.fullmatch(words[at]):
                break
            options[-1] = Said("-binding", (*last.values, words[at]), (*last.written, words[at]))
            at += 1
        elif words[at].startswith("-") and len(words[at]) > 1:
            count = table.get(words[at], (0, ""))[0]
            values = tuple(words[at + 1 : at + 1 + count])
            options.append(Said(words[at], values, tuple(words[at : at + 1 + count]), known=words[at] in table))
            at += 1 + count
        else:
            break
    return options, at


def request(_line: Line, told: Request) -> Request:
    """Return what a line asks for: the job's first process."""
    return replace(told, ranks=1)


def ranks(made: Prediction) -> tuple[LintRank, ...]:
    """Return the job's first process; raise Refused or Unclear."""
    said = [each for each in made.line.options if each.known]
    if any(each.name == "-l" and each.values[0].startswith(("select=", "nodes=")) for each in said):
        raise Unclear("-l select= and nodes= are of PBS and Torque, which bind no process: lint the line in the job script")
    if odd := next((each for each in made.line.options if not each.known), None):
        raise Unclear(f"{odd.written[0][:40]} of Grid Engine is not known here")
    if not made.line.first.command:
        raise Unclear("what is started is read from the standard input")
    asked = next((each.values for each in reversed(said) if each.name == "-binding"), ())
    instance, strategy = asked if len(asked) == 2 else ("set", asked[0] if asked else "")
    if not strategy or instance != "set":  # env and pe tell the cores to the job, and bind nothing
        return (LintRank(rank=0, host=None, cpus=None),)
    return (LintRank(rank=0, host=None, cpus=cores_of(strategy, made.topology)),)


def cores_of(strategy: str, seen: Topology) -> CpuSet:
    """Return the CPUs of a strategy on a node where no other job has cores; raise Refused or Unclear."""
    kind, _, rest = strategy.partition(":")
    if kind == "explicit":
        pairs = [_PAIR.fullmatch(word) for word in rest.split(":")]
        if not all(pairs) or len({pair[0] for pair in pairs if pair}) < len(pairs):
            raise Refused(f"{strategy[:60]!a} is not a list of different pairs socket,core")
        return union(_core(int(pair[1]), int(pair[2]), seen) for pair in pairs if pair)
    match = re.fullmatch(r"(?:linear:(\d{1,5})|striding:(\d{1,5}):(\d{1,4})):(\d{1,4}),(\d{1,4})", strategy, re.ASCII)
    if not match:
        raise Unclear(
            f"-binding {strategy[:40]} starts at the first socket that no other job has: which that is, is not known here"
        )
    count, step = int(match[1] or match[2]), int(match[3] or 1)
    _core(int(match[4]), int(match[5]), seen)
    cores = [core for socket in _sockets(seen) for core in socket]
    start = sum(len(socket) for socket in _sockets(seen)[: int(match[4])]) + int(match[5])
    chosen = cores[start::step][:count] if step else []
    if not chosen or len(chosen) < count:
        raise Unclear(f"from there on are fewer than {count} cores: then Grid Engine binds nothing")
    return union(chosen)


def _sockets(seen: Topology) -> list[list[CpuSet]]:
    """Return the cores of each socket, both in hwloc's order."""
    known = logical_numbering(seen)
    packages = ordered((package.cpuset for package in seen.packages), known)
    return [[core for core in known.cores if core <= package] for package in packages]


def _core(socket: int, core: int, seen: Topology) -> CpuSet:
    sockets = _sockets(seen)
    if socket >= len(sockets) or core >= len(sockets[socket]):
        raise Unclear(f"there is no core {socket},{core}: then Grid Engine binds nothing")
    return sockets[socket][core]


LAUNCHER = Launcher(
    name="sge",
    title="Grid Engine",
    order=85,
    launch=launch,
    aliases=("uge", "gridengine", "grid-engine"),
    variables=("SGE_",),
    dialect=Dialect(programs=("qsub", "qrsh"), options=OPTIONS, ranks=ranks, request=request, settle=settle, binds=False),
)
