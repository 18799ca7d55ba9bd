import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from advisor import __version__
from advisor.cli.main import GROUPS, commands, status, told

Capture = pytest.CaptureFixture[str]


def test_version(capsys: Capture) -> None:
    """--version prints name and version."""
    assert (status(["--version"]), capsys.readouterr().out) == (0, f"advisor {__version__}\n")


def test_help_names_every_command_with_an_example(capsys: Capture) -> None:
    """The help lists the commands of the folder in their groups, each with its first example."""
    status(["--help"])
    text = capsys.readouterr().out
    bare = [
        f"advisor {name} has no line 'Example: advisor {name} ...'" for name, about in commands().items() if not about.examples
    ]
    assert bare == []
    assert [name for name, about in commands().items() if name not in text or about.examples[0] not in text] == []
    assert [group for group in GROUPS if f"\n{group}:\n" not in text] == []


@pytest.mark.parametrize("name", commands())
def test_each_command_has_help_with_its_examples(name: str, capsys: Capture) -> None:
    """A command's own help shows every example."""
    assert status([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert [example for example in commands()[name].examples if example not in text] == []


@pytest.mark.parametrize("name", commands())
def test_help_shows_the_ten_options_that_matter(name: str, capsys: Capture) -> None:
    """A command with more options than ten shows ten, each of which it has, and all others under --help-all."""
    whole, first = told(name), told(name).first
    names = {each.split(" ")[0] for row in whole.options for each in row.names.replace("/", ", ").split(", ")}
    shown = [row for row in whole.options if first & {*row.names.replace(",", " ").split()}]
    assert (sorted(first - names), len(shown) <= 12, bool(first)) == ([], True, len(whole.options) > 11)
    if first:
        assert status([name, "--help-all"]) == 0
        text = capsys.readouterr().out
        assert [row.names for row in whole.options if row.names not in text] == []


@pytest.mark.parametrize("name", commands())
def test_each_example_can_be_typed(name: str) -> None:
    """Every command and every option of an example is one that there is."""
    for line in re.split(r"[|;&>]", "|".join(commands()[name].examples)):
        words = line.partition("advisor ")[2]
        own = max((each for each in commands() if f"{words} ".startswith(f"{each} ")), key=len, default=words)
        assert (line, status([own, "--help", *shlex.split(words.removeprefix(own))]) if words else 0) == (line, 0)


def test_help_imports_no_command() -> None:
    """`advisor --help` answers without importing a command, the sources or any drawing."""
    code = "import sys; from advisor.cli.main import status; status(['--help']); print(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    others = ("advice", "bios", "cli.commands", "exports", "fleet", "jobs", "machine.sources", "measure", "show")
    rooms = [name for name in loaded if name.startswith(tuple(f"advisor.{room}." for room in others))]
    assert rooms == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["topolgy"], "advisor: there is no command topolgy; did you mean topology?"),
        (["frobnicate"], "advisor: there is no command frobnicate; available: audit, bind, bios plan, "),
        (["bios", "stge"], "advisor: there is no command bios stge; did you mean bios stage?"),
        (["audit", "--width", "1"], "advisor audit: --width must be 40 to 1000; see advisor audit --help"),
        (["topology", "--jsn"], "advisor topology: no option --jsn; did you mean --json?"),
        (["topology", "--from"], "advisor: --from needs a value; see advisor --help"),
        (["capture"], "advisor: capture needs an output file; add -o node.tar.gz"),
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
        ("{}", "this Machine JSON contains no topology"),
        ('{"schema_version": 99}', "its schema_version is 99, but this advisor reads 1; update advisor"),
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


def completed(**asked: str) -> str:
    """Return what the completion of a shell answers."""
    program = [sys.executable, "-c", "from advisor.cli.main import main; main()"]
    return subprocess.run(program, env={"PATH": "/usr/bin:/bin", **asked}, capture_output=True, text=True, check=False).stdout


def test_completion_knows_the_commands() -> None:
    """The shell's completion offers the commands of the folder."""
    offered = completed(_ADVISOR_COMPLETE="complete_bash", COMP_WORDS="advisor ", COMP_CWORD="1").splitlines()
    assert set(commands()) <= set(offered)


def test_completion_knows_the_options() -> None:
    """The shell's completion offers the options of a command."""
    offered = completed(_ADVISOR_COMPLETE="complete_bash", COMP_WORDS="advisor topology --", COMP_CWORD="2").split()
    assert {"--from", "--json", "--svg", "--whole", "--width"} <= set(offered)


def test_a_command_may_have_two_words() -> None:
    """Help and completion of a command in two words are its own, not those of the one that its first word names."""
    offered = completed(_ADVISOR_COMPLETE="complete_bash", COMP_WORDS="advisor measure network --", COMP_CWORD="3").split()
    assert ({"--hosts", "--hca"} <= set(offered), "--build-only" in offered) == (True, False)


def test_completion_of_other_shells_is_a_line_each() -> None:
    """Either of zsh and fish gets a command and its description in one line, however long it is."""
    zsh = completed(_ADVISOR_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="advisor ")
    asked = {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": "advisor "}
    fish = completed(_ADVISOR_COMPLETE="complete_fish", **asked)
    assert [len(text.strip().splitlines()) for text in (zsh, fish)] == [len(commands())] * 2, zsh + fish


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_show_completion(shell: str) -> None:
    """--show-completion prints the script of a shell."""
    text = subprocess.run(
        [sys.executable, "-m", "advisor", "--show-completion", shell],
        env={"PATH": "/usr/bin:/bin", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"complete_{shell}" in text


def test_no_command_is_a_question_for_help(capsys: Capture) -> None:
    """`advisor` alone prints its help."""
    assert status([]) == 0
    assert capsys.readouterr().out.startswith("Usage: advisor COMMAND")


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


def shell(line: str) -> tuple[int, str]:
    """Return the status of a shell's line that starts advisor as $0, and what came on standard error."""
    ran = subprocess.run(["sh", "-c", line, sys.executable], capture_output=True, text=True, timeout=60, check=False)
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("arguments", ["--help", "rules list", "rules list --json", "--version"])
def test_closed_output(arguments: str) -> None:
    """What cannot be printed because standard output is closed is said in one line, with status 2."""
    assert shell(f'exec "$0" -m advisor {arguments} >&-') == (2, "advisor: output: Bad file descriptor\n")


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["<&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_not_needed_for_a_file(streams: str, tmp_path: Path) -> None:
    """A command that writes a file needs no stream, and none of its files takes a stream's number."""
    file = tmp_path / "commands.json"
    assert shell(f'exec "$0" -m advisor explain nmi --json -o {file} {streams}')[0] == 2
    assert shell(f'exec "$0" -m advisor topology --json -o {file} {streams}')[0] == 0
    assert json.loads(file.read_text())["schema"].startswith("advisor-")


@pytest.mark.slow
@pytest.mark.parametrize("kib", [100_000, 140_000, 180_000, 250_000, 400_000])
def test_little_memory(kib: int) -> None:
    """A limit of the address space ends in one line, or is enough; a thread that cannot be had is done without."""
    status, said = shell(f'ulimit -v {kib}; exec "$0" -m advisor topology')
    assert (status, said.count("\n")) in {(0, 0), (2, 1)}


@pytest.mark.parametrize("arguments", [["bios"], ["bios", "--help"]])
def test_the_first_word_of_several_commands_shows_them(arguments: list[str], capsys: Capture) -> None:
    """`advisor bios` lists what begins with it, each with its line, and is no mistake."""
    assert status(arguments) == 0
    shown = capsys.readouterr().out
    assert [
        word for word in ("bios read", "bios plan", "bios stage", "bios restart", "bios prove", "bios undo") if word not in shown
    ] == []
    assert "advisor audit" not in shown


def test_advisor_alone_fits_a_screen(capsys: Capture) -> None:
    """Six groups and a line for each first word of a command: at most 30 lines of 80 columns."""
    assert status([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines) <= 30, max(map(len, lines)) <= 80, [line[:-1] for line in lines if line.endswith(":")]) == (
        True,
        True,
        [*GROUPS],
    )
    assert {name.partition(" ")[0] for name in commands()} - {line.split()[0] for line in lines} == set()


def test_advisor_alone_offers_an_audit_at_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Only a yes begins it; without a terminal nobody is asked."""
    begun: list[list[str]] = []
    monkeypatch.setattr("advisor.cli.main.app", lambda words, **_: begun.append(words))
    for answer, terminal in (("", True), ("n", True), ("y", True), ("y", False)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{answer}\n"))
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal, raising=False)
        assert status([]) == 0
    assert (begun, capsys.readouterr().err.count("Audit this machine now?")) == ([["audit"]], 3)


@pytest.mark.parametrize("words", [["help", "audit"], ["audit", "-h"], ["audit", "--json", "-h"]])
def test_help_is_asked_for_as_elsewhere(words: list[str], capsys: Capture) -> None:
    """`advisor help COMMAND` and -h are --help; what follows -- is another program's."""
    assert (status(words), capsys.readouterr().out.partition("\n")[0]) == (0, "Usage: advisor audit [OPTIONS]")


def test_another_advisor_in_the_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Intel's oneAPI has an advisor, too: where PATH finds that first, the page says how to call this one."""
    for folder in ("oneapi", "ours"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "advisor").write_text("#!/bin/sh\n")
        (tmp_path / folder / "advisor").chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "ours/hpc-advisor")])
    said = []
    for first, second in (("oneapi", "ours"), ("ours", "oneapi")):
        monkeypatch.setenv("PATH", f"{tmp_path / first}:{tmp_path / second}")
        status([])
        said.append("run this program as hpc-advisor" in capsys.readouterr().out)
    assert said == [True, False]
