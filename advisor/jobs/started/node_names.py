"""Lists of nodes or BMCs, as -w and --hosts have them: read, with ranges and groups, and folded again."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from advisor.advice.bios_files import text_of
from advisor.errors import BadInput, BadValue
from advisor.jobs.started.allocation import expand
from advisor.machine.hosts.node_lists import members

_LARGEST: Final = 16 << 20


def names_of(text: str, what: str = "node") -> tuple[str, ...]:
    """Return what a list names: names with brackets as Slurm writes them, groups of ClusterShell, addresses with a port."""
    found: list[str] = []
    for part in re.split(r",(?![^\[\]]*\])", text.strip()):
        if part.startswith("@"):
            found += _of_group(part, what)
        elif ":" in part:
            found.append(part)
        else:
            found += expand(part)
    return tuple(found)


def _of_group(name: str, what: str) -> tuple[str, ...]:
    if not re.fullmatch(r"@[A-Za-z0-9_.:*-]{1,100}", name):
        raise BadValue(f"{name[:60]} is no name of a group", cure="write such as @rack1")

    names = members(name)
    if not names:
        cure = "groups are ClusterShell's: see nodeset -L; or give -w names, or --hosts FILE"
        raise BadValue(f"{name} names no {what}", cure=cure)
    return names


def names_in(path: Path, what: str = "node") -> tuple[str, ...]:
    """Return what the lines of a file name, as -w takes them; a # begins a comment."""
    found: list[str] = []
    for number, line in enumerate(text_of(path, _LARGEST, f"any list of {what}s").splitlines(), 1):
        text = line.partition("#")[0].strip()
        try:
            found += names_of(text, what) if text else ()
        except BadValue as error:
            raise BadInput(error.problem, file=str(path), place=f"line {number}", cure=error.cure) from error
    if not found:
        raise BadInput(f"has no {what}", file=str(path), cure="write one a line")
    return tuple(found)


def fold_names(names: Iterable[str]) -> str:
    """Return names as Slurm writes a list of them.

    >>> fold_names(["bmc001", "bmc002", "bmc003", "bmc007", "head"])
    'bmc[001-003,007],head'
    """
    groups: dict[tuple[str, int, str], list[int]] = defaultdict(list)
    for name in names:
        match = None if ":" in name or re.fullmatch(r"[\d.]+", name) else re.fullmatch(r"(.*?)(\d{1,9})(\D*)", name)
        key = (match[1], len(match[2]), match[3]) if match else (name, 0, "")
        groups[key].append(int(match[2]) if match else 0)
    return ",".join(_folded(key, sorted(set(numbers))) for key, numbers in groups.items())


def _folded(key: tuple[str, int, str], numbers: list[int]) -> str:
    before, wide, after = key
    if not wide:
        return before
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    shown = ["-".join(f"{each:0{wide}d}" for each in dict.fromkeys(run)) for run in runs]
    inside = ",".join(shown)
    return f"{before}[{inside}]{after}" if len(numbers) > 1 else f"{before}{inside}{after}"
