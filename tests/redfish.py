"""BIOS exports as --bios reads them, from a text."""

from advisor.machine.hardware import Bios, Registry
from advisor.machine.sources.redfish import bios_of, is_registry, registry_of, resource_of


def parse_bios(text: str, file: str) -> Bios:
    """Return what a Bios resource, or its Settings, SD or Pending, says."""
    return bios_of(resource_of(text, file), file)


def parse_either(text: str, file: str) -> Bios | Registry:
    """Return what a file holds: a Bios resource, or an attribute registry."""
    resource = resource_of(text, file)
    return registry_of(resource, file) if is_registry(resource) else bios_of(resource, file)
