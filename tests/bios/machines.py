"""What imitated BMCs are fed with: small machines of these tests, and whole captures where the knowledge folder is at hand."""

import json
from functools import cache
from pathlib import Path

from advisor.bios.twin import Json
from advisor.bios.twin import Model as Machine

__all__ = ["ABSENT", "FILES", "KNOWLEDGE", "PRESENT", "Json", "Machine", "captured", "own"]

HERE = Path(__file__).parent
KNOWLEDGE = HERE.parents[2] / "shared" / "knowledge" / "redfish"
"""Captures that others published; no part of the project, and the tests that read them skip visibly where they are not."""


@cache
def _own(name: str) -> Machine:
    said = json.loads((HERE / "fixtures" / f"{name}.json").read_text(encoding="utf-8"))
    return Machine(said["paths"], said["system"], said["attributes"], said["registry"])


def own(name: str) -> Machine:
    """Return a machine of ``fixtures/``, which says what it is made after."""
    return _own(name).copy()


FILES = {
    "dell": ("dell_Bios", "dell_BiosRegistry", "dell_System"),
    "hpe": ("hpe_A42_Bios", "hpe_A42_v1_2_60_BiosAttributeRegistry", "hpe_A42_System"),
    "lenovo": ("lenovo_Bios", "lenovo_BiosAttributeRegistry", "lenovo_System"),
    "supermicro": ("supermicro_Bios", "supermicro_BiosAttributeRegistry", "supermicro_System"),
}
"""The captures of each maker: Bios, registry and system."""
PRESENT = KNOWLEDGE.is_dir()
ABSENT = f"the captures of real BMCs are not at {KNOWLEDGE}"


@cache
def _captured(name: str) -> Machine:
    bios, registry, system = (json.loads((KNOWLEDGE / f"{file}.json").read_text(encoding="utf-8")) for file in FILES[name])
    told = ("Manufacturer", "Model", "BiosVersion", "ProcessorSummary")
    return Machine(_own(name).paths, {key: system[key] for key in told}, bios["Attributes"], registry)


def captured(name: str) -> Machine:
    """Return a whole machine from its captures."""
    return _captured(name).copy()
