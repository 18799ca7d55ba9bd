"""The table of article [000] between two emulated servers of eight NUMA nodes, the adapter a soft RDMA device at node 6.

Real kernels bind the ranks, and tell each rank where it is. UCX 1.13 does not connect over such a device ("UD endpoint:
unhandled timeout error"), so Open MPI is told to take TCP, which goes through the same PCI adapter. Rates mean nothing here.
"""

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from advisor.paths import kernels
from tests.emulated.guests import lacking, lacking_link, on_guest, soft_hca
from tests.kernels.mpi import tools

# About four minutes: every start of sixteen ranks takes 20 s, as each guest computes with one thread.
pytestmark = [pytest.mark.emulated, pytest.mark.slow, pytest.mark.matrix]

MEASURED = """
. tests/emulated/hca.sh
hca mlx5_0 >&2
ssh n2 ". '$PWD/tests/emulated/hca.sh'; hca mlx5_0" >&2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1 OMPI_MCA_osc=pt2pt
export OMPI_MCA_btl=tcp,self,vader OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_oob_tcp_if_include=eth0
"$PYTHON" -m advisor measure network --hosts n1,n2 --per numa --sizes 8 --repeats 1 --busy-ok --launcher openmpi4 \\
    --kernels '{programs}' --save /run/vm/network.json --width 120 --no-color
"""
PLACES = ["other socket"] * 4 + ["same socket", "same socket", "here", "same socket"]
"""Where the adapter is as seen from nodes 0 to 7."""


class Told(NamedTuple):
    """What the command printed, and what it kept."""

    page: str
    kept: dict[str, Any]


def program_in(folder: Path) -> Path:
    """Build mbw_mr with Debian's Open MPI, for any x86-64 processor: the guests' have no AVX-512."""
    found = tools("openmpi4")
    if found is None:
        pytest.skip("the guests' MPI is this machine's Open MPI 4, which is not installed or has no compiler")
    line = ["make", "-s", "-C", str(kernels()), f"OUT={folder}", "MARCH=x86-64-v2", f"MPICC={found[0]}", f"{folder}/mbw_mr"]
    subprocess.run(line, check=True, capture_output=True)
    return folder


def measured(out: Path) -> Told:
    """Return what the first of two linked guests says."""
    page = on_guest("naples", MEASURED.format(programs=program_in(out / "programs")), out, guests=2)
    return Told(page, json.loads((out / "network.json").read_text()))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Return what comes of it, once for all tests, or skip with the reason why two guests with adapters cannot be."""
    reason = lacking() or lacking_link()
    if reason is None:
        on_guest("naples", "true", tmp_path_factory.mktemp("boot"))  # fetches the kernel that the module is built for
        reason = soft_hca()
    if reason is not None:
        pytest.skip(reason)
    return measured(tmp_path_factory.mktemp("network"))


def test_every_row_is_proved_between_the_guests(told: Told) -> None:
    """Eight rows of eight pairs, each pair across the link, every rank where the plan has it by what its own kernel said."""
    rows = [
        (each["index"], each["refused"], each["details"]["pairs"], each["details"]["across"]) for each in told.kept["results"]
    ]
    assert (rows, told.kept["missing"]) == ([(node, None, 8, 8) for node in range(8)], [])
    hosts = {each["details"]["hosts_named"] for each in told.kept["results"]}
    cpus = [each["cpus"] for each in told.kept["results"]]
    assert (hosts, cpus) == ({"n1,n2"}, [list(range(node, 64, 8)) for node in range(8)])


def test_the_table_marks_the_adapter_s_node(told: Told) -> None:
    """Node 6 has the adapter, nodes 4, 5 and 7 are on its socket, 0 to 3 are not; so say the table and what is kept."""
    found = [each["details"] for each in told.kept["results"]]
    assert {(each["hca"], each["hca_nodes"]) for each in found} == {("mlx5_0", "6")}
    rows = [line.strip() for line in told.page.splitlines() if line.strip().startswith("NUMA node ")]
    begun = [f"NUMA node {node}  mlx5_0 {place}" for node, place in enumerate(PLACES)]
    assert [row for row, begins in zip(rows, begun, strict=True) if not row.startswith(begins)] == []
