"""``advisor export``: the list, files and folders, completion, and mistakes before a machine is read."""

import re
from pathlib import Path

import pytest

from advisor.cli.options import exports
from advisor.exports.export import built_in
from tests.cli.said import Capture, printed, refused
from tests.machines.catalogue import write_archive


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture."""
    place = tmp_path_factory.mktemp("export") / "node.tar.gz"
    write_archive("b-c6525-2x7702-nps1", place)
    return place


def test_the_list_names_every_format_with_what_it_was_proven_with(capsys: Capture) -> None:
    """Without a machine being read."""
    told = printed(capsys, "export", "--list")
    assert re.findall(r"^([a-z-]+) ", told, re.MULTILINE) == list(built_in())
    assert [each.proven for each in built_in().values() if f"tested with: {each.proven}\n" not in told] == []


def test_completion_offers_the_formats() -> None:
    """Each with its title."""
    assert [name for name, _ in exports("prom")] == ["prometheus", "prometheus-rules"]


def test_one_file_goes_to_the_terminal_or_to_a_file(node: Path, tmp_path: Path, capsys: Capture) -> None:
    """The same text; of a folder that is there the file has its own name."""
    text = printed(capsys, "export", "nhc", "--from", node)
    for place in (tmp_path / "a.conf", tmp_path):
        printed(capsys, "export", "nhc", "--from", node, "-o", place)
    assert [(tmp_path / name).read_text() == text for name in ("a.conf", "advisor.nhc.conf")] == [True, True]


def test_several_files_go_into_a_folder(tmp_path: Path, capsys: Capture) -> None:
    """Which is made where it is not there."""
    printed(capsys, "export", "prometheus-rules", "--include", "tests", "--prefix", "site", "-o", tmp_path / "rules")
    assert sorted(path.name for path in (tmp_path / "rules").iterdir()) == ["site-rules-test.yml", "site-rules.yml"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no format given; see advisor export --list"),
        (("junits",), "there is no export junits; did you mean junit?"),
        (("junit", "-o", "/nowhere/at/all.xml"), "/nowhere/at/all.xml: there is no folder /nowhere/at"),
        (
            ("nhc", "--prefix", "a b"),
            "--prefix 'a b' is not a valid prefix; use lower-case letters, digits and _: advisor, site_a",
        ),
        (("prometheus-rules", "--include", "tests"), "prometheus-rules is 2 files: advisor-rules.yml, advisor-rules-test.yml"),
    ],
)
def test_a_mistake_is_one_line(words: tuple[str, ...], said: str, capsys: Capture) -> None:
    """What is wrong, and what to write."""
    assert refused(capsys, "export", *words).startswith(f"advisor: {said}")
