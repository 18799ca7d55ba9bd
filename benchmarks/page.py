"""Runs every side-by-side comparison and writes docs/benchmarks.md: ``make bench``, or ``python -m benchmarks.page [NAME...]``.

With names only those sections are measured anew; the others stay as they were, each with its own conditions and day.
membw:store,copy and memlat:lines measure rows of a section anew, which then says so. It takes half an hour, on a machine that
should have nothing else to do: each burst waits until it has not.
"""

import argparse
import re
import sys
from datetime import date
from importlib import import_module
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from quiet import conditions

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

This page compares our kernels with the best alternatives. Both sides alternate (A B A B) within one run, and each burst
starts only once the machine is nearly idle. Each figure is the median of its rounds. Each ratio is the median of the
per-round ratios or, in sections with many turns per round, the ratio of two medians. `make bench` repeats all measurements
and rewrites this page. Absolute figures apply only to one machine on one day, so compare the ratios. A ratio of 1 or more
means that our kernel is at least as fast; for latencies, 1 means that both sides measure the same latency.
"""
SECTIONS = {
    "membw": "Memory bandwidth",
    "memlat": "Memory latency",
    "peakflops": "Floating point",
    "network": "Messages",
    "hpl": "HPL",
    "speed": "Commands",
}
_SECTION = re.compile(r"^<!-- (\w+) -->\n(.*?)(?=^<!-- \w+ -->\n|^Not measured yet|\Z)", re.DOTALL | re.MULTILINE)


def anew(section: str, name: str, rows: list[str], rounds: int | None) -> str:
    """Return a section with some rows measured anew in the place of those with the same names, and its own words on when."""
    module = import_module(name)
    table = module.table(rows=rows) if rounds is None else module.table(rounds, rows)
    section = heading(name) + section[section.index("\n| ") + 1 :]

    def key(line: str) -> tuple[str, ...]:
        return tuple(line.split(" | ")[: module.NAMING]) if line.startswith("| ") else (line,)

    fresh = {key(line): line for line in table.splitlines()}
    about = f"- measured again: {', '.join(rows)}, on "
    kept = [fresh.get(key(line), line) for line in section.strip().splitlines() if not line.startswith(about)]
    return "\n".join([*kept, f"{about}{today()}; {conditions().splitlines()[-1].removeprefix('- ')}"])


def today() -> str:
    """Return the day where it is measured."""
    return date.today().isoformat()  # noqa: DTZ011 - a local day


def heading(name: str) -> str:
    """Return what begins a section: what was compared, and how; not how to run it alone."""
    parts = (import_module(name).__doc__ or "").strip().split("\n\n")
    about = [part.replace("\n", " ") for part in parts if not part.startswith("Run it")]
    return "\n\n".join([f"## {SECTIONS[name]}", *about]) + "\n\n"


def measured(name: str, rounds: int | None) -> str:
    """Return a section: what was compared, its table, its conditions."""
    module = import_module(name)
    body = module.table() if rounds is None else module.table(rounds)
    return f"{heading(name)}{body}\n\nMeasured {today()}:\n\n{conditions()}\n\n"


def main() -> None:
    """Measure the named sections, or all, and write the page."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("names", nargs="*", metavar="NAME[:ROWS]", help=f"of {', '.join(SECTIONS)}", default=[])
    words.add_argument("--rounds", type=int, help="turns of each side (default: what each comparison thinks enough)")
    asked = words.parse_args()
    wanted = {
        name: rows.split(",") if rows else [] for name, _, rows in (each.partition(":") for each in asked.names or SECTIONS)
    }
    if unknown := [name for name in wanted if name not in SECTIONS]:
        words.error(f"{unknown[0]}: there are {', '.join(SECTIONS)}")
    kept = dict(_SECTION.findall(PAGE.read_text(encoding="utf-8"))) if PAGE.exists() else {}
    for name, rows in wanted.items():
        print(f"measuring {SECTIONS[name].lower()}", file=sys.stderr, flush=True)
        kept[name] = anew(kept[name], name, rows, asked.rounds) if rows else measured(name, asked.rounds)
        parts = [f"<!-- {each} -->\n{kept[each].strip()}\n" for each in SECTIONS if each in kept]
        absent = [title.lower() for each, title in SECTIONS.items() if each not in kept]
        parts += [f"Not measured yet: {', '.join(absent)}.\n"] if absent else []
        PAGE.write_text("\n".join([HEAD, *parts]), encoding="utf-8")


if __name__ == "__main__":
    main()
