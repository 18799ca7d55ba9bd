"""Stage what a BIOS was before, from the record that bios stage wrote. Never restarts anything.

Only what was asked then, and what changed along with it, goes back: what others changed since stays. Refused where the
server, its BIOS or its attribute registry is another than the record's, and where somebody else's change waits.

Group: Change the BIOS
Example: advisor bios undo before.json --bmc bmc01
Example: advisor bios undo before.json --print
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.bios.stage import undo_bios, without_advisor
from advisor.cli.bmc_options import Asked, RecordFile, Unchecked, Yes, asks_bmcs, change, staged_page
from advisor.cli.output import say

ByHand = Annotated[bool, typer.Option("--print", help="Print how to do it without advisor: the vendor's own commands.")]
Saved = Annotated[
    Path, typer.Argument(metavar="RECORD", help="What advisor bios stage saved; %h is the BMC's name, or the node's.")
]


@asks_bmcs
def run(
    saved: Saved,
    *,
    asked: Asked,
    record: RecordFile = None,
    unchecked: Unchecked = None,
    by_hand: ByHand = False,
    yes: Yes = False,
) -> int:
    """Take a change back."""
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
