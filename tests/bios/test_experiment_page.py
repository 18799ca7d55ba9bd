"""The pages of an experiment."""

from typing import Any

import pytest

from advisor.bios.experiment_page import answer_sentence, experiment_chart, result_page
from advisor.bios.experiment_plan import Cell, Column, ExperimentResult, State
from tests.printing import printed

ONE, FOUR = (State(name=name, set={"numa.nps": nps}) for name, nps in (("NPS1", 1), ("NPS4", 4)))
FIRST = Cell(state="NPS1", column="stream", restarts=(1e11, 1.01e11), median=1.005e11, says="first")


def result(*cells: Cell, **more: Any) -> ExperimentResult:
    """Return a result of some cells beside the first."""
    given: dict[str, Any] = {
        "title": "",
        "nodes": ("node01",),
        "states": (ONE, FOUR),
        "columns": (Column(name="stream", unit="bytes/s", better="high"),),
        "cells": (FIRST, *cells),
        "restarts": 4,
        "done": 8,
        "planned": 8,
        "comparisons": 1,
        "least_p": 2 / 70,
        "worth": 0.02,
        "complete": True,
        "answer": "",
        "winner": None,
        "where": {"node01": "as before"},
    }
    return ExperimentResult(**{**given, **more})


def second(says: str, **more: Any) -> Cell:
    """Return the cell of the second state."""
    return Cell(state="NPS4", column="stream", restarts=(1.13e11,), median=1.13e11, says=says, **more)


PROVEN = second("better", ratio=1.13, low=1.12, high=1.14, p=2 / 70)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (result(PROVEN), "NPS4 is better than NPS1: 13 % more bytes/s in stream (from 12 to 14 %), proven (p = 0.029)"),
        (
            result(second("no difference", ratio=1.0, low=0.99, high=1.01, p=0.8)),
            "No difference above 2 % from NPS1: leave it as it is",
        ),
        (
            result(second("cannot tell", ratio=1.05, low=0.9, high=1.2, p=0.3)),
            (
                "Cannot tell: restarts in one state vary as much as different states; "
                "observed: NPS4 has 5 % more bytes/s in stream than NPS1"
            ),
        ),
        (
            result(second("described", ratio=1.13), restarts=2),
            (
                "Described, not proven: 2 restarts per state cannot prove anything; "
                "observed: NPS4 has 13 % more bytes/s in stream than NPS1"
            ),
        ),
        (result(PROVEN, complete=False, done=3), "3 of 8 restarts were measured: preliminary figures, no verdict until the end"),
        (result(done=0), "Nothing has been measured yet"),
    ],
    ids=["proven", "no difference", "cannot tell", "described", "ended early", "nothing"],
)
def test_the_answer_is_one_sentence(found: ExperimentResult, sentence: str) -> None:
    """What a manager reads: which state, how much, whether that is proven."""
    assert answer_sentence(found) == sentence


def test_the_table_has_its_figure_beside_it_or_below() -> None:
    """On 80 columns beside it; where that is too narrow, below it, with the same scale."""
    found = result(PROVEN)
    wide, narrow = (printed(result_page(found, "e", width), width).splitlines() for width in (90, 60))
    assert [len([line for line in page if line.startswith("NPS4  ")]) for page in (wide, narrow)] == [1, 2]
    assert next(line for line in wide if line.startswith("NPS4  ")).split()[:3] == ["NPS4", "113", "GB/s"]
    assert [line.rstrip().endswith("-o-") for line in (*wide, *narrow) if line.startswith("NPS4  ")] == [True, False, True]
    assert max(map(len, narrow)) <= 60


def test_a_server_that_is_not_back_is_said_at_once() -> None:
    """In the second line, before any table."""
    page = printed(result_page(result(PROVEN, where={"node01": "not yet back"}), "e", 80), 80)
    assert page.splitlines()[1] == "The settings of node01: not yet back"


def test_the_chart_has_each_state_its_restarts_and_what_was_proven() -> None:
    """The SVG has the words of the table, and the same bytes each time; a state without a figure says so."""
    pytest.importorskip("matplotlib")
    drawn = experiment_chart(result(PROVEN, answer="NPS4 is better")).decode()
    words = ("NPS4 is better", "stream, relative to NPS1: higher is better", "113 GB/s, 1.130 better", "within 2 %", "NPS4")
    assert [each for each in words if each not in drawn] == []
    assert experiment_chart(result(PROVEN, answer="NPS4 is better")).decode() == drawn
    none = result(Cell(state="NPS4", column="stream", restarts=(), median=None, failed=4, says="cannot tell"))
    assert "-, no figure" in experiment_chart(none).decode()
