import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.cpuset import CpuSet
from advisor.machine.hosts.base import Ran, Why
from advisor.machine.machine import Hugepages, Kernel, Machine
from advisor.machine.sources import system as kernel
from tests.collect.os_host import FakeHost, covered, printed

NODE = "/sys/devices/system/node"
FILES: dict[str, str | Why] = {
    "/proc/sys/kernel/osrelease": "5.14.0-427.el9.x86_64\n",
    "/proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC\n",
    "/proc/sys/kernel/hostname": "n17\n",
    "/proc/sys/kernel/arch": "x86_64\n",
    "/proc/sys/kernel/numa_balancing": "1\n",
    "/proc/sys/vm/zone_reclaim_mode": "0\n",
    "/proc/sys/vm/swappiness": "10\n",
    "/proc/sys/vm/overcommit_memory": "0\n",
    "/proc/sys/vm/min_free_kbytes": "90112\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
    "/sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never\n",
    f"{NODE}/node0/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
    f"{NODE}/node1/hugepages/hugepages-2048kB/nr_hugepages": "512\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm \n",
    "/sys/devices/system/cpu/isolated": "\n",
    "/sys/devices/system/cpu/nohz_full": "  (null)\n",
    "/etc/os-release": 'NAME="Rocky Linux"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\n',
    "/etc/tuned/active_profile": "hpc-compute\n",
    "/proc/meminfo": "MemTotal:       263850376 kB\nSwapTotal:       4194300 kB\nSwapFree:        4194300 kB\n",
    "/proc/cmdline": "BOOT_IMAGE=/vmlinuz ro iommu=pt nosmt\n",
}
ACTIVE = ("systemctl", "is-active", "irqbalance")


def test_a_compute_node_is_described_whole() -> None:
    """Every fact is read, zero counts of hugepages too, and a null mask is the empty set."""
    host = FakeHost(FILES, {ACTIVE: printed("active\n")})
    machine = kernel.collect_kernel(host)
    expected = Kernel(
        release="5.14.0-427.el9.x86_64",
        version="#1 SMP PREEMPT_DYNAMIC",
        os_name="Rocky Linux 9.4 (Blue Onyx)",
        cmdline=(("BOOT_IMAGE", "/vmlinuz"), ("ro", None), ("iommu", "pt"), ("nosmt", None)),
        thp="always",
        thp_defrag="madvise",
        numa_balancing=1,
        zone_reclaim_mode=0,
        swappiness=10,
        swap=4194300 << 10,
        overcommit_memory=0,
        min_free=90112 << 10,
        hugepages=(Hugepages(node=0, page=2 << 20, count=0), Hugepages(node=1, page=2 << 20, count=512)),
        clocksource="hpet",
        clocksources=("tsc", "hpet", "acpi_pm"),
        isolated=CpuSet(),
        nohz_full=CpuSet(),
        tuned="hpc-compute",
        irqbalance=True,
    )
    assert expected == machine.kernel
    named = ("n17", "x86_64", ())
    assert named == (machine.name, machine.architecture, machine.gaps)
    assert all(covered(path, kernel.KERNEL_PATHS) for path in host.asked)
    assert set(host.ran) <= set(kernel.KERNEL_COMMANDS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", ()),
        ("quiet", (("quiet", None),)),
        ('a.b-c="x y" d', (("a.b-c", "x y"), ("d", None))),
        ('"a=x y" d', (("a", "x y"), ("d", None))),
        ("root=UUID=1-2 isolcpus=nohz,1-3", (("root", "UUID=1-2"), ("isolcpus", "nohz,1-3"))),
        ("hugepagesz=1G hugepages=8 hugepagesz=2M", (("hugepagesz", "1G"), ("hugepages", "8"), ("hugepagesz", "2M"))),
        ("a=1 -- b=2", (("a", "1"),)),
        ("a= b", (("a", ""), ("b", None))),
        ('a="x y', (("a", "x y"),)),
    ],
)
def test_boot_options_are_split_as_the_kernel_splits_them(line: str, expected: tuple[tuple[str, str | None], ...]) -> None:
    """Quotes join, repeats stay in order, and what follows -- belongs to init."""
    assert expected == kernel.parse_cmdline(line)


@given(st.text() | st.text(alphabet='ab= "-\n'))
def test_any_boot_line_is_survived(line: str) -> None:
    """No boot line stops the parser, and no quote is left in an option's name."""
    assert all('"' not in key for key, _ in kernel.parse_cmdline(line))


@given(st.text(), st.text(), st.text())
def test_any_text_is_survived(version: str, release: str, cpus: str) -> None:
    """No content of the files stops the source."""
    files = {"/proc/version": version, "/etc/os-release": release, "/sys/devices/system/cpu/isolated": cpus}
    assert isinstance(kernel.collect_kernel(FakeHost(files)), Machine)


def test_the_banner_serves_where_sysctl_was_not_kept() -> None:
    """Old dumps have /proc/version and nothing of /proc/sys."""
    banner = "Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org) (gcc-12, GNU ld 2.40) #1 SMP Debian 6.1.55-1\n"
    found = kernel.collect_kernel(FakeHost({"/proc/version": banner})).kernel
    assert found is not None
    expected = ("6.1.0-13-amd64", "#1 SMP Debian 6.1.55-1")
    assert expected == (found.release, found.version)


def test_nothing_kept_is_one_gap() -> None:
    """A lone hwloc XML gives one gap for the section."""
    machine = kernel.collect_kernel(FakeHost(otherwise=Why.NOT_KEPT))
    expected = (None, None, ["kernel"])
    assert expected == (machine.kernel, machine.name, [gap.fact for gap in machine.gaps])


def test_a_kernel_without_numa_has_one_pool() -> None:
    """The pool of the whole machine is that of node 0."""
    found = kernel.collect_kernel(FakeHost({"/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "4\n"})).kernel
    assert found is not None
    assert (Hugepages(node=0, page=1 << 30, count=4),) == found.hugepages


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (printed("inactive\n", status=3), False),
        (printed("failed\n", status=3), False),
        (printed("active\n"), True),
        (Ran(err=b"System has not been booted with systemd as init system", status=1), None),
        (Ran(why=Why.ABSENT), None),
    ],
    ids=["inactive", "failed", "active", "container", "no systemd"],
)
def test_irqbalance_is_what_systemd_says(answer: Ran, expected: bool | None) -> None:
    """Without an answer it is not known whether the daemon runs."""
    found = kernel.collect_kernel(FakeHost(FILES, {ACTIVE: answer})).kernel
    assert found is not None
    assert expected == found.irqbalance


def test_a_pid_file_shows_irqbalance_without_systemd() -> None:
    """The daemon started with --pid leaves a file."""
    found = kernel.collect_kernel(FakeHost({**FILES, "/run/irqbalance.pid": "77\n"})).kernel
    assert found is not None
    assert found.irqbalance is True


def test_no_profile_file_means_no_tuned() -> None:
    """With /etc in the input, a missing file is an answer; without it, it is not."""
    without = {path: text for path, text in FILES.items() if "tuned" not in path}
    bare = {path: text for path, text in without.items() if not path.startswith("/etc")}
    found = [kernel.collect_kernel(FakeHost(files)).kernel for files in (without, bare)]
    expected = ["none", None]
    assert expected == [each and each.tuned for each in found]


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        ("processor : 0\nflags : fpu lm\n", "x86_64"),
        ("processor : 0\nflags : fpu\n", "i686"),
        ("processor : 0\nCPU architecture: 8\n", "aarch64"),
        ("processor : 0\nisa : rv64imafdc\n", "riscv64"),
        ("vendor_id : IBM/S390\n", "s390x"),
        ("processor : 0\ncpu : POWER9\n", None),
    ],
)
def test_the_form_of_cpuinfo_betrays_the_architecture(cpuinfo: str, expected: str | None) -> None:
    """The last resort, for dumps that kept neither sysctl nor uname."""
    assert expected == kernel.derive_architecture(cpuinfo)


def test_uname_is_asked_before_kernel_6_1() -> None:
    """Older kernels have no arch file."""
    files = {path: text for path, text in FILES.items() if not path.endswith("/arch")}
    machine = kernel.collect_kernel(FakeHost(files, {("uname", "-m"): printed("aarch64\n")}))
    assert machine.architecture == "aarch64"
