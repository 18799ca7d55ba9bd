"""Lay our figures and those of another program beside each other.

Each file is what advisor measure --save FILE wrote, or the output of another program as advisor measure import reads it; of
that --from says which machine, and --placed which part of it. Of several figures of a kind the best is taken.

Group: Compare
Example: advisor measure compare node.json stream.log --from node.tar.gz --placed machine
"""

from pathlib import Path
from typing import Annotated

import typer

from advisor.cli import import_options as imports
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, show

First = Annotated[Path, typer.Argument(metavar="FIRST", help="Results of advisor measure, or another program's output.")]
Second = Annotated[Path, typer.Argument(metavar="SECOND", help="The same; its figures are shown through the first's.")]


def run(
    first: First,
    second: Second,
    *,
    source: imports.MeasuredMachine = None,
    placed: imports.Placed = None,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> int:
    """Lay figures beside each other."""
    from advisor.advice.imported import compare_measured
    from advisor.measure.page import compared_document, compared_page

    form = Form(output, json, width, not no_color)
    rows = compare_measured(first, second, source, placed, Terminal())
    names = (first.name, second.name)
    show(form, lambda: compared_document(rows, names), lambda: compared_page(rows, names, form.width))
    return 0
