"""Draws what commands print on a terminal as SVGs that load nothing: `make docs` writes audit.svg and commands.svg."""

from collections.abc import Iterable, Sequence
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


_SCENE, _LINES = 9, 28
"""Seconds that a command and what it prints are shown, and lines of it."""


def film(scenes: Sequence[tuple[str, RenderableType]]) -> str:
    """Return pages one after the other, each typed and then printed, as an animation; it is still where motion is reduced."""
    console = Console(width=COLUMNS, force_terminal=True, color_system="standard", legacy_windows=False, _environ={})
    shown = [(command, console.render_lines(page, pad=False)[:_LINES]) for command, page in scenes]
    most = max(len(lines) for _, lines in shown) + 1
    width, height, whole = COLUMNS * _WIDE + 2 * _EDGE, most * _HIGH + 2 * _EDGE, _SCENE * len(shown)
    part = 100 / len(shown)
    rules = [
        f"text {{ font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; fill: {_INK} }}",
        f".s {{ visibility: hidden; animation: s {whole}s steps(1) infinite }}",
        f"@keyframes s {{ 0% {{ visibility: visible }} {part:.2f}% {{ visibility: hidden }} }}",
        f".p {{ opacity: 0; animation: p {whole}s steps(1) infinite }}",
        f"@keyframes p {{ 0% {{ opacity: 0 }} {part * 0.17:.2f}% {{ opacity: 1 }} }}",
        f".c {{ animation: c {whole}s steps(24) infinite }}",
        f"@keyframes c {{ 0% {{ width: 0 }} {part * 0.13:.2f}% {{ width: {width:g}px }} 100% {{ width: {width:g}px }} }}",
        *(f".s{at}, .s{at} .p, .c{at} {{ animation-delay: {at * _SCENE}s }}" for at in range(len(shown))),
        "@media (prefers-reduced-motion: reduce) { .s, .p, .c { animation: none; opacity: 1 } .s0 { visibility: visible } }",
    ]
    parts = []
    for at, (command, lines) in enumerate(shown):
        rows = "\n".join(_row(line, number) for number, line in enumerate(lines, 1))
        typed = f'<clipPath id="c{at}"><rect class="c c{at}" height="{_HIGH + _EDGE}" width="{width:g}"/></clipPath>'
        first = f'<g clip-path="url(#c{at})">{_row([Segment(f"$ {command}")], 0)}</g>'
        parts.append(f'{typed}<g class="s s{at}">{first}\n<g class="p">\n{rows}\n</g></g>')
    commands = "; ".join(command for command, _ in scenes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:g} {height:g}" width="{width:g}">\n'
        f"<title>{escape(commands)}</title>\n<style>\n" + "\n".join(rules) + "\n</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="{_PAPER}"/>\n' + "\n".join(parts) + "\n</svg>\n"
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
