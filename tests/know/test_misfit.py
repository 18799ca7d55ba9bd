import pytest

from advisor.advice.bios_files import bios_mismatch
from advisor.advice.know.fixes import neutral_values
from advisor.advice.know.vendors import vendors
from advisor.machine.hardware import Bios, Firmware, Registry
from tests.plan.made import DELL, choice, registry

HPE_AMD = ("NumaMemoryDomainsPerSocket", "LastLevelCacheAsNUMANode", "ProcSMT", "AmdL1Prefetcher", "DataFabricCStateEnable",
           "ApplicationPowerBoost", "WorkloadProfile", "PowerRegulator")  # fmt: skip
HPE_INTEL = ("SubNumaClustering", "ProcHyperthreading", "HwPrefetcher", "DcuStreamPrefetcher", "AdjSecPrefetch", "ProcTurbo",
             "UncoreFreqScaling", "IntelProcVtd", "WorkloadProfile")  # fmt: skip


def said(names: object, vendor: str, platform: str | None, known: str | None = None, rom: str | None = None) -> tuple[str, bool]:
    """Return what does not fit, and whether that is sure; nothing where all fits."""
    bios = Bios(attributes=dict.fromkeys(names, "x"), registry=known)  # type: ignore[call-overload]
    found = bios_mismatch(bios, None, vendors()[vendor], platform, Firmware(bios_version=rom))
    return (found.text, found.sure) if found else ("", False)


def test_a_file_of_another_maker_is_refused_by_name() -> None:
    """Dell's attributes cannot be an HPE's, nor the other way round; one's own are not refused."""
    assert said(DELL, "hpe", "ice-lake") == ("the BIOS attributes are from Dell, but the machine is from HPE", True)
    assert said(HPE_AMD, "dell", "milan") == ("the BIOS attributes are from HPE, but the machine is from Dell", True)
    assert (said(DELL, "dell", "ice-lake"), said(HPE_AMD, "hpe", "milan")) == (("", False), ("", False))


def test_where_no_maker_is_known_the_file_tells_it() -> None:
    """The words of an unknown maker write nothing: the line says whose attributes these are."""
    found = bios_mismatch(Bios(attributes=dict(DELL)), None, None, "ice-lake", None)
    text = "the BIOS attributes are from Dell, but the vendor of this machine is unknown: advisor checklist --vendor dell"
    assert found == (text, False)


def test_a_few_names_that_another_maker_has_too_do_not_tell_the_maker() -> None:
    """A Cisco UCS server with a Xeon has some of Supermicro's names: nobody is sent to Supermicro's words for that."""
    names = ("SNC", "KTIPrefetch", "LLCPrefetch", "PatrolScrub", "XPTPrefetch", "IntelVT", "NUMAOptimize", "CPUPerformance")
    found = [bios_mismatch(Bios(attributes=dict.fromkeys(names, "Enabled")), None, vendor, "cascade-lake", None) for vendor in
             (None, vendors()["generic"])]  # fmt: skip
    assert found == [None, None]


@pytest.mark.parametrize(
    ("product", "sure"), [("PowerEdge XE8640", True), ("PowerEdge R750", False), ("PowerEdge R750xa", False), (None, False)]
)
def test_a_file_of_another_product_is_refused(product: str | None, sure: bool) -> None:
    """A file that names the server it is of fits no other one; a variant's name and an unknown product are let through."""
    bios = Bios(attributes={**DELL, "SystemModelName": "PowerEdge R750"})
    found = bios_mismatch(bios, None, vendors()["dell"], "ice-lake", Firmware(product=product))
    text = "the BIOS attributes are from a PowerEdge R750, but this machine is a PowerEdge XE8640"
    assert found == ((text, True) if sure else None)


def test_a_file_of_another_processor_maker_is_refused() -> None:
    """An AMD server's attributes do not fit an Intel server of the same maker."""
    assert said(HPE_INTEL, "hpe", "milan") == (
        "the BIOS attributes are from a server with Intel processors, but this one has AMD processors",
        True,
    )
    assert said(HPE_AMD, "hpe", "ice-lake")[1]


def test_a_file_of_which_nothing_is_known_of_this_maker_is_refused() -> None:
    """A whole resource without one attribute of the maker's sheet belongs to something else."""
    assert said([f"Odd{at}" for at in range(30)], "dell", "ice-lake") == (
        "none of the 30 BIOS attributes is a known Dell attribute",
        True,
    )
    assert said(["Odd"], "dell", "ice-lake") == ("", False)


def test_a_short_file_of_which_nothing_is_known_of_this_maker_is_flagged() -> None:
    """A few attributes, or a maker of whom few are known, prove nothing: the line says so and nothing is refused."""
    assert said([f"Odd{at}" for at in range(15)], "dell", "ice-lake") == (
        "none of the 15 BIOS attributes is a known Dell attribute",
        False,
    )
    assert said([f"Odd{at}" for at in range(200)], "nvidia-dgx", "sapphire-rapids")[1] is False
    assert "none of the 200" in said([f"Odd{at}" for at in range(200)], "nvidia-dgx", "sapphire-rapids")[0]


def test_another_rom_family_is_refused() -> None:
    """HPE's registry names the ROM family, which the machine's own BIOS version begins with."""
    known = "BiosAttributeRegistryA42.v1_2_60"
    assert said(HPE_AMD, "hpe", "milan", known, "A43") == (
        "the BIOS attributes are from ROM family A42, but the machine runs A43",
        True,
    )
    assert said(HPE_AMD, "hpe", "milan", known, "A42") == ("", False)
    assert said(DELL, "dell", "ice-lake", "BiosAttributeRegistry.v1_0_3", "1.8.2") == ("", False)


@pytest.mark.parametrize(
    ("named", "given", "sure"),
    [
        ("BiosAttributeRegistryA42.v1_2_60", "BiosAttributeRegistryU58.v1_2_44", True),
        ("BiosAttributeRegistryA42.v1_2_60", "BiosAttributeRegistryA42.v1_2_50", False),
        ("BiosAttributeRegistry.v1_0_0", "BiosAttributeRegistry.1_0_0", None),
    ],
)
def test_another_registry_is_refused_and_another_version_flagged(named: str, given: str, sure: bool | None) -> None:
    """A registry of another board is no help; one of another version may be; the spelling of a version does not count."""
    known: Registry = registry([choice("ProcSMT", "Enabled")], Id=given)
    bios = Bios(attributes=dict.fromkeys(HPE_AMD, "x"), registry=named)
    found = bios_mismatch(bios, known, vendors()["hpe"], "milan", None)
    assert (found.sure if found else None) is sure


def test_another_generation_is_flagged_and_not_refused() -> None:
    """Many attributes that only another generation of the maker has are worth a line."""
    newer = (*DELL, "UpiPrefetch", "XptPrefetch", "LlcPrefetch", "CpuInterconnectBusSpeed")
    text, sure = said(newer, "dell", "haswell")
    assert ("look more like those of Dell 14g" in text, sure) == (True, False)


def test_the_menus_words_are_understood_without_a_registry() -> None:
    """Where the sheet knows both, Performance is PerfOptimized and Maximum Performance is MaxPerf."""
    bios = Bios(
        attributes={"SysProfile": "Performance", "MemFrequency": "Maximum Performance", "MadtCoreEnumeration": "Round Robin"}
    )
    told = neutral_values(vendors()["dell"], "ice-lake", bios)
    assert told == {"power.profile": "performance", "memory.speed": "max", "cpu.enumeration": "round-robin"}


def test_the_menus_words_are_understood_with_a_registry() -> None:
    """A registry's ValueName is read where the sheet has the menu's words, and the menu's words where it has the name."""
    bios = Bios(attributes={"Hyper_Threading_ALL__F27F": "1"}, also={"Hyper_Threading_ALL__F27F": "Disable"})
    assert neutral_values(vendors()["supermicro"], "sapphire-rapids", bios) == {"cpu.smt": "off"}
