"""Who says what of a BIOS setting: registers, drivers, firmware, BIOS; who is believed, and what is found where they differ."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from advisor.advice.audit_page.screen import HEIGHT
from advisor.advice.judge.case import Case, Standing
from advisor.advice.judge.rule import setting_readers, settings_in_effect
from advisor.advice.judgement import Judgement, judged
from advisor.advice.know.vendors import publications, settings
from advisor.advice.model.sheets import Witness
from advisor.machine.hardware import Bios, Cpu, UncoreClock
from advisor.machine.platform_traits import Maker
from advisor.machine.read import read_machine
from advisor.machine.registers import Processor, Registers, SocketFirmware, messages, registers
from tests.machines import bare
from tests.test_findings import first_screen

Server = Callable[[Path], Path]


@cache
def audit(server: Server) -> Judgement:
    """Return what the rules say of a bare server."""
    return judged(read_machine(str(server(Path(mkdtemp(prefix="advisor-bare-"))))))


def standing(case: Case, name: str, bios: str | None = None) -> Standing:
    """Return what a setting is said to be set to."""
    own = {name: settings()[name]}
    (only,) = settings_in_effect(case, own, setting_readers(own), {} if bios is None else {name: bios}, {})
    return only


def test_the_running_system_is_believed_and_the_bios_stands_beside_it() -> None:
    """The BIOS says that C1E is off, the register that it is on: somebody switched it on after boot."""
    case = Case(registers=Registers(c1e=True), cpu=Cpu(idle_driver="acpi_idle"))
    found = standing(case, "power.c1e", "off")
    assert (found.value, found.sure, found.applied, [each.by for each in found.witnesses]) == (
        "on",
        "medium",
        "off",
        ["register", "BIOS"],
    )


@pytest.mark.parametrize(("driver", "expected"), [("intel_idle", []), ("acpi_idle", ["off"])])
def test_a_clear_c1e_bit_says_nothing_where_intel_idle_clears_it(driver: str, expected: list[str]) -> None:
    """The driver switches the promotion off on every CPU that it serves."""
    own = {"power.c1e": settings()["power.c1e"]}
    case = Case(registers=Registers(c1e=False), cpu=Cpu(idle_driver=driver))
    assert [each.value for each in settings_in_effect(case, own, setting_readers(own), {}, {})] == expected


def test_the_uncores_first_limits_are_believed_before_its_register() -> None:
    """The driver kept what it found; the register shows what a tool wrote later. Both are shown."""
    die = UncoreClock(name="package_00_die_00", began_min=2_400_000_000, began_max=2_400_000_000)
    case = Case(cpu=Cpu(uncore=(die,)), registers=Registers(uncore_min=800_000_000, uncore_max=2_400_000_000))
    found = standing(case, "power.uncore")
    assert (found.value, found.sure, found.second) == ("max", "high", "dynamic")
    assert found.second_how == "MSR 0x620 of every package; the kernel or a tool may have written it"


@pytest.mark.parametrize(
    ("firmware", "setting", "expected"),
    [
        ({"fabric_fixed": True, "fabric_pstate": 0}, "fabric.pstate", "p0"),
        ({"fabric_fixed": False, "fabric_pstate": 0}, "fabric.pstate", "auto"),
        ({"fabric_fixed": False}, "fabric.apbdis", "off"),
        ({"fabric_clock": 1_600_000_000, "fabric_clock_lowest": 800_000_000}, "fabric.apbdis", "off"),
        ({"memory_clock": 1_600_000_000, "memory_clock_lowest": 933_000_000}, "memory.pstates", "auto"),
        ({"power_limit": 280.0, "power_limit_max": 280.0}, "power.tdp", "max"),
        ({"power_limit": 280.0, "power_limit_max": 280.0}, "power.ppt", "280"),
        ({"io_clock_lowest": (3, 3, 3, 3)}, "io.lclk_dpm", "high"),
        ({"io_clock_lowest": (0, 0, 0, 0), "io_clock_highest": (0, 0, 0, 0)}, "io.lclk_dpm", "low"),
        ({"io_clock_lowest": (0, 0, 0, 0), "io_clock_highest": (3, 3, 3, 3)}, "io.lclk_dpm", "auto"),
        ({"xgmi_narrowest": "x16", "xgmi_widest": "x16"}, "fabric.xgmi_width", "x16"),
        ({"xgmi_narrowest": "x8", "xgmi_widest": "x16"}, "fabric.xgmi_width", "auto"),
    ],
)
def test_firmware_says_how_it_is_set(firmware: dict[str, object], setting: str, expected: str) -> None:
    """Every socket says it; the other one agrees."""
    sockets = tuple(SocketFirmware.model_validate({"socket": at, **firmware}) for at in (0, 1))
    assert standing(Case(socket_firmware=sockets), setting).value == expected


def test_a_fabric_clock_that_stands_still_proves_nothing() -> None:
    """On an idle machine it may stand at its lowest; only one that moves is known to follow the load."""
    own = {"fabric.apbdis": settings()["fabric.apbdis"]}
    still = SocketFirmware(socket=0, fabric_clock=1_600_000_000, fabric_clock_lowest=1_600_000_000)
    assert settings_in_effect(Case(socket_firmware=(still,)), own, setting_readers(own), {}, {}) == ()


def test_three_planted_disagreements_are_found(tmp_path: Path) -> None:
    """BIOS against register, driver against register, one core against the others."""
    root = bare.milan(tmp_path)
    bare.put(root, "sys/devices/system/cpu/cpufreq/boost", "0\n")
    bare.put(root, "dev/cpu/5/msr/0xc0000108", "0000000000000001\n")
    bios = Bios(attributes={"L2StreamHwPrefetcher": "Disabled"})
    found = {each.id: each for each in judged(read_machine(str(root)), bios=bios).audit.found}
    assert [(name, found[name].subject) for name in _DISAGREEMENTS] == [
        ("firmware-setting-overridden", "cpu.prefetch"),
        ("firmware-witnesses-differ", "power.boost"),
        ("cpu-register-differs", "l1_stream"),
    ]
    assert found["cpu-register-differs"].claim == (
        "l1_stream is on on most cores and off on CPUs 5 (MSR 0xc0000108 Prefetch Control; read on one thread per core)"
    )


_DISAGREEMENTS = ("firmware-setting-overridden", "firmware-witnesses-differ", "cpu-register-differs")


@pytest.mark.slow
@pytest.mark.parametrize("server", [bare.rome, bare.milan, bare.turin, bare.ice_lake, bare.sapphire_rapids])
def test_a_healthy_bare_server_disagrees_with_itself_in_nothing(server: Server) -> None:
    """No finding above info comes of registers and messages, and the first screen keeps to its lines."""
    found = audit(server)
    assert [each.id for each in found.audit.found if each.id in _DISAGREEMENTS] == []
    assert len(first_screen(found)) <= HEIGHT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "least"), [(bare.rome, 23), (bare.ice_lake, 25), (bare.milan, 31), (bare.turin, 37), (bare.sapphire_rapids, 26)]
)
def test_a_bare_server_shows_its_bios_to_root(server: Server, least: int) -> None:
    """Without a management controller; each setting names its witness."""
    shown = [row for row in audit(server).audit.settings if row.where == "bios" and row.current is not None]
    assert len(shown) >= least
    assert [row.name for row in shown if not row.witnesses or row.witnesses[0].value != row.current] == []


@pytest.mark.slow
def test_servers_of_both_makers_show_more_than_45_settings() -> None:
    """Of 78 settings of the BIOS; what is left is asked of the BIOS itself."""
    shown = {
        row.name
        for server in (bare.turin, bare.sapphire_rapids)
        for row in audit(server).audit.settings
        if row.where == "bios" and row.current is not None
    }
    elder = {"memory.interleave", "cpu.snoop_mode"}  # EPYC 7001, Haswell: tests/test_findings.py
    readable = {name for name, each in settings().items() if each.where == "bios" and each.read}
    assert (sorted(readable - shown - elder), len(readable) >= 45) == (["io.acs", "memory.hbm_mode", "memory.pstates"], True)


def test_as_many_settings_of_the_bios_are_seen_as_ever() -> None:
    """A reading that is lost is noticed; of those that nothing shows tests/sheets.py wants the reason."""
    assert sum(bool(each.read) for each in settings().values() if each.where == "bios") >= 48


@pytest.mark.parametrize(("maker", "visible"), [("amd", 41), ("intel", 28)])
def test_no_single_server_has_45_settings_that_root_can_see(maker: Maker, visible: int) -> None:
    """Of the settings of one maker's servers; the page of settings says what hides the others."""
    ours = [each for each in settings().values() if each.where == "bios" and (not each.makers or maker in each.makers)]
    assert visible <= sum(bool(each.read) for each in ours) < 45


def test_every_register_and_message_names_settings_that_read_it() -> None:
    """The table of registers and the sheet of settings say the same of each other."""
    named = {
        (name, field.setting) for each in (*registers(), *messages()) for name, field in each.fields.items() if field.setting
    }
    unread = [
        (fact, name)
        for fact, name in sorted(named)
        if not any(fact in reading.value for reading in settings()[name].read) and name != "memory.speed"
    ]
    assert unread == []


def test_every_fact_of_a_table_is_a_field_and_every_source_a_publication() -> None:
    """A slip in rules/registers would otherwise be seen on a server first."""
    facts = {name for each in registers() for name in each.fields}, {name for each in messages() for name in each.fields}
    fields = (
        {*Registers.model_fields} - {"differing"},
        {*SocketFirmware.model_fields} - {"socket", "fabric_clock_lowest", "memory_clock_lowest"},
    )
    assert facts == fields
    assert {each.source for each in (*registers(), *messages())} - {*publications()} == set()


@pytest.mark.slow
def test_a_setting_that_a_register_would_show_asks_for_the_module(tmp_path: Path) -> None:
    """Cheaper than a BMC: load the module. A setting that nothing shows still asks for the BIOS."""
    root = bare.ice_lake(tmp_path)
    for file in (root / "dev/cpu").glob("*/msr/*"):
        file.unlink()
    bare.put(root, "dev/cpu/.keep", "")
    lacks = {lack.fact: lack for each in judged(read_machine(str(root))).audit.findings for lack in each.lacks}
    assert lacks["setting.power.c1e"].help == "take a capture on the machine itself: advisor capture"
    assert "--bios" in lacks["setting.fabric.upi_power"].help


def test_a_processor_in_no_table_is_served_by_nothing() -> None:
    """A guest's, one to come, one of another vendor."""
    strange = (
        Processor("GenuineIntel", 6, 143, guest=True),
        Processor("GenuineIntel", 6, 250),
        Processor("CentaurHauls", 6, 143),
    )
    assert [each for each in (*registers(), *messages()) for one in strange if each.serves(one)] == []


def test_a_witness_says_who_and_how() -> None:
    """In a document of advisor audit --json each setting has them."""
    assert standing(Case(registers=Registers(l2_stream=True)), "cpu.prefetch").witnesses == (
        Witness(
            by="register",
            value="on",
            sure="medium",
            how="MSR 0x1a4 bit 0 (AMD 0xc0000108 bit 3) on every core; tools may have written it",
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "name"),
    [
        (bare.rome, "Rome"),
        (bare.milan, "Milan"),
        (bare.turin, "Turin"),
        (bare.ice_lake, "Ice Lake"),
        (bare.sapphire_rapids, "Sapphire"),
    ],
)
def test_the_manual_counts_as_an_audit_does(server: Server, name: str) -> None:
    """Settings of the BIOS that a default audit asks for, and those that nothing shows."""
    asked = [row for row in audit(server).audit.settings if row.where == "bios" and row.rules]
    manual = (Path(__file__).parents[2] / "docs/bios.md").read_text()
    row = next(line for line in manual.splitlines() if line.startswith("| ") and name in line).split("|")
    assert (int(row[2]), int(row[4].split(":")[0])) == (len(asked), sum(each.current is None for each in asked))
