"""One BMC for the length of a with-block, over DMTF's library: logged in, each request sent once and bounded, logged out."""

import json
import logging
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Any, NoReturn, Self
from urllib.parse import urljoin, urlsplit

from redfish.rest.v1 import HttpClient
from requests.adapters import HTTPAdapter
from requests.exceptions import RequestException, SSLError
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError

from advisor.bios.connection import (
    Address,
    Answer,
    Hearing,
    Login,
    NoAnswer,
    Resource,
    Secret,
    Trust,
    interrupt,
    keep_out_of_cores,
    seen_to_its_end,
)
from advisor.errors import AdvisorError, CannotWork, one_line

# The library's own log is off: it prints what is no JSON, and of a password with a quote it blots out the first part only.
for _name in ("redfish", "redfish.rest.v1", "redfish.rest", "urllib3", "requests"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False
    logging.getLogger(_name).disabled = _name.startswith("redfish")

SILENCE = 30.0
"""Seconds without a byte after which a BMC is given up; slow ones take ten for a registry."""
WHOLE = 120.0
"""Seconds for one whole answer: a BMC that sends a byte now and then is given up too."""
LARGEST = 12 << 20
"""Bytes of one answer; the largest registry seen has 1.2 MB."""
_PIECE = 1 << 16

_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")
"""Where Debian, Red Hat and SUSE keep the authorities that the system trusts."""


class _Deadline:
    """Ends a request that takes too long, by closing its socket: a read allows each byte its own silence."""

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []
        self.over = False

    @contextmanager
    def running(self, seconds: float) -> Iterator[None]:
        self.over = False
        timer = threading.Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end(self) -> None:
        self.over = True
        for each in self.sockets:
            with suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)


class _Adapter(HTTPAdapter):
    """Carries requests: no proxy, no retry, its answers cut at a size; of a pinned BMC its own certificate alone will do."""

    def __init__(self, trust: Trust, deadline: _Deadline, largest: int) -> None:
        self._trust, self._deadline, self._largest = trust, deadline, largest
        super().__init__(max_retries=0, pool_connections=1, pool_maxsize=1)

    def init_poolmanager(self, *given: Any, **named: Any) -> None:
        """Make the pool, whose connections tell the deadline their sockets."""
        super().init_poolmanager(*given, **named, assert_fingerprint=self._trust.pin)
        sockets = self._deadline.sockets

        class Plain(HTTPConnection):
            def connect(self) -> None:
                super().connect()
                sockets[:] = [self.sock] if self.sock else []

        class Secure(HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                sockets[:] = [self.sock] if self.sock else []
                self.is_verified = True  # who says --insecure knows; urllib3 would warn of each request

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = Plain

        class SecurePool(HTTPSConnectionPool):
            ConnectionCls = Secure

        self.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}

    def send(  # noqa: PLR0917 - as requests calls it
        self,
        request: Any,
        stream: bool = False,  # noqa: FBT001, FBT002 - likewise
        timeout: Any = None,
        verify: Any = True,  # noqa: FBT002 - likewise
        cert: Any = None,
        proxies: Any = None,
    ) -> Any:
        """Send one request and return its answer, read whole."""
        del stream, proxies
        with self._deadline.running(WHOLE):
            answer = super().send(request, stream=True, timeout=timeout or SILENCE, verify=verify, cert=cert, proxies={})
            answer.raw = BytesIO(self._whole(answer.raw))
        return answer

    def _whole(self, raw: Any) -> bytes:
        data, until = bytearray(), time.monotonic() + WHOLE
        while piece := raw.read(_PIECE, decode_content=True):
            data += piece
            if len(data) > self._largest or time.monotonic() > until:
                raw.close()
                raise _TooMuch(f"its answer is larger than {self._largest >> 20} MB")
        return bytes(data)


class _TooMuch(Exception):  # noqa: N818 - says what it is
    """An answer without end."""


class Transport(HttpClient):  # type: ignore[misc] # DMTF's library has no types
    """DMTF's client with the arguments that are not its defaults: verified, once, within a time; see docs/bios.md."""

    def __init__(self, url: str, trust: Trust, *, largest: int = LARGEST) -> None:
        deadline = _Deadline()
        super().__init__(base_url=url, cafile=_authorities(trust), timeout=SILENCE, max_retry=0, check_connectivity=False)
        self._session.trust_env = False  # no proxy and no .netrc of the environment
        self._deadline = deadline
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, _Adapter(trust, deadline, largest))

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None, headers: dict[str, str] | None = None) -> Answer:
        """Return the answer to one request, which is sent once, whatever comes back."""
        try:
            found = self._rest_request(path, method=method, body=body, headers=dict(headers or {}), allow_redirects=False)
        except Exception as error:  # noqa: BLE001 - the library's own, requests', urllib3's and OpenSSL's have no common root
            raise _no_answer(error, over=self._deadline.over) from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None  # without the library's frames, whose locals hold the request as it is sent
        return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read or b"")

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


def _authorities(trust: Trust) -> str | None:
    """Return the file of authorities; None where a pin is all that counts, or nothing does."""
    if trust.insecure or trust.pin:
        return None
    if trust.ca is not None:
        return str(trust.ca)
    known = (ssl.get_default_verify_paths().cafile, *_BUNDLES)
    found = next((each for each in known if each and Path(each).is_file()), None)
    if found is None:
        raise CannotWork("this system has no CA bundle; give one with --ca, or use --pin")
    return found


def _no_answer(error: BaseException, *, over: bool) -> CannotWork:
    """Return why there is no answer, in words; nothing of what was sent is in them."""
    chain: list[BaseException] = []
    here: BaseException | None = error
    while here is not None and len(chain) < 12:
        chain.append(here)
        reason = getattr(here, "reason", None)
        inner = [each for each in here.args if isinstance(each, BaseException)] if here.args else []
        here = here.__cause__ or (reason if isinstance(reason, BaseException) else None) or next(iter(inner), None)
    if over:
        return NoAnswer(f"no complete answer within {WHOLE:.0f} seconds")
    for each in chain:
        if isinstance(each, _TooMuch):
            return NoAnswer(str(each))
        if said := _certificate(each):
            return CannotWork(said)
        if isinstance(each, socket.gaierror):
            return CannotWork("no such host")
        if isinstance(each, ConnectionRefusedError):
            return CannotWork("connection refused: nothing is listening there")
        if isinstance(each, TimeoutError):
            return NoAnswer(f"no answer within {SILENCE:.0f} seconds")
    known = any(isinstance(each, (RequestException, HTTPError, OSError)) for each in chain)
    return NoAnswer("the connection was lost" if known else "its answer cannot be read")


def _certificate(error: BaseException) -> str | None:
    """Return what is wrong with the certificate; None where it is not about that."""
    if isinstance(error, ssl.SSLCertVerificationError):
        cure = "give its CA certificate with --ca, or use --pin to inspect this certificate once"
        return f"its certificate is not trusted: {error.verify_message or 'verification failed'}; {cure}"
    text = str(error)
    if "Fingerprints did not match" in text:
        return "its certificate differs from the pinned one; if it was renewed, confirm the new one with --pin"
    if isinstance(error, (ssl.SSLError, SSLError)) and not any(isinstance(each, BaseException) for each in error.args):
        return "no TLS connection is possible" if "EOF" not in text.upper() else None
    return None


def certificate_of(host: str, port: int) -> bytes:
    """Return the certificate that a BMC shows, and send it nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it is looked at, not believed
    try:
        with socket.create_connection((host, port), SILENCE) as raw, context.wrap_socket(raw, server_hostname=host) as made:
            found = made.getpeercert(binary_form=True)
    except OSError as error:
        raise _no_answer(error, over=False) from None
    if not found:
        raise CannotWork("it presents no certificate")
    return found


ROOT = "/redfish/v1/"
_SESSIONS = "/redfish/v1/SessionService/Sessions"
"""Where sessions are made if the root does not say (DSP0266 1.6, 13.3.4)."""
ALL = 600.0
"""Seconds for all answers of one BMC together: a slow one ends too."""
_HOPS = 3
_REASONS = (
    dict.fromkeys((301, 302, 303, 307, 308), "it redirects the request, but advisor does not follow redirects")
    | dict.fromkeys((409, 429, 503), "it is busy; try again later")
    | {
        401: "the session is no longer valid",
        403: "this user is not allowed to do this",
        404: "no such resource",
        500: "internal BMC error",
    }
)
_LARGE = 1 << 16
_LONGEST = 300
_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+|<[^>]{0,200}>")


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

    @property
    def user(self) -> str:
        """Return who is logged in."""
        return self._login.user

    def get(self, link: object, *, anywhere: bool = False) -> Resource:
        """Return a resource that the BMC has; what it refuses is one line."""
        found = self.look(link, anywhere=anywhere)
        if found is None:
            self.fail(f"{_shown(link)} does not exist")
        return found

    def look(self, link: object, *, anywhere: bool = False) -> Resource | None:
        """Return a resource, None where it is not there (404)."""
        answer = self.ask("GET", link, anywhere=anywhere)
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

    def ask(
        self,
        method: str,
        link: object,
        body: Resource | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        anywhere: bool = False,
    ) -> Answer:
        """Return the answer to one request to this BMC; of a GET also where it points to another path of its own."""
        path = self.local(link, anywhere=anywhere)
        if self.stop.is_set() and not self.committed:
            interrupt()
        if self._spent > ALL:
            self.fail(f"its answers took more than {ALL:.0f} seconds in total")
        for _ in range(_HOPS):
            answer = self._send(method, path, body, headers)
            if method != "GET" or answer.status not in (301, 302, 303, 307, 308):
                return answer
            path = self.local(answer.headers.get("location"), path, anywhere=anywhere)
        return self.fail("it redirects endlessly")

    def local(self, link: object, base: str = "/", *, anywhere: bool = False) -> str:
        """Return the path of a link below /redfish on this BMC, or ``anywhere`` on it; refuse any other."""
        if isinstance(link, dict):
            link = link.get("@odata.id")
        if not isinstance(link, str) or not link or not link.isprintable() or len(link) > 1024 or "\\" in link:
            self.fail("it returned an invalid link")
        own, usual = urlsplit(self.address.url), {"https": 443, "http": 80}
        try:
            found = urlsplit(urljoin(self.address.url + base, link))
            port = found.port or usual.get(found.scheme)
        except ValueError:
            self.fail("it returned an invalid link")
        if (found.scheme, found.hostname, port) != (own.scheme, own.hostname, own.port):
            to = f"{found.scheme}://{found.netloc}" if found.hostname == own.hostname else found.netloc
            self.fail(f"it returned a link to another host, {_shown(to)}; the link is not followed")
        if not (anywhere or found.path.startswith("/redfish")) or ".." in found.path:
            self.fail(f"it returned a link to a path outside Redfish, {_shown(found.path)}; the link is not followed")
        return found.path + (f"?{found.query}" if found.query else "")

    def pause(self, seconds: float) -> None:
        """Wait, unless somebody interrupts."""
        if self.stop.wait(seconds):
            interrupt()

    def resource(self, answer: Answer) -> Resource:
        """Return the JSON object of an answer; it is not to be changed, for equal answers of several BMCs share it."""
        text = answer.body.decode("utf-8", "replace").strip()
        try:
            found = _same_for_all(answer.body) if len(answer.body) > _LARGE else json.loads(text)
        except (ValueError, RecursionError):
            what = "an HTML page" if text[:200].lower().lstrip().startswith(("<!doctype", "<html", "<?xml")) else "no JSON"
            self.fail(f"it answers {what if text else 'nothing'} instead of JSON (HTTP {answer.status})")
        if not isinstance(found, dict):
            self.fail("its JSON answer is not an object")
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
            self.refused(answer, "reading its Redfish root") if answer.status != 404 else self.fail("it does not support Redfish")
        root = self.resource(answer)
        if "RedfishVersion" not in root and "@odata.id" not in root:
            self.fail("no Redfish service answers at this address")
        return root

    def _log_in(self) -> None:
        links = self.root.get("Links")
        sessions = links.get("Sessions") if isinstance(links, dict) else None
        answer = self.ask("POST", sessions or _SESSIONS, {"UserName": self._login.user, "Password": self._login.password})
        given = answer.status in (200, 201, 202, 204)
        self._token = (Secret(answer.headers.pop("x-auth-token", "")) or None) if given else None
        if not self._token:
            if answer.status in (400, 401, 403) and not self._tells(answer, "PasswordChangeRequired"):
                self.fail(f"it rejects this user and password (HTTP {answer.status}); no other login is tried")
            self.refused(answer, "logging in")
        with suppress(CannotWork, ValueError):  # where it says no place, the session ends by its own time
            place = answer.headers.get("location") or (self.resource(answer).get("@odata.id") if answer.body else None)
            self._own = self.local(urlsplit(place).path) if isinstance(place, str) else None
        if self._tells(answer, "PasswordChangeRequired"):
            self.fail("change this account's password first; advisor does not do that")

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
            return "change this account's password first; advisor does not do that"
        said = self.said(answer)
        if answer.status == 403 and self._tells(answer, "LicenseNotPassed"):
            return (
                f"a licence is missing: {said}; install it, or use the vendor's own tool (Supermicro: sum -c GetCurrentBiosCfg)"
            )
        return f"{doing} is refused (HTTP {answer.status}): {said or _REASONS.get(answer.status, 'no reason given')}"

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
