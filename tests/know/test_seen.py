"""Verified means: this name and value was seen in firmware of this maker and of this generation."""

from pathlib import Path
from shutil import copytree

import pytest

import advisor.advice.know.vendors as sheets
from advisor.advice.know.fixes import attributes_named, locate, neutral_values, number_of
from advisor.advice.know.vendors import publications, settings, vendor_by_id, vendors
from advisor.advice.model.sheets import Entry, Evidence, Place, Require, Vendor
from advisor.errors import BadSheet
from advisor.machine.hardware import Bios, Scalar
from advisor.paths import rules
from advisor.sheets import model_of, parse_sheet
from tests.know.registries import facts, shown_words
from tests.sheets import main, vendor_itself

SEEN = [
    pytest.param(vendor, name, entry, evidence, id=f"{vendor.id}-{name}-{at}-{evidence}")
    for vendor in vendors().values()
    for name, entries in vendor.settings.items()
    for at, entry in enumerate(entries)
    for evidence in entry.seen
]


@pytest.mark.parametrize(("vendor", "name", "entry", "evidence"), SEEN)
def test_what_an_entry_says_was_seen_is_what_was_written_down_of_it(
    vendor: Vendor, name: str, entry: Entry, evidence: str
) -> None:
    """No value more and no value less than the facts of that registry, capture or script have of the attribute."""
    expected = shown_words(entry, facts(vendor.id)[evidence]["attributes"])
    seen = entry.seen[evidence]
    everything = {"any"} if entry.passes else set(entry.values)
    assert expected is not None
    assert expected == (everything if seen == "all" else set(seen))


@pytest.mark.parametrize("vendor", [vendor for vendor in vendors().values() if vendor.evidence])
def test_every_prerequisite_that_is_called_seen_was_seen(vendor: Vendor) -> None:
    """Attribute and value of a prerequisite stand in the facts that it names."""
    needs = [need for entries in vendor.settings.values() for entry in entries for need in entry.requires]
    told = [(need, name, facts(vendor.id)[name]["attributes"]) for need in needs for name in need.seen]
    missing = [
        (need.attribute, name)
        for need, name, shown in told
        if not any(need.value in shown[each] for each in attributes_named(need.attribute, tuple(shown)) or ())
        and need.value not in shown.get(need.attribute, ())
    ]
    assert missing == []


@pytest.mark.parametrize("vendor", vendors())
def test_a_place_is_verified_only_where_firmware_of_its_own_generation_shows_it(vendor: str) -> None:
    """Asked of the facts anew, for every platform, setting and value: the sheet's word alone is not believed."""
    sheet = vendors()[vendor]
    wrong = [
        (platform, place.setting, place.vendor_value)
        for platform, place in _verified(sheet)
        if not _shown(sheet, platform, place)
    ]
    assert wrong == []


def _verified(sheet: Vendor) -> list[tuple[str, Place]]:
    platforms = sorted({each for ids in sheet.generations.values() for each in ids})
    found = []
    for platform in platforms:
        for name in sheet.settings:
            setting = settings()[name]
            for value in [setting.neutral(word) for word in setting.values] or [7]:
                place = locate(sheet, platform, setting, value)
                if place is not None and place.verified:
                    found.append((platform, place))
    return found


def _shown(sheet: Vendor, platform: str, place: Place) -> bool:
    """Return whether facts of firmware of the platform's generation have a place's attribute at its value."""
    for name, evidence in sheet.evidence.items():
        if evidence.kind not in ("registry", "capture", "reference"):
            continue
        every = {each for word in evidence.platforms for each in sheet.generations.get(word, (word,))}
        shown = facts(sheet.id)[name]["attributes"]
        names = [each for each in shown if _same(each, place.attribute or "")]
        if platform in every and any(shown[each] == "integer" or place.vendor_value in shown[each] for each in names):
            return True
    return False


def _same(name: str, attribute: str) -> bool:
    before, _, after = attribute.partition("{n}")
    if "{n}" in attribute:
        return name.startswith(before) and name.endswith(after)
    return name == attribute or name.rpartition("_")[0] == attribute


@pytest.mark.parametrize(
    ("vendor", "platforms"),
    [
        ("hpe", ("sierra-forest", "turin", "turin-dense", "haswell")),
        ("dell", ("granite-rapids", "turin", "turin-dense", "naples")),
        ("lenovo", ("haswell", "cascade-lake", "sapphire-rapids", "granite-rapids", "rome", "turin")),
        ("supermicro", ("haswell", "skylake", "ice-lake", "granite-rapids", "naples", "rome", "turin")),
        ("gigabyte", ("naples", "milan", "genoa", "turin", "sapphire-rapids")),
        ("hpe-cray-ex", ("rome", "milan", "genoa", "mi300a")),
        ("hpe-cray-xd", ("genoa", "turin", "sapphire-rapids")),
        ("fujitsu", ("genoa", "turin", "sapphire-rapids")),
    ],
)
def test_generations_of_which_no_firmware_was_read_have_nothing_verified(vendor: str, platforms: tuple[str, ...]) -> None:
    """HPE Gen12 with E-cores, Dell 17G with P-cores, every Turin: their names are their elders', and are told as such."""
    assert [(platform, place.setting) for platform, place in _verified(vendors()[vendor]) if platform in platforms] == []


@pytest.mark.parametrize(
    ("vendor", "platform", "least"),
    [
        ("dell", "haswell", 20),
        ("dell", "cascade-lake", 25),
        ("dell", "ice-lake", 30),
        ("dell", "milan", 8),
        ("dell", "sapphire-rapids", 30),
        ("dell", "genoa", 25),
        ("dell", "sierra-forest", 25),
        ("hpe", "cascade-lake", 15),
        ("hpe", "milan", 25),
        ("hpe", "sapphire-rapids", 20),
        ("hpe", "genoa", 15),
        ("lenovo", "ice-lake", 25),
        ("lenovo", "genoa", 15),
        ("supermicro", "sapphire-rapids", 20),
        ("gigabyte", "rome", 20),
        ("nvidia-dgx", "sapphire-rapids", 7),
    ],
)
def test_generations_whose_firmware_was_read_have_their_settings_verified(vendor: str, platform: str, least: int) -> None:
    """Where a registry or capture of the generation was read, most of the sheet's settings have a value that it shows."""
    assert len({place.setting for each, place in _verified(vendors()[vendor]) if each == platform}) >= least


def test_e_cores_stand_as_evidence_for_no_p_cores() -> None:
    """The R670 and the R770 whose firmware was read have Sierra Forest, whose profiles and clusters are its own."""
    dell = vendor_by_id("dell")
    words = {word for name in ("capture R670 BIOS 1.3.2", "registry R770 BIOS 1.2.4") for word in dell.evidence[name].platforms}
    assert {each for word in words for each in dell.generations[word]} == {"sierra-forest"}
    assert locate(dell, "sierra-forest", settings()["cpu.smt"], "off") is None
    hpc = locate(dell, "sierra-forest", settings()["power.workload_profile"], "hpc")
    assert hpc is not None
    assert (hpc.vendor_value, hpc.commands) == (None, ())
    profile = locate(dell, "sierra-forest", settings()["power.profile"], "performance")
    assert profile is not None
    assert profile.verified


def test_a_prerequisite_that_was_not_seen_leaves_a_place_unverified() -> None:
    """Turbo was seen on an R6515, the profile Custom that it needs only on other generations."""
    boost = settings()["power.boost"]
    milan, genoa = (locate(vendor_by_id("dell"), platform, boost, "on") for platform in ("milan", "genoa"))
    assert milan is not None
    assert genoa is not None
    assert (milan.verified, genoa.verified) == (False, True)


SHEET = """
id: acme
name: Acme
generations:
  one: [rome]
  two: [genoa]
evidence:
  registry of one: {platforms: [one], kind: registry, product: A1, source: dell-rome-2019}
  script: {platforms: [two], kind: script, product: A2, source: dell-rome-2019}
settings:
  cpu.smt:
    - {platforms: PLATFORMS, attribute: Smt, label: SMT, menu: CPU, values: {on: "1", off: "0"}, seen: SEEN}
"""


@pytest.mark.parametrize(
    ("platforms", "seen", "problem"),
    [
        ("[two]", "{registry of one: all}", "registry of one is of none of the generations that this entry is for"),
        ("[one]", "{script: [on]}", "script is of none of the generations"),
        ("[one]", "{registry of three: all}", "registry of three is not an evidence of this sheet"),
        ("[one]", "{registry of one: [sideways]}", "sideways is not a value of this entry"),
        ("[three]", "{registry of one: all}", "three is none of this vendor's generations; available: one, two"),
    ],
)
def test_a_sheet_that_claims_more_than_its_evidence_covers_is_named(platforms: str, seen: str, problem: str) -> None:
    """What another generation's registry shows cannot be called seen."""
    text = SHEET.replace("PLATFORMS", platforms).replace("SEEN", seen)
    told = "; ".join(f"{said}; {cure}" for _, said, cure in vendor_itself(model_of(parse_sheet(text, "acme.yaml"), Vendor)))
    assert problem in told


def test_an_entry_for_two_generations_is_verified_in_the_one_that_was_seen() -> None:
    """And a script proves nothing: what it writes may be refused."""
    text = SHEET.replace("PLATFORMS", "[one, two]").replace("SEEN", "{registry of one: [on], script: all}")
    sheet = model_of(parse_sheet(text, "acme.yaml"), Vendor)
    entry = sheet.settings["cpu.smt"][0]
    told = {
        (platform, word): sheet.shows(entry, platform, word) for platform in ("rome", "genoa", None) for word in ("on", "off")
    }
    assert {key for key, shown in told.items() if shown} == {("rome", "on")}


def test_the_old_word_verified_is_no_word_of_a_sheet() -> None:
    """Nobody can call a name verified without saying what showed it."""
    text = SHEET.replace("PLATFORMS", "[one]").replace("seen: SEEN", "verified: true")
    with pytest.raises(BadSheet, match="verified is not a key of this sheet"):
        model_of(parse_sheet(text, "acme.yaml"), Vendor)


def test_every_evidence_names_a_publication_and_is_used() -> None:
    """A source that is listed, and at least one entry, prerequisite or lock that it shows."""
    for vendor in vendors().values():
        entries = [entry for group in vendor.settings.values() for entry in group]
        used = {name for entry in entries for name in (*entry.seen, *(n for need in entry.requires for n in need.seen))}
        assert {evidence.source for evidence in vendor.evidence.values()} <= set(publications())
        assert set(vendor.evidence) == used
        assert set(facts(vendor.id)) == used


@pytest.fixture
def other_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the makers' sheets that the product reads in their stead."""
    copytree(rules(), tmp_path / "rules")
    monkeypatch.setattr(sheets, "rules", lambda: tmp_path / "rules")
    return tmp_path / "rules" / "vendors"


def test_the_check_names_the_sheet_that_claims_too_much(other_rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A registry of Gen10 Plus that is called one of Gen9 is named, with the file and what is wrong."""
    assert main() == 0
    assert "were seen in firmware of the vendor" in capsys.readouterr().out
    sheet = other_rules / "hpe.yaml"
    sheet.write_text(
        sheet.read_text().replace("registry A42 1.2.60: {platforms: [gen10-plus-amd]", "registry A42 1.2.60: {platforms: [gen9]")
    )
    sheets.vendor_at.cache_clear()
    assert main() == 2
    told = capsys.readouterr().err
    assert "hpe.yaml" in told
    assert "registry A42 1.2.60 is of none of the generations that this entry is for" in told


def test_a_script_and_a_list_prove_nothing() -> None:
    """Registry, capture and the maker's own reference do."""
    kinds = {kind: Evidence(platforms=("x",), kind=kind, product="x", source="x").proves for kind in KINDS}
    assert kinds == {"registry": True, "capture": True, "reference": True, "script": False, "list": False}


KINDS = ("registry", "capture", "reference", "script", "list")


LCLK: dict[str, Scalar | None] = {
    "Nbio0BusBase": 192, "Nbio0BusLimit": 255, "Nbio0LclkDpmLevel": "Auto",
    "Nbio1BusBase": 128, "Nbio1BusLimit": 191, "Nbio1LclkDpmLevel": "StaticHigh",
    "Nbio3BusBase": 0, "Nbio3BusLimit": 63, "Nbio3LclkDpmLevel": "Auto",
    "Nbio4BusBase": 0, "Nbio4BusLimit": 0, "Nbio4LclkDpmLevel": "Auto",
}  # fmt: skip
"""The I/O dies of a DL325 Gen10 Plus and the buses that belong to each, as its controller tells them."""


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("Nbio3LclkDpmLevel", 3),
        ("Nbio10LclkDpmLevel", 10),
        ("NbioLclkDpmLevel", None),
        ("Nbio03LclkDpmLevel", None),
        ("Nbio1234LclkDpmLevel", None),
        ("NbioxLclkDpmLevel", None),
        ("Nbio\u0663LclkDpmLevel", None),
        ("XNbio3LclkDpmLevel", None),
        ("Nbio3LclkDpmLevel2", None),
        ("", None),
    ],
)
def test_a_number_is_found_in_the_makers_names_only(name: str, number: int | None) -> None:
    """Plain digits between the two parts of the name, and nothing around them."""
    assert number_of("Nbio{n}LclkDpmLevel", name) == number


def test_numbered_attributes_tell_a_value_only_where_they_agree() -> None:
    """One I/O clock held high and another left alone is neither."""
    hpe = vendor_by_id("hpe")
    assert "io.lclk_dpm" not in neutral_values(hpe, "rome", Bios(attributes=LCLK))
    same = {name: "Auto" if name.endswith("Level") else value for name, value in LCLK.items()}
    assert neutral_values(hpe, "rome", Bios(attributes=same))["io.lclk_dpm"] == "auto"
    place = locate(hpe, "rome", settings()["io.lclk_dpm"], "high", Bios(attributes=LCLK))
    assert place is not None
    assert place.commands == ()


def test_a_prerequisite_counts_as_seen_by_its_own_entry_too() -> None:
    """Custom stands among the values of the profile itself, in each generation's registry."""
    dell = vendor_by_id("dell")
    custom = Require(attribute="SysProfile", value="Custom", because="x")
    shown = {name for name in ("haswell", "ice-lake", "sapphire-rapids", "genoa", "turin") if dell.shows_need(custom, name)}
    assert shown == {"haswell", "ice-lake", "sapphire-rapids", "genoa"}


@pytest.mark.parametrize("name", ["cpu.prefetch_l1_stride", "cpu.prefetch_l1_region", "cpu.prefetch_l2_updown"])
def test_what_was_seen_on_a_setup_page_alone_is_offered_and_not_verified(name: str) -> None:
    """PowerEdge with EPYC 7003 has the three prefetchers on its page; their attributes were seen with EPYC 9004 only."""
    setting = settings()[name]
    places = {each: locate(vendors()["dell"], each, setting, "on") for each in ("rome", "milan", "genoa")}
    found = {each: place and (place.attribute is not None, place.verified) for each, place in places.items()}
    assert found == {"rome": None, "milan": (True, False), "genoa": (True, True)}
