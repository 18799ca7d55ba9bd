"""Stage what a BIOS was before, from the record that bios stage wrote. Never restarts anything.

Only what was asked then, and what changed along with it, goes back: what others changed since stays. Refused where the
server or its BIOS is another than the record's, and where somebody else's change waits.

Group: Change the BIOS
Example: advisor bios undo before.json --bmc bmc01
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli import bmc_options as bmc_opt
from advisor.cli import options as opt
from advisor.cli.bmc_options import show_staging
from advisor.cli.output import Form


def run(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="What advisor bios stage saved.")],
    *,
    bmc: bmc_opt.Host,
    kept: bmc_opt.RecordFile = None,
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
    """Take a change back."""
    from advisor.work.bmc.undo import undo_bios

    way, form = (
        bmc_opt.door(bmc, user, password_fd, login_file, ca, pin=pin, insecure=insecure),
        Form(None, json, width, not no_color),
    )
    show_staging(undo_bios(record, way, kept, bmc_opt.confirming(form, yes=yes)), form)
