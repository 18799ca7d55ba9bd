"""Compare two nodes of a fleet, as advisor diff compares two machines.

Group: Many servers
Example: advisor fleet diff n0001 n0471 fleet/
"""

from advisor.advice.difference_page import difference_document, difference_page
from advisor.cli import fleet_options as fleet_opt
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, show
from advisor.fleet.audit import diff_nodes


def run(
    one: fleet_opt.OneNode,
    other: fleet_opt.OtherNode,
    places: fleet_opt.Places,
    *,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Compare two nodes."""
    found = diff_nodes(places, one, other, scope, site=rules or (), observer=Terminal())
    show(Form(output, json, width, not no_color), lambda: difference_document(found), lambda: difference_page(found))
    return 0
