"""Imitated BMCs: one class for each maker's habits, every habit with the place where it was seen.

What an imitation proves is how a client behaves, not how a BMC does. Nothing here looks at a clock: what takes its time on a
real BMC takes a number of requests here.
"""

import base64
import hashlib
import json
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from tests.bios.machines import Json, Machine, own
from tests.bios.registry_oracle import Oracle
from tests.bios.wire import Fault, Request, Response

USER, PASSWORD = "operator", "Corr3ct-horse-battery"
"""The one account; the password is found nowhere else, so that tests can look for it."""
SECRET_HEADERS = ("authorization", "x-auth-token", "cookie")
ROOT = "/redfish/v1"
SESSIONS = f"{ROOT}/SessionService/Sessions"
TASKS = f"{ROOT}/TaskService/Tasks"
_METADATA = """<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0"><edmx:DataServices>
<Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">
<EntityContainer Name="Service" Extends="ServiceRoot.v1_9_0.ServiceContainer"/></Schema></edmx:DataServices></edmx:Edmx>"""
_SERVICES = ("Systems", "Managers", "SessionService", "TaskService", "Registries")
STANDARD = {
    "/redfish": Response.of(200, {"v1": f"{ROOT}/"}),
    f"{ROOT}/$metadata": Response(200, _METADATA.encode(), {"Content-Type": "application/xml"}),
    f"{ROOT}/odata": Response.of(
        200,
        {
            "@odata.context": f"{ROOT}/$metadata",
            "value": [{"name": "Service", "kind": "Singleton", "url": f"{ROOT}/"}]
            + [{"name": name, "kind": "Singleton", "url": f"{ROOT}/{name}"} for name in _SERVICES],
        },
    ),
}
"""What every service has (DSP0266), for whoever asks."""
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


def extended(identity: str, message: str = "", *arguments: str, resolution: str = "None") -> Json:
    """Return an error as Redfish words it."""
    told = {"@odata.type": "#Message.v1_1_1.Message", "MessageId": identity, "MessageArgs": list(arguments)}
    told |= {"Message": message or identity, "Severity": "Warning", "Resolution": resolution}
    return {"error": {"code": "Base.1.8.GeneralError", "message": "See ExtendedInfo.", "@Message.ExtendedInfo": [told]}}


@dataclass
class Bmc:
    """A BMC with one system, its Bios, settings object, registry and sessions; the makers' habits are its subclasses."""

    machine: Machine = field(default_factory=lambda: own("lenovo"))
    faults: list[Fault] = field(default_factory=list)
    lies: set[str] = field(default_factory=set)
    session_limit: int = 8
    must_change_password: bool = False
    licensed: bool = True
    enforces: bool = True
    """Whether the registry's dependencies are held at writes, and carried out at restarts."""
    polls: int = 2
    """Looks at a job, or at the system, that a restart takes."""
    on_restart: Callable[["Bmc"], None] | None = None
    identity: str = field(default_factory=lambda: str(uuid.uuid4()))
    firmware: str = "7.00.00.00"
    alter: dict[str, Callable[[Json], Json]] = field(default_factory=dict)
    """What a test makes of a resource before it is served, by path."""
    url: str = ""
    seen: list[Seen] = field(default_factory=list)
    resets: list[str] = field(default_factory=list)
    opened: int = 0
    closed: int = 0
    whole: ClassVar[bool] = False
    """Whether the settings object is a copy of all attributes, or holds only what differs."""
    weak: ClassVar[bool] = False
    apply_times: ClassVar[tuple[str, ...]] = ()
    reset_types: ClassVar[tuple[str, ...]] = ("On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart")
    progress: ClassVar[bool] = False
    """Whether the system tells how far its start is."""

    def __post_init__(self) -> None:
        if self.lies - set(LIES):
            raise ValueError(self.lies)
        self.applied: Json = dict(self.machine.attributes)
        self.pending: Json = {}
        self.tokens: dict[str, str] = {}
        self.jobs: dict[str, Json] = {}
        self.settled: Json | None = None
        self.power = "On"
        self.starting = 0
        self.boots = 0
        self.paths = {name: self.plain(path) for name, path in self.machine.paths.items()}
        self.oracle = Oracle(self.machine.registry)
        self._registry: bytes | None = None

    # what is there

    def plain(self, path: str) -> str:
        """Return a path as this BMC tells paths apart."""
        return path.rstrip("/")

    def resources(self) -> dict[str, Callable[[], Json]]:
        """Return what makes each resource, by path."""
        paths = self.paths
        collections = {
            f"{ROOT}/Systems": ("ComputerSystemCollection", [self.machine.paths["system"]]),
            f"{ROOT}/Managers": ("ManagerCollection", [self.machine.paths["manager"]]),
            f"{ROOT}/Registries": ("MessageRegistryFileCollection", [f"{ROOT}/Registries/Bios"]),
            SESSIONS: ("SessionCollection", [f"{SESSIONS}/{name}" for name in self.tokens.values()]),
            TASKS: ("TaskCollection", [f"{TASKS}/{name}" for name in self.jobs]),
        }
        made: dict[str, Callable[[], Json]] = {
            ROOT: self.root,
            f"{ROOT}/SessionService": self.session_service,
            f"{ROOT}/TaskService": self.task_service,
            f"{ROOT}/Registries/Bios": self.registry_file,
            paths["system"]: self.system,
            paths["manager"]: self.manager,
            paths["bios"]: self.bios,
            paths["settings"]: self.settings,
        }
        made |= {path: partial(self.collection, path, *of) for path, of in collections.items()}
        made |= {f"{SESSIONS}/{name}": partial(self.session, name) for name in self.tokens.values()}
        return made | {f"{TASKS}/{name}": partial(self.task, name) for name in self.jobs}

    def root(self) -> Json:
        """Return the service's root."""
        return {
            **_head("ServiceRoot.v1_9_0.ServiceRoot", f"{ROOT}/", "Root Service"),
            "RedfishVersion": "1.11.0",
            "UUID": str(uuid.uuid5(uuid.NAMESPACE_URL, self.identity)),
            "Vendor": self.machine.system["Manufacturer"],
            "Systems": _link(f"{ROOT}/Systems"),
            "Managers": _link(f"{ROOT}/Managers"),
            "SessionService": _link(f"{ROOT}/SessionService"),
            "Tasks": _link(f"{ROOT}/TaskService"),
            "Registries": _link(f"{ROOT}/Registries"),
            "Links": {"Sessions": _link(SESSIONS)},
        }

    def collection(self, path: str, kind: str, members: list[str]) -> Json:
        """Return a collection."""
        links = [_link(member) for member in members]
        told = {"@odata.id": path, "@odata.type": f"#{kind}.{kind}", "Name": kind}
        return told | {"Members@odata.count": len(links), "Members": links}

    def session_service(self) -> Json:
        """Return the service of sessions."""
        head = _head("SessionService.v1_1_8.SessionService", f"{ROOT}/SessionService", "Session Service")
        return head | {"ServiceEnabled": True, "SessionTimeout": 1800, "Sessions": _link(SESSIONS)}

    def task_service(self) -> Json:
        """Return the service of tasks."""
        head = _head("TaskService.v1_2_0.TaskService", f"{ROOT}/TaskService", "Task Service")
        return head | {"ServiceEnabled": True, "Tasks": _link(TASKS)}

    def session(self, name: str) -> Json:
        """Return an open session."""
        return _head("Session.v1_3_0.Session", f"{SESSIONS}/{name}", "User Session") | {"UserName": USER}

    def task(self, name: str) -> Json:
        """Return a task; of a running one each look brings its end nearer."""
        job = self.jobs[name]
        if job["TaskState"] == "Running":
            job["looks"] += 1
            if job["looks"] >= self.polls:
                self.finish(job)
        return {key: value for key, value in job.items() if key != "looks"}

    def finish(self, job: Json) -> None:
        """End a job whose restart has gone on for long enough."""
        self.apply()
        job.update(TaskState="Completed", TaskStatus="OK", PercentComplete=100)

    def registry_file(self) -> Json:
        """Return where the attribute registry is to be had."""
        head = _head("MessageRegistryFile.v1_0_4.MessageRegistryFile", f"{ROOT}/Registries/Bios", "BIOS Attributes")
        where = [{"Language": "en", "Uri": self.machine.paths["registry"]}]
        return head | {"Registry": self.registry_name(), "Languages": ["en"], "Location": where}

    def registry_name(self) -> str:
        """Return the name by which Bios and the registry's file call the registry."""
        name: str = self.machine.registry["Id"]
        return name

    def system(self) -> Json:
        """Return the system; while it starts each look brings it further."""
        self.starting = max(self.starting - 1, 0)
        told = {
            **_head("ComputerSystem.v1_16_0.ComputerSystem", self.machine.paths["system"], "System"),
            **self.machine.system,
            "UUID": self.identity,
            "PowerState": self.power,
            "SystemType": "Physical",
            "Bios": _link(self.machine.paths["bios"]),
            "Links": {"ManagedBy": [_link(self.machine.paths["manager"])]},
            "Actions": {"#ComputerSystem.Reset": self.reset_action()},
        }
        if self.progress:
            told["BootProgress"] = {"LastState": "SystemHardwareInitializationComplete" if self.starting else "OSRunning"}
        return told

    def reset_action(self) -> Json:
        """Return how a restart is asked for."""
        return {"target": self.reset_path(), "ResetType@Redfish.AllowableValues": list(self.reset_types)}

    def reset_path(self) -> str:
        """Return where restarts are posted to."""
        return f"{self.machine.paths['system']}/Actions/ComputerSystem.Reset"

    def manager(self) -> Json:
        """Return the BMC itself."""
        head = _head("Manager.v1_10_0.Manager", self.machine.paths["manager"], "Manager")
        return head | {"ManagerType": "BMC", "FirmwareVersion": self.firmware, "Status": {"State": "Enabled", "Health": "OK"}}

    def bios(self) -> Json:
        """Return the attributes that are applied."""
        shown = {**self.applied, **self.pending} if "shows early" in self.lies else self.applied
        return {
            **_head("Bios.v1_2_0.Bios", self.machine.paths["bios"], "BIOS Configuration Current Settings"),
            "AttributeRegistry": self.registry_name(),
            "Attributes": dict(shown),
            "@Redfish.Settings": self.redfish_settings(),
            "Actions": {
                f"#Bios.{name}": {"target": f"{self.machine.paths['bios'].rstrip('/')}/Actions/Bios.{name}"}
                for name in ("ResetBios", "ChangePassword")
            },
        }

    def redfish_settings(self) -> Json:
        """Return where changes are written to, when they can be applied, and how the last ones went."""
        told: Json = {"@odata.type": "#Settings.v1_3_0.Settings", "SettingsObject": _link(self.machine.paths["settings"])}
        if self.apply_times:
            told["SupportedApplyTimes"] = list(self.apply_times)
        return told | (self.settled or {})

    def settings(self) -> Json:
        """Return the settings object."""
        head = _head("Bios.v1_2_0.Bios", self.machine.paths["settings"], "BIOS Configuration Pending Settings")
        shown = {**self.applied, **self.pending} if self.whole else dict(self.pending)
        return head | {"AttributeRegistry": self.registry_name(), "Attributes": shown}

    def etag(self, resource: Json | None) -> str:
        """Return a resource's tag."""
        digest = hashlib.sha256(json.dumps(resource, sort_keys=True).encode()).hexdigest()[:16]
        return f'W/"{digest}"' if self.weak else f'"{digest}"'

    # who asks

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
        if request.method in ("GET", "HEAD") and (path == ROOT or path in STANDARD):
            return None
        if request.method == "POST" and path in (SESSIONS, f"{SESSIONS}/Members"):
            return None
        given = request.headers.get("authorization", "")
        basic = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if request.headers.get("x-auth-token") not in self.tokens and not secrets.compare_digest(given, basic):
            return Response.of(401, extended("Base.1.8.NoValidSession", "There is no valid session."))
        return Response.of(403, self.change_password()) if self.must_change_password else None

    def change_password(self) -> Json:
        """Return that the password is the factory's (DSP0266, password change required)."""
        account = f"{ROOT}/AccountService/Accounts/1"
        return extended("Base.1.8.PasswordChangeRequired", "The password must be changed before access is granted.", account)

    def log_in(self, body: Json) -> Response:
        """Open a session, of which there is a limited number."""
        if (body.get("UserName"), body.get("Password")) != (USER, PASSWORD):
            return Response.of(401, extended("Base.1.8.ResourceAtUriUnauthorized", "Wrong user or password."))
        if len(self.tokens) >= self.session_limit:
            return Response.of(503, extended("Base.1.8.SessionLimitExceeded", "Too many sessions are open."))
        token, name = secrets.token_hex(16), f"{self.opened + 1}"
        self.tokens[token] = name
        self.opened += 1
        said = self.session(name) | (self.change_password()["error"] if self.must_change_password else {})
        return Response.of(201, said, X_Auth_Token=token, Location=self.location(f"{SESSIONS}/{name}"))

    def log_out(self, path: str) -> Response:
        """Close a session."""
        found = [token for token, name in self.tokens.items() if path == f"{SESSIONS}/{name}"]
        if not found:
            return self.absent(path)
        del self.tokens[found[0]]
        self.closed += 1
        return Response.of(204)

    def location(self, path: str) -> str:
        """Return how this BMC words a Location."""
        return path

    # what is asked

    def answer(self, request: Request) -> Response:
        """Carry a request out."""
        path = self.plain(request.path)
        denied = self.denied(request, path)
        if denied:
            return denied
        try:
            body = json.loads(request.body or b"{}")
        except ValueError:
            return Response.of(400, extended("Base.1.8.MalformedJSON", "The request body is no JSON."))
        if request.headers.get("odata-version", "4.0") != "4.0":
            return Response.of(412, extended("Base.1.8.PreconditionFailed", "OData-Version is 4.0."))
        if request.method in ("GET", "HEAD"):
            return self.get(path)
        if request.method == "POST":
            return self.log_in(body) if path in (SESSIONS, f"{SESSIONS}/Members") else self.post(path, body)
        if request.method == "PATCH":
            return self.patch(path, body, request.headers)
        return self.delete(path) if request.method == "DELETE" else Response.of(405, Allow="GET")

    def get(self, path: str) -> Response:
        """Return a resource with its tag."""
        if path == self.paths["registry"]:
            self._registry = self._registry or json.dumps(self.machine.registry).encode()
            return Response(200, self._registry)
        if path in STANDARD:
            return STANDARD[path]
        resources = {self.plain(place): make for place, make in self.resources().items()}
        if path not in resources:
            return self.absent(path)
        told = resources[path]()
        told = self.alter[path](told) if path in self.alter else told
        tag, schema = self.etag(told), str(told.get("@odata.type", "")).removeprefix("#").partition(".")[0]
        link = f"<{ROOT}/JsonSchemas/{schema}>; rel=describedby"
        return Response.of(200, {"@odata.etag": tag} | told, ETag=tag, Allow=self.allowed(path), Link=link)

    def allowed(self, path: str) -> str:
        """Return what may be done with a resource."""
        more = {self.paths["settings"]: ", PATCH", SESSIONS: ", POST"}
        return "GET, HEAD" + more.get(path, ", DELETE" if path.startswith(f"{SESSIONS}/") else "")

    def absent(self, path: str) -> Response:
        """Return that there is no such resource."""
        return Response.of(404, extended("Base.1.8.ResourceMissingAtURI", f"{path} was not found", path))

    def delete(self, path: str) -> Response:
        """Close a session, or refuse."""
        return self.log_out(path) if path.startswith(SESSIONS) else Response.of(405, extended("Base.1.8.OperationNotAllowed"))

    def post(self, path: str, body: Json) -> Response:
        """Restart, or refuse: no other action is there."""
        return self.reset(body) if path == self.plain(self.reset_path()) else self.absent(path)

    def patch(self, path: str, body: Json, headers: dict[str, str]) -> Response:
        """Take down what the next restart is to change."""
        if path != self.paths["settings"]:
            return Response.of(405, extended("Base.1.8.OperationNotAllowed", "Write to the settings object."), Allow="GET")
        refused = self.unwilling(body, headers) or self.invalid(body)
        if refused:
            return refused
        if "drops" not in self.lies:
            self.pend(body.get("Attributes", {}))
        return self.accepted(body)

    def unwilling(self, body: Json, headers: dict[str, str]) -> Response | None:
        """Return why nothing at all can be written now."""
        tag, now = headers.get("if-match"), self.etag(self.settings())
        if tag not in (None, "*", now):
            return Response.of(412, extended("Base.1.8.PreconditionFailed", "The ETag supplied did not match."))
        if "@Redfish.SettingsApplyTime" in body and not self.apply_times:
            return Response.of(400, extended("Base.1.8.PropertyUnknown", "@Redfish.SettingsApplyTime is not known here."))
        return None

    def invalid(self, body: Json) -> Response | None:
        """Return what is wrong with what is to be written."""
        asked = body.get("Attributes", {})
        for name, value in asked.items():
            why = self.oracle.illegal(name, value) if name in self.applied else "is not in the list of valid properties"
            if why:
                return Response.of(
                    400, extended("Base.1.8.PropertyValueNotInList", f"The property {name} {why}.", str(value), name)
                )
        wanted = {**self.pending, **asked}
        locked = (
            self.oracle.locked(self.applied, wanted) if self.enforces else {name for name in asked if self.oracle.fixed(name)}
        )
        for name in sorted(locked & set(asked)):
            if self.stored(name, asked[name]) != self.applied.get(name):
                message = f"The property {name} is a read only property and cannot be assigned a value."
                return Response.of(400, extended("Base.1.8.PropertyNotWritable", message, name))
        return None

    def stored(self, _name: str, value: Any) -> Any:
        """Return a value as this BMC shows it."""
        return value

    def pend(self, attributes: Json) -> None:
        """Keep what differs from what is applied."""
        self.pending.update({name: self.stored(name, value) for name, value in attributes.items()})
        self.pending = {name: value for name, value in self.pending.items() if self.applied.get(name) != value}

    def accepted(self, _body: Json) -> Response:
        """Return how a write is acknowledged."""
        return Response.of(200, extended("Base.1.8.Success", "The request completed successfully."))

    # what a restart does

    def reset(self, body: Json) -> Response:
        """Restart the server: what is pending is applied."""
        kind = body.get("ResetType")
        if kind not in self.reset_types:
            return Response.of(400, extended("Base.1.8.ActionParameterNotSupported", f"ResetType {kind} is not supported here."))
        self.resets.append(kind)
        if kind in ("ForceOff", "GracefulShutdown"):
            self.power = "Off"
        else:
            self.restart()
        return Response.of(204)

    def restart(self) -> None:
        """Start again with what was pending."""
        self.boots += 1
        self.starting = self.polls
        self.power = "Off" if "power lost" in self.lies else "On"
        if "another uuid" in self.lies:
            self.identity = str(uuid.uuid4())
        if "another bios" in self.lies:
            self.machine.system["BiosVersion"] += ".1"
        if not self.delays():
            self.apply()
        if self.on_restart:
            self.on_restart(self)

    def delays(self) -> bool:
        """Return whether what is pending is applied later than at the restart."""
        return False

    def apply(self) -> None:
        """Make what is pending the truth, as far as this BMC does not lie."""
        if "stays pending" in self.lies or "power lost" in self.lies:
            return
        values = dict(self.pending)
        self.pending.clear()
        if "applies nothing" in self.lies:
            values = {}
        elif "applies another" in self.lies:
            values = {name: self.another(name, value) for name, value in values.items()}
        before = self.applied
        self.applied = {**before, **values}
        if self.enforces and values:
            moved = self.oracle.moved(before, values)
            self.applied |= {name: self.stored(name, value) for name, value in moved.items() if name in before}
        self.settled = self.told_settled()

    def another(self, name: str, value: Any) -> Any:
        """Return a legal value of an attribute other than one."""
        others = [self.stored(name, each) for each in self.oracle.legal(name)]
        return next((each for each in others if each not in (value, self.applied[name])), self.applied[name])

    def told_settled(self) -> Json | None:
        """Return what the Bios resource tells of the last application."""
        return None


def _head(kind: str, path: str, name: str) -> Json:
    return {"@odata.id": path, "@odata.type": f"#{kind}", "Id": path.rstrip("/").rpartition("/")[2], "Name": name}


def _link(path: str) -> Json:
    return {"@odata.id": path}
