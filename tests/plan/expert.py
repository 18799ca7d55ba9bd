"""What an expert would change for MPI on twelve servers as they were published, each setting with its guide.

The servers are put together from the facts of tests/know/seen: the attributes that the sheets name, and what they are set to. The
whole captures are in weka/tools, bios_tool/defaults-db.yml (commit 99eed0d), and in NVIDIA/libredfish, tests/mockups (c094c9e).
"""

from pathlib import Path
from typing import Any, NamedTuple

from advisor.advice.bios_files import BiosInput, firmware_from
from advisor.advice.know.fixes import neutral_values
from advisor.advice.know.vendors import vendors
from advisor.advice.model.plan import Owner
from advisor.advice.plan.draft import FirmwareState, moved
from advisor.bios.plan import PlannedBios, plan_bios
from advisor.machine.hardware import Bios, Scalar
from advisor.measure.platform import IntentName
from tests.know.registries import facts
from tests.plan.laws import broken
from tests.plan.made import choice, registry

R750_LOCKED: dict[str, Any] = {
    "SysProfile": "PerfPerWattOptimizedDapc", "ProcPwrPerf": "SysDbpm", "ProcC1E": "Enabled", "ProcCStates": "Enabled",
    "UncoreFrequency": "DynamicUFS", "EnergyPerformanceBias": "BalancedPerformance", "CpuInterconnectBusLinkPower": "Enabled",
    "PcieAspmL1": "Enabled", "MonitorMwait": "Enabled", "MemFrequency": "MaxPerf", "ProcTurboMode": "Enabled",
    "MemPatrolScrub": "Standard", "MemRefreshRate": "1x", "WorkloadProfile": "NotConfigured", "LogicalProc": "Enabled",
    "SubNumaCluster": "Disabled", "NodeInterleave": "Disabled", "MadtCoreEnumeration": "RoundRobin", "ProcX2Apic": "Enabled",
    "ProcVirtualization": "Enabled", "SriovGlobalEnable": "Enabled", "MemoryEncryption": "Disabled",
}  # fmt: skip
"""A PowerEdge R750 with BIOS 1.13.2 whose registry has most attributes read-only, but sub-NUMA clusters."""


class Server(NamedTuple):
    """A published server: whose it is, where its facts are, and whether its registry was published."""

    owner: Owner
    vendor: str
    evidence: str
    checked: bool
    wanted: dict[str, tuple[str, str]]
    """Setting -> the value that an expert would give it, and the guide."""


def _owner(vendor: str, model: str, processor: str, sockets: int = 2) -> Owner:
    return Owner(vendor=vendor, model=model, processor=processor, sockets=sockets)


GENOA = "AMD EPYC 9354P 32-Core Processor"
SERVERS: dict[str, Server] = {
    "R6615": Server(
        _owner("Dell Inc.", "PowerEdge R6615", "AMD EPYC 9454P 48-Core Processor", 1),
        "dell",
        "capture R6615 BIOS 1.7.2",
        False,
        {
            "cpu.smt": ("off", "amd-58002"),
            "numa.nps": ("4", "amd-perftune"),
            "fabric.dfcstates": ("off", "amd-perftune"),
            "fabric.apbdis": ("on", "rst-hpc-recipe"),
            "io.link_speed": ("gen5", "rst-hpc-recipe"),
        },
    ),
    "R670": Server(
        _owner("Dell Inc.", "PowerEdge R670", "Intel(R) Xeon(R) 6710E"),
        "dell",
        "capture R670 BIOS 1.3.2",
        False,
        {
            "power.profile": ("performance", "weka-bios-tool"),
            "cpu.enumeration": ("linear", "intel-mlperf-notes"),
            "power.efficient_turbo": ("off", "weka-bios-tool"),
        },
    ),
    "DL325 Gen10 Plus": Server(
        _owner("HPE", "ProLiant DL325 Gen10 Plus", "AMD EPYC 7702P 64-Core Processor", 1),
        "hpe",
        "capture DL325 Gen10 Plus",
        False,
        {"power.workload_profile": ("hpc", "hpe-a42-registry"), "cpu.smt": ("off", "dell-rome-2019")},
    ),
    "DL325 Gen11": Server(
        _owner("HPE", "ProLiant DL325 Gen11", GENOA, 1),
        "hpe",
        "capture DL325 Gen11",
        False,
        {
            "cpu.smt": ("off", "amd-58002"),
            "numa.nps": ("4", "amd-perftune"),
            "fabric.apbdis": ("on", "rst-hpc-recipe"),
            "power.determinism": ("power", "dell-rome-2019"),
        },
    ),
    "SR635 V3": Server(
        _owner("Lenovo", "ThinkSystem SR635 V3", GENOA, 1),
        "lenovo",
        "capture SR635 V3",
        False,
        {
            "power.profile": ("performance", "lenovo-lp1977"),
            "cpu.smt": ("off", "amd-58002"),
            "numa.nps": ("4", "amd-perftune"),
            "io.ten_bit_tag": ("on", "amd-perftune"),
            "power.determinism": ("power", "dell-rome-2019"),
            "fabric.dfcstates": ("off", "amd-perftune"),
            "fabric.apbdis": ("on", "rst-hpc-recipe"),
        },
    ),
    "AS-1115CS": Server(
        _owner("Supermicro", "AS -1115CS-TNR", GENOA, 1),
        "supermicro",
        "capture AS-1115CS-TNR",
        False,
        {
            "fabric.dfcstates": ("off", "amd-perftune"),
            "fabric.apbdis": ("on", "rst-hpc-recipe"),
            "io.ten_bit_tag": ("on", "amd-perftune"),
        },
    ),
    "R750 1.13": Server(
        _owner("Dell Inc.", "PowerEdge R750", "Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz"),
        "dell",
        "registry R750 BIOS 1.8.2",
        True,
        {
            "power.profile": ("performance", "dell-16g-bios"),
            "cpu.smt": ("off", "dell-rome-2019"),
            "cpu.enumeration": ("linear", "intel-mlperf-notes"),
            "cpu.snc": ("snc2", "rrze-kerncraft"),
        },
    ),
    "DL385": Server(
        _owner("HPE", "ProLiant DL385 Gen10 Plus v2", "AMD EPYC 7763 64-Core Processor"),
        "hpe",
        "registry A42 1.2.60",
        True,
        {  # the HPC profile one by one: with 256 threads it would take a CPU away, for it switches the IOMMU off
            "cpu.smt": ("off", "rocm-mi200"),
            "numa.nps": ("4", "hpe-a42-registry"),
            "power.profile": ("performance", "hpe-a42-registry"),
            "fabric.dfcstates": ("off", "hpe-a42-registry"),
            "fabric.apbdis": ("on", "hpe-a42-registry"),
            "fabric.pstate": ("p0", "hpe-a42-registry"),
            "fabric.xgmi_width": ("x16", "hpe-a42-registry"),
            "power.efficiency_mode": ("off", "hpe-a42-registry"),
        },
    ),
    "DL380a": Server(
        Owner(vendor="HPE", model="ProLiant DL380a Gen11", processor="INTEL(R) XEON(R) PLATINUM 8580", sockets=2, threads=240),
        "hpe",
        "registry U58 1.2.44",
        False,
        {"power.workload_profile": ("hpc", "hpe-u58-registry"), "cpu.smt": ("off", "azure-hbv3")},
    ),
    "SR670 V2": Server(
        _owner("Lenovo", "ThinkSystem SR670 V2", "Intel(R) Xeon(R) Platinum 8362 CPU @ 2.80GHz"),
        "lenovo",
        "registry SR670 V2",
        True,
        {
            "power.profile": ("performance", "lenovo-xeon-uefi"),
            "cpu.snc": ("snc2", "rrze-kerncraft"),
            "cpu.smt": ("off", "azure-hbv3"),
        },
    ),
    "SYS-821GE": Server(
        _owner("Supermicro", "SYS-821GE-TNHR", "Intel(R) Xeon(R) Platinum 8480+"),
        "supermicro",
        "registry SYS-821GE-TNHR",
        True,
        {
            "cpu.smt": ("off", "azure-hbv3"),
            "cpu.snc": ("snc4", "dell-16g-bios"),
            "power.c1e": ("off", "dell-16g-bios"),
            "fabric.upi_power": ("off", "hpe-u58-registry"),
            "power.package_cstates": ("off", "hpe-u58-registry"),
        },
    ),
    "DGX H100": Server(
        _owner("NVIDIA", "DGXH100", "Intel(R) Xeon(R) Platinum 8480C"),
        "nvidia-dgx",
        "registry DGX H100",
        True,
        {"power.energy_bias": ("performance", "hpe-u58-registry"), "power.package_cstates": ("off", "hpe-u58-registry")},
    ),
}


def given(name: str, whole: Path | None = None) -> BiosInput:
    """Return a server's BIOS, and its registry where that was published; ``whole`` is a folder of whole captures."""
    server = SERVERS[name]
    files = sorted(whole.glob(f"{name.replace(' ', '_')}*.json")) if whole else []
    if files:
        return firmware_from(files)._replace(owner=server.owner)
    shown, locked = facts(server.vendor)[server.evidence], name == "R750 1.13"
    now = R750_LOCKED if locked else shown["now"]
    free = {"SubNumaCluster", "ProcC1E"} if locked else set(now)
    rows = [
        choice(each, *values, **({} if each in free else {"ReadOnly": True}))
        for each, values in shown["attributes"].items()
        if values != "integer" and values and each in now
    ]
    return BiosInput(Bios(attributes=now), registry(rows) if server.checked else None, owner=server.owner)


class Outcome(NamedTuple):
    """What a plan makes of what an expert would change."""

    checked: tuple[str, ...]
    """Planned, of values that the registry allows or that firmware of this generation was seen with."""
    unchecked: tuple[str, ...]
    """Planned where --unchecked names the attribute, for nobody can check its value."""
    left: dict[str, str]
    """Not planned, and named with the reason."""
    missed: tuple[str, ...]
    wrong: tuple[str, ...]
    """Refused by the registry, changed unsaid, or otherwise than the expert would."""


def outcome(name: str, intent: IntentName | None, whole: Path | None = None) -> Outcome:
    """Return what the plan for a server makes of what an expert would change there."""
    bios = given(name, whole)
    assert bios.bios is not None
    sure = _planned(bios, intent, seen=True)
    every = _planned(bios, intent, seen=False)
    named, wanted = {each.setting: each.reason for _, each in every.left if each.setting}, SERVERS[name].wanted
    done, after = (_after(each, bios, name) for each in (sure, every))
    checked = tuple(setting for setting, (value, _) in wanted.items() if done.get(setting) == value)
    more = tuple(setting for setting, (value, _) in wanted.items() if after.get(setting) == value and setting not in checked)
    left = {setting: named[setting] for setting in wanted if setting not in (*checked, *more) and setting in named}
    missed = tuple(setting for setting in wanted if setting not in (*checked, *more) and setting not in left)
    return Outcome(checked, more, left, missed, tuple(_wrong(every, bios, name, after if intent in (None, "mpi") else {})))


def _planned(bios: BiosInput, intent: IntentName | None, *, seen: bool) -> PlannedBios:
    """Return the plan; without a registry of every attribute, or of those whose values firmware was ``seen`` with."""
    assert bios.bios is not None
    if bios.registry is not None:
        return plan_bios(bios, intent=intent)
    every = plan_bios(bios, intent=intent, unchecked=tuple(bios.bios.attributes))
    if not seen:
        return every
    names = {each.attribute for each in every.changes if each.verified or each.kind != "wanted"}
    return plan_bios(bios, intent=intent, unchecked=tuple(names))


def _values(planned: PlannedBios, bios: BiosInput) -> dict[str, Scalar | None]:
    assert bios.bios is not None
    moved = {name: then for name, (_, then) in planned.moves.items()}
    return {**bios.bios.attributes, **moved, **planned.plan.values}


def _after(planned: PlannedBios, bios: BiosInput, name: str) -> dict[str, str]:
    """Return what settings are set to after a plan; a profile counts whose settings are written one by one."""
    vendor, platform = vendors()[SERVERS[name].vendor], planned.plan.platform
    assert bios.bios is not None
    values = _values(planned, bios)
    found = {key: str(value) for key, value in neutral_values(vendor, platform, Bios(attributes=values)).items()}
    ground = FirmwareState(vendor, platform, bios.bios, bios.registry)
    for lock in ground.locks:
        sets = lock.sets.get(str(lock.best), {})
        freed = lock.best is not None and bool(sets) and values.get(lock.attribute) == lock.value
        # Whether C-states are to be on is what guides for MPI dispute: a plan leaves them as they are.
        if freed and all(values.get(each, to) == to for each, to in sets.items() if each != "ProcCStates"):
            found["power.profile"] = "performance"
    return found


def _wrong(planned: PlannedBios, bios: BiosInput, name: str, after: dict[str, str]) -> list[str]:
    """Return every law that a plan breaks, what it changes unsaid, and what an expert would have otherwise."""
    assert bios.bios is not None
    found = [each for each in broken(planned.behind, bios.bios, bios.registry) if "beside" not in each or bios.registry]
    if bios.registry is not None:
        along = moved(bios.registry, bios.bios.attributes, planned.plan.values)
        found += [f"{each} changes unsaid" for each in along if each in bios.bios.attributes and each not in planned.moves]
    before = _after_nothing(bios, name, planned)
    wanted = SERVERS[name].wanted
    return found + [
        f"{each}={value}" for each, value in after.items() if each in wanted and value not in (wanted[each][0], before.get(each))
    ]


def _after_nothing(bios: BiosInput, name: str, planned: PlannedBios) -> dict[str, str]:
    assert bios.bios is not None
    found = neutral_values(vendors()[SERVERS[name].vendor], planned.plan.platform, bios.bios)
    return {key: str(value) for key, value in found.items()}
