"""How imitated BMCs are reached: ports of one thread, http or TLS, and what goes wrong on the way, as data."""

import asyncio
import json
import ssl
import subprocess
import threading
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar
from urllib.parse import unquote

BEFORE = ("connect", "request line", "request headers", "request body", "request read")
"""Where a connection is cut with nothing done: when it is made, and after each part of the request."""
AFTER = ("effect", "status line", "headers", "half body", "last byte", "answered")
"""Where it is cut with the request carried out: before the first byte of the answer, and in or after each part of it."""
WRONG = (
    *("html", "garbage", "empty", "list", "deep", "endless", "endless headers", "packed", "redirect", "link"),
    *("unauthorised", "forbidden", "busy", "always busy", "error", "letters"),
)
"""Answers that are none. Nothing is done, but where the fault's ``effect`` says so."""
KINDS = (*BEFORE, *AFTER, *WRONG, "slow")


@dataclass
class Fault:
    """One thing that goes wrong: with which request, how often."""

    kind: str
    method: str = ""
    """Of requests with this method; empty: of all."""
    path: str = ""
    """Of requests whose path holds this; empty: of all."""
    skip: int = 0
    """So many such requests go well first."""
    times: int = 1
    effect: bool = False
    """Whether the request is carried out all the same."""
    value: str = ""
    """Seconds, a text or a host, as the kind needs it."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(self.kind)

    def strikes(self, method: str, path: str) -> bool:
        """Return whether it strikes this request, and count it."""
        if self.times <= 0 or (self.method and self.method != method) or self.path not in path:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


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
    """What a rack asks for answers."""

    url: str
    faults: list[Fault]

    def answer(self, request: Request) -> Response:
        """Carry a request out."""
        ...

    def note(self, request: Request, status: int | None, fault: str | None) -> None:
        """Take down that a request came, and what became of it."""
        ...


Some = TypeVar("Some", bound=Answering)


def wrong(fault: Fault) -> Response:
    """Return an answer that is none."""
    value = fault.value
    extended = {
        "MessageId": "Base.1.8.GeneralError",
        "Message": value or "\x1b[2J\x1b]0;owned\x07 No.\r\nStatus: all is well\x00\x9b31m",
    }
    json_answers: dict[str, tuple[int, Any]] = {
        "list": (200, [1, 2, 3]),
        "redirect": (302, None),
        "link": (200, {"@odata.id": value, "Bios": {"@odata.id": value}, "Members": [{"@odata.id": value}]}),
        "unauthorised": (401, {"error": {"code": "Base.1.8.NoValidSession", "message": "no valid session"}}),
        "forbidden": (403, {"error": {"code": "Base.1.8.InsufficientPrivilege", "message": "not with this account"}}),
        "busy": (503, {"error": {"code": "Base.1.8.ServiceTemporarilyUnavailable", "message": "busy"}}),
        "always busy": (503, {"error": {"code": "Base.1.8.ServiceTemporarilyUnavailable", "message": "busy"}}),
        "error": (500, {"error": {"code": "Base.1.8.InternalError", "message": "internal error"}}),
        "letters": (400, {"error": {"code": "Base.1.8.GeneralError", "@Message.ExtendedInfo": [extended]}}),
    }
    headers = {"redirect": {"Location": value}, "busy": {"Retry-After": value or "1"}}.get(fault.kind, {})
    if fault.kind in json_answers:
        status, said = json_answers[fault.kind]
        return Response.of(status, said, **{name.replace("-", "_"): text for name, text in headers.items()})
    bodies = {
        "html": b"<!DOCTYPE html><html><head><title>404</title></head><body>Not Found</body></html>",
        "garbage": bytes(range(256)) * 16,
        "empty": b"",
        "deep": b"[" * 200_000,
    }
    kind = {"html": "text/html"}.get(fault.kind, "application/json")
    return Response(200, bodies[fault.kind], {"Content-Type": kind})


@dataclass(frozen=True)
class Certificate:
    """A certificate of 127.0.0.1 that signs itself, and its key."""

    certificate: Path
    key: Path

    @classmethod
    def made(cls, folder: Path, name: str = "bmc") -> "Certificate":
        """Make one; the key never leaves the folder."""
        made = cls(folder / f"{name}.pem", folder / f"{name}.key")
        line = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        names = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
        files = ["-keyout", str(made.key), "-out", str(made.certificate)]
        subprocess.run([*line, *names, *files], check=True, capture_output=True)
        return made

    def context(self) -> ssl.SSLContext:
        """Return what a server needs of it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


class Rack:
    """Imitated BMCs on ports of 127.0.0.1, all served by one thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, bmc: Some, certificate: Certificate | None = None, port: int = 0) -> Some:
        """Give a BMC a port, and say so in its ``url``."""
        context = certificate.context() if certificate else None
        made = asyncio.run_coroutine_threadsafe(self._start(bmc, context, port), self._loop)
        bmc.url = f"{'https' if certificate else 'http'}://127.0.0.1:{made.result(30)}"
        return bmc

    async def _start(self, bmc: Answering, context: ssl.SSLContext | None, port: int) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _connection(bmc, reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", port, ssl=context, limit=1 << 20)
        self._servers.append(server)
        found: int = server.sockets[0].getsockname()[1]
        return found

    def close(self) -> None:
        """Take all ports back."""
        if not self._thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _stop(self) -> None:
        for server in self._servers:
            server.close()
        mine = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not mine]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


async def _connection(bmc: Answering, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until either side has enough."""
    try:
        if any(fault.kind == "connect" and not fault.method and fault.strikes("", fault.path) for fault in bmc.faults):
            writer.transport.abort()
            return
        while await _exchange(bmc, reader, writer):
            pass
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError):
        pass
    finally:
        writer.transport.abort() if writer.transport.is_closing() else writer.close()


async def _exchange(bmc: Answering, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Take one request and answer it; return whether the connection lives on."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    headers = {name.strip().lower(): text.strip() for name, _, text in (line.partition(":") for line in head[1:] if line)}
    path = unquote(target.partition("?")[0])
    fault = next((each for each in bmc.faults if each.strikes(method, path)), None)
    request = Request(method, path, headers)
    length = int(headers.get("content-length", "0"))
    if fault and fault.kind in BEFORE:
        read = {"request body": length // 2, "request read": length}.get(fault.kind, 0)
        request = Request(method, path, headers, await reader.readexactly(read))
        bmc.note(request, None, fault.kind)
        writer.transport.abort()
        return False
    request = Request(method, path, headers, await reader.readexactly(length))
    response = bmc.answer(request) if not fault or fault.effect or fault.kind in (*AFTER, "slow") else Response(0)
    bmc.note(request, response.status or None, fault.kind if fault else None)
    if fault:
        return await _faulty(fault, response, writer)
    line, told, body = response.parts()
    writer.write(line + told + (b"" if method == "HEAD" else body))
    await writer.drain()
    return headers.get("connection", "").lower() != "close"


async def _faulty(fault: Fault, response: Response, writer: asyncio.StreamWriter) -> bool:
    """Send what a fault makes of an answer; return whether the connection lives on."""
    if fault.kind == "slow":
        await asyncio.sleep(float(fault.value or "1"))
        writer.write(b"".join(response.parts()))
        await writer.drain()
        return True
    if fault.kind in ("endless", "endless headers", "packed"):
        await _endless(fault.kind, writer)
        return False
    if fault.kind in WRONG:
        writer.write(b"".join(wrong(fault).parts()))
        await writer.drain()
        return True
    line, headers, body = response.parts()
    whole = line + headers + body
    shown = {
        "effect": 0,
        "status line": len(line) // 2,
        "headers": len(line) + len(headers) // 2,
        "half body": len(line) + len(headers) + len(body) // 2,
        "last byte": len(whole) - 1,
        "answered": len(whole),
    }[fault.kind]
    writer.write(whole[:shown])
    await writer.drain()
    writer.close()
    return False


async def _endless(kind: str, writer: asyncio.StreamWriter) -> None:
    """Send until the other side closes, or half a gigabyte has gone."""
    if kind == "endless headers":
        start, piece = b"HTTP/1.1 200 Said\r\n", b"X-More: " + b"a" * 60_000 + b"\r\n"
    elif kind == "packed":
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        start = b"HTTP/1.1 200 Said\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
        start += packer.compress(b'{"a": "')
        piece = b""
        for _ in range(512):
            writer.write(start + packer.compress(b"a" * (1 << 20)))
            start = b""
            await writer.drain()
        return
    else:
        start = b"HTTP/1.1 200 Said\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        piece = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    writer.write(start)
    for _ in range(8192):
        writer.write(piece)
        await writer.drain()
