"""Say what waits for a server's next restart, and the BMC's jobs for it. Changes nothing.

Group: Change the BIOS
Example: advisor bios status --bmc bmc01
"""

from advisor.bios.page import status_page
from advisor.bios.stage import bios_status
from advisor.cli.bmc_options import Asked, answer, asks_bmcs, or_own


@asks_bmcs
def run(*, asked: Asked) -> int:
    """Say what waits."""
    return answer(
        or_own(asked), "status", bios_status, lambda found, width, **_: status_page(found.document(), found.reading.owner, width)
    )
