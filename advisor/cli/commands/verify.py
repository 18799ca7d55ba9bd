"""Check that ranks run where the plan has them, by what each rank sees, not by what the launcher reports.

Runs the launch command of a plan with a probe instead of the application. DIR is what 'advisor bind -o DIR' wrote. With
--plan it is your own command, with {} for the application where the end of its options is not clear. With --observed
nothing is run: it reads the lines that the probe (--print-probe) printed inside a job. The probe is one shell script and
needs no compiler, no MPI and no file on the other nodes. --pid and --job look at an application that runs on this node,
with a plan or without. Exit status 1 where something differs from the plan, or without a plan where there is a warning.

Group: Run a job
Example: advisor verify DIR
Example: advisor verify --plan plan.json -- mpirun -n 16 --map-by ppr:1:l3cache {}
Example: advisor verify --print-probe > probe.sh; srun sh probe.sh > lines; advisor verify --plan plan.json --observed lines
Example: advisor verify --job xhpl
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.cli.options import From, Json, NoColor, Output, Width
from advisor.errors import BadValue, CannotWork
from advisor.work.machine import emit, emit_json, load, say

if TYPE_CHECKING:
    from advisor.host.base import Ran
    from advisor.host.live import LiveHost
    from advisor.model.hardware.topology import Topology
    from advisor.model.observed_binding import Comparison, GatheredReports, PlannedBinding, RunningProcesses
    from advisor.work.verify import Line

Words = Annotated[
    list[str] | None, typer.Argument(metavar="[DIR | -- LINE]", help="What bind wrote, or a launch command with {}.")
]
PlanOption = Annotated[
    str | None, typer.Option("--plan", metavar="FILE", help="The plan.json of advisor bind; - is standard input.")
]
Observed = Annotated[
    str | None, typer.Option("--observed", metavar="FILE", help="Compare the probe's lines in a file; - is standard input.")
]
Pids = Annotated[list[str] | None, typer.Option("--pid", metavar="PID[,PID]...", help="Check running processes.")]
Job = Annotated[str | None, typer.Option("--job", metavar="NAME", help="Check every running process of this program.")]
PrintProbe = Annotated[bool, typer.Option("--print-probe", help="Print the probe, to be run by each rank of a job script.")]
Timeout = Annotated[
    float, typer.Option("--timeout", metavar="SECONDS", min=1, max=86400, help="End the launcher after this time.")
]


def run(
    words: Words = None,
    *,
    plan: PlanOption = None,
    observed: Observed = None,
    pid: Pids = None,
    job: Job = None,
    print_probe: PrintProbe = False,
    timeout: Timeout = 60,
    source: From = None,
    json: Json = False,
    output: Output = None,
    width: Width = None,
    no_color: NoColor = False,
) -> int:
    """Prove that ranks sit where the plan has them."""
    if print_probe:
        return _print_probe()
    if pid or job is not None:
        return _running(plan, pid or [], job, words or [], json=json, output=output, width=width, color=not no_color)
    comparison = _compared(plan, observed, words or [], source, timeout)
    from advisor.render.binding.verify import comparison_document, comparison_page

    if json:
        emit_json(comparison_document(comparison), output)
    else:
        emit([comparison_page(comparison, width)], output, color=not no_color, width=width)
    return int(not comparison.equal)


def _print_probe() -> int:
    from advisor.paths import template
    from advisor.render.jinja import probe_script

    say(probe_script(template("probe.sh.j2")))
    return 0


def _compared(plan: str | None, observed: str | None, words: list[str], source: str | None, timeout: float) -> "Comparison":
    from advisor.collect.observe import reported
    from advisor.compare.verify import compare_ranks
    from advisor.work.job.folder import plan_in, read_bytes
    from advisor.work.verify import line_in, line_of

    if plan == "-" and observed == "-":
        raise BadValue("--plan and --observed are both standard input", cure="name a file for one of them")
    folder = None if plan is not None or len(words) != 1 else Path(words[0])
    if plan is None and folder is None:
        raise CannotWork("verify needs a plan: DIR of advisor bind -o DIR, --plan plan.json, or --pid or --job of what runs")
    name = str(folder / "plan.json") if folder else str(plan)
    wanted = plan_in(name)
    if observed is not None:
        gathered, ended = reported(read_bytes(observed, "output of a job")), None
        if not gathered.ranks:
            raise CannotWork(f"{observed}: there is no line of the probe in it{_alone(gathered)}")
    else:
        gathered, ended = _launched(line_in(folder) if folder else line_of(words), timeout)
    comparison = compare_ranks(wanted.ranks, gathered, _topology(wanted, source))
    return comparison.model_copy(update={"notes": (*comparison.notes, *_ending(ended, timeout))})


def _topology(plan: "PlannedBinding", source: str | None) -> "Topology | None":
    """Return the nodes' topology: of --from, or the plan's own, or this machine's where the plan has no host."""
    if source is not None:
        return load(source).topology
    if plan.topology is not None or any(each.host not in (None, "localhost") for each in plan.ranks):
        return plan.topology
    return load(None).topology


def _launched(line: "Line", timeout: float) -> "tuple[GatheredReports, Ran]":
    """Run a line with the probe for the command; refuse to judge where no rank has reported."""
    from advisor.collect.observe import Listener
    from advisor.host.base import Why
    from advisor.host.live import LiveHost
    from advisor.paths import template
    from advisor.render.jinja import probe_words
    from advisor.work.verify import STANDS_FOR

    probe = probe_words(template("probe.sh.j2"))
    argv = tuple(word for each in line.argv for word in (probe if each == STANDS_FOR else (each,)))
    listener = Listener()
    try:
        ran = LiveHost().launch(argv, listener.hear, timeout=timeout, variables=line.variables)
    except KeyboardInterrupt:
        sys.stderr.write("advisor: the launcher and what it started here were ended\n")
        raise
    if ran.why in (Why.ABSENT, Why.REFUSED):
        why = "is not here" if ran.why is Why.ABSENT else "may not be run"
        raise CannotWork(f"{argv[0]} {why}; load the module of the MPI that the plan is for, or name its path")
    gathered = listener.gathered()
    if not gathered.ranks:
        raise CannotWork(f"no rank has reported{_alone(gathered)}; {_how(ran, timeout)}")
    return gathered, ran


def _alone(gathered: "GatheredReports") -> str:
    if gathered.alone:
        return f", but {gathered.alone} processes that no launcher gave a rank: give srun --mpi=pmi2 or pmix, or another launcher"
    return f", but {gathered.damaged} damaged lines" if gathered.damaged else ""


def _how(ran: "Ran", timeout: float) -> str:
    from advisor.host.base import Why

    said = _last(ran.err)
    if ran.why is Why.TIMEOUT:
        return f"the launcher was ended after {timeout:g} s (--timeout){said}"
    return f"the launcher ended with status {ran.status}{said}" if ran.why is None else f"the launcher {ran.why.value}{said}"


def _last(errors: bytes) -> str:
    """Return the last line with a word in it, as a launcher frames its complaints with dashes."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    words = next((line for line in reversed(lines) if any(letter.isalnum() for letter in line)), None)
    return f": {words[:300]}" if words else " and said nothing"


def _ending(ran: "Ran | None", timeout: float) -> tuple[str, ...]:
    """Return a note on a launcher that ended badly, or that warned of a binding that it could not make and went on."""
    if ran is None or (ran.why is None and ran.status == 0):
        refused = ran is not None and (
            b"tried to bind a process but failed" in ran.err or b"hwloc_set_cpubind returned" in ran.err
        )
        return ("the launcher says that it could not bind, and went on",) if refused else ()
    return (_how(ran, timeout),)


def _running(
    plan: str | None,
    pid: list[str],
    job: str | None,
    words: list[str],
    *,
    json: bool,
    output: Path | None,
    width: int | None,
    color: bool,
) -> int:
    from advisor.collect.observe import read_processes
    from advisor.compare.processes import cautions
    from advisor.host.live import LiveHost
    from advisor.model.hardware.topology import Topology
    from advisor.render.binding.verify import running_document, running_page

    if words:
        raise BadValue(f"--pid and --job take no {words[0][:40]}", cure="give a plan with --plan")
    host = LiveHost()
    found = read_processes(host, _pids(host, pid, job))
    if not found.processes:
        raise CannotWork("; ".join(found.unread))
    machine = load(None)
    warned = cautions(machine, found.processes)
    comparison = _against(plan, found, machine.topology) if plan is not None else None
    topology = machine.topology or Topology()
    if json:
        emit_json(running_document(found, warned, topology, comparison), output)
    else:
        emit([running_page(found, warned, topology, comparison, width)], output, color=color, width=width)
    return int(not comparison.equal if comparison else bool(warned))


def _pids(host: "LiveHost", given: list[str], job: str | None) -> list[int]:
    """Return the processes that are meant; this one is never."""
    from advisor.collect.observe import processes_named

    numbers = [word.strip() for each in given for word in each.split(",")]
    wrong = next((word for word in numbers if not (word.isascii() and word.isdecimal() and len(word) < 10)), None)
    if wrong is not None:
        raise BadValue(f"--pid {wrong[:40]!a} is not a process", cure="give numbers: --pid 4711,4712")
    of_job = [pid for pid in processes_named(host, job) if pid != os.getpid()] if job is not None else []
    if job is not None and not of_job:
        raise CannotWork(f"no process {job[:60]!a} runs here; run this on a node of the job, and see ps -e for the name")
    return [int(word) for word in numbers] + of_job


def _against(plan: str, found: "RunningProcesses", topology: "Topology | None") -> "Comparison":
    """Compare running ranks with those that the plan has for this host."""
    from advisor.compare.processes import as_gathered
    from advisor.compare.verify import compare_ranks
    from advisor.model.observed_binding import same_host
    from advisor.work.job.folder import plan_in

    here = [each for each in plan_in(plan).ranks if same_host(each.host, found.host)]
    if not here:
        raise BadValue(f"the plan has no rank on {found.host or 'this host'}", cure="run this on a node of the plan")
    return compare_ranks(here, as_gathered(found), topology)
