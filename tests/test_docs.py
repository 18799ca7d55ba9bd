"""The written word against the code."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import advisor.cli
from advisor.advice.audit import AUDIT_SCHEMA, audit_document
from advisor.errors import BadSheet
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.sources.registry import sources
from advisor.machine.value import Value
from advisor.show.terminal import TOPOLOGY_SCHEMA, topology_document
from docs.declared import undeclared_facts
from tests.render.audits import audit

ROOT = Path(__file__).parents[1]
KEPT_PAGES = [page for page in [*sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("*.md")] if page.parent.name != "reference"]


def generator() -> ModuleType:
    """Return docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_can_be_written() -> None:
    """Every page that `make docs` writes into docs/reference has a heading, and every schema is one."""
    pages: dict[str, str] = generator().pages()
    heads = {name: "# " if name.endswith(".md") else '"properties"' for name in pages}
    assert [name for name, text in pages.items() if heads[name] not in text] == []


@pytest.mark.slow
def test_pictures_are_fresh() -> None:
    """The picture in the README is what the product draws now."""
    drawn: dict[str, str] = generator().pictures()
    stale = [name for name, text in drawn.items() if (ROOT / "docs" / "pictures" / name).read_text() != text]
    assert stale == [], "run make docs"


def test_every_key_of_the_json_is_described() -> None:
    """docs/json.md names every key of the documents, but for those inside the machine, which have their own page."""
    machine = generator().machine()
    layout = infer_layout(machine)
    page = (ROOT / "docs" / "json.md").read_text()
    keys = {
        key for made in (topology_document(machine, layout), audit_document(machine, layout, audit())) for key in keys_of(made)
    }
    assert [key for key in sorted(keys) if f"`{key}`" not in page and f"`{key}[]`" not in page] == []
    assert [schema for schema in (TOPOLOGY_SCHEMA, AUDIT_SCHEMA) if schema not in page] == []


def keys_of(value: object) -> Iterator[str]:
    """Yield every key of a document and of what is in it, but for the machine's own."""
    if isinstance(value, list):
        yield from (key for each in value for key in keys_of(each))
    elif isinstance(value, dict):
        yield from value
        yield from (key for name, each in value.items() if name != "machine" for key in keys_of(each))


def test_every_fact_is_wholly_declared() -> None:
    """Every field of a Machine has a section, a description and a unit if it is a number; elements of lists have keys."""
    assert list(undeclared_facts()) == []


def test_every_source_of_facts_is_wholly_declared() -> None:
    """Its name is its own, it says what it reports, and what it gives away are lines of its own files that no site wrote."""
    assert list(generator().wrong_sources(sources())) == []
    kernel = next(each for each in sources() if each.name == "kernel")
    at = "advisor/machine/sources/system.py: line "
    (line,) = generator().wrong_sources((kernel, kernel))
    assert re.sub(r"\d+", "N", line) == f"{at}N: kernel: {at}N has the same name; rename one of them"


def test_units_and_roles_stand_in_the_reference() -> None:
    """The page of facts and the JSON schema tell what a fact's annotation does."""
    rows = dict(re.findall(r"\| `([^`]+)` \| ([^\n]+) \|", generator().facts()))
    assert rows["cpu.base_hz"] == "int | hertz |  | the base clock"
    assert rows["hcas[].ports[].lid"].startswith("int | number | volatile | ")
    assert rows["name"] == "str |  | machine, identity | host name"
    schema = Machine.model_json_schema(mode="serialization")
    assert schema["$defs"]["Cpu"]["properties"]["base_hz"]["anyOf"][0] == {"type": "integer", "x-unit": "hertz"}
    assert (schema["properties"]["name"]["x-identity"], schema["properties"]["cpu"]["x-section"]) == (True, "processor")


def test_the_readme_is_short_and_shows_the_commands_that_are_the_product() -> None:
    """At most 70 lines: two commands to set up, three that do the work."""
    text = (ROOT / "README.md").read_text()
    shown = re.findall(r"^    (?:sudo )?(\w+ \w+)", text, re.MULTILINE)
    assert (shown, text.count("\n") <= 70) == (
        ["make audit", "make test", "advisor audit", "advisor checklist", "advisor check"],
        True,
    )


@pytest.mark.parametrize("page", KEPT_PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page points to a file that is in git."""
    links = re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_values_are_frozen() -> None:
    """Every value that flows between rooms is frozen and refuses unknown fields."""
    assert (Value.model_config["frozen"], Machine.model_config["extra"]) == (True, "forbid")


@pytest.mark.parametrize("page", ["SECURITY.md", "CONTRIBUTING.md"])
def test_pages_name_files_that_there_are(page: str) -> None:
    """Each file of the source or of the tests that the page points to is there, and each word to make is a target."""
    text = (ROOT / page).read_text()
    files = re.findall(r"`((?:advisor|tests|docs|benchmarks)/[\w/.]+)`", text)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [name for name in files if not (ROOT / name).exists()] == []
    assert [word for word in re.findall(r"`make ([\w-]+)", text) if word not in targets] == []


def test_every_room_says_how_it_keeps_to_what_is_trusted() -> None:
    """SECURITY.md has each room that reads or writes anything, in the first column of its table."""
    rows = re.findall(r"^\| (`[\w/]+`[^|]*) \|", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`([\w/]+)`", row)}
    rooms = {path.name for path in (ROOT / "advisor").iterdir() if (path / "__init__.py").exists()}
    assert sorted(rooms - told) == []


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            BadSheet("x is not a setting", file="a.yaml", cure="see settings.yaml"),
            "a.yaml: x is not a setting; see settings.yaml",
        ),
        (
            AttributeError("module 'advisor.cli' has no attribute 'run'", name="run", obj=advisor.cli),
            "advisor/cli/__init__.py: cannot be loaded: AttributeError: module 'advisor.cli' has no attribute 'run'; correct it",
        ),
    ],
)
def test_what_stops_the_pages_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, line: str
) -> None:
    """A wrong sheet is named as rules check names it, a module that lacks its function by its file; neither is a traceback."""

    def stopped() -> int:
        raise error

    monkeypatch.setattr(importlib.import_module("docs.generate"), "main", stopped)
    assert (importlib.import_module("docs.__main__").main(), capsys.readouterr().err) == (2, f"{line}\n")
