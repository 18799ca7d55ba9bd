from typing import Any

import pytest

from tests.know.listed import asks
from tests.plan.made import DAPC, DELL, PROFILE, change, choice, plan, reasons, registry, written

PROFILE_WANTED = asks("profile", "power.profile", "performance")
BOOST = asks("boost", "power.boost", "on", severity="high")
SPEED = asks("speed", "memory.speed", "max")
DEEP = asks("deep", "power.cstates", "on", severity="high")
"""A finding of weight that Performance does not answer."""

HPC = asks("hpc", "power.workload_profile", "hpc", severity="low")
GENERAL: dict[str, Any] = {
    "WorkloadProfile": "GeneralPowerEfficientCompute",
    "NumaMemoryDomainsPerSocket": "Auto",
    "PowerRegulator": "OsControl",
    "ProcAmdIoVt": "Enabled",
    "ProcX2Apic": "Auto",
    "ProcAMDBoost": "Disabled",
}


def test_the_performance_profile_alone_answers_what_it_sets() -> None:
    """Dell: profile, boost and memory speed are one write, which names all that it serves."""
    made = plan([PROFILE_WANTED, BOOST, SPEED], {"power.boost": "off"}, bios={**DAPC, "ProcTurboMode": "Disabled"})
    assert written(made) == [("SysProfile", "PerfOptimized")]
    assert set(change(made, "SysProfile").settings) == {"power.profile", "power.boost"}
    assert [(back.attribute, back.value) for back in change(made, "SysProfile").back] == [
        ("SysProfile", "PerfPerWattOptimizedDapc")
    ]


def test_a_profile_that_could_not_be_set_back_is_not_moved_for_what_it_holds() -> None:
    """Its current value is none that the registry allows: no setting is worth a change without a way back."""
    known = registry([choice("SysProfile", "PerfOptimized", "Custom"), choice("ProcTurboMode", "Enabled", "Disabled")])
    made = plan([BOOST], {"power.boost": "off"}, bios={"SysProfile": "Auto", "ProcTurboMode": "Disabled"}, registry=known)
    why = (
        "SysProfile, which controls it, is set to Auto, which the attribute registry does not allow: the change could not be "
        "undone"
    )
    assert (written(made), reasons(made.refused)) == ([], [("ProcTurboMode=Enabled", why)])


def test_custom_is_taken_only_where_a_setting_of_weight_needs_it() -> None:
    """Then Custom comes first, that setting and all else that Performance would set follow, the four that Custom resets too."""
    made = plan([PROFILE_WANTED, DEEP], {"power.cstates": "off"}, bios={**DAPC, "ProcCStates": "Disabled"})
    assert written(made)[0] == ("SysProfile", "Custom")
    assert dict(written(made)[1:]) == {
        "ProcCStates": "Enabled",
        "ProcPwrPerf": "MaxPerf",
        "ProcC1E": "Disabled",
        "CpuInterconnectBusLinkPower": "Disabled",
        "PcieAspmL1": "Disabled",
        "UncoreFrequency": "MaxUFS",
        "EnergyPerformanceBias": "MaxPower",
    }
    assert "instead of SysProfile=PerfOptimized" in " ".join(change(made, "SysProfile").why)
    assert {each.kind for each in made.writes if each.attribute == "ProcPwrPerf"} == {"again"}


def test_what_custom_resets_is_written_again_as_it_was() -> None:
    """A machine at Performance that must go to Custom keeps the four values that Custom brings back to defaults."""
    made = plan([DEEP], {"power.cstates": "off"}, bios=DELL)
    assert written(made) == [
        ("SysProfile", "Custom"),
        ("ProcCStates", "Enabled"),
        ("ProcPwrPerf", "MaxPerf"),
        ("ProcC1E", "Disabled"),
        ("CpuInterconnectBusLinkPower", "Disabled"),
        ("PcieAspmL1", "Disabled"),
    ]
    assert [back.value for each in made.writes for back in each.back][:2] == ["PerfOptimized", "Disabled"]


@pytest.mark.parametrize("include", [(), ("unknown", "contested")])
def test_a_machine_at_performance_is_not_moved_for_what_guides_differ_about(include: Any) -> None:
    """C-states are contested: the server stays at Performance, whatever is included."""
    deep = asks("deep", "power.cstates", "on", severity="info")
    made = plan([deep], {"power.cstates": "off", "power.profile": "performance"}, bios=DELL, include=include)
    assert written(made) == []
    if include:
        assert "disputed settings do not justify moving to Custom" in made.refused[0].reason


def test_a_contested_setting_goes_with_those_that_move_the_machine_anyway() -> None:
    """Where a setting of weight goes to Custom, a contested one that was asked for may come along."""
    c1e = asks("c1e", "power.c1e", "on", severity="info")
    now = {"power.cstates": "off", "power.c1e": "off"}
    made = plan([DEEP, c1e], now, bios=DELL, include=("contested",))
    assert dict(written(made))["ProcC1E"] == "Enabled"


def test_settings_are_written_without_the_profile_where_it_is_custom_already() -> None:
    """At Custom a single setting needs nothing first, and nothing is written again."""
    made = plan([BOOST], {"power.boost": "off"}, bios={**DELL, "SysProfile": "Custom", "ProcTurboMode": "Disabled"})
    assert written(made) == [("ProcTurboMode", "Enabled")]


def test_what_a_profile_of_unknown_value_may_hold_is_looked_up() -> None:
    """The system shows that boost is off, nothing shows the profile: both are read before either is written."""
    made = plan([BOOST], {"power.boost": "off"})
    assert (written(made), [each.attribute for each in made.look_up]) == ([], ["ProcTurboMode", "SysProfile"])


def test_a_profile_that_would_undo_what_is_right_is_not_written_alone() -> None:
    """Performance would switch C-states off, which a rule of weight wants on: its settings are written one by one."""
    right = asks("deep", "power.cstates", "on", "pass", severity="high")
    made = plan([PROFILE_WANTED, right], {"power.cstates": "on"}, bios=DAPC)
    assert written(made)[0] == ("SysProfile", "Custom")
    assert "ProcCStates" not in made.attributes


def test_a_workload_profile_never_stands_beside_single_settings() -> None:
    """Dell's writes others once, nobody knows which: it is refused beside others, and left to hands alone."""
    efficient = {**DELL, "WorkloadProfile": "VtPerWattOptimizedProfile"}
    made = plan([HPC, asks("smt", "cpu.smt", "off")], {"cpu.smt": "on"}, bios=efficient)
    assert written(made) == [("LogicalProc", "Disabled")]
    assert [each.wanted for each in made.refused] == ["WorkloadProfile=HpcProfile"]
    assert "and so conflicts with LogicalProc=Disabled (smt)" in made.refused[0].reason
    alone = plan([HPC], bios=efficient)
    assert (written(alone), [each.wanted for each in alone.by_hand]) == ([], ["WorkloadProfile=HpcProfile"])


def test_hpes_workload_profile_alone_answers_what_it_sets() -> None:
    """Four domains and boost come with the HPC profile, and are not written beside it."""
    findings = [HPC, asks("nps", "numa.nps", "4", severity="low"), asks("boost", "power.boost", "on", severity="low")]
    made = plan(findings, {"numa.nps": "1", "power.boost": "off"}, "hpe", "milan", bios=GENERAL)
    assert written(made) == [("WorkloadProfile", "HighPerformanceCompute(HPC)")]


def test_hpes_single_settings_go_behind_custom() -> None:
    """What is locked by a workload profile is written behind Custom."""
    made = plan([asks("nps", "numa.nps", "4", severity="high")], {"numa.nps": "1"}, "hpe", "milan", bios=GENERAL)
    assert written(made) == [("WorkloadProfile", "Custom"), ("NumaMemoryDomainsPerSocket", "FourMemoryDomainsPerSocket")]


def test_hpes_profile_yields_to_what_matters_more_and_is_named() -> None:
    """The HPC profile switches the IOMMU off: where that is needed it is refused, and single settings are written."""
    iommu = asks("iommu", "io.iommu", "on", "pass", severity="high")
    made = plan([HPC, iommu, BOOST], {"io.iommu": "on", "power.boost": "off"}, "hpe", "milan", bios=GENERAL)
    assert written(made) == [("WorkloadProfile", "Custom"), ("ProcAMDBoost", "Enabled")]
    assert [each.wanted for each in made.refused] == ["WorkloadProfile=HighPerformanceCompute(HPC)"]
    assert "ProcAmdIoVt=Enabled (iommu)" in made.refused[0].reason


@pytest.mark.parametrize(
    ("profile", "single", "expected", "refused"),
    [
        ("medium", "low", [("OperatingModes_ChooseOperatingMode", "MaximumPerformance")], "Processors_TurboMode=Enabled"),
        (
            "low",
            "high",
            [("OperatingModes_ChooseOperatingMode", "CustomMode"), ("Processors_TurboMode", "Enabled")],
            "OperatingModes_ChooseOperatingMode=MaximumPerformance",
        ),
    ],
)
def test_lenovos_operating_mode_and_single_settings_are_never_both_written(
    profile: str, single: str, expected: list[tuple[str, str]], refused: str
) -> None:
    """What the mode sets is not known: the weightier wish is taken, the other refused by name."""
    findings = [
        asks("mode", "power.profile", "performance", severity=profile),
        asks("boost", "power.boost", "on", severity=single),
    ]
    bios = {"OperatingModes_ChooseOperatingMode": "Efficiency_FavorPerformance", "Processors_TurboMode": "Disabled"}
    made = plan(findings, {"power.boost": "off"}, "lenovo", bios=bios)
    assert (written(made), [each.wanted for each in made.refused]) == (expected, [refused])


def test_of_hardware_on_order_the_profile_stands_and_custom_is_a_comment() -> None:
    """Nothing is known of it, so it is not moved to Custom: what needs that stands beside, to be switched on by hand."""
    findings = [
        asks("p", "power.profile", "performance", "unknown"),
        asks("c", "power.cstates", "on", "unknown", severity="info"),
    ]
    made = plan(findings, order=True)
    assert [(each.attribute, each.value, each.active) for each in made.changes] == [
        ("SysProfile", "PerfOptimized", True),
        ("ProcCStates", "Enabled", False),
    ]
    assert "it first needs SysProfile=Custom instead of PerfOptimized" in " ".join(change(made, "ProcCStates").why)


def test_the_registry_agrees_with_what_is_written_behind_custom() -> None:
    """With the registry at hand nothing of the set is read-only, and Custom is written before what it frees."""
    made = plan([DEEP], {"power.cstates": "off"}, bios=DELL, registry=PROFILE)
    assert [name for name, _ in written(made)][:2] == ["SysProfile", "ProcCStates"]
    assert reasons(made.refused) == []


def test_of_an_hpe_on_order_what_matters_goes_behind_custom() -> None:
    """Custom keeps what the workload profile had set, so NPS is written behind it; the low profile is refused by name."""
    findings = [
        asks("nps", "numa.nps", "4", "unknown", severity="high"),
        asks("hpc", "power.workload_profile", "hpc", "unknown", severity="low"),
        asks("c", "fabric.dfcstates", "off", "unknown", severity="info"),
    ]
    made = plan(findings, None, "hpe", "milan", order=True)
    assert written(made) == [("WorkloadProfile", "Custom"), ("NumaMemoryDomainsPerSocket", "FourMemoryDomainsPerSocket")]
    assert [each.attribute for each in made.changes if not each.active] == ["DataFabricCStateEnable"]
    assert [each.wanted for each in made.refused] == ["WorkloadProfile=HighPerformanceCompute(HPC)"]


def test_what_a_held_setting_needs_goes_behind_custom_with_it() -> None:
    """A forced width needs its control, which the profile holds too: both are written behind Custom."""
    bios = {
        "SysProfile": "PerfPerWattOptimizedDapc",
        "ProcPwrPerf": "SysDbpm",
        "DynamicLinkWidthManagement": "Unforced",
        "DlwmForcedWidth": "x8",
    }
    findings = [PROFILE_WANTED, asks("xgmi", "fabric.xgmi_width", "x16", severity="high")]
    made = plan(findings, {"fabric.xgmi_width": "x8"}, platform="milan", bios=bios)
    assert written(made) == [
        ("SysProfile", "Custom"),
        ("DynamicLinkWidthManagement", "Force"),
        ("DlwmForcedWidth", "x16"),
        ("ProcPwrPerf", "MaxPerf"),
    ]


def test_what_a_profile_sets_besides_is_told_without_a_registry() -> None:
    """The sheet knows it: the change names what goes along, and what guides differ about is not said to stay as it is."""
    made = plan([asks("p", "power.profile", "performance"), asks("c", "power.c1e", "off", severity="info")],
                {"power.profile": "balanced", "power.c1e": "on"}, bios=DAPC)  # fmt: skip
    assert written(made) == [("SysProfile", "PerfOptimized")]
    assert {"ProcCStates=Disabled", "ProcC1E=Disabled", "UncoreFrequency=MaxUFS"} <= set(change(made, "SysProfile").moves)
    assert "ProcTurboMode=Enabled" not in change(made, "SysProfile").moves
    assert [reason for _, reason in reasons(made.contested) if "SysProfile=PerfOptimized sets it to Disabled anyway" in reason]


def test_the_way_back_writes_nothing_that_the_profile_before_keeps_from_being_written() -> None:
    """The profile brings its own settings back; a line for one of them would be refused, and end the way back."""
    made = plan([asks("p", "power.profile", "performance")], {"power.profile": "balanced"}, bios=DAPC, registry=PROFILE)
    back = change(made, "SysProfile").back
    assert [(each.attribute, each.value) for each in back] == [("SysProfile", "PerfPerWattOptimizedDapc")]
    assert "ProcCStates=Disabled" in change(made, "SysProfile").moves
