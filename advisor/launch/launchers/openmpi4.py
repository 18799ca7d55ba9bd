"""Open MPI 4 (and 3): mpirun of ORTE."""

from dataclasses import replace

from advisor.errors import BadValue
from advisor.launch import mpirun
from advisor.launch.launcher import Avoided, Launch, LaunchRequest, Lines, late
from advisor.launch.launchers import openmpi5, wrapper
from advisor.launch.launchers.openmpi5 import RANKS, UNBOUND, VARIABLES, VERSIONS, unbound
from advisor.launch.mpirun import Fault, Release
from advisor.launch.rankfile import Count, longest, rankfile
from advisor.model.cpuset import CpuSet
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.placement import NodePlan, Placement

__all__ = [
    "ALIASES",
    "FAULTS",
    "JOB",
    "LINES",
    "NAME",
    "ORDER",
    "RANKS",
    "TITLE",
    "UNBOUND",
    "VARIABLES",
    "VERSIONS",
    "launch",
    "unbound",
]

NAME = "openmpi4"
ALIASES = ("openmpi-4", "ompi4")
TITLE = "Open MPI 4"
ORDER = 10
LINES = replace(
    openmpi5.LINES,
    claim=lambda _words, _tools: 0,  # what speaks for 4 is looked at when it is Open MPI's
    settle=late("openmpi.repeated:settled4"),
)
JOB = openmpi5.JOB

FAULTS = (
    Fault(
        "ppr with PE", (3, 1, 3), (4, 0, 99), "3.1.3 to 4.0 refuse PE in it: 'An invalid value was given' (open-mpi/ompi#6236)"
    ),
    Fault("rankfile", (4, 0, 0), (4, 0, 0), "4.0.0 ends with 'Data unpack would read past end of buffer' (open-mpi/ompi#5965)"),
)

_SUPPOSED: Release = (4, 1, 4)
"""What is written where the version is not known."""

_LONGEST = 63 - 6
"""Characters of host name and slot list together: above, 4.1 writes past a buffer of 64 (rmaps_rank_file.c)."""


def launch(placement: Placement, wish: LaunchRequest) -> Launch:
    """Return the line for Open MPI 4: a short form where that is the plan, else a rankfile, else the wrapper."""
    version = mpirun.release(wish.version) if wish.version else _SUPPOSED
    if version >= (5, 0, 0):
        raise BadValue(f"Open MPI {wish.version} is started in another way", cure="ask for the launcher openmpi5")
    plans = mpirun.used(placement)
    no_pe = mpirun.fault(FAULTS, "ppr with PE", version)
    short, avoided = mpirun.short_form(
        placement, wish, "socket", lambda form: no_pe.reason if no_pe and ":PE=" in form.map_by else None
    )
    files: dict[str, Lines] = {}
    command = wish.command
    form: tuple[str, ...]
    if short:
        name, form = short.name, ("--map-by", short.map_by, "--bind-to", short.bind_to)
    elif device := _near(placement, plans, wish):
        name = "dist"
        form = ("--map-by", "dist:span", "--mca", "rmaps_dist_device", device, "--bind-to", "core")
    elif why := _no_rankfile(placement, wish, version):
        avoided.append(why)
        name, form = "wrapper", ("--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none")
        command, files = wrapper.wrapped(wish.command), wrapper.files(placement)
    else:
        name, form = "rankfile", ("--rankfile", "rankfile", *_numbers(plans))
        files = {"rankfile": rankfile(placement, _count(plans))}
    options, hostfile = mpirun.hosts(placement)
    report = ("--report-bindings",) if wish.report else ()
    passed = tuple(mpirun.variables(wish, placement, name))
    argv = ("mpirun", "-np", str(placement.size), *options, *form, *report, *passed, *command)
    unknown = () if wish.version else ("version not known: written for Open MPI 4.1",)
    notes = (*unknown, *mpirun.notes(placement, name))
    return Launch(NAME, wish.version, name, argv, files={**files, **hostfile}, avoided=tuple(avoided), notes=notes)


def _count(plans: list[NodePlan]) -> Count:
    """Return what the rankfile's numbers are.

    Logical ones, but for hosts that differ: 4.x takes the topology of the first that answers for all hosts with as many
    objects, so that logical numbers would be looked up on the wrong one.
    """
    if mpirun.alike(plans):
        return "core" if mpirun.whole_cores(plans) else "thread"
    return "os core" if mpirun.whole_cores(plans) else "os"


def _numbers(plans: list[NodePlan]) -> tuple[str, ...]:
    """Return the options that go with what the rankfile's numbers are."""
    whole = mpirun.whole_cores(plans)
    threads = () if whole else ("--use-hwthread-cpus",)
    physical = () if mpirun.alike(plans) else ("--mca", "rmaps_rank_file_physical", "1")
    return (*threads, *physical, "--bind-to", "core" if whole else "hwthread")


def _no_rankfile(placement: Placement, wish: LaunchRequest, version: Release) -> Avoided | None:
    """Return why no rankfile is written; None where one is."""
    if why := mpirun.wants_wrapper(placement, wish):
        return Avoided("rankfile", why)
    if broken := mpirun.fault(FAULTS, "rankfile", version):
        return Avoided("rankfile", broken.reason)
    length = longest(placement, _count(mpirun.used(placement)), with_host=True)
    if length > _LONGEST:
        problem = f"a host name and its slot list have {length} characters, and 4.x writes past its buffer above {_LONGEST}"
        return Avoided("rankfile", problem)
    return None


def _near(placement: Placement, plans: list[NodePlan], wish: LaunchRequest) -> str | None:
    """Return the adapter whose own cores, from the first, are the plan on every host: what ``dist`` gives."""
    devices = {slot.hca if slot.distance == 10 else None for plan in plans for slot in plan.slots}
    if wish.exact or mpirun.wants_wrapper(placement, wish) or len(devices) != 1 or not mpirun.whole_cores(plans):
        return None
    device = devices.pop()
    return device.partition(":")[0] if device and all(_from_the_first(plan) for plan in plans) else None


def _from_the_first(plan: NodePlan) -> bool:
    """Whether a plan's slots are the first cores of one NUMA node, one each, in order."""
    known = logical_numbering(plan.topology)
    home = next((node.cpuset for node in plan.topology.inside.cpu_nodes if plan.slots[0].cpus <= node.cpuset), CpuSet())
    numbers = list(known.core_numbers(home))[: len(plan.slots)]
    return [known.cores[number] for number in numbers] == [slot.cpus for slot in plan.slots]
