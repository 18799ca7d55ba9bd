"""Imitated BMCs: the product's twins with what tests need of them: faults, lies, and what was seen.

Their registry is held by an oracle that is apart from the product. What an imitation proves is how a client behaves, not how a
BMC does. Nothing here looks at a clock.
"""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from advisor.bios.twin import ROOT, SESSIONS, STANDARD, TASKS, Twin, extended
from tests.bios.machines import Json, Machine, own
from tests.bios.registry_oracle import Oracle
from tests.bios.wire import Fault, Request, Response

__all__ = ["LIES", "PASSWORD", "ROOT", "SESSIONS", "STANDARD", "TASKS", "USER", "Bmc", "Seen", "extended"]

USER, PASSWORD = "operator", "Corr3ct-horse-battery"
"""The one account; the password is found nowhere else, so that tests can look for it."""
SECRET_HEADERS = ("authorization", "x-auth-token", "cookie")
LIES = (
    "applies nothing",
    "applies another",
    "stays pending",
    "shows early",
    "another uuid",
    "another bios",
    "power lost",
    "drops",
)
"""What a restart, or the write before it, can make wrong behind an answer that sounds right."""


@dataclass
class Seen:
    """A request that came: without its secrets, and with what became of it."""

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: Any
    status: int | None
    fault: str | None


@dataclass
class Bmc(Twin):
    """An imitated BMC; the vendors' habits are its subclasses."""

    machine: Machine = field(default_factory=lambda: own("lenovo"))
    user: str = USER
    password: str = field(default=PASSWORD, repr=False)
    faults: list[Fault] = field(default_factory=list)
    lies: set[str] = field(default_factory=set)
    must_change_password: bool = False
    licensed: bool = True
    on_restart: Callable[["Bmc"], None] | None = None
    alter: dict[str, Callable[[Json], Json]] = field(default_factory=dict)
    """What a test makes of a resource before it is served, by path."""
    seen: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.lies - set(LIES):
            raise ValueError(self.lies)
        super().__post_init__()

    def made_rules(self) -> Any:
        """Return the oracle, which is also what tests ask."""
        self.oracle = Oracle(self.machine.registry)
        return self.oracle

    def bios(self) -> Json:
        """Return the attributes that are applied, or those that wait."""
        told = super().bios()
        return told | {"Attributes": {**told["Attributes"], **self.pending}} if "shows early" in self.lies else told

    def altered(self, path: str, told: Json) -> Json:
        """Return a resource as a test wants it."""
        return self.alter[path](told) if path in self.alter else told

    def note(self, request: Request, status: int | None, fault: str | None) -> None:
        """Take down a request, without what is secret in it."""
        headers = {name: "(secret)" if name in SECRET_HEADERS else text for name, text in request.headers.items()}
        try:
            body = json.loads(request.body) if request.body else None
        except ValueError:
            body = f"{len(request.body)} bytes"
        if isinstance(body, dict):
            body = {name: "(secret)" if name == "Password" else value for name, value in body.items()}
        self.seen.append(Seen(len(self.seen), request.method, request.path, headers, body, status, fault))

    def requests(self, method: str = "", path: str = "") -> list[Seen]:
        """Return the requests seen, of one method and with a text in their path."""
        return [each for each in self.seen if method in ("", each.method) and path in each.path]

    def writes(self) -> list[Seen]:
        """Return all requests that are to change something, but for opening and closing sessions."""
        return [each for each in self.seen if each.method != "GET" and "/Sessions" not in each.path]

    def denied(self, request: Request, path: str) -> Response | None:
        """Return what who may not ask is answered."""
        denied = super().denied(request, path)
        opens = (request.method in ("GET", "HEAD") and (path == ROOT or path in STANDARD)) or path.startswith(SESSIONS)
        if denied is None and self.must_change_password and not (opens and request.method in ("GET", "HEAD", "POST")):
            return Response.of(403, self.change_password())
        return denied

    def change_password(self) -> Json:
        """Return that the password is the factory's (DSP0266, password change required)."""
        account = f"{ROOT}/AccountService/Accounts/1"
        return extended("Base.1.8.PasswordChangeRequired", "The password must be changed before access is granted.", account)

    def log_in(self, body: Json) -> Response:
        """Open a session, and say that the password is to be changed."""
        said = super().log_in(body)
        if said.status != 201 or not self.must_change_password:
            return said
        told = json.loads(said.body) | self.change_password()["error"]
        return Response(said.status, json.dumps(told).encode(), said.headers)

    def pend(self, attributes: Json) -> None:
        """Keep what differs from what is applied, or drop it."""
        if "drops" not in self.lies:
            super().pend(attributes)

    def restart(self) -> None:
        """Start again, as far as this BMC does not lie."""
        if "another uuid" in self.lies:
            self.identity = str(uuid.uuid4())
        if "another bios" in self.lies:
            self.machine.system["BiosVersion"] += ".1"
        super().restart()
        self.power = "Off" if "power lost" in self.lies else "On"
        if self.on_restart:
            self.on_restart(self)

    def apply(self) -> None:
        """Make what is pending the truth, as far as this BMC does not lie."""
        if "stays pending" in self.lies or "power lost" in self.lies:
            return
        super().apply()

    def take_effect(self, values: Json) -> None:
        """Change what is applied, or nothing, or another."""
        if "applies nothing" in self.lies:
            values = {}
        elif "applies another" in self.lies:
            values = {name: self.another(name, value) for name, value in values.items()}
        super().take_effect(values)

    def another(self, name: str, value: Any) -> Any:
        """Return a legal value of an attribute other than one."""
        others = [self.stored(name, each) for each in self.oracle.legal(name)]
        return next((each for each in others if each not in (value, self.applied[name])), self.applied[name])
