"""Say how an experiment stands, and what it has shown so far. Looks at its folder alone; changes nothing.

Group: Change the BIOS
Example: advisor experiment status experiment-nps-l3
"""

from advisor.cli.experiment_options import FolderArgument
from advisor.cli.options import Json, NoColor, Width
from advisor.cli.output import Form, show


def run(folder: FolderArgument, *, json: Json = False, width: Width = None, no_color: NoColor = False) -> int:
    """Say how it stands."""
    from advisor.render.experiment import result_page
    from advisor.work.experiment.task import experiment_status

    found = experiment_status(folder)
    form = Form(None, json, width, not no_color)
    show(form, found.document, lambda: result_page(found.result, str(folder), form.width))
    return 0
