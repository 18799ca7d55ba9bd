"""Restart a server through its BMC, so that staged BIOS changes take effect: drained, gracefully, asked once.

Shows which server and asks; --yes answers. Where Slurm is, the node must be drained and run nothing; its name is what its
system reported to the BMC, --node, or with --bmc-name what -w names. A BMC that offers no graceful restart is asked for
nothing. The request is sent once, whatever comes back.

Group: Change the BIOS
Example: advisor bios restart --bmc bmc01 --node node01
Example: advisor bios restart -w 'node[01-16]' --bmc-name 'bmc-%h'
"""

from typing import Annotated

import typer

from advisor.bios.page import restart_page
from advisor.bios.restart import restart_server
from advisor.cli.bmc_options import Asked, Yes, asks_bmcs, change
from advisor.errors import BadValue

Node = Annotated[str | None, typer.Option("--node", metavar="NAME", help="The server's name in Slurm.")]
NoSlurm = Annotated[bool, typer.Option("--no-slurm", help="The server is in no Slurm cluster: do not ask for its state.")]


@asks_bmcs
def run(*, asked: Asked, node: Node = None, no_slurm: NoSlurm = False, yes: Yes = False) -> int:
    """Restart the server."""
    if asked.many and node is not None:
        raise BadValue("--node names one server", cure="leave it out: of several, each BMC reports its own")
    sent: dict[str, str] = {}
    return change(
        asked,
        "restart",
        lambda door, confirm: restart_server(door, confirm, node=node, no_slurm=no_slurm, asked=sent),
        lambda found, width, **_: restart_page(found.document(), found.reading.owner, width),
        "Restart this server now?",
        yes=yes,
    )
