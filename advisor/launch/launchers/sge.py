"""Grid Engine (SGE, UGE): what -binding of qsub gives the job's first process. It starts no ranks: job.sge calls a launcher."""

from collections.abc import Sequence

from advisor.errors import BadValue
from advisor.launch.launcher import Dialect, JobScript, Launch, LaunchRequest, Options
from advisor.launch.lint.grid_engine import ranks, request, settle
from advisor.model.placement import Placement

NAME = "sge"
TITLE = "Grid Engine"
ALIASES = ("uge", "gridengine", "grid-engine")
ORDER = 85
VERSIONS = ()
VARIABLES = ("SGE_",)
RANKS = None
UNBOUND = ()
JOB = JobScript()

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


def unbound(total: int, hosts: Sequence[str]) -> None:
    """Return None: lines are not translated to it."""


LINES = Dialect(programs=("qsub", "qrsh"), options=OPTIONS, ranks=ranks, request=request, settle=settle, binds=False)
