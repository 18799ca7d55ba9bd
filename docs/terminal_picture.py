"""Draws what a command prints on a terminal as an SVG that loads nothing: `make docs` writes docs/pictures/audit.svg."""

from collections.abc import Iterable
from html import escape
from typing import Final

from rich.color import ColorType
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.terminal_theme import MONOKAI, TerminalTheme

COLUMNS: Final = 80
_WIDE, _HIGH, _EDGE = 8.4, 18, 14
_THEME: Final[TerminalTheme] = MONOKAI
_INK, _PAPER = "#d9d9d9", "#1d1f21"


def draw(page: RenderableType, command: str) -> str:
    """Return a page under its command as a picture of a dark terminal; screen readers get its text."""
    console = Console(width=COLUMNS, force_terminal=True, color_system="standard", legacy_windows=False, _environ={})
    lines = [[Segment(f"$ {command}")], *console.render_lines(page, pad=False)]
    width, height = COLUMNS * _WIDE + 2 * _EDGE, len(lines) * _HIGH + 2 * _EDGE
    style = f"font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; fill: {_INK}"
    rows = "\n".join(_row(line, at) for at, line in enumerate(lines))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:g} {height:g}" width="{width:g}">\n'
        f"<title>{escape(command)}</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="{_PAPER}"/>\n<g style="{style}">\n{rows}\n</g>\n</svg>\n'
    )


def _row(line: Iterable[Segment], at: int) -> str:
    """Return a line, each piece where its column is: no font need be as wide as another."""
    pieces, column = [], 0
    for segment in line:
        text = segment.text.rstrip("\n")
        if text.strip():
            before = len(text) - len(text.lstrip())
            x, wide = _EDGE + (column + before) * _WIDE, len(text.strip()) * _WIDE
            pieces.append(f'<tspan x="{x:.1f}" textLength="{wide:.1f}"{_look(segment)}>{escape(text.strip())}</tspan>')
        column += segment.cell_length
    return f'<text y="{_EDGE + (at + 0.75) * _HIGH:g}">{"".join(pieces)}</text>'


def _look(segment: Segment) -> str:
    """Return the colour and weight of a piece."""
    style = segment.style
    if style is None:
        return ""
    told = ' font-weight="bold"' if style.bold else ""
    if style.color is not None and style.color.type is not ColorType.DEFAULT:
        told += f' fill="{style.color.get_truecolor(_THEME).hex}"'
    return told + (' opacity="0.7"' if style.dim else "")
