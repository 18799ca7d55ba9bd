"""A host without what names it: recorded through this, a capture can be given away."""

import re
from collections.abc import Collection, Iterable
from copy import copy
from posixpath import normpath
from xml.etree.ElementTree import ParseError

from advisor.machine.hosts.base import Host, HostBehind, PublicText, Ran, Reading, RedactedHost, SecondLook, second_look
from advisor.machine.privacy.kept import (
    PublicLines,
    kept_answer,
    kept_file,
    kept_variables,
    kept_xml,
    smbios_strings,
    text_of,
    whole,
)
from advisor.machine.privacy.pseudonyms import Mask, is_known_word
from advisor.machine.secrecy import CMDLINE, boot_options, keeps_variable

_HOST_NAMES = ("/proc/sys/kernel/hostname", "/etc/hostname")
_NAME_VARIABLES = ("SLURMD_NODENAME", "SLURM_SUBMIT_HOST", "PBS_O_HOST", "LSB_SUB_HOST")
_DMI = "/sys/class/dmi/id"
_IDENTITIES = ["product_serial", "product_uuid", "board_serial", "board_asset_tag", "chassis_serial", "chassis_asset_tag"]
_TABLE = "/sys/firmware/dmi/tables/DMI"
_WHO = re.compile(r"PARTITION|RESERVATION|ACCOUNT|USER|LOGNAME|NAME$|QOS|HOST|QUEUE|CLUSTER|DIR$|HOME|NODELIST")
_LONGEST = 200


class AnonymousHost(HostBehind):
    """Another host's answers without serial numbers, addresses, identifiers and names of machines and people."""

    def __init__(self, host: Host, *, identities: Iterable[str] = (), public: Collection[PublicText] = ()) -> None:
        """``identities`` are facts that name this machine; ``public`` is what their sources say may be given away."""
        super().__init__(RedactedHost(host))
        self._public = PublicLines(public)
        names = _names_of(host)
        self._mask = Mask(names, {*_identities(host, names), *identities})
        for kind in ("net", "infiniband"):
            self._mask.learn(host.list(f"/sys/class/{kind}"), kind)

    def read(self, path: str) -> Reading:
        """Return what of a file may be given away."""
        path = self._inward(path)
        reading = self._host.read(path)
        if reading.why:
            return reading
        keep = self._public.of_file(path)
        data = reading.data
        return Reading(whole(keep(self._mask, text_of(data))) if keep else kept_file(self._mask, normpath(path), data))

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, scrubbed."""
        path = self._inward(path)
        return tuple(sorted(self._mask.file(f"{path}/{name}").rpartition("/")[2] for name in self._host.list(path)))

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, scrubbed."""
        real = self._host.real(self._inward(path))
        return None if real is None else self._mask.file(real)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what of a command's answer may be given away."""
        ran = self._host.run(argv, timeout)
        ran = ran._replace(path=None if ran.path is None else self._mask.known(ran.path))
        if argv[0].startswith("lstopo") and "xml" in argv:
            return ran._replace(out=self._xml(ran.out), err=b"")
        keep = self._public.of_command(argv)
        return (
            ran._replace(out=whole(keep(self._mask, text_of(ran.out))), err=b"") if keep else kept_answer(self._mask, argv, ran)
        )

    @property
    def again(self) -> SecondLook | None:
        """The second look of a capture, scrubbed; None where there was one."""
        second = second_look(self._host)
        if second is None:
            return None
        masked = copy(self)
        masked._host = RedactedHost(second.host)  # noqa: SLF001 - the same mask over another host: the same names come out
        return second._replace(host=masked)

    def environment(self) -> dict[str, str]:
        """Return the variables; those that name people, places or machines keep at most their shape."""
        return dict(kept_variables(self._mask, self._host.environment().items()))

    def _xml(self, data: bytes) -> bytes:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import fromstring

        try:
            return kept_xml(fromstring(data), self._mask) if data.strip() else b""
        except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError, MemoryError):
            return b""

    def _inward(self, path: str) -> str:
        """Return the path as it is on the host, from one with names taken out."""
        inside = self._mask.inside
        return "/".join(inside.get(part, part) for part in path.split("/")) if inside else path


def _names_of(host: Host) -> tuple[str, ...]:
    """Return what the machine is called."""
    files = ((host.read(path).text or "").strip() for path in _HOST_NAMES)
    variables = host.environment()
    return tuple(name for name in (*files, *(variables.get(name, "") for name in _NAME_VARIABLES)) if name)


def _identities(host: Host, names: Iterable[str]) -> set[str]:
    """Return the words of what is not kept: a name may stand in more places than those that are known to hold it.

    Of them those that could name somebody: long enough, none of the trade, no number.
    """
    texts = [(host.read(f"{_DMI}/{name}").text or "") for name in _IDENTITIES]
    texts += [text.decode("utf-8", "replace") for text in smbios_strings(host.read(_TABLE).data)]
    texts += [value for name, value in host.environment().items() if not keeps_variable(name) or _WHO.search(name)]
    cmdline = host.read(CMDLINE).text or ""
    kept = set(boot_options(cmdline))
    texts += [word.partition("=")[2] for word in cmdline.split() if word not in kept]
    for line in (host.read("/proc/mounts").text or "").splitlines():
        texts += line.split(" ")[:2]
    texts += [name.partition(".")[2] for name in names]
    words = {
        word for text in texts for split in (r"[^A-Za-z0-9_]+", r"[^A-Za-z0-9_.-]+") for word in re.split(split, text[:10_000])
    }
    words |= {text.strip() for text in texts if len(text) <= _LONGEST}
    return {word for word in words if 4 <= len(word) <= _LONGEST and not word.isdigit() and not _usual(word)}


def _usual(word: str) -> bool:
    return all(is_known_word(part) or len(part) < 3 for part in re.split(r"[^A-Za-z0-9_]+", word))
