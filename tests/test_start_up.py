"""Start-up is felt. Its work is counted, for on a busy machine every clock is wrong; benchmarks/start_up.py has the seconds."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import advisor.sheets
from advisor.advice import judgement
from advisor.advice.judgement import judged, own_rules
from advisor.advice.know.vendors import settings
from advisor.cli import main as program
from advisor.paths import rules
from advisor.sheets import read_sheet
from tests.jobs.place.samples import machine

SHEETS = sorted(rules().rglob("*.yaml"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return how often libyaml was asked for what comes next, by the text it reads."""
    counted: Counter[str] = Counter()

    class Counting(advisor.sheets._LOADER):  # type: ignore[misc]
        def __init__(self, text: str) -> None:
            super().__init__(text)
            self.text = text

        def get_event(self) -> Any:
            counted[self.text] += 1
            return super().get_event()

        def check_event(self, *_: Any) -> bool:
            raise AssertionError

    monkeypatch.setattr(advisor.sheets, "_LOADER", Counting)
    return counted


@pytest.mark.parametrize("path", SHEETS, ids=lambda path: str(path.relative_to(rules())))
def test_a_sheet_is_read_once_from_end_to_end(path: Path, asked: Counter[str]) -> None:
    """Each value and key of a sheet is asked for once, beside the begin and end of lists, mappings and the document."""
    sheet = read_sheet(path)
    ((text, count),) = asked.items()
    around = 5  # stream and document begin and end, and that nothing follows
    assert text == path.read_text(encoding="utf-8")
    assert count <= around + 3 * len(sheet.lines)


def test_an_audit_reads_half_of_the_rules(asked: Counter[str]) -> None:
    """Of the rules' sheets an audit reads less than half of the values: their examples are not for it."""
    own_rules.cache_clear()
    own_rules(examples=False)
    quick = asked.total()
    asked.clear()
    own_rules(examples=True)
    assert 0 < quick < asked.total() / 2


def test_an_audit_reads_only_the_expressions_it_comes_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the rules' expressions an audit reads less than two thirds, each once: not those of claims that nobody makes."""
    read: list[str] = []
    tree = ast.parse

    def counting(text: str, *, mode: str) -> ast.AST:
        read.append(text)
        return tree(text, mode=mode)

    monkeypatch.setattr(ast, "parse", counting)
    own_rules.cache_clear()
    judgement._ways.cache_clear()
    own_rules(examples=True)
    every = len(read)
    judged(machine("b-c6525-2x7702-nps4"))
    first = len(read) - every
    judged(machine("b-c6525-2x7702-nps4"))
    readings = sum(len(setting.read) for setting in settings().values())  # how settings show themselves: once, too
    assert (0 < first - readings < every * 2 / 3, len(read) - every - first) == (True, 0)


def test_the_commands_are_known_from_their_docstrings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of commands is parsed, and none is imported."""
    seen: list[str] = []
    monkeypatch.setattr(ast, "parse", seen.append)
    program.commands.cache_clear()
    program._placed.cache_clear()
    assert (len(program.commands()) > 30, seen) == (True, [])


def test_the_end_looks_for_no_garbage() -> None:
    """What is left at the end of the program is not searched for what could be freed: the kernel takes all of it back."""
    code = (
        "import atexit, gc, sys\n"
        "from advisor.cli.main import main\n"
        "atexit.register(lambda: print(gc.isenabled(), len(gc.get_objects()) < gc.get_freeze_count(), file=sys.stderr))\n"
        "sys.argv = ['advisor', '--version']\n"
        "main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr == "False True\n"


HEAVY = {"ClusterShell", "defusedxml", "jinja2", "pydantic", "redfish", "requests", "rich", "yaml", "zstandard"}
"""What takes longer to load than the help to write."""
LOADED = (
    "import atexit, sys\n"
    "from advisor.cli.main import main\n"
    "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
    "sys.argv = ['advisor', *sys.argv[1:]]\n"
    "main()\n"
)


@pytest.mark.parametrize("words", [("--help",), ("--version",), ()], ids=" ".join)
def test_the_help_loads_nothing_heavy(words: tuple[str, ...]) -> None:
    """The first page of the help and the version load whose HOME it is and what a credential is, and no slow library."""
    ran = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=True)
    loaded = set(ran.stderr.split())
    rooms = {name.split(".")[1] for name in loaded if name.startswith("advisor.")}
    assert ("typer" in loaded, HEAVY & loaded, rooms) == (True, set(), {"cli", "errors", "machine"})
    used = {name for name in loaded if name.startswith("advisor.machine.") and name != "advisor.machine.hosts"}
    assert used == {"advisor.machine.hosts.base", "advisor.machine.hosts.files", "advisor.machine.secrecy"}
