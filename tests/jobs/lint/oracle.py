"""What real launchers did with lines on machines that are not here, and the same asked anew.

A row of seen_*.txt: launcher, machine, hosts, line, files by name as JSON, and each rank's host and CPUs; FAIL where nothing
started.
"""

import json
import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from advisor.jobs.launcher import Launch
from advisor.jobs.line import parse
from advisor.jobs.predict import predict
from advisor.jobs.request import Prediction
from advisor.machine.machine import Machine
from tests.fakenode import hydra, real
from tests.fakenode.lab import probe
from tests.fakenode.plans import file_of
from tests.fakenode.run import LaunchFailedError, LaunchHungError, Observed, observe
from tests.fakenode.slurm import Cluster
from tests.jobs.lint import shapes
from tests.jobs.lint.nodes import is_plain
from tests.jobs.place.samples import machine
from tests.machines.catalogue import MACHINES

assert hydra
HERE = Path(__file__).parent
VERSIONS = {
    "openmpi4": "4.1.4",
    "openmpi5": "5.0.11",
    "mpich": "mpich-5.0.2",
    "intelmpi": "intelmpi-2021.18",
    "srun": "slurm-22.05.8",
}


@dataclass(frozen=True)
class Row:
    """One line, and what came of it."""

    launcher: str
    machine: str
    hosts: tuple[str, ...]
    line: str
    files: dict[str, str]
    seen: str

    def __str__(self) -> str:
        files = json.dumps(self.files) if self.files else ""
        return "\t".join((self.launcher, self.machine, ",".join(self.hosts), self.line, files, self.seen))


def rows(name: str) -> list[Row]:
    """Return the rows of a file."""
    found = [text.split("\t") for text in (HERE / name).read_text().splitlines()]
    return [Row(a, b, tuple(c.split(",")) if c else (), d, json.loads(e or "{}"), f) for a, b, c, d, e, f in found]


_ODD = {
    "mpich": r"map-by \w+:\d|:7|:16|bind-to socket -map-by [clh]|bind-to numa -map-by [clh]|bind-to \S+ -map-by h|"
    r"l3cache -map-by c|hf|"
    r"rankmap|membind|ib0|icache|topolib|genvall|-l -prepend|n1,n1|n2,n1|user:\S*[xa]|5-3|socket:[24]| -v"
    r"|(?:^| )(-[\w-]+) (?:\S+ )*?\1\b"
    r"|-(?:bind-to|map-by) (?!(?:core|hwthread|socket|numa|l3cache)(?::\d+)?(?: |$)|user:|none|rr)",
    "srun": r" -B |plane|gpu|gres|pack\b|Pack\b|bound|nonsense|-mem-bind=\S*(map|mask|rank|no)|cores-per-socket|sockets-per-node",
    "intelmpi": r"PIN_CELL|cache|LIST[= ](all|\S*\^)|DOMAIN[= ](?!omp|auto)\w+:|-host(s|list)?[ =].*-host|,,|,\]",
}
"""Words that are left open."""

_SHAPES = {
    "mpich": ("virtual", "uneven-l3", "knights-landing", "cxl", "hbm-flat", "job-cuts-l3-v2"),
    "srun": ("off", "offline", "uneven-l3"),
    "intelmpi": ("off", "offline", "knights-landing", "topo1", "hbm-flat", "memoryless"),
}
"""Machines that are left open: CPUs off, sockets or cores not alike, memory alone."""


def odd_of(row: Row) -> bool:
    """Return whether a row has words, or a machine, that are left open: what is odd is told where that costs little."""
    if row.launcher.startswith("openmpi"):
        return not is_plain(row.line) or bool(row.files)
    return row.launcher in _ODD and (
        row.machine in _SHAPES.get(row.launcher, ()) or bool(re.search(_ODD[row.launcher], row.line))
    )


def is_here(name: str) -> bool:
    """Return whether a machine can be described: published ones lie outside the project."""
    return name in shapes.SHAPES or name in MACHINES or name in real.FILES


@cache
def described(name: str) -> Machine:
    """Return a machine of the catalogue, one of the shapes, or a published one."""
    if name in shapes.SHAPES:
        return shapes.machine(name)
    return machine(name) if name in MACHINES else real.machine(name)  # the catalogue's as their own files have them


def file_for(name: str, folder: Path | None) -> Path:
    """Return the XML that a launcher reads of a machine; that of a shape is written into a folder."""
    if name in shapes.SHAPES and folder:
        file = folder / f"{name}.xml"
        file.write_text(shapes.xml(name))
        return file
    return file_of(name) if name in MACHINES else real.CORPUS / "xml" / f"{name}.xml"


def told(row: Row, node: Machine | None = None) -> tuple[str | None, Prediction]:
    """Return what is said of a row's line in the words of the row; None where it is not told."""
    words = with_program(shlex.split(row.line), "./a")
    made = predict(parse(words, VERSIONS[row.launcher]), node or described(row.machine), row.files)
    if made.unclear:
        return None, made
    everything = described(row.machine).topology
    assert everything is not None
    whole = everything.inside.pus
    named = ((rank.host if row.hosts else "", rank.cpus if rank.cpus is not None else whole) for rank in made.ranks or ())
    return " ".join(f"{host}:{cpus}" for host, cpus in named) or "FAIL", made


def with_program(words: list[str], program: str) -> list[str]:
    """Return a line with a program at its end, and before each colon."""
    return [word for text in (*words, ":") for word in ((program, ":") if text == ":" else (text,))][:-1]


def asked(row: Row, folder: Path, timeout: float = 20) -> str:
    """Return what the real launcher does with a row's line."""
    file = file_for(row.machine, folder)
    files = {name: (lambda text=text: iter(text.splitlines())) for name, text in row.files.items()}
    words, settings = shlex.split(row.line), {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        settings[name] = value
    try:
        launch = Launch(row.launcher, None, "line", tuple(with_program(words, probe())), settings, files)
        seen = observe(row.launcher, launch, dict.fromkeys(row.hosts or (None,), file), timeout)
    except LaunchHungError:
        return "HANG"
    except LaunchFailedError:
        return "FAIL"
    return written(seen, hosts=bool(row.hosts))


def in_slurm(row: Row, made: Cluster) -> str:
    """Return what a running Slurm does with a row's line, in a job that has whole nodes."""
    words, settings = shlex.split(row.line), {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        settings[name] = value
    try:
        seen = made.observe(Launch("srun", None, "line", (*words, probe()), settings), row.hosts or ("n1",))
    except LaunchFailedError:
        return "FAIL"
    return written(seen, hosts=bool(row.hosts))


def written(seen: dict[int, Observed], *, hosts: bool) -> str:
    """Return what ranks observed in the words of a row."""
    return " ".join(f"{seen[rank].host if hosts else ''}:{seen[rank].cpus}" for rank in sorted(seen))
