"""Lines are on disk one by one; what was cut off is dropped, and what is none of ours is refused by its line."""

from dataclasses import replace
from pathlib import Path

import pytest

from advisor.errors import AdvisorError, BadInput, CannotWork
from advisor.machine.hosts.files import FILE, JournalFile, Kind

RACE = Kind("a race", "race/1", cure="begin another", other="another folder with -o")


def test_a_line_that_was_cut_off_is_dropped_and_written_again(tmp_path: Path) -> None:
    """The head stands first; what follows the last end of a line never was."""
    file, head = RACE.begin(tmp_path / "r", {"seed": 3})
    file.write({"run": 1})
    file.close()
    with (tmp_path / "r" / FILE).open("ab") as torn:
        torn.write(b'{"run": ')
    lines, size = RACE.read(tmp_path / "r")
    more = RACE.go_on(tmp_path / "r", size)
    more.write({"run": 2})
    more.close()
    assert (lines, head) == ([head, {"run": 1}], {"schema": "race/1", "seed": 3})
    assert RACE.read(tmp_path / "r")[0] == [head, {"run": 1}, {"run": 2}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no race here"),
        ("", "line 1: not the journal of a race"),
        ('{"schema": "experiment/1"}\n', "line 1: not the journal of a race"),
        ('{"schema": "race/1"}\n[1]\n', "line 2: not an object"),
        ('{"schema": "race/1"}\n{\n', "line 2: not JSON"),
    ],
)
def test_what_is_no_journal_is_refused_by_its_line(text: str | None, said: str, tmp_path: Path) -> None:
    """And it is said what to do."""
    if text is not None:
        (tmp_path / FILE).write_text(text)
    with pytest.raises(BadInput, match=said) as caught:
        RACE.read(tmp_path)
    assert "begin another" in str(caught.value)


def test_a_folder_that_holds_one_is_left_alone(tmp_path: Path) -> None:
    """It can be gone on with, or another named."""
    RACE.begin(tmp_path, {})[0].close()
    with pytest.raises(CannotWork, match=r"contains a race; continue it with --resume .*, or name another folder with -o"):
        RACE.begin(tmp_path, {})


def test_one_that_is_for_one_alone_is_locked_while_it_is_written_to(tmp_path: Path) -> None:
    """From its first line on: the second is refused in one line, and nothing is cut off."""
    alone = replace(RACE, alone=True)
    first, _ = alone.begin(tmp_path, {})
    size = alone.read(tmp_path)[1]
    with pytest.raises(CannotWork, match="in use by another run"):
        alone.go_on(tmp_path, 0)
    first.close()
    alone.go_on(tmp_path, size).close()
    assert alone.read(tmp_path)[1] == size


def test_a_full_disk_is_one_line() -> None:
    """What was to be kept is not there, so nothing that follows is done."""
    full = JournalFile(Path("/dev/full"), Path("/dev/full").open("wb"))  # noqa: SIM115 - closed below
    with pytest.raises(AdvisorError, match="no space left on device; free some space, and resume"):
        full.write({"run": 1})
    with pytest.raises(OSError, match="No space"):
        full.close()
