"""Grid Engine (SGE, UGE): what -binding of qsub gives the job's first process. It starts no ranks: job.sge calls a launcher."""

import re
from collections.abc import Sequence

from advisor.errors import BadValue
from advisor.jobs.launcher import Dialect, Launch, Launcher, LaunchRequest, Options, of_lines
from advisor.jobs.placement import Placement
from advisor.jobs.request import Said

_ONE = (
    "-l -q -N -o -e -j -S -v -b -P -A -t -tc -hold_jid -m -M -R -r -sync -masterq -wd -now -p -w -a -js -ckpt -c -dl -display"
    " -pty -i"
)


_NONE = "-cwd -V -notify -terse -clear -h -hard -soft -inherit -verbose"


OPTIONS: Options = {
    "-pe": (2, "takes {1} slots of the parallel environment {0}"),
    "-binding": (1, "requests cores with {0}: a hint that has no effect if other jobs use them"),
    **dict.fromkeys(_ONE.split(), (1, "is a Grid Engine option: {0}")),
    **dict.fromkeys(_NONE.split(), (0, "is a Grid Engine option")),
}


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Refuse: what it starts is the job script, and ranks are started by a launcher that this calls."""
    cure = "give the launcher that the job script calls, such as --launcher openmpi (with -o, the folder contains job.sge)"
    raise BadValue(
        f"qsub starts one process, the job script, but none of the {placement.size} ranks of {wish.command[0]}", cure=cure
    )


_INSTANCES = ("env", "pe", "set")


_STRATEGY = re.compile(r"(linear|striding|explicit)\b.*", re.ASCII)


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


LAUNCHER = Launcher(
    name="sge",
    title="Grid Engine",
    order=85,
    launch=launch,
    aliases=("uge", "gridengine", "grid-engine"),
    variables=("SGE_",),
    dialect=Dialect(programs=("qsub", "qrsh"), options=OPTIONS, settle=settle, binds=False),
)
