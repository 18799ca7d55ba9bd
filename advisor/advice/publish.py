"""Adds a machine's own quiet figures to the site's published ones, so that later machines of the site are placed among them."""

import csv
import io
import os
from dataclasses import dataclass
from pathlib import Path

from advisor.advice.judge.case import Case, case_of
from advisor.advice.judge.measured import measured_facts
from advisor.advice.judge.published import Figure, machine_figures, sure_partitioning
from advisor.errors import BadInput, BadValue
from advisor.machine.hosts.files import at_home, write_file
from advisor.machine.machine import Machine
from advisor.machine.partitioning import infer_layout
from advisor.machine.units import count, duration, flop_rate, memory_clock, throughput
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.measurement import Measurements
from advisor.measure.platform import COLUMNS, SITE_FIGURES, match_platform, plain_processor, read_published
from advisor.measure.task import Measured

_STEADY = 0.05
"""Of the median: repeats further apart are not of a quiet machine; the kernels here repeat within 1 to 2 %."""
_WRITTEN = {"latency": duration, "hpl": flop_rate}


@dataclass(frozen=True)
class Published:
    """What was added to the site's file, a row a figure, and how many it had before."""

    file: Path
    rows: tuple[dict[str, str], ...]
    before: int

    def page(self) -> str:
        """Return it in words."""
        lines = [f"  {row['processor']}, {row['sockets']} x: {row['metric']} {row['value']}" for row in self.rows]
        added = f"{count(len(self.rows), 'figure')} added to {self.file}, which had {self.before} before"
        undo = "Machines with this processor will be compared with these figures; to withdraw one, delete its line in the file."
        return "\n".join([added, *lines, undo])


def publish(measured: Measured, file: Path | None) -> Published:
    """Add the figures of the whole machine to the site's file; refuse those of a busy machine, of parts, and those it has."""
    machine, measurements = measured.machine, measured.measurements
    if machine is None:
        raise BadInput(
            "these figures are from another machine", cure="publish them there, or give a capture of that machine with --from"
        )
    platform = match_platform(machine)
    case = case_of(machine, infer_layout(machine), platform)
    facts = measured_facts(measurements, case, ())
    figures = [*machine_figures(facts, measurements, case)]
    _must_be_quiet(facts, figures)
    processor = plain_processor(machine.cpu.model_name) if machine.cpu and machine.cpu.model_name else None
    if processor is None:
        raise BadValue(
            "the processor model of this machine is unknown", cure="measure on the machine itself, as root if the name is hidden"
        )
    path = file or at_home(SITE_FIGURES[0] if os.geteuid() == 0 else SITE_FIGURES[1])
    known = [figure for _, figure in read_published(path)] if path.is_file() else []
    rows = tuple(_row(each, processor, machine, measurements, case) for each in figures)
    sources = {(one.source, one.metric) for one in known}
    rows = tuple(row for row in rows if (row["source"], row["metric"]) not in sources)
    if not rows:
        raise BadValue(f"{path} already has these figures", cure="measure again, or delete its lines first")
    old = path.read_text(encoding="utf-8") if known else f"{','.join(COLUMNS)}\n"
    if file is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    added = io.StringIO()
    csv.DictWriter(added, COLUMNS, lineterminator="\n").writerows(rows)
    write_file(path, f"{old.rstrip()}\n{added.getvalue()}".encode())
    return Published(path, rows, len(known))


def _must_be_quiet(facts: MeasuredFacts, figures: list[Figure]) -> None:
    if not figures:
        cure = "measure it with advisor measure membw --save FILE, or advisor measure hpl --save FILE"
        raise BadInput("no measurement here covers the whole machine", cure=cure)
    if facts.idle is not True:
        problem = "the machine was not idle" if facts.idle is False else "nothing shows whether the machine was idle"
        raise BadInput(
            f"{problem}, so its figures cannot be a reference for other machines", cure="measure again on an idle machine"
        )
    spread = max((each.spread or 0.0 for each in (facts.machine, facts.hpl) if each is not None), default=0.0)
    if spread > _STEADY:
        cure = "measure again with --repeats 10 on a quiet machine"
        raise BadInput(f"its repeats differ by {100 * spread:.0f} %, more than {100 * _STEADY:.0f} %", cure=cure)


def _row(own: Figure, processor: str, machine: Machine, measurements: Measurements, case: Case) -> dict[str, str]:
    """Return a figure with its conditions in the columns' own words; what is not known stays empty."""
    sockets = case.sockets or ()
    speeds, channels = {each.configured for each in sockets}, {each.channels for each in sockets}
    smt = case.layout.smt.state if case.layout else None
    kind = case.platform.memory_kind if case.platform else None
    speed = next(iter(speeds)) if len(speeds) == 1 else None
    started = measurements.conditions.started[:10]
    fields: dict[str, object] = {
        "processor": processor, "of": "node", "sockets": own.sockets, "metric": own.metric,
        "value": _WRITTEN.get(own.metric, throughput)(own.value), "threads": own.threads, "numa": sure_partitioning(case),
        "smt": smt if smt in ("on", "off") else None, "channels": next(iter(channels)) if len(channels) == 1 else None,
        "memory": f"{kind}-{memory_clock(speed).split()[0]}" if kind and speed else None, "stores": own.stores,
        "program": own.program, "cloud": "metal" if case.environment and case.environment.virtual == "none" else "virtual",
        "problem": own.problem, "grid": own.grid, "kind": "measured", "year": started[:4], "grade": "centre",
        "source": f"{machine.name or 'a machine'} of this site, {started}",
    }  # fmt: skip
    return {name: "" if fields[name] is None else str(fields[name]) for name in COLUMNS}
