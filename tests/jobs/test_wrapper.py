"""The portable wrapper: its table is the plan, and real shells do what it says."""

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given

from advisor.errors import BadValue
from advisor.jobs.launcher import LaunchRequest
from advisor.jobs.launchers import wrapper
from advisor.jobs.placement import Placement
from advisor.machine.cpuset import CpuSet
from tests.jobs.plan import bindings, node, planned, slot, topologies
from tests.jobs.readers.wrapper import parse as parse_wrapper
from tests.jobs.readers.wrapper import table as wrapper_table
from tests.jobs.strategies import placements
from tests.model.shapes import shape

ROME = shape(2, 4, 8, 32)
HERE = os.uname().nodename
SHELLS = [
    pytest.param(("dash",), id="dash"),
    pytest.param(("busybox", "sh"), id="busybox"),
    pytest.param(("bash", "--posix"), id="bash"),
]
FIRST, *_, LAST = sorted(os.sched_getaffinity(0)) * 2
TWO = node(ROME, str(FIRST), str(LAST))


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Return each shell that is here."""
    words: tuple[str, ...] = request.param
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    return words


def run(
    shell: tuple[str, ...], folder: Path, placement: Placement, tools: tuple[str, ...] = ("taskset",), **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Run the script of a placement as one rank; of programs it finds only the given ones."""
    script, programs = folder / wrapper.FILE, folder / "bin"
    programs.mkdir()
    script.write_text("".join(f"{line}\n" for line in wrapper.script(placement)))
    for tool in ("uname", "env", "grep", "readlink", *tools):
        (programs / tool).symlink_to(str(shutil.which(tool)))
    program = str(shutil.which(shell[0]))
    ask = ("grep", "Cpus_allowed_list", "/proc/self/status")
    return subprocess.run(
        [program, *shell[1:], str(script), *ask],
        env={"PATH": str(programs), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@given(placements())
def test_the_table_is_the_plan(placement: Placement) -> None:
    """With and without a local rank from the launcher, on hosts that differ too."""
    table = wrapper_table(wrapper.wrapped(("./app",)), wrapper.files(placement))
    assert table is not None
    assert {each.rank: (each.host, table.cpus(each.host, each.rank)) for each in placement.ranks()} == bindings(placement)
    assert all(table.cpus(each.host, each.rank, each.local) == each.slot.cpus for each in placement.ranks())
    if len(placement.hosts) == 1:
        made = wrapper.launch(placement, LaunchRequest(("./app",)))
        assert parse_wrapper(made.argv, made.files, topologies(placement)) == bindings(placement)


@pytest.mark.parametrize(
    "variables",
    [
        {"OMPI_COMM_WORLD_LOCAL_RANK": "1"},
        {"MPI_LOCALRANKID": "1", "PMI_RANK": "1"},
        {"PMI_LOCAL_RANK": "1"},
        {"MV2_COMM_WORLD_LOCAL_RANK": "1"},
        {"PALS_LOCAL_RANKID": "1"},
        {"SLURM_LOCALID": "1", "SLURM_PROCID": "3"},
        {"SLURM_LOCALID": "0", "SLURM_PROCID": "0", "PMI_RANK": "3"},
        {"PMIX_RANK": "3"},
    ],
)
@pytest.mark.parametrize("tools", [("taskset",), ("numactl",), ("taskset", "numactl")], ids="-".join)
def test_every_shell_binds_the_rank_that_a_launcher_says(
    shell: tuple[str, ...], variables: dict[str, str], tools: tuple[str, ...], tmp_path: Path
) -> None:
    """By the local rank, else by the rank; Slurm's local rank counts only for a rank of Slurm's own."""
    if not all(map(shutil.which, tools)):
        pytest.skip(f"{' or '.join(tools)} is not installed")
    done = run(shell, tmp_path, planned((TWO,), ("n1", 0, 2), ("n2", 0, 2)), tools, **variables)
    assert (done.stdout.split(), done.stderr) == (["Cpus_allowed_list:", str(LAST)], "")


def test_a_host_is_found_by_its_name_in_the_table(shell: tuple[str, ...], tmp_path: Path) -> None:
    """Where hosts differ, or have different numbers of ranks."""
    placement = planned((TWO, node(ROME, str(LAST))), ("other", 0, 2), (f"{HERE}.example.org", 1, 1))
    done = run(shell, tmp_path, placement, PMI_RANK="2")
    assert (done.stdout.split(), done.stderr) == (["Cpus_allowed_list:", str(LAST)], "")


@pytest.mark.parametrize(
    ("variables", "tools", "says"),
    [
        ({"PMI_LOCAL_RANK": "2"}, ("taskset",), "the plan has no local rank 2 here"),
        ({}, ("taskset",), "no launcher has set this process's rank"),
        ({"PMI_LOCAL_RANK": "0;id"}, ("taskset",), "is not a number"),
        ({"PMI_LOCAL_RANK": "0"}, (), "neither numactl nor taskset is installed"),
    ],
)
def test_what_it_cannot_do_it_says_in_one_line(
    shell: tuple[str, ...], variables: dict[str, str], tools: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    """And nothing is started."""
    if shell[0] == "busybox" and not tools:
        pytest.skip("busybox has its own taskset")
    done = run(shell, tmp_path, planned((TWO,), (None, 0, 2)), tools, **variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_host_that_the_plan_does_not_know_is_refused(shell: tuple[str, ...], tmp_path: Path) -> None:
    """Its name is in no line of the table."""
    done = run(shell, tmp_path, planned((TWO, TWO), ("other", 0, 2), ("another", 1, 1)), PMI_RANK="2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not know this host" in done.stderr


def test_memory_of_another_node_needs_numactl(shell: tuple[str, ...], tmp_path: Path) -> None:
    """What taskset binds cannot have it, and the plan is not bent silently."""
    far = TWO.model_copy(update={"slots": (slot(ROME, str(FIRST), memory=(3,)),)})
    done = run(shell, tmp_path, planned((far,), (None, 0, 1)), PMI_LOCAL_RANK="0")
    assert (done.returncode, "memory of node 3" in done.stderr) == (1, True)
    assert wrapper.memory(far.slots[0]) == "prefer:3"
    assert wrapper.memory(slot(ROME, "0", memory=(2, 3))) == "only:2,3"
    assert wrapper.memory(slot(ROME, "0")) == "local"


def test_ranks_get_their_own_adapters(shell: tuple[str, ...], tmp_path: Path) -> None:
    """The first port where none is said."""
    plan = node(ROME, str(FIRST), str(LAST), hca=("mlx5_0", "mlx5_3:2"))
    lines = "\n".join(wrapper.places(planned((plan,), (None, 0, 2))))
    assert "local mlx5_0:1 -" in lines
    assert "local mlx5_3:2 -" in lines
    with pytest.raises(BadValue, match="not a valid device name"):
        list(wrapper.places(planned((node(ROME, "0", hca=("$(id)",)),), (None, 0, 1))))


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    """As POSIX sh."""
    file = tmp_path / wrapper.FILE
    file.write_text("".join(f"{line}\n" for line in wrapper.script(planned((TWO, TWO), ("a", 0, 2), ("b", 1, 1)))))
    done = subprocess.run(["shellcheck", "-s", "sh", str(file)], capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_a_million_ranks_stream() -> None:
    """Hosts that differ: a line for each host and for each local rank of each plan, made one by one."""
    wide = shape(2, 4, 16, 64)
    plans = (node(wide, *map(str, range(128))), node(wide, *map(str, reversed(range(128)))))
    placement = planned(plans, *((f"node{i:04}", i % 2, 128) for i in range(8192)))
    assert placement.size == 1 << 20
    lines = wrapper.script(placement)
    assert next(lines) == "#!/bin/sh"
    assert sum(1 for _ in lines) > 8192 + 256
    assert CpuSet([127]) == wrapper_table(
        wrapper.wrapped(()), {wrapper.FILE: lambda: itertools.islice(wrapper.script(placement), 9000)}
    ).cpus(  # type: ignore[union-attr]
        "node0001", 128, 0
    )


KFD = "/sys/class/kfd/kfd/topology/nodes"


@pytest.mark.parametrize(
    ("address", "number"),
    [
        ("0000:01:00.0", "0"),
        ("0000:01:00.1", "1"),
        ("0000:c1:00.0", "2"),
        ("0001:c1:1f.5", "3"),
        ("0000:c1:00.3", "none"),
        ("0000:02:00.0", "none"),
    ],
)
def test_amds_gpus_are_counted_as_the_driver_shows_them(
    address: str, number: str, shell: tuple[str, ...], tmp_path: Path
) -> None:
    """A partition has the number that programs know it by; a CPU is no GPU, and an address that is not there has none."""
    gpus = ((0, 0, 0), (304, 0, 0x0100), (304, 0, 0x0100 | 1 << 28), (304, 0, 0xC100), (304, 1, 0xC1F8 | 5))
    for position, (simd, domain, location) in enumerate(gpus):
        folder = tmp_path / "nodes" / str(position)
        folder.mkdir(parents=True)
        text = f"cpu_cores_count 0\nsimd_count {simd}\nlocation_id {location}\ndomain {domain}\n"
        (folder / "properties").write_text(text)
    script = "\n".join(wrapper.script(planned((TWO,), (HERE, 0, 2))))
    function = script[script.index("amd_number() {") : script.index("# nvidia_uuid CARD")].replace(KFD, str(tmp_path / "nodes"))
    assert str(tmp_path) in function
    asked = f'{function}\nif amd_number {address}; then echo "$number"; else echo none; fi'
    program = str(shutil.which(shell[0]))
    done = subprocess.run([program, *shell[1:], "-c", asked], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (number, "")


def kfd(folder: Path, *gpus: tuple[int, int, int]) -> None:
    """Write nodes of AMD's driver as a CPU and GPUs: each a location, a SIMD count, and its unique_id."""
    for position, (location, simd, unique) in enumerate(((0, 0, 0), *gpus)):
        (folder / str(position)).mkdir(parents=True)
        text = f"simd_count {simd}\nlocation_id {location}\ndomain 0\nunique_id {unique}\n"
        (folder / str(position) / "properties").write_text(text)


def amd_uuid(shell: tuple[str, ...], folder: Path, address: str) -> str:
    """Return the UUID that the script finds for an address, - for none."""
    script = "\n".join(wrapper.script(planned((TWO,), (HERE, 0, 2))))
    function = script[script.index("amd_number() {") : script.index("# nvidia_uuid CARD")].replace(KFD, str(folder))
    asked = f'{function}\nif amd_number {address}; then echo "$number ${{uuid:--}}"; fi'
    program = str(shutil.which(shell[0]))
    return subprocess.run([program, *shell[1:], "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def test_amds_partitions_are_named_by_their_uuids_where_each_has_its_own(shell: tuple[str, ...], tmp_path: Path) -> None:
    """As ROCR writes them: sixteen hexadecimal digits of unique_id, also above 2^63 and with leading zeros (RvdFilter)."""
    kfd(tmp_path, (0x0100, 304, 0xFEDCBA9876543210), (0x0100 | 1 << 28, 304, 0x00AB), (0xC100, 304, 7))
    assert amd_uuid(shell, tmp_path, "0000:01:00.0") == "0 GPU-fedcba9876543210"
    assert amd_uuid(shell, tmp_path, "0000:01:00.1") == "1 GPU-00000000000000ab"


def test_amds_partitions_that_share_a_uuid_are_numbered(shell: tuple[str, ...], tmp_path: Path) -> None:
    """Older kernels give all partitions of a card one UUID: ROCR shows no GPU at all for a UUID that two have."""
    kfd(tmp_path, (0x0100, 304, 77), (0x0100 | 1 << 28, 304, 77), (0xC100, 304, 0))
    assert amd_uuid(shell, tmp_path, "0000:01:00.1") == "1 -"
    assert amd_uuid(shell, tmp_path, "0000:c1:00.0") == "2 -", "0 is no UUID: a virtual GPU has none"


def nvidia(folder: Path, gpu: str, uuid: str = "GPU-48aeb943-9458-4282-da24-e5f49e0db44b") -> "subprocess.CompletedProcess[str]":
    """Run the script for one rank whose GPU is the second card of NVIDIA's driver; nvidia-smi lists instances of both."""
    pci, proc, programs = folder / "pci", folder / "proc", folder / "bin"
    for address in ("0000:03:00.0", "0000:c1:00.0"):
        (pci / "drivers" / "nvidia" / address).mkdir(parents=True)
        (pci / "devices" / address).mkdir(parents=True)
        (pci / "devices" / address / "driver").symlink_to(pci / "drivers" / "nvidia")
    (proc / "gpus" / "0000:c1:00.0").mkdir(parents=True)
    text = f"Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 42\nGPU UUID: \t {uuid}\nDevice Minor: \t 1\n"
    (proc / "gpus" / "0000:c1:00.0" / "information").write_text(text)
    programs.mkdir()
    listed = (
        "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-11111111-9458-4282-da24-e5f49e0db44b)\n"
        "  MIG 1g.5gb      Device  1: (UUID: MIG-00000000-0000-0000-0000-000000000000)\n"
        f"GPU 1: NVIDIA A100-SXM4-40GB (UUID: {uuid})\n"
        "  MIG 3g.20gb     Device  0: (UUID: MIG-fc8be3c5-0000-5f95-9f64-5d0fd4d6d3f1)\n"
        "  MIG 1g.5gb      Device  1: (UUID: MIG-GPU-48aeb943/7/0)\n"
    )
    (programs / "nvidia-smi").write_text(f"#!/bin/sh\ncat <<'X'\n{listed}X\n")
    (programs / "nvidia-smi").chmod(0o755)
    plan = node(ROME, str(FIRST))
    seat = plan.slots[0].model_copy(update={"gpu": gpu})
    made = planned((plan.model_copy(update={"slots": (seat,)}),), (HERE, 0, 1))
    script = "\n".join(wrapper.script(made)).replace("/sys/bus/pci", str(pci)).replace(KFD, str(folder / "none"))
    (folder / wrapper.FILE).write_text(script.replace("/proc/driver/nvidia", str(proc)) + "\n")
    return subprocess.run(
        ["sh", str(folder / wrapper.FILE), "env"],
        env={"PATH": f"{programs}:{os.environ['PATH']}", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


def visible(done: "subprocess.CompletedProcess[str]") -> str | None:
    """Return CUDA_VISIBLE_DEVICES of what the script started."""
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line).get("CUDA_VISIBLE_DEVICES")


def test_nvidias_gpus_are_named_by_their_uuids(tmp_path: Path) -> None:
    """A number would mean another card where a job's cgroup hides some."""
    assert visible(nvidia(tmp_path, "0000:c1:00.0")) == "GPU-48aeb943-9458-4282-da24-e5f49e0db44b"


def test_a_gpu_whose_uuid_the_driver_does_not_know_yet_is_numbered(tmp_path: Path) -> None:
    """It prints question marks until the card is set up for the first time."""
    assert visible(nvidia(tmp_path, "0000:c1:00.0", "GPU-????????-????-????-????-????????????")) == "1"


@pytest.mark.parametrize(("number", "uuid"), [(0, "MIG-fc8be3c5-0000-5f95-9f64-5d0fd4d6d3f1"), (1, "MIG-GPU-48aeb943/7/0")])
def test_mig_instances_are_named_by_their_uuids(number: int, uuid: str, tmp_path: Path) -> None:
    """Of the card that is meant, whatever instances others have; drivers before 470 write card, instance and part."""
    assert visible(nvidia(tmp_path, f"0000:c1:00.0-mig{number}")) == uuid


def test_a_mig_instance_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Nothing is started on another one."""
    done = nvidia(tmp_path, "0000:c1:00.0-mig2")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("there is no MIG instance 2 of 0000:c1:00.0\n")


@pytest.mark.parametrize(
    ("driver", "told"),
    [
        ("nvidia", {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1"}),
        ("amdgpu", {"ROCR_VISIBLE_DEVICES": "1"}),
        ("i915", {"ZE_ENABLE_PCI_ID_DEVICE_ORDER": "1", "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE", "ZE_AFFINITY_MASK": "1"}),
    ],
)
def test_each_makers_runtime_is_told_the_gpu(driver: str, told: dict[str, str], tmp_path: Path) -> None:
    """A rank's GPU is the second of its driver: NVIDIA's, AMD's and Intel's runtimes hear so in their own words."""
    pci = tmp_path / "pci"
    for address in ("0000:03:00.0", "0000:c1:00.0"):
        (pci / "drivers" / driver / address).mkdir(parents=True)
        (pci / "devices" / address).mkdir(parents=True)
        (pci / "devices" / address / "driver").symlink_to(pci / "drivers" / driver)
    plan = node(ROME, str(FIRST))
    seat = plan.slots[0].model_copy(update={"gpu": "0000:c1:00.0"})
    made = planned((plan.model_copy(update={"slots": (seat,)}),), (HERE, 0, 1))
    script = "\n".join(wrapper.script(made)).replace("/sys/bus/pci", str(pci)).replace(KFD, str(tmp_path / "none"))
    (tmp_path / wrapper.FILE).write_text(f"{script}\n")
    rank = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "HIP_VISIBLE_DEVICES": "0"}
    done = subprocess.run(
        ["sh", str(tmp_path / wrapper.FILE), "env"],
        env={"PATH": os.environ["PATH"], **rank},
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert {name: found.get(name) for name in told} == told
    assert (found.get("HIP_VISIBLE_DEVICES") is None) == (driver == "amdgpu"), "HIP counts anew what is left"
