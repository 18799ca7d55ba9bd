"""Asks every rule of a Case, lays a site's waivers over the findings, and says what each verdict rests on and lacks.

A rule is explained with every value in its expressions, where each was read, and which parts decided. Pure: nothing read, no
clock.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from advisor.advice.expression import Sentence, written_value
from advisor.advice.expression_tree import (
    STEPS,
    Choose,
    Constant,
    Env,
    Fact,
    Gather,
    Logic,
    Loop,
    Node,
    Trouble,
    Unknown,
    facts_of,
)
from advisor.advice.judge.case import Case
from advisor.advice.judge.rule import SETTING, SITE, Rule, disputed, env_of, wanted_values
from advisor.advice.model.findings import Answer, Cost, Evidence, Explanation, Finding, Lack, Part, Step
from advisor.advice.model.sheets import BOUNDS, SEVERITIES, Basis, RuleText, Setting, Severity, Verdict, Waiver
from advisor.machine.machine import NOT_OFFERED, Gap, Source
from advisor.machine.registers import Processor, messages, registers
from advisor.measure.measured_facts import MEASURE, MEASURED, UNMEASURED
from advisor.measure.platform import Scope


@dataclass(frozen=True)
class Asked:
    """A rule asked of one subject: the values its names stood for, and what came out."""

    rule: Rule
    env: Env
    verdict: Verdict
    subject: str | None
    said: str | None
    missing: frozenset[str] = frozenset()


def judge(case: Case, rules: Iterable[Rule], settings: Mapping[str, Setting], origins: "Origins") -> tuple[Finding, ...]:
    """Return the verdict of every rule on every subject."""
    env = env_of(case, settings)
    return tuple(finding(asked, origins) for rule in rules for asked in ask(rule, case, env))


def ask(rule: Rule, case: Case, env: Env) -> Iterator[Asked]:
    """Yield the verdicts of one rule, one for each item it runs over."""
    if case.scope not in rule.text.scope or rule.each is None:
        yield ask_of_any(rule, case, env)
        return
    env = {**env, "_steps": [STEPS]}
    try:
        items = rule.each.over.value(env)
    except Trouble as trouble:
        yield Asked(rule, env, "error", None, str(trouble))
        return
    if isinstance(items, Unknown):
        yield Asked(rule, env, "unknown", None, None, items.facts)
    elif not items:
        yield Asked(rule, env, "not-applicable", None, f"nothing to check: {rule.each.over.text} is empty")
    else:
        for item in items:
            if isinstance(item, Unknown):  # perhaps it is not there at all
                yield Asked(rule, env, "unknown", rule.each.name, None, item.facts)
            else:
                inner = {**env, rule.each.name: item, "_steps": [STEPS]}
                yield _one(rule, inner, name_of_item(item, rule.each.name) or rule.each.name)


def ask_of_any(rule: Rule, case: Case, env: Env) -> Asked:
    """Return the verdict of a rule; one that runs over a list is asked once, of an item of which nothing is known."""
    if case.scope not in rule.text.scope:
        return Asked(rule, env, "not-applicable", None, f"matters for {', '.join(rule.text.scope)}, not for {case.scope}")
    env = {**env, "_steps": [STEPS]}
    if rule.each:
        env[rule.each.name] = Unknown(frozenset({rule.each.fact}))
    return _one(rule, env, None)


def name_of_item(item: Any, variable: str, *, always: bool = False) -> str | None:
    """Return what an item is called: its name, or the variable, which ``always`` stands first, and its number; None without."""
    value = item
    if isinstance(item, (Mapping, BaseModel)):
        keys = ("name", "locator", "address", "index", "socket", "number")
        own = (item.get(key) if isinstance(item, Mapping) else getattr(item, key, None) for key in keys)
        value = next((each for each in own if each is not None), None)
        if value is None:
            return None
    return written_value(value) if isinstance(value, str) and not always else f"{variable} {written_value(value)}"


def _one(rule: Rule, env: Env, subject: str | None) -> Asked:
    try:
        for name, node in rule.let:
            env[name] = node.value(env)
        if rule.subject and not (rule.each and isinstance(env[rule.each.name], Unknown)):
            subject = rule.subject.fill(env)
        applies = rule.only.value(env) if rule.only else True
        if isinstance(applies, Unknown):
            return Asked(rule, env, "unknown", subject, None, applies.facts)
        if not applies:
            return Asked(rule, env, "not-applicable", subject, f"does not apply: {rule.text.only} is false")
        fires = rule.when.value(env)
        if isinstance(fires, Unknown):
            return Asked(rule, env, "unknown", subject, None, fires.facts)
        return Asked(rule, env, "finding" if fires else "pass", subject, rule.say.fill(env) if fires else None)
    except Trouble as trouble:
        return Asked(rule, env, "error", subject, str(trouble))


def foreseen(
    rules: Iterable[Rule], now: Case, then: Case, settings: Mapping[str, Setting], origins: "Origins"
) -> Iterator[Asked]:
    """Yield what rules of weight would find after a change and do not find now; of what nobody can say the verdict is unknown."""
    before, after = env_of(now, settings), env_of(then, settings)
    old, new = ({each.name: each.value for each in case.standings or ()} for case in (now, then))
    changed = {f"{SETTING}.{name}" for name in {*old, *new} if old.get(name) != new.get(name)}
    for rule in (rule for rule in rules if not changed.isdisjoint(_reads(rule))):
        found = {asked.subject for asked in ask(rule, now, before) if asked.verdict == "finding"}
        for asked in ask(rule, then, after):
            if (beyond := _beyond(rule, asked, before)) is not None:
                yield replace(asked, verdict=beyond)
            elif asked.verdict == "finding" and asked.subject not in found and finding(asked, origins).severity != "info":
                yield asked


@cache
def _reads(rule: Rule) -> frozenset[str]:
    """Return the facts that a rule's verdict may hang on."""
    nodes = [*_grounds(rule), *([rule.foresee] if rule.foresee else [])]
    return frozenset(_facts(rule, facts_of(*nodes)))


def _beyond(rule: Rule, asked: Asked, before: Env) -> Verdict | None:
    """Return the verdict on what a rule's own facts show after the restart only; None where the change is not what decides."""
    if rule.foresee is None or asked.verdict in ("not-applicable", "finding"):
        return None
    then, now = (rule.foresee.value({**env, "_steps": [STEPS]}) for env in (asked.env, {**asked.env, **before}))
    if isinstance(then, Unknown):
        return "unknown" if now is False else None
    return "finding" if then and now is not True else None


_COPIED = ("id", "title", "scope", "why", "want", "spare", "guides", "refs")


def finding(asked: Asked, origins: "Origins") -> Finding:
    """Return the whole record of a verdict."""
    rule, text, env = asked.rule, asked.rule.text, {**asked.env, "_steps": [STEPS]}
    fires = asked.verdict == "finding"
    applies = asked.verdict in ("finding", "pass", "unknown")
    cost = _cost(rule, env) if fires else None
    basis = _basis(rule, cost, env) if fires else "disputed" if disputed(text) else text.basis
    return Finding.model_construct(
        **{name: getattr(text, name) for name in _COPIED},
        topic=rule.topic,
        verdict=asked.verdict,
        severity=weighed(text, cost, basis) if fires else text.severity,
        basis=basis,
        where=rule.where,
        subject=asked.subject,
        claim=asked.said,
        evidence=evidence(_grounds(rule), env, origins) if fires else (),
        lacks=lacks(asked, origins),
        cost=cost,
        wants=wanted_values(rule.wants, env) if applies else (),
        advice=_filled(rule.fix, env) if applies else None,
        fix=(),
        check=_filled(rule.check, env) if applies else None,
        undo=_filled(rule.undo, env) if applies else None,
        waived=None,
    )


def _grounds(rule: Rule) -> list[Node]:
    """Return the expressions that a verdict rests on, those of named values where they are used."""
    nodes = [node for node in (rule.only, rule.when) if node]
    used = {name.partition(".")[0] for name in _facts(rule, facts_of(*nodes), keep=True)}
    return [*nodes, *(node for name, node in rule.let if name in used)]


def lacks(asked: Asked, origins: "Origins") -> tuple[Lack, ...]:
    """Return why facts that a verdict misses are not known; all that the rule looks at shows which measurement it is about."""
    rule = asked.rule

    def looked() -> Iterator[str]:
        """Yield what the rule may look at; its expressions are read only if somebody asks."""
        yield from _facts(rule, facts_of(*_grounds(rule)))

    return origins.lacks(_facts(rule, asked.missing), looked()) if asked.missing else ()


def _facts(rule: Rule, names: Iterable[str], *, keep: bool = False) -> set[str]:
    """Return facts with those behind named values in their place; keep the names as well if so asked."""
    let, found, todo = dict(rule.let), set(), list(names)
    while todo:
        name = todo.pop()
        node = let.get(name.partition(".")[0])
        if name not in found and node is not None:
            todo += [fact for fact in facts_of(node) if fact not in found]
        if node is None or keep:
            found.add(name)
    return found


def _filled(sentence: Sentence | None, env: Env) -> str | None:
    try:
        return sentence.command(env) if sentence else None
    except Trouble as trouble:
        return f"({trouble})"


def _cost(rule: Rule, env: Env) -> Cost | None:
    """Return what it costs: as measured on this machine where that is known, else as the rule has it."""
    cost = rule.text.cost
    if cost is None:
        return None
    measured = _number(rule.measured, env)
    if measured is not None:
        return Cost(gain=measured, of=cost.measured_of or cost.of, basis="measured")
    return Cost(gain=_number(rule.gain, env), of=cost.of, basis=cost.basis, ref=cost.ref)


def _basis(rule: Rule, cost: Cost | None, env: Env) -> Basis:
    """Return what the severity of a finding rests on: guides that differ, a number, a fault, guides that agree."""
    if disputed(rule.text):
        return "disputed"
    if cost is not None and cost.gain is not None:
        return cost.basis
    if rule.text.basis == "fault":
        return "fault"
    if rule.agree is not None:
        return "guides" if _number(rule.agree, env) else "elsewhere"
    elsewhere = cost is not None and cost.basis == "published" and not rule.text.guides
    return "elsewhere" if elsewhere else "guides"


def weighed(text: RuleText, cost: Cost | None, basis: Basis) -> Severity:
    """Return how bad a finding is: what is surely lost, and no more than its rule and its basis allow."""
    if basis in ("disputed", "elsewhere"):
        return "info"
    if basis == "fault":
        return text.severity
    if basis == "guides":
        most: Severity = "high" if SITE in text.refs else "medium"  # a site's own rule is the guide that counts there
    else:
        bound = cost.gain if cost and cost.gain else 0.0
        most = next((severity for least, severity in BOUNDS if bound > least or bound == least > 0), "info")
    return max(text.severity, most, key=SEVERITIES.index)


def _number(node: Node | None, env: Env) -> float | None:
    """Return what an expression yields; None where that is not known."""
    try:
        value = node.value(env) if node else None
    except Trouble:
        return None
    return None if value is None or isinstance(value, Unknown) else float(value)


def waive(findings: Iterable[Finding], waivers: tuple[Waiver, ...], host: str | None, today: str) -> tuple[Finding, ...]:
    """Return the findings, those that a waiver covers today marked so, with its reason."""
    holding = {w.id: w for w in reversed(waivers) if today <= w.until and any(_fits(pattern, host) for pattern in w.hosts)}
    waived = {name: {"verdict": "waived", "waived": f"{each.reason} (until {each.until})"} for name, each in holding.items()}
    return tuple(each.but(**waived[each.id]) if each.verdict == "finding" and each.id in waived else each for each in findings)


def _fits(pattern: str, host: str | None) -> bool:
    """Return whether a pattern with * and ? means the host; a host without a name is meant by * alone."""
    if host is None:
        return pattern == "*"
    pattern, host = pattern.lower(), host.lower()
    at = here = 0
    star, kept = -1, 0  # the last *, and where what it stands for ends so far: no pattern takes more than length times length
    while here < len(host):
        if at < len(pattern) and pattern[at] == "*":
            star, kept, at = at, here, at + 1
        elif at < len(pattern) and pattern[at] in ("?", host[here]):
            at, here = at + 1, here + 1
        elif star >= 0:
            kept += 1
            at, here = star + 1, kept
        else:
            return False
    return not pattern[at:].strip("*")


ASK_BIOS = "give the BIOS attributes: advisor audit --bios FILE (a Redfish Bios resource)"

_HPL, _NETWORK = "advisor measure hpl", "advisor measure network --hosts A,B"
_OTHERS = {"hpl": _HPL, "published_hpl": _HPL, "adapter": _NETWORK, "published_network": _NETWORK}
"""Commands that measure what the quick set does not, by how the names of its facts begin."""

_COMPARED = {"measured.clocks": "cpu.base_hz", "measured.flops": "platform.flops_per_cycle", ".ceiling": "memory.sockets"}
"""What measured facts are compared with, and lack where they are known themselves."""


class Origins:
    """The sources and gaps of one machine."""

    def __init__(self, sources: tuple[Source, ...], gaps: tuple[Gap, ...], case: Case, settings: Mapping[str, Setting]) -> None:
        self._sources = {source.fact: source.where for source in sources}
        self._gaps = {gap.fact: gap for gap in gaps}
        self._case, self._settings = case, settings

    def where(self, fact: str) -> str | None:
        """Return the file or command that a fact was read from."""
        if fact.startswith(f"{SETTING}."):
            name = fact.removeprefix(f"{SETTING}.")
            return next((s.how for s in self._case.standings or () if s.name == name), None)
        name = origin(fact)
        if name.partition(".")[0] == MEASURED:
            return f"measured {self._case.measured.when} (advisor measure)" if self._case.measured else None
        if name.partition(".")[0] == "platform":
            return f"rules/platforms/{self._case.platform.id}.yaml" if self._case.platform else None
        return next((self._sources[outer] for outer in _outwards(name) if outer in self._sources), None)

    def lacks(self, facts: Iterable[str], looked: Iterable[str] = ()) -> tuple[Lack, ...]:
        """Return why facts are not known; what holds for any measurement comes with the one that the question looks at."""
        names, own = sorted(facts), f"{MEASURED}."
        if self._case.measured is not None or not any(name.startswith(own) for name in names):
            return tuple(dict.fromkeys(map(self.lack, names)))
        begin = next((word for name in [*names, *sorted(looked)] if name.startswith(own) and (word := _begins(name))), "")
        return tuple(dict.fromkeys(_unmeasured(begin) if name.startswith(own) else self.lack(name) for name in names))

    def lack(self, fact: str) -> Lack:
        """Return why a fact is not known and what would reveal it."""
        name = origin(fact)
        first = name.partition(".")[0]
        if fact.startswith(f"{SETTING}."):
            why, cure = self._of_setting(fact.removeprefix(f"{SETTING}."))
        elif first == MEASURED:
            return self._measured(fact, name)
        elif first == "platform" and self._case.platform is None:
            why, cure = "no platform sheet covers this processor", "add it to rules/platforms"
        elif first == "platform" and self._case.platform is not None:
            why, cure = f"not in the platform sheet for {self._case.platform.name}", "not readable from this system"
        elif name.startswith("allocation"):
            why, cure = "not inside a job", "run advisor inside a scheduler job: srun advisor audit"
        elif gap := self._gap(name) or (self._gap("slurm_conf") if name.startswith("limits.slurm") else None):
            why, cure = gap.why, gap.help
        else:
            why, cure = "not in this input", "run advisor on the machine itself, as root: sudo advisor audit"
        return Lack(fact=fact, why=why, help=cure)

    def _of_setting(self, name: str) -> tuple[str, str]:
        setting = self._settings.get(name)
        if setting is not None and setting.where != "bios":
            by_hand = f", or check by hand: {setting.show}" if setting.show else ""
            return "not in this input", f"run advisor on the machine itself{by_hand}"
        unread = self._unread(name) if setting else None
        return (unread.why, unread.help) if unread else ("not reported by the operating system", ASK_BIOS)

    def _unread(self, setting: str) -> Gap | None:
        """Return what stood in the way of a register or message that shows a setting here, where it can be removed."""
        cpu = self._case.cpu
        if cpu is None or not cpu.vendor or cpu.family is None or cpu.model is None:
            return None
        here = Processor(cpu.vendor, cpu.family, cpu.model)
        for fact, table in (("registers", registers), ("socket_firmware", messages)):
            gap = self._gaps.get(fact)
            if gap and gap.help != NOT_OFFERED and any(each.serves(here) and each.shows(setting) for each in table()):
                return gap
        return None

    def _measured(self, fact: str, name: str) -> Lack:
        """Return why a measured fact does not tell: nothing was measured, others worked, repeats disagree, this was left out."""
        run, begin = self._case.measured, _begins(fact)
        if run is None:
            return _unmeasured(begin)
        again = begin  # of what holds for all of a run the one that the run was
        if not begin and run.nodes is None and run.machine is None:
            again = "hpl" if run.hpl else "adapter" if run.adapters else ""
        cure = f"measure again on an idle machine: {_OTHERS.get(again, 'advisor measure --quick')}"
        if name == f"{MEASURED}.idle" and run.idle is None:
            return Lack(fact=fact, why="it ran on other hosts, which were not checked for other work", help=cure)
        if name == f"{MEASURED}.idle":
            busy = "; ".join(run.busy) or "the machine was busy"
            return Lack(fact=fact, why=f"other work ran at the same time: {busy}", help=cure)
        if name.endswith("spread"):
            return Lack(fact=fact, why="its repeats differ too much or are too few to judge", help=cure)
        part = ".".join(name.split(".")[:2]) if not name.endswith(".ceiling") else ".ceiling"
        if part in _COMPARED and not name.endswith((".clocks", ".flops")):
            return self.lack(_COMPARED[part])
        return Lack(fact=fact, why="not measured", help=_OTHERS.get(begin, "advisor measure --full"))

    def _gap(self, name: str) -> Gap | None:
        """Return the gap of the fact, of what holds it, or of a part of it."""
        parts = (gap for fact, gap in self._gaps.items() if fact.startswith(f"{name}."))
        return next((self._gaps[outer] for outer in _outwards(name) if outer in self._gaps), None) or next(parts, None)


def _outwards(name: str) -> Iterator[str]:
    """Yield a dotted name, then what holds it."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _unmeasured(begin: str) -> Lack:
    """Return what lacks where nothing was measured: the quick set, or the experiment that facts of such a beginning need."""
    of = {_HPL: f"{MEASURED}.hpl", _NETWORK: f"{MEASURED}.adapters"}
    cure = _OTHERS.get(begin, MEASURE)
    return Lack(fact=of.get(cure, MEASURED), why=UNMEASURED, help=cure)


def _begins(fact: str) -> str:
    """Return what the name of a measured fact begins with: hpl of measured.hpl.rate, adapter of measured.adapter_ways."""
    return next((word for word in _OTHERS if fact.removeprefix(f"{MEASURED}.").startswith(word)), "")


@cache
def origin(fact: str) -> str:
    """Return the fact of the Machine that a fact of the Case is made from: topology of sockets.nodes."""
    model: type[BaseModel] | None = Case
    name: list[str] = []
    for part in fact.split("."):
        field = model.model_fields.get(part) if model else None
        extra = field.json_schema_extra if field else None
        name = [str(extra["of"])] if isinstance(extra, dict) and "of" in extra else [*name, part]
        model = _inner(field.annotation) if field else None
    return ".".join(name)


def _inner(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _inner(part))), None)


_FEW = 6
_MOST = 5000
"""Values that are looked at for one verdict: enough for every CPU of a machine."""


def evidence(nodes: Iterable[Node], env: Env, origins: Origins) -> tuple[Evidence, ...]:
    """Return every known fact that the expressions looked at, each once."""
    found: dict[str, tuple[str, dict[str, None]]] = {}
    budget = iter(range(_MOST))
    for node in nodes:
        for text, fact, value in looked_at(node, env):
            found.setdefault(text, (fact, {}))[1][value] = None
            if next(budget, None) is None:
                break
    return tuple(
        Evidence(
            fact=text,
            value=", ".join([*values][:_FEW]) + (f", ... ({len(values)} different)" if len(values) > _FEW else ""),
            where=origins.where(fact),
        )
        for text, (fact, values) in found.items()
    )


def looked_at(node: Node, env: Env) -> Iterator[tuple[str, str, str]]:
    """Yield the text, the name and the written value of each known fact in an expression, inside loops for each item.

    What cannot be written itself, such as a list of sockets or the boot options, is shown by what was made of it.
    """
    if isinstance(node, Fact):
        value = node.value(env)
        if not isinstance(value, Unknown) and not _hidden(value):
            yield node.text, node.fact, written_value(value)
        return
    for part in node.operands:
        if isinstance(part, Fact) and _hidden(part.value(env)):
            value = evaluated(node, env)
            if not isinstance(node, Loop) and not isinstance(value, Unknown) and not _hidden(value):
                yield node.text, part.fact, written_value(value)
        yield from looked_at(part, env)
    if isinstance(node, Loop):
        things = evaluated(node.operands[0], env)
        for thing in () if isinstance(things, Unknown) else things:
            inner = {**env, node.name: thing}
            for each in (node.condition, node.element):
                if each is not None:
                    yield from looked_at(each, inner)


def evaluated(node: Node, env: Env) -> Any:
    """Return what an expression yields, Unknown where it cannot be evaluated; it has the whole budget of work."""
    try:
        return node.value({**env, "_steps": [STEPS]})
    except Trouble:
        return Unknown()


def _hidden(value: object) -> bool:
    """Return whether a value is too large to be written as evidence: a thing with facts of its own, or a list of such."""
    inner = value if isinstance(value, tuple) else (value,)
    return any(isinstance(each, (BaseModel, dict, tuple)) for each in inner)


_KEPT = 80
"""Letters that a node keeps of its text (advisor.advice.expression)."""

ITEMS = 6
"""So many items of one list are shown, those that decide first."""


def explain(rule: Rule, asked: Iterable[Asked], origins: Origins, scope: Scope) -> Explanation:
    """Return the rule with every verdict and what each of its expressions came to."""
    return Explanation(
        **{name: getattr(rule.text, name) for name in ("id", "title", "severity", "scope")},
        **{name: getattr(rule, name) for name in ("topic", "file", "line")},
        asked=scope,
        answers=tuple(answer(each, origins) for each in asked),
    )


def answer(asked: Asked, origins: Origins) -> Answer:
    """Return one verdict with its expressions; none where the rule does not matter for the work at all."""
    env = {**asked.env, "_steps": [STEPS]}
    parts = _parts(asked.rule, env, origins) if env.get("scope") in asked.rule.text.scope else ()
    return Answer(subject=asked.subject, verdict=asked.verdict, said=asked.said, parts=tuple(parts), lacks=lacks(asked, origins))


def _parts(rule: Rule, env: Env, origins: Origins) -> Iterator[Part]:
    """Yield the rule's expressions, each with its parts; the whole as the rule has it, unless a site overrides it."""
    text = rule.text
    if rule.each and rule.each.name not in env:  # there was no item to ask of
        rows: list[tuple[Any, str | None, Node | None, str | None]] = [("each", rule.each.name, rule.each.over, None)]
    else:
        rows = [
            *(("let", name, node, text.let[name]) for name, node in rule.let),
            ("only", None, rule.only, text.only),
            ("when", None, rule.when, text.when),
            *(("set", name, node, None) for name, node in rule.wants),
            ("gain", None, rule.gain, None),
            ("gain", "measured", rule.measured, None),
        ]
    for key, name, node, written in rows:
        if node is not None:
            steps: dict[tuple[int, str, str], Step] = {}
            for step in _walk(node, env, origins, 0, decides=True):
                whole = written if step.depth == 0 and (written or "").startswith(node.text) else None
                shown = step.but(text=" ".join(whole.split())) if whole else step
                steps.setdefault((shown.depth, shown.text, shown.value), shown)
            yield Part(key=key, name=name, steps=tuple(steps.values()))


def _walk(node: Node, env: Env, origins: Origins, depth: int, *, decides: bool) -> Iterator[Step]:
    """Yield an expression and its parts; a literal adds nothing beside its own text."""
    text = f"{node.text}…" if len(node.text) >= _KEPT else node.text  # the language kept only its beginning
    try:
        value = node.value({**env, "_steps": [STEPS]})
    except Trouble as trouble:
        yield Step(depth=depth, text=text, value=f"error: {trouble}", decides=decides)
        return
    where = origins.where(node.fact) if isinstance(node, Fact) else None
    yield Step(depth=depth, text=text, value=_in_words(value), where=where, decides=decides)
    if isinstance(node, Gather) and isinstance(node.operands[0], Loop):
        yield from _items(node.operands[0], value, env, origins, depth + 1, decides=decides)
    elif isinstance(node, Loop):
        yield from _items(node, None, env, origins, depth + 1, decides=decides)
    else:
        deciding = _deciding(node, value, env)
        for part in node.operands:
            if not isinstance(part, Constant):
                yield from _walk(part, env, origins, depth + 1, decides=decides and part in deciding)


def _deciding(node: Node, value: Any, env: Env) -> tuple[Node, ...]:
    """Return the operands because of which an expression came out so: of ``and`` that is false, what is false."""
    if isinstance(node, Logic):
        return tuple(operand for operand in node.operands if _alike(evaluated(operand, env), value))
    if isinstance(node, Choose):
        condition, then, otherwise = node.operands
        chosen = evaluated(condition, env)
        return (condition,) if isinstance(chosen, Unknown) else (condition, then if chosen else otherwise)
    if isinstance(value, Unknown):
        return tuple(part for part in node.operands if isinstance(evaluated(part, env), Unknown))
    return node.operands


def _alike(one: Any, other: Any) -> bool:
    """Return whether two truth values are the same; unknown is like unknown."""
    if isinstance(one, Unknown) or isinstance(other, Unknown):
        return isinstance(one, Unknown) and isinstance(other, Unknown)
    return bool(one) == bool(other)


def _items(loop: Loop, value: Any, env: Env, origins: Origins, depth: int, *, decides: bool) -> Iterator[Step]:
    """Yield what a comprehension's expressions came to for each item, those that decide first."""
    things = evaluated(loop.operands[0], env)
    if isinstance(things, Unknown):
        yield from _walk(loop.operands[0], env, origins, depth, decides=decides)
        return
    rows = []
    for at, thing in enumerate(things):
        inner = {**env, loop.name: thing}
        known = thing is not None and not isinstance(thing, Unknown)
        name = name_of_item(thing, loop.name, always=True) if known else None
        rows.append((not _tips(loop, value, inner), name or f"{loop.name} {at}", inner))
    rows.sort(key=lambda row: row[0])
    for idle, name, inner in rows[:ITEMS]:
        tips = decides and not idle
        kept = evaluated(loop.condition, inner) if loop.condition else True
        came_to = kept if isinstance(kept, Unknown) else evaluated(loop.element, inner)
        yield Step(depth=depth, text=name, value="left out" if kept is False else _in_words(came_to), decides=tips)
        shown = (loop.condition,) if kept is not True and loop.condition else (loop.condition, loop.element)
        for each in shown:
            if each is not None and not isinstance(each, Constant):
                yield from _walk(each, inner, origins, depth + 1, decides=tips)
    if len(rows) > ITEMS:
        yield Step(depth=depth, text=f"and {len(rows) - ITEMS} more", value="...", decides=False)


def _tips(loop: Loop, value: Any, inner: Env) -> bool:
    """Return whether one item is a reason for what the list came to: of ``any`` that is true, an item that is."""
    try:
        kept = loop.condition.value(inner) if loop.condition else True
        if isinstance(kept, Unknown) or not kept:
            return isinstance(value, Unknown) and isinstance(kept, Unknown)
        item = loop.element.value(inner)
    except Trouble:
        return True
    return not isinstance(value, (bool, Unknown)) or _alike(item, value)


def _in_words(value: Any) -> str:
    """Return a value in words; of records, how many there are."""
    if isinstance(value, Unknown):
        return "unknown"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, BaseModel):
        return "..."
    if isinstance(value, (tuple, list)) and any(isinstance(each, (BaseModel, tuple)) for each in value):
        return f"a list of {len(value)}"
    return written_value(value)
