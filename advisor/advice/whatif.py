"""Compares: a machine with what other BIOS settings would make of it, two machines, and messages before and after a change."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from advisor.advice.audit import judge_source
from advisor.advice.bios_files import bios_for
from advisor.advice.change import transform
from advisor.advice.compare import WhatIf, difference
from advisor.advice.judge.case import case_of
from advisor.advice.judge.measured import measured_facts
from advisor.advice.judgement import Judgement, judged, rule_named, rulebook
from advisor.advice.know.vendors import match_vendor
from advisor.advice.model.findings import Difference
from advisor.errors import BadInput, BadValue
from advisor.machine.layout import Assumption, parse_assumption
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.partitioning import infer_layout
from advisor.machine.read import read_machine
from advisor.measure.measured_facts import MeasuredFacts
from advisor.measure.measurement import BeforeAfter, Measurements
from advisor.measure.platform import Scope, match_platform, published_figures
from advisor.measure.task import compare_runs, read_measurements


def whatif(
    source: str | None,
    assumption: Assumption | str,
    scope: Scope = "mpi",
    *,
    site: Iterable[Path] = (),
    bios: Sequence[Path] = (),
    measurements: Sequence[Path] = (),
    observer: Observer = SILENT,
) -> WhatIf:
    """Return what other BIOS settings would change before the restart.

    They may be given as a text, ``nps=4,smt=off``; so may what a finding wants, by the number that the audit of the same
    inputs gives it, or its rule: ``1``.
    """
    rules, machine = tuple(site), read_machine(source, observer)
    given = bios_for(bios, machine, observer).bios
    machine = machine.but(bios=given) if given is not None else machine
    a = judged(machine, scope, rules)

    def audited() -> Judgement:
        """Return the audit whose numbers findings have: with what was measured, and counters that rise."""
        return judge_source(source, scope, site=rules, bios=bios, files=measurements, observer=observer).judgement

    wish = _wish(assumption, rules, audited) if isinstance(assumption, str) else assumption
    after = changed(machine, wish)
    b = judged(after, scope, rules)
    names = (source or "this machine", f"assumed: {wish.text}")
    found = difference(names, (machine, after), (a.layout, b.layout), (a.audit, b.audit))
    return WhatIf(assumption=wish, source=source, difference=found, before=machine.gaps, machine=after)


def _wish(text: str, site: tuple[Path, ...], audited: Callable[[], Judgement]) -> Assumption:
    """Return the settings that a text names, or that the findings want which it names by number or rule."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    rules = {rule.id for rule in rulebook(site).rules} if any("-" in word and "=" not in word for word in words) else set()
    named = {word for word in words if word.isdecimal() or word in rules}
    judgement = audited() if named else None
    return parse_assumption(_wanted_by(word, judgement) if judgement and word in named else word for word in words)


def _wanted_by(name: str, judgement: Judgement) -> str:
    """Return what a finding wants of the settings that can be foreseen, as a text; refuse one that wants none of them."""
    rule = rule_named(judgement, name).id
    fields = {setting: field for field, setting in _SETTINGS.items()}
    texts = []
    for want in (want for finding in judgement.audit.found if finding.id == rule for want in finding.wants):
        if want.value is not None and want.setting in fields:  # as an assumption writes it: 2 of snc2, on of cod
            value = want.value.removeprefix("snc") if want.setting == "cpu.snc" else want.value
            if want.setting == "cpu.snoop_mode":
                value = "on" if value == "cod" else "off"
            texts.append(f"{fields[want.setting]}={value}")
    if not texts:
        cure = "name a setting, such as nps=4; advisor explain shows the fix"
        raise BadValue(f"{name}: the effect of fixing {rule} cannot be predicted here", cure=cure)
    return ",".join(dict.fromkeys(texts))


def diff(
    one: str | None,
    other: str | None,
    scope: Scope = "mpi",
    *,
    site: Iterable[Path] = (),
    bios: tuple[Sequence[Path], Sequence[Path]] = ((), ()),
    observer: Observer = SILENT,
) -> Difference:
    """Return what differs between two machines, or one before and after a change; None is this machine."""
    rules = tuple(site)
    machines = [read_machine(each, observer) for each in (one, other)]
    given = [bios_for(files, machine, observer).bios for files, machine in zip(bios, machines, strict=True)]
    a, b = (judged(machine, scope, rules, bios=each) for machine, each in zip(machines, given, strict=True))
    names = ("this machine" if one is None else one, "this machine" if other is None else other)
    return difference(names, (a.machine, b.machine), (a.layout, b.layout), (a.audit, b.audit))


def assumed(machine: Machine, texts: Iterable[str]) -> Machine:
    """Return the machine as it would be with settings such as ``nps=4,smt=off``; itself where none is given."""
    wish = parse_assumption(texts)
    return machine if wish == Assumption() else changed(machine, wish)


def changed(machine: Machine, wish: Assumption) -> Machine:
    """Return the machine as it would be after a restart with other settings."""
    return transform(machine, wish, match_platform(machine), _attributes(machine, wish))


_SETTINGS = {
    "nps": "numa.nps",
    "l3_as_node": "numa.l3_as_node",
    "interleave": "memory.interleave",
    "snc": "cpu.snc",
    "cod": "cpu.snoop_mode",
    "smt": "cpu.smt",
    "enumeration": "cpu.enumeration",
}
"""What each assumption is called in rules/settings.yaml."""


def _attributes(machine: Machine, wish: Assumption) -> frozenset[str] | None:
    """Return the BIOS attributes that hold what is assumed, in the words of the machine's vendor; None if those are not known."""
    if machine.bios is None:
        return frozenset()
    vendor = match_vendor(machine.firmware)
    if vendor is None:
        return None
    names = [setting for field, setting in _SETTINGS.items() if getattr(wish, field) is not None]
    entries = [entry for name in names for entry in vendor.settings.get(name, ())]
    known, starts = {entry.attribute for entry in entries}, tuple(entry.prefix for entry in entries if entry.prefix)
    present = (*machine.bios.attributes, *(machine.bios.pending or ()))
    return frozenset(name for name in present if name in known or name.startswith(starts))


def before_after(before: Path, after: Path) -> BeforeAfter:
    """Return what changed between runs of messages that were saved: of a file, or of all files of a folder."""
    return compare_runs(runs_in(before), runs_in(after))


def runs_in(place: Path) -> list[Measurements]:
    """Return the run of a file, or those of all files .json in a folder: several starts of one setting."""
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not files:
        raise BadInput("it contains no .json file", file=str(place), cure="save runs there: --save FOLDER/1.json")
    return [read_measurements([file]) for file in files]


def measured_on(machine: Machine, measurements: Measurements) -> MeasuredFacts:
    """Return what measurements say of their machine, beside what is published for such machines."""
    platform = match_platform(machine)
    return measured_facts(measurements, case_of(machine, infer_layout(machine), platform), published_figures(platform))
