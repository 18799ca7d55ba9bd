"""Read a server's BIOS settings through its BMC (Redfish), with what waits for the next restart. Changes nothing.

The file that -o writes is what --bios of audit, checklist and bios plan takes: every attribute and its value, what waits,
and the registry that says which values there are; secrets, serial numbers and addresses are left out. Without --bmc, on the
node itself, its own BMC is looked for. Of many BMCs each goes into a file of its own. docs/bios.md says what is sent.

Group: Change the BIOS
Example: advisor bios read --bmc bmc01 -o bios.json
Example: advisor bios read -w 'bmc[001-400]' --ca site-ca.pem -o bios/%h.json
Example: advisor bios read --bmc bmc01 --login-file ~/.bmc --ca site-ca.pem -o bios.json
"""

from dataclasses import replace

from advisor.bios.door import Door
from advisor.bios.many import Kept
from advisor.bios.page import read_page
from advisor.bios.reading import BiosReading, read_bios
from advisor.cli.bmc_options import Asked, answer, asks_bmcs, or_own
from advisor.cli.output import emit_json


@asks_bmcs
def run(*, asked: Asked) -> int:
    """Read the BIOS."""

    def task(door: Door) -> BiosReading | Kept:
        place = asked.form.output and asked.file(asked.form.output, door)
        found = read_bios(door)
        if place is None:
            return found
        emit_json(found.document(), place, private=True, indent=None if asked.many else 1)
        return Kept(found.word, place) if asked.many else found

    told = replace(or_own(asked), form=replace(asked.form, output=None))
    return answer(told, "read", task, lambda found, width, **_: read_page(found.bmc, found.owner, found.about(), width))
