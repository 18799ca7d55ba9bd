"""The habits of the vendors' BMCs, each with the thread or the capture it comes from; a test's imitations are these."""

from dataclasses import dataclass
from typing import Any, ClassVar

from advisor.bios.twin import ROOT, TASKS, Json, Twin, extended
from advisor.bios.twin_port import Response

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
                return Response.of(400, extended("IDRAC.2.4.SYS011", "A job has the pending values."))
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
