"""Stage a plan of BIOS changes through a BMC, for the next restart. Never restarts anything.

Shows what changes and what changes along with it, and asks; --yes answers. What is set now is saved first, in the file
that --record names: advisor bios undo takes it. Refused where somebody else's change waits already, where a value is not
legal on this server, and where the plan is of another server or another BIOS. What was written is read again: what a BMC
accepted and dropped is an error.

Group: Change the BIOS
Example: advisor bios stage plan.yaml --bmc bmc01
Example: advisor bios stage plan.yaml --bmc bmc01 --yes --record before.json
"""

from advisor.cli import bmc_options as bmc_opt
from advisor.cli import options as opt
from advisor.cli.bmc_options import show_staging
from advisor.cli.output import Form


def run(
    plan: bmc_opt.PlanArgument,
    *,
    bmc: bmc_opt.Host,
    record: bmc_opt.RecordFile = None,
    yes: bmc_opt.Yes = False,
    user: bmc_opt.User = None,
    password_fd: bmc_opt.PasswordFd = None,
    login_file: bmc_opt.LoginFile = None,
    ca: bmc_opt.Ca = None,
    pin: bmc_opt.Pin = False,
    insecure: bmc_opt.Insecure = False,
    json: opt.Json = False,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> None:
    """Stage the changes."""
    from advisor.work.bmc.stage import stage_bios

    way, form = (
        bmc_opt.door(bmc, user, password_fd, login_file, ca, pin=pin, insecure=insecure),
        Form(None, json, width, not no_color),
    )
    show_staging(stage_bios(plan, way, record, bmc_opt.confirming(form, yes=yes)), form)
