import json
import subprocess
import sys
from pathlib import Path

import pytest

from advisor import __version__
from advisor.cli.folder import GROUPS, commands
from advisor.cli.main import status

Capture = pytest.CaptureFixture[str]


def test_version(capsys: Capture) -> None:
    """--version prints name and version."""
    assert (status(["--version"]), capsys.readouterr().out) == (0, f"advisor {__version__}\n")


def test_help_names_every_command_with_an_example(capsys: Capture) -> None:
    """The help lists the commands of the folder in their groups, each with its first example."""
    status(["--help"])
    text = capsys.readouterr().out
    assert [name for name, about in commands().items() if name not in text or about.examples[0] not in text] == []
    assert [group for group in GROUPS if f"\n{group}:\n" not in text] == []


@pytest.mark.parametrize("name", commands())
def test_each_command_has_help_with_its_examples(name: str, capsys: Capture) -> None:
    """A command's own help shows every example."""
    assert status([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert [example for example in commands()[name].examples if example not in text] == []


def test_help_imports_no_command() -> None:
    """`advisor --help` answers without importing a command, the sources or the drawing."""
    code = "import sys; from advisor.cli.main import status; status(['--help']); print(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert [name for name in loaded if name.startswith(("advisor.collect", "advisor.render", "advisor.cli.commands."))] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["topolgy"], "advisor: No such command 'topolgy'"),
        (["topology", "--jsn"], "advisor topology: No such option: --jsn"),
        (["topology", "--from"], "advisor: Option '--from' requires an argument"),
        (["capture"], "advisor: capture needs a file to write; say -o node.tar.gz"),
        (["topology", "--from", "/no/such/file"], "advisor: /no/such/file"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(arguments: list[str], message: str, capsys: Capture) -> None:
    """A wrong command, option or file ends with status 2 and one line that names it."""
    assert status(arguments) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), error.startswith(message)) == (1, True), error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not well-formed JSON"),
        ("{}", "a Machine without a topology"),
        ('{"schema_version": 99}', "its schema_version is 99, this advisor reads 1; update advisor"),
        ('{"cpu": 5}', "x.json: cpu: not a Machine"),
        ('{"nonsense": 1}', "x.json: nonsense: not a Machine"),
        ('{"topology": {"pus": "3-1"}}', "topology.pus"),
    ],
)
def test_bad_machine_json(text: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    """A JSON that is no Machine is refused in one line with the place in it."""
    file = tmp_path / "x.json"
    file.write_text(text)
    assert status(["topology", "--from", str(file)]) == 2
    error = capsys.readouterr().err
    assert (error.count("\n"), message in error) == (1, True), error


def test_completion_knows_the_commands() -> None:
    """The shell's completion offers the commands of the folder."""
    environment = {"_ADVISOR_COMPLETE": "complete_bash", "COMP_WORDS": "advisor ", "COMP_CWORD": "1", "PATH": "/usr/bin:/bin"}
    program = [sys.executable, "-c", "from advisor.cli.main import main; main()"]
    offered = subprocess.run(program, env=environment, capture_output=True, text=True, check=False).stdout.split()
    assert set(commands()) <= set(offered)


def test_a_closed_pipe_is_no_error() -> None:
    """`advisor topology --json | head -1` ends without a word."""
    line = f"{sys.executable} -m advisor topology --json | head -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{\n", "")


def test_json_names_its_schema(capsys: Capture) -> None:
    """The JSON of this machine carries a schema and the names that were promised."""
    assert status(["topology", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    promised = {"schema", "counts", "cut", "numbering", "smt", "hcas"}
    assert promised <= document.keys()
    assert set(document["counts"]) == {"packages", "numa_nodes", "l3", "cores", "pus"}
    assert {"name", "nodes_per_socket", "confidence", "why"} <= document["cut"].keys()
