"""Every `advisor ...` that a text tells somebody to type exists, with the options it is given."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer

from advisor.cli.main import app, commands

ROOT = Path(__file__).parents[1]
FOLDERS = ("rules", "templates", "docs", "advisor", "kernels")
KINDS = (".yaml", ".j2", ".md", ".py", ".c", ".h", ".sh")
FILES = tuple(
    sorted(
        # docs/reference is made from the rules and the commands that are read here.
        path
        for path in (ROOT / "README.md", *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*")))
        if path.suffix in KINDS and "reference" not in path.parts
    )
)

PROSE = frozenset(
    re.findall(
        r"\w+",
        "again cannot can do first from import in inside itself never on or outside staged still that then to when will with was",
    )
)
"""Words that follow the product's name in a sentence, beside verbs in the third person; none that is meant as a command."""
KERNELS = frozenset(["load", "store", "copy", "scale", "add", "triad", "update"])
"""What the tables of docs/benchmarks.md call their rows: the product's own kernel beside another program's."""

NAMED = re.compile(r"\badvisor (?P<words>[a-z][a-z-]*(?: [a-z][a-z-]*)?)(?P<rest>[^`'\"|;()\n]*)")


@cache
def options(command: str) -> frozenset[str]:
    """Return the options of a command."""
    group = typer.main.get_command(app)
    found = group.get_command(typer.Context(group), command)  # type: ignore[attr-defined]
    names = {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return frozenset({*names, "--help"})


def mistakes(text: str) -> Iterator[str]:
    """Yield what a text says of the command line that is not so."""
    for match in NAMED.finditer(text):
        words = match["words"].split()
        name = next((each for each in (" ".join(words), words[0]) if each in commands()), None)
        if name is None:
            if words[0] == "sockets":  # the command that docs/adding.md adds
                continue
            if len(words) == 1 and any(each.startswith(f"{words[0]} ") for each in commands()):  # `advisor bios` lists them
                continue
            if words[0] not in PROSE and not words[0].endswith("s") and words[0].removesuffix("-nt") not in KERNELS:
                yield f"there is no command {words[0]}: {match[0][:60]}"
            continue
        line = re.split(r" -- |&&| \$ | > |[,.] | or ", match[0])[0]
        given = re.findall(r"(?<=\s)--[a-z][a-z-]*", line)
        yield from (f"advisor {name} has no {option}: {match[0][:80]}" for option in given if option not in options(name))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_a_text_names_exists_with_its_options(path: Path) -> None:
    """A rule, sheet, template, page or message never sends anybody to a command that is not there."""
    assert list(mistakes(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("let the launcher bind; advisor plan writes such lines", "there is no command plan"),
        ("compare the DIMMs (advisor memory, dmidecode)", "there is no command memory"),
        ("advisor bind --rank 4", "advisor bind has no --rank"),
        ("advisor measure network --pers numa", "advisor measure network has no --pers"),
    ],
)
def test_a_command_that_does_not_exist_is_seen(text: str, says: str) -> None:
    """What stood in the rules once would be found."""
    assert [found for found in mistakes(text) if found.startswith(says)] != []
