"""Says how quickly an audit shows what to fix: words before the first fix and lines of the screen, of many machines.

``python -m benchmarks.first_screen [--beside CHECKOUT] MACHINE...`` prints a table in Markdown; with another checkout each
machine is shown by both. A machine is a capture, an hwloc XML or the name of one of ``tests.machines``; without any the
machines of the articles. Words are what stands between blanks, on a screen of 80 columns, above the line that names the fix.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

FIX = re.compile(r"^   fix +\S|^ +-> ", re.MULTILINE)
"""How a fix begins: a row of a numbered finding; before 0.3 an arrow below it."""


class Seen(NamedTuple):
    """What somebody has to read: words before the first fix, None where nothing is to be fixed, and lines in all."""

    words: int | None
    lines: int


def seen(text: str) -> Seen:
    """Return how much of a screen stands before its first fix."""
    found = FIX.search(text.partition("What could not be seen")[0])
    return Seen(len(text[: found.start()].split()) if found else None, len(text.rstrip("\n").splitlines()))


def screen(checkout: Path, machine: Path) -> str:
    """Return the first screen of a machine as a checkout prints it."""
    argv = [sys.executable, "-m", "advisor", "audit", "--no-measure", "--no-color", "--width", "80", "--from", str(machine)]
    return subprocess.run(argv, cwd=checkout, capture_output=True, text=True, check=True).stdout


def machines(names: list[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each machine with its file: those that are no file are made."""
    from tests.machines.catalogue import MACHINES, write_archive

    for name in names or [name for name in MACHINES if re.match("[a-d]-", name)]:
        short = Path(name).name.partition(".")[0]
        yield short, Path(name).resolve() if Path(name).is_file() else write_archive(name, folder / f"{short}.tar.gz")


def table(rows: list[tuple[str, tuple[Seen, ...]]], *, beside: bool) -> Iterator[str]:
    """Yield the lines of the table, its medians last."""
    head = ("before: words", "lines", "after: words", "lines") if beside else ("words before the first fix", "lines")
    yield f"| machine | {' | '.join(head)} |"
    yield f"| --- |{' --: |' * len(head)}"
    for name, each in rows:
        yield f"| {name} | {' | '.join(f'{_words(one)} | {one.lines}' for one in each)} |"
    columns = [tuple(each[at] for _, each in rows) for at in range(len(rows[0][1]))]
    medians = [
        f"{_median([one.words for one in each if one.words is not None])} | {_median([o.lines for o in each])}"
        for each in columns
    ]
    yield f"| median | {' | '.join(medians)} |"


def _words(one: Seen) -> str:
    return "-" if one.words is None else str(one.words)


def _median(numbers: list[int]) -> str:
    from statistics import median

    return f"{median(numbers):g}" if numbers else "-"


def main() -> None:
    """Print the table."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("machines", nargs="*")
    words.add_argument("--beside", type=Path, metavar="CHECKOUT")
    asked = words.parse_args()
    places = [*([asked.beside.resolve()] if asked.beside else []), ROOT]
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            (name, tuple(seen(screen(place, file)) for place in places)) for name, file in machines(asked.machines, Path(folder))
        ]
    print("\n".join(table(rows, beside=len(places) > 1)))


if __name__ == "__main__":
    main()
