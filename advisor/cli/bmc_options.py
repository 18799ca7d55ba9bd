"""The options of the commands that talk to a BMC, and the one who is asked at the terminal."""

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from advisor.work.bmc.door import Door

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.cli.output import Form
    from advisor.work.bios import BiosInput
    from advisor.work.bmc.stage import Confirm, Staging

Host = Annotated[str, typer.Option("--bmc", metavar="HOST", help="The BMC: bmc01, bmc01:8443, https://bmc01.")]
AuditHost = Annotated[
    str | None, typer.Option("--bmc", metavar="HOST", help="Read the BIOS through this BMC first, as advisor bios read does.")
]
User = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Who logs in; else ADVISOR_BMC_USER, or a question.")]
PasswordFd = Annotated[
    int | None,
    typer.Option(
        "--password-fd", metavar="N", min=0, help="Read the password from this file descriptor; else ADVISOR_BMC_PASSWORD."
    ),
]
LoginFile = Annotated[
    Path | None, typer.Option("--login-file", metavar="FILE", help="User and password, on two lines of a file with mode 600.")
]
Ca = Annotated[Path | None, typer.Option("--ca", metavar="FILE", help="Trust certificates of this authority.")]
Pin = Annotated[bool, typer.Option("--pin", help="Show the BMC's own certificate once, and trust it from now on after a yes.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="This once, verify nothing and allow http; the record says so.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do it without a question.")]
RecordFile = Annotated[
    Path | None,
    typer.Option("--record", metavar="FILE", help="Save there what is now, before the first write: the way to undo it."),
]
PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="What advisor bios plan wrote.")]


def ask(question: str, *, hidden: bool = False) -> str | None:
    """Ask the person at the terminal; None where none is there."""
    if not sys.stdin.isatty():
        return None
    if hidden:
        return getpass.getpass(question)
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def door(
    bmc: str, user: str | None, password_fd: int | None, login_file: Path | None, ca: Path | None, *, pin: bool, insecure: bool
) -> Door:
    """Return which BMC is asked, and how."""
    return Door(bmc, user, password_fd, login_file, ca, pin, insecure, ask)


def agreed(question: str, *, yes: bool) -> bool:
    """Return whether somebody says yes, on the command line or at the terminal."""
    return yes or (ask(f"{question} [y/N] ") or "").lower() in ("y", "yes")


def confirming(form: "Form", *, yes: bool) -> "Confirm":
    """Return what shows a change before it is staged, and asks."""

    def confirm(staging: "Staging") -> bool:
        from advisor.cli.output import emit
        from advisor.render.bios import staging_page

        if yes:
            return True
        page = staging_page(staging.document(), staging.owner, asking=True, width=form.width)
        emit([page], None, color=form.color, width=form.width)
        return agreed("Stage this for the next restart?", yes=False)

    return confirm


def show_staging(done: "Staging", form: "Form") -> None:
    """Print what was staged."""
    from advisor.cli.output import show
    from advisor.render.bios import staging_page

    show(form, done.document, lambda: staging_page(done.document(), done.owner, asking=False, width=form.width))


def given_bios(bios: "list[Path] | None", bmc: str | None, *, insecure: bool) -> "Sequence[Path] | BiosInput":
    """Return the BIOS of files, or what a BMC has."""
    if bmc is None:
        return bios or ()
    from advisor.errors import BadValue
    from advisor.work.bmc.read import bios_input

    if bios:
        raise BadValue("--bmc and --bios do not go together", cure="give one of the two")
    return bios_input(door(bmc, None, None, None, None, pin=False, insecure=insecure))
