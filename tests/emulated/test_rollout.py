"""A rollout over two servers whose BIOS really changes them: rehearsed, measured, proven by their kernels, one taken back."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from advisor.bios.rollout_steps import Seen
from advisor.fleet.rollout import FleetNodes
from tests.bios.admin import Admin
from tests.bios.conftest import admin, rack  # noqa: F401 - fixtures
from tests.bios.imitation import PASSWORD, USER
from tests.bios.wire import Rack
from tests.emulated.bmc_server import Emulated
from tests.emulated.guests import HERE, lacking

NODES = ("node01", "node02")
PROGRAM = """\
nodes=$(ls -d /sys/devices/system/node/node[0-9]* | wc -l)
echo "rate: $((1000 * nodes)) nodes/s"
"""
SSH = """\
#!/bin/sh
for word; do
    case $word in node01 | node02) exec "{python}" "{here}/as_ssh.py" "{folder}/$word/guest" "$@" ;; esac
done
exit 255
"""


@pytest.fixture
def servers(rack: Rack, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Emulated]]:  # noqa: F811
    """Return two small servers that are switched on; the second one's guest starts as before, whatever its BIOS says."""
    if reason := lacking():
        pytest.skip(reason)
    found = {name: rack.add(Emulated(board="small", folder=admin.folder / name)) for name in NODES}
    found["node02"].identity = "4c4c4544-0042-4310-8031-b4c04f313234"
    found["node02"].guest_lies.add("guest as before")
    programs = admin.folder / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(SSH.format(python=sys.executable, here=HERE, folder=admin.folder))
    for name in ("drain", "undrain"):
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $1" >>{admin.folder}/queue\n')
    for each in programs.iterdir():
        each.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    real = FleetNodes.seen

    def seen(self: FleetNodes, names: Sequence[str]) -> Mapping[str, Seen]:
        """Leave out the UUID: all guests have the same one in their SMBIOS."""
        return {name: Seen(each.boot) for name, each in real(self, names).items()}

    monkeypatch.setattr(FleetNodes, "seen", seen)
    for bmc in found.values():
        (bmc.guest.folder / "program.sh").write_text(PROGRAM)
        bmc.guest.start(bmc.chosen(bmc.applied))
    for bmc in found.values():
        bmc.guest.wait()
    yield found
    for bmc in found.values():
        bmc.switch_off()


@pytest.mark.emulated
@pytest.mark.slow
@pytest.mark.matrix
def test_the_first_is_proven_by_its_kernel_and_the_second_is_taken_back(servers: dict[str, Emulated], admin: Admin) -> None:  # noqa: F811
    """NPS1 to NPS4: eight NUMA nodes where two were. The second BMC says so too, its kernel does not: undone and restarted."""
    before = {name: dict(bmc.applied) for name, bmc in servers.items()}
    (admin.folder / "hosts").write_text("".join(f"{name} {bmc.url}\n" for name, bmc in servers.items()))
    (admin.folder / "login").write_text(f"{USER}\n{PASSWORD}\n")
    (admin.folder / "login").chmod(0o600)
    (admin.folder / "program.yaml").write_text(
        "name: nodes\nrun: sh /run/vm/program.sh\nmetric: 'rate: (\\d+)'\nbetter: high\nunit: nodes/s\n"
    )
    plan = admin.plan({"NumaNodesPerSocket": "4"})
    reach = ("--hostfile", "hosts", "--login-file", "login", "--insecure")
    more = ("--undo-on-failure", "--drain", "drain", "--undrain", "undrain", "--program", "program.yaml", "--folder", "out")
    rehearsed = admin.types("bios", "rollout", plan, *reach, "--dry-run", "--json")
    assert (rehearsed.status, rehearsed.document["ends"]["done"], [bmc.writes() for bmc in servers.values()]) == (0, 2, [[], []])
    said = admin.types("bios", "rollout", plan, *reach, *more, "--rehearse", "--yes", "--json")
    assert said.out, said.err
    told = {each["node"]: each for each in said.document["nodes"]}
    assert {name: each["end"] for name, each in told.items()} == {"node01": "done", "node02": "as before"}, said.out
    assert told["node01"]["is"] == "done: proven by the BMC and the operating system"
    assert said.document["gains"][0]["measured"] == ["nodes: 2000 -> 8000 nodes/s, +300.0% (median of 3, one restart)"]
    assert "numa.nps is 1, but the plan sets it to 4" in told["node02"]["is"]
    assert [servers[name].guest.server for name in NODES] == ["small-nps4", "small-nps1"]
    assert [len(servers[name].resets) for name in NODES] == [1, 2]
    assert (servers["node02"].applied, servers["node02"].pending) == (before["node02"], {})
    assert [line for line in (admin.folder / "queue").read_text().splitlines() if line.startswith("undrain")] == [
        "undrain node01",
        "undrain node02",
    ]
    assert {path.name for path in Path("out/after").glob("*.tar.gz")} == {"node01.tar.gz", "node02.tar.gz"}
