import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from defusedxml.ElementTree import fromstring

from advisor.cli.main import status
from tests.cli import said
from tests.machines.catalogue import write_archive
from tests.machines.read import seen_by_lstopo

Capture = pytest.CaptureFixture[str]
NAME = "a-r7425-2x7601-dell"


def document(source: Path, capsys: Capture) -> dict[str, Any]:
    """Return what `advisor topology --json` says of a file."""
    return said.document(capsys, "topology", "--from", source, "--json")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return the archive of the R7425's root."""
    file = tmp_path / "r7425.tar.gz"
    write_archive(NAME, file)
    return file


def test_topology_draws(archive: Path, capsys: Capture) -> None:
    """The drawing shows the HCA's node, the round-robin numbers and the cut."""
    assert status(["topology", "--from", str(archive), "--no-color"]) == 0
    text = capsys.readouterr().out
    assert [
        word for word in ("NUMA node 6", "mlx5_0", "5,21,37,53", "channel-interleaving", "round-robin") if word not in text
    ] == []


@pytest.mark.parametrize(("setting", "ascii_"), [({"LC_ALL": "C"}, True), ({"LANG": "C"}, True), ({"LANG": "C.UTF-8"}, False)])
def test_a_console_without_frames(setting: dict[str, str], *, ascii_: bool, archive: Path) -> None:
    """In the locale C the drawing is ASCII; in a UTF-8 one it has frames."""
    command = [sys.executable, "-m", "advisor", "topology", "--from", str(archive)]
    done = subprocess.run(command, env={"PATH": "/usr/bin:/bin", **setting}, capture_output=True, check=True)
    assert done.stdout.isascii() == ascii_


def test_width_and_whole(archive: Path, capsys: Capture) -> None:
    """--width sets the columns of a drawing, --whole draws what is alike each for itself."""
    assert status(["topology", "--from", str(archive), "--width", "60", "--whole"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60


def test_audit_verbose(archive: Path, capsys: Capture) -> None:
    """--verbose tells every fact, and where it was read."""
    assert status(["audit", "--from", str(archive), "--verbose", "--width", "120"]) == 0
    assert "system_vendor         Dell Inc.  [/sys/class/dmi/id/sys_vendor]" in capsys.readouterr().out


def test_topology_writes_svg(archive: Path, tmp_path: Path) -> None:
    """--svg writes a picture that is well-formed, and prints nothing."""
    picture = tmp_path / "x.svg"
    assert status(["topology", "--from", str(archive), "--svg", str(picture)]) == 0
    root: Element = fromstring(picture.read_text())
    assert root.tag.endswith("svg")


def test_output_goes_to_a_file(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """-o writes the drawing, or the JSON, into a file and nothing to the terminal."""
    drawing, data = tmp_path / "x.txt", tmp_path / "x.json"
    assert status(["topology", "--from", str(archive), "-o", str(drawing)]) == 0
    assert status(["topology", "--from", str(archive), "--json", "-o", str(data)]) == 0
    assert capsys.readouterr().out == ""
    assert "NUMA node 6" in drawing.read_text()
    assert json.loads(data.read_text())["counts"]["numa_nodes"] == 8


def test_audit_prints_the_machine_and_its_settings(archive: Path, capsys: Capture) -> None:
    """The audit names the machine, what was inferred, and what could not be seen."""
    assert status(["audit", "--from", str(archive)]) == 0
    text = capsys.readouterr().out
    assert [word for word in ("PowerEdge R7425", "channel-interleaving", "NOT CHECKED") if word not in text] == []


def test_audit_json(archive: Path, capsys: Capture) -> None:
    """The audit's JSON has a schema."""
    assert status(["audit", "--from", str(archive), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"].startswith("advisor-audit/")


def test_a_json_is_an_input(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """The JSON of one run is the input of the next, with the same result."""
    first = document(archive, capsys)
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(first))
    assert document(file, capsys) == first


def test_a_capture_elsewhere_is_the_same_machine(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """A capture gives the same document as what it was taken of, wherever it lies."""
    capture, other = tmp_path / "c.tar.gz", tmp_path / "elsewhere"
    assert status(["capture", "--from", str(archive), "-o", str(capture)]) == 0
    capsys.readouterr()
    other.mkdir()
    moved = Path(shutil.copy(capture, other / "renamed"))
    assert document(moved, capsys) == document(capture, capsys) == document(archive, capsys)


def live(capsys: Capture) -> dict[str, Any]:
    """Return what `advisor topology --json` says of this machine."""
    assert status(["topology", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def steady(take: Callable[[Path], None], capture: Path, capsys: Capture) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the capture and the machine say, once it held still: a guest's memory may grow."""
    for _ in range(5):
        before = live(capsys)
        take(capture)
        capsys.readouterr()
        if live(capsys) == before:
            break
    return document(capture, capsys), before


def test_a_capture_is_its_owners_alone(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """It holds what only root may read; -o - writes it to standard output."""
    for options in ([], ["--anonymise"]):
        assert status(["capture", "--from", str(archive), *options, "-o", str(tmp_path / "c.tar.gz")]) == 0
        assert (tmp_path / "c.tar.gz").stat().st_mode & 0o777 == 0o600
        (tmp_path / "c.tar.gz").chmod(0o644)
    capsys.readouterr()
    command = [sys.executable, "-m", "advisor", "capture", "--from", str(archive), "-o", "-"]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert piped.stdout.startswith(b"\x1f\x8b")


def test_a_capture_of_this_machine_is_this_machine(tmp_path: Path, capsys: Capture) -> None:
    """What a capture of this machine tells is what this machine tells."""
    captured, machine = steady(lambda file: _ok(["capture", "-o", str(file)]), tmp_path / "here.tar.gz", capsys)
    assert captured == machine


def _ok(arguments: list[str]) -> None:
    assert status(arguments) == 0


@pytest.mark.parametrize("shell", [["dash"], ["busybox", "sh"]], ids=["dash", "busybox"])
def test_the_script_captures_the_same_machine(shell: list[str], tmp_path: Path, capsys: Capture) -> None:
    """The shell script's capture of this machine tells what advisor's own does, with either shell."""
    if not shutil.which(shell[0]):
        pytest.skip(f"{shell[0]} is not installed")
    assert status(["capture", "--script"]) == 0
    script = tmp_path / "capture.sh"
    script.write_text(capsys.readouterr().out)

    def take(file: Path) -> None:
        subprocess.run([*shell, str(script), "-o", str(file)], check=True, capture_output=True, cwd=tmp_path)

    captured, machine = steady(take, tmp_path / "by-shell.tar.gz", capsys)
    assert captured == machine


def test_an_anonymous_capture_has_the_same_topology(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """Anonymising takes the names away and leaves the machine."""
    capture = tmp_path / "a.tar.gz"
    assert status(["capture", "--from", str(archive), "--anonymise", "-o", str(capture)]) == 0
    capsys.readouterr()
    first, second = document(archive, capsys), document(capture, capsys)
    assert (first["name"], second["name"]) == ("r7425", "node")
    same = ("counts", "cut", "numbering", "smt", "distances", "nodes", "cores", "l3")
    assert {key: first[key] for key in same} == {key: second[key] for key in same}


def test_hwloc_xml_of_the_same_machine(archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """The XML that lstopo makes of the root gives the same counts, cut and numbering."""
    text = seen_by_lstopo(NAME)
    if text is None:
        pytest.skip("lstopo is not installed (Debian: hwloc)")
    file = tmp_path / "x.xml"
    file.write_text(text)
    first, second = document(archive, capsys), document(file, capsys)
    assert (first["counts"], first["distances"]) == (second["counts"], second["distances"])
    names = [[part["name"] for part in (each["cut"], each["numbering"])] for each in (first, second)]
    assert names[0] == names[1]


def test_an_xml_of_hwloc_1_is_converted(tmp_path: Path, capsys: Capture) -> None:
    """A file in the format of hwloc 1.x goes through lstopo's own conversion."""
    if not shutil.which("lstopo-no-graphics"):
        pytest.skip("lstopo is not installed (Debian: hwloc)")
    old = tmp_path / "old.xml"
    command = ["lstopo-no-graphics", "-i", "pack:2 numa:2 l3:2 core:2 pu:2", "--of", "xml", "--export-xml-flags", "v1", str(old)]
    subprocess.run(command, check=True, capture_output=True)
    assert b'version="2' not in old.read_bytes()
    assert document(old, capsys)["counts"] == {"packages": 2, "numa_nodes": 4, "l3": 8, "cores": 16, "pus": 32}


def test_nothing_is_written_but_the_output(archive: Path, tmp_path: Path) -> None:
    """A command leaves nothing behind in its folder but the file it was asked for."""
    before = set(tmp_path.iterdir())
    assert status(["topology", "--from", str(archive), "-o", str(tmp_path / "x.txt")]) == 0
    assert {path.name for path in set(tmp_path.iterdir()) - before} == {"x.txt"}


def test_an_output_that_cannot_be_written(archive: Path, capsys: Capture) -> None:
    """A folder that is not there is named in one line."""
    assert status(["topology", "--from", str(archive), "-o", "/no/such/folder/x"]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), "/no/such/folder" in error) == (1, True), error
