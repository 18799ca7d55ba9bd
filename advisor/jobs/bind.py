"""Places a job and gives the launcher's line: options become a JobShape, a Placement, a Launch; explains a line that is there."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from advisor.errors import BadInput, BadValue
from advisor.jobs.bind_page import BoundJob, bind_document
from advisor.jobs.core_kinds import ranked_kinds
from advisor.jobs.environment import Settings, settings
from advisor.jobs.launcher import Choice, Launch, LaunchRequest, choose
from advisor.jobs.launchers import wrapper
from advisor.jobs.place import place
from advisor.jobs.place_cores import WAYS, sentence
from advisor.jobs.placement import Placement
from advisor.jobs.racing.result import with_learned
from advisor.jobs.slurm import ASSUMED, KEY, SlurmWords, bind_ignored, setup
from advisor.jobs.started.hosts import (
    HostOptions,
    JobHosts,
    JobOptions,
    LauncherOptions,
    host_notes,
    hosts_of_job,
    machines_of,
    shape,
)
from advisor.machine.cpuset import union
from advisor.machine.hosts.files import open_here
from advisor.machine.layout import logical_numbering
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.read import read_machine
from advisor.machine.secrecy import WITHHELD, screened_words
from advisor.measure.measurement import MeasuredForPlacement, measured_for_placement
from advisor.measure.task import measurements_from

if TYPE_CHECKING:
    from advisor.jobs.placement import Lint

_WISH = re.compile(r"(--cpu[-_]bind[= ]|SLURM_CPU_BIND=)(?!.*\bnone\b)")

_LARGEST = 64 << 20
"""Bytes of a rankfile or a host file that are read: a million ranks are fewer."""

_DASHES = re.compile("[\u2010-\u2015\u2212]")

_HAD_CREDENTIAL: Final = f"a credential on the line is {WITHHELD} here and in files: give it to the job in its environment"


@dataclass(frozen=True)
class Binding:
    """A job that is placed and launched."""

    command: tuple[str, ...]
    job_hosts: JobHosts
    placement: Placement
    settings: Settings
    choice: Choice
    launch: Launch
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the document of ``advisor bind --json``."""
        found: dict[str, Any] = json.loads("\n".join(bind_document(self.shown())))
        return found

    def shown(self) -> BoundJob:
        """Return what there is to show of it."""
        made = self.launch
        return BoundJob(
            placement=self.placement,
            machines=machines_of(self.placement, self.job_hosts),
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
    command: Sequence[str],
    job: JobOptions | None = None,
    hosts: HostOptions | None = None,
    launcher: LauncherOptions | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    observer: Observer = SILENT,
) -> Binding:
    """Return a job as it is placed and launched; each impossible wish is refused in one line.

    ``environment`` is that of the job, of which Slurm and PBS tell its hosts; None is this process's own.
    """
    if not command:
        raise BadValue("no command to start", cure="put it last, after --: advisor bind --ranks 4 -- ./app")
    command, given = screened_words(command), tuple(command)
    host_options = hosts or HostOptions()
    job_hosts = hosts_of_job(host_options, command, environment, observer)
    notes: list[str] = [*host_notes(job_hosts.hosts)]
    if command != given:
        notes.append(_HAD_CREDENTIAL)
    if host_options.learned is not None:
        job, said = with_learned(host_options.learned, command, job or JobOptions(), job_hosts.machines[0])
        notes.append(said)
    wanted, measured = shape(job or JobOptions(), job_hosts, notes), _measured(host_options, job_hosts)
    placement = place(wanted, job_hosts.machines, measured, allowed=job_hosts.affinity)
    if wanted.threads == 1 and (job is None or job.threads is None):
        notes += _whole_node(placement, job_hosts)
    return carried(job_hosts, placement, launcher or LauncherOptions(), tuple(command), notes)


def _whole_node(placement: Placement, job_hosts: JobHosts) -> Iterator[str]:
    """Yield how many threads per rank use the whole node, where --threads was left out and cores stay idle."""
    plan, job = max(placement.plans, key=lambda each: len(each.slots)), placement.job
    taken, every = union(slot.cpus for slot in plan.slots), [core.cpuset for core in plan.topology.inside.cores if core.cpuset]
    kinds = union(kind.cpus for kind in ranked_kinds(machines_of(placement, job_hosts)[0]) if kind.cpus & taken)
    cores = sum(1 for core in every if not kinds or core & kinds) - job.reserve
    threads = cores // len(plan.slots)
    if job.slice or job.reserve_per or threads < 2:
        return
    with suppress(BadValue):
        wider = place(job.model_copy(update={"threads": threads}), job_hosts.machines, allowed=job_hosts.affinity)
        used = sum(slot.cores for slot in max(wider.plans, key=lambda each: len(each.slots)).slots)
        own = "the whole node" if cores + job.reserve == len(every) else f"all {cores} cores of this kind"
        whole = f"use {own}" if used == cores else f"use {used} of its {cores} cores"
        yield f"one thread per rank, for --threads was left out: with --threads {threads} the ranks {whole}"


def _measured(host_options: HostOptions, job_hosts: JobHosts) -> MeasuredForPlacement | None:
    """Return what was measured that bears on placement; None where no measurements are given."""
    machine = job_hosts.machines[0]
    found = measurements_from(host_options.measurements, machine)
    return measured_for_placement(found, len(machine.topology.l3) if machine.topology else None) if found else None


def carried(
    job_hosts: JobHosts,
    placement: Placement,
    launcher_options: LauncherOptions,
    command: tuple[str, ...],
    notes: Sequence[str] = (),
) -> Binding:
    """Return a placement as a launcher carries it out."""
    hosts = job_hosts.hosts
    needs = settings(placement, job_hosts.machines)
    choice = choose(job_hosts.machines[0].tools, launcher_options.launcher, launcher_options.version, hosts.scheduler)
    wish = LaunchRequest(
        command=command,
        version=choice.version,
        exact=launcher_options.exact,
        report=launcher_options.report,
        scheduler=hosts.scheduler_of(choice.launcher.name),
        environment=needs.variables,
        wrap=launcher_options.wrap,
    )
    launch, failed = launch_or_wrap(choice, needs.placement, wish)
    said = [*failed, *launch.notes, *_counted(launch, placement), *_of_command(command), *_not_carried_out(launch, job_hosts)]
    every = (*placement.notes, *notes, *needs.notes, *said)
    return Binding(command, job_hosts, placement, needs, choice, launch, tuple(dict.fromkeys(every)))


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
        return made, (f"{choice.launcher.name} cannot bind this itself, so {wrapper.FILE} does: {error}",)


def _not_carried_out(launch: Launch, job_hosts: JobHosts) -> Iterator[str]:
    """Yield a note where Slurm's set-up, as the hosts' files say, does not bind what the line asks it to."""
    plugins = job_hosts.machines[0].slurm_conf and job_hosts.machines[0].slurm_conf.task_plugins
    if plugins is not None and "affinity" not in plugins and any(word.startswith("--cpu-bind=") for word in launch.argv):
        named = ",".join(f"task/{each}" for each in plugins) or "task/none"
        yield f"bind-ignored: TaskPlugin is {named}, and only task/affinity binds ranks; --wrapper binds them without it"


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


def lint_line(
    words: Sequence[str],
    machine: Machine | str | None = None,
    *,
    version: str | None = None,
    slurm_conf: Path | None = None,
    live: bool = False,
    observer: Observer = SILENT,
) -> "Lint":
    """Return what an existing launch line does on a machine and what goes wrong; nothing is started.

    ``machine`` may be what --from names, None for this machine; ``live`` says of a Machine that it is this one.
    """
    from advisor.jobs.lint import files_of, lint

    words, given = screened_words(words), tuple(words)
    if words != given:
        observer.say(_HAD_CREDENTIAL)
    names = files_of(words, version)
    live = live or machine is None
    read = machine if isinstance(machine, Machine) else read_machine(machine, observer)
    slurm = setup(slurm_conf, live=live)
    return _with_slurm(lint(words, read, version=version, files=_texts(names) | {KEY: slurm.text}), slurm)


def _with_slurm(found: "Lint", slurm: SlurmWords) -> "Lint":
    """Return what is said of a line of srun with what is assumed of Slurm, or what its set-up does not carry out."""
    if found.launcher != "srun":
        return found
    if not slurm.source:
        return found.model_copy(update={"assumed": (ASSUMED,)})
    wish = next((each.text for each in found.options if _WISH.match(each.text)), None)
    if wish is None or "affinity" in slurm.plugins:
        return found
    return found.model_copy(update={"warnings": (bind_ignored(wish, slurm), *found.warnings)})


def _texts(names: Sequence[str]) -> dict[str, str]:
    """Return the files that a line names, those that are there and are plain texts."""
    found: dict[str, str] = {}
    for name in names:
        path = Path(name)
        try:
            if not path.is_file():
                continue
            with open_here(path) as file:
                data = file.read(_LARGEST + 1)
        except (OSError, ValueError):
            continue
        if len(data) > _LARGEST:
            raise BadInput(f"more than {_LARGEST >> 20} MiB", file=name, cure="refused as unsafe")
        found[name] = data.decode(errors="replace")
    return found
