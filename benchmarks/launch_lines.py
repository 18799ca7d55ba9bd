"""How often `advisor bind lint` is right about fresh launch lines: ``python -m benchmarks.launch_lines SEED -n 250``.

Lines are made at random from what job scripts say (tests/launch/lint/fresh), another seed makes others; each is asked of
the real launcher on a machine that is not here (tests/fakenode) and of lint. The table is that of docs/lint.md.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

from advisor.errors import AdvisorError
from advisor.launch.lint.lint import lint
from advisor.launch.lint.slurm.node import KEY
from advisor.model.hardware.machine import Machine
from advisor.model.hardware.topology import Topology
from tests.fakenode import slurm
from tests.fakenode.lab import probe, shim
from tests.fakenode.run import PROGRAMS, available
from tests.launch.lint.fresh import lines
from tests.launch.lint.fresh.maker import Written
from tests.launch.lint.oracle import VERSIONS, Row, asked, described, file_for, in_slurm, with_program

MACHINES = (
    "b-c6525-2x7402-nps4", "b-c6525-2x7702-nps1", "b-c6525-2x7702-nps2", "b-c6525-2x7702-nps4-smt", "b-c6525-2x7702-l3numa",
    "a-r7425-2x7601-dell-smt", "a-r7425-2x7601-nodeorder", "c-c6320-2x2660v3-cod", "c-c6320-2x2660v3",
    "d-delftblue-2x6248r-snc2", "d-delftblue-2x6448y", "epyc-nps1-smt-roundrobin", "epyc-nps4-smt-linear-adjacent", "uneven-l3",
    "memoryless", "offline", "knights-landing", "hbm-flat", "dies", "cxl", "two-hcas",
)  # fmt: skip
PUBLISHED = (
    "hwloc-x86-AMD-19h-Zen3-2xEpyc-7763", "hwloc-linux-128arm-2pa2n8cluster4co", "psmgmt-jwc00n001", "psmgmt-dp-intelmax01",
    "psmgmt-knl01", "psmgmt-jrc0732", "mpibind-arm64-ulna-hwloc1", "mpibind-coral-lassen", "xmlparser-nvidia-gh-200",
    "hwloc-linux-20em64t-hybrid-1p6c2t+2ca4co1t", "crirm-topology-aware-4-socket-server-nosnc",
    "xmlparser-single-intel-core-i7-4790", "mpibind-cts1-quartz-smt1", "mpibind-epyc-corona",
    "hwloc-x86-Intel-Skylake-2xXeon6140", "mpibind-g4dnmetal", "hwloc-linux-64amd64-4s2n4ca2co",
    "utillinux-rv64-milkvpioneer", "hwloc-xml-nvidiaDGX2",
)  # fmt: skip
"""Of the published corpus, where it is there."""

SETUPS = (
    "TaskPlugin=task/affinity\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n",
    "TaskPlugin=task/affinity\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core,CR_CORE_DEFAULT_DIST_BLOCK\n",
    "TaskPlugin=task/affinity\nTaskPluginParam=autobind=threads\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n",
    "TaskPlugin=task/affinity\nTaskPluginParam=autobind=cores\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n",
)


@dataclass(frozen=True)
class Answer:
    """A line, what lint says of it and what the launcher did."""

    row: Row
    said: str | None
    why: str

    @property
    def kind(self) -> str:
        """Whether it is right, wrong, not told, or worse."""
        if self.said is not None and self.said.startswith("CRASH"):
            return "crash"
        if self.row.seen == "HANG":
            return "not told" if self.said is None else "hang of the launcher"
        return "not told" if self.said is None else "right" if self.said == self.row.seen else "wrong"

    @property
    def written(self) -> str:
        """All of it as JSON."""
        parts = {"kind": self.kind, "line": self.row.line, "said": self.said, "why": self.why}
        return json.dumps({**parts, "row": str(self.row)})


def said_of(row: Row, machine: Machine) -> tuple[str | None, str]:
    """Return what lint says of a line, in the words of a row, and why."""
    words = with_program(row.line.split(), "./a")
    try:
        made = lint(words, machine, version=VERSIONS[row.launcher], files=row.files)
    except AdvisorError as error:
        return "FAIL", str(error)
    except Exception as error:  # noqa: BLE001 - a fault of lint is what is looked for
        return f"CRASH {error!r}", ""
    if made.ranks is None:
        return "FAIL" if made.binding.startswith("The launcher refuses") else None, made.binding
    whole = (machine.topology or Topology()).inside.pus
    names = dict(zip((f"node{i}" for i in range(len(row.hosts))), row.hosts, strict=True)) if row.launcher == "srun" else {}
    hosts = (names.get(rank.host or "", rank.host) if row.hosts else "" for rank in made.ranks)
    ranks = zip(hosts, (rank.cpus if rank.cpus is not None else whole for rank in made.ranks), strict=True)
    return " ".join(f"{host or ''}:{cpus}" for host, cpus in ranks) or "FAIL", made.binding


def answered(row: Row) -> Answer:
    """Return a line with both answers."""
    said, why = said_of(row, described(row.machine))
    with tempfile.TemporaryDirectory(prefix="advisor-lines-") as folder:
        seen = asked(row, Path(folder), 30)
    return Answer(Row(row.launcher, row.machine, row.hosts, row.line, row.files, seen), said, why)


def in_clusters(rows: Sequence[Row]) -> Iterator[Answer]:
    """Yield each line of srun with both answers: machine by machine, in every set-up.

    A line may leave a node of the Slurm down, where nothing starts any more: what fails although lint says that it starts is
    asked once more of a fresh one.
    """
    for name, setup in dict.fromkeys((row.machine, row.files[KEY]) for row in rows):
        mine = [row for row in rows if (row.machine, row.files[KEY]) == (name, setup)]
        found = list(_of_cluster(mine, name, setup))
        for answer in found:
            again = answer.kind == "wrong" and answer.row.seen in ("FAIL", "HANG")
            yield next(_of_cluster([answer.row], name, setup)) if again else answer


def _of_cluster(rows: Sequence[Row], name: str, setup: str) -> Iterator[Answer]:
    """Yield the answers of a Slurm that is started for these lines."""
    with slurm.cluster(dict.fromkeys(("n1", "n2", "n3"), file_for(name, None)), slurm.settings_of(setup)) as made:
        for row in rows:
            said, why = said_of(row, described(name))
            try:
                seen = in_slurm(row, made)
            except subprocess.TimeoutExpired:
                seen = "HANG"
            yield Answer(Row(row.launcher, row.machine, row.hosts, row.line, row.files, seen), said, why)


def fresh(launcher: str, seed: str, count: int, machines: Sequence[str], odd: float) -> list[Row]:
    """Return so many lines of a launcher, on every machine as many."""
    found: list[Row] = []
    for position, name in enumerate(machines):
        topology = described(name).topology or Topology()
        share = count // len(machines) + (position < count % len(machines))
        extra = {KEY: slurm.written(SETUPS[position % len(SETUPS)], file_for(name, None))} if launcher == "srun" else {}
        found += [_row(launcher, name, made, extra) for made in lines(launcher, f"{seed} {name}", topology, share, odd)]
    return found


def _row(launcher: str, machine: str, made: Written, extra: dict[str, str]) -> Row:
    return Row(launcher, machine, made.hosts, " ".join(made.line.split()), {**made.files, **extra}, "")


def main() -> None:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed")
    parser.add_argument("launchers", nargs="*", default=list(VERSIONS))
    parser.add_argument("-n", type=int, default=250, dest="count")
    parser.add_argument("-m", "--machine", action="append", dest="machines")
    parser.add_argument("--machines", type=int, default=16, dest="most", help="so many of them, taken at random")
    parser.add_argument("--odd", type=float, default=0.15, help="the share of lines that has odd words too")
    parser.add_argument("-o", type=Path, dest="output", help="every answer, as lines of JSON")
    parser.add_argument("-j", type=int, default=2, dest="jobs")
    given = parser.parse_args()
    published = [name for name in PUBLISHED if file_for(name, None).exists()]
    machines = given.machines or random.Random(given.seed).sample(  # noqa: S311 - no secret
        [*MACHINES, *published], given.most
    )
    probe(), shim()
    for name in machines:
        described(name), file_for(name, None)  # once, before there are several processes
    print("| launcher | lines | right | not told | wrong | crash |\n|---|---|---|---|---|---|")
    for launcher in given.launchers:
        there = slurm.available() if launcher == "srun" else launcher in PROGRAMS and available(launcher)
        if not there:
            print(f"| {launcher} is not installed | | | | | |")
            continue
        rows = fresh(launcher, given.seed, given.count, machines, given.odd)
        tally: Counter[str] = Counter()
        with Pool(given.jobs) as pool:
            answers = in_clusters(rows) if launcher == "srun" else pool.imap(answered, rows)
            for answer in answers:
                tally[answer.kind] += 1
                if given.output:
                    with given.output.open("a") as file:
                        file.write(f"{answer.written}\n")
        kinds = ("right", "not told", "wrong", "crash")
        print(f"| {launcher} | {sum(tally.values())} | {' | '.join(str(tally[kind]) for kind in kinds)} |", flush=True)
        for kind in tally.keys() - kinds:
            sys.stderr.write(f"{launcher}: {tally[kind]} {kind}\n")


if __name__ == "__main__":
    main()
