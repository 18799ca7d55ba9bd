"""Commands that read and change the BIOS through a BMC, and experiments with it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Annotated, Any, Literal

from typer import Argument, Option

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

PlanName = Annotated[str | None, Argument(metavar="PLAN", help="A plan file, or the name of a built-in plan (--list).")]

ListPlans = Annotated[bool, Option("--list", help="List the built-in plans and programs.")]

DryRun = Annotated[
    bool, Option("--dry-run", help="Show what would be done, how long it would take and what it could prove; change nothing.")
]

NodeName = Annotated[
    str | None,
    Option("--node", metavar="NAME", help="With --bmc: the server's name for ssh and Slurm; otherwise use -w or --hostfile."),
]

BiosNoSlurm = Annotated[bool, Option("--no-slurm", help="The servers are not in Slurm: do not ask for their state.")]

Folder = Annotated[
    Path | None,
    Option("--folder", metavar="DIR", help="Folder for journal, records and captures; default: experiment-PLAN."),
]

Resume = Annotated[Path | None, Option("--resume", metavar="DIR", help="Resume the experiment in this folder.")]

KeepWinner = Annotated[bool, Option("--keep-winner", help="Keep a state proven better than the first, if there is one.")]

Svg = Annotated[
    Path | None, Option("--svg", metavar="FILE", help="Plot every state and program with intervals (needs matplotlib).")
]

Seed = Annotated[int | None, Option("--seed", metavar="N", min=0, help="Seed for the random order of the restarts.")]

Restarts = Annotated[int | None, Option("--restarts", metavar="N", min=1, max=32, help="Reboot into each state N times.")]

Repeats = Annotated[int | None, Option("--repeats", metavar="N", min=1, max=100, help="Run each program N times per restart.")]

Partner = Annotated[str | None, Option("--partner", metavar="HOST", help="Second host for programs that send messages.")]

Hold = Annotated[
    list[str] | None, Option("--hold", metavar="SETTING=VALUE", help="Keep SETTING at VALUE in every state; may be repeated.")
]

FolderArgument = Annotated[Path, Argument(metavar="DIR", help="The experiment's folder.")]


def _alone(plan: str | None, folder: Path | None) -> None:
    """Refuse --resume with what its folder says itself."""
    if plan or folder:
        raise BadValue("--resume takes its settings from the folder", cure="leave the plan and --folder out")


def _held(words: list[str] | None) -> dict[str, Neutral]:
    """Return settings and values.

    >>> _held(["io.preferred_bus=97", "cpu.smt=off"])
    {'io.preferred_bus': 97, 'cpu.smt': 'off'}
    """
    found: dict[str, Neutral] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise BadValue(f"--hold {word[:60]} is not SETTING=VALUE", cure="write --hold io.preferred_bus=97")
        found[name.strip()] = int(value) if value.strip().isdigit() else value.strip()
    return found


Only = Annotated[list[str] | None, Option("--only", metavar="ID", help="Only this rule, setting or attribute; may be repeated.")]


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
    """Plan one server's BIOS changes, as its own registry allows. Changes nothing.

    Lists each change with its reason, its current value and the legal values; then what else changes, and what was left out and
    why. Read and edit the YAML; bios stage checks it again. --for names the server's workload, which decides where guides
    disagree; the plan names the guide for each setting. --only plans only the changes for these rules, settings or attributes
    and what they need, including changes that guides dispute. --bmc and -w read the BIOS first; each of many BMCs gets its own
    file. Without --from the plan is for this machine if the BIOS settings are its own, otherwise for the server that the file
    describes. Without an attribute registry, only the attributes named with --unchecked are planned. Overwriting a plan file
    keeps its --for value.

    With FLEET, a folder of captures, it writes one plan per kind of hardware, based on the most typical node of that kind. Its
    BIOS attributes come from the file beside its capture (NODE.bios.json, written by bios read -w NODES -o DIR/%h.bios.json),
    or from the first --bios that fits. %k in the file name stands for the kind. bios stage checks each server again before it
    writes.

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
        raise BadValue("planning for several servers requires a capture of one of them", cure="give --from node.tar.gz")
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
        raise BadValue("each plan needs its own file", cure="write -o plans/%k.yaml")
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
        raise CannotWork("no group of identical nodes has BIOS settings to plan with")
    return 0


def _many(asked: Asked, plan: Callable[[Door], PlannedBios]) -> int:
    """Plan for each of many, into a file of its own."""
    place = asked.form.output
    if place is None:
        raise BadValue("each plan needs its own file", cure="write -o plans/%h.yaml")

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


Runs = Annotated[Path | None, Option("--before", metavar="FILE", help="Measurements from before the change.")]


Later = Annotated[Path | None, Option("--after", metavar="FILE", help="The same measurements after the change.")]


Record = Annotated[Path | None, Option("--record", metavar="FILE", help="Check the BMC job in this record from bios stage.")]


Wait = Annotated[float, Option("--wait", metavar="SECONDS", min=0, max=7200, help="Wait this long for the BMC's job to end.")]


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
    """Prove that a BIOS plan is in effect, using the BMC, the operating system and measurements.

    The BMC must show that every attribute is applied, nothing is pending, its job is finished, and the server is the same. The
    operating system, in a capture after the restart (--from), must show the NUMA nodes per socket, SMT and CPU order in the
    plan. Measurements from before and after (--before, --after) give an exact p-value. Exit status 1 if any of these
    contradicts the plan.

    Group: Set up
    First: --bmc --hosts --login-file --ca --from --before --after --record --wait --json
    Example: advisor bios prove plan.yaml --bmc bmc01 --from after.tar.gz
    Example: advisor bios prove plan.yaml --bmc bmc01 --record before.json --wait 1200
    """
    if (before is None) != (after is None):
        raise BadValue(
            "--before and --after are only valid together", cure="give the runs before the change and the runs after it"
        )
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

    -o writes the file that audit, checklist and bios plan take as --bios: every attribute with its value, pending changes,
    and the registry of legal values, without secrets, serial numbers or addresses. Without --bmc, it looks
    for the BMC of the node that it runs on. With several BMCs, each gets its own file. docs/bios.md lists the requests.

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


Node = Annotated[str | None, Option("--node", metavar="NAME", help="The server's name in Slurm.")]


NoSlurm = Annotated[bool, Option("--no-slurm", help="The server is not in Slurm: do not ask for its state.")]


Drained = Annotated[bool, Option("--drained", help="Confirm that the server is idle; do not ask a scheduler.")]


Staged = Annotated[
    Path | None,
    Option("--record", metavar="FILE", help="Record from bios stage: restart only if exactly its changes are pending."),
]


Nothing = Annotated[bool, Option("--nothing-staged", help="Restart even if nothing is staged or pending.")]


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
    """Restart a drained server through its BMC, so that the staged changes take effect.

    Restarts a server only if its pending change is exactly the one that bios stage saved in --record. A server that has
    somebody else's change, lacks ours, or has another BIOS job is reported and not restarted. --nothing-staged restarts a
    server without pending changes. Shows the server and asks for confirmation; --yes skips the question. Under Slurm the node
    must be drained and idle; its name is the one that its operating system reported to the BMC, or the one given with --node,
    or with -w and --bmc-name. Without Slurm give --drained. If a BMC cannot restart its server gracefully, that server is not
    restarted. The request is sent only once, whatever the reply.

    Group: Set up
    First: --bmc --hosts --login-file --ca --record --nothing-staged --node --drained --yes --json
    Example: advisor bios restart --bmc bmc01 --record before.json --node node01
    Example: advisor bios restart -w 'node[01-16]' --bmc-name 'bmc-%h' --record before/%h.json
    """
    if asked.many and node is not None:
        raise BadValue("--node names one server", cure="leave it out: each BMC reports its server's name")
    if (record is None) is not nothing_staged:
        cure = "give --record FILE from bios stage, or --nothing-staged if nothing was staged"
        raise BadValue(
            "the change to apply is missing" if record is None else "--record and --nothing-staged cannot be combined", cure=cure
        )
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

    Shows what changes, directly and as a consequence, and asks for confirmation; --yes skips the question. Saves the current
    values first, in the file that --record names, for advisor bios undo. Refuses if somebody else's change is pending, if a
    value is not legal on this server, or if the plan is for another server or BIOS. Without an attribute registry, values
    cannot be checked: name each attribute with --unchecked. Reads every written value back: a value that the BMC accepted and
    dropped is an error.

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


ByHand = Annotated[bool, Option("--print", help="Print the vendor's own commands that do the same without advisor.")]


Saved = Annotated[
    Path, Argument(metavar="RECORD", help="The record that advisor bios stage saved; %h is the BMC's name, or the node's.")
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

    Restores only what bios stage changed, directly or as a consequence; later changes by others stay. Refuses if the
    server, its BIOS or its attribute registry differs from the record's, or if somebody else's change is pending.

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
    """Measure settings across reboots, then restore the originals.

    Stages each state of PLAN through the server's BMC, restarts, proves that the state is in effect, and measures; finally
    restores the first state, even after errors and Ctrl-C. Each restart is one observation, however many runs follow it.
    Fewer than four restarts per state prove nothing; the page warns of this in advance. Run it on another host that reaches the
    servers over ssh and their BMCs over Redfish. Every step is saved before it is done: after a power cut --resume continues, and
    experiment abort restores the original settings. Servers under Slurm must be drained. docs/experiment.md explains plans and
    results.

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
        raise BadValue("no plan given", cure="see advisor experiment --list; docs/experiment.md explains how to write one")
    if asked.many and node is not None:
        raise BadValue("--node works only with a single --bmc", cure="leave it out: -w and --hostfile already name the servers")
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
            f"{', '.join(left)}: not restored yet; use advisor experiment abort {done.folder} to restore, --resume "
            f"{done.folder} to continue"
        )
    return _INTERRUPTED if done.interrupted else 2 if done.wrong else 0


@asks_bmcs
def experiment_abort(folder: FolderArgument, *, asked: Asked, yes: Yes = False) -> int:
    """Stop an experiment and restore every setting, with a restart where needed.

    Reverts what was staged, what took effect and what was written to the running kernel. Asks first; --yes skips the question.
    Measurements are kept, and experiment --resume can continue from them. If it fails, restore by hand: advisor bios undo
    DIR/home-NODE.json --bmc HOST; with --print it shows how to do so without advisor.

    Group: Set up
    First: --bmc --hosts --hostfile --bmc-name --user --login-file --ca --pin --yes --json
    Example: advisor experiment abort experiment-nps-l3 --login-file ~/.bmc --ca site-ca.pem
    """
    doors = task.doors_of(folder, asked.base)
    if not yes and not agreed(f"Restore {', '.join(door.name for door in doors)}, with a restart where needed?"):
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
    Argument(
        metavar="PLAN", help="Plan file from advisor bios plan; %h is the node's name. A plan shared by all nodes needs no uuid."
    ),
]


RolloutFolder = Annotated[
    Path | None,
    Option("--folder", metavar="DIR", help="Folder for journal, records and captures; default: rollout-PLAN."),
]


RolloutResume = Annotated[Path | None, Option("--resume", metavar="DIR", help="Resume the rollout in this folder.")]


Abort = Annotated[
    bool, Option("--abort", help="With --resume: start no more nodes, and undo the changes on nodes not restarted yet.")
]


Rehearse = Annotated[bool, Option("--rehearse", help="First rehearse the whole rollout on twins simulated from the BMCs' data.")]


RolloutDry = Annotated[bool, Option("--dry-run", help="Rehearse and change nothing; with --resume, show the state of each node.")]


DrainCommand = Annotated[
    str | None,
    Option(
        "--drain",
        metavar="CMD",
        help="Drain with this command, called with the node as its last argument; exit status 0 means drained and idle.",
    ),
]


UndrainCommand = Annotated[
    str | None,
    Option("--undrain", metavar="CMD", help="Return a node to service by running this command with the node's name appended."),
]


AtATime = Annotated[
    int, Option("--at-a-time", metavar="N", min=1, max=64, help="Number of nodes to restart at a time, after the first.")
]


MaxFailures = Annotated[
    int,
    Option(
        "--max-failures", metavar="N", min=1, help="Stop at the Nth node that does not come back or whose change is not proven."
    ),
]


UndoOnFailure = Annotated[
    bool,
    Option("--undo-on-failure", help="If the change is not proven, undo it on a node that has come back (one more restart)."),
]


RolloutMeasure = Annotated[Literal["first", "all", "none"], Option("--measure", help="Which nodes to measure before and after.")]


MeasuredBy = Annotated[
    str | None,
    Option("--program", metavar="NAME|FILE", help="Measure with this experiment program instead of the quick kernels."),
]


RestartMinutes = Annotated[
    float, Option("--restart-minutes", metavar="N", min=1, help="Give up on a node that is not back after this many minutes.")
]


DrainHours = Annotated[
    float,
    Option(
        "--drain-hours", metavar="N", min=0, help="Undo the changes on a node that is still running jobs after this many hours."
    ),
]


NodeDrained = Annotated[bool, Option("--drained", help="Assume that the nodes are idle: do not drain them or ask the scheduler.")]


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
    """Roll out a BIOS plan: one node, then five, then the rest; stop at the first failure.

    Each node is staged, drained, restarted if only our change is pending, read again, captured, proven by its BMC and operating
    system, and returned to service. The first node is measured before and after; then advisor asks whether to continue.
    --undo-on-failure undoes the change on any node where it is not proven. The nodes are drained and undrained by Slurm, PBS or
    LSF, or with --drain CMD and --undrain CMD. Every step is recorded on disk first: if the run is killed at any point,
    --resume continues, and no step is done twice. Every node ends as 'done', 'proven', 'as before' or 'by hand'. Exit status 1
    if some nodes end as 'as before', 2 if the rollout stopped or some nodes need attention. See docs/bios.md.

    Group: Set up
    First: --bmc --hosts --bmc-name --login-file --rehearse --at-a-time --undo-on-failure --drain --measure --resume
    Example: advisor bios rollout plans/%h.yaml -w 'node[001-400]' --bmc-name 'bmc-%h' --rehearse
    Example: advisor bios rollout plan.yaml --bmc bmc01 --node node01 --drain ./drain.sh --undrain ./undrain.sh
    Example: advisor bios rollout plans/%h.yaml -w fleet/ --bmc-name 'bmc-%h' --dry-run
    Example: advisor bios rollout --resume rollout-plan
    """
    observer = Terminal()
    if asked.many and node is not None:
        raise BadValue("--node works only with a single --bmc", cure="leave it out: -w and --hosts already name the servers")
    if resume is not None:
        if plan is not None or folder is not None or drain is not None:
            cure = "leave out PLAN, --folder and --drain (the command that returns nodes to service is --undrain)"
            raise BadValue("--resume takes its settings from the folder", cure=cure)
        if dry_run:
            return _rollout_shown(rollout_status(resume), asked.form)
        done = resume_rollout(resume, doors_of(resume, asked.base), _approve(asked.form, yes=yes), abort=abort, observer=observer)
        return _finished(done, asked.form, observer)
    if plan is None or abort:
        raise BadValue("no plan given", cure="advisor bios plan writes one; --resume DIR continues a rollout, --abort ends it")
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
        return yes or agreed(f"Roll {plan} out to {len(doors)} nodes, one node first, with one restart each?")

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
        return agreed("The first node is done. Continue with five nodes, then the rest?")

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
    Argument(
        metavar="FILE|DIR",
        help="A file from advisor bios read, a Bios.json with its registry, or a folder with a full Redfish tree.",
    ),
]


Port = Annotated[int, Option("--port", metavar="N", min=0, max=65535, help="Use this port; default: a free one.")]


def bios_twin(files: TwinOf, *, port: Port = 0, json: Json = False) -> int:
    """Serve a local BMC built from saved data, to try every command on. Contacts no server and changes nothing.

    It listens only on this host's loopback. It stages, restarts and applies changes as that vendor's BMCs do (Dell's jobs,
    HPE's and Lenovo's full copies, Supermicro's wording, AMI's tags; for all other vendors, the standard behaviour), and
    checks values against the registry.
    Data read without a settings object is served read-only. Prints its address, its password once, and the first command to
    try; then a line for each change, until Ctrl-C.

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
