import shutil
from pathlib import Path

import pytest

from advisor.errors import CannotWork
from advisor.machine.hosts.base import Ran
from advisor.machine.hosts.live import LiveHost
from advisor.machine.machine import Machine
from advisor.measure.build import (
    Builder,
    Compiler,
    PrebuiltPrograms,
    Recipe,
    build,
    cpu_of,
    find_compiler,
    flags_for,
    kernel_names,
)
from advisor.paths import kernels
from tests.jobs.place.samples import machine
from tests.measure.samples import ROME, Stage

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
SMALL = '#include "common/kernel.h"\nint main(void) { return SIX; }\n'


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a folder with one small kernel."""
    folder = tmp_path / "kernels"
    (folder / "common" / "mpi").mkdir(parents=True)
    (folder / "six").mkdir()
    (folder / "common" / "kernel.h").write_text("#define SIX 6\n")
    (folder / "common" / "team.c").write_text("int nothing;\n")
    (folder / "common" / "mpi" / "ranks.c").write_text("")
    (folder / "six" / "own.h").write_text("")
    (folder / "six.c").write_text(SMALL)
    (folder / "mpi.c").write_text('#include "common/mpi/ranks.h"\n')
    return folder


def recipe(sources: Path) -> Recipe:
    """Return how kernels are built here."""
    return Recipe(sources, Compiler(("cc",), "cc 12"), ("-O0",))


@needs_cc
def test_a_kernel_is_built_once(sources: Path, tmp_path: Path) -> None:
    """The second time it is there already; nothing half-made is left beside it."""
    told: list[str] = []
    builder = Builder(LiveHost(), recipe(sources), "cpu", tmp_path / "cache", told.append)
    programs = [builder.program("six") for _ in range(2)]
    assert (LiveHost().run((programs[0],)).status, programs[0] == programs[1], told) == (6, True, ["building six"])
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [Path(programs[0]).name]


def test_anything_that_it_is_made_of_makes_another(sources: Path) -> None:
    """Source, its own header, a shared one, flags, compiler, its version and the processor."""
    first = recipe(sources)
    keys = [
        first.key("six", "cpu"),
        first.key("six", "other"),
        Recipe(sources, Compiler(("cc",), "cc 13"), ("-O0",)).key("six", "cpu"),
        Recipe(sources, Compiler(("gcc",), "cc 12"), ("-O0",)).key("six", "cpu"),
        Recipe(sources, Compiler(("cc",), "cc 12"), ("-O3",)).key("six", "cpu"),
    ]
    (sources / "common" / "kernel.h").write_text("#define SIX 7\n")
    keys.append(first.key("six", "cpu"))
    (sources / "six" / "own.h").write_text("#define OWN\n")
    assert len({*keys, first.key("six", "cpu")}) == 7


@needs_cc
def test_a_source_that_does_not_compile_is_one_line(sources: Path, tmp_path: Path) -> None:
    """The compiler's first error, and no file."""
    (sources / "six.c").write_text("int main(void) { return nonsense; }\n")
    with pytest.raises(CannotWork, match=r"kernel six: cc says: .*six\.c:1:\d+: error: .*nonsense"):
        build(LiveHost(), recipe(sources), "six", tmp_path / "out" / "six")
    assert list((tmp_path / "out").iterdir()) == []


def test_no_compiler_says_how_to_do_without() -> None:
    """One line names --build-only and --kernels; a wrong $CC is named."""
    nothing = Stage(b"", version=Ran(status=127))
    with pytest.raises(
        CannotWork, match=r"no C compiler found here; load one, or .*--build-only --march X -o DIR.*--kernels DIR"
    ):
        find_compiler(nothing, None)
    with pytest.raises(CannotWork, match=r"icx from \$CC does not run here"):
        find_compiler(nothing, "icx")


def test_the_compiler_is_the_one_of_the_environment() -> None:
    """$CC with its options; else cc."""
    assert find_compiler(Stage(b""), None) == Compiler(("cc",), "cc 12")
    assert find_compiler(Stage(b""), "ccache cc").command == ("ccache", "cc")


def test_flags_are_for_this_processor_or_the_one_named() -> None:
    """Arm compilers want -mcpu; a name that would be another option is refused."""
    assert [flags_for(Machine(architecture=name))[2] for name in ("x86_64", "aarch64")] == ["-march=native", "-mcpu=native"]
    assert flags_for(Machine(), "znver4")[2] == "-march=znver4"
    with pytest.raises(CannotWork, match="is not an architecture"):
        flags_for(Machine(), "x -o /etc/passwd")


@needs_cc
def test_what_others_could_have_put_there_is_built_anew(sources: Path, tmp_path: Path) -> None:
    """A program that anybody may write, a link to one, and one that has a second name."""
    folder = tmp_path / "cache"
    place = Path(Builder(LiveHost(), recipe(sources), "cpu", folder, lambda _: None).program("six"))
    strange = place.read_bytes()
    for linked in (False, True):
        if linked:
            place.rename(tmp_path / "x")
            place.symlink_to(tmp_path / "x")
        else:
            place.chmod(0o777)
        told: list[str] = []
        again = Builder(LiveHost(), recipe(sources), "cpu", folder, told.append).program("six")
        assert (told, place.stat().st_mode & 0o777, place.is_symlink()) == (["building six"], 0o755, False)
        assert Path(again).read_bytes() == strange
    (tmp_path / "second").hardlink_to(place)
    told = []
    Builder(LiveHost(), recipe(sources), "cpu", folder, told.append).program("six")
    assert told == ["building six"]


@needs_cc
def test_what_was_looked_at_is_what_is_run(sources: Path, tmp_path: Path) -> None:
    """Named by its open file: who puts another program in its place changes nothing."""
    builder = Builder(LiveHost(), recipe(sources), "cpu", tmp_path / "cache", lambda _: None, open_only=True)
    program = builder.program("six")
    (kept,) = (tmp_path / "cache").iterdir()
    (tmp_path / "other").write_text("#!/bin/sh\nexit 66\n")
    (tmp_path / "other").chmod(0o755)
    (tmp_path / "other").replace(kept)
    assert (LiveHost().run((program,)).status, LiveHost().run((str(kept),)).status) == (6, 66)


@needs_cc
def test_a_folder_that_others_may_change_is_refused(sources: Path, tmp_path: Path) -> None:
    """In one line that says what to set."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(CannotWork, match="other users can change it or a parent folder; set XDG_CACHE_HOME"):
        Builder(LiveHost(), recipe(sources), "cpu", tmp_path / "open" / "cache", lambda _: None).program("six")


def test_kernels_that_need_mpi_are_built_elsewhere(sources: Path) -> None:
    """The registry is the folder; the shared files and those of MPI are left out."""
    assert kernel_names(sources) == ("six",)
    assert {"membw", "memlat", "c2c", "peakflops"} <= set(kernel_names(kernels()))


def test_ready_kernels_are_used_as_they_are(tmp_path: Path) -> None:
    """One that is not there, and a folder that is not there, are one line."""
    (tmp_path / "membw").write_text("")
    (tmp_path / "membw").chmod(0o755)
    assert PrebuiltPrograms(tmp_path).program("membw") == str(tmp_path / "membw")
    with pytest.raises(CannotWork, match="memlat: no such program"):
        PrebuiltPrograms(tmp_path).program("memlat")
    with pytest.raises(CannotWork, match="no such folder"):
        PrebuiltPrograms(tmp_path / "none")


def test_a_build_belongs_to_its_processor() -> None:
    """Two processors of one maker have builds of their own."""
    assert cpu_of(machine(ROME)) != cpu_of(machine("d-delftblue-2x6448y"))
