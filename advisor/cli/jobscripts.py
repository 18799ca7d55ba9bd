"""The folder of a job: a script with the line, its files, job scripts from templates, and the plan for advisor verify."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from advisor.cli.formats import found_templates, template_text
from advisor.cli.writing import File, checked, write_folder
from advisor.launch.base import Launch
from advisor.model.placement import Placement
from advisor.render.binding.ranks import plan_lines
from advisor.render.commandline import HERE, BenchmarkStep, benchmark_script, launch_script
from advisor.render.jinja import fill

if TYPE_CHECKING:
    from advisor.cli.binding import Binding
    from advisor.render.binding.page import BoundJob

FOLDER: Final = "job"
SCRIPT: Final = "launch.sh"
BENCHMARK: Final = "benchmark.sh"
PLAN: Final = "plan.json"
NODES: Final = "nodes"

_MOST_NAMED: Final = 64
"""Hosts that a job script names itself."""


def write_job(folder: Path, made: "Binding", told: "BoundJob", command: list[str]) -> "BoundJob":
    """Write everything that a job needs into a folder; return what is told then: the line with the files' paths."""
    place = checked(folder)
    launch = located(made.launch, HERE, command)
    about = f"{made.placement.size} ranks, {made.placement.strategy}: written by advisor bind"
    files = {SCRIPT: File(launch_script(launch.argv, launch.environment, about), program=True)}
    files |= {name: File(_named(lines(), place)) for name, lines in made.launch.files.items()}
    values = script_values(made, place, command)
    for name, template in job_templates().items():
        if made.launch.launcher == "srun" and name == "pbs":
            continue  # srun starts nothing in a job of PBS
        text = fill(template, values, f"{FOLDER}/{name}.j2")
        files[f"job.{name}"] = File(text.splitlines(), program=True)
    if len(values["hosts"]) > _MOST_NAMED:
        files[NODES] = File(values["hosts"])
    files[PLAN] = File(plan_lines(made.placement))
    written = write_folder(place, files)
    shown = located(made.launch, str(place), command)
    return replace(told, argv=shown.argv, variables=shown.environment, written=written)


def write_benchmark(folder: Path, steps: list[BenchmarkStep]) -> tuple[list[BenchmarkStep], tuple[str, ...]]:
    """Write a benchmark's script and files; return its lines with the files' paths, and what was written."""
    place = checked(folder)
    here, there = ([_placed(step, where) for step in steps] for where in (HERE, str(place)))
    files = {BENCHMARK: File(benchmark_script(here), program=True)}
    files |= {name: File(lines()) for step in steps for name, lines in step.files.items()}
    return there, write_folder(place, files)


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
    """Return a word with the file that it is, or that ``file=`` in it names, in the folder."""
    if word in files:
        return f"{folder}/{word}"
    match = re.search(r"(?:^|:)file=([^:=]+)", word)
    return f"{word[: match.start(1)]}{folder}/{word[match.start(1) :]}" if match and match[1] in files else word


def _named(lines: Iterator[str], place: Path) -> Iterator[str]:
    """Yield a file's lines; those of Intel MPI's -configfile name the host file."""
    for line in lines:
        yield line.replace("-machinefile hostfile ", f"-machinefile {place}/hostfile ", 1) if line[:1] == "-" else line


def job_templates() -> dict[str, str]:
    """Return the templates of job scripts by name; a site's own come before ours."""
    return {name: template_text(path) for name, path in found_templates(FOLDER).items()}


def script_values(made: "Binding", place: Path, command: list[str]) -> dict[str, Any]:
    """Return what a template of a job script may use."""
    placement, hosts = made.placement, made.crew.hosts
    runs = list(_runs(placement))
    named = [] if hosts.placeholder else [host.name for host in placement.hosts if host.name]
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
        "runs": runs,
        "chunk": [run for run in runs for _ in range(run["nodes"])][:_MOST_NAMED],
        "launcher": made.launch.launcher,
        "strategy": placement.strategy,
    }


def _runs(placement: Placement) -> Iterator[dict[str, int]]:
    """Yield hosts in a row that are alike: how many, their ranks, their CPUs."""
    used = [host for host in placement.hosts if host.ranks]
    for (plan, ranks), hosts in groupby(used, key=lambda host: (host.plan, host.ranks)):
        pus = len(placement.plans[plan].topology.pus)
        yield {"nodes": sum(1 for _ in hosts), "ranks": ranks, "cpus": pus}
