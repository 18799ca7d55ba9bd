"""Registers and messages of this machine's processors as files: ``/dev/cpu/0/msr/0x1a4``, ``/dev/hsmp/0/0x0f``.

No such files are there: behind the first is a read of eight bytes from ``/dev/cpu/0/msr``, behind the second an ioctl of
``/dev/hsmp``. Captures keep them under these names. Only what stands in ``rules/registers`` for this very processor is ever
asked, and no device is opened but for reading: the kernel then refuses to write a register or to send a message that sets one.
"""

import errno
import fcntl
import os
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from time import sleep

from advisor.machine.hosts.base import Reading, Why
from advisor.machine.hosts.files import names_in, read_file, why_not_opened
from advisor.machine.registers import Message, Processor, messages, processor_of, registers_of

_READ_ONLY = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_CPUINFO, _CPUS, HSMP = "/proc/cpuinfo", "/sys/devices/system/cpu", "/dev/hsmp"
_REGISTER = re.compile(r"(/dev/cpu/(\d{1,6})/msr)/(0x[0-9a-f]{1,8})", re.ASCII)
_MESSAGE = re.compile(rf"{HSMP}/(\d{{1,3}})/(0x[0-9a-f]{{2}})(?:\.([0-9a-f]{{1,8}}))?", re.ASCII)
_PLACE = re.compile(rf"/dev/cpu/\d{{1,6}}/msr(?:/[^/]*)?|{HSMP}(?:/[^/]*){{0,2}}", re.ASCII)

_CALL, _PARCEL = 0xC02CF800, "<IHH8IHxx"
"""_IOWR(0xF8, 0, struct hsmp_message) of Linux, asm/amd_hsmp.h: number, words sent and received, eight words, socket."""
_BETWEEN = 0.002
"""Seconds between two looks at a clock that moves. Firmware that is silent, a tenth of a second, is asked nothing more."""
_NO_SUCH = (errno.ENOMSG, errno.EINVAL, errno.ENODEV, errno.ENOTTY)
"""The driver's answers where it or the firmware does not know a message, or there is no such socket (Linux, amd/hsmp/hsmp.c)."""


class DeviceFiles:
    """The registers and messages of this machine. Nothing is kept open, and what cannot be had is a reason, never an error."""

    def __init__(self) -> None:
        self._shut: Why | None = None
        self._protocols: dict[int, int] = {}
        self._silent: set[str] = set()

    @staticmethod
    def covers(path: str) -> bool:
        """Tell whether a path is answered here."""
        return _PLACE.fullmatch(path) is not None

    def has(self, path: str) -> bool:
        """Tell whether there is such a register, message or socket here."""
        folder, _, name = path.rpartition("/")
        return os.path.lexists(path) or (self.covers(folder) and name in self.list(folder))

    def list(self, path: str) -> tuple[str, ...]:
        """Return the registers of a CPU, the sockets that answer messages, or the messages of a socket."""
        parts = path.split("/")
        if parts[2] == "cpu":
            return self._names_of(int(parts[3])) if parts[-1] == "msr" else ()
        if not self._sockets:
            return ()
        if path == HSMP:
            return tuple(map(str, range(self._sockets)))
        return tuple(self._messages) if len(parts) == 4 and parts[3].isdecimal() and int(parts[3]) < self._sockets else ()

    def read(self, path: str) -> Reading:
        """Return a register as sixteen digits, an answer as words of eight, a line for each look."""
        register, message = _REGISTER.fullmatch(path), _MESSAGE.fullmatch(path)
        try:
            if register and register[3] in self._names_of(int(register[2])):
                return self._register(register[1], int(register[3], 16))
            if message and message[1] in self._silent:
                return Reading(why=Why.FAILED)
            if message and path.rpartition("/")[2] in self.list(f"{HSMP}/{message[1]}"):
                return self._answer(int(message[1]), path.rpartition("/")[2])
        except PermissionError:
            self._shut = Why.REFUSED
            return Reading(why=Why.REFUSED)
        except FileNotFoundError:
            return Reading(why=Why.ABSENT)
        except OSError as error:  # EIO: no such register; ENXIO: a CPU that is offline
            if message and error.errno == errno.ETIMEDOUT:
                self._silent.add(message[1])
            return Reading(why=Why.ABSENT if error.errno in _NO_SUCH else why_not_opened(error))
        return Reading(why=Why.ABSENT)

    @cached_property
    def _processor(self) -> Processor | None:
        return processor_of(read_file(_CPUINFO).text or "")

    @cached_property
    def _registers(self) -> dict[str, tuple[str, ...]]:
        """The registers by what they are read once for: core, package."""
        found: dict[str, dict[str, None]] = {"core": {}, "package": {}}
        for each in registers_of(self._processor) if self._processor else ():
            found[each.per][f"{each.msr:#x}"] = None
        return {per: tuple(names) for per, names in found.items()}

    @cached_property
    def _firsts(self) -> dict[int, tuple[str, ...]]:
        """The CPUs that are asked: the first thread of each core, the first of them in each package for what is the package's."""
        found: dict[int, tuple[str, ...]] = {}
        packages: set[str] = set()
        for cpu in sorted(int(name[3:]) for name in names_in(_CPUS) if re.fullmatch(r"cpu\d{1,6}", name, re.ASCII)):
            at = f"{_CPUS}/cpu{cpu}/topology"
            threads = re.match(r"\d+", read_file(f"{at}/thread_siblings_list").text or "", re.ASCII)
            if threads is None or int(threads[0]) != cpu:  # a CPU that is offline has none
                continue
            package = read_file(f"{at}/physical_package_id").text or ""
            found[cpu] = ("core",) if package in packages else ("core", "package")
            packages.add(package)
        return found

    def _names_of(self, cpu: int) -> tuple[str, ...]:
        if not any(self._registers.values()) or (self._shut and cpu != min(self._firsts, default=0)):
            return ()
        names = {name: None for per in self._firsts.get(cpu, ()) for name in self._registers[per]}
        return tuple(names) if os.path.lexists(f"/dev/cpu/{cpu}/msr") else ()

    def _register(self, device: str, number: int) -> Reading:
        with opened_to_read(device) as handle:
            data = os.pread(handle, 8, number)
        return Reading(f"{int.from_bytes(data, 'little'):016x}\n".encode()) if len(data) == 8 else Reading(why=Why.FAILED)

    @cached_property
    def _messages(self) -> dict[str, tuple[Message, int | None]]:
        """The messages that this processor's documents name, with what is sent with each."""
        here = self._processor
        return {
            name: (each, argument)
            for each in (messages() if here else ())
            if here and each.serves(here)
            for name, argument in zip(each.names, each.arguments or (None,), strict=True)
        }

    @cached_property
    def _sockets(self) -> int:
        """How many sockets answer messages: none without the driver."""
        there = os.path.lexists(HSMP) and self._messages
        return sum("package" in per for per in self._firsts.values()) if there else 0

    def _answer(self, socket: int, name: str) -> Reading:
        message, argument = self._messages[name]
        if message.protocol > self._protocol(socket, message):
            return Reading(why=Why.ABSENT)
        lines = []
        with opened_to_read(HSMP) as handle:
            for look in range(message.samples):
                sleep(_BETWEEN if look else 0)
                lines.append(" ".join(f"{word:08x}" for word in sent(handle, socket, message, argument)))
        return Reading("".join(f"{line}\n" for line in lines).encode())

    def _protocol(self, socket: int, message: Message) -> int:
        """Return the version of a socket's interface, which some messages need; asked once."""
        if not message.protocol:
            return 0
        if socket not in self._protocols:
            version = next(each for each, _ in self._messages.values() if "protocol" in each.fields)
            with opened_to_read(HSMP) as handle:
                self._protocols[socket] = sent(handle, socket, version, None)[0]
        return self._protocols[socket]


@contextmanager
def opened_to_read(device: str) -> Iterator[int]:
    """Open a device for reading, and only so: there is no other way to one in this project."""
    handle = os.open(device, _READ_ONLY)
    try:
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
            raise PermissionError(f"{device} is not open for reading alone")
        yield handle
    finally:
        os.close(handle)


def sent(handle: int, socket: int, message: Message, argument: int | None) -> tuple[int, ...]:
    """Send a message that asks, and return the words of the answer."""
    words = [argument or 0, *[0] * 7]
    count = 0 if argument is None else 1
    parcel = bytearray(struct.pack(_PARCEL, message.message, count, message.words, *words, socket))
    fcntl.ioctl(handle, _CALL, parcel)
    return struct.unpack(_PARCEL, parcel)[3 : 3 + message.words]
