"""Counters of faults, looked at twice: what rose between the looks says more than what stands there since boot."""

from advisor.machine.machine import Gap, Source
from advisor.machine.value import Value

ONE_LOOK = Gap(
    fact="watch",
    why="the counters were read only once, so it is not known which are increasing",
    help="run advisor audit on the machine itself, or take a new capture: both read the counters twice",
)


class Count(Value):
    """A counter."""

    total: int
    """its value: since boot, or since it was reset"""
    rose: int | None = None
    """the increase between the two readings; None after one reading, a reset, or at its maximum"""


class PortWatch(Value):
    """The error counters of an InfiniBand or RoCE port."""

    name: str
    """adapter and port: mlx5_0 port 1"""
    adapter: str
    """mlx5_0"""
    port: int
    layer: str | None = None
    """infiniband or ethernet"""
    symbol_errors: Count | None = None
    """invalid symbols, on one or more lanes"""
    link_recoveries: Count | None = None
    """times the link retrained without going down"""
    link_downs: Count | None = None
    """number of times the link failed to retrain and went down"""
    receive_errors: Count | None = None
    """packets received with an error"""
    remote_errors: Count | None = None
    """packets marked as bad by the sender (EBP)"""
    integrity_errors: Count | None = None
    """times local physical errors exceeded the threshold"""
    overrun_errors: Count | None = None
    """times that buffer overruns lasted too long"""
    discards: Count | None = None
    """packets not sent because the port was down or congested"""
    waits: Count | None = None
    """ticks in which data waited but could not be sent"""
    sent: Count | None = None
    """words of four bytes sent"""
    sequence_errors: Count | None = None
    """sequence errors reported by receivers (packet_seq_err)"""
    timeouts: Count | None = None
    """acknowledgements that timed out (local_ack_timeout_err)"""


class DeviceWatch(Value):
    """The AER counters of a PCIe device, as seen by itself: its partner on the link may have seen others."""

    name: str
    """PCI address"""
    corrected: Count | None = None
    """corrected errors of every kind (TOTAL_ERR_COR)"""
    link: Count | None = None
    """receiver errors, bad TLPs and bad DLLPs: link errors"""
    replays: Count | None = None
    """replay timeouts and rollovers: packets sent again"""
    nonfatal: Count | None = None
    """uncorrected errors that lost a transaction (TOTAL_ERR_NONFATAL except UnsupReq, ACSViol)"""
    fatal: Count | None = None
    """uncorrected errors that lost the link (TOTAL_ERR_FATAL except UnsupReq, ACSViol)"""


class MemoryWatch(Value):
    """The ECC counters of a memory controller (EDAC)."""

    name: str
    """mc0"""
    controller: str | None = None
    """the driver's name for it: Skylake Socket#0 IMC#0"""
    corrected: Count | None = None
    """errors that ECC corrected"""
    uncorrected: Count | None = None
    """errors that ECC could not correct"""
    worst: str | None = None
    """the module with the most corrected errors; None if none has any"""


class PackageWatch(Value):
    """How often a processor package was throttled by heat."""

    name: str
    """package 0"""
    package: int
    packages: Count | None = None
    """number of times the whole package was too hot"""
    cores: Count | None = None
    """times its cores were too hot, in total"""


class GpuWatch(Value):
    """A GPU at one moment, and its ECC counters since its driver started."""

    name: str
    """PCI address"""
    held_back: tuple[str, ...] | None = None
    """what currently holds back its clocks: idle, application clocks, power cap, hardware slowdown, sync boost, thermal
    (software), thermal (hardware), power brake, display clocks; () if nothing holds them"""
    corrected: int | None = None
    """ECC errors corrected since the driver started"""
    uncorrected: int | None = None
    """uncorrected ECC errors since the driver started"""


class Watch(Value):
    """Counters of faults at two moments. No part of a Machine: reading them again gives others."""

    seconds: float | None = None
    """seconds between the two readings; None if there was only one"""
    ports: tuple[PortWatch, ...] | None = None
    """ports of adapters"""
    devices: tuple[DeviceWatch, ...] | None = None
    """PCIe devices that count errors (AER)"""
    memory: tuple[MemoryWatch, ...] | None = None
    """memory controllers that count errors (EDAC)"""
    packages: tuple[PackageWatch, ...] | None = None
    """packages that count thermal throttling events"""
    gpus: tuple[GpuWatch, ...] | None = None
    """GPUs whose tool reports fault counters"""
    sources: tuple[Source, ...] = ()
    gaps: tuple[Gap, ...] = ()
