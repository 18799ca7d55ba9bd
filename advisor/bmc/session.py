"""One BMC for the length of a with-block: logged in, read by links of its own, logged out also when interrupted."""

import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from threading import Event
from types import TracebackType
from typing import Any, Final, NamedTuple, NoReturn, Self
from urllib.parse import urljoin, urlsplit

from advisor.bmc.process import Hearing, Login, Secret, interrupt, keep_out_of_cores, seen_to_its_end
from advisor.bmc.transport import Answer, NoAnswer, Transport, Trust
from advisor.errors import AdvisorError, BadValue, CannotWork, one_line

ROOT: Final = "/redfish/v1/"
_SESSIONS: Final = "/redfish/v1/SessionService/Sessions"
"""Where sessions are made if the root does not say (DSP0266 1.6, 13.3.4)."""
ALL: Final = 600.0
"""Seconds for all answers of one BMC together: a slow one ends too."""
_HOPS: Final = 3
_REASONS: Final = (
    dict.fromkeys((301, 302, 303, 307, 308), "it redirects, and what is sent to it is not sent elsewhere")
    | dict.fromkeys((409, 429, 503), "it is busy; try again later")
    | {401: "the session is no longer valid", 403: "this user may not", 404: "it is not there", 500: "an error of its own"}
)
_LARGE: Final = 1 << 16
_LONGEST: Final = 300
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+|<[^>]{0,200}>")

Resource = dict[str, Any]


class Address(NamedTuple):
    """Where a BMC is."""

    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        """Return the address as a request needs it."""
        return f"{self.scheme}://{self._host}:{self.port}"

    @property
    def name(self) -> str:
        """Return the address as messages name it: without what is usual."""
        if self.scheme == "http":
            return self.url
        return self._host if self.port == 443 else f"{self._host}:{self.port}"

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def address_of(text: str, *, insecure: bool = False) -> Address:
    """Return the address that a host name or a URL means."""
    url = text if "://" in text else f"https://{text}"
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise BadValue("a user or a password stands in the BMC's address", cure="see docs/bios.md for where they are taken from")
    try:
        port = parts.port
    except ValueError:
        port = -1
    host = parts.hostname or ""
    fits = re.fullmatch(r"[A-Za-z0-9._:%-]{1,255}", host) and parts.scheme in ("http", "https") and port not in (-1, 0)
    odd = not text.isprintable() or " " in text  # urlsplit leaves a line's end out, and means another host
    if odd or not fits or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise BadValue(f"{text[:80]} is no address of a BMC", cure="write bmc01, bmc01:8443, [fd00::1] or https://bmc01")
    if parts.scheme == "http" and not insecure:
        raise BadValue(f"{host}: http sends the password readable to everybody", cure="write https, or allow it with --insecure")
    return Address(parts.scheme, host, port or {"https": 443, "http": 80}[parts.scheme])


class Session:
    """One BMC, logged in."""

    def __init__(self, address: Address, login: Login, trust: Trust, stop: Event | None = None) -> None:
        self.address, self.trust = address, trust
        self.committed = False
        """Whether a write is under way, which is seen to its end whatever happens."""
        self.stop = stop or Event()
        self._hearing = Hearing(self.stop)
        self._spent = 0.0
        self._login = login
        self._transport = Transport(address.url, trust)
        self._token: Secret | None = None
        self._own: str | None = None
        self.root: Resource = {}

    def __enter__(self) -> Self:
        keep_out_of_cores()
        self._hearing.begin()
        try:
            self.root = self._first()
            with seen_to_its_end(self.stop):
                self._log_in()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._leave()
        if kind is None and self._hearing.came:
            raise KeyboardInterrupt

    def get(self, link: object) -> Resource:
        """Return a resource that the BMC has; what it refuses is one line."""
        found = self.look(link)
        if found is None:
            self.fail(f"{_shown(link)} is not there")
        return found

    def look(self, link: object) -> Resource | None:
        """Return a resource, None where it is not there (404)."""
        answer = self.ask("GET", link)
        if answer.status == 404:
            return None
        if answer.status not in (200, 202):
            self.refused(answer, "reading")
        return self.resource(answer)

    def tagged(self, link: object) -> tuple[Resource | None, str | None]:
        """Return a resource with its tag (ETag); None where it is not there."""
        answer = self.ask("GET", link)
        if answer.status == 404:
            return None, None
        if answer.status != 200:
            self.refused(answer, "reading")
        found = self.resource(answer)
        tag = answer.headers.get("etag") or found.get("@odata.etag")
        return found, tag if isinstance(tag, str) and tag.isprintable() and len(tag) < _LONGEST else None

    def ask(self, method: str, link: object, body: Resource | None = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Return the answer to one request to this BMC; of a GET also where it points to another path of its own."""
        path = self.local(link)
        self._go_on()
        if self._spent > ALL:
            self.fail(f"it took more than {ALL:.0f} seconds for its answers in all")
        for _ in range(_HOPS):
            answer = self._send(method, path, body, headers)
            if method != "GET" or answer.status not in (301, 302, 303, 307, 308):
                return answer
            path = self.local(answer.headers.get("location"), path)
        return self.fail("it redirects without end")

    def local(self, link: object, base: str = "/") -> str:
        """Return the path of a link below /redfish on this BMC; refuse any other."""
        if isinstance(link, dict):
            link = link.get("@odata.id")
        if not isinstance(link, str) or not link or not link.isprintable() or len(link) > 1024 or "\\" in link:
            self.fail("it gives a link that is none")
        own, usual = urlsplit(self.address.url), {"https": 443, "http": 80}
        try:
            found = urlsplit(urljoin(self.address.url + base, link))
            port = found.port or usual.get(found.scheme)
        except ValueError:
            self.fail("it gives a link that is none")
        if (found.scheme, found.hostname, port) != (own.scheme, own.hostname, own.port):
            to = f"{found.scheme}://{found.netloc}" if found.hostname == own.hostname else found.netloc
            self.fail(f"it points to another host, {_shown(to)}, which is not followed")
        if not found.path.startswith("/redfish") or ".." in found.path:
            self.fail(f"it points outside of Redfish, to {_shown(found.path)}, which is not followed")
        return found.path + (f"?{found.query}" if found.query else "")

    def pause(self, seconds: float) -> None:
        """Wait, unless somebody interrupts."""
        if self.stop.wait(seconds):
            interrupt()

    def _go_on(self) -> None:
        if self.stop.is_set() and not self.committed:
            interrupt()

    def resource(self, answer: Answer) -> Resource:
        """Return the JSON object of an answer; it is not to be changed, for equal answers of several BMCs share it."""
        text = answer.body.decode("utf-8", "replace").strip()
        try:
            found = _same_for_all(answer.body) if len(answer.body) > _LARGE else json.loads(text)
        except (ValueError, RecursionError):
            what = "a page in HTML" if text[:200].lower().lstrip().startswith(("<!doctype", "<html", "<?xml")) else "no JSON"
            self.fail(f"it answers {what if text else 'nothing'} where Redfish has JSON (HTTP {answer.status})")
        if not isinstance(found, dict):
            self.fail("it answers JSON that is no object")
        return found

    def refused(self, answer: Answer, doing: str) -> NoReturn:
        """Raise what the BMC says of a request that it refuses."""
        self.fail(self._refusal(answer, doing))

    def said(self, answer: Answer) -> str:
        """Return the messages of an answer as text that steers nothing, without the password; empty where it has none."""
        return "; ".join(text for _, text in self._messages(answer))

    def fail(self, text: str) -> NoReturn:
        """Raise one line that names the BMC."""
        raise CannotWork(f"{self.address.name}: {self.clean(text)}")

    def clean(self, text: str) -> str:
        """Return a text of the BMC's as one short line, without letters that steer a terminal, markup and the password."""
        plain = one_line(_STEERING.sub(" ", text))
        secrets = [each for each in (self._login.password, self._token) if each]
        for each in secrets:
            plain = plain.replace(each, "***")
        return " ".join(plain.split())[: _LONGEST * 3]

    def _send(self, method: str, path: str, body: Resource | None, headers: Mapping[str, str] | None) -> Answer:
        own = {"X-Auth-Token": self._token} if self._token else {}
        begun = time.monotonic()
        try:
            return self._transport.ask(method, path, body, {**(headers or {}), **own})
        except NoAnswer as error:
            raise NoAnswer(f"{self.address.name}: {error}") from None
        except CannotWork as error:
            raise CannotWork(f"{self.address.name}: {error}") from None
        finally:
            self._spent += time.monotonic() - begun

    def _first(self) -> Resource:
        answer = self.ask("GET", ROOT)
        if answer.status == 401:  # against DSP0266: the root needs no login
            return {}
        if answer.status != 200:
            self.refused(answer, "reading its Redfish root") if answer.status != 404 else self.fail("it has no Redfish")
        root = self.resource(answer)
        if "RedfishVersion" not in root and "@odata.id" not in root:
            self.fail("what answers there is no Redfish service")
        return root

    def _log_in(self) -> None:
        links = self.root.get("Links")
        sessions = links.get("Sessions") if isinstance(links, dict) else None
        answer = self.ask("POST", sessions or _SESSIONS, {"UserName": self._login.user, "Password": self._login.password})
        given = answer.status in (200, 201, 202, 204)
        self._token = (Secret(answer.headers.pop("x-auth-token", "")) or None) if given else None
        if not self._token:
            if answer.status in (400, 401, 403) and not self._tells(answer, "PasswordChangeRequired"):
                self.fail(f"it refuses this user and password (HTTP {answer.status}); nothing else is tried")
            self.refused(answer, "logging in")
        with suppress(CannotWork, ValueError):  # where it says no place, the session ends by its own time
            place = answer.headers.get("location") or (self.resource(answer).get("@odata.id") if answer.body else None)
            self._own = self.local(urlsplit(place).path) if isinstance(place, str) else None
        if self._tells(answer, "PasswordChangeRequired"):
            self.fail("the password of this account must be changed first, which is not done here")

    def _leave(self) -> None:
        """Log out: a BMC has few sessions. What goes wrong then changes nothing."""
        with suppress(AdvisorError):
            if self._token and self._own:
                self._send("DELETE", self._own, None, None)
        self._token = self._own = None
        self._transport.close()
        self._hearing.end()

    def _refusal(self, answer: Answer, doing: str) -> str:
        if self._tells(answer, "PasswordChangeRequired"):
            return "the password of this account must be changed first, which is not done here"
        said = self.said(answer)
        if answer.status == 403 and self._tells(answer, "LicenseNotPassed"):
            return f"a licence is missing: {said}; with it, or by the vendor's own tool (Supermicro: sum -c GetCurrentBiosCfg)"
        return f"{doing} is refused (HTTP {answer.status}): {said or _REASONS.get(answer.status, 'it does not say why')}"

    def _tells(self, answer: Answer, name: str) -> bool:
        return any(name in identity for identity, _ in self._messages(answer))

    def _messages(self, answer: Answer) -> list[tuple[str, str]]:
        """Return the messages of an answer (@Message.ExtendedInfo), each with its identity."""
        try:
            body = json.loads(answer.body.decode("utf-8", "replace") or "{}")
        except (ValueError, RecursionError):
            return []
        error = body.get("error") if isinstance(body, dict) else None
        holders = [each for each in (error, body) if isinstance(each, dict)]
        lists = [each.get("@Message.ExtendedInfo") for each in holders]
        found = [each for many in lists if isinstance(many, list) for each in many[:20] if isinstance(each, dict)]
        pairs = [
            (str(each.get("MessageId", "")), self.clean(str(each.get("Message") or each.get("MessageId") or "")))
            for each in found
        ]
        return list(dict.fromkeys(pair for pair in pairs if pair[1]))


@lru_cache(maxsize=8)
def _same_for_all(body: bytes) -> object:
    """Return what a large answer holds: a registry of a megabyte is the same on all servers of a kind."""
    return json.loads(body)


def _shown(link: object) -> str:
    return one_line(str(link.get("@odata.id") if isinstance(link, dict) else link))[:120]
