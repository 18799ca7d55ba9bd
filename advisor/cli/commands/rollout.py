"""Commands that roll BIOS changes out over many servers, and serve twins to try them on."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Annotated, Literal

import typer

from advisor.bios.connection import as_interrupt, hearing
from advisor.bios.page import rollout_page
from advisor.bios.rollout import Rollout, doors_of, rollout_status
from advisor.bios.rollout_course import Policy
from advisor.bios.twin_port import standing
from advisor.bios.twin_source import twin_document, twin_of, twin_text
from advisor.cli.bmc_options import Asked, Unchecked, Yes, agreed, asks_bmcs
from advisor.cli.commands.bios import BiosNoSlurm, NodeName
from advisor.cli.options import Json
from advisor.cli.output import Form, Terminal, emit, emit_json, say, show
from advisor.errors import AdvisorError, BadValue
from advisor.exports.rack import write_rack_report
from advisor.fleet.rollout import RolloutOptions, begin_rollout, program_named, rehearse_rollout, resume_rollout

RolloutPlan = Annotated[
    Path | None,
    typer.Argument(metavar="PLAN", help="What advisor bios plan wrote; %h is the node's name. One for all needs no uuid."),
]


RolloutFolder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="Keep journal, records and captures there: rollout-PLAN by default."),
]


RolloutResume = Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Go on with the rollout in this folder.")]


Abort = Annotated[
    bool, typer.Option("--abort", help="With --resume: begin no more nodes, and take back those that are not restarted yet.")
]


Rehearse = Annotated[bool, typer.Option("--rehearse", help="Try the whole rollout first on twins made from what the BMCs say.")]


RolloutDry = Annotated[
    bool, typer.Option("--dry-run", help="Rehearse, and change nothing; with --resume show where each node is.")
]


DrainCommand = Annotated[
    str | None,
    typer.Option("--drain", metavar="CMD", help="Drain by this command, the node its last word; status 0: drained and idle."),
]


UndrainCommand = Annotated[
    str | None, typer.Option("--undrain", metavar="CMD", help="Give a node back by this command, the node its last word.")
]


AtATime = Annotated[
    int, typer.Option("--at-a-time", metavar="N", min=1, max=64, help="Nodes under way at once, after the first.")
]


MaxFailures = Annotated[
    int, typer.Option("--max-failures", metavar="N", min=1, help="Stop at the Nth node that does not come back or is not proven.")
]


UndoOnFailure = Annotated[
    bool, typer.Option("--undo-on-failure", help="Take a node back that came back and is not proven, with one more restart.")
]


RolloutMeasure = Annotated[
    Literal["first", "all", "none"], typer.Option("--measure", help="Which nodes are measured before and after.")
]


MeasuredBy = Annotated[
    str | None,
    typer.Option("--program", metavar="NAME|FILE", help="Measure by this program of experiments in place of the quick kernels."),
]


RestartMinutes = Annotated[
    float, typer.Option("--restart-minutes", metavar="N", min=1, help="A node that is not up by then did not come back.")
]


DrainHours = Annotated[
    float, typer.Option("--drain-hours", metavar="N", min=0, help="A node that still runs jobs by then is taken back.")
]


NodeDrained = Annotated[bool, typer.Option("--drained", help="The nodes run nothing: drain none, ask no scheduler.")]


@asks_bmcs
def bios_rollout(
    plan: RolloutPlan = None,
    *,
    asked: Asked,
    node: NodeName = None,
    rehearse: Rehearse = False,
    dry_run: RolloutDry = False,
    at_a_time: AtATime = 5,
    max_failures: MaxFailures = 1,
    undo_on_failure: UndoOnFailure = False,
    drain: DrainCommand = None,
    undrain: UndrainCommand = None,
    drained: NodeDrained = False,
    no_slurm: BiosNoSlurm = False,
    measure: RolloutMeasure = "first",
    program: MeasuredBy = None,
    restart_minutes: RestartMinutes = 45,
    drain_hours: DrainHours = 24,
    unchecked: Unchecked = None,
    folder: RolloutFolder = None,
    resume: RolloutResume = None,
    abort: Abort = False,
    yes: Yes = False,
) -> int:
    """Roll a BIOS plan out: one node whole, then five, then the rest; stops at the first that is not proven.

    A node is staged, drained, restarted where exactly our change waits, read again, captured, proven by its BMC and its
    operating system, and given back. The first one is measured before and after; then it asks. --undo-on-failure takes a node
    back that is not proven. Slurm, PBS or LSF drains, or --drain CMD and --undrain CMD. Every step is on disk before it is
    done: killed at any time, --resume goes on, and nothing is done twice. In the end every node is done, proven, as before, or
    by hand. Exit status 1 where some are as before, 2 where it stopped or some are to be looked at. docs/bios.md.

    Group: Set up
    First: --bmc --hosts --bmc-name --login-file --rehearse --at-a-time --undo-on-failure --drain --measure --resume
    Example: advisor bios rollout plans/%h.yaml -w 'node[001-400]' --bmc-name 'bmc-%h' --rehearse
    Example: advisor bios rollout plan.yaml --bmc bmc01 --node node01 --drain ./drain.sh --undrain ./undrain.sh
    Example: advisor bios rollout plans/%h.yaml -w fleet/ --bmc-name 'bmc-%h' --dry-run
    Example: advisor bios rollout --resume rollout-plan
    """
    observer = Terminal()
    if asked.many and node is not None:
        raise BadValue("--node names the server of one --bmc", cure="leave it out: -w and --hosts name servers themselves")
    if resume is not None:
        if plan is not None or folder is not None or drain is not None:
            cure = "leave PLAN, --folder and --drain out (a command that gives nodes back is --undrain)"
            raise BadValue("--resume continues with what its folder says", cure=cure)
        if dry_run:
            return _rollout_shown(rollout_status(resume), asked.form)
        done = resume_rollout(resume, doors_of(resume, asked.base), _approve(asked.form, yes=yes), abort=abort, observer=observer)
        return _finished(done, asked.form, observer)
    if plan is None or abort:
        raise BadValue(
            "no plan is given", cure="advisor bios plan writes one; --resume DIR goes on with a rollout, --abort ends it"
        )
    doors = tuple(replace(door, node=node) for door in asked.doors) if node else asked.doors
    policy = Policy(at_a_time, max_failures, undo_on_failure, measure, restart_minutes, drain_hours, tuple(unchecked or ()))
    name = plan.stem.replace("%h", "") or plan.parent.name or "plan"
    known = program_named(program) if program else None
    place = folder or Path(f"rollout-{name}")
    how = RolloutOptions(place, policy, drain, undrain, drained, no_slurm, known, rehearse=rehearse)

    if dry_run:
        return _rollout_shown(rehearse_rollout(plan, doors, how, observer), asked.form, rehearsal=True)

    def confirm(found: Rollout | None) -> bool:
        if found is not None and not asked.form.json:
            _rollout_shown(found, replace(asked.form, output=None), rehearsal=True)
        return yes or agreed(f"Roll {plan} out on {len(doors)} nodes, one first, with a restart each?")

    done = begin_rollout(plan, doors, how, confirm, _approve(asked.form, yes=yes), observer=observer)
    return _finished(done, asked.form, observer)


def _approve(form: Form, *, yes: bool) -> Callable[[Rollout], bool]:
    """Return what asks whether others follow the first node; --yes answers where nothing that was measured is slower."""

    def approve(found: Rollout) -> bool:
        if yes and not any(": slower" in line for _, lines in found.gains for line in lines):
            return True
        page = rollout_page(found.document(), form.width)
        if not form.json:
            emit([page], None, color=form.color, width=form.width)
        return agreed("The first node is through. Go on with five, then the rest?")

    return approve


def _rollout_shown(done: Rollout, form: Form, *, rehearsal: bool = False, report: Path | None = None) -> int:
    told = {**done.document(), "report": report and str(report)}
    show(form, lambda: told, lambda: rollout_page(told, form.width, rehearsal=rehearsal))
    return done.status


def _finished(done: Rollout, form: Form, observer: Terminal) -> int:
    """Show how a rollout ended, and where no node is under way or waits for a yes write its report beside its journal."""
    report = None
    if not (done.interrupted or done.asks or done.now.running):
        try:
            report = write_rack_report(done, observer)
        except AdvisorError as error:
            observer.say(f"no report: {error}")
        finally:
            observer.end()
    return _rollout_shown(done, form, report=report)


TwinOf = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE|DIR", help="A file of advisor bios read, a Bios.json and its registry, or a whole tree's folder."
    ),
]


Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="Use this port; default: a free one.")]


def bios_twin(files: TwinOf, *, port: Port = 0, json: Json = False) -> int:
    """Serve a local BMC made from what was read, to try every command on it. Reaches and changes no server.

    It listens on this host's loopback alone, stages, restarts and applies as that vendor's BMCs do (Dell's jobs, HPE's and
    Lenovo's whole copies, Supermicro's words, AMI's tags; any other by the standard), and holds values to the registry. What was
    read without a settings object is served for reading. Prints where it is, its password once, and the command to begin
    with; then a line for each change, until Ctrl-C.

    Group: Set up
    Example: advisor bios twin bios.json
    Example: advisor bios twin Bios.json BiosAttributeRegistry.json --port 8443
    """
    observer = Terminal()
    twin = twin_of(files, heard=observer.say)
    with standing(twin, port) as here, suppress(KeyboardInterrupt), hearing(as_interrupt):
        about = twin_document(twin, here)
        if json:
            emit_json(about, None)
        else:
            say(twin_text(twin, here), own=True)  # it has the password, which is this twin's own
        Event().wait()
    observer.end()
    return 0
