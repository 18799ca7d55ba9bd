"""The race that a folder keeps shows what it showed when it was run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.errors import BadInput
from advisor.jobs.racing.race import Limits, Raced, kept_race, tuned
from advisor.machine.hosts.files import FILE
from tests.fakenode.plans import machine_of
from tests.work.tune.test_race import Program, go

__all__ = ["go"]


def test_a_race_that_is_gone_over_again_has_the_same_page(go: Callable[..., Raced], tmp_path: Path) -> None:
    """Answer, winner, every interval and the number of runs are those of the race itself."""
    folder = tmp_path / "race"
    first, again = tuned(go(Program()), folder).page, kept_race(folder)
    assert (again.answer, again.result, list(again.rows)) == (first.answer, first.result, list(first.rows))


def test_a_race_that_was_not_ended_is_shown_as_far_as_it_went(go: Callable[..., Raced], tmp_path: Path) -> None:
    """Of a journal that ends in a block, whole blocks count."""
    folder = tmp_path / "race"
    go(Program(noise=0.5), Limits(runs=18, seed=1))
    text = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(text[: text[:-2].rfind(b"\n") + 1])
    assert (kept_race(folder).answer, kept_race(folder).blocks) == ("cannot tell", 3)


def test_a_race_of_another_machine_says_so(go: Callable[..., Raced], tmp_path: Path) -> None:
    """A note names what differs; of its own machine there is none."""
    folder = tmp_path / "race"
    go(Program())
    other = (folder / FILE).read_text().replace('"cpus": null', '"cpus": 512', 1)
    (folder / "other").mkdir()
    (folder / "other" / FILE).write_text(other)
    machine = machine_of("two-hcas")
    assert kept_race(folder, machine).notes == ()
    assert [note.partition(" CPUs")[0] for note in kept_race(folder / "other", machine).notes] == [
        "not valid for this machine: measured with 512"
    ]


@pytest.mark.parametrize("head", [{}, {"candidates": [1]}, {"candidates": [], "asked": 3}, {"machine": {"cpus": "many"}}])
def test_a_damaged_head_is_refused_in_one_line(head: dict[str, object], go: Callable[..., Raced], tmp_path: Path) -> None:
    """What is missing or of another kind in the journal's first line is no traceback."""
    folder = tmp_path / "race"
    go(Program())
    first, *rest = (folder / FILE).read_text().splitlines()
    kept = {key: value for key, value in json.loads(first).items() if head or key == "schema"}
    (folder / FILE).write_text("\n".join([json.dumps({**kept, **head}), *rest, ""]))
    with pytest.raises(BadInput, match="the first record of the race is damaged; give the folder of a race"):
        kept_race(folder)
