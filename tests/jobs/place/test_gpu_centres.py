"""The line for nodes with GPUs: CPUs, GPU and adapter of each rank as the centre itself publishes them, and nothing beside it."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from advisor.jobs.bind import Binding, bind
from advisor.jobs.each_rank import LOCAL
from advisor.jobs.lint import lint_line
from advisor.jobs.started.hosts import HostOptions, JobOptions, LauncherOptions
from advisor.machine.cpuset import CpuSet
from advisor.machine.read import read_machine
from advisor.show.commandline import assignments, word
from tests.jobs.place.nodes import GPU_NODES, gpu_node_file
from tests.machines.__main__ import listed, save

ROCR, CUDA, ZE = "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"


@dataclass(frozen=True)
class Centre:
    """What a centre publishes of its node, and what its user asks for."""

    node: str
    launcher: str
    job: JobOptions
    cpus: tuple[str, ...]
    """The CPUs of each local rank."""
    gpus: tuple[str, tuple[str, ...]]
    """The variable, and its value in each local rank."""
    nics: tuple[str | None, ...] | None
    """The adapter of each local rank; None: not published."""
    bind: str
    """The words of the line that bind."""
    source: str


def _spans(first: int, step: int, size: int, ranks: int) -> tuple[str, ...]:
    """Return neighbouring CPUs for each rank."""
    return tuple(f"{first + step * rank}-{first + step * rank + size - 1}" for rank in range(ranks))


LUMI_MASKS = "0xfe000000000000,0xfe00000000000000,0xfe0000,0xfe000000,0xfe,0xfe00,0xfe00000000,0xfe0000000000"
MI250X = ("49-55", "57-63", "17-23", "25-31", "1-7", "9-15", "33-39", "41-47")
MI250X_NICS = ("cxi0", "cxi0", "cxi1", "cxi1", "cxi2", "cxi2", "cxi3", "cxi3")
COUNT = tuple(map(str, range(8)))

CENTRES = {
    "Frontier": Centre(
        "frontier", "srun", JobOptions(ranks_per=("gpu", 1), reserve="l3:1"),
        MI250X, (ROCR, COUNT), MI250X_NICS, f"--cpu-bind=mask_cpu:{LUMI_MASKS}",
        # -S 8 keeps the first core of each L3; --gpu-bind=closest pairs the task of cores 49-55 with GPU 0, 57-63 with 1, ...
        "https://docs.olcf.ornl.gov/systems/frontier_user_guide.html",
    ),
    "LUMI-G": Centre(
        "frontier", "srun", JobOptions(ranks_per_node=8, threads=7, reserve="l3:1"),
        MI250X, (ROCR, COUNT), MI250X_NICS, f"--cpu-bind=mask_cpu:{LUMI_MASKS}",
        # "mask_cpu:fe000000000000,fe00000000000000,fe0000,fe000000,fe,fe00,fe00000000,fe0000000000", GPU by $SLURM_LOCALID
        "https://docs.lumi-supercomputer.eu/runjobs/scheduled-jobs/distribution-binding/",
    ),
    "Perlmutter": Centre(
        "perlmutter", "srun", JobOptions(),
        ("48-63,112-127", "32-47,96-111", "16-31,80-95", "0-15,64-79"), (CUDA, COUNT[:4]), ("cxi0", "cxi1", "cxi2", "cxi3"),
        "--cpu-bind=map_ldom:3,2,1,0",
        # -c 32 --cpu-bind=cores with CUDA_VISIBLE_DEVICES=$((3-SLURM_LOCALID)): the same pairs, ranks counted the other way
        "https://github.com/BLAST-WarpX/warpx/blob/development/Tools/machines/perlmutter-nersc/perlmutter_gpu.sbatch",
    ),
    "Polaris": Centre(
        "polaris", "pals", JobOptions(),
        ("24-31,56-63", "16-23,48-55", "8-15,40-47", "0-7,32-39"), (CUDA, COUNT[:4]), (None, "mlx5_1", None, "mlx5_0"),
        "--cpu-bind list:24-31,56-63:16-23,48-55:8-15,40-47:0-7,32-39",
        "https://docs.alcf.anl.gov/polaris/",
    ),
    "Aurora": Centre(
        "aurora", "pals", JobOptions(ranks_per=("gpu", 2), reserve="socket:1"),
        (*_spans(1, 8, 8, 6), *_spans(53, 8, 8, 6)), (ZE, tuple(f"{gpu}.{tile}" for gpu in range(6) for tile in (0, 1))), None,
        "--cpu-bind list:1-8:9-16:17-24:25-32:33-40:41-48:53-60:61-68:69-76:77-84:85-92:93-100",
        "https://docs.alcf.anl.gov/aurora/running-jobs-aurora/",
    ),
    "Aurora, whole GPUs": Centre(
        "aurora", "pals", JobOptions(ranks_per=("gpu", 1), threads=16, reserve="socket:1"),
        (*_spans(1, 16, 16, 3), *_spans(53, 16, 16, 3)), (ZE, COUNT[:6]), None,
        "--cpu-bind list:1-16:17-32:33-48:53-68:69-84:85-100",
        "https://docs.alcf.anl.gov/aurora/running-jobs-aurora/",
    ),
    "JUWELS Booster": Centre(
        "juwels_booster", "srun", JobOptions(),
        ("18-23,66-71", "6-11,54-59", "42-47,90-95", "30-35,78-83"), (CUDA, COUNT[:4]),
        ("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"), "--cpu-bind=map_ldom:3,1,7,5",
        # GPU 0, 1, 2, 3 at NUMA domain 3, 1, 7, 5
        "https://co-design.pop-coe.eu/experiments/gpu-affinity/juwels-booster.html",
    ),
    "Leonardo": Centre(
        "leonardo", "srun", JobOptions(),
        _spans(0, 8, 8, 4), (CUDA, COUNT[:4]), None, "--cpus-per-task=8 --cpu-bind=cores",
        "https://docs.hpc.cineca.it/hpc/leonardo.html",
    ),
    "Alps": Centre(
        "alps", "srun", JobOptions(),
        _spans(0, 72, 72, 4), (CUDA, COUNT[:4]), ("hsn0", "hsn1", "hsn2", "hsn3"), "--cpus-per-task=72 --cpu-bind=cores",
        # --ntasks-per-node=4 --gpus-per-task=1 equals CUDA_VISIBLE_DEVICES=$SLURM_LOCALID; module i has cores 72i to 72i+71
        "https://docs.cscs.ch/running/slurm/",
    ),
    "Tuolumne": Centre(
        "tuolumne", "flux", JobOptions(),
        tuple(f"{24 * apu}-{24 * apu + 23},{96 + 24 * apu}-{119 + 24 * apu}" for apu in range(4)), (ROCR, COUNT[:4]),
        ("cxi0", "cxi1", "cxi2", "cxi3"), "-o cpu-affinity=per-task",
        "https://hpc.llnl.gov/documentation/user-guides/using-el-capitan-systems",
    ),
    "DGX H100": Centre(
        "dgx_h100", "srun", JobOptions(),
        tuple(f"{14 * gpu}-{14 * gpu + 13},{112 + 14 * gpu}-{125 + 14 * gpu}" for gpu in range(8)), (CUDA, COUNT),
        tuple(f"mlx5_{number}" for number in (0, 3, 4, 5, 6, 9, 10, 11)), "--cpus-per-task=28 --cpu-bind=cores",
        # NVIDIA DGX H100 User Guide, network modules; socket 0 has CPUs 0-55,112-167 and GPUs 0 to 3
        "https://docs.nvidia.com/dgx/dgxh100-user-guide/introduction-to-dgxh100.html",
    ),
}  # fmt: skip


def bound(centre: Centre, folder: Path, nodes: int = 2) -> Binding:
    """Return what bind makes of a centre's node."""
    there = HostOptions(sources=(str(gpu_node_file(centre.node, folder)),), nodes=nodes)
    return bind(["./app"], centre.job, there, LauncherOptions(launcher=centre.launcher), environment={})


def in_each(made: Binding, ranks: int) -> list[Mapping[str, str]]:
    """Return the variables of each local rank, as the shell in the line sets them: it is run here."""
    argv = made.launch.argv
    script = argv[argv.index("-c") + 1].replace('exec "$@"', "exec env")
    found: list[Mapping[str, str]] = []
    for local in range(ranks):
        own = {LOCAL[made.launch.launcher]: str(local), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(["sh", "-c", script, "sh"], env=own, capture_output=True, text=True, check=True, timeout=60)
        found.append(dict(row.split("=", 1) for row in done.stdout.splitlines()))
    return found


@pytest.mark.parametrize("name", CENTRES)
def test_a_rank_has_the_cpus_the_gpu_and_the_adapter_that_its_centre_publishes(name: str, scratch: Path) -> None:
    """In the line that is printed: its words bind so, and the shell in it, run here, shows each rank that GPU."""
    centre = CENTRES[name]
    made = bound(centre, scratch)
    slots = made.placement.plans[0].slots
    variable, values = centre.gpus
    assert [str(slot.cpus) for slot in slots] == list(centre.cpus)
    assert centre.bind in " ".join(made.launch.argv)
    assert tuple(each[variable] for each in in_each(made, len(slots))) == values
    if centre.nics:
        published = [(slot.hca, nic) for slot, nic in zip(slots, centre.nics, strict=True) if nic]
        assert [hca for hca, _ in published] == [nic for _, nic in published]


@pytest.mark.parametrize("name", CENTRES)
def test_the_line_stands_alone_and_check_finds_nothing_wrong_with_it(name: str, scratch: Path) -> None:
    """No file beside it, no wrapper: each rank is predicted where the plan has it, and nothing is warned of."""
    centre = CENTRES[name]
    made = bound(centre, scratch)
    assert (dict(made.launch.files), "bind-wrapper.sh" in made.launch.argv) == ({}, False)
    line = [f"{name}={value}" for name, value in made.launch.environment.items()]
    found = lint_line([*line, *made.launch.argv], made.job_hosts.machines[0])
    assert [each.id for each in found.warnings if each.misbinds] == []
    assert [str(rank.cpus) for rank in found.ranks or ()] == [*centre.cpus, *centre.cpus]


@pytest.mark.parametrize("name", CENTRES)
def test_adapters_reach_the_ranks(name: str, scratch: Path) -> None:
    """By UCX's variable in each rank, or by Cray MPICH's map of local ranks; where no input tells the numbers, by its policy."""
    centre = CENTRES[name]
    made = bound(centre, scratch)
    slots = made.placement.plans[0].slots
    mapping = made.settings.variables.get("MPICH_OFI_NIC_MAPPING")
    if centre.node == "alps":
        assert made.settings.variables["MPICH_OFI_NIC_POLICY"] == "GPU"
    elif mapping:
        pairs = re.findall(r"(\d+):([\d,]+)", mapping)
        by_rank = {rank: f"cxi{nic}" for nic, ranks in pairs for rank in map(int, ranks.split(","))}
        assert [by_rank[rank] for rank in range(len(slots))] == [slot.hca for slot in slots]
    elif slots[0].hca:
        told = [each["UCX_NET_DEVICES"] for each in in_each(made, len(slots))]
        assert told == [f"{slot.hca}:1" for slot in slots]


def printed(made: Binding) -> str:
    """Return the line as --line prints it."""
    return " ".join([*assignments(made.launch.environment), *map(word, made.launch.argv)])


PAGE = Path(__file__).parents[3] / "docs" / "launchers.md"


@pytest.mark.parametrize("name", [name for name in CENTRES if "," not in name])
def test_the_page_has_the_line_that_bind_prints(name: str, scratch: Path) -> None:
    """docs/launchers.md shows it for one node, whole."""
    made = bound(CENTRES[name], scratch, nodes=1)
    assert printed(made).replace("NODE1", "") in PAGE.read_text(encoding="utf-8")


def test_two_ranks_on_each_gpu_of_mi250x_share_its_l3_group(scratch: Path) -> None:
    """Seven cores are three for each; ranks 2i and 2i+1 have GPU i, and the list needs no file either."""
    centre = CENTRES["Frontier"]
    there = HostOptions(sources=(str(gpu_node_file("frontier", scratch)),))
    made = bind(["./app"], JobOptions(ranks_per=("gpu", 2), reserve="l3:1"), there, LauncherOptions("srun"), environment={})
    slots = made.placement.plans[0].slots
    assert [each[ROCR] for each in in_each(made, 16)] == [str(rank // 2) for rank in range(16)]
    assert all(slots[rank].cpus <= CpuSet.parse(centre.cpus[rank // 2]) for rank in range(16))


def test_gpus_of_a_node_may_be_fewer(scratch: Path) -> None:
    """--gpus 2 gives two ranks the first two GPUs; the step still asks for all, so that numbers mean what they say."""
    there = HostOptions(sources=(str(gpu_node_file("polaris", scratch)),))
    made = bind(["./app"], JobOptions(gpus=2), there, LauncherOptions("srun"), environment={})
    assert [slot.nodes for slot in made.placement.plans[0].slots] == [(3,), (2,)]
    assert "--gpus-per-node=4" in made.launch.argv


@pytest.mark.parametrize("name", GPU_NODES)
def test_the_node_of_a_centre_is_written_for_everybody_to_try(name: str, tmp_path: Path) -> None:
    """As ``python -m tests.machines`` lists it; a file of another kind than it is made of is refused with its name."""
    kind = gpu_node_file(name, tmp_path).name
    save(name, tmp_path / f"made-{kind}")
    assert f"\n{name} " in listed()
    assert len(read_machine(str(tmp_path / f"made-{kind}")).gpus or ()) >= 4
    with pytest.raises(SystemExit, match=f"is written as {re.escape(kind)}"):
        save(name, tmp_path / "folder")
