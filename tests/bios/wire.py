"""What goes wrong on the way to imitated BMCs, as data: the ports are those of the product's twins."""

import asyncio
import zlib
from dataclasses import dataclass
from typing import Any

from advisor.bios.twin_port import Certificate, Ports, Request, Response, head_of, sent

__all__ = ["AFTER", "BEFORE", "KINDS", "WRONG", "Certificate", "Fault", "Rack", "Request", "Response", "wrong"]

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


class Rack(Ports):
    """Imitated BMCs on ports of 127.0.0.1, with their faults."""

    async def connection(self, served: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, unless it is cut when it is made."""
        if any(fault.kind == "connect" and not fault.method and fault.strikes("", fault.path) for fault in served.faults):
            writer.transport.abort()
            return
        await super().connection(served, reader, writer)

    async def exchange(self, served: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Take one request and answer it, or do what a fault does; return whether the connection lives on."""
        request, length = await head_of(reader)
        fault = next((each for each in served.faults if each.strikes(request.method, request.path)), None)
        if fault and fault.kind in BEFORE:
            read = {"request body": length // 2, "request read": length}.get(fault.kind, 0)
            request = Request(request.method, request.path, request.headers, await reader.readexactly(read))
            served.note(request, None, fault.kind)
            writer.transport.abort()
            return False
        request = Request(request.method, request.path, request.headers, await reader.readexactly(length))
        response = served.answer(request) if not fault or fault.effect or fault.kind in (*AFTER, "slow") else Response(0)
        served.note(request, response.status or None, fault.kind if fault else None)
        return await (_faulty(fault, response, writer) if fault else sent(response, request, writer))


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
