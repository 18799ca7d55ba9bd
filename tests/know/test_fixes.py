import pytest

import advisor.advice.know.fixes as step_maker
from advisor.advice.checklist import Sheets, checklist_with
from advisor.advice.know.fixes import Places, fix_of, locate, with_fixes
from advisor.advice.know.vendors import commands_of, settings, vendors
from advisor.advice.model.findings import Fix, Want
from advisor.advice.model.sheets import Neutral, Place, Setting, Vendor
from advisor.machine.hardware import Bios
from tests.know.listed import asks, audit, state


def fix(name: str, value: str | None, current: str | None = None, vendor: str = "dell", platform: str | None = "rome") -> Fix:
    """Return the step of one setting."""
    return fix_of(settings()[name], Want(setting=name, value=value), current, Places(vendors()[vendor], platform))


def test_a_bios_setting_has_menu_attribute_command_check_and_way_back() -> None:
    """The step is in the vendor's words, and the way back in its word for the current value."""
    found = fix("cpu.enumeration", "linear", "round-robin")
    assert found.menu == "F2 at boot > System Setup > System BIOS > Processor Settings > MADT Core Enumeration"
    assert (found.attribute, found.attribute_value, found.verified, found.reboot) == (
        "MadtCoreEnumeration",
        "Linear",
        True,
        "yes",
    )
    assert found.commands == ("racadm set BIOS.ProcSettings.MadtCoreEnumeration Linear",)
    assert (found.check, found.undo) == ("racadm get BIOS.ProcSettings.MadtCoreEnumeration", "set it back to RoundRobin")


def test_what_must_be_set_first_is_named_with_its_reason() -> None:
    """A locked option names the profile that unlocks it, and has no command alone: a plan writes both, or neither."""
    found = fix("power.boost", "on", platform="ice-lake")
    assert found.before == ("SysProfile = Custom: every other system profile sets it and makes it read-only",)
    assert found.commands == ()
    assert found.notes[0] == "SysProfile also controls it: advisor checklist sets both consistently, or says why it cannot"


def test_a_vendor_without_words_has_the_usual_menu_name() -> None:
    """Where the maker's name is not known, the step says the usual one, and that it is that."""
    found = fix("power.ppt", "280")
    assert (found.text, found.attribute, found.commands) == ("BIOS: set Package Power Limit to 280", None, ())
    assert found.notes == ("Dell: Dell offers the TDP by name only (power.tdp)",)


def test_an_unknown_value_has_a_menu_and_no_command() -> None:
    """A value that only the machine tells has its menu, and nothing to paste."""
    found = fix("numa.nps", None)
    assert found.text.endswith("NUMA Nodes Per Socket: the value for this machine")
    assert (found.attribute_value, found.commands, found.apply, found.before, found.verified) == (None, (), (), (), None)


def test_the_system_takes_a_value_at_once_and_for_good() -> None:
    """A kernel setting is written now and in a file, and the way back removes the file."""
    found = fix("os.numa_balancing", "off", "on")
    assert found.commands == (
        "sysctl -w kernel.numa_balancing=0",
        "echo 'kernel.numa_balancing = 0' > /etc/sysctl.d/90-kernel.numa_balancing.conf",
    )
    assert found.undo == "rm /etc/sysctl.d/90-kernel.numa_balancing.conf; sysctl -w kernel.numa_balancing=1"


def test_services_and_boot_options_go_back_by_their_own_tools() -> None:
    """A service is switched on again, a boot option taken away again."""
    assert fix("os.irqbalance", "off", "on").undo == "systemctl enable --now irqbalance"
    assert fix("boot.iommu", "pt", "default").undo == "grubby --update-kernel=ALL '--remove-args=iommu=pt iommu=off'"


def test_numbers_are_written_in_the_unit_of_the_file() -> None:
    """Bytes become the kilobytes that the kernel's file holds."""
    assert commands_of(settings()["os.min_free"], 138412032)[0] == "sysctl -w vm.min_free_kbytes=135168"


def test_only_findings_get_steps() -> None:
    """A finding gets a step for each setting and its own advice; a pass gets none."""
    findings = (asks("a", "cpu.smt", "off", advice="or leave it"), asks("b", "cpu.smt", "off", "pass"), state("c", "job"))
    made = with_fixes(findings, settings(), {"cpu.smt": "on"}, Places(vendors()["hpe"], "milan"))
    assert [len(each.fix) for each in made] == [2, 0, 1]
    assert made[0].fix[1].text == "or leave it"


def test_a_place_is_looked_up_once_and_carried_to_every_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step of a finding and the line of the checklist name the same attribute, with the suffix of this board."""
    looked: list[str] = []

    def noted(vendor: Vendor, platform: str | None, setting: Setting, value: Neutral, bios: Bios | None = None) -> Place | None:
        looked.append(setting.name)
        return locate(vendor, platform, setting, value, bios)

    monkeypatch.setattr(step_maker, "locate", noted)
    bios = Bios(attributes={"SNC_F300": "Disable"})
    places = Places(vendors()["supermicro"], "sapphire-rapids", bios)
    (found,) = with_fixes((asks("a", "cpu.snc", "snc4"),), settings(), {"cpu.snc": "off"}, places)
    sheets = Sheets(settings(), places.vendor, bios=bios, found=places)
    checklist, wishes = checklist_with(audit([found], {"cpu.snc": "off"}, "sapphire-rapids"), sheets)
    assert [found.fix[0].attribute, checklist.items[0].fix.attribute] == ["SNC_F300", "SNC_F300"]
    assert [wish.place for wish in wishes] == [places.of(settings()["cpu.snc"], "snc4")]
    assert looked == ["cpu.snc"]
