"""Takes what names a machine or a person out of a text; the same thing always becomes the same other thing.

CPU lists and masks (``0-3,8``, ``00000000,0000ffff``), PCI addresses (``0000:61:00.0``) and LIDs stay as they are.
"""

import ipaddress
import re
from base64 import b64encode
from collections.abc import Iterable
from urllib.parse import quote

_HEX = "[0-9a-fA-F]"
_ALONE = r"(?<![0-9A-Za-z:.])"
_END = r"(?![0-9A-Za-z]|[:.][0-9A-Za-z])"
# Six bytes of an Ethernet address, eight of an EUI-64, twenty of IP over InfiniBand.
_MAC = re.compile(rf"{_ALONE}(?:{_HEX}{{2}}:){{5,19}}{_HEX}{{2}}{_END}|(?<![\w-])(?:{_HEX}{{2}}-){{5,7}}{_HEX}{{2}}(?![\w-])")
_GUIDS = re.compile(rf"{_ALONE}(?:{_HEX}{{4}}:){{3}}(?:(?:{_HEX}{{4}}:){{4}})?{_HEX}{{4}}{_END}")
_HEX_GUID = re.compile(rf"(?i)(guid[^\n]{{0,24}}?0x)({_HEX}{{16}})(?!{_HEX})")
_UUID = re.compile(rf"(?<!{_HEX}){_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?!{_HEX})")
_IPV4 = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\w)")
_IPV6 = re.compile(rf"{_ALONE}(?:{_HEX}{{0,4}}:){{2,7}}{_HEX}{{0,4}}(?![0-9A-Za-z:]|\.[0-9A-Za-z])")
_ENX = re.compile(rf"\benx({_HEX}{{12}})\b")
# A firmware's 214.0.253.1 looks like an address; the word before it says what it is.
_VERSION = re.compile(r"(?i)(?:version|firmware|driver|release|revision|ver|fw|rev)[\w -]{0,12}[\s\"=:]{0,8}(?:value=\")?$")
_SERIAL_WORDS = r"serial(?: ?(?:number|no))?|asset ?tag|service ?tag|part ?sn|\[sn\][^\n:=]{0,20}"
_SERIAL = re.compile(rf"(?im)^([^\n:=]{{0,60}}(?:{_SERIAL_WORDS})[ \t]*[:=][ \t]*)(\S[^\n]*)$")
# scontrol shows every node of the cluster, and what its administrators wrote about it.
_SLURM_NODE = re.compile(r"\b(Node(?:Name|Addr|HostName)=)(\S+)")
_SLURM_NOTE = re.compile(r"\b((?:Reason|Comment|Extra|Owner)=)[^\n]*")
_STEM = re.compile(r"[A-Za-z](?:[A-Za-z_.-]*[A-Za-z_.-])?")
_INFO = re.compile(r'(<info\s+name="([^"]{1,100})"\s+value=")([^"]*)(")')
_SECRET_INFO = re.compile(r"Serial|UUID|AssetTag|Asset_Tag|ServiceTag|^CommandLine$", re.IGNORECASE)
# Host names that are words of the trade: taking them out would take the machine's description apart.
_TRADE = (
    "localhost node none unknown linux system default cpu gpu core numa socket memory amd intel epyc xeon nvidia arm dell hpe"
)
_PLAIN_NAMES = frozenset(_TRADE.split())
GONE = "removed"
_LONG = 5
"""Letters from which on a word is looked for in other writings: of fewer, chance makes too many."""
_SHORT = 4096


def stems(names: str) -> str:
    """Return a list of host names with each called node, its numbers as they are.

    >>> stems("cn[001-004],login2")
    'node[001-004],node2'
    """
    return _STEM.sub("node", names)


def _tellable(words: Iterable[str]) -> tuple[str, ...]:
    """Return the words that can be told from the trade's own, the longest first."""
    told = {word for word in words if len(word) >= 3 and not word.isdigit() and word.lower() not in _PLAIN_NAMES}
    return tuple(sorted(told, key=lambda word: (-len(word), word)))


def _whole(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return what finds the words where nothing is joined to them."""
    each = "|".join(re.escape(word) for word in words)
    return re.compile(rf"(?i)(?<![A-Za-z0-9])(?:{each})(?![A-Za-z0-9])") if words else None


def _written(words: Iterable[str]) -> re.Pattern[str] | None:
    """Return what finds longer words in hexadecimal digits, in base64, escaped as in a URL, and backwards."""
    found: set[str] = set()
    for word in words:
        if len(word) < _LONG:
            continue
        for each in {word, word.lower(), word.upper()}:
            for raw in (each.encode(), each.encode("utf-16-le")):
                found |= {raw.hex(), *_base64(raw)}
        found |= {"".join(f"%{byte:02x}" for byte in word.encode()), quote(word, safe=""), word[::-1]} - {word}
    each = "|".join(re.escape(form) for form in sorted(found, key=lambda form: (-len(form), form)))
    return re.compile(rf"(?i){each}") if found else None


def _base64(raw: bytes) -> set[str]:
    """Return what of base64 a text makes wherever it stands among others: three alignments, without the letters at their ends."""
    pieces = set()
    for shift in range(3):
        text = b64encode(b"\0" * shift + raw).decode().rstrip("=")
        first, last = (0, 2, 3)[shift], len(text) - (1 if (shift + len(raw)) % 3 else 0)
        pieces.add(text[first:last])
    return {piece for piece in pieces if len(piece) >= _LONG}


class Scrubber:
    """Stands others in for names and addresses, counted up as they are met."""

    def __init__(self, host_names: tuple[str, ...] = (), others: Iterable[str] = ()) -> None:
        self._seen: dict[str, dict[str, int]] = {}
        self.originals: dict[str, str] = {}
        """What stood in a path where another stands now."""
        self._host = _whole(_tellable({word for name in host_names for word in (name, name.partition(".")[0])}))
        learned = _tellable(others)
        self._others = _whole(learned)
        self._written = _written((*learned, *_tellable(host_names)))
        self._clean: dict[str, str] = {}

    def text(self, text: str, *, addresses: bool = True) -> str:
        """Return the text without identifiers, serial numbers and the host's name; IPv4 addresses only if asked."""
        text = _SERIAL.sub(lambda match: match[1] + GONE, text)
        text = _INFO.sub(self._info, text)
        text = self.names(text)
        text = _HEX_GUID.sub(lambda match: match[1] + self._guid(match[2]).replace(":", ""), text)
        text = _GUIDS.sub(lambda match: self._guids(match[0]), text)
        text = _MAC.sub(lambda match: self._mac(match[0]), text)
        text = _IPV6.sub(lambda match: self._ipv6(match[0]), text)
        text = _IPV4.sub(self._ipv4, text) if addresses else text
        text = self._without_names(text)
        text = _SLURM_NODE.sub(lambda match: match[1] + stems(match[2]), text)
        return _SLURM_NOTE.sub(lambda match: match[1] + GONE, text)

    def _without_names(self, text: str) -> str:
        """Return a text without the names that were learned from the machine, in any letters and as programs write them."""
        if text not in self._clean:
            clean = self._host.sub("node", text) if self._host else text
            clean = self._others.sub(GONE, clean) if self._others else clean
            clean = self._written.sub(GONE, clean) if self._written else clean
            if len(text) > _SHORT:
                return clean
            self._clean[text] = clean
        return self._clean[text]

    def names(self, text: str) -> str:
        """Return a name or path without the identifiers that the kernel puts into names."""
        return _ENX.sub(self._enx, _UUID.sub(self._uuid, text))

    def _uuid(self, match: re.Match[str]) -> str:
        fake = f"00000000-0000-4000-8000-{self._number('uuid', match[0].lower()):012x}"
        self.originals[fake] = match[0]
        return fake

    def _enx(self, match: re.Match[str]) -> str:
        fake = "enx" + self._mac(match[1]).replace(":", "")
        self.originals[fake] = match[0]
        return fake

    def _info(self, match: re.Match[str]) -> str:
        if match[2] == "HostName":
            return f"{match[1]}node{match[4]}"
        return f"{match[1]}{GONE}{match[4]}" if _SECRET_INFO.search(match[2]) else match[0]

    def _mac(self, text: str) -> str:
        digits = re.sub(r"[:-]", "", text).lower()
        if set(digits) in ({"0"}, {"f"}):
            return text
        fake = f"02{self._number('mac', digits):0{len(digits) - 2}x}"
        between = "-" if "-" in text else ":"
        return between.join(fake[i : i + 2] for i in range(0, len(fake), 2))

    def _guids(self, text: str) -> str:
        """Return one GUID, or a GID, which is a prefix and a GUID; link-local and zero prefixes stay."""
        parts = text.split(":")
        return ":".join(self._guid("".join(parts[i : i + 4])) for i in range(0, len(parts), 4))

    def _guid(self, digits: str) -> str:
        if digits.lower() not in ("0" * 16, "fe80000000000000", "f" * 16):
            digits = f"02{self._number('guid', digits.lower()):014x}"
        return ":".join(digits[i : i + 4] for i in range(0, 16, 4))

    def _ipv4(self, match: re.Match[str]) -> str:
        parts = [int(part) for part in match[0].split(".")]
        if (
            max(parts) > 255
            or parts[0] in (0, 127, 255)
            or _VERSION.search(match.string[max(0, match.start() - 40) : match.start()])
        ):
            return match[0]
        number = self._number("ipv4", match[0])
        return f"198.{18 + (number >> 16 & 1)}.{number >> 8 & 255}.{number & 255}"  # RFC 2544: for tests

    def _ipv6(self, text: str) -> str:
        try:
            address = ipaddress.IPv6Address(text)
        except ValueError:
            return text
        widths = {len(group) for group in text.split(":")}
        if address.is_loopback or address.is_unspecified or ("::" not in text and widths in ({2}, {4})):
            return text  # eight groups of two are an EUI-64, of four a GID: both are another's by now
        return f"2001:db8::{self._number('ipv6', address.compressed):x}"  # RFC 3849: for documentation

    def _number(self, kind: str, real: str) -> int:
        """Return the same number for the same thing, a new one for a new thing."""
        seen = self._seen.setdefault(kind, {})
        return seen.setdefault(real, len(seen) + 1)
