"""What strangers tried: odd resources, odd answers, plans and records edited by hand, two at once, odd names.

Of each: one line that helps, nothing written that should not be, nothing sent twice, no traceback, the session closed.
"""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bios.admin import Admin
from tests.bios.conftest import Imitated
from tests.bios.imitation import ROOT, Bmc, extended
from tests.bios.machines import Json
from tests.bios.wire import Request, Response

REPOSITORY = Path(__file__).parents[2]
SNC = "Processors_SNC"


def without(name: str) -> Callable[[Json], Json]:
    """Return what leaves one key of a resource out."""
    return lambda told: {key: value for key, value in told.items() if key != name}


def attributes(**values: Any) -> Callable[[Json], Json]:
    """Return what changes attributes."""
    return lambda told: {**told, "Attributes": {**told["Attributes"], **values}}


def settings(**values: Any) -> Callable[[Json], Json]:
    """Return what changes @Redfish.Settings."""
    return lambda told: {**told, "@Redfish.Settings": {**told["@Redfish.Settings"], **values}}


def location(*places: Any) -> Callable[[Json], Json]:
    """Return what changes where a registry lies."""
    return lambda told: {**told, "Location": list(places)}


OWN_REGISTRY = {"Language": "zh-CN", "Uri": "/redfish/v1/Registries/none"}
REFUSED: dict[str, tuple[str, Callable[[Json], Json], str]] = {
    "an attribute is gone": ("bios", lambda told: attributes()({**told, "Attributes": {"A": 1}}), "does not have it"),
    "an attribute is null": ("bios", attributes(**{SNC: None}), "reports no value for it"),
    "an attribute is a list": ("bios", attributes(**{SNC: ["Disabled"]}), "does not have it"),
    "an attribute is an object of an unknown kind": ("bios", attributes(**{SNC: {"value": "Disabled"}}), "does not have it"),
    "more attributes than any BIOS": ("bios", attributes(**{f"A{each}": each for each in range(6000)}), "at most 5000"),
    "no settings": ("bios", without("@Redfish.Settings"), "has no settings object"),
    "settings are a list": ("bios", lambda told: {**told, "@Redfish.Settings": [1]}, "has no settings object"),
    "the settings object is a text": ("bios", settings(SettingsObject="/redfish/v1/x"), "has no settings object"),
    "the settings object is elsewhere": (
        "bios",
        settings(SettingsObject={"@odata.id": "https://127.0.0.1/redfish/v1/x"}),
        "a link to another host, https://127.0.0.1",
    ),
    "the settings object is no URL": ("bios", settings(SettingsObject={"@odata.id": "http://[bad"}), "an invalid link"),
    "it applies at once alone": ("bios", settings(SupportedApplyTimes=["Immediate"]), "not at the next restart (OnReset)"),
    "something foreign waits": ("settings", attributes(Nowhere=1), "someone else's changes are pending"),
    "the registry is on another host": ("registry", location({"Language": "en", "Uri": "https://evil/redfish/v1/x"}), "evil"),
    "systems are a mapping": ("systems", lambda told: {**told, "Members": {"a": 1}}, "none of the BMC's systems has a Bios"),
    "systems are null": ("systems", lambda told: {**told, "Members": None}, "none of the BMC's systems has a Bios"),
}
"""What of a BMC is odd, and what is said of it: nothing is written."""
TAKEN: dict[str, tuple[str, Callable[[Json], Json], bool]] = {
    "an attribute in an object": ("bios", attributes(**{SNC: {"current_value": "Disabled"}}), True),
    "numbers that are none": ("bios", attributes(X=1.5, Y=10**400), True),
    "a text without end": ("bios", attributes(X="x" * 10**6), True),
    "letters of all scripts": ("bios", attributes(Ünï="服务器"), True),
    "odd messages of the last time": ("bios", settings(Messages=[{"Message": 5}, {"MessageId": "\x1b[2J"}, 7]), True),
    "an apply time twice, and a number": ("bios", settings(SupportedApplyTimes=["OnReset", "OnReset", 5]), True),
    "apply times as a text": ("bios", settings(SupportedApplyTimes="OnReset"), True),
    "a registry of another name": ("bios", lambda told: {**told, "AttributeRegistry": "Other.v9_9_9"}, True),
    "a registry whose name is a number": ("bios", lambda told: {**told, "AttributeRegistry": 5}, True),
    "no registry": ("bios", without("AttributeRegistry"), True),
    "a registry without a place": ("registry", location(), False),
    "a registry in an archive alone": ("registry", location({"Language": "en", "ArchiveUri": "/redfish/v1/x.gz"}), False),
    "a registry in a mapping": ("registry", lambda told: {**told, "Location": {"Uri": "/redfish/v1/x"}}, False),
    "a registry in another language first": (
        "registry",
        lambda told: {**told, "Location": [OWN_REGISTRY, *told["Location"]]},
        True,
    ),
    "a registry in another language alone": (
        "registry",
        lambda told: {**told, "Location": [{**told["Location"][0], "Language": "zh-CN"}]},
        True,
    ),
    "a list of registries that is null": ("registries", lambda told: {**told, "Members": None}, False),
    "a list of registries that is a mapping": ("registries", lambda told: {**told, "Members": {}}, False),
    "systems as texts": ("systems", lambda told: {**told, "Members": [each["@odata.id"] for each in told["Members"]]}, True),
    "no UUID": ("system", without("UUID"), True),
    "a UUID that is a number": ("system", lambda told: {**told, "UUID": 5}, True),
    "a maker that is a list": ("system", lambda told: {**told, "Manufacturer": ["x"]}, True),
    "a host name that is a command": ("system", lambda told: {**told, "HostName": "$(reboot)"}, True),
    "links that are a list": ("system", lambda told: {**told, "Links": []}, True),
    "managers that are a mapping": ("system", lambda told: {**told, "Links": {"ManagedBy": {"@odata.id": "x"}}}, True),
}
"""What of a BMC is odd and harms nothing; and whether values could be checked by its registry."""


def altered(bmc: Bmc, place: str, change: Callable[[Json], Json]) -> None:
    """Change what a BMC shows of one resource."""
    more = {"registry": f"{ROOT}/Registries/Bios", "registries": f"{ROOT}/Registries", "systems": f"{ROOT}/Systems"}
    bmc.alter[more.get(place) or bmc.paths[place]] = change


@pytest.mark.parametrize(("place", "change", "words"), REFUSED.values(), ids=REFUSED)
def test_an_odd_resource_is_refused(
    place: str, change: Callable[[Json], Json], words: str, imitated: Imitated, admin: Admin
) -> None:
    """One line, and nothing is written."""
    bmc = imitated("lenovo")
    altered(bmc, place, change)
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, said.lines, words in said.err, bmc.writes(), bmc.opened - bmc.closed) == (2, 1, True, [], 0), said.err


@pytest.mark.parametrize(("place", "change", "checked"), TAKEN.values(), ids=TAKEN)
def test_an_odd_resource_harms_nothing(
    *, place: str, change: Callable[[Json], Json], checked: bool, imitated: Imitated, admin: Admin
) -> None:
    """It is staged, once; where no registry could be had, what nobody could check is named first, and the page says so."""
    bmc = imitated("lenovo")
    altered(bmc, place, change)
    words: tuple[object, ...] = ("bios", "stage", admin.wish("lenovo"), "--yes", "--record", "r.json")
    if not checked:
        said = admin.types(*words, bmc=bmc)
        assert (said.status, said.lines, f"cannot check {SNC}" in said.err, bmc.writes()) == (2, 1, True, [])
        words = (*words, "--unchecked", SNC)
    said = admin.types(*words, bmc=bmc)
    assert (said.status, bmc.pending, len(bmc.writes()), bmc.opened - bmc.closed) == (0, {SNC: "Enabled"}, 1, 0), said.err
    assert ("Not checked" in said.out) is not checked


def test_a_code_without_its_registry_is_not_written(imitated: Imitated, admin: Admin) -> None:
    """AMI's FBO001 is the boot order of one board: what a code means, nobody knows without the registry."""
    bmc = imitated("ami")
    altered(bmc, "registries", lambda told: {**told, "Members": []})
    said = admin.stages(bmc, admin.wish("ami"))
    assert (said.status, said.lines, "is defined only in the attribute registry, which is" in said.err, bmc.writes()) == (
        2,
        1,
        True,
        [],
    )


@pytest.mark.parametrize("form", ["{path}/", "{url}{path}", "{url}{path}/"])
def test_a_link_is_followed_however_it_is_written(form: str, imitated: Imitated, admin: Admin) -> None:
    """With a slash at its end, or with the BMC's own address."""
    bmc = imitated("lenovo")
    link = form.format(url=bmc.url, path=bmc.machine.paths["settings"])
    altered(bmc, "bios", settings(SettingsObject={"@odata.id": link}))
    assert (admin.stages(bmc, admin.wish("lenovo")).status, bmc.pending) == (0, {SNC: "Enabled"})


Made = Callable[[Bmc], Response]
PATCHED: dict[str, tuple[Made, int, str]] = {
    "201": (lambda _: Response.of(201), 0, ""),
    "202 without a place": (lambda _: Response.of(202), 0, ""),
    "202 and a task in the body": (lambda _: Response.of(202, {"@odata.id": f"{ROOT}/TaskService/Tasks/9"}), 0, ""),
    "202 to nowhere": (lambda _: Response.of(202, None, Location="/cgi-bin/x"), 2, "the BMC accepted the PATCH"),
    "202 to no URL": (lambda _: Response.of(202, None, Location="http://[bad"), 2, "the BMC accepted the PATCH"),
    "301": (lambda _: Response.of(301, None, Location=f"{ROOT}/x"), 2, "it redirects"),
    "308": (lambda _: Response.of(308, None, Location=f"{ROOT}/x"), 2, "it redirects"),
    "409": (lambda _: Response.of(409), 2, "it is busy"),
    "409 with words": (lambda _: Response.of(409, extended("Base.1.8.ResourceInUse", "Somebody is in the setup.")), 2, "setup"),
    "429": (lambda _: Response.of(429), 2, "it is busy"),
    "503 until a date": (lambda _: Response.of(503, None, Retry_After="Fri, 07 Nov 2036 23:59:59 GMT"), 0, ""),
    "503 for a time before now": (lambda _: Response.of(503, None, Retry_After="-5"), 0, ""),
    "503 for odd digits": (lambda _: Response(503, b"", {"Retry-After": "\u00b2"}), 0, ""),
}
"""An answer to a PATCH that was taken all the same, the exit status, and what is said."""


@pytest.mark.parametrize(("made", "status", "words"), PATCHED.values(), ids=PATCHED)
def test_an_odd_answer_to_a_patch(made: Made, status: int, words: str, imitated: Imitated, admin: Admin) -> None:
    """It is sent once; what was accepted is looked at, and never called refused."""
    bmc = imitated("lenovo")
    before = bmc.answer
    bmc.answer = lambda request: (before(request), made(bmc))[1] if request.method == "PATCH" else before(request)  # type: ignore[method-assign]
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, len(bmc.writes()), words in said.err) == (status, 1, True), said.err
    assert said.lines == int(status != 0)


def nth(bmc: Bmc, number: int, what: Callable[[Request], Response]) -> None:
    """Answer a BMC's n-th request otherwise, after it was carried out or not."""
    before, seen = bmc.answer, [0]

    def answer(asked: Request) -> Response:
        seen[0] += 1
        return what(asked) if seen[0] == number else before(asked)

    bmc.answer = answer  # type: ignore[method-assign, assignment]


@pytest.mark.parametrize("number", range(3, 14))
def test_a_session_that_expires_in_the_middle(number: int, imitated: Imitated, admin: Admin) -> None:
    """Nothing is written after it, or it is said that the write was accepted and what it came to is not known."""
    bmc = imitated("lenovo")
    before = bmc.answer

    def expired(asked: Request) -> Response:
        bmc.tokens.clear()
        return before(asked)

    nth(bmc, number, expired)
    said = admin.stages(bmc, admin.wish("lenovo"))
    accepted = [each for each in bmc.writes() if each.status == 200]
    assert (len(bmc.writes()) <= 1, said.lines, "accepted the PATCH" in said.err) == (True, 1, bool(accepted)), said.err


@pytest.mark.parametrize("answer", [Response.of(500), Response(200, b'{"Attr'), Response.of(401), Response(200, b"<html>")])
def test_what_was_accepted_and_cannot_be_read_again_is_said_so(answer: Response, imitated: Imitated, admin: Admin) -> None:
    """Not merely that reading failed: the write was taken, and where to look."""
    bmc = imitated("lenovo")
    before = bmc.answer
    bmc.answer = lambda request: answer if bmc.writes() and request.method == "GET" else before(request)  # type: ignore[method-assign]
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, said.lines, "the BMC accepted the PATCH" in said.err, "bios status" in said.err) == (2, 1, True, True)
    assert admin.record()["outcome"] == "begun"


LOGINS: dict[str, tuple[dict[str, str], Any, bool]] = {
    "no place": ({}, {}, True),
    "a list": ({}, [1], True),
    "another host": ({"Location": "http://evil/redfish/v1/SessionService/Sessions/1"}, {}, True),
    "no URL": ({"Location": "http://[bad"}, {}, True),
    "above": ({"Location": "../../x"}, {}, True),
    "a token that is none": ({"X-Auth-Token": "\u00e9 \t"}, {}, False),
}


@pytest.mark.parametrize(("headers", "body", "works"), LOGINS.values(), ids=LOGINS)
def test_an_odd_answer_to_a_login(*, headers: dict[str, str], body: Any, works: bool, imitated: Imitated, admin: Admin) -> None:
    """Its token counts; where its place is not told, no other session is closed for it."""
    bmc = imitated("lenovo")
    before = bmc.log_in

    def opened(given: Json) -> Response:
        before(given)
        return Response(201, json.dumps(body).encode(), {"X-Auth-Token": next(iter(bmc.tokens)), **headers})

    bmc.log_in = opened  # type: ignore[method-assign, assignment]
    said = admin.types("bios", "status", bmc=bmc)
    assert (said.status, said.lines) == ((0, 0) if works else (2, 1)), said.err
    assert {each.path for each in bmc.requests("DELETE")} <= {f"{ROOT}/SessionService/Sessions/1"}


BODIES: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "NaN": (lambda body: body[:-1] + b',"Z":NaN,"Y":1e999}', 0),
    "a number of 5000 digits": (lambda body: body[:-1] + b',"Z":' + b"9" * 5000 + b"}", 2),
    "half a letter": (lambda body: body.replace(b'"Attributes": {', b'"Attributes": {"S":"\\ud800",'), 0),
    "a name that ends": (lambda body: body.replace(b'"Attributes": {', b'"Attributes": {"S\\u0000":"x",'), 0),
    "a mark before it": (lambda body: b"\xef\xbb\xbf" + body, 2),
    "UTF-16": (lambda body: body.decode().encode("utf-16"), 2),
    "depths": (lambda _: b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 2),
}


@pytest.mark.parametrize(("change", "status"), BODIES.values(), ids=BODIES)
def test_an_odd_body(change: Callable[[bytes], bytes], status: int, imitated: Imitated, admin: Admin) -> None:
    """Read, or refused in one line."""
    bmc = imitated("lenovo")
    before = bmc.get
    bios = bmc.paths["bios"]
    bmc.get = lambda path: Response(200, change(before(path).body)) if path == bios else before(path)  # type: ignore[method-assign]
    said = admin.stages(bmc, admin.wish("lenovo"))
    assert (said.status, said.lines, len(bmc.writes())) == (status, int(status != 0), int(status == 0)), said.err


def test_a_packed_body_is_unpacked(imitated: Imitated, admin: Admin) -> None:
    """Content-Encoding gzip, which nobody asked for."""
    bmc = imitated("lenovo")
    before = bmc.get
    bmc.get = lambda path: Response(200, gzip.compress(before(path).body), {"Content-Encoding": "gzip"})  # type: ignore[method-assign]
    assert admin.types("bios", "status", bmc=bmc).status == 0
