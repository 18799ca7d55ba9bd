"""Nodes behind one real sshd: as many names as wished, each with its own way to answer, badly too.

ssh's configuration gives each name an environment that says who it is; the server's ForceCommand acts as that node does. What
a whole capture would do on a node is replaced there by copying a capture that was made before, where not said otherwise: the
rest of what was sent runs as it is.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tarfile import TarFile, TarInfo
from tarfile import open as open_tar

import pytest

from tests.ports import free_port

SSHD = shutil.which("sshd", path="/usr/sbin:/sbin:/usr/bin")
needs_sshd = pytest.mark.skipif(SSHD is None or shutil.which("ssh") is None, reason="no sshd here (openssh-server)")

_COMMAND = """\
#!/bin/sh
# Acts as the node that the client's environment names.
here={here}
node=$ADVISOR_NODE
case $node in '' | *[!a-z0-9-]*) exit 1 ;; esac
export ADVISOR_NODES={here} TMPDIR=$here/tmp/$node
echo "$node" >>"$here/asked"
. "$here/behaviour/$node"
"""

# The body of the script between the two marks, replaced by what the node is to do in its place.
_RUN = """\
[ "$SSH_ORIGINAL_COMMAND" = 'exec /bin/sh -s' ] || exit 1
replaced() {{
    inside=
    while IFS= read -r line; do
        case $line in
            *"<<'advisor-"*) inside=yes; printf '%s\\n' "$line"; cat "{body}" ;;
            advisor-[0-9a-f]*) inside=; printf '%s\\n' "$line" ;;
            *) [ "$inside" ] || printf '%s\\n' "$line" ;;
        esac
    done
}}
replaced | {start}
"""
_START = "/bin/sh -s"

_BANNER = "echo 'Welcome!'; echo 'no space left on device, says the message of the day' >&2\n"
"""A login that talks does no harm."""

BODIES: Mapping[str, str] = {
    "good": 'cat "$ADVISOR_NODES/captures/$ADVISOR_NODE" >"$2"\n',
    "slow": 'sleep 1; cat "$ADVISOR_NODES/captures/$ADVISOR_NODE" >"$2"\n',
    "hangs": "sleep 600\n",
    "half": 'head -c 300 "$ADVISOR_NODES/captures/$ADVISOR_NODE" >"$2"\n',
    "full": "echo 'tar: advisor-capture: Cannot write: No space left on device' >&2; exit 2\n",
    "killed": "kill -KILL $$\n",
    "fails": "echo 'capture.sh: a tool is missing' >&2; exit 3\n",
}
"""What the script does on a node."""
COMMANDS: Mapping[str, str] = {
    "junk": "head -c 1000000 /dev/zero | tr '\\0' x\n",
    "endless": "exec cat /dev/zero\n",
    "silent": "exec cat >/dev/null\n",
    "gone": "kill -KILL $$\n",
    "cut": "printf 'advisor-0 '; exit 0\n",
    "halfway": """while read -r line; do case $line in *"<<'advisor-"*) mark=${line#*"<<'"} ;; advisor_on_node) break ;; esac
done
printf '%s begin base64\\nH4sI\\n' "${mark%%"'"*}"
""",
}
"""What a node does in place of the whole command."""
LOGINS: Mapping[str, tuple[str, str, str]] = {
    "dash": ("dash", "", ""),
    "busybox": ("busybox sh", "", ""),
    "bash": ("bash", ".bashrc", "echo loading modules; echo -n 'no newline at the end'"),
    "ksh": ("ksh", "", ""),
    "mksh": ("mksh", "", ""),
    "zsh": ("zsh", ".zshenv", "echo 'quota: 93 % of $HOME'"),
    "csh": ("csh", ".cshrc", "echo 'csh says hello'\nset prompt = '> '"),
    "tcsh": ("tcsh", ".tcshrc", "echo -n 'no newline at the end'\nexit 1"),
    "fish": ("fish", ".config/fish/config.fish", "echo 'Welcome to fish'"),
    "rbash": ("rbash", "", ""),
    "exits": ("bash", ".bashrc", "exit 0"),
    "exits-zsh": ("zsh", ".zshenv", "exit 1"),
    "uptime": ("sh", "", "uptime"),
}
"""A login's shell, its start-up file and what is in that; without a name of a file: the command that is forced.
An exit in a start-up file ends bash and zsh, and of tcsh that file alone."""
ELSEWHERE = ("no-route", "refuses", "no-banner", "other-key", "no-entry")
"""What a node does before anything could be run there."""


def capture_named(name: str) -> bytes:
    """Return a small capture of a node that calls itself so."""
    files = {
        "format": "advisor-capture 1\n",
        "about": "advisor: 0.2.0\nmade: shell\ntime: 2026-01-31T06:10:00Z\nuid: 0\nanonymised: no\n",
        "patterns": "/proc/sys/kernel/hostname\n",
        "gaps": "",
        "environment": "",
        "root/proc/sys/kernel/hostname": f"{name}\n",
    }
    made = BytesIO()
    with open_tar(fileobj=made, mode="w:gz") as tar:
        for path, text in files.items():
            _put(tar, f"advisor-capture/{path}", text.encode())
        _put(tar, "advisor-capture/root/proc/filler", os.urandom(2000))
    return made.getvalue()


def _put(tar: TarFile, path: str, data: bytes) -> None:
    about = TarInfo(path)
    about.size = len(data)
    tar.addfile(about, BytesIO(data))


@dataclass(frozen=True)
class Nodes:
    """Names that ssh reaches."""

    folder: Path
    names: tuple[str, ...]

    def asked(self) -> list[str]:
        """Return which nodes ran something, once for each time."""
        return sorted((self.folder / "asked").read_text().split())

    def left_behind(self) -> list[str]:
        """Return the files that are left on the nodes, and the programs that still run there or still ask, after a moment."""
        found: list[str] = []
        for _ in range(100):
            found = [str(path) for path in (self.folder / "tmp").glob("*/*")] + list(self._running())
            if not found:
                break
            time.sleep(0.1)
        return found

    def _running(self) -> Iterator[str]:
        marks = (f"ADVISOR_NODES={self.folder}".encode(), str(self.folder / "ssh_config").encode())
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and int(process.name) != os.getpid():
                with suppress(OSError):
                    line = (process / "cmdline").read_bytes()
                    if marks[0] in (process / "environ").read_bytes().split(b"\0") or marks[1] in line.split(b"\0"):
                        yield line.replace(b"\0", b" ").decode(errors="replace") or process.name


@contextmanager
def sshd(folder: Path, nodes: Mapping[str, str], seen: Mapping[str, str] | None = None) -> Iterator[Nodes]:
    """Start a server for names and what each does: a key of BODIES, COMMANDS or LOGINS, one of ELSEWHERE, or "real"."""
    assert SSHD is not None
    for part in ("behaviour", "captures", "body", "home", *(f"tmp/{name}" for name in nodes)):
        (folder / part).mkdir(parents=True)
    for key in ("host", "user", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    (folder / "asked").touch()
    (folder / "command").write_text(_COMMAND.format(here=folder))
    for name, text in BODIES.items():
        (folder / "body" / name).write_text(text)
    for name, does in nodes.items():
        (folder / "captures" / name).write_bytes(capture_named((seen or {}).get(name, name)))
        body, start = (does, _START) if does in BODIES else ("good", _login(folder / "home" / name, does))
        whole = _RUN.format(body=folder / "body" / body, start=start) if start else COMMANDS.get(does, "exec /bin/sh -s\n")
        (folder / "behaviour" / name).write_text(_BANNER + whole if does == "good" else whole)
    port = free_port()
    with socket.socket() as mute:  # takes connections and says nothing
        mute.bind(("127.0.0.1", 0))
        mute.listen(64)
        _configure(folder, nodes, port, mute.getsockname()[1])
        server = subprocess.Popen([SSHD, "-D", "-f", folder / "sshd_config", "-E", folder / "log"])
        try:
            _wait(port)
            yield Nodes(folder, tuple(nodes))
        finally:
            server.terminate()
            server.wait(60)


def _login(home: Path, does: str) -> str:
    """Return how sshd starts a login: its shell with -c and what the client sent; "" for what is no login of LOGINS."""
    shell, file, text = LOGINS.get(does, ("", "", ""))
    if not shell:
        return ""
    if file:
        (home / file).parent.mkdir(parents=True)
        (home / file).write_text(f"{text}\n")
    sent = '"$SSH_ORIGINAL_COMMAND"' if file or not text else text
    return f"HOME={home} SHELL={shell.split()[0]} {shell} -c {sent}"


def _configure(folder: Path, nodes: Mapping[str, str], port: int, mute: int) -> None:
    server = {
        "Port": port,
        "ListenAddress": "127.0.0.1",
        "HostKey": folder / "host",
        "AuthorizedKeysFile": folder / "user.pub",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
        "KbdInteractiveAuthentication": "no",
        "PermitRootLogin": "yes",
        "MaxStartups": "500",
        "MaxSessions": "500",
        "AcceptEnv": "ADVISOR_NODE",
        "PrintMotd": "no",
        "ForceCommand": f"/bin/sh {folder / 'command'}",
        "SetEnv": f"HOME={folder / 'home'}",  # bash under sshd reads ~/.bashrc: what a user's own prints is not a node's answer
    }
    (folder / "sshd_config").write_text("".join(f"{key} {value}\n" for key, value in server.items()))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd as root refuses to start without it
    key, strange = (Path(folder / f"{name}.pub").read_text().split()[1] for name in ("host", "stranger"))
    known = [f"{name} ssh-ed25519 {strange if does == 'other-key' else key}" for name, does in nodes.items()]
    (folder / "known_hosts").write_text("\n".join(known) + "\n")
    closed = free_port()
    lines = ["IdentitiesOnly yes", f"UserKnownHostsFile {folder}/known_hosts", "GlobalKnownHostsFile none"]
    for name, does in nodes.items():
        at = {"no-banner": mute, "refuses": closed}.get(does, port)
        who = "stranger" if does == "no-entry" else "user"
        where = "no-such-host.invalid" if does == "no-route" else "127.0.0.1"
        lines += [f"Host {name}", f"  HostName {where}", f"  Port {at}", f"  HostKeyAlias {name}"]
        lines += [f"  IdentityFile {folder / who}", f"  SetEnv ADVISOR_NODE={name}"]
    # What stands first counts: what holds for all comes last, under a Host of its own.
    (folder / "ssh_config").write_text("\n".join([*lines[3:], "Host *", *lines[:3]]) + "\n")
    # A machine that halts for some seconds while sixty shake hands does not make nodes unreachable.
    (folder / "clush.conf").write_text(f"[Main]\nssh_options: -F {folder / 'ssh_config'}\nconnect_timeout: 30\n")


def _wait(port: int) -> None:
    for _ in range(100):
        with socket.socket() as door, suppress(OSError):
            door.connect(("127.0.0.1", port))
            return
        time.sleep(0.1)
    raise TimeoutError("sshd does not listen")


def interrupted(
    words: Sequence[str], env: Mapping[str, str], asked: Path, names: Sequence[str], sign: int
) -> "subprocess.Popen[str]":
    """Start a command, send it a signal once some nodes were asked, and return it.

    A shell that starts the tests in the background has them ignore Ctrl-C, and all that they start would, too.
    """
    process = subprocess.Popen(
        words,
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )
    for _ in range(600):
        if set(names) <= set(asked.read_text().split()) or process.poll() is not None:
            break
        time.sleep(0.1)
    process.send_signal(sign)
    return process
