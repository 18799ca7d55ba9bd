"""Places a job and gives the launcher's line: options become a JobShape, machines, a Placement, a Launch."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from pydantic import ValidationError

from advisor.errors import BadValue, did_you_mean
from advisor.launch import wrapper
from advisor.launch.environment import Settings, settings
from advisor.launch.launcher import Choice, Launch, LaunchRequest, choose
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.numbering import logical_numbering
from advisor.model.measurement_statistics import measured_for_placement
from advisor.model.placement import STRATEGIES, JobShape, Measured, Placement
from advisor.place.place import place
from advisor.place.strategies import WAYS, sentence
from advisor.render.binding.page import BoundJob
from advisor.work.bios import measurements_from, must_be_one_of
from advisor.work.job.allocation import Allocated
from advisor.work.job.hosts import HostOptions as HostOptions  # noqa: PLC0414 - exported: what bind() takes
from advisor.work.job.hosts import JobHosts, host_notes, hosts_of_job, machines_of

_SLICE = re.compile(r"(\d{1,4})/(\d{1,4})", re.ASCII)
_DASHES = re.compile("[\u2010-\u2015\u2212]")

PARTS = ("numa", "l3", "socket", "core", "node")


@dataclass(frozen=True)
class JobOptions:
    """The shape of the job: the options that say it; None where they do not."""

    ranks: int | None = None
    ranks_per_node: int | None = None
    ranks_per: tuple[str, int] | None = None
    threads: int | None = None
    strategy: str = "auto"
    near: str | None = None
    smt: str = "skip"
    reserve: int = 0
    part: str | None = None


@dataclass(frozen=True)
class LauncherOptions:
    """What starts the job: the options that say it."""

    launcher: str | None = None
    version: str | None = None
    exact: bool = False
    wrap: bool = False
    report: bool = False


@dataclass(frozen=True)
class Binding:
    """A job that is placed and launched."""

    crew: JobHosts
    placement: Placement
    settings: Settings
    choice: Choice
    launch: Launch
    notes: tuple[str, ...]

    def told(self) -> BoundJob:
        """Return what there is to say of it."""
        made = self.launch
        return BoundJob(
            placement=self.placement,
            machines=machines_of(self.placement, self.crew),
            argv=made.argv,
            variables=made.environment,
            files=made.files,
            launcher=made.launcher,
            version=made.version,
            form=made.form,
            chosen=self.choice.why,
            strategies=strategies(),
            notes=self.notes,
            avoided=tuple((each.form, each.reason) for each in made.avoided),
        )


def bind(
    there: HostOptions, wanted: JobOptions, carrier: LauncherOptions, command: Sequence[str], environment: Mapping[str, str]
) -> Binding:
    """Return a job as it is placed and launched; each impossible wish is refused in one line."""
    if not command:
        raise BadValue("no command to start", cure="put it last, after --: advisor bind --ranks 4 -- ./app")
    crew = hosts_of_job(there, command, environment)
    notes: list[str] = [*host_notes(crew.hosts)]
    placement = place(shape(wanted, crew, notes), crew.machines, _measured(there, crew), allowed=crew.affinity)
    return carried(crew, placement, carrier, tuple(command), notes)


def _measured(there: HostOptions, crew: JobHosts) -> Measured | None:
    """Return what was measured that bears on placement; None where no measurements are given."""
    machine = crew.machines[0]
    found = measurements_from(there.measurements, machine)
    return measured_for_placement(found, len(machine.topology.l3) if machine.topology else None) if found else None


def carried(
    crew: JobHosts, placement: Placement, carrier: LauncherOptions, command: tuple[str, ...], notes: Sequence[str] = ()
) -> Binding:
    """Return a placement as a launcher carries it out."""
    hosts = crew.hosts
    needs = settings(placement, crew.machines)
    choice = choose(crew.machines[0].tools, carrier.launcher, carrier.version, hosts.scheduler)
    wish = LaunchRequest(
        command=command,
        version=choice.version,
        exact=carrier.exact,
        report=carrier.report,
        scheduler=hosts.scheduler_of(choice.launcher.NAME),
        environment=needs.variables,
        wrap=carrier.wrap,
    )
    launch, failed = launch_or_wrap(choice, needs.placement, wish)
    said = [*failed, *launch.notes, *_counted(launch, placement), *_of_command(command)]
    every = (*placement.notes, *notes, *needs.notes, *said)
    return Binding(crew, placement, needs, choice, launch, tuple(dict.fromkeys(every)))


def launch_or_wrap(choice: Choice, placement: Placement, wish: LaunchRequest) -> tuple[Launch, tuple[str, ...]]:
    """Return the launch; where the launcher cannot bind as planned, with the wrapper, and a note that says so."""
    try:
        return choice.launcher.launch(placement, wish), ()
    except BadValue as error:
        if wish.wrap:
            raise
        try:
            made = choice.launcher.launch(placement, replace(wish, wrap=True))
        except BadValue:
            raise error from None
        return made, (f"{choice.launcher.NAME} cannot bind this itself, so {wrapper.FILE} does: {error}",)


def shape(wanted: JobOptions, crew: JobHosts, notes: list[str]) -> JobShape:
    """Return the job that options ask for; what they leave open, the scheduler says."""
    hosts = crew.hosts
    ways = [name for name in ("ranks", "ranks_per_node", "ranks_per") if getattr(wanted, name) is not None]
    if len(ways) > 1:
        one, other = (name.replace("_", "-") for name in ways[:2])
        raise BadValue(f"--{one} and --{other} both give the number of ranks", cure="give one of the two")
    per, count = wanted.ranks_per or (None, 1)
    must_be_one_of("strategy", wanted.strategy, ("auto", *STRATEGIES), f"there are auto, {', '.join(STRATEGIES)}")
    twice = [name for name, count in Counter(hosts.names).items() if count > 1]
    if twice:
        raise BadValue(f"the host {twice[0]} occurs twice", cure="name each once; --ranks-per-node says how many ranks it gets")
    values = {
        "ranks": wanted.ranks if ways else hosts.ranks,
        "ranks_per_node": wanted.ranks_per_node if ways else hosts.ranks_per_node,
        "per": per,
        "per_count": count,
        "threads": wanted.threads or _threads(hosts, crew.machines[0], wanted.smt, notes),
        "strategy": wanted.strategy,
        "near": wanted.near,
        "smt": wanted.smt,
        "reserve": wanted.reserve,
        "slice": _slice(wanted.part),
        "hosts": hosts.names,
    }
    try:
        return JobShape.model_validate(values)
    except ValidationError as error:
        raise _refused(error) from error


def per_part(text: str | None) -> tuple[str, int] | None:
    """Return the part of a node and how many ranks it gets: ``l3`` is one in each, ``l3:2`` two."""
    if text is None:
        return None
    part, colon, count = text.lower().partition(":")
    if part not in PARTS:
        cure = did_you_mean(part, PARTS, f"count ranks in {', '.join(PARTS)}, such as --ranks-per l3 2")
        raise BadValue(f"--ranks-per {text[:40]} is not a part of a node", cure=cure)
    if colon and not (count.isascii() and count.isdecimal() and len(count) < 8):
        raise BadValue(f"--ranks-per {text[:40]}: how many ranks in each {part}", cure=f"write --ranks-per {part} 2")
    return part, int(count or 1)


_OPTIONS = {"per_count": "ranks-per", "ranks_per_node": "ranks-per-node"}


def _refused(error: ValidationError) -> BadValue:
    """Return the first fault of a job's shape, by the option that has it."""
    first = error.errors(include_url=False, include_context=False)[0]
    if not first["loc"]:
        return BadValue(first["msg"].removeprefix("Value error, "))
    name, value = str(first["loc"][0]), ascii(first["input"])[:80]
    if first["type"] == "string_pattern_mismatch":
        return BadValue(f"--{name} {value} is not a name of a device", cure="write such as mlx5_0, gpu0 or 0000:61:00.0")
    said = first["msg"].replace("Input should be", "must be")
    return BadValue(f"--{_OPTIONS.get(name, name)} {value}: it {said}")


def _threads(hosts: Allocated, machine: Machine, smt: str, notes: list[str]) -> int:
    """Return the threads of a rank that the scheduler was asked for: Slurm counts hardware threads."""
    if hosts.cpus is None:
        if hosts.threads and hosts.threads > 1:
            notes.append(f"{hosts.threads} threads per rank: OMP_NUM_THREADS of the job")
        return hosts.threads or 1
    cores = machine.topology.cores if machine.topology else ()
    each = max((len(core.cpuset) for core in cores), default=1) if smt == "skip" else 1
    threads = max(1, hosts.cpus // each)
    if threads > 1:
        why = f", of which a core has {each}" if each > 1 else ""
        notes.append(f"{threads} threads per rank: SLURM_CPUS_PER_TASK is {hosts.cpus}{why}")
    return threads


def _slice(text: str | None) -> dict[str, int] | None:
    if text is None:
        return None
    match = _SLICE.fullmatch(text)
    if not match or not 1 <= int(match[1]) <= int(match[2]) <= 1024:
        raise BadValue(f"--slice {text[:40]} is not a part of a node", cure="write k/n, such as 1/4 for the first quarter")
    return {"part": int(match[1]), "of": int(match[2])}


def _counted(launch: Launch, placement: Placement) -> Iterator[str]:
    """Yield a note where the line's numbers are not the kernel's, as those of the drawing are."""
    plans = [plan.topology for plan in placement.plans]
    listed = launch.form == "pe-list" or (launch.form == "rankfile" and "rmaps_rank_file_physical" not in launch.argv)
    if listed and any(logical_numbering(topology).pus != tuple(topology.pus) for topology in plans):
        what = "pe-list" if launch.form == "pe-list" else "the rankfile"
        yield f"{what} counts cores in hwloc's order; the numbers below are the kernel's"


def _of_command(command: Sequence[str]) -> tuple[str, ...]:
    strange = next((each for each in command if _DASHES.match(each)), None)
    return (f"{strange} begins with a dash that is not ASCII: no program takes it for an option",) if strange else ()


@cache
def strategies() -> Mapping[str, str]:
    """Return what each strategy does."""
    return {name: sentence(name) for name in WAYS}
