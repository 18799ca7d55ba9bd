"""The makers' sheets: which machine goes by which, what they cover, and the lines they give."""

import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest

import advisor.advice.know.vendors as sheets
from advisor.advice.know.fixes import locate, neutral_values, not_offered
from advisor.advice.know.vendors import match_vendor, settings, vendor_by_id, vendors
from advisor.advice.model.sheets import Neutral, Place
from advisor.errors import BadValue
from advisor.machine.hardware import Bios, Firmware
from advisor.sheets import Sheet, read_sheet
from tests.sheets import vendor_itself

BIOS = [name for name, setting in settings().items() if setting.where == "bios"]


def place(vendor: str, platform: str | None, name: str, value: Neutral, bios: Bios | None = None) -> Place:
    """Return where a value is found."""
    found = locate(vendor_by_id(vendor), platform, settings()[name], value, bios)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("names", "vendor"),
    [
        ({"system_vendor": "Dell Inc.", "product": "PowerEdge C6525"}, "dell"),
        ({"system_vendor": "HPE", "product": "ProLiant DL385 Gen10 Plus v2"}, "hpe"),
        ({"system_vendor": "HP", "product": "ProLiant XL230a Gen9"}, "hpe"),
        ({"system_vendor": "HPE", "product": "HPE_CRAY_EX235A"}, "hpe-cray-ex"),
        ({"system_vendor": "HPE", "product": "HPE Cray XD670"}, "hpe-cray-xd"),
        ({"system_vendor": "LENOVO", "product": "ThinkSystem SR645"}, "lenovo"),
        ({"system_vendor": "Supermicro"}, "supermicro"),
        ({"system_vendor": "To be filled by O.E.M.", "board_vendor": "GIGABYTE"}, "gigabyte"),
        ({"system_vendor": "Nobody", "board_vendor": "Nobody"}, "generic"),
        ({"product": "PowerEdge C6525"}, "dell"),
        ({"system_vendor": "WEKA", "product": "WEKApod - R6615", "board_vendor": "Dell Inc."}, "dell"),
        ({"system_vendor": "System manufacturer", "product": "ThinkSystem SR645 V3"}, "lenovo"),
        ({"system_vendor": "", "board_vendor": "LENOVO"}, "lenovo"),
        ({"product": "ProLiant XL225n Gen10 Plus"}, "hpe"),
        ({"product": "HPE Apollo 6500 Gen10 Plus"}, "hpe"),
        ({"product": "HPE Cray EX254n"}, "hpe-cray-ex"),
        ({"product": "HPE Cray XD2000"}, "hpe-cray-xd"),
        ({"system_vendor": "NVIDIA", "product": "DGXH100"}, "nvidia-dgx"),
        ({"system_vendor": "FUJITSU", "product": "PRIMERGY CX2550 M7"}, "fujitsu"),
        ({"system_vendor": "Intel Corporation", "product": "Apollo Lake"}, "generic"),
        ({"product": "Standard PC"}, None),
        ({}, None),
    ],
)
def test_a_machine_goes_by_its_makers_sheet(names: dict[str, str], vendor: str | None) -> None:
    """The product tells more than the vendor, the system more than the board; an unknown maker gets the generic sheet."""
    found = match_vendor(Firmware(**names))
    assert (found.id if found else None) == vendor


def test_no_firmware_names_no_vendor() -> None:
    """Without SMBIOS names there is no sheet, not a guess."""
    assert match_vendor(None) is None


def test_one_makers_sheet_is_read_for_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all others no more than how their servers are recognised, which stands first."""
    read: list[tuple[str, bool]] = []

    def noted(path: Path, only: Iterable[str] = ()) -> Sheet:
        read.append((path.stem, bool(only)))
        return read_sheet(path, only=only)

    monkeypatch.setattr(sheets, "read_sheet", noted)
    sheets.vendor_at.cache_clear()
    sheets.recognised_by.cache_clear()
    match_vendor(Firmware(system_vendor="LENOVO", product="ThinkSystem SR645"))
    assert sorted(name for name, head in read if head) == sorted(name for name in vendors() if name != "generic")
    assert [name for name, head in read if not head][:1] == ["lenovo"]


def test_a_sheet_that_names_its_servers_last_is_recognised_too(tmp_path: Path) -> None:
    """The order of the keys costs time, and decides nothing."""
    file = tmp_path / "acme.yaml"
    file.write_text("id: acme\nname: Acme\ngenerations: {all: {maker: amd}}\nsettings: {}\nmatch: [{product: [Anvil]}]\n")
    assert sheets.recognised_by(file).match[0].product == ("Anvil",)


def test_a_wrong_id_is_told_the_right_one() -> None:
    """The error names the nearest vendor."""
    with pytest.raises(BadValue, match="did you mean supermicro"):
        vendor_by_id("supermicor")


@pytest.mark.parametrize("vendor", vendors())
def test_every_bios_setting_is_mapped_or_declared(vendor: str) -> None:
    """Each BIOS setting has an entry, or the sheet says that it is not offered or not known, and why."""
    sheet = vendors()[vendor]
    declared = {name for absent in sheet.absent for name in absent.settings}
    assert [name for name in BIOS if name not in sheet.settings and name not in declared] == []
    assert [name for name in sheet.settings if settings()[name].where != "bios"] == []


@pytest.mark.parametrize("vendor", vendors())
def test_what_is_not_verified_says_where_it_is_from(vendor: str) -> None:
    """An entry that nothing shows says that it is not verified."""
    entries = [entry for group in vendors()[vendor].settings.values() for entry in group]
    assert [e.label for e in entries if not e.seen and "not verified" not in (e.note or "")] == []


def test_the_dell_lines_are_exact() -> None:
    """The key is made of group and attribute, and a digit stays a text."""
    found = place("dell", "milan", "numa.nps", 4)
    assert found.commands == ("racadm set BIOS.ProcSettings.NumaNodesPerSocket 4",)
    assert found.show == ("racadm get BIOS.ProcSettings.NumaNodesPerSocket",)
    assert found.vendor_value == "4"


def test_a_locked_option_brings_its_profile_along() -> None:
    """Dell's C-states can only be changed in the Custom profile."""
    found = place("dell", "ice-lake", "power.cstates", "on")
    assert found.prerequisites[0][:2] == ("SysProfile", "Custom")
    assert found.commands == ()
    assert found.verified


def test_numbers_stay_numbers() -> None:
    """The preferred bus is a number for HPE, and the switch that it depends on is set with it."""
    found = place("hpe", "milan", "io.preferred_bus", 65)
    assert found.vendor_value == 65
    assert found.commands == ("ilorest set PreferredIOBusEnable=Enabled PreferredIOBusNumber=65 --select Bios. --commit",)


@pytest.mark.parametrize(
    ("vendor", "platform", "name", "value", "theirs"),
    [
        ("hpe", "milan", "fabric.apbdis", "on", "Disabled"),
        ("dell", "milan", "fabric.apbdis", "on", "Enabled"),
        ("gigabyte", "rome", "fabric.apbdis", "on", "1"),
        ("lenovo", "genoa", "fabric.apbdis", "on", "P0"),
        ("supermicro", "sapphire-rapids", "memory.node_interleave", "off", "Enabled"),
        ("lenovo", "ice-lake", "memory.node_interleave", "off", "NUMA"),
        ("lenovo", "ice-lake", "power.uncore", "max", "Disabled"),
        ("gigabyte", "rome", "cpu.smt", "on", "Auto"),
    ],
)
def test_opposite_words_come_out_right(vendor: str, platform: str, name: str, value: str, theirs: str) -> None:
    """Where a maker's word means the opposite, the neutral word is turned."""
    assert place(vendor, platform, name, value).vendor_value == theirs


def test_core_enumeration_is_dells_alone() -> None:
    """15G and later offer it, a 14G with EPYC 7001 does not, and no other maker does."""
    assert place("dell", "milan", "cpu.enumeration", "linear").vendor_value == "Linear"
    setting = settings()["cpu.enumeration"]
    assert locate(vendor_by_id("dell"), "naples", setting, "linear") is None
    assert not_offered(vendor_by_id("dell"), "naples", "cpu.enumeration") is not None
    assert [name for name in vendors() if name != "dell" and locate(vendors()[name], "milan", setting, "linear")] == []


def test_suffixes_are_taken_from_the_board() -> None:
    """Supermicro's names end differently on each board; the BIOS at hand says how."""
    bios = Bios(attributes={"SNC_F300": "Auto", "SNC_F300x": "Auto", "SNCX_0000": "Auto"})
    found = place("supermicro", "sapphire-rapids", "cpu.snc", "snc4", bios)
    assert found.attribute == "SNC_F300"
    assert any("set SNC under Advanced" in note for note in found.notes)


def test_other_generations_get_the_usual_words_and_no_command() -> None:
    """Gigabyte's codes are known for Rome only; for Genoa the menus' usual words are given, and nothing to type."""
    found = place("gigabyte", "genoa", "numa.nps", 4)
    assert (found.vendor, found.attribute, found.commands, found.verified) == ("gigabyte", None, (), False)
    assert found.vendor_value == "NPS4"


def test_without_a_platform_nothing_is_typed_that_depends_on_it() -> None:
    """HPE names SMT by the processor's maker: unknown, there is a place but no command."""
    found = place("hpe", None, "cpu.smt", "off")
    assert found.commands == ()
    assert not found.verified
    assert place("dell", None, "cpu.smt", "off").commands


def test_values_are_quoted_for_the_shell() -> None:
    """A vendor's value with spaces, brackets or quotes is one word of the line."""
    found = place("hpe", "milan", "power.workload_profile", "hpc")
    assert shlex.split(found.commands[0])[2] == "WorkloadProfile=HighPerformanceCompute(HPC)"
    body = place("gigabyte", "rome", "io.preferred_bus", 65).commands[0]
    assert '{"Attributes": {"Rome0359": "Manual", "Rome0544": 65}}' in shlex.split(body)


@pytest.mark.parametrize("vendor", vendors())
def test_what_is_written_reads_back_as_what_was_meant(vendor: str) -> None:
    """On every platform, the attributes that a place asks for are read as the neutral value it was asked for."""
    sheet = vendors()[vendor]
    for platform in sorted({each for ids in sheet.generations.values() for each in ids}):
        for name in sheet.settings:
            setting = settings()[name]
            for value in [setting.neutral(word) for word in setting.values] or [7]:
                found = locate(sheet, platform, setting, value)
                if found is None or found.attribute is None or found.vendor_value is None:
                    continue
                wanted = {attribute: wanted for attribute, wanted, _ in found.prerequisites}
                bios = Bios(attributes={**wanted, found.attribute.replace("{n}", "1"): found.vendor_value})
                assert neutral_values(sheet, platform, bios)[name] == value, (platform, name)


def test_an_unknown_word_of_a_vendor_is_not_told() -> None:
    """A value that the sheet does not know is left out, and so is one of another type."""
    bios = Bios(attributes={"LogicalProc": "Sometimes", "NumaNodesPerSocket": 4, "ProcTurboMode": None})
    assert neutral_values(vendor_by_id("dell"), "milan", bios) == {}


def test_pending_values_are_read_on_request() -> None:
    """What takes effect at the next restart is read as it will be."""
    bios = Bios(attributes={"LogicalProc": "Enabled"}, pending={"LogicalProc": "Disabled"})
    assert neutral_values(vendor_by_id("dell"), "milan", bios)["cpu.smt"] == "on"
    assert neutral_values(vendor_by_id("dell"), "milan", bios, pending=True)["cpu.smt"] == "off"


def test_a_sheet_with_a_wrong_setting_or_value_is_named() -> None:
    """A mistyped setting is told the right one, a value that the setting lacks is named."""
    dell = vendor_by_id("dell")
    entries = dell.settings["cpu.smt"]
    wrong = entries[0].model_copy(update={"values": {"yes": "Enabled"}, "seen": {}})
    found = [
        [(said, cure) for _, said, cure in vendor_itself(dell.model_copy(update={"settings": settings}))]
        for settings in ({"cpu.smtt": entries}, {"cpu.smt": (wrong,)})
    ]
    assert found == [
        [("cpu.smtt is not a setting", "did you mean cpu.smt?")],
        [("yes is not a value of cpu.smt", "available: on, off")],
    ]


def test_no_line_of_a_tool_talks_to_a_stranger() -> None:
    """Each line that asks a BMC checks its certificate: what carries a password never goes to whoever answers."""
    lines = [
        line
        for each in vendors().values()
        for line in (*each.tools.show, *each.tools.set, *each.tools.apply, *each.tools.prepare, each.tools.look or "")
        if line.startswith("curl ")
    ]
    assert ([line for line in lines if "--cacert BMC.pem" not in line or " -k" in line], len(lines) > 4) == ([], True)
