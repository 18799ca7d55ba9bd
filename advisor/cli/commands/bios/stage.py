"""Stage a plan of BIOS changes through a BMC, for the next restart. Never restarts anything.

Shows what changes and what changes along with it, and asks; --yes answers. What is set now is saved first, in the file
that --record names: advisor bios undo takes it. Refused where somebody else's change waits already, where a value is not
legal on this server, and where the plan is of another server or another BIOS. A BMC without an attribute registry lets
nobody check values: each of them is named with --unchecked, or it is refused. What was written is read again: what a BMC
accepted and dropped is an error.

Group: Change the BIOS
Example: advisor bios stage plan.yaml --bmc bmc01
Example: advisor bios stage plans/%h.yaml -w 'bmc[001-400]' --record before/%h.json
Example: advisor bios stage plan.yaml --bmc bmc01 --yes --record before.json
"""

from advisor.bios.stage import stage_bios
from advisor.cli.bmc_options import Asked, PlanArgument, RecordFile, Unchecked, Yes, asks_bmcs, change, staged_page


@asks_bmcs
def run(plan: PlanArgument, *, asked: Asked, record: RecordFile = None, unchecked: Unchecked = None, yes: Yes = False) -> int:
    """Stage the changes."""
    return change(
        asked,
        "stage",
        lambda door, confirm: stage_bios(door.of(plan), door, asked.record(record, "stage", door), confirm, unchecked or ()),
        staged_page,
        "Stage this for the next restart?",
        yes=yes,
    )
