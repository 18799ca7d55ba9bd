"""Names and values of real servers against the sheets: what is named and not there, and what is there and not understood."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from advisor.advice.know.fixes import Attributes, attributes_named, entries_of, neutral_values
from advisor.advice.know.vendors import settings, vendors
from advisor.advice.model.sheets import Vendor
from advisor.machine.hardware import Bios
from tests.know.registries import FOLDER, facts, needed
from tests.redfish import parse_bios


class Tally(NamedTuple):
    """Of one capture: the attributes that the sheet names, those of them that are not there, and values without a word."""

    tried: set[str]
    absent: set[str]
    strange: dict[str, object]


def tally(vendor: Vendor, platform: str, attributes: Attributes) -> Tally:
    """Return what a capture has of the names that the sheet gives for its platform."""
    tried: set[str] = set()
    absent: set[str] = set()
    understood: set[str] = set()
    present: dict[str, object] = {}
    for name in vendor.settings:
        for entry in entries_of(vendor, platform, name):
            stem = entry.attribute or entry.prefix or entry.numbered
            if stem is None:
                continue
            tried.add(stem)
            found = attributes_named(entry, tuple(attributes))
            if not found:
                absent.add(stem)
            for each in found:
                if attributes[each] is None:
                    continue
                present[each] = attributes[each]
                one = vendor.model_copy(update={"settings": {name: (entry.model_copy(update={"requires": ()}),)}})
                if neutral_values(one, platform, Bios(attributes={each: attributes[each]})):
                    understood.add(each)
    return Tally(tried, absent, {each: value for each, value in present.items() if each not in understood})


Expected = tuple[str, str, str, set[str], dict[str, object]]

OF_TWO_SOCKETS = {"DlwmForcedWidth", "FixedSocPstate"}
"""Shown only while a width or a P-state is forced, the width only beside a second socket."""

CAPTURES: list[Expected] = [
    ("dell", "capture R6515", "rome", {"DfCState", "IommuSupport", "ProcConfigTdp", "TransparentSme", *OF_TWO_SOCKETS}, {}),
    ("dell", "registry R750 BIOS 1.8.2", "ice-lake", {"AdddcSetting", "PackageCStates"}, {}),
    ("dell", "capture R6615 BIOS 1.7.2", "genoa", OF_TWO_SOCKETS, {}),
    ("dell", "capture WEKApod R6615 BIOS 1.11.2", "genoa", OF_TWO_SOCKETS, {}),
    ("dell", "capture R670 BIOS 1.3.2", "sierra-forest", {"AdddcSetting", "CpuInterconnectBusSpeed"}, {}),
    ("hpe", "capture A41 1.2.36", "naples", {"Sriov", "ThermalConfig"}, {}),
    ("hpe", "registry A42 1.2.60", "milan", set(), {"NumaMemoryDomainsPerSocket": "Auto"}),
    (
        "hpe",
        "capture DL325 Gen10 Plus",
        "rome",
        {"XGMIForceLinkWidth", "XGMIMaxLinkWidth"},
        {"NumaMemoryDomainsPerSocket": "Auto"},
    ),
    ("hpe", "registry U58 1.2.44", "emerald-rapids", {"XptPrefetcher"}, {}),
    ("lenovo", "registry SR670 V2", "ice-lake", set(), {}),
    ("lenovo", "capture SR635 V3", "genoa", {"Processors_xGMIForceLinkWidth"}, {}),
    (
        "supermicro",
        "registry SYS-821GE-TNHR",
        "sapphire-rapids",
        {"ENERGY_PERF_BIAS_CFGMode", "MirrorMode", "XPTRemotePrefetch"},
        {"CPUC6Report_3D22": "Auto", "LinkL0pEnable_0012": "Auto"},
    ),
    (
        "supermicro",
        "capture AS-1115CS-TNR",
        "genoa",
        {"DeterminismEnable", "xGMIForceLinkWidth"},
        {
            "ACPISRATL3CacheAsNUMADomain_0099": "Auto",
            "APBDIS_00F6": "Auto",
            "GlobalC_stateControl_00CD": "Auto",
            "IOMMU_00EA": "Auto",
            "TSME_70FD": "Auto",
        },
    ),
    ("nvidia-dgx", "registry DGX H100", "sapphire-rapids", set(), {}),
]
"""Vendor, evidence, platform, named and not there, there and not understood: only Auto, where the firmware decides unseen."""

FILES = [
    ("dell_Bios.json", "dell", "ice-lake", {"AdddcSetting", "PackageCStates"}, {}),
    ("hpe_A42_Bios.json", "hpe", "milan", set(), {"NumaMemoryDomainsPerSocket": "Auto"}),
    ("hpe_A41_DL325Gen10_Naples_Bios_subset.json", "hpe", "naples", {"Sriov", "ThermalConfig"}, {}),
    ("hpe_U58_Systems_1_Bios.json", "hpe", "emerald-rapids", {"XptPrefetcher"}, {}),
    ("lenovo_Bios.json", "lenovo", "ice-lake", set(), {}),
    (
        "lenovo_Bios_old_Enable_style.json",
        "lenovo",
        "ice-lake",
        {"DevicesandIOPorts_SRIOV", "Memory_2xRefreshRate", "Memory_ADDDCSparing", "Processors_LLCPrefetch"},
        {},
    ),
    (
        "supermicro_Bios.json",
        "supermicro",
        "sapphire-rapids",
        {"ENERGY_PERF_BIAS_CFGMode", "MirrorMode", "XPTRemotePrefetch"},
        {"CPUC6Report_3D22": "Auto", "LinkL0pEnable_0012": "Auto"},
    ),
]
"""The whole captures that lie beside the project."""


@pytest.mark.parametrize(("vendor", "evidence", "platform", "absent", "strange"), CAPTURES, ids=[each[1] for each in CAPTURES])
def test_the_sheets_names_are_in_the_captures_of_their_generation(
    vendor: str, evidence: str, platform: str, absent: set[str], strange: dict[str, object]
) -> None:
    """What is named and not there is known one by one, and every other value that is there has a neutral word."""
    found = tally(vendors()[vendor], platform, facts(vendor)[evidence]["now"])
    assert (found.absent, found.strange) == (absent, strange)
    assert len(found.tried) > 6


@needed
@pytest.mark.parametrize(("file", "vendor", "platform", "absent", "strange"), FILES, ids=[each[0] for each in FILES])
def test_the_sheets_names_are_in_the_whole_captures(
    file: str, vendor: str, platform: str, absent: set[str], strange: dict[str, object]
) -> None:
    """The same of every attribute that the controller gave, read as the product reads it."""
    attributes = parse_bios((FOLDER / file).read_text(), file).attributes
    found = tally(vendors()[vendor], platform, attributes)
    assert (found.absent, found.strange) == (absent, strange)


def test_few_names_are_absent_and_only_auto_is_not_understood() -> None:
    """Over all captures: of the names that are tried one of fifteen is not there, and of the values one of forty has no word."""
    found = [tally(vendors()[vendor], platform, facts(vendor)[evidence]["now"]) for vendor, evidence, platform, *_ in CAPTURES]
    tried, absent, strange = (sum(map(len, each)) for each in zip(*found, strict=True))
    assert (tried > 370, absent * 15 < tried, strange * 40 < tried) == (True, True, True)


@pytest.mark.parametrize(
    ("vendor", "platform", "attributes", "expected"),
    [
        ("dell", "genoa", {"ProcPwrPerf": "OsDbpm"}, {"power.management": "os"}),
        (
            "dell",
            "haswell",
            {"ProcPwrPerf": "HwpDbpm", "QpiSpeed": "MaxDataRate"},
            {"power.management": "hardware", "fabric.upi_speed": "max"},
        ),
        ("dell", "broadwell", {"SnoopMode": "OpportunisticSnoopBroadcast"}, {"cpu.snoop_mode": "osb"}),
        ("dell", "rome", {"WorkloadProfile": "NotAvailable"}, {"power.workload_profile": "none"}),
        ("dell", "genoa", {"PowerProfileSelect": "MaxIOPerformanceMode"}, {"fabric.profile": "io"}),
        (
            "dell",
            "genoa",
            {"PcieSpeedPmmControl": "StaticLinkSpeedGen5", "CpuAcpiCstC2Latency": 800},
            {"io.link_speed": "gen5", "power.c2_latency": 800},
        ),
        (
            "dell",
            "sierra-forest",
            {"CXLMemoryMode": "Homogeneous", "LatencyOptimizedMode": "Disabled"},
            {"cxl.mode": "homogeneous", "cpu.latency_optimized": "off"},
        ),
        (
            "dell",
            "ice-lake",
            {"MemOpMode": "FaultResilientMode", "MemPatrolScrub": "Extended", "MemRefreshRate": "2x"},
            {"memory.mirroring": "partial", "memory.patrol_scrub": "extended", "memory.refresh_rate": "2x"},
        ),
        (
            "hpe",
            "genoa",
            {"AmdCstC2Latency": "18us", "XGMIMaxLinkWidth": "x4"},
            {"power.c2_latency": 18, "fabric.xgmi_max_width": "x4"},
        ),
        (
            "hpe",
            "milan",
            {"NumaGroupSizeOpt": "Flat", "ThermalConfig": "MaxCooling", "DynamicPowerCapping": "Auto"},
            {"numa.group_size": "flat", "power.cooling": "maximum", "power.capping": "auto"},
        ),
        (
            "hpe",
            "cascade-lake",
            {"AdvancedMemProtection": "FastFaultTolerantADDDC", "XptPrefetcher": "Auto"},
            {"memory.adddc": "on", "memory.mirroring": "off", "cpu.prefetch_xpt": "auto"},
        ),
        (
            "lenovo",
            "genoa",
            {"Processors_P_state1": "Disabled", "Memory_MemoryPowerDownEnable": "Enabled", "Power_EfficiencyMode": "Enabled"},
            {"power.pstate1": "off", "memory.power_down": "on", "power.efficiency_mode": "on"},
        ),
        (
            "lenovo",
            "genoa",
            {
                "DevicesandIOPorts_PCIeGen_Slot1": "Auto",
                "DevicesandIOPorts_PCIeGen_Slot3": "Auto",
                "DevicesandIOPorts_PCIeGen_NVMeBay0": "Gen4",
            },
            {"io.slot_speed": "auto"},
        ),
        (
            "supermicro",
            "sapphire-rapids",
            {"PatrolScrub_3C41": "Enable at End of POST", "ADDDCSparing_3C3F": "Enabled", "MirrorMode_DFFA": "Full Mirror Mode"},
            {"memory.patrol_scrub": "on", "memory.adddc": "on", "memory.mirroring": "on"},
        ),
    ],
)
def test_the_makers_words_for_a_setting_are_read(
    vendor: str, platform: str, attributes: Mapping[str, str | int], expected: dict[str, str | int]
) -> None:
    """Each in the words of its own generation."""
    assert neutral_values(vendors()[vendor], platform, Bios(attributes=dict(attributes))) == expected


def test_every_setting_of_the_firmware_has_a_name_at_some_maker() -> None:
    """A setting that no sheet can name would be a word without a use."""
    named = {name for vendor in vendors().values() for name, entries in vendor.settings.items() if entries}
    assert [name for name, each in settings().items() if each.where == "bios" and name not in named] == []
