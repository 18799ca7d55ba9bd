"""Restart a server through its BMC, so that staged BIOS changes take effect: drained, gracefully, asked once.

Only where exactly the change waits that --record is of, the file that bios stage saved: where a stranger's change waits too,
nothing of ours, or another job for the BIOS, the server is named and not restarted. --nothing-staged restarts one on which
nothing waits. Shows which server and asks; --yes answers. Where Slurm is, the node must be drained and run nothing; its name
is what its system reported to the BMC, --node, or with --bmc-name what -w names. Without Slurm say --drained. A BMC that
offers no graceful restart is asked for nothing. The request is sent once, whatever comes back.

Group: Change the BIOS
Example: advisor bios restart --bmc bmc01 --record before.json --node node01
Example: advisor bios restart -w 'node[01-16]' --bmc-name 'bmc-%h' --record before/%h.json
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from advisor.bios.page import restart_page
from advisor.bios.stage import restart_server
from advisor.cli.bmc_options import Asked, Yes, asks_bmcs, change
from advisor.errors import BadValue

Node = Annotated[str | None, typer.Option("--node", metavar="NAME", help="The server's name in Slurm.")]
NoSlurm = Annotated[bool, typer.Option("--no-slurm", help="The server is in no Slurm cluster: do not ask for its state.")]


Drained = Annotated[bool, typer.Option("--drained", help="The server runs nothing, and no scheduler is there to ask.")]
Staged = Annotated[
    Path | None, typer.Option("--record", metavar="FILE", help="What bios stage saved: restart where it waits, and nothing else.")
]
Nothing = Annotated[bool, typer.Option("--nothing-staged", help="Restart though nothing was staged, and where nothing waits.")]


@asks_bmcs
def run(
    *,
    asked: Asked,
    record: Staged = None,
    nothing_staged: Nothing = False,
    node: Node = None,
    no_slurm: NoSlurm = False,
    drained: Drained = False,
    yes: Yes = False,
) -> int:
    """Restart the server."""
    if asked.many and node is not None:
        raise BadValue("--node names one server", cure="leave it out: of several, each BMC reports its own")
    if (record is None) is not nothing_staged:
        cure = "give --record FILE of its stage, or --nothing-staged where nothing was staged"
        raise BadValue("what a restart is to apply is not said" if record is None else "--record says what was staged", cure=cure)
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
