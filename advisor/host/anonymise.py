"""A host without what names it: recorded through this, a capture can be given away."""

import re
from copy import copy

from advisor.host import blank
from advisor.host.base import Host, Ran, Reading
from advisor.host.later import Later, later
from advisor.host.scrub import GONE, Scrubber, stems

_HOST_NAMES = ("/proc/sys/kernel/hostname", "/etc/hostname")
_NAME_VARIABLES = ("SLURMD_NODENAME", "SLURM_SUBMIT_HOST", "PBS_O_HOST", "LSB_SUB_HOST")
# Files that hold nothing but an identifier of this one machine, card or disk.
_SECRET_FILES = frozenset(
    {
        *("product_serial", "product_uuid", "board_serial", "board_asset_tag", "chassis_serial", "chassis_asset_tag"),
        *(
            "serial",
            "serial_number",
            "unique_id",
            "uuid",
            "boot_id",
            "machine-id",
            "wwid",
            "nguid",
            "eui",
            "vpd",
            "hostnqn",
            "hostid",
        ),
        *("phys_switch_id", "phys_port_id", "domainname"),
    }
)
_SMBIOS = re.compile(r"/firmware/dmi/(?:tables/DMI|entries/[^/]+/raw)$")
_VERSION_FILE = re.compile(r"(?i)ver|rev|release")
_NODES = re.compile(r"NODELIST|NODENAME|NODE_ALIASES|HOST|ADDR|MACHINEFILE|NODEFILE")
_PERSONAL = re.compile(
    r"USER|GROUP|ACCOUNT|DIR$|_DIR|HOME|PATH|JOB_?NAME|CLUSTER|COMMENT|SECRET|TOKEN|KEY|MAIL|COOKIE|URI|CONF$|_[GU]ID$"
)
_QUERY = "--query-gpu="
_VERSION_ASKED = frozenset({"--version", "-v", "-V", "version"})


class AnonymousHost:
    """Another host's answers without serial numbers, addresses, identifiers and names of machines and people."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._scrub = Scrubber(_names_of(host))

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return self._host.name

    @property
    def kind(self) -> str:
        """What kind of host it is behind the mask."""
        return self._host.kind

    def read(self, path: str) -> Reading:
        """Return what a file holds, scrubbed."""
        path = self._inward(path)
        reading = self._host.read(path)
        return reading if reading.why else Reading(self._file(path, reading.data))

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, scrubbed."""
        return tuple(sorted(self._scrub.names(name) for name in self._host.list(self._inward(path))))

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, scrubbed."""
        real = self._host.real(self._inward(path))
        return None if real is None else self._scrub.names(real)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed, scrubbed."""
        ran = self._host.run(argv, timeout)
        addresses = not _VERSION_ASKED.intersection(argv)
        out, err = (self._text(text, addresses=addresses) for text in (ran.out, ran.err))
        return ran._replace(out=_without_columns(argv, out), err=err)

    @property
    def again(self) -> Later | None:
        """The second look of a capture, scrubbed; None where there was one."""
        second = later(self._host)
        if second is None:
            return None
        masked = copy(self)
        masked._host = second.host  # noqa: SLF001 - the same mask over another host: the same names come out
        return second._replace(host=masked)

    def environment(self) -> dict[str, str]:
        """Return the variables; those that name people, places or machines keep at most their shape."""
        return {name: self._variable(name, value) for name, value in self._host.environment().items()}

    def _file(self, path: str, data: bytes) -> bytes:
        name = path.rpartition("/")[2]
        if _SMBIOS.search(path):
            return blank.smbios(data)
        if name in _SECRET_FILES:
            return f"{GONE}\n".encode()
        if name == "config" and b"\0" in data:
            return blank.pci_config(data)
        if b"\0" in data:  # binary: ACPI tables name no machine
            return data
        return self._text(data, addresses=not _VERSION_FILE.search(name))

    def _text(self, data: bytes, *, addresses: bool) -> bytes:
        text = data.decode("utf-8", "surrogateescape")
        return self._scrub.text(text, addresses=addresses).encode("utf-8", "surrogateescape")

    def _inward(self, path: str) -> str:
        """Return the path as it is on the host, from one with identifiers scrubbed."""
        for fake, real in self._scrub.originals.items():
            if fake in path:
                path = path.replace(fake, real)
        return path

    def _variable(self, name: str, value: str) -> str:
        if _NODES.search(name):
            return stems(self._scrub.text(value))
        if _PERSONAL.search(name):
            return GONE
        return self._scrub.text(value)


def _names_of(host: Host) -> tuple[str, ...]:
    """Return what the machine is called."""
    files = ((host.read(path).text or "").strip() for path in _HOST_NAMES)
    variables = host.environment()
    return tuple(name for name in (*files, *(variables.get(name, "") for name in _NAME_VARIABLES)) if name)


def _without_columns(argv: tuple[str, ...], out: bytes) -> bytes:
    """Return nvidia-smi's comma separated answer without the columns of serial numbers and UUIDs."""
    query = next((word.removeprefix(_QUERY) for word in argv if word.startswith(_QUERY)), "")
    secret = {i for i, field in enumerate(query.split(",")) if re.search(r"serial|uuid", field)}
    if not secret:
        return out
    rows = [line.split(b", ") for line in out.split(b"\n")]
    return b"\n".join(
        b", ".join(GONE.encode() if i in secret else cell for i, cell in enumerate(row)) if len(row) > 1 else row[0]
        for row in rows
    )
