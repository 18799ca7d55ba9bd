"""Every page on every width of terminal: nothing hangs, nothing ends in a traceback."""

from pathlib import Path

import pytest

from advisor.cli.main import status
from tests.machines.catalogue import write_archive

Capture = pytest.CaptureFixture[str]
NAME = "b-c6525-2x7702-nps1"
PAGES = {
    "audit": "audit --no-measure --from {}",
    "audit, every fact": "audit -v --no-measure --from {}",
    "topology": "topology --from {}",
    "bind": "bind --ranks 16 --from {} -- ./a",
    "bind lint": "bind lint --from {} -- mpirun -np 4 --bind-to core ./a",
    "checklist": "checklist --from {}",
    "explain": "explain numa-nps-below-best --from {}",
    "whatif": "whatif --nps 4 --from {}",
    "rules list": "rules list",
    "diff": "diff {} {}",
    "help": "measure membw --help",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the archive of a Rome server cut NPS1."""
    file = tmp_path_factory.mktemp("widths") / "node.tar.gz"
    write_archive(NAME, file)
    return file


def ends(page: str, width: int, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> bool:
    """Return whether a command ends as commands do, and says something."""
    monkeypatch.setenv("COLUMNS", str(width))
    code = status(PAGES[page].replace("{}", str(archive)).split())
    return code in (0, 1) and bool(capsys.readouterr().out)


@pytest.mark.parametrize("width", [1, 11])
@pytest.mark.parametrize("page", PAGES)
def test_narrow(page: str, width: int, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A page ends on a terminal that is narrower than its indents."""
    assert ends(page, width, archive, monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_width(page: str, archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A page ends on every width."""
    widths = [2, 5, 8, 10, 12, 16, 25, 39, 79, 120, 200, 300]
    assert [width for width in widths if not ends(page, width, archive, monkeypatch, capsys)] == []
