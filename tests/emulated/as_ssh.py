"""Stands in for ssh to an emulated server, which is on no network: the script that it is given becomes a job of the guest.

``as_ssh FOLDER [ssh's words]``; the folder is the guest's. The guest's end of the script's input stays open, as that of ssh does.
"""

import os
import sys
import time
from pathlib import Path

_END = b"\nadvisor_on_node\n"
"""The last line of every script that goes to a node (templates/on_node.sh.j2)."""
_JOB = """\
mkdir -p /tmp/busybox
[ -e /tmp/busybox/sh ] || busybox --install -s /tmp/busybox
export PATH=/tmp/busybox
mkfifo /tmp/in.$$
(cat /run/vm/ssh.in; exec sleep 100000) >/tmp/in.$$ &
holder=$!
sh -s </tmp/in.$$
status=$?
kill $holder
rm -f /tmp/in.$$
exit $status
"""
"""Of the host's programs none is there but busybox: a capture that starts every MPI of it takes minutes under emulation."""
_REFUSED = 255


def main(folder: Path) -> int:
    """Run one script on the guest."""
    if not (folder / "up").exists():
        sys.stderr.write("ssh: connect to host: Connection refused\n")
        return _REFUSED
    script = b""
    while not script.endswith(_END):
        piece = os.read(0, 1 << 16)
        if not piece:
            return _REFUSED
        script += piece
    for name in ("job.status", "job.out", "job.err"):
        (folder / name).unlink(missing_ok=True)
    (folder / "ssh.in").write_bytes(script)
    (folder / "job.new").write_text(_JOB, encoding="utf-8")
    (folder / "job.new").rename(folder / "job")
    while not (folder / "job.status").exists():
        if not (folder / "up").exists():
            sys.stderr.write("client_loop: send disconnect: Broken pipe\n")
            return _REFUSED
        time.sleep(0.1)
    sys.stdout.buffer.write((folder / "job.out").read_bytes())
    sys.stderr.buffer.write((folder / "job.err").read_bytes())
    return int((folder / "job.status").read_text())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
