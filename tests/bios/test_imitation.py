"""The imitated BMCs have the habits that they say they have."""

import base64
import http.client
import json
import ssl
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.bios.conftest import Imitated
from tests.bios.imitation import PASSWORD, SESSIONS, USER, Bmc
from tests.bios.machines import ABSENT, PRESENT, captured
from tests.bios.makers import MAKERS, CrayEx, OpenBmc
from tests.bios.wire import AFTER, BEFORE, Certificate, Fault, Rack

LOGIN = {"Authorization": "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()}
APPLY = {"@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}}
WISH = {
    "dell": ("SubNumaCluster", "2-Way"),
    "hpe": ("ProcSMT", "Disabled"),
    "lenovo": ("Processors_SNC", "Enabled"),
    "supermicro": ("SNC_F300", "4"),
    "ami": ("Rome0075", "NPS4"),
}
"""A write that each maker's machine allows."""


@dataclass
class Said:
    """An answer."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


def ask(bmc: Bmc, method: str, path: str, body: Any = None, **headers: str) -> Said:
    """Ask one thing on a connection of its own."""
    host = bmc.url.rpartition("/")[2]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if bmc.url.startswith("https") else None
    if context:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    line = (
        http.client.HTTPSConnection(host, timeout=10, context=context)
        if context
        else http.client.HTTPConnection(host, timeout=10)
    )
    try:
        given = LOGIN | {name.replace("_", "-"): text for name, text in headers.items()}
        line.request(method, path, None if body is None else json.dumps(body), given)
        answer = line.getresponse()
        text = answer.read()
        said = {name.lower(): value for name, value in answer.getheaders()}
        return Said(answer.status, json.loads(text) if text and "json" in said["content-type"] else text, said)
    finally:
        line.close()


def pend(bmc: Bmc, **attributes: Any) -> Said:
    """Write to the settings object as each maker wants it."""
    body = {"Attributes": attributes} | (APPLY if bmc.apply_times else {})
    return ask(bmc, "PATCH", bmc.machine.paths["settings"], body, If_Match="*")


def restart(bmc: Bmc, kind: str = "GracefulRestart") -> Said:
    """Restart the server."""
    return ask(bmc, "POST", bmc.reset_path(), {"ResetType": kind})


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("tls", [False, True])
def test_a_write_is_applied_by_a_restart(maker: str, imitated: Imitated, *, tls: bool) -> None:
    """On every maker's BMC a write waits for the restart and is applied by it, over http and TLS."""
    bmc = imitated(maker, tls=tls)
    name, value = WISH[maker]
    before = ask(bmc, "GET", bmc.machine.paths["bios"]).body["Attributes"][name]
    written = pend(bmc, **{name: value})
    waiting = ask(bmc, "GET", bmc.machine.paths["bios"]).body["Attributes"][name]
    restart(bmc)
    for job in bmc.jobs:
        [ask(bmc, "GET", f"/redfish/v1/TaskService/Tasks/{job}") for _ in range(bmc.polls)]
    after = ask(bmc, "GET", bmc.machine.paths["bios"]).body["Attributes"][name]
    status = {"dell": 202, "ami": 204}.get(maker, 200)
    assert (written.status, waiting, after) == (status, before, bmc.stored(name, value))
    assert (before != after, bmc.pending, bmc.resets) == (True, {}, ["GracefulRestart"])


def test_a_dell_without_a_time_to_apply_keeps_it_pending(imitated: Imitated) -> None:
    """What was written without an apply time is pending after any number of restarts."""
    bmc = imitated("dell")
    said = ask(bmc, "PATCH", bmc.machine.paths["settings"], {"Attributes": {"SubNumaCluster": "2-Way"}})
    restart(bmc)
    restart(bmc)
    assert (said.status, bmc.pending, bmc.applied["SubNumaCluster"]) == (200, {"SubNumaCluster": "2-Way"}, "Disabled")


def test_a_dell_shows_new_values_before_its_job_is_done(imitated: Imitated) -> None:
    """While the job runs, Bios has the new value already."""
    bmc = imitated("dell", polls=5)
    task = pend(bmc, SubNumaCluster="2-Way").headers["location"]
    restart(bmc)
    shown = ask(bmc, "GET", bmc.machine.paths["bios"]).body["Attributes"]["SubNumaCluster"]
    assert (shown, ask(bmc, "GET", task).body["TaskState"], bmc.applied["SubNumaCluster"]) == ("2-Way", "Running", "Disabled")


def test_a_dell_has_one_job_at_a_time(imitated: Imitated) -> None:
    """A second write is refused with SYS011; the same one is acknowledged without a job."""
    bmc = imitated("dell")
    pend(bmc, SubNumaCluster="2-Way")
    again, other = pend(bmc, SubNumaCluster="2-Way"), pend(bmc, LogicalProc="Disabled")
    assert (again.status, again.headers.get("location"), other.status) == (200, None, 400)
    assert other.body["error"]["@Message.ExtendedInfo"][0]["MessageId"] == "IDRAC.2.4.SYS011"


def test_an_old_tag_is_refused(imitated: Imitated) -> None:
    """A write with a tag that is no more the settings object's is answered with 412."""
    bmc = imitated("lenovo")
    tag = ask(bmc, "GET", bmc.machine.paths["settings"]).headers["etag"]
    pend(bmc, Processors_SNC="Enabled")
    said = ask(bmc, "PATCH", bmc.machine.paths["settings"], {"Attributes": {"Processors_SNC": "Disabled"}}, If_Match=tag)
    assert said.status == 412


def test_an_ami_insists_on_a_tag(imitated: Imitated) -> None:
    """Without If-Match it says 428; its settings object is not there until something is pending."""
    bmc = imitated("ami")
    place, body = bmc.machine.paths["settings"], {"Attributes": {"Rome0075": "NPS4"}}
    absent, refused = ask(bmc, "GET", place).status, ask(bmc, "PATCH", place, body).status
    written = ask(bmc, "PATCH", place, body, If_Match="*").status
    assert (absent, refused, written, ask(bmc, "GET", place).body["Attributes"]) == (404, 428, 204, {"Rome0075": "NPS4"})


@pytest.mark.parametrize("maker", ["hpe", "lenovo"])
def test_a_whole_copy_is_pending(maker: str, imitated: Imitated) -> None:
    """HPE and Lenovo show all attributes as pending."""
    bmc = imitated(maker)
    assert len(ask(bmc, "GET", bmc.machine.paths["settings"]).body["Attributes"]) == len(bmc.applied)


def test_an_hpe_tells_paths_apart_without_letters(imitated: Imitated) -> None:
    """Bios is there in any spelling, with a slash at its end and without."""
    bmc = imitated("hpe")
    assert [ask(bmc, "GET", path).status for path in ("/redfish/v1/Systems/1/Bios", "/redfish/v1/systems/1/bios/")] == [200, 200]


def test_a_supermicro_has_no_attributes_pending_at_first(imitated: Imitated) -> None:
    """Its settings object has no Attributes, and what is not there is a page for people."""
    bmc = imitated("supermicro")
    settings, absent = ask(bmc, "GET", bmc.machine.paths["settings"]), ask(bmc, "GET", "/redfish/v1/Chassis")
    assert ("Attributes" in settings.body, absent.status, absent.headers["content-type"]) == (False, 404, "text/html")


@pytest.mark.parametrize(("wants", "value", "status"), [("names", "4", 200), ("shown", "4", 400), ("names", "Auto", 400)])
def test_a_supermicro_takes_one_spelling(wants: str, value: str, status: int, imitated: Imitated) -> None:
    """It takes the registry's names or the menus' words, as it is told to."""
    assert pend(imitated("supermicro", wants=wants), SNC_F300=value).status == status


def test_without_its_licence_nothing_is_written(imitated: Imitated) -> None:
    """A write is answered with 403 that names the licence."""
    said = pend(imitated("supermicro", licensed=False), SNC_F300="4")
    assert (said.status, "SFT-OOB-LIC" in json.dumps(said.body)) == (403, True)


@pytest.mark.parametrize("maker", MAKERS)
def test_what_the_registry_forbids_is_refused(maker: str, imitated: Imitated) -> None:
    """A value that is not in the list, and a name that is not there, are answered with 400 and change nothing."""
    bmc = imitated(maker)
    said = [pend(bmc, **{WISH[maker][0]: "Banana"}).status, pend(bmc, NoSuch="x").status]
    assert (said, bmc.pending) == ([400, 400], {})


def test_a_locked_attribute_is_refused_until_its_profile_is(imitated: Imitated) -> None:
    """C1E of the Performance profile is read-only; with Custom in the same write it is not."""
    bmc = imitated("dell")
    alone, together = pend(bmc, ProcC1E="Enabled"), pend(bmc, SysProfile="Custom", ProcC1E="Enabled")
    assert (alone.status, together.status) == (400, 202)


def test_a_profile_moves_its_attributes(imitated: Imitated) -> None:
    """HPE's HPC profile brings four memory domains a socket with it."""
    bmc = imitated("hpe")
    pend(bmc, WorkloadProfile="HighPerformanceCompute(HPC)")
    restart(bmc)
    assert bmc.applied["NumaMemoryDomainsPerSocket"] == "FourMemoryDomainsPerSocket"


def test_sessions_are_counted_and_few(imitated: Imitated) -> None:
    """A ninth session is refused; one that was closed makes room; passwords are not kept."""
    bmc = imitated()
    who = {"UserName": USER, "Password": PASSWORD}
    opened = [ask(bmc, "POST", SESSIONS, who) for _ in range(9)]
    closed = ask(bmc, "DELETE", opened[0].headers["location"]).status
    assert ([each.status for each in opened], closed, ask(bmc, "POST", SESSIONS, who).status) == ([201] * 8 + [503], 204, 201)
    assert (bmc.opened, bmc.closed, PASSWORD in repr(bmc.seen)) == (9, 1, False)


def test_strangers_are_refused(imitated: Imitated) -> None:
    """Without a session only the root is shown."""
    bmc = imitated()
    asked = [ask(bmc, "GET", path, Authorization="Basic eDp5").status for path in ("/redfish/v1/", "/redfish/v1/Systems")]
    assert asked == [200, 401]


def test_a_factory_password_opens_nothing(imitated: Imitated) -> None:
    """A session is opened, says that the password must change, and shows nothing."""
    bmc = imitated(must_change_password=True)
    said = ask(bmc, "POST", SESSIONS, {"UserName": USER, "Password": PASSWORD})
    shown = ask(bmc, "GET", "/redfish/v1/Systems", X_Auth_Token=said.headers["x-auth-token"])
    assert (said.status, shown.status, "PasswordChangeRequired" in json.dumps(said.body)) == (201, 403, True)


@pytest.mark.parametrize(
    ("lie", "applied", "pending"),
    [
        ("applies nothing", "Disabled", {}),
        ("stays pending", "Disabled", {"Processors_SNC": "Enabled"}),
        ("drops", "Disabled", {}),
        ("power lost", "Disabled", {"Processors_SNC": "Enabled"}),
    ],
)
def test_a_bmc_can_lie(lie: str, applied: str, pending: dict[str, str], imitated: Imitated) -> None:
    """It answers as if all were well, and nothing has come of it."""
    bmc = imitated("lenovo", lies={lie})
    assert [pend(bmc, Processors_SNC="Enabled").status, restart(bmc).status] == [200, 204]
    assert (bmc.applied["Processors_SNC"], bmc.pending) == (applied, pending)


def test_a_bmc_can_come_back_as_another(imitated: Imitated) -> None:
    """After the restart its system has another UUID."""
    bmc = imitated("lenovo", lies={"another uuid"})
    before = ask(bmc, "GET", "/redfish/v1/Systems/1").body["UUID"]
    restart(bmc)
    assert ask(bmc, "GET", "/redfish/v1/Systems/1").body["UUID"] != before


@pytest.mark.parametrize("kind", [*BEFORE, *AFTER])
def test_a_connection_is_cut(kind: str, imitated: Imitated) -> None:
    """What was cut before the end of the request has no effect, what was cut after it has; the client gets no whole answer."""
    bmc = imitated("lenovo", faults=[Fault(kind, method="" if kind == "connect" else "PATCH")])
    try:
        whole = bool(pend(bmc, Processors_SNC="Enabled").body)
    except (OSError, http.client.HTTPException):
        whole = False
    assert (whole, bool(bmc.pending)) == (kind == "answered", kind in AFTER)


def test_a_fault_strikes_the_request_it_is_meant_for(imitated: Imitated) -> None:
    """Of the reads of Bios the second fails, and only that one."""
    bmc = imitated("lenovo", faults=[Fault("html", path="Bios", skip=1)])
    answers = [ask(bmc, "GET", bmc.machine.paths["bios"]).headers["content-type"] for _ in range(3)]
    assert answers == ["application/json", "text/html", "application/json"]


def test_a_bmc_without_settings_has_no_link(rack: Rack) -> None:
    """An OpenBMC's system has no Bios; a Cray's attributes are objects."""
    openbmc, cray = rack.add(OpenBmc()), rack.add(CrayEx())
    assert "Bios" not in ask(openbmc, "GET", openbmc.machine.paths["system"]).body
    assert ask(cray, "GET", cray.machine.paths["bios"]).body["Attributes"]["Rome0075"]["current_value"] == "NPS1"


def test_a_certificate_is_verified(imitated: Imitated, certificate: Certificate) -> None:
    """Who knows the certificate connects, who does not is told so."""
    bmc = imitated(tls=True)
    host = bmc.url.rpartition("/")[2]
    known = http.client.HTTPSConnection(host, timeout=10, context=ssl.create_default_context(cafile=str(certificate.certificate)))
    known.request("GET", "/redfish/v1/")
    assert known.getresponse().status == 200
    known.close()
    unknown = http.client.HTTPSConnection(host, timeout=10)
    with pytest.raises(ssl.SSLCertVerificationError):
        unknown.request("GET", "/redfish/v1/")
    unknown.close()


@pytest.mark.skipif(not PRESENT, reason=ABSENT)
@pytest.mark.parametrize("maker", ["dell", "hpe", "lenovo", "supermicro"])
def test_a_whole_capture_is_served(maker: str, imitated: Imitated) -> None:
    """A real machine's attributes and registry are served as they were captured."""
    bmc = imitated(maker, machine=captured(maker))
    bios, registry = (ask(bmc, "GET", bmc.machine.paths[name]).body for name in ("bios", "registry"))
    assert (bios["Attributes"], registry) == (bmc.machine.attributes, bmc.machine.registry)
