"""Drawings inside a page: an SVG's colours follow the page's, its ids are its own, and nothing in it asks for anything."""

import re
from collections.abc import Mapping
from html import escape
from typing import Final

from advisor.machine.units import plain

PALETTE: Final[Mapping[str, str]] = {
    # ink, lines, paper
    "#1f2933": "#e8ebef", "#52606d": "#aab4c0", "#d5dae0": "#3a4148", "#ffffff": "#171a1d", "white": "#171a1d",
    # the machine: boxes and their edges
    "#f4f6f9": "#20252b", "#9aa8b8": "#5d6b7a", "#e8f3ea": "#1d2c22", "#7fb08a": "#5c8f69", "#fdf3dc": "#332b17",
    "#d9b665": "#9c8040", "#f6faf7": "#1d2621", "#b3cbb8": "#5f7a66", "#b8c2cc": "#5d6873", "#ffd8a6": "#6b4410",
    "#c77f1a": "#e0a04a", "#e4e7eb": "#2b2f34", "#9aa5b1": "#6c7783", "#efe7f6": "#2c2336", "#a98bc4": "#8e72a8",
    "#e1eefb": "#1b2a3a", "#6c9bd1": "#6c9bd1", "#fde2df": "#44201c", "#d64535": "#ef7a6d", "#eef1f5": "#22272d",
    "#6b7a8c": "#6b7a8c", "#d5e3f7": "#23364f", "#5b7fb2": "#6e93c8", "#fbe3c0": "#4a3410", "#b06a00": "#e2a54a",
    "#fafbfc": "#1b1f23", "#3e5c7e": "#9dbbe0", "#9a3f0a": "#ffab73", "#a0210f": "#ff9c8f", "#8d2b0b": "#ffab8a",
    # the curves of charts
    "#0072b2": "#56b4e9", "#d55e00": "#ff8f3f", "#009e73": "#3cc79d", "#cc79a7": "#e2a0c4", "#56b4e9": "#8fd0f5",
    "#e69f00": "#f0b93a",
}  # fmt: skip
"""Each colour of a drawing, and what stands for it in the dark. Heat maps and the numbers of findings keep theirs."""

_UNITS: Final = 13
"""Units of a drawing that are as wide as a letter of the page is high: its letters are then three quarters of that."""

_STYLE: Final = re.compile(r' style="([^"]*)"')
_ID: Final = re.compile(r' id="([^"]+)"')
_USED: Final = re.compile(r'(?:url\(#|href="#)([^")]+)')
_BLANKS: Final = re.compile(r"\s*\n\s*")


def dark_rules() -> str:
    """Return the rules of a style sheet that give drawings their colours in the dark."""
    return "\n".join(
        f'svg [{what}="{light}" i]{{{what}:{dark}}}' for light, dark in PALETTE.items() for what in ("fill", "stroke")
    )


def embedded(svg: str, name: str, title: str, about: str) -> str:
    """Return an SVG for a page: as wide as its place, named for those who hear it, with ids that no other drawing has."""
    body = svg[svg.index("<svg") :]
    head, body = body[: body.index(">") + 1], body[body.index(">") + 1 : body.rindex("</svg>")]
    box = re.search(r'viewBox="([^"]+)"', head)
    body = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"^\s*<title>.*?</title>", "", body, count=1, flags=re.DOTALL)
    body = re.sub(r"<defs>\s*</defs>", "", _STYLE.sub(_attributes, body)).replace("xlink:href", "href")
    body = _BLANKS.sub(" ", _own_ids(body, name))
    label = f'<title id="{name}-t">{_words(title)}</title><desc id="{name}-d">{_words(about)}</desc>'
    place = box[1] if box else "0 0 1 1"
    wide = float(place.split()[2]) / _UNITS
    return f'<svg role="img" aria-labelledby="{name}-t {name}-d" viewBox="{place}" width="{wide:.1f}rem">{label}{body}</svg>'


def _words(text: str) -> str:
    return escape(plain(text, 500))


def _attributes(match: re.Match[str]) -> str:
    """Return the same as attributes, which a style sheet overrules; letters are the page's."""
    pairs = (part.partition(":") for part in match[1].split(";") if ":" in part)
    kept = ((key.strip(), value.strip()) for key, _, value in pairs if key.strip() != "font-family")
    return "".join(f' {key}="{value.replace(chr(34), "")}"' for key, value in kept)


def _own_ids(body: str, name: str) -> str:
    used = set(_USED.findall(body))
    body = _ID.sub(lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", body)
    return _USED.sub(lambda found: found[0].replace(f"#{found[1]}", f"#{name}-{found[1]}"), body)
