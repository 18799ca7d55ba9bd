"""The page of a race: the answer first, then the line, then the table."""

from pathlib import Path

import pytest

from advisor.jobs.racing.result import RacedLine, RacePage, RaceResult, RaceRow, race_chart, race_page, verdict_sentence
from advisor.show.lines import text_of


def row(name: str, relative: tuple[float, float, float], runs: int = 12, **more: object) -> RaceRow:
    """Return a row of the table."""
    median = 20 * relative[1]
    raced = RacedLine(
        name=name, line=f"run {name}", median=median, low=20 * relative[0], high=20 * relative[2], runs=runs, dropped_after=None
    )
    return RaceRow(raced, relative, **more)  # type: ignore[arg-type]


ROWS = (
    row("spread-l3 16x4", (0.87, 0.91, 0.95)),
    row("yours", (1.0, 1.0, 1.0)),
    row("compact 16x4", (1.2, 1.3, 1.4), 3, exact=False),
)


def page(winner: str | None, answer: str, **more: object) -> RacePage:
    """Return a race of three lines."""
    rows = more.pop("rows", ROWS)
    result = RaceResult(
        candidates=tuple(each.raced for each in rows),  # type: ignore[attr-defined]
        winner=winner,
        baseline="yours",
        worth=0.02,
        runs=30,
        seconds=620,
    )
    given = {"leader": "spread-l3 16x4", "noise": 0.061, "blocks": 12, "blocks_needed": None, "cost": 30.0, "open": (), **more}
    return RacePage(rows, answer, result=result, unit="s", ended="", folder="tune-app", **given)  # type: ignore[arg-type]


def test_a_winner_is_said_with_the_least_gain_first() -> None:
    """The first line has who is faster, by how much, and at least how much."""
    found = verdict_sentence(page("spread-l3 16x4", "faster"))
    assert found == "spread-l3 16x4 is faster than yours: 9 % less, at least 5 %"


def test_a_gain_that_may_be_less_than_its_worth_says_so() -> None:
    """A proven gain whose lower end is below the worth is no promise."""
    rows = (row("spread-l3 16x4", (0.93, 0.96, 0.99)), ROWS[1])
    assert verdict_sentence(page("spread-l3 16x4", "faster", rows=rows)).endswith("; a gain of 2 % is not proven")


def test_no_difference_is_an_answer() -> None:
    """Where nothing is faster by more than the worth, that is what is said."""
    assert (
        verdict_sentence(page(None, "no difference")) == "No difference above 2 %: no line is faster than yours by more than that"
    )


def test_noise_is_said_with_what_it_takes() -> None:
    """Where it cannot be said yet the noise, the blocks and the time that it takes are."""
    found = verdict_sentence(page(None, "cannot tell", blocks_needed=40))
    assert found == (
        "Cannot tell yet: one run differs from the next by 6.1 %, and it takes about 40 blocks, but 12 were run "
        "(about 14 min more). Fastest so far: spread-l3 16x4"
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_of_the_page_is_wider_than_the_terminal(width: int) -> None:
    """The page fits, but for the command, which is to be copied."""
    found = [text_of(each) for each in race_page(page("spread-l3 16x4", "faster", argv=("mpirun", "./app"))).lines(width)]
    assert [each for each in found if len(each) > width] == []


def test_the_table_shows_each_line_with_its_interval() -> None:
    """Each line has its median, its time relative to the user's, its runs, and its interval drawn."""
    found = [text_of(each) for each in race_page(page("spread-l3 16x4", "faster")).lines(100)]
    table = found[next(at for at, each in enumerate(found) if each.startswith("line ")) :][:4]
    assert table[1].split()[:8] == ["spread-l3", "16x4", "18.2", "s", "0.910", "(0.870", "to", "0.950)"]
    assert ("-o-" in table[1], table[1].rstrip()[-1]) == (True, "|")
    assert table[3].split()[4:8] == ["1.300", "(1.200", "to", "1.400)~"]


def test_the_document_fits_its_schema() -> None:
    """The JSON schema that is published is that of the document."""
    schema = RaceResult.model_json_schema(mode="serialization", by_alias=True)
    document = page("spread-l3 16x4", "faster").result.model_dump(mode="json", by_alias=True)
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(document, schema)
    assert document["schema"] == "advisor-tune/1"
    assert Path(schema["title"]).name == "RaceResult"


def test_the_chart_has_every_line_its_interval_and_the_answer() -> None:
    """The SVG has the words of the table: who, how long relative to the user's, how many runs; the same bytes each time."""
    pytest.importorskip("matplotlib")
    drawn = race_chart(page("spread-l3 16x4", "faster")).decode()
    words = (
        "spread-l3 16x4",
        "0.910 (0.870 to 0.950), 12 runs",
        "yours",
        "time relative to yours",
        "at least 5 %",
        "dashed: assumes",
    )
    assert [each for each in words if each not in drawn] == []
    assert race_chart(page("spread-l3 16x4", "faster")).decode() == drawn


def test_a_race_of_which_nothing_can_be_drawn_is_still_a_chart() -> None:
    """Where no line has an interval yet the chart has its title and no line."""
    pytest.importorskip("matplotlib")
    rows = (RaceRow(ROWS[0].raced, None),)
    assert "Cannot tell yet" in race_chart(page(None, "cannot tell", rows=rows)).decode()
