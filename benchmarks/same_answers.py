"""Says whether two versions of advisor answer the same about many machines.

``python -m benchmarks.same_answers dump OUT MACHINE...`` writes what the commands below say of each machine,
one file an answer; run it once in each version's checkout. ``python -m benchmarks.same_answers compare OLD NEW``
names every answer that differs, and where; words (titles, sentences) may be left out with ``--but say,title``.
"""

import argparse
import contextlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ASKED = {
    "audit": ("audit", "--no-measure", "--json"),
    "audit-text": ("audit", "--no-measure", "-v"),
    "checklist": ("checklist",),
    "checklist-racadm": ("checklist", "--as", "racadm"),
    "report": ("report", "--as", "md"),
    "page": ("report", "--as", "html"),
    "slurm": ("export", "slurm"),
    "nhc": ("export", "nhc"),
    "prometheus": ("export", "prometheus"),
    "ansible": ("export", "ansible"),
    "explain": ("explain", "nps"),
    "whatif": ("whatif", "smt=off"),
    "topology": ("topology", "--json"),
    "topology-text": ("topology",),
    "bind": ("bind", "--ranks", "4", "--threads", "2", "--launcher", "openmpi", "--launcher-version", "5.0.6", "--json"),
    "bind-near": ("bind", "--ranks", "2", "--strategy", "hca-near", "--launcher", "srun", "--json"),
    "bind-spread": ("bind", "--ranks", "8", "--strategy", "spread-numa", "--launcher", "mpich", "--json"),
    "bind-text": ("bind", "--launcher", "srun"),
    **{f"bind-{one}": ("bind", "--launcher", one) for one in ("intelmpi", "pals", "flux", "likwid", "openmpi4", "jsrun")},
    **{
        f"check-{number}": ("check", *words.split())
        for number, words in enumerate(
            (
                "-- mpirun -np 8 --map-by ppr:2:l3cache:PE=2 --bind-to core",
                "-- mpirun -np 4 --map-by numa --bind-to none",
                "-- srun -n 8 -c 4 --cpu-bind=cores",
                "-- srun -n 4 --cpu-bind=map_ldom:0,1",
                "-- mpiexec -n 4 -bind-to l3",
            )
        )
    },
}


def answer(words: tuple[str, ...], machine: Path) -> str:
    """Return what one command line prints, on both streams, and its status."""
    from advisor.cli.main import status

    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        code = status(
            [
                words[0],
                "--from",
                str(machine),
                *words[1:],
                *(["./app"] if "--" in words else ["--", "./app"] if words[0] == "bind" else []),
            ]
        )
    return json.dumps(
        {"status": code, "out": _json_or_text(printed.getvalue()), "err": said.getvalue()}, indent=1, sort_keys=True
    )


def _json_or_text(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def dump(out: Path, machines: list[Path]) -> None:
    """Write one file for each machine and command."""
    out.mkdir(parents=True, exist_ok=True)
    for machine in machines:
        for name, words in ASKED.items():
            (out / f"{machine.name}.{name}.json").write_text(answer(words, machine))


def differences(old: object, new: object, but: frozenset[str], place: str = "") -> Iterator[str]:
    """Yield the places where two documents differ, but for some keys."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new} - but):
            yield from differences(old.get(key), new.get(key), but, f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from differences(a, b, but, f"{place}[{index}]")
    elif old != new:
        yield f"{place}: {str(old)[:90]!r} -> {str(new)[:90]!r}"


def _read(file: Path) -> object:
    """Return an answer without the time at which it was given."""
    return json.loads(re.sub(r"\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d UTC", "NOW", file.read_text()))


def compare(old: Path, new: Path, but: frozenset[str]) -> int:
    """Print what differs, kinds of places counted; return 1 where anything does."""
    files = sorted({path.name for path in old.iterdir()} | {path.name for path in new.iterdir()})
    kinds: Counter[str] = Counter()
    differing = 0
    for name in files:
        found = ["missing"] if not ((old / name).is_file() and (new / name).is_file()) else []
        if not found:
            found = list(differences(_read(old / name), _read(new / name), but))
        differing += bool(found)
        kinds.update(re.sub(r"\[\d+\]", "[]", line.split(":")[0]) for line in found)
        for line in found[:4]:
            print(f"{name} {line}")
    print(f"{len(files)} answers, {differing} differ", dict(kinds.most_common(20)))
    return int(differing > 0)


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    dumping = verbs.add_parser("dump")
    dumping.add_argument("out", type=Path)
    dumping.add_argument("machines", type=Path, nargs="+")
    comparing = verbs.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--but", default="")
    given = parser.parse_args()
    if given.verb == "dump":
        dump(given.out, given.machines)
        return 0
    return compare(given.old, given.new, frozenset(given.but.split(",")))


if __name__ == "__main__":
    raise SystemExit(main())
