"""/proc, the cgroup of the process, and the names under /sys/class/dmi."""

from tests.machines.spec import Cgroup, Core, Dmi, Spec
from tests.machines.tree import Link, Tree, listing, mask, texts

_OPTIONS = "rw,nosuid,nodev,noexec,relatime"
_V1_CPUSET = "/sys/fs/cgroup/cpuset"


def files(spec: Spec) -> Tree:
    """Return /proc, /sys/fs/cgroup and /sys/class/dmi."""
    kernel = spec.kernel
    tree = texts("proc", {"version": f"Linux version {kernel.release} (builder@example.org) #1 SMP"})
    tree |= texts("proc", {"cmdline": f"BOOT_IMAGE=/vmlinuz-{kernel.release} root=/dev/sda2 ro {kernel.cmdline}".rstrip()})
    tree["proc/cpuinfo"] = "\n".join(_cpuinfo(spec, pu, core) for pu, core in spec.core_of.items()).encode()
    tree["proc/meminfo"] = _meminfo(sum(node.kib for node in spec.nodes)).encode()
    tree |= texts("proc/sys/kernel", {"hostname": spec.host, "osrelease": kernel.release, "ostype": "Linux"})
    tree |= texts("proc/sys/kernel", {"numa_balancing": 1}) | texts("proc/sys/vm", {"zone_reclaim_mode": 0, "swappiness": 60})
    tree |= texts("proc", {"hwloc-nofile-info": _hwloc(spec)})
    return tree | _self(spec) | _cgroup(spec) | _dmi(spec.dmi)


def _cpuinfo(spec: Spec, pu: int, core: Core) -> str:
    chip, mhz = spec.processor, spec.khz[1] / 1000
    flags = (*chip.flags, "hypervisor") if spec.kernel.hypervisor else chip.flags
    values = {
        "processor": pu,
        "vendor_id": chip.vendor,
        "cpu family": chip.family,
        "model\t": chip.model,
        "model name": spec.model,
        "stepping": chip.stepping,
        "microcode": chip.microcode,
        "cpu MHz\t": f"{mhz:.3f}",
        "cache size": f"{(chip.l2 if chip.amd else chip.l3).kib} KB",
        "physical id": core.package,
        "siblings": len(spec.package_pus[core.package]),
        "core id\t": core.core_id,
        "cpu cores": sum(other.package == core.package for other in spec.live),
        "fpu\t": "yes",
        "flags\t": " ".join(flags),
        "bogomips": f"{2 * mhz:.2f}",
        "clflush size": 64,
        "address sizes": f"{48 if chip.amd else 46} bits physical, 48 bits virtual",
    }
    return "".join(f"{name}\t: {value}\n" for name, value in values.items())


def _meminfo(kib: int) -> str:
    sizes = {"MemTotal": kib, "MemFree": kib * 95 // 100, "MemAvailable": kib * 96 // 100, "SwapTotal": 4 << 20}
    lines = "".join(f"{name + ':':<16}{size:>8} kB\n" for name, size in sizes.items())
    return lines + "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n"


def _hwloc(spec: Spec) -> str:
    """Return what hwloc reads in place of uname when it looks at another machine's files."""
    system = f"OSName: Linux\nOSRelease: {spec.kernel.release}\nOSVersion: #1 SMP"
    return f"{system}\nHostName: {spec.host}\nArchitecture: x86_64"


def _allowed(spec: Spec) -> tuple[set[int], set[int]]:
    cpus, mems = set(spec.core_of), {node.number for node in spec.nodes}
    group = spec.kernel.cgroup
    return (cpus & group.cpus, mems & group.mems) if group else (cpus, mems)


def _self(spec: Spec) -> Tree:
    cpus, mems = _allowed(spec)
    values = {
        "Name": "advisor",
        "Cpus_allowed": mask(cpus, spec.possible),
        "Cpus_allowed_list": listing(cpus),
        "Mems_allowed": mask(mems, 64),
        "Mems_allowed_list": listing(mems),
    }
    return {"proc/self/status": "".join(f"{name}:\t{value}\n" for name, value in values.items()).encode()}


def _cgroup(spec: Spec) -> Tree:
    group = spec.kernel.cgroup
    if group and group.version == 1:
        return _version_1(spec, group)
    path = group.path if group else "/"
    cpus, mems = _allowed(spec)
    root = {"cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc", "cpuset.cpus.effective": listing(spec.core_of)}
    tree = texts("sys/fs/cgroup", root | {"cpuset.mems.effective": listing(node.number for node in spec.nodes)})
    sets = {"cpuset.cpus.effective": listing(cpus), "cpuset.mems.effective": listing(mems)}
    if group:
        tree |= texts(f"sys/fs/cgroup{path}", sets | {"cpuset.cpus": listing(cpus), "cpuset.mems": listing(mems)})
        tree |= texts(f"sys/fs/cgroup{path}", {"cgroup.controllers": "cpuset cpu memory pids"})
    mounts = [f"cgroup2 /sys/fs/cgroup cgroup2 {_OPTIONS}"]
    return tree | texts("proc/self", {"cgroup": f"0::{path}", "cpuset": path}) | _mounts(mounts)


def _version_1(spec: Spec, group: Cgroup) -> Tree:
    cpus, mems = (listing(numbers) for numbers in _allowed(spec))
    sets = {"cpuset.cpus": cpus, "cpuset.mems": mems, "cpuset.effective_cpus": cpus, "cpuset.effective_mems": mems}
    tree = texts(f"{_V1_CPUSET[1:]}{group.path}", sets)
    tree |= texts(
        "proc/self", {"cgroup": f"4:memory:{group.path}\n3:cpuset:{group.path}\n1:name=systemd:/", "cpuset": group.path}
    )
    return tree | _mounts([f"cgroup {_V1_CPUSET} cgroup {_OPTIONS},cpuset"])


def _mounts(more: list[str]) -> Tree:
    lines = [f"sysfs /sys sysfs {_OPTIONS}", f"proc /proc proc {_OPTIONS}", *more]
    return {"proc/mounts": "".join(f"{line} 0 0\n" for line in lines).encode()}


def _dmi(dmi: Dmi) -> Tree:
    values = {
        "sys_vendor": dmi.maker,
        "product_name": dmi.product,
        "product_version": "",
        "board_vendor": dmi.maker,
        "board_name": dmi.board,
        "board_version": "A01",
        "bios_vendor": dmi.maker,
        "bios_version": dmi.bios,
        "bios_date": "01/01/2024",
        "chassis_vendor": dmi.maker,
        "chassis_type": dmi.chassis,
        "chassis_version": "",
        "chassis_asset_tag": "",
    }
    return texts("sys/devices/virtual/dmi/id", values) | {"sys/class/dmi/id": Link("sys/devices/virtual/dmi/id")}
