"""More than 300 credentials of more than 60 kinds are planted, and none of them is in any output that there is.

Every command of the command line has a line in ``tests.secrecy.outputs``; every export, checklist and launcher is asked by
its registry.
"""

from pathlib import Path
from typing import Final

import pytest

from advisor.cli.main import commands
from tests.secrecy.outputs import REFUSED, Site, every_file, found_in, lines_of, looked_through, planted_site
from tests.secrecy.planted import MARK

FAST: Final = ("audit", "topology", "whatif", "check", "compare", "capture", "measure import", "experiment status", "tune")
"""Commands of the fast core: one line of each."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Plant them all."""
    return planted_site(tmp_path_factory.mktemp("site"))


def test_every_command_has_lines(site: Site, tmp_path: Path) -> None:
    """A new command is named until its lines are there."""
    assert sorted({*commands()} ^ {*lines_of(site, tmp_path)}) == []


def test_enough_is_planted(site: Site, tmp_path: Path) -> None:
    """At least 300 credentials, of at least 60 kinds, and the search finds them where they were planted."""
    lines_of(site, tmp_path)
    assert site.planted.count >= 300
    assert len(site.planted.kinds) >= 60
    every = {match[0].decode() for _, data in every_file(site.folder) for match in MARK.finditer(data)}
    missing = {one for many in site.planted.kinds.values() for one in many} - every
    assert len(every) > 300
    assert len(missing) < 40  # those that stand in the words of launch lines


@pytest.mark.parametrize("text", ["a zq7k0001w9pv b", "│ zq7k00   │\n│ 01w9pv │", "<b>ZQ7K</b>0001w9pv", "zq7k0\x1b[1m001w9pv"])
def test_a_credential_that_a_page_breaks_is_found(text: str) -> None:
    """Over two lines of a table, between tags, in colours, in capitals."""
    assert len(found_in("page", text.encode())) == 1


@pytest.mark.parametrize("command", FAST)
def test_one_line_of_the_commonest_gives_none_away(command: str, site: Site, tmp_path: Path) -> None:
    """The whole of what it prints and writes, with the fullest options."""
    assert looked_through(command, site, tmp_path, most=1).leaked == []


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(commands()))
def test_no_output_of_a_command_gives_one_away(command: str, site: Site, tmp_path: Path) -> None:
    """Each format, reader's audience and launcher; both streams, each file, archives unpacked: 0 credentials.

    What is refused gives nothing to look at, so each refusal is one that was foreseen.
    """
    looked = looked_through(command, site, tmp_path)
    planted = f"{site.planted.count} credentials of {len(site.planted.kinds)} kinds"
    print(f"{command}: {looked.lines} lines, {looked.outputs} outputs looked through for {planted}")  # noqa: T201 - for the log
    assert looked.leaked == []
    assert [why for why in looked.refused if not any(reason in why for reason in REFUSED)] == []
