"""What rules once said wrongly of whole machines, each in a sentence."""

from collections.abc import Iterable

import pytest

from advisor.advice.judgement import judged
from advisor.advice.model.findings import Finding
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu, Firmware, Gpu, Hca, IdleState, Link, Locality, PciDevice, Port
from advisor.machine.machine import Allocation, Environment, Iommu, Kernel, Limits, Machine, Tool
from advisor.measure.platform import Scope
from tests.model.shapes import shape

ROME = Cpu(vendor="AuthenticAMD", family=23, model=49, model_name="AMD EPYC 7402 24-Core Processor", flags=("cpb",))
SKYLAKE = Cpu(vendor="GenuineIntel", family=6, model=85, stepping=4, model_name="Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz")
REAL = Environment(virtual="none", container="none")
ACTIVE = Port(number=1, state="active", link_layer="infiniband", rate=200 * 10**9, rate_name="4X HDR", lid=7)
NPS1 = shape(2, 1, 8, 24)
NO_GPU: tuple[Gpu, ...] = ()


def machine(cpu: Cpu = ROME, **facts: object) -> Machine:
    """Return a server of two sockets on real hardware with some facts."""
    return Machine.model_validate(
        {"architecture": "x86_64", "environment": REAL, "topology": NPS1, "cpu": cpu, "gpus": NO_GPU, "hcas": (), "pci": ()}
        | facts
    )


def states(*told: tuple[str, int], off: Iterable[str] = ()) -> tuple[IdleState, ...]:
    """Return idle states by name and latency; some are switched off on every CPU."""
    every = NPS1.pus
    return tuple(IdleState(name=name, latency=us, disabled=every if name in off else CpuSet()) for name, us in told)


def found(this: Machine, rule: str, scope: Scope = "mpi") -> Finding:
    """Return the one finding, or other verdict, of a rule on a machine."""
    (finding,) = [each for each in judged(this, scope).audit.findings if each.id == rule]
    return finding


SKX = (("POLL", 0), ("C1", 2), ("C1E", 10), ("C6", 133))


def test_c1_of_two_microseconds_stays_when_deep_states_are_switched_off() -> None:
    """On Skylake the fix names C1 among those that stay, and once it is done nothing is left to find."""
    deep = found(machine(SKYLAKE.model_copy(update={"idle_states": states(*SKX)})), "power-cstates-deep")
    assert (deep.verdict, "POLL|C1|" in deep.fix[0].commands[0]) == ("finding", True)
    mended = machine(SKYLAKE.model_copy(update={"idle_states": states(*SKX, off=("C1E", "C6"))}))
    assert {found(mended, rule).verdict for rule in ("power-cstates-deep", "power-idle-poll-only")} == {"pass"}


def test_a_machine_with_poll_alone_is_a_finding() -> None:
    """What cpupower idle-set -D 2 leaves on Skylake is said, with the CPUs."""
    spoilt = machine(SKYLAKE.model_copy(update={"idle_states": states(*SKX, off=("C1", "C1E", "C6"))}))
    finding = found(spoilt, "power-idle-poll-only")
    assert (finding.verdict, str(NPS1.pus) in (finding.claim or "")) == ("finding", True)


def test_memlock_of_a_job_is_mended_in_slurmds_unit() -> None:
    """No line of limits.d is written for a job."""
    job = machine(
        hcas=(Hca(name="mlx5_0", ports=(ACTIVE,)),),
        limits=Limits(memlock=8 << 20),
        allocation=Allocation(scheduler="slurm", job="7"),
    )
    finding = found(job, "os-memlock-job")
    lines = " ".join(line for fix in finding.fix for line in fix.commands)
    assert ("LimitMEMLOCK=" in lines, "limits.d" in lines) == (True, False)


def test_a_small_limit_of_slurmd_is_found_from_outside_of_a_job() -> None:
    """An audit run by root over ssh sees what jobs will get."""
    node = machine(
        hcas=(Hca(name="mlx5_0", ports=(ACTIVE,)),),
        limits=Limits(memlock=-1, slurmd_memlock=64 << 10),
        tools=(Tool(name="slurm"),),
    )
    assert found(node, "os-memlock-slurmd").verdict == "finding"


@pytest.mark.parametrize(
    ("flags", "rule", "expected"),
    [
        (("fpu",), "power-governor-follows-load", "finding"),
        (("fpu",), "power-epp-balanced", "not-applicable"),
        (("hwp", "hwp_epp"), "power-governor-follows-load", "not-applicable"),
        (("hwp", "hwp_epp"), "power-epp-balanced", "finding"),
    ],
)
def test_under_intel_pstate_the_governor_counts_without_hwp_and_the_preference_with_it(
    flags: tuple[str, ...], rule: str, expected: str
) -> None:
    """Governor powersave of intel_pstate is one thing or the other, and the rule that applies says which."""
    told = {"flags": flags, "driver": "intel_pstate", "governors": ("powersave",)}
    told |= {"epp": ("balance_performance",)} if "hwp" in flags else {}
    assert found(machine(SKYLAKE.model_copy(update=told)), rule).verdict == expected


@pytest.mark.parametrize(
    ("deep", "scope", "expected"),
    [(True, "mpi", "throughput-performance"), (False, "mpi", "hpc-compute"), (True, "latency", "hpc-compute")],
)
def test_hpc_compute_is_not_advised_beside_deep_idle_states(deep: bool, scope: Scope, expected: str) -> None:
    """It would hold every core in C1; where latency is what counts, that is meant."""
    idle = states(*SKX, off=() if deep else ("C1E", "C6"))
    node = machine(SKYLAKE.model_copy(update={"idle_states": idle}), kernel=Kernel(tuned="balanced"))
    assert [want.value for want in found(node, "os-tuned-saving", scope).wants] == [expected]


def test_cores_held_in_c1_by_tuned_are_seen() -> None:
    """Deep states are enabled and not used: PM QoS is named with what tuned asks for."""
    kernel = Kernel(tuned="hpc-compute", tuned_latency="cstate.id_no_zero:1|3")
    held = machine(SKYLAKE.model_copy(update={"idle_states": states(*SKX)}), kernel=kernel)
    assert found(held, "power-cstates-deep").verdict == "pass"
    assert "cstate.id_no_zero:1|3" in (found(held, "os-tuned-holds-c1").claim or "")


GB10 = Cpu(vendor="0x41", boost=False, max_hz=3_900_000_000, boost_headroom=0.027)
I3 = Cpu(vendor="GenuineIntel", family=6, model=158, model_name="Intel(R) Core(TM) i3-9100 CPU @ 3.60GHz", boost=False,
         max_hz=3_600_000_000, base_hz=3_600_000_000, boost_headroom=0.0)  # fmt: skip


@pytest.mark.parametrize(("cpu", "architecture"), [(GB10, "aarch64"), (I3, "x86_64")], ids=["gb10", "core i3"])
def test_boost_off_is_no_finding_where_there_is_no_clock_above_the_base(cpu: Cpu, architecture: str) -> None:
    """There is nothing to win."""
    assert found(machine(cpu, architecture=architecture), "power-boost-off").verdict == "not-applicable"


def test_the_cost_of_boost_off_is_this_machines_own() -> None:
    """Part of the highest clock that its own base clock lacks, and none where they are not known."""
    told = {"boost": False, "boost_headroom": 0.25}
    cost = found(machine(ROME.model_copy(update=told)), "power-boost-off").cost
    assert cost is not None
    assert cost.basis == "computed"
    assert cost.gain == pytest.approx(0.2)
    bare = found(machine(ROME.model_copy(update={"boost": False})), "power-boost-off").cost
    assert bare is None or bare.gain is None


@pytest.mark.parametrize(
    ("cmdline", "rule"),
    [("intel_idle.max_cstate=0", "os-intel-idle-off"), ("intel_idle.max_cstate=1", "os-cstates-limited")],
)
def test_intel_idle_max_cstate_0_is_not_said_to_hold_c1(cmdline: str, rule: str) -> None:
    """It switches the driver off, and acpi_idle takes over; 1 holds C1."""
    key, value = cmdline.split("=")
    node = machine(SKYLAKE, kernel=Kernel(cmdline=((key, value),)))
    verdicts = {name: found(node, name).verdict for name in ("os-intel-idle-off", "os-cstates-limited")}
    assert verdicts == {name: "finding" if name == rule else "pass" for name in verdicts}


@pytest.mark.parametrize("rule", ["os-idle-poll", "os-cstates-limited"])
def test_costs_measured_on_naples_are_not_quoted_for_rome(rule: str) -> None:
    """The two to nine per cent were seen on EPYC 7001."""
    node = machine(
        ROME.model_copy(update={"idle_driver": "acpi_idle"}),
        kernel=Kernel(cmdline=(("idle", "poll"), ("processor.max_cstate", "1"))),
    )
    finding = found(node, rule)
    assert finding.verdict == "finding"
    assert finding.cost is None or finding.cost.gain is None


def test_hosts_of_accelerators_before_genoa_are_shown_both_guides() -> None:
    """Eight MI50 beside EPYC 7402 at NPS1: no finding of 13 %, but what guides say; second threads are info."""
    gpus = tuple(Gpu(address=f"0000:{bus:02x}:00.0", vendor="amd") for bus in range(8))
    node = machine(gpus=gpus, topology=shape(2, 1, 8, 24, threads=2))
    assert [found(node, rule).verdict for rule in ("numa-nps-below-best", "cpu-smt-on")] == ["not-applicable"] * 2
    told = [found(node, rule) for rule in ("numa-nps-accelerators", "cpu-smt-on-accelerators")]
    assert [(each.verdict, each.severity) for each in told] == [("finding", "info")] * 2


@pytest.mark.parametrize(("cores", "expected"), [(12, "pass"), (20, "finding")])
def test_snc_is_wanted_only_of_models_that_are_known_to_offer_it(cores: int, expected: str) -> None:
    """It was seen on 20 and 24 cores; of 12 nobody has shown it."""
    node = machine(SKYLAKE, topology=shape(2, 1, 1, cores))
    assert found(node, "numa-snc-off").verdict == expected


def test_two_sockets_count_a_bios_setting_once() -> None:
    """One attribute is wrong, so one finding is made and one gain counted."""
    finding = found(machine(), "numa-nps-below-best")
    assert (finding.verdict, finding.subject) == ("finding", None)


@pytest.mark.parametrize(
    ("iommu", "expected"),
    [
        (Iommu(units=("ivhd0",), types=("identity",)), "pass"),
        (Iommu(units=("ivhd0",), types=("DMA-FQ",)), "finding"),
        (Iommu(units=()), "not-applicable"),
        (None, "unknown"),
    ],
)
def test_the_iommu_is_judged_by_what_the_kernel_shows(iommu: Iommu | None, expected: str) -> None:
    """The groups' types count, not the command line: the kernel may have been built either way."""
    node = machine(hcas=(Hca(name="mlx5_0", ports=(ACTIVE,)),), iommu=iommu, kernel=Kernel(cmdline=(("quiet", None),)))
    assert found(node, "io-iommu-translation").verdict == expected


@pytest.mark.parametrize(("ports", "expected"), [(("0000:62:00.0",), "finding"), ((), "pass"), (None, "unknown")])
def test_acs_is_judged_by_the_ports_registers(ports: tuple[str, ...] | None, expected: str) -> None:
    """What is not root does not know."""
    gpus = (Gpu(address="0000:63:00.0", vendor="nvidia"),)
    node = machine(
        hcas=(Hca(name="mlx5_0", ports=(ACTIVE,)),), gpus=gpus, iommu=None if ports is None else Iommu(redirecting=ports)
    )
    assert found(node, "io-acs").verdict == expected


def test_the_adapters_own_ordering_comes_before_the_bios() -> None:
    """PCI_WR_ORDERING, which ADVANCED_PCI_SETTINGS shows, is named first."""
    card = PciDevice(
        address="0000:61:00.0", kind="hca", class_code=0x020700, vendor=0x15B3, device=0x101B, relaxed_ordering=False
    )
    node = machine(hcas=(Hca(name="mlx5_0", address="0000:61:00.0", ports=(ACTIVE,)),), pci=(card,))
    text = " ".join(fix.text for fix in found(node, "io-relaxed-ordering").fix)
    assert 0 <= text.index("ADVANCED_PCI_SETTINGS") < text.index("PCI_WR_ORDERING") < text.index("BIOS")


def socket_direct(*boards: int | None) -> Machine:
    """Return a server with two functions of 200 Gb/s in slots of PCIe 3.0 x16."""
    half = Link(speed=8e9, width=16, bandwidth=15_754_000_000)
    full = Link(speed=16e9, width=16, bandwidth=31_508_000_000)
    places = ("0000:12:00.0", "0000:81:00.0")
    pci = tuple(
        PciDevice(address=at, kind="hca", class_code=0x020700, vendor=0x15B3, device=0x101B, card=full, path=half, link=half)
        for at in places
    )
    hcas = tuple(
        Hca(name=f"mlx5_{n}", address=at, board=board, ports=(ACTIVE,), locality=Locality(numa_nodes=(n,)))
        for n, (at, board) in enumerate(zip(places, boards, strict=True))
    )
    return machine(pci=pci, hcas=hcas)


@pytest.mark.parametrize(("boards", "expected"), [((0, 0), "pass"), ((0, 1), "finding"), ((None, None), "unknown")])
def test_a_socket_direct_card_is_not_below_its_ports_rate(boards: tuple[int | None, int | None], expected: str) -> None:
    """Two slots of 126 Gb/s carry one port of 200; two cards of one slot each do not."""
    verdicts = {each.verdict for each in judged(socket_direct(*boards)).audit.findings if each.id == "io-adapter-below-rate"}
    assert verdicts == {expected}


def test_two_of_four_rails_down_are_counted_as_two() -> None:
    """Each card that is down says how many are missing of how many."""
    down = Port(number=1, state="down", link_layer="infiniband", lid=65535)
    places = ("0000:21:00.0", "0000:41:00.0", "0000:81:00.0", "0000:a1:00.0")
    pci = tuple(PciDevice(address=at, kind="hca", class_code=0x020700, vendor=0x15B3, device=0x101B) for at in places)
    hcas = tuple(Hca(name=f"mlx5_{n}", address=at, ports=(down if n < 2 else ACTIVE,)) for n, at in enumerate(places))
    audit = judged(machine(pci=pci, hcas=hcas)).audit
    claims = [each.claim or "" for each in audit.findings if each.id == "fabric-rail-down" and each.verdict == "finding"]
    assert [claim.rpartition(": ")[2] for claim in claims] == ["2 of 4 rails missing"] * 2


def test_offline_cpus_are_counted_of_all_cpus() -> None:
    """Seven of 24 are 29 %, not 41 % of what is left."""
    topology = shape(1, 1, 1, 17).model_copy(update={"missing": CpuSet(range(17, 24))})
    finding = found(machine(topology=topology), "cpu-cores-offline")
    assert finding.cost is not None
    assert finding.claim == "7 of 24 CPUs are offline: 17-23"
    assert finding.cost.gain == pytest.approx(7 / 24)


def test_an_input_without_distances_is_not_said_to_lack_a_slit() -> None:
    """An XML may leave them out; only the firmware's own tables tell."""
    assert found(machine(), "numa-distances-absent").verdict == "unknown"


@pytest.mark.parametrize(
    ("product", "vendor", "rule"),
    [
        ("PowerEdge R6525", "Dell Inc.", "numa-enumeration-round-robin"),
        ("ProLiant DL385 Gen10 Plus", "HPE", "numa-enumeration-fixed"),
        ("R282-Z90-00", "GIGABYTE", "numa-enumeration-fixed"),
    ],
)
def test_the_order_of_cpu_numbers_is_asked_of_servers_that_have_the_option(product: str, vendor: str, rule: str) -> None:
    """Only Dell's BIOS offers it, from 15G on; on others the launcher is told to bind by topology."""
    node = machine(firmware=Firmware(system_vendor=vendor, product=product))
    applies = {
        name
        for name in ("numa-enumeration-round-robin", "numa-enumeration-fixed")
        if found(node, name).verdict != "not-applicable"
    }
    assert applies == {rule}
