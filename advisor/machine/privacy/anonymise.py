"""A host without what names it: recorded through this, a capture can be given away."""

import re
from collections.abc import Callable, Collection, Iterable
from copy import copy
from posixpath import normpath

from advisor.machine.hosts.base import Host, HostBehind, PublicText, Ran, Reading, RedactedHost, SecondLook, second_look
from advisor.machine.privacy.kept import PublicLines, kept_answer, kept_file, kept_variables, smbios_strings, text_of, whole
from advisor.machine.privacy.pseudonyms import REMOVED, Scrubber, WordReplacer, is_known_word
from advisor.machine.secrecy import CMDLINE, boot_options, keeps_variable

_HOST_NAMES = ("/proc/sys/kernel/hostname", "/etc/hostname")
_NAME_VARIABLES = ("SLURMD_NODENAME", "SLURM_SUBMIT_HOST", "PBS_O_HOST", "LSB_SUB_HOST")
_DMI = "/sys/class/dmi/id"
_IDENTITIES = ("product_serial", "product_uuid", "board_serial", "board_asset_tag", "chassis_serial", "chassis_asset_tag")
_TABLE = "/sys/firmware/dmi/tables/DMI"
_DEVICES = ("/sys/class/net", "/sys/class/infiniband")
_FOLDERS = ("net", "infiniband")
"""Folders in which devices lie by the names that a site may give them."""
_CGROUPS = re.compile(r"(/sys/fs/cgroup(?:/(?:cpuset|unified))?|/dev/cpuset)(/.*)?")
# What the kernel, systemd and the drivers call devices by themselves; sites may call them anything.
_DEVICE = re.compile(
    r"lo|p\d+p\d+"
    r"|(?:em|eth|ib|hsn|hsi|cxi|bond|br|team|wlan|wlp|usb|dummy|tun|tap|docker|virbr|veth|vnet|ens|eno|enp|enP|ibp|ibs|ibP|idrac|lom)[\dsfpdnvi.x]*"
    r"|(?:mlx[45]|hfi1|qib|irdma|bnxt_re|efa|qedr|cxgb4|ocrdma|hns|erdma|mana|usnic|siw|rxe|mthca|i40iw)_?(?:bond_|an)?\d*"
    r"|(?:rocep|ibp|rdmap|roceo|ibo|iwp|roces|ibs)\d+[sf\dvnpd]*"
)
_PRODUCT = re.compile(
    r"(?:PowerEdge|Precision|ProLiant|Apollo|Synergy|ThinkSystem|System x|PRIMERGY|BullSequana|UCS[BC])"
    r"[ -][A-Z]{1,4}-?\d{2,5}[A-Za-z]{0,3}"
    r"(?: Gen\d{1,2}(?: Plus)?(?: v\d)?| [vV]\d)?"
)
_TOKEN = re.compile(r"[A-Za-z0-9_]+")
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\[0-7]{3}){2,}")
_LONGEST = 200


class AnonymousHost(HostBehind):
    """Another host's answers without serial numbers, addresses, identifiers and names of machines and people."""

    def __init__(self, host: Host, *, identities: Iterable[str] = (), public: Collection[PublicText] = ()) -> None:
        """``identities`` are facts that name this machine; ``public`` is what their sources say may be given away."""
        super().__init__(RedactedHost(host))
        self._public = PublicLines(public)
        self._words = WordReplacer()
        self._names = _names_of(host)
        self._scrub = Scrubber(self._names, {*_identities(host), *identities})
        self._devices: dict[str, str] = {}
        self._inside: dict[str, str] = {}
        for folder in _DEVICES:
            for name in host.list(folder):
                self._learn_device(name, folder.rpartition("/")[2])
        self._device = _either(self._devices)

    def read(self, path: str) -> Reading:
        """Return what of a file may be given away."""
        path = self._inward(path)
        reading = self._host.read(path)
        if reading.why:
            return reading
        keep = self._public.of_file(path)
        return Reading(whole(keep(self, text_of(reading.data))) if keep else kept_file(self, normpath(path), reading.data))

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, scrubbed."""
        path = self._inward(path)
        return tuple(sorted(self._outward(f"{path}/{name}").rpartition("/")[2] for name in self._host.list(path)))

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, scrubbed."""
        real = self._host.real(self._inward(path))
        return None if real is None else self._outward(real)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what of a command's answer may be given away."""
        ran = self._host.run(argv, timeout)
        path = None if ran.path is None else self.known(ran.path)
        if argv[0].startswith("lstopo") and "xml" in argv:
            return ran._replace(out=self._xml(ran.out), err=b"", path=path)
        keep = self._public.of_command(argv)
        if keep:
            return ran._replace(out=whole(keep(self, text_of(ran.out))), err=b"", path=path)
        return kept_answer(self, argv, ran._replace(path=path))

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
        return dict(kept_variables(self, self._host.environment().items()))

    def text(self, text: str, *, addresses: bool = True) -> str:
        """Return a text without identifiers, serial numbers, addresses and the names that the machine goes by."""
        text = self._scrub.text(text, addresses=addresses)
        return self._device.sub(lambda match: self._devices[match[0]], text) if self._device else text

    def product(self, text: str) -> str:
        """Return what a vendor calls a product, though a site may have called a machine after it."""
        return text if _PRODUCT.fullmatch(text.strip()) else self.text(text, addresses=False)

    def known(self, text: str) -> str:
        """Return a text in which only words of the trade are themselves, and what the kernel calls devices."""
        text = _ESCAPED.sub(REMOVED, text)
        return _TOKEN.sub(lambda match: match[0] if self._is_device(match[0]) else self._words.known(match[0]), text)

    def device(self, name: str) -> str:
        """Return what a device is called: as the kernel calls it, or by a number where a site has named it."""
        name = self._scrub.names(name)
        if self._learn_device(name, "device"):
            self._device = _either(self._devices)
        return self._devices.get(name, name)

    def _learn_device(self, name: str, kind: str) -> bool:
        if _DEVICE.fullmatch(name) or name.startswith("enx") or name == "bonding_masters" or name in self._devices or not name:
            return False
        self._devices[name] = f"{kind}{len(self._devices) + 1}"
        return len(name) > 2 and not name.isdigit()

    def _is_device(self, word: str) -> bool:
        return bool(_DEVICE.fullmatch(word)) or word in self._devices.values()

    def cgroup(self, path: str) -> str:
        """Return a path of cgroups in which only words of the trade are themselves."""
        return "/".join(self._masked(part, self._words.nameless) for part in path.split("/"))

    def own(self, name: str) -> bool:
        """Tell whether the machine is called so."""
        return name.partition(".")[0] in {each.partition(".")[0] for each in self._names}

    def _xml(self, data: bytes) -> bytes:
        from xml.etree.ElementTree import ParseError

        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import fromstring

        from advisor.machine.privacy.kept import kept_xml

        if not data.strip():
            return b""
        try:
            root = fromstring(data)
        except (ParseError, DefusedXmlException, ValueError, LookupError, RecursionError, MemoryError):
            return b""
        return kept_xml(root, self)

    def _outward(self, path: str) -> str:
        """Return a path as it is written out: with others for the names that say whose it is."""
        cgroups = _CGROUPS.fullmatch(path)
        if cgroups:
            return cgroups[1] + self.cgroup(cgroups[2] or "")
        if path.startswith(("/etc/tuned/", "/usr/lib/tuned/")):
            return "/".join(self._masked(part, self.known) for part in path.split("/"))
        parts = path.split("/")
        above = ("", *parts)
        return "/".join(
            self._masked(part, self.device if folder in _FOLDERS else self._scrub.names)
            for folder, part in zip(above, parts, strict=False)
        )

    def _masked(self, name: str, mask: Callable[[str], str]) -> str:
        """Return a name of a file as it is written out, and note what it was."""
        told = mask(name)
        if told != name:
            self._inside[told] = name
        return told

    def _inward(self, path: str) -> str:
        """Return the path as it is on the host, from one with names taken out."""
        return "/".join(self._inside.get(part, part) for part in path.split("/")) if self._inside else path


def _names_of(host: Host) -> tuple[str, ...]:
    """Return what the machine is called."""
    files = ((host.read(path).text or "").strip() for path in _HOST_NAMES)
    variables = host.environment()
    return tuple(name for name in (*files, *(variables.get(name, "") for name in _NAME_VARIABLES)) if name)


def _identities(host: Host) -> set[str]:
    """Return the words of what is not kept: a name may stand in more places than those that are known to hold it."""
    told = [(host.read(f"{_DMI}/{name}").text or "") for name in _IDENTITIES]
    told += [text.decode("utf-8", "replace") for text in smbios_strings(host.read(_TABLE).data)]
    told += [value for name, value in host.environment().items() if not keeps_variable(name) or _WHO.search(name)]
    cmdline = host.read(CMDLINE).text or ""
    kept = set(boot_options(cmdline))
    told += [word.partition("=")[2] for word in cmdline.split() if word not in kept]
    for line in (host.read("/proc/mounts").text or "").splitlines():
        told += line.split(" ")[:2]
    told += [name.partition(".")[2] for name in _names_of(host)]
    return {part for text in told for part in _parts(text)}


_WHO = re.compile(r"PARTITION|RESERVATION|ACCOUNT|USER|LOGNAME|NAME$|QOS|HOST|QUEUE|CLUSTER|DIR$|HOME|NODELIST")


def _parts(text: str) -> set[str]:
    """Return a text's words that could name somebody: long enough, none of the trade, no number."""
    whole = text.strip() if len(text) <= _LONGEST else ""
    words = {*re.split(r"[^A-Za-z0-9_]+", text[:10_000]), *re.split(r"[^A-Za-z0-9_.-]+", text[:10_000]), whole}
    return {word for word in words if 4 <= len(word) <= _LONGEST and not word.isdigit() and not _usual(word)}


def _usual(word: str) -> bool:
    return all(is_known_word(part) or len(part) < 3 for part in re.split(r"[^A-Za-z0-9_]+", word))


def _either(names: dict[str, str]) -> re.Pattern[str] | None:
    """Return what finds a device's name in a text; not one so short that it could be anything."""
    names = {name: told for name, told in names.items() if len(name) > 2 and not name.isdigit()}
    each = "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    return re.compile(rf"(?<![\w.-])(?:{each})(?![\w-])") if names else None
