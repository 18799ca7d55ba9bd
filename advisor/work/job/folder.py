"""The folder of a job, written and read back: the line, its files, job scripts from templates, the plan for advisor verify."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from pydantic import ValidationError

from advisor.errors import AdvisorError, BadInput, BadValue, CannotWork, in_words
from advisor.host.files import PendingFile, begin_file, open_here
from advisor.host.source import LARGEST_DOCUMENT, read_json
from advisor.launch.launcher import JOB_SCRIPTS, USUAL_SCRIPTS, Launch
from advisor.launch.registry import launchers
from advisor.model.cpuset import CpuSet, bounded_sets
from advisor.model.hardware.topology import Topology
from advisor.model.observed_binding import PlannedBinding, PlannedRank
from advisor.model.placement import Placement
from advisor.paths import template_files, template_text
from advisor.render.binding.ranks import plan_lines
from advisor.render.commandline import HERE, BenchmarkStep, benchmark_script, launch_script
from advisor.render.jinja import fill

if TYPE_CHECKING:
    from advisor.render.binding.page import BoundJob
    from advisor.work.bind import Binding
    from advisor.work.job.benchmark import Lines


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
        problem = f"{place}: mpirun takes : and , in a file's name for its own"
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
        raise CannotWork(f"{folder}: {problem}; name another folder to write into") from error
    finally:
        for each in made:
            each.close()
    return tuple(str(folder / name) for name in files)


def _fill(file: BinaryIO, lines: Iterable[str]) -> None:
    each = iter(lines)
    while some := list(islice(each, _AT_ONCE)):
        file.write(("\n".join(some) + "\n").encode("utf-8", "surrogateescape"))


FOLDER: Final = "job"
SCRIPT: Final = "launch.sh"
BENCHMARK: Final = "benchmark.sh"
PLAN: Final = "plan.json"
NODES: Final = "nodes"

_MOST_NAMED: Final = 64
"""Hosts that a job script names itself."""


def write_job(folder: Path, made: "Binding") -> "BoundJob":
    """Write everything that a job needs into a folder; return what to report then: the line with the files' paths."""
    command = list(made.command)
    place = checked(folder)
    launch = located(made.launch, HERE, command)
    about = f"{made.placement.size} ranks, {made.placement.strategy}: written by advisor bind"
    files = {SCRIPT: File(launch_script(launch.argv, launch.environment, about), program=True)}
    files |= {name: File(_named(lines(), place)) for name, lines in made.launch.files.items()}
    values, job = script_values(made, place, command), launchers()[made.launch.launcher].JOB
    for name, template in job_templates().items():
        if name in JOB_SCRIPTS and name not in (job.schedulers or USUAL_SCRIPTS):
            continue  # it starts nothing there, as srun in a job of PBS
        text = fill(template, values, f"{FOLDER}/{name}.j2")
        files[f"job.{name}"] = File(text.splitlines(), program=True)
    if len(values["hosts"]) > _MOST_NAMED:
        files[NODES] = File(values["hosts"])
    files[PLAN] = File(plan_lines(made.placement))
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


def script_values(made: "Binding", place: Path, command: list[str]) -> dict[str, Any]:
    """Return what a template of a job script may use."""
    placement, hosts = made.placement, made.job_hosts.hosts
    runs = list(_runs(placement))
    job = launchers()[made.launch.launcher].JOB
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
        "cores": max((slot.cores for plan in placement.plans for slot in plan.slots), default=1),
        "runs": runs,
        "chunk": [run for run in runs for _ in range(run["nodes"])][:_MOST_NAMED],
        "launcher": made.launch.launcher,
        "before": {name: job.lines.get(name, ()) for name in JOB_SCRIPTS},
        "strategy": placement.strategy,
    }


def _runs(placement: Placement) -> Iterator[dict[str, int]]:
    """Yield hosts in a row that are alike: how many, their ranks, their CPUs."""
    used = [host for host in placement.hosts if host.ranks]
    for (plan, ranks), hosts in groupby(used, key=lambda host: (host.plan, host.ranks)):
        pus = len(placement.plans[plan].topology.pus)
        yield {"nodes": sum(1 for _ in hosts), "ranks": ranks, "cpus": pus}


SCHEMA = "advisor-plan/"
_ROOM = 800 << 20
"""Bytes that the values of a plan may announce: about 500,000 ranks, as the largest systems have, which take half of it."""
_PARTS = 100_000
"""Objects that are no ranks: those of a topology."""
_CURE = "write it with advisor bind -o DIR"
_KEYS = ("rank", "host", "local", "cpus", "memory", "nodes")


def read_bytes(name: str, what: str) -> bytes:
    """Return what a file holds, or standard input for ``-``; never more than any plan has."""
    try:
        if name == "-":
            data = sys.stdin.buffer.read(LARGEST_DOCUMENT + 1)
        else:
            with open_here(name) as file:
                data = file.read(LARGEST_DOCUMENT + 1) or b""
    except OSError as error:
        cure = _CURE if what == "plan" else None
        raise BadInput((error.strerror or "cannot be read").lower(), file=name, cure=cure) from error
    if len(data) > LARGEST_DOCUMENT:
        raise BadInput(f"larger than any {what}", file=name, cure="refused as unsafe")
    return data


def plan_in(name: str) -> PlannedBinding:
    """Return the plan that a file holds: its ``ranks``, and its ``topology`` where it has one."""
    reader = _Ranks()
    try:
        with bounded_sets():
            return _plan(read_json(read_bytes(name, "plan"), _CURE, room=_ROOM, hook=reader.read))
    except BadInput as error:
        raise error.within(name) from error


class _Ranks:
    """Turns each rank of a document into its value as soon as it is read: half a million are never held as texts."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        self._count = self._others = 0

    def read(self, each: dict[str, Any]) -> Any:
        """Return a rank, or any other object as it is."""
        if "rank" not in each or "cpus" not in each:
            self._others += 1
            if self._others > _PARTS:
                raise BadInput(f"more than {_PARTS} objects that are no ranks", cure="refused as unsafe")
            return each
        place = f"ranks[{self._count}]"
        self._count += 1
        if isinstance(each.get("host"), str):
            each["host"] = self._words.setdefault(each["host"], each["host"])
        return _planned(each, place)


def _plan(data: Any) -> PlannedBinding:
    if not isinstance(data, dict):
        raise BadInput("not a plan: no JSON object", cure=_CURE)
    schema, ranks = data.get("schema"), data.get("ranks")
    if isinstance(schema, str) and schema.startswith(SCHEMA) and schema != f"{SCHEMA}1":
        raise BadInput(f"its schema is {schema[:40]}, this advisor reads {SCHEMA}1", cure="update advisor")
    if not isinstance(ranks, list) or not ranks:
        raise BadInput("not a plan: it has no list of ranks", cure=_CURE)
    planned: dict[int, PlannedRank] = {}
    for at, each in enumerate(ranks):
        place = each if isinstance(each, PlannedRank) else _planned(each, f"ranks[{at}]")
        if planned.setdefault(place.rank, place) is not place:
            raise BadInput(f"rank {place.rank} occurs twice", place=f"ranks[{at}]", cure=_CURE)
    return PlannedBinding(ranks=tuple(planned.values()), topology=_topology(data))


def _planned(each: object, place: str) -> PlannedRank:
    if not isinstance(each, dict):
        raise BadInput("not a rank", place=place, cure=_CURE)
    taken = {key: each[key] for key in _KEYS if key in each}
    if "nodes" not in taken and isinstance(each.get("numa_nodes"), list):
        taken["nodes"] = each["numa_nodes"]
    try:
        if isinstance(taken.get("memory"), str):
            taken["memory"] = list(_nodes(taken["memory"]))
        return PlannedRank.model_validate_json(json.dumps(taken))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        at = ".".join([place, *map(str, first["loc"])])[:120]
        raise BadInput(in_words(first["msg"])[:120], place=at, cure=_CURE) from error
    except BadInput as error:
        raise BadInput(error.problem, place=place, cure=_CURE) from error


def _nodes(text: str) -> CpuSet:
    """Return the NUMA nodes of a list; Linux knows 1,024 of them."""
    found = CpuSet.parse(text)
    if len(found) > _NODES:
        raise BadInput(f"{len(found)} NUMA nodes, more than the {_NODES} that Linux knows", cure=_CURE)
    return found


_NODES = 1024


def _topology(data: dict[str, Any]) -> Topology | None:
    """Return the topology that a document has; one that cannot be read is only not used."""
    try:
        return Topology.model_validate_json(json.dumps(data["topology"])) if data.get("topology") else None
    except (ValidationError, AdvisorError, TypeError):
        return None
