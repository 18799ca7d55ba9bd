"""The shell script: keeps the same as Python does, with any POSIX shell, and cleans up."""

import gzip
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from advisor.errors import BadInput
from advisor.machine.hosts.base import ENVIRONMENT_PREFIXES, RedactedHost, Why, concrete_patterns, expand
from advisor.machine.hosts.capture import CaptureHost, record
from advisor.machine.hosts.source import open_host
from advisor.machine.jinja import capture_script
from advisor.paths import template
from tests.host.shelf import MACHINE, PATTERNS, is_root, lay, shell_in
from tests.host.test_capture import opened

COMMANDS = (("printf", "%s|", "a b", "$HOME", "it's"), ("no-such-program-here",), ("sh", "-c", "echo bad >&2; exit 3"))
Shell = tuple[list[str], dict[str, str]]
SHELLS = ("dash", "busybox alone", "bash as sh")
OTHERS = ("busybox", "mksh", "ksh93", "zsh as sh")


@pytest.fixture(params=[*SHELLS, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Shell:
    """Return how to start a script with one of the shells, and the environment for it."""
    start, path = shell_in(request.param, tmp_path)
    return start, {"PATH": path, "TMPDIR": str(tmp_path), "SLURM_JOB_ID": "7", "SECRET": "x"}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Return the script for this room's patterns and commands."""
    file = tmp_path / "capture.sh"
    file.write_text(capture_script(template("capture.sh.j2"), PATTERNS, COMMANDS, "1.0", ENVIRONMENT_PREFIXES))
    return file


def run(shell: Shell, script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script and return what it said."""
    start, environment = shell
    return subprocess.run(
        [*start, str(script), *arguments],
        env=environment,
        cwd=script.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def known(host: CaptureHost) -> dict[str, object]:
    """Return what a capture knows of every pattern."""
    paths = {path for pattern in concrete_patterns(host, PATTERNS) for path in expand(host, pattern.removesuffix("@"))}
    answers = {path: (host.read(path), host.real(path), host.list(path)) for path in sorted(paths)}
    return {path: answer for path, answer in answers.items() if answer[0].why not in (Why.ABSENT, Why.NOT_KEPT)}


def test_keeps_the_same_as_python(shell: Shell, script: Path, tmp_path: Path) -> None:
    """Files, links, folders and gaps are those that record() keeps."""
    root = lay(tmp_path / "root dir")
    (root / "sys/devices/system/cpu/cpu1/topology/die_cpus").write_bytes(b"\x00raw\n\n")
    done = run(shell, script, "-o", "out.tar.gz", "--root", str(root))
    assert (done.returncode, done.stdout) == (0, "")
    expected = opened(record(open_host(str(root)), PATTERNS, (), {}))
    actual = open_host(str(tmp_path / "out.tar.gz"))
    assert isinstance(actual, CaptureHost)
    assert known(expected) == known(actual)
    assert f"capture.sh: wrote {tmp_path}/out.tar.gz" == done.stderr.splitlines()[-1]


def test_keeps_commands_and_variables(shell: Shell, script: Path, tmp_path: Path) -> None:
    """Commands get their words as they are; one that is not there is absent; only scheduler variables are kept."""
    run(shell, script, "--root", str(lay(tmp_path / "root")))
    host = open_host(str(tmp_path / "node.tar.gz"))
    ran = [host.run(argv) for argv in COMMANDS]
    assert [(r.out, r.status, r.why) for r in ran] == [(b"a b|$HOME|it's|", 0, None), (b"", 0, Why.ABSENT), (b"", 3, None)]
    assert ran[2].err == b"bad\n"
    assert host.environment() == {"SLURM_JOB_ID": "7"}
    assert isinstance(host, CaptureHost)
    assert tuple(host.about[key] for key in ("advisor", "made", "anonymised")) == ("1.0", "shell", "no")


def test_knows_what_it_looked_for(shell: Shell, script: Path, tmp_path: Path) -> None:
    """What was looked for and is not there is absent; anything else was not kept."""
    run(shell, script, "--root", str(lay(tmp_path / "root")))
    host = open_host(str(tmp_path / "node.tar.gz"))
    assert host.read("/sys/devices/system/cpu/offline").why == Why.ABSENT
    assert host.read("/etc/passwd").why == Why.NOT_KEPT
    assert host.read("/sys/fs/cgroup/system.slice/job 7/cpuset.cpus.effective").text == "1\n"
    assert host.read("/sys/fs/cgroup/other.slice/cpuset.cpus.effective").why == Why.NOT_KEPT


@pytest.mark.skipif(is_root(), reason="root may read everything")
def test_closed_files_become_gaps(shell: Shell, script: Path, tmp_path: Path) -> None:
    """A file and a folder without permission are refused, not empty."""
    root = lay(tmp_path / "root")
    (root / "proc/meminfo").chmod(0)
    run(shell, script, "--root", str(root))
    assert open_host(str(tmp_path / "node.tar.gz")).read("/proc/meminfo").why == Why.REFUSED


def test_real_machine(shell: Shell, script: Path, tmp_path: Path) -> None:
    """On the machine of the tests it answers as the machine does, its own process included."""
    done = run(shell, script)
    assert done.returncode == 0, done.stderr
    host = open_host(str(tmp_path / "node.tar.gz"))
    assert Path("/sys/devices/system/cpu/online").read_bytes() == host.read("/sys/devices/system/cpu/online").data
    assert b"Cpus_allowed_list" in host.read("/proc/self/status").data
    assert host.read("/proc/mounts").data


def test_leaves_nothing_behind(shell: Shell, script: Path, tmp_path: Path) -> None:
    """The archive is its owner's alone and the temporary folder is gone, also after a refusal."""
    run(shell, script, "--root", str(lay(tmp_path / "root")))
    assert (tmp_path / "node.tar.gz").stat().st_mode & 0o777 == 0o600
    done = run(shell, script, "-o", "none/x.tar.gz", "--root", str(tmp_path / "root"))
    assert done.returncode == 2
    assert f"capture.sh: cannot write {tmp_path}/none/x.tar.gz; name another file with -o" == done.stderr.splitlines()[-1]
    assert list(tmp_path.glob("advisor-capture*")) == []


@pytest.mark.slow
def test_a_link_in_place_of_the_archive_is_replaced_not_followed(shell: Shell, script: Path, tmp_path: Path) -> None:
    """Also one under the name of the unfinished file; a folder of that name is refused."""
    (tmp_path / "victim").write_text("mine")
    for name in ("node.tar.gz", "node.tar.gz.part"):
        (tmp_path / name).symlink_to(tmp_path / "victim")
    done = run(shell, script, "--root", str(lay(tmp_path / "root")))
    assert (done.returncode, (tmp_path / "victim").read_text()) == (0, "mine")
    assert ((tmp_path / "node.tar.gz").is_symlink(), (tmp_path / "node.tar.gz").stat().st_mode & 0o777) == (False, 0o600)
    (tmp_path / "folder").mkdir()
    assert run(shell, script, "-o", "folder", "--root", str(tmp_path / "root")).returncode == 2
    assert list((tmp_path / "folder").iterdir()) == []


def test_standard_output_takes_the_archive(shell: Shell, script: Path, tmp_path: Path) -> None:
    """Of -o - and /dev/stdout; no device is replaced."""
    start, environment = shell
    root = str(lay(tmp_path / "root"))
    for name in ("-", "/dev/stdout"):
        command = [*start, str(script), "-o", name, "--root", root]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=True)
        assert opened(done.stdout).read("/proc/meminfo").text == "MemTotal: 16 kB\n"
    assert Path("/dev/stdout").is_symlink()


def test_what_it_removes_is_its_own(shell: Shell, script: Path, tmp_path: Path) -> None:
    """Names that lie at the root and are also on the way of a link stay, whatever the script is doing when it ends."""
    names = {part: b"mine" for path in MACHINE for part in path.split("/")[2:]}
    root = lay(tmp_path / "root", {**MACHINE, **names})
    start, environment = shell
    before = sorted(root.iterdir())
    command = [*start, str(script), "-o", "-", "--root", str(root)]
    subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=True)
    assert sorted(root.iterdir()) == before


def test_interrupt_cleans_up(tmp_path: Path, shell: Shell) -> None:
    """A script that is stopped in the middle leaves no temporary folder."""
    file = tmp_path / "capture.sh"
    file.write_text(capture_script(template("capture.sh.j2"), (), [("sleep", "1")], "1.0", ()))
    start, environment = shell
    with subprocess.Popen(
        [*start, str(file)], env=environment, cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stderr is not None
        while b"sleep" not in process.stderr.readline():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)
    assert (list(tmp_path.glob("advisor-capture*")), (tmp_path / "node.tar.gz").exists()) == ([], False)


def test_a_program_that_is_missing_is_named(tmp_path: Path, shell: Shell) -> None:
    """Before anything is done; the archive could not be written in the end."""
    if "busybox" in shell[0][0]:
        pytest.skip("busybox calls its own gzip, whatever lies on PATH")
    done = run(with_fakes(shell, tmp_path, without="gzip"), made(tmp_path, (), []))
    assert (done.returncode, done.stderr) == (2, "capture.sh: needs gzip, which is not installed\n")


@pytest.mark.parametrize(("arguments", "said"), [(["-o"], "-o needs a value"), (["-x"], "unknown argument -x")])
def test_wrong_arguments(script: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    """A wrong argument is named, with the usage."""
    done = run((["sh"], dict(os.environ)), script, *arguments)
    assert (2, f"capture.sh: {said}; usage: sh capture.sh [-o FILE]\n") == (done.returncode, done.stderr)


def test_shellcheck_finds_nothing(script: Path) -> None:
    """The script has no fault that shellcheck knows."""
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    quoted = "SC2016"  # a dollar in single quotes: the words of a command are meant as they are
    done = subprocess.run(["shellcheck", "-s", "sh", "-e", quoted, str(script)], capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_hostile_words_are_quoted(tmp_path: Path) -> None:
    """A pattern or a command cannot say anything to the shell."""
    trap = f"$(touch {tmp_path}/caught)`touch {tmp_path}/caught`'; touch {tmp_path}/caught #"
    text = capture_script(
        template("capture.sh.j2"), [f"/sys/{trap}/x", f"/a{trap}{{cgroup}}/b"], [("echo", trap)], trap, ["A_;touch x"]
    )
    (tmp_path / "capture.sh").write_text(text)
    done = run((["sh"], dict(os.environ)), tmp_path / "capture.sh")
    assert (done.returncode, (tmp_path / "caught").exists()) == (0, False)
    assert f"{trap}\n".encode() == open_host(str(tmp_path / "node.tar.gz")).run(("echo", trap)).out


@pytest.mark.parametrize("pattern", ["sys/x", "/a\n/b", ""])
def test_bad_patterns_are_refused(pattern: str) -> None:
    """A pattern is absolute and one line."""
    with pytest.raises(BadInput, match="not a path pattern"):
        capture_script("", [pattern], (), "1", ())


def test_template_is_found_and_its_absence_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The template lies in the checkout or in the wheel; where it is missing, one line says so."""
    assert "advisor-capture 1" in template("capture.sh.j2")
    monkeypatch.setattr("advisor.paths._PACKAGE", tmp_path / "advisor")
    (tmp_path / "advisor/_data/templates").mkdir(parents=True)
    (tmp_path / "advisor/_data/templates/a.j2").write_text("from the wheel")
    assert template("a.j2") == "from the wheel"
    with pytest.raises(Exception, match=r"b\.j2: No such file or directory; this copy is incomplete: reinstall advisor"):
        template("b.j2")


def test_tree_has_what_the_tests_need() -> None:
    """The small machine has links, blanks in names and files without content."""
    assert {b"", b"1\n"} <= {node for node in MACHINE.values() if isinstance(node, bytes)}


def made(tmp_path: Path, patterns: tuple[str, ...], commands: list[tuple[str, ...]], **fakes: str) -> Path:
    """Return a script in whose commands nobody believes, with seconds cut to one; the fakes are programs on its PATH."""
    file = tmp_path / "capture.sh"
    text = capture_script(template("capture.sh.j2"), patterns, commands, "1.0", ENVIRONMENT_PREFIXES)
    for seconds in ("20", "10", "3"):
        text = text.replace(f"within {seconds} ", "within 1 ")
    file.write_text(text.replace("most=16777216", "most=65536"))
    (tmp_path / "fakes").mkdir()
    for name, body in fakes.items():
        (tmp_path / "fakes" / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / "fakes" / name).chmod(0o755)
    return file


def with_fakes(shell: Shell, tmp_path: Path, *, without: str = "") -> Shell:
    """Return the shell with the fakes first on its PATH, and without a program."""
    start, environment = shell
    folders = environment["PATH"].split(":")
    if without:
        links = tmp_path / "links"
        links.mkdir()
        for folder in reversed(folders):
            for place in Path(folder).glob("*") if Path(folder).is_dir() else ():
                (links / place.name).unlink(missing_ok=True)
                if place.name != without:
                    (links / place.name).symlink_to(place)
        folders = [str(links)]
    return start, environment | {"PATH": ":".join([str(tmp_path / "fakes"), *folders])}


@pytest.mark.slow
@pytest.mark.parametrize("without", ["", pytest.param("setsid", marks=pytest.mark.slow)])
def test_a_command_that_will_not_end_is_given_up(tmp_path: Path, shell: Shell, without: str) -> None:
    """It ignores SIGTERM, or its child holds its output; the ones after it are asked. Neither timeout nor setsid is needed."""
    script = made(
        tmp_path,
        (),
        [("deaf",), ("parent",), ("fine",)],
        deaf="trap '' TERM HUP INT; while :; do sleep 1; done",
        parent="sleep 30 & sleep 30",
        fine="echo fine",
    )
    done = run(with_fakes(shell, tmp_path, without=without), script)
    assert done.returncode == 0, done.stderr
    host = open_host(str(tmp_path / "node.tar.gz"))
    assert [host.run((name,)).why for name in ("deaf", "parent", "fine")] == [Why.TIMEOUT, Why.TIMEOUT, None]
    assert host.run(("fine",)).out == b"fine\n"


def test_a_command_that_prints_without_end_does_not_fill_the_disk(tmp_path: Path, shell: Shell) -> None:
    """On either output."""
    script = made(tmp_path, (), [("loud",), ("louder",), ("fine",)], loud="yes", louder="yes >&2", fine="echo fine")
    done = run(with_fakes(shell, tmp_path), script)
    assert done.returncode == 0, done.stderr
    host = open_host(str(tmp_path / "node.tar.gz"))
    assert [host.run((name,)).why for name in ("loud", "louder", "fine")] == [Why.FAILED, Why.FAILED, None]
    assert (tmp_path / "node.tar.gz").stat().st_size < 20_000


def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path, shell: Shell) -> None:
    """It is there and could not be read, and so is a file larger than any."""
    root = lay(tmp_path / "root", {"sys/a": b"1\n", "sys/z": b"2\n", "sys/large": b"x" * 100_000})
    os.mkfifo(root / "sys/pipe")
    run(shell, made(tmp_path, ("/sys/*",), []), "--root", str(root))
    host = open_host(str(tmp_path / "node.tar.gz"))
    assert [host.read(f"/sys/{name}").why for name in ("a", "pipe", "z")] == [None, Why.FAILED, None]


def test_a_file_that_a_driver_holds_is_given_up(tmp_path: Path, shell: Shell) -> None:
    """Copying stops at it and so does reading it alone; the files beside it are kept."""
    if "busybox" in shell[0][0]:
        pytest.skip("busybox calls its own cp and head, whatever lies on PATH")
    root = lay(tmp_path / "root", {"sys/a": b"1\n", "sys/held": b"never\n", "sys/z": b"2\n"})
    real = shutil.which("head", path=shell[1]["PATH"])
    held = 'case "$*" in *held*) trap "" TERM; sleep 30 ;; esac'
    fakes = {"cp": f"{held}\nexit 9", "head": f'{held}\nexec {real} "$@"'}
    run(with_fakes(shell, tmp_path), made(tmp_path, ("/sys/*",), [], **fakes), "--root", str(root))
    host = open_host(str(tmp_path / "node.tar.gz"))
    assert [host.read(f"/sys/{name}").why for name in ("a", "held", "z")] == [None, Why.FAILED, None]


@pytest.mark.slow
def test_files_that_do_not_answer_cost_a_bounded_time(tmp_path: Path, shell: Shell) -> None:
    """After some of them the others are given up at once, whoever holds them."""
    if "busybox" in shell[0][0]:
        pytest.skip("busybox calls its own cp and head, whatever lies on PATH")
    root = lay(tmp_path / "root", {f"sys/{name}": b"never\n" for name in ("held1", "held2", "held3", "held4")})
    fakes = {"cp": "exit 9", "head": f'case "$*" in *held*) echo >>{tmp_path}/asked; exec sleep 30 ;; esac; exec cat'}
    script = made(tmp_path, ("/sys/*",), [], **fakes)
    script.write_text(script.read_text().replace('"$silent" -lt 20', '"$silent" -lt 2'))
    run(with_fakes(shell, tmp_path), script, "--root", str(root))
    host = open_host(str(tmp_path / "node.tar.gz"))
    assert {host.read(f"/sys/held{number}").why for number in (1, 2, 3, 4)} == {Why.FAILED}
    assert (tmp_path / "asked").read_text() == "\n\n"


def test_the_script_drops_credentials_as_python_does(tmp_path: Path, shell: Shell) -> None:
    """Of variables, boot options, files and what commands say; the two keep the same."""
    cmdline = 'BOOT_IMAGE=/x root=UUID=1 ro iommu=pt rd.iscsi.password=hunter2 x.key="a b hunter2" isolcpus=1-3 -- hunter2\n'
    mounts = "//filer/x /mnt cifs rw,username=joe,password=hunter2,vers=3 0 0\n"
    root = lay(tmp_path / "root", {"proc/cmdline": cmdline.encode(), "proc/mounts": mounts.encode(), "proc/sys/x": b"1\n"})
    text = "url=https://joe:hunter2@site/ token: hunter2 Bearer hunter2hunter2\nversion 1.2\n"
    jwt = "eyJhbGciOiJIUzI1NiJ9.eyJodW50ZXIyIjoxfQ.c2lnbmF0dXJl"
    script = made(
        tmp_path, ("/proc/cmdline", "/proc/mounts"), [("tool",)], tool=f"echo '{text.strip()} {jwt}'; echo 'password=hunter2' >&2"
    )
    variables = {
        "SLURM_JWT": jwt,
        "UCX_TLS": "rc",
        "UCX_PASSWORD": "hunter2",
        "OMPI_MCA_btl": "http://joe:hunter2@x",
        "SLURM_ODD": "1",
    }
    start, environment = with_fakes(shell, tmp_path)
    run((start, environment | variables), script, "--root", str(root))
    host = open_host(str(tmp_path / "node.tar.gz"))
    whole = gzip.decompress((tmp_path / "node.tar.gz").read_bytes())
    assert [word for word in (b"hunter2", b"eyJ", b"aHVudGVyMg") if word in whole] == []
    assert host.environment() == {"SLURM_JOB_ID": "7", "UCX_TLS": "rc"}
    assert host.read("/proc/cmdline").text == (
        "BOOT_IMAGE=withheld root=withheld ro iommu=pt rd.iscsi.password=withheld x.key=withheld isolcpus=1-3\n"
    )
    assert host.read("/proc/cmdline") == RedactedHost(open_host(str(root))).read("/proc/cmdline")
    assert host.read("/proc/mounts") == RedactedHost(open_host(str(root))).read("/proc/mounts")
