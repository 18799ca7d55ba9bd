"""A fleet whose launcher is a small program: what each pair or node gives is planted, and who ran is written down."""

import gzip
import random
import stat
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from advisor.fleet.capture import AnswersFolder
from advisor.fleet.fleet import Answer
from advisor.machine.hosts.errands import Outcome
from tests.fleet.planted import noise, shape

CPUS = "0"
"""Where the ranks of a pair are to be on these nodes: on the first core beside the adapter."""
BANDWIDTH, LATENCY = 12.1e9, 1.2e-6
MPIRUN = """#!/bin/sh
# Prints what the kernel between two hosts would, or HPL on one, as a table beside it has it for this time.
here=${0%/*}
while [ "$1" != --host ]; do shift; done
rest=${2#*,}
hosts="${2%%:*} ${rest%%:*}"
[ "${2%,*}" != "$2" ] || hosts=${2%%:*}
echo "$hosts" >>"$here/asked"
for word; do [ ! -e "$word/HPL.dat" ] || cat "$word/HPL.dat" >>"$here/dats"; done
[ ! -e "$here/hangs" ] || exec sleep 600
line=$(grep "^$hosts~" "$here/table" || grep "^$hosts#$(grep -cx "$hosts" "$here/asked")~" "$here/table")
[ "$line" ] || { echo "mbw_mr: no route to $hosts" >&2; exit 1; }
IFS='~'
set -f
set -- ${line#*~}
printf '%s\\n' "$@"
"""


def program(file: Path, text: str) -> Path:
    """Write a program."""
    file.write_text(text)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def captured(folder: Path, names: Sequence[str], sort: str = "haswell") -> None:
    """Put captures of nodes with the same hardware into a folder."""
    kept = AnswersFolder(folder)
    kept.begin()
    for number, name in enumerate(names):
        one = shape(sort)
        data = gzip.compress(one.copy(noise(one, name, random.Random(number))), 1)  # noqa: S311
        at, digest = datetime.now(UTC).isoformat(), sha256(data).hexdigest()
        kept.add(Answer(node=name, at=at, outcome=Outcome.ANSWERED, archive=f"{name}.tar.gz", sha256=digest), data)


def pair_lines(pair: tuple[str, str], bandwidth: float, latency: float) -> list[str]:
    """Return what the kernel prints between two nodes."""
    a, b = pair
    about = f'"cpus": [0], "pairs": 1, "across": 1, "places": {{"host": ["{a}", "{b}"], "cpus": ["{CPUS}", "{CPUS}"]}}'
    return [
        f'{{"contract": 1, "kernel": "mbw_mr", "variant": "{variant}", "unit": "{unit}", "bytes": {size},'
        f' "values": [{value}, {value}], "per_pair": [{value}], {about}}}'
        for variant, unit, size, value in (
            ("latency", "seconds", 8, latency),
            ("mbw_mr", "bytes/s", 1 << 20, bandwidth),
            ("bibw", "bytes/s", 1 << 20, bandwidth * 1.8),
        )
    ]


def planted(folder: Path, tables: Iterable[tuple[str, list[str]]]) -> None:
    """Write what each pair or node prints; of ``n1#2`` when it is started the second time."""
    (folder / "table").write_text("".join(f"{hosts}~{'~'.join(lines)}\n" for hosts, lines in tables))


def pairs_table(names: Sequence[str], bad: Mapping[object, float], seed: int = 1) -> Iterable[tuple[str, list[str]]]:
    """Yield what every pair prints; ``bad`` says how much of the usual a node or a pair gives."""
    chance = random.Random(seed)  # noqa: S311
    for a in names:
        for b in names:
            share = min(bad.get(a, 1.0), bad.get(b, 1.0), bad.get((a, b), 1.0), bad.get((b, a), 1.0))
            if a != b and share:
                yield f"{a} {b}", pair_lines((a, b), BANDWIDTH * share * chance.gauss(1, 0.01), LATENCY * chance.gauss(1, 0.01))


def hpl_table(names: Sequence[str], slow: Mapping[str, Sequence[float]], rate: float = 1e12) -> Iterable[tuple[str, list[str]]]:
    """Yield what HPL prints on each node; ``slow`` says how much of the usual a node gives each time."""
    for at, name in enumerate(names):
        for time, share in enumerate(slow.get(name, (1.0,)), 1):
            gflops = rate * share * (1 + at % 5 / 1000) / 1e9
            yield (
                f"{name}#{time}" if name in slow else name,
                [
                    f"WR11C2R4 40960 192 4 7 50.0 {gflops:.4e}",
                    "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= 0.002 ...... PASSED",
                ],
            )


def asked(folder: Path) -> list[tuple[str, ...]]:
    """Return the hosts of each line that was started."""
    file = folder / "asked"
    return [tuple(line.split()) for line in file.read_text().splitlines()] if file.is_file() else []
