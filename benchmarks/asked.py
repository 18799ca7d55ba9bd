"""Open MPI asked and simulated on 200 lines, each of which was also run: where both agree, and what settles the others.

python -m benchmarks.asked [LINES]: lines of tests/jobs/lint/openmpi_seen.txt, half of Open MPI 4.1.4 and half of 5.0.11, spread
evenly over the file. It holds what each line did when ranks said where they ran: that settles an answer here, as --observed does
for a user.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from advisor.jobs.ask import ask, installed, settled
from advisor.jobs.line import parse
from advisor.jobs.placement import LintRank
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from advisor.machine.machine import Machine
from advisor.machine.sources.hwloc import machine_from_xml
from tests.fakenode.run import PROGRAMS
from tests.jobs.lint.nodes import SYNTHETIC, VERSIONS, Seen, seen
from tests.jobs.lint.test_openmpi_real import written


def rows(lines: int) -> Iterator[Seen]:
    """Yield so many rows, half of each version."""
    for version in VERSIONS:
        mine = [row for row in seen() if row.version == version]
        count = min(lines // 2, len(mine))
        yield from (mine[at * len(mine) // count] for at in range(count))


def texts(ranks: tuple[LintRank, ...] | None, machine: Machine) -> list[str] | None:
    """Return ranks as a row has them; None where nothing starts."""
    everything = machine.topology.pus if machine.topology else None
    return None if ranks is None else [f"{rank.host or '-'}:{rank.cpus or everything}" for rank in ranks]


def judged(row: Seen, machine: Machine) -> tuple[str, str]:
    """Return how the answers to a row compare, and whether the one that counts is what was observed."""
    made: Prediction = predict(parse([row.words], VERSIONS[row.version]), machine, dict(row.files))
    done, placed, answers = settled(made, ask)
    right = {each.kind: texts(each.ranks, machine) == row.ranks for each in answers}
    told = "not told" if placed == "not-told" else "right" if texts(done.ranks, machine) == row.ranks else "WRONG"
    if len(answers) == 2 and placed == "not-told":
        truth = " and ".join(kind for kind, holds in right.items() if holds) or "neither"
        return f"differ; the observed row says: {truth}", told
    if len(answers) == 2:
        return "agree", told
    return f"{answers[0].kind} alone" if answers else "no answer", told


def main() -> int:
    """Print how many lines of each version are answered in which way, and what of it is right."""
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    tally: dict[str, Counter[tuple[str, str]]] = {version: Counter() for version in VERSIONS}
    path = os.environ["PATH"]
    with TemporaryDirectory() as name:
        machines = {each: machine_from_xml(written(each, Path(name)).read_bytes(), each) for each in [*SYNTHETIC, "asym"]}
        for row in rows(lines):
            program = PROGRAMS[f"openmpi{row.version}"]()
            os.environ["PATH"] = f"{Path(program or '/nowhere').parent}:{path}"
            installed.cache_clear()
            how = judged(row, machines[row.machine])
            tally[row.version][how] += 1
            if how[1] == "WRONG" or how[0].startswith("differ"):
                print(f"{VERSIONS[row.version]} on {row.machine}: {row.line}: {', '.join(how)}")
    print(f"\n{sum(each.total() for each in tally.values())} lines")
    print(f"| answers | then it is | {' | '.join(VERSIONS.values())} |\n| --- | --- | --- | --- |")
    for how in sorted({how for each in tally.values() for how in each}):
        print(f"| {how[0]} | {how[1]} | {' | '.join(str(tally[version][how]) for version in VERSIONS)} |")
    told = sum(number for each in tally.values() for (_, what), number in each.items() if what == "right")
    print(f"\ntold and right {told}, wrong {sum(each[how] for each in tally.values() for how in each if how[1] == 'WRONG')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
