"""No menu of another maker is printed, of the server's or of the processor's."""

import pytest

from advisor.advice.judgement import judged
from advisor.advice.know.fixes import Places, fix_of
from advisor.advice.know.vendors import settings, sheet_for_machine, vendors
from advisor.advice.model.findings import Want
from advisor.advice.model.sheets import Setting, Vendor
from advisor.machine.hardware import Cpu, Firmware
from advisor.machine.machine import Machine

AMD_ONLY = ("AMD CBS", "APBDIS", "xGMI", "Core Performance Boost", "SMT Control", "Determinism")
INTEL_ONLY = ("Socket Configuration", "Turbo", "Hyper-Threading", "UPI", "Uncore")
XEON_W = Cpu(vendor="GenuineIntel", family=6, model=85, model_name="Intel(R) Xeon(R) W-2295")
OLD_OPTERON = Cpu(vendor="AuthenticAMD", family=21, model=2, model_name="AMD Opteron(tm) Processor 6376")
GB10 = Cpu(vendor="0x41", model=0xD87)


def printed(sheet: Vendor) -> str:
    """Return everything that is said of every BIOS setting where the processor's generation is not known."""
    asked = [setting for setting in settings().values() if setting.where == "bios"]
    wants = [(setting, next(iter(setting.values), "1")) for setting in asked]
    return "\n".join(
        fix_of(setting, Want(setting=setting.name, value=value), None, Places(sheet, None)).text for setting, value in wants
    )


def shared(names: tuple[str, ...]) -> list[Setting]:
    """Return the settings of that name that processors of several makers have."""
    return [settings()[name] for name in names]


@pytest.mark.parametrize("sheet", vendors().values(), ids=lambda sheet: sheet.id)
@pytest.mark.parametrize(
    ("cpu", "forbidden"),
    [(XEON_W, AMD_ONLY[:1]), (GB10, (AMD_ONLY[0], INTEL_ONLY[0])), (OLD_OPTERON, INTEL_ONLY[:1]), (None, ("CBS", "Socket Conf"))],
    ids=["xeon", "gb10", "opteron", "unknown"],
)
def test_menus_of_another_cpu_maker_are_never_printed(sheet: Vendor, cpu: Cpu | None, forbidden: tuple[str, ...]) -> None:
    """A processor of no known generation gets its own maker's menus or none."""
    text = printed(sheet_for_machine(sheet, cpu, None, known_maker=True))
    assert [word for word in forbidden if word in text] == []


def test_a_setting_of_several_makers_is_named_in_neutral_words_where_its_name_is_not_known() -> None:
    """Boost is called otherwise by each maker; a server without a sheet gets the idea and no other server's menu."""
    bare = sheet_for_machine(vendors()["generic"], GB10, None, known_maker=True)
    for setting in shared(("power.boost", "cpu.smt", "power.cstates", "power.profile", "io.iommu")):
        found = fix_of(setting, Want(setting=setting.name, value="on"), None, Places(bare, None))
        assert found.text.startswith(f"BIOS: set {setting.heading} to ")


@pytest.mark.parametrize(("maker", "says"), [("Cray Inc.", False), ("Huawei", False), (None, True)])
def test_the_key_of_the_setup_is_said_only_where_the_maker_is_not_known(maker: str | None, says: bool) -> None:
    """Del or F2 is a guess for a server of nobody, and wrong for a known maker without a sheet."""
    firmware = Firmware(system_vendor=maker) if maker else None
    cpu = Cpu(vendor="AuthenticAMD", family=23, model=49, model_name="AMD EPYC 7742 64-Core Processor")
    vendor = judged(Machine(cpu=cpu, firmware=firmware)).vendor
    assert ("Del or F2" in vendor.setup) is says
