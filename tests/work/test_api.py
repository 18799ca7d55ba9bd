"""The Python API: what docs/api.md promises."""

import ast
import contextlib
import inspect
import io
import json
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import advisor
from tests.cli.said import Capture, document
from tests.machines.catalogue import write_archive

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "api.md"
NODE = "b-c6525-2x7702-nps1"
PUBLIC = sorted(name for names in advisor._HOMES.values() for name in names)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the capture that the page speaks of."""
    place = tmp_path_factory.mktemp("api")
    write_archive(NODE, place / "node.tar.gz")
    return place


def test_the_example_of_the_page_prints_what_stands_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Each block of code is run after the one before; --accept writes what it prints into the page."""
    monkeypatch.chdir(folder)
    text, names = PAGE.read_text(encoding="utf-8"), {"__name__": "example"}

    def ran(match: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(match[1], str(PAGE), "exec"), names)  # noqa: S102 - the page's own code is what is tested
        return f"```python\n{match[1]}```\n\n```text\n{printed.getvalue()}```\n"

    found = re.sub(r"```python\n(.*?)```\n\n```text\n(.*?)```\n", ran, text, flags=re.DOTALL)
    if request.config.getoption("--accept"):
        PAGE.write_text(found, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == found


def test_every_public_name_is_on_the_page() -> None:
    """Nobody has to guess what there is."""
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in PUBLIC if not re.search(rf"\b{name}\b", text)] == []


def test_public_names_are_told_to_type_checkers() -> None:
    """The imports under TYPE_CHECKING and the table of homes name the same."""
    tree = ast.parse(Path(advisor.__file__).read_text(encoding="utf-8"))
    checked = [node for each in tree.body if isinstance(each, ast.If) for node in each.body if isinstance(node, ast.ImportFrom)]
    typed = {(str(node.module), alias.name) for node in checked for alias in node.names}
    assert {(f"advisor.{home}", name) for home, names in advisor._HOMES.items() for name in names} == {
        each for each in typed if each[0].startswith("advisor.")
    }


def test_no_public_name_is_a_room() -> None:
    """A room that was imported first would take the place of a function of its name."""
    assert {info.name for info in pkgutil.iter_modules(advisor.__path__)} & set(PUBLIC) == set()


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_there_with_its_types(name: str) -> None:
    """Each is given, says what it does, and a function says what it takes and returns."""
    found = getattr(advisor, name)
    assert found.__doc__
    if inspect.isfunction(found):
        told = inspect.signature(found)
        assert [each.name for each in told.parameters.values() if each.annotation is inspect.Parameter.empty] == []
        assert told.return_annotation is not inspect.Signature.empty


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        advisor.nothing  # type: ignore[attr-defined] # noqa: B018 - asked for and not there


def test_the_package_imports_nothing_before_it_is_asked() -> None:
    """`import advisor` loads no room; the first name that is used loads its own."""
    code = "import sys, advisor; print(*[name for name in sys.modules if name.startswith('advisor.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_the_package_is_typed() -> None:
    """py.typed lies in the package, which the wheel takes whole."""
    assert (Path(advisor.__file__).parent / "py.typed").is_file()
    assert 'packages = ["advisor"]' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


OPENMPI = ("--launcher", "openmpi", "--launcher-version", "5.0.6")
LINE = ["mpirun", "-np", "32", "--map-by", "ppr:1:l3cache:PE=4", "--bind-to", "core", "./a"]
SAME: dict[str, tuple[Callable[[str], object], list[str]]] = {
    "topology": (advisor.topology, ["topology"]),
    "audit": (lambda node: advisor.audit(node, "hpl"), ["audit", "--scope", "hpl"]),
    "explain": (lambda node: advisor.explain("numa-nps-below-best", node), ["explain", "numa-nps-below-best"]),
    "whatif": (lambda node: advisor.whatif(node, "nps=4,smt=off"), ["whatif", "--nps", "4", "--smt", "off"]),
    "lint": (
        lambda node: advisor.lint_line(LINE, node, version="5.0.6"),
        ["check", "--launcher-version", "5.0.6", "--", *LINE],
    ),
    "bind": (
        lambda node: advisor.bind(
            ["./a"],
            advisor.JobOptions(ranks=8),
            advisor.HostOptions(sources=(node,)),
            advisor.LauncherOptions("openmpi", "5.0.6"),
        ),
        ["bind", "--ranks", "8", *OPENMPI, "--", "./a"],
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_a_value_dumps_to_the_document_of_its_command(name: str, folder: Path, capsys: Capture) -> None:
    """document(value) is what --json prints."""
    call, words = SAME[name]
    node = str(folder / "node.tar.gz")
    printed = document(capsys, words[0], "--from", node, "--json", *words[1:])
    assert json.loads(json.dumps(advisor.document(call(node)))) == printed


def test_a_checklist_dumps_to_its_documents(folder: Path, capsys: Capture) -> None:
    """Of a machine, and of hardware on order: the list and the plan."""
    node = str(folder / "node.tar.gz")
    of_node, ordered = advisor.checklist(node), advisor.checklist(advisor.Ordered(cpu="EPYC 7702"), vendor="dell")
    order = ("--cpu", "EPYC 7702", "--vendor", "dell")
    assert advisor.document(of_node) == document(capsys, "checklist", "--from", node, "--as", "json")
    assert ordered.document() == document(capsys, "checklist", *order, "--as", "json")
    assert ordered.plan_document() == document(capsys, "checklist", *order, "--as", "plan")


def test_what_is_no_value_of_a_task_has_no_document() -> None:
    """A text, for one."""
    with pytest.raises(TypeError, match="str is not a type that a task returns"):
        advisor.document("node")


def test_a_difference_dumps_to_its_document(folder: Path, capsys: Capture) -> None:
    """Of two machines, here the same one."""
    node = str(folder / "node.tar.gz")
    assert advisor.document(advisor.compare(node, node)) == document(capsys, "compare", node, node, "--json")


WORK = sorted(path for room in ("work", "bios", "fleet", "exports") for path in (ROOT / "advisor" / room).rglob("*.py"))


@pytest.mark.parametrize("path", WORK, ids=lambda path: os.path.relpath(path, ROOT))
def test_work_prints_nothing(path: Path) -> None:
    """Nothing below cli imports typer or a console, prints, or writes to a standard stream: an observer hears what happens."""
    tree, wrong = ast.parse(path.read_text(encoding="utf-8")), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
            wrong += [name for name in names if name.split(".")[0] in ("typer", "click", "rich") and name != "rich.cells"]
            wrong += [name for name in names if name.startswith("advisor.cli")]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            wrong += [node.attr] if node.attr in ("stdout", "stderr") else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            wrong.append("print")
    assert wrong == []


@pytest.mark.parametrize("path", sorted((ROOT / "advisor" / "cli" / "commands").rglob("*.py")), ids=lambda path: path.stem)
def test_a_command_is_thin(path: Path) -> None:
    """A command reads options, calls one task, shows its value: no function of its file has 60 lines beside its docstring."""
    functions = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)]
    lines = {node.name: (node.end_lineno or 0) - node.lineno - (ast.get_docstring(node) or "").count("\n") for node in functions}
    assert {name: many for name, many in lines.items() if many >= 60} == {}
