"""What the process's cgroup leaves to it: the cpuset controller of version 1 and 2, and the old cpuset file system."""

from collections.abc import Iterator

from advisor.collect.reader import Reader
from advisor.errors import BadInput
from advisor.host.patterns import cgroups_above
from advisor.model.cpuset import CpuSet

# {cgroup} stands for the process's own cgroup and each of its parents: a capture keeps no other cgroup.
PATHS = (
    "/proc/mounts",
    "/proc/self/cgroup",
    "/proc/self/cpuset",
    "/sys/fs/cgroup{cgroup}/cpuset.cpus.effective",
    "/sys/fs/cgroup{cgroup}/cpuset.mems.effective",
    "/sys/fs/cgroup/cpuset{cgroup}/cpuset.cpus",
    "/sys/fs/cgroup/cpuset{cgroup}/cpuset.mems",
    "/dev/cpuset{cgroup}/cpus",
    "/dev/cpuset{cgroup}/mems",
)


def allowed(reader: Reader) -> tuple[CpuSet | None, CpuSet | None]:
    """Return the CPUs and the NUMA nodes that the cgroup allows; None where no cpuset controller limits them."""
    cpus = nodes = None
    for folder, suffix in _folders(reader):
        cpus = cpus or _list(reader, f"{folder}/{suffix.format('cpus')}")
        nodes = nodes or _list(reader, f"{folder}/{suffix.format('mems')}")
        if cpus and nodes:
            break
    return cpus, nodes


def _folders(reader: Reader) -> Iterator[tuple[str, str]]:
    """Yield the folders to ask, the process's own first, with how that version names its files."""
    mounts = [line.split() for line in (reader.text("/proc/mounts") or "").splitlines()]
    for mount in mounts:
        if len(mount) < 4:
            continue
        point, kind, options = mount[1], mount[2], mount[3].split(",")
        if kind == "cgroup2":
            yield from ((point + path, "cpuset.{}.effective") for path in _above(_version_2(reader)))
        elif kind == "cgroup" and "cpuset" in options:
            suffix = "{}" if "noprefix" in options else "cpuset.{}"
            yield from ((point + path, suffix) for path in _above(reader.text("/proc/self/cpuset")))
        elif kind == "cpuset":
            yield from ((point + path, "{}") for path in _above(reader.text("/proc/self/cpuset")))


def _version_2(reader: Reader) -> str | None:
    lines = (reader.text("/proc/self/cgroup") or "").splitlines()
    return next((line[3:] for line in lines if line.startswith("0::")), None)


def _above(path: str | None) -> Iterator[str]:
    return cgroups_above(path) if path and path.startswith("/") else iter(())


def _list(reader: Reader, path: str) -> CpuSet | None:
    text = reader.text(path)
    try:
        return CpuSet.parse(text) or None if text else None
    except BadInput:
        return None
