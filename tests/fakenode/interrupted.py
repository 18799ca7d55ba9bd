"""Ends a command by Ctrl-C once ranks of two hosts run: ``interrupted.py PROGRAM COMMAND...``, beside hosts of netns.py.

Prints one JSON object: how the command ended, on how many hosts ranks were seen, what is left of ranks and launchers, and
the JSON that the command printed.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

LAUNCHERS = ("mpirun", "mpiexec", "orted", "prte", "hydra")
PATIENCE = 120.0
"""Seconds in which ranks must have started."""


def running(*names: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the network of each process whose program's name begins so."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = Path((folder / "cmdline").read_text(errors="replace").split("\0")[0]).name
            network = str((folder / "ns" / "net").readlink())
        except OSError:
            continue  # it has just ended
        if name.startswith(names):
            yield name, network


def main(program: str, *command: str) -> None:
    """Start the command, wait for its ranks, interrupt it, and tell what came of it."""
    # A shell's job in the background ignores Ctrl-C, and so would what it starts.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    started = subprocess.Popen(command, stdout=subprocess.PIPE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    deadline, hosts = time.monotonic() + PATIENCE, set[str]()
    while time.monotonic() < deadline and started.poll() is None and len(hosts) < 2:
        time.sleep(0.05)
        hosts = {network for _, network in running(program)}
    started.send_signal(signal.SIGINT)
    out, _ = started.communicate(timeout=60)
    left = sorted({name for name, _ in running(program, *LAUNCHERS)})
    told = {"code": started.returncode, "hosts": len(hosts), "left": left, "said": json.loads(out or b"{}")}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
