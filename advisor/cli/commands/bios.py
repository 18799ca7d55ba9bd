"""Commands that read and change the BIOS through a BMC, and experiments with it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Annotated, Any, Literal

import typer

from advisor.advice.bios_files import BiosInput
from advisor.advice.model.sheets import Neutral
from advisor.bios import experiment as task
from advisor.bios.connection import as_interrupt, hearing
from advisor.bios.door import Door
from advisor.bios.experiment import Foreseen, Ran
from advisor.bios.experiment import experiment_status as run_experiment_status
from advisor.bios.experiment_page import experiment_chart, list_page, plan_page, result_page
from advisor.bios.experiment_plan import experiment_plan, list_document, listed, ready_programs
from advisor.bios.many import Kept
from advisor.bios.page import proof_page, read_page, restart_page, rollout_page, status_page
from advisor.bios.plan import PlannedBios, Planner, plan_bios, planned_for_before
from advisor.bios.prove import prove_bios
from advisor.bios.reading import BiosReading, read_bios
from advisor.bios.rollout import Rollout, doors_of, rollout_status
from advisor.bios.rollout_course import Policy
from advisor.bios.stage import bios_status as run_bios_status
from advisor.bios.stage import restart_server, stage_bios, undo_bios, without_advisor
from advisor.bios.twin_port import standing
from advisor.bios.twin_source import twin_document, twin_of, twin_text
from advisor.cli import options as opt
from advisor.cli.bmc_options import (
    Asked,
    PlanArgument,
    RecordFile,
    Unchecked,
    Yes,
    agreed,
    answer,
    asks_bmcs,
    change,
    or_own,
    staged_page,
)
from advisor.cli.options import Json, NoColor, Width
from advisor.cli.output import Form, Terminal, emit, emit_json, emit_text, say, show
from advisor.errors import AdvisorError, BadValue, CannotWork
from advisor.exports.rack import write_rack_report
from advisor.fleet.plan import FleetPlan, fleet_plan
from advisor.fleet.rollout import RolloutOptions, begin_rollout, program_named, rehearse_rollout, resume_rollout
from advisor.machine.hosts.files import write_file
from advisor.machine.observer import SILENT, Observer
from advisor.machine.units import count

PlanName = Annotated[str | None, typer.Argument(metavar="PLAN", help="A plan's file, or the name of a ready one (--list).")]

ListPlans = Annotated[bool, typer.Option("--list", help="Print the ready plans and programs.")]

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be done, how long it takes and what it can prove; change nothing.")
]

NodeName = Annotated[
    str | None,
    typer.Option("--node", metavar="NAME", help="The server's name for ssh and Slurm, with --bmc; else -w or --hostfile."),
]

BiosNoSlurm = Annotated[bool, typer.Option("--no-slurm", help="The servers are not in Slurm: do not ask for their state.")]

Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="Keep journal, records and captures there: experiment-PLAN by default."),
]

Resume = Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Resume the experiment in this folder.")]

KeepWinner = Annotated[bool, typer.Option("--keep-winner", help="Keep the state proven better than the first, if any.")]

Svg = Annotated[
    Path | None, typer.Option("--svg", metavar="FILE", help="Draw states by programs, with intervals (needs matplotlib).")
]

Seed = Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Fix the random order of the restarts.")]

Restarts = Annotated[int | None, typer.Option("--restarts", metavar="N", min=1, max=32, help="Restart each state N times.")]

Repeats = Annotated[
    int | None, typer.Option("--repeats", metavar="N", min=1, max=100, help="Run each program N times per restart.")
]

Partner = Annotated[str | None, typer.Option("--partner", metavar="HOST", help="The other host of programs that send messages.")]

Hold = Annotated[
    list[str] | None, typer.Option("--hold", metavar="SETTING=VALUE", help="Set this in every state; may be repeated.")
]

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of an experiment.")]


def _alone(plan: str | None, folder: Path | None) -> None:
    """Refuse --resume with what its folder says itself."""
    if plan or folder:
        raise BadValue("--resume continues with the settings in its folder", cure="leave the plan and --folder out")


def _held(words: list[str] | None) -> dict[str, Neutral]:
    """Return settings and values.

    >>> _held(["io.preferred_bus=97", "cpu.smt=off"])
    {'io.preferred_bus': 97, 'cpu.smt': 'off'}
    """
    found: dict[str, Neutral] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise BadValue(f"--hold {word[:60]} names no setting and value", cure="such as --hold io.preferred_bus=97")
        found[name.strip()] = int(value) if value.strip().isdigit() else value.strip()
    return found


Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="ID", help="Only this rule, setting or attribute; may be repeated.")
]


@asks_bmcs
def bios_plan(
    fleet: opt.MayBeFleet = None,
    *,
    asked: Asked,
    source: opt.From = None,
    bios: opt.Bios = None,
    scope: opt.ScopeOption = "mpi",
    purpose: opt.ForOption = None,
    only: Only = None,
    unchecked: Unchecked = None,
    rules: opt.Rules = None,
    measurements: opt.MeasurementsOption = None,
) -> int:
    """Plan the BIOS changes of one server, as its own registry allows. Changes nothing.

    Lists each change with its reason, its present value and the legal values; then what changes along with it, and what was
    left out and why. Read and edit the YAML; bios stage checks it again. --for names the work of the server: one choice that
    settles what guides dispute for it, each setting with its guide. --only keeps the changes of some rules, settings or
    attributes and what they need, and adds a change that guides dispute. --bmc and -w read the BIOS first; each of many BMCs
    gets its own file. Without --from the plan is for this machine if the BIOS is its own, otherwise for the server that the
    file describes. Without an attribute registry only the attributes that --unchecked names are planned. A plan written
    again into its file keeps its work.

    FLEET, a folder of captures, gives one plan per kind of hardware, that of its most usual node: from the BIOS attributes
    beside its capture (NODE.bios.json, written by bios read -w NODES -o DIR/%h.bios.json), or from the first
    --bios that fits. In the file name %k is the kind. bios stage checks each server again before it writes.

    Group: Set up
    First: --bmc --hosts --from --bios --for --only --login-file --ca --json --output
    Example: advisor bios plan --bios bios.json -o plan.yaml
    Example: advisor bios plan -w 'bmc[001-400]' --from node.tar.gz -o plans/%h.yaml
    Example: advisor bios plan --from node.tar.gz --bios bios.json --for mpi -o plan.yaml
    Example: advisor bios plan --from node.tar.gz --bios bios.json --only numa.nps -o plan.yaml
    Example: advisor bios plan fleet/ --bios bios.json -o plans/%k.yaml
    """
    if fleet:
        opt.must_be_fleet(fleet)
        named = {"--bmc and -w": bool(asked.doors), "--from": source is not None, "--unchecked": bool(unchecked)}
        for name, given in {**named, "--measurements": bool(measurements)}.items():
            opt.at_most_one({"FLEET": True, name: given})
        more: dict[str, Any] = {"intent": purpose, "site": rules or (), "only": only or ()}
        made = fleet_plan(fleet, bios or (), opt.scope_for(purpose, scope), **more, observer=Terminal())
        return _plans(made, asked.form)
    opt.at_most_one({"--bios": bool(bios), "--bmc and -w": bool(asked.doors)})

    intent = purpose or (None if asked.many or asked.form.output is None else planned_for_before(asked.form.output))

    def make(given: BiosInput | Sequence[Path], observer: Observer) -> PlannedBios:
        return plan_bios(
            given,
            source,
            opt.scope_for(intent, scope),
            intent=intent,
            only=only or (),
            unchecked=unchecked or (),
            site=rules or (),
            measurements=measurements or (),
            observer=observer,
        )

    if asked.many and source is None:
        raise BadValue("one capture cannot plan several servers", cure="give --from node.tar.gz")
    if asked.many:
        planner = Planner(partial(make, observer=SILENT))
        return _many(asked, planner.for_bmc)
    observer = Terminal()
    found = (
        Planner(partial(make, observer=observer)).for_bmc(asked.doors[0]) if asked.doors else make(bios or (), observer=observer)
    )
    _write(found, asked.form.output, json=asked.form.json)
    return 0


def _plans(found: FleetPlan, form: Form) -> int:
    """Print the plan of each kind of a fleet, or write each into a file of its own."""
    if form.json:
        emit_json(found.document(), form.output)
        return 0
    if form.output is not None and len(found.plans) > 1 and "%k" not in str(form.output):
        raise BadValue("several plans need several files", cure="write -o plans/%k.yaml")
    observer = Terminal()
    for kind in found.kinds:
        nodes = f"kind {kind.name}, {count(kind.count, 'node')}"
        if kind.name in found.without:
            observer.say(f"kind {kind.name}: {found.without[kind.name]}")
        elif form.output is None:
            say(f"# {nodes}: {kind.nodes}\n{found.plans[kind.name].text()}")
        else:
            file = Path(str(form.output).replace("%k", kind.name))
            write_file(file, found.plans[kind.name].text().encode())
            observer.say(f"{nodes}: {found.plans[kind.name].summary(file)}")
    if not found.plans:
        raise CannotWork("no kind has BIOS settings to plan for")
    return 0


def _many(asked: Asked, plan: Callable[[Door], PlannedBios]) -> int:
    """Plan for each of many, into a file of its own."""
    place = asked.form.output
    if place is None:
        raise BadValue("several plans need several files", cure="write -o plans/%h.yaml")

    def task(door: Door) -> Kept:
        file = asked.file(place, door)
        found = plan(door)
        write_file(file, found.text().encode())
        return Kept(found.word, file)

    return answer(replace(asked, form=replace(asked.form, output=None)), "plan", task, lambda *_, **__: "")


def _write(found: PlannedBios, output: Path | None, *, json: bool) -> None:
    if json:
        emit_json(found.document(), output)
        return
    emit_text(found.text(), output)
    if output is not None:
        Terminal().say(found.summary(output))


Runs = Annotated[Path | None, typer.Option("--before", metavar="FILE", help="Measurements from before the change.")]


Later = Annotated[Path | None, typer.Option("--after", metavar="FILE", help="The same measurements after it.")]


Record = Annotated[Path | None, typer.Option("--record", metavar="FILE", help="The record of bios stage, whose job is checked.")]


Wait = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", min=0, max=7200, help="Wait this long for the BMC's job to end.")
]


@asks_bmcs
def bios_prove(
    plan: PlanArgument,
    *,
    asked: Asked,
    source: opt.From = None,
    before: Runs = None,
    after: Later = None,
    record: Record = None,
    wait: Wait = 0,
) -> int:
    """Prove that a BIOS plan is in effect: by the BMC, the operating system and measurements.

    The BMC must show every attribute applied, nothing pending, its job finished, and the same server. The operating system,
    in a capture after the restart (--from), must show the NUMA nodes per socket, SMT and CPU order of the plan. Measurements
    from before and after (--before, --after) give an exact p. Exit status 1 if one of the three contradicts the plan.

    Group: Set up
    First: --bmc --hosts --login-file --ca --from --before --after --record --wait --json
    Example: advisor bios prove plan.yaml --bmc bmc01 --from after.tar.gz
    Example: advisor bios prove plan.yaml --bmc bmc01 --record before.json --wait 1200
    """
    if (before is None) != (after is None):
        raise BadValue("--before and --after go together", cure="give the runs before the change and those after it")
    observer = SILENT if asked.many else Terminal()
    return answer(
        asked,
        "prove",
        lambda door: prove_bios(
            door.of(plan),
            door,
            source and str(door.of(Path(source))),
            measured=(door.of(before), door.of(after)) if before is not None and after is not None else None,
            record=record and door.of(record),
            wait=wait,
            observer=observer,
        ),
        lambda found, width, **_: proof_page(found.document(), width),
    )


@asks_bmcs
def bios_read(*, asked: Asked) -> int:
    """Read a server's BIOS settings through its BMC (Redfish). Changes nothing.

    -o writes the file that --bios of audit, checklist and bios plan takes: every attribute with its value, pending changes,
    and the registry of legal values, without secrets, serial numbers and addresses. Without --bmc, on the node itself, it
    looks for the node's own BMC. Each of many BMCs gets its own file. docs/bios.md lists the requests.

    Group: Set up
    First: --bmc --hosts --hostfile --bmc-name --user --login-file --ca --pin --json --output
    Example: advisor bios read --bmc bmc01 -o bios.json
    Example: advisor bios read -w 'bmc[001-400]' --ca site-ca.pem -o bios/%h.json
    Example: advisor bios read --bmc bmc01 --login-file ~/.bmc --ca site-ca.pem -o bios.json
    """

    def task(door: Door) -> BiosReading | Kept:
        place = asked.form.output and asked.file(asked.form.output, door)
        found = read_bios(door)
        if place is None:
            return found
        emit_json(found.document(), place, private=True, indent=None if asked.many else 1)
        return Kept(found.word, place) if asked.many else found

    told = replace(or_own(asked), form=replace(asked.form, output=None))
    return answer(told, "read", task, lambda found, width, **_: read_page(found.bmc, found.owner, found.about(), width))


Node = Annotated[str | None, typer.Option("--node", metavar="NAME", help="The server's name in Slurm.")]


NoSlurm = Annotated[bool, typer.Option("--no-slurm", help="The server is not in Slurm: do not ask for its state.")]


Drained = Annotated[bool, typer.Option("--drained", help="The server is idle, and there is no scheduler to ask.")]


Staged = Annotated[
    Path | None,
    typer.Option("--record", metavar="FILE", help="The record of bios stage: restart only where exactly that is pending."),
]


Nothing = Annotated[bool, typer.Option("--nothing-staged", help="Restart although nothing was staged and nothing is pending.")]


@asks_bmcs
def bios_restart(
    *,
    asked: Asked,
    record: Staged = None,
    nothing_staged: Nothing = False,
    node: Node = None,
    no_slurm: NoSlurm = False,
    drained: Drained = False,
    yes: Yes = False,
) -> int:
    """Restart a drained server through its BMC, so that our staged changes take effect.

    Restarts only a server with exactly the pending change that bios stage saved in --record. A server with somebody else's
    change, with none of ours, or with another BIOS job is named and not restarted. --nothing-staged restarts a server
    without pending changes. Shows the server and asks; --yes answers. Under Slurm the node must be drained and idle; its
    name is what its system reported to the BMC, or --node, or what -w names with --bmc-name. Without Slurm give --drained. A
    BMC without a graceful restart is not asked to restart. The request is sent once, whatever the answer.

    Group: Set up
    First: --bmc --hosts --login-file --ca --record --nothing-staged --node --drained --yes --json
    Example: advisor bios restart --bmc bmc01 --record before.json --node node01
    Example: advisor bios restart -w 'node[01-16]' --bmc-name 'bmc-%h' --record before/%h.json
    """
    if asked.many and node is not None:
        raise BadValue("--node names one server", cure="leave it out: of several, each BMC reports its own")
    if (record is None) is not nothing_staged:
        cure = "give --record FILE of its stage, or --nothing-staged where nothing was staged"
        raise BadValue("the change to apply is missing" if record is None else "--record says what was staged", cure=cure)
    sent: dict[str, str] = {}
    more: dict[str, Any] = {"node": node, "no_slurm": no_slurm, "drained": drained, "asked": sent}
    return change(
        asked,
        "restart",
        lambda door, confirm: restart_server(door, confirm, record=record and door.of(record), **more),
        lambda found, width, **_: restart_page(found.document(), found.reading.owner, width),
        "Restart this server now?",
        yes=yes,
    )


@asks_bmcs
def bios_stage(
    plan: PlanArgument, *, asked: Asked, record: RecordFile = None, unchecked: Unchecked = None, yes: Yes = False
) -> int:
    """Stage a plan of BIOS changes for the next restart. Never restarts anything.

    Shows what changes, and what changes along with it, and asks; --yes answers. Saves the current values first, in the file
    that --record names, for advisor bios undo. Refuses if somebody else's change is pending, if a value is not legal on this
    server, or if the plan is for another server or BIOS. Without an attribute registry values cannot be checked: name each
    attribute with --unchecked. Reads every written value again: a value that the BMC accepted and dropped is an error.

    Group: Set up
    First: --bmc --hosts --bmc-name --login-file --ca --pin --record --unchecked --yes --json
    Example: advisor bios stage plan.yaml --bmc bmc01
    Example: advisor bios stage plans/%h.yaml -w 'bmc[001-400]' --record before/%h.json
    Example: advisor bios stage plan.yaml --bmc bmc01 --yes --record before.json
    """
    return change(
        asked,
        "stage",
        lambda door, confirm: stage_bios(door.of(plan), door, asked.record(record, "stage", door), confirm, unchecked or ()),
        staged_page,
        "Stage this for the next restart?",
        yes=yes,
    )


@asks_bmcs
def bios_status(*, asked: Asked) -> int:
    """Show what is pending for a server's next restart, and the BMC's jobs. Changes nothing.

    Group: Set up
    First: --bmc --hosts --hostfile --bmc-name --user --login-file --ca --pin --json --output
    Example: advisor bios status --bmc bmc01
    """
    return answer(
        or_own(asked),
        "status",
        run_bios_status,
        lambda found, width, **_: status_page(found.document(), found.reading.owner, width),
    )


ByHand = Annotated[bool, typer.Option("--print", help="Print the vendor's own commands that do the same without advisor.")]


Saved = Annotated[
    Path, typer.Argument(metavar="RECORD", help="The record that advisor bios stage saved; %h is the BMC's name, or the node's.")
]


@asks_bmcs
def bios_undo(
    saved: Saved,
    *,
    asked: Asked,
    record: RecordFile = None,
    unchecked: Unchecked = None,
    by_hand: ByHand = False,
    yes: Yes = False,
) -> int:
    """Stage the previous BIOS values, from the record of bios stage. Never restarts anything.

    Restores only what that stage changed, and what changed along with it; later changes of others stay. Refuses if the
    server, its BIOS or its attribute registry is not the record's, or if somebody else's change is pending.

    Group: Set up
    First: --bmc --hosts --bmc-name --login-file --ca --pin --record --print --yes --json
    Example: advisor bios undo before.json --bmc bmc01
    Example: advisor bios undo before.json --print
    """
    if by_hand:
        say(without_advisor(saved))
        return 0

    return change(
        asked,
        "undo",
        lambda door, confirm: undo_bios(door.of(saved), door, asked.record(record, "undo", door), confirm, unchecked or ()),
        staged_page,
        "Stage this for the next restart?",
        yes=yes,
    )


_INTERRUPTED = 130


@asks_bmcs
def experiment(
    plan: PlanName = None,
    *,
    asked: Asked,
    node: NodeName = None,
    list_: ListPlans = False,
    dry_run: DryRun = False,
    hold: Hold = None,
    restarts: Restarts = None,
    repeats: Repeats = None,
    partner: Partner = None,
    folder: Folder = None,
    resume: Resume = None,
    keep_winner: KeepWinner = False,
    no_slurm: BiosNoSlurm = False,
    seed: Seed = None,
    yes: Yes = False,
) -> int:
    """Measure BIOS and kernel settings over restarts, then restore.

    Stages each state of PLAN through the server's BMC, restarts, proves that the state is in effect, and measures; finally
    restores the first state, also after errors and Ctrl-C. A restart is one observation, however often a program runs in it:
    fewer than four per state prove nothing, and the page says so beforehand. Runs on another host, which reaches the servers
    over ssh and their BMCs over Redfish. Every step is saved before it is done: after a power cut --resume continues, and
    experiment abort restores. Servers under Slurm must be drained. docs/experiment.md explains plans and answers.

    Group: Set up
    First: --bmc --node --hosts --list --dry-run --resume --restarts --partner --hold --yes
    Example: advisor experiment --list
    Example: advisor experiment nps-l3 --bmc bmc01 --node node01 --partner node02 --dry-run
    Example: advisor experiment plan.yaml -w 'node[01-02]' --bmc-name 'bmc-%h' --login-file ~/.bmc --ca site-ca.pem
    Example: advisor experiment --resume experiment-nps-l3 --login-file ~/.bmc --ca site-ca.pem
    """
    if list_:
        return _list(asked.form)
    observer = Terminal()
    if resume is not None:
        _alone(plan, folder)
        return _shown(task.resume_experiment(resume, task.doors_of(resume, asked.base), observer=observer), asked.form, observer)
    if plan is None:
        raise BadValue("no plan is given", cure="see advisor experiment --list; docs/experiment.md says how to write one")
    if asked.many and node is not None:
        raise BadValue("--node names the server of one --bmc", cure="leave it out: -w and --hostfile name servers themselves")
    found = experiment_plan(plan, hold=_held(hold), restarts=restarts, repeats=repeats, partner=partner)
    doors = tuple(replace(door, node=node) for door in asked.doors) if node else asked.doors
    if dry_run:
        return _foresee(task.look(found, doors, no_slurm=no_slurm, observer=observer)[0], asked.form)
    how = task.ExperimentOptions(doors, folder or Path(f"experiment-{Path(plan).stem}"), keep_winner, no_slurm, seed)

    def agree(about: Foreseen) -> bool:
        _foresee(about, replace(asked.form, output=None, json=False))
        return agreed("Restart these servers this many times, and change these settings?")

    done = task.run_experiment(found, how, lambda about: yes or agree(about), observer)
    return _shown(done, asked.form, observer)


def _list(form: Form) -> int:

    show(
        form,
        list_document,
        lambda: list_page(list(listed().items()), {n: p.run for n, p in ready_programs().items()}, form.width),
    )
    return 0


def _foresee(about: Foreseen, form: Form) -> int:

    show(form, about.document, lambda: plan_page(about.document(), about.plan, form.width))
    return 0


def _shown(done: Ran, form: Form, observer: Terminal) -> int:
    """Show what an experiment showed, and say what went wrong; return the exit status."""
    show(form, done.document, lambda: result_page(done.result, str(done.folder), form.width))
    for each in done.wrong:
        observer.say(each)
    left = [name for name, how in done.result.where.items() if how == "not yet back"]
    if left:
        observer.say(
            f"{', '.join(left)}: not yet back; advisor experiment abort {done.folder} goes back, --resume {done.folder} goes on"
        )
    return _INTERRUPTED if done.interrupted else 2 if done.wrong else 0


@asks_bmcs
def experiment_abort(folder: FolderArgument, *, asked: Asked, yes: Yes = False) -> int:
    """Stop an experiment and restore every setting, with a restart where needed.

    Takes back what was staged, what took effect and what was written to the running kernel. Asks first; --yes answers. What
    was measured so far is kept, and experiment --resume would go on with it. Should it fail, DIR/home-NODE.json goes back by
    hand: advisor bios undo DIR/home-NODE.json --bmc HOST, and --print says how without advisor.

    Group: Set up
    First: --bmc --hosts --hostfile --bmc-name --user --login-file --ca --pin --yes --json
    Example: advisor experiment abort experiment-nps-l3 --login-file ~/.bmc --ca site-ca.pem
    """
    doors = task.doors_of(folder, asked.base)
    if not yes and not agreed(f"Put back {', '.join(door.name for door in doors)}, with a restart where it takes one?"):
        raise CannotWork("nothing was changed: not confirmed")
    observer = Terminal()
    return _shown(task.resume_experiment(folder, doors, only_back=True, observer=observer), asked.form, observer)


def experiment_status(
    folder: FolderArgument, *, svg: Svg = None, json: Json = False, width: Width = None, no_color: NoColor = False
) -> int:
    """Show the progress of an experiment and its results so far. Changes nothing.

    Group: Set up
    Example: advisor experiment status experiment-nps-l3
    Example: advisor experiment status experiment-nps-l3 --svg nps.svg
    """
    found = run_experiment_status(folder)
    form = Form(None, json, width, not no_color)
    if svg is not None:
        write_file(svg, experiment_chart(found.result))
    show(form, found.document, lambda: result_page(found.result, str(folder), form.width))
    return 0


RolloutPlan = Annotated[
    Path | None,
    typer.Argument(metavar="PLAN", help="What advisor bios plan wrote; %h is the node's name. One for all needs no uuid."),
]


RolloutFolder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="Keep journal, records and captures there: rollout-PLAN by default."),
]


RolloutResume = Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Resume the rollout in this folder.")]


Abort = Annotated[bool, typer.Option("--abort", help="With --resume: start no more nodes, and undo those not restarted yet.")]


Rehearse = Annotated[bool, typer.Option("--rehearse", help="Try the whole rollout first on twins simulated from the BMCs' data.")]


RolloutDry = Annotated[
    bool, typer.Option("--dry-run", help="Rehearse, and change nothing; with --resume show where each node is.")
]


DrainCommand = Annotated[
    str | None,
    typer.Option("--drain", metavar="CMD", help="Drain with this command, node as last argument; status 0: drained, idle."),
]


UndrainCommand = Annotated[
    str | None,
    typer.Option("--undrain", metavar="CMD", help="Return a node to service with this command, node as last argument."),
]


AtATime = Annotated[
    int, typer.Option("--at-a-time", metavar="N", min=1, max=64, help="Number of nodes at a time, after the first.")
]


MaxFailures = Annotated[
    int, typer.Option("--max-failures", metavar="N", min=1, help="Stop at the Nth node that does not come back or is not proven.")
]


UndoOnFailure = Annotated[
    bool, typer.Option("--undo-on-failure", help="Undo a node that came back but is not proven, with one more restart.")
]


RolloutMeasure = Annotated[
    Literal["first", "all", "none"], typer.Option("--measure", help="Which nodes are measured before and after.")
]


MeasuredBy = Annotated[
    str | None,
    typer.Option("--program", metavar="NAME|FILE", help="Measure with this program of experiments instead of the quick kernels."),
]


RestartMinutes = Annotated[
    float, typer.Option("--restart-minutes", metavar="N", min=1, help="Time until a node that is not up counts as not back.")
]


DrainHours = Annotated[
    float, typer.Option("--drain-hours", metavar="N", min=0, help="Time until a node that still runs jobs is undone.")
]


NodeDrained = Annotated[bool, typer.Option("--drained", help="The nodes are idle: drain none, ask no scheduler.")]


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
