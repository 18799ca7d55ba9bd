"""Lines of flux run are told as published runs of it and dry runs of 0.88.0 have them; the division as hwloc itself makes it."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.errors import BadInput
from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import flux
from advisor.jobs.line import parse
from advisor.jobs.lint import lint
from advisor.jobs.placement import Placement
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from advisor.machine.cpuset import CpuSet
from advisor.machine.layout import logical_numbering
from advisor.machine.machine import Machine
from advisor.machine.read import read_machine
from tests.examples import examples
from tests.jobs.lint import shapes
from tests.jobs.plan import bindings
from tests.jobs.readers.flux import distributed
from tests.jobs.strategies import placements
from tests.machines.read import machine as catalogued
from tests.model.shapes import machine, shape
from tests.test_corpus import CORPUS

ADAMS = machine(shape(4, 1, 3, 24, threads=2))
"""MI300A: four sockets of 24 cores, sibling + 96 (LLNL/mpibind, tutorials/cug24/module4.md)."""
PAIR = machine(shape(1, 1, 1, 2))


def made(line: str, on: Machine = ADAMS, version: str | None = None, **files: str) -> Prediction:
    """Return what a line does."""
    return predict(parse([line], version), on, files)


def where(done: Prediction) -> list[str]:
    """Return the CPUs of the ranks."""
    return [str(rank.cpus) for rank in done.ranks or ()]


def warned(line: str, on: Machine = ADAMS) -> list[str]:
    """Return the ids of the warnings about a line."""
    return [each.id for each in lint([line], on).warnings]


# LLNL/mpibind, tutorials/cug24/module4.md: what tasks printed on RZAdams.
MAP = "map:0-1,96-97;24-25,120-121;48-49,144-145;72-73,168-169"
PRINTED = [
    ("flux run -N1 -n4 --exclusive -o mpibind=off ./a", ["0-191"] * 4),
    (f"flux run -N1 -n4 -g1 -o gpu-affinity=per-task -o cpu-affinity='{MAP}' ./a", MAP.removeprefix("map:").split(";")),
    ("flux run -N1 -n1 -o cpu-affinity='map:0-23' -o gpu-affinity='map:3' ./a", ["0-23"]),
]


@pytest.mark.parametrize(("line", "cpus"), PRINTED)
def test_what_tasks_printed_on_rzadams_is_told(line: str, cpus: list[str]) -> None:
    """Whole nodes and lists; the first line as without mpibind, which is what that page shows."""
    assert where(made(line)) == cpus


PARTS = ["", "-c2", "-c2 -g1", "-c2 -o cpu-affinity=per-task", "-g1 -o gpu-affinity=per-task"]


@pytest.mark.parametrize("options", PARTS)
def test_which_part_of_a_node_a_job_gets_is_not_told(options: str) -> None:
    """RZAdams gave the last cores (88-95, 184-191), flux-core's own scheduler gives the first."""
    assert made(f"flux run -N1 -n4 {options} ./a").unclear


# Dry runs of flux-core 0.88.0 (cpu-affinity=dry-run) with -n4 -c4: the cores that the job had, and what per-task made of them.
DRY = [
    ([(cpu,) for cpu in range(0, 32, 2)], ["0,2,4,6", "8,10,12,14", "16,18,20,22", "24,26,28,30"]),
    ([(cpu, cpu + 64) for cpu in range(16)], ["0-3,64-67", "4-7,68-71", "8-11,72-75", "12-15,76-79"]),
    ([(cpu,) for cpu in (0, 1, *range(3, 12), *range(16, 21))], ["0-1,3-4", "5-8", "9-11,16", "17-20"]),
]


@pytest.mark.parametrize(("cores", "cpus"), DRY)
def test_per_task_is_what_flux_printed(cores: list[tuple[int, ...]], cpus: list[str]) -> None:
    """Neighbouring cores in hwloc's order, over borders of L3 groups and NUMA nodes where these are uneven."""
    assert [str(each) for each in flux.divided([CpuSet(core) for core in cores], 4)] == cpus


def test_sierra_of_flux_cores_own_tests() -> None:
    """Four threads a core: the first two cores are 0-3 and 4-7 (flux-core's test of FLUX_HWLOC_XMLFILE)."""
    cores = [CpuSet(range(first, first + 4)) for first in (0, 4)]
    assert [str(each) for each in flux.divided(cores, 2)] == ["0-3", "4-7"]


# flux-core, t/: map affinity on a machine of two CPUs; a list that is short, masks, both kinds.
@pytest.mark.parametrize(
    ("listed", "cpus"), [("1;0", ["1", "0"]), ("1", ["1", "1"]), ("0x1;0x2", ["0", "1"]), ("0-1;;1", ["0-1", "1"])]
)
def test_a_map_is_a_list_or_masks_and_begins_again(listed: str, cpus: list[str]) -> None:
    """As flux-core's own tests of map affinity expect; an empty entry is none."""
    assert where(made(f"flux run -N1 -n2 -o 'cpu-affinity=map:{listed}' ./a", PAIR)) == cpus


@pytest.mark.parametrize("listed", ["0x0;1", "foo", "", ";"])
def test_a_map_with_an_entry_without_cpus_starts_nothing(listed: str) -> None:
    """The shell ends with: contains no cores or is invalid."""
    assert made(f"flux run -N1 -n2 -o 'cpu-affinity=map:{listed}' ./a", PAIR).refused


def test_cpus_that_are_not_there_are_left_open_and_said() -> None:
    """A dry run prints them; a real one leaves the task the job's cores, with success."""
    line = "flux run -N1 -n2 -o 'cpu-affinity=map:0;900' ./a"
    assert [made(line).ranks, "no-such-cpu" in warned(line)] == [None, True]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("flux run -n2 -x ./a", "--exclusive needs --nodes"),
        ("flux run -N3 -n2 ./a", "more nodes (3) than tasks (2)"),
        ("flux run -N2 -n4 --tasks-per-node=2 ./a", "Per-resource options can't be used"),
        ("flux run -N1 -n97 -x -o cpu-affinity=per-task ./a", "unsatisfiable"),
    ],
)
def test_what_flux_refuses_starts_nothing(line: str, says: str) -> None:
    """Sizes that contradict each other (flux-core, cli/base.py), and more cores than a node has."""
    assert says in str(made(line).refused)


@pytest.mark.parametrize(
    "line",
    [
        "flux run -N1 -n4 -x ./a",
        "flux run -n4 -o cpu-affinity=per-task ./a",
        "flux run -N2 -n3 -x -o cpu-affinity=per-task ./a",
        "flux run -N1 -n4 -x -o mpibind=on ./a",
        "flux run -N1 -n4 -x -o userrc=rc.lua -o cpu-affinity=off ./a",
        "flux run -N2 -n4 --taskmap=cyclic:2 -x -o cpu-affinity=per-task ./a",
        "flux run --cores=4 --tasks-per-core=2 -o cpu-affinity=off ./a",
        "flux run -N1 -n4 -x -o 'cpu-affinity={\"verbose\":true}' ./a",
    ],
)
def test_what_is_the_schedulers_or_a_plugins_is_not_told(line: str) -> None:
    """How many nodes, an uneven rest, mpibind, another shell, other maps of tasks."""
    assert made(line).unclear


@pytest.mark.parametrize(
    ("version", "option", "known"),
    [
        ("flux-0.45.0", "map:0;1;2;3", False),
        ("flux-0.46.0", "map:0;1;2;3", True),
        ("flux-0.42.0", "per-task", False),
        ("flux-0.79.0", "verbose,per-task", False),
        ("flux-0.80.0", "verbose,per-task", True),
    ],
)
def test_words_count_from_the_version_that_has_them(version: str, option: str, known: bool) -> None:
    """flux-core's NEWS.md: map 0.46, per-task with hardware threads 0.43, verbose and dry-run 0.80."""
    assert (made(f"flux run -N1 -n4 -x -o 'cpu-affinity={option}' ./a", version=version).ranks is not None) == known


def test_tasks_go_to_nodes_in_blocks_in_turn_or_by_a_file() -> None:
    """Consecutive tasks share a node; the file is flux-core's own test of taskmap=hostfile."""
    line = "flux run -N2 -n4 -x {} -o cpu-affinity=off ./a"
    hosts = [made(line.format(words), h="b\nb\na\na\n").ranks or () for words in ("", "--taskmap=cyclic", "--taskmap=hostfile:h")]
    assert [[rank.host for rank in ranks] for ranks in hosts] == [
        ["node0", "node0", "node1", "node1"],
        ["node0", "node1", "node0", "node1"],
        ["b", "b", "a", "a"],
    ]
    assert made(line.format("--taskmap=hostfile:h"), h="b\nb\nb\na\n").refused


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("flux run -N1 -n4 -c2 ./a", ["job-bound"]),
        ("flux run -N1 -n4 -g1 -x -o cpu-affinity=per-task ./a", ["gpus-shared"]),
        ("flux run -N1 -n4 -x -o cpu-affinity=map:0,1,2,3 ./a", ["separator"]),
        ("flux run -N1 -n3 -x -o 'cpu-affinity=map:0-3;8' ./a", ["short-list"]),
        ("flux run -N1 -n4 -o cpu-affinity=dry-run,per-task ./a", ["dry-run"]),
        ("flux run -N1 -n2 -c4 -o 'cpu-affinity=map:0-3;4-7' ./a", ["not-allotted"]),
        ("flux run -N1 -n2 -c48 -o 'cpu-affinity=map:0-3;4-7' ./a", []),
        ("flux run -N1 -n4 -x -g1 -o gpu-affinity=per-task -o cpu-affinity=per-task ./a", []),
    ],
)
def test_what_flux_does_otherwise_than_it_sounds_is_said(line: str, said: list[str]) -> None:
    """All tasks on the job's cores, all GPUs for each, a comma for a semicolon, lists that wrap."""
    own = {"job-bound", "gpus-shared", "separator", "short-list", "dry-run", "no-such-cpu", "not-allotted"}
    assert [each for each in warned(line) if each in own] == said


@examples(80)
@given(placements(), st.booleans())
def test_every_written_line_is_told_and_is_the_plan(placement: Placement, exact: bool) -> None:
    """Maps, even division, host files."""
    assume(len({plan.topology for plan in placement.plans}) == 1 and len({host.ranks for host in placement.hosts}) == 1)
    line = flux.launch(placement, LaunchRequest(("./app",), exact=exact))
    assume(line.form != "wrapper")
    files = {file: "".join(f"{row}\n" for row in rows()) for file, rows in line.files.items()}
    done = predict(parse([*line.argv]), machine(placement.plans[0].topology), files)
    assert (done.refused, done.unclear) == (None, None)
    assert {rank.rank: (rank.host, rank.cpus) for rank in done.ranks or ()} == bindings(placement)


SAID = (
    "-n -N -c -g -x -o --taskmap hostfile:h cyclic --requires hosts:a 1 2 4 96 -n2 -N1 -ocpu-affinity=on --env A=1 : ./a submit"
)
PARTS_OF_LINES = st.one_of(
    st.sampled_from(SAID.split(" ")),
    st.sampled_from(["0;1", "0-3;4-7", "0x3;0xf", "0,1", "900", "foo", ";", "0x0", "5-", "0xf,0xf"]).map(
        lambda listed: f"-ocpu-affinity=map:{listed}"
    ),
    st.text(max_size=8),
)


@examples(80)
@given(st.lists(PARTS_OF_LINES, max_size=8), st.text(alphabet="ab\n ", max_size=12))
def test_any_words_have_an_answer(words: list[str], hosts: str) -> None:
    """The whole page, not the prediction alone; every rank that is told has CPUs of the machine."""
    try:
        told = lint(["flux", "run", *words, "./a"], ADAMS, files={"h": hosts})
    except BadInput:
        return
    pus = ADAMS.topology.pus if ADAMS.topology else CpuSet()
    assert [rank.cpus for rank in told.ranks or () if rank.cpus is not None and not (rank.cpus and rank.cpus <= pus)] == []


SOURCE = """
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int n = atoi(argv[2]);
    hwloc_topology_t t;
    hwloc_topology_init(&t);
    if (hwloc_topology_set_xml(t, argv[1]) < 0 || hwloc_topology_load(t) < 0) return 1;
    int cores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
    hwloc_obj_t *roots = calloc(cores, sizeof *roots);
    hwloc_cpuset_t *sets = calloc(n, sizeof *sets);
    for (int i = 0; i < cores; i++) roots[i] = hwloc_get_obj_by_type(t, HWLOC_OBJ_CORE, i);
    hwloc_distrib(t, roots, cores, sets, n, hwloc_get_type_depth(t, HWLOC_OBJ_CORE), 0);
    for (int i = 0; i < n; i++) {
        char *text;
        hwloc_bitmap_list_asprintf(&text, sets[i]);
        printf("%s\\n", text);
    }
    return argc != 3;
}
"""


@cache
def divider(folder: Path) -> Path | None:
    """Return a program that divides cores by hwloc's own function, None where it cannot be made here."""
    (folder / "divide.c").write_text(SOURCE)
    compiler = shutil.which("cc")
    built = compiler and subprocess.run(
        [compiler, "divide.c", "-lhwloc", "-o", "divide"], cwd=folder, capture_output=True, check=False
    )
    return folder / "divide" if built and built.returncode == 0 else None


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program, or skip."""
    made_so = divider(tmp_path_factory.mktemp("hwloc"))
    if made_so is None:
        pytest.skip("no compiler, or no hwloc to build with")
    return made_so


@pytest.mark.parametrize("name", shapes.SHAPES)
def test_cores_are_divided_as_hwloc_divides_them(name: str, program: Path) -> None:
    """Flux calls hwloc_distrib with all cores of the job as roots; here the library itself divides them."""
    file = program.parent / f"{name}.xml"
    file.write_text(shapes.xml(name))
    topology = shapes.machine(name).topology
    assert topology is not None
    cores = logical_numbering(topology).cores
    for tasks in (1, 2, 3, len(cores), 2 * len(cores) + 1):
        seen = subprocess.run([program, str(file), str(tasks)], capture_output=True, text=True, check=True).stdout.split()
        assert [seen, [str(each) for each in distributed([list(core) for core in cores], tasks)]] == [
            [str(each) for each in flux.divided(cores, tasks)]
        ] * 2


@pytest.mark.slow
@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no published machines in {CORPUS.name} (set ADVISOR_CORPUS)")
def test_published_machines_are_divided_as_hwloc_divides_them(program: Path) -> None:
    """Every machine whose CPUs are all allowed and in cores: threads, gaps, kinds of cores, orders of numbers."""
    odd, count = [], 0
    for file in sorted((CORPUS / "xml").glob("*.xml")):
        topology = read_machine(str(file)).topology
        if topology is None or topology.limited or not topology.cores:
            continue
        cores = logical_numbering(topology).cores
        for tasks in {2, 7, len(cores)}:
            done = subprocess.run([program, str(file), str(tasks)], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                count += 1
                mine = [str(CpuSet(cpus)) for cpus in flux.divided(cores, tasks)]
                odd += [] if done.stdout.split() == mine else [(file.stem, tasks, done.stdout.split()[:4], mine[:4])]
    assert (odd, count > 200) == ([], True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["topo2", "topo3", "topo4"])
def test_flux_itself_divides_a_node_so(name: str, tmp_path: Path) -> None:
    """A dry run on a machine that is not there: flux-core 0.83 and later read it from a file, whole nodes by their cores."""
    if shutil.which("flux") is None:
        pytest.skip("flux-core is not installed")
    file = tmp_path / "node.xml"
    file.write_text(shapes.xml(name))
    topology = shapes.machine(name).topology
    assert topology is not None
    cores = logical_numbering(topology).cores
    line = ["flux", "start", "flux", "run", "-n2", f"-c{len(cores) // 2}", "-o", "cpu-affinity=dry-run,per-task", "true"]
    there = os.environ | {"FLUX_HWLOC_XMLFILE": str(file), "FLUX_HWLOC_XMLFILE_NOT_THISSYSTEM": "1"}
    done = subprocess.run(line, env=there, capture_output=True, text=True, check=True, timeout=120)
    seen = dict(re.findall(r"task (\d+): cpus: (\S+)", done.stdout + done.stderr))
    assert seen == {str(task): str(cpus) for task, cpus in enumerate(flux.divided(cores, 2))}


def test_a_machine_of_the_catalogue_is_divided_in_hwlocs_order() -> None:
    """Round-robin numbers: rank 0 has the first cores of socket 0."""
    done = made("flux run -N1 -n2 -x -o cpu-affinity=per-task ./a", catalogued("b-c6525-2x7702-nps4"))
    assert where(done) == ["0-63", "64-127"]
