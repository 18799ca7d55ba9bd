"""Kernels as programs: built on first use with the machine's own compiler and kept in a folder that nobody else may change.

Those of MPI are built with the compiler of the launcher's own MPI and a BLAS, started by the launcher, and read line by line.
"""

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

from advisor.errors import CannotWork
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.hosts.files import Use, doubt_about, own_home, trusted
from advisor.machine.machine import Machine

_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - folders are made in them with names of chance, for this user alone


def cache_candidates(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield where kernels may be kept, the best place first; an XDG_CACHE_HOME that is no absolute path is not one."""
    named, home = variables.get("XDG_CACHE_HOME", ""), variables.get("HOME", "")
    if named.startswith("/"):
        yield f"{named}/advisor"
    if home.startswith("/"):
        yield f"{home}/.cache/advisor"
    own = own_home()
    if own:
        yield f"{own}/.cache/advisor"


def cache_folder(variables: Mapping[str, str]) -> Path:
    """Return where built kernels are kept: the first wish that is this user's, else a folder for this run alone."""
    for wish in dict.fromkeys(cache_candidates(variables)):
        try:
            if _made(f"{wish}/kernels"):
                return Path(os.path.realpath(f"{wish}/kernels"))
        except OSError:  # a link that was there, and is not: somebody changes the folder meanwhile
            continue
    return _for_this_run(variables.get("TMPDIR", "")) / "kernels"


def _made(place: str) -> bool:
    """Make a folder if it is not there; tell whether nobody else may change it or a folder above."""
    if doubt_about(place) is not None:
        return False
    os.makedirs(place, mode=0o700, exist_ok=True)  # noqa: PTH103 - a text
    # Looked at again: somebody may have been faster where it was not there.
    return doubt_about(place) is None and os.access(place, os.W_OK | os.X_OK)


@cache
def _for_this_run(named: str) -> Path:
    for folder in (named, *_TEMPORARY):
        real = os.path.realpath(folder) if folder.startswith("/") else ""
        if real and doubt_about(f"{real}/x") is None and os.access(real, os.W_OK | os.X_OK):
            made = tempfile.mkdtemp(prefix="advisor-", dir=real)
            atexit.register(shutil.rmtree, made, ignore_errors=True)
            Path(made, "kernels").mkdir(mode=0o700)
            return Path(made)
    raise CannotWork("no private folder to build in; set XDG_CACHE_HOME to a folder of your own")


def open_program(program: Path) -> int | None:
    """Return a program of ours, opened; None where it is not there, or where somebody else could have put it there.

    What is looked at is what is open: who changes the name afterwards changes nothing.
    """
    try:
        handle = os.open(program, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with suppress(OSError):
        about = os.fstat(handle)
        if is_program(about) and doubt_about(program) is None and os.path.samestat(about, os.lstat(program)):
            return handle
    os.close(handle)
    return None


def is_program(about: os.stat_result) -> bool:
    """Tell whether a file is a program, under one name alone: another name may be a link that somebody else made."""
    return about.st_nlink == 1 and about.st_mode & 0o170111 == 0o100111


def descriptor_path(handle: int, program: Path) -> str:
    """Return the name under which this process and its children start an open program; its own name without /proc."""
    name = f"/proc/{os.getpid()}/fd/{handle}"
    return name if os.path.exists(name) else str(program)  # noqa: PTH110 - a magic link, not a path


COMMON = "common"
"""The folder of what all kernels share; those of MPI share its folder ``mpi`` too."""
RANKS = '#include "common/mpi/ranks.h"'
"""What makes a kernel one of MPI."""
_PATIENCE = 180.0
"""Seconds; a login node under load compiles the largest kernel in ten."""
_KEY = 16
_ERROR = re.compile(r"(?:^|\s)(?:fatal )?error:|undefined reference")
ELSEWHERE = "build them on a node with a compiler (advisor measure --build-only --march X -o DIR), and give --kernels DIR here"


class Starter(Protocol):
    """What a host must be able to do here."""

    def run(self, argv: tuple[str, ...], timeout: float = ...) -> Ran:
        """Return what a command printed."""
        ...

    def launch(
        self, argv: tuple[str, ...], hear: Callable[[bytes], None], *, timeout: float, variables: Mapping[str, str] | None = ...
    ) -> Ran:
        """Run a line; ``hear`` gets what it prints as it comes."""
        ...


@dataclass(frozen=True)
class Compiler:
    """The compiler as it is called, and the line that it says of itself."""

    command: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class Recipe:
    """What a kernel is made of."""

    sources: Path
    compiler: Compiler
    flags: tuple[str, ...]
    shared: tuple[str, ...] = (COMMON,)
    libraries: tuple[str, ...] = ("-lm",)

    def key(self, name: str, cpu: str) -> str:
        """Return what names this build of a kernel for a processor, and no other."""
        digest = sha256()
        for part in (cpu, *self.compiler.command, self.compiler.version, *self.flags, *self.libraries, *self._texts(name)):
            digest.update(f"{len(part)}:{part}".encode())
        return digest.hexdigest()[:_KEY]

    def _texts(self, name: str) -> list[str]:
        own = (path for path in (self.sources / name).rglob("*") if path.is_file())
        headers = (path for folder in self.shared for path in (self.sources / folder).glob("*.h"))
        files = sorted({*own, *headers, *self._sources(name)})
        try:
            return [text for file in files for text in (file.name, file.read_text(encoding="utf-8"))]
        except OSError as error:
            raise CannotWork(f"{error.filename}: {error.strerror}; this copy is incomplete: reinstall advisor") from error

    def _sources(self, name: str) -> tuple[Path, ...]:
        """Return the files that are compiled: the kernel's own, and those that it shares with others."""
        shared = (path for folder in self.shared for path in sorted((self.sources / folder).glob("*.c")))
        return (self.sources / f"{name}.c", *shared)

    def argv(self, name: str, program: Path) -> tuple[str, ...]:
        """Return the line that builds a kernel."""
        return (*self.compiler.command, *self.flags, "-o", str(program), *map(str, self._sources(name)), *self.libraries)


def find_compiler(host: Starter, named: str | None) -> Compiler:
    """Return $CC, or the first of cc, gcc and clang that is here."""
    for command in [tuple(named.split())] if named and named.split() else [("cc",), ("gcc",), ("clang",)]:
        ran = host.run((*command, "--version"), timeout=20)
        if ran.text is not None:
            return Compiler(command, next(iter(ran.text.splitlines()), "")[:200])
    what = f"the compiler {named[:60]} from $CC does not run here" if named and named.split() else "no C compiler found here"
    raise CannotWork(f"{what}; load one, or {ELSEWHERE}")


def flags_for(machine: Machine, march: str | None = None) -> tuple[str, ...]:
    """Return the flags of a build for this machine, or for the architecture that ``march`` names."""
    if march is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,60}", march):
        raise CannotWork(f"--march {march[:40]!a} is not an architecture; give one that the compiler supports, such as znver4")
    native = "-mcpu=native" if machine.architecture == "aarch64" else "-march=native"
    return ("-std=c11", "-O3", native if march is None else f"-march={march}", "-pthread", "-fdiagnostics-color=never")


def cpu_of(machine: Machine) -> str:
    """Return what a build for this processor depends on."""
    cpu = machine.cpu
    known = (cpu.vendor, cpu.family, cpu.model, cpu.stepping, *(cpu.flags or ())) if cpu else ()
    return " ".join(map(str, (machine.architecture, *known)))


def kernel_names(sources: Path) -> tuple[str, ...]:
    """Return the kernels that need a C compiler and no MPI."""
    texts = {path.stem: path.read_text(encoding="utf-8", errors="replace") for path in sources.glob("*.c")}
    return tuple(sorted(name for name, text in texts.items() if RANKS not in text))


class Builder:
    """Gives the program of a kernel, building it where it is not kept yet.

    With ``open_only`` a program is named by its open file, so that what was looked at is what is run; where another host is
    to run it too, by its path.
    """

    def __init__(
        self,
        host: Starter,
        recipe: Recipe,
        cpu: str,
        folder: Path,
        tell: Callable[[str], None],
        *,
        open_only: bool = False,
    ) -> None:
        self._host, self._recipe, self._cpu, self._folder, self._tell = host, recipe, cpu, folder, tell
        self._open_only = open_only
        self._held: dict[Path, int] = {}

    def program(self, name: str) -> str:
        """Return the path of a kernel's program."""
        place = self._folder / f"{name}-{self._recipe.key(name, self._cpu)}"
        if place not in self._held:
            handle = open_program(place)
            if handle is None:
                self._tell(f"building {name}")
                build(self._host, self._recipe, name, place)
                handle = open_program(place)
            if handle is None:
                raise CannotWork(
                    f"{place}: other users can change it or a parent folder; set XDG_CACHE_HOME to a folder of your own"
                )
            self._held[place] = handle
        return descriptor_path(self._held[place], place) if self._open_only else str(place)


def build(host: Starter, recipe: Recipe, name: str, place: Path) -> None:
    """Build a kernel so that nobody ever sees half of it."""
    unfinished: Path | None = None
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, text = tempfile.mkstemp(dir=place.parent, prefix=".building.")
        os.close(handle)
        unfinished = Path(text)
        ran = host.launch(recipe.argv(name, unfinished), lambda _: None, timeout=_PATIENCE)
        if ran.why is not None or ran.status != 0:
            raise CannotWork(f"kernel {name}: {recipe.compiler.command[0]} {_complaint(ran)}")
        unfinished.chmod(0o755)
        unfinished.replace(place)
    except OSError as error:
        why = (error.strerror or "cannot be written").lower()
        raise CannotWork(f"{place.parent}: {why}; set XDG_CACHE_HOME to another folder, or name one with -o") from error
    finally:
        if unfinished is not None:
            with suppress(OSError):
                unfinished.unlink()


def _complaint(ran: Ran) -> str:
    """Return the compiler's first error."""
    if ran.why is Why.TIMEOUT:
        return f"did not finish within {_PATIENCE:g} s"
    lines = [line.strip() for line in ran.err.decode("utf-8", "replace").splitlines() if line.strip()]
    first = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else f"ended with status {ran.status}")
    return f"says: {first[:300]}"


class PrebuiltPrograms:
    """Gives the programs of a folder that were built elsewhere."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise CannotWork(f"--kernels {folder}: no such folder; advisor measure --build-only -o DIR creates one")
        trusted(folder, Use.NAMED)
        self._folder = folder

    def program(self, name: str) -> str:
        """Return the path of a kernel's program."""
        place = (self._folder / name).resolve()
        if not place.is_file() or not os.access(place, os.X_OK):
            raise CannotWork(f"{place}: no such program; advisor measure --build-only -o DIR builds every benchmark program")
        trusted(self._folder / name, Use.NAMED)
        return str(place)


SHARED = (COMMON, f"{COMMON}/mpi")
_BLAS = (("-lopenblas",), ("-lblis",), ("-lblas",))
_PACKAGES = ("openblas", "blis")
_CALLS = "void dgemm_(void); void dtrsm_(void); int main(void) { dgemm_(); dtrsm_(); return 0; }\n"


@dataclass(frozen=True)
class Blas:
    """How a BLAS is linked."""

    flags: tuple[str, ...]


def find_mpicc(host: Starter, launcher: str | None, named: str | None) -> Compiler:
    """Return $MPICC, or the mpicc that lies beside the launcher, or that of PATH: ranks of another MPI would each be alone."""
    tried = list(dict.fromkeys(_candidates(launcher, named)))
    for command in tried:
        ran = host.run((command, "--version"), timeout=30)
        if ran.text is not None and ran.status == 0:
            return Compiler((command,), next(iter(ran.text.splitlines()), "")[:200])
    what = f"$MPICC is {tried[0]}, which does not run here" if named else f"no {' or '.join(tried)} found"
    raise CannotWork(f"{what}; load the MPI module, install its compiler, or give the folder of the built program: --kernels DIR")


def _candidates(launcher: str | None, named: str | None) -> Iterator[str]:
    if named:
        yield named
        return
    if launcher and Path(launcher).name.partition(".")[0] != "srun":
        beside = Path(launcher).with_name("mpicc")
        if os.access(beside, os.X_OK):
            yield str(beside)
            return
    yield "mpicc"


def mpi_recipe(sources: Path, compiler: Compiler, flags: tuple[str, ...], blas: Blas | None = None) -> Recipe:
    """Return what a kernel of MPI is made of; -ldl is the C library's own since glibc 2.34."""
    libraries = (*blas.flags, "-ldl", "-lm") if blas else ("-lm",)
    return Recipe(sources, compiler, flags, SHARED, libraries)


def find_blas(host: Starter, compiler: Compiler, named: str | None) -> Blas:
    """Return the BLAS that was named, or that pkg-config knows, or the first that can be linked."""
    tried = [tuple(named.split())] if named else [*_packaged(host), *_BLAS]
    for flags in dict.fromkeys(tried):
        if flags and _links(host, compiler, flags):
            return Blas(flags)
    what = f"--blas {named[:60]}: it provides no dgemm" if named else "no BLAS found to link with"
    raise CannotWork(f"{what}; install one (Debian: libopenblas-dev), or give it: --blas '-L/opt/blis/lib -lblis'")


def _packaged(host: Starter) -> Iterator[tuple[str, ...]]:
    for package in _PACKAGES:
        ran = host.run(("pkg-config", "--libs", package), timeout=10)
        if ran.text is not None and ran.status == 0:
            yield tuple(ran.text.split())


def _links(host: Starter, compiler: Compiler, flags: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory(prefix="advisor-blas-") as folder:
        source = Path(folder) / "calls.c"
        source.write_text(_CALLS, encoding="ascii")
        argv = (*compiler.command, "-o", f"{folder}/calls", str(source), *flags, "-lm")
        ran = host.launch(argv, lambda _: None, timeout=60)
    return ran.why is None and ran.status == 0


_LARGEST = 64 << 20
_LONGER = 8.0
_LEAST = 90.0
"""Seconds; ssh waits a minute and more for a host that does not answer."""
_ADVISORY = ("---", "===", "***")
_TELLING = re.compile(
    r"ssh: |Could not resolve|No route to host|Connection (?:refused|timed out)|not find an executable"
    r"|unable to access or execute|No such file|error while loading|execvp|[Pp]ermission denied|as root|not enough slots",
)
_AS_ROOT = "start it as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
_NO_PAIRS = re.compile(r"\b1 ranks: pairs need")


class LaunchOutput(NamedTuple):
    """What a start printed, and in words why it ended badly; None where it did not."""

    text: bytes
    why: str | None

    @property
    def lines(self) -> list[bytes]:
        """The lines of our kernels."""
        return [line for line in self.text.splitlines() if line.lstrip().startswith(b"{")]


def launch_output(host: Starter, argv: Sequence[str], variables: Mapping[str, str], seconds: float) -> LaunchOutput:
    """Return what a start printed.

    A launcher that hangs when its ranks have ended (both Open MPI do, one time in hundreds) leaves whole lines behind.
    """
    heard: list[bytes] = []

    def hear(data: bytes) -> None:
        if sum(map(len, heard)) <= _LARGEST:
            heard.append(data)

    limit = limit_of(seconds)
    ran = host.launch(tuple(argv), hear, timeout=limit, variables=variables)
    return LaunchOutput(b"".join(heard), failed(argv[0], ran, limit))


def limit_of(seconds: float) -> float:
    """Return how long a start may take that should take so many seconds."""
    return max(_LEAST, _LONGER * seconds)


def failed(launcher: str, ran: Ran, limit: float) -> str | None:
    """Return in words why a start ended badly; None where it did not."""
    if ran.why is Why.ABSENT:
        return f"{launcher} is not installed here; load the MPI's module"
    if ran.why is Why.TIMEOUT:
        return f"{launcher} did not finish within {limit:.0f} s and was stopped{_said(ran.err)}"
    if ran.why is not None:
        return f"{launcher}: {ran.why.value}"
    return None if ran.status == 0 else f"{launcher} ended with status {ran.status}{_said(ran.err)}"


def _said(errors: bytes) -> str:
    """Return the line that says most: what ssh or the system said, else what the kernel said, else the last with words."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    words = [line for line in lines if any(letter.isalnum() for letter in line) and not line.startswith(_ADVISORY)]
    if any(_NO_PAIRS.search(line) for line in words):
        return ": every rank was started separately: the launcher belongs to a different MPI than the program"
    words = [line for line in words if "warning:" not in line.lower()] or words  # Open MPI 5 on a busy machine: setpgid failed
    telling = next((line for line in words if _TELLING.search(line)), None)
    own = next((line for line in words if line.startswith(("mbw_mr:", "hpl:"))), None)
    found = own or telling or (words[-1] if words else None)
    cure = f"; {_AS_ROOT}" if found and "as root" in found else ""
    return f": {found[:240].rstrip('.')}{cure}" if found else ", without a message"
