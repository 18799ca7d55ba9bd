"""Check that ranks run where the plan has them, by what each rank sees, not by what the launcher reports.

Runs the launch command of a plan with a probe instead of the application. DIR is what 'advisor bind -o DIR -- ./app' wrote. With
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

from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, say, show
from advisor.errors import BadValue


def run(
    words: opt.VerifyWords = None,
    *,
    plan: opt.PlanFile = None,
    observed: opt.Observed = None,
    pid: opt.Pids = None,
    job: opt.ProgramName = None,
    print_probe: opt.PrintProbe = False,
    timeout: opt.Timeout = 60,
    source: opt.From = None,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Prove that ranks sit where the plan has them."""
    from advisor.jobs.pages.verify import comparison_document, comparison_page, running_page
    from advisor.jobs.verify import probe, running, verify

    form, given, observer = Form(output, json, width, not no_color), words or [], Terminal()
    if print_probe:
        say(probe(), own=True)
        return 0
    if pid or job is not None:
        if given:
            raise BadValue(f"--pid and --job take no {given[0][:40]}", cure="give a plan with --plan")
        here = running(pid or (), job, plan=plan, observer=observer)
        show(form, here.document, lambda: running_page(*here, width))
        return int(not here.good)
    folder = given[0] if plan is None and len(given) == 1 else None
    found = verify(folder, plan=plan, line=given, observed=observed, source=source, timeout=timeout, observer=observer)
    show(form, lambda: comparison_document(found), lambda: comparison_page(found, width))
    return int(not found.equal)
