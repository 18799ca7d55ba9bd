"""What a difference is said to cost is what the real slurmctld and slurmd do: the node's state, its reason, what they write."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.compare.slurm.test_check import PLAIN, SMT
from tests.fakenode import slurmctld, slurmd
from tests.machines.read import seen_by_lstopo

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not slurmctld.available(), reason="Slurm is not installed, or starts not without root"),
]

TWO: Final = "Boards=1 SocketsPerBoard=2 CoresPerSocket=64"
FILES: Final = "/dev/null,/dev/zero"
DRAINED: Final = "INVALID_REG"


def file_of(name: str) -> Path:
    """Return a machine's XML."""
    text = seen_by_lstopo(name)
    assert text is not None
    return slurmd.kept_xml(name, text)


def registered(name: str, line: str, gres: str = "", settings: Mapping[str, str] | None = None) -> slurmctld.Registered:
    """Return what became of a node; its memory is that of this host, whatever its XML says."""
    return slurmctld.registered(file_of(name), line, gres, settings or {})


@pytest.mark.parametrize(
    ("name", "line", "gres", "reason"),
    [
        (PLAIN, f"CPUs=128 {TWO} RealMemory=1000", "", None),
        (SMT, f"CPUs=128 {TWO} ThreadsPerCore=2 RealMemory=1000", "", None),
        (PLAIN, "CPUs=128 Sockets=4 CoresPerSocket=64 RealMemory=1000", "", "Low socket*core*thread count, Low CPUs"),
        (PLAIN, f"CPUs=128 {TWO} RealMemory=999999999", "", "Low RealMemory"),
        (
            PLAIN,
            f"CPUs=128 {TWO} RealMemory=1000 Gres=gpu:2",
            "Name=gpu Count=2\n",
            "gres/gpu count reported lower than configured (0 < 2)",
        ),
        (PLAIN, f"CPUs=128 {TWO} RealMemory=1000 Gres=gpu:2", "", "gres/gpu count reported lower than configured (0 < 2)"),
        (PLAIN, f"CPUs=128 {TWO} RealMemory=1000 Gres=gpu:3", f"Name=gpu File={FILES}\n", "lower than configured (2 < 3)"),
        (
            PLAIN,
            f"CPUs=128 {TWO} RealMemory=1000 Gres=gpu:a100:2",
            f"Name=gpu Type=v100 File={FILES}\n",
            "lower than configured (0 < 2)",
        ),
        (PLAIN, f"CPUs=128 {TWO} RealMemory=1000 Gres=gpu:2", f"Name=gpu File={FILES} Cores=0-15\n", None),
        (PLAIN, f"CPUs=128 {TWO} RealMemory=1000 Gres=gpu:2", f"Name=gpu File={FILES} Cores=0-200\n", None),
    ],
)
def test_what_drains_a_node_drains_it(name: str, line: str, gres: str, reason: str | None) -> None:
    """And what is said not to, does not."""
    seen = registered(name, line, gres)
    assert (DRAINED in seen.state, reason is None or reason in seen.reason) == (reason is not None, True)


@pytest.mark.parametrize(
    ("line", "settings", "word"),
    [
        (f"CPUs=100 {TWO} RealMemory=1000", {}, "CPUs=100 match no Sockets"),
        (f"CPUs=128 Sockets=2 {TWO} RealMemory=1000", {}, "Sockets=# and SocketsPerBoard=# is invalid"),
        (f"CPUs=128 {TWO} RealMemory=1000 Gres=gpu:2", {"GresTypes": "nic"}, "Invalid GRES configured on node n1: gpu:2"),
        (f"CPUs=128 {TWO} RealMemory=1000\nNodeName=n1 CPUs=1", {}, "fatal: Duplicated NodeHostName n1"),
        (
            "CPUs=128 Sockets=8 CoresPerSocket=16 RealMemory=1000",
            {},
            "Node reconfigured socket/core boundaries SocketsPerBoard=8:2(hw)",
        ),
    ],
)
def test_what_slurm_complains_of_is_in_its_logs(line: str, settings: Mapping[str, str], word: str) -> None:
    """In those of slurmctld or slurmd."""
    assert word in registered(PLAIN, line, "", settings).logs


def test_cores_beyond_the_last_are_refused_by_both() -> None:
    """The GPU then has no cores of its own."""
    logs = registered(PLAIN, f"CPUs=128 {TWO} RealMemory=1000 Gres=gpu:2", f"Name=gpu File={FILES} Cores=0-200\n").logs
    assert re.findall(r"Invalid GRES data for gpu, Cores=0-200|invalid GRES core specification \(0-200\)", logs) != []
