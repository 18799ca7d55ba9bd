"""Every published machine that slurmd can read, beside the real slurmd: the line it prints, its core numbers, gres.conf."""

import os
import re
import shutil
from pathlib import Path

import pytest

from advisor.errors import BadValue
from advisor.exports.export import ExportOptions, ExportSubject
from advisor.exports.formats.slurm import files
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Gpu, Locality
from advisor.machine.machine import Machine
from advisor.machine.slurm import FoundNode, SocketsAre, definition_of, found_by_slurmd
from tests.fakenode import slurmd
from tests.machines.read import published

CORPUS = Path(os.environ.get("ADVISOR_CORPUS", Path(__file__).parents[2] / "shared" / "machines"))
pytestmark = [
    pytest.mark.corpus,
    pytest.mark.slow,
    pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no published machines in {CORPUS.name} (set ADVISOR_CORPUS)"),
    pytest.mark.skipif(not shutil.which("slurmd"), reason="slurmd is not installed"),
]

XMLS = sorted(CORPUS.glob("xml/*.xml")) + sorted(CORPUS.glob("seed/*.xml"))
WITHOUT_ITS_GROUPS = {"hwloc-xml-192em64t-24n8c2t"}
"""Saved without the groups that its distances make, of which hwloc on the machine itself makes boards, and we do."""
GROUPS_UNKNOWN = {
    "hwloc-xml-8intel64-fakeKNL-A2A-hybrid.rootattachednumas",
    "hwloc-xml-8intel64-fakeKNL-A2A-hybrid.rootattachednumas.v1tov2",
    "hwloc-xml-8intel64-fakeKNL-A2A-hybrid.rootattachednumas.v2tov1",
}
"""An invented machine, whose NUMA nodes hang off nothing that a socket could be: no such socket is ever suggested."""
_LINE = re.compile(r"CPUs=(\d+) Boards=(\d+) SocketsPerBoard=(\d+) CoresPerSocket=(\d+) ThreadsPerCore=(\d+)")
OPTIONS = ExportOptions("0", 0)


def exported(machine: Machine) -> tuple[int, ...] | None:
    """Return the numbers of the first line that we write; None where we refuse."""
    try:
        made = files(ExportSubject(machine=machine), OPTIONS)
    except BadValue:
        return None
    match = _LINE.search(next(iter(made.values())).splitlines()[0])
    assert match is not None
    return tuple(int(number) for number in match.groups())


def expected(seen: slurmd.Found) -> tuple[int, ...] | None:
    """Return what slurmd -C printed; where it says itself that its numbers do not fit, the CPUs that they do describe."""
    cpus, boards, sockets, cores, threads = seen.shape
    product = boards * sockets * cores * threads
    if not product:
        return None
    return (cpus if "not multiple" not in seen.complaint and cpus == product else product, boards, sockets, cores, threads)


def test_the_line_is_what_slurmd_prints() -> None:
    """All numbers but RealMemory, which is the host's own; CPUs that slurmd's own product leaves out are left out."""
    differing, usable = [], 0
    for path in XMLS:
        wanted = expected(slurmd.found(path))
        usable += wanted is not None
        if exported(published(path)) != wanted and path.stem not in WITHOUT_ITS_GROUPS:
            differing.append((path.stem, exported(published(path)), wanted))
    assert (differing, usable > 150) == ([], True)


def numbered(found: FoundNode) -> dict[int, frozenset[int]]:
    """Return the CPUs of each core by Slurm's number, those that slurmd has room for."""
    return {number: frozenset(cpu for cpu in core if cpu < found.cpus) for number, core in enumerate(found.order)}


def wrong(path: Path, word: str, kind: SocketsAre) -> str | None:
    """Return what we say otherwise than a slurmd that starts with a word of SlurmdParameters; None where nothing.

    Of a machine without cores slurmd logs no numbers; one that it cannot describe wants none.
    """
    topology, seen = published(path).topology, slurmd.started(path, word)
    found = found_by_slurmd(topology, kind) if topology else None
    if found is None or seen is None or not found.described:
        return None
    shape, numbers = seen
    ours = (found.cpus, found.boards, found.sockets, found.cores, found.threads)
    if shape[0] != shape[2] * shape[3] * shape[4]:
        return None if ours[2:] == shape[2:] else f"{ours} is not {shape}"
    cores: dict[int, set[int]] = {number: set() for number in range(shape[2] * shape[3])}
    for number, cpu in numbers.items():
        cores[number // shape[4]].add(cpu)
    same = not numbers or numbered(found) == {number: frozenset(cpus) for number, cpus in cores.items()}
    return None if ours == shape and same else f"{ours} is not {shape}, or a core is another"


@pytest.mark.parametrize(("word", "kind"), [("", "sockets"), ("l3cache_as_socket", "l3"), ("numa_node_as_socket", "numa")])
def test_slurms_numbers_of_the_cores_are_slurmds(word: str, kind: SocketsAre) -> None:
    """With sockets as they are, L3 groups and NUMA nodes as sockets: how many, and which CPUs each core's number means."""
    without = WITHOUT_ITS_GROUPS | (GROUPS_UNKNOWN if kind == "numa" else set())
    found = {path.stem: fault for path in XMLS if path.stem not in without and (fault := wrong(path, word, kind))}
    assert found == {}


DEVICES = tuple(
    f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx") if Path(f"/dev/{name}").exists()
)
"""Files that stand for GPUs: slurmd wants devices, and waits twenty seconds for one that is not there."""


def test_slurmd_takes_every_gres_line_without_a_word() -> None:
    """A GPU at each of up to seven NUMA nodes of each machine: slurmd -G prints nothing, whose status is 0 either way."""
    said = {}
    for path in XMLS:
        machine = published(path)
        nodes = machine.topology.cpu_nodes[: len(DEVICES)] if machine.topology else ()
        gpus = tuple(
            Gpu(address=f"0000:{i:02x}:00.0", vendor="nvidia", minor=i, locality=Locality(numa_nodes=(node.os_index,)))
            for i, node in enumerate(nodes)
        )
        made = definition_of(machine.model_copy(update={"gpus": gpus}))
        if made is None or not made.usable:
            continue
        lines = "".join(f"{each.line('n1')}\n" for each in made.gpus)
        for i, device in enumerate(DEVICES):
            lines = lines.replace(f"File=/dev/nvidia{i} ", f"File={device} ").replace(
                f"File=/dev/nvidia{i}\n", f"File={device}\n"
            )
        lines = re.sub(
            r"File=/dev/nvidia\[([0-9,-]+)\]", lambda m: "File=" + ",".join(DEVICES[i] for i in CpuSet.parse(m[1])), lines
        )
        if complaint := slurmd.complaints(path, "n1", made.line("n1").partition(" ")[2], lines):
            said[path.stem] = (lines, complaint)
    assert said == {}


def test_a_core_that_is_not_there_is_no_silence() -> None:
    """The oracle can fail: slurmd -G speaks of a core beyond the last."""
    path = next(path for path in XMLS if path.stem == "b-c6525-2x7702-nps1")
    made = definition_of(published(path))
    assert made is not None
    said = slurmd.complaints(
        path, "n1", f"{made.line('x').partition(' ')[2]} Gres=gpu:1", "Name=gpu File=/dev/null Cores=0,200\n"
    )
    assert [line for line in said if "Invalid GRES data for gpu, Cores=0,200" in line] != []
