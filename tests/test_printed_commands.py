"""Every command that the product prints runs: of each page on the input that the page was made from, and of the docs."""

from pathlib import Path

import pytest

from tests.printed_commands import PAGES, commands_in, of_bmc, of_pages, of_texts, shelf


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what commands are typed at."""
    place = tmp_path_factory.mktemp("shelf")
    shelf(place)
    return place


@pytest.mark.parametrize(
    "name",
    [name if name in ("audit", "report, md", "bind, hosts") else pytest.param(name, marks=pytest.mark.slow) for name in PAGES],
)
def test_the_commands_of_a_page_run(name: str, folder: Path) -> None:
    """On the input that the page was made from; what would change or measure something is parsed."""
    assert [each for each in of_pages(folder, [name]) if each.complaint] == []


@pytest.mark.slow
def test_the_commands_on_the_way_of_a_bios_change_run(folder: Path) -> None:
    """Read, planned, staged, looked at and proven through an imitated BMC."""
    tried = list(of_bmc(folder))
    assert ([each for each in tried if each.complaint], len(tried) > 1) == ([], True)


@pytest.mark.slow
def test_the_commands_of_errors_help_and_docs_run(folder: Path) -> None:
    """What a cure, a help text, a manual page, README or a page of docs says to type; hundreds, lest the reader goes blind."""
    tried = list(of_texts(folder))
    assert [each for each in tried if each.complaint] == []
    assert len(tried) > 300


@pytest.mark.parametrize(
    ("text", "width", "found"),
    [
        ("check  advisor topology; or lscpu | grep NUMA", None, ["advisor topology"]),
        ("MORE  advisor explain 1 --from 'a b'\n          same options: x", 80, ["advisor explain 1 --from 'a b'"]),
        ("sudo advisor capture (63), advisor measure\n       --quick (14)", 44, ["advisor capture", "advisor measure --quick"]),
        ("say `advisor bind\n--ranks 2 -- ./app`, then", None, ["advisor bind --ranks 2 -- ./app"]),
        ("advisor bind \\\n  --ranks 2", None, ["advisor bind --ranks 2"]),
        ("<pre>advisor fleet audit x &amp;&amp; y</pre><p>advisor knows</p>", None, ["advisor fleet audit x"]),
        ("    advisor measure        # the quick set: advisor runs it", None, ["advisor measure"]),
    ],
)  # fmt: skip
def test_a_command_is_read_as_a_reader_copies_it(text: str, width: int | None, found: list[str]) -> None:
    """Out of sentences, rows, backticks, tags and broken lines; a sentence about the product is none."""
    assert [each.text for each in commands_in(text, width)] == found
