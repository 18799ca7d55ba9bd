"""Rows of published figures: closed words, a source for each, and a check that refuses what no machine can meet."""

from pathlib import Path

import pytest

from advisor.errors import BadSheet
from advisor.measure import platforms
from advisor.measure.platforms import platform_by_id, published_figures, published_mistakes, read_published

HEAD = (
    "processor,of,sockets,metric,value,threads,numa,smt,channels,memory,stores,program,cloud,"
    "problem,grid,kind,year,grade,source\n"
)
GOOD = "EPYC 7742,node,2,triad,229.5 GB/s,128,NPS4,off,8,DDR4-3200,streaming,STREAM,metal,,,measured,2020,paper,a:b\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of published figures that is read in place of ours."""
    monkeypatch.setattr(platforms, "rules", lambda: tmp_path)
    (tmp_path / "published").mkdir()
    return tmp_path / "published"


def test_nothing_is_wrong_in_the_rows() -> None:
    """Every row is of a processor of its platform, under conditions that a machine can meet, below its ceiling."""
    assert [str(each) for each in published_mistakes()] == []


def test_a_platform_has_its_sheets_results_and_its_rows() -> None:
    """Both are one list: 270 to 300 GB/s of the sheet's, and 229.55 GB/s of a row."""
    found = {(one.processor, one.value.low) for one in published_figures(platform_by_id("rome")) if one.metric == "triad"}
    assert {("EPYC 7702", 270e9), ("EPYC 7742", 229.55e9)} <= found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("NPS4", "SNC2", "no EPYC 7002 (Rome) is ever partitioned SNC2"),
        ("DDR4-3200", "DDR4-3600", "DDR4-3600 is faster than EPYC 7002 (Rome) runs its memory"),
        ("off,8,", "off,12,", "12 channels, and a socket has 8"),
        (",128,", ",512,", "512 threads on 2 x 64 cores"),
        ("229.5 GB/s", "480 GB/s", "480 GB/s is above the 410 GB/s of 8 channels of DDR4-3200"),
        ("229.5 GB/s", "105 ns", "triad counts seconds"),
        ("EPYC 7742", "EPYC 7763", "EPYC 7763 is no name of EPYC 7002 (Rome)"),
        ("streaming", "fast", "stores: Input should be 'regular' or 'streaming'"),
        ("STREAM,", "My own,", "program: Input should be 'STREAM'"),
        ("NPS4", "four nodes", "four nodes is no NUMA partitioning"),
    ],
)
def test_a_row_that_no_machine_can_meet_is_refused(folder: Path, old: str, new: str, said: str) -> None:
    """The error names the file, the line and what is wrong."""
    file = folder / "rome.csv"
    file.write_text(HEAD + GOOD.replace(old, new))
    (found,) = published_mistakes()
    assert (found.file, found.place, said in str(found)) == (str(file), "line 2", True)


def test_a_good_row_is_not_refused(folder: Path) -> None:
    """The one that the others are made of."""
    (folder / "rome.csv").write_text(HEAD + GOOD)
    assert list(published_mistakes()) == []


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", HEAD.replace("grade", "grades") + GOOD, HEAD + GOOD.replace("\n", ",more\n")])
def test_a_file_that_is_no_table_of_figures_is_refused(folder: Path, text: str) -> None:
    """Other columns, or more values than columns."""
    file = folder / "rome.csv"
    file.write_text(text)
    with pytest.raises(BadSheet, match="line"):
        read_published(file)
