"""The node's own BMC: found by SMBIOS's host interface, then by IPMI; asked where credentials are, and only there."""

from ipaddress import ip_address
from pathlib import Path

import pytest

from advisor.bios.door import own_bmc
from advisor.errors import CannotWork
from advisor.machine.hosts.base import Ran, Reading, Why
from advisor.machine.sources.smbios import redfish_addresses, structures
from tests.bios.admin import Admin
from tests.bios.conftest import Imitated
from tests.bios.imitation import PASSWORD, USER


def interface(address: str = "169.254.0.17", port: int = 443, *, kind: int = 0x40, record: int = 4) -> bytes:
    """Return a table with a host interface as DSP0134 7.43 and DSP0270 8.1 write it, laid out as dmidecode reads it."""
    packed = ip_address(address)
    form = bytes([1 if packed.version == 4 else 2])
    service = packed.packed.ljust(16, b"\0")
    host = bytes(16) + b"\x01" + b"\x01" + bytes(16) + bytes(16)
    data = host + b"\x01" + form + service + bytes(16) + port.to_bytes(2, "little") + bytes(4) + b"\x00"
    usb = b"\x02" + bytes(5)
    body = bytes([kind, len(usb)]) + usb + b"\x01" + bytes([record, len(data)]) + data
    head = bytes([42, 4 + len(body)]) + b"\x01\x00"
    return head + body + b"\0\0" + b"\x7f\x04\xff\xff\0\0"


@pytest.mark.parametrize(
    ("table", "addresses"),
    [
        (interface(), ("169.254.0.17",)),
        (interface(port=8443), ("169.254.0.17:8443",)),
        (interface("fd00::1"), ("[fd00::1]",)),
        (interface("0.0.0.0"), ()),  # noqa: S104 - an address that is not set
        (interface(kind=0x02), ()),
        (interface(record=2), ()),
    ],
)
def test_the_address_of_a_host_interface(table: bytes, addresses: tuple[str, ...]) -> None:
    """The service's own address, not the host's; none where it is not set, or where it is no Redfish over IP."""
    assert redfish_addresses(structures(table)) == addresses


@pytest.mark.parametrize("length", range(4, 107))
def test_a_structure_that_is_cut_gives_no_address(length: int) -> None:
    """Whatever a firmware declares, nothing is read behind its end."""
    table = bytearray(interface())
    cut = bytes([42, length]) + bytes(table[2:length]) + b"\0\0" + b"\x7f\x04\xff\xff\0\0"
    assert redfish_addresses(structures(cut)) in ((), ("169.254.0.17",))


class Node:
    """A host with a firmware table, and perhaps ipmitool."""

    def __init__(self, table: bytes | None, said: str = "") -> None:
        self._table, self._said = table, said
        self.asked: list[tuple[str, ...]] = []

    def read(self, path: str) -> Reading:
        """Return the table."""
        del path
        return Reading(data=self._table) if self._table is not None else Reading(why=Why.REFUSED)

    def run(self, argv: tuple[str, ...], timeout: float = 10.0) -> Ran:
        """Return what ipmitool says."""
        del timeout
        self.asked.append(argv)
        return Ran(self._said.encode())


LAN = "Set in Progress         : Set Complete\nIP Address Source       : Static Address\nIP Address              : 10.1.2.3\n"


@pytest.mark.parametrize(
    ("table", "said", "found", "asked"),
    [
        (interface(), LAN, "169.254.0.17", 0),
        (None, LAN, "10.1.2.3", 1),
        (b"\x7f\x04\xff\xff\0\0", LAN, "10.1.2.3", 1),
        (interface(kind=2), LAN, "10.1.2.3", 1),
    ],
)
def test_smbios_comes_before_ipmi(table: bytes | None, said: str, found: str, asked: int) -> None:
    """Ipmitool is asked where the table has no interface, and only to print."""
    node = Node(table, said)
    assert (own_bmc(node), node.asked) == (found, [("ipmitool", "lan", "print")] * asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("said", ["", LAN.replace("10.1.2.3", "0.0.0.0"), "IP Address : evil; rm -rf\n"])  # noqa: S104
def test_no_bmc_is_one_line_with_the_cure(said: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(CannotWork, match="--bmc HOST"):
        own_bmc(Node(None, said))  # type: ignore[arg-type]


def test_reading_without_a_name_reads_the_own_one(imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the node itself bios read and status need no --bmc; what changes anything does."""
    bmc = imitated("lenovo")
    monkeypatch.setattr("advisor.cli.bmc_options.own_bmc", lambda: bmc.url)
    monkeypatch.setenv("ADVISOR_BMC_USER", USER)
    monkeypatch.setenv("ADVISOR_BMC_PASSWORD", PASSWORD)
    assert admin.types("bios", "status", "--insecure").status == 0
    for words in (("stage", admin.wish("lenovo")), ("undo", Path("r.json")), ("restart", "--nothing-staged")):
        monkeypatch.setenv("ADVISOR_BMC_USER", USER)
        monkeypatch.setenv("ADVISOR_BMC_PASSWORD", PASSWORD)
        said = admin.types("bios", *words, "--yes", "--insecure")
        assert (said.status, said.lines, "no BMC given" in said.err) == (2, 1, True)
    assert bmc.writes() == []


@pytest.mark.parametrize("variables", [(), ("ADVISOR_BMC_USER",), ("ADVISOR_BMC_USER", "ADVISOR_BMC_PASSWORD")])
def test_an_audit_asks_the_own_bmc_where_credentials_are(
    variables: tuple[str, ...], imitated: Imitated, admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of this machine, with both variables set; a BMC that cannot be read costs a line, not the audit."""
    bmc = imitated("lenovo")
    monkeypatch.setattr("advisor.cli.bmc_options.own_bmc", lambda: bmc.url)
    for name in variables:
        monkeypatch.setenv(name, {"ADVISOR_BMC_USER": USER, "ADVISOR_BMC_PASSWORD": PASSWORD}[name])
    said = admin.types("audit", "--no-measure", "--insecure", "--json")
    refused = admin.types("audit", "--no-measure", "--json")
    assert (said.status, refused.status) == (0, 0), said.err
    assert (bmc.opened > 0) == (len(variables) == 2)
