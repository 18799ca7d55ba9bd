"""Captures and registries as no BMC should answer, and some do: the script for them harms nothing, or there is none."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor.advice.bios_files import BiosInput, firmware_from, must_fit
from advisor.advice.know.vendors import vendors
from advisor.advice.model.plan import Plan
from advisor.errors import BadInput
from advisor.measure.platform import Scope
from tests.examples import a_third
from tests.plan.laws import broken
from tests.plan.test_captures import INCLUDES, R6515, of_order

OTHERS = (("hpe", "milan"), ("supermicro", "genoa"))
SCOPES: tuple[Scope, ...] = ("mpi", "latency")
CHOICES: dict[str, tuple[str, ...]] = {
    "NumaNodesPerSocket": ("1", "2", "4"),
    "LogicalProc": ("Enabled", "Disabled"),
    "SysProfile": ("PerfOptimized", "PerfPerWattOptimizedOs", "Custom"),
    "ProcCStates": ("Enabled", "Disabled"),
    "ApbDis": ("Enabled", "Disabled"),
    "PcieAspmL1": ("Enabled", "Disabled"),
    "DeterminismSlider": ("PowerDeterminism", "PerfDeterminism"),
    "ProcVirtualization": ("Enabled", "Disabled"),
}
OFF = {**R6515, "NumaNodesPerSocket": "1", "ApbDis": "Disabled", "SysProfile": "PerfPerWattOptimizedOs", "ProcCStates": "Enabled"}


def enumeration(name: str, *values: str, **more: Any) -> dict[str, Any]:
    """Return an attribute of a registry."""
    words = [{"ValueName": value, "ValueDisplayName": value} for value in values]
    return {"AttributeName": name, "DisplayName": name, "Type": "Enumeration", "Value": words, **more}


def held(target: str, holder: str, value: str, flag: str = "GrayOut", condition: str = "NEQ") -> dict[str, Any]:
    """Return a dependency: while the holder is not at a value, the target is greyed out."""
    term = {"MapFromAttribute": holder, "MapFromProperty": "CurrentValue", "MapFromCondition": condition, "MapFromValue": value}
    to = {"MapToAttribute": target, "MapToProperty": flag, "MapToValue": True}
    return {"DependencyFor": target, "Type": "Map", "Dependency": {"MapFrom": [term], **to}}


def registry(*dependencies: dict[str, Any], **changed: dict[str, Any] | None) -> dict[str, Any]:
    """Return a registry of R6515's attributes, some of them changed or, where None, left out."""
    every = {name: enumeration(name, *CHOICES.get(name, (value, "Enabled", "Disabled"))) for name, value in R6515.items()}
    found = {name: {**each, **(changed.get(name) or {})} for name, each in every.items() if changed.get(name, {}) is not None}
    return {"Id": "Odd", "RegistryEntries": {"Attributes": list(found.values()), "Dependencies": list(dependencies)}}


def given(folder: Path, attributes: Any, *others: Any) -> BiosInput:
    """Return what files of a BIOS, its settings and its registry hold."""
    resource = {"@odata.id": "/redfish/v1/Systems/1/Bios", "@odata.type": "#Bios.v1_0_0.Bios", "Attributes": attributes}
    for position, each in enumerate((resource, *others)):
        (folder / f"{position}.json").write_text(json.dumps(each))
    return firmware_from([folder / f"{position}.json" for position in range(len(others) + 1)])


def plans(bios: BiosInput, vendor: str = "dell", platform: str = "rome") -> dict[str, Plan]:
    """Return the plans of every scope and include; no law is broken in any."""
    found = {}
    for scope in SCOPES:
        for include, made in zip(INCLUDES, of_order(vendor, platform, bios, scope, *INCLUDES), strict=True):
            assert broken(made, bios.bios, bios.registry, blind="unknown" in include) == [], (scope, include)
            found[f"{scope} {' '.join(include)}".strip()] = made
    return found


def all_written(found: Mapping[str, Plan]) -> set[str]:
    """Return what any of some plans writes."""
    return {change.attribute for made in found.values() for change in made.writes}


FREED = held("ProcCStates", "SysProfile", "Custom")
ODD: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "no registry": (OFF, ()),
    "read-only": (OFF, (registry(SysProfile={"ReadOnly": True}, LogicalProc={"Immutable": True}),)),
    "greyed out for ever": (OFF, (registry(SysProfile={"GrayOut": True}, LogicalProc={"Hidden": True}),)),
    "a value out of range": ({**OFF, "SysProfile": "Banana", "LogicalProc": "Sometimes"}, (registry(),)),
    "whole numbers with bounds": (
        {**OFF, "NumaNodesPerSocket": 1},
        (registry(NumaNodesPerSocket={"Type": "Integer", "Value": [], "LowerBound": 1, "UpperBound": 2}),),
    ),
    "a chain of three": (
        OFF,
        (registry(FREED, held("ApbDis", "ProcCStates", "Disabled"), held("PcieAspmL1", "ApbDis", "Enabled")),),
    ),
    "a circle": (OFF, (registry(held("ApbDis", "ProcCStates", "Disabled"), held("ProcCStates", "ApbDis", "Enabled")),)),
    "held by itself": (OFF, (registry(held("NumaNodesPerSocket", "NumaNodesPerSocket", "4")),)),
    "held by what is not there": (OFF, (registry(held("NumaNodesPerSocket", "Nowhere", "4")),)),
    "names and words crossed": (
        OFF,
        (
            registry(
                ApbDis={
                    "Value": [
                        {"ValueName": "Enabled", "ValueDisplayName": "Disabled"},
                        {"ValueName": "Disabled", "ValueDisplayName": "Enabled"},
                    ]
                }
            ),
        ),
    ),
    "no choices": (OFF, (registry(NumaNodesPerSocket={"Value": []}, ApbDis={"Value": None}),)),
    "half of the registry": (OFF, (registry(LogicalProc=None, ApbDis=None, SysProfile=None),)),
    "values pending": (
        OFF,
        ({"@odata.id": "/redfish/v1/Systems/1/Bios/Settings", "Attributes": {**OFF, "NumaNodesPerSocket": "2"}}, registry()),
    ),
    "nothing but null": (dict.fromkeys(OFF), (registry(),)),
    "lists and objects": ({**OFF, "NumaNodesPerSocket": ["1"], "ApbDis": {"a": 1}, "LogicalProc": 1.5}, (registry(),)),
    "other kinds": ({**OFF, "NumaNodesPerSocket": 1, "ApbDis": False, "LogicalProc": True}, (registry(),)),
    "other letters": ({name.lower(): value for name, value in OFF.items()}, (registry(),)),
    "blanks round values": ({name: f" {value} " for name, value in OFF.items()}, (registry(),)),
    "shells": ({**OFF, "NumaNodesPerSocket": "$(reboot)", "ApbDis": "';x", "--force": "1"}, (registry(),)),
}


@pytest.mark.parametrize("name", a_third(ODD))
def test_the_script_of_an_odd_capture_harms_nothing(name: str, tmp_path: Path) -> None:
    """Of its own vendor and as another's, for every scope and include: no law of plans is broken."""
    attributes, others = ODD[name]
    bios = given(tmp_path, attributes, *others)
    plans(bios)
    for vendor, platform in OTHERS:
        (made,) = of_order(vendor, platform, bios, "mpi", INCLUDES[3])
        assert broken(made, bios.bios, bios.registry, blind=True) == []


NEVER = ("read-only", "greyed out for ever", "a value out of range", "half of the registry", "nothing but null", "other letters")


def test_what_may_not_be_written_or_not_go_back_is_not_written(tmp_path: Path) -> None:
    """Two attributes that a plain registry lets be written: not where they are held for ever, absent or of an illegal value."""
    wanted, found = {"SysProfile", "LogicalProc"}, {}
    assert wanted <= all_written(plans(given(tmp_path, OFF, registry())))
    for name in NEVER:
        folder = tmp_path / name
        folder.mkdir()
        attributes, others = ODD[name]
        found[name] = wanted & all_written(plans(given(folder, attributes, *others)))
    assert {name: there for name, there in found.items() if there} == {}


def test_what_lets_go_is_written_first(tmp_path: Path) -> None:
    """Greyed out unless another is so that is written too: that one first. Unless one that nobody wants: not at all."""
    behind = plans(given(tmp_path, OFF, registry(held("LogicalProc", "SysProfile", "PerfOptimized"))))["mpi unknown contested"]
    assert [change.attribute for change in behind.writes] == ["SysProfile", "LogicalProc"]
    stuck = plans(given(tmp_path, OFF, registry(held("LogicalProc", "ProcVirtualization", "Disabled"))))
    assert "LogicalProc" not in all_written(stuck)


def test_two_attributes_of_one_setting_are_both_written_or_neither(tmp_path: Path) -> None:
    """Supermicro's names end in digits of the board; a BIOS that shows one twice says not which is meant."""
    twice = {"NUMANodesPerSocket_0012": "NPS1", "NUMANodesPerSocket_0013": "NPS1", "SMTControl_0001": "Auto"}
    found = plans(given(tmp_path, twice), "supermicro", "genoa")
    for made in found.values():
        names = [change.attribute for change in made.writes if change.attribute.startswith("NUMANodes")]
        assert len(names) in (0, 2)


def test_another_vendors_names_are_refused_or_said(tmp_path: Path) -> None:
    """A Dell file for an HPE server: a few names are both vendors', so the file is refused before any script is made."""
    bios = given(tmp_path, OFF)
    with pytest.raises(BadInput, match="Dell"):
        must_fit(bios, vendors()["hpe"], "milan")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"Attributes": OFF})[:-9],
        '{"Attributes": {"NumaNodesPerSocket": "1"}',
        "",
        "[]",
        "null",
        '{"Attributes": []}',
        '{"Attributes": {}}',
        "\x00\x01",
        '{"a": ' * 2000,
    ],
    ids=["cut", "brace", "empty", "list", "null", "attributes", "none", "binary", "deep"],
)
def test_what_is_cut_short_is_refused_in_one_line_that_names_the_file(text: str, tmp_path: Path) -> None:
    """Half of a file is not a capture: nothing is made of the half that is there."""
    file = tmp_path / "bios.json"
    file.write_text(text)
    with pytest.raises(BadInput) as refused:
        firmware_from([file])
    assert str(file) in str(refused.value)
    assert "\n" not in str(refused.value)
