import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.machine.hosts.base import Ran, Why
from advisor.machine.machine import Machine
from advisor.machine.sources import system as process
from tests.collect.os_host import FakeHost, covered, printed

VM, CONTAINER = ("systemd-detect-virt", "--vm"), ("systemd-detect-virt", "--container")
REAL = "processor\t: 0\nflags\t\t: fpu vme lm\n"
GUEST = "processor\t: 0\nflags\t\t: fpu vme lm hypervisor\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
DMI = "/sys/class/dmi/id"


def virtual(files: dict[str, str | Why], said: str | None = None) -> str | None:
    """Return the hypervisor found; every file read must be one that a capture keeps."""
    commands: dict[tuple[str, ...], Ran] = {} if said is None else {VM: printed(said, status=said == "none\n")}
    host = FakeHost(files, commands)
    found = process.collect_environment(host).environment
    assert all(covered(path, process.ENVIRONMENT_PATHS) for path in host.asked)
    return found.virtual if found else None


@pytest.mark.parametrize(
    ("said", "expected"), [("kvm\n", "kvm"), ("microsoft\n", "hyperv"), ("none\n", "none"), ("qemu\n", "qemu")]
)
def test_systemd_is_believed(said: str, expected: str) -> None:
    """It asks the CPU itself; none comes with status 1 and is an answer."""
    assert expected == virtual({"/proc/cpuinfo": REAL}, said)


def test_a_guest_with_the_names_of_a_real_server_is_virtual() -> None:
    """An emulated server may wear Dell's names: the CPU's flag tells, and without a name it is another hypervisor."""
    files: dict[str, str | Why] = {
        "/proc/cpuinfo": GUEST,
        f"{DMI}/sys_vendor": "Dell Inc.\n",
        f"{DMI}/product_name": "PowerEdge R7425\n",
    }
    expected = ["vm-other", "vm-other", "qemu"]
    assert expected == [virtual(files), virtual(files, "none\n"), virtual(files, "qemu\n")]


@pytest.mark.parametrize(
    ("cpuinfo", "vendor", "product", "expected"),
    [
        (GUEST, "QEMU", "Standard PC (Q35 + ICH9, 2009)", "qemu"),
        (GUEST, "Red Hat", "KVM", "kvm"),
        (GUEST, "OpenStack Foundation", "OpenStack Nova", "kvm"),
        (GUEST, "VMware, Inc.", "VMware7,1", "vmware"),
        (GUEST, "Xen", "HVM domU", "xen"),
        (GUEST, "Microsoft Corporation", "Virtual Machine", "hyperv"),
        (GUEST, "innotek GmbH", "VirtualBox", "oracle"),
        (GUEST, "Amazon EC2", "c5n.18xlarge", "amazon"),
        (REAL, "Amazon EC2", "c5n.metal", "none"),
        (GUEST, "Google", "Google Compute Engine", "google"),
        (REAL, "QEMU", "Standard PC (i440FX + PIIX, 1996)", "qemu"),
        (REAL, "Dell Inc.", "PowerEdge C6525", "none"),
        (REAL, "Microsoft Corporation", "Surface Laptop 4", "none"),
        (ARM, "QEMU", "KVM Virtual Machine", "qemu"),
        (ARM, "HPE", "ProLiant RL300 Gen11", None),
    ],
)
def test_the_firmware_names_the_hypervisor(cpuinfo: str, vendor: str, product: str, expected: str | None) -> None:
    """Without systemd the names tell which; off x86 a real-looking name proves nothing."""
    files: dict[str, str | Why] = {"/proc/cpuinfo": cpuinfo, f"{DMI}/sys_vendor": vendor, f"{DMI}/product_name": product}
    assert expected == virtual(files)


def test_a_xen_guest_without_firmware_is_named_by_the_kernel() -> None:
    """A paravirtual guest has no DMI; /sys/hypervisor names it."""
    assert virtual({"/proc/cpuinfo": GUEST, "/sys/hypervisor/type": "xen\n"}) == "xen"


def test_the_first_domain_of_xen_is_real() -> None:
    """It runs the machine, whatever flag it is shown."""
    assert virtual({"/proc/cpuinfo": GUEST, "/proc/xen/capabilities": "control_d\n", "/sys/hypervisor/type": "xen\n"}) == "none"


@pytest.mark.parametrize(
    ("sysinfo", "expected"),
    [
        ("VM00 Control Program: z/VM    6.2.0\n", "zvm"),
        ("VM00 Control Program: KVM/Linux\n", "kvm"),
        ("Manufacturer: IBM\n", None),
    ],
)
def test_s390_tells_its_control_program(sysinfo: str, expected: str | None) -> None:
    """A logical partition alone is neither proven real nor virtual."""
    assert expected == virtual({"/proc/cpuinfo": "vendor_id : IBM/S390\n", "/proc/sysinfo": sysinfo})


@pytest.mark.parametrize(
    ("files", "said", "expected"),
    [
        ({"/.singularity.d/runscript": "#!/bin/sh\n"}, "none\n", "apptainer"),
        ({"/run/.containerenv": ""}, None, "podman"),
        ({"/.dockerenv": ""}, None, "docker"),
        ({}, "lxc\n", "lxc"),
        ({}, "none\n", "none"),
        ({"/run/systemd/container": "systemd-nspawn\n"}, None, "systemd-nspawn"),
        ({"/proc/1/cgroup": "4:memory:/docker/46f6853196c5\n"}, None, "docker"),
        ({"/proc/1/cgroup": "0::/kubepods.slice/pod7\n"}, None, "kubernetes"),
        ({"/proc/1/cgroup": "0::/init.scope\n"}, None, "none"),
        ({"/proc/1/cgroup": "0::/\n"}, None, None),
    ],
)
def test_a_container_leaves_signs(files: dict[str, str | Why], said: str | None, expected: str | None) -> None:
    """Apptainer's folder counts before systemd, which does not know it; a bare root cgroup proves nothing."""
    host = FakeHost({"/proc/cpuinfo": REAL, **files}, {} if said is None else {CONTAINER: printed(said, status=said == "none\n")})
    found = process.collect_environment(host).environment
    assert found is not None
    assert expected == found.container


def test_nothing_kept_is_one_gap() -> None:
    """A lone hwloc XML gives one gap for the section."""
    machine = process.collect_environment(FakeHost(otherwise=Why.NOT_KEPT))
    expected = (None, ["environment"])
    assert expected == (machine.environment, [gap.fact for gap in machine.gaps])


@given(st.text(), st.text(), st.text(), st.text())
def test_any_text_is_survived(cpuinfo: str, vendor: str, cgroup: str, said: str) -> None:
    """No content of the files and no answer stops the source."""
    files: dict[str, str | Why] = {"/proc/cpuinfo": cpuinfo, f"{DMI}/sys_vendor": vendor, "/proc/1/cgroup": cgroup}
    assert isinstance(process.collect_environment(FakeHost(files, {VM: printed(said)})), Machine)
