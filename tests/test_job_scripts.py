"""Whole job scripts of others beside what an expert reads in them; skipped where they are absent."""

from collections import Counter
from functools import cache

import pytest

from benchmarks import job_scripts

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not job_scripts.FOLDER.is_dir(), reason="the folder of public job scripts is not beside the project"),
]
MOST_NOT_TOLD = 0.15


@cache
def every() -> list[job_scripts.Row]:
    """Return the scripts, read once."""
    return job_scripts.rows()


@pytest.mark.parametrize("column", job_scripts.COLUMNS)
def test_no_count_is_wrong_and_few_are_not_told(column: str) -> None:
    """A count that is told is the expert's; where the real program says otherwise, that is settled by name."""
    tally = Counter(row.counts[column] for row in every())
    assert tally["wrong"] == 0
    assert tally["not told"] <= MOST_NOT_TOLD * len(every())


def test_every_fault_is_found_and_none_where_there_is_none() -> None:
    """Rows that the expert is unsure of do not count."""
    assert [row.file for row in every() if row.faults in ("missed", "false")] == []


def test_what_is_corrected_is_clean() -> None:
    """But for templates, whose blanks nobody else can fill in."""
    left = {fault for row in every() for fault in row.stays}
    assert left <= {"directive-number", "directive-words"}
