"""Open MPI 5: mpirun of PRRTE 3, and the spellings of PRRTE's development branch."""

from collections.abc import Sequence

from advisor.errors import BadValue
from advisor.launch import mpirun
from advisor.launch.launcher import Avoided, Dialect, JobScript, Launch, LaunchRequest, Lines, RankVariables, VersionQuery, late
from advisor.launch.launchers import wrapper
from advisor.launch.lint.option_tables import OPENMPI, OPENMPI_ALIASES
from advisor.launch.mpirun import MAIN, Fault, Form, Release, fits
from advisor.launch.rankfile import longest, rankfile
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.placement import NodePlan, Placement

NAME = "openmpi5"
ALIASES = ("openmpi-5", "ompi5", "openmpi", "ompi", "prrte")
TITLE = "Open MPI 5"
ORDER = 11

VERSIONS = (
    # mpirun (Open MPI) 5.0.11;   Open MPI v4.1.4   (ompi_info)
    VersionQuery(
        "openmpi",
        (("mpirun", "--version"), ("mpiexec", "--version"), ("ompi_info", "--version")),
        r"^(?:\S+ \(Open MPI\) |Open MPI v)([0-9][^\s]*)",
    ),
    # prterun (PRRTE) 3.0.14
    VersionQuery(
        "prrte",
        (("prterun", "--version"), ("prte_info", "--version")),
        r"^\S+ \(PRRTE\) ([0-9][^\s]*)",
        own=False,
        means=mpirun.of_prrte,
    ),
)
VARIABLES = ("OMPI_", "PRTE_", "PMIX_")
RANKS = RankVariables(
    rank=("OMPI_COMM_WORLD_RANK", "PMIX_RANK"), size=("OMPI_COMM_WORLD_SIZE",), local=("OMPI_COMM_WORLD_LOCAL_RANK",)
)
UNBOUND = ("--bind-to", "none")
JOB = JobScript()
LINES = Dialect(
    programs=("mpirun", "mpiexec", "orterun", "prterun", "prun"),
    options=OPENMPI,
    aliases=OPENMPI_ALIASES,
    ranks=late("predict:open_mpi_ranks"),
    request=late("request:of_open_mpi"),
    claim=late("rewrite:open_mpi_claim"),
    which=late("rewrite:which_open_mpi"),
    lists=late("cpu_lists:open_mpi_lists"),
    spellings=late("option_tables:long_or_short"),
    equals=True,
    settle=late("openmpi.repeated:settled5"),
)


def unbound(total: int, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a line whose ranks are not bound, up to its program."""
    each = -(-total // max(1, len(hosts)))
    named = ("--host", ",".join(f"{name}:{each}" for name in hosts)) if hosts else ()
    return "mpirun", "-np", str(total), *named, *UNBOUND


FAULTS = (
    Fault(
        "hwthreads", (5, 0, 0), (5, 0, 5), "5.0.0 to 5.0.5 take the numbers of hardware threads for cores (open-mpi/ompi#12967)"
    ),
    # Seen in 5.0.11 (tests/test_binding_openmpi.py): PMIX_ERR_UNPACK_INADEQUATE_SPACE, no rank started, exit status 0.
    Fault(
        "ppr in part", (5, 0, 0), (5, 999, 0), "5.0 starts no rank, and ends as if all were well, where the last part is not full"
    ),
)

_SUPPOSED: Release = (5, 0, 0)
"""What is written where the version is not known: what all of 5.0 understand."""

_LONGEST = 63
"""Characters of a slot list: 5.x drops what is longer, silently (a list of 66 lost its last core)."""

_MOST_LISTED = 32
"""Cores that a line enumerates: pe-list takes no ranges, it counts one as a single CPU."""


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line for Open MPI 5: a short form where that is the plan, else a rankfile, else the wrapper."""
    version = mpirun.release(wish.version) if wish.version else _SUPPOSED
    if version < (5, 0, 0):
        raise BadValue(f"Open MPI {wish.version} is started in another way", cure="ask for the launcher openmpi4")
    plans = mpirun.used(placement)
    last = next(host.ranks for host in reversed(placement.hosts) if host.ranks)
    partly = mpirun.fault(FAULTS, "ppr in part", version)
    short, avoided = mpirun.short_form(
        placement, wish, "package", lambda form: partly.reason if partly and form.deals and last % form.deals else None
    )
    short = short or _listed(placement, plans, wish)
    files: dict[str, Lines] = {}
    command = wish.command
    form: tuple[str, ...]
    if short:
        name, form = short.name, ("--map-by", short.map_by, "--bind-to", short.bind_to)
    elif why := _no_rankfile(placement, plans, wish, version):
        avoided.append(why)
        name, form = "wrapper", ("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none")
        command, files = wrapper.wrapped(wish.command), wrapper.files(placement)
    else:
        whole = mpirun.whole_cores(plans)
        name, form = "rankfile", _with_rankfile(plans)
        files = {"rankfile": rankfile(placement, "core" if whole else "thread")}
    # Without it 5.x looks CPU numbers up on the first node for all nodes that have as many objects.
    differ = () if mpirun.alike(plans) else ("--hetero-nodes",)
    options, hostfile = mpirun.hosts(placement)
    report = ("--display", "bind") if wish.report else ()
    passed = tuple(mpirun.variables(wish, placement, name))
    argv = ("mpirun", *differ, "-np", str(placement.size), *options, *_spelled(form, version), *report, *passed, *command)
    unknown = () if wish.version else ("version not known: written for all of Open MPI 5.0",)
    notes = (*unknown, *mpirun.notes(placement, name))
    return Launch(NAME, wish.version, name, argv, files={**files, **hostfile}, avoided=tuple(avoided), notes=notes)


def _with_rankfile(plans: list[NodePlan]) -> tuple[str, ...]:
    whole = mpirun.whole_cores(plans)
    shared = ":overload-allowed" if mpirun.overlapping(plans) else ""
    source = "rankfile:file=rankfile" + ("" if whole else ":hwtcpus")
    return "--map-by", source, "--bind-to", ("core" if whole else "hwthread") + shared


def _spelled(options: tuple[str, ...], version: Release) -> tuple[str, ...]:
    """Return options as a version spells them: the development branch wants --mapby and --bindto."""
    if version != MAIN:
        return options
    return tuple({"--map-by": "--mapby", "--bind-to": "--bindto"}.get(word, word) for word in options)


def _listed(placement: Placement, plans: list[NodePlan], wish: LaunchRequest) -> Form | None:
    """Return the list of cores that is the plan on every host, where each rank has one core and they are few."""
    if wish.exact or mpirun.wants_wrapper(placement, wish) or not mpirun.alike(plans) or not mpirun.whole_cores(plans):
        return None
    if mpirun.outside(plans):  # 5.0 takes the cores of a list that are in no socket for a rank across sockets, and ends
        return None
    longest_plan = max(plans, key=lambda plan: len(plan.slots))
    known = logical_numbering(longest_plan.topology)
    numbers = [known.core_numbers(slot.cpus) for slot in longest_plan.slots]
    if len(numbers) > _MOST_LISTED or any(len(number) != 1 for number in numbers) or mpirun.overlapping(plans):
        return None
    form = Form(f"pe-list={','.join(map(str, numbers))}:ordered")
    return form if fits(form, placement) else None


def _no_rankfile(placement: Placement, plans: list[NodePlan], wish: LaunchRequest, version: Release) -> Avoided | None:
    """Return why no rankfile is written; None where one is."""
    whole = mpirun.whole_cores(plans)
    if why := mpirun.wants_wrapper(placement, wish):
        return Avoided("rankfile", why)
    if not whole and (broken := mpirun.fault(FAULTS, "hwthreads", version)):
        return Avoided("rankfile of hardware threads", broken.reason)
    length = longest(placement, "core" if whole else "thread", with_host=False)
    if length > _LONGEST:
        return Avoided("rankfile", f"a slot list has {length} characters, and 5.x drops what is beyond {_LONGEST}, silently")
    return None
