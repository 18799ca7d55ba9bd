"""Try BIOS and kernel settings on your servers, over restarts, with your programs; prove what they bring; put all back.

Stages each state of PLAN through the server's BMC, restarts, proves that the state is in effect, measures, and in the end goes
back to where it began, also after errors and Ctrl-C. A restart is one observation, however often a program runs in it: below
four of each state nothing is proven, and the page says so beforehand. Runs on another host, which reaches the servers over
ssh and their BMCs over Redfish. Every step is on disk before it is done: after a power cut --resume goes on, experiment abort
goes back. Servers under Slurm must be drained. docs/experiment.md says how to write a plan and how to read the answer.

Group: Change the BIOS
Example: advisor experiment --list
Example: advisor experiment nps-l3 --bmc bmc01 --node node01 --partner node02 --dry-run
Example: advisor experiment plan.yaml -w 'node[01-02]' --bmc-name 'bmc-%h' --login-file ~/.bmc --ca site-ca.pem
Example: advisor experiment --resume experiment-nps-l3 --login-file ~/.bmc --ca site-ca.pem
"""

from dataclasses import replace
from pathlib import Path

from advisor.bios import experiment as task
from advisor.bios.experiment import Foreseen, Ran
from advisor.bios.experiment_page import list_page, plan_page, result_page
from advisor.bios.experiment_plan import experiment_plan, list_document, listed, ready_programs
from advisor.cli import experiment_options as opt
from advisor.cli.bmc_options import Asked, Yes, agreed, asks_bmcs
from advisor.cli.output import Form, Terminal, show
from advisor.errors import BadValue

_INTERRUPTED = 130


@asks_bmcs
def run(
    plan: opt.PlanName = None,
    *,
    asked: Asked,
    node: opt.NodeName = None,
    list_: opt.ListPlans = False,
    dry_run: opt.DryRun = False,
    hold: opt.Hold = None,
    restarts: opt.Restarts = None,
    repeats: opt.Repeats = None,
    partner: opt.Partner = None,
    folder: opt.Folder = None,
    resume: opt.Resume = None,
    keep_winner: opt.KeepWinner = False,
    no_slurm: opt.NoSlurm = False,
    seed: opt.Seed = None,
    yes: Yes = False,
) -> int:
    """Run an experiment."""
    if list_:
        return _list(asked.form)
    observer = Terminal()
    if resume is not None:
        opt.alone(plan, folder)
        return shown(task.resume_experiment(resume, task.doors_of(resume, asked.base), observer=observer), asked.form, observer)
    if plan is None:
        raise BadValue("no plan is given", cure="see advisor experiment --list; docs/experiment.md says how to write one")
    if asked.many and node is not None:
        raise BadValue("--node names the server of one --bmc", cure="leave it out: -w and --hosts name servers themselves")
    found = experiment_plan(plan, hold=opt.held(hold), restarts=restarts, repeats=repeats, partner=partner)
    doors = tuple(replace(door, node=node) for door in asked.doors) if node else asked.doors
    if dry_run:
        return _foresee(task.look(found, doors, no_slurm=no_slurm, observer=observer)[0], asked.form)
    how = task.ExperimentOptions(doors, folder or Path(f"experiment-{Path(plan).stem}"), keep_winner, no_slurm, seed)
    done = task.run_experiment(found, how, lambda about: yes or _agreed(about, asked.form), observer)
    return shown(done, asked.form, observer)


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


def _agreed(about: Foreseen, form: Form) -> bool:
    _foresee(about, replace(form, output=None, json=False))
    return agreed("Restart these servers so often, and change these settings?")


def shown(done: Ran, form: Form, observer: Terminal) -> int:
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
