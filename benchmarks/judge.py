"""Time what an audit adds to reading a machine: loading the rules, and judging a small and a large machine.

Run it from the project's folder: ``python benchmarks/judge.py [REPEATS]``. The machines take turns, so that what else the
computer does meets both; each line is the median of the repeats with the quickest and the slowest.
"""

import gc
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

from advisor.advice.judge.case import case_of, with_standings
from advisor.advice.judge.engine import Origins, judge
from advisor.advice.judge.rule import setting_readers, settings_in_effect
from advisor.advice.judge.rulebook import Rulebook, load_rules, rule_files
from advisor.advice.judgement import words
from advisor.advice.know.vendors import settings
from advisor.machine.hosts.source import open_host
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.sources.registry import collect_machine
from advisor.measure.platform import match_platform
from advisor.paths import rules
from tests.machines.catalogue import write_archive

SMALL, LARGE = "offline", "big"
"""Machines of the tests' catalogue: 16 CPUs and 512."""


def machine(name: str) -> Machine:
    """Return a machine of the catalogue."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / f"{name}.tar.gz"
        write_archive(name, archive)
        return collect_machine(open_host(str(archive)))


def load() -> Rulebook:
    """Return the product's own rules, read anew as an audit reads them."""
    return load_rules(rule_files(rules()), (), words(), examples=False)


def judgement(what: Machine, book: Rulebook) -> Callable[[], int]:
    """Return a function that judges a machine whose layout and platform are known, and says how many verdicts there are."""
    layout, platform = infer_layout(what), match_platform(what)
    ways = setting_readers(settings())

    def run() -> int:
        case = case_of(what, layout, platform, None, "mpi")
        case = with_standings(case, settings_in_effect(case, settings(), ways, {}, {}))
        return len(judge(case, book.rules, settings(), Origins(what.sources, what.gaps, case, settings())))

    return run


def milliseconds(run: Callable[[], object]) -> float:
    """Return how long one call takes."""
    begun = perf_counter()
    run()
    return 1000 * (perf_counter() - begun)


def main(repeats: int) -> None:
    """Print the times."""
    words()
    book = load()
    runs: dict[str, Callable[[], object]] = {
        f"load {len(book.rules)} rules": load,
        f"judge {SMALL}": judgement(machine(SMALL), book),
        f"judge {LARGE}": judgement(machine(LARGE), book),
    }
    for run in runs.values():
        run()
    gc.disable()  # as the program does
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            times[name].append(milliseconds(run))
            gc.collect()
    for name, each in times.items():
        sys.stdout.write(f"{name:20} {statistics.median(each):8.1f} ms   ({min(each):.1f} .. {max(each):.1f})\n")
    small, large = (statistics.median(times[f"judge {name}"]) for name in (SMALL, LARGE))
    sys.stdout.write(f"{LARGE} / {SMALL:14} {large / small:8.1f}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 21)
