"""The vendors' sheets against the vendors' own registries and captures."""

from typing import Any

import pytest

from advisor.advice.know.fixes import attributes_named, neutral_values
from advisor.advice.know.vendors import vendors
from advisor.advice.model.sheets import Entry, Lock
from tests.know.registries import FILES, FOLDER, attributes, facts, load, names_in, needed, values_of
from tests.redfish import parse_bios

pytestmark = needed

DESCRIBED = [
    pytest.param(vendor.id, name, entry, evidence, id=f"{vendor.id}-{name}-{at}")
    for vendor in vendors().values()
    for name, entries in vendor.settings.items()
    for at, entry in enumerate(entries)
    for evidence in entry.seen
    if evidence in ("registry R750 BIOS 1.8.2", "registry A42 1.2.60", "registry SR670 V2", "registry SYS-821GE-TNHR")
]
"""Entries whose attribute a registry at hand describes in full."""

REGISTRIES = {
    "dell": "dell_BiosRegistry.json",
    "hpe": "hpe_A42_v1_2_60_BiosAttributeRegistry.json",
    "lenovo": "lenovo_BiosAttributeRegistry.json",
    "supermicro": "supermicro_BiosAttributeRegistry.json",
}
"""The one registry of each vendor that describes its attributes in full."""

CAPTURES: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "dell_Bios.json",
        "dell",
        "ice-lake",
        {
            "cpu.smt": "on",
            "cpu.snc": "off",
            "cpu.enumeration": "round-robin",
            "cpu.x2apic": "off",
            "memory.node_interleave": "off",
            "power.profile": "performance",
            "power.workload_profile": "none",
            "power.cstates": "off",
            "power.c1e": "off",
            "power.boost": "on",
            "power.uncore": "max",
            "power.energy_bias": "performance",
            "fabric.upi_power": "off",
            "fabric.upi_speed": "max",
            "memory.speed": "max",
            "memory.encryption": "off",
            "io.iommu": "on",
            "io.sriov": "on",
            "io.aspm": "off",
        },
    ),
    (
        "hpe_A42_Bios.json",
        "hpe",
        "milan",
        {
            "numa.nps": None,  # Auto
            "numa.l3_as_node": "off",
            "cpu.smt": "on",
            "cpu.x2apic": "on",
            "power.profile": "os",
            "power.workload_profile": "efficient",
            "power.determinism": None,  # the slider does not count while the control is Auto
            "power.cstates": "on",
            "power.boost": "on",
            "fabric.apbdis": "off",
            "fabric.pstate": None,
            "fabric.dfcstates": "auto",
            "io.preferred": "off",
            "io.preferred_bus": None,  # 0, but preferred I/O is off
            "io.iommu": "on",
            "io.acs": "on",
            "io.pxm": "on",
        },
    ),
    (
        "hpe_A41_DL325Gen10_Naples_Bios_subset.json",
        "hpe",
        "naples",
        {"cpu.smt": "on", "memory.interleave": "auto", "power.determinism": "performance", "io.iommu": "on", "numa.nps": None},
    ),
    (
        "hpe_U58_Systems_1_Bios.json",
        "hpe",
        "emerald-rapids",
        {
            "cpu.smt": "on",
            "cpu.snc": "off",
            "memory.node_interleave": "off",
            "power.profile": "balanced",
            "power.workload_profile": "io",
            "power.uncore": "max",
            "cpu.prefetch_llc": "off",
            "fabric.upi_power": "on",
            "io.aspm": "on",
        },
    ),
    (
        "lenovo_Bios.json",
        "lenovo",
        "ice-lake",
        {
            "cpu.smt": "on",
            "cpu.snc": "off",
            "memory.node_interleave": "off",
            "power.profile": "balanced",
            "power.cstates": "on",
            "power.uncore": "dynamic",
            "memory.speed": "max",
            "io.acs": "on",
            "io.aspm": "off",
        },
    ),
    ("lenovo_Bios_old_Enable_style.json", "lenovo", "cascade-lake", {"cpu.smt": "on", "cpu.snc": "off", "io.iommu": "on"}),
    (
        "supermicro_Bios.json",
        "supermicro",
        "sapphire-rapids",
        {
            "cpu.smt": "on",
            "cpu.snc": "auto",
            "memory.node_interleave": "off",
            "power.profile": "custom",
            "power.energy_bias": None,  # the operating system sets it
            "power.boost": "on",
            "io.relaxed_ordering": None,  # the I/OAT engine has one of that name
            "io.acs": "off",
        },
    ),
    ("nvidia_gh200_Grace_Bios.json", "generic", "grace", {"cpu.smt": None}),
]


# U58's facts are of its whole registry; the file beside the project is an extract of it.
@pytest.mark.parametrize(("vendor", "evidence"), [each for each in FILES if each != ("hpe", "registry U58 1.2.44")])
def test_what_is_written_down_of_a_registry_stands_in_its_files(vendor: str, evidence: str) -> None:
    """Each attribute and each value of the facts is in the files, of the type they have there; and nothing is left out."""
    files = FILES[vendor, evidence]
    names = names_in(files)
    written = facts(vendor)[evidence]["attributes"]
    assert len(written) > 5
    assert [name for name in written if name not in names] == []
    wrong = {
        name: values
        for name, values in written.items()
        if values != "integer" and not {(type(v), v) for v in values} <= {(type(v), v) for v in values_of(name, files)}
    }
    assert wrong == {}
    kinds = {name: each["Type"] for file in files for name, each in attributes(file).items()}
    assert [name for name, values in written.items() if values == "integer" and kinds.get(name, "Integer") != "Integer"] == []


@pytest.mark.parametrize(("vendor", "name", "entry", "evidence"), DESCRIBED)
def test_labels_menus_and_kinds_are_the_registrys(vendor: str, name: str, entry: Entry, evidence: str) -> None:
    """Where a full registry has the attribute, the label is its DisplayName and numbers are its Integers."""
    known = attributes(REGISTRIES[vendor])
    found = [known[each] for each in attributes_named(entry, tuple(known))]
    assert entry.numbered or entry.label in {each["DisplayName"] for each in found}
    assert {each["Type"] for each in found} == {"Integer" if entry.passes == "integer" else "Enumeration"}
    if vendor == "supermicro":
        assert "./" + entry.menu.replace(" > ", "/") in {each["MenuPath"] for each in found}


def test_the_racadm_group_follows_from_the_registrys_menu() -> None:
    """The last part of MenuPath without Ref is the group of the racadm key, for every attribute the registry has."""
    known = attributes("dell_BiosRegistry.json")
    entries = [entry for group in vendors()["dell"].settings.values() for entry in group if entry.attribute in known]
    derived = {e.attribute: known[e.attribute or ""]["MenuPath"].split("/")[-1].removesuffix("Ref") for e in entries}
    assert len(derived) > 20
    seen = [entry for entry in entries if "registry R750 BIOS 1.8.2" in entry.seen]
    assert {entry.attribute: entry.group for entry in seen} == {e.attribute: derived[e.attribute] for e in seen}


def test_every_prerequisite_and_lock_stands_in_its_registry() -> None:
    """A verified lock's attribute and value are in its source, and each attribute it locks depends on it there."""
    for vendor in vendors().values():
        for lock in vendor.locks:
            if not lock.verified:
                continue
            files = FILES[vendor.id, lock.seen_in or ""]
            names = tuple(names_in(files))
            assert lock.value in {v for each in attributes_named(lock.attribute, names) for v in values_of(each, files)}
    registries = (*REGISTRIES.values(), "hpe_U58_v1_2_44_BiosAttributeRegistry.json")
    locked = {
        rule["MapToAttribute"].rsplit("_", 1)[0] if name.startswith("supermicro") else rule["MapToAttribute"]
        for name in registries
        for rule in (each["Dependency"] for each in load(name)["Dependencies"])
        if rule["MapToProperty"] in ("ReadOnly", "GrayOut")
    }
    locks = [lock for vendor in vendors().values() for lock in filter(verified, vendor.locks)]
    assert len(locks) >= 5
    assert [each for lock in locks for each in lock.of if each not in locked] == []


def verified(lock: Lock) -> bool:
    """Return whether a lock's sheet says that its registry was checked."""
    return lock.verified


@pytest.mark.parametrize(
    ("vendor", "registry"),
    [("dell", "dell_BiosRegistry.json"), ("hpe", "hpe_A42_v1_2_60_BiosAttributeRegistry.json"),
     ("hpe", "hpe_U58_v1_2_44_BiosAttributeRegistry.json")],
)  # fmt: skip
def test_what_a_profile_sets_is_what_its_registry_says(vendor: str, registry: str) -> None:
    """For each verified profile, every attribute and value that it is said to set is one that the registry's dependencies set."""
    seen = next(name for (maker, name), files in FILES.items() if maker == vendor and registry in files)
    (lock,) = (lock for lock in vendors()[vendor].locks if lock.seen_in == seen and lock.verified)
    told = {
        (term["MapFromValue"], rule["MapToAttribute"]): rule["MapToValue"]
        for rule in (each["Dependency"] for each in load(registry)["Dependencies"])
        if rule["MapToProperty"] == "CurrentValue" and {t["MapFromAttribute"] for t in rule["MapFrom"]} == {lock.attribute}
        for term in rule["MapFrom"]
    }
    ours = {(profile, name): value for profile, sets in lock.sets.items() for name, value in sets.items()}
    assert len(ours) >= 14
    assert {each: told.get(each) for each in ours} == ours


@pytest.mark.parametrize(("file", "vendor", "platform", "expected"), CAPTURES, ids=[each[0] for each in CAPTURES])
def test_captures_read_back_as_neutral_words(file: str, vendor: str, platform: str, expected: dict[str, Any]) -> None:
    """The attributes of real servers say in neutral words what their menus say; what they leave open is not told."""
    bios = parse_bios((FOLDER / file).read_text(), file)
    told = neutral_values(vendors()[vendor], platform, bios)
    assert {name: told.get(name) for name in expected} == expected


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*Bios*.json") if "egistry" not in path.name))
def test_nothing_private_is_kept_of_a_capture(file: str) -> None:
    """No attribute that names a serial number, password, address or tag is left, and no scrubbed value."""
    kept = parse_bios((FOLDER / file).read_text(), file).attributes
    words = ("serialnumber", "password", "assettag", "macaddress", "uuid", "chapsecret", "servicetag")
    assert [name for name in kept if any(word in name.lower() for word in words)] == []
    assert [name for name, value in kept.items() if value == "SCRUBBED"] == []


def test_what_waits_for_the_next_start_is_told_apart() -> None:
    """HPE lists every attribute as pending; only those that differ are changes."""
    now = parse_bios((FOLDER / "hpe_A42_Bios.json").read_text(), "now")
    later = parse_bios((FOLDER / "hpe_A42_Bios_settings.json").read_text(), "later")
    assert now.model_copy(update={"pending": later.attributes}).changed() == {}
