"""The options of the commands that talk to BMCs, one or many, and the one who is asked at the terminal."""

import getpass
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from typer import Argument, Option

from advisor.advice.bios_files import BiosInput
from advisor.bios.door import Door, nobody, own_bmc
from advisor.bios.many import Told, ask_all, doors_to, for_bmc
from advisor.bios.page import fleet_page, staging_page
from advisor.bios.reading import bios_input
from advisor.cli import options as opt
from advisor.cli.output import Form, Terminal, emit, show
from advisor.errors import AdvisorError, BadValue, CannotWork, Interrupted

if TYPE_CHECKING:
    from rich.console import RenderableType


Bmc = Annotated[str | None, Option("--bmc", metavar="HOST", help="The BMC: bmc01, bmc01:8443, https://bmc01.")]
AuditHost = Annotated[
    str | None, Option("--bmc", metavar="HOST", help="Read the BIOS through this BMC first, as advisor bios read does.")
]
Where = Annotated[
    str | None,
    Option(
        "--hosts", "-w", metavar="LIST", help="Many BMCs: bmc[001-400], a ClusterShell @group, or fleet/ (one node per capture)."
    ),
]
HostsFile = Annotated[
    Path | None,
    Option("--hostfile", metavar="FILE", help="File of BMCs, one per line: bmc01, or a node and its BMC: node01 bmc01."),
]
BmcName = Annotated[
    str | None,
    Option("--bmc-name", metavar="NAME", help="Pattern that turns node names from -w and --hostfile into BMC names: bmc-%h."),
]
User = Annotated[str | None, Option("--user", metavar="NAME", help="BMC user; default: ADVISOR_BMC_USER, or a prompt.")]
PasswordFd = Annotated[
    int | None,
    Option(
        "--password-fd", metavar="N", min=0, help="Read the password from this file descriptor; default: ADVISOR_BMC_PASSWORD."
    ),
]
LoginFile = Annotated[
    Path | None, Option("--login-file", metavar="FILE", help="File with user and password on two lines, mode 600.")
]
Ca = Annotated[Path | None, Option("--ca", metavar="FILE", help="Trust certificates signed by this authority.")]
Pin = Annotated[bool, Option("--pin", help="Show the BMC's own certificate once, and trust it after you confirm it.")]
Insecure = Annotated[
    bool, Option("--insecure", help="Skip certificate checks and allow http for this run; the record notes this.")
]
Yes = Annotated[bool, Option("--yes", help="Do not ask for confirmation.")]
RecordFile = Annotated[
    Path | None,
    Option(
        "--record",
        metavar="FILE",
        help="Save the current values to this file before the first write, for undo; %h is the BMC's name.",
    ),
]
Unchecked = Annotated[
    list[str] | None,
    Option("--unchecked", metavar="NAME", help="Include this attribute although no registry can check it; may be repeated."),
]
PlanArgument = Annotated[
    Path, Argument(metavar="PLAN", help="Plan file from advisor bios plan; %h is the name of the BMC or node.")
]


def ask(question: str, *, hidden: bool = False) -> str | None:
    """Ask the person at the terminal; None where none is there."""
    if not sys.stdin.isatty():
        return None
    if hidden:
        return getpass.getpass(question)
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def agreed(question: str) -> bool:
    """Return whether somebody says yes at the terminal."""
    return (ask(f"{question} [y/N] ") or "").lower() in ("y", "yes")


@dataclass(frozen=True)
class Asked:
    """Which BMCs are asked, and what the answer looks like."""

    doors: tuple[Door, ...]
    many: bool
    form: Form
    base: Door
    begun: str = field(default_factory=lambda: time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))

    def file(self, path: Path, door: Door) -> Path:
        """Return the file of one of them."""
        return for_bmc(path, door, many=self.many)

    def record(self, path: Path | None, doing: str, door: Door) -> Path | None:
        """Return where the record of one of them goes; of many that nobody named, into a folder of this run."""
        if path is None and self.many:
            path = Path(f"bios-{doing}-{self.begun}") / "%h.json"
        return None if path is None else self.file(path, door)


def _shared(
    *,
    bmc: Bmc = None,
    where: Where = None,
    hosts: HostsFile = None,
    bmc_name: BmcName = None,
    user: User = None,
    password_fd: PasswordFd = None,
    login_file: LoginFile = None,
    ca: Ca = None,
    pin: Pin = False,
    insecure: Insecure = False,
    json: opt.Json = False,
    output: opt.Output = None,
    width: opt.Width = None,
    no_color: opt.NoColor = False,
) -> Asked:
    """Return which BMCs the options of every command name; none, where none is named."""
    form, many = Form(output, json, width, not no_color), where is not None or hosts is not None
    base = Door(bmc or "", user, password_fd, login_file, ca, pin, insecure, ask)
    opt.at_most_one({"--bmc": bmc is not None, "-w and --hostfile": many})
    if bmc_name is not None and not many:
        raise BadValue("--bmc-name needs node names", cure="name them with -w or --hostfile")
    if many:
        return Asked(doors_to(base, where, hosts, bmc_name), many=True, form=form, base=base)
    return Asked((base,) if bmc is not None else (), many=False, form=form, base=base)


def asks_bmcs(run: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which BMCs are asked; it takes them as ``asked``."""
    return opt.with_several(run, "asked", _shared)


def or_own(asked: Asked) -> Asked:
    """Return what is asked, or where nothing is named this node's own BMC."""
    return asked if asked.doors else replace(asked, doors=(replace(asked.base, bmc=own_bmc()),))


One = TypeVar("One", bound="Told")


class Page(Protocol):
    """Draws what one BMC told."""

    def __call__(self, found: Any, width: int | None, *, asking: bool) -> "RenderableType":
        """Return the page of it; ``asking`` where it is about to be done."""


def answer(asked: Asked, doing: str, task: Callable[[Door], One], page: Page) -> int:
    """Ask one BMC and show what it tells, or many and show it folded; return the exit status."""
    if not asked.many:
        if not asked.doors:
            raise CannotWork("no BMC given; give --bmc HOST, -w LIST or --hostfile FILE")
        found = task(asked.doors[0])
        show(asked.form, found.document, lambda: page(found, asked.form.width, asking=False))
        return int(not found.good)

    fleet = ask_all(doing, asked.doors, task, Terminal())
    show(asked.form, fleet.document, lambda: fleet_page(fleet.summary(), asked.form.width))
    return fleet.status


Confirmed = Callable[[Any], bool | None]


def change(asked: Asked, doing: str, task: Callable[[Door, Confirmed], One], page: Page, question: str, *, yes: bool) -> int:
    """Change something: shown first and asked about, unless ``yes``; of many all are looked at, and asked about together."""

    def confirm(found: Any) -> bool:
        if yes or asked.many:
            return True
        emit([page(found, asked.form.width, asking=True)], None, color=asked.form.color, width=asked.form.width)
        return agreed(question)

    if asked.many and not yes:
        asked = _agreed_to(asked, doing, task, question)
    try:
        return answer(asked, doing, lambda door: task(door, confirm), page)
    except KeyboardInterrupt as error:
        raise Interrupted(str(error) or "interrupted") from None


def _agreed_to(asked: Asked, doing: str, task: Callable[[Door, Confirmed], One], question: str) -> Asked:
    """Return the BMCs that can do it, once somebody has seen what it is on each, and said yes."""
    fleet = ask_all(f"{doing}: look", asked.doors, lambda door: task(door, lambda _: None), Terminal())
    emit([fleet_page(fleet.summary(), asked.form.width)], None, color=asked.form.color, width=asked.form.width)
    able = {each.name for each in fleet.outcomes if each.told is not None}
    if fleet.interrupted or not able or not agreed(f"{question} On {len(able)} of {len(asked.doors)} BMCs."):
        raise CannotWork("nothing was changed: not confirmed")
    return replace(asked, doors=tuple(door for door in asked.doors if door.name in able))


def staged_page(found: Any, width: int | None, *, asking: bool) -> "RenderableType":
    """Return what is about to be staged, or was."""
    return staging_page(found.document(), found.owner, asking=asking, width=width)


@dataclass(frozen=True)
class GivenBios:
    """Where a command finds the BIOS of the machine it looks at: in files, or through a BMC."""

    files: tuple[Path, ...] = ()
    bmc: str | None = None
    login_file: Path | None = None
    ca: Path | None = None
    pin: bool = False
    insecure: bool = False

    @property
    def there(self) -> bool:
        """Whether an option names it."""
        return bool(self.files) or self.bmc is not None

    @property
    def words(self) -> tuple[str, ...]:
        """The options that make another command read the same data."""
        files = {"--bios": self.files, "--login-file": (self.login_file,), "--ca": (self.ca,)}
        named = tuple(word for option, paths in files.items() for path in paths if path for word in (option, str(path)))
        return (*(("--bmc", self.bmc) if self.bmc else ()), *named, *(("--insecure",) if self.insecure else ()))

    def read(self, observer: Terminal, *, here: bool) -> Sequence[Path] | BiosInput:
        """Return files, or what a BMC has: of this machine its own, where credentials for it are in the environment."""
        door = Door(self.bmc or "", login_file=self.login_file, ca=self.ca, pin=self.pin, insecure=self.insecure, ask=ask)
        if not door.bmc and (self.files or not here or not (door.login_file or all(door.given))):
            return self.files

        try:
            return bios_input(door if door.bmc else replace(door, bmc=own_bmc(), ask=ask if door.pin else nobody))
        except AdvisorError as error:
            if self.bmc is not None:
                raise
            observer.say(f"BIOS settings not read from the BMC: {error}")
            return ()


NO_BIOS = GivenBios()


def _bios_of(
    *,
    bios: opt.Bios = None,
    bmc: AuditHost = None,
    login_file: LoginFile = None,
    ca: Ca = None,
    pin: Pin = False,
    insecure: Insecure = False,
) -> GivenBios:
    """Return where the BIOS is read."""
    opt.at_most_one({"--bmc": bmc is not None, "--bios": bool(bios)})
    return GivenBios(tuple(bios or ()), bmc, login_file, ca, pin, insecure)


def reads_bios(run: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that looks at a machine --bios and --bmc; it takes them as ``bios``."""
    return opt.with_several(run, "bios", _bios_of)
