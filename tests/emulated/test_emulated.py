"""The product on servers that QEMU makes up; see README.md."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from advisor.paths import kernels
from tests.emulated.guests import ROOT, lacking, on_guest, soft_hca

pytestmark = [pytest.mark.emulated, pytest.mark.slow]

TOPOLOGY_AND_CAPTURE = """
"$PYTHON" -m advisor topology --json
"$PYTHON" -m advisor capture -o /run/vm/capture.tar.gz >/run/vm/capture.log 2>&1 || echo "status $?" >>/run/vm/capture.log
"""
WITH_HCA = """
. tests/emulated/hca.sh
hca mlx5_0 >&2
"$PYTHON" -m advisor topology --json
"""

SEATED = """
"$PYTHON" tests/emulated/seated.py /run/vm/membw --pattern triad --streams 1 --bytes 48MiB --repeats 2 --seconds 2 {arguments}
"""
LATENCY = """
/run/vm/memlat --sizes 8MiB --repeats 2 --cpus {cpu} --node {node}
"""


@dataclass(frozen=True)
class Right:
    """The right answer about an emulated server: packages, nodes, L3 groups, cores and CPUs, and what the firmware did."""

    counts: tuple[int, int, int, int, int]
    cut: tuple[str, int]
    numbering: str
    smt: str


RIGHT = {
    "naples": Right((2, 8, 16, 64, 64), ("channel-interleaving", 4), "round-robin", "off"),
    "rome-nps4": Right((2, 8, 32, 128, 128), ("NPS4", 4), "linear", "off"),
    "rome-nps1": Right((2, 2, 32, 128, 128), ("NPS1", 1), "linear", "off"),
    "rome-l3numa": Right((2, 32, 32, 128, 128), ("L3-as-NUMA", 16), "linear", "off"),
    "intel-snc2": Right((2, 4, 2, 32, 64), ("SNC2", 2), "linear", "on"),
}
ALWAYS = ("naples", "rome-nps4")
"""Servers that are booted without being asked for."""


def emulable(server: str) -> None:
    """Skip the test where a server cannot be emulated, or is not asked for."""
    reason = lacking()
    if reason:
        pytest.skip(reason)
    if server not in ALWAYS and os.environ.get("ADVISOR_EMULATED") != "all":
        pytest.skip(f"{server} is booted with ADVISOR_EMULATED=all")


@cache
def visited(server: str, out: Path) -> dict[str, Any]:
    """Return the topology that the product prints on a server, on which it leaves a capture in ``out`` too."""
    answer: dict[str, Any] = json.loads(on_guest(server, TOPOLOGY_AND_CAPTURE, out))
    return answer


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the guests leave their files."""
    return tmp_path_factory.mktemp("guests")


def visit(server: str, folder: Path) -> tuple[dict[str, Any], Path]:
    """Return what the product says on a server, and where its capture is; the server runs once for all tests."""
    out = folder / server
    out.mkdir(exist_ok=True)
    return visited(server, out), out / "capture.tar.gz"


def right(answer: dict[str, Any]) -> Right:
    """Return the part of an answer that is compared."""
    counts = answer["counts"]
    return Right(
        counts=(counts["packages"], counts["numa_nodes"], counts["l3"], counts["cores"], counts["pus"]),
        cut=(answer["cut"]["name"], answer["cut"]["nodes_per_socket"]),
        numbering=answer["numbering"]["name"],
        smt=answer["smt"]["state"],
    )


@pytest.mark.parametrize("server", RIGHT)
def test_an_emulated_server_is_recognised(server: str, folder: Path) -> None:
    """On a server under a real kernel the product says how the firmware has cut and numbered it."""
    emulable(server)
    assert RIGHT[server] == right(visit(server, folder)[0])


@pytest.mark.parametrize("server", RIGHT)
def test_a_capture_says_the_same_as_the_server(server: str, folder: Path) -> None:
    """What is captured on a server gives the same answer elsewhere."""
    emulable(server)
    inside, capture = visit(server, folder)
    assert capture.exists(), capture.with_suffix("").with_suffix(".log").read_text()
    command = [sys.executable, "-m", "advisor", "topology", "--from", str(capture), "--json"]
    outside = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    facts = ("counts", "cut", "numbering", "smt", "hcas")
    assert {fact: inside[fact] for fact in facts} == {fact: outside[fact] for fact in facts}


def test_an_hca_is_found_where_it_hangs(folder: Path) -> None:
    """A soft RDMA device put under an adapter of node 6 is local to node 6."""
    emulable("naples")
    visit("naples", folder)
    reason = soft_hca()
    if reason:
        pytest.skip(reason)
    answer = json.loads(on_guest("naples", WITH_HCA, folder / "naples"))
    assert [(hca["name"], hca["numa_nodes"]) for hca in answer["hcas"]] == [("mlx5_0", [6])]


def kernels_in(folder: Path) -> Path:
    """Build the kernels for any x86-64 processor: the guest's has no AVX-512."""
    folder.mkdir(exist_ok=True)
    line = ["make", "-s", "-C", str(kernels()), f"OUT={folder}", "MARCH=x86-64-v2"]
    subprocess.run(line, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    ("arguments", "threads", "nodes", "policy"),
    [
        ("--cpus 6,14,22 --node 3", ["6", "14", "22"], {"3"}, "bind:3"),
        ("--cpus 6,7", ["6", "7"], {"6", "7"}, "local"),
        ("--cpus 1 --node 7 --pages huge", ["1"], {"7"}, "bind:7"),
    ],
)
def test_threads_and_pages_are_where_they_were_asked_for(
    arguments: str, threads: list[str], nodes: set[str], policy: str, folder: Path
) -> None:
    """Linux itself says so while membw runs on a server of eight nodes, and membw says the same of its pages.

    Their policy keeps NUMA balancing away, whose marks hid where the pages of node 7 were, one run in many.
    """
    emulable("naples")
    out = kernels_in(folder / "naples")
    seen = json.loads(on_guest("naples", SEATED.format(arguments=arguments), out))
    assert (seen["threads"], set(seen["pages"]), set(seen["said"]["pages"])) == (threads, nodes, nodes)
    assert seen["policies"] == [policy]


def test_a_chase_runs_through_the_memory_asked_for(folder: Path) -> None:
    """Far memory is far: the pages of memlat lie on the other socket's node."""
    emulable("naples")
    out = kernels_in(folder / "naples")
    said = json.loads(on_guest("naples", LATENCY.format(cpu=0, node=5), out).splitlines()[-1])
    assert (said["cpus"], set(said["pages"])) == ([0], {"5"})
