import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Why
from advisor.machine.sources.registry import sources
from advisor.machine.sources.sysfs import PATHS, collect
from advisor.machine.topology import Counts, counts
from tests.collect.os_host import FakeHost, covered
from tests.examples import examples

CPU, NODE = "/sys/devices/system/cpu", "/sys/devices/system/node"


def cpu(number: int, package: str, core: str, l3: str | None = None, core_id: int = 0) -> dict[str, str]:
    """Return the files of one CPU, its groups as masks."""
    base = f"{CPU}/cpu{number}"
    files = {f"{base}/topology/core_siblings": package, f"{base}/topology/thread_siblings": core}
    files |= {f"{base}/topology/physical_package_id": "0", f"{base}/topology/core_id": str(core_id)}
    if l3 is not None:
        files |= {f"{base}/cache/index3/{name}": text for name, text in (("level", "3"), ("type", "Unified"), ("size", "8192K"))}
        files[f"{base}/cache/index3/shared_cpu_map"] = l3
    return files


def machine(*parts: dict[str, str], **more: str) -> FakeHost:
    """Return a host of some CPUs and other files, paths written with ``__`` for ``/`` left out: given whole."""
    files: dict[str, str | Why] = {path: text for part in parts for path, text in part.items()}
    return FakeHost(files | dict(more))


def test_a_small_machine() -> None:
    """Two cores of two threads under one L3 are one package, two cores, four PUs."""
    masks = {0: "5", 2: "5", 1: "a", 3: "a"}
    host = machine(*(cpu(n, "f", masks[n], "f", n % 2) for n in range(4)), {f"{CPU}/online": "0-3"})
    topology = collect(host).topology
    assert topology is not None
    assert counts(topology) == Counts(packages=1, numa_nodes=1, l3=1, cores=2, pus=4)
    assert (topology.numa_known, topology.l3[0].size) == (False, 8 << 20)


def test_a_group_that_begins_elsewhere_is_left_out_and_named() -> None:
    """A CPU that claims a group whose first CPU disagrees is in no package, as in hwloc, and a gap says so."""
    host = machine(cpu(0, "5", "1"), cpu(1, "3", "2"), cpu(2, "5", "4"), {f"{CPU}/online": "0-2"})
    found = collect(host)
    assert found.topology is not None
    assert [str(package.cpuset) for package in found.topology.packages] == ["0,2"]
    assert [gap.why for gap in found.gaps] == ["CPU 1 lists its group as 0-1, but those CPUs list another group"]


def test_compute_units_are_cores_of_their_own() -> None:
    """Thread siblings with core ids of their own are two cores on an Opteron of family 15h that is known to be x86."""
    opteron = {"/proc/cpuinfo": "vendor_id\t: AuthenticAMD\ncpu family\t: 21\n"}
    pair = (cpu(0, "3", "3", core_id=0), cpu(1, "3", "3", core_id=1), {f"{CPU}/online": "0-1"}, opteron)
    known = collect(machine(*pair, {"/proc/hwloc-nofile-info": "Architecture: x86_64\n"})).topology
    unknown = collect(machine(*pair)).topology
    assert known is not None
    assert unknown is not None
    assert (len(known.cores), len(unknown.cores)) == (2, 1)


def test_an_l2_of_two_cores_is_kept_and_that_of_one_is_not() -> None:
    """CPUs 0 and 2 share an L2 as on a Xeon E5345; CPUs 1 and 3 have one each."""
    l2 = {0: "5", 2: "5", 1: "2", 3: "8"}
    caches = {f"{CPU}/cpu{n}/cache/index2/{name}": text for n in l2 for name, text in (("level", "2"), ("type", "Unified"))}
    masks = {f"{CPU}/cpu{n}/cache/index2/shared_cpu_map": mask for n, mask in l2.items()}
    host = machine(*(cpu(n, "f", f"{1 << n:x}") for n in l2), caches, masks, {f"{CPU}/online": "0-3"})
    topology = collect(host).topology
    assert topology is not None
    assert [str(cache.cpuset) for cache in topology.shared_l2] == ["0,2"]


def test_an_empty_cache_mask_is_the_cores_own() -> None:
    """Itaniums leave the L3's mask empty: each core has its own."""
    host = machine(
        cpu(0, "f", "3", "0"), cpu(1, "f", "3", "0"), cpu(2, "f", "c", "0"), cpu(3, "f", "c", "0"), {f"{CPU}/online": "0-3"}
    )
    topology = collect(host).topology
    assert topology is not None
    assert [str(l3.cpuset) for l3 in topology.l3] == ["0-1", "2-3"]


@pytest.mark.parametrize(("model", "groups"), [("87", 0), ("85", 1)])
def test_an_l3_of_no_size_is_none_on_knights_landing(model: str, groups: int) -> None:
    """Knights Landing lists an L3 of size 0, which hwloc leaves out; elsewhere only the size is unknown."""
    info = {"/proc/cpuinfo": f"vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\n"}
    size = {f"{CPU}/cpu0/cache/index3/size": "0K"}
    topology = collect(machine(cpu(0, "1", "1", "1"), size, info, {f"{CPU}/online": "0"})).topology
    assert topology is not None
    assert len(topology.l3) == groups


def test_the_memory_of_gpus_is_left_out_and_named() -> None:
    """A node that NVIDIA's driver made of GPU memory is none of the machine's, as hwloc sees it, and a gap says so."""
    status = {"/proc/driver/nvidia/gpus/0004:04:00.0/numa_status": "Node:         2\nStatus:       online\n"}
    found = collect(machine(*PAIR, nodes(), status))
    assert found.topology is not None
    assert [node.os_index for node in found.topology.nodes] == [0]
    assert [gap.why for gap in found.gaps] == ["node 2 is GPU memory and is left out, as in hwloc"]


def test_offline_cpus_are_missing() -> None:
    """CPUs that are present and offline are named as missing; without a list each CPU's own file tells."""
    with_list = collect(machine(cpu(0, "1", "1"), {f"{CPU}/online": "0", f"{CPU}/present": "0-1"})).topology
    without = collect(machine(cpu(0, "1", "1"), cpu(1, "2", "2"), {f"{CPU}/cpu1/online": "0"})).topology
    assert with_list is not None
    assert without is not None
    assert (with_list.missing, without.missing, without.pus) == (CpuSet([1]), CpuSet([1]), CpuSet([0]))


def nodes(**distance: str) -> dict[str, str]:
    """Return a DRAM node with CPUs 0 and 1 and a node of memory alone."""
    return {
        f"{NODE}/node0/cpumap": "3",
        f"{NODE}/node0/meminfo": "Node 0 MemTotal:  1024 kB\n",
        f"{NODE}/node0/distance": distance.get("zero", "10 17"),
        f"{NODE}/node2/cpumap": "0",
        f"{NODE}/node2/meminfo": "Node 2 MemTotal:  4096 kB\n",
        f"{NODE}/node2/distance": distance.get("two", "17 10"),
    }


PAIR = (cpu(0, "3", "1"), cpu(1, "3", "2"), {f"{CPU}/online": "0-1"})


def test_memory_without_cpus_is_near_the_closest_cpus() -> None:
    """A node of memory alone is near the CPUs at the least distance, and its distances are kept."""
    topology = collect(machine(*PAIR, nodes())).topology
    assert topology is not None
    assert [(n.os_index, str(n.cpuset), str(n.near), n.memory) for n in topology.nodes] == [
        (0, "0-1", "0-1", 1 << 20),
        (2, "", "0-1", 4 << 20),
    ]
    assert topology.distances is not None
    assert (topology.distances.nodes, topology.distances.rows) == ((0, 2), ((10, 17), (17, 10)))


def test_broken_distances_are_absent() -> None:
    """A row of the wrong length makes no table."""
    topology = collect(machine(*PAIR, nodes(two="17"))).topology
    assert topology is not None
    assert topology.distances is None


@pytest.mark.parametrize(
    "files",
    [
        {
            "/proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
            "/proc/self/cgroup": "0::/slurm/job1/step0\n",
            "/sys/fs/cgroup/slurm/job1/cpuset.cpus.effective": "1\n",
            "/sys/fs/cgroup/slurm/job1/cpuset.mems.effective": "0\n",
        },
        {
            "/proc/mounts": "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n",
            "/proc/self/cpuset": "/job1\n",
            "/sys/fs/cgroup/cpuset/job1/cpuset.cpus": "1\n",
            "/sys/fs/cgroup/cpuset/job1/cpuset.mems": "0\n",
        },
        {
            "/proc/mounts": "none /dev/cpuset cpuset rw 0 0\n",
            "/proc/self/cpuset": "/job1\n",
            "/dev/cpuset/job1/cpus": "1\n",
            "/dev/cpuset/job1/mems": "0\n",
        },
    ],
    ids=["version 2, a parent limits", "version 1", "the cpuset file system"],
)
def test_cgroups_limit_the_part_inside(files: dict[str, str]) -> None:
    """All three forms of the cpuset controller are read, and limit what is inside while the whole stays known."""
    topology = collect(machine(*PAIR, nodes(), files)).topology
    assert topology is not None
    assert (str(topology.allowed), str(topology.allowed_nodes), counts(topology).pus, counts(topology.inside).pus) == (
        "1",
        "0",
        2,
        1,
    )


def test_nothing_there() -> None:
    """A host without CPUs in /sys has no topology, and a gap."""
    found = collect(FakeHost())
    assert (found.topology, [gap.fact for gap in found.gaps]) == (None, ["topology"])


def test_reads_are_covered_by_the_patterns() -> None:
    """A capture keeps every file this source reads."""
    host = machine(*PAIR, nodes(), {"/proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "/proc/self/cgroup": "0::/a\n"})
    collect(host)
    patterns = tuple(pattern.replace("{cgroup}", group) for pattern in PATHS for group in ("", "/a"))
    assert [path for path in host.asked if not covered(path, patterns)] == []


@examples(100)
@given(st.dictionaries(st.sampled_from(sorted({p for part in (*PAIR, nodes()) for p in part})), st.text(max_size=12), max_size=8))
def test_arbitrary_texts_never_raise(texts: dict[str, str]) -> None:
    """Whatever stands in the files, the source answers."""
    assert collect(machine(*PAIR, nodes(), texts)) is not None


def test_it_is_believed_last() -> None:
    """The word of hwloc counts more than that of /sys."""
    ranks = {source.name: source.rank for source in sources()}
    assert ranks["hwloc"] < ranks["sysfs"]
