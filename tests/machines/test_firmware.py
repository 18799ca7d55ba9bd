import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from tests.machines import acpi, smbios
from tests.machines.catalogue import MACHINES, tree
from tests.machines.tree import Tree

TABLES = ("APIC", "SRAT", "SLIT", "HMAT")


def data(files: Tree, path: str) -> bytes:
    """Return the bytes of a file of a tree."""
    content = files[path]
    assert isinstance(content, bytes)
    return content


@pytest.mark.parametrize("name", ["a-r7425-2x7601-dell", "hbm-flat", "epyc-nps4-l3numa-linear"])
def test_the_slit_is_what_the_nodes_say(name: str) -> None:
    """The firmware's table of distances and the kernel's distance files agree."""
    files = tree(name)
    count = len(MACHINES[name][0].nodes)
    body = data(files, f"{acpi.FOLDER}/SLIT")[44:]
    told = [data(files, f"sys/devices/system/node/node{node}/distance").split() for node in range(count)]
    assert [[str(value).encode() for value in body[row * count : (row + 1) * count]] for row in range(count)] == told


def test_the_kernel_may_look_away_from_the_firmware() -> None:
    """With numa=off the kernel shows one node, and the SLIT eight."""
    files = tree("numa-off")
    assert (
        data(files, "sys/devices/system/node/online"),
        struct.unpack_from("<Q", data(files, f"{acpi.FOLDER}/SLIT"), 36)[0],
    ) == (b"0\n", 8)


def test_interleaving_nodes_leaves_out_the_srat() -> None:
    """Intel's node interleaving gives no SRAT, NPS0 gives one."""
    path = f"{acpi.FOLDER}/SRAT"
    assert (path in tree("interleaved"), path in tree("nps0")) == (False, True)


@pytest.mark.parametrize("name", ["hbm-flat", "hbm-cache", "cxl", "big", "numa-fake-8u"])
def test_tables_add_up(name: str) -> None:
    """Every table has the length it says, and bytes that add up to 0."""
    files = tree(name)
    tables = [data(files, path) for path in files if path.startswith(acpi.FOLDER)]
    assert [(len(table), 0) for table in tables] == [
        (struct.unpack_from("<I", table, 4)[0], sum(table) & 255) for table in tables
    ]


@pytest.mark.parametrize("table", TABLES)
def test_iasl_reads_the_tables(table: str, tmp_path: Path) -> None:
    """ACPICA's disassembler finds no fault in what is generated."""
    if shutil.which("iasl") is None:
        pytest.skip("iasl is not installed (Debian: acpica-tools)")
    (tmp_path / table).write_bytes(data(tree("hbm-flat"), f"{acpi.FOLDER}/{table}"))
    done = subprocess.run(["iasl", "-d", table], cwd=tmp_path, capture_output=True, text=True, check=True)
    text = (tmp_path / f"{table}.dsl").read_text()
    assert (text if "Unknown" in text or "Invalid" in text else "", "Error" in done.stdout + done.stderr) == ("", False)


def dump(name: str) -> bytes:
    """Return a machine's SMBIOS as dmidecode dumps it: the entry point, and the table at 32."""
    files = tree(name)
    point = bytearray(data(files, f"{smbios.FOLDER}/smbios_entry_point"))
    struct.pack_into("<Q", point, 16, 32)
    point[5] = 0
    point[5] = -sum(point) & 255
    return bytes(point).ljust(32, b"\0") + data(files, f"{smbios.FOLDER}/DMI")


def test_dmidecode_reads_the_processors_and_dimms(tmp_path: Path) -> None:
    """The SMBIOS tables name both processors, and every DIMM of the memory-less machine with its size."""
    if shutil.which("dmidecode") is None:
        pytest.skip("dmidecode is not installed")
    (tmp_path / "dump").write_bytes(dump("memoryless"))
    done = subprocess.run(["dmidecode", "--from-dump", "dump"], cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = [line.strip() for line in done.stdout.splitlines()]
    found = {line: lines.count(line) for line in ("Core Count: 16", "Size: 32 GB", "Size: No Module Installed", "Type: DDR4")}
    assert found == {"Core Count: 16": 2, "Size: 32 GB": 8, "Size: No Module Installed": 8, "Type: DDR4": 8}
    assert [line for line in lines if "OUT OF SPEC" in line.upper() or "TRUNCATED" in line.upper()] == []
