"""Read a server's BIOS settings through its BMC (Redfish), with what waits for the next restart. Changes nothing.

The file that -o writes is what --bios of audit, checklist and bios plan takes: every attribute and its value, what waits,
and the registry that says which values there are. Secrets, serial numbers and addresses are left out. User and password
come from ADVISOR_BMC_USER and ADVISOR_BMC_PASSWORD, a file descriptor, a file that is yours alone, or a question; never
from the command line. docs/bios.md says what is sent, and how a certificate is trusted.

Group: Change the BIOS
Example: advisor bios read --bmc bmc01 -o bios.json
Example: advisor bios read --bmc bmc01 --login-file ~/.bmc --ca site-ca.pem -o bios.json
"""

from advisor.cli import bmc_options as bmc_opt
from advisor.cli import options as opt
from advisor.cli.output import Form, emit_json, show


def run(
    *,
    bmc: bmc_opt.Host,
    output: opt.Output = None,
    user: bmc_opt.User = None,
    password_fd: bmc_opt.PasswordFd = None,
    login_file: bmc_opt.LoginFile = None,
    ca: bmc_opt.Ca = None,
    pin: bmc_opt.Pin = False,
    insecure: bmc_opt.Insecure = False,
    json: opt.Json = False,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> None:
    """Read the BIOS of one server."""
    from advisor.render.bios import read_page
    from advisor.work.bmc.read import read_bios

    found = read_bios(bmc_opt.door(bmc, user, password_fd, login_file, ca, pin=pin, insecure=insecure))
    if output is not None:
        emit_json(found.document(), output, private=True)
    show(Form(None, json, width, not no_color), found.document, lambda: read_page(found.bmc, found.owner, found.about(), width))
