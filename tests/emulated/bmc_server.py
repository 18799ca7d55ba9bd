"""A server whose BIOS really changes it: QEMU boots what its settings describe, and an imitated BMC has them.

``python -m tests.emulated.bmc_server rome [--port N] [--maker dell] [--lie "applies nothing"] [--tls FOLDER]`` prints where its
Redfish is, then runs each line of standard input on the guest. A restart through Redfish stops the guest and starts the one that
the settings now describe.
"""

import argparse
import os
import pwd
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bios.imitation import LIES, PASSWORD, USER
from tests.bios.machines import Json, own
from tests.bios.makers import Dell
from tests.bios.wire import Certificate, Rack
from tests.emulated.guests import HERE, LIMIT, ROOT

IDENTITY = "4c4c4544-0042-4310-8031-b4c04f313233"
"""The UUID in the guests' SMBIOS (machine.py)."""
GUEST_LIES = ("guest as before", "guest as another")
"""What only the operating system can find out: every attribute says what was asked for, and the server is another."""

AGENT = """
cd /run/vm || exit 125
rm -f /.dockerenv  # of the guest's own overlay: a server is no container, whatever this computer is
touch up
while [ ! -e off ]; do
    if [ -e job ]; then
        mv job job.running
        bash job.running >job.out 2>job.err </dev/null
        echo $? >job.status.new
        mv job.status.new job.status
    fi
    sleep 0.2
done
"""
"""What a guest does: jobs that are put into its folder, until it is switched off."""


def rome(settings: Json) -> str:
    """Return the server that a PowerEdge R7525's settings describe; second threads are left out: 256 CPUs are too many here."""
    if settings["CcxAsNumaDomain"] == "Enabled":
        name = "rome-l3numa"
    else:
        name = f"rome-nps{0 if settings['NodeInterleave'] == 'Enabled' else settings['NumaNodesPerSocket']}"
    return name + _dealt(settings, name != "rome-nps0")


def intel(settings: Json) -> str:
    """Return the server that a PowerEdge R750's settings describe."""
    cut = "-snc2" if settings["SubNumaCluster"] == "2-Way" else ""
    name = f"intel{cut}{'' if settings['LogicalProc'] == 'Enabled' else '-nosmt'}"
    return name + _dealt(settings, can_be=True)


def naples(settings: Json) -> str:
    """Return the server that a PowerEdge R7425's settings describe: its eight dies, or one node over all of them."""
    return "naples-interleaved" if settings["NodeInterleave"] == "Enabled" else "naples"


def small(settings: Json) -> str:
    """Return the server of eight CPUs that a PowerEdge R7525's settings describe: a restart of it takes little."""
    return f"small-nps{settings['NumaNodesPerSocket']}"


def _dealt(settings: Json, can_be: bool) -> str:
    return "-round-robin" if can_be and settings["MadtCoreEnumeration"] == "RoundRobin" else ""


BOARDS: dict[str, tuple[str, Callable[[Json], str]]] = {
    "rome": ("rome", rome),
    "intel": ("dell", intel),
    "naples": ("naples", naples),
    "small": ("rome", small),
}
"""Boards: the machine of ``tests/bios/fixtures`` that its BMC shows, and what its settings boot."""


class Guest:
    """One guest, switched on and off, that runs what it is given; with a seat it is that number on the link of a port."""

    def __init__(self, folder: Path, seat: tuple[int, int] | None = None) -> None:
        self.folder, self._seat = folder, seat
        self.server: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def start(self, server: str) -> None:
        """Switch it on as a server; it is up once ``up`` says so."""
        for name in ("up", "off", "job", "job.running", "job.status", ".status"):
            (self.folder / name).unlink(missing_ok=True)
        self.server = server
        environment = os.environ | {"VM_OUT": str(self.folder), "PYTHONPATH": str(ROOT), "VM_TIMEOUT": "3600"}
        environment.setdefault("VM_CACHE", str(Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".cache/advisor-vm"))  # whatever HOME is
        environment = {name: text for name, text in environment.items() if PASSWORD not in text}
        seated = ["-n", str(self._seat[0])] if self._seat else []
        environment |= {"VM_LINK": str(self._seat[1])} if self._seat else {}
        line = [str(HERE / "vm.sh"), *seated, server, "bash", "-c", AGENT]
        with (self.folder / "vm.out").open("wb") as out, (self.folder / "vm.err").open("wb") as err:  # qemu takes no other kind
            self._process = subprocess.Popen(
                line, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )

    @property
    def up(self) -> bool:
        """Return whether its operating system has started."""
        return (self.folder / "up").exists()

    @property
    def died(self) -> bool:
        """Return whether it ended without being told to."""
        return self._process is None or self._process.poll() is not None

    def stop(self, *, gracefully: bool = True) -> None:
        """Switch it off: by its operating system, or by pulling the plug."""
        if self._process is None:
            return
        if gracefully and self.up and not self.died:
            (self.folder / "off").touch()
            self._ended(30)
        if not self.died:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._ended(30)
        if not self.died:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)
        self._process, self.server = None, None

    def _ended(self, seconds: float) -> None:
        try:
            if self._process:
                self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return

    def wait(self) -> None:
        """Wait until it is up."""
        end = time.monotonic() + LIMIT
        while not self.up:
            if self.died or time.monotonic() > end:
                said = (self.folder / "vm.err").read_text(encoding="utf-8", errors="replace")
                raise AssertionError(f"{self.server} did not come up: {said[-1500:]}")
            time.sleep(0.2)

    def run(self, script: str, seconds: float = LIMIT) -> str:
        """Return what a bash script prints on the guest; ``$PYTHON`` runs this Python, /run/vm is its folder."""
        self.wait()
        for name in ("job.status", "job.out", "job.err"):
            (self.folder / name).unlink(missing_ok=True)
        new = self.folder / "job.new"
        new.write_text(f'cd {ROOT}\nexport PYTHON="{sys.executable}" PYTHONPATH={ROOT}\nset -e\n{script}\n', encoding="utf-8")
        new.rename(self.folder / "job")
        end = time.monotonic() + seconds
        while not (self.folder / "job.status").exists():
            if self.died or time.monotonic() > end:
                raise AssertionError(f"{self.server}: no answer to {script!r}")
            time.sleep(0.1)
        out, err = ((self.folder / f"job.{name}").read_text(encoding="utf-8", errors="replace") for name in ("out", "err"))
        status = int((self.folder / "job.status").read_text())
        if status:
            raise AssertionError(f"{self.server}: {script!r} ended with {status}: {err[-2000:]}")
        return out


@dataclass
class Emulated(Dell):
    """The BMC of an emulated server: its jobs end, and its starts are over, when the guest is up."""

    board: str = "rome"
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="advisor-server-")))
    guest_lies: set[str] = field(default_factory=set)
    seat: tuple[int, int] | None = None
    """Its number among guests that reach each other, and the port that names their link."""

    def __post_init__(self) -> None:
        fixture, self.chosen = BOARDS[self.board]
        self.machine = own(fixture)
        self.identity = IDENTITY
        self.polls = 1
        super().__post_init__()
        self.guest = Guest(self.folder / "guest", self.seat)
        self._work: threading.Thread | None = None

    def switch_on(self) -> "Emulated":
        """Start the server for the first time, and wait for it."""
        self.guest.start(self.chosen(self.applied))
        self.guest.wait()
        return self

    def switch_off(self) -> None:
        """Stop the server for good."""
        self.settled_down()
        self.guest.stop(gracefully=False)

    def delays(self) -> bool:
        """Apply at the restart itself, so that the guest starts with it; the job goes on until the guest is up."""
        super().delays()
        return False

    def another(self, name: str, value: Any) -> Any:
        """Return another value, and one with which the server starts."""
        return {"NumaNodesPerSocket": "2" if value == "4" else "1"}.get(name) or super().another(name, value)

    def restart(self) -> None:
        """Stop the guest, and start the one that the settings describe; a BMC does not wait for it."""
        before = self.guest.server
        super().restart()
        server = self.chosen(self.applied)
        if "guest as before" in self.guest_lies:
            server = before or server
        if "guest as another" in self.guest_lies:
            server = {"rome-nps4": "rome-nps2"}.get(server, server)
        self._work = threading.Thread(target=self._restarted, args=(server, self.resets[-1] == "GracefulRestart"))
        self._work.start()

    def _restarted(self, server: str, gracefully: bool) -> None:
        self.guest.stop(gracefully=gracefully)
        if self.power == "On":
            self.guest.start(server)

    def settled_down(self) -> None:
        """Wait until a restart has stopped one guest and started the next."""
        if self._work:
            self._work.join(LIMIT)

    @property
    def ready(self) -> bool:
        """Return whether the guest is up and no restart is under way."""
        return (self._work is None or not self._work.is_alive()) and self.guest.up

    def task(self, name: str) -> Json:
        """Return a job, which ends when the guest is up, or stays off."""
        if self.jobs[name]["TaskState"] == "Running" and not self.ready and self.power == "On":
            return {key: value for key, value in self.jobs[name].items() if key != "looks"}
        return super().task(name)

    def system(self) -> Json:
        """Return the system with what its guest is doing."""
        said = super().system()
        return said | {"BootProgress": {"LastState": "OSRunning" if self.ready else "SystemHardwareInitializationComplete"}}


def main() -> None:
    """Serve one board until standard input ends."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("board", choices=BOARDS)
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--lie", action="append", default=[], choices=[*LIES, *GUEST_LIES])
    options.add_argument("--tls", type=Path, help="make a certificate in this folder, and serve by TLS")
    given = options.parse_args()
    lies = set(given.lie)
    bmc = Emulated(board=given.board, lies=lies.intersection(LIES), guest_lies=lies.intersection(GUEST_LIES))
    certificate = Certificate.made(given.tls) if given.tls else None
    with Rack() as rack:
        rack.add(bmc, certificate, given.port)
        bmc.switch_on()
        about = f" --ca {certificate.certificate}" if certificate else " --insecure"
        sys.stdout.write(f"{bmc.url}{about}   user {USER}, password {PASSWORD}\n")
        sys.stdout.flush()
        try:
            for line in sys.stdin:
                try:
                    sys.stdout.write(bmc.guest.run(line))
                except AssertionError as error:
                    sys.stdout.write(f"{error}\n")
                sys.stdout.flush()
        except KeyboardInterrupt:
            pass
        finally:
            bmc.switch_off()


if __name__ == "__main__":
    main()
