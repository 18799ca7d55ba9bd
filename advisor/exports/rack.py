"""A rollout's report for the rack: what changed on which nodes, who proved it, what it brought, what is left to do."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from advisor import __version__
from advisor.advice.model.findings import Difference
from advisor.advice.whatif import before_after, diff
from advisor.bios.page import ENDINGS
from advisor.bios.rollout import Rollout, read_journal
from advisor.bios.rollout_steps import FIGURES, MEASURED, read_figures
from advisor.bios.stage import load_record
from advisor.errors import AdvisorError
from advisor.exports.compared import figure_name, finding_line
from advisor.exports.page import PageVerdict, styles
from advisor.fleet.audit import audit_fleet, file_of_node
from advisor.jobs.started.hosts import fold_names
from advisor.machine.hosts.files import write_file
from advisor.machine.jinja import fill
from advisor.machine.observer import SILENT, Observer
from advisor.machine.units import count, plain
from advisor.measure.figures import amount
from advisor.measure.measurement import Unit
from advisor.paths import template

REPORT = "report.html"
_SHOWN = 12
"""So many figures are on the page."""


Rows = list[tuple[Any, ...]]
"""Each with how many nodes it is of, and which, at its end."""


class Pair(NamedTuple):
    """A figure of one node, before and after."""

    before: float
    after: float
    says: str


class Brought(NamedTuple):
    """A figure over the nodes that have it: medians, and from where to where the change goes."""

    name: str
    nodes: int
    before: str
    after: str
    change: str
    spread: str
    says: str


def write_rack_report(done: Rollout, observer: Observer = SILENT) -> Path:
    """Write what a rollout that is through did to the rack, as a page and for a ticket; return the page."""
    folder = Path(done.folder)
    content = _content(done, folder, observer)
    page = fill(template("report/rack.html.j2"), {**content, **styles()}, "rack.html.j2")
    write_file(folder / REPORT, page.encode())
    write_file(folder / "report.md", fill(template("report/rack.md.j2"), content, "rack.md.j2").encode())
    return folder / REPORT


def _content(done: Rollout, folder: Path, observer: Observer) -> dict[str, Any]:
    """Return what the templates may use."""
    told, nodes = done.document(), done.now.nodes
    changed = [node.name for node in nodes if node.end in ("done", "proven") and _record(folder, node.name).exists()]
    proofs: dict[Any, list[str]] = defaultdict(list)
    for node in nodes:
        if node.by:
            proofs[node.by].append(node.name)
    asked, moved = _written(folder, changed)
    system, gone, new = _system(folder, changed, observer)
    figures = list(_brought(folder, changed))
    brought = [row for whole, row in figures if whole] or [row for _, row in figures]
    most = max((row.nodes for row in brought), default=0)
    return {
        "folder": plain(done.folder),
        "begun": plain(read_journal(folder).head["started"]),
        "made": time.strftime("%Y-%m-%d %H:%M"),
        "version": __version__,
        "verdict": _verdict(done, asked, brought),
        "counts": [(ENDINGS[end], many) for end, many in told["ends"].items() if many],
        "changed": [
            ("Attributes set by the plan", asked),
            ("Changed as a consequence", moved),
            (("As reported by the system"), system),
        ],
        "proofs": _folded(proofs),
        "gone": gone,
        "new": new,
        "brought": brought[:_SHOWN],
        "measured": f"measured on {most} of {count(len(changed), 'changed node')}",
        "notes": [f"{name}: {plain(line)}" for name, lines in done.gains for line in lines if line.startswith("not ")],
        "by_hand": [
            (each["node"], plain(each["is"], 400), each["bmc"], _record(folder, each["node"]))
            for each in told["nodes"]
            if each["end"] == "by hand"
        ],
        "left": [
            (plain(each["is"], 300), each["count"], each["bmcs"]) for each in told["folded"] if each["is"].startswith("as before")
        ],
    }


def _record(folder: Path, name: str) -> Path:
    return folder / "records" / f"{name}.json"


def _folded(groups: Mapping[Any, list[str]]) -> Rows:
    """Return rows with how many nodes they are of and which, the most frequent first."""
    ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [(*(key if isinstance(key, tuple) else (key,)), len(nodes), fold_names(nodes)) for key, nodes in ranked]


def _written(folder: Path, names: Sequence[str]) -> tuple[Rows, Rows]:
    """Return which attributes were set from what to what, and which changed along, by the nodes' records."""
    asked: dict[Any, list[str]] = defaultdict(list)
    moved: dict[Any, list[str]] = defaultdict(list)
    for name in names:
        record = load_record(_record(folder, name))
        for kept, values in ((asked, record.asked), (moved, record.moves)):
            for attribute, value in values.items():
                kept[tuple(plain(str(each), 80) for each in (attribute, record.applied.get(attribute), value))].append(name)
    return _folded(asked), _folded(moved)


def _system(folder: Path, names: Sequence[str], observer: Observer) -> tuple[Rows, Rows, Rows]:
    """Return what the captures show changed, and the findings gone and new."""
    changes: dict[Any, list[str]] = defaultdict(list)
    gone: dict[Any, list[str]] = defaultdict(list)
    new: dict[Any, list[str]] = defaultdict(list)
    for found, nodes in _differences(folder, names, observer):
        for each in (*found.topology, *found.settings):
            changes[(plain(each.title, 120), *(plain(side, 160) for side in each.sides()))] += nodes
        for kept, findings, there in ((gone, found.lost, "after"), (new, found.gained, "before")):
            for line in dict.fromkeys(finding_line(each, there) for each in findings):
                kept[line] += nodes
    return _folded(changes), _folded(gone), _folded(new)


def _differences(folder: Path, names: Sequence[str], observer: Observer) -> Iterator[tuple[Difference, list[str]]]:
    """Yield what differs before and after, once for all nodes that were equal before, and are equal after."""
    try:
        before, after = (audit_fleet([folder / when], observer=observer) for when in ("before", "after"))
    except AdvisorError as error:
        observer.say(f"the captures before and after were not compared: {error}")
        return
    groups: dict[tuple[str | None, str | None], list[str]] = defaultdict(list)
    for name in names:
        if name in before.nodes.folded and name in after.nodes.folded:
            groups[before.read.records[name].digest, after.read.records[name].digest].append(name)
    for nodes in groups.values():
        one, other = (str(file_of_node(side.asked, nodes[0])) for side in (before, after))
        yield diff(one, other, observer=observer), nodes


def _brought(folder: Path, names: Sequence[str]) -> Iterator[tuple[bool, Brought]]:
    """Yield what was measured before and after, over the nodes, and whether it is of the whole machine."""
    found: dict[tuple[bool, str, Unit, bool], list[Pair]] = defaultdict(list)
    for name in names:
        with suppress(AdvisorError):
            mine: dict[tuple[bool, str, Unit, bool], Pair] = {}
            for key, pair in _measured(folder / "before", folder / "after", name):
                mine.setdefault(key, pair)
            for key, pair in mine.items():
                found[key].append(pair)
    for (whole, what, unit, own), pairs in found.items():
        ratios = sorted(each.after / each.before - 1 for each in pairs)
        sides = (median(each.before for each in pairs), median(each.after for each in pairs))
        before, after = (f"{side:.4g} {unit}" if own else amount(side, unit) for side in sides)
        spread = f"{ratios[0]:+.1%} to {ratios[-1]:+.1%}" if len(pairs) > 1 else ""
        says = ", ".join(f"{word} on {many}" for word, many in Counter(each.says for each in pairs).most_common())
        yield whole, Brought(what, len(pairs), before, after, f"{median(ratios):+.1%}", spread, says)


def _measured(before: Path, after: Path, name: str) -> Iterator[tuple[tuple[bool, str, Unit, bool], Pair]]:
    """Yield what a node has of both: of the program that was run, whose unit is its own, or of our kernels."""
    ran, kernels = ([place / f"{name}{suffix}" for place in (before, after)] for suffix in (FIGURES, MEASURED))
    if all(file.exists() for file in ran):
        one, other = map(read_figures, ran)
        was, now = median(one["figures"]), median(other["figures"])
        if was > 0:
            yield (True, plain(one["name"]), plain(one["unit"]), True), Pair(was, now, "not tested")
    elif all(file.exists() for file in kernels):
        for row in before_after(kernels[0], kernels[1]).rows:
            pair = Pair(row.before.median, row.after.median, row.says)
            yield (row.part == "machine", figure_name(row), row.unit, False), pair


def _verdict(done: Rollout, settings: Rows, brought: Sequence[Brought]) -> PageVerdict:
    ends = Counter(node.ended for node in done.now.nodes)
    good = ends["done"] + ends["proven"]
    parts = [f"{name} {was} → {now}" for name, was, now, *_ in settings[:3]]
    parts += [f"{row.name} {row.change} (median of {count(row.nodes, 'node')})" for row in brought[:1]]
    parts += [f"stopped: {plain(done.now.stopped, 300)}"] if done.now.stopped else []
    parts += [f"{count(ends['by hand'], 'node')} to check by hand"] if ends["by hand"] else []
    kind = "bad" if ends["by hand"] or done.now.stopped else "good" if good else "little"
    return PageVerdict(
        kind, f"In effect on {good} of {count(len(done.now.nodes), 'node')}", "; ".join(parts) or "nothing was changed"
    )
