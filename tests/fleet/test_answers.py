"""A fleet's folder: what it holds already, and who is asked."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from advisor.errors import BadInput, BadValue
from advisor.fleet.capture import AnswersFolder, age, checked_again, grouped
from advisor.fleet.fleet import Answer, answers_in
from advisor.machine.hosts.errands import Outcome


def answer(node: str, outcome: Outcome = Outcome.ANSWERED, *, hours: float = 0, data: bytes = b"x") -> Answer:
    """Return an answer of some hours ago."""
    at = (datetime.now(UTC) - timedelta(hours=hours)).isoformat()
    if outcome is not Outcome.ANSWERED:
        return Answer(node=node, at=at, outcome=outcome)
    return Answer(node=node, at=at, outcome=outcome, archive=f"{node}.tar.gz", sha256=sha256(data).hexdigest())


@pytest.fixture
def folder(tmp_path: Path) -> AnswersFolder:
    """Return a folder with a new answer, an old one and one that is none."""
    found = AnswersFolder(tmp_path / "fleet")
    found.begin()
    found.add(answer("new"), b"x")
    found.add(answer("old", hours=30), b"x")
    found.add(answer("bad", Outcome.REFUSED))
    return found


@pytest.mark.parametrize(
    ("fresh_after", "again", "asked"),
    [
        (None, None, ("bad", "never")),
        ("1d", None, ("old", "bad", "never")),
        ("2d", None, ("bad", "never")),
        (None, "failed", ("bad",)),
        (None, "refused", ("bad",)),
        (None, "answered", ("new", "old")),
        (None, "killed", ()),
    ],
)
def test_who_is_asked(fresh_after: str | None, again: str | None, asked: tuple[str, ...], folder: AnswersFolder) -> None:
    """Those without a capture; older ones where that is said; with --again those alone whose last outcome it was."""
    oldest = None if fresh_after is None else age(fresh_after)
    assert folder.to_ask(("new", "old", "bad", "never"), oldest, again) == asked


def test_a_capture_that_is_gone_or_damaged_is_taken_again(folder: AnswersFolder) -> None:
    """The list alone does not count."""
    (folder.folder / "new.tar.gz").unlink()
    (folder.folder / "old.tar.gz").write_bytes(b"y")
    assert folder.to_ask(("new", "old"), None, None) == ("new", "old")


def test_files_are_for_their_owner_alone(folder: AnswersFolder) -> None:
    """A capture names the machine."""
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.folder.iterdir()}
    assert (set(modes.values()), folder.folder.stat().st_mode & 0o777) == ({0o600}, 0o700)


def test_a_line_that_was_cut_short_costs_that_line_alone(folder: AnswersFolder) -> None:
    """A run that was killed while it wrote: the next begins on a line of its own."""
    folder.file.write_bytes(folder.file.read_bytes()[:-5])
    again = AnswersFolder(folder.folder)
    again.begin()
    again.add(answer("next", Outcome.KILLED))
    assert (list(AnswersFolder(folder.folder).last), answers_in(folder.file.read_bytes()).damaged) == (
        ["new", "old", "next"],
        (3,),
    )


def test_a_list_takes_no_more_memory_than_it_has(folder: AnswersFolder) -> None:
    """A head node may be small: an emulated one with 1 GiB could not read three lines."""
    import tracemalloc

    tracemalloc.start()
    AnswersFolder(folder.folder)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 20


def test_an_answer_never_leads_out_of_the_folder(folder: AnswersFolder) -> None:
    """Somebody may have written into the list."""
    folder.last["new"] = answer("new").model_copy(update={"archive": "../x"})
    assert folder.is_kept("new") is False


@pytest.mark.parametrize("text", ["", "1", "d", "-1d", "1y", "1d2h", "\uff19d"])
def test_an_age_that_is_none_is_refused(text: str) -> None:
    """It explains how to write one."""
    with pytest.raises(BadValue, match="for example, 30m"):
        age(text)


def test_an_outcome_that_there_is_none_of_is_refused() -> None:
    """With the nearest."""
    with pytest.raises(BadValue, match="did you mean refused"):
        checked_again("refusd")


def test_a_folder_without_answers_is_no_fleet(tmp_path: Path) -> None:
    """Asking again needs a list of who was asked."""
    with pytest.raises(BadInput, match="no fleet was captured there"):
        AnswersFolder(tmp_path, must_exist=True)


def test_outcomes_are_grouped_by_how_many() -> None:
    """The most frequent first."""
    found = grouped([answer("a", Outcome.REFUSED), answer("b"), answer("c")])
    assert found == {Outcome.ANSWERED: ["b", "c"], Outcome.REFUSED: ["a"]}
