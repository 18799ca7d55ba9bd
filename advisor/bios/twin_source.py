"""What a twin is made from: a file of advisor bios read, a Bios.json and its registry, or a whole tree; and the vendors' habits.

Each habit has the thread or the capture that it comes from; the tests' imitations are these.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from advisor.advice.bios_files import text_of
from advisor.advice.model.plan import Owner
from advisor.bios.reading import plain_values
from advisor.bios.twin import ROOT, SESSIONS, TASKS, Json, Model, Twin, extended
from advisor.bios.twin_port import Response, Standing
from advisor.errors import BadInput
from advisor.machine.sources.redfish import covered, is_registry, resource_of
from advisor.machine.units import plain

_LARGEST = 12 << 20
_WHOLE = 256 << 20
_MOST = 20_000
JOBS = f"{ROOT}/Managers/iDRAC.Embedded.1/Oem/Dell/Jobs"


@dataclass
class Dell(Twin):
    """An iDRAC.

    - Without ``@Redfish.SettingsApplyTime`` what is written stays pending for ever
      (https://github.com/dell/iDRAC-Redfish-Scripting/issues/84), unless a job is posted for it.
    - One job at a time: more writes are refused (https://github.com/dell/iDRAC-Redfish-Scripting/issues/249).
    - /Bios shows the new values while the job still runs (https://github.com/dsx-ai-factory/libredfish/pull/25).
    - What is pending already is answered with 200 and no Location (https://github.com/dsx-ai-factory/libredfish/pull/97).
    """

    apply_times: ClassVar[tuple[str, ...]] = ("OnReset", "AtMaintenanceWindowStart", "InMaintenanceWindowOnReset")
    reset_types: ClassVar[tuple[str, ...]] = (
        *("On", "ForceOff", "ForceRestart", "GracefulRestart", "GracefulShutdown", "PushPowerButton", "Nmi", "PowerCycle"),
    )

    def settings(self) -> Json:
        """Return the settings object with its action that clears what no job has taken up (capture of an R750)."""
        target = f"{self.machine.paths['settings']}/Actions/Oem/DellManager.ClearPending"
        jobs = {"Dell": {"@odata.type": "#DellManager.v1_2_0.DellManager", "Jobs": {"@odata.id": JOBS}}}
        return super().settings() | {"Actions": {"Oem": {"#DellManager.ClearPending": {"target": target}}}, "Oem": jobs}

    def bios(self) -> Json:
        """Return the attributes; while a job runs, the new ones."""
        early = self.pending if any(job["TaskState"] == "Running" for job in self.jobs.values()) else {}
        told = super().bios()
        return told | {"Attributes": {**told["Attributes"], **early}}

    def unwilling(self, body: Json, headers: dict[str, str]) -> Response | None:
        """Refuse while a job has the pending values."""
        if self.open_job():
            message = "Pending configuration values are already committed, unable to perform another set operation."
            return Response.of(400, extended("IDRAC.2.4.SYS011", message))
        return super().unwilling(body, headers)

    def open_job(self) -> Json | None:
        """Return the job that is not at its end."""
        return next((job for job in self.jobs.values() if job["TaskState"] in ("Starting", "Running")), None)

    def patch(self, path: str, body: Json, headers: dict[str, str]) -> Response:
        """Acknowledge what is pending already with 200 alone."""
        asked = body.get("Attributes", {})
        same = path == self.paths["settings"] and asked and all(self.pending.get(name) == value for name, value in asked.items())
        return Response.of(200, extended("Base.1.8.Success")) if same and self.open_job() else super().patch(path, body, headers)

    def accepted(self, body: Json) -> Response:
        """Answer with a job, if it is told when to apply."""
        if not body.get("@Redfish.SettingsApplyTime") or not self.pending:
            return Response.of(200, extended("Base.1.8.Success"))
        return Response.of(202, None, Location=self.location(self.job()))

    def job(self) -> str:
        """Start a job, and return where it is."""
        name = f"JID_{len(self.jobs) + 100:012d}"
        told = {
            "@odata.id": f"{TASKS}/{name}",
            "@odata.type": "#Task.v1_4_3.Task",
            "Id": name,
            "Name": "Configure: BIOS.Setup.1-1",
        }
        self.jobs[name] = told | {"TaskState": "Starting", "TaskStatus": "OK", "PercentComplete": 0, "Messages": [], "looks": 0}
        return f"{TASKS}/{name}"

    def get(self, path: str) -> Response:
        """Return the jobs, or a resource."""
        if path == JOBS:
            return Response.of(200, self.collection(path, "JobCollection", []))
        return super().get(path)

    def post(self, path: str, body: Json) -> Response:
        """Take a job for what is pending, or clear what no job has taken up."""
        if path == JOBS and self.plain(str(body.get("TargetSettingsURI"))) == self.paths["settings"]:
            return Response.of(200, None, Location=self.location(self.job()))
        if path.endswith("DellManager.ClearPending"):
            if self.open_job():
                return Response.of(400, extended("IDRAC.2.4.SYS011", "A job holds the pending values."))
            self.pending.clear()
            return Response.of(200, extended("Base.1.8.Success"))
        return super().post(path, body)

    def delete(self, path: str) -> Response:
        """Take a job back, and with it what was pending."""
        name = path.rpartition("/")[2]
        if name in self.jobs and self.jobs[name]["TaskState"] == "Starting":
            self.jobs[name].update(TaskState="Cancelled", TaskStatus="Warning")
            self.pending.clear()
            return Response.of(200, extended("Base.1.8.Success"))
        return super().delete(path)

    def delays(self) -> bool:
        """Let the job apply, over two starts; without a job nothing is ever applied."""
        job = self.open_job()
        if job:
            job.update(TaskState="Running", PercentComplete=34)
        return True

    def finish(self, job: Json) -> None:
        """End the job: as failed where the values stay pending."""
        super().finish(job)
        if self.pending:
            job.update(TaskState="Exception", TaskStatus="Critical", PercentComplete=100)
            job["Messages"] = [{"MessageId": "IDRAC.2.4.PR21", "Message": "Failed."}]
        self.pending.clear()


@dataclass
class Hpe(Twin):
    """An iLO.

    - Paths in small letters and with a slash at the end, told apart without regard to letters (capture of a DL385 Gen10 Plus v2).
    - The settings object is a whole copy; a write is answered with 200 and SystemResetRequired
      (https://github.com/HewlettPackard/python-ilorest-library/issues/105).
    - 400 UnableToModifyDuringSystemPOST while the server starts (https://github.com/ironcore-dev/metal-operator/issues/997).
    - ``@Redfish.Settings`` tells time and messages of the last application, and has an ETag of something else (capture).
    - A Location names the host too (capture of sessions in python-ilorest-library's tests).
    """

    whole: ClassVar[bool] = True
    weak: ClassVar[bool] = True
    reset_types: ClassVar[tuple[str, ...]] = (
        *("On", "ForceOff", "GracefulShutdown", "ForceRestart", "Nmi", "PushPowerButton", "GracefulRestart"),
    )

    def plain(self, path: str) -> str:
        """Return a path without regard to letters, but that of the service itself."""
        plain = super().plain(path)
        inside = plain.lower().startswith((f"{ROOT}/systems/", f"{ROOT}/registrystore/"))
        return plain.lower() if inside else plain

    def location(self, path: str) -> str:
        """Return a Location with its host."""
        return self.url + path

    def redfish_settings(self) -> Json:
        """Return an ETag that no If-Match accepts too."""
        return {"ETag": "1103906B", "Messages": [{"MessageId": "Base.1.0.Success"}]} | super().redfish_settings()

    def told_settled(self) -> Json:
        """Tell the last application."""
        return {"Time": f"2026-01-01T00:00:{self.boots:02d}+00:00", "Messages": [{"MessageId": "Base.1.0.Success"}]}

    def unwilling(self, body: Json, headers: dict[str, str]) -> Response | None:
        """Refuse while the server starts."""
        if self.starting:
            message = "The requested change cannot be made while the system is in POST."
            return Response.of(400, extended("iLO.2.15.UnableToModifyDuringSystemPOST", message))
        return super().unwilling(body, headers)

    def accepted(self, _body: Json) -> Response:
        """Say that a restart is needed."""
        return Response.of(200, extended("iLO.2.15.SystemResetRequired", "One or more properties were changed."))


@dataclass
class Lenovo(Twin):
    """An XCC: the settings object, Pending, is a whole copy (capture of an SR670 V2)."""

    whole: ClassVar[bool] = True
    apply_times: ClassVar[tuple[str, ...]] = ("OnReset",)


@dataclass
class Supermicro(Twin):
    """A Supermicro BMC.

    - /Bios holds the words of the menus, the registry's names are numbers (capture of a SYS-821GE-TNHR). Which of the two a
      PATCH wants is not known: a twin takes both.
    - The settings object, SD, has no Attributes while nothing is pending (capture).
    - Allowable resets are told in an ActionInfo (capture).
    - HTML where a resource is not there.
    """

    progress: ClassVar[bool] = True

    def registry_name(self) -> str:
        """Return the name that Bios has, which is not the registry's Id (capture)."""
        return "BiosAttributeRegistry.v1_0_0"

    def settings(self) -> Json:
        """Return the settings object, without Attributes while nothing is pending."""
        told = super().settings()
        return told if self.pending else {name: value for name, value in told.items() if name != "Attributes"}

    def stored(self, name: str, value: Any) -> Any:
        """Return the words of the menus."""
        return self.rules.shown(name, value)

    def reset_action(self) -> Json:
        """Return where the allowable values are told."""
        info = f"{self.machine.paths['system']}/ResetActionInfo"
        return {"target": self.reset_path(), "@Redfish.ActionInfo": info}

    def get(self, path: str) -> Response:
        """Return the allowable values, or a resource."""
        if path == f"{self.machine.paths['system']}/ResetActionInfo":
            head = {"@odata.id": path, "@odata.type": "#ActionInfo.v1_1_1.ActionInfo", "Id": "ResetActionInfo", "Name": "Reset"}
            values = [{"Name": "ResetType", "Required": True, "DataType": "String", "AllowableValues": list(self.reset_types)}]
            return Response.of(200, head | {"Parameters": values})
        return super().get(path)

    def absent(self, path: str) -> Response:
        """Return a page for people."""
        page = f"<!DOCTYPE html><html><body><h1>404 - Not Found</h1>{path}</body></html>"
        return Response(404, page.encode(), {"Content-Type": "text/html"})


@dataclass
class Ami(Twin):
    """AMI MegaRAC, as in Gigabyte's boards.

    - Without If-Match a write is answered with 428 (https://github.com/stmcginnis/gofish/issues/171).
    - The settings object, SD, is 404 while nothing is pending, and writes to it are taken all the same
      (https://github.com/DMTF/Redfish-Tacklebox/issues/55).
    - Tags are weak (https://github.com/ansible-collections/community.general/pull/6434).
    - 503 while the server starts (https://github.com/dsx-ai-factory/libredfish/pull/34).
    - Told by Oem.Ami in the root (the same).
    """

    weak: ClassVar[bool] = True
    progress: ClassVar[bool] = True

    def root(self) -> Json:
        """Return the root with the maker's mark."""
        return super().root() | {"Oem": {"Ami": {"@odata.type": "#AMIServiceRoot.v1_0_0.AMIServiceRoot"}}}

    def get(self, path: str) -> Response:
        """Return a resource; the settings object only while something is pending."""
        return self.absent(path) if path == self.paths["settings"] and not self.pending else super().get(path)

    def unwilling(self, body: Json, headers: dict[str, str]) -> Response | None:
        """Insist on If-Match, in the form that this release takes."""
        tag = headers.get("if-match")
        if self.starting:
            return Response.of(503, extended("Base.1.8.ServiceTemporarilyUnavailable", "The host is starting."), Retry_After="1")
        if tag is None:
            message = "The request did not provide the required precondition, such as an If-Match or If-None-Match header."
            return Response.of(428, extended("Ami.1.0.PreconditionHeaderMissing", message))
        now = self.etag(self.settings())
        if tag != "*" and (tag != self.accepts(now) or not self.pending):
            return Response.of(412, extended("Base.1.8.PreconditionFailed", "The ETag supplied did not match."))
        return super().unwilling(body, headers | {"if-match": "*"})

    def accepts(self, tag: str) -> str:
        """Return the form of a tag that If-Match may have."""
        return tag

    def accepted(self, _body: Json) -> Response:
        """Answer without a body."""
        return Response.of(204)


_VENDORS: tuple[tuple[str, type[Twin]], ...] = (
    ("dell", Dell),
    ("hpe", Hpe),
    ("hewlett", Hpe),
    ("lenovo", Lenovo),
    ("supermicro", Supermicro),
    ("super micro", Supermicro),
    ("megatrends", Ami),
    ("giga", Ami),
)
"""By a word of who made the system; any other applies what waits at the restart, as DMTF's standard has it."""
_PLAIN = {
    "system": f"{ROOT}/Systems/1",
    "manager": f"{ROOT}/Managers/1",
    "registry": f"{ROOT}/Registries/Bios/Registry.json",
}


@dataclass
class Captured(Twin):
    """A twin whose resources are those of a captured tree; what is written lies over them, never inside."""

    files: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.identity = str(self.machine.system.get("UUID") or self.identity)
        self._files = {self.plain(path): data for path, data in self.files.items()}

    def plain(self, path: str) -> str:
        """Return a path; that of an old iDRAC's sessions as the new ones have it (capture of an R740)."""
        plain = super().plain(path)
        return plain.replace(f"{ROOT}/Sessions", SESSIONS, 1) if plain.startswith(f"{ROOT}/Sessions") else plain

    def get(self, path: str) -> Response:
        """Return a resource as it was captured, byte for byte where nothing was written over it."""
        own = path.startswith((f"{SESSIONS}/", f"{TASKS}/")) or (path == TASKS and bool(self.jobs))
        if own or path not in self._files:
            return super().get(path) if own or path in (SESSIONS, TASKS, self.paths["settings"], ROOT) else self.absent(path)
        over = self._over(path)
        if over is None:
            return Response(200, self._files[path], {"Content-Type": "application/json", "ETag": self.etag(self._tagged(path))})
        return Response.of(200, {**json.loads(self._files[path]), **over}, ETag=self.etag(self._tagged(path)))

    def _tagged(self, path: str) -> Any:
        return self.settings() if path == self.paths["settings"] else self._files[path].decode("utf-8", "replace")

    def _over(self, path: str) -> Json | None:
        """Return what lies over a resource; None where nothing does."""
        if path == self.paths["settings"]:
            return {"Attributes": self.settings().get("Attributes", {})} if self.pending else None
        if path == self.paths["bios"]:
            shown = self.bios()["Attributes"]
            return {"Attributes": shown} if shown != self.machine.attributes else None
        if path == self.paths["system"]:
            power = self.system()["PowerState"]  # the look brings its start further
            return {"PowerState": power} if power != self.machine.system.get("PowerState", "On") else None
        return None


def twin_of(places: Sequence[Path], **more: Any) -> Twin:
    """Return the twin of what was read: a folder is a tree, files are what a BMC said."""
    if len(places) == 1 and places[0].is_dir():
        files = tree_in(places[0])
        model = model_of_tree(files, str(places[0]))
        return made_of(model, Captured, files=files, **more)
    model, known = _of_files(places)
    return made_of(model, **known, **more)


def made_of(model: Model, *over: type[Twin], **more: Any) -> Twin:
    """Return the twin of a model: whose habits it has, when it applies, how it restarts."""
    made = str(model.system.get("Manufacturer") or "").lower()
    habits = next((kind for word, kind in _VENDORS if word in made), Twin)
    own = {"apply_times": model.times or None, "reset_types": model.resets or None}
    kind: type[Twin] = type(habits.__name__, (*over, habits), {name: value for name, value in own.items() if value})
    return kind(model, **more)


def tree_in(place: Path) -> dict[str, bytes]:
    """Return the resources that lie in a folder by their path: an index.json each, or a file of that very name."""
    tops = [place, *sorted(each for each in place.iterdir() if each.is_dir())]
    top = next((each for each in tops if (each / "redfish").is_dir()), None)
    if top is None:
        raise BadInput(
            "contains no redfish folder: not a copy of a BMC's resources",
            file=str(place),
            cure="give the folder that contains redfish/v1",
        )
    found: dict[str, bytes] = {}
    room = _WHOLE
    for path in _files_in(top):
        size = path.stat().st_size
        room -= size
        if size > _LARGEST or room < 0 or len(found) >= _MOST:
            raise BadInput("too large for a BMC's Redfish tree", file=str(path), cure="refused as unsafe")
        name = path.parent if path.name == "index.json" else path
        found[f"/{name.relative_to(top)}"] = path.read_bytes()
    return found


def _files_in(top: Path) -> Iterator[Path]:
    for path in sorted(top.rglob("*.json")):
        if path.is_file() and not path.is_symlink():
            yield path


def model_of_tree(files: Mapping[str, bytes], name: str) -> Model:
    """Return the server of a tree, found by its own links, and its attribute registry by what it has in it."""
    told = {path: body for path, data in files.items() if isinstance(body := _json(data), dict)}
    letters = {path.lower(): path for path in told}
    """An iLO's links are in other letters than its resources (capture of a DL380a Gen11)."""
    linked = {
        path: link if (link := _link(body.get("Bios"))) in told else letters.get(link.lower())
        for path, body in told.items()
        if "/systems/" in path.lower() and isinstance(body.get("Bios"), dict)
    }
    system, bios = next(((path, link) for path, link in linked.items() if link), ("", None))
    if bios is None or not isinstance(told[bios].get("Attributes"), dict):
        raise BadInput("no system here has BIOS attributes", file=name, cure="capture the Redfish tree of one server's BMC")
    attributes = told[bios]["Attributes"]
    registries = [
        path for path, body in told.items() if is_registry(body) and isinstance(body["RegistryEntries"].get("Attributes"), list)
    ]
    registry = max(registries, key=lambda path: covered(told[path], attributes.keys()), default=None)
    managers = told[system].get("Links", {}).get("ManagedBy") or [{"@odata.id": _PLAIN["manager"]}]
    settings, times = _settings(told[bios])
    resets = _resets(told[system], told)
    paths = {"system": system, "bios": bios, "settings": settings, "registry": registry or "", "manager": _link(managers[0])}
    about = {"BiosVersion": "1", "Manufacturer": "", **told[system]}
    return Model(paths, about, attributes, told[registry] if registry else {}, times, resets)


def _resets(system: Mapping[str, Any], told: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the kinds of reset that a system names, itself or in its ActionInfo; () where it names none."""
    action = system.get("Actions", {}).get("#ComputerSystem.Reset", {})
    info = told.get(_link(action.get("@Redfish.ActionInfo", "")), {})
    kinds = [each.get("AllowableValues") for each in info.get("Parameters", ()) if each.get("Name") == "ResetType"]
    found = action.get("ResetType@Redfish.AllowableValues") or (kinds[0] if kinds else None) or ()
    return tuple(str(each) for each in found)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _link(link: Any) -> str:
    found = link.get("@odata.id") if isinstance(link, dict) else link
    return found.rstrip("/") if isinstance(found, str) else ""


def _settings(bios: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return where changes are written to, empty where nothing can be staged, and when they can be applied."""
    told = bios.get("@Redfish.Settings")
    told = told if isinstance(told, dict) else {}
    times = told.get("SupportedApplyTimes")
    return _link(told.get("SettingsObject")), tuple(str(each) for each in times) if isinstance(times, list) else ()


def _of_files(places: Sequence[Path]) -> tuple[Model, dict[str, str]]:
    """Return what files of a BIOS have, and the server's UUID and BMC version where they say so."""
    read = [resource_of(text_of(path, _LARGEST, "a BMC's BIOS data"), str(path)) for path in places]
    whole: Json = next((each for each in read if each.get("schema") == "advisor-bios/1"), {})
    registry = next((each for each in read if is_registry(each)), whole.get("registry"))
    bios = whole.get("bios") or next((each for each in read if not is_registry(each)), None)
    if not isinstance(bios, dict) or not isinstance(bios.get("Attributes"), dict) or not bios["Attributes"]:
        cure = "give what advisor bios read -o FILE wrote, a Bios.json, or a folder with a whole Redfish tree"
        raise BadInput("it contains no BIOS attributes", file=str(places[0]), cure=cure)
    try:
        owner = Owner.model_validate(whole.get("owner") or {})
    except ValueError as error:
        raise BadInput(
            "owner is not in the format written by advisor bios read", file=str(places[0]), cure="write it again"
        ) from error
    place = _link(bios) or f"{_PLAIN['system']}/Bios"
    settings, times = _settings(bios)
    about, known = shown_of(owner)
    paths = {**_PLAIN, "system": place.rpartition("/")[0], "bios": place, "settings": settings}
    return Model(paths, about, plain_values(bios["Attributes"]), registry or {}, times), known


def shown_of(owner: Owner) -> tuple[Json, dict[str, str]]:
    """Return what a system shows of whose it is, and what its twin is called by, as far as it is known."""
    about = {
        "Manufacturer": owner.vendor or "",
        "Model": owner.model or "",
        "BiosVersion": owner.bios_version or "1",
        **({"HostName": owner.host_name} if owner.host_name else {}),
        **({"ProcessorSummary": {"Model": owner.processor}} if owner.processor else {}),
    }
    known = {"identity": owner.uuid, "firmware": owner.bmc_version}
    return about, {name: value for name, value in known.items() if value}


def twin_document(twin: Twin, here: Standing) -> Json:
    """Return where a twin is, for a program: its password is in the file of its login alone."""
    return {
        "schema": "advisor-bios-twin/1",
        "bmc": here.url,
        "login_file": str(here.login),
        "ca": str(here.ca) if here.ca else None,
        "vendor": type(twin).__name__,
        "attributes": len(twin.applied),
        "stages": bool(twin.paths["settings"]),
    }


def twin_text(twin: Twin, here: Standing) -> str:
    """Return where a twin is and how it is used, with its password, which is printed this once."""
    made = " ".join(str(twin.machine.system.get(key) or "") for key in ("Manufacturer", "Model")).strip() or "a server"
    habits = "a BMC that follows DMTF's standard" if type(twin).__name__ == "Twin" else type(twin).__name__
    can = (
        f"stages, restarts and applies changes as {habits} does"
        if twin.paths["settings"]
        else "read-only: it has no settings object"
    )
    lines = (
        f"Twin of    {plain(made, 100)}: {len(twin.applied)} attributes; {can}",
        f"Address    {here.url}, reachable only from this host",
        f"User       {twin.user}",
        f"Password   {''.join(twin.password)}",
        f"Try        advisor bios status {here.options}",
        "Ctrl-C ends it and discards all changes.",
    )
    return "".join(f"{line}\n" for line in lines)
