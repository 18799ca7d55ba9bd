"""A race of advisor tune in a report: the answer, the line, the chart, the table; nothing where none was given."""

from dataclasses import replace
from pathlib import Path

import pytest

from advisor.errors import BadInput
from advisor.exports.page import ReportContent
from advisor.exports.single import Report, report
from tests.machines.catalogue import write_archive
from tests.render.test_tune import page


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report of two EPYC 7702."""
    return report(str(write_archive("b-c6525-2x7702-nps4", tmp_path_factory.mktemp("raced") / "rome.tar.gz")))


def with_race(found: Report) -> Report:
    """Return a report with a race that a line has won."""
    content: ReportContent = found.content
    return replace(found, content=replace(content, races=(page("spread-l3 16x4", "faster"),)))


def test_the_page_shows_answer_line_chart_and_table(plain: Report) -> None:
    """All four are in a section of their own, which the contents name, and the page says how it is made again."""
    pytest.importorskip("matplotlib")
    html = with_race(plain).html()
    section = html[html.index('<section id="races">') : html.index('<section id="unseen">')]
    wanted = ("spread-l3 16x4 is faster than yours: 9 % less", "run spread-l3 16x4", "<svg", "0.910 (0.870 to 0.950)")
    assert [each for each in wanted if each not in section] == []
    assert ('<a href="#races">' in html, "--tuned tune-app" in html) == (True, True)


def test_a_ticket_has_answer_and_line(plain: Report) -> None:
    """Markdown has both without a drawing."""
    text = with_race(plain).markdown()
    assert ("## Races between launch lines" in text, "`run spread-l3 16x4`" in text, "<svg" in text) == (True, True, False)


def test_the_document_has_what_tune_printed(plain: Report) -> None:
    """The key holds the documents of advisor tune --json; without a race there is no such key."""
    found = with_race(plain).document()["races"]
    assert [(each["schema"], each["winner"]) for each in found] == [("advisor-tune/1", "spread-l3 16x4")]
    assert "races" not in plain.document()


def test_without_a_race_there_is_no_section(plain: Report) -> None:
    """Neither the page nor the ticket speaks of races."""
    assert ("Races between launch lines" in plain.html(), "Races between launch lines" in plain.markdown()) == (False, False)


def test_a_folder_without_a_race_is_refused(tmp_path: Path) -> None:
    """One line names it, before anything is measured."""
    with pytest.raises(BadInput, match="there is no race here"):
        report(None, tuned=[tmp_path])
