"""The written word against the code."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from advisor.cli.folder import commands
from advisor.model.machine import Machine
from advisor.model.value import Value

ROOT = Path(__file__).parents[1]


def generator() -> ModuleType:
    """Return docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_is_fresh() -> None:
    """The pages in docs/reference are what `make docs` writes now."""
    pages: dict[str, str] = generator().pages()
    stale = [name for name, text in pages.items() if (ROOT / "docs" / "reference" / name).read_text() != text]
    assert stale == [], "run make docs"


def test_every_fact_is_described() -> None:
    """Every field of a Machine says what it means, or its name does."""
    rows = re.findall(r"\| `([^`]+)` \| [^|]+ \| (.*) \|", generator().facts())
    missing = [name for name, text in rows if not text]
    assert len(missing) <= len(rows) // 4, missing


def test_readme_names_the_two_commands_and_every_other() -> None:
    """The README shows make audit, make test and every command."""
    text = (ROOT / "README.md").read_text()
    assert [word for word in ("make audit", "make test", *(f"advisor {name}" for name in commands())) if word not in text] == []


@pytest.mark.parametrize("page", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page points to a file."""
    links = re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_values_are_frozen() -> None:
    """Every value that flows between rooms is frozen and refuses unknown fields."""
    assert (Value.model_config["frozen"], Machine.model_config["extra"]) == (True, "forbid")
