"""The words that docs/words.md fixes: what it retires stands in no text that a user reads."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from advisor.advice.know.vendors import settings
from advisor.cli.main import commands, status, told

ROOT = Path(__file__).parents[1]
WORDS = ROOT / "docs" / "words.md"

WRITTEN_BY_PROGRAMS = ("benchmarks.md", "binding.md", "binding-matrix.md")
"""Pages that hold what the product or other programs printed."""

CODE_KEYS = frozenset({"when", "only", "each", "let", "given", "gain", "measured", "seen", "match", "menu", "label", "shown"})
"""Keys of sheets under which expressions and vendors' names stand."""


def retired() -> list[str]:
    """Return the words of the last column of docs/words.md."""
    rows = (line.rstrip("| ").rsplit("|", 1)[-1] for line in WORDS.read_text().splitlines() if line.startswith("| "))
    return [word for cell in rows for word in re.findall(r"`([^`]+)`", cell)]


FORBIDDEN = re.compile(
    r"(?<![\w`-])(" + "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in retired()) + r")(?![\w`=-])", re.IGNORECASE
)


def found(text: str) -> list[str]:
    """Return the retired words of a text with what stands around each."""
    return [text[max(hit.start() - 30, 0) : hit.end() + 30].replace("\n", " ") for hit in FORBIDDEN.finditer(text)]


def sheet_texts(value: Any) -> Iterator[str]:
    """Yield every text of a sheet without its expressions and vendors' names."""
    if isinstance(value, dict):
        vendors = "label" in value  # an entry of a vendor: its values are the firmware's own
        left = {name: each for name, each in value.items() if name not in CODE_KEYS and not (vendors and name == "values")}
        yield from (text for each in left.values() for text in sheet_texts(each))
    elif isinstance(value, list):
        yield from (text for each in value for text in sheet_texts(each))
    elif isinstance(value, str):
        yield re.sub(r"\{[^}]*\}", "", value)


def prose(text: str) -> str:
    """Return a page without its code, in blocks and in lines."""
    return re.sub(r"```.*?```|`[^`\n]*`|^ {4}.*$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_the_list_retires_words() -> None:
    """docs/words.md names words that are no longer used, and the test finds them."""
    assert len(retired()) > 30
    assert found("The maker tells it: mended.") != []


@pytest.mark.parametrize(
    "path",
    [path for path in sorted((ROOT / "rules").rglob("*.yaml")) if path.name != "sources.yaml"],
    ids=lambda path: path.relative_to(ROOT / "rules").as_posix(),
)
def test_no_sheet_has_a_retired_word(path: Path) -> None:
    """Texts and comments of rules, settings, platforms and vendors keep to docs/words.md."""
    source = path.read_text()
    comments = re.findall(r"^\s*#(.*)$", source, re.MULTILINE)
    assert [hit for text in (*sheet_texts(yaml.safe_load(source)), *comments) for hit in found(text)] == []


@pytest.mark.parametrize(
    "path",
    [
        *(path for path in sorted((ROOT / "docs").glob("*.md")) if path != WORDS and path.name not in WRITTEN_BY_PROGRAMS),
        ROOT / "README.md",
        ROOT / "rules" / "README.md",
    ],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_no_page_has_a_retired_word(path: Path) -> None:
    """The pages of docs and the READMEs keep to docs/words.md."""
    assert found(prose(path.read_text())) == []


@pytest.mark.parametrize("path", sorted((ROOT / "templates").rglob("*.j2")), ids=lambda path: path.name)
def test_no_template_has_a_retired_word(path: Path) -> None:
    """What is written for a user's hands keeps to docs/words.md."""
    assert found(re.sub(r"\{[{%#].*?[}%#]\}", "", path.read_text(), flags=re.DOTALL)) == []


@pytest.mark.parametrize("command", ["", *commands()])
def test_no_help_has_a_retired_word(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The help of advisor and of each command keeps to docs/words.md."""
    status([*command.split(), "--help-all" if command and told(command).first else "--help"])
    assert found(capsys.readouterr().out) == []


def messages(source: str) -> Iterator[str]:
    """Yield the texts of a module that are no docstrings, no types and no single words."""
    tree = ast.parse(source)
    remarks = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in remarks else None
        if isinstance(text, str) and " " in text.strip() and not re.fullmatch(r"[\w\[\], |.]+ \| None", text):
            yield text


@pytest.mark.parametrize("room", sorted(path.name for path in (ROOT / "advisor").iterdir() if (path / "__init__.py").exists()))
def test_no_message_has_a_retired_word(room: str) -> None:
    """Errors, captions and descriptions in the code keep to docs/words.md."""
    paths = sorted((ROOT / "advisor" / room).rglob("*.py"))
    hits = [f"{path.name}: {hit}" for path in paths for text in messages(path.read_text()) for hit in found(text)]
    assert hits == []


def test_every_setting_has_a_term() -> None:
    """A setting has the word that people search for, which no other setting has, and a title that does not repeat it."""
    sheet = settings()
    terms = [setting.term for setting in sheet.values()]
    assert sorted(term for term in terms if terms.count(term) > 1) == []
    assert [name for name, setting in sheet.items() if setting.title.lower() == setting.term.lower()] == []
