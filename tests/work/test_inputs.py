"""What --bios takes: current values, then those that wait, in whatever order; and what it refuses in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from advisor.advice.bios_files import firmware_from
from advisor.errors import BadInput

NOW: dict[str, Any] = {"@odata.id": "/redfish/v1/Systems/1/Bios", "Attributes": {"ProcTurbo": "Disabled"}}
HPE: dict[str, Any] = {"@odata.id": "/redfish/v1/systems/1/bios/settings/", "Attributes": {"ProcTurbo": "Enabled"}}


def saved(folder: Path, name: str, resource: object) -> Path:
    """Return a file with a controller's answer."""
    file = folder / name
    file.write_text(json.dumps(resource))
    return file


@pytest.mark.parametrize("path", ["systems/1/bios/settings/", "Systems/1/Bios/Pending", "Systems/1/Bios/SD"])
def test_waiting_values_alone_are_no_present_ones(path: str, tmp_path: Path) -> None:
    """Plans of them would call what waits the way back."""
    file = saved(tmp_path, "settings.json", {**HPE, "@odata.id": f"/redfish/v1/{path}"})
    with pytest.raises(BadInput, match="values pending for the next restart, not the current ones"):
        firmware_from([file])


def test_the_two_resources_may_be_given_in_any_order(tmp_path: Path) -> None:
    """Their addresses tell which is which."""
    now, later = saved(tmp_path, "bios.json", NOW), saved(tmp_path, "settings.json", HPE)
    one, other = firmware_from([now, later]), firmware_from([later, now])
    assert one == other
    assert one.bios is not None
    assert (one.bios.attributes, one.bios.pending) == ({"ProcTurbo": "Disabled"}, {"ProcTurbo": "Enabled"})


@pytest.mark.parametrize("attributes", [{}, {"SysProfile": {"a": 1}, "ProcCStates": ["x"], "NumaNodesPerSocket": 1.5}])
def test_a_resource_without_a_value_that_can_be_read_is_refused(attributes: dict[str, Any], tmp_path: Path) -> None:
    """A controller that was never told by its BIOS has none; calling everything absent would be wrong."""
    with pytest.raises(BadInput, match="contains no readable BIOS attributes"):
        firmware_from([saved(tmp_path, "bios.json", {"Attributes": attributes})])


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    """Tools of Windows write one before JSON."""
    file = tmp_path / "bios.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(NOW).encode())
    given = firmware_from([file])
    assert given.bios is not None
    assert given.bios.attributes == {"ProcTurbo": "Disabled"}


@pytest.mark.parametrize(
    ("later", "why"),
    [
        (NOW, "current values, but another file has them too"),
        ({**HPE, "@odata.id": "/redfish/v1/Systems/2/Bios/Settings"}, "the pending values are from /systems/2"),
        (
            {**HPE, "AttributeRegistry": "BiosAttributeRegistryH10.v1_1_40"},
            "the pending values are from BiosAttributeRegistryH10",
        ),
    ],
    ids=["two present", "another node", "another ROM"],
)
def test_files_of_two_servers_are_refused(later: dict[str, Any], why: str, tmp_path: Path) -> None:
    """One server's values are not what waits on another, and which of the two is meant nobody knows."""
    now = {**NOW, "AttributeRegistry": "BiosAttributeRegistryH11.v1_1_11"}
    files = [saved(tmp_path, "bios.json", now), saved(tmp_path, "later.json", {**later, "Other": 1})]
    with pytest.raises(BadInput, match=why):
        firmware_from(files)


def test_a_name_with_two_values_is_refused(tmp_path: Path) -> None:
    """Two captures in one file: the last would win, and the way back could be the other's."""
    file = tmp_path / "bios.json"
    file.write_text('{"Attributes": {"SubNumaCluster": "2-Way", "SubNumaCluster": "Disabled"}}')
    with pytest.raises(BadInput, match="'SubNumaCluster' appears twice with different values"):
        firmware_from([file])
