import json
from typing import Any

import pytest

from advisor.errors import BadCapture
from advisor.machine.hardware import Bios, Registry
from advisor.machine.sources.redfish import with_other_names
from tests.redfish import parse_either

AMI: dict[str, Any] = {
    "Id": "BiosAttributeRegistry0ABCD.1.0.0",
    "OwningEntity": "AMI",
    "SupportedSystems": [{"ProductName": "Server"}],
    "RegistryEntries": {
        "Attributes": [
            {
                "AttributeName": "SNC_F300",
                "DisplayName": "SNC",
                "Type": "Enumeration",
                "Value": [
                    {"ValueName": "0", "ValueDisplayName": "Disable"},
                    {"ValueName": "4", "ValueDisplayName": "Enable SNC4"},
                ],
            },
            {"AttributeName": "Bus", "Type": "Integer", "LowerBound": 0, "UpperBound": 255, "ReadOnly": "true"},
            {"DisplayName": "nameless"},
        ],
        "Dependencies": [
            {
                "Type": "Map",
                "Dependency": {
                    "MapFrom": [
                        {
                            "MapFromAttribute": "SNC_F300",
                            "MapFromProperty": "CurrentValue",
                            "MapFromCondition": "EQU",
                            "MapFromValue": "0",
                        }
                    ],
                    "MapToAttribute": "Bus",
                    "MapToProperty": "Hidden",
                    "MapToValue": "true",
                },
            },
            {"Type": "Map", "Dependency": {"MapFrom": []}},
            "no dependency",
        ],
    },
}


def read(resource: dict[str, Any]) -> Bios | Registry:
    """Return what a resource holds."""
    return parse_either(json.dumps(resource), "file.json")


def test_a_registry_is_told_from_a_bios() -> None:
    """What has RegistryEntries is a registry, what has Attributes is the BIOS."""
    assert isinstance(read(AMI), Registry)
    assert isinstance(read({"Attributes": {"A": "1"}}), Bios)


def test_a_registry_tells_values_limits_flags_and_dependencies() -> None:
    """Texts that mean true are true, what cannot be read decides nothing, and values have both their names."""
    found = read(AMI)
    assert isinstance(found, Registry)
    assert (found.maker, found.product, list(found.attributes)) == ("AMI", "Server", ["SNC_F300", "Bus"])
    snc, bus = found.attributes["SNC_F300"], found.attributes["Bus"]
    assert (snc.named("Enable SNC4"), snc.named("4"), snc.takes("Enable SNC4"), snc.takes("Banana")) == ("4", "4", True, False)
    assert (bus.flags, bus.takes(65), bus.takes(256)) == (("ReadOnly",), True, False)
    assert (bus.takes("65"), bus.takes(value=True)) == (False, False)
    assert [(rule.target, rule.property, rule.value) for rule in found.dependencies] == [("Bus", "Hidden", True)]


def test_each_value_gets_its_other_name() -> None:
    """Of a file in the menu's words the registry's names are known too, and the other way round."""
    registry = read(AMI)
    assert isinstance(registry, Registry)
    assert with_other_names(Bios(attributes={"SNC_F300": "Enable SNC4", "Bus": 1}), registry).also == {"SNC_F300": "4"}
    assert with_other_names(Bios(attributes={"SNC_F300": "0"}), registry).also == {"SNC_F300": "Disable"}


@pytest.mark.parametrize(
    "entries",
    [{}, {"Attributes": {}}, {"Attributes": [{"AttributeName": "A"}], "Dependencies": [{}] * 10_001}, {"Attributes": "x"}],
)
def test_what_is_no_registry_is_refused_in_one_line(entries: dict[str, Any]) -> None:
    """The line names the file."""
    with pytest.raises(BadCapture) as found:
        read({"RegistryEntries": entries})
    assert (str(found.value).count("\n"), "file.json" in str(found.value)) == (0, True)
