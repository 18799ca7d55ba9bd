"""Emulated servers as a fleet: captured over ssh from the first of them, audited on one screen.

The nodes have their own kernel, busybox beside this machine's programs, and dropbear as their sshd.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from advisor.fleet import measure
from tests.emulated.guests import lacking, lacking_link, on_guest

pytestmark = [pytest.mark.emulated, pytest.mark.slow]
SERVER = "small-nps2"
GUESTS = 4
SCRIPT = f"""
"$PYTHON" -m advisor fleet capture -w 'n[2-{GUESTS + 1}]' --timeout 300 -o /run/vm/fleet --json >/run/vm/captured.json
for node in n2 n3 n4; do
    ssh $node 'find /tmp -maxdepth 1 -name "advisor-fleet.*" -newer /proc/1; ps | grep "advisor-[f]leet" || true'
done
"""
"""One name more than there are guests; /tmp has this machine's files of before the boot too."""


def test_a_fleet_of_emulated_servers_is_captured_and_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every guest answers under its own name, the one that is not there has its reason, nothing stays; the audit has one kind."""
    from advisor.cli.main import status

    reason = lacking() or lacking_link()
    if reason is not None:
        pytest.skip(reason)
    left = on_guest(SERVER, SCRIPT, tmp_path, guests=GUESTS)
    told: dict[str, Any] = json.loads((tmp_path / "captured.json").read_text())
    assert ((told["asked"], told["answered"]), [each["node"] for each in told["silent"]]) == ((4, 3), ["n5"]), told
    assert (told["other_names"], left.strip()) == ([], "")
    assert status(["fleet", "audit", str(tmp_path / "fleet"), "--json"]) == 0
    audited = json.loads(capsys.readouterr().out)
    assert [(each["nodes"], each["count"]) for each in audited["kinds"]] == [("n[2-4]", 3)]


KERNELS = {"membw", "memlat", "peakflops", "c2c"}
MEASURE = """
"$PYTHON" -m advisor fleet capture -w 'n[1-2]' --timeout 600 -o /run/vm/fleet --json >/run/vm/captured.json
"$PYTHON" - >/run/vm/measured.json <<'END' || true
import sys
from pathlib import Path
from advisor.cli.main import status
from advisor.fleet import measure
measure._programs = lambda _, names: {name: Path("/run/vm/kernels", name).read_bytes() for name in names}
words = ["fleet", "measure", "-w", "n[1-2]", "--busy-ok", "--timeout", "2000", "-o", "/run/vm/fleet", "--json"]
sys.exit(status(words))
END
for node in n1 n2; do
    ssh $node 'find /tmp -maxdepth 1 -name "advisor-fleet.*" -newer /proc/1; ps | grep "advisor-[f]leet" || true'
done
"""
"""The kernels are those that this host builds, as fleet measure does: a compiler takes minutes on an emulated processor."""


def test_emulated_servers_are_measured_by_kernels_that_are_sent(tmp_path: Path) -> None:
    """Structure, not speed: sent by ssh with each node's own plan, run there, and both have a figure of the same parts."""
    reason = lacking() or lacking_link()
    if reason is not None:
        pytest.skip(reason)
    if os.environ.get("ADVISOR_EMULATED") != "all":
        pytest.skip("kernels take minutes on emulated processors: ADVISOR_EMULATED=all")
    (tmp_path / "kernels").mkdir()
    programs = measure._programs(os.uname().machine, KERNELS)
    assert not isinstance(programs, str), programs
    for name, data in programs.items():
        (tmp_path / "kernels" / name).write_bytes(data)
    left = on_guest("small-nps1", MEASURE, tmp_path, guests=2, limit=3000)
    told: dict[str, Any] = json.loads((tmp_path / "measured.json").read_text())
    assert ((told["asked"], told["measured"], told["not_measured"]), left.strip()) == ((2, 2, []), ""), told
    parts = [
        {
            (each["kernel"], each["part"])
            for each in json.loads((tmp_path / "fleet" / f"{node}.measured.json").read_text())["results"]
        }
        for node in ("n1", "n2")
    ]
    assert parts[0] == parts[1] >= {("memlat", "numa"), ("peakflops", "machine"), ("membw", "l3")}, parts
