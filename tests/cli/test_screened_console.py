"""A console that screens texts before it breaks them."""

from io import StringIO

import pytest
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from advisor.cli.output import ScreenedConsole

LONG = "some words before password=" + "abc4" * 30 + " behind"


def _cell(text: RenderableType) -> Table:
    table = Table("name", "value")
    table.add_row("a", text)
    return table


@pytest.mark.parametrize("drawn", [LONG, Text(LONG, "bold"), _cell(LONG), _cell(Text(LONG))])
def test_a_credential_longer_than_a_line_is_withheld_whole(drawn: RenderableType) -> None:
    """In a text, in a styled one, in the cell of a table: nothing of its second half is on the next line."""
    console = ScreenedConsole(file=StringIO(), width=40)
    with console.capture() as page:
        console.print(drawn)
    assert "withheld" in page.get()
    assert "abc4" not in page.get()
