"""The commands to go on with: whatever a file is called, a shell reads its name as the one word that it is."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from advisor.cli.main import status
from tests.machines.catalogue import write_archive

Capture = pytest.CaptureFixture[str]

NAMES = ["a b;touch x.tar.gz", "$(touch x).tar.gz", "it's.tar.gz", "two  blanks.tar.gz", "a\tb\nc.tar.gz", "é \x1b[2J.tar.gz"]

SHOWS = re.compile("  (?:why: every value|the steps in|a drawing of|everything: commands)")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture of a server."""
    file = tmp_path_factory.mktemp("node") / "node.tar.gz"
    write_archive("epyc-nps1-smt-roundrobin", file)
    return file


def words_of(lines: list[str]) -> list[list[str]]:
    """Return the words that bash makes of each command of advisor in lines of a page."""
    script = 'advisor() { printf "%s\\0" "$@"; printf "\\1\\0"; }\n' + "\n".join(lines)
    done = subprocess.run([str(shutil.which("bash")), "-c", script], capture_output=True, check=True, env={"PATH": "/none"})
    assert done.stderr == b""
    return [each.split("\0")[:-1] for each in done.stdout.decode("utf-8", "surrogateescape").split("\1\0")[:-1]]


def placed(archive: Path, folder: Path, name: str) -> Path:
    """Return a copy of the capture under an odd name."""
    return Path(shutil.copy(archive, folder / name))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [40, 300])
def test_the_next_lines_of_an_audit_name_the_file_as_one_word(
    name: str, width: int, archive: Path, tmp_path: Path, capsys: Capture
) -> None:
    """Beside their use or folded behind backslashes: copied whole, they are the commands."""
    file = placed(archive, tmp_path, name)
    assert status(["audit", "--from", str(file), "--width", str(width)]) in (0, 1)
    page = capsys.readouterr().out.splitlines()
    start = next(at for at, line in enumerate(page) if line.startswith("MORE  "))
    end = next(at for at, line in enumerate(page) if "same options:" in line)
    (found,) = words_of([line[10:] for line in page[start:end]])
    assert (found[0], found[found.index("--from") + 1]) == ("explain" if found[0] == "explain" else "checklist", str(file))
    assert "\x1b" not in "".join(page)


def test_an_audit_names_the_script_of_its_first_fix_and_that_runs(tmp_path: Path, capsys: Capture) -> None:
    """Dell's lines are in racadm's words: what the screen names beside explain writes them."""
    file = write_archive("b-c6525-2x7702-nps1", tmp_path / "node.tar.gz")
    assert status(["audit", "--from", str(file), "--width", "300"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("MORE "))
    words = shlex.split(line)[2:]
    assert words == ["checklist", "--only", "1", "--as", "racadm", "--from", str(file)]
    assert status(words) == 0
    assert "racadm set BIOS.ProcSettings.NumaNodesPerSocket 4" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_the_next_lines_of_whatif_name_the_file_as_one_word(name: str, archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """Of the machine that was, and of the file that was written."""
    file, after = placed(archive, tmp_path, name), tmp_path / f"{name}.json"
    assert status(["whatif", "--from", str(file), "--nps", "4"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("advisor ")]
    assert words_of(lines)[0][:3] == ["whatif", "--from", str(file)]
    assert status(["whatif", "--from", str(file), "--nps", "4", "-o", str(after)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("advisor ")]
    assert [each[:3] for each in words_of(lines)] == [["bind", "--from", str(after)], ["compare", str(after), "-"]]


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_says_how_it_is_looked_at(name: str, archive: Path, tmp_path: Path, capsys: Capture) -> None:
    """The file that was written is one word of the line, which is one line."""
    file = tmp_path / name
    assert status(["capture", "--from", str(archive), "--anonymise", "-o", str(file)]) == 0
    said = capsys.readouterr().err.strip()
    assert said.isprintable()
    assert words_of([said.partition("look at it with: ")[2]]) == [["audit", "--from", str(file)]]


@pytest.mark.parametrize("name", [name for name in NAMES if "/" not in name])
def test_a_folder_without_a_line_says_how_it_is_verified_all_the_same(name: str, tmp_path: Path, capsys: Capture) -> None:
    """The plan in it is one word of the cure."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "launch.sh").write_text("#!/bin/sh\nrm -rf x\n")
    (folder / "plan.json").write_text('{"ranks": [{"rank": 0, "cpus": "0"}]}')
    assert status(["verify", str(folder)]) == 2
    said = capsys.readouterr().err.strip()
    assert said.isprintable()
    line = said.partition("use advisor ")[2].partition(" -- LINE")[0]
    assert words_of([f"advisor {line}"]) == [["verify", "--plan", str(folder / "plan.json")]]
