from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import advisor.measure.platform as platform_sheets
from advisor.errors import BadValue
from advisor.machine import platform_traits
from advisor.machine.cpuset import CpuSet
from advisor.machine.hardware import Cpu
from advisor.machine.machine import Machine
from advisor.machine.partitioning import scheme, two_l3_a_die
from advisor.machine.platform_traits import Scheme
from advisor.machine.topology import L3, NumaNode, Topology
from advisor.measure.platform import Platform, best_cut, dies, match_platform, offered, platform_by_id, platforms
from advisor.sheets import Sheet, read_sheet
from tests import sheets
from tests.sheets import platform_mistakes

SHEETS = pytest.mark.parametrize("sheet", platforms(), ids=lambda sheet: sheet.id)

FIELDS = ("vendor", "family", "model", "stepping", "model_name")
PROCESSORS: list[tuple[Any, ...]] = [
    ("AuthenticAMD", 23, 1, 2, "AMD EPYC 7601 32-Core Processor", "naples"),
    ("AuthenticAMD", 23, 8, 2, "AMD Ryzen Threadripper 2990WX 32-Core Processor", None),
    ("AuthenticAMD", 23, 49, 0, "AMD EPYC 7702 64-Core Processor", "rome"),
    ("AuthenticAMD", 23, 49, 0, "AMD EPYC 7H12 64-Core Processor", "rome"),
    ("AuthenticAMD", 23, 49, 0, "AMD Ryzen Threadripper 3990X 64-Core Processor", None),
    ("AuthenticAMD", 25, 1, 1, "AMD EPYC 7763 64-Core Processor", "milan"),
    ("AuthenticAMD", 25, 17, 1, "AMD EPYC 9654 96-Core Processor", "genoa"),
    ("AuthenticAMD", 25, 24, 1, "AMD Ryzen Threadripper PRO 7995WX 96-Cores", None),
    ("AuthenticAMD", 25, 144, 0, "AMD Instinct MI300A Accelerator", "mi300a"),
    ("AuthenticAMD", 25, 160, 2, "AMD EPYC 9754 128-Core Processor", "bergamo"),
    ("AuthenticAMD", 25, 160, 2, "AMD EPYC 8534P 64-Core Processor", "siena"),
    ("AuthenticAMD", 26, 2, 1, "AMD EPYC 9575F 64-Core Processor", "turin"),
    ("AuthenticAMD", 26, 17, 0, "AMD EPYC 9965 192-Core Processor", "turin-dense"),
    ("AuthenticAMD", 16, 8, 0, "Six-Core AMD Opteron(tm) Processor 8439 SE", None),
    ("GenuineIntel", 6, 45, 7, "Intel(R) Xeon(R) CPU E5-2650 0 @ 2.00GHz", None),
    ("GenuineIntel", 6, 63, 2, "Intel(R) Xeon(R) CPU E5-2660 v3 @ 2.60GHz", "haswell"),
    ("GenuineIntel", 6, 63, 4, "Intel(R) Xeon(R) CPU E7-8890 v3 @ 2.50GHz", None),
    ("GenuineIntel", 6, 79, 1, "Intel(R) Xeon(R) CPU E5-2695 v4 @ 2.10GHz", "broadwell"),
    ("GenuineIntel", 6, 85, 4, "Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz", "skylake"),
    ("GenuineIntel", 6, 85, 4, "Intel(R) Core(TM) i9-7900X CPU @ 3.30GHz", None),
    ("GenuineIntel", 6, 85, 7, "Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "cascade-lake"),
    ("GenuineIntel", 6, 85, 7, "Intel(R) Xeon(R) Platinum 9242 CPU @ 2.30GHz", None),
    ("GenuineIntel", 6, 85, 11, "Intel(R) Xeon(R) Platinum 8380HL CPU @ 2.90GHz", None),
    ("GenuineIntel", 6, 87, 1, "Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz", None),
    ("GenuineIntel", 6, 106, 6, "Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", "ice-lake"),
    ("GenuineIntel", 6, 143, 8, "Intel(R) Xeon(R) Gold 6448Y", "sapphire-rapids"),
    ("GenuineIntel", 6, 143, 8, "Intel(R) Xeon(R) w9-3495X", None),
    ("GenuineIntel", 6, 143, 8, "Intel(R) Xeon(R) CPU Max 9462", "sapphire-rapids-max"),
    ("GenuineIntel", 6, 207, 2, "INTEL(R) XEON(R) PLATINUM 8592+", "emerald-rapids"),
    ("GenuineIntel", 6, 173, 1, "Intel(R) Xeon(R) 6980P", "granite-rapids"),
    ("GenuineIntel", 6, 175, 3, "Intel(R) Xeon(R) 6710E", "sierra-forest"),
    ("GenuineIntel", 6, 175, 3, "Intel(R) Xeon(R) 6980E", "sierra-forest"),
    ("0x41", None, 0xD4F, 0, None, None),
    (None, None, None, None, "AMD EPYC 7601 32-Core Processor", None),
]


def machine(cpu: Cpu, *, l3: int = 16 << 20, kind: str | None = None) -> Machine:
    """Return a machine of one processor, one L3 group and one node of some kind of memory."""
    group, node = L3(cpuset=CpuSet([0]), size=l3), NumaNode(os_index=0, cpuset=CpuSet([0]), near=CpuSet([0]), memory=1, kind=kind)
    return Machine(cpu=cpu, topology=Topology(l3=(group,), nodes=(node,), pus=CpuSet([0])))


def found(cpu: Cpu, *, l3: int = 16 << 20, kind: str | None = None) -> str | None:
    """Return the id of the sheet that fits."""
    sheet = match_platform(machine(cpu, l3=l3, kind=kind))
    return sheet.id if sheet else None


@pytest.mark.parametrize(("cpu", "expected"), [(Cpu(**dict(zip(FIELDS, row, strict=False))), row[-1]) for row in PROCESSORS])
def test_a_processor_finds_its_sheet(cpu: Cpu, expected: str | None) -> None:
    """By family and model; workstation parts of the same silicon, and names without family and model, find none."""
    assert expected == found(cpu)


@pytest.mark.parametrize(
    ("family", "model", "l3", "expected"),
    [(25, 1, 32, "milan"), (25, 1, 96, "milan-x"), (25, 17, 32, "genoa"), (25, 17, 96, "genoa-x")],
)
def test_a_large_l3_tells_the_x_models(family: int, model: int, l3: int, expected: str) -> None:
    """The machine shows the cache; no name is needed."""
    assert expected == found(Cpu(vendor="AuthenticAMD", family=family, model=model), l3=l3 << 20)


def test_hbm_tells_a_xeon_max_without_its_name() -> None:
    """A node of HBM is enough."""
    assert found(Cpu(vendor="GenuineIntel", family=6, model=143, stepping=8), kind="hbm") == "sapphire-rapids-max"


@pytest.mark.parametrize(("l3", "expected"), [(114, "grace"), (36, None), (80, None)])
def test_the_l3_tells_grace_from_others_of_its_cores(l3: int, expected: str | None) -> None:
    """Graviton4 and Axion have the same cores and less cache."""
    assert expected == found(Cpu(vendor="0x41", model=0xD4F), l3=l3 << 20)


def test_a_machine_without_a_processor_finds_no_sheet() -> None:
    """Nothing is assumed."""
    assert match_platform(Machine()) is None


@pytest.mark.parametrize(
    ("name", "channels"),
    [("Intel(R) Xeon(R) 6710E", 8), ("Intel(R) Xeon(R) 6766E", 8), ("Intel(R) Xeon(R) 6980E", 12), (None, None)],
)
def test_sierra_forest_has_two_packages_and_no_certain_cut(name: str | None, channels: int | None) -> None:
    """6700E has eight channels and 6900E twelve; which of them offers sub-NUMA clusters was published of none for certain."""
    found = match_platform(machine(Cpu(vendor="GenuineIntel", family=6, model=175, model_name=name)))
    assert found is not None
    assert (found.id, found.channels) == ("sierra-forest", channels)
    assert [cut.name for cut in offered(found, None, 2, 64)] == ["none"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Xeon(R) Gold 6148", 32), ("Xeon(R) Silver 4116", 16), ("Xeon(R) Gold 5118", 16)],
)
def test_processors_with_one_avx512_unit_have_half_the_peak(name: str, expected: float) -> None:
    """Silver and Gold 5100 (ARK)."""
    sheet = match_platform(machine(Cpu(vendor="GenuineIntel", family=6, model=85, stepping=4, model_name=name)))
    assert sheet is not None
    assert expected == sheet.flops_per_cycle


@pytest.mark.parametrize(
    ("name", "expected"), [("Xeon 6980P", (12, "SNC3")), ("Xeon 6787P", (8, "SNC2")), (None, (None, "none"))]
)
def test_granite_rapids_has_two_kinds(name: str | None, expected: tuple[int | None, str]) -> None:
    """Twelve channels and three dies, or eight and two."""
    sheet = match_platform(machine(Cpu(vendor="GenuineIntel", family=6, model=173, model_name=name)))
    assert sheet is not None
    best = best_cut(sheet, "mpi", None, 2, 86)
    assert expected == (sheet.channels, best.name if best else None)


@SHEETS
def test_layouts_are_read_by_the_sheet(sheet: Platform) -> None:
    """Every model that a sheet has is cut as its scheme says, with the L3 groups of a die that it names."""
    same = [Cpu(vendor=sheet.match.vendor, family=sheet.match.family, model=model) for model in sheet.match.models]
    cpus = [cpu for cpu in same if cpu.family is not None]
    assert {Scheme[sheet.scheme]} >= {scheme(cpu) for cpu in cpus}
    assert {sheet.l3_per_die == 2} >= {two_l3_a_die(cpu) for cpu in cpus}


@pytest.mark.parametrize(
    ("vendor", "family", "model", "expected"),
    [
        ("AuthenticAMD", 16, 8, "FIXED"), ("AuthenticAMD", 23, 8, "DIES"), ("AuthenticAMD", 25, 48, "NPS"),
        ("AuthenticAMD", 25, 33, "UNKNOWN"), ("AuthenticAMD", 26, 80, "NPS"), ("HygonGenuine", 24, 1, "DIES"),
        ("GenuineIntel", 6, 45, "WHOLE"), ("GenuineIntel", 6, 86, "COD"), ("GenuineIntel", 6, 87, "KNL"),
        ("GenuineIntel", 6, 221, "SNC"), ("GenuineIntel", 6, 250, "UNKNOWN"), ("GenuineIntel", 19, 1, "UNKNOWN"),
        ("0x46", None, 1, "FIXED"), ("0x41", None, 0xD4F, "UNKNOWN"),
    ],
)  # fmt: skip
def test_processors_without_a_sheet_are_cut_as_their_makers_say(
    vendor: str, family: int | None, model: int, expected: str
) -> None:
    """Old ones, desktop parts, and those whose generation has no sheet yet."""
    assert scheme(Cpu(vendor=vendor, family=family, model=model)).name == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Intel(R) Xeon(R) CPU E5-2660 v3 @ 2.60GHz", "COD"), ("Intel(R) Xeon(R) CPU E7-8890 v3 @ 2.50GHz", "COD"),
        ("Intel(R) Xeon(R) CPU E5-2650 0 @ 2.00GHz", "WHOLE"), ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", "SNC"),
        ("AMD EPYC 7601 32-Core Processor", "DIES"), ("AMD EPYC 9B14 96-Core Processor", "NPS"),
        ("Intel(R) Xeon(R) CPU Max 9480", "SNC"), ("Intel(R) Xeon(R) 6980P", "SNC"), ("Intel(R) Core(TM) i7", "UNKNOWN"),
    ],
)  # fmt: skip
def test_a_marketing_name_tells_how_a_processor_is_cut_where_nothing_else_does(name: str, expected: str) -> None:
    """Old hwloc gives no family and model; the series of the sheets are asked first."""
    assert scheme(Cpu(model_name=name)).name == expected


def test_nothing_is_wrong_in_the_sheets_or_between_them() -> None:
    """Names of cuts, figures and their publications, results above the channels, two sheets of one processor."""
    assert [str(each) for each in platform_mistakes()] == []


@SHEETS
def test_cuts_rise(sheet: Platform) -> None:
    """No number of nodes occurs twice."""
    nodes = [cut.nodes for cut in sheet.cuts if cut.per == "socket"]
    assert sorted(set(nodes)) == nodes


PLATFORMS = {
    "naples", "rome", "milan", "milan-x", "genoa", "genoa-x", "bergamo", "siena", "turin", "turin-dense", "mi300a", "haswell",
    "broadwell", "skylake", "cascade-lake", "ice-lake", "sapphire-rapids", "sapphire-rapids-max", "emerald-rapids",
    "granite-rapids", "sierra-forest", "grace",
}  # fmt: skip


def test_every_generation_promised_has_its_sheet() -> None:
    """The folder is the registry; these are the least it must hold."""
    assert {sheet.id for sheet in platforms()} >= PLATFORMS


@pytest.mark.parametrize(("name", "expected"), [("rome", "rome"), ("Sapphire Rapids", "sapphire-rapids"), ("milan_x", "milan-x")])
def test_a_platform_is_found_by_its_name(name: str, expected: str) -> None:
    """Case, spaces and underscores do not matter."""
    assert expected == platform_by_id(name).id


def test_an_unknown_platform_is_refused_with_the_nearest_name() -> None:
    """Or with all of them."""
    with pytest.raises(BadValue, match=r"unknown platform 'roma'; did you mean rome\?"):
        platform_by_id("roma")
    with pytest.raises(BadValue, match="available: bergamo, broadwell"):
        platform_by_id("zzz")


def test_one_platform_is_read_whole_for_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start-up is felt: of all others no more is read than what recognises them."""
    whole: list[str] = []

    def read(path: Path, only: Iterable[str] = ()) -> Sheet:
        whole.extend([] if only else [path.stem])
        return read_sheet(path, only=only)

    monkeypatch.setattr(platform_sheets, "read_sheet", read)
    monkeypatch.setattr(platform_traits, "read_sheet", read)
    for cached in (platform_traits.traits, platform_sheets.platform_sheet, platform_sheets.platforms):
        cached.cache_clear()
    match_platform(Machine(cpu=Cpu(vendor="AuthenticAMD", family=26, model=17, model_name="AMD EPYC 9965 192-Core Processor")))
    assert whole == ["turin-dense", "turin"]


@pytest.mark.parametrize(
    ("l3", "sockets", "scope", "expected"),
    [(16, 2, "mpi", "NPS4"), (8, 2, "hpl", "NPS4"), (12, 2, "throughput", "NPS2"), (6, 1, "mpi", "NPS1"), (None, 2, "mpi", None)],
)
def test_rome_is_best_at_the_highest_nps_it_offers(l3: int | None, sockets: int, scope: str, expected: str | None) -> None:
    """As Dell measured in 2019; without the number of dies nothing is claimed."""
    rome = platform_by_id("rome")
    best = best_cut(rome, scope, dies(rome, l3), sockets)  # type: ignore[arg-type]
    assert expected == (best.name if best else None)


def test_nps0_needs_two_sockets() -> None:
    """On one there is nothing to interleave over."""
    rome = platform_by_id("rome")
    shown = [{cut.name for cut in offered(rome, 8, sockets)} & {"NPS0"} for sockets in (1, 2)]
    assert shown == [set(), {"NPS0"}]


@pytest.mark.parametrize(
    ("platform", "cores", "expected"),
    [
        ("haswell", 10, "COD"), ("haswell", 8, "none"), ("broadwell", 10, "none"), ("broadwell", 18, "COD"),
        ("skylake", 20, "SNC2"), ("cascade-lake", 24, "SNC2"), ("ice-lake", 32, "SNC2"),
        ("sapphire-rapids", 56, "SNC4"), ("sapphire-rapids", 32, "none"), ("sapphire-rapids-max", 32, "SNC4"),
        ("emerald-rapids", 64, "SNC2"), ("emerald-rapids", 32, "none"), ("grace", 72, None),
    ],
)  # fmt: skip
def test_xeons_are_best_cut_where_it_is_certain_that_they_can_be(platform: str, cores: int, expected: str | None) -> None:
    """Two home agents for COD, more than 32 cores for four tiles; what the smaller die offers nobody has published."""
    best = best_cut(platform_by_id(platform), "mpi", None, 2, cores)
    assert expected == (best.name if best else None)


def test_naples_is_best_with_its_channels_interleaved() -> None:
    """One node a die."""
    naples = platform_by_id("naples")
    best = best_cut(naples, "hpl", dies(naples, 8), 2)
    assert best is not None
    assert (best.name, best.nodes) == ("channel-interleaving", 4)


def test_each_sheet_is_read_once_however_many_there_are_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Platforms are compared with each other: reading a sheet for each pair was most of what the check takes."""
    read: list[Path] = []

    def counting(path: Path) -> Sheet:
        read.append(path)
        return read_sheet(path)

    monkeypatch.setattr(sheets, "read_sheet", counting)
    assert (list(platform_mistakes()), sorted(read)) == ([], sorted(platform_traits.platform_files().values()))
