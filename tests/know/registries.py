"""The vendors' published registries and captures, where they lie beside the project."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(os.environ.get("ADVISOR_REDFISH", Path(__file__).parents[3] / "shared" / "knowledge" / "redfish"))
needed = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no published registries in {FOLDER.name} (set ADVISOR_REDFISH)")

SEEN = {
    "registry R750 BIOS 1.8.2": ("dell_BiosRegistry.json", "dell_Bios.json"),
    "registry A42 1.2.60": ("hpe_A42_v1_2_60_BiosAttributeRegistry.json", "hpe_A42_Bios.json"),
    "registry U58 1.2.44": ("hpe_U58_v1_2_44_BiosAttributeRegistry.json", "hpe_U58_Systems_1_Bios.json"),
    "capture U58 1.2.44": ("hpe_U58_Systems_1_Bios.json",),
    "capture A41 1.2.36": ("hpe_A41_DL325Gen10_Naples_Bios_subset.json",),
    "registry SR670 V2": ("lenovo_BiosAttributeRegistry.json", "lenovo_Bios.json"),
    "registry SYS-821GE-TNHR": ("supermicro_BiosAttributeRegistry.json", "supermicro_Bios.json"),
}
"""What a sheet calls a source -> its files."""


@cache
def load(name: str) -> dict[str, Any]:
    """Return one file; a registry's entries stand at the top here."""
    data: dict[str, Any] = json.loads((FOLDER / name).read_text())
    entries: dict[str, Any] = data.get("RegistryEntries", data)
    return entries


def attributes(name: str) -> dict[str, dict[str, Any]]:
    """Return a registry's attributes by name; {} for a capture."""
    found = load(name).get("Attributes")
    return {each["AttributeName"]: each for each in found} if isinstance(found, list) else {}


def values_of(attribute: str, source: str) -> set[object]:
    """Return every value that the files of a source show of an attribute, each of its type."""
    found: set[object] = set()
    for name in SEEN[source]:
        data = load(name)
        if isinstance(data["Attributes"], dict):
            found |= {data["Attributes"][attribute]} if attribute in data["Attributes"] else set()
            continue
        for allowed in attributes(name).get(attribute, {}).get("Value") or ():
            found |= {allowed["ValueDisplayName"] if name.startswith("supermicro") else allowed["ValueName"]}
        for dependency in data["Dependencies"]:
            rule = dependency["Dependency"]
            if rule["MapToAttribute"] == attribute and rule["MapToProperty"] == "CurrentValue":
                found.add(rule["MapToValue"])
            found |= {each["MapFromValue"] for each in rule["MapFrom"] if each["MapFromAttribute"] == attribute}
    return found


def names_in(source: str) -> set[str]:
    """Return every attribute that the files of a source name."""
    found: set[str] = set()
    for name in SEEN[source]:
        data = load(name)
        found |= set(attributes(name)) if isinstance(data["Attributes"], list) else set(data["Attributes"])
        found |= {each["Dependency"]["MapToAttribute"] for each in data.get("Dependencies", ())}
    return found
