"""What the makers' registries and captures show: facts written anew in tests/know/seen, and the files beside the project."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from advisor.advice.know.fixes import attributes_named
from advisor.advice.model.sheets import Entry

FOLDER = Path(os.environ.get("ADVISOR_REDFISH", Path(__file__).parents[3] / "shared" / "knowledge" / "redfish"))
needed = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no published registries in {FOLDER.name} (set ADVISOR_REDFISH)")

FILES = {
    ("dell", "registry R750 BIOS 1.8.2"): ("dell_BiosRegistry.json", "dell_Bios.json"),
    ("hpe", "registry A42 1.2.60"): ("hpe_A42_v1_2_60_BiosAttributeRegistry.json", "hpe_A42_Bios.json"),
    ("hpe", "registry U58 1.2.44"): ("hpe_U58_v1_2_44_BiosAttributeRegistry.json", "hpe_U58_Systems_1_Bios.json"),
    ("hpe", "capture A41 1.2.36"): ("hpe_A41_DL325Gen10_Naples_Bios_subset.json",),
    ("lenovo", "registry SR670 V2"): ("lenovo_BiosAttributeRegistry.json", "lenovo_Bios.json"),
    ("supermicro", "registry SYS-821GE-TNHR"): ("supermicro_BiosAttributeRegistry.json", "supermicro_Bios.json"),
}
"""The evidence of a sheet whose files lie beside the project."""

Shown = dict[str, Any]
"""Attribute -> its values as the firmware has them, or "integer"."""


@cache
def facts(vendor: str) -> dict[str, dict[str, Shown]]:
    """Return what each evidence of a sheet shows of the attributes that the sheet names: attributes, and now for captures."""
    path = Path(__file__).parent / "seen" / f"{vendor}.json"
    found: dict[str, dict[str, Shown]] = json.loads(path.read_text()) if path.is_file() else {}
    return found


def shown_words(entry: Entry, shown: Shown) -> set[str] | None:
    """Return the neutral values of an entry whose vendor's words some facts show; None where they lack its attribute."""
    names = attributes_named(entry, tuple(shown))
    if not names:
        return None
    if entry.passes:
        return {"any"} if any(shown[name] == "integer" for name in names) else set()
    values = [value for name in names if shown[name] != "integer" for value in shown[name]]
    return {word for word, theirs in entry.values.items() if any(type(v) is type(theirs) and v == theirs for v in values)}


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


def values_of(attribute: str, files: tuple[str, ...]) -> set[object]:
    """Return every value that files show of an attribute, each of its type."""
    found: set[object] = set()
    for name in files:
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


def names_in(files: tuple[str, ...]) -> set[str]:
    """Return every attribute that files name."""
    found: set[str] = set()
    for name in files:
        data = load(name)
        found |= set(attributes(name)) if isinstance(data["Attributes"], list) else set(data["Attributes"])
        found |= {each["Dependency"]["MapToAttribute"] for each in data.get("Dependencies", ())}
    return found
