"""The formats of ``advisor export``: in order, with a test and a page each."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.errors import BadInput, BadValue
from advisor.exports.export import ExportFormat, ExportOptions, ExportSubject, built_in, listing, of_template
from tests import exports

ROOT = Path(__file__).parents[2]


def test_formats_stand_in_their_order() -> None:
    """The orders differ, so that two are never listed now this way and now that."""
    orders = [each.order for each in built_in().values()]
    assert orders == sorted(set(orders))


@pytest.mark.parametrize("name", built_in())
def test_every_format_has_a_golden_text_a_test_and_its_page(name: str) -> None:
    """A test module of its name, or beside what it is an addition to, and a heading in docs/exports.md."""
    page = (ROOT / "docs" / "exports.md").read_text()
    tests = [path.stem.removeprefix("test_") for path in (ROOT / "tests/render/exports").glob("test_*.py")]
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert ([each for each in tests if name.replace("-", "_").startswith(each)] != [], name in headings) == (True, True)


@pytest.mark.parametrize("name", built_in())
def test_the_page_says_what_it_was_proven_with_in_the_same_words(name: str) -> None:
    """--list and docs/exports.md name the same tool and version."""
    row = next(line for line in (ROOT / "docs" / "exports.md").read_text().splitlines() if line.startswith(f"| `{name}` "))
    assert built_in()[name].proven in row


def subjects() -> Iterator[tuple[str, ExportSubject]]:
    """Yield a machine and a fleet for each format that takes it."""
    for name, each in built_in().items():
        yield from [(name, exports.machine())] if "machine" in each.takes else []
        yield from [(name, exports.fleet())] if {"fleet", "kinds"} & set(each.takes) else []


@pytest.mark.parametrize(("name", "subject"), [*subjects()])
def test_an_export_is_lines_that_end(name: str, subject: ExportSubject) -> None:
    """Every file ends with a newline, has no blank at the end of a line, and no name of a path."""
    for file, text in built_in()[name].files(subject, exports.OPTIONS).items():
        ends = [line for line in text.splitlines() if line != line.rstrip()]
        assert (ends, text[-1:], Path(file).name) == ([], "\n", file)


@pytest.mark.parametrize(("name", "subject"), [*subjects()])
def test_an_export_is_the_same_twice(name: str, subject: ExportSubject) -> None:
    """Nothing in it hangs on the order of a set or on the clock."""
    first, second = (dict(built_in()[name].files(subject, exports.OPTIONS)) for _ in range(2))
    assert first == second


def test_the_list_says_of_each_what_it_is_of_and_proven_with() -> None:
    """Two lines a format, and one more for each word of --include."""
    made = ExportFormat("a", "an A", 1, "tool 1.0", lambda _subject, _options: {}, ("machine", "kinds"), {"more": "B"})
    assert listing([made]) == "a  an A\n   for a machine or a fleet; tested with: tool 1.0\n   --include more: B\n"


def test_a_site_s_template_is_a_format() -> None:
    """Its first line says what it is, and it sees the machine, the audit and the rest."""
    made = of_template(
        "site", "{#- findings, a line each -#}\n{% for each in audit.found %}{{ each.id }}\n{% endfor %}", "site.j2"
    )
    (name, text), *_ = made.files(exports.machine(), ExportOptions("1", 0.0)).items()
    assert (name, made.title, text.splitlines()[0]) == ("site", "findings, a line each", "fabric-link-narrow")


def test_a_template_that_is_wrong_is_refused_with_its_line() -> None:
    """What it asks for is none of what it may use."""
    made = of_template("site", "{#- findings -#}\n{{ audits }}", "site.j2")
    with pytest.raises(BadInput, match=r"^site.j2: line 2: 'audits' is undefined"):
        made.files(exports.machine(), ExportOptions("1", 0.0))


def test_a_fleet_is_no_machine() -> None:
    """A format of one machine refuses it in words."""
    with pytest.raises(BadValue, match="describes one machine"):
        exports.fleet().audited()
