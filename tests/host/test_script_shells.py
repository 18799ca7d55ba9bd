"""The capture script in six shells as an ordinary user: files that answer badly cost themselves and nothing else.

The files that fail are the kernel's own, mounted over those of a tree, so that a static busybox meets them as any shell does.
"""

import os
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from advisor.advice.whatif import diff
from advisor.machine.hosts.base import ENVIRONMENT_PREFIXES, Why
from advisor.machine.hosts.capture import CaptureHost, Link
from advisor.machine.hosts.source import open_host
from advisor.machine.jinja import capture_script
from advisor.machine.read import capture_script as whole_script
from advisor.paths import template
from tests.host.shelf import is_root, lay, shell_in

SHELLS = ("dash", "busybox alone", "bash as sh", "mksh", "ksh93", "zsh as sh")
NOBODY = 65534
FAULTS = {
    "invalid": ("/sys/class/net/lo/speed", "Invalid argument"),
    "not-permitted": ("/proc/$sleeper/timerslack_ns", "Operation not permitted"),
    "io-error": ("/proc/$sleeper/mem", "Input/output error"),
}
"""Files of the kernel that can be opened and not read, and what cp says of them (errno(3))."""
PATTERNS = (
    *("/sys/faults/*", "/sys/class/net/*/speed", "/sys/class/net/*@", "/sys/names/*", "/sys/closed/*", "/sys/closed-file"),
    *("/proc/cmdline", "/proc/mounts", "/sys/gone"),
)
ENDLESS = 1 << 40
COMMANDS = (("printf", "%s|", "a b", "$HOME"), ("no-such-program-here",), ("sh", "-c", "exit 3"))
VARIABLES = {
    **dict.fromkeys(("OMPI_MCA_oob_secret", "OMPI_MCA_sec_munge_key", "PMIX_MCA_psec_token", "Slurm_Jwt"), "hunter2"),
    **dict.fromkeys(("OMPI_MCA_sec_basic_password", "UCX_Passwd", "OMPI_MCA_btl_auth_cookie"), "hunter2"),
    "OMPI_MCA_btl": "self",
    "SLURM_JOB_ID": "7",
}
EXPECTED: dict[str, str | Why] = {
    "/sys/faults/a": "first\n",
    "/sys/faults/empty": "",
    "/sys/faults/endless": Why.FAILED,
    "/sys/faults/huge": Why.FAILED,
    "/sys/faults/invalid": Why.FAILED,
    "/sys/faults/io-error": Why.FAILED,
    "/sys/faults/not-permitted": Why.REFUSED,
    "/sys/faults/pipe": Why.FAILED,
    "/sys/faults/vanishes": Why.ABSENT,
    "/sys/faults/z": "last\n",
    "/sys/class/net/lo/speed": Why.FAILED,
    "/sys/class/net/eth0/speed": "100\n",
    "/sys/names/-dash": "1\n",
    "/sys/names/back\\slash": "2\n",
    "/sys/names/quote's": "3\n",
    "/sys/names/star*": "4\n",
    "/sys/names/with blank ": "5\n",
    "/sys/closed/x": Why.REFUSED,
    "/sys/closed-file": Why.REFUSED,
    "/sys/gone": Why.ABSENT,
}
"""What every shell's archive answers."""

needs_root = pytest.mark.skipif(
    not is_root() or shutil.which("unshare") is None, reason="needs root and unshare to be user 65534"
)


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a folder that the ordinary user reaches; pytest's own are closed to others."""
    with TemporaryDirectory(prefix="advisor-shells-") as folder:
        Path(folder).chmod(0o755)
        for name in ("tmp", "out"):
            (Path(folder) / name).mkdir()
            os.chown(Path(folder) / name, NOBODY, NOBODY)
        yield Path(folder)


def environment(path: str, folder: Path) -> dict[str, str]:
    """Return what the script finds in its environment."""
    return {"PATH": path, "TMPDIR": str(folder / "tmp"), **VARIABLES}


def faulty_tree(folder: Path) -> Path:
    """Write the machine on which the faults lie, and return its root."""
    root = lay(
        folder / "root",
        {
            **{f"sys/faults/{name}": b"" for name in (*FAULTS, "endless", "empty")},
            "sys/faults/a": b"first\n",
            "sys/faults/z": b"last\n",
            "sys/faults/vanishes": b"?",
            "sys/faults/huge": b"",
            "sys/faults/folder/inside": b"",
            "sys/closed/x": b"1\n",
            "sys/closed-file": b"1\n",
            "sys/class/net/lo": Link("../../devices/virtual/net/lo"),
            "sys/class/net/eth0": Link("../../devices/pci0000:00/net/eth0"),
            "sys/devices/virtual/net/lo/speed": b"",
            "sys/devices/pci0000:00/net/eth0/speed": b"100\n",
            "sys/names/-dash": b"1\n",
            "sys/names/back\\slash": b"2\n",
            "sys/names/quote's": b"3\n",
            "sys/names/star*": b"4\n",
            "sys/names/with blank ": b"5\n",
            "sys/names/new\nline": b"6\n",
            "proc/cmdline": b"quiet rd.iscsi.password=hunter2 isolcpus=1-3 -- hunter2\n",
            "proc/mounts": b"//filer/x /mnt cifs rw,password=hunter2,vers=3 0 0\n",
        },
    )
    os.mkfifo(root / "sys/faults/pipe")
    os.truncate(root / "sys/faults/huge", ENDLESS)
    for name, mode in {"closed": 0, "closed-file": 0, "faults": 0o777}.items():
        (root / "sys" / name).chmod(mode)
    for name in ("cmdline", "mounts"):
        (root / "proc" / name).chmod(0o444)  # as the kernel's own: their owner cannot write into a copy either
    return root


def run_as(words: list[str], folder: Path, variables: dict[str, str], number: int = NOBODY) -> subprocess.CompletedProcess[str]:
    """Run words as a user with the kernel's files over those of the tree, in a mount namespace of its own."""
    user = f"setpriv --reuid {number} --regid {number} --clear-groups"
    root = folder / "root/sys"
    mounts = {
        **{f"faults/{name}": source for name, (source, _) in FAULTS.items()},
        "faults/endless": "/proc/$sleeper/pagemap",
        "devices/virtual/net/lo/speed": "/sys/class/net/lo/speed",
    }
    lines = [
        "set -e",
        f"{user} sleep 120 & sleeper=$!",
        'trap "kill $sleeper" EXIT',
        'until [ "$(cat /proc/$sleeper/comm)" = sleep ]; do sleep 0.01; done',
        *(f'mount --bind "{source}" {root / path}' for path, source in mounts.items() if root.is_dir()),
        f'{user} env -i "$@"',
    ]
    command = ["unshare", "-m", "sh", "-c", "\n".join(lines), "sh", *(f"{key}={value}" for key, value in variables.items())]
    return subprocess.run([*command, *words], cwd=folder / "out", capture_output=True, text=True, timeout=120, check=False)


@needs_root
def test_the_files_of_the_tree_fail_as_they_are_meant_to(place: Path) -> None:
    """What the other tests rest upon: each fault is the errno that its name says, on this kernel."""
    faulty_tree(place)
    words = ["/bin/sh", "-c", "".join(f"head -c 1 {place}/root/sys/faults/{name}; " for name in FAULTS) + "true"]
    lines = run_as(words, place, {"LC_ALL": "C"}).stderr.splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == [text for _, text in FAULTS.values()]


@needs_root
@pytest.mark.parametrize("name", SHELLS)
def test_every_shell_captures_as_an_ordinary_user(name: str, place: Path) -> None:
    """EINVAL, EPERM, EIO, text without end, a FIFO, a folder, files that vanish: the archive of each shell answers the same."""
    root, (shell, path) = faulty_tree(place), shell_in(name, place)
    text = capture_script(template("capture.sh.j2"), PATTERNS, COMMANDS, "1.0", ENVIRONMENT_PREFIXES)
    vanish = f"rm '{root}/sys/faults/vanishes'\n"
    (place / "capture.sh").write_text(text.replace('echo "capture.sh: copying', f'{vanish}echo "capture.sh: copying'))
    done = run_as([*shell, str(place / "capture.sh"), "--root", str(root)], place, environment(path, place))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    host = open_host(str(place / "out/node.tar.gz"))
    assert isinstance(host, CaptureHost)
    answers = {path: (reading.why or reading.text) for path in EXPECTED if (reading := host.read(path))}
    assert answers == EXPECTED
    assert (host.list("/sys/faults/folder"), host.real("/sys/class/net/lo")) == ((), "/sys/devices/virtual/net/lo")
    assert host.environment() == {"OMPI_MCA_btl": "self", "SLURM_JOB_ID": "7"}
    assert [(ran.out, ran.status, ran.why) for argv in COMMANDS if (ran := host.run(argv))] == [
        (b"a b|$HOME|", 0, None),
        (b"", 0, Why.ABSENT),
        (b"", 3, None),
    ]
    with tarfile.open(place / "out/node.tar.gz") as tar:
        held = {member.name: file.read() for member in tar if (file := tar.extractfile(member))}
    assert [path for path, data in held.items() if b"hunter2" in data] == []
    assert "quiet" in (host.read("/proc/cmdline").text or "")
    assert ",vers=3 0 0" in (host.read("/proc/mounts").text or "")
    assert (list((place / "tmp").iterdir()), [path.name for path in (place / "out").iterdir()]) == ([], ["node.tar.gz"])


@needs_root
def test_a_full_disk_ends_in_its_own_words(place: Path) -> None:
    """No archive that lacks what did not fit, nothing left, and the reason stands on the terminal."""
    (place / "capture.sh").write_text(whole_script())
    lines = [
        f"mount -t tmpfs -o size=400k,mode=1777 none {place}/tmp",
        f"setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups sh {place}/capture.sh -o {place}/tmp/x.tar.gz",
        f'echo "$?" && ls -A {place}/tmp',
    ]
    command = ["unshare", "-m", "sh", "-c", "\n".join(lines)]
    done = subprocess.run(
        command, env={**os.environ, "TMPDIR": f"{place}/tmp"}, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, "No space left on device" in done.stderr) == ("2\n", True), done.stderr
    assert done.stderr.splitlines()[-1] == f"capture.sh: cannot write {place}/tmp/x.tar.gz; name another file with -o"


@needs_root
@pytest.mark.slow
@pytest.mark.parametrize("user", [NOBODY, 0])
@pytest.mark.parametrize("name", SHELLS[1:])
def test_the_live_machine_is_the_same_in_every_shell(name: str, user: int, place: Path) -> None:
    """With all that advisor reads, for everybody and for root: the same files, links, gaps and commands, and no fact differs."""
    (place / "capture.sh").write_text(whole_script())
    shells = {each: shell_in(each, place)[0] for each in ("dash", name)}
    for _ in range(3):  # what comes and goes on the machine meanwhile is no shell's doing: it does not stay
        for each, shell in shells.items():
            words = [*shell, str(place / "capture.sh"), "-o", f"{each}.tar.gz"]
            done = run_as(words, place, {"PATH": os.environ["PATH"]}, user)
            assert done.returncode == 0, done.stderr
        differing = _differing(*(place / "out" / f"{each}.tar.gz" for each in shells))
        if not differing:
            break
    assert differing == []


def _differing(one: Path, other: Path) -> list[str]:
    """Return the members, gaps and facts in which two captures of one machine differ."""
    changed = diff(str(one), str(other))
    changes = (*changed.identity, *changed.settings, *changed.topology, *changed.devices, *changed.facts)
    lasting = [str(each) for each in changes if each.title != "memory per node"]  # a guest's host takes and gives
    return [*sorted(_members(one) ^ _members(other)), *lasting, *map(str, (*changed.gained, *changed.lost))]


def _members(archive: Path) -> set[str]:
    """Return the names in a capture, with /proc/self for the number that its process had, and the lines of its gaps."""
    with tarfile.open(archive) as tar:
        number = next((member.linkname for member in tar if member.name.endswith("root/proc/self")), "")
        gaps = tar.extractfile("advisor-capture/gaps")
        assert gaps is not None
        return {member.name.replace(f"/proc/{number}", "/proc/self") for member in tar} | set(gaps.read().decode().splitlines())


@needs_root
@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.slow
def test_nothing_is_left_after_a_signal(name: str, sign: int, place: Path) -> None:
    """Ctrl-C, a job's end, a line that is cut: no folder, no unfinished archive, no process."""
    shell, path = shell_in(name, place)
    text = capture_script(template("capture.sh.j2"), (), [("sleep", "7654321")], "1.0", ())
    (place / "capture.sh").write_text(text)
    with subprocess.Popen(
        [*shell, str(place / "capture.sh")],
        env=environment(path, place),
        cwd=place / "out",
        stderr=subprocess.PIPE,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        while b"running sleep" not in process.stderr.readline():
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(process.pid, sign)
        time.sleep(0.05)
        process.send_signal(sign)  # twice, as an impatient user does; one that has ended gets none
        status = process.wait(60)
    assert (status, list((place / "tmp").iterdir()), list((place / "out").iterdir())) == (130 if sign == 2 else 143, [], [])
    assert _left_of(place) == []


def _left_of(place: Path) -> list[str]:
    """Return the processes that still have a test's folder as their TMPDIR, after a moment."""
    mark = f"TMPDIR={place}".encode()
    left: list[str] = []
    for _ in range(50):
        left = [each.name for each in Path("/proc").iterdir() if each.name.isdigit() and mark in _read(each / "environ")]
        if not left:
            break
        time.sleep(0.1)
    return left


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
