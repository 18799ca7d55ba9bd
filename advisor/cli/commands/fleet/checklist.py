"""Print what is to be done on a fleet: one list for each kind of hardware, each step with the nodes that need it.

Group: Many servers
Example: advisor fleet checklist -w 'n[001-400]' fleet/
Example: advisor fleet checklist fleet/
Example: advisor fleet checklist fleet/ --scope hpl --json
"""

from pathlib import Path

from advisor.cli import fleet_options as fleet_opt
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, show
from advisor.fleet.page import checklist_page
from advisor.fleet.plan import fleet_checklist


@fleet_opt.captures_first
def run(
    *,
    places: list[Path],
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Print the steps of each kind."""
    told = fleet_checklist(places, scope, site=rules or (), observer=Terminal()).document()
    show(Form(output, json, width, not no_color), lambda: told, lambda: checklist_page(told, width))
    return 0
