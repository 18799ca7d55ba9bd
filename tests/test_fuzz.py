"""Ten thousand broken inputs, end to end: each ends in a machine that can be shown, or in one line that names the file."""

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from io import StringIO
from itertools import count
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring
from rich.console import Console

from advisor.advice.audit import audit_document
from advisor.advice.audit_page.card import Asker, Shown
from advisor.advice.audit_page.screen import audit_page, whole_audit_page
from advisor.advice.judgement import judged
from advisor.cli.main import status
from advisor.errors import AdvisorError
from advisor.machine.hosts.capture import Entry, Link, record
from advisor.machine.hosts.source import decompressed, open_host
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.read import machine_from_json, read_machine
from advisor.machine.sources.registry import commands, paths
from advisor.show.picture import picture
from advisor.show.svg import draw_svg
from advisor.show.terminal import draw, topology_document
from tests.collect import xmls
from tests.examples import a_third
from tests.host.shelf import tar
from tests.machines import hwloc_xml
from tests.machines.catalogue import tree, write_root
from tests.machines.tree import relative

MACHINE = "offline"
"""The smallest machine of the catalogue; it has DMI and ACPI tables, an HCA and CPUs offline."""
SECONDS = 20.0
"""Of computing: no input of this size may take longer."""

Files = dict[str, Entry]
Dice = random.Random


@cache
def files() -> Files:
    """Return the files of the small machine, with tables that a user is not allowed to do this read on a real one."""
    found: Files = {}
    for path, content in tree(MACHINE).items():
        found[path] = content if isinstance(content, bytes) else Link(relative(path, content))
    return found


@cache
def captured() -> bytes:
    """Return a capture of the small machine, not compressed, with answers of commands in it."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root.tar"
        root.write_bytes(tar(files()))
        return decompressed(record(open_host(str(root)), paths(), commands(), {"advisor": "0"}), "x")


@cache
def captured_files() -> Files:
    """Return the members of a capture, with commands that it would keep of a live machine."""
    from advisor.machine.hosts.source import unpack

    found: Files = {path.lstrip("/"): node for path, node in unpack(captured(), "x").items()}
    said = {
        ("mpirun", "--version"): b"mpirun (Open MPI) 5.0.11\n",
        ("lstopo-no-graphics", "--version"): b"lstopo-no-graphics 2.9.0\n",
        ("slurmd", "-C"): b"NodeName=n1 CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=16 RealMemory=1000\n",
        ("lstopo-no-graphics", "--disallowed", "--of", "xml", "-"): xml_documents()[0],
        ("systemd-detect-virt", "--vm"): b"none\n",
        **{argv: b"0, 00000000:61:00.0, NVIDIA A100, 40960, 550.54.15\n" for argv in commands() if argv[0] == "nvidia-smi"},
        **{argv: b'{"card0": {"PCI Bus": "0000:C1:00.0", "Card series": "x"}}' for argv in commands() if argv[0] == "rocm-smi"},
    }
    for number, (argv, out) in enumerate(said.items(), 700):
        at = f"advisor-capture/commands/{number}"
        found |= {f"{at}/argv": "".join(f"{word}\n" for word in argv).encode(), f"{at}/stdout": out, f"{at}/status": b"0\n"}
    return found


@cache
def xml_documents() -> tuple[bytes, ...]:
    """Return hwloc XMLs: by hand with every part that is read, and by lstopo where that is installed."""
    adapter = xmls.adapter("0000:61:00.0", xmls.CONNECTX, "mlx5_0", "3", xmls.info("Port1State", "4"))
    gpu = xmls.adapter("0000:81:00.0", "0302 [10de:20f1] [10de:1450] a1", "nvml0", "5", xmls.info("GPUModel", "A100"))
    halves = "".join(
        xmls.thing("Package", half, cpus, xmls.node(half, cpus, gp_index=str(10 + half)) + cache_of(cpus, half), [half])
        for half, cpus in enumerate(((0, 1), (2, 3)))
    )
    tail = (
        '<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os"><indexes length="4">0 1 </indexes>'
        '<u64values length="12">10 20 20 10 </u64values></distances2>'
        '<memattr name="ReadBandwidth" flags="5"><memattr_value target_obj_gp_index="10" target_obj_type="NUMANode" '
        'value="1000"/></memattr><info name="HostName" value="n1"/>'
    )
    infos = xmls.info("DMIProductName", "PowerEdge") + xmls.info("DMIBIOSDate", "06/10/2022") + xmls.info("OSRelease", "6.1")
    byhand = (
        xmls.document(infos + halves + adapter + gpu, range(4), (0, 1), tail=tail),
        xmls.document(infos + halves + adapter.replace('"3"', '"48"'), range(4), (0, 1), version="3.0", tail=tail),
    )
    return (*byhand, *_by_lstopo())


def cache_of(cpus: tuple[int, ...], node: int) -> str:
    """Return an L3 with its cores."""
    return xmls.thing("L3Cache", None, cpus, xmls.cores(cpus, (node,)), (node,), cache_size="1048576", depth="3")


def _by_lstopo() -> tuple[bytes, ...]:
    import tempfile

    if not hwloc_xml.available():
        return ()
    with tempfile.TemporaryDirectory() as folder:
        text = hwloc_xml.xml(write_root(MACHINE, Path(folder)), disallowed=True)
    return (text.encode(),) if text else ()


@cache
def machine_json() -> str:
    """Return the small machine as JSON."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root.tar"
        root.write_bytes(tar(files()))
        return read_machine(str(root)).model_dump_json()


WORDS = (
    b"", b"\0", b"\n", b"0", b"-1", b"1", b"4095", b"4096", b"99999", b"1048575", b"1048576", b"4294967295", b"4294967296",
    b"9223372036854775807", b"18446744073709551616", b"-9223372036854775808", b"9" * 19, b"9" * 400, b"9" * 5000, b"1e309",
    b"nan", b"inf", b"0x", b"0xf...f", b"0xf...f,0x0", b"ffffffff,ffffffff", b"0-1048575", b"0-7:1/2", b"3-1", b"0,2,4,6",
    b"0" + b",0" * 500, b"(null)", b"none", b"[x]", b"true", b"\xd9\xa1\xd9\xa2", b"\xef\xbc\x95", b"\xc2\xb2",
    b"\xff\xfe", b"\x1b]0;owned\x07", b"\x1b[2J", b"\xe2\x80\xaeabc", b"\xc2\x9b31m", b"[bold red]x[/]", b"%s%n", b"../../etc",
    b"a" * 5000, b"\xf0\x9f\x92\xa9" * 40, b"<", b"&", b"&lol;", b'"', b"mlx5_0", b"0000:61:00.0", b"node1", b"x\ny\nz",
    b"1 2 3", b"Infinity", b"2.5 GT/s PCIe", b"0x7fffffffffffffff", b"unlimited",
)  # fmt: skip
"""What numbers, names and lists are swapped for."""

_NUMBER = re.compile(rb"[0-9a-fA-Fx]{1,40}")
_VALUE = re.compile(rb'"[^"<>\n]{0,200}"')


def flipped(data: bytes, dice: Dice) -> bytes:
    """Return the data with some bytes changed."""
    new = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 8, 64))):
        if new:
            new[dice.randrange(len(new))] = dice.randrange(256)
    return bytes(new)


def shortened(data: bytes, dice: Dice) -> bytes:
    """Return the data cut off, or with a piece taken out, doubled or moved."""
    a, b = sorted((dice.randrange(len(data) + 1), dice.randrange(len(data) + 1)))
    b = min(b, a + dice.choice((1, 16, 512, 1 << 16)))
    c = dice.randrange(len(data) + 1)
    return dice.choice((data[:a], data[:a] + data[b:], data[:b] + data[a:], data[:c] + data[a:b] + data[c:], data[a:]))


def reworded(data: bytes, dice: Dice) -> bytes:
    """Return a text with some of its numbers or quoted values swapped for words that break things, or for each other."""
    found = list(dice.choice((_NUMBER, _VALUE)).finditer(data))
    if not found:
        return dice.choice(WORDS)
    for match in sorted(dice.sample(found, min(len(found), dice.choice((1, 1, 2, 5)))), key=lambda m: -m.start()):
        word = dice.choice(WORDS) if dice.random() < 0.7 else dice.choice(found)[0].strip(b'"')
        quote = b'"' if match[0].startswith(b'"') else b""
        data = data[: match.start()] + quote + word + quote + data[match.end() :]
    return data


def mangled(data: bytes, dice: Dice) -> bytes:
    """Return data changed in one of the ways above."""
    return dice.choice((flipped, shortened, reworded, reworded))(data, dice)


def broken_xml(dice: Dice) -> bytes:
    """Return an hwloc XML with attributes, elements, numbers or bytes changed."""
    data = dice.choice(xml_documents())
    way = dice.randrange(6)
    if way == 0:
        return mangled(data, dice)
    if way == 1:  # an attribute less, or a twin of it under another name
        found = list(re.finditer(rb' ([a-z_0-9]+)="[^"]*"', data))
        match = dice.choice(found)
        return data[: match.start()] + dice.choice((b"", b' x="1"', match[0].replace(b'="', b'2="'))) + data[match.end() :]
    if way == 2:  # an element twice, elsewhere, or not at all
        found = list(re.finditer(rb"<(?:info|object|page_type)[^>]*/>", data))
        match, other = dice.choice(found), dice.choice(found)
        put = dice.choice((b"", match[0] * 2, match[0] * 50, other[0]))
        return data[: match.start()] + put + data[match.end() :]
    if way == 3:  # deep
        depth = dice.choice((3, 60, 70, 1000))
        holder = dice.choice((b"Group", b"Package", b"Bridge", b"NUMANode", b"PU"))
        deep = b'<object type="%s" os_index="1" cpuset="0x1">' % holder
        return data.replace(b"</object></topology>", deep * depth + b"</object>" * (depth + 1) + b"</topology>")
    if way == 4:
        found = list(re.finditer(rb'type="\w+"', data))
        match, other = dice.choice(found), dice.choice(found)
        kind = dice.choice((other[0], b'type="PU"', b'type="OSDev"', b'type="Nonsense"'))
        return data[: match.start()] + kind + data[match.end() :]
    return reworded(data, dice)


def broken_member(nodes: Files, dice: Dice) -> Files:
    """Return a tree with some files replaced, mangled, swapped, gone, or become links and folders."""
    new, names = dict(nodes), sorted(nodes)
    for _ in range(dice.choice((1, 1, 3, 20, 200))):
        name, other = dice.choice(names), dice.choice(names)
        node = new.get(name)
        way = dice.randrange(8)
        if way == 0:
            new.pop(name, None)
        elif way == 1:
            new[name] = new.get(other, b"")
        elif way == 2:
            new[name] = dice.choice(WORDS) + b"\n"
        elif way == 3:
            targets = (name.rpartition("/")[2], "..", "/", f"/{other}", ".", "../" * 30 + "etc/passwd", "", "x" * 300)
            new[name] = Link(dice.choice(targets))
        elif way == 4:
            folder, _, last = name.rpartition("/")
            strange = (last + "\x1b[2J", last + "\n", "९", "node99999", "cpu1048575", "cpu999999", "a" * 200, "\u202e", "index3")
            new[f"{folder}/{dice.choice(strange)}"] = node if node is not None else b""
        elif isinstance(node, bytes):
            new[name] = mangled(node, dice)
    return new


def broken_root(dice: Dice) -> bytes:
    """Return an archive of a root with files changed."""
    return tar(broken_member(files(), dice))


def broken_tables(dice: Dice) -> bytes:
    """Return an archive of a root whose firmware tables are mangled."""
    new = dict(files())
    for name in [name for name in new if "/dmi/" in name or "/acpi/" in name]:
        node = new[name]
        if isinstance(node, bytes) and dice.random() < 0.6:
            new[name] = resealed(mangled(node, dice), dice) if "/acpi/" in name else mangled(node, dice)
    return tar(new)


def resealed(data: bytes, dice: Dice) -> bytes:
    """Return an ACPI table with its length and checksum right again, as a careful forger would."""
    if len(data) < 36 or dice.random() < 0.3:
        return data
    new = bytearray(data)
    new[4:8] = len(new).to_bytes(4, "little")
    new[9] = 0
    new[9] = -sum(new) & 0xFF
    return bytes(new)


def all_texts(dice: Dice) -> bytes:
    """Return an archive of a root in which every text file of one folder, or everywhere, holds the same rubbish."""
    rubbish = dice.choice((*WORDS, b"\0" * 4096, b"0," * 20000, b"9" * 100000, dice.randbytes(dice.choice((1, 64, 4096)))))
    part = dice.choice(("", "topology", "cache", "node", "pci", "net", "infiniband", "proc", "dmi", "cpufreq", "cgroup"))
    keep = dice.choice(("sys/devices/system/cpu/online", ""))
    return tar({n: rubbish if isinstance(v, bytes) and part in n and n != keep else v for n, v in files().items()})


def broken_archive(dice: Dice) -> bytes:
    """Return a capture or a root with bytes of the archive itself changed."""
    if dice.random() < 0.3:
        return mangled(captured(), dice)
    data = bytearray(captured())
    heads = [at for at in range(0, len(data), 512) if data[at + 257 : at + 262] == b"ustar"]
    for at in dice.sample(heads, dice.choice((1, 1, 3, 30))):
        field, size = dice.choice(((0, 100), (100, 8), (124, 12), (156, 1), (157, 100), (257, 8), (345, 155)))
        place = at + field + dice.randrange(size)
        word = dice.choice((b"\0", b"..", b"/", b"L", b"x", b"1", b"2", b"7777", b"\xff", b"\x80", b"proc", dice.randbytes(3)))
        data[place : place + len(word)] = word
        data[at + 148 : at + 156] = b" " * 8
        data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    return bytes(data)


def broken_capture(dice: Dice) -> bytes:
    """Return a capture with its members changed: its notes and answers more often than its files."""
    nodes = captured_files()
    notes = {name: node for name, node in nodes.items() if "/root/" not in name}
    if dice.random() < 0.3:
        return tar(broken_member(nodes, dice))
    new = dict(nodes)
    for name in dice.sample(sorted(notes), dice.choice((1, 1, 2, 4))):
        node = notes[name]
        if isinstance(node, bytes):
            new[name] = dice.choice((mangled(node, dice), dice.choice(WORDS), mangled(node, dice)))
    return tar(new)


def broken_json(dice: Dice) -> bytes:
    """Return a Machine JSON with values, keys or bytes changed."""
    if dice.random() < 0.3:
        return mangled(machine_json().encode(), dice)
    data: Any = json.loads(machine_json())
    for _ in range(dice.choice((1, 1, 2, 5))):
        holder, key = dice.choice(list(_places(data)))
        holder[key] = dice.choice(
            (None, -1, 0, 1, 1 << 20, 1 << 64, 10**400, 1e308, float("nan"), "", "0-1048575", "3", "\x1b[2J\x07", "\u202e",
             "\ud800", True, [], {}, [None], [[0, 1], [1, 0]], "x" * 9999, "[bold]x", dice.choice(list(_places(data)))[1])
        )  # fmt: skip
    return json.dumps(data).encode()


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a JSON value where another value can be put."""
    for key in data if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from _places(data[key])


KINDS: dict[str, tuple[Callable[[Dice], bytes], int]] = {
    "xml": (broken_xml, 3000),
    "root": (broken_root, 1500),
    "tables": (broken_tables, 1000),
    "texts": (all_texts, 500),
    "archive": (broken_archive, 1000),
    "capture": (broken_capture, 1500),
    "json": (broken_json, 1500),
}
"""Each way to make an input, and how many of them the long run makes: ten thousand together."""


SHOWN = count()
"""How many machines were shown: every fourth is judged too, the first among them, so that one case alone always is."""


def shown(machine: Machine) -> None:
    """Show a machine in every way there is, and check that nothing that steers a terminal is in it."""
    layout = infer_layout(machine)
    console = Console(file=StringIO(), width=100, force_terminal=False, color_system=None)
    console.print(draw(machine, layout))
    documents = [topology_document(machine, layout)]
    if next(SHOWN) % 4 == 0:
        audit = judged(machine).audit
        shown = Shown(audit, machine, layout, None, Asker())
        console.print(audit_page(shown))
        console.print(whole_audit_page(shown, {}))
        documents.append(audit_document(machine, layout, audit))
    svg = draw_svg(picture(machine, layout))
    for text in (console.file.getvalue(), svg):  # type: ignore[attr-defined] # a StringIO
        assert not [letter for letter in text if not letter.isprintable() and letter != "\n"]
    assert fromstring(svg).tag.endswith("svg")
    for made in documents:
        assert json.dumps(made, allow_nan=False).isascii()
    assert Machine.model_validate_json(machine.model_dump_json()) == machine


def outcome(file: Path) -> str:
    """Return ``machine`` or the one line of the error, after showing the machine or checking the line."""
    begun = process_time()
    try:
        machine = read_machine(str(file))
        shown(machine)
        assert read_machine(str(file)) == machine
        said = "machine"
    except AdvisorError as error:
        said = str(error)
        assert file.name in said, said
        assert [letter for letter in said if not letter.isprintable()] == [], ascii(said)
    assert process_time() - begun < SECONDS
    return said


def run(kind: str, seeds: range, folder: Path) -> None:
    """Try the inputs of some seeds."""
    make, _ = KINDS[kind]
    for seed in seeds:
        file = folder / f"{kind}.input"
        file.write_bytes(make(Dice(f"{kind} {seed}")))
        try:
            outcome(file)
        except Exception as error:
            error.add_note(f"{kind} {seed}")
            raise


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_broken_inputs(kind: str, tmp_path: Path) -> None:
    """Each kind of broken input ends in a machine or in one line."""
    run(kind, range(8), tmp_path)


STEP = 250


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "start"), [(kind, at) for kind, (_, many) in KINDS.items() for at in range(0, many, STEP)])
def test_ten_thousand_broken_inputs(kind: str, start: int, tmp_path: Path) -> None:
    """Ten thousand broken inputs end in a machine or in one line, and none takes long."""
    run(kind, range(start, start + STEP), tmp_path)


CPU = "sys/devices/system/cpu"


def small(**more: Entry) -> Files:
    """Return a machine of two CPUs with more files."""
    return {f"{CPU}/online": b"0-1\n", **{f"{CPU}/cpu{cpu}/topology/core_id": b"0\n" for cpu in range(2)}, **more}


def xml(inner: str, head: str = "") -> bytes:
    """Return an hwloc XML of two CPUs with more objects."""
    both = '<object type="PU" os_index="0" cpuset="0x1"/><object type="PU" os_index="1" cpuset="0x2"/>'
    machine = f'<object type="Machine" os_index="0" cpuset="0x3">{both}{inner}</object>'
    return f'{head}<topology version="2.0">{machine}</topology>'.encode()


def objects(kind: str, many: int, cpus: str) -> str:
    """Return many objects of one kind."""
    return "".join(f'<object type="{kind}" os_index="{number}" cpuset="{cpus}"/>' for number in range(many))


def topology_json(**parts: Any) -> bytes:
    """Return a Machine JSON of a topology."""
    return json.dumps({"topology": {"pus": "0-3", **parts}}).encode()


BRIDGE = xmls.adapter("0000:61:00.0", xmls.CONNECTX, "mlx5_0", "3")
NODE_0 = {"os_index": 0, "cpuset": "0-3", "near": "0-3", "memory": 1}
PACKAGE = {"os_index": 0, "cpuset": "0-1048575"}
EVEN = ",".join(map(str, range(0, 1 << 18, 2))).encode()
SLIT = b" ".join([b"20"] * 2000)
ENTITIES = '<!DOCTYPE topology [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;">]>'
SCHEMES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a list of every other CPU": (lambda: tar(small(**{f"{CPU}/present": EVEN})), ""),
    "many CPUs online that have no folder": (lambda: tar({f"{CPU}/online": b"0-262143"}), ""),
    "strides within strides": (lambda: tar(small(**{f"{CPU}/present": b",".join([b"0-1048575:1/2"] * 9999)})), ""),
    "a package number that is no CPU number": (
        lambda: tar(small(**{f"{CPU}/cpu{cpu}/topology/physical_package_id": b"4294967295" for cpu in range(2)})),
        "",
    ),
    "two thousand nodes": (
        lambda: tar(small(**{f"sys/devices/system/node/node{n}/distance": SLIT for n in range(2000)})),
        "2000 NUMA nodes, more than the 1024 that Linux supports",
    ),
    "a loop of links": (lambda: tar(small(**{"sys/class/net/x": Link("x"), "sys/class/infiniband/y": Link("..")})), ""),
    "a folder in itself": (lambda: tar({"sys": Link("sys"), "proc/x": b""}), "shows no CPUs"),
    "a node number that is none": (lambda: xml('<object type="NUMANode" os_index="one" cpuset="0x3"/>' + BRIDGE), "not a whole"),
    "a node number out of range": (lambda: xml('<object type="NUMANode" os_index="1048576" cpuset="0x3"/>'), "out of range"),
    "two thousand nodes in XML": (lambda: xml(objects("NUMANode", 2000, "0x3")), "2000 NUMA nodes, more than"),
    "more elements than memory": (lambda: xml("<a/>" * 4_000_000), "the XML has more elements than any real"),
    "sets without end": (lambda: xml(objects("Package", 2000, "0xf...f")), "the XML has more elements than any real"),
    "a billion laughs": (lambda: xml("&b;", ENTITIES), "it declares entities"),
    "entities for lstopo": (lambda: xml("&b;", ENTITIES).replace(b' version="2.0"', b""), "declares entities"),
    "XML in UTF-16": (lambda: xml("").decode().encode("utf-16"), "not a capture, a /sys"),
    "XML in UTF-7": (lambda: xml("", '<?xml version="1.0" encoding="utf-7"?>'), "unreadable XML"),
    "a number of 401 digits": (lambda: topology_json(l3=[{"cpuset": "0", "size": 10**400}]), "a number with 401 digits"),
    "NaN": (lambda: topology_json(l3=[{"cpuset": "0", "size": float("nan")}]), "NaN is not a number"),
    "a number beyond any": (lambda: b'{"tiers": [{"node": 0, "read_latency": 1e999}]}', "finite number"),
    "a node below zero": (lambda: topology_json(nodes=[{**NODE_0, "os_index": -1}]), "topology.nodes.0.os_index"),
    "distances of no rows": (lambda: topology_json(distances={"nodes": [0, 1], "rows": []}), "need 2 rows of 2"),
    "sets that fill the memory": (lambda: topology_json(packages=[PACKAGE] * 20000), "20000 parts"),
    "sets that fill the time": (lambda: topology_json(packages=[PACKAGE] * 900), "CPUs in total"),
    "more packages than any": (lambda: topology_json(packages=[{**PACKAGE, "cpuset": "1"}] * 2000), "2000 parts"),
    "more values than any": (lambda: b'{"gaps": [' + b"0," * 3_000_000 + b"0]}", "would exhaust the memory"),
}  # fmt: skip
"""What mutation does not find, and the words of the line that refuses it; none where it is read."""


@pytest.mark.parametrize("name", a_third(SCHEMES))
def test_what_an_enemy_would_send(name: str, tmp_path: Path) -> None:
    """It is read, or refused in one line, soon and in little memory."""
    make, words = SCHEMES[name]
    file = tmp_path / "input"
    file.write_bytes(make())
    said = outcome(file)
    assert words in said if words else said == "machine"


EVIL = "\x1b]0;x\x07\x1b[2J\u202e\x9b31m\n"


def test_names_never_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names with escape sequences reach no output raw: not the drawing, the audit, the JSON, nor an error."""
    machine = Machine.model_validate_json(machine_json())
    firmware = {"product": EVIL, "system_vendor": EVIL, "bios_version": EVIL}
    cpu = {"vendor": EVIL, "governors": (EVIL,)}
    gap = {"fact": EVIL, "why": EVIL, "help": EVIL}
    data = machine.model_dump(mode="json") | {"firmware": firmware, "cpu": cpu, "gaps": [gap]}
    data["architecture"] = EVIL
    for node in data["topology"]["nodes"]:
        node["kind"] = EVIL
    data["kernel"] = {"release": EVIL, "os_name": EVIL, "thp": EVIL}
    file = tmp_path / f"{EVIL}.json"
    file.write_text(json.dumps(data))
    bad = tmp_path / f"{EVIL}.bad"
    bad.write_text("{")
    for arguments in (["audit"], ["topology"], ["audit", "--json"], ["topology", "--json"]):
        assert status([*arguments, "--from", str(file)]) == 0
    assert status(["audit", "--from", str(bad)]) == 2
    shown(machine_from_json(file.read_bytes(), "x"))
    seen = capsys.readouterr()
    assert [letter for letter in seen.out + seen.err if not letter.isprintable() and letter != "\n"] == []
    assert seen.err.count("\n") == 1


@pytest.mark.parametrize("name", ["", "/", "/proc/kmsg", "/dev/zero", "pipe", "empty", "\x1b[2J\n\x07", "\0", "a" * 5000])
def test_what_cannot_be_opened(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A device, a pipe, nothing at all: one line, at once."""
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").write_bytes(b"")
    given = str(tmp_path / name) if name in ("pipe", "empty") else name
    done = status(["audit", "--from", given])
    error = capsys.readouterr().err
    assert (done, error.count("\n"), error[:-1].isprintable()) == ((0, 0, True) if name == "/" else (2, 1, True))


def test_output_goes_where_it_was_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-o writes through a link and into a device, replaces neither, and names what it cannot write."""
    root = tmp_path / "root.tar"
    root.write_bytes(tar(small()))
    (tmp_path / "link").symlink_to("real")
    assert status(["topology", "--from", str(root), "-o", str(tmp_path / "link")]) == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text(encoding="utf-8").startswith("Machine")
    assert status(["topology", "--from", str(root), "-o", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()
    for bad in (tmp_path, tmp_path / "none" / "x", Path("/dev/full")):
        assert status(["topology", "--from", str(root), "-o", str(bad)]) == 2
        assert capsys.readouterr().err.startswith(f"advisor: {bad}: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real", "root.tar"]


def test_an_interrupted_capture_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C while a command hangs: one line, status 130, no file, and the command is ended."""
    import os
    import signal
    import subprocess
    import sys
    import time

    hanging = tmp_path / "mpirun"
    hanging.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    hanging.chmod(0o755)
    program = [sys.executable, "-m", "advisor", "capture", "-o", str(tmp_path / "out" / "x.tar.gz")]
    (tmp_path / "out").mkdir()
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(program, env=environment, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (130, "advisor: interrupted\n")
    assert list((tmp_path / "out").iterdir()) == []
    line = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/cmdline")
    deadline = time.monotonic() + 30
    while line.exists() and line.read_bytes() and time.monotonic() < deadline:
        time.sleep(0.05)  # a machine under load takes a moment to end what is killed
    assert not line.exists() or not line.read_bytes()  # gone, or dead and waiting for its parent


def test_a_capture_of_a_broken_machine_is_that_machine(tmp_path: Path) -> None:
    """A loop of links stays what could not be read: captured again it does not become what was looked for and is absent."""
    root, again = tmp_path / "root.tar", tmp_path / "again.tar.gz"
    table = "sys/firmware/acpi/tables/APIC"
    root.write_bytes(tar({**files(), table: Link("APIC")}))
    assert status(["capture", "--from", str(root), "-o", str(again)]) == 0
    first, second = read_machine(str(root)), read_machine(str(again))
    assert first.acpi is not None
    assert (first.acpi.madt, second.acpi) == (None, first.acpi)
