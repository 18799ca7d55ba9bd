"""Races beside the other ways of choosing a launch line, on landscapes whose right answer is known.

``python -m benchmarks.race [RACES] [--jobs N] [--only WORD]`` prints a table in Markdown for each question: how often a line is
called faster that is not, how often the chosen one is within 2 % of the best, how many runs that took. The programs, machines
and noises are those of tests/tune/simulation.py; the published machines must be there (ADVISOR_CORPUS). Nothing is measured.
``--gains`` needs no machines: eight lines, of which one is faster by 0, 1, 2, 5 or 20 %.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from math import ceil, exp, hypot, log, log2, sqrt
from multiprocessing import Pool
from pathlib import Path
from random import Random
from statistics import mean, median, stdev
from typing import IO, cast

sys.path.insert(0, str(Path(__file__).parents[1]))

from advisor.jobs.racing.proof import student_above, trimmed_mean
from tests.tune.simulation import BLOCKS, NOISES, Bench, cells, chosen, landscape, published, raced

WORTH = log(1.02)
GAINS = {f"{part} %": log(1 + part / 100) for part in (0, 1, 2, 5, 20)}
WIDTHS = (0.01, 0.025, 0.05)
Choice = tuple[int, bool]
"""The line that is chosen, and whether it is called faster than the first."""


def blocks_of(bench: Bench, count: int) -> list[list[float]]:
    """Return so many blocks of all lines, each in an order of its own."""
    lines = list(range(len(bench.truth)))
    found = []
    for _ in range(count):
        bench.dice.shuffle(lines)
        seen = {each: bench.run(each) for each in lines}
        found.append([seen[each] for each in range(len(lines))])
    return found


def signed_rank(differences: Sequence[float]) -> float:
    """Return the one-sided chance of differences so far below zero (exact signed-rank test of Wilcoxon)."""
    count = len(differences)
    ranks = {value: at + 1 for at, value in enumerate(sorted(map(abs, differences)))}
    total = sum(ranks[abs(each)] for each in differences if each > 0)
    ways = [1.0] + [0.0] * (count * (count + 1) // 2)
    for rank in range(1, count + 1):
        for at in range(len(ways) - 1, rank - 1, -1):
            ways[at] += ways[at - rank]
    return float(sum(ways[: total + 1]) / 2**count)


def exhaustive(bench: Bench) -> Choice:
    """Return the choice after 30 blocks, by signed-rank tests against the first line with Holm's correction."""
    found = blocks_of(bench, BLOCKS)
    columns = list(zip(*found, strict=True))
    best = min(range(len(columns)), key=lambda each: trimmed_mean([row[each] - median(row) for row in found]))
    chances = sorted((signed_rank([row[each] - row[0] for row in found]), each) for each in range(1, len(columns)))
    for step, (chance, each) in enumerate(chances):
        if chance * (len(chances) - step) > 0.05:
            break
        if each == best:
            return best, True
    return best, False


def in_a_row(bench: Bench, count: int) -> list[list[float]]:
    """Return the seconds of each line, one line after the other."""
    return [[exp(bench.run(each)) for _ in range(count)] for each in range(len(bench.truth))]


def best_of_ten(bench: Bench) -> Choice:
    """Return the line with the shortest of ten runs."""
    times = in_a_row(bench, 10)
    best = min(range(len(times)), key=lambda each: min(times[each]))
    return best, best != 0


def hyperfine(bench: Bench) -> Choice:
    """Return the line of the least mean of ten runs in a row; it is called faster where the ratio is above its own error."""
    times = in_a_row(bench, 10)
    means, spreads = [mean(each) for each in times], [stdev(each) for each in times]
    best = min(range(len(times)), key=lambda each: means[each])
    ratio = means[0] / means[best]
    return best, best != 0 and ratio - ratio * hypot(spreads[0] / means[0], spreads[best] / means[best]) > 1


def halving(bench: Bench) -> Choice:
    """Return what is left when the slower half is dropped again and again (Karnin and others 2013), at 40 % of the runs."""
    left = list(range(len(bench.truth)))
    rounds = ceil(log2(len(left)))
    budget = 0.4 * BLOCKS * len(left) / rounds
    while len(left) > 1:
        rows = []
        for _ in range(max(1, int(budget // len(left)))):
            bench.dice.shuffle(left)
            rows.append({each: bench.run(each) for each in left})
        left.sort(key=lambda each: median(row[each] for row in rows))
        left = left[: (len(left) + 1) // 2]
    return left[0], left[0] != 0


_CHI = (3.841, 5.991, 7.815, 9.488, 11.070, 12.592, 14.067, 15.507, 16.919, 18.307, 19.675)
"""Of chi square with 1, 2, ... degrees of freedom: exceeded one time in twenty."""


def f_race(bench: Bench) -> Choice:
    """Return what is left by Friedman's test and Conover's after each block from the fifth on, as irace does it."""
    left, dropped = list(range(len(bench.truth))), False
    rows: list[dict[int, float]] = []
    while len(rows) < BLOCKS and len(left) > 1:
        order = left[:]
        bench.dice.shuffle(order)
        rows.append({each: bench.run(each) for each in order})
        if len(rows) < 5:
            continue
        keep = _kept([[row[each] for each in left] for row in rows])
        left = [each for at, each in enumerate(left) if at in keep]
        dropped = dropped or 0 not in left
    best = min(left, key=lambda each: trimmed_mean([row[each] - median(row.values()) for row in rows]))
    return best, best != 0 and dropped


def _kept(rows: Sequence[Sequence[float]]) -> set[int]:
    blocks, many = len(rows), len(rows[0])
    if many == 2:
        differences = [row[0] - row[1] for row in rows]
        chance = 2 * min(signed_rank(differences), signed_rank([-each for each in differences]))
        return {0, 1} if chance > 0.05 else {0 if median(differences) < 0 else 1}
    ranks = [0.0] * many
    for row in rows:
        for rank, at in enumerate(sorted(range(many), key=lambda each: row[each]), 1):
            ranks[at] += rank
    squares, level = blocks * many * (many + 1) * (2 * many + 1) / 6, blocks * many * (many + 1) ** 2 / 4
    chi = (many - 1) * sum((rank - blocks * (many + 1) / 2) ** 2 for rank in ranks) / (squares - level)
    if chi <= _CHI[many - 2]:
        return set(range(many))
    freedom = (blocks - 1) * (many - 1)
    far = _student(0.025, freedom) * sqrt(2 * blocks * (1 - chi / (blocks * (many - 1))) * (squares - level) / freedom)
    return {at for at, rank in enumerate(ranks) if rank - min(ranks) <= far}


def _student(chance: float, freedom: int) -> float:
    low, high = 0.0, 50.0
    for _ in range(40):
        at = (low + high) / 2
        low, high = (at, high) if student_above(at, freedom) > chance else (low, at)
    return high


def race(bench: Bench) -> Choice:
    """Return what advisor tune answers."""
    verdict = raced(bench, bench.dice.getrandbits(32))
    return chosen(verdict), verdict.winner is not None


@cache
def _irace() -> tuple[IO[str], IO[str]]:
    script, pipe = str(Path(__file__).with_name("irace.R")), subprocess.PIPE
    process = subprocess.Popen(["Rscript", "--vanilla", script], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    return cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)


def irace(bench: Bench) -> Choice:
    """Return the best of irace's elites, of a process apart (GPL); called faster where the first line is none of them."""
    words, answers = _irace()
    print(len(bench.truth), BLOCKS, bench.dice.getrandbits(30), file=words, flush=True)
    for said in answers:
        if said.startswith("RUN"):
            print(exp(bench.run(int(said.split()[1]))), file=words, flush=True)
        elif said.startswith("ELITES"):
            elites = [int(each) for each in said.split()[1:]]
            return elites[0], 0 not in elites
    raise SystemExit("irace ended; it needs R and its package irace: apt-get install r-cran-irace")


WAYS: dict[str, Callable[[Bench], Choice]] = {
    "advisor tune": race,
    "30 blocks, signed rank, Holm": exhaustive,
    "F-race (irace's rule)": f_race,
    "sequential halving, 40 %": halving,
    "hyperfine's rule": hyperfine,
    "best of 10": best_of_ten,
    "irace": irace,
}
_SLOW = ("irace",)
"""Only where asked: half a second for a race, and it needs R."""
Cell = tuple[str, str, float]
Row = tuple[str, float, float, float, float, float, int]
"""Way; share of good choices, of claims, of false claims; runs where a line is worth it, and where none is; races with one."""


def cell(given: Cell, races: int, ways: Iterable[str]) -> tuple[Cell, list[Row]]:
    """Return what each way did in one cell; all of them meet the same landscapes, each with noise of its own."""
    program, noise, sigma = given
    gain = GAINS.get(program)
    truths = [[gain] * 7 + [0.0]] if gain is not None else [landscape(machine, program) for machine in published()]
    rows: list[Row] = []
    for way in ways:
        dice = Random(f"{given} {way}")  # noqa: S311 - the same races every time
        seen: list[tuple[bool, bool, bool, float, bool]] = []
        for number in range(races):
            truth = truths[number % len(truths)]
            bench = Bench(truth, sigma, noise, dice)
            choice, claims = WAYS[way](bench)
            used = bench.runs / (BLOCKS * len(truth))
            wrong = claims and truth[choice] >= truth[0] - 1e-12
            seen.append((truth[choice] - min(truth) <= WORTH + 1e-9, claims, wrong, used, truth[0] - min(truth) > WORTH))
        worth, none = [each[3] for each in seen if each[4]], [each[3] for each in seen if not each[4]]
        shares = [mean(float(each[at]) for each in seen) for at in range(3)]
        rows.append((way, shares[0], shares[1], shares[2], mean(worth or [0.0]), mean(none or [0.0]), len(worth)))
    return given, rows


def lines(found: Sequence[tuple[Cell, list[Row]]], races: int) -> Iterator[str]:
    """Yield the tables."""
    yield f"{races} races a cell; {len(found)} cells; {len(published())} published machines.\n"
    yield "| way | worst cell: false winner | within 2 %, noise up to 2.5 %: mean, worst | runs with a winner | all equal |"
    yield "| --- | --: | --: | --: | --: |"
    for way in WAYS:
        own = [(given, row) for given, rows in found for row in rows if row[0] == way]
        quiet = [row for (program, _, sigma), row in own if sigma <= 0.025 and program != "equal"]
        winners = [row for _, row in own if row[6]]
        equal = [row for (program, _, _), row in own if program == "equal"]
        if not (quiet and equal):
            continue
        good = f"{mean(row[1] for row in quiet):.1%}, {min(row[1] for row in quiet):.1%}"
        spent, none = mean(row[4] for row in winners), mean(row[5] for row in equal)
        yield f"| {way} | {max(row[3] for _, row in own):.1%} | {good} | {spent:.0%} | {none:.0%} |"
    yield "\n| program | noise | of a run | way | within 2 % | called faster | falsely | runs with a winner | without |"
    yield "| --- | --- | --: | --- | --: | --: | --: | --: | --: |"
    for (program, noise, sigma), rows in found:
        for name, near, claims, wrong, worth, level, _ in rows:
            head = f"| {program} | {noise} | {sigma:.1%} | {name} "
            yield f"{head}| {near:.1%} | {claims:.1%} | {wrong:.1%} | {worth:.0%} | {level:.0%} |"


def gains(found: Sequence[tuple[Cell, list[Row]]]) -> Iterator[str]:
    """Yield a table with a row a gain: of all races, and of those under the worst noise."""
    yield "| one line gains | named | false winner: mean, worst noise | runs: mean, worst noise |"
    yield "| --: | --: | --: | --: |"
    for gain in GAINS:
        own = [(noise, row) for (program, noise, _), (row, *_) in found if program == gain]
        of_noise = [[row for noise, row in own if noise == each] for each in NOISES]
        false = [mean(row[3] for row in rows) for rows in of_noise]
        runs = [mean(row[4] or row[5] for row in rows) for rows in of_noise]
        named = mean(row[2] - row[3] for _, row in own)
        yield f"| {gain} | {named:.0%} | {mean(false):.1%}, {max(false):.1%} | {mean(runs):.0%}, {max(runs):.0%} |"


def kept(file: Path | None) -> dict[Cell, list[Row]]:
    """Return the cells that a file has from before."""
    found = [json.loads(line) for line in file.read_text().splitlines()] if file and file.exists() else []
    return {(program, noise, sigma): [cast("Row", tuple(row)) for row in rows] for (program, noise, sigma), rows in found}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("races", nargs="?", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="only cells with this word")
    parser.add_argument("--ways", nargs="*", choices=list(WAYS), help="only these ways; all but irace by default")
    parser.add_argument("--keep", type=Path, help="add each cell to this file, and take those that are in it")
    parser.add_argument("--gains", action="store_true", help="eight lines of which one is faster, by advisor tune alone")
    given = parser.parse_args(arguments)
    every = product(GAINS, NOISES, WIDTHS) if given.gains else cells()
    wanted = [each for each in every if given.only in " ".join(map(str, each))]
    there = kept(given.keep)
    usual = ["advisor tune"] if given.gains else [way for way in WAYS if way not in _SLOW]
    work = partial(cell, races=given.races, ways=given.ways or usual)
    with Pool(given.jobs) as pool:
        for found, rows in pool.imap(work, [each for each in wanted if each not in there]):
            there[found] = rows
            if given.keep:
                with given.keep.open("a") as file:
                    file.write(json.dumps([found, rows]) + "\n")
    done = [(each, there[each]) for each in wanted]
    print("\n".join(gains(done) if given.gains else lines(done, given.races)))


if __name__ == "__main__":
    main()
