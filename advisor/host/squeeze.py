"""Undoes gzip, bzip2 and xz in memory, recognised by their first bytes, up to a limit."""

import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Protocol

from advisor.errors import BadCapture

LIMIT = 256 << 20
"""Bytes that an archive may hold. The largest published /sys + /proc root holds 40 MiB."""
_MEMORY = 256 << 20
"""Bytes that xz may ask for; its strongest preset asks for 65 MiB."""
_PIECE = 1 << 20
"""Bytes that are taken and given at once."""
_STREAMS = 1000
"""Compressed streams in one file; pigz and pbzip2 write one for each block or CPU."""


class _Squeezed(Protocol):
    """What the standard library's three decompressors have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def plain(data: bytes, file: str) -> bytes:
    """Return the data decompressed if it is compressed, else as it is."""
    if data.startswith(b"\x1f\x8b"):
        return _expand(data, file, lambda: zlib.decompressobj(wbits=31), b"\x1f\x8b")
    if data.startswith(b"BZh"):
        import bz2

        return _expand(data, file, bz2.BZ2Decompressor, b"BZh")
    if data.startswith(b"\xfd7zXZ\0"):
        import lzma

        return _expand(data, file, lambda: lzma.LZMADecompressor(memlimit=_MEMORY), b"\xfd7zXZ\0")
    return data


def _expand(data: bytes, file: str, start: Callable[[], _Squeezed], magic: bytes) -> bytes:
    """Return all streams of the data; what follows the last one and is none is padding."""
    expanded, position = BytesIO(), 0  # grows in place: pieces that are joined at the end would take the memory twice
    for _ in range(_STREAMS):
        position = _stream(start(), data, position, expanded, file)
        if not data.startswith(magic, position):
            return expanded.getvalue()
    raise BadCapture(f"has more than {_STREAMS} compressed streams", file=file)


def _stream(stream: _Squeezed, data: bytes, position: int, expanded: BytesIO, file: str) -> int:
    """Write what one stream holds, piece by piece; return where the next one begins."""
    given = b""
    while not stream.eof:
        if getattr(stream, "needs_input", not given):
            given = data[position : position + _PIECE]
            position += len(given)
        piece = _piece(stream, given, file)
        if not piece and not given and not stream.eof:
            raise BadCapture("ends early: it was cut short", file=file, cure="copy it again")
        given = getattr(stream, "unconsumed_tail", b"")  # zlib's; the two others keep it
        expanded.write(piece)
        if expanded.tell() > LIMIT:
            raise BadCapture(f"holds more than {LIMIT >> 20} MiB", file=file, cure="unpack it and name the folder")
    return position - len(stream.unused_data)


def _piece(stream: _Squeezed, data: bytes, file: str) -> bytes:
    try:
        return stream.decompress(data, _PIECE)
    except (zlib.error, OSError, EOFError, ValueError, MemoryError) as error:
        raise BadCapture(f"cannot be decompressed: {error}", file=file, cure="copy it again") from error
    except Exception as error:
        if type(error).__name__ != "LZMAError":  # its module is loaded for xz alone: start-up is felt
            raise
        raise BadCapture(f"cannot be decompressed: {error}", file=file, cure="copy it again") from error
