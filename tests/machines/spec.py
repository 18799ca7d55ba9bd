"""What a machine is: the description from which its files are made."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

GIB = 1 << 20
"""A GiB in KiB, in which the kernel counts memory."""


@dataclass(frozen=True)
class Cache:
    """A cache: KiB and ways."""

    kib: int
    ways: int


@dataclass(frozen=True)
class Processor:
    """What all CPUs of one generation share."""

    vendor: str
    family: int
    model: int
    stepping: int
    microcode: str
    l1d: Cache
    l1i: Cache
    l2: Cache
    l3: Cache
    driver: str
    flags: tuple[str, ...]

    @property
    def amd(self) -> bool:
        """Whether AMD made it."""
        return self.vendor == "AuthenticAMD"


@dataclass(frozen=True)
class Core:
    """A core: its package, NUMA node, L3 group (counted inside its package; None without one) and CPU numbers."""

    package: int
    node: int
    l3: int | None
    core_id: int
    pus: tuple[int, ...]
    die: int = 0


@dataclass(frozen=True)
class Access:
    """What the HMAT says of the best access to a memory: nanoseconds and MiB/s."""

    latency: int
    bandwidth: int


@dataclass(frozen=True)
class Node:
    """A NUMA node; one without cores is memory alone, nearest to the CPU nodes in ``near``."""

    number: int
    kib: int
    kind: str = "dram"
    near: tuple[int, ...] = ()
    access: Access | None = None
    side_cache: int | None = None
    """Bytes of memory-side cache: HBM in cache mode."""
    cpus_of: int | None = None
    """The node whose CPUs this one shows too, as numa=fake makes it."""


@dataclass(frozen=True)
class Hca:
    """An RDMA device with one port, as /sys/class/infiniband shows it."""

    name: str
    kind: str
    firmware: str
    board: str
    rate: str
    guid: str = "0c42:a103:00aa:bbc0"
    layer: str = "InfiniBand"
    state: str = "4: ACTIVE"
    physical: str = "5: LinkUp"
    lid: str = "0x1a"


@dataclass(frozen=True)
class Net:
    """A network interface."""

    name: str
    mac: str
    kind: int = 1
    mtu: int = 1500
    mbit: int = 1000


@dataclass(frozen=True)
class Device:
    """A PCI device below a root port of the node it hangs off; ``says`` is its numa_node where firmware tells another."""

    node: int
    pci_class: int
    vendor: int
    device: int
    driver: str
    speed: str = "8.0 GT/s PCIe"
    width: int = 16
    subsystem: tuple[int, int] = (0, 0)
    functions: int = 1
    hcas: tuple[Hca, ...] = ()
    nets: tuple[Net, ...] = ()
    says: int | None = None
    bus: int | None = None
    """The PCI bus that it is on, where that is not the next one below its node's root."""
    tiles: int = 0
    """Of an Intel GPU: its tiles, as i915 shows them."""
    cxi: str | None = None
    """What the driver of Slingshot adapters calls it."""


@dataclass(frozen=True)
class Dmi:
    """The names that the maker gave."""

    maker: str
    product: str
    board: str
    bios: str
    chassis: str = "23"


@dataclass(frozen=True)
class Dimm:
    """A slot of memory; 0 MiB where it is empty."""

    socket: int
    locator: str
    mib: int
    mts: int
    kind: int = 0x1A
    """SMBIOS memory type: 0x1A DDR4, 0x22 DDR5."""


@dataclass(frozen=True)
class Cgroup:
    """The part of the machine that a job's cgroup allows."""

    version: int
    path: str
    cpus: frozenset[int]
    mems: frozenset[int]


@dataclass(frozen=True)
class Kernel:
    """What the operating system was told and what it did."""

    release: str = "4.18.0-553.el8_10.x86_64"
    cmdline: str = ""
    offline: frozenset[int] = frozenset()
    isolated: frozenset[int] = frozenset()
    smt_control: str | None = None
    cgroup: Cgroup | None = None
    hypervisor: bool = False


@dataclass(frozen=True)
class Spec:
    """A machine. ``firmware`` is what its firmware's tables describe, where the kernel sees something else."""

    host: str
    processor: Processor
    model: str
    khz: tuple[int, int, int]
    """Lowest, nominal and highest clock."""
    cores: tuple[Core, ...]
    nodes: tuple[Node, ...]
    slit: tuple[tuple[int, ...], ...]
    dmi: Dmi
    dimms: tuple[Dimm, ...] = ()
    devices: tuple[Device, ...] = ()
    buses: Mapping[int, int] = field(default_factory=dict)
    """The number of the PCI root bus of a node."""
    possible: int = 64
    """How wide the kernel's CPU masks are."""
    kernel: Kernel = Kernel()
    firmware: "Spec | None" = None

    @cached_property
    def live(self) -> tuple[Core, ...]:
        """The cores without their CPUs that are offline."""
        left = (replace(core, pus=tuple(pu for pu in core.pus if pu not in self.kernel.offline)) for core in self.cores)
        return tuple(core for core in left if core.pus)

    @cached_property
    def present(self) -> tuple[int, ...]:
        """All CPU numbers, offline ones too."""
        return tuple(sorted(pu for core in self.cores for pu in core.pus))

    @cached_property
    def core_of(self) -> dict[int, Core]:
        """The core of each CPU that is online, in the order of the CPUs."""
        return dict(sorted((pu, core) for core in self.live for pu in core.pus))

    @cached_property
    def threads(self) -> int:
        """The most CPUs online of a core."""
        return max(len(core.pus) for core in self.live)

    @cached_property
    def package_pus(self) -> dict[int, list[int]]:
        """The CPUs of each package."""
        return self._by("package")

    @cached_property
    def node_pus(self) -> dict[int, list[int]]:
        """The CPUs of each node; nodes without are absent."""
        return self._by("node")

    @cached_property
    def l3_pus(self) -> dict[tuple[int, int], list[int]]:
        """The CPUs of each L3 group, by package and number in it."""
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for pu, core in self.core_of.items():
            if core.l3 is not None:
                groups[core.package, core.l3].append(pu)
        return dict(groups)

    @cached_property
    def l3_ids(self) -> dict[tuple[int, int], int]:
        """The number of each L3 group in the machine, in the order of their first CPUs."""
        return {group: number for number, group in enumerate(self.l3_pus)}

    @cached_property
    def die_pus(self) -> dict[tuple[int, int], list[int]]:
        """The CPUs of each die, by package and number in it."""
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for pu, core in self.core_of.items():
            groups[core.package, core.die].append(pu)
        return dict(groups)

    def cpus(self, node: Node) -> list[int]:
        """Return the CPUs that a node shows."""
        return self.node_pus.get(node.number if node.cpus_of is None else node.cpus_of, [])

    def _by(self, attribute: str) -> dict[int, list[int]]:
        groups: dict[int, list[int]] = defaultdict(list)
        for pu, core in self.core_of.items():
            groups[getattr(core, attribute)].append(pu)
        return dict(groups)
