"""Restart a server through its BMC, so that staged BIOS changes take effect: drained, gracefully, asked once.

Shows which server and asks; --yes answers. Where Slurm is, the node must be drained and run nothing; its name is what its
system reported to the BMC, or --node. A BMC that offers no graceful restart is asked for nothing. The request is sent once,
whatever comes back.

Group: Change the BIOS
Example: advisor bios restart --bmc bmc01 --node node01
"""

from typing import Annotated

import typer

from advisor.cli import bmc_options as bmc_opt
from advisor.cli import options as opt
from advisor.cli.output import Form, emit, show

Node = Annotated[str | None, typer.Option("--node", metavar="NAME", help="The server's name in Slurm.")]
NoSlurm = Annotated[bool, typer.Option("--no-slurm", help="The server is in no Slurm cluster: do not ask for its state.")]


def run(
    *,
    bmc: bmc_opt.Host,
    node: Node = None,
    no_slurm: NoSlurm = False,
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
    """Restart the server."""
    from advisor.render.bios import restart_page
    from advisor.work.bmc.restart import Restart, restart_server

    def confirm(about: Restart) -> bool:
        if not yes:
            emit([restart_page(about.document(), about.reading.owner, width)], None, color=not no_color, width=width)
        return bmc_opt.agreed("Restart this server now?", yes=yes)

    way = bmc_opt.door(bmc, user, password_fd, login_file, ca, pin=pin, insecure=insecure)
    done = restart_server(way, confirm, node=node, no_slurm=no_slurm)
    form = Form(None, json, width, not no_color)
    show(form, done.document, lambda: restart_page(done.document(), done.reading.owner, width))
