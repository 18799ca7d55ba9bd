"""Rows of published figures: closed words, a source for each, and a check that refuses what no machine can meet."""

from pathlib import Path

import pytest

from advisor.errors import BadSheet
from advisor.measure import platform as platforms
from advisor.measure.platform import platform_by_id, published_figures, read_published
from tests.sheets import published_mistakes

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
        ("EPYC 7742", "EPYC 7763", "EPYC 7763 is not a name of EPYC 7002 (Rome)"),
        ("streaming", "fast", "stores: Input should be 'regular' or 'streaming'"),
        ("STREAM,", "My own,", "program: Input should be 'STREAM'"),
        ("NPS4", "four nodes", "four nodes is not a NUMA partitioning"),
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


def test_most_processors_have_published_bandwidths_of_their_own_or_of_neighbours() -> None:
    """Of 183 processors on sheets at least 150 have a triad of whole machines to be placed among."""
    every = [(sheet, name) for sheet in platforms.platforms() for name in sheet.processors]
    found = [name for sheet, name in every if any(one.metric == "triad" and one.of == "node" for one in published_figures(sheet))]
    assert (len(found) >= 150, len(every) >= 183) == (True, True)


@pytest.mark.parametrize(
    ("name", "neighbour", "factor"),
    [
        ("genoa-x", "EPYC 9004 (Genoa)", 1.0),
        ("emerald-rapids", "Xeon Scalable 4th generation (Sapphire Rapids), scaled to 8 channels of DDR5-5600", 5600 / 4800),
        ("haswell", "Xeon E5 v4 (Broadwell), scaled to 4 channels of DDR4-2133", 2133 / 2400),
    ],
)
def test_a_generation_without_figures_has_its_neighbours_and_says_so(name: str, neighbour: str, factor: float) -> None:
    """Of the same socket and kind of memory, scaled by channels and speed; what it is of is a condition that is never met."""
    found = [one for one in published_figures(platform_by_id(name)) if one.metric == "triad" and one.neighbour]
    theirs = {one.value.low for sheet in platforms.platforms() for one in published_figures(sheet) if not one.neighbour}
    assert {one.neighbour for one in found} == {neighbour}
    assert all(f"of {neighbour}" in one.others for one in found)
    assert all(any(value and round(value * factor) == round(one.value.low or 0) for value in theirs) for one in found)


def test_nobody_has_neighbours_of_hbm() -> None:
    """Its memory is another one."""
    assert [one for one in published_figures(platform_by_id("sapphire-rapids-max")) if one.neighbour] == []
