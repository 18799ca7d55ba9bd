"""The Bios resource of every maker's controller, friendly or hostile."""

import json
from typing import Any

import pytest

from advisor.errors import BadCapture
from advisor.machine.sources.redfish import with_pending
from tests.redfish import parse_bios


def resource(attributes: dict[str, Any], **more: Any) -> str:
    """Return a Bios resource as JSON."""
    return json.dumps({"Id": "Bios", "AttributeRegistry": "R.v1", "Attributes": attributes, **more})


def test_attributes_keep_their_types() -> None:
    """Texts, numbers, truth values and null stay what they are, and the registry is named."""
    bios = parse_bios(resource({"A": "4", "B": 4, "C": True, "D": None, "E": 65.0}), "b.json")
    assert bios.attributes == {"A": "4", "B": 4, "C": True, "D": None, "E": 65}
    assert type(bios.attributes["C"]) is bool
    assert (bios.registry, bios.pending) == ("R.v1", None)


def test_cray_ex_objects_are_unwrapped() -> None:
    """HPE Cray EX wraps each value in an object under a human label."""
    wrapped = {
        "TPM Control": {"AllowableValues": ["Disabled", "Enabled"], "current_value": "Enabled", "default_value": "Disabled"}
    }
    assert parse_bios(resource(wrapped), "ex.json").attributes == {"TPM Control": "Enabled"}


def test_ilo4_has_its_attributes_at_the_top() -> None:
    """Gen9 knows no Attributes; what describes the resource itself is no attribute."""
    text = json.dumps({"@odata.id": "/x", "Type": "HpBios.1.2.0", "Name": "n", "ProcHyperthreading": "Enabled", "links": {}})
    assert parse_bios(text, "ilo4.json").attributes == {"ProcHyperthreading": "Enabled"}


@pytest.mark.parametrize(
    "name",
    [
        "SerialNumber",
        "SystemServiceTag",
        "AssetTag",
        "ServerAssetTag",
        "SetupPassword",
        "SHA256SystemPasswordSalt",
        "AdministratorPassword_0117",
        "IscsiDev1Con1ChapSecret",
        "Ipv4Address",
        "Ipv6Duid",
        "AdminEmail",
        "ServerName",
        "SystemUuid",
        "MellanoxNetworkAdapter_A088C2C36F6E__Slot15_LinkSpeed",
        "Slot15_VirtualMACAddress",
        "SystemBiosVersion",
        "UrlBootFile",
        "KMSServerIPaddress_2945",
    ],
)
def test_what_tells_who_the_machine_is_goes(name: str) -> None:
    """Serial numbers, tags, secrets, addresses and volatile values are not kept."""
    assert parse_bios(resource({name: "x", "ProcSMT": "Enabled"}), "b.json").attributes == {"ProcSMT": "Enabled"}


def test_addresses_in_values_go() -> None:
    """A value that holds a hardware or network address, or a UUID is not recorded whatever it is called."""
    values = {"A": "PXE to aa:bb:cc:dd:ee:ff", "B": "10.1.2.3", "C": "4c4c4544-0031-3510-8052-b4c04f4d3232", "D": "fine"}
    assert parse_bios(resource(values), "b.json").attributes == {"D": "fine"}


@pytest.mark.parametrize("name", ["DcuIpPrefetcher", "NumaMemoryDomainsPerSocket", "ProcX2Apic", "DeterminismSlider", "Rome0075"])
def test_settings_are_not_taken_for_addresses(name: str) -> None:
    """Names that only look like one of the private words stay."""
    assert parse_bios(resource({name: "Enabled"}), "b.json").attributes == {name: "Enabled"}


def test_what_is_no_setting_goes() -> None:
    """Lists, objects, long texts, control characters and numbers beyond 64 bits are left out."""
    odd = {
        "L": [1],
        "O": {"x": 1},
        "T": "x" * 201,
        "C": "a\x1b[2J",
        "N": 1 << 70,
        "F": 1.5,
        "x" * 300: "y",
        "e\x1b": "y",
        "K": "y",
    }
    assert parse_bios(resource(odd), "b.json").attributes == {"K": "y"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"x"',
        "[" * 100_000,
        '{"Attributes": []}',
        '{"Attributes": null}',
        "{}",
        '{"Attributes": 1, "a": NaN}',
    ],
)
def test_what_is_no_bios_resource_is_refused_in_one_line(text: str) -> None:
    """The error names the file, and is one line."""
    with pytest.raises(BadCapture) as error:
        parse_bios(text, "b.json")
    assert str(error.value).startswith("b.json")
    assert "\n" not in str(error.value)


def test_too_much_is_refused() -> None:
    """A resource is bounded in letters and attributes."""
    with pytest.raises(BadCapture, match="attributes"):
        parse_bios(resource({f"A{n}": n for n in range(5001)}), "b.json")
    with pytest.raises(BadCapture, match="characters"):
        parse_bios(" " * (5 << 20), "b.json")


def test_numbers_of_absurd_length_are_refused_in_one_line() -> None:
    """Python's limit on the digits of a number ends in our error."""
    with pytest.raises(BadCapture, match="not JSON"):
        parse_bios('{"Attributes": {"A": ' + "9" * 5000 + "}}", "b.json")


@pytest.mark.parametrize("path", ["Bios/SD", "Bios/Settings", "Bios/Pending", "bios/settings/"])
def test_an_empty_settings_resource_holds_nothing(path: str) -> None:
    """Supermicro and AMI leave Attributes out while nothing waits."""
    pending = parse_bios(json.dumps({"@odata.id": f"/redfish/v1/Systems/1/{path}", "Id": "SD"}), "sd.json")
    bios = with_pending(parse_bios(resource({"A": "1"}), "b.json"), pending)
    assert (bios.pending, bios.changed()) == ({}, {})


def test_pending_values_are_merged() -> None:
    """What waits stands beside what is, and what differs is a change."""
    now, later = parse_bios(resource({"A": "1", "B": "2"}), "b.json"), parse_bios(resource({"A": "1", "B": "3"}), "s.json")
    assert with_pending(now, later).changed() == {"B": "3"}


def test_a_servers_configuration_profile_is_read() -> None:
    """What racadm get -t json writes has the BIOS as one component of several."""
    bios = [
        {"Name": "NumaNodesPerSocket", "Value": "1", "Set On Import": "True"},
        {"Name": "SetupPassword", "Value": "x"},
        {"Value": "y"},
    ]
    parts = [{"FQDD": "iDRAC.Embedded.1", "Attributes": []}, {"FQDD": "BIOS.Setup.1-1", "Attributes": bios}]
    found = parse_bios(json.dumps({"SystemConfiguration": {"Model": "PowerEdge R6515", "Components": parts}}), "scp.json")
    assert found.attributes == {"NumaNodesPerSocket": "1"}


@pytest.mark.parametrize("whole", [None, [], {}, {"Components": {}}, {"Components": [1, {"FQDD": "BIOS.Setup.1-1"}]}])
def test_a_profile_without_a_bios_is_refused(whole: object) -> None:
    """One line says that it has no attributes."""
    with pytest.raises(BadCapture, match="no Attributes"):
        parse_bios(json.dumps({"SystemConfiguration": whole}), "scp.json")
