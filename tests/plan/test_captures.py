"""Every published capture and every seed machine, in every maker's words that fit: the script harms nothing."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from advisor.advice.bios_files import BiosInput, firmware_from
from advisor.advice.checklist import Sheets, checklist_with, planned
from advisor.advice.judgement import HardwareOnOrder, judged, maker_of
from advisor.advice.know.vendors import settings, vendors
from advisor.advice.model.plan import Include, Plan
from advisor.errors import BadInput
from advisor.machine.hardware import Bios
from advisor.machine.read import read_machine
from advisor.machine.sources.redfish import with_other_names
from advisor.measure.platform import Scope, platform_by_id
from tests.examples import ALL, a_third
from tests.know.registries import FOLDER, needed
from tests.plan.laws import broken
from tests.plan.made import written

CAPTURES = [
    ("dell", "ice-lake", "dell_Bios.json", "dell_BiosRegistry.json"),
    ("hpe", "milan", "hpe_A42_Bios.json", "hpe_A42_v1_2_60_BiosAttributeRegistry.json"),
    ("hpe", "emerald-rapids", "hpe_U58_Systems_1_Bios.json", "hpe_U58_v1_2_44_BiosAttributeRegistry.json"),
    ("hpe", "naples", "hpe_A41_DL325Gen10_Naples_Bios_subset.json", None),
    ("lenovo", "ice-lake", "lenovo_Bios.json", "lenovo_BiosAttributeRegistry.json"),
    ("lenovo", "cascade-lake", "lenovo_Bios_old_Enable_style.json", None),
    ("supermicro", "sapphire-rapids", "supermicro_Bios.json", "supermicro_BiosAttributeRegistry.json"),
    ("generic", "grace", "nvidia_gh200_Grace_Bios.json", "nvidia_gh200_Grace_BiosAttributeRegistry.json"),
    ("hpe-cray-ex", "rome", "cray_ex_Bios_shape_example.json", None),
]
SCOPES: tuple[Scope, ...] = ("mpi", "hpl", "latency", "throughput", "virtualisation")
TRIED = SCOPES if ALL else SCOPES[::2]
"""The fast suite has three of the five; CI has all."""
INCLUDES: tuple[tuple[Include, ...], ...] = ((), ("unknown",), ("contested",), ("unknown", "contested"))
SEEDS = FOLDER.parents[1] / "machines" / "seed"


def of_order(vendor: str, platform: str, given: BiosInput, scope: Scope, *includes: tuple[Include, ...]) -> list[Plan]:
    """Return the plans for a server of which only the BIOS is known, one for each include."""
    words, sheet = vendors()[vendor], platform_by_id(platform)
    order = judged(HardwareOnOrder(sheet, words), scope, bios=given.bios)
    sheets = Sheets(settings(), words, bios=given.bios, maker=maker_of(sheet), hints=order.hints, platform=sheet)
    checklist, wishes = checklist_with(order.audit, sheets)
    return [planned(checklist, wishes, words, given, include, order=True) for include in includes]


@pytest.mark.slow
@needed
@pytest.mark.parametrize(("vendor", "platform", "capture", "registry"), CAPTURES, ids=[case[2] for case in CAPTURES])
def test_the_script_of_a_capture_harms_nothing(vendor: str, platform: str, capture: str, registry: str | None) -> None:
    """For each scope and include, with and without the registry: nothing absent, illegal, in conflict or without a way back."""
    files = [FOLDER / capture, *([FOLDER / registry] if registry else [])]
    whole = firmware_from(files)
    for given, scope in itertools.product((whole, BiosInput(whole.bios)), TRIED):
        for include, made in zip(INCLUDES, of_order(vendor, platform, given, scope, *INCLUDES), strict=True):
            assert broken(made, given.bios, given.registry, blind="unknown" in include) == [], (scope, include)
            assert [change for change in made.changes if not change.active] == []


def in_words(given: BiosInput, *, attributes: bool = False) -> Bios:
    """Return a BIOS as its menu has it: values by their ValueDisplayName, and attributes by their DisplayName."""
    assert given.bios is not None
    assert given.registry is not None
    known, found = given.registry.attributes, {}
    for name, value in given.bios.attributes.items():
        own = known.get(name)
        word = next((each.shown for each in own.values if each.name == value), value) if own else value
        found[(own.shown if own and attributes else None) or name] = word
    return given.bios.model_copy(update={"attributes": found})


@pytest.mark.slow
@needed
@pytest.mark.parametrize("attributes", [False, True], ids=["values", "attributes"])
@pytest.mark.parametrize(("vendor", "platform", "capture", "registry"), [CAPTURES[0], CAPTURES[1]], ids=["dell", "hpe"])
def test_a_capture_in_the_menus_words_is_answered_in_names(
    vendor: str, platform: str, capture: str, registry: str, attributes: bool
) -> None:
    """What the tools take: the same script to the letter, as long as the registry says what is called how."""
    given = firmware_from([FOLDER / capture, FOLDER / registry])
    assert given.registry is not None
    words = BiosInput(with_other_names(in_words(given, attributes=attributes), given.registry), given.registry)
    for include in INCLUDES[:1] + INCLUDES[3:]:
        (own,), (made,) = (of_order(vendor, platform, each, "mpi", include) for each in (given, words))
        assert broken(made, words.bios, words.registry, blind="unknown" in include) == []
        written = [(each.attribute, each.value, each.now, each.back[0].value) for each in own.writes]
        both = {each.attribute for each in made.writes}
        assert both or not written
        assert [(each.attribute, each.value, each.now, each.back[0].value) for each in made.writes] == [
            row for row in written if row[0] in both
        ]


@needed
def test_supermicro_is_answered_in_the_words_that_it_shows() -> None:
    """Its BMC shows and takes the menu's words, so does its tool: none of what is written is a number of the registry's."""
    given = firmware_from([FOLDER / CAPTURES[6][2], FOLDER / str(CAPTURES[6][3])])
    (made,) = of_order("supermicro", "sapphire-rapids", given, "mpi", ("unknown", "contested"))
    assert given.bios is not None
    assert [(each.attribute, each.now) for each in made.writes if each.now != given.bios.attributes[each.attribute]] == []
    assert [each.value for each in made.writes if str(each.value).isdigit()] == []


@needed
def test_words_of_the_menu_without_a_registry_are_written_where_the_sheet_has_the_name() -> None:
    """SysProfile=Performance is PerfOptimized; a value whose name nobody knows stays, said why."""
    words = BiosInput(in_words(firmware_from([FOLDER / CAPTURES[0][2], FOLDER / str(CAPTURES[0][3])])))
    (made,) = of_order("dell", "ice-lake", words, "mpi", ("unknown", "contested"))
    assert broken(made, words.bios, blind=True) == []
    shown = {word for names in vendors()["dell"].shown.values() for word in names.values()}
    assert [each.attribute for each in made.writes if {each.value, each.now} & (shown - {"Dynamic"})] == []


def test_attributes_by_the_menus_words_without_a_registry_are_refused(tmp_path: Path) -> None:
    """One line says what to add; with the registry they are read."""
    file, registry = tmp_path / "bios.json", tmp_path / "registry.json"
    menu = {f"Setting Number {n}": "On" for n in range(9)}
    file.write_text(json.dumps({"@odata.type": "#Bios.v1_0_0.Bios", "Attributes": menu}))
    with pytest.raises(BadInput, match="the tools' names for them are unknown"):
        firmware_from([file])
    entries = [{"AttributeName": f"Set{n}", "DisplayName": f"Setting Number {n}", "Type": "String"} for n in range(9)]
    registry.write_text(json.dumps({"RegistryEntries": {"Attributes": entries}}))
    given = firmware_from([file, registry])
    assert given.bios is not None
    assert given.bios.attributes == {f"Set{n}": "On" for n in range(9)}


@needed
def test_captures_of_others_do_write_something() -> None:
    """The laws above are not kept by writing nothing: with all included, four makers' captures get changes."""
    for vendor, platform, capture, registry in (CAPTURES[0], CAPTURES[1], CAPTURES[4], CAPTURES[6]):
        given = firmware_from([FOLDER / capture, FOLDER / str(registry)])
        (made,) = of_order(vendor, platform, given, "mpi", ("unknown", "contested"))
        assert len(made.writes) >= 2


@needed
def test_a_registry_alone_is_obeyed_too() -> None:
    """Of a server on order whose registry is known, what that registry lacks is not written."""
    given = firmware_from([FOLDER / "dell_BiosRegistry.json"])
    (made,) = of_order("dell", "ice-lake", given, "mpi", ())
    assert given.registry is not None
    assert [c.attribute for c in made.changes if c.attribute not in given.registry.attributes] == []
    assert made.writes


@pytest.mark.parametrize("seed", a_third(sorted(SEEDS.glob("*.tar.gz"))), ids=lambda path: path.name)
def test_the_script_of_a_seed_machine_writes_findings_alone(seed: Path) -> None:
    """A machine whose BIOS was not read: every change is of a known current value, and no law is broken."""
    for scope in SCOPES[:3:2]:
        result = judged(read_machine(str(seed)), scope)
        sheets = Sheets(settings(), result.vendor, maker=maker_of(result.platform), platform=result.platform)
        checklist, wishes = checklist_with(result.audit, sheets)
        for include in INCLUDES:
            made = planned(checklist, wishes, result.vendor, BiosInput(), include)
            assert broken(made, blind="unknown" in include) == [], (scope, include)
        if seed.name == "b-c6525-2x7702-nps1.tar.gz" and scope == "mpi":
            assert written(planned(checklist, wishes, result.vendor, BiosInput())) == [("NumaNodesPerSocket", "4")]


def test_the_seeds_are_there() -> None:
    """The test above says visibly where there is nothing for it to read."""
    if not SEEDS.is_dir():
        pytest.skip("the published machines are not here")
    assert len(list(SEEDS.glob("*.tar.gz"))) > 10


R6515: dict[str, Any] = {
    "ApbDis": "Disabled", "CcxAsNumaDomain": "Disabled", "DeterminismSlider": "PowerDeterminism",
    "DynamicLinkWidthManagement": "Unforced", "LogicalProc": "Enabled", "MadtCoreEnumeration": "Linear",
    "MemFrequency": "MaxPerf", "MemPatrolScrub": "Standard", "MemRefreshRate": "1x", "NumaNodesPerSocket": "1",
    "PcieAspmL1": "Disabled", "PciePreferredIoBus": "Disabled", "PcieEnhancedPreferredIo": "Disabled",
    "ProcCStates": "Disabled", "ProcPwrPerf": "MaxPerf", "ProcTurboMode": "Enabled", "ProcVirtualization": "Enabled",
    "ProcX2Apic": "Enabled", "SriovGlobalEnable": "Enabled", "SysProfile": "PerfOptimized", "WorkloadProfile": "NotAvailable",
    "WriteDataCrc": "Disabled",
}  # fmt: skip
"""What the attributes of a PowerEdge R6515 say; the facts are from the tests of metal-toolbox's racadm reader."""


def test_a_server_at_performance_stays_there_and_lacks_what_its_file_lacks(tmp_path: Path) -> None:
    """R6515: nothing that its dump lacks or calls not available is written, and it is not moved to Custom."""
    file = tmp_path / "bios.json"
    file.write_text(json.dumps({"@odata.type": "#Bios.v1_0_0.Bios", "Attributes": R6515}))
    given = firmware_from([file])
    for scope in SCOPES:
        for include, made in zip(INCLUDES, of_order("dell", "rome", given, scope, *INCLUDES), strict=True):
            assert broken(made, given.bios, blind="unknown" in include) == []
            assert {"SysProfile", "WorkloadProfile"}.isdisjoint(made.attributes)
    (made,) = of_order("dell", "rome", given, "mpi", ())
    absent = {each.attribute for each in made.absent}
    assert {"IommuSupport", "ProcConfigTdp", "TransparentSme", "DfCState", "DlwmForcedWidth", "FixedSocPstate"} <= absent


def test_three_files_of_one_kind_are_refused(tmp_path: Path) -> None:
    """--bios takes the resource, its settings and its registry, in one line where there are more."""
    file = tmp_path / "bios.json"
    file.write_text(json.dumps({"Attributes": {"A": "1"}}))
    with pytest.raises(BadInput, match="given 3 times"):
        firmware_from([file, file, file])
