"""Audits written by hand, for the tests of the checklist: the live rules change, these do not."""

from typing import Any

from advisor.advice.bios_files import BiosInput
from advisor.advice.checklist import Sheets, checklist_with, planned
from advisor.advice.know.vendors import publications, settings, vendors
from advisor.advice.model.findings import Audit, Cost, Finding, Row, Want
from advisor.advice.model.plan import Checklist, Plan, WantedSetting
from advisor.advice.model.sheets import Guide
from advisor.advice.plan.make import with_plan
from advisor.machine.hardware import Bios
from advisor.measure.platform import Reference, platform_by_id

HOSTILE = 'n1\n- [x] <script>alert(1)</script> "; rm -rf / # ${f:exec:id} {{ lookup("pipe","id") }} `id` $(id)\x1b[2J'
"""A name that would break out of every kind of file."""


_DELL: dict[str, Any] = {"sockets": 2, "cut": "NPS4", "source": "dell-rome-2019"}
PUBLISHED = tuple(
    Reference.model_validate({**_DELL, **each})
    for each in (
        {"benchmark": "stream-triad", "kind": "gain", "value": "13 %", "memory_speed": "3200 MT/s", "against": "NPS1"},
        {"benchmark": "stream-triad", "value": "270..300 GB/s", "memory_speed": "3200 MT/s", "cpus": ["EPYC 7702", "EPYC 7502"]},
        {"benchmark": "hpl", "of": "cluster", "kind": "share", "value": "90.. %", "against": "peak at base clock"},
        {"benchmark": "osu-bw", "of": "pair", "value": "100 Gb/s", "cores": 1, "fabric": "ConnectX-6 HDR100"},
    )
)
"""Some of what the sheet of EPYC 7002 has: sheets grow, these do not."""


def asks(name: str, setting: str, value: str | None, verdict: str = "finding", **more: Any) -> Finding:
    """Return the finding of a rule that wants one setting."""
    where = settings()[setting].where
    facts: dict[str, Any] = {
        "title": f"{setting} is wrong",
        "topic": "test",
        "severity": "medium",
        "scope": ("mpi",),
        "why": f"Because of {name}.",
        "check": "look at it",
        "refs": ("dell-rome-2019",),
    }
    return Finding(id=name, verdict=verdict, where=where, wants=(Want(setting=setting, value=value),), **{**facts, **more})


def state(name: str, where: str, verdict: str = "finding", **more: Any) -> Finding:
    """Return the finding of a rule that asks for a state that is no setting."""
    facts: dict[str, Any] = {
        "title": f"{name} is wrong",
        "topic": "test",
        "severity": "high",
        "scope": ("mpi",),
        "why": f"Because of {name}.",
        "want": f"{name} as it should be",
        "advice": f"mend {name}",
        "check": f"look at {name}",
        "undo": "nothing to undo",
        "refs": ("dell-rome-2019",),
    }
    return Finding(id=name, verdict=verdict, where=where, **{**facts, **more})


def audit(findings: list[Finding], now: dict[str, str] | None = None, platform: str | None = "rome") -> Audit:
    """Return an audit of a machine whose settings stand at the values given."""
    rows = tuple(
        Row(name=name, term=settings()[name].term, title=settings()[name].title, where=settings()[name].where, current=value)
        for name, value in (now or {}).items()
    )
    words = {"rome": "EPYC 7002 (Rome)", "ice-lake": "Xeon Scalable 3rd generation (Ice Lake)", "milan": "EPYC 7003 (Milan)"}
    return Audit(scope="mpi", platform=words.get(platform or ""), platform_id=platform, findings=tuple(findings), settings=rows)


def listed(
    findings: list[Finding],
    now: dict[str, str] | None = None,
    platform: str | None = "rome",
    *,
    vendor: str = "dell",
    machine: str | None = "node042, Dell Inc. PowerEdge C6525",
    bios: Bios | None = None,
    **more: Any,
) -> Checklist:
    """Return the checklist of such an audit."""
    return wished(findings, now, platform, vendor=vendor, machine=machine, bios=bios, **more)[0]


def wished(
    findings: list[Finding],
    now: dict[str, str] | None = None,
    platform: str | None = "rome",
    *,
    vendor: str = "dell",
    machine: str | None = "node042, Dell Inc. PowerEdge C6525",
    bios: Bios | None = None,
    **more: Any,
) -> tuple[Checklist, tuple[WantedSetting, ...]]:
    """Return the checklist of such an audit, and the wishes of its lines."""
    sheet = platform_by_id(platform).model_copy(update={"references": PUBLISHED}) if platform else None
    sheets = Sheets(settings(), vendors()[vendor], publications(), bios, platform=sheet, **more)
    return checklist_with(audit(findings, now, platform), sheets, machine)


def sample(machine: str | None = "node042, Dell Inc. PowerEdge C6525", vendor: str = "dell") -> Checklist:
    """Return a checklist that has something of everything, as its plan has it."""
    return planned_sample(machine, vendor)[0]


def planned_sample(
    machine: str | None = "node042, Dell Inc. PowerEdge C6525", vendor: str = "dell", *include: Any
) -> tuple[Checklist, Plan]:
    """Return the checklist that has something of everything, and its plan."""
    checklist, wishes = wished(*SAMPLE, vendor=vendor, machine=machine)
    plan = planned(checklist, wishes, vendors()[vendor], BiosInput(), include)
    return with_plan(checklist, plan, vendors()[vendor]), plan


def _sample() -> tuple[list[Finding], dict[str, str]]:
    """Return findings of every kind, and what the machine stands at."""
    guides = (Guide(says="linear, for simplicity", ref="dell-rome-2019"), Guide(says="linear", ref="weka-bios-tool"))
    findings = [
        asks(
            "numa-nps",
            "numa.nps",
            "4",
            severity="high",
            cost=Cost(gain=0.13, of="triad", basis="published", ref="dell-rome-2019"),
        ),
        asks("cpu-order", "cpu.enumeration", "linear", severity="info", guides=guides, spare="Launchers that read the topology."),
        asks("cpu-smt", "cpu.smt", "off", "pass", severity="low"),
        asks("boost-off", "power.boost", "on", "unknown", severity="high"),
        asks("iommu", "boot.iommu", "pt"),
        asks("balancing", "os.numa_balancing", "off"),
        asks("thp", "os.thp", "always", "pass"),
        asks("thp-defrag", "os.thp_defrag", "madvise", "unknown", severity="info"),
        asks("memlock", "limits.memlock", "unlimited"),
        asks("irqs", "os.irqbalance", "off"),
        asks("free", "os.min_free", "138412032", severity="low"),
        asks("idle", "os.idle_states", "shallow", severity="info"),
        asks("profile", "os.tuned", "hpc-compute"),
        state(
            "channels",
            "hardware",
            claim="socket 1 has 7 of 8",
            subject="socket 1",
            check="dmidecode -t memory | grep -E 'Locator|Size'",
        ),
        state("slurm-line", "scheduler", "unknown", check="slurmd -C shows ?"),
        state("cable", "fabric", "pass"),
        state("not-here", "job", "not-applicable"),
    ]
    now = {"numa.nps": "1", "cpu.enumeration": "round-robin", "cpu.smt": "off", "boot.iommu": "default"}
    now |= {"os.numa_balancing": "on", "os.thp": "always", "limits.memlock": "limited", "os.irqbalance": "on"}
    now |= {"os.min_free": "67584000", "os.idle_states": "all", "os.tuned": "balanced"}
    return findings, now


SAMPLE = _sample()
