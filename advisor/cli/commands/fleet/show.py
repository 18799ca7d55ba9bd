"""Show one line of the fleet's screen in full, or everything it says of one node.

WHAT is the number of a finding on the screen of advisor fleet audit, the id of its rule, or the name of a node.

Group: Many servers
Example: advisor fleet show 1 fleet/
Example: advisor fleet show n0471 fleet/
"""

from advisor.cli import fleet_options as fleet_opt
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, show
from advisor.fleet.audit import audit_fleet
from advisor.fleet.page import node_document, node_page, wrong_document, wrong_page


def run(
    what: fleet_opt.What,
    places: fleet_opt.Places,
    *,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Show one of many."""
    found = audit_fleet(places, scope, site=rules or (), observer=Terminal())
    form = Form(output, json, width, not no_color)
    wrong = found.wrong_named(what)
    if wrong is not None:
        show(form, lambda: wrong_document(wrong), lambda: wrong_page(wrong, found.source_of(wrong.nodes), width))
    else:
        node = found.node_named(what)
        told, usual = node_document(found.fleet, node), found.usual_beside(node)
        compare = ("advisor", "fleet", "diff", usual, node, *map(str, places)) if usual else ()
        show(form, lambda: told, lambda: node_page(told, found.source_of(node), compare, width))
    return 0
