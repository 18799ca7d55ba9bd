"""Opens the door to a BMC, this node's own too: who logs in, by what the BMC is known, where a pinned certificate is kept."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Protocol

from advisor.bios.connection import Address, Login, Secret, Trust, address_of
from advisor.errors import BadInput, BadTable, BadValue, CannotWork
from advisor.machine.hosts.base import Host
from advisor.machine.hosts.files import Use, at_home, open_trusted, trusted, write_file
from advisor.machine.hosts.live import LiveHost
from advisor.machine.sources.smbios import TABLE, redfish_addresses, structures

if TYPE_CHECKING:
    from advisor.bios.session import Session


USER = "ADVISOR_BMC_USER"
PASSWORD = "ADVISOR_BMC_PASSWORD"  # noqa: S105 - the variable's name
PINS = Path("~/.config/advisor/bmc-certificates.json")
_LONGEST = 1024


class Ask(Protocol):
    """Asks the person at the terminal, with an echo or without; None where nobody is there."""

    def __call__(self, question: str, *, hidden: bool = False) -> str | None:
        """Return the answer."""


def nobody(question: str, *, hidden: bool = False) -> str | None:
    """Answer nothing: no person is there."""
    del question, hidden
    return None


def _of_environment() -> tuple[str | None, Secret | None]:
    """Return the user and the password of the environment, which no child of this process then inherits."""
    return os.environ.pop(USER, None), Secret(os.environ.pop(PASSWORD)) if PASSWORD in os.environ else None


def plain_name(bmc: str) -> str:
    """Return a BMC's name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", bmc.removeprefix("https://").removeprefix("http://")).strip("-.") or "bmc"


@dataclass(frozen=True)
class Door:
    """Which BMC, and how it is asked: what the options of a command say."""

    bmc: str
    user: str | None = None
    password_fd: int | None = None
    login_file: Path | None = None
    ca: Path | None = None
    pin: bool = False
    insecure: bool = False
    ask: Ask = nobody
    given: tuple[str | None, Secret | None] = field(default_factory=_of_environment, repr=False)
    stop: Event | None = None
    """Set where somebody interrupts while several are asked."""
    node: str | None = None
    """The name of the server itself, where it was named and not its BMC: files and Slurm know it by this."""

    @property
    def name(self) -> str:
        """Return the name by which it was asked for: the node's, or else the BMC's."""
        return self.node or self.bmc

    def of(self, path: Path) -> Path:
        """Return a file of this one: %h stands for its name."""
        return Path(str(path).replace("%h", plain_name(self.name)))

    def open(self) -> "Session":
        """Return the BMC's session, to be used in a with-block."""
        from advisor.bios.session import Session, certificate_of  # the one place that loads the Redfish library: it takes long

        given = [name for name, is_given in (("--ca", self.ca), ("--pin", self.pin), ("--insecure", self.insecure)) if is_given]
        if len(given) > 1:
            raise BadValue(f"{given[0]} and {given[1]} cannot be combined", cure="give only one of the two")
        address = address_of(self.bmc, insecure=self.insecure)
        if self.ca is not None and not self.ca.is_file():
            raise BadInput("no such file", file=str(self.ca), cure="give the CA certificate as PEM")
        if self.ca is not None:
            trusted(self.ca, Use.NAMED)
        pin = None if self.insecure or self.ca or address.scheme == "http" else self._pin(address, certificate_of)
        return Session(address, self.login(), Trust(self.ca, pin, self.insecure), self.stop)

    def login(self, name: str | None = None) -> Login:
        """Return who logs in: a file, a file descriptor, the environment, or a person; never a command line."""
        own, word = self.given
        bmc = name or self.bmc
        if self.login_file is not None:
            return _of_file(self.login_file)
        user = self.user or own
        if self.password_fd is not None:
            word = _of_descriptor(self.password_fd)
        user = user or self.ask(f"User of {bmc}: ")
        if not user:
            raise CannotWork(f"no user for {bmc}: set {USER} and {PASSWORD}, or give --user or --login-file")
        if word is None:
            word = Secret(self.ask(f"Password of {user} at {bmc}: ", hidden=True) or "")
        if not word:
            raise CannotWork(f"no password for {bmc}: set {PASSWORD}, or give --login-file or --password-fd")
        return Login(user, word)

    def _pin(self, address: Address, certificate_of: Callable[[str, int], bytes]) -> str | None:
        """Return the certificate that is pinned for a BMC; with --pin it is shown once, and saved after a yes."""
        known, name = _pins(), f"{address.host}:{address.port}"
        if not self.pin:
            return known.get(name)
        try:
            found = sha256(certificate_of(address.host, address.port)).hexdigest()
        except CannotWork as error:
            raise CannotWork(f"{address.name}: {error}") from None
        if known.get(name) == found:
            return found
        was = f" The pinned SHA-256 was {known[name]}." if name in known else ""
        shown = f"{address.name} presents a certificate with SHA-256 {found}.{was}"
        text = f"{shown}\nCompare it with the BMC's own web page. Trust it from now on? [y/N] "
        if (self.ask(text) or "").strip().lower() not in ("y", "yes"):
            raise CannotWork(f"{address.name}: its certificate was not confirmed at a terminal; nothing was sent to it")
        place = at_home(PINS)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_file(place, (json.dumps({**known, name: found}, indent=1) + "\n").encode(), private=True)
        return found


def _pins() -> dict[str, str]:
    place = at_home(PINS)
    trusted(place)  # what is not there yet may be written soon
    try:
        with open_trusted(place) as file:
            found = json.loads(file.read())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadInput("not a valid file of pinned certificates", file=str(place), cure="remove it, and pin again") from error
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise BadInput("contains no pinned certificates", file=str(place), cure="remove it, and pin again")
    return found


def _of_file(path: Path) -> Login:
    """Return the user and the password of a file's first two lines, which nobody but its owner may read."""
    try:
        with open_trusted(path) as file:
            if os.fstat(file.fileno()).st_mode & 0o170077 != 0o100000:
                raise BadInput("readable by other users", file=str(path), cure=f"chmod 600 {path}; you must own the file")
            lines = list(map(Secret, file.read(_LONGEST).decode("utf-8").splitlines()))  # no frame has one as it is
    except UnicodeDecodeError:
        raise BadInput("not UTF-8 text", file=str(path)) from None
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), file=str(path)) from None
    if len(lines) < 2 or not lines[0].strip():
        raise BadInput(
            "contains no login", file=str(path), cure="write the user name on the first line, the password on the second"
        )
    return Login(lines[0].strip(), lines[1])  # strip: a user is shown


def _of_descriptor(number: int) -> Secret:
    """Return the password that a file descriptor holds, up to its first line's end."""
    try:
        with os.fdopen(number, "rb") as file:
            return Secret(file.read(_LONGEST).decode("utf-8").split("\n", 1)[0].rstrip("\r"))
    except (OSError, UnicodeDecodeError):
        raise BadValue(
            f"no password can be read from file descriptor {number}", cure="open it: --password-fd 3 3< FILE"
        ) from None


def own_bmc(host: Host | None = None) -> str:
    """Return the address of this node's own BMC; nothing is asked over the network for it."""
    here = host or LiveHost()
    found = _by_smbios(here) or _by_ipmi(here)
    if found is None:
        raise CannotWork(
            "this node's own BMC was not found: no Redfish host interface in SMBIOS (type 42), and no address from ipmitool; "
            "give --bmc HOST, or run as root"
        )
    return found


def _by_smbios(host: Host) -> str | None:

    reading = host.read(TABLE)
    if reading.why:
        return None
    try:
        return next(iter(redfish_addresses(structures(reading.data))), None)
    except BadTable:
        return None


def _by_ipmi(host: Host) -> str | None:
    text = host.run(("ipmitool", "lan", "print")).text or ""
    match = re.search(r"^IP Address\s*:\s*((?:\d{1,3}\.){3}\d{1,3})\s*$", text, re.MULTILINE)
    return match[1] if match and match[1] != "0.0.0.0" else None  # noqa: S104 - an address that is not set
