"""Where a twin is reached: a port of this host's loopback, by TLS where openssl is here; nothing of it leaves the host."""

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, Self, TypeVar
from urllib.parse import unquote

from advisor.errors import CannotWork
from advisor.machine.hosts.files import write_file
from advisor.machine.hosts.live import LiveHost

LOOPBACK = "127.0.0.1"
_LARGEST = 4 << 20
"""Bytes of a request."""
_TURN = 30.0


@dataclass(frozen=True)
class Request:
    """One request, as it came."""

    method: str
    path: str
    headers: dict[str, str]
    """By name in small letters."""
    body: bytes = b""


@dataclass(frozen=True)
class Response:
    """One answer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, value: Any = None, **headers: str) -> "Response":
        """Return an answer in JSON; a header's name is written with underscores."""
        body = b"" if value is None else json.dumps(value).encode()
        return cls(status, body, {name.replace("_", "-"): text for name, text in headers.items()})

    def parts(self) -> tuple[bytes, bytes, bytes]:
        """Return the status line, the headers with the empty line, and the body."""
        given = {"Content-Type": "application/json", "OData-Version": "4.0", "Cache-Control": "no-cache"} | self.headers
        given["Content-Length"] = str(len(self.body))
        head = "".join(f"{name}: {text}\r\n" for name, text in given.items())
        return f"HTTP/1.1 {self.status} Said\r\n".encode(), f"{head}\r\n".encode("latin-1"), self.body


class Answering(Protocol):
    """What answers at a port."""

    url: str
    user: str
    password: str

    def answer(self, request: Request) -> Response:
        """Carry a request out."""
        ...


Some = TypeVar("Some", bound=Answering)


@dataclass(frozen=True)
class Certificate:
    """A certificate of 127.0.0.1 that signs itself, and its key."""

    certificate: Path
    key: Path

    @classmethod
    def made(cls, folder: Path, name: str = "twin") -> "Certificate | None":
        """Make one; the key never leaves the folder. None where openssl is not here."""
        made = cls(folder / f"{name}.pem", folder / f"{name}.key")
        line = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        names = ("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost")
        LiveHost().run((*line, *names, "-keyout", str(made.key), "-out", str(made.certificate)), timeout=_TURN)
        return made if made.key.is_file() and made.certificate.is_file() else None

    def context(self) -> ssl.SSLContext:
        """Return what a server needs of it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


class Ports:
    """Ports of 127.0.0.1, all served by one thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, served: Some, certificate: Certificate | None = None, port: int = 0) -> Some:
        """Give one a port, and say so in its ``url``."""
        context = certificate.context() if certificate else None
        made = asyncio.run_coroutine_threadsafe(self._start(served, context, port), self._loop)
        served.url = f"{'https' if certificate else 'http'}://{LOOPBACK}:{made.result(_TURN)}"
        return served

    async def _start(self, served: Any, context: ssl.SSLContext | None, port: int) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self.connection(served, reader, writer)

        server = await asyncio.start_server(serve, LOOPBACK, port, ssl=context, limit=1 << 20)
        self._servers.append(server)
        found: int = server.sockets[0].getsockname()[1]
        return found

    def close(self) -> None:
        """Take all ports back."""
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(_TURN)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_TURN)
        self._loop.close()

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        mine = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not mine]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def connection(self, served: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until either side has enough."""
        try:
            while await self.exchange(served, reader, writer):
                pass
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
            pass  # what is no HTTP has no answer
        finally:
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def exchange(self, served: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Take one request and answer it; return whether the connection lives on."""
        request, length = await head_of(reader)
        if not 0 <= length <= _LARGEST:
            return False
        request = Request(request.method, request.path, request.headers, await reader.readexactly(length))
        return await sent(served.answer(request), request, writer)


async def head_of(reader: asyncio.StreamReader) -> tuple[Request, int]:
    """Return a request without its body, and how long that is."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    headers = {name.strip().lower(): text.strip() for name, _, text in (line.partition(":") for line in head[1:] if line)}
    return Request(method, unquote(target.partition("?")[0]), headers), int(headers.get("content-length", "0"))


async def sent(response: Response, request: Request, writer: asyncio.StreamWriter) -> bool:
    """Send an answer; return whether the connection lives on."""
    line, told, body = response.parts()
    writer.write(line + told + (b"" if request.method == "HEAD" else body))
    await writer.drain()
    return request.headers.get("connection", "").lower() != "close"


@dataclass(frozen=True)
class Standing:
    """A twin at its port, and what a command needs to reach it."""

    url: str
    login: Path
    """User and password, for this user alone."""
    ca: Path | None
    """None if openssl is not here: it is reached by http."""

    @property
    def options(self) -> str:
        """Return the options of a command that asks it."""
        known = f"--ca {self.ca}" if self.ca else "--insecure"
        return f"--bmc {self.url} --login-file {self.login} {known}"


@contextmanager
def standing(served: Answering, port: int = 0) -> Iterator[Standing]:
    """Serve a twin on this host's loopback while the block runs; its certificate and its login go with it."""
    with TemporaryDirectory(prefix="advisor-twin-") as folder, Ports() as ports:
        made = Certificate.made(Path(folder))
        try:
            ports.add(served, made, port)
        except OSError as error:
            raise CannotWork(f"port {port} of {LOOPBACK}: {(error.strerror or 'cannot be used').lower()}") from error
        login = Path(folder) / "login"
        write_file(login, f"{served.user}\n{''.join(served.password)}\n".encode(), private=True)
        yield Standing(served.url, login, made.certificate if made else None)
