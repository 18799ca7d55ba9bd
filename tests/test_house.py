"""The house's own laws, measured on its code."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from advisor.cli.main import GROUPS, commands, commands_in
from advisor.machine.sources.registry import sources

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "advisor").rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_one_idea_and_functions_fit_a_screen(path: Path) -> None:
    """No file has more than 1,000 lines (look twice above 800), no function more than 60 beside its docstring."""
    text = path.read_text()
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lines = [(node.end_lineno or 0) - node.lineno - (ast.get_docstring(node) or "").count("\n") for node in functions]
    long = [node.name for node, many in zip(functions, lines, strict=True) if many >= 60]
    assert (text.count("\n") <= 1000, long) == (True, [])


def test_only_one_file_starts_processes() -> None:
    """Commands are run in advisor/machine/hosts/live.py and nowhere else."""
    users = [str(path.relative_to(ROOT)) for path in MODULES if "import subprocess" in path.read_text()]
    assert users == ["advisor/machine/hosts/live.py"]


def test_only_one_file_asks_other_nodes() -> None:
    """ClusterShell's tasks and workers, by which commands run on other nodes, are in advisor/machine/hosts/nodes.py alone."""
    users = [str(path.relative_to(ROOT)) for path in MODULES if re.search(r"ClusterShell\.(Task|Worker)", path.read_text())]
    assert users == ["advisor/machine/hosts/nodes.py"]


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not by imports inside functions either; those for types alone (TYPE_CHECKING) count not."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES}
    graph = {name: set(_used(path)) & set(names) - {name} for name, path in names.items() if name != "advisor"}
    assert list(TopologicalSorter(graph).static_order()) != []


def _used(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in (each for each in ast.walk(tree) if id(each) not in typing):
        yield from _imported(node)
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)


def test_no_room_for_odds_and_ends() -> None:
    """No module is called utils, common, helpers, manager or misc."""
    assert [path.name for path in MODULES if path.stem.startswith(("utils", "common", "helpers", "manager", "misc"))] == []


def test_sources_come_from_the_folder() -> None:
    """The ten kinds of sources are there, each with patterns or commands, and a rank."""
    names = {source.name for source in sources()}
    wanted = {"hwloc", "sysfs", "acpi", "dmi", "pci", "infiniband", "gpu", "power", "kernel", "software", "scheduler"}
    assert wanted <= names
    assert [source.name for source in sources() if not source.paths and not source.commands] == []


@pytest.mark.parametrize("name", [source.name for source in sources()])
def test_every_source_has_its_test(name: str) -> None:
    """A source has a test module of its name."""
    assert (ROOT / "tests" / "collect" / f"test_{name}.py").is_file()


COMMANDS = sorted((ROOT / "advisor/cli/commands").glob("[!_]*.py"))


def lacks(path: Path) -> Iterator[str]:
    """Yield what the file of a command lacks that the help needs."""
    defined = {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    for name, function, about in commands_in(path):
        if not about.summary:
            yield "no docstring, whose first line is the help of the command"
        if about.group not in GROUPS:
            yield f"Group: {about.group} is none of {', '.join(GROUPS)} (GROUPS in advisor/cli/main.py)"
        if not any(f"advisor {name}" in example for example in about.examples):
            yield f"no line 'Example: advisor {name} ...'"
        if function not in defined:
            yield f"no function {function}"
            continue
        taken = defined[function].args
        options = (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)
        yield from (f"{each.arg}, an option of {function}, has no type" for each in options if each.annotation is None)
    public = {name for name in defined if not name.startswith("_")} - {function for _, function, _ in commands_in(path)}
    yield from (f"{name} is public and no command: it has no docstring, or does not return int" for name in public - {"main"})


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_has_what_its_help_needs(path: Path) -> None:
    """A docstring with a group of the help and an example of itself, and a function run whose options have types."""
    assert list(lacks(path)) == []


def test_every_heading_of_the_help_has_a_command() -> None:
    """A heading that no command uses any more is named."""
    assert [group for group in GROUPS if group not in {about.group for about in commands().values()}] == []


REACHING = (
    "advice/publish.py",
    "bios/connection.py", "bios/door.py", "bios/experiment.py", "bios/experiment_server.py", "bios/many.py", "bios/plan.py",
    "bios/prove.py", "bios/reading.py", "bios/rollout.py", "bios/rollout_steps.py", "bios/session.py",
    "bios/twin_port.py", "cli/",
    "exports/export.py", "exports/rack.py", "exports/single.py",
    "fleet/audit.py", "fleet/capture.py", "fleet/measure.py", "fleet/read.py",
    "jobs/ask.py", "jobs/observe.py", "jobs/racing/energy.py", "jobs/racing/race.py", "jobs/scripts/grammar.py",
    "jobs/started/", "jobs/verify.py",
    "machine/hosts/", "machine/pseudonyms.py", "machine/read.py", "measure/build.py", "measure/charts.py",
    "measure/run.py", "measure/task.py", "sheets.py", "start.py",
)  # fmt: skip
"""Tasks and doors, and charts, which are files: all other modules turn values into values."""
OUTSIDE = {
    "http",
    "io",
    "logging",
    "os",
    "random",
    "shutil",
    "socket",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "urllib",
}
"""Modules of clocks, files, processes and the network."""


def test_only_tasks_and_doors_reach_for_the_outside() -> None:
    """No other module imports what reads a clock, the environment, a file or the network, and each of those does."""
    used = {
        str(path.relative_to(ROOT / "advisor"))
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported(node)
        if name.partition(".")[0] in OUTSIDE
    }
    assert sorted(name for name in used if not name.startswith(REACHING)) == []
    assert [name for name in REACHING if not any(each.startswith(name) for each in used)] == []


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


_OTHERS = {"Fingerprints did not match", "unexpected token"}
"""Words of others that are looked for: urllib3's, bash's."""


def _literals(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield the texts of a node: its own, or those of a tuple, list or set."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        for each in node.elts:
            yield from _literals(each)


def _compared(node: ast.AST) -> Iterator[ast.Constant]:
    """Yield the texts that other texts are compared with."""
    if isinstance(node, ast.Compare):
        for each in (node.left, *node.comparators):
            yield from _literals(each)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr.startswith(("starts", "ends", "remove"))
    ):
        for each in node.args:
            yield from _literals(each)


def test_a_message_that_code_looks_for_is_one_that_something_says() -> None:
    """Several words that a text is compared with stand in another text, rule or template: an editor changes one of them alone."""
    wanted, said = set[str](), list[str]()
    for path in sorted((ROOT / "advisor").rglob("*.py")):
        tree = list(ast.walk(ast.parse(path.read_text())))
        looked_for = {id(each): str(each.value) for node in tree for each in _compared(node)}
        remarks = {id(node.value) for node in tree if isinstance(node, ast.Expr)}
        wanted |= {text.strip() for text in looked_for.values() if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", text)}
        said += [str(each.value) for node in tree for each in _literals(node) if id(each) not in remarks | looked_for.keys()]
    said += [path.read_text() for folder in ("rules", "templates") for path in (ROOT / folder).rglob("*.*") if path.is_file()]
    everything = "\0".join(said)
    assert (len(wanted) > 50, sorted(text for text in wanted - _OTHERS if text not in everything)) == (True, [])
