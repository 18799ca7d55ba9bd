"""Save what a fleet is while it is good, and check later what left it.

'save DIR -o FILE' keeps every fact and finding of each node, without what names it: serial numbers, MACs, GUIDs and host
names are in no baseline; versions of firmware and kernel are. 'check FILE DIR' says which facts are otherwise now and which
findings are new, on which nodes, and between when and when. Exit status of check is 1 where something left the baseline.

Group: Many servers
Example: advisor fleet baseline save fleet/ -o good.json
Example: advisor fleet baseline check good.json fleet/
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, emit_json, show
from advisor.errors import BadValue
from advisor.fleet.baseline import checked_fleet, saved_baseline
from advisor.fleet.page import check_page

Words = Annotated[list[str], typer.Argument(metavar="save DIR | check FILE DIR", help="What to do, and with which fleet.")]


def run(
    words: Words,
    *,
    scope: opt.ScopeOption = "mpi",
    rules: opt.Rules = None,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Save or check a baseline."""
    site, observer = rules or (), Terminal()
    match words:
        case ["save", first, *more]:
            places = [Path(each) for each in (first, *more)]
            emit_json(saved_baseline(places, scope, site=site, observer=observer).model_dump(mode="json"), output)
            return 0
        case ["check", file, first, *more]:
            places = [Path(each) for each in (first, *more)]
            found = checked_fleet(Path(file), places, scope, site=site, observer=observer)
            told = found.document()
            show(Form(output, json, width, not no_color), lambda: told, lambda: check_page(told, width))
            return int(bool(found.checked.left))
    raise BadValue(f"{' '.join(words)[:60]} is neither", cure="write baseline save DIR -o FILE, or baseline check FILE DIR")
