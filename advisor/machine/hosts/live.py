"""This machine: the only place that starts processes."""

import atexit
import errno
import fcntl
import os
import re
import selectors
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
from threading import Thread, current_thread, main_thread
from time import monotonic, sleep
from typing import TypeVar

from advisor.machine.hosts.base import ENVIRONMENT_PREFIXES, Ran, Reading, Why, asks_the_network, quiet_environment
from advisor.machine.hosts.files import LIMIT, Use, doubt_about, ledger, names_in, read_file, why_not_opened
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
            raise PermissionError(f"{device} was not opened read-only")
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


_T = TypeVar("_T")

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where dmidecode, lspci and ibstat lie on distributions that leave these folders out of a user's PATH."""

_AFTER_KILL = 1.0
"""Seconds; a process that a broken driver holds (nvidia-smi, ibstat) does not even end when it is killed."""

_GRACE = 3.0
"""Seconds in which a launcher that is asked to end may end its ranks on all hosts."""
_TAIL = 1 << 16
_MOMENT = 0.2
_LONGEST = 1 << 30


class LiveHost:
    """The machine that advisor runs on. Reading is all that is done to it."""

    name = "this machine"
    kind = "live"

    def __init__(self) -> None:
        self._ahead: dict[tuple[str, ...], Future[Ran]] = {}
        self._running: set[int] = set()
        self._devices = DeviceFiles()

    def read(self, path: str) -> Reading:
        """Return what a file holds, at most 16 MiB."""
        return self._devices.read(path) if self._devices.covers(path) else read_file(path)

    def list(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted; () if it is not there or closed."""
        return self._devices.list(path) if self._devices.covers(path) else names_in(path)

    def real(self, path: str) -> str | None:
        """Return the path with its symbolic links resolved, or None if nothing is there."""
        if self._devices.covers(path):
            return path if self._devices.has(path) else None
        try:
            return os.path.realpath(path, strict=True)
        except (OSError, ValueError):
            return None

    def environment(self) -> dict[str, str]:
        """Return the variables that schedulers, MPI and OpenMP set; no others are looked at."""
        return {name: value for name, value in os.environ.items() if name.startswith(ENVIRONMENT_PREFIXES)}

    def prefetch(self, commands: Iterable[tuple[str, ...]], timeout: float = 10.0) -> None:
        """Start all the commands at once; a later run of the same one waits for its answer instead of starting it."""
        atexit.register(self.close)
        for argv in commands:
            if argv not in self._ahead:
                try:
                    self._ahead[argv] = begun(partial(self._run, argv, timeout))
                except RuntimeError:  # no room for a thread (ulimit -u, -v): each is run when it is asked for
                    return

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what a command printed, at most 16 MiB of it. It is never given to a shell and reads nothing."""
        ahead = self._ahead.get(argv)
        if ahead is None:
            return self._run(argv, timeout)
        try:
            return ahead.result()
        except MemoryError:  # each thread needs room of its own (ulimit -v): alone there may be enough
            return self._run(argv, timeout)

    def ask(self, argv: tuple[str, ...], variables: Mapping[str, str], timeout: float) -> Ran:
        """Return what a command printed that gets these variables and no others; what it started ends with it."""
        program = find(argv[0])
        if program is None:
            return Ran(why=Why.ABSENT)
        # abspath() as in launch
        process = _started(argv, os.path.abspath(program), variables)  # noqa: PTH100 - a link by its own name
        if isinstance(process, Ran):
            return process
        try:
            return _watch(process, program, monotonic() + timeout)
        finally:
            for pid in _session(process.pid):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def launch(
        self,
        argv: tuple[str, ...],
        hear: Callable[[bytes], None],
        *,
        timeout: float,
        variables: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run the user's own line as it is; ``hear`` gets what it prints as it comes, ``err`` is the end of what it complained.

        When time is up, or on Ctrl-C, the launcher is asked to end its ranks, then all that is left of it is killed.
        """
        program = find(argv[0])
        if program is None:
            return Ran(why=Why.ABSENT)
        begun_at = monotonic()
        # resolve() would follow mpirun to the orterun that asks how it was called
        process = _started(argv, os.path.abspath(program), {**os.environ, **(variables or {})})  # noqa: PTH100 - see above
        if isinstance(process, Ran):
            return process
        errors = bytearray()

        def complain(chunk: bytes) -> None:
            errors.extend(chunk)
            del errors[:-_TAIL]

        try:
            with interruptible():
                why = _listen(process, (hear, complain), begun_at + timeout, _LONGEST, children=False)
            took = monotonic() - begun_at
            return Ran(err=bytes(errors), status=0 if why else process.returncode, why=why, path=program, seconds=took)
        finally:
            _end(process)

    def become(self, argv: tuple[str, ...], variables: Mapping[str, str]) -> Why:
        """Let the user's own line take the place of this process; return why it cannot."""
        program = find(argv[0])
        if program is None:
            return Why.ABSENT
        sys.stdout.flush()
        try:
            os.execve(os.path.abspath(program), argv, {**os.environ, **variables})  # noqa: PTH100, S606 - as in launch
        except (OSError, ValueError):
            return Why.REFUSED

    def close(self) -> None:
        """End the commands that were started ahead and nobody waited for."""
        for group in tuple(self._running):
            _kill(group)

    def _run(self, argv: tuple[str, ...], timeout: float) -> Ran:
        program = find(argv[0])
        if program is None or asks_the_network(argv[0], program):
            return Ran(why=Why.ABSENT)
        process = _started(argv, program, quiet_environment(os.environ))
        if isinstance(process, Ran):
            return process
        self._running.add(process.pid)
        try:
            return _watch(process, program, monotonic() + timeout)
        finally:
            self._running.discard(process.pid)


def _started(argv: tuple[str, ...], program: str, environment: Mapping[str, str]) -> "subprocess.Popen[bytes] | Ran":
    """Start a program in a session of its own, with nothing to read; return why it cannot be."""
    try:
        return subprocess.Popen(
            argv,
            executable=program,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except PermissionError:
        return Ran(why=Why.REFUSED)
    except ValueError:  # a NUL in an argument
        return Ran(why=Why.FAILED)
    except OSError as error:  # no interpreter, another machine's program
        return Ran(why=why_not_opened(error))


def begun(work: Callable[[], _T]) -> "Future[_T]":
    """Begin some work in a thread that nobody has to wait for; raise RuntimeError where there is no room for one.

    What goes wrong is for whoever asks for the answer: a thread that raises prints a traceback besides.
    """
    if (
        getrlimit(RLIMIT_AS)[0] != RLIM_INFINITY
    ):  # a thread without memory to begin in is waited for without end, by Python itself
        raise RuntimeError("the address space is limited (ulimit -v)")
    answer: Future[_T] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - see above
            answer.set_exception(error)

    Thread(target=run, daemon=True).start()
    return answer


def find(program: str) -> str | None:
    """Return where a program lies: on PATH's absolute folders, or among those of the administrator.

    Root starts none that somebody else could have put there: it goes on looking, and says what it left.
    """
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(":") if folder.startswith("/")]
    for folder in ("", *folders, *SBIN) if "/" in program else (*folders, *SBIN):
        place = shutil.which(program, path=folder)
        # Root, and not only so called in a user namespace, where no program is root's.
        doubt = doubt_about(place, Use.RUNS) if place and (os.geteuid() == 0 and os.lstat("/").st_uid == 0) else None
        if place and doubt is None:
            return place
        if place and doubt:
            ledger.say(place, f"{place} is not run as root: {doubt.problem}; {doubt.cure}")
    return None


def _watch(process: subprocess.Popen[bytes], program: str, deadline: float) -> Ran:
    """Return the answer of a started process; when its time or its room is used up, its whole group is ended."""
    out, err = bytearray(), bytearray()
    why = _listen(process, (out.extend, err.extend), deadline, LIMIT, children=True)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    if why is None:
        return Ran(bytes(out), bytes(err), process.returncode, path=program)
    _kill(process.pid)
    _ends(process, _AFTER_KILL)
    return Ran(why=why, path=program)


def _ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Tell whether a process ends in time."""
    try:
        process.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the signals that end a job end what is run here as Ctrl-C does."""
    if current_thread() is not main_thread():
        yield
        return
    own = os.getpid()

    def stop(number: int, frame: object) -> None:
        del frame
        if os.getpid() != own:  # a fork of ClusterShell's that has not begun its program: it must not go on as a second advisor
            os._exit(128 + number)
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM, signal.SIGHUP]
    numbers += [signal.SIGINT] if signal.getsignal(signal.SIGINT) is signal.default_int_handler else []
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def shielded() -> Iterator[None]:
    """Let nothing that ends a command interrupt what takes a moment and must be done: putting a kernel's settings back."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _listen(
    process: subprocess.Popen[bytes],
    hear: tuple[Callable[[bytes], object], ...],
    deadline: float,
    most: int,
    *,
    children: bool,
) -> Why | None:
    """Hear both outputs of a process; return why it did not end. Children that keep its output open are waited for or not."""
    heard = 0
    with selectors.DefaultSelector() as selector:
        for pipe, take in zip((process.stdout, process.stderr), hear, strict=True):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, take)
        while selector.get_map():
            ended = not children and process.poll() is not None
            left = deadline - monotonic()
            ready = selector.select(max(0.0, min(left, _MOMENT)))
            if not ready and ended:
                break
            if left <= 0 or heard > most:
                return Why.TIMEOUT if left <= 0 else Why.FAILED
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                heard += len(chunk)
                if chunk:
                    key.data(chunk)
                else:
                    selector.unregister(key.fileobj)
    return None if _ends(process, deadline - monotonic()) else Why.TIMEOUT


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with its whole session: ask first, so that a launcher ends its ranks; then insist."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        _ends(process, _GRACE)
    for pid in _session(process.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    _ends(process, _AFTER_KILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _session(leader: int) -> Iterator[int]:
    """Yield the processes of a session: launchers put each rank into a group of its own, but rarely into another session."""
    for name in names_in("/proc"):
        if name.isdigit():
            fields = read_file(f"/proc/{name}/stat").data.rpartition(b")")[2].split()
            if len(fields) > 3 and fields[3] == b"%d" % leader:
                yield int(name)
