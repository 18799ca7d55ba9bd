"""The folder of a job as it is written: the line, its files, job scripts from templates, the plan for advisor verify."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from advisor.errors import BadValue, CannotWork
from advisor.jobs.bind_page import plan_lines
from advisor.jobs.launcher import JOB_SCRIPTS, USUAL_SCRIPTS, Launch, launchers
from advisor.jobs.placement import Placement
from advisor.jobs.started.hosts import fold
from advisor.machine.hosts.files import PendingFile, begin_file
from advisor.machine.jinja import fill, template_files, template_text
from advisor.machine.secrecy import without_secrets
from advisor.paths import templates
from advisor.show.commandline import HERE, BenchmarkStep, benchmark_script, launch_script

if TYPE_CHECKING:
    from advisor.jobs.bind import Binding
    from advisor.jobs.bind_page import BoundJob
    from advisor.jobs.started.benchmark import Lines


_AT_ONCE = 1 << 14
"""Lines that are written together."""


@dataclass(frozen=True)
class File:
    """The lines of a file, without line ends, and whether it is a program."""

    lines: Iterable[str]
    program: bool = False


def checked(folder: Path) -> Path:
    """Return the whole path of a folder to write into; refuse one that launchers would misread."""
    place = folder.absolute()
    if any(letter in str(place) for letter in ":,") or not str(place).isprintable():
        problem = f"{place}: mpirun interprets ':' and ',' in file names"
        raise BadValue(problem, cure="name another folder")
    return place


def write_folder(folder: Path, files: Mapping[str, File]) -> tuple[str, ...]:
    """Write files into a folder, which is made where it is not there; return their paths."""
    made: list[PendingFile] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, file in files.items():
            made.append(begin_file(folder / name, program=file.program))
            _fill(made[-1].file, file.lines)
        for each in made:
            each.finish()
    except OSError as error:
        problem = (error.strerror or "cannot be written").lower()
        raise CannotWork(f"{folder}: {problem}; give another folder to write to") from error
    finally:
        for each in made:
            each.close()
    return tuple(str(folder / name) for name in files)


def _fill(file: BinaryIO, lines: Iterable[str]) -> None:
    each = iter(lines)
    while some := list(islice(each, _AT_ONCE)):
        file.write((without_secrets("\n".join(some)) + "\n").encode("utf-8", "surrogateescape"))


FOLDER = "job"
SCRIPT = "launch.sh"
BENCHMARK = "benchmark.sh"
PLAN = "plan.json"
NODES = "nodes"

_MOST_NAMED = 64
"""Hosts that a job script names itself."""


def write_job(folder: Path, made: "Binding") -> "BoundJob":
    """Write everything that a job needs into a folder; return what to report then: the line with the files' paths."""
    command = list(made.command)
    place = checked(folder)
    launch = located(made.launch, HERE, command)
    about = f"{made.placement.size} ranks, {made.placement.strategy}: written by advisor bind"
    files = {SCRIPT: File(launch_script(launch.argv, launch.environment, about), program=True)}
    files |= {name: File(_named(lines(), place)) for name, lines in made.launch.files.items()}
    values = script_values(made, place, command)
    for name, template in _wanted_templates(made).items():
        text = fill(template, values, f"{FOLDER}/{name}.j2")
        files[f"job.{name}"] = File(text.splitlines(), program=True)
    if len(values["hosts"]) > _MOST_NAMED:
        files[NODES] = File(values["hosts"])
    sets = made.job_hosts.hosts.placeholder is None  # a job script puts the job's own names in the places of others
    files[PLAN] = File(plan_lines(fold(made.placement, sets=sets)))
    written = write_folder(place, files)
    shown = located(made.launch, str(place), command)
    return replace(made.shown(), argv=shown.argv, variables=shown.environment, written=written)


def write_benchmark(folder: Path, lines: "Lines") -> "Lines":
    """Write a benchmark's script and files; return its lines with the files' paths, and a note on what was written."""
    place = checked(folder)
    here, there = (tuple(_placed(step, where) for step in lines.steps) for where in (HERE, str(place)))
    files = {BENCHMARK: File(benchmark_script(here), program=True)}
    files |= {name: File(each()) for step in lines.steps for name, each in step.files.items()}
    return lines._replace(steps=there, notes=(*lines.notes, f"written: {', '.join(write_folder(place, files))}"))


def _placed(step: BenchmarkStep, folder: str) -> BenchmarkStep:
    argv = tuple(_in_folder(word, step.files, folder) for word in step.argv)
    variables = {name: _in_folder(value, step.files, folder) for name, value in step.variables.items()}
    return replace(step, argv=argv, variables=variables)


def located(launch: Launch, folder: str, command: list[str]) -> Launch:
    """Return a launch whose line and variables name its files in a folder; the command's own words are left alone."""
    own = len(command) if tuple(launch.argv[-len(command) :]) == tuple(command) else 0
    size = len(launch.argv) - own
    head = tuple(_in_folder(word, launch.files, folder) for word in launch.argv[:size])
    variables = {name: _in_folder(value, launch.files, folder) for name, value in launch.environment.items()}
    return replace(launch, argv=(*head, *launch.argv[size:]), environment=variables)


def _in_folder(word: str, files: Mapping[str, object], folder: str) -> str:
    """Return a word with the file that it is, or that ``file=`` or ``hostfile:`` in it names, in the folder."""
    if word in files:
        return f"{folder}/{word}"
    match = re.search(r"(?:(?:^|:)file=|^hostfile:)([^:=]+)", word)
    return f"{word[: match.start(1)]}{folder}/{word[match.start(1) :]}" if match and match[1] in files else word


def _named(lines: Iterator[str], place: Path) -> Iterator[str]:
    """Yield a file's lines; those of Intel MPI's -configfile name the host file."""
    for line in lines:
        yield line.replace("-machinefile hostfile ", f"-machinefile {place}/hostfile ", 1) if line[:1] == "-" else line


def job_templates() -> dict[str, str]:
    """Return the templates of job scripts by name; a site's own come before ours."""
    return {name: template_text(path) for name, path in template_files(FOLDER).items()}


def _wanted_templates(made: "Binding") -> dict[str, str]:
    """Return the job scripts' templates whose scheduler starts the launcher's ranks, and a site's own of other names.

    A launcher that runs under all has the usual ones; on machines with Slurm's files ours of other schedulers are left out.
    """
    own, files = launchers()[made.launch.launcher].job.schedulers, template_files(FOLDER)
    wanted = {name for name in files if name not in JOB_SCRIPTS or name in (USUAL_SCRIPTS if own is None else own)}
    if own is None and any(each.slurm_conf or each.slurm_nodes for each in made.job_hosts.machines):
        ours = {name for name, path in files.items() if name in JOB_SCRIPTS and path.is_relative_to(templates())}
        wanted -= ours - {"slurm"}
    return {name: text for name, text in job_templates().items() if name in wanted}


def script_values(made: "Binding", place: Path, command: list[str]) -> dict[str, Any]:
    """Return what a template of a job script may use."""
    placement, hosts = made.placement, made.job_hosts.hosts
    runs = [{**run, "gpus": run["gpus"] and max(run["gpus"], made.settings.gpus)} for run in _runs(placement)]
    job = launchers()[made.launch.launcher].job
    named = [] if hosts.placeholder else [host.name for host in placement.hosts if host.name]
    # Ranks choose among all GPUs of a host by number: with fewer the numbers would mean others.
    return {
        "name": re.sub(r"[^A-Za-z0-9._-]", "_", Path(command[0]).name)[:60] or "job",
        "folder": str(place),
        "script": SCRIPT,
        "files": [SCRIPT, *made.launch.files, PLAN],
        "hosts": named,
        "listed": named if len(named) <= _MOST_NAMED else [],
        "nodefile": f"{place}/{NODES}" if len(named) > _MOST_NAMED else None,
        "placeholder": hosts.placeholder,
        "nodes": sum(1 for host in placement.hosts if host.ranks),
        "ranks": placement.size,
        "ranks_per_node": runs[0]["ranks"] if len(runs) == 1 else None,
        "threads": placement.job.threads,
        "cores": max((slot.cores for plan in placement.plans for slot in plan.slots), default=1),
        "runs": runs,
        "gpus": max(run["gpus"] for run in runs),
        "chunk": [run for run in runs for _ in range(run["nodes"])][:_MOST_NAMED],
        "launcher": made.launch.launcher,
        "before": {name: job.lines.get(name, ()) for name in JOB_SCRIPTS},
        "strategy": placement.strategy,
    }


def _runs(placement: Placement) -> Iterator[dict[str, int]]:
    """Yield hosts in a row that are alike: how many, their ranks, their CPUs, their GPUs in use, and all their cores."""
    used = [host for host in placement.hosts if host.ranks]
    for (plan, ranks), hosts in groupby(used, key=lambda host: (host.plan, host.ranks)):
        pus = len(placement.plans[plan].topology.pus)
        gpus = {slot.gpu.partition("-mig")[0] for slot in placement.plans[plan].slots[:ranks] if slot.gpu}
        nodes, cores = sum(1 for _ in hosts), len(placement.plans[plan].topology.cores) or pus
        yield {"nodes": nodes, "ranks": ranks, "cpus": pus, "gpus": len(gpus), "slots": nodes * cores}
