"""A twin: a local BMC made from what was read of a server, which stages, restarts and applies as BMCs do.

What a twin proves is how a client behaves, not how a server does. Nothing here looks at a clock: what takes its time on a
real BMC takes a number of requests here.
"""

import base64
import hashlib
import json
import secrets
import uuid
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from advisor.advice.plan.draft import moved, settle, static
from advisor.bios.connection import Secret
from advisor.bios.twin_port import Request, Response
from advisor.machine.hardware import Registry
from advisor.machine.sources.redfish import registry_of

Json = dict[str, Any]
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


def extended(identity: str, message: str = "", *arguments: str, resolution: str = "None") -> Json:
    """Return an error as Redfish words it."""
    told = {"@odata.type": "#Message.v1_1_1.Message", "MessageId": identity, "MessageArgs": list(arguments)}
    told |= {"Message": message or identity, "Severity": "Warning", "Resolution": resolution}
    return {"error": {"code": "Base.1.8.GeneralError", "message": "See ExtendedInfo.", "@Message.ExtendedInfo": [told]}}


@dataclass(frozen=True)
class Model:
    """A server as its BMC shows it: where its resources are, its system, its attributes and their registry."""

    paths: Mapping[str, str]
    """Of system, bios, settings, registry and manager; no settings where nothing can be staged."""
    system: Json
    attributes: Json
    registry: Json
    times: tuple[str, ...] | None = None
    """When it says that changes can be applied; None if that is left to the vendor's habits."""
    resets: tuple[str, ...] | None = None
    """The kinds of reset that it allows; the same."""

    def copy(self) -> "Model":
        """Return one whose system and attributes may be written to; the registry stays the same."""
        return replace(self, system=deepcopy(self.system), attributes=dict(self.attributes))


class Rules:
    """The rules of an attribute registry; of an attribute that it does not name, nothing is forbidden."""

    def __init__(self, registry: Json) -> None:
        self._registry = registry_of(registry, "its attribute registry") if registry else Registry(attributes={})

    def illegal(self, name: str, value: Any) -> str | None:
        """Return why an attribute does not accept a value; None where it does."""
        known = self._registry.attributes.get(name)
        if known is not None and known.kind == "Password":
            return "is a password"
        return None if known is None or known.takes(value) else f"does not accept {value!r}"

    def shown(self, name: str, value: Any) -> Any:
        """Return the menu's words for a value."""
        known = self._registry.attributes.get(name)
        return next((each.shown for each in known.values if each.name == value), value) if known else value

    def fixed(self, name: str) -> bool:
        """Return whether an attribute can never be written."""
        return bool(static(self._registry, name))

    def locked(self, present: Mapping[str, Any], wanted: Mapping[str, Any]) -> set[str]:
        """Return which writes the registry forbids."""
        after = settle(self._registry, present, wanted)
        return {name for name in wanted if after.refuses(name)}

    def moved(self, present: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Return what changes along with writes, without what its rules contradict each other about."""
        return {name: value for name, value in moved(self._registry, present, wanted).items() if value is not None}


@dataclass
class Twin:
    """A BMC with one system, its Bios, settings object, registry and sessions; the vendors' habits are its subclasses."""

    machine: Model
    user: str = "operator"
    password: str = field(default_factory=lambda: Secret(secrets.token_urlsafe(15)), repr=False)
    session_limit: int = 8
    enforces: bool = True
    """Whether the registry's dependencies are held at writes, and carried out at restarts."""
    polls: int = 2
    """Looks at a job, or at the system, that a restart takes."""
    identity: str = field(default_factory=lambda: str(uuid.uuid4()))
    firmware: str = "7.00.00.00"
    url: str = ""
    heard: Callable[[str], None] = field(default=lambda _: None, repr=False)
    """Hears in a line what was staged, asked for and applied."""
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
        self.applied: Json = dict(self.machine.attributes)
        self.pending: Json = {}
        self.tokens: dict[str, str] = {}
        self.jobs: dict[str, Json] = {}
        self.settled: Json | None = None
        self.power = "On"
        self.starting = 0
        self.boots = 0
        self.paths = {name: self.plain(path) for name, path in self.machine.paths.items()}
        self.rules = self.made_rules()
        self._registry: bytes | None = None

    def made_rules(self) -> Rules:
        """Return what the registry makes of writes."""
        return Rules(self.machine.registry)

    # what is there

    def plain(self, path: str) -> str:
        """Return a path as this BMC tells paths apart."""
        return path.rstrip("/")

    def resources(self) -> dict[str, Callable[[], Json]]:
        """Return what makes each resource, by path."""
        paths, listed = self.paths, [f"{ROOT}/Registries/Bios"] if self.machine.registry else []
        collections = {
            f"{ROOT}/Systems": ("ComputerSystemCollection", [self.machine.paths["system"]]),
            f"{ROOT}/Managers": ("ManagerCollection", [self.machine.paths["manager"]]),
            f"{ROOT}/Registries": ("MessageRegistryFileCollection", listed),
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
        }
        made |= {paths["settings"]: self.settings} if paths["settings"] else {}
        made |= {path: partial(self.collection, path, *of) for path, of in collections.items()}
        made |= {f"{SESSIONS}/{name}": partial(self.session, name) for name in self.tokens.values()}
        return made | {f"{TASKS}/{name}": partial(self.task, name) for name in self.jobs}

    def root(self) -> Json:
        """Return the service's root."""
        return {
            **head_of("ServiceRoot.v1_9_0.ServiceRoot", f"{ROOT}/", "Root Service"),
            "RedfishVersion": "1.11.0",
            "UUID": str(uuid.uuid5(uuid.NAMESPACE_URL, self.identity)),
            "Vendor": self.machine.system["Manufacturer"],
            "Systems": link(f"{ROOT}/Systems"),
            "Managers": link(f"{ROOT}/Managers"),
            "SessionService": link(f"{ROOT}/SessionService"),
            "Tasks": link(f"{ROOT}/TaskService"),
            "Registries": link(f"{ROOT}/Registries"),
            "Links": {"Sessions": link(SESSIONS)},
        }

    def collection(self, path: str, kind: str, members: list[str]) -> Json:
        """Return a collection."""
        links = [link(member) for member in members]
        told = {"@odata.id": path, "@odata.type": f"#{kind}.{kind}", "Name": kind}
        return told | {"Members@odata.count": len(links), "Members": links}

    def session_service(self) -> Json:
        """Return the service of sessions."""
        head = head_of("SessionService.v1_1_8.SessionService", f"{ROOT}/SessionService", "Session Service")
        return head | {"ServiceEnabled": True, "SessionTimeout": 1800, "Sessions": link(SESSIONS)}

    def task_service(self) -> Json:
        """Return the service of tasks."""
        head = head_of("TaskService.v1_2_0.TaskService", f"{ROOT}/TaskService", "Task Service")
        return head | {"ServiceEnabled": True, "Tasks": link(TASKS)}

    def session(self, name: str) -> Json:
        """Return an open session."""
        return head_of("Session.v1_3_0.Session", f"{SESSIONS}/{name}", "User Session") | {"UserName": self.user}

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
        head = head_of("MessageRegistryFile.v1_0_4.MessageRegistryFile", f"{ROOT}/Registries/Bios", "BIOS Attributes")
        where = [{"Language": "en", "Uri": self.machine.paths["registry"]}]
        return head | {"Registry": self.registry_name(), "Languages": ["en"], "Location": where}

    def registry_name(self) -> str:
        """Return the name by which Bios and the registry's file call the registry."""
        return str(self.machine.registry.get("Id") or "")

    def system(self) -> Json:
        """Return the system; while it starts each look brings it further."""
        self.starting = max(self.starting - 1, 0)
        told = {
            **head_of("ComputerSystem.v1_16_0.ComputerSystem", self.machine.paths["system"], "System"),
            **self.machine.system,
            "UUID": self.identity,
            "PowerState": self.power,
            "SystemType": "Physical",
            "Bios": link(self.machine.paths["bios"]),
            "Links": {"ManagedBy": [link(self.machine.paths["manager"])]},
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
        head = head_of("Manager.v1_10_0.Manager", self.machine.paths["manager"], "Manager")
        return head | {"ManagerType": "BMC", "FirmwareVersion": self.firmware, "Status": {"State": "Enabled", "Health": "OK"}}

    def bios(self) -> Json:
        """Return the attributes that are applied."""
        return {
            **head_of("Bios.v1_2_0.Bios", self.machine.paths["bios"], "BIOS Configuration Current Settings"),
            "AttributeRegistry": self.registry_name(),
            "Attributes": dict(self.applied),
            "@Redfish.Settings": self.redfish_settings(),
            "Actions": {
                f"#Bios.{name}": {"target": f"{self.machine.paths['bios'].rstrip('/')}/Actions/Bios.{name}"}
                for name in ("ResetBios", "ChangePassword")
            },
        }

    def redfish_settings(self) -> Json:
        """Return where changes are written to, when they can be applied, and how the last ones went."""
        told: Json = {"@odata.type": "#Settings.v1_3_0.Settings"}
        if self.paths["settings"]:
            told["SettingsObject"] = link(self.machine.paths["settings"])
        if self.apply_times:
            told["SupportedApplyTimes"] = list(self.apply_times)
        return told | (self.settled or {})

    def settings(self) -> Json:
        """Return the settings object."""
        head = head_of("Bios.v1_2_0.Bios", self.machine.paths["settings"], "BIOS Configuration Pending Settings")
        shown = {**self.applied, **self.pending} if self.whole else dict(self.pending)
        return head | {"AttributeRegistry": self.registry_name(), "Attributes": shown}

    def etag(self, resource: Json | None) -> str:
        """Return a resource's tag."""
        digest = hashlib.sha256(json.dumps(resource, sort_keys=True).encode()).hexdigest()[:16]
        return f'W/"{digest}"' if self.weak else f'"{digest}"'

    # who asks

    def denied(self, request: Request, path: str) -> Response | None:
        """Return what who may not ask is answered."""
        if request.method in ("GET", "HEAD") and (path == ROOT or path in STANDARD):
            return None
        if request.method == "POST" and path in (SESSIONS, f"{SESSIONS}/Members"):
            return None
        given = request.headers.get("authorization", "")
        basic = "Basic " + base64.b64encode(b":".join((self.user.encode(), self.password.encode()))).decode()
        if request.headers.get("x-auth-token") not in self.tokens and not secrets.compare_digest(given, basic):
            return Response.of(401, extended("Base.1.8.NoValidSession", "There is no valid session."))
        return None

    def log_in(self, body: Json) -> Response:
        """Open a session, of which there is a limited number."""
        if (body.get("UserName"), body.get("Password")) != (self.user, self.password):
            return Response.of(401, extended("Base.1.8.ResourceAtUriUnauthorized", "Wrong user or password."))
        if len(self.tokens) >= self.session_limit:
            return Response.of(503, extended("Base.1.8.SessionLimitExceeded", "Too many sessions are open."))
        token, name = secrets.token_hex(16), f"{self.opened + 1}"
        self.tokens[token] = name
        self.opened += 1
        return Response.of(201, self.session(name), X_Auth_Token=token, Location=self.location(f"{SESSIONS}/{name}"))

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
            return Response.of(400, extended("Base.1.8.MalformedJSON", "The request body is not JSON."))
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
        told = self.altered(path, resources[path]())
        tag, schema = self.etag(told), str(told.get("@odata.type", "")).removeprefix("#").partition(".")[0]
        link = f"<{ROOT}/JsonSchemas/{schema}>; rel=describedby"
        return Response.of(200, {"@odata.etag": tag} | told, ETag=tag, Allow=self.allowed(path), Link=link)

    def altered(self, _path: str, told: Json) -> Json:
        """Return a resource as it is served."""
        return told

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
        self.pend(body.get("Attributes", {}))
        self.heard(f"staged: {pairs(self.pending)}")
        return self.accepted(body)

    def unwilling(self, body: Json, headers: dict[str, str]) -> Response | None:
        """Return why nothing at all can be written now."""
        tag, now = headers.get("if-match"), self.etag(self.settings())
        if tag not in (None, "*", now):
            return Response.of(412, extended("Base.1.8.PreconditionFailed", "The ETag supplied did not match."))
        if "@Redfish.SettingsApplyTime" in body and not self.apply_times:
            return Response.of(400, extended("Base.1.8.PropertyUnknown", "@Redfish.SettingsApplyTime is unknown here."))
        return None

    def invalid(self, body: Json) -> Response | None:
        """Return what is wrong with what is to be written."""
        asked = body.get("Attributes", {})
        for name, value in asked.items():
            why = self.rules.illegal(name, value) if name in self.applied else "is not in the list of valid properties"
            if why is None and isinstance(self.applied.get(name), bool | int | str) and not self.machine.registry:
                why = None if type(value) is type(self.applied[name]) else "has a value of the wrong type"
            if why:
                return Response.of(
                    400, extended("Base.1.8.PropertyValueNotInList", f"The property {name} {why}.", str(value), name)
                )
        wanted = {**self.pending, **asked}
        locked = self.rules.locked(self.applied, wanted) if self.enforces else {name for name in asked if self.rules.fixed(name)}
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
        self.heard(f"{kind} was requested")
        if kind in ("ForceOff", "GracefulShutdown"):
            self.power = "Off"
        elif kind != "On" or self.power == "Off":
            self.restart()
        return Response.of(204)

    def restart(self) -> None:
        """Start again with what was pending."""
        self.boots += 1
        self.starting = self.polls
        self.power = "On"
        if not self.delays():
            self.apply()

    def delays(self) -> bool:
        """Return whether what is pending is applied later than at the restart."""
        return False

    def apply(self) -> None:
        """Make what is pending the truth."""
        values = dict(self.pending)
        self.pending.clear()
        self.take_effect(values)

    def take_effect(self, values: Json) -> None:
        """Change what is applied, and what the registry moves along with it."""
        before = self.applied
        self.applied = {**before, **values}
        if self.enforces and values:
            moved_along = self.rules.moved(before, values)
            self.applied |= {name: self.stored(name, value) for name, value in moved_along.items() if name in before}
        self.settled = self.told_settled()
        self.heard(f"started with {pairs(values)}")

    def told_settled(self) -> Json | None:
        """Return what the Bios resource tells of the last application."""
        return None


def head_of(kind: str, path: str, name: str) -> Json:
    """Return the head of a resource."""
    return {"@odata.id": path, "@odata.type": f"#{kind}", "Id": path.rstrip("/").rpartition("/")[2], "Name": name}


def link(path: str) -> Json:
    """Return a link to a resource."""
    return {"@odata.id": path}


def pairs(values: Mapping[str, Any]) -> str:
    """Return attributes and values in a line."""
    return ", ".join(f"{name}={value}" for name, value in list(values.items())[:8]) or "nothing new"
