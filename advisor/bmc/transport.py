"""One request to one BMC over DMTF's library: sent once, no redirect, no proxy, bounded in bytes and seconds."""

import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from redfish.rest.v1 import HttpClient
from requests.adapters import HTTPAdapter
from requests.exceptions import RequestException, SSLError
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError

from advisor.errors import CannotWork

# The library's own log is off: it prints what is no JSON, and of a password with a quote it blots out the first part only.
for _name in ("redfish", "redfish.rest.v1", "redfish.rest", "urllib3", "requests"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False
    logging.getLogger(_name).disabled = _name.startswith("redfish")

SILENCE: Final = 30.0
"""Seconds without a byte after which a BMC is given up; slow ones take ten for a registry."""
WHOLE: Final = 120.0
"""Seconds for one whole answer: a BMC that sends a byte now and then is given up too."""
LARGEST: Final = 12 << 20
"""Bytes of one answer; the largest registry seen has 1.2 MB."""
_PIECE: Final = 1 << 16

_BUNDLES: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")
"""Where Debian, Red Hat and SUSE keep the authorities that the system trusts."""


class Trust(NamedTuple):
    """By what a BMC is known to be itself: an authority's certificate, its own certificate, or nothing."""

    ca: Path | None = None
    pin: str | None = None
    """SHA-256 of the BMC's own certificate."""
    insecure: bool = False

    @property
    def how(self) -> Literal["not verified (--insecure)", "pinned certificate", "certificate authority"]:
        """Return it in words, for the record."""
        if self.insecure:
            return "not verified (--insecure)"
        return "pinned certificate" if self.pin else "certificate authority"


class Answer(NamedTuple):
    """What a BMC answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        """Return it without what it holds: a BMC may send back what it was sent."""
        return f"Answer({self.status}, {len(self.body)} bytes)"


class NoAnswer(CannotWork):
    """A request was sent, and no whole answer came: whether it was done is not known."""


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
        raise CannotWork("no file of certificate authorities is on this system; give one with --ca, or use --pin")
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
        return NoAnswer(f"no whole answer within {WHOLE:.0f} seconds")
    for each in chain:
        if isinstance(each, _TooMuch):
            return NoAnswer(str(each))
        if said := _certificate(each):
            return CannotWork(said)
        if isinstance(each, socket.gaierror):
            return CannotWork("no such host")
        if isinstance(each, ConnectionRefusedError):
            return CannotWork("connection refused: nothing answers there")
        if isinstance(each, TimeoutError):
            return NoAnswer(f"no answer within {SILENCE:.0f} seconds")
    known = any(isinstance(each, (RequestException, HTTPError, OSError)) for each in chain)
    return NoAnswer("the connection broke off" if known else "its answer cannot be read")


def _certificate(error: BaseException) -> str | None:
    """Return what is wrong with the certificate; None where it is not about that."""
    if isinstance(error, ssl.SSLCertVerificationError):
        cure = "give its authority with --ca, or --pin to look at this certificate once"
        return f"its certificate is not trusted: {error.verify_message or 'verification failed'}; {cure}"
    text = str(error)
    if "Fingerprints did not match" in text:
        return "its certificate is another than the pinned one; if it was renewed, confirm the new one with --pin"
    if isinstance(error, (ssl.SSLError, SSLError)) and not any(isinstance(each, BaseException) for each in error.args):
        return "no TLS can be made with it" if "EOF" not in text.upper() else None
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
        raise CannotWork("it shows no certificate")
    return found
