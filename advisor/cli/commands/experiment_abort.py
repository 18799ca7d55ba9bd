"""End an experiment and put every setting back to what it was; restarts the servers where that takes a restart.

Takes back what was staged, what took effect and what was written to the running kernel. Asks first; --yes answers. What was
measured so far is kept, and experiment --resume would go on with it. Should it fail, DIR/home-NODE.json goes back by hand:
advisor bios undo DIR/home-NODE.json --bmc HOST, and --print says how without advisor.

Group: Change the BIOS
Example: advisor experiment abort experiment-nps-l3 --login-file ~/.bmc --ca site-ca.pem
"""

from advisor.bios import experiment as task
from advisor.cli.bmc_options import Asked, Yes, agreed, asks_bmcs
from advisor.cli.commands.experiment import shown
from advisor.cli.experiment_options import FolderArgument
from advisor.cli.output import Terminal
from advisor.errors import CannotWork


@asks_bmcs
def run(folder: FolderArgument, *, asked: Asked, yes: Yes = False) -> int:
    """Take it back."""
    doors = task.doors_of(folder, asked.base)
    if not yes and not agreed(f"Put back {', '.join(door.name for door in doors)}, with a restart where it takes one?"):
        raise CannotWork("nothing was changed, for nobody said yes")
    observer = Terminal()
    return shown(task.resume_experiment(folder, doors, only_back=True, observer=observer), asked.form, observer)
