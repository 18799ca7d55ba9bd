"""An acceptance contract: its lines read from a sheet, judged against what is known of a machine, two states or a fleet.

A line passes or fails by what was read or measured under the conditions that it names. Where a condition is not met, or
anything is unknown, the line is not shown, and the command that shows it is named. Every value that decides is in the
document, so that its verdicts can be worked out again from that alone (docs/contract.md).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from advisor import __version__
from advisor.advice.audit import Audience, Audited, MeasuresNow, audit
from advisor.advice.bios_files import BiosInput
from advisor.advice.judgement import rulebook
from advisor.advice.know.vendors import settings
from advisor.advice.model.findings import Audit
from advisor.advice.model.sheets import SEVERITIES, Severity
from advisor.errors import AdvisorError, BadValue, did_you_mean
from advisor.exports.export import is_fleet
from advisor.exports.formats.junit import quoted
from advisor.exports.page import FOR, styles
from advisor.fleet.fold import fold
from advisor.fleet.kinds import group
from advisor.fleet.read import asked
from advisor.machine.jinja import fill
from advisor.machine.layout import Layout
from advisor.machine.machine import Machine
from advisor.machine.observer import SILENT, Observer
from advisor.machine.secrecy import WITHHELD
from advisor.machine.units import count, flop_rate, memory_clock, plain
from advisor.machine.value import Unit, Value, optional, quantity
from advisor.measure.figures import amount, percent
from advisor.measure.measured_facts import MeasuredFacts, Speed
from advisor.measure.measurement import Measurements, Part, Result, fastest
from advisor.measure.platform import Scope
from advisor.paths import template
from advisor.sheets import Sheet, model_of, read_sheet

CONTRACT_SCHEMA = "advisor-contract/1"
"""The number rises when a key changes meaning or goes."""

Verdict = Literal["passed", "failed", "not shown"]
Operator = Literal[">=", "<=", "=", "within"]


class Terms(Value):
    """A contract as it is written."""

    contract: Literal[1]
    """version of this format: 1"""
    title: str = optional("", max_length=200)
    """the object of acceptance: Cluster X, lot 1"""
    repeats: int = optional(3, ge=1, le=1000)
    """minimum repeats of a measured figure"""
    idle: Literal["required", "any"] = "required"
    """whether the machine must have been idle: required, any"""
    measured_by: Literal["advisor", "any"] = "any"
    """whose figures count: advisor, any"""
    checks: Literal["all", "known"] = "all"
    """whether a line about findings needs all checks answered: all, known"""
    lines: tuple[str, ...] = Field(min_length=1, max_length=500)
    """the requirements, one per line"""


class Has(Value):
    """One value that decides."""

    where: str
    """the part or node: cn001, NUMA node 3"""
    value: float | str | None
    """in base units; null if it is unknown"""


class Term(Value):
    """One comparison of a line. A condition that is not met leaves its line not shown, anything else fails it."""

    what: str
    """triad of the machine, NUMA partitioning, repeats"""
    condition: bool = False
    op: Operator
    wants: float | str
    unit: Unit | None = None
    has: tuple[Has, ...] = ()

    def holds(self, has: Has) -> bool | None:
        """Return whether one value fits by itself; None where it is unknown."""
        if has.value is None:
            return None
        if self.op == "=" or isinstance(has.value, str) or isinstance(self.wants, str):
            return has.value == self.wants
        return has.value >= self.wants if self.op == ">=" else has.value <= self.wants

    @property
    def outcome(self) -> bool | None:
        """Whether every value fits; None where one is unknown and none is wrong, or where there is none."""
        every = [self.holds(each) for each in self.has if self.op != "within" or each.value is None]
        known = [float(each.value) for each in self.has if each.value is not None] if self.op == "within" else []
        if known:  # all that are known decide together
            every.append(max(known) <= min(known) * (1 + float(self.wants)))
        return False if False in every else None if None in every or not every else True

    def words(self, value: float | str | None) -> str:
        """Return a value of this term as people write it."""
        if value is None:
            return "unknown"
        if isinstance(value, str):
            return plain(value, 80)
        if self.unit == "ratio":
            return percent(value)
        if self.unit == "transfers/s":
            return memory_clock(value)
        if self.unit == "flop/s":
            return flop_rate(value)
        return amount(value, self.unit) if self.unit else f"{value:g}"

    @property
    def wanted(self) -> str:
        """What is asked, in words: >= 290 GB/s."""
        return f"{'' if self.op == '=' else f'{self.op} '}{self.words(self.wants)}"


class Judged(Value):
    """One line of a contract, and what it came to."""

    line: int
    """where it is in the contract's file"""
    text: str
    verdict: Verdict
    terms: tuple[Term, ...]
    evidence: str
    """the deciding values, in words"""
    show: str | None = None
    """the command that would show it, if not shown"""
    sentence: str | None = None
    """the text for the vendor, if it failed"""
    before: Verdict | None = None
    """its verdict on the first of two states"""


def verdict_of(terms: Sequence[Term]) -> Verdict:
    """Return what some terms come to: not shown unless every condition is known to hold."""
    if any(each.condition and each.outcome is not True for each in terms):
        return "not shown"
    outcomes = {each.outcome for each in terms if not each.condition}
    return "failed" if False in outcomes else "passed" if outcomes == {True} else "not shown"


@dataclass(frozen=True)
class Subject:
    """What is known of one machine."""

    name: str
    machine: Machine
    layout: Layout
    audit: Audit
    measured: MeasuredFacts | None
    measurements: Measurements | None


class Figure(NamedTuple):
    """One measured value and how often it was repeated; None where that is unknown."""

    where: str
    value: float | None
    repeats: int | None = None


# What can be measured: where each figure is found, its unit, what is better, and the command that brings it.

_PARTS: dict[str, tuple[Part, str]] = {
    "node": ("machine", "machine"), "machine": ("machine", "machine"), "socket": ("socket", "socket"),
    "numa node": ("numa", "NUMA node"), "l3 group": ("l3", "L3 group"), "core": ("core", "core"),
}  # fmt: skip
_MEASURE = "advisor measure --quick"
_STORES = {"streaming": "{}-nt", "regular": "{}"}


class Wish(NamedTuple):
    """What a line asks to be measured."""

    metric: str
    op: Operator
    wants: float
    unit: Unit
    share: bool
    part: str
    number: int
    stores: str | None


def _of_parts(subject: Subject, wish: Wish, unit: Literal["bytes/s", "seconds"]) -> Iterator[Figure]:
    """Yield what was measured of each part of a kind, in its own memory."""
    part, name = _PARTS[wish.part]
    by_index = dict[int | None, list[Result]]()
    for result in subject.measurements.of("part", unit, part=part) if subject.measurements else ():
        by_index.setdefault(result.index, []).append(result)
    for index, results in sorted(by_index.items(), key=lambda item: item[0] or 0):
        best: Result | None
        if unit == "seconds":
            best = min(results, key=lambda each: each.median)
        elif wish.stores:
            exact = _STORES[wish.stores].format(wish.metric)
            best = next((each for each in results if each.variant == exact), None)
        else:
            best = fastest(results, wish.metric)
        if best is not None:
            where = "" if part == "machine" else f"{name} {index}"
            ceiling = best.ceiling or next((each.ceiling for each in _speeds(subject, part) if each.index == (index or 0)), None)
            value = best.median if not wish.share else best.median / ceiling if ceiling else None
            yield Figure(where, value, len(best.values))


def _speeds(subject: Subject, part: Part) -> Sequence[Speed]:
    facts = subject.measured
    if facts is None:
        return ()
    of: Mapping[Part, Sequence[Speed] | None] = {
        "socket": facts.sockets,
        "numa": facts.nodes,
        "l3": facts.groups,
        "core": facts.cores,
    }
    return (of.get(part) or ()) if part != "machine" else (facts.machine,) if facts.machine else ()


def _number_of(subject: Subject, part: Part) -> int:
    """Return how many parts of a kind a machine has: each must have a figure."""
    topology = subject.machine.topology.inside if subject.machine.topology else None
    if topology is None or part not in ("socket", "numa", "l3", "core"):
        return 1
    nodes = [node for node in topology.nodes if node.cpuset]
    return len({"socket": topology.packages, "numa": nodes, "l3": topology.l3, "core": topology.cores}[part])


def _hpl(subject: Subject, wish: Wish) -> Iterator[Figure]:
    runs = subject.measured.hpl_runs if subject.measured else ()
    own = [each for each in runs if each.part == "machine" and (each.hosts or 1) == wish.number and each.whole is not False]
    if own:
        best = max(own, key=lambda each: each.rate)
        share = best.of_load if best.of_load is not None else best.of_base
        yield Figure(count(wish.number, "node") if wish.number > 1 else "", share if wish.share else best.rate, best.repeats)


def _network(variant: str, fact: str) -> "Reader":
    def read(subject: Subject, wish: Wish) -> Iterator[Figure]:
        del wish
        for adapter in subject.measured.adapters if subject.measured else ():
            own = subject.measurements.of("network-pair", variant=variant) if subject.measurements else ()
            repeats = min((len(each.values) for each in own), default=None)
            value = adapter.messages if fact == "messages" else getattr(adapter.one, fact) if adapter.one else None
            yield Figure(adapter.name, value, repeats)

    return read


Reader = Callable[[Subject, Wish], Iterable[Figure]]


class Metric(NamedTuple):
    """A figure that a contract may ask for."""

    unit: Unit
    read: Reader
    show: str
    share: str | None = None
    """What a percentage of it is of; None if it has none."""
    parts: tuple[str, ...] = ("node",)


_WHERE = tuple(_PARTS)
_BETWEEN = "advisor measure network --hosts A,B"
METRICS: Mapping[str, Metric] = {
    **{
        name: Metric("bytes/s", lambda subject, wish: _of_parts(subject, wish, "bytes/s"), _MEASURE, "ceiling", _WHERE)
        for name in ("triad", "copy", "load")
    },
    "latency": Metric("seconds", lambda subject, wish: _of_parts(subject, wish, "seconds"), _MEASURE, None, _WHERE),
    "hpl": Metric("flop/s", _hpl, "advisor measure hpl", "peak"),
    "osu_bw": Metric("bytes/s", _network("mbw_mr", "bandwidth"), _BETWEEN),
    "osu_bibw": Metric("bytes/s", _network("bibw", "both"), _BETWEEN),
    "osu_latency": Metric("seconds", _network("latency", "latency"), _BETWEEN),
    "osu_mbw_mr": Metric("messages/s", _network("mbw_mr", "messages"), _BETWEEN),
}

EXAMPLE = """\
# An acceptance contract. Judge a node: sudo advisor report --contract tender.yaml -o accepted.html
contract: 1
title: Cluster X, lot 1
repeats: 5             # minimum repeats of a measured figure; 3 if omitted, 1 accepts a single run
idle: required         # or: any; required if omitted
measured_by: advisor   # or: any, with its output: --measurements stream.txt, repeats: 1 and idle: any
checks: all            # or: known, to ignore unanswered checks; all if omitted
lines:
  - NPS4
  - cpu.smt = off      # any setting that advisor rules settings lists
  - triad >= 290 GB/s on one node, NPS4
  - triad >= 70 % of ceiling on each socket
  - latency <= 120 ns on each NUMA node
  - hpl >= 3.1 TFLOP/s
  - osu_bw >= 24 GB/s
  - every DIMM at 3200 MT/s
  - no finding above low
  - identical over the fleet within 3 %
"""

_LINE = re.compile(
    r"(?P<metric>[a-z_0-9]+) *(?P<op>>=|<=|≥|≤|at least|at most) *(?P<amount>\d[\d.]* *[A-Za-z%/]+)(?: of (?P<of>ceiling|peak))?"
    r"(?: on (?P<each>one|each|every|\d{1,5}) (?P<part>nodes?|machine|socket|numa node|l3 group|core))?(?P<rest>(?:, *[^,]+)*)",
    re.IGNORECASE,
)
_DIMMS = re.compile(r"(?:every|each|all) dimms? at (?P<speed>\d{3,5})(?: *MT/s)?", re.IGNORECASE)
_FINDINGS = re.compile(r"no findings?(?: above (?P<above>\w+)| of (?P<of>\w+) severity(?: or above)?)?", re.IGNORECASE)
_RULE = re.compile(r"no (?P<rule>[a-z0-9]+(?:-[a-z0-9]+)+)", re.IGNORECASE)
_ALIKE = re.compile(r"identical over the fleet(?: within (?P<within>\d[\d.]*) *%)?", re.IGNORECASE)
_SETTING = re.compile(r"(?P<name>[a-z]+\.[a-z0-9_]+) *= *(?P<value>\S.{0,60})", re.IGNORECASE)
_SMT = re.compile(r"smt (on|off)", re.IGNORECASE)
_CUT = re.compile(r"(nps ?[0124]|snc ?[2346]|cod|no sub-numa)", re.IGNORECASE)
_MEMORY = re.compile(r"(?:DDR[45]-)?(\d{4,5}) *(?:MT/s)?", re.IGNORECASE)
_TIMES = re.compile(r"(\d{1,4}) repeats", re.IGNORECASE)
_FORM = "triad >= 290 GB/s on one node, NPS4"
_FORMS = (
    f"write a line such as: {_FORM}; NPS4; cpu.smt = off; every DIMM at 3200; no finding above low; "
    "identical over the fleet within 3 %"
)


class Condition(NamedTuple):
    """A condition of a line: what it is of, and its value."""

    what: Literal["NUMA partitioning", "SMT", "memory speed", "repeats", "stores"]
    wants: float | str


class Line(NamedTuple):
    """One line, read."""

    number: int
    text: str
    wish: Wish | None = None
    conditions: tuple[Condition, ...] = ()
    dimms: float | None = None
    state: tuple[Condition, ...] = ()
    """How the machine shall be set up: NPS4, SMT off."""
    setting: tuple[str, str] | None = None
    """A setting and its value, as audit -v names them."""
    above: Severity | None = None
    rule: str | None = None
    alike: float | None = None
    """Share within which measured figures of a fleet lie; 0 if the hardware alone counts."""


class Contract(NamedTuple):
    """A contract, read."""

    file: str
    digest: str
    terms: Terms
    lines: tuple[Line, ...]


def read_contract(path: Path, site: Sequence[Path] = ()) -> Contract:
    """Return a contract's lines; refuse one that nothing measures, and two that contradict each other, by their lines."""
    sheet = read_sheet(path)
    terms = model_of(sheet, Terms)
    lines = tuple(_line(sheet, at, text) for at, text in enumerate(terms.lines))
    known = [each.id for each in rulebook(site).rules] if any(each.rule for each in lines) else []
    for at, one in enumerate(lines):
        if one.rule and one.rule not in known:
            cure = did_you_mean(one.rule, known, "see advisor rules list")
            raise sheet.wrong(("lines", at), f"{one.rule} is not a rule", cure)
        for other in lines[:at]:
            if _contradict(one, other):
                problem = f"{one.text} contradicts line {other.number}: {other.text}"
                raise sheet.wrong(("lines", at), problem, "no machine can pass both: keep one")
    return Contract(path.name, sha256(path.read_bytes()).hexdigest(), terms, lines)


def _contradict(one: Line, other: Line) -> bool:
    a, b = one.wish, other.wish
    if a is not None and b is not None:
        same = a._replace(op=b.op, wants=b.wants) == b and {*one.conditions} == {*other.conditions}
        low, high = (a, b) if a.op == ">=" else (b, a)
        return same and a.op != b.op and low.wants > high.wants
    if one.setting and other.setting:
        return one.setting[0] == other.setting[0] and one.setting != other.setting
    if any(each.what == theirs.what and each.wants != theirs.wants for each in one.state for theirs in other.state):
        return True
    return None not in (one.dimms, other.dimms) and one.dimms != other.dimms


def _line(sheet: Sheet, at: int, text: str) -> Line:
    place, words = ("lines", at), " ".join(text.split())
    number = sheet.line(place)
    if found := _DIMMS.fullmatch(words):
        return Line(number, words, dimms=float(found["speed"]) * 1e6)
    if found := _FINDINGS.fullmatch(words):
        above = (found["of"] or found["above"] or "info").lower()
        if above not in SEVERITIES or (above == "info" and found["of"]):
            raise sheet.wrong(place, f"{above} is not a severity", f"available: {', '.join(SEVERITIES)}")
        return Line(number, words, above=SEVERITIES[SEVERITIES.index(above) + bool(found["of"])])
    if found := _ALIKE.fullmatch(words):
        return Line(number, words, alike=float(found["within"] or 0) / 100)
    if found := _RULE.fullmatch(words):
        return Line(number, words, rule=found["rule"].lower())
    if _SETTING.fullmatch(words) or all(_CUT.fullmatch(each) or _SMT.fullmatch(each) for each in _parts(words)):
        return _set_up_line(sheet, at, words)
    found = _LINE.fullmatch(words)
    if found is None:
        name = words.split()[0].lower() if words else ""
        near = None if name in METRICS else did_you_mean(name, METRICS, None)
        raise sheet.wrong(place, f"{words[:80]!r} cannot be measured or read", near or _FORMS)
    try:
        wish = _wish(found)
        conditions = tuple(_condition(each.strip()) for each in found["rest"].split(",")[1:])
    except BadValue as error:
        raise sheet.wrong(place, error.problem, error.cure) from error
    stores = next((str(each.wants) for each in conditions if each.what == "stores"), None)
    return Line(number, words, wish._replace(stores=stores), tuple(each for each in conditions if each.what != "stores"))


def _parts(words: str) -> list[str]:
    return [each.strip() for each in words.split(",")]


def _set_up_line(sheet: Sheet, at: int, words: str) -> Line:
    """Return a line about how the machine is set up: cpu.smt = off, or NPS4, SMT off."""
    number, found = sheet.line(("lines", at)), _SETTING.fullmatch(words)
    if found is None:
        return Line(number, words, state=tuple(map(_condition, _parts(words))))
    name = found["name"].lower()
    if name not in settings():
        cure = did_you_mean(name, settings(), "see advisor rules settings")
        raise sheet.wrong(("lines", at), f"{name} is not a setting", cure)
    return Line(number, words, setting=(name, found["value"].strip()))


def _wish(found: re.Match[str]) -> Wish:
    name = found["metric"].lower()
    if name not in METRICS:
        raise BadValue(f"{name} is not a measured figure", cure=did_you_mean(name, METRICS, f"available: {', '.join(METRICS)}"))
    metric, amount = METRICS[name], quantity(re.sub(r"(?<=\d) *(?=[A-Za-z%])", " ", found["amount"]))
    share = amount.unit == "ratio"
    if amount.unit != metric.unit and not (share and metric.share):
        raise BadValue(f"{name} is measured in {metric.unit}, not {found['amount']}", cure=f"for example {_FORM}")
    if share and (found["of"] or "").lower() != metric.share:
        raise BadValue(f"{found['amount']} of what?", cure=f"write: {name} {found['op']} {found['amount']} of {metric.share}")
    part = (found["part"] or "node").lower().removesuffix("s")
    if part not in metric.parts and part != "machine":
        raise BadValue(f"{name} applies to whole nodes, not to one {part}", cure=f"write: {name} {found['op']} {found['amount']}")
    if metric.share == "ceiling" and share and part not in ("node", "machine", "socket"):
        raise BadValue(f"the ceiling for one {part} is unknown", cure="write: one node, or: each socket")
    number = int(found["each"]) if (found["each"] or "").isdigit() else 1
    if number != 1 and name != "hpl":
        between = f"write: {name} {found['op']} {found['amount']}"
        raise BadValue(
            f"{name} is measured between two nodes like this one" if name.startswith("osu") else f"{name} is for one node",
            cure=between if name.startswith("osu") else "only hpl works on several nodes: hpl >= 12 TFLOP/s on 4 nodes",
        )
    op: Operator = ">=" if found["op"].lower() in (">=", "≥", "at least") else "<="
    return Wish(name, op, amount.value, amount.unit, share, part, number, None)


def _condition(text: str) -> Condition:
    if found := _CUT.fullmatch(text):
        return Condition("NUMA partitioning", "none" if found[1].lower().startswith("no") else found[1].upper().replace(" ", ""))
    if found := _SMT.fullmatch(text):
        return Condition("SMT", found[1].lower())
    if found := _TIMES.fullmatch(text):
        return Condition("repeats", float(found[1]))
    if found := _MEMORY.fullmatch(text):
        return Condition("memory speed", float(found[1]) * 1e6)
    if found := re.fullmatch(r"(streaming|regular) stores", text, re.IGNORECASE):
        return Condition("stores", found[1].lower())
    raise BadValue(
        f"{text[:60]!r} is not a condition", cure="write NPS4, SNC2, SMT off, DDR5-4800, 5 repeats or streaming stores"
    )


# Judging: each line becomes terms, each with the value of every machine that it is asked of.


def judge(contract: Contract, subjects: Sequence[Subject], kinds: Sequence[str] | None = None) -> tuple[Judged, ...]:
    """Return what each line comes to on some machines; ``kinds`` are those of a fleet, None where it is none."""
    return tuple(_judged(line, contract.terms, subjects, kinds) for line in contract.lines)


def _judged(line: Line, terms: Terms, subjects: Sequence[Subject], kinds: Sequence[str] | None) -> Judged:
    if line.wish is not None:
        made, show = _measured(line, line.wish, terms, subjects), METRICS[line.wish.metric].show
    elif line.dimms is not None:
        made, show = (_dimms(line.dimms, subjects),), "sudo advisor audit"
    elif line.state or line.setting:
        made, show = tuple(_set_up(line, subjects)), "sudo advisor audit"
    elif line.alike is not None:
        made, show = (
            tuple(_alike(line.alike, subjects, kinds)),
            "advisor fleet measure -o fleet" if kinds else "advisor fleet capture -w 'n[001-400]' -o fleet",
        )
    else:
        made, show = tuple(_findings(line, subjects, terms.checks)), "sudo advisor audit -v"
    verdict = verdict_of(made)
    evidence = "; ".join(
        dict.fromkeys((*_evidence(made, verdict), *_among_others(line, made[0], subjects), *_lenient(line, made, subjects)))
    )
    return Judged(
        line=line.number,
        text=line.text,
        verdict=verdict,
        terms=made,
        evidence=evidence,
        show=show if verdict == "not shown" else None,
        sentence=f"The contract asks for {line.text}; measured or read: {evidence}." if verdict == "failed" else None,
    )


def _among_others(line: Line, term: Term, subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield where the figure of the only machine stands among what others published, and what STREAM's own way of counting is."""
    facts, wish = subjects[0].measured if len(subjects) == 1 else None, line.wish
    if facts is None or wish is None or wish.share:
        return
    places = (facts.place_of(wish.metric, float(each.value)) for each in term.has if each.value is not None)
    yield from (place.says.partition(": ")[2] for place in places if place and place.count)
    stream = next((each for each in (_program(subjects[0]) or "").split(", ") if each.startswith(("STREAM", "BabelStream"))), "")
    if stream and wish.unit == "bytes/s" and any(each.value is not None for each in term.has):
        yield f"{stream} reports the best of its runs, and does not count the read that precedes a cached store"


def _lenient(line: Line, terms: Sequence[Term], subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield what a contract must allow for another program's output to count, where that alone leaves its line open."""
    open_terms = {each.what for each in terms if each.condition and each.outcome is not True}
    if any(each.value is None for each in terms[0].has) or any(each.what == "repeats" for each in line.conditions):
        return  # nothing was measured, by whatever program; or the line itself asks for more
    allow = {"repeats": "repeats: 1", "machine state": "idle: any", "measured by": "measured_by: any"}
    imported = any(each.measurements and each.measurements.conditions.imported for each in subjects)
    if imported and open_terms and open_terms <= set(allow):
        settings_of_contract = ", ".join(words for what, words in allow.items() if what in open_terms)
        yield f"output of another program counts only in a contract with {settings_of_contract}"


def _evidence(terms: Sequence[Term], verdict: Verdict) -> Iterator[str]:
    """Yield the values that a verdict rests on: conditions only where they leave it open."""
    own = [each for each in terms if not each.condition]
    unmet = [each for each in terms if each.condition and each.outcome is not True]
    if any(each.what == "repeats" for each in terms) and all(has.value is None for has in own[0].has):
        yield f"{own[0].what}: not measured"
        return
    yield from map(_values, own)
    if verdict == "not shown":
        for each in (each for each in unmet if any(has.value is not None for has in each.has)):
            yield _values(each) + (f", required {each.wanted}" if each.what != _UNKNOWN else "")
        yield from (f"{each.what} unknown" for each in unmet if each.has and all(has.value is None for has in each.has))


_NAMED = 4
_CHECKS = 20
"""Names that stand in one place: a machine of which many checks are open names a few; of some, all are to be looked at."""


def _values(term: Term) -> str:
    """Return the values that decide a term: those that do not fit, else the least or the most."""
    wrong = [each for each in term.has if term.op != "within" and term.holds(each) is False]
    unknown = [each for each in term.has if each.value is None]
    if not term.has:
        return f"{term.what}: unknown"
    if not wrong and not unknown and term.op != "=":
        known = sorted(term.has, key=lambda each: float(each.value or 0))
        ends = [known[0], known[-1]] if term.op == "within" else [known[0] if term.op == ">=" else known[-1]]
        return f"{term.what} {' to '.join(f'{term.words(each.value)} ({plain(each.where, 60)})' for each in ends)}"
    if not wrong and not unknown and len(term.has) > 1:
        return f"{term.what} {term.words(term.has[0].value)} (all {len(term.has)})"
    shown = wrong or unknown or term.has[:1]
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return f"{term.what} " + ", ".join(f"{term.words(each.value)} ({_few(each.where)})" for each in shown[:_NAMED]) + more


def _few(where: str) -> str:
    """Return where a value is from; of many names the first: the document has all."""
    names = where.split("; ")
    most = _NAMED if len(names) > _CHECKS else _CHECKS
    return "; ".join(plain(each, 200) for each in names[:most]) + (f"; {len(names) - most} more" if len(names) > most else "")


def _named(subjects: Sequence[Subject], subject: Subject, where: str = "") -> str:
    """Return whose value it is: of one machine the part, of several the node before it."""
    return where or subject.name if len(subjects) == 1 else f"{subject.name} {where}".strip()


def _measured(line: Line, wish: Wish, terms: Terms, subjects: Sequence[Subject]) -> tuple[Term, ...]:
    metric = METRICS[wish.metric]
    part, name = _PARTS[wish.part]
    has, repeats = list[Has](), list[Has]()
    for subject in subjects:
        figures = tuple(metric.read(subject, wish))
        missing = _number_of(subject, part) - len(figures) if len(metric.parts) > 1 else 0
        has += [Has(where=_named(subjects, subject, each.where), value=each.value) for each in figures]
        repeats += [Has(where=_named(subjects, subject, each.where), value=each.repeats) for each in figures]
        if not figures or missing > 0:
            where = count(missing, f"more {name}") if figures else ""
            has.append(Has(where=_named(subjects, subject, where), value=None))
    of = f" (share of {metric.share})" if wish.share else ""
    main = Term(what=f"{wish.metric}{of}", op=wish.op, wants=wish.wants, unit=wish.unit, has=tuple(has))
    asked = {each.what: each.wants for each in line.conditions}
    fewest = float(asked.pop("repeats", terms.repeats))
    made = [main, Term(what="repeats", condition=True, op=">=", wants=fewest, has=tuple(repeats))]
    made += [_state_term(subjects, what, wants, condition=True) for what, wants in asked.items()]
    if terms.idle == "required":
        made.append(_all(subjects, "machine state", "idle", _idle, condition=True))
    if terms.measured_by == "advisor":
        made.append(_all(subjects, "measured by", "advisor", _program, condition=True))
    return tuple(made)


def _all(
    subjects: Sequence[Subject],
    what: str,
    wants: float | str,
    read: Callable[[Subject], float | str | None],
    *,
    condition: bool,
    unit: Unit | None = None,
) -> Term:
    """Return what every machine shall have."""
    has = tuple(Has(where=_named(subjects, each), value=read(each)) for each in subjects)
    return Term(what=what, condition=condition, op="=", wants=wants, unit=unit, has=has)


def _state_term(subjects: Sequence[Subject], what: str, wants: float | str, *, condition: bool) -> Term:
    unit: Unit | None = "transfers/s" if what == "memory speed" else None
    return _all(subjects, what, wants, lambda subject: _state(subject, what), condition=condition, unit=unit)


def _idle(subject: Subject) -> str | None:
    idle = subject.measurements.conditions.idle if subject.measurements else None
    return None if idle is None else "idle" if idle else "busy"


def _program(subject: Subject) -> str | None:
    if subject.measurements is None:
        return None
    return ", ".join(subject.measurements.conditions.imported) or "advisor"


def _state(subject: Subject, what: str) -> float | str | None:
    """Return what a condition is of: how the sockets are partitioned, SMT, the speed of the slowest DIMM."""
    if what == "NUMA partitioning":
        cut = subject.layout.cut
        return None if cut.name is None or cut.confidence == "low" else cut.name
    if what == "SMT":
        state = subject.layout.smt.state
        return state if state in ("on", "off") else None
    speeds = [each.configured for each in subject.machine.memory.sockets or ()] if subject.machine.memory else []
    known = [each for each in speeds if each]
    return None if not speeds or None in speeds else round(min(known) / 1e6) * 1e6  # 2933.33 is 2933 (JEDEC)


def _set_up(line: Line, subjects: Sequence[Subject]) -> Iterator[Term]:
    """Yield how each machine is set up, beside how it shall be."""
    for what, wants in line.state:
        yield _state_term(subjects, what, wants, condition=False)
    if line.setting:
        name, value = line.setting

        has = []
        for subject in subjects:
            row = next((row for row in subject.audit.settings if row.name == name), None)
            how = f", {row.confidence} confidence: {row.how}" if row and row.how and len(subjects) == 1 else ""
            has.append(Has(where=f"{_named(subjects, subject)}{how}", value=row.current if row else None))
        yield Term(what=name, op="=", wants=value, has=tuple(has))


def _dimms(wants: float, subjects: Sequence[Subject]) -> Term:
    has = []
    for subject in subjects:
        dimms = subject.machine.memory.dimms if subject.machine.memory else None
        own = [each for each in dimms or () if each.size != 0]
        for each in own:
            near = each.configured is not None and abs(each.configured - wants) <= _SAME
            has.append(Has(where=_named(subjects, subject, each.locator), value=wants if near else each.configured))
        if not own:
            has.append(Has(where=_named(subjects, subject), value=None))
    return Term(what="DIMM speed", op="=", wants=wants, unit="transfers/s", has=tuple(has))


_SAME = 2e6
"""2933 MT/s is 2934 in some tables: the same speed."""


_UNKNOWN = "unknown checks"


def _findings(line: Line, subjects: Sequence[Subject], checks: Literal["all", "known"]) -> Iterator[Term]:
    worse = SEVERITIES[: SEVERITIES.index(line.above)] if line.above else SEVERITIES
    rule = line.rule

    def counted(subject: Subject, verdict: str) -> list[str]:
        every = [each for each in subject.audit.findings if each.verdict == verdict]
        own = [each for each in every if (each.id == rule if rule else each.severity in worse)]
        return sorted({each.id if rule else f"{each.id}, {each.severity}" for each in own})

    has, unknown = [], []
    for subject in subjects:
        found, waiting = counted(subject, "finding"), counted(subject, "unknown")
        has.append(Has(where=_named(subjects, subject, "; ".join(found) or subject.name), value=len(found)))
        unknown.append(Has(where=_named(subjects, subject, "; ".join(waiting) or subject.name), value=len(waiting)))
    yield Term(what="findings", op="<=", wants=0.0, has=tuple(has))
    if checks == "all" and all(not each.value for each in has):  # a pass needs every check to be answered
        yield Term(what=_UNKNOWN, condition=True, op="<=", wants=0.0, has=tuple(unknown))


def _alike(within: float, subjects: Sequence[Subject], kinds: Sequence[str] | None) -> Iterator[Term]:
    """Yield what a fleet must have in common: its hardware, and each figure that was measured on every node."""
    if kinds is None:
        yield Term(what="all nodes", op="=", wants="alike", has=(Has(where="a single machine, not a fleet", value=None),))
        return
    yield Term(what="kinds of hardware", op="=", wants=1.0, has=(Has(where="; ".join(kinds[:_NAMED]), value=len(kinds)),))
    for what in ("NUMA partitioning", "SMT"):
        states = tuple(Has(where=each.name, value=_state(each, what)) for each in subjects)
        yield Term(what=what, op="=", wants=states[0].value or "known", has=states)
    if not within:
        return
    for name in ("triad", "latency", "hpl"):
        metric = METRICS[name]
        wish = Wish(name, ">=", 0.0, metric.unit, share=False, part="node", number=1, stores=None)
        has = tuple(Has(where=each.name, value=next((one.value for one in metric.read(each, wish)), None)) for each in subjects)
        if name == "triad" or any(each.value is not None for each in has):
            yield Term(what=f"{name}, spread", op="within", wants=within, unit=metric.unit, has=has)


# What is written of it.


@dataclass(frozen=True)
class Acceptance:
    """A contract judged: what it came to line by line, of which machines and which files."""

    contract: Contract
    lines: tuple[Judged, ...]
    machines: tuple[str, ...]
    measured: tuple[str, ...]
    """When and by whom, a line for each machine that has measurements."""
    inputs: tuple[tuple[str, str], ...]
    """Each file that was read, by its name and digest."""
    made: str
    audience: Audience = "internal"
    hardware: tuple[str, ...] = ()
    """What the machines are made of, each kind once."""

    @property
    def verdict(self) -> Verdict:
        """What all lines together come to."""
        every = {each.verdict for each in self.lines}
        return "failed" if "failed" in every else "not shown" if "not shown" in every else "passed"

    def totals(self) -> dict[Verdict, int]:
        """Return how many lines passed, failed and are not shown."""
        order: tuple[Verdict, ...] = ("passed", "failed", "not shown")
        return {verdict: sum(each.verdict == verdict for each in self.lines) for verdict in order}

    def document(self) -> dict[str, Any]:
        """Return the document from which every verdict can be worked out again."""
        return {
            "schema": CONTRACT_SCHEMA,
            "advisor": __version__,
            "made": self.made,
            "for": self.audience,
            "contract": {"file": self.contract.file, "sha256": self.contract.digest, "title": self.contract.terms.title},
            "machines": list(self.machines),
            "hardware": list(self.hardware),
            "measured": list(self.measured),
            "inputs": [{"name": name, "sha256": digest} for name, digest in self.inputs],
            "verdict": self.verdict,
            "totals": self.totals(),
            "lines": [each.model_dump(mode="json") for each in self.lines],
        }

    def text(self, form: str) -> str:
        """Return it as html, md, json or junit."""
        if form == "json":
            return json.dumps(self.document(), indent=1, ensure_ascii=True) + "\n"
        name = f"contract.{form}.j2"
        drawn = styles() if form == "html" else {}
        return fill(template(f"report/{name}"), {**self._values(), **drawn}, name)

    def _values(self) -> dict[str, Any]:
        """Return what the templates may use: worst first."""
        titles: dict[Verdict, str] = {"failed": "Failed", "not shown": "Not shown", "passed": "Passed"}
        return {
            "title": plain(self.contract.terms.title or self.contract.file, 200),
            "verdict": self.verdict,
            "kind": {"failed": "bad", "passed": "good", "not shown": "little"}[self.verdict],
            "head": f"{self.verdict[0].upper()}{self.verdict[1:]}",
            "says": ", ".join(f"{number} {verdict}" for verdict, number in self.totals().items())
            + f" of {count(len(self.lines), 'line')}",
            "groups": [(title, [each for each in self.lines if each.verdict == name]) for name, title in titles.items()],
            "lines": self.lines,
            "totals": self.totals(),
            "quoted": quoted,
            "terms": self.contract.terms,
            "file": plain(self.contract.file, 120),
            "digest": self.contract.digest,
            "machines": [plain(each, 120) for each in self.machines],
            "hardware": [plain(each, 300) for each in self.hardware],
            "measured": [plain(each, 300) for each in self.measured],
            "inputs": self.inputs,
            "made": self.made,
            "withheld": FOR[self.audience],
            "version": __version__,
            "two": any(each.before for each in self.lines),
        }


def accept(
    file: Path,
    machines: Sequence[str | None] = (None,),
    scope: Scope = "mpi",
    *,
    site: Sequence[Path] = (),
    bios: Sequence[Path] | BiosInput = (),
    measurements: Sequence[Path] = (),
    measure: MeasuresNow | None = None,
    audience: Audience = "internal",
    observer: Observer = SILENT,
) -> Acceptance:
    """Judge a contract on one machine (None is this one), on two states of one, the later last, or on a fleet's folder.

    Of two states the first file of ``measurements`` is of the one before, the second of the one after.
    """
    contract = read_contract(file, site)  # a contract that nothing can meet is refused before anything is read or measured
    options: dict[str, Any] = {"site": site, "observer": observer, "audience": audience}
    if len(machines) > 2:
        raise BadValue(
            f"{len(machines)} machines",
            cure="put their captures into one folder, and name the folder; two files mean BEFORE and AFTER",
        )
    source = machines[-1]
    if source is not None and is_fleet(Path(source)):
        audited, kinds, inputs = _nodes(Path(source), scope, options)
        return _acceptance(contract, judge(contract, _subjects(audited), kinds), audited, inputs, audience)
    if len(machines) == 1:
        one = audit(source, scope, bios=bios, measurements=measurements, measure=measure, **options)
        files = [*([source] if source else []), *map(str, measurements)]
        return _acceptance(contract, judge(contract, _subjects([one])), [one], files, audience)
    if len(measurements) not in (0, 2):
        raise BadValue("two states need two measurement files, or none", cure="give --measurements for both, BEFORE first")
    own: list[tuple[Path, ...]] = [(each,) for each in measurements] or [(), ()]
    both = [audit(each, scope, measurements=given, **options) for each, given in zip(machines, own, strict=True)]
    first, second = (judge(contract, _subjects([each])) for each in both)
    lines = tuple(new.but(before=old.verdict) for old, new in zip(first, second, strict=True))
    files = [*filter(None, machines), *map(str, measurements)]
    return _acceptance(contract, lines, both, files, audience, states=("before", "after"))


def _nodes(folder: Path, scope: Scope, options: dict[str, Any]) -> tuple[list[Audited], tuple[str, ...], list[str]]:
    """Return the nodes of a fleet, audited, its kinds, and its files; a node that did not answer is no node that passes."""
    named = asked([folder])
    audited, files = dict[str, Audited](), list[str]()
    silent = [f"{each.node}: {each.why}" for each in named.silent]
    for entry in named.entries:
        own = [entry.measured] if entry.measured else []
        try:
            audited[entry.node] = audit(str(entry.file), scope, measurements=own, **options)
        except (AdvisorError, OSError) as error:
            silent.append(f"{entry.node}: {error}")
        files += map(str, (entry.file, *own))
    if silent:
        said = f"{count(len(silent), 'node')} did not answer: {silent[0]}"
        raise BadValue(said, cure="capture them again, or leave them out of the folder")
    kinds = group({node: fold(each.machine) for node, each in audited.items()})
    return list(audited.values()), tuple(each.name for each in kinds), files


def _subjects(audited: Sequence[Audited]) -> list[Subject]:
    """Return what is known of each machine, under the name that the reader may know."""
    return [_subject(each, name) for each, name in zip(audited, _names(audited), strict=True)]


def _names(audited: Sequence[Audited], states: Sequence[str] = ()) -> tuple[str, ...]:
    """Return each machine's name; where names are withheld, its number in their order, or which state of one it is."""
    numbers = ("this machine",) if len(audited) == 1 else tuple(f"node {at}" for at in range(1, len(audited) + 1))
    unnamed = states or numbers
    names = [each.machine.name for each in audited]
    return tuple(other if name in (None, WITHHELD) else plain(name, 80) for name, other in zip(names, unnamed, strict=True))


def _subject(audited: Audited, name: str) -> Subject:
    judgement = audited.judgement
    measured = judgement.case.measured
    return Subject(name, audited.machine, judgement.layout, audited.audit, measured, audited.measured.measurements)


def _acceptance(
    contract: Contract,
    lines: tuple[Judged, ...],
    audited: Sequence[Audited],
    files: Sequence[str],
    audience: Audience,
    *,
    states: Sequence[str] = (),
) -> Acceptance:
    names = _names(audited, states)
    measured = tuple(
        f"{name}: {each.conditions.when}, by advisor {each.advisor}"
        + ("; whoever supplied the output states that it is from this machine" if each.conditions.imported else "")
        for name, one in zip(names, audited, strict=True)
        if (each := one.measured.measurements)
    )
    read = [Path(each) for each in files if Path(each).is_file()]
    shown = [
        path.name if audience == "internal" else f"input {at}" for at, path in enumerate(read, 1)
    ]  # files are named after hosts
    digests = tuple((name, sha256(path.read_bytes()).hexdigest()) for name, path in zip(shown, read, strict=True))
    hardware = tuple(dict.fromkeys(fold(each.machine).hardware.text for each in audited))
    now = datetime.now().astimezone().strftime("%d %b %Y %H:%M %Z")
    return Acceptance(contract, lines, names, measured, digests, now, audience, hardware)
