"""Plans made of findings written by hand, and small registries in the makers' manner, written for these tests."""

from collections.abc import Iterable, Sequence
from typing import Any

from advisor.advice.bios_files import BiosInput
from advisor.advice.checklist import planned
from advisor.advice.know.vendors import vendors
from advisor.advice.model.findings import Finding
from advisor.advice.model.plan import Change, Include, NotWritten, Plan
from advisor.machine.hardware import Bios, Registry
from advisor.machine.sources.redfish import registry_of
from tests.know.listed import wished
from tests.redfish import parse_bios

DELL = {
    "SysProfile": "PerfOptimized",
    "ProcPwrPerf": "MaxPerf",
    "MemFrequency": "MaxPerf",
    "ProcTurboMode": "Enabled",
    "ProcC1E": "Disabled",
    "ProcCStates": "Disabled",
    "UncoreFrequency": "MaxUFS",
    "EnergyPerformanceBias": "MaxPower",
    "CpuInterconnectBusLinkPower": "Disabled",
    "PcieAspmL1": "Disabled",
    "WorkloadProfile": "NotConfigured",
    "LogicalProc": "Enabled",
    "SubNumaCluster": "Disabled",
    "NodeInterleave": "Disabled",
    "ProcX2Apic": "Enabled",
    "ProcVirtualization": "Enabled",
    "MadtCoreEnumeration": "RoundRobin",
}
"""A server with two Xeons at the Performance profile, as far as these tests look at it."""

DAPC = {
    **DELL,
    "SysProfile": "PerfPerWattOptimizedDapc",
    "ProcPwrPerf": "SysDbpm",
    "ProcC1E": "Enabled",
    "ProcCStates": "Enabled",
    "UncoreFrequency": "DynamicUFS",
    "EnergyPerformanceBias": "BalancedPerformance",
    "CpuInterconnectBusLinkPower": "Enabled",
    "PcieAspmL1": "Enabled",
}
"""The same at Performance per Watt."""


def plan(
    findings: list[Finding],
    now: dict[str, str] | None = None,
    vendor: str = "dell",
    platform: str | None = "ice-lake",
    *,
    bios: dict[str, Any] | None = None,
    registry: Registry | None = None,
    include: Sequence[Include] = (),
    order: bool = False,
    **more: Any,
) -> Plan:
    """Return the plan for findings; ``bios`` are the present attributes."""
    given = None if bios is None else Bios(attributes=bios)
    checklist, wishes = wished(findings, now, platform, vendor=vendor, bios=given, **more)
    return planned(checklist, wishes, vendors()[vendor], BiosInput(given, registry), include, order=order)


def written(made: Plan) -> list[tuple[str, Any]]:
    """Return what is written, in order."""
    return [(change.attribute, change.value) for change in made.writes]


def reasons(found: Iterable[NotWritten]) -> list[tuple[str, str]]:
    """Return what is left and why."""
    return [(each.wanted, each.reason) for each in found]


def change(made: Plan, attribute: str) -> Change:
    """Return the change of an attribute."""
    (found,) = (each for each in made.changes if each.attribute == attribute)
    return found


def choice(name: str, *values: str, **more: Any) -> dict[str, Any]:
    """Return an enumeration of a registry; NAME=SHOWN gives the menu's words."""
    pairs = [value.partition("=") for value in values]
    allowed = [{"ValueName": own, "ValueDisplayName": shown or own} for own, _, shown in pairs]
    return {"AttributeName": name, "DisplayName": name, "Type": "Enumeration", "Value": allowed, **more}


def depends(target: str, prop: str, value: Any, *terms: tuple[str, str, Any], joined: str | None = None) -> dict[str, Any]:
    """Return a dependency: while the terms hold, the target's property has the value."""
    made = [
        {"MapFromAttribute": name, "MapFromProperty": "CurrentValue", "MapFromCondition": how, "MapFromValue": what}
        | ({"MapTerms": joined} if joined and at else {})
        for at, (name, how, what) in enumerate(terms)
    ]
    rule = {"MapFrom": made, "MapToAttribute": target, "MapToProperty": prop, "MapToValue": value}
    return {"Type": "Map", "DependencyFor": target, "Dependency": rule}


def registry(attributes: list[dict[str, Any]], dependencies: list[dict[str, Any]] | None = None, **more: Any) -> Registry:
    """Return a registry as a controller would give it."""
    entries = {"Attributes": attributes, "Dependencies": dependencies or []}
    return registry_of({"Id": "BiosAttributeRegistry.v1_0_0", "OwningEntity": "Test", **more, "RegistryEntries": entries}, "test")


PROFILE = registry(
    [
        choice("SysProfile", "PerfOptimized=Performance", "PerfPerWattOptimizedDapc=Performance Per Watt (DAPC)", "Custom"),
        choice("ProcPwrPerf", "MaxPerf=Maximum Performance", "SysDbpm=System DBPM (DAPC)", ReadOnly=True),
        choice("ProcTurboMode", "Enabled", "Disabled", ReadOnly=True),
        choice("ProcCStates", "Enabled", "Disabled", ReadOnly=True),
        choice("ProcC1E", "Enabled", "Disabled", ReadOnly=True),
        choice("PcieAspmL1", "Enabled", "Disabled", ReadOnly=True),
        choice("CpuInterconnectBusLinkPower", "Enabled", "Disabled", ReadOnly=True),
        choice("MemFrequency", "MaxPerf=Maximum Performance", "1866MHz", ReadOnly=True),
        choice("LogicalProc", "Enabled", "Disabled"),
        choice("NodeInterleave", "Enabled", "Disabled"),
        choice("SubNumaCluster", "2-Way=2-Way Clustering", "Disabled"),
        choice("MadtCoreEnumeration", "RoundRobin=Round Robin", "Linear"),
        choice("Frozen", "Enabled", "Disabled", Immutable=True),
    ],
    [
        *(
            depends(name, "ReadOnly", True, ("SysProfile", "NEQ", "Custom"))
            for name in ("ProcPwrPerf", "ProcTurboMode", "ProcCStates", "ProcC1E", "PcieAspmL1", "MemFrequency")
        ),
        depends("ProcCStates", "CurrentValue", "Disabled", ("SysProfile", "EQU", "PerfOptimized")),
        depends("ProcTurboMode", "CurrentValue", "Enabled", ("SysProfile", "EQU", "PerfOptimized")),
        depends("SubNumaCluster", "ReadOnly", True, ("NodeInterleave", "EQU", "Enabled")),
        depends("SubNumaCluster", "CurrentValue", "Disabled", ("NodeInterleave", "EQU", "Enabled")),
    ],
)
"""A system profile that holds others, in Dell's manner: flags tell the moment, not the nature."""


def bios_of(text: str) -> dict[str, Any]:
    """Return the attributes of a resource's text."""
    return dict(parse_bios(text, "test").attributes)
