"""Counters of faults, looked at twice: what rose between the looks says more than what stands there since boot."""

from pydantic import Field

from advisor.machine.machine import Gap, Source
from advisor.machine.value import Value, optional

ONE_LOOK = Gap(
    fact="watch",
    why="the counters were read once: what rises is not known",
    help="run advisor audit on the machine itself, or take a new capture: both look twice",
)


class Count(Value):
    """A counter."""

    total: int = Field(description="its value: since boot, or since it was reset")
    rose: int | None = optional("what came in between the two looks; None after one look, a reset, or at its maximum")


class PortWatch(Value):
    """The error counters of an InfiniBand or RoCE port."""

    name: str = Field(description="adapter and port: mlx5_0 port 1")
    adapter: str = Field(description="mlx5_0")
    port: int
    layer: str | None = optional("infiniband or ethernet")
    symbol_errors: Count | None = optional("symbols that were no symbols, on one lane or more")
    link_recoveries: Count | None = optional("times the link retrained without going down")
    link_downs: Count | None = optional("times the link failed to retrain and went down")
    receive_errors: Count | None = optional("packets received with an error")
    remote_errors: Count | None = optional("packets that the sender marked as bad (EBP)")
    integrity_errors: Count | None = optional("times local physical errors passed the threshold")
    overrun_errors: Count | None = optional("times buffers overran for too long")
    discards: Count | None = optional("packets not sent because the port was down or congested")
    waits: Count | None = optional("ticks in which data waited and none could be sent")
    sent: Count | None = optional("words of four bytes sent")
    sequence_errors: Count | None = optional("sequence errors that receivers answered (packet_seq_err)")
    timeouts: Count | None = optional("answers that did not come in time (local_ack_timeout_err)")


class DeviceWatch(Value):
    """The AER counters of a PCIe device, as seen by itself: its partner on the link may have seen others."""

    name: str = Field(description="PCI address")
    corrected: Count | None = optional("messages of corrected errors of every kind (TOTAL_ERR_COR)")
    link: Count | None = optional("receiver errors, bad TLPs and bad DLLPs: the wire")
    replays: Count | None = optional("replay timeouts and rollovers: packets sent again")
    nonfatal: Count | None = optional("uncorrected errors that lost a transaction (TOTAL_ERR_NONFATAL but UnsupReq, ACSViol)")
    fatal: Count | None = optional("uncorrected errors that lost the link (TOTAL_ERR_FATAL but UnsupReq, ACSViol)")


class MemoryWatch(Value):
    """The ECC counters of a memory controller (EDAC)."""

    name: str = Field(description="mc0")
    controller: str | None = optional("what its driver calls it: Skylake Socket#0 IMC#0")
    corrected: Count | None = optional("errors that ECC corrected")
    uncorrected: Count | None = optional("errors that ECC could not correct")
    worst: str | None = optional("the module with the most corrected errors; None where none has any")


class PackageWatch(Value):
    """How often a processor package was throttled by heat."""

    name: str = Field(description="package 0")
    package: int
    packages: Count | None = optional("times the package as a whole was too hot")
    cores: Count | None = optional("times its cores were too hot, all together")


class GpuWatch(Value):
    """A GPU at one moment, and its ECC counters since its driver started."""

    name: str = Field(description="PCI address")
    held_back: tuple[str, ...] | None = optional(
        "why its clocks are held back now: idle, application clocks, power cap, hardware slowdown, sync boost, "
        "thermal (software), thermal (hardware), power brake, display clocks; () where nothing holds them"
    )
    corrected: int | None = optional("ECC errors corrected since the driver started")
    uncorrected: int | None = optional("ECC errors not corrected since the driver started")


class Watch(Value):
    """Counters of faults at two moments. No part of a Machine: reading them again gives others."""

    seconds: float | None = optional("seconds between the two looks; None where there was one")
    ports: tuple[PortWatch, ...] | None = optional("ports of adapters")
    devices: tuple[DeviceWatch, ...] | None = optional("PCIe devices that count errors (AER)")
    memory: tuple[MemoryWatch, ...] | None = optional("memory controllers that count errors (EDAC)")
    packages: tuple[PackageWatch, ...] | None = optional("packages that count how often they were too hot")
    gpus: tuple[GpuWatch, ...] | None = optional("GPUs whose tool reports them")
    sources: tuple[Source, ...] = ()
    gaps: tuple[Gap, ...] = ()
