from typing import Any

import pytest

from advisor.collect.redfish_bios import parse_bios
from advisor.know.exports import staging, system
from advisor.know.settings import lines_now, settings
from advisor.know.vendors import vendors
from advisor.model.bios import Bios
from advisor.model.exports import Staging, System
from advisor.model.finding import Finding
from tests.know.listed import asks, listed, sample, state
from tests.know.registries import FOLDER, attributes, load, needed


def staged(
    findings: list[Finding],
    now: dict[str, str] | None = None,
    vendor: str = "dell",
    platform: str | None = "ice-lake",
    **more: Any,
) -> Staging:
    """Return what the BIOS is told."""
    return staging(listed(findings, now, platform, vendor=vendor), settings(), vendors()[vendor], **more)


def kept(findings: list[Finding], now: dict[str, str] | None = None) -> System:
    """Return what the operating system shall hold."""
    return system(listed(findings, now), settings())


def test_only_what_is_not_so_is_staged() -> None:
    """A value that differs or is not known is staged, one that is so is not."""
    findings = [
        asks("smt", "cpu.smt", "off"),
        asks("x2apic", "cpu.x2apic", "on", "unknown"),
        asks("snc", "cpu.snc", "snc2", "pass"),
    ]
    made = staged(findings, {"cpu.smt": "on", "cpu.snc": "snc2"})
    assert made.body["Attributes"] == {"ProcX2Apic": "Enabled", "LogicalProc": "Disabled"}
    assert made.beside == {"@Redfish.SettingsApplyTime": {"ApplyTime": "OnReset"}}
    assert [write.command for write in made.writes] == [
        "racadm set BIOS.ProcSettings.LogicalProc Disabled",
        "racadm set BIOS.ProcSettings.ProcX2Apic Enabled",
    ]


def test_each_attribute_is_written_once_what_others_need_first() -> None:
    """Two locked options share one write of the profile that unlocks them, and it goes before both."""
    made = staged([asks("boost", "power.boost", "on"), asks("speed", "memory.speed", "max")])
    assert [write.attribute for write in made.writes] == ["SysProfile", "ProcTurboMode", "MemFrequency"]


def test_the_unlocking_value_wins_and_the_clash_is_told() -> None:
    """Where a rule wants the profile that locks what another rule wants set, the unlocking one is written and both are named."""
    findings = [asks("boost", "power.boost", "on"), asks("profile", "power.profile", "performance")]
    assert staged(findings).clashes == ("SysProfile: Custom is written, profile wants PerfOptimized",)
    findings[1] = asks("profile", "power.profile", "performance", "pass")
    made = staged(findings, {"power.profile": "performance"})
    assert made.clashes == ("SysProfile: Custom is written, profile is content with PerfOptimized",)
    assert made.body["Attributes"] == {"SysProfile": "Custom", "ProcTurboMode": "Enabled"}


def test_what_unlocking_puts_back_is_written_again() -> None:
    """Going to the custom profile brings other options back to their defaults, so those that are right are written too."""
    findings = [
        asks("boost", "power.boost", "on"),
        asks("c1e", "power.c1e", "off", "pass"),
        asks("smt", "cpu.smt", "off", "pass"),
    ]
    made = staged(findings, {"power.c1e": "off", "cpu.smt": "off"})
    assert [write.attribute for write in made.writes] == ["SysProfile", "ProcTurboMode", "ProcC1E"]
    assert "so already, kept" in made.writes[2].about[0]


def test_values_have_the_type_the_controller_wants() -> None:
    """HPE's bus number is a number, Dell's NPS a text."""
    hpe = staged([asks("bus", "io.preferred_bus", "65")], vendor="hpe", platform="milan")
    dell = staged([asks("nps", "numa.nps", "4")], platform="milan")
    assert [type(write.value) for write in (*hpe.writes, *dell.writes) if write.value in (65, "4")] == [int, str]


def test_what_no_file_can_say_is_told_with_the_reason() -> None:
    """A value that only the machine tells, a state, a name with a board's suffix and an unknown processor are left to hands."""
    findings = [asks("nps", "numa.nps", None, "unknown"), state("cut", "bios"), state("dist", "bios", "unknown")]
    made = staged(findings, platform="milan")
    assert [line.rpartition("(")[2] for line in made.by_hand] == ["cut)", "nps)"]
    suffixed = staged([asks("smt", "cpu.smt", "off")], vendor="supermicro", platform="sapphire-rapids")
    assert (suffixed.writes, "give the BIOS attributes with --bios" in suffixed.by_hand[0]) == ((), True)
    nameless = staged([asks("l3", "cpu.prefetch", "on")], platform=None)
    assert nameless.writes == ()


def test_a_boards_own_names_are_taken_from_its_bios() -> None:
    """Given the board's attributes, the name with its suffix is written."""
    bios = Bios(attributes={"Hyper_Threading_ALL__F27F": "Enable"})
    made = staged([asks("smt", "cpu.smt", "off")], vendor="supermicro", platform="sapphire-rapids", bios=bios)
    assert made.body == {"Attributes": {"Hyper_Threading_ALL__F27F": "Disable"}}


def test_every_setting_has_its_keeper() -> None:
    """Each setting of the system goes where the system keeps it, done or not; states that are findings are told beside."""
    made = system(sample(), settings())
    (by_name,) = lines_now(settings()["os.idle_states"], "shallow")
    assert [(each.keeper, each.key, each.value) for each in made.kept] == [
        ("cmdline", "iommu=pt", "iommu=pt"),
        ("sysctl", "kernel.numa_balancing", "0"),
        ("service", "irqbalance", "off"),
        ("limits", "memlock", "unlimited"),
        ("sysfs", "/sys/kernel/mm/transparent_hugepage/enabled", "always"),
        ("sysctl", "vm.min_free_kbytes", "135168"),
        ("command", by_name, by_name),
        ("sysfs", "/sys/kernel/mm/transparent_hugepage/defrag", "madvise"),
    ]
    assert (made.profile, made.options, made.unwanted) == ("hpc-compute", ("iommu=pt",), ("iommu=off",))
    assert set(made.sections) == {"sysctl", "vm"}


def test_an_option_that_shall_go_is_named() -> None:
    """A setting whose wanted value is the kernel's default adds nothing and names the options of its other values."""
    made = kept([asks("cstates", "boot.cstates", "all")], {"boot.cstates": "c1"})
    assert (made.options, made.unwanted) == ((), ("processor.max_cstate=1", "intel_idle.max_cstate=1"))
    assert kept([asks("cstates", "boot.cstates", "all", "pass")], {"boot.cstates": "all"}).unwanted == ()


def test_comments_say_what_it_was_who_asks_and_where_guides_differ() -> None:
    """The comments of a write name the present value, the rules, the way back and the guides."""
    (write,) = (each for each in staging(sample(), settings(), vendors()["dell"]).writes if "Madt" in each.attribute)
    assert write.about == (
        "order of the CPU numbers: linear (was round-robin; cpu-order)",
        "guides differ: linear, for simplicity [dell-rome-2019]; linear [weka-bios-tool]",
        "undo: set it back to RoundRobin",
    )


CASES = [
    ("dell", "ice-lake", "dell_Bios.json", "dell_BiosRegistry.json"),
    ("hpe", "milan", "hpe_A42_Bios.json", "hpe_A42_v1_2_60_BiosAttributeRegistry.json"),
    ("hpe", "emerald-rapids", "hpe_U58_Systems_1_Bios.json", "hpe_U58_v1_2_44_BiosAttributeRegistry.json"),
    ("lenovo", "ice-lake", "lenovo_Bios.json", "lenovo_BiosAttributeRegistry.json"),
    ("supermicro", "sapphire-rapids", "supermicro_Bios.json", "supermicro_BiosAttributeRegistry.json"),
]


@needed
@pytest.mark.parametrize(("vendor", "platform", "capture", "registry"), CASES, ids=[case[3] for case in CASES])
def test_every_verified_write_is_allowed_by_the_makers_registry(vendor: str, platform: str, capture: str, registry: str) -> None:
    """For every value of every verified setting, the body of the PATCH has a name, a value and a type that the registry has."""
    known = attributes(registry)
    assert "Attributes" in load(capture)
    bios = parse_bios((FOLDER / capture).read_text(), capture)
    checked = 0
    for name in vendors()[vendor].settings:
        setting = settings()[name]
        for value in [each for each in setting.values if each not in setting.only_read]:
            made = staging(
                listed([asks("r", name, value)], None, platform, vendor=vendor, bios=bios), settings(), vendors()[vendor], bios
            )
            if any("name not verified" in line for write in made.writes for line in write.about):
                continue
            for write in made.writes:
                if write.attribute not in known:
                    continue
                checked += 1
                entry = known[write.attribute]
                if entry["Type"] == "Integer":
                    assert isinstance(write.value, int)
                else:
                    shown = {each[key] for each in entry["Value"] for key in ("ValueName", "ValueDisplayName") if key in each}
                    assert write.value in shown, (name, write)
    assert checked >= 15
