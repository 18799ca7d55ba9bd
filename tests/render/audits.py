"""An audit made by hand for what is drawn of it: every verdict, every kind of step, every kind of setting."""

from typing import Any

from advisor.advice.model.findings import Audit, Cost, Evidence, Finding, Fix, Lack, Row, Want
from advisor.advice.model.sheets import SCOPES, Guide, Publication
from advisor.machine.machine import NOT_OFFERED, Gap

BIOS_HELP = "give the BIOS attributes: advisor audit --bios FILE (a Redfish Bios resource)"
ROOT_HELP = "run as root: sudo advisor audit, or sudo advisor capture"

PUBLICATIONS = {
    "dell-rome-2019": Publication(title="AMD Rome - is it for real?", by="Dell EMC", year=2019, where="https://example.org/rome"),
    "amd-58002": Publication(title="HPC tuning guide for EPYC 7003", by="AMD", year=2021, where="58002.pdf"),
}


def finding(name: str, severity: str = "medium", verdict: str = "finding", **more: Any) -> Finding:
    """Return a verdict of a rule of a name."""
    given = {"title": f"Title of {name}", "topic": name.partition("-")[0], "scope": SCOPES, "where": "os", **more}
    return Finding.model_validate({"id": name, "verdict": verdict, "severity": severity, **given})


def nps(socket: int) -> Finding:
    """Return the costliest finding, on one socket."""
    return finding(
        "numa-nps-below-best",
        "high",
        where="bios",
        title="NUMA nodes per socket (NPS) below the best value for this workload",
        subject=f"socket {socket}",
        claim="NUMA partitioning is NPS1; EPYC 7002 (Rome) with 8 dies offers NPS4",
        why="With fewer nodes, memory is interleaved over more channels, some of them farther away.",
        evidence=(
            Evidence(fact="platform.scheme", value="NPS", where="rules/platforms/rome.yaml"),
            Evidence(fact="layout.cut.nodes_per_socket", value="1", where="/sys/devices/system"),
        ),
        cost=Cost(gain=0.13, of="STREAM triad against NPS1", basis="published", ref="dell-rome-2019"),
        wants=(Want(setting="numa.nps", value="4"),),
        fix=(
            Fix(
                setting="numa.nps",
                value="4",
                text="BIOS: System BIOS > Processor Settings > NUMA Nodes Per Socket: 4 (NumaNodesPerSocket=4)",
                where="bios",
                menu="System BIOS > Processor Settings > NUMA Nodes Per Socket",
                attribute="NumaNodesPerSocket",
                attribute_value="4",
                commands=("racadm set BIOS.ProcSettings.NumaNodesPerSocket 4",),
                apply=("racadm jobqueue create BIOS.Setup.1-1",),
                before=("SysProfile = Custom: the profile locks it",),
                notes=("0 is offered only with two sockets",),
                reboot="yes",
                check="lscpu | grep NUMA",
                undo="set it back to 1",
                verified=True,
            ),
        ),
        check="advisor topology",
        spare="One process that fills the memory.",
        guides=(Guide(says="the highest the processor offers", ref="dell-rome-2019"),),
        refs=("dell-rome-2019", "amd-58002"),
    )


def audit() -> Audit:
    """Return an audit in which everything occurs."""
    return Audit(
        scope="mpi",
        platform="EPYC 7002 (Rome)",
        platform_id="rome",
        vendor="dell",
        findings=(*_costly(), *_cheap(), *_others()),
        settings=_settings(),
        unseen=(
            Gap(fact="memory.dimms", why="permission denied", help=ROOT_HELP),
            Gap(fact="cpu.idle_states", why="not present", help=NOT_OFFERED),
        ),
    )


def _costly() -> tuple[Finding, ...]:
    return (
        nps(0),
        nps(1),
        finding(
            "os-numa-balancing-on",
            claim="automatic NUMA balancing is on; it unmaps pages of running programs to see who uses them",
            evidence=(Evidence(fact="kernel.numa_balancing", value="1", where="/proc/sys/kernel/numa_balancing"),),
            cost=Cost(gain=0.02, of="HPL", basis="published", ref="amd-58002"),
            fix=(Fix(text="sysctl -w kernel.numa_balancing=0", where="os", commands=("sysctl -w kernel.numa_balancing=0",)),),
        ),
        finding(
            "fabric-link-narrow",
            "high",
            where="hardware",
            subject="mlx5_0",
            claim="mlx5_0 runs at PCIe 3.0 x8, the card could do x16",
            evidence=(
                Evidence(fact="adapter.link.width", value="8", where="/sys/bus/pci/devices/0000:a1:00.0/current_link_width"),
            ),
            cost=Cost(gain=0.5, of="bandwidth", basis="computed"),
            advice="seat mlx5_0 in a slot of x16",
        ),
    )


def _cheap() -> tuple[Finding, ...]:
    quiet = tuple(finding(f"os-known-{at}", "info", claim=f"thing {at} is worth knowing") for at in range(6))
    slow = tuple(
        finding(
            "pci-requests-small", "low", subject=f"0000:{at:02x}:00.0", claim="reads are asked for in 128 B", advice=f"do {at}"
        )
        for at in range(1, 5)
    )
    return (*quiet, *slow)


def _others() -> tuple[Finding, ...]:
    lack = Lack(fact="setting.cpu.boost", why="not reported by the operating system", help=BIOS_HELP)
    return (
        finding("cpu-smt-on", "low", "waived", claim="SMT is on", waived="login node (until 2030-01-01)"),
        finding("cpu-odd", "low", "error", claim="division by zero in a / b"),
        finding("cpu-boost-off", "high", "unknown", lacks=(lack,), wants=(Want(setting="cpu.boost", value="on"),)),
        finding(
            "memory-dimm-missing", "high", "unknown", lacks=(Lack(fact="memory.dimms", why="permission denied", help=ROOT_HELP),)
        ),
        finding("os-swap", "low", "pass"),
        finding("gpu-far", "low", "not-applicable", claim="there is nothing in accelerators"),
    )


def _settings() -> tuple[Row, ...]:
    def row(name: str, term: str, title: str, **more: Any) -> Row:
        given = {"where": "bios", "confidence": "high" if more.get("current") else None, "how": "the kernel's own list", **more}
        return Row.model_validate({"name": name, "term": term, "title": title, **given})

    return (
        row("numa.nps", "NPS", "NUMA nodes per socket", current="1", wanted="4", rules=("numa-nps-below-best",), met=False),
        row("cpu.smt", "SMT", "hardware threads, Hyper-Threading", current="on", bios="on", pending="off"),
        row("cpu.boost", "boost", "turbo", wanted="on", rules=("cpu-boost-off",)),
        row("fabric.preferred_io", "Preferred I/O", "one PCI bus first"),
        row("os.thp", "transparent hugepages", "THP", where="os", current="always", wanted="always", rules=("os-thp",), met=True),
        row(
            "os.numa_balancing",
            "kernel.numa_balancing",
            "automatic NUMA balancing",
            where="os",
            current="on",
            wanted="off",
            rules=("os-numa-balancing-on",),
            met=False,
        ),
        row("os.swappiness", "vm.swappiness", "tendency to swap", where="os", current="60"),
    )
