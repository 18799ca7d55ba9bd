"""Say how an experiment stands, and what it has shown so far. Looks at its folder alone; changes nothing.

Group: Change the BIOS
Example: advisor experiment status experiment-nps-l3
Example: advisor experiment status experiment-nps-l3 --svg nps.svg
"""

from advisor.bios.experiment import experiment_status
from advisor.bios.experiment_page import experiment_chart, result_page
from advisor.cli.experiment_options import FolderArgument, Svg
from advisor.cli.options import Json, NoColor, Width
from advisor.cli.output import Form, show
from advisor.machine.hosts.files import write_file


def run(folder: FolderArgument, *, svg: Svg = None, json: Json = False, width: Width = None, no_color: NoColor = False) -> int:
    """Say how it stands."""
    found = experiment_status(folder)
    form = Form(None, json, width, not no_color)
    if svg is not None:
        write_file(svg, experiment_chart(found.result))
    show(form, found.document, lambda: result_page(found.result, str(folder), form.width))
    return 0
