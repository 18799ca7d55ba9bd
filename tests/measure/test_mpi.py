"""Building with the MPI of a launcher, and one line for what went wrong with ranks."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from advisor.errors import CannotWork
from advisor.machine.hosts.base import Ran, Why
from advisor.measure.build import Blas, Compiler, find_blas, find_mpicc, launch_output, mpi_recipe
from advisor.paths import kernels


class Fake:
    """A host that has some programs, links some libraries, and starts a launcher that ends in one way."""

    def __init__(self, *programs: str, links: str = "", packages: str = "", ended: Ran | None = None, out: bytes = b"") -> None:
        self.programs, self.links, self.packages, self.out = programs, links, packages, out
        self.ended = ended

    def run(self, argv: tuple[str, ...], timeout: float = 10) -> Ran:
        """Answer --version and pkg-config."""
        del timeout
        if argv[0] == "pkg-config":
            return Ran(out=self.packages.encode(), status=0 if self.packages else 1)
        return Ran(out=b"gcc 12.2\n") if argv[0] in self.programs else Ran(why=Why.ABSENT)

    def launch(
        self, argv: tuple[str, ...], hear: Callable[[bytes], None], *, timeout: float, variables: Mapping[str, str] | None = None
    ) -> Ran:
        """Link, or start ranks."""
        del timeout, variables
        hear(self.out)
        return self.ended or Ran(status=0 if self.links in argv else 1)


def test_the_compiler_lies_beside_the_launcher(tmp_path: Path) -> None:
    """The mpicc of the launcher's own folder is taken, not that of PATH: another MPI's ranks would each be alone."""
    (tmp_path / "mpicc").write_text("")
    (tmp_path / "mpicc").chmod(0o755)
    own = str(tmp_path / "mpicc")
    assert find_mpicc(Fake("mpicc", own), str(tmp_path / "mpirun"), None).command == (own,)


@pytest.mark.parametrize("launcher", ["/usr/bin/srun", None, "/nowhere/mpirun"])
def test_srun_takes_the_compiler_of_the_path(launcher: str | None) -> None:
    """Beside srun there is no MPI: that of the loaded module is on PATH."""
    assert find_mpicc(Fake("mpicc"), launcher, None).command == ("mpicc",)


def test_no_compiler_is_one_line() -> None:
    """It says what to load, and that a folder will do."""
    with pytest.raises(CannotWork, match=r"no mpicc found; load the MPI module, .*--kernels DIR"):
        find_mpicc(Fake(), None, None)
    with pytest.raises(CannotWork, match="MPICC is /opt/x"):
        find_mpicc(Fake(), None, "/opt/x")


def test_a_blas_is_found_by_linking_with_it() -> None:
    """What pkg-config says comes first where it links; else the usual names; a wrong name is refused in one line."""
    compiler = Compiler(("mpicc",), "gcc 12.2")
    assert find_blas(Fake(links="-lmine", packages="-L/x -lmine"), compiler, None) == Blas(("-L/x", "-lmine"))
    assert find_blas(Fake(links="-lblis"), compiler, None) == Blas(("-lblis",))
    with pytest.raises(CannotWork, match="--blas -lnone: it provides no dgemm"):
        find_blas(Fake(links="-lblis"), compiler, "-lnone")


def test_each_mpi_has_a_build_of_its_own() -> None:
    """Compiler path, its version, flags and libraries are in the key; ranks.c is built in."""
    one = mpi_recipe(kernels(), Compiler(("/a/mpicc",), "gcc 12"), ("-O2",))
    keys = {one.key("mbw_mr", "x86_64")}
    for command, version, flag, blas in (
        ("/b", "gcc 12", "-O2", None),
        ("/a/mpicc", "gcc 13", "-O2", None),
        ("/a/mpicc", "gcc 12", "-O3", None),
    ):
        keys.add(mpi_recipe(kernels(), Compiler((command,), version), (flag,), blas).key("mbw_mr", "x86_64"))
    keys.add(mpi_recipe(kernels(), one.compiler, one.flags, Blas(("-lblis",))).key("mbw_mr", "x86_64"))
    assert len(keys) == 5
    files = [str(Path(word).relative_to(kernels())) for word in one.argv("mbw_mr", Path("/p")) if word.endswith(".c")]
    assert (files[0], files[-1], "common/arguments.c" in files) == ("mbw_mr.c", "common/mpi/ranks.c", True)


SAID = {
    "ssh": (
        b"ssh: connect to host n2 port 22: No route to host\n---\nORTE was unable to start\n",
        "ssh: connect to host n2 port 22",
    ),
    "the kernel": (b"mbw_mr: rank 1 got a wrong byte\nPrimary job terminated\n", "mbw_mr: rank 1 got a wrong byte"),
    "alone": (b"mbw_mr: 1 ranks: pairs need an even number of them\n", "the launcher belongs to a different MPI"),
    "root": (b"mpirun has detected an attempt to run as root.\n---\n", "run as root; start it as another user, or set OMPI_"),
    "a warning": (
        b"plm:ssh: Warning: setpgid(85,85) failed in parent with errno=Permission denied(13)\nssh: connect: Connection refused\n",
        "Connection refused",
    ),
    "the last word": (b"odd things\n-----\n", "odd things"),
    "nothing": (b"", "without a message"),
}


@pytest.mark.parametrize("case", SAID)
def test_a_failed_start_is_one_line(case: str) -> None:
    """The line that tells most is taken out of what launchers frame with dashes."""
    errors, word = SAID[case]
    heard = launch_output(Fake(ended=Ran(err=errors, status=213)), ("mpirun",), {}, 1)
    assert (heard.lines, word in str(heard.why), "\n" in str(heard.why)) == ([], True, False)


def test_lines_before_a_hang_are_kept() -> None:
    """A launcher that hangs when all ranks have ended leaves whole lines; what launchers print beside them is no result."""
    host = Fake(ended=Ran(why=Why.TIMEOUT), out=b'noise\n{"a": 1}\n')
    heard = launch_output(host, ("mpirun",), {}, 1)
    assert (heard.lines, heard.why) == ([b'{"a": 1}'], "mpirun did not finish within 90 s and was stopped, without a message")
