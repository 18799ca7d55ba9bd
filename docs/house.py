"""Counts the house and draws its rooms from the imports: `python -m docs.house [FOLDER]` prints the figures of a checkout.

The drawing docs/pictures/rooms.svg is written by `make docs`; layers come from the contract in pyproject.toml.
"""

import ast
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
WIDE, HIGH, GAP = 92, 34, 14
LEFT, ALL = 16, 440
"""A room's box, what is between two, where boxes begin, and the drawing's width, in pixels."""


def modules(root: Path) -> dict[str, ast.Module]:
    """Return every module of the product, parsed, by dotted name."""
    found = {}
    for path in sorted((root / "advisor").rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imports(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Return which modules of the product each module imports, wherever in it."""
    found: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("advisor"):
                targets = (f"{node.module}.{each.name}" for each in node.names)
                found[name] |= {target if target in trees else str(node.module) for target in targets}
    return found


def room_of(module: str) -> str:
    """Return the room that a module stands in: ``advisor.show.lines`` is in ``show``."""
    return module.split(".")[1] if "." in module else module


def edges(trees: dict[str, ast.Module]) -> dict[tuple[str, str], int]:
    """Return how many imports go from one room to another."""
    counted: dict[tuple[str, str], int] = defaultdict(int)
    for name, targets in imports(trees).items():
        for target in targets:
            if room_of(name) != room_of(target) and "advisor" not in {room_of(name), room_of(target)}:
                counted[room_of(name), room_of(target)] += 1
    return dict(counted)


def figures(root: Path) -> dict[str, int]:
    """Return what a reader of the house would want to know of its size."""
    trees = modules(root)
    files = sorted((root / "advisor").rglob("*.py"))
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in files}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, targets in imports(trees).items():
        for target in targets:
            importers[target].add(name)
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    spans = [(node.end_lineno or node.lineno) - node.lineno + 1 for node in functions]
    folders: dict[Path, int] = defaultdict(int)
    for path in files:
        folders[path.parent] += 1
    return {
        "files": len(files),
        "lines": sum(lengths.values()),
        "files under 60 lines, except __init__.py": sum(n < 60 and path.name != "__init__.py" for path, n in lengths.items()),
        "longest file": max(lengths.values()),
        "files in the fullest folder": max(folders.values()),
        "functions": len(functions),
        "functions over 25 lines": sum(n > 25 for n in spans),
        "longest function": max(spans),
        "edges between rooms": len(edges(trees)),
        "imports between rooms": sum(edges(trees).values()),
        "modules with one importer": sum(len(by) == 1 for by in importers.values()),
        "file names used more than once": sum(n > 1 for n in _basenames(files).values()),
        "lines of cli": sum(n for path, n in lengths.items() if path.is_relative_to(root / "advisor" / "cli")),
    }


def _basenames(files: list[Path]) -> dict[str, int]:
    counted: dict[str, int] = defaultdict(int)
    for path in files:
        if path.name != "__init__.py":
            counted[path.name] += 1
    return counted


def layers(root: Path = ROOT) -> list[str]:
    """Return the rooms, the uppermost first, as the import contract has them."""
    contract = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]
    return [room for room in contract["layers"] if room != "__main__"]


def drawing(root: Path = ROOT) -> str:
    """Return the rooms as SVG, one below the other, an arc for each pair of rooms of which one imports the other."""
    rooms = layers(root)
    high = len(rooms) * (HIGH + GAP) - GAP + 32
    places = {room: 16 + level * (HIGH + GAP) for level, room in enumerate(rooms)}
    parts = [*_arcs(edges(modules(root)), places), *_boxes(places)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {ALL} {high}" width="{ALL}" height="{high}"'
    style = "font-family='sans-serif' font-size='13'"
    return f"{head} {style}>\n<title>The rooms and who imports whom</title>\n" + "\n".join(parts) + "\n</svg>\n"


def _arcs(counted: dict[tuple[str, str], int], places: dict[str, int]) -> Iterator[str]:
    """Yield an arc from the lower half of the room that imports to the upper half of the one that it imports."""
    right = LEFT + WIDE
    for (upper, lower), count in sorted(counted.items()):
        if upper in places and lower in places:
            y1, y2 = places[upper] + HIGH * 2 // 3, places[lower] + HIGH // 3
            far = right + (y2 - y1) * 5 // 8
            width = 0.8 if count < 10 else 1.8 if count < 60 else 3.2  # coarse, so that one import more is no new drawing
            curve = f"M {right} {y1} C {far} {y1} {far} {y2} {right} {y2}"
            yield f'<path d="{curve}" fill="none" stroke="#7a8ba0" stroke-opacity="0.55" stroke-width="{width}"/>'


def _boxes(places: dict[str, int]) -> Iterator[str]:
    for room, y in places.items():
        yield f'<rect x="{LEFT}" y="{y}" width="{WIDE}" height="{HIGH}" rx="5" fill="#eef3f8" stroke="#33475b"/>'
        yield f'<text x="{LEFT + WIDE // 2}" y="{y + 22}" text-anchor="middle" fill="#1b2733">{escape(room)}</text>'


if __name__ == "__main__":
    for what, number in figures(Path(sys.argv[1]) if sys.argv[1:] else ROOT).items():
        sys.stdout.write(f"{number:7d}  {what}\n")
