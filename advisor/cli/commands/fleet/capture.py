"""Store many nodes, each in one file of a folder: nothing is installed on them, and nothing left there.

The script that advisor capture --script prints goes to each node on standard input, over ssh (your own configuration, keys and
known_hosts; clush.conf's ssh options) or as one small job of Slurm for each node; the capture comes back, is checked, and is
kept as DIR/NODE.tar.gz. Run it again to ask those that have not answered; captures that are there are not taken again.

Group: Many servers
Example: advisor fleet capture -w 'n[001-400]' -o fleet
Example: advisor fleet capture --slurm main -o fleet
Example: advisor fleet capture --again failed -o fleet
Example: advisor fleet capture -w @rack1 --fresh-after 1d -o fleet
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli import fleet_options as fleet
from advisor.cli import node_options as nodes
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, show
from advisor.fleet.capture import CaptureOptions, age, capture_fleet
from advisor.fleet.page import captured_page
from advisor.machine.hosts.errands import Way


def run(
    *,
    where: nodes.Where = None,
    hosts: nodes.HostsFile = None,
    slurm: nodes.Slurm = None,
    folder: nodes.Folder = Path("fleet"),
    fresh_after: Annotated[
        str | None, typer.Option("--fresh-after", metavar="AGE", help="Take captures again that are older: 12h, 1d, 2w.")
    ] = None,
    again: nodes.Again = None,
    timeout: nodes.Timeout = 60.0,
    fan_out: nodes.FanOut = 64,
    fail_on_missing: fleet.FailOnMissing = False,
    json: opt.Json = False,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Capture many nodes."""
    oldest = None if fresh_after is None else age(fresh_after)
    how = CaptureOptions(Way(slurm, fan_out, timeout), oldest, again)
    done = capture_fleet(nodes.named(where, hosts), folder, how, Terminal())
    show(Form(None, json, width, not no_color), done.document, lambda: captured_page(done.document(), width))
    return done.status(fail_on_missing=fail_on_missing)
