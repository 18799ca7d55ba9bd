"""Say what waits for a server's next restart, and the BMC's jobs for it. Changes nothing.

Group: Change the BIOS
Example: advisor bios status --bmc bmc01
"""

from advisor.cli import bmc_options as bmc_opt
from advisor.cli import options as opt
from advisor.cli.output import Form, show


def run(
    *,
    bmc: bmc_opt.Host,
    user: bmc_opt.User = None,
    password_fd: bmc_opt.PasswordFd = None,
    login_file: bmc_opt.LoginFile = None,
    ca: bmc_opt.Ca = None,
    pin: bmc_opt.Pin = False,
    insecure: bmc_opt.Insecure = False,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> None:
    """Say what waits."""
    from advisor.render.bios import status_page
    from advisor.work.bmc.stage import bios_status

    found = bios_status(bmc_opt.door(bmc, user, password_fd, login_file, ca, pin=pin, insecure=insecure))
    show(
        Form(output, json, width, not no_color), found.document, lambda: status_page(found.document(), found.reading.owner, width)
    )
