"""What no kernel calls a device or a host does not come into a Machine, and the Machine says so."""

import json
import posixpath
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as some

from advisor.cli.main import status
from advisor.errors import BadMachine
from advisor.machine.read import machine_from_json
from advisor.machine.sources.hwloc import machine_from_xml
from advisor.machine.sources.network import collect_infiniband as adapters
from advisor.machine.sources.network import collect_network as interfaces
from advisor.machine.sources.pci import collect_pci as cards
from advisor.machine.sources.system import collect_kernel as kernel
from advisor.machine.value import is_name
from tests.collect.device_host import CONNECTX, Server
from tests.render.made import naples

HOSTILE = (
    "mlx5_0;touch x",
    "$(id)",
    "`id`",
    "a b",
    "a\tb",
    "a\nb",
    "a'b",
    'a"b',
    "-rf",
    "--exec=x",
    "..",
    "a/b",
    "a|b",
    "a&b",
    "*",
    "~x",
    "#x",
    "a\\b",
    "\x1b[31m",
    "m\u2028",
    "x" * 256,
)
REAL = (
    "mlx5_0",
    "mlx5_bond_0",
    "mlx5_an0",
    "hfi1_0",
    "cxi0",
    "hsn0",
    "rdmap0s6",
    "bnxt_re0",
    "enP2p1s0f0np0",
    "ib0.8001",
    "bond0:1",
    "br-lan",
    "veth1@if2",
    "dax0.0",
    "0000:61:00.0",
    "10000:e1:00.0",
    "x1000c0s0b0n0",
    "node-01.cluster.example.org",
)


@pytest.mark.parametrize("name", REAL)
def test_a_name_that_drivers_and_udev_make_is_one(name: str) -> None:
    """Also the odd ones: bonds, partitions of IPoIB, aliases, PCI domains of VMD, Cray's hosts."""
    assert is_name(name)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_that_a_shell_or_a_launcher_would_read_is_no_name(name: str) -> None:
    """Blanks, quotes, what a shell expands, paths, options, control characters, other alphabets, and what is too long."""
    assert not is_name(name)


@pytest.mark.parametrize("name", [name for name in HOSTILE if "/" not in name and name != ".."])
def test_a_device_of_sys_with_a_hostile_name_is_left_out_and_named_in_a_gap(name: str) -> None:
    """Its neighbours stay, as adapters and as interfaces."""
    server = Server("0-7")
    for at, own in enumerate(("mlx5_0", name)):
        card = server.plug(f"pci0000:60/0000:60:01.1/0000:6{at}:00.0", CONNECTX, numa_node=0)
        server.hca(own, card, {1: {"state": "4: ACTIVE"}})
        server.net(own if at else "ib0", card)
    hcas, nics = adapters(server.host), interfaces(server.host)
    assert [hca.name for hca in hcas.hcas or ()] == ["mlx5_0"]
    assert [nic.name for nic in nics.nics or ()] == ["ib0"]
    assert [gap.why.split(":")[0] for machine in (hcas, nics) for gap in machine.gaps if gap.fact.endswith(".name")] == [
        ascii(name[:40]).split(":")[0]
    ] * 2


def test_an_interface_and_a_driver_with_hostile_names_are_not_told_of_a_device() -> None:
    """What a port's GIDs name, and where the link of a driver leads."""
    server = Server("0-7")
    card = server.plug("pci0000:60/0000:60:01.1/0000:61:00.0", CONNECTX, numa_node=0, driver="mlx5;id")
    server.hca("mlx5_0", card, {1: {"state": "4: ACTIVE", "gid_attrs/ndevs/0": "eth0;id\n"}})
    (hca,) = adapters(server.host).hcas or ()
    assert [port.netdev for port in hca.ports or ()] == [None]
    assert [device.driver for device in cards(server.host).pci or ()] == [None]


@pytest.mark.parametrize(("name", "told"), [("node01", "node01"), ("(none)", None), ("a;b", None), ("-x", None), ("a b", None)])
def test_a_host_that_calls_itself_what_no_host_is_called_has_no_name(name: str, told: str | None) -> None:
    """A kernel that was told no name is not strange; another gets a gap."""
    server = Server("0-7")
    server.files |= {"/proc/sys/kernel/hostname": f"{name}\n", "/proc/sys/kernel/osrelease": "6.1.0\n"}
    found = kernel(server.host)
    assert found.name == told
    assert [gap.fact for gap in found.gaps if gap.fact == "host.name"] == ["host.name"] * (told is None and name != "(none)")


def xml(name: str, address: str = "0000:61:00.0", host: str = "node01") -> bytes:
    """Return an hwloc XML with one adapter of that name, on a card with that address, below a bridge with it."""
    return f"""<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x1" nodeset="0x1" gp_index="1">
    <info name="HostName" value={quoteattr(host)}/>
    <object type="NUMANode" os_index="0" cpuset="0x1" nodeset="0x1" gp_index="2"/>
    <object type="Core" os_index="0" cpuset="0x1" nodeset="0x1" gp_index="3">
    <object type="PU" os_index="0" cpuset="0x1" nodeset="0x1" gp_index="4"/></object>
    <object type="Bridge" gp_index="5" bridge_type="1-1" bridge_pci="0000:[61-61]" pci_busid={quoteattr(address)}>
    <object type="PCIDev" gp_index="6" pci_busid={quoteattr(address)} pci_type="0207 [15b3:101b] [15b3:0001] 00">
    <object type="OSDev" gp_index="7" name={quoteattr(name)} osdev_type="3"/></object></object>
    </object></topology>""".encode()


@given(
    some.one_of(some.sampled_from((*HOSTILE, *REAL)), some.text(some.characters(min_codepoint=32, codec="utf-8"), max_size=300))
)
def test_every_name_of_an_hwloc_xml_is_a_name_or_is_not_there(name: str) -> None:
    """Of adapters, of PCI devices and of the host; what was dropped is told."""
    if not name.isprintable():
        name = name.encode("unicode_escape").decode()
    machine = machine_from_xml(xml(name, name, name), "test.xml")
    told = [hca.name for hca in machine.hcas or ()] + [card.address for card in machine.pci or ()] + [machine.name]
    assert told == ([name] * 3 if is_name(name) else [None])
    assert [gap.fact for gap in machine.gaps if name and not is_name(name)] == (
        [] if is_name(name) or not name else ["devices.name", "host.name"]
    )


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("place", ["hcas.0.name", "hcas.0.ports.0.netdev", "nics.0.name", "pci.0.address", "name"])
def test_a_machine_json_with_a_hostile_name_is_refused_in_one_line_that_names_the_place(name: str, place: str) -> None:
    """The file was written by no advisor: nothing of it is believed."""
    data = json.loads(naples().model_dump_json())
    *way, last = (int(word) if word.isdecimal() else word for word in place.split("."))
    holder = data
    for step in way:
        holder = holder[step]
    holder[last] = name
    with pytest.raises(BadMachine) as error:
        machine_from_json(json.dumps(data).encode(), "m.json")
    assert str(error.value) == (
        f"m.json: {place}: not a Machine: {name[:40]!a} is not a device or host name; see advisor topology --json"
    )


def test_a_refused_machine_json_is_one_line_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With exit status 2, and nothing of the name that steers it."""
    file = tmp_path / "machine.json"
    file.write_text(json.dumps({"machine": json.loads(naples().model_dump_json()) | {"name": "\x1b]0;x\x07\nnode"}}))
    assert status(["topology", "--from", str(file)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), said.err.strip().isprintable()) == ("", 1, True)
    assert posixpath.basename(str(file)) in said.err
