from advisor.advice.compare import devices, facts, identity
from advisor.advice.model.findings import Change
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu, Firmware, Gpu, Hca, Link, Locality, MemoryTier, Nic, PciDevice, Port
from advisor.machine.machine import Allocation, Iommu, Kernel, Limits, Machine, Tool


def hca(node: int = 6, state: str = "active", name: str = "mlx5_0", firmware: str = "16.35") -> Hca:
    """Return an adapter."""
    ports = (Port(number=1, state=state, rate=100_000_000_000, lid=node),)
    return Hca(name=name, address="0000:c1:00.0", locality=Locality(numa_nodes=(node,)), firmware=firmware, ports=ports)


def said(changes: tuple[Change, ...]) -> list[tuple[str, str | None, str | None]]:
    """Return changes without their names."""
    return [(change.title, change.before, change.after) for change in changes]


def test_a_machine_does_not_differ_from_itself() -> None:
    """The same machine twice gives no change."""
    machine = Machine(name="a", cpu=Cpu(model_name="EPYC"), hcas=(hca(),), kernel=Kernel(thp="always"))
    assert (identity(machine, machine), devices(machine, machine), facts(machine, machine)) == ((), (), ())


def test_what_was_not_read_is_told_apart_from_what_is_not_there() -> None:
    """A firmware that nobody read is not an adapter that was pulled; nor is a list that was not read."""
    one, unread = hca(), hca().model_copy(update={"firmware": None})
    changes = [devices(Machine(hcas=(one,)), Machine(hcas=after)) for after in ((unread,), (), None)]
    assert [[change.sides()[1] for change in each] for each in changes] == [["not read"], ["not there"], ["not read"]]


def test_identity_names_bios_and_processor() -> None:
    """What a machine is called and made of is compared first."""
    a = Machine(firmware=Firmware(bios_version="1.8"), cpu=Cpu(microcode=("0x1",)))
    b = Machine(firmware=Firmware(bios_version="1.9"), cpu=Cpu(microcode=("0x2",)))
    assert said(identity(a, b)) == [("firmware.bios_version", "1.8", "1.9"), ("cpu.microcode", "0x1", "0x2")]


def test_adapters_are_matched_by_name_in_any_order() -> None:
    """Two adapters in another order are the same two adapters."""
    one, two = hca(name="mlx5_0"), hca(name="mlx5_1", node=2)
    assert devices(Machine(hcas=(one, two)), Machine(hcas=(two, one))) == ()


def test_an_adapter_that_moved_and_lost_its_port_is_one_line_each() -> None:
    """Node and port state of an adapter are told in words; its LID, which differs at each boot, is not."""
    changes = devices(Machine(hcas=(hca(node=1),)), Machine(hcas=(hca(node=6, state="down"),)))
    assert said(changes) == [("mlx5_0 NUMA nodes", "1", "6"), ("mlx5_0 port 1 state", "active", "down")]


def test_an_adapter_that_is_gone_is_one_line() -> None:
    """Of a device that one side lacks, only the device is named."""
    gone = said(devices(Machine(hcas=(hca(),)), Machine(hcas=())))
    assert [row for row in gone if row[0] == "mlx5_0"] == [("mlx5_0", "mlx5_0", None)]


def test_a_link_that_trained_lower_is_shown_once() -> None:
    """The PCI device of an adapter adds its link and nothing that the adapter says already."""

    def machine(width: int, node: int) -> Machine:
        pci = PciDevice(
            address="0000:c1:00.0", kind="hca", class_code=0x020700, vendor=0x15B3, device=1,
            locality=Locality(numa_nodes=(node,)), link=Link(speed=8e9, width=width),
        )  # fmt: skip
        return Machine(hcas=(hca(node=node),), pci=(pci,))

    titles = [change.title for change in devices(machine(16, 1), machine(8, 6))]
    assert titles == ["0000:c1:00.0 link width", "mlx5_0 NUMA nodes"]


def test_a_fact_that_one_side_does_not_tell_is_no_difference() -> None:
    """Looking as root on one side only must not look like a changed machine."""
    a, b = Machine(limits=Limits(memlock=-1)), Machine(limits=Limits(memlock=65536), tools=(Tool(name="ucx", version="1"),))
    assert said(facts(a, b)) == [("limits.memlock", "unlimited", "64 KiB")]
    assert facts(Machine(), b) == ()


def test_a_limit_of_nothing_is_no_unlimited_one() -> None:
    """Only a limit below zero is unlimited; zero bytes and zero files are what they say."""
    a, b = Machine(limits=Limits(memlock=0, files=0)), Machine(limits=Limits(memlock=-1, files=1024))
    assert said(facts(a, b)) == [("limits.memlock", "0 B", "unlimited"), ("limits.files", "0", "1024")]


def test_boot_options_are_compared_as_one_line() -> None:
    """The kernel command line is shown as it was typed."""
    a = Machine(kernel=Kernel(cmdline=(("quiet", None),)))
    b = Machine(kernel=Kernel(cmdline=(("quiet", None), ("iommu", "pt"))))
    assert said(facts(a, b)) == [("kernel.cmdline", "quiet", "quiet iommu=pt")]


def test_two_nodes_that_differ_in_name_alone_do_not_differ() -> None:
    """A host name identifies a node and is no difference of two; nor is the job that runs on it."""
    a, b = (
        Machine(name=name, architecture="x86_64", allocation=Allocation(scheduler="slurm", job=name)) for name in ("n1", "n2")
    )
    assert (identity(a, b), devices(a, b), facts(a, b)) == ((), (), ())


def test_what_no_list_named_is_compared() -> None:
    """Whether addresses are translated is a fact as any other."""
    a, b = (Machine(iommu=Iommu(units=("dmar0",), types=types)) for types in (("DMA",), ("identity",)))
    assert said(facts(a, b)) == [("iommu.types", "DMA", "identity")]


def test_numbers_are_written_in_their_declared_units() -> None:
    """Bandwidths, limits and lists of numbers are in words; -1 is unlimited only where a limit is declared."""
    a = Machine(tiers=(MemoryTier(node=0, read_bandwidth=204_800_000_000),), limits=Limits(slurmd_memlock=-1, files=1024))
    b = Machine(tiers=(MemoryTier(node=0, read_bandwidth=102_400_000_000),), limits=Limits(slurmd_memlock=65536, files=-1))
    assert said(facts(a, b)) == [
        ("tiers.0.read_bandwidth", "204.8 GB/s", "102.4 GB/s"),
        ("limits.files", "1024", "unlimited"),
        ("limits.slurmd_memlock", "unlimited", "64 KiB"),
    ]
    c, d = (Machine(cpu=Cpu(wakeup_limits=limits)) for limits in ((0, 10), ()))
    assert said(facts(c, d)) == [("cpu.wakeup_limits", "0 us, 10 us", "none")]


def test_a_port_that_is_gone_is_one_line() -> None:
    """Of a port that an adapter has on one side alone, only the port is named."""
    two = (Port(number=1, state="active"), Port(number=2, state="active", rate=10**11))
    a, b = (Machine(hcas=(Hca(name="mlx5_0", ports=ports),)) for ports in (two, two[:1]))
    assert said(devices(a, b)) == [("mlx5_0 port 2", "2", None)]


def test_two_functions_of_a_card_are_told_apart() -> None:
    """A function that is gone is one line, though another of the same card is there."""
    one, other = (
        PciDevice(address=f"0000:c1:00.{at}", kind="nic", class_code=0x020000, vendor=0x15B3, device=1, driver="mlx5_core")
        for at in (0, 1)
    )
    assert said(devices(Machine(pci=(one, other)), Machine(pci=(one,)))) == [("0000:c1:00.1", "0000:c1:00.1", None)]


def test_where_a_device_is_is_told_in_words() -> None:
    """The nearest CPUs, the reason of a guess, and whether it is on one of several nodes."""
    places = (
        Locality(numa_nodes=(0, 1), cpus=CpuSet([0, 1]), inferred="no numa_node"),
        Locality(numa_nodes=(0, 1), cpus=CpuSet([2, 3]), inferred="a change", one_of=True),
    )
    a, b = (Machine(gpus=(Gpu(address="0000:c1:00.0", locality=place),)) for place in places)
    assert said(devices(a, b)) == [
        ("0000:c1:00.0 location inferred", "no numa_node", "a change"),
        ("0000:c1:00.0 nearest CPUs", "0-1", "2-3"),
        ("0000:c1:00.0 on one of them only", "no", "yes"),
    ]


def test_the_interface_of_an_adapter_is_told_of_once() -> None:
    """An interface on an adapter's PCI device adds nothing to what the adapter says; one of its own does."""
    a, b = (
        Machine(hcas=(hca(),), nics=(Nic(name="ib0", address="0000:c1:00.0", mtu=mtu), Nic(name="eno1", mtu=mtu)))
        for mtu in (1500, 9000)
    )
    assert said(devices(a, b)) == [("eno1 mtu", "1500 B", "9000 B")]
